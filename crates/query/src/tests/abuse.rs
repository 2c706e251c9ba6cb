//! Texts that end or stall other servers: each gets its error, on a stack of the stated size.
//!
//! `at_the_limit` searches for the largest text of each shape that the limits allow and takes
//! it through parser, translation, planner and all destructors on a thread with
//! [`STACK_BYTES_MIN`]: an overflow would end the test process.

use super::lubm;
use super::wire::round_trip;
use crate::limits::{Limit, STACK_BYTES_MIN};
use crate::{ParseError, ParseErrorKind, ParseOptions, parse};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// A text of a shape, of a size.
type Shape = (&'static str, fn(usize) -> String);

fn group(content: &str) -> String {
    format!("SELECT * {{ {content} }}")
}

fn nested(open: &str, middle: &str, close: &str, n: usize) -> String {
    format!("{}{middle}{}", open.repeat(n), close.repeat(n))
}

fn filter(open: &str, close: &str, n: usize) -> String {
    group(&format!("FILTER({})", nested(open, "1", close, n)))
}

fn numbered(start: &str, item: fn(usize) -> String, end: &str, n: usize) -> String {
    let mut text = start.to_owned();
    for at in 0..n {
        let _ = write!(text, "{} ", item(at));
    }
    text + end
}

/// Shapes that nest, chain or list without bound, and the limit that each runs into.
const SHAPES: [(Limit, Shape); 67] = [
    (Limit::Nesting, ("parentheses", |n| filter("(", ")", n))),
    (
        Limit::Nesting,
        ("open parentheses", |n| {
            format!("SELECT * {{ FILTER({}", "(".repeat(n))
        }),
    ),
    (
        Limit::Nesting,
        ("brackets", |n| group(&nested("[ <a:p> ", "?x", "]", n))),
    ),
    (
        Limit::Nesting,
        ("open brackets", |n| {
            format!("SELECT * {{ ?s ?p {}", "[".repeat(n))
        }),
    ),
    (
        Limit::Nesting,
        ("object brackets", |n| {
            group(&format!("?s ?p {}", nested("[ <a:p> ", "?x", "]", n)))
        }),
    ),
    (
        Limit::Nesting,
        ("groups", |n| group(&nested("{", "", "}", n))),
    ),
    (
        Limit::Nesting,
        ("optionals in optionals", |n| {
            group(&nested("OPTIONAL {", "", "}", n))
        }),
    ),
    (
        Limit::Nesting,
        ("graphs", |n| group(&nested("GRAPH ?g {", "", "}", n))),
    ),
    (
        Limit::Nesting,
        ("minus", |n| group(&nested("MINUS {", "", "}", n))),
    ),
    (
        Limit::Nesting,
        ("unions in unions", |n| {
            group(&nested("{} UNION {", "", "}", n))
        }),
    ),
    (
        Limit::Nesting,
        ("services", |n| {
            group(&nested("SERVICE SILENT ?s {", "", "}", n))
        }),
    ),
    (
        Limit::Nesting,
        ("laterals", |n| group(&nested("LATERAL {", "", "}", n))),
    ),
    (
        Limit::Nesting,
        ("exists", |n| group(&nested("FILTER EXISTS {", "", "}", n))),
    ),
    (
        Limit::Nesting,
        ("not exists", |n| {
            group(&nested("FILTER NOT EXISTS {", "", "}", n))
        }),
    ),
    (
        Limit::Nesting,
        ("exists in parentheses", |n| {
            group(&nested("FILTER (EXISTS {", "", "})", n))
        }),
    ),
    (
        Limit::Nesting,
        ("sub-selects", |n| {
            group(&nested("{ SELECT * {", "", "} }", n))
        }),
    ),
    (
        Limit::Nesting,
        ("sub-selects of expressions", |n| {
            group(&nested("{ SELECT (EXISTS {", "", "} AS ?x) {} }", n))
        }),
    ),
    (
        Limit::Nesting,
        ("collections", |n| {
            group(&format!("?s ?p {}", nested("(", "1", ")", n)))
        }),
    ),
    (
        Limit::Nesting,
        ("subject collections", |n| {
            group(&format!("{} ?p ?o", nested("(", "1", ")", n)))
        }),
    ),
    (
        Limit::Nesting,
        ("paths", |n| {
            group(&format!("?s {} ?o", nested("(", "<a:p>", ")", n)))
        }),
    ),
    (
        Limit::Nesting,
        ("inverse paths", |n| {
            group(&format!("?s {} ?o", nested("^(", "<a:p>", ")", n)))
        }),
    ),
    (
        Limit::Nesting,
        ("repeated paths", |n| {
            group(&format!("?s {} ?o", nested("(", "<a:p>", ")*", n)))
        }),
    ),
    (
        Limit::Nesting,
        ("reified triples", |n| {
            group(&format!(
                "{} ?p ?o",
                nested("<<", " ?s ?p ?o ", " >> ?p ?o ", n)
            ))
        }),
    ),
    (
        Limit::Nesting,
        ("triple terms", |n| {
            group(&format!("?s ?p {}", nested("<<( ?s ?p ", "?o", " )>>", n)))
        }),
    ),
    (
        Limit::Nesting,
        ("annotations", |n| {
            group(&format!("?s ?p ?o {}", nested("{| ?p ?o ", "", " |}", n)))
        }),
    ),
    (Limit::Nesting, ("not", |n| filter("!", "", n))),
    (
        Limit::Nesting,
        ("not within operators", |n| {
            filter("!!!!!!!!!!!!!!!!!!!!(1 = ", ")", n)
        }),
    ),
    (
        Limit::Nesting,
        ("minus before parentheses", |n| filter("-(", ")", n)),
    ),
    (Limit::Nesting, ("if", |n| filter("IF(1,1,", ")", n))),
    (Limit::Nesting, ("functions", |n| filter("STR(", ")", n))),
    (
        Limit::Nesting,
        ("functions by IRI", |n| filter("<a:f>(", ")", n)),
    ),
    (
        Limit::Nesting,
        ("coalesce", |n| filter("COALESCE(", ")", n)),
    ),
    (Limit::Nesting, ("in", |n| filter("1 IN (", ")", n))),
    (
        Limit::Nesting,
        ("order by", |n| {
            format!("SELECT * {{}} ORDER BY DESC({})", nested("(", "1", ")", n))
        }),
    ),
    (
        Limit::Nesting,
        ("having", |n| {
            format!(
                "SELECT (COUNT(*) AS ?n) {{}} HAVING {}",
                nested("(", "1", ")", n)
            )
        }),
    ),
    (
        Limit::Nesting,
        ("group by", |n| {
            format!(
                "SELECT (1 AS ?n) {{}} GROUP BY {}",
                nested("(", "1", ")", n)
            )
        }),
    ),
    (
        Limit::Nesting,
        ("construct", |n| {
            format!(
                "CONSTRUCT {{ ?s ?p {} }} {{}}",
                nested("[ ?p ", "?x", "]", n)
            )
        }),
    ),
    (
        Limit::Nesting,
        ("regex in regex", |n| filter("REGEX(", ",1)", n)),
    ),
    (
        Limit::Nesting,
        ("substr in substr", |n| filter("SUBSTR(", ",1)", n)),
    ),
    (
        Limit::Nesting,
        ("replace in replace", |n| filter("REPLACE(", ",1,1)", n)),
    ),
    (
        Limit::Nesting,
        ("open replace", |n| {
            format!("SELECT * {{ FILTER({}&", "REPLACE(1,1,".repeat(n))
        }),
    ),
    (
        Limit::Nesting,
        ("group_concat", |n| {
            format!(
                "SELECT ({} AS ?x) {{}}",
                nested("GROUP_CONCAT(", "1", ")", n)
            )
        }),
    ),
    (
        Limit::Nesting,
        ("not before parentheses", |n| {
            format!("SELECT * {{ FILTER({}&", "!(".repeat(n))
        }),
    ),
    (
        Limit::Nesting,
        ("not before calls", |n| {
            format!("SELECT * {{ FILTER({}&", "!STR(".repeat(n))
        }),
    ),
    (
        Limit::Nesting,
        ("constraints that call an IRI", |n| {
            format!("SELECT * {{ {}&", "FILTER <a:f>(EXISTS {".repeat(n))
        }),
    ),
    (
        Limit::Nesting,
        ("annotations of reifiers", |n| {
            format!("SELECT * {{ ?s ?p ?o {}&", "~ {| ?p ?o ".repeat(n))
        }),
    ),
    (Limit::Depth, ("and", |n| filter("1 && ", "", n))),
    (Limit::Depth, ("or", |n| filter("1 || ", "", n))),
    (Limit::Depth, ("plus", |n| filter("1 + ", "", n))),
    (Limit::Depth, ("times", |n| filter("1*", "", n))),
    (
        Limit::Depth,
        ("union", |n| {
            group(&format!("{{}} {}", "UNION {} ".repeat(n)))
        }),
    ),
    (
        Limit::Depth,
        ("optional", |n| group(&"OPTIONAL {} ".repeat(n))),
    ),
    (Limit::Depth, ("filter", |n| group(&"FILTER(1) ".repeat(n)))),
    (
        Limit::Depth,
        ("graph", |n| group(&"GRAPH ?g {} ".repeat(n))),
    ),
    (
        Limit::Depth,
        ("values", |n| group(&"VALUES ?x {} ".repeat(n))),
    ),
    (
        Limit::Depth,
        ("bind", |n| {
            numbered("SELECT * {", |at| format!("BIND(1 AS ?x{at})"), "}", n)
        }),
    ),
    (
        Limit::Depth,
        ("selected expressions", |n| {
            numbered("SELECT ", |at| format!("(1 AS ?x{at})"), "{}", n)
        }),
    ),
    (
        Limit::Depth,
        ("grouped expressions", |n| {
            format!("SELECT (1 AS ?n) {{}} GROUP BY {}", "(1) ".repeat(n))
        }),
    ),
    (
        Limit::PathOperators,
        ("sequence", |n| {
            group(&format!("?s {}<a:p> ?o", "<a:p>/".repeat(n)))
        }),
    ),
    (
        Limit::PathOperators,
        ("alternatives", |n| {
            group(&format!("?s {}<a:p> ?o", "<a:p>|".repeat(n)))
        }),
    ),
    (
        Limit::TriplePatterns,
        ("patterns", |n| group(&"?s ?p ?o . ".repeat(n))),
    ),
    (
        Limit::TriplePatterns,
        ("sequence times objects", |n| {
            let objects = "?o, ".repeat(n);
            group(&format!("?s {}<a:p> {objects} ?o", "<a:p>/".repeat(200)))
        }),
    ),
    (
        Limit::TriplePatterns,
        ("collection", |n| {
            group(&format!("?s ?p ( {} )", "1 ".repeat(n)))
        }),
    ),
    (
        Limit::Aggregates,
        ("aggregates", |n| {
            format!("SELECT (1{} AS ?x) {{}}", " + COUNT(?y)".repeat(n))
        }),
    ),
    (
        Limit::ListedNames,
        ("variables in the order", |n| {
            numbered("SELECT * {} ORDER BY ", |at| format!("?x{at}"), "", n)
        }),
    ),
    (
        Limit::ListedNames,
        ("grouped variables", |n| {
            numbered(
                "SELECT (1 AS ?n) {} GROUP BY ",
                |at| format!("?x{at}"),
                "",
                n,
            )
        }),
    ),
    (
        Limit::ListedNames,
        ("selected variables", |n| {
            numbered("SELECT ", |at| format!("?x{at}"), "{}", n)
        }),
    ),
];

/// Runs on a thread with the stack that the crate asks for.
fn on_small_stack<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES_MIN);
    thread.spawn(work).unwrap().join().unwrap()
}

