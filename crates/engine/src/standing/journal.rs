//! A journal holds the latest reports of a query, within [`JOURNAL_BYTES`]. Reports are numbered from 1 in order of their
//! closes. A consumer says which it saw last; if those behind it were let go, it is told so.
//!
//! All journals together hold an eighth of the memory pool at most, and less where a push needs the room: nobody waits for the
//! sake of answers that are kept for those who come late. The oldest go first, whatever query they are of; the last report of a
//! query goes when only such are left.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `kept` | whoever has the hub; whoever drops a query | consumers, all with its lock |
//! | `bytes` | whoever has the lock | whoever has the hub |
//!
//! Cost: O(1) a report, and O(journals) each time that a sixteenth of all is let go.

use crate::sync::{Mutex, MutexGuard};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

/// What the journal of a query may hold (bytes of its reports as JSON).
const JOURNAL_BYTES: usize = 16 << 20;
/// What all journals may hold: one in so many of the memory pool.
const SHARE: u64 = 8;
/// Where some must be let go, one in so many of all goes with them.
const AT_ONCE: u64 = 16;

/// A report in a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Its number, from 1.
    pub number: u64,
    /// The report as one line of JSON.
    pub line: Arc<str>,
    /// The instance of a template that it is of; `None`: the query is none, or it is of all of them.
    pub instance: Option<Arc<str>>,
}

/// What a consumer gets.
#[derive(Clone, Debug, Default)]
pub struct JournalRead {
    /// Reports behind the one that was seen last, ascending.
    pub entries: Vec<JournalEntry>,
    /// How many reports before the first of these were let go and are missing (count).
    pub missed: u64,
    /// What was looked at: whoever goes on behind this number is told of the rest, and of nothing twice.
    pub looked: u64,
}

/// The journals of all queries; see the head of this file.
#[derive(Debug)]
pub(super) struct Journals {
    kept: Mutex<BTreeMap<String, Journal>>,
    /// What they hold.
    bytes: AtomicU64,
    bytes_max: u64,
    /// How many reports ever came.
    added: AtomicU64,
}

impl Journals {
    /// None yet, beside a memory pool of so many bytes.
    pub(super) fn new(pool_bytes: u64) -> Journals {
        Journals {
            kept: Mutex::new(BTreeMap::new()),
            bytes: AtomicU64::new(0),
            bytes_max: pool_bytes / SHARE,
            added: AtomicU64::new(0),
        }
    }

    /// Those of an image, where there is none yet.
    pub(super) fn restore(&self, journals: BTreeMap<String, Journal>) {
        let mut kept = self.lock();
        *kept = journals;
        let bytes = kept.values().map(Journal::bytes).sum();
        self.bytes.store(bytes, Ordering::Relaxed);
        self.stay_below(&mut kept, self.bytes_max);
    }

    /// All of them, by query. Whoever has the lock adds and removes no reports.
    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Journal>> {
        // Whole at every moment.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What they hold (bytes).
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// There is a query of this name.
    pub(super) fn open(&self, query: &str) {
        self.lock().entry(query.to_owned()).or_default();
    }

    /// A query is gone, and its reports.
    pub(super) fn close(&self, query: &str) {
        let mut kept = self.lock();
        let gone = kept.remove(query);
        let bytes = gone.map_or(0, |journal| journal.bytes());
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Adds the next report of a query that is there.
    pub(super) fn add(&self, query: &str, line: Arc<str>, instance: Option<Arc<str>>) {
        let mut kept = self.lock();
        let bytes = line.len() as u64;
        if self.bytes().saturating_add(bytes) > self.bytes_max {
            // Before it comes: a report is there at least until the next one, however long it is.
            let most = self.bytes_max - self.bytes_max / AT_ONCE;
            self.stay_below(&mut kept, most.saturating_sub(bytes));
        }
        let Some(journal) = kept.get_mut(query) else {
            return;
        };
        let before = journal.bytes();
        journal.add(
            line,
            instance,
            self.added.fetch_add(1, Ordering::Relaxed) + 1,
        );
        self.bytes.fetch_add(journal.bytes(), Ordering::Relaxed);
        self.bytes.fetch_sub(before, Ordering::Relaxed);
    }

    /// Lets reports go that hold so many bytes, and somewhat more; all where they hold less.
    pub(super) fn give_back(&self, bytes: u64) {
        let mut kept = self.lock();
        let held = self.bytes();
        let most = held.saturating_sub(bytes.saturating_add(held / AT_ONCE));
        self.stay_below(&mut kept, most);
    }

    /// Lets the oldest reports go until all hold no more than this.
    fn stay_below(&self, kept: &mut BTreeMap<String, Journal>, most: u64) {
        let mut journals: Vec<&mut Journal> = kept.values_mut().collect();
        for left in [1, 0] {
            let ages = journals.iter().zip(0..);
            let ages = ages.filter_map(|(it, place)| Some(Reverse((it.oldest(left)?, place))));
            let mut ages: BinaryHeap<Reverse<(u64, usize)>> = ages.collect();
            while self.bytes() > most
                && let Some(Reverse((_, place))) = ages.pop()
            {
                let journal = &mut *journals[place];
                let before = journal.bytes();
                journal.let_go();
                self.bytes
                    .fetch_sub(before - journal.bytes(), Ordering::Relaxed);
                ages.extend(journal.oldest(left).map(|age| Reverse((age, place))));
            }
        }
    }
}

/// See the head of this file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Journal {
    entries: VecDeque<JournalEntry>,
    /// How many reports of all queries there were when each of them came.
    ages: VecDeque<u64>,
    bytes: usize,
    /// The number of the last report.
    last: u64,
}

impl Journal {
    /// One that goes on behind the report of this number.
    pub(super) fn behind(last: u64) -> Journal {
        Journal {
            last,
            ..Journal::default()
        }
    }

