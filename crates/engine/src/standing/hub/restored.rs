//! A hub that is made of what the log and a generation say: how it stands as a value, and what messages do again.
//!
//! Messages are obeyed, not judged: what was refused then is refused now, and changes nothing either time. Only seals must be
//! what they were, because the graph has changed by them.

use super::super::items::too_large;
use super::super::log::image::{HubImage, QueryPicture, StreamPicture};
use super::super::log::items::items_of;
use super::super::log::messages::{ItemsMessage, Source};
use super::super::registered::Registered;
use super::base::Base;
use super::{Due, Hub, OF_QUERIES, refused};
use crate::database::Database;
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use query::standing::{Relation, StandingQuery};
use rdf::dictionary::LiveDictionary;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use stream::{Differences, Evaluation, PartId, SealPoint, SourceId, StreamId, Time};

/// Reads the text of a query that was registered.
pub(in crate::standing) type ReadQuery<'r> = dyn Fn(&str) -> Result<StandingQuery, QueryError> + 'r;

impl Hub {
    /// One of a log that is being replayed.
    pub(in crate::standing) fn replaying(live: &Arc<LiveDictionary>) -> Hub {
        Hub::over(Base::Replaying(Arc::clone(live)))
    }

    /// The log is replayed, and the database open.
    pub(in crate::standing) fn attach(&mut self, database: Database) {
        self.base = Base::Open(database);
    }

