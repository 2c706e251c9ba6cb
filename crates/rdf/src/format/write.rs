//! Writing any of the formats: RDF/XML by ourselves, the others through the Oxigraph serialisers.
//!
//! Streaming: nothing is kept but the current subject's abbreviations (Turtle, TriG) or graph
//! (JSON-LD). A format that cannot carry a quad (a named graph in Turtle, a triple term in JSON-LD, a
//! predicate without an XML name in RDF/XML) makes [`Writer::quad`] fail with `InvalidInput`; ask
//! [`Format::has_graphs`] and [`Format::has_triple_terms`] first.

use super::Format;
use super::xml_write::XmlWriter;
use oxrdf::{QuadRef, TermRef};
use oxrdfio::{JsonLdProfileSet, RdfFormat, RdfSerializer, WriterQuadSerializer};
use std::io::{self, Write};

/// Writes quads in one format; [`Writer::finish`] must be called at the end.
pub struct Writer<W: Write> {
    format: Format,
    inner: Inner<W>,
}

enum Inner<W: Write> {
    Xml(XmlWriter<W>),
    Library(WriterQuadSerializer<W>),
}

/// A writer of `format` to `output`, which should be buffered.
pub fn writer<W: Write>(format: Format, output: W) -> Writer<W> {
    writer_with_prefixes(format, output, &[])
}

/// As [`writer`], abbreviating with these (prefix, IRI) pairs where the format can; pairs that are
/// no valid prefix declaration are left out.
pub fn writer_with_prefixes<W: Write>(
    format: Format,
    output: W,
    prefixes: &[(&str, &str)],
) -> Writer<W> {
    if format == Format::RdfXml {
        return Writer {
            format,
            inner: Inner::Xml(XmlWriter::new(output, prefixes)),
        };
    }
    let mut serializer = RdfSerializer::from_format(library_format(format));
    for &(prefix, iri) in prefixes {
        if let Ok(extended) = serializer.clone().with_prefix(prefix, iri) {
            serializer = extended;
        }
    }
    Writer {
        format,
        inner: Inner::Library(serializer.for_writer(output)),
    }
}

impl<W: Write> Writer<W> {
    /// Writes one quad.
    pub fn quad(&mut self, quad: QuadRef<'_>) -> io::Result<()> {
        if matches!(quad.object, TermRef::Triple(_)) && !self.format.has_triple_terms() {
            let message = format!("{} cannot carry triple terms", self.format);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        match &mut self.inner {
            Inner::Library(serializer) => serializer.serialize_quad(quad),
            Inner::Xml(writer) if quad.graph_name.is_default_graph() => writer.triple(quad.into()),
            Inner::Xml(_) => {
                let message = format!("{} cannot carry named graphs", self.format);
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
        }
    }

    /// Writes what is still open and gives the output back, unflushed.
    pub fn finish(self) -> io::Result<W> {
        match self.inner {
            Inner::Library(serializer) => serializer.finish(),
            Inner::Xml(writer) => writer.finish(),
        }
    }
}

fn library_format(format: Format) -> RdfFormat {
    match format {
        Format::NTriples => RdfFormat::NTriples,
        Format::NQuads => RdfFormat::NQuads,
        Format::Turtle => RdfFormat::Turtle,
        Format::TriG => RdfFormat::TriG,
        Format::RdfXml => RdfFormat::RdfXml,
        Format::JsonLd => RdfFormat::JsonLd {
            profile: JsonLdProfileSet::empty(),
        },
    }
}