fn error(text: String) -> Option<ParseError> {
    on_small_stack(move || {
        drop(parse(&text, &ParseOptions::default()));
        parse(&text, &ParseOptions::default()).err()
    })
}

fn is_within_limits(text: &str) -> bool {
    let error = parse(text, &ParseOptions::default()).err();
    !error.is_some_and(|error| matches!(error.kind, ParseErrorKind::Limit { .. }))
}

#[test]
fn beyond_the_limit() {
    for (limit, (name, shape)) in SHAPES {
        let error = error(shape(20_000)).unwrap_or_else(|| panic!("{name} was accepted"));
        match error.kind {
            ParseErrorKind::Limit {
                limit: found,
                used,
                max,
            } => {
                assert_eq!(found, limit, "{name}");
                assert!(used > max, "{name}: {used} of {max}");
            }
            kind => panic!("{name}: {kind:?} {error}"),
        }
    }
}

/// The longest token counts, so neither brackets in an IRI nor those in a string are any.
#[test]
fn brackets_in_what_looks_like_an_operand_are_none() {
    let open = "(".repeat(20_000);
    for text in [
        group(&format!("FILTER(?a <{open}1{})", ">".repeat(20_000))),
        group(&format!("FILTER(?a <?b#> '''\n && {open} '''")),
    ] {
        let error = error(text).unwrap();
        assert_eq!(error.kind, ParseErrorKind::Syntax);
        assert!(error.message.ends_with("put a blank after `<`"), "{error}");
    }
}

