//! Updates through the façade: what they do, that they last, that readers see one moment.

use crate::support;

use oxrdf::{Literal, NamedNode, Term};
use somersault::output::{ResultFormat, ResultWriter};
use somersault::stop::StopToken;
use somersault::terms::format::Format;
use somersault::{
    Database, Document, GraphTarget, GraphWrite, Kind, Options, QueryError, Request, ServiceClient,
    ServiceError, UpdateRequest, WriteMode, load,
};
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::disk::{SimDisk, SimFaults};
use testkit::Answer;

fn update(database: &Database, text: &str) -> Result<u64, QueryError> {
    let request = UpdateRequest {
        text,
        ..UpdateRequest::default()
    };
    database
        .update(&request)
        .map(|committed| committed.snapshot)
}

fn rows(database: &Database, query: &str) -> Vec<Vec<String>> {
    let answer = support::answer(database, query, 1);
    match answer.map_err(support::NoAnswer::message) {
        Ok(Answer::Rows { rows, .. }) => {
            let cell = |cell: Option<Term>| cell.map_or_else(String::new, |term| term.to_string());
            let mut rows: Vec<Vec<String>> = rows
                .into_iter()
                .map(|row| row.into_iter().map(cell).collect())
                .collect();
            rows.sort();
            rows
        }
        Ok(Answer::Boolean(value)) => vec![vec![value.to_string()]],
        Err(message) => panic!("{query}: {message}"),
    }
}

fn count(database: &Database) -> String {
    let all = "SELECT (COUNT(*) AS ?n) { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }";
    rows(database, all).remove(0).remove(0)
}

fn integer(value: i64) -> String {
    Literal::from(value).to_string()
}

const HOME: &str = "/disk/store";

fn disk() -> SimDisk {
    SimDisk::new(1, Path::new("/disk"), SimFaults::default())
}

fn open(disk: &SimDisk) -> Database {
    let options = Options::default();
    Database::open_writable_on(Arc::new(disk.clone()), Path::new(HOME), &options).expect("a store")
}

#[test]
fn operations_do_what_they_say_and_last() {
    let disk = disk();
    let database = open(&disk);
    let prefix = "PREFIX : <http://e/> ";
    let texts = [
        "INSERT DATA { :a :p 1, 2 ; a :C . _:x :q _:x . GRAPH :g { :a :p 3 } }",
        "DELETE DATA { :a :p 1 }",
        "INSERT { ?s :r ?n . GRAPH :h { _:n :of ?s } } WHERE { ?s :p ?o BIND(?o * 10 AS ?n) }",
        "DELETE { ?s a ?c } INSERT { ?s a :D } WHERE { ?s a ?c }",
        "INSERT DATA { :b :p 5 } ; DELETE { :b :p ?o } INSERT { :b :p ?n } WHERE { :b :p ?o BIND(?o + 1 AS ?n) }",
        "COPY :g TO :k ; ADD DEFAULT TO :k ; MOVE :k TO :m ; CLEAR GRAPH :g",
    ];
    for (number, text) in (1..).zip(texts) {
        assert_eq!(
            update(&database, &format!("{prefix}{text}")).unwrap(),
            number
        );
    }
    let seen = |database: &Database| {
        [
            rows(database, "PREFIX : <http://e/> SELECT ?o { :a :p ?o }"),
            rows(database, "PREFIX : <http://e/> SELECT ?o { :a :r ?o }"),
            rows(database, "PREFIX : <http://e/> SELECT ?c { :a a ?c }"),
            rows(database, "PREFIX : <http://e/> SELECT ?o { :b :p ?o }"),
            rows(
                database,
                "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g",
            ),
            rows(
                database,
                "PREFIX : <http://e/> SELECT ?x ?y { ?x :q ?y FILTER(sameTerm(?x, ?y)) }",
            ),
        ]
    };
    let before = seen(&database);
    assert_eq!(before[0], [[integer(2)]]);
    assert_eq!(before[1], [[integer(20)]]);
    assert_eq!(before[2], [["<http://e/D>"]]);
    assert_eq!(before[3], [[integer(6)]]);
    assert_eq!(
        before[4],
        [
            ["<http://e/h>".to_owned(), integer(1)],
            ["<http://e/m>".to_owned(), integer(6)]
        ]
    );
    assert_eq!(before[5].len(), 1);
    drop(database);
    let database = open(&disk);
    assert_eq!(database.snapshot_number(), 6);
    assert_eq!(seen(&database), before);
    database.compact().unwrap();
    assert_eq!(seen(&database), before);
    update(&database, "INSERT DATA { _:x <http://e/q> _:x }").unwrap();
    drop(database);
    let database = open(&disk);
    assert_eq!(database.snapshot_number(), 7);
    assert_eq!(seen(&database)[5].len(), 2);
}

