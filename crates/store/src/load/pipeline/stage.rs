//! The phases of a load after parsing: resolve, encode, build.
//!
//! Each phase reads what the one before left and drops it, so that at any time the data of two
//! phases at most are held. Their order is a barrier: ordinals need all chunks, codes need all
//! ordinals, a segment needs all its edges.

use super::super::buckets::Buckets;
use super::super::budget::Budget;
use super::super::build::Builder;
use super::super::chunk::{Chunks, ORDINAL_KINDS, TermKind};
use super::super::codes::Codes;
use super::super::dictionary::{InOrder, IndexPairs, KeyFiles, names};
use super::super::edges::{Bin, bins};
use super::super::encode::{EdgeBins, Encoder, Turn, Width};
use super::super::error::LoadError;
use super::super::report::{Advance, LoadReport, Phase};
use super::super::resolve::{Groups, HashRecord, Numbering, Pieces, Repetition};
use super::super::scratch::Spill;
use super::super::workers::{self, Halt};
use super::job::{Job, Outcome, Parsed, Stopwatch};
use crate::segment::writer::write_tables;
use rdf::{Direction, Tag, VertexId};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Groups of chunks by which repetitions are kept.
const GROUPS_MAX: usize = 256;
/// Of the working memory, all threads sort in this share (one in ...).
const SORTING_SHARE: u64 = 2;
/// Directions, streams of keys, indexes.
const BUILD_TASKS: usize = 6;

/// Ordinals, and what was found on the way to them.
struct Numbers<'l> {
    numbering: Numbering,
    repetitions: Buckets<'l, Repetition>,
    groups: Groups,
}

/// What encoding leaves besides edges and pairs.
struct Encoded {
    predicates: Vec<VertexId>,
    graphs: BTreeSet<VertexId>,
    keys: KeyFiles,
}

/// The phases after parsing.
pub struct Stage<'e, 'l> {
    /// What is to be done.
    pub job: &'e Job<'l>,
    /// The accounts.
    pub budget: &'l Budget,
    /// What parsing left.
    pub parsed: &'e Parsed,
}

