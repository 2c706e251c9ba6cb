//! Prefixes: those that a text declares, and those that it uses.

use super::form::of_word;
use somersault::text::{Piece, TokenKind, pieces};
use std::collections::BTreeSet;

/// The prefixes that the prologue of a text declares, in order: name without its colon, and IRI.
pub fn declared(text: &str) -> Vec<(String, String)> {
    let prologue: Vec<Piece<'_>> = pieces(text)
        .filter(Piece::is_significant)
        .take_while(|token| of_word(*token).is_none())
        .collect();
    let declaration = |three: &[Piece<'_>]| {
        let [word, name, iri] = three else {
            return None;
        };
        let is_one = word.is_word("PREFIX") && iri.is(TokenKind::Iri);
        let name = name.text.strip_suffix(':').filter(|_| is_one)?;
        let iri = iri.text.strip_prefix('<')?.strip_suffix('>')?;
        Some((name.to_owned(), iri.to_owned()))
    };
    prologue.windows(3).filter_map(declaration).collect()
}

/// The prefixes of the names in a text, without their colons.
pub fn used_prefixes(text: &str) -> BTreeSet<&str> {
    let names = pieces(text).filter(|token| token.is(TokenKind::PrefixedName));
    names
        .filter_map(|token| token.text.split_once(':'))
        .map(|(prefix, _)| prefix)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_and_uses() {
        let text = "PREFIX a: <http://a/> prefix : <http://e/>\nSELECT * { a:x :y b:z, 'c:d' }";
        let pair = |name: &str, iri: &str| (name.to_owned(), iri.to_owned());
        assert_eq!(
            declared(text),
            [pair("a", "http://a/"), pair("", "http://e/")]
        );
        let used: Vec<_> = used_prefixes(text).into_iter().collect();
        assert_eq!(used, ["", "a", "b"]);
        assert_eq!(declared("SELECT * { PREFIX a: <b> }"), []);
    }
}
