//! From the quads that a request names to those that have an effect.
//!
//! Deletions come before insertions (SPARQL 1.1 Update, section 3.1.3), so a quad that is named in
//! both is there afterwards. What is left is the difference between two versions: quads inserted
//! that were absent, quads deleted that were present. Only that goes into a layer and to the log,
//! so layers are sets with weights and add up.
//!
//! Cost: a sort, and about 100 ns a quad on a base of millions, see `examples/change.rs`.

use super::layer::Layer;
use super::rows::{IdQuad, Row, quad_of, row_of, turn};
use super::sources::{Weighted, own_sources, presence, sources};
use super::version::Version;
use crate::cut::part_of::PartOf;
use crate::error::ViewError;
use crate::load::radix;
use crate::source::Fault;
use rdf::{Direction, VertexId};
use std::sync::Arc;

/// Bytes that a quad takes while it becomes a part of a layer: as ids, and sorted in both directions.
pub const STAGING_BYTES: usize = 5 * size_of::<IdQuad>();

/// Quads that a request deletes, and then inserts; in any order, repeated or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Taken away first.
    pub deletes: Vec<IdQuad>,
    /// Added then.
    pub inserts: Vec<IdQuad>,
}

/// Edges of one direction that go and come: rows along it, ascending, distinct, none in both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EdgeEffect {
    pub deletes: Vec<Row>,
    pub inserts: Vec<Row>,
}

/// What a change does to one version: quads that it has and loses, and quads that it lacks and
/// gets. No quad is in both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    pub(super) out: EdgeEffect,
    /// Of in-edges, on a part of a graph. `None`: those of the same quads.
    pub(super) into: Option<EdgeEffect>,
}

/// Of distinct quads, each with whether it is there afterwards.
impl FromIterator<(IdQuad, bool)> for Change {
    fn from_iter<I: IntoIterator<Item = (IdQuad, bool)>>(quads: I) -> Change {
        let mut change = Change::default();
        for (quad, is_there) in quads {
            if is_there {
                change.inserts.push(quad);
            } else {
                change.deletes.push(quad);
            }
        }
        change
    }
}

impl Change {
    /// What it does to `version`; to a part of a graph, what it does to the edges that lie there. Quads have no unbound id but the graph, which is
    /// [`GraphScope::DEFAULT_GRAPH`](crate::GraphScope::DEFAULT_GRAPH) outside named graphs.
    pub fn effect(&self, version: &Version) -> Result<Effect, ViewError> {
        self.effect_on(version, None).map_err(|fault| *fault)
    }

    /// [`Change::effect`]; the quads that are named and stay as they are are appended to `idle`.
    pub fn effect_and_idle(
        &self,
        version: &Version,
        idle: &mut Vec<IdQuad>,
    ) -> Result<Effect, ViewError> {
        self.effect_on(version, Some(idle)).map_err(|fault| *fault)
    }

    fn effect_on(
        &self,
        version: &Version,
        mut idle: Option<&mut Vec<IdQuad>>,
    ) -> Result<Effect, Fault> {
        let mut scratch = Vec::new();
        let inserts = sorted(&self.inserts, &mut scratch);
        let mut deletes = sorted(&self.deletes, &mut scratch);
        drop(scratch);
        subtract(&mut deletes, &inserts);
        let mut out = EdgeEffect { deletes, inserts };
        let mut into = version.base().part_of().map(|part| {
            let mut into = out.clone();
            let type_vertex = version.type_vertex();
            out.retain_held(part, Direction::Out, type_vertex);
            into.turn();
            into.retain_held(part, Direction::In, type_vertex);
            into
        });
        let sources = sources(Some(version.base()), version.layers());
        out.retain_effective(&sources, Direction::Out, idle.as_deref_mut())?;
        if let Some(into) = &mut into {
            into.retain_effective(&sources, Direction::In, idle)?;
        }
        Ok(Effect { out, into })
    }
}

impl EdgeEffect {
    fn is_empty(&self) -> bool {
        self.deletes.is_empty() && self.inserts.is_empty()
    }

    /// Rows that come, and rows that go, with the sum that each of them has before.
    fn rows_mut(&mut self) -> [(&mut Vec<Row>, i64); 2] {
        [(&mut self.inserts, 0), (&mut self.deletes, 1)]
    }

    /// The same edges from their other side.
    pub(super) fn turn(&mut self) {
        let mut scratch = Vec::new();
        for (rows, _) in self.rows_mut() {
            turn(rows, &mut scratch);
        }
    }

    /// Keeps the edges that lie in a part.
    fn retain_held(&mut self, part: &PartOf, direction: Direction, type_vertex: Option<VertexId>) {
        for (rows, _) in self.rows_mut() {
            rows.retain(|row| {
                let [predicate, key, neighbour, _] = row.map(VertexId::from_bits);
                part.holds(direction, Some(predicate) == type_vertex, key, neighbour)
            });
        }
    }

    /// Keeps what has an effect on these graphs; the quads of what has none are appended to `idle`.
    fn retain_effective(
        &mut self,
        sources: &[Weighted<'_>],
        direction: Direction,
        mut idle: Option<&mut Vec<IdQuad>>,
    ) -> Result<(), Fault> {
        let mut sums = Vec::with_capacity(self.inserts.len().max(self.deletes.len()));
        for (rows, wanted) in self.rows_mut() {
            sums.clear();
            presence(sources, direction, rows, &mut sums)?;
            if let Some(idle) = &mut idle {
                let without = rows.iter().zip(&sums).filter(|(_, sum)| **sum != wanted);
                idle.extend(without.map(|(row, _)| quad_along(row, direction)));
            }
            keep(rows, &sums, wanted);
        }
        assert!(
            self.inserts
                .iter()
                .flatten()
                .all(|id| !VertexId::from_bits(*id).is_transient()),
            "what is stored has ids that stay: layers and records are made of effects"
        );
        Ok(())
    }
}

impl Effect {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty() && self.into.as_ref().is_none_or(EdgeEffect::is_empty)
    }

