//! Programs: the beginning of a plan in the words of kernels.
//!
//! The first step makes the seed: the list of a constant, read where it lies, or the keys of a segment. Each expansion after it
//! is a step of the program, and checks that follow are fused into the step before as long as it has room for them: a row that
//! fails is never written. What becomes of a step of the plan:
//!
//! | action | on the device |
//! |---|---|
//! | `Expand` from a constant, first | seed: rows of the segment |
//! | `ExpandKeys`, first | seed: keys of the index |
//! | `Check` of the seed's column by a dense list, next | the seed is [met](crate::meet) with it |
//! | `Expand` from a column | expansion |
//! | `Expand` from a constant, later | the same rows for every row |
//! | `Check` of two constants | decided when it is compiled |
//! | `ExpandPredicates`, `Expand` and `Check` by a column, later | a [spread](crate::spread) over all predicates |
//! | `Intersect` | expansion by the first side, check by the second |
//! | `Check`, both ends columns | is the one in the list of the other |
//! | `Check`, one end constant | a bit of the constant's dense list, else a search in its list |
//! | `Same` | equality |
//! | `Filter`, where [ids decide](explore::prepare::on_ids) | comparisons of ids |
//! | `Nested` with blocks of [one pattern](nested): `OPTIONAL`, `UNION` | expansion |
//! | the same: `EXISTS`, `NOT EXISTS`, `MINUS` | checks |
//!
//! Everything else ends the program; so do a segment of which the pattern's [graphs](crate::graphs) have some edges and not all, other sources than the store,
//! and, over a plan's own seed, the [cut](Prepared::cut).

mod accessed;
mod checks;
mod keys;
mod layered;
mod nested;
mod part;
mod seed;

pub(crate) use keys::keys;
pub use keys::stretches;
pub use layered::Arranged;
pub(crate) use layered::may_spread;

use crate::access::{Access, Accessed};
use crate::cache::What;
use crate::collapse::ProgramCollapse;
use crate::condition::{Operand, ProgramCheck};
use crate::error::{GpuError, NotCovered};
use crate::graphs::Share;
use crate::image::Image;
use crate::layout;
use crate::meet::Met;
use crate::outlook::{Outlook, Over};
use crate::part::OwnPart;
use crate::spread::{PARTS_MAX, Spread, Wanted};
use crate::versioned::Layered;
use explore::{Prepared, TagSet};
use query::plan::{Action, ConstantId, Mode, Node, Scope, Side, Slot, Source, Step};
use rdf::{Direction, Tag, VertexId};
use seed::PlanSeed;
use std::ops::Range;
use std::sync::Arc;
use store::delta::Version;
use store::{GraphScope, GraphView, SegmentKey, Snapshot};

/// See the head of this file.
pub(crate) struct Program {
    pub(crate) seed: ProgramSeed,
    pub(crate) steps: Vec<ProgramStep>,
    /// The first step of the plan that it does.
    pub(crate) first: usize,
    /// The one behind the last.
    pub(crate) covered: usize,
    /// Why not more.
    pub(crate) why: NotCovered,
    /// The column of the seed, where it is kept.
    pub(crate) slot: Option<Slot>,
    /// The numbers of the segments that it looks at.
    pub(crate) segments: Vec<u32>,
    /// What it reads of them.
    pub(crate) accesses: Vec<Access>,
    /// How many of them are what layers brought or took away.
    pub(crate) changes: usize,
    /// How its seed is numbered, where that is not by the order of a set.
    pub(crate) arranged: Option<Arranged>,
    /// How equal rows become one at its end.
    pub(crate) collapse: Option<ProgramCollapse>,
}

impl Program {
    /// What it does where equal rows become one so.
    pub(crate) fn outlook(&self, collapse: Option<&ProgramCollapse>) -> Outlook {
        let columns = match self.steps.last() {
            Some(step) => step.keep.len(),
            None => usize::from(self.slot.is_some()),
        };
        let counts = collapse.is_some_and(|collapse| collapse.counted);
        Outlook {
            first: self.first,
            covered: self.covered,
            columns: columns + usize::from(counts),
            rows_left: collapse.map(|collapse| collapse.rows),
        }
    }
}

