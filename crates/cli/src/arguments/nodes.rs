//! Flags of a graph in parts.

use clap::{Args, ValueEnum};
use somersault::nodes::{AskedAt, Between, Mode};

/// Flags that spread a graph over nodes of this process.
#[derive(Clone, Copy, Debug, Default, Args)]
#[expect(clippy::struct_field_names, reason = "it is the name of the flag")]
pub struct Nodes {
    /// Cut the graph into parts and walk it by so many nodes of this process, as a cluster's would
    #[arg(long, value_name = "N")]
    pub nodes: Option<u16>,
    /// How rows come to what other nodes have [default: dynamic]
    #[arg(long, value_name = "HOW", requires = "nodes")]
    pub execution: Option<Execution>,
    /// What carries bytes between the nodes [default: memory]
    #[arg(long, value_name = "WHAT", requires = "nodes")]
    pub between: Option<Carrier>,
    /// Which of the nodes is asked for ids of terms and degrees [default: owner]
    #[arg(long, value_name = "WHICH", requires = "nodes")]
    pub asked: Option<AskedNode>,
}

/// What carries bytes between nodes of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Carrier {
    /// Its memory
    Memory,
    /// Sockets of this machine, encrypted, as between machines: to measure that
    Loopback,
}

impl From<Carrier> for Between {
    fn from(carrier: Carrier) -> Between {
        match carrier {
            Carrier::Memory => Between::Memory,
            Carrier::Loopback => Between::Loopback,
        }
    }
}

/// Which node is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AskedNode {
    /// The one that knows
    Owner,
    /// One after another, whoever knows
    Turn,
}

impl From<AskedNode> for AskedAt {
    fn from(asked: AskedNode) -> AskedAt {
        match asked {
            AskedNode::Owner => AskedAt::Owner,
            AskedNode::Turn => AskedAt::Turn,
        }
    }
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
