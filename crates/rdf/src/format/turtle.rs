//! The lexical structure of Turtle and TriG: where statements end, where directives stand, how deep
//! things nest, found without parsing.
//!
//! Used twice: as the guard of the library's parsers, which build triple terms recursively, and to
//! cut a Turtle document into parts that threads can parse ([`parts`]). In a valid document the
//! scanner's strings, IRIs, comments and names end where the parser's do, so a cut is never inside
//! a statement; in an invalid one the parts report the error, perhaps at another place.
//!
//! Follows the terminals of RDF 1.2 Turtle, section 6.5. A `.` ends a statement unless it stands
//! inside a name or number, at nesting depth 0.

mod environment;
pub(super) mod parts;
pub(super) mod stream;

use super::guard::{Objection, Scan};
use crate::nt::NESTING_MAX;
use crate::strictness::Strictness;
use memchr::{memchr, memchr2, memchr3};

/// The most bytes of a string, IRI, name or comment: what a parser holds as a whole.
pub(super) const TOKEN_BYTES_MAX: usize = 256 * 1024 * 1024;

/// What the scanner tells about a document. Offsets count from the first byte fed.
pub(super) trait Sink {
    /// A statement ended and only white space or a comment follows on its line: a part may begin
    /// at `offset`, a line start.
    fn cut(&mut self, offset: usize);
    /// A directive stands from `start` up to `end`.
    fn directive(&mut self, start: usize, end: usize);
    /// From here on statement ends cannot be told for certain.
    fn doubt(&mut self);
}

/// Only the nesting matters.
pub(super) struct NoSink;

impl Sink for NoSink {
    fn cut(&mut self, _: usize) {}
    fn directive(&mut self, _: usize, _: usize) {}
    fn doubt(&mut self) {}
}

/// The scanner's state between two bytes.
pub(super) struct TurtleScan<K> {
    sink: K,
    state: State,
    offset: usize,
    /// Where the last string, IRI or comment began.
    token_start: usize,
    token_bytes_max: usize,
    /// Whether a short string that does not end on its line is refused: a lenient parser, which goes on, and this
    /// scanner, which does not, would differ.
    refuses_open_strings: bool,
    /// Open brackets of all kinds, `<<` too.
    depth: u32,
    /// Open `<<` and `<<(`.
    term_depth: usize,
    /// No token yet since the last statement or directive ended.
    is_fresh: bool,
    word: Word,
    directive: Option<Directive>,
}

/// A name, number or keyword being read.
#[derive(Default)]
struct Word {
    start: usize,
    /// Its first bytes in lower case; enough to tell directives.
    head: [u8; 8],
    length: usize,
}

impl Word {
    fn is_number(&self) -> bool {
        matches!(self.head[0], b'0'..=b'9' | b'+' | b'-' | b'.')
    }
}

struct Directive {
    start: usize,
    end: DirectiveEnd,
}

/// What ends a directive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DirectiveEnd {
    Dot,
    Iri,
    Text,
}

#[derive(Clone, Copy)]
enum State {
    Plain,
    /// The byte after a backslash in a name.
    Escape,
    Comment {
        is_cut: bool,
    },
    Iri,
    /// After one `<`, or `>`.
    Less,
    Greater,
    /// After one or two opening quotes.
    Open {
        quote: u8,
        count: u8,
    },
    Short {
        quote: u8,
    },
    ShortEscape {
        quote: u8,
    },
    Long {
        quote: u8,
        closing: u8,
    },
    LongEscape {
        quote: u8,
    },
    /// After a dot within a word, and after one outside.
    WordDot,
    BareDot,
    /// After the end of a statement, on the same line.
    Ended,
}

impl<K: Sink> Scan for TurtleScan<K> {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), Objection> {
        let base = self.offset;
        let mut at = 0;
        while at < bytes.len() {
            at += self.uninteresting(&bytes[at..]);
            let Some(&byte) = bytes.get(at) else { break };
            self.offset = base + at;
            match self.step(byte) {
                Ok(true) => at += 1,
                Ok(false) => {}
                Err(message) => {
                    return Err(Objection {
                        offset: at,
                        message,
                    });
                }
            }
        }
        self.offset = base + bytes.len();
        self.check_unfinished().map_err(|message| Objection {
            offset: bytes.len(),
            message,
        })
    }
}

impl<K: Sink> TurtleScan<K> {
    pub(super) fn new(sink: K) -> TurtleScan<K> {
        TurtleScan::with_token_bytes_max(sink, TOKEN_BYTES_MAX)
    }

