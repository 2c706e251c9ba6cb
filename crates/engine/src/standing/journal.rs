//! A journal holds the latest reports of a query, within [`JOURNAL_BYTES`]. Reports are numbered from 1 in order of their
//! closes. A consumer says which it saw last; if those behind it were let go, it is told so.

use std::collections::VecDeque;
use std::sync::Arc;

/// What the journal of a query may hold (bytes of its reports as JSON).
const JOURNAL_BYTES: usize = 16 << 20;

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

/// See the head of this file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Journal {
    entries: VecDeque<JournalEntry>,
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

    /// Adds the next report.
    pub(super) fn add(&mut self, line: Arc<str>, instance: Option<Arc<str>>) {
        self.last += 1;
        self.bytes += line.len();
        self.entries.push_back(JournalEntry {
            number: self.last,
            line,
            instance,
        });
        while self.bytes > JOURNAL_BYTES && self.entries.len() > 1 {
            if let Some(gone) = self.entries.pop_front() {
                self.bytes -= gone.line.len();
            }
        }
    }

    /// The number of the last report; 0 where there was none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// What its reports hold (bytes).
    pub(super) fn bytes(&self) -> u64 {
        (self.bytes + self.entries.len() * size_of::<JournalEntry>()) as u64
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
            journal.add(Arc::clone(&line), Some("busy".into()));
        }
        let quiet = journal.after(0, Some("quiet"), 10);
        assert_eq!((quiet.entries.len(), quiet.missed, quiet.looked), (0, 4, 8));
        journal.add(line, Some("quiet".into()));
        let next = journal.after(quiet.looked, Some("quiet"), 10);
        assert_eq!((next.entries.len(), next.missed, next.looked), (1, 0, 9));
        let cut = journal.after(0, None, 2);
        assert_eq!((cut.entries.len(), cut.looked), (2, cut.entries[1].number));
    }
}
