//! Random queries over the vocabulary of a dataset: plain ones ([`random_query`]: patterns, graphs and
//! filters) and wide ones ([`random_wide_query`]: the whole algebra), what is asked first of a graph
//! ([`random_summary`]); and random updates ([`random_update`]).
//!
//! Most patterns are found by walking the data: some quads that hang together (a star, a chain, a
//! cycle) are chosen and their terms replaced by variables, the same term by the same variable, so
//! the query has at least that answer until a filter or a mutation takes it away. Mutations put in
//! unknown terms, other constants and repeated variables; some patterns are made of variables
//! alone. Invariant: the same dataset and seed give the same text.
//!
//! Left out of plain queries: a filter that names the variable of the `GRAPH` it stands in. Left out of
//! all: the same graph named twice in a dataset clause, and functions that give something else each
//! time.

mod aggregate;
mod block;
mod expression;
mod filter;
mod path;
mod summary;
mod update;
mod wide;

use crate::random::Random;
use oxrdf::vocab::rdf;
use oxrdf::{Dataset, GraphName, Literal, NamedNode, Quad, Term};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What there is to ask about.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    quads: Vec<Quad>,
    graphs: Vec<NamedNode>,
    /// Graphs that are asked about by their own names alone.
    windows: Vec<NamedNode>,
    iris: Vec<NamedNode>,
    predicates: Vec<NamedNode>,
    literals: Vec<Literal>,
}

impl Vocabulary {
    /// The vocabulary of a dataset, sorted, so that it does not depend on hashing.
    pub fn of(dataset: &Dataset) -> Vocabulary {
        let mut quads: Vec<Quad> = dataset.iter().map(oxrdf::QuadRef::into_owned).collect();
        quads.sort_by_cached_key(ToString::to_string);
        let mut graphs = BTreeSet::new();
        let (mut iris, mut predicates) = (BTreeSet::new(), BTreeSet::new());
        let mut literals = BTreeMap::new();
        for quad in &quads {
            if let GraphName::NamedNode(graph) = &quad.graph_name {
                graphs.insert(graph.clone());
            }
            predicates.insert(quad.predicate.clone());
            for end in [Term::from(quad.subject.clone()), quad.object.clone()] {
                match end {
                    Term::NamedNode(iri) => drop(iris.insert(iri)),
                    Term::Literal(literal) => drop(literals.insert(literal.to_string(), literal)),
                    Term::BlankNode(_) | Term::Triple(_) => {}
                }
            }
        }
        iris.insert(rdf::TYPE.into_owned());
        Vocabulary {
            quads,
            graphs: graphs.into_iter().collect(),
            windows: Vec::new(),
            iris: iris.into_iter().collect(),
            predicates: predicates.into_iter().collect(),
            literals: literals.into_values().collect(),
        }
    }

    /// The same with some graphs as windows: no variable stands for one, no dataset clause names one, and most groups
    /// of a wide query lie in one.
    #[must_use]
    pub fn with_windows(self, windows: Vec<NamedNode>) -> Vocabulary {
        let mut graphs = self.graphs;
        graphs.retain(|graph| !windows.contains(graph));
        Vocabulary {
            graphs,
            windows,
            ..self
        }
    }
}

/// A random query over the vocabulary, which has at least one quad.
pub fn random_query(vocabulary: &Vocabulary, random: &mut Random) -> String {
    let clause = Clause::random(vocabulary, random);
    let mut writer = Writer::new(vocabulary, random);
    let default: Vec<&Quad> = clause.default_quads(vocabulary);
    let group = writer.group(&default, &clause, 0);
    let head = writer.head();
    let mut text = head.text;
    text.push_str(&clause.text());
    let _ = write!(text, " WHERE {{ {group} }}");
    if !head.is_ask {
        text.push_str(&writer.modifiers(&head.order_variables));
    }
    text
}

pub use summary::random_summary;
pub use update::random_update;
pub use wide::{QueryParts, random_wide_parts, random_wide_query};

