//! A server of one process for itself: a verb of the command line that is about a store does what it does about a server,
//! by the same requests and with the same answers, and nobody else is served.
//!
//! It listens on a port of this machine that the system chooses, and takes the requests that carry its token alone. That is
//! made anew each time and is in no file, argument or environment, so other users of the machine, who can reach the port, may
//! neither read nor change anything.
//!
//! Invariant: when it is dropped its database is closed.

use crate::Server;
use crate::error::ServeError;
use crate::options::ServerOptions;
use crate::request::access::Access;
use somersault::Database;
use somersault::config::{Right, Token};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// See the head of this file.
pub struct InProcess {
    url: String,
    token: String,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl InProcess {
    /// Serves a database to this process until this is dropped. Of the options, limits and times hold.
    pub fn serve(database: Database, options: ServerOptions) -> Result<InProcess, ServeError> {
        let token = secret();
        let access = Access {
            anonymous: None,
            tokens: vec![Token {
                right: Right::Write,
                secret: token.clone(),
            }],
        };
        let server = Server::bind(ServerOptions {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            proxies: Vec::new(),
            shutdown_delay: Duration::ZERO,
            access,
            ..options
        })?;
        let url = format!("http://{}", server.address());
        let (end, ended) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("server".to_owned());
        let thread = thread.spawn(move || {
            if let Err(error) = server.serve(database, async { drop(ended.await) }) {
                tracing::error!("the store could not be served: {error}");
            }
        });
        Ok(InProcess {
            url,
            token,
            end: Some(end),
            thread: Some(thread.map_err(ServeError::Start)?),
        })
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What gives the right to everything.
    pub fn token(&self) -> &str {
        &self.token
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic has been said, and nothing is left to be closed.
            drop(thread.join());
        }
    }
}

/// 256 bits that nobody can guess: a keyed hash (SipHash, Aumasson and Bernstein, 2012) whose key the system has drawn.
fn secret() -> String {
    let key = RandomState::new();
    let words = (0_u64..4).map(|number| format!("{:016x}", key.hash_one(number)));
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_long_and_differ() {
        let (one, other) = (secret(), secret());
        assert!(one.len() == 64 && other.len() == 64 && one != other);
    }
}
