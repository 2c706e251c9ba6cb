//! How streams and standing queries stand at one moment: what a generation of the store keeps of them, since it takes the
//! place of the log before it.
//!
//! ```text
//! image    = version: u8, streams, sources, queries, journals
//! streams  = count, (settings, begin, first?, dropped?, dropped items, visible, settled, watermark,
//!                    sources: count, (source, promise, next position?)*, items, items that revise, late items,
//!                    promise as a side stream?, gaps: count, (first, last)*)*
//! items    = parts: count, (count, (time, quads)*, chunk)*; up to version 3 one part, and nothing before it
//! queries  = count, (name, text, from, paused, evaluations, close?, failure?, state: count, (row, times)*, ...
//!                    lost: (closes, why, is last)?)*
//! journals = count, (name, last that was let go, lines: count, line*)*
//! ```
//!
//! Taking one copies what streams hold and shares what cannot change; its bytes are made by whoever writes the generation,
//! while streams go on, and are written as they are made: in one piece they are as much again as all that streams hold.

use super::codec::{Mistake, Put, Take};
use super::items::{chunk_of, items_of};
use super::messages::{Source, put_point, put_settings, take_point, take_settings};
use crate::change::{Image, TakePiece};
use crate::error::{Kind, QueryError};
use crate::standing::info::HubStream;
use crate::standing::journal::Journal;
use crate::standing::registered::Lost;
use crate::standing::report::ReportRow;
use rdf::dictionary::{DictionaryView, LiveDictionary};
use rdf::transient::{TransientTerms, TransientView};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use stream::{Items, SourceId, StreamImage, Time};

/// Of version 1 streams have no gaps.
const VERSION: u8 = 4;
/// Bytes that are collected before they are written.
const PIECE_BYTES: usize = 256 << 10;

/// See the head of this file.
#[derive(Debug, Default)]
pub(in crate::standing) struct HubImage {
    pub(in crate::standing) streams: Vec<StreamPicture>,
    pub(in crate::standing) queries: Vec<QueryPicture>,
    pub(in crate::standing) journals: BTreeMap<String, Journal>,
    /// Terms that only items have.
    pub(in crate::standing) terms: TransientTerms,
    /// For the tables of terms.
    pub(in crate::standing) seed: u64,
}

/// A stream.
#[derive(Debug)]
pub(in crate::standing) struct StreamPicture {
    pub(in crate::standing) settings: HubStream,
    /// Its sources are numbered by their places in `sources`.
    pub(in crate::standing) stream: StreamImage,
    /// Its sources, with the positions of their next items where they count them.
    pub(in crate::standing) sources: Vec<(Source, Option<u64>)>,
    /// Items that came late in it (count).
    pub(in crate::standing) late_items: u64,
    /// What it promises as the side stream of another one; `None`: it is none.
    pub(in crate::standing) side_promise: Option<Time>,
}

/// A standing query.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::standing) struct QueryPicture {
    pub(in crate::standing) name: String,
    pub(in crate::standing) text: String,
    /// It has had every instant before this (milliseconds).
    pub(in crate::standing) from_ms: u64,
    pub(in crate::standing) is_paused: bool,
    pub(in crate::standing) evaluations: u64,
    pub(in crate::standing) close_ms: Option<u64>,
    pub(in crate::standing) failure: Option<String>,
    /// The rows of its last answer, where reports are compared, each with how often it was there.
    pub(in crate::standing) state: BTreeMap<ReportRow, u64>,
    /// From when on it was evaluated (milliseconds).
    pub(in crate::standing) first_ms: u64,
    /// Instants to come at which only late items are to be seen (milliseconds).
    pub(in crate::standing) extra_ms: Vec<u64>,
    /// Answers that may be revised: their closes, how often they were, and their rows.
    pub(in crate::standing) answers: Vec<(u64, u64, BTreeMap<ReportRow, u64>)>,
    /// Answers that could not be made again after a stop.
    pub(in crate::standing) lost: Option<Lost>,
    /// The instances of a template.
    pub(in crate::standing) instances: Option<Vec<u8>>,
    /// As `state`, of a template.
    pub(in crate::standing) instance_state: BTreeMap<(u64, ReportRow), u64>,
}

