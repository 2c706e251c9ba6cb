//! The command line as a value: verbs, flags and their help, exactly as documented.
//!
//! Nothing is done here. A verb that does not work yet is not listed.

mod bench;
mod cluster;
mod device;
mod live;
mod nodes;
mod replay;

pub use bench::{
    Bench, BenchGpu, BenchLoad, BenchLubm, BenchMix, BenchNodes, BenchOutput, BenchPath,
    BenchStreams, BenchUpdate, Compared, MixKind, StreamMix, StreamsBeside,
};
pub use cluster::{ClusterCheck, ClusterFormat, ClusterInit, ClusterStatus, ClusterVerb, Node};
pub use device::{DeviceFormat, DeviceProbe, DeviceStatus, DeviceVerb};
pub use live::{
    CqNamed, CqRegister, CqVerb, LiveTarget, StreamCreate, StreamPush, StreamVerb, Subscribe,
};
pub use nodes::{Execution, Nodes};
pub use replay::Replay;

use crate::format::AnswerFormat;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A live knowledge-graph engine.
#[derive(Debug, Parser)]
#[command(name = "somersault", version, about = "A live knowledge-graph engine", long_about = None)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed, 2 usage, 3 configuration, 4 cannot bind or \
                  connect, 5 not authorised, 6 does not parse, 7 a limit was reached, 8 loaded with rejected \
                  statements, 9 integrity check failed, 130/143/129 interrupted"
)]
pub struct Arguments {
    /// Configuration file [default: somersault.toml, where there is one]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Make a small data set in memory, serve it, and print queries to try
    Demo(Demo),
    /// Open a store, or load files in memory, and serve them over HTTP
    Serve(Serve),
    /// Load files into a store, all or nothing
    Load(Load),
    /// Run one query against a store, files or an endpoint
    Query(Query),
    /// Change a store or an endpoint by SPARQL Update
    Update(Update),
    /// Ask a store, files or an endpoint interactively
    Shell(Shell),
    /// Write a store's statements as N-Quads or another format
    Dump(Dump),
    /// Verify every checksum and invariant of a store
    Check(Located),
    /// Print a store's sizes, by part and by predicate
    Stats(Stats),
    /// Copy a store as its last commit left it, also while it is served; the copy is verified
    Backup(Backup),
    /// Make a store of a backup, which is verified
    Restore(Restore),
    /// Write the changes of a store's log into its files
    Compact(Compact),
    /// Cut a store into parts, one for each node of a cluster
    Cut(Cut),
    /// Serve one part of a graph as a node of a cluster, which answers queries over all of it
    Node(Node),
    /// Write, ask and check the nodes of a cluster
    #[command(subcommand)]
    Cluster(ClusterVerb),
    /// Run continuous queries over recorded streams, in the time of their items
    Replay(Replay),
    /// Make, feed, list and drop streams of a server
    #[command(subcommand)]
    Stream(StreamVerb),
    /// Register, list, pause and drop continuous queries of a server
    #[command(subcommand)]
    Cq(CqVerb),
    /// Follow the reports of a continuous query
    Subscribe(Subscribe),
    /// Make benchmark data
    #[command(subcommand)]
    Generate(Generate),
    /// Measure, and print figures
    #[command(subcommand)]
    Bench(Bench),
    /// Show or measure the GPU, where there is one
    #[command(subcommand)]
    Device(DeviceVerb),
    /// Show or check the configuration
    #[command(subcommand)]
    Config(ConfigVerb),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the version
    Version,
}

/// A store's place.
#[derive(Debug, Args)]
pub struct Located {
    /// The store's directory
    #[arg(short, long, value_name = "DIR")]
    pub location: PathBuf,
}

/// Flags that override the configuration of queries.
#[derive(Clone, Debug, Default, Args)]
pub struct Limits {
    /// Time a query may take, with its unit [default: 30s]
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<String>,
    /// Memory a query may take, with its unit [default: a quarter of that of all queries]
    #[arg(long, value_name = "SIZE")]
    pub memory_limit: Option<String>,
    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Prefix of endpoints that SERVICE may call, as in https://query.example/sparql, or a host for
    /// all of its paths, as in https://query.example; may be repeated [default: none]
    #[arg(long, value_name = "URL")]
    pub allow_service: Vec<String>,
    /// See the union of all graphs as the default graph, unless the query names its dataset
    #[arg(long)]
    pub union_default_graph: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub gpu: Gpu,
}

