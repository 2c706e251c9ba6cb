//! A walk whose first steps are a device's, strip by strip of the seed; what follows them is walked here over its rows.
//!
//! A strip that fails has given nothing out yet, so from its beginning on the same steps are walked here, over the rest of
//! the seed. One that fails while its rows are read, after some of them have gone on, ends the query with an error: no row may come
//! twice, and none may be missing.

use super::{Consumer, Execution, clock};
use crate::accelerator::Accelerator;
use crate::error::{Kind, QueryError};
use explore::{Chunk, Limits, Seed, Status, StepProfile, Walk, WalkError};
use gpu::{GpuError, Ran, Section};
use rdf::{Lexicon, VertexId};
use std::ops::ControlFlow;
use store::GraphView;
use store::delta::GraphVersion;

/// Rows that are read from the device at once.
const PIECE: u64 = 1 << 16;

impl<'a> Execution<'_, 'a> {
    /// Walks the plan. The seed is the section's.
    pub(super) fn on_device(
        &self,
        accelerator: &Accelerator,
        mut section: Section,
        seed: &Seed<'a>,
        consume: &mut Consumer<'_>,
    ) -> Result<Vec<StepProfile>, QueryError> {
        let clock = clock();
        let GraphVersion {
            snapshot,
            dictionary,
            ..
        } = &self.graph.version;
        let steps = section.covered()..self.prepared.plan().steps.len();
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
            match section.next(from) {
                Ok((ran, to)) => {
                    flow = self.hand_on(&section, ran, &mut rest, consume)?;
                    from = to;
                }
                Err(error) => {
                    accelerator.note(&error);
                    let options = self.options(&clock);
                    let part = (seed, from..seed.len());
                    let end = section.covered();
                    let (prepared, limits) = (self.prepared, self.limits);
                    let begun =
                        Walk::beginning(prepared, snapshot, dictionary, limits, options, part, end);
                    flow = self.go_on(begun, &mut rest, consume)?;
                    from = seed.len();
                }
            }
        }
        if flow.is_continue() {
            rest.end_input();
            let _ = self.drain(&mut rest, consume)?;
        }
        let mut profile = vec![StepProfile::default(); section.covered()];
        profile.extend(rest.into_profile());
        Ok(profile)
    }

    /// Reads a strip's rows and walks on with them.
    fn hand_on<V: GraphView, L: Lexicon>(
        &self,
        section: &Section,
        ran: Ran,
        rest: &mut Walk<'_, 'a, V, L>,
        consume: &mut Consumer<'_>,
    ) -> Result<ControlFlow<()>, QueryError> {
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
            let columns = section.read(from..to).map_err(|error| lost(&error))?;
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

    /// Walks the first steps here and goes on with their rows.
    fn go_on<V: GraphView, L: Lexicon>(
        &self,
        mut begun: Walk<'_, 'a, V, L>,
        rest: &mut Walk<'_, 'a, V, L>,
        consume: &mut Consumer<'_>,
    ) -> Result<ControlFlow<()>, QueryError> {
        let mut rows = Chunk::new();
        loop {
            match self.come(begun.next(&mut rows))? {
                Status::Rows => {
                    rest.push(&mut rows)?;
                    if self.drain(rest, consume)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Status::Done => return Ok(ControlFlow::Continue(())),
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

fn lost(error: &GpuError) -> QueryError {
    QueryError::new(
        Kind::Unavailable,
        format!("the device failed while its rows were read: {error}"),
    )
    .with_hint("ask again: the processors answer then")
}
