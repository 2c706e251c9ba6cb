//! `update`: one request of SPARQL Update against a store or an endpoint, all of it or nothing.
//!
//! The verb ends well when the change is durable. What was changed is said on standard error, or as
//! JSON on standard output.

use crate::arguments::Update as Flags;
use crate::endpoint::Endpoint;
use crate::exit::{Failure, Outcome};
use crate::say::say;
use crate::settings;
use crate::source::Source;
use crate::stop::Stop;
use crate::trouble::Trouble;
use crate::verbs::{open, query};
use somersault::{UpdateRequest, check_update};
use std::io::{self, Write};
use std::path::Path;

/// Runs the verb.
pub fn run(flags: &Flags, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    settings::add_update_limits(&mut layers, flags)?;
    let config = settings::check(&layers)?;
    let text = text(flags)?;
    let source = if let Some(url) = &flags.remote.endpoint {
        let headers = settings::headers(&flags.remote);
        let endpoint = Endpoint::new(url, &headers, config.update_timeout)?;
        Source::Remote(endpoint.with_timeout_sent(flags.timeout.is_some()))
    } else {
        let location = flags.location.as_deref();
        let location = location.expect("the parser asks for a store or an endpoint");
        if !location.exists() {
            // What cannot be read makes no store.
            let request = UpdateRequest {
                text: &text,
                base: flags.base.as_deref(),
                ..UpdateRequest::default()
            };
            check_update(&request, config.update_text_max_bytes)
                .map_err(|error| Trouble::from(error).into_failure(&text))?;
        }
        Source::local(open::writable(location, &config)?, None)
    };
    let changed = source
        .update(&text, flags.base.as_deref(), &Stop::default())
        .map_err(|trouble| trouble.into_failure(&text))?;
    if flags.json {
        writeln!(io::stdout().lock(), "{}", changed.json())?;
    } else {
        say!("{changed}");
    }
    Ok(())
}

fn text(flags: &Flags) -> Result<String, Failure> {
    if let Some(text) = &flags.update {
        return Ok(text.clone());
    }
    let file = flags.update_file.as_deref().or(flags.file.as_deref());
    query::read_text(file.expect("the parser asks for an update or a file"))
}
