//! What is read from a store: the manifest, the dictionary's files, the graph's parts.
//!
//! Checksums would reject nearly everything that a fuzzer makes up, so here they are right, or not
//! asked for: what is tested is that bytes which are wrong behind a right checksum (a bug of the
//! writer, or of memory) give an error, never a panic, an endless loop or an access elsewhere.
//! The manifest's input is its body. The others' inputs are edits of files that are well formed, of
//! twelve bytes each: which file, what to do, where, and a value.

use memory::block_sum;
use oxrdf::{LiteralRef, NamedNodeRef, Term, TermRef, Triple};
use rdf::dictionary::DictionaryBuilder;
use rdf::{Direction, Lexicon, Tag, TermBuffer, VertexId};
use std::io;
use std::sync::OnceLock;
use store::check::{IdLimits, check_graph};
use store::directory::Manifest;
use store::load::{names, open_dictionary};
use store::parts::{FrozenParts, MemoryParts, PartFiles, PartSource, PartSummary};
use store::testing::parts_of;
use store::view::{GraphScope, GraphView, Progress, SegmentKey};
use store::{ListCursor, Lists, Snapshot};

/// Bytes of the head of a manifest; its last eight are the head's own checksum.
const HEAD_BYTES: usize = 64;
/// Where a head has the length and the checksum of what it speaks of.
const LENGTH_AT: usize = 32;
const SUM_AT: usize = 40;
/// Bytes of an edit.
const EDIT_BYTES: usize = 12;
const BLANK_NODES: u64 = 3;

/// A manifest's body behind a head that fits it, and the bytes as they are.
pub fn manifest(data: &[u8]) {
    if let Err(error) = Manifest::from_bytes(data) {
        assert!(!error.to_string().is_empty());
    }
    let mut bytes = Manifest::default().to_bytes();
    bytes.truncate(HEAD_BYTES);
    bytes[LENGTH_AT..SUM_AT].copy_from_slice(&(data.len() as u64).to_le_bytes());
    bytes[SUM_AT..SUM_AT + 8].copy_from_slice(&block_sum(data).to_le_bytes());
    let sum = block_sum(&bytes[..HEAD_BYTES - 8]);
    bytes[HEAD_BYTES - 8..].copy_from_slice(&sum.to_le_bytes());
    bytes.extend_from_slice(data);
    match Manifest::from_bytes(&bytes) {
        Ok(manifest) => {
            let again = Manifest::from_bytes(&manifest.to_bytes());
            assert_eq!(again.as_ref(), Ok(&manifest));
        }
        Err(error) => {
            let what = error.to_string();
            assert!(
                what.contains("its body is cut"),
                "the head is right: {what}"
            );
        }
    }
}

/// The dictionary's files, edited.
pub fn dictionary(data: &[u8]) {
    static WHOLE: OnceLock<Files> = OnceLock::new();
    let files = WHOLE.get_or_init(dictionary_files);
    let Ok(dictionary) = open_dictionary(&edited(files, data), BLANK_NODES) else {
        return;
    };
    let counts = dictionary.counts();
    let mut terms = TermBuffer::new();
    for (tag, count) in [
        (Tag::Iri, counts.iris),
        (Tag::Blank, counts.blank_nodes),
        (Tag::Literal, counts.literals),
        (Tag::TripleTerm, counts.triple_terms),
    ] {
        // One more than there are, and what a count of any size does not make endless.
        for ordinal in 0..count.saturating_add(1).min(64) {
            terms.clear();
            let _ = dictionary.terms(&[VertexId::new(tag, ordinal)], &mut terms);
        }
        let mut scan = dictionary.keys(tag, 0);
        for _ in 0..64 {
            if matches!(scan.next_key(), Ok(None)) {
                break;
            }
        }
    }
    let whole: Vec<Term> = dictionary_terms();
    let looked_up: Vec<TermRef<'_>> = whole.iter().map(Term::as_ref).collect();
    let _ = dictionary.ids(&looked_up, &mut Vec::new());
    if counts.iris + counts.literals + counts.triple_terms < 1000 {
        dictionary.check(|_| {});
    }
}

/// The graph's parts, edited.
pub fn snapshot(data: &[u8]) {
    static WHOLE: OnceLock<Files> = OnceLock::new();
    let files = WHOLE.get_or_init(graph_files);
    let Ok(snapshot) = Snapshot::open(&edited(files, data)) else {
        return;
    };
    let _ = snapshot.statistics(100);
    let graphs = snapshot.named_graphs().unwrap_or_default();
    for direction in [Direction::Out, Direction::In] {
        let _ = snapshot.vertices(direction);
        for predicate in snapshot.predicates().into_iter().take(8) {
            walk(
                &snapshot,
                SegmentKey {
                    predicate,
                    direction,
                },
                &graphs,
            );
        }
    }
    let _ = check_graph(&snapshot, &IdLimits::NONE);
}

/// Reads a segment in each scope.
fn walk(snapshot: &Snapshot, segment: SegmentKey, graphs: &[VertexId]) {
    let mut keys = Vec::new();
    if let Ok(set) = snapshot.keys(segment) {
        let _ = set.decode(0, set.len().min(64), &mut keys);
    }
    keys.push(iri(1));
    keys.sort_unstable();
    keys.dedup();
    let named = graphs.first().copied().unwrap_or_else(|| iri(8));
    let _ = snapshot.keys_of_graph(segment, named, &mut Vec::new());
    for scope in [
        GraphScope::Default,
        GraphScope::Named(named),
        GraphScope::EachNamed,
    ] {
        let mut lists = Lists::new();
        let read = snapshot.lists(segment, &keys, scope, &mut lists);
        if matches!(read, Ok(Progress::Ready)) {
            expand(&mut lists, scope.binds_graph());
        }
        if !scope.binds_graph() {
            let _ = snapshot.neighbours(segment, iri(1), scope);
        }
    }
}

