//! The tokenizer against `oxttl`'s strict parsers, line by line, and its places in errors.

use super::*;
use oxrdf::{GraphNameRef, Quad};
use oxttl::{NQuadsParser, NTriplesParser};
use proptest::prelude::*;

const DIALECTS: [Dialect; 2] = [Dialect::NTriples, Dialect::NQuads];

/// What `oxttl` reads, or `None` where it finds anything wrong.
fn oracle(bytes: &[u8], dialect: Dialect) -> Option<Vec<Quad>> {
    match dialect {
        Dialect::NTriples => NTriplesParser::new()
            .for_slice(bytes)
            .map(|triple| {
                triple
                    .ok()
                    .map(|triple| triple.in_graph(GraphNameRef::DefaultGraph))
            })
            .collect(),
        Dialect::NQuads => NQuadsParser::new()
            .for_slice(bytes)
            .map(Result::ok)
            .collect(),
    }
}

fn owned(statement: &Statement<'_>) -> Quad {
    use oxrdf::{GraphName, NamedNode, NamedOrBlankNode, Term};
    let subject = match statement.subject.into_owned() {
        Term::NamedNode(iri) => NamedOrBlankNode::NamedNode(iri),
        Term::BlankNode(blank) => NamedOrBlankNode::BlankNode(blank),
        other => panic!("{other} as subject"),
    };
    let graph = match statement.graph.map(TermRef::into_owned) {
        None => GraphName::DefaultGraph,
        Some(Term::NamedNode(iri)) => iri.into(),
        Some(Term::BlankNode(blank)) => blank.into(),
        Some(other) => panic!("{other} as graph"),
    };
    let predicate = NamedNode::new_unchecked(statement.predicate);
    Quad::new(subject, predicate, statement.object.into_owned(), graph)
}

fn ours(bytes: &[u8], dialect: Dialect, window: usize) -> (Vec<Quad>, Vec<SyntaxError>) {
    let mut parser = Parser::with_window(bytes, dialect, 1, window);
    let (mut quads, mut errors) = (Vec::new(), Vec::new());
    while let Some(outcome) = parser.next() {
        match outcome {
            Ok(statement) => quads.push(owned(&statement)),
            Err(error) => errors.push(error),
        }
    }
    (quads, errors)
}

/// Both accept with the same quads, or both reject.
fn check_against_oracle(bytes: &[u8]) {
    for dialect in DIALECTS {
        let (quads, errors) = ours(bytes, dialect, 16);
        let mine = errors.is_empty().then_some(quads);
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!(
            mine,
            oracle(bytes, dialect),
            "{shown} as {dialect:?}: {errors:?}"
        );
    }
}

fn tokens() -> impl Strategy<Value = String> {
    let iri = prop_oneof![
        4 => "<[a-z]{1,4}:(//[a-z.@:0-9\\[\\]]{0,6})?[a-zA-Z0-9/?#:@%.~]{0,8}>",
        1 => "<[a-z]{0,2}:(\\\\u00[46][0-9a-fA-F]|[é\u{10000}\u{E000}\u{FFFE} <\"{|^`%]){0,3}>",
        1 => Just("<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>".to_owned()),
        1 => Just("<http://www.w3.org/2001/XMLSchema#string>".to_owned()),
    ];
    let blank = "_:[a-zA-Z0-9_é·.\u{300}-]{0,4}";
    let tag = "@[a-zA-Z]{1,9}(-[a-zA-Z0-9]{0,9}){0,2}(--(ltr|rtl|up|LTR|))?";
    let string = r#""([a-z é]|\\[tbnrf"'\\uUx]|\\u[0-9aD][0-9][0-9a]{2}|\\U0001[0-9]{4}|[\x00\x7f\t]){0,4}""#;
    prop_oneof![
        8 => iri.clone(),
        3 => blank,
        3 => string,
        2 => (string, tag).prop_map(|(string, tag)| string + &tag),
        2 => (string, iri).prop_map(|(string, iri)| format!("{string}^^{iri}")),
        1 => prop::sample::select(vec!["<<(", ")>>", "^^", "@", ".", "#", "<<", "'a'", "1", "a:b"])
            .prop_map(str::to_owned),
    ]
}