#[test]
fn a_request_is_carried_out_whole_or_not_at_all() {
    let database = open(&disk());
    update(&database, "INSERT DATA { <http://e/a> <http://e/p> 1 }").unwrap();
    let text = "INSERT DATA { <http://e/b> <http://e/p> 2 } ; CREATE GRAPH <http://e/g> ; \
                INSERT DATA { GRAPH <http://e/g> { <http://e/b> <http://e/p> 2 } } ; \
                CREATE GRAPH <http://e/g>";
    let error = update(&database, text).unwrap_err();
    assert_eq!(error.kind, Kind::Conflict);
    assert!(
        error.message.starts_with("operation 4 of 4 (CREATE)"),
        "{error}"
    );
    assert_eq!(count(&database), integer(1));
    assert_eq!(
        update(&database, "DELETE DATA { <http://e/x> <http://e/p> 1 }").unwrap(),
        1
    );
}

/// One rule for graphs that are not there, see `change::operations`: taking from one fails unless it is
/// silent, emptying it and putting something into it succeeds.
#[test]
fn graphs_that_are_not_there_are_nothing_to_take_from_and_nothing_to_empty() {
    let database = open(&disk());
    let prefix = "PREFIX : <http://e/> ";
    update(
        &database,
        &format!("{prefix}INSERT DATA {{ :a :p 1 . GRAPH :g {{ :a :p 2 }} }}"),
    )
    .unwrap();
    let before = database.snapshot_number();
    for operation in ["COPY", "MOVE", "ADD"] {
        for to in [":g", "DEFAULT", ":new"] {
            let text = format!("{prefix}{operation} :none TO {to}");
            let error = update(&database, &text).unwrap_err();
            assert_eq!(error.kind, Kind::NotFound, "{text}: {error}");
            assert!(error.to_string().contains("<http://e/none>"), "{error}");
            let silent = format!("{prefix}{operation} SILENT :none TO {to}");
            assert_eq!(update(&database, &silent).unwrap(), before, "{silent}");
        }
        // Onto itself: nothing is to be done.
        for graph in [":g", ":empty", "DEFAULT"] {
            let text = format!("{prefix}{operation} {graph} TO {graph}");
            assert_eq!(update(&database, &text).unwrap(), before, "{text}");
        }
    }
    for silent in ["", "SILENT"] {
        for text in [
            format!("CLEAR {silent} GRAPH :none"),
            format!("DROP {silent} GRAPH :none"),
            format!("CREATE {silent} GRAPH :none"),
            format!("CREATE {silent} GRAPH :none ; DROP {silent} GRAPH :none"),
        ] {
            let number = update(&database, &format!("{prefix}{text}"));
            assert_eq!(number.unwrap(), before, "{text}");
        }
    }
    assert_eq!(count(&database), integer(2));
    // What is made by `CREATE` holds nothing to be taken.
    let text = format!("{prefix}CREATE GRAPH :none ; COPY :none TO :g");
    assert_eq!(update(&database, &text).unwrap_err().kind, Kind::NotFound);
    // The default graph is always there, empty or not; and graphs that are copied into are made.
    let text = format!("{prefix}MOVE DEFAULT TO :new ; COPY DEFAULT TO :g ; ADD DEFAULT TO :other");
    update(&database, &text).unwrap();
    let graphs = rows(&database, "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }");
    assert_eq!(graphs, [["<http://e/new>"]]);
    let error = update(&database, &format!("{prefix}CREATE GRAPH :new")).unwrap_err();
    assert_eq!(error.kind, Kind::Conflict);
    update(&database, &format!("{prefix}CREATE SILENT GRAPH :new")).unwrap();
}

