//! How a program accesses segments: what of each it reads, and how often, in expectation.
//!
//! The planner has said how many rows leave each step; so many lookups does the next one make. An estimate is all that is wanted: it
//! decides what is copied to the device and what is read where it is, never what an answer is.
//!
//! A segment has parts that are read by some steps and not by others: a check by a class reads that class's bits and no list, so the longest
//! part of `rdf:type` is one that few queries read. (Taken as read like the rest, it filled a card on which half of q7's data had
//! room, and two thirds of what q7 does read were read in place.)

use std::ops::Range;

/// Bytes of a line, which is what is read of the host's memory at once.
const LINE_BYTES: f64 = 128.0;

/// Accesses of one kind to a segment.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// The segment's number.
    pub(crate) number: u32,
    pub(crate) what: Accessed,
    /// How often.
    pub(crate) times: f64,
}

/// What is read of a segment each time.
#[derive(Clone, Debug)]
pub(crate) enum Accessed {
    /// All of it, in order.
    All,
    /// Its keys, in order.
    Keys,
    /// Whether an id is a key.
    Key,
    /// These of its rows, in order.
    Rows(Range<u64>),
    /// Some of these rows, by a search.
    Among(Range<u64>),
    /// The list of a key, if it has one; so many rows are read of it on average.
    List { rows: f64 },
    /// Some of the rows of a key, by a search.
    Edge,
    /// The list of a key, which is met with another list: most of it.
    Met,
    /// A bit of the list with this ordinal, which is kept as an index.
    Dense(u64),
}

/// Where the parts of a segment's data lie, in bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub(crate) keys: Range<u64>,
    pub(crate) offsets: Range<u64>,
    pub(crate) cells: Range<u64>,
    /// Of one cell.
    pub(crate) cell_bytes: u64,
    /// Of the cells of a key's list, on average.
    pub(crate) list_bytes: f64,
    /// Lists that are kept as indexes, by their ordinals.
    pub(crate) dense: Vec<(u64, Range<u64>)>,
}

impl Parts {
    /// For each page of data that are so long, the bytes in lines of 128 that are read of it by these accesses to this segment, in
    /// expectation; where `is_paired`, the same for all pages of a range of keys.
    pub(crate) fn page_reads<'a>(
        &self,
        (data_bytes, page_bytes): (u64, u64),
        accesses: impl Iterator<Item = &'a Access>,
        is_paired: bool,
    ) -> Vec<f64> {
        let mut reads = vec![0.0; data_bytes.div_ceil(page_bytes) as usize];
        for access in accesses {
            for (part, lines) in self.read_by(&access.what, data_bytes) {
                // What is not known is taken as once.
                let times = if access.times.is_finite() {
                    access.times
                } else {
                    1.0
                };
                let bytes = LINE_BYTES * lines * times;
                put_on(&mut reads, page_bytes, &part, bytes);
            }
        }
        if is_paired {
            self.pair(&mut reads, page_bytes);
        }
        reads
    }

    /// The parts that are read at one time, with how many lines of each.
    fn read_by(&self, what: &Accessed, data_bytes: u64) -> Vec<(Range<u64>, f64)> {
        let cell_bytes = self.cell_bytes as f64;
        let in_order =
            |part: Range<u64>| (part.clone(), (part.end - part.start) as f64 / LINE_BYTES);
        let rows = |rows: &Range<u64>| {
            let at = |row: u64| self.cells.start + row * self.cell_bytes;
            at(rows.start)..at(rows.end)
        };
        let of_key = |lines: f64| {
            let parts = [
                (self.keys.clone(), 1.0),
                (self.offsets.clone(), 1.0),
                (self.cells.clone(), lines),
            ];
            parts.to_vec()
        };
        match what {
            Accessed::All => vec![in_order(0..data_bytes)],
            Accessed::Keys => vec![in_order(self.keys.clone())],
            Accessed::Key => vec![(self.keys.clone(), 1.0)],
            Accessed::Rows(which) => vec![in_order(rows(which))],
            Accessed::Among(which) => {
                let part = rows(which);
                let lines = searched((part.end - part.start) as f64);
                vec![(part, lines)]
            }
            Accessed::List { rows } => of_key(rows.min(1.0) + rows * cell_bytes / LINE_BYTES),
            Accessed::Edge => of_key(searched(self.list_bytes)),
            Accessed::Met => of_key(1.0 + self.list_bytes / LINE_BYTES),
            Accessed::Dense(ordinal) => {
                let lists = self.dense.iter().filter(|list| list.0 == *ordinal);
                lists.map(|list| (list.1.clone(), 1.0)).collect()
            }
        }
    }

    /// Gives all pages as much, and first ones more by so little that only the order of a part's is another: keys and lists of a range come together
    /// then.
    fn pair(&self, reads: &mut [f64], page_bytes: u64) {
        let each = reads.iter().sum::<f64>() / reads.len().max(1) as f64;
        reads.fill(each);
        let dense = self.dense.iter().map(|list| &list.1);
        for part in [&self.keys, &self.offsets, &self.cells]
            .into_iter()
            .chain(dense)
        {
            let pages = pages_of(part, page_bytes);
            let length = pages.len() as f64;
            for (place, page) in pages.enumerate() {
                reads[page] += 1e-9 * each * (1.0 - place as f64 / length);
            }
        }
    }
}

