//! Growing tables that draw on the budget before they grow, and never copy much at once.
//!
//! A [`Paged`] column has pages of [`PAGE`] items. The first grows by doubling, as a vector does, so
//! that a small table is small; a further one costs the budget one page. So memory is not twice what
//! is held while growing, and no push takes longer than copying a page. Reading an item costs two
//! loads in place of one, the first of which is always in cache.

use crate::error::WalkError;
use crate::limits::{Effort, Limits, Reservation};

/// Items of a page. A power of two.
const PAGE: usize = 1 << 14;

/// Items of the smallest page.
const SMALLEST: usize = 16;
const _: () = assert!(
    PAGE.is_power_of_two() && SMALLEST.is_power_of_two() && SMALLEST <= PAGE,
    "a first page grows up to a whole one"
);

/// Counts the bytes of several tables and draws them on the budget.
pub(crate) struct Meter<'a> {
    reservation: Reservation<'a>,
    bytes: u64,
    limits: Limits<'a>,
    effort: Effort,
}

impl<'a> Meter<'a> {
    /// Nothing is held yet.
    pub(crate) fn new(limits: Limits<'a>) -> Meter<'a> {
        Meter {
            reservation: Reservation::new(limits),
            bytes: 0,
            limits,
            effort: Effort::default(),
        }
    }

    /// Says that so many bytes more are about to be held.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), WalkError> {
        self.bytes += bytes as u64;
        self.reservation.cover(self.bytes)
    }

    /// Says that so many bytes are held no more. They stay drawn, for what grows next.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        self.bytes -= bytes as u64;
    }

    /// Says that work of about `nanoseconds` is done.
    pub(crate) fn spend(&mut self, nanoseconds: u64) -> Result<(), WalkError> {
        match nanoseconds {
            0 => Ok(()),
            nanoseconds => self.effort.spend(nanoseconds, &self.limits),
        }
    }

    /// An error once the query has to end.
    pub(crate) fn check(&self) -> Result<(), WalkError> {
        self.limits.check()
    }

    /// Says that nothing is held any more, and gives everything back.
    pub(crate) fn clear(&mut self) {
        self.bytes = 0;
        self.reservation.clear();
    }
}

/// A growing column.
pub(crate) struct Paged<T> {
    pages: Vec<Vec<T>>,
    len: usize,
}

impl<T> Default for Paged<T> {
    fn default() -> Self {
        Paged {
            pages: Vec::new(),
            len: 0,
        }
    }
}

impl<T> Paged<T> {
    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that were drawn for the items.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.iter().map(Vec::capacity).sum::<usize>() * size_of::<T>()
    }

    /// The item at `at`; asserts that there is one.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> &T {
        &self.pages[at / PAGE][at % PAGE]
    }

    /// The item at `at`, to be changed; asserts that there is one.
    #[inline]
    pub(crate) fn get_mut(&mut self, at: usize) -> &mut T {
        &mut self.pages[at / PAGE][at % PAGE]
    }

    /// Appends an item.
    pub(crate) fn push(&mut self, item: T, meter: &mut Meter<'_>) -> Result<(), WalkError> {
        if self.len.is_multiple_of(PAGE) {
            self.pages.push(Vec::new());
        }
        let is_first = self.pages.len() == 1;
        let page = self.pages.last_mut().expect("a page was pushed");
        if page.len() == page.capacity() {
            let held = page.capacity();
            let wanted = if is_first {
                (2 * held).max(SMALLEST)
            } else {
                PAGE
            };
            meter.grow(wanted * size_of::<T>())?;
            page.reserve_exact(wanted - held);
            meter.shrink(held * size_of::<T>());
        }
        page.push(item);
        self.len += 1;
        Ok(())
    }

    /// Appends items until there are `len`.
    pub(crate) fn extend_to(
        &mut self,
        len: usize,
        item: impl Fn() -> T,
        meter: &mut Meter<'_>,
    ) -> Result<(), WalkError> {
        while self.len < len {
            self.push(item(), meter)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stay_where_they_are_put() {
        let mut meter = Meter::new(Limits::none());
        let mut paged = Paged::default();
        for item in 0..3 * PAGE + 7 {
            paged.push(item, &mut meter).expect("no limit");
        }
        assert_eq!(paged.len(), 3 * PAGE + 7);
        assert!((0..paged.len()).all(|at| *paged.get(at) == at));
        *paged.get_mut(PAGE) = 1;
        assert_eq!(*paged.get(PAGE), 1);
        let held = (4 * PAGE * size_of::<usize>()) as u64;
        assert_eq!(meter.bytes, held, "what is held is what was drawn");
    }
}
