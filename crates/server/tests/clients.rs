//! Clients that other people wrote, unmodified, against the real server: SPARQLWrapper and rdflib
//! (Python), Jena's RDFConnection (Java), Comunica (JavaScript), curl; and our page in a browser. Each runs a script of
//! `tests/clients/` in a process of its own, which ends with an error where an answer is not what it
//! should be. `tests/clients/install.sh FOLDER` installs them; a client that is not there is skipped,
//! which is reported.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use server::{Access, Server, ServerOptions};
use somersault::config::{Right, Token};
use somersault::load::{self, Source, Syntax, Unwatched};
use somersault::{Database, Options};
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

const PEOPLE: usize = 2000;

/// A ring of people with names, and a graph with one statement.
fn database(is_writable: bool) -> Database {
    let mut text = String::new();
    for person in 0..PEOPLE {
        let next = (person + 1) % PEOPLE;
        let subject = format!("<http://e/p{person}>");
        writeln!(text, "{subject} <http://e/knows> <http://e/p{next}> .").unwrap();
        writeln!(text, "{subject} <http://e/name> \"Person {person}\"@en .").unwrap();
    }
    let likes = "<http://e/p0> <http://e/likes> \"a,b\\tc\\n\" <http://e/graph> .";
    writeln!(text, "{likes}").unwrap();
    let data = std::iter::once(text.into_bytes());
    let source = Source::chunks("people", Syntax::NQuads, data);
    let request = load::Request::default();
    let options = Options {
        memory_is_writable: is_writable,
        ..Options::default()
    };
    let loaded = load::load_in_memory(vec![source], &request, &options, &Unwatched);
    loaded.unwrap().0
}

struct Served {
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn new() -> Served {
        Served::to(Access {
            anonymous: Some(Right::Write),
            tokens: Vec::new(),
        })
    }

    fn to(access: Access) -> Served {
        Served::of(database(true), access)
    }

    fn of(database: Database, access: Access) -> Served {
        let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::bind(ServerOptions {
            bind,
            access,
            ..ServerOptions::default()
        })
        .unwrap();
        let address = server.address();
        let (end, ended) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            server.serve(database, async { drop(ended.await) }).unwrap();
        });
        Served {
            address,
            end: Some(end),
            thread: Some(thread),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// Where the clients are installed: what the environment says, or beside the build's output.
fn installed(path: &str) -> PathBuf {
    let folder = std::env::var_os("SOMERSAULT_CLIENTS").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients");
    folder.unwrap_or_else(beside).join(path)
}

/// Runs a client, if it is there.
fn run(name: &str, needs: &Path, command: &mut Command) {
    if !needs.exists() {
        eprintln!("SKIPPED: {name} is not installed (tests/clients/install.sh)");
        return;
    }
    let output = command.stdin(Stdio::null()).output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            eprintln!("SKIPPED: {name} cannot be started: {error}");
            return;
        }
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("ok"),
        "{name}: {said}\n{errors}"
    );
}

#[test]
fn sparqlwrapper() {
    let served = Served::new();
    let python = installed("python/bin/python");
    let mut command = Command::new(&python);
    command
        .arg(scripts().join("sparqlwrapper_client.py"))
        .arg(served.url("/sparql"))
        .arg(served.url("/update"));
    run("SPARQLWrapper", &python, &mut command);
}

#[test]
fn rdflib() {
    let served = Served::new();
    let python = installed("python/bin/python");
    let mut command = Command::new(&python);
    command
        .arg(scripts().join("rdflib_client.py"))
        .arg(served.url("/sparql"))
        .arg(served.url("/update"));
    run("rdflib", &python, &mut command);
}

#[test]
fn jena() {
    let served = Served::new();
    let folder = installed("jena");
    let classes = format!("{}:{}/jars/*", folder.display(), folder.display());
    let mut command = Command::new("java");
    command
        .args(["-cp", &classes, "JenaClient"])
        .arg(served.url("/sparql"))
        .arg(served.url("/store"))
        .arg(served.url("/update"));
    run("Jena", &folder.join("JenaClient.class"), &mut command);
}

#[test]
fn comunica() {
    let served = Served::new();
    let folder = installed("node");
    // A module finds packages beside itself only.
    let script = folder.join("comunica_client.mjs");
    let is_there = folder.join("node_modules/@comunica/query-sparql");
    if is_there.exists() {
        std::fs::copy(scripts().join("comunica_client.mjs"), &script).unwrap();
    }
    let mut command = Command::new("node");
    command.arg(&script).arg(served.url("/sparql"));
    run("Comunica", &is_there, &mut command);
}

/// Runs a script in Chromium without a window. `SOMERSAULT_PICTURES` names a folder for pictures.
fn run_in_browser(name: &str, file: &str, arguments: &[&str]) {
    let folder = installed("node");
    let script = folder.join(file);
    let mut needs = folder.join("node_modules/puppeteer-core");
    if needs.exists() {
        std::fs::copy(scripts().join(file), &script).unwrap();
        let places = ["chromium", "chromium-browser", "google-chrome"];
        let browser = places.map(|name| Path::new("/usr/bin").join(name));
        let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
        let found = named
            .into_iter()
            .chain(browser)
            .find(|place| place.exists());
        needs = found.unwrap_or_else(|| PathBuf::from("/usr/bin/chromium"));
    }
    let mut command = Command::new("node");
    command
        .arg(&script)
        .args(arguments)
        .args(std::env::var_os("SOMERSAULT_PICTURES"));
    run(name, &needs, &mut command);
}

#[test]
fn page() {
    let (open, secret) = (Served::new(), "a-secret_of.23~letters");
    let guarded = Served::to(Access {
        anonymous: None,
        tokens: vec![Token {
            right: Right::Read,
            secret: secret.to_owned(),
        }],
    });
    let arguments = [&*open.url(""), &guarded.url(""), secret];
    run_in_browser("the page in Chromium", "page_client.mjs", &arguments);
}

#[test]
fn live_page() {
    let open = Served::new();
    let read = Served::of(database(false), Access::default());
    let arguments = [&*open.url(""), &read.url("")];
    let name = "streams and live answers in Chromium";
    run_in_browser(name, "live_client.mjs", &arguments);
}

#[test]
fn curl() {
    let served = Served::new();
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("SKIPPED: curl is not there");
        return;
    }
    let script = scripts().join("curl_client.sh");
    let mut command = Command::new("sh");
    command.arg(&script).arg(served.url(""));
    run("curl", &script, &mut command);
}
