//! `bench load`: a file, or LUBM data of any size, into a new store that is deleted afterwards.
//!
//! Generated data are written as a file first: making them takes longer than loading them. The file
//! is read once before, so that what is measured is the load and not the disk (which each machine
//! has another of; whoever wants it counts bytes). Reported: statements a second from the call to
//! the durable store, bytes on disk a distinct triple, memory that is not backed by files, and the
//! time of each phase.

use super::output;
use crate::arguments::BenchLoad;
use crate::exit::{Code, Failure, Outcome};
use crate::settings;
use crate::verbs::input;
use bench::figure::{Figure, Session};
use bench::memory;
use somersault::load::{LoadReport, Source, Unwatched};
use somersault::upkeep;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use workload::lubm::{Lubm, Parameters, Syntax};

/// Runs the verb.
pub fn run(flags: &BenchLoad, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    settings::add_load_limits(&mut layers, &flags.limits)?;
    let config = settings::check(&layers)?;
    let folder = match &flags.folder {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    };
    let folder = folder
        .map_err(|error| Failure::new(Code::Failed, format!("no folder for the store: {error}")))?;
    let (data, input) = match (flags.universities, &flags.file) {
        (Some(universities), _) => {
            let name = format!("lubm-{universities}.{}", flags.format);
            let path = folder.path().join(&name);
            generate(universities, &flags.format, config.load_threads, &path)?;
            (name, path)
        }
        (None, Some(path)) => (
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            path.clone(),
        ),
        (None, None) => unreachable!("the parser asks for a file or a number"),
    };
    read_once(&input)?;
    let request = input::request(&config);
    let session = Session {
        bench: "load".to_owned(),
        data,
        threads: request.threads,
    };
    let mut best: Option<Vec<Figure>> = None;
    let mut least = Duration::MAX;
    for run in 0..flags.runs {
        let store = folder.path().join(format!("store-{run}"));
        let (figures, elapsed) = load_once(&store, &input, &request, &session)?;
        std::fs::remove_dir_all(&store)?;
        if elapsed < least {
            least = elapsed;
            best = Some(figures);
        }
    }
    output::put(&flags.output, &best.unwrap_or_default())
}

fn load_once(
    store: &Path,
    input: &Path,
    request: &somersault::load::Request,
    session: &Session,
) -> Result<(Vec<Figure>, Duration), Failure> {
    let sources = vec![Source::path(input)];
    let (loaded, peak_bytes) = memory::watch(|| {
        let begin = Instant::now();
        let report = somersault::load::load(store, sources, request, &Unwatched);
        report.map(|report| (report, begin.elapsed()))
    });
    let (report, elapsed) = loaded.map_err(input::failure)?;
    let sizes = upkeep::sizes(store).map_err(|error| Failure::new(Code::Failed, error))?;
    let bytes: u64 = sizes.files.iter().map(|(_, bytes)| bytes).sum();
    if sizes.quads != report.quads {
        let message = format!(
            "{} statements were loaded, the store holds {}",
            report.quads, sizes.quads
        );
        return Err(Failure::new(Code::Integrity, message));
    }
    Ok((
        figures(session, &report, elapsed, bytes, peak_bytes),
        elapsed,
    ))
}

fn figures(
    session: &Session,
    report: &LoadReport,
    elapsed: Duration,
    disk_bytes: u64,
    peak_bytes: Option<u64>,
) -> Vec<Figure> {
    let statements = report.statements;
    let mut figures = vec![Figure {
        bytes_per_triple: Some(disk_bytes as f64 / report.quads.max(1) as f64),
        peak_bytes,
        ..Figure::rate(session, "load", "triples", statements, elapsed)
    }];
    for (phase, time) in &report.phases {
        let name = format!("{phase:?}").to_lowercase();
        figures.push(Figure::rate(session, &name, "triples", statements, *time));
    }
    figures
}

fn generate(universities: u32, format: &str, threads: usize, path: &Path) -> Outcome {
    let syntax = match format {
        "nt" => Syntax::NTriples,
        "ttl" => Syntax::Turtle,
        other => {
            let message = format!("`--format {other}`: expected nt or ttl");
            return Err(Failure::new(Code::Usage, message));
        }
    };
    let lubm = Lubm::new(Parameters::standard(universities), syntax)
        .map_err(|error| Failure::new(Code::Usage, error))?;
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    lubm.write_to(&mut file, threads, &mut |_| {})
        .map_err(|error| Failure::new(Code::Failed, error))?;
    Ok(file.flush()?)
}

/// Reads the file into the system's cache.
fn read_once(path: &PathBuf) -> Outcome {
    let failed = |error| Failure::new(Code::Failed, format!("{}: {error}", path.display()));
    let copied = File::open(path).and_then(|mut file| io::copy(&mut file, &mut io::sink()));
    copied.map(|_| ()).map_err(failed)
}
