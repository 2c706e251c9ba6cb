//! `ORDER BY`: sorts all rows, or keeps the first few.
//!
//! Rows are gathered with their keys, decoded once. A full buffer of [`RUN_ROWS`] rows is sorted and
//! set aside as a run; at the end the runs are merged, a chunk at a time. So no single call takes
//! longer than sorting one run (some 10 ms), and a cancelled query ends soon. With a small limit no
//! run is set aside: the buffer is cut back to its first rows. Rows behind the last of them are dropped as
//! soon as it shows: by the kind of term that their ids tell (literals come after IRIs), so that their text
//! is not even fetched; by the text, before a key is made of it; by the keys. Walks over parts of one seed
//! tell each other the last row of their choices ([`Shared`]), or each would make keys of its first rows anew.
//!
//! The sort is stable: rows with equal keys leave in the order they came. So rows equal to the last one of a
//! full choice are dropped where the choice is the walk's own, all of which came before, and kept where it is
//! another part's, which may be a later one.
//!
//! Memory, drawn on the budget: 8 bytes a cell, `size_of::<SortKey>()` and its text a key, 4 a row.

mod shared;

pub(crate) use shared::Shared;

use super::{Context, Flow, StepOutcome};
use crate::chunk::Chunk;
use crate::error::WalkError;
use crate::expression::{
    Batch, Computation, Constants, Scratch, SortKey, Value, computation, spend_on,
};
use crate::limits::{Limits, Reservation};
use query::plan::OrderKey;
use rdf::{Lexicon, VertexId};
use shared::Seen;
use std::cmp::Ordering as Order;

/// Rows that are sorted at once.
const RUN_ROWS: usize = 1 << 15;
const _: () = assert!(RUN_ROWS <= u32::MAX as usize, "rows of a run have 32 bits");

/// The sort keys and the number of rows wanted.
pub(crate) struct OrderPolicy {
    pub(crate) keys: Vec<(Computation, bool)>,
    pub(crate) limit: Option<u64>,
    /// Whether equal rows have equal keys whenever they are asked for.
    pub(crate) is_settled: bool,
}

impl OrderPolicy {
    /// Compiles the keys.
    pub(crate) fn of(
        keys: &[OrderKey],
        limit: Option<u64>,
        constants: Constants<'_>,
    ) -> Result<Self, WalkError> {
        let is_settled = !keys.iter().any(|key| key.expression.gives_new());
        let compiled = |key: &OrderKey| (computation(&key.expression, constants), key.descending);
        let keys: Vec<(Computation, bool)> = keys.iter().map(compiled).collect();
        keys.iter().try_for_each(|(key, _)| key.check())?;
        Ok(OrderPolicy {
            keys,
            limit,
            is_settled,
        })
    }

    /// Whether it is a choice of a few first rows, that of a choice from parts being that from all.
    pub(crate) fn chooses_few(&self) -> bool {
        self.is_settled && self.small_limit().is_some()
    }

    /// The number of rows wanted, where they are chosen without sorting all.
    fn small_limit(&self) -> Option<usize> {
        let limit = usize::try_from(self.limit?).ok()?;
        (limit <= RUN_ROWS / 2).then_some(limit)
    }

    /// Whether a value is seen to be behind a first key, without a key made of it.
    fn is_behind(&self, value: Option<&Value<'_>>, first: &SortKey) -> bool {
        let (_, descending) = self.keys[0];
        first.compare_text(value).is_some_and(|order| {
            if descending {
                order.is_lt()
            } else {
                order.is_gt()
            }
        })
    }

    /// Compares two rows' keys.
    fn compare(&self, left: &[SortKey], right: &[SortKey]) -> Order {
        for ((_, descending), (left, right)) in self.keys.iter().zip(left.iter().zip(right)) {
            let order = if *descending {
                right.cmp(left)
            } else {
                left.cmp(right)
            };
            if order.is_ne() {
                return order;
            }
        }
        Order::Equal
    }
}

