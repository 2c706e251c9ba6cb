//! A plan as text, for people: one line a step, with what the planner expects and, after a run, what
//! was found.
//!
//! ```text
//! light plan, about 1.2 us
//!   rows expected    time expected
//!              35           0.3 us   ?X <-ub:worksFor- <http://www.Department0.University0.edu>
//!              12           0.1 us   check ?X -rdf:type-> ub:FullProfessor          keep ?X
//! ```
//!
//! An arrow points along the edge, and the known end stands where the step starts from. A step that
//! holds blocks is followed by their steps, indented; a profile has figures for the outer steps. Pure
//! functions; costs time linear in the plan.

mod action;
mod outline;
mod sources;

use crate::expression::{Arithmetic, Comparison, Expression};
use crate::path::Path;
use crate::plan::{
    Aggregate, AggregateFunction, ConstantId, Form, Node, Plan, Scope, Slot, Source,
};
pub use outline::{Outline, OutlinedStep};
use oxrdf::vocab::xsd;
use oxrdf::{Literal, Term};
use rdf::Direction;

/// What a step did in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepProfile {
    /// Rows that left it.
    pub rows: u64,
    /// Nanoseconds spent in it, over all threads.
    pub nanos: u64,
}

/// How far an estimate of rows is off, as a factor, whichever is larger; 1 if it is right. Less than a row
/// counts as one (Moerkotte, Neumann and Steidl, "Preventing bad plans by bounding the impact of
/// cardinality estimation errors", PVLDB 2, 2009).
pub fn q_error(expected: f64, found: u64) -> f64 {
    let (expected, found) = (expected.max(1.0), (found as f64).max(1.0));
    (expected / found).max(found / expected)
}

/// What a plan is printed with: names that it does not hold itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanNames<'n> {
    /// Prefixes that shorten IRIs: without colon, each with its IRI.
    pub prefixes: &'n [(String, String)],
    /// What sources are called, each as it stands behind `in`: `sources[i]` is source `i + 1`. One that the list does not
    /// reach is called by its number; see [`StandingQuery::source_names`](crate::standing::StandingQuery::source_names).
    pub sources: &'n [String],
}

impl Plan {
    /// The [`q_error`] of each step of a run, in the order of the steps; those within steps are not
    /// counted.
    pub fn q_errors(&self, profile: &[StepProfile]) -> Vec<f64> {
        assert!(
            profile.len() <= self.steps.len(),
            "every step is one of the plan"
        );
        let steps = self.steps.iter().zip(profile);
        steps
            .map(|(step, found)| q_error(step.estimate.rows, found.rows))
            .collect()
    }

    /// A slot as plans are printed: `?x`.
    pub fn slot_text(&self, slot: Slot) -> String {
        let names = PlanNames::default();
        Printer { plan: self, names }.slot(slot)
    }

    /// A constant as plans are printed, IRIs shortened by these prefixes (prefix without colon, IRI).
    pub fn constant_text(&self, prefixes: &[(String, String)], constant: ConstantId) -> String {
        let names = PlanNames {
            prefixes,
            ..PlanNames::default()
        };
        Printer { plan: self, names }.constant(constant)
    }

    /// The plan with its estimates.
    pub fn explain(&self) -> String {
        self.explain_with(&[], None)
    }

    /// The plan with its estimates, IRIs shortened by these prefixes (prefix without colon, IRI), and
    /// with what each step did where a profile is given (in the order of the steps).
    pub fn explain_with(
        &self,
        prefixes: &[(String, String)],
        profile: Option<&[StepProfile]>,
    ) -> String {
        let sources = &[];
        self.explain_named(PlanNames { prefixes, sources }, profile)
    }

    /// As [`Plan::explain_with`], with names for sources too.
    pub fn explain_named(&self, names: PlanNames<'_>, profile: Option<&[StepProfile]>) -> String {
        self.outline_named(names, profile).text(profile.is_some())
    }
}

struct Printer<'p> {
    plan: &'p Plan,
    names: PlanNames<'p>,
}

