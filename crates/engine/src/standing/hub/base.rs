//! What a hub stands on: a database that is open, or a log that is being replayed.
//!
//! Whatever changes a hub says so in the log first ([`Hub::say`]), and what is said is durable before it is done. So a hub
//! that is made of the log's messages in their order stands as this one did. Reports are the exception: they follow from the
//! rest, so they are said with the next record ([`Hub::said`]). So are seals of the clock's streams in which nothing came: an
//! idle stream would otherwise write a record for each of its batches, day and night. Lost in a crash they are made again,
//! because the clock has gone on; before anything is evaluated that may rest on them they are said ([`Hub::tell_quiet`]).
//! Invariant: while there are such seals, no late item waits to be stored, because a seal in the log says that it is.

use super::super::log::codec::Put;
use super::super::log::messages::Message;
use super::Hub;
use crate::change::{absorb, reach, with_dictionary};
use crate::database::Database;
use crate::error::{Kind, QueryError};
use crate::moment::vector::{SnapshotVector, StreamPoint};
use rdf::dictionary::{LiveDictionary, TermCounts};
use std::sync::Arc;
use store::delta::IdQuad;
use stream::{Seal, SealPoint, StreamId};

/// Records that nobody waits for, one after the other.
const UNAWAITED_MAX: u32 = 64;

/// See the head of this file.
pub(super) enum Base {
    /// Terms get ids under the writer's turn, and messages go to its log.
    Open(Database),
    /// Nobody else gives ids, and nothing is said.
    Replaying(Arc<LiveDictionary>),
}

impl Base {
    /// Lets `work` give terms ids. `given` is what there is afterwards.
    pub(super) fn with_dictionary<T>(
        &self,
        given: &mut TermCounts,
        work: impl FnOnce(&Arc<LiveDictionary>) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        match self {
            Base::Open(database) => with_dictionary(database, given, work),
            Base::Replaying(live) => {
                let done = work(live);
                *given = given.or_more(live.counts());
                done
            }
        }
    }

    /// Whether somebody keeps what is said.
    pub(super) fn keeps_log(&self) -> bool {
        match self {
            Base::Open(database) => database.keeps_log(),
            Base::Replaying(_) => false,
        }
    }

    /// The database; an error while a log is replayed.
    pub(super) fn database(&self) -> Result<&Database, QueryError> {
        match self {
            Base::Open(database) => Ok(database),
            Base::Replaying(_) => Err(QueryError::new(
                Kind::Internal,
                "a replay asked for its database",
            )),
        }
    }
}

impl Hub {
    /// Says something, before it is done. When this returns it is durable; after an error it was not said.
    pub(super) fn say(&mut self, message: &Message) -> Result<(), QueryError> {
        if !self.base.keeps_log() {
            return Ok(());
        }
        // What a message does may rest on how far its streams have come.
        self.tell_quiet()?;
        self.say_now(message)
    }

    /// The same of one that does not rest on it: items.
    pub(super) fn say_now(&mut self, message: &Message) -> Result<(), QueryError> {
        if !self.base.keeps_log() {
            return Ok(());
        }
        let before = self.unsaid.len();
        self.said(message);
        let told = self.tell(true);
        if told.is_err() {
            self.unsaid.truncate(before);
        }
        told
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
        if self.unsaid.is_empty() && self.quiet.is_empty() {
            return Ok(());
        }
        let messages = self.unsaid.clone();
        self.record(&messages, Vec::new(), is_awaited)
    }

    /// Whether the seals that are being committed need no record now: nothing came in them, their ends follow from the clock
    /// alone, and nothing else is to be said.
    pub(super) fn are_quiet(&self) -> bool {
        let is_quiet = |seal: &Seal| {
            let settings = self.settings.get(&seal.stream);
            seal.items.is_empty() && settings.is_some_and(|it| it.arrival_time)
        };
        self.base.keeps_log()
            && self.unsaid.is_empty()
            && self.late_quads.is_empty()
            && self.taken.iter().all(is_quiet)
    }

    /// Tells the log of seals in which nothing came, where there are some.
    pub(super) fn tell_quiet(&mut self) -> Result<(), QueryError> {
        if self.quiet.is_empty() {
            return Ok(());
        }
        self.tell(true)
    }

    /// The messages of those seals, with room for others behind them.
    fn quiet_messages(&self, room: usize) -> Vec<u8> {
        let mut put = Put {
            bytes: Vec::with_capacity(room),
        };
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

    /// How far a version holds each stream, with the seals that are being committed.
    pub(super) fn reached(&self) -> SnapshotVector {
        let point = |(id, seen): (StreamId, SealPoint)| {
            let name = &self.settings.get(&id)?.name;
            let taken = self.taken.iter().filter(|seal| seal.stream == id);
            let until = taken.map(|seal| seal.until).fold(seen, SealPoint::max);
            let grain_ms = self.streams.definition(id).ok()?.grain_ms;
            Some(StreamPoint {
                stream: name.as_str().into(),
                batches: until.batches,
                covered_ms: until.covered(grain_ms).0,
            })
        };
        let points = self.streams.vector().into_iter().filter_map(point);
        let mut points: Vec<StreamPoint> = points.collect();
        points.sort_unstable_by(|one, other| one.stream.cmp(&other.stream));
        points.into()
    }

    /// The newest version holds the streams as far as they are seen.
    pub(super) fn reach(&self) {
        if let Base::Open(database) = &self.base {
            reach(database, &self.reached());
        }
    }

    /// Makes a record of messages, all that were not told yet among them, and of what is stored with them. Of those that
    /// nobody waits for, one in [`UNAWAITED_MAX`] is awaited all the same: it publishes the versions of the others, which
    /// are held until then.
    pub(super) fn record(
        &mut self,
        messages: &[u8],
        quads: Vec<IdQuad>,
        is_awaited: bool,
    ) -> Result<(), QueryError> {
        let has_quiet = !self.quiet.is_empty();
        debug_assert!(!has_quiet || self.late_quads.is_empty(), "see the head");
        let is_read = self.quiet.keys().any(|it| self.streams.is_read(*it));
        let is_awaited = is_awaited || is_read || self.unawaited >= UNAWAITED_MAX;
        let vector = self.reached();
        let with_quiet = has_quiet.then(|| {
            let mut said = self.quiet_messages(messages.len());
            said.extend_from_slice(messages);
            said
        });
        let messages = with_quiet.as_deref().unwrap_or(messages);
        let committed = absorb(self.base.database()?, messages, quads, &vector, is_awaited)?;
        self.costs.syncing += committed.synced;
        self.unawaited = if is_awaited { 0 } else { self.unawaited + 1 };
        self.unsaid.clear();
        self.is_needed = false;
        self.quiet.clear();
        if has_quiet && self.taken.is_empty() {
            // This is the first commit that covers them, and whoever reads the log takes it for that.
            self.note_moment(self.base.database()?.graph());
        }
        Ok(())
    }
}
