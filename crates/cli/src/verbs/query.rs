//! `query`: one query against a store, files in memory, or an endpoint.
//!
//! The answer goes to standard output as it arises; anything else goes to standard error, so that
//! pipes carry data only. A table on a terminal, TSV in a pipe, unless a format is asked for.

use crate::arguments::{AnswerFormat, Query as Flags};
use crate::exit::{Code, Failure, Outcome};
use crate::settings;
use crate::table::Table;
use crate::verbs::{open, remote};
use somersault::results::{ResultFormat, ResultWriter, Rows, Sink};
use somersault::{Database, Request};
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const OUTPUT_BUFFER_BYTES: usize = 1 << 18;

/// Runs the verb.
pub fn run(flags: &Flags, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    settings::add_limits(&mut layers, &flags.limits)?;
    let config = settings::check(&layers)?;
    let text = text(flags)?;
    if let Some(endpoint) = &flags.endpoint {
        return remote::query(endpoint, &text, answer_format(flags), config.timeout);
    }
    let database = if let Some(location) = &flags.location {
        open::store(location, &config)?
    } else {
        let (format, base) = (flags.format.as_deref(), flags.base.as_deref());
        open::files(&flags.data, format, base, &config)?
    };
    if flags.explain {
        let query = database.start(&Request::new(&text)).map_err(failure)?;
        writeln!(io::stdout().lock(), "{}", query.explain())?;
        return Ok(());
    }
    match flags.repeat {
        Some(times) => repeat(&database, &text, times),
        None if flags.profile => profile(&database, &text),
        None => answer(&database, &text, answer_format(flags)),
    }
}

/// A query's failure as an exit code with its message.
pub fn failure(error: somersault::QueryError) -> Failure {
    use somersault::Kind;
    let code = match error.kind {
        Kind::Syntax | Kind::Unsupported => Code::Syntax,
        Kind::TooLong | Kind::Shape | Kind::Timeout | Kind::Memory => Code::Limit,
        Kind::Cancelled => Code::Interrupted,
        Kind::Damaged => Code::Integrity,
        Kind::Internal => Code::Failed,
        Kind::Output => return output_failure(&error),
    };
    Failure::new(code, error)
}

/// A reader of our output that has gone away (`| head`) is no failure worth a message.
fn output_failure(error: &somersault::QueryError) -> Failure {
    let message = if error.is_broken_pipe() {
        String::new()
    } else {
        error.to_string()
    };
    Failure {
        code: Code::Failed,
        message,
    }
}

fn text(flags: &Flags) -> Result<String, Failure> {
    if let Some(text) = &flags.query {
        return Ok(text.clone());
    }
    let path = flags
        .query_file
        .as_deref()
        .expect("the parser asks for a query or a file");
    let read = if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(path)
    };
    read.map_err(|error| Failure::new(Code::Failed, format!("{}: {error}", path.display())))
}

fn answer_format(flags: &Flags) -> AnswerFormat {
    flags
        .results_format
        .unwrap_or(if io::stdout().is_terminal() {
            AnswerFormat::Table
        } else {
            AnswerFormat::Tsv
        })
}

fn answer(database: &Database, text: &str, format: AnswerFormat) -> Outcome {
    let output = BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, io::stdout().lock());
    let mut query = database.start(&Request::new(text)).map_err(failure)?;
    let is_ask = query.is_ask();
    let library = match format {
        AnswerFormat::Table => {
            query.run(&mut Table::new(output)).map_err(failure)?;
            return Ok(());
        }
        AnswerFormat::Json => ResultFormat::Json,
        AnswerFormat::Xml => ResultFormat::Xml,
        AnswerFormat::Csv => ResultFormat::Csv,
        AnswerFormat::Tsv => ResultFormat::Tsv,
    };
    let mut writer = ResultWriter::new(library, output);
    query.run(&mut writer).map_err(failure)?;
    let mut output = writer.into_output().expect("the answer is complete");
    if is_ask || matches!(format, AnswerFormat::Json | AnswerFormat::Xml) {
        writeln!(output)?;
    }
    output.flush()?;
    Ok(())
}

fn profile(database: &Database, text: &str) -> Outcome {
    let mut query = database.start(&Request::new(text)).map_err(failure)?;
    query.enable_profile();
    query.run(&mut Discard::default()).map_err(failure)?;
    writeln!(io::stdout().lock(), "{}", query.explain_profile())?;
    Ok(())
}

/// Takes rows and keeps only their number.
#[derive(Default)]
struct Discard {
    rows: u64,
}

impl Sink for Discard {
    fn head(&mut self, _: &[String]) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        self.rows += rows.len as u64;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn boolean(&mut self, value: bool) -> io::Result<()> {
        self.rows = u64::from(value);
        Ok(())
    }
}

/// Latencies from text to the last decoded row, over many runs.
fn repeat(database: &Database, text: &str, times: u32) -> Outcome {
    let mut latencies = Vec::new();
    let mut rows = 0;
    for _ in 0..times.max(1) {
        let started = Instant::now();
        let mut sink = Discard::default();
        let mut query = database.start(&Request::new(text)).map_err(failure)?;
        query.run(&mut sink).map_err(failure)?;
        latencies.push(started.elapsed());
        rows = sink.rows;
    }
    latencies.sort_unstable();
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share).round() as usize];
    let line = serde_json::json!({
        "runs": latencies.len(),
        "rows": rows,
        "min_us": micros(at(0.0)),
        "median_us": micros(at(0.5)),
        "p99_us": micros(at(0.99)),
        "max_us": micros(at(1.0)),
    });
    writeln!(io::stdout().lock(), "{line}")?;
    Ok(())
}

fn micros(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e7).round() / 10.0
}
