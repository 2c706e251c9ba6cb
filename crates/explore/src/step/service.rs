//! `SERVICE`: joins with the solutions that another endpoint gives (SPARQL 1.1 Federated Query).
//!
//! The query sent does not depend on the row but for its endpoint, so an endpoint is asked once and its
//! solutions are kept, drawn on the budget and shared by all walks of the query; each row is joined with
//! its endpoint's. Terms become ids as computed ones do. Blank nodes of an endpoint are its own: they
//! get labels that no stored one has, and one endpoint's never meet another's.
//!
//! `SILENT` turns a refusal or a failure into one solution without bindings (section 2.3). A query that
//! has to end ends, silent or not.

use super::join::Product;
use super::{Context, Flow, Place, Turn};
use crate::environment::ServiceError;
use crate::error::WalkError;
use crate::expression::id_of;
use crate::limits::{Limits, Reservation};
use crate::table::{Held, Table};
use oxrdf::{BlankNode, NamedOrBlankNode, Term, Triple};
use query::plan::Slot;
use rdf::{Lexicon, TermBuffer, VertexId};
use std::sync::{Arc, Mutex, PoisonError};

/// Triple terms of an endpoint may be nested so deep: what is deeper is a failure of the endpoint.
const TRIPLES_DEPTH_MAX: usize = 64;

/// Whom to ask, what, and where the answers go.
pub(crate) struct ServicePolicy<'a> {
    endpoint: Place,
    silent: bool,
    text: &'a str,
    variables: Vec<String>,
    /// The variables that somebody needs, and their columns.
    wanted: Vec<usize>,
    made: Vec<Slot>,
    /// The solutions of endpoints that were asked.
    answers: Mutex<Vec<(VertexId, Arc<Table>)>>,
    held: Held<'a>,
}

impl<'a> ServicePolicy<'a> {
    /// A policy that keeps the columns of `keep`.
    pub(crate) fn new(
        endpoint: Place,
        silent: bool,
        text: &'a str,
        columns: &[(String, Slot)],
        keep: &[Slot],
        limits: Limits<'a>,
    ) -> ServicePolicy<'a> {
        let wanted = |at: &usize| keep.contains(&columns[*at].1);
        let wanted: Vec<usize> = (0..columns.len()).filter(wanted).collect();
        ServicePolicy {
            endpoint,
            silent,
            text,
            variables: columns.iter().map(|(name, _)| name.clone()).collect(),
            made: wanted.iter().map(|&at| columns[at].1).collect(),
            wanted,
            answers: Mutex::new(Vec::new()),
            held: Held::new(limits),
        }
    }
}

/// The state of one walk.
pub(crate) struct Asking<'p, 'a> {
    policy: &'p ServicePolicy<'a>,
    limits: Limits<'a>,
    current: Option<(VertexId, Arc<Table>)>,
    product: Product,
}

impl<'p, 'a> Asking<'p, 'a> {
    pub(crate) fn new(policy: &'p ServicePolicy<'a>, limits: Limits<'a>) -> Self {
        Asking {
            policy,
            limits,
            current: None,
            product: Product::default(),
        }
    }

    pub(crate) fn run<V, L: Lexicon>(
        &mut self,
        context: Context<'p, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<Turn, WalkError> {
        let slot = match self.policy.endpoint {
            Place::Constant(endpoint) => {
                let table = self.table(context, endpoint)?;
                return self.product.run(&table, &self.policy.made, flow);
            }
            Place::Slot(slot) => slot,
        };
        while self.product.row() < flow.input.rows() {
            let row = self.product.row();
            let endpoint = flow.input.live(slot)[row as usize];
            let table = self.table(context, endpoint)?;
            if !self.product.piece(&table, &self.policy.made, flow)? {
                return Ok(Turn::More);
            }
            self.product.go_on_with(row + 1);
        }
        self.product.go_on_with(0);
        Ok(Turn::Drained)
    }

    /// The solutions of an endpoint.
    fn table<V, L: Lexicon>(
        &mut self,
        context: Context<'p, 'a, V, L>,
        endpoint: VertexId,
    ) -> Result<Arc<Table>, WalkError> {
        if let Some((current, table)) = &self.current
            && *current == endpoint
        {
            return Ok(Arc::clone(table));
        }
        // A walk that panicked here has ended the query; what is in the list is whole.
        let mut answers = self
            .policy
            .answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        context.limits.check()?;
        let known = answers.iter().find(|(asked, _)| *asked == endpoint);
        let table = if let Some((_, table)) = known {
            Arc::clone(table)
        } else {
            let (table, reservation) = self.ask(context, endpoint, answers.len())?;
            let table = Arc::new(table);
            self.policy.held.take(reservation);
            answers.push((endpoint, Arc::clone(&table)));
            table
        };
        self.current = Some((endpoint, Arc::clone(&table)));
        Ok(table)
    }

