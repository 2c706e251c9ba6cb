//! Five streams as lines with times, slice by slice.
//!
//! A *slice* is what one stream says in [`SLICE_MS`] of application time. Invariant: the slices of a stream, one after
//! the other, are the same for every span that reaches as far, so `T` seconds are a prefix of `2 T` seconds; memory is
//! one slice and one item for each stream, whatever the span.
//!
//! With more than one thread each stream is made by a thread of its own, [`SLICES_AHEAD`] slices ahead. The likes of
//! posts are 64 % of all lines, so more than two threads gain little.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope};

use super::items::Items;
use super::lines::{Lines, lines_until};
use super::society::Society;
use super::{Lsbench, RecordingError, Span, Stream, Written};

/// The length of a slice: the step of the benchmark's windows (milliseconds).
pub const SLICE_MS: u64 = 100;
/// Finished slices that may wait, for each stream (count): at the published rate at most 5 MB.
const SLICES_AHEAD: usize = 4;

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineForm {
    /// `milliseconds TAB subject predicate object .`: a file of one stream.
    Triples,
    /// `milliseconds TAB subject predicate object <stream> .`: several streams in one text.
    Quads,
}

/// What a stream says in [`SLICE_MS`] milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Whole lines, by ascending time.
    pub bytes: Vec<u8>,
    /// How many.
    pub lines: u64,
    /// Where the lines of each millisecond begin, and at the end where the last ones end (bytes).
    begins: Vec<usize>,
}

impl Slice {
    /// Where the lines of a millisecond are, counted from the slice's begin.
    fn of_ms(&self, ms: usize) -> Range<usize> {
        self.begins[ms]..self.begins[ms + 1]
    }
}

/// The slices of one stream, in order; see [`Lsbench::slices`].
#[derive(Debug)]
pub struct Slices {
    society: Arc<Society>,
    items: Items,
    lines: Lines,
    /// Lines of the slices before.
    passed: u64,
    /// Lines in 1,000 seconds.
    rate: u64,
    next_ms: u64,
    end_ms: u64,
}

impl Slices {
    pub(super) fn new(lsbench: &Lsbench, stream: Stream, span: Span, form: LineForm) -> Self {
        let rate = stream.lines_per_second() * span.rate.thousandths();
        let iri = stream.iri();
        let named = (form == LineForm::Quads).then_some(iri.as_str());
        Self {
            items: Items::new(&lsbench.society, stream),
            society: Arc::clone(&lsbench.society),
            lines: Lines::timed(rate, named),
            passed: 0,
            rate,
            next_ms: 0,
            end_ms: span.milliseconds,
        }
    }

    /// Puts the next slice into `slice`, whose vectors are used again; `false` at the end.
    pub fn next_into(&mut self, slice: &mut Slice) -> bool {
        if self.next_ms >= self.end_ms {
            return false;
        }
        let begin_ms = self.next_ms;
        let end_ms = (begin_ms + SLICE_MS).min(self.end_ms);
        let end_line = lines_until(end_ms, self.rate);
        // One line more, so that the slice's end is known.
        while self.lines.count <= end_line {
            self.items.write_next(&self.society, &mut self.lines);
        }
        slice.begins.clear();
        for ms in begin_ms..=end_ms {
            let begin = self.lines.begin_of(ms);
            slice
                .begins
                .push(begin.expect("a line of a later time was written"));
        }
        slice.bytes.clear();
        self.lines
            .take(slice.begins[slice.begins.len() - 1], &mut slice.bytes);
        slice.lines = end_line - self.passed;
        self.passed = end_line;
        self.next_ms = end_ms;
        true
    }
}

impl Iterator for Slices {
    type Item = Slice;

    fn next(&mut self) -> Option<Slice> {
        let mut slice = Slice::default();
        self.next_into(&mut slice).then_some(slice)
    }
}

impl Lsbench {
    /// What one stream says within a span, slice by slice.
    pub fn slices(&self, stream: Stream, span: Span, form: LineForm) -> Slices {
        Slices::new(self, stream, span, form)
    }

    /// Writes all streams into one text, by time: within a millisecond in the order of [`Stream::ALL`]. A line names
    /// its stream ([`LineForm::Quads`]). `on_progress` is called after each 100 ms of application time.
    ///
    /// # Errors
    /// [`RecordingError::Write`].
    pub fn write_interleaved(
        &self,
        out: &mut dyn Write,
        span: Span,
        threads: usize,
        on_progress: &mut dyn FnMut(Written),
    ) -> Result<Written, RecordingError> {
        thread::scope(|scope| {
            let mut sources =
                Stream::ALL.map(|stream| Source::new(self, scope, stream, span, threads));
            let mut written = Written::default();
            while sources.iter_mut().all(Source::advance) {
                write_by_time(&sources, out).map_err(RecordingError::Write)?;
                for source in &sources {
                    written.add(source.slice.lines, &source.slice.bytes);
                }
                on_progress(written);
            }
            out.flush().map_err(RecordingError::Write)?;
            Ok(written)
        })
    }
}

fn write_by_time(sources: &[Source], out: &mut dyn Write) -> std::io::Result<()> {
    for ms in 0..sources[0].slice.begins.len() - 1 {
        for Source { slice, .. } in sources {
            out.write_all(&slice.bytes[slice.of_ms(ms)])?;
        }
    }
    Ok(())
}

/// A stream's slices, made here or on a thread.
struct Source {
    from: From,
    slice: Slice,
}

enum From {
    Here(Box<Slices>),
    Thread(Receiver<Slice>),
}

impl Source {
    fn new<'scope>(
        lsbench: &Lsbench,
        scope: &'scope Scope<'scope, '_>,
        stream: Stream,
        span: Span,
        threads: usize,
    ) -> Self {
        let slices = lsbench.slices(stream, span, LineForm::Quads);
        let from = if threads <= 1 {
            From::Here(Box::new(slices))
        } else {
            let (sender, receiver) = sync_channel(SLICES_AHEAD);
            scope.spawn(move || send_all(slices, &sender));
            From::Thread(receiver)
        };
        Self {
            from,
            slice: Slice::default(),
        }
    }

    /// Goes on to the next slice; `false` at the end.
    fn advance(&mut self) -> bool {
        match &mut self.from {
            From::Here(slices) => slices.next_into(&mut self.slice),
            From::Thread(receiver) => receiver.recv().map(|slice| self.slice = slice).is_ok(),
        }
    }
}

/// Ends when nobody reads any more.
fn send_all(slices: Slices, sender: &SyncSender<Slice>) {
    for slice in slices {
        if sender.send(slice).is_err() {
            return;
        }
    }
}
