//! Cutting a whole dictionary into the parts of a cluster's nodes.
//!
//! One pass over the keys of a kind, in the order of ordinals, writes all files of all parts but the indexes: each key goes to
//! the node that owns its id and to the one that owns its hash, front-coded anew against its neighbours there. The
//! pairs of the indexes, which must be sorted by hash, are the caller's to sort in the memory that it has, as for a
//! checkpoint (see [`super::super::merge`]): a store spills them, [`cut_in_memory`] does not.
//!
//! ```text
//! key, ordinal --- owner of the id ----> by id: keys            (place is counted)
//!             \--- owner of the hash --> by hash: keys, ordinal (place is counted) --> pair: node, hash, place
//! ```
//!
//! Invariant: the files depend on the terms, their order and the placement alone. All terms of the base are cut, also where
//! the view is of an earlier moment: an id that was given means its term for ever.
//!
//! Cost: each key is decoded once and coded twice, some 200 ns; memory for a block of each output.

use super::head::PartHead;
use super::ordinals::OrdinalWriter;
use super::{PartDictionaryFiles, PartKeyFiles, PartRecordFiles};
use crate::dictionary::format::FileScope;
use crate::dictionary::{
    DictionaryView, IndexWriter, MergeError, OpenError, RecordWriter, StreamWriter, TermCounts,
    WriteError, key_hash,
};
use crate::id::{Tag, VertexId};
use crate::key::TRIPLE_KEY_BYTES;
use crate::lexicon::LexiconError;
use crate::placement::Placement;
use memory::{CheckedRegion, Region};
use std::io::Write;
use std::sync::Arc;

/// A pair of a part's index: what [`IndexWriter::of_part`] takes, sorted by hash and then place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CutPair {
    /// The node whose index it belongs to.
    pub node: u16,
    /// The [hash](key_hash) of the key.
    pub hash: u64,
    /// The place of the key.
    pub place: u64,
}

/// What was written of one kind for one node.
#[derive(Debug)]
pub struct CutPart<F> {
    /// The outputs, unsynced and unflushed.
    pub outputs: F,
    /// Terms whose text went there.
    pub by_id: u64,
    /// Terms that are found there by their key: pairs of its index.
    pub by_hash: u64,
}

/// Why parts could not be cut in memory.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// The dictionary could not be read, or a part not be written.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// What was written could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl From<WriteError> for CutError {
    fn from(error: WriteError) -> CutError {
        CutError::Merge(error.into())
    }
}

/// Writes the head of a node's part. The node must be one of the placement's (asserted).
pub fn cut_head(
    view: &DictionaryView,
    placement: &Placement,
    node: u16,
    out: &mut impl Write,
) -> Result<(), WriteError> {
    assert!(node < placement.nodes(), "there is such a node");
    let head = PartHead {
        node,
        counts: counts_of(view),
        placement: placement.clone(),
    };
    head.write(out)
}

/// Writes the keys of all parts of a kind that has text, IRI or literal, to the outputs of each node in order (as many as
/// there are nodes: asserted), and gives each pair of their indexes to `pair`.
pub fn cut_texts<W: Write, E: From<MergeError>>(
    view: &DictionaryView,
    kind: Tag,
    placement: &Placement,
    outputs: Vec<PartKeyFiles<W>>,
    pair: impl FnMut(CutPair) -> Result<(), E>,
) -> Result<Vec<CutPart<PartKeyFiles<W>>>, E> {
    let end = counts_of(view).of(kind);
    let parts = (0..).zip(outputs);
    let parts = parts.map(|(node, outputs)| TextPart::new(kind, node, end, outputs));
    let mut parts = parts.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    deal_out(view, kind, placement, &mut parts, pair)?;
    let done = parts.into_iter().map(TextPart::finish);
    done.collect::<Result<_, _>>().map_err(failed)
}

/// The same of the triple terms.
pub fn cut_records<W: Write, E: From<MergeError>>(
    view: &DictionaryView,
    placement: &Placement,
    outputs: Vec<PartRecordFiles<W>>,
    pair: impl FnMut(CutPair) -> Result<(), E>,
) -> Result<Vec<CutPart<PartRecordFiles<W>>>, E> {
    let end = counts_of(view).triple_terms;
    let parts = (0..).zip(outputs);
    let parts = parts.map(|(node, outputs)| RecordPart::new(node, end, outputs));
    let mut parts = parts.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    deal_out(view, Tag::TripleTerm, placement, &mut parts, pair)?;
    let done = parts.into_iter().map(RecordPart::finish);
    done.collect::<Result<_, _>>().map_err(failed)
}

