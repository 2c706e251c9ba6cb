//! What one client's many heavy queries do to the rare join of another.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use super::start;
use crate::Wanted;
use crate::figures::Times;
use crate::http::{Connection, From, query};
use crate::texts;

const HEAVY: usize = 200;

/// A join each second beside two hundred heavy queries of another client.
pub fn fairness(wanted: &Wanted) -> io::Result<()> {
    let server = start(wanted)?;
    let mut alone = Times::default();
    for at in 0..10 {
        alone.add(join(server.port, at)?);
    }
    println!("the join alone: {}", alone.summary());
    let done = AtomicBool::new(false);
    scope(|scope| {
        for client in 0..HEAVY {
            let (done, port) = (&done, server.port);
            scope.spawn(move || heavy(port, client, done));
        }
        sleep(Duration::from_secs(2));
        let mut times = Times::default();
        let begin = Instant::now();
        let mut at = 100;
        while begin.elapsed() < wanted.seconds() {
            match join(server.port, at) {
                Ok(time) => times.add(time),
                Err(error) => eprintln!("the join: {error}"),
            }
            at += 1;
            sleep(Duration::from_secs(1));
        }
        println!("the join beside {HEAVY} heavy queries: {}", times.summary());
        done.store(true, Ordering::Relaxed);
    });
    Ok(())
}

/// A new text each time, of some 30 ms over forty universities.
fn join(port: u16, fresh: usize) -> io::Result<Duration> {
    let request = query(&texts::join(fresh), None, "text/tab-separated-values");
    let begin = Instant::now();
    let answer = Connection::open(port, From::Probe)?.ask(&request)?;
    let took = begin.elapsed();
    if answer.status != 200 || answer.cut {
        return Err(io::Error::other(format!("{answer:?}")));
    }
    Ok(took)
}

fn heavy(port: u16, client: usize, done: &AtomicBool) {
    let mut round = 0;
    while !done.load(Ordering::Relaxed) {
        let request = query(&texts::heavy(client + 1000 * round), Some(5), "*/*");
        let _ended = Connection::open(port, From::Attacker).and_then(|mut open| open.ask(&request));
        round += 1;
    }
}
