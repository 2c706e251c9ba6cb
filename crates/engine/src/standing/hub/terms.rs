//! The terms of a hub: which ids its items have, and what evaluations see of them.
//!
//! What a stream stores has ids of the dictionary. Other terms keep the id that the dictionary has for them, or get a transient
//! one ([`rdf::transient`]), which dies with the last item that names it.
//!
//! ```text
//!  push -----> ids, under the turn: the dictionary's, or the table's
//!  advance --> see_terms: what came into the dictionary since? --> stored ids into items, slices are made again
//!          --> evaluations, over exactly that dictionary and the table
//!  at times -> sweep: what no open or kept item names is dropped
//! ```
//!
//! Invariant: at each evaluation a term has one id, in all slices, stored edges and constants. It holds because an evaluation
//! sees the dictionary up to [`HubTerms::seen`] and no further, and up to there no term is in the table as well. The
//! counts never include a term that only a change in the making has: they are those of the published graph, and
//! those of the last items, which got their ids under the turn.
//!
//! Cost: four comparisons an evaluation; where the dictionary grew, a look at each new key of it while the table has terms.

use super::super::costs::timed;
use super::super::items::{BlankScope, Numbering, TimedQuads};
use super::super::log::items::ItemsText;
use super::super::log::messages::Source;
use super::feed::Said;
use super::{Hub, refused};
use crate::error::QueryError;
use crate::moment::Graph;
use rdf::dictionary::{DictionaryView, TermCounts};
use rdf::transient::{TermHolder, TransientTerms};
use std::sync::Arc;
use stream::{Accepted, Items, SourceId, StreamError, StreamId};

/// See the head of this file.
#[derive(Default)]
pub(super) struct HubTerms {
    /// Terms that only items have.
    pub(super) transient: TransientTerms,
    /// The stored terms that items, queries and streams may have been given.
    pub(super) given: TermCounts,
    /// No term of the dictionary below these counts is transient.
    seen: TermCounts,
    /// The most that named transient terms since the last sweep (bytes).
    named_bytes: u64,
}

/// A sweep that frees so much gives it back to the system: the old table and the new one are there at once, and the allocator would
/// keep what neither has any more. Of windows of 60 s that was up to 100 MiB, once a minute (2026-11-27).
const GIVE_BACK_BYTES: u64 = 8 << 20;
/// Terms that take no more are not dropped because what named them is gone (bytes).
const FEW_BYTES: u64 = 256 << 10;

/// What evaluations see until something is pushed or committed.
pub(super) struct SeenTerms {
    /// The newest graph.
    pub(super) graph: Arc<Graph>,
    /// The terms of that graph, and of items.
    pub(super) dictionary: DictionaryView,
}

impl Hub {
    /// What evaluations see from now on. Transient terms that were stored meanwhile have their stored ids then.
    pub(super) fn see_terms(&mut self) -> Result<SeenTerms, QueryError> {
        let HubTerms {
            transient,
            given,
            seen,
            ..
        } = &mut self.terms;
        let graph = self.base.database()?.graph();
        let counts = graph.dictionary.counts().or_more(*given);
        let dictionary = graph.dictionary.live().view(counts);
        if counts != *seen {
            if !transient.is_empty() {
                let renamed = transient.stored_since(&dictionary, *seen)?;
                if !renamed.is_empty() {
                    self.streams.rename(&renamed);
                    transient.forget(&renamed);
                }
            }
            *seen = counts;
        }
        Ok(SeenTerms { graph, dictionary })
    }

    /// Gives the terms of items ids, tells the log of the items, and gives them to their stream. Where there is no room, terms
    /// that nothing names any more are dropped first.
    pub(super) fn accept(
        &mut self,
        stream: StreamId,
        source: SourceId,
        said: Said,
        scope: Option<&mut BlankScope>,
        items: &[TimedQuads],
    ) -> Result<Accepted, QueryError> {
        let source_bytes = match &said.source {
            Source::Outside(name) => self.source_room(stream, name)?,
            Source::Query(_) => 0,
        };
        self.ask_room(stream, items, source_bytes)?;
        let accepted = self.accept_asked(stream, source, said, scope, items);
        self.say_held();
        accepted
    }

