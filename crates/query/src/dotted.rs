//! Prefixed names with several dots, such as `ec:2.6.1.62`, which are what UniProt calls enzymes.
//!
//! SPARQL allows dots anywhere within a local name (production 169, `PN_LOCAL`), the library at one place
//! only. With a backslash before it a dot is a character like others to the library, and stands for itself
//! to both. Backslashes move what comes after them, so where the text is refused all the same, its error is
//! that of a text of the same length, with `_` for the dots.
//!
//! A text is read as it is first, so others pay nothing; names with several dots cost a second reading.

use crate::guard;
use crate::guard::limits::Limits;
use crate::guard::token::{Token, TokenKind, Tokens};

/// The names with dots at more than one place.
fn dotted<'a>(tokens: &'a Tokens<'_>) -> impl Iterator<Item = Token> + 'a {
    let names = tokens.tokens.iter().copied();
    names.filter(|token| {
        let is_name = token.kind == TokenKind::PrefixedName;
        is_name
            && local(tokens, *token)
                .bytes()
                .filter(|byte| *byte == b'.')
                .nth(1)
                .is_some()
    })
}

/// What follows the prefix.
fn local<'t>(tokens: &Tokens<'t>, token: Token) -> &'t str {
    let name = tokens.slice(token);
    name.split_once(':').map_or(name, |(_, local)| local)
}

/// Whether there is such a name.
pub(crate) fn has_any(tokens: &Tokens<'_>) -> bool {
    dotted(tokens).next().is_some()
}

/// `text`, whose tokens these are, with a backslash before each dot of such names.
pub(crate) fn escaped(text: &str, tokens: &Tokens<'_>) -> String {
    let mut into = String::with_capacity(text.len() + 64);
    let mut copied = 0;
    for token in dotted(tokens) {
        let start = token.end as usize - local(tokens, token).len();
        into.push_str(&text[copied..start]);
        let mut is_escaped = false;
        for character in text[start..token.end as usize].chars() {
            if character == '.' && !is_escaped {
                into.push('\\');
            }
            into.push(character);
            is_escaped = character == '\\';
        }
        copied = token.end as usize;
    }
    into + &text[copied..]
}

/// The same of a whole text without its tokens.
pub(crate) fn escaped_anew(text: &str) -> String {
    match guard::scan(text, &Limits::default()) {
        Ok(tokens) => escaped(text, &tokens),
        Err(_) => text.to_owned(),
    }
}

/// A beginning of the text whose tokens these are, with `_` for the dots of such names.
pub(crate) fn plain(text: &str, tokens: &Tokens<'_>) -> String {
    let mut plain = text.to_owned();
    for token in dotted(tokens) {
        let place = token.end as usize - local(tokens, token).len()..token.end as usize;
        if text.get(place.clone()) == tokens.text.get(place.clone()) {
            let local = text[place.clone()].replace("\\.", "__").replace('.', "_");
            plain.replace_range(place, &local);
        }
    }
    plain
}
