//! The sections of a plan over parts, for whoever looks inside: where each is walked, what its questions mean, how rows come to it.
//!
//! ```text
//! over 4 nodes, dynamic
//!   section  steps   walked                    questions  rows
//!         1  1-2     on every node             keys       begin there
//!         2  3       by the owner of ?y        members    shipped there, or kept and fetched for, chunk by chunk
//!         3  -       where the query is asked  members    shipped there
//! ```
//!
//! [`Homes`] says all of it, as it does for the walk. In a document:
//!
//! ```json
//! { "nodes": 4, "execution": "dynamic",
//!   "sections": [ { "steps": [0, 2], "walked": "on every node", "questions": "keys", "rows": "begin there" } ] }
//! ```
//!
//! After a run that was profiled each section has `nodes`, too: what it did on each of them (`found`).
//!
//! `steps` are places in the plan's list, the second one excluded; the last section may have none. `questions` is
//! [`Share`]'s word. Read back, it is printed as it is here. O(plan).

use super::found::Found;
use super::{Mode, PartNodes};
use cluster::home::at_data::{AtData, divided};
use cluster::home::{Home, Homes, Place, Section, Way};
use cluster::{SectionOfNode, Share};
use query::plan::{ConstantId, Plan};
use rdf::VertexId;
use serde_json::{Value, json};
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sections {
    nodes: u64,
    execution: String,
    lines: Vec<Line>,
}

/// A section in words.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    steps: Range<u64>,
    walked: String,
    questions: String,
    rows: String,
    found: Vec<Found>,
}

/// What names are told by.
struct Words<'p> {
    parts: &'p PartNodes,
    plan: &'p Plan,
    ids: &'p [Option<VertexId>],
    prefixes: &'p [(String, String)],
}

impl Sections {
    /// Those of a plan with the ids of its constants.
    pub(crate) fn of(
        parts: &PartNodes,
        mode: Mode,
        (plan, ids): (&Arc<Plan>, &[Option<VertexId>]),
        prefixes: &[(String, String)],
    ) -> Sections {
        let ground = parts.nodes()[0].ground();
        let nodes = ground.placement().nodes();
        let homes = Homes {
            plan,
            ids,
            kind: ground.kind(),
        };
        let is_alone = ground.walks_alone(mode, &homes);
        let (at_data, sections) = divided(plan, &homes, nodes, is_alone);
        let words = Words {
            parts,
            plan: &at_data.plan,
            ids,
            prefixes,
        };
        let line = |(at, section): (usize, &Section)| Line {
            steps: at_data.told(section.steps.start) as u64..at_data.told(section.steps.end) as u64,
            walked: words.walked(section.place, at == 0)
                + &begun(&at_data, section, plan.steps.len()),
            questions: questions(section.share).to_owned(),
            rows: match at {
                0 => "begin there".to_owned(),
                _ => Words::rows(section.way(mode, nodes)),
            },
            found: Vec::new(),
        };
        Sections {
            nodes: nodes.into(),
            execution: execution(mode).to_owned(),
            lines: sections.iter().enumerate().map(line).collect(),
        }
    }

    /// The same with what they did, by section.
    pub(crate) fn with(mut self, done: &[SectionOfNode]) -> Sections {
        for one in done {
            let line = self.lines.get_mut(one.section);
            line.expect("a section of the plan").found.push(one.into());
        }
        self
    }

    /// As a document.
    pub(crate) fn document(&self) -> Value {
        let section = |line: &Line| {
            let mut section = json!({
                "steps": [line.steps.start, line.steps.end],
                "walked": line.walked,
                "questions": line.questions,
                "rows": line.rows,
            });
            if !line.found.is_empty() {
                let nodes = line.found.iter().map(Found::document);
                section["nodes"] = nodes.collect::<Vec<_>>().into();
            }
            section
        };
        json!({
            "nodes": self.nodes,
            "execution": self.execution,
            "sections": self.lines.iter().map(section).collect::<Vec<_>>(),
        })
    }

