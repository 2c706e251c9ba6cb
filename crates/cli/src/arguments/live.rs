//! What `stream`, `cq` and `subscribe` take: streams, registered queries and their reports, of a server or a store.

use clap::{ArgGroup, Args, Subcommand};
use std::path::PathBuf;

/// Whose streams and queries are meant.
#[derive(Clone, Debug, Default, Args)]
pub struct LiveTarget {
    /// The server: its address, or that of its endpoint [default: http://127.0.0.1:7272]
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// A store's directory, where no server serves it: it is opened for as long as this runs
    #[arg(short, long, value_name = "DIR", conflicts_with = "endpoint")]
    pub location: Option<PathBuf>,
    /// A header for the server, as in 'Name: value'; may be given again
    #[arg(long, value_name = "'NAME: VALUE'", conflicts_with = "location")]
    pub header: Vec<String>,
    /// The token that gives the right [default: $SOMERSAULT_TOKEN, which other users of the machine
    /// do not see]
    #[arg(long, value_name = "TOKEN", conflicts_with = "location")]
    pub token: Option<String>,
}

/// `stream ...`
#[derive(Debug, Subcommand)]
pub enum StreamVerb {
    /// Make a stream
    Create(StreamCreate),
    /// Push items from files or standard input, in batches, while they are read
    Push(StreamPush),
    /// List the streams
    List(LiveList),
    /// Show a stream as it stands
    Show(StreamNamed),
    /// Forget a stream, unless a query names it
    Drop(StreamNamed),
}

/// `stream create`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        somersault stream create urn:likes --grain 1s --lateness 500ms\n  \
        somersault stream create urn:positions --absorb none --arrival-time\n  \
        somersault stream create urn:recorded --begin 0     # items from long ago")]
pub struct StreamCreate {
    /// The stream's IRI
    #[arg(value_name = "IRI")]
    pub name: String,
    /// How long a batch of it is
    #[arg(long, value_name = "DURATION", default_value = "100ms")]
    pub grain: String,
    /// How much later than its source's watermark an item may come
    #[arg(long, value_name = "DURATION", default_value = "0ms")]
    pub lateness: String,
    /// A source that is silent for so long is not waited for; never: it always is
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    pub idle: String,
    /// What is stored: all, none, or predicates' IRIs with commas between them
    #[arg(long, value_name = "all|none|PREDICATE,...", default_value = "all")]
    pub absorb: String,
    /// The graph that it is stored in [default: the default graph; an item that names a graph keeps it]
    #[arg(long, value_name = "GRAPH")]
    pub into: Option<String>,
    /// An item's time is that of its arrival
    #[arg(long)]
    pub arrival_time: bool,
    /// What its items may hold in memory, with its unit [default: the server's]
    #[arg(long, value_name = "SIZE")]
    pub budget: Option<String>,
    /// When it begins, in milliseconds: items before that are late [default: now; 0 with --arrival-time]
    #[arg(long, value_name = "MS")]
    pub begin: Option<u64>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: LiveTarget,
}

/// `stream push`
#[derive(Debug, Args)]
#[command(
    after_help = "A line of .nt.ts is milliseconds, a tab, and a statement. Items go out in batches of at most 1 MiB while \
                  they are read; where the server has no room (429, 503) the push waits and goes on. A malformed line is \
                  reported with its place and the others are taken: exit code 8. Labels of blank nodes mean the same \
                  node within an item.\n\nExamples:\n  \
        somersault stream push urn:likes likes.nt.ts --speed 1x\n  \
        tail -f sensor.nt.ts | somersault stream push urn:sensor --source roof\n  \
        somersault stream push urn:sensor day.nt.ts --source roof --position 0    # may be made again\n  \
        echo '<urn:a> <urn:p> <urn:b> .' | somersault stream push urn:likes --format nt --time now\n  \
        somersault stream push urn:likes --watermark=5000    # nothing before 5000 will come"
)]
pub struct StreamPush {
    /// The stream's IRI
    #[arg(value_name = "IRI")]
    pub name: String,
    /// Files with items, one after the other; - is standard input; .gz .bz2 .zst .xz are unpacked [default: -]
    #[arg(value_name = "FILES")]
    pub files: Vec<PathBuf>,
    /// Format: nt.ts, ndjson, or one of RDF (nt, nq: the statements of a batch are an item; others: the file is)
    /// [default: by each file's extension, else nt.ts]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// The time of items that bring none: milliseconds, an xsd:dateTime, or now
    #[arg(long, value_name = "TIME|now")]
    pub time: Option<String>,
    /// The predicate of the items' own triples that say their times [default: none; what says of a graph
    /// prov:generatedAtTime in the default graph gives its time]
    #[arg(long, value_name = "IRI")]
    pub time_predicate: Option<String>,
    /// Whose items they are: a stream waits for its slowest source [default: default]
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// The count of the first item among those of the source: what is there already is passed over, so a push that
    /// broke off can be made again
    #[arg(long, value_name = "N", requires = "source")]
    pub position: Option<u64>,
    /// Promise at the end that nothing before this time will come; without a value, nothing up to the last
    /// item's time
    #[arg(long, value_name = "MS", num_args = 0..=1, require_equals = true)]
    #[allow(clippy::option_option)] // not given; given without a value; a value
    pub watermark: Option<Option<u64>>,
    /// How fast: max, or a multiple of the items' own time as in 1x
    #[arg(long, value_name = "SPEED", default_value = "max")]
    pub speed: String,
    /// How long to wait for room at the server [default: without end]
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: LiveTarget,
}

