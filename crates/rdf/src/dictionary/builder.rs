//! A dictionary made in memory: for tests, fixtures and small graphs. The loader, which spills,
//! uses the writers directly.
//!
//! Invariant: ids by first appearance, components of a triple term before the term, so the
//! dictionary is the one that a load of the same terms in the same order writes, byte for byte.
//! Memory: each key once, and a hash map's entry.

use super::{
    Dictionary, DictionaryFiles, IndexWriter, OpenError, RecordWriter, StreamWriter, TextFiles,
    TripleTermFiles, WriteError, key_hash,
};
use crate::id::{Tag, VertexId};
use crate::{inline, key};
use memory::{CheckedRegion, Region};
use oxrdf::{TermRef, Triple};
use std::collections::HashMap;
use std::sync::Arc;

/// Gives ids to terms and then makes the dictionary that knows them.
#[derive(Debug, Default)]
pub struct DictionaryBuilder {
    iris: Ordinals,
    literals: Ordinals,
    triple_terms: Ordinals,
    blank_nodes: HashMap<String, u64>,
    scratch: Vec<u8>,
}

/// Keys of one kind with their ordinals.
#[derive(Debug, Default)]
struct Ordinals {
    by_key: HashMap<Arc<[u8]>, u64>,
    keys: Vec<Arc<[u8]>>,
}

impl Ordinals {
    fn ordinal(&mut self, key: &[u8]) -> u64 {
        if let Some(&ordinal) = self.by_key.get(key) {
            return ordinal;
        }
        let ordinal = self.keys.len() as u64;
        let key: Arc<[u8]> = key.into();
        self.keys.push(Arc::clone(&key));
        self.by_key.insert(key, ordinal);
        ordinal
    }
}

impl DictionaryBuilder {
    /// A builder that knows no term.
    pub fn new() -> DictionaryBuilder {
        DictionaryBuilder::default()
    }

    /// The id of a term, the next one if it is new. Blank nodes are told apart by their labels here;
    /// the dictionary gives them labels of its own. Recurses into triple terms.
    pub fn id(&mut self, term: TermRef<'_>) -> VertexId {
        match term {
            TermRef::NamedNode(iri) => {
                VertexId::new(Tag::Iri, self.iris.ordinal(iri.as_str().as_bytes()))
            }
            TermRef::BlankNode(blank) => {
                let next = self.blank_nodes.len() as u64;
                let number = *self
                    .blank_nodes
                    .entry(blank.as_str().to_owned())
                    .or_insert(next);
                VertexId::new(Tag::Blank, number)
            }
            TermRef::Literal(literal) => inline::encode(literal).unwrap_or_else(|| {
                self.scratch.clear();
                key::encode_literal(literal, &mut self.scratch);
                VertexId::new(Tag::Literal, self.literals.ordinal(&self.scratch))
            }),
            TermRef::Triple(triple) => self.triple_id(triple),
        }
    }

    fn triple_id(&mut self, triple: &Triple) -> VertexId {
        let subject = self.id(triple.subject.as_ref().into());
        let predicate = self.id(triple.predicate.as_ref().into());
        let object = self.id(triple.object.as_ref());
        let key = key::encode_triple([subject, predicate, object]);
        VertexId::new(Tag::TripleTerm, self.triple_terms.ordinal(&key))
    }

    /// The dictionary of all terms that were given.
    pub fn finish(self) -> Result<Dictionary, BuildError> {
        Ok(Dictionary::open(self.files()?)?)
    }

    /// The files of that dictionary, in memory.
    pub fn files(self) -> Result<DictionaryFiles, WriteError> {
        for kind in [&self.iris, &self.literals, &self.triple_terms] {
            assert_eq!(kind.keys.len(), kind.by_key.len(), "a key has one ordinal");
        }
        let mut records = RecordWriter::new(Vec::new())?;
        for triple in &self.triple_terms.keys {
            let components = key::decode_triple(triple).expect("the builder encoded it");
            records.push(components)?;
        }
        Ok(DictionaryFiles {
            iris: text_files(Tag::Iri, &self.iris.keys)?,
            literals: text_files(Tag::Literal, &self.literals.keys)?,
            triple_terms: TripleTermFiles {
                records: region("triple terms", &records.finish().0)?,
                index: index_file(Tag::TripleTerm, &self.triple_terms.keys)?,
            },
            blank_nodes: self.blank_nodes.len() as u64,
        })
    }
}

/// Why a dictionary could not be built in memory.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A term or the memory for it was too large.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// What was written could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

fn text_files(kind: Tag, keys: &[Arc<[u8]>]) -> Result<TextFiles, WriteError> {
    let mut writer = StreamWriter::new(kind, Vec::new(), Vec::new())?;
    for key in keys {
        writer.push(key)?;
    }
    let (key_bytes, offset_bytes, _) = writer.finish()?;
    Ok(TextFiles {
        keys: region("keys", &key_bytes)?,
        offsets: region("offsets", &offset_bytes)?,
        index: index_file(kind, keys)?,
    })
}

fn index_file(kind: Tag, keys: &[Arc<[u8]>]) -> Result<Arc<CheckedRegion>, WriteError> {
    let mut pairs: Vec<(u64, u64)> = keys.iter().map(|key| key_hash(key)).zip(0..).collect();
    pairs.sort_unstable();
    let mut writer = IndexWriter::new(kind, pairs.len() as u64, Vec::new())?;
    for (hash, ordinal) in pairs {
        writer.push(hash, ordinal)?;
    }
    region("index", &writer.finish()?.0)
}

fn region(name: &str, bytes: &[u8]) -> Result<Arc<CheckedRegion>, WriteError> {
    Ok(Arc::new(CheckedRegion::unchecked(
        name,
        Region::heap(bytes)?,
    )))
}
