//! Groups to patterns: joins are flattened, filters keep the scope of their group.
//!
//! **Filters.** A filter of a nested group is evaluated on that group's own solutions (SPARQL 1.1
//! section 18.2.2.2), before the join with what is outside. Here every variable of a pattern is bound
//! in every solution of its group, so a filter over variables of its group gives the same on the
//! joined rows, and is lifted. A variable that its group does not bind is unbound in the filter,
//! whatever the outside binds: it is translated to an error, `BOUND` of it to false. One case is
//! refused: a filter within `GRAPH ?g { ... }` on `?g` itself, where the specification has it
//! unbound and what people mean is the opposite.

use super::Translator;
use super::expression::Visible;
use crate::expression::Expression;
use crate::parse::ParseError;
use crate::plan::{Node, Slot};
use crate::query::Pattern;
use oxrdf::Term;
use spargebra::algebra::{Expression as Algebra, GraphPattern};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::collections::HashSet;

impl Translator<'_> {
    /// Adds the patterns and filters of a group, matched in this graph.
    pub(super) fn group(
        &mut self,
        pattern: &GraphPattern,
        graph: Option<Node>,
    ) -> Result<(), ParseError> {
        let mut joined = Vec::new();
        let mut first = pattern;
        while let GraphPattern::Join { left, right } = first {
            joined.push(&**right);
            first = left;
        }
        self.element(first, graph)?;
        for element in joined.into_iter().rev() {
            self.group(element, graph)?;
        }
        Ok(())
    }

    fn element(&mut self, pattern: &GraphPattern, graph: Option<Node>) -> Result<(), ParseError> {
        match pattern {
            GraphPattern::Bgp { patterns } => {
                for triple in patterns {
                    let pattern = self.triple(triple, graph)?;
                    self.patterns.push(pattern);
                }
                Ok(())
            }
            GraphPattern::Graph { name, inner } => self.named_graph(name, inner),
            GraphPattern::Filter { expr, inner } => self.filtered(expr, inner, graph),
            refused => Err(self.unsupported_pattern(refused)),
        }
    }

    /// `GRAPH name { ... }`; the graph around it means nothing inside.
    fn named_graph(
        &mut self,
        name: &NamedNodePattern,
        inner: &GraphPattern,
    ) -> Result<(), ParseError> {
        let graph = self.name(name)?;
        let before = self.patterns.len();
        self.group(inner, Some(graph))?;
        // Without a pattern of its own the graph still has to be one of the dataset.
        let is_matched = self.patterns[before..]
            .iter()
            .any(|pattern| pattern.graph == Some(graph));
        if !is_matched {
            self.graphs.push(graph);
        }
        Ok(())
    }

    fn filtered(
        &mut self,
        condition: &Algebra,
        inner: &GraphPattern,
        graph: Option<Node>,
    ) -> Result<(), ParseError> {
        let (patterns, graphs) = (self.patterns.len(), self.graphs.len());
        self.group(inner, graph)?;
        let visible = self.visible_since(patterns, graphs, graph);
        match self.expression(condition, &visible)? {
            Expression::And(conjuncts) => self.filters.extend(conjuncts),
            condition => self.filters.push(condition),
        }
        Ok(())
    }

    /// The variables bound by patterns and graphs that were added since, within a graph.
    fn visible_since(&self, patterns: usize, graphs: usize, graph: Option<Node>) -> Visible {
        let mut bound = HashSet::new();
        let mut add = |node: Node| {
            if let Node::Slot(slot) = node {
                bound.insert(slot);
            }
        };
        for pattern in &self.patterns[patterns..] {
            let own = pattern.graph.filter(|own| Some(*own) != graph);
            let ends = [pattern.subject, pattern.predicate, pattern.object];
            ends.into_iter().chain(own).for_each(&mut add);
        }
        self.graphs[graphs..].iter().copied().for_each(&mut add);
        Visible {
            bound,
            graph: match graph {
                Some(Node::Slot(slot)) => Some(slot),
                _ => None,
            },
        }
    }

    fn triple(
        &mut self,
        triple: &TriplePattern,
        graph: Option<Node>,
    ) -> Result<Pattern, ParseError> {
        Ok(Pattern {
            subject: self.term(&triple.subject)?,
            predicate: self.name(&triple.predicate)?,
            object: self.term(&triple.object)?,
            graph,
        })
    }

    fn term(&mut self, term: &TermPattern) -> Result<Node, ParseError> {
        Ok(match term {
            TermPattern::NamedNode(node) => Node::Constant(self.constant(Term::from(node.clone()))),
            TermPattern::Literal(literal) => {
                Node::Constant(self.constant(Term::from(literal.clone())))
            }
            TermPattern::Variable(variable) => Node::Slot(self.variable(variable)?),
            TermPattern::BlankNode(node) => Node::Slot(self.blank_node(node.as_str())?),
            TermPattern::Triple(_) => return Err(self.unsupported_triple_term()),
        })
    }

    fn blank_node(&mut self, label: &str) -> Result<Slot, ParseError> {
        let number = self.variables.len();
        self.slot(&format!("_:{label}"), || format!(".{number}"))
    }

    fn name(&mut self, name: &NamedNodePattern) -> Result<Node, ParseError> {
        Ok(match name {
            NamedNodePattern::NamedNode(node) => {
                Node::Constant(self.constant(Term::from(node.clone())))
            }
            NamedNodePattern::Variable(variable) => Node::Slot(self.variable(variable)?),
        })
    }
}