/// Where the first column comes from.
pub(crate) enum ProgramSeed {
    /// Rows of a segment's neighbours.
    Rows(Arc<Image>, Range<u64>),
    /// Keys of a segment's index.
    Keys(Arc<Image>),
    /// What several sets have.
    Met(Met),
    /// Those of the first, then these rows, which layers brought.
    Joined(ProgramJoined),
    /// Rows that are loaded, with these columns; one at least.
    Loaded(Vec<Slot>),
}

/// A seed of two parts.
pub(crate) struct ProgramJoined {
    /// The segment of the first part, and its rows; `None`: its keys.
    pub(crate) first: (Arc<Image>, Option<Range<u64>>),
    pub(crate) second: (Arc<Image>, Range<u64>),
}

impl ProgramJoined {
    /// Elements of the first part.
    pub(crate) fn first_elements(&self) -> u64 {
        match &self.first {
            (_, Some(rows)) => rows.end - rows.start,
            (image, None) => image.segment.index.keys,
        }
    }
}

/// A table becomes the next one.
pub(crate) struct ProgramStep {
    /// What is expanded; `None`: rows are only checked.
    pub(crate) expansion: Option<Expansion>,
    /// What is expanded by predicates that are not known, instead; there are no checks then.
    pub(crate) spread: Option<Spread>,
    pub(crate) checks: Vec<ProgramCheck>,
    /// The columns after it.
    pub(crate) keep: Vec<Slot>,
}

/// A column is made of lists.
pub(crate) struct Expansion {
    pub(crate) into: Slot,
    /// Where its rows come from: from all of them. There is one at least; layers make it several, of which no two give the same, and so does `UNION`.
    pub(crate) branches: Vec<Branch>,
    /// Whether a row with an empty list is kept, with an unbound cell: there is one branch then.
    pub(crate) keeps: bool,
}

/// Lists of one segment.
pub(crate) struct Branch {
    pub(crate) image: Arc<Image>,
    pub(crate) whose: Whose,
    /// What is checked of its rows alone.
    pub(crate) checks: Vec<ProgramCheck>,
}

impl Expansion {
    /// How its column lies: as the neighbours of its segment do; with ids of 8 bytes where there are several.
    pub(crate) fn column(&self) -> layout::Column {
        let first = &self.branches[0].image;
        if self.widens() {
            return layout::Column {
                wide: 1,
                ..layout::Column::default()
            };
        }
        first.segment.neighbours
    }

    /// Whether its column has ids of 8 bytes, whatever its segments have.
    pub(crate) fn widens(&self) -> bool {
        if self.keeps {
            return true;
        }
        let mut images = self.branches.iter().map(|branch| &branch.image);
        images.any(|image| !Arc::ptr_eq(image, &self.branches[0].image))
    }
}

impl ProgramStep {
    /// One that only checks rows.
    fn of_checks(checks: Vec<ProgramCheck>, keep: Vec<Slot>) -> ProgramStep {
        ProgramStep {
            expansion: None,
            spread: None,
            checks,
            keep,
        }
    }

    /// How many checks it has room for.
    fn room(&self) -> usize {
        let branches = self.expansion.iter().flat_map(|it| &it.branches);
        let own = branches.map(|branch| branch.checks.len()).max();
        match self.spread {
            Some(_) => 0,
            None => layout::CHECKS - own.unwrap_or(0) - self.checks.len(),
        }
    }
}

/// Whose lists an expansion takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// A column's, row by row.
    Column(Slot),
    /// These rows of the segment, for every row.
    Rows(Range<u64>),
}

/// Gives the images of a segment.
pub(crate) type ImagesOf<'i> =
    dyn FnMut((SegmentKey, What)) -> Result<Option<Layered>, GpuError> + 'i;