impl Printer<'_> {
    fn form(&self) -> String {
        match &self.plan.form {
            Form::Ask => "ask\n".to_owned(),
            Form::Select(slots) if slots.is_empty() => "select\n".to_owned(),
            Form::Select(slots) => format!("select {}\n", self.slots(slots)),
            Form::Construct(template) => format!("construct {} triples\n", template.len()),
            Form::Describe(nodes) => {
                let names: Vec<String> = nodes.iter().map(|node| self.node(*node)).collect();
                format!("describe {}\n", names.join(" "))
            }
        }
    }

    fn aggregate(&self, aggregate: &Aggregate) -> String {
        let name = match &aggregate.function {
            AggregateFunction::Count => "COUNT",
            AggregateFunction::Sum => "SUM",
            AggregateFunction::Avg => "AVG",
            AggregateFunction::Min => "MIN",
            AggregateFunction::Max => "MAX",
            AggregateFunction::Sample => "SAMPLE",
            AggregateFunction::GroupConcat(_) => "GROUP_CONCAT",
        };
        let distinct = match aggregate.distinct {
            Some(_) => "DISTINCT ",
            None => "",
        };
        let argument = match (&aggregate.argument, &aggregate.distinct) {
            (Some(argument), _) => self.expression(argument),
            (None, Some(columns)) if !columns.is_empty() => self.slots(columns),
            (None, _) => "*".to_owned(),
        };
        format!("{name}({distinct}{argument})")
    }

    fn path_arrow(&self, path: &Path, direction: Direction) -> String {
        let path = self.path(path);
        match direction {
            Direction::Out => format!("-{path}->"),
            Direction::In => format!("<-{path}-"),
        }
    }

    /// A path as SPARQL writes it.
    fn path(&self, path: &Path) -> String {
        let list = |parts: &[Path], by: &str| {
            let parts: Vec<String> = parts.iter().map(|part| self.path(part)).collect();
            format!("({})", parts.join(by))
        };
        match path {
            Path::Predicate(predicate) => self.constant(*predicate),
            Path::Inverse(inner) => format!("^{}", self.path(inner)),
            Path::Sequence(parts) => list(parts, "/"),
            Path::Alternative(parts) => list(parts, "|"),
            Path::ZeroOrMore(inner) => format!("{}*", self.path(inner)),
            Path::OneOrMore(inner) => format!("{}+", self.path(inner)),
            Path::ZeroOrOne(inner) => format!("{}?", self.path(inner)),
            Path::Negated { forward, backward } => {
                let forward = forward.iter().flatten().map(|p| self.constant(*p));
                let backward = backward.iter().flatten();
                let backward = backward.map(|p| format!("^{}", self.constant(*p)));
                let excluded: Vec<String> = forward.chain(backward).collect();
                format!("!({})", excluded.join("|"))
            }
        }
    }

    fn arrow(&self, predicate: Node, direction: Direction) -> String {
        let predicate = self.node(predicate);
        match direction {
            Direction::Out => format!("-{predicate}->"),
            Direction::In => format!("<-{predicate}-"),
        }
    }

    /// Where a pattern is matched, as far as that is not the store's default graph.
    fn place(&self, scope: Scope, source: Source) -> String {
        let graph = match scope {
            Scope::Default => String::new(),
            Scope::Named(node) => format!(" in graph {}", self.node(node)),
            Scope::Bind(slot) => format!(" in each graph {}", self.slot(slot)),
        };
        graph + &self.in_source(source)
    }

    fn node(&self, node: Node) -> String {
        match node {
            Node::Slot(slot) => self.slot(slot),
            Node::Constant(constant) => self.constant(constant),
        }
    }

    fn slot(&self, slot: Slot) -> String {
        match self.plan.variables.get(slot.0 as usize) {
            Some(name) => format!("?{name}"),
            None => format!("?.{}", slot.0),
        }
    }

    fn slots(&self, slots: &[Slot]) -> String {
        let names: Vec<String> = slots.iter().map(|slot| self.slot(*slot)).collect();
        names.join(" ")
    }

    fn constant(&self, constant: ConstantId) -> String {
        const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
        match self.plan.constants.get(constant.0 as usize) {
            Some(Term::NamedNode(node)) if node.as_str() == RDF_TYPE => "a".to_owned(),
            Some(Term::NamedNode(node)) => iri(self.names.prefixes, node.as_str()),
            Some(Term::Literal(literal)) if is_plain_value(literal) => literal.value().to_owned(),
            Some(term) => term.to_string(),
            None => format!("constant {}", constant.0),
        }
    }

    /// A source by its name, or by its number where it has none; nothing for the store.
    fn in_source(&self, source: Source) -> String {
        let Some(place) = usize::from(source.0).checked_sub(1) else {
            return String::new();
        };
        match self.names.sources.get(place) {
            Some(name) => format!(" in {name}"),
            None => format!(" in source {}", source.0),
        }
    }

    fn expression(&self, expression: &Expression) -> String {
        let list = |list: &[Expression], by: &str| {
            let parts: Vec<String> = list.iter().map(|e| self.expression(e)).collect();
            parts.join(by)
        };
        match expression {
            Expression::Slot(slot) => self.slot(*slot),
            Expression::Constant(constant) => self.constant(*constant),
            Expression::Bound(slot) => format!("BOUND({})", self.slot(*slot)),
            Expression::Or(parts) => format!("({})", list(parts, " || ")),
            Expression::And(parts) => format!("({})", list(parts, " && ")),
            Expression::Not(inner) => format!("!{}", self.expression(inner)),
            Expression::Compare(operator, a, b) => self.binary(comparison(*operator), a, b),
            Expression::SameTerm(a, b) => {
                format!("sameTerm({}, {})", self.expression(a), self.expression(b))
            }
            Expression::In(value, parts) => {
                format!("({} IN ({}))", self.expression(value), list(parts, ", "))
            }
            Expression::Arithmetic(operator, a, b) => self.binary(arithmetic(*operator), a, b),
            Expression::Plus(inner) => format!("+{}", self.expression(inner)),
            Expression::Minus(inner) => format!("-{}", self.expression(inner)),
            Expression::If(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|e| self.expression(e));
                format!("IF({a}, {b}, {c})")
            }
            Expression::Coalesce(parts) if parts.is_empty() => "error".to_owned(),
            Expression::Coalesce(parts) => format!("COALESCE({})", list(parts, ", ")),
            Expression::Call(function, parts) => {
                let name = format!("{function:?}").to_uppercase();
                format!("{name}({})", list(parts, ", "))
            }
        }
    }

    fn binary(&self, operator: &str, a: &Expression, b: &Expression) -> String {
        format!("({} {operator} {})", self.expression(a), self.expression(b))
    }
}

