//! `backup` and `restore`: verified copies of a store.

use crate::arguments::{Backup, Restore};
use crate::exit::{Code, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::settings;
use somersault::Options;
use somersault::backup::{Copied, CopyError};
use somersault::units::format_size;
use std::io::{self, Write};
use std::path::Path;

/// Runs `backup`.
pub fn backup(flags: &Backup, file: Option<&Path>) -> Outcome {
    let options = options(file)?;
    let interrupt = Interrupt::listen()?;
    let is_stopped = || interrupt.code().is_some();
    let copied =
        somersault::backup::backup(&flags.location, &flags.destination, &options, &is_stopped);
    told(copied, "backup", &flags.destination, flags.json, &interrupt)
}

/// Runs `restore`.
pub fn restore(flags: &Restore, file: Option<&Path>) -> Outcome {
    let options = options(file)?;
    let interrupt = Interrupt::listen()?;
    let is_stopped = || interrupt.code().is_some();
    let copied = somersault::backup::restore(&flags.backup, &flags.location, &options, &is_stopped);
    told(copied, "restored", &flags.location, flags.json, &interrupt)
}

/// The limits of queries, as a server has them that reads the same configuration.
fn options(file: Option<&Path>) -> Result<Options, Failure> {
    let config = settings::check(&settings::layers(file)?)?;
    Ok(Options::from(&config))
}

fn told(
    copied: Result<Copied, CopyError>,
    what: &str,
    place: &Path,
    is_json: bool,
    interrupt: &Interrupt,
) -> Outcome {
    let copied = copied.map_err(|error| {
        let code = match &error {
            error if error.is_cancelled() => interrupt.code().unwrap_or(Code::Interrupted),
            error if error.is_taken() => Code::Usage,
            error if error.is_damage() => Code::Integrity,
            _ => Code::Failed,
        };
        Failure::new(code, error)
    })?;
    let mut output = io::stdout().lock();
    let seconds = copied.elapsed.as_secs_f64();
    if is_json {
        let line = serde_json::json!({
            "snapshot": copied.snapshot,
            "quads": copied.quads,
            "bytes": copied.bytes,
            "seconds": seconds,
        });
        writeln!(output, "{line}")?;
    } else {
        writeln!(
            output,
            "{}: {what}, verified: snapshot {}, {} quads, {}, {seconds:.1} s",
            place.display(),
            copied.snapshot,
            copied.quads,
            format_size(copied.bytes)
        )?;
    }
    Ok(())
}
