//! A server without `--allow-update` shows what other processes do to its store: updates, loads, compactions,
//! another server that is killed in the middle.

#![cfg(unix)]

use crate::common;

use common::{run, started, text, write};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a busy machine may take.
const PATIENCE: Duration = Duration::from_secs(20);

struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(arguments: &[&str]) -> Served {
        let mut command = common::somersault();
        command.args(["serve", "-b", "127.0.0.1:0"]).args(arguments);
        let mut child = started(&mut command);
        let url = common::listening(&mut child);
        let address = url.strip_prefix("http://").expect("a server of HTTP");
        let address = address.to_owned();
        Served { child, address }
    }

    /// The whole answer to a request, head and body; `None` where the server is gone.
    fn ask(&self, method: &str, path: &str, fields: &str, body: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let address = &self.address;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Length: {length}\r\n{fields}\r\n"
        );
        stream.write_all((head + body).as_bytes()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        Some(String::from_utf8_lossy(&answer).into_owned())
    }

    fn get(&self, path: &str, fields: &str) -> String {
        let answer = self.ask("GET", path, fields, "");
        answer.expect("the server is there")
    }

    /// The answer to a query in CSV; `fields`: more of the head.
    fn query(&self, query: &str, fields: &str) -> String {
        let fields =
            format!("Content-Type: application/sparql-query\r\nAccept: text/csv\r\n{fields}");
        let answer = self.ask("POST", "/sparql", &fields, query);
        answer.expect("the server is there")
    }

    /// The number of the snapshot that is committed; `None` where nobody says.
    fn update(&self, update: &str) -> Option<u64> {
        let fields = "Content-Type: application/sparql-update\r\n";
        let answer = self.ask("POST", "/update", fields, update)?;
        answer.starts_with("HTTP/1.1 204").then_some(())?;
        field(&answer, "somersault-snapshot")?.parse().ok()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn field<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let named = |line: &'a str| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    };
    answer.lines().find_map(named)
}

#[track_caller]
fn done(arguments: &[&str]) {
    let run = run(arguments);
    assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.errors);
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

const COUNT: &str = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }";

/// Readiness and metrics of a server that has followed five commits to the sixth, and takes none.
fn assert_says_so(server: &Served) {
    let ready = server.get("/health/ready", "");
    assert!(
        ready.starts_with("HTTP/1.1 200") && ready.contains("read-only"),
        "{ready}"
    );
    let metrics = server.get("/metrics", "");
    for line in [
        "somersault_snapshot 6",
        "somersault_followed_commits_total 5",
        "somersault_followed_behind 0",
        "somersault_follow_failed 0",
        "somersault_writable 0",
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "{line}: {metrics}"
        );
    }
    let fields = "Content-Type: application/sparql-update\r\n";
    let refused = server
        .ask("POST", "/update", fields, "CLEAR ALL")
        .expect("an answer");
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
}

#[test]
fn a_server_shows_what_other_processes_change() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let store = text(&store);
    let insert = |name: &str| {
        let update = format!("INSERT DATA {{ <http://e/{name}> <http://e/p> <http://e/o> }}");
        done(&["update", "-l", store, "--update", &update]);
    };
    insert("a");
    let server = Served::start(&["-l", store]);
    let counts = |count: u32| {
        let answer = format!("\r\n{count}\r\n");
        soon(&format!("{count} statements"), || {
            server.query(COUNT, "").contains(&answer)
        })
    };
    counts(1);
    let tagged = server.get("/store?default", "");
    let tag = field(&tagged, "etag").expect("a tag").to_owned();
    let asked = format!("If-None-Match: {tag}\r\n");
    let unchanged = server.get("/store?default", &asked);
    assert!(unchanged.starts_with("HTTP/1.1 304"), "{unchanged}");
    insert("b");
    let took = counts(2);
    // A second is promised; here two processes are started beside many others.
    assert!(took < Duration::from_secs(5), "{took:?}");
    let changed = server.get("/store?default", &asked);
    assert!(changed.starts_with("HTTP/1.1 200"), "{changed}");
    assert_eq!(field(&changed, "somersault-snapshot"), Some("2"));
    // Whoever has changed something elsewhere waits for it here.
    insert("c");
    let own = server.query(COUNT, "Somersault-Snapshot: 3\r\n");
    assert!(own.contains("\r\n3\r\n"), "{own}");
    done(&["compact", "-l", store]);
    let more = write(
        folder.path(),
        "more.nt",
        "<http://e/l> <http://e/p> \"x\" .\n",
    );
    done(&["load", "-l", store, text(&more)]);
    counts(4);
    insert("d");
    counts(5);
    done(&["update", "-l", store, "--update", "DROP ALL"]);
    counts(0);
    assert_says_so(&server);
    std::fs::remove_dir_all(store).expect("it is ours");
    soon("that the store is gone", || {
        let ready = server.get("/health/ready", "");
        ready.starts_with("HTTP/1.1 503") && ready.contains("removed or replaced")
    });
    assert!(server.query(COUNT, "").starts_with("HTTP/1.1 200"));
}

