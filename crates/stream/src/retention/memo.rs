//! What windows of the last evaluations were made of.
//!
//! Queries over the same part of a stream ask for the same cuts one after the other, and what lies between two cuts changes
//! only with what is retained. So the pieces of the last few are kept until something changes; whoever finds them shares
//! one list of slices, which tells equal windows by its address.
//!
//! Invariant: [`Memo::forget`] is called before anything that pieces are made of changes.

use super::{Cut, Pieces};

/// Pairs of cuts that are remembered: windows of different lengths that close together.
const KEPT_MAX: usize = 16;

/// See the head of this file.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo {
    kept: Vec<(Cut, Cut, Pieces)>,
}

impl Memo {
    /// What lies between two cuts, if it is known.
    pub(super) fn find(&self, from: Cut, to: Cut) -> Option<Pieces> {
        let mut kept = self.kept.iter();
        let found = kept.find(|known| (known.0, known.1) == (from, to))?;
        Some(found.2.clone())
    }

    /// Keeps it.
    pub(super) fn keep(&mut self, from: Cut, to: Cut, pieces: &Pieces) {
        if self.kept.len() == KEPT_MAX {
            self.kept.remove(0);
        }
        self.kept.push((from, to, pieces.clone()));
    }

    /// Something has changed.
    pub(super) fn forget(&mut self) {
        self.kept.clear();
    }
}
