//! Random updates: requests of some operations over the vocabulary of a dataset.
//!
//! Patterns are those of random queries; templates are quads of the data with the pattern's variables in
//! the place of their terms, so most of them delete what is there and insert what could be. Blank nodes
//! stand in templates and data, each label in one operation only. What a store may do as it likes (to
//! clear a graph that is not there without `SILENT`) is rare, but cannot be left out: an operation does
//! not know what those before it have left. Invariant: the same vocabulary and numbers give the same
//! text, and the parser accepts it.

use super::{Clause, Vocabulary, Writer};
use crate::random::Random;
use crate::random_graph::iri;
use oxrdf::{GraphName, NamedNode, Quad, Term};
use std::fmt::Write as _;

/// A random request over the vocabulary, which has at least one quad.
pub fn random_update(vocabulary: &Vocabulary, random: &mut Random) -> String {
    let mut text = String::new();
    let count = *random.pick(&[1, 1, 1, 2, 2, 3, 4]);
    for number in 0..count {
        if number > 0 {
            text.push_str(" ;\n");
        }
        text.push_str(&operation(vocabulary, random, number));
    }
    if random.chance(10) {
        text.push_str(" ;");
    }
    text
}

fn operation(vocabulary: &Vocabulary, random: &mut Random, number: usize) -> String {
    let mut writer = Writer::new(vocabulary, random);
    match writer.random.below(100) {
        0..14 => writer.insert_data(number),
        14..26 => writer.delete_data(),
        26..36 => writer.delete_where(),
        36..80 => writer.modification(),
        80..92 => writer.transfer(),
        _ => writer.management(),
    }
}

