//! Live queries: an answer and its differences, whoever changes the store, and nothing evaluated that need not be.
//!
//! The oracle of each seed is the engine itself, asked anew after each commit, which other tests compare with the
//! definition: the first answer with all differences since is the answer at the snapshot that the last one names, of
//! random queries between random updates. Consumers read always, now and then, or go and come back.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

use oxrdf::{Dataset, Triple};
use somersault::output::Collected;
use somersault::{
    Database, Kind, LiveChange, Options, QueryError, ReportRow, Request, Subscriber,
    SubscriptionLimits, Subscriptions, UpdateRequest,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use store::disk::{SimDisk, SimFaults};
use testkit::graph::{self, Format};
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{
    Vocabulary, random_query, random_summary, random_update, random_wide_query,
};
use testkit::seeds;

/// Far longer than anything here takes.
const LONG: Duration = Duration::from_mins(1);

fn empty() -> Database {
    let options = Options {
        memory_is_writable: true,
        ..Options::default()
    };
    let loaded = somersault::load::load_in_memory(
        Vec::new(),
        &somersault::load::Request::default(),
        &options,
        &somersault::load::Unwatched,
    );
    loaded.unwrap().0
}

fn update(database: &Database, text: &str) -> u64 {
    let request = UpdateRequest {
        text,
        ..UpdateRequest::default()
    };
    database
        .update(&request)
        .unwrap_or_else(|error| panic!("{error}: {text}"))
        .snapshot
}

fn insert(database: &Database, predicate: &str, object: u64) -> u64 {
    update(
        database,
        &format!("INSERT DATA {{ <e:s> <e:{predicate}> {object} }}"),
    )
}

fn subscribe(live: &Subscriptions, text: &str) -> Result<Subscriber, QueryError> {
    live.subscribe(&Request::new(text), None, || ())
}

fn live(database: &Database) -> Subscriptions {
    Subscriptions::new(database.clone(), SubscriptionLimits::default())
}

/// What a consumer has been told so far.
#[derive(Default)]
struct Held {
    rows: HashMap<ReportRow, i64>,
    snapshot: Option<u64>,
    boolean: Option<bool>,
    resets: usize,
}

impl Held {
    /// Takes a change; an error where it does not follow what there is.
    fn take(&mut self, change: &LiveChange) -> Result<(), String> {
        match change.since {
            None => {
                self.rows.clear();
                self.resets += usize::from(change.is_reset);
                if !change.removed.is_empty() {
                    return Err("an answer takes rows away".to_owned());
                }
            }
            Some(since) if Some(since) == self.snapshot && since < change.snapshot => {}
            Some(since) => return Err(format!("since {since}, and {:?} is held", self.snapshot)),
        }
        let signed = [(1, &change.added), (-1, &change.removed)];
        for (sign, row) in signed
            .iter()
            .flat_map(|(sign, rows)| rows.iter().map(move |row| (sign, row)))
        {
            let count = self.rows.entry((*row.row).clone()).or_insert(0);
            *count += sign * row.count as i64;
            if *count < 0 {
                return Err(format!("{:?} goes, and was not there", row.row));
            }
        }
        if change
            .added
            .iter()
            .any(|row| change.removed.iter().any(|it| it.row == row.row))
        {
            return Err("a row comes and goes at once".to_owned());
        }
        self.rows.retain(|_, count| *count > 0);
        self.snapshot = Some(change.snapshot);
        self.boolean = change.boolean();
        Ok(())
    }

    fn shown(&self) -> BTreeMap<String, i64> {
        self.rows
            .iter()
            .map(|(row, count)| (format!("{:?}", row.0), *count))
            .collect()
    }
}

/// An answer that was asked for, as [`Held::shown`] has it.
fn asked(database: &Database, text: &str) -> BTreeMap<String, i64> {
    let mut query = database.start(&Request::new(text)).unwrap();
    let mut collected = Collected::default();
    query.run(&mut collected).unwrap();
    counted(collected)
}

/// The rows of an answer, each with how often it is there.
fn counted(collected: Collected) -> BTreeMap<String, i64> {
    let rows = match (collected.boolean, collected.triples) {
        (Some(true), _) => vec![Vec::new()],
        (Some(false), _) => Vec::new(),
        (None, Some(triples)) => {
            let distinct: HashSet<Triple> = triples.into_iter().collect();
            let row = |it: Triple| {
                vec![
                    Some(it.subject.into()),
                    Some(it.predicate.into()),
                    Some(it.object),
                ]
            };
            distinct.into_iter().map(row).collect()
        }
        (None, None) => collected.rows,
    };
    let mut counts = BTreeMap::new();
    for row in rows {
        *counts.entry(format!("{row:?}")).or_insert(0) += 1;
    }
    counts
}

/// Reads until the consumer holds what a query asked now answers.
fn settle(subscriber: &Subscriber, held: &mut Held, database: &Database, text: &str) {
    let begun = Instant::now();
    let expected = asked(database, text);
    loop {
        if held.snapshot.is_some() && held.shown() == expected {
            return;
        }
        assert!(
            begun.elapsed() < LONG,
            "{text}: {:?}, not {expected:?}",
            held.shown()
        );
        if let Some(change) = subscriber.wait(Duration::from_millis(50)).unwrap() {
            held.take(&change).unwrap();
        }
    }
}

/// Waits until all commits were looked at.
fn until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < LONG, "it never comes");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_answer_comes_first_and_then_what_changes() {
    let database = empty();
    insert(&database, "p", 1);
    let live = live(&database);
    let consumer = subscribe(&live, "SELECT ?o { ?s <e:p> ?o }").unwrap();
    let first = consumer.wait(LONG).unwrap().unwrap();
    assert_eq!(
        (first.snapshot, first.since, first.added.len()),
        (1, None, 1)
    );
    assert!(consumer.poll().unwrap().is_none());
    insert(&database, "p", 2);
    let next = consumer.wait(LONG).unwrap().unwrap();
    assert_eq!(
        (next.snapshot, next.since, next.is_reset),
        (2, Some(1), false)
    );
    assert_eq!((next.added.len(), next.removed.len()), (1, 0));
    update(&database, "DELETE WHERE { ?s <e:p> 1 }");
    let next = consumer.wait(LONG).unwrap().unwrap();
    assert_eq!((next.added.len(), next.removed.len()), (0, 1));
    let json = next.json().unwrap();
    let begins = "{\"type\":\"difference\",\"since\":2,\"snapshot\":3,\"head\":{\"vars\":[\"o\"]},\"added\":{\"bindings\":[]},\"removed\":{\"bindings\":[{";
    assert!(json.starts_with(begins), "{json}");
    // What comes and goes before anybody looks may be no difference.
    update(&database, "INSERT DATA { <e:other> <e:q> 3 ; <e:p> 2 }");
    update(&database, "DELETE DATA { <e:other> <e:p> 2 }");
    insert(&database, "p", 4);
    let last = consumer.wait(LONG).unwrap().unwrap();
    assert!(last.snapshot >= 4 && last.since == Some(3), "{last:?}");
}

