//! Streams and registered queries of a store that no server serves: the verbs do and say the same as with a server, what they
//! have done is there afterwards, and whoever holds the store is named.

use crate::common;
use crate::live::{LIKES, QUERY, found, json_lines, line};

use common::{Run, listening, run, run_with_input, somersault, started, text, write};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A folder for a store.
struct Store {
    folder: tempfile::TempDir,
    location: PathBuf,
}

impl Store {
    fn new() -> Store {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let location = folder.path().join("store");
        Store { folder, location }
    }

    fn with_input(&self, arguments: &[&str], input: &str) -> Run {
        let arguments = [arguments, &["-l", text(&self.location)]].concat();
        run_with_input(&arguments, input.as_bytes())
    }

    #[track_caller]
    fn done(&self, arguments: &[&str], input: &str) -> Run {
        let run = self.with_input(arguments, input);
        let all = format!("{arguments:?}: {}{}", run.output, run.errors);
        assert_eq!(run.code, Some(0), "{all}");
        run
    }

    #[track_caller]
    fn fails(&self, arguments: &[&str], code: i32, said: &str) {
        let run = self.with_input(arguments, "");
        let all = format!("{arguments:?}: {}{}", run.output, run.errors);
        assert_eq!(run.code, Some(code), "{all}");
        assert!(run.errors.contains(said), "{said:?} is not in {all}");
    }

    #[track_caller]
    fn lines(&self, arguments: &[&str]) -> Vec<Value> {
        json_lines(&self.done(arguments, "").output)
    }
}

#[test]
fn verbs_do_with_a_store_what_they_do_with_a_server() {
    let store = Store::new();
    store.fails(&["stream", "list"], 1, text(&store.location));
    let made = store.done(&["stream", "create", LIKES, "--begin", "0"], "");
    assert!(
        made.errors.contains("made an empty store"),
        "{}",
        made.errors
    );
    store.fails(&["stream", "create", LIKES], 1, "409");
    assert_eq!(store.lines(&["stream", "list"])[0]["name"], LIKES);
    store.done(&["cq", "register", "-", "--name", "likes"], QUERY);
    store.fails(&["stream", "drop", LIKES], 1, "409");
    let none = store.done(&["subscribe", "likes"], "");
    assert!(
        none.output.is_empty() && none.errors.contains("no report"),
        "{}",
        none.errors
    );
    let push = ["stream", "push", LIKES, "--watermark=2000"];
    let pushed = store.done(&push, &(line(100, "a") + &line(1100, "b")));
    let account = pushed.errors.lines().last().expect("an account");
    let account: Value = serde_json::from_str(account).expect("JSON");
    assert_eq!(
        (
            &account["durable"],
            &account["sealed"],
            &account["statements"]
        ),
        (&json!(2), &json!(2000), &json!(2))
    );
    // All that is there, and then it ends.
    let reports = store.lines(&["subscribe", "likes"]);
    let closes = reports.iter().map(|report| report["close"].as_u64());
    assert_eq!(closes.collect::<Vec<_>>(), [Some(1000), Some(2000)]);
    assert_eq!(
        (found(&reports[0]), found(&reports[1])),
        (vec!["http://e/a"], vec!["http://e/b"])
    );
    assert_eq!(store.lines(&["subscribe", "likes", "--from", "2"]).len(), 1);
    assert_eq!(
        store.lines(&["subscribe", "likes", "--count", "1"]).len(),
        1
    );
    store.fails(&["subscribe", "likes", "--count", "5"], 7, "2 of 5 reports");
    store.fails(&["subscribe", "other"], 1, "other");
    store.done(&["cq", "pause", "likes"], "");
    assert_eq!(store.lines(&["cq", "list"])[0]["paused"], true);
    store.done(&["cq", "resume", "likes"], "");
    assert_eq!(store.lines(&["cq", "show", "likes"])[0]["reports"], 2);
    store.fails(&["cq", "show", "other"], 1, text(&store.location));
    store.done(&["cq", "drop", "likes"], "");
    store.done(&["stream", "drop", LIKES], "");
    assert_eq!(store.lines(&["stream", "list"]), Vec::<Value>::new());
}

