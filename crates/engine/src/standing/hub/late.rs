//! What comes late: counted, stored all the same, and given to the stream `NAME/late`.
//!
//! An item is late if it comes when its stream is settled past its time: the window that would have had it may have been
//! reported. It enters none. What of it is stored is stored with the next commit, so the graph lacks nothing that came.
//!
//! **The side stream** of a stream is made when a query names it, or when something comes late while a query with
//! `late=side` reads the stream. It has the stream's grain and absorbs nothing. An item has there the moment up to which
//! its stream was settled when it came: its own time is over by definition, and this is the earliest that is not. So the
//! side stream is in order, none of its items is late, and it is a function of what was pushed. It is covered as far as
//! its stream is: what comes late later is not before that.
//!
//! Invariants: the moment of an item in a side stream is not before what the side stream has promised; a side stream has
//! none of its own. Cost: nothing for what comes in time.

use super::super::costs::timed;
use super::super::log::image::StreamPicture;
use super::super::log::messages::Message;
use super::{Hub, Lateness, refused};
use crate::error::{Kind, QueryError};
use crate::standing::HubStream;
use query::standing::{Late, StandingQuery};
use stream::{Absorb, Accepted, Definition, Items, SourceId, StreamError, StreamId, Time};

/// What the name of a side stream ends with.
const SUFFIX: &str = "/late";

/// The only source of a side stream; other sources have lower numbers.
const SOURCE: SourceId = SourceId(1 << 41);

impl Hub {
    /// Gives items to a stream, all or none, and looks after those that are late.
    pub(super) fn take_items(
        &mut self,
        stream: StreamId,
        source: SourceId,
        items: &Items,
    ) -> Result<Accepted, QueryError> {
        let pushed = timed(&mut self.costs.opening, || {
            self.streams.push(stream, source, items)
        });
        let accepted = pushed.map_err(refused)?;
        self.count_arrivals(stream, items.len());
        if !accepted.late.is_empty() {
            self.take_late(stream, &accepted)?;
        }
        Ok(accepted)
    }

    fn take_late(&mut self, stream: StreamId, accepted: &Accepted) -> Result<(), QueryError> {
        let definition = self.streams.definition(stream).map_err(refused)?;
        let stored = definition.absorbed(&accepted.late);
        self.late_quads.extend(stored);
        let lateness = self.late.entry(stream).or_default();
        lateness.items += accepted.late.len() as u64;
        let is_wanted = self
            .queries
            .readers(stream)
            .any(|query| query.planned.query.late == Late::Side);
        if lateness.side.is_none() && is_wanted {
            self.make_side(stream, accepted.settled)?;
        }
        let Some(side) = self.side_of(stream) else {
            return Ok(());
        };
        let mut items = Items::new();
        for (_, quads) in accepted.late.iter() {
            items.add(accepted.settled, quads);
        }
        self.streams.push(side, SOURCE, &items).map_err(refused)?;
        self.count_arrivals(side, items.len());
        Ok(())
    }

    /// The side stream of a stream, if it is there.
    pub(super) fn side_of(&self, stream: StreamId) -> Option<StreamId> {
        self.late.get(&stream)?.side
    }

    /// Whether a stream is the side stream of another one.
    pub(super) fn is_side(&self, stream: StreamId) -> bool {
        let mut known = self.late.values();
        known.any(|lateness| lateness.side == Some(stream))
    }

    /// Counts what came late as a generation says, and knows side streams again.
    pub(super) fn late_again(&mut self, picture: &StreamPicture) -> Result<(), QueryError> {
        let name = &picture.settings.name;
        let id = self.stream(name)?;
        if picture.late_items > 0 {
            self.late.entry(id).or_default().items = picture.late_items;
        }
        let main = name.strip_suffix(SUFFIX);
        if let (Some(promise), Some(main)) = (picture.side_promise, main) {
            let main = self.stream(main)?;
            self.late.entry(main).or_default().side = Some(id);
            let promised = self.streams.watermark(id, SOURCE, promise);
            promised.map_err(refused)?;
        }
        Ok(())
    }

    /// The stream whose side stream would have this name.
    pub(super) fn main_of(&self, side: &str) -> Option<StreamId> {
        let main = self.streams.find(side.strip_suffix(SUFFIX)?)?;
        let is_side = |lateness: &Lateness| lateness.side == Some(main);
        (!self.late.values().any(is_side)).then_some(main)
    }

    /// Whether a query can name a stream: it is there, or it is made when it is named.
    pub(in crate::standing) fn can_read(&self, name: &str) -> bool {
        self.has_stream(name) || self.main_of(name).is_some()
    }

