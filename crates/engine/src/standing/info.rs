//! Streams and queries as people see them: what a stream is made of, and how both stand.

/// What a stream is, in terms; see [`Definition`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubStream {
    /// Its IRI.
    pub name: String,
    /// How long a batch is (milliseconds).
    pub grain_ms: u64,
    /// How much later than its source's watermark an item may come (milliseconds).
    pub lateness_ms: u64,
    /// A source that was silent for so long (milliseconds) holds nobody up; `None`: it always does.
    pub idle_ms: Option<u64>,
    /// The predicates whose triples are stored; `None`: all.
    pub absorb: Option<Vec<String>>,
    /// The graph that they are stored in; `None`: the default graph.
    pub into: Option<String>,
    /// Whether an item's time is that of its arrival.
    pub arrival_time: bool,
    /// What its items and their slices may hold (bytes); beyond that pushes are refused for now.
    pub budget_bytes: u64,
}

impl HubStream {
    /// A stream of this name with the usual settings: batches of 100 ms, no lateness, everything stored in the default
    /// graph.
    pub fn new(name: &str) -> HubStream {
        HubStream {
            name: name.to_owned(),
            grain_ms: stream::definition::GRAIN_MS,
            lateness_ms: 0,
            idle_ms: None,
            absorb: None,
            into: None,
            arrival_time: false,
            budget_bytes: stream::definition::BUDGET_BYTES,
        }
    }
}

/// A stream and how it stands, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamInfo {
    /// What it is.
    pub settings: HubStream,
    /// What is before this has been promised to be complete (milliseconds).
    pub watermark_ms: u64,
    /// What is before this is decided and seen (milliseconds).
    pub covered_ms: u64,
    /// Whether none of its sources is active.
    pub is_idle: bool,
    /// What its items, their slices and their terms hold (bytes).
    pub held_bytes: u64,
    /// Items that came late (count).
    pub late: u64,
    /// What of that its terms hold that are not stored (bytes): a term counts where it was named first.
    pub term_bytes: u64,
    /// The names of the queries that read it.
    pub queries: Vec<String>,
}

/// The instances of a template, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateInfo {
    /// The parameters, without question mark.
    pub parameters: Vec<String>,
    /// Instances (count).
    pub instances: u64,
    /// What they hold (bytes).
    pub bytes: u64,
    /// Why each of them is walked for itself; `None`: one walk answers all.
    pub apart: Option<String>,
}

/// A registered query, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryInfo {
    /// Its name.
    pub name: String,
    /// Its text, where it was registered by one.
    pub text: Option<String>,
    /// The names of the streams that it reads.
    pub streams: Vec<String>,
    /// The stream that it writes.
    pub output: Option<String>,
    /// What its instances are, if it is a template.
    pub template: Option<TemplateInfo>,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Evaluations so far (count).
    pub evaluations: u64,
    /// The last close that was evaluated (milliseconds).
    pub close_ms: Option<u64>,
    /// Why the last evaluation failed, if it did.
    pub failure: Option<String>,
}
