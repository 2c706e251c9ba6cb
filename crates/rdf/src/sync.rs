//! What threads share: types of the standard library, or those of `loom` where a model of the protocol is checked.
//!
//! Feature `model` is for `cargo xtask model` alone: every other build has the aliases of this file and nothing more, so
//! the code that is checked is the code that runs. Memory orders are the standard library's in both.
//!
//! Faults are planted in the types of the model ([`model::Fault`]) and not in the code, which has no switch for them.

#[cfg(feature = "model")]
pub(crate) mod model;

#[cfg(feature = "model")]
pub(crate) use model::{AtomicU64, AtomicUsize, GrowingList, Mutex, MutexGuard, RwLock};

#[cfg(not(feature = "model"))]
pub(crate) use std::sync::{
    Mutex, MutexGuard, RwLock,
    atomic::{AtomicU64, AtomicUsize},
};

/// Items that are pushed by one thread while others read those that are there, and that stay where they are.
#[cfg(not(feature = "model"))]
pub(crate) type GrowingList<T> = boxcar::Vec<T>;

/// A size of a structure, and the one that it has in models: small enough for every way through it to be tried.
pub(crate) const fn sized(usual: usize, in_models: usize) -> usize {
    if cfg!(feature = "model") {
        in_models
    } else {
        usual
    }
}
