//! `cq`: registering queries with a server, looking at them, pausing and dropping them.

use super::{asked, print_all, print_one, server};
use crate::arguments::{CqNamed, CqRegister, CqVerb};
use crate::exit::{Failure, Outcome};
use crate::live::Listed;
use crate::trouble::Trouble;
use crate::verbs::query::{read_text, stoppable};
use serde_json::json;
use std::path::Path;

/// Runs the verb.
pub fn run(verb: &CqVerb, file: Option<&Path>) -> Outcome {
    match verb {
        CqVerb::Register(flags) => register(flags, file),
        CqVerb::List(flags) => {
            let server = server(&flags.target, file)?;
            let queries = asked(|stop| server.queries(stop))?;
            print_all(Listed::Queries, &queries)
        }
        CqVerb::Show(CqNamed { name, target }) => {
            let server = server(target, file)?;
            print_one(&asked(|stop| server.registered(name, stop))?)
        }
        CqVerb::Pause(CqNamed { name, target }) => {
            let server = server(target, file)?;
            asked(|stop| server.set_paused(name, true, stop))
        }
        CqVerb::Resume(CqNamed { name, target }) => {
            let server = server(target, file)?;
            asked(|stop| server.set_paused(name, false, stop))
        }
        CqVerb::Drop(CqNamed { name, target }) => {
            let server = server(target, file)?;
            asked(|stop| server.drop_query(name, stop))
        }
    }
}

fn register(flags: &CqRegister, file: Option<&Path>) -> Outcome {
    let server = server(&flags.target, file)?;
    let text = read_text(&flags.file)?;
    let mut name = String::new();
    stoppable(|stop| {
        let registered = server.register(&text, flags.name.as_deref(), stop);
        let in_file = |trouble: Trouble| {
            let Failure { code, message } = trouble.into_failure(&text);
            Failure::new(code, format!("{}: {message}", flags.file.display()))
        };
        name = registered.map_err(in_file)?;
        Ok(())
    })?;
    print_one(&json!({ "name": name }))
}
