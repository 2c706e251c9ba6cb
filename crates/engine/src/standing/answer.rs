//! The answer of a planned standing query at one close: its walk, and its rows as terms.

use super::planned::WindowTimes;
use super::report::{ReportKind, ReportRow};
use crate::budget::Budget;
use crate::error::{Kind, QueryError};
use crate::output::Rows;
use crate::output::construct::{Construction, Labels};
use crate::output::decode::Decoder;
use crate::request::walking::explained;
use crate::stop::StopToken;
use explore::{
    Chunk, Environment, GivenTable, Limits, Options, Prepared, Status, Walk, WalkError, prepare,
    wait, wait_for,
};
use oxsdatatypes::DateTime;
use query::plan::{Form, Plan, Slot};
use rdf::VertexId;
use rdf::transient::TransientView;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::delta::Version;
use store::window::StreamView;

/// What one evaluation looks at and may use.
pub(super) struct Evaluating<'e> {
    pub(super) plan: &'e Plan,
    pub(super) constants: &'e [Option<VertexId>],
    pub(super) views: &'e [StreamView<'e, Version>],
    pub(super) terms: &'e TransientView<'e>,
    pub(super) budget: &'e Arc<Budget>,
    pub(super) token: &'e StopToken,
    /// The tables that the plan names.
    pub(super) given: &'e [&'e GivenTable],
    /// What `NOW` is (milliseconds since the epoch).
    pub(super) close_ms: u64,
    /// What is drawn by chance follows from this.
    pub(super) seed: u64,
    /// When triples came, where the plan asks that.
    pub(super) times: Option<&'e WindowTimes>,
    /// What making terms of ids has cost.
    pub(super) decoding: Cell<Duration>,
}

/// Takes a chunk of the walk.
type Take<'t> = dyn FnMut(&Prepared<'_>, &Chunk) -> Result<(), QueryError> + 't;

impl Evaluating<'_> {
    /// The rows of the answer, as far as memory is granted for them.
    pub(super) fn rows(&self) -> Result<Vec<ReportRow>, QueryError> {
        let mut rows = Vec::new();
        match &self.plan.form {
            Form::Select(slots) => {
                self.decoded(slots, &mut |batch, _, _| self.keep(batch, &mut rows))?;
            }
            Form::Ask => {
                self.walk(&mut |_, chunk| {
                    if !chunk.is_empty() && rows.is_empty() {
                        rows.push(ReportRow(Vec::new()));
                    }
                    Ok(())
                })?;
            }
            Form::Construct(template) => {
                let constants = &self.plan.constants;
                let labels = Labels::Drawn(self.seed);
                let mut made = Construction::new(template, constants, &labels, self.budget);
                let slots = made.slots();
                self.decoded(&slots, &mut |batch, chunk, first| {
                    made.make(batch, chunk, first, &mut |triples| {
                        self.keep(triples, &mut rows)
                    })
                })?;
            }
            Form::Describe(_) => {
                return Err(QueryError::new(Kind::Internal, "DESCRIBE was registered"));
            }
        }
        Ok(rows)
    }

    /// What its rows are.
    pub(super) fn kind(&self) -> ReportKind {
        match self.plan.form {
            Form::Ask => ReportKind::Boolean,
            Form::Select(_) => ReportKind::Solutions,
            Form::Construct(_) | Form::Describe(_) => ReportKind::Graph,
        }
    }

    /// The names of the columns of its rows.
    pub(super) fn variables(&self) -> Vec<String> {
        match &self.plan.form {
            Form::Select(slots) => slots
                .iter()
                .map(|slot| self.plan.variables[usize::from(slot.0)].clone())
                .collect(),
            Form::Ask => Vec::new(),
            Form::Construct(_) | Form::Describe(_) => ["subject", "predicate", "object"]
                .map(str::to_owned)
                .to_vec(),
        }
    }

    fn keep(&self, batch: &Rows, rows: &mut Vec<ReportRow>) -> Result<(), QueryError> {
        let text: usize = batch.columns.iter().map(rdf::TermBuffer::text_bytes).sum();
        let cells = batch.len * (batch.columns.len() + 1) * size_of::<oxrdf::Term>();
        let bytes = (text + cells) as u64;
        explore::MemoryBudget::try_reserve(&**self.budget, bytes).map_err(WalkError::from)?;
        rows.extend((0..batch.len).map(|row| ReportRow::of(batch, row)));
        Ok(())
    }

    /// Decodes these columns of every row, a batch at a time: the batch, the chunk that it is of, and the number of its
    /// first row there.
    pub(super) fn decoded(
        &self,
        slots: &[Slot],
        take: &mut dyn FnMut(&Rows, &Chunk, usize) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        let mut decoder = Decoder::new(slots.len(), self.budget);
        self.walk(&mut |prepared, chunk| {
            let begun = Instant::now();
            let len = usize::try_from(chunk.rows()).map_err(|_| WalkError::TooManyRows)?;
            let mut from = 0;
            while from < len {
                let columns = |column: usize| Some(&chunk.column(slots[column])?[from..]);
                let decoded = decoder.decode_columns(self.terms, prepared, len - from, columns)?;
                assert!(decoded > 0, "a batch has a row");
                take(&decoder.rows, chunk, from)?;
                from += decoded;
            }
            self.decoding.set(self.decoding.get() + begun.elapsed());
            Ok(())
        })
    }

    /// Walks the plan, on the calling thread.
    pub(super) fn walk(&self, take: &mut Take<'_>) -> Result<(), QueryError> {
        self.walked(take)
            .map_err(|error| explained(self.token, error))
    }

    fn walked(&self, take: &mut Take<'_>) -> Result<(), QueryError> {
        let limits = Limits {
            memory: &**self.budget,
            stop: self.token,
        };
        let close_ms = self.close_ms;
        let now = move || moment(close_ms);
        let mut environment = Environment::new(&now, self.seed, None).with_given(self.given);
        if let Some(times) = self.times {
            environment = environment.with_arrivals(times);
        }
        let stored = &self.views[0];
        let prepared = wait_for(stored, &limits, || {
            prepare(self.plan, self.constants, self.views, limits, &environment)
        })?;
        let mut walk = Walk::new(
            &prepared,
            self.views,
            self.terms,
            limits,
            Options::default(),
        );
        let mut chunk = Chunk::new();
        loop {
            match walk.next(&mut chunk)? {
                Status::Rows => take(&prepared, &chunk)?,
                Status::Done => return Ok(()),
                Status::Yield => {}
                Status::Pending(ticket) => wait(stored, ticket, &limits)?,
                Status::Starved => unreachable!("a whole walk feeds itself"),
            }
        }
    }
}

/// A moment as a date.
fn moment(time_ms: u64) -> DateTime {
    crate::clock::at(std::time::UNIX_EPOCH + std::time::Duration::from_millis(time_ms))
}
