//! The threads of the server: the one place where the runtime is made.
//!
//! One event loop on a few threads serves all connections; queries run on blocking threads beside
//! it, so none of them ever holds up a socket. Each engine thread has a stack of known size, on
//! which the recursive parts of the engine (the parser above all) are measured. Why no thread has
//! a listener and connections of its own: docs/decisions/2026-11-22-event-loops.md.

use crate::prompt::Prompt;
use std::cell::Cell;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Stack of each thread, in bytes; address space until it is used.
pub(crate) const STACK_BYTES: usize = 16 << 20;
/// How long the process waits for engine threads when it ends, and then for those of pushes; their queries have been cancelled.
pub(crate) const LAST_WAIT: Duration = Duration::from_secs(1);

/// Runs the edge until `serving` ends.
pub(crate) fn run<T>(
    engine_threads_max: usize,
    prompt: Arc<Prompt>,
    serving: impl Future<Output = T>,
) -> io::Result<T> {
    let runtime = build(engine_threads_max, prompt)?;
    let ended = runtime.block_on(serving);
    runtime.shutdown_timeout(LAST_WAIT);
    Ok(ended)
}

fn build(engine_threads_max: usize, prompt: Arc<Prompt>) -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .enable_all()
        .thread_name("http")
        .thread_stack_size(STACK_BYTES)
        .max_blocking_threads(engine_threads_max)
        .on_thread_park(move || prompt.stay_awake())
        .build()
}

/// How much an engine thread stands back behind the threads that serve connections, in steps of the system
/// (`nice`). Fifteen steps are a 28th of their weight: half a dozen engine threads that want a processor do not hold up
/// a connection. Beside other programs of the same session or group it is little; a service has a group of its own.
#[cfg(target_os = "linux")]
const STEPS_BACK: i32 = 15;

thread_local! {
    static STANDS_BACK: Cell<bool> = const { Cell::new(false) };
}

/// Lets the threads of connections go first, from now on: the system takes such steps back from nobody. To be
/// called on engine threads that compute beside many others; the workers that a query starts inherit it.
pub(crate) fn stand_back() {
    if STANDS_BACK.replace(true) {
        return;
    }
    be_named();
    // On Linux this is of the calling thread. Where it is refused, nothing is lost but that.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, STEPS_BACK) {
        tracing::debug!(%error, "an engine thread does not stand back");
    }
}

/// Names an engine thread, which is called after its runtime otherwise.
pub(crate) fn be_named() {
    thread_local! {
        static IS_NAMED: Cell<bool> = const { Cell::new(false) };
    }
    if IS_NAMED.replace(true) {
        return;
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::set_name(c"engine") {
        tracing::debug!(%error, "an engine thread keeps the name of its runtime");
    }
}
