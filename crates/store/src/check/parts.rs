//! `check` of the parts of a graph together: do they make one graph?
//!
//! | invariant | how |
//! |---|---|
//! | each part is sound | as a graph of its own ([`check`](super::check)) |
//! | each edge lies where the placement says | the same: it asks the part's mark for each edge |
//! | the parts are all parts of one graph, each once | their marks ([`PartOf::are_one_graph`]) |
//! | each quad has its two halves, each once | sums of hashes of all out-edges and of all in-edges, by predicate |
//!
//! An edge lies in the one part that the placement says, and rows of a part are distinct; so a half is there once over all
//! parts, and where the sums of both directions are equal, no half is missing. Predicates are compared as vertices, because
//! parts that were changed number new ones for themselves.
//!
//! Memory: two sums a predicate. Parts are added one after the other, so one is open at a time.

use super::sums::Sum;
use super::{Finding, Findings, IdLimits, check_files, check_snapshot};
use crate::cut::part_of::PartOf;
use crate::directory::Opened;
use crate::snapshot::Snapshot;
use rdf::{Direction, VertexId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Parts that are checked together.
#[derive(Default)]
pub struct PartsCheck {
    marks: Vec<Option<Arc<PartOf>>>,
    /// Quads by predicate, along each direction.
    quads: BTreeMap<VertexId, [Sum; 2]>,
}

impl PartsCheck {
    /// Checks the files and the graph of a part; `limits` are its dictionary's.
    pub fn add(&mut self, opened: &Opened, limits: &IdLimits) -> Vec<Finding> {
        let mut findings = Findings::default();
        if let Some(snapshot) = check_files(opened, &mut findings) {
            self.add_snapshot(&snapshot, limits, &mut findings);
        }
        findings.list
    }

    /// Checks the graph of a part.
    pub fn add_graph(&mut self, snapshot: &Snapshot, limits: &IdLimits) -> Vec<Finding> {
        let mut findings = Findings::default();
        self.add_snapshot(snapshot, limits, &mut findings);
        findings.list
    }

    fn add_snapshot(&mut self, snapshot: &Snapshot, limits: &IdLimits, findings: &mut Findings) {
        self.marks.push(snapshot.part_of().cloned());
        let mut sums = check_snapshot(snapshot, limits, findings);
        for direction in [Direction::Out, Direction::In] {
            for (predicate, sum) in &sums.side(direction).quads {
                let vertex = snapshot.predicate_table().get(predicate.0 as usize);
                let vertex = vertex.copied().unwrap_or(VertexId::UNBOUND);
                self.quads.entry(vertex).or_default()[direction as usize].add_all(*sum);
            }
        }
    }

    /// Compares the parts that were added.
    pub fn finish(self) -> Vec<Finding> {
        let mut findings = Findings::default();
        let marks = self.marks.iter().map(Option::as_deref);
        if let Err(error) = PartOf::are_one_graph(marks) {
            findings.add("parts", "marks", error.to_string());
        }
        for (predicate, [out, into]) in &self.quads {
            if out != into {
                let place = format!("predicate {predicate:?}");
                findings.add(
                    "parts",
                    place,
                    "out-edges and in-edges of all parts are of different quads",
                );
            }
        }
        findings.list
    }
}
