//! What the five streams say, made and parsed: 100 ms after 100 ms, on demand or ahead on a thread of its own.

use super::failure;
use crate::exit::Failure;
use somersault::{TimedQuads, recorded};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};
use workload::lsbench::{LineForm, Lsbench, Slice, Slices, Span, Stream};

/// Steps that wait (count): at four times the published rate some 50 MB.
const STEPS_AHEAD: usize = 4;

/// 100 ms of all streams.
pub(super) struct Step {
    pub(super) streams: Vec<FedItems>,
    /// What parsing them took.
    pub(super) parse: Duration,
}

/// 100 ms of a stream.
pub(super) struct FedItems {
    pub(super) stream: Stream,
    pub(super) lines: u64,
    pub(super) items: Vec<TimedQuads>,
}

/// Where steps come from.
pub(super) enum Steps {
    /// Made when they are asked for.
    Here(LineSource),
    /// Made ahead.
    Ahead(Receiver<Result<Step, Failure>>),
}

impl Steps {
    pub(super) fn here(lsbench: &Lsbench, span: Span) -> Steps {
        Steps::Here(LineSource::new(lsbench, span))
    }

    pub(super) fn ahead(lsbench: &Lsbench, span: Span) -> Result<Steps, Failure> {
        let (sender, receiver) = sync_channel(STEPS_AHEAD);
        let mut source = LineSource::new(lsbench, span);
        let make = move || {
            while let Some(step) = source.next_step().transpose() {
                // Nobody wants more.
                if sender.send(step).is_err() {
                    return;
                }
            }
        };
        drop(Builder::new().name("lsbench".to_owned()).spawn(make)?);
        Ok(Steps::Ahead(receiver))
    }

    /// The next step; none at the end.
    pub(super) fn next_step(&mut self) -> Result<Option<Step>, Failure> {
        match self {
            Steps::Here(source) => source.next_step(),
            Steps::Ahead(receiver) => receiver.recv().ok().transpose(),
        }
    }
}

/// The lines of the streams.
pub(super) struct LineSource {
    streams: Vec<(Stream, Slices)>,
}

impl LineSource {
    pub(super) fn new(lsbench: &Lsbench, span: Span) -> LineSource {
        let slices = |stream| (stream, lsbench.slices(stream, span, LineForm::Triples));
        LineSource {
            streams: Stream::ALL.map(slices).into(),
        }
    }

    /// The lines of the next step; none at the end.
    pub(super) fn next_lines(&mut self) -> Option<Vec<(Stream, Slice)>> {
        let streams = self.streams.iter_mut();
        let lines = streams.map(|(stream, slices)| Some((*stream, slices.next()?)));
        lines.collect()
    }

    fn next_step(&mut self) -> Result<Option<Step>, Failure> {
        let Some(lines) = self.next_lines() else {
            return Ok(None);
        };
        let begun = Instant::now();
        let streams = lines.iter().map(|(stream, slice)| {
            Ok(FedItems {
                stream: *stream,
                lines: slice.lines,
                items: parsed(*stream, slice)?,
            })
        });
        let streams = streams.collect::<Result<_, Failure>>()?;
        let parse = begun.elapsed();
        Ok(Some(Step { streams, parse }))
    }
}

/// The items of lines.
pub(super) fn parsed(stream: Stream, slice: &Slice) -> Result<Vec<TimedQuads>, Failure> {
    let items = recorded(Some(stream.short_name()), &slice.bytes[..]);
    items.collect::<Result<_, _>>().map_err(failure)
}
