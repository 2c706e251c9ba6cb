//! `SERVICE`: the seam to other endpoints, and the reading of what they answer.
//!
//! The engine knows no HTTP, so whoever opens a database may give it a [`ServiceClient`]; without one
//! every `SERVICE` is refused, unless it is `SILENT`. Answers are read as a stream, row by row, and
//! nothing of one is kept here: the operator that asked keeps rows, within the query's budget. An
//! answer that breaks off is a failure, also where its format would let half of it pass ([`Whole`]).

use crate::output::{ResultFormat, Whole};
use crate::stop::StopToken;
use explore::environment::EachSolution;
use explore::{Service, ServiceError as Failure};
use oxrdf::Term;
use rdf::format::Format;
use sparesults::{QueryResultsParser, ReaderQueryResultsParserOutput};
use std::io::{self, Read};
use std::time::Duration;

/// The time an endpoint is given when the query itself has no deadline.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Why an endpoint gave no answer.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ServiceError {
    /// What happened, in lower case.
    pub message: String,
    /// It was not asked, because the configuration does not allow it.
    pub refused: bool,
}

/// Asks other endpoints, over whatever protocol.
pub trait ServiceClient: Send + Sync {
    /// Evaluates a `SELECT` at an endpoint. Blocks until the answer begins; reading it may block too.
    /// Gives up after `timeout`, and soon after `stopped` says so.
    fn select(
        &self,
        endpoint: &str,
        query: &str,
        timeout: Duration,
        stopped: StopToken,
    ) -> Result<(ResultFormat, Box<dyn Read + Send>), ServiceError>;

    /// Asks for an RDF document. Blocks until it begins; reading it may block too. Gives up after
    /// `timeout`, and soon after `stopped` says so. Where nothing else is said, documents are refused.
    fn document(
        &self,
        source: &str,
        timeout: Duration,
        stopped: StopToken,
    ) -> Result<Document, ServiceError> {
        let _ = (timeout, stopped);
        Err(ServiceError {
            message: format!("<{source}> is not read from here"),
            refused: true,
        })
    }
}

/// An RDF document that is being received.
pub struct Document {
    /// Its format, by what the sender says.
    pub format: Format,
    /// Its address after redirects, against which its relative IRIs are resolved.
    pub base: String,
    /// Its bytes.
    pub body: Box<dyn Read + Send>,
}

/// A client for one query.
pub(crate) struct Federation<'q> {
    pub(crate) client: &'q dyn ServiceClient,
    pub(crate) token: &'q StopToken,
}

impl Service for Federation<'_> {
    fn select(
        &self,
        endpoint: &str,
        text: &str,
        variables: &[String],
        each: &mut EachSolution<'_>,
    ) -> Result<(), Failure> {
        let left = self.token.timeout().map_or(TIMEOUT, |timeout| {
            timeout.saturating_sub(self.token.elapsed())
        });
        let ask = || self.client.select(endpoint, text, left, self.token.clone());
        let (format, reader) = self.token.waiting(ask).map_err(|error| {
            if error.refused {
                Failure::Refused(error.message)
            } else {
                Failure::Failed(error.message)
            }
        })?;
        let failed = |error: &dyn std::fmt::Display| {
            Failure::Failed(format!("its answer cannot be read: {error}"))
        };
        let reader = Patient {
            reader,
            token: self.token,
        };
        let reader = Whole::new(reader, format == ResultFormat::Xml);
        let library = format
            .library()
            .ok_or_else(|| failed(&"nothing here reads its format"))?;
        let parser = QueryResultsParser::from_format(library);
        let parsed = parser.for_reader(reader).map_err(|error| failed(&error))?;
        let ReaderQueryResultsParserOutput::Solutions(solutions) = parsed else {
            return Err(Failure::Failed("it answered with a boolean".to_owned()));
        };
        let mut cells: Vec<Option<Term>> = Vec::with_capacity(variables.len());
        for solution in solutions {
            let solution = solution.map_err(|error| failed(&error))?;
            cells.clear();
            cells.extend(
                variables
                    .iter()
                    .map(|variable| solution.get(variable.as_str()).cloned()),
            );
            each(&cells).map_err(Failure::Walk)?;
        }
        Ok(())
    }
}

/// What another endpoint sends: reading it waits for that endpoint, without a share of the processors.
struct Patient<'q, R> {
    reader: R,
    token: &'q StopToken,
}

impl<R: Read> Read for Patient<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.token.waiting(|| self.reader.read(into))
    }
}
