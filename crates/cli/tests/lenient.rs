//! `load --lenient`: IRIs and language tags that break the rules go in as they are, and from then on through everything
//! that a store is for: queries in each format, updates and their log, loads on top, `check`, `compact`, `backup`,
//! `restore`, and a dump in each format that is loaded again.

use crate::common;

use common::{Run, run, text, write};
use std::path::{Path, PathBuf};

/// Quads that a strict load refuses, each for a reason of its own.
const QUADS: &str = "\
<http://e/a#b#c> <http://e/p> <http://e/{x}|y> .
<http://e/s> <http://e/p^q> \"x\"@abcdefghij-k .
<http://e/s> <http://e/p> \"1\"^^<http://e/%zz> .
<http://e/s> <http://e/p> <http://e/g`h> <http://e/graph#1#2> .
<http://e/s> <http://e/p> <<( <http://[e/> <http://e/p> <http://e/o> )>> .
<http://e/s> <http://e/p> <http://e/o> .
";

fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn succeeds(arguments: &[&str]) -> String {
    let Run {
        code,
        output,
        errors,
    } = run(arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {errors}");
    output
}

fn dump(store: &Path) -> Vec<String> {
    lines(&succeeds(&["dump", "-l", text(store)]))
}

/// A store with these quads.
fn loaded(folder: &Path) -> PathBuf {
    let file = write(folder, "unusual.nq", QUADS);
    let store = folder.join("store");
    succeeds(&["load", "-l", text(&store), "--lenient", text(&file)]);
    store
}

#[test]
fn without_it_the_error_names_it_where_it_helps() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store");
    let remedy = "load it as it is with --lenient";
    for (name, content, place) in [
        ("a.nq", QUADS, "a.nq:1:1: invalid IRI"),
        ("b.ttl", "<http://e/a#b#c> a 1 .", "b.ttl:1:1: "),
        (
            "c.trig",
            "\n<http://e/g> { <http://e/{a}> a 1 }",
            "c.trig:2:16: ",
        ),
        (
            "d.rdf",
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>\
             <rdf:Description rdf:about='http://e/a|b'><rdf:value>1</rdf:value></rdf:Description></rdf:RDF>",
            "d.rdf:1:",
        ),
        (
            "e.nt",
            "<http://e/s> <http://e/p> \"x\"@abcdefghij .",
            "e.nt:1:30: ",
        ),
    ] {
        let file = write(folder.path(), name, content);
        let failed = run(["load", "-l", text(&store), text(&file)]);
        assert_eq!(failed.code, Some(6), "{name}: {}", failed.errors);
        assert!(failed.errors.contains(place), "{name}: {}", failed.errors);
        assert!(failed.errors.contains(remedy), "{name}: {}", failed.errors);
        assert!(!store.exists());
        let queried = run(["query", "--data", text(&file), "--query", "ASK {}"]);
        assert!(
            queried.errors.contains(remedy),
            "{name}: {}",
            queried.errors
        );
        succeeds(&[
            "query",
            "--lenient",
            "--query",
            "ASK {}",
            "--data",
            text(&file),
        ]);
    }
}

#[test]
fn what_is_skipped_is_listed_with_the_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store");
    let remedy = "load it as it is with --lenient";
    let skipped = write(folder.path(), "skipped.nq", QUADS);
    let skipped = run([
        "load",
        "-l",
        text(&store),
        "--on-error",
        "skip",
        text(&skipped),
    ]);
    assert_eq!(skipped.code, Some(8), "{}", skipped.errors);
    assert_eq!(
        skipped.errors.matches(remedy).count(),
        5,
        "{}",
        skipped.errors
    );
    assert_eq!(dump(&store).len(), 1);
}

#[test]
fn what_would_break_a_line_does_not_go_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store");
    for (name, content) in [
        ("f.nt", "<http://e/a b> <http://e/p> <http://e/o> ."),
        ("g.ttl", "<http://e/a\\u003Eb> a 1 ."),
        ("h.ttl", "<http://e/a> a <o> ."),
        ("i.nt", "<http://e/a> <http://e/p> ."),
    ] {
        let file = write(folder.path(), name, content);
        for more in [&[][..], &["--lenient"]] {
            let mut arguments = vec!["load", "-l", text(&store), text(&file)];
            arguments.extend(more);
            let failed = run(arguments);
            assert_eq!(failed.code, Some(6), "{name}: {}", failed.errors);
            assert!(!failed.errors.contains("--lenient"), "{}", failed.errors);
        }
    }
}

