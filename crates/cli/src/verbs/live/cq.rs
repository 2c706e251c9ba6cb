//! `cq`: registering queries, with tables of constants or without, looking at them, pausing and dropping them.

use super::{asked, print_all, print_one, server};
use crate::arguments::{CqNamed, CqRegister, CqVerb};
use crate::exit::{Code, Failure, Outcome};
use crate::live::Listed;
use crate::say::say;
use crate::trouble::Trouble;
use crate::verbs::query::{read_text, stoppable};
use serde_json::{Value, json};
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
    let input = Path::new("-");
    if flags.file == input && flags.bindings.as_deref() == Some(input) {
        let message = "the query and its bindings cannot both come from standard input";
        return Err(Failure::new(Code::Usage, message));
    }
    let table = flags.bindings.as_deref().map(table).transpose()?;
    let text = read_text(&flags.file)?;
    let server = server(&flags.target, file)?;
    let name = flags.name.as_deref();
    let mut made = Value::Null;
    stoppable(|stop| {
        let registered = if let (Some(table), Some(rows)) = (&table, &flags.bindings) {
            let (table, media_type) = (table.text.as_str(), table.media_type);
            let registered = server.register_table(&text, (table, media_type), name, stop);
            registered.map_err(|trouble| in_table(trouble, rows))
        } else {
            let name = server.register(&text, name, stop);
            name.map(|name| json!({ "name": name }))
        };
        let in_file = |trouble: Trouble| {
            let Failure { code, message } = trouble.into_failure(&text);
            Failure::new(code, format!("{}: {message}", flags.file.display()))
        };
        made = registered.map_err(in_file)?;
        if let (Some(given), Some(made)) = (name, made["name"].as_str())
            && given != made
        {
            say!("somersault: the text names the query, so it is called {made} and not {given}");
        }
        Ok(())
    })?;
    print_one(&made)
}

/// A table of constants.
struct Table {
    text: String,
    media_type: &'static str,
}

/// Reads a table, whose name tells what it is written in.
fn table(rows: &Path) -> Result<Table, Failure> {
    let extension = rows.extension().unwrap_or_default().to_string_lossy();
    let media_type = match extension.to_ascii_lowercase().as_str() {
        "" if rows == Path::new("-") => "text/csv",
        "csv" => "text/csv",
        "tsv" => "text/tab-separated-values",
        "srj" | "json" => "application/sparql-results+json",
        _ => {
            let place = rows.display();
            let message = format!(
                "--bindings {place}: its name tells no format of a table: .csv, .tsv, or .srj for JSON results"
            );
            return Err(Failure::new(Code::Usage, message));
        }
    };
    Ok(Table {
        text: read_text(rows)?,
        media_type,
    })
}

/// What is wrong with the table is said of its file.
fn in_table(mut trouble: Trouble, rows: &Path) -> Trouble {
    if trouble.position.is_none() && trouble.message.contains("bindings") {
        trouble.message = format!("{}: {}", rows.display(), trouble.message);
    }
    trouble
}
