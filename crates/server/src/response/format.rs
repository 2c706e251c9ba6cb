//! The writer of one answer, whatever form the query has: solutions, a boolean or a graph. What is said of its format
//! is [`AnswerFormat`]'s.

use somersault::output::{Output, ResultWriter, Rows, Sink};
use somersault::{AnswerKind, GraphWriter};
use std::io;

pub(crate) use somersault::{AnswerFormat, LastRecord};

/// The canonical media types of all formats for this kind of answer.
pub(crate) fn offered(kind: AnswerKind) -> Vec<&'static str> {
    let is_of_kind = |format: &AnswerFormat| match format {
        AnswerFormat::Rows(_) => matches!(kind, AnswerKind::Solutions | AnswerKind::Boolean),
        AnswerFormat::Graph(_) => kind == AnswerKind::Graph,
    };
    let formats = AnswerFormat::ALL.into_iter().filter(is_of_kind);
    formats.map(|format| format.accepted_types()[0]).collect()
}

/// The writer of either.
pub(crate) enum AnswerWriter<W: Output> {
    Rows(Box<ResultWriter<W>>),
    Graph(GraphWriter<W>),
}

impl<W: Output> AnswerWriter<W> {
    /// A writer in this format.
    pub fn new(format: AnswerFormat, output: W) -> AnswerWriter<W> {
        match format {
            AnswerFormat::Rows(format) => {
                AnswerWriter::Rows(Box::new(ResultWriter::new(format, output)))
            }
            AnswerFormat::Graph(format) => AnswerWriter::Graph(GraphWriter::new(format, output)),
        }
    }

    fn sink(&mut self) -> &mut dyn Sink {
        match self {
            AnswerWriter::Rows(writer) => &mut **writer,
            AnswerWriter::Graph(writer) => writer,
        }
    }
}

impl<W: Output> Sink for AnswerWriter<W> {
    fn warnings(&mut self, warnings: &[String]) -> io::Result<()> {
        self.sink().warnings(warnings)
    }

    fn head(&mut self, variables: &[String]) -> io::Result<()> {
        self.sink().head(variables)
    }

    fn graph_head(&mut self, prefixes: &[(String, String)]) -> io::Result<()> {
        self.sink().graph_head(prefixes)
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        self.sink().rows(rows)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.sink().finish()
    }

    fn boolean(&mut self, value: bool) -> io::Result<()> {
        self.sink().boolean(value)
    }
}
