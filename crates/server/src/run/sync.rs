//! What threads and tasks share, and the time that passes meanwhile: the standard library's and `tokio`'s, or those of
//! `shuttle` where a model of the protocol is checked.
//!
//! Feature `model` is for `cargo xtask model` alone: every other build has the aliases of this file and nothing more, so
//! the code that is checked is the code that runs. Only what takes part in a protocol that has a model comes from here.
//!
//! Faults are planted in the types of the model ([`model::Fault`]) and not in the code, which has no switch for them.

#[cfg(feature = "model")]
pub(crate) mod model;

#[cfg(feature = "model")]
pub(crate) use {
    model::{Condvar, Mutex, MutexGuard, Notify, now, sleep, sleep_until, timeout},
    shuttle::sync::atomic::{AtomicBool, AtomicU64},
};

#[cfg(not(feature = "model"))]
pub(crate) use {
    std::sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64},
    },
    tokio::{
        sync::Notify,
        time::{sleep, timeout},
    },
};

use std::time::{Duration, Instant};

/// The time.
#[cfg(not(feature = "model"))]
#[inline]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits until then.
#[cfg(not(feature = "model"))]
pub(crate) async fn sleep_until(due: Instant) {
    tokio::time::sleep_until(due.into()).await;
}

/// The time that has passed since.
#[inline]
pub(crate) fn since(begun: Instant) -> Duration {
    now().saturating_duration_since(begun)
}

/// A size of a structure, and the one that it has in models: small enough to be reached there.
pub(crate) const fn sized(usual: usize, in_models: usize) -> usize {
    if cfg!(feature = "model") {
        in_models
    } else {
        usual
    }
}
