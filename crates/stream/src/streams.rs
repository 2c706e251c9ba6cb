//! All streams and standing queries of a database, as one state machine.
//!
//! Messages go in (items, watermarks, ticks, streams and queries that come and go) and effects are asked for: seals to
//! be logged and absorbed, and queries to be evaluated. Nothing here waits, reads a clock or draws a number, so the same
//! messages give the same effects, in a test as after a crash.
//!
//! A seal becomes visible when whoever took it says that it is kept ([`Streams::sealed`]). So no query sees what a
//! crash could take back, and commits can be put between seals: [`Streams::poll`] gives all evaluations that are ready
//! before the next seal, and seals in order of their end.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::content::Evaluation;
use crate::definition::Definition;
use crate::error::StreamError;
use crate::image::StreamImage;
use crate::items::Items;
use crate::readiness::Readiness;
use crate::retention::Holdings;
use crate::schedule::{QueryId, Schedule, StreamId};
use crate::stream::{Accepted, LateSeal, Seal, Stream};
use crate::time::{SealPoint, Time};
use crate::vector::PartId;
use crate::watermark::{SourceId, SourceStatus};
use rdf::VertexId;
use rdf::transient::Renamed;

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// A query is to be evaluated.
    Ready(Evaluation),
    /// A seal is to be logged and what of it is stored to be absorbed; then [`Streams::sealed`] is due.
    Sealed(Seal),
    /// What came late and revises is to be logged; then [`Streams::revealed`] is due.
    Late(LateSeal),
}

/// How a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamStatus {
    /// The least promise of its active sources.
    pub watermark: Time,
    /// Up to here it is visible.
    pub visible: SealPoint,
    /// The same as a moment: all before it is decided and seen.
    pub covered: Time,
    /// Whether it has no active source.
    pub is_idle: bool,
    /// What its items and slices hold (bytes).
    pub held_bytes: u64,
}

/// See the head of this file.
#[derive(Clone, Debug)]
pub struct Streams {
    readiness: Readiness,
    names: BTreeMap<String, StreamId>,
    /// How many streams were ever made.
    made: u32,
    /// At how many parts each stream lies, and which of them is here.
    parts: u16,
    here: PartId,
    /// What the edge's clock last said.
    now: Time,
}

impl Default for Streams {
    fn default() -> Streams {
        Streams::new()
    }
}

impl Streams {
    /// None yet, all of them here.
    pub fn new() -> Streams {
        Streams::of_parts(1, PartId(0))
    }

    /// None yet, each at so many parts (above 0), of which this one is here.
    pub fn of_parts(parts: u16, here: PartId) -> Streams {
        Streams {
            readiness: Readiness::default(),
            names: BTreeMap::new(),
            made: 0,
            parts,
            here,
            now: Time(0),
        }
    }

    /// Makes a stream that begins at `begin`, with the batch in which that lies. Errors: the definition is none, or its
    /// name is taken.
    pub fn create(&mut self, definition: Definition, begin: Time) -> Result<StreamId, StreamError> {
        definition.validate()?;
        if self.names.contains_key(&definition.name) {
            return Err(StreamError::NameTaken(definition.name));
        }
        let stream = StreamId(self.made);
        self.made += 1;
        self.names.insert(definition.name.clone(), stream);
        let made = Stream::new(definition, begin, self.now, self.parts);
        self.readiness.streams.insert(stream, made);
        Ok(stream)
    }

    /// What late items may still change of a query: the moment from which it was evaluated first, and instants to come at
    /// which only they are to be seen.
    pub fn history(&self, query: QueryId) -> Result<(Time, Vec<Time>), StreamError> {
        let history = self.readiness.history(query);
        history.ok_or(StreamError::NoQuery(query))
    }

    /// A query that was registered again, to go on where it was, has this behind it ([`Streams::history`]).
    pub fn remember(&mut self, query: QueryId, first: Time, extra: &[Time]) {
        self.readiness.remember(query, first, extra);
    }

    /// All queries of streams that were resumed are registered.
    pub fn resumed(&mut self) {
        for stream in self.readiness.streams.values_mut() {
            stream.is_resuming = false;
        }
    }