/// Flags of the GPU.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Gpu {
    /// Which queries begin on the GPU [default: auto]
    #[arg(id = "gpu", long = "gpu", value_name = "WHEN")]
    pub when: Option<GpuUse>,
}

/// Which queries begin on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GpuUse {
    /// Heavy ones, where there is a GPU
    Auto,
    /// None
    Never,
    /// All that it can begin; without a GPU nothing is done, with exit code 3
    Always,
}

/// `demo`
#[derive(Debug, Args)]
pub struct Demo {
    /// Address and port to listen on [default: 127.0.0.1:7272]
    #[arg(short, long, value_name = "HOST:PORT")]
    pub bind: Option<String>,
    /// With a stream, urn:campus, of who enters which course; everybody who reaches the server may push to it, and
    /// change the graph
    #[arg(long)]
    pub live: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub limits: Limits,
}

/// `serve`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("source").required(true).multiple(true).args(["location", "files"]))]
pub struct Serve {
    /// The store's directory; with --allow-update made where there is none
    #[arg(short, long, value_name = "DIR")]
    pub location: Option<PathBuf>,
    /// Address and port to listen on [default: 127.0.0.1:7272]
    #[arg(short, long, value_name = "HOST:PORT")]
    pub bind: Option<String>,
    /// A name that requests may have as their Host besides localhost and addresses of this machine; may
    /// be repeated [default: none on a loopback address, any elsewhere]
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Let pages of other origins read answers
    #[arg(long)]
    pub cors: bool,
    /// Let everybody who reaches the server change the graph; the default lets only bearers of
    /// tokens with that right (auth.tokens)
    #[arg(long)]
    pub allow_update: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub limits: Limits,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub spread: Nodes,
    /// Format of the files [default: by each one's extension]
    #[arg(long, value_name = "FORMAT", requires = "files")]
    pub format: Option<String>,
    /// Base IRI for relative references in the files
    #[arg(long, value_name = "IRI", requires = "files")]
    pub base: Option<String>,
    /// Take IRIs and language tags of the files as they are, also where they break the rules
    #[arg(long, requires = "files")]
    pub lenient: bool,
    /// Files to load at the start: in memory, or with -l and --allow-update into the store
    #[arg(value_name = "FILES")]
    pub files: Vec<PathBuf>,
}

