//! Revisions of reports: what was told of each close, so that what comes late changes it by a difference.
//!
//! A query with `late=revise` keeps its answers for as long as its `lateness` says. When something late has changed the
//! windows of a close, the query is evaluated again for that close, over its windows with all that came late by then and over
//! the graph as the newest commit left it (which has what came late, too). The difference from what was told is a report of
//! the same close, with a revision number that counts from 1: rows that are told besides, and rows that are taken back.
//!
//! ```text
//!  close 1000, revision 0    a b        the report
//!  close 1000, revision 1    + c        told: a b c
//!  close 1000, revision 2    + d - a    told: b c d
//! ```
//!
//! What is told of a close is its answer (`RSTREAM`), or the answer's difference from the one before (`ISTREAM`, `DSTREAM`); so
//! a changed answer also changes what is told of the close after it. Invariant: the report of a close and its revisions add
//! up to what would be reported of the answers that are kept.
//!
//! Cost: the rows of all answers that may still be revised.

use super::report::ReportRow;
use query::standing::{Difference, Relation};
use std::collections::BTreeMap;
use stream::Time;

/// Rows, each with how often it is there.
pub(super) type Bag = BTreeMap<ReportRow, u64>;

/// An answer, and how often what was told of its close has changed.
#[derive(Debug, Default)]
struct Kept {
    rows: Bag,
    revision: u64,
}

/// What was told of a query's closes.
#[derive(Debug)]
pub(super) struct Revisions {
    keep_ms: u64,
    relation: Relation,
    difference: Difference,
    answers: BTreeMap<Time, Kept>,
}

/// A change of what was told of a close.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) close: Time,
    /// From 1.
    pub(super) revision: u64,
    /// Rows that are told besides.
    pub(super) added: Vec<ReportRow>,
    /// Rows that are taken back.
    pub(super) removed: Vec<ReportRow>,
}

impl Revisions {
    /// Of a query that has told nothing yet and is revised for so long (milliseconds).
    pub(super) fn new(keep_ms: u64, relation: Relation, difference: Difference) -> Revisions {
        Revisions {
            keep_ms,
            relation,
            difference,
            answers: BTreeMap::new(),
        }
    }

    /// How long answers may be revised (milliseconds).
    pub(super) fn keep_ms(&self) -> u64 {
        self.keep_ms
    }

    /// The answers that are kept, with how often each was revised.
    pub(super) fn kept(&self) -> impl ExactSizeIterator<Item = (Time, u64, &Bag)> {
        let kept = self.answers.iter();
        kept.map(|(close, kept)| (*close, kept.revision, &kept.rows))
    }

    /// Keeps an answer that was kept before a stop.
    pub(super) fn keep(&mut self, close: Time, revision: u64, rows: Bag) {
        self.answers.insert(close, Kept { rows, revision });
    }

    /// The answer of a close was told, the latest so far.
    pub(super) fn told(&mut self, close: Time, rows: &[ReportRow]) {
        let rows = self.bag(rows);
        self.answers.insert(close, Kept { rows, revision: 0 });
        let floor = close.earlier(self.keep_ms);
        // One before those that may be revised is what the first of them is compared with.
        let compared = self.answers.range(..floor).next_back();
        if let Some((&compared, _)) = compared {
            self.answers = self.answers.split_off(&compared);
        }
    }

    /// The lost answer without which a revision of a close is not the difference from what was told, if there is one: its own, or
    /// the one that it is compared with. `lost`: closes whose answers are not kept.
    pub(super) fn unfounded(&self, close: Time, lost: &[Time]) -> Option<Time> {
        if self.answers.contains_key(&close) && self.relation == Relation::Rows {
            return None;
        }
        let before = self.answers.range(..close).next_back().map(|it| *it.0);
        let is_own = |it: Time| it == close && !self.answers.contains_key(&close);
        let is_compared = |it: Time| {
            self.relation != Relation::Rows && it < close && before.is_none_or(|before| before < it)
        };
        let mut lost = lost.iter().copied();
        lost.find(|it| is_own(*it) || is_compared(*it))
    }

