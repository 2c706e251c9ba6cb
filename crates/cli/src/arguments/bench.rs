//! `bench` and its verbs: what is measured, of what, and where the figures go.

use super::{Gpu, LoadLimits, Nodes, Remote};
use clap::{ArgGroup, Args, Subcommand};
use std::path::PathBuf;

/// `bench ...`
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// q1 to q12 over a store of LUBM data, inside this process
    Lubm(BenchLubm),
    /// The papers' mix of light queries with constants drawn at random (A1 to A6), heavy ones, or both
    Mix(BenchMix),
    /// A file, or LUBM data, into a new store: triples a second, bytes a triple, memory
    Load(BenchLoad),
    /// Paths, triangles and cliques on a random graph, against plain arrays and plain checks
    Path(BenchPath),
    /// Durable updates: INSERT DATA by many at once, into a graph that is dropped at the end
    Update(BenchUpdate),
    /// LUBM's heavy queries on a GPU, beside the same on processors
    Gpu(BenchGpu),
    /// LSBench: five streams, L1 to L6 over them, and what a batch costs until it is seen
    Streams(BenchStreams),
    /// q1 to q7 over nodes of this process, in turns with another way of doing the same
    Nodes(BenchNodes),
}

/// `bench load`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("data").required(true).args(["file", "universities"]))]
pub struct BenchLoad {
    /// The file to load
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Load LUBM data of so many universities, made before
    #[arg(long, value_name = "N")]
    pub universities: Option<u32>,
    /// Format of the data that are made: nt or ttl
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "nt",
        requires = "universities"
    )]
    pub format: String,
    /// How often; the quickest counts
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..))]
    pub runs: u16,
    /// Where to make stores, which are deleted afterwards [default: the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub limits: LoadLimits,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: BenchOutput,
}

/// `bench path`
#[derive(Debug, Args)]
pub struct BenchPath {
    /// Vertices of the graph that is searched
    #[arg(long, value_name = "N", default_value_t = 1_250_000,
          value_parser = clap::value_parser!(u32).range(1..=1_073_741_824))]
    pub vertices: u32,
    /// Its edges
    #[arg(long, value_name = "N", default_value_t = 6_250_000)]
    pub edges: u32,
    /// Vertices of the graph whose cycles are listed
    #[arg(long, value_name = "N", default_value_t = 100_000,
          value_parser = clap::value_parser!(u32).range(1..=1_073_741_824))]
    pub clique_vertices: u32,
    /// Its edges
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub clique_edges: u32,
    /// Seed of both
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: BenchOutput,
}

/// Where figures go.
#[derive(Debug, Args)]
pub struct BenchOutput {
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Add the figures to this file of JSON lines, with the time and the notes
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// What to remember in the record, as in commit=1a2b3c; may be given again
    #[arg(long, value_name = "NAME=VALUE", requires = "record")]
    pub note: Vec<String>,
}

/// What `bench mix` asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MixKind {
    /// A1 to A6 by their weights
    Light,
    /// q1, q2, q3, q7 in equal parts
    Heavy,
    /// The light mix, with a heavy query running all the time
    Hybrid,
}