/// Flags that override the configuration of loads.
#[derive(Debug, Default, Args)]
pub struct LoadLimits {
    /// Memory above which the load uses temporary files, with its unit [default: 2GiB]
    #[arg(long, value_name = "SIZE")]
    pub memory_limit: Option<String>,
    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

/// `load`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").required(true).args(["location", "endpoint"]))]
pub struct Load {
    /// The store's directory; made where there is none
    #[arg(short, long, value_name = "DIR")]
    pub location: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub remote: Remote,
    /// Format of the input [default: by each file's extension]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Put statements without a graph into this named graph
    #[arg(long, value_name = "IRI")]
    pub graph: Option<String>,
    /// Base IRI for relative references, in formats that have them
    #[arg(long, value_name = "IRI")]
    pub base: Option<String>,
    /// Take IRIs and language tags as they are, also where they break the rules (two #, { or | in an IRI). What
    /// could not be written as a line again stays refused
    #[arg(long, conflicts_with = "endpoint")]
    pub lenient: bool,
    /// What to do with a statement that does not parse: stop, skip, or quarantine=FILE. In formats
    /// that are not of lines (Turtle, TriG, RDF/XML, JSON-LD) a load stops whatever is said here
    #[arg(long, value_name = "POLICY", default_value = "stop")]
    pub on_error: String,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub limits: LoadLimits,
    /// Make a cluster's parts of the files, so many. The directory then holds the parts, and while the load runs the whole
    /// besides
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "endpoint",
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    pub parts: Option<u16>,
    /// With --parts: in place of parts that are there
    #[arg(long, requires = "parts")]
    pub replace: bool,
    /// The files; - is standard input; .gz .bz2 .zst .xz are unpacked
    #[arg(value_name = "FILES", required = true)]
    pub files: Vec<PathBuf>,
}

/// `query`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("source").required(true).args(["location", "data", "endpoint"]))]
#[command(group = ArgGroup::new("text").required(true).args(["query", "query_file"]))]
#[command(
    after_help = "Ctrl-C cancels the query. A reader that goes away before the end (| head) ends it \
                        without a message, with exit code 1."
)]
#[allow(clippy::struct_field_names)] // fields are named as the flags are
pub struct Query {
    /// The store's directory
    #[arg(short, long, value_name = "DIR")]
    pub location: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub spread: Nodes,
    /// Files to load in memory instead of a store
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// Format of the files [default: by each one's extension]
    #[arg(long, value_name = "FORMAT", requires = "data")]
    pub format: Option<String>,
    /// Base IRI for relative references in the files
    #[arg(long, value_name = "IRI", requires = "data")]
    pub base: Option<String>,
    /// Take IRIs and language tags of the files as they are, also where they break the rules
    #[arg(long, requires = "data")]
    pub lenient: bool,
    /// A SPARQL endpoint to ask instead of a store: its address, or that of a server, whose endpoint is
    /// /sparql
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = [
            "repeat", "memory_limit", "threads", "union_default_graph", "gpu", "keep_order", "statistics", "sample_from",
            "nodes"
        ]
    )]
    pub endpoint: Option<String>,
    /// A header for the endpoint, as in 'Authorization: Bearer ...'; may be given again
    #[arg(long, value_name = "'NAME: VALUE'", requires = "endpoint")]
    pub header: Vec<String>,
    /// The token that the server asks for; without a value that of $SOMERSAULT_TOKEN, which other users of
    /// the machine do not see
    #[arg(
        long,
        value_name = "TOKEN",
        num_args = 0..=1,
        default_missing_value = "",
        requires = "endpoint"
    )]
    pub token: Option<String>,
    /// The query
    #[arg(
        short,
        long,
        value_name = "TEXT",
        required_unless_present = "query_file"
    )]
    pub query: Option<String>,
    /// A file with the query; - is standard input
    #[arg(long, value_name = "FILE")]
    pub query_file: Option<PathBuf>,
    /// A term for a variable of the query, as in --param 'x=<http://e/x>' or --param n=5; may be given for
    /// several variables
    #[arg(long, value_name = "NAME=TERM")]
    pub param: Vec<String>,
    /// How to print the answer [default: on a terminal table, or turtle for graphs; else tsv, or
    /// ntriples for graphs]
    #[arg(long, value_name = "FORMAT")]
    pub results_format: Option<AnswerFormat>,
    /// Print the plan instead of running it: as text, or with --results-format json
    #[arg(long, group = "planned")]
    pub explain: bool,
    /// Run it, then print the plan with actual rows and times: as text, or with --results-format json
    #[arg(long, conflicts_with = "explain", group = "planned")]
    pub profile: bool,
    /// Run it N times and print latencies
    #[arg(
        long,
        value_name = "N",
        conflicts_with_all = ["explain", "profile", "results_format"],
        group = "planned",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub repeat: Option<u32>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub forced: Forced,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub limits: Limits,
}

/// Plans as they would not be made, for --explain, --profile and --repeat.
#[derive(Debug, Default, Args)]
#[group(requires = "planned")]
pub struct Forced {
    /// Walk the patterns in the order of the text, instead of the order that the planner finds
    #[arg(long, help_heading = "Experiments")]
    pub keep_order: bool,
    /// Plan by the statistics of this file, as `stats --planner` prints them, of this store or of another
    #[arg(long, value_name = "FILE", help_heading = "Experiments")]
    pub statistics: Option<PathBuf>,
    /// Expected time from which samples help to plan, or never [default: query.sample_from, 2ms]
    #[arg(long, value_name = "DURATION", help_heading = "Experiments", conflicts_with_all = ["keep_order", "statistics"])]
    pub sample_from: Option<String>,
}

/// An endpoint that is changed, and by what right.
#[derive(Debug, Default, Args)]
pub struct Remote {
    /// A server to change instead of a store: its address, or that of its endpoint
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// A header for the endpoint, as in 'Name: value'; may be given again
    #[arg(
        long,
        value_name = "'NAME: VALUE'",
        requires = "endpoint",
        conflicts_with = "location"
    )]
    pub header: Vec<String>,
    /// The token that gives the right [default: $SOMERSAULT_TOKEN, which other users of the machine
    /// do not see]
    #[arg(
        long,
        value_name = "TOKEN",
        requires = "endpoint",
        conflicts_with = "location"
    )]
    pub token: Option<String>,
}

