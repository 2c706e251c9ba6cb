//! Random graphs and queries: the engine against the naive evaluator and `spareval`.
//!
//! Each seed is a dataset, loaded from one of the text formats, with some tens of queries, each run
//! with one thread and with two, and some also with the optimiser off and with plans made by samples. Plain queries (patterns,
//! graphs, filters) are asked of some hundred triples, wide ones (the whole algebra) of some tens,
//! which is what an evaluation by definition can bear. At least 10,000 cases in an ordinary run, a
//! million with `SOMERSAULT_LONG=1`; a failure prints its seed, replayed by `SOMERSAULT_SEED=N`, the
//! query, and the smallest part of the graph on which it still fails.

use crate::support;

use oxrdf::{Dataset, GraphName, GraphNameRef, QuadRef};
use somersault::device::Accelerator;
use somersault::{Database, Request};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use support::NoAnswer;
use testkit::compare::{self, Blanks};
use testkit::graph::{self, Format};
use testkit::naive::Expected;
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query, random_wide_query};
use testkit::{MARKER, oracles, seeds, shrink};

const QUERIES_A_GRAPH: usize = 40;

/// A sort of queries, with the graphs that it is asked of.
struct Sort {
    name: &'static str,
    shape: fn(&mut Random) -> Shape,
    query: fn(&Vocabulary, &mut Random) -> String,
    expected: fn(&Dataset, &str) -> Result<Option<Expected>, String>,
    /// Whether the engine is told to see the union of all graphs as the default graph.
    is_union: bool,
    /// Graphs in an ordinary run, and in the long one.
    graphs: (u64, u64),
    /// Of a hundred queries, how many have to be compared: the rest is too large for the naive
    /// evaluator, or has no determined answer.
    compared_least: usize,
}

/// Patterns, graphs and filters.
const PLAIN: Sort = Sort {
    name: "plain",
    shape: Shape::random,
    query: random_query,
    expected: oracles::expected,
    is_union: false,
    graphs: (140, 5_600),
    compared_least: 90,
};

/// The whole algebra.
const WIDE: Sort = Sort {
    name: "whole algebra",
    shape: Shape::small,
    query: random_wide_query,
    expected: oracles::expected_wide,
    is_union: false,
    graphs: (150, 21_000),
    compared_least: 90,
};

/// Patterns, graphs and filters over the union of all graphs: what the oracles say of the dataset whose
/// default graph is that union.
const PLAIN_UNION: Sort = Sort {
    name: "plain, union of the graphs",
    expected: |dataset, query| oracles::expected(&merged(dataset), query),
    is_union: true,
    graphs: (40, 1_400),
    ..PLAIN
};

/// The whole algebra over the union of all graphs.
const WIDE_UNION: Sort = Sort {
    name: "whole algebra, union of the graphs",
    expected: |dataset, query| oracles::expected_wide(&merged(dataset), query),
    is_union: true,
    graphs: (40, 5_000),
    compared_least: 80,
    ..WIDE
};

/// One of so many queries is also planned in the order of its text.
const IN_ORDER_EVERY: usize = 3;
/// Failures that are shown whole.
const SHOWN_MAX: usize = 5;

#[derive(Default, Debug)]
struct Tally {
    compared: usize,
    /// Of these, also with a plan in the order of the text.
    in_order: usize,
    /// Plans made by samples.
    sampled: usize,
    /// Walks that began on a device.
    on_device: u64,
    with_rows: usize,
    too_large: usize,
    refused: BTreeMap<String, usize>,
    /// Cases in which the two oracles are of different opinions: one of them is wrong, and it is
    /// found out which before the next run; the engine is not asked.
    disagreements: Vec<String>,
    failures: Vec<String>,
}

#[test]
fn the_engine_answers_as_the_oracles_do() {
    compare_all(&PLAIN);
}

#[test]
fn the_engine_answers_the_whole_algebra_as_the_oracles_do() {
    compare_all(&WIDE);
}

#[test]
fn the_engine_answers_from_the_union_of_the_graphs_as_the_oracles_do() {
    compare_all(&PLAIN_UNION);
}

#[test]
fn the_engine_answers_the_whole_algebra_from_the_union_as_the_oracles_do() {
    compare_all(&WIDE_UNION);
}

/// The dataset with the triples of all graphs in its default graph.
fn merged(dataset: &Dataset) -> Dataset {
    let mut merged = dataset.clone();
    for quad in dataset {
        let (s, p, o) = (quad.subject, quad.predicate, quad.object);
        merged.insert(QuadRef::new(s, p, o, GraphNameRef::DefaultGraph));
    }
    merged
}

