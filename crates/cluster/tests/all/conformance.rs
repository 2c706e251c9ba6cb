//! The W3C's query suites, and random queries, over parts, in each mode: no answer may differ.

use super::drive::Drive;
use super::part::Form;
use super::world::{Matter, World};
use cluster::{Mode, ReadPolicy};
use explore::ServiceError;
use explore::environment::{EachSolution, Service};
use fabric::Fabric;
use oxrdf::{Dataset, Term, Triple};
use std::sync::Arc;
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query, random_summary, random_wide_query};
use testkit::suite::hold::{hold, on_a_thread};
use testkit::suite::{self, ExpectedResults, Results, Verdict};
use testkit::{Answer, compare, oracles, seeds};

const MODES: [Mode; 3] = [Mode::ForkJoin, Mode::InPlace, Mode::Dynamic];

/// Random graphs in an ordinary run, and queries for each.
const GRAPHS: u64 = 100;
const QUERIES: usize = 6;

/// Other worlds by name, which reach each other.
#[derive(Clone)]
struct Endpoints(Arc<Vec<(String, Dataset)>>);

impl Service for Endpoints {
    fn select(
        &self,
        endpoint: &str,
        text: &str,
        variables: &[String],
        each: &mut EachSolution<'_>,
    ) -> Result<(), ServiceError> {
        let named = self.0.iter().find(|(name, _)| name == endpoint);
        let (_, dataset) =
            named.ok_or_else(|| ServiceError::Failed(format!("{endpoint} cannot be reached")))?;
        let world = World::new(dataset, 1, Some(Arc::new(self.clone())));
        let answer = world.answer(text, None, 0, Mode::InPlace);
        let Results::Solutions {
            variables: given,
            rows,
        } = answer.map_err(ServiceError::Failed)?
        else {
            return Err(ServiceError::Failed("it is no SELECT".to_owned()));
        };
        for row in rows {
            let cell = |variable: &String| {
                let place = given.iter().position(|given| given == variable)?;
                row[place].clone()
            };
            let cells: Vec<Option<Term>> = variables.iter().map(cell).collect();
            each(&cells).map_err(ServiceError::Walk)?;
        }
        Ok(())
    }
}

/// Nodes, mode, what their parts are like, and what carries their bytes.
type Way = (u16, Mode, Form, fn(u16) -> (Drive, Vec<Arc<dyn Fabric>>));

/// The ways of an ordinary run.
const SOME: [Way; 5] = [
    (1, Mode::ForkJoin, Form::Plain, Drive::local),
    (3, Mode::ForkJoin, Form::Plain, Drive::local),
    (3, Mode::InPlace, Form::Plain, Drive::local),
    (3, Mode::InPlace, Form::Stored, Drive::local),
    (2, Mode::Dynamic, Form::Plain, Drive::local),
];

/// Those of a long one: all, over sockets those of three nodes alone, which take a third of a second to find each other.
fn all_ways() -> Vec<Way> {
    let mut ways: Vec<Way> = Vec::new();
    for mode in MODES {
        for number in [1, 2, 3, 8] {
            for form in [Form::Plain, Form::Stored] {
                ways.push((number, mode, form, Drive::local));
                ways.push((number, mode, form, |nodes| Drive::sim(nodes, 3)));
            }
        }
        ways.push((3, mode, Form::Stored, Drive::tcp));
    }
    ways
}

#[test]
fn the_suites_hold_over_parts() {
    hold(|case, text, services| {
        let endpoints = Arc::new(Endpoints(Arc::new(services)));
        let dataset = suite::data::dataset(case)?;
        let cases: &[Way] = if seeds::is_long() { &all_ways() } else { &SOME };
        for &(number, mode, form, carried) in cases {
            let service = Some(Arc::clone(&endpoints) as Arc<dyn Service + Send>);
            let matter = Matter::new(&dataset, number, service);
            let matter = matter.in_form(form, ReadPolicy::OneSided);
            let world = World::of(carried(number), matter).expecting_many();
            let home = text.len() % usize::from(number);
            let results = world.answer(text, Some(case.base()), home, mode)?;
            let verdict: Verdict = suite::compare::check(&ExpectedResults::of(case)?, &results);
            verdict
                .map_err(|complaint| format!("{number} parts, {mode:?}, {form:?}: {complaint}"))?;
        }
        Ok(true)
    });
}

