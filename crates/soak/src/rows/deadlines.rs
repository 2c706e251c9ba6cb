//! How late each class of abuse ends, by one client and by eight at once.

use std::io;
use std::thread::scope;
use std::time::{Duration, Instant};

use super::start;
use crate::Wanted;
use crate::http::{Connection, From, query, update};
use crate::texts;

const DEADLINE: Duration = Duration::from_secs(2);

pub fn deadlines(wanted: &Wanted) -> io::Result<()> {
    for clients in [1, 8] {
        let server = start(wanted)?;
        let mut worst: Vec<(f64, &str)> = Vec::new();
        for class in texts::deadlines() {
            let seconds = Some(DEADLINE.as_secs() as u32);
            let request = if class.changes {
                update(&class.text, seconds)
            } else {
                query(&class.text, seconds, "text/tab-separated-values")
            };
            let (late, end) = latest(server.port, &request, clients);
            println!("{clients} {:24} {late:7.1} ms {end}", class.name);
            worst.push((late, class.name));
        }
        worst.sort_by(|one, other| other.0.total_cmp(&one.0));
        println!(
            "{clients} clients, {} classes, most late: {:?}",
            worst.len(),
            &worst[..5.min(worst.len())]
        );
    }
    Ok(())
}

/// The same request by each of `clients` at once: the milliseconds by which the last of them
/// outlasted the deadline, and how it ended.
fn latest(port: u16, request: &[u8], clients: usize) -> (f64, String) {
    let ask = || {
        let begin = Instant::now();
        let answer = Connection::open(port, From::Attacker).and_then(|mut open| open.ask(request));
        let late = begin.elapsed().saturating_sub(DEADLINE).as_secs_f64() * 1e3;
        let end = answer.map_or_else(
            |error| error.to_string(),
            |answer| format!("{}{}", answer.status, if answer.cut { " cut" } else { "" }),
        );
        (late, end)
    };
    scope(|scope| {
        let asked: Vec<_> = (0..clients).map(|_| scope.spawn(ask)).collect();
        let ends = asked
            .into_iter()
            .map(|thread| thread.join().expect("it does not panic"));
        ends.max_by(|one, other| one.0.total_cmp(&other.0))
            .expect("there are clients")
    })
}
