//! Writing any of the formats: RDF/XML by ourselves, the others through the Oxigraph serialisers.
//!
//! Streaming: nothing is kept but the current subject's abbreviations (Turtle, TriG) or graph
//! (JSON-LD). A format that cannot carry a quad (a named graph in Turtle, a triple term in JSON-LD, a
//! predicate without an XML name in RDF/XML) makes [`Writer::quad`] fail with `InvalidInput`; ask
//! [`Format::has_graphs`] and [`Format::has_triple_terms`] first.
//!
//! Turtle and TriG abbreviate with prefixes until an IRI comes that breaks the rules
//! ([`crate::strictness`]): escaped within a prefixed name, no parser would take it. From there on IRIs are
//! written in full. Cost: a look at the bytes of each IRI, where there are prefixes.

use super::Format;
use super::xml_write::XmlWriter;
use crate::nt::is_plain_iri;
use oxrdf::{GraphNameRef, NamedNodeRef, NamedOrBlankNodeRef, QuadRef, TermRef};
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
    /// Turtle or TriG with prefixes.
    Abbreviating(WriterQuadSerializer<W>),
    /// While one is exchanged for another.
    Between,
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
    let is_abbreviating = !prefixes.is_empty() && matches!(format, Format::Turtle | Format::TriG);
    for &(prefix, iri) in prefixes {
        if let Ok(extended) = serializer.clone().with_prefix(prefix, iri) {
            serializer = extended;
        }
    }
    Writer {
        format,
        inner: if is_abbreviating {
            Inner::Abbreviating(serializer.for_writer(output))
        } else {
            Inner::Library(serializer.for_writer(output))
        },
    }
}

impl<W: Write> Writer<W> {
    /// Writes one quad.
    pub fn quad(&mut self, quad: QuadRef<'_>) -> io::Result<()> {
        if matches!(quad.object, TermRef::Triple(_)) && !self.format.has_triple_terms() {
            let message = format!("{} cannot carry triple terms", self.format);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        if matches!(self.inner, Inner::Abbreviating(_)) && !has_usual_iris(quad) {
            self.write_in_full()?;
        }
        match &mut self.inner {
            Inner::Library(serializer) | Inner::Abbreviating(serializer) => {
                serializer.serialize_quad(quad)
            }
            Inner::Between => Err(broken()),
            Inner::Xml(writer) if quad.graph_name.is_default_graph() => writer.triple(quad.into()),
            Inner::Xml(_) => {
                let message = format!("{} cannot carry named graphs", self.format);
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
        }
    }

    /// Ends the statement that is open, and goes on without prefixes.
    fn write_in_full(&mut self) -> io::Result<()> {
        let inner = std::mem::replace(&mut self.inner, Inner::Between);
        self.inner = match inner {
            Inner::Abbreviating(serializer) => {
                let plain = RdfSerializer::from_format(library_format(self.format));
                Inner::Library(plain.for_writer(serializer.finish()?))
            }
            other => other,
        };
        Ok(())
    }

    /// Writes what is still open and gives the output back, unflushed.
    pub fn finish(self) -> io::Result<W> {
        match self.inner {
            Inner::Library(serializer) | Inner::Abbreviating(serializer) => serializer.finish(),
            Inner::Between => Err(broken()),
            Inner::Xml(writer) => writer.finish(),
        }
    }
}

/// A quad after an error of the output.
fn broken() -> io::Error {
    io::Error::other("the output failed before")
}

/// Whether all IRIs of a quad keep to the rules, its datatype's and those of triple terms too.
fn has_usual_iris(quad: QuadRef<'_>) -> bool {
    let graph = match quad.graph_name {
        GraphNameRef::NamedNode(iri) => is_usual(iri),
        GraphNameRef::BlankNode(_) | GraphNameRef::DefaultGraph => true,
    };
    let (mut subject, mut predicate, mut object) = (quad.subject, quad.predicate, quad.object);
    loop {
        let is_usual_subject = match subject {
            NamedOrBlankNodeRef::NamedNode(iri) => is_usual(iri),
            NamedOrBlankNodeRef::BlankNode(_) => true,
        };
        if !(graph && is_usual_subject && is_usual(predicate)) {
            return false;
        }
        let TermRef::Triple(triple) = object else {
            break;
        };
        (subject, predicate) = (triple.subject.as_ref(), triple.predicate.as_ref());
        object = triple.object.as_ref();
    }
    match object {
        TermRef::NamedNode(iri) => is_usual(iri),
        TermRef::Literal(literal) => is_usual(literal.datatype()),
        TermRef::BlankNode(_) | TermRef::Triple(_) => true,
    }
}

fn is_usual(iri: NamedNodeRef<'_>) -> bool {
    is_plain_iri(iri.as_str()) || NamedNodeRef::new(iri.as_str()).is_ok()
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
