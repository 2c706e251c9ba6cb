//! The grammar of SPARQL 1.1 and 1.2 (section 19.8), and `LATERAL` (SEP-0006): tokens to a [`Tree`].
//!
//! Recursive descent: a function for each rule, which looks at the next token or two and never goes back, so
//! a text costs time linear in its length. A function takes nothing and gives nothing but an error; what it has
//! read is written into the tree. So its frame of stack is small, and brackets and operators that stand before
//! their operand, which alone recur, are counted ([`Parser::deeper`]); so is what else [`Limits`] bounds, as it is
//! read ([`counts`]).
//!
//! | module | holds |
//! |---|---|
//! | `tree` | the nodes |
//! | `query` | prologue, forms, clauses, modifiers |
//! | `group` | groups and what stands in them |
//! | `triples` | triples, terms, paths |
//! | `expression` | expressions |
//! | `update` | operations of an update |
//! | `standing` | what standing queries add |
//! | `builtin` | the names of functions, and how many arguments they take |
//! | `counts` | what a text has of what the limits bound |
//! | `hint` | what was perhaps meant |
//! | `recover` | going on behind what is wrong |
//!
//! Whatever a text means (prefixes, scopes, grouping) is not looked at here: that is
//! [`translate`](crate::grammar::translate).

pub(crate) mod builtin;
mod counts;
mod expression;
mod group;
mod hint;
mod query;
mod recover;
mod standing;
pub(crate) mod tree;
mod triples;
mod update;

use crate::error::{ParseError, ParseErrorKind};
use crate::grammar::lexer::nesting;
use crate::grammar::lexer::token::{Token, TokenKind, Tokens};
use crate::limits::{Exceeded, Limits};
use crate::position::Position;
use counts::Counts;
pub(crate) use recover::ERRORS_MAX;
pub(crate) use standing::span_text;
use std::ops::Range;
use tree::{Builder, Mark, NodeKind, Tree};

/// The words of the grammar, as people write them: keywords and the names of functions.
pub fn words() -> impl Iterator<Item = &'static str> {
    hint::keywords().chain(builtin::names())
}

/// Brackets and `!` that are open at once, whatever [`Limits::nesting`] says: what the stack is measured for.
const DEPTH_MAX: u64 = 600;

/// Why a text is not in the grammar, or means nothing. Rare, so all of it lies aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GrammarError(Box<GrammarErrorDetail>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct GrammarErrorDetail {
    kind: ParseErrorKind,
    /// The token, by number; that after the last one for the end of the text.
    token: usize,
    /// What is wrong.
    message: String,
    /// What is wrong is more than a token: the byte that it ends before. 0: no more than that.
    end: usize,
    /// What follows on its line was taken for a comment, perhaps wrongly.
    hides_line: bool,
}

/// An error, or what was read.
pub(crate) type Parsed<T = ()> = Result<T, GrammarError>;

/// The tree of a query.
pub(crate) fn query<'t>(tokens: &'t Tokens<'t>, limits: &Limits) -> Result<Tree<'t>, ParseError> {
    tree(
        tokens,
        0..tokens.tokens.len(),
        limits,
        "query",
        Parser::query_unit,
    )
}

/// The tree of a standing query.
pub(crate) fn standing<'t>(
    tokens: &'t Tokens<'t>,
    limits: &Limits,
) -> Result<Tree<'t>, ParseError> {
    let all = 0..tokens.tokens.len();
    tree(tokens, all, limits, "query", |parser| {
        parser.is_standing = true;
        parser.standing_unit()
    })
}

/// All that is wrong with a text that [`standing`] refuses.
pub(crate) fn errors_of_standing(tokens: &Tokens<'_>, limits: &Limits) -> Vec<ParseError> {
    let all = 0..tokens.tokens.len();
    errors(tokens, all, limits, "query", |parser| {
        parser.is_standing = true;
        parser.standing_unit()
    })
}

/// All that is wrong with a text that [`query`] refuses, the error that it gives first ([`recover`]).
pub(crate) fn errors_of_query(tokens: &Tokens<'_>, limits: &Limits) -> Vec<ParseError> {
    let all = 0..tokens.tokens.len();
    errors(tokens, all, limits, "query", Parser::query_unit)
}

/// The same of tokens that [`update`] refuses.
pub(crate) fn errors_of_update(
    tokens: &Tokens<'_>,
    part: Range<usize>,
    limits: &Limits,
) -> Vec<ParseError> {
    errors(tokens, part, limits, "update", Parser::update_unit)
}

