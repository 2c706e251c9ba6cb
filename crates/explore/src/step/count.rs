//! `COUNT(*)` and `COUNT(DISTINCT *)` without grouping: one row, when all input has come.

use super::row_set::RowSet;
use super::{Flow, StepOutcome};
use crate::chunk::ROWS_MAX;
use crate::error::WalkError;
use crate::limits::Limits;
use query::plan::Slot;
use rdf::inline;

/// What is counted, and the column of the result (`None`: nobody needs it).
pub(crate) struct CountPolicy<'a> {
    pub(crate) distinct: Option<&'a [Slot]>,
    pub(crate) into: Option<Slot>,
}

/// The state of one walk.
pub(crate) struct Counting<'p, 'a> {
    policy: &'p CountPolicy<'a>,
    set: Option<RowSet<'a>>,
    positions: Vec<u32>,
    rows: u64,
    finished: bool,
}

impl<'p, 'a> Counting<'p, 'a> {
    pub(crate) fn new(policy: &'p CountPolicy<'a>, limits: Limits<'a>) -> Self {
        let columns = policy.distinct.filter(|columns| !columns.is_empty());
        let set = columns.map(|columns| RowSet::new(columns, limits));
        Counting {
            policy,
            set,
            positions: Vec::new(),
            rows: 0,
            finished: false,
        }
    }

    pub(crate) fn run(&mut self, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        if self.finished {
            return self.emit(flow);
        }
        match (&mut self.set, self.policy.distinct) {
            (Some(set), _) => {
                self.positions.clear();
                set.insert(flow.input, &mut self.positions)?;
                self.rows = set.len();
            }
            (None, Some(_)) => self.rows = 1,
            (None, None) => {
                let rows = self.rows.checked_add(flow.input.rows());
                self.rows = rows
                    .filter(|&rows| rows < ROWS_MAX)
                    .ok_or(WalkError::TooManyRows)?;
            }
        }
        Ok(StepOutcome::Drained)
    }

    pub(crate) fn finish(&mut self) -> bool {
        !std::mem::replace(&mut self.finished, true)
    }

    fn emit(&mut self, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        if let Some(slot) = self.policy.into {
            let count = i64::try_from(self.rows).ok().and_then(inline::from_integer);
            flow.output
                .cells_mut(slot)
                .push(count.ok_or(WalkError::TooManyRows)?);
        }
        flow.output.add_rows(1)?;
        Ok(StepOutcome::Drained)
    }
}
