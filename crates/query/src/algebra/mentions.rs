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
    /// Whether a `MINUS` shares no variable with what it is taken from, and so removes nothing.
    pub has_idle_minus: bool,
}

impl Query {
    /// What it names. O(elements).
    pub fn mentions(&self) -> Mentions<'_> {
        let mut walk = Walk {
            query: self,
            found: Mentions::default(),
            bound: vec![false; self.variables.len()],
            asks_others: false,
        };
        let clause = self.dataset.graphs.iter();
        for graph in clause.flat_map(|(merged, named)| merged.iter().chain(named)) {
            push(&mut walk.found.graphs, *graph);
        }
        walk.group(&self.body);
        self.idle.iter().for_each(|slot| walk.binds(*slot));
        let mut found = walk.found;
        found.has_idle_minus = !self.idle.is_empty();
        for (name, is_bound) in self.variables.iter().zip(&walk.bound) {
            if !name.starts_with('.') {
                let list = if *is_bound {
                    &mut found.bound
                } else {
                    &mut found.unbound
                };
                list.push(name);
            }
        }
        // A variable within an expression that nothing binds has no slot. What other endpoints are asked
        // has variables of its own.
        if !self.within.is_empty() && !walk.asks_others {
            let hidden = self.variables.iter().zip(&walk.bound);
            let hidden = hidden.filter(|(_, is_bound)| **is_bound);
            let hidden = hidden.filter_map(|(name, _)| name.strip_prefix('.')?.rsplit_once('.'));
            let mut bound: HashSet<&str> = hidden.map(|(name, _)| name).collect();
            bound.extend(&found.bound);
            let nowhere = self.within.iter().map(String::as_str);
            found
                .unbound
                .extend(nowhere.filter(|name| !bound.contains(name)));
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
    /// By slot.
    bound: Vec<bool>,
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
                pattern.slots().for_each(|slot| self.binds(slot));
                self.predicate(pattern.predicate, pattern.object);
                self.graph(pattern.graph);
            }
            Element::Path(path) => {
                self.bind([path.subject, path.object]);
                self.path(&path.path);
                self.graph(path.graph);
            }
            Element::Graph(graph, _) => self.graph(Some(*graph)),
            Element::TripleTerm {
                term,
                subject,
                predicate,
                object,
            } => self.bind([Node::Slot(*term), *subject, *predicate, *object]),
            Element::Values { columns, .. } | Element::Given { columns, .. } => {
                for slot in columns {
                    self.binds(*slot);
                }
            }
            Element::Service(service) => {
                self.asks_others = true;
                let columns = service.columns.iter();
                columns.for_each(|column| self.binds(column.1));
            }
            Element::Bind { into, .. } => {
                self.binds(*into);
            }
            Element::Mark { group, into } => {
                self.binds(*into);
                self.group(group);
            }
            Element::Aggregate { aggregates, .. } => {
                let made = aggregates.iter();
                made.for_each(|aggregate| self.binds(aggregate.1));
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

    fn binds(&mut self, slot: Slot) {
        if let Some(is_bound) = self.bound.get_mut(usize::from(slot.0)) {
            *is_bound = true;
        }
    }

    fn bind<const N: usize>(&mut self, nodes: [Node; N]) {
        for node in nodes {
            if let Node::Slot(slot) = node {
                self.binds(slot);
            }
        }
    }

    fn graph(&mut self, graph: Option<Node>) {
        match graph {
            Some(Node::Constant(graph)) => push(&mut self.found.graphs, graph),
            Some(Node::Slot(slot)) => {
                self.binds(slot);
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
