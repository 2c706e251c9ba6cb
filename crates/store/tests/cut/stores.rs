//! A store directory cut into directories of parts: on a simulated disk, with its dictionary, and what is refused.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use super::placement;
use crate::texts::{STORE, sim_disk, unwatched};
use rdf::dictionary::part::check_parts;
use std::path::Path;
use std::sync::Arc;
use store::Snapshot;
use store::check::{IdLimits, PartsCheck};
use store::cut::{CutStoreError, Deal, PartSizes, cut_store, open_part, part_name};
use store::delta::Version;
use store::directory::open;
use store::disk::SimDisk;
use store::load::{LoadError, LoadOptions, Source, load_into};

const PARTS: &str = "/data/parts";

fn load(disk: &SimDisk, text: &str) -> Result<(), LoadError> {
    let source = Source::reader("test.nq", text.as_bytes());
    let options = LoadOptions::new(1, [7; 16]);
    load_into(disk, Path::new(STORE), vec![source], &options, unwatched()).map(|_| ())
}

/// Text of some statements, `number` of them.
fn text(number: u64) -> String {
    let line = |at: u64| {
        let class = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
        format!(
            "<http://e/{at}> <{class}> <http://e/c{}> .\n<http://e/{at}> <http://e/p> <http://e/{}> <http://e/g{}> .\n",
            at % 3,
            at * 7 % number,
            at % 5
        )
    };
    (0..number).map(line).collect()
}

/// What everybody points at lies with a node that has little else.
#[test]
fn slots_are_dealt_out_so_that_parts_are_even() {
    let disk = sim_disk();
    let person = |number: usize| {
        format!(
            "<http://e/{number}> <http://e/phone> \"none\" .\n<http://e/{number}> <http://e/knows> <http://e/{}> .\n\
             <http://e/{number}> <http://e/age> \"{}\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n",
            number + 1,
            number % 50
        )
    };
    load(&disk, &(0..2000).map(person).collect::<String>()).unwrap();
    let [store, parts] = [STORE, PARTS].map(Path::new);
    let imbalance = |deal: &Deal| {
        let sizes = cut_store(&disk, store, parts, deal).unwrap();
        assert_eq!(sizes.sum(PartSizes::edges), 12_000);
        sizes.imbalance(PartSizes::edges)
    };
    assert!(imbalance(&Deal::By(placement(4, 5))) > 1.3);
    let even = Deal::Evenly {
        nodes: 4,
        shift: None,
    };
    assert!(imbalance(&even) < 1.02);
    let mut together = PartsCheck::default();
    for node in 0..4 {
        let opened = open(&disk, &parts.join(part_name(node))).unwrap();
        assert_eq!(together.add(&opened, &IdLimits::NONE), []);
    }
    assert_eq!(together.finish(), []);
}

#[test]
fn a_store_is_cut_into_stores() {
    let disk = sim_disk();
    load(&disk, &text(300)).unwrap();
    let [store, parts] = [STORE, PARTS].map(Path::new);
    let placement = placement(3, 4);
    let sizes = cut_store(&disk, store, parts, &Deal::By(placement.clone())).unwrap();
    let again = cut_store(&disk, store, parts, &Deal::By(placement.clone())).unwrap();
    assert_eq!(sizes, again, "parts that are there are replaced");
    let total = |of: &dyn Fn(&PartSizes) -> u64| sizes.sum(of);
    assert_eq!(total(&|part| part.out_edges), 600);
    assert_eq!(total(&|part| part.in_edges), 600);
    assert_eq!(total(&|part| part.links), 300);
    assert!(sizes.crossing_share() > 0.3 && sizes.crossing_share() < 1.0);
    let (mut together, mut dictionaries) = (PartsCheck::default(), Vec::new());
    for node in 0..3 {
        let opened = open(&disk, &parts.join(part_name(node))).unwrap();
        let limits = IdLimits::NONE;
        assert_eq!(together.add(&opened, &limits), []);
        let (part, dictionary) = open_part(&opened).unwrap();
        let mark = part.part_of().unwrap();
        assert_eq!((mark.node(), mark.placement()), (node, &placement));
        let quads = opened.manifest().counts["quads"];
        assert_eq!(quads, sizes.parts[usize::from(node)].out_edges);
        assert!(dictionary.counts().iris >= 300);
        assert_eq!(
            (dictionary.node(), dictionary.placement()),
            (node, &placement)
        );
        dictionaries.push(dictionary);
        let version = Version::new(Arc::new(part), 0, None);
        assert_eq!(version.quads().unwrap(), quads);
    }
    assert_eq!(together.finish(), []);
    let all: Vec<_> = dictionaries.iter().collect();
    check_parts(&all, |fault| panic!("{fault}"));
    let texts: u64 = all.iter().map(|part| part.counts_by_id().iris).sum();
    let ids: u64 = all.iter().map(|part| part.counts_by_hash().iris).sum();
    assert_eq!((texts, ids), (all[0].counts().iris, all[0].counts().iris));
    assert!(all.iter().all(|part| part.counts_by_id().iris > 0));
}

