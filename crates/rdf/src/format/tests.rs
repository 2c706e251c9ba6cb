//! Names, round trips, bounds and places of the formats.

use super::*;
use oxrdf::{
    BaseDirection, BlankNode, Dataset, GraphName, Literal, NamedNode, Quad, QuadRef, Term, Triple,
};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::thread;

const SCHEMA: &str = "http://a.example/";

fn read(format: Format, text: &str) -> Result<Vec<Quad>, ReadError> {
    let mut quads = Vec::new();
    read_quads(
        format,
        text.as_bytes(),
        Some(SCHEMA),
        &mut |quad: QuadRef<'_>| {
            quads.push(quad.into_owned());
            ControlFlow::Continue(())
        },
    )?;
    Ok(quads)
}

fn iri(name: &str) -> NamedNode {
    NamedNode::new(format!("{SCHEMA}{name}")).unwrap()
}

/// Quads of every kind of term; triple terms and graphs where the format has them.
fn sample(format: Format) -> Vec<Quad> {
    let blank = BlankNode::new("b1").unwrap();
    let mut objects: Vec<Term> = vec![
        iri("o").into(),
        blank.clone().into(),
        Literal::new_simple_literal("a \"quoted\"\n<line> & \u{e9}\u{10000}").into(),
        Literal::new_language_tagged_literal("x", "en-gb")
            .unwrap()
            .into(),
        Literal::new_directional_language_tagged_literal("y", "ar", BaseDirection::Rtl)
            .unwrap()
            .into(),
        Literal::new_typed_literal("05", oxrdf::vocab::xsd::INTEGER).into(),
    ];
    if format.has_triple_terms() {
        let inner = Triple::new(blank.clone(), iri("q"), Literal::from(1));
        let outer = Triple::new(iri("s2"), iri("q"), inner.clone());
        objects.extend([inner.into(), outer.into()]);
    }
    let mut graphs = vec![GraphName::DefaultGraph];
    if format.has_graphs() {
        graphs.extend([iri("g").into(), BlankNode::new("g1").unwrap().into()]);
    }
    let mut quads = Vec::new();
    for graph in &graphs {
        for (number, object) in objects.iter().enumerate() {
            let predicate = iri(&format!("p{}", number % 3));
            quads.push(Quad::new(
                iri("s"),
                predicate.clone(),
                object.clone(),
                graph.clone(),
            ));
            quads.push(Quad::new(
                blank.clone(),
                predicate,
                object.clone(),
                graph.clone(),
            ));
        }
    }
    quads
}

#[test]
fn every_format_gives_back_what_it_was_given() {
    for format in Format::ALL {
        let quads = sample(format);
        let mut output = writer(format, Vec::new());
        for quad in &quads {
            output.quad(quad.as_ref()).unwrap();
        }
        let text = String::from_utf8(output.finish().unwrap()).unwrap();
        let again = read(format, &text).unwrap_or_else(|error| panic!("{format}: {error}\n{text}"));
        let [mut given, mut got] = [quads, again].map(Dataset::from_iter);
        for dataset in [&mut given, &mut got] {
            dataset.canonicalize(oxrdf::dataset::CanonicalizationAlgorithm::Unstable);
        }
        assert_eq!(got, given, "{format}\n{text}");
    }
}

#[test]
fn what_a_format_cannot_carry_is_an_error() {
    let triple = Triple::new(iri("s"), iri("p"), iri("o"));
    let nested = Quad::new(iri("s"), iri("p"), triple.clone(), GraphName::DefaultGraph);
    assert!(
        writer(Format::JsonLd, Vec::new())
            .quad(nested.as_ref())
            .is_err()
    );
    let named = Quad::new(iri("s"), iri("p"), iri("o"), iri("g"));
    for format in [Format::NTriples, Format::Turtle, Format::RdfXml] {
        assert!(writer(format, Vec::new()).quad(named.as_ref()).is_err());
    }
}

