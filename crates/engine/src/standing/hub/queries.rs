//! Standing queries of a hub: registered, described, paused and dropped.
//!
//! A query that writes a stream is a source of it. Streams and queries have no circles: a query whose output could reach
//! one of its own windows is refused.

use super::super::info::{
    HubStream, QueryInfo, WindowInfo, dialect_word, form_word, relation_word,
};
use super::super::log::messages::Message;
use super::super::many::Many;
use super::super::planned::Planned;
use super::super::registered::Registered;
use super::super::revised::Revisions;
use super::{Hub, OF_QUERIES, no_query, refused};
use crate::error::{Kind, QueryError};
use query::plan::Form;
use query::standing::{Extent, Output, StandingQuery};
use std::collections::BTreeSet;
use std::sync::Arc;
use stream::{Differences, QueryId, Schedule, SourceId, StreamId, Time};

impl Hub {
    /// The moment from which on a query that is registered now is evaluated (milliseconds): its streams have come so far.
    pub fn reached_ms(&mut self, query: &StandingQuery) -> Result<u64, QueryError> {
        self.make_sides(query)?;
        let mut reached = 0;
        for name in query.streams() {
            let id = self.stream(name)?;
            let covered = self.streams.status(id).map_err(refused)?.covered.0;
            let is_new = covered == 0 && self.settings[&id].arrival_time;
            // It has always been, and its clock has said nothing yet.
            let covered = if is_new { self.now_ms() } else { covered };
            reached = reached.max(covered);
        }
        Ok(reached)
    }

    /// The number of a query.
    pub(super) fn query(&self, name: &str) -> Result<QueryId, QueryError> {
        self.queries.find(name).ok_or_else(|| no_query(name))
    }

    /// Forgets a query.
    pub fn unregister(&mut self, name: &str) -> Result<(), QueryError> {
        let id = self.query(name)?;
        self.say(&Message::DropQuery {
            name: name.to_owned(),
        })?;
        self.due.remove(&id);
        self.windows.clear();
        self.streams.unregister(id).map_err(refused)?;
        if let Some(query) = self.queries.remove(id)
            && let Some(target) = query.writes
        {
            let source = SourceId(id.0 + OF_QUERIES);
            self.streams.leave(target, source).map_err(refused)?;
        }
        Ok(())
    }

    /// Evaluates a query no more until it is resumed.
    pub fn pause(&mut self, name: &str) -> Result<(), QueryError> {
        let id = self.query(name)?;
        self.say(&Message::Pause {
            name: name.to_owned(),
        })?;
        self.windows.clear();
        self.streams.pause(id).map_err(refused)?;
        if let Some(query) = self.queries.get_mut(id) {
            query.is_paused = true;
            if let Some(target) = query.writes {
                // Whoever reads what it writes does not wait for it.
                let source = SourceId(id.0 + OF_QUERIES);
                self.streams.leave(target, source).map_err(refused)?;
            }
        }
        Ok(())
    }

    /// Goes on with a query that was paused, from where its streams are.
    pub fn resume(&mut self, name: &str) -> Result<(), QueryError> {
        let id = self.query(name)?;
        let query = Arc::clone(&self.queries[&id].planned.query);
        let reached = self.reached_ms(&query)?;
        self.say(&Message::Resume {
            name: name.to_owned(),
        })?;
        self.streams.resume(id, Time(reached)).map_err(refused)?;
        if let Some(query) = self.queries.get_mut(id) {
            query.is_paused = false;
            if let Some(target) = query.writes {
                let source = SourceId(id.0 + OF_QUERIES);
                self.streams.join(target, source).map_err(refused)?;
            }
        }
        Ok(())
    }

    /// Whether a query is a `CONSTRUCT`: the rows of its reports are triples.
    pub(in crate::standing) fn gives_graphs(&self, name: &str) -> Result<bool, QueryError> {
        let query = &self.queries[&self.query(name)?].planned.query;
        Ok(matches!(query.query.form(), Form::Construct(_)))
    }