#[test]
fn what_cannot_be_cut_is_left_as_it_is() {
    let disk = sim_disk();
    load(&disk, &text(20)).unwrap();
    let [store, parts] = [STORE, PARTS].map(Path::new);
    let first = parts.join(part_name(0));
    cut_store(&disk, store, parts, &Deal::By(placement(2, 2))).unwrap();
    // A part is not cut, and nothing is loaded into it.
    let of_part = cut_store(
        &disk,
        &first,
        Path::new("/data/other"),
        &Deal::By(placement(2, 2)),
    );
    assert!(of_part.unwrap_err().to_string().contains("part 0 of 2"));
    let source = Source::reader("test.nq", &b"<http://e/a> <http://e/p> <http://e/b> ."[..]);
    let options = LoadOptions::new(1, [7; 16]);
    let into_part = load_into(&disk, &first, vec![source], &options, unwatched());
    let error = into_part.unwrap_err();
    let is_part = matches!(error, LoadError::IsPart { nodes: 2, .. });
    assert!(is_part, "{error}");
    assert!(open(&disk, &first).is_ok());
    // A store where a part is to be is left alone.
    let whole = Path::new("/data").join(part_name(0));
    let source = Source::reader("test.nq", &b"<http://e/a> <http://e/p> <http://e/b> ."[..]);
    load_into(&disk, &whole, vec![source], &options, unwatched()).unwrap();
    let over = cut_store(&disk, store, Path::new("/data"), &Deal::By(placement(2, 2)));
    assert!(matches!(over, Err(CutStoreError::Occupied { .. })));
    let opened = open(&disk, &whole).unwrap();
    assert_eq!(opened.manifest().counts["quads"], 1);
}

/// Parts of two states of a store are not parts of one graph.
#[test]
fn parts_of_other_graphs_are_told() {
    let disk = sim_disk();
    let [store, parts] = [STORE, PARTS].map(Path::new);
    load(&disk, &text(20)).unwrap();
    cut_store(&disk, store, parts, &Deal::By(placement(2, 2))).unwrap();
    load(&disk, &text(30)).unwrap();
    let later = Path::new("/data/later");
    cut_store(&disk, store, later, &Deal::By(placement(2, 2))).unwrap();
    let mut together = PartsCheck::default();
    for path in [parts.join(part_name(0)), later.join(part_name(1))] {
        let opened = open(&disk, &path).unwrap();
        assert_eq!(together.add(&opened, &IdLimits::NONE), []);
    }
    let findings = together.finish();
    assert!(
        findings[0].what.contains("was cut from another graph"),
        "{findings:?}"
    );
}

/// A mark that is damaged is an error: the part is never taken for a whole graph.
#[test]
fn a_damaged_mark_is_an_error() {
    let disk = sim_disk();
    load(&disk, &text(20)).unwrap();
    let [store, parts] = [STORE, PARTS].map(Path::new);
    cut_store(&disk, store, parts, &Deal::By(placement(2, 2))).unwrap();
    let path = parts.join(part_name(1));
    let opened = open(&disk, &path).unwrap();
    let mark = opened.directory().join("part");
    assert!(disk.damage(&mark, 5, 0x10));
    let opened = open(&disk, &path).unwrap();
    let error = Snapshot::open(&opened).err().unwrap().to_string();
    assert!(error.contains("part"), "{error}");
}
