//! One kind of innocent client, in a process of its own: a request each 20 ms over a kept connection.
//!
//! A time is taken twice: from when the request was sent, and from when it was due, which counts what
//! waits behind a slow one too (coordinated omission). The kind `sleeper` asks nobody: it sleeps a
//! millisecond and wakes, which says what the machine alone does to a client.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::figures::Times;
use crate::http::{Answer, Connection, From, get, query};
use crate::texts;

const EVERY: Duration = Duration::from_millis(20);

pub const KINDS: [&str; 5] = ["sleeper", "light", "new", "live", "ready"];

pub fn run(kind: &str, port: u16, lasts: Duration) {
    if kind == "sleeper" {
        return sleeper(lasts);
    }
    let (mut sent, mut due, mut bad) = (Times::default(), Times::default(), 0);
    let mut connection = None;
    let begin = Instant::now();
    let salt = std::process::id() as usize * 100_003;
    let mut at = 0;
    while begin.elapsed() < lasts {
        let request = match kind {
            "light" => query(
                &texts::light(at as usize),
                None,
                "application/sparql-results+json",
            ),
            "new" => query(
                &texts::new_shape(salt + at as usize),
                None,
                "application/sparql-results+json",
            ),
            kind => get(&format!("/health/{kind}")),
        };
        let when = begin + EVERY * at;
        sleep(when.saturating_duration_since(Instant::now()));
        let from = Instant::now();
        let answer = ask(connection.take(), port, &request);
        sent.add(from.elapsed());
        due.add(when.elapsed());
        match answer {
            Ok((open, answer)) if answer.status == 200 && !answer.cut => connection = Some(open),
            Ok((_, answer)) => {
                bad += 1;
                eprintln!("{kind}: {answer:?} after {:?}", begin.elapsed());
            }
            Err(error) => {
                bad += 1;
                eprintln!("{kind}: {error} after {:?}", begin.elapsed());
            }
        }
        at += 1;
    }
    println!(
        "{kind:8} sent {}, from when due {}, not answered {bad}",
        sent.summary(),
        due.summary()
    );
}

/// Over the kept connection, or over a new one where that was closed between two requests.
fn ask(kept: Option<Connection>, port: u16, request: &[u8]) -> io::Result<(Connection, Answer)> {
    if let Some(mut open) = kept
        && let Ok(answer) = open.ask(request)
    {
        return Ok((open, answer));
    }
    let mut open = Connection::open(port, From::Probe)?;
    let answer = open.ask(request)?;
    Ok((open, answer))
}

fn sleeper(lasts: Duration) {
    let (mut late, mut due) = (Times::default(), Times::default());
    let begin = Instant::now();
    let pause = Duration::from_millis(1);
    let mut at = 0;
    while begin.elapsed() < lasts {
        // Of the sleeps, one in 20 ms stands for a request that was due then.
        let when = begin + EVERY * at;
        while Instant::now() < when + EVERY {
            let from = Instant::now();
            sleep(pause);
            late.add(from.elapsed().saturating_sub(pause));
        }
        at += 1;
        due.add((begin + EVERY * at).elapsed().saturating_sub(pause));
    }
    println!(
        "sleeper  sent {}, from when due {}",
        late.summary(),
        due.summary()
    );
}
