//! What comes into a hub: items, promises of sources, and the time.

use super::super::items::{BlankScope, Positions, TimedQuads};
use super::super::log::items::ItemsText;
use super::super::log::messages::{ItemsMessage, Message, Source};
use super::{Hub, refused};
use crate::error::{Kind, QueryError};
use std::hash::{BuildHasher, RandomState};
use stream::{Accepted, StreamId, Time};

/// The latest time of an item (milliseconds): instants behind it are numbers still.
const TIME_MAX_MS: u64 = 1 << 62;

/// How the log is told of items.
pub(super) struct Said {
    /// Who brings them.
    pub(super) source: Source,
    /// The position that the source's next item has, where it counts them.
    pub(super) next_position: Option<u64>,
    /// They follow from what was said before: with the next record, and not before they are taken.
    pub(super) is_later: bool,
}

impl Hub {
    /// Takes items of a source of a stream, all or none. Blank nodes are those of `scope`, or of each item. `positions`:
    /// where they stand, where the source counts them; then items that are here already are passed over.
    pub fn push(
        &mut self,
        stream: &str,
        source: &str,
        scope: Option<&mut BlankScope>,
        items: &[TimedQuads],
        positions: Option<Positions<'_>>,
    ) -> Result<Accepted, QueryError> {
        let id = self.stream(stream)?;
        if let Some(item) = items.iter().find(|item| item.time_ms > TIME_MAX_MS) {
            let message = format!("an item's time is {} ms: that is no date", item.time_ms);
            return Err(QueryError::new(Kind::Syntax, message)
                .with_hint("times are milliseconds since 1970"));
        }
        if !self.settings.get(&id).is_some_and(|it| it.arrival_time) {
            let latest_ms = items.iter().map(|item| item.time_ms).max();
            self.refuse_leap(id, latest_ms.unwrap_or(0))?;
        }
        let next = self.sources.position(id, source).unwrap_or(0);
        let known = positions.map_or(0, |positions| positions.known(next, items.len()));
        let new = &items[known..];
        let next_position = positions.map(|them| them.first.saturating_add(them.count).max(next));
        let said = Said {
            source: Source::Outside(source.to_owned()),
            next_position,
            is_later: false,
        };
        let number = self.sources.number(id, source);
        let accepted = self.accept(id, number, said, scope, new);
        if accepted.is_err() {
            self.sources.tried(number);
        }
        let accepted = accepted?;
        self.sources.spoke(id, source, next_position);
        Ok(accepted)
    }

    /// Tells the log of items that are about to be taken.
    pub(super) fn say_items(
        &mut self,
        stream: StreamId,
        said: Said,
        text: ItemsText,
    ) -> Result<(), QueryError> {
        let (times, chunk) = text.finish();
        let message = Message::Items(ItemsMessage {
            stream: self.settings[&stream].name.clone(),
            source: said.source,
            next_position: said.next_position,
            now_ms: self.now_ms,
            settled: self.streams.settled(stream).map_err(refused)?,
            times,
            chunk,
        });
        if !said.is_later {
            return self.say_now(&message).map(drop);
        }
        self.said(&message);
        self.is_needed = true;
        Ok(())
    }

    /// What sources cannot know, for tables of their terms.
    pub(super) fn seed(&self) -> u64 {
        RandomState::new().hash_one(self.now_ms)
    }

    /// The position that a source's next item has, where it counts them.
    pub fn position(&self, stream: &str, source: &str) -> Result<Option<u64>, QueryError> {
        Ok(self.sources.position(self.stream(stream)?, source))
    }

    /// A source promises that its later items have at least this time.
    pub fn watermark(
        &mut self,
        stream: &str,
        source: &str,
        time_ms: u64,
    ) -> Result<(), QueryError> {
        let id = self.stream(stream)?;
        self.refuse_leap(id, time_ms)?;
        let bytes = self.source_room(id, source)?;
        self.ask_room(id, &[], bytes)?;
        if self.base.keeps_log() {
            let message = Message::Promise {
                stream: stream.to_owned(),
                source: source.to_owned(),
                time_ms,
                now_ms: self.now_ms,
            };
            // With what comes of it, in one record.
            self.said(&message);
            self.is_needed = true;
        }
        let source = self.sources.spoke(id, source, None);
        self.streams
            .watermark(id, source, Time(time_ms))
            .map_err(refused)
    }

    /// What the edge's clock last said (milliseconds).
    pub(in crate::standing) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Whether what comes in outlives the process.
    pub(in crate::standing) fn keeps_log(&self) -> bool {
        self.base.keeps_log()
    }

    /// The edge's clock says this.
    pub fn tick(&mut self, now_ms: u64) {
        self.now_ms = self.now_ms.max(now_ms);
        self.streams.tick(Time(now_ms));
    }
}
