//! The shell as a script: what is read from a pipe is done in order, and ends with the exit code of
//! what failed; and on a terminal of its own, where Python can make one.

use crate::common;

use common::{Run, run_with_input, text, write};
use std::path::Path;
use std::process::Stdio;

const DATA: &str = "@prefix e: <http://e/> .\n\
                    e:a e:knows e:b ; e:name \"Ann\" .\n\
                    e:b e:knows e:c ; e:name \"Ben\"@en ; e:age 42 .\n";

struct Shell {
    folder: tempfile::TempDir,
    data: String,
}

impl Shell {
    fn new() -> Shell {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = text(&write(folder.path(), "data.ttl", DATA)).to_owned();
        Shell { folder, data }
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn says(&self, script: &str) -> Run {
        run_with_input(&["shell", "--data", &self.data], script.as_bytes())
    }
}

#[test]
fn statements_are_answered_in_order() {
    let run = Shell::new().says(
        "PREFIX e: <http://e/>\n\nSELECT ?x { ?x e:knows e:b };\n\
         ASK { e:a e:knows e:c }; ASK { e:b e:knows e:c }\n\n.mode csv\n\
         SELECT ?name { e:a e:name ?name }\nORDER BY ?name\n\nLIMIT 1\n",
    );
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert_eq!(run.output, "?x\n<http://e/a>\nfalse\ntrue\nname\r\nAnn\r\n");
}

#[test]
fn the_first_failure_ends_a_script_with_its_place() {
    let run = Shell::new().says("ASK {};\n\nSELECT *\n{ ?x e:knows ?y };\nASK {};\n");
    assert_eq!(run.code, Some(6), "{}", run.errors);
    assert_eq!(run.output, "true\n");
    assert!(run.errors.contains("line 4, column "), "{}", run.errors);
    let lines: Vec<&str> = run.errors.lines().collect();
    assert!(lines[1].ends_with("4 | { ?x e:knows ?y }"), "{lines:?}");
    assert!(lines[2].trim_end().ends_with('^'), "{lines:?}");
}

#[test]
fn a_file_that_is_missing_is_named() {
    for script in [".open nowhere\n", ".read nowhere\n", ".open nowhere.ttl\n"] {
        let run = Shell::new().says(script);
        assert_eq!(run.code, Some(1), "{script}: {}", run.errors);
        let lines: Vec<&str> = run.errors.lines().collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("nowhere"), "{lines:?}");
        assert!(lines[0].contains("No such file"), "{lines:?}");
    }
}

#[test]
fn places_do_not_shift_by_remembered_prefixes() {
    let script = "PREFIX e: <http://e/> ASK { e:a ?p ?o };\nSELECT * { e:a ?p oops };\n";
    let run = Shell::new().says(script);
    assert_eq!(run.code, Some(6), "{}", run.errors);
    assert!(run.errors.contains("line 2, column "), "{}", run.errors);
    assert!(
        run.errors.contains("2 | SELECT * { e:a ?p oops }"),
        "{}",
        run.errors
    );
}

#[test]
fn commands_do_what_they_say() {
    let shell = Shell::new();
    let kept = shell.folder().join("kept.nt");
    let more = write(shell.folder(), "more.rq", "ASK { e:a e:knows e:b }\n");
    let run = shell.says(&format!(
        ".help\n.prefix foaf\n.prefix e: <http://e/>\n.prefixes\n.mode json\n.mode\n\
         .explain SELECT * {{ ?x e:knows ?y }};\n.profile SELECT * {{ ?x e:knows ?y }};\n\
         .stats\n.graphs\n.timer on\n.read {}\n.output {}\n\
         CONSTRUCT WHERE {{ ?x e:age ?y }};\n.output -\n.quit\nnonsense\n",
        text(&more),
        text(&kept),
    ));
    assert_eq!(run.code, Some(0), "{}", run.errors);
    for said in [
        ".explain QUERY",
        "PREFIX e: <http://e/>\nPREFIX foaf: <http://xmlns.com/foaf/0.1/>\n",
        "solutions: json\ngraphs: ntriples\n",
        &format!("quads {:>22}", 5),
        "{\"head\":{},\"boolean\":true}\n",
    ] {
        assert!(
            run.output.contains(said),
            "{said:?} is not in {}",
            run.output
        );
    }
    assert!(run.errors.contains("rows 1, parse "), "{}", run.errors);
    let triples = std::fs::read_to_string(&kept).expect("the file was written");
    assert!(
        triples.starts_with("<http://e/b> <http://e/age> \"42\"^^"),
        "{triples}"
    );
}

