//! The dictionary of a new generation: the files are those of a load, whatever lay in files before
//! and wherever pairs are sorted, and a stop or a full disk is an error.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use crate::common;

use common::Numbers;
use oxrdf::{BlankNode, Literal, NamedNode, Term, TermRef, Triple};
use rdf::dictionary::{Dictionary, DictionaryBuilder, LiveDictionary, TermCounts};
use rdf::{Lexicon, TermBuffer, VertexId};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::delta::dictionary::{
    DictionaryError, Spilling, write_dictionary, write_empty_dictionary,
};
use store::directory::{begin, open};
use store::disk::{Disk, SimDisk, SimFaults};
use store::load::{BLANK_NODES_COUNT, open_dictionary};
use store::parts::MemoryParts;

const STORE: &str = "/data/store";

/// Terms of all kinds, many of them more than once.
fn terms_of(seed: u64, count: u64) -> Vec<Term> {
    let mut numbers = Numbers::new(seed);
    (0..count)
        .map(|_| {
            let number = numbers.below(count);
            let name = NamedNode::new_unchecked(format!("http://example.org/{number}"));
            let text = Literal::new_simple_literal("x".repeat(number as usize % 300));
            match numbers.below(6) {
                0 => name.into(),
                1 => text.into(),
                2 => {
                    Literal::new_language_tagged_literal_unchecked("a", format!("l{number}")).into()
                }
                3 => BlankNode::new_unchecked(format!("b{}", number % 7)).into(),
                4 => Literal::from(number).into(),
                _ => (0..number % 5).fold(text.into(), |object: Term, _| {
                    Triple::new(name.clone(), NamedNode::new_unchecked("p"), object).into()
                }),
            }
        })
        .collect()
}

fn refs(terms: &[Term]) -> Vec<TermRef<'_>> {
    terms.iter().map(Term::as_ref).collect()
}

fn live_over(base: Dictionary) -> Arc<LiveDictionary> {
    let live = LiveDictionary::new(Arc::new(base));
    live.reserve_blank_nodes(7).unwrap();
    Arc::new(live)
}

fn loaded(terms: &[Term]) -> Dictionary {
    let mut builder = DictionaryBuilder::new();
    for number in 0..7 {
        builder.id(BlankNode::new_unchecked(format!("b{number}"))
            .as_ref()
            .into());
    }
    for term in terms {
        builder.id(term.as_ref());
    }
    builder.finish().unwrap()
}

fn file_bytes(dictionary: &Dictionary) -> Vec<Vec<u8>> {
    let files = dictionary.files().into_iter();
    files.map(|file| file.all().unwrap().to_vec()).collect()
}

/// Writes a generation that has nothing but a dictionary, and opens it.
fn written(
    disk: &dyn Disk,
    live: &Arc<LiveDictionary>,
    counts: TermCounts,
    limit_bytes: Option<u64>,
) -> Dictionary {
    let generation = begin(disk, Path::new(STORE)).unwrap();
    let directory = generation.directory().to_owned();
    let spilling = match limit_bytes {
        None => Spilling::Never,
        Some(limit_bytes) => Spilling::Above {
            limit_bytes,
            disk,
            directory: &directory,
        },
    };
    let view = live.view(counts);
    write_dictionary(&view, &generation, spilling, &|| false).unwrap();
    let names = disk.list(&directory).unwrap();
    assert_eq!(names.len(), 8, "no temporary file is left: {names:?}");
    let blank_nodes = view.counts().blank_nodes;
    generation
        .commit(BTreeMap::from([(
            BLANK_NODES_COUNT.to_owned(),
            blank_nodes,
        )]))
        .unwrap();
    open_dictionary(&open(disk, Path::new(STORE)).unwrap(), blank_nodes).unwrap()
}

#[test]
fn the_files_are_those_of_a_load() {
    let terms = terms_of(1, 6000);
    for limit_bytes in [None, Some(64 << 10), Some(64 << 20)] {
        let disk = SimDisk::new(1, Path::new("/data"), SimFaults::default());
        let mut live = live_over(Dictionary::empty().unwrap());
        let mut ids = Vec::new();
        for terms in terms.chunks(2500) {
            live.intern(&refs(terms), &mut ids).unwrap();
            let base = written(&disk, &live, live.counts(), limit_bytes);
            live = Arc::new(live.rebased(Arc::new(base)));
        }
        assert_eq!(live.bytes(), 0);
        let expected = loaded(&terms);
        assert_eq!(live.counts(), expected.counts());
        assert_eq!(file_bytes(live.base()), file_bytes(&expected));
        let mut found = Vec::new();
        live.base().ids(&refs(&terms), &mut found).unwrap();
        assert!(found.into_iter().eq(ids.iter().copied().map(Some)));
        let mut decoded = TermBuffer::new();
        live.base().terms(&ids, &mut decoded).unwrap();
        assert!(
            decoded
                .iter()
                .eq(terms.iter().map(|term| Some(term.as_ref())))
        );
        let mut faults = Vec::new();
        live.base().check(|fault| faults.push(fault.to_string()));
        assert_eq!(faults, Vec::<String>::new());
    }
}

