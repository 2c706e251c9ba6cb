//! `GROUP BY` with aggregates: one row for each group, when all input has come (SPARQL 1.1 Query
//! sections 11 and 18.5.1).
//!
//! Column by column, a chunk at a time:
//!
//! ```text
//!  key columns --GroupTable--> group of each row
//!  argument    --ids, or values where ids do not tell--> (DISTINCT: first of its group only)
//!              --> states of the aggregate, by group
//! ```
//!
//! Groups leave in the order in which they were first seen. `DISTINCT` is of terms, so of ids.
//! Aggregates that no later step reads are left out. A chunk that is a mere count is one group's, and
//! `COUNT(*)` adds its length; arguments without columns (`SUM(1)`, `COUNT(RAND())`) are evaluated as
//! often as it says. A chunk whose rows stand for several ([`Chunk::counts`]) adds their numbers to counts, and each value as often to sums.
//!
//! Floor: 8 bytes of the key column and one probe of a table a row, some 5 ns while the table is
//! cached, 8 bytes of each argument. Measured (`examples/walk_paths.rs`, one thread of a shared 2-core
//! Xeon VM, 2026-11-21) on a million rows: `COUNT(*)` by 100 groups 4 ns a row more than without keys; by
//! a million groups 97 ns, with the table's growth and the groups' way out.
//!
//! Memory, drawn on the budget before it grows: the table of groups, each aggregate's states, the
//! texts, the sets of `DISTINCT`.

mod groups;
pub(crate) mod paged;
mod states;

use self::groups::GroupTable;
use self::paged::Meter;
use self::states::{Fetch, Source, States, Values};
use super::{Context, Flow, StepOutcome};
use crate::chunk::{Chunk, Collapse, ROWS, ROWS_MAX};
use crate::error::WalkError;
use crate::expression::{
    Batch, Computation, Constants, Operand, Scratch, computation, ids_of_values,
};
use crate::limits::Limits;
use query::plan::{Aggregate, AggregateFunction, Slot};
use rdf::{Lexicon, VertexId};

/// The grouping columns and what is computed of each group.
pub(crate) struct AggregatePolicy<'a> {
    pub(crate) keys: &'a [Slot],
    pub(crate) aggregates: Vec<AggregateColumn<'a>>,
}

/// One aggregate, compiled.
pub(crate) struct AggregateColumn<'a> {
    pub(crate) function: &'a AggregateFunction,
    pub(crate) argument: Option<Computation>,
    pub(crate) distinct: Option<&'a [Slot]>,
    /// The column of the result.
    pub(crate) into: Slot,
}

impl<'a> AggregatePolicy<'a> {
    /// Compiles the aggregates of a step that keeps these columns.
    pub(crate) fn of(
        keys: &'a [Slot],
        aggregates: &'a [(Aggregate, Slot)],
        keep: &[Slot],
        constants: Constants<'_>,
    ) -> Result<AggregatePolicy<'a>, WalkError> {
        let column = |(aggregate, into): &'a (Aggregate, Slot)| AggregateColumn {
            function: &aggregate.function,
            argument: aggregate
                .argument
                .as_ref()
                .map(|argument| computation(argument, constants)),
            distinct: aggregate.distinct.as_deref(),
            into: *into,
        };
        let aggregates = aggregates.iter().filter(|(_, into)| keep.contains(into));
        let policy = AggregatePolicy {
            keys,
            aggregates: aggregates.map(column).collect(),
        };
        policy.check()?;
        Ok(policy)
    }

    /// An error where an argument has a constant pattern that is not supported.
    fn check(&self) -> Result<(), WalkError> {
        let mut arguments = self
            .aggregates
            .iter()
            .filter_map(|one| one.argument.as_ref());
        arguments.try_for_each(Computation::check)
    }

    /// How rows that are equal in all columns may come as one: an aggregate that takes each value once does not need their number, counts and sums do, and
    /// texts are joined one by one. What an expression gives may differ from row to row.
    pub(crate) fn collapse(&self) -> Option<Collapse> {
        use AggregateFunction::{Avg, Count, GroupConcat, Max, Min, Sample, Sum};
        let mut collapse = Collapse::Once;
        for aggregate in &self.aggregates {
            let is_column = matches!(aggregate.argument, None | Some(Computation::Slot(_)));
            match aggregate.function {
                _ if !is_column => return None,
                _ if aggregate.distinct.is_some() => {}
                Min | Max | Sample => {}
                Count | Sum | Avg => collapse = Collapse::Counted,
                GroupConcat(_) => return None,
            }
        }
        Some(collapse)
    }

    /// Whether a chunk without columns may be taken as a number of rows.
    fn counts_rows_only(&self) -> bool {
        let mut aggregates = self.aggregates.iter();
        aggregates.all(|aggregate| aggregate.argument.is_none())
    }
}