#[test]
fn a_parameter_is_given_to_the_queries_that_have_it() {
    let shell = Shell::new();
    let run = shell.says(
        ".prefix e: <http://e/>\n.mode csv\n.param x=<http://e/a>\n.param ?n=5\n.param\n\
         SELECT ?x ?y { ?x e:knows ?y };\nASK { ?s e:nothing ?o };\n.explain SELECT ?y { ?x e:knows ?y };\n.graphs\n\
         .param x=\n.param\nSELECT (COUNT(*) AS ?all) { ?x ?p ?y };\n",
    );
    assert_eq!(run.code, Some(0), "{}", run.errors);
    for said in [
        "?x = <http://e/a>\n?n = 5\nx,y\r\nhttp://e/a,http://e/b\r\nfalse",
        " plan, about ",
        "?n = 5\nall\r\n",
    ] {
        assert!(
            run.output.contains(said),
            "{said:?} is not in {}",
            run.output
        );
    }
    let run = shell.says(".param x\n");
    assert!(
        run.errors.contains(".param [NAME=[TERM]]"),
        "{}",
        run.errors
    );
}

#[test]
fn wrong_commands_are_usage_errors() {
    let shell = Shell::new();
    for (script, said) in [
        (".tiner on\n", "the nearest is .timer"),
        (".mode jsn\n", "the nearest is json"),
        (".prefix nobody:\n", "nobody: is not well known"),
    ] {
        let run = shell.says(script);
        assert_eq!(run.code, Some(2), "{}", run.errors);
        assert!(run.errors.contains(said), "{}", run.errors);
    }
    let run = shell.says(".read /no/such/file\n");
    assert_eq!(run.code, Some(1), "{}", run.errors);
    let run = shell.says("ASK { ?x foaf:name ?y };\n");
    assert_eq!(run.code, Some(6), "{}", run.errors);
    assert!(
        run.errors.contains(".prefix declares foaf:"),
        "{}",
        run.errors
    );
}

#[test]
fn scripts_that_read_themselves_end() {
    let shell = Shell::new();
    let path = shell.folder().join("loop.rq");
    std::fs::write(&path, format!(".read {}\n", text(&path))).expect("the folder is writable");
    let run = shell.says(&format!(".read {}\n", text(&path)));
    assert_eq!(run.code, Some(7), "{}", run.errors);
}

/// Drives the shell on a terminal of its own: what it is sent, and what it must show before the
/// next is sent.
const DRIVER: &str = r#"
import os, pty, select, sys, time, signal, struct, fcntl, termios
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
seen = b""
def until(what, seconds=20):
    global seen
    end = time.time() + seconds
    while what not in seen:
        if time.time() > end:
            sys.exit("no %r in %r" % (what, seen))
        if select.select([fd], [], [], 0.1)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:
                break
    if what not in seen:
        sys.exit("ended without %r in %r" % (what, seen))
    seen = seen[seen.index(what) + len(what):]
def send(text):
    os.write(fd, text)
until(b"somersault>")
send(b".timer on\r")
until(b"somersault>")
# What can be completed is read in the background.
time.sleep(2.0)
send(b"SELECT ?x ?n { ?x <http://e/na\t ?n }\r\r")
until("\u250c".encode())
until(b"rows 2")
until(b"somersault>")
send(b"SELECT * { ?x foaf:na\x03")
until(b"somersault>")
slow = b"SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p . ?q ?r ?s . ?t ?u ?v . ?w ?x ?y . ?a1 ?b1 ?c1 . ?d1 ?e1 ?f1 . ?a2 ?b2 ?c2 . ?a3 ?b3 ?c3 . ?a4 ?b4 ?c4 . ?a5 ?b5 ?c5 };\r"
send(slow)
time.sleep(1.0)
begun = time.time()
send(b"\x03")
until(b"cancelled")
print("cancelled after %.3f s" % (time.time() - begun))
until(b"somersault>")
send(b"ASK {};\r")
until(b"true")
until(b"somersault>")
send(b"\x04")
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"#;

#[test]
fn on_a_terminal_there_are_lines_boxes_and_a_way_to_cancel() {
    let shell = Shell::new();
    let history = shell.folder().join("history");
    let driver = write(shell.folder(), "driver.py", DRIVER);
    let mut python = std::process::Command::new("python3");
    python
        .arg(&driver)
        .arg(env!("CARGO_BIN_EXE_somersault"))
        .args(["shell", "--data", &shell.data])
        .env("SOMERSAULT_HISTORY", &history)
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .env("PAGER", "cat")
        .stdin(Stdio::null());
    let Ok(output) = python.output() else {
        eprintln!("SKIPPED: the terminal's test needs python3, which is not there");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let kept = std::fs::read_to_string(&history).expect("history was written");
    assert!(
        kept.contains(".timer on") && kept.contains("<http://e/name>"),
        "{kept}"
    );
}
