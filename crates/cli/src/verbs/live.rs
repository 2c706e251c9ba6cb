//! The verbs of streams, registered queries and their reports, and what they have in common.

pub mod cq;
pub mod feeding;
pub mod stream;
pub mod subscribe;

use crate::arguments::LiveTarget;
use crate::endpoint::Endpoint;
use crate::exit::{Failure, Outcome};
use crate::live;
use crate::settings;
use crate::stop::Stop;
use crate::trouble::Trouble;
use crate::verbs::query::stoppable;
use serde_json::Value;
use std::io::{self, IsTerminal};
use std::path::Path;

/// The server that a verb is about. `file`: the configuration that was named.
fn server(target: &LiveTarget, file: Option<&Path>) -> Result<Endpoint, Failure> {
    let config = settings::check(&settings::layers(file)?)?;
    live::door(target, &config)
}

/// Asks the server something that a signal cancels.
fn asked<T>(ask: impl FnOnce(&Stop) -> Result<T, Trouble>) -> Result<T, Failure> {
    let mut answer = None;
    stoppable(|stop| {
        answer = Some(ask(stop).map_err(|trouble| trouble.into_failure(""))?);
        Ok(())
    })?;
    Ok(answer.expect("what does not fail has an answer"))
}

/// The width of the terminal, where standard output is one.
fn width() -> Option<usize> {
    let (_, columns) = console::Term::stdout().size();
    io::stdout().is_terminal().then_some(usize::from(columns))
}

/// Prints one stream or query.
fn print_one(object: &Value) -> Outcome {
    live::print_one(object, width(), &mut io::stdout().lock())?;
    Ok(())
}

/// Prints a list of streams or queries.
fn print_all(listed: live::Listed, objects: &[Value]) -> Outcome {
    live::print_all(listed, objects, width(), &mut io::stdout().lock())?;
    Ok(())
}
