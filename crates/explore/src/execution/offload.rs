//! The first steps of a walk done by somebody else, a device, and what follows them walked here over its rows.
//!
//! ```text
//!  seed, or rows that are pushed --> Offloaded: steps start..covered --rows--> walk of covered..end --> out
//!                                       |  fails                               ^
//!                                       +--> walk of start..covered -----------+   of what it gave nothing of
//! ```
//!
//! An [`Offloader`] is asked once, when a plan is prepared. What it begins it may fail at any time: it says of which elements of the
//! seed, or rows, nothing was given out, and these are walked here. So no row is missing and none comes twice; where that cannot be said, the
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
    /// `None`: it does not, and is not asked again.
    fn begin(
        &self,
        prepared: &Prepared<'_>,
        steps: Range<usize>,
        seed: Option<u64>,
        limits: Limits<'_>,
    ) -> Option<Box<dyn Offloaded>>;
}

/// First steps that somebody does.
pub trait Offloaded: Send {
    /// The step behind the last one that it does, which is one of the section's or the end of it.
    fn covered(&self) -> usize;

    /// Rows that it takes at once, at least one; more are given to it one table after the other.
    fn rows_max(&self) -> u64;

    /// Takes rows with these columns, those before its first step. It has [given](Offloaded::next) all rows of those before.
    fn load(&mut self, rows: u64, columns: &[&[VertexId]]) -> Result<(), Unfinished>;

