//! What this release does not evaluate: its name, and its place in the text.
//!
//! The algebra has no places, so a refused feature is looked up among the tokens: the first one
//! that can stand for it. Where a keyword occurs more than once, the first may be another use of
//! it than the one refused.

use super::Translator;
use crate::guard::token::{Token, TokenKind, Tokens};
use crate::parse::{ParseError, ParseErrorKind, ParseOptions};
use crate::position::Position;
use spargebra::algebra::{AggregateExpression, Function, GraphPattern};

impl Translator<'_> {
    /// "not supported yet", at the first of these keywords.
    pub(super) fn unsupported(&self, what: &str, keywords: &[&str]) -> ParseError {
        self.unsupported_at(what, self.tokens.find_word(keywords))
    }

    fn unsupported_at(&self, what: &str, token: Option<Token>) -> ParseError {
        let position = token.map_or(Position::START, |token| {
            Position::of_offset(self.tokens.text, token.start as usize)
        });
        ParseError {
            kind: ParseErrorKind::Unsupported,
            position,
            message: format!("not supported yet: {what}"),
        }
    }

    /// A pattern other than those that [`super::pattern`] reads.
    pub(super) fn unsupported_pattern(&self, pattern: &GraphPattern) -> ParseError {
        match pattern {
            GraphPattern::LeftJoin { .. } => self.unsupported("OPTIONAL", &["OPTIONAL"]),
            GraphPattern::Union { .. } => self.unsupported("UNION", &["UNION"]),
            GraphPattern::Minus { .. } => self.unsupported("MINUS", &["MINUS"]),
            GraphPattern::Lateral { .. } => self.unsupported("LATERAL", &["LATERAL"]),
            GraphPattern::Service { .. } => self.unsupported("SERVICE", &["SERVICE"]),
            GraphPattern::Values { .. } => self.unsupported("VALUES", &["VALUES"]),
            GraphPattern::Path { .. } => self.unsupported_path(),
            GraphPattern::Extend { .. } => self.unsupported_extend(),
            GraphPattern::Group { aggregates, .. } => match aggregates.first() {
                Some((_, aggregate)) if self.tokens.find_word(&["GROUP"]).is_none() => {
                    self.unsupported_aggregate(aggregate)
                }
                _ => self.unsupported("GROUP BY", &["GROUP"]),
            },
            _ => {
                let mut selects = self.tokens.tokens.iter().copied().filter(|&token| {
                    token.kind == TokenKind::Word
                        && self.tokens.slice(token).eq_ignore_ascii_case("SELECT")
                });
                // An ASK has no SELECT of its own.
                let own = usize::from(self.tokens.find_word(&["ASK"]).is_none());
                self.unsupported_at("sub-SELECT", selects.nth(own))
            }
        }
    }

    fn unsupported_extend(&self) -> ParseError {
        if self.tokens.find_word(&["GROUP"]).is_some() {
            self.unsupported("GROUP BY", &["GROUP"])
        } else if self.tokens.find_word(&["BIND"]).is_some() {
            self.unsupported("BIND", &["BIND"])
        } else if let Some(aggregate) = self.tokens.find_word(&AGGREGATES) {
            self.unsupported_at("aggregates other than a lone COUNT", Some(aggregate))
        } else {
            self.unsupported("an expression in SELECT", &["AS"])
        }
    }

    fn unsupported_path(&self) -> ParseError {
        let operator = self.tokens.tokens.iter().copied().find(|&token| {
            token.kind == TokenKind::Operator
                && !token.in_expression
                && matches!(self.tokens.slice(token), "*" | "+" | "?" | "|" | "!")
                && !self.is_select_star(token)
        });
        self.unsupported_at("property paths other than ^ and /", operator)
    }

    /// Whether the token stands right after SELECT, DISTINCT or REDUCED.
    fn is_select_star(&self, token: Token) -> bool {
        let at = self
            .tokens
            .tokens
            .partition_point(|t| t.start < token.start);
        at.checked_sub(1)
            .is_some_and(|before| self.tokens.tokens[before].kind == TokenKind::Word)
    }

    pub(super) fn unsupported_triple_term(&self) -> ParseError {
        let token = self.tokens.find(|kind, slice| {
            kind == TokenKind::Operator && matches!(slice, "<<" | "<<(" | "{|" | "~")
        });
        self.unsupported_at("triple terms", token)
    }

    pub(super) fn unsupported_aggregate(&self, aggregate: &AggregateExpression) -> ParseError {
        let text = aggregate.to_string();
        let name = text.split('(').next().unwrap_or(&text).to_owned();
        let what = format!("aggregate {name}");
        self.unsupported_at(&what, self.tokens.find_word(&[&name]))
    }

    /// A builtin that is not evaluated yet, or a function named by an IRI.
    pub(super) fn unsupported_function(&self, function: &Function) -> ParseError {
        let name = function.to_string();
        let token = match function {
            Function::Custom(_) => self.called_iri(),
            _ => self.tokens.find_word(&[&name]),
        };
        self.unsupported_at(&format!("function {name}"), token)
    }

    /// The first IRI or prefixed name that is called.
    fn called_iri(&self) -> Option<Token> {
        let pairs = self.tokens.tokens.windows(2);
        pairs
            .filter(|pair| {
                matches!(pair[0].kind, TokenKind::Iri | TokenKind::PrefixedName)
                    && self.tokens.slice(pair[1]) == "("
            })
            .map(|pair| pair[0])
            .next()
    }
}

const AGGREGATES: [&str; 7] = [
    "COUNT",
    "SUM",
    "MIN",
    "MAX",
    "AVG",
    "SAMPLE",
    "GROUP_CONCAT",
];

/// The prefixes of the options and of the text's prologue, the latter last. Relative ones, which
/// only the parser resolves, are left out: they are for printing.
pub(super) fn prefixes(tokens: &Tokens<'_>, options: &ParseOptions) -> Vec<(String, String)> {
    let mut prefixes = options.prefixes.clone();
    for triple in tokens.tokens.windows(3) {
        let [keyword, name, iri] = [triple[0], triple[1], triple[2]].map(|t| tokens.slice(t));
        if !keyword.eq_ignore_ascii_case("PREFIX") || triple[2].kind != TokenKind::Iri {
            continue;
        }
        let iri = &iri[1..iri.len() - 1];
        if iri.contains(':') && !iri.contains('\\') {
            prefixes.push((name.trim_end_matches(':').to_owned(), iri.to_owned()));
        }
    }
    prefixes
}
