//! The Service Description (SPARQL 1.1 Service Description): what a `GET` of the endpoint answers with
//! when nothing is asked.
//!
//! It says what this endpoint can do, and names its graphs where they are few: there may be millions, and
//! they are one query away. The size of the default graph is said where there is no other, and known
//! without counting.

use crate::request::negotiate::Accepted;
use crate::request::parameters::Parameters;
use crate::response::format::{AnswerFormat, AnswerWriter};
use crate::response::problem::Problem;
use crate::state::ServerState;
use axum::body::Body;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue, VARY};
use hyper::{HeaderMap, Request, Response};
use somersault::AnswerKind;
use somersault::output::{Rows, Sink};
use somersault::terms::TermBuffer;
use somersault::terms::vocab::{rdf, xsd};

const SD: &str = "http://www.w3.org/ns/sparql-service-description#";
const VOID: &str = "http://rdfs.org/ns/void#";
const FORMATS: &str = "http://www.w3.org/ns/formats/";

/// Named graphs that are listed; of more, none are.
const GRAPHS_MAX: u64 = 100;

/// What documents can be written in.
const INPUT_FORMATS: [&str; 6] = [
    "Turtle",
    "N-Triples",
    "RDF_XML",
    "JSON-LD",
    "N-Quads",
    "TriG",
];

/// The description, in a format that the client takes. `address` is that of the endpoint.
pub(crate) fn answer(
    server: &ServerState,
    headers: &HeaderMap,
    address: &str,
) -> Result<Response<Body>, Problem> {
    let accepted = Accepted::read_graph(headers, &Parameters::default())?;
    let Some(format) = accepted.format(AnswerKind::Graph) else {
        return Err(Problem::not_acceptable(crate::response::format::offered(
            AnswerKind::Graph,
        )));
    };
    let engine = server.engine()?;
    let contents = engine.contents();
    let mut triples = Triples::default();
    triples.service(address, server.options().calls_out);
    if engine.is_writable() && server.options().access.has_writers() {
        triples.updates();
    }
    let graphs = match contents.named_graphs {
        0..=GRAPHS_MAX => engine.graphs(GRAPHS_MAX),
        _ => None,
    };
    let is_alone = contents.named_graphs == 0 && graphs.as_ref().is_some_and(Vec::is_empty);
    triples.dataset(is_alone.then_some(contents.quads));
    triples.graphs(&graphs.unwrap_or_default());
    let text = triples.print(format);
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    let media_type = HeaderValue::from_static(format.media_type());
    headers.insert(CONTENT_TYPE, media_type);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

/// The endpoint's own address, as the client sees it.
pub(crate) fn address(request: &Request<Body>, server: &ServerState) -> String {
    let host = request.headers().get(HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let is_host = |host: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
        !host.is_empty() && host.chars().all(is_plain)
    };
    let path = request.uri().path();
    match host.filter(is_host) {
        Some(host) => ["http://", host, path].concat(),
        None => format!("http://{}{path}", server.address),
    }
}

/// A thing of the description that has no name.
const SERVICE: &str = "service";
const DATASET: &str = "dataset";
const DEFAULT_GRAPH: &str = "defaultGraph";

#[derive(Default)]
struct Triples {
    columns: [TermBuffer; 3],
}

impl Triples {
    fn service(&mut self, address: &str, calls_out: bool) {
        self.iri(SERVICE, rdf::TYPE.as_str(), &format!("{SD}Service"));
        self.iri(SERVICE, &format!("{SD}endpoint"), address);
        let language = format!("{SD}supportedLanguage");
        for version in ["SPARQL10Query", "SPARQL11Query"] {
            self.iri(SERVICE, &language, &format!("{SD}{version}"));
        }
        for format in AnswerFormat::ALL
            .iter()
            .filter_map(|format| format.w3c_name())
        {
            let format = format!("{FORMATS}{format}");
            self.iri(SERVICE, &format!("{SD}resultFormat"), &format);
        }
        if calls_out {
            let feature = format!("{SD}BasicFederatedQuery");
            self.iri(SERVICE, &format!("{SD}feature"), &feature);
        }
        self.blank(SERVICE, &format!("{SD}defaultDataset"), DATASET);
    }

    fn updates(&mut self) {
        let language = format!("{SD}supportedLanguage");
        self.iri(SERVICE, &language, &format!("{SD}SPARQL11Update"));
        for format in INPUT_FORMATS {
            let format = format!("{FORMATS}{format}");
            self.iri(SERVICE, &format!("{SD}inputFormat"), &format);
        }
    }

    /// The dataset, with the size of its default graph where that is known.
    fn dataset(&mut self, size: Option<u64>) {
        self.iri(DATASET, rdf::TYPE.as_str(), &format!("{SD}Dataset"));
        self.blank(DATASET, &format!("{SD}defaultGraph"), DEFAULT_GRAPH);
        self.iri(DEFAULT_GRAPH, rdf::TYPE.as_str(), &format!("{SD}Graph"));
        if let Some(size) = size {
            self.begin(DEFAULT_GRAPH, &format!("{VOID}triples"));
            self.columns[2].push_typed(&size.to_string(), xsd::INTEGER.as_str());
        }
    }

    fn graphs(&mut self, names: &[String]) {
        for (number, name) in names.iter().enumerate() {
            let graph = format!("graph{number}");
            self.blank(DATASET, &format!("{SD}namedGraph"), &graph);
            self.iri(&graph, rdf::TYPE.as_str(), &format!("{SD}NamedGraph"));
            self.iri(&graph, &format!("{SD}name"), name);
        }
    }

    fn begin(&mut self, subject: &str, predicate: &str) {
        self.columns[0].push_blank(subject);
        self.columns[1].push_iri(predicate);
    }

    fn iri(&mut self, subject: &str, predicate: &str, object: &str) {
        self.begin(subject, predicate);
        self.columns[2].push_iri(object);
    }

    fn blank(&mut self, subject: &str, predicate: &str, object: &str) {
        self.begin(subject, predicate);
        self.columns[2].push_blank(object);
    }

    fn print(self, format: AnswerFormat) -> Vec<u8> {
        let rows = Rows {
            len: self.columns[0].len(),
            columns: self.columns.into(),
        };
        let mut text = Vec::new();
        let mut writer = AnswerWriter::new(format, &mut text);
        let prefixes = [("sd", SD), ("void", VOID), ("formats", FORMATS)]
            .map(|(prefix, iri)| (prefix.to_owned(), iri.to_owned()));
        writer
            .graph_head(&prefixes)
            .and_then(|()| writer.rows(&rows))
            .and_then(|()| writer.finish())
            .expect("a description of our own can be written in every format");
        drop(writer);
        text
    }
}
