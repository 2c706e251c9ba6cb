//! `SERVICE`: joins with the solutions that another endpoint gives (SPARQL 1.1 Federated Query).
//!
//! The query sent does not depend on the row but for its endpoint, so an endpoint is asked once and its
//! solutions are kept, drawn on the budget and shared by all walks of the query; each row is joined with
//! its endpoint's. Terms become ids as computed ones do, but only when all solutions have come: while they come they
//! have ids of the query's own, so that an endpoint is not asked again because a stored id has to be waited for. Blank nodes of an endpoint are its own: they
//! get labels that no stored one has, and one endpoint's never meet another's.
//!
//! `SILENT` turns a refusal or a failure into one solution without bindings (section 2.3); a failure is
//! also an endpoint that is unbound in a row, or no IRI. A query that has to end ends, silent or not.
//!
//! | who | touches the list of answers | when |
//! |---|---|---|
//! | the first walk that needs an endpoint | writes that it is being asked, then its solutions | before and after it asks, never while |
//! | other walks | look for solutions, and whether they have to end | every few milliseconds meanwhile |

use super::join::Product;
use super::{Context, Flow, PatternOperand, StepOutcome};
use crate::ask;
use crate::environment::ServiceError;
use crate::error::WalkError;
use crate::expression::look_up;
use crate::limits::{Limits, Reservation};
use crate::table::{Held, Table};
use oxrdf::{BlankNode, NamedOrBlankNode, Term, TermRef, Triple};
use query::plan::Slot;
use rdf::{Lexicon, TermBuffer, VertexId};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Triple terms of an endpoint may be nested so deep: what is deeper is a failure of the endpoint.
const TRIPLES_DEPTH_MAX: usize = 64;

/// Solutions whose terms are looked up together.
const ROWS_LOOKED_UP: u64 = 1024;

/// How often a walk that waits for another's answer looks whether it has to end.
const LOOK: Duration = Duration::from_millis(10);

/// What is known of endpoints.
#[derive(Default)]
struct Answers {
    /// The solutions of each; `None` while it is being asked.
    of: Vec<(VertexId, Option<Arc<Table>>)>,
    /// Endpoints that were asked.
    asked: usize,
}

/// Whom to ask, what, and where the answers go.
pub(crate) struct ServicePolicy<'a> {
    endpoint: PatternOperand,
    silent: bool,
    text: &'a str,
    variables: Vec<String>,
    /// The variables that somebody needs, and their columns.
    wanted: Vec<usize>,
    made: Vec<Slot>,
    answers: Mutex<Answers>,
    /// Something in `answers` has changed.
    changed: Condvar,
    held: Held<'a>,
}