/// A dataset clause, or none.
struct Clause {
    graphs: Option<(Vec<NamedNode>, Vec<NamedNode>)>,
}

impl Clause {
    fn random(vocabulary: &Vocabulary, random: &mut Random) -> Clause {
        if vocabulary.graphs.is_empty() || !random.chance(15) {
            return Clause { graphs: None };
        }
        let mut some = |most: usize| {
            let mut graphs = vocabulary.graphs.clone();
            if random.chance(15) {
                graphs.push(crate::random_graph::iri("unknown"));
            }
            random.shuffle(&mut graphs);
            graphs.truncate(random.between(0, most));
            graphs
        };
        let graphs = (some(3), some(3));
        let is_empty = graphs.0.is_empty() && graphs.1.is_empty();
        Clause {
            graphs: Some(graphs).filter(|_| !is_empty),
        }
    }

    fn text(&self) -> String {
        let Some((default, named)) = &self.graphs else {
            return String::new();
        };
        dataset_clause(default, named)
    }

    fn default_quads<'a>(&self, vocabulary: &'a Vocabulary) -> Vec<&'a Quad> {
        let is_in = |quad: &&Quad| match (&self.graphs, &quad.graph_name) {
            (None, name) => name.is_default_graph(),
            (Some((default, _)), GraphName::NamedNode(name)) => default.contains(name),
            _ => false,
        };
        vocabulary.quads.iter().filter(is_in).collect()
    }

    fn named_graphs<'a>(&'a self, vocabulary: &'a Vocabulary) -> &'a [NamedNode] {
        match &self.graphs {
            None => &vocabulary.graphs,
            Some((_, named)) => named,
        }
    }
}

/// The text of a dataset clause, a blank before each of its lines.
pub(crate) fn dataset_clause(from: &[NamedNode], from_named: &[NamedNode]) -> String {
    let mut text = String::new();
    for graph in from {
        let _ = write!(text, " FROM {graph}");
    }
    for graph in from_named {
        let _ = write!(text, " FROM NAMED {graph}");
    }
    text
}

/// The text up to the dataset clause.
struct Head {
    text: String,
    is_ask: bool,
    /// What may stand in `ORDER BY`.
    order_variables: Vec<String>,
}

/// Writes one query.
struct Writer<'a> {
    vocabulary: &'a Vocabulary,
    random: &'a mut Random,
    /// The variable that stands for a term.
    names: Vec<(Term, String)>,
    /// All variables so far, with their question marks.
    variables: Vec<String>,
    /// Variables of the `GRAPH`s around this place.
    graph_variables: Vec<String>,
    anonymous: usize,
    /// Names that `AS` has given.
    fresh: usize,
    /// How many more elements a wide query may have.
    budget: usize,
}

