//! Where a step of a plan is walked when the graph is in parts, and the sections that a plan is cut into by that.
//!
//! [`Homes::home`] is the only place that knows. A step has a home where what it looks at is owned: the owner of a column's
//! vertex in each row, the owner of one vertex, or every node with its share. What looks at no graph, and what looks at it
//! by blocks, paths and tables, is walked where the row is; what looks at rows together, where all rows are.

pub mod at_data;
pub mod share;

use crate::message::Mode;
use query::expression::{Expression, Function};
use query::plan::{Action, AggregateFunction, ConstantId, Node, Plan, Scope, Slot, Step, Weight};
use rdf::{Direction, VertexId};
use share::Share;
use std::ops::Range;

/// Who owns what a step looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// The owner of this column's vertex, row by row.
    Column(Slot),
    /// The owner of this vertex.
    Vertex(VertexId),
    /// Every node, each of its own; a row is on all of them, once.
    All,
}

/// Where a step is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At its home.
    Home(Home),
    /// Where the row is.
    Here,
    /// Where all rows are.
    Together,
}

/// Steps that are walked in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Which.
    pub steps: Range<usize>,
    /// Where.
    pub place: Place,
    /// What its questions mean.
    pub share: Share,
    /// Whether its last rows come only when it is told that its input has ended.
    pub gathers: bool,
}

/// How rows of the section before come to where a section's steps are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// They stay where they are, which is where they are walked.
    Stays,
    /// They go to the node that was asked.
    Meets,
    /// They stay, and what they need is fetched.
    Fetches,
    /// Each goes to every node.
    Spreads,
    /// They go to the owner of this vertex.
    ToOwner(VertexId),
    /// Each goes to the owner of this column's vertex.
    ToOwners(Slot),
    /// To the owners of this column's vertices, or they stay and what they need is fetched: whichever costs less, chunk by
    /// chunk.
    Chosen(Slot),
}

impl Section {
    /// How rows come to it over so many nodes. No rows come to the first section of a plan: its row is made where it is walked.
    pub fn way(&self, mode: Mode, nodes: u16) -> Way {
        let home = match self.place {
            Place::Here => return Way::Stays,
            Place::Together => return Way::Meets,
            Place::Home(_) if mode == Mode::InPlace => return Way::Fetches,
            Place::Home(home) => home,
        };
        match home {
            Home::All if mode == Mode::ForkJoin || nodes == 1 => Way::Spreads,
            // With rows of its own each node would look at its share of what all have.
            Home::All => Way::Fetches,
            Home::Vertex(vertex) => Way::ToOwner(vertex),
            Home::Column(slot) if mode == Mode::Dynamic => Way::Chosen(slot),
            Home::Column(slot) => Way::ToOwners(slot),
        }
    }
}

/// Where a step is walked and, where that matters, what its questions mean.
type Placed = (Place, Option<Share>);

const HERE: Placed = (Place::Here, None);

/// The homes of a plan's steps.
pub struct Homes<'p> {
    /// The plan.
    pub plan: &'p Plan,
    /// Of its constants.
    pub ids: &'p [Option<VertexId>],
    /// `rdf:type`, whose edges lie with the members, if it is stored.
    pub kind: Option<VertexId>,
}

/// The one vertex at whose owner a plan starts, if it does.
pub fn start(plan: &Plan, ids: &[Option<VertexId>], kind: Option<VertexId>) -> Option<VertexId> {
    let homes = Homes { plan, ids, kind };
    match homes.home(&plan.steps.first()?.action).0 {
        Place::Home(Home::Vertex(vertex)) => Some(vertex),
        _ => None,
    }
}