    /// Adds the next report, before which so many came of all queries.
    pub(super) fn add(&mut self, line: Arc<str>, instance: Option<Arc<str>>, age: u64) {
        self.last += 1;
        self.ages.push_back(age);
        self.bytes += line.len();
        self.entries.push_back(JournalEntry {
            number: self.last,
            line,
            instance,
        });
        while self.bytes > JOURNAL_BYTES && self.entries.len() > 1 {
            self.let_go();
        }
    }

    /// How many reports of all queries came before the oldest that is here, where there are more than so many.
    fn oldest(&self, left: usize) -> Option<u64> {
        self.ages
            .front()
            .filter(|_| self.ages.len() > left)
            .copied()
    }

    /// Lets the oldest report go.
    fn let_go(&mut self) {
        self.ages.pop_front();
        if let Some(gone) = self.entries.pop_front() {
            self.bytes -= gone.line.len();
        }
    }

    /// The number of the last report; 0 where there was none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// What its reports hold (bytes).
    pub(super) fn bytes(&self) -> u64 {
        let entry = size_of::<JournalEntry>() + size_of::<u64>();
        (self.bytes + self.entries.len() * entry) as u64
    }

    /// The number of the last report that was let go, and the reports that are there.
    pub(super) fn parts(&self) -> (u64, impl ExactSizeIterator<Item = &JournalEntry>) {
        let gone = self.last - self.entries.len() as u64;
        (gone, self.entries.iter())
    }

    /// Reports behind the one with number `seen`, at most `max`; with `instance` those of this alone, and of all. A number that no report has yet is of a query of this name
    /// that is gone: all reports are behind it.
    pub(super) fn after(&self, seen: u64, instance: Option<&str>, max: usize) -> JournalRead {
        let seen = if seen > self.last { 0 } else { seen };
        let first = self
            .entries
            .front()
            .map_or(self.last + 1, |entry| entry.number);
        let start = self.entries.partition_point(|entry| entry.number <= seen);
        let is_of = |entry: &&JournalEntry| match (instance, &entry.instance) {
            (Some(wanted), Some(of)) => wanted == &**of,
            _ => true,
        };
        let entries = self.entries.range(start..).filter(is_of);
        let entries: Vec<JournalEntry> = entries.take(max).cloned().collect();
        let is_cut = entries.len() == max;
        let last = entries.last().filter(|_| is_cut);
        JournalRead {
            looked: last.map_or(self.last, |entry| entry.number),
            entries,
            missed: first.saturating_sub(seen.saturating_add(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quiet instance beside one that fills the journal: what was let go is told once, and nothing is looked at twice.
    #[test]
    fn an_instance_is_told_of_a_gap_once() {
        let mut journal = Journal::default();
        let line: Arc<str> = "x".repeat(JOURNAL_BYTES / 4).into();
        for _ in 0..8 {
            journal.add(Arc::clone(&line), Some("busy".into()), 0);
        }
        let quiet = journal.after(0, Some("quiet"), 10);
        assert_eq!((quiet.entries.len(), quiet.missed, quiet.looked), (0, 4, 8));
        journal.add(line, Some("quiet".into()), 0);
        let next = journal.after(quiet.looked, Some("quiet"), 10);
        assert_eq!((next.entries.len(), next.missed, next.looked), (1, 0, 9));
        let cut = journal.after(0, None, 2);
        assert_eq!((cut.entries.len(), cut.looked), (2, cut.entries[1].number));
    }

    /// All together hold their share; the oldest go first, and the last of each query last.
    #[test]
    fn all_journals_hold_their_share_and_give_it_back() {
        let journals = Journals::new(8 << 20);
        let line = |bytes: usize| -> Arc<str> { "x".repeat(bytes).into() };
        journals.open("quiet");
        journals.add("quiet", line(1 << 10), None);
        for query in ["one", "two"] {
            journals.open(query);
        }
        for place in 0..40 {
            journals.add(["one", "two"][place % 2], line(64 << 10), None);
            let bytes: u64 = journals.lock().values().map(Journal::bytes).sum();
            assert_eq!(journals.bytes(), bytes);
            assert!(bytes <= 1 << 20);
        }
        let read = |query: &str| {
            let read = journals.lock()[query].after(0, None, 100);
            (read.entries.len() as u64, read.missed, read.looked)
        };
        assert_eq!(read("quiet"), (1, 0, 1), "its last report is kept");
        let (kept, missed, looked) = read("one");
        assert_eq!((kept + missed, looked), (20, 20));
        assert!(kept >= 7 && read("two").0.abs_diff(kept) <= 1);
        journals.give_back(journals.bytes() - (200 << 10));
        assert_eq!((read("quiet").0, read("one").0, read("two").0), (1, 1, 1));
        journals.give_back(1);
        let left = (read("quiet").0, read("one").0, read("two").0);
        assert_eq!(left, (0, 0, 1), "the oldest go");
        journals.give_back(u64::MAX);
        assert_eq!((journals.bytes(), read("two")), (0, (0, 20, 20)));
        journals.add("two", line(1 << 10), None);
        assert_eq!(read("two"), (1, 20, 21));
        journals.close("two");
        assert_eq!(journals.bytes(), 0);
    }
}
