//! A stream as a value, and one that is made of it.

use super::Stream;
use crate::batch::OpenBatches;
use crate::definition::Definition;
use crate::image::StreamImage;
use crate::retention::Retained;
use crate::time::{SealPoint, Time};
use crate::vector::Vector;
use std::sync::Arc;

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
