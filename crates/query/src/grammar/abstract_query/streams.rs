//! What a text says of streams: its windows, which sources its patterns are of, and how it is registered.
//!
//! Invariants: windows stand in the order of the text, each once; a source is a list of windows, and sources stand in
//! the order of their first use, `sources[i]` being [`Source`] `i + 1`. Defaults of dialects are not filled in here: what
//! is not written is `None`.

use super::Constant;
use crate::plan::Source;
use crate::standing::{Dialect, Relation};
use hashbrown::HashSet;

/// See the head of this file.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// `None` where the text registers nothing.
    pub(crate) registered: Option<Registered>,
    /// `ISTREAM` and its like, of `REGISTER` or of the form.
    pub(crate) relation: Option<Relation>,
    /// As far as the text was read: `None` before its first window.
    pub(crate) dialect: Option<Dialect>,
    pub(crate) windows: Vec<Window>,
    pub(crate) sources: Vec<Vec<usize>>,
    /// The graphs that `GRAPH` names by constants.
    pub(crate) graphs: HashSet<Constant>,
    /// What `timestamp()` means.
    pub(crate) timestamps: Timestamps,
    /// Whether something asks `timestamp()`.
    pub(crate) asks_times: bool,
    /// Whether windows are bags, whose graphs are not asked.
    pub(crate) are_bags: bool,
    /// Windows around the place that is read.
    pub(crate) around: usize,
}

/// What the time of a triple is that is in no window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Timestamps {
    /// There is no window: it cannot be asked.
    #[default]
    Refused,
    /// An error.
    Error,
    /// `false`, as of the C-SPARQL engine (`compat=on`).
    False,
}

/// `REGISTER`.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) name: String,
    /// Whether answers are the items of a stream.
    pub(crate) is_stream: bool,
    /// `COMPUTED EVERY` (milliseconds).
    pub(crate) every_ms: Option<u64>,
}

/// A window of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Its IRI.
    pub(crate) name: Option<String>,
    /// The stream's IRI.
    pub(crate) stream: String,
    pub(crate) extent: WrittenExtent,
}

/// What stands between a window's brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrittenExtent {
    /// `RANGE`, `STEP`, `SLIDE`, `TUMBLING`, in milliseconds above 0.
    Range {
        range_ms: u64,
        step_ms: Option<u64>,
    },
    /// `TRIPLES`, `ELEMENTS`, `STEP`: items, above 0.
    Count {
        items: u64,
        step: Option<u64>,
    },
    Now,
    All,
    /// `FROM NOW-... TO NOW-... STEP ...`, in milliseconds.
    Past {
        from_ms: u64,
        to_ms: u64,
        step_ms: u64,
    },
}

impl Streams {
    /// The source that is the union of these windows.
    pub(crate) fn source(&mut self, windows: &[usize]) -> Source {
        let known = self.sources.iter().position(|known| known == windows);
        let place = known.unwrap_or_else(|| {
            self.sources.push(windows.to_vec());
            self.sources.len() - 1
        });
        let number = u16::try_from(place + 1);
        Source(number.expect("a text has few windows, and few unions of them"))
    }

    /// The windows of `FROM` over a stream; none where the dialect does not name streams by `GRAPH`.
    pub(crate) fn over(&self, stream: &str) -> Vec<usize> {
        if !matches!(self.dialect, Some(Dialect::CSparql | Dialect::CSparqlGraph)) {
            return Vec::new();
        }
        let windows = self.windows.iter().enumerate();
        let over = windows.filter(|(_, window)| window.stream == stream);
        over.map(|(place, _)| place).collect()
    }
}
