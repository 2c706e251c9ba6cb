//! Prefixes of loaded documents: told where a query or an update lacks their declaration, whatever the format was and
//! whatever has become of the store since.

use crate::common;

use common::{Run, run, text, write};
use std::path::Path;

/// Documents that declare a prefix each.
const DOCUMENTS: [(&str, &str); 5] = [
    (
        "a.ttl",
        "@prefix zoo: <http://zoo.example/> . zoo:lion a zoo:Animal .",
    ),
    (
        "b.trig",
        "PREFIX farm: <http://farm.example/>\n farm:g { farm:cow a farm:Animal }",
    ),
    (
        "c.rdf",
        "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" \
         xmlns:sea=\"http://sea.example/\"><sea:Fish rdf:about=\"http://sea.example/cod\"/></rdf:RDF>",
    ),
    (
        "d.jsonld",
        "{\"@context\": {\"sky\": \"http://sky.example/\"}, \"@id\": \"sky:lark\", \"@type\": \"sky:Bird\"}",
    ),
    ("e.nt", "<http://e/s> <http://e/p> <http://e/o> ."),
];

const NAMES: [&str; 4] = ["zoo", "farm", "sea", "sky"];

fn succeeds(arguments: &[&str]) {
    let Run { code, errors, .. } = run(arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {errors}");
}

/// What is said of a text that lacks the declarations.
fn refused(arguments: &[&str]) -> String {
    let Run { code, errors, .. } = run(arguments);
    assert_ne!(code, Some(0), "{arguments:?}");
    errors
}

fn all_are_told(store: &Path) {
    for name in NAMES {
        let declaration = format!(
            "prefix `{name}:` is not declared: add `PREFIX {name}: <http://{name}.example/>`"
        );
        let query = format!("SELECT ?x {{ ?x a {name}:Animal }}");
        let told = refused(&["query", "-l", text(store), "-q", &query]);
        assert!(told.contains(&declaration), "{told}");
        let update =
            format!("INSERT DATA {{ <http://e/s> a 1 }} ; DELETE WHERE {{ {name}:x ?p ?o }}");
        let told = refused(&["update", "-l", text(store), "-u", &update]);
        let numbered = format!("{declaration}, in operation 2");
        assert!(told.contains(&numbered), "{told}");
    }
}

#[test]
fn of_every_format_they_are_told_as_long_as_the_store_lives() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store");
    for (name, content) in DOCUMENTS {
        let file = write(folder.path(), name, content);
        succeeds(&["load", "-l", text(&store), text(&file)]);
    }
    all_are_told(&store);

    succeeds(&[
        "update",
        "-l",
        text(&store),
        "-u",
        "INSERT DATA { <http://e/s> <http://e/p> 1 }",
    ]);
    succeeds(&["compact", "-l", text(&store)]);
    all_are_told(&store);

    let copy = folder.path().join("copy");
    succeeds(&["backup", "-l", text(&store), text(&copy)]);
    all_are_told(&copy);
    succeeds(&["check", "-l", text(&copy)]);
}

#[test]
fn of_files_that_are_queried_as_they_are_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let (name, content) = DOCUMENTS[0];
    let file = write(folder.path(), name, content);
    let told = refused(&[
        "query",
        "--data",
        text(&file),
        "-q",
        "ASK { zoo:lion ?p ?o }",
    ]);
    assert!(
        told.contains("add `PREFIX zoo: <http://zoo.example/>`"),
        "{told}"
    );
    // What the people who made the data call it comes before what others do.
    let file = write(
        folder.path(),
        "f.ttl",
        "@prefix foaf: <http://other.example/> . foaf:a foaf:b 1 .",
    );
    let told = refused(&["query", "--data", text(&file), "-q", "ASK { foaf:a ?p ?o }"]);
    assert!(
        told.contains("add `PREFIX foaf: <http://other.example/>`"),
        "{told}"
    );
}
