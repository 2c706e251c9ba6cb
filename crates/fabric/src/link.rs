//! A link: what two nodes that belong together have under way, from one `Up` to its `Down`, seen from one of them.
//!
//! A value without threads, clocks and sockets: frames come in, frames go out, time is an argument. So a simulation and TCP
//! have the same links, and what the first finds holds for the second.
//!
//! **Back-pressure is by credit.** A sender adds up what it has sent, the receiver says how much of that its poll has handed
//! out, and the difference is bounded ([`Limits::queue_bytes_max`]). Reading a socket is never paused, so that heartbeats and
//! answers are not held up behind messages that nobody takes. Who sends more than its credit breaks the link.
//!
//! **Silence** is counted in ticks of this node, see [`TICK`](crate::liveness::TICK).

use std::collections::VecDeque;
use std::time::Duration;

use crate::access::{Asked, Calls, Direction, parse_question, put_result};
use crate::call::Call;
use crate::counts::Counters;
use crate::error::FabricError;
use crate::event::{Absence, Event};
use crate::frame::{Draft, Fields, Frame, FrameError, Kind};
use crate::inbox::Inbox;
use crate::limits::Limits;
use crate::liveness::{HEARTBEAT, SILENCE_MAX};
use crate::measure::Measure;
use crate::node::{Incarnation, NodeId};
use crate::offers::Offers;
use crate::region::{Buffer, Piece};

/// Which connection carries a link: a number that its driver gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionId(pub(crate) u64);

/// What a link's node has beside it.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) here: NodeId,
    pub(crate) peer: NodeId,
    pub(crate) limits: &'a Limits,
    pub(crate) inbox: &'a Inbox,
    pub(crate) offers: &'a Offers,
    pub(crate) counters: &'a Counters,
}

/// Something that is to be sent, in order.
enum Outgoing {
    Heartbeat,
    Consumed,
    Message(Vec<u8>),
    Question(u64),
    Answer(Asked),
    Written {
        number: u64,
        result: Result<(), FabricError>,
    },
    Probe {
        bytes: usize,
    },
    Echo {
        stamp: u64,
    },
    Leave,
}

/// What is sent next.
pub(crate) enum NextFrame {
    /// A frame.
    Draft(Draft),
    /// The answer to a read, which [`answer`](crate::access::answer) makes: outside of all locks, because it copies.
    Answer(Asked),
}

/// One of the two sides of a link.
pub(crate) struct Link {
    pub(crate) connection: ConnectionId,
    pub(crate) incarnation: Incarnation,
    /// Whether poll has said that the peer is up. Before that nothing is sent by it.
    pub(crate) is_announced: bool,
    output: VecDeque<Outgoing>,
    /// Cost of all messages accepted for sending, and what of it the peer has handed out.
    sent: u64,
    sent_consumed: u64,
    was_refused: bool,
    /// Cost of all messages that arrived, what of it was handed out here, and what the peer was told of that.
    received: u64,
    consumed: u64,
    consumed_told: u64,
    calls: Calls,
    /// What the peer has asked and was not answered yet.
    answers: usize,
    answers_bytes: usize,
    measure: Measure,
    silent_for: Duration,
    last_tick: Duration,
    last_sent: Duration,
}

impl Link {
    /// A link that has just come up.
    pub(crate) fn new(
        connection: ConnectionId,
        incarnation: Incarnation,
        now: Duration,
        limits: &Limits,
    ) -> Link {
        Link {
            connection,
            incarnation,
            is_announced: false,
            output: VecDeque::from([Outgoing::Probe { bytes: 0 }]),
            sent: 0,
            sent_consumed: 0,
            was_refused: false,
            received: 0,
            consumed: 0,
            consumed_told: 0,
            calls: Calls::default(),
            answers: 0,
            answers_bytes: 0,
            measure: Measure::new(limits.message_bytes_max),
            silent_for: Duration::ZERO,
            last_tick: now,
            last_sent: now,
        }
    }

    /// Queues a message, or gives it back with what is under way.
    pub(crate) fn send(
        &mut self,
        message: Vec<u8>,
        limits: &Limits,
    ) -> Result<(), (Vec<u8>, usize)> {
        let under_way = self.under_way();
        if !limits.fits(under_way, message.len()) {
            self.was_refused = true;
            return Err((message, under_way));
        }
        self.sent += Limits::cost(message.len()) as u64;
        self.output.push_back(Outgoing::Message(message));
        Ok(())
    }

    /// Bytes that were sent and not handed out.
    fn under_way(&self) -> usize {
        (self.sent - self.sent_consumed) as usize
    }

