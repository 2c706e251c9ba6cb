//! The dictionary of a directory of parts: each node's part of it, cut and found again.
//!
//! What a part of a dictionary is stands in [`rdf::dictionary::part`]. Its files lie beside those of the graph's part, whose
//! names they share where they are the same thing: keys by id are `iri-keys.bin`, as a whole dictionary's are.
//!
//! One pass over the terms writes all parts, so the generations of all parts are open at once. The pairs of the hash indexes
//! are spread and sorted as a load does it, in temporary files above [`MEMORY_BYTES`].
//!
//! Cost: each key is coded twice, some 200 ns; half a MiB for each node and kind, and what the pairs take.

use crate::disk::Disk;
use crate::load::budget::Budget;
use crate::load::dictionary::{IndexPairs, IndexSpreader, PartOutput, names};
use crate::load::scratch::{DiskScratch, Spill};
use crate::load::{LoadError, open_parts};
use crate::parts::{PartFiles, PartSource};
use rdf::Tag;
use rdf::dictionary::part::{
    CutPair, PartDictionary, PartDictionaryFiles, PartKeyFiles, PartRecordFiles, cut_head,
    cut_records, cut_texts,
};
use rdf::dictionary::{DictionaryView, LiveDictionary};
use rdf::placement::Placement;
use std::path::Path;
use std::sync::Arc;

use crate::directory::Opened;

/// Memory for the pairs of one kind's indexes, of all nodes (bytes).
const MEMORY_BYTES: u64 = 1 << 30;

/// Name of the head of a dictionary's part.
const HEAD: &str = "dictionary-part.bin";

/// The files of one kind of text.
struct TextNames {
    keys: &'static str,
    offsets: &'static str,
    hashed_keys: &'static str,
    hashed_offsets: &'static str,
    ordinals: &'static str,
    index: &'static str,
}

const IRIS: TextNames = TextNames {
    keys: names::IRI_KEYS,
    offsets: names::IRI_OFFSETS,
    hashed_keys: "hashed-iri-keys.bin",
    hashed_offsets: "hashed-iri-offsets.bin",
    ordinals: "iri-ordinals.bin",
    index: names::IRI_INDEX,
};

const LITERALS: TextNames = TextNames {
    keys: names::LITERAL_KEYS,
    offsets: names::LITERAL_OFFSETS,
    hashed_keys: "hashed-literal-keys.bin",
    hashed_offsets: "hashed-literal-offsets.bin",
    ordinals: "literal-ordinals.bin",
    index: names::LITERAL_INDEX,
};

const HASHED_TRIPLE_TERMS: &str = "hashed-triple-terms.bin";
const TRIPLE_TERM_ORDINALS: &str = "triple-term-ordinals.bin";

/// The parts of a dictionary that are being written.
pub(super) struct DictionaryCut<'d> {
    view: DictionaryView,
    placement: &'d Placement,
    /// Where each node's files go.
    files: Vec<&'d dyn PartFiles>,
    disk: &'d dyn Disk,
    /// Where temporary files go.
    scratch: &'d Path,
}

impl<'d> DictionaryCut<'d> {
    /// The dictionary of a whole store.
    pub(super) fn open(opened: &Opened) -> Result<DictionaryView, LoadError> {
        let live = Arc::new(LiveDictionary::new(Arc::new(open_parts(opened)?.1)));
        Ok(live.view(live.counts()))
    }

