//! What a query needs on a device that is not there yet, or lies there as is not best for it.
//!
//! Looking a segment through takes as long as reading it, and bringing it as long again: up to a second, in which the processors would have
//! answered. So whoever has others waiting asks for a section that brings nothing, is told what is missing, and has somebody else
//! bring it ([`Gpu::bring`](crate::Gpu::bring)) for the queries that come.

use crate::access::Access;
use crate::cache::Lease;
use crate::error::GpuError;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::SegmentKey;

/// Segments that are not on the device, or are to lie there otherwise. What is known of them stays so until it is dropped.
pub struct Need {
    pub(crate) what: Needed,
}

pub(crate) enum Needed {
    /// These were never looked through.
    Looks(Vec<SegmentKey>),
    /// A program reads these, so.
    Places {
        numbers: Vec<u32>,
        accesses: Vec<Access>,
        /// So that the numbers mean the same.
        lease: Lease,
        /// Whether they are there, and the section that said so has begun.
        has_begun: bool,
    },
}

/// How often it is said that something has no room before that is tried again.
const SAID: u32 = 1024;

/// Refusals that are remembered.
const REFUSALS: usize = 16;

/// What could not be brought last, and why: told to whoever misses the same. A failure is told once.
#[derive(Default)]
pub(crate) struct Refused {
    last: Mutex<Vec<Refusal>>,
}

struct Refusal {
    missed: Missed,
    why: GpuError,
    /// How often it was told.
    said: u32,
}

#[derive(PartialEq, Eq)]
pub(crate) enum Missed {
    Keys(Vec<SegmentKey>),
    /// Of the base: what layers have made of them changes.
    Numbers(Vec<u32>),
}

impl Refused {
    /// These could not be brought.
    pub(crate) fn put(&self, missed: Missed, why: GpuError) {
        let mut last = self.locked();
        last.retain(|refusal| refusal.missed != missed);
        if last.len() == REFUSALS {
            last.remove(0);
        }
        last.push(Refusal {
            missed,
            why,
            said: 0,
        });
    }

    /// Why these could not.
    pub(crate) fn take(&self, missed: &Missed) -> Option<GpuError> {
        let mut last = self.locked();
        let place = last.iter().position(|refusal| refusal.missed == *missed)?;
        let refusal = &mut last[place];
        refusal.said += 1;
        match refusal.why {
            GpuError::NoRoom { asked, free } if refusal.said < SAID => {
                Some(GpuError::NoRoom { asked, free })
            }
            _ => Some(last.remove(place).why),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Refusal>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Need {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Needed::Looks(keys) => formatter.debug_tuple("Looks").field(keys).finish(),
            Needed::Places { numbers, .. } => {
                formatter.debug_tuple("Places").field(numbers).finish()
            }
        }
    }
}
