//! Documents over parts: what a graph in parts gives out whole is, statement by statement, what the whole graph gives.

use crate::support::loaded;
use oxrdf::QuadRef;
use somersault::dump::{self, DumpError};
use somersault::nodes::{Deal, NodeFigures, NodeOptions, Placement};
use somersault::output::{Collected, Rows, Sink};
use somersault::{Database, GraphTarget, Kind, Options, Request};
use std::fmt::Write;
use std::io;
use testkit::graph::Format;

/// More subjects of one predicate than a node gives at once.
const SUBJECTS: u64 = 16_000;

/// Statements of the default graph and of two others: IRIs, blank nodes, literals, a long list, classes.
fn quads() -> String {
    let mut text = String::new();
    let mut line = |quad: String| writeln!(text, "{quad} .").expect("a string takes everything");
    for at in 0..SUBJECTS {
        line(format!(
            "<http://e/{at}> <http://e/p> <http://e/{}>",
            at * 7 % SUBJECTS
        ));
    }
    for at in 0..600 {
        let class = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C>";
        line(format!("<http://e/{at}> {class}"));
        line(format!("_:b{at} <http://e/q> \"text {at}\"@en"));
        line(format!("<http://e/hub> <http://e/q> _:b{at}"));
        line(format!(
            "<http://e/{at}> <http://e/p> \"{at}\"^^<http://www.w3.org/2001/XMLSchema#integer> <http://e/g1>"
        ));
        line(format!("_:b{at} <http://e/r> \"{at}\" <http://e/g2>"));
    }
    text
}

fn whole() -> Database {
    loaded(&quads(), Format::NQuads, 1).expect("it loads")
}

fn spread(whole: &Database, nodes: u16, options: &Options) -> Database {
    let placement = Placement::in_turn(nodes, 2, 64).expect("a placement");
    let spread = whole.in_nodes(&Deal::By(placement), &NodeOptions::default(), options);
    spread.expect("the nodes start")
}

