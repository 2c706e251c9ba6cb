//! What is to be ordered: the patterns with their sizes, and how many rows a choice of them gives.
//!
//! For a set S of patterns the estimate does not depend on the order in which they are walked:
//!
//! ```text
//!   rows(S)  =   PROD  W_v(S)   *   PROD  f(p)
//!              variables v        patterns p
//!
//!   f(p) = 1 / E(p)          both ends variables: each end's star counts the edges once
//!        = degree / E(p)     one end a constant, whose degree was asked
//!        = 1                 a class, which the star's types count exactly
//! ```
//!
//! with `W` of [`super::star`] and `E(p)` the edges of the predicate (all edges for a variable
//! predicate). A variable in predicate position divides by the number of predicates for each
//! further pattern it stands in.
//!
//! What is no pattern (a path, a `UNION`, a table) has rows of its own, `f = rows`; and for each place
//! beyond the first that a variable of it stands in, the rows are divided by the values that the
//! variable may have: the keys of the pattern that has most of them. The table that arrives is such a
//! thing, with one row.
//!
//! **Other sources.** A pattern of another source than the store has no part in the store's stars, whose sets would
//! count, and prove empty, what lies elsewhere. It has rows of its own, `f = rows` by its own source's statistics, and is
//! walked as any pattern. With `D(v,s)` the values that a variable has in source s, the keys of its pattern there that
//! has most of them, sources join as independent relations, the fewer values among the more:
//!
//! ```text
//!   rows(S) at v  =  PROD 1 / D(v,s(p))  *  MIN D(v,s)      p: patterns of S that v stands in, of any source s
//! ```
//!
//! so within one source each pattern beyond the first divides by `D(v,s)`, and of two sources the larger `D` divides. The
//! store's share of this product is `W_v(S) / D(v,store)`.

use super::demand::Demand;
use super::index::Index;
use super::known::{Known, Resolved, resolve};
use super::link::Link;
use super::star::Star;
use crate::algebra::Pattern;
use crate::expression::Expression;
use crate::plan::{Node, Slot, Source};
use crate::slots::Slots;
use crate::statistics::DegreeQuestion;
use hashbrown::{HashMap, HashSet};
use rdf::{Direction, VertexId};
use smallvec::SmallVec;

/// What is to be joined.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Pattern(Pattern),
    Other(Other),
}

/// What is no pattern, as far as the order needs it.
#[derive(Clone, Debug, Default)]
pub(super) struct Other {
    /// The variables that it joins on or binds, each once.
    pub slots: Vec<Slot>,
    /// Sets of which one has to be bound before; empty where nothing has to be.
    pub needs: Vec<Vec<Slot>>,
    /// Its rows alone.
    pub rows: f64,
    /// How many terms each of its variables has in it, in the order of `slots`; none where that is not known.
    pub values: Vec<f64>,
    /// Nanoseconds to begin without a bound variable, and for each row with one.
    pub start_ns: f64,
    pub row_ns: f64,
}

impl Other {
    pub(super) fn is_ready(&self, bound: &impl Fn(Slot) -> bool) -> bool {
        let all = |slots: &Vec<Slot>| slots.iter().all(|slot| bound(*slot));
        self.needs.is_empty() || self.needs.iter().any(all)
    }
}

/// A pattern, or something else, with its sizes.
#[derive(Clone, Debug)]
pub(super) struct Sized {
    /// Of no meaning where `other` is some.
    pub pattern: Pattern,
    pub other: Option<Other>,
    /// Its variables, each once, as numbers of [`Problem::variables`].
    pub variables: SmallVec<[usize; 3]>,
    /// `f(p)`; zero where nothing matches, which is never said of another source than the store.
    pub factor: f64,
    /// Vertices that have the predicate, as subjects and as objects.
    pub keys: [f64; 2],
    /// Predicates of its source.
    pub predicates: f64,
    /// What the pattern is between, if it may be a side of an intersection.
    pub link: Option<Link>,
}

impl Sized {
    /// Neighbours of a key of a [link](Sized::link), on average.
    pub(super) fn neighbours(&self, direction: Direction) -> f64 {
        let edges = if self.pattern.source.is_store() {
            1.0 / self.factor
        } else {
            self.factor
        };
        edges / self.keys[direction as usize].max(1.0)
    }
}

