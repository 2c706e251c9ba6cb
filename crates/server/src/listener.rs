//! The listening socket.
//!
//! Bound before anything else starts, so that a port in use is known, and said, at once. Address
//! reuse lets a restarted server have its port back while old connections linger; it does not let
//! two servers share one.

use crate::error::ServeError;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener};

/// Connections that the system holds until they are accepted.
const BACKLOG: i32 = 1024;

/// A socket that listens on this address, ready for an event loop.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    open(address).map_err(|source| ServeError::Bind { address, source })
}

fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}
