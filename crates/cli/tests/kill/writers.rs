//! `kill -9` of a server while four writers advance counters of their own: nothing that was
//! acknowledged is lost, and no update is half there.
//!
//! A writer's update takes its counter from *n* to *n* + 1 in a graph of its own and notes beside it
//! that it did (`done n+1`); an update that were half applied would leave two values, none, or a note
//! without its value. After a kill the counter is what was acknowledged last, or one more: the one
//! whose answer was cut off.
//!
//! In another run eight writers move money between accounts and leave notes. Half of their updates read
//! so much that the server evaluates them beside the others, before their turn. After a kill all accounts
//! hold together what they held at first, and every note is there whose update was acknowledged.

use crate::common;

use common::{run, started, text};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const WRITERS: usize = 4;

pub fn serve(store: &Path) -> (Child, String) {
    let mut command = common::somersault();
    command.args([
        "serve",
        "-b",
        "127.0.0.1:0",
        "--allow-update",
        "-l",
        text(store),
    ]);
    let mut child = started(command.stdin(Stdio::null()));
    let errors = child.stderr.take().expect("a pipe was asked for");
    let mut lines = BufReader::new(errors).lines();
    let mut said = String::new();
    loop {
        let Some(Ok(line)) = lines.next() else {
            let ended = child.wait();
            panic!("the server ended, {ended:?}: {said}");
        };
        if let Some((_, address)) = line.split_once("listens on http://") {
            let address = address.to_owned();
            std::thread::spawn(move || lines.for_each(drop));
            return (child, address);
        }
        said += &line;
    }
}

/// Waits until this holds, for a minute at most: a busy machine may take longer to open a store than a kill waits for.
pub fn wait_until(holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() && begun.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Posts an update; whether it was acknowledged. A fresh connection each time: the server dies.
fn post(address: &str, update: &str) -> Option<bool> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .ok()?;
    let head = format!(
        "POST /update HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/sparql-update\r\nContent-Length: {}\r\n\r\n",
        update.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(update.as_bytes()).ok()?;
    let mut status = [0; 12];
    stream.read_exact(&mut status).ok()?;
    Some(&status[9..12] == b"204")
}

fn advance(writer: usize, value: u64) -> String {
    let next = value + 1;
    format!(
        "PREFIX : <http://e/> DELETE {{ GRAPH :g{writer} {{ :c :is ?n }} }} \
         INSERT {{ GRAPH :g{writer} {{ :c :is {next} . :c :done {next} }} }} \
         WHERE {{ GRAPH :g{writer} {{ :c :is ?n FILTER (?n = {value}) }} }}"
    )
}

/// The counters as the store has them; panics where an update is there by half.
fn counters(store: &Path) -> Vec<u64> {
    let query = "PREFIX : <http://e/> SELECT ?g ?n ?m ?k { \
                 { SELECT ?g (SUM(?v) AS ?n) (COUNT(?v) AS ?k) { GRAPH ?g { :c :is ?v } } GROUP BY ?g } \
                 { SELECT ?g (COUNT(?d) AS ?m) { GRAPH ?g { :c :done ?d } } GROUP BY ?g } } \
                 ORDER BY ?g";
    let ran = run([
        "query",
        "-l",
        text(store),
        "--query",
        query,
        "--results-format",
        "csv",
    ]);
    assert_eq!(ran.code, Some(0), "query failed: {}", ran.errors);
    let rows = ran.output.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.trim().split(',').collect();
        assert_eq!(cells[3], "1", "a counter with several values: {line}");
        let value: u64 = cells[1].parse().expect("a number");
        // `done 0` counts too.
        assert_eq!(cells[2].parse::<u64>(), Ok(value + 1), "notes: {line}");
        value
    });
    let rows: Vec<u64> = rows.collect();
    assert_eq!(rows.len(), WRITERS, "{}", ran.output);
    rows
}

