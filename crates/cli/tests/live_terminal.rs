//! Subscriptions on a terminal of its own, where Python can make one; and the newcomer's first live query of README.md, as
//! it stands there.

use crate::common;
use crate::live::{Served, json_lines, line};

use common::{listening, run, somersault, started, write};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Drives a subscription and a shell on a terminal of 12 lines and 40 columns. `push` makes a report.
const DRIVER: &str = r#"
import os, pty, re, select, subprocess, sys, time, struct, fcntl, termios
binary, url = sys.argv[1], sys.argv[2]
def push(ms, names, watermark):
    lines = "".join("%d\t<http://e/%s> <http://e/likes> <http://e/x> .\n" % (ms, name) for name in names)
    done = subprocess.run([binary, "stream", "push", "urn:likes", "--endpoint", url, "--watermark=%d" % watermark],
                          input=lines.encode(), capture_output=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
def start(arguments):
    pid, fd = pty.fork()
    if pid == 0:
        time.sleep(0.3)
        os.execvp(binary, [binary] + arguments)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 40, 0, 0))
    return pid, fd
seen = b""
everything = b""
def until(fd, what, seconds=60):
    global seen, everything
    what = what.encode()
    end = time.time() + seconds
    while what not in seen:
        if time.time() > end:
            sys.exit("no %r in %r" % (what, seen))
        if select.select([fd], [], [], 0.1)[0]:
            try:
                read = os.read(fd, 65536)
            except OSError:
                break
            seen += read
            everything += read
    if what not in seen:
        sys.exit("ended without %r in %r" % (what, seen))
    seen = seen[seen.index(what) + len(what):]
def fits(text):
    for line in re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.decode())):
        if len(line) > 40:
            sys.exit("wider than the terminal: %r" % line)

pid, fd = start(["subscribe", "likes", "--endpoint", url])
until(fd, "no report yet")
push(100, ["a-name-that-is-longer-than-the-whole-terminal-is-wide", "b"], 1000)
until(fd, "report 1  1000 ms  2 rows")
until(fd, "e:b")
push(1100, ["n%d" % number for number in range(20)], 2000)
until(fd, "report 2  2000 ms  20 rows")
until(fd, "\u2026 16 more rows")
# One frame took the place of the other.
if b"\x1b[" not in everything or b"A" not in everything:
    sys.exit("it was not drawn in place: %r" % everything)
os.write(fd, b"\x03")
_, status = os.waitpid(pid, 0)
if os.waitstatus_to_exitcode(status) != 130:
    sys.exit("it ended with %d" % os.waitstatus_to_exitcode(status))
rest = b""
try:
    while select.select([fd], [], [], 1)[0]:
        read = os.read(fd, 65536)
        if not read:
            break
        rest += read
except OSError:
    pass
everything += rest
if not everything.endswith(b"\r\x1b[J"):
    sys.exit("the terminal was not left in order: %r" % everything[-200:])
if b"\x1b[?" in everything:
    sys.exit("a mode of the terminal was changed: %r" % everything)
fits(everything)

pid, fd = start(["shell", "--endpoint", url])
until(fd, "somersault>")
# What can be completed is read in the background.
time.sleep(3.0)
os.write(fd, b".queries\r")
until(fd, "running")
until(fd, "somersault>")
os.write(fd, b".subscribe li\t\r")
until(fd, "report 2  2000 ms  20 rows")
os.write(fd, b"\x03")
until(fd, "somersault>")
os.write(fd, b"ASK {};\r")
until(fd, "true")
# The end of input is one for whoever reads a line.
until(fd, "somersault>")
os.write(fd, b"\x04")
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"#;

#[test]
fn on_a_terminal_the_latest_report_is_drawn_in_its_place() {
    let served = Served::asked();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let driver = write(folder.path(), "driver.py", DRIVER);
    let mut python = Command::new("python3");
    python
        .arg(&driver)
        .args([env!("CARGO_BIN_EXE_somersault"), &served.url])
        .env("SOMERSAULT_HISTORY", "")
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    let Ok(output) = python.output() else {
        eprintln!("SKIPPED: the terminal's test needs python3, which is not there");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[test]
fn many_reports_are_passed_on_in_order() {
    let served = Served::asked();
    let lines: String = (0..500)
        .map(|second| line(second * 1000 + 1, "a"))
        .collect();
    served.pushed(&lines, 500_000);
    let url = &served.url;
    let run = run(["subscribe", "likes", "--count", "500", "--endpoint", url]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    let numbers: Vec<Option<u64>> = json_lines(&run.output)
        .iter()
        .map(|report| report["number"].as_u64())
        .collect();
    assert_eq!(numbers, (1..=500).map(Some).collect::<Vec<_>>());
}

/// A demonstration that is ended with its test.
struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What stands in README.md between these two.
fn quoted(page: &str, from: &str, to: &str) -> String {
    let (_, rest) = page.split_once(from).unwrap_or_else(|| panic!("no {from}"));
    rest.split_once(to).expect("it ends").0.to_owned()
}

#[test]
fn a_newcomer_s_first_live_query_changes_within_a_minute() {
    let page = include_str!("../../../README.md");
    let begun = Instant::now();
    let flags = quoted(page, "\nsomersault demo ", "#");
    let mut command = somersault();
    command
        .arg("demo")
        .args(flags.split_whitespace())
        .args(["--bind", "127.0.0.1:0"]);
    let mut demo = Demo(started(&mut command));
    let url = listening(&mut demo.0);
    let query = quoted(page, "somersault subscribe --query '", "'");
    let item = quoted(page, "\necho '", "'") + "\n";
    let push = quoted(page, "| somersault stream push ", "\n");
    let push: Vec<&str> = ["stream", "push"]
        .into_iter()
        .chain(push.split_whitespace())
        .chain(["--endpoint", &url])
        .collect();
    // The stream is made when the server is there.
    let pushed = || common::run_with_input(&push, item.as_bytes());
    while pushed().code != Some(0) {
        assert!(
            begun.elapsed() < Duration::from_secs(50),
            "{}",
            pushed().errors
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    let answered = run([
        "subscribe",
        "--query",
        &query,
        "--count",
        "5",
        "--timeout",
        "50s",
        "--endpoint",
        &url,
    ]);
    assert_eq!(answered.code, Some(0), "{}", answered.errors);
    assert!(
        begun.elapsed() < Duration::from_mins(1),
        "{:?}",
        begun.elapsed()
    );
    let reports = json_lines(&answered.output);
    let rows: Vec<&Value> = reports
        .iter()
        .map(|report| &report["results"]["bindings"])
        .collect();
    assert!(
        rows.iter()
            .all(|rows| rows.as_array().is_some_and(|rows| !rows.is_empty())),
        "{rows:?}"
    );
    assert!(
        rows.windows(2).any(|pair| pair[0] != pair[1]),
        "it changes: {rows:?}"
    );
}