    fn accept_asked(
        &mut self,
        stream: StreamId,
        source: SourceId,
        said: Said,
        mut scope: Option<&mut BlankScope>,
        items: &[TimedQuads],
    ) -> Result<Accepted, QueryError> {
        let keeps_log = self.base.keeps_log();
        let mut text = keeps_log.then(|| ItemsText::new(self.seed()));
        let mut numbered = self.numbered(stream, scope.as_deref_mut(), items, text.as_mut())?;
        match self.streams.make_room(stream, source, &numbered) {
            Err(StreamError::Full { .. }) if self.terms.transient.has_grown() => {
                self.sweep_terms();
                // Their terms are in no stream yet, so they are gone as well.
                text = keeps_log.then(|| ItemsText::new(self.seed()));
                numbered = self.numbered(stream, scope, items, text.as_mut())?;
                self.streams.make_room(stream, source, &numbered)
            }
            room => room,
        }
        .inspect_err(|_| self.sweep_terms())
        .map_err(refused)?;
        if let (Some(text), false) = (text, items.is_empty()) {
            self.costing(
                |costs| &mut costs.logging,
                |hub| hub.say_items(stream, said, text),
            )?;
        }
        self.take_items(stream, source, &numbered)
    }

    fn numbered(
        &mut self,
        stream: StreamId,
        scope: Option<&mut BlankScope>,
        items: &[TimedQuads],
        text: Option<&mut ItemsText>,
    ) -> Result<Items, QueryError> {
        let settings = self.settings.get(&stream);
        let settings = settings.ok_or_else(|| refused(StreamError::NoStream(stream)))?;
        let seed = self.seed();
        let HubTerms {
            transient, given, ..
        } = &mut self.terms;
        let holder = TermHolder(stream.0);
        let numbered = timed(&mut self.costs.numbering, || {
            self.base.with_dictionary(given, |live| {
                let absorb = settings.absorb.as_deref();
                Numbering::new(live, transient, holder, absorb, seed).items(scope, items, text)
            })
        });
        let bytes = transient.bytes_of(holder);
        self.streams.hold_beside(stream, bytes).map_err(refused)?;
        numbered
    }

    /// Drops the terms that nothing names any more, where there may be many: many came, or half of what names them is gone.
    pub(super) fn tidy_terms(&mut self) {
        if self.terms.transient.is_empty() {
            return;
        }
        let (mut held, mut term_bytes) = (0, 0);
        for id in self.settings.keys() {
            held += self.streams.status(*id).map_or(0, |it| it.held_bytes);
            term_bytes += self.terms.transient.bytes_of(TermHolder(id.0));
        }
        let naming_bytes = held.saturating_sub(term_bytes);
        let named_bytes = self.terms.named_bytes.max(naming_bytes);
        self.terms.named_bytes = named_bytes;
        let is_gone = term_bytes > FEW_BYTES && naming_bytes < named_bytes / 2;
        if is_gone || self.terms.transient.is_due(naming_bytes) {
            self.sweep_terms();
            self.terms.named_bytes = naming_bytes;
        }
    }

    pub(super) fn sweep_terms(&mut self) {
        let Hub {
            terms,
            streams,
            settings,
            ..
        } = self;
        let before = terms.transient.bytes();
        terms.transient.sweep(|name| streams.name_transients(name));
        if before.saturating_sub(terms.transient.bytes()) >= GIVE_BACK_BYTES {
            memory::give_back();
        }
        for id in settings.keys() {
            let bytes = terms.transient.bytes_of(TermHolder(id.0));
            let held = streams.hold_beside(*id, bytes);
            held.expect("a stream that has settings is there");
        }
    }
}

#[cfg(test)]
mod tests;