fn comparison(operator: Comparison) -> &'static str {
    match operator {
        Comparison::Equal => "=",
        Comparison::NotEqual => "!=",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

fn arithmetic(operator: Arithmetic) -> &'static str {
    match operator {
        Arithmetic::Add => "+",
        Arithmetic::Subtract => "-",
        Arithmetic::Multiply => "*",
        Arithmetic::Divide => "/",
    }
}

/// An IRI, by the longest prefix that leaves a plain local name.
fn iri(prefixes: &[(String, String)], iri: &str) -> String {
    let is_plain = |local: &str| {
        let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        local.chars().all(plain) && !local.starts_with('-')
    };
    let fitting = prefixes.iter().filter_map(|(prefix, start)| {
        let local = iri.strip_prefix(start.as_str())?;
        is_plain(local).then(|| (start.len(), format!("{prefix}:{local}")))
    });
    let best = fitting.max_by_key(|(length, _)| *length);
    best.map_or_else(|| format!("<{iri}>"), |(_, short)| short)
}

/// Whether SPARQL has a form without quotes for the literal.
fn is_plain_value(literal: &Literal) -> bool {
    let datatype = literal.datatype();
    [xsd::INTEGER, xsd::DECIMAL, xsd::DOUBLE, xsd::BOOLEAN].contains(&datatype)
}

/// Rows, rounded for reading.
fn rows(rows: f64) -> String {
    if rows >= 1e7 {
        format!("{rows:.2e}")
    } else if rows >= 10.0 || rows == 0.0 {
        format!("{rows:.0}")
    } else {
        format!("{rows:.1}")
    }
}

/// A factor, from 1.
fn factor(value: f64) -> String {
    if value >= 1e4 {
        format!("{value:.0e}")
    } else if value >= 10.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

/// A time, with a unit that people read.
pub fn time(nanos: f64) -> String {
    if nanos < 1e3 {
        format!("{nanos:.0} ns")
    } else if nanos < 1e6 {
        format!("{:.1} us", nanos / 1e3)
    } else if nanos < 1e9 {
        format!("{:.1} ms", nanos / 1e6)
    } else if nanos < 1e15 {
        format!("{:.1} s", nanos / 1e9)
    } else {
        "weeks".to_owned()
    }
}
