//! N-Triples and N-Quads for bulk load: a borrowed tokenizer over a byte slice.
//!
//! Accepts the language of `oxttl`'s strict parsers (W3C RDF 1.2 N-Triples and N-Quads), which are
//! its oracle in the tests, plus the `VERSION` directive of RDF 1.2, minus triple terms nested
//! deeper than [`NESTING_MAX`]: the owned form of a triple term is recursive, and dropping a chain
//! of a hundred thousand would overflow the stack.
//!
//! Invariants: a [`Statement`] borrows from the input wherever the input holds the text as such,
//! and from the parser's scratch where escapes were decoded; a malformed line yields one error with
//! its place, and the parser goes on at the next line. Nothing is allocated per statement, triple
//! terms excepted.
//!
//! Why this way: a line is a statement in both formats and no token holds a line end, so the input
//! may be cut after any newline ([`split_ranges`]) and each part parsed on its own. UTF-8 is
//! checked in windows of 64 KiB that the tokenizer then finds in the cache; IRIs go through a byte
//! table (`nt::iri`), and only what the table cannot decide through `oxrdf`.
//!
//! Cost: measured with `examples/nt_speed.rs` on 2026-11-21, one core: 1,269 MB/s or 7.3 M triples
//! a second on lines in the shape of LUBM's, where `oxttl`'s strict parser gives 256 MB/s.

mod iri;
mod line;

use crate::strictness::Strictness;
use line::{Content, LineError, Raw};
use memchr::{memchr, memchr2, memrchr2};
use oxrdf::TermRef;
use std::ops::Range;

pub use iri::is_plain_iri;
pub use line::NESTING_MAX;

/// Bytes of input whose UTF-8 is checked at once.
const WINDOW_BYTES: usize = 64 * 1024;

/// What some editors write before a document in UTF-8: U+FEFF, which is no part of it (Unicode 16,
/// section 23.8).
pub(crate) const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Whether a statement may name a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// N-Triples: no graph.
    NTriples,
    /// N-Quads: an optional graph, an IRI or a blank node.
    NQuads,
}

/// One statement, borrowed from the input and the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    /// An IRI or a blank node.
    pub subject: TermRef<'a>,
    /// The predicate's IRI.
    pub predicate: &'a str,
    /// Any term. A language tag is in lower case.
    pub object: TermRef<'a>,
    /// An IRI or a blank node; `None` is the default graph.
    pub graph: Option<TermRef<'a>>,
}

/// A line that is no statement of the dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct SyntaxError {
    /// Number of the line, from 1 (or whatever the parser was told).
    pub line: u64,
    /// Column within the line in characters, from 1.
    pub column: u64,
    /// What is wrong, lower case.
    pub message: String,
    /// Whether a lenient parser ([`Parser::with_strictness`]) takes what is refused here.
    pub is_unusual: bool,
}

/// A cursor over statements; see the module's documentation.
pub struct Parser<'t> {
    dialect: Dialect,
    strictness: Strictness,
    window_bytes: usize,
    /// What no window has covered yet; starts at a line start.
    rest: &'t [u8],
    /// Whole lines of valid UTF-8, and how far they are read.
    window: &'t str,
    at: usize,
    /// Number of the line to be read next.
    line: u64,
    current: Current<'t>,
    /// Decoded escapes of the current line.
    scratch: String,
}

/// The line that was read last.
struct Current<'t> {
    bytes: &'t [u8],
    /// As much of the line as is UTF-8.
    text: &'t str,
    number: u64,
    /// The statement, if the line holds one.
    raw: Option<Raw>,
}

impl<'t> Parser<'t> {
    /// A parser at the start of `bytes`, which is a line start and has the given number (from 1).
    /// A byte order mark before line 1 is skipped: neither columns nor [`Parser::last_line`] count
    /// it.
    pub fn new(bytes: &'t [u8], dialect: Dialect, first_line_number: u64) -> Parser<'t> {
        Parser::with_window(bytes, dialect, first_line_number, WINDOW_BYTES)
    }

    /// The same parser, which takes these IRIs and language tags.
    #[must_use]
    pub fn with_strictness(mut self, strictness: Strictness) -> Parser<'t> {
        self.strictness = strictness;
        self
    }

    fn with_window(bytes: &'t [u8], dialect: Dialect, line: u64, window_bytes: usize) -> Self {
        let current = Current {
            bytes: &[],
            text: "",
            number: line,
            raw: None,
        };
        let scratch = String::new();
        let rest = match bytes.strip_prefix(&BYTE_ORDER_MARK) {
            Some(rest) if line == 1 => rest,
            _ => bytes,
        };
        Parser {
            dialect,
            strictness: Strictness::Strict,
            window_bytes,
            rest,
            window: "",
            at: 0,
            line,
            current,
            scratch,
        }
    }

