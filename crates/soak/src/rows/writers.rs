//! Requests of 32,000 operations, then sixteen writers beside a long WHERE and a PUT of ten million.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use super::start;
use crate::Wanted;
use crate::attack::put;
use crate::figures::Times;
use crate::http::{Answer, Connection, From, update};
use crate::texts;

const OPERATIONS: usize = 32_000;
const WRITERS: usize = 16;

pub fn writers(wanted: &Wanted) -> io::Result<()> {
    let server = start(wanted)?;
    for (name, text) in [
        ("INSERT DATA", texts::inserts(OPERATIONS)),
        ("in turn", texts::turns(OPERATIONS)),
    ] {
        let request = update(&text, None);
        for _ in 0..2 {
            let begin = Instant::now();
            let answer = Connection::open(server.port, From::Attacker)?.ask(&request)?;
            let took = begin.elapsed().as_secs_f64();
            println!(
                "{OPERATIONS} operations, {name}: {took:.3} s, {}",
                answer.status
            );
        }
    }
    for (name, long, big) in [
        ("WHERE", true, false),
        ("PUT", false, true),
        ("both", true, true),
    ] {
        let mut times = beside(server.port, name, long, big)?;
        println!("{WRITERS} writers beside {name}: {}", times.summary());
    }
    Ok(())
}

/// Times of the writers until the long change and the big graph, as far as asked for, are through.
fn beside(port: u16, name: &str, long: bool, big: bool) -> io::Result<Times> {
    let done = AtomicBool::new(false);
    scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let done = &done;
                scope.spawn(move || writes(port, writer, done))
            })
            .collect();
        sleep(Duration::from_secs(1));
        let begin = Instant::now();
        let long = long.then(|| scope.spawn(move || change(port)));
        let big = big.then(|| scope.spawn(move || put(port, 1, 10_000_000)));
        let ended = |what: &str, end: String| {
            println!(
                "beside {name}: {what} {end} after {:.1} s",
                begin.elapsed().as_secs_f64()
            );
        };
        if let Some(long) = long {
            ended(
                "WHERE",
                format!("{:?}", long.join().expect("it does not panic")),
            );
        }
        if let Some(big) = big {
            ended(
                "PUT",
                format!("{:?}", big.join().expect("it does not panic")),
            );
        }
        done.store(true, Ordering::Relaxed);
        let mut all = Times::default();
        for writer in writers {
            all.extend(writer.join().expect("it does not panic")?);
        }
        Ok(all)
    })
}

/// A change whose WHERE takes seconds.
fn change(port: u16) -> io::Result<Answer> {
    Connection::open(port, From::Attacker)?.ask(&update(texts::LONG_CHANGE, Some(120)))
}

fn writes(port: u16, writer: usize, done: &AtomicBool) -> io::Result<Times> {
    let mut times = Times::default();
    let mut open = Connection::open(port, From::Probe)?;
    let mut at = 0;
    while !done.load(Ordering::Relaxed) {
        let request = update(
            &format!("INSERT DATA {{ <http://e/w{writer}> <http://e/wrote> {at} }}"),
            None,
        );
        let begin = Instant::now();
        let answer = open.ask(&request)?;
        times.add(begin.elapsed());
        if answer.status >= 300 {
            return Err(io::Error::other(format!("a writer: {answer:?}")));
        }
        at += 1;
        sleep(Duration::from_millis(5));
    }
    Ok(times)
}
