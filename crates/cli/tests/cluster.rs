//! Three processes that have one graph: what they answer, what they say when one is gone, and whom they let in.
//!
//! The processes, their graph and their ports: `nodes`.

#![cfg(unix)]

mod etcd;

use crate::common;
use crate::nodes;

use common::{load, run, text, write};
use nodes::{Answer, Data, NOTICED, QUESTIONS, Served, TRIANGLES, UB, ready, served, soon};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

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

/// A part whose files are damaged serves nobody, says what is damaged, and `check` of it says it all.
#[test]
fn a_part_that_is_damaged_is_said_to_be() {
    let data = Data::new();
    let part = data.path("cluster").join("part-0001");
    let folders = fs::read_dir(&part).expect("a part").flatten();
    let files = folders.filter_map(|entry| {
        let file = entry.path().join("neighbours-out.bin");
        file.is_file().then_some(file)
    });
    for file in files {
        let mut bytes = fs::read(&file).expect("it is read");
        // Its checksums stand at the end.
        let quarter = bytes.len() / 4;
        bytes[..quarter].fill(0xa5);
        fs::write(&file, bytes).expect("it is written");
    }
    let _others = [data.node(0, &[]), data.node(2, &[])];
    let ended = run([
        "node",
        "--config",
        text(&data.file(1)),
        "--bind",
        "127.0.0.1:0",
    ]);
    assert_eq!(ended.code, Some(9), "{}", ended.errors);
    assert!(
        ended.errors.contains("neighbours-out.bin"),
        "{}",
        ended.errors
    );
    let check = run(["check", "-l", text(&part)]);
    assert_eq!(check.code, Some(9), "{}{}", check.output, check.errors);
    assert!(
        check.output.contains("neighbours-out.bin"),
        "{}",
        check.output
    );
}
