//! A group to steps: nested groups are laid into the pipeline where the algebra allows it, then the
//! pipeline is cut into stages, each a join that may be ordered and what has to follow it.
//!
//! ```text
//!   elements --lay--> pieces --cut--> zones of stages
//!
//!   zone:   [ join ... join | filters ]  barrier  [ join ... | ... ]  barrier ...     modifier
//! ```
//!
//! **Laying.** A group G that is joined with the table so far T is walked from T's rows, by writing its
//! elements in its place, if substitution is sound (see [`super::facts`]); a variable that G captures
//! gets a slot of its own in G, and the two columns are unified afterwards. Where nothing would be
//! gained (nothing sound is shared), or G looks at its rows together, G gets a table of its own and
//! T's rows are looked up in it.
//!
//! **Cutting.** A join moves to before `OPTIONAL`, `MINUS`, `EXISTS`, `BIND` where it shares with them
//! only what is certain there already: `LeftJoin(A, B) join C = LeftJoin(A join C, B)`. So the patterns
//! that restrict a walk come before those that only decorate it. A filter over what is certain stands
//! as early as that is bound; any other filter is a barrier. Nothing passes a modifier.

use super::block::{Block, Planning};
use super::facts::{Facts, is_subquery, is_volatile, occurs, slots_of};
use super::rename::Renaming;
use crate::algebra::{Element, Group};
use crate::expression::Expression;
use crate::plan::Slot;
use crate::slots::Slots;

/// One piece of a pipeline.
#[derive(Clone, Debug)]
pub(super) enum PipelineElement {
    /// What is joined.
    Join(Element),
    /// A group that is joined by a table of its own.
    Table(Group),
    /// The two columns of one variable.
    Unify { into: Slot, from: Slot },
    /// A filter, or what is neither join nor modifier.
    Other(Element),
    /// What looks at all rows.
    Modifier(Element),
}

/// A join and what follows it.
struct Stage {
    joins: Vec<PipelineElement>,
    barrier: Option<PipelineElement>,
    /// What may not be shared with the barrier unless it is certain; `None`: nothing passes.
    touches: Option<Slots>,
    /// Certain before the barrier.
    certain: Slots,
}

