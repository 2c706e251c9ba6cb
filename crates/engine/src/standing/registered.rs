//! A registered query and its evaluation at one close. Those of a template go on in `many`.

use super::many::Many;
use super::planned::{Planned, SourceWindows};
use super::report::{ReportKind, ReportRow, StandingReport};
use super::revised::Revisions;
use super::setting::{Setting, incomplete_before, seed};
use super::windows::{Slices, Windows};
use crate::budget::Budget;
use crate::database::Database;
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::stop::StopToken;
use explore::Limits;
use oxrdf::{GraphName, NamedOrBlankNode, Quad, Term};
use query::standing::Relation;
use rdf::transient::TransientView;
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stream::{Differences, Evaluation, StreamId, Time};

/// A registered query.
pub(super) struct Registered {
    pub(super) name: String,
    pub(super) planned: Planned,
    /// The instances, if it is a template.
    pub(super) many: Option<Box<Many>>,
    pub(super) differences: Differences<ReportRow>,
    /// The streams that it reads.
    pub(super) reads: BTreeSet<StreamId>,
    /// The stream that it writes.
    pub(super) writes: Option<StreamId>,
    pub(super) text: Option<String>,
    pub(super) is_paused: bool,
    pub(super) evaluations: u64,
    pub(super) close: Option<Time>,
    pub(super) failure: Option<String>,
    /// Evaluations since the process began that failed, or whose triples found no room (count).
    pub(super) failures: u64,
    /// What was told, where late items revise it.
    pub(super) revisions: Option<Revisions>,
    /// Answers that reports are compared with and that are not known any more.
    pub(super) lost: Option<Lost>,
}

/// Answers that were made before a stop and could not be made again behind it. Whoever follows the query is told so with the first
/// report that would have been compared with one of them; that report counts from nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    /// The closes of those that a report may still be compared with, ascending; at least one.
    pub(super) closes: Vec<Time>,
    /// Why the last of them could not be made.
    pub(super) why: String,
    /// Whether the next report would be compared with the last of them.
    pub(super) is_last: bool,
}

impl Lost {
    /// Forgets the closes whose answers nothing is compared with any more. Without revisions only the next report is, and
    /// with the last answer alone.
    fn shorten(&mut self, revisions: Option<&Revisions>) {
        let forgotten = match revisions {
            Some(revisions) => revisions.forgotten(&self.closes),
            None => self.closes.len() - usize::from(self.is_last),
        };
        self.closes.drain(..forgotten);
    }
}

/// Which answers the next report of a query is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// None.
    Nothing,
    /// The last one.
    Last,
    /// All that may be revised.
    All,
}

impl Registered {
    /// Which answers its next report is compared with.
    pub(super) fn compared(&self) -> Compared {
        if self.revisions.is_some() {
            Compared::All
        } else if self.planned.query.relation == Relation::Rows {
            Compared::Nothing
        } else {
            Compared::Last
        }
    }

    /// Whether an evaluation of it makes an answer, unless it fails.
    pub(super) fn answers(&self, ready: &Evaluation) -> bool {
        let is_kept_back = self.planned.query.report.nonempty && ready.is_empty();
        let has_instances = self.many.as_ref().is_none_or(|it| it.instances.len() > 0);
        has_instances && !is_kept_back
    }

    /// An answer of before the last stop could not be made again: what would be compared with it counts from nothing.
    pub(super) fn lose(&mut self, close: Time, error: &QueryError) {
        let lost = self.lost.get_or_insert_with(|| Lost {
            closes: Vec::new(),
            why: String::new(),
            is_last: true,
        });
        lost.closes.push(close);
        lost.why.clone_from(&error.message);
        lost.is_last = true;
        lost.shorten(self.revisions.as_ref());
        let (relation, difference) = {
            let standing = &self.planned.query;
            (standing.relation, standing.difference)
        };
        self.differences = Differences::new(relation, difference);
        if let Some(many) = &mut self.many {
            many.differences = Differences::new(relation, difference);
        }
    }

