//! Signals that end a server, and the one that has it read its configuration again.
//!
//! A future rather than a handler: it is selected against the accept loop, so that a signal takes the
//! same orderly way out as any other end (no new connections, a grace for running queries), and a
//! test ends its server with a channel in its place. Two signals mean it, and their difference
//! is told, because shells and supervisors expect an exit status by the signal (128 + its number).

use crate::Reload;
use crate::state::ServerState;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

/// What ended a server from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// `SIGINT`: Ctrl-C.
    Interrupted,
    /// `SIGTERM`: a supervisor.
    Terminated,
}

/// Waits for one of them. To be awaited within [`Server::serve`](crate::Server::serve), whose
/// runtime it needs; where signals cannot be listened for, it waits for ever.
pub async fn ended_by_signal() -> Ended {
    let handlers = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    );
    let (Ok(mut interrupt), Ok(mut terminate)) = handlers else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => Ended::Interrupted,
        _ = terminate.recv() => Ended::Terminated,
    }
}

/// Reads the configuration again whenever `SIGHUP` comes. Ends with the runtime.
pub(crate) async fn reload_at_hangup(server: Arc<ServerState>, reload: Reload) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else {
        tracing::warn!("SIGHUP cannot be listened for: the configuration stays as it is");
        return;
    };
    let reload = Arc::new(reload);
    while hangup.recv().await.is_some() {
        let reload = Arc::clone(&reload);
        // It reads files.
        match tokio::task::spawn_blocking(move || reload()).await {
            Ok(Ok(options)) => {
                server.reload(options);
                tracing::info!("the configuration was read again");
            }
            Ok(Err(why)) => tracing::error!("the configuration stays as it was: {why}"),
            Err(error) => {
                server.metrics.panicked();
                tracing::error!(%error, "reading the configuration again met a bug");
            }
        }
    }
}
