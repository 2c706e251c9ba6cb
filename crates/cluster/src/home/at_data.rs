//! What is done with rows where they are, before they meet where the query was asked.
//!
//! Rows meet at the first step that looks at rows together. Where they were found on several nodes, each node can do a part
//! of that step with its own rows, and sends what is left of them:
//!
//! | the step | each node | where they meet |
//! |---|---|---|
//! | `DISTINCT` | drops what it has seen | the same |
//! | `LIMIT n OFFSET m` | lets *m + n* pass, and ends its walk | the same |
//! | the first *k* of an order | its own first *k* | the same |
//! | `ASK` | lets one pass | the same |
//! | `DISTINCT`, then one of the two before | both | the same |
//! | aggregates | an aggregate by the same keys, of its own rows | aggregates of these |
//!
//! This is a rewriting of the plan alone: steps are put before that one, and where it aggregates it reads what they give. The
//! new steps belong to the section before it, so whoever has a share of that does its part. Every node rewrites the plan
//! that it is told, so nothing of it travels.

use crate::home::share::Share;
use crate::home::{Homes, Place, Section, gathers};
use query::expression::{Arithmetic, Expression};
use query::plan::{
    Action, Aggregate, AggregateFunction, Form, OrderKey, Plan, Slot, Step, VARIABLES_MAX,
};
use std::ops::Range;
use std::sync::Arc;

/// Expected rows from which on it is worth a message and its answer for each node that each gives its part, where that is
/// known only when all has come: so many rows of a few columns take a network no longer.
const GATHERED_ROWS_MIN: f64 = 256.0;

/// A plan and what of it is done at the data.
pub struct AtData {
    /// As it is walked.
    pub plan: Arc<Plan>,
    /// Steps that look at rows together and are done by each node for its own. May be empty.
    pub steps: Range<usize>,
    /// What the step that they are a part of became, where they are no more than that one done before.
    became: usize,
}

/// A number that two divisions of one plan share where they are the same, as far as rows and words about them go: which
/// steps, where, and which of them gather.
pub fn division(at_data: &AtData, sections: &[Section]) -> u64 {
    let place = |place: Place| match place {
        Place::Home(_) => 0,
        Place::Here => 1,
        Place::Together => 2,
    };
    let of_sections = sections.iter().flat_map(|section| {
        let Range { start, end } = section.steps;
        [
            start,
            end,
            place(section.place),
            usize::from(section.gathers),
        ]
    });
    let Range { start, end } = at_data.steps;
    let numbers = [at_data.plan.steps.len(), start, end, at_data.became];
    // FNV-1a, a number at a time.
    let add = |sum: u64, number: usize| (sum ^ number as u64).wrapping_mul(0x0100_0000_01b3);
    numbers
        .into_iter()
        .chain(of_sections)
        .fold(0xcbf2_9ce4_8422_2325, add)
}

/// A plan as it is walked over so many nodes, and its sections. `is_alone`: by the node that is asked alone
/// ([`Ground::walks_alone`](crate::Ground::walks_alone)).
pub fn divided(
    plan: &Arc<Plan>,
    homes: &Homes<'_>,
    nodes: u16,
    is_alone: bool,
) -> (AtData, Vec<Section>) {
    if is_alone {
        return (AtData::whole(plan), homes.undivided(Share::of_one(nodes)));
    }
    let at_data = at_data(plan, homes);
    let sections = Homes {
        plan: &at_data.plan,
        ..*homes
    }
    .sections(&at_data.steps);
    (at_data, sections)
}

impl AtData {
    fn whole(plan: &Arc<Plan>) -> AtData {
        AtData {
            plan: Arc::clone(plan),
            steps: 0..0,
            became: 0,
        }
    }

    /// The step, of the plan that was told, that one that is walked is a part of; the end of one likewise.
    pub fn told(&self, step: usize) -> usize {
        if step < self.steps.end + self.became {
            return step.min(self.steps.start);
        }
        step - self.steps.len() - self.became + usize::from(self.became > 0)
    }

    /// Whether the rows of one that is walked are those of the step that it is a part of.
    pub(crate) fn gives_rows(&self, step: usize) -> bool {
        !(self.steps.start..(self.steps.end + self.became.saturating_sub(1))).contains(&step)
    }
}

