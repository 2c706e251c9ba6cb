//! The edge through a real socket, over an engine that does as its query says.
//!
//! | file | about |
//! |---|---|
//! | `script` | the engine: a query's text is what happens |
//! | `client` | a client of a few lines that hides nothing: heads, chunks, trailers, broken bodies |
//! | `changing` | updates, writes of graphs, rights, read-your-writes |
//! | `asking` | the protocol: methods, types, parameters, negotiation |
//! | `ending` | how answers end for clients of HTTP/1.0, and for those that have closed their side |
//! | `failing` | every status that is not 200 |
//! | `coding` | answers and requests that are compressed |
//! | `describing` | the description of all addresses for tools |
//! | `flowing` | streaming, back-pressure, disconnects, bodies broken off |
//! | `naming` | the name under which the server is asked |
//! | `starting` | a server without its database yet |
//! | `serving` | everything around it: page, metrics, probes, list of queries, connections, the end |

mod asking;
mod changing;
mod client;
mod coding;
mod describing;
mod ending;
mod failing;
mod flowing;
mod naming;
mod script;
mod serving;
mod starting;

use crate::run::job::Engine;
use crate::{Server, ServerOptions};
use client::Answer;
use script::ScriptedEngine;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A server in this process, ended when it is dropped.
struct Served {
    address: SocketAddr,
    engine: Arc<ScriptedEngine>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn new() -> Served {
        Served::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut ServerOptions)) -> Served {
        let mut options = ServerOptions {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            grace: Duration::from_millis(300),
            ..ServerOptions::default()
        };
        change(&mut options);
        let server = Server::bind(options).unwrap();
        let address = server.address();
        let engine = Arc::new(ScriptedEngine::default());
        let serving = Arc::clone(&engine) as Arc<dyn Engine>;
        let (end, ended) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let ended = async { drop(ended.await) };
            server.serve_engine(serving, ended).unwrap();
        });
        Served {
            address,
            engine,
            end: Some(end),
            thread: Some(thread),
        }
    }

    /// Sends a request with this first line (without the version), fields and body.
    fn send(&self, line: &str, fields: &[&str], body: &[u8]) -> Answer {
        client::send(self.address, line, fields, body)
    }

    fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path}"), &[], b"")
    }

    /// Runs a script by `GET`.
    fn query(&self, script: &str) -> Answer {
        self.query_as("application/sparql-results+json", script)
    }

    fn query_as(&self, accept: &str, script: &str) -> Answer {
        let line = format!("GET /sparql?query={}", client::encoded(script));
        self.send(&line, &[&format!("Accept: {accept}")], b"")
    }

    /// Waits until a metric has this value.
    fn until_metric(&self, name: &str, value: u64) {
        let line = format!("somersault_{name} {value}\n");
        let begun = Instant::now();
        while !self.get("/metrics").text().contains(&line) {
            assert!(begun.elapsed() < Duration::from_mins(1), "never {line}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until so many queries run, and fails when it takes longer than given.
    fn until_running(&self, count: usize, within: Duration) {
        let begun = Instant::now();
        while self.engine.running().list().len() != count {
            let running = self.engine.running().list();
            assert!(
                begun.elapsed() < within,
                "not {count} after {within:?}: {running:?}"
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}
