//! Going on behind what is wrong, so that all errors of a text are told at once.
//!
//! The parser ends at the first error. A text that has one is read a second time, in which what is wrong is noted and
//! skipped: up to the next element of its group, the next triple of its template, the next clause. What brackets the
//! skipped part opens are skipped to their ends, and a bracket that closes one outside of it ends it. A separator that is
//! missing is noted and taken as if it stood there. Nothing comes of the tree of such a reading: it is not that of the text.
//!
//! Invariants: the first error is that of the first reading; after each at least one token is read, or a separator is
//! taken as read before what only could follow one, so the reading ends; each token is skipped once, so it costs time
//! linear in the text. An error at the end of the text ends it.

use super::{GrammarError, Parsed, Parser};
use crate::grammar::lexer::nesting;
use crate::grammar::lexer::token::TokenKind;

/// Errors that are told of a text at most.
pub(crate) const ERRORS_MAX: usize = 8;

/// Words that begin an element of a group.
const ELEMENTS: [&str; 11] = [
    "BIND", "FILTER", "GRAPH", "LATERAL", "MINUS", "OPTIONAL", "SERVICE", "STREAM", "UNION",
    "VALUES", "WINDOW",
];
/// Words that begin a clause behind the pattern.
const MODIFIERS: [&str; 6] = ["GROUP", "HAVING", "LIMIT", "OFFSET", "ORDER", "VALUES"];
/// Words that a declaration or what follows the prologue begins with.
const UNITS: [&str; 19] = [
    "ADD",
    "ASK",
    "BASE",
    "CLEAR",
    "CONSTRUCT",
    "COPY",
    "CREATE",
    "DELETE",
    "DESCRIBE",
    "DROP",
    "INSERT",
    "LOAD",
    "MOVE",
    "PREFIX",
    "REGISTER",
    "SELECT",
    "USING",
    "VERSION",
    "WITH",
];

/// The errors of a reading that are no consequences of others: those of its way, and the one that ended it at the
/// token `at`, of those before `end`. Where a bracket is not closed, all between the first and that are; or, where a line
/// was hidden on which it may be closed, all behind that. So is the end of the text behind another error, and what
/// stands beside an error.
pub(super) fn causes(
    mut faults: Vec<GrammarError>,
    last: Option<GrammarError>,
    at: usize,
    end: usize,
) -> Vec<GrammarError> {
    if let Some(last) = last {
        let is_of_end = last.0.token >= end;
        let is_open = at >= end && !is_of_end && faults.last() != Some(&last);
        let hiding = faults.iter().position(|fault| fault.0.hides_line);
        if let Some(hiding) = hiding.filter(|_| is_open) {
            faults.truncate(hiding + 1);
        } else {
            if at >= end && !is_of_end {
                faults.truncate(1);
            }
            if faults.is_empty() || !is_of_end {
                faults.push(last);
            }
        }
    }
    faults.dedup_by(|later, earlier| later.0.token.abs_diff(earlier.0.token) <= 1);
    assert!(
        faults.len() <= ERRORS_MAX,
        "no more faults are noted than are told"
    );
    faults
}

impl Parser<'_> {
    /// Reads by a rule. What is wrong ends a first reading; in a second it is noted and skipped up to a token at which
    /// it `resumes`: true then.
    #[inline]
    pub(super) fn attempt(
        &mut self,
        rule: impl FnOnce(&mut Self) -> Parsed,
        resumes: fn(&Self) -> bool,
    ) -> Parsed<bool> {
        if self.faults.is_none() {
            return rule(self).map(|()| false);
        }
        let (first, depth, counts) = (self.at, self.depth, self.counts);
        let Err(fault) = rule(self) else {
            return Ok(false);
        };
        let wrong_to = fault.0.end;
        self.note(fault)?;
        (self.depth, self.counts) = (depth, counts);
        while self
            .token(0)
            .is_some_and(|it| (it.start as usize) < wrong_to)
        {
            self.bump();
        }
        self.skip(first, resumes);
        Ok(true)
    }

    /// That something is missing here: ends a first reading, and is noted in a second.
    pub(super) fn missing(&mut self, fault: GrammarError) -> Parsed {
        if self.faults.is_none() {
            return Err(fault);
        }
        self.note(fault)
    }

    /// What ends a reading without another error: the last one again.
    pub(super) fn over(&self) -> GrammarError {
        let faults = self.faults.as_ref();
        let last = faults.and_then(|faults| faults.last()).cloned();
        last.unwrap_or_else(|| self.unexpected("another text"))
    }

    /// Keeps an error; gives it back where nothing can be read behind it.
    fn note(&mut self, fault: GrammarError) -> Parsed {
        let is_over = self.token(0).is_none() || !fault.is_of_grammar();
        match &mut self.faults {
            Some(faults) if !is_over && faults.len() + 1 < ERRORS_MAX => {
                faults.push(fault);
                Ok(())
            }
            _ => Err(fault),
        }
    }

    /// Skips what is left of what began at `first`, and one token at least.
    fn skip(&mut self, first: usize, resumes: fn(&Self) -> bool) {
        let mut open: Vec<&str> = Vec::new();
        for &token in &self.read[first..self.at] {
            let slice = self.tokens.slice(token);
            if token.kind == TokenKind::Operator {
                match nesting(slice) {
                    1 => open.push(slice),
                    -1 => drop(open.pop()),
                    _ => {}
                }
            }
        }
        while let Some(token) = self.token(0) {
            let slice = self.tokens.slice(token);
            let nests = if token.kind == TokenKind::Operator {
                nesting(slice)
            } else {
                0
            };
            let is_behind = self.at > first;
            match nests {
                -1 => match open.iter().rposition(|bracket| closes(slice, bracket)) {
                    Some(place) => open.truncate(place),
                    // It closes what is around.
                    None if is_behind || slice == "}" => return,
                    None => {}
                },
                _ if open.is_empty() && is_behind && resumes(self) => return,
                1 => open.push(slice),
                _ => {}
            }
            self.bump();
        }
    }

    pub(super) fn is_at_element(&self) -> bool {
        self.is(".") || self.is("{") || self.is_one_of(&ELEMENTS)
    }

    pub(super) fn is_at_triples(&self) -> bool {
        self.is(".") || self.is_word("GRAPH")
    }

    pub(super) fn is_at_pattern(&self) -> bool {
        self.is("{") || self.is_word("WHERE") || self.is_word("FROM")
    }

    pub(super) fn is_at_modifier(&self) -> bool {
        self.is_one_of(&MODIFIERS)
    }

    pub(super) fn is_at_unit(&self) -> bool {
        self.is_one_of(&UNITS)
    }

    fn is_one_of(&self, words: &[&str]) -> bool {
        self.kind() == Some(TokenKind::Word)
            && words
                .iter()
                .any(|word| word.eq_ignore_ascii_case(self.slice()))
    }
}

/// Whether a bracket is the other half of one.
fn closes(close: &str, open: &str) -> bool {
    matches!(
        (open, close),
        ("{", "}") | ("(", ")") | ("[", "]") | ("<<", ">>") | ("<<(", ")>>") | ("{|", "|}")
    )
}
