//! Where the figures of a benchmark go: a table for people, lines of JSON for programs, a history.
//!
//! A history is a file of lines of JSON that grows: each is a figure as `--json` prints it with the
//! time of the run and what the caller wants remembered (`--note commit=...`). Nothing of a run is
//! worth much without them, and only the caller knows them: a binary knows neither the name of its
//! machine nor what else ran on it.

use crate::arguments::BenchOutput;
use crate::exit::{Code, Failure, Outcome};
use bench::figure::{Figure, Table};
use bench::mix::Tally;
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Prints the figures, and adds them to the history if there is one.
pub fn put(flags: &BenchOutput, figures: &[Figure]) -> Outcome {
    let notes = notes(&flags.note)?;
    let mut output = std::io::stdout().lock();
    if flags.json {
        for figure in figures {
            writeln!(output, "{}", figure.json_line())?;
        }
    } else {
        writeln!(output, "{}", Table(figures))?;
    }
    match &flags.record {
        Some(history) => append(history, figures, &notes),
        None => Ok(()),
    }
}

/// What `--note` says, as names with values.
fn notes(flags: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut notes = Map::new();
    for flag in flags {
        let pair = flag.split_once('=').filter(|(name, _)| !name.is_empty());
        let (name, value) = pair.ok_or_else(|| {
            Failure::new(Code::Usage, format!("`--note {flag}`: expected NAME=VALUE"))
        })?;
        notes.insert(name.to_owned(), Value::from(value));
    }
    Ok(notes)
}

fn append(history: &Path, figures: &[Figure], notes: &Map<String, Value>) -> Outcome {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.unwrap_or_default().as_secs();
    let mut lines = String::new();
    for figure in figures {
        let mut line = serde_json::to_value(figure)
            .map_err(|error| Failure::new(Code::Failed, error))?
            .as_object()
            .cloned()
            .unwrap_or_default();
        line.insert("unix_time".to_owned(), Value::from(seconds));
        line.extend(notes.clone());
        // Writing to a string does not fail.
        let _ = writeln!(lines, "{}", Value::Object(line));
    }
    let failed = |error| Failure::new(Code::Failed, format!("{}: {error}", history.display()));
    let file = OpenOptions::new().create(true).append(true).open(history);
    file.and_then(|mut file| file.write_all(lines.as_bytes()))
        .map_err(failed)
}

/// Refuses a picture before anything is measured: `xtask` draws it.
pub fn check_distribution(path: &Path) -> Outcome {
    if path.extension().is_none_or(|extension| extension != "svg") {
        return Ok(());
    }
    let path = path.display();
    let message = format!(
        "--cdf {path}: distributions are written as CSV; `cargo xtask plot FILE.csv {path}` draws them"
    );
    Err(Failure::new(Code::Usage, message))
}

/// Writes the distribution of every class's times as CSV, `name,share,microseconds`, a line for each
/// time at which the share of runs that took no longer grows.
pub fn write_distribution(path: &Path, tallies: &[&Tally]) -> Outcome {
    let mut text = "name,share,microseconds\n".to_owned();
    for class in tallies.iter().flat_map(|tally| &tally.classes) {
        for (share, time) in class.latencies.distribution() {
            let microseconds = time.as_nanos() as f64 / 1e3;
            // Writing to a string does not fail.
            let _ = writeln!(text, "{},{share:.6},{microseconds}", class.name);
        }
    }
    std::fs::write(path, text)
        .map_err(|error| Failure::new(Code::Failed, format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::figure::Session;
    use std::time::Duration;

    fn figure(name: &str) -> Figure {
        let session = Session {
            bench: "mix".to_owned(),
            data: "lubm-1".to_owned(),
            threads: 1,
        };
        Figure::rate(&session, name, "queries", 10, Duration::from_secs(2))
    }

    #[test]
    fn a_history_grows_by_lines_with_their_notes() {
        let folder = tempfile::tempdir().unwrap();
        let history = folder.path().join("history.jsonl");
        let notes = notes(&["commit=abc".to_owned(), "seed=1=2".to_owned()]).unwrap();
        append(&history, &[figure("a"), figure("b")], &notes).unwrap();
        append(&history, &[figure("c")], &notes).unwrap();
        let text = std::fs::read_to_string(&history).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let names: Vec<_> = lines.iter().map(|line| &line["name"]).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(
            (&lines[2]["commit"], &lines[2]["seed"]),
            (&"abc".into(), &"1=2".into())
        );
        assert_eq!(lines[0]["per_second"], 5.0);
        assert!(lines[0]["unix_time"].as_u64().unwrap() > 1_700_000_000);
    }

    #[test]
    fn a_note_has_a_name() {
        for wrong in ["commit", "=x"] {
            assert_eq!(notes(&[wrong.to_owned()]).unwrap_err().code, Code::Usage);
        }
    }
}
