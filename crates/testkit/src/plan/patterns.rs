//! Steps that look at the graph: edges, names, paths, and their numbers.

use super::value::number;
use super::{Quad, Row, Triple, World, with};
use query::path::Path;
use query::plan::{Action, Node, Scope, Side, Size, Slot, Source};
use rdf::{Direction, VertexId};
use std::collections::BTreeSet;

impl World<'_> {
    /// The triples that a scope of a source sees from a row, each once, with the graph that it binds.
    fn seen(&self, (scope, source): (Scope, Source), row: &Row) -> BTreeSet<Quad> {
        let wanted = match scope {
            Scope::Named(node) => self.known(node, row),
            Scope::Default | Scope::Bind(_) => None,
        };
        let named = self.graphs(source);
        let sees = |graph: Option<VertexId>| match scope {
            Scope::Default => self.is_in_default(source, graph),
            Scope::Named(_) => graph.is_some_and(|one| named.contains(&one)) && graph == wanted,
            Scope::Bind(_) => graph.is_some_and(|one| named.contains(&one)),
        };
        let binds = matches!(scope, Scope::Bind(_));
        let seen = self.quads(source).iter().filter(|quad| sees(quad.3));
        seen.map(|&(s, p, o, graph)| (s, p, o, graph.filter(|_| binds)))
            .collect()
    }

    /// The edges of a predicate that a scope sees from a row: near end, far end, graph.
    fn edges(
        &self,
        (predicate, direction): (Node, Direction),
        place: (Scope, Source),
        row: &Row,
    ) -> Vec<(VertexId, VertexId, Option<VertexId>)> {
        let predicate = self.known(predicate, row);
        let seen = self.seen(place, row).into_iter();
        let of_predicate = seen.filter(|quad| Some(quad.1) == predicate);
        of_predicate
            .map(|(s, _, o, graph)| {
                let (near, far) = turned(direction, s, o);
                (near, far, graph)
            })
            .collect()
    }

    /// The rows that a step over edges or paths makes of one row.
    pub(super) fn pattern(&self, action: &Action, row: &Row) -> Vec<Row> {
        match action {
            Action::Expand {
                from,
                predicate,
                direction,
                scope,
                into,
                source,
            } => {
                let from = self.known(*from, row);
                let edges = self.edges((*predicate, *direction), (*scope, *source), row);
                let of_from = edges.into_iter().filter(|edge| Some(edge.0) == from);
                of_from
                    .map(|(_, far, graph)| with(&in_graph(row, *scope, graph), *into, far))
                    .collect()
            }
            Action::Intersect { sides, into } => self.intersection(sides, *into, row),
            Action::ExpandKeys {
                predicate,
                direction,
                scope,
                into,
                source,
            } => {
                let edges = self.edges((*predicate, *direction), (*scope, *source), row);
                each(row, *into, edges.into_iter().map(|edge| edge.0))
            }
            Action::Check {
                subject,
                predicate,
                object,
                scope,
                source,
                ..
            } => {
                let wanted = [subject, predicate, object].map(|node| self.known(*node, row));
                let seen = self.seen((*scope, *source), row).into_iter();
                let fits = seen.filter(|&(s, p, o, _)| [s, p, o].map(Some) == wanted);
                fits.map(|quad| in_graph(row, *scope, quad.3)).collect()
            }
            Action::PathSeed { .. } | Action::PathExpand { .. } | Action::PathCheck { .. } => {
                self.path(action, row)
            }
            names => self.names(names, row),
        }
    }

    /// One row for each vertex that both sides see, whichever graphs they look in.
    fn intersection(&self, sides: &[Side; 2], into: Slot, row: &Row) -> Vec<Row> {
        let [near, far] = sides.each_ref().map(|side| {
            let from = self.known(Node::Slot(side.from), row);
            let predicate = (Node::Constant(side.predicate), side.direction);
            let edges = self
                .edges(predicate, (side.scope, side.source), row)
                .into_iter();
            let of_from = edges.filter(|edge| Some(edge.0) == from);
            of_from.map(|edge| edge.1).collect::<BTreeSet<_>>()
        });
        each(row, into, near.intersection(&far).copied())
    }

    /// One row for each predicate or graph of a source, whatever the scope.
    fn names(&self, action: &Action, row: &Row) -> Vec<Row> {
        match action {
            Action::ExpandPredicates {
                from,
                direction,
                into,
                source,
            } => {
                let from = self.known(*from, row);
                let quads = self.quads(*source).iter();
                let of_from =
                    quads.filter(|quad| Some(turned(*direction, quad.0, quad.2).0) == from);
                each(row, *into, of_from.map(|quad| quad.1))
            }
            Action::AllPredicates { into, source } => {
                each(row, *into, self.quads(*source).iter().map(|quad| quad.1))
            }
            Action::AllGraphs { into, source } => {
                each(row, *into, self.graphs(*source).into_iter())
            }
            other => panic!("{other:?} has another place"),
        }
    }

    fn path(&self, action: &Action, row: &Row) -> Vec<Row> {
        let pairs = |path: &Path, (scope, source): (Scope, Source), more: &[VertexId]| {
            assert!(!matches!(scope, Scope::Bind(_)), "paths bind no graph");
            let triples: BTreeSet<Triple> = self
                .seen((scope, source), row)
                .into_iter()
                .map(|(s, p, o, _)| (s, p, o))
                .collect();
            self.pairs(path, &triples, more)
        };
        match action {
            Action::PathSeed {
                path,
                direction,
                scope,
                into,
                source,
            } => {
                let pairs = pairs(path, (*scope, *source), &[]).into_iter();
                each(row, *into, pairs.map(|(a, b)| turned(*direction, a, b).0))
            }
            Action::PathExpand {
                from,
                path,
                direction,
                scope,
                into,
                source,
            } => {
                let Some(from) = self.known(*from, row) else {
                    return Vec::new();
                };
                let pairs = pairs(path, (*scope, *source), &[from]).into_iter();
                let ends = pairs.map(|(a, b)| turned(*direction, a, b));
                ends.filter(|end| end.0 == from)
                    .map(|end| with(row, *into, end.1))
                    .collect()
            }
            Action::PathCheck {
                subject,
                path,
                object,
                scope,
                source,
            } => {
                let ends = self.known(*subject, row).zip(self.known(*object, row));
                let Some(ends) = ends else {
                    return Vec::new();
                };
                let pairs = pairs(path, (*scope, *source), &[ends.0, ends.1]).into_iter();
                let fits = pairs.filter(|pair| *pair == ends);
                fits.map(|_| row.clone()).collect()
            }
            other => panic!("{other:?} has another place"),
        }
    }

    /// The row with numbers of edges, if it stays.
    pub(super) fn counted(&self, action: &Action, row: &Row) -> Option<Row> {
        let mut counted = row.clone();
        match action {
            Action::Sizes {
                predicate,
                scope,
                sizes,
                keeps_empty,
                source,
            } => {
                let mut edges = self.seen((*scope, *source), row);
                if let Some(predicate) = predicate {
                    let predicate = self.known(*predicate, row);
                    edges.retain(|edge| Some(edge.1) == predicate);
                }
                for (size, into) in sizes {
                    let term = |edge: &Quad| match size {
                        Size::Subjects => edge.0,
                        Size::Predicates => edge.1,
                        Size::Objects | Size::Edges => edge.2,
                    };
                    let count = match size {
                        Size::Edges => edges.len(),
                        _ => edges.iter().map(term).collect::<BTreeSet<_>>().len(),
                    };
                    counted.insert(*into, number(count));
                }
                (*keeps_empty || !edges.is_empty()).then_some(counted)
            }
            Action::Degree {
                from,
                predicate,
                direction,
                scope,
                into,
                source,
            } => {
                let from = self.known(Node::Slot(*from), row);
                let edges = self.edges(
                    (Node::Constant(*predicate), *direction),
                    (*scope, *source),
                    row,
                );
                let count = edges.iter().filter(|edge| Some(edge.0) == from).count();
                counted.extend(into.iter().map(|into| (*into, number(count))));
                (count > 0).then_some(counted)
            }
            other => panic!("{other:?} has another place"),
        }
    }
}

/// The row with the graph, where the scope binds it.
fn in_graph(row: &Row, scope: Scope, graph: Option<VertexId>) -> Row {
    match (scope, graph) {
        (Scope::Bind(slot), Some(graph)) => with(row, slot, graph),
        _ => row.clone(),
    }
}

/// A row for each distinct value.
fn each(row: &Row, into: Slot, values: impl Iterator<Item = VertexId>) -> Vec<Row> {
    let values: BTreeSet<VertexId> = values.collect();
    let values = values.into_iter();
    values.map(|value| with(row, into, value)).collect()
}

fn turned(direction: Direction, subject: VertexId, object: VertexId) -> (VertexId, VertexId) {
    match direction {
        Direction::Out => (subject, object),
        Direction::In => (object, subject),
    }
}
