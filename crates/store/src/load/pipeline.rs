//! A load from end to end, but for where its files become a store.
//!
//! ```text
//! sources --parse--> chunks, hashes, predicates
//!                    hashes --resolve--> ordinals
//! chunks --encode--> edges in bins, keys, (hash, ordinal)
//!                    edges --build--> segments, signatures      pairs --build--> indexes
//! ```

use super::buckets::Buckets;
use super::budget::Budget;
use super::build::Builder;
use super::chunk::{Chunks, TermKind};
use super::codes::{Codes, Ranges};
use super::dictionary::{InOrder, IndexPairs, KeyFiles, names};
use super::edges::{Bin, bins};
use super::encode::{EdgeBins, Encoder, Turn, Width};
use super::error::LoadError;
use super::existing::Existing;
use super::ingest::{Ingest, Results};
use super::input::{self, Input, InputOptions};
use super::options::{LoadOptions, Watch};
use super::parse::TermHasher;
use super::predicates::{Numbered, Predicates};
use super::rejected::{Listed, Rejected};
use super::report::{Advance, LoadReport, Phase};
use super::resolve::{Groups, HashRecord, Numbering, Pieces};
use super::scratch::{ScratchSpace, Spill};
use super::source::Source;
use super::workers::{self, Halt};
use crate::parts::PartFiles;
use crate::segment::writer::write_tables;
use rdf::{Direction, PredicateId, Tag, VertexId};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Partitions of hashes: with a limit each is small, without one each fits a core's cache.
const PARTITIONS: usize = 256;
/// Partitions under small limits, where every open block counts.
const PARTITIONS_SMALL: usize = 16;
/// Limits below this are small.
const SMALL_LIMIT_BYTES: u64 = 64 << 20;
/// Groups of chunks by which repetitions are kept.
const GROUPS_MAX: usize = 256;
/// Of the working memory, a thread sorts in this share (one in ...).
const SORTING_SHARE: u64 = 2;

/// Everything that a load is given.
pub struct Job<'j> {
    /// What is asked for.
    pub options: &'j LoadOptions,
    /// Who watches.
    pub watch: Watch<'j>,
    /// What the store holds already.
    pub existing: Option<Existing<'j>>,
    /// Where the new graph's parts go.
    pub files: &'j dyn PartFiles,
    /// Where temporary files go.
    pub scratch: &'j dyn ScratchSpace,
}

/// What a load made, besides its files.
pub struct Outcome {
    /// For the caller of the load.
    pub report: LoadReport,
    /// Number of blank nodes, which no file tells.
    pub blank_nodes: u64,
}

/// What is known when everything is parsed.
struct Parsed {
    results: Results,
    numbered: Numbered,
    existing_predicates: Vec<(PredicateId, u32)>,
    quads_before: u64,
    rejected: Listed,
    read_bytes: u64,
}

/// Measures phases.
struct Stopwatch<'w> {
    watch: Watch<'w>,
    since: Duration,
    phases: Vec<(Phase, Duration)>,
}

impl Stopwatch<'_> {
    fn end(&mut self, phase: Phase) {
        let now = (self.watch.clock)();
        self.phases.push((phase, now.saturating_sub(self.since)));
        self.since = now;
    }
}

