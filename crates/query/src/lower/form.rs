//! What the query asks for: `SELECT`, `CONSTRUCT`, `DESCRIBE`, `ASK`; and of which dataset.

use super::select::Modifiers;
use super::{Context, Lowering};
use crate::algebra::{Element, Group};
use crate::expression::Expression;
use crate::guard::token::TokenKind;
use crate::parse::ParseError;
use crate::plan::{ConstantId, DatasetClause, Form, Node, TemplateTerm};
use oxrdf::{NamedNode, Term, Variable};
use spargebra::Query;
use spargebra::algebra::QueryDataset;
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::collections::HashMap;

impl Lowering<'_> {
    /// `FROM` and `FROM NAMED`.
    pub(super) fn dataset(&mut self, dataset: Option<&QueryDataset>) -> DatasetClause {
        let union_default = self.union_default;
        let mut graphs = |list: &[NamedNode]| -> Vec<ConstantId> {
            let terms = list.iter().map(|graph| Term::from(graph.clone()));
            terms.map(|term| self.constant(term)).collect()
        };
        DatasetClause {
            graphs: dataset.map(|dataset| {
                let named = dataset.named.as_deref().unwrap_or_default();
                (graphs(&dataset.default), graphs(named))
            }),
            union_default,
        }
    }

    /// Fills the body, and says what is made of its rows.
    pub(super) fn form(&mut self, query: &Query, body: &mut Group) -> Result<Form, ParseError> {
        let (Query::Select { pattern, .. }
        | Query::Construct { pattern, .. }
        | Query::Describe { pattern, .. }
        | Query::Ask { pattern, .. }) = query;
        let modifiers = Modifiers::of(pattern);
        body.elements = self.spine(modifiers.inner, &Context::top())?.elements;
        match query {
            Query::Select { .. } => {
                let mut columns = Vec::with_capacity(modifiers.projected.len());
                for variable in self.in_order(&modifiers) {
                    columns.push(self.variable(variable)?);
                }
                body.elements.push(Element::Project(columns.clone()));
                modifiers.finish(&mut body.elements);
                Ok(Form::Select(columns))
            }
            Query::Ask { .. } => {
                modifiers.slice(&mut body.elements);
                Ok(Form::Ask)
            }
            Query::Construct { template, .. } => {
                modifiers.slice(&mut body.elements);
                Ok(Form::Construct(self.template(template)?))
            }
            Query::Describe { .. } => {
                let described = self.described(&modifiers, body)?;
                modifiers.slice(&mut body.elements);
                Ok(Form::Describe(described))
            }
        }
    }

    /// The projected variables in order: as written, and for `*` as they first appear in the text.
    /// (They come in alphabetical order; the specification leaves it open, and
    /// people expect to read columns as they wrote them.)
    fn in_order<'a>(&self, modifiers: &Modifiers<'a>) -> Vec<&'a Variable> {
        let mut variables: Vec<&Variable> = modifiers.projected.iter().collect();
        let words = self
            .tokens
            .tokens
            .iter()
            .map(|&token| self.tokens.slice(token));
        let is_one = |word: &str, of: &[&str]| of.iter().any(|w| w.eq_ignore_ascii_case(word));
        let after_keyword = words
            .skip_while(|word| !is_one(word, &["SELECT", "DESCRIBE"]))
            .skip(1)
            .find(|word| !is_one(word, &["DISTINCT", "REDUCED"]));
        if after_keyword == Some("*") {
            let mut places: HashMap<&str, u32> = HashMap::new();
            for &token in &self.tokens.tokens {
                if token.kind == TokenKind::Variable {
                    let name = &self.tokens.slice(token)[1..];
                    places.entry(name).or_insert(token.start);
                }
            }
            variables.sort_by_key(|variable| places.get(variable.as_str()).copied());
        }
        variables
    }

    /// What `DESCRIBE` describes. The parser binds IRIs to variables of its own making; they are taken
    /// back.
    fn described(
        &mut self,
        modifiers: &Modifiers<'_>,
        body: &mut Group,
    ) -> Result<Vec<Node>, ParseError> {
        let mut described = Vec::with_capacity(modifiers.projected.len());
        for variable in self.in_order(modifiers) {
            let slot = self.variable(variable)?;
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

    fn template_triple<'a>(
        &mut self,
        triple: &'a TriplePattern,
        labels: &mut HashMap<&'a str, u32>,
    ) -> Result<[TemplateTerm; 3], ParseError> {
        let predicate = match &triple.predicate {
            NamedNodePattern::NamedNode(node) => {
                TemplateTerm::Constant(self.constant(node.clone().into()))
            }
            NamedNodePattern::Variable(variable) => TemplateTerm::Slot(self.variable(variable)?),
        };
        Ok([
            self.template_term(&triple.subject, labels)?,
            predicate,
            self.template_term(&triple.object, labels)?,
        ])
    }

    fn template_term<'a>(
        &mut self,
        term: &'a TermPattern,
        labels: &mut HashMap<&'a str, u32>,
    ) -> Result<TemplateTerm, ParseError> {
        Ok(match term {
            TermPattern::NamedNode(node) => {
                TemplateTerm::Constant(self.constant(node.clone().into()))
            }
            TermPattern::Literal(literal) => {
                TemplateTerm::Constant(self.constant(literal.clone().into()))
            }
            TermPattern::Variable(variable) => TemplateTerm::Slot(self.variable(variable)?),
            TermPattern::BlankNode(node) => {
                let next = labels.len() as u32;
                TemplateTerm::Blank(*labels.entry(node.as_str()).or_insert(next))
            }
            TermPattern::Triple(triple) => {
                TemplateTerm::Triple(Box::new(self.template_triple(triple, labels)?))
            }
        })
    }
}
