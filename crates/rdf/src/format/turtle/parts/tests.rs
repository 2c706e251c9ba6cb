//! Parts read one after the other give what the whole document gives.

use super::*;
use oxrdf::dataset::CanonicalizationAlgorithm;
use oxrdf::{Dataset, QuadRef};
use oxttl::TurtleParser;
use proptest::prelude::*;
use std::fmt::Write;

/// What the whole document means, up to the names of blank nodes; `None` if it is malformed.
fn whole(text: &str) -> Option<Dataset> {
    let parser = TurtleParser::new()
        .with_base_iri("http://base.example/")
        .unwrap();
    let triples: Result<Vec<_>, _> = parser.for_slice(text).collect();
    let graph = triples
        .ok()?
        .into_iter()
        .map(|triple| triple.in_graph(oxrdf::GraphName::DefaultGraph));
    Some(canonical(graph.collect()))
}

fn canonical(mut dataset: Dataset) -> Dataset {
    dataset.canonicalize(CanonicalizationAlgorithm::Unstable);
    dataset
}

fn in_parts(text: &str, parts: usize) -> Result<(usize, Dataset), ReadError> {
    let parts = split_turtle(text.as_bytes(), Some("http://base.example/"), parts)?;
    let count = parts.len();
    let covered: usize = parts.iter().map(|part| part.bytes().len()).sum();
    assert_eq!(covered, text.len());
    let mut dataset = Dataset::new();
    for part in parts {
        part.read(&mut |quad: QuadRef<'_>| {
            dataset.insert(quad);
            ControlFlow::Continue(())
        })?;
    }
    Ok((count, canonical(dataset)))
}

/// Statements with everything in which a dot, quote, bracket or keyword can hide.
const STATEMENTS: [&str; 24] = [
    "@prefix ex: <http://a.example/> .\n",
    "PREFIX ex: <http://b.example/>\n",
    "prefix : <rel/> ex:a ex:b ex:c .\n",
    "@base <http://c.example/d/> . @prefix : <r/> .\n",
    "BASE <e/>\n",
    "VERSION \"1.2\"\n",
    "ex:s ex:p ex:o .\n",
    "ex:s.t ex:p 1.5 , .5 , 1. # comment . \"\n",
    ":s :p \"a . \\\" b\" , 'c . <' .\n",
    ":s :p \"\"\"long . \n ex:x ex:y ex:z . \n \"\" @prefix ex: <http://no.example/> . \\\"\"\"\" .\n",
    ":s :p '''it's ''long''\n.\n''' .\n",
    "<s> <p> <o>.<s> <p> <o2>.\n",
    "<s#x> a [ :p ( 1 2 [] ) ; :q <<( :a :b \"x\"@en )>> ] . \n",
    "<< :a :b :c >> :p :o .\n",
    "<< :a :b :c ~ :r >> :p << :x :y _:z >> .\n",
    ":s :p :o {| :source :web |} .\n",
    ":a\\.b\\' :p\\# _:b.c .\n",
    "_:b :p _:c.\n",
    ":s :p \"x\"@base .\n",
    ":s :p \"x\"@en--ltr . # end\r\n",
    "# comment . @prefix ex: <x> .\n",
    ":s :p 1.0e5 , 1e0 , \"1.\"^^:t .\n",
    ":s :p 1.:s2 :p2 :o2 .\n",
    ":base :prefix :version ; :p :q .\n",
];

proptest! {
    #[test]
    fn parts_are_the_document(
        picks in prop::collection::vec(0..STATEMENTS.len(), 0..30),
        parts in 1..8_usize,
    ) {
        let body: String = picks.iter().map(|&pick| STATEMENTS[pick]).collect();
        let text = format!("@prefix ex: <http://x.example/> . @prefix : <http://y.example/> .\n{body}");
        let expected = whole(&text).expect("the statements are valid");
        let (count, dataset) = in_parts(&text, parts).unwrap();
        prop_assert!(count <= parts);
        prop_assert!(dataset == expected, "{}", text);
    }

    #[test]
    fn malformed_documents_are_refused_in_parts_too(
        picks in prop::collection::vec(0..STATEMENTS.len(), 1..6),
        place in any::<prop::sample::Index>(),
        byte in prop::sample::select(&b"\"'<>.;[](){}#\\@"[..]),
        parts in 1..4_usize,
    ) {
        let body: String = picks.iter().map(|&pick| STATEMENTS[pick]).collect();
        let mut text = format!("@prefix ex: <http://x.example/> . @prefix : <http://y.example/> .\n{body}");
        text.insert(place.index(text.len()), char::from(byte));
        if let Some(expected) = whole(&text) {
            let (_, dataset) = in_parts(&text, parts).unwrap();
            prop_assert!(dataset == expected, "{}", text);
        } else {
            prop_assert!(in_parts(&text, parts).is_err(), "{}", text);
        }
    }
}

