//! Reading any of the formats as a stream of quads.
//!
//! One pass, bounded memory: the input is read in small pieces, N-Triples and N-Quads line by line
//! through [`crate::nt`]. Blank node labels are the document's own; anonymous nodes get random
//! labels of 32 hexadecimal digits.

use super::Format;
use super::guard::{Guarded, LineColumn, Places};
use super::json::JsonScan;
use super::ontology::refuse_ontology;
use super::quads::{OnPrefix, OnQuad, ReadError, check_depth, give, io_error};
use super::turtle::stream::Fed;
use super::turtle::{NoSink, TurtleScan};
use super::xml::XmlScan;
use super::xml_literal;
use crate::nt::{BYTE_ORDER_MARK, Dialect, Parser, Statement};
use crate::strictness::{self, Strictness, is_of_strictness};
use oxjsonld::{JsonLdErrorCode, JsonLdParseError, JsonLdParser};
use oxrdf::{GraphNameRef, NamedNodeRef, NamedOrBlankNodeRef, QuadRef, TermRef};
use oxrdfxml::{RdfXmlParseError, RdfXmlParser};
use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// Reads a whole document and gives its quads to `on_quad` in order, until it breaks. `base`
/// resolves relative IRIs, where the format has them. Stops at the first error; quads before it
/// have been given. JSON-LD may not refer to remote contexts.
///
/// A document in a syntax of OWL is refused by that name ([`ontology_syntax`](super::ontology_syntax)).
///
/// A line of N-Triples or N-Quads has at most 64 MiB. A byte order mark before a document of N-Triples, N-Quads, Turtle or TriG is left out. A token
/// of Turtle or TriG has at most 256 MiB; the library's limit for JSON-LD is 16 MiB a token, which
/// comes as an I/O error of the kind `OutOfMemory`.
pub fn read_quads(
    format: Format,
    input: impl Read,
    base: Option<&str>,
    on_quad: &mut OnQuad<'_>,
) -> Result<(), ReadError> {
    read_quads_with(Strictness::Strict, format, input, base, on_quad)
}

/// As [`read_quads`], taking these IRIs and language tags. A lenient reader also resolves references and takes
/// escapes that the libraries' lenient parsers do; a string between one pair of quotation marks ends on its
/// line as ever. What JSON-LD has no well-formed IRI for is left out as its specification says, in both.
pub fn read_quads_with(
    strictness: Strictness,
    format: Format,
    input: impl Read,
    base: Option<&str>,
    on_quad: &mut OnQuad<'_>,
) -> Result<(), ReadError> {
    read_quads_noting(strictness, format, input, base, &mut |_, _| {}, on_quad)
}

/// As [`read_quads_with`], and tells prefixes of the document, where its format has them: of Turtle, TriG and JSON-LD those
/// in force at the end, which are the outermost context's, of RDF/XML those at the first triple.
pub fn read_quads_noting(
    strictness: Strictness,
    format: Format,
    input: impl Read,
    base: Option<&str>,
    on_prefix: &mut OnPrefix<'_>,
    on_quad: &mut OnQuad<'_>,
) -> Result<(), ReadError> {
    let input = refuse_ontology(input)?;
    match format {
        Format::NTriples => read_lines(strictness, Dialect::NTriples, input, on_quad),
        Format::NQuads => read_lines(strictness, Dialect::NQuads, input, on_quad),
        Format::Turtle | Format::TriG => {
            let mut fed = match format {
                Format::Turtle => Fed::turtle(base, strictness)?,
                _ => Fed::trig(base, strictness)?,
            };
            fed.read(guarded_turtle(input, strictness)?, on_quad)?;
            fed.prefixes(on_prefix);
            Ok(())
        }
        Format::RdfXml => read_rdf_xml((strictness, base), input, on_prefix, on_quad),
        Format::JsonLd => read_json_ld((strictness, base), input, on_prefix, on_quad),
    }
}

/// Bytes of a line of N-Triples or N-Quads at most: a line is held as a whole, and a short body may be a
/// long line once it is decompressed.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// Line by line: for documents in memory, [`Parser`] on the slice is faster.
fn read_lines(
    strictness: Strictness,
    dialect: Dialect,
    input: impl Read,
    on_quad: &mut OnQuad<'_>,
) -> Result<(), ReadError> {
    let mut input = BufReader::with_capacity(256 * 1024, input);
    let mut line = Vec::new();
    let mut number = 1;
    while input
        .by_ref()
        .take(LINE_BYTES_MAX + 1)
        .read_until(b'\n', &mut line)?
        > 0
    {
        if line.len() as u64 > LINE_BYTES_MAX {
            let limit = LINE_BYTES_MAX >> 20;
            let place = LineColumn {
                line: number,
                column: 1,
            };
            return Err(ReadError::at(
                place,
                format!("the line is longer than {limit} MiB"),
            ));
        }
        let mut parser = Parser::new(&line, dialect, number).with_strictness(strictness);
        while let Some(statement) = parser.next() {
            if on_quad(quad_of(&statement?)).is_break() {
                return Ok(());
            }
        }
        number += crate::nt::count_lines(&line);
        line.clear();
    }
    Ok(())
}

