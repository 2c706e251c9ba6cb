//! The oracle of standing questions, held against other people's answers: golden files of benchmarks, and `spareval`
//! on random cases. Nothing of the first is checked where the folder of the streams is not there, and that is said.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use oxrdf::{Dataset, GraphName};
use std::collections::BTreeMap;
use std::path::PathBuf;
use testkit::compare::Blanks;
use testkit::naive::Expected;
use testkit::oracles::{self, WIDE_WORK_MAX};
use testkit::random::Random;
use testkit::standing::goldens::{self, GoldenRun};
use testkit::standing::{
    Reported, StandingCase, StandingMoment, Wanted, expected, instants, moment, random_standing,
    reports_by_spareval, window_iri,
};
use testkit::{Answer, compare, seeds};

/// Steps of one naive evaluation over a benchmark's window.
const GOLDEN_WORK_MAX: u64 = 100_000_000;

/// The folder of the streams; where it is absent, says so.
fn streams(test: &str) -> Option<PathBuf> {
    let folder = goldens::folder();
    if folder.is_none() {
        eprintln!("SKIPPED {test}: no folder shared/streams beside the checkout");
    }
    folder
}

fn by_spareval(run: &GoldenRun) -> Result<Vec<Reported>, String> {
    reports_by_spareval(&run.case, run.until_ms)
}

/// The naive oracle's reports as an engine would give them.
fn naively(run: &GoldenRun) -> Result<Vec<Reported>, String> {
    let wanted = expected(&run.case, run.until_ms, GOLDEN_WORK_MAX)?;
    let wanted = wanted.ok_or("too large to be asked naively")?;
    let reported = |wanted: Wanted| Reported {
        close_ms: wanted.close_ms,
        answer: Answer::Rows {
            variables: wanted.expected.variables,
            rows: wanted.expected.rows,
        },
    };
    Ok(wanted.into_iter().map(reported).collect())
}

#[test]
fn boundary_vectors() {
    let Some(folder) = streams("the boundary vectors") else {
        return;
    };
    let runs = goldens::boundary_vectors(&folder).unwrap();
    let count = runs.len();
    let compared = goldens::check(runs.into_iter().map(Ok), &mut naively).unwrap();
    eprintln!("boundary vectors: {count} runs, {compared} reports");
    assert!(
        count >= 22 && compared > 150,
        "{count} runs, {compared} reports"
    );
}

#[test]
fn csrbench() {
    let Some(folder) = streams("CSRBench") else {
        return;
    };
    let compared = goldens::check(goldens::csrbench(&folder), &mut by_spareval).unwrap();
    let is_light = |run: &Result<GoldenRun, _>| {
        run.as_ref()
            .is_ok_and(|run: &GoldenRun| !run.name.contains("q5"))
    };
    let every = if seeds::is_long() { 1 } else { 8 };
    let light = goldens::csrbench(&folder).filter(is_light).step_by(every);
    let naive = goldens::check(light, &mut naively).unwrap();
    eprintln!("CSRBench: {compared} reports by spareval, {naive} naively");
    assert!(compared > 400 && naive > 30);
}

#[test]
fn a_wrong_row_is_complained_about() {
    let Some(folder) = streams("CSRBench with errors") else {
        return;
    };
    let runs = || goldens::csrbench(&folder).skip(2).take(1);
    let mut lossy = |run: &GoldenRun| {
        let mut reports = by_spareval(run)?;
        for report in &mut reports {
            if let Answer::Rows { rows, .. } = &mut report.answer {
                rows.pop();
            }
        }
        Ok(reports)
    };
    let complaint = goldens::check(runs(), &mut lossy).unwrap_err();
    assert!(complaint.contains("csrbench q1.cc: report "), "{complaint}");
    let mut fewer = |run: &GoldenRun| by_spareval(run).map(|reports| reports[..3].to_vec());
    let complaint = goldens::check(runs(), &mut fewer).unwrap_err();
    assert!(
        complaint.contains("expected 34 reports, got 3"),
        "{complaint}"
    );
}

#[test]
fn lsbench() {
    let Some(folder) = streams("LSBench") else {
        return;
    };
    let until_ms = if seeds::is_long() { 6_000 } else { 1_200 };
    let compared = goldens::check(goldens::lsbench(&folder, until_ms), &mut by_spareval).unwrap();
    eprintln!("LSBench: {compared} reports");
    assert_eq!(compared as u64, 6 * ((until_ms - 1_000) / 100 + 1));
}

#[test]
fn citybench() {
    let Some(folder) = streams("CityBench") else {
        return;
    };
    let until_ms = if seeds::is_long() { 60_000 } else { 5_000 };
    let compared = goldens::check(goldens::citybench(&folder, until_ms), &mut by_spareval).unwrap();
    eprintln!("CityBench: {compared} reports");
    assert_eq!(compared as u64, 11 * (until_ms / 1_000 - 2));
}

#[derive(Default, Debug)]
struct Tally {
    cases: usize,
    asked: usize,
    answered: usize,
    with_reports: usize,
    with_rows: usize,
    compared: usize,
    dialects: BTreeMap<String, usize>,
}