    /// Whether a query names a stream.
    pub fn is_read(&self, stream: StreamId) -> bool {
        let stream = self.readiness.stream(stream);
        stream.is_ok_and(|stream| !stream.readers.is_empty())
    }

    /// An item of a stream that is before this is late.
    pub fn settled(&self, stream: StreamId) -> Result<SealPoint, StreamError> {
        Ok(self.readiness.stream(stream)?.open.settled_point())
    }

    /// How a stream stands, to go on with it later.
    pub fn image(&self, stream: StreamId) -> Result<StreamImage, StreamError> {
        Ok(self.readiness.stream(stream)?.image())
    }

    /// Makes a stream that stands so. Its queries are to be registered before anything else happens to it, and then
    /// [`Streams::resumed`] is due. Errors: as those of [`Streams::create`]. Only where streams lie at one part (asserted).
    pub fn resume_stream(
        &mut self,
        definition: Definition,
        image: &StreamImage,
    ) -> Result<StreamId, StreamError> {
        assert_eq!(self.parts, 1, "an image is of one part");
        definition.validate()?;
        if self.names.contains_key(&definition.name) {
            return Err(StreamError::NameTaken(definition.name));
        }
        let stream = StreamId(self.made);
        self.made += 1;
        self.names.insert(definition.name.clone(), stream);
        let made = Stream::of_image(definition, image, self.now);
        self.readiness.streams.insert(stream, made);
        self.readiness.offer(stream);
        Ok(stream)
    }

    /// Why a stream cannot be dropped: there is none, or queries name it.
    pub fn may_drop(&self, stream: StreamId) -> Result<(), StreamError> {
        let dropped = self.readiness.stream(stream)?;
        let queries = self.readiness.queries_of(dropped);
        if queries > 0 {
            let name = dropped.definition.name.clone();
            return Err(StreamError::InUse { name, queries });
        }
        Ok(())
    }

    /// Forgets a stream with all that it holds. Errors: those of [`Streams::may_drop`].
    pub fn drop_stream(&mut self, stream: StreamId) -> Result<(), StreamError> {
        self.may_drop(stream)?;
        let name = self.definition(stream)?.name.clone();
        self.names.remove(&name);
        self.readiness.remove_stream(stream);
        Ok(())
    }

    /// The stream of this name.
    pub fn find(&self, name: &str) -> Option<StreamId> {
        self.names.get(name).copied()
    }

    /// What a stream is.
    pub fn definition(&self, stream: StreamId) -> Result<&Definition, StreamError> {
        Ok(&self.readiness.stream(stream)?.definition)
    }

    /// How a stream stands.
    pub fn status(&self, stream: StreamId) -> Result<StreamStatus, StreamError> {
        let stream = self.readiness.stream(stream)?;
        Ok(StreamStatus {
            watermark: stream.watermark(),
            visible: stream.visible(),
            covered: stream.covered(),
            is_idle: stream.is_idle(),
            held_bytes: stream.bytes(),
        })
    }

    /// How the sources of a stream stand, by their numbers.
    pub fn sources(&self, stream: StreamId) -> Result<Vec<SourceStatus>, StreamError> {
        let stream = self.readiness.stream(stream)?;
        Ok(stream.watermarks.sources().collect())
    }

    /// What the sealed batches of a stream hold. O(batches).
    pub fn holdings(&self, stream: StreamId) -> Result<Holdings, StreamError> {
        Ok(self.readiness.stream(stream)?.retained.holdings())
    }

    /// The vector: how far each stream is visible.
    pub fn vector(&self) -> Vec<(StreamId, SealPoint)> {
        self.readiness.vector()
    }

    /// The sealed items of a span that are still there, by time.
    pub fn items(&self, stream: StreamId, span: Range<Time>) -> Result<Items, StreamError> {
        Ok(self.readiness.stream(stream)?.retained.items(span))
    }

    /// Somebody else holds so many bytes for a stream. They count to its budget.
    pub fn hold_beside(&mut self, stream: StreamId, bytes: u64) -> Result<(), StreamError> {
        let held = self.readiness.streams.get_mut(&stream);
        held.ok_or(StreamError::NoStream(stream))?.beside_bytes = bytes;
        Ok(())
    }

