//! Pages in the host's memory: where kernels read a page that is not on the device, and where copies of it begin.
//!
//! The memory is pinned: it stays where it is, and the device reaches it. Pinning costs about a millisecond for 4 MiB, so it is
//! taken in slabs, and none before a segment has no room on the device. Each slab is drawn on an account first, and stays drawn until the
//! pages are dropped.

use crate::account::Account;
use device::{Device, DeviceError, HostRegion};
use explore::limits::Unlimited;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Bytes of a slab at most.
const SLAB_BYTES: u64 = 64 << 20;

/// A page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostPage {
    slab: u32,
    place: u32,
}

/// See the head of this file.
pub(crate) struct HostPages {
    bits: u32,
    /// Pages that may still be pinned.
    unpinned: u64,
    slabs: Vec<HostRegion>,
    free: Vec<HostPage>,
    account: Account,
    /// Bytes drawn on it.
    drawn: u64,
    /// Whether it did not give the last ones.
    is_refused: bool,
}

impl Drop for HostPages {
    fn drop(&mut self) {
        self.slabs.clear();
        self.account.release(self.drawn);
    }
}

impl HostPages {
    /// Pages of so many bits, in so many bytes at most.
    pub(crate) fn new(bits: u32, bytes: u64) -> HostPages {
        HostPages {
            bits,
            unpinned: bytes >> bits,
            slabs: Vec::new(),
            free: Vec::new(),
            account: Arc::new(Unlimited),
            drawn: 0,
            is_refused: false,
        }
    }

    /// Draws what is pinned on this account, from now on. Asserts that nothing is yet.
    pub(crate) fn draw_on(&mut self, account: Account) {
        assert_eq!(self.drawn, 0, "what was drawn is another account's");
        self.account = account;
    }

    /// What is pinned is drawn on it.
    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    /// Pages that can be had, where the account gives as much.
    pub(crate) fn available(&self) -> u64 {
        self.unpinned + self.free.len() as u64
    }

    /// Whether so many could be had if this many were given back: of what the account has refused nothing is counted on.
    pub(crate) fn may_have(&self, count: usize, given_back: usize) -> bool {
        let unpinned = if self.is_refused { 0 } else { self.unpinned };
        count as u64 <= unpinned + (self.free.len() + given_back) as u64
    }

    /// Takes so many pages; `None`: there are not as many, or the account does not give the memory for them.
    pub(crate) fn take(
        &mut self,
        device: &dyn Device,
        count: usize,
    ) -> Result<Option<Vec<HostPage>>, DeviceError> {
        // What was refused once may be given now.
        self.is_refused = false;
        if self.available() < count as u64 {
            return Ok(None);
        }
        while self.free.len() < count {
            if !self.pin(device, count - self.free.len())? {
                return Ok(None);
            }
        }
        Ok(Some(self.free.split_off(self.free.len() - count)))
    }

    /// Pins a slab more, or as many pages as are missing where the account does not give that much; `false`: not even that.
    fn pin(&mut self, device: &dyn Device, missing: usize) -> Result<bool, DeviceError> {
        let most = self.unpinned.min((SLAB_BYTES >> self.bits).max(1));
        assert!(most > 0, "the caller has asked what is available");
        let gives = |pages: &u64| self.account.try_reserve(pages << self.bits).is_ok();
        let pages = [most, most.min(missing as u64)].into_iter().find(gives);
        self.is_refused = pages.is_none();
        let Some(pages) = pages else {
            return Ok(false);
        };
        let bytes = pages << self.bits;
        let region = device
            .stage(bytes)
            .inspect_err(|_| self.account.release(bytes))?;
        self.drawn += bytes;
        self.unpinned -= pages;
        let slab = self.slabs.len() as u32;
        self.slabs.push(region);
        let places = (0..pages as u32).rev();
        self.free
            .extend(places.map(|place| HostPage { slab, place }));
        Ok(true)
    }

    /// Takes pages back.
    pub(crate) fn release(&mut self, pages: Vec<HostPage>) {
        self.free.extend(pages);
    }

    /// Where a page begins: its slab, and the byte in it.
    pub(crate) fn place(&self, page: HostPage) -> (&HostRegion, u64) {
        let slab = &self.slabs[page.slab as usize];
        (slab, u64::from(page.place) << self.bits)
    }

    /// Where kernels see it.
    pub(crate) fn address(&self, page: HostPage) -> u64 {
        let (slab, at) = self.place(page);
        slab.address() + at
    }

    /// Its words.
    pub(crate) fn words(&self, page: HostPage) -> &[AtomicU64] {
        let (slab, at) = self.place(page);
        let from = (at / 8) as usize;
        &slab.words()[from..from + (1 << self.bits) / 8]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use device::twin::Twin;
    use explore::MemoryBudget;
    use explore::MemoryExceeded;
    use std::sync::atomic::Ordering;

    /// An account on which so many bytes are left.
    pub(in crate::cache) struct Left(pub(in crate::cache) AtomicU64);

    impl MemoryBudget for Left {
        fn try_reserve(&self, bytes: u64) -> Result<(), MemoryExceeded> {
            let take = |left: u64| left.checked_sub(bytes);
            let taken = self
                .0
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
            taken.map(|_| ()).map_err(|used| MemoryExceeded {
                limit_bytes: used,
                used_bytes: 0,
                of_all: true,
            })
        }

        fn release(&self, bytes: u64) {
            self.0.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    #[test]
    fn slabs_are_drawn_on_the_account_until_the_pages_are_gone() {
        let Ok(twin) = Twin::new(1 << 30, 1) else {
            eprintln!("SKIPPED: there is no host twin");
            return;
        };
        let all = 100 << 20;
        let left = Arc::new(Left(AtomicU64::new(all)));
        let mut pages = HostPages::new(20, 1 << 30);
        pages.draw_on(Arc::<Left>::clone(&left));
        let first = pages.take(&twin, 60).expect("nothing fails");
        let first = first.expect("the account has a slab");
        assert_eq!(left.0.load(Ordering::Relaxed), all - SLAB_BYTES);
        let more = pages.take(&twin, 5).expect("nothing fails");
        assert!(
            more.is_some(),
            "one page is missing, and there is room for it"
        );
        assert_eq!(left.0.load(Ordering::Relaxed), all - SLAB_BYTES - (1 << 20));
        let more = pages.take(&twin, 40).expect("nothing fails");
        assert!(more.is_none(), "forty are more than are left");
        assert_eq!(left.0.load(Ordering::Relaxed), all - SLAB_BYTES - (1 << 20));
        assert!(
            !pages.may_have(100, 0),
            "of what was refused nothing is counted on"
        );
        let all_pages = pages.available() as usize;
        let more = pages.take(&twin, all_pages + 1).expect("nothing fails");
        assert!(
            more.is_none() && pages.may_have(all_pages, 0),
            "the account is asked again"
        );
        pages.release(first);
        let again = pages.take(&twin, 60).expect("nothing fails");
        assert!(again.is_some(), "what was given back is there");
        drop(pages);
        assert_eq!(left.0.load(Ordering::Relaxed), all);
        let failing = Twin::new(1 << 30, 1).expect("there is one").failing(
            0,
            device::DeviceError::Refused {
                call: "stage",
                reason: "as planned".to_owned(),
            },
        );
        let mut pages = HostPages::new(20, 1 << 30);
        pages.draw_on(Arc::<Left>::clone(&left));
        assert!(pages.take(&failing, 1).is_err(), "it is refused");
        assert_eq!(left.0.load(Ordering::Relaxed), all, "and nothing is drawn");
    }
}
