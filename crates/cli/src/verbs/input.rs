//! What a verb loads, and a load as a verb shows it: progress, signals and exit codes.
//!
//! `load` and `generate` write to a store, `open` reads files into memory, and others name files for it. All of
//! them name their input, run the load and report its end in the same way, so that stands below them.

use crate::exit::{Code, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::progress::Meter;
use crate::say::say;
use somersault::config::Config;
use somersault::load::{
    Advance, LoadError, LoadProgress, LoadReport, Rejection, Request, Source, StoreError,
    Strictness, Syntax,
};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files that are to be loaded, and how they are read.
#[derive(Clone, Copy)]
pub struct Input<'f> {
    /// The files; `-` is standard input.
    pub files: &'f [PathBuf],
    /// The format's name; `None`: by each one's extension.
    pub format: Option<&'f str>,
    /// What relative IRIs are resolved against.
    pub base: Option<&'f str>,
    /// Whether IRIs and language tags are taken as they are.
    pub is_lenient: bool,
}

impl Input<'_> {
    /// The files, as the loader takes them.
    pub fn sources(&self) -> Result<Vec<Source<'static>>, Failure> {
        let syntax = self.format.map(syntax).transpose()?;
        Ok(self.files.iter().map(|file| source(file, syntax)).collect())
    }

    /// What the configuration and these files ask of a load.
    pub fn request(&self, config: &Config) -> Request {
        Request {
            base: self.base.map(str::to_owned),
            strictness: if self.is_lenient {
                Strictness::Lenient
            } else {
                Strictness::Strict
            },
            ..request(config)
        }
    }
}

/// What the configuration says of loads.
pub fn request(config: &Config) -> Request {
    Request {
        threads: config.load_threads,
        memory_limit_bytes: config.load_memory_bytes,
        ..Request::default()
    }
}

/// A file, or standard input for `-`.
fn source(file: &Path, syntax: Option<Syntax>) -> Source<'static> {
    let source = if file == Path::new("-") {
        Source::reader("-", io::stdin())
    } else {
        Source::path(file)
    };
    match syntax {
        Some(syntax) => source.with_syntax(syntax),
        None => source,
    }
}

/// Runs a load with its progress on standard error. A quiet one is what another verb begins with: it
/// says nothing at its end, and a signal that came while it ran ends the verb.
pub fn run_watched(
    verb: &'static str,
    is_quiet: bool,
    load: impl FnOnce(&dyn LoadProgress) -> Result<LoadReport, Failure>,
) -> Result<LoadReport, Failure> {
    let watch = LoadMeter {
        meter: Mutex::new(None),
        verb,
        is_quiet,
        interrupt: Interrupt::listen()?,
    };
    let report = load(&watch).map_err(|failure| match watch.interrupt.code() {
        Some(code) if failure.code == Code::Interrupted => Failure { code, ..failure },
        _ => failure,
    })?;
    if is_quiet && let Some(code) = watch.interrupt.code() {
        return Err(Failure::new(code, LoadError::Cancelled));
    }
    let meter = watch.meter(None).take();
    let meter = meter.expect("just made where there was none");
    let is_for_people = meter.is_for_people();
    meter.finish(report.read_bytes, report.statements, &details(&report));
    if is_for_people && !is_quiet {
        describe(&report);
    }
    Ok(report)
}

/// Says so where a load has found nothing in what it was given.
pub fn say_empty(report: &LoadReport) {
    if report.statements == 0 && report.rejected == 0 {
        say!("somersault: there was no statement in what was loaded");
    }
}

/// Statements that were there already, or came more than once.
fn repeated(report: &LoadReport) -> u64 {
    assert!(
        report.quads >= report.quads_before,
        "a load takes nothing away"
    );
    report
        .statements
        .saturating_sub(report.quads - report.quads_before)
}

