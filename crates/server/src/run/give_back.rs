//! Freed memory goes back to the system while requests press: by a thread for what all threads share, by each
//! thread for what is its own.
//!
//! What the account of all requests bounds is what they ask for; what the process holds is that and what its
//! allocator keeps of what they freed. Kept memory is used again for nothing; given back, it is cleared again
//! when it is next asked for, which cost a fifth of two processors under every abuse at once. So as long as
//! the process holds no more than requests may ask for, freed memory goes back once a second; beyond, at once. Pushes to streams
//! ask for little and free tens of megabytes a second, so while they come it goes back ten times as often.
//! What a thread keeps for itself (some megabytes of pages, a few of each size, that hold nothing) it
//! alone can give: a hundred that wait for minutes held 0.7 GiB so. They give it before they wait for long.

use crate::state::ServerState;
use somersault::budget::Pool;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How often is looked at what the process holds while requests have more than a quarter of their memory, have
/// any, and have none.
const OFTEN: Duration = Duration::from_millis(5);
const NOW_AND_THEN: Duration = Duration::from_millis(20);
const SELDOM: Duration = Duration::from_secs(1);
/// How long freed memory is kept while pushes come; otherwise [`SELDOM`].
const PUSHES: Duration = Duration::from_millis(100);
const _: () = {
    assert!(
        OFTEN.as_nanos() < NOW_AND_THEN.as_nanos(),
        "who takes much is looked at more often"
    );
    assert!(
        NOW_AND_THEN.as_nanos() < SELDOM.as_nanos(),
        "who takes nothing is seldom looked at"
    );
};

/// The process holds more than a server's requests may ask for. One for all servers of the process, because the
/// allocator is: where they differ, one of them gives back what it need not, or keeps it for longer.
static IS_PRESSED: AtomicBool = AtomicBool::new(false);

/// Gives back what the calling thread keeps for itself, where memory is short; says whether it did. To be called
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
    let resident = Resident::open();
    let mut given_back = Instant::now();
    while let Some(server) = server.upgrade() {
        let (pause, keep, is_pressed) = server.engine().map_or((SELDOM, SELDOM, false), |engine| {
            let pool = engine.pool();
            let are_pushed = server.crew.has_worked();
            let keep = if are_pushed { PUSHES } else { SELDOM };
            let held_bytes = resident.as_ref().and_then(Resident::bytes);
            // Where nobody can say, as if it were too much.
            let is_pressed = held_bytes.is_none_or(|held_bytes| held_bytes > pool.limit_bytes());
            (pause(pool).min(keep), keep, is_pressed)
        });
        drop(server);
        IS_PRESSED.store(is_pressed, Ordering::Relaxed);
        if is_pressed || given_back.elapsed() >= keep {
            somersault::give_back_memory();
            given_back = Instant::now();
        }
        std::thread::sleep(pause);
    }
}

fn pause(pool: &Pool) -> Duration {
    let used = pool.used_bytes();
    if used > pool.limit_bytes() / 4 {
        OFTEN
    } else if used > 0 {
        NOW_AND_THEN
    } else {
        SELDOM
    }
}

/// What the process holds of memory that is no file's, as Linux tells it.
struct Resident(File);

impl Resident {
    fn open() -> Option<Resident> {
        File::open("/proc/self/statm").ok().map(Resident)
    }

    fn bytes(&self) -> Option<u64> {
        let mut text = [0; 128];
        let length = rustix::io::pread(&self.0, &mut text, 0).ok()?;
        let mut pages = std::str::from_utf8(&text[..length]).ok()?.split(' ');
        // proc(5): size, resident, shared; the shared ones are files'.
        let resident: u64 = pages.nth(1)?.parse().ok()?;
        let shared: u64 = pages.next()?.parse().ok()?;
        Some(resident.saturating_sub(shared) * rustix::param::page_size() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn what_the_process_holds_is_seen_to_grow() {
        let resident = Resident::open().unwrap();
        let before = resident.bytes().unwrap();
        let more = vec![1_u8; 64 << 20];
        assert!(resident.bytes().unwrap() >= before + (32 << 20));
        drop(more);
    }
}
