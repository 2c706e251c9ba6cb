//! The verbs of the command line, one file each, what they share (`open`, `input`), and which file runs which.

pub mod backup;
pub mod bench;
pub mod check;
pub mod cluster;
pub mod compact;
pub mod config;
pub mod cut;
pub mod device;
pub mod dump;
pub mod generate;
pub mod input;
pub mod live;
pub mod load;
pub mod node;
pub mod open;
pub mod query;
pub mod replay;
pub mod send;
pub mod serve;
pub mod shell;
pub mod stats;
pub mod update;
pub mod whole_file;

use crate::arguments::{Arguments, Verb};
use crate::exit::Outcome;
use clap::CommandFactory;
use std::io::Write;
use std::path::Path;

/// Runs a verb. `file`: the configuration that was named.
pub fn run(verb: Verb, file: Option<&Path>) -> Outcome {
    match verb {
        Verb::Demo(verb) => serve::demo(&verb, file),
        Verb::Serve(verb) => serve::run(verb, file),
        Verb::Load(verb) => load::run(&verb, file),
        Verb::Query(verb) => query::run(&verb, file),
        Verb::Update(verb) => update::run(&verb, file),
        Verb::Backup(verb) => backup::backup(&verb, file),
        Verb::Restore(verb) => backup::restore(&verb, file),
        Verb::Compact(verb) => compact::run(&verb, file),
        Verb::Cut(verb) => cut::run(&verb, file),
        Verb::Node(verb) => node::run(&verb, file),
        Verb::Cluster(verb) => cluster::run(&verb, file),
        Verb::Shell(verb) => shell::run(&verb, file),
        Verb::Dump(verb) => dump::run(&verb, file),
        Verb::Check(verb) => check::run(&verb, file),
        Verb::Stats(verb) => stats::run(&verb, file),
        Verb::Replay(verb) => replay::run(&verb, file),
        Verb::Stream(verb) => live::stream::run(&verb, file),
        Verb::Cq(verb) => live::cq::run(&verb, file),
        Verb::Subscribe(verb) => live::subscribe::run(&verb, file),
        Verb::Generate(verb) => generate::run(&verb, file),
        Verb::Bench(verb) => bench::run(&verb, file),
        Verb::Device(verb) => device::run(&verb),
        Verb::Config(verb) => config::run(&verb, file),
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
