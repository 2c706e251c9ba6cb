//! Three processes that have one graph: what they answer, what they say when one is gone, and whom they let in.
//!
//! Each test cuts one university in blocks of 64 ids, so that links cross everywhere, and starts the binary on ports that the
//! system chose. Nothing is waited for by time alone.

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
const PATIENCE: Duration = Duration::from_mins(1);

/// How soon an absence is noticed.
const NOTICED: Duration = Duration::from_secs(3);

const UB: &str = "PREFIX ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#>";

/// Asks for what every part has something of.
const TRIANGLES: &str = "SELECT (COUNT(*) AS ?n) WHERE { ?x ub:takesCourse ?c . ?t ub:teacherOf ?c . ?x ub:advisor ?t }";

const QUESTIONS: [&str; 12] = [
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
struct Served {
    child: Child,
    address: String,
    said: Arc<Mutex<String>>,
}

impl Served {
    fn start(arguments: &[&str]) -> Served {
        let mut command = somersault();
        let mut child = command
            .args(arguments)
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

    fn said(&self) -> String {
        self.said.lock().expect("nobody panics").clone()
    }

    /// The connection of a request that was sent.
    fn sent(&self, path: &str, accept: &str, body: &str) -> TcpStream {
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

    fn got(&self, path: &str, accept: &str, body: &str) -> Answer {
        let mut bytes = Vec::new();
        let mut stream = self.sent(path, accept, body);
        stream.read_to_end(&mut bytes).expect("it answers");
        Answer::of(&bytes)
    }

    /// A query's answer, its rows as sorted lines.
    fn query(&self, query: &str) -> Answer {
        let mut answer = self.got("/sparql", "text/csv", &format!("{UB} {query}"));
        if answer.status == 200 {
            let mut lines: Vec<&str> = answer.body.lines().collect();
            lines[1..].sort_unstable();
            answer.body = lines.join("\n");
        }
        answer
    }

    fn cluster(&self) -> Value {
        let answer = self.got("/api/v1/cluster", "application/json", "");
        serde_json::from_str(&answer.body).expect("it is a document")
    }

    fn signal(&self, signal: &str) {
        let command = format!("kill -{signal} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &command]).status();
        assert!(sent.expect("there is a shell").success());
    }

    fn end(&mut self, signal: &str) -> Option<i32> {
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
struct Answer {
    status: u16,
    head: String,
    body: String,
    /// Whether the body has the end that a whole one has.
    is_whole: bool,
}

impl Answer {
    fn of(bytes: &[u8]) -> Answer {
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
    fn names(&self, node: u16) -> bool {
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
struct Data {
    folder: tempfile::TempDir,
}

impl Data {
    fn new() -> Data {
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

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn cut(&self, whole: &str, parts: &str, bits: &str) {
        let (whole, parts) = (self.path(whole), self.path(parts));
        let flags = ["--parts", "3", "--block-bits", bits];
        done(&[&["cut", "-l", text(&whole), "-o", text(&parts)], &flags[..]].concat());
    }

    fn file(&self, node: usize) -> PathBuf {
        self.path("cluster").join(format!("node-{node}.toml"))
    }

    fn node(&self, node: usize, more: &[&str]) -> Served {
        served(&self.file(node), more)
    }

    fn nodes(&self, more: &[&str]) -> Vec<Served> {
        let nodes: Vec<Served> = (0..3).map(|node| self.node(node, more)).collect();
        nodes.iter().for_each(ready);
        nodes
    }

    /// A node's file with something in place of something else, under another name.
    fn changed(&self, node: usize, name: &str, changes: &[(&str, &str)]) -> PathBuf {
        let mut text = fs::read_to_string(self.file(node)).expect("init wrote it");
        for (old, new) in changes {
            assert!(text.contains(old), "{old} is in {text}");
            text = text.replace(old, new);
        }
        write(&self.path("cluster"), name, text)
    }

    /// Where a node listens for the others.
    fn address(&self, node: usize) -> String {
        let text = fs::read_to_string(self.file(node)).expect("init wrote it");
        let addresses = text.lines().filter(|line| line.starts_with("  \""));
        let address = addresses.map(|line| line.trim_matches([' ', '"', ',']).to_owned());
        address.clone().nth(node).expect("three are listed")
    }
}

fn served(file: &Path, more: &[&str]) -> Served {
    let arguments = ["node", "--config", text(file), "--bind", "127.0.0.1:0"];
    Served::start(&[&arguments, more].concat())
}

fn done(arguments: &[&str]) {
    let run = run(arguments);
    assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.errors);
}

/// Three ports that nobody listens at.
fn free_ports() -> [u16; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port is free"));
    listeners.map(|it| it.local_addr().expect("it is bound").port())
}

#[track_caller]
fn soon(what: &str, is_so: impl Fn() -> bool) -> Duration {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    begun.elapsed()
}

fn ready(node: &Served) {
    let is_ready = || node.got("/health/ready", "*/*", "").status == 200;
    soon("it is ready", is_ready);
}

/// Each node's answers are those of the whole store.
fn assert_like_the_whole(whole: &Served, nodes: &[Served]) {
    for question in QUESTIONS {
        let expected = whole.query(question);
        assert_eq!(expected.status, 200, "{question}: {}", expected.body);
        assert!(
            expected.body.lines().count() > 1,
            "{question} finds something"
        );
        for (number, node) in nodes.iter().enumerate() {
            let found = node.query(question);
            assert_eq!(found.status, 200, "{question}: {}", found.body);
            assert_eq!(found.body, expected.body, "node {number}: {question}");
        }
    }
}

#[test]
fn three_processes_answer_like_the_whole_store() {
    let data = Data::new();
    let whole = data.path("whole");
    let whole = Served::start(&["serve", "-l", text(&whole), "--bind", "127.0.0.1:0"]);
    for mode in ["dynamic", "in-place", "fork-join"] {
        let mut nodes = data.nodes(&["--execution", mode]);
        assert_like_the_whole(&whole, &nodes);
        let update = nodes[0].got("/update", "*/*", "INSERT DATA { <urn:a> <urn:b> <urn:c> }");
        let is_refused = update.status == 403
            && update
                .body
                .contains("a node of a cluster takes no changes yet");
        assert!(is_refused, "{update:?}");
        let first = data.address(0);
        for node in &mut nodes {
            assert_eq!(node.end("TERM"), Some(143), "{}", node.said());
        }
        let left = format!("node 0 at {first} is away: it has left");
        soon("the others are told", || nodes[2].said().contains(&left));
    }
}

/// Questions that one or two nodes can answer: what is said of each of some students.
fn light_questions() -> Vec<String> {
    let of = |number| {
        format!(
            "SELECT ?c WHERE {{ <http://www.Department0.University0.edu/UndergraduateStudent{number}> ub:takesCourse ?c }}"
        )
    };
    (0..60).map(of).collect()
}

/// Node 1 is away: whatever is answered is right, and what is not names it.
fn assert_right_or_named(whole: &Served, node: &Served) {
    let (mut right, mut named) = (0, 0);
    for question in light_questions() {
        let (expected, found) = (whole.query(&question), node.query(&question));
        if found.status == 200 {
            assert_eq!(found.body, expected.body, "{question}");
            right += 1;
        } else {
            assert!(found.names(1), "{question}: {found:?}");
            named += 1;
        }
    }
    assert!(right > 0 && named > 0, "{right} right, {named} named");
}

#[test]
fn a_node_that_dies_is_named_and_used_again_when_it_comes_back() {
    let data = Data::new();
    let whole = data.path("whole");
    let whole = Served::start(&["serve", "-l", text(&whole), "--bind", "127.0.0.1:0"]);
    let mut nodes = data.nodes(&[]);
    let expected = whole.query(TRIANGLES).body;
    nodes[1].end("KILL");
    for node in [&nodes[0], &nodes[2]] {
        let is_named = || {
            let answer = node.query(TRIANGLES);
            assert!(answer.names(1) || answer.body == expected, "{answer:?}");
            answer.names(1)
        };
        assert!(soon("it is named", is_named) < NOTICED);
        assert_right_or_named(&whole, node);
        let ready = node.got("/health/ready", "*/*", "");
        assert!(
            ready.status == 200 && ready.body.contains("part-0001"),
            "{ready:?}"
        );
    }
    let status = run(["cluster", "status", &format!("http://{}", nodes[0].address)]);
    assert_eq!(status.code, Some(4), "{}", status.output);
    assert!(status.output.contains("down") && status.errors.contains("part-0001"));
    assert_eq!(nodes[2].cluster()["nodes"][1]["state"], "down");
    nodes[1] = data.node(1, &[]);
    for node in &nodes {
        ready(node);
        soon("it is used again", || {
            node.query(TRIANGLES).body == expected
        });
    }
    assert_like_the_whole(&whole, &nodes[1..2]);
    // Frozen, it closes nothing: only its silence tells.
    nodes[2].signal("STOP");
    let is_named = || nodes[0].query(TRIANGLES).names(2);
    assert!(soon("its silence is noticed", is_named) < NOTICED);
    nodes[2].signal("CONT");
    for node in &nodes {
        soon("it is used again", || {
            node.query(TRIANGLES).body == expected
        });
    }
    let url = format!("http://{}", nodes[0].address);
    let status = run(["cluster", "status", &url, "--format", "json"]);
    let document: Value = serde_json::from_str(&status.output).expect("a document");
    assert_eq!((status.code, &document["ready"]), (Some(0), &true.into()));
}

#[test]
fn an_answer_that_has_begun_is_broken_off() {
    let data = Data::new();
    let mut nodes = data.nodes(&[]);
    let endless = format!(
        "{UB} SELECT * {{ ?a ub:takesCourse ?b . ?c ub:takesCourse ?d . ?c ub:advisor ?e }}"
    );
    let mut stream = nodes[0].sent("/sparql", "application/sparql-results+json", &endless);
    let mut bytes = vec![0; 1 << 16];
    stream.read_exact(&mut bytes).expect("it has begun");
    assert!(bytes.starts_with(b"HTTP/1.1 200"));
    nodes[1].end("KILL");
    // Broken off by the system or in good order: what came is no whole answer.
    let _ = stream.read_to_end(&mut bytes);
    let answer = Answer::of(&bytes);
    assert!(!answer.is_whole, "{}", answer.head);
    let end = answer.body.len().saturating_sub(600);
    let end = &answer.body[answer.body.floor_char_boundary(end)..];
    assert!(
        end.contains("node 1, which has part 1 of the graph"),
        "{end}"
    );
}

/// What a process that does not belong here is told, and what node 0 says of it.
fn assert_refused(first: &Served, stranger: &Path, reason: &str) {
    let before = first.said();
    let stranger = served(stranger, &[]);
    soon("both say why", || {
        let said = first.said();
        said[before.len()..].contains(reason) && stranger.said().contains(reason)
    });
    let state = first.cluster();
    assert_eq!(
        (&state["nodes"][1]["state"], &state["ready"]),
        (&"down".into(), &false.into())
    );
}

#[test]
fn whoever_does_not_belong_to_the_cluster_is_refused_on_both_sides() {
    let data = Data::new();
    let file = write(data.folder.path(), "more.nt", "<urn:a> <urn:b> <urn:c> .\n");
    load(&data.path("whole"), &[&file]);
    data.cut("whole", "other-graph", "6");
    data.cut("whole", "other-cut", "5");
    let key = data.path("cluster").join("other.key");
    fs::write(key, [7; 32]).expect("the folder is writable");
    let mut nodes = vec![data.node(0, &[]), data.node(2, &[])];
    let waiting = nodes[0].got("/health/ready", "*/*", "");
    assert!(
        waiting.status == 503 && waiting.body.contains("part-0001"),
        "{waiting:?}"
    );
    assert!(nodes[0].query(TRIANGLES).head.contains("retry-after"));
    soon("the two are linked", || {
        nodes[0].cluster()["nodes"][2]["state"] == "up"
    });

    let part = "part = \"part-0001\"";
    let of_graph = data.changed(
        1,
        "graph.toml",
        &[(part, "part = \"../other-graph/part-0001\"")],
    );
    let with_key = data.changed(1, "key.toml", &[("cluster.key", "other.key")]);
    assert_refused(&nodes[0], &with_key, "different keys");
    assert_refused(&nodes[0], &of_graph, "their parts are of different graphs");
    let twice = data.changed(
        2,
        "twice.toml",
        &[("number = 2", "listen = \"127.0.0.1:0\"")],
    );
    assert_refused(&nodes[0], &twice, "is linked with node 2 already");
    let mut stranger = TcpStream::connect(data.address(0)).expect("it listens");
    stranger
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .expect("it reads");
    soon("garbage is named", || {
        nodes[0].said().contains("no Somersault node speaks here")
    });
    assert_eq!(nodes[0].said().matches("different keys").count(), 1);

    nodes.push(data.node(1, &[]));
    nodes.iter().for_each(ready);
    let answers: Vec<String> = nodes
        .iter()
        .map(|node| node.query(TRIANGLES).body)
        .collect();
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
}

#[test]
fn files_that_are_no_node_s_are_refused_with_what_to_do() {
    let data = Data::new();
    let part = "part = \"part-0001\"";
    let short = data.path("cluster").join("short.key");
    fs::write(&short, "a word").expect("the folder is writable");
    let _taken = TcpListener::bind(data.address(1)).expect("nobody listens yet");
    let third = format!("  \"{}\",\n", data.address(2));
    for (changes, code, reason) in [
        (
            &[("number = 1", "number = 2")][..],
            3,
            "this is node 1 and not node 2",
        ),
        (
            &[(part, "part = \"../whole\"")],
            3,
            "it is a whole graph, and no part of one",
        ),
        (&[(part, "")], 3, "`node.part` is not configured"),
        (&[(part, "part = \"nowhere\"")], 1, "nowhere"),
        (
            &[("key =", "# key =")],
            3,
            "`cluster.key` is not configured",
        ),
        (
            &[("cluster.key", "nowhere.key")],
            3,
            "make one: somersault cluster init",
        ),
        (
            &[("cluster.key", "short.key")],
            3,
            "a key of 6 bytes is too short",
        ),
        (
            &[(&third, "")],
            3,
            "cut into 3 parts, and the list has 2 nodes",
        ),
        (
            &[("number = 1", "numbers = 1")],
            3,
            "did you mean `node.number`?",
        ),
        (&[], 4, "cannot listen for the other nodes"),
    ] {
        let file = data.changed(1, "changed.toml", changes);
        for verb in [&["node"][..], &["cluster", "check"]] {
            let run = run([verb, &["--config", text(&file)]].concat());
            assert_eq!(run.code, Some(code), "{changes:?}: {}", run.errors);
            assert!(run.errors.contains(reason), "{reason}: {}", run.errors);
        }
    }
}

#[test]
fn what_a_check_misses_and_what_init_made() {
    let data = Data::new();
    let alone = run([
        "cluster",
        "check",
        "--wait",
        "100ms",
        "--config",
        text(&data.file(1)),
    ]);
    assert!(
        alone.code == Some(4) && alone.errors.contains("part-0002"),
        "{}",
        alone.errors
    );
    let cluster = data.path("cluster");
    let again = ["cluster", "init", text(&cluster), "--nodes", "a:1,b:1,c:1"];
    let again = run(again);
    assert!(
        again.code == Some(1) && again.errors.contains("it is there already"),
        "{}",
        again.errors
    );
    let mode = fs::metadata(data.path("cluster").join("cluster.key")).expect("init wrote it");
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777,
        0o600
    );
    assert_eq!(mode.len(), 32);
}

#[test]
fn a_node_is_checked_against_those_that_run() {
    let data = Data::new();
    let _nodes = [data.node(0, &[]), data.node(2, &[])];
    let check = run([
        "cluster",
        "check",
        "--wait",
        "60s",
        "--config",
        text(&data.file(1)),
    ]);
    assert_eq!(check.code, Some(0), "{}", check.errors);
    assert!(
        check.output.starts_with("sound: node 1 of 3"),
        "{}",
        check.output
    );
}
