//! One pass over every segment of both directions: order, ordinals, offsets, lists, ids; and the
//! sums that are compared afterwards.

use super::sums::{DirectionSums, Sum, Sums};
use super::{Findings, IdLimits};
use crate::cut::part_of::PartOf;
use crate::format::{DEFAULT_GRAPH_CODE, HEADER_BYTES, SegmentDescriptor};
use crate::lists::NamedGraphs;
use crate::segment::index::Index;
use crate::segment::reader::Segment;
use crate::snapshot::Snapshot;
use crate::source::{Fault, inconsistent};
use crate::view::GraphScope;
use rdf::{Direction, PredicateId, VertexId};

/// Keys whose rows are read together.
const KEYS: u64 = 1024;

/// Checks every segment.
pub(crate) fn check_segments(
    snapshot: &Snapshot,
    limits: &IdLimits,
    sums: &mut Sums,
    findings: &mut Findings,
) {
    let named = match snapshot.graphs() {
        Ok(named) => named,
        Err(fault) => return findings.add_view("table of graphs", &fault),
    };
    if !named.all().is_sorted_by(|a, b| a < b) || !named.all().all(|graph| limits.admit(graph)) {
        findings.add(
            "graphs.bin",
            "all",
            "graphs do not ascend or are no known terms",
        );
    }
    for direction in [Direction::Out, Direction::In] {
        let table = &snapshot.side(direction).segments;
        let count =
            table.len().saturating_sub(HEADER_BYTES) / size_of::<SegmentDescriptor>() as u64;
        if count > snapshot.predicate_table().len() as u64 {
            findings.add(table.name(), "all", "more segments than predicates");
        }
        for number in PredicateId::TYPE.0..count as u32 {
            let check = CheckSegment {
                snapshot,
                limits,
                named,
                part: snapshot.part_of().map(|part| &**part),
                direction,
                predicate: PredicateId(number),
            };
            if let Err(fault) = check.run(sums.side(direction)) {
                findings.add_view(&check.place(), &fault);
            }
            if findings.is_full() {
                return;
            }
        }
    }
}

struct CheckSegment<'a> {
    snapshot: &'a Snapshot,
    limits: &'a IdLimits,
    named: NamedGraphs<'a>,
    part: Option<&'a PartOf>,
    direction: Direction,
    predicate: PredicateId,
}

/// The rows of one key.
#[derive(Default)]
struct KeyRows {
    neighbours: Vec<VertexId>,
    /// Graph codes; empty where all are in the default graph.
    graphs: Vec<u32>,
    scratch: Vec<u32>,
}

