//! How long samples take: the rooms below have no clock.

use query::sampling::{Interrupted, SampleQuestion, Sampled, Sampler};
use std::time::{Duration, Instant};

/// A sampler whose answers are timed.
pub(crate) struct Timed<S> {
    sampler: S,
    taken: Duration,
}

impl<S> Timed<S> {
    pub(crate) fn new(sampler: S) -> Timed<S> {
        Timed {
            sampler,
            taken: Duration::ZERO,
        }
    }

    /// The sampler, and the time of all its answers.
    pub(crate) fn into_parts(self) -> (S, Duration) {
        (self.sampler, self.taken)
    }
}

impl<S: Sampler> Sampler for Timed<S> {
    fn sample(
        &mut self,
        questions: &[SampleQuestion],
    ) -> Result<Vec<Option<Sampled>>, Interrupted> {
        let begin = Instant::now();
        let answers = self.sampler.sample(questions);
        self.taken += begin.elapsed();
        answers
    }
}
