//! A store cut into parts, as the command line does it: what is checked, what is refused, what is left behind.

mod documents;
mod inside;

use somersault::load::{Request as LoadRequest, Source, Syntax, Unwatched, load};
use somersault::nodes::{Mode, NodeOptions};
use somersault::output::Collected;
use somersault::parts::{Deal, PartSizes, PartsError, cut, load_in_parts, part_name, parts_in};
use somersault::{Database, OpenError, Options, Request, UpdateRequest, upkeep};
use std::fs;
use std::path::Path;

/// Blocks of a few ids, so that a small graph is in all parts.
const DEAL: Deal = Deal::Evenly {
    nodes: 3,
    shift: Some(2),
};

fn lines() -> String {
    let line = |at: u64| {
        let kind = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
        let (class, other) = (at % 4, at * 11 % 200);
        format!(
            "<http://e/{at}> <{kind}> <http://e/c{class}> .\n<http://e/{at}> <http://e/p> <http://e/{other}> .\n"
        )
    };
    (0..200).map(line).collect()
}

fn source(text: &str) -> Vec<Source<'_>> {
    vec![Source::reader("lines", text.as_bytes()).with_syntax(Syntax::NTriples)]
}

fn findings(parts: &Path) -> Vec<String> {
    let checked = upkeep::check(parts).expect("it can be checked");
    checked.findings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_store_is_cut_with_what_its_log_holds() {
    let directory = tempfile::tempdir().expect("a directory");
    let [store, parts] = ["store", "parts"].map(|name| directory.path().join(name));
    let text = lines();
    load(&store, source(&text), &LoadRequest::default(), &Unwatched).expect("it loads");
    let database = Database::open_writable(&store, &Options::default()).expect("it opens");
    let request = UpdateRequest {
        text: "INSERT DATA { <http://e/1> <http://e/q> 5 }",
        ..UpdateRequest::default()
    };
    database.update(&request).expect("it commits");
    drop(database);
    let sizes = cut(&store, &parts, &DEAL).expect("it is cut");
    assert_eq!(sizes.sum(|part| part.out_edges), 401);
    assert_eq!(sizes.sum(PartSizes::edges), 802);
    assert_eq!(findings(&parts), Vec::<String>::new());
    assert_eq!(findings(&store), Vec::<String>::new());
    // A part is no store that could be opened by itself.
    let part = parts.join(part_name(1));
    let refused = Database::open(&part, &Options::default()).err();
    assert!(
        matches!(
            refused,
            Some(OpenError::Part {
                node: 1,
                nodes: 3,
                ..
            })
        ),
        "{refused:?}"
    );
    assert!(!refused.is_some_and(|error| error.is_damage()));
    let refused = Database::open_writable(&part, &Options::default()).err();
    assert!(
        matches!(refused, Some(OpenError::Part { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_load_in_parts_leaves_the_parts_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let parts = directory.path().join("parts");
    let text = lines();
    for _ in 0..2 {
        let loaded = load_in_parts(
            &parts,
            source(&text),
            &LoadRequest::default(),
            &DEAL,
            &Unwatched,
        );
        let (report, sizes) = loaded.expect("it loads");
        assert_eq!((report.quads, sizes.sum(|part| part.in_edges)), (400, 400));
        let names = fs::read_dir(&parts).expect("a directory");
        let names = names.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(
            names,
            [part_name(0), part_name(1), part_name(2)].map(Into::<std::ffi::OsString>::into)
        );
    }
    assert_eq!(findings(&parts), Vec::<String>::new());
    assert_eq!(parts_in(&parts), [0, 1, 2].map(part_name));
    let one = parts.join(part_name(1));
    let checked = upkeep::check(&one).expect("it can be checked");
    assert!(
        checked.is_part && checked.findings.is_empty(),
        "{:?}",
        checked.findings
    );
    // Without one of them it is no graph.
    fs::remove_dir_all(parts.join(part_name(2))).expect("it goes");
    let told = findings(&parts);
    assert!(
        told.iter()
            .any(|finding| finding.contains("part 2 of 3 is missing")),
        "{told:?}"
    );
}

#[test]
fn a_load_that_fails_leaves_no_whole() {
    let directory = tempfile::tempdir().expect("a directory");
    let parts = directory.path().join("parts");
    let bad = source("<http://e/a> <http://e/p> .\n");
    let failed = load_in_parts(&parts, bad, &LoadRequest::default(), &DEAL, &Unwatched);
    assert!(matches!(failed, Err(PartsError::Load(_))));
    assert_eq!(fs::read_dir(&parts).expect("a directory").count(), 0);
    let none = Deal::Evenly {
        nodes: 0,
        shift: None,
    };
    assert!(matches!(
        cut(&parts, &directory.path().join("other"), &none),
        Err(PartsError::Placement(_))
    ));
}

/// All statements of a database, as they come.
fn dumped(database: &Database) -> Vec<String> {
    let mut quads = Vec::new();
    let mut take = |quad: oxrdf::QuadRef<'_>| {
        quads.push(quad.to_string());
        Ok(())
    };
    somersault::dump::all(&database.graph(), &mut take).expect("it can be read");
    quads
}

/// The rows of an answer, in order.
fn rows(database: &Database, text: &str, execution: Option<Mode>) -> Vec<String> {
    let request = Request {
        execution,
        ..Request::new(text)
    };
    let mut query = database.start(&request).expect("it is planned");
    let mut collected = Collected::default();
    query.run(&mut collected).expect("it is answered");
    let mut rows: Vec<String> = collected
        .rows
        .iter()
        .map(|row| format!("{row:?}"))
        .collect();
    rows.sort_unstable();
    rows
}

#[test]
fn parts_are_opened_with_nodes_and_answer_as_the_whole() {
    let directory = tempfile::tempdir().expect("a directory");
    let [store, parts] = ["store", "parts"].map(|name| directory.path().join(name));
    let text = lines();
    load(&store, source(&text), &LoadRequest::default(), &Unwatched).expect("it loads");
    cut(&store, &parts, &DEAL).expect("it is cut");
    let options = Options::default();
    let whole = Database::open(&store, &options).expect("it opens");
    let nodes = NodeOptions::default();
    let spread = Database::open_in_nodes(&parts, 3, &nodes, &options).expect("the nodes start");
    assert_eq!(spread.summary().quads, whole.summary().quads);
    assert_eq!(spread.summary().terms, whole.summary().terms);
    let queries = [
        "SELECT * { ?x a <http://e/c1> . ?x <http://e/p> ?y . ?y a ?c }",
        "SELECT ?y { <http://e/7> <http://e/p>/<http://e/p> ?y }",
        "SELECT ?c (COUNT(*) AS ?n) { ?x a ?c OPTIONAL { ?x <http://e/none> ?y } } GROUP BY ?c",
        "SELECT (CONCAT(STR(?x), '!') AS ?t) { ?x <http://e/p> <http://e/22> }",
    ];
    for text in queries {
        let expected = rows(&whole, text, None);
        assert!(!expected.is_empty(), "{text}");
        for mode in [Mode::InPlace, Mode::ForkJoin, Mode::Dynamic] {
            assert_eq!(
                rows(&spread, text, Some(mode)),
                expected,
                "{mode:?}: {text}"
            );
        }
    }
    let refused = spread.update(&UpdateRequest {
        text: "INSERT DATA { <http://e/1> <http://e/q> 5 }",
        ..UpdateRequest::default()
    });
    assert!(refused.is_err(), "a cluster takes no changes");
    assert_eq!(dumped(&spread), dumped(&whole));
    // Two of three parts are no graph.
    let few = Database::open_in_nodes(&parts, 2, &nodes, &options).err();
    assert!(
        few.expect("one is missing").to_string().contains("missing"),
        "what is missing is told"
    );
}
