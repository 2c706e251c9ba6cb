//! A hub that is made of what the log and a generation say: how it stands as a value, and what messages do again.
//!
//! Messages are obeyed, not judged: what was refused then is refused now, and changes nothing either time. Only seals must be
//! what they were, because the graph has changed by them.

use super::super::instances::Instances;
use super::super::items::too_large;
use super::super::log::image::{HubImage, QueryPicture, StreamPicture};
use super::super::log::items::items_of;
use super::super::log::messages::{Basis, ItemsMessage, Source};
use super::super::reading::{read_template_with, read_with};
use super::super::report::ReportRow;
use super::super::revised::Revisions;
use super::base::Base;
use super::{Compared, Due, Hub, OF_QUERIES, refused};
use crate::budget::Budget;
use crate::database::Database;
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::options::Options;
use rdf::dictionary::LiveDictionary;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use stream::{Differences, Evaluation, PartId, QueryId, SealPoint, SourceId, StreamId, Time};

impl Hub {
    /// One of a log that is being replayed.
    pub(in crate::standing) fn replaying(live: &Arc<LiveDictionary>) -> Hub {
        Hub::over(Base::Replaying(Arc::clone(live)))
    }

    /// The log is replayed, and the database open.
    pub(in crate::standing) fn attach(&mut self, database: Database) {
        let shared = database.shared();
        for query in self.queries.values_mut() {
            if let Some(many) = &mut query.many {
                let budget = Budget::new(&shared.pool, shared.options.query_memory_bytes);
                // What they hold is held, whether it is granted or not.
                drop(many.instances.draw_on(budget));
            }
        }
        // What the log and the generation brought has ids of the dictionary, all of it.
        let live = database.graph().dictionary.live().counts();
        self.terms.given = self.terms.given.or_more(live);
        self.draw_on(&database);
        self.base = Base::Open(database);
        self.reach(&[]);
    }

    /// How it stands, without the journals. An error where something is known here and nowhere else.
    pub(in crate::standing) fn image(&mut self) -> Result<HubImage, QueryError> {
        // The image has all that was done: no record behind it may say it again.
        self.settle()?;
        let is_at_rest = self.unsaid.is_empty()
            && self.withheld.is_empty()
            && self.due.is_empty()
            && self.late_quads.is_empty()
            && self.streams.next_late_stream().is_none();
        if !is_at_rest {
            let message = "reports of standing queries wait for the log";
            return Err(QueryError::new(Kind::Conflict, message));
        }
        let mut image = HubImage {
            seed: self.seed(),
            terms: self.terms.transient.by_id(),
            ..HubImage::default()
        };
        for (id, settings) in &self.settings {
            image.streams.push(self.picture_of(*id, settings)?);
        }
        for (id, query) in self.queries.iter() {
            let progress = self.streams.progress(*id).map_err(refused)?;
            let (first, extra) = self.streams.history(*id).map_err(refused)?;
            image.queries.push(QueryPicture {
                name: query.name.clone(),
                text: query.text.clone().unwrap_or_default(),
                from_ms: progress.0,
                is_paused: query.is_paused,
                evaluations: query.evaluations,
                close_ms: query.close.map(|close| close.0),
                failure: query.failure.clone(),
                state: query.differences.state().clone(),
                first_ms: first.0,
                extra_ms: extra.iter().map(|time| time.0).collect(),
                answers: query.revisions.iter().flat_map(kept).collect(),
                lost: query.lost.clone(),
                instances: self.kept_instances(query.many.as_deref(), 0)?,
                instance_state: match &query.many {
                    Some(many) => many.differences.state().clone(),
                    None => BTreeMap::new(),
                },
            });
        }
        Ok(image)
    }

    fn picture_of(
        &self,
        id: StreamId,
        settings: &super::HubStream,
    ) -> Result<StreamPicture, QueryError> {
        let mut stream = self.streams.image(id).map_err(refused)?;
        let outside = self.sources.of(id).into_iter();
        let outside = outside
            .map(|(name, number, position)| (number, Source::Outside(name.to_owned()), position));
        let queries = self.queries.iter().map(|(number, query)| {
            let source = Source::Query(query.name.clone());
            (SourceId(number.0 + OF_QUERIES), source, None)
        });
        let mut sources = Vec::new();
        let mut places: BTreeMap<SourceId, u64> = BTreeMap::new();
        let known: BTreeSet<SourceId> = stream.sources.iter().map(|(known, _)| *known).collect();
        for (number, source, position) in outside.chain(queries) {
            if known.contains(&number) || position.is_some() {
                places.insert(number, sources.len() as u64);
                sources.push((source, position));
            }
        }
        stream.sources.retain_mut(|(number, _)| {
            let place = places.get(number);
            place.is_some_and(|place| {
                *number = SourceId(*place);
                true
            })
        });
        Ok(StreamPicture {
            settings: settings.clone(),
            late_items: self.late.get(&id).map_or(0, |late| late.items),
            side_promise: self.is_side(id).then_some(stream.watermark),
            stream,
            sources,
        })
    }

