//! The formats of answers: one row each, with all that is said of a format anywhere.
//!
//! The server negotiates by media types and names, the command line by names, and both ask the row what ends an
//! answer and where a reason can be put that comes too late. So neither has a list of its own that a new format
//! could be missing from; how one is written is [`super::ResultWriter`] and [`crate::output::graph::GraphWriter`].

use super::text::TextFormat;
use rdf::format::Format;
use sparesults::QueryResultsFormat;

/// The result formats of the W3C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultFormat {
    /// SPARQL Query Results JSON Format.
    Json,
    /// SPARQL Query Results XML Format.
    Xml,
    /// CSV: lossy, terms as plain text.
    Csv,
    /// TSV: terms in Turtle syntax.
    Tsv,
}

/// The formats of graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    /// RDF 1.2 Turtle.
    Turtle,
    /// RDF 1.2 N-Triples.
    NTriples,
    /// RDF 1.2 XML Syntax.
    RdfXml,
    /// JSON-LD 1.1.
    JsonLd,
    /// RDF 1.2 N-Quads; triples are in the default graph.
    NQuads,
    /// RDF 1.2 TriG; triples are in the default graph.
    TriG,
}

/// The format of one answer, whatever form the query has: solutions, a boolean or a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFormat {
    /// Solutions, or a boolean.
    Rows(ResultFormat),
    /// Triples.
    Graph(GraphFormat),
}

/// How a reason is written after part of an answer has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastRecord {
    /// Nowhere: the format has no room, what stands in it is read as data.
    None,
    /// As a member of the JSON object, after its rows.
    Member,
    /// As an XML comment.
    Comment,
    /// As a line that begins with `#`, which is a comment there.
    Line,
}

/// What is said of a format.
struct Row {
    /// What it is, in a few words.
    about: &'static str,
    /// The media type sent with an answer.
    media_type: &'static str,
    /// The media types accepted for it, without parameters, the canonical one first.
    accepted: &'static [&'static str],
    /// Its names besides media types, the one that flags have first.
    names: &'static [&'static str],
    /// What the names of its files end with.
    ending: &'static str,
    /// Its name behind `http://www.w3.org/ns/formats/`, where the W3C has one.
    w3c: Option<&'static str>,
    /// Where a reason can be put in the middle of an answer.
    last_record: LastRecord,
    /// Whether an answer ends with the end of a line.
    ends_line: bool,
}

impl ResultFormat {
    /// All formats, the preferred one first.
    pub const ALL: [ResultFormat; 4] = [
        ResultFormat::Json,
        ResultFormat::Xml,
        ResultFormat::Csv,
        ResultFormat::Tsv,
    ];

    const fn row(self) -> &'static Row {
        match self {
            ResultFormat::Json => &Row {
                about: "SPARQL results in JSON",
                media_type: "application/sparql-results+json",
                accepted: &[
                    "application/sparql-results+json",
                    "application/json",
                    "text/json",
                ],
                names: &["json", "srj", "sparql-results+json"],
                ending: "json",
                w3c: Some("SPARQL_Results_JSON"),
                last_record: LastRecord::Member,
                ends_line: false,
            },
            ResultFormat::Xml => &Row {
                about: "SPARQL results in XML",
                media_type: "application/sparql-results+xml",
                accepted: &[
                    "application/sparql-results+xml",
                    "application/xml",
                    "text/xml",
                ],
                // `sparql` is Fuseki's.
                names: &["xml", "srx", "sparql-results+xml", "sparql"],
                ending: "xml",
                w3c: Some("SPARQL_Results_XML"),
                last_record: LastRecord::Comment,
                ends_line: false,
            },
            ResultFormat::Csv => &Row {
                about: "CSV",
                media_type: "text/csv; charset=utf-8",
                accepted: &["text/csv"],
                names: &["csv"],
                ending: "csv",
                w3c: Some("SPARQL_Results_CSV"),
                last_record: LastRecord::None,
                ends_line: true,
            },
            ResultFormat::Tsv => &Row {
                about: "TSV",
                media_type: "text/tab-separated-values; charset=utf-8",
                accepted: &["text/tab-separated-values", "text/tsv"],
                names: &["tsv"],
                ending: "tsv",
                w3c: Some("SPARQL_Results_TSV"),
                last_record: LastRecord::None,
                ends_line: true,
            },
        }
    }

    /// The media type sent with an answer.
    pub const fn media_type(self) -> &'static str {
        self.row().media_type
    }

    /// The media types accepted for it, without parameters, the canonical one first.
    pub const fn accepted_types(self) -> &'static [&'static str] {
        self.row().accepted
    }

    /// The format of answers of this media type, which is without parameters and in any case.
    pub fn from_media_type(media_type: &str) -> Option<ResultFormat> {
        let is_of = |format: &ResultFormat| {
            let mut types = format.accepted_types().iter();
            types.any(|known| known.eq_ignore_ascii_case(media_type))
        };
        ResultFormat::ALL.into_iter().find(is_of)
    }

    /// The format with this name, as people and other tools write it, in any case: short, a file's extension, or a
    /// media type without parameters.
    pub fn from_name(name: &str) -> Option<ResultFormat> {
        let name = name.to_ascii_lowercase();
        let is_of = |format: &ResultFormat| {
            let row = format.row();
            row.names.contains(&&*name) || row.accepted.contains(&&*name)
        };
        ResultFormat::ALL.into_iter().find(is_of)
    }

    pub(super) const fn text(self) -> TextFormat {
        match self {
            ResultFormat::Json => TextFormat::Json,
            ResultFormat::Xml => TextFormat::Xml,
            ResultFormat::Csv => TextFormat::Csv,
            ResultFormat::Tsv => TextFormat::Tsv,
        }
    }

    /// What the library that reads answers calls it; `None` of one that it cannot read.
    #[allow(clippy::unnecessary_wraps)] // today it reads all
    pub(crate) const fn library(self) -> Option<QueryResultsFormat> {
        match self {
            ResultFormat::Json => Some(QueryResultsFormat::Json),
            ResultFormat::Xml => Some(QueryResultsFormat::Xml),
            ResultFormat::Csv => Some(QueryResultsFormat::Csv),
            ResultFormat::Tsv => Some(QueryResultsFormat::Tsv),
        }
    }
}