impl Image for HubImage {
    fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.queries.is_empty()
    }

    fn encode(
        &self,
        dictionary: &DictionaryView,
        take: &mut TakePiece<'_>,
    ) -> Result<(), QueryError> {
        if self.is_empty() {
            return Ok(());
        }
        // Items may have terms that are younger than the graph; ids of one database never change.
        let live = dictionary.live();
        let dictionary = live.view(live.counts());
        let dictionary = TransientView::new(&dictionary, &self.terms);
        let mut put = Put::default();
        put.bytes.push(VERSION);
        put.number(self.streams.len() as u64);
        for picture in &self.streams {
            self.put_stream(&mut put, picture, &dictionary, take)?;
        }
        put.number(self.queries.len() as u64);
        for query in &self.queries {
            put_query(&mut put, query);
            pass_on(&mut put, take)?;
        }
        put.number(self.journals.len() as u64);
        for (name, journal) in &self.journals {
            put.text(name);
            let (gone, lines) = journal.parts();
            put.number(gone);
            put.number(lines.len() as u64);
            for entry in lines {
                put.text(&entry.line);
                put.flag(entry.instance.is_some());
                if let Some(instance) = &entry.instance {
                    put.text(instance);
                }
                pass_on(&mut put, take)?;
            }
        }
        take(&put.bytes)
    }
}

impl HubImage {
    fn put_stream(
        &self,
        put: &mut Put,
        picture: &StreamPicture,
        dictionary: &TransientView<'_>,
        take: &mut TakePiece<'_>,
    ) -> Result<(), QueryError> {
        let stream = &picture.stream;
        put_settings(put, &picture.settings);
        put.number(stream.begin.0);
        put.maybe(stream.first.map(|time| time.0));
        put.maybe(stream.dropped.map(|time| time.0));
        put.number(stream.dropped_items);
        put_point(put, stream.visible);
        put_point(put, stream.settled);
        put.number(stream.watermark.0);
        put.number(picture.sources.len() as u64);
        let promised: BTreeMap<SourceId, Time> = stream.sources.iter().copied().collect();
        for (place, (source, position)) in (0..).zip(&picture.sources) {
            source.put(put);
            put.maybe(promised.get(&SourceId(place)).map(|time| time.0));
            put.maybe(*position);
        }
        self.put_items(put, stream.items.parts(), dictionary, take)?;
        let revealed = std::iter::once(Cow::Borrowed(&stream.revealed));
        self.put_items(put, revealed, dictionary, take)?;
        put.number(picture.late_items);
        put.maybe(picture.side_promise.map(|time| time.0));
        put.number(stream.gaps.len() as u64);
        for (first, last) in &stream.gaps {
            put.number(first.0);
            put.number(last.0);
        }
        Ok(())
    }

    /// Puts items, a chunk for the quads of each part.
    fn put_items<'i>(
        &self,
        put: &mut Put,
        parts: impl ExactSizeIterator<Item = Cow<'i, Items>>,
        dictionary: &TransientView<'_>,
        take: &mut TakePiece<'_>,
    ) -> Result<(), QueryError> {
        put.number(parts.len() as u64);
        for part in parts {
            put.number(part.len() as u64);
            for (time, quads) in part.iter() {
                put.number(time.0);
                put.number(quads.len() as u64);
            }
            put.raw(&chunk_of(part.quads(), dictionary, self.seed)?);
            pass_on(put, take)?;
        }
        Ok(())
    }

    /// Reads one; terms of items get ids of `live`. No bytes are nothing at all.
    pub(in crate::standing) fn decode(
        bytes: &[u8],
        live: &Arc<LiveDictionary>,
    ) -> Result<HubImage, QueryError> {
        let mut image = HubImage::default();
        if bytes.is_empty() {
            return Ok(image);
        }
        let mut take = Take::new(bytes);
        let version = take.byte()?;
        if !(1..=VERSION).contains(&version) {
            let message = "what the store keeps of streams was written by another version";
            return Err(QueryError::new(Kind::Unsupported, message)
                .with_hint("use the program that wrote it"));
        }
        for _ in 0..take.count()? {
            image.streams.push(take_stream(&mut take, version, live)?);
        }
        for _ in 0..take.count()? {
            image.queries.push(take_query(&mut take, version)?);
        }
        for _ in 0..take.count()? {
            let name = take.text()?;
            let mut journal = Journal::behind(take.number()?);
            for _ in 0..take.count()? {
                let line = take.text()?.into();
                let instance = take.flag()?.then(|| take.text()).transpose()?;
                // All of them are older than what comes from now on.
                journal.add(line, instance.map(Into::into), 0);
            }
            image.journals.insert(name, journal);
        }
        Ok(image)
    }
}

