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

use crate::items::Items;
use crate::time::{SealPoint, Time};
use crate::watermark::SourceId;

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
