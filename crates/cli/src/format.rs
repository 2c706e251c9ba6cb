//! The formats that an answer can be printed in, and which answers each of them can hold.
//!
//! Solutions and booleans have the formats of SPARQL results, graphs those of RDF. A table shows
//! either. Which one an answer is, is known from the query's form before anything runs, so a
//! format that cannot hold it is refused at once.

use crate::text::Form;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use somersault::output::ResultFormat;
use somersault::{AnswerFormat as Written, GraphFormat};

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFormat {
    /// A table for people.
    Table,
    /// One of the engine's formats.
    Of(Written),
}

impl ValueEnum for AnswerFormat {
    fn value_variants<'a>() -> &'a [AnswerFormat] {
        const ALL: [AnswerFormat; 1 + Written::COUNT] = {
            let mut all = [AnswerFormat::Table; 1 + Written::COUNT];
            let mut at = 0;
            while at < Written::COUNT {
                all[1 + at] = AnswerFormat::Of(Written::ALL[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            AnswerFormat::Table => PossibleValue::new("table").help("A table for people"),
            AnswerFormat::Of(format) => {
                let value = PossibleValue::new(format.name()).help(format.about());
                match format {
                    // The other names of results are those of files and of other servers.
                    Written::Rows(_) => value,
                    Written::Graph(_) => value.aliases(&format.names()[1..]),
                }
            }
        })
    }
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
    /// SPARQL results in JSON.
    pub const JSON: AnswerFormat = AnswerFormat::of_rows(ResultFormat::Json);
    /// SPARQL results in XML.
    pub const XML: AnswerFormat = AnswerFormat::of_rows(ResultFormat::Xml);
    /// TSV.
    pub const TSV: AnswerFormat = AnswerFormat::of_rows(ResultFormat::Tsv);

    /// A format of solutions and booleans.
    pub const fn of_rows(format: ResultFormat) -> AnswerFormat {
        AnswerFormat::Of(Written::Rows(format))
    }

    /// A format of graphs.
    pub const fn of_graphs(format: GraphFormat) -> AnswerFormat {
        AnswerFormat::Of(Written::Graph(format))
    }

    /// What it can hold.
    pub fn family(self) -> Family {
        match self {
            AnswerFormat::Table => Family::Any,
            AnswerFormat::Of(Written::Rows(_)) => Family::Results,
            AnswerFormat::Of(Written::Graph(_)) => Family::Graph,
        }
    }

    /// The name that flags have for it.
    pub fn name(self) -> &'static str {
        match self {
            AnswerFormat::Table => "table",
            AnswerFormat::Of(format) => format.name(),
        }
    }

    /// What a format is asked to hold and cannot, as a sentence; `None` if it can. Texts without a
    /// form get their error from whoever parses them.
    pub fn misfit(self, form: Option<Form>) -> Option<String> {
        let form = form?;
        let (answer, family) = match (self.family(), form.is_graph()) {
            (Family::Results, true) => ("a graph", Family::Graph),
            (Family::Graph, false) => ("no graph", Family::Results),
            _ => return None,
        };
        let fitting = AnswerFormat::value_variants().iter();
        let fitting = fitting.filter(|format| format.family() == family);
        let formats: Vec<&str> = fitting.map(|format| format.name()).collect();
        let (name, keyword, formats) = (self.name(), form.keyword(), formats.join(", "));
        Some(format!(
            "{name} cannot hold the answer of {keyword}, which is {answer}; take {formats} or table"
        ))
    }

    /// The format of results that it is.
    pub fn results(self) -> Option<ResultFormat> {
        match self {
            AnswerFormat::Of(Written::Rows(format)) => Some(format),
            AnswerFormat::Table | AnswerFormat::Of(Written::Graph(_)) => None,
        }
    }

    /// The format of graphs that it is.
    pub fn graph(self) -> Option<GraphFormat> {
        match self {
            AnswerFormat::Of(Written::Graph(format)) => Some(format),
            AnswerFormat::Table | AnswerFormat::Of(Written::Rows(_)) => None,
        }
    }

    /// Whether what its writer gives ends with the end of a line.
    pub fn ends_line(self) -> bool {
        match self {
            AnswerFormat::Table => true,
            AnswerFormat::Of(format) => format.ends_line(),
        }
    }

    /// The media types that say it, the canonical one first; none for a table.
    pub fn media_types(self) -> &'static [&'static str] {
        match self {
            AnswerFormat::Table => &[],
            AnswerFormat::Of(format) => format.accepted_types(),
        }
    }
}

/// The format of an answer for which none was asked: what people read on a terminal, what programs
/// read elsewhere.
pub fn default_format(form: Option<Form>, for_people: bool) -> AnswerFormat {
    match (form.is_some_and(Form::is_graph), for_people) {
        (true, true) => AnswerFormat::of_graphs(GraphFormat::Turtle),
        (true, false) => AnswerFormat::of_graphs(GraphFormat::NTriples),
        (false, true) => AnswerFormat::Table,
        (false, false) => AnswerFormat::TSV,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_hold_what_they_can() {
        let said = AnswerFormat::of_graphs(GraphFormat::Turtle)
            .misfit(Some(Form::Ask))
            .unwrap();
        assert!(
            said.contains("turtle cannot hold the answer of ASK"),
            "{said}"
        );
        let said = AnswerFormat::of_rows(ResultFormat::Csv)
            .misfit(Some(Form::Describe))
            .unwrap();
        assert!(said.contains("jsonld"), "{said}");
        for form in [Form::Select, Form::Construct] {
            assert_eq!(AnswerFormat::Table.misfit(Some(form)), None);
            for for_people in [true, false] {
                let format = default_format(Some(form), for_people);
                assert_eq!(format.misfit(Some(form)), None);
            }
        }
        assert_eq!(AnswerFormat::of_rows(ResultFormat::Csv).misfit(None), None);
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
