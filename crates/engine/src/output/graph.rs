//! Answers that are graphs: their formats, and the writer that prints them as they come.
//!
//! `CONSTRUCT`, `DESCRIBE` and the Graph Store Protocol give triples in no particular order; each
//! format is written as a stream, so memory does not grow with the graph (Turtle abbreviates only
//! while a subject lasts). N-Triples, and N-Quads, which without named graphs is the same, are written
//! by ourselves, column by column; the others by the library. A triple that a format cannot carry (a triple term in JSON-LD, a predicate
//! without a local name in RDF/XML) ends the answer with an error that names it; nothing is left out.

use crate::output::statement::{not_a_triple, quad};
use crate::output::{Output, Rows, Sink, TextFormat, TextWriter};
use rdf::format::{Writer, writer_with_prefixes};
use std::io;

pub use crate::output::GraphFormat;

/// Writes a graph in one of its formats.
pub struct GraphWriter<W: Output> {
    format: GraphFormat,
    state: State<W>,
    /// Bytes on their way to the output.
    text: Vec<u8>,
}

enum State<W: Output> {
    Waiting(W),
    Text(W, TextWriter),
    Writing(Box<Writer<W>>),
    Done(W),
    Broken,
}

impl<W: Output> GraphWriter<W> {
    /// A writer; buffering is the caller's choice of `output`.
    pub fn new(format: GraphFormat, output: W) -> GraphWriter<W> {
        GraphWriter {
            format,
            state: State::Waiting(output),
            text: Vec::new(),
        }
    }

    /// The output, once the answer is complete.
    pub fn into_output(self) -> Option<W> {
        match self.state {
            State::Done(output) | State::Waiting(output) => Some(output),
            State::Text(..) | State::Writing(_) | State::Broken => None,
        }
    }
}

impl<W: Output> Sink for GraphWriter<W> {
    fn head(&mut self, _variables: &[String]) -> io::Result<()> {
        Err(io::Error::other(
            "solutions cannot be written in a graph format",
        ))
    }

    fn graph_head(&mut self, prefixes: &[(String, String)]) -> io::Result<()> {
        let State::Waiting(output) = std::mem::replace(&mut self.state, State::Broken) else {
            return Err(out_of_order());
        };
        if self.format.is_text() {
            let writer = TextWriter::new(TextFormat::NTriples, &[], &[], &mut self.text)?;
            self.state = State::Text(output, writer);
            return Ok(());
        }
        let prefixes: Vec<(&str, &str)> = prefixes
            .iter()
            .map(|(prefix, iri)| (prefix.as_str(), iri.as_str()))
            .collect();
        let writer = writer_with_prefixes(self.format.library(), output, &prefixes);
        self.state = State::Writing(Box::new(writer));
        Ok(())
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        match &mut self.state {
            State::Text(output, writer) => {
                if rows.columns.len() > 3 && !self.format.has_graphs() {
                    return Err(not_a_triple());
                }
                self.text.clear();
                writer.rows(rows, &mut self.text)?;
                output.hand_over(&mut self.text)
            }
            State::Writing(writer) => {
                for row in 0..rows.len {
                    writer.quad(quad(rows, row).ok_or_else(not_a_triple)?)?;
                }
                Ok(())
            }
            _ => Err(out_of_order()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        let mut output = match std::mem::replace(&mut self.state, State::Broken) {
            State::Text(output, _) => output,
            State::Writing(writer) => writer.finish()?,
            _ => return Err(out_of_order()),
        };
        output.flush()?;
        self.state = State::Done(output);
        Ok(())
    }

    fn boolean(&mut self, _value: bool) -> io::Result<()> {
        Err(io::Error::other(
            "a boolean cannot be written in a graph format",
        ))
    }
}

fn out_of_order() -> io::Error {
    io::Error::other("parts of an answer came out of order")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdf::TermBuffer;

    fn written(format: GraphFormat) -> String {
        let mut columns = vec![TermBuffer::new(), TermBuffer::new(), TermBuffer::new()];
        columns[0].push_iri("http://e/a");
        columns[1].push_iri("http://e/p");
        columns[2].push_simple("x");
        let mut writer = GraphWriter::new(format, Vec::new());
        let prefixes = [("e".to_owned(), "http://e/".to_owned())];
        writer.graph_head(&prefixes).unwrap();
        writer.rows(&Rows { columns, len: 1 }).unwrap();
        writer.finish().unwrap();
        String::from_utf8(writer.into_output().unwrap()).unwrap()
    }

    #[test]
    fn each_format_holds_the_triple() {
        assert_eq!(
            written(GraphFormat::NTriples),
            "<http://e/a> <http://e/p> \"x\" .\n"
        );
        assert!(written(GraphFormat::Turtle).contains("e:a e:p \"x\""));
        for format in GraphFormat::ALL {
            let text = written(format);
            assert!(text.contains('x') && text.contains("http://e/"), "{text}");
        }
    }

    #[test]
    fn solutions_are_refused() {
        let mut writer = GraphWriter::new(GraphFormat::Turtle, Vec::new());
        assert!(writer.head(&[]).is_err());
        assert!(writer.boolean(true).is_err());
        assert!(writer.finish().is_err());
    }
}