#[test]
fn killed_while_four_write() {
    let is_long = std::env::var_os("SOMERSAULT_LONG").is_some();
    let kills = if is_long { 500 } else { 20 };
    let seed = std::env::var("SOMERSAULT_SEED").ok();
    let seed = seed
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(20_261_121u64);
    println!("seed {seed}, {kills} kills");
    let mut random = SplitMix64::seed_from_u64(seed);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let begin = (0..WRITERS).map(|g| format!("GRAPH :g{g} {{ :c :is 0 ; :done 0 }}"));
    let begin = begin.collect::<Vec<_>>().join(" ");
    let begin = format!("PREFIX : <http://e/> INSERT DATA {{ {begin} }}");
    let made = run(["update", "-l", text(&store), "--update", &begin]);
    assert_eq!(made.code, Some(0), "{}", made.errors);
    let acknowledged: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let mut met = 0;
    for kill in 0..kills {
        let moment = Duration::from_millis(5 + random.next_u64() % 250);
        let before: u64 = acknowledged.iter().map(|n| n.load(Ordering::SeqCst)).sum();
        let (mut child, address) = serve(&store);
        std::thread::scope(|scope| {
            for (writer, last) in acknowledged.iter().enumerate() {
                let address = &address;
                scope.spawn(move || {
                    loop {
                        let value = last.load(Ordering::SeqCst);
                        match post(address, &advance(writer, value)) {
                            Some(true) => last.store(value + 1, Ordering::SeqCst),
                            Some(false) => {} // 503 while the store is being opened
                            None => return,
                        }
                    }
                });
            }
            // Every second kill comes after an answer, whenever that is; the others may meet a store that is being opened.
            if kill % 2 == 0 {
                let sum = || {
                    acknowledged
                        .iter()
                        .map(|n| n.load(Ordering::SeqCst))
                        .sum::<u64>()
                };
                wait_until(|| sum() > before);
            }
            std::thread::sleep(moment);
            child.kill().expect("a child can be killed");
            child.wait().expect("the child is ours");
        });
        let found = counters(&store);
        for (last, found) in acknowledged.iter().zip(found) {
            let told = last.load(Ordering::SeqCst);
            assert!(
                found == told || found == told + 1,
                "kill {kill}: {told} was acknowledged, {found} is there"
            );
            last.store(found, Ordering::SeqCst);
        }
        let after: u64 = acknowledged.iter().map(|n| n.load(Ordering::SeqCst)).sum();
        met += u32::from(after > before);
        if kill % 10 == 9 {
            let compacted = run(["compact", "-l", text(&store)]);
            assert_eq!(compacted.code, Some(0), "{}", compacted.errors);
            let check = run(["check", "-l", text(&store)]);
            assert_eq!(check.code, Some(0), "{}{}", check.output, check.errors);
        }
    }
    assert!(met >= kills / 2, "only {met} of {kills} kills met writers");
}

/// Accounts, and what all of them hold together.
const ACCOUNTS: u64 = 40;
const SUM: u64 = ACCOUNTS * 100;
/// Quads whose pairs a slow transfer looks at: longer than a slice of the writers' turn.
const FILLER: u64 = 500;

/// Moves money, leaves a note. `is_slow`: after looking at much that has nothing to do with it.
fn transfer(bits: u64, note: &str, is_slow: bool) -> String {
    let from = bits % ACCOUNTS;
    let to = (from + 1 + (bits >> 8) % (ACCOUNTS - 1)) % ACCOUNTS;
    let amount = 1 + (bits >> 16) % 9;
    let slow = if is_slow {
        "{ SELECT (COUNT(*) AS ?k) { ?a :filler ?b . ?c :filler ?d FILTER (?b < ?d) } } FILTER (?k > 0)"
    } else {
        ""
    };
    format!(
        "PREFIX : <http://e/> DELETE {{ :a{from} :holds ?x . :a{to} :holds ?y }} \
         INSERT {{ :a{from} :holds ?less . :a{to} :holds ?more . :notes :note \"{note}\" }} \
         WHERE {{ :a{from} :holds ?x . :a{to} :holds ?y {slow} \
         BIND (?x - {amount} AS ?less) BIND (?y + {amount} AS ?more) }}"
    )
}

