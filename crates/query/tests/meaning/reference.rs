//! The algebra by its definition: each group evaluated on its own, joins by comparing all rows with
//! all rows. Small tables only. What plans mean is compared with it (see [`super::meaning`]).

use query::algebra::{Element, Group, Pattern};
use query::path::Path;
use query::plan::{ConstantId, Node, Slot, Source};
use rdf::{VertexId, inline};
use std::collections::BTreeSet;
use testkit::plan::{Quad, Row, Triple, World, merge};

/// Evaluates groups over a small world. Expressions, counts and the pairs of a path are the world's.
pub struct Reference<'w> {
    pub world: &'w World<'w>,
}

impl Reference<'_> {
    /// Puts a value at a node, if it may stand there.
    fn put(&self, row: &mut Row, node: Node, value: VertexId) -> bool {
        match (self.world.value(node, row), node) {
            (Some(known), _) => known == value,
            (None, Node::Slot(slot)) => {
                row.insert(slot, value);
                true
            }
            (None, Node::Constant(_)) => false,
        }
    }

    fn pairs(
        &self,
        path: &Path,
        (graph, source): (Option<VertexId>, Source),
        more: &[VertexId],
    ) -> Vec<(VertexId, VertexId)> {
        let world = self.world;
        let is_seen = |of: Option<VertexId>| match graph {
            None => world.is_in_default(source, of),
            graph => of == graph,
        };
        let quads = world.quads(source).iter().filter(|quad| is_seen(quad.3));
        let triples: BTreeSet<Triple> = quads.map(|quad| (quad.0, quad.1, quad.2)).collect();
        self.world.pairs(path, &triples, more)
    }

    /// The solutions of a group that sees a row. So do the groups within it: what a sub-query does
    /// not project has other slots.
    pub fn solve(&self, group: &Group, seen: &Row) -> Vec<Row> {
        let mut table = vec![seen.clone()];
        for element in &group.elements {
            table = self.element(element, table, seen);
        }
        table
    }

    fn element(&self, element: &Element, table: Vec<Row>, seen: &Row) -> Vec<Row> {
        let grown = |rows: &dyn Fn(&Row) -> Vec<Row>| table.iter().flat_map(rows).collect();
        match element {
            Element::Pattern(pattern) => grown(&|row| self.matches(pattern, row)),
            Element::Path(path) => grown(&|row| {
                let graphs: Vec<Option<VertexId>> = match path.graph {
                    None => vec![None],
                    Some(_) => self
                        .world
                        .graphs(path.source)
                        .into_iter()
                        .map(Some)
                        .collect(),
                };
                let mut rows = Vec::new();
                for graph in graphs {
                    let ends = [path.subject, path.object];
                    // Only a term of the pattern itself is connected with itself in any graph.
                    let named: Vec<VertexId> = ends
                        .iter()
                        .filter(|end| matches!(end, Node::Constant(_)))
                        .filter_map(|end| self.world.value(*end, row))
                        .collect();
                    for (a, b) in self.pairs(&path.path, (graph, path.source), &named) {
                        let mut row = row.clone();
                        let fits = self.put(&mut row, path.subject, a)
                            && self.put(&mut row, path.object, b)
                            && path.graph.is_none_or(|node| {
                                self.put(&mut row, node, graph.expect("a named graph"))
                            });
                        rows.extend(fits.then_some(row));
                    }
                }
                rows
            }),
            Element::Graph(node, source) => grown(&|row| {
                let graphs = self.world.graphs(*source).into_iter();
                graphs
                    .filter_map(|graph| {
                        let mut row = row.clone();
                        self.put(&mut row, *node, graph).then_some(row)
                    })
                    .collect()
            }),
            Element::Values { columns, rows } => {
                let row = |cells: &Vec<Option<ConstantId>>| -> Row {
                    let cells = columns.iter().zip(cells);
                    cells
                        .filter_map(|(slot, cell)| Some((*slot, self.world.constant((*cell)?))))
                        .collect()
                };
                join(&table, &rows.iter().map(row).collect::<Vec<_>>())
            }
            Element::Join(group) => join(&table, &self.solve(group, seen)),
            Element::Union(groups) => {
                let rows: Vec<Row> = groups
                    .iter()
                    .flat_map(|group| self.solve(group, seen))
                    .collect();
                join(&table, &rows)
            }
            other => self.of_rows(other, table, seen),
        }
    }

    /// The triples that a pattern may match: with their graph where it asks for it, else each once.
    fn seen(&self, pattern: &Pattern) -> BTreeSet<Quad> {
        let quads = self.world.quads(pattern.source).iter().copied();
        match pattern.graph {
            Some(_) => {
                let named = self.world.graphs(pattern.source);
                let is_named =
                    |graph: Option<VertexId>| graph.is_some_and(|it| named.contains(&it));
                quads.filter(|quad| is_named(quad.3)).collect()
            }
            None => quads
                .filter(|quad| self.world.is_in_default(pattern.source, quad.3))
                .map(|(subject, predicate, object, _)| (subject, predicate, object, None))
                .collect(),
        }
    }

    fn matches(&self, pattern: &Pattern, row: &Row) -> Vec<Row> {
        let mut rows = Vec::new();
        for (subject, predicate, object, graph) in self.seen(pattern) {
            let mut row = row.clone();
            let fits = match (pattern.graph, graph) {
                (Some(node), Some(graph)) => self.put(&mut row, node, graph),
                (node, _) => node.is_none(),
            };
            let fits = fits
                && self.put(&mut row, pattern.subject, subject)
                && self.put(&mut row, pattern.predicate, predicate)
                && self.put(&mut row, pattern.object, object);
            rows.extend(fits.then_some(row));
        }
        rows
    }

    fn of_rows(&self, element: &Element, mut table: Vec<Row>, seen: &Row) -> Vec<Row> {
        match element {
            Element::Optional { group, condition } => {
                let right = self.solve(group, seen);
                let mut rows = Vec::new();
                for row in table {
                    let mut merged = join(std::slice::from_ref(&row), &right);
                    for element in condition {
                        merged = self.element(element, merged, &Row::new());
                    }
                    if merged.is_empty() {
                        merged.push(row);
                    }
                    rows.extend(merged);
                }
                return rows;
            }
            Element::Minus(group) => {
                // What is seen from outside is no variable of the group.
                let mut right = self.solve(group, seen);
                let mine = slots_of(group);
                for row in &mut right {
                    row.retain(|slot, _| mine.contains(slot));
                }
                table.retain(|row| {
                    let removes = |other: &Row| {
                        merge(row, other).is_some()
                            && other.keys().any(|slot| row.contains_key(slot))
                    };
                    !right.iter().any(removes)
                });
            }
            Element::Lateral(group) => {
                let group = match &group.elements[..] {
                    [Element::Join(only)] => only,
                    _ => group,
                };
                let rows = table.iter();
                return rows
                    .flat_map(|row| join(std::slice::from_ref(row), &self.solve(group, row)))
                    .collect();
            }
            Element::Exists { group, negated } => {
                table.retain(|row| self.exists(group, row) != *negated);
            }
            Element::Mark { group, into } => {
                for row in &mut table {
                    row.insert(*into, inline::from_boolean(self.exists(group, row)));
                }
            }
            Element::Filter(filter) => {
                table.retain(|row| self.world.truth(filter, row) == Some(true));
            }
            Element::Bind { expression, into } => {
                for row in &mut table {
                    if let Some(value) = self.world.evaluate(expression, row) {
                        row.insert(*into, value);
                    }
                }
            }
            modifier => return self.modifier(modifier, table),
        }
        table
    }

    fn modifier(&self, element: &Element, mut table: Vec<Row>) -> Vec<Row> {
        match element {
            Element::Aggregate { keys, aggregates } => {
                return self.world.aggregate(&table, keys, aggregates);
            }
            Element::Project(slots) => {
                for row in &mut table {
                    row.retain(|slot, _| slots.contains(slot));
                }
            }
            Element::Distinct => {
                let distinct: BTreeSet<Row> = table.into_iter().collect();
                return distinct.into_iter().collect();
            }
            Element::Order(_) => {}
            other => panic!("the texts have no {other:?}"),
        }
        table
    }

    fn exists(&self, group: &Group, row: &Row) -> bool {
        let rows = self.solve(group, row);
        rows.iter().any(|other| merge(row, other).is_some())
    }
}