impl Planning<'_> {
    /// Appends the steps of a pipeline that is joined with, or applied to, the block's table.
    pub(super) fn pipeline(&mut self, block: &mut Block, elements: Vec<Element>) {
        let mut pieces = Vec::with_capacity(elements.len());
        let mut facts = Facts {
            certain: block.certain.clone(),
            maybe: block.maybe.clone(),
            ..Facts::default()
        };
        self.lay_all(block, elements, &mut facts, &mut pieces);
        let mut zone = Vec::new();
        let mut pieces = pieces.into_iter().peekable();
        while let Some(piece) = pieces.next() {
            let PipelineElement::Modifier(first) = piece else {
                zone.push(piece);
                continue;
            };
            self.zone(block, std::mem::take(&mut zone));
            let mut modifiers = vec![first];
            while let Some(PipelineElement::Modifier(next)) =
                pieces.next_if(|piece| matches!(piece, PipelineElement::Modifier(_)))
            {
                modifiers.push(next);
            }
            super::modifiers::modifiers(block, modifiers);
        }
        self.zone(block, zone);
        assert!(
            !block.certain.intersects(&block.maybe),
            "what is certain is not in doubt"
        );
    }

    fn lay_all(
        &mut self,
        block: &mut Block,
        mut elements: Vec<Element>,
        facts: &mut Facts,
        pieces: &mut Vec<PipelineElement>,
    ) {
        if block.is_unit && block.is_whole && pieces.is_empty() && !self.keep_order {
            begin_with_table(&mut elements);
        }
        name_aggregates(&mut elements);
        for element in elements {
            match element {
                Element::Join(group) => self.lay(block, group, facts, pieces),
                Element::Union(branches) if branches.len() == 1 => {
                    for branch in branches {
                        self.lay(block, branch, facts, pieces);
                    }
                }
                element => {
                    facts.element(&element);
                    pieces.push(piece(element));
                }
            }
        }
    }

    /// Lays a group that is joined.
    fn lay(
        &mut self,
        block: &mut Block,
        mut group: Group,
        facts: &mut Facts,
        pieces: &mut Vec<PipelineElement>,
    ) {
        trim(&mut group.elements);
        let mine = Facts::of(&group.elements);
        if !mine.blocks {
            // What is not projected has slots that nobody outside knows.
            group
                .elements
                .retain(|element| !matches!(element, Element::Project(_)));
        }
        let is_first = pieces.is_empty();
        let begins = block.is_unit && is_first;
        if begins
            && (block.is_whole || !mine.blocks)
            && mine.occurs.and(&block.columns()).is_empty()
        {
            return self.lay_all(block, group.elements, facts, pieces);
        }
        let captures = mine.captures();
        let mut seen = block.seen.clone();
        let is_kept = |slot: &Slot| block.kept.contains_key(slot);
        seen.extend(captures.iter().filter(is_kept));
        if mine.blocks && seen.intersects(&captures) {
            return self.lay_beside(block, group, &seen, facts, pieces);
        }
        let has_to = !mine.blocks && seen.intersects(&mine.occurs);
        let shared = mine.occurs.and(&facts.out());
        let clash = mine.captured.and(&shared).without(&seen);
        let link = shared
            .and(&facts.certain)
            .and(&mine.certain)
            .without(&clash);
        let gains = if is_first {
            // Rows that arrive from outside: once for each, or once for all.
            !link.is_empty()
        } else {
            mine.is_plain || !link.is_empty()
        };
        let is_walked = has_to || !mine.blocks && gains && !self.keep_order;
        if !is_walked {
            facts.join(&mine);
            pieces.push(PipelineElement::Table(group));
            return;
        }
        let seen = mine.captured.and(&seen);
        let mut renaming = self.copies(block, &seen, facts, pieces);
        renaming.to.extend(self.renaming(&clash).to);
        if !renaming.to.is_empty() {
            renaming.group(&mut group);
        }
        let out = mine.out();
        self.lay_all(block, group.elements, facts, pieces);
        unify_all(renaming, &out, facts, pieces);
    }

    /// Lays a group that is started with each row it sees: beside the row, not beside what its
    /// siblings bind.
    fn lay_beside(
        &mut self,
        block: &mut Block,
        mut group: Group,
        seen: &Slots,
        facts: &mut Facts,
        pieces: &mut Vec<PipelineElement>,
    ) {
        let mine = Facts::of(&group.elements);
        let captured = mine.captures();
        let clash = captured.and(&facts.out()).without(seen);
        let mut renaming = self.copies(block, &captured, facts, pieces);
        renaming.to.extend(self.renaming(&clash).to);
        renaming.group(&mut group);
        let beside = Element::Lateral(group);
        facts.element(&beside);
        pieces.push(PipelineElement::Other(beside));
        unify_all(renaming, &mine.out(), facts, pieces);
    }

    /// Columns for what a group sees of the row outside though its siblings may bind the same
    /// variables: it has to see what the row had.
    fn copies(
        &mut self,
        block: &mut Block,
        seen: &Slots,
        facts: &mut Facts,
        pieces: &mut Vec<PipelineElement>,
    ) -> Renaming {
        let mut renaming = Renaming::default();
        for slot in seen.iter() {
            if let Some(kept) = block.kept.get(&slot).copied() {
                let into = self.hidden();
                block.kept.insert(into, kept);
                renaming.to.insert(slot, into);
                let expression = Expression::Slot(kept);
                let copy = Element::Bind { expression, into };
                facts.element(&copy);
                pieces.push(PipelineElement::Other(copy));
            }
        }
        renaming
    }

    /// The steps of pieces without modifiers.
    fn zone(&mut self, block: &mut Block, pieces: Vec<PipelineElement>) {
        let stages = self.cut(block, pieces);
        block.place_filters();
        for stage in stages {
            self.join(block, stage.joins);
            match stage.barrier {
                None => {}
                Some(PipelineElement::Unify { into, from }) => block.unify(into, from),
                Some(PipelineElement::Other(element)) => self.barrier(block, element),
                Some(_) => unreachable!("joins and modifiers are no barriers"),
            }
            block.place_filters();
        }
        // Certain filters have been placed: what is certain for the facts is so for the block.
        for filter in std::mem::take(&mut block.waiting) {
            block.filter(filter.into_filter());
        }
    }

    fn cut(&mut self, block: &mut Block, pieces: Vec<PipelineElement>) -> Vec<Stage> {
        let (laid, waited) = (pieces.len(), block.waiting.len());
        let mut facts = Facts {
            certain: block.certain.clone(),
            maybe: block.maybe.clone(),
            ..Facts::default()
        };
        let stage = |certain: &Slots| Stage {
            joins: Vec::new(),
            barrier: None,
            touches: None,
            certain: certain.clone(),
        };
        let mut stages = vec![stage(&facts.certain)];
        for piece in pieces {
            match piece {
                PipelineElement::Other(Element::Filter(filter))
                    if !self.keep_order
                        && slots_of(&filter).is_within(&facts.certain)
                        && !filter.gives_new() =>
                {
                    block.wait(filter);
                }
                PipelineElement::Join(_) | PipelineElement::Table(_) => {
                    let joined = facts_of(&piece);
                    facts.join(&joined);
                    let moves = !self.keep_order
                        && !matches!(piece, PipelineElement::Join(Element::TripleTerm { .. }));
                    let at = if moves {
                        earliest(&stages, &joined)
                    } else {
                        stages.len() - 1
                    };
                    for stage in &mut stages[at..] {
                        stage.certain.add(&joined.certain);
                    }
                    stages[at].joins.push(piece);
                }
                barrier => {
                    let touches = touches(&barrier);
                    match &barrier {
                        PipelineElement::Unify { into, from } => unify(&mut facts, *into, *from),
                        PipelineElement::Other(element) => facts.element(element),
                        PipelineElement::Join(_)
                        | PipelineElement::Table(_)
                        | PipelineElement::Modifier(_) => {}
                    }
                    if let Some(last) = stages.last_mut() {
                        last.barrier = Some(barrier);
                        last.touches = touches;
                    }
                    // What the text made certain so far is certain for all that follows.
                    stages.push(stage(&facts.certain));
                }
            }
        }
        let staged = |stage: &Stage| stage.joins.len() + usize::from(stage.barrier.is_some());
        let kept = stages.iter().map(staged).sum::<usize>() + block.waiting.len() - waited;
        assert_eq!(kept, laid, "each piece has its stage, or waits");
        stages
    }
}

