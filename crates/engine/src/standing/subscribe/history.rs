//! How the answer of a live query came to be what it is: the latest differences, for consumers that are behind.
//!
//! A difference leads from the answer of one snapshot to that of a later one, and each begins where the one before it
//! ended. So the difference for a consumer is the sum of those behind the answer that it has; rows that came and went
//! meanwhile cancel.
//!
//! **Bounds.** Beyond [`KEPT_BYTES`] differences go that only consumers need who have left and may come back. Then those
//! between which no consumer stands are made one: a consumer that takes nothing for hours costs two answers at most.
//! Beyond the limit of an answer the oldest go, and who stands there gets the whole answer again.
//!
//! Cost: a difference is O(its rows); reading is O(rows behind the consumer).

use super::bag::{Weights, add, row_bytes};
use crate::budget::Budget;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// What is kept for consumers that may come back (bytes).
const KEPT_BYTES: u64 = 1 << 20;

/// See the head of this file.
pub(super) struct History {
    /// Oldest first; each begins where the one before ended.
    steps: VecDeque<Step>,
    bytes: u64,
    bytes_max: u64,
    kept_bytes: u64,
    budget: Arc<Budget>,
}

struct Step {
    /// The snapshot of the answer that it leads from.
    from: u64,
    /// The one that it leads to.
    to: u64,
    weights: Weights,
    bytes: u64,
}

impl Step {
    fn new(from: u64, to: u64, weights: Weights) -> Step {
        let bytes = weights.keys().map(|row| row_bytes(row)).sum();
        Step {
            from,
            to,
            weights,
            bytes,
        }
    }
}

impl History {
    /// Nothing has happened. It holds no more than `bytes_max`.
    pub(super) fn new(bytes_max: u64, budget: Arc<Budget>) -> History {
        History {
            steps: VecDeque::new(),
            bytes: 0,
            bytes_max,
            kept_bytes: KEPT_BYTES.min(bytes_max),
            budget,
        }
    }

    /// What has changed since the answer of snapshot `seen`; `None` where that is not known. `newest`: the snapshot of
    /// the present answer.
    pub(super) fn since(&self, seen: u64, newest: u64) -> Option<Weights> {
        if seen == newest {
            return Some(Weights::new());
        }
        let place = self.steps.iter().position(|step| step.from == seen)?;
        let mut steps = self.steps.range(place..);
        let mut sum = steps.next()?.weights.clone();
        for step in steps {
            add(&mut sum, &step.weights);
        }
        Some(sum)
    }

    /// Notes a difference. `seen`: the snapshots of the answers that consumers have.
    pub(super) fn add(&mut self, from: u64, to: u64, weights: Weights, seen: &BTreeSet<u64>) {
        let follows = self.steps.back().is_none_or(|last| last.to == from);
        assert!(follows && from < to, "differences follow one another");
        self.push(Step::new(from, to, weights));
        let needed = seen.first().copied().unwrap_or(to);
        while self.bytes > self.kept_bytes
            && self.steps.front().is_some_and(|step| step.from < needed)
        {
            self.drop_oldest();
        }
        if self.bytes > self.kept_bytes {
            self.fold(seen);
        }
        while self.bytes > self.bytes_max {
            self.drop_oldest();
        }
    }

    fn push(&mut self, step: Step) {
        // Without memory for it, who is behind gets the whole answer.
        if self.budget.take(step.bytes).is_err() {
            self.clear();
            return;
        }
        self.bytes += step.bytes;
        self.steps.push_back(step);
    }

    fn drop_oldest(&mut self) {
        if let Some(gone) = self.steps.pop_front() {
            self.bytes -= gone.bytes;
            self.budget.give_back(gone.bytes);
        }
    }

    fn clear(&mut self) {
        while !self.steps.is_empty() {
            self.drop_oldest();
        }
    }