/// A filter as far as the order needs it.
#[derive(Clone, Debug)]
pub(super) struct SizedFilter {
    /// Its variables, each once, as numbers of [`Problem::variables`].
    pub variables: Vec<usize>,
    /// Share of rows that pass.
    pub selectivity: f64,
}

/// The join to be ordered.
#[derive(Debug)]
pub(super) struct Problem<'i> {
    pub index: &'i Index,
    pub patterns: Vec<Sized>,
    pub filters: Vec<SizedFilter>,
    /// The variables of patterns.
    pub variables: Vec<Variable>,
}

/// A variable of what is to be joined.
#[derive(Debug)]
pub(super) struct Variable {
    pub slot: Slot,
    pub star: Star,
    /// The patterns that it is the predicate of.
    predicate_of: Vec<usize>,
    /// The items that it stands in that are no patterns.
    other_of: Vec<usize>,
    /// Those of them that are tables whose values are known.
    tables: usize,
    /// The patterns of other sources than the store that it stands in.
    apart_of: Vec<(usize, Source)>,
    /// The values it may have in each of those sources.
    domains: Vec<(Source, f64)>,
    /// Whether the table has it already.
    pub arrived: bool,
    /// The values it may have, as far as the store and what is no pattern know.
    domain: f64,
}

impl Variable {
    /// What an item contributes as a pattern of another source.
    fn apart(&self, item: usize) -> Apart {
        let Ok(at) = self.apart_of.binary_search_by_key(&item, |(of, _)| *of) else {
            return Apart::default();
        };
        let (_, source) = self.apart_of[at];
        let known = self.domains.iter().find(|(of, _)| *of == source);
        let domain = known.map_or(1.0, |(_, domain)| domain.max(1.0));
        Apart {
            share: domain.recip(),
            fewest: domain,
        }
    }

    /// Places of patterns that it stands in as an end, patterns of other sources, and tables.
    pub(super) fn places(&self) -> usize {
        self.star.incident.len() + self.apart_of.len() + self.tables
    }

    /// It may have so many values at a place of a pattern of this source.
    fn note_domain(&mut self, source: Source, keys: f64) {
        if source.is_store() {
            self.domain = self.domain.max(keys);
            return;
        }
        match self.domains.iter_mut().find(|(of, _)| *of == source) {
            Some((_, domain)) => *domain = domain.max(keys),
            None => self.domains.push((source, keys)),
        }
    }

    /// The values it may have, where the patterns of the store do not say it: those of the other sources, or any.
    fn settle_domain(&mut self, vertices: f64) {
        if self.domain == 0.0 {
            let domains = self.domains.iter().map(|(_, domain)| *domain);
            self.domain = domains.reduce(f64::max).unwrap_or(vertices);
        } else {
            self.domain = self.domain.max(1.0);
        }
    }
}