/// A sub-query that looks at all its rows comes first where nothing else is bound: its steps then
/// stand in the block itself. Joins commute.
fn begin_with_table(elements: &mut [Element]) {
    let is_join = |element: &Element| {
        matches!(
            element,
            Element::Pattern(_)
                | Element::Path(_)
                | Element::Graph(..)
                | Element::TripleTerm { .. }
                | Element::Join(_)
                | Element::Union(_)
        )
    };
    let blocks = |element: &Element| match element {
        Element::Join(group) => is_subquery(group) && Facts::of(&group.elements).blocks,
        _ => false,
    };
    let joins = elements
        .iter()
        .take_while(|element| is_join(element))
        .count();
    if let Some(at) = elements[..joins].iter().position(blocks) {
        elements[..=at].rotate_right(1);
    }
}

/// Takes sorting away that nobody sees: only the rows that a slice lets pass depend on it.
fn trim(elements: &mut Vec<Element>) {
    let is_slice = |element: &Element| matches!(element, Element::Slice { .. });
    if !elements.iter().any(is_slice) {
        elements.retain(|element| !matches!(element, Element::Order(_)));
    }
}

/// `SELECT (COUNT(*) AS ?n)` is an aggregate and a `BIND` of it: the aggregate takes the name where
/// nothing else reads it.
fn name_aggregates(elements: &mut Vec<Element>) {
    let is_aggregate = |element: &Element| matches!(element, Element::Aggregate { .. });
    let Some(at) = elements.iter().position(is_aggregate) else {
        return;
    };
    let mut later = elements.split_off(at + 1);
    let Some(Element::Aggregate { aggregates, .. }) = elements.last_mut() else {
        return;
    };
    for (_, into) in aggregates {
        let names = |element: &Element| match element {
            Element::Bind {
                expression: Expression::Slot(read),
                ..
            } => read == into,
            _ => false,
        };
        let reads = later
            .iter()
            .filter(|element| occurs(element).contains(*into));
        if reads.count() != 1 {
            continue;
        }
        if let Some(at) = later.iter().position(names)
            && let Element::Bind { into: name, .. } = later.remove(at)
        {
            *into = name;
        }
    }
    elements.append(&mut later);
}