/// Why a step is not taken.
enum Stop {
    Why(NotCovered),
    Failed(GpuError),
}

impl From<GpuError> for Stop {
    fn from(error: GpuError) -> Stop {
        Stop::Failed(error)
    }
}

impl From<NotCovered> for Stop {
    fn from(why: NotCovered) -> Stop {
        Stop::Why(why)
    }
}

/// Compiles the longest beginning that is covered. Where not all segments lie on the device whole, a seed is met with nothing, and
/// no predicate is unknown: the kernels for that read no pages.
pub(crate) fn compile(
    prepared: &Prepared<'_>,
    (snapshot, over): (&Snapshot, &Over<'_>),
    images: &mut ImagesOf<'_>,
    are_whole: bool,
) -> Result<Program, GpuError> {
    let mut compiler = Compiler {
        prepared,
        snapshot,
        version: over.version,
        images,
        segments: Vec::new(),
        accesses: Vec::new(),
        rows: 1.0..1.0,
        changes: 0,
        are_whole,
        tags: Vec::new(),
        part: over.part,
        owned: over.part.and_then(|part| part.at).into_iter().collect(),
    };
    let plan = &prepared.plan().steps;
    let steps = &plan[..over.steps.end.min(plan.len())];
    let nothing = |step, why| Err(GpuError::Nothing { step, why });
    let (first, seed) = compiler.begin(over.steps.start, steps)?;
    let PlanSeed {
        made_of,
        slot,
        met,
        went,
        arranged,
    } = seed;
    let mut met = met.filter(|_| are_whole);
    let mut program = Program {
        seed: made_of,
        steps: went.into_iter().collect(),
        first: over.steps.start,
        covered: first,
        why: NotCovered::End,
        slot,
        segments: Vec::new(),
        accesses: Vec::new(),
        changes: 0,
        arranged,
        collapse: None,
    };
    for (at, step) in steps.iter().enumerate().skip(first) {
        compiler.comes_to(at, plan);
        let known = compiler.accesses.len();
        // What looks at rows together does so before rows are loaded, or is no step for a device.
        let taken = if at >= prepared.cut() && over.steps.start == 0 {
            Err(NotCovered::Cut.into())
        } else {
            compiler.seed_or_step((at, step), &mut program, &mut met)
        };
        match taken {
            Ok(()) => program.covered = at + 1,
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Why(why)) => {
                compiler.accesses.truncate(known);
                program.why = why;
                break;
            }
        }
    }
    program.segments = compiler.segments;
    program.accesses = compiler.accesses;
    program.changes = compiler.changes;
    if let Some((met, _)) = met.filter(|(met, _)| met.is_met()) {
        program.seed = ProgramSeed::Met(met);
    } else if program.steps.is_empty() {
        return nothing(program.covered, program.why);
    }
    Ok(program)
}

struct Compiler<'c, 'a, 'i> {
    prepared: &'c Prepared<'a>,
    snapshot: &'c Snapshot,
    /// What is walked, where that is not the snapshot.
    version: Option<&'c Version>,
    images: &'c mut ImagesOf<'i>,
    /// Numbers of those that were looked at, be the step taken or not.
    segments: Vec<u32>,
    accesses: Vec<Access>,
    /// Rows that are expected to come to the step that is compiled, and to leave it.
    rows: Range<f64>,
    changes: usize,
    are_whole: bool,
    /// What kinds of terms columns may hold, as they were made.
    tags: Vec<(Slot, TagSet)>,
    /// What of the graph there is.
    part: Option<OwnPart<'c>>,
    /// Columns whose vertices the part owns.
    owned: Vec<Slot>,
}

