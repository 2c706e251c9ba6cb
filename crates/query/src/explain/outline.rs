//! A plan as values, for programs: what [`Plan::explain`] prints, before it is laid out, and the layout.
//!
//! The layout knows nothing but the values, so a plan that came as a document is printed as one of this process.
//! Names of operators are [`Action::name`](crate::plan::Action::name); they and the fields are what a
//! reader may rely on, the texts are for people. O(plan).

use super::{PlanNames, Printer, StepProfile, factor, q_error, rows, time};
use crate::plan::{Plan, Step, Weight};
use std::borrow::Cow;
use std::fmt::Write;

/// A plan, step by step.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Whether it is expected to take long.
    pub is_heavy: bool,
    /// Nanoseconds that it is expected to take.
    pub nanos: f64,
    /// What is made of its rows, as text.
    pub form: String,
    /// What became of it on a device, or would, in words; `None`: there is none, or nothing is for it.
    pub device: Option<String>,
    /// Its steps, in the order in which they are taken.
    pub steps: Vec<OutlinedStep>,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct OutlinedStep {
    /// What it does: a word.
    pub operator: Cow<'static, str>,
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
    /// Whether a device did it; `None`: the plan was not walked, or not there.
    pub is_on_device: Option<bool>,
    /// What it did, where the plan was walked; none of steps within steps, nor of those that a device did without
    /// telling.
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
        let sources = &[];
        self.outline_named(PlanNames { prefixes, sources }, profile)
    }

    /// As [`Plan::outline`], with names for sources too.
    pub fn outline_named(&self, names: PlanNames<'_>, profile: Option<&[StepProfile]>) -> Outline {
        let printer = Printer { plan: self, names };
        let mut steps: Vec<OutlinedStep> =
            self.steps.iter().map(|it| printer.outlined(it)).collect();
        for (step, found) in steps.iter_mut().zip(profile.unwrap_or_default()) {
            step.found = Some(*found);
        }
        Outline {
            is_heavy: self.weight == Weight::Heavy,
            nanos: self.steps.iter().map(|step| step.estimate.cost_ns).sum(),
            form: printer.form().trim_end().to_owned(),
            device: None,
            steps,
        }
    }
}

impl Outline {
    /// The plan as text; `is_profiled`: with what each step did.
    pub fn text(&self, is_profiled: bool) -> String {
        let mut text = String::new();
        let weight = if self.is_heavy { "heavy" } else { "light" };
        let _ = write!(text, "{weight} plan, about {}", time(self.nanos));
        match sampled(&self.steps) {
            0 => text.push('\n'),
            sampled => {
                let _ = writeln!(text, "; expected rows of {sampled} steps from samples (~)");
            }
        }
        let _ = write!(text, "{:>14} {:>10}", "rows expected", "time");
        if is_profiled {
            let _ = write!(
                text,
                " {:>12} {:>8} {:>10}",
                "rows found", "q-error", "time"
            );
        }
        text.push_str("  step\n");
        for step in &self.steps {
            let found = is_profiled.then(|| step.figures());
            step.line(&found.unwrap_or_default(), &mut text);
            step.blocks(1, is_profiled, &mut text);
        }
        if let Some(device) = &self.device {
            let _ = writeln!(text, "device: {device}");
        }
        text.push_str(&self.form);
        text.push('\n');
        text
    }
}

/// Steps, those within steps too, whose rows were found by samples.
fn sampled(steps: &[OutlinedStep]) -> usize {
    let of_step = |step: &OutlinedStep| {
        let within = step.branches.iter().map(|branch| sampled(branch));
        within.sum::<usize>() + usize::from(step.is_sampled)
    };
    steps.iter().map(of_step).sum()
}

impl OutlinedStep {
    /// What it did, as columns.
    fn figures(&self) -> String {
        if self.is_on_device == Some(true) && self.found.is_none() {
            return format!(" {:>12} {:>8} {:>10}", "-", "-", "-");
        }
        let found = self.found.unwrap_or_default();
        let off = factor(q_error(self.rows, found.rows));
        let spent = time(found.nanos as f64);
        format!(" {:>12} {off:>8} {spent:>10}", found.rows)
    }

    /// One line without blocks; `figures`: what it did, as columns.
    fn line(&self, figures: &str, text: &mut String) {
        let expected = if self.is_sampled {
            format!("~{}", rows(self.rows))
        } else {
            rows(self.rows)
        };
        let _ = write!(text, "{expected:>14} {:>10}", time(self.nanos));
        let _ = write!(text, "{figures}  {}", self.text);
        if !self.keeps.is_empty() {
            let _ = write!(text, "   [{}]", self.keeps.join(" "));
        }
        if self.is_on_device == Some(true) {
            text.push_str("   (device)");
        }
        text.push('\n');
    }

    /// The steps within a step.
    fn blocks(&self, depth: usize, is_profiled: bool, text: &mut String) {
        for (number, block) in self.branches.iter().enumerate() {
            if self.branches.len() > 1 {
                let margin = if is_profiled { 60 } else { 27 };
                let indent = margin + 2 * depth - 2;
                let _ = writeln!(text, "{:indent$}branch {}", "", number + 1);
            }
            for step in block {
                let mut line = String::new();
                step.line("", &mut line);
                let (figures, step_text) = line.split_at(25.min(line.len()));
                let margin = if is_profiled { 33 } else { 0 } + 2 * depth;
                let _ = write!(text, "{figures}{:margin$}{step_text}", "");
                step.blocks(depth + 1, is_profiled, text);
            }
        }
    }
}

impl Printer<'_> {
    /// As deep as blocks are nested, which the parser bounds.
    fn outlined(&self, step: &Step) -> OutlinedStep {
        let block = |steps: &Vec<Step>| steps.iter().map(|step| self.outlined(step)).collect();
        OutlinedStep {
            operator: step.action.name().into(),
            text: self.action(&step.action),
            keeps: step.keep.iter().map(|slot| self.slot(*slot)).collect(),
            rows: step.estimate.rows,
            nanos: step.estimate.cost_ns,
            is_sampled: step.estimate.is_sampled,
            is_on_device: None,
            found: None,
            branches: step.action.blocks().iter().map(block).collect(),
        }
    }
}
