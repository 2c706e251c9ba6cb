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
/// How long after a signal the answer to a registration is waited for: what was registered is to be dropped.
const REGISTER_GRACE: Duration = Duration::from_secs(2);
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
        let asked = Asked {
            flags,
            server: &server,
            deadline,
            stop,
        };
        let ended = match &text {
            Some(text) if reads_windows(text) => asked.given(text),
            Some(text) => asked.live(text),
            None => asked.named(),
        };
        ended.map_err(|trouble| trouble.into_failure(text.as_deref().unwrap_or_default()))
    })
}

/// What was asked for, of whom, and for how long.
struct Asked<'a> {
    flags: &'a Flags,
    server: &'a Streams,
    deadline: Option<Instant>,
    stop: &'a Stop,
}

impl Asked<'_> {
    /// Follows a query that is registered already.
    fn named(&self) -> Result<(), Trouble> {
        let name = self.flags.name.as_deref();
        let name = name.expect("the parser asks for a name or a query");
        let last = self.last(name)?;
        let view = if io::stdout().is_terminal() {
            let registered = self.server.registered(name, self.stop)?;
            view(registered["text"].as_str().unwrap_or_default())
        } else {
            view("")
        };
        let watch = self.watch(Followed::Registered(name.to_owned()), view);
        watch.until(last).run()?.outcome(self.flags.count)
    }

    /// Follows the answer of a query without windows.
    fn live(&self, text: &str) -> Result<(), Trouble> {
        if self.flags.from.is_some() {
            let message = "--from is for reports, which registered queries have; a live query begins with its answer";
            return Err(Trouble::new(Code::Usage, message));
        }
        let last = self.server.is_own().then_some(1);
        let watch = self.watch(Followed::Live(text.to_owned()), view(text));
        watch.until(last).run()?.outcome(self.flags.count)
    }

    /// Registers a query, follows it, and drops it.
    fn given(&self, text: &str) -> Result<(), Trouble> {
        let stop = self.stop.with_grace(REGISTER_GRACE);
        let register = || self.server.register(text, None, &stop);
        let mut registered = Registered {
            server: self.server,
            name: register()?,
        };
        let name = registered.name.clone();
        let last = self.last(&name)?;
        let mut watch = self
            .watch(Followed::Registered(name), view(text))
            .until(last);
        loop {
            match watch.run()? {
                End::Unknown(_) => {
                    registered.name = register()?;
                    watch.following.begin_again(registered.name.clone());
                }
                end => return end.outcome(self.flags.count),
            }
        }
    }

    /// The number of the last report that can come; `None`: more can come.
    fn last(&self, name: &str) -> Result<Option<u64>, Trouble> {
        if !self.server.is_own() {
            return Ok(None);
        }
        let query = self.server.registered(name, self.stop)?;
        for stream in query["streams"].as_array().into_iter().flatten() {
            let stream = stream.as_str().unwrap_or_default();
            if self.server.stream(stream, self.stop)?["arrival_time"] == true {
                return Ok(None);
            }
        }
        let last = query["reports"].as_u64().unwrap_or(0);
        if last == 0 {
            say!("somersault: `{name}` has no report, and nobody pushes to the store meanwhile");
        }
        Ok(Some(last))
    }

    fn watch<'w>(&self, followed: Followed, view: View<'w>) -> Watch<'w> {
        let seen = self.flags.from.map_or(0, |from| from.saturating_sub(1));
        let following = Following::new((**self.server).clone(), followed, seen, self.stop);
        Watch::new(following, view, self.flags.count, self.deadline)
    }
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