#[test]
fn a_reader_keeps_what_it_sees() {
    let database = open(&disk());
    update(&database, "INSERT DATA { <http://e/a> <http://e/p> 1 }").unwrap();
    let held = database.graph();
    for number in 0..40 {
        let text = format!("INSERT DATA {{ <http://e/a> <http://e/p> <http://e/{number}> }}");
        update(&database, &text).unwrap();
    }
    database.compact().unwrap();
    update(&database, "CLEAR ALL").unwrap();
    assert_eq!(count(&database), integer(0));
    let mut quads = 0;
    somersault::dump::all(&held, &mut |_| {
        quads += 1;
        Ok(())
    })
    .unwrap();
    assert_eq!(quads, 1);
}

#[test]
fn graphs_are_written_and_removed() {
    let database = open(&disk());
    let write = |text: &str, mode| {
        database.write_graph(GraphWrite {
            target: GraphTarget::Named("http://e/g".to_owned()),
            mode,
            format: Format::Turtle,
            base: Some("http://e/".to_owned()),
            body: &mut text.as_bytes(),
            timeout: None,
        })
    };
    assert!(write("<a> <p> 1, 2, [] .", WriteMode::Add).unwrap().is_new);
    assert!(!write("<a> <p> 2, 3 .", WriteMode::Add).unwrap().is_new);
    assert_eq!(count(&database), integer(4));
    let written = write("<a> <p> 3, 4 .", WriteMode::Replace)
        .unwrap()
        .committed;
    // What was there and is there again is neither.
    assert_eq!((written.inserted, written.deleted), (1, 3));
    assert_eq!(count(&database), integer(2));
    let error = write("<a> <p> 3, 4", WriteMode::Replace).unwrap_err();
    assert_eq!(error.kind, Kind::Syntax);
    let target = GraphTarget::Named("http://e/g".to_owned());
    assert_eq!(
        database
            .delete_graph(&target, None)
            .unwrap()
            .unwrap()
            .deleted,
        2
    );
    assert!(database.delete_graph(&target, None).unwrap().is_none());
    let name = NamedNode::new_unchecked("http://e/g");
    assert!(
        !rows(&database, &format!("ASK {{ GRAPH {name} {{ ?s ?p ?o }} }}"))[0][0].starts_with('t')
    );
}

/// A checkpoint changes no graph and no id: what a client has read is what there is.
#[test]
fn a_checkpoint_is_no_last_change() {
    let disk = disk();
    let database = open(&disk);
    let into = |graph: &str, value: &str| {
        let text = format!(
            "INSERT DATA {{ GRAPH <http://e/{graph}> {{ <http://e/{value}> <http://e/p> [] }} }}"
        );
        update(&database, &text).unwrap()
    };
    let graphs = ["z", "m", "a", "k"];
    let last = || {
        graphs.map(|graph| {
            let target = GraphTarget::Named(format!("http://e/{graph}"));
            database.last_change(&target).unwrap().unwrap()
        })
    };
    let content = || {
        let mut quads = Vec::new();
        let mut take = |quad: oxrdf::QuadRef<'_>| {
            quads.push(quad.to_string());
            Ok(())
        };
        somersault::dump::all(&database.graph(), &mut take).unwrap();
        quads.sort();
        quads
    };
    // Terms of an update that comes to nothing get ids, too.
    let nothing = "INSERT DATA { GRAPH <http://e/b> { <http://e/c> <http://e/p> 1 } } ; COPY <http://e/none> TO <http://e/o>";
    update(&database, nothing).unwrap_err();
    for round in ["one", "two"] {
        let numbers = graphs.map(|graph| into(graph, round));
        assert_eq!(last(), numbers);
        let before = content();
        database.compact().unwrap();
        assert_eq!((last(), content()), (numbers, before));
    }
}

