//! Writing whole graphs (SPARQL 1.1 Graph Store HTTP Protocol sections 5.3 to 5.5): the façade's
//! side, for any surface.

use super::commit::Job;
use super::committed::Committed;
use super::draft::Draft;
use super::operations::{clear, named};
use super::read_set::{ReadGraph, ReadSet};
use super::spool::{Destination, Spool};
use super::writer::Writer;
use crate::dump;
use crate::dump::error::DumpError;
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::moment::scan::QuadSelection;
use crate::request::Request;
use crate::request::context::Context;
use crate::request::shared::Shared;
use crate::running::QueryId;
use crate::stop::StopToken;
use oxrdf::NamedNode;
use rdf::format::Format;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::view::GraphScope;

/// Which graph is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphTarget {
    /// The default graph.
    Default,
    /// A named graph.
    Named(String),
    /// The store itself: statements go to the graphs that they name.
    Store,
}

/// What becomes of what the graph holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// It is kept (`POST`).
    Add,
    /// It goes (`PUT`).
    Replace,
}

/// What must hold of a graph for a request to be carried out (RFC 9110 section 13.1). Of a change it is
/// judged in the commit's turn: of two changes that name one state, one is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Precondition {
    /// The graph is as this says.
    pub is: Option<GraphState>,
    /// The graph is not as this says.
    pub is_not: Option<GraphState>,
}

/// A state of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphState {
    /// It is there.
    There,
    /// It is there, and holds what it held in one of the snapshots with these numbers.
    AsIn(Vec<u64>),
}

impl Precondition {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.is.is_none() && self.is_not.is_none()
    }

    /// Whether it holds of a graph in the snapshot `now`. `last`: the number of the commit that changed the
    /// graph last, or a later one; `None` where the graph is not there.
    pub fn holds(&self, last: Option<u64>, now: u64) -> bool {
        let is = |state: &GraphState| match (last, state) {
            (None, _) => false,
            (Some(_), GraphState::There) => true,
            (Some(last), GraphState::AsIn(numbers)) => {
                numbers.iter().any(|number| (last..=now).contains(number))
            }
        };
        self.is.as_ref().is_none_or(is) && !self.is_not.as_ref().is_some_and(is)
    }
}

/// A document for a graph.
pub struct GraphWrite<'w> {
    /// The graph.
    pub target: GraphTarget,
    /// What becomes of what it holds.
    pub mode: WriteMode,
    /// The document's format.
    pub format: Format,
    /// What relative IRIs are resolved against.
    pub base: Option<String>,
    /// The document.
    pub body: &'w mut dyn Read,
    /// Time it may take, reading included.
    pub timeout: Option<Duration>,
}

/// What a write has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphWritten {
    /// Whether the graph was not there before, and is there now: a document may hold nothing.
    pub is_new: bool,
    /// What changed.
    pub committed: Committed,
}

/// Documents, one after the other.
pub trait Documents {
    /// The next one and its format; `None` after the last. What is left unread of the one before is
    /// passed over.
    fn next(&mut self) -> Result<Option<(Format, &mut dyn Read)>, QueryError>;
}

/// The only document.
struct Single<'d> {
    format: Format,
    body: Option<&'d mut dyn Read>,
    current: Option<&'d mut dyn Read>,
}

impl Documents for Single<'_> {
    fn next(&mut self) -> Result<Option<(Format, &mut dyn Read)>, QueryError> {
        self.current = self.body.take();
        Ok(match &mut self.current {
            Some(body) => Some((self.format, &mut **body)),
            None => None,
        })
    }
}

/// A change of a graph that is about to be made.
pub struct RunningGraphChange {
    context: Context,
    target: GraphTarget,
    graph: Option<NamedNode>,
    writer: Arc<Writer>,
    precondition: Precondition,
}

impl RunningGraphChange {
    /// Gets ready to change a graph; from then on that is in the list of running queries.
    pub(crate) fn start(
        shared: &Arc<Shared>,
        writer: Arc<Writer>,
        target: &GraphTarget,
        timeout: Option<Duration>,
    ) -> Result<RunningGraphChange, QueryError> {
        let graph = target_name(target)?;
        let what = match target {
            GraphTarget::Default => "default graph".to_owned(),
            GraphTarget::Named(name) => format!("<{name}>"),
            GraphTarget::Store => "store".to_owned(),
        };
        let request = Request {
            text: &format!("# change {what}"),
            timeout,
            ..Request::default()
        };
        Ok(RunningGraphChange {
            context: Context::enter_change(shared, &request),
            target: target.clone(),
            graph,
            writer,
            precondition: Precondition::default(),
        })
    }

