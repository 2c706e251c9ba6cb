//! Processes of a cluster as tests see them: one that serves and what it says, its answers over HTTP, and a graph in three parts
//! with the files of its nodes.
//!
//! The graph is one university, cut in blocks of 64 ids, so that links cross everywhere. Nothing is waited for by time alone.

#![cfg(unix)]

use crate::common;

use common::{load, lubm, run, somersault, text, write};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a busy machine may take.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// How soon an absence is noticed, and how soon use is resumed.
pub const NOTICED: Duration = Duration::from_secs(3);

pub const UB: &str = "PREFIX ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#>";

/// Asks for what every part has something of.
pub const TRIANGLES: &str = "SELECT (COUNT(*) AS ?n) WHERE { ?x ub:takesCourse ?c . ?t ub:teacherOf ?c . ?x ub:advisor ?t }";

pub const QUESTIONS: [&str; 12] = [
    TRIANGLES,
    "SELECT ?x ?y WHERE { ?x ub:worksFor ?d ; ub:doctoralDegreeFrom ?y . ?d ub:subOrganizationOf ?u }",
    "SELECT ?p (COUNT(*) AS ?n) WHERE { ?s ?p ?o } GROUP BY ?p",
    "SELECT ?c (COUNT(?x) AS ?n) WHERE { ?x a ?c } GROUP BY ?c",
    "SELECT ?x ?n WHERE { ?x a ub:FullProfessor ; ub:name ?n } ORDER BY ?n ?x LIMIT 7",
    "SELECT DISTINCT ?u WHERE { ?x ub:undergraduateDegreeFrom ?u } ORDER BY ?u",
    "SELECT ?x ?t WHERE { ?x a ub:GraduateStudent OPTIONAL { ?x ub:teachingAssistantOf ?t } }",
    "SELECT ?x WHERE { ?x a ub:GraduateStudent FILTER NOT EXISTS { ?x ub:teachingAssistantOf ?t } }",
    "SELECT ?p ?o WHERE { <http://www.Department0.University0.edu/FullProfessor0> ?p ?o }",
    "SELECT ?s ?p WHERE { ?s ?p <http://www.Department0.University0.edu/FullProfessor0> }",
    "SELECT ?x WHERE { ?x ub:subOrganizationOf+ <http://www.University0.edu> }",
    "SELECT ?x ?e WHERE { { ?x ub:headOf ?d } UNION { ?x ub:emailAddress ?e FILTER(CONTAINS(?e, \"Lecturer1\")) } }",
];

/// A process that serves, and what it has said.
pub struct Served {
    pub child: Child,
    pub address: String,
    said: Arc<Mutex<String>>,
}

impl Served {
    pub fn start(arguments: &[&str]) -> Served {
        let mut command = somersault();
        command.args(arguments);
        Served::of(command)
    }

    /// What a command starts, once it says where it listens.
    pub fn of(mut command: Command) -> Served {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe was asked for")).lines();
        let said: Arc<Mutex<String>> = Arc::default();
        let note = Arc::clone(&said);
        let mut next = move || -> Option<String> {
            let line = lines.next()?.ok()?;
            *note.lock().expect("nobody panics") += &(line.clone() + "\n");
            Some(line)
        };
        let address = loop {
            let line = next()
                .unwrap_or_else(|| panic!("it ended: {}", said.lock().expect("nobody panics")));
            if let Some((_, address)) = line.split_once("listens on http://") {
                break address.to_owned();
            }
        };
        // Whoever reads nothing would block it.
        std::thread::spawn(move || while next().is_some() {});
        Served {
            child,
            address,
            said,
        }
    }

    pub fn said(&self) -> String {
        self.said.lock().expect("nobody panics").clone()
    }

