//! What a parser holds of a document, estimated from above by what it was given to read.
//!
//! A statement that has not ended is held as its text, and while the buffer for it grows three times. What
//! else is held depends on the format:
//!
//! | format | holds | is taken for that |
//! |---|---|---|
//! | N-Triples, N-Quads | a line | what was read since the last line break |
//! | Turtle, TriG | a statement | what was read since the last statement |
//! | JSON-LD | all that is in an outermost object, as a value for each token | a value for each sign that stands between tokens, strings left out |
//! | RDF/XML | each `rdf:ID` of the document, each item of a collection that is open | a value for each statement, from where the document has one of these |

use memchr::memmem;
use rdf::format::Format;

/// How often a text is held while the buffer that it stands in grows: there, and in one twice as large.
const TEXT_COPIES: u64 = 3;
/// Bytes of a JSON token without its text, while the list of them grows as well (24 three times), and the
/// least that is allocated for a text.
const TOKEN_BYTES: u64 = 88;
/// Bytes of an item of a collection or of an `rdf:ID`, in a list or table that grows.
const ITEM_BYTES: u64 = 128;
/// What an XML attribute's name ends with, or its value is, where the parser holds something for longer than
/// a statement (RDF/XML sections 7.2.22 and 7.2.19). A value that is spelled otherwise is a literal for the
/// guard of [`rdf::format`], which bounds it.
const HOLDING: [&[u8]; 2] = [b":ID", b"Collection"];
const _: () = assert!(
    HOLDING[0].len() <= HOLDING[1].len(),
    "the last is the longest"
);

/// See the head of this file.
pub(super) struct Held {
    format: Format,
    /// Bytes of text since the last statement.
    text: u64,
    /// JSON tokens since the last statement, at most.
    tokens: u64,
    json: Json,
    /// The document has something that is held for longer than a statement.
    is_holding: bool,
    /// Statements since then.
    items: u64,
    /// What was read last, where something of [`HOLDING`] may have begun.
    last: Vec<u8>,
}

/// Where in a JSON text the next byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Json {
    Between,
    InString,
    /// Behind a backslash.
    Escaped,
}

impl Held {
    /// Nothing yet.
    pub(super) fn by_parser_of(format: Format) -> Held {
        Held {
            format,
            text: 0,
            tokens: 0,
            json: Json::Between,
            is_holding: false,
            items: 0,
            last: Vec::new(),
        }
    }

    /// Bytes that are held at most once so many more have been read, JSON's tokens in these not counted.
    pub(super) fn bytes_after(&self, bytes: usize) -> u64 {
        let text = (self.text + bytes as u64) * TEXT_COPIES;
        text + self.tokens * TOKEN_BYTES + self.items * ITEM_BYTES
    }

    /// These were read.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        self.text += bytes.len() as u64;
        match self.format {
            // Statements of lines end with them, those that are comments too.
            Format::NTriples | Format::NQuads => {
                if let Some(end) = memchr::memrchr(b'\n', bytes) {
                    self.text = (bytes.len() - end - 1) as u64;
                }
            }
            Format::Turtle | Format::TriG => {}
            Format::JsonLd => {
                let tokens = bytes.iter().filter(|byte| self.json.take(**byte)).count();
                self.tokens += tokens as u64;
            }
            Format::RdfXml => self.look_for_holding(bytes),
        }
    }

    /// A statement has ended.
    pub(super) fn statement(&mut self) {
        self.text = 0;
        self.tokens = 0;
        self.items += u64::from(self.is_holding);
    }

    fn look_for_holding(&mut self, bytes: &[u8]) {
        if self.is_holding {
            return;
        }
        const LONGEST: usize = HOLDING[1].len();
        // Across the border first.
        self.last
            .extend_from_slice(&bytes[..bytes.len().min(LONGEST)]);
        let has = |text: &[u8]| {
            HOLDING
                .iter()
                .any(|sign| memmem::find(text, sign).is_some())
        };
        self.is_holding = has(&self.last) || has(bytes);
        let tail = if bytes.len() < LONGEST {
            &self.last
        } else {
            bytes
        };
        self.last = tail[tail.len().saturating_sub(LONGEST)..].to_vec();
    }
}

impl Json {
    /// Takes the next byte; true where a token may begin or end with it.
    fn take(&mut self, byte: u8) -> bool {
        match (*self, byte) {
            (Json::Between, b'"') | (Json::Escaped, _) => *self = Json::InString,
            (Json::Between, b'{' | b'}' | b'[' | b']' | b',' | b':') => return true,
            (Json::InString, b'"') => *self = Json::Between,
            (Json::InString, b'\\') => *self = Json::Escaped,
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(format: Format, pieces: &[&str]) -> u64 {
        let mut held = Held::by_parser_of(format);
        for piece in pieces {
            held.read(piece.as_bytes());
        }
        // A thousand statements that take nothing of the text with them.
        let (text, tokens) = (held.text, held.tokens);
        (0..1000).for_each(|_| held.statement());
        (held.text, held.tokens) = (text, tokens);
        held.bytes_after(0)
    }

    #[test]
    fn a_json_token_is_more_than_its_text() {
        let bytes = after(Format::JsonLd, &["[1,1,\"a,b\\", "\",]\",1]"]);
        assert_eq!(bytes, 17 * TEXT_COPIES + 5 * TOKEN_BYTES);
    }

    #[test]
    fn what_xml_holds_is_found_across_reads() {
        for pieces in [
            &["<a rdf:ID='x'/>"][..],
            &["<a rdf:", "ID='x'/>"],
            &["<a rdf:parseType='Coll", "e", "c", "tion'>"],
            &["<a rdf:parseType=", "'Collection", "'>"],
        ] {
            let text: usize = pieces.iter().map(|piece| piece.len()).sum();
            let bytes = after(Format::RdfXml, pieces);
            assert_eq!(
                bytes,
                text as u64 * TEXT_COPIES + 1000 * ITEM_BYTES,
                "{pieces:?}"
            );
        }
        let bytes = after(Format::RdfXml, &["<a rdf:about='x'/>"]);
        assert_eq!(bytes, 18 * TEXT_COPIES);
    }

    #[test]
    fn a_statement_that_has_ended_is_held_no_more() {
        let mut held = Held::by_parser_of(Format::Turtle);
        held.read(b"<a:> <b:> 1 .");
        held.statement();
        assert_eq!(held.bytes_after(5), 5 * TEXT_COPIES);
        assert_eq!(after(Format::NTriples, &["# a\n#", "b"]), 2 * TEXT_COPIES);
    }
}
