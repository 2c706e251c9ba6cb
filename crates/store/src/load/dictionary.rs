//! The dictionary's files, written while statements are encoded.
//!
//! Keys go to their streams in the order of final ordinals, which is that of chunks: whoever has
//! encoded a chunk hands its new keys to [`InOrder`], and whoever brings the one that is next in
//! turn writes all that are ready. (hash, ordinal) pairs for the indexes are spread by the top
//! bits of the hash, so that sorting each bucket gives the whole in order.
//!
//! Invariant: files depend on the sequence of terms alone. Cost: front coding of a key is some 50 ns
//! under one lock; a chunk that waits for its turn holds its keys in memory, at most one for each
//! other thread.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `InOrder::inner` | workers, with its lock: who brings the next one writes it | the same |

use super::buckets::{Buckets, Spreader};
use super::chunk::Keys;
use super::error::LoadError;
use super::radix;
use super::scratch::Spill;
use crate::parts::{PartError, PartFiles, PartSource, PartWriter};
use rdf::dictionary::{
    Dictionary, DictionaryFiles, IndexWriter, RecordWriter, StreamWriter, TextFiles,
    TripleTermFiles, WriteError, key_hash,
};
use rdf::{Tag, VertexId, key};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Buckets of index pairs; their number is that of the values of the hash's top bits.
const INDEX_BUCKET_BITS: u32 = 6;

/// Names of a dictionary's files within its generation.
pub mod names {
    /// Keys of the IRIs.
    pub const IRI_KEYS: &str = "iri-keys.bin";
    /// Offsets of blocks of IRI keys.
    pub const IRI_OFFSETS: &str = "iri-offsets.bin";
    /// From hashes to IRIs.
    pub const IRI_INDEX: &str = "iri-index.bin";
    /// Keys of the literals.
    pub const LITERAL_KEYS: &str = "literal-keys.bin";
    /// Offsets of blocks of literal keys.
    pub const LITERAL_OFFSETS: &str = "literal-offsets.bin";
    /// From hashes to literals.
    pub const LITERAL_INDEX: &str = "literal-index.bin";
    /// Triple terms.
    pub const TRIPLE_TERMS: &str = "triple-terms.bin";
    /// From hashes to triple terms.
    pub const TRIPLE_TERM_INDEX: &str = "triple-term-index.bin";
}

/// The count of a manifest that says how many blank nodes there are.
pub const BLANK_NODES_COUNT: &str = "blank nodes";

/// Opens a dictionary among the parts of a graph.
pub fn open_dictionary(source: &dyn PartSource, blank_nodes: u64) -> Result<Dictionary, LoadError> {
    let part = |name| source.part(name).map(Arc::new);
    Ok(Dictionary::open(DictionaryFiles {
        iris: TextFiles {
            keys: part(names::IRI_KEYS)?,
            offsets: part(names::IRI_OFFSETS)?,
            index: part(names::IRI_INDEX)?,
        },
        literals: TextFiles {
            keys: part(names::LITERAL_KEYS)?,
            offsets: part(names::LITERAL_OFFSETS)?,
            index: part(names::LITERAL_INDEX)?,
        },
        triple_terms: TripleTermFiles {
            records: part(names::TRIPLE_TERMS)?,
            index: part(names::TRIPLE_TERM_INDEX)?,
        },
        blank_nodes,
    })?)
}

/// The new terms of one chunk, in order.
#[derive(Default)]
pub struct NewTerms {
    /// IRIs of the chunk and which are new.
    pub iris: Keys,
    /// One for each IRI.
    pub new_iris: Vec<bool>,
    /// Literals of the chunk.
    pub literals: Keys,
    /// One for each literal.
    pub new_literals: Vec<bool>,
    /// New triple terms in final ids.
    pub triples: Vec<[VertexId; 3]>,
}

/// A part as the dictionary's writers see it.
pub struct PartOutput(PartWriter);

impl PartOutput {
    /// A new part of this name.
    pub fn create(files: &dyn PartFiles, name: &'static str) -> Result<PartOutput, PartError> {
        PartWriter::create_raw(files, name).map(PartOutput)
    }

