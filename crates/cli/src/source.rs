//! What is asked: a database in this process, or an endpoint. Both answer through the same printer
//! and say where the time went, so that whoever asks need not know which it is.

use crate::endpoint::{Endpoint, Spent};
use crate::printer::Printer;
use crate::stop::Stop;
use crate::trouble::Trouble;
use somersault::{Database, Request};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A database or an endpoint; cheap to clone.
#[derive(Clone)]
pub enum Source {
    /// In this process.
    Local {
        /// The database.
        database: Database,
        /// Its directory, if it is a store.
        location: Option<PathBuf>,
        /// Time of a query, if it is less than the database gives.
        timeout: Option<Duration>,
    },
    /// Somewhere else.
    Remote(Endpoint),
}

/// What an answer took.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// Rows, or triples; `None` where they were not counted.
    pub rows: Option<u64>,
    /// Where the time went, as far as it is known.
    pub spent: Spent,
    /// From the text to the last byte of the answer.
    pub total: Duration,
}

impl Source {
    /// A database, of this directory if it is a store.
    pub fn local(database: Database, location: Option<PathBuf>) -> Source {
        Source::Local {
            database,
            location,
            timeout: None,
        }
    }

    /// The same source, with less time for a query.
    #[must_use]
    pub fn within(&self, limit: Duration) -> Source {
        match self.clone() {
            Source::Local {
                database, location, ..
            } => Source::Local {
                database,
                location,
                timeout: Some(limit),
            },
            Source::Remote(endpoint) => Source::Remote(endpoint.within(limit)),
        }
    }

    /// Asks, and prints the answer as it comes.
    pub fn ask(
        &self,
        text: &str,
        printer: &mut Printer<'_>,
        stop: &Stop,
    ) -> Result<Answered, Trouble> {
        let begun = Instant::now();
        let spent = match self {
            Source::Local {
                database, timeout, ..
            } => {
                let request = Request {
                    timeout: *timeout,
                    ..Request::new(text)
                };
                let mut query = database.start(&request)?;
                stop.watch(query.token());
                let finished = query.run(printer)?;
                let timings = query.timings();
                Spent {
                    parse: Some(timings.parse),
                    plan: Some(timings.plan),
                    exec: Some(finished.exec),
                }
            }
            Source::Remote(endpoint) => endpoint.ask(text, printer, stop)?,
        };
        Ok(Answered {
            rows: printer.count(),
            spent,
            total: begun.elapsed(),
        })
    }
}
