//! What `replay` takes: recordings, queries, the stored side, and which span of time is run.

use super::Limits;
use clap::Args;
use std::path::PathBuf;

/// `replay`
#[derive(Debug, Args)]
#[command(
    after_help = "A line of a recording is milliseconds, a tab, and a triple. A report is a line of JSON. The store is never \
                        changed: what the streams bring lives for the run."
)]
pub struct Replay {
    /// A recorded stream: its IRI, and a file of lines of milliseconds, a tab and a triple; may be given again
    #[arg(long, value_name = "IRI=FILE", required = true)]
    pub stream: Vec<String>,
    /// A file with a continuous query; may be given again; - is standard input
    #[arg(long, value_name = "FILE", required = true)]
    pub query_file: Vec<PathBuf>,
    /// The store's directory
    #[arg(short, long, value_name = "DIR", conflicts_with = "data")]
    pub location: Option<PathBuf>,
    /// Files to load in memory, each into the default graph or the graph that stands before it
    #[arg(long, value_name = "[GRAPH=]FILE", num_args = 1..)]
    pub data: Vec<String>,
    /// When the streams begin, in milliseconds [default: with the first item]
    #[arg(long, value_name = "MS")]
    pub from: Option<u64>,
    /// The last close, in milliseconds [default: when every window that holds an item has closed]
    #[arg(long, value_name = "MS")]
    pub until: Option<u64>,
    /// A stream of which nothing is stored; may be given again
    #[arg(long, value_name = "IRI")]
    pub timing: Vec<String>,
    /// How long a batch of the streams is
    #[arg(long, value_name = "DURATION", default_value = "100ms")]
    pub grain: String,
    /// How much later than those before it an item may come
    #[arg(long, value_name = "DURATION", default_value = "0ms")]
    pub lateness: String,
    /// How fast: max, or a multiple of the items' own time as in 1x
    #[arg(long, value_name = "SPEED", default_value = "max")]
    pub speed: String,
    /// Limits
    #[command(flatten)]
    pub limits: Limits,
}
