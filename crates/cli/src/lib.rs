//! What the binary `somersault` does: reads the command line and the configuration, runs one verb, and ends
//! with an exit code that scripts can rely on (see `exit`).
//!
//! A library with one function, because a program is compiled when all of its libraries are, and a library as soon as
//! it is known what those have.
//!
//! Deliberately does not know: anything below the façade.

mod arguments;
mod endpoint;
mod exit;
mod format;
mod interrupt;
mod live;
mod printer;
mod process;
mod processor;
mod progress;
mod say;
mod settings;
mod shell;
mod source;
mod stop;
mod table;
mod text;
mod trouble;
mod verbs;

use crate::say::say;
use arguments::Arguments;
use clap::Parser;
use std::io::IsTerminal;
use std::process::ExitCode;

/// The system's allocator keeps freed memory of a load for long; this one gives it back and is
/// faster under two threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs what the command line of this process says; gives its exit code.
pub fn main() -> ExitCode {
    let outcome = processor::check().and_then(|()| {
        let arguments = Arguments::parse();
        log_to_standard_error();
        process::prepare();
        verbs::run(arguments.verb, arguments.config.as_deref())
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.message.is_empty() {
                say!("somersault: {}", failure.message);
            }
            ExitCode::from(failure.code as u8)
        }
    }
}

/// Warnings and errors of the server and the engine, one line each. `SOMERSAULT_LOG` may name
/// another level: error, warn, info, debug.
fn log_to_standard_error() {
    let asked = std::env::var("SOMERSAULT_LOG").ok();
    let level = asked
        .and_then(|level| level.parse().ok())
        .unwrap_or(tracing::Level::WARN);
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
}
