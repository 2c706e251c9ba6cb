//! A server that has no database yet.

use super::client;
use super::script::ScriptedEngine;
use crate::run::job::Engine;
use crate::{OpeningError, Server, ServerOptions};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc;
use tokio::sync::oneshot;

type Opened = Result<Arc<dyn Engine>, &'static str>;

fn bound() -> Server {
    let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Server::bind(ServerOptions {
        bind,
        ..ServerOptions::default()
    })
    .unwrap()
}

#[test]
fn who_asks_before_there_is_a_database_is_told_to_come_back() {
    let server = bound();
    let address = server.address();
    let (open, opening) = mpsc::channel::<Opened>();
    let (is_open, opened) = mpsc::channel();
    let (end, ended) = oneshot::channel::<()>();
    let serving = std::thread::spawn(move || {
        let open = move || opening.recv().unwrap();
        let opened = move || is_open.send(()).unwrap();
        server.serve_opening(open, opened, async { drop(ended.await) })
    });
    let get = |path: &str| client::send(address, &format!("GET {path}"), &[], b"");
    assert_eq!(get("/health/live").status, 200);
    assert!(!get("/health/live").has("somersault-snapshot"));
    for path in [
        "/health/ready",
        "/sparql?query=ask",
        "/query?query=ask",
        "/api/v1/statistics",
    ] {
        let answer = get(path);
        let problem = answer.problem(503);
        assert_eq!(problem["type"], "urn:somersault:problem:starting", "{path}");
        assert_eq!(answer.field("retry-after"), "1", "{path}");
    }
    let metrics = get("/metrics");
    assert!(metrics.text().contains("somersault_queries_waiting 0\n"));
    assert!(!metrics.text().contains("somersault_store_quads"));
    assert_eq!(get("/").status, 200);

    open.send(Ok(Arc::new(ScriptedEngine::default()))).unwrap();
    opened.recv().unwrap();
    assert_eq!(get("/health/ready").status, 200);
    assert_eq!(get("/sparql?query=ask").status, 200);
    drop(end);
    serving.join().unwrap().unwrap();
}

#[test]
fn a_database_that_does_not_open_ends_its_server() {
    let open = || Opened::Err("no such store");
    let ended = bound().serve_opening(open, || {}, std::future::pending::<()>());
    assert!(matches!(ended, Err(OpeningError::Open("no such store"))));
}

#[test]
fn a_server_ends_while_its_database_is_still_being_opened() {
    let (_never, opening) = mpsc::channel::<Opened>();
    let open = move || opening.recv().unwrap_or(Err("given up"));
    let ended = bound().serve_opening(open, || {}, async { 7 });
    assert_eq!(ended.unwrap(), 7);
}

#[test]
#[should_panic(expected = "met something")]
fn a_panic_while_opening_goes_on_in_the_caller() {
    let open = || -> Opened { panic!("the opener met something") };
    let _ = bound().serve_opening(open, || {}, std::future::pending::<()>());
}
