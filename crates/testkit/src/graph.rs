//! Graphs as text: fixtures in tests, and the formats in which the product loads them.
//!
//! Invariant: what is written here reads back as the same dataset, blank node labels included, so
//! an oracle over the [`Dataset`] and an engine that loaded the text are asked about one graph.
//! Reading and writing are `oxttl`'s; the product's own loader is thereby checked against it.

use oxrdf::{Dataset, GraphNameRef, QuadRef, TripleRef};
use oxttl::{
    NQuadsParser, NQuadsSerializer, NTriplesSerializer, TriGParser, TriGSerializer,
    TurtleSerializer,
};
use std::io;

/// A text format of graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Triples of the default graph, one a line.
    NTriples,
    /// Quads, one a line.
    NQuads,
    /// Triples of the default graph with prefixes and lists of objects.
    Turtle,
    /// As Turtle, with named graphs.
    TriG,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 4] = [
        Format::NTriples,
        Format::NQuads,
        Format::Turtle,
        Format::TriG,
    ];

    /// The file extension, without its dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Format::NTriples => "nt",
            Format::NQuads => "nq",
            Format::Turtle => "ttl",
            Format::TriG => "trig",
        }
    }

    /// Whether it can write named graphs.
    pub const fn has_graphs(self) -> bool {
        matches!(self, Format::NQuads | Format::TriG)
    }
}

/// The dataset that a TriG text (or Turtle, or N-Triples, which are TriG too) stands for. Errors
/// say line and column.
pub fn parse(text: &str) -> Result<Dataset, oxttl::TurtleSyntaxError> {
    TriGParser::new().for_slice(text).collect()
}

/// The dataset of a text in any of the formats.
pub fn read(text: &str, format: Format) -> Result<Dataset, oxttl::TurtleSyntaxError> {
    match format {
        Format::NQuads => NQuadsParser::new().for_slice(text).collect(),
        Format::NTriples | Format::Turtle | Format::TriG => parse(text),
    }
}

/// Writes a dataset. A format without graphs gets the default graph only.
pub fn write(dataset: &Dataset, format: Format) -> String {
    let bytes = match format {
        Format::NTriples => triples_as_lines(dataset),
        Format::NQuads => quads_as_lines(dataset),
        Format::Turtle => turtle(dataset),
        Format::TriG => trig(dataset),
    };
    let bytes = bytes.expect("writing to memory does not fail");
    String::from_utf8(bytes).expect("the serializers write UTF-8")
}

fn default_triples(dataset: &Dataset) -> impl Iterator<Item = TripleRef<'_>> {
    dataset
        .quads_for_graph_name(GraphNameRef::DefaultGraph)
        .map(TripleRef::from)
}

fn triples_as_lines(dataset: &Dataset) -> io::Result<Vec<u8>> {
    let mut out = NTriplesSerializer::new().for_writer(Vec::new());
    for triple in default_triples(dataset) {
        out.serialize_triple(triple)?;
    }
    Ok(out.finish())
}

fn quads_as_lines(dataset: &Dataset) -> io::Result<Vec<u8>> {
    let mut out = NQuadsSerializer::new().for_writer(Vec::new());
    for quad in dataset {
        out.serialize_quad(quad)?;
    }
    Ok(out.finish())
}

fn turtle(dataset: &Dataset) -> io::Result<Vec<u8>> {
    let serializer = TurtleSerializer::new().with_prefix("e", crate::NAMESPACE);
    let mut out = serializer
        .expect("the namespace is an IRI")
        .for_writer(Vec::new());
    for triple in default_triples(dataset) {
        out.serialize_triple(triple)?;
    }
    out.finish()
}

/// Sorted by graph, because the serializer opens a block at each change of it.
fn trig(dataset: &Dataset) -> io::Result<Vec<u8>> {
    let serializer = TriGSerializer::new().with_prefix("e", crate::NAMESPACE);
    let mut out = serializer
        .expect("the namespace is an IRI")
        .for_writer(Vec::new());
    let mut quads: Vec<QuadRef<'_>> = dataset.iter().collect();
    quads.sort_by_key(|quad| quad.graph_name.to_string());
    for quad in quads {
        out.serialize_quad(quad)?;
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"@prefix e: <http://example.org/> .
        e:a e:p e:b, "x"@en, 05, 1.50, _:n ; a e:T .
        GRAPH e:g { _:n e:p true . e:a e:p <<( e:s e:p "o" )>> }"#;

    #[test]
    fn reads_back_what_it_wrote() {
        let dataset = parse(TEXT).unwrap();
        assert_eq!(dataset.len(), 8);
        for format in [Format::NQuads, Format::TriG] {
            let written = write(&dataset, format);
            let read = read(&written, format).unwrap_or_else(|error| panic!("{error}: {written}"));
            assert_eq!(read, dataset, "{written}");
        }
        for format in [Format::NTriples, Format::Turtle] {
            assert_eq!(read(&write(&dataset, format), format).unwrap().len(), 6);
        }
    }

    #[test]
    fn a_malformed_fixture_is_an_error_with_its_place() {
        let error = parse("<http://e/a> <http://e/b> .").unwrap_err();
        assert!(error.to_string().contains("line 1"), "{error}");
    }
}