    /// Of the dictionary of a whole store.
    pub(super) fn new(
        view: DictionaryView,
        placement: &'d Placement,
        files: Vec<&'d dyn PartFiles>,
        disk: &'d dyn Disk,
        scratch: &'d Path,
    ) -> DictionaryCut<'d> {
        DictionaryCut {
            view,
            placement,
            files,
            disk,
            scratch,
        }
    }

    /// Writes all files of all parts.
    pub(super) fn write(&self) -> Result<(), LoadError> {
        for (node, files) in (0..).zip(&self.files) {
            let mut head = PartOutput::create(*files, HEAD)?;
            cut_head(&self.view, self.placement, node, &mut head)?;
            head.finish(*files)?;
        }
        self.texts(Tag::Iri, &IRIS)?;
        self.texts(Tag::Literal, &LITERALS)?;
        self.triple_terms()
    }

    fn texts(&self, kind: Tag, names: &TextNames) -> Result<(), LoadError> {
        let outputs = |files: &&dyn PartFiles| {
            let part = |name| PartOutput::create(*files, name);
            Ok::<_, LoadError>(PartKeyFiles {
                keys: part(names.keys)?,
                offsets: part(names.offsets)?,
                hashed_keys: part(names.hashed_keys)?,
                hashed_offsets: part(names.hashed_offsets)?,
                ordinals: part(names.ordinals)?,
            })
        };
        let outputs = self.files.iter().map(outputs).collect::<Result<_, _>>()?;
        let counts = self.indexed(kind, names.index, |pair| {
            let parts = cut_texts(&self.view, kind, self.placement, outputs, pair)?;
            let mut counts = Vec::with_capacity(parts.len());
            for (part, files) in parts.into_iter().zip(&self.files) {
                let of = part.outputs;
                for output in [
                    of.keys,
                    of.offsets,
                    of.hashed_keys,
                    of.hashed_offsets,
                    of.ordinals,
                ] {
                    output.finish(*files)?;
                }
                counts.push(part.by_hash);
            }
            Ok(counts)
        });
        counts.map(drop)
    }

    fn triple_terms(&self) -> Result<(), LoadError> {
        let outputs = |files: &&dyn PartFiles| {
            let part = |name| PartOutput::create(*files, name);
            Ok::<_, LoadError>(PartRecordFiles {
                records: part(names::TRIPLE_TERMS)?,
                hashed_records: part(HASHED_TRIPLE_TERMS)?,
                ordinals: part(TRIPLE_TERM_ORDINALS)?,
            })
        };
        let outputs = self.files.iter().map(outputs).collect::<Result<_, _>>()?;
        let counts = self.indexed(Tag::TripleTerm, names::TRIPLE_TERM_INDEX, |pair| {
            let parts = cut_records(&self.view, self.placement, outputs, pair)?;
            let mut counts = Vec::with_capacity(parts.len());
            for (part, files) in parts.into_iter().zip(&self.files) {
                let of = part.outputs;
                for output in [of.records, of.hashed_records, of.ordinals] {
                    output.finish(*files)?;
                }
                counts.push(part.by_hash);
            }
            Ok(counts)
        });
        counts.map(drop)
    }

    /// Writes the index of each node: of the pairs that `cut` gives, as many as it says.
    fn indexed(
        &self,
        kind: Tag,
        index: &'static str,
        cut: impl FnOnce(
            &mut dyn FnMut(CutPair) -> Result<(), LoadError>,
        ) -> Result<Vec<u64>, LoadError>,
    ) -> Result<Vec<u64>, LoadError> {
        let scratch = DiskScratch::new(self.disk, self.scratch);
        let budget = Budget::new(Some(MEMORY_BYTES));
        let nodes = 0..self.files.len();
        let pairs = nodes.map(|node| {
            let spill = Spill::new(&scratch, format!("scratch-{index}-{node}"));
            IndexPairs::new(kind, spill, &budget)
        });
        let pairs: Vec<IndexPairs<'_>> = pairs.collect();
        let mut spreaders: Vec<IndexSpreader<'_, '_>> =
            pairs.iter().map(IndexPairs::spreader).collect();
        let counts = cut(&mut |pair: CutPair| {
            spreaders[usize::from(pair.node)].push_pair(pair.hash, pair.place)
        })?;
        spreaders.into_iter().try_for_each(IndexSpreader::finish)?;
        for (node, files) in (0..).zip(&self.files) {
            let place = usize::from(node);
            pairs[place].write_part(node, counts[place], index, *files)?;
        }
        Ok(counts)
    }
}

/// Opens the part of a dictionary that lies beside a graph's part.
pub fn open_part_dictionary(source: &dyn PartSource) -> Result<PartDictionary, LoadError> {
    let part = |name: &str| source.part(name).map(Arc::new);
    let texts = |names: &TextNames| {
        Ok::<_, LoadError>(PartKeyFiles {
            keys: part(names.keys)?,
            offsets: part(names.offsets)?,
            hashed_keys: part(names.hashed_keys)?,
            hashed_offsets: part(names.hashed_offsets)?,
            ordinals: part(names.ordinals)?,
        })
    };
    Ok(PartDictionary::open(PartDictionaryFiles {
        head: part(HEAD)?,
        iris: texts(&IRIS)?,
        iri_index: part(IRIS.index)?,
        literals: texts(&LITERALS)?,
        literal_index: part(LITERALS.index)?,
        triple_terms: PartRecordFiles {
            records: part(names::TRIPLE_TERMS)?,
            hashed_records: part(HASHED_TRIPLE_TERMS)?,
            ordinals: part(TRIPLE_TERM_ORDINALS)?,
        },
        triple_term_index: part(names::TRIPLE_TERM_INDEX)?,
    })?)
}