#[test]
fn names_lead_to_formats() {
    for format in Format::ALL {
        assert_eq!(Format::from_name(format.name()), Some(format));
        assert_eq!(Format::from_name(format.media_type()), Some(format));
        assert_eq!(Format::from_extension(format.extension()), Some(format));
        assert_eq!(Format::from_media_type(format.media_type()), Some(format));
    }
    assert_eq!(
        Format::from_file_name("a/b.v1/data.NT.gz"),
        Some(Format::NTriples)
    );
    assert_eq!(Format::from_file_name("onto.owl"), Some(Format::RdfXml));
    assert_eq!(Format::from_file_name("a.nt/data"), None);
    assert_eq!(Format::from_file_name("data.gz"), None);
    assert_eq!(
        Format::from_media_type("Text/Turtle; charset=utf-8"),
        Some(Format::Turtle)
    );
    for name in [
        "rdfxml", "rdf", "xml", "rdf-xml", "rdf/xml", "RDF_XML", ".rdf", "owl", "rdf+xml",
    ] {
        assert_eq!(Format::from_name(name), Some(Format::RdfXml), "{name}");
    }
    for name in ["jsonld", "json-ld", "JSON-LD", "ld+json", "json"] {
        assert_eq!(Format::from_name(name), Some(Format::JsonLd), "{name}");
    }
    let types = Format::ALL.map(Format::media_types).concat();
    let distinct: std::collections::BTreeSet<_> = types.iter().collect();
    assert_eq!(distinct.len(), types.len(), "a media type is of one format");
    assert_eq!(Format::from_name("n-triples"), Some(Format::NTriples));
    assert_eq!(Format::from_name("html"), None);
    assert_eq!(Format::from_media_type("text/html"), None);
}

/// Reads on a thread with the 2 MiB of stack that threads usually have.
fn read_on_a_small_stack(format: Format, text: String) -> Result<usize, String> {
    let reading = thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(move || {
            read(format, &text)
                .map(|quads| quads.len())
                .map_err(|error| error.to_string())
        });
    reading.unwrap().join().unwrap()
}

#[test]
fn deep_nesting_never_overflows_the_stack() {
    let wrap = |depth: usize, open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    let statement = |object: &str| format!("<a:s> <a:p> {object} .");
    for depth in [10_000, 100_000] {
        let brackets = statement(&wrap(depth, "[<a:p> ", "1", "]"));
        let lists = statement(&wrap(depth, "(", "", ")"));
        for text in [&brackets, &lists] {
            assert!(read_on_a_small_stack(Format::Turtle, text.clone()).unwrap() >= depth);
            let in_graph = format!("<a:g> {{ {text} }}");
            assert!(read_on_a_small_stack(Format::TriG, in_graph).unwrap() >= depth);
        }
        let terms = statement(&wrap(depth, "<<(<a:s> <a:p>", "1", ")>>"));
        for format in [
            Format::NTriples,
            Format::NQuads,
            Format::Turtle,
            Format::TriG,
        ] {
            let error = read_on_a_small_stack(format, terms.clone()).unwrap_err();
            let is_told = error.contains("nest deeper");
            assert!(is_told && error.starts_with("line 1, column "), "{error}");
        }
        let xml = wrap(
            depth,
            "<rdf:Description><a:p>",
            "",
            "</a:p></rdf:Description>",
        );
        let error = read_on_a_small_stack(Format::RdfXml, rdf_xml("", &xml)).unwrap_err();
        assert!(error.contains("nest deeper than 1000"), "{error}");
        for (open, close) in [
            ("{\"a:p\":", "}"),
            ("{\"a:p\":[", "]}"),
            ("{\"@list\":[", "]}"),
            ("{\"@graph\":[{\"a:p\":", "}]}"),
            ("{\"@context\":{\"x\":{\"@id\":\"a:b\",\"@context\":", "}}}"),
            ("{\"@reverse\":{\"a:p\":", "}}"),
            ("{\"@included\":[{\"a:p\":", "}]}"),
        ] {
            let text = wrap(depth, open, "{}", close);
            let error = read_on_a_small_stack(Format::JsonLd, text).unwrap_err();
            assert!(error.contains("JSON nests deeper than 200"), "{error}");
            let inner = wrap(
                JSON_NESTING_MAX as usize / open.matches(['{', '[']).count() - 2,
                open,
                "{}",
                close,
            );
            let _ = read_on_a_small_stack(Format::JsonLd, inner);
        }
    }
}

#[test]
fn nesting_up_to_the_bounds_is_read() {
    let levels = XML_NESTING_MAX as usize / 2 - 1;
    let nested =
        "<rdf:Description><a:p>".repeat(levels) + &"</a:p></rdf:Description>".repeat(levels);
    assert!(read_on_a_small_stack(Format::RdfXml, rdf_xml("", &nested)).unwrap() >= levels - 1);
    let triples = |levels: usize| {
        let open = "<rdf:Description rdf:about=\"a:s\"><a:p rdf:parseType=\"Triple\">";
        let close = "</a:p></rdf:Description>";
        let inner = "<rdf:Description rdf:about=\"a:s\"><a:p>x</a:p></rdf:Description>";
        rdf_xml(
            "",
            &format!("{}{inner}{}", open.repeat(levels), close.repeat(levels)),
        )
    };
    assert_eq!(
        read_on_a_small_stack(Format::RdfXml, triples(crate::nt::NESTING_MAX)).unwrap(),
        1
    );
    let error =
        read_on_a_small_stack(Format::RdfXml, triples(crate::nt::NESTING_MAX + 1)).unwrap_err();
    assert!(error.contains("triple terms nest deeper"), "{error}");
}