/// Writes what was collected, where it is enough.
fn pass_on(put: &mut Put, take: &mut TakePiece<'_>) -> Result<(), QueryError> {
    if put.bytes.len() >= PIECE_BYTES {
        take(&put.bytes)?;
        put.bytes.clear();
    }
    Ok(())
}

fn take_stream(
    take: &mut Take<'_>,
    version: u8,
    live: &Arc<LiveDictionary>,
) -> Result<StreamPicture, QueryError> {
    let settings = take_settings(take)?;
    let mut stream = StreamImage {
        begin: Time(take.number()?),
        first: take.maybe()?.map(Time),
        dropped: take.maybe()?.map(Time),
        dropped_items: take.number()?,
        visible: take_point(take)?,
        settled: take_point(take)?,
        watermark: Time(take.number()?),
        ..StreamImage::default()
    };
    let mut sources = Vec::new();
    for place in 0..take.count()? {
        let source = Source::take(take)?;
        if let Some(promised) = take.maybe()? {
            stream
                .sources
                .push((SourceId(place as u64), Time(promised)));
        }
        sources.push((source, take.maybe()?));
    }
    stream.items = take_items(take, version, live)?.into();
    stream.revealed = take_items(take, version, live)?;
    let (late_items, side_promise) = (take.number()?, take.maybe()?.map(Time));
    if version > 1 {
        for _ in 0..take.count()? {
            let span = (Time(take.number()?), Time(take.number()?));
            stream.gaps.push(span);
        }
    }
    Ok(StreamPicture {
        settings,
        stream,
        sources,
        late_items,
        side_promise,
    })
}

fn take_items(
    take: &mut Take<'_>,
    version: u8,
    live: &Arc<LiveDictionary>,
) -> Result<Items, QueryError> {
    let mut items = Items::new();
    let parts = if version > 3 { take.count()? } else { 1 };
    for _ in 0..parts {
        let times = (0..take.count()?).map(|_| Ok((take.number()?, take.number()?)));
        let times = times.collect::<Result<Vec<_>, Mistake>>()?;
        let blanks = live.counts().blank_nodes;
        let part = items_of(&times, take.raw()?, blanks..blanks, live)?;
        for (time, quads) in part.iter() {
            items.add(time, quads);
        }
    }
    Ok(items)
}

fn put_query(put: &mut Put, query: &QueryPicture) {
    put.text(&query.name);
    put.text(&query.text);
    put.number(query.from_ms);
    put.flag(query.is_paused);
    put.number(query.evaluations);
    put.maybe(query.close_ms);
    put.flag(query.failure.is_some());
    if let Some(failure) = &query.failure {
        put.text(failure);
    }
    put_bag(put, &query.state);
    put.number(query.first_ms);
    put.number(query.extra_ms.len() as u64);
    query.extra_ms.iter().for_each(|time| put.number(*time));
    put.number(query.answers.len() as u64);
    for (close_ms, revision, rows) in &query.answers {
        put.number(*close_ms);
        put.number(*revision);
        put_bag(put, rows);
    }
    put.flag(query.instances.is_some());
    if let Some(instances) = &query.instances {
        put.raw(instances);
    }
    put.number(query.instance_state.len() as u64);
    for ((number, row), times) in &query.instance_state {
        put.number(*number);
        put_row(put, row);
        put.number(*times);
    }
    put.flag(query.lost.is_some());
    if let Some(lost) = &query.lost {
        put_lost(put, lost);
    }
}

fn put_bag(put: &mut Put, bag: &BTreeMap<ReportRow, u64>) {
    put.number(bag.len() as u64);
    for (row, times) in bag {
        put_row(put, row);
        put.number(*times);
    }
}

fn put_row(put: &mut Put, row: &ReportRow) {
    put.number(row.0.len() as u64);
    for cell in &row.0 {
        put.flag(cell.is_some());
        if let Some(term) = cell {
            put.term(term.as_ref());
        }
    }
}

