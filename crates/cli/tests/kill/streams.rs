//! `kill -9` of a server while two sources push items, a client changes the store, and consumers read reports.
//!
//! What the items are follows from their positions, so what each report must say follows from its close: how many items of
//! a second are in the window, and how many triples its stream had left in the store by then (of a query over two streams
//! that is not said: the first commit that covers both may have more of one). After a kill a source goes on
//! with the position that it has no answer for, so it says some things twice. Held: every close is reported once, in order,
//! with what it must say; a report that a consumer saw before a kill is there after it, with its number.

use super::writers::{serve, wait_until};
use crate::common;

use common::{run, text};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Milliseconds between two items of a stream.
const APART_MS: u64 = 20;
/// Items in a body.
const BODY: u64 = 7;
/// Milliseconds between two closes.
const STEP_MS: u64 = 200;
const QUERIES: [&str; 2] = ["one", "both"];
const STREAMS: [&str; 2] = ["urn:kept", "urn:passing"];

/// Sends a request; its status and body.
fn asked(address: &str, head: &str, media: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    let patience = Some(Duration::from_secs(30));
    stream.set_read_timeout(patience).ok()?;
    let request = format!(
        "{head} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: {media}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.get(9..12)?.parse().ok()?;
    let body = answer.split_once("\r\n\r\n")?.1.to_owned();
    Some((status, body))
}

fn item(stream: usize, position: u64) -> String {
    format!(
        "{}\t<urn:s{stream}/{position}> <urn:p{stream}> {} .\n",
        position * APART_MS,
        format_args!("\"{position}\"")
    )
}

/// Sends items from this position on until the server is gone; notes up to where they were acknowledged.
fn feed(address: &str, stream: usize, acknowledged: &AtomicU64) {
    loop {
        let first = acknowledged.load(Ordering::SeqCst);
        let body: String = (first..first + BODY)
            .map(|place| item(stream, place))
            .collect();
        let name = STREAMS[stream].replace(':', "%3A");
        let head = format!("POST /api/v1/streams/{name}/items?source=s&position={first}");
        match asked(address, &head, "text/plain", &body) {
            Some((200, _)) => acknowledged.store(first + BODY, Ordering::SeqCst),
            Some((503 | 404, _)) => std::thread::sleep(Duration::from_millis(2)),
            Some((status, body)) => panic!("{status}: {body}"),
            None => return,
        }
    }
}

/// The reports of a query that consumers saw, by number.
type Seen = BTreeMap<u64, String>;

/// Asks for the reports behind the last one that was seen, and notes them by number.
fn look(address: &str, query: &str, seen: &mut Seen) -> Option<()> {
    let after = seen.keys().next_back().copied().unwrap_or(0);
    read(address, query, after, seen)
}

fn read(address: &str, query: &str, after: u64, seen: &mut Seen) -> Option<()> {
    let head = format!("GET /api/v1/continuous/{query}/reports?after={after}&limit=1000");
    let (status, body) = asked(address, &head, "text/plain", "")?;
    if status != 200 {
        return None;
    }
    let answer: serde_json::Value = serde_json::from_str(&body).ok()?;
    for report in answer["reports"].as_array()? {
        let number = report["number"].as_u64()?;
        let line = report["report"].to_string();
        if let Some(known) = seen.insert(number, line.clone()) {
            assert_eq!(known, line, "report {number} was taken back");
        }
    }
    Some(())
}

/// What the report of a close must say.
fn expected(close_ms: u64) -> [(&'static str, u64); 3] {
    let items = |before_ms: u64| before_ms.div_ceil(APART_MS);
    let window = |range_ms: u64| items(close_ms) - items(close_ms.saturating_sub(range_ms));
    [
        ("kept", window(1000)),
        ("passing", window(400)),
        ("stored", items(close_ms)),
    ]
}

/// Compares all reports with what they must say; how many there are.
fn check(seen: &Seen) -> u64 {
    for (place, (number, line)) in (1..).zip(seen) {
        let report: serde_json::Value = serde_json::from_str(line).expect("a report is JSON");
        assert_eq!(*number, place, "a number is missing: {line}");
        let close_ms = report["close"].as_u64().expect("a close");
        assert_eq!(
            close_ms,
            (place - 1) * STEP_MS,
            "a close is missing: {line}"
        );
        let row = &report["results"]["bindings"][0];
        for (name, expected) in expected(close_ms) {
            let found = row[name]["value"].as_str();
            let found = found.map(|number| number.parse::<u64>().expect("a number"));
            assert!(
                found.is_none_or(|found| found == expected),
                "{name}: {line}"
            );
        }
        assert!(row["kept"]["value"].is_string(), "{line}");
    }
    seen.len() as u64
}

fn begin(address: &str) {
    for (stream, absorb) in [(STREAMS[0], "all"), (STREAMS[1], "none")] {
        let body = format!(r#"{{"name":"{stream}","absorb":"{absorb}","idle":"never","begin":0}}"#);
        let made = asked(address, "POST /api/v1/streams", "application/json", &body);
        assert_eq!(made.map(|(status, _)| status), Some(201));
    }
    let kept = "FROM STREAM <urn:kept> [RANGE 1s STEP 200ms]";
    let count =
        |name: &str, pattern: &str| format!("{{ SELECT (COUNT(*) AS ?{name}) {{ {pattern} }} }}");
    let in_kept = count("kept", "GRAPH <urn:kept> { ?s <urn:p0> ?o }");
    let in_passing = count("passing", "GRAPH <urn:passing> { ?s <urn:p1> ?o }");
    let stored = count("stored", "?s <urn:p0> ?o");
    let one = format!("{kept} WHERE {{ {in_kept} {stored} }}");
    let passing = "FROM STREAM <urn:passing> [RANGE 400ms STEP 200ms]";
    let both = format!("{kept} {passing} WHERE {{ {in_kept} {in_passing} }}");
    for (name, rest) in QUERIES.into_iter().zip([one, both]) {
        let query = format!("#@ partial_first=yes\nSELECT * {rest}");
        let head = format!("POST /api/v1/continuous?name={name}");
        let made = asked(address, &head, "application/sparql-query", &query);
        assert!(matches!(&made, Some((201, _))), "{name}: {made:?}");
    }
}

fn seed() -> u64 {
    let given = std::env::var("SOMERSAULT_SEED").ok();
    let given = given.and_then(|seed| seed.parse().ok());
    given.unwrap_or(20_261_126)
}

#[test]
fn killed_while_streams_flow() {
    let is_long = std::env::var_os("SOMERSAULT_LONG").is_some();
    let kills = if is_long { 200 } else { 8 };
    let seed = seed();
    println!("seed {seed}, {kills} kills");
    let mut random = SplitMix64::seed_from_u64(seed);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let acknowledged = [AtomicU64::new(0), AtomicU64::new(0)];
    let mut seen = [Seen::new(), Seen::new()];
    for kill in 0..kills {
        let (mut child, address) = serve(&store);
        if kill == 0 {
            begin(&address);
        }
        let before = [0, 1].map(|stream: usize| acknowledged[stream].load(Ordering::SeqCst));
        std::thread::scope(|scope| {
            for (stream, last) in acknowledged.iter().enumerate() {
                let address = &address;
                scope.spawn(move || feed(address, stream, last));
            }
            let consumers: Vec<_> = QUERIES
                .iter()
                .zip(&mut seen)
                .map(|(query, seen)| {
                    let address = &address;
                    scope.spawn(move || while look(address, query, seen).is_some() {})
                })
                .collect();
            let moment = Duration::from_millis(30 + random.next_u64() % 400);
            // Every second kill comes while both sources have been answered, however long the store is being opened.
            if kill % 2 == 0 {
                let counts = || acknowledged.iter().map(|last| last.load(Ordering::SeqCst));
                wait_until(|| counts().zip(before).all(|(now, before)| now > before));
            }
            std::thread::sleep(moment);
            child.kill().expect("a child can be killed");
            child.wait().expect("the child is ours");
            for consumer in consumers {
                consumer.join().expect("reports stay as they were");
            }
        });
        if kill % 5 == 3 {
            let compacted = run(["compact", "-l", text(&store)]);
            assert_eq!(compacted.code, Some(0), "{}", compacted.errors);
            let check = run(["check", "-l", text(&store)]);
            assert_eq!(check.code, Some(0), "{}{}", check.output, check.errors);
        }
    }
    // Once more without a kill: all that was acknowledged is reported, and what was seen is there.
    let (mut child, address) = serve(&store);
    let least = acknowledged
        .iter()
        .map(|last| last.load(Ordering::SeqCst))
        .min();
    let closes = least.unwrap_or(0) * APART_MS / STEP_MS;
    assert!(closes > kills, "only {closes} closes");
    for (query, seen) in QUERIES.iter().zip(&mut seen) {
        for _ in 0..500 {
            let after = (seen.len() as u64).saturating_sub(200);
            read(&address, query, after, seen).expect("the server is there");
            if seen.len() as u64 >= closes {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let reports = check(seen);
        assert!(reports >= closes, "{query}: {reports} reports of {closes}");
    }
    child.kill().expect("a child can be killed");
    child.wait().expect("the child is ours");
}