/// `stream show`, `stream drop`
#[derive(Debug, Args)]
pub struct StreamNamed {
    /// The stream's IRI
    #[arg(value_name = "IRI")]
    pub name: String,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: LiveTarget,
}

/// `stream list`, `cq list`
#[derive(Debug, Args)]
pub struct LiveList {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: LiveTarget,
}

/// `cq ...`
#[derive(Debug, Subcommand)]
pub enum CqVerb {
    /// Register a query: it is evaluated from now on, whenever its windows close
    Register(CqRegister),
    /// List the registered queries
    List(LiveList),
    /// Show a query, with its plan
    Show(CqNamed),
    /// Evaluate a query no more
    Pause(CqNamed),
    /// Evaluate a query again, from the next close on
    Resume(CqNamed),
    /// Forget a query and its reports
    Drop(CqNamed),
}

/// `cq register`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        somersault cq register likes.rspql --name likes && somersault subscribe likes\n  \
        somersault cq register posts-of.rspql --bindings users.csv    # header: name,user")]
pub struct CqRegister {
    /// A file with the query, in C-SPARQL, RSP-QL or CQELS-QL; - is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Its name, where its text gives none [default: one that the server makes]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// A table of constants for variables of the query, an instance of it for each row: .csv, .tsv or .srj (JSON
    /// results), whose header names the variables; - is standard input, in CSV
    #[arg(long, value_name = "ROWS")]
    pub bindings: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: LiveTarget,
}

/// `cq show`, `pause`, `resume` and `drop`
#[derive(Debug, Args)]
pub struct CqNamed {
    /// The query's name
    #[arg(value_name = "NAME")]
    pub name: String,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: LiveTarget,
}

/// `subscribe`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("subject").required(true).args(["name", "query", "query_file"]))]
#[command(
    after_help = "On a terminal the latest report is a table that is drawn anew in its place; elsewhere each report is a line of \
                  JSON, with its number. A connection that breaks is made again, and reports go on behind the last one. A query \
                  that is given here is registered for as long as this runs; one without windows is followed as the store \
                  changes: its answer comes first, and then each difference. Ctrl-C ends it.\n\nExamples:\n  \
        somersault subscribe likes\n  \
        somersault subscribe likes --from 120 --count 10 > reports.ndjson\n  \
        somersault subscribe --query 'SELECT ?who FROM NAMED WINDOW <urn:w> ON <urn:likes>\n    \
            [RANGE PT10S STEP PT1S] WHERE { WINDOW <urn:w> { ?who <urn:like> ?what } }'\n  \
        somersault subscribe --query 'SELECT ?who { ?who <urn:like> ?what }'"
)]
#[allow(clippy::struct_field_names)] // fields are named as the flags are
pub struct Subscribe {
    /// The registered query's name
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// A query to register for as long as this runs, or without windows to follow as the store changes
    #[arg(short, long, value_name = "TEXT")]
    pub query: Option<String>,
    /// A file with such a query; - is standard input
    #[arg(long, value_name = "FILE")]
    pub query_file: Option<PathBuf>,
    /// The number of the first report that is wanted [default: the first that is kept]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub from: Option<u64>,
    /// End after so many reports, or answers and differences
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// End after so long; exit code 7 where --count reports have not come [default: without end]
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: LiveTarget,
}
