//! The input as a sequence of chunks of whole statements, numbered in order.
//!
//! Whoever needs a chunk takes the next one under the input's lock: it begins where the one before
//! ended and ends after a newline, or at the end of its source. Formats that cannot be cut at lines
//! come as N-Quads (see [`formats`](super::formats)), so that what follows knows one kind of chunk.
//!
//! Invariant: a chunk never spans two sources, chunks have consecutive numbers, and what they hold,
//! one after the other, is what the sources hold in order. Where the cuts fall depends on sizes
//! only, and nothing that is stored depends on where they fall.
//!
//! Cost: one copy from the page cache, at memory speed; the lock is held for that and for
//! decompression only, which so runs beside the other workers' parsing without a thread of its own.

use super::error::LoadError;
use super::formats::{self, Blocks, Document, Syntax};
use super::parse::Scope;
use super::report::Rejection;
use super::source::{self, Origin, Source};
use crate::prefixes::Prefixes;
use memchr::{memrchr, memrchr2};
use rdf::Strictness;
use rdf::format::{
    Format, ReadError, TurtlePart, refuse_ontology, refuse_ontology_text, split_turtle_with,
};
use rdf::nt::Dialect;
use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The most that a chunk is asked to hold.
const CHUNK_BYTES_MAX: usize = 256 << 20;
/// Turtle takes about this many times its bytes as N-Quads.
const TURTLE_FACTOR: usize = 3;

/// Files that are mapped at a time, each of which takes a descriptor; others are read.
const MAPS_MAX: usize = 256;

/// A chunk's text.
pub struct RawChunk<'t> {
    /// Its number.
    pub number: u32,
    /// The scope of its blank labels, which also numbers its source from 1.
    pub scope: Scope,
    /// What its lines are.
    pub dialect: Dialect,
    /// The lines; empty where `part` is to be transcribed.
    pub text: Vec<u8>,
    /// A part of a Turtle document.
    pub part: Option<TurtlePart<'t>>,
    /// What is wrong with what follows the lines, where the source cannot be read on.
    pub unfinished: Option<String>,
    /// Whether the lines are those of the source.
    pub has_source_lines: bool,
}

/// What all sources of a load have in common.
#[derive(Clone, Debug)]
pub struct InputOptions {
    /// About how much text a chunk holds.
    pub chunk_bytes: usize,
    /// The longest line: longer ones are refused before they fill the memory.
    pub line_bytes_max: usize,
    /// Number of the first chunk.
    pub first_number: u32,
    /// Resolves relative IRIs, where a format has them.
    pub base: Option<String>,
    /// Which IRIs and language tags are taken.
    pub strictness: Strictness,
}

/// The sources of a load in order; see the module's documentation.
pub struct Input<'scope, 'env> {
    scope: &'scope thread::Scope<'scope, 'env>,
    waiting: VecDeque<Source<'scope>>,
    names: Vec<String>,
    open: Option<Open<'scope>>,
    options: InputOptions,
    next_number: u32,
    /// Nothing more is read: an error was given, and what follows it is no whole line.
    has_failed: bool,
    read_bytes: Arc<AtomicU64>,
    /// What the sources declare.
    prefixes: Arc<Mutex<Prefixes>>,
}

/// The source that is being read.
struct Open<'s> {
    lines: Lines<'s>,
    dialect: Dialect,
}

