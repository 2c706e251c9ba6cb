//! The windows of the evaluations at one close, each made once.
//!
//! A [`Window`] is more than its slices: the predicates of all of them, and which slice has a segment of each. Making that
//! takes as long as a selective query's whole walk, and all queries over the same part of a stream need the same, so it is kept
//! from the evaluation that first needs it to the next close.
//!
//! Invariant: a window is found by the addresses of its lists of slices, which equal windows share ([`stream::Content`]), and
//! what is kept holds these, so that an address is that of no other list. What no evaluation of the last close asked for is
//! dropped with the first of the next, so slices outlive their stream's by one close at most.

use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;
use store::{Slice, Window};
use stream::Time;

/// The slices of a window of a query.
pub(super) type Slices = Arc<[Arc<Slice>]>;

/// Whether a window is a bag, and the addresses of what it is made of.
type Key = (bool, SmallVec<[usize; 4]>);

/// See the head of this file.
#[derive(Default)]
pub(super) struct Windows {
    made: HashMap<Key, Made>,
    /// The close of the evaluations that ask now.
    close: Time,
}

struct Made {
    window: Window,
    /// What its key names.
    _slices: Vec<Slices>,
    /// The last close at which it was asked for.
    used: Time,
}

impl Windows {
    /// The window of these slices, for an evaluation at `close`.
    pub(super) fn window(&mut self, close: Time, slices: &[&Slices], is_bag: bool) -> Window {
        if close != self.close {
            let last = std::mem::replace(&mut self.close, close);
            self.made.retain(|_, made| made.used == last);
        }
        let addresses = slices.iter().map(|list| list.as_ptr() as usize);
        let key = (is_bag, addresses.collect());
        let made = self.made.entry(key).or_insert_with(|| {
            let all = slices.iter().flat_map(|list| list.iter().cloned());
            let window = if is_bag {
                Window::bag(all.collect())
            } else {
                Window::new(all.collect())
            };
            Made {
                window,
                _slices: slices.iter().map(|list| Arc::clone(list)).collect(),
                used: close,
            }
        });
        made.used = close;
        made.window.clone()
    }

    /// What the windows hold beside their slices (bytes).
    pub(super) fn bytes(&self) -> u64 {
        let made = self.made.values();
        made.map(|made| made.window.index_bytes()).sum()
    }

    /// Drops all: what they are of may be gone.
    pub(super) fn clear(&mut self) {
        self.made.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdf::{Tag, VertexId};
    use store::view::GraphScope;

    fn slices(numbers: &[u64]) -> Slices {
        let slice = |&number: &u64| {
            let id = VertexId::new(Tag::Iri, number);
            Arc::new(Slice::of(&[(id, id, id, GraphScope::DEFAULT_GRAPH)]))
        };
        numbers.iter().map(slice).collect()
    }

    #[test]
    fn a_window_is_made_once_for_a_close_and_kept_to_the_next() {
        let mut windows = Windows::default();
        let [one, other] = [slices(&[1, 2]), slices(&[3])];
        let first = windows.window(Time(1), &[&one, &other], false);
        let again = windows.window(Time(1), &[&one, &other], false);
        assert!(std::ptr::eq(first.slices(), again.slices()));
        assert_eq!(first.slices().len(), 3);
        let part = windows.window(Time(1), &[&one], false);
        assert_eq!((part.slices().len(), windows.made.len()), (2, 2));
        let next = windows.window(Time(2), &[&one, &other], false);
        assert!(std::ptr::eq(first.slices(), next.slices()));
        windows.window(Time(3), &[&other], false);
        assert_eq!(windows.made.len(), 2, "`part` was not asked for at 2");
        windows.window(Time(4), &[&other], false);
        assert_eq!(Arc::strong_count(&one), 1, "nobody but this test has it");
        assert_eq!(
            Arc::strong_count(&other),
            2,
            "what is kept holds its slices"
        );
        windows.clear();
        assert_eq!(Arc::strong_count(&other), 1);
    }
}