/// Runs a load up to complete files.
pub fn run(job: &Job<'_>, sources: Vec<Source<'_>>) -> Result<Outcome, LoadError> {
    let options = job.options;
    let budget = Budget::new(options.memory_limit_bytes);
    let mut stopwatch = Stopwatch {
        watch: job.watch,
        since: (job.watch.clock)(),
        phases: Vec::new(),
    };
    let is_small = options
        .memory_limit_bytes
        .is_some_and(|limit| limit < SMALL_LIMIT_BYTES);
    let partitions = if is_small {
        PARTITIONS_SMALL
    } else {
        PARTITIONS
    };
    let chunks = Chunks::new(Spill::new(job.scratch, "scratch-chunks"), &budget);
    let hashes = Buckets::new(
        partitions,
        Spill::new(job.scratch, "scratch-hashes"),
        &budget,
    );
    let parsed = parse(job, sources, &chunks, &hashes, &budget)?;
    stopwatch.end(Phase::Parse);
    let stage = Stage {
        job,
        budget: &budget,
        parsed: &parsed,
    };
    let outcome = stage.finish(&chunks, hashes, &mut stopwatch)?;
    let report = LoadReport {
        rejected: parsed.rejected.count,
        rejections: parsed.rejected.first,
        statements: parsed.results.statements,
        read_bytes: parsed.read_bytes,
        phases: stopwatch.phases,
        peak_retained_bytes: budget.peak_bytes(),
        ..outcome.report
    };
    Ok(Outcome { report, ..outcome })
}

fn parse<'l>(
    job: &Job<'l>,
    sources: Vec<Source<'_>>,
    chunks: &Chunks<'l>,
    hashes: &Buckets<'l, HashRecord>,
    budget: &Budget,
) -> Result<Parsed, LoadError> {
    let options = job.options;
    // Unknown formats are told before anything is read.
    sources
        .iter()
        .try_for_each(|source| source.known_syntax().map(|_| ()))?;
    let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
    let total_bytes = sources.iter().map(Source::total_bytes).sum();
    let first_chunk = job.existing.map_or(0, |existing| existing.chunks()) as u32;
    let predicates = Predicates::new(options.seed());
    let ingest = Ingest {
        threads: options.threads.max(1),
        chunks,
        hashes,
        predicates: &predicates,
        hasher: &TermHasher::new(options.hash_key),
        graph: options.graph_name()?,
        seed: options.seed(),
        results: Mutex::default(),
    };
    let mut ranges = Ranges::default();
    let (mut existing_predicates, mut quads_before) = (Vec::new(), 0);
    if let Some(existing) = &job.existing {
        existing.feed_terms(&ingest)?;
        (existing_predicates, quads_before) = existing.feed_predicates(&predicates, &mut ranges)?;
    }
    let rejected = Rejected::new(&options.on_error, first_chunk)?;
    let input_options = InputOptions {
        chunk_bytes: options.chunk_bytes(budget.working_bytes()),
        first_number: first_chunk,
        base: options.base.clone(),
    };
    let maps: Vec<Option<memory::Region>> = sources.iter().map(input::turtle_map).collect();
    let (run, read_bytes) = std::thread::scope(|scope| {
        let sources = input::map_turtle(sources, &maps);
        let input = Mutex::new(Input::new(scope, sources, input_options));
        let run = ingest.run(&input, &rejected, total_bytes, job.watch);
        let input = input.into_inner().unwrap_or_else(PoisonError::into_inner);
        (run, input.read_bytes())
    });
    let mut results = ingest
        .results
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let stops = rejected.stops();
    let rejected = rejected.finish(|chunk| {
        let (source, lines) = results.lines_before(chunk);
        (names[source as usize - 1].clone(), lines)
    })?;
    let first = rejected
        .first
        .first()
        .filter(|_| stops)
        .or(rejected.fatal.as_ref());
    if let Some(first) = first {
        return Err(LoadError::Malformed(first.clone()));
    }
    run?;
    results.ranges.merge(&ranges);
    if let Some(existing) = &job.existing {
        results.has_graphs |= !existing.view.named_graphs()?.is_empty();
    }
    let numbered = predicates.number()?;
    Ok(Parsed {
        results,
        numbered,
        existing_predicates,
        quads_before,
        rejected,
        read_bytes,
    })
}

/// The phases after parsing.
struct Stage<'e, 'l> {
    job: &'e Job<'l>,
    budget: &'l Budget,
    parsed: &'e Parsed,
}