/// Random cases have answers, and where windows can be plain graphs, both oracles have the same ones.
#[test]
fn random_cases() {
    let mut tally = Tally::default();
    for seed in seeds::chosen(300, 20_000) {
        let (case, until_ms) = random_standing(&mut Random::new(seed));
        tally.cases += 1;
        for (dialect, _) in case.question.texts(&case.streams) {
            *tally.dialects.entry(format!("{dialect:?}")).or_default() += 1;
        }
        let failed =
            |complaint: &str| -> ! { panic!("SOMERSAULT_SEED={seed}: {complaint}\n{case}") };
        tally.asked += instants(&case, until_ms).len();
        let Some(wanted) =
            expected(&case, until_ms, WIDE_WORK_MAX).unwrap_or_else(|error| failed(&error))
        else {
            continue;
        };
        tally.answered += 1;
        tally.with_reports += usize::from(!wanted.is_empty());
        let has_rows =
            |wanted: &Wanted| wanted.expected.given() > 0 || wanted.expected.boolean == Some(true);
        tally.with_rows += usize::from(wanted.iter().any(has_rows));
        tally.compared += compared(&case, &wanted).unwrap_or_else(|complaint| failed(&complaint));
    }
    eprintln!("random standing questions: {tally:?}");
    if tally.cases < 300 {
        return;
    }
    assert!(
        tally.answered * 10 > tally.cases * 7,
        "too few were answered: {tally:?}"
    );
    assert!(
        tally.with_rows * 3 > tally.answered,
        "too few have rows: {tally:?}"
    );
    assert!(
        tally.compared > tally.cases,
        "too few were compared: {tally:?}"
    );
    assert_eq!(tally.dialects.len(), 4, "{tally:?}");
}

/// Asks both oracles for whole answers over windows that are plain graphs; gives the number of answers compared.
fn compared(case: &StandingCase, wanted: &[Wanted]) -> Result<usize, String> {
    let question = &case.question;
    let is_plain = question.from.is_empty() && question.from_named.is_empty();
    let text = question.sparql();
    // What the other oracle does not know.
    let is_known = !question.is_multiset && !text.contains("#timestamp>");
    let is_rows = question.relation == query::standing::Relation::Rows;
    if !is_plain || !is_known || !is_rows || text.contains("GRAPH ?") {
        return Ok(0);
    }
    let mut count = 0;
    for wanted in wanted {
        let moment = moment(case, wanted.close_ms);
        if moment.windows.iter().any(Vec::is_empty) {
            continue;
        }
        let other = oracles::expected_wide(&with_graphs(case, &moment), &text)?;
        let Some(Expected { rows, boolean, .. }) = other else {
            continue;
        };
        if let Some(boolean) = boolean {
            compare::check(&wanted.expected, &Answer::Boolean(boolean), &Blanks::Same)?;
        } else {
            let bag = Expected {
                offset: 0,
                limit: None,
                ordering: None,
                is_reduced: false,
                choices: Vec::new(),
                ..wanted.expected.clone()
            };
            let variables = bag.variables.clone();
            compare::check(&bag, &Answer::Rows { variables, rows }, &Blanks::Same)?;
        }
        count += 1;
    }
    Ok(count)
}

fn with_graphs(case: &StandingCase, moment: &StandingMoment) -> Dataset {
    let mut dataset = moment.dataset(case);
    for (window, triples) in moment.windows.iter().enumerate() {
        if case.question.is_merged {
            continue;
        }
        let graph = GraphName::from(window_iri(window));
        dataset.extend(
            triples
                .iter()
                .map(|triple| triple.clone().in_graph(graph.clone())),
        );
    }
    dataset
}

/// The order in which items arrive says nothing, but for ties of windows that count.
#[test]
fn arrival_says_nothing() {
    let mut compared = 0;
    for seed in seeds::chosen(60, 2_000) {
        let (case, until_ms) = random_standing(&mut Random::new(seed));
        let mut in_order = case.clone();
        in_order.items.sort_by_key(|item| item.time_ms);
        let sorted = |case| {
            let mut wanted = expected(case, until_ms, WIDE_WORK_MAX).unwrap();
            for wanted in wanted.iter_mut().flatten() {
                // What is not ordered comes in any order.
                if wanted.expected.ordering.is_none() {
                    let rows = &mut wanted.expected.rows;
                    rows.sort_by_cached_key(|row| format!("{row:?}"));
                }
            }
            wanted
        };
        let one = sorted(&case);
        assert_eq!(one, sorted(&in_order), "SOMERSAULT_SEED={seed}\n{case}");
        compared += usize::from(one.is_some());
        let mut latest: BTreeMap<usize, u64> = BTreeMap::new();
        for item in &case.items {
            let latest = latest.entry(item.stream).or_default();
            let lateness = case.streams[item.stream].lateness_ms;
            let is_allowed = item.time_ms >= *latest || item.time_ms + lateness > *latest;
            assert!(
                is_allowed,
                "SOMERSAULT_SEED={seed}: an item is later than its stream allows\n{case}"
            );
            *latest = (*latest).max(item.time_ms);
        }
    }
    assert!(compared > 0);
}
