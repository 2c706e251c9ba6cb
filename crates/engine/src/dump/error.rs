//! Why a document of a whole graph ended before its last statement.

use crate::error::QueryError;
use rdf::{LexiconError, PredicateId};
use std::io;
use store::view::ViewError;

/// Why a dump ended before its last quad.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The graph could not be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A term could not be read.
    #[error(transparent)]
    Lexicon(#[from] LexiconError),
    /// The quads could not be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
    /// The store holds what RDF does not allow in this place.
    #[error("predicate {0:?}: a stored quad is not RDF; run `somersault check`")]
    NotRdf(PredicateId),
    /// The nodes that have the graph did not give it.
    #[error(transparent)]
    Nodes(#[from] QueryError),
    /// No graph has this name.
    #[error("there is no graph <{0}>")]
    NoSuchGraph(String),
}
