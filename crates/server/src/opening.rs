//! Opening a database while the server serves already.
//!
//! Opening maps and checks files, or loads them, which takes as long as they are large; it blocks,
//! so it has a thread of its own. Invariant: the server has its database, or
//! it ends with the reason why not. The thread is not joined unless it has ended, because nothing
//! can interrupt it and a server that is asked to end should.

use crate::run::job::Engine;
use crate::state::ServerState;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;
use tokio::sync::oneshot::{Receiver, channel};

/// The texts of registered queries are read, and their first reports made, while a store is opened.
const STACK_BYTES: usize = 8 << 20;

/// The outcome of opening, with a panic as a value.
type Outcome<E> = thread::Result<Result<(), E>>;

/// A database that is being opened.
pub(crate) struct Opening<E> {
    outcome: Receiver<Outcome<E>>,
}

impl<E: Send + 'static> Opening<E> {
    /// Opens on a thread of its own, gives the result to the server, and then calls `opened`.
    pub fn begin(
        server: Arc<ServerState>,
        open: impl FnOnce() -> Result<Arc<dyn Engine>, E> + Send + 'static,
        opened: impl FnOnce() + Send + 'static,
    ) -> io::Result<Opening<E>> {
        let (sender, outcome) = channel();
        let whole = move || {
            let engine = open()?;
            if engine.keeps_streams() {
                // What the last stop has left of them comes before anything new.
                server.live.of(engine.as_ref());
            }
            server.open(engine);
            opened();
            Ok(())
        };
        let work = move || {
            // The closure is consumed by the call, so nobody sees what a panic leaves of it.
            let outcome = catch_unwind(AssertUnwindSafe(whole));
            // A server that has ended does not wait for it.
            drop(sender.send(outcome));
        };
        thread::Builder::new()
            .name("opening".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(work)?;
        Ok(Opening { outcome })
    }

    /// Ends with the error of opening, or when `shutdown` does.
    pub async fn failed_or<T>(self, shutdown: impl Future<Output = T>) -> Result<T, E> {
        let failed = async {
            match self.outcome.await {
                Ok(Ok(Ok(()))) => std::future::pending().await,
                Ok(Ok(Err(error))) => error,
                Ok(Err(panic)) => resume_unwind(panic),
                Err(_) => unreachable!("the thread sends its outcome before it ends"),
            }
        };
        tokio::select! {
            ended = shutdown => Ok(ended),
            error = failed => Err(error),
        }
    }
}