/// Rows with their keys: columns in the order of the carried slots, keys row after row.
#[derive(Default)]
struct Run {
    rows: usize,
    columns: Vec<Vec<VertexId>>,
    keys: Vec<SortKey>,
    /// The rows in order, once sorted.
    order: Vec<u32>,
}

/// Behind which rows are not wanted.
#[derive(Clone, Copy)]
struct Last<'k> {
    keys: &'k [SortKey],
    /// Whether rows that are equal to it are not wanted either.
    is_first_of_equals: bool,
}

impl<'k> Last<'k> {
    /// That of a walk with its own choice in `buffer`, which has seen those of others.
    fn of(policy: &OrderPolicy, buffer: &'k Run, seen: &'k Seen<'_>) -> Option<Last<'k>> {
        let own = buffer.last(policy).map(|keys| Last {
            keys,
            is_first_of_equals: true,
        });
        let shared = seen.keys().map(|keys| Last {
            keys,
            is_first_of_equals: false,
        });
        match (own, shared) {
            (Some(own), Some(shared)) if policy.compare(shared.keys, own.keys).is_lt() => {
                Some(shared)
            }
            (own, shared) => own.or(shared),
        }
    }

    fn drops(self, policy: &OrderPolicy, keys: &[SortKey]) -> bool {
        let order = policy.compare(keys, self.keys);
        order.is_gt() || self.is_first_of_equals && order.is_eq()
    }
}

/// The state of one walk.
pub(crate) struct Ordering<'p, 'a> {
    policy: &'p OrderPolicy,
    limits: Limits<'a>,
    /// What walks over other parts of the seed have.
    shared: Option<&'p Shared<'a>>,
    seen: Seen<'a>,
    buffer: Run,
    runs: Vec<Run>,
    /// The next row of each run, as a heap of run numbers.
    heads: Vec<usize>,
    heap: Vec<usize>,
    /// Rows that were passed on, or merely counted where no column is carried.
    given: u64,
    counted: u64,
    finished: bool,
    bytes: u64,
    reservation: Reservation<'a>,
    scratch: Scratch<'a>,
}

impl<'p, 'a> Ordering<'p, 'a> {
    pub(crate) fn new(policy: &'p OrderPolicy, limits: Limits<'a>) -> Self {
        Ordering {
            policy,
            limits,
            shared: None,
            seen: Seen::default(),
            buffer: Run::default(),
            runs: Vec::new(),
            heads: Vec::new(),
            heap: Vec::new(),
            given: 0,
            counted: 0,
            finished: false,
            bytes: 0,
            reservation: Reservation::new(limits),
            scratch: Scratch::new(limits),
        }
    }

    /// Chooses together with walks over other parts of one seed. Their choices,
    /// part after part, are to be given to one more ordering by the same policy.
    pub(crate) fn share(&mut self, shared: &'p Shared<'a>) {
        self.shared = Some(shared);
    }

    pub(crate) fn run<V, L: Lexicon>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        if self.finished {
            return self.emit(flow);
        }
        if flow.carried.is_empty() {
            self.counted += flow.input.rows();
            return Ok(StepOutcome::Drained);
        }
        if let Some(shared) = self.shared {
            shared.look(&mut self.seen);
        }
        let rows = self.candidates(flow.input);
        let (rows, keys) = self.keys(context, flow.input, &rows)?;
        self.append(flow, &rows, keys)?;
        match self.policy.small_limit() {
            Some(limit) if self.buffer.rows >= (2 * limit).max(2048) => self.cut_back(limit),
            None if self.buffer.rows >= RUN_ROWS => self.set_aside(),
            _ => {}
        }
        Ok(StepOutcome::Drained)
    }

    /// The rows that the kinds of their terms leave: all but those behind the last of a full choice.
    fn candidates(&self, input: &Chunk) -> Vec<u32> {
        let rows = 0..input.len() as u32;
        let last = Last::of(self.policy, &self.buffer, &self.seen);
        let (Some(last), (Computation::Slot(slot), descending)) = (last, &self.policy.keys[0])
        else {
            return rows.collect();
        };
        let Some(column) = input.column(*slot) else {
            return rows.collect();
        };
        let class = last.keys[0].class();
        let may_be_before = |row: &u32| {
            let classes = SortKey::classes_of(column[*row as usize]);
            if *descending {
                *classes.end() >= class
            } else {
                *classes.start() <= class
            }
        };
        rows.filter(may_be_before).collect()
    }