    /// Queues a read or write, or gives its buffer back with what is under way.
    pub(crate) fn access(
        &mut self,
        direction: Direction,
        pieces: &[Piece],
        buffer: Buffer,
        call: Call,
        limits: &Limits,
    ) -> Result<(), (Buffer, usize)> {
        let bytes = pieces.iter().map(|piece| piece.length).sum();
        if let Err(under_way) = self.calls.admit(bytes, limits) {
            return Err((buffer, under_way));
        }
        let number = self.calls.start(direction, pieces, buffer, call);
        self.output.push_back(Outgoing::Question(number));
        Ok(())
    }

    /// Says good-bye after all that is queued.
    pub(crate) fn leave(&mut self) {
        self.output.push_back(Outgoing::Leave);
    }

    /// Whether something is to be sent.
    pub(crate) fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// What is to be sent next.
    pub(crate) fn next(&mut self, now: Duration) -> Option<NextFrame> {
        loop {
            let next = match self.output.pop_front()? {
                Outgoing::Answer(asked) => {
                    self.answers -= 1;
                    self.answers_bytes -= asked.bytes;
                    Some(NextFrame::Answer(asked))
                }
                outgoing => self.draft(outgoing, now).map(NextFrame::Draft),
            };
            if next.is_some() {
                self.last_sent = now;
                return next;
            }
        }
    }

    /// A frame; `None` where it is not worth sending any more.
    fn draft(&mut self, outgoing: Outgoing, now: Duration) -> Option<Draft> {
        let stamp = |stamp: u64| stamp.to_le_bytes().to_vec();
        Some(match outgoing {
            Outgoing::Heartbeat => self.draft_consumed(Kind::Heartbeat),
            Outgoing::Consumed => self.draft_consumed(Kind::Consumed),
            Outgoing::Message(rest) => Draft {
                kind: Kind::Message,
                prefix: Vec::new(),
                rest,
            },
            Outgoing::Question(number) => return self.calls.ask(number),
            Outgoing::Answer(_) => unreachable!("answers are made outside"),
            Outgoing::Written { number, result } => {
                self.answers -= 1;
                Draft::short(Kind::Done, put_result(number, &result))
            }
            Outgoing::Probe { bytes } => Draft {
                kind: Kind::Probe,
                prefix: stamp(now.as_nanos() as u64),
                rest: vec![0; bytes],
            },
            Outgoing::Echo { stamp: of } => Draft::short(Kind::Echo, stamp(of)),
            Outgoing::Leave => Draft::short(Kind::Leave, Vec::new()),
        })
    }

    fn draft_consumed(&mut self, kind: Kind) -> Draft {
        self.consumed_told = self.consumed;
        Draft::short(kind, self.consumed.to_le_bytes().to_vec())
    }

    /// Something of the peer was heard, even if no frame is whole yet.
    pub(crate) fn heard(&mut self) {
        self.silent_for = Duration::ZERO;
    }

    /// Takes a frame of the peer. An error ends the link.
    pub(crate) fn receive(
        &mut self,
        frame: Frame,
        now: Duration,
        around: Surroundings<'_>,
    ) -> Result<(), Absence> {
        match frame.kind {
            Kind::Leave => Err(Absence::Left),
            Kind::Refuse => Err(Absence::Refused {
                reason: String::from_utf8_lossy(&frame.body).into_owned(),
            }),
            Kind::Message => self.receive_message(frame.body, around),
            _ => self
                .receive_other(&frame, now, around)
                .map_err(|error| broken(&error)),
        }
    }

    fn receive_message(&mut self, bytes: Vec<u8>, around: Surroundings<'_>) -> Result<(), Absence> {
        let waiting = (self.received - self.consumed) as usize;
        if bytes.len() > around.limits.message_bytes_max
            || !around.limits.fits(waiting, bytes.len())
        {
            let reason = format!("{} sent more than its credit", around.peer);
            return Err(Absence::Broken { reason });
        }
        self.received += Limits::cost(bytes.len()) as u64;
        let from = around.peer;
        around.inbox.push(Event::Message { from, bytes });
        Ok(())
    }

    fn receive_other(
        &mut self,
        frame: &Frame,
        now: Duration,
        around: Surroundings<'_>,
    ) -> Result<(), FrameError> {
        match frame.kind {
            Kind::Heartbeat | Kind::Consumed => self.receive_credit(frame, around),
            Kind::Read | Kind::Write => self.receive_question(frame, around),
            Kind::Answer | Kind::Done => self.receive_answer(frame, around),
            Kind::Probe => {
                let stamp = Fields::of(frame).u64()?;
                self.output.push_back(Outgoing::Echo { stamp });
                Ok(())
            }
            Kind::Echo => self.receive_echo(frame, now),
            kind => Err(FrameError::Unexpected(kind)),
        }
    }

