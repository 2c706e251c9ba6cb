//! A relay between two nodes over TCP, which passes bytes on, or does it badly.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How it passes bytes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// At once.
    Well,
    /// Later by so much.
    Late(Duration),
    /// Not at all. Connections stand, and new ones are accepted.
    Never,
    /// So many bytes a second in each direction.
    Slowly(usize),
    /// It ends all connections and accepts none.
    Closed,
}

/// See the head of this file. Its threads end with it.
pub struct Relay {
    /// Where it is reached.
    pub address: String,
    passing: Arc<Mutex<Passing>>,
    is_over: Arc<AtomicBool>,
}

/// How often its threads look at what they are to do.
const LOOK: Duration = Duration::from_millis(5);

impl Relay {
    /// A relay to an address.
    pub fn to(target: &str) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let passing = Arc::new(Mutex::new(Passing::Well));
        let is_over = Arc::new(AtomicBool::new(false));
        let (shared, over, target) = (passing.clone(), is_over.clone(), target.to_owned());
        listener.set_nonblocking(true).unwrap();
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let Ok((near, _)) = listener.accept() else {
                    thread::sleep(LOOK);
                    continue;
                };
                if *shared.lock().unwrap() == Passing::Closed {
                    continue;
                }
                let Ok(far) = TcpStream::connect(&target) else {
                    continue;
                };
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let (shared, over) = (shared.clone(), over.clone());
                    thread::spawn(move || pass(from, to, &shared, &over));
                }
            }
        });
        Relay {
            address,
            passing,
            is_over,
        }
    }

    /// From now on.
    pub fn set(&self, passing: Passing) {
        *self.passing.lock().unwrap() = passing;
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, passing: &Mutex<Passing>, is_over: &AtomicBool) {
    from.set_nonblocking(false).unwrap();
    from.set_read_timeout(Some(LOOK)).unwrap();
    to.set_nonblocking(false).unwrap();
    let mut bytes = vec![0; 16 << 10];
    let mut waiting: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    while !is_over.load(Ordering::Relaxed) {
        let now = *passing.lock().unwrap();
        let (most, late) = match now {
            Passing::Closed => break,
            Passing::Never => {
                thread::sleep(LOOK);
                continue;
            }
            Passing::Well => (bytes.len(), Duration::ZERO),
            Passing::Late(late) => (bytes.len(), late),
            Passing::Slowly(per_second) => {
                thread::sleep(LOOK);
                (per_second / 200, Duration::ZERO)
            }
        };
        match from.read(&mut bytes[..most]) {
            Ok(0) => break,
            Ok(count) => waiting.push_back((Instant::now() + late, bytes[..count].to_vec())),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
        while waiting.front().is_some_and(|(at, _)| *at <= Instant::now()) {
            let (_, bytes) = waiting.pop_front().unwrap();
            if to.write_all(&bytes).is_err() {
                return;
            }
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
