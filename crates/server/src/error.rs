//! Why a server did not come up, or went down.
//!
//! What goes wrong within a request is a [`Problem`](crate::response::problem) that the client gets; here is
//! only what ends the server as a whole.

use std::io;
use std::net::SocketAddr;

/// A server's failure.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address could not be bound: in use, not ours, or not allowed.
    #[error("cannot listen on {address}: {}", reason(source))]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The threads and the event loop of the server could not be set up.
    #[error("cannot start the server's threads: {0}")]
    Start(#[source] io::Error),
}

/// Why a server that opens its database while it serves has ended.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError<E> {
    /// The server failed.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The database could not be opened.
    #[error("{0}")]
    Open(E),
}

impl ServeError {
    /// Whether somebody else listens on that port already.
    pub fn is_address_in_use(&self) -> bool {
        matches!(self, ServeError::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse)
    }
}

fn reason(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::AddrInUse => "the port is in use (choose another with --bind)".to_owned(),
        io::ErrorKind::AddrNotAvailable => "the address is not one of this machine".to_owned(),
        io::ErrorKind::PermissionDenied => "ports below 1024 need more rights".to_owned(),
        _ => source.to_string(),
    }
}
