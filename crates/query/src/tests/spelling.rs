//! Spellings: what they say of a text is what its tokens say.

use super::shape::{queries, shape};
use crate::ParseOptions;
use crate::shape::Shape;
use crate::shape::spelling::{Spelling, skeleton};
use oxrdf::Term;
use std::path::Path;

/// What may stand where a parameter stood, well formed or not.
const WORDS: [&str; 29] = [
    "<http://other/1>",
    "<http://other/2#x>",
    "<urn:a:b>",
    "<a%20b:c>",
    "<relative>",
    "<http://e/../x>",
    "<http://e/\\u0041>",
    "<http://e/a b>",
    "<http://e/é>",
    "<>",
    "<<http://e/>",
    "<http://e/",
    "<http://e/> , <http://e/2>",
    "<http://e/>.",
    "\"other\"",
    "\"\"",
    "\"an other # one <x> 'y'\"",
    "\"é\"",
    "\"a\\\"b\"",
    "\"a\nb\"",
    "\"\"\"a\"\"\"",
    "\"a\"@en",
    "\"a\" . \"b\"",
    "\"a",
    "'other'",
    "''",
    "'''a'''",
    ":other",
    "?other",
];

/// What a spelling says of a text has to be what its shape says; whether it said anything.
fn agrees(spelling: &Spelling, first: &Shape, text: &str, options: &ParseOptions) -> bool {
    let Some(found) = spelling.parameters(text, options) else {
        return false;
    };
    let shape = shape(text, options).unwrap_or_else(|| panic!("spelled, but refused: {text}"));
    assert_eq!(shape.key, first.key, "{text}");
    assert_eq!(shape.terms(), found, "{text}");
    true
}

#[test]
fn a_spelling_says_what_the_tokens_say() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let mut found = Vec::new();
    queries(&shared, &mut found);
    let texts = found
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok());
    if found.is_empty() {
        eprintln!("skipped: the texts of queries beside the checkout, which are not there");
    }
    let own = [
        "SELECT ?x { ?x <http://e/p> <http://e/o> ; <http://e/q> \"text\" }",
        "SELECT * { <http://e/s> ?p ?o . ?o <http://e/p> 'a' OPTIONAL { ?o <http://e/q> ?y } } LIMIT 10",
        "SELECT ?s (COUNT(*) AS ?n) { ?s <http://e/p> \"a\" , \"b\" } GROUP BY ?s ORDER BY ?n",
        "ASK { GRAPH <http://e/g> { <http://e/s> <http://e/p> <http://e/o> } }",
        "ASK { <http://e/s> <http://e/p> \"text\" . ?x <http://e/q> 'a', <http://e/s> }",
        "SELECT ?x { ?x <http://e/p>\"a\"\"b\" ; <http://e/q><http://e/o><http://e/r> '' }",
        "SELECT ?x { ?x <http://e/p> \"\"'a' FILTER(?x<2&&3>?x) } # it's <http://e/o>",
    ];
    let (mut said, mut silent) = (0, 0);
    let options = ParseOptions::default();
    for text in texts.chain(own.map(str::to_owned)) {
        let Some(first) = shape(&text, &options) else {
            continue;
        };
        let Some(spelling) = Spelling::new(&text, &first, &options) else {
            continue;
        };
        assert!(agrees(&spelling, &first, &text, &options), "{text}");
        for word in WORDS {
            for at in 0..first.parameters.len() {
                let own = |number: usize| first.parameters[number].to_string();
                let one = first.with(&text, |number| {
                    if number == at {
                        word.to_owned()
                    } else {
                        own(number)
                    }
                });
                if agrees(&spelling, &first, &one, &options) {
                    said += 1;
                } else {
                    silent += 1;
                }
            }
        }
    }
    assert!(
        said > 10 && silent > 10,
        "{said} texts were spelled alike, {silent} not"
    );
}

#[test]
fn other_terms_keep_a_spelling_and_its_hash() {
    let options = ParseOptions::default();
    let text =
        "SELECT ?x { <http://e/s> <http://e/p> \"text\" . ?x <http://e/q> 'a', <http://e/s> }";
    let spelling = Spelling::new(text, &shape(text, &options).unwrap(), &options).unwrap();
    let other =
        "SELECT ?x { <urn:t> <http://e/p> \"\" . ?x <http://e/q> 'a \"longer\" <one>', <urn:t> }";
    let found = spelling.parameters(other, &options).expect("a spelling");
    let found: Vec<String> = found
        .iter()
        .map(|term| Term::from(*term).to_string())
        .collect();
    assert_eq!(found, ["<urn:t>", "\"\"", "\"a \\\"longer\\\" <one>\""]);
    assert_eq!(skeleton(text), skeleton(other));
}

#[test]
fn what_is_no_parameter_has_to_be_the_same() {
    let options = ParseOptions::default();
    let text = "ASK { <http://e/s> <http://e/p> \"a\", <http://e/o> }";
    let spelling = Spelling::new(text, &shape(text, &options).unwrap(), &options).unwrap();
    for other in [
        "ASK { <http://e/s> <http://e/q> \"a\", <http://e/o> }",
        "ASK { <http://e/s> <http://e/p> \"a\", <http://e/s> }",
        "ASK { <http://e/s> <http://e/p> \"a\", <http://e/o>  }",
        "ASK { <http://e/s> <http://e/p> 'a', <http://e/o> }",
        "ASK { <http://e/s> <http://e/p> \"a\"@en, <http://e/o> }",
        "ASK { <http://e/s> <http://e/p> \"a\", <http://e/o> } #",
    ] {
        assert_eq!(spelling.parameters(other, &options), None, "{other}");
    }
    let base = ParseOptions {
        base: Some("http://b/".to_owned()),
        ..ParseOptions::default()
    };
    assert_eq!(spelling.parameters(text, &base), None);
    let mut short = ParseOptions::default();
    short.limits.text_bytes = 8;
    assert_eq!(spelling.parameters(text, &short), None);
    let prefixed = "PREFIX : <http://e/> ASK { :s :p ?x }";
    let shape = shape(prefixed, &options).unwrap();
    assert!(Spelling::new(prefixed, &shape, &options).is_none());
}
