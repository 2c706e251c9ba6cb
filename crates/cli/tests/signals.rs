//! Signals: the first cancels what runs and ends the process with 130 or 143, whatever verb it is and
//! whatever it did before.

use crate::common;

use common::{load, somersault, started, text, write};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Does not end within the time of any test.
const ENDLESS: &str = "SELECT ?a { ?a ?p ?w . ?b ?p ?x . ?c ?p ?y . ?d ?p ?z . \
                       FILTER(?w + ?x + ?y + ?z < 0) }";

/// As long as a process needs to come to its query, and some.
const BEGINNING: Duration = Duration::from_millis(1500);

struct Data {
    folder: tempfile::TempDir,
    file: PathBuf,
}

impl Data {
    fn new() -> Data {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut data = String::new();
        for number in 0..500 {
            writeln!(data, "<http://e/{number}> <http://e/p> {number} .").expect("it is a string");
        }
        let file = write(folder.path(), "data.ttl", data);
        Data { folder, file }
    }
}

/// The exit code of a process that is sent a signal while it works.
fn signalled(mut child: Child, signal: &str) -> Option<i32> {
    std::thread::sleep(BEGINNING);
    assert!(
        child.try_wait().expect("the child is ours").is_none(),
        "it ended too early"
    );
    let command = format!("kill -{signal} {}", child.id());
    let sent = Command::new("sh").args(["-c", &command]).status();
    assert!(sent.expect("there is a shell").success());
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("the child is ours") {
            return status.code();
        }
        if begun.elapsed() > Duration::from_secs(5) {
            child.kill().expect("a child can be killed");
            panic!("{signal} was swallowed");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

const SIGNALS: [(&str, i32); 2] = [("INT", 130), ("TERM", 143)];

#[test]
fn the_first_signal_cancels_a_query() {
    let data = Data::new();
    let store = data.folder.path().join("store");
    load(&store, &[&data.file]);
    for (signal, code) in SIGNALS {
        // Side by side, because most of the time is waiting.
        std::thread::scope(|scope| {
            for source in [["--data", text(&data.file)], ["-l", text(&store)]] {
                for more in [&[][..], &["--profile"]] {
                    scope.spawn(move || {
                        let mut command = somersault();
                        command.arg("query").args(source).args(more);
                        command.args(["--query", ENDLESS, "--timeout", "1h"]);
                        let child = started(&mut command);
                        assert_eq!(
                            signalled(child, signal),
                            Some(code),
                            "{signal} {source:?} {more:?}"
                        );
                    });
                }
            }
        });
    }
}

#[test]
fn the_system_s_request_ends_a_shell() {
    let data = Data::new();
    let mut command = somersault();
    command.args(["shell", "--data", text(&data.file), "--timeout", "1h"]);
    let mut child = started(command.stdin(Stdio::piped()));
    let mut input = child.stdin.take().expect("a pipe was asked for");
    writeln!(input, "{ENDLESS};").expect("the child reads");
    assert_eq!(signalled(child, "TERM"), Some(143));
}

#[test]
fn a_server_with_files_ends_in_good_order() {
    let data = Data::new();
    for (signal, code) in SIGNALS {
        let mut command = somersault();
        command.args(["serve", "--bind", "127.0.0.1:0", text(&data.file)]);
        assert_eq!(signalled(started(&mut command), signal), Some(code));
    }
}