fn join(left: &[Row], right: &[Row]) -> Vec<Row> {
    let pairs = left
        .iter()
        .flat_map(|a| right.iter().map(move |b| merge(a, b)));
    pairs.flatten().collect()
}

/// The variables that solutions of a group may bind.
fn slots_of(group: &Group) -> BTreeSet<Slot> {
    let mut slots = BTreeSet::new();
    let node = |node: Node| match node {
        Node::Slot(slot) => Some(slot),
        Node::Constant(_) => None,
    };
    for element in &group.elements {
        match element {
            Element::Pattern(pattern) => slots.extend(pattern.slots()),
            Element::Path(path) => {
                let nodes = [Some(path.subject), Some(path.object), path.graph];
                slots.extend(nodes.into_iter().flatten().filter_map(node));
            }
            Element::Graph(graph, _) => slots.extend(node(*graph)),
            Element::Values { columns, .. } => slots.extend(columns),
            Element::Join(group) | Element::Lateral(group) | Element::Optional { group, .. } => {
                slots.extend(slots_of(group));
            }
            Element::Union(groups) => slots.extend(groups.iter().flat_map(slots_of)),
            Element::Mark { into, .. } | Element::Bind { into, .. } => slots.extend([*into]),
            Element::Aggregate { keys, aggregates } => {
                slots.retain(|slot| keys.contains(slot));
                slots.extend(aggregates.iter().map(|aggregate| aggregate.1));
            }
            Element::Project(projected) => slots.retain(|slot| projected.contains(slot)),
            _ => {}
        }
    }
    slots
}
