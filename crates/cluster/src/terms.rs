//! What a node has of the dictionary, as others ask for it.
//!
//! The two halves are independent: the text of an id lies with the owner of the id's block, the id of a text with the owner
//! of the text's hash. Both speak of *keys* ([`rdf::key`]), the canonical bytes of a term. A triple term's key is the ids of
//! its three parts, whose texts may lie with others.

use rdf::{LexiconError, Tag, VertexId};

/// A node's share of the dictionary. Each method is called per batch, from any thread.
pub trait PartTerms: Send + Sync + 'static {
    /// Calls back for each of these ids of the dictionary, in order, with the key of its term; `None` where there is no
    /// such term. All of them are owned here.
    fn keys_of(
        &self,
        ids: &[VertexId],
        each: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<(), LexiconError>;

    /// Appends the id of the term of this kind with each of these keys; `None` where there is no such term. The hashes of
    /// all of them are owned here.
    fn ids_of(
        &self,
        kind: Tag,
        keys: &[&[u8]],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError>;

    /// The label of a blank node, which every node knows; `None` where there is no such.
    fn blank_label(&self, id: VertexId) -> Option<String>;

    /// The blank node with a label, likewise.
    fn blank_id(&self, label: &str) -> Option<VertexId>;

    /// What a key is placed by: [`rdf::dictionary::key_hash`].
    fn hash(&self, key: &[u8]) -> u64 {
        rdf::dictionary::key_hash(key)
    }
}
