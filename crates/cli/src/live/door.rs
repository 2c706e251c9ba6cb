//! Which server's streams are meant: one that is named, or the one that listens where servers do.

use crate::arguments::LiveTarget;
use crate::endpoint::Endpoint;
use crate::exit::{Code, Failure};
use crate::settings;
use crate::source::Source;
use somersault::config::Config;

/// Where a server listens unless it is told otherwise.
const DEFAULT: &str = "http://127.0.0.1:7272";

/// The server that is meant, where no store is.
pub fn door(target: &LiveTarget, config: &Config) -> Result<Endpoint, Failure> {
    let headers = settings::authorized(&target.header, target.token.as_deref().unwrap_or_default());
    let url = target.endpoint.as_deref().unwrap_or(DEFAULT);
    Endpoint::new(url, &headers, config.update_timeout)
}

/// The server that a shell asks; an error where it asks a store or files in its own process.
pub fn live_source(source: &Source) -> Result<&Endpoint, Failure> {
    match source {
        Source::Remote(endpoint) => Ok(endpoint),
        Source::Local { location, .. } => {
            let place = location.as_deref();
            let place = place.map_or_else(
                || "FILES".to_owned(),
                |place| format!("-l {}", place.display()),
            );
            let message = format!(
                "streams and continuous queries are kept by a server, and this shell asks none: start one \
                 (somersault serve {place} --allow-update), then .open {DEFAULT}"
            );
            Err(Failure::new(Code::Usage, message))
        }
    }
}
