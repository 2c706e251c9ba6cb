//! Which ASCII IRIs are valid, decided by classes of bytes.
//!
//! Follows RFC 3987 (and the check of `oxrdf`, which decides whatever this does not): scheme, then an authority
//! without user, port or brackets, then path, query and fragment in one loop, since each of them
//! may hold the characters of a path and `?`. Sound: what is accepted here `oxrdf` accepts.
//! Deliberately incomplete: non-ASCII text, ports, and escapes in an authority are left to `oxrdf`.

/// Bytes that are looked at as one: a register of x86-64-v3.
const LANES: usize = 32;

fn is_of_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// Whether a byte may not stand in a path, a query or a fragment: said of what ends them, which in ASCII are fewer ranges
/// than what does not.
#[inline]
fn ends_path(byte: u8) -> bool {
    matches!(byte, 0..=b' ' | b'"' | b'#' | b'%' | b'<' | b'>' | b'['..=b'^' | b'`' | b'{'..=b'}' | 0x7f..)
}

/// The same of an authority.
#[inline]
fn ends_authority(byte: u8) -> bool {
    ends_path(byte) || matches!(byte, b'/' | b':' | b'?' | b'@')
}

/// The place of the `>` that ends the IRI starting at `start`, if the classes decide that the IRI
/// is valid; `None` leaves the decision to `oxrdf`.
#[inline]
pub(super) fn end_of_plain(bytes: &[u8], start: usize) -> Option<usize> {
    end_of_iri(bytes, start).filter(|&end| bytes.get(end) == Some(&b'>'))
}

/// Whether the classes decide that a text is a valid IRI, with a scheme; `false` leaves the decision
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
    let scheme = bytes[start..]
        .iter()
        .position(|&byte| !is_of_scheme(byte))?;
    let mut at = start + scheme;
    if bytes[at] != b':' {
        return None;
    }
    at += 1;
    if bytes[at..].starts_with(b"//") {
        at = end_from(bytes, at + 2, ends_authority);
        if !matches!(bytes.get(at), None | Some(b'/' | b'?' | b'#' | b'>')) {
            return None;
        }
    }
    let mut has_fragment = false;
    loop {
        at = end_from(bytes, at, ends_path);
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

/// The first place from `at` with a byte of which this is true, or where the bytes end. Some 50 instructions for
/// [`LANES`] bytes, where a table takes 7 for each, which was a fifth of a load's instructions.
#[inline]
fn end_from(bytes: &[u8], mut at: usize, ends: impl Fn(u8) -> bool) -> usize {
    while let Some(lanes) = bytes[at..].first_chunk::<LANES>() {
        // Not `map`, which is left as a loop over bytes.
        let mut ended = [0; LANES];
        for (ended, byte) in ended.iter_mut().zip(lanes) {
            *ended = u8::from(ends(*byte));
        }
        if let Some(first) = first_of(&ended) {
            return at + first;
        }
        at += LANES;
    }
    let rest = &bytes[at..];
    at + rest
        .iter()
        .position(|&byte| ends(byte))
        .unwrap_or(rest.len())
}

/// The place of the first byte that is not 0.
#[inline]
fn first_of(lanes: &[u8; LANES]) -> Option<usize> {
    let (words, _) = lanes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let mut words = words.enumerate();
    let (place, word) = words.find(|(_, word)| *word != 0)?;
    Some(place * 8 + word.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_accepted_is_valid(iri in "[a-z]{0,2}:?(//)?[a-zA-Z0-9:/?#%@.~!é\\[\\]|^ -]{0,12}[a-z/#%]{0,48}") {
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
    fn the_classes_are_those_of_the_rfc() {
        for byte in 0..=255_u8 {
            let is_unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            let is_delimiter = b"!$&'()*+,;=".contains(&byte);
            let is_of_path = b":@/?".contains(&byte);
            assert_eq!(
                ends_authority(byte),
                !(is_unreserved || is_delimiter),
                "{byte}"
            );
            let may_stand = is_unreserved || is_delimiter || is_of_path;
            assert_eq!(ends_path(byte), !may_stand, "{byte}");
        }
    }

    #[test]
    fn the_end_is_found_at_every_place() {
        for length in 0..3 * LANES {
            for after in [0, 1, LANES - 1, LANES, 2 * LANES] {
                let text = format!("{}>{}", "x".repeat(length), "#".repeat(after));
                assert_eq!(end_from(text.as_bytes(), 0, ends_path), length);
                assert_eq!(end_from(&text.as_bytes()[..length], 0, ends_path), length);
            }
        }
    }

    #[test]
    fn ordinary_iris_are_decided() {
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
