//! Reading a whole graph: what the Graph Store Protocol's GET answers with.
//!
//! It is a query in all but its text: it stands in the list of running ones, has a deadline and can be
//! cancelled, and its triples go into a [`Sink`] batch by batch. Memory is that of one batch of
//! [`crate::dump`], whatever the graph's size.

use crate::database::{Database, Graph};
use crate::dump::{self, DumpError};
use crate::error::{Kind, QueryError, Unit};
use crate::results::{Rows, Sink};
use crate::run::Finished;
use crate::running::{Entry, QueryId};
use crate::scan::Part;
use crate::stop::{StopReason, StopToken};
use crate::units::format_duration;
use rdf::TermBuffer;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Triples given to the sink together.
const BATCH: usize = 1024;
/// Text of one column after which a batch is given out earlier.
const BATCH_BYTES: usize = 1 << 18;

/// A graph that is about to be read; stands in the list of running queries until it is dropped.
pub struct GraphRead {
    graph: Arc<Graph>,
    part: Part,
    token: StopToken,
    entry: Entry,
}

impl Database {
    /// Gets ready to read the default graph (`None`) or a named one; `None` where no graph has the
    /// name. The default graph always exists.
    pub fn open_graph(
        &self,
        name: Option<&str>,
        timeout: Option<Duration>,
    ) -> Result<Option<GraphRead>, QueryError> {
        let graph = self.graph();
        let part = match name {
            None => Part::Default,
            Some(name) => match dump::find(&graph, name) {
                Ok(id) => Part::Named(id),
                Err(DumpError::NoSuchGraph(_)) => return Ok(None),
                Err(error) => return Err(failure(error)),
            },
        };
        let longest = self.options().timeout;
        let timeout = timeout.map_or(longest, |asked| asked.min(longest));
        let token = StopToken::starting_now(Some(timeout));
        let what = name.map_or_else(|| "default graph".to_owned(), |name| format!("<{name}>"));
        let entry = self
            .running()
            .enter(&format!("# read {what}"), token.clone());
        Ok(Some(GraphRead {
            graph,
            part,
            token,
            entry,
        }))
    }
}

impl GraphRead {
    /// Names it in the list of running queries.
    pub fn id(&self) -> QueryId {
        self.entry.id()
    }

    /// Stops it, from anywhere.
    pub fn token(&self) -> &StopToken {
        &self.token
    }

    /// The number of the snapshot that it sees.
    pub fn snapshot_number(&self) -> u64 {
        self.graph.snapshot.number()
    }

    /// Gives every triple to the sink, once. Blocks until all are, or it has failed.
    pub fn run(&mut self, sink: &mut dyn Sink) -> Result<Finished, QueryError> {
        let begun = Instant::now();
        sink.graph_head(&[]).map_err(crate::answer::output)?;
        let mut rows = Rows::default();
        rows.columns.resize_with(3, TermBuffer::new);
        let mut stopped = None;
        let read = dump::part(&self.graph, self.part, &mut |quad| {
            rows.columns[0].push(quad.subject.into());
            rows.columns[1].push(quad.predicate.into());
            rows.columns[2].push(quad.object);
            rows.len += 1;
            let is_full = |column: &TermBuffer| column.text_bytes() > BATCH_BYTES;
            if rows.len < BATCH && !rows.columns.iter().any(is_full) {
                return Ok(());
            }
            give(&mut rows, sink)?;
            stopped = self.token.reason();
            stopped.map_or(Ok(()), |_| Err(io::ErrorKind::Interrupted.into()))
        });
        let triples = read.map_err(|error| match stopped {
            Some(reason) => self.stopped(reason),
            None => failure(error),
        })?;
        if rows.len > 0 {
            give(&mut rows, sink).map_err(crate::answer::output)?;
        }
        sink.finish().map_err(crate::answer::output)?;
        Ok(Finished {
            rows: triples,
            exec: begun.elapsed(),
            peak_bytes: 0,
        })
    }

    fn stopped(&self, reason: StopReason) -> QueryError {
        match (reason, self.token.timeout()) {
            (StopReason::Deadline, Some(timeout)) => QueryError::new(
                Kind::Timeout,
                format!(
                    "the graph was not read within its time of {}",
                    format_duration(timeout)
                ),
            )
            .with_limit(
                Unit::Milliseconds,
                timeout.as_millis() as u64,
                self.token.elapsed().as_millis() as u64,
            ),
            _ => QueryError::new(Kind::Cancelled, "the reading was cancelled"),
        }
    }
}

fn give(rows: &mut Rows, sink: &mut dyn Sink) -> io::Result<()> {
    sink.rows(rows)?;
    rows.columns.iter_mut().for_each(TermBuffer::clear);
    rows.len = 0;
    Ok(())
}

fn failure(error: DumpError) -> QueryError {
    match error {
        DumpError::Output(error) => crate::answer::output(error),
        DumpError::NoSuchGraph(_) => QueryError::new(Kind::Internal, error),
        DumpError::View(_) | DumpError::Lexicon(_) | DumpError::NotRdf(_) => {
            QueryError::new(Kind::Damaged, error)
        }
    }
}
