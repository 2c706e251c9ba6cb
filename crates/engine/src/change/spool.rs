//! Documents on their way into the store: parsed outside of the turn, kept as chunks of a record.
//!
//! A client may take minutes to send a document, and all other writers would wait for it. So it is
//! parsed first, into the chunks that the record will consist of; what is beyond
//! [`MEMORY_BYTES`] goes to a temporary file, so memory does not grow with the document (but for
//! the labels of its blank nodes). Chunks in memory and labels are on the request's budget, and so is what
//! the parser holds ([`Held`]): a short body may be a long literal once it is decompressed. The chunks are
//! applied one after the other and handed to the log as they are, those of the file mapped.

use super::charge::Charge;
use super::draft::{Draft, RecordPart};
use super::held::Held;
use crate::error::{Kind, Position, QueryError};
use crate::request::context::Context;
use crate::stop::{StopReason, StopToken};
use memory::Region;
use oxrdf::{GraphNameRef, NamedNode, NamedOrBlankNodeRef, QuadRef, TermRef};
use rdf::Strictness;
use rdf::format::{Format, ReadError, read_quads_noting};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use store::Prefixes;
use store::record::{Blank, ChunkWriter, TermError};

/// Quads of a chunk.
const CHUNK_QUADS: u64 = 1 << 17;
/// Bytes after which a chunk ends earlier.
const CHUNK_BYTES: usize = 8 << 20;
/// Bytes of chunks that are kept in memory.
const MEMORY_BYTES: u64 = 64 << 20;
/// Bytes that a blank node's label takes, about, with its number and its place in the table.
const LABEL_BYTES: usize = 96;
/// Quads between two looks at the deadline.
const LOOK_QUADS: u64 = 1 << 10;
const _: () = assert!(
    CHUNK_BYTES as u64 <= MEMORY_BYTES,
    "a chunk fits into memory"
);
const _: () = assert!(
    LOOK_QUADS <= CHUNK_QUADS,
    "the deadline is looked at within a chunk"
);

/// Where the triples of a document go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Where the document says.
    AsGiven,
    /// All to the default graph; named graphs are refused.
    Default,
    /// All to this graph; named graphs are refused.
    Graph(NamedNode),
}

/// A document as chunks.
pub(crate) struct Spool {
    memory: Vec<RecordPart>,
    memory_bytes: u64,
    /// What did not fit, with the length of each chunk.
    file: Option<(File, Vec<usize>)>,
    /// For chunks in memory, and labels while they are needed.
    held: Charge,
    /// Different blank nodes.
    blanks: u64,
    /// Statements read.
    pub(crate) quads: u64,
    /// Prefixes that it declares, to be noted when it has been written.
    pub(crate) prefixes: Prefixes,
}

impl Spool {
    /// Reads a document to its end. `name` stands in messages.
    pub(crate) fn read(
        name: &str,
        format: Format,
        reader: impl Read,
        base: Option<&str>,
        into: &Destination,
        context: &Context,
    ) -> Result<Spool, QueryError> {
        let token = &context.token;
        let mut reading = Reading {
            spool: Spool {
                memory: Vec::new(),
                memory_bytes: 0,
                file: None,
                held: Charge::new(&context.budget),
                blanks: 0,
                quads: 0,
                prefixes: Prefixes::default(),
            },
            writer: ChunkWriter::new(RandomState::new().hash_one(name)),
            labels: HashMap::new(),
            labels_held: Charge::new(&context.budget),
            into,
            token,
        };
        let mut failed = None;
        let held = RefCell::new(Held::by_parser_of(format));
        let refused = Cell::new(None);
        let reader = Watched {
            reader,
            token,
            held: &held,
            refused: &refused,
            charge: Charge::new(&context.budget),
        };
        let mut prefixes = Prefixes::default();
        let mut on_quad = |quad: QuadRef<'_>| {
            held.borrow_mut().statement();
            match reading.quad(quad) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        let mut on_prefix = |name: &str, iri: &str| prefixes.note(name, iri);
        let strictness = Strictness::Strict;
        let read = read_quads_noting(
            strictness,
            format,
            reader,
            base,
            &mut on_prefix,
            &mut on_quad,
        );
        if let Some(error) = failed.or_else(|| refused.take()) {
            return Err(error);
        }
        read.map_err(|error| unread(name, error, token))?;
        reading.end_chunk()?;
        assert_eq!(reading.writer.quads(), 0, "every statement is in a chunk");
        reading.spool.blanks = reading.labels.len() as u64;
        reading.spool.held.grow(prefixes.bytes())?;
        reading.spool.prefixes = prefixes;
        Ok(reading.spool)
    }

    /// Applies the chunks in order.
    pub(crate) fn apply(&self, draft: &mut Draft) -> Result<(), QueryError> {
        let first = draft.fresh_blanks(self.blanks)?;
        for chunk in &self.memory {
            draft.apply_chunk(chunk, first)?;
        }
        let Some((file, lengths)) = &self.file else {
            return Ok(());
        };
        // Its pages are the system's, and the record is written from them.
        let mapped = Region::map(file).map_err(spool_failed)?;
        let mut start = 0;
        for length in lengths {
            let chunk = mapped.slice(start..start + length);
            let chunk = chunk.expect("the file has all chunks");
            draft.apply_chunk(&RecordPart::Mapped(chunk), first)?;
            start += length;
        }
        Ok(())
    }

