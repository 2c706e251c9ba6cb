//! A walk from beginning to end on one thread, and the checksum of its rows.

use crate::ask;
use crate::chunk::Chunk;
use crate::error::WalkError;
use crate::limits::Limits;
use crate::options::{Options, Status};
use crate::prepare::Prepared;
use crate::profile::StepProfile;
use crate::views::Views;
use crate::walk::Walk;
use query::plan::Slot;
use rdf::Lexicon;
use std::ops::ControlFlow;
use store::view::GraphView;

/// Walks the whole plan and shows `sink` each chunk, until it breaks. Returns the steps' counters.
/// Where something has to be waited for the thread waits.
pub fn run_to_end<'a, V: GraphView + 'a, L: Lexicon>(
    prepared: &Prepared<'a>,
    views: impl Into<Views<'a, V>>,
    lexicon: &'a L,
    limits: Limits<'a>,
    options: Options<'_>,
    mut sink: impl FnMut(&Chunk) -> ControlFlow<()>,
) -> Result<Vec<StepProfile>, WalkError> {
    let views = views.into();
    let mut walk = Walk::new(prepared, views, lexicon, limits, options);
    let mut chunk = Chunk::new();
    loop {
        match walk.next(&mut chunk)? {
            Status::Rows => {
                if sink(&chunk).is_break() {
                    break;
                }
            }
            Status::Done => break,
            Status::Yield => {}
            Status::Pending(ticket) => ask::wait(views.store(), ticket, &limits)?,
            Status::Starved => unreachable!("a whole walk feeds itself"),
        }
    }
    Ok(walk.into_profile())
}

/// Folds rows into a number that does not depend on their order: what a benchmark does with rows.
///
/// Each row is a hash of its projected ids in order; hashes are summed. One multiplication a cell, which
/// rows do not wait for each other with: about 0.5 ns a row and column.
#[derive(Clone, Debug)]
pub struct Checksum {
    projection: Vec<Slot>,
    hashes: Vec<u64>,
    rows: u64,
    sum: u64,
}

impl Checksum {
    /// Of no rows yet; `projection` as in the query's result, unbound slots allowed.
    pub fn new(projection: &[Slot]) -> Checksum {
        Checksum {
            projection: projection.to_vec(),
            hashes: Vec::new(),
            rows: 0,
            sum: 0,
        }
    }

    /// Adds the rows of a chunk.
    pub fn add(&mut self, chunk: &Chunk) {
        const SEED: u64 = 0x243f_6a88_85a3_08d3;
        self.rows += chunk.rows();
        let columns = || {
            self.projection
                .iter()
                .filter_map(|&slot| chunk.column(slot))
        };
        if columns().next().is_none() {
            self.sum = self
                .sum
                .wrapping_add(spread(SEED).wrapping_mul(chunk.rows()));
            return;
        }
        self.hashes.clear();
        self.hashes.resize(chunk.rows() as usize, SEED);
        let are_equal = columns().all(|column| column.len() == self.hashes.len());
        assert!(are_equal, "columns of a chunk are equally long");
        for column in columns() {
            for (hash, cell) in self.hashes.iter_mut().zip(column) {
                *hash = (*hash ^ cell.bits()).wrapping_mul(FACTOR).rotate_left(29);
            }
        }
        self.sum = self
            .hashes
            .iter()
            .fold(self.sum, |sum, &hash| sum.wrapping_add(spread(hash)));
    }

    /// Adds another walk's rows.
    pub fn merge(&mut self, other: &Checksum) {
        self.rows += other.rows;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The sum of the rows' hashes, modulo 2^64.
    pub fn sum(&self) -> u64 {
        self.sum
    }
}

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of 64 bits whose sums say more than the sum of its arguments.
fn spread(value: u64) -> u64 {
    (value ^ (value >> 32)).wrapping_mul(FACTOR)
}