#[test]
fn a_server_goes_on_with_what_verbs_have_done() {
    let store = Store::new();
    store.done(&["stream", "create", LIKES, "--begin", "0"], "");
    store.done(&["cq", "register", "-", "--name", "likes"], QUERY);
    let push = ["stream", "push", LIKES, "--source", "s", "--position", "0"];
    store.done(&push, &(line(100, "a") + &line(1100, "b")));
    let mut command = somersault();
    command.args([
        "serve",
        "-b",
        "127.0.0.1:0",
        "--allow-update",
        "-l",
        text(&store.location),
    ]);
    let mut child = started(&mut command);
    let url = listening(&mut child);
    // The store is the server's now.
    for verb in [
        &["stream", "list"][..],
        &["stream", "create", "urn:x"],
        &["cq", "list"],
        &["subscribe", "likes"],
        &push,
    ] {
        store.fails(verb, 1, "--endpoint URL");
    }
    let served = |arguments: &[&str], input: &str| {
        let run = run_with_input(
            &[arguments, &["--endpoint", &url]].concat(),
            input.as_bytes(),
        );
        assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.errors);
        run
    };
    let again = line(100, "a") + &line(1100, "b") + &line(1200, "c");
    let run = served(&[&push[..], &["--watermark=2000"]].concat(), &again);
    let account: Value =
        serde_json::from_str(run.errors.lines().last().expect("an account")).expect("JSON");
    assert_eq!(
        (
            &account["statements"],
            &account["known"],
            &account["position"]
        ),
        (&json!(1), &json!(2), &json!(3))
    );
    let reports = json_lines(&served(&["subscribe", "likes", "--count", "2"], "").output);
    assert_eq!(reports[1]["number"], 2);
    assert_eq!(found(&reports[1]), ["http://e/b", "http://e/c"]);
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(store.lines(&["subscribe", "likes"]), reports);
}

/// What only the log holds goes into the store's files before, that of streams included; a stream that goes on with the clock
/// does not hold it up.
#[test]
fn loading_more_leaves_streams_as_they_are() {
    let store = Store::new();
    let data = |name: &str| {
        let line = format!("<http://e/{name}> <http://e/p> <http://e/o> .\n");
        write(store.folder.path(), &format!("{name}.nt"), &line)
    };
    store.done(&["stream", "create", LIKES, "--begin", "0"], "");
    store.done(&["stream", "create", "urn:clock", "--arrival-time"], "");
    store.done(&["cq", "register", "-", "--name", "likes"], QUERY);
    let push = ["stream", "push", LIKES, "--watermark=2000"];
    store.done(&push, &(line(100, "a") + &line(1100, "b")));
    store.done(&["load", text(&data("x"))], "");
    store.done(&["compact"], "");
    store.done(&["load", text(&data("y"))], "");
    assert_eq!(store.lines(&["stream", "list"]).len(), 2);
    assert_eq!(store.lines(&["cq", "show", "likes"])[0]["reports"], 2);
    let push = ["stream", "push", LIKES, "--watermark=3000"];
    store.done(&push, &line(2100, "c"));
    let reports = store.lines(&["subscribe", "likes"]);
    let who: Vec<_> = reports.iter().flat_map(found).collect();
    assert_eq!(who, ["http://e/a", "http://e/b", "http://e/c"]);
    let count = "SELECT (COUNT(*) AS ?n) { ?s <http://e/p> ?o }";
    let counted = store.done(&["query", "--query", count, "--results-format", "csv"], "");
    assert_eq!(counted.output.lines().last(), Some("2"));
    // A server loads what it is given before it serves.
    let mut command = somersault();
    command.args(["serve", "--allow-update", "--bind", "127.0.0.1:0", "-l"]);
    command.arg(&store.location).arg(data("z"));
    let mut server = started(&mut command);
    let url = listening(&mut server);
    let counted = run([
        "query",
        "--endpoint",
        &url,
        "--query",
        count,
        "--results-format",
        "csv",
    ]);
    assert_eq!(
        counted.output.lines().last(),
        Some("3"),
        "{}",
        counted.errors
    );
    let listed = run(["stream", "list", "--endpoint", &url]);
    assert_eq!(json_lines(&listed.output).len(), 2);
    server.kill().expect("it runs");
    server.wait().expect("it ends");
}