/// The tree of tokens that are one operation of an update at most, and its prologue.
pub(crate) fn update<'t>(
    tokens: &'t Tokens<'t>,
    part: Range<usize>,
    limits: &Limits,
) -> Result<Tree<'t>, ParseError> {
    tree(tokens, part, limits, "update", Parser::update_unit)
}

/// The tree of tokens that are a prologue without an operation.
pub(crate) fn prologue<'t>(
    tokens: &'t Tokens<'t>,
    part: Range<usize>,
    limits: &Limits,
) -> Result<Tree<'t>, ParseError> {
    tree(tokens, part, limits, "update", Parser::prologue_alone)
}

/// The tree of one term as `VALUES` has it.
pub(crate) fn term<'t>(tokens: &'t Tokens<'t>, limits: &Limits) -> Result<Tree<'t>, ParseError> {
    tree(
        tokens,
        0..tokens.tokens.len(),
        limits,
        "term",
        Parser::one_term,
    )
}

fn tree<'t>(
    tokens: &'t Tokens<'t>,
    part: Range<usize>,
    limits: &Limits,
    what: &'static str,
    rule: impl FnOnce(&mut Parser<'t>) -> Parsed,
) -> Result<Tree<'t>, ParseError> {
    let mut parser = Parser::new(tokens, part, limits, what);
    match rule(&mut parser) {
        Ok(()) => {
            assert_eq!(parser.depth, 0, "a rule that has begun has ended");
            assert!(
                parser.at <= parser.read.len(),
                "what was read is of the part"
            );
            Ok(parser.tree.finish(tokens))
        }
        Err(fault) => Err(fault.placed(tokens)),
    }
}

/// The errors of a second reading.
fn errors<'t>(
    tokens: &'t Tokens<'t>,
    part: Range<usize>,
    limits: &Limits,
    what: &'static str,
    rule: impl FnOnce(&mut Parser<'t>) -> Parsed,
) -> Vec<ParseError> {
    let mut parser = Parser::new(tokens, part, limits, what);
    parser.faults = Some(Vec::new());
    let last = rule(&mut parser).err();
    let (at, end) = (parser.at, parser.read.len());
    let faults = recover::causes(parser.faults.unwrap_or_default(), last, at, end);
    let errors = faults.into_iter().map(|fault| fault.placed(tokens));
    errors.collect()
}

impl GrammarError {
    pub(crate) fn at(token: usize, message: String) -> GrammarError {
        GrammarError::of(ParseErrorKind::Syntax, token, message)
    }

    pub(crate) fn of(kind: ParseErrorKind, token: usize, message: String) -> GrammarError {
        GrammarError(Box::new(GrammarErrorDetail {
            kind,
            token,
            message,
            end: 0,
            hides_line: false,
        }))
    }

    /// Whether the text is not in the grammar, rather than too much of it.
    fn is_of_grammar(&self) -> bool {
        self.0.kind == ParseErrorKind::Syntax
    }

    /// The error of the text.
    pub(crate) fn placed(self, tokens: &Tokens<'_>) -> ParseError {
        let GrammarErrorDetail {
            kind,
            token,
            message,
            ..
        } = *self.0;
        let place = tokens.tokens.get(token);
        let offset = place.map_or(tokens.text.len(), |token| token.start as usize);
        ParseError {
            kind,
            position: Position::of_offset(tokens.text, offset),
            message,
        }
    }
}

/// A token for a message, shortened.
pub(crate) fn quoted(slice: &str) -> String {
    const CHARACTERS_MAX: usize = 40;
    if slice.chars().count() <= CHARACTERS_MAX {
        return format!("`{slice}`");
    }
    let start: String = slice.chars().take(CHARACTERS_MAX).collect();
    format!("`{start}...`")
}

struct Parser<'t> {
    tokens: &'t Tokens<'t>,
    /// The first that is read.
    first: usize,
    /// Those of the text up to the end of what is read.
    read: &'t [Token],
    at: usize,
    depth: u64,
    counts: Counts,
    /// What the text is to be.
    what: &'static str,
    /// Whether it may have what standing queries add to the grammar.
    is_standing: bool,
    tree: Builder,
    /// Those met so far, in a second reading.
    faults: Option<Vec<GrammarError>>,
}

