//! Items as text, as a record keeps them, and back.
//!
//! Ids depend on who gave them out; the text of terms does not. Blank nodes have numbers: those that an item's labels got
//! when it arrived, so that a recovery gives the same.

use super::codec::Mistake;
use crate::error::{Kind, QueryError};
use oxrdf::TermRef;
use rdf::dictionary::LiveDictionary;
use rdf::{Lexicon, TermBuffer, VertexId};
use std::ops::Range;
use store::delta::{IdQuad, change_of};
use store::record::{Blank, ChunkWriter, PlaceQuad, RecordChunk, RecordReader, TermPlace};
use store::view::GraphScope;
use stream::{Items, Time};

/// Collects items as text.
pub(in crate::standing) struct ItemsText {
    writer: ChunkWriter,
    times: Vec<(u64, u64)>,
}

impl ItemsText {
    /// `seed`: what sources cannot know, for the table of terms.
    pub(in crate::standing) fn new(seed: u64) -> ItemsText {
        ItemsText {
            writer: ChunkWriter::new(seed),
            times: Vec::new(),
        }
    }

    /// The place of a term, which is added if it is new. Blank nodes have the labels of the dictionary.
    pub(in crate::standing) fn term(&mut self, term: TermRef<'_>) -> Result<TermPlace, QueryError> {
        let placed = self.writer.term(term, &mut stored_blank);
        placed.map_err(|error| QueryError::new(Kind::Shape, error))
    }

    /// Adds a quad of the next item by the places of its terms: subject, predicate, object, and the graph if it names one
    /// (asserted).
    pub(in crate::standing) fn quad(&mut self, mut places: impl Iterator<Item = TermPlace>) {
        let mut part = || places.next().expect("a quad has three terms");
        let parts = [part(), part(), part()];
        self.writer.insert((parts, places.next()));
    }

    /// Ends an item, which has so many of the quads that were added.
    pub(in crate::standing) fn item(&mut self, time_ms: u64, quads: usize) {
        self.times.push((time_ms, quads as u64));
    }

    /// The times of the items with how many quads each has, and the quads as a chunk.
    pub(in crate::standing) fn finish(mut self) -> (Vec<(u64, u64)>, Vec<u8>) {
        (self.times, self.writer.finish())
    }
}

/// The blank node that a label of the dictionary means.
fn stored_blank(label: &str) -> Option<Blank> {
    label.strip_prefix('b')?.parse().ok().map(Blank::Stored)
}

/// The quads of items as a chunk, by the terms that a lexicon has for their ids.
pub(in crate::standing) fn chunk_of(
    quads: &[IdQuad],
    lexicon: &impl Lexicon,
    seed: u64,
) -> Result<Vec<u8>, QueryError> {
    let mut ids: Vec<VertexId> = Vec::new();
    for &(subject, predicate, object, graph) in quads {
        ids.extend([subject, predicate, object]);
        ids.extend((graph != GraphScope::DEFAULT_GRAPH).then_some(graph));
    }
    ids.sort_unstable();
    ids.dedup();
    let mut terms = TermBuffer::new();
    lexicon.terms(&ids, &mut terms)?;
    let mut writer = ChunkWriter::new(seed);
    let mut places = Vec::with_capacity(ids.len());
    for term in terms.iter() {
        let term = term.ok_or(Mistake("the term of an id"))?;
        let place = writer.term(term, &mut stored_blank);
        places.push(place.map_err(|error| QueryError::new(Kind::Internal, error))?);
    }
    let place = |id: VertexId| places[ids.binary_search(&id).expect("every id has a term")];
    for &(subject, predicate, object, graph) in quads {
        let graph = (graph != GraphScope::DEFAULT_GRAPH).then(|| place(graph));
        let quad: PlaceQuad = ([place(subject), place(predicate), place(object)], graph);
        writer.insert(quad);
    }
    Ok(writer.finish())
}

/// Items by ids; new terms get the next ones of `live`. `blanks`: the new blank nodes of the record that they stand in;
/// all of theirs are before those.
pub(in crate::standing) fn items_of(
    times: &[(u64, u64)],
    chunk: &[u8],
    blanks: Range<u64>,
    live: &LiveDictionary,
) -> Result<Items, QueryError> {
    let mut quads: Vec<IdQuad> = Vec::new();
    let mut reader = RecordReader::of_chunks(blanks, chunk);
    let (mut read, mut ids) = (RecordChunk::default(), Vec::new());
    while reader
        .next(&mut read)
        .map_err(|error| QueryError::new(Kind::Damaged, format!("items of a stream: {error}")))?
    {
        quads.extend(change_of(&read, live, &mut ids)?.inserts);
    }
    let mut items = Items::new();
    let mut rest = &quads[..];
    for &(time_ms, count) in times {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let (own, others) = rest
            .split_at_checked(count)
            .ok_or(Mistake("the quads of an item"))?;
        items.add(Time(time_ms), own);
        rest = others;
    }
    if !rest.is_empty() {
        return Err(Mistake("the item of a quad").into());
    }
    Ok(items)
}