#[test]
fn what_went_in_is_answered_in_each_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = loaded(folder.path());
    let ask = |query: &str, format: &str| {
        succeeds(&[
            "query",
            "-l",
            text(&store),
            "--query",
            query,
            "--results-format",
            format,
        ])
    };
    let select = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }";
    for format in ["table", "json", "xml", "csv", "tsv"] {
        let answer = ask(select, format);
        for part in [
            "a#b#c",
            "{x}|y",
            "p^q",
            "abcdefghij",
            "%zz",
            "g`h",
            "graph#1#2",
        ] {
            // A tag is no part of a cell in CSV, nor is a datatype.
            if format != "csv" || !matches!(part, "abcdefghij" | "%zz") {
                assert!(answer.contains(part), "{format}: {part} in {answer}");
            }
        }
    }
}

#[test]
fn graphs_that_are_constructed_are_loaded_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = loaded(folder.path());
    for format in ["ntriples", "turtle", "rdfxml", "jsonld"] {
        // JSON-LD has no triple terms.
        let construct = if format == "jsonld" {
            "PREFIX e: <http://e/> CONSTRUCT { ?s e:p ?o } WHERE { ?s e:p ?o FILTER(!isTRIPLE(?o)) }"
        } else {
            "PREFIX e: <http://e/> CONSTRUCT WHERE { ?s e:p ?o }"
        };
        let answer = succeeds(&[
            "query",
            "-l",
            text(&store),
            "--query",
            construct,
            "--results-format",
            format,
        ]);
        let file = write(folder.path(), &format!("constructed.{format}"), &answer);
        let copy = folder.path().join(format);
        succeeds(&[
            "load",
            "-l",
            text(&copy),
            "--lenient",
            "--format",
            format,
            text(&file),
        ]);
        let expected = if format == "jsonld" { 3 } else { 4 };
        assert_eq!(dump(&copy).len(), expected, "{format}: {answer}");
    }
}

#[test]
fn graphs_have_unusual_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = loaded(folder.path());
    let graph = succeeds(&["dump", "-l", text(&store), "--graph", "http://e/graph#1#2"]);
    assert_eq!(graph.lines().count(), 1, "{graph}");
    let more = write(
        folder.path(),
        "more.nt",
        "<http://e/s> <http://e/p> <http://e/o> .",
    );
    succeeds(&[
        "load",
        "-l",
        text(&store),
        "--lenient",
        "--graph",
        "http://e/{g}",
        text(&more),
    ]);
    assert!(
        dump(&store)
            .contains(&"<http://e/s> <http://e/p> <http://e/o> <http://e/{g}> .".to_owned())
    );
}

#[test]
fn what_went_in_is_changed_logged_copied_and_dumped() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let store = loaded(folder.path());
    assert_eq!(dump(&store), lines(QUADS));
    // In the log from here on: each verb replays it.
    succeeds(&[
        "update", "-l", text(&store), "-u",
        "INSERT { GRAPH <http://e/copy> { ?o <http://e/of> ?s } } WHERE { ?s <http://e/p> ?o FILTER(isIRI(?o)) } ;
         DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(isLITERAL(?o)) }",
    ]);
    let changed = dump(&store);
    assert_eq!(changed.len(), 4 + 2, "{changed:?}");
    assert!(
        changed.contains(
            &"<http://e/{x}|y> <http://e/of> <http://e/a#b#c> <http://e/copy> .".to_owned()
        )
    );
    succeeds(&["check", "-l", text(&store)]);
    succeeds(&["backup", "-l", text(&store), text(&at("backup"))]);
    succeeds(&["restore", "-l", text(&at("restored")), text(&at("backup"))]);
    assert_eq!(dump(&at("restored")), changed);
    succeeds(&["compact", "-l", text(&store)]);
    succeeds(&["check", "-l", text(&store)]);
    assert_eq!(dump(&store), changed);
    // A load on top, which need not be lenient itself.
    let more = write(
        folder.path(),
        "more.nt",
        "<http://e/s> <http://e/p> <http://e/more> .",
    );
    succeeds(&["load", "-l", text(&store), text(&more)]);
    let grown = dump(&store);
    assert_eq!(grown.len(), changed.len() + 1);
    for format in ["nq", "trig"] {
        let file = at(&format!("dump.{format}"));
        succeeds(&["dump", "-l", text(&store), "-o", text(&file)]);
        let copy = at(format);
        let strict = run(["load", "-l", text(&copy), text(&file)]);
        assert_eq!(strict.code, Some(6), "{}", strict.errors);
        succeeds(&["load", "-l", text(&copy), "--lenient", text(&file)]);
        assert_eq!(dump(&copy), grown, "{format}");
    }
}
