//! Bounds the nesting of elements and the expansion of entities in RDF/XML.
//!
//! The library expands an entity's value when it is declared, out of entities declared before, and
//! again wherever it is used; ten declarations of ten references each make a kilobyte into
//! gigabytes. It also looks for the base IRI through all open elements at each element, which makes
//! deep nesting quadratic. Both are bounded here, before the library sees the bytes:
//!
//! - one `DOCTYPE`, of at most 64 KiB;
//! - an entity's expanded value is at most 4 KiB, its name at most 128 bytes;
//! - all uses together expand to at most 1 MiB and 16 times the bytes read. Namespace
//!   abbreviations, what entities are for in RDF/XML, stay below 5 times;
//! - elements nest at most [`NESTING_MAX`] deep;
//! - what the library holds at once is at most [`TOKEN_BYTES_MAX`]: a tag with the text before it,
//!   comments and character data in that text included, or a whole XML literal. A literal begins with a
//!   tag whose `parseType` is neither `Resource` nor `Collection` (RDF/XML section 7.2.20).
//!
//! And a document has one outermost element, and ends after it (XML 1.0 section 2.1), which the library does not
//! look at: half a file would be taken for a whole one.
//!
//! The tokens end where the library's XML reader (quick-xml) ends them, also in malformed input,
//! so the two cannot be made to disagree about what is markup.

use super::guard::{Objection, Scan};
use memchr::memchr2;
use std::collections::HashMap;

/// How deep elements may nest.
pub(super) const NESTING_MAX: u32 = 1000;

/// Bytes that the library may have to hold at once. It copies them twice or three times.
const TOKEN_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The attribute that makes an element's content a literal, in any namespace.
const PARSE_TYPE: &[u8] = b"parseType";

const DOCTYPE_BYTES_MAX: usize = 64 * 1024;
const ENTITY_BYTES_MAX: u64 = 4096;
const ENTITY_NAME_BYTES_MAX: usize = 128;
const EXPANSION_BYTES_FREE: u64 = 1024 * 1024;
const EXPANSION_FACTOR_MAX: u64 = 16;

/// The scanner's state between two bytes.
#[derive(Default)]
pub(super) struct XmlScan {
    state: State,
    /// The byte before, within the current tag or instruction.
    previous: u8,
    /// The two bytes before, within the current comment or character data.
    window: [u8; 2],
    /// Bytes since the `!` of a comment.
    length: usize,
    depth: u32,
    /// Outermost elements that have begun.
    roots: u64,
    read_bytes: u64,
    expanded_bytes: u64,
    doctype: Vec<u8>,
    has_doctype: bool,
    /// Expanded size of each declared entity.
    entities: HashMap<String, u64>,
    /// The name after the last `&`, while it may still become a reference.
    reference: Option<Vec<u8>>,
    /// Bytes read before what the library holds now.
    token_start: u64,
    parse_type: ParseType,
    /// The depth of the element whose content is a literal.
    literal: Option<u32>,
}

/// What a tag says of its element's content.
#[derive(Default)]
struct ParseType {
    /// Bytes of the attribute's name that have been matched; all until its value begins.
    matched: usize,
    is_in_value: bool,
    /// The beginning of its value, once there is one.
    value: Option<Vec<u8>>,
}

impl ParseType {
    /// Takes a byte of a tag; `quote` is the quote that it stands in, or that it opens or closes.
    fn take(&mut self, byte: u8, quote: Option<u8>) {
        match quote {
            Some(quote) if self.is_in_value => {
                let value = self.value.get_or_insert_default();
                if byte == quote {
                    self.is_in_value = false;
                } else if value.len() <= b"Collection".len() {
                    value.push(byte);
                }
            }
            Some(_) => {
                if self.matched == PARSE_TYPE.len() {
                    self.is_in_value = true;
                }
                self.matched = 0;
            }
            None if self.matched == PARSE_TYPE.len() => {
                if !byte.is_ascii_whitespace() && byte != b'=' {
                    self.matched = 0;
                }
            }
            None if byte == PARSE_TYPE[self.matched] => self.matched += 1,
            None => self.matched = usize::from(byte == PARSE_TYPE[0]),
        }
    }

    fn is_literal(&self) -> bool {
        let value = self.value.as_deref();
        value.is_some_and(|value| !matches!(value, b"Resource" | b"Collection"))
    }
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Text,
    Open,
    Bang,
    Comment,
    CharacterData,
    Doctype {
        balance: u32,
    },
    Instruction,
    Tag {
        is_end: bool,
        quote: Option<u8>,
    },
}

