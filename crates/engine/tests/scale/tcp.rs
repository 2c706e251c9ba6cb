//! What messages of `fabric::tcp` cost on this machine: two nodes of this process over its loopback, encrypted as between machines.
//!
//! One message after the other and its echo give the round trip and what a message takes of all processors; many in a row give
//! what a sender's thread takes for one, and what a KiB takes more. A thread that is woken by another gives what that takes.

use super::costs::Costs;
use super::network::Nanoseconds;
use fabric::tcp::{Key, Tcp, TcpConfig};
use fabric::{Event, Fabric, Limits, NodeId, Presence};
use rustix::time::{ClockId, clock_gettime};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_millis(200);
const ROUNDS: u64 = 4_000;
const IN_A_ROW: u64 = 4_000;
const LONG: usize = 32 << 10;
const SHORT: usize = 64;

fn clock(which: ClockId) -> Nanoseconds {
    let time = clock_gettime(which);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn pair() -> Vec<Arc<dyn Fabric>> {
    let bind = |_| TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let listeners: Vec<TcpListener> = (0..2).map(bind).collect();
    let address = |one: &TcpListener| one.local_addr().expect("it is bound").to_string();
    let members: Vec<String> = listeners.iter().map(address).collect();
    let start = |(number, listener)| {
        let config = TcpConfig {
            here: NodeId(number),
            members: members.clone(),
            cluster: [7; 16],
            epoch: 1,
            key: Key::new(&[42; 32]).expect("32 bytes are a key"),
            limits: Limits::DEFAULT,
        };
        Tcp::start(listener, config).expect("a node starts") as Arc<dyn Fabric>
    };
    let nodes: Vec<Arc<dyn Fabric>> = (0..2).zip(listeners).map(start).collect();
    let mut greetings = Vec::new();
    let is_up = |one: &Arc<dyn Fabric>, other| matches!(one.presence(other), Presence::Up(_));
    while !is_up(&nodes[0], NodeId(1)) || !is_up(&nodes[1], NodeId(0)) {
        for node in &nodes {
            node.poll(&mut greetings, Duration::from_millis(1));
        }
    }
    nodes
}

/// Takes so many messages; each is answered if it is wanted.
fn take(node: &Arc<dyn Fabric>, count: u64, is_answered: bool) {
    let (mut events, mut taken) = (Vec::new(), 0);
    while taken < count {
        node.poll(&mut events, PATIENCE);
        for event in events.drain(..) {
            let Event::Message { from, bytes } = event else {
                continue;
            };
            taken += 1;
            if is_answered {
                node.send(from, bytes).expect("there is room");
            }
        }
    }
}

/// What something took: by the clock, by all processors, by this thread's.
fn took(act: impl FnOnce()) -> [Nanoseconds; 3] {
    let clocks = || {
        [
            ClockId::Monotonic,
            ClockId::ProcessCPUTime,
            ClockId::ThreadCPUTime,
        ]
        .map(clock)
    };
    let began = clocks();
    act();
    let ended = clocks();
    [0, 1, 2].map(|at| ended[at] - began[at])
}

fn round_trips(nodes: &[Arc<dyn Fabric>], bytes: usize) -> [Nanoseconds; 3] {
    let echo = Arc::clone(&nodes[1]);
    let thread = thread::spawn(move || take(&echo, ROUNDS, true));
    let took = took(|| {
        for _ in 0..ROUNDS {
            let sent = nodes[0].send(NodeId(1), vec![0; bytes]);
            sent.expect("there is room");
            take(&nodes[0], 1, false);
        }
    });
    thread.join().expect("it echoed");
    took.map(|all| all / ROUNDS)
}

fn in_a_row(nodes: &[Arc<dyn Fabric>], bytes: usize) -> [Nanoseconds; 3] {
    let taker = Arc::clone(&nodes[1]);
    let (done, is_done) = channel();
    let thread = thread::spawn(move || {
        take(&taker, IN_A_ROW, false);
        done.send(()).expect("it is waited for");
    });
    let mut sending = 0;
    let whole = took(|| {
        let began = clock(ClockId::ThreadCPUTime);
        for _ in 0..IN_A_ROW {
            let mut message = vec![0; bytes];
            while let Err(refused) = nodes[0].send(NodeId(1), message) {
                message = refused.given;
                nodes[0].poll(&mut Vec::new(), PATIENCE);
            }
        }
        sending = clock(ClockId::ThreadCPUTime) - began;
        is_done.recv().expect("all come");
    });
    thread.join().expect("it took all");
    [whole[0], whole[1], sending].map(|all| all / IN_A_ROW)
}

/// How long a thread that waits takes to go on.
fn wake() -> Nanoseconds {
    let (there, from_here) = sync_channel::<()>(1);
    let (back, from_there) = sync_channel::<()>(1);
    let echo = thread::spawn(move || {
        while from_here.recv().is_ok() {
            back.send(()).expect("it is waited for");
        }
    });
    let began = Instant::now();
    for _ in 0..ROUNDS {
        there.send(()).expect("it waits");
        from_there.recv().expect("it answers");
    }
    let took = began.elapsed().as_nanos() as u64 / ROUNDS / 2;
    drop(there);
    echo.join().expect("it echoed");
    took
}

/// Prints what was measured, and the costs that follow.
pub fn measured() -> Costs {
    let nodes = pair();
    round_trips(&nodes, SHORT);
    let [short, long] = [SHORT, LONG].map(|bytes| round_trips(&nodes, bytes));
    let [short_row, long_row] = [SHORT, LONG].map(|bytes| in_a_row(&nodes, bytes));
    let wake = wake();
    let kib = ((LONG - SHORT) / 1024) as u64;
    println!(
        "round trip of {SHORT} bytes: {} ns, {} of all processors",
        short[0], short[1]
    );
    println!(
        "round trip of {LONG} bytes: {} ns, {} of all processors",
        long[0], long[1]
    );
    println!(
        "in a row, {SHORT} bytes: {} ns each, {} of all processors, {} of the sender's thread",
        short_row[0], short_row[1], short_row[2]
    );
    println!(
        "in a row, {LONG} bytes: {} ns each, {} of all processors, {} of the sender's thread",
        long_row[0], long_row[1], long_row[2]
    );
    println!("a thread is woken in {wake} ns");
    // What is not of a message among many is waiting until threads are woken.
    let (send, both) = (short_row[2], short_row[1]);
    let receive = both.saturating_sub(send);
    let per_kib = long_row[1].saturating_sub(short_row[1]) / kib / 2;
    Costs {
        name: "tcp",
        one_way_ns: (short[0] / 2).saturating_sub(both),
        line_ns_per_kib: 0,
        send_ns: send,
        send_ns_per_kib: per_kib,
        receive_ns: receive,
        receive_ns_per_kib: per_kib,
        wake_ns: wake,
        read: None,
    }
}
