//! Which ASCII IRIs are valid, decided by a byte table.
//!
//! Follows RFC 3987 (and the check of `oxrdf`, which decides whatever this does not): scheme, then an authority
//! without user, port or brackets, then path, query and fragment in one loop, since each of them
//! may hold the characters of a path and `?`. Sound: what is accepted here `oxrdf` accepts.
//! Deliberately incomplete: non-ASCII text, ports and escapes are left to `oxrdf`.

const SCHEME: u8 = 1;
const AUTHORITY: u8 = 2;
const PATH: u8 = 4;

/// For each byte, the parts of an IRI in which it may stand.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let character = byte as u8;
        let is_alphanumeric = character.is_ascii_alphanumeric();
        if is_alphanumeric || matches!(character, b'+' | b'-' | b'.') {
            classes[byte] |= SCHEME;
        }
        let is_unreserved = is_alphanumeric || matches!(character, b'-' | b'.' | b'_' | b'~');
        let is_delimiter = matches!(
            character,
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'='
        );
        if is_unreserved || is_delimiter {
            classes[byte] |= AUTHORITY | PATH;
        }
        if matches!(character, b':' | b'@' | b'/' | b'?') {
            classes[byte] |= PATH;
        }
        byte += 1;
    }
    classes
};

/// The place of the `>` that ends the IRI starting at `start`, if the table decides that the IRI
/// is valid; `None` leaves the decision to `oxrdf`.
#[inline]
pub(super) fn end_of_plain(bytes: &[u8], start: usize) -> Option<usize> {
    end_of_iri(bytes, start).filter(|&end| bytes.get(end) == Some(&b'>'))
}

/// Whether the table decides that a text is a valid IRI, with a scheme; `false` leaves the decision
/// to `oxrdf`.
#[inline]
pub fn is_plain_iri(text: &str) -> bool {
    end_of_iri(text.as_bytes(), 0) == Some(text.len())
}

/// The place of the first byte from `start` that goes on no IRI, if what is before it is one.
#[inline]
fn end_of_iri(bytes: &[u8], start: usize) -> Option<usize> {
    if !bytes.get(start)?.is_ascii_alphabetic() {
        return None;
    }
    let mut at = skip(bytes, start + 1, SCHEME);
    if bytes.get(at) != Some(&b':') {
        return None;
    }
    at += 1;
    if bytes[at..].starts_with(b"//") {
        at = skip(bytes, at + 2, AUTHORITY);
        if !matches!(bytes.get(at), None | Some(b'/' | b'?' | b'#' | b'>')) {
            return None;
        }
    }
    let mut has_fragment = false;
    loop {
        at = skip(bytes, at, PATH);
        match bytes.get(at) {
            Some(b'#') if !has_fragment => {
                has_fragment = true;
                at += 1;
            }
            Some(b'%') if bytes.get(at + 1..at + 3)?.iter().all(u8::is_ascii_hexdigit) => at += 3,
            Some(b'#' | b'%') => return None,
            _ => return Some(at),
        }
    }
}

/// The first place from `at` whose byte is not of this class.
#[inline]
fn skip(bytes: &[u8], at: usize, class: u8) -> usize {
    let ahead = &bytes[at..];
    let length = ahead
        .iter()
        .position(|&byte| CLASSES[usize::from(byte)] & class == 0);
    at + length.unwrap_or(ahead.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_the_table_accepts_is_valid(iri in "[a-z]{0,2}:?(//)?[a-zA-Z0-9:/?#%@.~!é\\[\\]|^ -]{0,12}") {
            let line = format!("{iri}>");
            if let Some(end) = end_of_plain(line.as_bytes(), 0) {
                prop_assert_eq!(&line[..end], &iri);
                prop_assert!(oxrdf::NamedNodeRef::new(&iri).is_ok());
                prop_assert!(is_plain_iri(&iri));
            } else {
                prop_assert!(!is_plain_iri(&iri));
            }
        }
    }

    #[test]
    fn ordinary_iris_take_the_table() {
        for iri in [
            "http://www.Department0.University0.edu/FullProfessor0",
            "urn:x:y",
            "a:#b?c",
            "http://example.com/?q=%C3%A9#f",
            "file:///tmp/x",
        ] {
            assert_eq!(
                end_of_plain(format!("{iri}>").as_bytes(), 0),
                Some(iri.len()),
                "{iri}"
            );
        }
        for iri in [
            "",
            "x",
            ":x",
            "a:b#c#d",
            "a:%4",
            "http://h:80/",
            "a:é",
            "a b:c",
        ] {
            assert_eq!(end_of_plain(format!("{iri}>").as_bytes(), 0), None, "{iri}");
        }
    }
}
