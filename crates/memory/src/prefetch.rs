//! Read prefetch: asks for a cache line before it is needed.
//!
//! A lookup in a table larger than the caches waits about 100 ns for memory; a batch of lookups
//! that first asks for all its lines waits once. So every batched lookup runs in two passes, and
//! the first ends in this call.
//!
//! Invariant: only addresses inside the slice are asked for; an index out of range does nothing,
//! so that callers may prefetch before they have checked an index. On architectures without a
//! known instruction the call is empty.

#![allow(unsafe_code)]

/// Asks for the cache line of `slice[index]`; nothing where `index` is out of range. O(1).
#[inline]
pub fn prefetch<T>(slice: &[T], index: usize) {
    if let Some(item) = slice.get(index) {
        prefetch_line(item);
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn prefetch_line<T>(item: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: PREFETCHT0 is part of SSE, which every x86-64 CPU has. It is a hint: it neither
    // faults nor changes any state that the program can see, whatever the address; and this
    // address is that of a live reference.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline]
fn prefetch_line<T>(item: &T) {
    // SAFETY: PRFM is part of the base instruction set. It is a hint: it neither faults nor
    // changes any state that the program can see, whatever the address; it touches no stack, no
    // flags and no register but its input.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{line}]",
            line = in(reg) std::ptr::from_ref(item),
            options(nostack, preserves_flags, readonly)
        );
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[inline]
fn prefetch_line<T>(_item: &T) {}

#[cfg(test)]
mod tests {
    use super::prefetch;

    #[test]
    fn any_index_is_harmless() {
        let numbers = [1u64, 2, 3];
        for index in [0, 2, 3, usize::MAX] {
            prefetch(&numbers, index);
        }
        prefetch::<u8>(&[], 0);
    }
}
