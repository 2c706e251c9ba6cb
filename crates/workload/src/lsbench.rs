//! Data like those of the LSBench generator: a social network as stored data, and five streams that feed it.
//!
//! Schema, means and distributions are those measured of the original's output (Le-Phuoc et al., "Linked stream data
//! processing engines: facts and figures", ISWC 2012), the rates those of Wukong+S (Zhang et al., SOSP 2017, table 1).
//! No word, name or text is the original's: they are made of syllables.
//!
//! ```text
//! Seed --> Society (users, friends, interests as functions) --> stored     --> initial.nt
//!                                                           --> Items      --> Slices --> *.nt.ts, or one text
//!                                                           --> StartPoints, Constants --> texts of L1-L6, S1-S6
//! ```
//!
//! Invariant: what is said of an entity is a function of (seed, number of users, entity). Nothing is kept of what was
//! made before, so pieces can be made in any order, on any number of threads or machines, with the same bytes, and a
//! stream needs memory for 100 ms of itself whatever its length. A stream of `T` seconds is a prefix of one of `2 T`
//! seconds; the rate moves times alone, not lines.
//!
//! ```
//! use workload::lsbench::{LineForm, Lsbench, Rate, Span, Stream};
//!
//! let lsbench = Lsbench::new(1000, 0)?;
//! let span = Span::seconds(2, Rate::PUBLISHED);
//! let lines: u64 = lsbench
//!     .slices(Stream::Posts, span, LineForm::Triples)
//!     .map(|slice| slice.lines) // `slice.bytes` is whole lines
//!     .sum();
//! assert_eq!(lines, 20_000);
//! # Ok::<(), workload::lsbench::RecordingError>(())
//! ```

mod constants;
mod draws;
mod items;
mod lines;
mod network;
mod output;
mod photos;
mod positions;
mod posts;
mod questions;
mod recording;
mod society;
mod stored;
#[cfg(test)]
mod tests;
mod vocabulary;
mod words;

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

pub use constants::Constants;
pub use questions::{Dialect, Question, StartPoint, StartPoints};
pub use recording::{LineForm, SLICE_MS, Slice, Slices};

use network::USERS_MIN;
use society::Society;

/// The greatest number of users.
pub const USERS_MAX: u32 = 10_000_000;
/// The graph that the queries' texts look for stored data in.
pub const STORED_GRAPH: &str = "http://lsbench.example/graph/initial";

/// A data set.
#[derive(Clone, Debug)]
pub struct Lsbench {
    society: Arc<Society>,
}

impl Lsbench {
    /// The data set of so many users, from 33 to [`USERS_MAX`], and this seed.
    ///
    /// # Errors
    /// [`RecordingError::Users`].
    pub fn new(users: u32, seed: u64) -> Result<Self, RecordingError> {
        if !(USERS_MIN..=USERS_MAX).contains(&users) {
            return Err(RecordingError::Users { users });
        }
        Ok(Self {
            society: Arc::new(Society::new(seed, users)),
        })
    }
}

/// The streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// PO: posts and comments.
    Posts,
    /// PO-L: who likes a post.
    PostLikes,
    /// PH: albums and photos.
    Photos,
    /// PH-L: who likes a photo.
    PhotoLikes,
    /// GPS: where users are.
    Positions,
}

impl Stream {
    /// All of them, in the order in which lines of one millisecond are interleaved.
    pub const ALL: [Self; 5] = [
        Self::Posts,
        Self::PostLikes,
        Self::Photos,
        Self::PhotoLikes,
        Self::Positions,
    ];

    /// The stream's IRI.
    pub fn iri(self) -> String {
        format!("http://lsbench.example/stream/{}", self.short_name())
    }

    /// The last part of its IRI.
    pub fn short_name(self) -> &'static str {
        match self {
            Self::Posts => "po",
            Self::PostLikes => "pol",
            Self::Photos => "ph",
            Self::PhotoLikes => "phl",
            Self::Positions => "gps",
        }
    }

    /// The name of its file.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Posts => "poststream.nt.ts",
            Self::PostLikes => "postlikestream.nt.ts",
            Self::Photos => "photostream.nt.ts",
            Self::PhotoLikes => "photolikestream.nt.ts",
            Self::Positions => "gpsstream.nt.ts",
        }
    }

    /// The published rate (lines a second).
    pub fn lines_per_second(self) -> u64 {
        match self {
            Self::Posts | Self::Photos => 10_000,
            Self::PostLikes => 86_000,
            Self::PhotoLikes => 7_500,
            Self::Positions => 20_000,
        }
    }
}

/// How fast streams arrive, in thousandths of the published rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(u32);

impl Rate {
    /// The published rates.
    pub const PUBLISHED: Self = Self(1000);

    fn thousandths(self) -> u64 {
        u64::from(self.0)
    }
}

impl FromStr for Rate {
    type Err = String;

    /// `1x`, `0.25x`, `4x`: at most three decimals, more than 0, below 10,000.
    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || {
            format!("`{text}`: expected a factor such as 1x, 0.25x or 4x, from 0.001x to 9999.999x")
        };
        let factor = text.strip_suffix('x').ok_or_else(refused)?;
        let (whole, decimals) = factor.split_once('.').unwrap_or((factor, "0"));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let sized = (1..=4).contains(&whole.len()) && (1..=3).contains(&decimals.len());
        if !sized || !digits(whole) || !digits(decimals) {
            return Err(refused());
        }
        let thousandths = format!("{whole}{decimals:0<3}")
            .parse()
            .map_err(|_| refused())?;
        if thousandths == 0 {
            return Err(refused());
        }
        Ok(Self(thousandths))
    }
}

/// How much of the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// From time 0 to here (milliseconds of application time).
    pub milliseconds: u64,
    /// How fast lines arrive.
    pub rate: Rate,
}

impl Span {
    /// So many seconds.
    pub fn seconds(seconds: u32, rate: Rate) -> Self {
        Self {
            milliseconds: u64::from(seconds) * 1000,
            rate,
        }
    }
}

/// How far a run is; at its end, what it made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Lines, each a triple; repetitions included.
    pub lines: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Written {
    fn add(&mut self, lines: u64, bytes: &[u8]) {
        self.lines += lines;
        self.bytes += bytes.len() as u64;
    }
}

/// Why data were not generated, or not to the end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// Too few users to have friends, or too many.
    #[error("{users} users: expected {USERS_MIN} to {USERS_MAX}")]
    Users {
        /// The number asked for.
        users: u32,
    },
    /// The output did not take the bytes; a reader that closed its pipe is of kind [`io::ErrorKind::BrokenPipe`].
    #[error("writing generated data: {0}")]
    Write(#[source] io::Error),
    /// A file or folder of the output could not be made or written.
    #[error("writing generated data to {}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl RecordingError {
    /// The error, with the path of the file that was written.
    fn within(self, file: &Path) -> Self {
        match self {
            Self::Write(source) => Self::File {
                path: file.to_owned(),
                source,
            },
            other => other,
        }
    }
}