/// The plan with a part of its first step that looks at rows together done at the data, where that is right and saves
/// anything.
///
/// **Right.** A node has each row of the section before it, or another node has it: the rows are dealt out, and none is
/// twice. So it has to be a step whose rows follow from rows that were made of any such division:
///
/// * The first rows of all, in an order or in none, are among the first rows of each division, and so are those of what is
///   distinct. An order by what differs each time that it is asked (`RAND()`) is none.
/// * `COUNT`, `SUM`, `MIN`, `MAX`, `SAMPLE` of all are the sum, sum, least, greatest and any one of those of the divisions;
///   sums of integers and decimals are exact, those of floating-point numbers depend on an order that nobody promises.
///   `AVG` is a sum by a number of rows. An error among the values leaves a sum, an average, a minimum or a maximum unbound,
///   which is an error among the values where they meet; `COUNT` and `SAMPLE` skip both.
/// * What an aggregate with `DISTINCT` sees follows from the distinct rows of the columns that it reads, if equal rows have
///   equal values. So these columns are keys for the nodes, and the aggregate stays as it is. `MIN`, `MAX` and `SAMPLE`
///   need no `DISTINCT`.
/// * Without keys there is one group also of no rows, which only where they meet is right: a node without rows gives none.
/// * `GROUP_CONCAT` could be joined of what each has joined, but that is as many bytes, in one row that no message may hold.
///
/// What stands behind the step (`HAVING`, an order of groups) has the same rows as ever.
///
/// **Saves.** Only where rows were found elsewhere. What has to be told when its input has ended ([`gathers`]) costs each
/// node a message and its answer, unless its section is the first one: then rows have to be many.
pub(crate) fn at_data(plan: &Arc<Plan>, homes: &Homes<'_>) -> AtData {
    let whole = || AtData::whole(plan);
    let steps = &plan.steps;
    let is_global = |step: &Step| looks_together(&step.action);
    let cut = steps.iter().position(is_global).unwrap_or(steps.len());
    let places = || {
        let before = steps[..cut].iter();
        before.map(|step| homes.home(&step.action).0)
    };
    let is_spread = places().any(|place| matches!(place, Place::Home(_)));
    if !is_spread || places().any(|place| place == Place::Together) {
        return whole();
    }
    let Some((here, there)) = halves(plan, cut) else {
        return whole();
    };
    let mut split = Plan::clone(plan);
    let became = there.len();
    let at = cut..cut + here.len();
    let replaced = cut..(cut + usize::from(!there.is_empty()));
    split.steps.splice(replaced, there);
    split.steps.splice(cut..cut, here);
    let named = split.steps.iter().fold(0, |most, step| {
        let mut most = most;
        step.keep.iter().for_each(|slot| most = slot.0.max(most));
        step.action
            .for_each_write(&mut |slot| most = slot.0.max(most));
        most
    });
    while split.variables.len() <= usize::from(named) {
        split
            .variables
            .push(format!(".part{}", split.variables.len()));
    }
    let is_late = steps[..cut].last().is_some_and(|step| {
        homes.sections_before(cut) > 1 && step.estimate.rows < GATHERED_ROWS_MIN
    });
    if is_late && gathers(&split.steps[at.clone()]) {
        return whole();
    }
    AtData {
        plan: Arc::new(split),
        steps: at,
        became,
    }
}

fn looks_together(action: &Action) -> bool {
    matches!(
        action,
        Action::Distinct { .. }
            | Action::Order { .. }
            | Action::Slice { .. }
            | Action::Count { .. }
            | Action::Aggregate { .. }
    )
}

