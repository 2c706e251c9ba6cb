//! How a stream stands, as a value: enough to go on with it after a restart as if nothing had happened.
//!
//! ```text
//!  items that are still there:  sealed and retained | open
//!                                          visible ^      ^ settled
//! ```
//!
//! A stream that is made of it sees the same items in the same windows, takes the same items as late, and waits for the
//! same sources. Slices, panes and seals on their way are not in it: they are made again. Where a seal was handed out
//! and is not visible yet, it is handed out again. Late items that revise are seen before an image is taken.
//!
//! Only of streams that lie at one part.

use crate::batch::OpenBatches;
use crate::definition::Definition;
use crate::items::Items;
use crate::retention::Retained;
use crate::stream::Stream;
use crate::time::{SealPoint, Time};
use crate::vector::Vector;
use crate::watermark::SourceId;
use std::sync::Arc;

/// See the head of this file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamImage {
    /// When it begins.
    pub begin: Time,
    /// The first item that was ever sealed.
    pub first: Option<Time>,
    /// What came before this is no longer there.
    pub dropped: Option<Time>,
    /// How many sealed items are no longer there (count).
    pub dropped_items: u64,
    /// Up to here it is visible.
    pub visible: SealPoint,
    /// An item before this is late.
    pub settled: SealPoint,
    /// What its sources promise together.
    pub watermark: Time,
    /// What each source promises.
    pub sources: Vec<(SourceId, Time)>,
    /// Sealed items that are still there, by time, and open ones behind them.
    pub items: Items,
    /// Late items that revise and are seen, by time.
    pub revealed: Items,
}

impl Stream {
    /// How it stands.
    pub(crate) fn image(&self) -> StreamImage {
        let mut items = self.retained.items(Time(0)..Time::MAX);
        self.open.open().for_each(|open| items.append(open));
        StreamImage {
            begin: self.begin(),
            first: self.retained.first(),
            dropped: self.retained.dropped(),
            dropped_items: self.retained.dropped_items(),
            visible: self.visible(),
            settled: self.open.settled_point(),
            watermark: self.watermark(),
            sources: self.watermarks.promises(),
            items,
            revealed: self.retained.revealed().clone(),
        }
    }

    /// One that stands so, at one part.
    pub(crate) fn of_image(definition: Definition, image: &StreamImage, now: Time) -> Stream {
        let mut stream = Stream::new(definition, image.begin, now, 1);
        let grain_ms = stream.definition.grain_ms;
        let oldest = image.items.times().iter().min().copied();
        let oldest = oldest.map_or(image.visible, |time| SealPoint::whole(time.0 / grain_ms));
        stream.open = OpenBatches::sealed_until(grain_ms, oldest.min(image.visible));
        stream.retained = Retained::behind(grain_ms, image);
        let late = stream.open.add(&image.items);
        assert!(late.is_empty(), "nothing is older than the oldest");
        stream.open.obey(image.visible);
        while let Some(sealed) = stream.open.next_settled() {
            stream.retained.seal(sealed.until, Arc::new(sealed.items));
        }
        stream.retained.reveal(&image.revealed);
        stream.is_resuming = true;
        stream.vector = Vector::new(1, image.visible);
        stream.open.obey(image.settled);
        // All of them are waited for, before one of them says something.
        for &(source, _) in &image.sources {
            stream.watermarks.join(source, now);
        }
        for &(source, promised) in &image.sources {
            stream.watermarks.hear(source, promised, now);
        }
        stream.watermarks.advance(image.watermark);
        stream
    }
}