enum Lines<'s> {
    /// A reader, and the beginning of a line whose end has not been read.
    Read(Box<dyn Read + Send + 's>, Vec<u8>),
    Chunks(Box<dyn Iterator<Item = Vec<u8>> + Send + 's>),
    Blocks(Blocks),
    Parts(std::vec::IntoIter<TurtlePart<'s>>),
}

/// What a source has next.
enum Next<'s> {
    /// Lines, in the text that was handed over; more may follow.
    Text,
    /// The last lines, perhaps none.
    LastText,
    /// Lines, perhaps none, and after them one that is too long.
    TooLong,
    Part(TurtlePart<'s>),
}

impl<'scope, 'env> Input<'scope, 'env> {
    /// The chunks of these sources. Documents that are transcribed get a thread of `scope` each, one
    /// at a time. What they declare is noted in `prefixes` until the scope ends.
    pub fn new(
        scope: &'scope thread::Scope<'scope, 'env>,
        sources: Vec<Source<'scope>>,
        options: InputOptions,
        prefixes: Arc<Mutex<Prefixes>>,
    ) -> Input<'scope, 'env> {
        let chunk_bytes = options.chunk_bytes.clamp(1, CHUNK_BYTES_MAX);
        Input {
            scope,
            names: sources.iter().map(|source| source.name.clone()).collect(),
            waiting: sources.into(),
            open: None,
            next_number: options.first_number,
            has_failed: false,
            options: InputOptions {
                chunk_bytes,
                ..options
            },
            read_bytes: Arc::default(),
            prefixes,
        }
    }

    /// Bytes read so far, as they lie in the sources' files.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    /// The next chunk, in `text`, whose content is dropped; `None` at the end, and for ever after
    /// an error.
    pub fn next(&mut self, text: Vec<u8>) -> Result<Option<RawChunk<'scope>>, LoadError> {
        if self.has_failed {
            return Ok(None);
        }
        let next = self.read_next(text);
        self.has_failed = match &next {
            Ok(chunk) => chunk
                .as_ref()
                .is_some_and(|chunk| chunk.unfinished.is_some()),
            Err(_) => true,
        };
        next
    }

    fn read_next(&mut self, mut text: Vec<u8>) -> Result<Option<RawChunk<'scope>>, LoadError> {
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
            let next = open.next(&mut text, &self.options);
            let next = next.map_err(|error| failed(name, error))?;
            let has_source_lines = !matches!(open.lines, Lines::Blocks(_) | Lines::Parts(_));
            match &next {
                Next::Part(part) => self.count(part.bytes().len()),
                _ if matches!(open.lines, Lines::Chunks(_)) => {
                    self.read_bytes
                        .fetch_add(text.len() as u64, Ordering::Relaxed);
                }
                _ => {}
            }
            let dialect = self
                .open
                .as_ref()
                .map_or(Dialect::NQuads, |open| open.dialect);
            if matches!(next, Next::LastText) {
                self.open = None;
            }
            let limit = self.options.line_bytes_max >> 20;
            let (part, unfinished) = match next {
                Next::Part(part) => (Some(part), None),
                Next::TooLong => (None, Some(too_long(limit))),
                Next::Text | Next::LastText => (None, None),
            };
            if text.is_empty() && part.is_none() && unfinished.is_none() {
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
                part,
                unfinished,
                has_source_lines,
            }));
        }
    }

    fn count(&self, bytes: usize) {
        self.read_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn open_source(&self, source: Source<'scope>) -> Result<Open<'scope>, LoadError> {
        let syntax = source.known_syntax()?;
        let name = source.name;
        let dialect = syntax.dialect().unwrap_or(Dialect::NQuads);
        let base = self.options.base.as_deref();
        let strictness = self.options.strictness;
        let raw = match source.origin {
            Origin::Chunks(chunks) => {
                return Ok(Open {
                    lines: Lines::Chunks(chunks),
                    dialect,
                });
            }
            Origin::Mapped(bytes) => {
                let part_bytes = self.options.chunk_bytes.div_ceil(TURTLE_FACTOR);
                let parts = bytes.len().div_ceil(part_bytes);
                let parts = refuse_ontology_text(bytes)
                    .and_then(|()| split_turtle_with(strictness, bytes, base, parts))
                    .map_err(|error| failed(&name, error))?;
                let Some(parts) = parts else {
                    let reader = self.unpacked(&name, Box::new(bytes))?;
                    return Ok(Open {
                        lines: self.transcribed(Format::Turtle, reader),
                        dialect,
                    });
                };
                let mut noted = self.prefixes.lock().unwrap_or_else(PoisonError::into_inner);
                // As the parser has them at the end: the last of a name.
                let declared = parts.first().into_iter().flat_map(TurtlePart::declared);
                for (name, iri) in declared.collect::<BTreeMap<_, _>>() {
                    noted.note(name, iri);
                }
                drop(noted);
                return Ok(Open {
                    lines: Lines::Parts(parts.into_iter()),
                    dialect,
                });
            }
            Origin::Reader(reader) => reader,
            Origin::Path(path) => source::open_path(&path).map_err(|error| LoadError::Open {
                name: name.clone(),
                error,
            })?,
        };
        let reader = self.unpacked(&name, raw)?;
        let lines = match syntax {
            Syntax::NTriples | Syntax::NQuads => {
                let reader = refuse_ontology(reader).map_err(|error| failed(&name, error))?;
                Lines::Read(Box::new(reader), Vec::new())
            }
            Syntax::Other(format) => self.transcribed(format, reader),
        };
        Ok(Open { lines, dialect })
    }

    /// The bytes of a source, unpacked and counted.
    fn unpacked(
        &self,
        name: &str,
        raw: Box<dyn Read + Send + 'scope>,
    ) -> Result<Box<dyn Read + Send + 'scope>, LoadError> {
        let read_bytes = Arc::clone(&self.read_bytes);
        source::open(name, raw, read_bytes).map_err(|error| LoadError::Read {
            name: name.to_owned(),
            error,
        })
    }

    /// A document as lines that a thread of its own writes.
    fn transcribed(&self, format: Format, reader: Box<dyn Read + Send + 'scope>) -> Lines<'scope> {
        let InputOptions {
            base,
            chunk_bytes,
            strictness,
            ..
        } = &self.options;
        let rules = (format, *strictness);
        let document = Document {
            reader,
            base: base.clone(),
            prefixes: Arc::clone(&self.prefixes),
        };
        let blocks = formats::transcribe(self.scope, rules, document, *chunk_bytes);
        Lines::Blocks(blocks)
    }
}

/// The sources, with Turtle files that are not compressed mapped into `maps`, so that they can be
/// cut into parts. A file that cannot be mapped is left to be read.
pub fn map_turtle<'s>(
    sources: Vec<Source<'s>>,
    maps: &'s [Option<memory::Region>],
) -> Vec<Source<'s>> {
    assert_eq!(sources.len(), maps.len(), "each source is mapped or not");
    let mapped = |(source, map): (Source<'s>, &'s Option<memory::Region>)| match map {
        Some(map) => Source {
            origin: Origin::Mapped(map.bytes()),
            ..source
        },
        None => source,
    };
    sources.into_iter().zip(maps).map(mapped).collect()
}

