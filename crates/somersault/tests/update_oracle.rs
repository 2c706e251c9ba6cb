//! Random updates between random queries: the store against updates by definition.
//!
//! Each seed is a dataset in a store on a simulated disk and a run of requests. After each, what the
//! store holds is compared with what the definition makes of what it held, up to the names of new
//! blank nodes; queries over the layers are compared with the oracles over the same quads. Between
//! them, at random: the store is written out (`compact`), closed and opened again, or read by a
//! second reader that applies the same log; and moments of it are held and must not change. At
//! least 5,000 requests and queries in an ordinary run, 200,000 with `SOMERSAULT_LONG=1`; a failure
//! prints its seed, replayed by `SOMERSAULT_SEED=N`.

use crate::support;

use oxrdf::{Dataset, QuadRef};
use somersault::Graph;
use somersault::device::Accelerator;
use somersault::terms::format::Format;
use somersault::{Database, GraphTarget, GraphWrite, Options, UpdateRequest, WriteMode};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::disk::{SimDisk, SimFaults};
use support::NoAnswer;
use testkit::compare::{self, Blanks};
use testkit::naive::{NaiveError, update};
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{
    Vocabulary, random_query, random_summary, random_update, random_wide_query,
};
use testkit::renaming::{self, Verdict};
use testkit::{graph, oracles, seeds};

/// Requests of a seed.
const UPDATES: usize = 12;
/// Work of an operation by definition, after which it is too large.
const WORK_MAX: u64 = 60_000;
const HOME: &str = "/disk/store";

#[derive(Default, Debug)]
struct Tally {
    updates: usize,
    queries: usize,
    skipped: usize,
    /// Updates after which only the number of quads was compared.
    undecided: usize,
    reopened: usize,
    compacted: usize,
    held: usize,
    /// Queries that began on a device.
    on_device: u64,
    /// Queries of which the two oracles have different opinions: an error of ours, in what tests.
    disagreements: usize,
    failures: Vec<String>,
}

#[test]
fn updates_do_what_their_definition_says() {
    let mut tally = Tally::default();
    for seed in seeds::chosen(260, 10_500) {
        let mut run = Run::new(seed);
        if let Err(complaint) = run.all(&mut tally) {
            let told = format!("SOMERSAULT_SEED={seed}: {complaint}\n{}", run.story);
            tally.failures.push(told);
        }
    }
    let failures = std::mem::take(&mut tally.failures);
    eprintln!("update oracle: {tally:?}, {} failed", failures.len());
    for failure in &failures {
        eprintln!("{}", failure.lines().next().unwrap_or_default());
    }
    assert!(
        failures.is_empty(),
        "{} failures, the first:\n{}",
        failures.len(),
        failures[0]
    );
    let is_replay = std::env::var_os("SOMERSAULT_SEED").is_some();
    let compared = tally.updates + tally.queries;
    assert!(is_replay || compared > tally.skipped * 4, "{tally:?}");
    assert!(tally.undecided * 1000 <= tally.updates, "{tally:?}");
    // Without a compiler for the twin there is no device.
    let has_device = support::accelerator(1).is_some();
    let is_used = tally.on_device as usize * 40 >= tally.queries;
    assert!(is_replay || !has_device || is_used, "{tally:?}");
    let is_rare = tally.disagreements * 10_000 <= tally.queries;
    assert!(is_replay || is_rare, "the oracles disagree: {tally:?}");
}

/// One seed.
struct Run {
    random: Random,
    disk: SimDisk,
    database: Database,
    /// Devices on which queries and changes begin wherever they can: of every other seed.
    accelerator: Option<Arc<Accelerator>>,
    /// How long a change is evaluated in its turn.
    slice: Duration,
    threads: usize,
    /// Moments that are held, with what they were.
    held: Vec<(Arc<Graph>, Dataset)>,
    /// What was asked so far.
    story: String,
}

impl Run {
    fn new(seed: u64) -> Run {
        let disk = SimDisk::new(seed, Path::new("/disk"), SimFaults::default());
        let accelerator = (seed / 2).is_multiple_of(2);
        let accelerator = accelerator.then(|| support::accelerator(seed)).flatten();
        Run {
            random: Random::new(seed),
            database: open(&disk, slice(seed), accelerator.clone()),
            disk,
            accelerator,
            slice: slice(seed),
            threads: 1 + (seed % 2) as usize,
            held: Vec::new(),
            story: String::new(),
        }
    }

