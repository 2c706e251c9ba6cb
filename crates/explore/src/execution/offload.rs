//! The first steps of a walk done by somebody else, a device, and what follows them walked here over its rows.
//!
//! ```text
//!  seed, or rows that are pushed --> Offloaded: steps start..covered --rows--> walk of covered..end --> out
//!                                       |  fails                               ^
//!                                       +--> walk of start..covered -----------+   of what it gave nothing of
//! ```
//!
//! An [`Offloader`] is asked when a plan is prepared, and for each table that comes then. What it begins it may fail at any time: it says of which elements of
//! the seed, or rows, nothing was given out, and these are walked here. So no row is missing and none comes twice; where that cannot be said, the
//! walk ends with an error.

use crate::chunk::Chunk;
use crate::error::WalkError;
use crate::limits::Limits;
use crate::options::{Options, Status};
use crate::prepare::Prepared;
use crate::profile::StepProfile;
use crate::views::Views;
use crate::walk::Walk;
use query::plan::Slot;
use rdf::{Lexicon, VertexId};
use std::ops::Range;
use store::view::GraphView;

/// Does first steps of walks.
pub trait Offloader: Send + Sync {
    /// Begins these steps of a plan: over the plan's seed, of so many elements, where there is one; else over rows that it is given.
    /// `None`: it does not. If it does not at first it is not asked again; else it is for each table that comes, of which some may be walked here.
    fn begin(
        &self,
        prepared: &Prepared<'_>,
        steps: Range<usize>,
        seed: Option<u64>,
        limits: Limits<'_>,
    ) -> Option<Box<dyn Offloaded>>;
}

/// First steps that somebody does, over a seed or over one table after the other.
pub trait Offloaded: Send {
    /// The step behind the last one that it does, which is one of the section's or the end of it.
    fn covered(&self) -> usize;

    /// Rows that it takes at once, at least one; more are given to it one table after the other.
    fn rows_max(&self) -> u64;

    /// Takes rows with these columns, those before its first step. It has [given](Offloaded::next) all rows of those before.
    fn load(&mut self, rows: u64, columns: &[&[VertexId]]) -> Result<(), Unfinished>;

    /// Goes on for some milliseconds at most.
    fn next(&mut self, limits: Limits<'_>) -> Result<Came, Unfinished>;

    /// Times that it was set to work, and rows that its last step gave, equal ones that came as one each for itself.
    fn did(&self) -> (u64, u64);
}

/// What came of somebody else's going on.
#[derive(Debug)]
pub enum Came {
    /// Rows.
    Rows(Chunk),
    /// No rows; it is to go on.
    Nothing,
    /// All of the seed, or of what was loaded last, is done.
    Done,
}

/// What became of a walk that somebody else did not bring to its end.
#[derive(Debug)]
pub enum Unfinished {
    /// From this element of the seed on, or this row of those that were loaded last, nothing was given out; of all before everything was.
    From(u64),
    /// Nobody can go on.
    Ended(WalkError),
}

/// What of a section stands before what is walked here.
struct Before<'p, 'a, V, L> {
    offloader: &'p dyn Offloader,
    prepared: &'p Prepared<'a>,
    views: Views<'a, V>,
    lexicon: &'a L,
    limits: Limits<'a>,
    options: Options<'p>,
    steps: Range<usize>,
    covered: usize,
    /// Elements of the plan's seed, where it begins there.
    seed: Option<u64>,
}

/// Who does the first steps of what is in hand.
enum Doer<'p, 'a, V, L> {
    Offloaded(Box<dyn Offloaded>),
    /// Here, what somebody else did not finish or begin.
    Here(Box<Walk<'p, 'a, V, L>>),
    /// Nothing is in hand.
    Nobody,
    /// There is nothing more for them, whatever comes.
    Over,
}

/// Rows that were pushed, and the range of them that was loaded last.
struct InHand {
    rows: u64,
    columns: Vec<(Slot, Vec<VertexId>)>,
    loaded: Range<u64>,
}

/// Rows of somebody else's, and how many of them were walked on with.
struct Piece {
    rows: u64,
    columns: Vec<(Slot, Vec<VertexId>)>,
    counts: Option<Vec<u64>>,
    given: u64,
}

/// See the head of this file.
///
/// Who does the first steps of a table is let go when that is done: a device has room for few.
pub struct OffloadedWalk<'p, 'a, V, L> {
    before: Before<'p, 'a, V, L>,
    doer: Doer<'p, 'a, V, L>,
    /// The walk of what was pushed and nobody else did, while it has nothing to do.
    idle: Option<Box<Walk<'p, 'a, V, L>>>,
    in_hand: Option<InHand>,
    piece: Option<Piece>,
    rest: Walk<'p, 'a, V, L>,
    has_ended: bool,
    /// Rows that are best pushed at once, as was said last.
    rows_max: u64,
    /// What the first steps did elsewhere, and how often somebody was set to work.
    did: Vec<StepProfile>,
    strips: u64,
}

impl<'p, 'a, V: GraphView, L: Lexicon> OffloadedWalk<'p, 'a, V, L> {
    /// A walk of these steps, if somebody does the first of them.
    ///
    /// Those behind the plan's first are walked over rows that are [pushed](OffloadedWalk::push).
    pub fn begun(
        offloader: &'p dyn Offloader,
        prepared: &'p Prepared<'a>,
        (views, lexicon): (Views<'a, V>, &'a L),
        limits: Limits<'a>,
        options: Options<'p>,
        steps: Range<usize>,
    ) -> Option<Self> {
        if steps.is_empty() {
            return None;
        }
        let seed = match steps.start {
            0 => {
                // One that has to be waited for is walked here.
                let seed = prepared.seed(views).ok()??;
                Some(seed.is_set().then(|| seed.len())?)
            }
            _ => None,
        };
        let begun = offloader.begin(prepared, steps.clone(), seed, limits)?;
        let (covered, rows_max) = (begun.covered(), begun.rows_max());
        assert!(
            steps.start < covered && covered <= steps.end,
            "it does some of the steps, and no others"
        );
        let rest = covered..steps.end;
        let mut rest = Walk::of_steps(prepared, views, lexicon, limits, options, rest);
        rest.open();
        Some(OffloadedWalk {
            did: vec![StepProfile::default(); covered - steps.start],
            before: Before {
                offloader,
                prepared,
                views,
                lexicon,
                limits,
                options,
                steps,
                covered,
                seed,
            },
            // Rows are not there yet: it begins again when they are.
            doer: seed.map_or(Doer::Nobody, |_| Doer::Offloaded(begun)),
            idle: None,
            in_hand: None,
            piece: None,
            rest,
            has_ended: false,
            rows_max,
            strips: 0,
        })
    }

