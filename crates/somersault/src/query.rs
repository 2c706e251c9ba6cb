//! A planned query: what it sees, its plan, and what it says of both.
//!
//! A query stands in the list of running ones until it is dropped, and sees one graph from its beginning to its
//! end. How it came to be is in [`crate::request`]; its walk is in `run`, and its answer in `answer`.

use crate::budget::Budget;
use crate::database::Database;
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::moment::statistics::ForeignStatistics;
pub use crate::request::Request;
use crate::request::degrees::degrees;
use crate::request::sampling::Timed;
use crate::request::walking::explained;
use crate::running::{Entry, QueryId};
use crate::stop::StopToken;
use ::query::plan::{ConstantId, Form, Plan};
use ::query::planner::{PlanError, PlanOptions};
use explore::{Limits, MemoryBudget, Samples, StepProfile, WalkError};
use oxrdf::Term;
use rdf::{Lexicon, TermBuffer, VertexId};
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of text that are read without being drawn on the budget.
const TEXT_BYTES_FREE: usize = 64 << 10;
/// Bytes that tokens, algebra, plan and constants take for a byte of text, together and at most: lists of
/// IRIs in `VALUES` and `IN` take some 20 (`tests/abuse.rs`, 2026-11-22).
const PARSED_FACTOR: u64 = 24;

/// What a query answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// `SELECT`: rows.
    Solutions,
    /// `ASK`.
    Boolean,
    /// `CONSTRUCT`, `DESCRIBE`: triples.
    Graph,
}

/// How long the parts before the walk took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// From text to algebra.
    pub parse: Duration,
    /// From algebra to plan, constants and their degrees looked up, samples walked.
    pub plan: Duration,
    /// Of that, walking samples.
    pub samples: Duration,
}

impl Timings {
    /// Appends them as a line for people.
    pub(crate) fn write(&self, text: &mut String) {
        let Timings {
            parse,
            plan,
            samples,
        } = self;
        let _ = write!(text, "parsed in {parse:.1?}, planned in {plan:.1?}");
        if !samples.is_zero() {
            let _ = write!(text, ", of which samples took {samples:.1?}");
        }
        text.push('\n');
    }
}

/// What is known after a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answered {
    pub(crate) profile: Vec<StepProfile>,
}

/// A planned query, entered in the list of running ones until it is dropped.
pub struct Query {
    pub(crate) context: Context,
    /// What it sees, from its beginning to its end.
    pub(crate) graph: Arc<Graph>,
    /// Its constants' terms are those of a placeholder for `parameters`.
    pub(crate) plan: Arc<Plan>,
    pub(crate) constants: Vec<Option<VertexId>>,
    pub(crate) profiling: bool,
    pub(crate) answered: Option<Answered>,
    parameters: Vec<ConstantId>,
    /// When its slice of the calling thread's time is over, if it has no more than that.
    pub(crate) slice_end: Option<Instant>,
    /// What it probably did not mean; `None`: nothing.
    pub(crate) warnings: Option<Arc<[String]>>,
    timings: Timings,
    pub(crate) prefixes: Arc<[(String, String)]>,
}

/// A plan with what it needs to be walked.
pub(crate) struct Planned {
    pub(crate) plan: Arc<Plan>,
    pub(crate) constants: Vec<Option<VertexId>>,
    /// The constants whose terms are not those of the plan.
    pub(crate) parameters: Vec<ConstantId>,
    pub(crate) prefixes: Arc<[(String, String)]>,
    /// How long samples were walked for the plan.
    pub(crate) samples: Duration,
}

impl Query {
    /// A query that is ready to be walked. `parse`: how long it took to read its text.
    pub(crate) fn new(
        context: &Context,
        graph: Arc<Graph>,
        plan: Planned,
        parse: Duration,
    ) -> Query {
        Query {
            context: context.clone(),
            graph,
            plan: plan.plan,
            constants: plan.constants,
            parameters: plan.parameters,
            prefixes: plan.prefixes,
            profiling: false,
            answered: None,
            slice_end: None,
            warnings: None,
            timings: Timings {
                parse,
                plan: context.elapsed().saturating_sub(parse),
                samples: plan.samples,
            },
        }
    }