    /// Names it in the list of running queries.
    pub fn id(&self) -> QueryId {
        self.context.entry.id()
    }

    /// Stops it, from anywhere; without effect once its turn is over.
    pub fn token(&self) -> &StopToken {
        &self.context.token
    }

    /// The same, to be made where this holds.
    #[must_use]
    pub fn only_if(self, precondition: Precondition) -> RunningGraphChange {
        RunningGraphChange {
            precondition,
            ..self
        }
    }

    /// An error where the graph, whose parts these are, is not as it must be.
    fn judge(&self, draft: &Draft, parts: &[QuadSelection]) -> Result<(), QueryError> {
        let now = draft.base_number();
        let last = match (&self.target, parts) {
            // Every commit changes the store.
            (GraphTarget::Store, _) => Some(now),
            (_, [QuadSelection::Named(graph)]) => Some(self.writer.last.of(*graph)),
            (GraphTarget::Default, _) => Some(self.writer.last.of(GraphScope::DEFAULT_GRAPH)),
            _ => None,
        };
        if self.precondition.holds(last, now) {
            return Ok(());
        }
        let message = "the graph is not as the request says: it was changed, made or removed since";
        Err(QueryError::new(Kind::Precondition, message).with_hint("read it again, and its ETag"))
    }

    /// Writes the only document into the graph.
    pub(crate) fn write_single(
        self,
        mode: WriteMode,
        base: Option<&str>,
        (format, body): (Format, &mut dyn Read),
    ) -> Result<GraphWritten, QueryError> {
        let mut documents = Single {
            format,
            body: Some(body),
            current: None,
        };
        self.write(mode, base, &mut documents)
    }

    /// Writes documents into the graph: all of them or nothing.
    pub fn write(
        self,
        mode: WriteMode,
        base: Option<&str>,
        documents: &mut dyn Documents,
    ) -> Result<GraphWritten, QueryError> {
        let begun = Instant::now();
        let spools = self.read(base, documents)?;
        let parse = begun.elapsed();
        let mut is_new = false;
        let quads: u64 = spools.iter().map(|spool| spool.quads).sum();
        let slice = self.slice(quads);
        let reads = || self.reads(mode);
        let committed = self.writer.commit(&self.job(slice, &reads), &mut |draft| {
            let parts = parts_of(draft, &self.target, self.graph.as_ref())?;
            self.judge(draft, &parts)?;
            is_new = parts.is_empty();
            if mode == WriteMode::Replace {
                clear(&self.context, draft, &parts)?;
            }
            spools.iter().try_for_each(|spool| spool.apply(draft))
        })?;
        assert!(committed.inserted <= quads, "no more is new than was sent");
        let noted = &self.writer.published().noted;
        noted.note(spools.iter().map(|spool| &spool.prefixes));
        Ok(GraphWritten {
            // A graph that holds nothing is not there.
            is_new: is_new && committed.inserted > 0,
            committed: Committed {
                parse,
                exec: begun.elapsed().saturating_sub(parse),
                ..committed
            },
        })
    }

    fn read(
        &self,
        base: Option<&str>,
        documents: &mut dyn Documents,
    ) -> Result<Vec<Spool>, QueryError> {
        let into = match (&self.target, &self.graph) {
            (GraphTarget::Store, _) => Destination::AsGiven,
            (_, None) => Destination::Default,
            (_, Some(graph)) => Destination::Graph(graph.clone()),
        };
        let mut spools = Vec::new();
        while let Some((format, body)) = documents.next()? {
            let spool = Spool::read("the document", format, body, base, &into, &self.context);
            spools.push(spool.map_err(unreadable)?);
        }
        Ok(spools)
    }

    fn job<'j>(&'j self, slice: Duration, reads: &'j dyn Fn() -> ReadSet) -> Job<'j> {
        Job {
            token: &self.context.token,
            budget: &self.context.budget,
            slice,
            turn_quads: self.context.shared.options.update_turn_quads,
            is_awaited: true,
            reads,
            staged: None,
        }
    }

