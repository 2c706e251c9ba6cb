//! What is known of all matches of a pattern with both ends unknown: how many, and how many different terms.
//!
//! Where every edge of a predicate is in the scope, the store knows the number of its edges and of its keys in
//! both directions, under layers too: some 200 ns a predicate, whatever its size. Otherwise its keys are listed
//! and their degrees within the scope looked up, a batch at a time, which is what the walk would have done but
//! for the neighbours; terms that differ over all predicates are then put together in a sorted list, drawn on
//! the budget.
//!
//! A lookup that waits is gone on with where it was ([`Scan`]).

use super::{Context, Flow, PatternOperand, StepOutcome};
use crate::ask;
use crate::drawn_lists::DrawnLists;
use crate::error::WalkError;
use crate::limits::{Limits, Reservation};
use crate::scope::{FixedScope, ResolvedScope};
use query::plan::{Size, Slot, Source};
use rdf::{Direction, PredicateId, VertexId, inline};
use store::view::{GraphView, Progress, SegmentKey, Ticket};
use store::{Lists, VertexSet};

/// Keys whose degrees are looked up together.
const BATCH: u64 = 1024;
/// Edges that are looked at one by one in one call, but for those of a single key.
const EDGES_MAX: u64 = 1 << 16;
/// Predicates between two looks at the limits.
const PREDICATES_PER_LOOK: usize = 1024;
/// Terms that are put together before equal ones are dropped for the first time.
const MET_MIN: usize = 1 << 16;

/// Of which pattern, and what of it.
pub(crate) struct SizesPolicy {
    /// `None`: of any predicate.
    pub(crate) predicate: Option<PatternOperand>,
    pub(crate) scope: ResolvedScope,
    pub(crate) source: Source,
    /// The columns that somebody needs.
    pub(crate) sizes: Vec<(Size, Slot)>,
    pub(crate) keeps_empty: bool,
}

impl SizesPolicy {
    fn wants(&self, size: Size) -> bool {
        self.sizes.iter().any(|(wanted, _)| *wanted == size)
    }

    /// The ends whose different terms are counted.
    fn wants_end(&self, direction: Direction) -> bool {
        self.wants(match direction {
            Direction::Out => Size::Subjects,
            Direction::In => Size::Objects,
        })
    }
}

/// The state of one walk.
pub(crate) struct Measuring<'p, 'a> {
    policy: &'p SizesPolicy,
    row: u64,
    /// The row's predicates that have not been counted yet; `None`: the row has not begun.
    left: Option<Vec<PredicateId>>,
    found: Found<'a>,
    scan: Option<Scan<'a>>,
    lists: DrawnLists<'a>,
}

/// What one row comes to.
struct Found<'a> {
    edges: u64,
    predicates: u64,
    /// By direction.
    ends: [u64; 2],
    /// By direction: terms of several predicates, among which there may be equal ones.
    met: [Met<'a>; 2],
}

impl<'p, 'a> Measuring<'p, 'a> {
    pub(crate) fn new(policy: &'p SizesPolicy, limits: Limits<'a>) -> Self {
        Measuring {
            policy,
            row: 0,
            left: None,
            found: Found::new(limits),
            scan: None,
            lists: DrawnLists::default(),
        }
    }