#[test]
fn at_the_limit() {
    for (_, (name, shape)) in SHAPES {
        let accepts = |n: usize| is_within_limits(&shape(n));
        // A text of this shape is never complete.
        if !accepts(1) {
            continue;
        }
        let largest = (1..20_000_usize.ilog2()).rev().fold(1, |n, bit| {
            if accepts(n + (1 << bit)) {
                n + (1 << bit)
            } else {
                n
            }
        });
        if largest <= 3 {
            // Many times two hundred, where one more is too much.
            assert_eq!(name, "sequence times objects");
        }
        let text = shape(largest);
        on_small_stack(move || {
            if let Ok(query) = parse(&text, &ParseOptions::default()) {
                drop(query.clone());
                let plan = lubm::plan_query(&query, 1);
                drop(plan.explain());
                round_trip(&plan);
            }
            if let Ok(query) = parse(&text, &ParseOptions::default()) {
                drop(query.clone());
            }
        });
    }
}

#[test]
fn nesting_of_two_kinds_with_long_chains_fits_the_stack() {
    for (open, close) in [
        ("FILTER (1 || EXISTS { ?s <a:p>/<a:q>/<a:r> ?o . ", "})"),
        ("{ SELECT (COUNT(IF(1, 1, EXISTS {", "})) AS ?x) {} }"),
        (
            "OPTIONAL { FILTER(COALESCE(REGEX(\"\", \"\"), EXISTS {",
            "})) }",
        ),
        (
            "GRAPH ?g { ?s ?p ?o MINUS { SERVICE ?e { FILTER(1 || EXISTS {",
            "}) } } }",
        ),
        ("{ SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?a ?b ?c ", "} } }"),
        ("FILTER(!IF(1, NOT EXISTS {", "}, 1))"),
    ] {
        let accepts = |n: usize| is_within_limits(&group(&nested(open, "", close, n)));
        let deepest = (1..=256).take_while(|&n| accepts(n)).last().unwrap();
        // In the innermost group: the longest chains that the limits allow, then a syntax error, so
        // that they are dropped while the parser is at its deepest.
        for chain in [
            "OPTIONAL {} ".repeat(200),
            format!("FILTER({} 1)", "1 && ".repeat(200)),
            format!("?s {}<a:p> ?o ", "<a:p>/".repeat(200)),
        ] {
            for end in ["", "?broken"] {
                let text = group(&nested(open, &format!("{chain} {end}"), close, deepest));
                let _ = error(text);
            }
        }
    }
}

