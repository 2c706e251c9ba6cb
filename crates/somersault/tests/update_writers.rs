//! Many writers at once: each commit has the effect that it would have alone, after those before it,
//! also where it was evaluated beside other writers (`Options::update_slice`, zero here for most runs).
//!
//! Money is moved between accounts while readers add it up; random requests are replayed in the order
//! of their commits against their definition; and one request that takes as long as the test wants
//! holds up nobody.

use crate::support;

use oxrdf::{Dataset, QuadRef, Term};
use somersault::Graph;
use somersault::output::ResultFormat;
use somersault::stop::StopToken;
use somersault::terms::format::Format;
use somersault::{
    Committed, Database, GraphTarget, GraphWrite, Kind, Options, ServiceClient, ServiceError,
    UpdateRequest, WriteMode,
};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use store::disk::{SimDisk, SimFaults};
use testkit::compare;
use testkit::naive::{NaiveError, update as naive};
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_update};
use testkit::renaming::{self, Verdict};
use testkit::{Answer, graph, seeds};

const HOME: &str = "/disk/store";
const WRITERS: usize = 8;
const ACCOUNTS: usize = 24;
/// What all accounts hold together.
const SUM: usize = ACCOUNTS * 100;

/// How changes are evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// In their turn.
    InTurn,
    /// Before it, and their effect is found in it.
    Beside,
    /// Before it, layer and record included.
    BesideAsLarge,
    /// As it comes.
    Usual,
}

const WAYS: [Way; 4] = [Way::Beside, Way::BesideAsLarge, Way::Usual, Way::InTurn];

impl Way {
    fn options(self) -> Options {
        let usual = Options::default();
        let (update_slice, update_turn_quads) = match self {
            Way::InTurn => (Duration::from_hours(1), usize::MAX),
            Way::Beside => (Duration::ZERO, usize::MAX),
            Way::BesideAsLarge => (Duration::ZERO, 0),
            Way::Usual => (usual.update_slice, usual.update_turn_quads),
        };
        Options {
            update_slice,
            update_turn_quads,
            ..usual
        }
    }
}

fn disk(seed: u64) -> SimDisk {
    SimDisk::new(seed, Path::new("/disk"), SimFaults::default())
}

fn open(disk: &SimDisk, options: &Options) -> Database {
    let database = Database::open_writable_on(Arc::new(disk.clone()), Path::new(HOME), options);
    database.unwrap_or_else(|error| panic!("{error}"))
}

fn update(database: &Database, text: &str) -> Result<Committed, somersault::QueryError> {
    database.update(&UpdateRequest {
        text,
        ..UpdateRequest::default()
    })
}