/// Reads up to some rows of all lists.
fn expand(lists: &mut Lists<'_>, binds_graph: bool) {
    let (mut rows, mut neighbours, mut graphs) = (Vec::new(), Vec::new(), Vec::new());
    let mut cursor = ListCursor::default();
    for _ in 0..4 {
        let graphs = binds_graph.then_some(&mut graphs);
        let read = lists.expand(&mut cursor, 64, &mut rows, &mut neighbours, graphs);
        if !matches!(read, Ok(false)) {
            break;
        }
    }
    if lists.total_edges() < 1 << 16 {
        let _ = lists.degrees(&mut Vec::new());
    }
    let targets = vec![iri(2); lists.len()];
    let _ = lists.select(&targets, &mut Vec::new());
    let _ = lists.narrow(&targets);
}

/// Files by name.
type Files = Vec<(String, Vec<u8>)>;

fn iri(ordinal: u64) -> VertexId {
    VertexId::new(Tag::Iri, ordinal)
}

/// A graph with a hub, a type, values and two named graphs.
fn graph_files() -> Files {
    let value = |ordinal| VertexId::new(Tag::Literal, ordinal);
    let default = GraphScope::DEFAULT_GRAPH;
    let mut quads = vec![
        (iri(1), iri(0), iri(7), default),
        (iri(2), iri(0), iri(7), default),
        (iri(2), iri(4), value(0), iri(8)),
        (iri(2), iri(4), value(0), iri(9)),
        (iri(3), iri(4), value(1), default),
    ];
    quads.extend((10..90).map(|other| (iri(1), iri(5), iri(other), default)));
    quads.extend((10..40).map(|other| (iri(other), iri(6), iri(other + 1), iri(8))));
    let parts = parts_of(&quads, Some(iri(0)));
    let names = parts.sizes().into_iter().map(|(name, _)| name);
    names
        .map(|name| {
            let part = parts.part(&name).expect("a part that was just written");
            let bytes = part.all().expect("a part in memory is whole").to_vec();
            (name, bytes)
        })
        .collect()
}

/// The terms of the dictionary that is edited.
fn dictionary_terms() -> Vec<Term> {
    let mut terms = Vec::new();
    for number in 0..40 {
        let iri = format!("http://example.org/some/path/{}/{number}", number % 7);
        let iri = NamedNodeRef::new_unchecked(&iri).into_owned();
        let text = format!("text number {number}");
        terms.push(LiteralRef::new_simple_literal(&text).into_owned().into());
        terms.push(Triple::new(iri.clone(), iri.clone(), iri.clone()).into());
        terms.push(iri.into());
    }
    let english = LiteralRef::new_language_tagged_literal_unchecked("text", "en");
    terms.push(english.into_owned().into());
    terms
}

fn dictionary_files() -> Files {
    let mut builder = DictionaryBuilder::new();
    for term in &dictionary_terms() {
        builder.id(term.as_ref());
    }
    let files = builder.files().expect("memory can be written");
    [
        (names::IRI_KEYS, files.iris.keys),
        (names::IRI_OFFSETS, files.iris.offsets),
        (names::IRI_INDEX, files.iris.index),
        (names::LITERAL_KEYS, files.literals.keys),
        (names::LITERAL_OFFSETS, files.literals.offsets),
        (names::LITERAL_INDEX, files.literals.index),
        (names::TRIPLE_TERMS, files.triple_terms.records),
        (names::TRIPLE_TERM_INDEX, files.triple_terms.index),
    ]
    .into_iter()
    .map(|(name, region)| {
        let bytes = region.all().expect("a file in memory is whole").to_vec();
        (name.to_owned(), bytes)
    })
    .collect()
}

/// The files with the edits that `data` says: the file, what to do, a place and a value. Files keep
/// a length that is a multiple of eight, as a store directory demands.
fn edited(files: &Files, data: &[u8]) -> FrozenParts {
    let mut files = files.clone();
    let (edits, _) = data.as_chunks::<EDIT_BYTES>();
    for edit in edits {
        let file = usize::from(edit[0]) % files.len();
        let bytes = &mut files[file].1;
        let place = usize::from(u16::from_le_bytes([edit[2], edit[3]]));
        let place = place % (bytes.len() + 1);
        match edit[1] % 4 {
            0 if place < bytes.len() => bytes[place] = edit[4],
            1 => {
                let end = bytes.len().min(place + 8);
                bytes[place..end].copy_from_slice(&edit[4..4 + end - place]);
            }
            2 => bytes.truncate(place / 8 * 8),
            _ => bytes.extend_from_slice(&edit[4..]),
        }
    }
    frozen(files).expect("memory can be written")
}

fn frozen(files: Files) -> io::Result<FrozenParts> {
    let parts = MemoryParts::new();
    for (name, bytes) in files {
        let name = name.into();
        let mut file = parts.create(&name)?;
        file.append(&bytes)?;
        file.sync()?;
        parts.completed(PartSummary {
            name,
            length_bytes: bytes.len() as u64,
            sums_sum: 0,
        });
    }
    parts.freeze()
}
