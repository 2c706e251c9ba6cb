//! Freed memory goes back to the system while requests press: by a thread for what all threads share, by each
//! thread for what is its own.
//!
//! What the account of all requests bounds is what they ask for; what the process holds is that and what its
//! allocator keeps of what they freed. The more of the pool is in use, the sooner somebody may need the rest,
//! and the sooner freed memory goes back; where little is, now and then, so that a server which is idle is
//! small. What a thread keeps for itself (some megabytes of pages, a few of each size, that hold nothing) it
//! alone can give: a hundred that wait for minutes held 0.7 GiB so. They give it before they wait for long.

use crate::state::ServerState;
use somersault::budget::Pool;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How often freed memory goes back while more than a half of the pool is in use, more than a quarter, and
/// less.
const AT_ONCE: Duration = Duration::from_millis(5);
const OFTEN: Duration = Duration::from_millis(20);
const SELDOM: Duration = Duration::from_secs(1);

/// More than a quarter of a server's pool is in use. One for all servers of the process, because the allocator
/// is: where they differ, one of them gives back what it need not, or keeps it for longer.
static IS_PRESSED: AtomicBool = AtomicBool::new(false);

/// Gives back what the calling thread keeps for itself, where requests press; says whether it did. To be called
/// by engine threads that are about to wait, or wait, for long, without a lock: it takes 0.1 ms a MiB that goes back.
pub(crate) fn before_a_wait() -> bool {
    let is_pressed = IS_PRESSED.load(Ordering::Relaxed);
    if is_pressed {
        somersault::give_back_memory();
    }
    is_pressed
}

/// Begins; ends by itself with the server. Without the thread the process is larger than it need be, and
/// nothing is wrong.
pub(crate) fn begin(server: &Arc<ServerState>) {
    let server = Arc::downgrade(server);
    let thread = std::thread::Builder::new().name("memory".to_owned());
    if let Err(error) = thread.spawn(move || keep_small(&server)) {
        tracing::warn!(%error, "freed memory is given back late: no thread for it");
    }
}

fn keep_small(server: &Weak<ServerState>) {
    while let Some(server) = server.upgrade() {
        let pause = server
            .engine()
            .map_or(SELDOM, |engine| pause(engine.pool()));
        drop(server);
        IS_PRESSED.store(pause < SELDOM, Ordering::Relaxed);
        somersault::give_back_memory();
        std::thread::sleep(pause);
    }
}

fn pause(pool: &Pool) -> Duration {
    let (used, limit) = (pool.used_bytes(), pool.limit_bytes());
    if used > limit / 2 {
        AT_ONCE
    } else if used > limit / 4 {
        OFTEN
    } else {
        SELDOM
    }
}