    fn all(&mut self, tally: &mut Tally) -> Result<(), String> {
        let mut shape = Shape::small(&mut self.random);
        if self.accelerator.is_some() && self.random.chance(70) {
            // Of named graphs a device walks nothing.
            (shape.graphs, shape.in_graphs) = (0, 0);
        }
        let dataset = random_dataset(&shape, &mut self.random);
        self.load(&dataset)?;
        if dataset.is_empty() {
            return Ok(());
        }
        if self.accelerator.is_some() && self.random.chance(80) {
            // A device walks changes of what a base has.
            self.database.compact().map_err(|error| error.to_string())?;
        }
        let mut now = dump(&self.database.graph())?;
        // Its blank nodes have marks of their own, so this is always decided.
        check(&dataset, &now, &Dataset::new()).ok_or("a load that is not decided")??;
        for _ in 0..UPDATES {
            // Names of what was there at first come again, so that what is gone comes back.
            let vocabulary = if self.random.chance(50) && !now.is_empty() {
                Vocabulary::of(&now)
            } else {
                Vocabulary::of(&dataset)
            };
            now = self.update(&vocabulary, now, tally)?;
            self.upset(&now, tally)?;
            if !now.is_empty() {
                self.query(&now, tally)?;
            }
        }
        for (graph, dataset) in self.held.drain(..) {
            if dump(&graph)? != dataset {
                return Err("a moment that was held has changed".to_owned());
            }
            tally.held += 1;
        }
        let figures = self.accelerator.as_ref().map(|it| it.figures());
        tally.on_device += figures.map_or(0, |figures| figures.queries);
        Ok(())
    }

    fn load(&mut self, dataset: &Dataset) -> Result<(), String> {
        let text = graph::write(dataset, graph::Format::NQuads);
        self.story.push_str(&text);
        let written = self.database.write_graph(GraphWrite {
            target: GraphTarget::Store,
            mode: WriteMode::Replace,
            format: Format::NQuads,
            base: None,
            body: &mut text.as_bytes(),
            timeout: None,
        });
        written.map(drop).map_err(|error| error.to_string())
    }

    fn update(
        &mut self,
        vocabulary: &Vocabulary,
        now: Dataset,
        tally: &mut Tally,
    ) -> Result<Dataset, String> {
        let text = random_update(vocabulary, &mut self.random);
        let expected = match update::updated_within(&now, &text, None, WORK_MAX) {
            Ok(expected) => expected,
            Err(
                NaiveError::TooLarge | NaiveError::Undetermined(_) | NaiveError::Unsupported(_),
            ) => {
                tally.skipped += 1;
                return Ok(now);
            }
            Err(error) => return Err(format!("{error}: {text}")),
        };
        self.story.push_str("--\n");
        self.story.push_str(&text);
        self.story.push('\n');
        let request = UpdateRequest {
            text: &text,
            ..UpdateRequest::default()
        };
        let committed = self.database.update(&request);
        let committed = committed.map_err(|error| error.to_string())?;
        let after = dump(&self.database.graph())?;
        match check(&expected, &after, &now) {
            Some(checked) => checked?,
            None => tally.undecided += 1,
        }
        let grown = after.len() as i64 - now.len() as i64;
        if committed.inserted as i64 - committed.deleted as i64 != grown {
            return Err(format!("{committed:?}, but {grown} quads more"));
        }
        if self.database.graph().quads != after.len() as u64 {
            return Err(format!("{} quads counted", self.database.graph().quads));
        }
        tally.updates += 1;
        Ok(after)
    }