/// The maps of sources, where [`map_turtle`] wants them.
pub fn turtle_maps(sources: &mut [Source<'_>]) -> Vec<Option<memory::Region>> {
    let mut left = MAPS_MAX;
    let mut map = |source| {
        let map = (left > 0).then(|| turtle_map(source)).flatten();
        left -= usize::from(map.is_some());
        map
    };
    sources.iter_mut().map(&mut map).collect()
}

/// Maps a file whose length is known. Pipes, terminals and what the kernel makes up on reading have
/// none, and opening them twice may lose what they hold: they are left to be read.
fn turtle_map(source: &mut Source<'_>) -> Option<memory::Region> {
    let is_turtle = source.known_syntax().ok()? == Syntax::Other(Format::Turtle);
    let Origin::Path(path) = &source.origin else {
        return None;
    };
    let has_length = |file: Metadata| file.is_file() && file.len() > 0;
    let is_wanted = is_turtle && !source.is_compressed_by_name();
    if !is_wanted || !path.metadata().is_ok_and(has_length) {
        return None;
    }
    let file = File::open(path).ok()?;
    let map = file
        .metadata()
        .is_ok_and(has_length)
        .then(|| memory::Region::map(&file).ok());
    let map = map
        .flatten()
        .filter(|map| !source::looks_compressed(map.bytes()));
    if map.is_none() {
        source.origin = Origin::Reader(Box::new(file));
    }
    map
}

/// A source's failure as the load's.
pub fn failed(name: &str, error: ReadError) -> LoadError {
    match error {
        ReadError::Io(error) => LoadError::Read {
            name: name.to_owned(),
            error,
        },
        ReadError::Syntax {
            line,
            column,
            message,
            is_unusual,
        } => {
            let file = name.to_owned();
            LoadError::Malformed(Rejection {
                file,
                line,
                column,
                message,
                is_unusual,
            })
        }
    }
}

impl<'s> Open<'s> {
    /// Fills `text` with whole lines, about a chunk, or gives the next part.
    fn next(&mut self, text: &mut Vec<u8>, options: &InputOptions) -> Result<Next<'s>, ReadError> {
        let target = options.chunk_bytes;
        let is_end = match &mut self.lines {
            Lines::Chunks(chunks) => loop {
                if text.len() >= target {
                    break false;
                }
                match chunks.next() {
                    Some(chunk) => text.extend_from_slice(&chunk),
                    None => break true,
                }
            },
            // A transcriber that ends closes its channel.
            Lines::Blocks(blocks) => match blocks.recv() {
                Ok(block) => {
                    *text = block?;
                    false
                }
                Err(_) => true,
            },
            Lines::Read(reader, carry) => {
                return Ok(read_lines(reader, carry, text, options)?);
            }
            Lines::Parts(parts) => match parts.next() {
                Some(part) => return Ok(Next::Part(part)),
                None => true,
            },
        };
        Ok(if is_end { Next::LastText } else { Next::Text })
    }
}

fn too_long(limit: usize) -> String {
    format!("a line is longer than {limit} MiB, the most that this load takes")
}