fn take_query(take: &mut Take<'_>, version: u8) -> Result<QueryPicture, Mistake> {
    let mut query = QueryPicture {
        name: take.text()?,
        text: take.text()?,
        from_ms: take.number()?,
        is_paused: take.flag()?,
        evaluations: take.number()?,
        close_ms: take.maybe()?,
        failure: None,
        state: BTreeMap::new(),
        first_ms: 0,
        extra_ms: Vec::new(),
        answers: Vec::new(),
        lost: None,
        instances: None,
        instance_state: BTreeMap::new(),
    };
    if take.flag()? {
        query.failure = Some(take.text()?);
    }
    query.state = take_bag(take)?;
    query.first_ms = take.number()?;
    for _ in 0..take.count()? {
        query.extra_ms.push(take.number()?);
    }
    for _ in 0..take.count()? {
        let answer = (take.number()?, take.number()?, take_bag(take)?);
        query.answers.push(answer);
    }
    if take.flag()? {
        query.instances = Some(take.raw()?.to_vec());
    }
    for _ in 0..take.count()? {
        let key = (take.number()?, take_row(take)?);
        query.instance_state.insert(key, take.number()?);
    }
    if version > 2 && take.flag()? {
        query.lost = Some(take_lost(take)?);
    }
    Ok(query)
}

fn put_lost(put: &mut Put, lost: &Lost) {
    put.number(lost.closes.len() as u64);
    lost.closes.iter().for_each(|close| put.number(close.0));
    put.text(&lost.why);
    put.flag(lost.is_last);
}

fn take_lost(take: &mut Take<'_>) -> Result<Lost, Mistake> {
    let closes = (0..take.count()?).map(|_| Ok(Time(take.number()?)));
    Ok(Lost {
        closes: closes.collect::<Result<_, Mistake>>()?,
        why: take.text()?,
        is_last: take.flag()?,
    })
}

fn take_bag(take: &mut Take<'_>) -> Result<BTreeMap<ReportRow, u64>, Mistake> {
    let mut bag = BTreeMap::new();
    for _ in 0..take.count()? {
        let row = take_row(take)?;
        bag.insert(row, take.number()?);
    }
    Ok(bag)
}

fn take_row(take: &mut Take<'_>) -> Result<ReportRow, Mistake> {
    let mut row = Vec::new();
    for _ in 0..take.count()? {
        row.push(if take.flag()? {
            Some(take.term()?)
        } else {
            None
        });
    }
    Ok(ReportRow(row))
}

#[cfg(test)]
mod tests {
    use super::super::items::ItemsText;
    use super::*;
    use oxrdf::{NamedNode, TermRef};
    use rdf::dictionary::Dictionary;

    /// The item of this time, and its quad as a chunk.
    fn item(time_ms: u64) -> (Vec<(u64, u64)>, Vec<u8>) {
        let mut text = ItemsText::new(1);
        let nodes = ["urn:s", "urn:p", &format!("urn:o{time_ms}")].map(NamedNode::new_unchecked);
        let terms = nodes.iter().map(|node| TermRef::from(node.as_ref()));
        let places: Vec<_> = terms.map(|term| text.term(term).expect("a term")).collect();
        text.quad(places.into_iter());
        text.item(time_ms, 1);
        text.finish()
    }

    #[test]
    fn items_of_earlier_versions_are_in_one_part() {
        let (first, second) = (item(5), item(7));
        let put_times = |put: &mut Put, times: &[(u64, u64)]| {
            put.number(times.len() as u64);
            for (time, quads) in times {
                put.number(*time);
                put.number(*quads);
            }
        };
        let mut one = Put::default();
        put_times(&mut one, &[&first.0[..], &second.0].concat());
        one.raw(&[&first.1[..], &second.1].concat());
        let mut parts = Put::default();
        parts.number(2);
        for (times, chunk) in [&first, &second] {
            put_times(&mut parts, times);
            parts.raw(chunk);
        }
        let dictionary = Arc::new(Dictionary::empty().expect("a dictionary"));
        let live = Arc::new(LiveDictionary::new(dictionary));
        let read = |put: &Put, version| {
            let mut take = Take::new(&put.bytes);
            let items = take_items(&mut take, version, &live).expect("they are items");
            assert!(take.is_empty());
            let items = items.iter();
            items
                .map(|(time, quads)| (time.0, quads.to_vec()))
                .collect::<Vec<_>>()
        };
        assert_eq!(read(&one, 3).len(), 2);
        assert_eq!(read(&one, 3), read(&parts, 4));
    }
}
