//! What the tests of the binary share: running it, and small data.

#![allow(dead_code)] // each test file uses its own part

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The binary under test, away from the configuration of whoever runs the tests.
pub fn somersault() -> Command {
    at_home(Command::new(BINARY))
}

/// Where the binary under test is.
pub const BINARY: &str = env!("CARGO_BIN_EXE_somersault");

/// A command without the configuration of whoever runs the tests.
pub fn at_home(mut command: Command) -> Command {
    command.stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SOMERSAULT_") {
            command.env_remove(name);
        }
    }
    command
}

/// What a run printed and how it ended.
pub struct Run {
    /// The exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub errors: String,
}

/// Runs the binary to its end.
pub fn run<I, S>(arguments: I) -> Run
where
    I: IntoIterator<Item = S>,
    S: AsRef<std::ffi::OsStr>,
{
    finished(
        &somersault()
            .args(arguments)
            .output()
            .expect("the binary starts"),
    )
}

/// Runs the binary with this text on its standard input.
pub fn run_with_input(arguments: &[&str], input: &[u8]) -> Run {
    use std::io::Write;
    let mut child = started(somersault().args(arguments).stdin(Stdio::piped()));
    // A child that does not read its input to the end closes the pipe; that is its business.
    let _ = child
        .stdin
        .take()
        .expect("a pipe was asked for")
        .write_all(input);
    finished(&child.wait_with_output().expect("the child is ours"))
}

/// Starts the binary with captured output.
pub fn started(command: &mut Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts")
}

fn finished(output: &Output) -> Run {
    Run {
        code: output.status.code(),
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A file of this name with this content.
pub fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("the folder is writable");
    path
}

/// LUBM data of so many universities, from this one on.
pub fn lubm(folder: &Path, start_index: u32, universities: u32) -> PathBuf {
    use workload::lubm::{Lubm, Parameters, Syntax};
    let parameters = Parameters {
        universities,
        start_index,
        ..Parameters::default()
    };
    let generator = Lubm::new(parameters, Syntax::NTriples).expect("standard data");
    let path = folder.join(format!("lubm-{start_index}-{universities}.nt"));
    let mut file = std::fs::File::create(&path).expect("the folder is writable");
    generator
        .write_to(&mut file, 1, &mut |_| {})
        .expect("the disk has room");
    path
}

/// A path as the command line takes it.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}

/// Loads files and expects success.
pub fn load(store: &Path, files: &[&Path]) {
    let mut arguments = vec!["load", "-l", text(store)];
    arguments.extend(files.iter().map(|file| text(file)));
    let run = run(arguments);
    assert_eq!(run.code, Some(0), "load failed: {}", run.errors);
}

/// Number of statements in a store, by a query.
pub fn count(store: &Path) -> u64 {
    let query = "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }";
    let run = run([
        "query",
        "-l",
        text(store),
        "--query",
        query,
        "--results-format",
        "csv",
    ]);
    assert_eq!(run.code, Some(0), "query failed: {}", run.errors);
    let value = run.output.lines().nth(1).expect("one row");
    value.trim().parse().expect("a number")
}

/// The address that a server says it listens on; what it says after that is dropped.
pub fn listening(child: &mut Child) -> String {
    let errors = child.stderr.take().expect("a pipe was asked for");
    let mut lines = BufReader::new(errors).lines();
    let mut said = String::new();
    let url = loop {
        let line = lines.next().unwrap_or_else(|| panic!("it ended: {said}"));
        let line = line.expect("text");
        if let Some((_, url)) = line.split_once("listens on ") {
            break url.to_owned();
        }
        said += &line;
    };
    // Whoever reads nothing would block it.
    std::thread::spawn(move || lines.for_each(drop));
    url
}