impl<'a> Writer<'a> {
    fn new(vocabulary: &'a Vocabulary, random: &'a mut Random) -> Writer<'a> {
        Writer {
            vocabulary,
            random,
            names: Vec::new(),
            variables: Vec::new(),
            graph_variables: Vec::new(),
            anonymous: 0,
            fresh: 0,
            budget: 0,
        }
    }

    /// What stands between the braces of a group.
    fn group(&mut self, quads: &[&Quad], clause: &Clause, depth: usize) -> String {
        let mut parts: Vec<String> = Vec::new();
        let kind = self.random.below(100);
        if !quads.is_empty() && kind < 88 {
            parts.push(self.block(quads));
        }
        if depth < 2 && (kind >= 70 || parts.is_empty()) {
            if kind.is_multiple_of(3) && !quads.is_empty() {
                let inner = self.group(quads, clause, depth + 1);
                parts.push(format!("{{ {inner} }}"));
            } else {
                parts.push(self.graph(clause, depth));
            }
        }
        let filters = *self.random.pick(&[0, 0, 0, 1, 1, 2]);
        for _ in 0..filters {
            parts.push(self.filter());
        }
        if self.random.chance(30) {
            self.random.shuffle(&mut parts);
        }
        parts.join(" ")
    }

    fn graph(&mut self, clause: &Clause, depth: usize) -> String {
        let graphs = clause.named_graphs(self.vocabulary);
        let graph = match graphs {
            [] => crate::random_graph::iri("unknown"),
            graphs if self.random.chance(95) => self.random.pick(graphs).clone(),
            _ => crate::random_graph::iri("unknown"),
        };
        let name = GraphName::from(graph.clone());
        let all = self.vocabulary.quads.iter();
        let quads: Vec<&Quad> = all.filter(|quad| quad.graph_name == name).collect();
        if self.random.chance(40) {
            let inner = self.group(&quads, clause, depth + 1);
            return format!("GRAPH {graph} {{ {inner} }}");
        }
        let variable = self.variable_of(&graph.into());
        self.graph_variables.push(variable.clone());
        let is_bare = self.random.chance(6);
        let inner = if is_bare {
            String::new()
        } else {
            self.group(&quads, clause, depth + 1)
        };
        self.graph_variables.pop();
        format!("GRAPH {variable} {{ {inner} }}")
    }

    fn head(&mut self) -> Head {
        let kind = self.random.below(100);
        let ask = Head {
            text: "ASK".to_owned(),
            is_ask: true,
            order_variables: Vec::new(),
        };
        if kind < 8 {
            return ask;
        }
        let select = |text: &str, order_variables| Head {
            text: text.to_owned(),
            is_ask: false,
            order_variables,
        };
        match kind {
            8..16 => return select("SELECT (COUNT(*) AS ?count)", Vec::new()),
            16..19 => return select("SELECT (COUNT(DISTINCT *) AS ?count)", Vec::new()),
            _ => {}
        }
        let (word, is_whole) = match self.random.below(100) {
            0..25 => ("DISTINCT ", false),
            25..32 => ("REDUCED ", true),
            _ => ("", true),
        };
        if self.variables.is_empty() || self.random.chance(30) {
            return select(&format!("SELECT {word}*"), self.variables.clone());
        }
        let mut projected = self.variables.clone();
        self.random.shuffle(&mut projected);
        projected.truncate(self.random.between(1, projected.len()));
        if self.random.chance(3) {
            projected.push("?nowhere".to_owned());
        }
        let text = format!("SELECT {word}{}", projected.join(" "));
        select(
            &text,
            if is_whole {
                self.variables.clone()
            } else {
                projected
            },
        )
    }

    fn modifiers(&mut self, order_variables: &[String]) -> String {
        let mut text = String::new();
        if !order_variables.is_empty() && self.random.chance(35) {
            text.push_str(" ORDER BY");
            for _ in 0..self.random.between(1, 3) {
                let _ = write!(text, " {}", self.order_key(order_variables));
            }
        }
        if self.random.chance(12) {
            let _ = write!(text, " OFFSET {}", self.random.below(12));
        }
        if self.random.chance(25) {
            let _ = write!(text, " LIMIT {}", self.random.below(25));
        }
        text
    }

    fn order_key(&mut self, variables: &[String]) -> String {
        let variable = self.random.pick(variables).clone();
        match self.random.below(10) {
            0..5 => variable,
            5..7 => format!("DESC({variable})"),
            7 => format!("STRLEN(STR({variable}))"),
            8 => format!("DESC(ABS({variable}))"),
            _ => format!("ASC(STR({variable}))"),
        }
    }

    /// The variable that stands for a term throughout the query.
    fn variable_of(&mut self, term: &Term) -> String {
        if let Some((_, name)) = self.names.iter().find(|(known, _)| known == term) {
            return name.clone();
        }
        let name = format!("?x{}", self.names.len());
        self.names.push((term.clone(), name.clone()));
        self.note(&name);
        name
    }

    fn note(&mut self, name: &str) {
        if !self.variables.iter().any(|known| known == name) {
            self.variables.push(name.to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
