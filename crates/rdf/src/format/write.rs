//! Writing any of the formats, through the Oxigraph serialisers.
//!
//! Streaming: nothing is kept but the current subject's abbreviations (Turtle, TriG) or graph
//! (JSON-LD). A format that cannot carry a quad (a named graph in Turtle, a triple term in JSON-LD)
//! makes [`Writer::quad`] fail with `InvalidInput`; ask [`Format::has_graphs`] and
//! [`Format::has_triple_terms`] first.

use super::Format;
use oxrdf::{QuadRef, TermRef};
use oxrdfio::{JsonLdProfileSet, RdfFormat, RdfSerializer, WriterQuadSerializer};
use std::io::{self, Write};

/// Writes quads in one format; [`Writer::finish`] must be called at the end.
pub struct Writer<W: Write> {
    format: Format,
    inner: WriterQuadSerializer<W>,
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
    let mut serializer = RdfSerializer::from_format(library_format(format));
    for &(prefix, iri) in prefixes {
        if let Ok(extended) = serializer.clone().with_prefix(prefix, iri) {
            serializer = extended;
        }
    }
    Writer {
        format,
        inner: serializer.for_writer(output),
    }
}

impl<W: Write> Writer<W> {
    /// Writes one quad.
    pub fn quad(&mut self, quad: QuadRef<'_>) -> io::Result<()> {
        if matches!(quad.object, TermRef::Triple(_)) && !self.format.has_triple_terms() {
            let message = format!("{} cannot carry triple terms", self.format);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        self.inner.serialize_quad(quad)
    }

    /// Writes what is still open and gives the output back, unflushed.
    pub fn finish(self) -> io::Result<W> {
        self.inner.finish()
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
