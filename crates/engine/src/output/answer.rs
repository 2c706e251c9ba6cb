//! The four forms of a query's answer, from chunks of ids to a sink.
//!
//! | form | what happens to a chunk |
//! |---|---|
//! | `SELECT` | its columns are decoded and passed on |
//! | `ASK` | one row answers |
//! | `CONSTRUCT` | the template's columns are decoded and made into triples |
//! | `DESCRIBE` | its vertices are kept; when the walk is over their descriptions are found |

use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::output::construct::{Construction, Labels};
use crate::output::decode::Decoder;
use crate::output::{Rows, Sink};
use crate::parts::terms::{self, Terms};
use crate::prepared::Query;
use crate::request::context::Context;
use crate::request::walking::stop_reason;
use crate::run::{Finished, Folded};
use explore::describe::{Edges, Seeds, describe};
use explore::{Checksum, Limits, Prepared, WalkError};
use query::plan::{Form, Node, Slot, TemplateTerm};
use std::cell::RefCell;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Query {
    /// Walks, decodes and gives the answer to `sink`, on the calling thread with helpers for a heavy
    /// query. Blocks until the answer is complete or has failed.
    pub fn run(&mut self, sink: &mut dyn Sink) -> Result<Finished, QueryError> {
        let begun = Instant::now();
        if let Some(warnings) = &self.warnings {
            sink.warnings(warnings).map_err(output)?;
        }
        let rows = match self.plan.form.clone() {
            Form::Ask => {
                let mut found = false;
                self.walk(&mut |_, chunk| {
                    found = !chunk.is_empty();
                    Ok(ControlFlow::Break(()))
                })?;
                sink.boolean(found).map_err(output)?;
                1
            }
            Form::Select(slots) => {
                sink.head(&self.variables()).map_err(output)?;
                let rows = self.select(&slots, sink)?;
                sink.finish().map_err(output)?;
                rows
            }
            Form::Construct(template) => {
                sink.graph_head(self.prefixes()).map_err(output)?;
                let triples = self.construct(&template, sink)?;
                sink.finish().map_err(output)?;
                triples
            }
            Form::Describe(nodes) => {
                sink.graph_head(self.prefixes()).map_err(output)?;
                let triples = self.describe(&nodes, sink)?;
                // Descriptions are read behind the walk.
                self.graph.sound()?;
                sink.finish().map_err(output)?;
                triples
            }
        };
        Ok(Finished {
            rows,
            exec: begun.elapsed(),
            peak_bytes: self.context.budget.peak_bytes(),
        })
    }

    /// As [`Query::run`], within a slice of time: for a thread that has others to serve. After an error,
    /// which the end of the slice is too, what the sink got is of no use; ask again, and [`Query::run`]
    /// that.
    pub fn run_slice(
        &mut self,
        sink: &mut dyn Sink,
        slice: Duration,
    ) -> Result<Finished, QueryError> {
        self.slice_end = Some(Instant::now() + slice);
        self.run(sink)
    }

    /// Walks and folds the rows' ids into a checksum: no term is decoded.
    pub fn run_folded(&mut self) -> Result<Folded, QueryError> {
        let slots = match &self.plan.form {
            Form::Select(slots) => slots.clone(),
            Form::Ask | Form::Construct(_) | Form::Describe(_) => Vec::new(),
        };
        let mut checksum = Checksum::new(&slots);
        self.walk(&mut |_, chunk| {
            checksum.add(chunk);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Folded {
            rows: checksum.rows(),
            checksum: checksum.sum(),
        })
    }

    fn select(&mut self, slots: &[Slot], sink: &mut dyn Sink) -> Result<u64, QueryError> {
        let mut total = 0;
        self.decode(slots, &mut |rows, _, _| {
            total += rows.len as u64;
            sink.rows(rows).map_err(output)
        })?;
        Ok(total)
    }

    fn construct(
        &mut self,
        template: &[[TemplateTerm; 3]],
        sink: &mut dyn Sink,
    ) -> Result<u64, QueryError> {
        let budget = Arc::clone(&self.context.budget);
        let token = self.context.token.clone();
        // The walk borrows the query, and the template's constants may be long: they are shared.
        let plan = Arc::clone(&self.plan);
        let constants = &plan.constants;
        let labels = if self.names_by_solution {
            Labels::OfSolution
        } else {
            Labels::Drawn(self.chance())
        };
        let mut made = Construction::new(template, constants, &labels, &budget);
        let slots = made.slots();
        let mut total = 0;
        self.decode(&slots, &mut |rows, chunk, first| {
            made.make(rows, chunk, first, &mut |triples| {
                total += triples.len as u64;
                sink.rows(triples).map_err(output)?;
                match token.reason() {
                    Some(reason) => Err(WalkError::Stopped(stop_reason(reason)).into()),
                    None => Ok(()),
                }
            })
        })?;
        Ok(total)
    }

    /// Decodes these columns of every row, a batch at a time: the batch, the chunk that it is of, and
    /// the number of its first row there.
    fn decode(
        &mut self,
        slots: &[Slot],
        take: &mut dyn FnMut(&Rows, &explore::Chunk, usize) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        // The walk borrows the query; these are shared with it, not taken from it.
        let (token, budget) = (self.context.token.clone(), Arc::clone(&self.context.budget));
        let graph = Arc::clone(&self.graph);
        let context = self.context.clone();
        let mut decoder = Decoder::new(slots.len(), &budget);
        self.walk(&mut |prepared, chunk| {
            let len = usize::try_from(chunk.rows()).map_err(|_| WalkError::TooManyRows)?;
            let mut from = 0;
            while from < len {
                let columns = |column: usize| Some(&chunk.column(slots[column])?[from..]);
                let decoded = match Terms::of(&graph, &context.budget) {
                    Terms::Here(graph) => {
                        decoder.decode_columns(&graph.dictionary, prepared, len - from, columns)?
                    }
                    Terms::Parts(visit) => {
                        let limits = context.limits();
                        let wanted = (0..slots.len()).filter_map(columns);
                        terms::fetch_columns(&visit, &limits, len - from, wanted)?;
                        decoder.decode_columns(&visit.lexicon(), prepared, len - from, columns)?
                    }
                };
                assert!(decoded > 0, "a batch has a row");
                take(&decoder.rows, chunk, from)?;
                from += decoded;
                if let Some(reason) = token.look() {
                    return Err(WalkError::Stopped(stop_reason(reason)).into());
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    fn describe(&mut self, nodes: &[Node], sink: &mut dyn Sink) -> Result<u64, QueryError> {
        let graph = Arc::clone(&self.graph);
        let context = self.context.clone();
        let budget = Arc::clone(&context.budget);
        let mut slots = Vec::new();
        let mut named = Vec::new();
        for node in nodes {
            match node {
                Node::Constant(constant) => named.extend(self.constants[constant.0 as usize]),
                Node::Slot(slot) => slots.push(*slot),
            }
        }
        let token = self.context.token.clone();
        let limits = Limits {
            memory: &*budget,
            stop: &token,
        };
        let seeds = RefCell::new(Seeds::new(limits));
        let mut total = 0;
        let mut decoder = Decoder::new(3, &budget);
        self.walk_then(
            &mut |_, chunk| {
                // What the text names is a column of every row, as the algebra has it: without a
                // solution it is not described.
                if !chunk.is_empty() {
                    seeds.borrow_mut().add(&named)?;
                }
                for column in slots.iter().filter_map(|slot| chunk.column(*slot)) {
                    seeds.borrow_mut().add(column)?;
                }
                Ok(ControlFlow::Continue(()))
            },
            &mut |prepared, limits| {
                let mut failed = None;
                let mut each = |edges: &Edges| {
                    total += edges[0].len() as u64;
                    let written =
                        write_edges(&graph, &context, prepared, edges, &mut decoder, sink);
                    written.map_err(|error| {
                        failed = Some(error);
                        WalkError::Stopped(explore::StopReason::Cancelled)
                    })
                };
                let seeds = &mut seeds.borrow_mut();
                let described = match &graph.parts {
                    None => describe(prepared, &graph.snapshot, limits, seeds, &mut each),
                    Some(parts) => {
                        let view = parts.visit(&context.budget).1.view();
                        describe(prepared, &view, limits, seeds, &mut each)
                    }
                };
                failed.map_or(Ok(()), Err)?;
                Ok(described?)
            },
        )?;
        Ok(total)
    }
}

/// Decodes some edges and passes them on, a batch at a time.
fn write_edges(
    graph: &Graph,
    context: &Context,
    prepared: &Prepared<'_>,
    edges: &Edges,
    decoder: &mut Decoder<'_>,
    sink: &mut dyn Sink,
) -> Result<(), QueryError> {
    let are_equal = edges.iter().all(|column| column.len() == edges[0].len());
    assert!(are_equal, "edges are columns of equal length");
    let mut from = 0;
    while from < edges[0].len() {
        let columns = |column: usize| Some(&edges[column][from..]);
        let left = edges[0].len() - from;
        let before = from;
        from += match Terms::of(graph, &context.budget) {
            Terms::Here(graph) => {
                decoder.decode_columns(&graph.dictionary, prepared, left, columns)?
            }
            Terms::Parts(visit) => {
                let limits = context.limits();
                terms::fetch_columns(&visit, &limits, left, (0..3).filter_map(columns))?;
                decoder.decode_columns(&visit.lexicon(), prepared, left, columns)?
            }
        };
        sink.rows(&decoder.rows).map_err(output)?;
        assert!(from > before, "a batch has a row");
    }
    Ok(())
}

/// What a sink's failure is to a query. Writers say `InvalidInput` of what their format cannot carry.
#[allow(clippy::needless_pass_by_value)] // for `map_err`
pub(crate) fn output(error: io::Error) -> QueryError {
    if error.kind() == io::ErrorKind::InvalidInput {
        return QueryError::new(Kind::Format, error);
    }
    let is_broken = error.kind() == io::ErrorKind::BrokenPipe;
    let what = if is_broken {
        QueryError::BROKEN_PIPE.to_owned()
    } else {
        error.to_string()
    };
    QueryError::new(Kind::Output, what)
}
