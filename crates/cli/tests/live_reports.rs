//! Subscriptions in a pipe, and in a shell that is a script: what comes, what ends them, and connections that break: through
//! a relay that cuts them, and against a listener that says what a test needs.

use crate::common;
use crate::live::{LIKES, PATIENCE, QUERY, Served, answer, found, json_lines, line, listener};

use common::{run_with_input, somersault, started, text, write};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A subscription beside the test.
struct Subscribed {
    child: Child,
    reports: Receiver<String>,
    said: Arc<Mutex<String>>,
}

impl Subscribed {
    fn start(url: &str, arguments: &[&str]) -> Subscribed {
        let mut command = somersault();
        command
            .arg("subscribe")
            .args(arguments)
            .args(["--endpoint", url]);
        let mut child = started(&mut command);
        let (sender, reports) = channel();
        let output = BufReader::new(child.stdout.take().expect("a pipe was asked for"));
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let said = Arc::new(Mutex::new(String::new()));
        let errors = BufReader::new(child.stderr.take().expect("a pipe was asked for"));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                let mut heard = heard.lock().expect("nobody panics");
                heard.push_str(&line);
                heard.push('\n');
            }
        });
        Subscribed {
            child,
            reports,
            said,
        }
    }

    #[track_caller]
    fn next(&self) -> Value {
        let line = self.reports.recv_timeout(PATIENCE);
        let line = line.unwrap_or_else(|_| panic!("no report: {}", self.said()));
        serde_json::from_str(&line).expect("JSON")
    }

    fn said(&self) -> String {
        self.said.lock().expect("nobody panics").clone()
    }

    #[track_caller]
    fn says(&self, what: &str) {
        let begun = Instant::now();
        while !self.said().contains(what) {
            assert!(
                begun.elapsed() < PATIENCE,
                "{what:?} is not in {}",
                self.said()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status();
        assert!(sent.expect("there is a kill").success());
    }

    /// A signal to a process that may have ended already.
    fn signal_again(&self, name: &str) {
        let id = self.child.id().to_string();
        let _ = Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status();
    }

    #[track_caller]
    fn code(&mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("the child is ours") {
                return status.code();
            }
            assert!(begun.elapsed() < PATIENCE, "it goes on: {}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn reports_come_as_lines_from_a_number_on() {
    let served = Served::asked();
    let mut subscribed = Subscribed::start(&served.url, &["likes"]);
    served.pushed(&line(100, "a"), 1000);
    let first = subscribed.next();
    assert_eq!(
        (&first["number"], &first["close"], &first["query"]),
        (&1.into(), &1000.into(), &"likes".into())
    );
    assert_eq!(found(&first), ["http://e/a"]);
    served.pushed(&line(1100, "b"), 3000);
    assert_eq!(found(&subscribed.next()), ["http://e/b"]);
    assert_eq!(subscribed.next()["number"], 3);
    let later = served.lines(&["subscribe", "likes", "--from", "2", "--count", "2"]);
    assert_eq!(
        (&later[0]["number"], &later[1]["number"]),
        (&2.into(), &3.into())
    );
    let run = served.run(&["subscribe", "likes", "--count", "4", "--timeout", "500ms"]);
    assert_eq!(
        (run.code, json_lines(&run.output).len()),
        (Some(7), 3),
        "{}",
        run.errors
    );
    assert!(run.errors.contains("3 of 4 reports"), "{}", run.errors);
    let run = served.run(&["subscribe", "likes", "--timeout", "100ms"]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    subscribed.signal("INT");
    assert_eq!(subscribed.code(), Some(130));
}

#[test]
fn a_query_that_is_dropped_ends_its_subscribers() {
    let served = Served::asked();
    let mut subscribed = Subscribed::start(&served.url, &["likes"]);
    served.pushed(&line(100, "a"), 1000);
    subscribed.next();
    served.done(&["cq", "drop", "likes"]);
    assert_eq!(subscribed.code(), Some(1));
    subscribed.says("there are no more reports");
}

#[test]
fn a_query_that_is_given_lives_as_long_as_its_subscription() {
    let served = Served::start();
    served.done(&["stream", "create", LIKES, "--begin", "0"]);
    let mut signals = vec![("INT", 130), ("TERM", 143)];
    if outlives_its_terminal() {
        eprintln!("skipped: SIGHUP, which is ignored here (nohup)");
    } else {
        signals.push(("HUP", 129));
    }
    for (signal, code) in signals {
        let mut subscribed = Subscribed::start(&served.url, &["--query", QUERY]);
        let begun = Instant::now();
        while served.lines(&["cq", "list"]).is_empty() {
            assert!(begun.elapsed() < PATIENCE, "{}", subscribed.said());
        }
        subscribed.signal(signal);
        if signal == "HUP" {
            // The shell says it, and then the system.
            subscribed.signal_again(signal);
        }
        assert_eq!(subscribed.code(), Some(code));
        assert_eq!(
            served.lines(&["cq", "list"]),
            Vec::<Value>::new(),
            "{}",
            subscribed.said()
        );
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = write(folder.path(), "likes.rspql", QUERY);
    let mut subscribed =
        Subscribed::start(&served.url, &["--query-file", text(&file), "--count", "1"]);
    let begun = Instant::now();
    while served.lines(&["cq", "list"]).is_empty() {
        assert!(begun.elapsed() < PATIENCE, "{}", subscribed.said());
    }
    served.pushed(&line(100, "a"), 1000);
    assert_eq!(found(&subscribed.next()), ["http://e/a"]);
    assert_eq!(subscribed.code(), Some(0), "{}", subscribed.said());
    assert_eq!(served.lines(&["cq", "list"]), Vec::<Value>::new());
    served.fails(
        &["subscribe", "--query", "SELECT * { ?s ?p ?o"],
        6,
        "line 1, column ",
    );
}

/// Who comes or goes with a difference.
fn changed<'v>(difference: &'v Value, how: &str) -> Vec<&'v str> {
    assert_eq!(difference["type"], "difference", "{difference}");
    let rows = difference[how]["bindings"].as_array().expect("rows");
    let who = rows.iter().map(|row| row["who"]["value"].as_str());
    who.map(|who| who.expect("an IRI")).collect()
}

#[test]
fn a_query_without_windows_is_followed_as_the_store_changes() {
    let served = Served::start();
    let relay = Relay::before(&served.url);
    let query = "SELECT ?who { ?who <urn:like> <urn:window> }";
    let mut subscribed = Subscribed::start(&relay.url, &["--query", query, "--count", "3"]);
    let first = subscribed.next();
    assert_eq!(first["type"], "answer");
    assert_eq!(found(&first), Vec::<&str>::new());
    let like = |who: &str| format!("<{who}> <urn:like> <urn:window>");
    served.done(&[
        "update",
        "--update",
        &format!("INSERT DATA {{ {} }}", like("urn:a")),
    ]);
    assert_eq!(changed(&subscribed.next(), "added"), ["urn:a"]);
    relay.cut();
    subscribed.says("the connection broke");
    let both = format!(
        "DELETE DATA {{ {} }}; INSERT DATA {{ {} }}",
        like("urn:a"),
        like("urn:b")
    );
    served.done(&["update", "--update", &both]);
    relay.mend();
    let last = subscribed.next();
    assert_eq!(changed(&last, "added"), ["urn:b"]);
    assert_eq!(changed(&last, "removed"), ["urn:a"]);
    assert_eq!(subscribed.code(), Some(0), "{}", subscribed.said());
    assert_eq!(served.lines(&["cq", "list"]), Vec::<Value>::new());
    served.fails(
        &["subscribe", "--query", query, "--from", "3"],
        2,
        "--from is for reports",
    );
    let random = "SELECT (RAND() AS ?who) {}";
    served.fails(
        &["subscribe", "--query", random],
        7,
        "RAND cannot stand in a live query",
    );
}

#[test]
fn a_live_query_over_a_store_has_its_answer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let file = write(folder.path(), "a.nt", "<urn:a> <urn:like> <urn:b> .\n");
    let loaded = common::run(["load", "-l", text(&store), text(&file)]);
    assert_eq!(loaded.code, Some(0), "{}", loaded.errors);
    let query = "SELECT ?who { ?who <urn:like> <urn:b> }";
    let run = common::run(["subscribe", "-l", text(&store), "--query", query]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    let lines = json_lines(&run.output);
    assert_eq!((lines.len(), found(&lines[0])), (1, vec!["urn:a"]));
}

/// Whether whoever started the tests had them, and so all that they start, ignore that a terminal is closed.
fn outlives_its_terminal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask & 1 == 1)
}

/// Stands before a server; its connections can be cut, and new ones refused.
struct Relay {
    url: String,
    is_open: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    fn before(url: &str) -> Relay {
        let server = url.strip_prefix("http://").expect("a URL").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let is_open = Arc::new(AtomicBool::new(true));
        let streams = Arc::new(Mutex::new(Vec::new()));
        let (open, kept) = (Arc::clone(&is_open), Arc::clone(&streams));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if !open.load(Ordering::SeqCst) {
                    continue;
                }
                let server = TcpStream::connect(&server).expect("the server is there");
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let copy = |stream: &TcpStream| stream.try_clone().expect("it is open");
                    kept.lock().expect("nobody panics").push(copy(from));
                    let (mut from, mut to) = (copy(from), copy(to));
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(std::net::Shutdown::Both);
                    });
                }
            }
        });
        Relay {
            url,
            is_open,
            streams,
        }
    }

    fn cut(&self) {
        self.is_open.store(false, Ordering::SeqCst);
        for stream in self.streams.lock().expect("nobody panics").drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    fn mend(&self) {
        self.is_open.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_subscription_goes_on_where_its_connection_broke() {
    let served = Served::asked();
    let relay = Relay::before(&served.url);
    let subscribed = Subscribed::start(&relay.url, &["likes"]);
    served.pushed(&line(100, "a"), 1000);
    assert_eq!(subscribed.next()["number"], 1);
    relay.cut();
    subscribed.says("the connection broke; trying again in 0.25 s");
    // Made while nobody could hear of it.
    served.pushed(&line(1100, "b"), 3000);
    subscribed.says("trying again in 0.5 s");
    relay.mend();
    subscribed.says("the connection is there again");
    assert_eq!(found(&subscribed.next()), ["http://e/b"]);
    served.pushed("", 4000);
    let numbers = [subscribed.next(), subscribed.next()].map(|report| report["number"].clone());
    assert_eq!(
        numbers,
        [3, 4].map(Value::from),
        "none twice, none left out"
    );
}

#[test]
fn a_server_that_was_started_anew_has_forgotten_a_query_or_begins_again() {
    let events = |text: &str| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n:\n\n{text}"
        )
    };
    let report =
        |number: u64| format!("id: {number}\ndata: {{\"close\":{number},\"query\":\"q\"}}\n\n");
    let unknown = answer(
        "404 Not Found\r\nContent-Type: application/problem+json",
        "{\"detail\":\"there is no registered query `q`\"}",
    );
    let (url, requests) = listener(vec![
        events(&(report(7) + &report(8))),
        answer("503 Service Unavailable\r\nRetry-After: 0", ""),
        events(&format!(
            "event: missed\ndata: {{\"missed\":4}}\n\n{}",
            report(3)
        )),
        unknown,
    ]);
    let mut subscribed = Subscribed::start(&url, &["q", "--from", "7"]);
    let numbers = [0; 3].map(|_| subscribed.next()["number"].as_u64());
    assert_eq!(numbers, [Some(7), Some(8), Some(3)]);
    assert_eq!(subscribed.code(), Some(1));
    for said in [
        "4 reports are not kept any more",
        "numbers begin again",
        "there are no more reports: ",
        "there is no registered query `q`",
    ] {
        subscribed.says(said);
    }
    let requests: Vec<String> = requests
        .iter()
        .take(4)
        .map(|request| request.to_ascii_lowercase())
        .collect();
    for (request, seen) in requests.iter().zip([6, 8, 8, 3]) {
        assert!(
            request.starts_with("get /api/v1/continuous/q/reports "),
            "{request}"
        );
        assert!(
            request.contains(&format!("last-event-id: {seen}\r\n")),
            "{seen}: {request}"
        );
    }
}

