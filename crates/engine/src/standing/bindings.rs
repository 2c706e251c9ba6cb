//! Tables of constants as they arrive: CSV, TSV or JSON results, row by row.
//!
//! | format | terms |
//! |---|---|
//! | CSV | `<...>` and quoted literals as SPARQL writes them; else an absolute IRI is one, anything else a plain string |
//! | TSV | terms as SPARQL writes them (SPARQL 1.1 Query Results CSV and TSV Formats, section 4) |
//! | JSON | terms with their types (SPARQL 1.1 Query Results JSON Format) |
//!
//! The header names the parameters, with or without a question mark. Where its first column is `name`, that holds what
//! instances are called. Each cell has a term: what is left out has no meaning here.

use super::instances::{Binding, Bindings};
use crate::error::{Kind, QueryError};
use memchr::memchr_iter;
use oxrdf::{Literal, NamedNode, Term};
use query::parse::{ParseOptions, term};
use sparesults::{QueryResultsFormat, QueryResultsParser, ReaderQueryResultsParserOutput};
use std::fmt::Display;
use std::io::BufRead;

/// How a table of constants is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingsFormat {
    /// `text/csv`
    Csv,
    /// `text/tab-separated-values`
    Tsv,
    /// `application/sparql-results+json`
    Json,
}

impl BindingsFormat {
    /// The format of a media type without parameters, in lower case.
    pub fn of_media_type(media_type: &str) -> Option<BindingsFormat> {
        Some(match media_type {
            "text/csv" => BindingsFormat::Csv,
            "text/tab-separated-values" => BindingsFormat::Tsv,
            "application/sparql-results+json" => BindingsFormat::Json,
            _ => return None,
        })
    }
}

/// What the column with the names of instances is called.
const NAME: &str = "name";

/// Reads a table of constants; its rows are read as they are asked for. The header is read at once. Needs
/// `query::STACK_BYTES_MIN` (2 MiB) of stack.
pub fn read_bindings<'b>(
    format: BindingsFormat,
    reader: impl BufRead + Send + 'b,
) -> Result<Bindings<'b>, QueryError> {
    match format {
        BindingsFormat::Csv => read_csv(reader),
        BindingsFormat::Tsv => read_results(QueryResultsFormat::Tsv, reader),
        BindingsFormat::Json => read_results(QueryResultsFormat::Json, reader),
    }
}

fn refused(row: u64, what: impl Display) -> QueryError {
    let message = match row {
        0 => format!("the table of bindings: {what}"),
        row => format!("row {row} of the bindings: {what}"),
    };
    QueryError::new(Kind::Syntax, message)
}

/// The parameters of a header, and whether names come first.
fn header(columns: Vec<String>) -> Result<(Vec<String>, bool), QueryError> {
    let bare = |name: String| match name.strip_prefix(['?', '$']) {
        Some(bare) => bare.to_owned(),
        None => name,
    };
    let is_named = columns.first().is_some_and(|first| first == NAME);
    let parameters = columns.into_iter().skip(usize::from(is_named));
    let parameters: Vec<String> = parameters.map(bare).collect();
    if parameters.is_empty() || parameters.iter().any(String::is_empty) {
        return Err(
            refused(0, "its header names no parameter, or one without a name")
                .with_hint("the first line has the names of the query's variables"),
        );
    }
    Ok((parameters, is_named))
}

fn read_results<'b>(
    format: QueryResultsFormat,
    reader: impl BufRead + Send + 'b,
) -> Result<Bindings<'b>, QueryError> {
    let parser = QueryResultsParser::from_format(format);
    let parsed = parser
        .for_reader(reader)
        .map_err(|error| refused(0, error))?;
    let ReaderQueryResultsParserOutput::Solutions(solutions) = parsed else {
        return Err(refused(0, "it is a boolean"));
    };
    let columns = solutions.variables().iter();
    let columns: Vec<String> = columns.map(|name| name.as_str().to_owned()).collect();
    let (parameters, is_named) = header(columns)?;
    let rows = solutions.zip(1_u64..).map(move |(solution, row)| {
        let solution = solution.map_err(|error| refused(row, error))?;
        let mut cells = solution.values().iter();
        let name = match (is_named, is_named.then(|| cells.next().cloned().flatten())) {
            (true, Some(Some(term))) => Some(text_of(&term)),
            (true, _) => return Err(refused(row, "its name is missing")),
            (false, _) => None,
        };
        let terms = cells.map(|cell| {
            let cell = cell.clone();
            let cell = cell.ok_or_else(|| refused(row, "a cell has no term"))?;
            constant(row, cell)
        });
        let terms = terms.collect::<Result<Vec<Term>, QueryError>>()?;
        Ok(Binding { name, terms })
    });
    Ok(Bindings {
        parameters,
        rows: Box::new(rows),
    })
}

