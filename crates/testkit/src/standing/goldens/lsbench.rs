//! LSBench, 1 000 users: L1 to L6 over five streams of 133 500 triples a second together.

use super::{
    GoldenError, GoldenRun, merged, one_each, own, question, read, stored, stream, windows_of,
};
use crate::standing::{Item, PlainStream, StandingCase};
use oxrdf::NamedNode;
use query::standing::Dialect;
use std::path::{Path, PathBuf};

/// The streams: how texts call them, and their files.
pub(super) const STREAMS: [(&str, &str); 5] = [
    ("po", "poststream"),
    ("pol", "postlikestream"),
    ("ph", "photostream"),
    ("phl", "photolikestream"),
    ("gps", "gpsstream"),
];
pub(super) const STREAM_NAMESPACE: &str = "http://lsbench.example/stream/";
/// The graph of the stored data.
const INITIAL: &str = "http://lsbench.example/graph/initial";
/// The length of a batch, as the paper has it.
pub(super) const GRAIN_MS: u64 = 100;

/// L1 to L6, `[open, close)` of 1 s by 100 ms, closes up to `until_ms` (at most 6 000). Each run holds the items of its
/// own streams up to then: one second of L6 takes some 100 000.
pub fn lsbench(
    streams: &Path,
    until_ms: u64,
) -> impl Iterator<Item = Result<GoldenRun, GoldenError>> {
    let folder = streams.to_owned();
    (1..=6).map(move |number| run(&folder, &format!("L{number}"), until_ms))
}

fn run(folder: &Path, name: &str, until_ms: u64) -> Result<GoldenRun, GoldenError> {
    let path = folder.join("lsbench-1k/golden-1000-100.json.gz");
    let golden = read::json(&path)?;
    let query = golden["queries"][name]
        .as_str()
        .ok_or_else(|| read::malformed(&path, &format!("no query {name}")))?;
    let names = STREAMS.map(|(name, _)| format!("s:{name}"));
    let (sparql, used) = windows_of(query, &names);
    let (mut streams, mut items): (Vec<PlainStream>, Vec<Item>) = (Vec::new(), Vec::new());
    for (place, &stream_number) in used.iter().enumerate() {
        let (name, file) = STREAMS[stream_number];
        streams.push(stream(&format!("{STREAM_NAMESPACE}{name}"), GRAIN_MS));
        let path = folder.join(format!("lsbench-1k/{file}.nt.ts.gz"));
        items.extend(read::stream(&path, place, until_ms)?);
    }
    let initial = read::turtle(&folder.join("lsbench-1k/initial.nt.gz"), INITIAL)?;
    let mut question = question(&sparql, one_each(streams.len(), 1_000, 100));
    question.from = vec![NamedNode::new_unchecked(INITIAL)];
    Ok(GoldenRun {
        name: format!("lsbench {name}"),
        texts: texts(folder, name)?,
        own: own::lsbench(name, &constant(folder, name)?),
        until_ms,
        wanted: read::hashed(&path, &golden["results"][name], until_ms)?,
        case: StandingCase {
            late: Vec::new(),
            stored: stored(initial, INITIAL),
            streams,
            items: merged(items),
            question,
        },
    })
}

/// The user or person that a query asks about; nothing where it asks about none.
fn constant(folder: &Path, name: &str) -> Result<String, GoldenError> {
    let constants = read::json(&folder.join("lsbench-1k/constants.json"))?;
    Ok(constants[name].as_str().unwrap_or_default().to_owned())
}

/// The published texts, their parameters filled in.
fn texts(folder: &Path, name: &str) -> Result<Vec<(Dialect, String)>, GoldenError> {
    let constant = constant(folder, name)?;
    let filled = |path: PathBuf| -> Result<String, GoldenError> {
        let text = read::text(&path)?;
        Ok(text
            .replace("$USER", &constant)
            .replace("$PERSON", &constant))
    };
    let folder = folder.join("queries/lsbench");
    Ok(vec![
        (
            Dialect::CSparqlGraph,
            filled(folder.join(format!("{name}.csparql")))?,
        ),
        (
            Dialect::RspQl,
            filled(folder.join(format!("{name}.rspql")))?,
        ),
    ])
}
