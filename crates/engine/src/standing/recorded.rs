//! A recorded stream as text: `.nt.ts`, lines of milliseconds, a tab and a statement of N-Triples or N-Quads.
//!
//! A line is an item. Labels of blank nodes mean the same node in all lines of a file. A malformed line is an error with
//! its place: a recording with a gap would answer as if the gap had been so.

use super::items::TimedQuads;
use crate::error::{Kind, Position, QueryError};
use oxrdf::{BlankNode, GraphName, NamedNode, NamedOrBlankNode, Quad, TermRef};
use rdf::nt::{Dialect, Parser, Statement};
use std::io::{BufRead, Read};

const LINE_FORM: &str = "a line is milliseconds since 1970, a tab, and a triple";
/// Of a time that is none, so much stands in its message.
const SHOWN_DIGITS: usize = 24;
/// A line is an item of one triple, whose strings have 16 MiB at most.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// The items of a recording. Messages say its name and the place; without a name the place is the error's position alone.
pub fn recorded<'r>(
    name: Option<&str>,
    lines: impl BufRead + 'r,
) -> impl Iterator<Item = Result<TimedQuads, QueryError>> + 'r {
    Recorded {
        name: name.map(str::to_owned),
        lines,
        line: Vec::new(),
        number: 0,
    }
}

/// The statements of a text in N-Quads, or in N-Triples where it has no graphs. A malformed line is an error with its
/// place, and the next line goes on.
pub fn statements(
    text: &[u8],
    has_graphs: bool,
) -> impl Iterator<Item = Result<Quad, QueryError>> + '_ {
    let dialect = if has_graphs {
        Dialect::NQuads
    } else {
        Dialect::NTriples
    };
    let mut parser = Parser::new(text, dialect, 1);
    std::iter::from_fn(move || {
        let mistake = match parser.next()? {
            Ok(statement) => match quad_of(&statement) {
                Some(quad) => return Some(Ok(quad)),
                None => (1, "it is no statement of RDF".to_owned()),
            },
            Err(error) => (error.column, error.message),
        };
        let (line, (column, message)) = (parser.last_line_number(), mistake);
        let mut error = QueryError::new(Kind::Syntax, message);
        error.position = Some(Position { line, column });
        Some(Err(error))
    })
}

struct Recorded<R> {
    name: Option<String>,
    lines: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Iterator for Recorded<R> {
    type Item = Result<TimedQuads, QueryError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.line.clear();
            let mut limited = (&mut self.lines).take(LINE_BYTES_MAX + 1);
            match limited.read_until(b'\n', &mut self.line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => {
                    let message = match &self.name {
                        Some(name) => format!("{name}: {error}"),
                        None => error.to_string(),
                    };
                    return Some(Err(QueryError::new(Kind::of_io(&error), message)));
                }
            }
            self.number += 1;
            if self.line.len() as u64 > LINE_BYTES_MAX {
                return Some(Err(self.wrong(1, "the line is longer than 16 MiB")));
            }
            let text = self.line.trim_ascii();
            if !text.is_empty() && !text.starts_with(b"#") {
                return Some(self.item());
            }
        }
    }
}

impl<R> Recorded<R> {
    fn item(&self) -> Result<TimedQuads, QueryError> {
        let tab = self.line.iter().position(|byte| *byte == b'\t');
        let Some(tab) = tab else {
            return Err(self.wrong(1, LINE_FORM));
        };
        let time_ms = time_of(&self.line[..tab]).map_err(|why| self.wrong(1, &why))?;
        let mut parser = Parser::new(&self.line[tab + 1..], Dialect::NQuads, self.number);
        let columns = |column: u64| column + tab as u64 + 1;
        let statement = match parser.next() {
            Some(Ok(statement)) => quad_of(&statement),
            Some(Err(error)) => return Err(self.wrong(columns(error.column), &error.message)),
            None => return Err(self.wrong(columns(1), "there is no triple behind the time")),
        };
        let quad = statement.ok_or_else(|| self.wrong(columns(1), "it is no statement of RDF"))?;
        Ok(TimedQuads {
            time_ms,
            quads: vec![quad],
        })
    }

