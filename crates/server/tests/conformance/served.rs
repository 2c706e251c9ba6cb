//! The real server in this process, over a database, until it is dropped.

use server::{Access, Server, ServerOptions};
use somersault::Database;
use somersault::config::Right;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// A server that serves.
pub struct Served {
    /// Where it listens.
    pub address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Serves a database at a port that the system chooses.
    pub fn new(database: Database) -> Result<Served, String> {
        let access = Access {
            anonymous: Some(Right::Write),
            tokens: Vec::new(),
        };
        let server = Server::bind(ServerOptions {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            access,
            ..ServerOptions::default()
        });
        let server = server.map_err(|error| error.to_string())?;
        let address = server.address();
        let (end, ended) = oneshot::channel::<()>();
        let serve = move || {
            let served = server.serve(database, async { drop(ended.await) });
            served.expect("it serves until it is told to end");
        };
        Ok(Served {
            address,
            end: Some(end),
            thread: Some(std::thread::spawn(serve)),
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server ends without a panic");
        }
    }
}
