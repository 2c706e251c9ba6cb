//! Shapes: which texts have one, and that what is taken out of a text can be put back.

use crate::ParseOptions;
use crate::shape::{Shape, Template};
use oxrdf::{Literal, NamedNode, Term};
use std::path::{Path, PathBuf};

const PROLOGUE: &str =
    "PREFIX : <http://e/> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> ";

pub(super) fn shape(text: &str, options: &ParseOptions) -> Option<Shape> {
    Shape::of(&crate::scan(text, options).ok()?, options)
}

fn template(text: &str, options: &ParseOptions) -> Option<Template> {
    let scanned = crate::scan(text, options).ok()?;
    let template = scanned.template(&Shape::of(&scanned, options)?, options);
    template.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The parameters of a pattern, as text.
fn parameters(query: &str) -> Vec<String> {
    let text = format!("{PROLOGUE}{query}");
    let options = ParseOptions::default();
    let shape = shape(&text, &options).expect("a shape");
    let template = template(&text, &options).unwrap_or_else(|| panic!("no template: {query}"));
    let parsed = crate::parse(&text, &options).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(template.filled(&shape.parameters), parsed, "{query}");
    shape.parameters.iter().map(Term::to_string).collect()
}

#[test]
fn subjects_and_objects_are_parameters() {
    let found =
        parameters("SELECT ?x { :s :p ?x . ?x <http://e/q> <http://e/o>, \"text\" ; :r :t }");
    let expected = ["<http://e/s>", "<http://e/o>", "\"text\"", "<http://e/t>"];
    assert_eq!(found, expected);
    let nested = "ASK { OPTIONAL { ?x :p :o } FILTER NOT EXISTS { :s ?p ?x } { ?a :p :b } UNION { :c :p ?a } }";
    assert_eq!(parameters(nested).len(), 4);
    let after = "SELECT * { FILTER(?x > 1) :s :p ?x BIND(1 AS ?y) :t :p ?x FILTER regex(?x, 'a') ?x :p :u }";
    assert_eq!(parameters(after).len(), 3);
}

#[test]
fn what_decides_the_plan_or_the_algebra_is_not() {
    for query in [
        "SELECT ?x { ?x a :C }",
        "SELECT ?x { ?x rdf:type :C, :D }",
        "SELECT ?x { ?x :p 5, -5, 5.0, true }",
        "SELECT ?x { ?x :p \"a\"@en }",
        "SELECT ?x { ?x :p \"a\"^^:t }",
        "SELECT ?x { ?x :p 'a\\n', '''a''' }",
        "SELECT ?x { ?x :p/:q :o }",
        "SELECT ?x { ?x :p+ :o }",
        "SELECT ?x { ?x ^:p :o }",
        "SELECT ?x { :C ^a ?x }",
        "SELECT ?x { :C ^rdf:type ?x }",
        "SELECT ?x { :C (^a) ?x }",
        "SELECT ?x { :C (:p|^a) ?x }",
        "SELECT ?x { :C ^(a) ?x }",
        "SELECT ?x { ?x (:p|:q) :o }",
        "SELECT ?x { ?x :p (:a :b), [ :q :c ] }",
        "SELECT ?x { ?x :p ?y FILTER(?y = :o) }",
        "SELECT ?x { GRAPH :g { ?x :p ?y } }",
        "SELECT ?x { VALUES ?x { :a :b } VALUES (?y ?z) { (:a :b) } ?x :p ?y }",
        "SELECT ?x FROM :g { ?x :p ?y }",
        "SELECT ?x { ?x :p ?y } ORDER BY (?y = :o) LIMIT 3",
        "SELECT ?x { { SELECT ?x { ?x :p ?y } GROUP BY ?x } ?x :p ?z }",
        "SELECT ?x { ?x :p ?y {| :q :z |} }",
        "SELECT ?x { << ?x :p :o >> :q ?y }",
        "CONSTRUCT { ?x :p :o } { ?x :p :o }",
        "DESCRIBE :s",
    ] {
        assert_eq!(parameters(query), Vec::<String>::new(), "{query}");
    }
}

#[test]
fn texts_of_one_shape_have_one_key() {
    let key = |query: &str, options: &ParseOptions| {
        shape(&format!("{PROLOGUE}{query}"), options)
            .expect("a shape")
            .key
    };
    let plain = ParseOptions::default();
    let first = key("SELECT ?x { ?x :p :o }", &plain);
    for same in [
        "SELECT ?x { ?x :p :other }",
        "SELECT ?x { ?x :p <http://elsewhere/> }",
        "SELECT  ?x{?x :p\n:o} # comment",
    ] {
        assert_eq!(first, key(same, &plain), "{same}");
    }
    for other in [
        "SELECT ?x { ?x :q :o }",
        "SELECT ?y { ?y :p :o }",
        "SELECT ?x { ?x :p \"o\" }",
        "SELECT ?x { ?x :p :o . }",
        "SELECT ?x { ?x a :o }",
    ] {
        assert_ne!(first, key(other, &plain), "{other}");
    }
    let base = ParseOptions {
        base: Some("http://b/".to_owned()),
        ..ParseOptions::default()
    };
    assert_ne!(first, key("SELECT ?x { ?x :p :o }", &base));
    let union = ParseOptions {
        union_default_graph: true,
        ..ParseOptions::default()
    };
    assert_ne!(first, key("SELECT ?x { ?x :p :o }", &union));
    assert!(shape(&format!("ASK {{ }} #{}", "x".repeat(20_000)), &plain).is_none());
}

#[test]
fn a_constant_that_stands_twice_is_one_parameter() {
    assert_eq!(
        parameters("ASK { :s :p ?x . ?x :q :s, :t }"),
        ["<http://e/s>", "<http://e/t>"]
    );
    let options = ParseOptions::default();
    let key = |query: &str| shape(&format!("{PROLOGUE}{query}"), &options).unwrap().key;
    let twice = key("ASK { :s :p ?x . ?x :q :s }");
    assert_eq!(twice, key("ASK { :t :p ?x . ?x :q :t }"));
    assert_ne!(twice, key("ASK { :s :p ?x . ?x :q :t }"));
}

/// What stands elsewhere too stays there when another term is asked about.
#[test]
fn a_parameter_that_stands_elsewhere_too_is_taken_out_of_its_place_alone() {
    let options = ParseOptions::default();
    let other = Term::from(NamedNode::new_unchecked("http://e/d"));
    for query in [
        "ASK { ?x :p :c . ?x a :c }",
        "ASK { ?x :p :c FILTER(?y = :c) }",
        "ASK { ?x :p :c . VALUES ?x { :c } }",
        "ASK { ?x :p :c . GRAPH :c { ?x :p ?y } }",
        "ASK { ?x :p :c . ?x :q+ :c . ?x :p (:c) }",
    ] {
        let text = format!("{PROLOGUE}{query}");
        let template = template(&text, &options).expect(query);
        let filled = template.filled(std::slice::from_ref(&other));
        let replaced = text.replacen(":c", ":d", 1);
        assert_eq!(
            filled,
            crate::parse(&replaced, &options).unwrap(),
            "{query}"
        );
    }
}

/// Whatever is around a pattern.
#[test]
fn parameters_are_taken_out_of_all_kinds_of_groups() {
    for (query, count) in [
        ("ASK { ?x :p :a FILTER EXISTS { ?x :q :b } }", 2),
        ("ASK { ?x :p :a MINUS { ?x :q :b } }", 2),
        ("ASK { ?x :p :a LATERAL { ?x :q :b } }", 2),
        (
            "SELECT ?x { { SELECT ?x { ?x :p ?y } } ?x :q ?z . ?z :r :a }",
            1,
        ),
        ("ASK { GRAPH ?g { ?x :p :a } }", 1),
        ("ASK { OPTIONAL { :s :p 'text' FILTER(?x > 1) } }", 2),
        (
            "SELECT (COUNT(*) AS ?n) { ?x :p :a } GROUP BY ?x HAVING (?n > 1)",
            1,
        ),
    ] {
        assert_eq!(parameters(query).len(), count, "{query}");
    }
}

/// A term cannot be put into a term.
#[test]
fn a_parameter_that_becomes_part_of_a_triple_term_has_no_template() {
    let options = ParseOptions::default();
    for query in [
        "ASK { :s :p :o {| :q ?z |} }",
        "ASK { :s :p :o ~ :r }",
        "ASK { ?x :p :o . :s :p 'o' {| :q ?z |} }",
        "ASK { :s :p ?y {| :q ?z |} }",
        "ASK { :s :p ?y ~ ?r }",
    ] {
        let text = format!("{PROLOGUE}{query}");
        let shape = shape(&text, &options).expect("a shape");
        assert!(!shape.parameters.is_empty(), "{query}");
        assert!(template(&text, &options).is_none(), "{query}");
    }
}

/// That a class is empty may be part of a plan, so no other class is put in its place.
#[test]
fn a_parameter_that_becomes_a_class_has_no_template() {
    let options = ParseOptions::default();
    for query in [
        "ASK { :C :p|^a ?x }",
        "ASK { :C ^:p|^a ?x }",
        "ASK { ?y :p :o FILTER EXISTS { :C ^:p|^a ?x } }",
    ] {
        let text = format!("{PROLOGUE}{query}");
        let shape = shape(&text, &options).expect("a shape");
        assert!(!shape.parameters.is_empty(), "{query}");
        assert!(template(&text, &options).is_none(), "{query}");
    }
}

/// What is sent elsewhere is a text, which a term cannot be put into.
#[test]
fn a_parameter_within_a_service_has_no_template() {
    let options = ParseOptions::default();
    let text = format!("{PROLOGUE}ASK {{ ?x :p :c SERVICE <http://e/sparql> {{ ?x :q :d }} }}");
    assert_eq!(shape(&text, &options).expect("a shape").parameters.len(), 2);
    assert!(template(&text, &options).is_none());
}

pub(super) fn queries(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            queries(&path, found);
        } else if path.extension().is_some_and(|end| end == "rq") {
            found.push(path);
        }
    }
}