    /// Fills `out` as [`Walk::next`] does; [`Status::Starved`]: it wants to be pushed rows, or told that there are none.
    pub fn next(&mut self, out: &mut Chunk) -> Result<Status, WalkError> {
        let mut has_gone_on = false;
        loop {
            match self.rest.next(out)? {
                Status::Starved if has_gone_on => return Ok(Status::Yield),
                Status::Starved => {}
                Status::Done => {
                    self.ends();
                    return Ok(Status::Done);
                }
                status => return Ok(status),
            }
            let mut rows = Chunk::new();
            match self.first_steps(&mut rows)? {
                Status::Rows => self.rest.push(&mut rows)?,
                Status::Done => self.rest.end_input(),
                status => return Ok(status),
            }
            has_gone_on = true;
        }
    }

    /// Nothing that is in hand is wanted any more.
    fn ends(&mut self) {
        self.doer = Doer::Over;
        (self.in_hand, self.piece) = (None, None);
    }

    /// The next rows of the first steps.
    fn first_steps(&mut self, out: &mut Chunk) -> Result<Status, WalkError> {
        if let Some(rows) = self.next_of_piece() {
            *out = rows;
            return Ok(Status::Rows);
        }
        match &mut self.doer {
            Doer::Here(walk) => {
                let status = walk.next(out)?;
                if status == Status::Starved {
                    self.rests();
                }
                Ok(status)
            }
            Doer::Over => Ok(Status::Done),
            Doer::Nobody if self.has_ended => Ok(Status::Done),
            Doer::Nobody => Ok(Status::Starved),
            Doer::Offloaded(_) => match self.offloaded() {
                Ok(()) => Ok(Status::Yield),
                Err(Unfinished::From(from)) => {
                    self.take_over(from)?;
                    Ok(Status::Yield)
                }
                Err(Unfinished::Ended(error)) => Err(error),
            },
        }
    }

    /// The walk here has nothing to do until rows are pushed.
    fn rests(&mut self) {
        if let Doer::Here(walk) = std::mem::replace(&mut self.doer, Doer::Nobody) {
            self.idle = Some(walk);
        }
    }

