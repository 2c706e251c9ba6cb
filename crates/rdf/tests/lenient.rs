//! IRIs and language tags that break the rules: taken as they are by a lenient reader in every format, refused by
//! a strict one with the remark that the other takes them, and the same after they were written and read.

use oxrdf::{GraphName, Literal, NamedNode, Quad, Term, Triple};
use proptest::prelude::*;
use rdf::format::{Format, ReadError, read_quads_with, split_turtle_with, writer_with_prefixes};
use rdf::{Strictness, is_loadable_iri};
use std::ops::ControlFlow;

fn read(strictness: Strictness, format: Format, text: &str) -> Result<Vec<Quad>, ReadError> {
    let mut quads = Vec::new();
    read_quads_with(strictness, format, text.as_bytes(), None, &mut |quad| {
        quads.push(quad.into_owned());
        ControlFlow::Continue(())
    })?;
    Ok(quads)
}

/// A document with this IRI as subject and object, as the format spells it.
fn document(format: Format, iri: &str) -> String {
    match format {
        Format::RdfXml => {
            let iri = iri
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('"', "&quot;");
            format!(
                "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:e='http://e/'>\
                 <rdf:Description rdf:about=\"{iri}\"><e:p rdf:resource=\"{iri}\"/></rdf:Description></rdf:RDF>"
            )
        }
        Format::JsonLd => {
            let iri = iri
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            format!("{{\"@id\": \"{iri}\", \"http://e/p\": {{\"@id\": \"{iri}\"}}}}")
        }
        _ => format!("<{iri}> <http://e/p> <{iri}> .\n"),
    }
}

fn is_unusual(error: &ReadError) -> bool {
    matches!(
        error,
        ReadError::Syntax {
            is_unusual: true,
            ..
        }
    )
}

#[test]
fn unusual_iris_are_taken_by_lenient_readers_only() {
    for iri in [
        "http://a/b#c#d",
        "http://a/{b}",
        "http://a/b|c",
        "http://a/b^c",
        "http://a/b`c",
        "http://a/b%zz",
        "http://a:port/",
        "http://[a/",
        "http://a/[b]",
        "http://a/\u{e000}",
    ] {
        for format in Format::ALL {
            let text = document(format, iri);
            let quads = read(Strictness::Lenient, format, &text)
                .unwrap_or_else(|error| panic!("{format} {iri}: {error}"));
            let node = NamedNode::new_unchecked(iri);
            let expected = Quad::new(
                node.clone(),
                NamedNode::new_unchecked("http://e/p"),
                node,
                GraphName::DefaultGraph,
            );
            assert_eq!(quads, [expected], "{format} {iri}");
            match read(Strictness::Strict, format, &text) {
                // As its specification has it.
                Ok(quads) if format == Format::JsonLd => assert_eq!(quads, []),
                Ok(_) => panic!("{format} {iri}: taken by a strict reader"),
                Err(error) => assert!(is_unusual(&error), "{format} {iri}: {error}"),
            }
        }
    }
}

#[test]
fn what_would_break_a_line_is_taken_by_nobody() {
    for iri in [
        "a",
        "#a",
        "//a/b",
        "http://a b",
        "http://a\"b",
        "http://a\nb",
        "http://a<b",
        "http://a\u{7f}b",
        "http://a\u{85}b",
        "1a:b",
    ] {
        for format in Format::ALL {
            for strictness in [Strictness::Strict, Strictness::Lenient] {
                match read(strictness, format, &document(format, iri)) {
                    Ok(quads) => {
                        // JSON-LD leaves out what it has no IRI for, and white space in attributes is a blank.
                        assert!(
                            format == Format::JsonLd && quads.is_empty(),
                            "{format} {iri:?} {quads:?}"
                        );
                    }
                    Err(error) => assert!(!is_unusual(&error), "{format} {iri:?}: {error}"),
                }
            }
        }
    }
    for escape in ["\\u0020", "\\u003E", "\\u000A", "\\u005C", "\\U00000022"] {
        for format in [
            Format::NTriples,
            Format::NQuads,
            Format::Turtle,
            Format::TriG,
        ] {
            let text = document(format, &format!("http://a/{escape}"));
            for strictness in [Strictness::Strict, Strictness::Lenient] {
                let error = read(strictness, format, &text).expect_err(escape);
                assert!(!is_unusual(&error), "{format} {escape}: {error}");
            }
        }
    }
}

