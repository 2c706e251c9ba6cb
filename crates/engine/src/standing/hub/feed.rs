//! What comes into a hub: items, promises of sources, and the time.

use super::super::items::{BlankScope, Positions, TimedQuads, ids_of};
use super::super::log::items::ItemsText;
use super::super::log::messages::{ItemsMessage, Message, Source};
use super::{Hub, refused};
use crate::error::{Kind, QueryError};
use std::hash::{BuildHasher, RandomState};
use stream::{Accepted, Items, SourceId, StreamId, Time};

/// The latest time of an item (milliseconds): instants behind it are numbers still.
const TIME_MAX_MS: u64 = 1 << 62;

impl Hub {
    /// Takes items of a source of a stream, all or none. Blank nodes are those of `scope`, or of each item. `positions`:
    /// where they stand, where the source counts them; then items that are here already are passed over.
    pub fn push(
        &mut self,
        stream: &str,
        source: &str,
        mut scope: Option<&mut BlankScope>,
        items: &[TimedQuads],
        positions: Option<Positions>,
    ) -> Result<Accepted, QueryError> {
        let id = self.stream(stream)?;
        if let Some(item) = items.iter().find(|item| item.time_ms > TIME_MAX_MS) {
            let message = format!("an item's time is {} ms: that is no date", item.time_ms);
            return Err(QueryError::new(Kind::Syntax, message)
                .with_hint("times are milliseconds since 1970"));
        }
        let key = (id, source.to_owned());
        let next = self.positions.get(&key).copied().unwrap_or(0);
        let known = positions.map(|positions| positions.known(next, items.len()));
        let new = &items[known.transpose()?.unwrap_or(0)..];
        let next_position = positions.map(|them| them.first.saturating_add(them.count).max(next));
        let mut text = self.base.keeps_log().then(|| ItemsText::new(self.seed()));
        let numbered = self.base.with_dictionary(|live| {
            let mut numbered = Items::new();
            for item in new {
                let mut own = BlankScope::default();
                let scope = scope.as_deref_mut().unwrap_or(&mut own);
                let quads = ids_of(live, scope, &item.quads)?;
                numbered.add(Time(item.time_ms), &quads);
                if let Some(text) = &mut text {
                    text.add(item.time_ms, &item.quads, &|label| scope.number(label))?;
                }
            }
            Ok(numbered)
        })?;
        let number = self.source(source);
        self.streams
            .make_room(id, number, &numbered)
            .map_err(refused)?;
        if let (Some(text), false) = (text, new.is_empty()) {
            let source = Source::Outside(source.to_owned());
            let message = self.items_message(id, source, next_position, text)?;
            self.say(&message)?;
        }
        if let Some(next) = next_position {
            self.positions.insert(key, next);
        }
        self.take_items(id, number, &numbered)
    }

    /// What the log is told of items that are about to be taken.
    pub(super) fn items_message(
        &self,
        stream: StreamId,
        source: Source,
        next_position: Option<u64>,
        text: ItemsText,
    ) -> Result<Message, QueryError> {
        let (times, chunk) = text.finish();
        Ok(Message::Items(ItemsMessage {
            stream: self.settings[&stream].name.clone(),
            source,
            next_position,
            now_ms: self.now_ms,
            settled: self.streams.settled(stream).map_err(refused)?,
            times,
            chunk,
        }))
    }

    /// What sources cannot know, for tables of their terms.
    pub(super) fn seed(&self) -> u64 {
        RandomState::new().hash_one(self.now_ms)
    }

    /// The position that a source's next item has, where it counts them.
    pub fn position(&self, stream: &str, source: &str) -> Result<Option<u64>, QueryError> {
        let key = (self.stream(stream)?, source.to_owned());
        Ok(self.positions.get(&key).copied())
    }

    /// The number of a source.
    pub(super) fn source(&mut self, name: &str) -> SourceId {
        if let Some(known) = self.sources.get(name) {
            return *known;
        }
        let number = SourceId(self.sources.len() as u64);
        self.sources.insert(name.to_owned(), number);
        number
    }

    /// A source promises that its later items have at least this time.
    pub fn watermark(
        &mut self,
        stream: &str,
        source: &str,
        time_ms: u64,
    ) -> Result<(), QueryError> {
        let id = self.stream(stream)?;
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
        let source = self.source(source);
        self.streams
            .watermark(id, source, Time(time_ms))
            .map_err(refused)
    }

    /// The edge's clock says this.
    pub fn tick(&mut self, now_ms: u64) {
        self.now_ms = self.now_ms.max(now_ms);
        self.streams.tick(Time(now_ms));
    }
}
