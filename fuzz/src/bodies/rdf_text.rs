//! The six text formats: each reader by itself, and all of them through the loader.
//!
//! A reader is given the document whole and in pieces of seven bytes, which must make no
//! difference, but for how many quads come before an error; what it accepts is written as N-Quads, which must come back the same, because the
//! loader relies on that for every format but the line formats.

use oxrdf::{Quad, QuadRef};
use rdf::format::{Format, read_quads, split_turtle, writer};
use rdf::nt::{Dialect, Parser};
use somersault::load::{OnError, Request, Source, Syntax, Unwatched, load_in_memory};
use somersault::output::Collected;
use somersault::{Database, Options, dump};
use std::io::{self, Read};
use std::ops::ControlFlow;

/// What relative IRIs are resolved against.
const BASE: &str = "http://example.org/base/";
/// Pieces in which a document comes.
const PIECE_BYTES: usize = 7;

/// N-Triples and N-Quads, on the slice and line by line.
pub fn ntriples(data: &[u8]) {
    for (dialect, format) in [
        (Dialect::NTriples, Format::NTriples),
        (Dialect::NQuads, Format::NQuads),
    ] {
        let mut parser = Parser::new(data, dialect, 1);
        let (mut statements, mut errors) = (0, 0);
        while let Some(statement) = parser.next() {
            match statement {
                Ok(_) if errors == 0 => statements += 1,
                Ok(_) => {}
                Err(error) => {
                    assert!(error.line >= 1 && error.column >= 1, "{error}");
                    errors += 1;
                }
            }
        }
        let (quads, is_whole) = read(format, data);
        assert_eq!((quads.len(), is_whole), (statements, errors == 0));
    }
}

/// Turtle, whole and cut into parts.
pub fn turtle(data: &[u8]) {
    let (quads, is_whole) = read(Format::Turtle, data);
    let Ok(parts) = split_turtle(data, Some(BASE), 3) else {
        assert!(!is_whole);
        return;
    };
    let (mut triples, mut is_split_whole) = (0, true);
    for part in parts {
        let mut count = |_: QuadRef<'_>| {
            triples += 1;
            ControlFlow::Continue(())
        };
        is_split_whole &= part.read(&mut count).is_ok();
    }
    assert_eq!(is_whole, is_split_whole);
    assert!(!is_whole || triples == quads.len());
}

/// TriG.
pub fn trig(data: &[u8]) {
    read(Format::TriG, data);
}

/// RDF/XML.
pub fn rdfxml(data: &[u8]) {
    read(Format::RdfXml, data);
}

/// JSON-LD.
pub fn jsonld(data: &[u8]) {
    read(Format::JsonLd, data);
}

/// The quads before the first error, and whether there was none.
fn read(format: Format, data: &[u8]) -> (Vec<Quad>, bool) {
    let (quads, is_whole) = quads_of(format, data);
    let (again, is_whole_again) = quads_of(format, InPieces(data));
    assert_eq!(is_whole, is_whole_again, "pieces make a difference");
    assert!(!is_whole || quads.len() == again.len());
    let mut lines = writer(Format::NQuads, Vec::new());
    for quad in &quads {
        lines.quad(quad.as_ref()).expect("N-Quads carry every quad");
    }
    let lines = lines.finish().expect("memory can be written");
    let (back, _) = quads_of(Format::NQuads, &lines[..]);
    assert_eq!(quads, back, "{}", String::from_utf8_lossy(&lines));
    (quads, is_whole)
}

fn quads_of(format: Format, input: impl Read) -> (Vec<Quad>, bool) {
    let mut quads = Vec::new();
    let mut keep = |quad: QuadRef<'_>| {
        quads.push(quad.into_owned());
        ControlFlow::Continue(())
    };
    let read = read_quads(format, input, Some(BASE), &mut keep);
    if let Err(error) = &read {
        assert!(!error.to_string().is_empty());
    }
    (quads, read.is_ok())
}

/// A reader that gives a few bytes at a time.
struct InPieces<'d>(&'d [u8]);

impl Read for InPieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(PIECE_BYTES);
        self.0.read(&mut buffer[..length])
    }
}

/// A document through the loader; the first byte chooses its format, whether malformed lines end
/// the load, and whether a graph takes the place of the default graph. What is loaded is read back
/// by `GET` of a graph and as a dump, which loads again as the same number of quads.
pub fn load(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else {
        return;
    };
    let format = Format::ALL[usize::from(choice & 7) % Format::ALL.len()];
    let request = Request {
        threads: 1,
        on_error: if choice & 8 == 0 {
            OnError::Stop
        } else {
            OnError::Skip
        },
        graph: (choice & 16 != 0).then(|| "http://example.org/graph".to_owned()),
        base: Some(BASE.to_owned()),
        ..Request::default()
    };
    let Some(database) = loaded(format, text, &request) else {
        return;
    };
    let quads = database.summary().quads;
    let mut lines = writer(Format::NQuads, Vec::new());
    let dumped = dump::all(&database.graph(), &mut |quad| lines.quad(quad));
    assert_eq!(dumped.expect("a graph in memory can be read"), quads);
    let lines = lines.finish().expect("memory can be written");
    let again = loaded(Format::NQuads, &lines, &Request::default()).expect("a dump can be loaded");
    assert_eq!(again.summary().quads, quads);
    read_graph(&database, request.graph.as_deref(), format.has_graphs());
}

/// The default graph, or the one that took its place, as `GET` reads it. `has_others`: whether the
/// document may have named graphs.
fn read_graph(database: &Database, name: Option<&str>, has_others: bool) {
    let opened = database.open_graph(name, None);
    let Some(mut graph) = opened.expect("a graph in memory can be read") else {
        assert!(has_others || database.summary().quads == 0);
        return;
    };
    let mut sink = Collected::default();
    let finished = graph.run(&mut sink).expect("a small graph is read in time");
    let triples = sink.triples.expect("a graph was read");
    assert_eq!(finished.rows, triples.len() as u64);
}

fn loaded(format: Format, text: &[u8], request: &Request) -> Option<Database> {
    let source = Source::reader("fuzz", text).with_syntax(Syntax::from(format));
    match load_in_memory(vec![source], request, &Options::default(), &Unwatched) {
        Ok((database, _)) => Some(database),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}
