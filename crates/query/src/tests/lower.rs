//! Text to algebra: `lower.txt` holds texts, each with the pipeline that it becomes, or with the error
//! of one that is refused although the parser takes it.

use super::algebra_text::text_of;
use super::cases::check_all;
use crate::ParseOptions;
use std::fmt::Write;

#[test]
fn pipelines() {
    check_all(include_str!("lower.txt"), |text| {
        match crate::parse(text, &ParseOptions::default()) {
            Ok(query) => text_of(&query),
            Err(error) => error.to_string(),
        }
    });
}

#[test]
fn the_base_is_that_of_the_text_or_of_the_options() {
    let options = ParseOptions {
        base: Some("http://example.org/a/".to_owned()),
        ..ParseOptions::default()
    };
    let base = |text| {
        crate::parse(text, &options)
            .unwrap()
            .base()
            .map(str::to_owned)
    };
    assert_eq!(base("ASK {}").as_deref(), Some("http://example.org/a/"));
    assert_eq!(
        base("BASE <b/> ASK {}").as_deref(),
        Some("http://example.org/a/b/")
    );
}

#[test]
fn a_table_of_the_text_is_read_in_linear_time() {
    let mut rows = String::new();
    for number in 0..60_000 {
        let _ = write!(rows, "({number} UNDEF)");
    }
    let text = format!("SELECT * {{ VALUES (?x ?y) {{ {rows} }} }}");
    let query = crate::parse(&text, &ParseOptions::default()).unwrap();
    assert_eq!(query.constants().len(), 60_000);
}
