//! Language tags: one term whatever their case, and written as BCP 47 recommends in every format; what was
//! written is loaded as the same terms again.

use crate::support;

use somersault::load::{self, Source, Unwatched};
use somersault::output::{ResultFormat, ResultWriter};
use somersault::{Database, GraphFormat, GraphWriter, Options, Request, dump};
use std::fmt::Write as _;
use testkit::Answer;
use testkit::graph::Format;

const DATA: &str = r#"<e:a> <e:p> "x"@en-gb , "x"@EN-GB , "y"@zh-HANT-tw , "z"@SL-rozaj , "w"@en-CA-X-CA , "v"@DE .
<e:b> <e:q> <<( <e:s> <e:p> "x"@en-gb )>> ."#;

/// The tags of the data, as they go out.
const WRITTEN: [&str; 5] = ["en-GB", "zh-Hant-TW", "sl-rozaj", "en-CA-x-ca", "de"];

fn loaded(name: &str, text: &str) -> Database {
    let source = Source::reader(name.to_owned(), std::io::Cursor::new(text.to_owned()));
    let (request, options) = (load::Request::default(), Options::default());
    load::load_in_memory(vec![source], &request, &options, &Unwatched)
        .expect("it is RDF")
        .0
}

fn data() -> Database {
    support::loaded(DATA, Format::Turtle, 1).expect("it is RDF")
}

fn has_all_tags(text: &str, what: &str) {
    for tag in WRITTEN {
        assert!(text.contains(tag), "{what} lacks {tag}: {text}");
    }
    for other in ["en-gb", "EN-GB", "hant", "HANT", "ROZAJ", "X-CA", "DE"] {
        assert!(!text.contains(other), "{what} has {other}: {text}");
    }
}

fn count(database: &Database, pattern: &str) -> String {
    let query = format!("SELECT (COUNT(*) AS ?n) {{ {pattern} }}");
    match support::answer(database, &query, 1).map_err(support::NoAnswer::message) {
        Ok(Answer::Rows { rows, .. }) => rows[0][0].as_ref().expect("a count").to_string(),
        other => panic!("{other:?}"),
    }
}

/// The same terms as in the data, found by constants in other cases.
fn is_the_data(database: &Database, what: &str) {
    let integer = |count: &str| format!("\"{count}\"^^<http://www.w3.org/2001/XMLSchema#integer>");
    assert_eq!(count(database, "?s <e:p> ?o"), integer("5"), "{what}");
    assert_eq!(
        count(database, "?s <e:p> \"x\"@En-Gb"),
        integer("1"),
        "{what}"
    );
    assert_eq!(
        count(
            database,
            "?s <e:p> ?o FILTER(?o IN (\"x\"@EN-gb, \"y\"@zh-hant-TW))"
        ),
        integer("2"),
        "{what}"
    );
    assert_eq!(
        count(
            database,
            "?s <e:p> ?o FILTER(LANG(?o) = \"zh-Hant-TW\" && sameTerm(?o, STRLANG(\"y\", \"ZH-hant-tw\")))"
        ),
        integer("1"),
        "{what}"
    );
}

#[test]
fn answers_have_tags_as_recommended() {
    let database = data();
    is_the_data(&database, "the data");
    let computed = "SELECT ?o (LANG(?o) AS ?l) (UCASE(?o) AS ?u) { { ?s <e:p> ?o } UNION { ?s <e:q> ?o } UNION \
                    { BIND(STRLANG(\"n\", \"EN-gb\") AS ?o) } UNION { VALUES ?o { \"m\"@ZH-hant-tw } } }";
    for format in [ResultFormat::Json, ResultFormat::Xml, ResultFormat::Tsv] {
        let mut writer = ResultWriter::new(format, Vec::new());
        let mut query = database.start(&Request::new(computed)).unwrap();
        query.run(&mut writer).unwrap();
        let text = String::from_utf8(writer.into_output().unwrap()).unwrap();
        has_all_tags(&text, format.media_type());
    }
}

#[test]
fn graphs_have_tags_as_recommended_and_are_loaded_again() {
    let database = data();
    for (format, extension) in [
        (GraphFormat::NTriples, "nt"),
        (GraphFormat::NQuads, "nq"),
        (GraphFormat::Turtle, "ttl"),
        (GraphFormat::TriG, "trig"),
        (GraphFormat::RdfXml, "rdf"),
        (GraphFormat::JsonLd, "jsonld"),
    ] {
        let text = "CONSTRUCT { ?s <urn:e:p> ?o . ?s <urn:e:t> \"t\"@En-gB } { ?s <e:p> ?o }";
        let mut writer = GraphWriter::new(format, Vec::new());
        let mut query = database.start(&Request::new(text)).unwrap();
        query.run(&mut writer).unwrap();
        let text = String::from_utf8(writer.into_output().unwrap()).unwrap();
        has_all_tags(&text, extension);
        let again = loaded(&format!("again.{extension}"), &text);
        let found = count(&again, "?s <urn:e:p> ?o . ?s <urn:e:t> \"t\"@en-GB");
        assert!(found.starts_with("\"5\""), "{extension}: {found}");
    }
}

#[test]
fn a_dump_has_tags_as_recommended_and_is_loaded_again() {
    let database = data();
    let mut text = String::new();
    dump::all(&database.graph(), &mut |quad| {
        writeln!(text, "{quad} .").expect("a string takes everything");
        Ok(())
    })
    .unwrap();
    has_all_tags(&text, "the dump");
    is_the_data(&loaded("dump.nq", &text), "the dump");
}
