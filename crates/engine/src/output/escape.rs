//! Texts with their special characters replaced, as the formats of results want them.
//!
//! Almost no text has anything to replace, so each is first looked at as a whole, 16 bytes at a time
//! without a branch between them (a loop that compilers turn into vector instructions), and then
//! copied at once. Only a text with a special byte is gone through byte by byte.
//!
//! Sources: RFC 8259 section 7 (JSON), SPARQL 1.1 Query Results CSV and TSV Formats sections 3.2 and
//! 4.1, RDF 1.2 N-Triples section 4 (canonical form).

/// Bytes looked at together.
const BLOCK: usize = 16;
const _: () = assert!(BLOCK <= 2 * 8, "two halves are all of what is shorter");

/// Whether any byte is special: `marks` gives 0 for one that is not. Numbers and not booleans, which
/// compilers would rather branch on.
#[inline]
fn any(bytes: &[u8], marks: impl Fn(u8) -> u8) -> bool {
    let in_block = |block: &[u8]| block.iter().fold(0, |any, &byte| any | marks(byte)) != 0;
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    if let Some(last) = bytes.last_chunk::<BLOCK>() {
        // What is left over lies in the last block, which may overlap the one before it.
        return blocks.iter().any(|block| in_block(block)) || in_block(last);
    }
    match (rest.first_chunk::<8>(), rest.last_chunk::<8>()) {
        (Some(first), Some(last)) => in_block(first) || in_block(last),
        _ => in_block(rest),
    }
}

/// Appends a text with the bytes replaced for which `escape` has something else.
#[cold]
#[inline(never)]
fn replaced(out: &mut Vec<u8>, text: &str, escape: impl Fn(u8) -> Option<&'static [u8]>) {
    let bytes = text.as_bytes();
    let mut copied = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if let Some(replacement) = escape(*byte) {
            out.extend_from_slice(&bytes[copied..at]);
            out.extend_from_slice(replacement);
            copied = at + 1;
        }
    }
    out.extend_from_slice(&bytes[copied..]);
}

/// 1 for a control character, a quote or a backslash.
#[inline]
fn quoted(byte: u8) -> u8 {
    u8::from(byte < 0x20) | is(byte, b'"') | is(byte, b'\\')
}

/// 1 for this byte.
#[inline]
fn is(byte: u8, special: u8) -> u8 {
    u8::from(byte == special)
}

/// What stands within the quotes of a JSON string.
#[inline]
pub(super) fn json(out: &mut Vec<u8>, text: &str) {
    if any(text.as_bytes(), quoted) {
        replaced(out, text, |byte| match byte {
            b'"' => Some(b"\\\""),
            b'\\' => Some(b"\\\\"),
            0..=0x1F => Some(CONTROLS[usize::from(byte)]),
            _ => None,
        });
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

/// Control characters in JSON strings.
const CONTROLS: [&[u8]; 32] = [
    b"\\u0000", b"\\u0001", b"\\u0002", b"\\u0003", b"\\u0004", b"\\u0005", b"\\u0006", b"\\u0007",
    b"\\b", b"\\t", b"\\n", b"\\u000B", b"\\f", b"\\r", b"\\u000E", b"\\u000F", b"\\u0010",
    b"\\u0011", b"\\u0012", b"\\u0013", b"\\u0014", b"\\u0015", b"\\u0016", b"\\u0017", b"\\u0018",
    b"\\u0019", b"\\u001A", b"\\u001B", b"\\u001C", b"\\u001D", b"\\u001E", b"\\u001F",
];

const _: () = {
    let mut at = 0;
    while at < CONTROLS.len() {
        let length = CONTROLS[at].len();
        assert!(
            CONTROLS[at][0] == b'\\' && (length == 2 || length == 6),
            "an escape of JSON"
        );
        at += 1;
    }
};

/// What stands within the quotes of a Turtle string in TSV.
#[inline]
pub(super) fn tsv(out: &mut Vec<u8>, text: &str) {
    if any(text.as_bytes(), quoted) {
        replaced(out, text, |byte| match byte {
            b'\t' => Some(b"\\t"),
            b'\n' => Some(b"\\n"),
            b'\r' => Some(b"\\r"),
            b'"' => Some(b"\\\""),
            b'\\' => Some(b"\\\\"),
            _ => None,
        });
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

/// What stands within the quotes of a string in canonical N-Triples.
#[inline]
pub(super) fn ntriples(out: &mut Vec<u8>, text: &str) {
    // U+FFFE and U+FFFF begin with 0xEF, and so do some characters that stay.
    let marks = |byte| quoted(byte) | is(byte, 0x7F) | is(byte, 0xEF);
    if any(text.as_bytes(), marks) {
        ntriples_replaced(out, text);
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

#[cold]
fn ntriples_replaced(out: &mut Vec<u8>, text: &str) {
    for character in text.chars() {
        let short = match character {
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{C}' => 'f',
            '\r' => 'r',
            '"' | '\\' => character,
            '\0'..='\u{1F}' | '\u{7F}' | '\u{FFFE}' | '\u{FFFF}' => {
                out.extend_from_slice(format!("\\u{:04X}", u32::from(character)).as_bytes());
                continue;
            }
            _ => {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short as u8]);
    }
}

/// A CSV field, quoted where it must be (RFC 4180).
#[inline]
pub(super) fn csv_field(out: &mut Vec<u8>, text: &str) {
    let marks = |byte| is(byte, b'"') | is(byte, b',') | is(byte, b'\n') | is(byte, b'\r');
    if any(text.as_bytes(), marks) {
        out.push(b'"');
        replaced(out, text, |byte| (byte == b'"').then_some(b"\"\""));
        out.push(b'"');
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_special_byte_is_found_wherever_it_stands() {
        for len in 0..70 {
            let mut bytes = vec![b'a'; len];
            assert!(!any(&bytes, quoted));
            for at in 0..len {
                bytes[at] = b'"';
                assert!(any(&bytes, quoted), "{at} of {len}");
                bytes[at] = b'a';
            }
        }
    }

    #[test]
    fn fields_that_need_it_are_quoted() {
        let mut out = Vec::new();
        csv_field(&mut out, "http://e/a,b");
        assert_eq!(out, b"\"http://e/a,b\"");
    }
}
