//! The six text formats: their names, reading them, writing them.
//!
//! N-Triples and N-Quads have a bulk reader of their own in [`crate::nt`], which is also used here;
//! everything else goes through the Oxigraph parsers, in their strict modes unless the reader is to be lenient
//! ([`crate::strictness`]). What this module
//! adds is safety: the libraries recurse or expand without bound on some inputs of a few kilobytes
//! (measured 2026-11-21: 10,000 nested triple terms or 500 nested JSON-LD contexts overflow a
//! 2 MiB stack, 10,000 nested XML elements take 0.3 s and 100,000 more than a minute, nested XML
//! entities take gigabytes). So each input runs through a small lexical scanner that bounds nesting
//! and expansion before the library sees the bytes; see `format::guard`.

mod guard;
mod json;
mod ontology;
mod quads;
mod read;
mod turtle;
mod write;
mod xml;
mod xml_literal;
mod xml_text;
mod xml_write;

pub use ontology::{ontology_syntax, refuse_ontology, refuse_ontology_text};
pub use quads::{OnPrefix, ReadError};
pub use read::{read_quads, read_quads_noting, read_quads_with};
pub use turtle::parts::{TurtlePart, split_turtle, split_turtle_with};
pub use write::{Writer, writer, writer_with_prefixes};
pub use xml_text::write_xml_text;

use std::fmt;

/// How deep JSON containers may nest in JSON-LD.
pub const JSON_NESTING_MAX: u32 = json::NESTING_MAX;
/// How deep elements may nest in RDF/XML.
pub const XML_NESTING_MAX: u32 = xml::NESTING_MAX;

/// A text format of RDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// RDF 1.2 N-Triples.
    NTriples,
    /// RDF 1.2 N-Quads.
    NQuads,
    /// RDF 1.2 Turtle.
    Turtle,
    /// RDF 1.2 TriG.
    TriG,
    /// RDF 1.2 XML Syntax.
    RdfXml,
    /// JSON-LD 1.1, without remote contexts.
    JsonLd,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 6] = [
        Format::NTriples,
        Format::NQuads,
        Format::Turtle,
        Format::TriG,
        Format::RdfXml,
        Format::JsonLd,
    ];

    /// The format of files with this extension (without the dot, in any case).
    pub fn from_extension(extension: &str) -> Option<Format> {
        Some(match extension.to_ascii_lowercase().as_str() {
            "nt" | "ntriples" => Format::NTriples,
            "nq" | "nquads" => Format::NQuads,
            // Most files of Notation3 keep to what it shares with Turtle; the parser refuses the others.
            "ttl" | "turtle" | "n3" => Format::Turtle,
            "trig" => Format::TriG,
            "rdf" | "xml" | "owl" | "rdfxml" => Format::RdfXml,
            "jsonld" | "json" => Format::JsonLd,
            _ => return None,
        })
    }

    /// The format with this name, as people and other tools write it: a file's extension, the specification's
    /// name in any case with or without `-`, `_`, `/`, `+` and blanks (`RDF/XML`, `rdf-xml`, `rdfxml`, `rdf+xml`), or a
    /// media type.
    pub fn from_name(name: &str) -> Option<Format> {
        if let Some(format) = Format::from_media_type(name) {
            return Some(format);
        }
        let is_kept = |sign: &char| !matches!(sign, '-' | '_' | '/' | '+' | ' ');
        let plain: String = name.chars().filter(is_kept).collect();
        match plain.strip_prefix('.').unwrap_or(&plain) {
            // The end of its media type.
            name if name.eq_ignore_ascii_case("ldjson") => Some(Format::JsonLd),
            name => Format::from_extension(name),
        }
    }

    /// The format of a file by its name, looking through one compression suffix (`data.nt.gz`).
    pub fn from_file_name(name: &str) -> Option<Format> {
        let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
        let (stem, extension) = name.rsplit_once('.')?;
        if matches!(
            extension.to_ascii_lowercase().as_str(),
            "gz" | "bz2" | "xz" | "zst"
        ) {
            return Format::from_extension(stem.rsplit_once('.')?.1);
        }
        Format::from_extension(extension)
    }

    /// The format of a media type; parameters are ignored.
    pub fn from_media_type(media_type: &str) -> Option<Format> {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        Format::ALL.into_iter().find(|format| {
            let mut types = format.media_types().iter();
            types.any(|known| known.eq_ignore_ascii_case(essence))
        })
    }

    /// The media types under which it is known, in lower case, the registered one first.
    pub const fn media_types(self) -> &'static [&'static str] {
        match self {
            Format::NTriples => &["application/n-triples", "text/plain"],
            Format::NQuads => &["application/n-quads", "text/x-nquads", "text/nquads"],
            Format::Turtle => &["text/turtle", "application/turtle", "application/x-turtle"],
            Format::TriG => &["application/trig", "application/x-trig"],
            Format::RdfXml => &["application/rdf+xml", "application/xml", "text/xml"],
            Format::JsonLd => &["application/ld+json", "application/json"],
        }
    }

    /// The format's registered media type.
    pub const fn media_type(self) -> &'static str {
        self.media_types()[0]
    }

    /// The usual file extension, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Format::NTriples => "nt",
            Format::NQuads => "nq",
            Format::Turtle => "ttl",
            Format::TriG => "trig",
            Format::RdfXml => "rdf",
            Format::JsonLd => "jsonld",
        }
    }

    /// The format's name as the specifications spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Format::NTriples => "N-Triples",
            Format::NQuads => "N-Quads",
            Format::Turtle => "Turtle",
            Format::TriG => "TriG",
            Format::RdfXml => "RDF/XML",
            Format::JsonLd => "JSON-LD",
        }
    }

    /// Whether the format can name graphs.
    pub const fn has_graphs(self) -> bool {
        matches!(self, Format::NQuads | Format::TriG | Format::JsonLd)
    }

    /// Whether the format can carry RDF 1.2 triple terms.
    pub const fn has_triple_terms(self) -> bool {
        !matches!(self, Format::JsonLd)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