    /// The registered queries, by name.
    pub fn queries(&self) -> Vec<QueryInfo> {
        let info = |query: &Registered| QueryInfo {
            name: query.name.clone(),
            text: query.text.clone(),
            streams: query
                .planned
                .query
                .streams()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            dialect: dialect_word(query.planned.query.dialect),
            pragmas: query.planned.query.pragmas.clone(),
            windows: query
                .planned
                .query
                .windows
                .iter()
                .map(WindowInfo::of)
                .collect(),
            form: form_word(query.planned.query.query.form()),
            relation: relation_word(query.planned.query.relation),
            output: match &query.planned.query.output {
                Output::Stream(name) => Some(name.clone()),
                Output::Table => None,
            },
            template: query.many.as_ref().map(|many| many.info()),
            is_paused: query.is_paused,
            evaluations: query.evaluations,
            close_ms: query.close.map(|close| close.0),
            failure: query.failure.clone(),
            failures: query.failures,
            // Whoever keeps the reports says so.
            reports: 0,
            last: None,
        };
        let mut infos: Vec<QueryInfo> = self.queries.values().map(info).collect();
        infos.sort_by(|one, other| one.name.cmp(&other.name));
        infos
    }

    /// The plan of a query as it was made last; `None` before its first evaluation.
    pub fn explain(&self, name: &str) -> Result<Option<String>, QueryError> {
        Ok(self.queries[&self.query(name)?].planned.explain())
    }

    /// What the text of a query probably did not mean: spans of its windows that are no multiple of the grain of their
    /// streams. They are answered to the millisecond, and cost more and come later than others.
    pub(in crate::standing) fn warnings(&self, name: &str) -> Result<Vec<String>, QueryError> {
        let query = &self.queries[&self.query(name)?].planned.query;
        let mut warnings = Vec::new();
        for window in &query.windows {
            let grain_ms = self.settings[&self.stream(&window.stream)?].grain_ms;
            let stream = &window.stream;
            for (what, span_ms) in spans_of(window.extent) {
                if !span_ms.is_multiple_of(grain_ms) {
                    warnings.push(format!(
                        "the {what} of {span_ms} ms is no multiple of the grain of the stream <{stream}>, {grain_ms} ms: a window \
                         waits for the end of the batch in which it closes"
                    ));
                }
            }
        }
        Ok(warnings)
    }

    /// Registers a query from this moment on, by the name that its text gives or else this one. A stream that it writes and
    /// that is not there is made.
    pub fn register(
        &mut self,
        query: StandingQuery,
        otherwise: &str,
        at_ms: u64,
    ) -> Result<(), QueryError> {
        self.register_text(query, None, otherwise, None, at_ms)?;
        Ok(())
    }

    /// The same with its text, which is shown to people, and the instances of a template; gives its name.
    pub(in crate::standing) fn register_text(
        &mut self,
        query: StandingQuery,
        many: Option<Box<Many>>,
        otherwise: &str,
        text: Option<&str>,
        at_ms: u64,
    ) -> Result<String, QueryError> {
        let name = query.name.clone().unwrap_or_else(|| otherwise.to_owned());
        let name = self.free_name(&name)?;
        self.make_sides(&query)?;
        let find = |name: &str| self.streams.find(name);
        let schedule = Schedule::of(&query, find).map_err(|error| refused(error.into()))?;
        let reads = schedule
            .windows
            .iter()
            .map(|window| window.stream)
            .collect();
        let differences = Differences::new(query.relation, query.difference);
        let revisions = revisions_of(&query, schedule.revise_ms)?;
        self.refuse_circle(&query, &reads)?;
        let query = Arc::new(query);
        let planned = Planned::new(Arc::clone(&query))?;
        if let Some(text) = text {
            let instances = self.kept_instances(many.as_deref(), 0)?;
            self.say(&Message::Query {
                name: name.clone(),
                text: text.to_owned(),
                at_ms,
                instances,
            })?;
        }
        let writes = self.output(&query, at_ms)?;
        let id = QueryId(self.made);
        self.streams
            .register(id, schedule, Time(at_ms))
            .map_err(refused)?;
        self.made += 1;
        self.queries.insert(
            id,
            Registered {
                name: name.clone(),
                planned,
                many,
                differences,
                reads,
                writes,
                text: text.map(str::to_owned),
                is_paused: false,
                evaluations: 0,
                close: None,
                failure: None,
                failures: 0,
                revisions,
                lost: None,
            },
        );
        Ok(name)
    }

