//! A script: statements and commands one after the other, from a file or a pipe. The first that
//! fails ends it.
//!
//! A script does not know what runs its statements: a session runs scripts, and reads more of them with `.read`.

use super::flow::Flow;
use crate::exit::{Code, Failure};
use crate::text::{ScriptStatement, Statements};
use std::io::BufRead;
use std::path::Path;

/// Runs the statements of a script, each by `execute`.
pub fn statements(
    mut execute: impl FnMut(&ScriptStatement) -> Result<Flow, Failure>,
    mut input: impl BufRead,
    path: Option<&Path>,
) -> Result<Flow, Failure> {
    let mut cut = Statements::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let len = input.read_until(b'\n', &mut line).map_err(Failure::from)?;
        let text = std::str::from_utf8(&line)
            .map_err(|error| Failure::new(Code::Syntax, format!("a script is UTF-8: {error}")));
        let text = text.map_err(|failure| of_file(failure, path))?;
        let pieces = if len == 0 {
            cut.rest().into_iter().collect()
        } else {
            cut.line(text)
        };
        for piece in &pieces {
            if execute(piece).map_err(|failure| of_file(failure, path))? == Flow::Quit {
                return Ok(Flow::Quit);
            }
        }
        if len == 0 {
            return Ok(Flow::Continue);
        }
    }
}

fn of_file(mut failure: Failure, path: Option<&Path>) -> Failure {
    if let Some(path) = path
        && !failure.message.is_empty()
    {
        failure.message = format!("{}: {}", path.display(), failure.message);
    }
    failure
}
