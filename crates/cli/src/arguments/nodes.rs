//! Flags of a graph in parts.

use clap::{Args, ValueEnum};
use somersault::nodes::Mode;

/// Flags that spread a graph over nodes of this process.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Nodes {
    /// Cut the graph into parts and walk it by so many nodes of this process, as a cluster's would
    #[arg(long, value_name = "N")]
    pub nodes: Option<u16>,
    /// How rows come to what other nodes have [default: dynamic]
    #[arg(long, value_name = "HOW", requires = "nodes")]
    pub execution: Option<Execution>,
}

/// How rows come to what other nodes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Execution {
    /// They stay, and what they need is fetched
    InPlace,
    /// They go to whoever has what they need
    ForkJoin,
    /// Whichever is cheaper, chunk by chunk
    Dynamic,
}

impl From<Execution> for Mode {
    fn from(execution: Execution) -> Mode {
        match execution {
            Execution::InPlace => Mode::InPlace,
            Execution::ForkJoin => Mode::ForkJoin,
            Execution::Dynamic => Mode::Dynamic,
        }
    }
}
