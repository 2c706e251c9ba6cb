//! What people ask first of a graph, in many clothes, against the oracles.
//!
//! Each seed is a dataset in memory, mostly with named graphs beside the default one, of which a fifth of the
//! seeds have none, and some questions, each over one thread and over two. `update_oracle` asks the same
//! over layers. `SOMERSAULT_LONG=1` asks more, `SOMERSAULT_SEED=N` one seed's.

use crate::support;

use somersault::Database;
use support::NoAnswer;
use testkit::compare;
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_summary};
use testkit::{graph, oracles, seeds};

/// Questions of a seed.
const QUESTIONS: usize = 25;

#[derive(Default, Debug)]
struct Tally {
    compared: usize,
    skipped: usize,
}

#[test]
fn questions_about_whole_graphs_are_answered_as_by_definition() {
    let mut tally = Tally::default();
    for seed in seeds::chosen(80, 4_000) {
        let mut random = Random::new(seed);
        let shape = Shape::small(&mut random);
        let mut dataset = random_dataset(&shape, &mut random);
        if random.chance(20) {
            let named: Vec<_> = dataset
                .iter()
                .filter(|quad| !quad.graph_name.is_default_graph())
                .map(oxrdf::QuadRef::into_owned)
                .collect();
            for quad in &named {
                dataset.remove(quad);
            }
        }
        if dataset.is_empty() {
            continue;
        }
        let text = graph::write(&dataset, graph::Format::NQuads);
        let database = support::loaded(&text, graph::Format::NQuads, 2).unwrap();
        let blanks = support::blanks(&database).unwrap();
        let vocabulary = Vocabulary::of(&dataset);
        for _ in 0..QUESTIONS {
            let question = random_summary(&vocabulary, &mut random);
            let Ok(Some(expected)) = oracles::expected_wide(&dataset, &question) else {
                tally.skipped += 1;
                continue;
            };
            for threads in [1, 2] {
                match support::answer(&database, &question, threads) {
                    Ok(answer) => {
                        compare::check(&expected, &answer, &blanks).unwrap_or_else(|why| {
                            panic!("SOMERSAULT_SEED={seed}: {why}\n{question}\n{text}")
                        });
                    }
                    Err(NoAnswer::Refused(why)) => panic!("refused: {why}\n{question}"),
                    Err(NoAnswer::Failed(why)) => {
                        panic!("SOMERSAULT_SEED={seed}: {why}\n{question}")
                    }
                }
            }
            tally.compared += 1;
        }
    }
    eprintln!("summary: {tally:?}");
    assert!(tally.compared > 10 * tally.skipped, "{tally:?}");
}

#[test]
fn what_a_store_knows_of_itself_is_not_walked() {
    let text = "<http://e/a> <http://e/p> <http://e/b> . <http://e/b> <http://e/p> <http://e/a> .";
    let database: Database = support::loaded(text, graph::Format::Turtle, 1).unwrap();
    let plan = |text: &str| {
        let query = database.start(&somersault::Request::new(text)).unwrap();
        query.explain()
    };
    for (question, step) in [
        (
            "SELECT (COUNT(*) AS ?n) { ?a ?b ?c }",
            "sizes of any predicate",
        ),
        (
            "SELECT (COUNT(DISTINCT ?a) AS ?n) { ?a <http://e/p> ?c }",
            "sizes of <http://e/p>",
        ),
        ("SELECT DISTINCT ?b { ?a ?b ?c }", "sizes of ?b"),
        (
            "SELECT ?b (COUNT(DISTINCT ?c) AS ?n) { ?a ?b ?c FILTER(?b != <http://e/q>) } GROUP BY ?b",
            "sizes of ?b",
        ),
        (
            "SELECT ?c (COUNT(?a) AS ?n) { ?a <http://e/p> ?c } GROUP BY ?c",
            "degree ?c",
        ),
        ("SELECT DISTINCT ?c { ?a <http://e/p> ?c }", "degree ?c"),
    ] {
        let plan = plan(question);
        assert!(plan.contains(step), "{question}\n{plan}");
    }
}