impl<'a> ServicePolicy<'a> {
    /// A policy that keeps the columns of `keep`.
    pub(crate) fn new(
        endpoint: PatternOperand,
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
            answers: Mutex::default(),
            changed: Condvar::new(),
            held: Held::new(limits),
        }
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        // Nothing panics while it holds the lock, but for a turn that was answered twice; the answers are whole then.
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The solutions of an endpoint, waited for if it is being asked; or the walk's turn to ask it.
    fn known(
        &self,
        endpoint: VertexId,
        limits: Limits<'_>,
    ) -> Result<EndpointState<'_, 'a>, WalkError> {
        let mut answers = self.answers();
        loop {
            limits.check()?;
            match answers.of.iter().find(|(asked, _)| *asked == endpoint) {
                Some((_, Some(table))) => return Ok(EndpointState::Answered(Arc::clone(table))),
                Some((_, None)) => {
                    let waited = self.changed.wait_timeout(answers, LOOK);
                    answers = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => {
                    answers.of.push((endpoint, None));
                    answers.asked += 1;
                    return Ok(EndpointState::Turn(AskingTurn {
                        policy: self,
                        endpoint,
                        number: answers.asked - 1,
                    }));
                }
            }
        }
    }
}

/// What a walk finds when it needs an endpoint's solutions.
enum EndpointState<'p, 'a> {
    Answered(Arc<Table>),
    Turn(AskingTurn<'p, 'a>),
}

/// The right to ask an endpoint; given back when it is dropped, with or without an answer.
struct AskingTurn<'p, 'a> {
    policy: &'p ServicePolicy<'a>,
    endpoint: VertexId,
    /// Which endpoint of the step it is.
    number: usize,
}

impl AskingTurn<'_, '_> {
    fn answered(self, table: &Arc<Table>) {
        let mut answers = self.policy.answers();
        let mut of = answers.of.iter_mut();
        let known = of.find(|(asked, _)| *asked == self.endpoint);
        assert!(
            matches!(known, Some((_, None))),
            "who has the turn answers, once"
        );
        if let Some((_, known)) = known {
            *known = Some(Arc::clone(table));
        }
    }
}

impl Drop for AskingTurn<'_, '_> {
    fn drop(&mut self) {
        let unanswered =
            |of: &(VertexId, Option<Arc<Table>>)| of.0 == self.endpoint && of.1.is_none();
        self.policy.answers().of.retain(|of| !unanswered(of));
        self.policy.changed.notify_all();
    }
}

/// The state of one walk.
pub(crate) struct Asking<'p, 'a> {
    policy: &'p ServicePolicy<'a>,
    limits: Limits<'a>,
    current: Option<(VertexId, Arc<Table>)>,
    received: Option<Received<'p, 'a>>,
    product: Product,
}

/// Solutions as they came, each term by an id of the query's own.
struct Received<'p, 'a> {
    turn: AskingTurn<'p, 'a>,
    table: Table,
    reservation: Reservation<'a>,
}

impl<'p, 'a> Asking<'p, 'a> {
    pub(crate) fn new(policy: &'p ServicePolicy<'a>, limits: Limits<'a>) -> Self {
        Asking {
            policy,
            limits,
            current: None,
            received: None,
            product: Product::default(),
        }
    }

    pub(crate) fn run<V, L: Lexicon>(
        &mut self,
        context: Context<'p, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        let slot = match self.policy.endpoint {
            PatternOperand::Constant(endpoint) => {
                let table = self.table(context, endpoint)?;
                return self.product.run(&table, &self.policy.made, flow);
            }
            PatternOperand::Slot(slot) => slot,
        };
        while self.product.row() < flow.input.rows() {
            let row = self.product.row();
            let endpoint = flow.input.live(slot)[row as usize];
            let table = self.table(context, endpoint)?;
            if !self.product.piece(&table, &self.policy.made, flow)? {
                return Ok(StepOutcome::More);
            }
            self.product.go_on_with(row + 1);
        }
        self.product.go_on_with(0);
        Ok(StepOutcome::Drained)
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
        let received = match self.received.take() {
            Some(received) => {
                assert_eq!(
                    received.turn.endpoint, endpoint,
                    "a walk goes on where it was"
                );
                received
            }
            None => match self.policy.known(endpoint, context.limits)? {
                EndpointState::Answered(table) => {
                    self.current = Some((endpoint, Arc::clone(&table)));
                    return Ok(table);
                }
                EndpointState::Turn(turn) => {
                    let (table, reservation) = self.ask(context, endpoint, turn.number)?;
                    Received {
                        turn,
                        table,
                        reservation,
                    }
                }
            },
        };
        let mut reservation = Reservation::new(self.limits);
        let table = match with_stored_ids(context, &received.table, &mut reservation) {
            Ok(table) => Arc::new(table),
            Err(error) => {
                // It is waited for, or the query ends.
                self.received = Some(received);
                return Err(error);
            }
        };
        self.policy.held.take(reservation);
        drop(received.reservation);
        received.turn.answered(&table);
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
        let error = match &name {
            Err(found) => WalkError::ServiceUnnamed {
                found: found.clone(),
            },
            Ok(name) => match self.select(context, name, number, &mut table, &mut reservation) {
                Ok(()) => return Ok((table, reservation)),
                Err(ServiceError::Walk(error @ WalkError::ServiceFailed { .. })) => error,
                Err(ServiceError::Walk(error)) => return Err(error),
                Err(ServiceError::Refused(reason)) => WalkError::ServiceRefused {
                    endpoint: name.clone(),
                    reason,
                },
                Err(ServiceError::Failed(reason)) => WalkError::ServiceFailed {
                    endpoint: name.clone(),
                    reason,
                },
            },
        };
        // A call that ends with its query fails because of that.
        self.limits.check()?;
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
        endpoint: &str,
        number: usize,
        table: &mut Table,
        reservation: &mut Reservation<'a>,
    ) -> Result<(), ServiceError> {
        let policy = self.policy;
        let Some(service) = context.scene.environment.service else {
            let reason = "calls to other endpoints are not allowed here".to_owned();
            return Err(ServiceError::Refused(reason));
        };
        let locals = &context.scene.locals;
        let mut cells = Vec::with_capacity(policy.made.len());
        let mut each = |solution: &[Option<Term>]| {
            self.limits.check()?;
            if solution.iter().flatten().any(is_too_deep) {
                return Err(WalkError::ServiceFailed {
                    endpoint: endpoint.to_owned(),
                    reason: format!("a triple term is nested deeper than {TRIPLES_DEPTH_MAX}"),
                });
            }
            cells.clear();
            for &at in &policy.wanted {
                cells.push(match solution.get(at) {
                    Some(Some(term)) => {
                        let renamed = renamed(term, number);
                        locals.id_of(renamed.as_ref().unwrap_or(term).as_ref())?
                    }
                    _ => VertexId::UNBOUND,
                });
            }
            table.push(cells.iter().copied(), reservation)
        };
        service.select(endpoint, policy.text, &policy.variables, &mut each)
    }
}

