//! Reading a whole graph, or the whole store: what the Graph Store Protocol's GET answers with.
//!
//! It is a query in all but its text: it stands in the list of running ones, has a deadline and can be
//! cancelled, and its triples go into a [`Sink`] batch by batch. Memory is that of one batch of
//! [`crate::moment::scan`], whatever the graph's size: decoded columns are given out as they are, and no triple
//! is made of them. Statements of named graphs, where the store is read, are rows of four columns.

use crate::dump;
use crate::dump::error::DumpError;
use crate::error::{Kind, QueryError, Unit};
use crate::moment::Graph;
use crate::moment::scan::{Batch, QuadSelection};
use crate::output::decode::Distinct;
use crate::output::{Rows, Sink};
use crate::parts::statements::Statements;
use crate::request::shared::Shared;
use crate::run::Finished;
use crate::running::{Entry, QueryId};
use crate::stop::{Pace, StopReason, StopToken, outdated};
use crate::units::format_duration;
use oxrdf::TermRef;
use rdf::{PredicateId, Tag, TermBuffer, VertexId};
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
    parts: Vec<QuadSelection>,
    token: StopToken,
    entry: Entry,
    /// What it may hold of what comes from nodes.
    memory_bytes: u64,
}

/// A reader's time begins.
fn token(shared: &Shared, timeout: Option<Duration>) -> StopToken {
    let longest = shared.options.timeout;
    shared.reader_token(timeout.map_or(longest, |asked| asked.min(longest)))
}

impl GraphRead {
    /// Gets ready to read the default graph (`None`) or a named one; `None` where no graph has the
    /// name.
    pub(crate) fn of_graph(
        shared: &Shared,
        name: Option<&str>,
        timeout: Option<Duration>,
    ) -> Result<Option<GraphRead>, QueryError> {
        let graph = shared.graph();
        let token = token(shared, timeout);
        let part = match name {
            None => QuadSelection::Default,
            Some(name) => {
                let memory_bytes = shared.options.query_memory_bytes;
                let statements = Statements::within(&graph, memory_bytes, &token);
                match dump::find_in(&statements, name) {
                    Ok(id) => QuadSelection::Named(id),
                    Err(DumpError::NoSuchGraph(_)) => return Ok(None),
                    Err(error) => return Err(error.into()),
                }
            }
        };
        let what = name.map_or_else(|| "default graph".to_owned(), |name| format!("<{name}>"));
        Ok(Some(GraphRead::new(
            shared,
            graph,
            vec![part],
            &what,
            token,
        )))
    }

    /// Gets ready to read everything.
    pub(crate) fn of_dataset(
        shared: &Shared,
        timeout: Option<Duration>,
    ) -> Result<GraphRead, QueryError> {
        let graph = shared.graph();
        let token = token(shared, timeout);
        let memory_bytes = shared.options.query_memory_bytes;
        let statements = Statements::within(&graph, memory_bytes, &token);
        let named = statements.named_graphs().map_err(QueryError::from)?;
        drop(statements);
        let mut parts = vec![QuadSelection::Default];
        if !named.is_empty() {
            parts.push(QuadSelection::EachNamed);
        }
        Ok(GraphRead::new(shared, graph, parts, "store", token))
    }

    fn new(
        shared: &Shared,
        graph: Arc<Graph>,
        parts: Vec<QuadSelection>,
        what: &str,
        token: StopToken,
    ) -> GraphRead {
        let entry = shared
            .running
            .enter(&format!("# read {what}"), token.clone());
        GraphRead {
            graph,
            parts,
            token,
            entry,
            memory_bytes: shared.options.query_memory_bytes,
        }
    }

    /// Names it in the list of running queries.
    pub fn id(&self) -> QueryId {
        self.entry.id()
    }

    /// Stops it, from anywhere.
    pub fn token(&self) -> &StopToken {
        &self.token
    }

    /// The same at this pace.
    #[must_use]
    pub fn with_pace(mut self, pace: Option<Arc<dyn Pace>>) -> GraphRead {
        self.token = self.token.with_pace(pace);
        self
    }

    /// Whether statements of named graphs are given, by their graphs.
    pub fn has_named_graphs(&self) -> bool {
        self.parts.contains(&QuadSelection::EachNamed)
    }

    /// The number of the snapshot that it sees.
    pub fn snapshot_number(&self) -> u64 {
        self.graph.snapshot.number()
    }

    /// Gives every triple to the sink, once. Blocks until all are, or it has failed.
    pub fn run(&mut self, sink: &mut dyn Sink) -> Result<Finished, QueryError> {
        let begun = Instant::now();
        sink.graph_head(&[])
            .map_err(crate::output::answer::output)?;
        let mut triples = 0;
        let statements = Statements::within(&self.graph, self.memory_bytes, &self.token);
        for part in &self.parts {
            triples += self.give(&statements, *part, sink)?;
        }
        self.graph.sound()?;
        sink.finish().map_err(crate::output::answer::output)?;
        Ok(Finished {
            rows: triples,
            exec: begun.elapsed(),
            peak_bytes: statements.peak_bytes(),
        })
    }

