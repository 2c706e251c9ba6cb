//! Items of a stream: from terms to ids.
//!
//! Blank nodes are scoped to what brought them: an item, or a file whose labels are unique ([`BlankScope`]). A label of
//! a scope is one node, whatever other scopes call theirs.

use crate::error::{Kind, QueryError};
use oxrdf::{GraphName, NamedOrBlankNode, Quad, Term, TermRef};
use rdf::dictionary::LiveDictionary;
use rdf::{Tag, VertexId};
use std::collections::HashMap;
use std::sync::Arc;
use store::delta::IdQuad;
use store::view::GraphScope;

/// One item as it arrives: what was said at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedQuads {
    /// Its time (milliseconds since the epoch).
    pub time_ms: u64,
    /// What it says.
    pub quads: Vec<Quad>,
}

/// Where items stand in the count of their source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positions {
    /// The position of the first one.
    pub first: u64,
    /// How many positions they take, those of items that were not well-formed included.
    pub count: u64,
}

impl Positions {
    /// How many of `items` are here already, where the source's next position is `next`. An error where some are, and which
    /// is not known, because others were not well-formed.
    pub(super) fn known(self, next: u64, items: usize) -> Result<usize, QueryError> {
        let known = next.saturating_sub(self.first);
        if known >= self.count {
            return Ok(items);
        }
        if known > 0 && self.count != items as u64 {
            let message = format!("items up to position {next} are here already");
            return Err(QueryError::new(Kind::Conflict, message)
                .with_hint("send those from that position on, alone"));
        }
        Ok(known as usize)
    }
}

/// What labels of blank nodes mean within one scope.
#[derive(Debug, Default)]
pub struct BlankScope {
    numbers: HashMap<String, VertexId>,
}

/// Gives the quads of items ids; terms that are new get the next ones.
pub(super) fn ids_of(
    live: &Arc<LiveDictionary>,
    scope: &mut BlankScope,
    quads: &[Quad],
) -> Result<Vec<IdQuad>, QueryError> {
    let mut renamed: Vec<Term> = Vec::new();
    for quad in quads {
        renamed.push(quad.subject.clone().into());
        renamed.push(quad.predicate.clone().into());
        renamed.push(quad.object.clone());
        match &quad.graph_name {
            GraphName::DefaultGraph => {}
            GraphName::NamedNode(graph) => renamed.push(graph.clone().into()),
            GraphName::BlankNode(graph) => renamed.push(graph.clone().into()),
        }
    }
    for term in &mut renamed {
        scope.rename(live, term)?;
    }
    let terms: Vec<TermRef<'_>> = renamed.iter().map(Term::as_ref).collect();
    let mut ids = Vec::with_capacity(terms.len());
    live.intern(&terms, &mut ids).map_err(too_large)?;
    let mut ids = ids.into_iter();
    let mut next = || ids.next().expect("every term has an id");
    let numbered = quads.iter().map(|quad| {
        let (subject, predicate, object) = (next(), next(), next());
        let graph = match quad.graph_name {
            GraphName::DefaultGraph => GraphScope::DEFAULT_GRAPH,
            GraphName::NamedNode(_) | GraphName::BlankNode(_) => next(),
        };
        (subject, predicate, object, graph)
    });
    Ok(numbered.collect())
}

impl BlankScope {
    /// Replaces the labels of blank nodes in a term by those of the dictionary.
    fn rename(&mut self, live: &LiveDictionary, term: &mut Term) -> Result<(), QueryError> {
        match term {
            Term::BlankNode(node) => *node = self.node(live, node.as_str())?,
            Term::Triple(triple) => {
                if let NamedOrBlankNode::BlankNode(node) = &mut triple.subject {
                    *node = self.node(live, node.as_str())?;
                }
                self.rename(live, &mut triple.object)?;
            }
            Term::NamedNode(_) | Term::Literal(_) => {}
        }
        Ok(())
    }

    /// The number of the node that a label means, if it means one.
    pub(super) fn number(&self, label: &str) -> Option<u64> {
        self.numbers.get(label).map(|id| id.payload())
    }

    fn node(&mut self, live: &LiveDictionary, label: &str) -> Result<oxrdf::BlankNode, QueryError> {
        let id = if let Some(id) = self.numbers.get(label) {
            *id
        } else {
            let number = live.fresh_blank_nodes(1).map_err(too_large)?;
            let id = VertexId::new(Tag::Blank, number);
            self.numbers.insert(label.to_owned(), id);
            id
        };
        Ok(oxrdf::BlankNode::new_unchecked(format!(
            "b{}",
            id.payload()
        )))
    }
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
pub(super) fn too_large(error: rdf::dictionary::GrowError) -> QueryError {
    QueryError::new(Kind::Shape, error)
}
