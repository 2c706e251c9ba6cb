//! Characteristic sets of a version: those of its graphs, and of the vertices that several of them share.
//!
//! ```text
//!  base     v: {name}         w: {name, knows}                of the version:  {name}        less one
//!  layer 1  v: {knows}                          x: {name}                      {name, knows} v, w
//!                                                                              {name}        x
//! ```
//!
//! Each graph has a set for each of its vertices. A vertex of one graph has that set in the version too;
//! one of several has the union of its sets. So only the vertices of layers are looked at: all graphs'
//! vertices ascend, so the layers' are merged as they stand and looked up in the base batch by batch.
//! Cost: about 50 ns for each vertex of a layer, two lookups in the base among them; flat memory but for
//! the distinct combinations of sets, which are bounded ([`COMBINATIONS_MAX`]).
//!
//! What layers took away is not taken from the sets, so each one says what a vertex has *at most*. That
//! keeps what sets are for: what no set covers no vertex has. Numbers of vertices are then too large by
//! as much as was taken away since the base was written.

use super::version::Version;
use crate::segment::index::{ABSENT, Index};
use crate::segment::reader::Segment;
use crate::signature::sets::Sets;
use crate::snapshot::Snapshot;
use crate::source::Fault;
use crate::statistics::{SetSize, SetSizes};
use rdf::{Direction, PredicateId, VertexId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

const DIRECTIONS: [Direction; 2] = [Direction::Out, Direction::In];
/// Vertices read, or looked up in the base, together.
const BATCH: usize = 1024;
/// Distinct combinations of sets of several graphs beyond which none are told.
const COMBINATIONS_MAX: usize = 1 << 16;

/// A vertex's set in one graph and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Appearance {
    graph: u32,
    /// 0 is out.
    side: u32,
    set: u32,
}

/// The sets of one graph in one direction.
struct Table {
    sets: Vec<SetSize>,
    /// By set, its vertices that no other graph has.
    alone: Vec<u64>,
}

/// The sets of a version, out and in. Where they are too many to be told, more than `sets_max` in a
/// direction, or not known, they are said to be incomplete, and none are given.
pub(crate) fn sets_of(version: &Version, sets_max: usize) -> Result<[SetSizes; 2], Fault> {
    let adding = version.layers.iter().filter_map(|layer| layer.adds());
    let graphs: Vec<&Snapshot> = std::iter::once(&*version.base).chain(adding).collect();
    let mut has_types = true;
    let mut tables = Vec::new();
    for graph in &graphs {
        for direction in DIRECTIONS {
            let Some((table, names_types)) = table(graph, direction, sets_max)? else {
                return Ok(Default::default());
            };
            has_types &= names_types || table.sets.is_empty();
            tables.push(table);
        }
    }
    let Some(combined) = combinations(&graphs, &mut tables)? else {
        return Ok(Default::default());
    };
    let told = [0, 1].map(|side| {
        let mut sums = Sums {
            has_types,
            vertices: BTreeMap::new(),
        };
        tables
            .iter()
            .skip(side)
            .step_by(2)
            .for_each(|table| sums.add_table(table));
        for (appearances, &vertices) in &combined {
            sums.add_combination(side as u32, appearances, vertices, &tables);
        }
        sums.finish(sets_max)
    });
    Ok(told)
}

/// The sets of one graph; whether they name types. `None` where they are not known or too many.
fn table(
    graph: &Snapshot,
    direction: Direction,
    sets_max: usize,
) -> Result<Option<(Table, bool)>, Fault> {
    let sets = Sets::open(&graph.side(direction).sets)?;
    if sets.count() > sets_max as u64 {
        return Ok(None);
    }
    let mut are_known = true;
    let mut told = Vec::new();
    sets.each(|record| {
        are_known &= !record.is_unknown;
        told.push(graph.set_size(record));
    })?;
    let alone = told.iter().map(|set: &SetSize| set.vertices).collect();
    let table = Table { sets: told, alone };
    Ok(are_known.then_some((table, sets.have_types())))
}