fn done(database: &Database, text: &str) -> Committed {
    update(database, text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn numbers(database: &Database, query: &str) -> Vec<usize> {
    let answer = support::answer(database, query, 1);
    let Ok(Answer::Rows { rows, .. }) = answer.map_err(support::NoAnswer::message) else {
        panic!("{query}");
    };
    let number = |cell: Option<Term>| match cell {
        Some(Term::Literal(literal)) => literal.value().parse().expect("a number"),
        other => panic!("{other:?}: {query}"),
    };
    rows.into_iter().flatten().map(number).collect()
}

fn dump(graph: &Graph) -> Dataset {
    let mut dataset = Dataset::new();
    let mut take = |quad: QuadRef<'_>| {
        dataset.insert(&compare::plain_quad(quad));
        Ok(())
    };
    somersault::dump::all(graph, &mut take).expect("a graph in memory can be read");
    dataset
}

/// Moves money from one account to another, and leaves a note; by the order of both, or by all.
fn transfer(random: &mut Random, note: &str) -> String {
    let from = random.below(ACCOUNTS);
    let to = (from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
    let amount = random.between(1, 9);
    let pattern = if random.chance(90) {
        format!(":a{from} :holds ?x . :a{to} :holds ?y")
    } else {
        // Reads all accounts.
        format!(
            ":a{from} :holds ?x . :a{to} :holds ?y \
             {{ SELECT (SUM(?v) AS ?all) {{ ?a :holds ?v }} }} FILTER (?all = {SUM})"
        )
    };
    format!(
        "PREFIX : <http://e/> DELETE {{ :a{from} :holds ?x . :a{to} :holds ?y }} \
         INSERT {{ :a{from} :holds ?less ; :note \"{note}\" . :a{to} :holds ?more }} \
         WHERE {{ {pattern} BIND (?x - {amount} AS ?less) BIND (?y + {amount} AS ?more) }}"
    )
}

const ADDED_UP: &str = "PREFIX : <http://e/> SELECT (SUM(?v) AS ?all) (COUNT(?v) AS ?values) \
     (COUNT(DISTINCT ?a) AS ?accounts) { ?a :holds ?v }";

fn check_accounts(database: &Database) {
    assert_eq!(numbers(database, ADDED_UP), [SUM, ACCOUNTS, ACCOUNTS]);
}

#[test]
fn money_is_moved_by_eight_writers_and_none_is_lost() {
    let is_long = std::env::var_os("SOMERSAULT_LONG").is_some();
    let each = if is_long { 2_000 } else { 60 };
    for (way, seed) in WAYS.into_iter().zip(1..) {
        let disk = disk(seed);
        let database = open(&disk, &way.options());
        let account = |a| format!(":a{a} :holds 100 . ");
        let accounts = (0..ACCOUNTS).map(account).collect::<Vec<_>>().concat();
        done(
            &database,
            &format!("PREFIX : <http://e/> INSERT DATA {{ {accounts} }}"),
        );
        let (moved, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let (database, moved) = (&database, &moved);
                    scope.spawn(move || {
                        let mut random = Random::new(seed * 100 + writer as u64);
                        for number in 0..each {
                            let text = transfer(&mut random, &format!("{writer}-{number}"));
                            let committed = done(database, &text);
                            moved.fetch_add(u64::from(committed.inserted > 0), Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    check_accounts(&database);
                }
            });
            if way == Way::Beside {
                database.compact().expect("files beside writers");
            }
            for writer in writers {
                writer.join().expect("a writer ends well");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let notes = "PREFIX : <http://e/> SELECT (COUNT(*) AS ?n) { ?a :note ?n }";
        let expected = [WRITERS * each];
        assert_eq!(moved.into_inner(), expected[0] as u64, "{way:?}");
        let figures = database.change_figures().expect("it can be changed");
        eprintln!(
            "{way:?}: {} beside, {} again",
            figures.beside, figures.again
        );
        match way {
            Way::InTurn => assert_eq!((figures.beside, figures.again), (0, 0)),
            Way::Beside | Way::BesideAsLarge => {
                assert!(figures.beside >= expected[0] as u64, "{figures:?}");
                assert!(figures.again < figures.beside, "{figures:?}");
            }
            Way::Usual => {}
        }
        let before = dump(&database.graph());
        check_accounts(&database);
        assert_eq!(numbers(&database, notes), expected, "{way:?}");
        drop(database);
        let database = open(&disk, &Options::default());
        check_accounts(&database);
        assert_eq!(numbers(&database, notes), expected);
        assert_eq!(dump(&database.graph()), before, "{way:?}: opened again");
        database.compact().expect("it can be written out");
        check_accounts(&database);
    }
}

/// Work of an operation by definition, after which it is too large.
const WORK_MAX: u64 = 60_000;

#[test]
fn commits_do_what_they_would_do_alone() {
    let (mut compared, mut skipped, mut beside, mut again) = (0, 0, 0, 0);
    for seed in seeds::chosen(160, 4_000) {
        let way = WAYS[(seed % 3) as usize];
        match concurrent(seed, way) {
            Some(figures) => {
                compared += figures.0;
                beside += figures.1;
                again += figures.2;
            }
            None => skipped += 1,
        }
    }
    eprintln!(
        "{compared} updates compared, {skipped} seeds skipped, {beside} beside, {again} again"
    );
    let is_replay = std::env::var_os("SOMERSAULT_SEED").is_some();
    assert!(is_replay || compared > 1_000, "{compared} compared");
    assert!(is_replay || beside > compared as u64 / 2 && again > 0 && again < beside);
}

/// Updates by four writers, then by definition, one after the other. How many were compared, and how
/// often one was evaluated beside others, and again; `None` where the definition does not say.
fn concurrent(seed: u64, way: Way) -> Option<(usize, u64, u64)> {
    let mut random = Random::new(seed);
    let first = random_dataset(&Shape::small(&mut random), &mut random);
    if first.is_empty() {
        return None;
    }
    let disk = disk(seed);
    let database = open(&disk, &way.options());
    let text = graph::write(&first, graph::Format::NQuads);
    let loaded = put(&database, GraphTarget::Store, &text, WriteMode::Replace);
    let first = dump(&database.graph());
    let vocabulary = Vocabulary::of(&first);
    let texts: Vec<Vec<String>> = (0..4)
        .map(|_| {
            (0..5)
                .map(|_| random_update(&vocabulary, &mut random))
                .collect()
        })
        .collect();
    let log = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for texts in &texts {
            let (database, log) = (&database, &log);
            scope.spawn(move || {
                for text in texts {
                    let committed = update(database, text);
                    log.lock()
                        .expect("nobody panics with it")
                        .push((committed, text));
                }
            });
        }
    });
    let log = log.into_inner().expect("nobody panicked with it");
    let done = log
        .into_iter()
        .filter_map(|(committed, text)| Some((committed.ok()?, text)));
    let (now, compared) = replayed((seed, way), done.collect(), &first, loaded.snapshot)?;
    let figures = database.change_figures().expect("it can be changed");
    let check = |given: &Dataset| match renaming::compare(&now, given, &blank_nodes(&first)) {
        Verdict::Different => {
            panic!("SOMERSAULT_SEED={seed} {way:?}: expected\n{now}\nfound\n{given}")
        }
        Verdict::Same => Some(()),
        Verdict::Undecided => None,
    };
    let given = dump(&database.graph());
    check(&given)?;
    drop(database);
    let database = open(&disk, &Options::default());
    assert_eq!(
        dump(&database.graph()),
        given,
        "SOMERSAULT_SEED={seed} {way:?}: opened again"
    );
    Some((compared, figures.beside, figures.again))
}

/// What requests make of a dataset by definition, in the order of their commits, behind commit `number`;
/// and how many they are.
fn replayed(
    (seed, way): (u64, Way),
    mut log: Vec<(Committed, &String)>,
    first: &Dataset,
    mut number: u64,
) -> Option<(Dataset, usize)> {
    let is_idle = |committed: &Committed| committed.inserted + committed.deleted == 0;
    // What changed nothing has the number of what it saw, so it comes behind it.
    log.sort_by_key(|(committed, _)| (committed.snapshot, is_idle(committed)));
    let (mut now, mut compared) = (first.clone(), 0);
    for (committed, text) in log {
        let after = match naive::updated_within(&now, text, None, WORK_MAX) {
            Ok(after) => after,
            Err(
                NaiveError::TooLarge | NaiveError::Undetermined(_) | NaiveError::Unsupported(_),
            ) => {
                return None;
            }
            Err(error) => panic!("SOMERSAULT_SEED={seed}: {error}: {text}"),
        };
        let grown = after.len() as i64 - now.len() as i64;
        let told = committed.inserted as i64 - committed.deleted as i64;
        let place = format!("SOMERSAULT_SEED={seed} {way:?}: {committed:?}: {text}");
        assert_eq!(told, grown, "{place}");
        number += u64::from(!is_idle(&committed));
        assert_eq!(committed.snapshot, number, "{place}");
        now = with_own_blanks(&after, &now, compared);
        compared += 1;
    }
    Some((now, compared))
}

/// The dataset with other labels for the blank nodes that `before` has not: each update by definition
/// begins to number them anew.
fn with_own_blanks(dataset: &Dataset, before: &Dataset, number: usize) -> Dataset {
    let old = blank_nodes(before);
    let mut text = graph::write(dataset, graph::Format::NQuads);
    for label in blank_nodes(dataset).difference(&old) {
        // A label ends before a space.
        text = text.replace(&format!("_:{label} "), &format!("_:u{number}x{label} "));
    }
    graph::read(&text, graph::Format::NQuads).expect("what was written can be read")
}

fn blank_nodes(dataset: &Dataset) -> BTreeSet<String> {
    let text = dataset.to_string();
    let labels = text
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("_:"));
    labels.map(str::to_owned).collect()
}

fn put(database: &Database, target: GraphTarget, text: &str, mode: WriteMode) -> Committed {
    let written = database.write_graph(GraphWrite {
        target,
        mode,
        format: Format::NQuads,
        base: None,
        body: &mut text.as_bytes(),
        timeout: None,
    });
    written.unwrap_or_else(|error| panic!("{error}")).committed
}

/// Answers when it is told to.
struct Slow {
    asked: mpsc::Sender<()>,
    answer: Mutex<mpsc::Receiver<()>>,
}

impl ServiceClient for Slow {
    fn select(
        &self,
        _endpoint: &str,
        _query: &str,
        _timeout: Duration,
        _stopped: StopToken,
    ) -> Result<(ResultFormat, Box<dyn Read + Send>), ServiceError> {
        self.asked.send(()).expect("the test goes on");
        let answer = self.answer.lock().expect("nobody panicked with it");
        answer.recv().expect("the test goes on");
        let body = "{\"head\":{\"vars\":[\"v\"]},\"results\":{\"bindings\":[\
            {\"v\":{\"type\":\"literal\",\"value\":\"told\"}}]}}";
        Ok((ResultFormat::Json, Box::new(Cursor::new(body))))
    }
}

#[test]
fn a_long_evaluation_holds_up_nobody_and_sees_what_it_must() {
    for (between, again, expected) in [
        // Nothing that it reads.
        ("INSERT DATA { <ex:s> <ex:other> 1 }", 0, 1),
        // What it inserts itself, and what it does not find any more.
        ("INSERT DATA { <ex:a> <ex:is> \"told\" }", 0, 1),
        (
            "INSERT DATA { GRAPH <ex:g> { <ex:b> <ex:in> <ex:x> } }",
            0,
            1,
        ),
        // A further row.
        ("INSERT DATA { <ex:b> <ex:in> <ex:x> }", 1, 2),
        ("DELETE DATA { <ex:a> <ex:in> <ex:x> }", 1, 0),
        // What it deletes, whose terms nobody knew before.
        ("INSERT DATA { <ex:a> <ex:was> <ex:new> }", 0, 1),
    ] {
        let (asked, was_asked) = mpsc::channel();
        let (tell, answer) = mpsc::channel();
        let options = Options {
            service: Some(Arc::new(Slow {
                asked,
                answer: Mutex::new(answer),
            })),
            ..Options::default()
        };
        let database = open(&disk(1), &options);
        done(&database, "INSERT DATA { <ex:a> <ex:in> <ex:x> }");
        let long = "DELETE { ?s <ex:was> ?new . ?s <ex:was> <ex:new> } INSERT { ?s <ex:is> ?v } \
            WHERE { ?s <ex:in> <ex:x> SERVICE <ex:slow> { ?p <ex:q> ?v } \
            BIND (IRI(\"ex:new\") AS ?new) }";
        std::thread::scope(|scope| {
            let running = scope.spawn(|| done(&database, long));
            was_asked.recv().expect("it is evaluated");
            // It would wait for ever if the other had the turn.
            let committed = done(&database, between);
            let changed = committed.inserted + committed.deleted;
            assert_eq!((committed.snapshot, changed), (2, 1));
            for _ in 0..9 {
                tell.send(()).expect("it waits");
            }
            running.join().expect("it ends well");
        });
        let figures = database.change_figures().expect("it can be changed");
        assert_eq!(figures.again, again, "{between}");
        let told = "SELECT (COUNT(*) AS ?n) { ?s <ex:is> \"told\" }";
        assert_eq!(numbers(&database, told), [expected], "{between}");
        let gone = "SELECT (COUNT(*) AS ?n) { ?s <ex:was> ?o }";
        assert_eq!(numbers(&database, gone), [0], "{between}");
    }
}

#[test]
fn a_large_document_is_written_beside_others() {
    for way in [Way::BesideAsLarge, Way::Beside] {
        let disk = disk(7);
        let database = open(&disk, &way.options());
        let mut document = String::new();
        for number in 0..20_000 {
            let (class, node) = (number % 7, number / 2);
            // Every other statement says something that was said already.
            writeln!(document, "<ex:n{node}> <ex:p> <ex:c{class}> .").expect("a string grows");
            writeln!(document, "<ex:n{node}> <ex:q> _:b{} .", number % 99).expect("a string grows");
        }
        let is_over = AtomicBool::new(false);
        let target = || GraphTarget::Named("ex:g".to_owned());
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3)
                .map(|writer| {
                    let (database, is_over) = (&database, &is_over);
                    scope.spawn(move || {
                        let mut number = 0;
                        while !is_over.load(Ordering::Relaxed) {
                            // New quads, new blank nodes, quads of the document that come and go.
                            done(
                                database,
                                &format!(
                                    "INSERT DATA {{ <ex:w{writer}> <ex:p> {number} , [] . \
                                     GRAPH <ex:g{writer}> {{ <ex:n{number}> <ex:p> <ex:c1> }} }} ; \
                                     DELETE WHERE {{ GRAPH <ex:g{writer}> {{ <ex:n{number}> ?p ?o }} }}"
                                ),
                            );
                            number += 1;
                        }
                        number
                    })
                })
                .collect();
            for mode in [WriteMode::Replace, WriteMode::Add, WriteMode::Replace] {
                put(&database, target(), &document, mode);
            }
            is_over.store(true, Ordering::Relaxed);
            for (writer, numbers_of) in writers.into_iter().enumerate() {
                let written = numbers_of.join().expect("a writer ends well");
                let of = format!("SELECT (COUNT(*) AS ?n) {{ <ex:w{writer}> <ex:p> ?o }}");
                assert_eq!(numbers(&database, &of), [2 * written]);
            }
        });
        let all =
            "SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT ?o) AS ?k) { GRAPH <ex:g> { ?s <ex:p> ?o } }";
        let nodes = "SELECT (COUNT(DISTINCT ?o) AS ?k) { GRAPH <ex:g> { ?s <ex:q> ?o } }";
        assert_eq!(numbers(&database, all), [20_000, 7]);
        assert_eq!(numbers(&database, nodes), [99]);
        let before = dump(&database.graph());
        drop(database);
        let database = open(&disk, &Options::default());
        assert_eq!(dump(&database.graph()), before, "{way:?}: opened again");
    }
}

