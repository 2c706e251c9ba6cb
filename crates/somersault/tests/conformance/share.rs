//! How much of the suites' patterns a device did, and what ended its part of a plan.
//!
//! Counted from the documents of profiled plans: a step of a pattern is one that the device could have done, in whatever block
//! it stands; blocks are the processors', so their steps count as not done.

use serde_json::Value;
use somersault::Query;
use std::collections::BTreeMap;
use std::fmt;

/// Operators of patterns: those that look at edges, or compare what edges gave.
const OF_PATTERNS: [&str; 7] = [
    "all-predicates",
    "check",
    "expand",
    "expand-keys",
    "expand-predicates",
    "intersect",
    "same",
];

/// What a device did of the walks of a version's suites.
#[derive(Debug, Default)]
pub struct Share {
    /// Walks.
    walks: usize,
    /// Those that began on the device.
    begun: usize,
    /// Steps of patterns.
    steps: usize,
    /// Those on the device.
    on_device: usize,
    /// Why walks did not go on there, with how many did not.
    ends: BTreeMap<String, usize>,
}

impl Share {
    /// Takes note of a walk that was profiled.
    pub fn note(&mut self, query: &Query) -> Result<(), String> {
        let document: Value =
            serde_json::from_str(&query.plan_document()).map_err(|error| error.to_string())?;
        let before = self.on_device;
        self.note_steps(&document["steps"]);
        self.walks += 1;
        self.begun += usize::from(self.on_device > before);
        if let Some(words) = document["device"].as_str()
            && let Some(why) = why_of(words)
        {
            *self.ends.entry(why.to_owned()).or_default() += 1;
        }
        Ok(())
    }

    fn note_steps(&mut self, steps: &Value) {
        for step in steps.as_array().into_iter().flatten() {
            let operator = step["operator"].as_str().unwrap_or_default();
            if OF_PATTERNS.contains(&operator) {
                self.steps += 1;
                self.on_device += usize::from(step["on_device"] == true);
            }
            for branch in step["branches"].as_array().into_iter().flatten() {
                self.note_steps(branch);
            }
        }
    }

    /// Steps of patterns that were done on the device.
    pub fn on_device(&self) -> usize {
        self.on_device
    }
}

/// The reason in what a plan says of a device; `None`: it did all steps.
fn why_of(words: &str) -> Option<&str> {
    if let Some((_, why)) = words.split_once("of step ") {
        return Some(why.split_once(", ")?.1);
    }
    if let Some((_, why)) = words.split_once(" on the processors: ") {
        return Some(why);
    }
    words.strip_prefix("not asked: ")
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} of {} steps of patterns and {} of {} walks on the device; what ended its part: {:#?}",
            self.on_device, self.steps, self.begun, self.walks, self.ends
        )
    }
}
