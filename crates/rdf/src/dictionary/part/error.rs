//! What a part answers where it cannot answer: that another node has it is never said as "there is none".

use crate::id::{Tag, VertexId};
use crate::lexicon::LexiconError;

/// Why a part did not answer.
#[derive(Debug, thiserror::Error)]
pub enum PartLookupError {
    /// It could not be read, or there is no such id in the whole cluster.
    #[error(transparent)]
    Lexicon(#[from] LexiconError),
    /// The text of an id is asked for that another node has.
    #[error("the text of {id:?} is at node {owner}, not at node {node}")]
    IdElsewhere {
        /// The id.
        id: VertexId,
        /// The node that has it.
        owner: u16,
        /// The node that was asked.
        node: u16,
    },
    /// The id of a key is asked for that another node knows.
    #[error(
        "the id of key {position} of the batch, whose hash is {hash:#018x}, is at node {owner}, not at node {node}"
    )]
    KeyElsewhere {
        /// Which key of the batch.
        position: usize,
        /// Its hash ([`key_hash`](crate::dictionary::key_hash)).
        hash: u64,
        /// The node that knows its id, or that there is none.
        owner: u16,
        /// The node that was asked.
        node: u16,
    },
    /// Keys are asked for of an id that has none: a blank node, a value, a term of a query.
    #[error("{0:?} has no text in a dictionary")]
    NoText(VertexId),
    /// Ids are asked for of keys of a kind that has none.
    #[error("terms of the kind {0:?} have no keys")]
    NoKeys(Tag),
    /// Components are asked for of an id that is no triple term.
    #[error("{0:?} is no triple term")]
    Simple(VertexId),
    /// The term of an id is asked for that is a triple term, whose components may lie elsewhere.
    #[error("{0:?} is a triple term, of which a part has the components only")]
    Compound(VertexId),
}
