//! Streams of a hub: made, described and dropped.
//!
//! A stream that stores something needs a database that can be changed. The predicates and the graph that its
//! definition names get ids when it is made.

use super::super::info::{HubStream, SOURCES_SHOWN, SourceInfo, StreamFigures, StreamInfo};
use super::super::items::too_large;
use super::super::log::messages::Message;
use super::super::registered::Registered;
use super::{Hub, OF_QUERIES, refused};
use crate::error::{Kind, QueryError};
use oxrdf::{NamedNode, TermRef};
use rdf::VertexId;
use rdf::transient::TermHolder;
use stream::{
    Absorb, Definition, QueryId, Seal, SourceId, SourceStatus, StreamError, StreamId, Time,
};

impl Hub {
    /// Makes a stream that begins at this moment.
    pub fn create(&mut self, settings: &HubStream, begin_ms: u64) -> Result<(), QueryError> {
        self.refuse_side_name(&settings.name)?;
        let absorbs = settings.absorb.as_ref().is_none_or(|them| !them.is_empty());
        let database = self.base.database()?;
        if database.is_following() {
            let message = "this server follows another process: streams are made there";
            return Err(QueryError::new(Kind::Policy, message));
        }
        if absorbs && !database.is_writable() {
            let message =
                "the stream would be stored, and this database was opened for reading only";
            return Err(QueryError::new(Kind::Policy, message)
                .with_hint("open it with --allow-update, or make a stream that absorbs nothing"));
        }
        let definition = self.definition(settings)?;
        definition
            .validate()
            .map_err(|error| refused(error.into()))?;
        if self.has_stream(&settings.name) {
            return Err(refused(StreamError::NameTaken(settings.name.clone())));
        }
        self.say(&Message::Stream {
            stream: settings.clone(),
            begin_ms,
        })?;
        self.made_so(settings, definition, begin_ms)
    }

    /// A stream that the log tells of.
    pub(in crate::standing) fn create_again(
        &mut self,
        settings: &HubStream,
        begin_ms: u64,
    ) -> Result<(), QueryError> {
        let definition = self.definition(settings)?;
        self.made_so(settings, definition, begin_ms)
    }

    fn made_so(
        &mut self,
        settings: &HubStream,
        definition: Definition,
        begin_ms: u64,
    ) -> Result<(), QueryError> {
        let id = self.streams.create(definition, Time(begin_ms));
        self.settings.insert(id.map_err(refused)?, settings.clone());
        Ok(())
    }

    /// What a stream is, by ids.
    pub(super) fn definition(&mut self, settings: &HubStream) -> Result<Definition, QueryError> {
        let mut definition = Definition::new(settings.name.clone());
        definition.grain_ms = settings.grain_ms;
        definition.lateness_ms = settings.lateness_ms;
        definition.idle_ms = settings.idle_ms;
        definition.arrival_time = settings.arrival_time;
        definition.budget_bytes = settings.budget_bytes;
        definition.absorb = match &settings.absorb {
            None => Absorb::All,
            Some(predicates) if predicates.is_empty() => Absorb::Nothing,
            Some(predicates) => {
                let ids = predicates.iter().map(|iri| self.iri(iri));
                Absorb::Only(ids.collect::<Result<_, _>>()?)
            }
        };
        if let Some(graph) = &settings.into {
            definition.into = self.iri(graph)?;
        }
        Ok(definition)
    }

    pub(super) fn iri(&mut self, iri: &str) -> Result<VertexId, QueryError> {
        let node = NamedNode::new(iri).map_err(|error| {
            QueryError::new(Kind::Syntax, format!("<{iri}> is not an IRI: {error}"))
        })?;
        self.base.with_dictionary(&mut self.terms.given, |live| {
            let mut ids = Vec::new();
            live.intern(&[TermRef::NamedNode(node.as_ref())], &mut ids)
                .map_err(too_large)?;
            Ok(ids[0])
        })
    }

    /// Whether there is a stream of this name.
    pub fn has_stream(&self, name: &str) -> bool {
        self.streams.find(name).is_some()
    }

    /// Forgets a stream that no query names.
    pub fn drop_stream(&mut self, name: &str) -> Result<(), QueryError> {
        let id = self.stream(name).map_err(QueryError::without_hint)?;
        let is_written = |query: &&Registered| query.writes == Some(id);
        if let Some(query) = self.queries.values().find(is_written) {
            let message = format!(
                "the query `{}` writes the stream <{name}>: drop it first",
                query.name
            );
            return Err(QueryError::new(Kind::Conflict, message));
        }
        self.refuse_read_side(id)?;
        self.streams.may_drop(id).map_err(refused)?;
        self.say(&Message::DropStream {
            name: name.to_owned(),
        })?;
        self.forget_stream(id)?;
        if let Some(side) = self.forget_late(id) {
            self.forget_stream(side)?;
        }
        Ok(())
    }

    fn forget_stream(&mut self, id: StreamId) -> Result<(), QueryError> {
        self.streams.drop_stream(id).map_err(refused)?;
        self.settings.remove(&id);
        self.arrivals.remove(&id);
        self.sources.forget_stream(id);
        self.quiet.remove(&id);
        self.say_held();
        let is_other = |seal: &Seal| seal.stream != id;
        self.taken.retain(is_other);
        Ok(())
    }

    /// The streams, by name.
    pub fn streams(&self) -> Vec<StreamInfo> {
        let infos = self.settings.keys().map(|id| self.info(*id));
        let mut infos: Vec<StreamInfo> = infos.filter_map(Result::ok).collect();
        infos.sort_by(|one, other| one.settings.name.cmp(&other.settings.name));
        infos
    }