/// `bench mix`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").required(true).args(["location", "endpoint"]))]
pub struct BenchMix {
    /// The store's directory, with LUBM data
    #[arg(short, long, value_name = "DIR")]
    pub location: Option<PathBuf>,
    /// A SPARQL endpoint to ask instead (http://, connections are kept)
    #[arg(long, value_name = "URL", conflicts_with = "gpu")]
    pub endpoint: Option<String>,
    /// What to ask
    #[arg(long, value_enum, default_value_t = MixKind::Light)]
    pub kind: MixKind,
    /// Of the heavy queries this one alone: q1, q2, q3 or q7
    #[arg(long, value_name = "NAME")]
    pub heavy: Option<String>,
    /// Threads that ask: inside this process each has one query at a time
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: u16,
    /// Queries in flight over HTTP: connections of all threads together [default: one a thread]
    #[arg(long, visible_alias = "connections", value_name = "N", requires = "endpoint",
          value_parser = clap::value_parser!(u16).range(1..=16384))]
    pub in_flight: Option<u16>,
    /// Arrivals a second, by a Poisson process, whether or not queries were answered; times count
    /// from them [default: the next query when the last is answered]
    #[arg(long, value_name = "R")]
    pub rate: Option<f64>,
    /// How long, with its unit
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub time: String,
    /// Asked before, not counted
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    pub warm_up: String,
    /// Seed of the constants and the arrivals
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Threads of a heavy query inside this process [default: as configured]
    #[arg(long, value_name = "N", conflicts_with = "endpoint")]
    pub query_threads: Option<usize>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub spread: Nodes,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub gpu: Gpu,
    /// Write the distribution of times as CSV; may be given again
    #[arg(long, value_name = "FILE.csv")]
    pub cdf: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: BenchOutput,
}

/// What `bench streams` registers in place of L1 to L6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum StreamMix {
    /// L1 to L3
    A,
    /// L1 to L6
    B,
}

/// Who asks once while streams flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum StreamsBeside {
    /// S1 to S6
    S,
    /// A1 to A6 by their weights, of a store of LUBM data
    Light,
}

/// `bench streams`
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct BenchStreams {
    /// A store with the stored data of as many users in the graph <http://lsbench.example/graph/initial>, and for
    /// S1 to S6 in the default graph, too [default: made in memory]
    #[arg(short, long, value_name = "DIR")]
    pub location: Option<PathBuf>,
    /// Users
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub users: u32,
    /// Seed of the data, and of the start points of a mix
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// How fast the streams flow, as in 0.25x or 4x of 133,500 triples a second
    #[arg(long, value_name = "RATE", default_value = "1x")]
    pub rate: String,
    /// Application time that is measured, with its unit
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub time: String,
    /// Application time before, not counted; at least a window's second
    #[arg(long, value_name = "DURATION", default_value = "2s")]
    pub warm_up: String,
    /// Keep the streams and what they bring in the log of the store, as a server does
    #[arg(long, requires = "location")]
    pub keep: bool,
    /// Make a checkpoint every so often, with its unit
    #[arg(long, value_name = "DURATION", requires = "keep")]
    pub checkpoint: Option<String>,
    /// Take each step a second time, without a log, and compare
    #[arg(long, requires = "keep", conflicts_with_all = ["checkpoint", "paced", "beside", "explain", "cdf"])]
    pub log_cost: bool,
    /// Evaluate on a core that does nothing else
    #[arg(long, conflicts_with_all = ["keep", "beside", "log_cost"])]
    pub apart: bool,
    /// In real time; lines are made and parsed ahead, on another thread
    #[arg(long, conflicts_with = "beside")]
    pub paced: bool,
    /// Only this query, L1 to L6; may be given again
    #[arg(long, value_name = "NAME", conflicts_with = "mix")]
    pub only: Vec<String>,
    /// Instances with random start points in place of one of each query
    #[arg(long, value_enum)]
    pub mix: Option<StreamMix>,
    /// How many instances a mix has
    #[arg(long, value_name = "N", default_value_t = 300, requires = "mix",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub instances: u32,
    /// Ask these meanwhile, in real time, and again beside loops that take the same processor time, in turns. No query
    /// stands then but those of --only or --mix
    #[arg(long, value_enum, value_name = "QUERIES", conflicts_with_all = ["explain", "cdf"])]
    pub beside: Option<StreamsBeside>,
    /// Stretches with the streams, and as many without
    #[arg(long, value_name = "N", default_value_t = 200, requires = "beside",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub pairs: u16,
    /// How long a stretch is, with its unit
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "500ms",
        requires = "beside"
    )]
    pub stretch: String,
    /// Print the plan of each query
    #[arg(long)]
    pub explain: bool,
    /// Write the distribution of the queries' times as CSV; may be given again
    #[arg(long, value_name = "FILE.csv")]
    pub cdf: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: BenchOutput,
}

