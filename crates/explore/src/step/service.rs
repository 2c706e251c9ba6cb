//! `SERVICE`: joins with the solutions that another endpoint gives (SPARQL 1.1 Federated Query).
//!
//! The query sent does not depend on the row but for its endpoint, so an endpoint is asked once and its
//! solutions are kept, drawn on the budget and shared by all walks of the query; each row is joined with
//! its endpoint's. Terms become ids as computed ones do, some thousand [together](arriving), so that what is stored is not
//! kept a second time. An endpoint is not asked again because a stored id has to be waited for: from there on terms get
//! ids of the query's own, and these are replaced piece by piece when all solutions have come. Blank nodes of an endpoint
//! are its own: they get labels that no stored one has, and one endpoint's never meet another's.
//!
//! `SILENT` turns a refusal or a failure into one solution without bindings (section 2.3); a failure is
//! also an endpoint that is unbound in a row, or no IRI. A query that has to end ends, silent or not.
//!
//! | who | touches the list of answers | when |
//! |---|---|---|
//! | the first walk that needs an endpoint | writes that it is being asked, then its solutions | before and after it asks, never while |
//! | other walks | look for solutions, and whether they have to end | every few milliseconds meanwhile |

mod arriving;

use self::arriving::{Arriving, name_stored};
use super::join::Product;
use super::{Context, Flow, PatternOperand, StepOutcome};
use crate::ask;
use crate::environment::ServiceError;
use crate::error::WalkError;
use crate::limits::{Limits, Reservation};
use crate::table::{Held, Table};
use oxrdf::Term;
use query::plan::Slot;
use rdf::{Lexicon, TermBuffer, VertexId};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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

/// All solutions of an endpoint.
struct Received<'p, 'a> {
    turn: AskingTurn<'p, 'a>,
    solutions: Solutions<'a>,
}

/// Solutions in the making.
struct Solutions<'a> {
    table: Table,
    reservation: Reservation<'a>,
    /// Terms of the rows before this one have the ids that are stored, if there are such; the others' have ids of the
    /// query's own.
    stored: u64,
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
        let mut received = match self.received.take() {
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
                EndpointState::Turn(turn) => Received {
                    solutions: self.ask(context, endpoint, turn.number)?,
                    turn,
                },
            },
        };
        let solutions = &mut received.solutions;
        if let Err(error) = name_stored(context, solutions) {
            // It is waited for, or the query ends.
            self.received = Some(received);
            return Err(error);
        }
        let Solutions {
            table, reservation, ..
        } = received.solutions;
        let table = Arc::new(table);
        self.policy.held.take(reservation);
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
    ) -> Result<Solutions<'a>, WalkError> {
        let name = endpoint_name(context, endpoint)?;
        let error = match &name {
            Err(found) => WalkError::ServiceUnnamed {
                found: found.clone(),
            },
            Ok(name) => match self.select(context, name, number) {
                Ok(solutions) => return Ok(solutions),
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
        if !self.policy.silent {
            return Err(error);
        }
        let width = self.policy.made.len();
        let mut table = Table::new(width);
        let mut reservation = Reservation::new(self.limits);
        let nothing = std::iter::repeat_n(VertexId::UNBOUND, width);
        table.push(nothing, &mut reservation)?;
        Ok(Solutions {
            stored: table.rows(),
            table,
            reservation,
        })
    }

    fn select<V, L: Lexicon>(
        &self,
        context: Context<'p, 'a, V, L>,
        endpoint: &str,
        number: usize,
    ) -> Result<Solutions<'a>, ServiceError> {
        let policy = self.policy;
        let Some(service) = context.scene.environment.service else {
            let reason = "calls to other endpoints are not allowed here".to_owned();
            return Err(ServiceError::Refused(reason));
        };
        let terms = context.scene.terms(context.lexicon);
        let mut arriving = Arriving::new(&policy.wanted, endpoint, number, terms, self.limits);
        let mut each = |solution: &[Option<Term>]| arriving.push(solution);
        service.select(endpoint, policy.text, &policy.variables, &mut each)?;
        arriving.into_solutions().map_err(ServiceError::Walk)
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
