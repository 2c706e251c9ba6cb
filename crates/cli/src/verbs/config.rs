//! `config`: what holds, and where it came from.
//!
//! The same layers and the same checks as every other verb, so what `config check` calls sound, they
//! accept.

use crate::arguments::ConfigVerb;
use crate::exit::Outcome;
use crate::settings;
use somersault::units::format_size;
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
            if config.is_pool_automatic
                && let Some(free) = settings::free_memory()
            {
                let [pool, bytes] = [config.memory_pool_bytes, free.bytes].map(format_size);
                let bound = free.bound;
                writeln!(
                    output,
                    "# query.memory_pool is {pool} of the {bytes} that {bound} leaves"
                )?;
            }
        }
        ConfigVerb::Check => writeln!(output, "sound: {}", config.summary())?,
    }
    Ok(())
}