    /// How many of these closes, whose answers are lost (ascending), no revision is compared with any more: it is of a close that
    /// may still be revised, or told after an answer of an earlier one.
    pub(super) fn forgotten(&self, lost: &[Time]) -> usize {
        let told = self.answers.last_key_value().map(|it| *it.0);
        let Some(newest) = told.max(lost.last().copied()) else {
            return 0;
        };
        let floor = newest.earlier(self.keep_ms);
        let below = lost.partition_point(|close| *close < floor);
        let Some(last) = below.checked_sub(1) else {
            return 0;
        };
        let is_known = self.answers.range(lost[last]..floor).next().is_some();
        if is_known { below } else { last }
    }

    /// The last answer that was told, with the change that revisions made.
    pub(super) fn last(&self) -> Option<(Time, &Bag)> {
        let (close, kept) = self.answers.last_key_value()?;
        Some((*close, &kept.rows))
    }

    /// The answer of a close is this now. What of that changes what was told, of it and of the next close.
    pub(super) fn revise(&mut self, close: Time, rows: &[ReportRow]) -> Vec<Change> {
        let now = self.bag(rows);
        let nothing = Bag::new();
        let before = self.answers.range(..close).next_back();
        let before = before.map_or(&nothing, |(_, kept)| &kept.rows);
        let old = self.answers.get(&close);
        let told = old.map(|kept| self.related(&kept.rows, before));
        let mut changes = Vec::new();
        let tells = self.related(&now, before);
        changes.extend(change(close, &told.unwrap_or_default(), &tells));
        if self.relation != Relation::Rows
            && let Some((&next, kept)) = self.answers.range(close.later(1)..).next()
        {
            let compared = old.map_or(before, |kept| &kept.rows);
            let told = self.related(&kept.rows, compared);
            changes.extend(change(next, &told, &self.related(&kept.rows, &now)));
        }
        self.answers.entry(close).or_default().rows = now;
        for change in &mut changes {
            let kept = self.answers.entry(change.close).or_default();
            kept.revision += 1;
            change.revision = kept.revision;
        }
        changes
    }

    fn bag(&self, rows: &[ReportRow]) -> Bag {
        let is_set = self.relation != Relation::Rows && self.difference == Difference::Set;
        let mut bag = Bag::new();
        for row in rows {
            let count = bag.entry(row.clone()).or_insert(0);
            *count = if is_set { 1 } else { *count + 1 };
        }
        bag
    }

    /// What is told of an answer after another one.
    fn related(&self, answer: &Bag, before: &Bag) -> Bag {
        match self.relation {
            Relation::Rows => answer.clone(),
            Relation::Insertions => less(answer, before),
            Relation::Deletions => less(before, answer),
        }
    }
}

/// A change from what was told to what is to be told, if it is one. Its number is given later.
fn change(close: Time, told: &Bag, tells: &Bag) -> Option<Change> {
    let rows = |bag: Bag| -> Vec<ReportRow> {
        let repeated = bag.into_iter();
        repeated
            .flat_map(|(row, count)| std::iter::repeat_n(row, count as usize))
            .collect()
    };
    let (added, removed) = (rows(less(tells, told)), rows(less(told, tells)));
    let is_none = added.is_empty() && removed.is_empty();
    (!is_none).then_some(Change {
        close,
        revision: 0,
        added,
        removed,
    })
}