/// The steps that each node does before this one, and those that it becomes; none of these: it stays as it is.
fn halves(plan: &Plan, cut: usize) -> Option<(Vec<Step>, Vec<Step>)> {
    let live = &plan.steps[..cut].last()?.keep;
    let Some(step) = plan.steps.get(cut) else {
        let one = slice(1, live);
        return (plan.form == Form::Ask).then(|| (vec![one], Vec::new()));
    };
    let with = |action: Action, keep: &[Slot]| Step {
        action,
        keep: keep.to_vec(),
        estimate: step.estimate,
    };
    let first = match &step.action {
        Action::Distinct { columns } => {
            // All that are compared are needed where rows meet.
            let one_each = distinct(with, columns.clone(), live);
            let next = plan.steps.get(cut + 1);
            let few = next.and_then(|next| few(next, &one_each.keep));
            std::iter::once(one_each).chain(few).collect()
        }
        Action::Count {
            distinct: Some(columns),
            ..
        } => vec![distinct(with, columns.clone(), live)],
        Action::Count {
            distinct: None,
            into,
        } => {
            let mut names = Names::after(plan, 1)?;
            let part = names.next();
            let count = Action::Count {
                distinct: None,
                into: part,
            };
            let sum = Action::Aggregate {
                keys: Vec::new(),
                aggregates: vec![(of(AggregateFunction::Sum, part), *into)],
            };
            return Some((vec![with(count, &[part])], vec![with(sum, &step.keep)]));
        }
        Action::Aggregate { keys, aggregates } => {
            return aggregated(plan, (step, live), keys, aggregates);
        }
        _ => vec![few(step, live)?],
    };
    Some((first, Vec::new()))
}

/// The first rows of those with these columns, as far as a step wants no more.
fn few(step: &Step, live: &[Slot]) -> Option<Step> {
    match &step.action {
        Action::Slice {
            offset,
            limit: Some(limit),
        } => Some(slice(offset.saturating_add(*limit), live)),
        Action::Order {
            keys,
            limit: Some(limit),
        } if keys.is_empty() => Some(slice(*limit, live)),
        Action::Order {
            keys,
            limit: Some(_),
        } if !keys.iter().any(|key: &OrderKey| key.expression.gives_new()) => Some(Step {
            keep: live.to_vec(),
            ..step.clone()
        }),
        _ => None,
    }
}

fn slice(rows: u64, keep: &[Slot]) -> Step {
    Step {
        action: Action::Slice {
            offset: 0,
            limit: Some(rows),
        },
        keep: keep.to_vec(),
        estimate: query::plan::Estimate::default(),
    }
}

/// One of each of the rows of these columns that there are.
fn distinct(with: impl Fn(Action, &[Slot]) -> Step, mut columns: Vec<Slot>, live: &[Slot]) -> Step {
    columns.retain(|column| live.contains(column));
    columns.sort_unstable();
    columns.dedup();
    let keep = columns.clone();
    with(Action::Distinct { columns }, &keep)
}

/// An aggregate of a column.
fn of(function: AggregateFunction, column: Slot) -> Aggregate {
    Aggregate {
        function,
        argument: Some(Expression::Slot(column)),
        distinct: None,
    }
}

/// Hidden columns that a plan does not have yet.
struct Names(u16);

impl Names {
    /// So many at most; `None`: there are not so many left.
    fn after(plan: &Plan, most: usize) -> Option<Names> {
        let next = plan.variables.len();
        (next + most <= VARIABLES_MAX).then_some(Names(u16::try_from(next).ok()?))
    }

    fn next(&mut self) -> Slot {
        self.0 += 1;
        Slot(self.0 - 1)
    }
}

/// Aggregates in the making: what nodes compute, and what becomes of that.
struct Parts {
    names: Names,
    /// Columns by which nodes group.
    keys: Vec<Slot>,
    here: Vec<(Aggregate, Slot)>,
    /// How many rows a group has on a node, once somebody asks.
    rows: Option<Slot>,
    merged: Vec<(Aggregate, Slot)>,
    /// A sum and a number of rows, and the column of the average.
    averages: Vec<(Slot, Slot, Slot)>,
}

impl Parts {
    fn part(&mut self, aggregate: Aggregate) -> Slot {
        let into = self.names.next();
        self.here.push((aggregate, into));
        into
    }

    fn rows(&mut self) -> Slot {
        if let Some(rows) = self.rows {
            return rows;
        }
        let rows = self.part(Aggregate {
            function: AggregateFunction::Count,
            argument: None,
            distinct: None,
        });
        *self.rows.insert(rows)
    }

    fn merge(&mut self, function: AggregateFunction, part: Slot, into: Slot) {
        self.merged.push((of(function, part), into));
    }

