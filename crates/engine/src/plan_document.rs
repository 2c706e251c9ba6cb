//! A plan as JSON: what `--explain` and `--profile` print, for programs.
//!
//! ```json
//! { "weight": "light", "expected": { "nanoseconds": 1200.0 }, "form": "...",
//!   "steps": [ { "operator": "expand", "step": "?x <-:p- :o", "keeps": ["?x"],
//!                "expected": { "rows": 35.0, "nanoseconds": 300.0, "sampled": false },
//!                "found": { "rows": 34, "nanoseconds": 900, "q_error": 1.03 },
//!                "branches": [] } ],
//!   "spent": { "parse": 0.00012, "plan": 0.00004, "samples": 0.0 }, "warnings": [] }
//! ```
//!
//! Over parts `parts` says how many nodes there are and lists the sections of the plan (`parts::sections`).
//!
//! Read back, it is printed as `--explain` and `--profile` print one of this process.
//!
//! `found` is there after a run that was profiled, and of the outer steps; `spent` is seconds. Where there is a device, `device` says in
//! words what became of the plan there, or would; after a run that began there each outer step has `on_device`, and of those
//! that are true only the last has `found`. O(plan).

use crate::parts::sections::Sections;
use crate::prepared::{Query, Timings};
use query::explain::{Outline, OutlinedStep, StepProfile, q_error};
use serde_json::{Value, json};
use std::time::Duration;

impl Query {
    /// The plan with its estimates, and after a run that was profiled with what each step did, as a JSON
    /// document.
    pub fn plan_document(&self) -> String {
        let Outline {
            is_heavy,
            nanos,
            form,
            device,
            steps,
        } = self.outline();
        let timings = self.timings();
        let mut document = json!({
            "weight": if is_heavy { "heavy" } else { "light" },
            "expected": { "nanoseconds": nanos },
            "form": form,
            "steps": steps.iter().map(step).collect::<Vec<Value>>(),
            "spent": {
                "parse": timings.parse.as_secs_f64(),
                "plan": timings.plan.as_secs_f64(),
                "samples": timings.samples.as_secs_f64(),
                "answer": timings.answer.as_secs_f64(),
            },
            "snapshot": self.snapshot_number(),
            "warnings": self.warnings(),
        });
        if let Some(device) = device {
            document["device"] = device.into();
        }
        if let Some(trace) = &self.context.trace {
            document["trace"] = trace.to_string().into();
        }
        if let Some(sections) = self.sections() {
            document["parts"] = sections.document();
        }
        document.to_string()
    }
}

/// As deep as blocks are nested, which the parser bounds.
fn step(step: &OutlinedStep) -> Value {
    let branch = |steps: &Vec<OutlinedStep>| steps.iter().map(self::step).collect::<Vec<Value>>();
    let mut value = json!({
        "operator": step.operator,
        "step": step.text,
        "keeps": step.keeps,
        "expected": {
            "rows": step.rows,
            "nanoseconds": step.nanos,
            "sampled": step.is_sampled,
        },
        "branches": step.branches.iter().map(branch).collect::<Vec<_>>(),
    });
    if let Some(is_on_device) = step.is_on_device {
        value["on_device"] = is_on_device.into();
    }
    if let Some(found) = step.found {
        value["found"] = json!({
            "rows": found.rows,
            "nanoseconds": found.nanos,
            "q_error": q_error(step.rows, found.rows),
        });
    }
    value
}

/// A plan that was read from its document.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanDocument {
    outline: Outline,
    sections: Option<Sections>,
    timings: Timings,
    /// What its query probably did not mean.
    pub warnings: Vec<String>,
}

impl PlanDocument {
    /// Reads a document; `None` where the text is none.
    pub fn read(text: &str) -> Option<PlanDocument> {
        let document: Value = serde_json::from_str(text).ok()?;
        let spent = |name: &str| {
            let seconds = document["spent"][name].as_f64().unwrap_or_default();
            Duration::try_from_secs_f64(seconds).unwrap_or_default()
        };
        Some(PlanDocument {
            outline: Outline {
                is_heavy: document.get("weight")?.as_str()? == "heavy",
                nanos: number(&document["expected"]["nanoseconds"]),
                form: document.get("form")?.as_str()?.to_owned(),
                device: document["device"].as_str().map(str::to_owned),
                steps: read_steps(document.get("steps")?)?,
            },
            sections: Sections::read(&document["parts"]),
            timings: Timings {
                parse: spent("parse"),
                plan: spent("plan"),
                samples: spent("samples"),
                answer: spent("answer"),
            },
            warnings: texts(&document["warnings"]),
        })
    }

    /// The plan with its estimates, for people.
    pub fn explain(&self) -> String {
        let mut text = self.outline.text(false);
        if let Some(sections) = &self.sections {
            sections.write(&mut text);
        }
        text
    }

    /// The plan with what each step did, for people.
    pub fn explain_profile(&self) -> String {
        let mut text = self.outline.text(true);
        if let Some(sections) = &self.sections {
            sections.write(&mut text);
        }
        self.timings.write(&mut text);
        text
    }
}

/// As deep as the document, which its reader bounds.
fn read_steps(steps: &Value) -> Option<Vec<OutlinedStep>> {
    let read = |step: &Value| {
        let expected = &step["expected"];
        let branches = step["branches"].as_array().into_iter().flatten();
        Some(OutlinedStep {
            operator: step.get("operator")?.as_str()?.to_owned().into(),
            text: step.get("step")?.as_str()?.to_owned(),
            keeps: texts(&step["keeps"]),
            rows: number(&expected["rows"]),
            nanos: number(&expected["nanoseconds"]),
            is_sampled: expected["sampled"].as_bool().unwrap_or(false),
            is_on_device: step["on_device"].as_bool(),
            found: step.get("found").map(|found| StepProfile {
                rows: found["rows"].as_u64().unwrap_or_default(),
                nanos: found["nanoseconds"].as_u64().unwrap_or_default(),
            }),
            branches: branches.map(read_steps).collect::<Option<_>>()?,
        })
    };
    steps.as_array()?.iter().map(read).collect()
}

/// A number; JSON has no other way to say that there is none.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::INFINITY)
}

fn texts(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten();
    texts
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}