    /// The next rows; `None`: there are no more, of the seed or of what was loaded last.
    fn next(&mut self, limits: Limits<'_>) -> Result<Option<Chunk>, Unfinished>;

    /// Times that it was set to work.
    fn strips(&self) -> u64;
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
    prepared: &'p Prepared<'a>,
    views: Views<'a, V>,
    lexicon: &'a L,
    limits: Limits<'a>,
    options: Options<'p>,
    start: usize,
    covered: usize,
    /// Elements of the plan's seed, where it begins there.
    seed: Option<u64>,
}

/// Who does the first steps.
enum Doer<'p, 'a, V, L> {
    Offloaded(Box<dyn Offloaded>),
    /// Those that somebody else did not finish.
    Here(Box<Walk<'p, 'a, V, L>>),
    /// Nobody: there is nothing left of them.
    Nobody,
}

/// Rows that were pushed, and the range of them that was loaded last.
struct InHand {
    rows: u64,
    columns: Vec<(Slot, Vec<VertexId>)>,
    loaded: Range<u64>,
}

/// See the head of this file.
pub(crate) struct OffloadedWalk<'p, 'a, V, L> {
    before: Before<'p, 'a, V, L>,
    doer: Doer<'p, 'a, V, L>,
    in_hand: Option<InHand>,
    rest: Walk<'p, 'a, V, L>,
    has_ended: bool,
    /// What the first steps did, and how often somebody else was set to work.
    did: Vec<StepProfile>,
    strips: u64,
}

impl<'p, 'a, V: GraphView, L: Lexicon> OffloadedWalk<'p, 'a, V, L> {
    /// A walk of these steps, if somebody does the first of them.
    pub(crate) fn begun(
        offloader: &dyn Offloader,
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
        let covered = begun.covered();
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
                prepared,
                views,
                lexicon,
                limits,
                options,
                start: steps.start,
                covered,
                seed,
            },
            doer: Doer::Offloaded(begun),
            in_hand: None,
            rest,
            has_ended: false,
            strips: 0,
        })
    }

    pub(crate) fn next(&mut self, out: &mut Chunk) -> Result<Status, WalkError> {
        loop {
            match self.rest.next(out)? {
                Status::Starved => {}
                status => return Ok(status),
            }
            let mut rows = Chunk::new();
            match self.first_steps(&mut rows)? {
                Status::Rows => self.rest.push(&mut rows)?,
                Status::Done => self.rest.end_input(),
                status => return Ok(status),
            }
        }
    }

    /// The next rows of the first steps.
    fn first_steps(&mut self, out: &mut Chunk) -> Result<Status, WalkError> {
        match &mut self.doer {
            Doer::Here(walk) => return walk.next(out),
            Doer::Nobody => return Ok(Status::Done),
            Doer::Offloaded(_) => {}
        }
        match self.offloaded() {
            Ok(Some(rows)) => {
                *out = rows;
                Ok(Status::Rows)
            }
            Ok(None) if self.before.seed.is_some() || self.has_ended => Ok(Status::Done),
            Ok(None) => Ok(Status::Starved),
            Err(Unfinished::From(from)) => {
                self.take_over(from)?;
                Ok(Status::Yield)
            }
            Err(Unfinished::Ended(error)) => Err(error),
        }
    }

    /// The next rows of what somebody else does.
    fn offloaded(&mut self) -> Result<Option<Chunk>, Unfinished> {
        let Doer::Offloaded(doer) = &mut self.doer else {
            unreachable!("the caller has looked");
        };
        let clock = self.before.options.clock;
        let last = self.did.last_mut().expect("it does a step at least");
        loop {
            if let Some(in_hand) = &self.in_hand
                && in_hand.loaded.is_empty()
            {
                return Ok(None);
            }
            let (since, strips) = (clock.map(|clock| clock()), doer.strips());
            let next = doer.next(self.before.limits);
            self.strips += doer.strips() - strips;
            last.runs += doer.strips() - strips;
            if let (Some(clock), Some(since)) = (clock, since) {
                last.nanoseconds += clock().saturating_sub(since);
            }
            if let Some(rows) = next? {
                last.rows += rows
                    .counts()
                    .map_or(rows.rows(), |counts| counts.iter().sum());
                return Ok(Some(rows));
            }
            let Some(in_hand) = &mut self.in_hand else {
                return Ok(None);
            };
            in_hand.load_next(&mut **doer)?;
        }
    }

    /// Walks on here from an element of the seed, or a row of those that were loaded last.
    fn take_over(&mut self, from: u64) -> Result<(), WalkError> {
        let before = &self.before;
        let steps = before.start..before.covered;
        let (prepared, views, lexicon) = (before.prepared, before.views, before.lexicon);
        let (limits, options) = (before.limits, before.options);
        let Some(elements) = before.seed else {
            let mut walk = Walk::section(prepared, views, lexicon, limits, options, steps);
            let status = walk.next(&mut Chunk::new())?;
            assert_eq!(status, Status::Starved, "a section asks for rows");
            if let Some(mut rows) = self.in_hand.take().and_then(|it| it.left(prepared, from)) {
                walk.push(&mut rows)?;
            }
            if self.has_ended {
                walk.end_input();
            }
            self.doer = Doer::Here(Box::new(walk));
            return Ok(());
        };
        self.doer = if from < elements {
            let range = from..elements;
            let ground = (views, lexicon);
            let walk = Walk::beginning_of_set(prepared, ground, limits, options, range, steps.end)?;
            Doer::Here(Box::new(walk))
        } else {
            Doer::Nobody
        };
        Ok(())
    }

    pub(crate) fn push(&mut self, rows: &mut Chunk) -> Result<(), WalkError> {
        assert!(
            self.before.seed.is_none(),
            "a plan's first steps have no input"
        );
        let Doer::Offloaded(doer) = &mut self.doer else {
            let Doer::Here(walk) = &mut self.doer else {
                unreachable!("rows that are pushed are somebody's");
            };
            return walk.push(rows);
        };
        assert!(rows.counts().is_none(), "each row stands for itself");
        let count = rows.rows();
        let columns = std::mem::take(rows).into_columns().collect();
        let mut in_hand = InHand {
            rows: count,
            columns,
            loaded: 0..0,
        };
        let loaded = in_hand.load_next(&mut **doer);
        self.in_hand = Some(in_hand);
        match loaded {
            Ok(()) => Ok(()),
            Err(Unfinished::From(from)) => self.take_over(from),
            Err(Unfinished::Ended(error)) => Err(error),
        }
    }

    pub(crate) fn end_input(&mut self) {
        self.has_ended = true;
        if let Doer::Here(walk) = &mut self.doer {
            walk.end_input();
        }
    }

    pub(crate) fn is_satisfied(&self) -> bool {
        self.rest.is_satisfied()
    }

    /// How often somebody else was set to work.
    pub(crate) fn strips(&self) -> u64 {
        self.strips
    }

    /// Rows that are best pushed at once.
    pub(crate) fn rows_wanted(&self) -> Option<u64> {
        match &self.doer {
            Doer::Offloaded(doer) => Some(doer.rows_max()),
            Doer::Here(_) | Doer::Nobody => None,
        }
    }

    /// The counters of all steps, the first ones' with the last of them.
    pub(crate) fn profile(&self) -> Vec<StepProfile> {
        let mut all = self.did.clone();
        if let Doer::Here(walk) = &self.doer {
            for (step, here) in all.iter_mut().zip(walk.profile()) {
                step.add(here);
            }
        }
        all.extend(self.rest.profile());
        all
    }
}

impl InHand {
    /// Loads the next rows, where there are some.
    fn load_next(&mut self, doer: &mut dyn Offloaded) -> Result<(), Unfinished> {
        let from = self.loaded.end;
        let to = self.rows.min(from + doer.rows_max());
        self.loaded = from..to;
        if from == to {
            return Ok(());
        }
        let range = from as usize..to as usize;
        let columns = self.columns.iter().map(|(_, cells)| &cells[range.clone()]);
        let columns: Vec<&[VertexId]> = columns.collect();
        doer.load(to - from, &columns)
    }

    /// Its rows from this one of the last ones on; `None`: there are none.
    fn left(self, prepared: &Prepared<'_>, from: u64) -> Option<Chunk> {
        let from = self.loaded.start + from;
        let left = self.rows - from;
        let cut = |(slot, cells): (Slot, Vec<VertexId>)| (slot, cells[from as usize..].to_vec());
        let columns = self.columns.into_iter().map(cut);
        let width = prepared.plan().variables.len();
        let chunk = Chunk::from_columns(width, left, columns);
        (left > 0).then(|| chunk.expect("columns of one chunk"))
    }
}
