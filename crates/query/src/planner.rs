//! The planner: a query and statistics in, a plan out. A pure function over values.
//!
//! ```text
//!  query ----------+                          +--> degree questions (asked before, in one batch)
//!  ids of constants+--> group --> stages --> join: problem --> order --> steps --> live --> plan
//!  degrees --------+      ^                            ^
//!  statistics --> index --+----------------------------+  (once per snapshot)
//!  of other sources ------+
//! ```
//!
//! * [`group`] lays nested groups into one pipeline where the algebra allows it, by what [`facts`]
//!   says of their variables, and cuts the pipeline into stages.
//! * [`join`] takes the join of one stage: [`problem`] sizes patterns, by what is [`known`] of constants and other
//!   sources, and estimates the rows of any choice of them; [`star`] does so at one variable and its [`demand`]s, from characteristic sets; [`rough`] sizes what
//!   is no pattern. [`access`] knows the ways to walk one pattern and what each costs; [`costs`] are
//!   the figures. [`order`] chooses the order of exploration, [`component`](order::component) by component; what would be heavy is
//!   ordered again by what samples find ([`refine`](order::refine), [`corrections`](order::corrections); the questions are [`crate::sampling`]'s).
//! * [`outer`] writes what keeps or extends rows (`OPTIONAL`, `MINUS`, `EXISTS`, `LATERAL`),
//!   [`modifiers`] what looks at all of them.
//! * [`summary`] writes counts of a pattern's matches as what the store knows of itself.
//! * [`live`] finds which columns live on.
//!
//! A wrong estimate costs time, never an answer. What signatures prove empty is walked all the same,
//! because statistics may be older than the snapshot, unless they are exact: then the plan says of which
//! snapshot (`Action::Never`), and only there nothing is walked.

mod access;
mod block;
mod costs;
mod demand;
pub(crate) mod facts;
mod group;
mod index;
mod intersect;
mod join;
mod known;
mod link;
mod live;
mod modifiers;
mod order;
mod outer;
mod problem;
mod rename;
mod rough;
mod star;
mod summary;
mod valid;

use crate::algebra::{Element, Group, Pattern, Query};
use crate::plan::{Action, Form, Plan, Slot, Step, TemplateTerm, Weight};
use crate::sampling::{Interrupted, Sampler};
use crate::slots::Slots;
use crate::statistics::{DegreeQuestion, SourceStatistics, Statistics, TableStatistics};
use block::{Block, Planning};
use index::Index;
use known::Known;
use order::refine::Sampling;
use problem::questions;
use rdf::VertexId;
use std::sync::Arc;

/// How to plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// Walk the patterns in the order of the text: a forced plan, for experiments and tests.
    pub keep_order: bool,
    /// Expand, then check, where an intersection would do both: to measure what it gains.
    pub keep_checks: bool,
    /// Walk what the signatures prove empty: to measure what the proof saves.
    pub keep_empty: bool,
}

impl PlanOptions {
    /// By cost.
    pub const DEFAULT: PlanOptions = PlanOptions {
        keep_order: false,
        keep_checks: false,
        keep_empty: false,
    };
}

impl Default for PlanOptions {
    fn default() -> PlanOptions {
        PlanOptions::DEFAULT
    }
}

/// Plans queries against the statistics of one snapshot. Made once per snapshot; shared by threads.
#[derive(Clone, Debug)]
pub struct Planner {
    index: Index,
}

impl Planner {
    /// Indexes the statistics. O(size of the statistics).
    pub fn new(statistics: Statistics) -> Planner {
        Planner {
            index: Index::new(statistics),
        }
    }

    /// The statistics.
    pub fn statistics(&self) -> &Statistics {
        &self.index.statistics
    }

    /// Plans a query. `ids` are those of [`Query::constants`], in order, `None` for a term that is
    /// stored nowhere; `degrees` the answers to [`Query::degree_questions`], in order (a missing one
    /// is taken as unknown). Up to 12 connected patterns are ordered exhaustively; 1,000 take
    /// milliseconds.
    pub fn plan(
        &self,
        query: &Query,
        ids: &[Option<VertexId>],
        degrees: &[u64],
        options: PlanOptions,
    ) -> Result<Plan, PlanError> {
        self.plan_over(query, ids, degrees, &[], options)
    }

    /// As [`Planner::plan`], for a query whose patterns are of several sources. `sources[i]` is what is known of source
    /// `i + 1`; of one that is `None`, or that the list does not reach, sizes are guessed. Nothing that the store's
    /// statistics prove holds for another source, and those of another source prove nothing at all.
    pub fn plan_over(
        &self,
        query: &Query,
        ids: &[Option<VertexId>],
        degrees: &[u64],
        sources: &[Option<Arc<SourceStatistics>>],
        options: PlanOptions,
    ) -> Result<Plan, PlanError> {
        self.plan_given(query, ids, degrees, sources, &[], options)
    }