/// All parts, by node, in memory, with 16 bytes more a term of a kind while they are made: for tests, fixtures and small
/// graphs.
pub fn cut_in_memory(
    view: &DictionaryView,
    placement: &Placement,
) -> Result<Vec<PartDictionaryFiles>, CutError> {
    let nodes = usize::from(placement.nodes());
    let mut iris = texts_in_memory(view, Tag::Iri, placement)?.into_iter();
    let mut literals = texts_in_memory(view, Tag::Literal, placement)?.into_iter();
    let mut pairs = Vec::new();
    let outputs = std::iter::repeat_with(|| PartRecordFiles {
        records: Vec::new(),
        hashed_records: Vec::new(),
        ordinals: Vec::new(),
    });
    let triple_terms = cut_records(view, placement, outputs.take(nodes).collect(), |pair| {
        pairs.push(pair);
        Ok::<(), CutError>(())
    })?;
    let mut indexes = indexes_in_memory(Tag::TripleTerm, pairs, placement)?.into_iter();
    let mut files = Vec::with_capacity(nodes);
    for (node, triple_terms) in (0..).zip(triple_terms) {
        let mut head = Vec::new();
        cut_head(view, placement, node, &mut head)?;
        let (iris, iri_index) = iris.next().expect("each node has IRIs");
        let (literals, literal_index) = literals.next().expect("each node has literals");
        let triple_terms = triple_terms.outputs;
        files.push(PartDictionaryFiles {
            head: region("head", &head)?,
            iris,
            iri_index,
            literals,
            literal_index,
            triple_terms: PartRecordFiles {
                records: region("records", &triple_terms.records)?,
                hashed_records: region("hashed records", &triple_terms.hashed_records)?,
                ordinals: region("ordinals", &triple_terms.ordinals)?,
            },
            triple_term_index: indexes.next().expect("each node has an index"),
        });
    }
    Ok(files)
}

/// Parts that keys are dealt out to.
trait KeyPart {
    /// Takes the next key whose id the node owns.
    fn push_by_id(&mut self, key: &[u8]) -> Result<(), WriteError>;
    /// Takes the next key whose hash the node owns, and gives its place.
    fn push_by_hash(&mut self, ordinal: u64, key: &[u8]) -> Result<u64, WriteError>;
}

/// Gives each key to the two nodes that own it.
fn deal_out<P: KeyPart, E: From<MergeError>>(
    view: &DictionaryView,
    kind: Tag,
    placement: &Placement,
    parts: &mut [P],
    mut pair: impl FnMut(CutPair) -> Result<(), E>,
) -> Result<(), E> {
    assert_eq!(
        parts.len(),
        usize::from(placement.nodes()),
        "each node has outputs"
    );
    each_key(view, kind, |ordinal, key| {
        let owner = placement.owner(VertexId::new(kind, ordinal));
        parts[usize::from(owner)].push_by_id(key).map_err(failed)?;
        let hash = key_hash(key);
        let node = placement.owner_of_hash(hash);
        let place = parts[usize::from(node)].push_by_hash(ordinal, key);
        let place = place.map_err(failed)?;
        pair(CutPair { node, hash, place })
    })
}

/// Calls `each` with all ordinals and keys of a kind, in order: those of the base, then new ones that the view sees.
fn each_key<E: From<MergeError>>(
    view: &DictionaryView,
    kind: Tag,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let unread = |error: LexiconError| E::from(MergeError::Lexicon(error));
    let mut ordinal = 0;
    let mut scan = view.base().keys(kind, 0);
    while let Some(key) = scan.next_key().map_err(unread)? {
        each(ordinal, key)?;
        ordinal += 1;
    }
    let mut scan = view.keys(kind, ordinal);
    while let Some(key) = scan.next_key().map_err(unread)? {
        each(ordinal, key)?;
        ordinal += 1;
    }
    assert_eq!(
        ordinal,
        counts_of(view).of(kind),
        "ordinals are dense: those of the base, then the new ones that are seen"
    );
    Ok(())
}

/// Number of terms that are cut: all of the base, and those that the view sees.
fn counts_of(view: &DictionaryView) -> TermCounts {
    view.counts().or_more(view.base().counts())
}

fn failed<E: From<MergeError>>(error: WriteError) -> E {
    E::from(MergeError::Write(error))
}

/// The keys of a kind of text, for one node, while they are written.
struct TextPart<W: Write> {
    by_id: StreamWriter<W>,
    by_hash: StreamWriter<W>,
    ordinals: OrdinalWriter<W>,
}

impl<W: Write> TextPart<W> {
    fn new(
        kind: Tag,
        node: u16,
        end: u64,
        outputs: PartKeyFiles<W>,
    ) -> Result<TextPart<W>, WriteError> {
        let scope = FileScope::ById(node);
        let by_id = StreamWriter::of_scope(kind, scope, outputs.keys, outputs.offsets)?;
        let scope = FileScope::ByHash(node);
        let (keys, offsets) = (outputs.hashed_keys, outputs.hashed_offsets);
        Ok(TextPart {
            by_id,
            by_hash: StreamWriter::of_scope(kind, scope, keys, offsets)?,
            ordinals: OrdinalWriter::new(kind, node, end, outputs.ordinals)?,
        })
    }