fn rdf_xml(doctype: &str, body: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n{doctype}<rdf:RDF \
         xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:a=\"a:\" \
         rdf:version=\"1.2\">\n{body}</rdf:RDF>"
    )
}

#[test]
fn entities_are_expanded_within_bounds() {
    let doctype = "<!DOCTYPE rdf:RDF [\n<!ENTITY a \"http://a.example/\">\n]>\n";
    let body = "<rdf:Description rdf:about=\"&a;s\"><a:p>&a;</a:p></rdf:Description>";
    let quads = read(Format::RdfXml, &rdf_xml(doctype, body)).unwrap();
    assert_eq!(quads[0].subject, iri("s").into());
    let mut bomb = "<!DOCTYPE rdf:RDF [<!ENTITY e0 \"0123456789\">".to_owned();
    for level in 1..10 {
        let references = format!("&e{};", level - 1).repeat(10);
        bomb.extend(["<!ENTITY e", &level.to_string(), " \"", &references, "\">"]);
    }
    let body = "<rdf:Description><a:p>&e9;</a:p></rdf:Description>";
    let error = read(Format::RdfXml, &rdf_xml(&(bomb + "]>"), body))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("line 2, column ") && error.contains("entity 'e3'"),
        "{error}"
    );
}

#[test]
fn remote_contexts_are_refused() {
    let text = "{\"@context\": \"http://schema.org/\", \"@id\": \"a:s\", \"name\": \"x\"}";
    let error = read(Format::JsonLd, text).unwrap_err().to_string();
    assert!(error.contains("remote @context"), "{error}");
}

#[test]
fn errors_have_places() {
    let places = [
        (Format::NTriples, "\n<a:s> <a:p> .", "line 2, column 13: "),
        (Format::Turtle, "\n\n<a:s> <a:p> ; .", "line 3, column "),
        (Format::TriG, "\n{ <a:s> <a:p> ", "line 2, column "),
        (Format::JsonLd, "{\n\"a:p\": tru", "line 2, column "),
    ];
    for (format, text, start) in places {
        let error = read(format, text).unwrap_err().to_string();
        assert!(error.starts_with(start), "{format}: {error}");
    }
    let text = rdf_xml("", "<rdf:Description rdf:about=\"a b\"/>\n");
    let error = read(Format::RdfXml, &text).unwrap_err().to_string();
    assert!(error.starts_with("line 3, column "), "{error}");
}

#[test]
fn reading_stops_where_it_is_told() {
    for format in Format::ALL {
        let mut output = writer(format, Vec::new());
        for quad in &sample(format) {
            output.quad(quad.as_ref()).unwrap();
        }
        let mut count = 0;
        let text = output.finish().unwrap();
        read_quads(format, &text[..], None, &mut |_: QuadRef<'_>| {
            count += 1;
            if count == 3 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap();
        assert_eq!(count, 3, "{format}");
    }
}

fn sample_text(format: Format) -> Vec<u8> {
    let mut output = writer(format, Vec::new());
    for quad in &sample(format) {
        output.quad(quad.as_ref()).unwrap();
    }
    output.finish().unwrap()
}

/// Feeds a scanner in pieces of this size; gives the offset of its objection.
fn scan_in_pieces(mut scan: impl guard::Scan, bytes: &[u8], size: usize) -> Option<usize> {
    bytes.chunks(size).enumerate().find_map(|(number, piece)| {
        scan.feed(piece)
            .err()
            .map(|objection| number * size + objection.offset)
    })
}

/// Bytes that structure one format or another.
const COMMON: &[u8] = b"<>\"'\\.{}[]()#&;\n@^_:%!-?";

proptest! {
    #[test]
    fn damaged_documents_never_panic(
        format in prop::sample::select(&Format::ALL),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..6),
        piece in 1..200_usize,
    ) {
        let mut bytes = sample_text(format);
        for (place, byte, kind) in edits {
            let place = place.index(bytes.len().max(1)).min(bytes.len());
            match kind {
                0 if place < bytes.len() => bytes[place] = byte,
                1 => bytes.insert(place, COMMON[usize::from(byte) % COMMON.len()]),
                _ => drop(bytes.drain(place..(place + usize::from(byte)).min(bytes.len()))),
            }
        }
        let _ = read_quads(format, &bytes[..], None, &mut |_| ControlFlow::Continue(()));
        let whole = bytes.len().max(1);
        for size in [piece, whole] {
            let scan = || turtle::TurtleScan::new(turtle::NoSink);
            prop_assert_eq!(scan_in_pieces(scan(), &bytes, size), scan_in_pieces(scan(), &bytes, 1));
            let scan = xml::XmlScan::default;
            prop_assert_eq!(scan_in_pieces(scan(), &bytes, size), scan_in_pieces(scan(), &bytes, 1));
        }
    }
}

