//! A script: statements and commands one after the other, from a file or a pipe. The first that
//! fails ends it.

use super::session::{Flow, Session};
use crate::exit::{Code, Failure, Outcome};
use crate::text::{Piece, Statements};
use std::io::BufRead;
use std::path::Path;

/// Runs a script as the whole session.
pub fn run(mut session: Session, input: impl BufRead, path: Option<&Path>) -> Outcome {
    statements(&mut session, input, path).map(|_| ())
}

/// Runs the statements of a script.
pub fn statements(
    session: &mut Session,
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
            if execute(session, piece).map_err(|failure| of_file(failure, path))? == Flow::Quit {
                return Ok(Flow::Quit);
            }
        }
        if len == 0 {
            return Ok(Flow::Continue);
        }
    }
}

fn execute(session: &mut Session, piece: &Piece) -> Result<Flow, Failure> {
    session.execute(piece)
}

fn of_file(mut failure: Failure, path: Option<&Path>) -> Failure {
    if let Some(path) = path
        && !failure.message.is_empty()
    {
        failure.message = format!("{}: {}", path.display(), failure.message);
    }
    failure
}