    /// What else happens to a store.
    fn upset(&mut self, now: &Dataset, tally: &mut Tally) -> Result<(), String> {
        match self.random.below(12) {
            0 => {
                self.story.push_str("-- compact\n");
                self.database.compact().map_err(|error| error.to_string())?;
                tally.compacted += 1;
            }
            1 => {
                self.story.push_str("-- open again\n");
                let number = self.database.snapshot_number();
                self.held.clear();
                // The old one first: it has the lock.
                let other = SimDisk::new(0, Path::new("/disk"), SimFaults::default());
                self.database = open(&other, self.slice, None);
                self.database = open(&self.disk, self.slice, self.accelerator.clone());
                if self.database.snapshot_number() != number {
                    return Err("another snapshot number".to_owned());
                }
                tally.reopened += 1;
            }
            2 => {
                let options = Options::default();
                let other = Database::open_on(&self.disk, Path::new(HOME), &options);
                let other = other.map_err(|error| error.to_string())?;
                if dump(&other.graph())? != *now {
                    return Err("a reader beside the writer sees something else".to_owned());
                }
            }
            3 | 4 => self.held.push((self.database.graph(), now.clone())),
            _ => return Ok(()),
        }
        if dump(&self.database.graph())? != *now {
            return Err("the store has changed by itself".to_owned());
        }
        Ok(())
    }

    fn query(&mut self, now: &Dataset, tally: &mut Tally) -> Result<(), String> {
        let vocabulary = Vocabulary::of(now);
        let (text, expected) = if self.random.chance(25) {
            let text = random_summary(&vocabulary, &mut self.random);
            let expected = oracles::expected_wide(now, &text);
            (text, expected)
        } else if self.random.chance(50) {
            let text = random_query(&vocabulary, &mut self.random);
            let expected = oracles::expected(now, &text);
            (text, expected)
        } else {
            let text = random_wide_query(&vocabulary, &mut self.random);
            let expected = oracles::expected_wide(now, &text);
            (text, expected)
        };
        let expected = match expected {
            Ok(Some(expected)) => expected,
            Ok(None) => {
                tally.skipped += 1;
                return Ok(());
            }
            Err(complaint) => {
                eprintln!("{complaint}\n{text}");
                tally.disagreements += 1;
                return Ok(());
            }
        };
        match support::answer(&self.database, &text, self.threads) {
            Ok(answer) => {
                tally.queries += 1;
                compare::check(&expected, &answer, &Blanks::Same)
                    .map_err(|complaint| format!("{complaint}\n{text}"))
            }
            Err(NoAnswer::Refused(_)) => Ok(()),
            Err(NoAnswer::Failed(message)) => Err(format!("{message}\n{text}")),
        }
    }
}

/// Whether two datasets are the same up to the names of blank nodes that `before` has not; `None`
/// where that takes too long to decide.
fn check(expected: &Dataset, given: &Dataset, before: &Dataset) -> Option<Result<(), String>> {
    match renaming::compare(expected, given, &blank_nodes(before)) {
        Verdict::Same => Some(Ok(())),
        Verdict::Different => Some(Err(format!("expected\n{expected}\nfound\n{given}"))),
        Verdict::Undecided => None,
    }
}

/// Labels of blank nodes, those in triple terms too.
fn blank_nodes(dataset: &Dataset) -> BTreeSet<String> {
    let text = dataset.to_string();
    let labels = text
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("_:"));
    labels.map(str::to_owned).collect()
}

/// Every third seed evaluates all changes before their turn, another third none.
fn slice(seed: u64) -> Duration {
    match seed % 3 {
        0 => Duration::ZERO,
        1 => Duration::from_hours(1),
        _ => Options::default().update_slice,
    }
}

fn open(disk: &SimDisk, update_slice: Duration, accelerator: Option<Arc<Accelerator>>) -> Database {
    let options = Options {
        update_slice,
        accelerator,
        ..Options::default()
    };
    let database = Database::open_writable_on(Arc::new(disk.clone()), Path::new(HOME), &options);
    database.unwrap_or_else(|error| panic!("{error}"))
}

fn dump(graph: &Graph) -> Result<Dataset, String> {
    let mut dataset = Dataset::new();
    let mut take = |quad: QuadRef<'_>| {
        dataset.insert(&compare::plain_quad(quad));
        Ok(())
    };
    let quads = somersault::dump::all(graph, &mut take).map_err(|error| error.to_string())?;
    if quads != dataset.len() as u64 {
        return Err(format!("{quads} quads dumped, {} different", dataset.len()));
    }
    Ok(dataset)
}
