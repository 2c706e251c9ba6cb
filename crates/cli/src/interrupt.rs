//! Ctrl-C, the system's request to end, and a terminal that is closed, for work that has something to tidy up, or an
//! answer to end in good order.
//!
//! The first signal asks the work to stop; it removes what it has begun and ends with 130, 143 or 129. A
//! second one ends the process at once, which loses nothing either: a load that was not completed
//! has changed nothing. Who listens does so only as long as it looks: a signal that came after would be
//! swallowed.
//!
//! A closed terminal is heard by queries alone: it comes twice, from the shell and from the system, so a second one says nothing more. It is
//! no reason to end for who was started to outlive it (`nohup`): where the system says that its signal is ignored, it stays so.
//! A load that it ends has changed nothing, and is not told.
//!
//! | who | touches | when |
//! |---|---|---|
//! | a signal's handler | the number that a load looks at; for queries, the pipe of a thread | on a signal |
//! | the thread | the stop flag of the query, which cancels the engine's token | once a signal |

use crate::exit::Code;
use crate::stop::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{SigId, flag, low_level};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The signals that end a query, and how it ends then; the first two end everything.
const ENDING: [(i32, Code); 3] = [
    (SIGINT, Code::Interrupted),
    (SIGTERM, Code::Terminated),
    (SIGHUP, Code::HungUp),
];
const ALWAYS: usize = 2;

/// Whether who started this process had it ignore a signal; where the system does not say, it is left as it is, too.
fn is_ignored(signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return true;
    };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Whether a signal has come since it was made. Listens until it is dropped.
#[derive(Debug, Default)]
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
    handlers: Vec<SigId>,
}

impl Interrupt {
    /// Listens from now on.
    pub fn listen() -> io::Result<Interrupt> {
        let mut interrupt = Interrupt::default();
        let again = Arc::new(AtomicBool::new(false));
        for &(signal, code) in &ENDING[..ALWAYS] {
            // In this order: the first signal finds `again` not raised, and raises it.
            let last = flag::register_conditional_shutdown(signal, code as i32, Arc::clone(&again));
            interrupt.handlers.push(last?);
            let first = flag::register(signal, Arc::clone(&again));
            interrupt.handlers.push(first?);
            let told = Arc::clone(&interrupt.signal);
            let tell = flag::register_usize(signal, told, code as usize);
            interrupt.handlers.push(tell?);
        }
        Ok(interrupt)
    }

    /// The exit code of the signal that has come.
    pub fn code(&self) -> Option<Code> {
        told(&self.signal)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            low_level::unregister(handler);
        }
    }
}

/// Raises a query's stop flag on the first signal.
#[derive(Debug)]
pub struct Raising {
    signal: Arc<AtomicUsize>,
}

impl Raising {
    /// Listens from now on, to the end of the process.
    pub fn listen(stop: Stop) -> io::Result<Raising> {
        let heard = if is_ignored(SIGHUP) {
            ALWAYS
        } else {
            ENDING.len()
        };
        let ending = &ENDING[..heard];
        let mut signals = Signals::new(ending.iter().map(|(signal, _)| signal))?;
        let signal = Arc::new(AtomicUsize::new(0));
        let tell = Arc::clone(&signal);
        let wait = move || {
            for number in &mut signals {
                let found = ending.iter().find(|(signal, _)| *signal == number);
                let (_, code) = found.expect("only these are listened for");
                let relaxed = Ordering::Relaxed;
                match tell.compare_exchange(0, *code as usize, relaxed, relaxed) {
                    Ok(_) => stop.raise(),
                    Err(_) if number == SIGHUP => {}
                    Err(_) => std::process::exit(*code as i32),
                }
            }
        };
        let thread = std::thread::Builder::new().name("signals".to_owned());
        thread.spawn(wait)?;
        Ok(Raising { signal })
    }

    /// The exit code of the signal that has come.
    pub fn code(&self) -> Option<Code> {
        told(&self.signal)
    }
}

fn told(signal: &AtomicUsize) -> Option<Code> {
    let told = signal.load(Ordering::Relaxed);
    let codes = [Code::Interrupted, Code::Terminated, Code::HungUp];
    codes.into_iter().find(|code| *code as usize == told)
}
