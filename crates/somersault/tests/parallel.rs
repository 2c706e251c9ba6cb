//! Larger random graphs: heavy queries cut across threads against one thread and the naive
//! evaluator.
//!
//! The graphs of `oracle` are too small for a plan to be heavy. Here a graph has tens of thousands
//! of triples; each answer's checksum over ids has to be the same on one, two and four threads, and
//! where the naive evaluator can keep up, the answer is compared with its as well.

use crate::support;

use oxrdf::{Dataset, Term};
use somersault::{Database, Folded, Kind, Request};
use std::fmt::Write as _;
use std::time::Duration;
use support::NoAnswer;
use testkit::compare::{self, Blanks};
use testkit::graph::{self, Format};
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query, random_summary};
use testkit::{Answer, naive, seeds};

const QUERIES_A_GRAPH: usize = 45;
const WORK_MAX: u64 = 8_000_000;
const SHAPE: Shape = Shape {
    vertices: 3_000,
    predicates: 8,
    triples: 25_000,
    graphs: 3,
    in_graphs: 25,
    blanks: 3,
    literals: 25,
    types: 10,
    loops: 1,
    predicate_vertices: 1,
    triple_terms: 1,
    is_skewed: true,
};

#[derive(Default, Debug)]
struct Tally {
    heavy: usize,
    light: usize,
    out_of_time: usize,
    compared_naively: usize,
}

#[test]
fn the_number_of_threads_does_not_change_an_answer() {
    let mut tally = Tally::default();
    let seeds = seeds::chosen(2, 40);
    for seed in seeds.clone() {
        let mut random = Random::new(seed);
        let dataset = random_dataset(&SHAPE, &mut random);
        let text = graph::write(&dataset, Format::NQuads);
        let database = support::loaded(&text, Format::NQuads, 2).unwrap();
        let blanks = support::blanks(&database).unwrap();
        let vocabulary = Vocabulary::of(&dataset);
        for number in 0..QUERIES_A_GRAPH {
            // Questions about everything are what is cut into the keys of all predicates.
            let query = match number % 3 {
                0 => random_summary(&vocabulary, &mut random),
                _ => random_query(&vocabulary, &mut random),
            };
            let verdict = check_threads(&database, &query, &mut tally)
                .and_then(|()| check_naively(&database, &dataset, &query, &blanks, &mut tally));
            if let Err(complaint) = verdict {
                panic!("SOMERSAULT_SEED={seed}: {complaint}\n{query}");
            }
        }
    }
    eprintln!("parallel: seeds {seeds:?}: {tally:?}");
    assert!(
        tally.heavy > 0 && tally.compared_naively > 0,
        "nothing was tested: {tally:?}"
    );
}

#[test]
fn joined_texts_follow_a_sub_query_whatever_the_number_of_threads() {
    let mut text = String::new();
    for number in 0..20_000_u32 {
        // Neither in the order of ids nor in that of the text.
        let at = number * 7919 % 20_000;
        let group = number % 5;
        writeln!(text, "<e:{number}> <e:in> <e:g{group}> ; <e:at> {at} .").unwrap();
    }
    let database = support::loaded(&text, Format::Turtle, 2).unwrap();
    let query = "SELECT ?g (GROUP_CONCAT(?at; SEPARATOR=\" \") AS ?all) (SAMPLE(?at) AS ?first) \
                 { ?s <e:in> ?g { SELECT ?s ?at { ?s <e:at> ?at } ORDER BY DESC(?at) } } GROUP BY ?g";
    let mut is_heavy = false;
    for threads in [1, 2, 4] {
        is_heavy |= folded(&database, query, threads).unwrap().unwrap().1;
        let answer = support::answer(&database, query, threads).map_err(NoAnswer::message);
        let Answer::Rows { rows, .. } = answer.unwrap() else {
            panic!("a SELECT gives rows");
        };
        assert_eq!(rows.len(), 5);
        for row in rows {
            let values: Vec<String> = row.iter().flatten().map(lexical_form).collect();
            let numbers: Vec<u32> = values[1].split(' ').map(|it| it.parse().unwrap()).collect();
            assert_eq!(numbers.len(), 4_000);
            assert!(
                numbers.is_sorted_by(|one, other| one > other),
                "{threads} threads"
            );
            assert_eq!(values[2], numbers[0].to_string());
        }
    }
    assert!(is_heavy, "nothing was walked by several threads");
}