#[test]
fn many_operations_do_what_they_would_do_one_by_one() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let way = WAYS[(seed % 4) as usize];
        // The definition leaves open whether a graph without a quad is there, so these always have one.
        let mut texts = vec![
            "INSERT DATA { GRAPH <ex:g> { <ex:kept> <ex:p0> 0 } GRAPH <ex:h> { <ex:kept> <ex:p0> 0 } }"
                .to_owned(),
        ];
        for _ in 0..250 {
            let (s, p, o) = (random.below(20), random.below(3), random.below(20));
            texts.push(match random.below(8) {
                0 | 1 => format!("DELETE DATA {{ <ex:s{s}> <ex:p{p}> {o} }}"),
                2 => format!(
                    "DELETE {{ ?s <ex:p{p}> ?o }} INSERT {{ ?s <ex:q> ?n }} \
                     WHERE {{ ?s <ex:p{p}> ?o FILTER (?o < {o}) BIND (?o + 1 AS ?n) }}"
                ),
                3 if random.chance(10) => "DELETE { GRAPH <ex:g> { ?s ?p ?o } } \
                     WHERE { GRAPH <ex:g> { ?s ?p ?o FILTER (?s != <ex:kept>) } }"
                    .to_owned(),
                3 => format!("INSERT DATA {{ GRAPH <ex:g> {{ <ex:s{s}> <ex:p{p}> {o} }} }}"),
                4 if random.chance(20) => "INSERT { GRAPH <ex:h> { ?s ?p ?o } } \
                     WHERE { GRAPH <ex:g> { ?s ?p ?o } }"
                    .to_owned(),
                _ => format!("INSERT DATA {{ <ex:s{s}> <ex:p{p}> {o} , \"{o}\" }}"),
            });
        }
        let text = texts.join(" ;\n");
        let database = open(&disk(seed), &way.options());
        let committed = done(&database, &text);
        let expected = naive::updated_within(&Dataset::new(), &text, None, 1 << 28);
        let expected = expected.expect("it is defined");
        let given = dump(&database.graph());
        assert_eq!(given, expected, "seed {seed}");
        let told = (committed.inserted, committed.deleted, committed.snapshot);
        assert_eq!(told, (expected.len() as u64, 0, 1));
    }
}

