//! Size and speed of the dictionary on terms from two files: `dictionary_speed IRIS LITERALS`.
//!
//! The files hold one IRI, or one lexical form of a simple literal, per line, each once and in
//! order of first appearance. For blocks of 8 to 64 keys it prints bytes a term by part, and
//! nanoseconds a term for looking up ids (random order, stored and absent) and for decoding
//! (in order, random order), each in batches of 1024 and the minimum of 5 runs.

use memory::{CheckedRegion, Region};
use oxrdf::{LiteralRef, NamedNodeRef, TermRef};
use rdf::dictionary::{
    Dictionary, DictionaryBuilder, DictionaryFiles, IndexWriter, StreamWriter, TextFiles, key_hash,
};
use rdf::{Lexicon, Tag, TermBuffer, VertexId};
use std::sync::Arc;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;
const BATCH: usize = 1024;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let iris = std::fs::read_to_string(arguments.next().ok_or("no file of IRIs")?)?;
    let literals = std::fs::read_to_string(arguments.next().ok_or("no file of literals")?)?;
    let iri_keys: Vec<Vec<u8>> = iris.lines().map(|line| line.as_bytes().to_vec()).collect();
    let literal_keys: Vec<Vec<u8>> = literals
        .lines()
        .map(|line| [b"\0", line.as_bytes()].concat())
        .collect();
    for block_log2 in 3..=6 {
        let started = Instant::now();
        let (iri_files, iri_sizes) = write(Tag::Iri, &iri_keys, block_log2)?;
        let (literal_files, literal_sizes) = write(Tag::Literal, &literal_keys, block_log2)?;
        let terms = (iri_keys.len() + literal_keys.len()) as f64;
        let built_ns = started.elapsed().as_nanos() as f64 / terms;
        let empty = DictionaryBuilder::new().files()?;
        let dictionary = Dictionary::open(DictionaryFiles {
            iris: iri_files,
            literals: literal_files,
            ..empty
        })?;
        println!(
            "blocks of {}: written in {built_ns:.0} ns a term",
            1 << block_log2
        );
        sizes("IRI", iri_keys.len(), iri_sizes);
        sizes("literal", literal_keys.len(), literal_sizes);
        let all: Vec<f64> = iri_sizes
            .iter()
            .zip(literal_sizes)
            .map(|(a, b)| (a + b) as f64 / terms)
            .collect();
        println!("  together {:.2} bytes a term", all.iter().sum::<f64>());
        let iri_refs: Vec<TermRef<'_>> = iris
            .lines()
            .map(|line| NamedNodeRef::new_unchecked(line).into())
            .collect();
        let literal_refs: Vec<TermRef<'_>> = literals
            .lines()
            .map(|line| LiteralRef::new_simple_literal(line).into())
            .collect();
        speeds(&dictionary, Tag::Iri, &iri_refs)?;
        speeds(&dictionary, Tag::Literal, &literal_refs)?;
    }
    Ok(())
}

/// Bytes of keys, offsets and index.
type Sizes = [usize; 3];

fn write(kind: Tag, keys: &[Vec<u8>], block_log2: u8) -> Result<(TextFiles, Sizes), Failure> {
    let mut stream = StreamWriter::with_block_log2(kind, Vec::new(), Vec::new(), block_log2)?;
    for key in keys {
        stream.push(key)?;
    }
    let (key_bytes, offset_bytes, _) = stream.finish()?;
    let mut pairs: Vec<(u64, u64)> = keys.iter().map(|key| key_hash(key)).zip(0..).collect();
    pairs.sort_unstable();
    let mut index = IndexWriter::new(kind, pairs.len() as u64, Vec::new())?;
    for (hash, ordinal) in pairs {
        index.push(hash, ordinal)?;
    }
    let (index_bytes, _) = index.finish()?;
    let sizes = [key_bytes.len(), offset_bytes.len(), index_bytes.len()];
    let region = |bytes: &[u8]| -> Result<_, Failure> {
        Ok(Arc::new(CheckedRegion::unchecked(
            "part",
            Region::heap(bytes)?,
        )))
    };
    let (keys, offsets) = (region(&key_bytes)?, region(&offset_bytes)?);
    Ok((
        TextFiles {
            keys,
            offsets,
            index: region(&index_bytes)?,
        },
        sizes,
    ))
}

fn sizes(kind: &str, terms: usize, sizes: Sizes) {
    let [keys, offsets, index] = sizes.map(|bytes| bytes as f64 / terms as f64);
    let sum = keys + offsets + index;
    println!(
        "  {kind}: {terms} terms, {sum:.2} bytes each: keys {keys:.2}, offsets {offsets:.2}, \
         index {index:.2}"
    );
}

fn speeds(dictionary: &Dictionary, kind: Tag, terms: &[TermRef<'_>]) -> Result<(), Failure> {
    let ids: Vec<VertexId> = (0..terms.len() as u64)
        .map(|i| VertexId::new(kind, i))
        .collect();
    let order = shuffled(terms.len());
    let random_ids: Vec<VertexId> = order.iter().map(|&at| ids[at]).collect();
    let random_terms: Vec<TermRef<'_>> = order.iter().map(|&at| terms[at]).collect();
    let absent_texts: Vec<String> = order
        .iter()
        .map(|at| format!("http://absent/{at}"))
        .collect();
    let absent: Vec<TermRef<'_>> = absent_texts
        .iter()
        .map(|text| NamedNodeRef::new_unchecked(text).into())
        .collect();
    println!(
        "    {kind:?}: ids random {:.0} ns, one by one {:.0} ns, in order {:.0} ns, absent {:.0} ns; \
         terms in order {:.0} ns, random {:.0} ns, one by one {:.0} ns",
        encode_ns(dictionary, &random_terms, BATCH)?,
        encode_ns(dictionary, &random_terms, 1)?,
        encode_ns(dictionary, terms, BATCH)?,
        encode_ns(dictionary, &absent, BATCH)?,
        decode_ns(dictionary, &ids, BATCH)?,
        decode_ns(dictionary, &random_ids, BATCH)?,
        decode_ns(dictionary, &random_ids, 1)?,
    );
    Ok(())
}

fn encode_ns(dictionary: &Dictionary, terms: &[TermRef<'_>], batch: usize) -> Result<f64, Failure> {
    let mut ids = Vec::new();
    best_of_5(terms.len(), || {
        for batch in terms.chunks(batch) {
            ids.clear();
            dictionary.ids(batch, &mut ids)?;
        }
        Ok(())
    })
}

fn decode_ns(dictionary: &Dictionary, ids: &[VertexId], batch: usize) -> Result<f64, Failure> {
    let mut terms = TermBuffer::new();
    best_of_5(ids.len(), || {
        for batch in ids.chunks(batch) {
            terms.clear();
            dictionary.terms(batch, &mut terms)?;
        }
        Ok(())
    })
}

fn best_of_5(items: usize, mut run: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let started = Instant::now();
        run()?;
        best = best.min(started.elapsed().as_nanos() as f64 / items as f64);
    }
    Ok(best)
}

/// The numbers below `count` in an order that is always the same.
fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by_key(|at| key_hash(&at.to_le_bytes()));
    order
}