/// Of 10 KB to 10 MB, on a stack that no recursion as deep as these texts would fit. Prints the slowest of those that
/// nest, of which only the beginning is read, and of all others.
#[test]
fn long_texts_of_each_shape_are_refused_on_a_stack_of_256_kib() {
    let mut options = ParseOptions::default();
    options.limits.text_bytes = 1 << 26;
    let mut slowest = [(Duration::ZERO, ""); 2];
    for (limit, (name, shape)) in SHAPES {
        for bytes in [10 << 10, 100 << 10, 1 << 20, 10 << 20] {
            let text = shape(bytes * 1000 / shape(1000).len());
            let options = options.clone();
            let thread = std::thread::Builder::new().stack_size(256 << 10);
            let read = thread.spawn(move || {
                let begin = Instant::now();
                let is_refused = parse(&text, &options).is_err();
                (is_refused, begin.elapsed())
            });
            let (is_refused, took) = read.unwrap().join().unwrap();
            assert!(is_refused || bytes < 1 << 20, "{name}, {bytes} bytes");
            let slowest = &mut slowest[usize::from(limit != Limit::Nesting)];
            *slowest = (*slowest).max((took, name));
        }
    }
    eprintln!("abuse: the slowest that nests, and that does not: {slowest:?}");
}

#[test]
fn size_is_checked_before_anything_is_read() {
    let error = error(" ".repeat(2 << 20)).unwrap();
    let ParseErrorKind::Limit { limit, used, max } = error.kind else {
        panic!("{error}");
    };
    assert_eq!((limit, used, max), (Limit::TextBytes, 2 << 20, 1 << 20));
    assert_eq!(
        error.to_string(),
        "2097152 bytes of query text, 1048576 allowed at line 1, column 1048577"
    );
}

