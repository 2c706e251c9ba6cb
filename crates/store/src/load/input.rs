//! The input as a sequence of chunks of whole lines, numbered in order.
//!
//! Whoever needs a chunk takes the next one under the input's lock: it begins where the one before
//! ended and ends after a newline, or at the end of its source. Formats that cannot be cut at lines
//! are transcribed to N-Quads as they are read (see [`formats`](super::formats)), so that
//! everything after this module knows one kind of chunk.
//!
//! Invariant: a chunk never spans two sources, chunks have consecutive numbers, and what they hold,
//! one after the other, is what the sources hold in order. Where the cuts fall depends on sizes
//! only, and nothing that is stored depends on where they fall.
//!
//! Cost: one copy from the page cache, at memory speed; the lock is held for that and for
//! decompression only.

use super::error::LoadError;
use super::formats::{self, Syntax, Transcriber};
use super::parse::Scope;
use super::report::Rejection;
use super::source::{self, Origin, Source};
use memchr::{memrchr, memrchr2};
use rdf::nt::Dialect;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest line: longer ones are refused before they fill the memory.
const LINE_BYTES_MAX: usize = 256 << 20;

/// A chunk's text.
pub struct RawChunk {
    /// Its number.
    pub number: u32,
    /// The scope of its blank labels, which also numbers its source from 1.
    pub scope: Scope,
    /// What its lines are.
    pub dialect: Dialect,
    /// The lines.
    pub text: Vec<u8>,
    /// What a transcriber left out while it made this chunk.
    pub rejections: Vec<Rejection>,
}

/// The sources of a load in order; see the module's documentation.
pub struct Input<'s> {
    waiting: VecDeque<Source<'s>>,
    names: Vec<String>,
    open: Option<Open<'s>>,
    chunk_bytes: usize,
    next_number: u32,
    read_bytes: Arc<AtomicU64>,
    lenient: bool,
}

/// The source that is being read.
struct Open<'s> {
    lines: Lines<'s>,
    dialect: Dialect,
    /// The beginning of a line whose end has not been read.
    carry: Vec<u8>,
}