#[test]
fn a_byte_order_mark_is_left_out() {
    let line = "<a:s> <a:p> <a:o> .\n";
    for format in [
        Format::NTriples,
        Format::NQuads,
        Format::Turtle,
        Format::TriG,
    ] {
        let quads = read(format, &format!("\u{feff}{line}")).unwrap();
        assert_eq!(quads, read(format, line).unwrap());
        let error = read(format, "\u{feff}<a:s> <a:p> !").unwrap_err();
        let expected = read(format, "<a:s> <a:p> !").unwrap_err();
        assert_eq!(error.to_string(), expected.to_string());
        assert!(read(format, &format!("{line}\u{feff}{line}")).is_err());
        assert!(read(format, "\u{feff}").unwrap().is_empty());
        assert!(read(format, "\u{fe}").is_err() && read(format, "").unwrap().is_empty());
    }
}

#[test]
fn long_tokens_are_taken_from_readers_as_from_slices() {
    let long = "x".repeat(17 << 20);
    let text = format!("<a:s> <a:p> <a:o> .\n<a:s> <a:p> \"{long}\" . # {long}\n<a:s> <a:p> 1 .");
    for format in [Format::Turtle, Format::TriG] {
        assert_eq!(read(format, &text).unwrap().len(), 3);
    }
    for part in split_turtle(text.as_bytes(), None, 3).unwrap() {
        part.read(&mut |_| ControlFlow::Continue(())).unwrap();
    }
}

#[test]
fn the_length_of_tokens_is_bounded_however_they_come() {
    let long = "x".repeat(100);
    for token in [
        format!("\"{long}\""),
        format!("<{long}>"),
        format!("# {long}\n"),
    ] {
        let text = format!("<s> <p> {token}");
        for piece in [1, 7, 50, text.len()] {
            let feed = |bytes_max| {
                let mut scan = turtle::TurtleScan::with_token_bytes_max(turtle::NoSink, bytes_max);
                let mut pieces = text.as_bytes().chunks(piece);
                pieces.try_for_each(|piece| guard::Scan::feed(&mut scan, piece))
            };
            assert!(feed(103).is_ok(), "{token} in pieces of {piece}");
            assert!(feed(100).is_err(), "{token} in pieces of {piece}");
        }
    }
}

#[test]
fn a_line_is_not_longer_than_it_may_be() {
    let literal = std::io::Read::take(std::io::repeat(b'x'), 1 << 40);
    let begin = &b"<e:s> <e:p> <e:o> .\n<e:s> <e:p> \""[..];
    let text = std::io::Read::chain(begin, literal);
    let mut quads = 0;
    let ended = read_quads(Format::NTriples, text, None, &mut |_| {
        quads += 1;
        ControlFlow::Continue(())
    });
    let error = ended.expect_err("a terabyte is too long").to_string();
    assert_eq!(error, "line 2, column 1: the line is longer than 64 MiB");
    assert_eq!(quads, 1);
}

#[test]
fn a_part_of_a_document_is_not_taken_for_a_whole_one() {
    let xml = rdf_xml(
        "<!DOCTYPE rdf:RDF [<!ENTITY e \"x\">]>",
        "<!-- a --><a:T rdf:ID='i'><a:p>one &amp; &lt;two&gt;</a:p><a:q rdf:parseType='Collection'>\
         <rdf:Description rdf:about='&e;'/></a:q></a:T>",
    );
    let json = r#"{"@id": "http://a.example/s", "http://a.example/p": [{"@value": "x"}, 1]}"#;
    for (format, text) in [(Format::RdfXml, &*xml), (Format::JsonLd, json)] {
        let text = text.trim_end();
        assert!(!read(format, text).unwrap().is_empty());
        for length in 0..text.len() {
            let is_refused = read(format, &text[..length]).is_err();
            assert!(is_refused, "{format:?}: {:?}", &text[..length]);
        }
    }
    let twice = xml.clone() + &xml[xml.find("<rdf:RDF").unwrap()..];
    assert!(read(Format::RdfXml, &twice).is_err());
    let error = read(Format::RdfXml, xml.strip_suffix("</rdf:RDF>").unwrap()).unwrap_err();
    assert!(error.to_string().contains("within an element"), "{error}");
}