impl Scan for XmlScan {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), Objection> {
        let start = self.read_bytes;
        let mut offset = 0;
        while offset < bytes.len() {
            offset += self.uninteresting(&bytes[offset..]);
            let Some(&byte) = bytes.get(offset) else {
                break;
            };
            self.read_bytes = start + offset as u64 + 1;
            self.step(byte)
                .map_err(|message| Objection { offset, message })?;
            offset += 1;
        }
        self.read_bytes = start + bytes.len() as u64;
        if self.read_bytes - self.token_start > TOKEN_BYTES_MAX {
            let limit = TOKEN_BYTES_MAX >> 20;
            return Err(Objection {
                offset: bytes.len(),
                message: format!("a text, tag or XML literal is longer than {limit} MiB"),
            });
        }
        Ok(())
    }

    fn end(&self) -> Result<(), String> {
        match (self.state, self.depth) {
            (State::Text, 0) if self.roots == 1 => Ok(()),
            (State::Text, 0) if self.roots > 1 => Err("more than one outermost element".to_owned()),
            (State::Text, 0) => Err("there is no element in the document".to_owned()),
            (State::Text, 1) => Err("the document ends within an element".to_owned()),
            (State::Text, depth) => Err(format!("the document ends within {depth} elements")),
            _ => Err("the document ends within a tag, comment or other markup".to_owned()),
        }
    }
}

impl XmlScan {
    /// How many bytes from here cannot change the state.
    fn uninteresting(&self, bytes: &[u8]) -> usize {
        let found = match self.state {
            State::Text if self.reference.is_none() => memchr2(b'<', b'&', bytes),
            State::Tag {
                quote: Some(quote), ..
            } if self.reference.is_none() && !self.parse_type.is_in_value => {
                memchr2(quote, b'&', bytes)
            }
            _ => return 0,
        };
        found.unwrap_or(bytes.len())
    }

    fn step(&mut self, byte: u8) -> Result<(), String> {
        self.state = match self.state {
            State::Text => {
                self.track_reference(byte)?;
                if byte == b'<' {
                    State::Open
                } else {
                    State::Text
                }
            }
            State::Open => self.after_open(byte),
            State::Bang => self.after_bang(byte)?,
            State::Comment => {
                self.length += 1;
                // quick-xml asks for six bytes from the `!`.
                let is_end = byte == b'>' && self.length > 4 && self.window == *b"--";
                self.shift(byte);
                if is_end { State::Text } else { State::Comment }
            }
            State::CharacterData => {
                let is_end = byte == b'>' && self.window == *b"]]";
                self.shift(byte);
                if is_end {
                    State::Text
                } else {
                    State::CharacterData
                }
            }
            State::Doctype { balance } => self.in_doctype(balance, byte)?,
            State::Instruction => {
                let is_end = byte == b'>' && self.previous == b'?';
                self.previous = byte;
                if is_end {
                    State::Text
                } else {
                    State::Instruction
                }
            }
            State::Tag { is_end, quote } => self.in_tag(is_end, quote, byte)?,
        };
        Ok(())
    }

    fn shift(&mut self, byte: u8) {
        self.window = [self.window[1], byte];
    }

    fn after_open(&mut self, byte: u8) -> State {
        self.previous = 0;
        self.reference = None;
        self.parse_type = ParseType::default();
        match byte {
            b'!' => State::Bang,
            b'?' => State::Instruction,
            b'/' => State::Tag {
                is_end: true,
                quote: None,
            },
            // `<>` is a tag without a name, which the library reports.
            b'>' => State::Text,
            b'"' | b'\'' => State::Tag {
                is_end: false,
                quote: Some(byte),
            },
            _ => State::Tag {
                is_end: false,
                quote: None,
            },
        }
    }

    fn after_bang(&mut self, byte: u8) -> Result<State, String> {
        self.window = [0; 2];
        self.length = 1;
        match byte {
            b'-' => {
                self.shift(byte);
                Ok(State::Comment)
            }
            b'[' => Ok(State::CharacterData),
            b'D' | b'd' if self.has_doctype => Err("more than one DOCTYPE".to_owned()),
            b'D' | b'd' => {
                self.has_doctype = true;
                Ok(State::Doctype { balance: 0 })
            }
            // Malformed, which the library reports.
            _ => Ok(State::Text),
        }
    }

