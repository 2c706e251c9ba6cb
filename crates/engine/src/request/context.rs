//! What the parts of one request share: its entry, its time, its memory, and how it is planned.
//!
//! A request is entered in the list of running ones when its context is made, and is there until the last part of it
//! is gone. Queries and changes are planned by their context, so that every part keeps to the same limits.

use super::Request;
use super::degrees::degrees;
use super::plan_cache::Lookups;
use super::sampling::Timed;
use super::shared::Shared;
use super::walking::explained;
use crate::budget::Budget;
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::moment::statistics::ForeignStatistics;
use crate::parts::terms::ids_of;
use crate::parts::{AskedAt, Mode, PartNodes, Trace};
use crate::running::Entry;
use crate::stop::StopToken;
use explore::{Limits, MemoryBudget, Samples, WalkError};
use oxrdf::TermRef;
use query::plan::{ConstantId, Plan};
use query::planner::{PlanError, PlanOptions};
use query::statistics::DegreeQuestion;
use rdf::{Direction, VertexId};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of text that are read without being drawn on the budget.
const TEXT_BYTES_FREE: usize = 64 << 10;
/// Bytes that tokens, algebra, plan and constants take for a byte of text, together and at most: lists of
/// IRIs in `VALUES` and `IN` take some 20 (`tests/abuse.rs`, 2026-11-22).
const PARSED_FACTOR: u64 = 24;

/// What the parts of one request share: its place in the list of running ones, its deadline, its
/// memory. A query has one part, an update as many as it has patterns.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) shared: Arc<Shared>,
    pub(crate) token: StopToken,
    pub(crate) budget: Arc<Budget>,
    pub(crate) entry: Arc<Entry>,
    pub(crate) threads: usize,
    /// How rows come to what they need, of a graph in parts; `None`: as the database has it.
    pub(crate) mode: Option<Mode>,
    /// Who is asked, of a graph in parts; `None`: as the database has it.
    pub(crate) asked: Option<AskedAt>,
    /// What it is part of, where it is followed.
    pub(crate) trace: Option<Box<Trace>>,
    forced: PlanOptions,
    statistics: Option<ForeignStatistics>,
    sample_from: Duration,
}

impl Context {
    /// Enters a request in the list of running ones; its time runs from now on.
    pub(crate) fn enter(shared: &Arc<Shared>, request: &Request<'_>) -> Context {
        let longest = shared.options.timeout;
        let timeout = request.timeout.map_or(longest, |asked| asked.min(longest));
        let token = shared.reader_token(timeout);
        Context::enter_for(shared, request, token.with_pace(request.pace.clone()))
    }

    /// As [`Context::enter`], for a change.
    pub(crate) fn enter_change(shared: &Arc<Shared>, request: &Request<'_>) -> Context {
        let longest = shared.options.update_timeout;
        let timeout = request.timeout.map_or(longest, |asked| asked.min(longest));
        Context::enter_for(shared, request, StopToken::starting_now(Some(timeout)))
    }

    fn enter_for(shared: &Arc<Shared>, request: &Request<'_>, token: StopToken) -> Context {
        let options = &shared.options;
        let entry = shared.running.enter(request.text, token.clone());
        let asked = request.memory_bytes.unwrap_or(options.query_memory_bytes);
        let limit = asked.min(options.query_memory_bytes);
        Context {
            shared: Arc::clone(shared),
            token,
            budget: Arc::new(Budget::new(&shared.pool, limit)),
            entry: Arc::new(entry),
            threads: request.threads.unwrap_or(options.query_threads),
            mode: request.execution,
            asked: request.asked,
            trace: request.trace.map(Box::new),
            forced: PlanOptions {
                keep_order: request.keep_order,
                keep_checks: request.keep_checks,
                keep_empty: request.keep_empty,
            },
            statistics: request.statistics.cloned(),
            sample_from: request.sample_from.unwrap_or(options.sample_from),
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
        query: &query::Query,
        constants: &[Option<VertexId>],
        effort: Effort,
    ) -> Result<(Plan, Duration), QueryError> {
        let degrees = self.degrees(graph, query.degree_questions(constants))?;
        let foreign = self.statistics.as_ref().map(ForeignStatistics::planner);
        let planner = foreign.unwrap_or(&graph.planner);
        let is_forced = self.forced != PlanOptions::DEFAULT || foreign.is_some();
        let is_here = graph.parts.is_none();
        if is_forced || !is_here || effort == Effort::Light || self.sample_from == Duration::MAX {
            let plan = planner.plan(query, constants, &degrees, self.forced);
            return Ok((plan.map_err(refused)?, Duration::ZERO));
        }
        let limits = self.limits();
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

    /// Answers the planner's questions about constants.
    pub(crate) fn degrees(
        &self,
        graph: &Graph,
        questions: impl IntoIterator<Item = DegreeQuestion>,
    ) -> Result<Vec<u64>, QueryError> {
        match &graph.parts {
            None => degrees(&graph.snapshot, &self.limits(), questions),
            Some(parts) => {
                let mut answers = Vec::new();
                for question in questions {
                    answers.extend(self.degree_in_parts(parts, question)?);
                }
                Ok(answers)
            }
        }
    }

    /// Answers one of them by who is asked; the owner looks into its part, which has all of it.
    fn degree_in_parts(
        &self,
        parts: &PartNodes,
        question: DegreeQuestion,
    ) -> Result<Vec<u64>, QueryError> {
        let ground = parts.nodes()[0].ground();
        let owner = parts.node(ground.placement().owner(question.vertex));
        let may_be_in_pieces = match question.predicate {
            None => question.direction == Direction::In,
            predicate => question.direction == Direction::In && predicate == ground.kind(),
        };
        if let Some(node) = owner.filter(|_| !may_be_in_pieces && parts.asks_owner(self.asked)) {
            return degrees(node.ground().part(), &self.limits(), [question]);
        }
        let visit = parts.visit_before(owner, self.asked, &self.budget);
        degrees(&visit.view(), &self.limits(), [question])
    }

    /// What a walk of the request may use.
    pub(crate) fn limits(&self) -> Limits<'_> {
        Limits {
            memory: &*self.budget,
            stop: &self.token,
        }
    }

    /// Time since the request was entered.
    pub(crate) fn elapsed(&self) -> Duration {
        self.token.elapsed()
    }
}

/// A request, and the graph that it looks things up in.
pub(crate) struct Looking<'c> {
    pub(crate) context: &'c Context,
    pub(crate) graph: &'c Graph,
}

impl Lookups for Looking<'_> {
    fn ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), QueryError> {
        let limits = self.context.limits();
        let whom = (self.context.asked, &self.context.budget);
        ids_of(self.graph, whom, &limits, terms, ids)
    }

    fn degrees(
        &self,
        questions: &mut dyn Iterator<Item = DegreeQuestion>,
    ) -> Result<Vec<u64>, QueryError> {
        self.context.degrees(self.graph, questions)
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

/// A plan with what it needs to be walked.
pub(crate) struct PlannedQuery {
    pub(crate) plan: Arc<Plan>,
    pub(crate) constants: Vec<Option<VertexId>>,
    /// The constants whose terms are not those of the plan.
    pub(crate) parameters: Arc<[ConstantId]>,
    pub(crate) prefixes: Arc<[(String, String)]>,
    /// How long samples were walked for the plan.
    pub(crate) samples: Duration,
}
