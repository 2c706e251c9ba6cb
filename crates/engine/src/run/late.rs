//! A walk that comes to a device late: its first steps are walked here, and their rows are handed to a device, table by table.
//!
//! ```text
//!  first steps, here -- tables --> device -- rows --> what follows, here -- chunks --> consumer
//! ```
//!
//! A device begins with lists and keys alone. So a plan that begins with a path, a table of values, a `BIND`, or a `UNION` was walked here to its end, be
//! what follows as heavy as it may; of 772 queries of public projects 124 begin so. A path to one class, say, gives some hundred rows in a
//! microsecond each, and millions come of them.
//!
//! All of this is one thread's. So it is done where its first and last steps, walked on one thread, and a device's in between are expected to take less than the threads
//! that the query may have take for all, by whichever way ([`Accelerator::late`]). Handing over is the same as between nodes ([`explore::OffloadedWalk`]): so is what becomes of a
//! device that fails.

use super::on_device::PieceMemory;
use super::{Consumer, Execution, clock};
use crate::accelerator::{Accelerator, DeviceReport, Lately, OfSection, SectionDevice, Stays};
use crate::error::{Kind, QueryError};
use crate::prepared::Answered;
use cluster::host::HomeSection;
use explore::{Chunk, MemoryBudget, OffloadedWalk, Options, Status, StepProfile, Walk, WalkError};
use rdf::{Lexicon, NodeCause, VertexId};
use std::sync::Arc;
use store::delta::GraphVersion;
use store::view::{GraphView, ViewError};

/// Rows of the first table, and how much longer each is than the one before, as far as a room takes them: what wants few rows has them soon.
const TABLE_MIN: u64 = 1 << 13;
const GROWTH: u64 = 4;

/// Rows of a table for which there has to be memory: two chunks.
const TABLE_LEAST: u64 = 1 << 11;

/// All steps' vertices are owned by whoever has a whole graph.
const ANY_SECTION: HomeSection = HomeSection {
    column: None,
    takes_members: true,
};