/// Says what was asked when a panic passes.
struct Asked<'t>(u64, Mode, &'t str);

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("seed {}, {:?}: {}", self.0, self.1, self.2);
        }
    }
}

pub fn answer_of(results: Results) -> Answer {
    match results {
        Results::Boolean(value) => Answer::Boolean(value),
        Results::Solutions { variables, rows } => Answer::Rows { variables, rows },
        Results::Graph(triples) => Answer::Rows {
            variables: testkit::TRIPLE_COLUMNS.map(str::to_owned).to_vec(),
            rows: triples.into_iter().map(row_of).collect(),
        },
    }
}

fn row_of(triple: Triple) -> testkit::Row {
    let parts = [
        triple.subject.into(),
        triple.predicate.into(),
        triple.object,
    ];
    parts.map(Some).to_vec()
}

/// What carries the bytes of a world of so many nodes.
type Carried = fn(u16, u64) -> (Drive, Vec<Arc<dyn Fabric>>);

/// Asks queries of random graphs, one for each of these seeds, on 1, 2, 3 and 8 nodes, in each mode.
fn random_queries(seeds: std::ops::Range<u64>, carried: Carried) {
    let (mut answers, mut disputed) = (0, 0);
    for seed in seeds {
        let mut random = Random::new(seed);
        let dataset = random_dataset(&Shape::small(&mut random), &mut random);
        let vocabulary = Vocabulary::of(&dataset);
        let parts = [3, 2, 8, 1][seed as usize % 4];
        let mut matter = Matter::new(&dataset, parts, None);
        if seed % 3 == 1 {
            matter = matter.in_form(Form::Stored, ReadPolicy::Always);
        }
        let mut world = World::of(carried(parts, seed), matter);
        if seed % 3 > 0 {
            world = world.with_sizes(&mut random);
        }
        if seed % 5 > 1 {
            world = world.expecting_many();
        }
        for query in 0..QUERIES {
            let text = match query % 4 {
                0 => random_wide_query(&vocabulary, &mut random),
                1 => random_summary(&vocabulary, &mut random),
                _ => random_query(&vocabulary, &mut random),
            };
            let expected = match oracles::expected_wide(&dataset, &text) {
                Ok(Some(expected)) => expected,
                Ok(None) => continue,
                Err(_) => {
                    // That is the oracles' business, as long as it is rare.
                    disputed += 1;
                    continue;
                }
            };
            for mode in MODES {
                let _asked = Asked(seed, mode, &text);
                let home = random.below(parts.into());
                let answer = world.answer(&text, None, home, mode);
                let answer = answer.unwrap_or_else(|error| panic!("{error}"));
                let answer = answer_of(answer);
                let checked = compare::check(&expected, &answer, &compare::Blanks::Same);
                checked.unwrap_or_else(|complaint| panic!("{parts} parts: {complaint}"));
                answers += 1;
            }
        }
    }
    println!("{answers} answers are right, {disputed} queries are disputed");
    assert!(disputed * 100 <= answers, "{disputed} of {answers}");
}

#[test]
fn random_queries_are_answered_over_parts() {
    on_a_thread(|| {
        random_queries(seeds::chosen(GRAPHS, 50_000), |parts, _| {
            Drive::local(parts)
        });
    });
}

#[test]
fn random_queries_are_answered_over_a_simulated_network() {
    on_a_thread(|| random_queries(seeds::chosen(40, 50_000), Drive::sim));
}

#[test]
fn random_queries_are_answered_over_sockets() {
    on_a_thread(|| random_queries(seeds::chosen(12, 2_000), |parts, _| Drive::tcp(parts)));
}