/// A difference begins at what its consumer was told last, also where it has looked while what came and went had cancelled.
#[test]
fn a_difference_follows_the_one_that_was_told_before() {
    let database = empty();
    insert(&database, "p", 1);
    let live = live(&database);
    let query = "SELECT ?o { ?s <e:p> ?o }";
    let [quiet, eager] = [0, 1].map(|_| subscribe(&live, query).unwrap());
    for consumer in [&quiet, &eager] {
        assert_eq!(consumer.wait(LONG).unwrap().unwrap().snapshot, 1);
    }
    // Whoever waits for each has both evaluated.
    for text in [
        "INSERT DATA { <e:other> <e:p> 2 }",
        "DELETE DATA { <e:other> <e:p> 2 }",
    ] {
        update(&database, text);
        assert!(eager.wait(LONG).unwrap().is_some());
    }
    assert!(quiet.poll().unwrap().is_none());
    insert(&database, "p", 4);
    let last = quiet.wait(LONG).unwrap().unwrap();
    assert_eq!((last.snapshot, last.since), (4, Some(1)));
}

#[test]
fn commits_of_other_predicates_evaluate_nothing() {
    let database = empty();
    insert(&database, "p", 1);
    let live = live(&database);
    let texts = [
        "SELECT ?o { ?s <e:p> ?o }",
        "ASK { GRAPH ?g { ?s <e:late> ?o } }",
        "CONSTRUCT { ?s <e:x> ?o } WHERE { ?s <e:p>/<e:q> ?o }",
    ];
    let consumers = texts.map(|text| subscribe(&live, text).unwrap());
    for consumer in &consumers {
        assert!(consumer.wait(LONG).unwrap().is_some());
    }
    // Small layers are merged with those before as they are committed.
    for number in 0..50 {
        let skips = live.figures().skips;
        insert(&database, "other", number);
        until(|| live.figures().skips >= skips + 3);
    }
    let figures = live.figures();
    assert_eq!((figures.evaluations, figures.subscriptions), (3, 3));
    assert!(
        consumers
            .iter()
            .all(|consumer| consumer.poll().unwrap().is_none())
    );
    // One that reads a predicate that the store had not, in a graph that it had not.
    update(
        &database,
        "INSERT DATA { GRAPH <e:g> { <e:s> <e:late> 1 } }",
    );
    let change = consumers[1].wait(LONG).unwrap().unwrap();
    assert_eq!(change.boolean(), Some(true));
    assert_eq!(live.figures().evaluations, 4);
    update(&database, "DROP GRAPH <e:g>");
    let change = consumers[1].wait(LONG).unwrap().unwrap();
    assert_eq!(change.boolean(), Some(false));
    assert_eq!(live.figures().evaluations, 5);
    // Nobody reads any more: nothing is evaluated.
    drop(consumers);
    insert(&database, "p", 99);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(
        (live.figures().evaluations, live.figures().consumers),
        (5, 0)
    );
}

