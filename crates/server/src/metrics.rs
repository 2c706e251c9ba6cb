//! Counters of the server; [`crate::endpoint::exposition`] makes their text.
//!
//! A counter per question that an operator asks: how many queries
//! of which outcome, how long they take, what runs, what waits, how much memory is out, how much
//! has been sent. Everything is an atomic added to once per query or per request; reading takes no
//! lock that a query could wait for.
//!
//! | who | touches | when |
//! |---|---|---|
//! | engine threads | queries, durations, bytes | once per query, at its end |
//! | connections | requests, connections | once per request, per connection |
//! | `/metrics` | reads all | when it is asked for; figures may be of slightly different moments |

use hyper::StatusCode;
use somersault::Kind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Upper bounds of the buckets of durations, in microseconds; the last one is open.
pub(crate) const BOUNDS_US: [u64; 14] = [
    100,
    250,
    1_000,
    2_500,
    10_000,
    25_000,
    100_000,
    250_000,
    1_000_000,
    2_500_000,
    10_000_000,
    30_000_000,
    60_000_000,
    300_000_000,
];

const _: () = {
    let mut at = 1;
    while at < BOUNDS_US.len() {
        assert!(
            BOUNDS_US[at - 1] < BOUNDS_US[at],
            "a duration has one bucket"
        );
        at += 1;
    }
};

/// How a query ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With a whole answer.
    Answered,
    /// Its client went away first.
    Disconnected,
    /// It was not let in.
    TurnedAway,
    /// With an error.
    Failed(Kind),
}

impl Outcome {
    pub const NAMES: [&'static str; 24] = [
        "answered",
        "disconnected",
        "turned_away",
        "syntax",
        "unsupported",
        "too_long",
        "shape",
        "timeout",
        "cancelled",
        "memory",
        "damaged",
        "policy",
        "remote",
        "not_found",
        "format",
        "output",
        "internal",
        "conflict",
        "read_only",
        "disk_full",
        "unavailable",
        "precondition",
        "gone",
        "away",
    ];

    /// Place in [`Outcome::NAMES`].
    fn place(self) -> usize {
        match self {
            Outcome::Answered => 0,
            Outcome::Disconnected => 1,
            Outcome::TurnedAway => 2,
            Outcome::Failed(kind) => match kind {
                Kind::Syntax => 3,
                Kind::Unsupported => 4,
                Kind::TooLong => 5,
                Kind::Shape => 6,
                Kind::Timeout => 7,
                Kind::Cancelled => 8,
                Kind::Memory => 9,
                Kind::Damaged => 10,
                Kind::Policy => 11,
                Kind::Remote => 12,
                Kind::NotFound => 13,
                Kind::Format => 14,
                Kind::Output => 15,
                Kind::Internal => 16,
                Kind::Conflict => 17,
                Kind::ReadOnly => 18,
                Kind::DiskFull => 19,
                Kind::Unavailable => 20,
                Kind::Precondition => 21,
                Kind::Gone => 22,
                Kind::Away => 23,
            },
        }
    }
}

/// Ends by outcome, and how long it took.
#[derive(Debug, Default)]
pub(crate) struct Series {
    pub outcomes: [AtomicU64; Outcome::NAMES.len()],
    pub buckets: [AtomicU64; BOUNDS_US.len() + 1],
    pub duration_us: AtomicU64,
}

impl Series {
    fn add(&self, outcome: Outcome, elapsed: Duration) {
        let elapsed_us = elapsed.as_micros() as u64;
        let bucket = BOUNDS_US.partition_point(|bound| *bound < elapsed_us);
        add(&self.outcomes[outcome.place()], 1);
        add(&self.buckets[bucket], 1);
        add(&self.duration_us, elapsed_us);
    }
}

/// The counters.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub started: SystemTime,
    pub queries: Series,
    pub changes: Series,
    pub inserted: AtomicU64,
    pub deleted: AtomicU64,
    pub result_bytes: AtomicU64,
    /// By hundreds of the status: 1xx to 5xx.
    pub requests: [AtomicU64; 5],
    pub connections: AtomicU64,
    pub refused: AtomicU64,
    /// Panics that clients saw as errors, or not at all.
    pub panics: AtomicU64,
}

impl Metrics {
    /// All zero, from now on.
    pub fn new() -> Metrics {
        Metrics {
            started: SystemTime::now(),
            queries: Series::default(),
            changes: Series::default(),
            inserted: AtomicU64::default(),
            deleted: AtomicU64::default(),
            result_bytes: AtomicU64::default(),
            requests: Default::default(),
            connections: AtomicU64::default(),
            refused: AtomicU64::default(),
            panics: AtomicU64::default(),
        }
    }

    /// A query has ended: how, after how long since its request came, with how many bytes sent.
    pub fn query_ended(&self, outcome: Outcome, elapsed: Duration, bytes: u64) {
        self.queries.add(outcome, elapsed);
        add(&self.result_bytes, bytes);
    }

    /// A change has ended: how, after how long since its request came.
    pub fn change_ended(&self, outcome: Outcome, elapsed: Duration) {
        self.changes.add(outcome, elapsed);
    }

    /// A change was made: so many statements are new, so many are gone.
    pub fn changed(&self, inserted: u64, deleted: u64) {
        add(&self.inserted, inserted);
        add(&self.deleted, deleted);
    }

    /// A request has its response.
    pub fn request_answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, self.requests.len());
        add(&self.requests[class - 1], 1);
    }

    /// A thread met a bug.
    pub fn panicked(&self) {
        add(&self.panics, 1);
    }

    /// A connection came.
    pub fn connection_opened(&self) {
        add(&self.connections, 1);
    }

    /// A connection was closed at once, because there was no room.
    pub fn connection_refused(&self) {
        add(&self.refused, 1);
    }

    /// A connection ended.
    pub fn connection_closed(&self) {
        let before = self.connections.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "a connection ends once");
    }
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

/// Its value now.
pub(crate) fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
