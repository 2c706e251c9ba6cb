//! Texts that are refused. `refusals.txt` holds texts, each with the error and its place.

use super::cases::check_all;
use crate::{ParseErrorKind, ParseOptions, parse};

#[test]
fn refusals() {
    check_all(include_str!("refusals.txt"), |text| {
        let error = parse(text, &ParseOptions::default()).expect_err(text);
        let message = error.to_string();
        let kind = if message.contains("is not supported") {
            ParseErrorKind::Unsupported
        } else if message.contains("is an update") {
            ParseErrorKind::Update
        } else if message.contains("is not declared") {
            ParseErrorKind::Undeclared
        } else {
            ParseErrorKind::Syntax
        };
        assert_eq!(error.kind, kind, "{text}");
        message
    });
}

#[test]
fn options_are_checked() {
    let options = ParseOptions {
        base: Some("no iri".to_owned()),
        ..ParseOptions::default()
    };
    let error = parse("ASK {}", &options).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::Option);
    assert!(
        error.message.starts_with("base <no iri> is not an IRI"),
        "{error}"
    );
}

#[test]
fn base_and_prefixes_are_used() {
    let options = ParseOptions {
        base: Some("http://example.org/a/".to_owned()),
        prefixes: vec![("ex".to_owned(), "http://example.org/ex#".to_owned())],
        ..ParseOptions::default()
    };
    let query = parse("PREFIX my: <http://my/> ASK { <b> ex:c my:d }", &options).unwrap();
    let constants: Vec<String> = query.constants().iter().map(ToString::to_string).collect();
    assert_eq!(
        constants,
        [
            "<http://example.org/a/b>",
            "<http://example.org/ex#c>",
            "<http://my/d>"
        ]
    );
    let prefixes: Vec<&str> = query.prefixes().iter().map(|(p, _)| p.as_str()).collect();
    assert_eq!(prefixes, ["ex", "my"]);
}

/// What people write by mistake, and what they are told.
#[test]
fn mistakes() {
    check_all(include_str!("mistakes.txt"), |text| {
        parse(text, &ParseOptions::default())
            .expect_err(text)
            .to_string()
    });
}
