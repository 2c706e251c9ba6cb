//! A query's budget and deadline hold where its answer becomes text, too: one long literal that
//! many rows share must not be copied once for each row of a chunk.

use somersault::load::{Request as Load, Source, Syntax, Unwatched, load_in_memory};
use somersault::output::{Rows, Sink};
use somersault::{Database, Kind, Options, Request, UpdateRequest};
use std::fmt::Write;
use std::io;
use std::time::{Duration, Instant};

const LITERAL_BYTES: usize = 4 << 20;

/// Counts rows, and the most text that came at once.
#[derive(Default)]
struct Largest {
    rows: usize,
    batch_bytes: usize,
}

impl Sink for Largest {
    fn head(&mut self, _: &[String]) -> io::Result<()> {
        Ok(())
    }

    fn graph_head(&mut self, _: &[(String, String)]) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        self.rows += rows.len;
        let bytes = rows
            .columns
            .iter()
            .map(somersault::terms::TermBuffer::text_bytes)
            .sum();
        self.batch_bytes = self.batch_bytes.max(bytes);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn boolean(&mut self, _: bool) -> io::Result<()> {
        Ok(())
    }
}

/// One subject with a long literal and many neighbours.
fn database() -> Database {
    let literal = "x".repeat(LITERAL_BYTES);
    let mut text = format!("<http://e/s> <http://e/long> \"{literal}\" .\n");
    for neighbour in 0..500 {
        writeln!(text, "<http://e/s> <http://e/to> <http://e/{neighbour}> .")
            .expect("a string grows");
    }
    let source = Source::reader("data", io::Cursor::new(text)).with_syntax(Syntax::NTriples);
    load_in_memory(
        vec![source],
        &Load::default(),
        &Options::default(),
        &Unwatched,
    )
    .expect("the data are sound")
    .0
}

const QUERY: &str =
    "SELECT ?l ?o WHERE { <http://e/s> <http://e/long> ?l . <http://e/s> <http://e/to> ?o }";

#[test]
fn long_literals_are_decoded_a_few_at_a_time() {
    let database = database();
    let mut sink = Largest::default();
    let mut query = database.start(&Request::new(QUERY)).expect("it parses");
    query.run(&mut sink).expect("256 MiB are enough");
    assert_eq!(sink.rows, 500);
    assert!(
        sink.batch_bytes <= 17 * LITERAL_BYTES,
        "{} bytes at once",
        sink.batch_bytes
    );
    drop(query);
    assert_eq!(database.pool().used_bytes(), 0, "everything is given back");
}

#[test]
fn decoded_text_is_drawn_on_the_budget() {
    let database = database();
    let request = Request {
        memory_bytes: Some(3 << 20),
        ..Request::new(QUERY)
    };
    let mut query = database.start(&request).expect("it parses");
    let error = query
        .run(&mut Largest::default())
        .expect_err("one literal is over the budget");
    assert_eq!(error.kind, Kind::Memory);
}

#[test]
fn decoding_looks_at_the_deadline() {
    let database = database();
    let timeout = Some(Duration::from_millis(50));
    let many = "SELECT ?l ?a ?b WHERE { ?s <http://e/long> ?l . ?s <http://e/to> ?a . \
                ?s <http://e/to> ?b }";
    let request = Request {
        timeout,
        ..Request::new(many)
    };
    let begun = Instant::now();
    let mut query = database.start(&request).expect("it parses");
    let error = query
        .run(&mut Largest::default())
        .expect_err("250,000 rows of 4 MiB take longer");
    assert_eq!(error.kind, Kind::Timeout);
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn columns_that_nothing_binds_come_in_batches() {
    let database = database();
    let mut sink = Largest::default();
    let unbound = "SELECT ?z WHERE { ?s <http://e/to> ?a . ?s <http://e/to> ?b }";
    let mut query = database.start(&Request::new(unbound)).expect("it parses");
    query.run(&mut sink).expect("nothing is held");
    assert_eq!(sink.rows, 250_000);
}

#[test]
fn a_wide_star_keeps_its_chunks_small() {
    let source = Source::reader(
        "data",
        io::Cursor::new("<http://e/s> <http://e/p> <http://e/o> .\n"),
    )
    .with_syntax(Syntax::NTriples);
    let database = load_in_memory(
        vec![source],
        &Load::default(),
        &Options::default(),
        &Unwatched,
    )
    .expect("the data are sound")
    .0;
    let mut text = "SELECT * WHERE { <http://e/s> ".to_owned();
    for number in 0..600 {
        write!(text, "<http://e/p> ?v{number} ; ").expect("a string grows");
    }
    text.push('}');
    let request = Request {
        // Sixteen rows of each step's columns, and the columns' heads: 600 steps of up to 600.
        memory_bytes: Some(48 << 20),
        ..Request::new(&text)
    };
    let mut query = database.start(&request).expect("it parses");
    let mut sink = Largest::default();
    let finished = query
        .run(&mut sink)
        .expect("one row of 600 cells is little");
    assert_eq!(sink.rows, 1);
    assert!(finished.peak_bytes > 0, "chunks are drawn on the budget");
}

#[test]
fn terms_of_a_change_that_failed_are_not_there_for_queries() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store");
    let database = Database::open_writable(&store, &Options::default()).expect("a store");
    let pool = database.pool();
    let before = pool.limit_bytes();
    let mut text = "INSERT DATA {".to_owned();
    for number in 0..200_000 {
        write!(text, " <http://e/{number}> <http://e/p> 1 .").expect("a string grows");
    }
    let pairs = "SELECT DISTINCT ?s ?t { ?s ?p ?o . ?t ?q ?u }";
    write!(
        text,
        "}} ; INSERT {{ ?s <http://e/q> ?t }} WHERE {{ {pairs} }}"
    )
    .expect("a string grows");
    let request = UpdateRequest {
        text: &text,
        memory_bytes: Some(192 << 20),
        ..UpdateRequest::default()
    };
    let failed = database
        .update(&request)
        .map(|committed| committed.inserted);
    let failed = failed.expect_err("there are too many pairs");
    assert_eq!(failed.kind, Kind::Memory, "{failed}");
    let terms = database.change_figures().expect("it can be changed");
    assert!(terms.term_bytes > 1 << 20, "{}", terms.term_bytes);
    assert_eq!(pool.limit_bytes(), before - terms.term_bytes);
}
