//! `DELETE`, `INSERT`, `WHERE` (SPARQL 1.1 Update sections 3.1.3 and 4.2.4): a query for the pattern, and
//! templates over its columns.
//!
//! The query is a `SELECT` of the variables that the templates name, so it is planned and run like any
//! other. A quad that names a variable which the pattern cannot bind is never made (section 4.2.4: a
//! template with an unbound variable gives nothing) and is left out here, so templates of any length
//! have no more columns than the pattern has variables. Templates without variables and blank nodes ask
//! only whether there is a solution, and so the query stops at the first.
//!
//! **WITH** names the graph that the pattern is matched against where no `GRAPH` says otherwise, and
//! leaves the named graphs as they are (section 3.1.3). So the graph is written into the patterns, as
//! for `GRAPH`; but that it exists is not asked for. `USING` replaces the dataset, as `FROM` does.

use super::{Context, Lowering};
use crate::algebra::{Element, Group, Query};
use crate::error::ParseError;
use crate::grammar::abstract_query::{
    Blank, Name, NamePattern, QuadPattern, TermPattern, TriplePattern,
};
use crate::grammar::translate::{Modification, Translated};
use crate::options::ParseOptions;
use crate::plan::{Form, Node, Slot, Source, TemplateTerm};
use crate::slots::Slots;
use crate::update::QuadTemplate;
use std::collections::HashMap;

/// A query, and what is deleted and inserted for each of its rows.
pub(crate) struct Lowered {
    pub(crate) query: Query,
    pub(crate) delete: Vec<QuadTemplate>,
    pub(crate) insert: Vec<QuadTemplate>,
}

/// Translates an operation.
pub(crate) fn lower_modification(
    read: Translated<'_, Modification>,
    options: &ParseOptions,
) -> Result<Lowered, ParseError> {
    let modification = read.said;
    let mut lowering = Lowering::new(read.terms, options);
    let dataset = lowering.dataset(modification.using.as_ref());
    // USING overrides WITH for the pattern (section 3.1.3).
    let with = modification.with.as_ref();
    let with = with.filter(|_| modification.using.is_none());
    let graph = with.map(|graph| Node::Constant(lowering.constant(*graph)));
    let context = Context {
        graph,
        ..Context::top(Source::STORE)
    };
    let table = lowering.spine(&modification.pattern, &context)?;
    let mut templates = Templates {
        bound: &table.maybe,
        labels: HashMap::new(),
        columns: Vec::new(),
        is_column: Slots::default(),
    };
    let mut delete = Vec::with_capacity(modification.delete.len());
    for quad in &modification.delete {
        delete.extend(templates.quad(&mut lowering, quad)?);
    }
    let mut insert = Vec::with_capacity(modification.insert.len());
    for quad in &modification.insert {
        insert.extend(templates.quad(&mut lowering, quad)?);
    }
    let asks_only = templates.columns.is_empty() && templates.labels.is_empty();
    lowering.check();
    let columns = templates.columns;
    let mut body = Group {
        elements: table.elements,
    };
    body.elements.push(Element::Project(columns.clone()));
    if asks_only {
        body.elements.push(Element::Slice {
            offset: 0,
            limit: Some(1),
        });
    }
    let query = Query {
        within: Vec::new(),
        idle: Vec::new(),
        variables: lowering.variables,
        constants: lowering.terms.into_terms(&lowering.constants),
        prefixes: read.prefixes,
        dataset,
        base: modification.base,
        body,
        form: Form::Select(columns),
    };
    Ok(Lowered {
        query,
        delete,
        insert,
    })
}

/// Makes the templates of one operation.
struct Templates<'a> {
    /// What the pattern may bind.
    bound: &'a Slots,
    labels: HashMap<Blank, u32>,
    /// The columns used, in the order of their first use.
    columns: Vec<Slot>,
    is_column: Slots,
}

impl Templates<'_> {
    /// `None` for a quad that is never made.
    fn quad(
        &mut self,
        lowering: &mut Lowering<'_>,
        quad: &QuadPattern,
    ) -> Result<Option<QuadTemplate>, ParseError> {
        let graph = match quad.graph {
            None => None,
            Some(NamePattern::Constant(graph)) => Some(Node::Constant(lowering.constant(graph))),
            Some(NamePattern::Variable(variable)) => match self.slot(lowering, variable)? {
                Some(slot) => Some(Node::Slot(slot)),
                None => return Ok(None),
            },
        };
        let triple = self.triple(lowering, &quad.triple)?;
        let Some(triple) = triple else {
            return Ok(None);
        };
        for part in &triple {
            self.note(part);
        }
        if let Some(Node::Slot(slot)) = graph {
            self.note(&TemplateTerm::Slot(slot));
        }
        Ok(Some(QuadTemplate { triple, graph }))
    }

    /// Notes the columns. As deep as triple terms are nested, which the limits bound.
    fn note(&mut self, part: &TemplateTerm) {
        match part {
            TemplateTerm::Slot(slot) if !self.is_column.contains(*slot) => {
                self.is_column.insert(*slot);
                self.columns.push(*slot);
            }
            TemplateTerm::Slot(_) | TemplateTerm::Constant(_) | TemplateTerm::Blank(_) => {}
            TemplateTerm::Triple(parts) => parts.iter().for_each(|part| self.note(part)),
        }
    }

    fn triple(
        &mut self,
        lowering: &mut Lowering<'_>,
        triple: &TriplePattern,
    ) -> Result<Option<[TemplateTerm; 3]>, ParseError> {
        let predicate = match triple.predicate {
            NamePattern::Constant(constant) => {
                Some(TemplateTerm::Constant(lowering.constant(constant)))
            }
            NamePattern::Variable(variable) => {
                self.slot(lowering, variable)?.map(TemplateTerm::Slot)
            }
        };
        let subject = self.term(lowering, &triple.subject)?;
        let object = self.term(lowering, &triple.object)?;
        Ok(match (subject, predicate, object) {
            (Some(subject), Some(predicate), Some(object)) => Some([subject, predicate, object]),
            _ => None,
        })
    }

    fn term(
        &mut self,
        lowering: &mut Lowering<'_>,
        term: &TermPattern,
    ) -> Result<Option<TemplateTerm>, ParseError> {
        Ok(match term {
            TermPattern::Constant(constant) => {
                Some(TemplateTerm::Constant(lowering.constant(*constant)))
            }
            TermPattern::Variable(variable) => {
                self.slot(lowering, *variable)?.map(TemplateTerm::Slot)
            }
            TermPattern::Blank(blank) => {
                let next = self.labels.len() as u32;
                let number = self.labels.entry(*blank).or_insert(next);
                Some(TemplateTerm::Blank(*number))
            }
            TermPattern::Triple(triple) => {
                let triple = self.triple(lowering, triple)?;
                triple.map(|triple| TemplateTerm::Triple(Box::new(triple)))
            }
        })
    }

    /// The column of a variable that the pattern may bind.
    fn slot(&self, lowering: &mut Lowering<'_>, name: Name) -> Result<Option<Slot>, ParseError> {
        let known = lowering.known(name)?;
        Ok(known.filter(|slot| self.bound.contains(*slot)))
    }
}
