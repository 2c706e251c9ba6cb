//! A path as an automaton over edges (SPARQL 1.1 Query sections 9.1 and 18.4).
//!
//! What a closure and the forms within it connect is a set, so two vertices are connected exactly if
//! the edges between them spell a word of a regular language: the path is read as a regular expression
//! over predicates and directions (Mendelzon and Wood, "Finding Regular Simple Paths in Graph
//! Databases", SIAM J. Comput. 1995, without their restriction to simple paths). Reachability in the
//! product of graph and automaton then answers it in time linear in that product, cycles or not.
//!
//! The automaton is built with empty moves (Thompson's construction, linear in the path), those are
//! taken out, states from which nothing is accepted are left out, and states that behave alike are
//! merged, so that `p*` and `(a|b)*` have one state and `p+` has two. Against its direction a path
//! is the same automaton with every move turned around; both number their states alike, so that two
//! searches from either end meet where they have been at one vertex in one state.

use super::super::aggregate::paged::Meter;
use crate::error::WalkError;
use query::path::Path;
use query::plan::ConstantId;
use rdf::{Direction, PredicateId};
use std::collections::BTreeMap;
use store::SegmentKey;

/// What tells states apart: class, whether accepting, and classes reached by label.
type Behaviour = (u32, bool, Vec<(u32, u32)>);

/// Moves up to which states that behave alike are looked for.
const MERGED_MOVES_MAX: usize = 1 << 12;

/// An edge that a move takes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Label {
    /// With this predicate, in this direction.
    One(SegmentKey),
    /// In this direction with any other predicate than these, ascending.
    Other(Direction, Vec<PredicateId>),
}

impl Label {
    fn reversed(&self) -> Label {
        match self {
            Label::One(segment) => Label::One(SegmentKey {
                direction: segment.direction.reversed(),
                ..*segment
            }),
            Label::Other(direction, others) => Label::Other(direction.reversed(), others.clone()),
        }
    }
}

/// One state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Whether a word may end here.
    pub(crate) accepts: bool,
    /// Labels and the states they lead to.
    pub(crate) moves: Vec<(u32, u32)>,
}

/// The automaton. A word begins in any of `starts`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Automaton {
    pub(crate) labels: Vec<Label>,
    pub(crate) states: Vec<State>,
    pub(crate) starts: Vec<u32>,
}

impl Automaton {
    /// The automaton of a path read forward. `resolve` gives the number of a predicate that the graph
    /// has. Draws on the budget and looks at its limits, because a path of thousands of parts that
    /// may all be left out has quadratically many moves.
    pub(crate) fn new(
        path: &Path,
        resolve: &dyn Fn(ConstantId) -> Option<PredicateId>,
        meter: &mut Meter<'_>,
    ) -> Result<Automaton, WalkError> {
        let mut builder = Builder {
            resolve,
            labels: BTreeMap::new(),
            nodes: vec![Node::default(), Node::default()],
        };
        builder.add(path, START, END, Direction::Out);
        let mut states = builder.without_skips(meter)?;
        drop_dead(&mut states);
        let mut labels: Vec<(Label, u32)> = builder.labels.into_iter().collect();
        labels.sort_by_key(|(_, number)| *number);
        let automaton = Automaton {
            labels: labels.into_iter().map(|(label, _)| label).collect(),
            states,
            starts: vec![0],
        };
        Ok(automaton.merged().checked())
    }

    /// The same, all of whose moves have their label and lead to its states. O(moves).
    fn checked(self) -> Automaton {
        let (labels, states) = (self.labels.len() as u32, self.states.len() as u32);
        let mut moves = self.states.iter().flat_map(|state| &state.moves);
        let is_own = |&(label, to): &(u32, u32)| label < labels && to < states;
        assert!(
            moves.all(is_own),
            "a move has its label, and leads to a state"
        );
        assert!(
            self.starts.iter().all(|&start| start < states),
            "a start is a state"
        );
        self
    }

    /// Whether it accepts the empty word.
    pub(crate) fn accepts_nothing(&self) -> bool {
        let mut starts = self.starts.iter();
        starts.any(|&start| self.states[start as usize].accepts)
    }

    /// The same words read backward, by the same states.
    pub(crate) fn reversed(&self) -> Automaton {
        let mut states = vec![State::default(); self.states.len()];
        for (from, state) in (0_u32..).zip(&self.states) {
            for &(label, to) in &state.moves {
                states[to as usize].moves.push((label, from));
            }
        }
        for &start in &self.starts {
            states[start as usize].accepts = true;
        }
        let numbered = (0_u32..).zip(&self.states);
        Automaton {
            labels: self.labels.iter().map(Label::reversed).collect(),
            states,
            starts: numbered
                .filter(|(_, state)| state.accepts)
                .map(|(number, _)| number)
                .collect(),
        }
        .checked()
    }

