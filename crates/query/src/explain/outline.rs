//! A plan as values, for programs: what [`Plan::explain`] prints, before it is laid out.
//!
//! Names of operators are those of [`Action`], in lower case with hyphens; they and the fields are what a
//! reader may rely on, the texts are for people. O(plan).

use super::{Printer, StepProfile};
use crate::plan::{Action, Plan, Step, Weight};

/// A plan, step by step.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Whether it is expected to take long.
    pub is_heavy: bool,
    /// Nanoseconds that it is expected to take.
    pub nanos: f64,
    /// What is made of its rows, as text.
    pub form: String,
    /// Its steps, in the order in which they are taken.
    pub steps: Vec<OutlinedStep>,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct OutlinedStep {
    /// What it does: a word.
    pub operator: &'static str,
    /// What it does, as text.
    pub text: String,
    /// Variables that it passes on, hidden ones included.
    pub keeps: Vec<String>,
    /// Rows that are expected to leave it.
    pub rows: f64,
    /// Nanoseconds that it is expected to take.
    pub nanos: f64,
    /// Whether the rows were told by samples of the graph.
    pub is_sampled: bool,
    /// What it did, where the plan was walked; none of steps within steps.
    pub found: Option<StepProfile>,
    /// The steps that it holds, branch by branch.
    pub branches: Vec<Vec<OutlinedStep>>,
}

impl Plan {
    /// The plan as values, with what each step did where a profile is given (in the order of the steps).
    /// IRIs are shortened by these prefixes (prefix without colon, IRI).
    pub fn outline(
        &self,
        prefixes: &[(String, String)],
        profile: Option<&[StepProfile]>,
    ) -> Outline {
        let printer = Printer {
            plan: self,
            prefixes,
        };
        let mut steps: Vec<OutlinedStep> =
            self.steps.iter().map(|it| printer.outlined(it)).collect();
        for (step, found) in steps.iter_mut().zip(profile.unwrap_or_default()) {
            step.found = Some(*found);
        }
        Outline {
            is_heavy: self.weight == Weight::Heavy,
            nanos: self.steps.iter().map(|step| step.estimate.cost_ns).sum(),
            form: printer.form().trim_end().to_owned(),
            steps,
        }
    }
}

impl Printer<'_> {
    /// As deep as blocks are nested, which the parser bounds.
    fn outlined(&self, step: &Step) -> OutlinedStep {
        let blocks = match &step.action {
            Action::Nested { branches, .. } => &branches[..],
            Action::Probe { table, .. } => std::slice::from_ref(table),
            _ => &[],
        };
        let block = |steps: &Vec<Step>| steps.iter().map(|step| self.outlined(step)).collect();
        OutlinedStep {
            operator: operator(&step.action),
            text: self.action(&step.action),
            keeps: step.keep.iter().map(|slot| self.slot(*slot)).collect(),
            rows: step.estimate.rows,
            nanos: step.estimate.cost_ns,
            is_sampled: step.estimate.is_sampled,
            found: None,
            branches: blocks.iter().map(block).collect(),
        }
    }
}

fn operator(action: &Action) -> &'static str {
    match action {
        Action::Expand { .. } => "expand",
        Action::ExpandKeys { .. } => "expand-keys",
        Action::ExpandPredicates { .. } => "expand-predicates",
        Action::AllPredicates { .. } => "all-predicates",
        Action::Never { .. } => "never",
        Action::AllGraphs { .. } => "all-graphs",
        Action::Check { .. } => "check",
        Action::Same { .. } => "same",
        Action::Filter(_) => "filter",
        Action::Distinct { .. } => "distinct",
        Action::Order { .. } => "order",
        Action::Nested { .. } => "nested",
        Action::Probe { .. } => "probe",
        Action::Unify { .. } => "unify",
        Action::Bind { .. } => "bind",
        Action::Values { .. } => "values",
        Action::Aggregate { .. } => "aggregate",
        Action::PathSeed { .. } => "path-seed",
        Action::PathExpand { .. } => "path-expand",
        Action::PathCheck { .. } => "path-check",
        Action::Unpack { .. } => "unpack",
        Action::Service { .. } => "service",
        Action::Sizes { .. } => "sizes",
        Action::Degree { .. } => "degree",
        Action::Slice { .. } => "slice",
        Action::Count { .. } => "count",
    }
}
