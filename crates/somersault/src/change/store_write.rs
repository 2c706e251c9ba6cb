//! Writing whole graphs (SPARQL 1.1 Graph Store HTTP Protocol sections 5.3 to 5.5): the façade's
//! side, for any surface.

use super::draft::Draft;
use super::operations::{clear, named};
use super::spool::{Into, Spool};
use super::update::Committed;
use crate::database::Database;
use crate::error::{Kind, QueryError};
use crate::query::{Context, Request};
use crate::scan::Part;
use oxrdf::NamedNode;
use rdf::format::Format;
use std::io::Read;
use std::time::{Duration, Instant};

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
    /// Whether the graph was not there before.
    pub is_new: bool,
    /// What changed.
    pub committed: Committed,
}

impl Database {
    /// Writes a document into a graph: all of it or nothing.
    pub fn write_graph(&self, write: GraphWrite<'_>) -> Result<GraphWritten, QueryError> {
        let writer = self.writer()?;
        let begun = Instant::now();
        let context = self.enter("write", &write.target, write.timeout);
        let graph = target_name(&write.target)?;
        let into = match (&write.target, &graph) {
            (GraphTarget::Store, _) => Into::AsGiven,
            (_, None) => Into::Default,
            (_, Some(graph)) => Into::Graph(graph.clone()),
        };
        let base = write.base.as_deref();
        let token = &context.token;
        let mut spool = Some(Spool::read(
            "the document",
            write.format,
            write.body,
            base,
            &into,
            token,
        )?);
        let mut is_new = false;
        let committed = writer.commit(token, &mut |draft| {
            let parts = parts_of(draft, &write.target, graph.as_ref())?;
            is_new = parts.is_empty();
            if write.mode == WriteMode::Replace {
                clear(&context, draft, &parts)?;
            }
            spool.take().map_or(Ok(()), |spool| spool.apply(draft))
        })?;
        Ok(GraphWritten {
            is_new,
            committed: Committed {
                exec: begun.elapsed(),
                ..committed
            },
        })
    }

    /// Removes a graph; `None` where there is none of this name. The default graph and the store
    /// are emptied.
    pub fn delete_graph(
        &self,
        target: &GraphTarget,
        timeout: Option<Duration>,
    ) -> Result<Option<Committed>, QueryError> {
        let writer = self.writer()?;
        let begun = Instant::now();
        let context = self.enter("delete", target, timeout);
        let graph = target_name(target)?;
        let mut is_there = true;
        let committed = writer.commit(&context.token, &mut |draft| {
            let parts = parts_of(draft, target, graph.as_ref())?;
            is_there = !parts.is_empty();
            clear(&context, draft, &parts)
        })?;
        Ok(is_there.then_some(Committed {
            exec: begun.elapsed(),
            ..committed
        }))
    }

    fn enter(&self, verb: &str, target: &GraphTarget, timeout: Option<Duration>) -> Context {
        let what = match target {
            GraphTarget::Default => "default graph".to_owned(),
            GraphTarget::Named(name) => format!("<{name}>"),
            GraphTarget::Store => "store".to_owned(),
        };
        let text = format!("# {verb} {what}");
        Context::enter(
            self,
            &Request {
                text: &text,
                timeout,
                ..Request::default()
            },
        )
    }
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
    draft: &Draft,
    target: &GraphTarget,
    graph: Option<&NamedNode>,
) -> Result<Vec<Part>, QueryError> {
    Ok(match (target, graph) {
        (GraphTarget::Named(_), Some(graph)) => {
            named(draft, graph)?.map(Part::Named).into_iter().collect()
        }
        (GraphTarget::Store, _) => vec![Part::Default, Part::EachNamed],
        _ => vec![Part::Default],
    })
}