/// A load's figures for programs.
fn details(report: &LoadReport) -> serde_json::Value {
    let phases = report.phases.iter().map(|(phase, duration)| {
        (
            format!("{phase:?}").to_lowercase(),
            serde_json::json!(duration.as_secs_f64()),
        )
    });
    let rejections = report.rejections.iter().map(with_remedy);
    serde_json::json!({
        "quads": report.quads,
        "quads_before": report.quads_before,
        "repeated": repeated(report),
        "terms": report.terms,
        "rejected": report.rejected,
        "rejections": rejections.collect::<Vec<_>>(),
        "phase_seconds": phases.collect::<serde_json::Map<_, _>>(),
    })
}

/// A load's figures for people.
fn describe(report: &LoadReport) {
    say!(
        "{} quads now, {} before; {} statements repeat what is there; {} terms",
        report.quads,
        report.quads_before,
        repeated(report),
        report.terms
    );
    for (phase, duration) in &report.phases {
        let phase = format!("{phase:?}").to_lowercase();
        say!("  {phase:8} {:8.2} s", duration.as_secs_f64());
    }
    for rejection in &report.rejections {
        say!("rejected: {}", with_remedy(rejection));
    }
}

/// The end of a load that may have left something out.
pub fn finish(report: Result<LoadReport, Failure>) -> Outcome {
    let report = report?;
    say_empty(&report);
    let message = match report.rejected {
        0 => return Ok(()),
        1 => "1 statement was left out".to_owned(),
        count => format!("{count} statements were left out"),
    };
    Err(Failure::new(Code::Rejected, message))
}

/// A load's failure as an exit code with its message.
pub fn failure(error: StoreError) -> Failure {
    if error.is_locked() {
        return Failure::locked(&error);
    }
    let code = match &error {
        error if error.is_damage() => Code::Integrity,
        StoreError::Load(LoadError::Malformed(_)) => Code::Syntax,
        StoreError::Load(
            LoadError::UnknownFormat { .. }
            | LoadError::Graph { .. }
            | LoadError::QuarantineIsInput { .. },
        ) => Code::Usage,
        StoreError::Load(LoadError::Cancelled) => Code::Interrupted,
        _ => Code::Failed,
    };
    match &error {
        StoreError::Load(LoadError::Malformed(rejection)) => {
            Failure::new(code, with_remedy(rejection))
        }
        StoreError::Load(LoadError::UnknownFormat { name, .. }) if Path::new(name).is_dir() => {
            let message = format!(
                "{name}: it is a directory, where a file is wanted; a store is named by --location {name}"
            );
            Failure::new(code, message)
        }
        _ => Failure::new(code, error),
    }
}

/// What was rejected, and what to do about it where there is something to do.
fn with_remedy(rejection: &Rejection) -> String {
    if rejection.is_unusual {
        format!("{rejection}; load it as it is with --lenient")
    } else {
        rejection.to_string()
    }
}

/// The syntax with this name.
pub fn syntax(name: &str) -> Result<Syntax, Failure> {
    Syntax::of_format(name).ok_or_else(|| {
        let known = Syntax::known_extensions();
        Failure::new(
            Code::Usage,
            format!("`--format {name}`: expected one of {known}"),
        )
    })
}

/// Hands what a load reports to the meter, and signals to the load.
struct LoadMeter {
    meter: Mutex<Option<Meter>>,
    verb: &'static str,
    is_quiet: bool,
    interrupt: Interrupt,
}

impl LoadMeter {
    /// The meter, made at its first use.
    fn meter(&self, total_bytes: Option<u64>) -> MutexGuard<'_, Option<Meter>> {
        let mut meter = self.meter.lock().unwrap_or_else(PoisonError::into_inner);
        meter.get_or_insert_with(|| {
            let meter = Meter::new(self.verb, total_bytes);
            if self.is_quiet { meter.quiet() } else { meter }
        });
        meter
    }
}

impl LoadProgress for LoadMeter {
    fn is_cancelled(&self) -> bool {
        self.interrupt.code().is_some()
    }

    fn advanced(&self, advance: Advance) {
        let mut meter = self.meter(advance.total_bytes);
        if let Some(meter) = meter.as_mut() {
            meter.phase(&format!("{:?}", advance.phase).to_lowercase());
            meter.update(advance.read_bytes, advance.statements);
        }
    }
}
