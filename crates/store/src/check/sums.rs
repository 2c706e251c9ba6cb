//! Sums of hashes: whether two readings of a store hold the same facts, in any order.
//!
//! Each fact is hashed to 128 bits and the hashes are added. Facts are: quads (along each
//! direction), "this vertex has this predicate" (from segments and from signatures), "this vertex
//! has this type" (from the type segment and from signatures), "this key has this predicate in this
//! graph" (from graph columns and from the graph index).

use super::Findings;
use crate::segment::graph_index::GraphIndex;
use crate::signature::sets::{SetRecord, Sets};
use crate::snapshot::Snapshot;
use crate::source::{Fault, inconsistent};
use rdf::{Direction, PredicateId, VertexId};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_128;

/// Vertices read at a time.
const BATCH: u64 = 4096;

/// A multiset of facts, by number and sum of hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    facts: u64,
    hashes: u128,
}

impl Sum {
    /// Adds the facts of another.
    pub(crate) fn add_all(&mut self, other: Sum) {
        self.facts += other.facts;
        self.hashes = self.hashes.wrapping_add(other.hashes);
    }

    /// Adds a fact.
    #[inline]
    pub(crate) fn add(&mut self, fact: &[u64]) {
        self.facts += 1;
        self.hashes = self
            .hashes
            .wrapping_add(xxh3_128(bytemuck::cast_slice(fact)));
    }
}

/// What one direction says.
#[derive(Clone, Debug, Default)]
pub(crate) struct DirectionSums {
    /// Quads by predicate.
    pub quads: BTreeMap<PredicateId, Sum>,
    /// (vertex, predicate) by segments.
    pub predicates: Sum,
    /// (vertex, type) by the type segment.
    pub types: Sum,
    /// (graph, predicate, key) by graph columns.
    pub graph_keys: Sum,
    /// (vertex, predicate) by signatures; `None` where some set is unknown.
    pub signature_predicates: Option<Sum>,
    /// (vertex, type) by signatures, where they name types.
    pub signature_types: Option<Sum>,
    /// (graph, predicate, key) by the graph index.
    pub index_keys: Option<Sum>,
}

/// What both directions say.
#[derive(Default)]
pub(crate) struct Sums {
    pub out: DirectionSums,
    pub into: DirectionSums,
}

impl Sums {
    /// One direction's.
    pub(crate) fn side(&mut self, direction: Direction) -> &mut DirectionSums {
        match direction {
            Direction::Out => &mut self.out,
            Direction::In => &mut self.into,
        }
    }

    /// Names what does not agree. The directions of a part of a graph (`is_part`) hold edges of their own.
    pub(crate) fn compare(&self, is_part: bool, findings: &mut Findings) {
        let predicates = self.out.quads.keys().chain(self.into.quads.keys());
        let predicates = predicates.filter(|_| !is_part);
        for predicate in predicates.collect::<std::collections::BTreeSet<_>>() {
            if self.out.quads.get(predicate) != self.into.quads.get(predicate) {
                let place = format!("predicate {}", predicate.0);
                findings.add("segments", place, "the two directions hold different quads");
            }
        }
        for (name, sums) in [("out", &self.out), ("in", &self.into)] {
            let mut expect = |file: &str, found: Option<Sum>, wanted: Sum, what: &str| {
                if found.is_some_and(|found| found != wanted) {
                    findings.add(&format!("{file}-{name}.bin"), "all", what);
                }
            };
            let what = "signatures do not name the predicates that vertices have";
            expect("sets", sums.signature_predicates, sums.predicates, what);
            let what = "signatures do not name the types that vertices have";
            expect("sets", sums.signature_types, sums.types, what);
            let what = "the graph index does not name the keys that graphs have";
            expect("graph-index", sums.index_keys, sums.graph_keys, what);
        }
    }
}