#[test]
fn whatever_publishes_is_seen() {
    let disk = SimDisk::new(1, std::path::Path::new("/disk"), SimFaults::default());
    let home = std::path::Path::new("/disk/store");
    let options = Options::default();
    let database = Database::open_writable_on(Arc::new(disk.clone()), home, &options).unwrap();
    insert(&database, "p", 0);
    let told = Box::new(|line: &str| eprintln!("{line}"));
    let follower = Database::open_following_on(Arc::new(disk), home, &options, told).unwrap();
    let text = "SELECT ?s ?o { ?s <e:p> ?o }";
    let lives = [live(&database), live(&follower)];
    let consumers = [0, 1].map(|at| subscribe(&lives[at], text).unwrap());
    let mut held = [Held::default(), Held::default()];
    for step in 0..6 {
        match step {
            0 | 3 => drop(insert(&database, "p", step)),
            1 => database.compact().unwrap(),
            2 => {
                let mut body: &[u8] = b"<e:doc> <e:p> \"loaded\" .";
                let written = database.write_graph(somersault::GraphWrite {
                    target: somersault::GraphTarget::Default,
                    mode: somersault::WriteMode::Add,
                    format: somersault::terms::format::Format::NTriples,
                    base: None,
                    body: &mut body,
                    timeout: None,
                });
                written.unwrap();
            }
            4 => drop(update(&database, "CLEAR DEFAULT")),
            _ => drop(insert(&database, "p", 7)),
        }
        assert!(follower.wait_for_snapshot(database.snapshot_number(), LONG));
        for at in [0, 1] {
            let of = [&database, &follower][at];
            settle(&consumers[at], &mut held[at], of, text);
        }
    }
    assert_eq!((held[0].resets, held[1].resets), (0, 0));
}

