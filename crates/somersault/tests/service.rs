//! `SERVICE` with endpoints that behave badly: answers that break off, names that are none, calls that
//! hang while others have to go on.

use somersault::load::{self, Source, Unwatched};
use somersault::output::{ResultFormat, ResultWriter};
use somersault::stop::{Pace, StopToken, Wait};
use somersault::{Database, Kind, Options, QueryError, Request, ServiceClient, ServiceError};
use std::io::{Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// Gives this body, whatever it is asked; an endpoint whose name ends with `hangs` gives none until
/// it is stopped.
struct Endpoint {
    format: ResultFormat,
    body: String,
}

impl ServiceClient for Endpoint {
    fn select(
        &self,
        endpoint: &str,
        _query: &str,
        _timeout: Duration,
        stopped: StopToken,
    ) -> Result<(ResultFormat, Box<dyn Read + Send>), ServiceError> {
        while endpoint.ends_with("hangs") {
            if stopped.reason().is_some() {
                return Err(ServiceError {
                    message: "it was stopped".to_owned(),
                    refused: false,
                });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok((self.format, Box::new(Cursor::new(self.body.clone()))))
    }
}

const DATA: &str = "<ex:a> <ex:at> <ex:hangs> . <ex:b> <ex:at> <ex:answers> .\n\
    <ex:c> <ex:name> \"c\" .\n";

fn database(format: ResultFormat, body: &str, threads: usize) -> Database {
    let source = Source::reader("data.ttl", DATA.as_bytes());
    let options = Options {
        query_threads: threads,
        service: Some(Arc::new(Endpoint {
            format,
            body: body.to_owned(),
        })),
        ..Options::default()
    };
    let request = load::Request::default();
    load::load_in_memory(vec![source], &request, &options, &Unwatched)
        .expect("the data is whole")
        .0
}

fn rows(database: &Database, query: &str) -> Result<Vec<String>, QueryError> {
    let mut writer = ResultWriter::new(ResultFormat::Tsv, Vec::new());
    database.start(&Request::new(query))?.run(&mut writer)?;
    let bytes = writer.into_output().expect("the answer is complete");
    let text = String::from_utf8(bytes).expect("TSV is UTF-8");
    let mut lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
    lines.sort();
    Ok(lines)
}

const CALL: &str = "SELECT ?v { SERVICE <ex:answers> { ?s <ex:p> ?v } }";

const XML: &str = "<?xml version=\"1.0\"?><sparql xmlns=\"http://www.w3.org/2005/sparql-results#\">\
    <head><variable name=\"v\"/></head><results>\
    <result><binding name=\"v\"><literal>one</literal></binding></result>\
    <result><binding name=\"v\"><uri>ex:two</uri></binding></result></results></sparql>";

const JSON: &str = "{\"head\":{\"vars\":[\"v\"]},\"results\":{\"bindings\":[\
    {\"v\":{\"type\":\"literal\",\"value\":\"one\"}},{\"v\":{\"type\":\"uri\",\"value\":\"ex:two\"}}]}}";

#[test]
fn half_of_an_answer_is_none() {
    for (format, body) in [(ResultFormat::Xml, XML), (ResultFormat::Json, JSON)] {
        let whole = rows(&database(format, body, 1), CALL).expect("the answer is whole");
        assert_eq!(whole, ["\"one\"", "<ex:two>"]);
        for len in 0..body.len() {
            let broken = rows(&database(format, &body[..len], 1), CALL);
            let error = broken.expect_err(&body[..len]);
            assert_eq!(error.kind, Kind::Remote, "{error}");
        }
    }
}

#[test]
fn an_endpoint_without_a_name_is_a_failure() {
    let database = database(ResultFormat::Json, JSON, 1);
    for query in [
        "SELECT * { SERVICE ?e { ?s <ex:p> ?v } }",
        "SELECT * { ?x <ex:name> ?n SERVICE ?e { ?s <ex:p> ?v } }",
        "SELECT * { ?x <ex:name> ?e SERVICE ?e { ?s <ex:p> ?v } }",
        "SELECT * { ?x <ex:name> ?n OPTIONAL { ?x <ex:at> ?e } SERVICE ?e { ?s <ex:p> ?v } }",
        "SELECT * { ?x <ex:name> ?n OPTIONAL { SERVICE ?e { ?s <ex:p> ?v } } }",
    ] {
        let error = rows(&database, query).expect_err(query);
        assert_eq!(error.kind, Kind::Remote, "{query}: {error}");
        let text = error.to_string();
        assert!(text.contains("the IRI of an endpoint"), "{query}: {text}");
        let silent = query.replace("SERVICE", "SERVICE SILENT");
        let count = rows(&database, &silent).expect(&silent).len();
        assert_eq!(count, 1, "{silent}");
    }
    let none = "SELECT * { ?x <ex:none> ?n SERVICE ?e { ?s <ex:p> ?v } }";
    assert_eq!(rows(&database, none).expect("no row asks"), [""; 0]);
}

#[test]
fn an_endpoint_that_the_rows_name_is_asked() {
    let database = database(ResultFormat::Json, JSON, 1);
    for query in [
        "SELECT ?v { <ex:b> <ex:at> ?e SERVICE ?e { ?s <ex:p> ?v } }",
        "SELECT ?v { SERVICE ?e { ?s <ex:p> ?v } <ex:b> <ex:at> ?e }",
        "SELECT ?v { <ex:b> <ex:at> ?e OPTIONAL { SERVICE ?e { ?s <ex:p> ?v } } }",
        "SELECT ?v { BIND(IRI(\"ex:answers\") AS ?e) SERVICE ?e { ?s <ex:p> ?v } }",
        "SELECT ?v { VALUES ?e { <ex:answers> } { SERVICE ?e { ?s <ex:p> ?v } } }",
        "SELECT ?v { OPTIONAL { <ex:b> <ex:at> ?e } SERVICE ?e { ?s <ex:p> ?v } }",
        "SELECT ?v { <ex:b> <ex:at> ?e { SELECT * { SERVICE ?e { ?s <ex:p> ?v } } } }",
        "SELECT ?v { <ex:b> <ex:at> ?e { SERVICE ?e { ?s <ex:p> ?v } FILTER(BOUND(?e)) } }",
    ] {
        for query in [query.to_owned(), query.replace("SERVICE", "SERVICE SILENT")] {
            let found = rows(&database, &query).expect(&query);
            assert_eq!(found, ["\"one\"", "<ex:two>"], "{query}");
        }
    }
}

#[test]
fn a_call_that_hangs_ends_with_its_query() {
    let database = database(ResultFormat::Json, JSON, 4);
    for query in [
        "SELECT * { SERVICE <ex:hangs> { ?s <ex:p> ?v } }",
        "SELECT * { ?x <ex:at> ?e SERVICE SILENT ?e { ?s <ex:p> ?v } }",
    ] {
        let mut query = database.start(&Request::new(query)).expect("it is a query");
        let token = query.token().clone();
        let cancelled = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            token.cancel();
            Instant::now()
        });
        let mut writer = ResultWriter::new(ResultFormat::Tsv, Vec::new());
        let error = query.run(&mut writer).expect_err("it was cancelled");
        assert_eq!(error.kind, Kind::Cancelled, "{error}");
        let cancelled = cancelled.join().expect("it only sleeps");
        assert!(cancelled.elapsed() < Duration::from_secs(20));
    }
}

/// Counts the threads that compute.
#[derive(Debug, Default)]
struct Computing(AtomicI64);

impl Pace for Computing {
    fn look(&self, _: &dyn Fn() -> Duration) {}

    fn suspend(&self, _: Wait) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    fn resume(&self, _: Wait, _: &dyn Fn() -> Duration) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn expect_heavy(&self, _: usize, _: &dyn Fn() -> Duration) {}
}

/// Sees how many threads compute while it is asked, and while its answer is read.
struct Watching {
    pace: Arc<Computing>,
    seen: Arc<AtomicI64>,
}

impl Watching {
    fn look(&self) {
        let computing = self.pace.0.load(Ordering::SeqCst);
        self.seen.fetch_max(computing, Ordering::SeqCst);
    }
}

impl ServiceClient for Watching {
    fn select(
        &self,
        _: &str,
        _: &str,
        _: Duration,
        _: StopToken,
    ) -> Result<(ResultFormat, Box<dyn Read + Send>), ServiceError> {
        self.look();
        let watching = Watching {
            pace: Arc::clone(&self.pace),
            seen: Arc::clone(&self.seen),
        };
        let body = Watched(Cursor::new(JSON), watching);
        Ok((ResultFormat::Json, Box::new(body)))
    }
}

struct Watched(Cursor<&'static str>, Watching);

impl Read for Watched {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.1.look();
        self.0.read(into)
    }
}

#[test]
fn a_query_that_waits_for_an_endpoint_does_not_compute() {
    let pace = Arc::new(Computing(AtomicI64::new(1)));
    let seen = Arc::new(AtomicI64::new(-1));
    let options = Options {
        query_threads: 2,
        service: Some(Arc::new(Watching {
            pace: Arc::clone(&pace),
            seen: Arc::clone(&seen),
        })),
        ..Options::default()
    };
    let source = Source::reader("data.ttl", DATA.as_bytes());
    let request = load::Request::default();
    let database = load::load_in_memory(vec![source], &request, &options, &Unwatched)
        .expect("the data is whole")
        .0;
    let request = Request {
        pace: Some(Arc::clone(&pace) as Arc<dyn Pace>),
        ..Request::new(CALL)
    };
    let mut writer = ResultWriter::new(ResultFormat::Tsv, Vec::new());
    let mut query = database.start(&request).expect("it is a query");
    query.run(&mut writer).expect("it is answered");
    assert_eq!(
        seen.load(Ordering::SeqCst),
        0,
        "asked, and by nobody who computes"
    );
    assert_eq!(pace.0.load(Ordering::SeqCst), 1, "whoever stops goes on");
}
