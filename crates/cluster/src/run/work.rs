//! A stage worked on: its walk fed, its rows sent on, what was worked off told.

use super::stage::{Came, IDLE, QUEUED, Stage, WORKING, Work, lock};
use super::table::Arriving;
use super::{At, Run, WINDOW};
use crate::error::told_of_walk;
use crate::message::{Message, Took};
use crate::terms::PartTerms;
use explore::{Chunk, Execution, Status, WalkError};
use rdf::Ticket;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use store::view::GraphView;

/// Calls of a walk, each about a millisecond, until other stages have their turn.
const CALLS: usize = 8;

/// Tables of a sender that are worked off before it is told so.
const ROOM_TABLES: u32 = WINDOW as u32 / 4;

/// How far it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    /// There are rows, for whoever walks the last section.
    Rows,
    /// There is more to do.
    Again,
    /// Nothing to do until something comes.
    Idle,
    /// Nothing to do until this journey is over.
    Waits(Ticket),
    /// It gives nothing any more.
    Over,
    /// The query was told to stop.
    Halted,
}

impl Stage {
    /// Works on it once it was taken off the queue; whether it has to be queued again.
    pub(crate) fn work<P, T>(&self, run: &Arc<Run<P, T>>, at: At) -> bool
    where
        P: GraphView + Send + Sync + 'static,
        T: PartTerms,
    {
        self.state.store(WORKING, Ordering::Release);
        let mut chunk = Chunk::new();
        let advanced = match self.advance(run, at, &mut chunk) {
            Ok(advanced) => advanced,
            Err(error) => {
                lock(&self.work).execution = None;
                run.fail(told_of_walk(&error, run.ground.here()).into());
                Advance::Over
            }
        };
        fence(Ordering::SeqCst);
        if run.halt.is_over() {
            // Who ended the query may have come by meanwhile.
            self.clear();
        }
        if let Advance::Waits(ticket) = advanced {
            // Not for longer than the query is there: a journey may take seconds to fail.
            let waiting = Arc::downgrade(run);
            let wake = move || {
                if let Some(run) = waiting.upgrade() {
                    run.schedule(at);
                }
            };
            run.ground.when_done(ticket, Box::new(wake));
        }
        let next = |state| match state {
            WORKING if advanced != Advance::Again => Some(IDLE),
            _ => Some(QUEUED),
        };
        let before = self
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        before != Ok(WORKING) || advanced == Advance::Again
    }

    /// Walks on. Rows go to the next section; of the last one they are given in `out`.
    pub(crate) fn advance<P, T>(
        &self,
        run: &Arc<Run<P, T>>,
        at: At,
        out: &mut Chunk,
    ) -> Result<Advance, WalkError>
    where
        P: GraphView + Send + Sync + 'static,
        T: PartTerms,
    {
        let mut work = lock(&self.work);
        work.since = run.is_noted().then(|| run.ground.fabric().now());
        let advanced = self.advance_by(run, at, out, &mut work);
        note_time(run, at, &mut work);
        advanced
    }

    fn advance_by<P, T>(
        &self,
        run: &Arc<Run<P, T>>,
        at: At,
        out: &mut Chunk,
        work: &mut Work,
    ) -> Result<Advance, WalkError>
    where
        P: GraphView + Send + Sync + 'static,
        T: PartTerms,
    {
        for _ in 0..CALLS {
            if run.halt.is_over() {
                work.execution = None;
                return Ok(Advance::Halted);
            }
            if !work.outbox.flush_stuck(run, at, &mut work.made)? {
                return Ok(Advance::Idle);
            }
            if work.is_over {
                self.forget_input(run, at, work);
                return Ok(Advance::Over);
            }
            let execution = work.execution.get_or_insert_with(|| {
                let (execution, is_walked) = run.execution(at);
                work.is_walked = Some(is_walked);
                execution
            });
            if let Some(Status::Pending(ticket)) = execution.prepare()? {
                return Ok(Advance::Waits(ticket));
            }
            if let Some(is_walked) = work.is_walked.take() {
                is_walked.store(true, Ordering::Relaxed);
            }
            let status = execution.next(out)?;
            if status == Status::Rows {
                run.notes(at, |figures| figures.rows_out += out.rows());
            }
            match status {
                Status::Rows if run.is_last(at.section) => return Ok(Advance::Rows),
                Status::Rows => work.outbox.take(run, at, execution, out, &mut work.made)?,
                Status::Yield => {}
                Status::Pending(ticket) => return Ok(Advance::Waits(ticket)),
                Status::Starved => {
                    if !self.feed(run, at, work)? {
                        return Ok(Advance::Idle);
                    }
                }
                Status::Done => self.over(run, at, work)?,
            }
        }
        Ok(Advance::Again)
    }

