//! Results: what a test expects, and what an engine gave, from any of the formats.
//!
//! Besides the four formats of results the SPARQL 1.0 suite has result sets that are graphs (the
//! vocabulary of `result-set#`), in which an order is told by `rs:index`.

use super::case::{CaseKind, SuiteCase};
use super::{data, node, object, objects, text};
use crate::Row;
use oxrdf::vocab::rdf;
use oxrdf::{BlankNode, Graph, Literal, NamedNodeRef, Term, Triple, Variable};
use regex::Regex;
use sparesults::{
    QueryResultsFormat, QueryResultsParser, QueryResultsSerializer, ReaderQueryResultsParserOutput,
};
use spargebra::algebra::GraphPattern;
use spargebra::{Query, SparqlParser};
use std::collections::HashSet;

/// Tests whose results write numbers of the data in another form than the data does, so that no
/// engine that gives them back as they are would have exactly these: suite and test.
const OTHER_FORMS: [(&str, &str); 2] = [
    ("sparql11-cast", "cast-decimal"),
    ("sparql11-csv-tsv-res", "tsv03"),
];

const RESULT_SET: &str = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#";

/// The answer to a query of any form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Results {
    /// Of a `SELECT`.
    Solutions {
        /// The variables, without question marks.
        variables: Vec<String>,
        /// The rows, a cell for each variable.
        rows: Vec<Row>,
    },
    /// Of an `ASK`.
    Boolean(bool),
    /// Of a `CONSTRUCT` or `DESCRIBE`.
    Graph(Vec<Triple>),
}

/// What a test expects.
#[derive(Clone, Debug)]
pub struct ExpectedResults {
    /// The answer.
    pub results: Results,
    /// The rows are to come in this order.
    pub is_ordered: bool,
    /// Duplicates may be missing.
    pub is_lax: bool,
    /// The variables that are computed, without question marks.
    pub computed: HashSet<String>,
    /// Numbers of the data may be written in another form too.
    pub has_other_forms: bool,
}

impl ExpectedResults {
    /// Exactly this, in any order.
    pub fn exactly(results: Results) -> ExpectedResults {
        ExpectedResults {
            results,
            is_ordered: false,
            is_lax: false,
            computed: HashSet::new(),
            has_other_forms: false,
        }
    }

    /// What a test expects.
    pub fn of(case: &SuiteCase) -> Result<ExpectedResults, String> {
        let document = case.result.as_ref().ok_or("the test names no result")?;
        let failed = |error: String| format!("{}: {error}", document.iri);
        let bytes = document.read()?;
        let (results, is_ordered) = match document.extension() {
            "csv" => (csv(&bytes).map_err(failed)?, false),
            extension => match format(extension) {
                Some(format) => {
                    let results = solutions(&bytes, format).map_err(failed)?;
                    (results, is_ordered(case)?)
                }
                None => graph(&bytes, extension, &document.iri).map_err(failed)?,
            },
        };
        Ok(ExpectedResults {
            results,
            is_ordered: is_ordered && case.kind != CaseKind::CsvResult,
            is_lax: case.is_lax,
            has_other_forms: OTHER_FORMS.contains(&(&case.suite, &case.name)),
            computed: computed(&case.text()?),
        })
    }
}

/// The variables that a query computes rather than finds: whatever follows an `AS`.
fn computed(query: &str) -> HashSet<String> {
    let named = Regex::new(r"(?i)\bAS\s*[?$](\w+)").expect("the pattern is fixed");
    let names = named.captures_iter(query);
    names.map(|captures| captures[1].to_owned()).collect()
}

fn format(extension: &str) -> Option<QueryResultsFormat> {
    match extension {
        "srx" => Some(QueryResultsFormat::Xml),
        "srj" => Some(QueryResultsFormat::Json),
        "tsv" => Some(QueryResultsFormat::Tsv),
        _ => None,
    }
}

/// Whether the query says `ORDER BY` at its top.
fn is_ordered(case: &SuiteCase) -> Result<bool, String> {
    let parser = SparqlParser::new().with_base_iri(case.base());
    let parser = parser.map_err(|error| error.to_string())?;
    let Ok(Query::Select { mut pattern, .. }) = parser.parse_query(&case.text()?) else {
        return Ok(false);
    };
    loop {
        pattern = match pattern {
            GraphPattern::Slice { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Project { inner, .. } => *inner,
            GraphPattern::OrderBy { .. } => return Ok(true),
            _ => return Ok(false),
        };
    }
}

/// Results in one of the formats for `SELECT` and `ASK`, but CSV.
pub fn solutions(bytes: &[u8], format: QueryResultsFormat) -> Result<Results, String> {
    let parser = QueryResultsParser::from_format(format).for_reader(bytes);
    match parser.map_err(|error| error.to_string())? {
        ReaderQueryResultsParserOutput::Boolean(value) => Ok(Results::Boolean(value)),
        ReaderQueryResultsParserOutput::Solutions(solutions) => {
            let names = solutions.variables().iter();
            let variables: Vec<String> = names.map(|name| name.as_str().to_owned()).collect();
            let mut rows = Vec::new();
            for solution in solutions {
                let solution = solution.map_err(|error| error.to_string())?;
                let cell = |name: &String| solution.get(name.as_str()).cloned();
                rows.push(variables.iter().map(cell).collect());
            }
            Ok(Results::Solutions { variables, rows })
        }
    }
}

/// Results in CSV (RFC 4180): fields are texts, or blank nodes by their underscore. A field without
/// text is an unbound cell, which CSV does not tell from an empty literal.
pub fn csv(bytes: &[u8]) -> Result<Results, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let mut records = records(text)?.into_iter();
    let variables = records.next().ok_or("no line of variables")?;
    let term = |field: String| match field.strip_prefix("_:") {
        _ if field.is_empty() => None,
        Some(label) => Some(Term::from(BlankNode::new_unchecked(label))),
        None => Some(Literal::from(field).into()),
    };
    let rows = records.map(|record| record.into_iter().map(term).collect());
    let rows: Vec<Row> = rows.collect();
    match rows.iter().find(|row| row.len() != variables.len()) {
        Some(row) => Err(format!("{} fields for {variables:?}", row.len())),
        None => Ok(Results::Solutions { variables, rows }),
    }
}