    /// How it stands, without the journals. An error where something is known here and nowhere else.
    pub(in crate::standing) fn image(&self) -> Result<HubImage, QueryError> {
        if !(self.unsaid.is_empty() && self.withheld.is_empty() && self.due.is_empty()) {
            let message = "reports of standing queries wait for the log";
            return Err(QueryError::new(Kind::Conflict, message));
        }
        let mut image = HubImage {
            seed: self.seed(),
            ..HubImage::default()
        };
        for (id, settings) in &self.settings {
            image.streams.push(self.picture_of(*id, settings)?);
        }
        for (id, query) in &self.queries {
            let progress = self.streams.progress(*id).map_err(refused)?;
            image.queries.push(QueryPicture {
                name: query.name.clone(),
                text: query.text.clone().unwrap_or_default(),
                from_ms: progress.0,
                is_paused: query.is_paused,
                evaluations: query.evaluations,
                close_ms: query.close.map(|close| close.0),
                failure: query.failure.clone(),
                state: query.differences.state().clone(),
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
        let outside = self.sources.iter().map(|(name, number)| {
            let position = self.positions.get(&(id, name.clone())).copied();
            (*number, Source::Outside(name.clone()), position)
        });
        let queries = self.queries.iter().map(|(number, query)| {
            let source = Source::Query(query.name.clone());
            (SourceId(number.0 + OF_QUERIES), source, None)
        });
        let mut sources = Vec::new();
        let mut places: BTreeMap<SourceId, u64> = BTreeMap::new();
        for (number, source, position) in outside.chain(queries) {
            let is_known = stream.sources.iter().any(|(known, _)| *known == number);
            if is_known || position.is_some() {
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
            stream,
            sources,
        })
    }

    /// Stands as an image says. Only of a hub that has nothing yet.
    pub(in crate::standing) fn restore(
        &mut self,
        image: &HubImage,
        read: &ReadQuery<'_>,
    ) -> Result<(), QueryError> {
        let number_of: BTreeMap<&str, u64> = image
            .queries
            .iter()
            .map(|query| query.name.as_str())
            .zip(0..)
            .collect();
        for picture in &image.streams {
            let mut stream = picture.stream.clone();
            let numbers: Vec<SourceId> = picture
                .sources
                .iter()
                .map(|(source, _)| match source {
                    Source::Outside(name) => self.source(name),
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
            for (source, position) in &picture.sources {
                if let (Source::Outside(name), Some(position)) = (source, position) {
                    self.positions.insert((id, name.clone()), *position);
                }
            }
        }
        for query in &image.queries {
            let text = read(&query.text)?;
            let (relation, difference) = (text.relation, text.difference);
            self.register_text(text, &query.name, Some(&query.text), query.from_ms)?;
            let id = self.query(&query.name)?;
            if query.is_paused {
                self.pause(&query.name)?;
            }
            if let Some(registered) = self.queries.get_mut(&id) {
                registered.evaluations = query.evaluations;
                registered.close = query.close_ms.map(Time);
                registered.failure.clone_from(&query.failure);
                registered.differences =
                    Differences::resumed(relation, difference, query.state.clone());
            }
        }
        self.streams.resumed();
        Ok(())
    }

    /// Takes items that the log tells of. `blanks`: the new blank nodes of their record.
    pub(in crate::standing) fn take_again(
        &mut self,
        message: &ItemsMessage,
        blanks: Range<u64>,
    ) -> Result<(), QueryError> {
        let id = self.stream(&message.stream)?;
        let number = match &message.source {
            Source::Outside(name) => {
                if let Some(next) = message.next_position {
                    self.positions.insert((id, name.clone()), next);
                }
                self.source(name)
            }
            Source::Query(name) => SourceId(self.query(name)?.0 + OF_QUERIES),
        };
        let items = self.base.with_dictionary(|live| {
            live.reserve_blank_nodes(blanks.end).map_err(too_large)?;
            items_of(&message.times, &message.chunk, blanks, live)
        })?;
        self.tick(message.now_ms);
        self.streams.obey(id, message.settled).map_err(refused)?;
        self.streams.push(id, number, &items).map_err(refused)?;
        Ok(())
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
            let seal = self.streams.seal_of(id).map_err(refused)?;
            match seal {
                Some(seal) if seal.until < until => {}
                Some(seal) if seal.until == until => return Ok(id),
                _ => {
                    let message = format!(
                        "what the store keeps of the stream <{stream}> is damaged: a seal of it does not follow \
                         from its items"
                    );
                    return Err(QueryError::new(Kind::Damaged, message).with_hint(
                        "restore a backup; `somersault check` names all that is wrong",
                    ));
                }
            }
        }
    }

    /// What was sealed is seen. Gives the evaluations that it makes ready.
    pub(in crate::standing) fn see_again(
        &mut self,
        seals: &[(StreamId, SealPoint)],
    ) -> Result<Vec<Evaluation>, QueryError> {
        for (stream, until) in seals {
            self.streams
                .sealed(PartId(0), *stream, *until)
                .map_err(refused)?;
        }
        let mut ready = Vec::new();
        while let Some(next) = self.streams.next_ready() {
            ready.push(next);
        }
        // Queries that write promise nothing yet: what they wrote there is told later, or is due.
        Ok(ready)
    }

    /// The graph after the record that was replayed last, for evaluations that see it.
    pub(in crate::standing) fn note_graph(&mut self, graph: Arc<Graph>) {
        self.note_moment(graph);
    }

    /// The name of a query, and whether its reports are compared; `None` where it is gone.
    pub(in crate::standing) fn known(&self, ready: &Evaluation) -> Option<(&str, bool)> {
        let query = self.queries.get(&ready.query)?;
        let is_compared = query.planned.query.relation != Relation::Rows;
        Some((&query.name, is_compared))
    }

    /// Leaves an evaluation for when the database is open.
    pub(in crate::standing) fn leave(
        &mut self,
        ready: Evaluation,
        newest: &Arc<Graph>,
        is_reported: bool,
    ) {
        let Some(query) = self.queries.get(&ready.query) else {
            return;
        };
        let graph = self.remembered(ready.close, query);
        let graph = graph.unwrap_or_else(|| Arc::clone(newest));
        self.due.push_back(Due {
            ready,
            graph,
            is_reported,
        });
    }

    /// A query was evaluated at this close before the stop.
    pub(in crate::standing) fn note_evaluated(&mut self, name: &str, close_ms: u64) {
        let named = |query: &&mut Registered| query.name == name;
        if let Some(query) = self.queries.values_mut().find(named) {
            query.evaluations += 1;
            query.close = Some(Time(close_ms));
        }
    }
}