    fn wrong(&self, column: u64, message: &str) -> QueryError {
        let line = self.number;
        let message = match &self.name {
            Some(name) => format!("{name}, line {line}, column {column}: {message}"),
            None => message.to_owned(),
        };
        let mut error = QueryError::new(Kind::Syntax, message);
        error.position = Some(Position { line, column });
        error
    }
}

/// What stands before the tab (milliseconds), or what is wrong with it.
fn time_of(text: &[u8]) -> Result<u64, String> {
    let text = std::str::from_utf8(text).map_err(|_| LINE_FORM)?.trim();
    if let Ok(time_ms) = text.parse() {
        return Ok(time_ms);
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(LINE_FORM.to_owned());
    }
    let is_before = digits.len() < text.len();
    let what = if is_before {
        "before 1970"
    } else {
        "later than any"
    };
    let shown = text
        .get(..SHOWN_DIGITS)
        .map_or(text.to_owned(), |first| format!("{first}..."));
    Err(format!("the time {shown} ms is {what}"))
}

fn quad_of(statement: &Statement<'_>) -> Option<Quad> {
    let subject: NamedOrBlankNode = match statement.subject {
        TermRef::NamedNode(node) => node.into_owned().into(),
        TermRef::BlankNode(node) => node.into_owned().into(),
        TermRef::Literal(_) | TermRef::Triple(_) => return None,
    };
    let graph = match statement.graph {
        None => GraphName::DefaultGraph,
        Some(TermRef::NamedNode(node)) => GraphName::NamedNode(node.into_owned()),
        Some(TermRef::BlankNode(node)) => GraphName::BlankNode(BlankNode::from(node)),
        Some(TermRef::Literal(_) | TermRef::Triple(_)) => return None,
    };
    // The parser has looked at it.
    let predicate = NamedNode::new_unchecked(statement.predicate);
    Some(Quad::new(
        subject,
        predicate,
        statement.object.into_owned(),
        graph,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Result<(u64, String), String>> {
        let item = |item: Result<TimedQuads, QueryError>| match item {
            Ok(item) => Ok((item.time_ms, item.quads[0].to_string())),
            Err(error) => Err(error.message),
        };
        recorded(Some("s.nt.ts"), text.as_bytes())
            .map(item)
            .collect()
    }

    #[test]
    fn lines_are_items() {
        assert_eq!(
            read(
                "# a comment\n0\t<urn:a> <urn:p> _:b .\n\n17\t<urn:a> <urn:p> \"x\"@en <urn:g> .\r\n"
            ),
            [
                Ok((0, "<urn:a> <urn:p> _:b".to_owned())),
                Ok((17, "<urn:a> <urn:p> \"x\"@en <urn:g>".to_owned())),
            ]
        );
    }

    #[test]
    fn statements_go_on_after_a_mistake() {
        let text =
            b"<urn:a> <urn:p> 1 .\n<urn:a> <urn:p> \"1\" <urn:g> .\n\xff\n<urn:a> <urn:p> _:b .\n";
        let read = |has_graphs| -> Vec<Result<String, u64>> {
            let shown = |read: Result<Quad, QueryError>| match read {
                Ok(quad) => Ok(quad.to_string()),
                Err(error) => Err(error.position.unwrap().line),
            };
            statements(text, has_graphs).map(shown).collect()
        };
        let good = "<urn:a> <urn:p> _:b".to_owned();
        let graph = "<urn:a> <urn:p> \"1\" <urn:g>".to_owned();
        assert_eq!(read(true), [Err(1), Ok(graph), Err(3), Ok(good.clone())]);
        assert_eq!(read(false), [Err(1), Err(2), Err(3), Ok(good)]);
    }

    #[test]
    fn mistakes_have_their_place() {
        for (text, place) in [
            ("<urn:a> <urn:p> <urn:b> .\n", "s.nt.ts, line 1, column 1"),
            (
                "1\t<urn:a> <urn:p> <urn:b> .\n-4\t<urn:a> <urn:p> <urn:b> .",
                "line 2, column 1",
            ),
            ("1\t\n", "line 1, column 3"),
            ("12\t<urn:a> \"p\" <urn:b> .\n", "line 1, column 12"),
        ] {
            let read = read(text);
            let error = read.last().and_then(|last| last.as_ref().err());
            assert!(error.is_some_and(|error| error.contains(place)), "{read:?}");
        }
    }
}
