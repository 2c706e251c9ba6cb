//! A request that was evaluated before its turn, and how that is put over the version that is staged when the
//! turn comes.
//!
//! A request decides nothing but which quads are to be deleted and inserted in the end. Where nothing
//! that it read has changed meanwhile ([`super::read_set`]), evaluating it on the staged version would name
//! the same quads. Which of them have an effect may differ: another writer may have inserted one of
//! them. So
//!
//! | quads named | under the turn | cost there |
//! |---|---|---|
//! | few ([`crate::Options::update_turn_quads`]) | their effect on the staged version is found anew | that of a small update |
//! | more | the layer and the record that were made before are taken as they are, if no commit changed a quad that is named | some lookups for each quad that commits changed |
//!
//! Which quads are named the draft has noted ([`Ahead`]).

use super::ahead::Ahead;
use super::draft::{Draft, Drafted, summed};
use super::write_set::WriteSet;
use crate::budget::Budget;
use crate::error::QueryError;
use crate::moment::Graph;
use std::ops::Range;
use std::sync::Arc;
use store::delta::IdQuad;

/// A request that was evaluated before its turn.
pub(crate) struct Prepared {
    ahead: Ahead,
    drafted: Drafted,
    blanks: Range<u64>,
}

impl Draft {
    /// Does outside of the turn what can be done there.
    pub(super) fn prepare(mut self) -> Result<Prepared, QueryError> {
        // What is pending is noted when it becomes a layer.
        self.graph()?;
        let mut ahead = self.take_ahead().expect("it was made before the turn");
        let blanks = self.blanks();
        let mut drafted = self.finish()?;
        if ahead.is_large {
            ahead.idle.sort_unstable();
            if let Some(graph) = drafted.graph.take() {
                drafted.graph = Some(crate::moment::planning::planned_beside(graph)?);
            }
        }
        Ok(Prepared {
            ahead,
            drafted,
            blanks,
        })
    }
}

impl Prepared {
    /// Whether the request changed nothing in its snapshot.
    pub(super) fn is_idle(&self) -> bool {
        self.drafted.graph.is_none()
    }

    /// The change over the staged version; `None` where it has to be evaluated again. The caller has
    /// the turn, and nothing that the request read is among what was `touched` since its snapshot.
    pub(super) fn over(
        self,
        staged: &Arc<Graph>,
        touched: &WriteSet,
        is_watched: bool,
        (keeps_record, budget): (bool, &Arc<Budget>),
    ) -> Result<Option<Drafted>, QueryError> {
        let Prepared {
            ahead,
            drafted,
            blanks,
        } = self;
        assert!(
            drafted.graph.is_some(),
            "what changes nothing takes no turn"
        );
        if ahead.is_large {
            return adopted(&ahead.idle, drafted, staged, touched);
        }
        drop(drafted);
        assert!(!ahead.named.is_empty(), "a small change names its quads");
        let mut draft = Draft::in_turn(Arc::clone(staged), keeps_record, budget, None);
        draft.take_blanks(blanks);
        if is_watched {
            draft.note_touched();
        }
        draft.apply(&summed(ahead.named))?;
        draft.finish().map(Some)
    }
}

/// A large change, whose layer stays as it is.
fn adopted(
    idle: &[IdQuad],
    mut drafted: Drafted,
    staged: &Arc<Graph>,
    touched: &WriteSet,
) -> Result<Option<Drafted>, QueryError> {
    let Some(quads) = touched.quads() else {
        return Ok(None);
    };
    if quads.iter().any(|quad| idle.binary_search(quad).is_ok()) {
        return Ok(None);
    }
    let Some(graph) = drafted.graph.take() else {
        return Ok(Some(drafted));
    };
    let layer = graph.snapshot.layers().last().map(Arc::clone);
    let (planner, planned) = (Arc::clone(&graph.planner), graph.planned);
    let is_replanned = planned.number > staged.planned.number;
    drop(graph);
    let Some(layer) = layer.and_then(Arc::into_inner) else {
        return Ok(None);
    };
    if layer.changes_any(quads)? {
        return Ok(None);
    }
    let number = staged.snapshot.number() + 1;
    let version = staged.version.with_layer(number, |before, _| {
        let adopted = layer.adopted(before, quads, number..=number);
        adopted.map_err(QueryError::from)
    })?;
    let mut graph = staged.with_version(version);
    if is_replanned {
        (graph.planner, graph.planned) = (planner, planned);
    }
    drafted.graph = Some(Arc::new(graph));
    Ok(Some(drafted))
}