    /// Stands as an image says. Only of a hub that has nothing yet.
    pub(in crate::standing) fn restore(
        &mut self,
        image: &HubImage,
        options: &Options,
    ) -> Result<(), QueryError> {
        let number_of: BTreeMap<&str, u64> = image
            .queries
            .iter()
            .map(|query| query.name.as_str())
            .zip(0..)
            .collect();
        for picture in &image.streams {
            let mut stream = picture.stream.clone();
            let mut upcoming = self.sources.upcoming();
            let numbers: Vec<SourceId> = picture
                .sources
                .iter()
                .map(|(source, _)| match source {
                    Source::Outside(_) => upcoming.next().expect("numbers do not end"),
                    Source::Query(name) => {
                        SourceId(number_of.get(name.as_str()).copied().unwrap_or(0) + OF_QUERIES)
                    }
                })
                .collect();
            for (number, _) in &mut stream.sources {
                *number = numbers[number.0 as usize];
            }
            let definition = self.definition(&picture.settings)?;
            let made = self.streams.resume_stream(definition, &stream);
            let id = made.map_err(refused)?;
            self.settings.insert(id, picture.settings.clone());
            self.know_sources(id, &picture.sources);
        }
        for picture in &image.streams {
            self.late_again(picture)?;
        }
        for query in &image.queries {
            self.query_again(
                &query.name,
                &query.text,
                query.instances.as_deref(),
                query.from_ms,
                options,
            )?;
            let id = self.query(&query.name)?;
            if query.is_paused {
                self.pause(&query.name)?;
            }
            if let Some(registered) = self.queries.get_mut(id) {
                let standing = &registered.planned.query;
                let (relation, difference) = (standing.relation, standing.difference);
                if let Some(many) = &mut registered.many {
                    let state = query.instance_state.clone();
                    many.differences = Differences::resumed(relation, difference, state);
                }
                registered.evaluations = query.evaluations;
                registered.close = query.close_ms.map(Time);
                registered.failure.clone_from(&query.failure);
                registered.lost.clone_from(&query.lost);
                registered.differences =
                    Differences::resumed(relation, difference, query.state.clone());
                if let Some(revisions) = &mut registered.revisions {
                    for (close, revision, rows) in &query.answers {
                        revisions.keep(Time(*close), *revision, rows.clone());
                    }
                }
            }
            let extra: Vec<Time> = query.extra_ms.iter().copied().map(Time).collect();
            self.streams.remember(id, Time(query.first_ms), &extra);
        }
        self.streams.resumed();
        Ok(())
    }

    /// Knows the sources of a stream, with the positions of their next items where they count them.
    fn know_sources(&mut self, stream: StreamId, sources: &[(Source, Option<u64>)]) {
        for (source, position) in sources {
            if let Source::Outside(name) = source {
                self.sources.spoke(stream, name, *position);
            }
        }
    }

    /// Registers a query that the log or a generation tells of.
    pub(in crate::standing) fn query_again(
        &mut self,
        name: &str,
        text: &str,
        instances: Option<&[u8]>,
        at_ms: u64,
        options: &Options,
    ) -> Result<(), QueryError> {
        let Some(instances) = instances else {
            let query = read_with(options, text)?;
            self.register_text(query, None, name, Some(text), at_ms)?;
            return Ok(());
        };
        let parameters = Instances::parameters_of(instances)?;
        let template = read_template_with(options, text, &parameters)?;
        self.register_again(&template, name, text, instances, at_ms)
    }

    /// Takes items that the log tells of. `blanks`: the new blank nodes of their record.
    pub(in crate::standing) fn take_again(
        &mut self,
        message: &ItemsMessage,
        blanks: Range<u64>,
    ) -> Result<(), QueryError> {
        let id = self.stream(&message.stream)?;
        let number = match &message.source {
            Source::Outside(name) => self.sources.spoke(id, name, message.next_position),
            Source::Query(name) => SourceId(self.query(name)?.0 + OF_QUERIES),
        };
        let items = self.base.with_dictionary(&mut self.terms.given, |live| {
            live.reserve_blank_nodes(blanks.end).map_err(too_large)?;
            items_of(&message.times, &message.chunk, blanks, live)
        })?;
        self.tick(message.now_ms);
        self.streams.obey(id, message.settled).map_err(refused)?;
        self.take_items(id, number, &items)?;
        Ok(())
    }

    /// What a query had for a stream is not there, as the log tells.
    pub(in crate::standing) fn gap_again(
        &mut self,
        stream: &str,
        time_ms: u64,
    ) -> Result<(), QueryError> {
        let id = self.stream(stream)?;
        self.streams.note_gap(id, Time(time_ms)).map_err(refused)
    }

    /// What came late is stored by the record that was replayed.
    pub(in crate::standing) fn late_is_stored(&mut self) {
        self.late_quads.clear();
    }

