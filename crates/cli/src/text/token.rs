//! The terminals of the SPARQL grammar (section 19.8 of SPARQL 1.1 Query), as far as colours,
//! completion and the end of a statement depend on them.
//!
//! It is more lenient than the grammar: a name may have any character beyond ASCII, a number any
//! digits. What decides where a token ends, however, is exactly what could hide a bracket or a
//! semicolon: IRIs, strings, comments.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// White space.
    Space,
    /// From `#` to the end of the line.
    Comment,
    /// `<...>`.
    Iri,
    /// A string that has its closing quote.
    String,
    /// A string that has none: up to the end of the line, or of the text for a long one.
    OpenString {
        /// Whether it may go on in the next line.
        is_long: bool,
    },
    /// A number.
    Number,
    /// `?name` or `$name`.
    Variable,
    /// `prefix:local`, either part may be empty.
    PrefixedName,
    /// `_:label`.
    BlankNode,
    /// A keyword, or the name of a function.
    Word,
    /// `@en`.
    Language,
    /// One character of anything else.
    Punctuation(char),
}

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// The piece.
    pub text: &'a str,
    /// Where it begins, in bytes.
    pub start: usize,
}

impl Token<'_> {
    /// Where it ends, in bytes.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether the grammar looks at it.
    pub fn is_significant(&self) -> bool {
        !matches!(self.kind, Kind::Space | Kind::Comment)
    }

    /// Whether it is this keyword, in whatever case.
    pub fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }
}

/// The tokens of a text, which cover it.
pub fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &text[start..];
        let first = rest.chars().next()?;
        let (kind, len) = first_token(rest, first);
        let token = Token {
            kind,
            text: &rest[..len],
            start,
        };
        start += len;
        Some(token)
    })
}

fn first_token(rest: &str, first: char) -> (Kind, usize) {
    let one = first.len_utf8();
    match first {
        _ if first.is_whitespace() => (Kind::Space, span(rest, char::is_whitespace)),
        '#' => (Kind::Comment, span(rest, |c| c != '\n' && c != '\r')),
        '<' => iri(rest).map_or((Kind::Punctuation('<'), one), |len| (Kind::Iri, len)),
        '"' | '\'' => string(rest, first),
        '?' | '$' => match span(&rest[1..], is_variable_char) {
            0 => (Kind::Punctuation(first), one),
            len => (Kind::Variable, 1 + len),
        },
        '@' => match span(&rest[1..], |c| c.is_ascii_alphanumeric() || c == '-') {
            0 => (Kind::Punctuation(first), one),
            len => (Kind::Language, 1 + len),
        },
        '0'..='9' => (Kind::Number, number(rest)),
        '_' if rest.starts_with("_:") => {
            (Kind::BlankNode, 2 + without_dots(&rest[2..], is_name_char))
        }
        ':' => name(rest),
        _ if is_name_start(first) => name(rest),
        _ => (Kind::Punctuation(first), one),
    }
}

fn span(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// A span that does not end with a dot, which ends a triple instead.
fn without_dots(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text[..span(text, belongs)].trim_end_matches('.').len()
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || !c.is_ascii()
}

fn is_variable_char(c: char) -> bool {
    is_name_start(c) || c.is_ascii_digit()
}

fn is_name_char(c: char) -> bool {
    is_variable_char(c) || matches!(c, '-' | '.')
}

/// `IRIREF`: `<`, then none of ``<>"{}|^`\`` and nothing up to a space, then `>`.
fn iri(rest: &str) -> Option<usize> {
    let inside =
        |c: char| c > ' ' && !matches!(c, '<' | '>' | '"' | '{' | '}' | '|' | '^' | '`' | '\\');
    // A universal character name, `\u00E9`, is the one use of a backslash.
    let len = 1 + span(&rest[1..], |c| inside(c) || c == '\\');
    rest[len..].starts_with('>').then_some(len + 1)
}

fn string(rest: &str, quote: char) -> (Kind, usize) {
    let long: String = [quote; 3].iter().collect();
    let (open, is_long) = if rest.starts_with(&long) {
        (3, true)
    } else {
        (1, false)
    };
    let mut escaped = false;
    for (at, c) in rest[open..].char_indices() {
        let at = open + at;
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if is_long && rest[at..].starts_with(&long) {
            return (Kind::String, at + 3);
        } else if !is_long && c == quote {
            return (Kind::String, at + 1);
        } else if !is_long && c == '\n' {
            return (Kind::OpenString { is_long }, at);
        }
    }
    (Kind::OpenString { is_long }, rest.len())
}

fn number(rest: &str) -> usize {
    let mut len = span(rest, |c| c.is_ascii_digit());
    if let Some(fraction) = rest[len..].strip_prefix('.') {
        let digits = span(fraction, |c| c.is_ascii_digit());
        len += if digits > 0 { 1 + digits } else { 0 };
    }
    if rest[len..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[len + 1..].starts_with(['+', '-']));
        let digits = span(&rest[len + 1 + sign..], |c| c.is_ascii_digit());
        len += if digits > 0 { 1 + sign + digits } else { 0 };
    }
    len
}