impl<'i> Problem<'i> {
    /// `arrived`: what the table binds already.
    pub(super) fn new<'f>(
        items: Vec<Item>,
        filters: impl Iterator<Item = &'f Expression>,
        arrived: &Slots,
        known: &Known<'_>,
        index: &'i Index,
    ) -> Problem<'i> {
        let mut problem = Problem {
            index,
            patterns: Vec::with_capacity(items.len()),
            filters: Vec::new(),
            variables: Vec::with_capacity(items.len()),
        };
        let mut numbers = HashMap::new();
        for (number, item) in items.into_iter().enumerate() {
            let sized = match item {
                Item::Pattern(pattern) => {
                    let slots = pattern.slots();
                    let variables = slots
                        .map(|slot| problem.number(slot, &mut numbers))
                        .collect();
                    problem.size(number, pattern, variables, known, &numbers)
                }
                Item::Other(other) => problem.size_other(number, other, &mut numbers),
            };
            problem.patterns.push(sized);
        }
        for variable in &mut problem.variables {
            variable.star.prepare(index);
            variable.arrived = arrived.contains(variable.slot);
        }
        problem.note_domains(&numbers);
        assert_eq!(
            numbers.len(),
            problem.variables.len(),
            "a slot has one number"
        );
        for filter in filters {
            let mut variables = Vec::new();
            let mut is_of_items = true;
            filter.for_each_slot(&mut |slot| match numbers.get(&slot) {
                Some(&variable) if problem.variables[variable].arrived => {}
                Some(&variable) => variables.push(variable),
                None => is_of_items &= arrived.contains(slot),
            });
            variables.sort_unstable();
            variables.dedup();
            if is_of_items {
                problem.filters.push(SizedFilter {
                    variables,
                    selectivity: selectivity(filter),
                });
            }
        }
        problem
    }

    /// Whether the star of a variable has no solution at all, which its sets know, so that nothing
    /// matches all patterns together.
    pub(super) fn has_empty_star(&self) -> bool {
        self.variables.iter().any(|it| it.star.is_empty())
    }

    fn size_other(
        &mut self,
        number: usize,
        other: Other,
        numbers: &mut HashMap<Slot, usize>,
    ) -> Sized {
        let slots = other.slots.iter();
        let variables: SmallVec<[usize; 3]> =
            slots.map(|slot| self.number(*slot, numbers)).collect();
        for &variable in &variables {
            self.variables[variable].other_of.push(number);
        }
        for (&variable, &values) in variables.iter().zip(&other.values) {
            let variable = &mut self.variables[variable];
            variable.tables += 1;
            variable.domain = variable.domain.max(values);
        }
        let nowhere = Node::Constant(crate::plan::ConstantId(u32::MAX));
        Sized {
            pattern: Pattern {
                subject: nowhere,
                predicate: nowhere,
                object: nowhere,
                graph: None,
                source: Source::STORE,
            },
            variables,
            factor: other.rows,
            keys: [0.0, 0.0],
            predicates: 0.0,
            link: None,
            other: Some(other),
        }
    }

    fn note_domains(&mut self, numbers: &HashMap<Slot, usize>) {
        for sized in &self.patterns {
            let pattern = &sized.pattern;
            let keys = [
                (pattern.subject, sized.keys[0]),
                (pattern.object, sized.keys[1]),
                (pattern.predicate, sized.predicates),
            ];
            for (node, keys) in keys {
                if let Node::Slot(slot) = node {
                    let variable = numbers[&slot];
                    self.variables[variable].note_domain(pattern.source, keys);
                }
            }
        }
        let vertices = self.index.vertices;
        for variable in &mut self.variables {
            variable.settle_domain(vertices);
        }
    }

    fn number(&mut self, slot: Slot, numbers: &mut HashMap<Slot, usize>) -> usize {
        *numbers.entry(slot).or_insert_with(|| {
            self.variables.push(Variable {
                slot,
                star: Star::default(),
                predicate_of: Vec::new(),
                other_of: Vec::new(),
                tables: 0,
                apart_of: Vec::new(),
                domains: Vec::new(),
                arrived: false,
                domain: 0.0,
            });
            self.variables.len() - 1
        })
    }

    /// Sizes a pattern of another source than the store, by what is known of that source.
    fn size_apart(
        &mut self,
        number: usize,
        pattern: Pattern,
        variables: SmallVec<[usize; 3]>,
        known: &Known<'_>,
    ) -> Sized {
        for &variable in &variables {
            let variable = &mut self.variables[variable];
            let is_there = |node| node == Node::Slot(variable.slot);
            if [pattern.subject, pattern.predicate, pattern.object]
                .into_iter()
                .any(is_there)
            {
                variable.apart_of.push((number, pattern.source));
            }
        }
        let sizes = known.sizes(pattern.source, pattern.predicate);
        Sized {
            link: if known.keep_checks {
                None
            } else {
                Link::of(&pattern)
            },
            other: None,
            variables,
            factor: known.rows(&pattern),
            keys: sizes.keys,
            predicates: sizes.predicates.unwrap_or(self.index.predicates()),
            pattern,
        }
    }

    /// Sizes one pattern and adds what it demands to the stars of its ends.
    fn size(
        &mut self,
        number: usize,
        pattern: Pattern,
        variables: SmallVec<[usize; 3]>,
        known: &Known<'_>,
        numbers: &HashMap<Slot, usize>,
    ) -> Sized {
        if !pattern.source.is_store() {
            return self.size_apart(number, pattern, variables, known);
        }
        let ids = known.ids;
        let asked = questions_of(&pattern, ids);
        let degrees =
            asked.map(|question| question.and_then(|asked| known.degrees.get(&asked).copied()));
        let predicate = resolve(pattern.predicate, ids);
        let statistics = match predicate {
            Resolved::Known(vertex) => self.index.predicate(vertex),
            _ => None,
        };
        let quads = self.index.statistics.quads as f64;
        let (edges, keys) = match (predicate, statistics) {
            (Resolved::Variable, _) => (quads, self.index.keys),
            (_, Some(sizes)) => {
                let keys = [sizes.subjects as f64, sizes.objects as f64];
                (sizes.edges as f64, keys)
            }
            _ => (0.0, [0.0, 0.0]),
        };
        let ends = [pattern.subject, pattern.object];
        let absent = [pattern.subject, pattern.predicate, pattern.object]
            .into_iter()
            .chain(pattern.graph)
            .any(|node| resolve(node, ids) == Resolved::Absent);
        let class = self.class(&pattern, ids);
        for (end, direction) in ends.into_iter().zip([Direction::Out, Direction::In]) {
            if let Node::Slot(slot) = end {
                let demand = match (class, predicate) {
                    (Some(class), _) => Demand::Type(class),
                    (None, Resolved::Known(vertex)) => Demand::Predicate(direction, vertex),
                    _ => Demand::Any(direction),
                };
                self.variables[numbers[&slot]].star.add(number, demand);
            }
        }
        if let Node::Slot(slot) = pattern.predicate {
            self.variables[numbers[&slot]].predicate_of.push(number);
        }
        let factor = match degrees {
            _ if absent || edges == 0.0 => 0.0,
            _ if class.is_some() => 1.0,
            [Some(out), Some(into)] => (out * into / edges).min(1.0),
            [Some(degree), None] | [None, Some(degree)] => degree / edges,
            [None, None] => 1.0 / edges,
        };
        assert!(
            factor.is_finite() && factor >= 0.0,
            "a share of the edges is a number: {factor}"
        );
        let is_walked = factor > 0.0 && !known.keep_checks;
        Sized {
            link: if is_walked { Link::of(&pattern) } else { None },
            pattern,
            other: None,
            variables,
            factor,
            keys,
            predicates: self.index.predicates(),
        }
    }

    /// The class of a pattern `?x rdf:type C`, where the sets record types.
    fn class(&self, pattern: &Pattern, ids: &[Option<VertexId>]) -> Option<VertexId> {
        let rdf_type = self.index.statistics.type_vertex?;
        let is_type = resolve(pattern.predicate, ids) == Resolved::Known(rdf_type);
        match (pattern.subject, resolve(pattern.object, ids)) {
            (Node::Slot(_), Resolved::Known(class)) if is_type && self.index.has_types => {
                Some(class)
            }
            _ => None,
        }
    }

    /// What a variable contributes to `rows(S)` apart from its star's `W`, which is given: the
    /// patterns of S that it is the predicate of have to agree, and so have the other items.
    pub(super) fn contribution(
        &self,
        variable: usize,
        solutions: f64,
        star_is_used: bool,
        uses: Uses,
    ) -> f64 {
        let predicates = self.index.predicates();
        let Variable {
            arrived, domain, ..
        } = self.variables[variable];
        let of_patterns = match (star_is_used, uses.as_predicate) {
            (_, 0) => solutions,
            (false, uses) => predicates.powi(1 - uses as i32),
            (true, uses) => solutions.min(predicates) * predicates.powi(-(uses as i32)),
        };
        let others = uses.in_others + usize::from(arrived);
        let first = usize::from(!star_is_used && uses.as_predicate == 0);
        let rows = match others.saturating_sub(first) {
            0 => of_patterns,
            further => of_patterns * domain.powi(-(further as i32)),
        };
        let is_alone = first == 1 && others == 0;
        uses.apart.joined((!is_alone).then_some((rows, domain)))
    }
}

