//! Golden answers of other people's engines over recorded streams, as cases, and one check for all of them.
//!
//! LSBench (1 000 users), CityBench, CSRBench, and the boundary vectors of the C-SPARQL engine lie in the folder
//! `shared/streams` beside the checkout; its README says where each comes from. Nothing of them is in the repository, so
//! whoever asks must say aloud that nothing was checked where [`folder`] finds none.
//!
//! ```text
//! lsbench, citybench, csrbench, boundary_vectors ──> GoldenRun { case, texts, wanted } ──> check(evaluator)
//! oneshot ──> OneShotGolden { stored, items, queries, cuts } ──> GoldenRows::check
//! ```
//!
//! Invariant: a run's case asks what its golden file answers, so any evaluator of cases can be checked; its `texts` are
//! the same question as published, for evaluators of texts. Rows are compared by the files' hash: N-Triples terms in
//! the order of `SELECT`, joined by tabs, lines sorted, joined by line feeds, SHA-256. Numbers are rewritten first as
//! Oxigraph's store wrote them; where the file has the rows themselves, they may be written otherwise.
//!
//! Cost: a run holds its streams' items up to the time that it is loaded for, some hundred bytes each; the iterators
//! load one run at a time.

mod citybench;
mod csrbench;
mod lsbench;
mod oneshot;
mod own;
mod read;
mod rows;
mod told;

pub use citybench::citybench;
pub use csrbench::{boundary_vectors, csrbench};
pub use lsbench::lsbench;
pub use oneshot::{OneShotCut, OneShotGolden, oneshot};
pub use read::GoldenError;
pub use rows::{row_hash, row_lines};
pub use told::told;

use super::{
    Absorbed, Item, PlainExtent, PlainOrigin, PlainStream, PlainWindow, Question, ReportPace,
    Reported, StandingCase, window_iri,
};
use crate::{Answer, Row};
use oxrdf::{Dataset, GraphName, NamedNode};
use query::standing::{Bounds, Dialect, Difference, Relation};
use std::path::{Path, PathBuf};

/// The folder of the streams: `shared/streams` beside the checkout. Nothing if it is not there.
pub fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/streams");
    folder.is_dir().then_some(folder)
}

/// One query over recorded streams, and what it has to report.
#[derive(Clone, Debug)]
pub struct GoldenRun {
    /// The file and the query: `lsbench L1`.
    pub name: String,
    /// Streams, stored data and question.
    pub case: StandingCase,
    /// The published texts of the question, where there are any. They have no pragma and may need one.
    pub texts: Vec<(Dialect, String)>,
    /// Texts of our own of the same question, in the dialects that nobody has published it in.
    pub own: Vec<(Dialect, String)>,
    /// Reports are wanted up to here, this instant included (milliseconds).
    pub until_ms: u64,
    /// What has to be reported, in order.
    pub wanted: Vec<GoldenReport>,
}

/// A report that has to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct GoldenReport {
    /// Its instant (milliseconds), where the file says it.
    pub close_ms: Option<u64>,
    /// Its rows.
    pub rows: GoldenRows,
}

/// What a file says of rows.
#[derive(Clone, Debug, PartialEq)]
pub enum GoldenRows {
    /// How many, and their hash.
    Hashed {
        /// How many.
        count: usize,
        /// In hexadecimal; see the module's documentation.
        sha256: String,
        /// The lines that were hashed, where there are few.
        lines: Option<Vec<String>>,
    },
    /// IRIs and lexical forms, a cell for each variable.
    Values(Vec<Vec<Option<String>>>),
}

impl GoldenRows {
    /// Checks rows, whose cells are in the order of `SELECT`; the error is a complaint for people.
    pub fn check(&self, given: &[Row]) -> Result<(), String> {
        rows::check(self, given)
    }
}

impl GoldenRun {
    /// All texts of the question: as it is printed in each dialect, as published, and our own.
    pub fn all_texts(&self) -> Vec<(Dialect, String)> {
        let mut texts = self.case.question.texts(&self.case.streams);
        texts.extend(self.texts.iter().chain(&self.own).cloned());
        texts
    }
}

