//! `load`: files into a store, all or nothing.
//!
//! The loader is told where from, where to and within which limits; this verb adds progress, signals
//! and exit codes: 6 for a statement that does not parse, 8 where statements were left out, 9 where
//! the store that was to grow is damaged, 130 or 143 where it was interrupted. In all but the
//! second the store is as it was.

use crate::arguments::Load;
use crate::exit::{Code, Failure, Outcome};
use crate::settings;
use crate::verbs::input::{Input, failure, finish, run_watched};
use crate::verbs::{cut, send};
use somersault::config::Config;
use somersault::load::{OnError, load};
use somersault::parts::{Deal, load_in_parts, parts_in};
use std::path::{Path, PathBuf};

/// Runs the verb.
pub fn run(flags: &Load, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    settings::add_load_limits(&mut layers, &flags.limits)?;
    let config = settings::check(&layers)?;
    if let Some(url) = &flags.remote.endpoint {
        return send::run(flags, url, &config);
    }
    let location = flags.location.as_deref();
    let location = location.expect("the parser asks for a store or an endpoint");
    let input = Input {
        files: &flags.files,
        format: flags.format.as_deref(),
        base: flags.base.as_deref(),
        is_lenient: flags.lenient,
    };
    let sources = input.sources()?;
    let mut request = input.request(&config);
    request.on_error = on_error(&flags.on_error)?;
    request.graph.clone_from(&flags.graph);
    let Some(parts) = flags.parts else {
        return finish(run_watched("load", false, |watch| {
            load(location, sources, &request, watch).map_err(failure)
        }));
    };
    let there = parts_in(location);
    if !there.is_empty() && !flags.replace {
        let what = format!(
            "{} has {} parts already, and nothing is loaded into parts that are there: give another directory, or --replace, and they are lost",
            location.display(),
            there.len()
        );
        return Err(Failure::new(Code::Usage, what));
    }
    cut::refuse_others(location, parts)?;
    let mut sizes = None;
    let report = run_watched("load", false, |watch| {
        let deal = Deal::Evenly {
            nodes: parts,
            shift: None,
        };
        let loaded = load_in_parts(location, sources, &request, &deal, watch);
        let (report, cut) = loaded.map_err(cut::failure)?;
        sizes = Some(cut);
        Ok(report)
    });
    if let Some(sizes) = sizes {
        cut::describe(&sizes);
    }
    finish(report)
}

/// Files into a store before it is served.
pub fn files_into(location: &Path, input: Input<'_>, config: &Config) -> Outcome {
    let (sources, request) = (input.sources()?, input.request(config));
    finish(run_watched("load", true, |watch| {
        load(location, sources, &request, watch).map_err(failure)
    }))
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