    /// As [`Planner::plan_over`], for a query that is given tables: `tables[i]` is what is known of table `i`. Of one that
    /// the list does not reach, sizes are guessed.
    pub fn plan_given(
        &self,
        query: &Query,
        ids: &[Option<VertexId>],
        degrees: &[u64],
        sources: &[Option<Arc<SourceStatistics>>],
        tables: &[TableStatistics],
        options: PlanOptions,
    ) -> Result<Plan, PlanError> {
        let mut known = gather(query, ids, degrees, sources, options);
        known.tables = tables;
        let (plan, _) = self.planned(query, known, options.keep_order, None)?;
        Ok(plan)
    }

    /// As [`Planner::plan`], but a plan that statistics expect to cost at least `sample_from_ns`
    /// nanoseconds is made again by what samples find. The sampler is asked for a small share of the
    /// expected time; see [`crate::sampling`].
    pub fn plan_with_samples(
        &self,
        query: &Query,
        ids: &[Option<VertexId>],
        degrees: &[u64],
        sampler: &mut dyn Sampler,
        sample_from_ns: u64,
    ) -> Result<Plan, PlanError> {
        self.plan_over_with_samples(query, ids, degrees, &[], sampler, sample_from_ns)
    }

    /// As [`Planner::plan_with_samples`], for a query whose patterns are of several sources; see
    /// [`Planner::plan_over`]. Samples are taken of the store's patterns alone.
    pub fn plan_over_with_samples(
        &self,
        query: &Query,
        ids: &[Option<VertexId>],
        degrees: &[u64],
        sources: &[Option<Arc<SourceStatistics>>],
        sampler: &mut dyn Sampler,
        sample_from_ns: u64,
    ) -> Result<Plan, PlanError> {
        let known = || gather(query, ids, degrees, sources, PlanOptions::DEFAULT);
        let (plan, walked_ns) = self.planned(query, known(), false, None)?;
        if walked_ns < sample_from_ns as f64 {
            return Ok(plan);
        }
        let sampling = Sampling::new(sampler, sample_from_ns as f64, walked_ns);
        let (plan, _) = self.planned(query, known(), false, Some(sampling))?;
        Ok(plan)
    }

    /// The plan, and what its walk costs.
    fn planned<'p>(
        &'p self,
        query: &Query,
        known: Known<'p>,
        keep_order: bool,
        sampling: Option<Sampling<'p>>,
    ) -> Result<(Plan, f64), PlanError> {
        let mut planning = Planning {
            index: &self.index,
            known,
            keep_order,
            sampling,
            variables: query.variables.clone(),
            error: None,
        };
        let mut block = Block::whole();
        planning.pipeline(&mut block, query.body.elements.clone());
        assert!(block.waiting.is_empty(), "a filter has its place");
        if query.form == Form::Ask {
            one_row(&mut block);
        }
        if planning.sampling.is_some_and(|it| it.is_interrupted) {
            return Err(Interrupted.into());
        }
        if let Some(error) = planning.error {
            return Err(error);
        }
        let walked_ns = walked_ns(&block);
        let result = read_by(&query.form);
        live::keep_live(&mut block.steps, &result, &Slots::default());
        let plan = Plan {
            variables: planning.variables,
            constants: query.constants.clone(),
            dataset: query.dataset.clone(),
            base: query.base.clone(),
            steps: block.steps,
            form: query.form.clone(),
            weight: weight(walked_ns),
        };
        if cfg!(debug_assertions) {
            valid::assert_valid(&plan);
        }
        Ok((plan, walked_ns))
    }
}

/// What is known before a query is planned: `degrees` answer its questions, in order.
fn gather<'k>(
    query: &Query,
    ids: &'k [Option<VertexId>],
    degrees: &[u64],
    sources: &'k [Option<Arc<SourceStatistics>>],
    options: PlanOptions,
) -> Known<'k> {
    let asked = query.degree_questions(ids);
    assert!(degrees.len() <= asked.len(), "an answer has its question");
    let answers = asked.into_iter().zip(degrees);
    Known {
        ids,
        degrees: answers
            .map(|(asked, degree)| (asked, *degree as f64))
            .collect(),
        sources,
        tables: &[],
        keep_checks: options.keep_checks,
        keep_empty: options.keep_empty,
    }
}