    /// Completes the part.
    pub fn finish(self, files: &dyn PartFiles) -> Result<(), PartError> {
        self.0.finish(files).map(drop)
    }
}

impl Write for PartOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes).map_err(|error| error.source)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The streams of keys while they are written.
pub struct KeyFiles {
    iris: StreamWriter<PartOutput>,
    literals: StreamWriter<PartOutput>,
    triples: RecordWriter<PartOutput>,
}

impl KeyFiles {
    /// Begins the files.
    pub fn create(files: &dyn PartFiles) -> Result<KeyFiles, LoadError> {
        let part = |name| PartWriter::create_raw(files, name).map(PartOutput);
        Ok(KeyFiles {
            iris: StreamWriter::new(Tag::Iri, part(names::IRI_KEYS)?, part(names::IRI_OFFSETS)?)?,
            literals: StreamWriter::new(
                Tag::Literal,
                part(names::LITERAL_KEYS)?,
                part(names::LITERAL_OFFSETS)?,
            )?,
            triples: RecordWriter::new(part(names::TRIPLE_TERMS)?)?,
        })
    }

    /// Appends the new terms of the next chunk.
    pub fn push(&mut self, terms: &NewTerms) -> Result<(), LoadError> {
        push_keys(&mut self.iris, &terms.iris, &terms.new_iris)?;
        push_keys(&mut self.literals, &terms.literals, &terms.new_literals)?;
        for triple in &terms.triples {
            self.triples.push(*triple)?;
        }
        Ok(())
    }

    /// Completes the files. `counts`: the numbers of IRIs, literals and triple terms that got ordinals
    /// (asserted: ordinals are the places of keys).
    pub fn finish(self, files: &dyn PartFiles, counts: [u64; 3]) -> Result<(), LoadError> {
        let triple_terms = self.triples.count();
        let (iri_keys, iri_offsets, iris) = self.iris.finish()?;
        let (literal_keys, literal_offsets, literals) = self.literals.finish()?;
        let (triples, _) = self.triples.finish();
        assert_eq!(
            [iris.keys, literals.keys, triple_terms],
            counts,
            "each ordinal is the place of a key"
        );
        for part in [
            iri_keys,
            iri_offsets,
            literal_keys,
            literal_offsets,
            triples,
        ] {
            part.0.finish(files)?;
        }
        Ok(())
    }
}

fn push_keys(
    stream: &mut StreamWriter<PartOutput>,
    keys: &Keys,
    new: &[bool],
) -> Result<(), WriteError> {
    assert_eq!(
        keys.len(),
        new.len(),
        "of each key it is known whether it is new"
    );
    for (key, _) in keys.iter().zip(new).filter(|(_, new)| **new) {
        stream.push(key)?;
    }
    Ok(())
}

/// Takes things with consecutive numbers from many threads and has them handled in order.
pub struct InOrder<T, S> {
    inner: Mutex<Turns<T, S>>,
}

struct Turns<T, S> {
    next: usize,
    waiting: BTreeMap<usize, T>,
    sink: S,
}

impl<T, S> InOrder<T, S> {
    /// Things are handled by `sink`, from number 0 on.
    pub fn new(sink: S) -> InOrder<T, S> {
        InOrder {
            inner: Mutex::new(Turns {
                next: 0,
                waiting: BTreeMap::new(),
                sink,
            }),
        }
    }

    /// Hands over the thing with this number. It and those that waited for it are handled by this
    /// call, unless one before is missing. Each number comes once (asserted).
    pub fn submit<E>(
        &self,
        number: usize,
        thing: T,
        mut handle: impl FnMut(&mut S, T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut turns = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let turns = &mut *turns;
        assert!(number >= turns.next, "each thing is handed over once");
        let before = turns.waiting.insert(number, thing);
        assert!(before.is_none(), "each thing has a number of its own");
        while let Some(thing) = turns.waiting.remove(&turns.next) {
            turns.next += 1;
            handle(&mut turns.sink, thing)?;
        }
        Ok(())
    }

    /// Gives the sink back. Asserts that nothing waits.
    pub fn finish(self) -> S {
        let turns = self
            .inner
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        assert!(turns.waiting.is_empty(), "numbers are consecutive");
        turns.sink
    }
}

/// (hash, ordinal) pairs of one kind of term.
pub struct IndexPairs<'l> {
    kind: Tag,
    buckets: Buckets<'l, [u64; 2]>,
}