    /// Adds a chunk, which is not empty.
    fn keep(&mut self, chunk: Vec<u8>) -> Result<(), QueryError> {
        self.memory_bytes += chunk.len() as u64;
        if self.memory_bytes <= MEMORY_BYTES {
            assert!(
                self.file.is_none(),
                "chunks are applied in order: none is in memory behind the file's"
            );
            self.held.grow(chunk.len() as u64)?;
            self.memory.push(chunk.into());
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some((tempfile::tempfile().map_err(spool_failed)?, Vec::new()));
        }
        if let Some((file, lengths)) = &mut self.file {
            file.write_all(&chunk).map_err(spool_failed)?;
            // Pages that are still to be written cannot be taken back where memory is short, and everybody
            // who then asks for some would wait for the disk.
            file.sync_data().map_err(spool_failed)?;
            lengths.push(chunk.len());
        }
        Ok(())
    }
}

struct Reading<'r> {
    spool: Spool,
    writer: ChunkWriter,
    labels: HashMap<String, u64>,
    labels_held: Charge,
    into: &'r Destination,
    token: &'r StopToken,
}

impl Reading<'_> {
    fn quad(&mut self, quad: QuadRef<'_>) -> Result<(), QueryError> {
        let graph: Option<TermRef<'_>> = match (quad.graph_name, self.into) {
            (GraphNameRef::DefaultGraph, Destination::AsGiven | Destination::Default) => None,
            (GraphNameRef::DefaultGraph, Destination::Graph(graph)) => Some(graph.as_ref().into()),
            (GraphNameRef::NamedNode(graph), Destination::AsGiven) => Some(graph.into()),
            (GraphNameRef::BlankNode(graph), Destination::AsGiven) => Some(graph.into()),
            (graph, _) => {
                let message = format!("the document names a graph of its own, {graph}");
                return Err(QueryError::new(Kind::Syntax, message)
                    .with_hint("send it to the store itself, without naming a graph"));
            }
        };
        let subject: TermRef<'_> = match quad.subject {
            NamedOrBlankNodeRef::NamedNode(iri) => iri.into(),
            NamedOrBlankNodeRef::BlankNode(blank) => blank.into(),
        };
        let places = [
            self.term(subject)?,
            self.term(quad.predicate.into())?,
            self.term(quad.object)?,
        ];
        let graph = graph.map(|graph| self.term(graph)).transpose()?;
        self.writer.insert((places, graph));
        self.spool.quads += 1;
        if self.spool.quads.is_multiple_of(LOOK_QUADS) {
            stopped(self.token)?;
        }
        if self.writer.quads() >= CHUNK_QUADS || self.writer.bytes() >= CHUNK_BYTES {
            self.end_chunk()?;
        }
        Ok(())
    }

    fn term(&mut self, term: TermRef<'_>) -> Result<u32, QueryError> {
        let labels = &mut self.labels;
        let before = labels.len();
        let place = self.writer.term(term, &mut |label| {
            let next = labels.len() as u64;
            let number = match labels.get(label) {
                Some(&number) => number,
                None => *labels.entry(label.to_owned()).or_insert(next),
            };
            Some(Blank::New(number))
        });
        if labels.len() > before {
            let new = (labels.len() - before) * LABEL_BYTES;
            self.labels_held.grow(new as u64)?;
        }
        place.map_err(|error: TermError| QueryError::new(Kind::Shape, error))
    }

    fn end_chunk(&mut self) -> Result<(), QueryError> {
        if self.writer.quads() > 0 {
            let chunk = self.writer.finish();
            self.spool.keep(chunk)?;
        }
        Ok(())
    }
}

/// A reader that ends with an error when the token says stop, before its next read, or when there is no
/// memory for what the parser makes of it.
struct Watched<'t, R> {
    reader: R,
    token: &'t StopToken,
    held: &'t RefCell<Held>,
    /// Why there was no memory.
    refused: &'t Cell<Option<QueryError>>,
    /// For the most that the parser has held: its buffers stay as large until the document ends.
    charge: Charge,
}

impl<R> Watched<'_, R> {
    /// Has memory for what is held once so many more bytes have been read.
    fn make_room(&mut self, bytes: usize) -> io::Result<()> {
        let needed = self.held.borrow().bytes_after(bytes);
        let more = needed.saturating_sub(self.charge.bytes());
        self.charge.grow(more).map_err(|error| {
            self.refused.set(Some(error));
            io::ErrorKind::OutOfMemory.into()
        })
    }
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.token.reason() {
            None => {
                self.make_room(into.len())?;
                let read = self.reader.read(into)?;
                self.held.borrow_mut().read(&into[..read]);
                self.make_room(0)?;
                Ok(read)
            }
            Some(StopReason::Deadline | StopReason::Outdated) => {
                Err(io::ErrorKind::TimedOut.into())
            }
            Some(StopReason::Cancelled) => Err(io::Error::other("cancelled")),
        }
    }
}

fn stopped(token: &StopToken) -> Result<(), QueryError> {
    match token.reason() {
        None => Ok(()),
        Some(StopReason::Deadline | StopReason::Outdated) => Err(QueryError::new(
            Kind::Timeout,
            "the document was not read within the request's time",
        )),
        Some(StopReason::Cancelled) => {
            Err(QueryError::new(Kind::Cancelled, "the change was cancelled"))
        }
    }
}

fn unread(name: &str, error: ReadError, token: &StopToken) -> QueryError {
    if let Err(stopped) = stopped(token) {
        return stopped;
    }
    match error {
        ReadError::Syntax {
            line,
            column,
            message,
            ..
        } => {
            let mut error = QueryError::new(Kind::Syntax, format!("{name}: {message}"));
            error.position = line.map(|line| Position {
                line,
                column: column.unwrap_or(1),
            });
            error
        }
        ReadError::Io(error) => QueryError::new(Kind::Remote, format!("{name}: {error}")),
    }
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn spool_failed(error: io::Error) -> QueryError {
    QueryError::new(
        Kind::Memory,
        format!("no room for the document in a temporary file: {error}"),
    )
}
