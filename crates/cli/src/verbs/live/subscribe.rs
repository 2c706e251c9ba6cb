//! `subscribe`: the reports of a registered query, or of one that is registered for as long as this runs; of a query
//! without windows its answer, and how it changes with the store.
//!
//! A query that is registered here is dropped at the end, whatever the end is: enough reports, a signal, a reader of the output
//! that has gone away. Where its server was started anew meanwhile and has forgotten it, it is registered again.
//!
//! Nobody pushes to a store that this process holds, so a subscription to it ends when the reports that are there are out, unless
//! one of the query's streams goes on with the clock; a live query there has its first answer and no other.

use super::{Streams, server};
use crate::arguments::Subscribe as Flags;
use crate::exit::{Code, Failure, Outcome};
use crate::live::{End, Followed, Following, View, Watch, span};
use crate::say::say;
use crate::stop::Stop;
use crate::text::{declared, reads_windows};
use crate::trouble::Trouble;
use crate::verbs::query::{read_text, stoppable};
use std::io::{self, BufWriter, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant};

const OUTPUT_BUFFER_BYTES: usize = 1 << 16;
/// How long it may take to drop a query at the end.
const DROP_MAX: Duration = Duration::from_secs(5);

/// Runs the verb.
pub fn run(flags: &Flags, file: Option<&Path>) -> Outcome {
    let server = server(&flags.target, file)?;
    let timeout = flags.timeout.as_deref();
    let timeout = timeout.map(|text| span("--timeout", text)).transpose()?;
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let text = match (&flags.query, &flags.query_file) {
        (Some(text), _) => Some(text.clone()),
        (None, Some(file)) => Some(read_text(file)?),
        (None, None) => None,
    };
    stoppable(|stop| {
        let ended = match &text {
            Some(text) if reads_windows(text) => given(flags, &server, text, deadline, stop),
            Some(text) => live(flags, &server, text, deadline, stop),
            None => named(flags, &server, deadline, stop),
        };
        ended.map_err(|trouble| trouble.into_failure(text.as_deref().unwrap_or_default()))
    })
}

/// Follows a query that is registered already.
fn named(
    flags: &Flags,
    server: &Streams,
    deadline: Option<Instant>,
    stop: &Stop,
) -> Result<(), Trouble> {
    let name = flags.name.as_deref();
    let name = name.expect("the parser asks for a name or a query");
    let last = last(server, name, stop)?;
    let view = if io::stdout().is_terminal() {
        let registered = server.registered(name, stop)?;
        view(registered["text"].as_str().unwrap_or_default())
    } else {
        view("")
    };
    let followed = Followed::Registered(name.to_owned());
    let watch = watch(flags, server, followed, view, deadline, stop);
    watch.until(last).run()?.outcome(flags.count)
}

/// Follows the answer of a query without windows.
fn live(
    flags: &Flags,
    server: &Streams,
    text: &str,
    deadline: Option<Instant>,
    stop: &Stop,
) -> Result<(), Trouble> {
    if flags.from.is_some() {
        let message = "--from is for reports, which registered queries have; a live query begins with its answer";
        return Err(Trouble::new(Code::Usage, message));
    }
    let followed = Followed::Live(text.to_owned());
    let watch = watch(flags, server, followed, view(text), deadline, stop);
    let last = server.is_own().then_some(1);
    watch.until(last).run()?.outcome(flags.count)
}

/// Registers a query, follows it, and drops it.
fn given(
    flags: &Flags,
    server: &Streams,
    text: &str,
    deadline: Option<Instant>,
    stop: &Stop,
) -> Result<(), Trouble> {
    let mut registered = Registered {
        server,
        name: server.register(text, None, stop)?,
    };
    let name = registered.name.clone();
    let last = last(server, &name, stop)?;
    let followed = Followed::Registered(name);
    let mut watch = watch(flags, server, followed, view(text), deadline, stop).until(last);
    loop {
        match watch.run()? {
            End::Unknown(_) => {
                registered.name = server.register(text, None, stop)?;
                watch.following.begin_again(registered.name.clone());
            }
            end => return end.outcome(flags.count),
        }
    }
}

/// The number of the last report that can come; `None`: more can come.
fn last(server: &Streams, name: &str, stop: &Stop) -> Result<Option<u64>, Trouble> {
    if !server.is_own() {
        return Ok(None);
    }
    let query = server.registered(name, stop)?;
    for stream in query["streams"].as_array().into_iter().flatten() {
        let stream = server.stream(stream.as_str().unwrap_or_default(), stop)?;
        if stream["arrival_time"] == true {
            return Ok(None);
        }
    }
    let last = query["reports"].as_u64().unwrap_or(0);
    if last == 0 {
        say!("somersault: `{name}` has no report, and nobody pushes to the store meanwhile");
    }
    Ok(Some(last))
}

fn watch<'w>(
    flags: &Flags,
    server: &Streams,
    followed: Followed,
    view: View<'w>,
    deadline: Option<Instant>,
    stop: &Stop,
) -> Watch<'w> {
    let seen = flags.from.map_or(0, |from| from.saturating_sub(1));
    let following = Following::new((**server).clone(), followed, seen, stop);
    Watch::new(following, view, flags.count, deadline)
}

/// Where reports go; names are shortened by the prefixes of the query's text.
fn view(text: &str) -> View<'static> {
    let output = BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, io::stdout().lock());
    if io::stdout().is_terminal() {
        View::screen(Box::new(output), declared(text))
    } else {
        View::Lines(Box::new(output))
    }
}

/// A query that is dropped with this.
struct Registered<'s> {
    server: &'s Streams,
    name: String,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        let server = (**self.server).clone().within(DROP_MAX);
        if let Err(trouble) = server.drop_query(&self.name, &Stop::default()) {
            let Failure { message, .. } = trouble.into_failure("");
            say!(
                "somersault: the query {} was not dropped: {message}",
                self.name
            );
        }
    }
}