    /// Resolves what the text names in a graph, and plans with no more than this effort.
    pub(crate) fn plan_with(
        context: &Context,
        graph: Arc<Graph>,
        parsed: &::query::Query,
        effort: Effort,
    ) -> Result<Query, QueryError> {
        let parse = context.elapsed();
        let mut constants = Vec::with_capacity(parsed.constants().len());
        let terms: Vec<_> = parsed.constants().iter().map(Term::as_ref).collect();
        graph
            .dictionary
            .ids(&terms, &mut constants)
            .map_err(QueryError::from)?;
        let (plan, samples) = context.planned(&graph, parsed, &constants, effort)?;
        let plan = Planned {
            plan: Arc::new(plan),
            constants,
            parameters: Vec::new(),
            prefixes: parsed.prefixes().into(),
            samples,
        };
        Ok(Query::new(context, graph, plan, parse))
    }

    /// What the query probably did not mean: names that the graph does not have, variables that nothing
    /// binds. A sentence each, for people.
    pub fn warnings(&self) -> &[String] {
        self.warnings.as_deref().unwrap_or_default()
    }

    /// Names the query in the list of running ones.
    pub fn id(&self) -> QueryId {
        self.context.entry.id()
    }

    /// Stops the query, from anywhere.
    pub fn token(&self) -> &StopToken {
        &self.context.token
    }

    /// The number of the snapshot that it sees.
    pub fn snapshot_number(&self) -> u64 {
        self.graph.snapshot.number()
    }

    /// What the answer is.
    pub fn kind(&self) -> AnswerKind {
        match self.plan.form {
            Form::Select(_) => AnswerKind::Solutions,
            Form::Ask => AnswerKind::Boolean,
            Form::Construct(_) | Form::Describe(_) => AnswerKind::Graph,
        }
    }

    /// The prefixes that the text declares, without colon, with their IRIs.
    pub fn prefixes(&self) -> &[(String, String)] {
        &self.prefixes
    }

    /// The projected variables, in order.
    pub fn variables(&self) -> Vec<String> {
        match &self.plan.form {
            Form::Select(slots) => slots
                .iter()
                .map(|slot| self.plan.variables[usize::from(slot.0)].clone())
                .collect(),
            Form::Ask | Form::Construct(_) | Form::Describe(_) => Vec::new(),
        }
    }

    /// How long parsing and planning took.
    pub fn timings(&self) -> Timings {
        self.timings
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The plan with its estimates, for people.
    pub fn explain(&self) -> String {
        self.written_out().explain_with(&self.prefixes, None)
    }

    /// The plan as values, with what each step did in a run that was profiled.
    pub(crate) fn outline(&self) -> ::query::explain::Outline {
        let profile = self.profile();
        self.written_out()
            .outline(&self.prefixes, profile.as_deref())
    }

    /// The plan with the terms of this query's own constants.
    fn written_out(&self) -> Cow<'_, Plan> {
        let mut plan = Cow::Borrowed(&*self.plan);
        for parameter in &self.parameters {
            let at = parameter.0 as usize;
            let mut cells = TermBuffer::new();
            let id = self.constants[at].unwrap_or(VertexId::UNBOUND);
            // It was found in this dictionary, so what fails is reading it, which the walk will say.
            if self.graph.dictionary.terms(&[id], &mut cells).is_ok()
                && let Some(term) = cells.get(0)
            {
                plan.to_mut().constants[at] = term.into_owned();
            }
        }
        plan
    }

    /// The plan with what each step did in the last run.
    pub fn explain_profile(&self) -> String {
        let Some(steps) = self.profile() else {
            return self.explain();
        };
        let mut text = self
            .written_out()
            .explain_with(&self.prefixes, Some(&steps));
        self.timings.write(&mut text);
        text
    }

    /// How far the planner's estimate of each step's rows was off in the last run that was profiled, as
    /// a factor (see [`query::explain::q_error`]); empty before the first one.
    pub fn q_errors(&self) -> Vec<f64> {
        self.profile()
            .map_or_else(Vec::new, |steps| self.plan.q_errors(&steps))
    }

    fn profile(&self) -> Option<Vec<::query::explain::StepProfile>> {
        let steps = self.answered.as_ref()?.profile.iter();
        let step = |step: &StepProfile| ::query::explain::StepProfile {
            rows: step.rows,
            nanos: step.nanoseconds,
        };
        Some(steps.map(step).collect())
    }

    /// Counts rows and time of each step from now on.
    pub fn enable_profile(&mut self) {
        self.profiling = true;
    }
}

