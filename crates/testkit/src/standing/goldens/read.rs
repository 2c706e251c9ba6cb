//! Files of recorded streams and golden answers, read.

use super::{GoldenReport, GoldenRows};
use crate::standing::Item;
use flate2::read::GzDecoder;
use oxrdf::{GraphName, Triple};
use oxttl::{NTriplesParser, TurtleParser};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// A golden file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// It cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not what it should be.
    #[error("{}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// The bytes of a file, unpacked where its name ends in `.gz`.
pub(super) fn text(path: &Path) -> Result<String, GoldenError> {
    let failed = |source| GoldenError::Io {
        path: path.to_owned(),
        source,
    };
    if path.extension().is_none_or(|extension| extension != "gz") {
        return fs::read_to_string(path).map_err(failed);
    }
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .map_err(failed)?;
    Ok(text)
}

pub(super) fn json(path: &Path) -> Result<Value, GoldenError> {
    serde_json::from_str(&text(path)?).map_err(|error| malformed(path, &error))
}

pub(super) fn malformed(path: &Path, what: &dyn ToString) -> GoldenError {
    GoldenError::Malformed {
        path: path.to_owned(),
        what: what.to_string(),
    }
}

/// The triples of a Turtle file (or N-Triples, which is Turtle), relative IRIs by `base`.
pub(super) fn turtle(path: &Path, base: &str) -> Result<Vec<Triple>, GoldenError> {
    let text = text(path)?;
    let parser = TurtleParser::new()
        .with_base_iri(base)
        .map_err(|error| malformed(path, &error))?;
    parser
        .for_slice(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| malformed(path, &error))
}

/// The items of an `.nt.ts.gz` file up to a time, that one included: milliseconds, tab, triple. Stops reading at the
/// first later one, because the files are in order.
pub(super) fn stream(path: &Path, stream: usize, until_ms: u64) -> Result<Vec<Item>, GoldenError> {
    let failed = |source| GoldenError::Io {
        path: path.to_owned(),
        source,
    };
    let file = BufReader::new(GzDecoder::new(File::open(path).map_err(failed)?));
    let (mut times, mut lines) = (Vec::new(), String::new());
    for line in file.lines() {
        let line = line.map_err(failed)?;
        let timed = line
            .split_once('\t')
            .and_then(|(time, triple)| Some((time.parse().ok()?, triple)));
        let (time_ms, triple): (u64, &str) =
            timed.ok_or_else(|| malformed(path, &format!("no time: {line}")))?;
        if time_ms > until_ms {
            break;
        }
        times.push(time_ms);
        lines.push_str(triple);
        lines.push('\n');
    }
    let triples: Result<Vec<Triple>, _> = NTriplesParser::new().for_slice(&lines).collect();
    let triples = triples.map_err(|error| malformed(path, &error))?;
    if triples.len() != times.len() {
        return Err(malformed(
            path,
            &"a line holds more or less than one triple",
        ));
    }
    let item = |(time_ms, triple): (u64, Triple)| Item {
        stream,
        time_ms,
        quads: vec![triple.in_graph(GraphName::DefaultGraph)],
    };
    Ok(times.into_iter().zip(triples).map(item).collect())
}

/// The reports that a file lists with hashes (`close`, `rows`, `sha256`, `bindings`), up to a time.
pub(super) fn hashed(
    path: &Path,
    reports: &Value,
    until_ms: u64,
) -> Result<Vec<GoldenReport>, GoldenError> {
    let report = |value: &Value| {
        let close_ms = value["close"].as_u64()?;
        let lines = value["bindings"]
            .as_array()
            .map(|lines| lines.iter().map(|line| line.as_str().map(str::to_owned)));
        Some(GoldenReport {
            close_ms: Some(close_ms),
            rows: GoldenRows::Hashed {
                count: usize::try_from(value["rows"].as_u64()?).ok()?,
                sha256: value["sha256"].as_str()?.to_owned(),
                lines: lines
                    .map(Iterator::collect::<Option<_>>)
                    .unwrap_or_default(),
            },
        })
    };
    let reports = reports.as_array().into_iter().flatten().map(report);
    let reports: Option<Vec<GoldenReport>> = reports.collect();
    let mut reports = reports
        .filter(|reports| !reports.is_empty())
        .ok_or_else(|| malformed(path, &"no reports"))?;
    reports.retain(|report| report.close_ms.is_some_and(|close| close <= until_ms));
    Ok(reports)
}

/// Rows of plain values: strings, and `null` where a variable is unbound.
pub(super) fn values(rows: &Value) -> GoldenRows {
    let cell = |cell: &Value| cell.as_str().map(str::to_owned);
    let row = |row: &Value| row.as_array().into_iter().flatten().map(cell).collect();
    GoldenRows::Values(rows.as_array().into_iter().flatten().map(row).collect())
}