/// Checks an evaluator against runs; gives the number of reports that were compared. The error says which run, which
/// report and what differs.
pub fn check(
    runs: impl Iterator<Item = Result<GoldenRun, GoldenError>>,
    evaluator: &mut dyn FnMut(&GoldenRun) -> Result<Vec<Reported>, String>,
) -> Result<usize, String> {
    let mut compared = 0;
    for run in runs {
        let run = run.map_err(|error| error.to_string())?;
        let reports = evaluator(&run).map_err(|error| format!("{}: {error}", run.name))?;
        check_run(&run, &reports).map_err(|complaint| format!("{}: {complaint}", run.name))?;
        compared += reports.len();
    }
    Ok(compared)
}

fn check_run(run: &GoldenRun, reports: &[Reported]) -> Result<(), String> {
    for (number, (wanted, given)) in run.wanted.iter().zip(reports).enumerate() {
        let place = format!("report {number}, at {} ms", given.close_ms);
        if wanted.close_ms.is_some_and(|close| close != given.close_ms) {
            return Err(format!(
                "{place}: expected that of {:?} ms",
                wanted.close_ms
            ));
        }
        let Answer::Rows { rows, .. } = &given.answer else {
            return Err(format!("{place}: a boolean, no rows"));
        };
        rows::check(&wanted.rows, rows).map_err(|complaint| format!("{place}: {complaint}"))?;
    }
    if run.wanted.len() != reports.len() {
        return Err(format!(
            "expected {} reports, got {}",
            run.wanted.len(),
            reports.len()
        ));
    }
    Ok(())
}

/// A stream as benchmarks have it: from the epoch on, in order, stored in the default graph.
fn stream(iri: &str, grain_ms: u64) -> PlainStream {
    PlainStream {
        iri: NamedNode::new_unchecked(iri),
        begin_ms: 0,
        grain_ms,
        lateness_ms: 0,
        absorbed: Absorbed::All,
        into: GraphName::DefaultGraph,
        side_of: None,
    }
}

/// The items of all streams in the order of their times.
fn merged(mut items: Vec<Item>) -> Vec<Item> {
    items.sort_by_key(|item| item.time_ms);
    items
}

/// A query of SPARQL 1.1, cut before its first brace, as a question over windows of `[open, close)` that are reported at
/// each close, without partial ones.
fn question(sparql: &str, windows: Vec<PlainWindow>) -> Question {
    let select = sparql.find("SELECT").unwrap_or_default();
    let brace = sparql.find('{').unwrap_or(sparql.len());
    let head = sparql[select..brace]
        .trim()
        .trim_end_matches("WHERE")
        .trim();
    Question {
        registered_ms: 0,
        prologue: sparql[..select].to_owned(),
        head: head.to_owned(),
        from: Vec::new(),
        from_named: Vec::new(),
        body: sparql[brace..].to_owned(),
        windows,
        is_merged: false,
        bounds: Bounds::LeftClosed,
        origin: PlainOrigin::Epoch(0),
        partial_first: false,
        pace: ReportPace::Close,
        nonempty: false,
        rows: false,
        relation: Relation::Rows,
        difference: Difference::Multiset,
        is_multiset: false,
        is_compat: false,
    }
}

/// The windows of a query whose text names streams as graphs: `names` are prefixed names, `GRAPH s:po {`. Puts the
/// windows' IRIs into the text and gives the places of the names that it mentions.
fn windows_of(sparql: &str, names: &[String]) -> (String, Vec<usize>) {
    let mut text = sparql.to_owned();
    let mut used = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let graph = format!("GRAPH {name} {{");
        if text.contains(&graph) {
            text = text.replace(&graph, &format!("GRAPH {} {{", window_iri(used.len())));
            used.push(place);
        }
    }
    (text, used)
}

/// One window of time over each of so many streams.
fn one_each(streams: usize, range_ms: u64, step_ms: u64) -> Vec<PlainWindow> {
    let extent = PlainExtent::Time { range_ms, step_ms };
    (0..streams)
        .map(|stream| PlainWindow { stream, extent })
        .collect()
}

/// Stored triples, in one graph.
fn stored(triples: Vec<oxrdf::Triple>, graph: &str) -> Dataset {
    let graph = NamedNode::new_unchecked(graph);
    triples
        .into_iter()
        .map(|triple| triple.in_graph(graph.clone()))
        .collect()
}