impl<'t> Parser<'t> {
    fn new(
        tokens: &'t Tokens<'t>,
        part: Range<usize>,
        limits: &Limits,
        what: &'static str,
    ) -> Parser<'t> {
        Parser {
            tokens,
            first: part.start,
            read: &tokens.tokens[..part.end],
            at: part.start,
            depth: 0,
            counts: Counts::new(limits),
            what,
            is_standing: false,
            tree: Builder::with_capacity(part.len() * 3 / 2 + 8),
            faults: None,
        }
    }

    fn token(&self, ahead: usize) -> Option<Token> {
        self.read.get(self.at + ahead).copied()
    }

    fn kind(&self) -> Option<TokenKind> {
        self.token(0).map(|token| token.kind)
    }

    /// The text of a token ahead; empty beyond the end.
    fn slice_ahead(&self, ahead: usize) -> &'t str {
        self.token(ahead)
            .map_or("", |token| self.tokens.slice(token))
    }

    fn slice(&self) -> &'t str {
        self.slice_ahead(0)
    }

    fn bump(&mut self) {
        self.at += 1;
    }

    /// Whether a bracket, separator or operator is next.
    fn is(&self, operator: &str) -> bool {
        self.is_ahead(0, operator)
    }

    fn is_ahead(&self, ahead: usize, operator: &str) -> bool {
        self.token(ahead).is_some_and(|token| {
            token.kind == TokenKind::Operator && self.tokens.slice(token) == operator
        })
    }

    fn eat(&mut self, operator: &str) -> bool {
        let is = self.is(operator);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, operator: &str) -> Parsed {
        if self.eat(operator) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{operator}`")))
    }

    /// Whether a keyword is next, in whatever case.
    fn is_word(&self, word: &str) -> bool {
        self.is_word_ahead(0, word)
    }

    fn is_word_ahead(&self, ahead: usize, word: &str) -> bool {
        self.token(ahead).is_some_and(|token| {
            token.kind == TokenKind::Word && self.tokens.slice(token).eq_ignore_ascii_case(word)
        })
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        self.at += usize::from(is);
        is
    }

    fn expect_word(&mut self, word: &str) -> Parsed {
        if self.eat_word(word) {
            return Ok(());
        }
        Err(self.unexpected(word))
    }

    fn is_iri(&self) -> bool {
        matches!(self.kind(), Some(TokenKind::Iri | TokenKind::PrefixedName))
    }

    fn is_variable(&self) -> bool {
        self.kind() == Some(TokenKind::Variable)
    }

    fn mark(&self) -> Mark {
        self.tree.mark(self.at)
    }

    fn close(&mut self, mark: Mark, kind: NodeKind) {
        self.tree.close(mark, kind, self.at);
    }

    /// The next token as a node.
    fn leaf(&mut self, kind: NodeKind) {
        let mark = self.mark();
        self.bump();
        self.close(mark, kind);
    }

    fn variable(&mut self) -> Parsed {
        if !self.is_variable() {
            return Err(self.unexpected("a variable"));
        }
        self.leaf(NodeKind::Variable);
        Ok(())
    }

    fn iri(&mut self) -> Parsed {
        if !self.is_iri() {
            return Err(self.unexpected("an IRI"));
        }
        self.leaf(NodeKind::Iri);
        Ok(())
    }

    fn variable_or_iri(&mut self) -> Parsed {
        if self.is_variable() {
            return self.variable();
        }
        if !self.is_iri() {
            return Err(self.unexpected("a variable or an IRI"));
        }
        self.iri()
    }

    /// What recurs, one level deeper.
    fn deeper(&mut self, rule: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        let around = self.counts.begin();
        let nested = self.counts.nested(self.depth);
        nested.map_err(|exceeded| self.exceeds(exceeded))?;
        rule(self)?;
        self.depth -= 1;
        self.counts
            .end(around)
            .map_err(|exceeded| self.exceeds(exceeded))
    }

    /// What recurs over what is read here, so many links deeper.
    fn link(&mut self, links: u64) -> Parsed {
        let linked = self.counts.link(links);
        linked.map_err(|exceeded| self.exceeds(exceeded))
    }

    /// That the text has more than a limit allows, up to the next token.
    #[cold]
    fn exceeds(&self, exceeded: Exceeded) -> GrammarError {
        GrammarError::of(exceeded.kind(), self.at, exceeded.to_string())
    }

    /// That the next token is another than expected, and what it may have been meant for.
    #[cold]
    fn unexpected(&self, expected: &str) -> GrammarError {
        let is_word = self.kind() == Some(TokenKind::Word);
        match hint::keyword(self.slice(), self.is_standing).filter(|_| is_word) {
            Some(keyword) => {
                self.refused(&format!("did you mean {keyword}? (expected {expected})"))
            }
            None => self.refused(&format!("expected {expected}")),
        }
    }

    /// The same within an expression, where people write operators of other languages.
    #[cold]
    fn unexpected_operator(&self, expected: &str) -> GrammarError {
        let before = self.at.checked_sub(1).map(|at| self.read[at]);
        let is_behind = |token: &Token| self.token(0).is_some_and(|it| it.start == token.end);
        let before = before.filter(is_behind).map(|it| self.tokens.slice(it));
        let begins_iri = |c: char| c.is_ascii_alphabetic();
        let behind = self.token(0).map_or(0, |token| token.end as usize);
        match hint::operator(before.unwrap_or(""), self.slice()) {
            // An IRI would not begin so.
            Some(hint) if !self.tokens.text[behind..].starts_with(begins_iri) => {
                let found = quoted(self.slice());
                GrammarError::at(self.at, format!("unexpected {found}: {hint}"))
            }
            Some(hint) => self.refused(hint),
            None => self.refused(&format!("expected {expected}")),
        }
    }

    /// That the next token cannot stand here, and why or what could.
    #[cold]
    fn refused(&self, reason: &str) -> GrammarError {
        if let Some(fault) = self.broken_iri() {
            return fault;
        }
        if let Some(fault) = self.of_standing() {
            return fault;
        }
        if let Some(tag) = self.bare_tag() {
            let found = quoted(self.slice());
            let message = format!("unexpected {found}: a language tag begins with `@`: {tag}");
            return GrammarError::at(self.at, message);
        }
        let found = if let Some(token) = self.token(0) {
            quoted(self.tokens.slice(token))
        } else if let Some(open) = self.innermost_open() {
            let bracket = self.tokens.slice(self.tokens.tokens[open]);
            return GrammarError::at(open, format!("`{bracket}` is not closed"));
        } else {
            format!("end of the {}", self.what)
        };
        GrammarError::at(self.at, format!("unexpected {found}: {reason}"))
    }

    /// The last bracket that is not closed where the text ends.
    #[cold]
    fn innermost_open(&self) -> Option<usize> {
        let mut closed = 0_usize;
        for (at, &token) in self.read.iter().enumerate().skip(self.first).rev() {
            if token.kind != TokenKind::Operator {
                continue;
            }
            match nesting(self.tokens.slice(token)) {
                -1 => closed += 1,
                1 if closed == 0 => return Some(at),
                1 => closed -= 1,
                _ => {}
            }
        }
        None
    }

    /// What is wrong with the IRI that was meant by the `<` which is next: it has no `>`, or a character that no IRI
    /// has before its line's next one.
    #[cold]
    fn broken_iri(&self) -> Option<GrammarError> {
        let token = self.token(0).filter(|_| self.is("<"))?;
        let rest = &self.tokens.text[token.start as usize..];
        let line = rest.split('\n').next()?;
        let invalid = |end: usize| {
            let iri = quoted(&rest[..=end]);
            GrammarError::at(self.at, format!("{iri} is not a valid absolute IRI"))
        };
        let end = 1 + line[1..]
            .find(char::is_whitespace)
            .unwrap_or(line.len() - 1);
        let begun = &line[..end];
        if let Some(closed) = begun.find('>') {
            return Some(invalid(closed));
        }
        // Another one that begins behind it has its own end.
        let other = line[1..].find(['<', '>']).map(|at| at + 1);
        if let Some(closed) = other.filter(|at| line[*at..].starts_with('>')) {
            return Some(invalid(closed));
        }
        let inner = &begun[1..];
        let is_iri = inner.starts_with(|c: char| c.is_ascii_alphabetic())
            && inner.contains(':')
            && !inner.contains(['"', '\'', '(', ')', '{', '}']);
        is_iri.then(|| {
            let message = format!("{} is not closed: an IRI ends with `>`", quoted(begun));
            let mut fault = GrammarError::at(self.at, message);
            fault.0.end = token.start as usize + begun.len();
            fault.0.hides_line = begun.contains('#');
            fault
        })
    }

    /// The tag that was meant where a word that is no keyword follows a string without a blank.
    #[cold]
    fn bare_tag(&self) -> Option<String> {
        /// Letters of a language at most (BCP 47).
        const LETTERS_MAX: usize = 8;
        let word = self
            .token(0)
            .filter(|token| token.kind == TokenKind::Word)?;
        let before = *self.read.get(self.at.checked_sub(1)?)?;
        let is_bare = before.kind == TokenKind::String && before.end == word.start;
        let language = self.slice();
        let is_language = language.len() <= LETTERS_MAX
            && language.bytes().all(|byte| byte.is_ascii_alphabetic())
            && !hint::is_keyword(language)
            && hint::keyword(language, self.is_standing).is_none();
        let is_of_tag = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
        let rest = self.tokens.text[word.start as usize..].chars();
        let tag: String = rest.take_while(is_of_tag).collect();
        (is_bare && is_language).then(|| quoted(&format!("@{tag}")))
    }
}