#[test]
fn who_comes_back_gets_the_difference_and_who_comes_too_late_the_answer() {
    let database = empty();
    insert(&database, "p", 1);
    let limits = SubscriptionLimits {
        linger: Duration::from_secs(2),
        ..SubscriptionLimits::default()
    };
    let live = Subscriptions::new(database.clone(), limits);
    let text = "SELECT ?o { ?s <e:p> ?o }";
    let again = |seen| live.subscribe(&Request::new(text), seen, || ()).unwrap();
    let consumer = again(None);
    let first = consumer.wait(LONG).unwrap().unwrap();
    drop(consumer);
    insert(&database, "p", 2);
    insert(&database, "p", 3);
    // Nobody read meanwhile, so this is evaluated now, and not before.
    assert_eq!(live.figures().evaluations, 1);
    let consumer = again(Some(first.snapshot));
    let next = consumer.wait(LONG).unwrap().unwrap();
    assert_eq!(
        (next.since, next.added.len(), next.is_reset),
        (Some(first.snapshot), 2, false)
    );
    assert_eq!(live.figures().evaluations, 2);
    // Another one has nothing yet, and shares the subscription.
    let other = again(None);
    let whole = other.wait(LONG).unwrap().unwrap();
    assert_eq!(
        (whole.since, whole.added.len(), whole.is_reset),
        (None, 3, false)
    );
    // One that has an answer that nobody knows.
    let lost = again(Some(77));
    let whole = lost.wait(LONG).unwrap().unwrap();
    assert_eq!(
        (whole.since, whole.added.len(), whole.is_reset),
        (None, 3, true)
    );
    assert_eq!(live.figures().evaluations, 2);
    drop((consumer, other, lost));
    until(|| live.figures().subscriptions == 0);
    let consumer = again(Some(next.snapshot));
    assert!(consumer.wait(LONG).unwrap().unwrap().is_reset);
}

#[test]
fn one_that_reads_nothing_gets_one_difference() {
    let database = empty();
    insert(&database, "p", 0);
    let live = live(&database);
    let text = "SELECT ?o { ?s <e:p> ?o }";
    let [slow, fast] = [0, 1].map(|_| subscribe(&live, text).unwrap());
    let first = slow.wait(LONG).unwrap().unwrap();
    let mut held = Held::default();
    for number in 1..60 {
        update(
            &database,
            &format!("DELETE WHERE {{ ?s <e:p> ?o }} ; INSERT DATA {{ <e:s> <e:p> {number} }}"),
        );
        if number % 7 == 0 {
            settle(&fast, &mut held, &database, text);
        }
    }
    settle(&fast, &mut held, &database, text);
    let change = slow.wait(LONG).unwrap().unwrap();
    assert_eq!(
        (change.since, change.added.len(), change.removed.len()),
        (Some(first.snapshot), 1, 1)
    );
    assert!(slow.poll().unwrap().is_none());
}

#[test]
fn an_answer_that_is_too_large_ends_its_subscription() {
    let database = empty();
    for number in 0..20 {
        insert(&database, "p", number);
    }
    let limits = SubscriptionLimits {
        answer_bytes_max: 5000,
        count_max: 2,
        ..SubscriptionLimits::default()
    };
    let live = Subscriptions::new(database.clone(), limits);
    let before = database.pool().used_bytes();
    let consumer = subscribe(&live, "SELECT ?o { ?s <e:p> ?o }").unwrap();
    assert!(consumer.wait(LONG).unwrap().is_some());
    for number in 20..60 {
        insert(&database, "p", number);
    }
    let error = loop {
        if let Err(error) = consumer.wait(LONG) {
            break error;
        }
    };
    assert_eq!(
        (error.kind, error.limit),
        (Kind::Memory, Some(5000)),
        "{error}"
    );
    assert!(error.message.contains("5000 bytes"), "{error}");
    until(|| live.figures().subscriptions == 0);
    assert_eq!(live.figures().failures, 1);
    let error = subscribe(&live, "SELECT * { ?s <e:p> ?o }").err().unwrap();
    assert_eq!(error.kind, Kind::Memory);
    drop(consumer);
    until(|| database.pool().used_bytes() == before);
    let all = [1, 2].map(|at| subscribe(&live, &format!("ASK {{ ?s <e:p> {at} }}")).unwrap());
    let error = subscribe(&live, "ASK { ?s <e:p> 3 }").err().unwrap();
    assert_eq!((error.kind, error.limit), (Kind::Unavailable, Some(2)));
    // Equal requests share one.
    assert!(subscribe(&live, "ASK { ?s <e:p> 1 }").is_ok());
    drop(all);
}

