//! How large what is no pattern is, roughly: enough to put it before or after patterns.
//!
//! A group counts as its smallest part, a union as the sum of its branches; a path is taken to reach a
//! few times what one of its edges does. Time linear in what is looked at.

use super::block::Planning;
use super::costs;
use super::group::{PipelineElement, facts_of};
use super::known::{Resolved, resolve};
use super::problem::{Item, Other, questions_of, selectivity};
use crate::algebra::{Element, Group, PathPattern, Pattern};
use crate::path::Path;
use crate::plan::{ConstantId, Node, Slot, Source};
use crate::slots::Slots;

/// How many times the neighbours of a vertex a closure is taken to reach.
const CLOSURE: f64 = 8.0;

impl Planning<'_> {
    /// What the order has to know of a join. `doubtful`: columns that a row may lack.
    pub(super) fn item(&self, piece: &PipelineElement, doubtful: &Slots) -> Item {
        if let PipelineElement::Join(Element::Pattern(pattern)) = piece {
            return Item::Pattern(*pattern);
        }
        let mut other = Other {
            slots: facts_of(piece).out().to_vec(),
            ..Other::default()
        };
        match piece {
            PipelineElement::Join(Element::Path(path)) => {
                other.slots = Self::path_item_slots(path);
                other.rows = self.path_rows(path);
                other.start_ns = other.rows * costs::PATH;
                other.row_ns =
                    costs::LOOKUP + self.path_reach(path.source, &path.path) * costs::PATH;
            }
            PipelineElement::Join(Element::TripleTerm {
                term,
                subject,
                predicate,
                object,
            }) => {
                let parts = [*subject, *predicate, *object].into_iter();
                let parts: Vec<Slot> = parts.filter_map(super::facts::slot_of).collect();
                other.needs = vec![vec![*term]];
                // A term is not made of parts that a row may lack: those it gives.
                if !parts.iter().any(|&part| doubtful.contains(part)) {
                    other.needs.push(parts);
                }
                other.rows = self.index.vertices;
                other.row_ns = costs::FILTER;
            }
            PipelineElement::Join(Element::Service(service)) => {
                if let Node::Slot(slot) = service.endpoint {
                    other.needs = vec![vec![slot]];
                }
                other.rows = costs::SERVICE_ROWS;
                other.start_ns = costs::SERVICE;
                other.row_ns = costs::SERVICE;
            }
            PipelineElement::Join(Element::Given { table, columns }) => {
                let values = (0..columns.len()).map(|at| self.known.table_values(*table, at));
                other.values = values.collect();
                other.slots.clone_from(columns);
                other.rows = self.known.table_rows(*table);
                other.start_ns = other.rows * costs::ROW;
                other.row_ns = costs::LOOKUP;
            }
            PipelineElement::Join(element) => {
                other.rows = self.element_rows(element).unwrap_or(1.0);
                other.start_ns = other.rows * costs::ROW;
                other.row_ns = costs::LOOKUP;
            }
            PipelineElement::Table(group) => {
                other.rows = self.group_rows(group);
                other.start_ns = other.rows * costs::ROW;
                other.row_ns = costs::LOOKUP;
            }
            PipelineElement::Unify { .. }
            | PipelineElement::Other(_)
            | PipelineElement::Modifier(_) => {}
        }
        Item::Other(other)
    }

    fn group_rows(&self, group: &Group) -> f64 {
        let mut rows: Option<f64> = None;
        for element in &group.elements {
            match element {
                Element::Filter(filter) => {
                    rows = rows.map(|rows| rows * selectivity(filter));
                }
                Element::Aggregate { keys, .. } if keys.is_empty() => rows = Some(1.0),
                Element::Slice {
                    limit: Some(limit), ..
                } => {
                    let limit = *limit as f64;
                    rows = Some(rows.map_or(limit, |rows| rows.min(limit)));
                }
                joined => {
                    if let Some(more) = self.element_rows(joined) {
                        rows = Some(rows.map_or(more, |rows| rows.min(more)));
                    }
                }
            }
        }
        rows.unwrap_or(1.0)
    }

    /// Rows of something that is joined, alone.
    fn element_rows(&self, element: &Element) -> Option<f64> {
        match element {
            Element::Pattern(pattern) => Some(self.pattern_rows(pattern)),
            Element::Path(path) => Some(self.path_rows(path)),
            Element::Graph(_, source) => Some(self.graphs(*source)),
            Element::Values { rows, .. } => Some(rows.len() as f64),
            Element::Given { table, .. } => Some(self.known.table_rows(*table)),
            Element::Join(group) => Some(self.group_rows(group)),
            Element::Union(groups) => Some(groups.iter().map(|g| self.group_rows(g)).sum()),
            Element::Service(_) => Some(costs::SERVICE_ROWS),
            _ => None,
        }
    }

    fn pattern_rows(&self, pattern: &Pattern) -> f64 {
        if !pattern.source.is_store() {
            return self.known.rows(pattern);
        }
        let asked = questions_of(pattern, self.known.ids);
        let degrees = asked.iter().flatten();
        let degrees = degrees.filter_map(|asked| self.known.degrees.get(asked).copied());
        let edges = match resolve(pattern.predicate, self.known.ids) {
            Resolved::Known(vertex) => self.index.predicate(vertex).map_or(0.0, |p| p.edges as f64),
            Resolved::Absent => 0.0,
            Resolved::Variable => self.index.statistics.quads as f64,
        };
        degrees.fold(edges, f64::min)
    }

    fn path_rows(&self, path: &PathPattern) -> f64 {
        let is_open = |node: Node| matches!(node, Node::Slot(_));
        match (is_open(path.subject), is_open(path.object)) {
            (true, true) => {
                self.path_starts(path.source, &path.path) * self.path_reach(path.source, &path.path)
            }
            (false, false) => 1.0,
            _ => self.path_reach(path.source, &path.path),
        }
    }

    /// Vertices from which a path may lead somewhere.
    pub(super) fn path_starts(&self, source: Source, path: &Path) -> f64 {
        let vertices = self.vertices(source);
        if path.allows_no_length() {
            return vertices;
        }
        self.path_edges(source, path).1.clamp(1.0, vertices)
    }

    /// Vertices that one start reaches.
    pub(super) fn path_reach(&self, source: Source, path: &Path) -> f64 {
        let (edges, starts) = self.path_edges(source, path);
        let fan = edges / starts.max(1.0);
        (fan * CLOSURE).clamp(1.0, self.vertices(source))
    }

    /// Vertices at either end of any edge of a source.
    fn vertices(&self, source: Source) -> f64 {
        if source.is_store() {
            self.index.vertices
        } else {
            self.known.vertices(source)
        }
    }

    /// Named graphs of a source. What streams bring lies in few of them.
    pub(super) fn graphs(&self, source: Source) -> f64 {
        if source.is_store() {
            self.index.statistics.named_graphs.max(1) as f64
        } else {
            1.0
        }
    }

    /// Edges of a predicate in a source, and vertices that have them.
    fn path_step(&self, source: Source, predicate: ConstantId) -> (f64, f64) {
        let node = Node::Constant(predicate);
        if !source.is_store() {
            let sizes = self.known.sizes(source, node);
            return (sizes.edges, sizes.keys[0]);
        }
        match resolve(node, self.known.ids) {
            Resolved::Known(vertex) => {
                let sizes = self.index.predicate(vertex);
                sizes.map_or((0.0, 0.0), |p| (p.edges as f64, p.subjects as f64))
            }
            _ => (0.0, 0.0),
        }
    }

    /// All edges of a source.
    fn edges(&self, source: Source) -> f64 {
        if source.is_store() {
            self.index.statistics.quads as f64
        } else {
            self.known.edges(source)
        }
    }

    /// Edges that a path may follow, and vertices that have them.
    fn path_edges(&self, source: Source, path: &Path) -> (f64, f64) {
        let sum = |parts: &[Path]| {
            let parts = parts.iter().map(|part| self.path_edges(source, part));
            parts.fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
        };
        match path {
            Path::Predicate(predicate) => self.path_step(source, *predicate),
            Path::Inverse(inner)
            | Path::ZeroOrMore(inner)
            | Path::OneOrMore(inner)
            | Path::ZeroOrOne(inner) => self.path_edges(source, inner),
            Path::Sequence(parts) | Path::Alternative(parts) => sum(parts),
            Path::Negated { .. } => (self.edges(source), self.vertices(source)),
        }
    }
}
