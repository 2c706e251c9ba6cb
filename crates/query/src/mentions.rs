//! What a query names that may be a slip: predicates, classes, graphs, and variables that nothing binds.
//!
//! A name that occurs nowhere in the graph is no error, because a graph may get it tomorrow; but the answer
//! is empty, or lacks a column, without a word. So whoever answers looks the names up, and says which it
//! did not find. Nothing is looked up here: constants and names of variables are collected in one walk over
//! the algebra, O(elements). What a path excludes (`!p`) and what another endpoint is asked is not
//! collected; there a name that does not occur changes nothing here.

use crate::algebra::{Element, Group, Query};
use crate::path::Path;
use crate::plan::{ConstantId, Node, Slot};
use hashbrown::HashSet;
use oxrdf::Term;
use oxrdf::vocab::rdf;

/// What a query names, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mentions<'q> {
    /// Constants in the place of a predicate, paths included.
    pub predicates: Vec<ConstantId>,
    /// Constants after `a` (`rdf:type`).
    pub classes: Vec<ConstantId>,
    /// Constants after `GRAPH`, `FROM` and `FROM NAMED`.
    pub graphs: Vec<ConstantId>,
    /// Whether a pattern is matched in the store's own default graph.
    pub asks_default: bool,
    /// Names of variables that are used and bound nowhere.
    pub unbound: Vec<&'q str>,
    /// Names of variables that something binds.
    pub bound: Vec<&'q str>,
}

impl Query {
    /// What it names. O(elements).
    pub fn mentions(&self) -> Mentions<'_> {
        let mut walk = Walk {
            query: self,
            found: Mentions::default(),
            bound: HashSet::new(),
            asks_others: false,
        };
        let clause = self.dataset.graphs.iter();
        for graph in clause.flat_map(|(merged, named)| merged.iter().chain(named)) {
            push(&mut walk.found.graphs, *graph);
        }
        walk.group(&self.body);
        let is_bound = |slot: usize| walk.bound.contains(&Slot(slot as u16));
        let mut found = walk.found;
        let mut within: HashSet<&str> = HashSet::new();
        for (slot, name) in self.variables.iter().enumerate() {
            match name.strip_prefix('.') {
                None if is_bound(slot) => found.bound.push(name),
                Some(hidden) if is_bound(slot) => {
                    within.extend(hidden.rsplit_once('.').map(|(name, _)| name));
                }
                _ => {}
            }
        }
        let outermost = self.variables.iter().filter(|name| !name.starts_with('.'));
        // A variable within an expression that nothing binds has no slot. What other endpoints are asked
        // has variables of its own.
        let bound: HashSet<&str> = found.bound.iter().copied().collect();
        let nowhere = self
            .within
            .iter()
            .filter(|name| !walk.asks_others && !within.contains(name.as_str()));
        for name in outermost.chain(nowhere) {
            if !bound.contains(name.as_str()) {
                found.unbound.push(name);
            }
        }
        found
    }
}

fn push<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

struct Walk<'q> {
    query: &'q Query,
    found: Mentions<'q>,
    bound: HashSet<Slot>,
    asks_others: bool,
}

impl Walk<'_> {
    /// As deep as groups are nested, which the parser bounds.
    fn group(&mut self, group: &Group) {
        for element in &group.elements {
            self.element(element);
        }
    }

    fn element(&mut self, element: &Element) {
        match element {
            Element::Pattern(pattern) => {
                self.bound.extend(pattern.slots());
                self.predicate(pattern.predicate, pattern.object);
                self.graph(pattern.graph);
            }
            Element::Path(path) => {
                self.bind([path.subject, path.object]);
                self.path(&path.path);
                self.graph(path.graph);
            }
            Element::Graph(graph) => self.graph(Some(*graph)),
            Element::TripleTerm {
                term,
                subject,
                predicate,
                object,
            } => self.bind([Node::Slot(*term), *subject, *predicate, *object]),
            Element::Values { columns, .. } => self.bound.extend(columns),
            Element::Service(service) => {
                self.asks_others = true;
                self.bound
                    .extend(service.columns.iter().map(|column| column.1));
            }
            Element::Bind { into, .. } => {
                self.bound.insert(*into);
            }
            Element::Mark { group, into } => {
                self.bound.insert(*into);
                self.group(group);
            }
            Element::Aggregate { aggregates, .. } => {
                self.bound
                    .extend(aggregates.iter().map(|aggregate| aggregate.1));
            }
            Element::Join(group)
            | Element::Minus(group)
            | Element::Lateral(group)
            | Element::Exists { group, .. } => self.group(group),
            Element::Union(groups) => {
                for group in groups {
                    self.group(group);
                }
            }
            Element::Optional { group, condition } => {
                self.group(group);
                for element in condition {
                    self.element(element);
                }
            }
            Element::Filter(_)
            | Element::Order(_)
            | Element::Project(_)
            | Element::Distinct
            | Element::Slice { .. } => {}
        }
    }

    fn bind<const N: usize>(&mut self, nodes: [Node; N]) {
        for node in nodes {
            if let Node::Slot(slot) = node {
                self.bound.insert(slot);
            }
        }
    }

    fn graph(&mut self, graph: Option<Node>) {
        match graph {
            Some(Node::Constant(graph)) => push(&mut self.found.graphs, graph),
            Some(Node::Slot(slot)) => {
                self.bound.insert(slot);
            }
            None => {
                let dataset = &self.query.dataset;
                self.found.asks_default |= dataset.graphs.is_none() && !dataset.union_default;
            }
        }
    }

    fn predicate(&mut self, predicate: Node, object: Node) {
        let Node::Constant(predicate) = predicate else {
            return;
        };
        push(&mut self.found.predicates, predicate);
        if let (Term::NamedNode(name), Node::Constant(class)) =
            (&self.query.constants[predicate.0 as usize], object)
            && name.as_ref() == rdf::TYPE
        {
            push(&mut self.found.classes, class);
        }
    }

    fn path(&mut self, path: &Path) {
        match path {
            Path::Predicate(predicate) => push(&mut self.found.predicates, *predicate),
            Path::Inverse(inner)
            | Path::ZeroOrMore(inner)
            | Path::OneOrMore(inner)
            | Path::ZeroOrOne(inner) => self.path(inner),
            Path::Sequence(parts) | Path::Alternative(parts) => {
                for part in parts {
                    self.path(part);
                }
            }
            Path::Negated { .. } => {}
        }
    }
}
