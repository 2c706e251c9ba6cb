//! The dictionary of a graph in parts: what a view sees, cut into the files of each node's part, and opened again.
//!
//! One pass over the keys of a kind writes the files of all parts but the indexes (`rdf::dictionary::part`). The (hash, place)
//! pairs of all indexes are spread by node and by the top bits of the hash, and each bucket sorted, as a load and a
//! [checkpoint](super::dictionary) do it, with temporary files above a limit of memory.
//!
//! Invariant: the files follow from the terms, their order and the placement, wherever pairs are sorted.
//!
//! Cost: the whole dictionary once, and some 300 ns a term. All parts are open at once: 6 files of one kind for each node,
//! with a block of memory each, and 8 KiB a bucket.

use super::dictionary::{DictionaryError, HALT_KEYS, Output, Spilling};
use crate::load::LoadError;
use crate::load::buckets::{Buckets, Spreader};
use crate::load::budget::Budget;
use crate::load::dictionary::names;
use crate::load::radix;
use crate::load::scratch::{DiskScratch, NoScratch, ScratchSpace, Spill};
use crate::parts::{PartFiles, PartSource};
use memory::CheckedRegion;
use rdf::dictionary::part::{
    CutPair, PartDictionary, PartDictionaryFiles, PartKeyFiles, PartRecordFiles, cut_head,
    cut_records, cut_texts,
};
use rdf::dictionary::{DictionaryView, IndexWriter};
use rdf::{Placement, Tag};
use std::sync::Arc;

/// The head of a part's dictionary.
pub const DICTIONARY_HEAD: &str = "dictionary-head.bin";
/// Keys of the IRIs, by id and by hash.
const IRIS: PartKeyFiles<&str> = PartKeyFiles {
    keys: names::IRI_KEYS,
    offsets: names::IRI_OFFSETS,
    hashed_keys: "iri-hashed-keys.bin",
    hashed_offsets: "iri-hashed-offsets.bin",
    ordinals: "iri-ordinals.bin",
};
/// Keys of the literals, likewise.
const LITERALS: PartKeyFiles<&str> = PartKeyFiles {
    keys: names::LITERAL_KEYS,
    offsets: names::LITERAL_OFFSETS,
    hashed_keys: "literal-hashed-keys.bin",
    hashed_offsets: "literal-hashed-offsets.bin",
    ordinals: "literal-ordinals.bin",
};
/// The triple terms, likewise.
const TRIPLE_TERMS: PartRecordFiles<&str> = PartRecordFiles {
    records: names::TRIPLE_TERMS,
    hashed_records: "triple-hashed-terms.bin",
    ordinals: "triple-term-ordinals.bin",
};

/// log2 of the buckets that pairs of all nodes are spread over, if nodes are not more.
const BUCKETS_LOG2: u32 = 10;
/// log2 of the most buckets of one node.
const NODE_BUCKETS_LOG2_MAX: u32 = 6;

/// Opens the dictionary of a node's part among the parts of its graph.
pub fn open_part_dictionary(source: &dyn PartSource) -> Result<PartDictionary, LoadError> {
    let part = |name| source.part(name).map(Arc::new);
    let texts = |names: &PartKeyFiles<&'static str>| -> Result<PartKeyFiles, LoadError> {
        Ok(PartKeyFiles {
            keys: part(names.keys)?,
            offsets: part(names.offsets)?,
            hashed_keys: part(names.hashed_keys)?,
            hashed_offsets: part(names.hashed_offsets)?,
            ordinals: part(names.ordinals)?,
        })
    };
    let index = |name| -> Result<Arc<CheckedRegion>, LoadError> { Ok(part(name)?) };
    Ok(PartDictionary::open(PartDictionaryFiles {
        head: part(DICTIONARY_HEAD)?,
        iris: texts(&IRIS)?,
        iri_index: index(names::IRI_INDEX)?,
        literals: texts(&LITERALS)?,
        literal_index: index(names::LITERAL_INDEX)?,
        triple_terms: PartRecordFiles {
            records: part(TRIPLE_TERMS.records)?,
            hashed_records: part(TRIPLE_TERMS.hashed_records)?,
            ordinals: part(TRIPLE_TERMS.ordinals)?,
        },
        triple_term_index: index(names::TRIPLE_TERM_INDEX)?,
    })?)
}