impl Homes<'_> {
    fn id(&self, constant: ConstantId) -> Option<VertexId> {
        self.ids[constant.0 as usize]
    }

    /// The home of what is known of a term; a constant that is stored nowhere has none, and nothing is looked at.
    fn of(&self, node: Node) -> Place {
        match node {
            Node::Slot(slot) => Place::Home(Home::Column(slot)),
            Node::Constant(constant) => self
                .id(constant)
                .map_or(Place::Here, |id| Place::Home(Home::Vertex(id))),
        }
    }

    fn is_type(&self, constant: ConstantId) -> bool {
        self.kind.is_some() && self.id(constant) == self.kind
    }

    fn is_kind(&self, node: Node) -> bool {
        matches!(node, Node::Constant(constant) if self.is_type(constant))
    }

    /// Where an action is walked.
    pub fn home(&self, action: &Action) -> Placed {
        match action {
            Action::Expand {
                from,
                predicate,
                direction,
                ..
            } => self.expansion(*from, *predicate, *direction),
            Action::Intersect { sides, .. } => {
                let of_kind = |side: &query::plan::Side| {
                    side.direction == Direction::In && self.is_type(side.predicate)
                };
                let near = &sides[usize::from(of_kind(&sides[0]))];
                let share = sides.iter().any(of_kind).then_some(Share::Whole);
                (Place::Home(Home::Column(near.from)), share)
            }
            Action::ExpandKeys { .. } => (Place::Home(Home::All), Some(Share::Keys)),
            Action::ExpandPredicates { from, .. } => (self.of(*from), None),
            Action::Check { .. } => self.check(action),
            Action::Degree {
                from,
                predicate,
                direction,
                ..
            } => {
                if *direction == Direction::In && self.is_type(*predicate) {
                    return (Place::Here, Some(Share::Whole));
                }
                (Place::Home(Home::Column(*from)), None)
            }
            Action::Distinct { .. }
            | Action::Order { .. }
            | Action::Slice { .. }
            | Action::Count { .. }
            | Action::Aggregate { .. } => (Place::Together, None),
            // Made twice, such a table would be two.
            Action::Probe { table, .. } if table.iter().any(is_a_choice) => {
                (Place::Together, Some(Share::Whole))
            }
            Action::Nested { .. }
            | Action::Probe { .. }
            | Action::PathSeed { .. }
            | Action::PathExpand { .. }
            | Action::PathCheck { .. }
            | Action::Sizes { .. } => (Place::Here, Some(Share::Whole)),
            Action::AllPredicates { .. }
            | Action::AllGraphs { .. }
            | Action::Never { .. }
            | Action::Same { .. }
            | Action::Filter(_)
            | Action::Unify { .. }
            | Action::Bind { .. }
            | Action::Values { .. }
            | Action::Given { .. }
            | Action::Unpack { .. }
            | Action::Service { .. } => HERE,
        }
    }

    fn expansion(&self, from: Node, predicate: Node, direction: Direction) -> Placed {
        match (direction, predicate) {
            (Direction::In, predicate) if self.is_kind(predicate) => match self.of(from) {
                Place::Here => HERE,
                _ => (Place::Home(Home::All), Some(Share::Members)),
            },
            // Some rows may ask for members.
            (Direction::In, Node::Slot(_)) => (self.of(from), Some(Share::Whole)),
            (Direction::Out, _) | (Direction::In, Node::Constant(_)) => (self.of(from), None),
        }
    }

    /// A check is walked where its lists are. With one end known beforehand that is the other one, whose list is looked
    /// at, or which is looked for in a set that was asked for while the plan was prepared. Where predicate or graph differ
    /// by row `prepare` looks from the subject, whatever the plan says.
    fn check(&self, action: &Action) -> Placed {
        let Action::Check {
            subject,
            predicate,
            object,
            from,
            scope,
            ..
        } = *action
        else {
            unreachable!("the caller looked")
        };
        let differs = matches!(predicate, Node::Slot(_))
            || matches!(scope, Scope::Bind(_) | Scope::Named(Node::Slot(_)));
        if self.is_kind(predicate) {
            return (self.of(subject), Some(Share::Members));
        }
        if differs {
            return (self.of(subject), None);
        }
        let seen = match (subject, object) {
            (Node::Constant(_), Node::Slot(_)) => object,
            (Node::Slot(_), Node::Slot(_)) if from == Direction::In => object,
            _ => subject,
        };
        (self.of(seen), None)
    }

    /// Sections of the steps before this one.
    pub(crate) fn sections_before(&self, step: usize) -> usize {
        self.cut_into(step, &(0..0)).len()
    }

    /// Whether a plan is light, starts at one vertex, and has no step of which every node walks its share. Where others' lists
    /// are read by a load of the thread that walks, whoever is asked walks such a plan alone: its few lists cost less than a
    /// message and the thread that it wakes.
    pub fn is_for_one(&self) -> bool {
        let homes = || self.plan.steps.iter().map(|step| self.home(&step.action).0);
        let starts_at_one = matches!(homes().next(), Some(Place::Home(Home::Vertex(_))));
        let is_everybodys = |place| place == Place::Home(Home::All);
        self.plan.weight == Weight::Light && starts_at_one && !homes().any(is_everybodys)
    }

    /// Those of a plan that one node walks alone: nothing has to go anywhere.
    pub(crate) fn undivided(&self, share: Share) -> Vec<Section> {
        vec![Section {
            steps: 0..self.plan.steps.len(),
            place: Place::Together,
            share,
            gathers: true,
        }]
    }

    /// The plan's sections, first to last; at least one. The rows of the last one are the answer, and it is walked where the
    /// query was asked. These steps of it are [done at the data](crate::home::at_data).
    pub(crate) fn sections(&self, at_data: &Range<usize>) -> Vec<Section> {
        let end = self.plan.steps.len();
        let mut sections = self.cut_into(end, at_data);
        // Rows meet at last where the query was asked. What is walked there alone, from the first row on, is there.
        let is_at_home = |section: &Section| section.place == Place::Together;
        let is_alone = matches!(&sections[..], [only] if only.place == Place::Here);
        if !is_alone && !sections.last().is_some_and(is_at_home) {
            sections.push(Section {
                steps: end..end,
                place: Place::Together,
                share: Share::Members,
                gathers: true,
            });
        }
        sections
    }

    /// The sections of the first so many steps, as far as these tell.
    fn cut_into(&self, end: usize, at_data: &Range<usize>) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        let mut shares: Vec<Option<Share>> = Vec::new();
        // The place of a step that may follow in the last section.
        let mut next = Place::Here;
        for (at, step) in self.plan.steps[..end].iter().enumerate() {
            let (place, share) = if at_data.contains(&at) {
                HERE
            } else {
                self.home(&step.action)
            };
            if let (Some(last), Some(wanted)) = (sections.last_mut(), shares.last_mut()) {
                let is_same = place == next && place != Place::Home(Home::All);
                let agrees = share.is_none() || wanted.is_none() || share == *wanted;
                if (is_same || place == Place::Here) && agrees {
                    last.steps.end = at + 1;
                    *wanted = wanted.or(share);
                    continue;
                }
            }
            let found = found_here(&step.action, place).filter(|_| at == 0);
            next = found.unwrap_or(place);
            sections.push(Section {
                steps: at..at + 1,
                place,
                share: Share::Members,
                gathers: place == Place::Together,
            });
            shares.push(share);
        }
        for (section, share) in sections.iter_mut().zip(shares) {
            section.share = share.unwrap_or(Share::Members);
            let is_at_data = !at_data.is_empty() && section.steps.contains(&at_data.start);
            section.gathers |= is_at_data && gathers(&self.plan.steps[at_data.clone()]);
        }
        sections
    }
}