#[test]
fn whoever_turns_pages_sees_each_row_once() {
    let mut text = String::new();
    for number in 0..30_000_u32 {
        // Keys of uneven weight, so that workers overtake each other.
        let fan = if number % 1000 < 20 { 40 } else { 1 };
        for other in 0..fan {
            writeln!(text, "<e:{number}> <e:p{}> <e:o{other}> .", number % 3).unwrap();
        }
    }
    let database = support::loaded(&text, Format::NTriples, 2).unwrap();
    let triples = 30_000 + 30 * 20 * 39;
    let everything = "SELECT * { ?s ?p ?o }";
    assert!(
        folded(&database, everything, 2).unwrap().unwrap().1,
        "light queries have one worker anyway"
    );
    // Ties: the order says nothing of the subject.
    for order in ["", "ORDER BY ?p ?o"] {
        let mut seen = std::collections::HashSet::new();
        for page in 0..=triples / 5_000 {
            let query = format!("{everything} {order} LIMIT 5000 OFFSET {}", page * 5_000);
            let answer = support::answer(&database, &query, 4).map_err(NoAnswer::message);
            let Answer::Rows { rows, .. } = answer.unwrap() else {
                panic!("a SELECT gives rows");
            };
            for row in rows {
                assert!(seen.insert(format!("{row:?}")), "twice: {row:?} {order}");
            }
        }
        assert_eq!(seen.len(), triples, "{order}");
    }
}

#[test]
fn the_first_in_an_order_are_the_same_ones_whoever_chooses_them() {
    // Few values for many subjects, so that most choices end among equals; keys of uneven weight, so that
    // a later part's choice is often full before an earlier one's.
    let mut text = String::new();
    for number in 0..40_000_u32 {
        let value = number * 7919 % 40_000 / 4_000;
        let fan = if number < 4_000 { 12 } else { 1 };
        for other in 0..fan {
            let other = (value + other) % 10;
            writeln!(text, "<e:{number}> <e:p{}> {other} .", number % 3).unwrap();
            writeln!(text, "<e:{number}> <e:t> \"{other}\", <e:o{other}> .").unwrap();
        }
    }
    let database = support::loaded(&text, Format::Turtle, 2).unwrap();
    let mut is_heavy = true;
    for order in ["?o", "DESC(?o)", "?p DESC(?o)", "STR(?o)", "?o ?s"] {
        for limit in ["LIMIT 1", "LIMIT 10", "LIMIT 1500 OFFSET 700", "LIMIT 9000"] {
            let query = format!("SELECT * {{ ?s ?p ?o }} ORDER BY {order} {limit}");
            is_heavy &= folded(&database, &query, 2).unwrap().unwrap().1;
            let rows = |threads| match support::answer(&database, &query, threads) {
                Ok(Answer::Rows { rows, .. }) => rows,
                Ok(_) => panic!("a SELECT gives rows"),
                Err(none) => panic!("{}", none.message()),
            };
            let alone = rows(1);
            for threads in [2, 4, 4] {
                assert!(rows(threads) == alone, "{threads} threads: {query}");
            }
        }
    }
    assert!(is_heavy, "light queries have one worker anyway");
}

/// A graph of which some vertices have far more edges than others.
fn uneven() -> Database {
    let mut text = String::new();
    for number in 0..3_000_u32 {
        // Some have far more than others.
        let fan = if number % 97 == 0 { 90 } else { 7 };
        for other in 0..fan {
            let next = (number + other * other + 1) % 3_000;
            writeln!(text, "<e:{number}> <e:p> <e:{next}> .").expect("nothing fails");
        }
        writeln!(text, "<e:{number}> <e:q> <e:{}> .", (number + 30) % 3_000)
            .expect("nothing fails");
        writeln!(text, "<e:{number}> <e:v> {} .", number % 10).expect("nothing fails");
    }
    support::loaded(&text, Format::Turtle, 2).expect("nothing fails")
}

