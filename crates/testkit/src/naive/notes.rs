//! What the naive evaluation noticed on its way: where the other oracle is known to be of another
//! opinion, and why there is no expected answer at all.
//!
//! Notes are taken through a shared reference, because expressions are evaluated deep inside
//! nested loops; the first of each kind is kept.

use super::NaiveError;
use std::cell::{Cell, RefCell};

/// The notes of one evaluation.
#[derive(Debug, Default)]
pub(super) struct Notes {
    differs: Cell<Option<&'static str>>,
    failure: RefCell<Option<NaiveError>>,
}

impl Notes {
    /// Something was met in which `spareval` deviates from the specification.
    pub(super) fn spareval_differs(&self, why: &'static str) {
        self.differs.set(self.differs.get().or(Some(why)));
    }

    /// Something was met that is not evaluated here.
    pub(super) fn unsupported(&self, what: &'static str) {
        self.fail(NaiveError::Unsupported(what));
    }

    /// The specification allows several answers, and which one it is matters for the rest.
    pub(super) fn undetermined(&self, why: &'static str) {
        self.fail(NaiveError::Undetermined(why));
    }

    /// There is no expected answer.
    pub(super) fn fail(&self, error: NaiveError) {
        self.failure.borrow_mut().get_or_insert(error);
    }

    /// Where the other oracle may differ, and why.
    pub(super) fn difference(&self) -> Option<&'static str> {
        self.differs.get()
    }

    /// Whether the evaluation can go on.
    pub(super) fn check(&self) -> Result<(), NaiveError> {
        self.failure.borrow().clone().map_or(Ok(()), Err)
    }
}
