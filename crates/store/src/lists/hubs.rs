//! Long lists that many rows meet, as bits: the neighbours of hubs.
//!
//! ```text
//!  ?a knows ?b, ?c      b = hub: 3,000 members, met with a's handful again and again, but never twice in a
//!                       row. Read past its bits, a's handful costs a nanosecond a member; searched for in
//!                       the hub's list, or with the hub's read past a's own bits, twenty times as much.
//! ```
//!
//! A list that row after row asks for is [marked](super::marks) anyway. Hubs come back at random, and a few of
//! them make up most of what is read: on a graph whose degrees fall as `i^(-1/2)` a third of a per cent of the
//! vertices has two thirds of the members that its edges' ends list. So the marks of [`HUBS`] of them are
//! kept; a slot goes to another list once its own has not come back for a while. Marking costs about what one
//! reading of the list does, so a hub that does not come back costs little.
//!
//! Without them triangles and 4-cliques of a million skewed edges took 6 and 10 % longer (2026-11-22,
//! docs/history.md); of 300,000 edges 5 and 15 % by the least of eleven runs each in turn (2026-11-25).
//!
//! 32 KiB a slot, made when first used.

use super::coded::{CodedRows, ListName};
use super::marks::Marks;

/// Slots, by the high bits of a hash.
const HUBS: usize = 1 << HUBS_BITS;
const HUBS_BITS: u32 = 5;
/// A hub's list has at least so many rows, and so many times those of the list that it is met with.
pub(super) const HUB_ROWS_MIN: usize = 128;
pub(super) const HUB_SHARE: usize = 2;
/// How often other lists ask for a slot in vain before one of them gets it.
const STAY_MAX: u8 = 8;

/// One slot.
#[derive(Clone, Debug, Default)]
struct Hub {
    list: Option<ListName>,
    stay: u8,
    marks: Marks,
}

/// Marks of long lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Hubs {
    hubs: Vec<Hub>,
}

impl Hubs {
    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let marks = self.hubs.iter().map(|hub| hub.marks.bytes());
        marks.sum::<usize>() + self.hubs.capacity() * size_of::<Hub>()
    }

    #[cfg(test)]
    pub(super) fn are_used(&self) -> bool {
        self.hubs.iter().any(|hub| hub.list.is_some())
    }

    /// The marks of a list; `None` where its slot is another's.
    #[inline]
    pub(super) fn marks_of(&mut self, list: &CodedRows<'_>) -> Option<&Marks> {
        if self.hubs.is_empty() {
            self.hubs.resize_with(HUBS, Hub::default);
        }
        let name = list.name();
        let hash = (name.0 as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let hub = &mut self.hubs[(hash >> (64 - HUBS_BITS)) as usize];
        if hub.list == Some(name) {
            hub.stay = (hub.stay + 1).min(STAY_MAX);
        } else if hub.stay > 0 {
            hub.stay -= 1;
            return None;
        } else {
            hub.list = Some(name);
            hub.stay = 1;
            hub.marks.mark(list);
        }
        Some(&hub.marks)
    }
}