    /// Gives those of a part to the sink; says how many there are.
    fn give(
        &self,
        statements: &Statements<'_>,
        part: QuadSelection,
        sink: &mut dyn Sink,
    ) -> Result<u64, QueryError> {
        let mut columns = Columns::of(part);
        let mut triples = 0;
        let mut stopped = None;
        let read = statements.scan(part, &mut |predicate, batch| {
            columns.name(statements, predicate)?;
            let mut from = 0;
            while from < batch.subjects.len() {
                let len = columns.decode(statements, batch, from)?;
                assert!(len > 0, "each batch gets further");
                sink.rows(&columns.rows)?;
                from += len;
                triples += len as u64;
                stopped = self.token.look();
                if stopped.is_some() {
                    return Err(DumpError::Output(io::ErrorKind::Interrupted.into()));
                }
            }
            Ok(())
        });
        read.map_err(|error| {
            let of_nodes = matches!(error, DumpError::Nodes(_));
            let stopped = stopped.or_else(|| self.token.reason().filter(|_| of_nodes));
            stopped.map_or_else(|| error.into(), |reason| self.stopped(reason))
        })?;
        Ok(triples)
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
            (StopReason::Outdated, _) => outdated(),
            _ => QueryError::new(Kind::Cancelled, "the reading was cancelled"),
        }
    }
}

/// Triples of one predicate, decoded.
struct Columns {
    rows: Rows,
    predicate: Option<PredicateId>,
    distinct: Distinct,
}

impl Columns {
    fn of(part: QuadSelection) -> Columns {
        let mut rows = Rows::default();
        let columns = match part {
            QuadSelection::EachNamed => 4,
            QuadSelection::Default | QuadSelection::Named(_) => 3,
        };
        rows.columns.resize_with(columns, TermBuffer::for_output);
        Columns {
            rows,
            predicate: None,
            distinct: Distinct::default(),
        }
    }
}

impl Columns {
    /// Names the predicate of the triples that come.
    fn name(
        &mut self,
        statements: &Statements<'_>,
        predicate: PredicateId,
    ) -> Result<(), DumpError> {
        if self.predicate == Some(predicate) {
            return Ok(());
        }
        let names = &mut self.rows.columns[1];
        names.clear();
        let vertex = statements.predicate_vertex(predicate);
        statements.terms(&[vertex], names)?;
        if !matches!(names.get(0), Some(TermRef::NamedNode(_))) {
            return Err(DumpError::NotRdf(predicate));
        }
        self.predicate = Some(predicate);
        Ok(())
    }

    /// Decodes triples from `from` on, as many as their text allows; gives their number, at least one.
    fn decode(
        &mut self,
        statements: &Statements<'_>,
        batch: &Batch,
        from: usize,
    ) -> Result<usize, DumpError> {
        assert_eq!(
            batch.subjects.len(),
            batch.objects.len(),
            "a triple has both"
        );
        let mut len = BATCH.min(batch.subjects.len() - from);
        let decoded = [
            (0, &batch.subjects),
            (2, &batch.objects),
            (3, &batch.graphs),
        ];
        for (column, ids) in decoded.into_iter().take(self.rows.columns.len() - 1) {
            let terms = &mut self.rows.columns[column];
            terms.clear();
            let ids = &ids[from..from + len];
            len = self
                .distinct
                .decode(ids, BATCH_BYTES, terms, |ids, terms| {
                    statements.terms_within(ids, BATCH_BYTES, terms)
                })?;
        }
        let is_subject = |id: &VertexId| matches!(id.tag(), Some(Tag::Iri | Tag::Blank));
        if let (false, Some(predicate)) = (
            batch.subjects[from..from + len].iter().all(is_subject),
            self.predicate,
        ) {
            return Err(DumpError::NotRdf(predicate));
        }
        self.rows.columns[1].spread(&[0; BATCH][..len]);
        self.rows.len = len;
        Ok(len)
    }
}

impl From<DumpError> for QueryError {
    fn from(error: DumpError) -> QueryError {
        match error {
            DumpError::Output(error) => crate::output::answer::output(error),
            DumpError::NoSuchGraph(_) => QueryError::new(Kind::Internal, error),
            DumpError::Nodes(error) => error,
            DumpError::View(error) => error.into(),
            DumpError::Lexicon(error) => error.into(),
            DumpError::NotRdf(_) => QueryError::new(Kind::Damaged, error),
        }
    }
}