#[test]
fn large_documents_are_cut_evenly() {
    let text = format!(
        "@prefix : <http://y.example/> .\n{}",
        ":s :p :o .\n".repeat(1000)
    );
    let parts = split_turtle(text.as_bytes(), None, 8).unwrap();
    assert_eq!(parts.len(), 8);
    assert!(parts.iter().all(|part| part.bytes().len() < text.len() / 7));
    assert_eq!(in_parts("", 4).unwrap().1.len(), 0);
}

#[test]
fn errors_name_the_line_of_the_document() {
    let text = format!(
        "@prefix : <http://y.example/> .\n{}:s :p ;; x .",
        ":s :p :o .\n".repeat(100)
    );
    let error = in_parts(&text, 5).unwrap_err().to_string();
    assert!(error.starts_with("line 102, column "), "{error}");
    let error = split_turtle(b"\n\n<< << ", None, 2).and_then(|parts| {
        parts
            .into_iter()
            .try_for_each(|part| part.read(&mut |_| ControlFlow::Continue(())))
    });
    assert!(error.is_err());
    let deep = format!("\n\n {}", "<<(".repeat(1000));
    let Err(error) = split_turtle(deep.as_bytes(), None, 2) else {
        panic!("not refused")
    };
    assert!(error.to_string().starts_with("line 3, column "), "{error}");
}

#[test]
fn prefixes_between_statements_cost_no_more_than_the_document() {
    let mut text = String::new();
    for i in 0..20_000 {
        let statement = format!("p{i}:s p{i}:p p{i}:o .");
        writeln!(text, "@prefix p{i}: <http://y.example/{i}#> .\n{statement}").unwrap();
    }
    let parts = split_turtle(text.as_bytes(), None, 2000).unwrap();
    assert!(parts.len() > 5, "{} parts", parts.len());
    let declared: usize = parts.iter().map(|part| part.environment.len()).sum();
    assert!(declared < 4 * 20_000, "{declared} declarations");
    assert!(parts[0].declarations.len() <= 20_000);
    assert_eq!(in_parts(&text, 2000).unwrap().1.len(), 20_000);
}

#[test]
fn prefixes_declared_again_are_not_kept() {
    let same = "@prefix a: <http://a.example/> .\na:s a:p a:o .\n".repeat(1000);
    let parts = split_turtle(same.as_bytes(), None, 100).unwrap();
    assert_eq!((parts.len(), parts[99].declarations.len()), (100, 1));
    let mut other = String::new();
    for i in 0..1000 {
        writeln!(other, "@prefix a: <http://a.example/{i}/> .\na:s a:p a:o .").unwrap();
    }
    let parts = split_turtle(other.as_bytes(), None, 100).unwrap();
    assert!(parts.iter().all(|part| part.environment.len() <= 40));
    assert!(parts.len() >= 90 && parts[0].declarations.len() <= 1100);
    assert_eq!(in_parts(&other, 100).unwrap().1.len(), 1000);
}

#[test]
fn malformed_directives_are_reported_at_their_place() {
    let statements = "<http://a/a> <http://a/a> 1 .\n".repeat(100);
    let text = format!("{statements}@prefix x: <a b> .\n{statements}");
    let parts = split_turtle(text.as_bytes(), None, 10).unwrap();
    assert_eq!(parts.len(), 5);
    let error = in_parts(&text, 10).unwrap_err().to_string();
    assert!(error.starts_with("line 101, column 12"), "{error}");
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_document() {
    let text = "\u{feff}<a> <b> <c> .\n<a> <b> 2 .\n";
    let parts = split_turtle(text.as_bytes(), Some("http://base.example/"), 2).unwrap();
    assert_eq!(parts[0].bytes()[0], b'<');
    let count = parts.into_iter().map(|part| {
        let mut count = 0;
        let mut on_quad = |_: QuadRef<'_>| {
            count += 1;
            ControlFlow::Continue(())
        };
        part.read(&mut on_quad).unwrap();
        count
    });
    assert_eq!(count.sum::<usize>(), 2);
}
