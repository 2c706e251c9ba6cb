//! An answer on its way to whoever reads it, in one format, whatever it comes from.
//!
//! The engine and endpoints push into it as into any sink; an endpoint's answer that has the right
//! format already is passed through. It counts rows, and ends what it prints with the end of a
//! line, as files and terminals want it. What stands before the rows is held back until the first of
//! them, or the end: a query that fails before that has printed nothing. Warnings go to standard error, a
//! line each, and into JSON besides.

use crate::exit::Code;
use crate::format::AnswerFormat;
use crate::say::say;
use crate::table::{Style, Table};
use crate::trouble::Trouble;
use somersault::GraphWriter;
use somersault::output::{ResultWriter, Rows, Sink};
use std::io::{self, Read, Write};

/// Where it is printed.
pub type Output<'a> = Box<dyn Write + 'a>;

/// Prints one answer.
pub struct Printer<'a> {
    format: AnswerFormat,
    style: Style,
    writer: Writer<'a>,
    head: Option<Head>,
    warnings: Vec<String>,
    rows: Option<u64>,
}

/// What comes before the rows.
enum Head {
    Solutions(Vec<String>),
    Graph(Vec<(String, String)>),
}

enum Writer<'a> {
    Waiting(Output<'a>),
    Table(Table<Output<'a>>),
    Results(Box<ResultWriter<Output<'a>>>),
    Graph(Box<GraphWriter<Output<'a>>>),
    Done,
}

impl<'a> Printer<'a> {
    /// A printer; buffering is the caller's choice of `output`. `style` is that of tables.
    pub fn new(format: AnswerFormat, style: Style, output: Output<'a>) -> Printer<'a> {
        Printer {
            format,
            style,
            writer: Writer::Waiting(output),
            head: None,
            warnings: Vec::new(),
            rows: Some(0),
        }
    }

    /// The format.
    pub fn format(&self) -> AnswerFormat {
        self.format
    }

    /// Rows or triples so far; `None` where an answer was passed through uncounted.
    pub fn count(&self) -> Option<u64> {
        self.rows
    }

    /// Passes an answer through that is in the format already.
    pub fn pass(&mut self, body: &mut dyn Read) -> Result<(), Trouble> {
        const BUFFER_BYTES: usize = 64 << 10;
        let mut output = self.take_output()?;
        self.rows = None;
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut last = b'\n';
        loop {
            let len = body.read(&mut buffer).map_err(|error| {
                let message = format!("the answer broke off: {error}");
                Trouble::new(Code::Failed, message)
            })?;
            let Some(end) = buffer[..len].last() else {
                break;
            };
            last = *end;
            output.write_all(&buffer[..len])?;
        }
        if last != b'\n' {
            output.write_all(b"\n")?;
        }
        Ok(output.flush()?)
    }

    fn take_output(&mut self) -> io::Result<Output<'a>> {
        match std::mem::replace(&mut self.writer, Writer::Done) {
            Writer::Waiting(output) => Ok(output),
            _ => Err(io::Error::other("parts of an answer came out of order")),
        }
    }

    /// The sink of the format, for an answer that begins.
    fn begin(&mut self) -> io::Result<&mut dyn Sink> {
        let output = self.take_output()?;
        self.writer = if let Some(format) = self.format.results() {
            Writer::Results(Box::new(ResultWriter::new(format, output)))
        } else if let Some(format) = self.format.graph() {
            Writer::Graph(Box::new(GraphWriter::new(format, output)))
        } else {
            Writer::Table(Table::new(output, self.style.clone()))
        };
        let warnings = std::mem::take(&mut self.warnings);
        let sink = self.sink()?;
        if !warnings.is_empty() {
            sink.warnings(&warnings)?;
        }
        Ok(sink)
    }

    fn sink(&mut self) -> io::Result<&mut dyn Sink> {
        match &mut self.writer {
            Writer::Table(table) => Ok(table),
            Writer::Results(writer) => Ok(&mut **writer),
            Writer::Graph(writer) => Ok(&mut **writer),
            Writer::Waiting(_) | Writer::Done => {
                Err(io::Error::other("parts of an answer came out of order"))
            }
        }
    }

    /// The sink, its head printed.
    fn begun(&mut self) -> io::Result<&mut dyn Sink> {
        let head = self.head.take();
        let sink = self.sink()?;
        match head {
            Some(Head::Solutions(variables)) => sink.head(&variables)?,
            Some(Head::Graph(prefixes)) => sink.graph_head(&prefixes)?,
            None => {}
        }
        Ok(sink)
    }

    /// The end of the last line.
    fn end(&mut self, needs_line_end: bool) -> io::Result<()> {
        let output = match std::mem::replace(&mut self.writer, Writer::Done) {
            Writer::Results(writer) => writer.into_output(),
            Writer::Graph(writer) => writer.into_output(),
            Writer::Table(_) | Writer::Waiting(_) | Writer::Done => None,
        };
        if let Some(mut output) = output {
            if needs_line_end {
                output.write_all(b"\n")?;
            }
            output.flush()?;
        }
        Ok(())
    }
}

impl Sink for Printer<'_> {
    fn warnings(&mut self, warnings: &[String]) -> io::Result<()> {
        assert!(
            matches!(self.writer, Writer::Waiting(_)),
            "warnings come before the answer"
        );
        for warning in warnings {
            say!("warning: {warning}");
        }
        self.warnings = warnings.to_vec();
        Ok(())
    }

    fn head(&mut self, variables: &[String]) -> io::Result<()> {
        self.begin()?;
        self.head = Some(Head::Solutions(variables.to_vec()));
        Ok(())
    }

    fn graph_head(&mut self, prefixes: &[(String, String)]) -> io::Result<()> {
        self.begin()?;
        self.head = Some(Head::Graph(prefixes.to_vec()));
        Ok(())
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        self.rows = self.rows.map(|count| count + rows.len as u64);
        self.begun()?.rows(rows)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.begun()?.finish()?;
        self.end(!self.format.ends_line())
    }

    fn boolean(&mut self, value: bool) -> io::Result<()> {
        self.rows = Some(1);
        self.begin()?.boolean(value)?;
        self.end(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use somersault::{GraphFormat, ResultFormat};

    const CSV: AnswerFormat = AnswerFormat::of_rows(ResultFormat::Csv);

    fn printed(format: AnswerFormat, print: impl Fn(&mut Printer<'_>)) -> String {
        let mut text = Vec::new();
        let mut printer = Printer::new(format, Style::default(), Box::new(&mut text));
        print(&mut printer);
        drop(printer);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn every_answer_ends_its_line() {
        let boolean = |printer: &mut Printer<'_>| printer.boolean(true).unwrap();
        let others = ResultFormat::ALL.into_iter().map(AnswerFormat::of_rows);
        for format in std::iter::once(AnswerFormat::Table).chain(others) {
            let text = printed(format, boolean);
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{text:?}");
        }
        for body in ["true", "true\n", ""] {
            let text = printed(CSV, |printer| {
                printer.pass(&mut body.as_bytes()).unwrap();
                assert_eq!(printer.count(), None);
            });
            assert_eq!(text, if body.is_empty() { "" } else { "true\n" });
        }
    }

    #[test]
    fn nothing_is_printed_before_the_first_row_or_the_end() {
        for format in [CSV, AnswerFormat::JSON, AnswerFormat::XML] {
            let head = |printer: &mut Printer<'_>| printer.head(&["x".to_owned()]).unwrap();
            assert_eq!(printed(format, head), "");
            let whole = |printer: &mut Printer<'_>| {
                printer.head(&["x".to_owned()]).unwrap();
                printer.finish().unwrap();
            };
            assert!(printed(format, whole).contains('x'));
        }
        let graph = |printer: &mut Printer<'_>| {
            let prefix = ("e".to_owned(), "http://e/".to_owned());
            printer.graph_head(&[prefix]).unwrap();
        };
        assert_eq!(
            printed(AnswerFormat::of_graphs(GraphFormat::Turtle), graph),
            ""
        );
    }

    #[test]
    fn parts_out_of_order_are_errors() {
        let mut printer = Printer::new(CSV, Style::default(), Box::new(io::sink()));
        assert!(printer.finish().is_err());
        printer.boolean(true).unwrap();
        assert!(printer.boolean(true).is_err());
        let mut graph = Printer::new(
            AnswerFormat::of_graphs(GraphFormat::TriG),
            Style::default(),
            Box::new(io::sink()),
        );
        assert!(graph.boolean(true).is_err());
    }
}