    pub(crate) fn run<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        while self.row < flow.input.rows() {
            if flow.is_full() {
                return Ok(StepOutcome::More);
            }
            if let Some(ticket) = self.measure(context, flow)? {
                return Ok(StepOutcome::Pending(ticket));
            }
            self.emit(flow)?;
            self.left = None;
            self.row += 1;
        }
        self.row = 0;
        Ok(StepOutcome::Drained)
    }

    fn emit(&mut self, flow: &mut Flow<'_>) -> Result<(), WalkError> {
        if self.found.edges == 0 && !self.policy.keeps_empty {
            return Ok(());
        }
        for &(size, into) in &self.policy.sizes {
            let count = match size {
                Size::Edges => self.found.edges,
                Size::Predicates => self.found.predicates,
                Size::Subjects => self.found.ends(Direction::Out)?,
                Size::Objects => self.found.ends(Direction::In)?,
            };
            flow.output.cells_mut(into).push(number(count)?);
        }
        flow.output.repeat(flow.input, flow.carried, self.row, 1);
        flow.output.add_rows(1)
    }

    /// Counts what belongs to the row; a ticket where that has to wait.
    fn measure<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &Flow<'_>,
    ) -> Result<Option<Ticket>, WalkError> {
        let ResolvedScope::Fixed(scope) = self.policy.scope else {
            self.found.clear();
            return Ok(None);
        };
        if self.left.is_none() {
            self.begin(context, scope, flow)?;
        }
        loop {
            if let Some(mut scan) = self.scan.take() {
                let is_enough = self.is_existence() && scan.edges > 0;
                if !is_enough && let Some(ticket) = self.go_on(&mut scan, context, scope)? {
                    self.scan = Some(scan);
                    return Ok(Some(ticket));
                }
                if let Err(error) = self.after(&scan, context, scope) {
                    // It may be asked again.
                    self.scan = Some(scan);
                    return Err(error);
                }
                continue;
            }
            let next = self.left.as_ref().and_then(|left| left.last().copied());
            let Some(predicate) = next else {
                return Ok(None);
            };
            context.limits.check()?;
            self.count(context, scope, predicate)?;
            self.left.as_mut().and_then(Vec::pop);
        }
    }

    /// Whether nobody asks for more than that there is an edge.
    fn is_existence(&self) -> bool {
        self.policy.sizes.is_empty()
    }

    fn begin<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        scope: FixedScope,
        flow: &Flow<'_>,
    ) -> Result<(), WalkError> {
        self.found.clear();
        let view = context.view(self.policy.source);
        let predicates = match self.policy.predicate {
            None => view.predicates(),
            Some(place) => {
                let vertex = match place {
                    PatternOperand::Constant(vertex) => vertex,
                    PatternOperand::Slot(slot) => flow.input.live(slot)[self.row as usize],
                };
                view.predicate_id(vertex).into_iter().collect()
            }
        };
        if self.policy.predicate.is_none() && self.is_whole(context, scope, &predicates)? {
            self.left = Some(Vec::new());
            return Ok(());
        }
        self.left = Some(predicates);
        Ok(())
    }

    /// Counts all predicates together, if every edge is in the scope.
    fn is_whole<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        scope: FixedScope,
        predicates: &[PredicateId],
    ) -> Result<bool, WalkError> {
        let graphs = context.scene.dataset(self.policy.source).graphs(scope);
        ask::need_edges(context.view(self.policy.source), predicates, graphs)?;
        let mut edges = 0;
        let mut present = 0;
        for (at, &predicate) in predicates.iter().enumerate() {
            if at % PREDICATES_PER_LOOK == 0 {
                context.limits.check()?;
            }
            let segment = out(predicate);
            match ask::edges(context.view(self.policy.source), segment, graphs)? {
                None => return Ok(false),
                Some(0) if !ask::keys(context.view(self.policy.source), segment)?.is_empty() => {
                    return Ok(false);
                }
                Some(some) => {
                    edges += some;
                    present += u64::from(some > 0);
                }
            }
        }
        self.found.edges = edges;
        self.found.predicates = present;
        for direction in [Direction::Out, Direction::In] {
            if self.policy.wants_end(direction) {
                self.found.ends[direction as usize] =
                    ask::vertices(context.view(self.policy.source), direction)?.len();
            }
        }
        Ok(true)
    }

    /// Counts one predicate by what the store knows of it, or begins to look at its keys.
    fn count<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        scope: FixedScope,
        predicate: PredicateId,
    ) -> Result<(), WalkError> {
        let graphs = context.scene.dataset(self.policy.source).graphs(scope);
        let is_one = self.policy.predicate.is_some();
        match ask::edges(context.view(self.policy.source), out(predicate), graphs)? {
            Some(0) => {}
            // Terms of several predicates have to be looked at, because they may be the same.
            Some(edges) if is_one || !self.wants_ends() => {
                let mut ends = [0; 2];
                for direction in [Direction::Out, Direction::In] {
                    let segment = SegmentKey {
                        predicate,
                        direction,
                    };
                    if self.policy.wants_end(direction) {
                        ends[direction as usize] =
                            ask::keys(context.view(self.policy.source), segment)?.len();
                    }
                }
                self.found.edges += edges;
                self.found.predicates += 1;
                for (all, more) in self.found.ends.iter_mut().zip(ends) {
                    *all += more;
                }
            }
            _ => {
                self.scan = Some(Scan::of(
                    context,
                    self.policy.source,
                    out(predicate),
                    scope,
                )?);
            }
        }
        Ok(())
    }

    fn wants_ends(&self) -> bool {
        self.policy.wants_end(Direction::Out) || self.policy.wants_end(Direction::In)
    }

    /// Looks at the rest of a segment's keys.
    fn go_on<V: GraphView, L>(
        &mut self,
        scan: &mut Scan<'a>,
        context: Context<'_, 'a, V, L>,
        scope: FixedScope,
    ) -> Result<Option<Ticket>, WalkError> {
        let segment = scan.segment;
        let direction = segment.direction;
        let is_one = self.policy.predicate.is_some();
        while let Some(keys) = scan.next_keys()? {
            context.limits.check()?;
            let graphs = context.scene.dataset(self.policy.source).graphs(scope);
            let (view, limits) = (context.view(self.policy.source), context.limits);
            let asked = self.lists.ask(view, limits, segment, keys, graphs)?;
            if let Progress::Pending(ticket) = asked {
                return Ok(Some(ticket));
            }
            let is_long = !self.lists.is_exact() && self.lists.total_edges() > EDGES_MAX;
            if is_long && scan.halve() {
                continue;
            }
            scan.take(&self.lists)?;
            if self.policy.wants_end(direction) && !is_one {
                self.found.met[direction as usize].extend(scan.keys())?;
            }
            scan.batch.clear();
            if self.is_existence() && scan.edges > 0 {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Adds what a segment came to, and begins with its other direction where that is asked for.
    fn after<V: GraphView, L>(
        &mut self,
        scan: &Scan<'a>,
        context: Context<'_, 'a, V, L>,
        scope: FixedScope,
    ) -> Result<(), WalkError> {
        let SegmentKey {
            predicate,
            direction,
        } = scan.segment;
        let is_out = direction == Direction::Out;
        if is_out && scan.edges > 0 && self.policy.wants_end(Direction::In) {
            let into = SegmentKey {
                predicate,
                direction: Direction::In,
            };
            self.scan = Some(Scan::of(context, self.policy.source, into, scope)?);
        }
        if self.policy.predicate.is_some() {
            self.found.ends[direction as usize] += scan.found_keys;
        }
        if is_out {
            self.found.edges += scan.edges;
            self.found.predicates += u64::from(scan.edges > 0);
        }
        Ok(())
    }
}

fn out(predicate: PredicateId) -> SegmentKey {
    SegmentKey {
        predicate,
        direction: Direction::Out,
    }
}

/// A count as a term.
pub(crate) fn number(count: u64) -> Result<VertexId, WalkError> {
    let count = i64::try_from(count).ok().and_then(inline::from_integer);
    count.ok_or(WalkError::TooManyRows)
}

impl<'a> Found<'a> {
    fn new(limits: Limits<'a>) -> Self {
        Found {
            edges: 0,
            predicates: 0,
            ends: [0; 2],
            met: [Met::new(limits), Met::new(limits)],
        }
    }

    fn clear(&mut self) {
        self.edges = 0;
        self.predicates = 0;
        self.ends = [0; 2];
        self.met.iter_mut().for_each(|met| met.vertices.clear());
    }

    fn ends(&mut self, direction: Direction) -> Result<u64, WalkError> {
        let met = &mut self.met[direction as usize];
        met.settle()?;
        Ok(self.ends[direction as usize] + met.vertices.len() as u64)
    }
}

/// Vertices of several segments.
struct Met<'a> {
    limits: Limits<'a>,
    vertices: Vec<VertexId>,
    /// From here on they are neither sorted nor distinct.
    settled: usize,
    reservation: Reservation<'a>,
}

impl<'a> Met<'a> {
    fn new(limits: Limits<'a>) -> Self {
        Met {
            limits,
            vertices: Vec::new(),
            settled: 0,
            reservation: Reservation::new(limits),
        }
    }

    fn extend(&mut self, keys: impl Iterator<Item = VertexId>) -> Result<(), WalkError> {
        if self.vertices.len() >= MET_MIN.max(2 * self.settled) {
            self.settle()?;
        }
        let needed = self.vertices.len() + BATCH as usize;
        if needed > self.vertices.capacity() {
            let capacity = needed.max(2 * self.vertices.capacity());
            self.reservation
                .cover((capacity * size_of::<VertexId>()) as u64)?;
            self.vertices.reserve_exact(capacity - self.vertices.len());
        }
        self.vertices.extend(keys);
        Ok(())
    }

    fn settle(&mut self) -> Result<(), WalkError> {
        self.limits.check()?;
        self.vertices.sort_unstable();
        self.vertices.dedup();
        self.settled = self.vertices.len();
        Ok(())
    }
}

/// Where the keys of one segment are looked at.
struct Scan<'a> {
    segment: SegmentKey,
    keys: VertexSet<'a>,
    /// Keys that have been taken into batches.
    ordinal: u64,
    batch: Vec<VertexId>,
    degrees: Vec<u64>,
    edges: u64,
    found_keys: u64,
    _reservation: Reservation<'a>,
}