/// Moves `carry` and then what is read to `text` until it holds about a chunk and ends after a
/// newline; what follows the newline becomes the new carry.
fn read_lines<'s>(
    reader: &mut dyn Read,
    carry: &mut Vec<u8>,
    text: &mut Vec<u8>,
    options: &InputOptions,
) -> io::Result<Next<'s>> {
    text.append(carry);
    let target = options.chunk_bytes;
    let (mut wanted, mut line_start) = (target, 0);
    loop {
        let searched = text.len();
        let missing = wanted.saturating_sub(searched).max(1);
        text.reserve(missing);
        let read = reader.take(missing as u64).read_to_end(text)?;
        if read == 0 {
            return Ok(Next::LastText);
        }
        // A carriage return alone ends a line too, but may be the first half of a line end.
        let from = searched.saturating_sub(1);
        let fresh = &text[from..];
        let line_end =
            memrchr(b'\n', fresh).or_else(|| memrchr2(b'\r', b'\n', &fresh[..fresh.len() - 1]));
        if let Some(line_end) = line_end {
            line_start = from + line_end + 1;
        }
        if line_start > 0 && text.len() >= target {
            carry.extend_from_slice(&text[line_start..]);
            text.truncate(line_start);
            return Ok(Next::Text);
        }
        if text.len() - line_start >= options.line_bytes_max {
            text.truncate(line_start);
            return Ok(Next::TooLong);
        }
        if text.len() >= wanted {
            wanted = (text.len() * 2).min(line_start + options.line_bytes_max);
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
        thread::scope(|scope| {
            let options = InputOptions {
                chunk_bytes,
                line_bytes_max: 1 << 20,
                first_number: 0,
                base: None,
                strictness: Strictness::Strict,
            };
            let mut input = Input::new(scope, sources, options, Arc::default());
            let mut chunks = Vec::new();
            while let Some(chunk) = input.next(b"old".to_vec()).unwrap() {
                let text = String::from_utf8(chunk.text).unwrap();
                chunks.push((chunk.number, chunk.scope.0, text));
            }
            let length: usize = texts.iter().map(|text| text.len()).sum();
            assert_eq!(input.read_bytes(), length as u64);
            chunks
        })
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

    #[test]
    fn a_transcriber_that_nobody_waits_for_ends() {
        let text = "<a:a> <a:a> <a:a> .\n".repeat(10_000);
        thread::scope(|scope| {
            let sources = vec![Source::reader("a.ttl", text.as_bytes())];
            let options = InputOptions {
                chunk_bytes: 100,
                line_bytes_max: 1 << 20,
                first_number: 0,
                base: None,
                strictness: Strictness::Strict,
            };
            let mut input = Input::new(scope, sources, options, Arc::default());
            assert!(input.next(Vec::new()).unwrap().is_some());
        });
    }

    #[test]
    fn after_an_error_nothing_more_is_read() {
        struct FailsOnce(bool);
        impl Read for FailsOnce {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                if !std::mem::replace(&mut self.0, true) {
                    return Err(io::Error::other("the cable is out"));
                }
                into[..4].copy_from_slice(b"ly .");
                Ok(4)
            }
        }
        thread::scope(|scope| {
            let reader = io::Cursor::new("whole\npart").chain(FailsOnce(false));
            let sources = vec![
                Source::reader("a.nt", reader),
                Source::reader("b.nt", &b"whole\n"[..]),
            ];
            let options = InputOptions {
                chunk_bytes: 100,
                line_bytes_max: 1 << 20,
                first_number: 0,
                base: None,
                strictness: Strictness::Strict,
            };
            let mut input = Input::new(scope, sources, options, Arc::default());
            let error = input.next(Vec::new()).err().unwrap();
            assert!(matches!(error, LoadError::Read { .. }), "{error}");
            assert!(input.next(Vec::new()).unwrap().is_none());
        });
    }

    #[test]
    fn a_line_that_is_too_long_comes_after_the_lines_before() {
        let long = "x".repeat(3 << 20);
        let text = format!("one\ntwo\n{long}\nthree\n");
        for chunk_bytes in [1, 5, 100, 2 << 20] {
            thread::scope(|scope| {
                let sources = vec![Source::reader("a.nt", text.as_bytes())];
                let options = InputOptions {
                    chunk_bytes,
                    line_bytes_max: 1 << 20,
                    first_number: 0,
                    base: None,
                    strictness: Strictness::Strict,
                };
                let mut input = Input::new(scope, sources, options, Arc::default());
                let mut before = Vec::new();
                let unfinished = loop {
                    let chunk = input.next(Vec::new()).unwrap().unwrap();
                    before.extend_from_slice(&chunk.text);
                    if chunk.unfinished.is_some() {
                        break chunk.unfinished;
                    }
                };
                assert_eq!(before, b"one\ntwo\n", "{chunk_bytes}");
                assert!(unfinished.unwrap().contains("longer than 1 MiB"));
                assert!(input.next(Vec::new()).unwrap().is_none());
            });
        }
    }
}
