//! From chunks in local numbers to edges in final ids, and to the dictionary.
//!
//! Chunks are taken in order, each by one thread. Their terms get final ordinals (see
//! [`resolve`](super::resolve)), codes of which the statements' edges are made and spread over bins
//! (see [`edges`](super::edges)); terms that appear for the first time go to the dictionary.
//!
//! Invariant: what comes out does not depend on which thread took which chunk: bins are sorted
//! later, dictionary keys are put in order by [`InOrder`].
//!
//! Cost: a few table reads a statement; everything else is per distinct term of a chunk.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Encoder::turn` | workers that take the next chunk, with its lock | the same |
//! | `graphs`, `predicates` | workers, once a chunk, with the lock | whoever ends the phase |

use super::buckets::{Buckets, Spreader};
use super::chunk::{Chunk, Chunks, LocalTerm, ORDINAL_KINDS, TermKind};
use super::codes::Codes;
use super::dictionary::{InOrder, IndexPairs, IndexSpreader, KeyFiles, NewTerms};
use super::edges::{Bin, CodedEdge, EdgeRecord, Pair, Quad, Wide};
use super::error::LoadError;
use super::predicates::Numbered;
use super::resolve::{Groups, Numbering, Repetition, sorted_group};
use super::workers::Halt;
use rdf::VertexId;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Edges by bin; a bin uses one of the three.
pub struct EdgeBins<'l> {
    /// The bins, ascending.
    pub bins: Vec<Bin>,
    /// Bins of one predicate without named graphs.
    pub pairs: Buckets<'l, Pair>,
    /// Other bins in codes of 4 bytes.
    pub quads: Buckets<'l, Quad>,
    /// Bins in ids.
    pub wides: Buckets<'l, Wide>,
    /// Which of the three a bin uses.
    pub widths: Vec<Width>,
}

impl EdgeBins<'_> {
    /// Number of edges in all bins, repetitions included.
    pub fn records(&self) -> u64 {
        let of = |bin| self.pairs.records(bin) + self.quads.records(bin) + self.wides.records(bin);
        (0..self.bins.len()).map(|bin| of(bin) as u64).sum()
    }
}

/// How the edges of a bin are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// [`Pair`].
    Pair,
    /// [`Quad`].
    Quad,
    /// [`Wide`].
    Wide,
}

/// Everything that encoding reads and fills; see the module's documentation.
pub struct Encoder<'e, 'l> {
    /// Parsed chunks, each taken once.
    pub chunks: &'e Chunks<'l>,
    /// Final ordinals.
    pub numbering: &'e Numbering,
    /// Repetitions of terms by group of chunks.
    pub repetitions: &'e Buckets<'l, Repetition>,
    /// The groups.
    pub groups: Groups,
    /// Codes of final ids.
    pub codes: &'e Codes,
    /// Numbers of predicates.
    pub numbered: &'e Numbered,
    /// Bin of each predicate.
    pub bin_of: &'e [u32],
    /// Where edges go.
    pub edges: &'e EdgeBins<'l>,
    /// Where keys go.
    pub keys: &'e InOrder<NewTerms, KeyFiles>,
    /// Where (hash, ordinal) pairs go: IRIs, literals, triple terms.
    pub indexes: &'e [IndexPairs<'l>; 3],
    /// The next chunk and the repetitions of its group.
    pub turn: Mutex<Turn>,
    /// Named graphs that hold an edge.
    pub graphs: Mutex<BTreeSet<VertexId>>,
    /// Predicates as vertices, by number.
    pub predicates: Mutex<Vec<VertexId>>,
}

/// Which chunk is next.
#[derive(Default)]
pub struct Turn {
    next: usize,
    group: Option<(usize, Arc<Vec<Repetition>>)>,
}

/// A chunk's number and the repetitions of its group.
type NextChunk = (usize, Arc<Vec<Repetition>>);