/// The state of one walk.
pub(crate) struct Aggregation<'p, 'a> {
    policy: &'p AggregatePolicy<'a>,
    /// `None` without keys: there is one group.
    table: Option<GroupTable>,
    states: Vec<States<'a>>,
    /// Per aggregate the (group, term) or (group, row) pairs seen.
    seen: Vec<Option<GroupTable>>,
    meter: Meter<'a>,
    scratch: Scratch<'a>,
    buffers: Buffers,
    done: Done,
    /// Groups given out.
    given: usize,
    finished: bool,
}

/// How far an input has been added, where a value had to be waited for: what was added is not added again.
#[derive(Default)]
struct Done {
    /// Of rows without columns, those that are added.
    rows: u64,
    /// Aggregates to which the rows at hand have been added.
    aggregates: usize,
    /// Whether `first` has the rows that are new to the next one.
    knows_first: bool,
    /// Random numbers that these aggregates have drawn.
    drawn: u64,
}

/// Memory that chunks reuse.
#[derive(Default)]
struct Buffers {
    /// The group of each row.
    groups: Vec<u32>,
    /// The same as ids, for the sets of `DISTINCT`.
    group_cells: Vec<VertexId>,
    /// All rows of the chunk.
    rows: Vec<u32>,
    /// The rows that `DISTINCT` leaves.
    first: Vec<u32>,
    numbers: Vec<u32>,
    ids: Vec<VertexId>,
    /// A column that is unbound in every row.
    unbound: Vec<VertexId>,
}

/// Values of a column of ids, from its text.
struct Evaluated<'e, 'b> {
    computation: Option<&'e Computation>,
    batch: &'e Batch<'b>,
}

impl<'b> Fetch<'b> for Evaluated<'_, 'b> {
    fn fetch(&self, rows: &[u32]) -> Result<Operand<'b>, WalkError> {
        match self.computation {
            Some(computation) => computation.evaluate(self.batch, rows),
            None => Ok(Operand::One(None)),
        }
    }
}

impl<'p, 'a> Aggregation<'p, 'a> {
    pub(crate) fn new(policy: &'p AggregatePolicy<'a>, limits: Limits<'a>) -> Self {
        let aggregates = policy.aggregates.iter();
        let keys = policy.keys.len();
        Aggregation {
            policy,
            table: (keys > 0).then(|| GroupTable::new(keys)),
            states: aggregates.map(|one| States::new(one.function)).collect(),
            seen: policy.aggregates.iter().map(|_| None).collect(),
            meter: Meter::new(limits),
            scratch: Scratch::new(limits),
            buffers: Buffers::default(),
            done: Done::default(),
            given: 0,
            finished: false,
        }
    }

