//! From the body of an answer to its reader: as it is, or parsed and written anew.
//!
//! An answer that has the type that was asked for is passed on byte by byte, so what the endpoint
//! wrote is what arrives. Anything else (a table, or a server that prefers another format) goes
//! through a parser that streams, in batches of rows, into the sink that our own answers take.
//! Either way memory does not grow with the answer.

use super::exchange::{Incoming, Response};
use crate::exit::Code;
use crate::format::Family;
use crate::printer::Printer;
use crate::text::Form;
use crate::trouble::Trouble;
use oxrdfio::{RdfFormat, RdfParseError, RdfParser};
use somersault::ResultFormat;
use somersault::output::{Rows, Sink, Whole};
use somersault::terms::{GraphName, TermRef};
use somersault::terms::{TermBuffer, strictness};
use sparesults::{
    QueryResultsFormat, QueryResultsParseError, QueryResultsParser, ReaderQueryResultsParserOutput,
};
use std::io::{self, BufReader};

const ROWS_PER_BATCH: usize = 1024;
const READ_BYTES: usize = 64 << 10;

/// Prints the answer.
pub(super) fn deliver(
    mut response: Response,
    form: Option<Form>,
    printer: &mut Printer<'_>,
) -> Result<(), Trouble> {
    let media_type = response.media_type();
    let is_graph = form.is_some_and(Form::is_graph);
    let results = QueryResultsFormat::from_media_type(&media_type).filter(|_| !is_graph);
    let graph = RdfFormat::from_media_type(&media_type).filter(|_| is_graph || form.is_none());
    let is_known = graph.is_some() || (!is_graph && is_of_rows(&media_type));
    let is_xml = results == Some(QueryResultsFormat::Xml) || graph == Some(RdfFormat::RdfXml);
    let mut body = Whole::new(&mut response.body, is_xml);
    let outcome = if is_known && printer.format().media_types().contains(&&*media_type) {
        printer.pass(&mut body)
    } else if let Some(format) = results {
        solutions(format, &mut body, printer)
    } else if let Some(format) = graph {
        triples(format, &mut body, printer)
    } else {
        return Err(foreign(&media_type, is_graph));
    };
    outcome.map_err(|error| match response.body.take_trouble() {
        Some(trouble) => trouble,
        None => error,
    })
}

/// An error where an answer is none of an endpoint to a query for a truth value.
pub(super) fn expect_results(response: &Response) -> Result<(), Trouble> {
    let media_type = response.media_type();
    if is_of_rows(&media_type) {
        Ok(())
    } else {
        Err(foreign(&media_type, false))
    }
}

/// Whether it is a type of solutions, one that can only be passed on included.
fn is_of_rows(media_type: &str) -> bool {
    QueryResultsFormat::from_media_type(media_type).is_some()
        || ResultFormat::from_media_type(media_type).is_some()
}

fn foreign(media_type: &str, is_graph: bool) -> Trouble {
    let expected = if is_graph {
        "a graph"
    } else {
        "SPARQL results"
    };
    let what = match media_type {
        "" => "something without a type",
        media_type => media_type,
    };
    let message = format!("the endpoint sent {what}, where {expected} was expected");
    Trouble::new(Code::Failed, format!("{message}; is it a SPARQL endpoint?"))
}

fn solutions(
    format: QueryResultsFormat,
    body: &mut Whole<&mut Incoming>,
    printer: &mut Printer<'_>,
) -> Result<(), Trouble> {
    let reader = BufReader::with_capacity(READ_BYTES, &mut *body);
    let parser = QueryResultsParser::from_format(format);
    let solutions = match parser.for_reader(reader).map_err(malformed_results)? {
        ReaderQueryResultsParserOutput::Boolean(value) => {
            body.finish().map_err(|error| unreadable(&error))?;
            return Ok(printer.boolean(value)?);
        }
        ReaderQueryResultsParserOutput::Solutions(solutions) => solutions,
    };
    let names: Vec<String> = solutions
        .variables()
        .iter()
        .map(|variable| variable.as_str().to_owned())
        .collect();
    printer.head(&names)?;
    let mut batch = Batch::new(names.len());
    for solution in solutions {
        let solution = solution.map_err(malformed_results)?;
        let values = solution.values().iter();
        batch.push(values.map(|term| term.as_ref().map(Into::into)), printer)?;
    }
    batch.flush(printer)?;
    Ok(printer.finish()?)
}

