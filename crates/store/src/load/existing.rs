//! Loading into a store that holds something: it is fed first, as if it were the first source.
//!
//! Its terms become chunks without statements, kind by kind in order of ordinals, so that they keep
//! their ids, and cut by their bytes as any chunk is, so that the memory limit holds for long terms; its edges are read from the segments and spread among the new ones. Everything after
//! is as in any load, so a store loaded in two steps answers as one loaded at once, up to the
//! labels of blank nodes.
//!
//! Cost: reading and writing the whole store again. Incremental change is not a matter of bulk
//! load.

use super::buckets::{Buckets, Spreader};
use super::chunk::TermKind;
use super::codes::{Codes, Ranges};
use super::edges::{CodedEdge, EdgeRecord, Pair, Quad, Wide};
use super::encode::{EdgeBins, Width};
use super::error::LoadError;
use super::ingest::Ingest;
use super::parse::{ChunkParser, Scope};
use super::predicates::{Numbered, Predicates};
use super::workers::{self, Halt};
use crate::lists::{ListCursor, Lists};
use crate::prefixes::Prefixes;
use crate::view::{GraphScope, GraphView, SegmentKey};
use oxrdf::TermRef;
use rdf::dictionary::{Dictionary, TermCounts};
use rdf::{Direction, Lexicon, PredicateId, Tag, TermBuffer, VertexId};
use std::sync::{Mutex, PoisonError};

/// The most terms of a chunk.
const BATCH_TERMS: usize = 1 << 15;
/// Terms decoded at a time: what is held beyond a chunk's bytes, should they be long.
const STEP_TERMS: u64 = 64;
/// Keys looked up at a time.
const BATCH_KEYS: u64 = 1 << 12;
/// Rows taken from lists at a time.
const BATCH_ROWS: usize = 1 << 14;

/// What a store holds before a load.
#[derive(Clone, Copy)]
pub struct Existing<'x> {
    /// Its graph.
    pub view: &'x dyn GraphView,
    /// Its terms.
    pub dictionary: &'x Dictionary,
    /// Prefixes of what was loaded into it.
    pub prefixes: &'x Prefixes,
}

/// How far the terms have been handed out.
#[derive(Default)]
struct Feed {
    /// Index in [`TermKind::ORDINAL`], and the next ordinal of that kind.
    kind: usize,
    next: u64,
    /// Number of the next chunk.
    chunk: u32,
}