enum Lines<'s> {
    Read(Box<dyn Read + Send + 's>),
    Chunks(Box<dyn Iterator<Item = Vec<u8>> + Send + 's>),
    Transcribed(Box<dyn Transcriber + 's>),
}

impl<'s> Input<'s> {
    /// The chunks of these sources, of about `chunk_bytes` each, numbered from `first_number`.
    /// Whether malformed statements are to be left out matters to formats that are transcribed.
    pub fn new(
        sources: Vec<Source<'s>>,
        chunk_bytes: usize,
        first_number: u32,
        lenient: bool,
    ) -> Input<'s> {
        Input {
            names: sources.iter().map(|source| source.name.clone()).collect(),
            waiting: sources.into(),
            open: None,
            chunk_bytes: chunk_bytes.clamp(1, LINE_BYTES_MAX),
            next_number: first_number,
            read_bytes: Arc::default(),
            lenient,
        }
    }

    /// Bytes read so far, as they lie in the sources' files.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    /// The next chunk, in `text`, whose content is dropped; `None` at the end.
    pub fn next(&mut self, mut text: Vec<u8>) -> Result<Option<RawChunk>, LoadError> {
        loop {
            if self.open.is_none() {
                let Some(source) = self.waiting.pop_front() else {
                    return Ok(None);
                };
                self.open = Some(self.open_source(source)?);
            }
            let scope = Scope((self.names.len() - self.waiting.len()) as u32);
            let name = &self.names[scope.0 as usize - 1];
            let open = self.open.as_mut().expect("a source was just opened");
            text.clear();
            let mut rejections = Vec::new();
            let is_end = open
                .fill(&mut text, self.chunk_bytes, &mut rejections)
                .map_err(|error| error.into_load_error(name))?;
            if let Lines::Chunks(_) = open.lines {
                self.read_bytes
                    .fetch_add(text.len() as u64, Ordering::Relaxed);
            }
            let dialect = open.dialect;
            if is_end {
                self.open = None;
            }
            if text.is_empty() && rejections.is_empty() {
                continue;
            }
            let number = self.next_number;
            self.next_number = number
                .checked_add(1)
                .expect("fewer than 2^32 chunks of megabytes");
            return Ok(Some(RawChunk {
                number,
                scope,
                dialect,
                text,
                rejections,
            }));
        }
    }

    fn open_source(&self, source: Source<'s>) -> Result<Open<'s>, LoadError> {
        let syntax = source.known_syntax()?;
        let name = source.name;
        let dialect = syntax.dialect().unwrap_or(Dialect::NQuads);
        let raw = match source.origin {
            Origin::Chunks(chunks) => {
                return Ok(Open {
                    lines: Lines::Chunks(chunks),
                    dialect,
                    carry: Vec::new(),
                });
            }
            Origin::Reader(reader) => reader,
            Origin::Path(path) => source::open_path(&path).map_err(|error| LoadError::Open {
                name: name.clone(),
                error,
            })?,
        };
        let reader = source::open(&name, raw, Arc::clone(&self.read_bytes)).map_err(|error| {
            LoadError::Read {
                name: name.clone(),
                error,
            }
        })?;
        let lines = match syntax {
            Syntax::NTriples | Syntax::NQuads => Lines::Read(reader),
            Syntax::Other(format) => {
                Lines::Transcribed(formats::transcriber(format, &name, reader, self.lenient))
            }
        };
        Ok(Open {
            lines,
            dialect,
            carry: Vec::new(),
        })
    }
}

/// Why a chunk could not be filled.
pub enum FillError {
    /// The bytes cannot be read.
    Io(io::Error),
    /// A transcriber met a malformed statement, and was not to go on.
    Malformed(Rejection),
}

impl FillError {
    fn into_load_error(self, name: &str) -> LoadError {
        match self {
            FillError::Io(error) => LoadError::Read {
                name: name.to_owned(),
                error,
            },
            FillError::Malformed(rejection) => LoadError::Malformed(rejection),
        }
    }
}

impl Open<'_> {
    /// Fills `text` with whole lines, about `target` bytes; true at the end of the source.
    fn fill(
        &mut self,
        text: &mut Vec<u8>,
        target: usize,
        rejections: &mut Vec<Rejection>,
    ) -> Result<bool, FillError> {
        match &mut self.lines {
            Lines::Chunks(chunks) => {
                while text.len() < target {
                    let Some(chunk) = chunks.next() else {
                        return Ok(true);
                    };
                    text.extend_from_slice(&chunk);
                }
                Ok(false)
            }
            Lines::Transcribed(transcriber) => transcriber.fill(text, target, rejections),
            Lines::Read(reader) => {
                read_lines(reader, &mut self.carry, text, target).map_err(FillError::Io)
            }
        }
    }
}

/// Moves `carry` and then what is read to `text` until it holds about `target` bytes and ends
/// after a newline; what follows the newline becomes the new carry. True at the end.
fn read_lines(
    reader: &mut dyn Read,
    carry: &mut Vec<u8>,
    text: &mut Vec<u8>,
    target: usize,
) -> io::Result<bool> {
    text.append(carry);
    let mut wanted = target;
    loop {
        let searched = text.len();
        let missing = wanted.saturating_sub(searched).max(1);
        text.reserve(missing);
        let read = reader.take(missing as u64).read_to_end(text)?;
        if read == 0 {
            return Ok(true);
        }
        // A carriage return alone ends a line too, but may be the first half of a line end.
        let from = searched.saturating_sub(1);
        let fresh = &text[from..];
        let line_end =
            memrchr(b'\n', fresh).or_else(|| memrchr2(b'\r', b'\n', &fresh[..fresh.len() - 1]));
        if let Some(line_end) = line_end.filter(|_| text.len() >= target) {
            let end = from + line_end + 1;
            carry.extend_from_slice(&text[end..]);
            text.truncate(end);
            return Ok(false);
        }
        if text.len() >= LINE_BYTES_MAX {
            let limit = LINE_BYTES_MAX >> 20;
            let message = format!("a line is longer than {limit} MiB");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        if text.len() >= wanted {
            wanted = text.len() * 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks_of(texts: &[&str], chunk_bytes: usize) -> Vec<(u32, u32, String)> {
        let sources = texts
            .iter()
            .map(|text| Source::reader("a.nt", text.as_bytes()))
            .collect();
        let mut input = Input::new(sources, chunk_bytes, 0, false);
        let mut chunks = Vec::new();
        while let Some(chunk) = input.next(b"old".to_vec()).unwrap() {
            let text = String::from_utf8(chunk.text).unwrap();
            chunks.push((chunk.number, chunk.scope.0, text));
        }
        assert_eq!(
            input.read_bytes(),
            texts.iter().map(|text| text.len() as u64).sum::<u64>()
        );
        chunks
    }

    #[test]
    fn chunks_are_whole_lines_in_order() {
        let texts = ["one\ntwo\r\n\nthree is longer\nfour", "", "five\n"];
        for chunk_bytes in 1..40 {
            let chunks = chunks_of(&texts, chunk_bytes);
            let all: String = chunks.iter().map(|(_, _, text)| text.as_str()).collect();
            assert_eq!(all, texts.concat());
            for (at, (number, scope, text)) in chunks.iter().enumerate() {
                assert_eq!(*number as usize, at);
                assert!(text.ends_with('\n') || text.ends_with("four"), "{text:?}");
                assert_eq!(*scope == 3, text == "five\n");
            }
        }
        assert_eq!(chunks_of(&["a\rb\rc"], 1).len(), 3);
    }
}