impl GraphFormat {
    /// All formats, the preferred one first.
    pub const ALL: [GraphFormat; 6] = [
        GraphFormat::Turtle,
        GraphFormat::NTriples,
        GraphFormat::RdfXml,
        GraphFormat::JsonLd,
        GraphFormat::NQuads,
        GraphFormat::TriG,
    ];

    #[allow(clippy::too_many_lines, reason = "a table, with a row for each format")]
    const fn row(self) -> &'static Row {
        match self {
            GraphFormat::Turtle => {
                const {
                    &Row {
                        about: "Graphs as Turtle",
                        media_type: "text/turtle; charset=utf-8",
                        accepted: Format::Turtle.media_types(),
                        names: &["turtle", "ttl"],
                        ending: "ttl",
                        w3c: Some("Turtle"),
                        last_record: LastRecord::Line,
                        ends_line: true,
                    }
                }
            }
            GraphFormat::NTriples => {
                const {
                    &Row {
                        about: "Graphs as N-Triples",
                        media_type: "application/n-triples",
                        accepted: Format::NTriples.media_types(),
                        names: &["ntriples", "nt", "n-triples"],
                        ending: "nt",
                        w3c: Some("N-Triples"),
                        last_record: LastRecord::Line,
                        ends_line: true,
                    }
                }
            }
            GraphFormat::RdfXml => {
                const {
                    &Row {
                        about: "Graphs as RDF/XML",
                        media_type: "application/rdf+xml",
                        accepted: Format::RdfXml.media_types(),
                        names: &["rdfxml", "rdf", "rdf-xml", "rdf/xml", "owl"],
                        ending: "rdf",
                        w3c: Some("RDF_XML"),
                        last_record: LastRecord::Comment,
                        ends_line: false,
                    }
                }
            }
            GraphFormat::JsonLd => {
                const {
                    &Row {
                        about: "Graphs as JSON-LD",
                        media_type: "application/ld+json",
                        accepted: Format::JsonLd.media_types(),
                        names: &["jsonld", "json-ld"],
                        ending: "jsonld",
                        w3c: Some("JSON-LD"),
                        last_record: LastRecord::None,
                        ends_line: false,
                    }
                }
            }
            GraphFormat::NQuads => {
                const {
                    &Row {
                        about: "Graphs as N-Quads",
                        media_type: "application/n-quads",
                        accepted: Format::NQuads.media_types(),
                        names: &["nquads", "nq", "n-quads"],
                        ending: "nq",
                        w3c: Some("N-Quads"),
                        last_record: LastRecord::Line,
                        ends_line: true,
                    }
                }
            }
            GraphFormat::TriG => {
                const {
                    &Row {
                        about: "Graphs as TriG",
                        media_type: "application/trig",
                        accepted: Format::TriG.media_types(),
                        names: &["trig"],
                        ending: "trig",
                        w3c: Some("TriG"),
                        last_record: LastRecord::Line,
                        ends_line: true,
                    }
                }
            }
        }
    }

    /// The media type sent with an answer.
    pub const fn media_type(self) -> &'static str {
        self.row().media_type
    }

    /// The media types accepted for it, without parameters, the canonical one first.
    pub const fn accepted_types(self) -> &'static [&'static str] {
        self.row().accepted
    }

    /// Whether it says of which graph a triple is.
    pub const fn has_graphs(self) -> bool {
        matches!(
            self,
            GraphFormat::NQuads | GraphFormat::TriG | GraphFormat::JsonLd
        )
    }

    /// The format with this name, see [`Format::from_name`].
    pub fn from_name(name: &str) -> Option<GraphFormat> {
        let format = Format::from_name(name)?;
        let mut all = GraphFormat::ALL.into_iter();
        all.find(|known| known.library() == format)
    }

    /// Whether we write the format ourselves.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, GraphFormat::NTriples | GraphFormat::NQuads)
    }

    pub(crate) const fn library(self) -> Format {
        match self {
            GraphFormat::Turtle => Format::Turtle,
            GraphFormat::NTriples => Format::NTriples,
            GraphFormat::RdfXml => Format::RdfXml,
            GraphFormat::JsonLd => Format::JsonLd,
            GraphFormat::NQuads => Format::NQuads,
            GraphFormat::TriG => Format::TriG,
        }
    }
}