/// Joins the columns that a group has for itself with those of the same variables beside it.
fn unify_all(
    renaming: Renaming,
    out: &Slots,
    facts: &mut Facts,
    pieces: &mut Vec<PipelineElement>,
) {
    let unified = renaming.to.into_iter();
    for (into, from) in unified.filter(|(into, _)| out.contains(*into)) {
        unify(facts, into, from);
        pieces.push(PipelineElement::Unify { into, from });
    }
}

fn unify(facts: &mut Facts, into: Slot, from: Slot) {
    if facts.certain.contains(from) {
        facts.certain.insert(into);
        facts.maybe.remove(into);
    } else if !facts.certain.contains(into) {
        facts.maybe.insert(into);
    }
}

fn piece(element: Element) -> PipelineElement {
    match element {
        Element::Pattern(_)
        | Element::Path(_)
        | Element::Graph(..)
        | Element::TripleTerm { .. }
        | Element::Values { .. }
        | Element::Given { .. }
        | Element::Union(_)
        | Element::Service(_) => PipelineElement::Join(element),
        Element::Aggregate { .. }
        | Element::Order(_)
        | Element::Project(_)
        | Element::Distinct
        | Element::Slice { .. } => PipelineElement::Modifier(element),
        Element::Join(_)
        | Element::Optional { .. }
        | Element::Minus(_)
        | Element::Lateral(_)
        | Element::Exists { .. }
        | Element::Mark { .. }
        | Element::Filter(_)
        | Element::Bind { .. } => PipelineElement::Other(element),
    }
}

pub(super) fn facts_of(piece: &PipelineElement) -> Facts {
    match piece {
        PipelineElement::Join(element) => Facts::of_join(element),
        PipelineElement::Table(group) => Facts::of(&group.elements),
        PipelineElement::Unify { .. }
        | PipelineElement::Other(_)
        | PipelineElement::Modifier(_) => Facts::default(),
    }
}

/// What a join that passes the barrier may share with it only if it is certain before.
fn touches(barrier: &PipelineElement) -> Option<Slots> {
    match barrier {
        PipelineElement::Unify { into, from } => Some([*into, *from].into_iter().collect()),
        PipelineElement::Other(element) => {
            let fixed = is_volatile(element);
            (!fixed).then(|| occurs(element))
        }
        PipelineElement::Join(_) | PipelineElement::Table(_) | PipelineElement::Modifier(_) => None,
    }
}

/// The first stage that a join may move to, if it meets a variable there; else the last.
fn earliest(stages: &[Stage], joined: &Facts) -> usize {
    let last = stages.len() - 1;
    let mut best = last;
    for at in (0..last).rev() {
        let stage = &stages[at];
        let passes = stage
            .touches
            .as_ref()
            .is_some_and(|touches| joined.occurs.shared_within(touches, &stage.certain));
        if !passes {
            break;
        }
        if stage.certain.intersects(&joined.occurs) {
            best = at;
        }
    }
    best
}
