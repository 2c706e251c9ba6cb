//! Cuts SPARQL text into tokens: no recursion, one pass, linear time.
//!
//! The grammar's tokens are the longest ones (SPARQL 1.2 section 19.8), so what a token is depends on nothing
//! before it: `<b>` is an IRI wherever it stands, and whoever compares with `?a<?b&&?c>?d` puts a blank behind
//! the `<`; the parser says so. What is no token at all becomes an operator of one character, which the parser
//! refuses.
//!
//! **Nesting is bounded here**, so that of a megabyte of brackets only the first few hundred are read: open brackets,
//! and `!` right after one another. The parser counts exactly, as it counts what the other [`Limits`] bound.
//!
//! **Linear time.** An IRI attempt ends at the next `<`; a run of name characters that is not
//! followed by a colon is remembered, so that `a-b-c...` is scanned once; a string that does not
//! end is an error at once.

pub mod cover;
pub mod token;

use crate::error::{ParseError, ParseErrorKind};
use crate::limits::{Exceeded, Limit, Limits};
use crate::position::Position;
use rdf::name;
use token::{Token, TokenKind, Tokens};

/// How many more brackets are open behind an operator than before it.
#[inline]
pub(crate) fn nesting(operator: &str) -> i32 {
    match operator.as_bytes() {
        [b'(' | b'{' | b'[', ..] | [b'<', b'<', ..] => 1,
        [b')' | b'}' | b']', ..] | [b'|', b'}'] | [b'>', b'>'] => -1,
        _ => 0,
    }
}

/// The tokens of a text within the limits of size and nesting. O(bytes of the text), 12 bytes a token.
pub(crate) fn scan<'t>(text: &'t str, limits: &Limits) -> Result<Tokens<'t>, ParseError> {
    let bytes = text.len() as u64;
    if let Err(exceeded) = limits.check(Limit::TextBytes, bytes) {
        let at = text.floor_char_boundary(limits.text_bytes as usize);
        return Err(exceeded.at(Position::of_offset(text, at)));
    }
    let mut lexer = Lexer::new(text);
    let mut nesting = Nesting::default();
    let mut tokens = Vec::with_capacity(text.len() / 5);
    let mut covered = 0;
    while let Some(token) = lexer.next().map_err(|Unclosed(at)| not_closed(text, at))? {
        if token.kind == TokenKind::Operator {
            nesting
                .take(&text[token.start as usize..token.end as usize], limits)
                .map_err(|exceeded| exceeded.at(Position::of_offset(text, token.start as usize)))?;
        } else {
            nesting.bangs = 0;
        }
        covered += (token.end - token.start) as usize;
        tokens.push(token);
    }
    assert!(covered <= text.len(), "tokens do not overlap");
    assert!(tokens.len() <= covered, "a token has a byte");
    Ok(Tokens { text, tokens })
}

/// Open brackets, and `!` right after one another.
#[derive(Default)]
struct Nesting {
    open: u64,
    bangs: u64,
}

impl Nesting {
    fn take(&mut self, operator: &str, limits: &Limits) -> Result<(), Exceeded> {
        if operator == "!" {
            self.bangs += 1;
        } else {
            self.open = self.open.saturating_add_signed(nesting(operator).into());
            self.bangs = 0;
        }
        limits.check(Limit::Nesting, self.open + self.bangs)
    }
}

/// That the string which begins here has no end.
#[cold]
fn not_closed(text: &str, at: usize) -> ParseError {
    let quotes = ["\"\"\"", "'''", "\"", "'"];
    let quotes = quotes
        .iter()
        .find(|quotes| text[at..].starts_with(**quotes));
    ParseError {
        kind: ParseErrorKind::Syntax,
        position: Position::of_offset(text, at),
        message: format!("`{}` is not closed", quotes.unwrap_or(&"\"")),
    }
}

/// A string that does not end; its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unclosed(pub usize);

/// The lexer: a text and a place in it.
struct Lexer<'t> {
    text: &'t str,
    at: usize,
    /// No run of name characters before this byte is followed by a colon.
    no_prefix_before: usize,
}