#[test]
fn a_query_of_a_store_may_go_on_with_the_clock() {
    let store = Store::new();
    store.done(
        &[
            "stream",
            "create",
            LIKES,
            "--arrival-time",
            "--absorb",
            "none",
        ],
        "",
    );
    let arguments = [
        "subscribe",
        "--query",
        QUERY,
        "--count",
        "2",
        "--timeout",
        "1m",
    ];
    let reports = store.lines(&arguments);
    assert_eq!(reports.len(), 2);
    assert_eq!(
        store.lines(&["cq", "list"]),
        Vec::<Value>::new(),
        "it is dropped at the end"
    );
}

#[test]
fn a_table_of_constants_makes_instances() {
    let store = Store::new();
    store.done(&["stream", "create", LIKES, "--begin", "0"], "");
    let file = |name: &str, content: &str| write(store.folder.path(), name, content);
    let query = "#@ report=close,rows\nPREFIX e: <http://e/> SELECT ?what \
        FROM NAMED WINDOW <urn:w> ON <urn:likes> [RANGE PT1S STEP PT1S] WHERE { WINDOW <urn:w> { ?who e:likes ?what } }";
    let query = file("of.rspql", query);
    let csv = file(
        "rows.csv",
        "name,who\nfirst,http://e/a\nsecond,<http://e/b>\n",
    );
    let tsv = file("rows.tsv", "?who\n<http://e/c>\n");
    let made = store.lines(&[
        "cq",
        "register",
        text(&query),
        "--name",
        "of",
        "--bindings",
        text(&csv),
    ]);
    assert_eq!(made, [json!({ "name": "of", "instances": 2 })]);
    let made = store.lines(&[
        "cq",
        "register",
        text(&query),
        "--name",
        "c",
        "--bindings",
        text(&tsv),
    ]);
    assert_eq!(made[0]["instances"], 1);
    let push = ["stream", "push", LIKES, "--watermark=1000"];
    store.done(&push, &(line(100, "b") + &line(200, "c") + &line(300, "d")));
    let reports = store.lines(&["subscribe", "of"]);
    assert_eq!(
        (reports.len(), &reports[0]["instance"]),
        (1, &json!("second"))
    );
    assert_eq!(store.lines(&["subscribe", "c"])[0]["instance"], "c/1");
    let register = |rows: &PathBuf| {
        let arguments = ["cq", "register", text(&query), "--bindings", text(rows)];
        store.with_input(&arguments, "")
    };
    for (name, content, code, said) in [
        (
            "bad.csv",
            "who\nhttp://e/a\n\"open\n",
            6,
            "row 2 of the bindings",
        ),
        ("unknown.csv", "whom\nhttp://e/a\n", 6, "whom"),
        ("empty.csv", "", 6, "header"),
        ("rows.txt", "who\nhttp://e/a\n", 2, ".csv, .tsv"),
    ] {
        let run = register(&file(name, content));
        assert_eq!(run.code, Some(code), "{name}: {}", run.errors);
        assert!(run.errors.contains(said), "{name}: {}", run.errors);
    }
    let both = store.with_input(&["cq", "register", "-", "--bindings", "-"], "");
    assert_eq!(both.code, Some(2), "{}", both.errors);
    let standing = run([
        "cq",
        "register",
        text(&query),
        "-l",
        text(&store.location),
        "--endpoint",
        "http://e/",
    ]);
    assert_eq!(standing.code, Some(2), "a store or a server");
}