    fn finish(self) -> Result<CutPart<PartKeyFiles<W>>, WriteError> {
        let (keys, offsets, by_id) = self.by_id.finish()?;
        let (hashed_keys, hashed_offsets, by_hash) = self.by_hash.finish()?;
        Ok(CutPart {
            outputs: PartKeyFiles {
                keys,
                offsets,
                hashed_keys,
                hashed_offsets,
                ordinals: self.ordinals.finish()?,
            },
            by_id: by_id.keys,
            by_hash: by_hash.keys,
        })
    }
}

impl<W: Write> KeyPart for TextPart<W> {
    fn push_by_id(&mut self, key: &[u8]) -> Result<(), WriteError> {
        self.by_id.push(key).map(|_| ())
    }

    fn push_by_hash(&mut self, ordinal: u64, key: &[u8]) -> Result<u64, WriteError> {
        self.ordinals.push(ordinal)?;
        self.by_hash.push(key)
    }
}

/// The triple terms, for one node, while they are written.
struct RecordPart<W: Write> {
    by_id: RecordWriter<W>,
    by_hash: RecordWriter<W>,
    ordinals: OrdinalWriter<W>,
}

impl<W: Write> RecordPart<W> {
    fn new(node: u16, end: u64, outputs: PartRecordFiles<W>) -> Result<RecordPart<W>, WriteError> {
        Ok(RecordPart {
            by_id: RecordWriter::of_scope(FileScope::ById(node), outputs.records)?,
            by_hash: RecordWriter::of_scope(FileScope::ByHash(node), outputs.hashed_records)?,
            ordinals: OrdinalWriter::new(Tag::TripleTerm, node, end, outputs.ordinals)?,
        })
    }

    fn finish(self) -> Result<CutPart<PartRecordFiles<W>>, WriteError> {
        let (by_id, by_hash) = (self.by_id.count(), self.by_hash.count());
        Ok(CutPart {
            outputs: PartRecordFiles {
                records: self.by_id.finish().0,
                hashed_records: self.by_hash.finish().0,
                ordinals: self.ordinals.finish()?,
            },
            by_id,
            by_hash,
        })
    }
}

/// A triple term's key as it stands in a file, whatever it says.
fn record(key: &[u8]) -> &[u8; TRIPLE_KEY_BYTES] {
    key.first_chunk().expect("a record is 24 bytes long")
}

impl<W: Write> KeyPart for RecordPart<W> {
    fn push_by_id(&mut self, key: &[u8]) -> Result<(), WriteError> {
        self.by_id.push_key(record(key))
    }

    fn push_by_hash(&mut self, ordinal: u64, key: &[u8]) -> Result<u64, WriteError> {
        self.ordinals.push(ordinal)?;
        let place = self.by_hash.count();
        self.by_hash.push_key(record(key))?;
        Ok(place)
    }
}

/// The keys and indexes of a kind of text, by node.
fn texts_in_memory(
    view: &DictionaryView,
    kind: Tag,
    placement: &Placement,
) -> Result<Vec<(PartKeyFiles, Arc<CheckedRegion>)>, CutError> {
    let mut pairs = Vec::new();
    let outputs = std::iter::repeat_with(|| PartKeyFiles {
        keys: Vec::new(),
        offsets: Vec::new(),
        hashed_keys: Vec::new(),
        hashed_offsets: Vec::new(),
        ordinals: Vec::new(),
    });
    let outputs = outputs.take(placement.nodes().into()).collect();
    let parts = cut_texts(view, kind, placement, outputs, |pair| {
        pairs.push(pair);
        Ok::<(), CutError>(())
    })?;
    let indexes = indexes_in_memory(kind, pairs, placement)?;
    let files = parts.into_iter().zip(indexes).map(|(part, index)| {
        let outputs = part.outputs;
        let files = PartKeyFiles {
            keys: region("keys", &outputs.keys)?,
            offsets: region("offsets", &outputs.offsets)?,
            hashed_keys: region("hashed keys", &outputs.hashed_keys)?,
            hashed_offsets: region("hashed offsets", &outputs.hashed_offsets)?,
            ordinals: region("ordinals", &outputs.ordinals)?,
        };
        Ok((files, index))
    });
    files.collect()
}

/// The index of each node.
fn indexes_in_memory(
    kind: Tag,
    mut pairs: Vec<CutPair>,
    placement: &Placement,
) -> Result<Vec<Arc<CheckedRegion>>, CutError> {
    pairs.sort_unstable();
    let index = |node| {
        let start = pairs.partition_point(|pair| pair.node < node);
        let end = pairs.partition_point(|pair| pair.node <= node);
        let mut writer = IndexWriter::of_part(kind, node, (end - start) as u64, Vec::new())?;
        for pair in &pairs[start..end] {
            writer.push(pair.hash, pair.place)?;
        }
        region("index", &writer.finish()?.0)
    };
    (0..placement.nodes()).map(index).collect()
}

fn region(name: &str, bytes: &[u8]) -> Result<Arc<CheckedRegion>, CutError> {
    let region = Region::heap(bytes).map_err(WriteError::Io)?;
    Ok(Arc::new(CheckedRegion::unchecked(name, region)))
}
