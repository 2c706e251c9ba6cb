//! Ctrl-C and the system's request to end, for work that has something to tidy up.
//!
//! The first signal asks the work to stop; it removes what it has begun and ends with 130 or 143. A
//! second one ends the process at once, which loses nothing either: a load that was not completed
//! has changed nothing.

use crate::exit::Code;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether a signal has come since it was made.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Listens from now on.
    pub fn listen() -> io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let again = Arc::new(AtomicBool::new(false));
        for (signal, code) in [(SIGINT, Code::Interrupted), (SIGTERM, Code::Terminated)] {
            // In this order: the first signal finds `again` not raised, and raises it.
            flag::register_conditional_shutdown(signal, code as i32, Arc::clone(&again))?;
            flag::register(signal, Arc::clone(&again))?;
            flag::register_usize(signal, Arc::clone(&interrupt.signal), code as usize)?;
        }
        Ok(interrupt)
    }

    /// The exit code of the signal that has come.
    pub fn code(&self) -> Option<Code> {
        match self.signal.load(Ordering::Relaxed) {
            code if code == Code::Interrupted as usize => Some(Code::Interrupted),
            code if code == Code::Terminated as usize => Some(Code::Terminated),
            _ => None,
        }
    }
}
