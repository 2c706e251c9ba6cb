//! Changes from the command line: updates, loads into live stores, backup, restore, compaction; in
//! this process and through a server; and what is said where they are asked for wrongly.

use crate::common;

use common::{Run, count, run, run_with_input, started, text, write};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

const GOOD: &str = "<http://e/s> <http://e/p> <http://e/o> .\n";

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

#[track_caller]
fn done(arguments: &[&str]) -> Run {
    let run = run(arguments);
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
fn fails(arguments: &[&str], code: i32, said: &[&str]) {
    let run = run(arguments);
    let all = format!("{arguments:?}: {}{}", run.output, run.errors);
    assert_eq!(run.code, Some(code), "{all}");
    for part in said {
        assert!(run.errors.contains(part), "{part:?} is not in {all}");
    }
    assert!(!run.errors.contains("panicked"), "{all}");
}

fn insert(name: &str) -> String {
    format!("INSERT DATA {{ <http://e/{name}> <http://e/p> <http://e/o> }}")
}

/// A server that is ended with its test.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(arguments: &[&str]) -> Served {
        Served::start_with("", arguments)
    }

    /// With these tokens.
    fn start_with(tokens: &str, arguments: &[&str]) -> Served {
        let mut command = common::somersault();
        if !tokens.is_empty() {
            command.env("SOMERSAULT_AUTH__TOKENS", tokens);
        }
        command.args(["serve", "-b", "127.0.0.1:0"]).args(arguments);
        let mut child = started(command.stdin(Stdio::null()));
        let url = common::listening(&mut child);
        Served { child, url }
    }

    fn end(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let sent = std::process::Command::new("kill").arg(&id).status();
        assert!(sent.expect("there is a kill").success());
        self.child.wait().expect("the child is ours").code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn updates_change_a_store_and_say_what_they_did() {
    let folder = folder();
    let store = folder.path().join("store");
    let store = text(&store);
    let first = done(&["update", "-l", store, "--update", &insert("a")]);
    assert!(
        first.errors.contains("made an empty store"),
        "{}",
        first.errors
    );
    assert!(
        first.errors.contains("inserted 1, deleted 0, snapshot 1, "),
        "{}",
        first.errors
    );
    assert_eq!(first.output, "");
    let file = write(
        folder.path(),
        "u.ru",
        "DELETE WHERE { <a> ?p ?o }; INSERT DATA { <b> <p> 1 , 2 }",
    );
    let second = done(&[
        "update",
        "-l",
        store,
        "--base",
        "http://e/",
        "--json",
        text(&file),
    ]);
    let told: serde_json::Value = serde_json::from_str(&second.output).expect("JSON");
    assert_eq!(told["inserted"], 2);
    assert_eq!(told["deleted"], 1);
    assert_eq!(told["snapshot"], 2);
    let input = run_with_input(&["update", "-l", store, "-"], insert("c").as_bytes());
    assert_eq!(input.code, Some(0), "{}", input.errors);
    assert_eq!(count(Path::new(store)), 3);
    let stats = done(&["stats", "-l", store, "--json"]);
    let told: serde_json::Value = serde_json::from_str(&stats.output).expect("JSON");
    assert_eq!(told["quads"], 3);
    assert_eq!(told["log"]["records"], 3);
    done(&["compact", "-l", store]);
    let stats = done(&["stats", "-l", store, "--json"]);
    assert!(stats.output.contains("\"records\":0"), "{}", stats.output);
    assert_eq!(count(Path::new(store)), 3);
    let dump = done(&["dump", "-l", store]);
    assert_eq!(dump.output.lines().count(), 3);
    done(&["check", "-l", store]);
}

#[test]
fn updates_that_are_wrong_change_nothing() {
    let folder = folder();
    let store = folder.path().join("store");
    let store = text(&store);
    fails(
        &["update", "-l", store, "--update", "INSERT"],
        6,
        &["line 1"],
    );
    assert!(!Path::new(store).exists());
    done(&["update", "-l", store, "--update", &insert("a")]);
    let update = |text| ["update", "-l", store, "--update", text];
    fails(&update("INSERT DATA { <a> }"), 6, &["line 1, column"]);
    fails(&update("SELECT * {}"), 6, &[]);
    fails(&update("INSERT DATA { ?s <http://e/p> 1 }"), 6, &[]);
    fails(
        &update("LOAD <http://127.0.0.1:1/x.ttl>"),
        7,
        &["not allowed"],
    );
    let both = format!("{} ; LOAD <http://127.0.0.1:1/x.ttl>", insert("b"));
    let failed = run(update(&both));
    assert_ne!(failed.code, Some(0), "{}", failed.errors);
    assert_eq!(count(Path::new(store)), 1);
    fails(&["update", "-l", store], 2, &["--update"]);
    fails(&["update", "--update", "x"], 2, &["--location"]);
    fails(&["update", "-l", store, "--update", "x", "y.ru"], 2, &[]);
    fails(
        &["update", "-l", store, "--token", "x", "--update", "x"],
        2,
        &[],
    );
    fails(&["update", "-l", store, "none.ru"], 1, &["none.ru"]);
    fails(
        &["update", "-l", store, "--timeout", "5", "--update", "x"],
        3,
        &["timeout"],
    );
    fails(
        &["update", "--endpoint", "ftp://e/", "--update", "x"],
        2,
        &["http://"],
    );
    fails(
        &[
            "update",
            "--endpoint",
            "http://127.0.0.1:1/",
            "--update",
            "x",
        ],
        4,
        &["cannot connect"],
    );
    let other = folder.path().join("other");
    fs::create_dir(&other).expect("a folder");
    write(&other, "letter", "dear");
    fails(
        &["update", "-l", text(&other), "--update", &insert("a")],
        1,
        &["not a store"],
    );
}

#[test]
fn whoever_opens_a_server_to_a_network_for_changes_is_warned() {
    let said = |bind: &str| {
        let mut command = common::somersault();
        command.args(["serve", "--allow-update", "-b", bind]);
        let folder = folder();
        let file = write(folder.path(), "f.nt", GOOD);
        let mut child = started(command.arg(text(&file)).stdin(Stdio::null()));
        let errors = child.stderr.take().expect("a pipe was asked for");
        let mut said = Vec::new();
        for line in BufReader::new(errors).lines() {
            said.push(line.expect("text"));
            if said.last().is_some_and(|line| line.contains("listens on")) {
                break;
            }
        }
        child.kill().expect("the child is ours");
        child.wait().expect("the child is ours");
        said.join("\n")
    };
    let warning = "may change and delete the graph";
    assert!(said("0.0.0.0:0").contains(warning), "{}", said("0.0.0.0:0"));
    assert!(!said("127.0.0.1:0").contains(warning));
}

#[test]
fn a_store_that_is_served_for_changing_is_changed_through_the_server() {
    let folder = folder();
    let store = folder.path().join("store");
    let file = write(folder.path(), "f.nt", GOOD);
    let (store, file) = (text(&store), text(&file));
    fails(&["serve", "-l", store, file], 2, &["--allow-update"]);
    let tokens = "admin:keeper-of-the-store";
    let served = Served::start_with(tokens, &["--allow-update", "-l", store, file]);
    let url = served.url.as_str();
    let told = done(&[
        "update",
        "--endpoint",
        url,
        "--json",
        "--update",
        &insert("a"),
    ]);
    let told: serde_json::Value = serde_json::from_str(&told.output).expect("JSON");
    assert_eq!(
        (&told["inserted"], &told["deleted"]),
        (&1.into(), &0.into())
    );
    let trig = write(
        folder.path(),
        "g.trig",
        "<http://e/g> { <http://e/a> <http://e/p> 1 , 2 }",
    );
    let sent = done(&["load", "--endpoint", url, file, text(&trig)]);
    assert!(sent.errors.contains("inserted 2"), "{}", sent.errors);
    let into = ["load", "--endpoint", url, "--graph", "http://e/h", file];
    assert!(done(&into).errors.contains("inserted 1"));
    // Beside the server: reading goes on, changing is told where to go.
    assert_eq!(count(Path::new(store)), 2);
    let update = insert("b");
    for arguments in [
        &["update", "-l", store, "--update", &update][..],
        &["load", "-l", store, file],
        &["compact", "-l", store],
    ] {
        fails(arguments, 1, &["another", "--endpoint"]);
    }
    let copy = folder.path().join("copy");
    let told = done(&["backup", "-l", store, text(&copy)]);
    assert!(told.output.contains("verified"), "{}", told.output);
    let compact = ["compact", "--endpoint", url];
    fails(&compact, 5, &["upkeep"]);
    done(&[&compact[..], &["--token", "keeper-of-the-store"]].concat());
    let lines = run_with_input(
        &["shell", "--endpoint", &format!("{url}/sparql")],
        format!("{};\nASK {{ <http://e/c> ?p ?o }};\n", insert("c")).as_bytes(),
    );
    assert_eq!(lines.code, Some(0), "{}", lines.errors);
    assert!(lines.output.contains("true"), "{}", lines.output);
    fails(
        &["update", "--endpoint", url, "--update", "INSERT DATA { x }"],
        6,
        &["line 1"],
    );
    fails(&["load", "--endpoint", url, "x.zip"], 2, &["format"]);
    fails(
        &["load", "--endpoint", url, "--on-error", "skip", file],
        2,
        &["--on-error"],
    );
    assert_eq!(served.end(), Some(143));
    assert_eq!(count(Path::new(store)), 3);
    done(&["load", "-l", store, file]);
    done(&["check", "-l", store]);
    assert_eq!(count(&copy), 2);
}

#[test]
fn servers_refuse_changes_unless_they_are_allowed() {
    let folder = folder();
    let file = write(folder.path(), "f.nt", GOOD);
    let update = insert("a");
    let reading = Served::start(&[text(&file)]);
    fails(
        &["update", "--endpoint", &reading.url, "--update", &update],
        5,
        &[],
    );
    let token = "a-token-of-some-length";
    let config = write(
        folder.path(),
        "c.toml",
        format!("[auth]\ntokens = [\"write:{token}\"]\n"),
    );
    let served = Served::start(&["--config", text(&config), text(&file)]);
    let endpoint = ["update", "--endpoint", &served.url, "--update", &update];
    fails(&endpoint, 5, &[]);
    done(&[&endpoint[..], &["--token", token]].concat());
    let mut command = common::somersault();
    let by_environment = command.args(endpoint).env("SOMERSAULT_TOKEN", token);
    let status = by_environment.output().expect("the binary starts").status;
    assert_eq!(status.code(), Some(0));
    let wrong = [&endpoint[..], &["--token", "another-token-of-length"]].concat();
    fails(&wrong, 5, &[]);
    let memory = Served::start(&["--allow-update", text(&file)]);
    done(&["update", "--endpoint", &memory.url, "--update", &update]);
}

#[test]
fn a_shell_runs_updates_where_it_may() {
    let folder = folder();
    let store = folder.path().join("store");
    let script = "PREFIX e: <http://e/>\nINSERT DATA { e:a e:p 1 };\nASK { e:a e:p 1 };\n";
    let shell = ["shell", "-l", text(&store), "--allow-update"];
    let ran = run_with_input(&shell, script.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    assert!(
        ran.errors.contains("inserted 1, deleted 0"),
        "{}",
        ran.errors
    );
    assert!(ran.output.contains("true"), "{}", ran.output);
    let refused = run_with_input(&["shell", "-l", text(&store)], b"CLEAR ALL;\n");
    assert_eq!(refused.code, Some(5));
    assert!(
        refused.errors.contains("--allow-update"),
        "{}",
        refused.errors
    );
    assert_eq!(count(&store), 1);
    let data = write(folder.path(), "f.nt", GOOD);
    let memory = ["shell", "--data", text(&data), "--allow-update"];
    let ran = run_with_input(&memory, b"CLEAR ALL;\nASK { ?s ?p ?o };\n");
    assert!(ran.output.contains("false"), "{}{}", ran.output, ran.errors);
}

#[test]
fn backup_and_restore_copy_whole_stores_or_nothing() {
    let folder = folder();
    let place = |name: &str| folder.path().join(name);
    let (store, copy, back) = (place("store"), place("copy"), place("back"));
    let (store, copy, back) = (text(&store), text(&copy), text(&back));
    fails(&["backup", "-l", store, copy], 1, &["store"]);
    assert!(!Path::new(copy).exists());
    done(&["update", "-l", store, "--update", &insert("a")]);
    let told = done(&["backup", "-l", store, "--json", copy]);
    let told: serde_json::Value = serde_json::from_str(&told.output).expect("JSON");
    assert_eq!((&told["snapshot"], &told["quads"]), (&1.into(), &1.into()));
    fails(&["backup", "-l", store, copy], 2, &["store already"]);
    fails(&["restore", copy, "-l", store], 2, &["store already"]);
    fails(&["restore", back, "-l", back], 1, &[]);
    done(&["restore", copy, "-l", back]);
    assert_eq!(count(Path::new(back)), 1);
    fails(&["compact", "-l", text(&place("none"))], 1, &["none"]);
}

#[test]
fn a_damaged_log_is_named_and_given_up_only_when_that_is_said() {
    let folder = folder();
    let store = folder.path().join("store");
    for name in ["a", "b", "c"] {
        done(&["update", "-l", text(&store), "--update", &insert(name)]);
    }
    let mut logs: Vec<_> = fs::read_dir(store.join("log"))
        .expect("there is a log")
        .map(|entry| entry.expect("readable").path())
        .collect();
    logs.sort();
    assert_eq!(logs.len(), 3, "a file for each writer");
    let mut bytes = fs::read(&logs[1]).expect("readable");
    let at = bytes.len() - 2;
    bytes[at] ^= 1;
    fs::write(&logs[1], bytes).expect("writable");
    let name = logs[1]
        .file_name()
        .expect("a file")
        .to_str()
        .expect("ASCII");
    let check = run(["check", "-l", text(&store)]);
    assert_eq!(check.code, Some(9), "{}", check.output);
    assert!(check.output.contains(name) && check.output.contains("byte "));
    let query = ["query", "-l", text(&store), "--query", "ASK {}"];
    fails(&query, 9, &[name]);
    fails(&["compact", "-l", text(&store)], 9, &[name]);
    let accepted = done(&["compact", "-l", text(&store), "--accept-log-damage"]);
    assert!(
        accepted
            .errors
            .contains("lost: every change behind snapshot 1"),
        "{}",
        accepted.errors
    );
    assert_eq!(count(&store), 1);
    done(&["check", "-l", text(&store)]);
}

/// The lock's file can be removed, the directory that is locked with it cannot.
#[test]
fn a_lock_that_was_removed_lets_no_second_writer_in() {
    let folder = folder();
    let store = folder.path().join("store");
    let served = Served::start(&["--allow-update", "-l", text(&store)]);
    let remote = ["update", "--endpoint", &served.url, "--update"];
    done(&[&remote[..], &[&insert("a")]].concat());
    for _ in 0..2 {
        fs::remove_file(store.join("LOCK")).expect("it is there");
        for verb in ["update", "load"] {
            let data = write(folder.path(), "more.nt", "<http://e/s> <http://e/p> 1 .\n");
            let more = match verb {
                "update" => vec!["--update", "INSERT DATA { <http://e/s> <http://e/p> 2 }"],
                _ => vec![text(&data)],
            };
            let second = [&[verb, "-l", text(&store)], &more[..]].concat();
            fails(&second, 1, &["a server that changes this store"]);
        }
    }
    assert_eq!(count(&store), 1);
    assert_eq!(served.end(), Some(143));
    done(&["update", "-l", text(&store), "--update", &insert("b")]);
    assert_eq!(count(&store), 2);
}

/// A log that was cut behind a whole record, or whose last file is gone, looks like one that was never
/// longer; the count beside it knows better.
#[test]
fn changes_that_vanished_from_the_end_of_the_log_are_missed() {
    let folder = folder();
    let store = folder.path().join("store");
    for name in ["a", "b", "c"] {
        done(&["update", "-l", text(&store), "--update", &insert(name)]);
    }
    let log = store.join("log");
    for number in [2, 3] {
        fs::remove_file(log.join(format!("{number:020}.log"))).expect("it is there");
    }
    let said = ["2 changes are missing", "change 3 was durable"];
    fails(
        &["query", "-l", text(&store), "--query", "ASK {}"],
        9,
        &said,
    );
    fails(
        &["update", "-l", text(&store), "--update", &insert("d")],
        9,
        &said,
    );
    fails(
        &["compact", "-l", text(&store)],
        9,
        &["--accept-log-damage"],
    );
    fails(
        &[
            "backup",
            "-l",
            text(&store),
            text(&folder.path().join("copy")),
        ],
        9,
        &said,
    );
    let check = run(["check", "-l", text(&store)]);
    assert_eq!(check.code, Some(9), "{}", check.output);
    assert!(check.output.contains("log: records: "), "{}", check.output);
    let accepted = done(&["compact", "-l", text(&store), "--accept-log-damage"]);
    let lost = "lost: every change behind snapshot 1";
    assert!(accepted.errors.contains(lost), "{}", accepted.errors);
    done(&["check", "-l", text(&store)]);
    assert_eq!(count(&store), 1);
    // What is in the files is not missed in the log.
    fs::remove_dir_all(&log).expect("it is there");
    assert_eq!(count(&store), 1);
    done(&["update", "-l", text(&store), "--update", &insert("d")]);
    assert_eq!(count(&store), 2);
}

#[test]
fn updates_are_measured() {
    let folder = folder();
    let store = folder.path().join("store");
    let store = text(&store);
    let bench = [
        "bench",
        "update",
        "--time",
        "300ms",
        "--threads",
        "4",
        "--json",
    ];
    let ran = done(&[&bench[..], &["-l", store, "--batch", "3"]].concat());
    let names: Vec<String> = ran
        .output
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .map(|figure| figure["name"].as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(names, ["commit", "updates", "triples", "syncs"]);
    assert_eq!(count(Path::new(store)), 0);
    let served = Served::start(&["--allow-update", "-l", store]);
    let ran = done(&[&bench[..], &["--endpoint", &served.url]].concat());
    assert_eq!(ran.output.lines().count(), 3);
    fails(
        &["bench", "update", "-l", store, "--time", "3"],
        2,
        &["--time"],
    );
    fails(&["bench", "update", "-l", store, "--threads", "0"], 2, &[]);
}