/// A line of the right shape, of tokens that are mostly right.
fn lines() -> impl Strategy<Value = String> {
    let space = "[ \t]{0,2}";
    let inner = (tokens(), space, tokens(), space, tokens());
    let object = prop_oneof![
        4 => tokens(),
        1 => inner.prop_map(|(s, a, p, b, o)| format!("<<({a}{s}{b}{p} {o}{a})>>")),
    ];
    let end = prop_oneof![8 => Just("."), 1 => Just(". # é"), 1 => Just(".."), 1 => Just("")];
    (
        tokens(),
        space,
        tokens(),
        space,
        object,
        prop::option::of(tokens()),
        end,
    )
        .prop_map(|(subject, a, predicate, b, object, graph, end)| {
            let graph = graph
                .filter(|graph| graph.len() % 2 == 0)
                .unwrap_or_default();
            format!("{a}{subject}{a}{predicate}{b}{object}{b}{graph}{a}{end}")
        })
}

const VALID: [&str; 8] = [
    "<http://a.example/s> <http://a.example/p> \"x\\u00E9\\n\"@en-GB .",
    "_:a <http://a.example/p> _:b.c <http://a.example/g> . # comment",
    "<http://a.example/s> <urn:p> \"1.5\"^^<http://www.w3.org/2001/XMLSchema#double>\t.",
    "<http://[::1]:80/s%20> <urn:p> <<( _:s <urn:q> \"a\"@ar--rtl )>> .",
    "<urn:é> <urn:p> \"é\u{10000}\" _:g.",
    "# comment",
    "",
    "<a:\\u00e9><a:\\U000000e9>\"\\\"\\\\\".",
];

/// More with `PROPTEST_CASES`.
fn at_least(cases: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig {
        cases: config.cases.max(cases),
        ..config
    }
}

proptest! {
    #![proptest_config(at_least(1500))]

    #[test]
    fn random_lines_agree_with_oxttl(line in lines()) {
        check_against_oracle(line.as_bytes());
    }

    #[test]
    fn mutated_lines_agree_with_oxttl(
        line in prop::sample::select(&VALID),
        edits in prop::collection::vec((any::<u16>(), any::<u8>(), 0..4), 1..4),
    ) {
        let mut bytes = line.as_bytes().to_vec();
        for (place, byte, kind) in edits {
            let place = usize::from(place) % (bytes.len() + 1);
            let common = b"<>\"\\.@^_:#-( )\xC3\xA9\x00u";
            let byte = if byte < 160 { common[usize::from(byte) % common.len()] } else { byte };
            if kind == 0 || place == bytes.len() {
                bytes.insert(place, byte);
            } else if kind == 1 {
                bytes.remove(place);
            } else {
                bytes[place] = byte;
            }
        }
        // A line end makes two lines, between which `oxttl` recovers elsewhere after an error.
        bytes.retain(|byte| !matches!(byte, b'\n' | b'\r'));
        check_against_oracle(&bytes);
    }

    #[test]
    fn windows_and_parts_change_nothing(
        picks in prop::collection::vec((0..VALID.len(), 0..3_usize), 0..12),
        window in 1..200_usize,
        parts in 1..6_usize,
    ) {
        let ends = ["\n", "\r\n", "\n\n"];
        let text: String = picks.iter().map(|&(line, end)| VALID[line].to_owned() + ends[end]).collect();
        let whole = ours(text.as_bytes(), Dialect::NQuads, WINDOW_BYTES);
        prop_assert_eq!(&ours(text.as_bytes(), Dialect::NQuads, window), &whole);
        let ranges = split_ranges(text.as_bytes(), parts);
        prop_assert!(ranges.len() <= parts);
        let split: Vec<Quad> = ranges
            .into_iter()
            .flat_map(|range| ours(&text.as_bytes()[range], Dialect::NQuads, window).0)
            .collect();
        prop_assert_eq!(split, whole.0);
    }
}

#[test]
fn valid_lines_are_valid() {
    for line in VALID {
        assert!(
            ours(line.as_bytes(), Dialect::NQuads, 16).1.is_empty(),
            "{line}"
        );
        check_against_oracle(line.as_bytes());
    }
}

#[test]
fn line_ends_of_all_kinds() {
    let statement = "<a:b> <a:b> <a:b> .";
    check_against_oracle(
        format!("{statement}\n{statement}\r\n{statement}\r{statement}").as_bytes(),
    );
    check_against_oracle(format!("\r\r\n\n{statement}#\r{statement}").as_bytes());
    assert_eq!(count_lines(b"a\nb\r\nc\rd"), 3);
}