    /// A name for a query that has none.
    pub(in crate::standing) fn unused_name(&mut self) -> String {
        self.queries.unused_name()
    }

    /// The name; an error where there is a query of it.
    pub(in crate::standing) fn free_name(&self, name: &str) -> Result<String, QueryError> {
        if self.queries.find(name).is_some() {
            let message =
                format!("a query `{name}` is registered: drop it first, or give another name");
            return Err(QueryError::new(Kind::Conflict, message));
        }
        Ok(name.to_owned())
    }

    /// An error where what a query writes could reach what it reads, or where it has nothing to write.
    pub(super) fn refuse_circle(
        &self,
        query: &StandingQuery,
        reads: &BTreeSet<StreamId>,
    ) -> Result<(), QueryError> {
        let Output::Stream(name) = &query.output else {
            return Ok(());
        };
        if !matches!(query.query.form(), Form::Construct(_)) {
            let message = format!("only CONSTRUCT has triples for a stream <{name}>");
            return Err(QueryError::new(Kind::Syntax, message)
                .with_hint("REGISTER QUERY for a table of solutions"));
        }
        let mut reached: BTreeSet<StreamId> = self.streams.find(name).into_iter().collect();
        loop {
            let before = reached.len();
            for (_, query) in self.queries.writers() {
                if !query.reads.is_disjoint(&reached) {
                    reached.extend(query.writes);
                }
            }
            let sides: Vec<StreamId> = reached.iter().filter_map(|it| self.side_of(*it)).collect();
            reached.extend(sides);
            if reached.len() == before {
                break;
            }
        }
        if reached.is_disjoint(reads) {
            return Ok(());
        }
        let message = format!("the stream <{name}> would feed itself through this query");
        Err(QueryError::new(Kind::Conflict, message))
    }

    /// The stream that a query writes, made where it is not there: then nothing of it is stored.
    pub(super) fn output(
        &mut self,
        query: &StandingQuery,
        at_ms: u64,
    ) -> Result<Option<StreamId>, QueryError> {
        let Output::Stream(name) = &query.output else {
            return Ok(None);
        };
        self.refuse_side_name(name)?;
        if !self.has_stream(name) {
            let stream = HubStream {
                absorb: Some(Vec::new()),
                ..HubStream::new(name)
            };
            // The log tells of the query, and so of it.
            self.create_again(&stream, at_ms)?;
        }
        let target = self.streams.find(name);
        assert!(target.is_some(), "it was made where it was not there");
        if let Some(target) = target {
            let source = SourceId(self.made + OF_QUERIES);
            self.streams.join(target, source).map_err(refused)?;
        }
        Ok(target)
    }
}

/// The spans of a window that should be whole batches (milliseconds), by name.
fn spans_of(extent: Extent) -> Vec<(&'static str, u64)> {
    match extent {
        Extent::Time {
            range_ms, step_ms, ..
        } => vec![("range", range_ms), ("step", step_ms)],
        Extent::Past {
            from_ms,
            to_ms,
            step_ms,
            ..
        } => vec![("beginning", from_ms), ("end", to_ms), ("step", step_ms)],
        Extent::Sliding { range_ms } => vec![("range", range_ms)],
        Extent::Count { .. } | Extent::Now | Extent::All => Vec::new(),
    }
}

/// What a query tells that is revised for so long (milliseconds).
fn revisions_of(
    query: &StandingQuery,
    revise_ms: Option<u64>,
) -> Result<Option<Revisions>, QueryError> {
    let Some(keep_ms) = revise_ms else {
        return Ok(None);
    };
    if let Output::Stream(stream) = &query.output {
        let message = format!("what was written into the stream <{stream}> is not taken back");
        return Err(QueryError::new(Kind::Unsupported, message)
            .with_hint("late=side or late=drop for a query that writes a stream"));
    }
    let revisions = Revisions::new(keep_ms, query.relation, query.difference);
    Ok(Some(revisions))
}