/// Lines that a search in so many bytes reads.
fn searched(bytes: f64) -> f64 {
    1.0 + (bytes / LINE_BYTES).max(1.0).log2()
}

/// The pages on which a part lies.
fn pages_of(part: &Range<u64>, page_bytes: u64) -> Range<usize> {
    if part.is_empty() {
        return 0..0;
    }
    (part.start / page_bytes) as usize..part.end.div_ceil(page_bytes) as usize
}

/// Puts bytes that are read of a part on its pages, on each by its share of it.
fn put_on(reads: &mut [f64], page_bytes: u64, part: &Range<u64>, bytes: f64) {
    let length = part.end.saturating_sub(part.start) as f64;
    for page in pages_of(part, page_bytes) {
        let within = |at: u64| at.clamp(part.start, part.end);
        let begin = page as u64 * page_bytes;
        let own = within(begin + page_bytes) - within(begin);
        reads[page] += bytes * own as f64 / length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys on the first page and half of the second, lists on four and a half, an index of one list on the last.
    fn parts() -> Parts {
        Parts {
            keys: 0..1536,
            offsets: 0..0,
            cells: 1536..6144,
            cell_bytes: 4,
            list_bytes: 256.0,
            dense: vec![(7, 6144..7168)],
        }
    }

    fn reads(what: Accessed, times: f64, is_paired: bool) -> Vec<f64> {
        let access = Access {
            number: 0,
            what,
            times,
        };
        parts().page_reads((7168, 1024), std::iter::once(&access), is_paired)
    }

    #[test]
    fn what_a_step_does_not_read_is_worth_nothing() {
        assert_eq!(
            reads(Accessed::Dense(7), 10.0, false),
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1280.0]
        );
        assert_eq!(reads(Accessed::Dense(6), 10.0, false), [0.0; 7]);
        // 128 rows of 4 bytes from the middle of page 1 on.
        assert_eq!(
            reads(Accessed::Rows(0..128), 1.0, false),
            [0.0, 512.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        );
        assert_eq!(reads(Accessed::All, 2.0, false), [2048.0; 7]);
        assert_eq!(
            reads(Accessed::Keys, 1.0, false),
            [1024.0, 512.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        );
        assert_eq!(reads(Accessed::Rows(5..5), 3.0, false), [0.0; 7]);
        let found = reads(Accessed::Key, 3.0, false);
        assert!((found[0] - 256.0).abs() < 1e-6 && (found[1] - 128.0).abs() < 1e-6);
        assert_eq!(found[2..], [0.0; 5]);
    }

    #[test]
    fn a_lookup_reads_a_line_of_the_keys_and_what_it_reads_of_the_list() {
        // A line of keys each time; a list of 32 cells is a line and, beginning anywhere, one more.
        let found = reads(Accessed::List { rows: 32.0 }, 3.0, false);
        let sum = |pages: &[f64]| pages.iter().sum::<f64>();
        assert!((sum(&found) - 3.0 * 128.0 * 3.0).abs() < 1e-6, "{found:?}");
        assert!(
            (found[0] - 256.0).abs() < 1e-6 && found[6] == 0.0,
            "{found:?}"
        );
        // Most keys have no list: nothing more is read.
        let found = reads(Accessed::List { rows: 0.0 }, 3.0, false);
        assert!((sum(&found) - 3.0 * 128.0).abs() < 1e-6, "{found:?}");
        // A search in two lines looks at both.
        let found = reads(Accessed::Edge, 3.0, false);
        assert!((sum(&found) - 3.0 * 128.0 * 3.0).abs() < 1e-6, "{found:?}");
        let found = reads(Accessed::Edge, f64::INFINITY, false);
        assert!((sum(&found) - 128.0 * 3.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn in_pairs_all_pages_are_worth_the_same_and_come_in_order() {
        let (plain, paired) = (
            reads(Accessed::Edge, 3.0, false),
            reads(Accessed::Edge, 3.0, true),
        );
        let sum = |pages: &[f64]| pages.iter().sum::<f64>();
        assert!((sum(&plain) - sum(&paired)).abs() < 1e-3);
        assert!(paired[1..6].is_sorted_by(|a, b| a > b), "{paired:?}");
        assert!((paired[1] - paired[5]).abs() < 1e-3);
    }
}
