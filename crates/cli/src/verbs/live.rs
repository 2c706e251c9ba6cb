//! The verbs of streams, registered queries and their reports, and what they have in common.
//!
//! With `-l STORE` a verb opens the store itself and serves it to itself ([`InProcess`]), so that it does and says the same as with a
//! server. What it has done is in the store's log when it ends.

pub mod cq;
pub mod feeding;
pub mod stream;
pub mod subscribe;

use crate::arguments::LiveTarget;
use crate::endpoint::Endpoint;
use crate::exit::{Code, Failure, Outcome};
use crate::live;
use crate::settings;
use crate::stop::Stop;
use crate::trouble::Trouble;
use crate::verbs::open;
use crate::verbs::query::stoppable;
use serde_json::Value;
use server::{InProcess, ServerOptions};
use std::io::{self, IsTerminal};
use std::ops::Deref;
use std::path::Path;

/// Whose streams a verb is about: a server's, or a store's that this process holds until this is dropped.
pub struct Streams {
    endpoint: Endpoint,
    store: Option<InProcess>,
}

impl Streams {
    /// Whether nobody else can push, register or drop.
    fn is_own(&self) -> bool {
        self.store.is_some()
    }
}

impl Deref for Streams {
    type Target = Endpoint;

    fn deref(&self) -> &Endpoint {
        &self.endpoint
    }
}

/// Whether a verb makes a store where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absent {
    Make,
    Refuse,
}

/// The streams that a verb is about. `file`: the configuration that was named.
fn server(target: &LiveTarget, file: Option<&Path>) -> Result<Streams, Failure> {
    streams(target, file, Absent::Refuse)
}

fn streams(target: &LiveTarget, file: Option<&Path>, absent: Absent) -> Result<Streams, Failure> {
    let config = settings::check(&settings::layers(file)?)?;
    let Some(location) = &target.location else {
        return Ok(Streams {
            endpoint: live::door(target, &config)?,
            store: None,
        });
    };
    let database = match absent {
        Absent::Make => open::living(location, &config)?,
        Absent::Refuse => open::existing(location, &config, false)?,
    };
    let options = ServerOptions {
        store: Some(location.clone()),
        ..ServerOptions::from_config(&config)
    };
    let store = InProcess::serve(database, options);
    let store = store.map_err(|error| Failure::new(Code::Failed, error))?;
    let header = format!("Authorization: Bearer {}", store.token());
    let endpoint = Endpoint::new(store.url(), &[header], config.update_timeout)?;
    Ok(Streams {
        endpoint: endpoint.called(location.display().to_string()),
        store: Some(store),
    })
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