    pub(crate) fn run<V, L: Lexicon>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        if self.finished {
            return self.emit(context, flow);
        }
        if flow.input.slots().next().is_some() {
            self.add_rows(context, flow.input, flow.input.len())?;
            return Ok(StepOutcome::Drained);
        }
        let all = flow.input.rows();
        if self.policy.counts_rows_only() && all > 0 {
            self.add_rows(context, flow.input, 1)?;
            self.add_count(all - 1)?;
            return Ok(StepOutcome::Drained);
        }
        while self.done.rows < all {
            context.limits.check()?;
            let rows = (all - self.done.rows).min(ROWS as u64);
            self.add_rows(context, flow.input, rows as usize)?;
            self.done.rows += rows;
        }
        self.done.rows = 0;
        Ok(StepOutcome::Drained)
    }

    /// Adds rows like the last one to the counts of rows.
    fn add_count(&mut self, rows: u64) -> Result<(), WalkError> {
        if rows > ROWS_MAX {
            return Err(WalkError::TooManyRows);
        }
        let group = self.buffers.groups[0] as usize;
        for (aggregate, states) in self.policy.aggregates.iter().zip(&mut self.states) {
            if aggregate.distinct.is_none() {
                states.add_rows(group, rows)?;
            }
        }
        Ok(())
    }

    /// Adds the first rows of a chunk to their groups.
    fn add_rows<V, L: Lexicon>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        input: &Chunk,
        rows: usize,
    ) -> Result<(), WalkError> {
        if rows == 0 {
            return Ok(());
        }
        self.number(input, rows)?;
        let groups = self.groups();
        self.scratch.reset(context.scene.width());
        let terms = context.scene.terms(context.lexicon);
        let all = std::mem::take(&mut self.buffers.rows);
        let batch = Batch::new(input, &all, terms, &self.scratch, context.limits);
        batch.draw_from(self.done.drawn);
        let each = self.policy.aggregates.iter();
        let each = each.zip(&mut self.states).zip(&mut self.seen);
        for ((aggregate, states), seen) in each.skip(self.done.aggregates) {
            let held = batch.columns();
            states.extend_to(groups, &mut self.meter)?;
            let mut adding = Adding {
                aggregate,
                buffers: &mut self.buffers,
                meter: &mut self.meter,
                batch: &batch,
                input,
                rows: &all,
                knows_first: &mut self.done.knows_first,
            };
            adding.add(states, seen)?;
            batch.drop_columns(held);
            self.done.aggregates += 1;
            self.done.knows_first = false;
            self.done.drawn = batch.drawn();
        }
        self.done.aggregates = 0;
        self.done.drawn = 0;
        drop(batch);
        self.scratch.forget();
        self.buffers.rows = all;
        Ok(())
    }

    /// Finds the groups of the rows.
    fn number(&mut self, input: &Chunk, rows: usize) -> Result<(), WalkError> {
        let buffers = &mut self.buffers;
        buffers.rows.clear();
        buffers.rows.extend(0..rows as u32);
        buffers.unbound.resize(rows, VertexId::UNBOUND);
        buffers.unbound.truncate(rows);
        buffers.groups.clear();
        match &mut self.table {
            None => buffers.groups.resize(rows, 0),
            Some(table) => {
                let unbound = &buffers.unbound;
                let column = |&slot: &Slot| input.column(slot).unwrap_or(unbound);
                let columns: Vec<&[VertexId]> = self.policy.keys.iter().map(column).collect();
                table.number(&columns, &mut buffers.groups, &mut self.meter)?;
            }
        }
        assert_eq!(buffers.groups.len(), rows, "a row has its group");
        Ok(())
    }

    /// Number of groups: without keys one, also of no rows.
    fn groups(&self) -> usize {
        self.table.as_ref().map_or(1, GroupTable::len)
    }

    /// No more input comes; whether there are rows to give.
    pub(crate) fn finish(&mut self) -> bool {
        !std::mem::replace(&mut self.finished, true) && self.groups() > 0
    }

    /// Gives the next groups.
    fn emit<V, L: Lexicon>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        let groups = self.groups();
        let slots: Vec<Slot> = flow.output.slots().collect();
        let room = if slots.is_empty() {
            groups
        } else {
            flow.room()
        };
        let range = self.given..groups.min(self.given + room);
        let terms = context.scene.terms(context.lexicon);
        let each = self.policy.aggregates.iter().zip(&mut self.states);
        for (aggregate, states) in each {
            states.extend_to(groups, &mut self.meter)?;
            let cells = flow.output.cells_mut(aggregate.into);
            let before = cells.len();
            states.results(range.clone(), &terms, cells)?;
            assert_eq!(cells.len() - before, range.len(), "a group has its result");
        }
        for slot in slots {
            if self.policy.aggregates.iter().any(|one| one.into == slot) {
                continue;
            }
            let cells = flow.output.cells_mut(slot);
            let key = self.policy.keys.iter().position(|&key| key == slot);
            match key.zip(self.table.as_ref()) {
                Some((key, table)) => {
                    cells.extend(range.clone().map(|group| table.cell(key, group)));
                }
                None => cells.resize(cells.len() + range.len(), VertexId::UNBOUND),
            }
        }
        flow.output.add_rows(range.len() as u64)?;
        self.given = range.end;
        if self.given < groups {
            return Ok(StepOutcome::More);
        }
        self.table = None;
        self.states.clear();
        self.seen.clear();
        self.meter.clear();
        Ok(StepOutcome::Drained)
    }
}

