//! The interactive side: lines with history, colours, hints and completion, by `rustyline`.
//!
//! Enter runs what is complete and goes on with what is not; the editor shows all lines of a
//! statement and moves among them. History is shared by sessions: every statement is appended when
//! it is entered. Completing a name with a well-known prefix declares that prefix, at the moment
//! when the completion is taken.

use super::command::{COMMANDS, split};
use super::complete::complete;
use super::flow::Flow;
use super::prefixes::Prefixes;
use super::session::{Session, lock};
use super::vocabulary::Vocabulary;
use crate::exit::{Code, Failure, Outcome};
use crate::say::say;
use crate::text::{Progress, Statements, progress};
use rustyline::completion::{Completer, FilenameCompleter};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::{Hinter, HistoryHinter};
use rustyline::history::DefaultHistory;
use rustyline::line_buffer::LineBuffer;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Changeset, ColorMode, CompletionType, Config, Context, Editor, Helper, Result as EditorResult,
};
use somersault::text::{PieceKind, TokenKind, pieces, words};
use std::borrow::Cow;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

const PROMPT: &str = "somersault> ";
const HISTORY_MAX: usize = 10_000;

/// Runs a session on the terminal.
pub fn run(mut session: Session) -> Outcome {
    let mut editor = editor(&session).map_err(|error| failure(&error))?;
    let history = history_file();
    if let Some(file) = &history {
        // A history that is not there yet is empty.
        let _ = editor.load_history(file);
    }
    say!(
        "somersault {}; .help lists the commands",
        env!("CARGO_PKG_VERSION")
    );
    loop {
        let input = match editor.readline(PROMPT) {
            Ok(input) => input,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(failure(&error)),
        };
        let is_new = editor.add_history_entry(input.trim_end()).unwrap_or(false);
        if let (true, Some(file)) = (is_new, &history)
            && let Err(error) = editor.append_history(file)
        {
            say!("the history is not kept: {}: {error}", file.display());
        }
        if execute(&mut session, &input) == Flow::Quit {
            return Ok(());
        }
    }
}

fn failure(error: &ReadlineError) -> Failure {
    Failure::new(Code::Failed, format!("the terminal: {error}"))
}

/// Runs the statements of an input; what fails is said, and the rest of the input left.
fn execute(session: &mut Session, input: &str) -> Flow {
    let input = match input.trim() {
        "quit" | "exit" => ".quit",
        "help" => ".help",
        _ => input,
    };
    let mut cut = Statements::default();
    let mut pieces = Vec::new();
    if input.starts_with('.') {
        pieces.push(crate::text::ScriptStatement {
            text: input.to_owned(),
            lines_before: 0,
        });
    } else {
        for line in input.split_inclusive('\n') {
            pieces.extend(cut.line(line));
        }
        pieces.extend(cut.rest());
    }
    for piece in &pieces {
        match session.execute(piece) {
            Ok(Flow::Continue) => {}
            Ok(Flow::Quit) => return Flow::Quit,
            Err(failure) => {
                if !failure.message.is_empty() {
                    say!("{}", failure.message);
                }
                break;
            }
        }
    }
    Flow::Continue
}

fn editor(session: &Session) -> EditorResult<Editor<Assistant, DefaultHistory>> {
    let has_colors = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let config = Config::builder()
        .max_history_size(HISTORY_MAX)?
        .history_ignore_dups(true)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .color_mode(if has_colors {
            ColorMode::Enabled
        } else {
            ColorMode::Disabled
        })
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Assistant {
        prefixes: session.prefixes(),
        vocabulary: session.vocabulary(),
        hints: HistoryHinter::new(),
        files: FilenameCompleter::new(),
    }));
    Ok(editor)
}

/// Where history is kept: `$SOMERSAULT_HISTORY` (empty: nowhere), or below the state directory of
/// the XDG Base Directory Specification.
fn history_file() -> Option<PathBuf> {
    if let Some(file) = env::var_os("SOMERSAULT_HISTORY") {
        return (!file.is_empty()).then(|| PathBuf::from(file));
    }
    let set = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")))?;
    let folder = state.join("somersault");
    // A folder that cannot be made shows when history is written.
    let _ = fs::create_dir_all(&folder);
    Some(folder.join("history"))
}

