//! The thread that gives freed memory back to the system while requests press.
//!
//! What the account of all requests bounds is what they ask for; what the process holds is that and what its
//! allocator keeps of what they freed. Where much of the pool is in use somebody may soon need the rest, so
//! freed memory goes back at once; at other times now and then, so that a server which is idle is small.

use crate::state::ServerState;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The part of the pool beyond which requests press.
const PRESSED: u64 = 4;
/// How often freed memory goes back while they do, and otherwise.
const OFTEN: Duration = Duration::from_millis(20);
const SELDOM: Duration = Duration::from_secs(1);

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
        let is_pressed = server.engine().is_ok_and(|engine| {
            let pool = engine.pool();
            pool.used_bytes() > pool.limit_bytes() / PRESSED
        });
        drop(server);
        somersault::give_back_memory();
        std::thread::sleep(if is_pressed { OFTEN } else { SELDOM });
    }
}
