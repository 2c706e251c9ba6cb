//! A planned query: what it sees, its plan, and what it says of both.
//!
//! A query stands in the list of running ones until it is dropped, and sees one graph from its beginning to its
//! end. How it came to be is in [`crate::request`]; its walk is in `run`, and its answer in `output::answer`.

use crate::accelerator::DeviceReport;
use crate::error::QueryError;
use crate::moment::Graph;
use crate::parts::sections::Sections;
use crate::parts::terms::{Terms, ids_of};
use crate::request::context::{Context, Effort, PlannedQuery};
use crate::running::QueryId;
use crate::stop::StopToken;
use cluster::SectionOfNode;
use explore::StepProfile;
use oxrdf::Term;
use query::explain::Outline;
use query::plan::{ConstantId, Form, Plan};
use rdf::{TermBuffer, VertexId};
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// How long the parts of an answer took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// From text to algebra.
    pub parse: Duration,
    /// From algebra to plan, constants and their degrees looked up, samples walked.
    pub plan: Duration,
    /// Of that, walking samples.
    pub samples: Duration,
    /// From the plan to the answer's end, with what was waited for: for other nodes, for whoever takes the rows. None, where no run was profiled.
    pub answer: Duration,
}

impl Timings {
    /// Appends them as a line for people.
    pub(crate) fn write(&self, text: &mut String) {
        let Timings {
            parse,
            plan,
            samples,
            answer,
        } = self;
        let _ = write!(text, "parsed in {parse:.1?}, planned in {plan:.1?}");
        if !samples.is_zero() {
            let _ = write!(text, ", of which samples took {samples:.1?}");
        }
        if !answer.is_zero() {
            let _ = write!(
                text,
                "; answered in {answer:.1?}, all that was waited for with it"
            );
        }
        text.push('\n');
    }
}

/// What is known after a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answered {
    pub(crate) profile: Vec<StepProfile>,
    /// What became of it on the device, where there is one.
    pub(crate) device: Option<DeviceReport>,
    /// What each section did on each node, where it was profiled over parts.
    pub(crate) sections: Vec<SectionOfNode>,
}

impl Answered {
    /// Whether it began on the device, which tells the rows of its last step only.
    pub(crate) fn is_on_device(&self) -> bool {
        self.device
            .as_ref()
            .is_some_and(|device| !device.steps.is_empty())
    }
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
    /// Blank nodes of a `CONSTRUCT` are named by their solutions.
    pub(crate) names_by_solution: bool,
    pub(crate) answered: Option<Answered>,
    parameters: Arc<[ConstantId]>,
    /// When its slice of the calling thread's time is over, if it has no more than that.
    pub(crate) slice_end: Option<Instant>,
    /// What it probably did not mean; `None`: nothing.
    pub(crate) warnings: Option<Arc<[String]>>,
    pub(crate) timings: Timings,
    pub(crate) prefixes: Arc<[(String, String)]>,
}

impl Query {
    /// A query that is ready to be walked. `parse`: how long it took to read its text.
    pub(crate) fn new(
        context: Context,
        graph: Arc<Graph>,
        plan: PlannedQuery,
        parse: Duration,
    ) -> Query {
        assert_eq!(
            plan.constants.len(),
            plan.plan.constants.len(),
            "every constant of the plan is looked up"
        );
        let plan_time = context.elapsed().saturating_sub(parse);
        Query {
            context,
            graph,
            plan: plan.plan,
            constants: plan.constants,
            parameters: plan.parameters,
            prefixes: plan.prefixes,
            profiling: false,
            names_by_solution: false,
            answered: None,
            slice_end: None,
            warnings: None,
            timings: Timings {
                parse,
                plan: plan_time,
                samples: plan.samples,
                answer: Duration::ZERO,
            },
        }
    }

    /// Resolves what the text names in a graph, and plans with no more than this effort.
    pub(crate) fn plan_with(
        context: &Context,
        graph: Arc<Graph>,
        parsed: &query::Query,
        effort: Effort,
    ) -> Result<Query, QueryError> {
        let parse = context.elapsed();
        let mut constants = Vec::with_capacity(parsed.constants().len());
        let terms: Vec<_> = parsed.constants().iter().map(Term::as_ref).collect();
        let limits = context.limits();
        let whom = (context.asked, &context.budget);
        ids_of(&graph, whom, &limits, &terms, &mut constants)?;
        let (plan, samples) = context.planned(&graph, parsed, &constants, effort)?;
        let plan = PlannedQuery {
            plan: Arc::new(plan),
            constants,
            parameters: Arc::default(),
            prefixes: parsed.prefixes().into(),
            samples,
        };
        Ok(Query::new(context.clone(), graph, plan, parse))
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
        let mut text = self.outline().text(false);
        if let Some(sections) = self.sections() {
            sections.write(&mut text);
        }
        text
    }

