//! What is asked: a database in this process, or an endpoint. Both answer through the same printer
//! and say where the time went, so that whoever asks need not know which it is.

use crate::endpoint::{Endpoint, Spent};
use crate::exit::Code;
use crate::printer::Printer;
use crate::stop::Stop;
use crate::trouble::Trouble;
use somersault::{Database, Request, UpdateRequest};
use std::fmt;
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
        /// Terms for variables of queries (name, term).
        terms: Vec<(String, String)>,
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

/// What an update has done, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// The number of the snapshot that has it.
    pub snapshot: Option<u64>,
    /// Quads that were not there before.
    pub inserted: Option<u64>,
    /// Quads that are not there any more.
    pub deleted: Option<u64>,
    /// From the text to the durable commit.
    pub total: Duration,
}

impl Changed {
    /// For programs.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "inserted": self.inserted,
            "deleted": self.deleted,
            "snapshot": self.snapshot,
            "seconds": self.total.as_secs_f64(),
        })
    }
}

impl fmt::Display for Changed {
    /// `inserted 3, deleted 1, snapshot 7, 1.2 ms`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = [
            ("inserted", self.inserted),
            ("deleted", self.deleted),
            ("snapshot", self.snapshot),
        ];
        for (name, value) in known {
            if let Some(value) = value {
                write!(f, "{name} {value}, ")?;
            }
        }
        write!(f, "{:.1} ms", self.total.as_secs_f64() * 1000.0)
    }
}

impl Source {
    /// A database, of this directory if it is a store.
    pub fn local(database: Database, location: Option<PathBuf>) -> Source {
        Source::Local {
            database,
            location,
            timeout: None,
            terms: Vec::new(),
        }
    }

    /// Prefixes that the documents declare from which it was loaded, as far as that is known here (name, IRI).
    pub fn prefixes(&self) -> Vec<(String, String)> {
        match self {
            Source::Local { database, .. } => database.prefixes(),
            Source::Remote(_) => Vec::new(),
        }
    }

    /// The same source, asked with these terms for variables (name, term).
    #[must_use]
    pub fn with_terms(self, terms: Vec<(String, String)>) -> Source {
        match self {
            Source::Local {
                database,
                location,
                timeout,
                ..
            } => Source::Local {
                database,
                location,
                timeout,
                terms,
            },
            Source::Remote(endpoint) => Source::Remote(endpoint.with_terms(&terms)),
        }
    }

    /// The same source, with less time for a query.
    #[must_use]
    pub fn within(&self, limit: Duration) -> Source {
        match self.clone() {
            Source::Local {
                database,
                location,
                terms,
                ..
            } => Source::Local {
                database,
                location,
                terms,
                timeout: Some(limit),
            },
            Source::Remote(endpoint) => Source::Remote(endpoint.within(limit)),
        }
    }

    /// Changes it: all that the text says, or nothing. Returns when that is durable.
    pub fn update(&self, text: &str, base: Option<&str>, stop: &Stop) -> Result<Changed, Trouble> {
        let begun = Instant::now();
        let changed = match self {
            Source::Local {
                database, timeout, ..
            } => {
                if !database.is_writable() {
                    let message = "an update, but this was opened for reading: start again with \
                                   --allow-update";
                    return Err(Trouble::new(Code::Unauthorised, message));
                }
                let update = database.start_update(&UpdateRequest {
                    text,
                    base,
                    timeout: *timeout,
                    ..UpdateRequest::default()
                })?;
                stop.watch(update.token());
                let committed = update.run()?;
                Changed {
                    snapshot: Some(committed.snapshot),
                    inserted: Some(committed.inserted),
                    deleted: Some(committed.deleted),
                    ..Changed::default()
                }
            }
            Source::Remote(endpoint) => endpoint.update(text, base, stop)?,
        };
        Ok(Changed {
            total: begun.elapsed(),
            ..changed
        })
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
                database,
                timeout,
                terms,
                ..
            } => {
                let request = Request {
                    timeout: *timeout,
                    bindings: terms.clone(),
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
