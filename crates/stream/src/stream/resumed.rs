//! A stream as a value, and one that is made of it.

use super::Stream;
use crate::batch::OpenBatches;
use crate::definition::Definition;
use crate::image::{ImageItems, ImagePart, StreamImage};
use crate::items::Items;
use crate::retention::Retained;
use crate::time::{SealPoint, Time};
use crate::vector::Vector;
use std::sync::Arc;

impl Stream {
    /// How it stands.
    pub(crate) fn image(&self) -> StreamImage {
        let mut items = self.retained.image();
        let open = self.open.open().cloned().map(Arc::new);
        items.extend(open.map(ImagePart::Plain));
        StreamImage {
            begin: self.begin(),
            first: self.retained.first(),
            dropped: self.retained.dropped(),
            dropped_items: self.retained.dropped_items(),
            visible: self.visible(),
            settled: self.open.settled_point(),
            watermark: self.watermark(),
            sources: self.watermarks.promises(),
            items: ImageItems::of(items),
            revealed: self.retained.revealed().clone(),
            gaps: self.retained.gaps().spans(),
        }
    }

    /// One that stands so, at one part.
    pub(crate) fn of_image(definition: Definition, image: &StreamImage, now: Time) -> Stream {
        let mut stream = Stream::new(definition, image.begin, now, 1);
        let grain_ms = stream.definition.grain_ms;
        let first = |items: &Items| items.times().iter().min().copied();
        let oldest = image.items.parts().filter_map(|part| first(&part)).min();
        let oldest = oldest.map_or(image.visible, |time| SealPoint::whole(time.0 / grain_ms));
        stream.open = OpenBatches::sealed_until(grain_ms, oldest.min(image.visible));
        stream.retained = Retained::behind(grain_ms, image);
        // Part by part, so that what is sealed is held as columns before all is read.
        for part in image.items.parts() {
            let end = first(&part).unwrap_or_default();
            stream.restore_until(SealPoint::before(end, grain_ms, false).min(image.visible));
            let late = stream.open.add(&part);
            assert!(
                late.is_empty(),
                "parts ascend, and nothing is older than the oldest"
            );
        }
        stream.restore_until(image.visible);
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

    /// Seals what is before a point, as it was sealed before.
    fn restore_until(&mut self, point: SealPoint) {
        self.open.obey(point);
        while let Some(sealed) = self.open.next_settled() {
            self.retained.seal(sealed.until, Arc::new(sealed.items));
        }
    }
}
