//! The first phase: sources to parsed chunks, on all threads.
//!
//! | who | touches |
//! |---|---|
//! | a worker | its parser, its text buffer, its open blocks of hashes |
//! | under the input's lock | reading, decompressing, transcribing, cutting |
//! | under the results' lock, once a chunk | counts, ranges of inline values |
//! | under the predicates' lock, once a chunk | the table of predicates |
//!
//! A worker that meets a malformed statement, where the load is to stop, asks the others to take no
//! more chunks; those that were taken are finished. As chunks are taken in order, every chunk
//! before the malformed one is then known, and so are the first error and its line.

use super::buckets::{Buckets, Spreader};
use super::chunk::{Chunks, ORDINAL_KINDS, TermKind};
use super::codes::Ranges;
use super::error::LoadError;
use super::formats::write_line;
use super::input::{Input, RawChunk};
use super::options::LoadWatch;
use super::parse::{ChunkParser, Scope, TermHasher};
use super::predicates::Predicates;
use super::rejected::{ChunkError, ChunkRejections, Rejected};
use super::report::{Advance, Phase};
use super::resolve::{HashRecord, partition_of};
use super::workers::{self, Halt};
use oxrdf::NamedNode;
use rdf::format::{ReadError, TurtlePart};
use rdf::{Strictness, VertexId};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// The most text of a chunk, whose terms then have numbers and offsets of 32 bits: what a document's
/// part takes as N-Quads may be more than was asked for.
const CHUNK_TEXT_MAX: usize = 512 << 20;

/// What is known of a parsed chunk besides the chunk itself.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// Distinct terms by kind.
    pub counts: [u32; ORDINAL_KINDS],
    /// Its source.
    pub scope: Scope,
    /// Its lines.
    pub lines: u64,
}

/// What all chunks together come to.
#[derive(Default)]
pub struct Results {
    /// By number of the chunk.
    pub summaries: Vec<Option<Summary>>,
    /// Where inline values lie.
    pub ranges: Ranges,
    /// Whether any statement is in a named graph.
    pub has_graphs: bool,
    /// Statements parsed.
    pub statements: u64,
}

/// Where parsed chunks go, and what they are parsed with.
pub struct Ingest<'e, 'l> {
    /// Threads that parse.
    pub threads: usize,
    /// Takes the chunks.
    pub chunks: &'e Chunks<'l>,
    /// Takes the hashes of their terms, by partition.
    pub hashes: &'e Buckets<'l, HashRecord>,
    /// Takes their predicates.
    pub predicates: &'e Predicates,
    /// Hashes terms.
    pub hasher: &'e TermHasher,
    /// Takes the place of the default graph.
    pub graph: Option<NamedNode>,
    /// Which IRIs and language tags are taken.
    pub strictness: Strictness,
    /// Seed of tables.
    pub seed: u64,
    /// Takes what else is known.
    pub results: Mutex<Results>,
}

