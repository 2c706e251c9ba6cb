//! Whether an XML document that comes from elsewhere came whole.
//!
//! A connection that breaks off does not always say so: without a length, the end of the connection
//! is the end of the body (RFC 9112 section 6.3). JSON that was cut is none, but readers of XML
//! that take what they need from the stream see only that there is no more of it, and half of an answer
//! would pass for all of it. So the tags are counted while the bytes pass, and an end before the end of
//! the root element (XML 1.0 section 2.1) is an error of reading. Nothing else is checked: what is
//! no XML is its parser's business. N-Triples, Turtle, TSV and CSV that were cut between two lines
//! cannot be told from whole ones.
//!
//! Costs a look at each byte. `quick-xml` 0.37 cannot take that look: only tags and processing instructions can be fed
//! to it as bytes pass, comments, CDATA and document types it reads from a reader, each whole into memory. The readers
//! of results and of RDF/XML are made of it, and take an early end for the end.

use std::io::{self, Read};

/// Passes bytes on; of XML it gives an error where the end comes too early.
#[derive(Debug)]
pub struct Whole<R> {
    reader: R,
    tags: Option<Tags>,
}

impl<R: Read> Whole<R> {
    /// What is read, and whether it is XML.
    pub fn new(reader: R, is_xml: bool) -> Whole<R> {
        Whole {
            reader,
            tags: is_xml.then(Tags::default),
        }
    }

    /// Reads to the end, for whoever has seen enough.
    pub fn finish(&mut self) -> io::Result<()> {
        io::copy(self, &mut io::sink()).map(|_| ())
    }

    /// The reader within.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.reader.read(buffer)?;
        let Some(tags) = &mut self.tags else {
            return Ok(len);
        };
        buffer[..len].iter().for_each(|&byte| tags.take(byte));
        if len == 0 && !buffer.is_empty() && !tags.is_whole() {
            let message = "it ends before the end of its root element";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        }
        Ok(len)
    }
}

/// Where in a document the next byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DocumentState {
    #[default]
    Text,
    /// After `<`.
    Opened,
    /// After `<!`, with so many bytes that may become `--` or `[CDATA[`.
    Declared(usize),
    /// In a tag, perhaps in a quoted value.
    Tag {
        is_end: bool,
        quote: Option<u8>,
    },
    Instruction,
    Comment,
    Data,
    /// In a document type, so many `<` deep.
    DocumentType {
        depth: u32,
        quote: Option<u8>,
    },
}

/// Counts the elements that are open.
#[derive(Debug, Default)]
struct Tags {
    place: DocumentState,
    /// The last four bytes.
    recent: [u8; 4],
    /// Elements that are open.
    depth: u64,
    /// The root element has begun.
    is_begun: bool,
    /// Where a comment in a document type goes on.
    back: Option<DocumentState>,
}

const DATA: &[u8] = b"[CDATA[";

impl Tags {
    fn is_whole(&self) -> bool {
        self.is_begun && self.depth == 0 && self.place == DocumentState::Text
    }

    fn take(&mut self, byte: u8) {
        self.recent.rotate_left(1);
        self.recent[3] = byte;
        self.place = match self.place {
            DocumentState::Text if byte == b'<' => DocumentState::Opened,
            DocumentState::Text => DocumentState::Text,
            DocumentState::Opened => match byte {
                b'!' => DocumentState::Declared(0),
                b'?' => DocumentState::Instruction,
                _ => DocumentState::Tag {
                    is_end: byte == b'/',
                    quote: None,
                },
            },
            DocumentState::Declared(1) if self.recent.ends_with(b"--") => DocumentState::Comment,
            DocumentState::Declared(len) if DATA.get(len) == Some(&byte) => match len + 1 {
                len if len == DATA.len() => DocumentState::Data,
                len => DocumentState::Declared(len),
            },
            DocumentState::Declared(0) if byte == b'-' => DocumentState::Declared(1),
            DocumentState::Declared(_) => DocumentState::DocumentType {
                depth: 1,
                quote: None,
            },
            DocumentState::Instruction if self.recent.ends_with(b"?>") => DocumentState::Text,
            DocumentState::Comment if self.recent.ends_with(b"-->") => {
                self.back.take().unwrap_or(DocumentState::Text)
            }
            DocumentState::Data if self.recent.ends_with(b"]]>") => DocumentState::Text,
            DocumentState::Tag { is_end, quote } => self.tag(is_end, quote, byte),
            DocumentState::DocumentType { depth, quote } => self.document_type(depth, quote, byte),
            place => place,
        };
    }

    fn tag(&mut self, is_end: bool, quote: Option<u8>, byte: u8) -> DocumentState {
        let quote = quoted(quote, byte);
        if byte != b'>' || quote.is_some() {
            return DocumentState::Tag { is_end, quote };
        }
        self.is_begun = true;
        if is_end {
            self.depth = self.depth.saturating_sub(1);
        } else if self.recent[2] != b'/' {
            self.depth += 1;
        }
        DocumentState::Text
    }

    fn document_type(&mut self, depth: u32, quote: Option<u8>, byte: u8) -> DocumentState {
        if quote.is_none() && self.recent == *b"<!--" {
            self.back = Some(DocumentState::DocumentType {
                depth: depth.saturating_sub(1),
                quote: None,
            });
            return DocumentState::Comment;
        }
        let quote = quoted(quote, byte);
        let depth = match byte {
            b'<' if quote.is_none() => depth.saturating_add(1),
            b'>' if quote.is_none() => depth.saturating_sub(1),
            _ => depth,
        };
        match depth {
            0 => DocumentState::Text,
            depth => DocumentState::DocumentType { depth, quote },
        }
    }
}

/// The quote that is open after a byte.
fn quoted(quote: Option<u8>, byte: u8) -> Option<u8> {
    match quote {
        Some(open) => Some(open).filter(|open| *open != byte),
        None => Some(byte).filter(|byte| matches!(byte, b'"' | b'\'')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<String> {
        let mut read = String::new();
        Whole::new(text.as_bytes(), true).read_to_string(&mut read)?;
        Ok(read)
    }

    const DOCUMENT: &str = "<?xml version=\"1.0\"?><!DOCTYPE a [ <!-- don't > --> \
        <!ENTITY x '>' > ]>\n<!-- <a> --><a b='/>' c=\"'>\"><b/><c><![CDATA[<a>]]]></c>\
        <p:d\n/>x &gt; ></a >";

    #[test]
    fn only_the_whole_document_is_whole() {
        for end in ["", "\n", " <!-- </a> -->\n", "<?x </a>?>"] {
            let text = format!("{DOCUMENT}{end}");
            assert_eq!(read(&text).unwrap(), text);
        }
        for len in 0..DOCUMENT.len() {
            assert!(read(&DOCUMENT[..len]).is_err(), "{}", &DOCUMENT[..len]);
        }
        assert!(read("<a/>").is_ok() && read("<a><b/>").is_err());
    }

    #[test]
    fn what_is_no_xml_passes() {
        let mut whole = Whole::new(&b"{"[..], false);
        whole.finish().unwrap();
    }
}
