//! The simulated network and the machines in it: one queue of what happens when.
//!
//! Invariant: whatever happens follows from the seed, the faults and what the nodes were told to do; nothing depends on an
//! address, a hash of the process or a real clock. What happens at one time happens in the order in which it was decided.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use xxhash_rust::xxh3::Xxh3;

use super::fault::{Fault, Stop, Weather};
use super::random::Random;
use super::stream::{Segment, Stream};
use crate::connection::Connection;
use crate::event::{Absence, Event};
use crate::hello::{Hello, PROTOCOL_VERSION};
use crate::limits::Limits;
use crate::link::ConnectionId;
use crate::liveness::TICK;
use crate::node::NodeId;
use crate::station::{Station, replaced_by_another};

/// For how long a connection that has ended is kept to get its last words across.
const LINGER: Duration = Duration::from_secs(1);

/// What happens next at a node, seen from outside.
pub(crate) enum Next {
    Look(NodeId),
    Stopped(NodeId),
    Started(NodeId),
}

/// All machines and what is between them.
pub(crate) struct Network {
    pub(crate) now: Duration,
    limits: Limits,
    random: Random,
    weather: Weather,
    is_cut: Vec<bool>,
    machines: Vec<Machine>,
    queue: BinaryHeap<Reverse<Scheduled>>,
    scheduled: u64,
    streams: u64,
    /// What the driver is to be told beside events.
    news: VecDeque<Next>,
    digest: Xxh3,
}

/// One machine.
struct Machine {
    state: State,
    station: Arc<Station>,
    carried: BTreeMap<ConnectionId, Carried>,
    /// What came while it was frozen.
    waiting: VecDeque<Datagram>,
    alarm: Option<Duration>,
    is_ticking: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Frozen,
    Stopped(Stop),
}

/// A connection and what carries it.
struct Carried {
    other: NodeId,
    connection: Connection,
    stream: Stream,
    /// Set once it has ended: when it is forgotten.
    forget_at: Option<Duration>,
    /// For when the queue holds a time to send again.
    timer: Option<Duration>,
}

/// What goes from one machine to another.
#[derive(Clone)]
struct Datagram {
    from: NodeId,
    to: NodeId,
    connection: ConnectionId,
    /// `None` ends the connection.
    segment: Option<Segment>,
}

/// Something that will happen.
struct Scheduled {
    at: Duration,
    order: u64,
    what: What,
}

