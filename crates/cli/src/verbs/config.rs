//! `config`: what holds, and where it came from.
//!
//! The same layers and the same checks as every other verb, so what `config check` calls sound, they
//! accept.

use crate::arguments::ConfigVerb;
use crate::exit::Outcome;
use crate::settings;
use std::io::Write;
use std::path::Path;

/// Runs the verb.
pub fn run(verb: &ConfigVerb, file: Option<&Path>) -> Outcome {
    let layers = settings::layers(file)?;
    let config = settings::check(&layers)?;
    let mut output = std::io::stdout().lock();
    match verb {
        ConfigVerb::Show => {
            for (key, value, origin) in layers.show() {
                writeln!(output, "{key:22} {value:18} # {origin}")?;
            }
        }
        ConfigVerb::Check => writeln!(output, "sound: {}", config.summary())?,
    }
    Ok(())
}
