//! `compact`: the changes of a store's log become part of its files.
//!
//! A server does so by itself as its log grows; this is for a store that is at rest, or to have it
//! done now. It is also where a log that is damaged can be given up from the damage on: never
//! silently, and never without the flag that says so.

use crate::arguments::Compact;
use crate::endpoint::Endpoint;
use crate::exit::{Code, Failure, Outcome};
use crate::say::say;
use crate::settings;
use crate::stop::Stop;
use crate::verbs::{open, query};
use somersault::{Live, upkeep};
use std::path::Path;
use std::time::Instant;

/// Runs the verb.
pub fn run(flags: &Compact, file: Option<&Path>) -> Outcome {
    let config = settings::check(&settings::layers(file)?)?;
    let begun = Instant::now();
    if let Some(url) = &flags.remote.endpoint {
        let headers = settings::headers(&flags.remote);
        let endpoint = Endpoint::new(url, &headers, config.update_timeout)?.without_limit();
        endpoint
            .compact(&Stop::default())
            .map_err(|trouble| trouble.into_failure(""))?;
        say!("compacted, {:.1} s", begun.elapsed().as_secs_f64());
        return Ok(());
    }
    let location = flags.location.as_deref();
    let location = location.expect("the parser asks for a store or an endpoint");
    let tail = upkeep::tail(location);
    let database = open::existing(location, &config, flags.accept_log_damage)?;
    let records = match tail {
        Ok(tail) => tail.records,
        Err(damage) => {
            say!(
                "somersault: {damage}\nsomersault: lost: every change behind snapshot {}",
                database.snapshot_number()
            );
            0
        }
    };
    // What the store keeps of streams goes into its files with the rest.
    let live = Live::still(database.clone());
    upkeep::compact(&database).map_err(query::failure)?;
    drop(live);
    let (snapshot, quads) = (database.snapshot_number(), database.summary().quads);
    drop(database);
    let left = upkeep::tail(location).map_err(open::failure)?;
    if left.records > 0 {
        let message = format!("{} commits are still only in the log", left.records);
        return Err(Failure::new(Code::Failed, message));
    }
    say!(
        "compacted: {records} commits from the log, snapshot {snapshot}, {quads} quads, {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    Ok(())
}
