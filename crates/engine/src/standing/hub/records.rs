//! Records of the log: what a hub says, in which record, and again where one is lost.
//!
//! Whatever changes a hub says so in the log first ([`Hub::say`]), and what is said is durable before it is done. So a hub
//! that is made of the log's messages in their order stands as this one did. Two things follow from the rest, and are said
//! with the next record ([`Hub::said`]):
//!
//! - Reports. A crash takes them back, and they are made again.
//! - Seals of the clock's streams in which nothing came ([`Hub::are_quiet`]): an idle stream would otherwise write a record for
//!   each of its batches, day and night. Lost in a crash they are made again, because the clock has gone on. They are said before
//!   anything is evaluated or done that may rest on them. Invariant: while there are some, no late item waits to be stored,
//!   because a seal in the log says that it is.
//!
//! A record that nobody waits for is in the log and not durable. When a later write fails the log gives it up, whoever made
//! that; what it said is kept until then, and said again with the next one ([`Unconfirmed`]). Else reports that were shown
//! would be missing before the next ones.

use super::super::log::codec::Put;
use super::super::log::messages::Message;
use super::super::registered::Registered;
use super::Hub;
use crate::change::{Absorption, CommitFate, Spoken, absorb};
use crate::error::QueryError;
use crate::moment::Graph;
use crate::moment::vector::SnapshotVector;
use query::standing::{Bounds, Extent, Freshness, Origin, StandingQuery, When};
use std::cell::Cell;
use std::sync::Arc;
use store::delta::IdQuad;
use stream::Seal;

/// Records that nobody waits for, one after the other (count), and what they say (bytes). Then one is awaited all the same.
const UNAWAITED_MAX: usize = 64;
const UNAWAITED_BYTES_MAX: usize = 4 << 20;

/// What a record said that nobody has waited for.
pub(super) struct Unconfirmed {
    messages: Vec<u8>,
    fate: CommitFate,
}

impl Hub {
    /// Says something, before it is done. When this returns it is durable; after an error it was not said. Gives the graph that
    /// whoever reads the log sees behind it, where there is a log.
    pub(super) fn say(&mut self, message: &Message) -> Result<Option<Arc<Graph>>, QueryError> {
        // What it does may rest on how far its streams have come.
        self.tell_quiet()?;
        self.say_now(message)
    }

    /// The same of one that does not rest on it: items.
    pub(super) fn say_now(&mut self, message: &Message) -> Result<Option<Arc<Graph>>, QueryError> {
        if !self.base.keeps_log() {
            return Ok(None);
        }
        let before = self.unsaid.len();
        self.said(message);
        let messages = self.unsaid.clone();
        let graph = self.record(&messages, Vec::new(), true);
        if graph.is_err() {
            self.unsaid.truncate(before);
        }
        graph.map(Some)
    }

    /// Notes what the next record says, too.
    pub(super) fn said(&mut self, message: &Message) {
        if self.base.keeps_log() {
            let mut put = Put {
                bytes: std::mem::take(&mut self.unsaid),
            };
            message.put(&mut put);
            self.unsaid = put.bytes;
        }
    }

    /// Tells the log what it was not told yet. What fails is told with the next record.
    pub(in crate::standing) fn tell(&mut self, is_awaited: bool) -> Result<(), QueryError> {
        if self.unsaid.is_empty() {
            return Ok(());
        }
        let messages = self.unsaid.clone();
        self.record(&messages, Vec::new(), is_awaited).map(drop)
    }

    /// Tells the log of seals in which nothing came, where there are some.
    pub(super) fn tell_quiet(&mut self) -> Result<(), QueryError> {
        if self.quiet.is_empty() {
            return Ok(());
        }
        self.settle()
    }

    /// All that was said or done is durable when this returns.
    pub(super) fn settle(&mut self) -> Result<(), QueryError> {
        if self.unsaid.is_empty() && self.quiet.is_empty() && self.unconfirmed.is_empty() {
            return Ok(());
        }
        let messages = self.unsaid.clone();
        self.record(&messages, Vec::new(), true).map(drop)
    }

    /// Makes a record of messages, all that were not told yet among them, and of what is stored with them. Of those that
    /// nobody waits for, one in [`UNAWAITED_MAX`] is awaited all the same: it publishes the versions of the others, which
    /// are held until then. Gives the graph that holds it, where it was awaited, or else the newest that readers see.
    pub(super) fn record(
        &mut self,
        messages: &[u8],
        quads: Vec<IdQuad>,
        is_awaited: bool,
    ) -> Result<Arc<Graph>, QueryError> {
        let vector = self.reached(&[]);
        self.record_with(messages, quads, is_awaited, &vector)
    }

