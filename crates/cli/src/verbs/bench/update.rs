//! `bench update`: durable updates in a closed loop.
//!
//! So many clients, each of which waits until its `INSERT DATA` is durable before it sends the next
//! one: what group commit is for. The triples are new ones, in a graph of the run's own, which is
//! dropped at the end. Times are from an update's text to its acknowledgement. Syncs are those of
//! the log, as a store in this process counts them; an endpoint does not say.

use super::output;
use crate::arguments::BenchUpdate;
use crate::endpoint::{Connection, Endpoint};
use crate::exit::{Code, Failure, Outcome};
use crate::settings;
use crate::verbs::{open, query};
use bench::figure::{Figure, Session};
use bench::stats::Latencies;
use somersault::units::parse_duration;
use somersault::{Database, UpdateRequest};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Stack of a client: updates are parsed on it.
const STACK_BYTES: usize = 4 << 20;

/// Who carries the updates out.
enum Target {
    Store(Database),
    Server(Endpoint),
}

/// What one client did.
struct Done {
    latencies: Vec<Duration>,
    failed: Option<Failure>,
}

/// Runs the verb.
pub fn run(flags: &BenchUpdate, file: Option<&Path>) -> Outcome {
    let config = settings::check(&settings::layers(file)?)?;
    let time = parse_duration(&flags.time)
        .map_err(|error| Failure::new(Code::Usage, format!("--time {}: {error}", flags.time)))?;
    let target = match (&flags.location, &flags.remote.endpoint) {
        (Some(location), _) => Target::Store(open::writable(location, &config)?),
        (None, Some(url)) => {
            let headers = settings::headers(&flags.remote);
            Target::Server(Endpoint::new(url, &headers, config.update_timeout)?)
        }
        (None, None) => unreachable!("the parser asks for a store or an endpoint"),
    };
    let graph = format!("urn:somersault:bench:{}", std::process::id());
    let syncs_before = log_syncs(&target);
    let begun = Instant::now();
    let done = clients(flags, &target, &graph, time)?;
    let elapsed = begun.elapsed();
    let syncs = log_syncs(&target).zip(syncs_before);
    let syncs =
        syncs.map(|((records, syncs), (records0, syncs0))| (records - records0, syncs - syncs0));
    let dropped = client(&target).update(&format!("DROP SILENT GRAPH <{graph}>"));
    let mut latencies = Latencies::new();
    let mut updates = 0;
    for client in done {
        if let Some(failure) = client.failed {
            return Err(failure);
        }
        updates += client.latencies.len() as u64;
        client
            .latencies
            .into_iter()
            .for_each(|time| latencies.record(time));
    }
    assert_eq!(updates, latencies.runs(), "each update was measured");
    dropped?;
    print(flags, updates, &latencies, syncs, elapsed)
}

/// All clients, until the time is over.
fn clients(
    flags: &BenchUpdate,
    target: &Target,
    graph: &str,
    time: Duration,
) -> Result<Vec<Done>, Failure> {
    let until = Instant::now() + time;
    std::thread::scope(|scope| {
        let spawn = |number: u16| {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, move || {
                let client = client(target);
                loop_until(&client, graph, (number, flags.batch), until)
            })
        };
        let threads: Result<Vec<_>, _> = (0..flags.threads).map(spawn).collect();
        let threads = threads.map_err(Failure::from)?;
        let done = threads.into_iter().map(|thread| {
            let broken = |_| Failure::new(Code::Failed, "a client met a bug");
            thread.join().map_err(broken)
        });
        done.collect()
    })
}

/// One client's loop.
fn loop_until(
    client: &Client<'_>,
    graph: &str,
    (number, batch): (u16, u32),
    until: Instant,
) -> Done {
    let mut done = Done {
        latencies: Vec::new(),
        failed: None,
    };
    let mut next = 0u64;
    while Instant::now() < until {
        let mut text = format!("INSERT DATA {{ GRAPH <{graph}> {{\n");
        for _ in 0..batch {
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "<urn:somersault:bench:{number}:{next}> <urn:somersault:bench:value> {next} ."
            );
            next += 1;
        }
        text.push_str("} }");
        let begun = Instant::now();
        if let Err(failure) = client.update(&text) {
            done.failed = Some(failure);
            break;
        }
        done.latencies.push(begun.elapsed());
    }
    done
}

/// One client's way to the target.
enum Client<'t> {
    Store(&'t Database),
    Server(Connection),
}

fn client(target: &Target) -> Client<'_> {
    match target {
        Target::Store(database) => Client::Store(database),
        Target::Server(endpoint) => Client::Server(Connection::new(endpoint)),
    }
}

impl Client<'_> {
    fn update(&self, text: &str) -> Outcome {
        match self {
            Client::Store(database) => {
                let request = UpdateRequest {
                    text,
                    ..UpdateRequest::default()
                };
                database
                    .update(&request)
                    .map(|_| ())
                    .map_err(query::failure)
            }
            Client::Server(connection) => connection
                .update(text)
                .map_err(|trouble| trouble.into_failure("")),
        }
    }
}

/// Records and syncs of the log, where it is in this process.
fn log_syncs(target: &Target) -> Option<(u64, u64)> {
    let Target::Store(database) = target else {
        return None;
    };
    let log = database.change_figures()?.log?;
    Some((log.records, log.syncs))
}

fn print(
    flags: &BenchUpdate,
    updates: u64,
    latencies: &Latencies,
    syncs: Option<(u64, u64)>,
    elapsed: Duration,
) -> Outcome {
    let session = Session {
        bench: "update".to_owned(),
        data: format!("insert-data-{}", flags.batch),
        threads: usize::from(flags.threads),
    };
    let triples = updates * u64::from(flags.batch);
    let rate = |name: &str, amount| Figure::rate(&session, name, name, amount, elapsed);
    let mut figures = vec![
        Figure::latency(&session, "commit", u64::from(flags.batch), latencies),
        rate("updates", updates),
        rate("triples", triples),
    ];
    if let Some((_, syncs)) = syncs {
        figures.push(rate("syncs", syncs));
    }
    output::put(&flags.output, &figures)?;
    if let Some((records, syncs)) = syncs.filter(|_| !flags.output.json) {
        let group = records as f64 / syncs.max(1) as f64;
        writeln!(std::io::stdout().lock(), "records a sync: {group:.1}")?;
    }
    Ok(())
}