    /// Of the quads that change, those that the layers changed before: what comes back or goes again.
    pub fn changed_in(&self, layers: &[Arc<Layer>]) -> Result<Vec<IdQuad>, ViewError> {
        let mut found = Vec::new();
        // Inserting takes back what was deleted, and the other way round.
        let has_dels = layers.iter().any(|layer| layer.deleted() > 0);
        let has_adds = layers.iter().any(|layer| layer.added() > 0);
        for (direction, edges) in self.sides() {
            for (rows, is_asked) in [(&edges.inserts, has_dels), (&edges.deletes, has_adds)] {
                if is_asked {
                    let graphs = sources(None, layers);
                    changed_rows(&graphs, direction, rows, &mut found).map_err(|fault| *fault)?;
                }
            }
        }
        Ok(found)
    }

    /// The directions whose edges are not the turned ones of another: both on a part, the first of a whole graph.
    fn sides(&self) -> impl Iterator<Item = (Direction, &EdgeEffect)> {
        let into = self.into.iter().map(|into| (Direction::In, into));
        std::iter::once((Direction::Out, &self.out)).chain(into)
    }

    /// The named graph of each edge that changes, or [`GraphScope::DEFAULT_GRAPH`](crate::GraphScope::DEFAULT_GRAPH).
    pub(super) fn graphs(&self) -> impl Iterator<Item = VertexId> {
        let edges = self.sides().map(|(_, edges)| edges);
        let rows = edges.flat_map(|edges| edges.deletes.iter().chain(&edges.inserts));
        rows.map(|row| VertexId::from_bits(row[3]))
    }

    /// The quads that go, each once, ascending by predicate, subject, object and graph. On a part of a graph those
    /// whose out-edges lie there.
    pub fn deletes(&self) -> impl ExactSizeIterator<Item = IdQuad> + '_ {
        self.out.deletes.iter().map(quad_of)
    }

    /// The quads that come, as [`Effect::deletes`] gives those that go.
    pub fn inserts(&self) -> impl ExactSizeIterator<Item = IdQuad> + '_ {
        self.out.inserts.iter().map(quad_of)
    }
}

/// The quad of a row along a direction.
fn quad_along(row: &Row, direction: Direction) -> IdQuad {
    let (key, predicate, neighbour, graph) = quad_of(row);
    match direction {
        Direction::Out => (key, predicate, neighbour, graph),
        Direction::In => (neighbour, predicate, key, graph),
    }
}

/// Whether a layer adds or deletes one of these quads.
pub(super) fn changes_any(layer: &Layer, quads: &[IdQuad]) -> Result<bool, ViewError> {
    let mut rows = sorted(quads, &mut Vec::new());
    let mut found = Vec::new();
    let graphs = own_sources(layer).concat();
    changed_rows(&graphs, Direction::Out, &rows, &mut found).map_err(|fault| *fault)?;
    if layer.is_of_part() {
        turn(&mut rows, &mut Vec::new());
        changed_rows(&graphs, Direction::In, &rows, &mut found).map_err(|fault| *fault)?;
    }
    Ok(!found.is_empty())
}

/// Appends the quads of those of the rows, which ascend along a direction, that are in one of these graphs.
fn changed_rows(
    graphs: &[Weighted<'_>],
    direction: Direction,
    rows: &[Row],
    found: &mut Vec<IdQuad>,
) -> Result<(), Fault> {
    for &graph in graphs {
        let mut sums = Vec::with_capacity(rows.len());
        presence(&[graph], direction, rows, &mut sums)?;
        assert_eq!(sums.len(), rows.len(), "a sum for each row");
        let changed = rows.iter().zip(&sums).filter(|(_, sum)| **sum != 0);
        found.extend(changed.map(|(row, _)| quad_along(row, direction)));
    }
    Ok(())
}

fn sorted(quads: &[IdQuad], scratch: &mut Vec<Row>) -> Vec<Row> {
    let mut rows = quads.iter().map(row_of).collect();
    radix::sort(&mut rows, scratch);
    rows.dedup();
    rows
}

/// Takes from `rows` what is in `others`; both ascend.
fn subtract(rows: &mut Vec<Row>, others: &[Row]) {
    let mut others = others.iter().peekable();
    if others.peek().is_some() {
        rows.retain(|row| {
            while others.next_if(|other| *other < row).is_some() {}
            others.peek() != Some(&row)
        });
    }
}

/// Keeps the rows whose sum is `wanted`.
fn keep(rows: &mut Vec<Row>, sums: &[i64], wanted: i64) {
    assert_eq!(sums.len(), rows.len(), "a sum for each row");
    let mut sums = sums.iter();
    rows.retain(|_| sums.next() == Some(&wanted));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inserted_is_not_deleted() {
        let row = |number: u64| [number, 0, 0, 0];
        let mut rows: Vec<Row> = (0..6).map(row).collect();
        subtract(&mut rows, &[row(1), row(2), row(5), row(9)]);
        assert_eq!(rows, [row(0), row(3), row(4)]);
        subtract(&mut rows, &[]);
        assert_eq!(rows.len(), 3);
    }
}
