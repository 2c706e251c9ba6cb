//! Which server's streams are meant. The one place that knows where streams may be: a store in this process will be
//! opened here, and the verbs stay as they are.

use crate::arguments::LiveTarget;
use crate::endpoint::Endpoint;
use crate::exit::{Code, Failure};
use crate::settings;
use crate::source::Source;
use somersault::config::Config;

/// Where a server listens unless it is told otherwise.
const DEFAULT: &str = "http://127.0.0.1:7272";

/// The server that is meant.
pub fn door(target: &LiveTarget, config: &Config) -> Result<Endpoint, Failure> {
    if let Some(location) = &target.location {
        let place = location.display();
        let message = format!(
            "-l {place}: streams and continuous queries are kept by a server in this version; serve the store \
             (somersault serve -l {place} --allow-update) and name the server (--endpoint {DEFAULT})"
        );
        return Err(Failure::new(Code::Usage, message));
    }
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
