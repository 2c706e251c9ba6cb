//! Streams and registered queries from the command line: against our own server, and against a listener that says what a
//! test needs. Subscriptions are in `live_reports` and `live_terminal`.

use crate::common;

use common::{Run, listening, run, run_with_input, somersault, started, text, write};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What a busy machine may take.
pub const PATIENCE: Duration = Duration::from_mins(1);
pub const LIKES: &str = "urn:likes";
/// Who likes what, each second, also where nobody does.
pub const QUERY: &str = "#@ report=close\nPREFIX e: <http://e/> SELECT ?who ?what \
    FROM NAMED WINDOW <urn:w> ON <urn:likes> [RANGE PT1S STEP PT1S] WHERE { WINDOW <urn:w> { ?who e:likes ?what } }";

/// A server that is ended with its test.
pub struct Served {
    child: Child,
    pub url: String,
    _folder: tempfile::TempDir,
}

impl Served {
    /// With an empty store that everybody may change.
    pub fn start() -> Served {
        Served::start_with(&["--allow-update"], &[])
    }

    fn start_with(arguments: &[&str], variables: &[(&str, &str)]) -> Served {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = folder.path().join("store");
        let mut command = somersault();
        command.args(["serve", "-b", "127.0.0.1:0", "-l", text(&store)]);
        command.args(arguments).envs(variables.iter().copied());
        let mut child = started(&mut command);
        let url = listening(&mut child);
        Served {
            child,
            url,
            _folder: folder,
        }
    }

    /// With a stream and a query over it that is registered.
    pub fn asked() -> Served {
        let served = Served::start();
        served.done(&["stream", "create", LIKES, "--begin", "0"]);
        let query = served.with_input(&["cq", "register", "-", "--name", "likes"], QUERY);
        assert_eq!(query.code, Some(0), "{}", query.errors);
        served
    }

