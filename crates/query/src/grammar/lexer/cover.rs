//! A text as pieces that lie end to end: its tokens, and what lies between them.
//!
//! For tools that show, complete and split text which is not finished, or no SPARQL at all: nothing is judged, and a
//! string without an end is a piece, too. The tokens are those of the parser, because they are cut by the same
//! [`Lexer`]. One pass over the text.

use super::token::TokenKind;
use super::{Lexer, Unclosed};

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// White space.
    Space,
    /// From `#` to the end of the line.
    Comment,
    /// A string that has no closing quotes: up to the end of the line, or of the text.
    OpenString {
        /// Whether it may go on in the next line.
        is_long: bool,
    },
    /// A token of the grammar.
    Token(TokenKind),
}

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'t> {
    /// What it is.
    pub kind: PieceKind,
    /// The piece.
    pub text: &'t str,
    /// Where it begins, in bytes.
    pub start: usize,
}

impl Piece<'_> {
    /// Where it ends, in bytes.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether the grammar looks at it.
    pub fn is_significant(&self) -> bool {
        !matches!(self.kind, PieceKind::Space | PieceKind::Comment)
    }

    /// Whether it is a token of a kind.
    pub fn is(&self, kind: TokenKind) -> bool {
        self.kind == PieceKind::Token(kind)
    }

    /// Whether it is this keyword, in whatever case.
    pub fn is_word(&self, word: &str) -> bool {
        self.is(TokenKind::Word) && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is this bracket, separator or operator.
    pub fn is_operator(&self, operator: &str) -> bool {
        self.is(TokenKind::Operator) && self.text == operator
    }

    /// How many more brackets are open behind it than before it. `<<` and `>>` are none here: in a text that is no
    /// SPARQL they were meant as something else, and neither `;` nor the end of a statement stands within them.
    pub fn nesting(&self) -> i32 {
        match self.kind {
            PieceKind::Token(TokenKind::Operator) if !matches!(self.text, "<<" | ">>") => {
                super::nesting(self.text)
            }
            _ => 0,
        }
    }
}

/// The pieces of a text, which cover it.
pub fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut lexer = Lexer::new(text);
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &text[start..];
        let first = rest.chars().next()?;
        let (kind, end) = match first {
            ' ' | '\t' | '\r' | '\n' => {
                let length = rest.find(|c| !matches!(c, ' ' | '\t' | '\r' | '\n'));
                (PieceKind::Space, start + length.unwrap_or(rest.len()))
            }
            '#' => {
                let length = rest.find(['\n', '\r']);
                (PieceKind::Comment, start + length.unwrap_or(rest.len()))
            }
            _ => {
                lexer.at = start;
                match lexer.next() {
                    Ok(Some(token)) => (PieceKind::Token(token.kind), token.end as usize),
                    Ok(None) => (PieceKind::Space, text.len()),
                    Err(Unclosed(_)) => open_string(text, start),
                }
            }
        };
        let piece = Piece {
            kind,
            text: &text[start..end],
            start,
        };
        start = end;
        Some(piece)
    })
}

/// Up to where a string without an end goes.
fn open_string(text: &str, start: usize) -> (PieceKind, usize) {
    let rest = &text[start..];
    let is_long = rest.starts_with("\"\"\"") || rest.starts_with("'''");
    let line = rest.find(['\n', '\r']).filter(|_| !is_long);
    (
        PieceKind::OpenString { is_long },
        start + line.unwrap_or(rest.len()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The significant pieces of a text, of which all cover it.
    fn kinds(text: &str) -> Vec<(PieceKind, &str)> {
        let all: Vec<_> = pieces(text).collect();
        let whole: String = all.iter().map(|piece| piece.text).collect();
        assert_eq!(whole, text, "pieces cover the text");
        all.into_iter()
            .filter(Piece::is_significant)
            .map(|piece| (piece.kind, piece.text))
            .collect()
    }

    #[test]
    fn what_could_hide_a_bracket() {
        let text = "<http://e/;>'a\\'}' \"\"\"x\n\"}\"\"\" # {\n?x:{";
        let expected = [
            (TokenKind::Iri, "<http://e/;>"),
            (TokenKind::String, "'a\\'}'"),
            (TokenKind::String, "\"\"\"x\n\"}\"\"\""),
            (TokenKind::Variable, "?x"),
            (TokenKind::PrefixedName, ":"),
            (TokenKind::Operator, "{"),
        ];
        assert_eq!(
            kinds(text),
            expected.map(|(kind, text)| (PieceKind::Token(kind), text))
        );
        let nesting: i32 = pieces(text).map(|piece| piece.nesting()).sum();
        assert_eq!(nesting, 1);
    }

    #[test]
    fn strings_without_an_end() {
        let open = |is_long| PieceKind::OpenString { is_long };
        assert_eq!(kinds("'abc\n"), [(open(false), "'abc")]);
        assert_eq!(kinds("'abc\\"), [(open(false), "'abc\\")]);
        assert_eq!(kinds("'''abc\n"), [(open(true), "'''abc\n")]);
        assert_eq!(kinds("\"\\"), [(open(false), "\"\\")]);
        assert_eq!(kinds(""), []);
    }

    #[test]
    fn whatever_a_text_is_pieces_cover_it() {
        for text in [
            "'\\\n\\'\\\n\\'\\\n",
            "\u{a0}é?\u{2028}x",
            "\\#\\",
            "?a<?b>",
            "((",
            "a:\\",
            "_:",
            "@",
            "<<<",
        ] {
            kinds(text);
        }
    }
}
