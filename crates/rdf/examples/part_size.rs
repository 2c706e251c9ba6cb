//! Size and speed of the parts of a dictionary on terms from two files: `part_size IRIS LITERALS`.
//!
//! The files hold one IRI, or one lexical form of a simple literal, per line, each once and in order of first
//! appearance. For 1 to 16 nodes it prints bytes a term of each half by file, of all nodes together, and nanoseconds
//! a term for cutting and for both lookups at one node: random order, batches of 1024, of each the minimum of 5 runs.

use oxrdf::{LiteralRef, NamedNodeRef};
use rdf::dictionary::part::{PartDictionary, cut_in_memory};
use rdf::dictionary::{DictionaryBuilder, DictionaryView, KeyBatch, LiveDictionary};
use rdf::{Placement, Tag, VertexId};
use std::sync::Arc;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;
const BATCH: usize = 1024;
/// The files of a kind, in the order of [`PartDictionary::files`].
const FILES: [&str; 6] = [
    "keys by id",
    "offsets",
    "keys by hash",
    "offsets",
    "ordinals",
    "index",
];

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let iris = std::fs::read_to_string(arguments.next().ok_or("no file of IRIs")?)?;
    let literals = std::fs::read_to_string(arguments.next().ok_or("no file of literals")?)?;
    let mut builder = DictionaryBuilder::new();
    for line in iris.lines() {
        builder.id(NamedNodeRef::new_unchecked(line).into());
    }
    for line in literals.lines() {
        builder.id(LiteralRef::new_simple_literal(line).into());
    }
    let whole = builder.finish()?;
    for (kind, files) in [(Tag::Iri, 0..3), (Tag::Literal, 3..6)] {
        let bytes: Vec<u64> = whole.files()[files].iter().map(|file| file.len()).collect();
        let sizes = bytes
            .iter()
            .map(|bytes| per_term(*bytes, whole.counts().of(kind)));
        println!("whole, {kind:?}: {}", sizes.collect::<Vec<_>>().join(" + "));
    }
    let live = Arc::new(LiveDictionary::new(Arc::new(whole)));
    let view = live.view(live.counts());
    for nodes in [1, 2, 4, 8, 16] {
        measure(&view, nodes)?;
    }
    Ok(())
}

fn per_term(bytes: u64, terms: u64) -> String {
    format!("{:.2}", bytes as f64 / terms as f64)
}

fn measure(view: &DictionaryView, nodes: u16) -> Result<(), Failure> {
    let placement = Placement::in_turn(nodes, Placement::SHIFT, Placement::SLOTS)?;
    let started = Instant::now();
    let files = cut_in_memory(view, &placement)?;
    let cut_ns = started.elapsed().as_nanos() as f64;
    let parts = files.into_iter().map(PartDictionary::open);
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    let counts = view.counts();
    let terms = counts.iris + counts.literals;
    println!(
        "{nodes} nodes, cut in {:.0} ns a term",
        cut_ns / terms as f64
    );
    for (kind, first) in [(Tag::Iri, 1), (Tag::Literal, 7)] {
        let bytes = |at: usize| -> u64 { parts.iter().map(|part| part.files()[at].len()).sum() };
        let sizes = FILES
            .iter()
            .enumerate()
            .map(|(at, name)| format!("{name} {}", per_term(bytes(first + at), counts.of(kind))));
        let (by_id, by_hash) = ((first..first + 2), (first + 2..first + 6));
        println!(
            "  {kind:?}: {}; by id {}, by hash {}",
            sizes.collect::<Vec<_>>().join(", "),
            per_term(by_id.map(bytes).sum(), counts.of(kind)),
            per_term(by_hash.map(bytes).sum(), counts.of(kind)),
        );
        speeds(view, &parts[0], kind)?;
    }
    Ok(())
}

/// Times both lookups of one part, in random order.
fn speeds(view: &DictionaryView, part: &PartDictionary, kind: Tag) -> Result<(), Failure> {
    let mut ids = Vec::new();
    let mut batches = Vec::new();
    let mut shuffled: Vec<u64> = (0..view.counts().of(kind)).collect();
    // A fixed order that visits memory at random.
    shuffled.sort_unstable_by_key(|ordinal| ordinal.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut dictionary_keys = view.base().keys(kind, 0);
    let mut keys: Vec<Vec<u8>> = Vec::new();
    while let Some(key) = dictionary_keys.next_key()? {
        keys.push(key.to_vec());
    }
    let mut batch = KeyBatch::new();
    for ordinal in shuffled {
        let id = VertexId::new(kind, ordinal);
        if part.owns_id(id) {
            ids.push(id);
        }
        let key = &keys[ordinal as usize];
        if part.owns_key(key) {
            batch.push(key);
        }
        if batch.len() == BATCH {
            batches.push(std::mem::take(&mut batch));
        }
    }
    if ids.len() < BATCH || batches.is_empty() {
        return Ok(());
    }
    let chunks: Vec<&[VertexId]> = ids.chunks_exact(BATCH).collect();
    let mut keys = KeyBatch::new();
    let by_id = fastest(&chunks, |ids| {
        keys.clear();
        part.keys_of_ids(ids, usize::MAX, &mut keys)?;
        Ok(())
    })?;
    let mut found = Vec::new();
    let by_hash = fastest(&batches, |batch| {
        found.clear();
        Ok(part.ids_of_keys(kind, batch, &mut found)?)
    })?;
    let mut found = Vec::new();
    let whole = fastest(&batches, |batch| {
        found.clear();
        Ok(view.find(kind, batch, &mut found)?)
    })?;
    println!("    id -> key {by_id:.0} ns, key -> id {by_hash:.0} ns (in the whole {whole:.0} ns)");
    Ok(())
}

/// Nanoseconds a term: of each batch the least of 5 runs over all.
fn fastest<B>(
    batches: &[B],
    mut run: impl FnMut(&B) -> Result<(), Failure>,
) -> Result<f64, Failure> {
    let mut least = vec![f64::INFINITY; batches.len()];
    for _ in 0..5 {
        for (batch, least) in batches.iter().zip(&mut least) {
            let started = Instant::now();
            run(batch)?;
            *least = least.min(started.elapsed().as_nanos() as f64);
        }
    }
    Ok(least.iter().sum::<f64>() / (least.len() * BATCH) as f64)
}
