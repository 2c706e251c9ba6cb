//! Bytes of a mapped file that are gone: damage instead of the end of the process.
//!
//! Somebody cuts a file that is mapped, or a device no longer gives a page that the kernel has
//! dropped: the next touch of such a page raises `SIGBUS`, which ends a process. The handler here puts
//! zeros in place of the page, marks the region as damaged, and lets the touch go on.
//!
//! Invariant: whoever may have seen one of those zeros finds the mark when it looks afterwards. The mark
//! is set before the zeros are put in place, and it stays until the region is unmapped. So a reader
//! trusts what it has made of a region only after it asked [`Region::is_damaged`](crate::Region::is_damaged);
//! [`fault_count`] says in one load that no region of this process needs to be asked.
//!
//! The list of regions is process-wide, as a signal's handler is. A handler may take no lock and no
//! memory, because the signal may have come within either. So the list is a fixed array of atomics:
//!
//! | field | writers | readers | order |
//! |---|---|---|---|
//! | `start` | who maps (0 to `CLAIMED`, then to the address), who unmaps (to 0) | handler | release, acquire: `end` is whole wherever an address is seen |
//! | `end`, `faults` | who has claimed the slot; the handler counts `faults` | handler | behind `start` |
//! | `is_damaged` | who has claimed the slot (false); handler, [`RegionEntry::condemn`] (true) | all | sequentially consistent |
//! | `FAULTS` | handler, [`RegionEntry::condemn`], by one | all | sequentially consistent |
//!
//! A slot is given back before its region is unmapped, so no slot names foreign memory. A region that
//! finds no free slot is mapped all the same, and a fault in it ends the process as before.
//!
//! The *n*-th fault of a region replaces 2^*n* pages, as far as the region reaches: a kernel allows a
//! process some 65,000 mappings, and a region that is damaged is not served in any case.
//!
//! What no handler sees: the bytes behind the new end within its last page, which the kernel shows as
//! zeros. [`Region::is_shortened`](crate::Region::is_shortened) asks for the file's length; whoever
//! serves a store asks it now and then.
//!
//! Cost: mapping and unmapping search a slot, some microseconds at most. Reading costs nothing.
//!
//! Linux only; elsewhere [`survive_bus_errors`] says that it is not supported.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Regions that are watched at once. A store has some 25 files, and regions of generations that
/// were replaced live as long as their readers.
const SLOTS: usize = 4096;
/// In `start`: somebody fills the slot.
const CLAIMED: usize = 1;

/// One region, as the handler finds it.
struct Slot {
    start: AtomicUsize,
    end: AtomicUsize,
    faults: AtomicU32,
    is_damaged: AtomicBool,
}

static REGIONS: [Slot; SLOTS] = [const {
    Slot {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        faults: AtomicU32::new(0),
        is_damaged: AtomicBool::new(false),
    }
}; SLOTS];
static FAULTS: AtomicU64 = AtomicU64::new(0);

/// How often a region of this process was found to be damaged after it had been mapped. One load: where
/// it is 0, no region has to be asked.
#[inline]
pub fn fault_count() -> u64 {
    FAULTS.load(Ordering::SeqCst)
}

/// The place of one mapped region in the list. Dropped before the region is unmapped.
pub(crate) struct RegionEntry {
    /// `None`: the list was full.
    slot: Option<&'static Slot>,
    /// The mark of a region without a slot.
    is_condemned: AtomicBool,
}

impl RegionEntry {
    /// Watches `len` bytes of a map from `start` on.
    pub(crate) fn new(start: usize, len: usize) -> RegionEntry {
        let claim = |slot: &&Slot| {
            let (free, claimed) = (Ordering::Acquire, Ordering::Relaxed);
            slot.start
                .compare_exchange(0, CLAIMED, free, claimed)
                .is_ok()
        };
        let slot = REGIONS.iter().find(claim);
        if let Some(slot) = slot {
            slot.end.store(start + len, Ordering::Relaxed);
            slot.faults.store(0, Ordering::Relaxed);
            slot.is_damaged.store(false, Ordering::SeqCst);
            slot.start.store(start, Ordering::Release);
        }
        RegionEntry {
            slot,
            is_condemned: AtomicBool::new(false),
        }
    }