impl<'l> Stage<'_, 'l> {
    /// All of them, up to complete files.
    pub fn finish(
        &self,
        chunks: &Chunks<'l>,
        hashes: Buckets<'l, HashRecord>,
        stopwatch: &mut Stopwatch<'_>,
    ) -> Result<Outcome, LoadError> {
        let numbers = self.resolve(chunks.len(), &hashes)?;
        drop(hashes);
        stopwatch.end(Phase::Resolve);
        let numbering = &numbers.numbering;
        let codes = Codes::new(&self.parsed.results.all_ranges(|kind| numbering.end(kind)));
        let edges = self.edge_bins(&codes);
        let indexes = [
            (Tag::Iri, "scratch-iri-pairs"),
            (Tag::Literal, "scratch-literal-pairs"),
            (Tag::TripleTerm, "scratch-triple-pairs"),
        ]
        .map(|(tag, name)| IndexPairs::new(tag, self.spill(name), self.budget));
        let encoded = self.encode(chunks, &numbers, &codes, &edges, &indexes)?;
        stopwatch.end(Phase::Encode);
        let graphs: Arc<[VertexId]> = encoded.graphs.into_iter().collect();
        write_tables(self.job.files, &encoded.predicates, &graphs)?;
        self.parsed.prefixes.write(self.job.files)?;
        let builder = Builder {
            edges: &edges,
            codes: &codes,
            rows: &self.parsed.numbered.rows,
            graphs,
            files: self.job.files,
            scratch: self.job.scratch,
            budget: self.budget,
            piece_bytes: self.sorting_bytes(),
        };
        let quads = self.build(&builder, &indexes, numbering, encoded.keys)?;
        stopwatch.end(Phase::Build);
        Ok(self.outcome(numbering, quads))
    }

    /// Gives terms their ordinals.
    fn resolve(
        &self,
        chunks: usize,
        hashes: &Buckets<'l, HashRecord>,
    ) -> Result<Numbers<'l>, LoadError> {
        let counts = self.parsed.results.counts();
        assert_eq!(counts.len(), chunks, "every chunk was kept");
        let terms = counts.iter().flatten().map(|&count| u64::from(count));
        let hashed = (0..hashes.len()).map(|partition| hashes.records(partition) as u64);
        assert_eq!(
            hashed.sum::<u64>(),
            terms.sum::<u64>(),
            "each term of a chunk was hashed once"
        );
        let mut numbering = Numbering::new(&counts, [0; ORDINAL_KINDS]);
        let groups = Groups::new(chunks, GROUPS_MAX);
        let spill = self.spill("scratch-repetitions");
        let repetitions = Buckets::new(groups.count(chunks), spill, self.budget);
        let piece = self.sorting_bytes() / size_of::<HashRecord>() / 2;
        let pieces = Pieces {
            records: piece.max(1),
            scratch: self.job.scratch,
        };
        numbering.resolve(self.threads(), hashes, &repetitions, groups, pieces)?;
        Ok(Numbers {
            numbering,
            repetitions,
            groups,
        })
    }

    /// Encodes all chunks, and what the store holds already.
    fn encode(
        &self,
        chunks: &Chunks<'l>,
        numbers: &Numbers<'l>,
        codes: &Codes,
        edges: &EdgeBins<'l>,
        indexes: &[IndexPairs<'l>; 3],
    ) -> Result<Encoded, LoadError> {
        let numbered = &self.parsed.numbered;
        let keys = InOrder::new(KeyFiles::create(self.job.files)?);
        let bin_of = bin_of(&edges.bins, numbered.rows.len());
        let encoder = Encoder {
            chunks,
            numbering: &numbers.numbering,
            repetitions: &numbers.repetitions,
            groups: numbers.groups,
            codes,
            numbered,
            bin_of: &bin_of,
            edges,
            keys: &keys,
            indexes,
            turn: Mutex::new(Turn::default()),
            graphs: Mutex::default(),
            predicates: Mutex::new(vec![VertexId::UNBOUND; numbered.rows.len()]),
        };
        let halt = Halt::default();
        let steps = chunks.len() as u64;
        let done = AtomicU64::new(0);
        workers::run(self.threads(), &halt, || {
            encoder.run(&halt, |_| {
                let step = done.fetch_add(1, Ordering::Relaxed) + 1;
                self.advanced(Phase::Encode, (step, steps))
            })
        })?;
        assert_eq!(
            edges.records(),
            self.parsed.results.statements,
            "each statement became an edge of a bin"
        );
        let mut predicates = encoder
            .predicates
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut graphs = encoder
            .graphs
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(existing) = &self.job.existing {
            let before = &self.parsed.existing_predicates;
            existing.feed_edges(before, numbered, &bin_of, codes, edges)?;
            for &(number, entry) in before {
                let new = numbered.numbers[entry as usize];
                predicates[new.0 as usize] = existing.view.predicate_vertex(number);
            }
            graphs.extend(existing.view.named_graphs()?);
        }
        Ok(Encoded {
            predicates,
            graphs,
            keys: keys.finish(),
        })
    }

    /// Writes both directions and completes the dictionary; the number of distinct quads.
    fn build(
        &self,
        builder: &Builder<'_, 'l>,
        indexes: &[IndexPairs<'l>; 3],
        numbering: &Numbering,
        keys: KeyFiles,
    ) -> Result<u64, LoadError> {
        let files = self.job.files;
        let steps = 2 * builder.rows.iter().sum::<u64>();
        let done = AtomicU64::new(0);
        let quads = [Direction::Out, Direction::In].map(|_| AtomicU64::new(0));
        let direction = |direction| {
            let summary = builder.direction(direction, |rows| {
                let step = done.fetch_add(rows, Ordering::Relaxed) + rows;
                self.advanced(Phase::Build, (step, steps))
            })?;
            quads[direction as usize].store(summary.rows, Ordering::Relaxed);
            Ok(())
        };
        let index = |at: usize, kind, name| indexes[at].write(numbering.end(kind), name, files);
        let keys = Mutex::new(Some(keys));
        let finish_keys = || {
            let keys = keys.lock().unwrap_or_else(PoisonError::into_inner).take();
            let kinds = [TermKind::Iri, TermKind::Literal, TermKind::Triple];
            let counts = kinds.map(|kind| numbering.end(kind));
            keys.map_or(Ok(()), |keys| keys.finish(files, counts))
        };
        workers::for_each(self.threads(), BUILD_TASKS, |task| match task {
            0 => direction(Direction::Out),
            1 => direction(Direction::In),
            2 => finish_keys(),
            3 => index(0, TermKind::Iri, names::IRI_INDEX),
            4 => index(1, TermKind::Literal, names::LITERAL_INDEX),
            _ => index(2, TermKind::Triple, names::TRIPLE_TERM_INDEX),
        })?;
        let [out, into] = quads.map(AtomicU64::into_inner);
        assert_eq!(out, into, "both directions hold every quad");
        Ok(out)
    }

    fn outcome(&self, numbering: &Numbering, quads: u64) -> Outcome {
        let terms = TermKind::ORDINAL
            .iter()
            .map(|&kind| numbering.end(kind))
            .sum();
        let blank_nodes = numbering.end(TermKind::Blank);
        let quads_before = self.parsed.quads_before;
        let report = LoadReport {
            quads_before,
            quads,
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

    fn threads(&self) -> usize {
        self.job.options.threads.max(1)
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