    /// Gives the walk rows, or tells it that there are no more; `false`: there is nothing to give.
    fn feed<P, T>(&self, run: &Arc<Run<P, T>>, at: At, work: &mut Work) -> Result<bool, WalkError>
    where
        P: GraphView + Send + Sync + 'static,
        T: PartTerms,
    {
        let execution = work.execution.as_mut().expect("it has just starved");
        loop {
            if let Some((from, arriving, _)) = &mut work.arriving {
                let rows = execution.rows_wanted().unwrap_or(run.chunk_rows());
                if let Some(mut piece) = arriving.next(rows, run.width()) {
                    execution.push(&mut piece)?;
                    return Ok(true);
                }
                work.taken += 1;
                let from = *from;
                work.arriving = None;
                give_room(run, at, from, &mut work.owed);
            }
            let mut inbox = lock(&self.inbox);
            if let Some(Came { from, rows, held }) = inbox.tables.pop_front() {
                drop(inbox);
                run.notes(at, |figures| figures.rows_in += rows.count);
                let start = run.sections[at.section].steps.start;
                let arriving = execution.prepared(|prepared| {
                    let columns = prepared.columns_before(start);
                    Arriving::new(from, rows, columns, prepared.locals())
                });
                let arriving = arriving.expect("it has starved, so it is prepared")?;
                work.arriving = Some((from, arriving, held));
                continue;
            }
            let has_ended = inbox.has_ended;
            drop(inbox);
            if !work.outbox.flush(run, at, execution, &mut work.made)? {
                return Ok(false);
            }
            report(run, at, work);
            if has_ended {
                let execution = work.execution.as_mut().expect("it has just starved");
                execution.end_input();
            }
            return Ok(has_ended);
        }
    }

    /// The walk gives nothing any more.
    fn over<P, T>(&self, run: &Arc<Run<P, T>>, at: At, work: &mut Work) -> Result<(), WalkError>
    where
        P: GraphView + Send + Sync + 'static,
        T: PartTerms,
    {
        let execution = work.execution.as_mut().expect("it has just given its last");
        if !work.outbox.flush(run, at, execution, &mut work.made)? {
            return Ok(());
        }
        work.is_over = true;
        if run.sections[at.section].steps.start == 0 && at.section == 0 {
            work.taken += 1;
        }
        if let Some((from, ..)) = work.arriving.take() {
            work.taken += 1;
            give_room(run, at, from, &mut work.owed);
        }
        work.is_through = run.gathers(at.section);
        self.forget_input(run, at, work);
        Ok(())
    }

    /// What comes for a walk that needs no more counts as worked off.
    fn forget_input<P, T>(&self, run: &Arc<Run<P, T>>, at: At, work: &mut Work)
    where
        P: GraphView + Send + Sync + 'static,
        T: PartTerms,
    {
        let tables = std::mem::take(&mut lock(&self.inbox).tables);
        for Came { from, .. } in tables {
            work.taken += 1;
            give_room(run, at, from, &mut work.owed);
        }
        report(run, at, work);
    }
}

/// Tells who sent a table that another may come, once there are some. Nobody waits for less: who has no room left has
/// [`WINDOW`] tables under way, all of which are worked off.
fn give_room<P, T>(run: &Arc<Run<P, T>>, at: At, from: u16, owed: &mut BTreeMap<u16, u32>)
where
    P: GraphView + Send + Sync + 'static,
    T: PartTerms,
{
    if from == run.ground.here() {
        for blocked in run.has_room(at.section, from, 1) {
            run.schedule(blocked);
        }
        return;
    }
    let owed = owed.entry(from).or_default();
    *owed += 1;
    if *owed < ROOM_TABLES {
        return;
    }
    run.notes(at, |figures| figures.words += 1);
    let room = Message::Room {
        query: run.id,
        section: at.section as u32,
        tables: std::mem::take(owed),
    };
    // Where it is away, it sends no more.
    let _ = run.ground.send(from, &room);
}

/// Says what was worked off, and what was sent because of it.
fn report<P, T>(run: &Arc<Run<P, T>>, at: At, work: &mut Work)
where
    P: GraphView + Send + Sync + 'static,
    T: PartTerms,
{
    if work.taken > 0 || work.made > 0 || work.is_through {
        note_time(run, at, work);
        run.took(Took {
            section: at.section as u32,
            tables: std::mem::take(&mut work.taken),
            made: std::mem::take(&mut work.made),
            in_place: at.in_place,
            is_through: std::mem::take(&mut work.is_through),
        });
    }
}

/// Notes how long it was worked on since the last time that was noted, where the query is profiled.
fn note_time<P, T>(run: &Arc<Run<P, T>>, at: At, work: &mut Work)
where
    P: GraphView + Send + Sync + 'static,
    T: PartTerms,
{
    if let Some(since) = work.since {
        let now = run.ground.fabric().now();
        work.since = Some(now);
        let execution = work.execution.as_ref();
        let steps = || execution.map(Execution::profile).unwrap_or_default();
        let strips = execution.map_or(0, Execution::strips);
        run.worked(at, (since, now), strips, steps);
    }
}
