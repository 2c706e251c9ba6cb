//! The two oracles against each other, on random graphs and queries.
//!
//! Whoever is right about a query, both oracles have to agree where the specification leaves no
//! choice and `spareval` is not known to deviate. `SOMERSAULT_SEED` replays one graph; a failing
//! one prints its seed. `SOMERSAULT_LONG=1` runs many more.

use oxrdf::Dataset;
use testkit::compare::{self, Blanks};
use testkit::naive::{self, NaiveError};
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query};
use testkit::{graph, seeds, spareval_oracle};

const QUERIES_A_GRAPH: usize = 40;

#[derive(Default, Debug)]
struct Tally {
    agreed: usize,
    with_rows: usize,
    too_large: usize,
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
            if let Err(complaint) = agree(&dataset, &query, &mut tally) {
                let graph = graph::write(&dataset, graph::Format::NQuads);
                panic!("SOMERSAULT_SEED={seed}: {complaint}\n{query}\n{graph}");
            }
        }
    }
    eprintln!("oracles: {tally:?}");
    let asked = tally.agreed + tally.too_large + tally.deviating;
    assert!(
        tally.agreed * 10 > asked * 7,
        "too few questions were compared: {tally:?}"
    );
    assert!(
        tally.with_rows * 3 > tally.agreed,
        "too few answers have rows: {tally:?}"
    );
}

fn agree(dataset: &Dataset, query: &str, tally: &mut Tally) -> Result<(), String> {
    let mut expected = match naive::answer(dataset, query) {
        Ok(expected) => expected,
        Err(NaiveError::TooLarge) => {
            tally.too_large += 1;
            return Ok(());
        }
        Err(error) => return Err(error.to_string()),
    };
    if expected.spareval_differs {
        tally.deviating += 1;
        return Ok(());
    }
    (expected.offset, expected.limit, expected.ordering) = (0, None, None);
    compare::check(
        &expected,
        &spareval_oracle::answer(dataset, query)?,
        &Blanks::Same,
    )?;
    tally.agreed += 1;
    tally.with_rows += usize::from(!expected.rows.is_empty() || expected.boolean == Some(true));
    Ok(())
}
