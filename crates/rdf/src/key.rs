//! The canonical bytes of a dictionary term: what is front-coded, hashed and compared.
//!
//! An IRI's key is its UTF-8 bytes. A literal's key is one kind byte, a head, a NUL and the lexical
//! form, so that literals of one kind and datatype sort together and share long prefixes:
//!
//! ```text
//! 0x00                    lexical     xsd:string
//! 0x01 language       NUL lexical     language-tagged, the tag in lower case
//! 0x02 datatype IRI   NUL lexical     any other datatype
//! 0x03 tag--direction NUL lexical     with base direction, "ltr" or "rtl"
//! 0x04 local name     NUL lexical     datatype is http://www.w3.org/2001/XMLSchema# + local name
//! ```
//!
//! A head holds no NUL (tags are ASCII letters, digits and hyphens; no IRI may hold a control
//! character), so the first NUL ends it and the lexical form may hold any character, NUL too.
//!
//! Invariant: a term has exactly one key and a key is that of exactly one term. [`decode_literal`]
//! keeps it for bytes from files as well: it refuses what [`encode_literal`] never writes. Tags in
//! lower case: RDF 1.2 Concepts, section 3.4 (tags are compared without regard to case).
//!
//! A triple term's key is its three ids, 24 bytes little-endian; the dictionary decodes it and
//! guards the recursion.

use crate::id::VertexId;
use crate::terms::TermBuffer;
use memchr::memchr;
use oxrdf::{BaseDirection, LiteralRef};

/// The namespace that kind `0x04` leaves out.
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

const SIMPLE: u8 = 0x00;
const LANGUAGE: u8 = 0x01;
const TYPED: u8 = 0x02;
const DIRECTED: u8 = 0x03;
const TYPED_XSD: u8 = 0x04;

/// Bytes of a triple term's key.
pub const TRIPLE_KEY_BYTES: usize = 24;
const _: () = assert!(
    TRIPLE_KEY_BYTES == 3 * size_of::<VertexId>(),
    "a triple term's key is its components"
);

/// Why bytes are not the key of a term. Callers add where the bytes stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is not even a kind byte.
    #[error("a literal's key is empty")]
    Empty,
    /// The kind byte is none of the five.
    #[error("a literal's key has the unknown kind {0}")]
    UnknownKind(u8),
    /// No NUL ends the head.
    #[error("a literal's key has no end of its head")]
    Unterminated,
    /// The text is not UTF-8.
    #[error("a literal's key is not UTF-8")]
    NotUtf8,
    /// The head is not one that the encoder writes: the term has another key.
    #[error("a literal's key is not in canonical form")]
    NotCanonical,
    /// A triple term's key is not 24 bytes long.
    #[error("a triple term's key is {0} bytes long, not 24")]
    TripleLength(usize),
}

/// Appends the key of `literal` to `key`. One pass, no allocation but the growth of `key`.
pub fn encode_literal(literal: LiteralRef<'_>, key: &mut Vec<u8>) {
    key.reserve(literal.value().len() + 16);
    if let Some(language) = literal.language() {
        let direction = literal.direction();
        key.push(if direction.is_some() {
            DIRECTED
        } else {
            LANGUAGE
        });
        key.extend(language.bytes().map(|byte| byte.to_ascii_lowercase()));
        if let Some(direction) = direction {
            key.extend_from_slice(direction_suffix(direction));
        }
        key.push(0);
    } else if literal.datatype() == oxrdf::vocab::xsd::STRING {
        key.push(SIMPLE);
    } else {
        let datatype = literal.datatype().as_str();
        let (kind, head) = match datatype.strip_prefix(XSD) {
            Some(local) => (TYPED_XSD, local),
            None => (TYPED, datatype),
        };
        debug_assert!(
            memchr(0, head.as_bytes()).is_none(),
            "an IRI holds no control character"
        );
        key.push(kind);
        key.extend_from_slice(head.as_bytes());
        key.push(0);
    }
    key.extend_from_slice(literal.value().as_bytes());
}

/// Appends the literal of `key` to `terms` as one cell. On an error nothing is appended.
pub fn decode_literal(key: &[u8], terms: &mut TermBuffer) -> Result<(), KeyError> {
    let &kind = key.first().ok_or(KeyError::Empty)?;
    // With the kind, which is ASCII: text is checked in words only from an aligned address on.
    let text = str::from_utf8(key).map_err(|_| KeyError::NotUtf8)?;
    let rest = text.get(1..).ok_or(KeyError::UnknownKind(kind))?;
    match kind {
        SIMPLE => terms.push_simple(rest),
        LANGUAGE => {
            let (language, lexical) = split_head(rest)?;
            check_language(language)?;
            terms.push_language(lexical, language, None);
        }
        TYPED => {
            let (datatype, lexical) = split_head(rest)?;
            if datatype.starts_with(XSD) {
                return Err(KeyError::NotCanonical);
            }
            terms.push_typed(lexical, datatype);
        }
        DIRECTED => {
            let (head, lexical) = split_head(rest)?;
            let (language, direction) = split_direction(head)?;
            check_language(language)?;
            terms.push_language(lexical, language, Some(direction));
        }
        TYPED_XSD => {
            let (local, lexical) = split_head(rest)?;
            if local == "string" {
                return Err(KeyError::NotCanonical);
            }
            terms.push_typed_in(lexical, XSD, local);
        }
        _ => return Err(KeyError::UnknownKind(kind)),
    }
    Ok(())
}