    fn in_tag(&mut self, is_end: bool, quote: Option<u8>, byte: u8) -> Result<State, String> {
        self.track_reference(byte)?;
        let quote = match (quote, byte) {
            (None, b'>') => {
                self.close_tag(is_end)?;
                return Ok(State::Text);
            }
            (None, b'"' | b'\'') => {
                self.parse_type.take(byte, Some(byte));
                Some(byte)
            }
            (Some(open), _) => {
                self.parse_type.take(byte, Some(open));
                (open != byte).then_some(open)
            }
            (None, _) => {
                self.parse_type.take(byte, None);
                None
            }
        };
        self.previous = byte;
        Ok(State::Tag { is_end, quote })
    }

    fn close_tag(&mut self, is_end: bool) -> Result<(), String> {
        self.roots += u64::from(!is_end && self.depth == 0);
        if is_end {
            self.depth = self.depth.saturating_sub(1);
        } else if self.previous != b'/' {
            self.depth += 1;
            if self.depth > NESTING_MAX {
                return Err(format!("elements nest deeper than {NESTING_MAX} levels"));
            }
            if self.literal.is_none() && self.parse_type.is_literal() {
                self.literal = Some(self.depth);
            }
        }
        self.literal = self.literal.filter(|depth| self.depth >= *depth);
        if self.literal.is_none() {
            self.token_start = self.read_bytes;
        }
        Ok(())
    }

    /// Adds up what the references to declared entities expand to.
    fn track_reference(&mut self, byte: u8) -> Result<(), String> {
        if byte == b'&' {
            self.reference = (!self.entities.is_empty()).then(Vec::new);
            return Ok(());
        }
        let Some(name) = &mut self.reference else {
            return Ok(());
        };
        if byte != b';' {
            name.push(byte);
            if name.len() > ENTITY_NAME_BYTES_MAX {
                self.reference = None;
            }
            return Ok(());
        }
        let size = str::from_utf8(name)
            .ok()
            .and_then(|name| self.entities.get(name));
        self.expanded_bytes += size.copied().unwrap_or_default();
        self.reference = None;
        if self.expanded_bytes > EXPANSION_BYTES_FREE + EXPANSION_FACTOR_MAX * self.read_bytes {
            return Err("entities expand to too many bytes".to_owned());
        }
        Ok(())
    }

    fn in_doctype(&mut self, balance: u32, byte: u8) -> Result<State, String> {
        if self.doctype.len() == DOCTYPE_BYTES_MAX {
            return Err(format!(
                "the DOCTYPE is longer than {DOCTYPE_BYTES_MAX} bytes"
            ));
        }
        self.doctype.push(byte);
        match byte {
            b'<' => Ok(State::Doctype {
                balance: balance + 1,
            }),
            b'>' if balance == 0 => {
                self.declare_entities()?;
                Ok(State::Text)
            }
            b'>' => Ok(State::Doctype {
                balance: balance - 1,
            }),
            _ => Ok(State::Doctype { balance }),
        }
    }

    /// Reads the declarations as the library does; malformed ones are left for it to report.
    fn declare_entities(&mut self) -> Result<(), String> {
        let doctype = std::mem::take(&mut self.doctype);
        let Ok(doctype) = str::from_utf8(&doctype) else {
            return Ok(());
        };
        let declarations = doctype
            .split('<')
            .skip(1)
            .filter_map(|it| it.strip_prefix("!ENTITY"));
        for declaration in declarations {
            let declaration = declaration
                .trim_start()
                .strip_prefix('%')
                .unwrap_or(declaration);
            let parts = declaration
                .trim_start()
                .split_once(|c: char| c.is_ascii_whitespace());
            let Some((name, rest)) = parts else { continue };
            let Some(rest) = rest.trim_start().strip_prefix('"') else {
                continue;
            };
            let Some((value, _)) = rest.split_once('"') else {
                continue;
            };
            let size = self.expanded_size(value);
            if size > ENTITY_BYTES_MAX {
                return Err(format!(
                    "entity '{name}' is larger than {ENTITY_BYTES_MAX} bytes"
                ));
            }
            if name.len() > ENTITY_NAME_BYTES_MAX {
                return Err(format!(
                    "an entity's name is longer than {ENTITY_NAME_BYTES_MAX} bytes"
                ));
            }
            self.entities.insert(name.to_owned(), size);
        }
        Ok(())
    }

