//! A long slice in pieces that several threads look at.
//!
//! One thread reads a column at some 10 GB/s, a machine's memory gives ten times that. Pieces are as long whatever the number of
//! threads, so what is found does not depend on it.

use crate::load::workers;
use std::convert::Infallible;
use std::sync::OnceLock;

/// Items of a piece: some 50 us of looking at them.
const PIECE: usize = 1 << 17;

/// What `look` finds in each piece, in their order. A piece has a multiple of `unit` items (all of them but for the last one's, if
/// the slice has), and after these the first `beyond` items of the next piece.
pub(super) fn of<T: Sync, R: Send + Sync>(
    items: &[T],
    (unit, beyond): (usize, usize),
    threads: usize,
    look: impl Fn(&[T]) -> R + Sync,
) -> Vec<R> {
    let length = PIECE.next_multiple_of(unit);
    let found: Vec<OnceLock<R>> = (0..items.len().div_ceil(length))
        .map(|_| OnceLock::new())
        .collect();
    let looked: Result<(), Infallible> = workers::for_each(threads, found.len(), |piece| {
        let from = piece * length;
        let to = items.len().min(from + length + beyond);
        found[piece].get_or_init(|| look(&items[from..to]));
        Ok(())
    });
    let Ok(()) = looked;
    let found = found.into_iter().map(OnceLock::into_inner);
    found
        .map(|found| found.expect("each piece was looked at"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_units_and_see_what_begins_the_next_one() {
        let items: Vec<u64> = (0..2 * PIECE as u64 + 1000).collect();
        for threads in [1, 3] {
            let found = of(&items, (7, 1), threads, <[u64]>::to_vec);
            let length = PIECE.next_multiple_of(7);
            assert_eq!(found.len(), 3);
            for (place, piece) in found.iter().enumerate() {
                let end = items.len().min((place + 1) * length + 1);
                assert_eq!(piece, &items[place * length..end]);
            }
        }
        assert_eq!(of(&items[..0], (1, 0), 4, |_| ()).len(), 0);
    }
}