/// Reads the vertices of one graph and direction with their sets, ascending.
struct Cursor<'v> {
    graph: u32,
    side: u32,
    signatures: Segment<'v>,
    index: Index<'v>,
    keys: Vec<VertexId>,
    /// Of the first of `keys`, and how many of them are done.
    ordinal: u64,
    done: usize,
}

impl<'v> Cursor<'v> {
    fn open(graph: &'v Snapshot, number: u32, side: u32) -> Result<Option<Cursor<'v>>, Fault> {
        let side_of = graph.side(DIRECTIONS[side as usize]);
        let Some(signatures) = side_of.segment(PredicateId::SIGNATURE)? else {
            return Ok(None);
        };
        Ok(Some(Cursor {
            graph: number,
            side,
            index: signatures.index()?,
            signatures,
            keys: Vec::new(),
            ordinal: 0,
            done: 0,
        }))
    }

    /// The vertex that comes next, if there is one.
    fn next(&mut self) -> Result<Option<VertexId>, Fault> {
        if self.done == self.keys.len() {
            self.ordinal += self.done as u64;
            self.done = 0;
            self.keys.clear();
            let end = self.ordinal + BATCH as u64;
            self.index.decode(self.ordinal, end, &mut self.keys)?;
        }
        Ok(self.keys.get(self.done).copied())
    }

    /// The set of the vertex that comes next, which is passed.
    fn pass(&mut self) -> Result<Appearance, Fault> {
        let set = self
            .signatures
            .signature_value(self.ordinal + self.done as u64)?;
        self.done += 1;
        Ok(Appearance {
            graph: self.graph,
            side: self.side,
            set: set as u32,
        })
    }

    /// Puts the sets of these vertices behind what is known of each.
    fn look_up(&self, batch: &mut Batch, ordinals: &mut Vec<u64>) -> Result<(), Fault> {
        self.index.ordinals(&batch.vertices, ordinals)?;
        for (place, &ordinal) in ordinals.iter().enumerate() {
            if ordinal != ABSENT {
                let set = self.signatures.signature_value(ordinal)? as u32;
                let (graph, side) = (self.graph, self.side);
                batch
                    .found
                    .push((place as u32, Appearance { graph, side, set }));
            }
        }
        Ok(())
    }
}

/// Some vertices of layers, and where each of them was found.
#[derive(Default)]
struct Batch {
    vertices: Vec<VertexId>,
    /// By place in `vertices`.
    found: Vec<(u32, Appearance)>,
}

type Combinations = BTreeMap<Box<[Appearance]>, u64>;

/// Of the vertices that several graphs have, how many have which sets; takes them from those that are
/// counted for one graph alone. `None`: too many combinations.
fn combinations(graphs: &[&Snapshot], tables: &mut [Table]) -> Result<Option<Combinations>, Fault> {
    assert_eq!(
        tables.len(),
        DIRECTIONS.len() * graphs.len(),
        "a table for each graph and direction"
    );
    let mut cursors = Vec::new();
    let mut base = Vec::new();
    for (number, graph) in (0..).zip(graphs) {
        for side in [0, 1] {
            let cursor = Cursor::open(graph, number, side)?;
            let list = if number == 0 { &mut base } else { &mut cursors };
            list.extend(cursor);
        }
    }
    let mut next = BinaryHeap::new();
    for (place, cursor) in cursors.iter_mut().enumerate() {
        next.extend(cursor.next()?.map(|vertex| Reverse((vertex, place))));
    }
    let mut counts = HashMap::new();
    let (mut batch, mut ordinals) = (Batch::default(), Vec::new());
    while let Some(Reverse((vertex, place))) = next.pop() {
        if batch.vertices.last() != Some(&vertex) {
            if batch.vertices.len() == BATCH {
                base.iter()
                    .try_for_each(|cursor| cursor.look_up(&mut batch, &mut ordinals))?;
                count(&mut batch, tables, &mut counts);
                if counts.len() > COMBINATIONS_MAX {
                    return Ok(None);
                }
            }
            batch.vertices.push(vertex);
        }
        let cursor = &mut cursors[place];
        let appearance = cursor.pass()?;
        batch
            .found
            .push((batch.vertices.len() as u32 - 1, appearance));
        next.extend(cursor.next()?.map(|vertex| Reverse((vertex, place))));
    }
    base.iter()
        .try_for_each(|cursor| cursor.look_up(&mut batch, &mut ordinals))?;
    count(&mut batch, tables, &mut counts);
    Ok((counts.len() <= COMBINATIONS_MAX).then(|| counts.into_iter().collect()))
}

/// Counts the vertices of a batch that several graphs have, and empties it.
fn count(batch: &mut Batch, tables: &mut [Table], counts: &mut HashMap<Box<[Appearance]>, u64>) {
    batch.found.sort_unstable();
    let mut appearances = Vec::new();
    for found in batch.found.chunk_by(|one, other| one.0 == other.0) {
        if found.iter().all(|other| other.1.graph == found[0].1.graph) {
            continue;
        }
        appearances.clear();
        appearances.extend(found.iter().map(|&(_, appearance)| appearance));
        for appearance in &appearances {
            let table = &mut tables[table_of(appearance)];
            table.alone[appearance.set as usize] -= 1;
        }
        match counts.get_mut(&appearances[..]) {
            Some(count) => *count += 1,
            None => {
                counts.insert(appearances.as_slice().into(), 1);
            }
        }
    }
    batch.vertices.clear();
    batch.found.clear();
}

fn table_of(appearance: &Appearance) -> usize {
    (2 * appearance.graph + appearance.side) as usize
}

/// What a set is told by: its predicates and types, ascending.
type Name = (Vec<VertexId>, Vec<VertexId>);

/// Sets of one direction by what they are, with edges by predicate, and vertices.
struct Sums {
    has_types: bool,
    vertices: BTreeMap<Name, (Vec<u64>, u64)>,
}

impl Sums {
    /// Adds what the vertices of one graph alone have.
    fn add_table(&mut self, table: &Table) {
        for (set, &alone) in table.sets.iter().zip(&table.alone) {
            if alone > 0 {
                let edges = set.predicates.iter();
                let edges = edges.map(|&(name, edges)| (name, share(edges, alone, set.vertices)));
                self.add(&edges.collect(), set.types.iter().copied().collect(), alone);
            }
        }
    }