    /// The node that owns the vertex that its plan starts from, where the graph is in parts and it starts from one.
    pub fn starts_at(&self) -> Option<u16> {
        let ground = self.graph.parts.as_ref()?.nodes()[0].ground();
        let start = cluster::start(&self.plan, &self.constants, ground.kind())?;
        Some(ground.placement().owner(start))
    }

    /// The sections of the plan, where the graph is in parts.
    pub(crate) fn sections(&self) -> Option<Sections> {
        let parts = self.graph.parts.as_ref()?;
        let mode = self.context.mode.unwrap_or(parts.mode());
        let plan = Arc::new(self.written_out().into_owned());
        let (ids, prefixes) = (&self.constants, &self.prefixes);
        let sections = Sections::of(parts, mode, (&plan, ids), prefixes);
        let answered = self.answered.as_ref();
        Some(sections.with(answered.map_or(&[], |answered| &answered.sections)))
    }

    /// The plan as values, with what each step did in a run that was profiled.
    pub(crate) fn outline(&self) -> Outline {
        let profile = self.profile();
        let mut outline = self
            .written_out()
            .outline(&self.prefixes, profile.as_deref());
        self.place(&mut outline);
        outline
    }

    /// Says which steps ran on the device, or what would become of them; nothing where there is none.
    fn place(&self, outline: &mut Outline) {
        let Some(accelerator) = &self.context.shared.options.accelerator else {
            return;
        };
        let Some(answered) = &self.answered else {
            if self.graph.parts.is_some() {
                // Nodes decide that, section by section.
                return;
            }
            let report = self.foreseen(accelerator);
            outline.device = report.words;
            if !report.steps.is_empty() {
                for (at, step) in outline.steps.iter_mut().enumerate() {
                    step.is_on_device = Some(report.steps.contains(&at));
                }
            }
            return;
        };
        let Some(report) = &answered.device else {
            return;
        };
        outline.device.clone_from(&report.words);
        if report.steps.is_empty() {
            return;
        }
        for (at, step) in outline.steps.iter_mut().enumerate() {
            step.is_on_device = Some(report.steps.contains(&at));
            if report.steps.contains(&at) && at + 1 < report.steps.end {
                step.found = None;
            }
        }
    }

    /// The plan with the terms of this query's own constants.
    fn written_out(&self) -> Cow<'_, Plan> {
        let mut plan = Cow::Borrowed(&*self.plan);
        for parameter in self.parameters.iter() {
            let at = parameter.0 as usize;
            let mut cells = TermBuffer::new();
            let id = self.constants[at].unwrap_or(VertexId::UNBOUND);
            // It was found there, so what fails is reading it, which the walk will say.
            let terms = Terms::of(&self.graph, &self.context.budget);
            if terms
                .terms(&self.context.limits(), &[id], &mut cells)
                .is_ok()
                && let Some(term) = cells.get(0)
            {
                plan.to_mut().constants[at] = term.into_owned();
            }
        }
        plan
    }

    /// The plan with what each step did in the last run.
    pub fn explain_profile(&self) -> String {
        if self.answered.is_none() {
            return self.explain();
        }
        let mut text = self.outline().text(true);
        if let Some(sections) = self.sections() {
            sections.write(&mut text);
        }
        self.timings.write(&mut text);
        text
    }

    /// How far the planner's estimate of each step's rows was off in the last run that was profiled, as
    /// a factor (see [`query::explain::q_error`]); empty before the first one. A device does not tell the rows between its
    /// steps, so one that began there has none either.
    pub fn q_errors(&self) -> Vec<f64> {
        match (&self.answered, self.profile()) {
            (Some(answered), Some(steps)) if !answered.is_on_device() => self.plan.q_errors(&steps),
            _ => Vec::new(),
        }
    }

    fn profile(&self) -> Option<Vec<query::explain::StepProfile>> {
        let steps = self.answered.as_ref()?.profile.iter();
        let step = |step: &StepProfile| query::explain::StepProfile {
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
