//! The formats that an answer can be printed in, and which answers each of them can hold.
//!
//! Solutions and booleans have the formats of SPARQL results, graphs those of RDF. A table shows
//! either. Which one an answer is, is known from the query's form before anything runs, so a
//! format that cannot hold it is refused at once.

use crate::text::Form;
use clap::ValueEnum;
use somersault::GraphFormat;
use somersault::results::ResultFormat;

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnswerFormat {
    /// A table for people
    Table,
    /// SPARQL results in JSON
    Json,
    /// SPARQL results in XML
    Xml,
    /// CSV
    Csv,
    /// TSV
    Tsv,
    /// Graphs as N-Triples
    #[value(aliases = ["nt", "n-triples"])]
    Ntriples,
    /// Graphs as Turtle
    #[value(alias = "ttl")]
    Turtle,
    /// Graphs as RDF/XML
    #[value(aliases = ["rdf", "rdf-xml", "rdf/xml", "owl"])]
    Rdfxml,
    /// Graphs as JSON-LD
    #[value(alias = "json-ld")]
    Jsonld,
    /// Graphs as N-Quads
    #[value(aliases = ["nq", "n-quads"])]
    Nquads,
    /// Graphs as TriG
    Trig,
}

/// What can hold an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Both.
    Any,
    /// Solutions and booleans.
    Results,
    /// Graphs.
    Graph,
}

impl AnswerFormat {
    /// What it can hold.
    pub fn family(self) -> Family {
        use AnswerFormat as F;
        match self {
            F::Table => Family::Any,
            F::Json | F::Xml | F::Csv | F::Tsv => Family::Results,
            F::Ntriples | F::Turtle | F::Rdfxml | F::Jsonld | F::Nquads | F::Trig => Family::Graph,
        }
    }

    /// The name that flags have for it.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// What a format is asked to hold and cannot, as a sentence; `None` if it can. Texts without a
    /// form get their error from whoever parses them.
    pub fn misfit(self, form: Option<Form>) -> Option<String> {
        let form = form?;
        let (answer, formats) = match (self.family(), form.is_graph()) {
            (Family::Results, true) => (
                "a graph",
                "ntriples, turtle, rdfxml, jsonld, nquads, trig or table",
            ),
            (Family::Graph, false) => ("no graph", "json, xml, csv, tsv or table"),
            _ => return None,
        };
        let (name, keyword) = (self.name(), form.keyword());
        Some(format!(
            "{name} cannot hold the answer of {keyword}, which is {answer}; take {formats}"
        ))
    }

    /// The format of results that it is.
    pub fn results(self) -> Option<ResultFormat> {
        Some(match self {
            AnswerFormat::Json => ResultFormat::Json,
            AnswerFormat::Xml => ResultFormat::Xml,
            AnswerFormat::Csv => ResultFormat::Csv,
            AnswerFormat::Tsv => ResultFormat::Tsv,
            _ => return None,
        })
    }

    /// The format of graphs that it is.
    pub fn graph(self) -> Option<GraphFormat> {
        Some(match self {
            AnswerFormat::Ntriples => GraphFormat::NTriples,
            AnswerFormat::Turtle => GraphFormat::Turtle,
            AnswerFormat::Rdfxml => GraphFormat::RdfXml,
            AnswerFormat::Jsonld => GraphFormat::JsonLd,
            AnswerFormat::Nquads => GraphFormat::NQuads,
            AnswerFormat::Trig => GraphFormat::TriG,
            _ => return None,
        })
    }

    /// The media types that say it, the canonical one first; none for a table.
    pub fn media_types(self) -> &'static [&'static str] {
        let results = self.results().map(ResultFormat::accepted_types);
        let graph = || self.graph().map(GraphFormat::accepted_types);
        results.or_else(graph).unwrap_or_default()
    }
}

/// The format of an answer for which none was asked: what people read on a terminal, what programs
/// read elsewhere.
pub fn default_format(form: Option<Form>, for_people: bool) -> AnswerFormat {
    match (form.is_some_and(Form::is_graph), for_people) {
        (true, true) => AnswerFormat::Turtle,
        (true, false) => AnswerFormat::Ntriples,
        (false, true) => AnswerFormat::Table,
        (false, false) => AnswerFormat::Tsv,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_hold_what_they_can() {
        let said = AnswerFormat::Turtle.misfit(Some(Form::Ask)).unwrap();
        assert!(
            said.contains("turtle cannot hold the answer of ASK"),
            "{said}"
        );
        let said = AnswerFormat::Csv.misfit(Some(Form::Describe)).unwrap();
        assert!(said.contains("jsonld"), "{said}");
        for form in [Form::Select, Form::Construct] {
            assert_eq!(AnswerFormat::Table.misfit(Some(form)), None);
            for for_people in [true, false] {
                let format = default_format(Some(form), for_people);
                assert_eq!(format.misfit(Some(form)), None);
            }
        }
        assert_eq!(AnswerFormat::Csv.misfit(None), None);
    }

    #[test]
    fn every_format_but_the_table_is_one_of_the_engine() {
        for format in AnswerFormat::value_variants() {
            let (results, graph) = (format.results().is_some(), format.graph().is_some());
            assert_eq!(results, format.family() == Family::Results);
            assert_eq!(graph, format.family() == Family::Graph);
            assert_eq!(
                format.media_types().is_empty(),
                format.family() == Family::Any
            );
        }
    }
}