    /// How long it may be evaluated under the turn at first.
    fn slice(&self, quads: u64) -> Duration {
        let options = &self.context.shared.options;
        if quads > options.update_turn_quads as u64 {
            return Duration::ZERO;
        }
        options.update_slice
    }

    /// What it reads: the graph that is emptied, or whether there is one.
    fn reads(&self, mode: WriteMode) -> ReadSet {
        let mut reads = ReadSet::default();
        // Whether a graph is as it was depends on all of it.
        let mode = match mode {
            WriteMode::Add if self.precondition.is_empty() => WriteMode::Add,
            _ => WriteMode::Replace,
        };
        match (&self.target, &self.graph, mode) {
            (GraphTarget::Store, _, WriteMode::Replace) => {
                reads.add_graph(ReadGraph::Default);
                reads.add_graph(ReadGraph::EachNamed);
            }
            (_, Some(graph), WriteMode::Replace) => {
                reads.add_graph(ReadGraph::Named(graph.clone().into()));
            }
            (_, None, WriteMode::Replace) => reads.add_graph(ReadGraph::Default),
            (_, Some(graph), WriteMode::Add) => reads.add_presence(graph),
            (_, None, WriteMode::Add) => {}
        }
        reads
    }

    /// Removes the graph; `None` where there is none of this name.
    pub fn delete(self) -> Result<Option<Committed>, QueryError> {
        let begun = Instant::now();
        let mut is_there = true;
        let slice = self.slice(0);
        let reads = || self.reads(WriteMode::Replace);
        let committed = self.writer.commit(&self.job(slice, &reads), &mut |draft| {
            let parts = parts_of(draft, &self.target, self.graph.as_ref())?;
            self.judge(draft, &parts)?;
            is_there = !parts.is_empty();
            clear(&self.context, draft, &parts)
        })?;
        assert_eq!(committed.inserted, 0, "a deletion inserts nothing");
        Ok(is_there.then_some(Committed {
            exec: begun.elapsed(),
            ..committed
        }))
    }
}

/// The number of a commit from which on a graph holds what it holds now. `changes`: who publishes commits.
pub(crate) fn last_change(
    graph: &Graph,
    changes: Option<&Arc<Writer>>,
    target: &GraphTarget,
) -> Result<Option<u64>, QueryError> {
    let now = graph.snapshot.number();
    if graph.parts.is_some() {
        // Nothing changes, and whether there is such a graph is asked by whoever reads it.
        return Ok(Some(now));
    }
    let id = match target {
        GraphTarget::Store => return Ok(Some(now)),
        GraphTarget::Default => GraphScope::DEFAULT_GRAPH,
        GraphTarget::Named(name) => match dump::find(graph, name) {
            Ok(id) => id,
            Err(DumpError::NoSuchGraph(_)) => return Ok(None),
            Err(error) => return Err(QueryError::new(Kind::Damaged, error)),
        },
    };
    // Without one nothing changes.
    Ok(Some(changes.map_or(now, |writer| writer.last.of(id))))
}

/// What cannot be read of a document that was sent is the sender's business, like what does not
/// parse.
fn unreadable(mut error: QueryError) -> QueryError {
    if error.kind == Kind::Remote {
        error.kind = Kind::Syntax;
    }
    error
}

fn target_name(target: &GraphTarget) -> Result<Option<NamedNode>, QueryError> {
    let GraphTarget::Named(name) = target else {
        return Ok(None);
    };
    let named = NamedNode::new(name).map_err(|error| {
        QueryError::new(
            Kind::Syntax,
            format!("graph <{name}> is not an IRI: {error}"),
        )
    })?;
    Ok(Some(named))
}

/// The parts of the store that are written; none where a named graph is not there.
fn parts_of(
    draft: &mut Draft,
    target: &GraphTarget,
    graph: Option<&NamedNode>,
) -> Result<Vec<QuadSelection>, QueryError> {
    Ok(match (target, graph) {
        (GraphTarget::Named(_), Some(graph)) => named(draft, graph)?
            .map(QuadSelection::Named)
            .into_iter()
            .collect(),
        (GraphTarget::Store, _) => vec![QuadSelection::Default, QuadSelection::EachNamed],
        _ => vec![QuadSelection::Default],
    })
}