    /// Those of some rows of a chunk that may be among the wanted ones, and their keys row after row.
    fn keys<V, L: Lexicon>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        input: &Chunk,
        rows: &[u32],
    ) -> Result<(Vec<u32>, Vec<SortKey>), WalkError> {
        self.scratch.reset(context.scene.width());
        let at: Vec<u32> = (0..rows.len() as u32).collect();
        let terms = context.scene.terms(context.lexicon);
        let batch = Batch::new(input, rows, terms, &self.scratch, context.limits);
        let mut columns = Vec::with_capacity(self.policy.keys.len());
        for (computation, _) in &self.policy.keys {
            columns.push(computation.evaluate(&batch, &at)?);
        }
        let last = Last::of(self.policy, &self.buffer, &self.seen);
        let is_behind = |row: usize| {
            last.is_some_and(|last| self.policy.is_behind(columns[0].get(row), &last.keys[0]))
        };
        let left = (0..rows.len()).filter(|row| !is_behind(*row));
        let left: Vec<usize> = left.collect();
        let mut bytes = left.len() * columns.len() * size_of::<SortKey>();
        for column in &columns {
            let texts = left.iter().filter_map(|row| column.get(*row));
            bytes += texts.map(SortKey::bytes_of).sum::<usize>();
        }
        self.reservation.cover(self.bytes + bytes as u64)?;
        let mut wanted = Vec::with_capacity(left.len());
        let mut keys = Vec::with_capacity(left.len() * columns.len());
        for row in left {
            let first = keys.len();
            for column in &columns {
                if let Some(value) = column.get(row) {
                    spend_on(value, &batch)?;
                }
                keys.push(SortKey::of(column.get(row)));
            }
            if last.is_some_and(|last| last.drops(self.policy, &keys[first..])) {
                keys.truncate(first);
            } else {
                wanted.push(rows[row]);
            }
        }
        drop(columns);
        drop(batch);
        self.scratch.forget();
        assert_eq!(
            keys.len(),
            wanted.len() * self.policy.keys.len(),
            "a row has all keys"
        );
        Ok((wanted, keys))
    }

    /// Puts rows into the buffer.
    fn append(
        &mut self,
        flow: &Flow<'_>,
        rows: &[u32],
        keys: Vec<SortKey>,
    ) -> Result<(), WalkError> {
        let mut bytes =
            rows.len() * (flow.carried.len() * size_of::<VertexId>() + size_of::<u32>());
        let texts = keys.iter().map(SortKey::bytes);
        bytes += size_of_val(&keys[..]) + texts.sum::<usize>();
        self.bytes += bytes as u64;
        self.reservation.cover(self.bytes)?;
        assert!(
            self.buffer.rows == 0 || self.buffer.columns.len() == flow.carried.len(),
            "all rows have the same columns"
        );
        self.buffer
            .columns
            .resize_with(flow.carried.len(), Vec::new);
        for (column, &slot) in self.buffer.columns.iter_mut().zip(flow.carried) {
            let cells = flow.input.live(slot);
            column.extend(rows.iter().map(|&row| cells[row as usize]));
        }
        self.buffer.rows += rows.len();
        self.buffer.keys.extend(keys);
        Ok(())
    }

    /// Sorts the buffer and keeps its first rows.
    fn cut_back(&mut self, limit: usize) {
        self.buffer.sort(self.policy);
        self.buffer.order.truncate(limit);
        let kept = &self.buffer.order;
        for column in &mut self.buffer.columns {
            *column = kept.iter().map(|&row| column[row as usize]).collect();
        }
        let width = self.policy.keys.len();
        let mut keys = std::mem::take(&mut self.buffer.keys);
        for &row in kept {
            let keys = &mut keys[row as usize * width..][..width];
            self.buffer.keys.extend(
                keys.iter_mut()
                    .map(|key| std::mem::replace(key, SortKey::Nothing)),
            );
        }
        self.buffer.rows = kept.len();
        let cells = self.buffer.rows * self.buffer.columns.len() * size_of::<VertexId>();
        let text: usize = self.buffer.keys.iter().map(SortKey::bytes).sum();
        self.bytes = (cells + text + size_of_val(&self.buffer.keys[..])) as u64;
        self.buffer.order = (0..self.buffer.rows as u32).collect();
        self.tell(&self.buffer);
    }

    /// Tells walks over other parts where a choice ends, if it is full.
    fn tell(&self, choice: &Run) {
        if let (Some(shared), Some(last)) = (self.shared, choice.last(self.policy)) {
            shared.tighten(self.policy, last, self.limits);
        }
    }

    fn set_aside(&mut self) {
        let mut run = std::mem::take(&mut self.buffer);
        if run.rows > 0 {
            assert!(
                run.columns.iter().all(|column| column.len() == run.rows),
                "columns of a run are equally long"
            );
            run.sort(self.policy);
            self.tell(&run);
            self.runs.push(run);
        }
    }

    pub(crate) fn finish(&mut self) -> bool {
        if std::mem::replace(&mut self.finished, true) {
            return false;
        }
        self.set_aside();
        self.heads = vec![0; self.runs.len()];
        self.heap = (0..self.runs.len()).collect();
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
        self.counted > 0 || !self.runs.is_empty()
    }

    /// Passes on the next rows in order.
    fn emit(&mut self, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        let limit = self.policy.limit.unwrap_or(u64::MAX);
        if flow.carried.is_empty() {
            flow.output.add_rows(self.counted.min(limit))?;
            return Ok(StepOutcome::Drained);
        }
        while self.given < limit {
            let Some(&run) = self.heap.first() else { break };
            if flow.is_full() {
                return Ok(StepOutcome::More);
            }
            let row = self.runs[run].order[self.heads[run]];
            for (column, &slot) in self.runs[run].columns.iter().zip(flow.carried) {
                flow.output.cells_mut(slot).push(column[row as usize]);
            }
            flow.output.add_rows(1)?;
            self.given += 1;
            self.heads[run] += 1;
            if self.heads[run] == self.runs[run].rows {
                self.heap.swap_remove(0);
            }
            self.sift_down(0);
        }
        let rows: u64 = self.runs.iter().map(|run| run.rows as u64).sum();
        assert_eq!(
            self.given,
            rows.min(limit),
            "every row was given, up to the limit"
        );
        self.runs.clear();
        self.reservation.clear();
        Ok(StepOutcome::Drained)
    }

    /// Whether run `left` gives its next row before run `right`.
    fn is_before(&self, left: usize, right: usize) -> bool {
        let width = self.policy.keys.len();
        let head =
            |run: usize| self.runs[run].row_keys(self.runs[run].order[self.heads[run]], width);
        self.policy
            .compare(head(left), head(right))
            .then(left.cmp(&right))
            .is_lt()
    }

    /// Restores the heap below `at`.
    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut first = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.is_before(self.heap[child], self.heap[first]) {
                    first = child;
                }
            }
            if first == at {
                return;
            }
            self.heap.swap(at, first);
            at = first;
        }
    }
}

impl Run {
    /// The keys of the last row that a full choice holds.
    fn last(&self, policy: &OrderPolicy) -> Option<&[SortKey]> {
        let last = *self.order.get(policy.small_limit()?.checked_sub(1)?)?;
        Some(self.row_keys(last, policy.keys.len()))
    }

    fn row_keys(&self, row: u32, width: usize) -> &[SortKey] {
        &self.keys[row as usize * width..][..width]
    }

    fn sort(&mut self, policy: &OrderPolicy) {
        let width = policy.keys.len();
        let mut order: Vec<u32> = (0..self.rows as u32).collect();
        order.sort_by(|&left, &right| {
            policy.compare(self.row_keys(left, width), self.row_keys(right, width))
        });
        self.order = order;
    }
}