    /// The connection of a request that was sent.
    pub fn sent(&self, path: &str, accept: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let (address, length) = (&self.address, body.len());
        let kind = if path == "/update" { "update" } else { "query" };
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAccept: {accept}\r\n\
             Content-Type: application/sparql-{kind}\r\nContent-Length: {length}\r\n\r\n"
        );
        let head = if body.is_empty() {
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
        } else {
            head
        };
        stream
            .write_all((head + body).as_bytes())
            .expect("it reads requests");
        stream
    }

    pub fn got(&self, path: &str, accept: &str, body: &str) -> Answer {
        let mut bytes = Vec::new();
        let mut stream = self.sent(path, accept, body);
        stream.read_to_end(&mut bytes).expect("it answers");
        Answer::of(&bytes)
    }

    /// A query's answer, its rows as sorted lines.
    pub fn query(&self, query: &str) -> Answer {
        let mut answer = self.got("/sparql", "text/csv", &format!("{UB} {query}"));
        if answer.status == 200 {
            let mut lines: Vec<&str> = answer.body.lines().collect();
            lines[1..].sort_unstable();
            answer.body = lines.join("\n");
        }
        answer
    }

    pub fn cluster(&self) -> Value {
        let answer = self.got("/api/v1/cluster", "application/json", "");
        serde_json::from_str(&answer.body).expect("it is a document")
    }

    pub fn signal(&self, signal: &str) {
        let command = format!("kill -{signal} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &command]).status();
        assert!(sent.expect("there is a shell").success());
    }

    pub fn end(&mut self, signal: &str) -> Option<i32> {
        self.signal(signal);
        self.child.wait().expect("the child is ours").code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer over HTTP.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
    /// Whether the body has the end that a whole one has.
    pub is_whole: bool,
}

impl Answer {
    pub fn of(bytes: &[u8]) -> Answer {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        let is_chunked = head
            .to_ascii_lowercase()
            .contains("transfer-encoding: chunked");
        let (body, is_whole) = if is_chunked {
            unchunked(body)
        } else {
            (body.to_owned(), true)
        };
        Answer {
            status: status.unwrap_or(0),
            head: head.to_ascii_lowercase(),
            body,
            is_whole,
        }
    }

    /// Whether it says that a part of the graph does not answer, and which.
    pub fn names(&self, node: u16) -> bool {
        let document: Value = serde_json::from_str(&self.body).unwrap_or_default();
        self.status == 503
            && self.head.contains("retry-after:")
            && document["type"] == "urn:somersault:problem:away"
            && document["node"] == node
            && document["part"] == format!("part-{node:04}")
    }
}

/// The chunks of a body, and whether the last one came.
fn unchunked(mut body: &str) -> (String, bool) {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let Ok(length) = usize::from_str_radix(length.trim(), 16) else {
            return (whole, false);
        };
        if length == 0 {
            return (whole, true);
        }
        let Some(chunk) = rest.get(..length) else {
            return (whole, false);
        };
        whole += chunk;
        body = rest.get(length + 2..).unwrap_or_default();
    }
    (whole, false)
}

/// A graph, whole and in parts, with the files of three nodes.
pub struct Data {
    pub folder: tempfile::TempDir,
}

impl Data {
    pub fn new() -> Data {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = lubm(folder.path(), 0, 1);
        load(&folder.path().join("whole"), &[&file]);
        let data = Data { folder };
        data.cut("whole", "cluster", "6");
        let nodes: Vec<String> = free_ports()
            .iter()
            .map(|it| format!("127.0.0.1:{it}"))
            .collect();
        done(&[
            "cluster",
            "init",
            text(&data.path("cluster")),
            "--nodes",
            &nodes.join(","),
        ]);
        data
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn cut(&self, whole: &str, parts: &str, bits: &str) {
        let (whole, parts) = (self.path(whole), self.path(parts));
        let flags = ["--parts", "3", "--block-bits", bits];
        done(&[&["cut", "-l", text(&whole), "-o", text(&parts)], &flags[..]].concat());
    }

    pub fn file(&self, node: usize) -> PathBuf {
        self.path("cluster").join(format!("node-{node}.toml"))
    }

    pub fn node(&self, node: usize, more: &[&str]) -> Served {
        served(&self.file(node), more)
    }

    pub fn nodes(&self, more: &[&str]) -> Vec<Served> {
        let nodes: Vec<Served> = (0..3).map(|node| self.node(node, more)).collect();
        nodes.iter().for_each(ready);
        nodes
    }

    /// A node's file with something in place of something else, under another name.
    pub fn changed(&self, node: usize, name: &str, changes: &[(&str, &str)]) -> PathBuf {
        let mut text = fs::read_to_string(self.file(node)).expect("init wrote it");
        for (old, new) in changes {
            assert!(text.contains(old), "{old} is in {text}");
            text = text.replace(old, new);
        }
        write(&self.path("cluster"), name, text)
    }

    /// Where a node listens for the others.
    pub fn address(&self, node: usize) -> String {
        let text = fs::read_to_string(self.file(node)).expect("init wrote it");
        let addresses = text.lines().filter(|line| line.starts_with("  \""));
        let address = addresses.map(|line| line.trim_matches([' ', '"', ',']).to_owned());
        address.clone().nth(node).expect("three are listed")
    }
}

pub fn served(file: &Path, more: &[&str]) -> Served {
    let arguments = ["node", "--config", text(file), "--bind", "127.0.0.1:0"];
    Served::start(&[&arguments, more].concat())
}

pub fn done(arguments: &[&str]) {
    let run = run(arguments);
    assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.errors);
}

/// Three ports that nobody listens at.
fn free_ports() -> [u16; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port is free"));
    listeners.map(|it| it.local_addr().expect("it is bound").port())
}

#[track_caller]
pub fn soon(what: &str, is_so: impl Fn() -> bool) -> Duration {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    begun.elapsed()
}

pub fn ready(node: &Served) {
    let is_ready = || node.got("/health/ready", "*/*", "").status == 200;
    soon("it is ready", is_ready);
}
