//! `replay`: recorded streams through continuous queries, in the time of their items.
//!
//! Reports go to standard output, a line of JSON each, closes ascending. Nothing is kept: a store that is named stays as
//! it is, and what the streams bring is seen by this run alone.

use crate::arguments::Replay as Flags;
use crate::exit::{Code, Failure, Outcome};
use crate::live::{milliseconds, speed};
use crate::say::say;
use crate::settings;
use crate::trouble::Trouble;
use crate::verbs::input::Input;
use crate::verbs::open;
use crate::verbs::query::read_text;
use somersault::config::Config;
use somersault::load::read_decompressed;
use somersault::{
    Database, GraphTarget, GraphWrite, HubStream, QueryError, Recording, Replay, ReplaySpan,
    StandingQuery, StandingReport, WriteMode, read_standing, recorded,
};
use std::io::{self, BufReader, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes of a recording that are read at once.
const READ_BYTES: usize = 1 << 18;

/// Runs the verb.
pub fn run(flags: &Flags, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    settings::add_limits(&mut layers, &flags.limits)?;
    let config = settings::check(&layers)?;
    let speed = speed(&flags.speed)?;
    let recordings = recordings(flags)?;
    let texts = flags.query_file.iter().map(|file| read_text(file));
    let texts = texts.collect::<Result<Vec<String>, Failure>>()?;
    let database = database(flags, &config)?;
    let mut queries: Vec<(String, StandingQuery)> = Vec::new();
    for (file, text) in flags.query_file.iter().zip(&texts) {
        let query = read_standing(&database, text);
        let query = query.map_err(|error| Trouble::from(error).into_failure(text))?;
        queries.push((name_of(file), query));
    }
    let span = ReplaySpan {
        from_ms: flags.from,
        registered_ms: None,
        until_ms: flags.until,
    };
    let replay = Replay::new(database, recordings, queries, span).map_err(failure)?;
    print(replay, speed)
}

/// Prints the reports, at the speed of their items where that is wished.
fn print(replay: Replay<'_>, speed: Option<f64>) -> Outcome {
    let mut output = BufWriter::new(io::stdout().lock());
    let mut written: io::Result<()> = Ok(());
    let begun = Instant::now();
    let mut origin_ms = None;
    let mut pace = |time_ms: u64| {
        let Some(speed) = speed else {
            return;
        };
        let origin_ms = *origin_ms.get_or_insert(time_ms);
        let passed = Duration::from_millis(time_ms.saturating_sub(origin_ms));
        let due = Duration::try_from_secs_f64(passed.as_secs_f64() / speed);
        std::thread::sleep(due.unwrap_or(Duration::MAX).saturating_sub(begun.elapsed()));
    };
    let ran = replay.run(&mut pace, &mut |report: StandingReport| {
        written = report.json().and_then(|line| {
            writeln!(output, "{line}")?;
            if speed.is_some() {
                output.flush()?;
            }
            Ok(())
        });
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    });
    let late = ran.map_err(failure)?;
    written?;
    output.flush()?;
    if late > 0 {
        say!("somersault: {late} items came too late for any window: give --lateness");
    }
    Ok(())
}

fn failure(error: QueryError) -> Failure {
    Trouble::from(error).into_failure("")
}

/// What stands before and behind the last `=`.
fn pair(text: &str) -> Option<(&str, &str)> {
    let (name, file) = text.rsplit_once('=')?;
    (!name.is_empty() && !file.is_empty()).then_some((name, file))
}

/// The name of a query whose text gives none: that of its file.
fn name_of(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or(file.as_os_str());
    stem.to_string_lossy().into_owned()
}

fn recordings(flags: &Flags) -> Result<Vec<Recording<'static>>, Failure> {
    let grain_ms = milliseconds("--grain", &flags.grain)?;
    let lateness_ms = milliseconds("--lateness", &flags.lateness)?;
    let mut recordings = Vec::new();
    for stream in &flags.stream {
        let (iri, file) = pair(stream).ok_or_else(|| {
            let message = format!("`--stream {stream}`: expected IRI=FILE");
            Failure::new(Code::Usage, message)
        })?;
        let bytes = read_decompressed(Path::new(file))
            .map_err(|error| Failure::new(Code::Failed, format!("{file}: {error}")))?;
        let lines = BufReader::with_capacity(READ_BYTES, bytes);
        let is_timing = flags.timing.iter().any(|timing| timing == iri);
        recordings.push(Recording {
            stream: HubStream {
                grain_ms,
                lateness_ms,
                absorb: is_timing.then(Vec::new),
                ..HubStream::new(iri)
            },
            items: Box::new(recorded(Some(file), lines)),
        });
    }
    Ok(recordings)
}

/// The stored side: a store whose changes nobody keeps, or files in memory.
fn database(flags: &Flags, config: &Config) -> Result<Database, Failure> {
    if let Some(location) = &flags.location {
        return open::unkept(location, config);
    }
    let mut plain: Vec<PathBuf> = Vec::new();
    let mut named: Vec<(&str, &str)> = Vec::new();
    for data in &flags.data {
        match pair(data) {
            Some(pair) if !Path::new(data).exists() => named.push(pair),
            _ => plain.push(PathBuf::from(data)),
        }
    }
    // The first graph's files are loaded at once, which is faster than writing them one by one.
    let first = match named.first() {
        Some((graph, _)) if plain.is_empty() => Some(*graph),
        _ => None,
    };
    let (bulk, rest): (Vec<_>, Vec<_>) = named
        .into_iter()
        .partition(|(graph, _)| Some(*graph) == first);
    plain.extend(bulk.into_iter().map(|(_, file)| PathBuf::from(file)));
    let input = Input {
        files: &plain,
        format: None,
        base: None,
        is_lenient: false,
    };
    let database = open::files_into(input, first, config)?;
    for (graph, file) in rest {
        write(&database, graph, file)?;
    }
    Ok(database)
}

/// Writes a file into a named graph.
fn write(database: &Database, graph: &str, file: &str) -> Outcome {
    let failed = |error: io::Error| Failure::new(Code::Failed, format!("{file}: {error}"));
    let format = somersault::terms::format::Format::from_file_name(file).ok_or_else(|| {
        let message = format!("{file}: its extension names no format of RDF");
        Failure::new(Code::Usage, message)
    })?;
    let mut body = read_decompressed(Path::new(file)).map_err(failed)?;
    let written = database.write_graph(GraphWrite {
        target: GraphTarget::Named(graph.to_owned()),
        mode: WriteMode::Add,
        format,
        base: None,
        body: &mut body,
        timeout: None,
    });
    written.map_err(failure)?;
    Ok(())
}