/// Writes the dictionaries of all parts of what a view sees: `parts` by node, as many as the placement has (asserted).
/// `is_halted` is asked now and then, and ends the writing.
pub fn cut_dictionary(
    view: &DictionaryView,
    placement: &Placement,
    parts: &[&dyn PartFiles],
    spilling: Spilling<'_>,
    is_halted: &(dyn Fn() -> bool + Sync),
) -> Result<(), DictionaryError> {
    assert_eq!(
        parts.len(),
        usize::from(placement.nodes()),
        "each node has files"
    );
    let disk_scratch;
    let (scratch, limit_bytes): (&dyn ScratchSpace, _) = match spilling {
        Spilling::Never => (&NoScratch, None),
        Spilling::Above {
            limit_bytes,
            disk,
            directory,
        } => {
            disk_scratch = DiskScratch::new(disk, directory);
            (&disk_scratch, Some(limit_bytes))
        }
    };
    let cutting = Cutting {
        view,
        placement,
        parts,
        scratch,
        budget: &Budget::new(limit_bytes),
        is_halted,
    };
    // A stop reaches this place as an error of the output that noticed it.
    cutting.all().map_err(|error| match error {
        LoadError::Cancelled => DictionaryError::Halted,
        _ if is_halted() => DictionaryError::Halted,
        error => DictionaryError::Files(error),
    })
}

/// The dictionaries of all parts while they are written.
struct Cutting<'c> {
    view: &'c DictionaryView,
    placement: &'c Placement,
    parts: &'c [&'c dyn PartFiles],
    scratch: &'c dyn ScratchSpace,
    budget: &'c Budget,
    is_halted: &'c (dyn Fn() -> bool + Sync),
}

