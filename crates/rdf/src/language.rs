//! Language tags as people expect to read them: the conventions of RFC 5646 section 2.1.1 (BCP 47).
//!
//! A tag means the same in every case, and tags are stored in lower case, so that equal literals have
//! one key. Where a tag goes out, it is written as the RFC recommends:
//!
//! ```text
//!  en    en-gb    zh-hant-tw    sl-rozaj    en-ca-x-ca
//!  en    en-GB    zh-Hant-TW    sl-rozaj    en-CA-x-ca
//! ```
//!
//! Two letters behind the first part are a region, in capitals; four are a script, with a capital; all
//! else is in lower case, and so is everything behind a part of one letter. Only the case of letters
//! changes, so a tag is rewritten where it lies. Most tags are two or three lower-case letters, which a
//! glance at their bytes tells.

use oxrdf::{Literal, Term, Triple};
use std::borrow::Cow;

/// Writes a tag by the conventions.
pub fn make_conventional(tag: &mut str) {
    if is_short(tag) {
        return;
    }
    tag.make_ascii_lowercase();
    let (mut start, mut is_behind_singleton) = (0, false);
    while let Some(rest) = tag.get_mut(start..) {
        let length = rest.find('-').unwrap_or(rest.len());
        let is_first = start == 0;
        if !is_first && !is_behind_singleton {
            match length {
                2 => rest[..2].make_ascii_uppercase(),
                4 => rest[..1].make_ascii_uppercase(),
                _ => {}
            }
        }
        is_behind_singleton |= length == 1;
        start += length + 1;
    }
}

/// The same of a tag that is not ours to change.
pub fn conventional(tag: &str) -> Cow<'_, str> {
    if is_short(tag) {
        return Cow::Borrowed(tag);
    }
    let mut written = tag.to_owned();
    make_conventional(&mut written);
    if written == tag {
        Cow::Borrowed(tag)
    } else {
        Cow::Owned(written)
    }
}

/// Rewrites the tag in the innermost object of a triple term.
pub(crate) fn make_triple_conventional(triple: &mut Triple) {
    let mut innermost = triple;
    loop {
        match &mut innermost.object {
            Term::Triple(inner) => innermost = inner,
            Term::Literal(literal) => {
                if let Some(written) = rewritten(literal) {
                    *literal = written;
                }
                return;
            }
            Term::NamedNode(_) | Term::BlankNode(_) => return,
        }
    }
}

/// A literal with its tag rewritten; `None` where it stays as it is.
fn rewritten(literal: &Literal) -> Option<Literal> {
    let Cow::Owned(tag) = conventional(literal.language()?) else {
        return None;
    };
    let value = literal.value();
    Some(match literal.direction() {
        None => Literal::new_language_tagged_literal_unchecked(value, tag),
        Some(direction) => {
            Literal::new_directional_language_tagged_literal_unchecked(value, tag, direction)
        }
    })
}

/// Whether a tag is one part in lower case.
#[inline]
fn is_short(tag: &str) -> bool {
    tag.len() <= 3 && tag.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::NamedNode;

    #[test]
    fn tags_are_written_as_the_rfc_recommends() {
        for written in [
            "",
            "en",
            "sgn",
            "en-GB",
            "zh-Hant-TW",
            "sl-rozaj",
            "sl-rozaj-biske-1994",
            "de-CH-1996",
            "en-CA-x-ca",
            "sgn-BE-FR",
            "az-Latn-x-latn",
            "es-419",
            "x-ab-cdef",
            "i-klingon",
            "de-Latn-DE-u-co-phonebk",
            "english",
            "hy-Latn-IT-arevela",
        ] {
            for given in [
                written.to_lowercase(),
                written.to_uppercase(),
                written.to_owned(),
            ] {
                assert_eq!(conventional(&given), written, "{given}");
            }
        }
        assert!(matches!(conventional("en-GB"), Cow::Borrowed(_)));
        assert!(matches!(conventional("de"), Cow::Borrowed(_)));
    }

    #[test]
    fn triple_terms_are_looked_through() {
        let name = |name: &str| NamedNode::new_unchecked(name);
        let literal = Literal::new_language_tagged_literal_unchecked("a", "en-gb");
        let inner = Triple::new(name("e:s"), name("e:p"), literal);
        let mut outer = Triple::new(name("e:s"), name("e:p"), inner);
        make_triple_conventional(&mut outer);
        assert!(outer.to_string().contains("\"a\"@en-GB"), "{outer}");
    }
}