fn text_of(term: &Term) -> String {
    match term {
        Term::Literal(literal) => literal.value().to_owned(),
        Term::NamedNode(node) => node.as_str().to_owned(),
        other => other.to_string(),
    }
}

/// A term that may be one of a query's: no blank node, which would be another one there.
fn constant(row: u64, term: Term) -> Result<Term, QueryError> {
    let has_blank = |term: &Term| match term {
        Term::BlankNode(_) => true,
        Term::Triple(triple) => triple.to_string().contains("_:"),
        Term::NamedNode(_) | Term::Literal(_) => false,
    };
    if has_blank(&term) {
        return Err(refused(row, "a blank node is no constant"));
    }
    Ok(term)
}

fn read_csv<'b>(reader: impl BufRead + Send + 'b) -> Result<Bindings<'b>, QueryError> {
    let mut records = Records {
        reader,
        bytes: Vec::new(),
        row: 0,
    };
    let first = records.next().transpose()?.unwrap_or_default();
    let (parameters, is_named) = header(first)?;
    let rows = records.zip(1_u64..).map(move |(record, row)| {
        let mut cells = record?.into_iter();
        let name = if is_named { cells.next() } else { None };
        let terms = cells.map(|cell| csv_term(row, cell));
        let terms = terms.collect::<Result<Vec<Term>, QueryError>>()?;
        Ok(Binding { name, terms })
    });
    Ok(Bindings {
        parameters,
        rows: Box::new(rows),
    })
}

fn csv_term(row: u64, cell: String) -> Result<Term, QueryError> {
    if let Some(iri) = cell.strip_prefix('<').and_then(|it| it.strip_suffix('>'))
        && !iri.starts_with('<')
    {
        let iri = NamedNode::new(iri).map_err(|error| refused(row, error))?;
        return Ok(iri.into());
    }
    if cell.starts_with(['"', '\'', '<']) {
        let term = term(&cell, &ParseOptions::default());
        return constant(row, term.map_err(|error| refused(row, error))?);
    }
    if cell.is_empty() || cell.starts_with("_:") {
        return Err(refused(row, "a cell has no term, or a blank node"));
    }
    if cell.contains(':')
        && let Ok(iri) = NamedNode::new(cell.as_str())
    {
        return Ok(iri.into());
    }
    Ok(Literal::new_simple_literal(cell).into())
}

/// The records of a CSV file (RFC 4180), the header first.
struct Records<R> {
    reader: R,
    bytes: Vec<u8>,
    /// Records so far.
    row: u64,
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = Result<Vec<String>, QueryError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.bytes.clear();
            match self.record() {
                Ok(false) => return None,
                Ok(true) if self.bytes.is_empty() => {}
                Ok(true) => {
                    self.row += 1;
                    return Some(self.cells());
                }
                Err(error) => return Some(Err(refused(self.row, error))),
            }
        }
    }
}

impl<R: BufRead> Records<R> {
    /// Reads lines up to one at whose end no quote is open; false at the end.
    fn record(&mut self) -> std::io::Result<bool> {
        let mut quotes = 0;
        loop {
            let before = self.bytes.len();
            self.reader.read_until(b'\n', &mut self.bytes)?;
            quotes += memchr_iter(b'"', &self.bytes[before..]).count();
            let is_end = self.bytes.len() == before;
            if is_end || quotes % 2 == 0 {
                break;
            }
        }
        let is_there = !self.bytes.is_empty();
        if self.bytes.last() == Some(&b'\n') {
            self.bytes.pop();
        }
        if self.bytes.last() == Some(&b'\r') {
            self.bytes.pop();
        }
        Ok(is_there)
    }