    /// Queries see what came late in a stream, as the log tells.
    pub(in crate::standing) fn reveal_again(&mut self, stream: &str) -> Result<(), QueryError> {
        let id = self.stream(stream)?;
        match self.streams.next_late() {
            Some(late) if late.stream == id => {
                self.revealed = None;
                self.streams.revealed(&late).map_err(refused)
            }
            _ => Err(unfollowed(stream, "what came late in it")),
        }
    }

    /// Obeys a seal that the log tells of.
    pub(in crate::standing) fn seal_again(
        &mut self,
        stream: &str,
        until: SealPoint,
    ) -> Result<StreamId, QueryError> {
        let id = self.stream(stream)?;
        self.streams.obey(id, until).map_err(refused)?;
        loop {
            let seal = self.streams.seal_of(id, until).map_err(refused)?;
            match seal {
                Some(seal) if seal.until < until => {}
                Some(seal) if seal.until == until => return Ok(id),
                _ => return Err(unfollowed(stream, "a seal of it")),
            }
        }
    }

    /// What was sealed is seen. Evaluations that it makes ready stay with the streams until the log tells of them; those that
    /// it does not tell of are made when the database is open.
    pub(in crate::standing) fn see_again(
        &mut self,
        seals: &[(StreamId, SealPoint)],
    ) -> Result<(), QueryError> {
        for (stream, until) in seals {
            self.streams
                .sealed(PartId(0), *stream, *until)
                .map_err(refused)?;
        }
        // Queries that write promise nothing yet: what they wrote there is told later, or is due.
        Ok(())
    }

    /// The graph after the record that was replayed last, for evaluations that see it.
    pub(in crate::standing) fn note_graph(&mut self, graph: Arc<Graph>) {
        self.note_moment(graph);
    }

    /// A query was evaluated at this close before the stop, which the streams have made ready again. What its next reports are
    /// compared with is made again when the database is open, over the graph that it saw: that of `graphs`, or else as an
    /// evaluation now would choose. Gives the number of the graph that it has from there.
    pub(in crate::standing) fn report_again(
        &mut self,
        name: &str,
        close_ms: u64,
        basis: Basis,
        graphs: &BTreeMap<u64, Arc<Graph>>,
    ) -> Option<u64> {
        let close = Time(close_ms);
        let id = self.queries.find(name)?;
        let ready = self.ready_of(id, close);
        let query = self.queries.get_mut(id)?;
        query.evaluations += 1;
        query.close = Some(close);
        let compared = query.compared();
        let is_first = ready.as_ref().is_some_and(|ready| !ready.is_revision);
        if is_first && matches!(basis, Basis::Snapshot(_)) {
            // Whoever follows was told.
            query.found();
        }
        if compared == Compared::Nothing || basis == Basis::Nothing {
            return None;
        }
        let keep_ms = query.revisions.as_ref().map_or(0, Revisions::keep_ms);
        let made = query.many.as_ref().map_or(0, |many| many.instances.made());
        let (ready, query) = (ready?, self.queries.get(&id)?);
        let number = match basis {
            Basis::Snapshot(number) => Some(number),
            Basis::Unsaid | Basis::Nothing => None,
        };
        let known = number.and_then(|number| graphs.get(&number));
        let chosen = if ready.is_revision {
            self.revealed.clone()
        } else {
            self.remembered(close, query).ok().flatten()
        };
        let known = known.cloned().or(chosen);
        let graph = known.or_else(|| self.newest_moment())?;
        let due = self.due.entry(id).or_default();
        if compared == Compared::Last {
            due.clear();
        }
        due.push_back(Due { ready, graph, made });
        // One before those that may be revised is what the first of them is compared with.
        let floor = close.earlier(keep_ms);
        let before = due.iter().map(|it| it.ready.close);
        if let Some(first) = before.filter(|close| *close < floor).max() {
            due.retain(|it| it.ready.close >= first);
        }
        number
    }

    /// The evaluation of a query at a close, which comes next. Those before it were made and never told of.
    fn ready_of(&mut self, query: QueryId, close: Time) -> Option<Evaluation> {
        loop {
            let ready = self.streams.next_ready()?;
            if ready.query == query && ready.close == close {
                return Some(ready);
            }
        }
    }

    /// Revisions that are ready from now on and were not reported see this graph.
    pub(in crate::standing) fn reveal_over(&mut self, graph: Arc<Graph>) {
        self.revealed = Some(graph);
    }
}

/// An answer that may be revised.
type KeptAnswer = (u64, u64, BTreeMap<ReportRow, u64>);

fn kept(revisions: &Revisions) -> Vec<KeptAnswer> {
    let kept = revisions.kept();
    kept.map(|(close, revision, rows)| (close.0, revision, rows.clone()))
        .collect()
}

fn unfollowed(stream: &str, what: &str) -> QueryError {
    let message = format!(
        "what the store keeps of the stream <{stream}> is damaged: {what} does not follow from its items"
    );
    QueryError::new(Kind::Damaged, message)
        .with_hint("restore a backup; `somersault check` names all that is wrong")
}