impl<'t> Lexer<'t> {
    fn new(text: &'t str) -> Lexer<'t> {
        Lexer {
            text,
            at: 0,
            no_prefix_before: 0,
        }
    }

    /// The next token, or `None` at the end of the text.
    fn next(&mut self) -> Result<Option<Token>, Unclosed> {
        self.skip_blanks();
        let start = self.at;
        let Some(first) = self.byte(0) else {
            return Ok(None);
        };
        let kind = match first {
            b'A'..=b'Z' | b'a'..=b'z' => self.word_or_name(),
            b'"' | b'\'' => self.string(first)?,
            b'?' | b'$' => self.variable(),
            b'<' => self.angle(),
            b'_' if self.byte(1) == Some(b':') => self.blank_node(),
            b'@' => self.language(),
            b'0'..=b'9' => self.number(),
            b'.' if self.byte(1).is_some_and(|byte| byte.is_ascii_digit()) => self.number(),
            b':' => self.local_name(),
            0..128 => self.operator(first.into()),
            _ => match self.rest().chars().next() {
                Some(first) if name::is_base(first) => self.word_or_name(),
                Some(first) => self.operator(first),
                None => return Ok(None),
            },
        };
        debug_assert!(self.at > start, "a token has at least one byte");
        Ok(Some(Token {
            kind,
            start: start as u32,
            end: self.at as u32,
        }))
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    /// White space and comments.
    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'#' => {
                    let line = bytes[self.at..]
                        .iter()
                        .position(|&b| b == b'\n' || b == b'\r');
                    self.at = line.map_or(bytes.len(), |length| self.at + length);
                }
                _ => return,
            }
        }
    }

    /// A string in one or three quotes; escapes are skipped, not checked.
    fn string(&mut self, quote: u8) -> Result<TokenKind, Unclosed> {
        let bytes = self.text.as_bytes();
        let long = self.byte(1) == Some(quote) && self.byte(2) == Some(quote);
        let start = self.at;
        let mut at = start + if long { 3 } else { 1 };
        while let Some(&byte) = bytes.get(at) {
            if byte == b'\\' && (long || !matches!(bytes.get(at + 1), Some(b'\n' | b'\r'))) {
                at += 2;
            } else if byte == quote && !long {
                self.at = at + 1;
                return Ok(TokenKind::String);
            } else if byte == quote && bytes[at..].starts_with(&[quote; 3]) {
                self.at = at + 3;
                return Ok(TokenKind::String);
            } else if !long && (byte == b'\n' || byte == b'\r') {
                break;
            } else {
                at += 1;
            }
        }
        Err(Unclosed(start))
    }

    fn variable(&mut self) -> TokenKind {
        let name = self.run(1, &VARIABLE);
        let starts = match self.byte(1) {
            // All of the class may begin a name.
            Some(0..128) => name > 0,
            _ => self.rest()[1..].chars().next().is_some_and(name::is_base),
        };
        if starts {
            self.at += 1 + name;
            TokenKind::Variable
        } else {
            self.at += 1;
            TokenKind::Operator
        }
    }

    /// An IRI, `<<(`, `<<`, `<=` or `<`.
    fn angle(&mut self) -> TokenKind {
        let rest = self.rest();
        if let Some(length) = iri_length(rest) {
            self.at += length;
            return TokenKind::Iri;
        }
        let operators = ["<<(", "<<", "<="];
        let operator = operators
            .iter()
            .find(|operator| rest.starts_with(**operator));
        self.at += operator.map_or(1, |operator| operator.len());
        TokenKind::Operator
    }

    fn blank_node(&mut self) -> TokenKind {
        let name = self.run(2, &PREFIX);
        self.at += 2 + name;
        self.give_back_dots();
        TokenKind::BlankNode
    }

    fn language(&mut self) -> TokenKind {
        let tag = self.run(1, &TAG);
        self.at += 1 + tag;
        TokenKind::Language
    }

    /// Digits, a fraction (the dot belongs to it before a digit or an exponent), an exponent.
    fn number(&mut self) -> TokenKind {
        self.digits();
        if self.byte(0) == Some(b'.') {
            let next = self.byte(1).unwrap_or(b' ');
            if next.is_ascii_digit() || (matches!(next, b'e' | b'E') && self.is_exponent(1)) {
                self.at += 1;
                self.digits();
            }
        }
        if self.is_exponent(0) {
            self.at += 2;
            self.digits();
        }
        TokenKind::Number
    }

    fn digits(&mut self) {
        while self.byte(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn is_exponent(&self, ahead: usize) -> bool {
        let digit = |at| self.byte(at).is_some_and(|byte: u8| byte.is_ascii_digit());
        matches!(self.byte(ahead), Some(b'e' | b'E'))
            && (digit(ahead + 1)
                || (matches!(self.byte(ahead + 1), Some(b'+' | b'-')) && digit(ahead + 2)))
    }

    /// A prefix with its colon and local name, or else a word.
    fn word_or_name(&mut self) -> TokenKind {
        if self.at >= self.no_prefix_before {
            let prefix = self.run(0, &PREFIX);
            let end = self.at + prefix;
            let bytes = self.text.as_bytes();
            if bytes.get(end) == Some(&b':') && !bytes[..end].ends_with(b".") {
                self.at = end;
                return self.local_name();
            }
            self.no_prefix_before = end;
        }
        let word = self.run(0, &WORD);
        self.at += match word {
            0 => self.rest().chars().next().map_or(1, char::len_utf8),
            letters => letters,
        };
        TokenKind::Word
    }

    /// From the colon: the local name with its escapes.
    fn local_name(&mut self) -> TokenKind {
        self.at += 1;
        // What may stand within a name, and begins none.
        let begins = match self.byte(0) {
            Some(first @ 0..128) => !matches!(first, b'-' | b'.'),
            _ => self.rest().chars().next().is_some_and(name::is_base),
        };
        if begins {
            self.at += self.run(0, &LOCAL);
            while self.byte(0) == Some(b'\\') && self.byte(1).is_some_and(is_local_escape) {
                self.at += 2;
                self.at += self.run(0, &LOCAL);
            }
        }
        self.give_back_dots();
        TokenKind::PrefixedName
    }

    /// A name does not end with dots: they are separators.
    fn give_back_dots(&mut self) {
        let bytes = self.text.as_bytes();
        while bytes[self.at - 1] == b'.' && bytes.get(self.at - 2) != Some(&b'\\') {
            self.at -= 1;
        }
    }

    fn operator(&mut self, first: char) -> TokenKind {
        const LONG: [&str; 9] = ["||", "&&", "^^", "!=", ">=", "{|", "|}", ">>", ")>>"];
        let rest = self.rest();
        // What ends most statements begins no longer one.
        let is_short = matches!(first, '.' | ';' | ',' | '}' | '*' | '/');
        let long = LONG
            .iter()
            .find(|long| !is_short && rest.starts_with(**long));
        self.at += long.map_or(first.len_utf8(), |long| long.len());
        TokenKind::Operator
    }

    /// Bytes of the longest run of such characters, from `ahead` bytes on.
    fn run(&self, ahead: usize, class: &Class) -> usize {
        let bytes = self.text.as_bytes();
        let start = self.at + ahead;
        let mut at = start;
        while let Some(&byte) = bytes.get(at) {
            if byte < 128 {
                if ASCII[usize::from(byte)] & class.ascii == 0 {
                    break;
                }
                at += 1;
            } else {
                let next = self.text[at..].chars().next();
                let Some(next) = next.filter(|next| (class.beyond)(*next)) else {
                    break;
                };
                at += next.len_utf8();
            }
        }
        at - start
    }
}

/// A set of characters: by a bit of [`ASCII`] where nearly all text is, by a test elsewhere.
struct Class {
    ascii: u8,
    beyond: fn(char) -> bool,
}

const VARIABLE: Class = Class {
    ascii: 1,
    beyond: |c| name::is_base(c) || is_variable_tail(c),
};
/// A prefix, or the label of a blank node.
const PREFIX: Class = Class {
    ascii: 2,
    beyond: is_name_tail,
};
const LOCAL: Class = Class {
    ascii: 4,
    beyond: is_name_tail,
};
const TAG: Class = Class {
    ascii: 8,
    beyond: |_| false,
};
const WORD: Class = Class {
    ascii: 1,
    beyond: |_| false,
};

/// Of each character which classes hold it.
const ASCII: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            table[byte as usize] = VARIABLE.ascii | PREFIX.ascii | LOCAL.ascii | TAG.ascii;
        }
        byte += 1;
    }
    table[b'_' as usize] = VARIABLE.ascii | PREFIX.ascii | LOCAL.ascii;
    table[b'-' as usize] = PREFIX.ascii | LOCAL.ascii | TAG.ascii;
    table[b'.' as usize] = PREFIX.ascii | LOCAL.ascii;
    table[b':' as usize] = LOCAL.ascii;
    table[b'%' as usize] = LOCAL.ascii;
    table
};

/// The length of an IRI in angle brackets (IRIREF), if there is one.
pub(crate) fn iri_length(rest: &str) -> Option<usize> {
    let inside = rest.as_bytes()[1..].iter();
    let end = inside
        .take_while(|byte| !ENDS_IRI[usize::from(**byte)])
        .count();
    rest[1 + end..].starts_with('>').then_some(end + 2)
}

/// What IRIREF does not allow.
const ENDS_IRI: [bool; 256] = {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        ends[byte] = byte <= b' ' as usize;
        byte += 1;
    }
    let others = b"<>\"{}|^`";
    let mut at = 0;
    while at < others.len() {
        ends[others[at] as usize] = true;
        at += 1;
    }
    ends
};

/// What VARNAME has besides PN_CHARS_BASE.
fn is_variable_tail(c: char) -> bool {
    c == '_' || name::is_tail(c)
}

/// PN_CHARS.
fn is_name_tail(c: char) -> bool {
    name::is_base(c) || is_variable_tail(c) || c == '-'
}

/// The characters that PN_LOCAL_ESC escapes.
fn is_local_escape(byte: u8) -> bool {
    b"_~.-!$&'()*+,;=/?#@%".contains(&byte)
}