/// A word, or a name with a prefix if a colon follows.
fn name(rest: &str) -> (Kind, usize) {
    let prefix = without_dots(rest, is_name_char);
    let Some(local) = rest[prefix..].strip_prefix(':') else {
        // Keywords have no dots and dashes: `a.` or `5-x` end before them.
        return (Kind::Word, span(rest, is_variable_char).max(1));
    };
    let mut is_escaped = false;
    let mut end = 0;
    for (at, c) in local.char_indices() {
        let belongs = is_name_char(c) || matches!(c, ':' | '%' | '\\');
        if !(belongs || is_escaped && c.is_ascii_punctuation()) {
            break;
        }
        is_escaped = c == '\\' && !is_escaped;
        end = at + c.len_utf8();
    }
    let end = local[..end].trim_end_matches('.').len();
    (Kind::PrefixedName, prefix + 1 + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, &str)> {
        let all: Vec<_> = tokens(text).collect();
        let whole: String = all.iter().map(|token| token.text).collect();
        assert_eq!(whole, text, "tokens cover the text");
        all.into_iter()
            .filter(Token::is_significant)
            .map(|token| (token.kind, token.text))
            .collect()
    }

    #[test]
    fn what_could_hide_a_bracket() {
        use Kind::{Iri, PrefixedName, Punctuation, String, Variable};
        assert_eq!(
            kinds("<http://e/;>'a\\'}' \"\"\"x\n\"}\"\"\" # {\n?x:{"),
            [
                (Iri, "<http://e/;>"),
                (String, "'a\\'}'"),
                (String, "\"\"\"x\n\"}\"\"\""),
                (Variable, "?x"),
                (PrefixedName, ":"),
                (Punctuation('{'), "{"),
            ]
        );
    }

    #[test]
    fn comparison_is_no_iri() {
        use Kind::{Number, Punctuation, Variable};
        assert_eq!(
            kinds("?a<?b && 1.5e-3>2."),
            [
                (Variable, "?a"),
                (Punctuation('<'), "<"),
                (Variable, "?b"),
                (Punctuation('&'), "&"),
                (Punctuation('&'), "&"),
                (Number, "1.5e-3"),
                (Punctuation('>'), ">"),
                (Number, "2"),
                (Punctuation('.'), "."),
            ]
        );
    }

    #[test]
    fn names() {
        use Kind::{BlankNode, Language, PrefixedName, Punctuation, Word};
        assert_eq!(
            kinds("a ub:Course.foaf:na\\,me _:b1. @en-GB :x/:y"),
            [
                (Word, "a"),
                (PrefixedName, "ub:Course.foaf:na\\,me"),
                (BlankNode, "_:b1"),
                (Punctuation('.'), "."),
                (Language, "@en-GB"),
                (PrefixedName, ":x"),
                (Punctuation('/'), "/"),
                (PrefixedName, ":y"),
            ]
        );
    }

    #[test]
    fn strings_without_an_end() {
        let open = |is_long| Kind::OpenString { is_long };
        assert_eq!(kinds("'abc\n"), [(open(false), "'abc")]);
        assert_eq!(kinds("'''abc\n"), [(open(true), "'''abc\n")]);
        assert_eq!(kinds("\"\\"), [(open(false), "\"\\")]);
    }
}
