//! The memory of a hub on the one account of its database ([`crate::budget`]).
//!
//! A push asks for what its items and their terms may take before they are taken. What streams hold is said again after
//! everything that changes it: open and sealed items, slices and panes, indexes of windows, transient terms, sources, graphs that evaluations to come see, and the
//! reports that are kept for consumers. So queries have what streams leave, and the other way round.
//!
//! Where there is no room, the stream that is pushed to gives up what it can make again and what it keeps for nobody; then
//! its source is told to wait. Other streams are asked for nothing: each is answered for by its own push, and what a stream that
//! floods may not take is kept for small ones.
//!
//! Cost: O(streams) a push, an addition each.

use super::super::items::TimedQuads;
use super::{Hub, refused};
use crate::budget::{Exhausted, StreamShare};
use crate::database::Database;
use crate::error::{Kind, QueryError, Unit};
use crate::standing::journal::Journals;
use oxrdf::{GraphNameRef, NamedOrBlankNodeRef, Quad, TermRef};
use std::sync::Arc;
use store::delta::IdQuad;
use stream::{StreamId, Time};

/// What a term takes beside its text, where only items have it (bytes).
const TERM_BYTES: usize = 48;

impl Hub {
    /// From now on what is held is on the account of this database.
    pub(super) fn draw_on(&mut self, database: &Database) {
        self.share = Some(StreamShare::new(&database.shared().pool));
        self.say_held();
    }

    /// Says what is held.
    pub(super) fn say_held(&mut self) {
        let Hub {
            share,
            streams,
            settings,
            journals,
            windows,
            sources,
            moments,
            ..
        } = self;
        if let Some(share) = share {
            let held = |id: &StreamId| streams.status(*id).map_or(0, |it| it.held_bytes);
            let streams = settings.keys().map(held).sum::<u64>() + sources.all_bytes();
            let reports = journals.as_ref().map_or(0, |journals| journals.bytes());
            share.set(streams + windows.bytes() + moments.held_bytes() + reports);
        }
    }

    /// Reports are kept here for consumers. What they hold is on the account, and given back where a push needs the room.
    pub(in crate::standing) fn keep_in(&mut self, journals: Arc<Journals>) {
        self.journals = Some(journals);
        self.say_held();
    }

    /// Asks for room for items that are about to be taken, and for so many bytes beside them.
    pub(super) fn ask_room(
        &mut self,
        stream: StreamId,
        items: &[TimedQuads],
        beside_bytes: u64,
    ) -> Result<(), QueryError> {
        let bytes = items.iter().map(bytes_of).sum::<u64>() + beside_bytes;
        if bytes == 0 {
            return Ok(());
        }
        if self.ask(stream, bytes).is_ok() {
            return Ok(());
        }
        self.streams.give_up(stream).map_err(refused)?;
        if self.terms.transient.has_grown() {
            self.sweep_terms();
        }
        self.say_held();
        if let (Err(exhausted), Some(journals)) = (self.ask(stream, bytes), &self.journals) {
            let all = exhausted.used.saturating_add(exhausted.asked);
            journals.give_back(all.saturating_sub(exhausted.limit));
            self.say_held();
        }
        self.ask(stream, bytes).map_err(|exhausted| {
            let name = self.settings.get(&stream).map_or("", |it| it.name.as_str());
            let own = self.streams.status(stream).map_or(0, |it| it.held_bytes);
            let most = self.share.as_ref().map_or(u64::MAX, StreamShare::most);
            let wanted = (bytes > most).then(|| own.saturating_add(bytes));
            no_room(name, bytes, exhausted, wanted)
        })
    }

    fn ask(&mut self, stream: StreamId, bytes: u64) -> Result<(), Exhausted> {
        let own = self.streams.status(stream).map_or(0, |it| it.held_bytes);
        let share = self.share.as_mut();
        share.map_or(Ok(()), |share| share.ask(bytes, own))
    }
}

/// What an item takes at most, with all its terms new (bytes).
fn bytes_of(item: &TimedQuads) -> u64 {
    let quads = item.quads.iter();
    let quads = quads.map(|quad| size_of::<IdQuad>() + terms_bytes(quad));
    (size_of::<Time>() + size_of::<usize>() + quads.sum::<usize>()) as u64
}

fn terms_bytes(quad: &Quad) -> usize {
    let subject = match quad.subject.as_ref() {
        NamedOrBlankNodeRef::NamedNode(iri) => iri.as_str().len(),
        NamedOrBlankNodeRef::BlankNode(node) => node.as_str().len(),
    };
    let object = match quad.object.as_ref() {
        TermRef::NamedNode(iri) => iri.as_str().len(),
        TermRef::BlankNode(node) => node.as_str().len(),
        TermRef::Literal(literal) => {
            let language = literal.language().map_or(0, str::len);
            literal.value().len() + literal.datatype().as_str().len() + language
        }
        // As text: a quoted triple is short, and rare.
        TermRef::Triple(triple) => triple.to_string().len(),
    };
    let graph = match quad.graph_name.as_ref() {
        GraphNameRef::NamedNode(iri) => iri.as_str().len(),
        GraphNameRef::BlankNode(node) => node.as_str().len(),
        GraphNameRef::DefaultGraph => 0,
    };
    subject + quad.predicate.as_str().len() + object + graph + 4 * TERM_BYTES
}

/// `wanted`: what the stream would hold, where that is more than all may hold together whatever goes meanwhile.
fn no_room(stream: &str, bytes: u64, exhausted: Exhausted, wanted: Option<u64>) -> QueryError {
    let message = format!(
        "the stream <{stream}> has no room for {bytes} bytes more: all streams together hold {}",
        exhausted.used
    );
    QueryError::new(Kind::Memory, message)
        .with_hint("send them again later; shorter windows or a larger memory pool make room")
        .with_limit(
            Unit::Bytes,
            exhausted.limit,
            wanted.unwrap_or(exhausted.used.min(exhausted.limit)),
        )
}

#[cfg(test)]
mod tests;