impl<'c> Compiler<'c, '_, '_> {
    /// Whether a check of two constants holds; `None` for any other step.
    fn constants(&mut self, step: &Step) -> Result<Option<bool>, Stop> {
        let Action::Check {
            subject: Node::Constant(subject),
            predicate,
            object: Node::Constant(object),
            scope,
            source,
            ..
        } = step.action
        else {
            return Ok(None);
        };
        let (key, _) = self.segment((predicate, What::Edges), Direction::Out, scope, source)?;
        let graphs = self.graphs(source, scope)?;
        let (subject, object) = (self.id(subject), self.id(object));
        self.has_list(key, Operand::Constant(subject))?;
        let objects = match self.version {
            Some(version) => version.neighbours(key, subject, graphs),
            None => self.snapshot.neighbours(key, subject, graphs),
        };
        let objects = objects.map_err(GpuError::View)?;
        let holds = objects.contains(object).map_err(GpuError::View)?;
        Ok(Some(holds))
    }

    /// Adds a step of the plan, or leaves `steps` as they are.
    fn step(
        &mut self,
        (at, step): (usize, &Step),
        steps: &mut Vec<ProgramStep>,
    ) -> Result<(), Stop> {
        if step.keep.len() > layout::COLUMNS {
            return Err(NotCovered::Columns.into());
        }
        if let Some(expansion) = self.expansion(step)? {
            steps.push(expansion);
            return Ok(());
        }
        // Checks that belong together, each on a row as it is then.
        let checks = match step.action {
            Action::Same { left, right } => vec![vec![ProgramCheck::same(left, right, true)]],
            Action::Check { .. } => match self.constants(step)? {
                None => vec![self.check(step)?],
                Some(true) => Vec::new(),
                Some(false) => vec![vec![ProgramCheck::never()]],
            },
            Action::Filter(_) => {
                let conditions = self.filter(at)?.into_iter();
                conditions.map(|condition| vec![condition]).collect()
            }
            Action::Nested {
                mode: Mode::Semi, ..
            } => self.exists(step, true)?,
            Action::Nested {
                mode: Mode::Anti, ..
            } => self.exists(step, false)?,
            ref other => return Err(NotCovered::Step(other.name()).into()),
        };
        // What the last one looks at is there until then.
        let before = &self.prepared.plan().steps[at - 1].keep;
        for together in checks {
            match steps.last_mut() {
                Some(last) if last.room() >= together.len() => last.checks.extend(together),
                _ => steps.push(ProgramStep::of_checks(together, before.clone())),
            }
        }
        match steps.last_mut() {
            Some(last) => last.keep.clone_from(&step.keep),
            None => steps.push(ProgramStep::of_checks(Vec::new(), step.keep.clone())),
        }
        Ok(())
    }