const _: () = {
    let mut at = 0;
    while at < AnswerFormat::COUNT {
        let row = AnswerFormat::ALL[at].row();
        assert!(!row.names.is_empty(), "flags have a name for each format");
        assert!(!row.accepted.is_empty(), "each format can be asked for");
        at += 1;
    }
};

impl AnswerFormat {
    /// How many there are.
    pub const COUNT: usize = ResultFormat::ALL.len() + GraphFormat::ALL.len();

    /// All formats, those of rows first, the preferred one of either kind first.
    pub const ALL: [AnswerFormat; AnswerFormat::COUNT] = {
        let mut all = [AnswerFormat::Rows(ResultFormat::Json); AnswerFormat::COUNT];
        let mut at = 0;
        while at < AnswerFormat::COUNT {
            all[at] = match at.checked_sub(ResultFormat::ALL.len()) {
                None => AnswerFormat::Rows(ResultFormat::ALL[at]),
                Some(at) => AnswerFormat::Graph(GraphFormat::ALL[at]),
            };
            at += 1;
        }
        all
    };

    const fn row(self) -> &'static Row {
        match self {
            AnswerFormat::Rows(format) => format.row(),
            AnswerFormat::Graph(format) => format.row(),
        }
    }

    /// What it is, in a few words.
    pub const fn about(self) -> &'static str {
        self.row().about
    }

    /// Its names besides media types, the one that flags have first.
    pub const fn names(self) -> &'static [&'static str] {
        self.row().names
    }

    /// The name that flags have for it.
    pub const fn name(self) -> &'static str {
        self.row().names[0]
    }

    /// The media type sent with the answer.
    pub const fn media_type(self) -> &'static str {
        self.row().media_type
    }

    /// The media types accepted for it, without parameters, the canonical one first.
    pub const fn accepted_types(self) -> &'static [&'static str] {
        self.row().accepted
    }

    /// What the names of its files end with.
    pub const fn file_ending(self) -> &'static str {
        self.row().ending
    }

    /// Its name behind `http://www.w3.org/ns/formats/`, where the W3C has one.
    pub const fn w3c_name(self) -> Option<&'static str> {
        self.row().w3c
    }

    /// Where a reason can be put after part of an answer.
    pub const fn last_record(self) -> LastRecord {
        self.row().last_record
    }

    /// Whether an answer ends with the end of a line.
    pub const fn ends_line(self) -> bool {
        self.row().ends_line
    }

    /// Whether a failure in the middle of an answer is told well enough by its breaking off. Of JSON-LD, which
    /// lacks triple terms, nobody should get a part and then hear that there is no such thing.
    pub const fn can_be_cut(self) -> bool {
        !matches!(self, AnswerFormat::Graph(GraphFormat::JsonLd))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_its_format() {
        for format in AnswerFormat::ALL {
            for name in format.names().iter().chain(format.accepted_types()) {
                let found = match format {
                    AnswerFormat::Rows(_) => ResultFormat::from_name(name).map(AnswerFormat::Rows),
                    AnswerFormat::Graph(_) => GraphFormat::from_name(name).map(AnswerFormat::Graph),
                };
                assert_eq!(found, Some(format), "{name}");
            }
            let essence = format.media_type().split(';').next();
            assert_eq!(essence, format.accepted_types().first().copied());
        }
    }

    #[test]
    fn names_of_flags_are_those_of_one_format() {
        let names: std::collections::BTreeSet<_> =
            AnswerFormat::ALL.iter().map(|it| it.name()).collect();
        assert_eq!(names.len(), AnswerFormat::COUNT);
    }
}
