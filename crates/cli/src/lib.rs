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
use arguments::{Arguments, Verb};
use clap::{CommandFactory, Parser};
use exit::Outcome;
use std::io::{IsTerminal, Write};
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
        run(arguments)
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

fn run(arguments: Arguments) -> Outcome {
    let file = arguments.config.as_deref();
    match arguments.verb {
        Verb::Demo(verb) => verbs::serve::demo(&verb, file),
        Verb::Serve(verb) => verbs::serve::run(verb, file),
        Verb::Load(verb) => verbs::load::run(&verb, file),
        Verb::Query(verb) => verbs::query::run(&verb, file),
        Verb::Update(verb) => verbs::update::run(&verb, file),
        Verb::Backup(verb) => verbs::backup::backup(&verb, file),
        Verb::Restore(verb) => verbs::backup::restore(&verb, file),
        Verb::Compact(verb) => verbs::compact::run(&verb, file),
        Verb::Shell(verb) => verbs::shell::run(&verb, file),
        Verb::Dump(verb) => verbs::dump::run(&verb, file),
        Verb::Check(verb) => verbs::check::run(&verb, file),
        Verb::Stats(verb) => verbs::stats::run(&verb, file),
        Verb::Generate(verb) => verbs::generate::run(&verb, file),
        Verb::Bench(verb) => verbs::bench::run(&verb, file),
        Verb::Config(verb) => verbs::config::run(&verb, file),
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            let mut command = Arguments::command();
            clap_complete::generate(shell, &mut command, "somersault", &mut script);
            std::io::stdout().lock().write_all(&script)?;
            Ok(())
        }
        Verb::Version => {
            writeln!(
                std::io::stdout().lock(),
                "somersault {}",
                env!("CARGO_PKG_VERSION")
            )?;
            Ok(())
        }
    }
}
