//! A query as the planner takes it: a graph of patterns, filters over its variables, and modifiers.
//!
//! Groups, GRAPH and nested joins are flattened: what remains is one inner join of patterns, each
//! with its own scope. That is exact for what this release reads, because an inner join is
//! commutative and associative on bags and a filter over variables that its own group binds means
//! the same above the join (the translator rewrites variables that it does not bind).

use crate::expression::Expression;
use crate::plan::{ConstantId, DatasetClause, Form, Node, OrderKey, Slot};
use oxrdf::Term;

/// One pattern: an edge to be found in a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The subject.
    pub subject: Node,
    /// The predicate.
    pub predicate: Node,
    /// The object.
    pub object: Node,
    /// `None`: the default graph; else the named graph.
    pub graph: Option<Node>,
}

impl Pattern {
    /// The four places, without an absent graph.
    pub fn nodes(&self) -> impl Iterator<Item = Node> {
        [self.subject, self.predicate, self.object]
            .into_iter()
            .chain(self.graph)
    }

    /// The variables, each once.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        let nodes = [
            Some(self.subject),
            Some(self.predicate),
            Some(self.object),
            self.graph,
        ];
        (0..4).filter_map(move |at| match nodes[at] {
            Some(Node::Slot(slot)) if !nodes[..at].contains(&nodes[at]) => Some(slot),
            _ => None,
        })
    }
}

/// `COUNT` over all rows without grouping.
#[derive(Clone, Debug, PartialEq)]
pub struct CountAll {
    /// The variables whose distinct rows are counted; `None` counts all rows.
    pub distinct: Option<Vec<Slot>>,
    /// The variable of the result.
    pub into: Slot,
}

/// A query, ready to be planned. Made by [`crate::parse`].
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Name of each slot; hidden ones begin with a dot.
    pub(crate) variables: Vec<String>,
    pub(crate) constants: Vec<Term>,
    /// Prefixes of the text and the options, for printing.
    pub(crate) prefixes: Vec<(String, String)>,
    pub(crate) dataset: DatasetClause,
    pub(crate) patterns: Vec<Pattern>,
    /// Graphs that must be named graphs of the dataset though no pattern is matched in them.
    pub(crate) graphs: Vec<Node>,
    /// Conjuncts, each to be true.
    pub(crate) filters: Vec<Expression>,
    pub(crate) form: Form,
    pub(crate) distinct: bool,
    pub(crate) order: Vec<OrderKey>,
    pub(crate) offset: u64,
    pub(crate) limit: Option<u64>,
    pub(crate) count: Option<CountAll>,
}

impl Query {
    /// The constant terms, each once; a [`ConstantId`] is an index into them.
    pub fn constants(&self) -> &[Term] {
        &self.constants
    }

    /// The names of the variables, by slot, without question mark; hidden ones begin with a dot.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The patterns, in the order of the text.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// What the query asks for.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// Prefixes with their IRIs, as declared in the text and the options.
    pub fn prefixes(&self) -> &[(String, String)] {
        &self.prefixes
    }

    /// The dataset clause.
    pub fn dataset(&self) -> &DatasetClause {
        &self.dataset
    }

    /// Replaces the dataset clause, as the protocol's `default-graph-uri` and `named-graph-uri` do.
    /// New graphs are added to [`Query::constants`], so call it before these are resolved.
    pub fn set_dataset(&mut self, default: &[Term], named: &[Term]) {
        let default = default.iter().map(|term| self.constant(term)).collect();
        let named = named.iter().map(|term| self.constant(term)).collect();
        self.dataset.graphs = Some((default, named));
    }

    fn constant(&mut self, term: &Term) -> ConstantId {
        let known = self.constants.iter().position(|known| known == term);
        ConstantId(known.unwrap_or_else(|| {
            self.constants.push(term.clone());
            self.constants.len() - 1
        }) as u32)
    }
}