    /// Gives each transient id that an open or sealed item of any stream names, as often as items do. Whoever gives such
    /// ids may drop the others.
    pub fn name_transients(&self, name: &mut dyn FnMut(VertexId)) {
        for stream in self.readiness.streams.values() {
            stream.name_transients(name);
        }
    }

    /// Puts stored ids in place of transient ones in all items, and in the slices that evaluations get from now on.
    pub fn rename(&mut self, renamed: &Renamed) {
        self.readiness.rename(renamed);
    }

    /// Registers a query: its first evaluation is at its first instant that is not before `at`. Errors: the number is
    /// taken, the schedule is none, or a stream is not there.
    pub fn register(
        &mut self,
        query: QueryId,
        schedule: Schedule,
        at: Time,
    ) -> Result<(), StreamError> {
        if self.readiness.has_query(query) {
            return Err(StreamError::QueryTaken(query));
        }
        schedule.validate()?;
        for window in &schedule.windows {
            self.readiness.stream(window.stream)?;
        }
        self.readiness.register(query, schedule, at);
        Ok(())
    }

    /// Forgets a query, evaluations that were due included.
    pub fn unregister(&mut self, query: QueryId) -> Result<(), StreamError> {
        self.readiness.unregister(query)
    }

    /// Evaluates a query no more and keeps nothing for it, until it is resumed.
    pub fn pause(&mut self, query: QueryId) -> Result<(), StreamError> {
        self.readiness.rest(query)
    }

    /// Goes on with a paused query, from its first instant on that is not before `at` and that it has not had. One that is
    /// not paused goes on as it does.
    pub fn resume(&mut self, query: QueryId, at: Time) -> Result<(), StreamError> {
        self.readiness.go_on(query, at)
    }

    /// For each set of streams that queries read together beside what is stored: no close of theirs that is still to be evaluated is
    /// before this. Queries that are paused, or read nothing that is stored, count for none; for those that come or go on later each
    /// stream stands alone, with its open batch.
    /// O(cohorts and streams).
    pub fn next_closes(&self) -> BTreeMap<BTreeSet<StreamId>, Time> {
        self.readiness.next_closes()
    }

    /// No instant of a query before this is still to come. A query that is registered again with this moment goes on
    /// where it was.
    pub fn progress(&self, query: QueryId) -> Result<Time, StreamError> {
        let progress = self.readiness.progress(query);
        progress.ok_or(StreamError::NoQuery(query))
    }

    /// Waits for a source of a stream from now on, though it has said nothing yet.
    pub fn join(&mut self, stream: StreamId, source: SourceId) -> Result<(), StreamError> {
        let now = self.now;
        self.readiness.change(stream, |stream| {
            stream.join(source, now);
            Ok(())
        })
    }

    /// A source of a stream is gone, and waited for no more.
    pub fn leave(&mut self, stream: StreamId, source: SourceId) -> Result<(), StreamError> {
        let now = self.now;
        self.readiness.change(stream, |stream| {
            stream.leave(source, now);
            Ok(())
        })
    }

    /// Forgets a source, if its stream goes on without it as it would with it; says whether it did. Nobody waits for such a
    /// source: it is idle, or its stream's items have the times of their arrival.
    pub fn forget_source(
        &mut self,
        stream: StreamId,
        source: SourceId,
    ) -> Result<bool, StreamError> {
        let known = self.readiness.stream(stream)?;
        let by_arrival = known.definition.arrival_time;
        let may = known.watermarks.may_forget(source, by_arrival);
        if may {
            self.leave(stream, source)?;
        }
        Ok(may)
    }

    /// Takes items of a source, all or none. An item promises that later ones of its source are not before it, up to
    /// the stream's lateness. Errors: there is no such stream, or it is full.
    pub fn push(
        &mut self,
        stream: StreamId,
        source: SourceId,
        items: &Items,
    ) -> Result<Accepted, StreamError> {
        let now = self.now;
        self.readiness
            .change(stream, |stream| stream.push(source, items, now))
            .inspect(|accepted| self.readiness.note_late(stream, accepted))
    }

