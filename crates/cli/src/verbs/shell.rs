//! `shell`: an interactive session, or a script where standard input is no terminal.

use crate::arguments::Shell as Flags;
use crate::endpoint::Endpoint;
use crate::exit::Outcome;
use crate::settings;
use crate::shell::{self, Opening, Session};
use crate::source::Source;
use crate::verbs::input::Input;
use crate::verbs::open;
use std::path::Path;

/// Runs the verb.
pub fn run(flags: &Flags, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    settings::add_limits(&mut layers, &flags.limits)?;
    let config = settings::check(&layers)?;
    let headers = settings::headers_of_query(&flags.header, flags.token.as_deref());
    let source = if let Some(url) = &flags.endpoint {
        let endpoint = Endpoint::new(url, &headers, config.timeout)?;
        Source::Remote(endpoint.with_timeout_sent(flags.limits.timeout.is_some()))
    } else if let Some(location) = &flags.location {
        let database = if flags.allow_update {
            open::writable(location, &config)?
        } else {
            open::followed(location, &config)?
        };
        Source::local(database, Some(location.clone()))
    } else {
        let input = Input {
            files: &flags.data,
            format: flags.format.as_deref(),
            base: flags.base.as_deref(),
            is_lenient: flags.lenient,
        };
        let database = open::files(input, &config, flags.allow_update)?;
        Source::local(database, None)
    };
    shell::run(Session::new(Opening {
        source,
        config,
        headers,
        allow_update: flags.allow_update,
        is_lenient: flags.lenient,
    }))
}