/// The rows of one bag that another has not.
fn less(rows: &Bag, others: &Bag) -> Bag {
    let mut left = Bag::new();
    for (row, &count) in rows {
        let more = count.saturating_sub(others.get(row).copied().unwrap_or(0));
        if more > 0 {
            left.insert(row.clone(), more);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::Literal;
    use testkit::random::Random;
    use testkit::seeds;

    fn row(number: usize) -> ReportRow {
        ReportRow(vec![Some(Literal::from(number as i64).into())])
    }

    fn answer(random: &mut Random) -> Vec<ReportRow> {
        let count = random.below(6);
        (0..count).map(|_| row(random.below(4))).collect()
    }

    /// The reports of a close and its revisions add up to the report of the last answers.
    #[test]
    fn revisions_add_up() {
        for seed in seeds::chosen(400, 20_000) {
            let mut random = Random::new(seed);
            let relation =
                *random.pick(&[Relation::Rows, Relation::Insertions, Relation::Deletions]);
            let difference = *random.pick(&[Difference::Multiset, Difference::Set]);
            let mut revisions = Revisions::new(1000, relation, difference);
            let mut answers: BTreeMap<u64, Vec<ReportRow>> = BTreeMap::new();
            let mut told: BTreeMap<u64, Bag> = BTreeMap::new();
            let mut numbers: BTreeMap<u64, u64> = BTreeMap::new();
            for close in 1..10_u64 {
                if random.chance(80) {
                    let rows = answer(&mut random);
                    let before = answers.last_key_value().map(|it| it.1.clone());
                    answers.insert(close, rows.clone());
                    revisions.told(Time(close), &rows);
                    let before = revisions.bag(&before.unwrap_or_default());
                    let tells = revisions.related(&revisions.bag(&rows), &before);
                    told.insert(close, tells);
                }
                if random.chance(60) {
                    let at = 1 + random.below(close as usize) as u64;
                    let rows = answer(&mut random);
                    for change in revisions.revise(Time(at), &rows) {
                        let number = numbers.entry(change.close.0).or_default();
                        *number += 1;
                        assert_eq!(change.revision, *number, "seed {seed}");
                        let told = told.entry(change.close.0).or_default();
                        change
                            .added
                            .iter()
                            .for_each(|row| *told.entry(row.clone()).or_default() += 1);
                        for row in &change.removed {
                            let count = told.get_mut(row).expect("what is taken back was told");
                            *count -= 1;
                        }
                        told.retain(|_, count| *count > 0);
                    }
                    answers.insert(at, rows);
                }
            }
            let mut before = Bag::new();
            for (close, rows) in &answers {
                let now = revisions.bag(rows);
                let tells = revisions.related(&now, &before);
                let found = told.remove(close).unwrap_or_default();
                assert_eq!(found, tells, "seed {seed}, close {close}, {relation:?}");
                before = now;
            }
        }
    }

    #[test]
    fn a_revision_beside_a_lost_answer_is_unfounded() {
        for relation in [Relation::Rows, Relation::Insertions] {
            let mut revisions = Revisions::new(1000, relation, Difference::Multiset);
            for close in [10, 30] {
                revisions.told(Time(close), &[row(1)]);
            }
            let lost = [Time(20)];
            let of = |revisions: &Revisions, close| revisions.unfounded(Time(close), &lost);
            assert_eq!(of(&revisions, 10), None);
            assert_eq!(of(&revisions, 20), Some(Time(20)));
            let is_compared = relation == Relation::Insertions;
            let expected = is_compared.then_some(Time(20));
            assert_eq!(of(&revisions, 30), expected, "{relation:?}");
            revisions.revise(Time(20), &[row(2)]);
            assert_eq!([20, 30].map(|close| of(&revisions, close)), [None, None]);
        }
    }

    #[test]
    fn answers_are_kept_as_long_as_they_may_be_revised() {
        let mut revisions = Revisions::new(20, Relation::Insertions, Difference::Multiset);
        for close in (10..=100).step_by(10) {
            revisions.told(Time(close), &[row(close as usize)]);
        }
        let kept: Vec<u64> = revisions.answers.keys().map(|close| close.0).collect();
        assert_eq!(kept, [70, 80, 90, 100]);
    }
}
