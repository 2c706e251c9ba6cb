//! The format of one answer, whatever form the query has: solutions, a boolean or a graph.

use somersault::results::{Output, ResultFormat, ResultWriter, Rows, Sink};
use somersault::{AnswerKind, GraphFormat, GraphWriter};
use std::io;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerFormat {
    /// Solutions, or a boolean.
    Rows(ResultFormat),
    /// Triples.
    Graph(GraphFormat),
}

/// How a reason is written after part of an answer has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastRecord {
    /// Nowhere: the format has no room, what stands in it is read as data.
    None,
    /// As a member of the JSON object, after its rows.
    Member,
    /// As an XML comment.
    Comment,
    /// As a line that begins with `#`, which is a comment there.
    Line,
}

impl AnswerFormat {
    /// The media type sent with the answer.
    pub fn media_type(self) -> &'static str {
        match self {
            AnswerFormat::Rows(format) => format.media_type(),
            AnswerFormat::Graph(format) => format.media_type(),
        }
    }

    /// Whether a failure in the middle of an answer is told well enough by its breaking off. Of JSON-LD, which
    /// lacks triple terms, nobody should get a part and then hear that there is no such thing.
    pub fn can_be_cut(self) -> bool {
        self != AnswerFormat::Graph(GraphFormat::JsonLd)
    }

    /// Where a reason can be put.
    pub fn last_record(self) -> LastRecord {
        match self {
            AnswerFormat::Rows(ResultFormat::Json) => LastRecord::Member,
            AnswerFormat::Rows(ResultFormat::Csv | ResultFormat::Tsv)
            | AnswerFormat::Graph(GraphFormat::JsonLd) => LastRecord::None,
            AnswerFormat::Rows(ResultFormat::Xml) | AnswerFormat::Graph(GraphFormat::RdfXml) => {
                LastRecord::Comment
            }
            AnswerFormat::Graph(
                GraphFormat::Turtle
                | GraphFormat::NTriples
                | GraphFormat::NQuads
                | GraphFormat::TriG,
            ) => LastRecord::Line,
        }
    }
}

/// The canonical media types of all formats for this kind of answer.
pub(crate) fn offered(kind: AnswerKind) -> Vec<&'static str> {
    match kind {
        AnswerKind::Graph => GraphFormat::ALL
            .iter()
            .map(|format| format.accepted_types()[0])
            .collect(),
        AnswerKind::Solutions | AnswerKind::Boolean => ResultFormat::ALL
            .iter()
            .map(|format| format.accepted_types()[0])
            .collect(),
    }
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
