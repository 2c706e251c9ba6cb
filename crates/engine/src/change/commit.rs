//! From a request to its commit: under the turn, or before it.
//!
//! ```text
//!              +-- within its slice --------------------------------> staged
//!  request --> turn                                                     ^
//!              +-- longer --> snapshot, watch --> evaluate --> turn ----+   nothing that it read changed
//!                                  ^                            |
//!                                  +------ a few times ---------+---------> evaluate under the turn
//! ```
//!
//! Most requests take less than a millisecond, and evaluating them under the turn is the cheapest that
//! there is: nothing has to be compared. One that has not finished within a slice of the turn gives it
//! up and begins again on a snapshot while others commit. What it read is compared with what they
//! changed, and it is committed as if it had been evaluated in its turn, or evaluated again. After
//! [`TRIES`] it is evaluated under the turn, so nobody starves.
//!
//! Invariant: a commit has the effect that evaluating its request on the version before it would have
//! (but for the names of new blank nodes, and for what is drawn by chance). A request that changes
//! nothing, or fails, in its snapshot is answered so: it counts as carried out at the moment of the
//! snapshot, which lies between its arrival and its answer.
//!
//! What is added to the dictionary goes to the one of the snapshot. A checkpoint puts another one into
//! its place ([`rdf::dictionary::LiveDictionary::rebased`]), and ids that were given by the old one
//! since then mean nothing in the new one: such a request is evaluated again.

use super::committed::Committed;
use super::draft::{Draft, TurnLimit};
use super::prepared::Prepared;
use super::read_set::ReadSet;
use super::writer::{Observer, Writer};
use crate::budget::Budget;
use crate::error::{Kind, QueryError};
use crate::panics::guarded;
use crate::stop::{StopReason, StopToken};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often a request is evaluated before its turn.
const TRIES: u32 = 2;

/// What a commit has to know of its request besides what it does.
pub(crate) struct Job<'j> {
    /// Ends waiting and evaluating.
    pub(crate) token: &'j StopToken,
    /// Where memory is taken from.
    pub(crate) budget: &'j Arc<Budget>,
    /// The time that it may be evaluated under the turn at first. Zero: none.
    pub(crate) slice: Duration,
    /// Quads that it may name to be carried out under the turn.
    pub(crate) turn_quads: usize,
    /// Whether the commit is waited for until it is durable and published.
    pub(crate) is_awaited: bool,
    /// What it reads; asked where it is evaluated before its turn.
    pub(crate) reads: &'j dyn Fn() -> ReadSet,
    /// Told of the version that holds the commit, under the turn, before anybody waits for its durability.
    pub(crate) staged: Option<&'j Observer<'j>>,
}

/// Fills a draft. It may be called several times, with a new draft each.
pub(crate) type Work<'w> = dyn FnMut(&mut Draft) -> Result<(), QueryError> + 'w;

impl Writer {
    /// Lets `work` fill a draft, and commits it: all or nothing. Returns when the commit is durable and
    /// published. A draft that changes nothing is no commit.
    pub(crate) fn commit(
        &self,
        job: &Job<'_>,
        work: &mut Work<'_>,
    ) -> Result<Committed, QueryError> {
        let committed = self.evaluated_and_staged(job, work);
        if committed.is_err() {
            // The terms that it made stay, and its budget has let go of them.
            self.note_left();
        }
        committed
    }

    fn evaluated_and_staged(
        &self,
        job: &Job<'_>,
        work: &mut Work<'_>,
    ) -> Result<Committed, QueryError> {
        if !job.slice.is_zero()
            && let Some(committed) = self.in_turn(job, Some(job.slice), work)?
        {
            return Ok(committed);
        }
        let reads = (job.reads)();
        for _ in 0..TRIES {
            self.tally.beside.fetch_add(1, Ordering::Relaxed);
            if let Some(committed) = self.before_turn(job, &reads, work)? {
                return Ok(committed);
            }
            self.tally.again.fetch_add(1, Ordering::Relaxed);
        }
        let committed = self.in_turn(job, None, work)?;
        Ok(committed.expect("without a slice nothing is given up"))
    }

    /// Evaluates under the turn; `None` where that took longer than `slice`.
    fn in_turn(
        &self,
        job: &Job<'_>,
        slice: Option<Duration>,
        work: &mut Work<'_>,
    ) -> Result<Option<Committed>, QueryError> {
        let staged = self.take_turn(job.token)?;
        let limit = slice.map(|slice| TurnLimit {
            until: Instant::now() + slice,
            quads: job.turn_quads,
        });
        let base = Arc::clone(&staged.graph);
        let drafted = guarded(|| {
            let mut draft = Draft::in_turn(base, self.home.is_some(), job.budget, limit);
            if self.watches.are_any() {
                draft.note_touched();
            }
            work(&mut draft)?;
            draft.finish()
        });
        match drafted {
            Err(error) if limit.is_some() && is_given_up(&error, job.token) => Ok(None),
            drafted => {
                let drafted = drafted?;
                may_commit(job.token)?;
                self.stage(staged, drafted, (job.is_awaited, job.staged))
                    .map(Some)
            }
        }
    }

    /// Evaluates before the turn; `None` where what came in between might have changed the outcome.
    fn before_turn(
        &self,
        job: &Job<'_>,
        reads: &ReadSet,
        work: &mut Work<'_>,
    ) -> Result<Option<Committed>, QueryError> {
        let (base, fate, watch) = {
            let staged = self.take_turn(job.token)?;
            let fate = Arc::clone(&staged.fate);
            (Arc::clone(&staged.graph), fate, self.watches.begin())
        };
        let keeps_record = self.home.is_some();
        let prepared: Prepared = guarded(|| {
            let mut draft = Draft::ahead(&base, keeps_record, job.budget, job.turn_quads);
            work(&mut draft)?;
            draft.prepare()
        })?;
        if prepared.is_idle() {
            // What the request has seen may not be durable yet, and its answer says that it is.
            let snapshot = base.snapshot.number();
            let synced = self.settle(snapshot, &fate)?;
            return Ok(Some(Committed {
                snapshot,
                synced,
                ..Committed::default()
            }));
        }
        let staged = self.take_turn(job.token)?;
        let touched = watch.end();
        let is_same = Arc::ptr_eq(staged.graph.dictionary.live(), base.dictionary.live());
        // Or there were commits in the snapshot that have been given up since.
        let is_same = is_same && Arc::ptr_eq(&staged.fate, &fate);
        if !is_same || reads.are_touched(&touched, &base, &staged.graph)? {
            return Ok(None);
        }
        let drafted = guarded(|| {
            let is_watched = self.watches.are_any();
            prepared.over(
                &staged.graph,
                &touched,
                is_watched,
                (keeps_record, job.budget),
            )
        })?;
        let Some(drafted) = drafted else {
            return Ok(None);
        };
        may_commit(job.token)?;
        self.stage(staged, drafted, (job.is_awaited, job.staged))
            .map(Some)
    }
}

/// Whether evaluating was given up for the turn's sake, and not because somebody wants no more of it.
fn is_given_up(error: &QueryError, token: &StopToken) -> bool {
    error.kind == Kind::Cancelled && token.reason() != Some(StopReason::Cancelled)
}

/// Whether nobody has been told that the request came to nothing.
fn may_commit(token: &StopToken) -> Result<(), QueryError> {
    if token.begin_commit() {
        return Ok(());
    }
    Err(QueryError::new(Kind::Cancelled, "the change was cancelled"))
}