/// The answer's rows as a bag.
fn bag(database: &Database, query: &str, threads: usize) -> Vec<String> {
    let answer = support::answer(database, query, threads);
    let Answer::Rows { rows, .. } = answer.map_err(NoAnswer::message).expect("nothing fails")
    else {
        panic!("a SELECT gives rows");
    };
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    rows
}

/// Plans that start from no set, or from a handful of vertices: rows of their first steps are handed to the threads.
#[test]
fn what_starts_from_no_set_is_shared_too() {
    let database = uneven();
    let start = [
        "<e:0> <e:q>* ?a",
        "VALUES ?a { <e:0> <e:97> <e:194> <e:0> <e:none> <e:291> <e:1> }",
        "{ ?a <e:v> 3 } UNION { ?a <e:v> 4 }",
        "{ SELECT DISTINCT ?a { ?a <e:v> ?v FILTER(?v < 2) } }",
        "BIND(<e:97> AS ?a)",
        "<e:0> <e:q> ?z . ?z <e:q> ?a",
    ];
    let rest = [
        "SELECT (COUNT(*) AS ?n) { @ . ?a <e:p> ?b . ?b <e:p> ?c . ?c <e:p> ?d }",
        "SELECT ?c (COUNT(*) AS ?n) (SUM(?v) AS ?s) { @ . ?a <e:p> ?b . ?b <e:p> ?c . ?c <e:v> ?v } GROUP BY ?c",
        "SELECT ?c ?t { @ . ?a <e:p> ?b . ?b <e:p> ?c . ?c <e:p> ?d . ?d <e:v> ?v . BIND(STR(?v) AS ?t) FILTER NOT EXISTS { ?d <e:q> ?b } }",
        "SELECT DISTINCT ?d { @ . ?a <e:p> ?b . ?b <e:p> ?c OPTIONAL { ?c <e:q> ?d } }",
        "SELECT (COUNT(?u) AS ?n) (COUNT(DISTINCT ?u) AS ?m) { @ . ?a <e:p> ?b . ?b <e:p> ?c . BIND(STRUUID() AS ?u) }",
        "SELECT (COUNT(*) AS ?n) { @ . ?a <e:p> ?b . ?b <e:p> ?c . ?c <e:q>? ?d . ?d <e:v> 7 }",
        "ASK { @ . ?a <e:p> ?b . ?b <e:p> ?c . ?c <e:none> ?d }",
        "SELECT ?d { @ . ?a <e:p> ?b . ?b <e:p> ?c . ?c <e:p> ?d } ORDER BY ?d LIMIT 5",
    ];
    let mut heavy = 0;
    for begins in start {
        for rest in rest {
            let query = rest.replace('@', begins);
            let (alone, is_heavy) = folded(&database, &query, 1).unwrap().expect("it has time");
            heavy += usize::from(is_heavy);
            for threads in [2, 4] {
                if query.contains("STR(") {
                    // What is computed is numbered as it comes.
                    let [one, several] =
                        [1, threads].map(|threads| bag(&database, &query, threads));
                    assert!(one == several, "{threads} threads: {query}");
                    continue;
                }
                let (shared, _) = folded(&database, &query, threads)
                    .unwrap()
                    .expect("it has time");
                assert_eq!(shared, alone, "{threads} threads: {query}");
            }
            if query.contains("STRUUID") {
                let answer = support::answer(&database, &query, 4).map_err(NoAnswer::message);
                let Answer::Rows { rows, .. } = answer.unwrap() else {
                    panic!("a SELECT gives rows");
                };
                assert_eq!(rows[0][0], rows[0][1], "each is another one: {query}");
            }
        }
    }
    assert!(heavy >= 15, "{heavy} of 48 were walked by several threads");
}