impl<'l> Stage<'_, 'l> {
    fn finish(
        &self,
        chunks: &Chunks<'l>,
        hashes: Buckets<'l, HashRecord>,
        stopwatch: &mut Stopwatch<'_>,
    ) -> Result<Outcome, LoadError> {
        let threads = self.job.options.threads.max(1);
        let counts = self.parsed.results.counts();
        assert_eq!(counts.len(), chunks.len(), "every chunk was kept");
        let mut numbering = Numbering::new(&counts, [0; 4]);
        let groups = Groups::new(chunks.len(), GROUPS_MAX);
        let repetitions = Buckets::new(
            groups.count(chunks.len()),
            self.spill("scratch-repetitions"),
            self.budget,
        );
        let piece = self.sorting_bytes() / size_of::<HashRecord>() / 2;
        let pieces = Pieces {
            records: piece.max(1),
            scratch: self.job.scratch,
        };
        numbering.resolve(threads, &hashes, &repetitions, groups, pieces)?;
        drop(hashes);
        stopwatch.end(Phase::Resolve);

        let codes = Codes::new(&self.parsed.results.all_ranges(|kind| numbering.end(kind)));
        let edges = self.edge_bins(&codes);
        let indexes = [
            (Tag::Iri, "scratch-iri-pairs"),
            (Tag::Literal, "scratch-literal-pairs"),
            (Tag::TripleTerm, "scratch-triple-pairs"),
        ]
        .map(|(tag, name)| IndexPairs::new(tag, self.spill(name), self.budget));
        let numbered = &self.parsed.numbered;
        let keys = InOrder::new(KeyFiles::create(self.job.files)?);
        let bin_of = bin_of(&edges.bins, numbered.rows.len());
        let encoder = Encoder {
            chunks,
            numbering: &numbering,
            repetitions: &repetitions,
            groups,
            codes: &codes,
            numbered,
            bin_of: &bin_of,
            edges: &edges,
            keys: &keys,
            indexes: &indexes,
            turn: Mutex::new(Turn::default()),
            graphs: Mutex::default(),
            predicates: Mutex::new(vec![VertexId::UNBOUND; numbered.rows.len()]),
        };
        self.encode(&encoder)?;
        let predicates = encoder
            .predicates
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let graphs = encoder
            .graphs
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        drop(repetitions);
        keys.finish().finish(self.job.files)?;
        stopwatch.end(Phase::Encode);

        let graphs: Arc<[VertexId]> = graphs.into_iter().collect();
        write_tables(self.job.files, &predicates, &graphs)?;
        let builder = Builder {
            edges: &edges,
            codes: &codes,
            rows: &numbered.rows,
            graphs,
            files: self.job.files,
            scratch: self.job.scratch,
            budget: self.budget,
            piece_bytes: self.sorting_bytes(),
        };
        let quads = self.build(&builder, &indexes, &numbering)?;
        stopwatch.end(Phase::Build);
        Ok(self.outcome(&numbering, quads))
    }

    fn outcome(&self, numbering: &Numbering, quads: u64) -> Outcome {
        let terms = TermKind::ORDINAL
            .iter()
            .map(|&kind| numbering.end(kind))
            .sum();
        let blank_nodes = numbering.end(TermKind::Blank);
        let quads_before = self.parsed.quads_before;
        let report = LoadReport {
            quads,
            quads_before,
            terms,
            ..LoadReport::default()
        };
        Outcome {
            report,
            blank_nodes,
        }
    }

    /// Bytes that one thread may use to sort.
    fn sorting_bytes(&self) -> usize {
        let threads = self.job.options.threads.max(2) as u64;
        (self.budget.working_bytes() / SORTING_SHARE / threads).min(usize::MAX as u64 / 4) as usize
    }

    fn spill(&self, name: &str) -> Spill<'l> {
        Spill::new(self.job.scratch, name)
    }

    fn edge_bins(&self, codes: &Codes) -> EdgeBins<'l> {
        let bins = bins(&self.parsed.numbered.rows);
        let has_graphs = self.parsed.results.has_graphs;
        let width = |bin: &Bin| match codes.is_narrow() {
            true if bin.is_single() && !has_graphs => Width::Pair,
            true => Width::Quad,
            false => Width::Wide,
        };
        let widths: Vec<Width> = bins.iter().map(width).collect();
        EdgeBins {
            pairs: Buckets::new(bins.len(), self.spill("scratch-pairs"), self.budget),
            quads: Buckets::new(bins.len(), self.spill("scratch-quads"), self.budget),
            wides: Buckets::new(bins.len(), self.spill("scratch-wides"), self.budget),
            widths,
            bins,
        }
    }

    fn encode(&self, encoder: &Encoder<'_, 'l>) -> Result<(), LoadError> {
        let halt = Halt::default();
        let steps = encoder.chunks.len() as u64;
        let done = AtomicU64::new(0);
        workers::run(self.job.options.threads.max(1), &halt, || {
            encoder.run(&halt, |_| {
                let step = done.fetch_add(1, Ordering::Relaxed) + 1;
                self.advanced(Phase::Encode, (step, steps))
            })
        })?;
        let Some(existing) = &self.job.existing else {
            return Ok(());
        };
        let predicates = &self.parsed.existing_predicates;
        let (numbered, bin_of) = (encoder.numbered, encoder.bin_of);
        existing.feed_edges(predicates, numbered, bin_of, encoder.codes, encoder.edges)?;
        let mut vertices = encoder
            .predicates
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for &(number, entry) in predicates {
            let new = numbered.numbers[entry as usize];
            vertices[new.0 as usize] = existing.view.predicate_vertex(number);
        }
        let graphs = existing.view.named_graphs()?;
        encoder
            .graphs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(graphs);
        Ok(())
    }

    /// Writes both directions and the dictionary's indexes; the number of distinct quads.
    fn build(
        &self,
        builder: &Builder<'_, 'l>,
        indexes: &[IndexPairs<'l>; 3],
        numbering: &Numbering,
    ) -> Result<u64, LoadError> {
        let files = self.job.files;
        let steps = 2 * builder.rows.iter().sum::<u64>();
        let done = AtomicU64::new(0);
        let quads = AtomicU64::new(0);
        let direction = |direction| {
            let summary = builder.direction(direction, |rows| {
                let step = done.fetch_add(rows, Ordering::Relaxed) + rows;
                self.advanced(Phase::Build, (step, steps))
            })?;
            quads.store(summary.rows, Ordering::Relaxed);
            Ok(())
        };
        let index = |at: usize, kind, name| indexes[at].write(numbering.end(kind), name, files);
        workers::for_each(self.job.options.threads.max(1), 5, |task| match task {
            0 => direction(Direction::Out),
            1 => direction(Direction::In),
            2 => index(0, TermKind::Iri, names::IRI_INDEX),
            3 => index(1, TermKind::Literal, names::LITERAL_INDEX),
            _ => index(2, TermKind::Triple, names::TRIPLE_TERM_INDEX),
        })?;
        Ok(quads.into_inner())
    }

    fn advanced(&self, phase: Phase, steps: (u64, u64)) -> Result<(), LoadError> {
        let read_bytes = self.parsed.read_bytes;
        self.job.watch.progress.advanced(Advance {
            phase,
            read_bytes,
            total_bytes: Some(read_bytes),
            statements: self.parsed.results.statements,
            steps,
        });
        self.job.watch.check()
    }
}

/// The bin of each predicate; any where it has no edges.
fn bin_of(bins: &[Bin], predicates: usize) -> Vec<u32> {
    let mut bin_of = vec![0; predicates];
    for (number, bin) in bins.iter().enumerate() {
        let range = bin.predicates.start as usize..bin.predicates.end as usize;
        bin_of[range].fill(number as u32);
    }
    bin_of
}
