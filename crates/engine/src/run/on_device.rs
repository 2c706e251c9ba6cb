//! A walk whose first steps are a device's, strip by strip of the seed; what follows them is walked here over its rows, on one thread.
//! (Where that is much, and there are threads for it, see `beside_devices`.)
//!
//! A strip is as long as it may take some milliseconds: between two of them it is looked whether the query was stopped. One that takes seconds is
//! not waited for: its device hangs, and is taken for lost.
//!
//! A strip that fails has given nothing out yet, so from its beginning on the same steps are walked here, over the rest of
//! the seed. One that fails while its rows are read, after some of them have gone on, ends the query with an error: no row may come
//! twice, and none may be missing.

use super::{Consumer, Execution, clock};
use crate::accelerator::{Accelerator, Begun, DeviceReport, NAP, PATIENCE, STRIP_NS, Took};
use crate::error::{Kind, QueryError};
use explore::{ArrangedSet, Chunk, Limits, Seed, Status, StepProfile, Walk, WalkError};
use gpu::{Arranged, GpuError, Piece, Ran, Rows, Section};
use rdf::{Lexicon, VertexId};
use std::ops::{ControlFlow, Range};
use std::time::Instant;
use store::delta::GraphVersion;
use store::{GraphScope, GraphView};

impl<'a> Execution<'_, 'a> {
    /// The seed, its elements numbered as the section numbers them: where layers have changed it, the base's come first. With the memory of
    /// what that takes.
    pub(super) fn arranged(
        &self,
        seed: Seed<'a>,
        begun: &Begun,
    ) -> Result<(Seed<'a>, PieceMemory<'a>), QueryError> {
        let Some(arranged) = begun.section.arranged() else {
            return Ok((seed, PieceMemory::new(self.limits, 0)?));
        };
        let held = PieceMemory::new(self.limits, arranged.bytes())?;
        let base = self.graph.version.snapshot.base();
        let first = match arranged.of() {
            Some(of) => base.neighbours(arranged.segment(), of, GraphScope::Default),
            None => base.keys(arranged.segment()),
        };
        let first = first.map_err(WalkError::from)?;
        let (came, went) = (arranged.came(), arranged.went());
        Ok((seed.arranged(ArrangedSet::new(first, came, went)), held))
    }

    /// Walks the plan. The seed is the section's. Of the device's steps the last one has the rows and the time of all.
    pub(super) fn on_device(
        &self,
        accelerator: &Accelerator,
        mut begun: Begun,
        seed: &Seed<'a>,
        consume: &mut Consumer<'_>,
    ) -> Result<(Vec<StepProfile>, DeviceReport), QueryError> {
        accelerator.count(false);
        let clock = clock();
        let covered = begun.section.covered();
        let mut did = StepProfile::default();
        let mut failed = None;
        let mut read = 0;
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
            let handed = match self.strip(&mut begun, from..seed.len(), &mut did)? {
                Ok((ran, to)) => {
                    let handed = self.hand_on(&begun.section, ran, &mut rest, consume);
                    handed.map(|flow| (flow, ran, to))
                }
                Err(error) => Err(Handing::Nothing(error)),
            };
            match handed {
                Ok((handed, ran, to)) => {
                    flow = handed;
                    did.rows += ran.walked;
                    read += ran.rows;
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
        let mut took = Took::of(std::slice::from_ref(&begun), 0);
        (took.rows, took.failed) = (did.rows, failed.as_ref());
        took.read = read;
        let report = DeviceReport::ran(&begun.section, &took, self.profiling);
        let mut profile = vec![StepProfile::default(); covered];
        profile[covered - 1] = did;
        profile.extend(rest.into_profile());
        Ok((profile, report))
    }

    /// How long a device is waited for, from now on.
    pub(super) fn patience(&self) -> impl FnMut() -> bool {
        let since = Instant::now();
        move || {
            std::thread::sleep(NAP);
            !self.halt.is_stopped() && since.elapsed() < PATIENCE
        }
    }

    /// Walks the next strip of a range of the seed on the device, or says how it failed; an error of its own is that the query was stopped.
    pub(super) fn strip(
        &self,
        begun: &mut Begun,
        within: Range<u64>,
        did: &mut StepProfile,
    ) -> Result<Result<(Ran, u64), GpuError>, QueryError> {
        self.limits.check()?;
        let (start, since) = (within.start, Instant::now());
        let mut patience = self.patience();
        let strip = begun.section.next(within, &mut patience);
        let took = since.elapsed().as_nanos() as u64;
        did.runs += 1;
        did.nanoseconds += took;
        if let Err(GpuError::GivenUp) = strip {
            self.limits.check()?;
        }
        if let Ok((_, to)) = &strip {
            let fair = (to - start) as f64 * STRIP_NS / took.max(1) as f64;
            begun.section.limit(fair as u64);
        }
        Ok(strip)
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
        let mut pieces = section.rows(ran);
        let _held = PieceMemory::new(self.limits, bytes_of_pieces(section, &pieces))?;
        let mut is_first = true;
        loop {
            let piece = pieces.piece(&mut self.patience()).map_err(|error| {
                if is_first {
                    Handing::Nothing(error)
                } else {
                    Handing::Some(error)
                }
            })?;
            let Some(piece) = piece else {
                return Ok(ControlFlow::Continue(()));
            };
            let mut rows = chunk_of(width, piece);
            rest.push(&mut rows)?;
            if self.drain(rest, consume)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            is_first = false;
        }
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

/// Whether a section's seed is the plan's, as many elements, and the query may have the memory to number it so.
pub(super) fn is_seed_of(seed: &Seed<'_>, section: &Section, limits: Limits<'_>) -> bool {
    let none = match section.arranged() {
        Some(_) if !seed.is_set() => return false,
        Some(arranged) => arranged.none(),
        None => 0,
    };
    let bytes = section.arranged().map_or(0, Arranged::bytes);
    seed.len() + none == section.seeds() && PieceMemory::new(limits, bytes).is_ok()
}

/// The rows of a piece.
pub(crate) fn chunk_of(width: usize, piece: Piece) -> Chunk {
    let chunk = Chunk::from_columns(width, piece.rows, piece.columns)
        .expect("columns of a section are equally long and each another slot");
    match piece.counts {
        Some(counts) => chunk.with_counts(counts),
        None => chunk,
    }
}

/// Bytes of ids of the pieces that there are at once: one that is read and one that is walked over.
pub(super) fn bytes_of_pieces(section: &Section, pieces: &Rows<'_>) -> u64 {
    pieces.piece_rows() * section.columns() as u64 * 2 * size_of::<VertexId>() as u64
}

/// Memory of the query while it holds it.
pub(super) struct PieceMemory<'a> {
    limits: Limits<'a>,
    bytes: u64,
}

impl<'a> PieceMemory<'a> {
    pub(super) fn new(limits: Limits<'a>, bytes: u64) -> Result<PieceMemory<'a>, WalkError> {
        limits.memory.try_reserve(bytes)?;
        Ok(PieceMemory { limits, bytes })
    }
}

impl Drop for PieceMemory<'_> {
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

pub(super) fn lost(error: &GpuError) -> QueryError {
    QueryError::new(
        Kind::Unavailable,
        format!("the device failed while its rows were read: {error}"),
    )
    .with_hint("ask again: the processors answer then")
}