/// For every query of the suites: with other terms for its parameters, the algebra of its text is that
/// of its template.
#[test]
fn a_template_is_the_algebra_of_all_its_texts() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let mut found = Vec::new();
    queries(&shared, &mut found);
    if found.is_empty() {
        eprintln!("SKIPPED: no queries in {}", shared.display());
        return;
    }
    let (mut templates, mut filled, mut without) = (0, 0, 0);
    for path in found {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        for base in [None, Some("http://example.org/a/b".to_owned())] {
            let options = ParseOptions {
                base,
                ..ParseOptions::default()
            };
            if crate::parse(&text, &options).is_err() {
                continue;
            }
            let shape = shape(&text, &options).expect("the suites' texts are short");
            let Some(template) = template(&text, &options) else {
                without += 1;
                continue;
            };
            templates += 1;
            filled += usize::from(!shape.parameters.is_empty());
            let others: Vec<Term> = (0..shape.parameters.len())
                .map(|number| match &shape.parameters[number] {
                    Term::Literal(_) => Literal::from(format!("other {number}")).into(),
                    _ => NamedNode::new_unchecked(format!("http://other/{number}#x")).into(),
                })
                .collect();
            let text = shape.with(&text, |number| others[number].to_string());
            let parsed = crate::parse(&text, &options).expect("it still parses");
            assert_eq!(template.filled(&others), parsed, "{}", path.display());
        }
    }
    assert!(
        templates > 500 && filled > 100 && without < templates / 20,
        "{templates} templates, {filled} with parameters, {without} texts without"
    );
}
