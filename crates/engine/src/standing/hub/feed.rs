//! What comes into a hub: items, promises of sources, and the time.

use super::super::items::{BlankScope, TimedQuads, ids_of};
use super::{Hub, refused};
use crate::change::with_dictionary;
use crate::error::{Kind, QueryError};
use stream::{Accepted, Items, SourceId, Time};

/// The latest time of an item (milliseconds): instants behind it are numbers still.
const TIME_MAX_MS: u64 = 1 << 62;

impl Hub {
    /// Takes items of a source of a stream, all or none. Blank nodes are those of `scope`, or of each item.
    pub fn push(
        &mut self,
        stream: &str,
        source: &str,
        mut scope: Option<&mut BlankScope>,
        items: &[TimedQuads],
    ) -> Result<Accepted, QueryError> {
        let id = self.stream(stream)?;
        if let Some(item) = items.iter().find(|item| item.time_ms > TIME_MAX_MS) {
            let message = format!("an item's time is {} ms: that is no date", item.time_ms);
            return Err(QueryError::new(Kind::Syntax, message)
                .with_hint("times are milliseconds since 1970"));
        }
        let numbered = with_dictionary(&self.database, |live| {
            let mut numbered = Items::new();
            for item in items {
                let mut own = BlankScope::default();
                let scope = scope.as_deref_mut().unwrap_or(&mut own);
                let quads = ids_of(live, scope, &item.quads)?;
                numbered.add(Time(item.time_ms), &quads);
            }
            Ok(numbered)
        })?;
        let source = self.source(source);
        self.streams.push(id, source, &numbered).map_err(refused)
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
        let source = self.source(source);
        self.streams
            .watermark(id, source, Time(time_ms))
            .map_err(refused)
    }

    /// The edge's clock says this.
    pub fn tick(&mut self, now_ms: u64) {
        self.streams.tick(Time(now_ms));
    }
}
