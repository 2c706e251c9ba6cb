//! Who brings items to streams: the names of sources, their numbers, and the positions of those that count their items.
//!
//! ```text
//!  source        counts its items          does not
//!  speaks        kept, on the account      kept, on the account
//!  is silent     kept: nothing is taken    forgotten, the oldest first, where its stream has
//!                twice                     more than PASSING_MAX such sources and does not wait for it
//! ```
//!
//! A position is kept as long as its stream, because whoever sends again must not be taken twice. So the room of a stream's
//! sources is bounded, and a new one that finds none is refused before anything of it is taken. A source without a position is
//! nothing but a promise; when nobody waits for it any more, it can come again as a new one.
//!
//! Invariants: a number is given once, so a source that is forgotten and comes again is not taken for anybody. What is
//! forgotten is told to the log in its place among the other messages, so a recovery forgets the same, and never by itself.
//!
//! Cost: O(log sources) a push; O(1) in memory for sources without positions that pass by.

use super::super::log::messages::Message;
use super::{Hub, refused};
use crate::error::{Kind, QueryError, Unit};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stream::{SourceId, StreamId};

/// So many sources without positions are remembered of a stream, silent or not (count).
pub(super) const PASSING_MAX: usize = 1024;
/// So many more may be there before some are forgotten: one message of the log tells of that many (count).
const PASSING_SLACK: usize = 256;
/// What a source takes beside its name (bytes): its entries in six ordered maps, here and with its stream, which are
/// two thirds full.
const SOURCE_BYTES: u64 = 320;
/// Sources of a stream may hold one in so many of its budget, beside its items.
const SHARE: u64 = 4;
/// So many sources find room whatever the budget is (count).
const SOURCES_MIN: usize = PASSING_MAX + 2 * PASSING_SLACK;

/// The sources of all streams that are somebody outside; see the head of this file.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// The number of the next one.
    next: u64,
    /// How often sources have spoken.
    turns: u64,
    streams: BTreeMap<StreamId, StreamSources>,
}

#[derive(Debug, Default)]
struct StreamSources {
    known: BTreeMap<Arc<str>, Known>,
    names: BTreeMap<SourceId, Arc<str>>,
    /// Those without positions, by when they spoke last.
    passing: BTreeMap<u64, SourceId>,
    bytes: u64,
}

#[derive(Debug)]
struct Known {
    number: SourceId,
    /// The position that its next item has, where it counts them.
    position: Option<u64>,
    /// When it spoke last, in turns.
    spoke: u64,
}

impl Sources {
    fn known(&self, stream: StreamId, name: &str) -> Option<&Known> {
        self.streams.get(&stream)?.known.get(name)
    }

    /// The number of a source, or the one that it would have.
    pub(super) fn number(&self, stream: StreamId, name: &str) -> SourceId {
        let known = self.known(stream, name);
        known.map_or(SourceId(self.next), |known| known.number)
    }

    /// The numbers of new sources, in order.
    pub(super) fn upcoming(&self) -> impl Iterator<Item = SourceId> + use<> {
        (self.next..).map(SourceId)
    }

    /// A source of this number was refused. No other one gets it: something may know it all the same.
    pub(super) fn tried(&mut self, number: SourceId) {
        self.next = self.next.max(number.0 + 1);
    }

    /// The position that a source's next item has, where it counts them.
    pub(super) fn position(&self, stream: StreamId, name: &str) -> Option<u64> {
        self.known(stream, name)?.position
    }

    /// The name of a source.
    pub(super) fn name(&self, stream: StreamId, number: SourceId) -> Option<&str> {
        let name = self.streams.get(&stream)?.names.get(&number)?;
        Some(name)
    }

    /// What a source would take that is not known (bytes); 0: it is.
    fn new_bytes(&self, stream: StreamId, name: &str) -> u64 {
        match self.known(stream, name) {
            Some(_) => 0,
            None => SOURCE_BYTES + name.len() as u64,
        }
    }

    /// A source has spoken. `position`: that of its next item, where it says so. Gives its number.
    pub(super) fn spoke(
        &mut self,
        stream: StreamId,
        name: &str,
        position: Option<u64>,
    ) -> SourceId {
        self.turns += 1;
        let (spoke, bytes) = (self.turns, self.new_bytes(stream, name));
        let sources = self.streams.entry(stream).or_default();
        if let Some(known) = sources.known.get_mut(name) {
            sources.passing.remove(&known.spoke);
            known.spoke = spoke;
            known.position = position.or(known.position);
            if known.position.is_none() {
                sources.passing.insert(spoke, known.number);
            }
            return known.number;
        }
        let number = SourceId(self.next);
        self.next += 1;
        let name: Arc<str> = name.into();
        sources.names.insert(number, Arc::clone(&name));
        let known = Known {
            number,
            position,
            spoke,
        };
        sources.known.insert(name, known);
        if position.is_none() {
            sources.passing.insert(spoke, number);
        }
        sources.bytes += bytes;
        number
    }