impl<'a> Execution<'_, 'a> {
    /// Walks the plan, later steps of it on a device that does not do the first ones, if that is expected to be sooner than processors that take so many nanoseconds for all; `None`: it
    /// is not, or no device does them. `stays` says why it did not begin there, and is another reason then if there is one.
    pub(super) fn late(
        &self,
        accelerator: &Arc<Accelerator>,
        stays: &mut Stays,
        here_ns: f64,
        consume: &mut Consumer<'_>,
    ) -> Result<Option<Answered>, QueryError> {
        if !stays.is_of_first_steps() {
            return Ok(None);
        }
        let GraphVersion {
            snapshot,
            dictionary,
            ..
        } = &self.graph.version;
        let memory: Arc<dyn MemoryBudget + Send> = Arc::clone(self.budget) as _;
        let clock = clock();
        for first in accelerator.late(self.prepared, here_ns) {
            let device = Arc::new(SectionDevice::of_graph(accelerator, snapshot.clone()));
            let section = device.for_section(ANY_SECTION, &memory).beside(here_ns);
            let begun = OffloadedWalk::begun(
                &section,
                self.prepared,
                (snapshot.into(), dictionary),
                self.limits,
                self.options(&clock),
                first..self.prepared.plan().steps.len(),
            );
            if let Some(mut walk) = begun {
                let profile = self.hand_over(&mut walk, first, consume)?;
                return Ok(Some(self.came_late(&section, &walk, profile, stays)));
            }
            match section.stays() {
                Some(why) if why.is_of_first_steps() => {}
                Some(why) => {
                    *stays = why;
                    return Ok(None);
                }
                None => {}
            }
        }
        Ok(None)
    }

    /// What has come of it; `first`: of the steps before.
    fn came_late<V: GraphView, L: Lexicon>(
        &self,
        section: &OfSection,
        walk: &OffloadedWalk<'_, 'a, V, L>,
        first: Vec<StepProfile>,
        stays: &Stays,
    ) -> Answered {
        let (steps, launches) = (first.len()..walk.covered(), walk.strips());
        let mut profile = first;
        profile.extend(walk.profile());
        let device = if launches == 0 {
            // No rows came to it, or it was full.
            DeviceReport::stayed(section.stays().as_ref().unwrap_or(stays), self.profiling)
        } else {
            let lately = Lately {
                rows: profile[steps.end - 1].rows,
                steps,
                launches,
                why: section.why(),
                has_failed: section.has_failed(),
                stays,
            };
            DeviceReport::came_late(&lately, self.profiling)
        };
        Answered {
            profile,
            device: Some(device),
            ..Answered::default()
        }
    }

    /// Walks the steps before this one, and on with their rows, until there are no more or nobody wants any.
    fn hand_over<V: GraphView, L: Lexicon>(
        &self,
        walk: &mut OffloadedWalk<'_, 'a, V, L>,
        first: usize,
        consume: &mut Consumer<'_>,
    ) -> Result<Vec<StepProfile>, QueryError> {
        let clock = clock();
        let GraphVersion {
            snapshot,
            dictionary,
            ..
        } = &self.graph.version;
        let mut before = Walk::section(
            self.prepared,
            snapshot,
            dictionary,
            self.limits,
            self.options(&clock),
            0..first,
        );
        let mut result = Chunk::new();
        let (mut rows_max, mut held) = (TABLE_MIN, None);
        loop {
            match self.come(walk.next(&mut result)).map_err(failed)? {
                Status::Rows => {
                    if consume(self.prepared, &result)?.is_break() {
                        break;
                    }
                }
                Status::Starved => {
                    // The table before is not needed any more.
                    drop(held.take());
                    let most = rows_max.min(walk.rows_wanted()).max(TABLE_MIN);
                    rows_max = rows_max.saturating_mul(GROWTH);
                    match self.table(&mut before, first, most)? {
                        Some((mut rows, memory)) => {
                            walk.push(&mut rows).map_err(failed)?;
                            held = Some(memory);
                        }
                        None => walk.end_input(),
                    }
                }
                Status::Done => break,
                Status::Yield => self.limits.check()?,
                Status::Pending(_) => {}
            }
        }
        Ok(before.into_profile())
    }

    /// Some rows of the first steps as one table, with its memory; nothing, when there are no more.
    fn table<V: GraphView, L: Lexicon>(
        &self,
        before: &mut Walk<'_, 'a, V, L>,
        first: usize,
        most: u64,
    ) -> Result<Option<(Chunk, PieceMemory<'a>)>, QueryError> {
        let slots = self.prepared.columns_before(first);
        let (most, memory) = self.memory_for(slots.len(), most)?;
        let mut cells: Vec<Vec<VertexId>> = vec![Vec::new(); slots.len()];
        let (mut rows, mut chunk) = (0, Chunk::new());
        // The next chunk has a place, too.
        while rows + Options::default().chunk_rows as u64 <= most {
            match self.come(before.next(&mut chunk))? {
                Status::Rows => {
                    rows += chunk.rows();
                    for (slot, cells) in slots.iter().zip(&mut cells) {
                        match chunk.column(*slot) {
                            Some(own) => cells.extend_from_slice(own),
                            None => cells.resize(rows as usize, VertexId::UNBOUND),
                        }
                    }
                }
                Status::Done => break,
                Status::Yield => self.limits.check()?,
                Status::Pending(_) => {}
                Status::Starved => unreachable!("first steps feed themselves"),
            }
        }
        let width = self.prepared.plan().variables.len();
        let columns = slots.iter().copied().zip(cells);
        let table = Chunk::from_columns(width, rows, columns).expect("columns of one table");
        Ok((rows > 0).then_some((table, memory)))
    }

    /// Memory of a table with so many columns and rows, or with as many as it may have.
    fn memory_for(&self, columns: usize, most: u64) -> Result<(u64, PieceMemory<'a>), WalkError> {
        let mut rows = most;
        loop {
            // Vectors that grow are as long again at most.
            let bytes = rows * columns as u64 * 2 * size_of::<VertexId>() as u64;
            match PieceMemory::new(self.limits, bytes) {
                Ok(memory) => return Ok((rows, memory)),
                Err(error) if rows <= TABLE_LEAST => return Err(error),
                Err(_) => rows = (rows / GROWTH).max(TABLE_LEAST),
            }
        }
    }
}

/// A device that failed half way is no other node.
fn failed(error: WalkError) -> QueryError {
    match error {
        WalkError::View(ViewError::Elsewhere(error)) if error.cause == NodeCause::Device => {
            QueryError::new(Kind::Unavailable, error.what)
                .with_hint("ask again: the processors answer then")
        }
        other => other.into(),
    }
}