fn compare_all(sort: &Sort) {
    let mut tally = Tally::default();
    let seeds = seeds::chosen(sort.graphs.0, sort.graphs.1);
    for seed in seeds.clone() {
        run_seed(sort, seed, &mut tally);
    }
    let Tally {
        compared,
        in_order,
        sampled,
        on_device,
        with_rows,
        too_large,
        refused,
        disagreements,
        failures,
    } = &tally;
    let failed = failures.len();
    let refusals: usize = refused.values().sum();
    eprintln!(
        "oracle, {}: seeds {seeds:?}: {compared} compared ({with_rows} with rows, {in_order} also \
         without the optimiser, {sampled} by samples; {on_device} walks on a device), {too_large} too large or undetermined, {refusals} refused, \
         {failed} failed; the oracles disagree {} times",
        sort.name,
        disagreements.len()
    );
    let shown: Vec<&str> = failures
        .iter()
        .take(SHOWN_MAX)
        .map(String::as_str)
        .collect();
    assert!(
        failures.is_empty(),
        "{failed} failures, the first:\n{}",
        shown.join("\n\n")
    );
    assert!(
        disagreements.len() * 10_000 <= *compared,
        "the oracles disagree more than once in 10,000 cases: {disagreements:#?}"
    );
    let asked = compared + too_large + refusals;
    assert!(
        refusals * 50 <= asked,
        "more than 2 % of the queries were refused: {refused:#?}"
    );
    assert!(
        *in_order * IN_ORDER_EVERY >= *compared / 2,
        "only {in_order} of {compared} cases ran without the optimiser"
    );
    assert!(
        *sampled > 0 || seeds.end - seeds.start < 20,
        "no plan was sampled"
    );
    let least = (seeds.end - seeds.start) as usize * QUERIES_A_GRAPH * sort.compared_least / 100;
    assert!(
        *compared >= least,
        "only {compared} cases were compared, not {least}"
    );
}

/// One dataset and its queries.
fn run_seed(sort: &Sort, seed: u64, tally: &mut Tally) {
    let mut random = Random::new(seed);
    let shape = (sort.shape)(&mut random);
    let format = *random.pick(if sort.is_union {
        &[Format::NQuads, Format::TriG][..]
    } else {
        &Format::ALL
    });
    let dataset = written_part(random_dataset(&shape, &mut random), format);
    if dataset.is_empty() {
        return;
    }
    let vocabulary = Vocabulary::of(&dataset);
    let told = |complaint: &str| format!("SOMERSAULT_SEED={seed} ({format:?}): {complaint}");
    let threads = 1 + (seed % 2) as usize;
    let loaded = match Loaded::new(&dataset, format, threads, device_of(seed)) {
        Ok(loaded) => loaded,
        Err(complaint) => {
            let graph = graph::write(&dataset, format);
            tally.failures.push(told(&format!("{complaint}\n{graph}")));
            return;
        }
    };
    for number in 0..QUERIES_A_GRAPH {
        let query = (sort.query)(&vocabulary, &mut random);
        let expected = match (sort.expected)(&dataset, &query) {
            Ok(Some(expected)) => expected,
            Ok(None) => {
                tally.too_large += 1;
                continue;
            }
            Err(complaint) => {
                let complaint = format!("{}\n{query}", told(&complaint));
                eprintln!("{complaint}");
                tally.disagreements.push(complaint);
                continue;
            }
        };
        let is_in_order = number % IN_ORDER_EVERY == 0;
        match loaded.check(sort, &query, &expected, is_in_order) {
            Ok(None) => {
                tally.compared += 1;
                tally.in_order += usize::from(is_in_order);
            }
            Ok(Some(refusal)) => *tally.refused.entry(refusal).or_default() += 1,
            Err(complaint) => {
                eprintln!("{}", told(complaint.lines().next().unwrap_or_default()));
                // Only what is shown is made small.
                let repro = if tally.failures.len() < SHOWN_MAX {
                    repro(sort, &dataset, (format, seed), &query, &complaint)
                } else {
                    complaint
                };
                tally.failures.push(told(&repro));
            }
        }
        let has_rows = !expected.rows.is_empty() || expected.boolean == Some(true);
        tally.with_rows += usize::from(has_rows);
    }
    tally.sampled += loaded.sampled.get();
    if let Some(device) = &loaded.accelerator {
        tally.on_device += device.figures().queries;
        assert_eq!(device.figures().failures, 0, "the device fails nowhere");
    }
}

/// A device for some of the seeds, that queries begin on wherever it can begin them.
fn device_of(seed: u64) -> Option<Arc<Accelerator>> {
    seed.is_multiple_of(3)
        .then(|| support::accelerator(seed))
        .flatten()
}

