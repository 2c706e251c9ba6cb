//! The stream of the demonstration: who enters which course, some times a second, as a client of its own server pushes it.
//!
//! Students and courses are those of the university that is served, so a query may mix the stream with the graph. The
//! order of events is that of a fixed sequence (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014), so that two demonstrations look alike. Nothing of the stream is stored: the graph stays as it is.

use super::stream::ensure;
use crate::endpoint::{Delivery, Endpoint, Taken};
use crate::stop::Stop;
use crate::trouble::Trouble;
use serde_json::json;
use std::fmt::Write;
use std::time::Duration;

/// The stream's IRI.
pub const CAMPUS: &str = "urn:campus";
/// The predicate of its triples: a student enters a course.
pub const ENTERS: &str = "urn:enters";
/// The pause between two pushes, and the events of one (count).
const PAUSE: Duration = Duration::from_millis(250);
const EVENTS: usize = 3;
/// Students and courses that take part (count): all departments of the smallest university have them.
const STUDENTS: u64 = 60;
const COURSES: u64 = 8;

/// Makes the stream and pushes to it, until the process ends.
pub fn feed(url: &str) {
    let Ok(server) = Endpoint::new(url, &[], Duration::from_secs(30)) else {
        return;
    };
    let fed = feed_on(&server);
    if let Err(trouble) = fed {
        tracing::warn!(
            "the stream {CAMPUS} of the demonstration has ended: {}",
            trouble.message
        );
    }
}

fn feed_on(server: &Endpoint) -> Result<(), Trouble> {
    let stop = Stop::default();
    let definition = json!({ "name": CAMPUS, "absorb": "none", "arrival_time": true });
    ensure(server, &definition, &stop)?;
    let delivery = Delivery {
        media_type: "application/n-triples",
        source: Some("demo".to_owned()),
        ..Delivery::default()
    };
    let mut events = Events::default();
    loop {
        let lines = events.next_lines().into_bytes();
        // Where there is no room the event is lost, and the next ones may find some.
        match server.push(CAMPUS, &delivery, lines, &stop)? {
            Taken::Refused(trouble) | Taken::Never(trouble) => return Err(trouble),
            Taken::Whole(_) | Taken::Later { .. } => {}
        }
        std::thread::sleep(PAUSE);
    }
}

/// Who enters what.
#[derive(Default)]
struct Events {
    state: u64,
}

impl Events {
    /// The next events, a line of N-Triples each.
    fn next_lines(&mut self) -> String {
        let mut lines = String::new();
        for _ in 0..EVENTS {
            let student = self.next() % STUDENTS;
            // The smaller of two: some courses are fuller than others.
            let course = (self.next() % COURSES).min(self.next() % COURSES);
            let department = "http://www.Department0.University0.edu";
            writeln!(
                lines,
                "<{department}/GraduateStudent{student}> <{ENTERS}> <{department}/GraduateCourse{course}> ."
            )
            .expect("a string takes everything");
        }
        lines
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_lines_that_differ() {
        let mut events = Events::default();
        let lines: Vec<String> = (0..100).map(|_| events.next_lines()).collect();
        assert!(lines.iter().all(|lines| lines.lines().count() == EVENTS));
        let mut different = lines.clone();
        different.sort_unstable();
        different.dedup();
        assert!(different.len() > 90, "{}", different.len());
    }
}