    /// An upper bound of the size of a declared value once its references are expanded.
    fn expanded_size(&self, value: &str) -> u64 {
        let mut pieces = value.split('&');
        let first = pieces.next().map_or(0, |piece| piece.len() as u64);
        pieces.fold(first, |size, piece| {
            let expanded = piece
                .split_once(';')
                .and_then(|(name, rest)| Some(self.entities.get(name)? + rest.len() as u64));
            size.saturating_add(expanded.unwrap_or(piece.len() as u64 + 1))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Option<String> {
        XmlScan::default()
            .feed(text.as_bytes())
            .err()
            .map(|objection| objection.message)
    }

    /// What a document says of which a piece of a MiB comes so many times.
    fn message_of(before: &str, piece: &str, times: usize) -> Option<String> {
        let mut scan = XmlScan::default();
        let piece = piece.repeat((1 << 20) / piece.len());
        let mut fed = scan.feed(before.as_bytes());
        for _ in 0..times {
            fed = fed.and_then(|()| scan.feed(piece.as_bytes()));
        }
        fed.err().map(|objection| objection.message)
    }

    #[test]
    fn what_is_held_at_once_is_bounded() {
        const LIMIT: usize = (TOKEN_BYTES_MAX >> 20) as usize;
        for before in [
            "<a><b>",
            "<a><b c='",
            "<a><b><!--",
            "<a><b><![CDATA[",
            "<a><?b ",
        ] {
            assert_eq!(message_of(before, "x", LIMIT - 1), None, "{before}");
            let message = message_of(before, "x", LIMIT + 1).expect(before);
            assert!(message.ends_with("is longer than 64 MiB"), "{message}");
        }
        let elements = "<c>x</c>";
        for before in [
            "<a><b>",
            "<a><b r:parseType='Resource'>",
            "<a><b x='parseType'>",
        ] {
            assert_eq!(message_of(before, elements, LIMIT + 1), None, "{before}");
        }
        let literals = [
            "<a><b r:parseType='Literal'>",
            "<a><b r:parseType = \"&l;\" x='Resource'>",
            "<a><b parseTypeparseType='' parsparseType='L'><c>",
        ];
        for before in literals {
            assert!(
                message_of(before, elements, LIMIT + 1).is_some(),
                "{before}"
            );
        }
        let closed = "<a><b r:parseType='Literal'><c r:parseType='Literal'/><d></d></b>";
        assert_eq!(message_of(closed, elements, LIMIT + 1), None);
    }

    fn bomb(levels: usize) -> String {
        let mut text = "<!DOCTYPE r [<!ENTITY e0 \"0123456789\">".to_owned();
        for level in 1..=levels {
            let references = format!("&e{};", level - 1).repeat(10);
            text.extend(["<!ENTITY e", &level.to_string(), " \"", &references, "\">"]);
        }
        text + "]>"
    }

    #[test]
    fn entities_are_bounded() {
        assert_eq!(message(&bomb(2)), None);
        assert!(message(&bomb(3)).unwrap().contains("entity 'e3' is larger"));
        let uses = format!("{}<r>{}</r>", bomb(2), "&e2;".repeat(10_000));
        assert!(message(&uses).unwrap().contains("too many bytes"));
        let attributes = format!("{}<r a='{}'/>", bomb(2), "&e2;".repeat(10_000));
        assert!(message(&attributes).unwrap().contains("too many bytes"));
        let ordinary = format!("{}{}", bomb(0), "<r a='&e0;x'/>".repeat(100_000));
        assert_eq!(message(&ordinary), None);
    }

    #[test]
    fn a_second_doctype_is_refused_wherever_it_hides() {
        assert!(message("<!DOCTYPE a><!DOCTYPE b>").is_some());
        assert!(message("<!DOCTYPE a><r><!doctype b [").is_some());
        assert!(message(&format!("<!DOCTYPE a [{}", " ".repeat(DOCTYPE_BYTES_MAX))).is_some());
    }

    #[test]
    fn nesting_is_bounded_and_only_elements_nest() {
        let many = NESTING_MAX as usize + 1;
        assert!(message(&"<a>".repeat(many)).is_some());
        for piece in [
            "<a></a>",
            "<a/>",
            "<a b='>'/>",
            "<!-- <a> -->",
            "<![CDATA[<a>]]>",
            "<?a <b>?>",
        ] {
            assert_eq!(message(&piece.repeat(many)), None, "{piece}");
        }
    }
}