impl Existing<'_> {
    /// Keeps all terms, in chunks numbered from 0 of about `chunk_bytes`, and gives the number of
    /// chunks.
    pub fn feed_terms(
        &self,
        ingest: &Ingest<'_, '_>,
        chunk_bytes: usize,
    ) -> Result<u32, LoadError> {
        let feed = Mutex::new(Feed::default());
        let halt = Halt::default();
        workers::run(ingest.threads, &halt, || {
            let mut parser = ChunkParser::new(ingest.seed);
            let mut hashes = Spreader::new(ingest.hashes);
            let (mut terms, mut ends) = (TermBuffer::new(), Vec::new());
            while !halt.is_set() {
                let first = {
                    let mut feed = feed.lock().unwrap_or_else(PoisonError::into_inner);
                    self.next_terms(&mut feed, chunk_bytes, &mut terms, &mut ends)?
                };
                let mut from = 0;
                for (chunk, &end) in (first..).zip(&ends) {
                    parser.begin();
                    for term in (from..end).filter_map(|at| terms.get(at)) {
                        parser.term(term);
                    }
                    ingest.keep(chunk, Scope(0), 0, &mut parser, &mut hashes)?;
                    from = end;
                }
                if ends.is_empty() {
                    break;
                }
            }
            hashes.finish()
        })?;
        let feed = feed.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(feed.chunk)
    }

    /// The next terms of one kind, about `chunk_bytes`; where each chunk of them ends, one unless
    /// terms are long; none at the end. Gives the number of the first chunk.
    fn next_terms(
        &self,
        feed: &mut Feed,
        chunk_bytes: usize,
        terms: &mut TermBuffer,
        ends: &mut Vec<usize>,
    ) -> Result<u32, LoadError> {
        terms.clear();
        ends.clear();
        let TermCounts {
            iris,
            blank_nodes,
            literals,
            triple_terms,
        } = self.dictionary.counts();
        let counts = [iris, blank_nodes, literals, triple_terms];
        while counts
            .get(feed.kind)
            .is_some_and(|&count| feed.next >= count)
        {
            feed.kind += 1;
            feed.next = 0;
        }
        let Some(tag) = TermKind::ORDINAL.get(feed.kind).and_then(|kind| kind.tag()) else {
            return Ok(feed.chunk);
        };
        let (mut bytes, mut ids) = (0, Vec::new());
        while bytes < chunk_bytes && terms.len() < BATCH_TERMS && feed.next < counts[feed.kind] {
            let to = (feed.next + STEP_TERMS).min(counts[feed.kind]);
            ids.clear();
            ids.extend((feed.next..to).map(|ordinal| VertexId::new(tag, ordinal)));
            let before = terms.len();
            self.dictionary.terms(&ids, terms)?;
            assert_eq!(terms.len(), before + ids.len(), "a cell for each id");
            feed.next = to;
            for at in before..terms.len() {
                bytes += terms.get(at).map_or(0, term_bytes);
                if bytes >= chunk_bytes {
                    ends.push(at + 1);
                    bytes = 0;
                }
            }
            if !ends.is_empty() {
                break;
            }
        }
        if ends.last() != Some(&terms.len()) {
            ends.push(terms.len());
        }
        let first = feed.chunk;
        feed.chunk += ends.len() as u32;
        Ok(first)
    }

    /// Enters the predicates, in order of their numbers, and gives the entry of each in that order,
    /// and the number of all edges. Widens `ranges` by the inline values that stand as objects.
    pub fn feed_predicates(
        &self,
        predicates: &Predicates,
        ranges: &mut Ranges,
    ) -> Result<(Vec<(PredicateId, u32)>, u64), LoadError> {
        let numbers = self.view.predicates();
        let vertices: Vec<VertexId> = numbers
            .iter()
            .map(|&number| self.view.predicate_vertex(number))
            .collect();
        let mut names = TermBuffer::new();
        self.dictionary.terms(&vertices, &mut names)?;
        let mut rows = Vec::new();
        for &number in &numbers {
            rows.push(self.rows(number)?);
            self.each_key(
                SegmentKey {
                    predicate: number,
                    direction: Direction::In,
                },
                |keys| {
                    keys.iter()
                        .filter(|id| is_inline(**id))
                        .for_each(|&id| ranges.observe(id));
                    Ok(())
                },
            )?;
        }
        let iris = names.iter().map(|name| match name {
            Some(TermRef::NamedNode(iri)) => iri.as_str().as_bytes(),
            _ => &[],
        });
        let quads = rows.iter().sum();
        let entries = predicates.enter(0, iris.zip(rows));
        assert_eq!(entries.len(), numbers.len(), "each predicate was entered");
        Ok((numbers.into_iter().zip(entries).collect(), quads))
    }

    /// Spreads all edges over the bins.
    pub fn feed_edges(
        &self,
        predicates: &[(PredicateId, u32)],
        numbered: &Numbered,
        bin_of: &[u32],
        codes: &Codes,
        edges: &EdgeBins<'_>,
    ) -> Result<(), LoadError> {
        for &(number, entry) in predicates {
            let predicate = numbered.numbers[entry as usize].0;
            let bin = bin_of[predicate as usize] as usize;
            match edges.widths[bin] {
                Width::Pair => self.spread::<Pair>(number, predicate, bin, codes, &edges.pairs)?,
                Width::Quad => self.spread::<Quad>(number, predicate, bin, codes, &edges.quads)?,
                Width::Wide => self.spread::<Wide>(number, predicate, bin, codes, &edges.wides)?,
            }
        }
        Ok(())
    }

    fn spread<R: EdgeRecord>(
        &self,
        number: PredicateId,
        predicate: u32,
        bin: usize,
        codes: &Codes,
        buckets: &Buckets<'_, R>,
    ) -> Result<(), LoadError> {
        let mut spreader = Spreader::new(buckets);
        self.each_edge(number, |key, neighbour, graph| {
            let [key, neighbour] = [key, neighbour].map(|id| codes.code(id));
            let graph = if graph.is_unbound() {
                codes.default_graph()
            } else {
                codes.code(graph)
            };
            spreader.push(
                bin,
                R::pack(CodedEdge {
                    predicate,
                    key,
                    neighbour,
                    graph,
                }),
            )
        })?;
        spreader.finish()
    }

    /// Number of edges of a predicate, over all graphs.
    fn rows(&self, predicate: PredicateId) -> Result<u64, LoadError> {
        let segment = SegmentKey {
            predicate,
            direction: Direction::Out,
        };
        let mut rows = 0;
        let mut lists = Lists::new();
        self.each_key(segment, |keys| {
            let _ = self
                .view
                .lists(segment, keys, GraphScope::Default, &mut lists)?;
            rows += lists.total_edges();
            Ok(())
        })?;
        Ok(rows)
    }

    fn each_edge<F>(&self, predicate: PredicateId, mut give: F) -> Result<(), LoadError>
    where
        F: FnMut(VertexId, VertexId, VertexId) -> Result<(), LoadError>,
    {
        let segment = SegmentKey {
            predicate,
            direction: Direction::Out,
        };
        let mut lists = Lists::new();
        let (mut rows, mut neighbours, mut graphs) = (Vec::new(), Vec::new(), Vec::new());
        self.each_key(segment, |keys| {
            for scope in [GraphScope::Default, GraphScope::EachNamed] {
                let _ = self.view.lists(segment, keys, scope, &mut lists)?;
                let mut cursor = ListCursor::default();
                let mut is_complete = false;
                while !is_complete {
                    rows.clear();
                    neighbours.clear();
                    graphs.clear();
                    let bound = scope.binds_graph().then_some(&mut graphs);
                    is_complete =
                        lists.expand(&mut cursor, BATCH_ROWS, &mut rows, &mut neighbours, bound)?;
                    for (at, (&row, &neighbour)) in rows.iter().zip(&neighbours).enumerate() {
                        let graph = graphs.get(at).copied().unwrap_or(GraphScope::DEFAULT_GRAPH);
                        give(keys[row as usize], neighbour, graph)?;
                    }
                }
            }
            Ok(())
        })
    }

    fn each_key<F>(&self, segment: SegmentKey, mut give: F) -> Result<(), LoadError>
    where
        F: FnMut(&[VertexId]) -> Result<(), LoadError>,
    {
        let all = self.view.keys(segment)?;
        let mut keys = Vec::new();
        for from in (0..all.len()).step_by(BATCH_KEYS as usize) {
            keys.clear();
            all.decode(from, (from + BATCH_KEYS).min(all.len()), &mut keys)?;
            give(&keys)?;
        }
        Ok(())
    }
}

fn is_inline(id: VertexId) -> bool {
    id.tag().is_some_and(Tag::is_inline)
}

/// About the bytes of a term's text, what it is made of included.
fn term_bytes(term: TermRef<'_>) -> usize {
    match term {
        TermRef::NamedNode(iri) => iri.as_str().len(),
        TermRef::BlankNode(blank) => blank.as_str().len(),
        TermRef::Literal(literal) => literal.value().len() + literal.datatype().as_str().len(),
        TermRef::Triple(triple) => {
            let subject = term_bytes(triple.subject.as_ref().into());
            subject + triple.predicate.as_str().len() + term_bytes(triple.object.as_ref())
        }
    }
}