/// What a format can hold of a dataset.
fn written_part(dataset: Dataset, format: Format) -> Dataset {
    if format.has_graphs() {
        return dataset;
    }
    let default = dataset
        .iter()
        .filter(|quad| quad.graph_name.is_default_graph());
    default.collect()
}

/// A loaded dataset and the names of its blank nodes.
struct Loaded {
    database: Database,
    /// A device that queries begin on.
    accelerator: Option<Arc<Accelerator>>,
    blanks: Blanks,
    /// Plans that were made by samples.
    sampled: Cell<usize>,
}

impl Loaded {
    fn new(
        dataset: &Dataset,
        format: Format,
        threads: usize,
        accelerator: Option<Arc<Accelerator>>,
    ) -> Result<Loaded, String> {
        let text = graph::write(dataset, format);
        let database = support::loaded_with(&text, format, threads, accelerator.clone())?;
        let blanks = support::blanks(&database)?;
        Ok(Loaded {
            database,
            accelerator,
            blanks,
            sampled: Cell::new(0),
        })
    }

    /// Whether the engine answers as expected, or what it refuses; on request also with a plan in
    /// the order of the text, which the optimiser has not touched, and with one made by samples, however
    /// light the query.
    fn check(
        &self,
        sort: &Sort,
        query: &str,
        expected: &Expected,
        is_in_order: bool,
    ) -> Result<Option<String>, String> {
        // The third time a plan is kept (`somersault::plan_cache`).
        let ways: &[(usize, bool, Option<Duration>)] = if is_in_order {
            &[
                (1, false, None),
                (2, false, None),
                (1, false, None),
                (1, true, None),
                (1, false, Some(Duration::ZERO)),
            ]
        } else {
            &[(1, false, None), (2, false, None), (1, false, None)]
        };
        for &(threads, keep_order, sample_from) in ways {
            let request = Request {
                threads: Some(threads),
                keep_order,
                sample_from,
                union_default_graph: sort.is_union.then_some(true),
                ..Request::new(query)
            };
            if sample_from.is_some() && self.is_sampled(&request) {
                self.sampled.set(self.sampled.get() + 1);
            }
            match support::answer_to(&self.database, &request) {
                Ok(answer) => compare::check(expected, &answer, &self.blanks).map_err(|it| {
                    format!(
                        "{threads} threads, order of the text {keep_order}, samples from \
                         {sample_from:?}: {it}"
                    )
                })?,
                Err(NoAnswer::Refused(message)) => return Ok(Some(message)),
                Err(NoAnswer::Failed(message)) => return Err(message),
            }
        }
        Ok(None)
    }
}

impl Loaded {
    fn is_sampled(&self, request: &Request<'_>) -> bool {
        let query = self.database.start(request);
        query.is_ok_and(|query| query.explain().contains("from samples (~)"))
    }
}

/// The complaint about a part of the dataset from which nothing can be taken away. Markers stay:
/// without them a blank node has no name.
fn repro(
    sort: &Sort,
    dataset: &Dataset,
    (format, seed): (Format, u64),
    query: &str,
    complaint: &str,
) -> String {
    let mut last = complaint.to_owned();
    let markers: Vec<_> = dataset
        .iter()
        .filter(|quad| quad.predicate.as_str() == MARKER)
        .collect();
    let mut fails = |part: &Dataset| {
        let mut part = part.clone();
        part.extend(markers.iter().copied());
        let Ok(Some(expected)) = (sort.expected)(&part, query) else {
            return false;
        };
        let loaded = Loaded::new(&part, format, 1, device_of(seed));
        let verdict = loaded.and_then(|it| it.check(sort, query, &expected, true));
        match verdict {
            Ok(_) => false,
            Err(complaint) => {
                last = complaint;
                true
            }
        }
    };
    let small = shrink::dataset(dataset, &mut fails);
    let count = dataset.len();
    let graph = graph::write(&small, Format::NQuads);
    format!(
        "{last}\n{query}\n{} of {count} quads (and the markers):\n{graph}",
        small.len()
    )
}

#[test]
fn formats_without_graphs_keep_the_default_graph() {
    let dataset = graph::parse("<e:a> <e:p> <e:b> . GRAPH <e:g> { <e:a> <e:p> <e:c> }").unwrap();
    let part = written_part(dataset.clone(), Format::Turtle);
    assert_eq!(part.len(), 1);
    assert!(
        part.iter()
            .all(|quad| quad.graph_name == GraphName::DefaultGraph.as_ref())
    );
    assert_eq!(written_part(dataset.clone(), Format::TriG), dataset);
}