    pub(super) fn with_token_bytes_max(sink: K, token_bytes_max: usize) -> TurtleScan<K> {
        TurtleScan {
            sink,
            state: State::Plain,
            offset: 0,
            token_start: 0,
            token_bytes_max,
            refuses_open_strings: false,
            depth: 0,
            term_depth: 0,
            is_fresh: true,
            word: Word::default(),
            directive: None,
        }
    }

    /// The same scanner, before a parser that is as strict as this.
    pub(super) fn with_strictness(mut self, strictness: Strictness) -> TurtleScan<K> {
        self.refuses_open_strings = strictness.is_lenient();
        self
    }

    pub(super) fn into_sink(self) -> K {
        self.sink
    }

    /// How many bytes from here cannot change the state.
    fn uninteresting(&self, bytes: &[u8]) -> usize {
        let found = match self.state {
            State::Comment { .. } => memchr2(b'\n', b'\r', bytes),
            State::Iri => memchr(b'>', bytes),
            State::Short { quote } => memchr3(quote, b'\\', b'\n', bytes),
            State::Long { quote, closing: 0 } => memchr2(quote, b'\\', bytes),
            _ => return 0,
        };
        found.unwrap_or(bytes.len())
    }

    /// Takes one byte; false where it must be looked at again in the new state.
    fn step(&mut self, byte: u8) -> Result<bool, String> {
        match self.state {
            State::Plain => self.plain(byte),
            State::Escape => {
                self.extend_word(byte);
                self.state = State::Plain;
            }
            State::Comment { is_cut } => {
                self.check_length(self.token_start)?;
                self.state = if is_cut { State::Ended } else { State::Plain };
                return Ok(!is_cut);
            }
            State::Iri => self.end_token(DirectiveEnd::Iri)?,
            State::Less => return self.after_less(byte),
            State::Greater => {
                self.state = State::Plain;
                if byte != b'>' {
                    return Ok(false);
                }
                self.term_depth = self.term_depth.saturating_sub(1);
                self.depth = self.depth.saturating_sub(1);
            }
            State::Open { .. } | State::Short { .. } | State::Long { .. } => {
                return self.in_string(byte);
            }
            State::ShortEscape { quote } => self.state = State::Short { quote },
            State::LongEscape { quote } => self.state = State::Long { quote, closing: 0 },
            State::WordDot => return Ok(self.after_word_dot(byte)),
            State::BareDot => return Ok(self.after_bare_dot(byte)),
            State::Ended => return Ok(self.after_statement(byte)),
        }
        Ok(true)
    }

    fn plain(&mut self, byte: u8) {
        match byte {
            b'.' if self.word.length > 0 => self.state = State::WordDot,
            b'.' => self.state = State::BareDot,
            b'\\' => {
                self.extend_word(byte);
                self.state = State::Escape;
            }
            _ if is_word(byte) => self.extend_word(byte),
            _ => {
                self.end_word();
                self.punctuation(byte);
            }
        }
    }

    fn punctuation(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => return,
            b'#' => {
                self.token_start = self.offset;
                self.state = State::Comment { is_cut: false };
                return;
            }
            b'<' => {
                self.token_start = self.offset;
                self.state = State::Less;
            }
            b'>' => self.state = State::Greater,
            b'"' | b'\'' => {
                self.token_start = self.offset;
                self.state = State::Open {
                    quote: byte,
                    count: 1,
                }
            }
            b'(' | b'[' | b'{' => self.depth += 1,
            b')' | b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.is_fresh = false;
    }

    fn after_less(&mut self, byte: u8) -> Result<bool, String> {
        if byte != b'<' {
            self.state = State::Iri;
            return Ok(false);
        }
        self.state = State::Plain;
        self.depth += 1;
        self.term_depth += 1;
        if self.term_depth > NESTING_MAX {
            return Err(format!("triple terms nest deeper than {NESTING_MAX}"));
        }
        Ok(true)
    }

    fn in_string(&mut self, byte: u8) -> Result<bool, String> {
        let is_quote = |quote| byte == quote;
        match self.state {
            State::Open { quote, count: 1 } if is_quote(quote) => {
                self.state = State::Open { quote, count: 2 };
            }
            State::Open { quote, count: 2 } if is_quote(quote) => {
                self.state = State::Long { quote, closing: 0 };
            }
            State::Open { quote, count: 1 } => {
                self.state = State::Short { quote };
                return Ok(false);
            }
            State::Open { .. } => {
                self.end_token(DirectiveEnd::Text)?;
                return Ok(false);
            }
            State::Short { quote } if is_quote(quote) => self.end_token(DirectiveEnd::Text)?,
            State::Short { quote } if byte == b'\\' => self.state = State::ShortEscape { quote },
            State::Short { .. } if byte == b'\n' && self.refuses_open_strings => {
                return Err(
                    "a string that is not between three quotation marks ends on its line"
                        .to_owned(),
                );
            }
            // Not allowed; the next line is more likely to begin a statement than a string.
            State::Short { .. } if byte == b'\n' => self.state = State::Plain,
            State::Long { quote, closing: 2 } if is_quote(quote) => {
                self.end_token(DirectiveEnd::Text)?;
            }
            State::Long { quote, closing } if is_quote(quote) => {
                self.state = State::Long {
                    quote,
                    closing: closing + 1,
                };
            }
            State::Long { quote, .. } if byte == b'\\' => self.state = State::LongEscape { quote },
            State::Long { quote, .. } => self.state = State::Long { quote, closing: 0 },
            _ => {}
        }
        Ok(true)
    }