    /// The labels of the first edges of its words.
    pub(crate) fn first_labels(&self) -> Vec<&Label> {
        let starts = self.starts.iter();
        let moves = starts.flat_map(|&start| &self.states[start as usize].moves);
        let mut labels: Vec<u32> = moves.map(|&(label, _)| label).collect();
        labels.sort_unstable();
        labels.dedup();
        let label = |number: u32| &self.labels[number as usize];
        labels.into_iter().map(label).collect()
    }

    /// Bytes of its moves.
    pub(crate) fn bytes(&self) -> usize {
        let moves = |state: &State| size_of_val(&state.moves[..]);
        self.states.iter().map(moves).sum()
    }

    /// Merges states that accept alike and move alike: the coarsest partition in which that holds,
    /// by refinement (Moore 1956).
    fn merged(self) -> Automaton {
        let moves: usize = self.states.iter().map(|state| state.moves.len()).sum();
        if moves > MERGED_MOVES_MAX {
            return self;
        }
        let mut classes: Vec<u32> = vec![0; self.states.len()];
        let mut count = 1;
        loop {
            let mut numbers: BTreeMap<Behaviour, u32> = BTreeMap::new();
            let mut refined = Vec::with_capacity(classes.len());
            for (state, &class) in self.states.iter().zip(&classes) {
                let moves = state.moves.iter();
                let mut moves: Vec<(u32, u32)> = moves
                    .map(|&(label, to)| (label, classes[to as usize]))
                    .collect();
                moves.sort_unstable();
                moves.dedup();
                let next = numbers.len() as u32;
                refined.push(*numbers.entry((class, state.accepts, moves)).or_insert(next));
            }
            classes = refined;
            if numbers.len() == count {
                break;
            }
            count = numbers.len();
        }
        let mut states = vec![State::default(); count];
        for (state, &class) in self.states.into_iter().zip(&classes) {
            let merged = &mut states[class as usize];
            merged.accepts = state.accepts;
            let moves = state.moves.into_iter();
            merged.moves = moves
                .map(|(label, to)| (label, classes[to as usize]))
                .collect();
            merged.moves.sort_unstable();
            merged.moves.dedup();
        }
        Automaton {
            labels: self.labels,
            states,
            starts: vec![classes[0]],
        }
    }
}

/// The node where words begin.
const START: usize = 0;
/// The node where they end.
const END: usize = 1;

/// A state with empty moves.
#[derive(Default)]
struct Node {
    moves: Vec<(u32, usize)>,
    skips: Vec<usize>,
}

struct Builder<'b> {
    resolve: &'b dyn Fn(ConstantId) -> Option<PredicateId>,
    labels: BTreeMap<Label, u32>,
    nodes: Vec<Node>,
}

impl Builder<'_> {
    /// Adds the words of a path between two nodes. Invariant: nothing leads into `from` nor out of
    /// `to` that was not there before, so that parts do not run into each other. The depth of paths
    /// is bounded where their text is read.
    fn add(&mut self, path: &Path, from: usize, to: usize, direction: Direction) {
        match path {
            Path::Predicate(predicate) => {
                if let Some(predicate) = (self.resolve)(*predicate) {
                    let segment = SegmentKey {
                        predicate,
                        direction,
                    };
                    self.add_move(from, Label::One(segment), to);
                }
            }
            Path::Inverse(inner) => self.add(inner, from, to, direction.reversed()),
            Path::Sequence(parts) => {
                let mut from = from;
                for at in 0..parts.len() {
                    let is_last = at + 1 == parts.len();
                    let next = if is_last { to } else { self.node() };
                    let part = match direction {
                        Direction::Out => &parts[at],
                        Direction::In => &parts[parts.len() - 1 - at],
                    };
                    self.add(part, from, next, direction);
                    from = next;
                }
                if parts.is_empty() {
                    self.nodes[from].skips.push(to);
                }
            }
            Path::Alternative(parts) => {
                for part in parts {
                    self.add(part, from, to, direction);
                }
            }
            Path::ZeroOrMore(inner) => {
                let middle = self.node();
                self.nodes[from].skips.push(middle);
                self.add(inner, middle, middle, direction);
                self.nodes[middle].skips.push(to);
            }
            Path::OneOrMore(inner) => {
                let (first, last) = (self.node(), self.node());
                self.nodes[from].skips.push(first);
                self.add(inner, first, last, direction);
                self.nodes[last].skips.extend([first, to]);
            }
            Path::ZeroOrOne(inner) => {
                self.nodes[from].skips.push(to);
                self.add(inner, from, to, direction);
            }
            Path::Negated { forward, backward } => {
                let lists = [(forward, direction), (backward, direction.reversed())];
                for (excluded, direction) in lists {
                    if let Some(excluded) = excluded {
                        let label = other_than(excluded, direction, self.resolve);
                        self.add_move(from, label, to);
                    }
                }
            }
        }
    }

    fn node(&mut self) -> usize {
        self.nodes.push(Node::default());
        self.nodes.len() - 1
    }

    fn add_move(&mut self, from: usize, label: Label, to: usize) {
        let next = self.labels.len() as u32;
        let label = *self.labels.entry(label).or_insert(next);
        self.nodes[from].moves.push((label, to));
    }

    /// The states without empty moves: the start, and every node that a move leads to.
    fn without_skips(&self, meter: &mut Meter<'_>) -> Result<Vec<State>, WalkError> {
        let mut numbers: Vec<Option<u32>> = vec![None; self.nodes.len()];
        let mut wanted = vec![START];
        numbers[START] = Some(0);
        let mut states = Vec::new();
        let mut seen = vec![usize::MAX; self.nodes.len()];
        while let Some(&node) = wanted.get(states.len()) {
            meter.check()?;
            let mut state = State::default();
            let mut skipped = vec![node];
            seen[node] = node;
            while let Some(at) = skipped.pop() {
                state.accepts |= at == END;
                for &(label, to) in &self.nodes[at].moves {
                    let number = *numbers[to].get_or_insert_with(|| {
                        wanted.push(to);
                        wanted.len() as u32 - 1
                    });
                    state.moves.push((label, number));
                }
                for &to in &self.nodes[at].skips {
                    if seen[to] != node {
                        seen[to] = node;
                        skipped.push(to);
                    }
                }
            }
            state.moves.sort_unstable();
            state.moves.dedup();
            state.moves.shrink_to_fit();
            meter.grow(size_of_val(&state.moves[..]) + size_of::<State>())?;
            states.push(state);
        }
        assert_eq!(
            states.len(),
            wanted.len(),
            "a node that is reached is a state"
        );
        Ok(states)
    }
}