/// The rows of a chunk on their way into one aggregate.
struct Adding<'r, 'b, 'm, 'a> {
    aggregate: &'r AggregateColumn<'a>,
    buffers: &'r mut Buffers,
    meter: &'r mut Meter<'m>,
    batch: &'r Batch<'b>,
    input: &'r Chunk,
    rows: &'r [u32],
    /// See [`Done`].
    knows_first: &'r mut bool,
}

impl Adding<'_, '_, '_, '_> {
    fn add(
        &mut self,
        states: &mut States<'_>,
        seen: &mut Option<GroupTable>,
    ) -> Result<(), WalkError> {
        let argument = self.aggregate.argument.as_ref();
        let column = match argument {
            Some(Computation::Slot(slot)) => Some(self.input.column(*slot)),
            _ => None,
        };
        let operand = match (argument, column) {
            (Some(argument), None) => Some(argument.evaluate(self.batch, self.rows)?),
            _ => None,
        };
        if self.aggregate.distinct.is_some() && !*self.knows_first {
            let seen = self.aggregate.keep_first(seen);
            self.keep_first(seen, column, operand.as_ref())?;
            *self.knows_first = true;
        }
        let buffers = &*self.buffers;
        let source = match (column, &operand) {
            (Some(ids), _) => Source::Ids(ids.unwrap_or(&buffers.unbound)),
            (None, Some(operand)) => Source::Operand(operand),
            (None, None) => Source::Rows,
        };
        let values = Values {
            groups: &buffers.groups,
            rows: match self.aggregate.distinct {
                Some(_) => &buffers.first,
                None => self.rows,
            },
            source,
            counts: match self.aggregate.distinct {
                Some(_) => None,
                None => self.input.counts(),
            },
        };
        let fetch = Evaluated {
            computation: argument,
            batch: self.batch,
        };
        states.add(&values, &fetch, self.batch.terms(), self.meter)
    }

    /// Finds the rows whose term, or whose columns, are new in their group.
    #[expect(
        clippy::option_option,
        reason = "no column of ids differs from one that is unbound in every row"
    )]
    fn keep_first(
        &mut self,
        seen: &mut GroupTable,
        column: Option<Option<&[VertexId]>>,
        operand: Option<&Operand<'_>>,
    ) -> Result<(), WalkError> {
        let buffers = &mut *self.buffers;
        buffers.group_cells.clear();
        let cell = |&group: &u32| VertexId::from_bits(u64::from(group));
        buffers.group_cells.extend(buffers.groups.iter().map(cell));
        let mut columns = vec![buffers.group_cells.as_slice()];
        match (column, operand) {
            (Some(ids), _) => columns.push(ids.unwrap_or(&buffers.unbound)),
            (None, Some(operand)) => {
                buffers.ids.clear();
                let values = (0..self.rows.len()).map(|row| operand.get(row));
                ids_of_values(values, self.batch.terms(), &mut buffers.ids)?;
                columns.push(&buffers.ids);
            }
            (None, None) => {
                let slots = self.aggregate.distinct.unwrap_or_default().iter();
                let column = |&slot: &Slot| self.input.column(slot).unwrap_or(&buffers.unbound);
                columns.extend(slots.map(column));
            }
        }
        let mut next = seen.len() as u32;
        buffers.numbers.clear();
        seen.number(&columns, &mut buffers.numbers, self.meter)?;
        buffers.first.clear();
        for (row, &number) in (0_u32..).zip(&buffers.numbers) {
            if number == next {
                buffers.first.push(row);
                next += 1;
            }
        }
        assert_eq!(next as usize, seen.len(), "a combination has its first row");
        Ok(())
    }
}

impl AggregateColumn<'_> {
    /// The set of what was seen, made at its first use.
    fn keep_first<'s>(&self, seen: &'s mut Option<GroupTable>) -> &'s mut GroupTable {
        seen.get_or_insert_with(|| {
            let columns = match self.argument {
                Some(_) => 1,
                None => self.distinct.map_or(0, <[Slot]>::len),
            };
            GroupTable::new(1 + columns)
        })
    }
}
