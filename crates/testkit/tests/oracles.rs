//! The two oracles against each other, on random graphs and queries.
//!
//! Both have to agree where the specification leaves no choice and `spareval` is not known to
//! deviate. `SOMERSAULT_SEED` replays one graph; a failing one prints its seed.

use std::collections::BTreeMap;
use testkit::naive::{self, NaiveError};
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query, random_wide_query};
use testkit::{graph, oracles, seeds, shrink};

const QUERIES_A_GRAPH: usize = 40;

#[derive(Default, Debug)]
struct Tally {
    asked: usize,
    agreed: usize,
    with_rows: usize,
    deviating: usize,
}

#[test]
fn the_oracles_agree() {
    let mut tally = Tally::default();
    for seed in seeds::chosen(120, 2_000) {
        let mut random = Random::new(seed);
        let shape = Shape::random(&mut random);
        let dataset = random_dataset(&shape, &mut random);
        let vocabulary = Vocabulary::of(&dataset);
        for _ in 0..QUERIES_A_GRAPH {
            let query = random_query(&vocabulary, &mut random);
            let expected = oracles::expected(&dataset, &query).unwrap_or_else(|complaint| {
                let graph = graph::write(&dataset, graph::Format::NQuads);
                panic!("SOMERSAULT_SEED={seed}: {complaint}\n{query}\n{graph}")
            });
            tally.asked += 1;
            let Some(expected) = expected else { continue };
            let has_rows = !expected.rows.is_empty() || expected.boolean == Some(true);
            tally.deviating += usize::from(expected.spareval_differs.is_some());
            tally.agreed += usize::from(expected.spareval_differs.is_none());
            tally.with_rows += usize::from(has_rows);
        }
    }
    eprintln!("oracles: {tally:?}");
    assert!(
        tally.agreed * 10 > tally.asked * 7,
        "too few questions were compared: {tally:?}"
    );
    assert!(
        tally.with_rows * 3 > tally.agreed,
        "too few answers have rows: {tally:?}"
    );
}

/// Wide queries: the whole algebra on small graphs.
#[test]
fn the_oracles_agree_on_the_whole_algebra() {
    let mut tally = Tally::default();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for seed in seeds::chosen(250, 25_000) {
        let mut random = Random::new(seed);
        let shape = Shape::small(&mut random);
        let dataset = random_dataset(&shape, &mut random);
        let vocabulary = Vocabulary::of(&dataset);
        for _ in 0..QUERIES_A_GRAPH {
            let query = random_wide_query(&vocabulary, &mut random);
            tally.asked += 1;
            let expected = oracles::expected_wide(&dataset, &query);
            let expected = match expected {
                Ok(Some(expected)) => expected,
                Ok(None) => {
                    let why = naive::answer_within(&dataset, &query, oracles::WIDE_WORK_MAX);
                    let why = match why {
                        Err(NaiveError::Undetermined(why)) => why,
                        _ => "too large",
                    };
                    *reasons.entry(why).or_default() += 1;
                    continue;
                }
                Err(complaint) => {
                    failures.push(smallest(&dataset, &query, seed, complaint));
                    continue;
                }
            };
            let has_rows = !expected.rows.is_empty() || expected.boolean == Some(true);
            match expected.spareval_differs {
                Some(why) => {
                    tally.deviating += 1;
                    *reasons.entry(why).or_default() += 1;
                }
                None => tally.agreed += 1,
            }
            tally.with_rows += usize::from(has_rows);
        }
    }
    eprintln!("oracles, whole algebra: {tally:?}\n{reasons:#?}");
    let count = failures.len();
    failures.truncate(5);
    assert!(
        count == 0,
        "{count} disagreements, the first:\n{}",
        failures.join("\n\n")
    );
    assert!(
        tally.agreed * 10 > tally.asked * 7,
        "too few questions were compared: {tally:?}"
    );
    assert!(
        tally.with_rows * 2 > tally.agreed,
        "too few answers have rows: {tally:?}"
    );
}

/// The complaint about a part of the graph from which nothing can be taken away.
fn smallest(dataset: &oxrdf::Dataset, query: &str, seed: u64, complaint: String) -> String {
    let mut last = complaint;
    let small = shrink::dataset(dataset, &mut |part| {
        let verdict = oracles::expected_wide(part, query);
        verdict.map_err(|complaint| last = complaint).is_err()
    });
    let graph = graph::write(&small, graph::Format::NQuads);
    format!("SOMERSAULT_SEED={seed}: {last}\n{query}\n{graph}")
}
