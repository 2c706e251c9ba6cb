//! What is known before a query is planned: the ids of its constants, their degrees, and the sizes of sources other than
//! the store.
//!
//! **Sources.** A pattern of another source is sized by the statistics of that source alone, or by a guess where there
//! are none. What a window holds changes while a plan of it stays, so no size is below one edge: a predicate without
//! edges is small, never absent. For the same reason nobody is asked for the degree of a constant there: it is the
//! predicate's mean.
//!
//! Costs a search by predicate for a pattern; patterns of the store are not looked at here.

use super::costs;
use crate::algebra::Pattern;
use crate::plan::{Node, Source, TableId};
use crate::statistics::{DegreeQuestion, PredicateStatistics, SourceStatistics, TableStatistics};
use hashbrown::HashMap;
use rdf::VertexId;
use std::sync::Arc;

/// What is known of a query's constants and of its sources.
#[derive(Debug, Default)]
pub(super) struct Known<'k> {
    /// The ids of the constants.
    pub ids: &'k [Option<VertexId>],
    pub degrees: HashMap<DegreeQuestion, f64>,
    /// Statistics of the sources behind the store; `None`, or none at all: nothing is known.
    pub sources: &'k [Option<Arc<SourceStatistics>>],
    /// Sizes of the tables that are given from outside.
    pub tables: &'k [TableStatistics],
    /// See [`crate::PlanOptions::keep_checks`].
    pub keep_checks: bool,
    /// See [`crate::PlanOptions::keep_empty`].
    pub keep_empty: bool,
}

/// What is known of a node before the walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Resolved {
    Variable,
    Known(VertexId),
    /// A term that is stored nowhere.
    Absent,
}

pub(super) fn resolve(node: Node, ids: &[Option<VertexId>]) -> Resolved {
    match node {
        Node::Slot(_) => Resolved::Variable,
        Node::Constant(constant) => match ids.get(constant.0 as usize) {
            Some(Some(vertex)) => Resolved::Known(*vertex),
            _ => Resolved::Absent,
        },
    }
}

/// Sizes of a predicate, or of all, in a source other than the store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sizes {
    /// At least 1.
    pub edges: f64,
    /// Distinct subjects and objects, at least 1 of each and at most the edges; on average, of all predicates.
    pub keys: [f64; 2],
    /// Predicates of the source; `None` where nothing is known of it.
    pub predicates: Option<f64>,
}

impl Sizes {
    /// Where nothing is known.
    const GUESS: Sizes = Sizes {
        edges: costs::SOURCE_EDGES,
        keys: [costs::SOURCE_KEYS; 2],
        predicates: None,
    };

    /// Of counts, each lifted to what may be there at any time.
    fn of(edges: f64, keys: [f64; 2], predicates: usize) -> Sizes {
        let edges = edges.max(1.0);
        Sizes {
            edges,
            keys: keys.map(|keys| keys.clamp(1.0, edges)),
            predicates: Some(predicates.max(1) as f64),
        }
    }
}

impl Known<'_> {
    /// The statistics of a source other than the store, where there are any.
    fn statistics(&self, source: Source) -> Option<&SourceStatistics> {
        let place = usize::from(source.0).checked_sub(1)?;
        self.sources.get(place)?.as_deref()
    }

    /// The sizes of a predicate in a source other than the store; of all its predicates for a variable.
    pub(super) fn sizes(&self, source: Source, predicate: Node) -> Sizes {
        let Some(statistics) = self.statistics(source) else {
            return Sizes::GUESS;
        };
        let predicates = statistics.predicates.len();
        let found = match resolve(predicate, self.ids) {
            Resolved::Variable => {
                let sum = |of: fn(&PredicateStatistics) -> u64| {
                    let sum: u64 = statistics.predicates.iter().map(of).sum();
                    sum as f64 / predicates.max(1) as f64
                };
                let keys = [sum(|it| it.subjects), sum(|it| it.objects)];
                return Sizes::of(statistics.quads as f64, keys, predicates);
            }
            Resolved::Known(vertex) => statistics.predicate(vertex),
            Resolved::Absent => None,
        };
        let (edges, keys) = found.map_or((0.0, [0.0; 2]), |it| {
            (it.edges as f64, [it.subjects as f64, it.objects as f64])
        });
        Sizes::of(edges, keys, predicates)
    }

    /// Rows of a pattern of a source other than the store. A constant end has as many as the predicate's ends have on
    /// average, whatever it is: it may arrive at any time.
    pub(super) fn rows(&self, pattern: &Pattern) -> f64 {
        let sizes = self.sizes(pattern.source, pattern.predicate);
        let ends = [pattern.subject, pattern.object].into_iter();
        let constants = ends
            .zip(sizes.keys)
            .filter(|(end, _)| matches!(end, Node::Constant(_)));
        constants.fold(sizes.edges, |rows, (_, keys)| rows / keys)
    }

    /// Rows of a given table; a guess where nothing is known of it.
    pub(super) fn table_rows(&self, table: TableId) -> f64 {
        let known = self.tables.get(usize::from(table.0));
        known.map_or(costs::TABLE_ROWS, |it| it.rows as f64)
    }

    /// Distinct terms of a column of a given table, at least 1.
    pub(super) fn table_values(&self, table: TableId, column: usize) -> f64 {
        let known = self.tables.get(usize::from(table.0));
        let distinct = known.and_then(|it| it.distinct.get(column));
        distinct.map_or(costs::TABLE_ROWS, |it| *it as f64).max(1.0)
    }

    /// All edges of a source other than the store, at least 1.
    pub(super) fn edges(&self, source: Source) -> f64 {
        let known = self.statistics(source);
        known.map_or(costs::SOURCE_EDGES, |it| (it.quads as f64).max(1.0))
    }

    /// Vertices of a source other than the store, at either end of any edge, about: predicates share subjects rather
    /// than objects.
    pub(super) fn vertices(&self, source: Source) -> f64 {
        let Some(statistics) = self.statistics(source) else {
            return costs::SOURCE_KEYS;
        };
        let predicates = &statistics.predicates;
        let subjects = predicates.iter().map(|it| it.subjects).max();
        let objects: u64 = predicates.iter().map(|it| it.objects).sum();
        (subjects.unwrap_or(0) + objects).max(1) as f64
    }
}