impl<'a> Scan<'a> {
    fn of<V: GraphView, L>(
        context: Context<'_, 'a, V, L>,
        source: Source,
        segment: SegmentKey,
        scope: FixedScope,
    ) -> Result<Scan<'a>, WalkError> {
        let mut reservation = Reservation::new(context.limits);
        let keys = match scope {
            FixedScope::Named(graph) => {
                let mut keys = Vec::new();
                ask::keys_of_graph(context.view(source), segment, graph, &mut keys)?;
                reservation.cover((keys.capacity() * size_of::<VertexId>()) as u64)?;
                VertexSet::from_sorted(keys)
            }
            _ => ask::keys(context.view(source), segment)?,
        };
        Ok(Scan {
            segment,
            keys,
            ordinal: 0,
            batch: Vec::new(),
            degrees: Vec::new(),
            edges: 0,
            found_keys: 0,
            _reservation: reservation,
        })
    }

    /// The keys to be looked at now: those that waited, or the next ones.
    fn next_keys(&mut self) -> Result<Option<&[VertexId]>, WalkError> {
        if self.batch.is_empty() {
            let end = (self.ordinal + BATCH).min(self.keys.len());
            self.keys.decode(self.ordinal, end, &mut self.batch)?;
            self.ordinal = end;
        }
        Ok((!self.batch.is_empty()).then_some(&self.batch[..]))
    }

    /// Leaves the second half of the batch for later; false where there is none.
    fn halve(&mut self) -> bool {
        let half = self.batch.len() / 2;
        assert!(
            half as u64 <= self.ordinal,
            "keys are put back that were taken"
        );
        self.ordinal -= half as u64;
        self.batch.truncate(self.batch.len() - half);
        half > 0
    }

    /// Adds the lists of the batch.
    fn take(&mut self, lists: &Lists<'a>) -> Result<(), WalkError> {
        self.degrees.clear();
        lists.degrees(&mut self.degrees)?;
        assert_eq!(self.degrees.len(), self.batch.len(), "a key has its length");
        self.edges += self.degrees.iter().sum::<u64>();
        self.found_keys += self.degrees.iter().filter(|degree| **degree > 0).count() as u64;
        Ok(())
    }

    /// The keys of the batch that have an edge.
    fn keys(&self) -> impl Iterator<Item = VertexId> {
        let keys = self.batch.iter().zip(&self.degrees);
        keys.filter(|(_, degree)| **degree > 0).map(|(key, _)| *key)
    }
}