    /// Adds what so many vertices have that appear so.
    fn add_combination(
        &mut self,
        side: u32,
        appearances: &[Appearance],
        vertices: u64,
        tables: &[Table],
    ) {
        let mut predicates = BTreeMap::new();
        let mut types = BTreeSet::new();
        for appearance in appearances {
            let set = &tables[table_of(appearance)].sets[appearance.set as usize];
            // A vertex's types stand where its edges go out.
            if appearance.side == 0 {
                types.extend(set.types.iter().copied());
            }
            if appearance.side == side {
                for &(name, edges) in &set.predicates {
                    *predicates.entry(name).or_default() += share(edges, vertices, set.vertices);
                }
            }
        }
        if !predicates.is_empty() {
            self.add(&predicates, types, vertices);
        }
    }

    fn add(
        &mut self,
        predicates: &BTreeMap<VertexId, u64>,
        types: BTreeSet<VertexId>,
        vertices: u64,
    ) {
        let types = if self.has_types {
            types.into_iter().collect()
        } else {
            Vec::new()
        };
        let names = predicates.keys().copied().collect();
        let known = self.vertices.entry((names, types));
        let (edges, sum) = known.or_insert_with(|| (vec![0; predicates.len()], 0));
        for (edges, more) in edges.iter_mut().zip(predicates.values()) {
            *edges += more;
        }
        *sum += vertices;
    }

    fn finish(self, sets_max: usize) -> SetSizes {
        if self.vertices.len() > sets_max {
            return SetSizes::default();
        }
        let set = |((names, types), (edges, vertices)): (Name, (Vec<u64>, u64))| SetSize {
            predicates: names.into_iter().zip(edges).collect(),
            types,
            vertices,
        };
        SetSizes {
            sets: self.vertices.into_iter().map(set).collect(),
            is_complete: true,
            has_types: self.has_types,
        }
    }
}

/// The edges of some of a set's vertices, at least one of each.
fn share(edges: u64, of: u64, vertices: u64) -> u64 {
    let share = u128::from(edges) * u128::from(of) / u128::from(vertices.max(1));
    (share as u64).max(of)
}