impl Writer<'_> {
    fn some_quads(&mut self, most: usize) -> Vec<Quad> {
        let count = self.random.between(1, most);
        let quads = &self.vocabulary.quads;
        let chosen = (0..count).map(|_| self.random.pick(quads).clone());
        chosen.collect()
    }

    /// A graph that is there, or at times one that is not.
    fn some_graph(&mut self) -> NamedNode {
        let graphs = &self.vocabulary.graphs;
        if graphs.is_empty() || self.random.chance(12) {
            let name = if self.random.chance(50) { "g7" } else { "new" };
            return iri(name);
        }
        self.random.pick(graphs).clone()
    }

    /// `{ ... }` of lines, each with its graph.
    fn quads(lines: &[(Option<String>, String)]) -> String {
        let mut text = String::from("{");
        for (graph, line) in lines {
            let _ = match graph {
                Some(graph) => write!(text, " GRAPH {graph} {{ {line} }}"),
                None => write!(text, " {line}"),
            };
        }
        text + " }"
    }

    fn insert_data(&mut self, number: usize) -> String {
        let mut lines = Vec::new();
        for quad in self.some_quads(5) {
            let mut part = |term: Term| match term {
                Term::BlankNode(_) | Term::Triple(_) => {
                    format!("_:d{number}x{}", self.random.below(3))
                }
                Term::NamedNode(_) if self.random.chance(5) => {
                    format!("_:d{number}x{}", self.random.below(3))
                }
                term => term.to_string(),
            };
            let subject = part(quad.subject.into());
            let object = part(quad.object);
            let graph = self.graph_of(&quad.graph_name, 30);
            let line = format!("{subject} {} {object} .", quad.predicate);
            lines.push((graph, line));
        }
        format!("INSERT DATA {}", Self::quads(&lines))
    }

    /// The graph of a quad, or another one in so many of a hundred cases.
    fn graph_of(&mut self, name: &GraphName, others: usize) -> Option<String> {
        if self.random.chance(others) {
            let graph = self.some_graph();
            return self.random.chance(60).then(|| graph.to_string());
        }
        match name {
            GraphName::NamedNode(graph) => Some(graph.to_string()),
            GraphName::BlankNode(_) | GraphName::DefaultGraph => None,
        }
    }

    fn delete_data(&mut self) -> String {
        let mut lines = Vec::new();
        for quad in self.some_quads(6) {
            let graph = self.graph_of(&quad.graph_name, 10);
            let ends = [Term::from(quad.subject), quad.object];
            if ends.iter().all(super::block::is_written) {
                let [subject, object] = ends;
                lines.push((graph, format!("{subject} {} {object} .", quad.predicate)));
            }
        }
        format!("DELETE DATA {}", Self::quads(&lines))
    }

    fn delete_where(&mut self) -> String {
        let all: Vec<&Quad> = self.vocabulary.quads.iter().collect();
        let count = *self.random.pick(&[1, 1, 2, 3]);
        let mut lines = Vec::new();
        for quad in self.walk(&all, count) {
            let graph = match &quad.graph_name {
                GraphName::DefaultGraph => None,
                name if self.random.chance(50) => {
                    let name = match name.clone() {
                        GraphName::NamedNode(name) => Term::from(name),
                        GraphName::BlankNode(name) => name.into(),
                        GraphName::DefaultGraph => continue,
                    };
                    Some(self.variable_of(&name))
                }
                name => self.graph_of(name, 0),
            };
            lines.push((graph, self.pattern(quad, None)));
        }
        format!("DELETE WHERE {}", Self::quads(&lines))
    }

    fn modification(&mut self) -> String {
        let vocabulary = self.vocabulary;
        let clause = Clause::random(vocabulary, self.random);
        let with = self.random.chance(25).then(|| self.some_graph());
        let in_with = |quad: &&Quad| match &with {
            Some(graph) => quad.graph_name == GraphName::from(graph.clone()),
            None => quad.graph_name.is_default_graph(),
        };
        let default: Vec<&Quad> = match clause.graphs {
            Some(_) => clause.default_quads(vocabulary),
            None => vocabulary.quads.iter().filter(in_with).collect(),
        };
        let group = self.group(&default, &clause, 0);
        let mut text = with.map_or_else(String::new, |graph| format!("WITH {graph} "));
        let kind = self.random.below(10);
        if kind < 7 {
            let _ = write!(text, "DELETE {} ", self.quad_templates(false));
        }
        if kind >= 4 {
            let _ = write!(text, "INSERT {} ", self.quad_templates(true));
        }
        // The text of the clause without its IRIs is FROM and NAMED.
        let using = clause.text().replace(" FROM", " USING");
        let _ = write!(
            text,
            "{}WHERE {{ {group} }}",
            using.trim_start().to_owned() + " "
        );
        text
    }

    /// Quads of the data with the variables so far in the place of their terms.
    fn quad_templates(&mut self, has_blanks: bool) -> String {
        let chosen = self.some_quads(3);
        let mut lines = Vec::new();
        for quad in chosen {
            let subject = self.template_part(&quad.subject.clone().into(), has_blanks, true);
            let predicate = match self.random.below(100) {
                0..12 => self.some_variable(),
                _ => quad.predicate.to_string(),
            };
            let object = self.template_part(&quad.object, has_blanks, false);
            let graph = if self.random.chance(12) {
                Some(self.some_variable())
            } else {
                self.graph_of(&quad.graph_name, 25)
            };
            let line = match self.random.below(100) {
                0..4 if has_blanks => {
                    format!("<< {subject} {predicate} {object} >> {predicate} 1 .")
                }
                4..7 => format!("{subject} {predicate} <<( {subject} {predicate} {object} )>> ."),
                _ => format!("{subject} {predicate} {object} ."),
            };
            lines.push((graph, line));
        }
        Self::quads(&lines)
    }

    fn template_part(&mut self, term: &Term, has_blanks: bool, is_subject: bool) -> String {
        match self.random.below(100) {
            0..8 if has_blanks => return format!("_:t{}", self.random.below(2)),
            8..10 if has_blanks => return "[]".to_owned(),
            10..60 => return self.some_variable(),
            _ => {}
        }
        let known = self.names.iter().find(|(known, _)| known == term);
        match (known, term) {
            (Some((_, name)), _) => name.clone(),
            (None, Term::NamedNode(iri)) => iri.to_string(),
            (None, Term::Literal(literal)) if !is_subject => literal.to_string(),
            _ => self.some_variable(),
        }
    }

    fn some_variable(&mut self) -> String {
        if self.variables.is_empty() || self.random.chance(2) {
            return "?nowhere".to_owned();
        }
        self.random.pick(&self.variables).clone()
    }

    fn transfer(&mut self) -> String {
        let verb = *self.random.pick(&["ADD", "COPY", "MOVE"]);
        let mut graph = |others: usize| {
            if self.random.chance(25) {
                return "DEFAULT".to_owned();
            }
            let graphs = &self.vocabulary.graphs;
            let graph = if graphs.is_empty() || self.random.chance(others) {
                self.some_graph()
            } else {
                self.random.pick(graphs).clone()
            };
            format!("GRAPH {graph}")
        };
        let (from, to) = (graph(0), graph(40));
        format!("{verb} {from} TO {to}")
    }

    fn management(&mut self) -> String {
        let verb = *self.random.pick(&["CLEAR", "DROP", "CREATE"]);
        let graph = format!("GRAPH {}", self.some_graph());
        let silent = if self.random.chance(80) {
            " SILENT"
        } else {
            ""
        };
        let target = match self.random.below(10) {
            _ if verb == "CREATE" => graph,
            0 => "ALL".to_owned(),
            1 | 2 => "NAMED".to_owned(),
            3 => "DEFAULT".to_owned(),
            _ => graph,
        };
        format!("{verb}{silent} {target}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::{NaiveError, update::updated_within};
    use crate::random_graph::{Shape, random_dataset};
    use spargebra::SparqlParser;
    use std::collections::BTreeMap;

    #[test]
    fn every_request_parses_and_most_change_something() {
        let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let shape = Shape::small(&mut random);
            let dataset = random_dataset(&shape, &mut random);
            let vocabulary = Vocabulary::of(&dataset);
            for _ in 0..20 {
                let before = random.clone();
                let text = random_update(&vocabulary, &mut random);
                assert_eq!(text, random_update(&vocabulary, &mut before.clone()));
                let parsed = SparqlParser::new().parse_update(&text);
                if let Err(error) = parsed {
                    panic!("{error}: {text}");
                }
                let outcome = match updated_within(&dataset, &text, None, 60_000) {
                    Ok(left) if left == dataset => "unchanged",
                    Ok(_) => "changed",
                    Err(NaiveError::Undetermined(_)) => "open",
                    Err(NaiveError::TooLarge) => "too large",
                    Err(error) => panic!("{error}: {text}"),
                };
                *outcomes.entry(outcome).or_default() += 1;
            }
        }
        let total: usize = outcomes.values().sum();
        assert!(outcomes["changed"] * 2 > total, "{outcomes:?}");
        assert!(
            outcomes["changed"] + outcomes["unchanged"] > total * 4 / 5,
            "{outcomes:?}"
        );
    }
}