    fn arguments<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        [arguments, &["--endpoint", &self.url]].concat()
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        run(self.arguments(arguments))
    }

    pub fn with_input(&self, arguments: &[&str], input: &str) -> Run {
        run_with_input(&self.arguments(arguments), input.as_bytes())
    }

    #[track_caller]
    pub fn done(&self, arguments: &[&str]) -> Run {
        let run = self.run(arguments);
        assert_eq!(
            run.code,
            Some(0),
            "{arguments:?}: {}{}",
            run.output,
            run.errors
        );
        run
    }

    #[track_caller]
    pub fn fails(&self, arguments: &[&str], code: i32, said: &str) {
        let run = self.run(arguments);
        let all = format!("{arguments:?}: {}{}", run.output, run.errors);
        assert_eq!(run.code, Some(code), "{all}");
        assert!(run.errors.contains(said), "{said:?} is not in {all}");
    }

    /// Lines of JSON that a verb prints.
    #[track_caller]
    pub fn lines(&self, arguments: &[&str]) -> Vec<Value> {
        json_lines(&self.done(arguments).output)
    }

    /// Pushes what standard input and the arguments say.
    #[track_caller]
    fn push(&self, more: &[&str], input: &str) -> Run {
        let run = self.with_input(&[&["stream", "push", LIKES], more].concat(), input);
        assert_eq!(run.code, Some(0), "{more:?}: {}", run.errors);
        run
    }

    /// Pushes these lines, and that nothing before the time will come.
    #[track_caller]
    pub fn pushed(&self, lines: &str, watermark_ms: u64) {
        let watermark = format!("--watermark={watermark_ms}");
        self.push(&["-", &watermark], lines);
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn json_lines(text: &str) -> Vec<Value> {
    let lines = text.lines();
    let parse =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
    lines.map(parse).collect()
}

pub fn line(ms: u64, who: &str) -> String {
    format!("{ms}\t<http://e/{who}> <http://e/likes> <http://e/x> .\n")
}

/// Who a report found.
pub fn found(report: &Value) -> Vec<&str> {
    let rows = report["results"]["bindings"].as_array().expect("rows");
    rows.iter()
        .map(|row| row["who"]["value"].as_str().expect("an IRI"))
        .collect()
}

/// The account of a push, which is the last line of JSON among what was said.
pub fn account(run: &Run) -> Value {
    let last = run.errors.lines().rev().find(|line| line.starts_with('{'));
    let last = last.unwrap_or_else(|| panic!("no account: {}", run.errors));
    serde_json::from_str(last).expect("JSON")
}

#[test]
fn streams_are_made_shown_and_dropped() {
    let served = Served::start();
    assert_eq!(served.lines(&["stream", "list"]), Vec::<Value>::new());
    let made = served.lines(&[
        "stream",
        "create",
        LIKES,
        "--grain",
        "250ms",
        "--lateness",
        "1s",
        "--idle",
        "never",
        "--absorb",
        "http://e/likes,http://e/dislikes",
        "--into",
        "http://e/g",
        "--budget",
        "1MiB",
        "--begin",
        "5000",
    ]);
    let shown = served.lines(&["stream", "show", LIKES]);
    assert_eq!(made, shown);
    for (member, expected) in [
        ("name", serde_json::json!(LIKES)),
        ("grain", serde_json::json!("250ms")),
        ("lateness", serde_json::json!("1000ms")),
        ("idle", serde_json::json!("never")),
        (
            "absorb",
            serde_json::json!(["http://e/likes", "http://e/dislikes"]),
        ),
        ("into", serde_json::json!("http://e/g")),
        ("budget_bytes", serde_json::json!(1 << 20)),
        ("settled", serde_json::json!(5000)),
    ] {
        assert_eq!(shown[0][member], expected, "{member}");
    }
    served.done(&["stream", "create", "urn:clicks", "--arrival-time"]);
    let names: Vec<Value> = served.lines(&["stream", "list"]);
    assert_eq!(
        (names[0]["name"].as_str(), names.len()),
        (Some("urn:clicks"), 2)
    );
    served.fails(&["stream", "create", LIKES], 1, "409");
    served.fails(&["stream", "create", "likes"], 6, "`name` of the stream");
    served.fails(
        &["stream", "create", "urn:x", "--grain", "100"],
        2,
        "--grain 100",
    );
    assert_eq!(served.done(&["stream", "drop", LIKES]).output, "");
    served.fails(&["stream", "show", LIKES], 1, "there is no stream");
    served.fails(&["stream", "drop", LIKES], 1, "there is no stream");
    served.fails(
        &["stream", "push", LIKES, "--watermark=5"],
        1,
        "there is no stream",
    );
}

#[test]
fn queries_are_registered_paused_and_dropped() {
    let served = Served::start();
    served.done(&["stream", "create", LIKES, "--begin", "0"]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = write(folder.path(), "likes.rspql", QUERY);
    let made = served.lines(&["cq", "register", text(&file), "--name", "likes"]);
    assert_eq!(made, [serde_json::json!({ "name": "likes" })]);
    served.fails(
        &["cq", "register", text(&file), "--name", "likes"],
        1,
        "409",
    );
    served.fails(&["stream", "drop", LIKES], 1, "409");
    let wrong = write(
        folder.path(),
        "wrong.rspql",
        QUERY.replace("WHERE", "\nWERE"),
    );
    served.fails(
        &["cq", "register", text(&wrong)],
        6,
        "wrong.rspql: line 3, column ",
    );
    let elsewhere = write(
        folder.path(),
        "other.rspql",
        QUERY.replace(LIKES, "urn:other"),
    );
    let run = served.run(&["cq", "register", text(&elsewhere)]);
    assert!(
        run.code != Some(0) && run.errors.contains("urn:other"),
        "{}",
        run.errors
    );
    served.pushed(&line(100, "a"), 1000);
    let shown = served.lines(&["cq", "show", "likes"]);
    assert_eq!(
        (&shown[0]["evaluations"], &shown[0]["close"]),
        (&1.into(), &1000.into())
    );
    assert!(
        shown[0]["plan"]
            .as_str()
            .is_some_and(|plan| plan.contains("likes")),
        "{shown:?}"
    );
    assert_eq!(shown[0]["text"], QUERY);
    served.done(&["cq", "pause", "likes"]);
    served.pushed("", 2000);
    let listed = served.lines(&["cq", "list"]);
    assert_eq!(
        (&listed[0]["paused"], &listed[0]["evaluations"]),
        (&true.into(), &1.into())
    );
    served.done(&["cq", "resume", "likes"]);
    served.pushed("", 4000);
    let listed = served.lines(&["cq", "list"]);
    assert_eq!(
        (&listed[0]["paused"], &listed[0]["close"]),
        (&false.into(), &4000.into())
    );
    served.done(&["cq", "drop", "likes"]);
    assert_eq!(served.lines(&["cq", "list"]), Vec::<Value>::new());
    for verb in ["show", "pause", "resume", "drop"] {
        served.fails(&["cq", verb, "likes"], 1, "likes");
    }
    served.fails(&["subscribe", "likes"], 1, "likes");
}

#[test]
fn what_a_query_probably_did_not_mean_is_said() {
    let served = Served::start();
    served.done(&["stream", "create", LIKES, "--begin", "0"]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let uneven = write(
        folder.path(),
        "uneven.rspql",
        QUERY.replace("STEP PT1S", "STEP PT0.15S"),
    );
    let run = served.done(&["cq", "register", text(&uneven), "--name", "uneven"]);
    let warned = "warning: the step of 150 ms is no multiple";
    assert!(run.errors.contains(warned), "{}", run.errors);
}

#[test]
fn items_come_from_files_and_standard_input() {
    let served = Served::asked();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str, content: String| text(&write(folder.path(), name, content)).to_owned();
    let recorded = file("a.nt.ts", line(100, "a") + &line(200, "b"));
    let objects = file(
        "b.ndjson",
        "{\"t\": 1100, \"nquads\": \"<http://e/c> <http://e/likes> <http://e/x> .\"}\n{\"watermark\": 1200}\n"
            .to_owned(),
    );
    let told = account(&served.push(&[&recorded, &objects, "--source", "s"], ""));
    assert_eq!(
        (&told["verb"], &told["state"]),
        (&"push".into(), &"done".into())
    );
    assert_eq!(
        (&told["statements"], &told["rejected"]),
        (&3.into(), &0.into())
    );
    let trig = "@prefix e: <http://e/> . e:d e:likes e:x . e:e e:likes e:x .";
    let trig = file("c.trig", trig.to_owned());
    let told = account(&served.push(&[&trig, "--time", "2100", "--source", "s"], ""));
    assert_eq!(told["statements"], 1, "the file is an item");
    let statements = "<http://e/f> <http://e/likes> <http://e/x> .\n<http://e/g> <http://e/likes> <http://e/x> .\n";
    let flags = "--format nq --time 2200 --source s --watermark=3000";
    let flags: Vec<&str> = flags.split(' ').collect();
    served.push(&flags, statements);
    let reports = served.lines(&["subscribe", "likes", "--count", "3"]);
    let closes = reports.iter().map(|report| report["close"].as_u64());
    assert_eq!(closes.collect::<Vec<_>>(), [1000, 2000, 3000].map(Some));
    let counts = reports.iter().map(|report| found(report).len());
    assert_eq!(counts.collect::<Vec<_>>(), [2, 1, 4]);
}

/// How many items of a push were taken, were there already and were rejected, and the position of the next.
fn counts(run: &Run) -> [u64; 4] {
    let told = account(run);
    ["statements", "known", "rejected", "position"].map(|name| told[name].as_u64().expect(name))
}

#[test]
fn graphs_bring_their_times_and_are_counted() {
    let served = Served::asked();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let trig = "@prefix e: <http://e/> . @prefix prov: <http://www.w3.org/ns/prov#> .
        e:g1 prov:generatedAtTime 100 . GRAPH e:g1 { e:a e:likes e:x }
        e:g2 prov:generatedAtTime 1100 . GRAPH e:g2 { e:b e:likes e:x }";
    let (time, likes) = (
        "<http://www.w3.org/ns/prov#generatedAtTime>",
        "<http://e/likes> <http://e/x>",
    );
    let nquads = format!(
        "<http://e/c> {likes} <http://e/g3> .\n\
         <http://e/g3> {time} \"2100\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n\
         <http://e/d> {likes} <http://e/g4> .\n"
    );
    let trig = write(folder.path(), "graphs.trig", trig);
    let nquads = write(folder.path(), "graphs.nq", nquads);
    let files = [text(&trig), text(&nquads)];
    let push = ["stream", "push", LIKES, "--source", "s", "--position", "0"];
    let run = served.run(&[&push[..], &files].concat());
    let errors = &run.errors;
    assert_eq!(
        (run.code, counts(&run)),
        (Some(8), [3, 0, 1, 4]),
        "{errors}"
    );
    let place = "graphs.nq, line 1";
    assert!(
        errors.contains(place) && errors.contains("<http://e/g4>"),
        "{errors}"
    );
    let run = served.run(&[&push[..], &files].concat());
    assert_eq!(
        (run.code, counts(&run)),
        (Some(8), [0, 3, 1, 4]),
        "{}",
        run.errors
    );
    served.done(&["stream", "push", LIKES, "--source", "s", "--watermark=3000"]);
    let reports = served.lines(&["subscribe", "likes", "--count", "3"]);
    let who = reports.iter().flat_map(found);
    assert!(who.eq(["a", "b", "c"].map(|who| format!("http://e/{who}"))));
    served.fails(&["stream", "push", LIKES, "--position", "0"], 2, "--source");
    let statements = [
        "--source",
        "n",
        "--position",
        "0",
        "--format",
        "nt",
        "--time",
        "now",
    ];
    let statements = [&["stream", "push", LIKES][..], &statements].concat();
    served.fails(&statements, 2, "the statements");
}

#[test]
fn a_flag_says_where_times_are_or_what_they_are() {
    let served = Served::asked();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let document =
        r#"{"@id": "http://e/e", "http://e/likes": {"@id": "http://e/x"}, "http://e/at": 2500}"#;
    let linked = write(folder.path(), "e.jsonld", document);
    let push = ["stream", "push", LIKES, text(&linked)];
    for said in ["1 line was rejected", "--time TIME|now"] {
        served.fails(&push, 8, said);
    }
    let flags = [
        "--time-predicate",
        "http://e/at",
        "--watermark",
        "--source",
        "s",
    ];
    let told = account(&served.done(&[&push[..], &flags].concat()));
    assert_eq!(
        (&told["sealed"], &told["statements"]),
        (&2500.into(), &1.into())
    );
    let date = "1970-01-01T00:00:02.600Z";
    let flags = [
        "--format",
        "nt",
        "--time",
        date,
        "--source",
        "s",
        "--watermark=3000",
    ];
    served.push(&flags, "<http://e/f> <http://e/likes> <http://e/x> .\n");
    let reports = served.lines(&["subscribe", "likes", "--from", "3", "--count", "1"]);
    assert_eq!(found(&reports[0]), ["http://e/e", "http://e/f"]);
    let lines = [
        "stream",
        "push",
        LIKES,
        "x.nt.ts",
        "--time-predicate",
        "http://e/at",
    ];
    served.fails(&lines, 2, "--time-predicate");
}

#[test]
fn a_source_that_counts_goes_on_where_its_connection_broke() {
    let taken = |position: u64| {
        let account =
            format!("{{\"taken\":1,\"positions\":1,\"known\":0,\"position\":{position}}}");
        answer("200 OK\r\nContent-Type: application/json", &account)
    };
    let long = "x".repeat(1 << 20);
    let lines = format!("1\t<http://e/{long}> <http://e/p> 1 .\n{}", line(2, "b"));
    let (url, requests) = listener(vec![taken(8), String::new(), taken(9)]);
    let arguments = [
        "stream",
        "push",
        LIKES,
        "--endpoint",
        &url,
        "--source",
        "s",
        "--position",
        "7",
    ];
    let run = run_with_input(&arguments, lines.as_bytes());
    assert_eq!(
        (run.code, &account(&run)["position"]),
        (Some(0), &9.into()),
        "{}",
        run.errors
    );
    assert!(
        run.errors.contains("there is a connection again"),
        "{}",
        run.errors
    );
    let requests: Vec<String> = requests.iter().take(3).collect();
    for (request, position) in requests.iter().zip([7, 8, 8]) {
        assert!(
            request.contains(&format!("&position={position} ")),
            "{}",
            &request[..200]
        );
    }
}

#[test]
fn the_end_of_a_push_may_promise_and_what_is_late_is_said() {
    let served = Served::asked();
    let told = account(&served.push(&["--watermark"], &line(3999, "h")));
    assert_eq!(told["settled"], 4000);
    let late = served.push(&[], &line(5, "late"));
    assert_eq!(account(&late)["late"], 1);
    assert!(late.errors.contains("too late"), "{}", late.errors);
    let push = ["stream", "push", LIKES];
    let fails = |more: &str, code, said| served.fails(&[&push[..], &[more]].concat(), code, said);
    fails("--watermark", 2, "no item has brought a time");
    fails("no-such.nt.ts", 1, "no-such.nt.ts");
    fails("--speed=fast", 2, "--speed fast");
}

#[test]
fn what_is_malformed_is_said_with_its_place_and_the_rest_goes_on() {
    let served = Served::asked();
    let ahead = "99999999999999";
    let lines = format!(
        "{}oops\n{}\n# a comment\n200\t<http://e/c> <http://e/likes> .\n{ahead}\t<http://e/d> <http://e/likes> <http://e/x> .\n{}",
        line(100, "a"),
        line(150, "b"),
        line(300, "e"),
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = write(folder.path(), "some.nt.ts", lines);
    let run = served.run(&["stream", "push", LIKES, text(&file), "--watermark=1000"]);
    assert_eq!(run.code, Some(8), "{}", run.errors);
    for place in [
        "some.nt.ts, line 2, column ",
        "some.nt.ts, line 6, column ",
        "some.nt.ts, line 7, column 1: ",
    ] {
        assert!(
            run.errors.contains(place),
            "{place:?} is not in {}",
            run.errors
        );
    }
    assert!(
        run.errors.contains("3 lines were rejected"),
        "{}",
        run.errors
    );
    assert_eq!(account(&run)["statements"], 3);
    let reports = served.lines(&["subscribe", "likes", "--count", "1"]);
    assert_eq!(
        found(&reports[0]),
        ["http://e/a", "http://e/b", "http://e/e"]
    );
    // A batch of which nothing is well formed.
    let run = served.with_input(&["stream", "push", LIKES], "oops\n\nagain\n");
    assert_eq!(run.code, Some(8), "{}", run.errors);
    assert!(run.errors.contains("-, line 1, column "), "{}", run.errors);
    assert!(
        run.errors.contains("2 lines were rejected"),
        "{}",
        run.errors
    );
    // A document is taken whole or not at all.
    let run = served.with_input(
        &["stream", "push", LIKES, "--format", "ttl", "--time", "2000"],
        "<http://e/a> <http://e/likes> <http://e/x> .\n<http://e/a> <http://e/likes> .\n",
    );
    assert_eq!(run.code, Some(8), "{}", run.errors);
    assert!(run.errors.contains("-, line 2"), "{}", run.errors);
}

#[test]
fn a_source_that_floods_is_slowed_and_loses_nothing() {
    let served = Served::start();
    let create = [
        "stream", "create", LIKES, "--begin", "0", "--absorb", "none", "--budget", "64KiB",
        "--grain", "1s",
    ];
    served.done(&create);
    let query = QUERY.replace("?who ?what", "(COUNT(*) AS ?n)");
    let registered = served.with_input(&["cq", "register", "-", "--name", "n"], &query);
    assert_eq!(registered.code, Some(0), "{}", registered.errors);
    let items = 4000;
    let lines: String = (0..items)
        .map(|number| line(number * 10, &number.to_string()))
        .collect();
    let run = served.with_input(&["stream", "push", LIKES, "--watermark=40000"], &lines);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert_eq!(account(&run)["statements"], items);
    assert!(run.errors.contains("waiting for room"), "{}", run.errors);
    assert!(run.errors.contains("there is room again"), "{}", run.errors);
    let reports = served.lines(&["subscribe", "n", "--count", "40"]);
    let counts = reports
        .iter()
        .map(|report| &report["results"]["bindings"][0]["n"]["value"]);
    assert!(
        counts.clone().all(|count| count == "100"),
        "{:?}",
        counts.collect::<Vec<_>>()
    );
    // A budget that nothing frees.
    let lines: String = (0..2000)
        .map(|number| line(50_000, &number.to_string()))
        .collect();
    let run = served.with_input(&["stream", "push", LIKES, "--timeout", "2s"], &lines);
    assert_eq!(run.code, Some(7), "{}", run.errors);
    assert!(run.errors.contains("no room for 2 s"), "{}", run.errors);
    assert!(run.errors.contains("items were taken"), "{}", run.errors);
}

/// Answers one connection after the other with these bytes, and gives what it was sent.
pub fn listener(answers: Vec<String>) -> (String, Receiver<String>) {
    listener_after(Duration::ZERO, answers)
}

/// The same, which does not listen before so long.
pub fn listener_after(pause: Duration, answers: Vec<String>) -> (String, Receiver<String>) {
    let bound = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = bound.local_addr().expect("it is bound");
    let url = format!("http://{address}");
    let bound = pause.is_zero().then_some(bound);
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        std::thread::sleep(pause);
        let listener = bound.unwrap_or_else(|| TcpListener::bind(address).expect("it was free"));
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else {
                return;
            };
            let mut reader = BufReader::new(&stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
            let head_lower = head.to_ascii_lowercase();
            let length = head_lower
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let mut body =
                vec![0; length.map_or(0, |length| length.trim().parse().expect("a length"))];
            let _ = reader.read_exact(&mut body);
            let _ = sender.send(head + &String::from_utf8_lossy(&body));
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (url, receiver)
}

pub fn answer(head: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

#[test]
fn a_server_that_starts_is_waited_for() {
    let refusal = |name: &str| {
        answer(
            "503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 0",
            &format!("{{\"type\":\"urn:somersault:problem:{name}\",\"detail\":\"not yet\"}}"),
        )
    };
    let none = answer(
        "200 OK\r\nContent-Type: application/json",
        "{\"streams\":[]}",
    );
    let answers = vec![refusal("starting"), refusal("starting"), none.clone()];
    let (url, requests) = listener_after(Duration::from_millis(300), answers);
    let run = run(["stream", "list", "--endpoint", &url]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert_eq!(requests.iter().count(), 3);
    let said = run.errors.matches("waiting for").count();
    assert_eq!(said, 1, "{}", run.errors);
    // One that is busy is not, and says so.
    let (url, requests) = listener(vec![refusal("overloaded"), none]);
    let run = common::run(["stream", "list", "--endpoint", &url]);
    assert_eq!(run.code, Some(1), "{}", run.errors);
    assert!(run.errors.contains("not yet"), "{}", run.errors);
    drop(requests);
}

#[test]
fn items_are_sent_in_their_own_time() {
    let served = Served::asked();
    let lines: String = (0..10)
        .map(|number| line(number * 200, &number.to_string()))
        .collect();
    let begun = Instant::now();
    let run = served.with_input(&["stream", "push", LIKES, "--speed", "2x"], &lines);
    assert_eq!(
        (run.code, &account(&run)["statements"]),
        (Some(0), &10.into()),
        "{}",
        run.errors
    );
    assert!(
        begun.elapsed() >= Duration::from_millis(900),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_server_that_is_not_there_is_said_at_once() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", free.local_addr().expect("it is bound"));
    drop(free);
    for verb in [
        &["stream", "list"][..],
        &["stream", "push", LIKES, "--watermark=5"],
        &["cq", "list"],
        &["subscribe", "likes"],
        &["subscribe", "--query", QUERY],
    ] {
        let run = run([verb, &["--endpoint", &url]].concat());
        assert_eq!(run.code, Some(4), "{verb:?}: {}", run.errors);
        assert!(run.errors.contains(&url), "{}", run.errors);
    }
}

#[test]
fn rights_are_those_of_a_token() {
    let tokens = "read:reader-of-many-letters,write:writer-of-many-letters";
    let served = Served::start_with(&[], &[("SOMERSAULT_AUTH__TOKENS", tokens)]);
    let create = ["stream", "create", LIKES, "--begin", "0"];
    served.fails(&create, 5, "401");
    let with =
        |token: &str, arguments: &[&str]| served.run(&[arguments, &["--token", token]].concat());
    assert_eq!(with("reader-of-many-letters", &create).code, Some(5));
    let made = with("writer-of-many-letters", &create);
    assert_eq!(made.code, Some(0), "{}", made.errors);
    let listed = with("reader-of-many-letters", &["stream", "list"]);
    assert_eq!(
        (listed.code, json_lines(&listed.output).len()),
        (Some(0), 1),
        "{}",
        listed.errors
    );
    let mut command = somersault();
    command.args(served.arguments(&["stream", "list"]));
    command
        .env("SOMERSAULT_TOKEN", "reader-of-many-letters")
        .stdin(Stdio::null());
    assert!(command.output().expect("it runs").status.success());
}