    /// Asks an endpoint, the `number`th of this step.
    fn ask<V, L: Lexicon>(
        &self,
        context: Context<'p, 'a, V, L>,
        endpoint: VertexId,
        number: usize,
    ) -> Result<(Table, Reservation<'a>), WalkError> {
        let policy = self.policy;
        let mut table = Table::new(policy.made.len());
        let mut reservation = Reservation::new(self.limits);
        let name = endpoint_name(context, endpoint)?;
        let Err(error) = self.select(context, &name, number, &mut table, &mut reservation) else {
            return Ok((table, reservation));
        };
        let endpoint = match name {
            Ok(iri) | Err(iri) => iri,
        };
        let error = match error {
            ServiceError::Walk(error @ WalkError::ServiceFailed { .. }) => error,
            ServiceError::Walk(error) => return Err(error),
            ServiceError::Refused(reason) => WalkError::ServiceRefused { endpoint, reason },
            ServiceError::Failed(reason) => WalkError::ServiceFailed { endpoint, reason },
        };
        if !policy.silent {
            return Err(error);
        }
        let mut table = Table::new(policy.made.len());
        let mut reservation = Reservation::new(self.limits);
        let nothing = std::iter::repeat_n(VertexId::UNBOUND, policy.made.len());
        table.push(nothing, &mut reservation)?;
        Ok((table, reservation))
    }

    fn select<V, L: Lexicon>(
        &self,
        context: Context<'p, 'a, V, L>,
        endpoint: &Result<String, String>,
        number: usize,
        table: &mut Table,
        reservation: &mut Reservation<'a>,
    ) -> Result<(), ServiceError> {
        let policy = self.policy;
        let Ok(endpoint) = endpoint else {
            return Err(ServiceError::Failed("it is not an IRI".to_owned()));
        };
        let Some(service) = context.prepared.environment().service else {
            let reason = "calls to other endpoints are not allowed here".to_owned();
            return Err(ServiceError::Refused(reason));
        };
        let terms = context.prepared.terms(context.lexicon);
        let mut cells = Vec::with_capacity(policy.made.len());
        let mut each = |solution: &[Option<Term>]| {
            self.limits.check()?;
            if solution.iter().flatten().any(is_too_deep) {
                return Err(WalkError::ServiceFailed {
                    endpoint: endpoint.clone(),
                    reason: format!("a triple term is nested deeper than {TRIPLES_DEPTH_MAX}"),
                });
            }
            cells.clear();
            for &at in &policy.wanted {
                cells.push(match solution.get(at) {
                    Some(Some(term)) => match renamed(term, number) {
                        None => id_of(term.as_ref(), &terms)?,
                        Some(term) => terms.locals.id_of(term.as_ref())?,
                    },
                    _ => VertexId::UNBOUND,
                });
            }
            table.push(cells.iter().copied(), reservation)
        };
        service.select(endpoint, policy.text, &policy.variables, &mut each)
    }
}

/// The IRI of an endpoint, or the text of what is none.
fn endpoint_name<V, L: Lexicon>(
    context: Context<'_, '_, V, L>,
    endpoint: VertexId,
) -> Result<Result<String, String>, WalkError> {
    let name = |term: &Term| match term {
        Term::NamedNode(iri) => Ok(iri.as_str().to_owned()),
        other => Err(other.to_string()),
    };
    if let Some(term) = context.prepared.locals().term(endpoint) {
        return Ok(name(term));
    }
    let mut buffer = TermBuffer::new();
    context.lexicon.terms(&[endpoint], &mut buffer)?;
    Ok(match buffer.get(0) {
        None => Err("an unbound variable".to_owned()),
        Some(term) => name(&term.into_owned()),
    })
}

/// Whether triple terms are nested too deep: their objects are what nests.
fn is_too_deep(term: &Term) -> bool {
    let mut within = term;
    for _ in 0..=TRIPLES_DEPTH_MAX {
        match within {
            Term::Triple(triple) => within = &triple.object,
            _ => return false,
        }
    }
    true
}

/// The term with the blank nodes of an endpoint renamed; `None` where it has none. Not too deep.
fn renamed(term: &Term, number: usize) -> Option<Term> {
    let blank =
        |node: &BlankNode| BlankNode::new_unchecked(format!("service{number}.{}", node.as_str()));
    match term {
        Term::BlankNode(node) => Some(blank(node).into()),
        Term::Triple(triple) => {
            let object = renamed(&triple.object, number);
            let subject = match &triple.subject {
                NamedOrBlankNode::BlankNode(node) => Some(blank(node).into()),
                NamedOrBlankNode::NamedNode(_) => None,
            };
            if object.is_none() && subject.is_none() {
                return None;
            }
            let parts = (
                subject.unwrap_or_else(|| triple.subject.clone()),
                triple.predicate.clone(),
                object.unwrap_or_else(|| triple.object.clone()),
            );
            Some(Triple::new(parts.0, parts.1, parts.2).into())
        }
        _ => None,
    }
}