impl<'l> Ingest<'_, 'l> {
    /// Parses the whole input. With `rejected.stops()` and a rejection, what is kept is
    /// incomplete.
    pub fn run(
        &self,
        input: &Mutex<Input<'_, '_>>,
        rejected: &Rejected,
        total_bytes: Option<u64>,
        watch: LoadWatch<'_>,
    ) -> Result<(), LoadError> {
        let halt = Halt::default();
        workers::run(self.threads, &halt, || {
            let mut parser = ChunkParser::new(self.seed);
            let mut hashes = Spreader::new(self.hashes);
            let mut text = Vec::new();
            while !halt.is_set() {
                watch.check()?;
                let next = {
                    let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
                    input.next(text)?.map(|raw| (raw, input.read_bytes()))
                };
                let Some((mut raw, read_bytes)) = next else {
                    break;
                };
                self.chunk(&mut raw, &mut parser, &mut hashes, rejected, &halt)?;
                text = raw.text;
                let statements = self.results().statements;
                watch.progress.advanced(Advance {
                    phase: Phase::Parse,
                    read_bytes,
                    total_bytes,
                    statements,
                    steps: (0, 0),
                });
            }
            hashes.finish()
        })
    }

    fn chunk(
        &self,
        raw: &mut RawChunk<'_>,
        parser: &mut ChunkParser,
        hashes: &mut Spreader<'_, 'l, HashRecord>,
        rejected: &Rejected,
        halt: &Halt,
    ) -> Result<(), LoadError> {
        let mut rejections = rejected.of_chunk(raw.has_source_lines);
        if let Some(part) = raw.part.take()
            && !transcribe_part(part, &mut raw.text, &mut rejections)
        {
            halt.set();
        }
        if raw.text.len() > CHUNK_TEXT_MAX {
            let limit = CHUNK_TEXT_MAX >> 20;
            let message = format!("a statement takes more than {limit} MiB as N-Quads");
            rejections.document(ChunkError::of_document(None, None, message));
            halt.set();
            raw.text.clear();
        }
        let graph = self.graph.as_ref().map(|graph| graph.as_ref().into());
        parser.begin();
        let rules = (raw.dialect, self.strictness);
        let lines = parser.parse(&raw.text, rules, graph, |error, line| {
            rejections.line(error, line);
            if rejected.stops() {
                halt.set();
            }
            !rejected.stops()
        });
        if let Some(message) = raw.unfinished.take() {
            rejections.end(lines, message);
            halt.set();
        }
        rejected.add(raw.number, rejections)?;
        self.keep(raw.number, raw.scope, lines, parser, hashes)
    }

    /// Keeps the chunk that `parser` holds. Its summary is known even if that fails.
    pub fn keep(
        &self,
        number: u32,
        scope: Scope,
        lines: u64,
        parser: &mut ChunkParser,
        hashes: &mut Spreader<'_, 'l, HashRecord>,
    ) -> Result<(), LoadError> {
        let counts = parser.counts();
        self.results().summarize(
            number,
            Summary {
                counts,
                scope,
                lines,
            },
        );
        let partitions = self.hashes.len();
        parser.hashes(self.hasher, number, scope, |record| {
            hashes.push(partition_of(&record, partitions), record)
        })?;
        let entries = self.predicates.enter(number, parser.predicates());
        let chunk = parser.chunk(&entries);
        assert_eq!(chunk.counts, counts, "what is numbered is what is kept");
        let mut ranges = Ranges::default();
        chunk
            .inline
            .iter()
            .for_each(|&bits| ranges.observe(VertexId::from_bits(bits)));
        let mut results = self.results();
        results.ranges.merge(&ranges);
        results.has_graphs |= !chunk.graphs.is_empty();
        results.statements += chunk.statements.len() as u64;
        drop(results);
        self.chunks.put(number, chunk)
    }

    fn results(&self) -> std::sync::MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a part of a Turtle document as lines; false where it is malformed.
fn transcribe_part(
    part: TurtlePart<'_>,
    text: &mut Vec<u8>,
    rejections: &mut ChunkRejections,
) -> bool {
    let read = part.read(&mut |quad| {
        write_line(quad, text);
        if text.len() > CHUNK_TEXT_MAX {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    match read {
        Ok(()) => true,
        Err(ReadError::Syntax {
            line,
            column,
            message,
            is_unusual,
        }) => {
            let fault = ChunkError::of_document(line, column, message);
            rejections.document(fault.unusual(is_unusual));
            false
        }
        Err(error @ ReadError::Io(_)) => {
            rejections.document(ChunkError::of_document(None, None, error.to_string()));
            false
        }
    }
}

impl Results {
    /// Counts of terms by chunk, when all chunks are parsed.
    pub fn counts(&self) -> Vec<[u32; ORDINAL_KINDS]> {
        let complete = |summary: &Option<Summary>| {
            summary
                .expect("chunks have consecutive numbers and all were kept")
                .counts
        };
        self.summaries.iter().map(complete).collect()
    }

    fn summarize(&mut self, chunk: u32, summary: Summary) {
        let at = chunk as usize;
        if self.summaries.len() <= at {
            self.summaries.resize(at + 1, None);
        }
        let before = self.summaries[at].replace(summary);
        assert!(before.is_none(), "each chunk is kept once");
    }

    /// A chunk's source and the lines of that source before the chunk. `None` where a load failed
    /// before all of these chunks were parsed.
    pub fn lines_before(&self, chunk: u32) -> Option<(Scope, u64)> {
        let scope = self.summaries.get(chunk as usize)?.as_ref()?.scope;
        let mut lines = 0;
        for summary in &self.summaries[..chunk as usize] {
            let summary = summary.as_ref()?;
            if summary.scope == scope {
                lines += summary.lines;
            }
        }
        Some((scope, lines))
    }

    /// Widens the ranges by the dictionary's kinds, whose ordinals end at these.
    pub fn all_ranges(&self, end: impl Fn(TermKind) -> u64) -> Ranges {
        let mut ranges = self.ranges;
        for kind in TermKind::ORDINAL {
            let tag = kind.tag().expect("kinds with ordinals have a tag");
            if let Some(last) = end(kind).checked_sub(1) {
                ranges.observe(VertexId::new(tag, 0));
                ranges.observe(VertexId::new(tag, last));
            }
        }
        ranges
    }
}
