//! What documents are made of: every statement of a graph, whole or in parts, and the terms of its ids.
//!
//! Of a graph in parts it is asked of the nodes in batches, each a look of its own at the graph, whose answers are drawn on a budget and
//! given back with it. A batch that the budget refuses is halved and asked again, down to one list or one term.

use super::reading::{Reading, Take};
use super::scan;
use super::terms::Terms;
use crate::budget::Budget;
use crate::dump::error::DumpError;
use crate::error::Kind;
use crate::moment::Graph;
use crate::moment::scan::{QuadSelection, scan as scan_whole};
use explore::Stop;
use oxrdf::TermRef;
use rdf::{Lexicon, PredicateId, TermBuffer, VertexId};
use std::sync::Arc;
use store::view::{GraphView, Need};

/// See the module's documentation.
pub(crate) struct Statements<'g> {
    graph: &'g Graph,
    reading: Option<Reading<'g>>,
}

impl<'g> Statements<'g> {
    /// Those of a graph, for whoever nobody stops: with all the memory that queries share, where it is in parts.
    pub(crate) fn of(graph: &'g Graph) -> Statements<'g> {
        Statements::within(graph, u64::MAX, &explore::limits::Unlimited)
    }

    /// Those of a graph, with so much memory of the pool where it is in parts; `stop` ends what waits for nodes.
    pub(crate) fn within(
        graph: &'g Graph,
        memory_bytes: u64,
        stop: &'g dyn Stop,
    ) -> Statements<'g> {
        let reading = graph.parts.as_deref().map(|parts| Reading {
            parts,
            budget: Arc::new(Budget::new(parts.pool(), memory_bytes)),
            stop,
        });
        Statements { graph, reading }
    }

    /// Gives every quad of a selection to `take`, in the order in which they lie in a whole graph.
    pub(crate) fn scan(
        &self,
        selection: QuadSelection,
        take: &mut Take<'_>,
    ) -> Result<(), DumpError> {
        match &self.reading {
            None => scan_whole(self.graph, selection, take),
            Some(reading) => scan::scan(reading, selection, take),
        }
    }

    /// The vertex of a predicate.
    pub(crate) fn predicate_vertex(&self, predicate: PredicateId) -> VertexId {
        match &self.reading {
            None => self.graph.snapshot.predicate_vertex(predicate),
            Some(reading) => reading.part().predicate_vertex(predicate),
        }
    }

    /// Appends the terms of ids.
    pub(crate) fn terms(&self, ids: &[VertexId], terms: &mut TermBuffer) -> Result<(), DumpError> {
        let mut done = 0;
        while done < ids.len() {
            done += self.terms_within(&ids[done..], usize::MAX, terms)?;
        }
        Ok(())
    }

    /// Appends the terms of ids, until they have so many bytes of text or there is no memory for more at once; gives how many, at
    /// least one where there is one.
    pub(crate) fn terms_within(
        &self,
        ids: &[VertexId],
        text_bytes_max: usize,
        terms: &mut TermBuffer,
    ) -> Result<usize, DumpError> {
        let Some(reading) = &self.reading else {
            let dictionary = &self.graph.dictionary;
            return Ok(dictionary.terms_within(ids, text_bytes_max, terms)?);
        };
        let mut len = ids.len();
        loop {
            let looked = Terms::of(self.graph, &reading.budget);
            match looked.terms(&reading.limits(), &ids[..len], terms) {
                Ok(()) => return Ok(len),
                Err(error) if error.kind == Kind::Memory && len > 1 => len /= 2,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Appends the ids of terms.
    pub(crate) fn ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), DumpError> {
        match &self.reading {
            None => Ok(self.graph.dictionary.ids(terms, ids)?),
            Some(reading) => {
                let looked = Terms::of(self.graph, &reading.budget);
                Ok(looked.ids(&reading.limits(), terms, ids)?)
            }
        }
    }

    /// The names of the graphs that hold something, ascending.
    pub(crate) fn named_graphs(&self) -> Result<Vec<VertexId>, DumpError> {
        let Some(reading) = &self.reading else {
            return Ok(self.graph.snapshot.named_graphs()?);
        };
        let visit = reading.visit();
        let view = visit.view();
        reading.ready(&visit, || view.fetch(&[Need::NamedGraphs]))?;
        Ok(view.named_graphs()?)
    }

    /// The most memory that it held at once.
    pub(crate) fn peak_bytes(&self) -> u64 {
        let reading = self.reading.as_ref();
        reading.map_or(0, |reading| reading.budget.peak_bytes())
    }
}