    /// An IRI or string ended at the current byte.
    fn end_token(&mut self, kind: DirectiveEnd) -> Result<(), String> {
        self.check_length(self.token_start)?;
        self.state = State::Plain;
        self.is_fresh = false;
        if let Some(Directive { start, end }) = self.directive
            && end == kind
        {
            self.sink.directive(start, self.offset + 1);
            self.directive = None;
            self.is_fresh = true;
        }
        Ok(())
    }

    /// Refuses a token that is too long although the bytes end before it does.
    fn check_unfinished(&self) -> Result<(), String> {
        match self.state {
            State::Plain | State::Escape | State::WordDot if self.word.length > 0 => {
                self.check_length(self.word.start)
            }
            State::Comment { .. }
            | State::Iri
            | State::Open { .. }
            | State::Short { .. }
            | State::ShortEscape { .. }
            | State::Long { .. }
            | State::LongEscape { .. } => self.check_length(self.token_start),
            _ => Ok(()),
        }
    }

    fn check_length(&self, start: usize) -> Result<(), String> {
        if self.offset - start <= self.token_bytes_max {
            return Ok(());
        }
        let limit = self.token_bytes_max >> 20;
        Err(format!("a term or comment is longer than {limit} MiB"))
    }

    fn extend_word(&mut self, byte: u8) {
        if self.word.length == 0 {
            self.word = Word {
                start: self.offset,
                ..Word::default()
            };
        }
        if let Some(place) = self.word.head.get_mut(self.word.length) {
            *place = byte.to_ascii_lowercase();
        }
        self.word.length += 1;
    }

    fn end_word(&mut self) {
        if self.word.length == 0 {
            return;
        }
        let head = &self.word.head[..self.word.length.min(8)];
        let end = match head {
            b"@prefix" | b"@base" | b"@version" => Some(DirectiveEnd::Dot),
            b"prefix" | b"base" => Some(DirectiveEnd::Iri),
            b"version" => Some(DirectiveEnd::Text),
            _ => None,
        };
        if let Some(end) = end.filter(|_| self.is_fresh && self.word.length <= 8) {
            self.directive = Some(Directive {
                start: self.word.start,
                end,
            });
        }
        self.word.length = 0;
        self.is_fresh = false;
    }

    fn after_word_dot(&mut self, byte: u8) -> bool {
        if byte == b'.' {
            return true;
        }
        if is_word(byte) || byte == b'\\' {
            // `1.e0` is a number, but `1.ex:a` ends a statement.
            if self.word.is_number() && !byte.is_ascii_digit() {
                self.sink.doubt();
            }
            self.word.length += 1;
            self.state = State::Plain;
        } else {
            self.end_word();
            self.end_statement();
        }
        false
    }

    fn after_bare_dot(&mut self, byte: u8) -> bool {
        if byte.is_ascii_digit() {
            self.extend_word(b'.');
            self.state = State::Plain;
        } else {
            self.end_statement();
        }
        false
    }

    /// A dot that is in no word stood before the current byte.
    fn end_statement(&mut self) {
        self.state = State::Plain;
        if self.depth > 0 {
            return;
        }
        if let Some(Directive {
            start,
            end: DirectiveEnd::Dot,
        }) = self.directive
        {
            self.sink.directive(start, self.offset);
        }
        self.directive = None;
        self.is_fresh = true;
        self.state = State::Ended;
    }

    fn after_statement(&mut self, byte: u8) -> bool {
        match byte {
            b' ' | b'\t' | b'\r' => {}
            b'#' => {
                self.token_start = self.offset;
                self.state = State::Comment { is_cut: true };
            }
            b'\n' => {
                self.sink.cut(self.offset + 1);
                self.state = State::Plain;
            }
            _ => {
                self.state = State::Plain;
                return false;
            }
        }
        true
    }
}

/// Whether the byte continues a name, number, keyword, label or language tag.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte >= 0x80
        || matches!(byte, b'_' | b':' | b'-' | b'+' | b'%' | b'@')
}