    /// The next report is compared with an answer that is known.
    pub(super) fn found(&mut self) {
        let Some(lost) = &mut self.lost else {
            return;
        };
        lost.is_last = false;
        lost.shorten(self.revisions.as_ref());
        if lost.closes.is_empty() {
            self.lost = None;
        }
    }

    /// What is to be said before the reports of an evaluation that is compared with an answer which is lost. Asked before it is
    /// evaluated.
    pub(super) fn unfounded(&self, ready: &Evaluation) -> Option<QueryError> {
        let lost = self.lost.as_ref().filter(|_| self.answers(ready))?;
        let close = match &self.revisions {
            Some(revisions) if ready.is_revision => revisions.unfounded(ready.close, &lost.closes),
            _ => lost.closes.last().copied().filter(|_| lost.is_last),
        }?;
        let message = format!(
            "the answer at {} ms, which the next report is compared with, could not be made again after a stop: {}",
            close.0, lost.why
        );
        Some(QueryError::new(Kind::Unavailable, message).with_hint(
            "the next report counts from nothing: take its rows as the whole answer, or ask for all rows with RSTREAM",
        ))
    }

    /// The report of an evaluation that failed.
    pub(super) fn failed(&self, ready: &Evaluation, error: QueryError) -> StandingReport {
        StandingReport {
            query: self.name.clone(),
            instance: None,
            close_ms: ready.close.0,
            snapshot: 0,
            kind: ReportKind::Solutions,
            variables: Vec::new(),
            rows: Vec::new(),
            removed: Vec::new(),
            revision: u64::from(ready.is_revision),
            items: ready.windows.iter().map(|it| it.items).sum(),
            incomplete_before_ms: None,
            exec: Duration::ZERO,
            decoding: Duration::ZERO,
            failure: Some(error),
        }
    }
}

/// The triple of a row of a graph.
pub(super) fn quad_of(row: &ReportRow) -> Option<Quad> {
    let [Some(subject), Some(predicate), Some(object)] = &row.0[..] else {
        return None;
    };
    let subject: NamedOrBlankNode = match subject {
        Term::NamedNode(node) => node.clone().into(),
        Term::BlankNode(node) => node.clone().into(),
        Term::Literal(_) | Term::Triple(_) => return None,
    };
    let Term::NamedNode(predicate) = predicate else {
        return None;
    };
    let graph = GraphName::DefaultGraph;
    Some(Quad::new(subject, predicate.clone(), object.clone(), graph))
}

/// The slices of each window.
fn slices_of(ready: &Evaluation) -> SmallVec<[&Slices; 4]> {
    ready.windows.iter().map(|it| &it.slices).collect()
}

/// The windows that an evaluation looks at; those that others at its close have are found among `made`.
pub(super) fn source_windows(
    made: &mut Windows,
    query: &Registered,
    ready: &Evaluation,
) -> SourceWindows {
    let slices = slices_of(ready);
    query.planned.windows(&slices, &mut |slices, is_bag| {
        made.window(ready.close, slices, is_bag)
    })
}

