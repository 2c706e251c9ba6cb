//! Text as XML 1.0 has it: what must be a reference, and what cannot be written at all.
//!
//! What is no character of XML (section 2.2) is refused, with what to ask for instead, because a reader
//! would refuse the whole document. A carriage return would be read as a line feed (section 2.11), so it
//! is written as a reference; so is white space at the ends of a text, which some readers cut off, and
//! which within an attribute would become a blank (section 3.3.3).

use std::io;

/// Bytes looked at together.
const BLOCK: usize = 16;

/// 1 for a byte that may have to be written otherwise.
#[inline]
fn mark(byte: u8) -> u8 {
    // U+FFFE and U+FFFF begin with 0xEF, and so do some characters that stay.
    u8::from(byte < 0x20) | u8::from(matches!(byte, b'"' | b'&' | b'<' | b'>' | 0xEF))
}

/// Appends a text that stands between two tags, or within the double quotes of an attribute. An error
/// where XML has no such character.
#[inline]
pub fn write_xml_text(out: &mut Vec<u8>, text: &str) -> io::Result<()> {
    let bytes = text.as_bytes();
    // No branch between the bytes of a block, so that compilers make vector instructions of it.
    let is_plain = |block: &[u8]| block.iter().fold(0, |any, byte| any | mark(*byte)) == 0;
    let has_blank_end = bytes.first() == Some(&b' ') || bytes.last() == Some(&b' ');
    if has_blank_end || !bytes.chunks(BLOCK).all(is_plain) {
        return replaced(out, text);
    }
    out.extend_from_slice(bytes);
    Ok(())
}

#[cold]
fn replaced(out: &mut Vec<u8>, text: &str) -> io::Result<()> {
    let is_space = |character: char| matches!(character, ' ' | '\t' | '\n');
    let begin = text.len() - text.trim_start_matches(is_space).len();
    let end = text.trim_end_matches(is_space).len();
    for (at, character) in text.char_indices() {
        let is_at_end = at < begin || at >= end;
        let replacement: &[u8] = match character {
            '&' => b"&amp;",
            '<' => b"&lt;",
            '>' => b"&gt;",
            '"' => b"&quot;",
            '\r' => b"&#13;",
            '\t' if is_at_end => b"&#9;",
            '\n' if is_at_end => b"&#10;",
            ' ' if is_at_end => b"&#32;",
            '\0'..='\u{8}' | '\u{B}' | '\u{C}' | '\u{E}'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}' => {
                return Err(no_xml(character));
            }
            _ => {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
        };
        out.extend_from_slice(replacement);
    }
    Ok(())
}

/// The error of a text that no XML document can hold.
fn no_xml(character: char) -> io::Error {
    let message = format!(
        "a text with U+{:04X} cannot be written in XML; other formats can carry it",
        u32::from(character)
    );
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> io::Result<String> {
        let mut out = Vec::new();
        write_xml_text(&mut out, text).map(|()| String::from_utf8(out).unwrap())
    }

    #[test]
    fn references_stand_for_what_readers_change() {
        let text = "a\r\nb\t<&>\"";
        assert_eq!(written(text).unwrap(), "a&#13;\nb\t&lt;&amp;&gt;&quot;");
        assert_eq!(written(" \ta b\n").unwrap(), "&#32;&#9;a b&#10;");
        assert_eq!(written("\u{FF01}\u{1F600}").unwrap(), "\u{FF01}\u{1F600}");
        for at in 0..40 {
            let mut text = vec![b'a'; 40];
            text[at] = b'<';
            let text = String::from_utf8(text).unwrap();
            assert_eq!(written(&text).unwrap(), text.replace('<', "&lt;"));
        }
    }

    #[test]
    fn what_is_no_character_of_xml_is_refused() {
        for none in ["\0", "a\u{1}", "\u{FFFE}", "b\u{FFFF}c", "\u{1F}"] {
            assert!(written(none).unwrap_err().to_string().contains("U+"));
        }
    }
}
