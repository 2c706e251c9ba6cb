//! `load`: files into a store, all or nothing.
//!
//! The loader is told where from, where to and within which limits; this verb adds progress, signals
//! and exit codes: 6 for a statement that does not parse, 8 where statements were left out, 9 where
//! the store that was to grow is damaged, 130 or 143 where it was interrupted. In all but the
//! second the store is as it was.

use crate::arguments::{GenerateLubm, Load};
use crate::exit::{Code, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::progress::Meter;
use crate::settings;
use crate::verbs::generate;
use somersault::config::Config;
use somersault::load::{
    Advance, LoadError, LoadProgress, LoadReport, OnError, Request, Source, Syntax, load,
};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Runs the verb.
pub fn run(flags: &Load, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    settings::add_load_limits(&mut layers, &flags.limits)?;
    let config = settings::check(&layers)?;
    let syntax = flags.format.as_deref().map(syntax).transpose()?;
    let sources = flags
        .files
        .iter()
        .map(|file| source(file, syntax))
        .collect();
    let mut request = request(&config);
    request.on_error = on_error(&flags.on_error)?;
    request.graph.clone_from(&flags.graph);
    request.base.clone_from(&flags.base);
    finish(run_watched("load", |watch| {
        load(&flags.location, sources, &request, watch).map_err(failure)
    }))
}

/// `generate lubm --load`: straight into a store.
pub fn run_generated(flags: &GenerateLubm, store: &Path, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    let limits = crate::arguments::LoadLimits {
        threads: flags.threads,
        ..Default::default()
    };
    settings::add_load_limits(&mut layers, &limits)?;
    let config = settings::check(&layers)?;
    let reader = generate::lubm(flags)?
        .reader(1)
        .map_err(|error| Failure::new(Code::Failed, error))?;
    let source = Source::reader("generated", reader).with_syntax(syntax(&flags.format)?);
    finish(run_watched("load", |watch| {
        load(store, vec![source], &request(&config), watch).map_err(failure)
    }))
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
pub fn source(file: &Path, syntax: Option<Syntax>) -> Source<'static> {
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

/// Runs a load with its progress on standard error.
pub fn run_watched(
    verb: &'static str,
    load: impl FnOnce(&dyn LoadProgress) -> Result<LoadReport, Failure>,
) -> Result<LoadReport, Failure> {
    let watch = Watch {
        meter: Mutex::new(None),
        verb,
        interrupt: Interrupt::listen()?,
    };
    let report = load(&watch).map_err(|failure| match watch.interrupt.code() {
        Some(code) if failure.code == Code::Interrupted => Failure { code, ..failure },
        _ => failure,
    })?;
    let meter = watch
        .meter
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let meter = meter.unwrap_or_else(|| Meter::new(verb, None));
    meter.finish(report.read_bytes, report.statements);
    Ok(report)
}

/// The end of a load that changed something: what it did, and what it left out.
fn finish(report: Result<LoadReport, Failure>) -> Outcome {
    let report = report?;
    eprintln!(
        "{} quads now, {} before; {} terms",
        report.quads, report.quads_before, report.terms
    );
    for (phase, duration) in &report.phases {
        eprintln!(
            "  {:8} {:8.2} s",
            format!("{phase:?}").to_lowercase(),
            duration.as_secs_f64()
        );
    }
    if report.rejected == 0 {
        return Ok(());
    }
    for rejection in &report.rejections {
        eprintln!("rejected: {rejection}");
    }
    let message = match report.rejected {
        1 => "1 statement was left out".to_owned(),
        count => format!("{count} statements were left out"),
    };
    Err(Failure::new(Code::Rejected, message))
}

/// A load's failure as an exit code with its message.
pub fn failure(error: LoadError) -> Failure {
    let code = match &error {
        LoadError::Malformed(_) => Code::Syntax,
        LoadError::UnknownFormat { .. } | LoadError::Graph { .. } => Code::Usage,
        LoadError::Cancelled => Code::Interrupted,
        error if somersault::load::is_damage(error) => Code::Integrity,
        _ => Code::Failed,
    };
    Failure::new(code, error)
}

fn syntax(name: &str) -> Result<Syntax, Failure> {
    Syntax::of_name(&format!("x.{name}")).ok_or_else(|| {
        let known = Syntax::known_extensions();
        Failure::new(
            Code::Usage,
            format!("`--format {name}`: expected one of {known}"),
        )
    })
}

fn on_error(policy: &str) -> Result<OnError, Failure> {
    match policy.split_once('=') {
        None if policy == "stop" => Ok(OnError::Stop),
        None if policy == "skip" => Ok(OnError::Skip),
        Some(("quarantine", file)) if !file.is_empty() => {
            Ok(OnError::Quarantine(PathBuf::from(file)))
        }
        _ => {
            let message = format!("`--on-error {policy}`: expected stop, skip or quarantine=FILE");
            Err(Failure::new(Code::Usage, message))
        }
    }
}

/// Hands what a load reports to the meter, and signals to the load.
struct Watch {
    meter: Mutex<Option<Meter>>,
    verb: &'static str,
    interrupt: Interrupt,
}

impl LoadProgress for Watch {
    fn is_cancelled(&self) -> bool {
        self.interrupt.code().is_some()
    }

    fn advanced(&self, advance: Advance) {
        let mut meter = self.meter.lock().unwrap_or_else(PoisonError::into_inner);
        let meter = meter.get_or_insert_with(|| Meter::new(self.verb, advance.total_bytes));
        meter.phase(&format!("{:?}", advance.phase).to_lowercase());
        meter.update(advance.read_bytes, advance.statements);
    }
}
