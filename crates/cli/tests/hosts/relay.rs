//! A relay between two nodes: it accepts here, connects there, and passes bytes on, each way as it is told.
//!
//! Three threads and two for each connection. Bytes leave in the order in which they came; what waits is bounded, so whoever sends
//! too much is held up as by a network.

use socket2::SockRef;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How bytes of one way are passed on.
#[derive(Clone, Copy, Debug)]
pub enum Passing {
    /// At once.
    Well,
    /// Later by so much.
    Late(Duration),
    /// Not at all, and nothing ends.
    Never,
    /// So many bytes a second.
    Slowly(u32),
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From whoever connected.
    There,
    /// To whoever connected.
    Back,
}

/// See the head of this file. Its threads end soon after it.
pub struct Relay {
    /// Where it is reached.
    pub address: SocketAddr,
    state: Arc<State>,
}

struct State {
    target: SocketAddr,
    there: Mutex<Passing>,
    back: Mutex<Passing>,
    /// How often all connections were reset.
    resets: AtomicU64,
    is_over: AtomicBool,
}

/// How often its threads look at what they are to do.
const LOOK: Duration = Duration::from_millis(5);

/// How long it tries to reach whom it relays to.
const CONNECT: Duration = Duration::from_millis(300);

/// What may wait of one way of a connection (bytes).
const WAITING_MAX: usize = 64 << 10;

impl Relay {
    /// A relay that listens at an address of this machine.
    pub fn at(host: &str, target: SocketAddr) -> Relay {
        let listener = TcpListener::bind((host, 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        listener.set_nonblocking(true).expect("a socket");
        let state = Arc::new(State {
            target,
            there: Mutex::new(Passing::Well),
            back: Mutex::new(Passing::Well),
            resets: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || accept(&listener, &shared));
        Relay { address, state }
    }

    /// From now on.
    pub fn set(&self, way: Way, passing: Passing) {
        *self.state.passing(way) = passing;
    }

    /// Resets all connections, as by a network that has forgotten them.
    pub fn reset(&self) {
        self.state.resets.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
    }
}

impl State {
    fn passing(&self, way: Way) -> std::sync::MutexGuard<'_, Passing> {
        let passing = match way {
            Way::There => &self.there,
            Way::Back => &self.back,
        };
        passing.lock().expect("nobody panics")
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn resets(&self) -> u64 {
        self.resets.load(Ordering::Relaxed)
    }
}

fn accept(listener: &TcpListener, state: &Arc<State>) {
    while !state.is_over() {
        let Ok((near, _)) = listener.accept() else {
            thread::sleep(LOOK);
            continue;
        };
        let state = Arc::clone(state);
        thread::spawn(move || {
            let resets = state.resets();
            // Whoever cannot be reached is not pretended to be there.
            if let Ok(far) = TcpStream::connect_timeout(&state.target, CONNECT) {
                relay(&near, &far, resets, &state);
            }
        });
    }
}

/// Passes bytes on both ways until one ends. `resets`: how many there had been when it began.
fn relay(near: &TcpStream, far: &TcpStream, resets: u64, state: &State) {
    for stream in [near, far] {
        stream.set_nonblocking(false).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(LOOK)).expect("a socket");
        stream.set_write_timeout(Some(LOOK)).expect("a socket");
    }
    let is_over = || state.is_over() || state.resets() != resets;
    let pass = |from, to, way| {
        pass(from, to, &|| *state.passing(way), &is_over);
        // Else the other way would go on.
        if !is_over() {
            let _ = near.shutdown(Shutdown::Both);
            let _ = far.shutdown(Shutdown::Both);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| pass(near, far, Way::There));
        scope.spawn(|| pass(far, near, Way::Back));
    });
    if state.resets() != resets {
        for stream in [near, far] {
            // Closed without a word: the other side is told that there is no such connection.
            let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
    }
}

/// Passes on what comes, until one side ends or this is over.
fn pass(
    mut from: &TcpStream,
    to: &TcpStream,
    passing: &dyn Fn() -> Passing,
    is_over: &dyn Fn() -> bool,
) {
    let mut bytes = vec![0; 16 << 10];
    let mut waiting: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut waiting_bytes = 0;
    let mut free_at = Instant::now();
    while !is_over() {
        let now = passing();
        if matches!(now, Passing::Never) || waiting_bytes > WAITING_MAX {
            thread::sleep(LOOK);
        } else {
            match from.read(&mut bytes) {
                Ok(0) => return,
                Ok(count) => {
                    free_at = due(now, free_at, count);
                    waiting.push_back((free_at, bytes[..count].to_vec()));
                    waiting_bytes += count;
                }
                Err(error) if is_late(&error) => {}
                Err(_) => return,
            }
        }
        while !matches!(now, Passing::Never)
            && let Some((_, bytes)) = waiting.pop_front_if(|(at, _)| is_due(now, *at))
        {
            waiting_bytes -= bytes.len();
            if !written(to, &bytes, is_over) {
                return;
            }
        }
    }
}

/// Whether bytes are passed on that were to be at this time: what waited goes at once when the way is good again.
fn is_due(passing: Passing, at: Instant) -> bool {
    matches!(passing, Passing::Well) || at <= Instant::now()
}

/// When bytes are passed on that have come now, behind those that are passed on at `free_at`.
fn due(passing: Passing, free_at: Instant, bytes: usize) -> Instant {
    let now = Instant::now();
    match passing {
        Passing::Well | Passing::Never => now,
        Passing::Late(late) => (now + late).max(free_at),
        Passing::Slowly(per_second) => {
            now.max(free_at) + Duration::from_secs_f64(bytes as f64 / f64::from(per_second))
        }
    }
}

/// Writes all, however long the other side takes; false where that has ended, or this is over.
fn written(mut to: &TcpStream, mut bytes: &[u8], is_over: &dyn Fn() -> bool) -> bool {
    while !bytes.is_empty() && !is_over() {
        match to.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if is_late(&error) => {}
            Err(_) => return false,
        }
    }
    bytes.is_empty()
}

fn is_late(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}