    /// A step that makes a column; `None` for any other.
    fn expansion(&mut self, step: &Step) -> Result<Option<ProgramStep>, Stop> {
        let expansion = match step.action {
            Action::Nested {
                mode: Mode::Inner | Mode::Left,
                ..
            } => self.nested(step)?,
            Action::ExpandPredicates { .. }
            | Action::Expand {
                predicate: Node::Slot(_),
                ..
            }
            | Action::Check {
                predicate: Node::Slot(_),
                ..
            } => {
                return Ok(Some(ProgramStep {
                    expansion: None,
                    spread: Some(self.spread(step)?),
                    checks: Vec::new(),
                    keep: step.keep.clone(),
                }));
            }
            Action::Expand { into, .. } => {
                let (branches, tags) = self.lists(&step.action)?;
                self.tags.push((into, tags));
                Expansion {
                    into,
                    branches,
                    keeps: false,
                }
            }
            Action::Intersect { sides, into } => {
                let [first, second] = [self.side(sides[0])?, self.side(sides[1])?];
                self.tags.push((into, first.neighbour_tags()));
                let sides = [(&first, sides[0].from), (&second, sides[1].from)];
                Expansion {
                    into,
                    branches: layered::of_both(sides, into),
                    keeps: false,
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(ProgramStep {
            expansion: Some(expansion),
            spread: None,
            checks: Vec::new(),
            keep: step.keep.clone(),
        }))
    }

    /// The lists that an `Expand` by a known predicate takes, and what they may hold.
    fn lists(&mut self, action: &Action) -> Result<(Vec<Branch>, TagSet), Stop> {
        let Action::Expand {
            from,
            predicate,
            direction,
            scope,
            source,
            into,
        } = *action
        else {
            unreachable!("the caller has looked");
        };
        let (key, images) = self.segment((predicate, What::Edges), direction, scope, source)?;
        let of = match from {
            Node::Slot(_) => None,
            Node::Constant(from) => Some(self.id(from)),
        };
        self.has_list(key, self.operand(from))?;
        self.looks_at_changes(&images, of);
        let branches = match from {
            Node::Slot(from) => {
                self.accesses_lists(&images);
                layered::of_column(&images, from, into)
            }
            Node::Constant(from) => {
                let found = self.rows_of(key, from)?;
                let rows = found.map_or(0..0, |(_, rows)| rows);
                self.accesses(&images, Accessed::Rows(rows.clone()));
                self.accesses_changes(&images, &Accessed::Edge);
                layered::of_constant(&images, (self.id(from), rows), into)
            }
        };
        Ok((branches, images.neighbour_tags()))
    }

    /// An expansion by predicates that are not known.
    fn spread(&mut self, step: &Step) -> Result<Spread, Stop> {
        let (from, direction, graphs, what) = match step.action {
            Action::ExpandPredicates {
                from,
                direction,
                source,
                into,
            } => {
                let graphs = self.graphs(source, Scope::Default)?;
                self.tags.push((into, TagSet::of(&[Tag::Iri])));
                (from, direction, graphs, Wanted::Predicates(into))
            }
            Action::Expand {
                from,
                predicate: Node::Slot(by),
                direction,
                scope,
                source,
                into,
            } => {
                let graphs = self.graphs(source, scope)?;
                (from, direction, graphs, Wanted::Neighbours { by, into })
            }
            Action::Check {
                subject,
                predicate: Node::Slot(by),
                object,
                from,
                scope,
                source,
            } => {
                let graphs = self.graphs(source, scope)?;
                let (end, to) = match from {
                    Direction::Out => (subject, object),
                    Direction::In => (object, subject),
                };
                let to = self.operand(to);
                (end, from, graphs, Wanted::Edge { by, to })
            }
            _ => unreachable!("the caller has looked"),
        };
        if self.part.is_some() && direction == Direction::In {
            return Err(NotCovered::Part.into());
        }
        self.owns(self.operand(from))?;
        Ok(Spread {
            of: self.operand(from),
            what,
            parts: self.parts(direction, graphs)?,
        })
    }

    fn operand(&self, node: Node) -> Operand {
        match node {
            Node::Slot(slot) => Operand::Column(slot),
            Node::Constant(constant) => Operand::Constant(self.id(constant)),
        }
    }

    /// The segments of all predicates in a direction, ascending by the predicates' ids, if these graphs have all of their edges.
    fn parts(
        &mut self,
        direction: Direction,
        graphs: GraphScope<'_>,
    ) -> Result<Vec<(VertexId, Arc<Image>)>, Stop> {
        let predicates = self.snapshot.predicates();
        if predicates.len() > PARTS_MAX {
            return Err(NotCovered::Predicates.into());
        }
        if !self.are_whole {
            return Err(NotCovered::Paged.into());
        }
        if !may_spread(self.version) {
            return Err(NotCovered::Layered.into());
        }
        let mut parts = Vec::with_capacity(predicates.len());
        for predicate in predicates {
            let key = SegmentKey {
                predicate,
                direction,
            };
            if let Some(images) = self.images_of((key, What::Edges))? {
                if images.share_of(graphs) != Share::All {
                    return Err(NotCovered::Graphs.into());
                }
                if !images.is_base_alone() {
                    return Err(NotCovered::Layered.into());
                }
                self.accesses(&images, Accessed::Edge);
                parts.push((self.snapshot.predicate_vertex(predicate), images.base));
            }
        }
        parts.sort_unstable_by_key(|(predicate, _)| predicate.bits());
        Ok(parts)
    }

    fn side(&mut self, side: Side) -> Result<Layered, Stop> {
        let predicate = Node::Constant(side.predicate);
        let predicate = (predicate, What::Edges);
        let (key, images) = self.segment(predicate, side.direction, side.scope, side.source)?;
        self.has_list(key, Operand::Column(side.from))?;
        self.looks_at_changes(&images, None);
        self.accesses(&images, Accessed::Met);
        self.accesses_changes(&images, &Accessed::Edge);
        Ok(images)
    }

    fn id(&self, constant: ConstantId) -> VertexId {
        self.prepared.ids()[constant.0 as usize]
    }

    /// The ordinal and the rows of a constant in a segment.
    fn rows_of(
        &self,
        key: SegmentKey,
        constant: ConstantId,
    ) -> Result<Option<(u64, Range<u64>)>, Stop> {
        let found = self.snapshot.raw_rows(key, self.id(constant));
        Ok(found.map_err(GpuError::View)?)
    }

    /// The graphs of a pattern, where it looks at the store, and they are the same for all rows.
    pub(super) fn graphs(
        &self,
        source: Source,
        scope: Scope,
    ) -> Result<GraphScope<'c>, NotCovered> {
        let is_bound = matches!(scope, Scope::Bind(_));
        let graphs = self.prepared.graphs(scope, source);
        graphs
            .filter(|_| source.is_store() && !is_bound)
            .ok_or(NotCovered::Graphs)
    }

    /// The segment of a pattern, if its graphs have all of the edges.
    fn segment(
        &mut self,
        (predicate, what): (Node, What),
        direction: Direction,
        scope: Scope,
        source: Source,
    ) -> Result<(SegmentKey, Layered), Stop> {
        let graphs = self.graphs(source, scope)?;
        let Node::Constant(predicate) = predicate else {
            return Err(NotCovered::Shape.into());
        };
        let name = self.id(predicate);
        let Some(predicate) = self.snapshot.predicate_id(name) else {
            let is_brought = self
                .version
                .is_some_and(|it| it.predicate_id(name).is_some());
            let why = if is_brought {
                NotCovered::Layered
            } else {
                NotCovered::NoEdges
            };
            return Err(why.into());
        };
        let key = SegmentKey {
            predicate,
            direction,
        };
        match self.images_of((key, what))? {
            None if self.version.is_some_and(|it| !it.is_base_alone(key)) => {
                Err(NotCovered::Layered.into())
            }
            None => Err(NotCovered::NoEdges.into()),
            Some(images) => match images.share_of(graphs) {
                Share::All => Ok((key, images)),
                Share::Some => Err(NotCovered::Graphs.into()),
                Share::None => Err(NotCovered::NoEdges.into()),
            },
        }
    }

    /// What layers have made of a segment, or of the list of a key there, is looked at.
    fn looks_at_changes(&mut self, images: &Layered, of: Option<VertexId>) {
        let [came, went] = [images.numbers.came, images.numbers.went];
        let came = came.filter(|_| of.is_none_or(|key| images.came_of(key).is_some()));
        let went = went.filter(|_| of.is_none_or(|key| images.went_of(key).is_some()));
        for number in came.into_iter().chain(went) {
            self.changes += usize::from(!self.segments.contains(&number));
            self.segments.push(number);
        }
    }

    /// The images of a segment; the base's is looked at from now on. A step over one that layers have changed much is not taken.
    fn images_of(&mut self, name: (SegmentKey, What)) -> Result<Option<Layered>, Stop> {
        match (self.images)(name) {
            Err(GpuError::Layered) => Err(NotCovered::Layered.into()),
            Err(error) => Err(error.into()),
            Ok(None) => Ok(None),
            Ok(Some(images)) => {
                self.segments.push(images.numbers.base);
                Ok(Some(images))
            }
        }
    }
}
