//! A walk whose first steps are a device's, strip by strip of the seed; what follows them is walked here over its rows.
//!
//! A strip that fails has given nothing out yet, so from its beginning on the same steps are walked here, over the rest of
//! the seed. One that fails while its rows are read, after some of them have gone on, ends the query with an error: no row may come
//! twice, and none may be missing.

use super::{Consumer, Execution, clock};
use crate::accelerator::{Accelerator, Begun, DeviceReport};
use crate::error::{Kind, QueryError};
use explore::{Chunk, Limits, Seed, Status, StepProfile, Walk, WalkError};
use gpu::{GpuError, Ran, Section};
use rdf::{Lexicon, VertexId};
use std::ops::{ControlFlow, Range};
use store::GraphView;
use store::delta::GraphVersion;

/// Rows that are read from the device at once.
const PIECE: u64 = 1 << 16;

impl<'a> Execution<'_, 'a> {
    /// Walks the plan. The seed is the section's. Of the device's steps the last one has the rows and the time of all.
    pub(super) fn on_device(
        &self,
        accelerator: &Accelerator,
        mut begun: Begun,
        seed: &Seed<'a>,
        consume: &mut Consumer<'_>,
    ) -> Result<(Vec<StepProfile>, DeviceReport), QueryError> {
        accelerator.count();
        let clock = clock();
        let covered = begun.section.covered();
        let mut did = StepProfile::default();
        let mut failed = None;
        let GraphVersion {
            snapshot,
            dictionary,
            ..
        } = &self.graph.version;
        let steps = covered..self.prepared.plan().steps.len();
        let options = self.options(&clock);
        let mut rest = Walk::section(
            self.prepared,
            snapshot,
            dictionary,
            self.limits,
            options,
            steps,
        );
        let mut from = 0;
        let mut flow = ControlFlow::Continue(());
        while flow.is_continue() && from < seed.len() && !rest.is_satisfied() {
            self.limits.check()?;
            let since = clock();
            let strip = begun.section.next(from);
            did.runs += 1;
            did.nanoseconds += clock() - since;
            let handed = match strip {
                Ok((ran, to)) => {
                    let handed = self.hand_on(&begun.section, ran, &mut rest, consume);
                    handed.map(|flow| (flow, ran.rows, to))
                }
                Err(error) => Err(Handing::Nothing(error)),
            };
            match handed {
                Ok((handed, rows, to)) => {
                    flow = handed;
                    did.rows += rows;
                    from = to;
                }
                Err(Handing::Nothing(error)) => {
                    accelerator.note(&begun, &error);
                    failed = Some(error);
                    let left = (seed, from..seed.len());
                    let (rows, went) = self.take_over(left, covered, &mut rest, consume)?;
                    did.rows += rows;
                    flow = went;
                    from = seed.len();
                }
                Err(Handing::Some(error)) => {
                    accelerator.note(&begun, &error);
                    return Err(lost(&error));
                }
                Err(Handing::Query(error)) => return Err(error),
            }
        }
        if flow.is_continue() {
            rest.end_input();
            let _ = self.drain(&mut rest, consume)?;
        }
        let report = DeviceReport::ran(&begun.section, did.rows, failed.as_ref(), self.profiling);
        let mut profile = vec![StepProfile::default(); covered];
        profile[covered - 1] = did;
        profile.extend(rest.into_profile());
        Ok((profile, report))
    }

    /// Walks the covered steps over what is left of the seed here.
    fn take_over<V: GraphView, L: Lexicon>(
        &self,
        left: (&Seed<'a>, Range<u64>),
        covered: usize,
        rest: &mut Walk<'_, 'a, V, L>,
        consume: &mut Consumer<'_>,
    ) -> Result<(u64, ControlFlow<()>), QueryError> {
        let clock = clock();
        let GraphVersion {
            snapshot,
            dictionary,
            ..
        } = &self.graph.version;
        let options = self.options(&clock);
        let (prepared, limits) = (self.prepared, self.limits);
        let begun = Walk::beginning(
            prepared, snapshot, dictionary, limits, options, left, covered,
        );
        self.go_on(begun, rest, consume)
    }

    /// Reads a strip's rows and walks on with them.
    fn hand_on<V: GraphView, L: Lexicon>(
        &self,
        section: &Section,
        ran: Ran,
        rest: &mut Walk<'_, 'a, V, L>,
        consume: &mut Consumer<'_>,
    ) -> Result<ControlFlow<()>, Handing> {
        let width = self.prepared.plan().variables.len();
        let piece = if section.columns() == 0 {
            ran.rows
        } else {
            PIECE
        };
        let bytes =
            piece.min(ran.rows) * section.columns() as u64 * 2 * size_of::<VertexId>() as u64;
        let _held = Held::new(self.limits, bytes)?;
        let mut from = 0;
        while from < ran.rows {
            let to = ran.rows.min(from + piece);
            let columns = section.read(from..to).map_err(|error| {
                if from == 0 {
                    Handing::Nothing(error)
                } else {
                    Handing::Some(error)
                }
            })?;
            let mut rows = Chunk::from_columns(width, to - from, columns)
                .expect("columns of a section are equally long and each another slot");
            rest.push(&mut rows)?;
            if self.drain(rest, consume)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            from = to;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Walks the first steps here and goes on with their rows, of which it gives the number.
    fn go_on<V: GraphView, L: Lexicon, W: GraphView, M: Lexicon>(
        &self,
        mut begun: Walk<'_, 'a, V, L>,
        rest: &mut Walk<'_, 'a, W, M>,
        consume: &mut Consumer<'_>,
    ) -> Result<(u64, ControlFlow<()>), QueryError> {
        let mut rows = Chunk::new();
        let mut count = 0;
        loop {
            match self.come(begun.next(&mut rows))? {
                Status::Rows => {
                    count += rows.rows();
                    rest.push(&mut rows)?;
                    if self.drain(rest, consume)?.is_break() {
                        return Ok((count, ControlFlow::Break(())));
                    }
                }
                Status::Done => return Ok((count, ControlFlow::Continue(()))),
                Status::Yield | Status::Pending(_) => {}
                Status::Starved => unreachable!("it feeds itself"),
            }
        }
    }

    /// Shows what the rest of the walk gives, until it wants more rows or has ended.
    fn drain<V: GraphView, L: Lexicon>(
        &self,
        rest: &mut Walk<'_, 'a, V, L>,
        consume: &mut Consumer<'_>,
    ) -> Result<ControlFlow<()>, QueryError> {
        let mut result = Chunk::new();
        loop {
            match self.come(rest.next(&mut result))? {
                Status::Rows => {
                    if consume(self.prepared, &result)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Status::Starved => return Ok(ControlFlow::Continue(())),
                Status::Done => return Ok(ControlFlow::Break(())),
                Status::Yield | Status::Pending(_) => {}
            }
        }
    }
}

/// Memory of the query while it holds it.
struct Held<'a> {
    limits: Limits<'a>,
    bytes: u64,
}

impl<'a> Held<'a> {
    fn new(limits: Limits<'a>, bytes: u64) -> Result<Held<'a>, WalkError> {
        limits.memory.try_reserve(bytes)?;
        Ok(Held { limits, bytes })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.limits.memory.release(self.bytes);
    }
}

/// Why a strip did not go on.
enum Handing {
    /// The device failed before any of its rows was given out.
    Nothing(GpuError),
    /// The device failed after some were.
    Some(GpuError),
    /// What follows it failed.
    Query(QueryError),
}

impl<E: Into<QueryError>> From<E> for Handing {
    fn from(error: E) -> Handing {
        Handing::Query(error.into())
    }
}

fn lost(error: &GpuError) -> QueryError {
    QueryError::new(
        Kind::Unavailable,
        format!("the device failed while its rows were read: {error}"),
    )
    .with_hint("ask again: the processors answer then")
}
