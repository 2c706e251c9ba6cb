//! What the naive evaluation noticed on its way: where the other oracle is known to be of another
//! opinion, and what is not evaluated here at all.
//!
//! Notes are taken through a shared reference, because expressions are evaluated deep inside
//! nested loops; the first of each kind is kept.

use std::cell::Cell;

/// The notes of one evaluation.
#[derive(Debug, Default)]
pub(super) struct Notes {
    differs: Cell<Option<&'static str>>,
    unsupported: Cell<Option<&'static str>>,
}

impl Notes {
    /// A value was met for which `spareval` deviates from the specification.
    pub(super) fn spareval_differs(&self, why: &'static str) {
        self.differs.set(self.differs.get().or(Some(why)));
    }

    /// Something was met that is not evaluated here.
    pub(super) fn unsupported(&self, what: &'static str) {
        self.unsupported.set(self.unsupported.get().or(Some(what)));
    }

    /// Whether the other oracle may differ.
    pub(super) fn differs(&self) -> bool {
        self.differs.get().is_some()
    }

    /// What was not evaluated.
    pub(super) fn missing(&self) -> Option<&'static str> {
        self.unsupported.get()
    }
}