/// In how many chosen items a variable stands other than as an end of a pattern.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uses {
    /// Patterns that it is the predicate of.
    pub as_predicate: usize,
    /// Items that are no patterns.
    pub in_others: usize,
    /// The patterns of other sources.
    apart: Apart,
}

/// What patterns of other sources than the store, chosen together, contribute at a variable.
#[derive(Clone, Copy, Debug)]
struct Apart {
    /// One through the values that the variable may have, multiplied over the patterns.
    share: f64,
    /// The fewest values that it has in one of the sources; infinite where no pattern is chosen.
    fewest: f64,
}

impl Default for Apart {
    /// Of no pattern.
    fn default() -> Apart {
        Apart {
            share: 1.0,
            fewest: f64::INFINITY,
        }
    }
}

impl Apart {
    fn plus(self, other: Apart) -> Apart {
        Apart {
            share: self.share * other.share,
            fewest: self.fewest.min(other.fewest),
        }
    }

    /// The contribution together with the store's, given as rows and values; `None` where nothing else is chosen.
    fn joined(self, store: Option<(f64, f64)>) -> f64 {
        match store {
            _ if self.fewest == f64::INFINITY => store.map_or(1.0, |(rows, _)| rows),
            None => self.share * self.fewest,
            Some((rows, domain)) => rows / domain * self.share * self.fewest.min(domain),
        }
    }
}

