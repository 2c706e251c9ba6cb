//! What streams bring and the store keeps: quads by id, committed as any change is.
//!
//! The terms of items that are stored were given ids of the dictionary when they arrived, so a commit looks nothing up and reads nothing. Quads that are
//! stored already have no effect; a commit without one is none.
//!
//! Ids are given under the turn. A checkpoint puts another dictionary into the place of the one that there is, with the
//! turn held, and an id that the old one gives afterwards means another term in the new one.

use super::commit::Job;
use super::read_set::ReadSet;
use super::writer::{Fate, Staged};
use crate::database::Database;
use crate::error::QueryError;
use crate::moment::Graph;
use crate::moment::vector::SnapshotVector;
use crate::request::Request;
use crate::request::context::Context;
use crate::stop::StopToken;
use rdf::VertexId;
use rdf::dictionary::{LiveDictionary, TermCounts};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;
use store::delta::{Change, IdQuad};
use store::view::GraphScope;

/// The longest that a commit may have the turn: far more than one grain of any stream takes.
const TURN: Duration = Duration::from_hours(1);

/// What a commit of streams is made of.
pub(crate) struct Absorption<'a> {
    /// The messages of its record. Asked under the turn: by then it is known what was given up before.
    pub(crate) messages: &'a dyn Fn() -> Spoken,
    /// What it stores.
    pub(crate) quads: Vec<IdQuad>,
    /// How far the version that it makes holds each stream; where it makes none, the newest version holds them so far.
    pub(crate) vector: &'a SnapshotVector,
    /// Whether it is waited for until it is durable and published, and not only until it is in the log.
    pub(crate) is_awaited: bool,
}

/// What a record says.
pub(crate) enum Spoken {
    /// What it is for.
    New(Vec<u8>),
    /// What earlier ones said that are lost, and nothing else: what it is for comes behind it.
    Again(Vec<u8>),
}

/// A commit of streams.
pub(crate) struct Absorbed {
    /// What it was to store, where it has said again what was lost, and is to be made once more.
    pub(crate) left: Option<Vec<IdQuad>>,
    /// What the commit waited for the disk.
    pub(crate) synced: Duration,
    /// The version that holds it.
    pub(crate) graph: Arc<Graph>,
    /// What becomes of it, where nobody has waited for it.
    pub(crate) fate: CommitFate,
}

/// What becomes of a commit that nobody waits for.
pub(crate) struct CommitFate {
    number: u64,
    fate: Arc<Fate>,
}

impl CommitFate {
    /// Whether the log has given it up: it was not durable when a later write failed. Whoever has the turn knows, and so does
    /// whoever is asked for the messages of the next commit.
    pub(crate) fn is_given_up(&self) -> bool {
        let fate = self.fate.get();
        fate.is_some_and(|(durable, _)| self.number > *durable)
    }
}

/// Keeps messages of streams and inserts quads of theirs, one commit. Nothing at all is no commit.
pub(crate) fn absorb(
    database: &Database,
    absorption: Absorption<'_>,
) -> Result<Absorbed, QueryError> {
    let Absorption {
        messages,
        quads,
        vector,
        is_awaited,
    } = absorption;
    assert!(
        quads.iter().all(is_stored),
        "what is absorbed was given ids that stay"
    );
    let writer = database.writer()?;
    if database.keeps_log() {
        writer.beside.may_say()?;
    }
    let request = Request {
        text: "# absorb streams",
        ..Request::default()
    };
    let context = Context::enter_change(database.shared(), &request);
    let change = Change {
        inserts: quads,
        ..Change::default()
    };
    let reads = ReadSet::default;
    let version = Cell::new(None);
    let observe = |staged: &Staged| {
        version.set(Some((Arc::clone(&staged.graph), Arc::clone(&staged.fate))));
    };
    // Under the turn whatever it takes: nobody else makes this commit, and a close waits for it.
    let job = Job {
        token: &context.token,
        budget: &context.budget,
        slice: TURN,
        turn_quads: usize::MAX,
        is_awaited,
        reads: &reads,
        staged: Some(&observe),
    };
    let (says, is_again) = (Cell::new(false), Cell::new(false));
    let committed = writer.commit(&job, &mut |draft| {
        let messages = match messages() {
            Spoken::Again(messages) => {
                is_again.set(true);
                return draft.say(messages);
            }
            Spoken::New(messages) => messages,
        };
        draft.reach(Arc::clone(vector));
        says.set(!messages.is_empty());
        if says.get() {
            draft.say(messages)?;
        }
        draft.apply(&change)
    })?;
    let is_again = is_again.get();
    if !is_again && !says.get() && committed.inserted == 0 {
        writer.reach(vector);
    }
    let version = version.take();
    let (graph, fate) = version.unwrap_or_else(|| (database.graph(), Arc::default()));
    Ok(Absorbed {
        left: is_again.then_some(change.inserts),
        synced: committed.synced,
        graph,
        fate: CommitFate {
            number: committed.snapshot,
            fate,
        },
    })
}

fn is_stored(quad: &IdQuad) -> bool {
    let is_stored = |id: &VertexId| id.is_stored();
    let is_named = quad.3 != GraphScope::DEFAULT_GRAPH;
    [quad.0, quad.1, quad.2].iter().all(is_stored) && (!is_named || is_stored(&quad.3))
}

/// The newest version holds the streams up to here, though no commit says so: what was sealed had no effect, or the
/// database was opened with it.
pub(crate) fn reach(database: &Database, vector: &SnapshotVector) {
    if let Some(writer) = database.publisher() {
        writer.reach(vector);
    }
}

/// Lets `work` give terms ids by the dictionary of the newest version. `given` is what there is afterwards: the published
/// graph may not have the terms yet. Errors are the turn's and the work's.
pub(crate) fn with_dictionary<T>(
    database: &Database,
    given: &mut TermCounts,
    work: impl FnOnce(&Arc<LiveDictionary>) -> Result<T, QueryError>,
) -> Result<T, QueryError> {
    let work = |live: &Arc<LiveDictionary>| {
        let done = work(live);
        *given = given.or_more(live.counts());
        done
    };
    let Ok(writer) = database.writer() else {
        // Nobody makes checkpoints.
        return work(database.graph().dictionary.live());
    };
    let timeout = database.shared().options.update_timeout;
    let staged = writer.take_turn(&StopToken::starting_now(Some(timeout)))?;
    work(staged.graph.dictionary.live())
}
