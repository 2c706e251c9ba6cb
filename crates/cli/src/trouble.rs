//! A query's failure with its place, shown in the text that was asked.
//!
//! ```text
//! line 2, column 14: the prefix foaf: is not declared
//!     2 | SELECT * { ?s foaf:name ?name }
//!       |               ^
//! ```
//!
//! The engine and endpoints count characters; a terminal counts cells, so what stands before the
//! caret is measured in cells, and of a long line only what surrounds the caret is shown.

use crate::exit::{Code, Failure};
use somersault::{Kind, Position, QueryError};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Characters of a line shown before and after the place.
const AROUND: usize = 50;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The exit code.
    pub code: Code,
    /// What failed, without its place.
    pub message: String,
    /// Where in the text.
    pub position: Option<Position>,
    /// What else is wrong with the text, and where.
    pub further: Vec<(String, Position)>,
}

impl Trouble {
    /// A failure without a place.
    pub fn new(code: Code, message: impl Into<String>) -> Trouble {
        Trouble {
            code,
            message: message.into(),
            position: None,
            further: Vec::new(),
        }
    }

    /// For a text that had lines of ours put before it: the place in the user's own.
    #[must_use]
    pub fn without_lines(mut self, added: u64) -> Trouble {
        let without = |Position { line, column }: Position| {
            let line = line.checked_sub(added).filter(|line| *line > 0)?;
            Some(Position { line, column })
        };
        self.position = self.position.and_then(without);
        let further = self.further.into_iter();
        let further = further.filter_map(|(message, place)| Some((message, without(place)?)));
        self.further = further.collect();
        self
    }

    /// The message with its place in `text`. `lines_before` are those of the file that the text
    /// was taken from.
    pub fn in_text(&self, text: &str, lines_before: u64) -> String {
        let Some(position) = self.position else {
            return self.message.clone();
        };
        let mut said = one_in_text(&self.message, position, text, lines_before);
        for (message, position) in &self.further {
            said.push('\n');
            said.push_str(&one_in_text(message, *position, text, lines_before));
        }
        said
    }

    /// As the end of a run.
    pub fn into_failure(self, text: &str) -> Failure {
        Failure::new(self.code, self.in_text(text, 0))
    }
}

/// A message with its place, shown.
fn one_in_text(message: &str, place: Position, text: &str, lines_before: u64) -> String {
    let Position { line, column } = place;
    let number = line + lines_before;
    let said = format!("line {number}, column {column}: {message}");
    let index = usize::try_from(line)
        .unwrap_or(usize::MAX)
        .saturating_sub(1);
    let Some(shown) = text.lines().nth(index) else {
        return said;
    };
    let (piece, cells) = around(shown, column);
    let number = number.to_string();
    let margin = " ".repeat(number.len());
    format!(
        "{said}\n    {number} | {piece}\n    {margin} | {}^",
        " ".repeat(cells)
    )
}

/// What surrounds a column (from 1), and the cells before it.
fn around(line: &str, column: u64) -> (String, usize) {
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let chars: Vec<char> = line.chars().map(visible).collect();
    let at = usize::try_from(column).unwrap_or(usize::MAX);
    let at = at.saturating_sub(1).min(chars.len());
    let (first, last) = (at.saturating_sub(AROUND), (at + AROUND).min(chars.len()));
    let before: String = chars[first..at].iter().collect();
    let after: String = chars[at..last].iter().collect();
    let open = if first > 0 { "…" } else { "" };
    let close = if last < chars.len() { "…" } else { "" };
    let cells = open.width()
        + before
            .chars()
            .filter_map(UnicodeWidthChar::width)
            .sum::<usize>();
    (format!("{open}{before}{after}{close}"), cells)
}

impl From<QueryError> for Trouble {
    fn from(mut error: QueryError) -> Trouble {
        let code = match error.kind {
            Kind::Syntax | Kind::Unsupported => Code::Syntax,
            Kind::TooLong | Kind::Shape | Kind::Timeout | Kind::Memory | Kind::Policy => {
                Code::Limit
            }
            Kind::Remote | Kind::Away => Code::Connection,
            Kind::Cancelled => Code::Interrupted,
            Kind::Damaged => Code::Integrity,
            Kind::NotFound
            | Kind::Gone
            | Kind::Format
            | Kind::Output
            | Kind::Conflict
            | Kind::Precondition
            | Kind::ReadOnly
            | Kind::DiskFull
            | Kind::Unavailable
            | Kind::Internal => Code::Failed,
        };
        if error.is_broken_pipe() {
            return Trouble::new(code, "");
        }
        let position = error.position.take();
        let further = error.further().iter();
        Trouble {
            code,
            message: error.to_string(),
            position,
            further: further
                .map(|further| (further.message.clone(), further.position))
                .collect(),
        }
    }
}

impl From<std::io::Error> for Trouble {
    /// A reader of our output that has gone away (`| head`) is no failure worth a message.
    fn from(error: std::io::Error) -> Trouble {
        let Failure { code, message } = Failure::from(error);
        Trouble::new(code, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u64, column: u64) -> Trouble {
        Trouble {
            position: Some(Position { line, column }),
            ..Trouble::new(Code::Syntax, "wrong")
        }
    }

    #[test]
    fn the_caret_stands_under_the_place() {
        let shown = at(2, 4).in_text("SELECT\n\tüß? {\n", 7);
        assert_eq!(
            shown,
            "line 9, column 4: wrong\n    9 |  üß? {\n      |    ^"
        );
        let wide = at(1, 3).in_text("日本x", 0);
        assert!(wide.ends_with("\n      |     ^"), "{wide}");
    }

    #[test]
    fn of_a_long_line_the_surroundings_are_shown() {
        let line = "x".repeat(1000);
        let shown = at(1, 500).in_text(&line, 0);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].contains("| …xxx") && lines[1].ends_with("x…"));
        assert_eq!(lines[1].chars().count(), 8 + 2 + 2 * AROUND);
        assert_eq!(lines[2].chars().count(), 8 + 1 + AROUND + 1);
    }

    #[test]
    fn places_beyond_the_text_are_named_only() {
        assert_eq!(at(9, 1).in_text("x", 0), "line 9, column 1: wrong");
        assert_eq!(at(1, 1).without_lines(1).in_text("x", 0), "wrong");
        let end = at(1, 99).in_text("ab", 0);
        assert!(end.ends_with("\n      |   ^"), "{end}");
    }
}
