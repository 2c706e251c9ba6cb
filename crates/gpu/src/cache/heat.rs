//! How much of each page of a segment was read of late, by all queries, each of which counts half as much after 32 others.
//!
//! A page that a query reads in place costs it what it reads of it, each time; one that is on the device has cost its length,
//! once. So what is worth a place follows from what all queries read of a page together, and what was read long ago says nothing of
//! what will be. (Counted for ever, three queries in turns whose data had half of the room moved 566 MiB a turn, on an H100: each
//! turn made everybody's pages worth more, and whoever was to run next took them from the one before.)
//!
//! Most queries read what the one before them read. So what a query is expected to read stands once, with the weight of all that read
//! the same; what they have read is put on the pages when somebody comes who reads something else.

/// Queries after which what one has read counts half.
const HALF_LIFE: f64 = 32.0;

/// See the head of this file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heat {
    /// Bytes of each page that earlier queries have read, as they counted at `at`, over `scale`; no pages, where nobody has.
    read: Vec<f64>,
    scale: f64,
    /// Bytes of each page that a query reads that comes now; no pages before anybody has said so.
    expected: Vec<f64>,
    /// How many queries have read that, as they counted at `at`.
    weight: f64,
    /// The number of the query that read last.
    at: u64,
}

impl Heat {
    /// A query is about to read so many bytes of each page.
    pub(crate) fn expect(&mut self, reads: Vec<f64>) {
        if self.expected == reads {
            return;
        }
        self.read.resize(self.expected.len(), 0.0);
        for (read, expected) in self.read.iter_mut().zip(&self.expected) {
            *read = *read * self.scale + expected * self.weight;
        }
        (self.scale, self.weight) = (1.0, 0.0);
        self.expected = reads;
    }

    /// The query with this number reads what was said last.
    pub(crate) fn again(&mut self, now: u64) {
        let left = self.left(now);
        self.scale *= left;
        self.weight = self.weight * left + 1.0;
        self.at = now;
    }

    /// What is left at the query with this number of what counted at `at`.
    fn left(&self, now: u64) -> f64 {
        let since = now.saturating_sub(self.at) as f64;
        (-since / HALF_LIFE).exp2()
    }

    /// Bytes that were read of each page, as they count for the query with this number.
    pub(crate) fn reads(&self, now: u64) -> impl Fn(usize) -> f64 + '_ {
        let left = self.left(now);
        let (scale, weight) = (self.scale * left, self.weight * left);
        let of = |pages: &[f64], page: usize| pages.get(page).copied().unwrap_or(0.0);
        move |page| of(&self.read, page) * scale + of(&self.expected, page) * weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_counts_half_after_so_many_queries_and_is_never_forgotten_by_its_own() {
        let mut heat = Heat::default();
        let is = |heat: &Heat, now: u64, bytes: [f64; 2]| {
            let reads = heat.reads(now);
            let near = |page: usize| (reads(page) - bytes[page]).abs() < 1e-9;
            assert!(near(0) && near(1), "{} {}", reads(0), reads(1));
        };
        is(&heat, 0, [0.0, 0.0]);
        heat.expect(vec![100.0, 0.0]);
        is(&heat, 0, [0.0, 0.0]);
        heat.again(1);
        is(&heat, 1, [100.0, 0.0]);
        is(&heat, 33, [50.0, 0.0]);
        heat.again(33);
        is(&heat, 33, [150.0, 0.0]);
        // Who asks with an older number is not told more than there was.
        is(&heat, 20, [150.0, 0.0]);
        // Somebody else comes, and does not wipe out what was read.
        heat.expect(vec![0.0, 8.0]);
        is(&heat, 33, [150.0, 0.0]);
        heat.again(65);
        is(&heat, 65, [75.0, 8.0]);
        heat.expect(vec![0.0, 8.0]);
        heat.again(97);
        is(&heat, 97, [37.5, 12.0]);
        heat.expect(vec![2.0, 0.0]);
        heat.again(97);
        is(&heat, 97, [39.5, 12.0]);
    }
}