/// Where rows are at home that a plan's first step gave of which every node walked its share: by the column that it filled,
/// because each node found what it owns. Of a later step such rows may have stayed with one node, which found those of all.
fn found_here(action: &Action, place: Place) -> Option<Place> {
    match (place, action) {
        (Place::Home(Home::All), Action::Expand { into, .. } | Action::ExpandKeys { into, .. }) => {
            Some(Place::Home(Home::Column(*into)))
        }
        _ => None,
    }
}

/// Whether steps give rows only when their input has ended.
pub(crate) fn gathers(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::Aggregate { .. } | Action::Count { .. } => true,
        Action::Order { keys, .. } => !keys.is_empty(),
        _ => false,
    })
}

/// Whether a step, or one within it, may give something else each time: it draws, or takes the rows that come first.
fn is_a_choice(step: &Step) -> bool {
    use AggregateFunction::{Avg, GroupConcat, Sample, Sum};
    let chooses = match &step.action {
        Action::Filter(expression) | Action::Bind { expression, .. } => draws(expression),
        Action::Aggregate { aggregates, .. } => aggregates.iter().any(|(aggregate, _)| {
            let is_of_order = matches!(aggregate.function, Avg | GroupConcat(_) | Sample | Sum);
            is_of_order || aggregate.argument.iter().any(draws)
        }),
        Action::Slice { .. } => true,
        Action::Order { limit, .. } => limit.is_some(),
        _ => false,
    };
    chooses || step.action.blocks().iter().flatten().any(is_a_choice)
}

fn draws(expression: &Expression) -> bool {
    use Function::{BNode, Rand, StrUuid, Uuid};
    let mut found = matches!(
        expression,
        Expression::Call(Rand | Uuid | StrUuid | BNode, _)
    );
    expression.for_each_operand(&mut |operand| found = found || draws(operand));
    found
}