    /// Reads a document; `None` where there is none.
    pub(crate) fn read(document: &Value) -> Option<Sections> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let line = |section: &Value| {
            let steps = section.get("steps")?;
            Some(Line {
                steps: steps.get(0)?.as_u64()?..steps.get(1)?.as_u64()?,
                walked: text(&section["walked"])?,
                questions: text(&section["questions"])?,
                rows: text(&section["rows"])?,
                found: section["nodes"]
                    .as_array()
                    .map_or_else(Vec::new, |nodes| nodes.iter().map(Found::read).collect()),
            })
        };
        let sections = document.get("sections")?.as_array()?;
        Some(Sections {
            nodes: document["nodes"].as_u64()?,
            execution: text(&document["execution"])?,
            lines: sections.iter().map(line).collect::<Option<_>>()?,
        })
    }

    /// Appends them as lines for people.
    pub(crate) fn write(&self, text: &mut String) {
        let plural = if self.nodes == 1 { "" } else { "s" };
        let _ = writeln!(text, "over {} node{plural}, {}", self.nodes, self.execution);
        let walked = self.lines.iter().map(|line| line.walked.chars().count());
        let width = walked.max().unwrap_or(0).max("walked".len());
        let _ = writeln!(
            text,
            "  section  steps   {:width$}  questions  rows",
            "walked"
        );
        for (number, line) in (1..).zip(&self.lines) {
            let Line {
                walked,
                questions,
                rows,
                ..
            } = line;
            let steps = line.steps();
            let _ = writeln!(
                text,
                "  {number:>7}  {steps:<6}  {walked:width$}  {questions:<9}  {rows}"
            );
        }
        if self.lines.iter().any(|line| !line.found.is_empty()) {
            Found::head(text);
            for (number, line) in (1..).zip(&self.lines) {
                line.found
                    .iter()
                    .for_each(|found| found.write(number, text));
            }
        }
    }
}

impl Line {
    /// Its steps as people count them.
    fn steps(&self) -> String {
        match self.steps.end.saturating_sub(self.steps.start) {
            0 => "-".to_owned(),
            1 => self.steps.end.to_string(),
            _ => format!("{}-{}", self.steps.start + 1, self.steps.end),
        }
    }
}

impl Words<'_> {
    fn walked(&self, place: Place, is_first: bool) -> String {
        match place {
            Place::Home(Home::All) => "on every node".to_owned(),
            Place::Home(Home::Column(slot)) => {
                format!("by the owner of {}", self.plan.slot_text(slot))
            }
            Place::Home(Home::Vertex(vertex)) => {
                let node = self.parts.nodes()[0].ground().placement().owner(vertex);
                format!("by node {node}, the owner of {}", self.vertex(vertex))
            }
            Place::Here if !is_first => "where the row is".to_owned(),
            Place::Here | Place::Together => "where the query is asked".to_owned(),
        }
    }

    /// A vertex by the constant that it is in the plan.
    fn vertex(&self, vertex: VertexId) -> String {
        let place = self.ids.iter().position(|id| *id == Some(vertex));
        let constant = place.and_then(|place| u32::try_from(place).ok());
        let text = |place| self.plan.constant_text(self.prefixes, ConstantId(place));
        constant.map_or_else(|| format!("{vertex:?}"), text)
    }

    fn rows(way: Way) -> String {
        match way {
            Way::Stays => "stay",
            Way::Meets | Way::ToOwner(_) | Way::ToOwners(_) => "shipped there",
            Way::Fetches => "stay, and what they need is fetched",
            Way::Spreads => "shipped to every node",
            Way::Chosen(_) => {
                "shipped there, or stay and what they need is fetched: chunk by chunk"
            }
        }
        .to_owned()
    }
}

/// What a section does of a step that ends where rows meet.
fn begun(at_data: &AtData, section: &Section, steps: usize) -> String {
    let is_here = !at_data.steps.is_empty() && section.steps.contains(&at_data.steps.start);
    match at_data.told(at_data.steps.start) {
        _ if !is_here => String::new(),
        step if step < steps => format!(", with a part of step {}", step + 1),
        _ => ", one row each".to_owned(),
    }
}

fn questions(share: Share) -> &'static str {
    match share {
        Share::Whole => "whole",
        Share::Keys => "keys",
        Share::Members => "members",
    }
}

fn execution(mode: Mode) -> &'static str {
    match mode {
        Mode::InPlace => "in-place",
        Mode::ForkJoin => "fork-join",
        Mode::Dynamic => "dynamic",
    }
}