/// The reports of a query, over a graph and the terms that items have: one, or none where it is to be kept back; of a
/// revision those that it changes, of a template those of its instances. `stop` ends it before its time is over.
pub(super) fn evaluated(
    database: &Database,
    graph: &Graph,
    terms: &TransientView<'_>,
    sources: SourceWindows,
    query: &mut Registered,
    ready: &Evaluation,
    stop: &StopToken,
) -> Result<Vec<StandingReport>, QueryError> {
    if !query.answers(ready) {
        return Ok(Vec::new());
    }
    let begun = Instant::now();
    let shared = database.shared();
    let budget = Arc::new(Budget::new(&shared.pool, shared.options.query_memory_bytes));
    let token = stop.part(Some(shared.options.timeout));
    let limits = Limits {
        memory: &*budget,
        stop: &token,
    };
    let constants = query.planned.resolved(terms)?;
    let views = query.planned.views(&constants, &graph.snapshot, sources);
    let times = query.planned.times(&slices_of(ready));
    let mut alone = None;
    let table = query.many.as_mut().map(|many| many.table(&mut alone));
    let plan = query
        .planned
        .plan(graph, &constants, &views, &limits, table)?;
    let setting = Setting {
        graph,
        plan: &plan,
        constants: &constants,
        views: &views,
        terms,
        budget: &budget,
        token: &token,
        times: times.as_ref(),
    };
    if let Some(many) = &mut query.many {
        many.instances.account()?;
        return many.reports(&query.name, &setting, ready);
    }
    let evaluating = setting.evaluating(ready, seed(&query.name, ready.close), &[]);
    let rows = evaluating.rows()?;
    graph.sound()?;
    let kind = evaluating.kind();
    let mut report = StandingReport {
        query: query.name.clone(),
        instance: None,
        close_ms: ready.close.0,
        snapshot: graph.snapshot.number(),
        kind,
        variables: evaluating.variables(),
        rows: Vec::new(),
        removed: Vec::new(),
        revision: 0,
        items: ready.windows.iter().map(|it| it.items).sum(),
        incomplete_before_ms: incomplete_before(ready),
        exec: begun.elapsed(),
        decoding: evaluating.decoding.get(),
        failure: None,
    };
    if ready.is_revision {
        return Ok(revised(query, &report, &rows));
    }
    if let Some(revisions) = &mut query.revisions {
        revisions.told(ready.close, &rows);
    }
    report.rows = match kind {
        ReportKind::Boolean => rows,
        ReportKind::Solutions | ReportKind::Graph => query.differences.report(rows),
    };
    Ok(vec![report])
}

/// The reports that an answer changes which is another one now: of its close and, where that tells differences, of the next.
fn revised(
    query: &mut Registered,
    report: &StandingReport,
    rows: &[ReportRow],
) -> Vec<StandingReport> {
    let Some(revisions) = &mut query.revisions else {
        return Vec::new();
    };
    let close = Time(report.close_ms);
    let changes = revisions.revise(close, rows);
    if let Some((last, answer)) = revisions.last()
        && last == close
    {
        // The next answer is compared with this one.
        let standing = &query.planned.query;
        query.differences =
            Differences::resumed(standing.relation, standing.difference, answer.clone());
    }
    let is_boolean = report.kind == ReportKind::Boolean;
    let reports = changes.into_iter().map(|change| StandingReport {
        close_ms: change.close.0,
        revision: change.revision,
        rows: if is_boolean {
            rows.to_vec()
        } else {
            change.added
        },
        removed: if is_boolean {
            Vec::new()
        } else {
            change.removed
        },
        ..report.clone()
    });
    reports.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use query::standing::Difference;
    use std::collections::BTreeMap;

    fn lost(closes: &[u64], is_last: bool) -> Lost {
        Lost {
            closes: closes.iter().copied().map(Time).collect(),
            why: String::new(),
            is_last,
        }
    }

    #[test]
    fn lost_answers_that_nothing_is_compared_with_are_forgotten() {
        let left = |mut lost: Lost, revisions: Option<&Revisions>| {
            lost.shorten(revisions);
            let closes = lost.closes.iter();
            closes.map(|close| close.0).collect::<Vec<_>>()
        };
        assert_eq!(left(lost(&[10, 20, 30], true), None), [30]);
        assert!(left(lost(&[10, 20, 30], false), None).is_empty());
        let mut revisions = Revisions::new(20, Relation::Insertions, Difference::Multiset);
        // What is below 50 is not revised any more, and what is there is compared with the last answer before.
        assert_eq!(
            left(lost(&[10, 40, 60, 70], true), Some(&revisions)),
            [40, 60, 70]
        );
        revisions.told(Time(70), &[]);
        assert_eq!(left(lost(&[10, 40, 60], false), Some(&revisions)), [40, 60]);
        revisions.keep(Time(45), 0, BTreeMap::new());
        assert_eq!(left(lost(&[10, 40, 60], false), Some(&revisions)), [60]);
        revisions.told(Time(100), &[]);
        assert!(left(lost(&[10, 40, 60], false), Some(&revisions)).is_empty());
    }
}
