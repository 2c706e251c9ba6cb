//! What an endpoint says instead of an answer, as our own error: with its place if it has one.
//!
//! Problem documents (RFC 9457) have fields; other servers write a sentence, a page or a stack
//! trace, of which the beginning is shown. Their places are looked for in the two ways in which
//! the common servers write them: `line 1, column 2`, and `at 1:2`.

use super::exchange::Response;
use crate::exit::Code;
use crate::trouble::Trouble;
use serde_json::Value;
use somersault::Position;
use std::io::Read;

/// As much of an error's body as is read.
const BODY_BYTES_MAX: u64 = 64 << 10;
/// As much of a body without fields as is shown.
const SHOWN_CHARS: usize = 600;

/// The failure that a response reports.
pub(super) fn trouble(url: &str, response: Response) -> Trouble {
    let status = response.status();
    let mut trouble = words(response);
    let separator = if trouble.message.is_empty() { "" } else { ": " };
    trouble.message = format!("{url}: {status}{separator}{}", trouble.message);
    trouble
}

/// The same in the response's words alone, for what the user has sent himself.
pub(super) fn words(mut response: Response) -> Trouble {
    let status = response.status();
    let mut body = Vec::new();
    // What could be read before an error is all that there is to show.
    let _ = response
        .body
        .by_ref()
        .take(BODY_BYTES_MAX)
        .read_to_end(&mut body);
    let body = String::from_utf8_lossy(&body);
    let code = code(status.as_u16());
    let fields = match response.media_type().as_str() {
        "application/problem+json" | "application/json" => serde_json::from_str(&body).ok(),
        _ => None,
    };
    let further = fields.as_ref().map(further).unwrap_or_default();
    let (message, position) = match fields {
        Some(Value::Object(fields)) => of_fields(&Value::Object(fields)),
        _ => (shown(&body), place(&body)),
    };
    Trouble {
        code,
        message,
        position: position.filter(|_| code == Code::Syntax),
        further,
    }
}

fn code(status: u16) -> Code {
    match status {
        400 => Code::Syntax,
        401 | 403 | 407 => Code::Unauthorised,
        408 | 413 | 422 | 429 | 504 | 507 => Code::Limit,
        _ => Code::Failed,
    }
}

/// Of a problem document: its detail, or else its title, with the hint and what is offered.
fn of_fields(fields: &Value) -> (String, Option<Position>) {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let mut words = text("detail")
        .or_else(|| text("title"))
        .or_else(|| text("message"))
        .or_else(|| text("error"))
        .unwrap_or_default()
        .to_owned();
    let number = |of: &Value, name: &str| of.get(name).and_then(Value::as_u64);
    if let (Some(limit), Some(used)) = (number(fields, "limit"), number(fields, "used")) {
        let unit = text("unit")
            .map(|unit| format!(" {unit}"))
            .unwrap_or_default();
        words = format!("{words} [{used} of {limit}{unit}]");
    }
    if let Some(hint) = text("hint").filter(|hint| !words.contains(hint)) {
        words = format!("{words} ({hint})");
    }
    (words, position_in(fields))
}

/// The place that a problem document names.
fn position_in(fields: &Value) -> Option<Position> {
    let position = fields.get("position")?;
    let number = |name: &str| position.get(name).and_then(Value::as_u64);
    Some(Position {
        line: number("line")?,
        column: number("column")?,
    })
}

/// What else is wrong with the text, as our own servers say it.
fn further(fields: &Value) -> Vec<(String, Position)> {
    let errors = fields.get("further").and_then(Value::as_array);
    let errors = errors.into_iter().flatten();
    let errors = errors.filter_map(|error| {
        let message = error.get("detail").and_then(Value::as_str)?;
        Some((message.to_owned(), position_in(error)?))
    });
    errors.collect()
}

/// The beginning of a text, without the marks of a page.
fn shown(body: &str) -> String {
    let mut is_mark = false;
    let is_page = body.trim_start().starts_with('<');
    let kept: String = body
        .chars()
        .filter(|c| {
            let is_text = !is_mark && *c != '<' || !is_page;
            is_mark = (is_mark || *c == '<') && *c != '>';
            is_text
        })
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let words = kept.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() > SHOWN_CHARS {
        let beginning: String = words.chars().take(SHOWN_CHARS).collect();
        return format!("{beginning}…");
    }
    words
}

fn place(body: &str) -> Option<Position> {
    let lower = body.to_ascii_lowercase();
    let number = |text: &str| {
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        Some((text[..digits].parse::<u64>().ok()?, digits))
    };
    let pair = |open: &str, between: &str| {
        let mut starts = lower.match_indices(open).map(|(at, _)| at + open.len());
        starts.find_map(|start| {
            let (line, digits) = number(&lower[start..])?;
            let rest = lower[start + digits..].strip_prefix(between)?;
            let (column, _) = number(rest)?;
            Some(Position { line, column })
        })
    };
    let position = pair("line ", ", column ").or_else(|| pair("at ", ":"))?;
    (position.line > 0 && position.column > 0).then_some(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_document_has_fields() {
        let fields = serde_json::json!({
            "title": "No", "detail": "it is too much", "limit": 5, "used": 7, "unit": "ms",
            "hint": "ask for less", "position": { "line": 2, "column": 3 },
        });
        let (words, position) = of_fields(&fields);
        assert_eq!(words, "it is too much [7 of 5 ms] (ask for less)");
        assert_eq!(position, Some(Position { line: 2, column: 3 }));
        let (words, position) = of_fields(&serde_json::json!({ "title": "No", "position": [] }));
        assert_eq!((words.as_str(), position), ("No", None));
    }

    #[test]
    fn other_texts_are_shown_and_searched() {
        let at = |line, column| Some(Position { line, column });
        assert_eq!(place("Encountered \"}\" at line 3, column 14."), at(3, 14));
        assert_eq!(place("error at 1:15: expected one of"), at(1, 15));
        assert_eq!(place("arrived at noon: line 4"), None);
        assert_eq!(place("at 99999999999999999999:1"), None);
        assert_eq!(shown("<html><b>Not\n good</b></html>"), "Not good");
        assert_eq!(shown("a < b"), "a < b");
        assert_eq!(shown(&"x".repeat(2000)).chars().count(), SHOWN_CHARS + 1);
    }

    #[test]
    fn statuses_are_exit_codes() {
        let codes = [400, 401, 403, 413, 429, 500, 503, 504].map(code);
        use Code::{Failed, Limit, Syntax, Unauthorised};
        let expected = [
            Syntax,
            Unauthorised,
            Unauthorised,
            Limit,
            Limit,
            Failed,
            Failed,
            Limit,
        ];
        assert_eq!(codes, expected);
    }
}
