//! Several clients at once on one card: each walks the queries one after the other, again and again (Wukong+G, ATC'18, figure 12).
//!
//! A client keeps its walks, as a server keeps plans. What is timed is a walk's launch to its count and checksum on the host, while the
//! others' run beside it.

use super::{session, walked};
use crate::exit::Failure;
use bench::figure::Figure;
use bench::stats::Latencies;
use somersault::device::DeviceWalk;
use somersault::{Database, QueryError};
use std::sync::Barrier;
use std::time::{Duration, Instant};
use workload::queries::Query;

/// How long.
const TIME: Duration = Duration::from_secs(1);

/// How often all clients together walked a query, and how long each walk took.
pub(super) fn figures(
    database: &Database,
    queries: &[&Query],
    clients: u16,
    data: &str,
) -> Result<Vec<Figure>, Failure> {
    if queries.is_empty() {
        return Ok(Vec::new());
    }
    let barrier = Barrier::new(usize::from(clients));
    let walked: Result<Vec<Vec<Latencies>>, QueryError> = std::thread::scope(|scope| {
        let client = |_| scope.spawn(|| client(database, queries, &barrier));
        let clients: Vec<_> = (0..clients).map(client).collect();
        let ended = clients
            .into_iter()
            .map(|it| it.join().expect("a client does not panic"));
        // All of them are waited for.
        ended.collect::<Vec<_>>().into_iter().collect()
    });
    let walked = walked.map_err(crate::verbs::query::failure)?;
    let session = session(data, usize::from(clients));
    let mut figures = Vec::with_capacity(queries.len() + 1);
    let mut all = Latencies::new();
    for (at, query) in queries.iter().enumerate() {
        let mut of_query = Latencies::new();
        for client in &walked {
            of_query.merge(&client[at]);
        }
        all.merge(&of_query);
        let name = format!("{} beside", query.name);
        figures.push(Figure::latency(&session, &name, 0, &of_query));
    }
    let mix = Figure::latency(&session, "heavy mix card", 0, &all);
    figures.push(mix.with_rate("queries", all.runs(), TIME));
    Ok(figures)
}

/// A client's walks until the time is over: how long each took, by query.
fn client(
    database: &Database,
    queries: &[&Query],
    barrier: &Barrier,
) -> Result<Vec<Latencies>, QueryError> {
    let ready: Result<Vec<DeviceWalk>, QueryError> = queries
        .iter()
        .map(|query| {
            let request = walked(query.text);
            let mut walk = database.start(&request)?.device_walk()?;
            walk.run().map(|_| walk)
        })
        .collect();
    // One that has failed is waited for, too.
    barrier.wait();
    let mut walks = ready?;
    let mut latencies: Vec<Latencies> = walks.iter().map(|_| Latencies::new()).collect();
    let end = Instant::now() + TIME;
    while Instant::now() < end {
        for (walk, latencies) in walks.iter_mut().zip(&mut latencies) {
            let begun = Instant::now();
            walk.run()?;
            latencies.record(begun.elapsed());
        }
    }
    Ok(latencies)
}
