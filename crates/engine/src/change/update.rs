//! One update request: read, its documents fetched, its turn, its operations, its commit.

use super::commit::Job;
use super::committed::Committed;
use super::operations::{carry_out, charge};
use super::patch;
use super::read_set::{ReadSet, asks_others};
use super::spool::{Destination, Spool};
use super::store_write::GraphTarget;
use super::writer::Writer;
use crate::error::{Kind, Position, QueryError};
use crate::moment::Graph;
use crate::request::Request;
use crate::request::context::Context;
use crate::request::reading::{also, declared, graph_terms, parse_options};
use crate::request::shared::Shared;
use query::update::{Operation, Update};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A request to change the graph.
#[derive(Clone, Debug, Default)]
pub struct UpdateRequest<'a> {
    /// The update's text.
    pub text: &'a str,
    /// What relative IRIs of the text are resolved against.
    pub base: Option<&'a str>,
    /// The protocol's `using-graph-uri`.
    pub using: Vec<String>,
    /// The protocol's `using-named-graph-uri`.
    pub using_named: Vec<String>,
    /// Time it may take.
    pub timeout: Option<Duration>,
    /// Memory it may take.
    pub memory_bytes: Option<u64>,
}

/// Whether an update can be read, before there is a database to carry it out.
pub fn check_update(request: &UpdateRequest<'_>, text_max_bytes: u64) -> Result<(), QueryError> {
    read(request, text_max_bytes, false, None).map(|_| ())
}

/// `union`: whether patterns outside `GRAPH` are matched in all graphs, where no dataset is named.
fn read(
    request: &UpdateRequest<'_>,
    text_max_bytes: u64,
    union: bool,
    graph: Option<&Graph>,
) -> Result<Update, QueryError> {
    let options = parse_options(request.base, text_max_bytes, union);
    let update = query::update::parse_update(request.text, &options);
    let mut update = update.map_err(|error| {
        let further = query::update::further_errors(request.text, &options, &error);
        let error = match graph {
            Some(graph) => declared(error, request.text, graph),
            None => error.into(),
        };
        error.with_further(also(further))
    })?;
    let using = graph_terms(&request.using)?;
    let using_named = graph_terms(&request.using_named)?;
    update.set_using(&using, &using_named)?;
    Ok(update)
}

/// An update that was read.
pub struct RunningUpdate {
    pub(crate) context: Context,
    update: Update,
    writer: Arc<Writer>,
    parse: Duration,
}

impl RunningUpdate {
    /// Reads an update, which from then on is in the list of running queries.
    pub(crate) fn start(
        shared: &Arc<Shared>,
        writer: Arc<Writer>,
        request: &UpdateRequest<'_>,
    ) -> Result<RunningUpdate, QueryError> {
        RunningUpdate::begin(shared, writer, request, |context| {
            let text_max = shared.options.update_text_max_bytes;
            // A text that is too long is refused before it takes anything.
            let is_short = request.text.len() as u64 <= text_max;
            let reading = is_short.then(|| query::update::reading_bytes(request.text));
            let reading = reading.unwrap_or(0);
            charge(context, reading)?;
            let union = shared.options.union_default_graph;
            let update = read(request, text_max, union, Some(&shared.graph()))?;
            context.budget.give_back(reading);
            Ok(update)
        })
    }

    /// The same of a patch, whose text the request has.
    pub(crate) fn start_patch(
        shared: &Arc<Shared>,
        writer: Arc<Writer>,
        request: &UpdateRequest<'_>,
        target: &GraphTarget,
    ) -> Result<RunningUpdate, QueryError> {
        RunningUpdate::begin(shared, writer, request, |context| {
            patch::read(context, request.text, target, request.base)
        })
    }

    fn begin(
        shared: &Arc<Shared>,
        writer: Arc<Writer>,
        request: &UpdateRequest<'_>,
        read: impl FnOnce(&Context) -> Result<Update, QueryError>,
    ) -> Result<RunningUpdate, QueryError> {
        let context = Context::enter_change(
            shared,
            &Request {
                text: request.text,
                base: request.base,
                timeout: request.timeout,
                memory_bytes: request.memory_bytes,
                ..Request::default()
            },
        );
        let begun = Instant::now();
        let update = read(&context)?;
        // Given back with the budget, when the update is over.
        charge(&context, data_bytes(&update) + request.text.len() as u64)?;
        Ok(RunningUpdate {
            context,
            update,
            writer,
            parse: begun.elapsed(),
        })
    }

    /// Names it in the list of running queries.
    pub fn id(&self) -> crate::running::QueryId {
        self.context.entry.id()
    }

    /// Stops it, from anywhere; without effect once its turn is over.
    pub fn token(&self) -> &crate::stop::StopToken {
        &self.context.token
    }

