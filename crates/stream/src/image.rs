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

use std::borrow::Cow;
use std::sync::Arc;

use crate::columns::Columns;
use crate::items::Items;
use crate::time::{SealPoint, Time};
use crate::watermark::SourceId;
use store::slice::Slice;

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
    pub items: ImageItems,
    /// Late items that revise and are seen, by time.
    pub revealed: Items,
    /// When something should have come and found no room: the first and the last moment of each span, ascending.
    pub gaps: Vec<(Time, Time)>,
}

/// The items of a stream as it holds them: taking an image copies little, and whoever writes it has the items of one batch at
/// a time.
#[derive(Clone, Debug, Default)]
pub struct ImageItems {
    parts: Vec<ImagePart>,
}

#[derive(Clone, Debug)]
pub(crate) enum ImagePart {
    Plain(Arc<Items>),
    Columns(Columns, Arc<Slice>),
}

impl ImageItems {
    pub(crate) fn of(parts: Vec<ImagePart>) -> ImageItems {
        ImageItems { parts }
    }

    /// The items of one part after the other.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = Cow<'_, Items>> {
        self.parts.iter().map(|part| match part {
            ImagePart::Plain(items) => Cow::Borrowed(&**items),
            ImagePart::Columns(columns, slice) => {
                Cow::Owned(columns.items(0..columns.len(), slice))
            }
        })
    }
}

impl From<Items> for ImageItems {
    fn from(items: Items) -> ImageItems {
        ImageItems::of(vec![ImagePart::Plain(Arc::new(items))])
    }
}

/// Of the same items, however they are held.
impl PartialEq for ImageItems {
    fn eq(&self, other: &ImageItems) -> bool {
        let all = |image: &ImageItems| {
            let mut items = Items::new();
            image.parts().for_each(|part| items.append(&part));
            items
        };
        all(self) == all(other)
    }
}

impl Eq for ImageItems {}
