//! The shell: an interactive session over a store, files or an endpoint; or a script, where
//! standard input is no terminal.
//!
//! ```text
//! terminal: editor (lines, history, completion) ---.
//! a pipe, .read: script (statements of a text) -----+--> session --> source --> printer --> pager
//!                                                   '--> command (those with a dot)
//! ```
//!
//! A session keeps what people expect to be kept: prefixes, modes, where output goes. A statement
//! that fails ends a script with its exit code, and an interactive session not at all. Ctrl-C
//! cancels what runs (the engine's query by its token, an endpoint's by closing the connection).
//!
//! | who | touches | when |
//! |---|---|---|
//! | the main thread | everything of the session | always |
//! | the signals' thread | the stop flag | on Ctrl-C |
//! | the vocabulary's thread | the list of names, set once | when a source is opened |
//! | the pager's feeder | the pager's input | while an answer is longer than the screen |

mod command;
mod complete;
mod editor;
mod flow;
mod pager;
mod prefixes;
mod script;
mod session;
mod vocabulary;

pub use command::given_term;
pub use session::{Opening, Session};

use crate::exit::{Code, Failure, Outcome};
use crate::stop::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, IsTerminal};

/// Runs a session to its end.
pub fn run(mut session: Session) -> Outcome {
    let is_interactive = io::stdin().is_terminal() && io::stdout().is_terminal();
    listen(session.stop().clone(), is_interactive)?;
    if is_interactive {
        editor::run(session)
    } else {
        let input = io::stdin().lock();
        script::statements(|piece| session.execute(piece), input, None).map(|_| ())
    }
}

/// Ctrl-C stops what runs. Where nothing runs, a script ends; at a prompt the editor sees the key
/// itself. The system's request to end is what it says.
fn listen(stop: Stop, is_interactive: bool) -> Outcome {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let wait = move || {
        for signal in &mut signals {
            if signal == SIGTERM {
                std::process::exit(Code::Terminated as i32);
            }
            if !stop.is_working() && !is_interactive {
                std::process::exit(Code::Interrupted as i32);
            }
            stop.raise();
        }
    };
    let spawned = std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(wait);
    spawned.map(|_| ()).map_err(Failure::from)
}
