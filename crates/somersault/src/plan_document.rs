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
//! `found` is there after a run that was profiled, and of the outer steps; `spent` is seconds. O(plan).

use crate::query::Query;
use ::query::explain::{Outline, OutlinedStep, q_error};
use serde_json::{Value, json};

impl Query {
    /// The plan with its estimates, and after a run that was profiled with what each step did, as a JSON
    /// document.
    pub fn plan_document(&self) -> String {
        let Outline {
            is_heavy,
            nanos,
            form,
            steps,
        } = self.outline();
        let timings = self.timings();
        let document = json!({
            "weight": if is_heavy { "heavy" } else { "light" },
            "expected": { "nanoseconds": nanos },
            "form": form,
            "steps": steps.iter().map(step).collect::<Vec<Value>>(),
            "spent": {
                "parse": timings.parse.as_secs_f64(),
                "plan": timings.plan.as_secs_f64(),
                "samples": timings.samples.as_secs_f64(),
            },
            "snapshot": self.snapshot_number(),
            "warnings": self.warnings(),
        });
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
    if let Some(found) = step.found {
        value["found"] = json!({
            "rows": found.rows,
            "nanoseconds": found.nanos,
            "q_error": q_error(step.rows, found.rows),
        });
    }
    value
}
