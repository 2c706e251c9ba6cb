//! Queries over the whole algebra, composed at random: groups of a few elements, each a pattern, a
//! path, or an operator with groups inside, until a budget of elements is spent.
//!
//! Biased to where engines go wrong: the variables come from one small pool, so the same one is
//! bound by an `OPTIONAL` here, a pattern, `VALUES` with `UNDEF`, a sub-query or a `MINUS` there;
//! groups are shuffled, so that the order is not well designed; sub-queries hide variables that are
//! in use outside; slices stand on sorted sub-queries; filters look at what is bound elsewhere or
//! nowhere. What the grammar refuses (a name given twice) is thrown away and drawn anew, so
//! invariant: the same dataset and seed give the same text, and the text parses.

use super::{Clause, Vocabulary, Writer};
use crate::random::Random;
use oxrdf::{GraphName, NamedNode, Quad, Term};
use spargebra::SparqlParser;
use std::fmt::Write as _;

/// Elements of a query at most.
const ELEMENTS_MAX: usize = 9;
/// Depth of groups at most.
const DEPTH_MAX: usize = 3;

/// A query in the pieces between which dataset clauses and windows are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryParts {
    /// Up to the dataset clause.
    pub head: String,
    /// The graphs of `FROM`.
    pub from: Vec<NamedNode>,
    /// The graphs of `FROM NAMED`.
    pub from_named: Vec<NamedNode>,
    /// What stands after `WHERE`: a group in braces, then keys, order and slice.
    pub body: String,
}

impl QueryParts {
    /// The whole text.
    pub fn text(&self) -> String {
        let clause = super::dataset_clause(&self.from, &self.from_named);
        let QueryParts { head, body, .. } = self;
        format!("{head}{clause} WHERE {body}")
    }
}

/// A random query over the vocabulary, which has at least one quad.
pub fn random_wide_query(vocabulary: &Vocabulary, random: &mut Random) -> String {
    random_wide_parts(vocabulary, random).text()
}

/// The same in pieces.
pub fn random_wide_parts(vocabulary: &Vocabulary, random: &mut Random) -> QueryParts {
    loop {
        let clause = Clause::random(vocabulary, random);
        let mut writer = Writer::new(vocabulary, random);
        writer.budget = writer.random.between(2, ELEMENTS_MAX);
        let parts = writer.wide_query(clause);
        if SparqlParser::new().parse_query(&parts.text()).is_ok() {
            return parts;
        }
    }
}

