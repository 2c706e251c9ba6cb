//! Terms and ids of a graph, whole or in parts: asked for and waited for, within a request's limits.
//!
//! What an answer's terms take on their way is given back batch by batch: each has a visit of its own.

use super::{AskedAt, PartVisit};
use crate::budget::Budget;
use crate::error::QueryError;
use crate::moment::Graph;
use crate::output::decode::ROWS_MAX;
use cluster::PartTerms;
use cluster::terms::key_of;
use explore::{Limits, WalkError, wait_for};
use oxrdf::TermRef;
use rdf::{Lexicon, Progress, Tag, TermBuffer, VertexId};
use std::sync::Arc;

/// Terms of which each is asked of who knows its id; of more, one node asks for all together.
const ASKED_APART: usize = 4;

/// Appends the ids of a query's terms, as [`Lexicon::ids`] does, from who is asked.
pub(crate) fn ids_of(
    graph: &Graph,
    (asked, budget): (Option<AskedAt>, &Arc<Budget>),
    limits: &Limits<'_>,
    terms: &[TermRef<'_>],
    ids: &mut Vec<Option<VertexId>>,
) -> Result<(), QueryError> {
    let Some(parts) = &graph.parts else {
        return Terms::Here(graph).ids(limits, terms, ids);
    };
    let by = |owner, terms: &[TermRef<'_>], ids: &mut Vec<Option<VertexId>>| {
        Terms::Parts(parts.visit_before(owner, asked, budget)).ids(limits, terms, ids)
    };
    if terms.len() > ASKED_APART || !parts.asks_owner(asked) {
        return by(None, terms, ids);
    }
    for term in terms {
        let named = key_of(*term);
        let owner = named.as_ref().and_then(|(_, key)| {
            let ground = parts.nodes()[0].ground();
            parts.node(ground.owner_of_key(key))
        });
        match (owner, &named) {
            (Some(node), Some((kind, key))) => node.ground().terms().ids_of(*kind, &[key], ids)?,
            _ => by(owner, &[*term], ids)?,
        }
    }
    Ok(())
}

/// What a request looks terms up in.
pub(crate) enum Terms<'g> {
    /// A dictionary that is here.
    Here(&'g Graph),
    /// The dictionaries of all nodes.
    Parts(PartVisit),
}

impl<'g> Terms<'g> {
    /// Those of a graph, for a batch.
    pub(crate) fn of(graph: &'g Graph, budget: &Arc<Budget>) -> Terms<'g> {
        match &graph.parts {
            None => Terms::Here(graph),
            Some(parts) => Terms::Parts(parts.visit(budget).1),
        }
    }

    /// Appends the terms of ids, as [`Lexicon::terms`] does.
    pub(crate) fn terms(
        &self,
        limits: &Limits<'_>,
        ids: &[VertexId],
        terms: &mut TermBuffer,
    ) -> Result<(), QueryError> {
        match self {
            Terms::Here(graph) => Ok(graph.dictionary.terms(ids, terms)?),
            Terms::Parts(visit) => {
                fetched(visit, limits, ids, &[])?;
                Ok(visit.lexicon().terms(ids, terms)?)
            }
        }
    }

    /// Appends the ids of terms, as [`Lexicon::ids`] does.
    pub(crate) fn ids(
        &self,
        limits: &Limits<'_>,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), QueryError> {
        match self {
            Terms::Here(graph) => Ok(graph.dictionary.ids(terms, ids)?),
            Terms::Parts(visit) => {
                fetched(visit, limits, &[], terms)?;
                Ok(visit.lexicon().ids(terms, ids)?)
            }
        }
    }
}

/// Waits until these are here.
pub(crate) fn fetched(
    visit: &PartVisit,
    limits: &Limits<'_>,
    ids: &[VertexId],
    terms: &[TermRef<'_>],
) -> Result<(), WalkError> {
    let lexicon = visit.lexicon();
    wait_for(&visit.view(), limits, || {
        match lexicon.fetch(ids, terms)? {
            Progress::Ready => Ok(()),
            Progress::Pending(ticket) => Err(WalkError::Pending(ticket)),
        }
    })
}

/// Waits until the terms of a batch of these columns are here.
pub(crate) fn fetch_columns<'c>(
    visit: &PartVisit,
    limits: &Limits<'_>,
    rows: usize,
    columns: impl Iterator<Item = &'c [VertexId]>,
) -> Result<(), WalkError> {
    let rows = rows.min(ROWS_MAX);
    let is_stored = |id: &VertexId| !id.has_tag(Tag::QueryLocal);
    let mut ids: Vec<VertexId> = columns
        .flat_map(|column| &column[..rows])
        .copied()
        .collect();
    ids.retain(is_stored);
    ids.sort_unstable();
    ids.dedup();
    fetched(visit, limits, &ids, &[])
}