    /// Divides an aggregate; `None`: it cannot be.
    fn divide(&mut self, aggregate: &Aggregate, into: Slot) -> Option<()> {
        use AggregateFunction::{Avg, Count, GroupConcat, Max, Min, Sample, Sum};
        let function = &aggregate.function;
        let alone = || Aggregate {
            distinct: None,
            ..aggregate.clone()
        };
        match function {
            GroupConcat(_) => return None,
            Min | Max | Sample => {
                let part = self.part(alone());
                self.merge(function.clone(), part, into);
            }
            _ if aggregate.distinct.is_some() => {
                let argument = aggregate.argument.as_ref();
                if argument.is_some_and(Expression::gives_new) {
                    return None;
                }
                aggregate.for_each_slot(&mut |slot| self.keys.push(slot));
                self.merged.push((aggregate.clone(), into));
            }
            Count if aggregate.argument.is_none() => {
                let part = self.rows();
                self.merge(Sum, part, into);
            }
            Count | Sum => {
                let part = self.part(alone());
                self.merge(Sum, part, into);
            }
            Avg => {
                let sum = self.part(Aggregate {
                    function: Sum,
                    ..alone()
                });
                let rows = self.rows();
                let (all, number) = (self.names.next(), self.names.next());
                self.merge(Sum, sum, all);
                self.merge(Sum, rows, number);
                self.averages.push((all, number, into));
            }
        }
        Some(())
    }
}

fn aggregated(
    plan: &Plan,
    (step, live): (&Step, &[Slot]),
    keys: &[Slot],
    aggregates: &[(Aggregate, Slot)],
) -> Option<(Vec<Step>, Vec<Step>)> {
    let with = |action: Action, keep: &[Slot]| Step {
        action,
        keep: keep.to_vec(),
        estimate: step.estimate,
    };
    let mut parts = Parts {
        names: Names::after(plan, 3 * aggregates.len() + 1)?,
        keys: keys.to_vec(),
        here: Vec::new(),
        rows: None,
        merged: Vec::new(),
        averages: Vec::new(),
    };
    let read = aggregates
        .iter()
        .filter(|(_, into)| step.keep.contains(into));
    for (aggregate, into) in read {
        parts.divide(aggregate, *into)?;
    }
    if parts.here.is_empty() {
        let only = distinct(with, parts.keys, live);
        return Some((vec![only], Vec::new()));
    }
    parts.keys.retain(|key| live.contains(key));
    parts.keys.sort_unstable();
    parts.keys.dedup();
    // Of no rows there is no group here.
    let some = parts.keys.is_empty().then(|| parts.rows());
    let mut keep = parts.keys.clone();
    keep.extend(parts.here.iter().map(|(_, into)| *into));
    keep.sort_unstable();
    let first = Action::Aggregate {
        keys: parts.keys,
        aggregates: parts.here,
    };
    let mut here = vec![with(first, &keep)];
    here.extend(some.map(|rows| with(Action::Filter(Expression::Slot(rows)), &keep)));
    let meeting = Action::Aggregate {
        keys: keys.to_vec(),
        aggregates: parts.merged,
    };
    Some((here, averaged(with, meeting, &step.keep, &parts.averages)))
}

/// The aggregates where rows meet, and the averages of their sums.
fn averaged(
    with: impl Fn(Action, &[Slot]) -> Step,
    meeting: Action,
    keep: &[Slot],
    averages: &[(Slot, Slot, Slot)],
) -> Vec<Step> {
    let kept = |done: usize| {
        let (made, left) = averages.split_at(done);
        let mut kept = keep.to_vec();
        kept.retain(|slot| !left.iter().any(|(.., into)| into == slot));
        kept.extend(left.iter().flat_map(|(sum, rows, _)| [*sum, *rows]));
        debug_assert!(made.iter().all(|(.., into)| kept.contains(into)));
        kept.sort_unstable();
        kept
    };
    let mut steps = vec![with(meeting, &kept(0))];
    for (done, &(sum, rows, into)) in averages.iter().enumerate() {
        let [sum, rows] = [sum, rows].map(|slot| Box::new(Expression::Slot(slot)));
        let average = Expression::Arithmetic(Arithmetic::Divide, sum, rows.clone());
        // Of no rows it is the integer 0, as their number is.
        let expression = Expression::If(rows.clone(), Box::new(average), rows);
        steps.push(with(Action::Bind { expression, into }, &kept(done + 1)));
    }
    steps
}
