//! Evaluations of a hub: a query that is ready, its report, and what it writes into a stream.

use super::super::costs::timed;
use super::super::items::{BlankScope, TimedQuads};
use super::super::log::messages::{Basis, Message, ReportLine, Source};
use super::super::registered::{evaluated, quad_of, source_windows};
use super::super::report::StandingReport;
use super::feed::Said;
use super::terms::SeenTerms;
use super::{Compared, Due, Hub, OF_QUERIES, Reported, Take, may_go_on, refused};
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::panics::guarded;
use oxrdf::Quad;
use query::standing::{Emit, Freshness};
use rdf::transient::TransientView;
use std::ops::ControlFlow;
use std::sync::Arc;
use stream::{Evaluation, SourceId, StreamId, Time};

/// Where so much is to be said already, reports are said at once (bytes): who catches up may have millions.
const UNSAID_BYTES_MAX: usize = 1 << 20;

impl Hub {
    /// Evaluates a query and shows its report; of a template those of its instances. What fails is in the report: other queries go on.
    pub(super) fn evaluate(
        &mut self,
        ready: &Evaluation,
        seen: &SeenTerms,
        take: &mut Take<'_>,
    ) -> Result<ControlFlow<()>, QueryError> {
        let Some(query) = self.queries.get(&ready.query) else {
            return Ok(ControlFlow::Continue(()));
        };
        let graph = if ready.is_revision {
            // It has what came late.
            Ok(Arc::clone(self.revealed.as_ref().unwrap_or(&seen.graph)))
        } else {
            self.graph_at(ready.close, query, &seen.graph)
        };
        self.evaluate_over(ready, graph, seen, take)
    }

    /// Makes an answer again that the next report of its query is compared with.
    pub(super) fn evaluate_due(&mut self, due: &Due) -> Result<(), QueryError> {
        self.may_go_on()?;
        let seen = self.see_terms()?;
        let database = self.base.database()?.clone();
        let terms = TransientView::new(&seen.dictionary, &self.terms.transient);
        if let Some(query) = self.queries.get_mut(due.ready.query) {
            // It was answered then. If it fails all the same, the next report says so.
            let windows = source_windows(&mut self.windows, query, &due.ready);
            let (graph, stop) = (&due.graph, &self.stop);
            let made =
                guarded(|| evaluated(&database, graph, &terms, windows, query, &due.ready, stop));
            // What was stopped has not failed.
            may_go_on(stop)?;
            match made {
                Ok(_) if query.answers(&due.ready) => query.found(),
                Ok(_) => {}
                Err(error) => query.lose(due.ready.close, &error),
            }
            // Instances that came later had no answer then.
            if let Some(many) = &mut query.many {
                many.differences.retain(|(number, _)| *number <= due.made);
            }
        }
        Ok(())
    }

