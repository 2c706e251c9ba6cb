//! From answers to reports: `RSTREAM`, `ISTREAM` and `DSTREAM`.
//!
//! An answer is compared with the one before it of the same query; before the first there is an empty one. As bags, a
//! row that is there three times and was there once is inserted twice; as sets it is not inserted. Rows are compared by
//! their order, so whoever compares answers of different runs brings rows that mean the same in all of them (terms, or
//! ids of a table that outlives runs). The state is the answer before; it can be taken out and put back, so that a
//! restart goes on where it was.
//!
//! Cost: O(n log n) a report of `n` rows, of this answer and the one before. `RSTREAM` keeps nothing.
//!
//! Source: Arasu, Babu and Widom, "The CQL continuous query language" (VLDB Journal 2006), section 5.

use std::collections::BTreeMap;

use query::standing::{Difference, Relation};

/// What the reports of one query are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differences<R> {
    relation: Relation,
    difference: Difference,
    before: BTreeMap<R, u64>,
}

impl<R: Ord + Clone> Differences<R> {
    /// Of a query that has reported nothing yet.
    pub fn new(relation: Relation, difference: Difference) -> Differences<R> {
        Differences::resumed(relation, difference, BTreeMap::new())
    }

    /// Of a query whose last answer had these rows, each so often ([`Differences::state`]).
    pub fn resumed(
        relation: Relation,
        difference: Difference,
        state: BTreeMap<R, u64>,
    ) -> Differences<R> {
        Differences {
            relation,
            difference,
            before: state,
        }
    }

    /// The rows of the last answer, each with how often it was there. Empty for [`Relation::Rows`], which compares nothing.
    pub fn state(&self) -> &BTreeMap<R, u64> {
        &self.before
    }

    /// Forgets rows of the last answer: to the next one they are new.
    pub fn retain(&mut self, is_kept: impl Fn(&R) -> bool) {
        self.before.retain(|row, _| is_kept(row));
    }

    /// What is reported of an answer: its rows as they are for [`Relation::Rows`], else the difference, in the rows'
    /// order.
    pub fn report(&mut self, rows: Vec<R>) -> Vec<R> {
        if self.relation == Relation::Rows {
            return rows;
        }
        let now = self.counted(rows);
        let before = std::mem::replace(&mut self.before, now);
        match self.relation {
            Relation::Insertions => less(&self.before, &before),
            Relation::Deletions | Relation::Rows => less(&before, &self.before),
        }
    }

    fn counted(&self, rows: Vec<R>) -> BTreeMap<R, u64> {
        let mut counts = BTreeMap::new();
        for row in rows {
            let count = counts.entry(row).or_insert(0);
            *count = match self.difference {
                Difference::Multiset => *count + 1,
                Difference::Set => 1,
            };
        }
        counts
    }
}

/// The rows of one bag that another has not.
fn less<R: Ord + Clone>(rows: &BTreeMap<R, u64>, others: &BTreeMap<R, u64>) -> Vec<R> {
    let mut left = Vec::new();
    for (row, &count) in rows {
        let other = others.get(row).copied().unwrap_or(0);
        let more = count.saturating_sub(other) as usize;
        left.extend(std::iter::repeat_n(row, more).cloned());
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::random::Random;
    use testkit::seeds;

    fn reports(relation: Relation, difference: Difference, answers: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut differences = Differences::new(relation, difference);
        let report = |rows: &&[u8]| differences.report(rows.to_vec());
        answers.iter().map(report).collect()
    }

    #[test]
    fn bags_and_sets_differ() {
        let answers: [&[u8]; 3] = [&[2, 1, 2], &[2, 3, 1, 1], &[3]];
        let (bag, set) = (Difference::Multiset, Difference::Set);
        let check = |relation, difference, expected: [&[u8]; 3]| {
            assert_eq!(reports(relation, difference, &answers), expected);
        };
        check(Relation::Rows, bag, [&[2, 1, 2], &[2, 3, 1, 1], &[3]]);
        check(Relation::Insertions, bag, [&[1, 2, 2], &[1, 3], &[]]);
        check(Relation::Insertions, set, [&[1, 2], &[3], &[]]);
        check(Relation::Deletions, bag, [&[], &[2], &[1, 1, 2]]);
        check(Relation::Deletions, set, [&[], &[], &[1, 2]]);
    }

    /// The answer before, without what went, with what came, is the answer; also when the state was out meanwhile.
    #[test]
    fn insertions_and_deletions_lead_from_one_answer_to_the_next() {
        for seed in seeds::chosen(200, 10_000) {
            let mut random = Random::new(seed);
            let mut came = Differences::new(Relation::Insertions, Difference::Multiset);
            let mut went = Differences::new(Relation::Deletions, Difference::Multiset);
            let mut bag: Vec<usize> = Vec::new();
            for _ in 0..20 {
                let rows = random.below(12);
                let mut answer: Vec<usize> = (0..rows).map(|_| random.below(5)).collect();
                for row in went.report(answer.clone()) {
                    let place = bag.iter().position(|&held| held == row);
                    bag.swap_remove(place.expect("only what was there goes"));
                }
                bag.extend(came.report(answer.clone()));
                bag.sort_unstable();
                answer.sort_unstable();
                assert_eq!(bag, answer, "seed {seed}");
                let state = came.state().clone();
                came = Differences::resumed(Relation::Insertions, Difference::Multiset, state);
            }
        }
    }
}