    /// An error where a push of these items would be refused. Until something else happens to the stream it is not.
    pub fn make_room(
        &mut self,
        stream: StreamId,
        source: SourceId,
        items: &Items,
    ) -> Result<(), StreamError> {
        self.readiness
            .change(stream, |stream| stream.make_room(source, items.bytes()))
    }

    /// Something that should have come at this moment found no room: windows that hold the moment say so.
    pub fn note_gap(&mut self, stream: StreamId, time: Time) -> Result<(), StreamError> {
        let lacking = self.readiness.streams.get_mut(&stream);
        let lacking = lacking.ok_or(StreamError::NoStream(stream))?;
        lacking.retained.note_gap(time);
        Ok(())
    }

    /// Gives up what a stream can make again and what it keeps for nobody in particular.
    pub fn give_up(&mut self, stream: StreamId) -> Result<(), StreamError> {
        self.readiness.change(stream, |stream| {
            stream.give_up();
            Ok(())
        })
    }

    /// A source promises that its later items have at least this time, or says by an old promise that it is there.
    pub fn watermark(
        &mut self,
        stream: StreamId,
        source: SourceId,
        promised: Time,
    ) -> Result<(), StreamError> {
        let now = self.now;
        self.readiness.change(stream, |stream| {
            stream.hear(source, promised, now);
            Ok(())
        })
    }

    /// The edge's clock says this. It does not go back. It is the time of items that have none, and by it sources are idle.
    pub fn tick(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.readiness.tick(self.now);
    }

    /// A seal of the log, or of another part, says that all before `until` is decided: an item that comes later is late.
    pub fn obey(&mut self, stream: StreamId, until: SealPoint) -> Result<(), StreamError> {
        self.readiness.change(stream, |stream| {
            stream.obey(until);
            Ok(())
        })
    }

    /// A part has kept all seals of a stream up to `until`. What all parts have is visible.
    pub fn sealed(
        &mut self,
        part: PartId,
        stream: StreamId,
        until: SealPoint,
    ) -> Result<(), StreamError> {
        if part == self.here {
            self.readiness.stream(stream)?.check_sealed(until)?;
        }
        self.readiness.seal(stream, part, until)
    }

    /// What came late is kept: queries that it revises see it from now on, and are evaluated again.
    pub fn revealed(&mut self, late: &LateSeal) -> Result<(), StreamError> {
        self.readiness.reveal(late)
    }

    /// What is to be done next: an evaluation, revisions and then the earliest first; or else what came late; or else a
    /// seal, the one that ends first.
    pub fn poll(&mut self) -> Option<Effect> {
        let ready = self.next_ready().map(Effect::Ready);
        let late = ready.or_else(|| self.next_late().map(Effect::Late));
        late.or_else(|| self.next_seal().map(Effect::Sealed))
    }

    /// The stream of which something came late that revises, if there is one: [`Streams::next_late`] gives that.
    pub fn next_late_stream(&mut self) -> Option<StreamId> {
        self.readiness.next_late_stream()
    }

    /// What came late in a stream and revises, if there is something.
    pub fn next_late(&mut self) -> Option<LateSeal> {
        self.readiness.next_late()
    }

    /// Whether an evaluation is ready.
    pub fn has_ready(&self) -> bool {
        self.readiness.has_ready()
    }

    /// The next evaluation, if one is ready.
    pub fn next_ready(&mut self) -> Option<Evaluation> {
        self.readiness.next_ready()
    }

    /// The next seal of one stream that ends by `until`, if there is one, whatever is decided behind that: for whoever obeys a
    /// log, where a seal that could not be said at once stands behind later promises.
    pub fn seal_of(
        &mut self,
        stream: StreamId,
        until: SealPoint,
    ) -> Result<Option<Seal>, StreamError> {
        self.readiness.change(
            stream,
            |sealing| Ok(sealing.next_seal_within(stream, until)),
        )
    }

    /// When the next seal ends, if there is one.
    pub fn next_seal_end(&self) -> Option<Time> {
        self.readiness.next_seal_end()
    }

    /// The next seal, if there is one.
    pub fn next_seal(&mut self) -> Option<Seal> {
        self.readiness.next_seal()
    }
}