/// The only row of a query, as CSV.
fn row(store: &Path, query: &str) -> Vec<String> {
    let arguments = ["query", "-l", text(store), "--query", query];
    let ran = run(arguments.into_iter().chain(["--results-format", "csv"]));
    assert_eq!(ran.code, Some(0), "query failed: {}", ran.errors);
    let line = ran.output.lines().nth(1).expect("a row").trim();
    line.split(',').map(str::to_owned).collect()
}

#[test]
fn killed_while_eight_move_money() {
    let is_long = std::env::var_os("SOMERSAULT_LONG").is_some();
    let kills = if is_long { 200 } else { 8 };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let accounts = (0..ACCOUNTS).map(|a| format!(":a{a} :holds 100 ."));
    let filler = (0..FILLER).map(|f| format!(":f{f} :filler {f} ."));
    let begin: Vec<String> = accounts.chain(filler).collect();
    let begin = format!("PREFIX : <http://e/> INSERT DATA {{ {} }}", begin.join(" "));
    let update = folder.path().join("begin.ru");
    std::fs::write(&update, begin).expect("a file can be written");
    let made = run(["update", "-l", text(&store), text(&update)]);
    assert_eq!(made.code, Some(0), "{}", made.errors);
    let acknowledged = AtomicU64::new(0);
    let slow = AtomicU64::new(0);
    let mut met = 0;
    for kill in 0..kills {
        let before = acknowledged.load(Ordering::SeqCst);
        let (mut child, address) = serve(&store);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8u64)
                .map(|writer| {
                    let (address, acknowledged, slow) = (&address, &acknowledged, &slow);
                    scope.spawn(move || {
                        let mut random = SplitMix64::seed_from_u64(writer + 8 * kill);
                        for number in 0.. {
                            let note = format!("{kill}-{writer}-{number}");
                            let is_slow = writer % 2 == 0;
                            match post(address, &transfer(random.next_u64(), &note, is_slow)) {
                                Some(true) => {
                                    acknowledged.fetch_add(1, Ordering::SeqCst);
                                    slow.fetch_add(u64::from(is_slow), Ordering::SeqCst);
                                }
                                Some(false) => {} // 503 while the store is being opened
                                None => break,
                            }
                        }
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_millis(500 + kill * 37 % 200));
            // On a busy machine a slow one may take longer than that.
            wait_until(|| slow.load(Ordering::SeqCst) > 0);
            if kill % 2 == 0 {
                wait_until(|| acknowledged.load(Ordering::SeqCst) > before);
            }
            child.kill().expect("a child can be killed");
            child.wait().expect("the child is ours");
            for writer in writers {
                writer.join().expect("a writer ends well");
            }
        });
        let sums = "PREFIX : <http://e/> SELECT (SUM(?v) AS ?all) (COUNT(?v) AS ?values) \
                    (COUNT(DISTINCT ?a) AS ?accounts) { ?a :holds ?v }";
        let (sum, accounts) = (SUM.to_string(), ACCOUNTS.to_string());
        assert_eq!(row(&store, sums), [sum, accounts.clone(), accounts]);
        let notes = "PREFIX : <http://e/> SELECT (COUNT(*) AS ?n) { :notes :note ?n }";
        let noted: u64 = row(&store, notes)[0].parse().expect("a number");
        let told = acknowledged.load(Ordering::SeqCst);
        assert!(
            told <= noted && noted <= told + 8,
            "kill {kill}: {told} were acknowledged, {noted} are noted"
        );
        acknowledged.store(noted, Ordering::SeqCst);
        met += u64::from(noted > before);
    }
    assert!(
        slow.load(Ordering::SeqCst) > 0,
        "no slow update was acknowledged"
    );
    assert!(met >= kills / 2, "only {met} of {kills} kills met writers");
}