impl Cutting<'_> {
    fn all(&self) -> Result<(), LoadError> {
        for (node, files) in (0..).zip(self.parts) {
            let mut head = self.output(*files, DICTIONARY_HEAD)?;
            cut_head(self.view, self.placement, node, &mut head)?;
            head.part.finish(*files)?;
        }
        self.texts(Tag::Iri, &IRIS, names::IRI_INDEX)?;
        self.texts(Tag::Literal, &LITERALS, names::LITERAL_INDEX)?;
        self.triple_terms()
    }

    fn texts(
        &self,
        kind: Tag,
        names: &PartKeyFiles<&'static str>,
        index: &'static str,
    ) -> Result<(), LoadError> {
        let pairs = self.pairs(kind, index);
        let mut spreader = Spreader::new(&pairs.buckets);
        let mut keys = 0;
        let outputs = self.parts.iter().map(|files| {
            Ok(PartKeyFiles {
                keys: self.output(*files, names.keys)?,
                offsets: self.output(*files, names.offsets)?,
                hashed_keys: self.output(*files, names.hashed_keys)?,
                hashed_offsets: self.output(*files, names.hashed_offsets)?,
                ordinals: self.output(*files, names.ordinals)?,
            })
        });
        let outputs = outputs.collect::<Result<Vec<_>, LoadError>>()?;
        let written = cut_texts(self.view, kind, self.placement, outputs, |pair| {
            self.now_and_then(&mut keys)?;
            pairs.push(&mut spreader, pair)
        })?;
        spreader.finish()?;
        let mut counts = Vec::with_capacity(written.len());
        for (files, part) in self.parts.iter().zip(written) {
            counts.push(part.by_hash);
            let PartKeyFiles {
                keys,
                offsets,
                hashed_keys,
                hashed_offsets,
                ordinals,
            } = part.outputs;
            for output in [keys, offsets, hashed_keys, hashed_offsets, ordinals] {
                output.part.finish(*files)?;
            }
        }
        self.indexes(&pairs, &counts)
    }

    fn triple_terms(&self) -> Result<(), LoadError> {
        let pairs = self.pairs(Tag::TripleTerm, names::TRIPLE_TERM_INDEX);
        let mut spreader = Spreader::new(&pairs.buckets);
        let mut keys = 0;
        let outputs = self.parts.iter().map(|files| {
            Ok(PartRecordFiles {
                records: self.output(*files, TRIPLE_TERMS.records)?,
                hashed_records: self.output(*files, TRIPLE_TERMS.hashed_records)?,
                ordinals: self.output(*files, TRIPLE_TERMS.ordinals)?,
            })
        });
        let outputs = outputs.collect::<Result<Vec<_>, LoadError>>()?;
        let written = cut_records(self.view, self.placement, outputs, |pair| {
            self.now_and_then(&mut keys)?;
            pairs.push(&mut spreader, pair)
        })?;
        spreader.finish()?;
        let mut counts = Vec::with_capacity(written.len());
        for (files, part) in self.parts.iter().zip(written) {
            counts.push(part.by_hash);
            let PartRecordFiles {
                records,
                hashed_records,
                ordinals,
            } = part.outputs;
            for output in [records, hashed_records, ordinals] {
                output.part.finish(*files)?;
            }
        }
        self.indexes(&pairs, &counts)
    }

    /// No pairs of a kind yet.
    fn pairs(&self, kind: Tag, index: &'static str) -> PartPairs<'_> {
        let nodes_log2 = self.parts.len().next_power_of_two().ilog2();
        let bits = BUCKETS_LOG2.saturating_sub(nodes_log2);
        let bits = bits.min(NODE_BUCKETS_LOG2_MAX);
        let spill = Spill::new(self.scratch, format!("scratch-{index}"));
        PartPairs {
            kind,
            index,
            bits,
            buckets: Buckets::new(self.parts.len() << bits, spill, self.budget),
        }
    }

    /// Sorts the pairs and writes the index of each node, which has so many of them.
    fn indexes(&self, pairs: &PartPairs<'_>, counts: &[u64]) -> Result<(), LoadError> {
        let mut scratch = Vec::new();
        for (node, (files, count)) in (0..).zip(self.parts.iter().zip(counts)) {
            let output = self.output(*files, pairs.index)?;
            let mut writer = IndexWriter::of_part(pairs.kind, node, *count, output)?;
            let first = usize::from(node) << pairs.bits;
            for bucket in first..first + (1 << pairs.bits) {
                self.go_on()?;
                let mut sorted = pairs.buckets.collect(bucket)?;
                pairs.buckets.release(bucket);
                radix::sort(&mut sorted, &mut scratch);
                for [hash, place] in sorted {
                    writer.push(hash, place)?;
                }
            }
            let (output, _) = writer.finish()?;
            output.part.finish(*files)?;
        }
        Ok(())
    }

    fn output(&self, files: &dyn PartFiles, name: &'static str) -> Result<Output<'_>, LoadError> {
        Output::create(files, name, self.is_halted)
    }

    /// Asks whether to go on each so many keys, which `keys` counts.
    #[inline]
    fn now_and_then(&self, keys: &mut u64) -> Result<(), LoadError> {
        *keys += 1;
        if keys.is_multiple_of(HALT_KEYS) {
            self.go_on()?;
        }
        Ok(())
    }

    fn go_on(&self) -> Result<(), LoadError> {
        if (self.is_halted)() {
            return Err(LoadError::Cancelled);
        }
        Ok(())
    }
}

/// The pairs of the indexes of a kind at all nodes, while they are gathered.
struct PartPairs<'c> {
    kind: Tag,
    index: &'static str,
    /// log2 of the buckets of a node, in the order of hashes.
    bits: u32,
    buckets: Buckets<'c, [u64; 2]>,
}

impl PartPairs<'_> {
    #[inline]
    fn push(
        &self,
        spreader: &mut Spreader<'_, '_, [u64; 2]>,
        pair: CutPair,
    ) -> Result<(), LoadError> {
        // Shifted twice, as a shift by all bits is none.
        let within = pair.hash >> (u64::BITS - 1 - self.bits) >> 1;
        let bucket = usize::from(pair.node) << self.bits | within as usize;
        spreader.push(bucket, [pair.hash, pair.place])
    }
}
