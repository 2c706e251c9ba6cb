//! Answers on their way out: batches of decoded rows, and the writers that print them.
//!
//! The engine pushes batches into a [`Sink`], so memory does not grow with the result and a slow
//! reader slows the walk down (back-pressure) instead of filling a buffer. [`ResultWriter`] is the
//! sink that writes the W3C formats. An answer is
//! complete or an error: a writer that is dropped without [`Sink::finish`] leaves a body that no parser
//! takes for whole where the format allows that (JSON, XML); CSV and TSV cannot show it, so the edge must
//! break the connection.

pub(crate) mod answer;
pub(crate) mod construct;
pub(crate) mod decode;
mod escape;
mod format;
pub(crate) mod graph;
mod rows;
pub(crate) mod statement;
mod text;
mod whole;
mod xml;

use oxrdf::TermRef;
use statement::{not_a_triple, triple};
use std::io::{self, Write};
pub(crate) use text::{TextFormat, TextWriter};

pub use format::{AnswerFormat, GraphFormat, LastRecord, ResultFormat};
pub use rows::Rows;
pub use whole::Whole;

/// Takes an answer as it comes. [`Sink::warnings`] perhaps, then either [`Sink::boolean`], or [`Sink::head`] or [`Sink::graph_head`],
/// any number of [`Sink::rows`], [`Sink::finish`]. An error ends the query.
pub trait Sink {
    /// What the query probably did not mean, a sentence each; once, before anything else, and only where
    /// there is some.
    fn warnings(&mut self, _warnings: &[String]) -> io::Result<()> {
        Ok(())
    }
    /// Solutions begin: the names of the projected variables, once, before any row.
    fn head(&mut self, variables: &[String]) -> io::Result<()>;
    /// A graph begins: rows are triples from now on, in three columns without unbound cells. The
    /// prefixes (without colon) with their IRIs are for abbreviating.
    fn graph_head(&mut self, prefixes: &[(String, String)]) -> io::Result<()>;
    /// Some rows.
    fn rows(&mut self, rows: &Rows) -> io::Result<()>;
    /// The end of a complete answer.
    fn finish(&mut self) -> io::Result<()>;
    /// The whole answer of an `ASK`.
    fn boolean(&mut self, value: bool) -> io::Result<()>;
}

/// Where the bytes of an answer go.
pub trait Output: Write {
    /// Takes all bytes of a buffer, which is empty afterwards. Copies them; whoever can keep the buffer
    /// itself, and leave another in its place, saves that.
    fn hand_over(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.write_all(bytes)?;
        bytes.clear();
        Ok(())
    }
}

impl Output for Vec<u8> {}

impl Output for io::Sink {}

impl Output for Box<dyn Write + '_> {}

impl<O: Output> Output for &mut O {
    fn hand_over(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        (**self).hand_over(bytes)
    }
}

/// Writes an answer in one of the W3C formats.
pub struct ResultWriter<W: Output> {
    format: ResultFormat,
    state: State<W>,
    /// Bytes on their way to the output.
    text: Vec<u8>,
    /// What stands beside the head, where the format has room for it.
    warnings: Vec<String>,
}

enum State<W: Output> {
    Waiting(W),
    Text(W, TextWriter),
    Done(W),
    Broken,
}