/// Ends those who ask, also where the test fails.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

const SUM: &str = "SELECT (SUM(?n) AS ?sum) (COUNT(*) AS ?k) { ?a <http://e/has> ?n }";

fn transfer(number: usize) -> String {
    let from = number % 5;
    let to = (from + 1 + number % 3) % 5;
    format!(
        "PREFIX : <http://e/> DELETE {{ :a{from} :has ?f . :a{to} :has ?t }} \
         INSERT {{ :a{from} :has ?g . :a{to} :has ?u }} \
         WHERE {{ :a{from} :has ?f . :a{to} :has ?t \
         BIND (?f - {number} AS ?g) BIND (?t + {number} AS ?u) }}"
    )
}

/// Transfers until the server is gone; the last commit that was acknowledged.
fn transfers(writer: &Served, first: usize) -> u64 {
    let mut last = 0;
    for number in first.. {
        match writer.update(&transfer(number)) {
            Some(number) => last = number,
            None => break,
        }
    }
    last
}

fn killed(store: &Path, reader: &Served, round: usize) {
    let mut writer = Served::start(&["-l", text(store), "--allow-update"]);
    let killer = writer.child.id().to_string();
    let last = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(150 + 70 * round as u64));
            let sent = std::process::Command::new("kill")
                .args(["-9", &killer])
                .status();
            assert!(sent.expect("there is a kill").success());
        });
        transfers(&writer, round * 1000)
    });
    let _ = writer.child.wait();
    if last > 0 {
        let seen = reader.query(SUM, &format!("Somersault-Snapshot: {last}\r\n"));
        assert!(seen.starts_with("HTTP/1.1 200"), "{last}: {seen}");
    }
}

#[test]
fn a_writer_that_is_killed_and_comes_back_is_followed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let accounts = [":a0", ":a1", ":a2", ":a3", ":a4"].join(" :has 1000 . ") + " :has 1000";
    let begin = format!("PREFIX : <http://e/> INSERT DATA {{ {accounts} }}");
    done(&["update", "-l", text(&store), "--update", &begin]);
    let reader = Served::start(&["-l", text(&store)]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let over = Over(&is_over);
        let asking = scope.spawn(|| {
            let mut asked = 0;
            while !is_over.load(Ordering::SeqCst) {
                let seen = reader.query(SUM, "");
                assert!(seen.contains("\r\n5000,5\r\n"), "{seen}");
                asked += 1;
            }
            asked
        });
        for round in 0..5 {
            killed(&store, &reader, round);
            if round == 2 {
                done(&["compact", "-l", text(&store)]);
            }
        }
        drop(over);
        assert!(asking.join().expect("sums are right") > 20);
    });
    // What was in the log and not acknowledged is there, or not; the next writer decides, for all.
    let update = "INSERT DATA { <http://e/last> <http://e/p> 1 }";
    done(&["update", "-l", text(&store), "--update", update]);
    let query = "SELECT ?s ?p ?o { ?s ?p ?o } ORDER BY ?s";
    let local = run([
        "query",
        "-l",
        text(&store),
        "--query",
        query,
        "--results-format",
        "csv",
    ]);
    let local = local.output.trim().replace("\r\n", "\n");
    soon("the same as a process that begins now", || {
        let shown = reader.query(query, "").replace("\r\n", "\n");
        shown.contains(&local)
    });
}