/// Why a query has no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Numbers of slots end at 65,535.
    #[error("the query has too many variables: with those made for evaluation, more than 65,535")]
    TooManyVariables,
    /// The sampler said so; it knows why.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Plans a query against statistics that are not indexed yet; see [`Planner::plan`].
pub fn plan(
    query: &Query,
    ids: &[Option<VertexId>],
    statistics: &Statistics,
    degrees: &[u64],
    options: PlanOptions,
) -> Result<Plan, PlanError> {
    Planner::new(statistics.clone()).plan(query, ids, degrees, options)
}

impl Query {
    /// What the planner wants to know of the constants before it plans, each question once. `ids` as
    /// for [`Planner::plan`].
    pub fn degree_questions(&self, ids: &[Option<VertexId>]) -> Vec<DegreeQuestion> {
        questions(self.patterns().into_iter(), ids)
    }

    /// All triple patterns, wherever they stand, in the order of the text.
    pub fn patterns(&self) -> Vec<&Pattern> {
        let mut patterns = Vec::with_capacity(self.body.elements.len());
        patterns_of(&self.body, &mut patterns);
        patterns
    }
}

fn patterns_of<'q>(group: &'q Group, patterns: &mut Vec<&'q Pattern>) {
    for element in &group.elements {
        patterns_of_element(element, patterns);
    }
}

fn patterns_of_element<'q>(element: &'q Element, patterns: &mut Vec<&'q Pattern>) {
    match element {
        Element::Pattern(pattern) => patterns.push(pattern),
        Element::Join(group)
        | Element::Minus(group)
        | Element::Lateral(group)
        | Element::Exists { group, .. }
        | Element::Mark { group, .. } => patterns_of(group, patterns),
        Element::Union(groups) => groups.iter().for_each(|group| patterns_of(group, patterns)),
        Element::Optional { group, condition } => {
            patterns_of(group, patterns);
            for element in condition {
                patterns_of_element(element, patterns);
            }
        }
        _ => {}
    }
}

/// The columns that a form reads.
fn read_by(form: &Form) -> Slots {
    fn of_term(term: &TemplateTerm, slots: &mut Slots) {
        match term {
            TemplateTerm::Slot(slot) => {
                slots.insert(*slot);
            }
            TemplateTerm::Triple(parts) => parts.iter().for_each(|part| of_term(part, slots)),
            TemplateTerm::Constant(_) | TemplateTerm::Blank(_) => {}
        }
    }
    match form {
        Form::Select(slots) => slots.iter().copied().collect(),
        Form::Ask => Slots::default(),
        Form::Construct(template) => {
            let mut slots = Slots::default();
            let terms = template.iter().flatten();
            terms.for_each(|term| of_term(term, &mut slots));
            slots
        }
        Form::Describe(nodes) => {
            let nodes = nodes.iter().copied();
            nodes
                .filter_map(facts::slot_of)
                .collect::<Vec<Slot>>()
                .into_iter()
                .collect()
        }
    }
}

/// `ASK` needs no more than a row.
fn one_row(block: &mut Block) {
    if let Some(Step {
        action: Action::Slice { limit, .. },
        estimate,
        ..
    }) = block.steps.last_mut()
    {
        *limit = Some(limit.map_or(1, |limit| limit.min(1)));
        estimate.rows = estimate.rows.min(1.0);
        return;
    }
    modifiers::slice(block, 0, Some(1));
}

fn weight(walked_ns: f64) -> Weight {
    if walked_ns >= costs::HEAVY_NS {
        Weight::Heavy
    } else {
        Weight::Light
    }
}

/// What the walk costs. One that stops at its first rows costs its share, unless something has to see all
/// rows first.
fn walked_ns(block: &Block) -> f64 {
    let mut walked = block.cost();
    let looks_at_all = |step: &Step| {
        matches!(
            step.action,
            Action::Order { .. }
                | Action::Count { .. }
                | Action::Aggregate { .. }
                | Action::Slice { .. }
        )
    };
    if let Some((last, before)) = block.steps.split_last()
        && let Action::Slice {
            offset,
            limit: Some(limit),
        } = last.action
        && !before.iter().any(looks_at_all)
    {
        let all_rows = before.last().map_or(1.0, |step| step.estimate.rows);
        let needed = limit.saturating_add(offset) as f64;
        if needed < all_rows {
            let is_walk = |step: &&Step| !matches!(step.action, Action::Distinct { .. });
            let walk = before.iter().take_while(is_walk);
            walked = walk.map(|step| step.estimate.cost_ns).sum::<f64>() * needed / all_rows;
        }
    }
    walked
}