/// The key of a triple term with these components.
pub fn encode_triple(components: [VertexId; 3]) -> [u8; TRIPLE_KEY_BYTES] {
    let mut key = [0; TRIPLE_KEY_BYTES];
    for (bytes, id) in key.chunks_exact_mut(8).zip(components) {
        bytes.copy_from_slice(&id.bits().to_le_bytes());
    }
    key
}

/// The components of a triple term's key; whether the ids exist is the dictionary's to check.
pub fn decode_triple(key: &[u8]) -> Result<[VertexId; 3], KeyError> {
    let (words, rest) = key.as_chunks::<8>();
    let &[subject, predicate, object] = words else {
        return Err(KeyError::TripleLength(key.len()));
    };
    if !rest.is_empty() {
        return Err(KeyError::TripleLength(key.len()));
    }
    Ok([subject, predicate, object].map(|word| VertexId::from_bits(u64::from_le_bytes(word))))
}

fn direction_suffix(direction: BaseDirection) -> &'static [u8] {
    match direction {
        BaseDirection::Ltr => b"--ltr",
        BaseDirection::Rtl => b"--rtl",
    }
}

fn split_head(text: &str) -> Result<(&str, &str), KeyError> {
    let end = memchr(0, text.as_bytes()).ok_or(KeyError::Unterminated)?;
    Ok((&text[..end], &text[end + 1..]))
}

fn split_direction(head: &str) -> Result<(&str, BaseDirection), KeyError> {
    if let Some(language) = head.strip_suffix("--ltr") {
        Ok((language, BaseDirection::Ltr))
    } else if let Some(language) = head.strip_suffix("--rtl") {
        Ok((language, BaseDirection::Rtl))
    } else {
        Err(KeyError::NotCanonical)
    }
}

fn check_language(language: &str) -> Result<(), KeyError> {
    if language.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(KeyError::NotCanonical);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::{Literal, NamedNode, TermRef};
    use proptest::prelude::*;

    fn key_of(literal: LiteralRef<'_>) -> Vec<u8> {
        let mut key = Vec::new();
        encode_literal(literal, &mut key);
        key
    }

    fn literals() -> impl Strategy<Value = Literal> {
        let lexical = ".{0,8}";
        let datatype = prop_oneof![
            Just("http://www.w3.org/2001/XMLSchema#string".to_owned()),
            Just("http://www.w3.org/2001/XMLSchema#".to_owned()),
            "http://www\\.w3\\.org/2001/XMLSchema#[a-z]{1,4}",
            "http://example\\.com/[a-z]{0,3}",
        ];
        prop_oneof![
            lexical.prop_map(Literal::new_simple_literal),
            (lexical, datatype).prop_map(|(lexical, datatype)| {
                Literal::new_typed_literal(lexical, NamedNode::new_unchecked(datatype))
            }),
            (lexical, "[a-zA-Z]{2}(-[a-zA-Z]{2})?").prop_map(|(lexical, language)| {
                Literal::new_language_tagged_literal(lexical, language).unwrap()
            }),
            (lexical, "[a-z]{2}", any::<bool>()).prop_map(|(lexical, language, left)| {
                let direction = if left {
                    BaseDirection::Ltr
                } else {
                    BaseDirection::Rtl
                };
                Literal::new_directional_language_tagged_literal(lexical, language, direction)
                    .unwrap()
            }),
        ]
    }

    proptest! {
        #[test]
        fn literals_come_back(literal in literals()) {
            let mut terms = TermBuffer::new();
            decode_literal(&key_of(literal.as_ref()), &mut terms).unwrap();
            prop_assert_eq!(terms.get(0), Some(TermRef::Literal(literal.as_ref())));
        }

        #[test]
        fn keys_are_equal_only_for_equal_terms(left in literals(), right in literals()) {
            let same_key = key_of(left.as_ref()) == key_of(right.as_ref());
            prop_assert_eq!(same_key, left == right);
        }

        #[test]
        fn any_bytes_decode_to_what_encodes_to_them(key in prop::collection::vec(0_u8..6, 0..12)) {
            let mut terms = TermBuffer::new();
            if decode_literal(&key, &mut terms).is_ok() {
                let Some(TermRef::Literal(literal)) = terms.get(0) else { panic!("no literal") };
                prop_assert_eq!(key_of(literal), key);
            } else {
                prop_assert!(terms.is_empty());
            }
        }
    }

    #[test]
    fn what_the_encoder_never_writes_is_refused() {
        let refused: [(&[u8], KeyError); 8] = [
            (b"", KeyError::Empty),
            (b"\x05x", KeyError::UnknownKind(5)),
            ("\u{e9}x".as_bytes(), KeyError::UnknownKind(0xc3)),
            (b"\x01en", KeyError::Unterminated),
            (b"\x00\xff", KeyError::NotUtf8),
            (b"\x01EN\0x", KeyError::NotCanonical),
            (b"\x04string\0x", KeyError::NotCanonical),
            (
                b"\x02http://www.w3.org/2001/XMLSchema#int\x001",
                KeyError::NotCanonical,
            ),
        ];
        for (key, error) in refused {
            assert_eq!(decode_literal(key, &mut TermBuffer::new()), Err(error));
        }
    }

    #[test]
    fn triple_keys_come_back() {
        let components = [1, 2 << 60, u64::MAX].map(VertexId::from_bits);
        assert_eq!(decode_triple(&encode_triple(components)), Ok(components));
        assert_eq!(decode_triple(&[0; 25]), Err(KeyError::TripleLength(25)));
        assert_eq!(decode_triple(&[0; 16]), Err(KeyError::TripleLength(16)));
    }
}