    /// Makes the side streams that a query names.
    pub(super) fn make_sides(&mut self, query: &StandingQuery) -> Result<(), QueryError> {
        for name in query.streams() {
            if !self.has_stream(name)
                && let Some(main) = self.main_of(name)
            {
                let status = self.streams.status(main).map_err(refused)?;
                self.make_side(main, status.covered)?;
            }
        }
        Ok(())
    }

    /// Makes the side stream of a stream from a moment on. There is none where somebody has a stream of that name.
    fn make_side(&mut self, main: StreamId, begin: Time) -> Result<(), QueryError> {
        let definition = self.streams.definition(main).map_err(refused)?;
        let name = format!("{}{SUFFIX}", definition.name);
        if self.has_stream(&name) {
            return Ok(());
        }
        let grain_ms = definition.grain_ms;
        let side = Definition {
            grain_ms,
            absorb: Absorb::Nothing,
            // What is late was accepted already.
            budget_bytes: u64::MAX,
            ..Definition::new(name.clone())
        };
        let side = self.streams.create(side, begin).map_err(refused)?;
        self.streams.join(side, SOURCE).map_err(refused)?;
        let settings = HubStream {
            grain_ms,
            absorb: Some(Vec::new()),
            budget_bytes: u64::MAX,
            ..HubStream::new(&name)
        };
        self.settings.insert(side, settings);
        self.late.entry(main).or_default().side = Some(side);
        Ok(())
    }

    /// An error where a stream is to have the name of a side stream.
    pub(super) fn refuse_side_name(&self, name: &str) -> Result<(), QueryError> {
        let Some(main) = self.main_of(name) else {
            return Ok(());
        };
        let there = self.streams.find(name);
        if there.is_some() && there != self.side_of(main) {
            // It was there before the stream that it would be of.
            return Ok(());
        }
        let main = name.strip_suffix(SUFFIX).unwrap_or(name);
        let message = format!("<{name}> is what comes late in the stream <{main}>");
        Err(QueryError::new(Kind::Conflict, message)
            .with_hint("a query that names it has it; choose another name for another stream"))
    }

    /// An error where queries read the side stream of a stream that is to be dropped.
    pub(super) fn refuse_read_side(&self, main: StreamId) -> Result<(), QueryError> {
        let Some(side) = self.side_of(main) else {
            return Ok(());
        };
        match self.queries.readers(side).count() {
            0 => Ok(()),
            queries => {
                let name = self.settings[&side].name.clone();
                Err(refused(StreamError::InUse { name, queries }))
            }
        }
    }

    /// A stream was dropped: what is known of its lateness goes, too. Gives its side stream, which nobody reads.
    pub(super) fn forget_late(&mut self, dropped: StreamId) -> Option<StreamId> {
        for lateness in self.late.values_mut() {
            lateness.side = lateness.side.filter(|side| *side != dropped);
        }
        self.late.remove(&dropped)?.side
    }

    /// Side streams are covered as far as their streams are.
    pub(super) fn promise_sides(&mut self) -> Result<(), QueryError> {
        for (main, lateness) in &self.late {
            if let Some(side) = lateness.side {
                let covered = self.streams.status(*main).map_err(refused)?.covered;
                let promised = self.streams.watermark(side, SOURCE, covered);
                promised.map_err(refused)?;
            }
        }
        Ok(())
    }

    /// Lets the queries that it revises see what came late; false where there is nothing. It is stored before.
    pub(super) fn reveal_late(&mut self) -> Result<bool, QueryError> {
        let Some(stream) = self.streams.next_late_stream() else {
            return Ok(false);
        };
        self.absorb_late()?;
        let stream = self.settings[&stream].name.clone();
        // Whoever reads the log sees that graph, too.
        self.revealed = self.say(&Message::Reveal { stream })?;
        // Not before the log has it: where it fails, what comes late until it is tried again belongs to it, as for whoever reads
        // the log.
        if let Some(late) = self.streams.next_late() {
            self.streams.revealed(&late).map_err(refused)?;
        }
        Ok(true)
    }

    /// Stores what came late, where no other commit took it along.
    pub(super) fn absorb_late(&mut self) -> Result<(), QueryError> {
        if !self.late_quads.is_empty() {
            let before = self.unsaid.len();
            self.said(&Message::LateStored);
            let (messages, quads) = (self.unsaid.clone(), self.late_quads.clone());
            if let Err(error) = self.record(&messages, quads, true) {
                // Nobody else is to say it without them.
                self.unsaid.truncate(before);
                return Err(error);
            }
            self.late_quads.clear();
        }
        Ok(())
    }
}
