//! The dictionaries of a graph's parts: the files are those that a cut in memory gives, wherever pairs are sorted, and a stop
//! or a full disk is an error.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use crate::common;

use common::Numbers;
use oxrdf::{BlankNode, Literal, NamedNode, Term, TermRef, Triple};
use rdf::Placement;
use rdf::dictionary::part::{PartDictionary, check_parts, cut_in_memory};
use rdf::dictionary::{Dictionary, DictionaryBuilder, DictionaryView, LiveDictionary};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::delta::dictionary::{DictionaryError, Spilling};
use store::delta::part_dictionary::{cut_dictionary, open_part_dictionary};
use store::disk::{Disk, SimDisk, SimFaults};
use store::parts::{MemoryParts, PartFiles};

/// A dictionary of many terms of each kind, a third of them in memory.
fn view_of(seed: u64, count: u64) -> DictionaryView {
    let mut numbers = Numbers::new(seed);
    let mut term = || -> Term {
        let number = numbers.below(count);
        let name = NamedNode::new_unchecked(format!("http://example.org/{number}"));
        match numbers.below(4) {
            0 => name.into(),
            1 => Literal::new_simple_literal("x".repeat(number as usize % 90)).into(),
            2 => Literal::new_simple_literal(format!("{number}@e")).into(),
            _ => Triple::new(name.clone(), name, BlankNode::new_unchecked("b0")).into(),
        }
    };
    let mut builder = DictionaryBuilder::new();
    builder.id(BlankNode::new_unchecked("b0").as_ref().into());
    (0..count).for_each(|_| {
        builder.id(term().as_ref());
    });
    let live = Arc::new(LiveDictionary::new(Arc::new(builder.finish().unwrap())));
    let terms: Vec<Term> = (0..count / 2).map(|_| term()).collect();
    let terms: Vec<TermRef<'_>> = terms.iter().map(Term::as_ref).collect();
    live.intern(&terms, &mut Vec::new()).unwrap();
    live.view(live.counts())
}

fn bytes(part: &PartDictionary) -> Vec<Vec<u8>> {
    let files = part.files();
    files
        .iter()
        .map(|file| file.all().unwrap().to_vec())
        .collect()
}

fn written(
    view: &DictionaryView,
    placement: &Placement,
    spilling: Spilling<'_>,
) -> Vec<PartDictionary> {
    let parts: Vec<MemoryParts> = (0..placement.nodes()).map(|_| MemoryParts::new()).collect();
    let files: Vec<&dyn PartFiles> = parts.iter().map(|part| part as &dyn PartFiles).collect();
    cut_dictionary(view, placement, &files, spilling, &|| false).unwrap();
    let open = |parts: MemoryParts| {
        assert_eq!(parts.summaries().len(), 17);
        open_part_dictionary(&parts.freeze().unwrap()).unwrap()
    };
    parts.into_iter().map(open).collect()
}

#[test]
fn the_files_are_those_of_a_cut_in_memory() {
    let view = view_of(1, 9000);
    for (nodes, shift) in [(1, 14), (3, 4), (8, 0), (40, 2)] {
        let placement = Placement::in_turn(nodes, shift, 64).unwrap();
        let expected = cut_in_memory(&view, &placement).unwrap().into_iter();
        let expected: Vec<Vec<Vec<u8>>> = expected
            .map(|files| bytes(&PartDictionary::open(files).unwrap()))
            .collect();
        let directory = Path::new("/data");
        let disk = SimDisk::new(1, directory, SimFaults::default());
        for limit_bytes in [None, Some(64 << 10), Some(64 << 20)] {
            let spilling = match limit_bytes {
                None => Spilling::Never,
                Some(limit_bytes) => Spilling::Above {
                    limit_bytes,
                    disk: &disk,
                    directory,
                },
            };
            let parts = written(&view, &placement, spilling);
            let found: Vec<Vec<Vec<u8>>> = parts.iter().map(bytes).collect();
            assert!(found == expected, "{nodes} nodes, {limit_bytes:?}");
            assert!(
                disk.list(directory).unwrap().is_empty(),
                "no temporary file is left"
            );
            let parts: Vec<&PartDictionary> = parts.iter().collect();
            check_parts(&parts, |fault| panic!("{fault}"));
        }
    }
}

#[test]
fn a_dictionary_of_no_term_is_cut_too() {
    let live = Arc::new(LiveDictionary::new(Arc::new(Dictionary::empty().unwrap())));
    let parts = written(
        &live.view(live.counts()),
        &Placement::in_turn(2, 14, 4096).unwrap(),
        Spilling::Never,
    );
    let parts: Vec<&PartDictionary> = parts.iter().collect();
    check_parts(&parts, |fault| panic!("{fault}"));
}

#[test]
fn a_stop_at_any_moment_is_answered_with_one() {
    let view = view_of(4, 1000);
    let placement = Placement::in_turn(2, 4, 4).unwrap();
    let cut = |is_halted: &(dyn Fn() -> bool + Sync)| {
        let parts = [MemoryParts::new(), MemoryParts::new()];
        let files: Vec<&dyn PartFiles> = parts.iter().map(|part| part as &dyn PartFiles).collect();
        cut_dictionary(&view, &placement, &files, Spilling::Never, is_halted)
    };
    let asked = AtomicU64::new(0);
    cut(&|| {
        asked.fetch_add(1, Ordering::Relaxed);
        false
    })
    .unwrap();
    let all = asked.into_inner();
    assert!(all > 100, "{all}");
    for moment in (0..all).step_by(37) {
        let asked = AtomicU64::new(0);
        let halted = cut(&|| asked.fetch_add(1, Ordering::Relaxed) >= moment);
        assert!(matches!(halted, Err(DictionaryError::Halted)), "{moment}");
    }
}

#[test]
fn a_part_that_misses_a_file_says_which() {
    let parts = MemoryParts::new();
    let view = view_of(5, 10);
    let placement = Placement::whole();
    let files: [&dyn PartFiles; 1] = [&parts];
    cut_dictionary(&view, &placement, &files, Spilling::Never, &|| false).unwrap();
    let whole = store::load::open_dictionary(&parts.freeze().unwrap(), 1);
    let error = whole.unwrap_err().to_string();
    assert!(
        error.contains("iri-keys.bin"),
        "a part is no whole: {error}"
    );
    let error = open_part_dictionary(&MemoryParts::new().freeze().unwrap()).unwrap_err();
    assert!(error.to_string().contains("dictionary-head.bin"), "{error}");
}
