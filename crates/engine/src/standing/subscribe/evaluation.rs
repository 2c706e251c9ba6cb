//! One evaluation of a live query: the newest version that readers see, walked like any query, its rows counted into the
//! bag. It stands in the list of running queries, and has a query's time and memory.

use super::bag::Bag;
use super::question::Question;
use crate::error::QueryError;
use crate::moment::Graph;
use crate::output::{Rows, Sink};
use crate::prepared::Query;
use crate::request::context::{Context, Effort};
use crate::request::shared::Shared;
use crate::standing::report::{ReportKind, ReportRow};
use query::plan::Form;
use std::io;
use std::sync::Arc;

/// Evaluates; the bag holds the rows of the answer as those of now. Gives the graph that was looked at.
pub(super) fn evaluate(
    shared: &Arc<Shared>,
    question: &Question,
    bag: &mut Bag,
) -> Result<Arc<Graph>, QueryError> {
    let context = Context::enter(shared, &question.asked.request());
    let graph = shared.graph();
    let effort = Effort::Any;
    let mut query = Query::plan_with(&context, Arc::clone(&graph), &question.parsed, effort)?;
    // Equal solutions make equal triples in every evaluation.
    query.names_by_solution = true;
    let mut counting = Counting { bag, failed: None };
    let run = query.run(&mut counting);
    match (counting.failed, run) {
        (Some(error), _) | (None, Err(error)) => Err(error),
        (None, Ok(_)) => Ok(graph),
    }
}

/// What the rows of a question are.
pub(super) fn kind(question: &Question) -> ReportKind {
    match question.parsed.form() {
        Form::Select(_) => ReportKind::Solutions,
        Form::Ask => ReportKind::Boolean,
        Form::Construct(_) | Form::Describe(_) => ReportKind::Graph,
    }
}

/// The names of their columns.
pub(super) fn variables(question: &Question) -> Arc<[String]> {
    match question.parsed.form() {
        Form::Select(slots) => {
            let names = question.parsed.variables();
            let name = |slot: &query::plan::Slot| names[usize::from(slot.0)].clone();
            slots.iter().map(name).collect()
        }
        Form::Ask => Arc::default(),
        Form::Construct(_) | Form::Describe(_) => {
            ["subject", "predicate", "object"].map(str::to_owned).into()
        }
    }
}

/// Counts an answer.
struct Counting<'b> {
    bag: &'b mut Bag,
    /// Why it does not fit.
    failed: Option<QueryError>,
}

impl Counting<'_> {
    fn taken(&mut self, taken: Result<(), QueryError>) -> io::Result<()> {
        taken.map_err(|error| {
            let message = error.message.clone();
            self.failed = Some(error);
            io::Error::other(message)
        })
    }
}

impl Sink for Counting<'_> {
    fn head(&mut self, _: &[String]) -> io::Result<()> {
        Ok(())
    }

    fn graph_head(&mut self, _: &[(String, String)]) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        let taken = self.bag.count(rows);
        self.taken(taken)
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn boolean(&mut self, value: bool) -> io::Result<()> {
        if !value {
            return Ok(());
        }
        let taken = self.bag.count_row(ReportRow(Vec::new()));
        self.taken(taken)
    }
}
