//! What `node` and `cluster` take: a process that is one node of many, and what is done about all of them.

use super::{Execution, Limits};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// `node`
#[derive(Debug, Args)]
#[command(
    after_help = "The configuration file says which part of the graph it has and where the others are: sections [node] and \
                  [cluster]. `somersault cluster init` writes one for each node."
)]
pub struct Node {
    /// Address and port to listen on for HTTP [default: 127.0.0.1:7272]
    #[arg(short, long, value_name = "HOST:PORT")]
    pub bind: Option<String>,
    /// A name that requests may have as their Host besides localhost and addresses of this machine; may
    /// be repeated [default: none on a loopback address, any elsewhere]
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Let pages of other origins read answers
    #[arg(long)]
    pub cors: bool,
    /// How rows come to what other nodes have [default: dynamic]
    #[arg(long, value_name = "HOW")]
    pub execution: Option<Execution>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub limits: Limits,
}

/// `cluster ...`
#[derive(Debug, Subcommand)]
pub enum ClusterVerb {
    /// Write a key and a configuration file for each node
    Init(ClusterInit),
    /// Ask a node which nodes it sees; exit code 4 where one is missing
    Status(ClusterStatus),
    /// Check a node's configuration, its key, its part, and whether it and the others have one graph, without serving
    Check(ClusterCheck),
}

/// `cluster init`
#[derive(Debug, Args)]
pub struct ClusterInit {
    /// Where the files are written; made where there is none. `somersault cut -o DIR` puts the parts beside them
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Where the nodes are reached by each other, in the order of the parts
    #[arg(
        long,
        value_name = "HOST:PORT,...",
        required = true,
        value_delimiter = ','
    )]
    pub nodes: Vec<String>,
    /// Endpoints of an etcd where nodes register themselves; --nodes then says where each listens, and may be changed in
    /// one file without the others
    #[arg(long, value_name = "URL,...", value_delimiter = ',')]
    pub etcd: Vec<String>,
    /// The key of etcd below which they do
    #[arg(
        long,
        value_name = "KEY",
        default_value = "somersault",
        requires = "etcd"
    )]
    pub prefix: String,
    /// Address and port where a node listens for HTTP; nodes of one host count the port up
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7272")]
    pub bind: String,
}

/// How the state of a cluster is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClusterFormat {
    /// For people
    Table,
    /// One object
    Json,
}

/// `cluster status`
#[derive(Debug, Args)]
pub struct ClusterStatus {
    /// The address of a node's server [default: where the configuration has its node listen]
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: ClusterFormat,
    /// The token that the server asks for; without a value that of $SOMERSAULT_TOKEN
    #[arg(long, value_name = "TOKEN", num_args = 0..=1, default_missing_value = "")]
    pub token: Option<String>,
}

/// `cluster check`
#[derive(Debug, Args)]
pub struct ClusterCheck {
    /// How long the other nodes are waited for, with its unit
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    pub wait: String,
}