#[test]
fn consumers_are_woken_and_let_go() {
    let database = empty();
    let live = live(&database);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let told = move || {
        counted.fetch_add(1, Ordering::SeqCst);
    };
    let consumer = live
        .subscribe(&Request::new("ASK { ?s <e:p> 1 }"), None, told)
        .unwrap();
    assert_eq!(consumer.wait(LONG).unwrap().unwrap().boolean(), Some(false));
    let before = count.load(Ordering::SeqCst);
    insert(&database, "p", 1);
    until(|| count.load(Ordering::SeqCst) > before);
    let change = consumer.wait(LONG).unwrap().unwrap();
    assert_eq!(
        (change.boolean(), change.since.is_some()),
        (Some(true), true)
    );
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| consumer.wait(LONG).unwrap());
        std::thread::sleep(Duration::from_millis(20));
        live.end();
        assert!(waiting.join().unwrap().is_none());
    });
    assert!(subscribe(&live, "ASK {}").is_err());
}

#[test]
fn blank_nodes_of_a_template_are_functions_of_the_solution() {
    let database = empty();
    insert(&database, "p", 1);
    let live = live(&database);
    let text =
        "CONSTRUCT { _:x <e:of> ?o ; <e:seen> _:y } WHERE { ?s <e:p> ?o OPTIONAL { ?s <e:q> ?t } }";
    let consumer = subscribe(&live, text).unwrap();
    assert_eq!(consumer.wait(LONG).unwrap().unwrap().added.len(), 2);
    insert(&database, "p", 2);
    let change = consumer.wait(LONG).unwrap().unwrap();
    // What was there has the same labels.
    assert_eq!((change.added.len(), change.removed.len()), (2, 0));
    // The same solution twice is two blank nodes, of which one is gone with the second.
    update(&database, "INSERT DATA { <e:s> <e:q> 1, 2 }");
    let change = consumer.wait(LONG).unwrap().unwrap();
    assert_eq!((change.added.len(), change.removed.len()), (4, 0));
    update(&database, "DELETE DATA { <e:s> <e:q> 1 }");
    let change = consumer.wait(LONG).unwrap().unwrap();
    assert_eq!((change.added.len(), change.removed.len()), (0, 4));
}

#[derive(Default, Debug)]
struct Tally {
    queries: usize,
    refused: usize,
    commits: usize,
    compared: usize,
    /// Answers that the specification leaves open, of which only their sizes were compared.
    open: usize,
    /// Queries that took too long.
    skipped: usize,
    came_back: usize,
}

/// Some live queries between random updates. Returns what is wrong.
#[test]
fn differences_add_up_to_the_answer() {
    let mut tally = Tally::default();
    for seed in seeds::chosen(220, 6_000) {
        if let Err(complaint) = run(seed, &mut tally) {
            panic!("SOMERSAULT_SEED={seed}: {complaint}");
        }
    }
    eprintln!("live queries: {tally:?}");
    let is_replay = std::env::var_os("SOMERSAULT_SEED").is_some();
    assert!(
        is_replay || tally.compared > tally.open && tally.came_back > 0,
        "{tally:?}"
    );
}

fn run(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random::new(seed);
    let dataset = random_dataset(&Shape::small(&mut random), &mut random);
    if dataset.is_empty() {
        return Ok(());
    }
    let database = empty();
    load(&database, &dataset)?;
    let limits = SubscriptionLimits::default();
    let live = Subscriptions::new(database.clone(), limits);
    let vocabulary = Vocabulary::of(&dataset);
    let mut consumers = Vec::new();
    for _ in 0..6 {
        let text = match random.below(4) {
            0 => random_summary(&vocabulary, &mut random),
            1 => random_query(&vocabulary, &mut random),
            _ => random_wide_query(&vocabulary, &mut random),
        };
        // One that has another answer each time that it is asked says nothing of differences.
        match live.subscribe(&short(&text), None, || ()) {
            Ok(subscriber) => consumers.push(Consumer {
                is_open: is_open(&text),
                text,
                subscriber: Some(subscriber),
                held: Held::default(),
            }),
            Err(error) if error.kind == Kind::Unsupported => tally.refused += 1,
            Err(error) if error.kind == Kind::Timeout => tally.skipped += 1,
            Err(error) => {
                // What cannot be asked cannot be asked otherwise either.
                if support::answer_to(&database, &short(&text)).is_ok() {
                    return Err(format!("{error}: {text}"));
                }
            }
        }
    }
    tally.queries += consumers.len();
    for _ in 0..8 {
        let text = random_update(&vocabulary, &mut random);
        let request = UpdateRequest {
            text: &text,
            ..UpdateRequest::default()
        };
        if database.update(&request).is_ok() {
            tally.commits += 1;
        }
        if random.chance(10) {
            database.compact().map_err(|error| error.to_string())?;
        }
        let mut left = Vec::new();
        for mut consumer in consumers {
            let step = consumer.step(&live, &database, &mut random, tally);
            match step {
                Ok(()) => left.push(consumer),
                Err(Complaint::TooLong) => tally.skipped += 1,
                Err(Complaint::Wrong(why)) => {
                    return Err(format!("{why}\n{}\nafter {text}", consumer.text));
                }
            }
        }
        consumers = left;
    }
    Ok(())
}