impl Uses {
    pub(super) fn plus(self, other: Uses) -> Uses {
        Uses {
            as_predicate: self.as_predicate + other.as_predicate,
            in_others: self.in_others + other.in_others,
            apart: self.apart.plus(other.apart),
        }
    }
}

impl Problem<'_> {
    /// The uses of a variable in one item.
    pub(super) fn uses(&self, variable: usize, item: usize) -> Uses {
        let variable = &self.variables[variable];
        Uses {
            as_predicate: usize::from(variable.predicate_of.binary_search(&item).is_ok()),
            in_others: usize::from(variable.other_of.binary_search(&item).is_ok()),
            apart: variable.apart(item),
        }
    }
}

/// What is asked of a pattern's subject and its object; nothing of another source than the store.
pub(super) fn questions_of(
    pattern: &Pattern,
    ids: &[Option<VertexId>],
) -> [Option<DegreeQuestion>; 2] {
    if !pattern.source.is_store() {
        return [None, None];
    }
    let predicate = resolve(pattern.predicate, ids);
    let out = question_of(pattern.subject, Direction::Out, predicate, ids);
    let into = question_of(pattern.object, Direction::In, predicate, ids);
    [out, into]
}

/// What is asked of an end.
#[inline]
fn question_of(
    end: Node,
    direction: Direction,
    predicate: Resolved,
    ids: &[Option<VertexId>],
) -> Option<DegreeQuestion> {
    let predicate = match predicate {
        Resolved::Variable => None,
        Resolved::Known(vertex) => Some(vertex),
        Resolved::Absent => return None,
    };
    match resolve(end, ids) {
        Resolved::Known(vertex) => Some(DegreeQuestion {
            vertex,
            predicate,
            direction,
        }),
        _ => None,
    }
}

/// The degree questions of patterns, each once.
pub(super) fn questions<'p>(
    patterns: impl Iterator<Item = &'p Pattern>,
    ids: &[Option<VertexId>],
) -> Vec<DegreeQuestion> {
    /// Questions that are compared one by one; a set is for more.
    const FEW: usize = 16;
    let mut questions: Vec<DegreeQuestion> = Vec::new();
    let mut known: Option<HashSet<DegreeQuestion>> = None;
    let mut ask = |asked: DegreeQuestion| {
        let is_new = if questions.len() < FEW {
            !questions.contains(&asked)
        } else {
            let known = known.get_or_insert_with(|| questions.iter().copied().collect());
            known.insert(asked)
        };
        if is_new {
            questions.push(asked);
        }
    };
    for pattern in patterns.filter(|pattern| pattern.source.is_store()) {
        let predicate = resolve(pattern.predicate, ids);
        if let Some(asked) = question_of(pattern.subject, Direction::Out, predicate, ids) {
            ask(asked);
        }
        if let Some(asked) = question_of(pattern.object, Direction::In, predicate, ids) {
            ask(asked);
        }
    }
    questions
}

/// Share of rows that a filter lets pass: a guess by its kind.
pub(super) fn selectivity(filter: &Expression) -> f64 {
    use super::costs::selectivity::{EQUAL, OTHER, RANGE, STRING};
    use crate::expression::Comparison;
    use crate::function::Kind;
    match filter {
        Expression::Compare(Comparison::Equal, ..) | Expression::SameTerm(..) => EQUAL,
        Expression::Compare(Comparison::NotEqual, ..) => 1.0 - EQUAL,
        Expression::Compare(..) => RANGE,
        Expression::In(_, list) => (EQUAL * list.len() as f64).min(OTHER),
        Expression::Not(inner) => 1.0 - selectivity(inner),
        Expression::And(list) => list.iter().map(selectivity).product(),
        Expression::Or(list) => list.iter().map(selectivity).sum::<f64>().min(1.0),
        Expression::Bound(_) => 1.0,
        Expression::Call(function, _) if function.kind() == Kind::TextTest => STRING,
        Expression::Slot(_)
        | Expression::Constant(_)
        | Expression::Arithmetic(..)
        | Expression::Plus(_)
        | Expression::Minus(_)
        | Expression::If(..)
        | Expression::Coalesce(_)
        | Expression::Call(..) => OTHER,
    }
}