#[test]
fn language_tags_keep_to_their_grammar() {
    let turtle = |tag: &str| format!("<http://e/s> <http://e/p> \"x\"@{tag} .\n");
    let xml = |tag: &str| {
        format!(
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:e='http://e/'>\
             <rdf:Description rdf:about='http://e/s'><e:p xml:lang='{tag}'>x</e:p></rdf:Description></rdf:RDF>"
        )
    };
    for format in [
        Format::NTriples,
        Format::Turtle,
        Format::TriG,
        Format::RdfXml,
    ] {
        let text = |tag: &str| {
            if format == Format::RdfXml {
                xml(tag)
            } else {
                turtle(tag)
            }
        };
        let quads = read(Strictness::Lenient, format, &text("abcdefghij-k")).expect("lenient");
        let expected = Literal::new_language_tagged_literal_unchecked("x", "abcdefghij-k");
        assert_eq!(quads[0].object, Term::from(expected), "{format}");
        let error = read(Strictness::Strict, format, &text("abcdefghij-k")).expect_err("strict");
        assert!(is_unusual(&error), "{format}: {error}");
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            let error = read(strictness, format, &text("en_US")).expect_err("no tag");
            assert!(!is_unusual(&error), "{format}: {error}");
        }
    }
    let lang_string = "<http://e/s> <http://e/p> \"x\"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> .";
    for format in [Format::NTriples, Format::Turtle] {
        read(Strictness::Lenient, format, lang_string).expect_err("no tag");
    }
}

#[test]
fn a_string_ends_on_its_line_whoever_reads_and_however() {
    let text = "<http://e/s> <http://e/p> \"x\n<http://e/s> <http://e/p> <http://e/o> .\n\" .\n";
    for format in [Format::Turtle, Format::TriG] {
        let error = read(Strictness::Lenient, format, text).expect_err("open");
        assert!(error.to_string().starts_with("line 1, "), "{error}");
    }
    let error = split_turtle_with(Strictness::Lenient, text.as_bytes(), None, 2);
    assert!(error.is_err());
    let long = text.replace('"', "\"\"\"");
    assert_eq!(
        read(Strictness::Lenient, Format::Turtle, &long)
            .expect("long")
            .len(),
        1
    );
}

fn in_parts(strictness: Strictness, text: &str) -> Option<Vec<Quad>> {
    let parts = split_turtle_with(strictness, text.as_bytes(), None, 4).expect("it can be cut")?;
    assert!(parts.len() > 1);
    let mut quads = Vec::new();
    for part in parts {
        part.read(&mut |quad| {
            quads.push(quad.into_owned());
            ControlFlow::Continue(())
        })
        .expect("each part is read");
    }
    Some(quads)
}

#[test]
fn parts_of_a_document_are_as_lenient_as_the_whole() {
    let statements = "<http://a/b#c#d> e:p \"x\"@abcdefghij , e:a\\#b .\n".repeat(8);
    let usual = format!("@prefix e: <http://e/> .\n{statements}");
    let whole = read(Strictness::Lenient, Format::Turtle, &usual).expect("lenient");
    assert_eq!(whole.len(), 16);
    assert_eq!(in_parts(Strictness::Lenient, &usual), Some(whole));
    // A prefix that only a lenient parser takes cannot be handed to the parts behind it.
    let unusual = format!("{usual}@prefix e: <http://e/#a#> .\n{statements}");
    assert_eq!(in_parts(Strictness::Lenient, &unusual), None);
    let whole = read(Strictness::Lenient, Format::Turtle, &unusual).expect("lenient");
    assert_eq!(whole[31].predicate.as_str(), "http://e/#a#p");
}

/// IRIs that a lenient reader takes: a scheme, and anything that breaks no line.
fn any_iri() -> impl Strategy<Value = NamedNode> {
    "(http://e/|http://e/#|a:|urn:x:)[!-~é\u{e000}\u{2028}]{0,10}"
        .prop_filter("it is loadable", |iri| is_loadable_iri(iri))
        .prop_map(NamedNode::new_unchecked)
}

fn any_object() -> impl Strategy<Value = Term> {
    prop_oneof![
        any_iri().prop_map(Term::from),
        any_iri().prop_map(|datatype| Literal::new_typed_literal("x", datatype).into()),
        "[a-z]{1,12}(-[a-z0-9]{1,12}){0,2}"
            .prop_map(|tag| { Literal::new_language_tagged_literal_unchecked("x", tag).into() }),
    ]
}

proptest! {
    #[test]
    fn what_is_taken_comes_back_from_what_is_written(
        subject in any_iri(), predicate in any_iri(), object in any_object(), graph in any_iri(),
        is_nested in any::<bool>(),
    ) {
        let prefixes = [("e", "http://e/"), ("h", "http://e/#"), ("a", "a:")];
        for format in Format::ALL {
            let graph = if format.has_graphs() { graph.clone().into() } else { GraphName::DefaultGraph };
            let mut object = object.clone();
            if is_nested && format.has_triple_terms() {
                object = Triple::new(subject.clone(), predicate.clone(), object).into();
            }
            let quad = Quad::new(subject.clone(), predicate.clone(), object, graph);
            let mut writer = writer_with_prefixes(format, Vec::new(), &prefixes);
            match writer.quad(quad.as_ref()) {
                Ok(()) => {}
                // Not every IRI is a name in XML.
                Err(_) if format == Format::RdfXml => continue,
                Err(error) => panic!("{format}: {error}"),
            }
            let text = String::from_utf8(writer.finish().expect("memory")).expect("UTF-8");
            let quads = read(Strictness::Lenient, format, &text)
                .unwrap_or_else(|error| panic!("{format}: {error}\n{text}"));
            prop_assert_eq!(quads, vec![quad], "{} {}", format, text);
        }
    }
}