impl CheckSegment<'_> {
    fn place(&self) -> String {
        let direction = match self.direction {
            Direction::Out => "out",
            Direction::In => "in",
        };
        format!("segment of predicate {}, {direction}", self.predicate.0)
    }

    fn run(&self, sums: &mut DirectionSums) -> Result<(), Fault> {
        let side = self.snapshot.side(self.direction);
        let Some(segment) = side.segment(self.predicate)? else {
            return Ok(());
        };
        let vertex = self
            .snapshot
            .predicate_table()
            .get(self.predicate.0 as usize);
        if !vertex.is_some_and(|&vertex| self.limits.admit(vertex)) {
            return Err(inconsistent(
                &side.segments,
                "a predicate that is no known term has edges",
            ));
        }
        let index = segment.index()?;
        let mut unknown = false;
        index.verify(|key| unknown |= !self.limits.admit(key))?;
        if unknown {
            return Err(inconsistent(&side.keys, "a key is not in the dictionary"));
        }
        self.check_rows(&segment, &index, sums)
    }

    fn check_rows(
        &self,
        segment: &Segment<'_>,
        index: &Index<'_>,
        sums: &mut DirectionSums,
    ) -> Result<(), Fault> {
        let side = segment.side;
        let mut quads = Sum::default();
        let mut keys = Vec::new();
        let mut rows = KeyRows::default();
        let mut lists = segment.dense_lists()?.iter().peekable();
        let mut next = 0;
        for from in (0..index.keys()).step_by(KEYS as usize) {
            keys.clear();
            index.decode(from, from + KEYS, &mut keys)?;
            for (ordinal, &key) in (from..).zip(&keys) {
                let range = segment.rows_of_ordinal(ordinal)?;
                if range.start != next || range.is_empty() {
                    return Err(inconsistent(
                        &side.offsets,
                        "rows of keys do not follow one another",
                    ));
                }
                next = range.end;
                rows.read(segment, range)?;
                self.check_key(segment, key, &mut rows, sums, &mut quads)?;
                if let Some(list) = lists.next_if(|list| list.ordinal == ordinal) {
                    Self::check_list(segment, &segment.open_list(list)?, &mut rows)?;
                }
            }
        }
        if next != segment.descriptor.rows {
            return Err(inconsistent(
                &side.segments,
                "another number of rows than the keys have",
            ));
        }
        if lists.next().is_some() {
            return Err(inconsistent(
                &side.lists,
                "a list of no key, or lists that do not ascend",
            ));
        }
        sums.quads.insert(self.predicate, quads);
        Ok(())
    }

    fn check_key(
        &self,
        segment: &Segment<'_>,
        key: VertexId,
        rows: &mut KeyRows,
        sums: &mut DirectionSums,
        quads: &mut Sum,
    ) -> Result<(), Fault> {
        let side = segment.side;
        let predicate = u64::from(self.predicate.0);
        sums.predicates.add(&[key.bits(), predicate]);
        let mut last: Option<(VertexId, u32)> = None;
        for (place, &neighbour) in rows.neighbours.iter().enumerate() {
            let code = rows
                .graphs
                .get(place)
                .copied()
                .unwrap_or(DEFAULT_GRAPH_CODE);
            if last.is_some_and(|last| last >= (neighbour, code)) {
                return Err(inconsistent(
                    &side.neighbours,
                    "rows of a key do not ascend",
                ));
            }
            if !self.limits.admit(neighbour) {
                return Err(inconsistent(
                    &side.neighbours,
                    "a neighbour is not in the dictionary",
                ));
            }
            let is_type = self.predicate == PredicateId::TYPE;
            let is_held = |part: &PartOf| part.holds(self.direction, is_type, key, neighbour);
            if !self.part.is_none_or(is_held) {
                return Err(inconsistent(
                    &side.segments,
                    "an edge lies here that belongs into another part",
                ));
            }
            let is_same = last.is_some_and(|last| last.0 == neighbour);
            if self.direction == Direction::Out && is_type && !is_same {
                sums.types.add(&[key.bits(), neighbour.bits()]);
            }
            let graph = self.graph(code)?;
            let (subject, object) = match self.direction {
                Direction::Out => (key, neighbour),
                Direction::In => (neighbour, key),
            };
            quads.add(&[subject.bits(), object.bits(), graph.bits()]);
            last = Some((neighbour, code));
        }
        for code in rows.distinct_named() {
            let graph = self.named.vertex(*code)?;
            sums.graph_keys.add(&[graph.bits(), predicate, key.bits()]);
        }
        Ok(())
    }

    fn graph(&self, code: u32) -> Result<VertexId, Fault> {
        match code {
            DEFAULT_GRAPH_CODE => Ok(GraphScope::DEFAULT_GRAPH),
            code => self.named.vertex(code),
        }
    }

    fn check_list(
        segment: &Segment<'_>,
        list: &Index<'_>,
        rows: &mut KeyRows,
    ) -> Result<(), Fault> {
        let mut members = Vec::new();
        list.verify(|member| members.push(member))?;
        rows.neighbours.dedup();
        if members != rows.neighbours {
            return Err(inconsistent(
                &segment.side.lists,
                "a list's index is not the list",
            ));
        }
        Ok(())
    }
}

impl KeyRows {
    fn read(&mut self, segment: &Segment<'_>, range: std::ops::Range<u64>) -> Result<(), Fault> {
        self.neighbours.clear();
        self.graphs.clear();
        if let Some(column) = segment.graph_column() {
            self.graphs.extend_from_slice(column.codes(range.clone())?);
        }
        segment.column()?.decode(range, &mut self.neighbours)
    }

    /// The codes of the named graphs in which the key has a row.
    fn distinct_named(&mut self) -> &[u32] {
        self.scratch.clear();
        let named = self
            .graphs
            .iter()
            .filter(|&&code| code != DEFAULT_GRAPH_CODE);
        self.scratch.extend(named);
        self.scratch.sort_unstable();
        self.scratch.dedup();
        &self.scratch
    }
}