/// A statement's predicate, as far as edges are concerned.
#[derive(Clone, Copy)]
struct Target {
    predicate: u32,
    bin: u32,
    width: Width,
}

/// The codes of a chunk's terms, kind after kind.
#[derive(Default)]
struct TermCodes {
    codes: Vec<u64>,
    bases: [usize; TermKind::ALL.len()],
}

impl TermCodes {
    #[inline]
    fn of(&self, term: LocalTerm) -> u64 {
        self.codes[self.bases[term.kind() as usize] + term.number() as usize]
    }
}

/// One thread's ways into all buckets.
struct Ways<'b, 'l> {
    pairs: Spreader<'b, 'l, Pair>,
    quads: Spreader<'b, 'l, Quad>,
    wides: Spreader<'b, 'l, Wide>,
    indexes: [IndexSpreader<'b, 'l>; 3],
}

impl<'l> Encoder<'_, 'l> {
    /// Encodes chunks until none is left or `halt` is set; `done` is told after each.
    pub fn run<F>(&self, halt: &Halt, done: F) -> Result<(), LoadError>
    where
        F: Fn(usize) -> Result<(), LoadError>,
    {
        let mut ways = Ways {
            pairs: Spreader::new(&self.edges.pairs),
            quads: Spreader::new(&self.edges.quads),
            wides: Spreader::new(&self.edges.wides),
            indexes: self.indexes.each_ref().map(IndexPairs::spreader),
        };
        let mut codes = TermCodes::default();
        while !halt.is_set() {
            let Some((number, repetitions)) = self.next_chunk()? else {
                break;
            };
            let chunk = self.chunks.take(number)?;
            let terms = self.number_terms(number, &chunk, &repetitions, &mut codes, &mut ways)?;
            self.push_edges(&chunk, &codes, &mut ways)?;
            drop(chunk.statements);
            let terms = NewTerms {
                iris: chunk.iris,
                literals: chunk.literals,
                ..terms
            };
            self.keys
                .submit(number, terms, |files, terms| files.push(&terms))?;
            done(number)?;
        }
        let Ways {
            pairs,
            quads,
            wides,
            indexes,
        } = ways;
        pairs.finish()?;
        quads.finish()?;
        wides.finish()?;
        indexes.into_iter().try_for_each(IndexSpreader::finish)
    }

    fn next_chunk(&self) -> Result<Option<NextChunk>, LoadError> {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let number = turn.next;
        if number >= self.chunks.len() {
            return Ok(None);
        }
        turn.next += 1;
        let group = self.groups.of(number as u32);
        if turn.group.as_ref().is_none_or(|(open, _)| *open != group) {
            turn.group = Some((group, Arc::new(sorted_group(self.repetitions, group)?)));
        }
        let repetitions = turn
            .group
            .as_ref()
            .map(|(_, repetitions)| Arc::clone(repetitions));
        Ok(repetitions.map(|repetitions| (number, repetitions)))
    }

    /// Fills `codes` for all terms of the chunk and enters new terms into the indexes. Gives what
    /// is new but for the keys themselves.
    fn number_terms(
        &self,
        number: usize,
        chunk: &Chunk,
        repetitions: &[Repetition],
        codes: &mut TermCodes,
        ways: &mut Ways<'_, 'l>,
    ) -> Result<NewTerms, LoadError> {
        codes.codes.clear();
        let mut terms = NewTerms::default();
        let mut ordinals = Vec::new();
        for (at, kind) in TermKind::ORDINAL.into_iter().enumerate() {
            ordinals.clear();
            self.numbering
                .ordinals(kind, number as u32, repetitions, |ordinal, new| {
                    ordinals.push((ordinal, new));
                });
            assert_eq!(
                ordinals.len(),
                chunk.counts[at] as usize,
                "an ordinal for each term of the chunk"
            );
            let tag = kind.tag().expect("kinds with ordinals have a tag");
            codes.bases[at] = codes.codes.len();
            codes.codes.extend(
                ordinals
                    .iter()
                    .map(|&(ordinal, _)| self.codes.code(VertexId::new(tag, ordinal))),
            );
            match kind {
                TermKind::Iri => {
                    terms.new_iris = enter(&mut ways.indexes[0], chunk.iris.iter(), &ordinals)?;
                }
                TermKind::Literal => {
                    terms.new_literals =
                        enter(&mut ways.indexes[1], chunk.literals.iter(), &ordinals)?;
                }
                TermKind::Blank | TermKind::Triple | TermKind::Inline => {}
            }
        }
        codes.bases[ORDINAL_KINDS] = codes.codes.len();
        codes.codes.extend(
            chunk
                .inline
                .iter()
                .map(|&bits| self.codes.code(VertexId::from_bits(bits))),
        );
        // What is left in `ordinals` are the triple terms'; their components all have codes now.
        assert_eq!(
            ordinals.len(),
            chunk.triples.len(),
            "triple terms are the last kind with ordinals"
        );
        for (components, &(ordinal, new)) in chunk.triples.iter().zip(&ordinals) {
            if new {
                let triple = components.map(|term| self.codes.id(codes.of(term)));
                ways.indexes[2].push_triple(triple, ordinal)?;
                terms.triples.push(triple);
            }
        }
        Ok(terms)
    }

    fn push_edges(
        &self,
        chunk: &Chunk,
        codes: &TermCodes,
        ways: &mut Ways<'_, 'l>,
    ) -> Result<(), LoadError> {
        let targets: Vec<Target> = chunk
            .predicates
            .iter()
            .map(|&(term, entry)| self.target(self.codes.id(codes.of(term)), entry))
            .collect();
        if !chunk.graphs.is_empty() {
            self.note_graphs(chunk, codes);
        }
        let default_graph = self.codes.default_graph();
        let mut graphs = chunk.graphs.iter();
        for statement in &chunk.statements {
            let Target {
                predicate,
                bin,
                width,
            } = targets[statement.predicate as usize];
            let graph = match graphs.next() {
                None | Some(&LocalTerm::NONE) => default_graph,
                Some(&graph) => codes.of(graph),
            };
            let key = codes.of(statement.subject);
            let neighbour = codes.of(statement.object);
            let edge = CodedEdge {
                predicate,
                key,
                neighbour,
                graph,
            };
            match width {
                Width::Pair => ways.pairs.push(bin as usize, Pair::pack(edge))?,
                Width::Quad => ways.quads.push(bin as usize, Quad::pack(edge))?,
                Width::Wide => ways.wides.push(bin as usize, Wide::pack(edge))?,
            }
        }
        Ok(())
    }

    fn target(&self, vertex: VertexId, entry: u32) -> Target {
        let predicate = self.numbered.numbers[entry as usize].0;
        let mut predicates = self
            .predicates
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        predicates[predicate as usize] = vertex;
        let bin = self.bin_of[predicate as usize];
        Target {
            predicate,
            bin,
            width: self.edges.widths[bin as usize],
        }
    }

    fn note_graphs(&self, chunk: &Chunk, codes: &TermCodes) {
        let mut local: Vec<LocalTerm> = chunk.graphs.clone();
        local.dedup();
        let mut found: Vec<VertexId> = local
            .into_iter()
            .filter(|&graph| graph != LocalTerm::NONE)
            .map(|graph| self.codes.id(codes.of(graph)))
            .collect();
        found.sort_unstable();
        found.dedup();
        self.graphs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(found);
    }
}

/// Enters the new ones among `keys` into an index; which are new.
fn enter<'k>(
    index: &mut IndexSpreader<'_, '_>,
    keys: impl Iterator<Item = &'k [u8]>,
    ordinals: &[(u64, bool)],
) -> Result<Vec<bool>, LoadError> {
    for (key, &(ordinal, new)) in keys.zip(ordinals) {
        if new {
            index.push(key, ordinal)?;
        }
    }
    Ok(ordinals.iter().map(|&(_, new)| new).collect())
}