/// One thread's way into [`IndexPairs`].
pub struct IndexSpreader<'b, 'l>(Spreader<'b, 'l, [u64; 2]>);

impl<'l> IndexPairs<'l> {
    /// No pairs yet.
    pub fn new(kind: Tag, spill: Spill<'l>, budget: &'l super::budget::Budget) -> IndexPairs<'l> {
        IndexPairs {
            kind,
            buckets: Buckets::new(1 << INDEX_BUCKET_BITS, spill, budget),
        }
    }

    /// A way to add pairs.
    pub fn spreader(&self) -> IndexSpreader<'_, 'l> {
        IndexSpreader(Spreader::new(&self.buckets))
    }

    /// Sorts all pairs and writes the index.
    pub fn write(
        &self,
        count: u64,
        name: &'static str,
        files: &dyn PartFiles,
    ) -> Result<(), LoadError> {
        self.write_while(count, name, files, || Ok(()))
    }

    /// The same, asking before each bucket whether to go on.
    pub fn write_while(
        &self,
        count: u64,
        name: &'static str,
        files: &dyn PartFiles,
        go_on: impl Fn() -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let part = PartOutput::create(files, name)?;
        let writer = IndexWriter::new(self.kind, count, part)?;
        self.write_to(writer, files, go_on)
    }

    /// Sorts all pairs and writes the index of a node's part.
    pub fn write_part(
        &self,
        node: u16,
        count: u64,
        name: &'static str,
        files: &dyn PartFiles,
    ) -> Result<(), LoadError> {
        let part = PartOutput::create(files, name)?;
        let writer = IndexWriter::of_part(self.kind, node, count, part)?;
        self.write_to(writer, files, || Ok(()))
    }

    fn write_to(
        &self,
        mut writer: IndexWriter<PartOutput>,
        files: &dyn PartFiles,
        go_on: impl Fn() -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let mut scratch = Vec::new();
        for bucket in 0..self.buckets.len() {
            go_on()?;
            let mut pairs = self.buckets.collect(bucket)?;
            self.buckets.release(bucket);
            radix::sort(&mut pairs, &mut scratch);
            for [hash, ordinal] in pairs {
                writer.push(hash, ordinal)?;
            }
        }
        let (part, _) = writer.finish()?;
        part.0.finish(files)?;
        Ok(())
    }
}

impl IndexSpreader<'_, '_> {
    /// Adds a term by its key.
    #[inline]
    pub fn push(&mut self, key: &[u8], ordinal: u64) -> Result<(), LoadError> {
        self.push_pair(key_hash(key), ordinal)
    }

    /// Adds a hash and what is found by it.
    #[inline]
    pub fn push_pair(&mut self, hash: u64, ordinal: u64) -> Result<(), LoadError> {
        self.0
            .push((hash >> (64 - INDEX_BUCKET_BITS)) as usize, [hash, ordinal])
    }

    /// Adds a triple term.
    pub fn push_triple(
        &mut self,
        components: [VertexId; 3],
        ordinal: u64,
    ) -> Result<(), LoadError> {
        self.push(&key::encode_triple(components), ordinal)
    }

    /// Adds what is left.
    pub fn finish(self) -> Result<(), LoadError> {
        self.0.finish()
    }
}

impl From<WriteError> for LoadError {
    fn from(error: WriteError) -> LoadError {
        LoadError::Dictionary(error)
    }
}

impl From<PartError> for LoadError {
    fn from(error: PartError) -> LoadError {
        LoadError::Part(error)
    }
}
