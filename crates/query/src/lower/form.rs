//! What the query asks for: `SELECT`, `CONSTRUCT`, `DESCRIBE`, `ASK`; and of which dataset.

use super::select::Modifiers;
use super::{Context, Lowering};
use crate::algebra::{Element, Group};
use crate::error::ParseError;
use crate::expression::Expression;
use crate::grammar::abstract_query::{
    self, Blank, Constant, Dataset, Name, NamePattern, Query, TermPattern, TriplePattern,
};
use crate::plan::{ConstantId, DatasetClause, Form, Node, TemplateTerm};
use hashbrown::HashMap;
use std::borrow::Cow;

impl Lowering<'_> {
    /// `FROM` and `FROM NAMED`.
    pub(super) fn dataset(&mut self, dataset: Option<&Dataset>) -> DatasetClause {
        let mut graphs = |list: &[Constant]| -> Vec<ConstantId> {
            list.iter().map(|graph| self.constant(*graph)).collect()
        };
        DatasetClause {
            graphs: dataset.map(|dataset| (graphs(&dataset.default), graphs(&dataset.named))),
            union_default: self.union_default,
        }
    }

    /// Fills the body, and says what is made of its rows.
    pub(super) fn form(&mut self, query: &Query, body: &mut Group) -> Result<Form, ParseError> {
        let modifiers = Modifiers::of(&query.pattern);
        body.elements = self
            .spine(modifiers.inner, &Context::top(self.outside))?
            .elements;
        match &query.form {
            abstract_query::Form::Select { star } => {
                let mut columns = Vec::with_capacity(modifiers.projected.len());
                for variable in in_order(&modifiers, *star).iter() {
                    columns.push(self.variable(*variable)?);
                }
                body.elements.push(Element::Project(columns.clone()));
                modifiers.finish(&mut body.elements);
                Ok(Form::Select(columns))
            }
            abstract_query::Form::Ask => {
                modifiers.slice(&mut body.elements);
                Ok(Form::Ask)
            }
            abstract_query::Form::Construct(template) => {
                modifiers.slice(&mut body.elements);
                Ok(Form::Construct(self.template(template)?))
            }
            abstract_query::Form::Describe { star } => {
                let described = self.described(&modifiers, *star, body)?;
                modifiers.slice(&mut body.elements);
                Ok(Form::Describe(described))
            }
        }
    }

    /// What `DESCRIBE` describes. The parser binds IRIs to variables of its own making; they are taken
    /// back.
    fn described(
        &mut self,
        modifiers: &Modifiers<'_>,
        star: bool,
        body: &mut Group,
    ) -> Result<Vec<Node>, ParseError> {
        let mut described = Vec::with_capacity(modifiers.projected.len());
        for variable in in_order(modifiers, star).iter() {
            let slot = self.variable(*variable)?;
            let is_bound_to_iri = |element: &Element| match element {
                Element::Bind {
                    expression: Expression::Constant(constant),
                    into,
                } if *into == slot => Some(*constant),
                _ => None,
            };
            let mut elements = body.elements.iter();
            let iri = elements
                .position(|element| !self.is_written(slot) && is_bound_to_iri(element).is_some());
            let constant = iri.and_then(|at| is_bound_to_iri(&body.elements.remove(at)));
            described.push(constant.map_or(Node::Slot(slot), Node::Constant));
        }
        Ok(described)
    }

    fn template(
        &mut self,
        triples: &[TriplePattern],
    ) -> Result<Vec<[TemplateTerm; 3]>, ParseError> {
        let mut labels = HashMap::new();
        let triples = triples.iter();
        triples
            .map(|triple| self.template_triple(triple, &mut labels))
            .collect()
    }

    fn template_triple(
        &mut self,
        triple: &TriplePattern,
        labels: &mut HashMap<Blank, u32>,
    ) -> Result<[TemplateTerm; 3], ParseError> {
        let predicate = match triple.predicate {
            NamePattern::Constant(constant) => TemplateTerm::Constant(self.constant(constant)),
            NamePattern::Variable(variable) => TemplateTerm::Slot(self.variable(variable)?),
        };
        Ok([
            self.template_term(&triple.subject, labels)?,
            predicate,
            self.template_term(&triple.object, labels)?,
        ])
    }

    fn template_term(
        &mut self,
        term: &TermPattern,
        labels: &mut HashMap<Blank, u32>,
    ) -> Result<TemplateTerm, ParseError> {
        Ok(match term {
            TermPattern::Constant(constant) => TemplateTerm::Constant(self.constant(*constant)),
            TermPattern::Variable(variable) => TemplateTerm::Slot(self.variable(*variable)?),
            TermPattern::Blank(blank) => {
                let next = labels.len() as u32;
                TemplateTerm::Blank(*labels.entry(*blank).or_insert(next))
            }
            TermPattern::Triple(triple) => {
                TemplateTerm::Triple(Box::new(self.template_triple(triple, labels)?))
            }
        })
    }
}

/// The projected variables in order: as written, and for `*` as they first appear in the text. (The specification
/// leaves it open, and people expect to read columns as they wrote them.)
fn in_order<'a>(modifiers: &Modifiers<'a>, star: bool) -> Cow<'a, [Name]> {
    let mut variables = Cow::Borrowed(modifiers.projected);
    if star {
        variables.to_mut().sort_unstable();
    }
    variables
}