/// Whether the specification leaves an answer open: which rows a slice leaves, and in which order texts are put together.
fn is_open(text: &str) -> bool {
    [
        "LIMIT",
        "OFFSET",
        "SAMPLE",
        "GROUP_CONCAT",
        "REDUCED",
        "AVG",
        "SUM",
    ]
    .iter()
    .any(|word| text.to_uppercase().contains(word))
}

/// A request that may not take long.
fn short(text: &str) -> Request<'_> {
    Request {
        timeout: Some(Duration::from_secs(2)),
        threads: Some(1),
        ..Request::new(text)
    }
}

/// Why a consumer cannot go on.
enum Complaint {
    TooLong,
    Wrong(String),
}

impl From<String> for Complaint {
    fn from(why: String) -> Complaint {
        Complaint::Wrong(why)
    }
}

impl From<QueryError> for Complaint {
    fn from(error: QueryError) -> Complaint {
        match error.kind {
            Kind::Timeout => Complaint::TooLong,
            _ => Complaint::Wrong(error.to_string()),
        }
    }
}

struct Consumer {
    text: String,
    is_open: bool,
    subscriber: Option<Subscriber>,
    held: Held,
}

impl Consumer {
    /// Reads, or reads nothing, or goes, or comes back.
    fn step(
        &mut self,
        live: &Subscriptions,
        database: &Database,
        random: &mut Random,
        tally: &mut Tally,
    ) -> Result<(), Complaint> {
        match random.below(6) {
            0 => return Ok(()),
            1 => {
                self.subscriber = None;
                return Ok(());
            }
            _ => {}
        }
        if self.subscriber.is_none() {
            let told = || ();
            let subscriber = live.subscribe(&short(&self.text), self.held.snapshot, told);
            self.subscriber = Some(subscriber?);
            tally.came_back += 1;
        }
        let subscriber = self.subscriber.as_ref().expect("it came back");
        let begun = Instant::now();
        let mut query = database.start(&short(&self.text))?;
        let mut collected = Collected::default();
        query.run(&mut collected)?;
        let expected = counted(collected);
        loop {
            let is_first = self.held.snapshot.is_none();
            let patience = if is_first {
                LONG
            } else {
                Duration::from_millis(2)
            };
            let change = subscriber.wait(patience)?;
            if let Some(change) = &change {
                self.held.take(change)?;
            }
            if self.is_open {
                // Whatever it chose, it has as many rows.
                let counts = [self.held.shown(), expected.clone()];
                let [held, expected] = counts.map(|rows| rows.values().sum::<i64>());
                if held == expected
                    || self.text.to_uppercase().contains("REDUCED")
                    || self.text.contains("DISTINCT")
                {
                    tally.open += 1;
                    return Ok(());
                }
            } else if self.held.shown() == expected {
                tally.compared += 1;
                return Ok(());
            }
            if begun.elapsed() > LONG {
                let held = self.held.shown();
                let why = format!("held {held:#?}, expected {expected:#?}");
                return Err(Complaint::Wrong(why));
            }
        }
    }
}

fn load(database: &Database, dataset: &Dataset) -> Result<(), String> {
    let text = graph::write(dataset, Format::NQuads);
    let written = database.write_graph(somersault::GraphWrite {
        target: somersault::GraphTarget::Store,
        mode: somersault::WriteMode::Replace,
        format: somersault::terms::format::Format::NQuads,
        base: None,
        body: &mut text.as_bytes(),
        timeout: None,
    });
    written.map(drop).map_err(|error| error.to_string())
}
