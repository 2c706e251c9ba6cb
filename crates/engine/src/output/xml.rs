//! What is written of SPARQL Query Results in XML (the Recommendation of 2013, and the draft of 1.2 for
//! triple terms and base directions).
//!
//! What XML cannot carry is refused by [`write_xml_text`].

use oxrdf::vocab::xsd;
use oxrdf::{BaseDirection, LiteralRef, TermRef};
use rdf::format::write_xml_text;
use std::io;

/// Before the first variable.
pub(super) const HEAD: &[u8] =
    b"<?xml version=\"1.0\"?><sparql xmlns=\"http://www.w3.org/2005/sparql-results#\"><head>";
/// Between the variables and the first row.
pub(super) const RESULTS: &[u8] = b"</head><results>";
/// After the last row.
pub(super) const END: &[u8] = b"</results></sparql>";
/// How a binding that is an IRI goes on.
pub(super) const IRI: &[u8] = b"<uri>";
pub(super) const IRI_END: &[u8] = b"</uri></binding>";
pub(super) const BINDING_END: &[u8] = b"</binding>";

/// The beginning of a binding.
pub(super) fn binding(out: &mut Vec<u8>, variable: &str) -> io::Result<()> {
    out.extend_from_slice(b"<binding name=\"");
    write_xml_text(out, variable)?;
    out.extend_from_slice(b"\">");
    Ok(())
}

/// The declaration of a variable.
pub(super) fn variable(out: &mut Vec<u8>, name: &str) -> io::Result<()> {
    out.extend_from_slice(b"<variable name=\"");
    write_xml_text(out, name)?;
    out.extend_from_slice(b"\"/>");
    Ok(())
}

/// The answer to an `ASK`.
pub(super) fn boolean(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(HEAD);
    out.extend_from_slice(b"</head><boolean>");
    out.extend_from_slice(if value { b"true" } else { b"false" });
    out.extend_from_slice(b"</boolean></sparql>");
}

/// Appends a term.
pub(super) fn term(out: &mut Vec<u8>, term: TermRef<'_>) -> io::Result<()> {
    match term {
        TermRef::NamedNode(iri) => element(out, "uri", iri.as_str()),
        TermRef::BlankNode(blank) => element(out, "bnode", blank.as_str()),
        TermRef::Literal(literal) => self::literal(out, literal),
        TermRef::Triple(triple) => {
            out.extend_from_slice(b"<triple><subject>");
            self::term(out, triple.subject.as_ref().into())?;
            out.extend_from_slice(b"</subject><predicate>");
            self::term(out, triple.predicate.as_ref().into())?;
            out.extend_from_slice(b"</predicate><object>");
            self::term(out, triple.object.as_ref())?;
            out.extend_from_slice(b"</object></triple>");
            Ok(())
        }
    }
}

fn element(out: &mut Vec<u8>, name: &str, text: &str) -> io::Result<()> {
    out.push(b'<');
    out.extend_from_slice(name.as_bytes());
    out.push(b'>');
    write_xml_text(out, text)?;
    out.extend_from_slice(b"</");
    out.extend_from_slice(name.as_bytes());
    out.push(b'>');
    Ok(())
}

fn literal(out: &mut Vec<u8>, literal: LiteralRef<'_>) -> io::Result<()> {
    out.extend_from_slice(b"<literal");
    if let Some(language) = literal.language() {
        out.extend_from_slice(b" xml:lang=\"");
        write_xml_text(out, language)?;
        out.push(b'"');
        if let Some(direction) = literal.direction() {
            out.extend_from_slice(match direction {
                BaseDirection::Ltr => b" its:dir=\"ltr\"",
                BaseDirection::Rtl => b" its:dir=\"rtl\"",
            });
            out.extend_from_slice(
                b" xmlns:its=\"http://www.w3.org/2005/11/its\" its:version=\"2.0\"",
            );
        }
    } else if literal.datatype() != xsd::STRING {
        out.extend_from_slice(b" datatype=\"");
        write_xml_text(out, literal.datatype().as_str())?;
        out.push(b'"');
    }
    out.push(b'>');
    write_xml_text(out, literal.value())?;
    out.extend_from_slice(b"</literal>");
    Ok(())
}