/// `update`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").required(true).args(["location", "endpoint"]))]
#[command(group = ArgGroup::new("text").required(true).args(["update", "update_file", "file"]))]
#[allow(clippy::struct_field_names)] // fields are named as the flags are
pub struct Update {
    /// The store's directory; made where there is none
    #[arg(short, long, value_name = "DIR")]
    pub location: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub remote: Remote,
    /// The update
    #[arg(short, long, value_name = "TEXT")]
    pub update: Option<String>,
    /// A file with the update; - is standard input
    #[arg(long, value_name = "FILE")]
    pub update_file: Option<PathBuf>,
    /// Base IRI for relative references in the update
    #[arg(long, value_name = "IRI")]
    pub base: Option<String>,
    /// Time it may take, with its unit [default: 5m]
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<String>,
    /// Memory it may take, with its unit [default: a quarter of that of all queries]
    #[arg(long, value_name = "SIZE", conflicts_with = "endpoint")]
    pub memory_limit: Option<String>,
    /// Prefix of addresses that LOAD may read and SERVICE may call; may be repeated [default: none]
    #[arg(long, value_name = "URL", conflicts_with = "endpoint")]
    pub allow_service: Vec<String>,
    /// WHERE sees the union of all graphs as the default graph, unless the update names its dataset
    #[arg(long, conflicts_with = "endpoint")]
    pub union_default_graph: bool,
    /// Print what was changed as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// The same as --update-file
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// `backup`
#[derive(Debug, Args)]
pub struct Backup {
    /// The store's directory
    #[arg(short, long, value_name = "DIR")]
    pub location: PathBuf,
    /// Print what was copied as JSON
    #[arg(long)]
    pub json: bool,
    /// The directory of the copy, which does not exist yet or is empty
    #[arg(value_name = "DEST")]
    pub destination: PathBuf,
}

/// `restore`
#[derive(Debug, Args)]
pub struct Restore {
    /// The directory of the store, which does not exist yet or is empty
    #[arg(short, long, value_name = "DIR")]
    pub location: PathBuf,
    /// Print what was copied as JSON
    #[arg(long)]
    pub json: bool,
    /// The directory of the backup
    #[arg(value_name = "BACKUP")]
    pub backup: PathBuf,
}

/// `compact`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").required(true).args(["location", "endpoint"]))]
pub struct Compact {
    /// The store's directory
    #[arg(short, long, value_name = "DIR")]
    pub location: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub remote: Remote,
    /// Open a damaged log up to the damage. Every change from there on is lost, those that were
    /// acknowledged too
    #[arg(long, requires = "location")]
    pub accept_log_damage: bool,
}

/// `cut`
#[derive(Debug, Args)]
pub struct Cut {
    /// The store's directory
    #[arg(short, long, value_name = "DIR")]
    pub location: PathBuf,
    /// Number of parts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub parts: u16,
    /// Where the parts go: a directory that is made where there is none. Parts that are there are replaced
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Terms that first came together lie together in blocks of 2^BITS [default: 14, fewer for a small graph]
    #[arg(long, value_name = "BITS")]
    pub block_bits: Option<u8>,
}

/// `shell`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("source").args(["location", "data", "endpoint"]))]
#[command(
    after_help = "Reads statements from standard input where that is no terminal, and stops \
                        at the first that fails, with its exit code. Inside, .help lists the \
                        commands. History is kept in $SOMERSAULT_HISTORY, or below \
                        $XDG_STATE_HOME (~/.local/state)."
)]
pub struct Shell {
    /// The store's directory
    #[arg(short, long, value_name = "DIR")]
    pub location: Option<PathBuf>,
    /// Files to load in memory instead of a store
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// Format of the files [default: by each one's extension]
    #[arg(long, value_name = "FORMAT", requires = "data")]
    pub format: Option<String>,
    /// Base IRI for relative references in the files
    #[arg(long, value_name = "IRI", requires = "data")]
    pub base: Option<String>,
    /// Take IRIs and language tags of the files as they are, also where they break the rules
    #[arg(long, requires = "data")]
    pub lenient: bool,
    /// A SPARQL endpoint to ask instead of a store
    #[arg(long, value_name = "URL", conflicts_with_all = ["memory_limit", "threads", "union_default_graph", "gpu"])]
    pub endpoint: Option<String>,
    /// A header for the endpoint, as in 'Authorization: Bearer ...'; may be given again
    #[arg(long, value_name = "'NAME: VALUE'", requires = "endpoint")]
    pub header: Vec<String>,
    /// The token that the server asks for; without a value that of $SOMERSAULT_TOKEN, which other users of
    /// the machine do not see
    #[arg(
        long,
        value_name = "TOKEN",
        num_args = 0..=1,
        default_missing_value = "",
        requires = "endpoint"
    )]
    pub token: Option<String>,
    /// Run updates on the store or the files, not queries only; an endpoint decides by itself
    #[arg(long, conflicts_with = "endpoint")]
    pub allow_update: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub limits: Limits,
}

