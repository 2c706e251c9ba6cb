//! What is refused although the grammar has it, and where it stands in the text.
//!
//! The algebra has no places, so what is refused is looked up among the tokens.

use super::Lowering;
use crate::guard::token::{Token, TokenKind, Tokens};
use crate::parse::{ParseError, ParseErrorKind, ParseOptions};
use crate::position::Position;
use crate::xpath_pattern::{self, Refusal, RefusalKind};
use oxrdf::NamedNode;
use spargebra::algebra::Function;

/// The namespace of the casts.
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

impl Lowering<'_> {
    fn refuse(&self, kind: ParseErrorKind, message: String, token: Option<Token>) -> ParseError {
        let position = token.map_or(Position::START, |token| {
            Position::of_offset(self.tokens.text, token.start as usize)
        });
        ParseError {
            kind,
            position,
            message,
        }
    }

    /// A function named by an IRI that stands for none that is known.
    pub(super) fn unknown_function(&self, name: &NamedNode) -> ParseError {
        let message = match name.as_str().strip_prefix(XSD) {
            Some(_) => format!(
                "the cast {name} is not supported: there are casts to boolean, string, numbers, dates, \
                 times, durations, parts of dates (such as gYear), and to what is derived from integer \
                 and string (such as int and token); mind upper and lower case"
            ),
            None => format!(
                "the function {name} is not supported: of functions named by an IRI there are the \
                 casts of XML Schema, such as xsd:integer; use a builtin, or leave the call out"
            ),
        };
        self.refuse(ParseErrorKind::Unsupported, message, self.called(name))
    }

    /// An aggregate named by an IRI.
    pub(super) fn unknown_aggregate(&self, name: &NamedNode) -> ParseError {
        let message = format!(
            "the aggregate {name} is not supported: none is named by an IRI, and no other function takes \
             DISTINCT"
        );
        self.refuse(ParseErrorKind::Unsupported, message, self.called(name))
    }

    /// A constant pattern, or constant flags, that cannot be used.
    pub(super) fn refused_pattern(
        &self,
        function: &Function,
        pattern: &str,
        flags: &str,
        refusal: Refusal,
    ) -> ParseError {
        /// Characters of the pattern that the message quotes.
        const QUOTED_CHARS: usize = 200;
        let name = if matches!(function, Function::Replace) {
            "REPLACE"
        } else {
            "REGEX"
        };
        let kind = match refusal.kind {
            RefusalKind::Invalid => ParseErrorKind::Syntax,
            RefusalKind::Unsupported => ParseErrorKind::Unsupported,
        };
        let message = if xpath_pattern::translate("", flags).is_err() {
            format!("the flags {flags:?} of {name} cannot be used: {refusal}")
        } else {
            let quoted: String = pattern.chars().take(QUOTED_CHARS).collect();
            format!("the regular expression {quoted:?} of {name} cannot be used: {refusal}")
        };
        self.refuse(kind, message, self.pattern_call(name, pattern))
    }

    /// The text that is written like a pattern after the name of a function, else the first call.
    fn pattern_call(&self, name: &str, pattern: &str) -> Option<Token> {
        let list = &self.tokens.tokens;
        let is_name = |at: &usize| {
            let token = list[*at];
            token.kind == TokenKind::Word && self.tokens.slice(token).eq_ignore_ascii_case(name)
        };
        let calls = (0..list.len()).filter(is_name);
        let first = calls.clone().next();
        let texts = calls.flat_map(|at| {
            let end = (at + 1..list.len()).find(|next| is_name(next));
            at + 1..end.unwrap_or(list.len())
        });
        let is_pattern = |at: &usize| {
            let token = list[*at];
            token.kind == TokenKind::String && {
                let written = self.tokens.slice(token).trim_matches(['"', '\'']);
                let plain = written.replace("\\\\", "\\");
                plain == pattern
            }
        };
        let found = texts.clone().find(is_pattern);
        found.or(first).map(|at| list[at])
    }

    /// A cast of other than one argument.
    pub(super) fn cast_arguments(&self, name: &NamedNode, arguments: usize) -> ParseError {
        let message = format!("the cast {name} takes one argument, not {arguments}");
        self.refuse(ParseErrorKind::Syntax, message, self.called(name))
    }

    /// Where this IRI is called, else the first that is.
    fn called(&self, name: &NamedNode) -> Option<Token> {
        let pairs = self.tokens.tokens.windows(2);
        let mut called = pairs
            .filter(|pair| {
                matches!(pair[0].kind, TokenKind::Iri | TokenKind::PrefixedName)
                    && self.tokens.slice(pair[1]) == "("
                    && pair[1].in_expression
            })
            .map(|pair| pair[0]);
        let is_it = |token: &Token| self.iri(*token).as_deref() == Some(name.as_str());
        called.clone().find(is_it).or_else(|| called.next())
    }

    /// The IRI of a token, where neither a base nor an escape has a part in it.
    fn iri(&self, token: Token) -> Option<String> {
        let slice = self.tokens.slice(token);
        if token.kind == TokenKind::Iri {
            return Some(slice[1..slice.len() - 1].to_owned());
        }
        let (prefix, local) = slice.split_once(':')?;
        let mut prefixes = self.prefixes.iter().rev();
        let (_, iri) = prefixes.find(|(known, _)| known == prefix)?;
        Some(format!("{iri}{local}"))
    }
}

/// The prefixes of the options and of the text's prologue, the latter last. Relative ones, which
/// only the parser resolves, are left out: they are for printing.
pub(crate) fn prefixes(tokens: &Tokens<'_>, options: &ParseOptions) -> Vec<(String, String)> {
    let mut prefixes = options.prefixes.clone();
    for triple in tokens.tokens.windows(3) {
        if triple[0].kind != TokenKind::Word || triple[2].kind != TokenKind::Iri {
            continue;
        }
        let [keyword, name, iri] = [triple[0], triple[1], triple[2]].map(|t| tokens.slice(t));
        if !keyword.eq_ignore_ascii_case("PREFIX") {
            continue;
        }
        let iri = &iri[1..iri.len() - 1];
        if iri.contains(':') && !iri.contains('\\') {
            prefixes.push((name.trim_end_matches(':').to_owned(), iri.to_owned()));
        }
    }
    prefixes
}