    /// Lets somebody else go on: rows are a piece then.
    fn offloaded(&mut self) -> Result<(), Unfinished> {
        let Doer::Offloaded(doer) = &mut self.doer else {
            unreachable!("the caller has looked");
        };
        let clock = self.before.options.clock;
        let last = self.did.last_mut().expect("it does a step at least");
        let (since, (strips, rows)) = (clock.map(|clock| clock()), doer.did());
        let came = doer.next(self.before.limits);
        let (strips, rows) = (doer.did().0 - strips, doer.did().1 - rows);
        self.strips += strips;
        last.runs += strips;
        last.rows += rows;
        if let (Some(clock), Some(since)) = (clock, since) {
            last.nanoseconds += clock().saturating_sub(since);
        }
        match came? {
            Came::Rows(rows) if !rows.is_empty() => {
                self.piece = Some(Piece::of(rows));
                Ok(())
            }
            Came::Nothing | Came::Rows(_) => Ok(()),
            Came::Done => match &mut self.in_hand {
                Some(in_hand) if in_hand.has_more() => in_hand.load_next(&mut **doer),
                _ => {
                    self.in_hand = None;
                    self.doer = match self.before.seed {
                        Some(_) => Doer::Over,
                        None => Doer::Nobody,
                    };
                    Ok(())
                }
            },
        }
    }

    /// The next rows of a piece, some thousand: what follows is made for chunks.
    fn next_of_piece(&mut self) -> Option<Chunk> {
        let piece = self.piece.as_mut()?;
        let width = self.before.prepared.plan().variables.len();
        let rows = PIECE_CHUNKS * self.before.options.chunk_rows as u64;
        let (chunk, is_last) = piece.next(rows, width);
        if is_last {
            self.piece = None;
        }
        Some(chunk)
    }

    /// Walks on here from an element of the seed, or a row of those that were loaded last.
    fn take_over(&mut self, from: u64) -> Result<(), WalkError> {
        self.doer = Doer::Nobody;
        let Some(elements) = self.before.seed else {
            let left = self
                .in_hand
                .take()
                .and_then(|it| it.left(&self.before, from));
            return left.map_or(Ok(()), |mut rows| self.walk_here(&mut rows));
        };
        self.doer = Doer::Over;
        if from < elements {
            let before = &self.before;
            let ground = (before.views, before.lexicon);
            let walk = Walk::beginning_of_set(
                before.prepared,
                ground,
                before.limits,
                before.options,
                from..elements,
                before.covered,
            )?;
            self.doer = Doer::Here(Box::new(walk));
        }
        Ok(())
    }

    /// Rows whose first steps nobody else does.
    fn walk_here(&mut self, rows: &mut Chunk) -> Result<(), WalkError> {
        let idle = self.idle.take();
        let Some(mut walk) = idle.map_or_else(|| self.before.walk(), |idle| Ok(Some(idle)))? else {
            self.doer = Doer::Over;
            return Ok(());
        };
        walk.push(rows)?;
        if self.has_ended {
            walk.end_input();
        }
        self.doer = Doer::Here(walk);
        Ok(())
    }

    /// Gives it more rows, taken out of `rows`, when it has asked for them. Asserts that its steps have input.
    pub fn push(&mut self, rows: &mut Chunk) -> Result<(), WalkError> {
        assert!(
            self.before.seed.is_none() && rows.counts().is_none(),
            "a plan's first steps have no input, and each row of others stands for itself"
        );
        match &self.doer {
            Doer::Nobody => {}
            // Nothing comes of them.
            Doer::Over => {
                *rows = Chunk::new();
                return Ok(());
            }
            Doer::Offloaded(_) | Doer::Here(_) => unreachable!("it asks when all were walked"),
        }
        let before = &self.before;
        let steps = before.steps.clone();
        let begun = before
            .offloader
            .begin(before.prepared, steps, None, before.limits);
        // It may do fewer steps now: what its segments have room for.
        let Some(mut doer) = begun.filter(|begun| begun.covered() == before.covered) else {
            return self.walk_here(rows);
        };
        self.rows_max = doer.rows_max();
        let mut in_hand = InHand {
            rows: rows.rows(),
            columns: std::mem::take(rows).into_columns().collect(),
            loaded: 0..0,
        };
        let loaded = in_hand.load_next(&mut *doer);
        self.in_hand = Some(in_hand);
        self.doer = Doer::Offloaded(doer);
        match loaded {
            Ok(()) => Ok(()),
            Err(Unfinished::From(from)) => self.take_over(from),
            Err(Unfinished::Ended(error)) => Err(error),
        }
    }

