//! The tokens of SPARQL: a kind and a range of bytes.
//!
//! They have two readers: the parser, whose nodes are ranges of them, and the
//! plan cache, for which a text is its [`shape`](crate::shape) and its constants.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A keyword, a builtin's name, `a`, `true` or `false`.
    Word,
    /// `?x` or `$x`.
    Variable,
    /// `<...>`.
    Iri,
    /// `ex:name`, `ex:` or `:name`.
    PrefixedName,
    /// `_:label`.
    BlankNode,
    /// A string in any of the four kinds of quotes.
    String,
    /// Digits, with fraction and exponent, without sign.
    Number,
    /// `@en` or `@en--ltr`.
    Language,
    /// Brackets, separators and operators.
    Operator,
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its first byte.
    pub start: u32,
    /// The byte after it.
    pub end: u32,
}

/// The tokens of a text, in order, with the text.
#[derive(Clone, Debug)]
pub struct Tokens<'t> {
    /// The text they were cut from.
    pub text: &'t str,
    /// The tokens, without white space and comments.
    pub tokens: Vec<Token>,
}

impl<'t> Tokens<'t> {
    /// The text of a token.
    pub fn slice(&self, token: Token) -> &'t str {
        &self.text[token.start as usize..token.end as usize]
    }

    /// The first token for which the test of kind and text holds.
    pub fn find(&self, test: impl Fn(TokenKind, &str) -> bool) -> Option<Token> {
        self.tokens
            .iter()
            .copied()
            .find(|&token| test(token.kind, self.slice(token)))
    }
}