/// The same solutions, each term by its stored id if it has one.
fn with_stored_ids<V, L: Lexicon>(
    context: Context<'_, '_, V, L>,
    received: &Table,
    reservation: &mut Reservation<'_>,
) -> Result<Table, WalkError> {
    let mut table = Table::new(received.width());
    let (locals, terms) = (&context.scene.locals, context.scene.terms(context.lexicon));
    let mut from = 0;
    while from < received.rows() {
        context.limits.check()?;
        let rows = (received.rows() - from).min(ROWS_LOOKED_UP);
        let places =
            (from..from + rows).flat_map(|row| (0..received.width()).map(move |at| (row, at)));
        let mut cells: Vec<VertexId> = places.map(|(row, at)| received.cell(at, row)).collect();
        // Blank nodes are the endpoint's own.
        let is_stored_somewhere = |term: TermRef<'_>| renamed(&term.into_owned(), 0).is_none();
        let wanted: Vec<(usize, TermRef<'_>)> = cells
            .iter()
            .enumerate()
            .filter_map(|(at, id)| Some((at, locals.get(*id)?)))
            .filter(|(_, term)| is_stored_somewhere(*term))
            .collect();
        let texts: Vec<TermRef<'_>> = wanted.iter().map(|(_, term)| *term).collect();
        for ((at, _), id) in wanted.iter().zip(look_up(&texts, &terms)?) {
            cells[*at] = id;
        }
        if received.width() == 0 {
            (0..rows).try_for_each(|_| table.push(std::iter::empty(), reservation))?;
        }
        for row in cells.chunks_exact(received.width().max(1)) {
            table.push(row.iter().copied(), reservation)?;
        }
        from += rows;
    }
    assert_eq!(table.rows(), received.rows(), "a solution stays one");
    Ok(table)
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
    if let Some(term) = context.scene.locals.term(endpoint) {
        return Ok(name(&term));
    }
    let mut buffer = TermBuffer::new();
    ask::ready(context.lexicon.fetch(&[endpoint], &[])?)?;
    context.lexicon.terms(&[endpoint], &mut buffer)?;
    Ok(match buffer.get(0) {
        None => Err("a variable that is not bound".to_owned()),
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
