//! Memory that a change holds, taken from its request's budget before it is used.
//!
//! Invariant: what a [`Charge`] has taken is given back when it is dropped, whatever became of the
//! change. So an evaluation that is given up and begun again is not counted twice.

use crate::budget::Budget;
use crate::error::QueryError;
use explore::{MemoryBudget, WalkError};
use std::sync::Arc;

/// Bytes taken from a budget.
pub(crate) struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Charge {
    /// Nothing yet.
    pub(crate) fn new(budget: &Arc<Budget>) -> Charge {
        Charge {
            budget: Arc::clone(budget),
            bytes: 0,
        }
    }

    /// What it takes from.
    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Bytes that it has taken.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes more.
    pub(crate) fn grow(&mut self, bytes: u64) -> Result<(), QueryError> {
        take(&self.budget, bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Gives a part back.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.budget.release(bytes);
        self.bytes -= bytes;
    }

    /// Gives all back.
    pub(crate) fn clear(&mut self) {
        self.shrink(self.bytes);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Takes memory for a change from its budget.
pub(crate) fn take(budget: &Budget, bytes: u64) -> Result<(), QueryError> {
    budget.try_reserve(bytes).map_err(|refused| {
        QueryError::from(WalkError::from(refused))
            .with_hint("change less in one request, or raise the memory of a query")
    })
}