    /// Makes one of steps between which nobody stands.
    fn fold(&mut self, seen: &BTreeSet<u64>) {
        let steps = std::mem::take(&mut self.steps);
        self.budget.give_back(std::mem::take(&mut self.bytes));
        let mut folded: Vec<Step> = Vec::new();
        for step in steps {
            match folded.last_mut() {
                Some(last) if !seen.contains(&step.from) => {
                    add(&mut last.weights, &step.weights);
                    *last = Step::new(last.from, step.to, std::mem::take(&mut last.weights));
                }
                _ => folded.push(step),
            }
        }
        for step in folded {
            self.push(step);
        }
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Pool;
    use crate::standing::report::ReportRow;
    use oxrdf::Literal;
    use testkit::random::Random;
    use testkit::seeds;

    fn weights(of: &[(u64, i64)]) -> Weights {
        let row = |number: u64| ReportRow(vec![Some(Literal::from(number).into())]);
        of.iter()
            .filter(|(_, weight)| *weight != 0)
            .map(|(number, weight)| (Arc::new(row(*number)), *weight))
            .collect()
    }

    /// A history of rows 0 to 4, each there or not; it keeps so many steps of one row.
    fn history(pool: &Arc<Pool>, rows: u64, rows_kept: u64) -> History {
        let bytes = Step::new(0, 1, weights(&[(0, 1)])).bytes;
        let budget = Arc::new(Budget::new(pool, u64::MAX));
        let mut history = History::new(rows * bytes, budget);
        history.kept_bytes = rows_kept * bytes;
        history
    }

    /// Whoever stands somewhere gets there what leads to the present answer, whatever was dropped and folded, and nobody
    /// who stands within the bounds is sent away.
    #[test]
    fn sums_of_what_is_kept_lead_to_the_present() {
        for seed in seeds::chosen(300, 5_000) {
            let mut random = Random::new(seed);
            let pool = Pool::new(1 << 30);
            let mut history = history(&pool, 1000, random.between(1, 12) as u64);
            let mut answers = vec![[0i64; 5]];
            let mut seen = BTreeSet::new();
            for number in 1..40 {
                if random.chance(20) {
                    seen.insert(number - 1);
                }
                if random.chance(20) {
                    seen.pop_first();
                }
                let before = answers[number as usize - 1];
                let mut now = before;
                for count in &mut now {
                    *count = if random.chance(50) {
                        *count
                    } else {
                        random.below(3) as i64
                    };
                }
                let changed: Vec<(u64, i64)> =
                    (0..5).map(|at| (at as u64, now[at] - before[at])).collect();
                history.add(number - 1, number, weights(&changed), &seen);
                answers.push(now);
                for at in 0..=number {
                    let Some(sum) = history.since(at, number) else {
                        assert!(!seen.contains(&at), "seed {seed}: {at} is needed");
                        continue;
                    };
                    let then = answers[at as usize];
                    let expected: Vec<(u64, i64)> =
                        (0..5).map(|at| (at as u64, now[at] - then[at])).collect();
                    assert_eq!(sum, weights(&expected), "seed {seed}: {at} to {number}");
                }
            }
            drop(history);
            assert_eq!(pool.used_bytes(), 0);
        }
    }

    #[test]
    fn one_that_takes_nothing_costs_an_answer_and_not_its_history() {
        let pool = Pool::new(1 << 30);
        let mut history = history(&pool, 100, 4);
        let seen = BTreeSet::from([0]);
        for number in 0..1000 {
            let weight = if number % 2 == 0 { 1 } else { -1 };
            history.add(
                number,
                number + 1,
                weights(&[(number / 2 % 5, weight)]),
                &seen,
            );
            assert!(history.steps.len() <= 5, "{}", history.steps.len());
        }
        assert_eq!(history.since(0, 1000), Some(Weights::new()));
        assert_eq!(history.since(3, 1000), None);
    }

    #[test]
    fn who_is_too_far_behind_is_not_waited_for() {
        let pool = Pool::new(1 << 30);
        let mut history = history(&pool, 10, 4);
        for number in 0..100 {
            history.add(
                number,
                number + 1,
                weights(&[(number, 1)]),
                &BTreeSet::from([0]),
            );
        }
        assert!(history.bytes <= history.bytes_max);
        assert_eq!(history.since(0, 100), None);
        assert!(history.since(99, 100).is_some() || history.steps.len() == 1);
    }
}
