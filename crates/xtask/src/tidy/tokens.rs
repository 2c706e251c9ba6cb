//! Rust source as a flat run of tokens, without comments and without test code.
//!
//! Invariant: a word inside a comment or a string is never taken for code, and code below
//! `#[cfg(test)]` or `#[test]` is never taken for the product's. `proc-macro2` does the lexing;
//! searching a text for words instead would find them in documentation, and a rule that cries
//! wolf is soon switched off.
//!
//! What is left out after a test attribute is the item it stands on: up to its braces, or its
//! semicolon, whichever comes first.

use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One token, with the line that it stands on (from 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// An identifier, a literal, one sign of punctuation, or one bracket.
    pub text: String,
    /// From 1.
    pub line: usize,
}

/// The code of a file outside tests.
#[derive(Debug, Default)]
pub struct Tokens {
    /// In order.
    pub code: Vec<Token>,
    /// Names of modules that this file declares for tests only (`#[cfg(test)] mod name;`).
    pub test_modules: Vec<String>,
}

impl Tokens {
    /// The lines on which `pattern`, itself a piece of Rust, occurs.
    pub fn lines_with(&self, pattern: &str) -> Vec<usize> {
        let wanted = pattern_of(pattern);
        let same = |window: &&[Token]| {
            window
                .iter()
                .map(|token| &*token.text)
                .eq(wanted.iter().map(String::as_str))
        };
        self.code
            .windows(wanted.len())
            .filter(same)
            .map(|window| window[0].line)
            .collect()
    }
}

/// Reads a file. An error says why it is not Rust.
pub fn outside_tests(text: &str) -> Result<Tokens, String> {
    let stream = TokenStream::from_str(text).map_err(|error| error.to_string())?;
    let mut tokens = Tokens::default();
    flatten(stream, &mut tokens);
    Ok(tokens)
}

/// Lexes a pattern; unlike a file it may hold a bracket without its partner.
fn pattern_of(pattern: &str) -> Vec<String> {
    let mut words = Vec::new();
    for piece in pattern.split_inclusive(['(', ')']) {
        let (rest, bracket) = match piece.strip_suffix(['(', ')']) {
            Some(rest) => (rest, &piece[rest.len()..]),
            None => (piece, ""),
        };
        let lexed = outside_tests(rest).expect("patterns are constants of this crate, and lex");
        words.extend(lexed.code.into_iter().map(|token| token.text));
        words.extend((!bracket.is_empty()).then(|| bracket.to_owned()));
    }
    words
}

fn flatten(stream: TokenStream, into: &mut Tokens) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while at < trees.len() {
        if is_file_for_tests(&trees[at..]) {
            return;
        }
        if is_test_attribute(&trees[at..]) {
            at = skip_item(&trees, at + 2, into);
            continue;
        }
        push(&trees[at], into);
        at += 1;
    }
}

fn push(tree: &TokenTree, into: &mut Tokens) {
    let line = tree.span().start().line;
    let TokenTree::Group(group) = tree else {
        into.code.push(Token {
            text: tree.to_string(),
            line,
        });
        return;
    };
    let (open, close) = match group.delimiter() {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    };
    into.code.push(Token {
        text: open.to_owned(),
        line,
    });
    flatten(group.stream(), into);
    let line = group.span_close().end().line;
    into.code.push(Token {
        text: close.to_owned(),
        line,
    });
}

/// `#![cfg(test)]`: the rest of the file is for tests.
fn is_file_for_tests(trees: &[TokenTree]) -> bool {
    is_sign(trees.first(), '#') && is_sign(trees.get(1), '!') && is_test_group(trees.get(2))
}

/// `#[test]`, `#[cfg(test)]`, `#[cfg(all(test, ...))]`.
fn is_test_attribute(trees: &[TokenTree]) -> bool {
    is_sign(trees.first(), '#') && is_test_group(trees.get(1))
}

fn is_test_group(tree: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(group)) = tree else {
        return false;
    };
    let written: String = group.stream().to_string().split_whitespace().collect();
    group.delimiter() == Delimiter::Bracket
        && (written == "test" || written == "cfg(test)" || written.starts_with("cfg(all(test,"))
}

fn is_sign(tree: Option<&TokenTree>, sign: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

/// Steps over the item that starts at `at`, and notes the module it declares, if it does.
fn skip_item(trees: &[TokenTree], mut at: usize, into: &mut Tokens) -> usize {
    let mut words = Vec::new();
    while at < trees.len() {
        at += 1;
        match &trees[at - 1] {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return at,
            TokenTree::Punct(punct) if punct.as_char() == ';' => break,
            other => words.push(other.to_string()),
        }
    }
    if let [.., keyword, name] = words.as_slice()
        && keyword == "mod"
    {
        into.test_modules.push(name.clone());
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(text: &str) -> String {
        let tokens = outside_tests(text).unwrap();
        tokens
            .code
            .iter()
            .map(|token| &*token.text)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn leaves_out_comments_and_keeps_strings_whole() {
        assert_eq!(code_of("a /* b /* c */ */ d // e\n"), "a d");
        assert_eq!(
            code_of(r##"a("b", r#"c "d" e"#, 'f')"##),
            r##"a ( "b" , r#"c "d" e"# , 'f' )"##
        );
    }

    #[test]
    fn leaves_out_what_is_for_tests() {
        assert_eq!(
            code_of("fn a() {} #[cfg(test)] mod tests { fn b() {} } fn c() {}"),
            "fn a ( ) { } fn c ( ) { }"
        );
        assert_eq!(code_of("#[cfg(test)] use a::b; c"), "c");
        assert_eq!(code_of("#[test] #[should_panic] fn a<B, C>() {} d"), "d");
        assert_eq!(
            code_of("impl A { #[cfg(all(test, unix))] fn b() {} fn c() {} }"),
            "impl A { fn c ( ) { } }"
        );
        assert_eq!(code_of("#![cfg(test)] fn a() {}"), "");
        assert_eq!(
            code_of("#[cfg(not(test))] a;"),
            "# [ cfg ( not ( test ) ) ] a ;"
        );
    }

    #[test]
    fn notes_modules_declared_for_tests() {
        let tokens = outside_tests("#[cfg(test)]\npub(crate) mod probes;\nmod real;").unwrap();
        assert_eq!(tokens.test_modules, ["probes"]);
    }

    #[test]
    fn finds_patterns_across_blanks_and_lines() {
        let tokens =
            outside_tests("fn a() {\n  b\n    .unwrap\n();\n thread :: spawn(c);\n}").unwrap();
        assert_eq!(tokens.lines_with(".unwrap()"), [3]);
        assert_eq!(tokens.lines_with("thread::spawn"), [5]);
        assert_eq!(tokens.lines_with("spawn(c"), [5]);
        assert!(tokens.lines_with("unwrap_or").is_empty());
    }

    #[test]
    fn says_what_is_not_rust() {
        assert!(outside_tests("fn a( {").is_err());
    }
}