/// What `give` gives out, in order.
fn taken(
    give: impl FnOnce(&mut dyn FnMut(QuadRef<'_>) -> std::io::Result<()>) -> Result<u64, DumpError>,
) -> Vec<String> {
    let mut quads = Vec::new();
    let mut take = |quad: QuadRef<'_>| {
        quads.push(quad.to_string());
        Ok(())
    };
    let count = give(&mut take).expect("it can be read");
    assert_eq!(count, quads.len() as u64);
    quads
}

/// The statements of a graph or of all, as the Graph Store Protocol gives them, and the most memory that was held.
fn read(database: &Database, target: &GraphTarget) -> (Vec<String>, u64) {
    let name = match target {
        GraphTarget::Named(name) => Some(name.as_str()),
        GraphTarget::Default | GraphTarget::Store => None,
    };
    let opened = match target {
        GraphTarget::Store => database.open_dataset(None).map(Some),
        _ => database.open_graph(name, None),
    };
    let mut read = opened.expect("it is begun").expect("there is such a graph");
    let mut lines = Lines::default();
    let finished = read.run(&mut lines).expect("it is read");
    assert_eq!(finished.rows, lines.0.len() as u64);
    (lines.0, finished.peak_bytes)
}

/// Keeps statements as text, with their graphs.
#[derive(Default)]
struct Lines(Vec<String>);

impl Sink for Lines {
    fn head(&mut self, _: &[String]) -> io::Result<()> {
        Ok(())
    }

    fn graph_head(&mut self, _: &[(String, String)]) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        for row in 0..rows.len {
            let cells = rows.row(row).flatten().map(|term| term.to_string());
            self.0.push(cells.collect::<Vec<_>>().join(" "));
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn boolean(&mut self, _: bool) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn documents_of_parts_are_those_of_the_whole_in_its_order() {
    let whole = whole();
    let all = taken(|take| dump::all(&whole.graph(), take));
    let one = taken(|take| dump::named(&whole.graph(), "http://e/g2", take));
    assert_eq!((all.len(), one.len()), (SUBJECTS as usize + 5 * 600, 600));
    for nodes in [1, 2, 3, 8] {
        let spread = spread(&whole, nodes, &Options::default());
        let graph = spread.graph();
        assert!(
            taken(|take| dump::all(&graph, take)) == all,
            "{nodes} nodes"
        );
        assert!(
            taken(|take| dump::named(&graph, "http://e/g2", take)) == one,
            "{nodes} nodes"
        );
        let unknown = dump::find(&graph, "http://e/0");
        assert!(
            matches!(unknown, Err(DumpError::NoSuchGraph(_))),
            "{unknown:?}"
        );
        let named = GraphTarget::Named("http://e/g1".to_owned());
        for target in [GraphTarget::Store, GraphTarget::Default, named] {
            let (rows, expected) = (read(&spread, &target).0, read(&whole, &target).0);
            let is_same = !expected.is_empty() && rows == expected;
            assert!(is_same, "{nodes} nodes, {target:?}");
        }
        let opened = spread.open_graph(Some("http://e/none"), None);
        assert!(opened.expect("it is looked for").is_none());
    }
}

#[test]
fn a_document_of_parts_takes_the_memory_of_a_batch() {
    let whole = whole();
    let limit = 640 << 10;
    let options = Options {
        query_memory_bytes: limit,
        ..Options::default()
    };
    let narrow = spread(&whole, 3, &options);
    let (rows, peak) = read(&narrow, &GraphTarget::Store);
    assert_eq!(rows.len() as u64, whole.summary().quads);
    assert!(0 < peak && peak <= limit, "{peak}");
    // Where there is none for the keys it is an error, never a part of it.
    let options = Options {
        query_memory_bytes: 16 << 10,
        ..Options::default()
    };
    let starved = spread(&whole, 3, &options);
    let mut read = starved.open_dataset(None).expect("it is begun");
    let failed = read.run(&mut Collected::default());
    assert_eq!(failed.expect_err("there is no memory").kind, Kind::Memory);
    drop(read);
    // What nodes know of where lists of others lie, and of their terms, is not the query's.
    let parts = starved.parts().expect("it is in parts");
    let figures = parts.figures();
    let of_node = |node: &NodeFigures| node.figures.locations.bytes + node.figures.term_bytes;
    let kept = figures.iter().map(of_node);
    assert_eq!(starved.pool().used_bytes(), kept.sum::<u64>());
}

#[test]
fn what_planners_know_of_parts_is_told_and_taken() {
    let whole = whole();
    let spread = spread(&whole, 3, &Options::default());
    let document = spread.planner_statistics().expect("it is told");
    let of_whole = whole.planner_statistics().expect("it is told");
    let read = |text: &str| -> serde_json::Value { serde_json::from_str(text).expect("JSON") };
    let (parts, one) = (read(&document), read(&of_whole));
    assert_eq!(parts["quads"], one["quads"]);
    let counts = |of: &serde_json::Value| {
        let edges = of["predicates"].as_array().expect("predicates").iter();
        edges
            .map(|one| one[3].as_u64().expect("edges"))
            .sum::<u64>()
    };
    assert_eq!(counts(&parts), counts(&one));
    // Each plans by what the other one says.
    let text = "SELECT * { ?x a <http://e/C> ; <http://e/p> ?y }";
    for (database, foreign) in [(&spread, &of_whole), (&whole, &document)] {
        let statistics = database
            .read_planner_statistics(foreign)
            .expect("it is read");
        let request = Request {
            statistics: Some(&statistics),
            ..Request::new(text)
        };
        let mut query = database.start(&request).expect("it is planned");
        let finished = query
            .run(&mut Collected::default())
            .expect("it is answered");
        assert_eq!(finished.rows, 600);
    }
}