/// What the parts of one request share: its place in the list of running ones, its deadline, its
/// memory. A query has one part, an update as many as it has patterns.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) database: Database,
    pub(crate) token: StopToken,
    pub(crate) budget: Arc<Budget>,
    pub(crate) entry: Arc<Entry>,
    pub(crate) threads: usize,
    keep_order: bool,
    statistics: Option<ForeignStatistics>,
    sample_from: Duration,
    pub(crate) keep_checks: bool,
}

impl Context {
    /// Enters a request in the list of running ones; its time runs from now on.
    pub(crate) fn enter(database: &Database, request: &Request<'_>) -> Context {
        let longest = database.options().timeout;
        let timeout = request.timeout.map_or(longest, |asked| asked.min(longest));
        let token = database.reader_token(timeout);
        Context::enter_for(database, request, token.with_pace(request.pace.clone()))
    }

    /// As [`Context::enter`], for a change.
    pub(crate) fn enter_change(database: &Database, request: &Request<'_>) -> Context {
        let longest = database.options().update_timeout;
        let timeout = request.timeout.map_or(longest, |asked| asked.min(longest));
        Context::enter_for(database, request, StopToken::starting_now(Some(timeout)))
    }

    fn enter_for(database: &Database, request: &Request<'_>, token: StopToken) -> Context {
        let options = database.options();
        let entry = database.running().enter(request.text, token.clone());
        let asked = request.memory_bytes.unwrap_or(options.query_memory_bytes);
        let limit = asked.min(options.query_memory_bytes);
        Context {
            database: database.clone(),
            token,
            budget: Arc::new(Budget::new(database.pool(), limit)),
            entry: Arc::new(entry),
            threads: request.threads.unwrap_or(options.query_threads),
            keep_order: request.keep_order,
            statistics: request.statistics.cloned(),
            sample_from: request.sample_from.unwrap_or(options.sample_from),
            keep_checks: request.keep_checks,
        }
    }

    /// Draws on the budget what reading a long text and planning it take, before either begins. Most of
    /// it stays: the plan is there until the query has ended.
    pub(crate) fn draw_text(&self, request: &Request<'_>) -> Result<(), QueryError> {
        let terms = request
            .bindings
            .iter()
            .map(|(name, term)| name.len() + term.len());
        let len = request.text.len() + terms.sum::<usize>();
        if len > TEXT_BYTES_FREE {
            let bytes = len as u64 * PARSED_FACTOR;
            self.budget.try_reserve(bytes).map_err(WalkError::from)?;
        }
        Ok(())
    }

    /// Asks for degrees, plans, and has samples walked where the plan would be heavy. Says how long that
    /// took.
    pub(crate) fn planned(
        &self,
        graph: &Graph,
        query: &::query::Query,
        constants: &[Option<VertexId>],
        effort: Effort,
    ) -> Result<(Plan, Duration), QueryError> {
        let degrees = degrees(graph, query.degree_questions(constants))?;
        let foreign = self.statistics.as_ref().map(ForeignStatistics::planner);
        let planner = foreign.unwrap_or(&graph.planner);
        let is_forced = self.keep_order || foreign.is_some();
        if is_forced || effort == Effort::Light || self.sample_from == Duration::MAX {
            let options = PlanOptions {
                keep_order: self.keep_order,
            };
            let plan = planner.plan(query, constants, &degrees, options);
            return Ok((plan.map_err(refused)?, Duration::ZERO));
        }
        let limits = Limits {
            memory: &*self.budget,
            stop: &self.token,
        };
        let samples = Samples::new(&graph.snapshot, query.dataset(), constants, limits);
        let mut timed = Timed::new(samples);
        let from_ns = u64::try_from(self.sample_from.as_nanos()).unwrap_or(u64::MAX);
        let plan = planner.plan_with_samples(query, constants, &degrees, &mut timed, from_ns);
        let (samples, taken) = timed.into_parts();
        plan.map(|plan| (plan, taken))
            .map_err(|error| match samples.into_error() {
                Some(why) => explained(&self.token, why.into()),
                None => refused(error),
            })
    }

    /// Time since the request was entered.
    pub(crate) fn elapsed(&self) -> Duration {
        self.token.elapsed()
    }
}

fn refused(error: PlanError) -> QueryError {
    QueryError::new(Kind::Shape, error.to_string())
}

/// What may be done for a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// What takes microseconds: no samples.
    Light,
    /// Whatever pays.
    Any,
}
