//! What a node has of the dictionary, as others ask for it.
//!
//! The two halves are independent: the text of an id lies with the owner of the id's block, the id of a text with the owner
//! of the text's hash. Both speak of *keys* ([`rdf::key`]), the canonical bytes of a term. A triple term's key is the ids of
//! its three parts, whose texts may lie with others.

pub(crate) mod known;

use oxrdf::TermRef;
use rdf::dictionary::KeyBatch;
use rdf::dictionary::part::{LocatedTerms, PartDictionary, PartLookupError};
use rdf::{LexiconError, Tag, VertexId, inline, key};
use std::borrow::Cow;

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

    /// Where ids of keys of a kind may be looked up by others, once so many bytes more were verified; an error where they are damaged.
    fn located(&self, kind: Tag, verify_bytes: u64) -> Result<LocatedTerms, LexiconError> {
        let _ = (kind, verify_bytes);
        Ok(LocatedTerms::Nowhere)
    }

    /// The label of a blank node, which every node knows; `None` where there is no such.
    fn blank_label(&self, id: VertexId) -> Option<String>;

    /// The blank node with a label, likewise.
    fn blank_id(&self, label: &str) -> Option<VertexId>;

    /// What a key is placed by: [`rdf::dictionary::key_hash`].
    fn hash(&self, key: &[u8]) -> u64 {
        rdf::dictionary::key_hash(key)
    }
}

/// What a term is placed and found by: its kind and key. `None`: it is a value or a blank node, whose id every node knows, or a
/// triple term, whose key is ids that are to be known first.
pub fn key_of(term: TermRef<'_>) -> Option<(Tag, Cow<'_, [u8]>)> {
    match term {
        TermRef::NamedNode(iri) => Some((Tag::Iri, Cow::Borrowed(iri.as_str().as_bytes()))),
        TermRef::Literal(literal) if inline::encode(literal).is_none() => {
            let mut bytes = Vec::new();
            key::encode_literal(literal, &mut bytes);
            Some((Tag::Literal, Cow::Owned(bytes)))
        }
        TermRef::BlankNode(_) | TermRef::Literal(_) | TermRef::Triple(_) => None,
    }
}

/// Bytes of keys that are read together: what an answer's messages hold.
const KEY_BYTES_MAX: usize = 1 << 20;

/// What the label of each blank node begins with.
const BLANK_PREFIX: &str = "b";

impl PartTerms for PartDictionary {
    fn keys_of(
        &self,
        ids: &[VertexId],
        each: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<(), LexiconError> {
        let mut keys = KeyBatch::new();
        let mut done = 0;
        while done < ids.len() {
            keys.clear();
            let read = self.keys_of_ids(&ids[done..], KEY_BYTES_MAX, &mut keys);
            done += read.map_err(failed)?;
            (0..keys.len()).for_each(|key| each(Some(keys.get(key))));
        }
        Ok(())
    }

    fn ids_of(
        &self,
        kind: Tag,
        keys: &[&[u8]],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError> {
        let mut batch = KeyBatch::new();
        for key in keys {
            batch.push(key);
        }
        self.ids_of_keys(kind, &batch, ids).map_err(failed)
    }

    fn located(&self, kind: Tag, verify_bytes: u64) -> Result<LocatedTerms, LexiconError> {
        self.locate(kind, verify_bytes)
    }

    fn blank_label(&self, id: VertexId) -> Option<String> {
        let is_known = id.has_tag(Tag::Blank) && id.payload() < self.counts().blank_nodes;
        is_known.then(|| format!("{BLANK_PREFIX}{}", id.payload()))
    }

    fn blank_id(&self, label: &str) -> Option<VertexId> {
        let digits = label.strip_prefix(BLANK_PREFIX)?;
        let number: u64 = digits.parse().ok()?;
        let is_known = number < self.counts().blank_nodes && number.to_string() == digits;
        is_known.then(|| VertexId::new(Tag::Blank, number))
    }
}

/// What an owner says that was asked for what it does not own is a fault of whoever asked.
fn failed(error: PartLookupError) -> LexiconError {
    match error {
        PartLookupError::Lexicon(error) => error,
        error => LexiconError::Io(std::io::Error::other(error)),
    }
}
