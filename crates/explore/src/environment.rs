//! What a query may know of the world besides its graph: the time, chance, other endpoints, tables that outlive it.
//!
//! This crate reads no clock and draws no random number; both are arguments of a query, so that its
//! answers are repeatable. `NOW` is one moment for the whole query (SPARQL 1.1 Query section
//! 17.4.5.1). Random values are a function of the seed and of how many sequences were begun before; a batch of rows has
//! a sequence of its own, so that it can be evaluated again after a pause and draws the same.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `now` | the first worker that asks, once | workers |
//! | `state` | workers that begin a sequence, relaxed | the same |
//! | all else | nobody | workers |
//!
//! A standing query knows besides when triples came in its windows ([`Arrivals`]). That too is of one moment.

use crate::error::WalkError;
use crate::given::GivenTable;
use oxrdf::Term;
use oxsdatatypes::DateTime;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rdf::VertexId;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells the time. Asked once by a query that needs it, never by others: making a date of a clock's
/// seconds takes as long as a light query's walk.
pub type Clock = dyn Fn() -> DateTime + Sync;

/// What the state of SplitMix64 grows by with each number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The surroundings of one query, shared by its workers.
pub struct Environment<'a> {
    clock: &'a Clock,
    now: OnceLock<DateTime>,
    /// Who asks other endpoints; `None`: `SERVICE` is refused.
    pub service: Option<&'a dyn Service>,
    /// Who knows when triples came; `None`: none came.
    pub(crate) arrivals: Option<&'a dyn Arrivals>,
    /// The tables that plans name, in the order of their numbers.
    given: &'a [&'a GivenTable],
    /// The state of SplitMix64, of which each worker takes the next beginning without waiting for another.
    state: AtomicU64,
}

impl<'a> Environment<'a> {
    /// Surroundings with this clock, this seed, and this access to other endpoints.
    pub fn new(clock: &'a Clock, seed: u64, service: Option<&'a dyn Service>) -> Environment<'a> {
        Environment {
            clock,
            now: OnceLock::new(),
            service,
            arrivals: None,
            given: &[],
            state: AtomicU64::new(seed),
        }
    }

    /// The same, where `timestamp()` asks these.
    #[must_use]
    pub fn with_arrivals(self, arrivals: &'a dyn Arrivals) -> Environment<'a> {
        Environment {
            arrivals: Some(arrivals),
            ..self
        }
    }

    /// The same with tables for the plans that name them: table `i` is the i-th.
    #[must_use]
    pub fn with_given(self, given: &'a [&'a GivenTable]) -> Environment<'a> {
        Environment { given, ..self }
    }

    /// The tables that it has.
    pub(crate) fn given(&self) -> &'a [&'a GivenTable] {
        self.given
    }

    /// A fixed moment, a fixed seed, no other endpoints: for tests and measurements.
    pub fn fixed() -> Environment<'static> {
        Environment::new(
            &|| "2020-01-01T00:00:00Z".parse().unwrap_or(DateTime::MIN),
            0,
            None,
        )
    }

    /// What `NOW` gives: the moment at which it was first asked.
    pub fn now(&self) -> DateTime {
        *self.now.get_or_init(self.clock)
    }

    /// The beginning of a sequence of random numbers that no other batch of rows has.
    pub(crate) fn sequence(&self) -> u64 {
        random(self.state.fetch_add(STEP, Ordering::Relaxed), 0)
    }
}

/// The `number`th random number of a sequence, spread over all 64 bits.
pub(crate) fn random(sequence: u64, number: u64) -> u64 {
    SplitMix64::seed_from_u64(sequence.wrapping_add(number.wrapping_mul(STEP))).next_u64()
}

/// Knows when triples came in the windows of a query.
pub trait Arrivals: Sync {
    /// Appends for each triple (subject, predicate, object) the time at which it came last (milliseconds since the
    /// epoch), `None` where it is in no window. Asked once a batch of rows.
    fn latest(&self, triples: &[[VertexId; 3]], times: &mut Vec<Option<u64>>);
}

/// Asks other endpoints (SPARQL 1.1 Federated Query).
pub trait Service: Sync {
    /// Evaluates a `SELECT` at an endpoint and shows each solution, its cells in the order of
    /// `variables`. Blocks; gives up when the query has to stop. An error of `each` ends it and is
    /// given back as [`ServiceError::Walk`].
    fn select(
        &self,
        endpoint: &str,
        text: &str,
        variables: &[String],
        each: &mut EachSolution<'_>,
    ) -> Result<(), ServiceError>;
}

/// Takes the cells of one solution.
pub type EachSolution<'e> = dyn FnMut(&[Option<Term>]) -> Result<(), WalkError> + 'e;

/// Why an endpoint gave no answer.
#[derive(Debug)]
pub enum ServiceError {
    /// It was not asked: calling it is not allowed.
    Refused(String),
    /// It did not answer, or not with solutions.
    Failed(String),
    /// The query that asked has to end.
    Walk(WalkError),
}
