//! Many queries in flight over HTTP from one thread.
//!
//! ```text
//!  connection 0  --query-->            <--answer--
//!  connection 1      --query-->                      one thread, woken by the system when something
//!  connection 2           --query-->   <--answer--   came: a read and a write a query
//! ```
//!
//! A thread a connection would cost a switch of threads each way, as much as the server takes for
//! the query; the load generator must cost less than what it loads. A connection has one query at
//! a time (HTTP/1.1 without pipelining), so queries in flight are connections.
//!
//! Every wait is bounded: an answer that does not come within [`PATIENCE`] ends the run.

use crate::http::{Address, HttpError, READ_BYTES, Response};
use crate::mix::{Clock, Error, FirstRows, Run, Tally, draws};
use mio::event::Event;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};
use workload::mix::{Drawn, Instances, Mix};

/// The longest time without any answer.
const PATIENCE: Duration = Duration::from_mins(1);
/// How near an arrival must be to be waited for with an eye on the clock: the system sleeps in
/// milliseconds.
const SPIN: Duration = Duration::from_millis(2);

/// Asks over so many connections from this thread until the time is over.
/// `share`: the thread's number, and how many there are.
///
/// # Errors
/// [`Error`], at the first answer that is none or a wrong one.
pub fn fly<I: Instances>(
    run: &Run,
    share: (u64, u64),
    connections: usize,
    address: &Address,
    (instances, first): (&I, &FirstRows),
) -> Result<Tally, Error<HttpError>> {
    let mut mix = draws(run, share, instances).ok_or(Error::NoInstances)?;
    let mut flight = Flight::new(address, connections, &mut mix)?;
    let mut tally = Tally::new(run.kind);
    let mut clock = Clock::start(run, share);
    flight.send_due(&mut mix, &mut clock)?;
    let mut events = Events::with_capacity(connections.max(1));
    let mut last_answer = Instant::now();
    while flight.waiting > 0 || clock.now < clock.until {
        let timeout = flight.timeout(&clock);
        wait(&mut flight.poll, &mut events, timeout).map_err(|error| flight.early(error))?;
        for event in &events {
            if flight.take(event, first, &mut clock, &mut tally)? {
                last_answer = clock.now;
                // At once, so that the server has work while the other answers are read.
                flight.send_due(&mut mix, &mut clock)?;
            }
        }
        clock.now = Instant::now();
        clock.look_whether_it_counts();
        flight.send_due(&mut mix, &mut clock)?;
        if flight.waiting > 0 && clock.now.saturating_duration_since(last_answer) > PATIENCE {
            let error = io::Error::new(io::ErrorKind::TimedOut, "no answer for a minute");
            return Err(flight.early(error));
        }
    }
    let until = clock.until;
    for waited in clock.left(clock.now) {
        let drawn = mix.draw(&mut flight.text);
        tally.leave(drawn, waited);
    }
    tally.elapsed = last_answer
        .max(until)
        .saturating_duration_since(clock.counted_from);
    tally.processor = clock.processor();
    Ok(tally)
}

fn wait(poll: &mut Poll, events: &mut Events, timeout: Duration) -> io::Result<()> {
    match poll.poll(events, Some(timeout)) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        other => other,
    }
}

/// One connection.
struct Line {
    stream: TcpStream,
    response: Response,
    request: String,
    written: usize,
    /// What it waits for the answer to, its text, and from when its time counts.
    asked: Option<Asked>,
    text: String,
}

#[derive(Clone, Copy)]
struct Asked {
    drawn: Drawn,
    begin: Instant,
}

struct Flight<'f> {
    address: &'f Address,
    poll: Poll,
    lines: Vec<Line>,
    /// Connections without a query.
    free: Vec<usize>,
    waiting: usize,
    buffer: Vec<u8>,
    /// Some text of the mix.
    text: String,
}

impl<'f> Flight<'f> {
    fn new<I: Instances>(
        address: &'f Address,
        connections: usize,
        mix: &mut Mix<'_, I>,
    ) -> Result<Self, Error<HttpError>> {
        assert!(connections > 0, "a worker has a connection");
        let mut text = String::new();
        // An error before the first query is said with the text of one.
        mix.draw(&mut text);
        let poll = Poll::new().map_err(|error| broken(&text, address.failed(error)))?;
        let mut flight = Self {
            address,
            poll,
            lines: Vec::with_capacity(connections),
            free: (0..connections).rev().collect(),
            waiting: 0,
            buffer: vec![0; READ_BYTES],
            text,
        };
        for place in 0..connections {
            let stream = flight.connect(place)?;
            flight.lines.push(Line {
                stream,
                response: Response::default(),
                request: String::new(),
                written: 0,
                asked: None,
                text: String::new(),
            });
        }
        Ok(flight)
    }