    /// The next statement, or the error of the next malformed line; `None` at the end. After an
    /// error the next call goes on with the line after it.
    #[expect(
        clippy::should_implement_trait,
        reason = "an item borrows from the parser's scratch"
    )]
    pub fn next(&mut self) -> Option<Result<Statement<'_>, SyntaxError>> {
        loop {
            if self.at == self.window.len() && !self.refill() {
                return None;
            }
            let outcome = if self.at < self.window.len() {
                self.read_line()
            } else {
                self.read_damaged_line()
            };
            match outcome {
                Ok(()) if self.current.raw.is_some() => return self.statement().map(Ok),
                Ok(()) => {}
                Err(fault) => return Some(Err(self.error(&fault))),
            }
        }
    }

    /// The raw text of the line that the last statement or error came from, without its line end.
    pub fn last_line(&self) -> &'t [u8] {
        self.current.bytes
    }

    /// Number of the line that the last statement or error came from.
    pub fn last_line_number(&self) -> u64 {
        self.current.number
    }

    /// Checks the next lines' UTF-8. Leaves an empty window where the next line is damaged; false
    /// at the end.
    fn refill(&mut self) -> bool {
        (self.window, self.at) = ("", 0);
        let mut length = self.rest.len();
        if length > self.window_bytes {
            let line_end = memchr(b'\n', &self.rest[self.window_bytes..]);
            length = line_end.map_or(length, |place| self.window_bytes + place + 1);
        }
        if let Err(error) = str::from_utf8(&self.rest[..length]) {
            let valid = &self.rest[..error.valid_up_to()];
            length = memrchr2(b'\n', b'\r', valid).map_or(0, |place| place + 1);
        }
        let (lines, rest) = self.rest.split_at(length);
        let is_end = self.rest.is_empty();
        self.window = str::from_utf8(lines).expect("cut before the first invalid byte");
        self.rest = rest;
        !is_end
    }

    fn read_line(&mut self) -> Result<(), LineError> {
        let ahead = &self.window[self.at..];
        let (length, line_end) = line_length(ahead.as_bytes());
        let text = &ahead[..length];
        self.at += length + line_end;
        self.start_line(text.as_bytes(), text);
        self.current.raw =
            line::parse(text, self.dialect, self.strictness, &mut self.scratch)?.statement();
        Ok(())
    }

    /// A line with invalid UTF-8 is still good where the damage is in its comment.
    fn read_damaged_line(&mut self) -> Result<(), LineError> {
        let (length, line_end) = line_length(self.rest);
        let (bytes, rest) = self.rest.split_at(length);
        self.rest = &rest[line_end..];
        let valid = match str::from_utf8(bytes) {
            Ok(_) => bytes.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = str::from_utf8(&bytes[..valid]).expect("cut before the first invalid byte");
        self.start_line(bytes, text);
        match line::parse(text, self.dialect, self.strictness, &mut self.scratch) {
            Ok(Content {
                raw,
                has_comment: true,
            }) => {
                self.current.raw = raw;
                Ok(())
            }
            _ => Err(LineError::new(valid, "invalid UTF-8")),
        }
    }

    fn start_line(&mut self, bytes: &'t [u8], text: &'t str) {
        self.scratch.clear();
        self.current = Current {
            bytes,
            text,
            number: self.line,
            raw: None,
        };
        self.line += 1;
    }

    fn statement(&self) -> Option<Statement<'_>> {
        let raw = self.current.raw.as_ref()?;
        Some(raw.resolve(self.current.text, &self.scratch))
    }

    fn error(&self, fault: &LineError) -> SyntaxError {
        let before = &self.current.text[..fault.at.min(self.current.text.len())];
        SyntaxError {
            line: self.current.number,
            column: before.chars().count() as u64 + 1,
            message: fault.message.to_string(),
            is_unusual: fault.is_unusual,
        }
    }
}

/// Length of the first line, and of the line end after it: 0 at the end of the input, 2 for CRLF.
#[inline]
fn line_length(bytes: &[u8]) -> (usize, usize) {
    match memchr2(b'\n', b'\r', bytes) {
        None => (bytes.len(), 0),
        Some(length) if bytes[length..].starts_with(b"\r\n") => (length, 2),
        Some(length) => (length, 1),
    }
}

/// Number of line ends (LF, CRLF or a lone CR), to number the lines of a later part.
pub fn count_lines(bytes: &[u8]) -> u64 {
    let feeds = memchr::memchr_iter(b'\n', bytes).count();
    let is_lone = |&place: &usize| bytes.get(place + 1) != Some(&b'\n');
    let lone_returns = memchr::memchr_iter(b'\r', bytes).filter(is_lone).count();
    (feeds + lone_returns) as u64
}

/// At most `parts` ranges of about equal size that cover `bytes` in order, each ending after a
/// newline (or at the end), none empty. Any statement lies in one range.
pub fn split_ranges(bytes: &[u8], parts: usize) -> Vec<Range<usize>> {
    let target = bytes.len().div_ceil(parts.max(1)).max(1);
    let mut ranges = Vec::with_capacity(parts.max(1));
    let mut start = 0;
    while start < bytes.len() {
        let after = start.saturating_add(target - 1).min(bytes.len());
        let end = memchr(b'\n', &bytes[after..]).map_or(bytes.len(), |place| after + place + 1);
        ranges.push(start..end);
        start = end;
    }
    ranges
}

#[cfg(test)]
mod tests;