    /// There are no more rows.
    pub fn end_input(&mut self) {
        self.has_ended = true;
        if let Doer::Here(walk) = &mut self.doer {
            walk.end_input();
        }
    }

    /// Whether it wants no more rows, whatever they are.
    pub fn is_satisfied(&self) -> bool {
        self.rest.is_satisfied()
    }

    /// The step behind the last one that somebody else does.
    pub fn covered(&self) -> usize {
        self.before.covered
    }

    /// How often somebody else was set to work.
    pub fn strips(&self) -> u64 {
        self.strips
    }

    /// Rows that are best pushed at once.
    pub fn rows_wanted(&self) -> u64 {
        self.rows_max
    }

    /// The counters of all steps; those of what somebody else did are with the last step of that.
    pub fn profile(&self) -> Vec<StepProfile> {
        let mut all = self.did.clone();
        let doing = match &self.doer {
            Doer::Here(walk) => Some(walk),
            _ => self.idle.as_ref(),
        };
        for (step, here) in all
            .iter_mut()
            .zip(doing.iter().flat_map(|walk| walk.profile()))
        {
            step.add(here);
        }
        all.extend(self.rest.profile());
        all
    }
}

/// Chunks in which a piece is walked on with: tables between nodes are looked at once for each.
const PIECE_CHUNKS: u64 = 4;

impl<'p, 'a, V: GraphView, L: Lexicon> Before<'p, 'a, V, L> {
    /// A walk of the first steps that asks for rows; `None`: it knows that nothing comes of any.
    fn walk(&self) -> Result<Option<Box<Walk<'p, 'a, V, L>>>, WalkError> {
        let mut walk = Box::new(Walk::section(
            self.prepared,
            self.views,
            self.lexicon,
            self.limits,
            self.options,
            self.steps.start..self.covered,
        ));
        match walk.next(&mut Chunk::new())? {
            Status::Starved => Ok(Some(walk)),
            Status::Done => Ok(None),
            status => unreachable!("a section without rows gave {status:?}"),
        }
    }
}

impl Piece {
    fn of(rows: Chunk) -> Piece {
        Piece {
            rows: rows.rows(),
            counts: rows.counts().map(<[u64]>::to_vec),
            columns: rows.into_columns().collect(),
            given: 0,
        }
    }

    /// The next rows, so many at most where they have columns; whether they are the last.
    fn next(&mut self, most: u64, width: usize) -> (Chunk, bool) {
        let rows = if self.columns.is_empty() {
            self.rows
        } else {
            most.clamp(1, self.rows - self.given)
        };
        let range = self.given as usize..(self.given + rows) as usize;
        self.given += rows;
        let cut = |(slot, cells): &(Slot, Vec<VertexId>)| (*slot, cells[range.clone()].to_vec());
        let columns = self.columns.iter().map(cut);
        let chunk = Chunk::from_columns(width, rows, columns).expect("columns of one chunk");
        let chunk = match &self.counts {
            Some(counts) => chunk.with_counts(counts[range].to_vec()),
            None => chunk,
        };
        (chunk, self.given == self.rows)
    }
}

impl InHand {
    /// Whether some of its rows were not loaded yet.
    fn has_more(&self) -> bool {
        self.loaded.end < self.rows
    }

    /// Loads the next rows.
    fn load_next(&mut self, doer: &mut dyn Offloaded) -> Result<(), Unfinished> {
        let from = self.loaded.end;
        let to = self.rows.min(from + doer.rows_max());
        self.loaded = from..to;
        let range = from as usize..to as usize;
        let columns = self.columns.iter().map(|(_, cells)| &cells[range.clone()]);
        let columns: Vec<&[VertexId]> = columns.collect();
        doer.load(to - from, &columns)
    }

    /// Its rows from this one of the last ones on; `None`: there are none.
    fn left<V, L>(self, before: &Before<'_, '_, V, L>, from: u64) -> Option<Chunk> {
        let from = self.loaded.start + from;
        let left = self.rows - from;
        let cut = |(slot, mut cells): (Slot, Vec<VertexId>)| (slot, cells.split_off(from as usize));
        let columns = self.columns.into_iter().map(cut);
        let width = before.prepared.plan().variables.len();
        let chunk = Chunk::from_columns(width, left, columns);
        (left > 0).then(|| chunk.expect("columns of one chunk"))
    }
}