    fn connect(&self, place: usize) -> Result<TcpStream, Error<HttpError>> {
        let connected = self.address.connect();
        let stream = connected.map_err(|error| broken(&self.text, error))?;
        let register = |stream: std::net::TcpStream| {
            stream.set_nonblocking(true)?;
            let mut stream = TcpStream::from_std(stream);
            let interest = Interest::READABLE | Interest::WRITABLE;
            let registry = self.poll.registry();
            registry.register(&mut stream, Token(place), interest)?;
            Ok(stream)
        };
        register(stream).map_err(|error| self.early(error))
    }

    /// A failure that belongs to no query.
    fn early(&self, error: io::Error) -> Error<HttpError> {
        broken(&self.text, self.address.failed(error))
    }

    /// Sends what is to be asked by now over connections that are free.
    fn send_due<I: Instances>(
        &mut self,
        mix: &mut Mix<'_, I>,
        clock: &mut Clock,
    ) -> Result<(), Error<HttpError>> {
        while clock.now < clock.until {
            let arrival = clock.arrival.filter(|&arrival| arrival <= clock.now);
            if clock.is_open() && arrival.is_none() {
                break;
            }
            let Some(place) = self.free.pop() else { break };
            if arrival.is_some() {
                clock.advance();
            }
            let line = &mut self.lines[place];
            let drawn = mix.draw(&mut line.text);
            assert!(
                line.asked.is_none(),
                "a free connection waits for no answer"
            );
            self.address.request(&line.text, &mut line.request);
            line.response.clear();
            line.written = 0;
            line.asked = Some(Asked {
                drawn,
                begin: arrival.unwrap_or_else(Instant::now),
            });
            self.waiting += 1;
            self.write(place)?;
        }
        self.check();
        Ok(())
    }

    /// How long to wait for the system.
    fn timeout(&self, clock: &Clock) -> Duration {
        let next = match clock.arrival {
            Some(arrival) if !self.free.is_empty() => arrival.min(clock.until),
            _ => clock.until,
        };
        let left = next.saturating_duration_since(clock.now);
        if next == clock.until && self.waiting > 0 {
            // What is still in flight is waited for beyond the end.
            return left.max(Duration::from_millis(100));
        }
        left.saturating_sub(SPIN)
    }

    fn write(&mut self, place: usize) -> Result<(), Error<HttpError>> {
        let line = &mut self.lines[place];
        while line.written < line.request.len() {
            match line.stream.write(&line.request.as_bytes()[line.written..]) {
                Ok(0) => return Err(broken(&line.text, HttpError::Closed)),
                Ok(written) => line.written += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(&line.text, self.address.failed(error))),
            }
        }
        Ok(())
    }

    /// Goes on where the system says that something can be done; whether an answer has come.
    fn take(
        &mut self,
        event: &Event,
        first: &FirstRows,
        clock: &mut Clock,
        tally: &mut Tally,
    ) -> Result<bool, Error<HttpError>> {
        let place = event.token().0;
        if event.is_writable() {
            self.write(place)?;
        }
        let line = &mut self.lines[place];
        let Some(asked) = line.asked else {
            return Ok(false);
        };
        let is_complete = read(line, &mut self.buffer, self.address)
            .map_err(|error| first.failed(asked.drawn, &line.text, error))?;
        if !is_complete {
            return Ok(false);
        }
        clock.now = Instant::now();
        let rows = line.response.rows();
        first.check(asked.drawn, &line.text, rows)?;
        line.asked = None;
        if clock.counts(asked.begin) {
            let time = clock.now.saturating_duration_since(asked.begin);
            tally.record(asked.drawn, time, rows);
        }
        if line.response.closes {
            self.lines[place].stream = self.connect(place)?;
        }
        self.free.push(place);
        self.waiting -= 1;
        self.check();
        Ok(true)
    }

    fn check(&self) {
        assert_eq!(
            self.free.len() + self.waiting,
            self.lines.len(),
            "a connection is free or waits"
        );
    }
}

/// Reads what has come; whether the answer is complete.
fn read(line: &mut Line, buffer: &mut [u8], address: &Address) -> Result<bool, HttpError> {
    loop {
        match line.stream.read(buffer) {
            Ok(0) => return line.response.close(),
            Ok(read) => {
                if line.response.feed(&buffer[..read])? {
                    return Ok(true);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(address.failed(error)),
        }
    }
}

/// A failure of the connection, with the query that it would have had.
fn broken(text: &str, source: HttpError) -> Error<HttpError> {
    Error::Query {
        name: "connection",
        text: text.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