#[test]
fn terms_beyond_the_view_stay_in_memory() {
    let disk = SimDisk::new(1, Path::new("/data"), SimFaults::default());
    let terms = terms_of(2, 3000);
    let (first, second) = terms.split_at(1000);
    let live = live_over(loaded(&terms[..100]));
    let mut ids: Vec<VertexId> = Vec::new();
    live.intern(&refs(first), &mut ids).unwrap();
    let counts = live.counts();
    live.intern(&refs(second), &mut ids).unwrap();
    let base = written(&disk, &live, counts, None);
    assert_eq!(base.counts(), counts);
    assert_eq!(file_bytes(&base), file_bytes(&loaded(first)));
    let rebased = Arc::new(live.rebased(Arc::new(base)));
    assert_eq!(rebased.counts(), live.counts());
    let mut again = Vec::new();
    rebased.intern(&refs(&terms), &mut again).unwrap();
    assert_eq!(again, ids);
    assert_eq!(rebased.counts(), live.counts());
    // What files hold stays, also where an earlier moment is written.
    let all = live_over(loaded(&terms));
    let earlier = written(&disk, &all, counts, None);
    assert_eq!(file_bytes(&earlier), file_bytes(all.base()));
}

#[test]
fn a_dictionary_of_no_term_can_be_written_and_grown() {
    let files = MemoryParts::new();
    write_empty_dictionary(&files).unwrap();
    assert_eq!(files.summaries().len(), 8);
    let empty = open_dictionary(&files.freeze().unwrap(), 0).unwrap();
    assert_eq!(empty.counts(), TermCounts::default());
    assert_eq!(
        file_bytes(&empty),
        file_bytes(&DictionaryBuilder::new().finish().unwrap())
    );
    let live = live_over(empty);
    let terms = terms_of(3, 100);
    live.intern(&refs(&terms), &mut Vec::new()).unwrap();
    assert_eq!(live.counts(), loaded(&terms).counts());
}

#[test]
fn a_stop_at_any_moment_is_answered_with_one() {
    let live = live_over(loaded(&terms_of(4, 2000)));
    live.intern(&refs(&terms_of(5, 2000)), &mut Vec::new())
        .unwrap();
    let view = live.view(live.counts());
    let asked = AtomicU64::new(0);
    let count = || {
        asked.fetch_add(1, Ordering::Relaxed);
        false
    };
    write_dictionary(&view, &MemoryParts::new(), Spilling::Never, &count).unwrap();
    let asked = asked.into_inner();
    assert!(asked > 3 * 64, "asked {asked} times");
    for stopped_at in (0..asked).step_by(17) {
        let left = AtomicU64::new(stopped_at);
        let is_halted = || {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            })
            .is_err()
        };
        let written = write_dictionary(&view, &MemoryParts::new(), Spilling::Never, &is_halted);
        assert!(matches!(written, Err(DictionaryError::Halted)));
    }
}

#[test]
fn pairs_beyond_the_limit_go_to_files() {
    let disk = SimDisk::new(1, Path::new("/data"), SimFaults::default());
    let terms: Vec<Term> = (0..200_000)
        .map(|number| NamedNode::new_unchecked(number.to_string()).into())
        .collect();
    let live = live_over(Dictionary::empty().unwrap());
    live.intern(&refs(&terms), &mut Vec::new()).unwrap();
    let view = live.view(live.counts());
    let generation = begin(&disk, Path::new(STORE)).unwrap();
    let directory = generation.directory();
    let scratch_bytes = AtomicU64::new(0);
    let look = || {
        for name in disk.list(directory).unwrap() {
            if name.starts_with("scratch-") {
                let bytes = disk.map(&directory.join(name)).unwrap().len() as u64;
                scratch_bytes.fetch_max(bytes, Ordering::Relaxed);
            }
        }
        false
    };
    let spilling = Spilling::Above {
        limit_bytes: 1 << 20,
        disk: &disk,
        directory,
    };
    write_dictionary(&view, &generation, spilling, &look).unwrap();
    assert!(scratch_bytes.into_inner() > 1 << 20);
    generation.commit(BTreeMap::new()).unwrap();
    let opened = open(&disk, Path::new(STORE)).unwrap();
    let base = open_dictionary(&opened, live.counts().blank_nodes).unwrap();
    assert_eq!(file_bytes(&base), file_bytes(&loaded(&terms)));
}