/// `bench update`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").required(true).args(["location", "endpoint"]))]
pub struct BenchUpdate {
    /// The store's directory; made where there is none
    #[arg(short, long, value_name = "DIR")]
    pub location: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub remote: Remote,
    /// Clients at once; each waits for its update before it sends the next
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: u16,
    /// Triples of an update
    #[arg(long, value_name = "B", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub batch: u32,
    /// How long, with its unit
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    pub time: String,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: BenchOutput,
}

/// `bench gpu`
#[derive(Debug, Args)]
pub struct BenchGpu {
    /// The store's directory
    #[arg(short, long, value_name = "DIR")]
    pub location: PathBuf,
    /// The card, as `device status` numbers them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device: usize,
    /// Memory of the card for images of segments [default: three fifths of what is free]
    #[arg(long, value_name = "SIZE")]
    pub images: Option<String>,
    /// Memory of this machine for segments that have no room on the card [default: 16GiB]
    #[arg(long, value_name = "SIZE")]
    pub host: Option<String>,
    /// Memory of the card for the tables of a query [default: a fifth of what is free]
    #[arg(long, value_name = "SIZE")]
    pub tables: Option<String>,
    /// Threads of the processors that are compared, as in 1,16
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1])]
    pub threads: Vec<usize>,
    /// Runs of each query
    #[arg(long, value_name = "N", default_value_t = 101,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub runs: u32,
    /// Only these queries, as in q1,q7 [default: q1, q2, q3, q7]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Afterwards all queries that the card does whole, by so many clients at once, a second long
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub clients: Vec<u16>,
    /// Afterwards each query, and all in turns, with images of so many percent of its data on the card, as in 5,54,100
    #[arg(long, value_name = "PERCENT", value_delimiter = ',')]
    pub caps: Vec<u32>,
    /// With caps: without these techniques: lookahead, pipeline, inplace, ranking (of pages by their part; keys and neighbours in pairs then)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub without: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: BenchOutput,
}

/// `bench lubm`
#[derive(Debug, Args)]
pub struct BenchLubm {
    /// The store's directory
    #[arg(short, long, value_name = "DIR")]
    pub location: PathBuf,
    /// Universities in the store, to check the counts [default: found by counting]
    #[arg(long, value_name = "N")]
    pub universities: Option<u32>,
    /// Threads of a heavy query
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub threads: usize,
    /// Runs of each query at least
    #[arg(long, value_name = "N", default_value_t = 11)]
    pub runs: u32,
    /// Only these queries, as in q1,q7
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub spread: Nodes,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub gpu: Gpu,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: BenchOutput,
}

/// What `bench nodes` compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Compared {
    /// In-place, fork-join and dynamic: rows that stay, rows that go, and the choice
    Modes,
    /// The nodes, and the same graph whole
    Whole,
    /// Queries that are asked at the owner of what they start from, and at a node far from it
    Asked,
}

/// `bench nodes`
#[derive(Debug, Args)]
pub struct BenchNodes {
    /// The store's directory, with LUBM data; to compare with the whole graph no directory of parts
    #[arg(short, long, value_name = "DIR")]
    pub location: PathBuf,
    /// Universities in the store, to check the counts [default: found by counting]
    #[arg(long, value_name = "N")]
    pub universities: Option<u32>,
    /// Nodes of this process
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub nodes: u16,
    /// What carries bytes between the nodes [default: memory]
    #[arg(long, value_name = "WHAT")]
    pub between: Option<super::nodes::Carrier>,
    /// With what they are compared
    #[arg(long, value_enum, default_value_t = Compared::Modes)]
    pub compare: Compared,
    /// Threads of a heavy query over the whole graph
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub threads: usize,
    /// Runs of each query, each way
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub runs: u32,
    /// Only these queries, as in q1,q7 [default: q1 to q7]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub gpu: Gpu,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: BenchOutput,
}
