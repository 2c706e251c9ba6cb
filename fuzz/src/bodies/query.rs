//! Query text: to a plan with nothing known of the graph, and through the whole engine.
//!
//! [`plan`] is the lexer, the parser, the translation and the planner. It is fast, so it sees most
//! texts. [`run`] also walks a graph of a dozen triples, within limits so small that they are
//! reached; what is then asked is that a failure is never an internal error, which is what the
//! engine makes of a panic. Its `SERVICE` is answered by an endpoint that knows one row.

use oxrdf::Term;
use query::plan::Plan;
use query::planner::PlanOptions;
use query::statistics::Statistics;
use query::{ParseError, ParseOptions, Planner};
use rdf::{Tag, VertexId};
use somersault::load::{Request as LoadRequest, Source, Syntax, Unwatched, load_in_memory};
use somersault::output::ResultWriter;
use somersault::stop::StopToken;
use somersault::{
    AnswerKind, Database, GraphFormat, GraphWriter, Kind, Options, QueryError, Request,
    ResultFormat, ServiceClient, ServiceError,
};
use std::io::Read;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What relative IRIs are resolved against.
const BASE: &str = "http://example.org/base/";

/// A graph in which most shapes of pattern find something: a cycle, a type, numbers, a language,
/// a triple term, two named graphs.
const GRAPH: &str = r#"
<http://e/a> <http://e/p> <http://e/b> .
<http://e/b> <http://e/p> <http://e/c> .
<http://e/c> <http://e/p> <http://e/a> .
<http://e/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> .
<http://e/b> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> .
<http://e/a> <http://e/q> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://e/b> <http://e/q> "2.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .
<http://e/c> <http://e/q> "x"@en .
<http://e/c> <http://e/q> "2024-02-29T12:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
_:n <http://e/r> "text" .
_:n <http://e/r> <<( <http://e/a> <http://e/p> <http://e/b> )>> .
<http://e/a> <http://e/p> <http://e/d> <http://e/g> .
<http://e/d> <http://e/p> "z" <http://e/g> .
<http://e/a> <http://e/p> <http://e/d> <http://e/h> .
"#;

/// A text to a plan.
pub fn plan(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let options = ParseOptions {
        base: Some(BASE.to_owned()),
        ..ParseOptions::default()
    };
    match query::parse(text, &options) {
        Err(error) => check_place(text, &error),
        Ok(query) => {
            planned(&query, |_, _| None);
            planned(&query, |number, term| match term {
                Term::NamedNode(_) => Some(VertexId::new(Tag::Iri, number)),
                _ => None,
            });
        }
    }
}

/// An error's place lies within the text.
fn check_place(text: &str, error: &ParseError) {
    let (line, column) = (error.position.line as usize, error.position.column as usize);
    let lines = text.split('\n').count();
    assert!((1..=lines).contains(&line), "{error}: {lines} lines");
    let chars = text
        .split('\n')
        .nth(line - 1)
        .map_or(0, |line| line.chars().count());
    assert!((1..=chars + 1).contains(&column), "{error}: {chars} chars");
    assert!(!error.message.is_empty());
}

/// Plans a query whose constants have these ids, in both ways.
fn planned(query: &query::Query, id: impl Fn(u64, &Term) -> Option<VertexId>) {
    static PLANNER: OnceLock<Planner> = OnceLock::new();
    let planner = PLANNER.get_or_init(|| Planner::new(Statistics::default()));
    let constants = query.constants().iter().zip(0..);
    let ids: Vec<_> = constants.map(|(term, number)| id(number, term)).collect();
    let degrees: Vec<u64> = (0..query.degree_questions(&ids).len() as u64).collect();
    for keep_order in [false, true] {
        // The one error says that there are too many variables.
        let options = PlanOptions {
            keep_order,
            ..PlanOptions::DEFAULT
        };
        let plan = planner.plan(query, &ids, &degrees, options);
        if let Ok(plan) = plan {
            assert!(!Plan::explain_with(&plan, query.prefixes(), None).is_empty());
        }
    }
}

/// A text through the engine.
pub fn run(data: &[u8]) {
    static DATABASE: OnceLock<Database> = OnceLock::new();
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let database = DATABASE.get_or_init(|| database(Arc::new(OneRow)));
    let request = Request {
        base: Some(BASE),
        keep_order: text.len() % 2 == 1,
        ..Request::new(text)
    };
    let answered = database.start(&request).and_then(|mut query| {
        if query.kind() == AnswerKind::Graph {
            let format = GraphFormat::ALL[text.len() % GraphFormat::ALL.len()];
            query.run(&mut GraphWriter::new(format, std::io::sink()))
        } else {
            let format = ResultFormat::ALL[text.len() % ResultFormat::ALL.len()];
            query.run(&mut ResultWriter::new(format, std::io::sink()))
        }
    });
    if let Err(error) = answered {
        check(&error);
    }
    assert!(
        database.running().list().is_empty(),
        "a query outlived its call"
    );
    assert_eq!(database.pool().used_bytes(), 0, "a query kept memory");
}

/// A failure is not a panic that was caught, nor damage of a graph that has none.
pub fn check(error: &QueryError) {
    assert!(
        !matches!(error.kind, Kind::Internal | Kind::Damaged),
        "{error:?}"
    );
    assert!(!error.message.is_empty());
}

/// The graph, with limits that a text of some hundred bytes can reach.
pub fn database(service: Arc<dyn ServiceClient>) -> Database {
    database_with(service, false)
}

/// The same, perhaps one that can be changed.
pub fn database_with(service: Arc<dyn ServiceClient>, is_writable: bool) -> Database {
    let source = Source::reader("graph", GRAPH.as_bytes()).with_syntax(Syntax::NQuads);
    let options = Options {
        memory_pool_bytes: 16 << 20,
        query_memory_bytes: 8 << 20,
        query_threads: 1,
        timeout: Duration::from_millis(200),
        text_max_bytes: 1 << 20,
        service: Some(service),
        memory_is_writable: is_writable,
        ..Options::default()
    };
    let request = LoadRequest {
        threads: 1,
        ..LoadRequest::default()
    };
    let loaded = load_in_memory(vec![source], &request, &options, &Unwatched);
    loaded.expect("the graph is well formed").0
}

/// Answers nothing.
pub struct NoService;

impl ServiceClient for NoService {
    fn select(
        &self,
        endpoint: &str,
        _query: &str,
        _timeout: Duration,
        _stopped: StopToken,
    ) -> Result<(ResultFormat, Box<dyn Read + Send>), ServiceError> {
        Err(ServiceError {
            message: format!("<{endpoint}> is not there"),
            refused: true,
        })
    }
}

/// An endpoint that has one row for every query.
struct OneRow;

impl ServiceClient for OneRow {
    fn select(
        &self,
        _endpoint: &str,
        _query: &str,
        _timeout: Duration,
        _stopped: StopToken,
    ) -> Result<(ResultFormat, Box<dyn Read + Send>), ServiceError> {
        let answer = "?s\t?p\t?o\n<http://e/a>\t<http://e/p>\t<http://e/b>\n";
        Ok((ResultFormat::Tsv, Box::new(answer.as_bytes())))
    }
}