    /// Carries it out.
    pub fn run(self) -> Result<Committed, QueryError> {
        let begun = Instant::now();
        let RunningUpdate {
            context,
            update,
            writer,
            parse,
        } = self;
        let mut documents = Vec::with_capacity(update.operations.len());
        for (number, operation) in update.operations.iter().enumerate() {
            let document = fetch(&context, operation);
            documents.push(document.map_err(|error| placed(error, &update, number))?);
        }
        let options = &context.shared.options;
        let turn_quads = options.update_turn_quads;
        let slice = if takes_long(&update, &documents, turn_quads) {
            Duration::ZERO
        } else {
            options.update_slice
        };
        let job = Job {
            is_awaited: true,
            token: &context.token,
            budget: &context.budget,
            slice,
            turn_quads,
            reads: &|| ReadSet::of_update(&update),
            staged: None,
        };
        let committed = writer.commit(&job, &mut |draft| {
            let operations = update.operations.iter().zip(&documents);
            for (number, (operation, document)) in operations.enumerate() {
                if number > 0 {
                    draft.may_go_on(0)?;
                }
                carry_out(&context, draft, operation, document.as_ref())
                    .map_err(|error| placed(error, &update, number))?;
            }
            Ok(())
        })?;
        if documents.iter().any(Option::is_some) {
            let read = documents.iter().flatten();
            let noted = &writer.published().noted;
            noted.note(read.map(|document| &document.prefixes));
        }
        Ok(Committed {
            parse,
            exec: begun.elapsed(),
            ..committed
        })
    }
}

/// Whether an update is so large, or asks others, that its turn should not begin with it.
fn takes_long(update: &Update, documents: &[Option<Spool>], turn_quads: usize) -> bool {
    let mut quads: u64 = documents.iter().flatten().map(|spool| spool.quads).sum();
    for operation in &update.operations {
        match operation {
            Operation::InsertData { data } | Operation::DeleteData { data } => {
                quads += data.len() as u64;
            }
            Operation::Modify(modify) if asks_others(modify.query.body()) => return true,
            _ => {}
        }
    }
    quads > turn_quads as u64
}

/// Bytes that the data of an update hold.
fn data_bytes(update: &Update) -> u64 {
    let held = update.operations.iter().map(|operation| match operation {
        Operation::InsertData { data } | Operation::DeleteData { data } => data.bytes(),
        _ => 0,
    });
    held.sum::<usize>() as u64
}

/// Reads the document of a `LOAD`. `None` for other operations, and where a silent one failed.
fn fetch(context: &Context, operation: &Operation) -> Result<Option<Spool>, QueryError> {
    let Operation::Load {
        silent,
        source,
        graph,
    } = operation
    else {
        return Ok(None);
    };
    let read = || -> Result<Spool, QueryError> {
        let refuse = |message: String| {
            QueryError::new(Kind::Policy, message).with_hint(
                "name what LOAD may read in the configuration, key service.allow (--allow-service)",
            )
        };
        let Some(client) = context.shared.options.service.clone() else {
            return Err(refuse(format!("LOAD <{}> is not allowed", source.as_str())));
        };
        let left = context
            .token
            .timeout()
            .map_or(Duration::from_mins(1), |timeout| {
                timeout.saturating_sub(context.token.elapsed())
            });
        let document = client
            .document(source.as_str(), left, context.token.clone())
            .map_err(|error| {
                if error.refused {
                    refuse(error.message)
                } else {
                    QueryError::new(Kind::Remote, error.message)
                }
            })?;
        let into = graph
            .clone()
            .map_or(Destination::AsGiven, Destination::Graph);
        Spool::read(
            source.as_str(),
            document.format,
            document.body,
            Some(&document.base),
            &into,
            context,
        )
    };
    match read() {
        Ok(spool) => Ok(Some(spool)),
        Err(error) if *silent && !matches!(error.kind, Kind::Cancelled | Kind::Timeout) => Ok(None),
        Err(mut error) => {
            // A place in a document is not a place in the request.
            if let Some(Position { line, column }) = error.position.take() {
                error.message = format!("line {line}, column {column} of {}", error.message);
            }
            if error.kind == Kind::Syntax {
                error.kind = Kind::Remote;
            }
            Err(error)
        }
    }
}

/// Says which operation failed, where there are several.
fn placed(mut error: QueryError, update: &Update, number: usize) -> QueryError {
    if update.operations.len() > 1 {
        let verb = update.operations[number].verb();
        let of = update.operations.len();
        error.message = format!(
            "operation {} of {of} ({verb}): {}; nothing was changed",
            number + 1,
            error.message
        );
        error.position = error.position.or_else(|| {
            update.positions.get(number).map(|position| Position {
                line: u64::from(position.line),
                column: u64::from(position.column),
            })
        });
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::testing::empty;

    /// Whoever was told that a change is given up would be told a lie by a commit afterwards.
    #[test]
    fn what_was_given_up_is_not_committed_however_late_that_was() {
        let options = Options {
            memory_is_writable: true,
            ..Options::default()
        };
        let database = empty(&options);
        let insertion = UpdateRequest {
            text: "INSERT DATA { <http://e/s> <http://e/p> 1 }",
            ..UpdateRequest::default()
        };
        for slice in [Duration::from_hours(1), Duration::ZERO] {
            let running = database.start_update(&insertion).unwrap();
            let context = &running.context;
            let job = Job {
                token: &context.token,
                budget: &context.budget,
                slice,
                turn_quads: usize::MAX,
                is_awaited: true,
                reads: &|| ReadSet::of_update(&running.update),
                staged: None,
            };
            let refused = running.writer.commit(&job, &mut |draft| {
                carry_out(context, draft, &running.update.operations[0], None)?;
                assert!(context.token.cancel());
                Ok(())
            });
            assert_eq!(refused.unwrap_err().kind, Kind::Cancelled);
            assert_eq!(database.summary().quads, 0);
        }
        let running = database.start_update(&insertion).unwrap();
        let token = running.token().clone();
        running.run().unwrap();
        assert!(!token.cancel());
        assert_eq!(database.summary().quads, 1);
    }
}