    /// What each stream holds, by name: a walk over the streams, and not over who reads them.
    pub fn figures(&self) -> Vec<StreamFigures> {
        let figures = self.settings.keys().map(|id| self.figures_of(*id));
        let mut figures: Vec<StreamFigures> = figures.filter_map(Result::ok).collect();
        figures.sort_by(|one, other| one.name.cmp(&other.name));
        figures
    }

    fn figures_of(&self, id: StreamId) -> Result<StreamFigures, QueryError> {
        let status = self.streams.status(id).map_err(refused)?;
        let settings = self.settings.get(&id);
        let settings = settings.ok_or_else(|| refused(StreamError::NoStream(id)))?;
        let held = self.streams.holdings(id).map_err(refused)?;
        let term_bytes = self.terms.transient.bytes_of(TermHolder(id.0));
        let sealed_bytes = held.item_bytes + held.slice_bytes;
        Ok(StreamFigures {
            name: settings.name.clone(),
            held_bytes: status.held_bytes + self.sources.bytes(id),
            open_bytes: status.held_bytes.saturating_sub(sealed_bytes + term_bytes),
            item_bytes: held.item_bytes,
            slice_bytes: held.slice_bytes,
            term_bytes,
            source_bytes: self.sources.bytes(id),
            items: held.items,
            quads: held.quads,
        })
    }

    /// A stream by its name.
    pub fn stream_info(&self, name: &str) -> Result<StreamInfo, QueryError> {
        self.info(self.stream(name)?)
    }

    /// What is before this is decided and seen in a stream (milliseconds).
    pub(in crate::standing) fn covered_ms(&self, name: &str) -> Result<u64, QueryError> {
        let status = self.streams.status(self.stream(name)?);
        Ok(status.map_err(refused)?.covered.0)
    }

    /// Whether items of a stream have the time of their arrival.
    pub(in crate::standing) fn has_arrival_time(&self, name: &str) -> Result<bool, QueryError> {
        Ok(self.settings[&self.stream(name)?].arrival_time)
    }

    /// What a stream holds (bytes).
    pub(in crate::standing) fn held_bytes(&self, name: &str) -> Result<u64, QueryError> {
        let id = self.stream(name)?;
        let status = self.streams.status(id).map_err(refused)?;
        Ok(status.held_bytes + self.sources.bytes(id))
    }

    pub(super) fn info(&self, id: StreamId) -> Result<StreamInfo, QueryError> {
        let status = self.streams.status(id).map_err(refused)?;
        let settings = self.settings.get(&id);
        let settings = settings.ok_or_else(|| refused(StreamError::NoStream(id)))?;
        let held = self.figures_of(id)?;
        let readers = self.queries.readers(id);
        let sources = self.streams.sources(id).map_err(refused)?;
        let idle = sources.iter().filter(|source| source.is_idle).count();
        Ok(StreamInfo {
            settings: settings.clone(),
            watermark_ms: status.watermark.0,
            covered_ms: status.covered.0,
            is_idle: status.is_idle,
            held_bytes: held.held_bytes,
            late: self.late.get(&id).map_or(0, |late| late.items),
            open_bytes: held.open_bytes,
            item_bytes: held.item_bytes,
            slice_bytes: held.slice_bytes,
            items: held.items,
            quads: held.quads,
            term_bytes: held.term_bytes,
            source_bytes: held.source_bytes,
            arrivals: self.arrivals.get(&id).copied().unwrap_or_default(),
            source_count: sources.len() as u64,
            idle_source_count: idle as u64,
            sources: self.slowest(id, sources),
            queries: readers.map(|query| query.name.clone()).collect(),
        })
    }

    /// The sources that a stream waits for, the slowest first, then those that are idle.
    fn slowest(&self, stream: StreamId, mut sources: Vec<SourceStatus>) -> Vec<SourceInfo> {
        let rank = |source: &SourceStatus| (source.is_idle, source.promised, source.source);
        if sources.len() > SOURCES_SHOWN {
            sources.select_nth_unstable_by_key(SOURCES_SHOWN, rank);
            sources.truncate(SOURCES_SHOWN);
        }
        sources.sort_unstable_by_key(rank);
        let info = |source: SourceStatus| SourceInfo {
            name: self.source_name(stream, source.source),
            watermark_ms: source.promised.0,
            is_idle: source.is_idle,
        };
        sources.into_iter().map(info).collect()
    }

    fn source_name(&self, stream: StreamId, source: SourceId) -> String {
        let of_query = |number: u64| self.queries.get(&QueryId(number));
        if let Some(query) = source.0.checked_sub(OF_QUERIES).and_then(of_query) {
            return query.name.clone();
        }
        // The only source without a name is what gives late items to a side stream.
        let known = self.sources.name(stream, source).unwrap_or("late");
        known.to_owned()
    }

    /// Counts items that came now.
    pub(super) fn count_arrivals(&mut self, stream: StreamId, items: usize) {
        if items > 0 {
            let arrivals = self.arrivals.entry(stream).or_default();
            arrivals.items += items as u64;
            arrivals.last_ms = self.now_ms;
        }
    }

    /// Counts what could not be read, and so never came here.
    pub(in crate::standing) fn count_rejected(
        &mut self,
        name: &str,
        rejected: u64,
    ) -> Result<(), QueryError> {
        let id = self.stream(name)?;
        self.arrivals.entry(id).or_default().rejected += rejected;
        Ok(())
    }

    pub(super) fn stream(&self, name: &str) -> Result<StreamId, QueryError> {
        self.streams.find(name).ok_or_else(|| {
            let message = format!("there is no stream <{name}>");
            QueryError::new(Kind::NotFound, message).with_hint("create it first")
        })
    }
}