#[test]
fn a_shell_lists_and_subscribes() {
    let served = Served::asked();
    served.pushed(&line(100, "a"), 2000);
    let run = served.with_input(&["shell"], ".streams\n.queries\n.subscribe likes 2\n");
    assert_eq!(run.code, Some(0), "{}", run.errors);
    let lines = json_lines(&run.output);
    assert_eq!(lines.len(), 4);
    assert_eq!(
        (&lines[0]["name"], &lines[1]["name"]),
        (&LIKES.into(), &"likes".into())
    );
    assert_eq!(
        (found(&lines[2]).len(), &lines[3]["number"]),
        (1, &2.into())
    );
    let run = served.with_input(&["shell"], ".subscribe nobody\n");
    assert_eq!(run.code, Some(1), "{}", run.errors);
    assert!(run.errors.contains("nobody"), "{}", run.errors);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = write(
        folder.path(),
        "data.nt",
        "<http://e/a> <http://e/p> 1 .\n".replace(" 1 ", " \"1\" "),
    );
    for command in [".streams", ".queries", ".subscribe likes"] {
        let run = run_with_input(
            &["shell", "--data", text(&data)],
            format!("{command}\n").as_bytes(),
        );
        assert_eq!(run.code, Some(2), "{}", run.errors);
        let said = [
            "this shell asks none",
            "somersault serve FILES --allow-update",
            ".open http://",
        ];
        assert!(
            said.iter().all(|said| run.errors.contains(said)),
            "{}",
            run.errors
        );
    }
    let output = folder.path().join("reports");
    let script = format!(".output {}\n.subscribe likes 1\n", text(&output));
    assert_eq!(served.with_input(&["shell"], &script).code, Some(0));
    let kept = std::fs::read_to_string(&output).expect("it was written");
    assert_eq!(json_lines(&kept).len(), 1);
}