    /// Forgets a source; gives the number that it had.
    fn forget(&mut self, stream: StreamId, name: &str) -> Option<SourceId> {
        let bytes = SOURCE_BYTES + name.len() as u64;
        let sources = self.streams.get_mut(&stream)?;
        let known = sources.known.remove(name)?;
        sources.passing.remove(&known.spoke);
        sources.names.remove(&known.number);
        sources.bytes -= bytes;
        Some(known.number)
    }

    /// Forgets those of a stream.
    pub(super) fn forget_stream(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }

    /// What those of a stream hold (bytes).
    pub(super) fn bytes(&self, stream: StreamId) -> u64 {
        self.streams.get(&stream).map_or(0, |them| them.bytes)
    }

    /// What all hold (bytes).
    pub(super) fn all_bytes(&self) -> u64 {
        self.streams.values().map(|them| them.bytes).sum()
    }

    /// How many a stream has.
    fn count(&self, stream: StreamId) -> usize {
        self.streams.get(&stream).map_or(0, |them| them.known.len())
    }

    /// Those of a stream, with their positions, in the order in which they spoke.
    pub(super) fn of(&self, stream: StreamId) -> Vec<(&str, SourceId, Option<u64>)> {
        let known = self.streams.get(&stream).into_iter();
        let known = known.flat_map(|them| &them.known);
        let mut known: Vec<_> = known.collect();
        known.sort_unstable_by_key(|(_, known)| known.spoke);
        let entries = known.into_iter();
        entries
            .map(|(name, known)| (&**name, known.number, known.position))
            .collect()
    }

    /// Streams that have more sources without positions than so many.
    fn crowded(&self, passing_max: usize) -> BTreeSet<StreamId> {
        let crowded = self.streams.iter();
        let crowded = crowded.filter(|(_, them)| them.passing.len() > passing_max);
        crowded.map(|(stream, _)| *stream).collect()
    }
}

impl Hub {
    /// What a source takes (bytes) that has to be asked for before it is known; an error where its stream has no room for it.
    pub(super) fn source_room(&mut self, stream: StreamId, name: &str) -> Result<u64, QueryError> {
        let bytes = self.sources.new_bytes(stream, name);
        // What the log tells of was taken.
        if self.share.is_none() || bytes == 0 || self.has_source_room(stream, bytes) {
            return Ok(bytes);
        }
        self.forget_passing(stream)?;
        if self.has_source_room(stream, bytes) {
            return Ok(bytes);
        }
        let (held, count) = (self.sources.bytes(stream), self.sources.count(stream));
        let limit = self.source_bytes_max(stream);
        let stream = self.settings.get(&stream).map_or("", |it| it.name.as_str());
        let message = format!(
            "the stream <{stream}> has {count} sources, which hold {held} bytes, and no room for another one: \
             push under fewer names, or make the stream again with a larger budget"
        );
        Err(QueryError::new(Kind::Memory, message)
            .with_hint("sources that count their items are kept as long as their stream, so that no item is taken twice")
            .with_limit(Unit::Bytes, limit, held))
    }

    fn has_source_room(&self, stream: StreamId, bytes: u64) -> bool {
        self.sources.count(stream) < SOURCES_MIN
            || self.sources.bytes(stream) + bytes <= self.source_bytes_max(stream)
    }

    fn source_bytes_max(&self, stream: StreamId) -> u64 {
        let settings = self.settings.get(&stream);
        settings.map_or(0, |it| it.budget_bytes / SHARE)
    }

    /// Forgets sources of crowded streams for which nobody waits.
    pub(super) fn forget_crowds(&mut self) -> Result<(), QueryError> {
        for stream in self.sources.crowded(PASSING_MAX + PASSING_SLACK) {
            self.forget_passing(stream)?;
        }
        Ok(())
    }

    /// Forgets sources without positions until [`PASSING_MAX`] are left, the oldest first; none that the stream waits for, and
    /// none that are older than all others but decide what it is known to have come to.
    fn forget_passing(&mut self, stream: StreamId) -> Result<(), QueryError> {
        let Some(sources) = self.sources.streams.get(&stream) else {
            return Ok(());
        };
        let mut more = sources.passing.len().saturating_sub(PASSING_MAX);
        let (mut forgotten, mut kept) = (Vec::new(), 0);
        for number in sources.passing.values() {
            if more == 0 || kept > 1 {
                break;
            }
            if self
                .streams
                .forget_source(stream, *number)
                .map_err(refused)?
            {
                forgotten.extend(sources.names.get(number).map(ToString::to_string));
                more -= 1;
            } else {
                // At most one is kept for what it has promised; behind another one are those that are waited for.
                kept += 1;
            }
        }
        if forgotten.is_empty() {
            return Ok(());
        }
        for name in &forgotten {
            self.sources.forget(stream, name);
        }
        let stream = self.settings[&stream].name.clone();
        self.said(&Message::ForgetSources {
            stream,
            sources: forgotten,
        });
        self.say_held();
        Ok(())
    }

    /// Sources of a stream were forgotten, as the log tells.
    pub(in crate::standing) fn forget_again(
        &mut self,
        stream: &str,
        sources: &[String],
    ) -> Result<(), QueryError> {
        let id = self.stream(stream)?;
        for name in sources {
            if let Some(number) = self.sources.forget(id, name) {
                self.streams.leave(id, number).map_err(refused)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