    fn cells(&self) -> Result<Vec<String>, QueryError> {
        let text = std::str::from_utf8(&self.bytes);
        let text = text.map_err(|_| refused(self.row - 1, "it is not UTF-8"))?;
        let text = match self.row {
            1 => text.strip_prefix('\u{feff}').unwrap_or(text),
            _ => text,
        };
        let mut cells = Vec::new();
        let mut rest = text;
        loop {
            let (cell, after) = match rest.strip_prefix('"') {
                None => match rest.split_once(',') {
                    Some((cell, after)) => (cell.to_owned(), Some(after)),
                    None => (rest.to_owned(), None),
                },
                Some(quoted) => self.quoted(quoted)?,
            };
            cells.push(cell);
            match after {
                Some(after) => rest = after,
                None => return Ok(cells),
            }
        }
    }

    /// A cell behind its quote, and what is behind its comma.
    fn quoted<'t>(&self, text: &'t str) -> Result<(String, Option<&'t str>), QueryError> {
        let mut cell = String::new();
        let mut rest = text;
        loop {
            let Some((part, after)) = rest.split_once('"') else {
                return Err(refused(self.row - 1, "a quote is open at its end"));
            };
            cell.push_str(part);
            if let Some(after) = after.strip_prefix('"') {
                cell.push('"');
                rest = after;
                continue;
            }
            return match after.strip_prefix(',') {
                Some(after) => Ok((cell, Some(after))),
                None if after.is_empty() => Ok((cell, None)),
                None => Err(refused(self.row - 1, "text stands behind a closing quote")),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: BindingsFormat, text: &str) -> Result<(Vec<String>, Vec<Binding>), String> {
        let bindings = read_bindings(format, text.as_bytes()).map_err(|error| error.to_string())?;
        let rows: Result<Vec<Binding>, QueryError> = bindings.rows.collect();
        let rows = rows.map_err(|error| error.to_string())?;
        Ok((bindings.parameters, rows))
    }

    fn row(name: Option<&str>, terms: &[&str]) -> Binding {
        let parse = |text: &&str| term(text, &ParseOptions::default()).expect("a term");
        Binding {
            name: name.map(str::to_owned),
            terms: terms.iter().map(parse).collect(),
        }
    }

    #[test]
    fn three_formats_say_the_same() {
        let csv =
            "name,?user,tag\r\nalice,http://e/1,<http://e/t>\n\n\"b, \"\"c\"\"\",http://e/2,a\n";
        let tsv = "?name\t?user\t?tag\n\"alice\"\t<http://e/1>\t<http://e/t>\n\"b, \\\"c\\\"\"\t<http://e/2>\t\"a\"\n";
        let json = r#"{"head":{"vars":["name","user","tag"]},"results":{"bindings":[
            {"name":{"type":"literal","value":"alice"},"user":{"type":"uri","value":"http://e/1"},
             "tag":{"type":"uri","value":"http://e/t"}},
            {"name":{"type":"literal","value":"b, \"c\""},"user":{"type":"uri","value":"http://e/2"},
             "tag":{"type":"literal","value":"a"}}]}}"#;
        let rows = vec![
            row(Some("alice"), &["<http://e/1>", "<http://e/t>"]),
            row(Some("b, \"c\""), &["<http://e/2>", "\"a\""]),
        ];
        let expected = Ok((vec!["user".to_owned(), "tag".to_owned()], rows));
        assert_eq!(read(BindingsFormat::Csv, csv), expected);
        assert_eq!(read(BindingsFormat::Tsv, tsv), expected);
        assert_eq!(read(BindingsFormat::Json, json), expected);
    }

    #[test]
    fn cells_of_csv_are_terms() {
        let text = "x\n\"\"\"1\"\"^^<http://www.w3.org/2001/XMLSchema#integer>\"\nurn:a:b\n12:30\n\"two\nlines\"\n";
        let (_, rows) = read(BindingsFormat::Csv, text).expect("it is read");
        let expected = ["1", "<urn:a:b>", "\"12:30\"", "\"two\\nlines\""];
        assert_eq!(rows, expected.map(|it| row(None, &[it])));
    }

    #[test]
    fn what_is_no_table_says_where() {
        let check = |text: &str, expected: &str| {
            let error = read(BindingsFormat::Csv, text).expect_err("it is refused");
            assert_eq!(error, expected);
        };
        check(
            "",
            "the table of bindings: its header names no parameter, or one without a name (the first line has the names of the query's variables)",
        );
        check(
            "a\n\"b\n",
            "row 1 of the bindings: a quote is open at its end",
        );
        check(
            "a\nb\n\"b\"c\n",
            "row 2 of the bindings: text stands behind a closing quote",
        );
        check(
            "a,b\nx,\n",
            "row 1 of the bindings: a cell has no term, or a blank node",
        );
    }
}