    fn evaluate_over(
        &mut self,
        ready: &Evaluation,
        graph: Result<Arc<Graph>, QueryError>,
        seen: &SeenTerms,
        take: &mut Take<'_>,
    ) -> Result<ControlFlow<()>, QueryError> {
        let database = self.base.database()?.clone();
        let terms = TransientView::new(&seen.dictionary, &self.terms.transient);
        let Some(query) = self.queries.get_mut(ready.query) else {
            return Ok(ControlFlow::Continue(()));
        };
        let windows = timed(&mut self.costs.windows, || {
            source_windows(&mut self.windows, query, ready)
        });
        let unfounded = query.unfounded(ready);
        let snapshot = graph.as_ref().map_or(0, |graph| graph.snapshot.number());
        let evaluated = timed(&mut self.costs.evaluating, || {
            guarded(|| {
                let graph = graph?;
                evaluated(&database, &graph, &terms, windows, query, ready, &self.stop)
            })
        });
        // What was stopped has not failed.
        may_go_on(&self.stop)?;
        query.evaluations += 1;
        query.close = query.close.max(Some(ready.close));
        query.failure = evaluated.as_ref().err().map(|error| error.message.clone());
        let has_answer = evaluated.is_ok();
        let basis = match query.compared() {
            Compared::Nothing => Basis::Unsaid,
            _ if has_answer && query.answers(ready) => Basis::Snapshot(snapshot),
            Compared::Last | Compared::All => Basis::Nothing,
        };
        let policy = query.planned.query.report;
        let unfounded = unfounded.filter(|_| has_answer);
        let is_repeatable = has_answer
            && unfounded.is_none()
            && query.planned.query.freshness == Freshness::Aligned;
        let may_repeat = query.planned.query.emit == Emit::AtLeastOnce;
        let mut reports = evaluated.unwrap_or_else(|error| vec![query.failed(ready, error)]);
        let is_unfounded = unfounded.is_some();
        if let Some(error) = unfounded {
            query.failure = Some(error.message.clone());
            reports.insert(0, query.failed(ready, error));
        }
        if has_answer && query.answers(ready) && !ready.is_revision {
            query.found();
        }
        let (writes, name) = (query.writes, query.name.clone());
        if let Some(target) = writes {
            let rows = reports.iter().flat_map(|report| &report.rows);
            let quads: Vec<Quad> = rows.filter_map(quad_of).collect();
            let written = self.write(target, &name, ready, quads);
            if written.is_err() || !has_answer || is_unfounded {
                self.note_gap(target, ready.close)?;
            }
            if let (Err(error), Some(query)) = (written, self.queries.get_mut(ready.query)) {
                query.failure = Some(error.message);
            }
        }
        if let Some(query) = self.queries.get_mut(ready.query) {
            query.failures += u64::from(query.failure.is_some());
        }
        reports.retain(|report| !(policy.rows && report.has_no_rows()));
        let reported = self.noted(name, ready.close, basis, reports)?;
        if !(is_repeatable || may_repeat) {
            self.withheld.extend(reported);
            return self.show_withheld(take);
        }
        for reported in reported {
            if take(reported)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Notes in the log how far a query has come, and what it says there.
    fn noted(
        &mut self,
        query: String,
        close: Time,
        basis: Basis,
        reports: Vec<StandingReport>,
    ) -> Result<Vec<Reported>, QueryError> {
        if !self.base.keeps_log() {
            let unsaid = |report| Reported { report, line: None };
            return Ok(reports.into_iter().map(unsaid).collect());
        }
        let json = |report: &StandingReport| {
            let json = report.json();
            Ok(ReportLine {
                instance: report.instance.as_deref().map(str::to_owned),
                json: json.map_err(|error| QueryError::new(Kind::Internal, error))?,
            })
        };
        let lines: Vec<ReportLine> = reports
            .iter()
            .map(json)
            .collect::<Result<_, QueryError>>()?;
        let shown: Vec<Arc<str>> = lines.iter().map(|line| line.json.as_str().into()).collect();
        self.said(&Message::Report {
            query,
            close_ms: close.0,
            basis,
            lines,
        });
        if self.unsaid.len() > UNSAID_BYTES_MAX {
            // What fails is said with the next record.
            drop(self.tell(self.is_needed));
        }
        let reported = reports.into_iter().zip(shown);
        let reported = reported.map(|(report, line)| Reported {
            report,
            line: Some(line),
        });
        Ok(reported.collect())
    }

    /// Shows reports that could not be made again, once the log has them. The others come again as they were if a crash
    /// takes them back, with the same numbers.
    pub(super) fn show_withheld(
        &mut self,
        take: &mut Take<'_>,
    ) -> Result<ControlFlow<()>, QueryError> {
        if self.withheld.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        self.settle()?;
        for reported in std::mem::take(&mut self.withheld) {
            if take(reported)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// What a query had for a stream at a moment is not there: whoever reads the stream is told that something is missing.
    fn note_gap(&mut self, target: StreamId, close: Time) -> Result<(), QueryError> {
        self.streams.note_gap(target, close).map_err(refused)?;
        if let Some(settings) = self.settings.get(&target) {
            let message = Message::Gap {
                stream: settings.name.clone(),
                time_ms: close.0,
            };
            // With the report that it is of.
            self.said(&message);
            self.is_needed |= self.base.keeps_log();
        }
        Ok(())
    }

    /// Gives the triples of a report to the stream that its query writes, as one item at its close. Where there is no room for
    /// them the query does not wait, since its other consumers would wait with it, and the stream's own time: the error says why,
    /// and the moment is a gap of the stream.
    fn write(
        &mut self,
        target: StreamId,
        query: &str,
        ready: &Evaluation,
        quads: Vec<Quad>,
    ) -> Result<(), QueryError> {
        if quads.is_empty() {
            return Ok(());
        }
        let source = SourceId(ready.query.0 + OF_QUERIES);
        let item = TimedQuads {
            time_ms: ready.close.0,
            quads,
        };
        let said = Said {
            source: Source::Query(query.to_owned()),
            next_position: None,
            // It follows from what was said before: with the report, not before it.
            is_later: true,
        };
        let mut scope = BlankScope::default();
        self.accept(target, source, said, Some(&mut scope), &[item])?;
        Ok(())
    }
}