/// Whether Enter runs an input, or goes on with it.
fn is_complete(input: &str) -> bool {
    let mut rest = input.trim_start();
    if rest.starts_with('.') {
        let (name, statement) = split(rest);
        if !matches!(name, ".explain" | ".profile") || statement.is_empty() {
            return true;
        }
        let after = rest.find(statement).unwrap_or(rest.len());
        rest = &rest[after..];
    }
    if matches!(rest.trim(), "quit" | "exit" | "help") {
        return true;
    }
    let ends_with_blank_line = rest
        .rsplit('\n')
        .next()
        .is_some_and(|line| line.trim().is_empty());
    loop {
        match progress(rest) {
            Progress::Empty => return true,
            Progress::Incomplete => return false,
            Progress::Endable => return ends_with_blank_line && rest.contains('\n'),
            Progress::Ended(end) => {
                assert!(end > 0, "a statement that ended has a semicolon");
                rest = &rest[end..];
            }
        }
    }
}

/// What the editor asks while a line is written.
struct Assistant {
    prefixes: Arc<Mutex<Prefixes>>,
    vocabulary: Arc<Mutex<Vocabulary>>,
    hints: HistoryHinter,
    files: FilenameCompleter,
}

impl Helper for Assistant {}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> EditorResult<(usize, Vec<String>)> {
        let prefixes = lock(&self.prefixes);
        let vocabulary = lock(&self.vocabulary).clone();
        if let Some(found) = complete(&line[..position], &prefixes, &vocabulary) {
            assert!(
                found.0 <= position,
                "what is completed begins before the cursor"
            );
            return Ok(found);
        }
        let (start, pairs) = self.files.complete_path(line, position)?;
        Ok((
            start,
            pairs.into_iter().map(|pair| pair.replacement).collect(),
        ))
    }

    fn update(&self, line: &mut LineBuffer, start: usize, elected: &str, changes: &mut Changeset) {
        let end = line.pos();
        if let Some((prefix, _)) = elected.split_once(':') {
            lock(&self.prefixes).declare_known(prefix);
        }
        line.replace(start..end, elected, changes);
    }
}

impl Hinter for Assistant {
    type Hint = String;

    /// The last statement of the history that begins like this, up to the end of its line.
    fn hint(&self, line: &str, position: usize, context: &Context<'_>) -> Option<String> {
        let hint = self.hints.hint(line, position, context)?;
        let first = hint.lines().next().unwrap_or_default();
        (!first.is_empty()).then(|| first.to_owned())
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> EditorResult<ValidationResult> {
        Ok(if is_complete(context.input()) {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned(colored(line))
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(format!("\x1b[1m{prompt}\x1b[0m"))
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(format!("\x1b[90m{hint}\x1b[0m"))
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor
    }
}

/// A text with colours, as wide as without.
fn colored(text: &str) -> String {
    let (command, query) = match text.strip_prefix('.') {
        Some(_) => text.split_at(split(text).0.len()),
        None => ("", text),
    };
    let is_known = COMMANDS.iter().any(|known| known.name == command);
    let mut colored = paint(command, is_known.then_some("35"));
    let mut shown = command.len();
    for token in pieces(query) {
        let color = match token.kind {
            PieceKind::OpenString { .. } => Some("32"),
            PieceKind::Comment => Some("90"),
            PieceKind::Space => None,
            PieceKind::Token(kind) => match kind {
                TokenKind::Word if words().any(|known| token.is_word(known)) => Some("1;34"),
                TokenKind::Variable => Some("36"),
                TokenKind::String | TokenKind::Language => Some("32"),
                TokenKind::Number => Some("33"),
                TokenKind::Iri => Some("4"),
                TokenKind::PrefixedName => Some("35"),
                TokenKind::Word | TokenKind::BlankNode | TokenKind::Operator => None,
            },
        };
        colored.push_str(&paint(token.text, color));
        shown += token.text.len();
    }
    assert_eq!(shown, text.len(), "what is typed is shown");
    colored
}

fn paint(text: &str, color: Option<&str>) -> String {
    match color {
        Some(color) if !text.is_empty() => format!("\x1b[{color}m{text}\x1b[0m"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_runs_what_is_complete() {
        for input in [
            "",
            ".help",
            ".explain",
            "quit",
            "ASK {};",
            "ASK {}; # done",
            "ASK {}\n",
            "ASK {}; ASK {}\n  ",
            ".explain ASK {};",
            "PREFIX a: <http://a/>;",
            "nonsense\n",
        ] {
            assert!(is_complete(input), "{input:?}");
        }
        for input in [
            "ASK {}",
            "ASK {\n",
            "ASK {}; ASK",
            ".explain ASK {",
            "PREFIX a: <http://a/>\n",
            "SELECT * { ?x ?y '''}\n\n",
        ] {
            assert!(!is_complete(input), "{input:?}");
        }
    }

    #[test]
    fn colours_change_no_character() {
        let text = ".explain SELECT ?x { <http://e/> a 'x'@en, 1 } # end\n";
        let colored = colored(text);
        assert_ne!(colored, text);
        assert_eq!(console::strip_ansi_codes(&colored), text);
    }
}