    fn receive_credit(
        &mut self,
        frame: &Frame,
        around: Surroundings<'_>,
    ) -> Result<(), FrameError> {
        let mut fields = Fields::of(frame);
        let consumed = fields.u64()?;
        if consumed < self.sent_consumed || consumed > self.sent {
            return Err(fields.malformed());
        }
        fields.end()?;
        self.sent_consumed = consumed;
        if self.was_refused && around.limits.has_room(self.under_way()) {
            self.was_refused = false;
            around.inbox.push(Event::Room { to: around.peer });
        }
        Ok(())
    }

    fn receive_question(
        &mut self,
        frame: &Frame,
        around: Surroundings<'_>,
    ) -> Result<(), FrameError> {
        let limits = around.limits;
        let (asked, bytes) = parse_question(frame, around.here, limits)?;
        let is_much =
            self.answers_bytes > 0 && self.answers_bytes + asked.bytes > limits.queue_bytes_max;
        if self.answers >= limits.accesses_max || is_much {
            return Err(FrameError::Unexpected(frame.kind));
        }
        self.answers += 1;
        if frame.kind == Kind::Read {
            self.answers_bytes += asked.bytes;
            self.output.push_back(Outgoing::Answer(asked));
        } else {
            let result = around.offers.write(&asked.pieces, bytes);
            let number = asked.number;
            self.output.push_back(Outgoing::Written { number, result });
        }
        Ok(())
    }

    fn receive_answer(
        &mut self,
        frame: &Frame,
        around: Surroundings<'_>,
    ) -> Result<(), FrameError> {
        let (event, done) = self.calls.answered(frame, around.peer)?;
        match done {
            Some(done) if done.direction == Direction::Read => {
                around.counters.read(done.pieces, done.bytes);
            }
            Some(done) => around.counters.written(done.bytes),
            None => {}
        }
        if let Some(event) = event {
            around.inbox.push(event);
        }
        Ok(())
    }

    fn receive_echo(&mut self, frame: &Frame, now: Duration) -> Result<(), FrameError> {
        let mut fields = Fields::of(frame);
        let sent_at = Duration::from_nanos(fields.u64()?);
        let expected = self.measure.next_bytes();
        let after = now.checked_sub(sent_at);
        let (Some(_), Some(after)) = (expected, after) else {
            return Err(fields.malformed());
        };
        self.measure.echoed(after);
        if let Some(bytes) = self.measure.next_bytes() {
            self.output.push_back(Outgoing::Probe { bytes });
        }
        Ok(())
    }

    /// A message of this link was handed out; says whether the peer is to be told.
    pub(crate) fn handed_out(&mut self, message_bytes: usize, limits: &Limits) -> bool {
        self.consumed += Limits::cost(message_bytes) as u64;
        let untold = (self.consumed - self.consumed_told) as usize;
        let is_due = untold >= limits.queue_bytes_max / 8;
        if is_due {
            self.consumed_told = self.consumed;
            self.output.push_back(Outgoing::Consumed);
        }
        is_due
    }

    /// Looks at the clock. An error is the peer's absence.
    pub(crate) fn tick(&mut self, now: Duration, around: Surroundings<'_>) -> Result<(), Absence> {
        self.silent_for += now.saturating_sub(self.last_tick).min(HEARTBEAT);
        self.last_tick = now;
        for event in self.calls.late(now, around.peer) {
            around.inbox.push(event);
        }
        if self.silent_for >= SILENCE_MAX {
            let heard_before = self.silent_for;
            return Err(Absence::Silent { heard_before });
        }
        let is_due = now.saturating_sub(self.last_sent) >= HEARTBEAT;
        if is_due && self.output.is_empty() {
            self.output.push_back(Outgoing::Heartbeat);
        }
        Ok(())
    }

    /// Round trip (ns) and time by length (ns a KiB), once they are measured.
    pub(crate) fn figures(&self) -> Option<(u64, u64)> {
        self.measure.figures()
    }

    /// Tells the node what the end of this link means: completions of all that is under way, and `Down`.
    pub(crate) fn end(self, cause: Absence, around: Surroundings<'_>) {
        let node = around.peer;
        for event in self.calls.end(node) {
            around.inbox.push(event);
        }
        let incarnation = self.incarnation;
        around.inbox.push(Event::Down {
            node,
            incarnation,
            cause,
        });
    }
}

fn broken(error: &FrameError) -> Absence {
    let reason = error.to_string();
    Absence::Broken { reason }
}