#[test]
fn errors_carry_place_and_line_and_the_parser_goes_on() {
    let text = "<a:b> <a:b> <a:b> .\n  \u{e9} x\n<a:b> <a:b> \"\u{e9}\" ;\r\n<a:b> <a:b> <a:c> .";
    let mut parser = Parser::new(text.as_bytes(), Dialect::NTriples, 10);
    assert!(parser.next().unwrap().is_ok());
    let error = parser.next().unwrap().unwrap_err();
    assert_eq!((error.line, error.column), (11, 3));
    assert_eq!(parser.last_line(), "  \u{e9} x".as_bytes());
    let error = parser.next().unwrap().unwrap_err();
    assert_eq!((error.line, error.column), (12, 17));
    assert_eq!(
        error.to_string(),
        "line 12, column 17: expected '.' at the end of the statement"
    );
    assert_eq!(parser.next().unwrap().unwrap().predicate, "a:b");
    assert_eq!(parser.last_line_number(), 13);
    assert!(parser.next().is_none());
    assert!(parser.next().is_none());
}

#[test]
fn damaged_lines_are_errors_unless_in_a_comment() {
    let good: &[u8] = b"<a:b> <a:b> <a:b> . # \xff\n# \xff\r\n<a:b> <a:b> \"\xc3\xa9\" .";
    assert_eq!(ours(good, Dialect::NTriples, 8).0.len(), 2);
    assert_eq!(ours(good, Dialect::NTriples, 8).1, []);
    let bad: &[u8] = b"<a:b> <a:b> <a:b> .\n<a:b> <a:b> \"\xc3\" .\n<a:b> <a:b> <a:b> . \xff";
    let (quads, errors) = ours(bad, Dialect::NTriples, 80);
    assert_eq!(quads.len(), 1);
    let places: Vec<_> = errors
        .iter()
        .map(|error| (error.line, error.column))
        .collect();
    assert_eq!(places, [(2, 14), (3, 21)]);
}

#[test]
fn versions_are_read_over() {
    let text =
        "VERSION \"1.2\"\n VERSION\"1.1\" # c\n<a:b> <a:b> <a:b> .\nVERSION '1'\nversion \"1.2\"";
    let (quads, errors) = ours(text.as_bytes(), Dialect::NQuads, 1000);
    assert_eq!((quads.len(), errors.len()), (1, 2));
}

#[test]
fn deep_nesting_is_refused() {
    let nested = |depth: usize| {
        format!(
            "<a:b> <a:b> {}<a:b>{} .",
            "<<(<a:b><a:b>".repeat(depth),
            ")>>".repeat(depth)
        )
    };
    assert_eq!(
        ours(nested(NESTING_MAX).as_bytes(), Dialect::NTriples, 1000)
            .0
            .len(),
        1
    );
    for depth in [NESTING_MAX + 1, 100_000] {
        let (quads, errors) = ours(nested(depth).as_bytes(), Dialect::NTriples, 1000);
        assert_eq!((quads.len(), errors.len()), (0, 1));
    }
}

#[test]
fn a_byte_order_mark_before_the_first_line_is_skipped() {
    let text = "\u{feff}<a:b> <a:b> <a:b> .\n\u{feff}<a:b> <a:b> <a:b> .\n";
    for dialect in [Dialect::NTriples, Dialect::NQuads] {
        let mut parser = Parser::new(text.as_bytes(), dialect, 1);
        assert!(parser.next().unwrap().is_ok());
        assert_eq!(parser.last_line(), b"<a:b> <a:b> <a:b> .");
        let error = parser.next().unwrap().unwrap_err();
        assert_eq!((error.line, error.column), (2, 1));
        assert!(parser.next().is_none());
        assert!(
            Parser::new(text.as_bytes(), dialect, 2)
                .next()
                .unwrap()
                .is_err()
        );
    }
    let mut parser = Parser::new("\u{feff}x".as_bytes(), Dialect::NTriples, 1);
    assert_eq!(parser.next().unwrap().unwrap_err().column, 1);
    assert!(
        Parser::new(&BYTE_ORDER_MARK, Dialect::NTriples, 1)
            .next()
            .is_none()
    );
}