/// `dump`
#[derive(Debug, Args)]
pub struct Dump {
    /// The store's directory
    #[arg(short, long, value_name = "DIR")]
    pub location: PathBuf,
    /// Format: nq, nt, ttl, trig, rdf (rdfxml) or jsonld [default: by the output's extension, else nq]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Only this named graph, as triples
    #[arg(long, value_name = "IRI")]
    pub graph: Option<String>,
    /// Open the parts of a directory, or cut the store into parts, with so many nodes of this process
    #[arg(long, value_name = "N")]
    pub nodes: Option<u16>,
    /// Where to write; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

/// `stats`
#[derive(Debug, Args)]
pub struct Stats {
    /// The store's directory
    #[arg(short, long, value_name = "DIR")]
    pub location: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print what the planner knows, as JSON: `query --statistics` plans by it
    #[arg(long, conflicts_with = "json")]
    pub planner: bool,
    /// With --planner: of the parts of a directory, or of a store that is cut into parts, with so many nodes of this process
    #[arg(long, value_name = "N", requires = "planner")]
    pub nodes: Option<u16>,
}

/// `generate ...`
#[derive(Debug, Subcommand)]
pub enum Generate {
    /// LUBM, triple for triple the original generator's
    Lubm(GenerateLubm),
    /// Stored data and five streams like those of LSBench, at the rates of Wukong+S
    Lsbench(GenerateLsbench),
}

/// `generate lsbench`
#[derive(Debug, Args)]
pub struct GenerateLsbench {
    /// Number of users
    #[arg(long, value_name = "N")]
    pub users: u32,
    /// Seed
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Length of the streams in seconds of application time
    #[arg(long, value_name = "T")]
    pub seconds: u32,
    /// How fast triples arrive, as a factor of the published rates (133,500 a second in all)
    #[arg(long, value_name = "FACTOR", default_value = "1x")]
    pub rate: workload::lsbench::Rate,
    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// A directory (initial.nt, five streams as .nt.ts, constants.json), or - for the streams on standard output,
    /// ordered by time: `milliseconds TAB subject predicate object <stream> .`
    #[arg(short, long, value_name = "DIR|-")]
    pub output: PathBuf,
}

/// `generate lubm`
#[derive(Debug, Args)]
pub struct GenerateLubm {
    /// Number of universities
    #[arg(long, value_name = "N")]
    pub universities: u32,
    /// Seed
    #[arg(
        long,
        value_name = "S",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    pub seed: i32,
    /// Index of the first university
    #[arg(long, value_name = "I", default_value_t = 0)]
    pub start: u32,
    /// Ontology IRI
    #[arg(long, value_name = "IRI", default_value = workload::lubm::ONTOLOGY)]
    pub ontology: String,
    /// nt, ttl or nq
    #[arg(long, value_name = "FORMAT", default_value = "nt")]
    pub format: String,
    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// A file, a directory (one file per university), or - for standard output
    #[arg(
        short,
        long,
        value_name = "FILE|DIR|-",
        required_unless_present = "load"
    )]
    pub output: Option<PathBuf>,
    /// Load into this store instead of writing a file
    #[arg(long, value_name = "STORE", conflicts_with = "output")]
    pub load: Option<PathBuf>,
}

/// `config ...`
#[derive(Debug, Subcommand)]
pub enum ConfigVerb {
    /// Print every value and where it came from
    Show,
    /// Say whether the configuration is sound
    Check,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }
}