#[test]
fn a_large_record_behind_small_ones_is_replayed_and_merged() {
    let disk = disk();
    let database = open(&disk);
    for number in 0..5 {
        let text = format!("INSERT DATA {{ <http://e/s> <http://e/small> {number} }}");
        update(&database, &text).unwrap();
    }
    let mut lines = String::new();
    for number in 0..300_000 {
        let _ = writeln!(lines, "<http://e/s> <http://e/p> <http://e/{number}> .");
    }
    let written = database.write_graph(GraphWrite {
        target: GraphTarget::Default,
        mode: WriteMode::Add,
        format: Format::NTriples,
        base: None,
        body: &mut lines.as_bytes(),
        timeout: None,
    });
    assert_eq!(written.unwrap().committed.inserted, 300_000);
    drop(database);
    let database = open(&disk);
    assert_eq!(database.snapshot_number(), 6);
    assert_eq!(count(&database), integer(300_005));
    update(&database, "INSERT DATA { <http://e/s> <http://e/small> 5 }").unwrap();
    let layers = || database.change_figures().map(|figures| figures.layers);
    for _ in 0..200 {
        if layers() == Some(1) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(layers(), Some(1), "maintenance merges what was replayed");
    assert_eq!(count(&database), integer(300_006));
}

#[test]
fn a_reader_of_what_may_change_does_not_grow_old() {
    let disk = disk();
    update(&open(&disk), "INSERT DATA { <http://e/s> <http://e/p> 1 }").unwrap();
    let options = Options {
        max_snapshot_age: std::time::Duration::ZERO,
        ..Options::default()
    };
    let opened = Database::open_writable_on(Arc::new(disk.clone()), Path::new(HOME), &options);
    let database = opened.expect("a store");
    let mut query = database
        .start(&Request::new("SELECT * { ?s ?p ?o }"))
        .unwrap();
    let mut writer = ResultWriter::new(ResultFormat::Tsv, Vec::new());
    let error = query.run(&mut writer).unwrap_err();
    assert_eq!(error.kind, Kind::Timeout);
    assert!(error.to_string().contains("max_snapshot_age"), "{error}");
    update(&database, "INSERT DATA { <http://e/s> <http://e/p> 2 }").expect("writers go on");
    drop((query, database));
    let opened = Database::open_on(&disk, Path::new(HOME), &options);
    let database = opened.expect("a store");
    assert_eq!(count(&database), integer(2), "nothing can change here");
}

#[test]
fn the_data_of_an_update_are_drawn_on_its_budget() {
    let disk = SimDisk::new(0, Path::new("/disk"), SimFaults::default());
    let database = Database::open_writable_on(
        Arc::new(disk),
        Path::new("/disk/store"),
        &Options::default(),
    )
    .expect("a new store");
    let mut text = "INSERT DATA { <http://e/s> <http://e/p> 0".to_owned();
    for number in 1..20_000 {
        let _ = write!(text, ", {number}");
    }
    text += " }";
    // What was read is too much; what carrying it out takes is; all of it fits.
    for (memory, fits) in [(600_000, false), (2_000_000, false), (64_000_000, true)] {
        let request = UpdateRequest {
            text: &text,
            memory_bytes: Some(memory),
            ..UpdateRequest::default()
        };
        let done = database.update(&request);
        match done {
            Ok(committed) => assert!(fits && committed.inserted == 20_000, "{memory}"),
            Err(error) => assert!(!fits && error.kind == Kind::Memory, "{memory}: {error}"),
        }
        assert_eq!(database.pool().used_bytes(), 0, "everything is given back");
    }
}

#[test]
fn a_patch_is_listed_bounded_and_drawn_on_its_budget() {
    let mut text = "PA e <http://e/> .\n".to_owned();
    for number in 0..20_000 {
        let _ = writeln!(text, "A e:s e:p {number} .");
    }
    let target = GraphTarget::Named("http://e/g".to_owned());
    for (memory, text_max, kind) in [
        (600_000, 1 << 20, Some(Kind::Memory)),
        (64_000_000, 100_000, Some(Kind::TooLong)),
        (64_000_000, 1 << 20, None),
    ] {
        let options = Options {
            query_memory_bytes: memory,
            update_text_max_bytes: text_max,
            ..Options::default()
        };
        let disk = Arc::new(disk());
        let database = Database::open_writable_on(disk, Path::new(HOME), &options).unwrap();
        let started = database.start_patch(&text, &target, None, None);
        assert_eq!(started.as_ref().err().map(|error| error.kind), kind);
        if let Ok(running) = started {
            assert!(database.running().list()[0].text.starts_with("PA e"));
            assert_eq!(running.run().unwrap().inserted, 20_000);
            let wrong = database.start_patch("\nA <s> <p> 1 .", &target, None, None);
            let place = wrong.err().and_then(|error| error.position).unwrap();
            assert_eq!((place.line, place.column), (2, 3));
        }
        assert_eq!(database.pool().used_bytes(), 0, "everything is given back");
        assert!(database.running().is_empty());
    }
}

#[test]
fn where_sees_the_union_of_the_graphs_and_templates_write_the_default_graph() {
    let disk = disk();
    let options = Options {
        union_default_graph: true,
        ..Options::default()
    };
    let database =
        Database::open_writable_on(Arc::new(disk), Path::new(HOME), &options).expect("a store");
    let prefix = "PREFIX : <http://e/> ";
    let change = |text: &str| update(&database, &format!("{prefix}{text}")).expect(text);
    let ask = |text: &str| rows(&database, &format!("{prefix}{text}"));
    change("INSERT DATA { :a :p 1 . GRAPH :g { :a :p 1, 2 } GRAPH :h { :a :p 2 . :b :p 3 } }");
    let counted = "SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT ?s) AS ?m) { ?s :p ?o }";
    // Asked again it is a kept plan, and again it is known by its spelling.
    for _ in 0..4 {
        assert_eq!(ask(counted), [[integer(3), integer(2)]]);
        assert_eq!(ask("SELECT ?o { :b :p ?o }"), [[integer(3)]]);
    }
    let unmerged = Request {
        union_default_graph: Some(false),
        ..Request::new("SELECT ?o { <http://e/b> <http://e/p> ?o }")
    };
    match support::answer_to(&database, &unmerged) {
        Ok(Answer::Rows { rows, .. }) => assert!(rows.is_empty(), "a plan of the union: {rows:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        ask("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"),
        [[integer(3)]],
        "a triple of several graphs counts once"
    );
    assert_eq!(ask("SELECT ?x { ?x :p+ 3 }"), [["<http://e/b>"]]);
    // A dataset that is named counts, and GRAPH means what it says.
    assert_eq!(
        ask("SELECT ?o FROM :g { ?s :p ?o }"),
        [[integer(1)], [integer(2)]]
    );
    assert_eq!(ask("SELECT ?o { GRAPH :h { :a :p ?o } }"), [[integer(2)]]);
    change("INSERT { ?s :copied ?o } WHERE { ?s :p ?o }");
    assert_eq!(
        ask("SELECT ?g ?s { GRAPH ?g { ?s :copied ?o } }"),
        Vec::<Vec<String>>::new()
    );
    assert_eq!(
        ask("SELECT (COUNT(*) AS ?n) { ?s :copied ?o }"),
        [[integer(3)]]
    );
    // The default graph's own triple goes; those of named graphs stay, and are still seen.
    change("DELETE WHERE { :a :p ?o }");
    assert_eq!(ask("SELECT ?o { :a :p ?o }"), [[integer(1)], [integer(2)]]);
    change("DELETE { ?s :copied ?o } USING :h WHERE { ?s :p ?o }");
    assert_eq!(
        ask("SELECT ?o { ?s :copied ?o }"),
        [[integer(1)]],
        "USING counts more than the union"
    );
    change("WITH :g DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }");
    assert_eq!(
        ask("SELECT ?s ?o { ?s :p ?o }").len(),
        2,
        "WITH is one graph"
    );
}

/// What is said of a prefix that a query lacks.
fn hint(database: &Database, prefix: &str) -> String {
    let text = format!("ASK {{ ?s {prefix}:p ?o }}");
    let refused = database.start(&Request::new(&text)).err();
    refused.expect("the prefix is not declared").message
}

/// Has one document.
struct Documents(&'static str);

impl ServiceClient for Documents {
    fn select(
        &self,
        _endpoint: &str,
        _query: &str,
        _timeout: Duration,
        _stopped: StopToken,
    ) -> Result<(ResultFormat, Box<dyn Read + Send>), ServiceError> {
        unreachable!("nothing is selected")
    }

    fn document(
        &self,
        source: &str,
        _timeout: Duration,
        _stopped: StopToken,
    ) -> Result<Document, ServiceError> {
        Ok(Document {
            format: Format::Turtle,
            base: source.to_owned(),
            body: Box::new(self.0.as_bytes()),
        })
    }
}

#[test]
fn prefixes_of_documents_that_are_loaded_are_hints() {
    let options = Options {
        service: Some(Arc::new(Documents(
            "@prefix farm: <http://e/farm#> . farm:a farm:p 1 .",
        ))),
        memory_is_writable: true,
        ..Options::default()
    };
    let loaded = "add `PREFIX farm: <http://e/farm#>`";
    let disk = disk();
    let on_disk = || {
        let home = Path::new(HOME);
        Database::open_writable_on(Arc::new(disk.clone()), home, &options).expect("a store")
    };
    let request = load::Request::default();
    let in_memory = load::load_in_memory(Vec::new(), &request, &options, &load::Unwatched);
    let (in_memory, _) = in_memory.expect("a graph");
    for database in [on_disk(), in_memory] {
        assert!(!hint(&database, "farm").contains("add"));
        update(&database, "CLEAR ALL ; LOAD <http://e/document>").unwrap();
        assert!(hint(&database, "farm").contains(loaded));
        update(&database, "INSERT DATA { <http://e/a> <http://e/p> 1 }").unwrap();
        database.compact().unwrap();
        assert!(hint(&database, "farm").contains(loaded), "they are kept");
    }
    assert!(hint(&on_disk(), "farm").contains(loaded), "and last");
}

#[test]
fn prefixes_of_written_documents_are_hints_and_last() {
    let disk = disk();
    let database = open(&disk);
    let write = |format, text: &str| {
        database.write_graph(GraphWrite {
            target: GraphTarget::Default,
            mode: WriteMode::Add,
            format,
            base: None,
            body: &mut text.as_bytes(),
            timeout: None,
        })
    };
    let text = "@prefix farm: <http://e/farm#> . farm:a farm:p 1 .";
    write(Format::Turtle, text).unwrap();
    let xml = "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:barn=\"http://e/barn#\">\
               <rdf:Description rdf:about=\"http://e/x\"><barn:p>1</barn:p></rdf:Description></rdf:RDF>";
    write(Format::RdfXml, xml).unwrap();
    write(Format::Turtle, "@prefix cut: <http://e/cut#> . cut:a cut:p").unwrap_err();
    assert!(hint(&database, "farm").contains("add `PREFIX farm: <http://e/farm#>`"));
    assert!(hint(&database, "barn").contains("add `PREFIX barn: <http://e/barn#>`"));
    let unknown = |database: &Database| !hint(database, "cut").contains("add");
    assert!(unknown(&database), "nothing of it was written");
    let update = update(&database, "DELETE WHERE { ?s farm:p ?o }").unwrap_err();
    assert!(update.message.contains("PREFIX farm: <http://e/farm#>"));

    database.compact().unwrap();
    drop(database);
    let database = open(&disk);
    assert!(hint(&database, "farm").contains("add `PREFIX farm: <http://e/farm#>`"));
    let names: Vec<String> = database
        .prefixes()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["barn", "farm", "rdf"]);
    assert!(unknown(&database));
}