/// A statement as a quad of the library's types.
fn quad_of<'a>(statement: &Statement<'a>) -> QuadRef<'a> {
    let graph_name = match statement.graph {
        None => GraphNameRef::DefaultGraph,
        Some(graph) => node(graph).into(),
    };
    QuadRef {
        subject: node(statement.subject),
        predicate: NamedNodeRef::new_unchecked(statement.predicate),
        object: statement.object,
        graph_name,
    }
}

fn node(term: TermRef<'_>) -> NamedOrBlankNodeRef<'_> {
    match term {
        TermRef::NamedNode(iri) => iri.into(),
        TermRef::BlankNode(blank) => blank.into(),
        TermRef::Literal(_) | TermRef::Triple(_) => {
            unreachable!("subjects and graphs are IRIs or blank nodes")
        }
    }
}

fn guarded_turtle<R: Read>(
    input: R,
    strictness: Strictness,
) -> io::Result<Guarded<impl Read, TurtleScan<NoSink>>> {
    let input = read_after_mark(input)?;
    let scan = TurtleScan::new(NoSink).with_strictness(strictness);
    Ok(Guarded::new(input, scan))
}

/// The input without the byte order mark that it may begin with.
fn read_after_mark(mut input: impl Read) -> io::Result<impl Read> {
    let mut head = Vec::with_capacity(BYTE_ORDER_MARK.len());
    input
        .by_ref()
        .take(BYTE_ORDER_MARK.len() as u64)
        .read_to_end(&mut head)?;
    if head == BYTE_ORDER_MARK {
        head.clear();
    }
    Ok(Cursor::new(head).chain(input))
}

fn read_rdf_xml(
    (strictness, base): (Strictness, Option<&str>),
    input: impl Read,
    on_prefix: &mut OnPrefix<'_>,
    on_quad: &mut OnQuad<'_>,
) -> Result<(), ReadError> {
    let mut parser = RdfXmlParser::new();
    if let Some(base) = base {
        parser = parser
            .with_base_iri(base)
            .map_err(|error| ReadError::base(base, &error))?;
    }
    if strictness.is_lenient() {
        parser = parser.lenient();
    }
    let guarded = Guarded::new(input, XmlScan::default());
    let places = guarded.places();
    let mut reading = parser.for_reader(guarded);
    let mut is_first = true;
    while let Some(triple) = reading.next() {
        let mut triple = triple.map_err(|error| match error {
            RdfXmlParseError::Io(error) => io_error(error),
            RdfXmlParseError::Syntax(error) => {
                let message = error.to_string();
                let is_unusual = !strictness.is_lenient() && is_of_strictness(&message);
                located(&places, reading.buffer_position(), message).unusual(is_unusual)
            }
        })?;
        xml_literal::mend(&mut triple.object);
        let quad = triple.as_ref().in_graph(GraphNameRef::DefaultGraph);
        if strictness.is_lenient()
            && let Err(message) = strictness::check(quad)
        {
            return Err(located(&places, reading.buffer_position(), message));
        }
        check_depth(quad)?;
        if std::mem::take(&mut is_first) {
            let prefixes = reading.prefixes();
            prefixes.for_each(|(name, iri)| on_prefix(name, iri));
        }
        if on_quad(quad).is_break() {
            break;
        }
    }
    Ok(())
}

fn read_json_ld(
    (strictness, base): (Strictness, Option<&str>),
    input: impl Read,
    on_prefix: &mut OnPrefix<'_>,
    on_quad: &mut OnQuad<'_>,
) -> Result<(), ReadError> {
    let mut parser = JsonLdParser::new();
    if let Some(base) = base {
        parser = parser
            .with_base_iri(base)
            .map_err(|error| ReadError::base(base, &error))?;
    }
    if strictness.is_lenient() {
        parser = parser.lenient();
    }
    let mut reading = parser.for_reader(Guarded::new(input, JsonScan::default()));
    for quad in reading.by_ref() {
        let quad = quad.map_err(|error| json_ld_error(error, strictness))?;
        // A strict parser leaves out by itself what is not well-formed (JSON-LD 1.1 API, section 7).
        if strictness.is_lenient() && strictness::check(quad.as_ref()).is_err() {
            continue;
        }
        if give(quad.as_ref(), Strictness::Strict, on_quad)?.is_break() {
            return Ok(());
        }
    }
    let prefixes = reading.prefixes();
    prefixes.for_each(|(name, iri)| on_prefix(name, iri));
    Ok(())
}

fn located(places: &RefCell<Places>, offset: u64, message: String) -> ReadError {
    ReadError::at(places.borrow().place(offset), message)
}

fn json_ld_error(error: JsonLdParseError, strictness: Strictness) -> ReadError {
    let error = match error {
        JsonLdParseError::Io(error) => return io_error(error),
        JsonLdParseError::Syntax(error) => error,
    };
    let place = error.location();
    let is_remote = matches!(
        error.code(),
        Some(JsonLdErrorCode::LoadingRemoteContextFailed)
    );
    ReadError::Syntax {
        line: place.as_ref().map(|place| place.start.line + 1),
        column: place.map(|place| place.start.column + 1),
        message: if is_remote {
            "a remote @context is referred to; only contexts within the document are read"
                .to_owned()
        } else {
            error.to_string()
        },
        is_unusual: !strictness.is_lenient() && is_of_strictness(&error.to_string()),
    }
}