/// Reads the signatures of both directions.
pub(crate) fn check_signatures(snapshot: &Snapshot, sums: &mut Sums, findings: &mut Findings) {
    for direction in [Direction::Out, Direction::In] {
        let place = format!("signatures {direction:?}").to_lowercase();
        if let Err(fault) = read_signatures(snapshot, direction, sums.side(direction)) {
            findings.add_view(&place, &fault);
        }
    }
}

fn read_signatures(
    snapshot: &Snapshot,
    direction: Direction,
    sums: &mut DirectionSums,
) -> Result<(), Fault> {
    let side = snapshot.side(direction);
    let table = Sets::open(&side.sets)?;
    let mut vertices_of = vec![0u64; table.count() as usize];
    let (mut predicates, mut types) = (Some(Sum::default()), Sum::default());
    if let Some(signatures) = side.segment(PredicateId::SIGNATURE)? {
        let index = signatures.index()?;
        index.verify(|_| ())?;
        let (mut record, mut vertices) = (SetRecord::default(), Vec::new());
        for from in (0..index.keys()).step_by(BATCH as usize) {
            vertices.clear();
            index.decode(from, from + BATCH, &mut vertices)?;
            for (ordinal, vertex) in (from..).zip(&vertices) {
                let set = signatures.signature_value(ordinal)?;
                table.read(set, &mut record)?;
                if let Some(count) = vertices_of.get_mut(set as usize) {
                    *count += 1;
                }
                add_signature(*vertex, &record, &mut predicates, &mut types);
            }
        }
    }
    let mut number = 0;
    let mut wrong = false;
    table.each(|record| {
        wrong |= vertices_of.get(number) != Some(&record.vertices);
        number += 1;
    })?;
    if wrong {
        return Err(inconsistent(
            &side.sets,
            "a set has another number of vertices",
        ));
    }
    sums.signature_predicates = predicates;
    // In sets name the types of objects only, which is a part of all.
    let names_types = direction == Direction::Out && predicates.is_some() && table.have_types();
    sums.signature_types = names_types.then_some(types);
    Ok(())
}

fn add_signature(
    vertex: VertexId,
    record: &SetRecord,
    predicates: &mut Option<Sum>,
    types: &mut Sum,
) {
    if record.is_unknown {
        *predicates = None;
    }
    if let Some(sum) = predicates {
        record
            .predicates
            .iter()
            .for_each(|predicate| sum.add(&[vertex.bits(), predicate.0.into()]));
    }
    record
        .types
        .iter()
        .for_each(|class| types.add(&[vertex.bits(), class.bits()]));
}

/// Reads the graph index of both directions.
pub(crate) fn check_graph_index(snapshot: &Snapshot, sums: &mut Sums, findings: &mut Findings) {
    for direction in [Direction::Out, Direction::In] {
        match read_graph_index(snapshot, direction) {
            Ok(sum) => sums.side(direction).index_keys = Some(sum),
            Err(fault) => findings.add_view("graph index", &fault),
        }
    }
}

fn read_graph_index(snapshot: &Snapshot, direction: Direction) -> Result<Sum, Fault> {
    let region = &snapshot.side(direction).graph_index;
    let index = GraphIndex::open(region)?;
    let graphs = snapshot.graphs()?;
    if index.graphs() != graphs.count() {
        return Err(inconsistent(
            region,
            "another number of graphs than the table of graphs has",
        ));
    }
    let mut sum = Sum::default();
    let mut keys = Vec::new();
    for (code, graph) in (0..).zip(graphs.all()) {
        let mut runs = Vec::new();
        index.runs(code, |run| runs.push(run))?;
        for run in runs {
            keys.clear();
            run.decode(region, &mut keys)?;
            if !keys.is_sorted_by(|a, b| a < b) {
                return Err(inconsistent(region, "keys of a graph do not ascend"));
            }
            let predicate = u64::from(run.predicate.0);
            for key in &keys {
                sum.add(&[graph.bits(), predicate, key.bits()]);
            }
        }
    }
    Ok(sum)
}