/// Solutions as CSV, for engines that have no writer of their own.
pub fn to_csv(results: &Results) -> Result<Vec<u8>, String> {
    let Results::Solutions { variables, rows } = results else {
        return Err("only solutions have a form in CSV".to_owned());
    };
    let variables: Vec<Variable> = variables.iter().map(Variable::new_unchecked).collect();
    let write = || {
        let serializer = QueryResultsSerializer::from_format(QueryResultsFormat::Csv);
        let mut writer = serializer.serialize_solutions_to_writer(Vec::new(), variables.clone())?;
        for row in rows {
            let cells = variables.iter().zip(row);
            writer.serialize(cells.filter_map(|(name, cell)| Some((name, cell.as_ref()?))))?;
        }
        writer.finish()
    };
    write().map_err(|error: std::io::Error| error.to_string())
}

fn records(text: &str) -> Result<Vec<Vec<String>>, String> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' if field.is_empty() => loop {
                match chars.next().ok_or("a quote that is not closed")? {
                    '"' if chars.next_if_eq(&'"').is_some() => field.push('"'),
                    '"' => break,
                    other => field.push(other),
                }
            },
            ',' => record.push(std::mem::take(&mut field)),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            other => field.push(other),
        }
    }
    if !(field.is_empty() && record.is_empty()) {
        record.push(field);
        records.push(record);
    }
    Ok(records)
}

/// A graph, or the result set that it describes; and whether that has an order.
pub fn graph(bytes: &[u8], extension: &str, base: &str) -> Result<(Results, bool), String> {
    let quads = data::parsed(bytes, extension, base)?;
    let triples: Vec<Triple> = quads.into_iter().map(Triple::from).collect();
    let graph: Graph = triples.iter().map(Triple::as_ref).collect();
    let class = format!("{RESULT_SET}ResultSet");
    let class = NamedNodeRef::new_unchecked(&class);
    let Some(set) = graph.subject_for_predicate_object(rdf::TYPE, class) else {
        return Ok((Results::Graph(triples), false));
    };
    let property = |name: &str| format!("{RESULT_SET}{name}");
    if let Some(value) = object(&graph, set, &property("boolean")).and_then(text) {
        return Ok((Results::Boolean(value == "true"), false));
    }
    let variables = objects(&graph, set, &property("resultVariable"));
    let variables: Vec<String> = variables.into_iter().filter_map(text).collect();
    let mut rows: Vec<(u64, Row)> = Vec::new();
    let mut is_ordered = false;
    for solution in objects(&graph, set, &property("solution")) {
        let solution = node(solution).ok_or("a solution without properties")?;
        let mut row: Row = vec![None; variables.len()];
        for binding in objects(&graph, solution, &property("binding")) {
            let binding = node(binding).ok_or("a binding without properties")?;
            let name = object(&graph, binding, &property("variable")).and_then(text);
            let column = variables
                .iter()
                .position(|other| Some(other) == name.as_ref());
            let value = object(&graph, binding, &property("value"));
            row[column.ok_or("a binding of no variable")?] = value.map(Into::into);
        }
        let index = object(&graph, solution, &property("index")).and_then(text);
        is_ordered |= index.is_some();
        let index = index.and_then(|index| index.parse().ok()).unwrap_or(0);
        rows.push((index, row));
    }
    rows.sort_by_key(|(index, _)| *index);
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    Ok((Results::Solutions { variables, rows }, is_ordered))
}

/// A body of any of the formats, by its media type.
pub fn of_media_type(bytes: &[u8], media_type: &str, base: &str) -> Result<Results, String> {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let graph = |extension| Ok(graph(bytes, extension, base)?.0);
    match essence {
        "application/sparql-results+json" => solutions(bytes, QueryResultsFormat::Json),
        "application/sparql-results+xml" => solutions(bytes, QueryResultsFormat::Xml),
        "text/tab-separated-values" => solutions(bytes, QueryResultsFormat::Tsv),
        "text/csv" => csv(bytes),
        "text/turtle" => graph("ttl"),
        "application/n-triples" => graph("nt"),
        "application/rdf+xml" => graph("rdf"),
        other => Err(format!("a body of the media type {other:?}")),
    }
}