impl Writer<'_> {
    fn wide_query(&mut self, whole_clause: Clause) -> QueryParts {
        let clause = &whole_clause;
        let quads: Vec<&Quad> = clause.default_quads(self.vocabulary);
        let group = self.inside(&quads, clause, 0);
        let mut order_variables = Vec::new();
        let kind = self.random.below(100);
        let (head, tail) = match kind {
            0..6 => ("ASK".to_owned(), String::new()),
            6..12 => (self.template(&quads), String::new()),
            12..15 => (format!("DESCRIBE {}", self.described()), String::new()),
            15..45 => {
                let grouped = self.grouped(&quads, clause, 1, true);
                let word = if self.random.chance(8) {
                    "DISTINCT "
                } else {
                    ""
                };
                (format!("SELECT {word}{}", grouped.head), grouped.tail)
            }
            45..55 => {
                let name = self.fresh_name();
                let value = self.computed(&quads, clause, 1);
                let other = self.variable();
                (format!("SELECT {other} ({value} AS {name})"), String::new())
            }
            _ => {
                let head = self.head();
                order_variables = head.order_variables;
                (head.text, String::new())
            }
        };
        let mut body = format!("{{ {group} }}{tail}");
        body.push_str(&self.modifiers(&order_variables));
        if self.random.chance(4) {
            body.push(' ');
            body.push_str(&self.table(&quads));
        }
        let (from, from_named) = whole_clause.graphs.unwrap_or_default();
        QueryParts {
            head,
            from,
            from_named,
            body,
        }
    }

    fn template(&mut self, quads: &[&Quad]) -> String {
        let predicate = crate::random_graph::iri("made");
        let (subject, object) = (self.variable(), self.variable());
        let mut text = format!("CONSTRUCT {{ {subject} {predicate} {object} .");
        if let (true, [first, ..]) = (self.random.chance(40), quads) {
            let _ = write!(text, " {} {} {subject} .", self.variable(), first.predicate);
        }
        text.push_str(" }");
        text
    }

    fn described(&mut self) -> String {
        let iri = self.random.pick(&self.vocabulary.iris).to_string();
        if self.random.chance(40) {
            return iri;
        }
        self.variable()
    }

    /// What stands between the braces of a group.
    pub(super) fn inside(&mut self, quads: &[&Quad], clause: &Clause, depth: usize) -> String {
        let mut parts: Vec<String> = Vec::new();
        let count = *self.random.pick(&[1, 1, 2, 2, 2, 3, 3, 4]);
        for index in 0..count {
            if index > 0 && self.budget == 0 {
                break;
            }
            self.budget = self.budget.saturating_sub(1);
            let is_windowed = depth < DEPTH_MAX && !self.vocabulary.windows.is_empty();
            let part = if is_windowed && self.random.chance(60 - 15 * depth) {
                self.window(clause, depth + 1)
            } else if index == 0 && self.random.chance(75) {
                self.small_block(quads)
            } else {
                self.element(quads, clause, depth)
            };
            parts.push(part);
        }
        if self.random.chance(15) {
            self.random.shuffle(&mut parts);
        }
        parts.join(" ")
    }

    fn element(&mut self, quads: &[&Quad], clause: &Clause, depth: usize) -> String {
        let deeper = depth + 1;
        if depth >= DEPTH_MAX || self.budget == 0 {
            return match self.random.below(4) {
                0 => self.path_pattern(quads),
                1 => self.table(quads),
                2 => format!("FILTER({})", self.condition(quads, clause, DEPTH_MAX)),
                _ => self.small_block(quads),
            };
        }
        match self.random.below(100) {
            0..10 => self.small_block(quads),
            10..20 => self.path_pattern(quads),
            20..38 => {
                let mut inner = self.inside(quads, clause, deeper);
                if self.random.chance(35) {
                    let _ = write!(inner, " FILTER({})", self.condition(quads, clause, deeper));
                }
                format!("OPTIONAL {{ {inner} }}")
            }
            38..48 => {
                let left = self.inside(quads, clause, deeper);
                let right = self.inside(quads, clause, deeper);
                format!("{{ {left} }} UNION {{ {right} }}")
            }
            48..55 => format!("MINUS {{ {} }}", self.inside(quads, clause, deeper)),
            55..68 => format!("FILTER({})", self.condition(quads, clause, deeper)),
            68..75 => {
                let value = self.computed(quads, clause, deeper);
                let name = self.fresh_name();
                self.note(&name);
                format!("BIND({value} AS {name})")
            }
            75..81 => self.table(quads),
            81..87 => self.wide_graph(clause, deeper),
            87..94 => format!("{{ {} }}", self.sub_query(quads, clause, deeper)),
            94..97 => {
                let inner = if self.random.chance(50) {
                    self.sub_query(quads, clause, deeper)
                } else {
                    self.inside(quads, clause, deeper)
                };
                format!("LATERAL {{ {inner} }}")
            }
            _ => format!("{{ {} }}", self.inside(quads, clause, deeper)),
        }
    }

    /// One or two triple patterns.
    fn small_block(&mut self, quads: &[&Quad]) -> String {
        if quads.is_empty() || self.random.chance(8) {
            let names = ["?a", "?b", "?c"];
            let (subject, object) = (*self.random.pick(&names), *self.random.pick(&names));
            self.note(subject);
            self.note(object);
            let predicate = self.random.pick(&self.vocabulary.predicates);
            return format!("{subject} {predicate} {object} .");
        }
        let count = *self.random.pick(&[1, 1, 1, 2]);
        let chosen = self.walk(quads, count);
        let anonymous = self.anonymous_term(&chosen);
        let lines = chosen
            .iter()
            .map(|quad| self.wide_pattern(quad, anonymous.as_ref()));
        lines.collect::<Vec<_>>().join(" ")
    }

    /// A triple pattern; a triple term with its parts in the places of variables.
    fn wide_pattern(&mut self, quad: &Quad, anonymous: Option<&Term>) -> String {
        let Term::Triple(inner) = &quad.object else {
            return self.pattern(quad, anonymous);
        };
        let subject = self.place(&quad.subject.clone().into(), 80, None);
        let start = self.place(&inner.subject.clone().into(), 70, None);
        let predicate = self.place(&inner.predicate.clone().into(), 30, None);
        let end = self.place(&inner.object, 70, None);
        format!(
            "{subject} {} <<( {start} {predicate} {end} )>> .",
            quad.predicate
        )
    }

    /// `VALUES` over variables in use, with some cells left open.
    fn table(&mut self, quads: &[&Quad]) -> String {
        let mut names: Vec<String> = (0..self.random.between(1, 2))
            .map(|_| self.variable())
            .collect();
        names.dedup();
        for name in &names {
            self.note(name);
        }
        let mut rows = String::new();
        for _ in 0..self.random.between(0, 3) {
            let cells: Vec<String> = names.iter().map(|name| self.cell(name, quads)).collect();
            let _ = write!(rows, " ({})", cells.join(" "));
        }
        format!("VALUES ({}) {{{rows} }}", names.join(" "))
    }

    fn cell(&mut self, name: &str, quads: &[&Quad]) -> String {
        let known = self.names.iter().find(|(_, other)| other == name);
        let is_written = |term: &Term| term.is_named_node() || term.is_literal();
        match self.random.below(10) {
            0..3 => "UNDEF".to_owned(),
            3..7 => match known {
                Some((term, _)) if is_written(term) => term.to_string(),
                _ => self.constant(),
            },
            _ => match quads {
                [] => self.constant(),
                quads => {
                    let object = &self.random.pick(quads).object;
                    if is_written(object) {
                        object.to_string()
                    } else {
                        self.constant()
                    }
                }
            },
        }
    }

    fn wide_graph(&mut self, clause: &Clause, depth: usize) -> String {
        if !self.vocabulary.windows.is_empty() && self.random.chance(75) {
            return self.window(clause, depth);
        }
        let graphs = clause.named_graphs(self.vocabulary);
        let graph = match graphs {
            [] => crate::random_graph::iri("unknown"),
            graphs => self.random.pick(graphs).clone(),
        };
        let name = GraphName::from(graph.clone());
        let all = self.vocabulary.quads.iter();
        let quads: Vec<&Quad> = all.filter(|quad| quad.graph_name == name).collect();
        if self.random.chance(30) {
            return format!("GRAPH {graph} {{ {} }}", self.inside(&quads, clause, depth));
        }
        let variable = if self.random.chance(20) {
            self.variable()
        } else {
            self.variable_of(&graph.into())
        };
        self.note(&variable);
        format!(
            "GRAPH {variable} {{ {} }}",
            self.inside(&quads, clause, depth)
        )
    }

    /// A group within a window, by its name alone.
    fn window(&mut self, clause: &Clause, depth: usize) -> String {
        let vocabulary = self.vocabulary;
        let window = self.random.pick(&vocabulary.windows);
        let name = GraphName::from(window.clone());
        let all = vocabulary.quads.iter();
        let quads: Vec<&Quad> = all.filter(|quad| quad.graph_name == name).collect();
        format!(
            "GRAPH {window} {{ {} }}",
            self.inside(&quads, clause, depth)
        )
    }

    /// A sub-query: it projects some variables, groups, or takes the first rows of an order.
    fn sub_query(&mut self, quads: &[&Quad], clause: &Clause, depth: usize) -> String {
        let outside = self.variables.len();
        let group = self.inside(quads, clause, depth);
        if self.random.chance(40) {
            let grouped = self.grouped(quads, clause, depth, false);
            self.variables.truncate(outside);
            grouped.columns.iter().for_each(|column| self.note(column));
            return format!(
                "SELECT {} WHERE {{ {group} }}{}",
                grouped.head, grouped.tail
            );
        }
        let mut projected = self.variables.clone();
        self.random.shuffle(&mut projected);
        let most = projected.len().min(3);
        projected.truncate(self.random.between(1.min(most), most));
        self.variables.truncate(outside);
        for column in &projected {
            self.note(column);
        }
        let word = *self.random.pick(&["", "", "DISTINCT "]);
        let columns = if projected.is_empty() {
            "*".to_owned()
        } else {
            projected.join(" ")
        };
        let mut text = format!("SELECT {word}{columns} WHERE {{ {group} }}");
        if self.random.chance(35) && !projected.is_empty() {
            text.push_str(" ORDER BY");
            for column in &projected {
                let key = if self.random.chance(30) {
                    format!("DESC({column})")
                } else {
                    column.clone()
                };
                let _ = write!(text, " {key}");
            }
            let _ = write!(text, " LIMIT {}", self.random.between(1, 4));
            if self.random.chance(30) {
                let _ = write!(text, " OFFSET {}", self.random.between(1, 2));
            }
        }
        text
    }
}