    fn mark(&self) -> &AtomicBool {
        self.slot
            .map_or(&self.is_condemned, |slot| &slot.is_damaged)
    }

    /// Whether bytes of the region are gone.
    pub(crate) fn is_damaged(&self) -> bool {
        self.mark().load(Ordering::SeqCst)
    }

    /// Marks the region as the handler would.
    pub(crate) fn condemn(&self) {
        self.mark().store(true, Ordering::SeqCst);
        FAULTS.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for RegionEntry {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            slot.start.store(0, Ordering::Release);
        }
    }
}

/// The watched region that holds an address.
#[cfg(target_os = "linux")]
fn find(address: usize) -> Option<(&'static Slot, usize)> {
    REGIONS.iter().find_map(|slot| {
        let start = slot.start.load(Ordering::Acquire);
        if start <= CLAIMED || address < start {
            return None;
        }
        let end = slot.end.load(Ordering::Acquire);
        // The slot may have been given to another region between the two loads.
        let is_same = slot.start.load(Ordering::Acquire) == start;
        (address < end && is_same).then_some((slot, end))
    })
}

#[cfg(target_os = "linux")]
pub use linux::survive_bus_errors;

/// Not supported here: a fault ends the process.
#[cfg(not(target_os = "linux"))]
pub fn survive_bus_errors() -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{FAULTS, find};
    use std::ffi::{c_int, c_void};
    use std::io;
    use std::mem::MaybeUninit;
    use std::sync::OnceLock;
    use std::sync::atomic::Ordering;

    /// What there was before, and the size of a page: set before the handler is.
    static PREVIOUS: OnceLock<(libc::sigaction, usize)> = OnceLock::new();

    /// From now on damage of mapped files is marked instead of ending the process; see the module's
    /// documentation for what readers then have to ask. For the process as a whole, once; a second
    /// call changes nothing. Faults elsewhere go to whoever handled them before.
    pub fn survive_bus_errors() -> io::Result<()> {
        let mut is_first = false;
        let mut failed = None;
        PREVIOUS.get_or_init(|| {
            is_first = true;
            let mut previous = MaybeUninit::zeroed();
            // SAFETY: the pointer is to a whole `sigaction` that the call fills; a null pointer in
            // place of the new action asks for the old one only.
            let asked =
                unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), previous.as_mut_ptr()) };
            if asked != 0 {
                failed = Some(io::Error::last_os_error());
            }
            // SAFETY: all zeros is a valid `sigaction` (the default action, no flags), and the call
            // wrote a valid one over it.
            let previous = unsafe { previous.assume_init() };
            // SAFETY: a call without pointers.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            (previous, usize::try_from(page).unwrap_or(4096))
        });
        match failed {
            Some(error) => Err(error),
            None if is_first => install(),
            None => Ok(()),
        }
    }

    fn install() -> io::Result<()> {
        // SAFETY: all zeros is a valid `sigaction`: no flags, an empty set of signals.
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_bus_error;
        action.sa_sigaction = handler as usize;
        // On the stack for signals where a thread has one: the action before this one may be the
        // runtime's, which tells an overflow of the stack by it.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: `action` is whole and names a handler of the form that SA_SIGINFO asks for, which
        // makes only calls that are allowed in a handler (see there).
        let done =
            unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
        if done == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Takes no lock and no memory: atomics, one system call, and the thread's `errno`, which is kept.
    extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: with SA_SIGINFO the kernel passes a pointer to a whole `siginfo_t`.
        let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
        // Zero and below: somebody sent the signal, and there is no address.
        if code > 0 && replace(address) {
            return;
        }
        pass_on(signal, info, context);
    }

    /// Marks the region that holds the address and puts zeros there; false where there is none.
    fn replace(address: usize) -> bool {
        let Some(((slot, end), (_, page))) = find(address).zip(PREVIOUS.get()) else {
            return false;
        };
        // Before the zeros are there: whoever reads them finds the mark.
        slot.is_damaged.store(true, Ordering::SeqCst);
        FAULTS.fetch_add(1, Ordering::SeqCst);
        let faults = slot.faults.fetch_add(1, Ordering::SeqCst).min(40);
        let start = address & !(page - 1);
        let len = (end - start).next_multiple_of(*page).min(page << faults);
        // SAFETY: reading the thread's `errno`, which always exists.
        let errno = unsafe { *libc::__errno_location() };
        // SAFETY: the range begins at a page of a region that a reader holds, for it has just
        // touched it, and ends within the last page of that region. So nothing else is mapped
        // there, and unmapping the region unmaps this, too. Readers of the region see other bytes
        // than before: the same that a truncated file does to them, and every format decoded from
        // a region bounds-checks what it reads.
        let mapped = unsafe {
            libc::mmap(
                start as *mut c_void,
                len,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        // SAFETY: as above; what the thread was doing may look at it.
        unsafe { *libc::__errno_location() = errno };
        mapped != libc::MAP_FAILED
    }

    /// Does what would have been done without this handler.
    fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let previous = PREVIOUS.get().map(|(previous, _)| previous);
        match previous {
            Some(previous)
                if previous.sa_sigaction != libc::SIG_DFL
                    && previous.sa_sigaction != libc::SIG_IGN =>
            {
                if previous.sa_flags & libc::SA_SIGINFO != 0 {
                    // SAFETY: an action with SA_SIGINFO holds a function of this form, and it is
                    // called as the kernel would have.
                    let handler = unsafe {
                        std::mem::transmute::<
                            usize,
                            extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void),
                        >(previous.sa_sigaction)
                    };
                    handler(signal, info, context);
                } else {
                    // SAFETY: an action without SA_SIGINFO holds a function of this form.
                    let handler = unsafe {
                        std::mem::transmute::<usize, extern "C" fn(c_int)>(previous.sa_sigaction)
                    };
                    handler(signal);
                }
            }
            // SAFETY: both are allowed in a handler; the signal that is raised here is delivered
            // when the handler returns, and ends the process.
            _ => unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            },
        }
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;
    use crate::Region;
    use std::io::Write;

    const PAGE: usize = 4096;

    fn file(pages: usize) -> std::fs::File {
        let mut file = tempfile::tempfile().expect("a temporary file can be made");
        let written = file.write_all(&vec![7; pages * PAGE]);
        written.expect("it can be written");
        file
    }

    #[test]
    fn a_file_that_is_cut_marks_its_region_and_no_other() {
        survive_bus_errors().unwrap();
        survive_bus_errors().unwrap();
        let (cut, whole) = (file(64), file(64));
        let (region, other) = (Region::map(&cut).unwrap(), Region::map(&whole).unwrap());
        let before = fault_count();
        cut.set_len(PAGE as u64).unwrap();
        assert!(!region.is_damaged());
        // From behind, from ahead, by several threads.
        std::thread::scope(|scope| {
            for places in [[63, 40, 2], [3, 5, 63], [40, 2, 3]] {
                let bytes = region.bytes();
                scope.spawn(move || {
                    for place in places {
                        assert_eq!(bytes[place * PAGE + 11], 0);
                    }
                });
            }
        });
        assert!(region.is_damaged());
        assert!(fault_count() > before);
        assert_eq!(region.bytes()[0], 7);
        assert!(!other.is_damaged());
        assert!(other.bytes().iter().all(|&byte| byte == 7));
        // The place is used again by a region that is whole.
        drop(region);
        let again = Region::map(&whole).unwrap();
        assert!(!again.is_damaged());
        assert!(again.slice(3..9).unwrap().bytes().iter().all(|&b| b == 7));
    }

    #[test]
    fn bytes_that_no_fault_tells_of_are_found_by_the_length() {
        let cut = file(2);
        let region = Region::map(&cut).unwrap();
        let slice = region.slice(PAGE..2 * PAGE).unwrap();
        assert!(!slice.is_shortened());
        cut.set_len(2 * PAGE as u64 - 10).unwrap();
        assert!(slice.is_shortened() && slice.is_damaged() && region.is_damaged());
        assert!(!Region::heap(&[1, 2]).unwrap().is_shortened());
    }

    #[test]
    fn more_regions_than_slots_are_mapped() {
        let file = file(1);
        let regions: Vec<Region> = (0..64).map(|_| Region::map(&file).unwrap()).collect();
        assert!(regions.iter().all(|region| region.bytes()[PAGE - 1] == 7));
        let watch = RegionEntry {
            slot: None,
            is_condemned: AtomicBool::new(false),
        };
        assert!(!watch.is_damaged());
        watch.condemn();
        assert!(watch.is_damaged());
    }
}