    /// The same of a record that holds the streams so far.
    pub(super) fn record_with(
        &mut self,
        messages: &[u8],
        mut quads: Vec<IdQuad>,
        is_awaited: bool,
        vector: &SnapshotVector,
    ) -> Result<Arc<Graph>, QueryError> {
        let database = self.base.database()?.clone();
        let has_quiet = !self.quiet.is_empty();
        debug_assert!(!has_quiet || self.late_quads.is_empty(), "see the head");
        let is_awaited = is_awaited || self.is_to_be_awaited(messages.len());
        let own = [&self.quiet_messages(), messages].concat();
        let absorbed = loop {
            let lost: Cell<Vec<bool>> = Cell::default();
            let said = || {
                let are_lost = self.unconfirmed.iter().map(|it| it.fate.is_given_up());
                lost.set(are_lost.collect());
                said_of(&self.unconfirmed, &own)
            };
            let absorption = Absorption {
                messages: &said,
                quads,
                vector,
                is_awaited,
            };
            let mut absorbed = absorb(&database, absorption)?;
            self.costs.syncing += absorbed.synced;
            if is_awaited {
                // With it all are durable that were not lost, and so is what it says again.
                self.unconfirmed.clear();
            }
            let Some(left) = absorbed.left.take() else {
                break absorbed;
            };
            quads = left;
            if !is_awaited {
                self.note_said_again(&lost.take(), absorbed.fate);
            }
        };
        if !is_awaited && self.base.keeps_log() {
            self.unconfirmed.push(Unconfirmed {
                messages: own,
                fate: absorbed.fate,
            });
        }
        self.unsaid.clear();
        self.is_needed = false;
        self.quiet.clear();
        // Readers may see a later one already, which whoever reads the log would not take.
        let graph = if is_awaited && database.keeps_log() {
            absorbed.graph
        } else {
            database.graph()
        };
        if has_quiet {
            // This is the first commit that covers them.
            self.note_moment(Arc::clone(&graph));
        }
        Ok(graph)
    }

    /// What the lost ones said is in a record of its own now, which nobody has waited for.
    fn note_said_again(&mut self, lost: &[bool], fate: CommitFate) {
        let mut messages = Vec::new();
        let mut lost = lost.iter();
        self.unconfirmed.retain(|it| {
            let is_lost = lost.next() == Some(&true);
            if is_lost {
                messages.extend_from_slice(&it.messages);
            }
            !is_lost
        });
        self.unconfirmed.push(Unconfirmed { messages, fate });
    }

    fn is_to_be_awaited(&self, bytes: usize) -> bool {
        let held = self.unconfirmed.iter().map(|it| it.messages.len());
        self.unconfirmed.len() >= UNAWAITED_MAX
            || held.sum::<usize>() + bytes > UNAWAITED_BYTES_MAX
            || self.quiet.keys().any(|it| self.streams.is_read(*it))
    }

    /// The messages of seals in which nothing came.
    fn quiet_messages(&self) -> Vec<u8> {
        let mut put = Put::default();
        for (id, until) in &self.quiet {
            if let Some(settings) = self.settings.get(id) {
                let message = Message::Seal {
                    stream: settings.name.clone(),
                    until: *until,
                };
                message.put(&mut put);
            }
        }
        put.bytes
    }

    /// Whether the seals that are being committed need no record now: nothing came in them, their ends follow from the clock
    /// alone, no query sees the graph of a moment between them, and nothing else is to be said.
    pub(super) fn are_quiet(&self) -> bool {
        self.base.keeps_log()
            && self.unsaid.is_empty()
            && self.late_quads.is_empty()
            && self.taken.iter().all(|seal| self.is_quiet(seal))
    }

    fn is_quiet(&self, seal: &Seal) -> bool {
        let settings = self.settings.get(&seal.stream);
        settings.is_some_and(|it| it.arrival_time)
            && seal.items.is_empty()
            && !self
                .queries
                .readers(seal.stream)
                .any(|query| self.sees_within(query))
    }

    /// Whether a query sees the stored graph of other moments than those at which whole batches of all its streams end: it sees
    /// the one before the batch in which its close lies, and that is to be kept.
    fn sees_within(&self, query: &Registered) -> bool {
        let asked = &query.planned.query;
        if !asked.sees_stored || asked.freshness != Freshness::Aligned {
            return false;
        }
        let mut streams = query.reads.iter();
        !streams.all(|id| {
            let grain_ms = self.settings.get(id).map_or(1, |it| it.grain_ms);
            has_closes_on(asked, grain_ms)
        })
    }
}

/// What the next record says: what lost ones said, in a record of its own, because seals are seen at the end of theirs and what is
/// said behind them may rest on them; or else its own messages. Several lost ones may share one: seals that queries read, items,
/// promises and gaps are awaited, so they have reports and seals that nobody reads.
fn said_of(unconfirmed: &[Unconfirmed], own: &[u8]) -> Spoken {
    let lost = unconfirmed.iter().filter(|it| it.fate.is_given_up());
    let lost: Vec<&[u8]> = lost.map(|it| &it.messages[..]).collect();
    if lost.is_empty() {
        Spoken::New(own.to_vec())
    } else {
        Spoken::Again(lost.concat())
    }
}

/// Whether a query is evaluated at ends of batches of this grain alone, and its windows with them.
fn has_closes_on(query: &StandingQuery, grain_ms: u64) -> bool {
    let is_whole = |span_ms: u64| span_ms.is_multiple_of(grain_ms);
    let is_on_grid = |extent: Extent| match extent {
        Extent::Time {
            step_ms, origin, ..
        }
        | Extent::Past {
            step_ms, origin, ..
        } => {
            let offset_ms = match origin {
                Origin::Epoch { offset_ms } => offset_ms,
                // It is a whole second.
                Origin::FirstItem => 1000,
            };
            is_whole(step_ms) && is_whole(offset_ms)
        }
        Extent::Sliding { .. } | Extent::Now | Extent::All | Extent::Count { .. } => false,
    };
    let has_whole_instants = match query.report.when {
        When::Close => query.every_ms.is_none_or(is_whole),
        When::Periodic { period_ms } => is_whole(period_ms),
        When::Change => false,
    };
    let mut windows = query.windows.iter();
    has_whole_instants && windows.all(|it| it.bounds == Bounds::LeftClosed && is_on_grid(it.extent))
}