#[test]
fn what_a_change_holds_is_on_its_budget() {
    let mut document = String::new();
    for number in 0..50_000 {
        writeln!(document, "<ex:node{number}> <ex:p> \"{number}\" .").expect("a string grows");
    }
    for way in WAYS {
        let options = Options {
            query_memory_bytes: 2 << 20,
            ..way.options()
        };
        let database = open(&disk(3), &options);
        let data = format!("INSERT DATA {{ {document} }}");
        let error = update(&database, &data).expect_err("it takes more than that");
        assert_eq!(error.kind, Kind::Memory, "{error}");
        let written = database.write_graph(GraphWrite {
            target: GraphTarget::Default,
            mode: WriteMode::Replace,
            format: Format::NQuads,
            base: None,
            body: &mut document.as_bytes(),
            timeout: None,
        });
        assert_eq!(
            written.expect_err("it takes more than that").kind,
            Kind::Memory
        );
        assert_eq!(database.snapshot_number(), 0);
        assert_eq!(database.pool().used_bytes(), 0);
        done(&database, "INSERT DATA { <ex:a> <ex:p> 1 }");
    }
}

/// A statement that does not end is held as a whole by whoever parses it, and a short body may be one.
#[test]
fn what_a_parser_holds_of_a_statement_is_on_its_budget() {
    let documents = [
        (Format::NTriples, "<ex:a> <ex:p> \"", true),
        (Format::Turtle, "<ex:a> <ex:p> \"\"\"", true),
        // Many statements are not one, nor are comments of lines.
        (Format::NTriples, "<ex:a> <ex:p> \"x\" .\n", false),
        (Format::NTriples, "# nothing is said here\n", false),
    ];
    for (format, text, is_long) in documents {
        let options = Options {
            query_memory_bytes: 32 << 20,
            ..Options::default()
        };
        let database = open(&disk(4), &options);
        let repeated = if is_long { "xxxxxxxx" } else { text };
        let document = format!("{text}{}", repeated.repeat((16 << 20) / repeated.len()));
        let written = database.write_graph(GraphWrite {
            target: GraphTarget::Default,
            mode: WriteMode::Replace,
            format,
            base: None,
            body: &mut document.as_bytes(),
            timeout: None,
        });
        let kind = written.map(drop).map_err(|error| error.kind);
        let expected = if is_long { Err(Kind::Memory) } else { Ok(()) };
        assert_eq!(kind, expected, "{format:?} {text}");
        assert_eq!(database.pool().used_bytes(), 0);
    }
}