/// The label of an edge with none of these predicates.
pub(crate) fn other_than(
    excluded: &[ConstantId],
    direction: Direction,
    resolve: &dyn Fn(ConstantId) -> Option<PredicateId>,
) -> Label {
    let mut others: Vec<PredicateId> = excluded.iter().filter_map(|&one| resolve(one)).collect();
    others.sort_unstable();
    others.dedup();
    Label::Other(direction, others)
}

/// Leaves out moves to states from which nothing is accepted.
fn drop_dead(states: &mut [State]) {
    let mut is_live: Vec<bool> = states.iter().map(|state| state.accepts).collect();
    let mut into: Vec<Vec<u32>> = vec![Vec::new(); states.len()];
    for (from, state) in (0_u32..).zip(&*states) {
        for &(_, to) in &state.moves {
            into[to as usize].push(from);
        }
    }
    let live = (0_u32..).zip(&is_live).filter(|(_, is_live)| **is_live);
    let mut pending: Vec<u32> = live.map(|(state, _)| state).collect();
    while let Some(state) = pending.pop() {
        for &from in &into[state as usize] {
            if !std::mem::replace(&mut is_live[from as usize], true) {
                pending.push(from);
            }
        }
    }
    for state in states {
        state.moves.retain(|&(_, to)| is_live[to as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn automaton(path: &Path) -> Automaton {
        let resolve = |constant: ConstantId| Some(PredicateId(constant.0 + 2));
        let mut meter = Meter::new(Limits::none());
        Automaton::new(path, &resolve, &mut meter).expect("no limit")
    }

    fn one(number: u32) -> Path {
        Path::Predicate(ConstantId(number))
    }

    #[test]
    fn states_that_behave_alike_are_one() {
        let star = |path| Path::ZeroOrMore(Box::new(path));
        let plus = |path| Path::OneOrMore(Box::new(path));
        let maybe = |path| Path::ZeroOrOne(Box::new(path));
        let either = Path::Alternative(vec![one(0), one(1)]);
        let both = Path::Sequence(vec![one(0), one(1)]);
        for (path, states) in [
            (star(one(0)), 1),
            (plus(one(0)), 2),
            (maybe(one(0)), 2),
            (star(either.clone()), 1),
            (plus(star(either)), 1),
            (star(plus(maybe(one(0)))), 1),
            (star(both.clone()), 2),
            (plus(both), 3),
        ] {
            assert_eq!(automaton(&path).states.len(), states, "{path:?}");
        }
    }

    #[test]
    fn turning_around_twice_changes_nothing() {
        let path = Path::OneOrMore(Box::new(Path::Sequence(vec![
            one(0),
            Path::Inverse(Box::new(one(1))),
            Path::ZeroOrOne(Box::new(one(2))),
        ])));
        let forward = automaton(&path);
        assert_eq!(forward.reversed().reversed(), forward);
        assert!(!forward.accepts_nothing());
        assert_eq!(forward.first_labels().len(), 1);
        assert_eq!(forward.reversed().first_labels().len(), 2);
    }

    #[test]
    fn predicates_that_no_edge_has_lead_nowhere() {
        let path = Path::ZeroOrMore(Box::new(Path::Sequence(vec![one(0), one(7)])));
        let resolve = |constant: ConstantId| (constant.0 < 7).then_some(PredicateId(2));
        let mut meter = Meter::new(Limits::none());
        let automaton = Automaton::new(&path, &resolve, &mut meter).expect("no limit");
        assert!(automaton.accepts_nothing());
        assert!(automaton.first_labels().is_empty());
    }
}
