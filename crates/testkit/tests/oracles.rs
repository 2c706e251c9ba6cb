//! The two oracles against each other, on random graphs and queries.
//!
//! Both have to agree where the specification leaves no choice and `spareval` is not known to
//! deviate. `SOMERSAULT_SEED` replays one graph; a failing one prints its seed.

use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query};
use testkit::{graph, oracles, seeds};

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
            tally.deviating += usize::from(expected.spareval_differs);
            tally.agreed += usize::from(!expected.spareval_differs);
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
