//! What threads share: types of the standard library, or those of `shuttle` where a model of the protocol is checked.
//!
//! Feature `model` is for `cargo xtask model` alone: every other build has the aliases of this file and nothing more, so
//! the code that is checked is the code that runs. Only what takes part in a protocol that has a model comes from here.
//!
//! Faults are planted in the types of the model ([`model::Fault`]) and not in the code, which has no switch for them.

#[cfg(feature = "model")]
pub(crate) mod model;

#[cfg(feature = "model")]
pub(crate) use {
    model::Condvar,
    shuttle::sync::{
        Mutex, MutexGuard, RwLock,
        atomic::{AtomicBool, AtomicU8},
    },
};

/// Lets time pass. In a model, where time limits never end anything, somebody else goes on.
pub(crate) fn pause(time: std::time::Duration) {
    #[cfg(feature = "model")]
    {
        let _ = time;
        shuttle::thread::yield_now();
    }
    #[cfg(not(feature = "model"))]
    std::thread::sleep(time);
}

#[cfg(not(feature = "model"))]
pub(crate) use std::sync::{
    Condvar, Mutex, MutexGuard, RwLock,
    atomic::{AtomicBool, AtomicU8},
};
