//! What a load did: figures for the caller, and what was left out.

use std::fmt;
use std::time::Duration;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Reading and parsing the sources.
    Parse,
    /// Finding which terms of different chunks are the same.
    Resolve,
    /// Giving statements their final ids; writing the dictionary's keys.
    Encode,
    /// Sorting edges and writing segments, signatures and the dictionary's index.
    Build,
    /// Making everything durable and switching over.
    Commit,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Phase; 5] = [
        Phase::Parse,
        Phase::Resolve,
        Phase::Encode,
        Phase::Build,
        Phase::Commit,
    ];
}

/// How far a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// What is being done.
    pub phase: Phase,
    /// Bytes of the sources read so far, as they lie in their files (compressed, if they are).
    pub read_bytes: u64,
    /// Bytes of all sources, where that is known.
    pub total_bytes: Option<u64>,
    /// Statements parsed so far.
    pub statements: u64,
    /// Within the phases after parsing: work done and all work, in units of the phase.
    pub steps: (u64, u64),
}

/// Who watches a load: told about once per chunk, from any thread, and asked whether to go on.
pub trait LoadProgress: Sync {
    /// The load has come this far.
    fn advanced(&self, advance: Advance);

    /// Whether the load should stop and leave the store as it was.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Nobody watches.
pub struct Unwatched;

impl LoadProgress for Unwatched {
    fn advanced(&self, _advance: Advance) {}
}

/// A malformed statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The source's name.
    pub file: String,
    /// Its line, from 1; absent where the format's parser does not tell.
    pub line: Option<u64>,
    /// Its column in characters, from 1; absent likewise.
    pub column: Option<u64>,
    /// What is wrong.
    pub message: String,
    /// Whether a lenient load takes it, as far as is known.
    pub is_unusual: bool,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rejection {
            file,
            line,
            column,
            message,
            is_unusual: _,
        } = self;
        write!(f, "{file}:")?;
        for number in [line, column].into_iter().flatten() {
            write!(f, "{number}:")?;
        }
        write!(f, " {message}")
    }
}

/// What a load did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Statements read, repetitions included.
    pub statements: u64,
    /// Distinct quads of the store before the load.
    pub quads_before: u64,
    /// Distinct quads of the store after the load.
    pub quads: u64,
    /// Distinct terms in the dictionary, blank nodes included.
    pub terms: u64,
    /// Statements left out because they are malformed.
    pub rejected: u64,
    /// The first of them, in order.
    pub rejections: Vec<Rejection>,
    /// Bytes read, as they lie in the sources' files.
    pub read_bytes: u64,
    /// Time in each phase.
    pub phases: Vec<(Phase, Duration)>,
    /// The most memory that was retained at any time by the load's own account.
    pub peak_retained_bytes: u64,
}