#[test]
fn long_flat_texts_are_read_in_linear_time() {
    // Each near a mebibyte; quadratic time would be minutes.
    let texts = [
        group(&format!("FILTER(1 IN ({} 1))", "1, ".repeat(300_000))),
        group(&format!("?s ?p ?o {}", ";".repeat(1_000_000))),
        group(&format!("?s ?p ?o FILTER({})", "a-".repeat(500_000))),
        group(&format!("?s ?p {}", "< ".repeat(500_000))),
        group(&format!("?s ?p {}", "\"\"\"a".repeat(250_000))),
        group(&format!("VALUES ?x {{ {} }}", "1 ".repeat(500_000))),
        format!("{}ASK {{}}", "PREFIX a: <b:c> ".repeat(60_000)),
        "#".repeat(1_000_000),
        "\\".repeat(1_000_000),
    ];
    for text in texts {
        let _ = error(text);
    }
}

#[test]
fn a_thousand_patterns_are_accepted() {
    let text = group(&numbered(
        "",
        |at| format!("?x{at} <a:p> ?x{} .", at + 1),
        "",
        1000,
    ));
    let patterns = on_small_stack(move || {
        let query = parse(&text, &ParseOptions::default()).unwrap();
        query.patterns().len()
    });
    assert_eq!(patterns, 1000);
}

#[test]
fn escapes_are_not_resolved_before_the_lexer_reads() {
    // \u0028 is a parenthesis only for parsers that resolve escapes before they read.
    let text = group(&format!("FILTER({}1)", "\\u0028".repeat(5)));
    assert_eq!(error(text).unwrap().kind, ParseErrorKind::Syntax);
}