impl<W: Output> ResultWriter<W> {
    /// A writer; buffering is the caller's choice of `output`, which gets a batch of rows at once.
    pub fn new(format: ResultFormat, output: W) -> ResultWriter<W> {
        ResultWriter {
            format,
            state: State::Waiting(output),
            text: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The output, once the answer is complete.
    pub fn into_output(self) -> Option<W> {
        match self.state {
            State::Done(output) | State::Waiting(output) => Some(output),
            State::Text(..) | State::Broken => None,
        }
    }

    fn out_of_order() -> io::Error {
        io::Error::other("parts of an answer came out of order")
    }

    fn take(&mut self) -> State<W> {
        self.text.clear();
        std::mem::replace(&mut self.state, State::Broken)
    }
}

impl<W: Output> Sink for ResultWriter<W> {
    fn warnings(&mut self, warnings: &[String]) -> io::Result<()> {
        self.warnings = warnings.to_vec();
        Ok(())
    }

    fn head(&mut self, variables: &[String]) -> io::Result<()> {
        let State::Waiting(mut output) = self.take() else {
            return Err(Self::out_of_order());
        };
        let writer = TextWriter::new(
            self.format.text(),
            variables,
            &self.warnings,
            &mut self.text,
        )?;
        output.hand_over(&mut self.text)?;
        self.state = State::Text(output, writer);
        Ok(())
    }

    fn graph_head(&mut self, _prefixes: &[(String, String)]) -> io::Result<()> {
        Err(io::Error::other(
            "a graph cannot be written in a format of solutions",
        ))
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        match &mut self.state {
            State::Text(output, writer) => {
                self.text.clear();
                writer.rows(rows, &mut self.text)?;
                output.hand_over(&mut self.text)
            }
            _ => Err(Self::out_of_order()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        let State::Text(mut output, writer) = self.take() else {
            return Err(Self::out_of_order());
        };
        writer.finish(&mut self.text);
        output.hand_over(&mut self.text)?;
        output.flush()?;
        self.state = State::Done(output);
        Ok(())
    }

    fn boolean(&mut self, value: bool) -> io::Result<()> {
        let State::Waiting(mut output) = self.take() else {
            return Err(Self::out_of_order());
        };
        text::boolean(self.format.text(), value, &self.warnings, &mut self.text);
        output.hand_over(&mut self.text)?;
        output.flush()?;
        self.state = State::Done(output);
        Ok(())
    }
}

/// A sink that keeps everything, for library users and tests with small answers.
#[derive(Debug, Default, PartialEq)]
pub struct Collected {
    /// The projected variables.
    pub variables: Vec<String>,
    /// The rows, a cell per variable.
    pub rows: Vec<Vec<Option<oxrdf::Term>>>,
    /// The answer of an `ASK`.
    pub boolean: Option<bool>,
    /// The triples of a graph; `None` where the answer is none.
    pub triples: Option<Vec<oxrdf::Triple>>,
}

impl Sink for Collected {
    fn head(&mut self, variables: &[String]) -> io::Result<()> {
        self.variables = variables.to_vec();
        Ok(())
    }

    fn graph_head(&mut self, _prefixes: &[(String, String)]) -> io::Result<()> {
        self.triples = Some(Vec::new());
        Ok(())
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        if let Some(triples) = &mut self.triples {
            for row in 0..rows.len {
                let triple = triple(rows, row);
                triples.push(triple.ok_or_else(not_a_triple)?);
            }
            return Ok(());
        }
        for row in 0..rows.len {
            self.rows.push(
                rows.row(row)
                    .map(|cell| cell.map(TermRef::into_owned))
                    .collect(),
            );
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn boolean(&mut self, value: bool) -> io::Result<()> {
        self.boolean = Some(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdf::TermBuffer;

    fn written(format: ResultFormat) -> String {
        let mut first = TermBuffer::new();
        first.push_iri("http://e/a");
        first.push_unbound();
        let mut second = TermBuffer::new();
        second.push_simple("x");
        second.push_language("y", "en", None);
        let rows = Rows {
            columns: vec![first, second],
            len: 2,
        };
        let mut writer = ResultWriter::new(format, Vec::new());
        writer.head(&["s".to_owned(), "o".to_owned()]).unwrap();
        writer.rows(&rows).unwrap();
        writer.finish().unwrap();
        String::from_utf8(writer.into_output().unwrap()).unwrap()
    }

    #[test]
    fn rows_in_each_format() {
        assert_eq!(
            written(ResultFormat::Tsv),
            "?s\t?o\n<http://e/a>\t\"x\"\n\t\"y\"@en\n"
        );
        assert_eq!(written(ResultFormat::Csv), "s,o\r\nhttp://e/a,x\r\n,y\r\n");
        assert!(written(ResultFormat::Json).contains(r#""xml:lang":"en""#));
        assert!(written(ResultFormat::Xml).ends_with("</sparql>"));
    }

    #[test]
    fn warnings_stand_beside_the_head_of_json() {
        let warnings = ["no statement has :\"q\"".to_owned(), "x".to_owned()];
        let member = r#""warnings":["no statement has :\"q\"","x"]"#;
        let mut writer = ResultWriter::new(ResultFormat::Json, Vec::new());
        writer.warnings(&warnings).unwrap();
        writer.boolean(false).unwrap();
        let text = String::from_utf8(writer.into_output().unwrap()).unwrap();
        assert_eq!(text, format!(r#"{{"head":{{}},{member},"boolean":false}}"#));
        for format in ResultFormat::ALL {
            let mut writer = ResultWriter::new(format, Vec::new());
            writer.warnings(&warnings).unwrap();
            writer.head(&["s".to_owned()]).unwrap();
            writer.finish().unwrap();
            let text = String::from_utf8(writer.into_output().unwrap()).unwrap();
            let is_json = format == ResultFormat::Json;
            assert_eq!(text.contains("no statement"), is_json, "{text}");
            if is_json {
                let start = format!(r#"{{"head":{{"vars":["s"]}},{member},"results":"#);
                assert!(text.starts_with(&start), "{text}");
            }
        }
    }

    #[test]
    fn a_boolean() {
        let mut writer = ResultWriter::new(ResultFormat::Json, Vec::new());
        writer.boolean(true).unwrap();
        let text = String::from_utf8(writer.into_output().unwrap()).unwrap();
        assert_eq!(text, r#"{"head":{},"boolean":true}"#);
    }

    #[test]
    fn parts_out_of_order_are_errors() {
        let mut writer = ResultWriter::new(ResultFormat::Csv, Vec::new());
        assert!(writer.finish().is_err());
    }
}