fn triples(
    format: RdfFormat,
    body: &mut Whole<&mut Incoming>,
    printer: &mut Printer<'_>,
) -> Result<(), Trouble> {
    if printer.format().family() == Family::Results {
        let message = "the endpoint sent a graph, which a format of SPARQL results cannot hold";
        return Err(Trouble::new(Code::Usage, message));
    }
    let reader = BufReader::with_capacity(READ_BYTES, body);
    // A store may hold IRIs that break the rules; what it sends is shown, not judged.
    let mut quads = RdfParser::from_format(format).lenient().for_reader(reader);
    let mut batch = Batch::new(3);
    let mut is_begun = false;
    // Prefixes that are declared before the first triple are known with it.
    while let Some(quad) = quads.next() {
        let quad = quad.map_err(malformed_graph)?;
        strictness::check(quad.as_ref()).map_err(|message| malformed(&message))?;
        if !is_begun {
            let prefixes = quads.prefixes();
            let pairs = prefixes.map(|(name, iri)| (name.to_owned(), iri.to_owned()));
            printer.graph_head(&pairs.collect::<Vec<_>>())?;
            is_begun = true;
        }
        if quad.graph_name == GraphName::DefaultGraph {
            let subject: TermRef<'_> = quad.subject.as_ref().into();
            let predicate: TermRef<'_> = quad.predicate.as_ref().into();
            let terms = [subject, predicate, quad.object.as_ref()];
            batch.push(terms.into_iter().map(Some), printer)?;
        }
    }
    if !is_begun {
        printer.graph_head(&[])?;
    }
    batch.flush(printer)?;
    Ok(printer.finish()?)
}

fn malformed_results(error: QueryResultsParseError) -> Trouble {
    match error {
        QueryResultsParseError::Io(error) => unreadable(&error),
        QueryResultsParseError::Syntax(error) => malformed(&error),
    }
}

fn malformed_graph(error: RdfParseError) -> Trouble {
    match error {
        RdfParseError::Io(error) => unreadable(&error),
        RdfParseError::Syntax(error) => malformed(&error),
    }
}

fn unreadable(error: &io::Error) -> Trouble {
    Trouble::new(Code::Failed, format!("the answer broke off: {error}"))
}

fn malformed(error: &dyn std::fmt::Display) -> Trouble {
    let message = format!("the endpoint's answer does not parse: {error}");
    Trouble::new(Code::Failed, message)
}

/// Rows on their way to the sink.
struct Batch {
    rows: Rows,
    columns: usize,
}

impl Batch {
    fn new(columns: usize) -> Batch {
        let mut batch = Batch {
            rows: Rows::default(),
            columns,
        };
        batch.clear();
        batch
    }

    fn clear(&mut self) {
        self.rows
            .columns
            .resize_with(self.columns, TermBuffer::for_output);
        self.rows.columns.iter_mut().for_each(TermBuffer::clear);
        self.rows.len = 0;
    }

    fn push<'a>(
        &mut self,
        terms: impl Iterator<Item = Option<TermRef<'a>>>,
        sink: &mut dyn Sink,
    ) -> io::Result<()> {
        for (column, term) in self.rows.columns.iter_mut().zip(terms) {
            match term {
                Some(term) => column.push(term),
                None => column.push_unbound(),
            }
        }
        self.rows.len += 1;
        if self.rows.len == ROWS_PER_BATCH {
            self.flush(sink)?;
        }
        Ok(())
    }

    fn flush(&mut self, sink: &mut dyn Sink) -> io::Result<()> {
        if self.rows.len > 0 {
            let mut columns = self.rows.columns.iter();
            assert!(
                columns.all(|column| column.len() == self.rows.len),
                "a row has a cell for each column"
            );
            sink.rows(&self.rows)?;
            self.clear();
        }
        Ok(())
    }
}
