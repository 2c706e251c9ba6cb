//! `generate`: benchmark data to a file, a directory, standard output, or straight into a store.
//!
//! What is made depends on the parameters alone, not on the number of threads. A reader that closes
//! its pipe ends the run without a message.

use crate::arguments::{Generate, GenerateLsbench, GenerateLubm, LoadLimits};
use crate::exit::{Code, Failure, Outcome};
use crate::progress::Meter;
use crate::settings;
use crate::verbs::input;
use crate::verbs::whole_file::whole_file;
use somersault::load::{Source, load};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use workload::lsbench::{Lsbench, RecordingError, Span, Written};
use workload::lubm::{Error, Lubm, Parameters, Progress, Syntax};

/// Runs the verb.
pub fn run(generate: &Generate, file: Option<&Path>) -> Outcome {
    match generate {
        Generate::Lubm(flags) => match &flags.load {
            Some(store) => run_generated(flags, store, file),
            None => run_lubm(flags, settings::machine().cores),
        },
        Generate::Lsbench(flags) => run_lsbench(flags, settings::machine().cores),
    }
}

/// The generator that the flags describe.
fn lubm(flags: &GenerateLubm) -> Result<Lubm, Failure> {
    let parameters = Parameters {
        universities: flags.universities,
        start_index: flags.start,
        seed: flags.seed,
        ontology: flags.ontology.clone(),
    };
    let syntax = match flags.format.as_str() {
        "nt" => Syntax::NTriples,
        "ttl" => Syntax::Turtle,
        "nq" => Syntax::NQuads { graph: None },
        other => {
            let message = format!("`--format {other}`: expected nt, ttl or nq");
            return Err(Failure::new(Code::Usage, message));
        }
    };
    Lubm::new(parameters, syntax).map_err(|error| Failure::new(Code::Usage, error))
}

/// `generate lubm --load`: straight into a store.
fn run_generated(flags: &GenerateLubm, store: &Path, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    let limits = LoadLimits {
        threads: flags.threads,
        ..Default::default()
    };
    settings::add_load_limits(&mut layers, &limits)?;
    let config = settings::check(&layers)?;
    let reader = lubm(flags)?
        .reader(1)
        .map_err(|error| Failure::new(Code::Failed, error))?;
    let source = Source::reader("generated", reader).with_syntax(input::syntax(&flags.format)?);
    input::finish(input::run_watched("load", false, |watch| {
        load(store, vec![source], &input::request(&config), watch).map_err(input::failure)
    }))
}

fn run_lubm(flags: &GenerateLubm, cores: usize) -> Outcome {
    let generator = lubm(flags)?;
    let threads = flags.threads.unwrap_or(cores);
    let Some(output) = &flags.output else {
        return Err(Failure::new(
            Code::Usage,
            "say where to: --output or --load",
        ));
    };
    let mut meter = Meter::new("generate", None);
    let mut show = |progress: Progress| meter.update(progress.bytes, progress.triples);
    let mut written = Progress::default();
    if output == Path::new("-") {
        let mut out = io::stdout().lock();
        written = generator
            .write_to(&mut out, threads, &mut show)
            .map_err(failure)?;
    } else if output.is_dir() || output.as_os_str().to_string_lossy().ends_with('/') {
        written = generator
            .write_folder(output, threads, &mut show)
            .map_err(failure)?;
    } else {
        refuse_other_formats(output, &flags.format)?;
        whole_file(output, |file| {
            let mut file = BufWriter::with_capacity(1 << 20, file);
            written = generator
                .write_to(&mut file, threads, &mut show)
                .map_err(failure)?;
            Ok(file.flush()?)
        })?;
    }
    meter.finish(written.bytes, written.triples, &serde_json::Value::Null);
    Ok(())
}

fn run_lsbench(flags: &GenerateLsbench, cores: usize) -> Outcome {
    let lsbench =
        Lsbench::new(flags.users, flags.seed).map_err(|error| Failure::new(Code::Usage, error))?;
    let threads = flags.threads.unwrap_or(cores);
    let span = Span::seconds(flags.seconds, flags.rate);
    let mut meter = Meter::new("generate", None);
    let mut show = |written: Written| meter.update(written.bytes, written.lines);
    let written = if flags.output == Path::new("-") {
        let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
        lsbench.write_interleaved(&mut out, span, threads, &mut show)
    } else {
        refuse_file(&flags.output)?;
        lsbench.write_folder(&flags.output, span, threads, &mut show)
    };
    let written = written.map_err(recording_failure)?;
    meter.finish(written.bytes, written.lines, &serde_json::Value::Null);
    Ok(())
}

/// Data and streams are several files: a name of one is a mistake.
fn refuse_file(output: &Path) -> Outcome {
    if output.exists() && !output.is_dir() {
        let message = format!(
            "{}: a file; expected a directory, for the stored data and each stream are files of their own",
            output.display()
        );
        return Err(Failure::new(Code::Usage, message));
    }
    Ok(())
}

fn recording_failure(error: RecordingError) -> Failure {
    match error {
        RecordingError::Write(error) => Failure::from(error),
        other => Failure::new(Code::Failed, other),
    }
}

/// A name that says something else than what is written would mislead whoever reads it.
fn refuse_other_formats(output: &Path, format: &str) -> Outcome {
    const KNOWN: [&str; 12] = [
        "nt", "ttl", "nq", "trig", "rdf", "owl", "xml", "jsonld", "gz", "bz2", "zst", "xz",
    ];
    let extension = output.extension().unwrap_or_default().to_string_lossy();
    if extension == format || !KNOWN.contains(&&*extension) {
        return Ok(());
    }
    let message = format!(
        "{}: what is written is {format}; name another file, or another --format (to compress, \
         write to - and through a pipe)",
        output.display()
    );
    Err(Failure::new(Code::Usage, message))
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Write(error) => Failure::from(error),
        other => Failure::new(Code::Failed, other),
    }
}