enum What {
    Arrival(Datagram),
    Tick(NodeId, u64),
    Resend(NodeId, ConnectionId),
    Alarm(NodeId),
    Fault(Fault),
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Scheduled) -> bool {
        self.order == other.order
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Scheduled) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Scheduled) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl Network {
    pub(crate) fn new(nodes: u16, seed: u64, limits: Limits, weather: Weather) -> Network {
        let machine = |node| Machine {
            state: State::Running,
            station: station(nodes, NodeId(node), 1, limits),
            carried: BTreeMap::new(),
            waiting: VecDeque::new(),
            alarm: None,
            is_ticking: false,
        };
        let mut network = Network {
            now: Duration::ZERO,
            limits,
            random: Random::new(seed),
            weather,
            is_cut: vec![false; usize::from(nodes) * usize::from(nodes)],
            machines: (0..nodes).map(machine).collect(),
            queue: BinaryHeap::new(),
            scheduled: 0,
            streams: 0,
            news: VecDeque::new(),
            digest: Xxh3::new(),
        };
        for node in 0..nodes {
            network.start_ticking(NodeId(node));
        }
        network
    }

    /// The node's present life, unless it is stopped.
    pub(crate) fn station(&self, node: NodeId) -> Option<Arc<Station>> {
        let machine = self.machines.get(node.index())?;
        let is_there = !matches!(machine.state, State::Stopped(_));
        is_there.then(|| Arc::clone(&machine.station))
    }

    /// Whether the node is running, and this its present life.
    pub(crate) fn is_running(&self, station: &Arc<Station>) -> bool {
        let machine = &self.machines[station.here().index()];
        machine.state == State::Running && Arc::ptr_eq(&machine.station, station)
    }

    /// A number that two runs share if all that happened in them was the same.
    pub(crate) fn digest(&self) -> u64 {
        self.digest.digest()
    }

    /// Makes something happen at a time, which is now if it is past.
    fn schedule(&mut self, at: Duration, what: What) {
        let order = self.scheduled;
        self.scheduled += 1;
        let at = at.max(self.now);
        self.queue.push(Reverse(Scheduled { at, order, what }));
    }

    pub(crate) fn schedule_fault(&mut self, at: Duration, fault: Fault) {
        self.schedule(at, What::Fault(fault));
    }

    /// The node is looked at then at the latest.
    pub(crate) fn set_alarm(&mut self, node: NodeId, at: Duration) {
        let alarm = &mut self.machines[node.index()].alarm;
        if alarm.is_none_or(|before| at < before) {
            *alarm = Some(at);
            self.schedule(at, What::Alarm(node));
        }
    }

    /// Goes on until something is to be seen, or until that time.
    pub(crate) fn next(&mut self, until: Duration) -> Option<Next> {
        loop {
            if let Some(next) = self.news.pop_front().or_else(|| self.look()) {
                return Some(next);
            }
            let is_due = self
                .queue
                .peek()
                .is_some_and(|Reverse(next)| next.at <= until);
            if !is_due {
                self.now = self.now.max(until);
                return None;
            }
            let Reverse(scheduled) = self.queue.pop()?;
            self.now = scheduled.at;
            if let Some(next) = self.happen(scheduled.what) {
                return Some(next);
            }
        }
    }

    /// A node that has events.
    fn look(&self) -> Option<Next> {
        let has_events = |machine: &&Machine| {
            machine.state == State::Running && !machine.station.inbox.is_empty()
        };
        let machine = self.machines.iter().find(has_events)?;
        Some(Next::Look(machine.station.here()))
    }

    fn happen(&mut self, what: What) -> Option<Next> {
        match what {
            What::Arrival(datagram) => self.arrive(datagram),
            What::Tick(node, life) => self.tick(node, life),
            What::Resend(node, id) => {
                if let Some(carried) = self.machines[node.index()].carried.get_mut(&id) {
                    carried.timer = None;
                    if self.machines[node.index()].state == State::Running {
                        self.pump(node, id);
                    }
                }
            }
            What::Alarm(node) => {
                let machine = &mut self.machines[node.index()];
                let is_it = machine.alarm.is_some_and(|at| at <= self.now);
                if is_it && machine.state == State::Running {
                    machine.alarm = None;
                    return Some(Next::Look(node));
                }
            }
            What::Fault(fault) => self.fault(fault),
        }
        None
    }

    // Time.

    fn start_ticking(&mut self, node: NodeId) {
        let now = self.now;
        let machine = &mut self.machines[node.index()];
        if !machine.is_ticking {
            machine.is_ticking = true;
            let life = machine.station.hello.life;
            self.schedule(now, What::Tick(node, life));
        }
    }

    fn tick(&mut self, node: NodeId, life: u64) {
        let machine = &mut self.machines[node.index()];
        if machine.station.hello.life != life {
            return;
        }
        if machine.state != State::Running {
            machine.is_ticking = false;
            return;
        }
        let now = self.now;
        let station = Arc::clone(&machine.station);
        for (id, absence) in station.tick(now) {
            self.end(node, id, &absence);
        }
        let carried = &self.machines[node.index()].carried;
        let mut over = Vec::new();
        for (&id, each) in carried {
            match each.forget_at {
                Some(at) if now >= at => over.push((id, None)),
                Some(_) => {}
                None => over.extend(
                    each.connection
                        .tick(now)
                        .err()
                        .map(|cause| (id, Some(cause))),
                ),
            }
        }
        for (id, cause) in over {
            match cause {
                Some(cause) => self.end(node, id, &cause),
                None => self.forget(node, id),
            }
        }
        for other in station.due_dials(now) {
            self.dial(node, other);
        }
        self.flush(node);
        self.schedule(now + TICK, What::Tick(node, life));
    }

    // Connections.

    fn dial(&mut self, node: NodeId, other: NodeId) {
        self.streams += 1;
        let id = ConnectionId(self.streams);
        let machine = &mut self.machines[node.index()];
        machine.station.dialling(other, id);
        let connection = Connection::dial(id, other, &machine.station, self.now);
        let stream = Stream::new(self.random.bits() | 1, 0);
        machine
            .carried
            .insert(id, Carried::new(other, connection, stream));
        self.pump(node, id);
    }

    /// Sends what the node has to say to all.
    pub(crate) fn flush(&mut self, node: NodeId) {
        let machine = &self.machines[node.index()];
        if machine.state != State::Running {
            return;
        }
        for (_, id) in machine.station.all_talkative() {
            self.pump(node, id);
        }
    }

    /// Sends what a connection has to say, as far as there is room.
    fn pump(&mut self, node: NodeId, id: ConnectionId) {
        let now = self.now;
        let machine = &mut self.machines[node.index()];
        let Some(carried) = machine.carried.get_mut(&id) else {
            return;
        };
        carried.fill(now, &machine.station);
        let is_over = carried.forget_at.is_some() && carried.stream.is_flushed();
        let has_left = machine.station.has_left() && carried.forget_at.is_none();
        let is_quiet = has_left && carried.stream.is_flushed();
        let other = carried.other;
        let segments = carried.stream.output(now);
        let resend_at = carried.stream.resend_at();
        for segment in segments {
            self.transmit(&Datagram {
                from: node,
                to: other,
                connection: id,
                segment: Some(segment),
            });
        }
        if is_over {
            self.forget(node, id);
        } else if is_quiet {
            self.end(node, id, &Absence::Left);
        } else {
            self.set_timer(node, id, resend_at);
        }
    }

    fn set_timer(&mut self, node: NodeId, id: ConnectionId, at: Option<Duration>) {
        let carried = self.machines[node.index()].carried.get_mut(&id);
        if let (Some(at), Some(carried)) = (at, carried)
            && carried.timer.is_none_or(|before| at < before)
        {
            carried.timer = Some(at);
            self.schedule(at, What::Resend(node, id));
        }
    }

    /// A connection has ended at this side: its link too, and its last words are sent.
    fn end(&mut self, node: NodeId, id: ConnectionId, cause: &Absence) {
        let now = self.now;
        let machine = &mut self.machines[node.index()];
        let station = Arc::clone(&machine.station);
        let Some(carried) = machine.carried.get_mut(&id) else {
            return;
        };
        if carried.forget_at.is_some() {
            return;
        }
        carried.fill(now, &station);
        carried.stream.finish();
        carried.forget_at = Some(now + LINGER);
        let who = carried.other.to_string();
        carried.connection.end(&who, cause, now, &station);
        self.pump(node, id);
    }

    /// Nothing of the connection is left at this side, and the other is told.
    fn forget(&mut self, node: NodeId, id: ConnectionId) {
        if let Some(carried) = self.machines[node.index()].carried.remove(&id) {
            self.reset(node, carried.other, id);
        }
    }

    fn reset(&mut self, from: NodeId, to: NodeId, connection: ConnectionId) {
        self.transmit(&Datagram {
            from,
            to,
            connection,
            segment: None,
        });
    }

    // Datagrams.

    fn transmit(&mut self, datagram: &Datagram) {
        let from_to = self.direction(datagram.from, datagram.to);
        if self.is_cut[from_to] || self.random.chance(self.weather.dropped_per_mille) {
            return;
        }
        let copies = 1 + u8::from(self.random.chance(self.weather.duplicated_per_mille));
        for _ in 0..copies {
            let mut datagram = datagram.clone();
            let bytes = datagram
                .segment
                .as_ref()
                .map_or(0, |segment| segment.bytes.len());
            if bytes > 0 && self.random.chance(self.weather.damaged_per_mille) {
                self.damage(&mut datagram);
            }
            let delay = self
                .random
                .time(self.weather.delay_min, self.weather.delay_max);
            let by_length = Duration::from_nanos(self.weather.ns_per_kib * bytes as u64 / 1024);
            self.schedule(self.now + delay + by_length, What::Arrival(datagram));
        }
    }

    fn damage(&mut self, datagram: &mut Datagram) {
        if let Some(segment) = &mut datagram.segment {
            let at = self.random.below(segment.bytes.len() as u64) as usize;
            segment.bytes[at] ^= 1 << self.random.below(8);
        }
    }

    fn direction(&self, from: NodeId, to: NodeId) -> usize {
        from.index() * self.machines.len() + to.index()
    }

    fn arrive(&mut self, datagram: Datagram) {
        let direction = self.direction(datagram.from, datagram.to);
        if self.is_cut[direction] {
            return;
        }
        let node = datagram.to;
        let machine = &mut self.machines[node.index()];
        match machine.state {
            State::Frozen => machine.waiting.push_back(datagram),
            State::Stopped(Stop::PowerLost) => {}
            State::Stopped(Stop::Killed) => self.refuse(&datagram),
            State::Running => self.deliver(&datagram),
        }
    }

    /// There is no such connection here.
    fn refuse(&mut self, datagram: &Datagram) {
        if datagram.segment.is_some() {
            self.reset(datagram.to, datagram.from, datagram.connection);
        }
    }

    fn deliver(&mut self, datagram: &Datagram) {
        self.note(datagram);
        let (node, id, now) = (datagram.to, datagram.connection, self.now);
        let Some(segment) = datagram.segment.clone() else {
            let reason = "it was reset".to_owned();
            self.end(node, id, &Absence::Broken { reason });
            self.machines[node.index()].carried.remove(&id);
            return;
        };
        let opens = segment.to_cookie == 0 && segment.position == 0 && !segment.bytes.is_empty();
        if opens && !self.machines[node.index()].carried.contains_key(&id) {
            let stream = Stream::new(self.random.bits() | 1, segment.from_cookie);
            let carried = Carried::new(datagram.from, Connection::accept(id, now), stream);
            self.machines[node.index()].carried.insert(id, carried);
        }
        let machine = &mut self.machines[node.index()];
        let Some(carried) = machine.carried.get_mut(&id) else {
            self.refuse(datagram);
            return;
        };
        let Some(bytes) = carried.stream.receive(segment, now) else {
            return;
        };
        let station = Arc::clone(&machine.station);
        let received = if carried.forget_at.is_some() || bytes.is_empty() {
            Ok(None)
        } else {
            let received = carried.connection.receive(&bytes, now, &station);
            received.map(|received| received.replaced)
        };
        match received {
            Ok(Some(replaced)) => self.end(node, replaced, &replaced_by_another()),
            Ok(None) => self.end_if_ended(node, id),
            Err(cause) => self.end(node, id, &cause),
        }
        self.pump(node, id);
    }

    /// Ends a connection whose other side has.
    fn end_if_ended(&mut self, node: NodeId, id: ConnectionId) {
        let carried = self.machines[node.index()].carried.get(&id);
        let ended = carried.filter(|carried| carried.stream.has_ended());
        if let Some(cause) = ended.map(|carried| carried.connection.ended()) {
            self.end(node, id, &cause);
        }
    }

    fn note(&mut self, datagram: &Datagram) {
        let time = self.now.as_nanos() as u64;
        let ends = [datagram.from.0, datagram.to.0].map(u64::from);
        for word in [time, ends[0], ends[1], datagram.connection.0] {
            self.digest.update(&word.to_le_bytes());
        }
        if let Some(segment) = &datagram.segment {
            self.digest.update(&segment.position.to_le_bytes());
            self.digest.update(&segment.bytes);
        }
    }

    /// Notes an event that a node is given.
    pub(crate) fn note_event(&mut self, node: NodeId, event: &Event) {
        self.digest.update(&node.0.to_le_bytes());
        match event {
            Event::Message { from, bytes } => {
                self.digest.update(&from.0.to_le_bytes());
                self.digest.update(bytes);
            }
            other => self.digest.update(format!("{other:?}").as_bytes()),
        }
    }

    // Faults.

    fn fault(&mut self, fault: Fault) {
        match fault {
            Fault::Weather(weather) => self.weather = weather,
            Fault::Cut { from, to } => self.cut(from, to, true),
            Fault::Mend { from, to } => self.cut(from, to, false),
            Fault::Reset { one, other } => self.reset_between(one, other),
            Fault::Freeze(node) => {
                let machine = &mut self.machines[node.index()];
                if machine.state == State::Running {
                    machine.state = State::Frozen;
                }
            }
            Fault::Thaw(node) => self.thaw(node),
            Fault::Stop(node, stop) => self.stop(node, stop),
            Fault::Start(node) => self.start(node),
            Fault::Heal => self.heal(),
        }
    }

    fn cut(&mut self, from: NodeId, to: NodeId, is_cut: bool) {
        let direction = self.direction(from, to);
        self.is_cut[direction] = is_cut && from != to;
    }

    fn reset_between(&mut self, one: NodeId, other: NodeId) {
        for (from, to) in [(one, other), (other, one)] {
            let carried = &self.machines[from.index()].carried;
            let between = carried.iter().filter(|(_, each)| each.other == to);
            let ids: Vec<ConnectionId> = between.map(|(&id, _)| id).collect();
            for connection in ids {
                let datagram = Datagram {
                    from: to,
                    to: from,
                    connection,
                    segment: None,
                };
                self.schedule(self.now, What::Arrival(datagram));
            }
        }
    }

    fn thaw(&mut self, node: NodeId) {
        let machine = &mut self.machines[node.index()];
        if machine.state != State::Frozen {
            return;
        }
        machine.state = State::Running;
        let waiting = std::mem::take(&mut machine.waiting);
        let timed: Vec<ConnectionId> = machine.carried.keys().copied().collect();
        for datagram in waiting {
            self.deliver(&datagram);
        }
        for id in timed {
            self.pump(node, id);
        }
        if let Some(at) = self.machines[node.index()].alarm {
            self.schedule(at, What::Alarm(node));
        }
        self.start_ticking(node);
    }

    fn stop(&mut self, node: NodeId, stop: Stop) {
        let machine = &mut self.machines[node.index()];
        if matches!(machine.state, State::Stopped(_)) {
            return;
        }
        machine.state = State::Stopped(stop);
        machine.waiting.clear();
        machine.alarm = None;
        // Whoever still holds the old life is told that it is over.
        machine.station.leave();
        let carried = std::mem::take(&mut machine.carried);
        if stop == Stop::Killed {
            for (id, carried) in carried {
                self.reset(node, carried.other, id);
            }
        }
        self.news.push_back(Next::Stopped(node));
    }

    fn start(&mut self, node: NodeId) {
        let nodes = self.machines.len() as u16;
        let machine = &mut self.machines[node.index()];
        if !matches!(machine.state, State::Stopped(_)) {
            return;
        }
        let life = machine.station.hello.life + 1;
        machine.station = station(nodes, node, life, self.limits);
        machine.state = State::Running;
        machine.is_ticking = false;
        self.start_ticking(node);
        self.news.push_back(Next::Started(node));
    }

    fn heal(&mut self) {
        self.weather = Weather::CALM;
        self.is_cut.fill(false);
        for node in (0..self.machines.len() as u16).map(NodeId) {
            self.thaw(node);
            self.start(node);
        }
    }
}

impl Carried {
    fn new(other: NodeId, connection: Connection, stream: Stream) -> Carried {
        Carried {
            other,
            connection,
            stream,
            forget_at: None,
            timer: None,
        }
    }

    /// Moves frames into the stream while that has room.
    fn fill(&mut self, now: Duration, station: &Station) {
        while self.stream.has_room()
            && let Some(sealed) = self.connection.next(now, station)
        {
            self.stream.write(&sealed.head);
            self.stream.write(&sealed.rest);
        }
    }
}

fn station(nodes: u16, node: NodeId, life: u64, limits: Limits) -> Arc<Station> {
    Arc::new(Station::new(Hello {
        version: PROTOCOL_VERSION,
        cluster: [0; 16],
        epoch: 0,
        nodes,
        from: node,
        to: node,
        life,
        limits,
    }))
}