/// One that fails in the middle of it fails, whoever found that.
#[test]
fn what_starts_from_no_set_fails_as_one() {
    let database = uneven();
    let start = "<e:0> <e:q>* ?a . ?a <e:p> ?b . ?b <e:p> ?c . ?c <e:p> ?d";
    let big = format!("SELECT DISTINCT ?a ?b ?c ?d {{ {start} }}");
    let request = Request {
        threads: Some(4),
        memory_bytes: Some(1 << 20),
        ..Request::new(&big)
    };
    let mut running = database.start(&request).unwrap();
    assert_eq!(running.run_folded().unwrap_err().kind, Kind::Memory);
    let long =
        format!("SELECT (COUNT(*) AS ?n) {{ {start} . ?d <e:p> ?e . ?e <e:p> ?f . ?f <e:p> ?g }}");
    let request = Request {
        threads: Some(4),
        timeout: Some(Duration::from_millis(20)),
        ..Request::new(&long)
    };
    let mut running = database.start(&request).unwrap();
    assert_eq!(running.run_folded().unwrap_err().kind, Kind::Timeout);
}

#[test]
fn what_comes_after_a_shared_walk_is_not_cancelled_with_it() {
    let mut text = String::new();
    for number in 0..30_000_u32 {
        writeln!(text, "<e:{number}> <e:p> <e:o{}> .", number % 7).unwrap();
    }
    let database = support::loaded(&text, Format::NTriples, 2).unwrap();
    for query in [
        "DESCRIBE ?s { ?s <e:p> <e:o3> }",
        "DESCRIBE ?s { ?s ?p ?o }",
    ] {
        let answer = support::answer(&database, query, 4).map_err(NoAnswer::message);
        let Answer::Rows { rows, .. } = answer.unwrap() else {
            panic!("DESCRIBE gives triples");
        };
        assert!(rows.len() > 4_000, "{query}");
    }
}

fn lexical_form(term: &Term) -> String {
    match term {
        Term::Literal(literal) => literal.value().to_owned(),
        other => other.to_string(),
    }
}

/// The folded answer and whether its plan is heavy; `None` where time or memory ran out.
fn folded(
    database: &Database,
    query: &str,
    threads: usize,
) -> Result<Option<(Folded, bool)>, String> {
    let timeout = Some(Duration::from_millis(700));
    let request = Request {
        threads: Some(threads),
        timeout,
        ..Request::new(query)
    };
    let mut running = database
        .start(&request)
        .map_err(|error| error.to_string())?;
    let is_heavy = running.plan().weight == query::plan::Weight::Heavy;
    match running.run_folded() {
        Ok(folded) => Ok(Some((folded, is_heavy))),
        Err(error) if matches!(error.kind, Kind::Timeout | Kind::Memory) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn check_threads(database: &Database, query: &str, tally: &mut Tally) -> Result<(), String> {
    let Some((alone, is_heavy)) = folded(database, query, 1)? else {
        tally.out_of_time += 1;
        return Ok(());
    };
    tally.heavy += usize::from(is_heavy);
    tally.light += usize::from(!is_heavy);
    let is_slice = query.contains(" LIMIT") || query.contains(" OFFSET");
    for threads in [2, 4] {
        let Some((shared, _)) = folded(database, query, threads)? else {
            continue;
        };
        let is_same = if query.contains("REDUCED") {
            true
        } else if is_slice || query.starts_with("ASK") {
            shared.rows == alone.rows
        } else {
            shared == alone
        };
        if !is_same {
            return Err(format!("{threads} threads: {shared:?}, one: {alone:?}"));
        }
    }
    Ok(())
}

fn check_naively(
    database: &Database,
    dataset: &Dataset,
    query: &str,
    blanks: &Blanks,
    tally: &mut Tally,
) -> Result<(), String> {
    let Ok(expected) = naive::answer_within(dataset, query, WORK_MAX) else {
        return Ok(());
    };
    let answer = support::answer(database, query, 2).map_err(NoAnswer::message)?;
    tally.compared_naively += 1;
    compare::check(&expected, &answer, blanks)
}
