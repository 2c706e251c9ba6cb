//! Triple patterns, triple terms, `VALUES`.
//!
//! A triple term with a variable in it (SPARQL 1.2 Query section 4.1) is matched like a variable, and
//! then taken apart; one without is a constant already. A "triple term" that no graph can hold, as one with a
//! literal subject, is taken apart too, and so matches nothing.

use super::group::Pipeline;
use super::{Context, Lowering};
use crate::algebra::{Element, Pattern};
use crate::error::ParseError;
use crate::grammar::abstract_query::{Constant, Name, NamePattern, TermPattern, TriplePattern};
use crate::plan::{Node, TableId};

impl Lowering<'_> {
    pub(super) fn triple(
        &mut self,
        triple: &TriplePattern,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let mut parts = Vec::new();
        let subject = self.term(&triple.subject, &mut parts)?;
        let predicate = self.name(triple.predicate)?;
        let object = self.term(&triple.object, &mut parts)?;
        edge([subject, predicate, object], context, table);
        take_apart(parts, table);
        Ok(())
    }

    /// A term; triple terms that are to be taken apart are added to `parts`.
    pub(super) fn term(
        &mut self,
        term: &TermPattern,
        parts: &mut Vec<Element>,
    ) -> Result<Node, ParseError> {
        Ok(match term {
            TermPattern::Constant(constant) => Node::Constant(self.constant(*constant)),
            TermPattern::Variable(variable) => Node::Slot(self.variable(*variable)?),
            TermPattern::Blank(blank) => Node::Slot(self.blank_node(*blank)?),
            TermPattern::Triple(triple) => self.triple_term(triple, parts)?,
        })
    }

    fn triple_term(
        &mut self,
        triple: &TriplePattern,
        parts: &mut Vec<Element>,
    ) -> Result<Node, ParseError> {
        let term = self.hidden()?;
        let at = parts.len();
        let subject = self.term(&triple.subject, parts)?;
        let predicate = self.name(triple.predicate)?;
        let object = self.term(&triple.object, parts)?;
        let part = Element::TripleTerm {
            term,
            subject,
            predicate,
            object,
        };
        // Outer ones first: they bind the inner ones.
        parts.insert(at, part);
        Ok(Node::Slot(term))
    }

    pub(super) fn name(&mut self, name: NamePattern) -> Result<Node, ParseError> {
        Ok(match name {
            NamePattern::Constant(constant) => Node::Constant(self.constant(constant)),
            NamePattern::Variable(variable) => Node::Slot(self.variable(variable)?),
        })
    }

    pub(super) fn values(
        &mut self,
        variables: &[Name],
        bindings: &[Vec<Option<Constant>>],
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let mut columns = Vec::with_capacity(variables.len());
        for variable in variables {
            columns.push(self.variable(*variable)?);
        }
        let mut is_sure = vec![true; columns.len()];
        let mut rows = Vec::with_capacity(bindings.len());
        for binding in bindings {
            let mut row = Vec::with_capacity(columns.len());
            for (term, is_sure) in binding.iter().zip(&mut is_sure) {
                *is_sure &= term.is_some();
                row.push(term.map(|term| self.constant(term)));
            }
            rows.push(row);
        }
        for (column, is_sure) in columns.iter().zip(is_sure) {
            table.maybe.insert(*column);
            if is_sure {
                table.sure.insert(*column);
            }
        }
        table.elements.push(Element::Values { columns, rows });
        Ok(())
    }

    /// The table that is given beside the text.
    pub(super) fn given(
        &mut self,
        variables: &[Name],
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let columns = self.slots(variables)?;
        for column in &columns {
            table.maybe.insert(*column);
            table.sure.insert(*column);
        }
        let given = TableId::default();
        table.elements.push(Element::Given {
            table: given,
            columns,
        });
        Ok(())
    }
}

/// Adds a pattern in the graph around.
pub(super) fn edge(
    [subject, predicate, object]: [Node; 3],
    context: &Context,
    table: &mut Pipeline,
) {
    let pattern = Pattern {
        subject,
        predicate,
        object,
        graph: context.graph,
        source: context.source,
    };
    table.join(Element::Pattern(pattern), &[subject, predicate, object]);
    table.in_graph = true;
}

/// Adds elements that take triple terms apart.
pub(super) fn take_apart(parts: Vec<Element>, table: &mut Pipeline) {
    for part in parts {
        let nodes = match &part {
            Element::TripleTerm {
                subject,
                predicate,
                object,
                ..
            } => [*subject, *predicate, *object],
            _ => continue,
        };
        table.join(part, &nodes);
    }
}
