//! Patches as text in, operations out: those of the update that says the same.

use crate::limits::Limit;
use crate::update::{Operation, PatchTarget, Update, parse_patch, parse_update};
use crate::{ParseError, ParseErrorKind, ParseOptions, Position};
use std::fmt::Write as _;

fn options() -> ParseOptions {
    let mut options = ParseOptions {
        base: Some("http://b/".to_owned()),
        ..ParseOptions::default()
    };
    options.limits.text_bytes = 1 << 26;
    options
}

/// What is held at the end was asked for.
fn read(patch: &str, target: PatchTarget<'_>) -> Result<Update, ParseError> {
    let mut granted = 0;
    let mut room = |bytes| {
        assert!(bytes > granted, "{patch}");
        granted = bytes;
        true
    };
    let update = parse_patch(patch, target, &options(), &mut room)?;
    let update = update.expect("there is room");
    let held = update.operations.iter().map(|operation| match operation {
        Operation::InsertData { data } | Operation::DeleteData { data } => data.bytes() as u64,
        other => panic!("{other:?}"),
    });
    assert!(held.sum::<u64>() <= granted, "{patch}");
    Ok(update)
}

/// A patch is this update, each operation where the line is with which it begins.
fn check(patch: &str, target: PatchTarget<'_>, update: &str, lines: &[u32]) {
    let expected = parse_update(update, &options()).expect(update);
    let read = read(patch, target).unwrap_or_else(|error| panic!("{patch}: {error}"));
    assert_eq!(read.operations, expected.operations, "{patch}");
    let begin = |position: &Position| (position.line, position.column, position.offset);
    let begin: Vec<_> = read.positions.iter().map(begin).collect();
    let expected = lines.iter().map(|&line| {
        let position = Position::of_line_and_column(patch, line as usize, 1);
        (line, 1, position.offset)
    });
    assert_eq!(begin, expected.collect::<Vec<_>>(), "{patch}");
}

#[test]
fn lines_are_operations() {
    let patch = "H id <urn:x> .\nTX .\nPA \"e\" <http://e/> .\nA e:s e:p \"a } ; \\\" .\"@en .\n\
        A e:s e:p 7.5 . # a comment\r\nD <a> <b> \"1\"^^e:t e:g .\nA <a> <b> 1 <http://e/g> .\n\
        A <a> <b> 2 e:g .\nA <a> <b> 3 .\nTC .\n";
    let update = "INSERT DATA { <http://e/s> <http://e/p> \"a } ; \\\" .\"@en, 7.5 } ;
         DELETE DATA { GRAPH <http://e/g> { <a> <b> \"1\"^^<http://e/t> } } ;
         INSERT DATA { GRAPH <http://e/g> { <a> <b> 1 , 2 } } ; INSERT DATA { <a> <b> 3 }";
    check(patch, PatchTarget::Store, update, &[4, 6, 7, 9]);
    let patch = "A _:s <p> <<( <a> a <<( _:s <d> _:o )>> )>> .\nA _:o <p> _:s .";
    let update = "INSERT DATA { GRAPH <http://b/g> {
        _:s <p> <<( <a> a <<( _:s <d> _:o )>> )>> . _:o <p> _:s } }";
    check(patch, PatchTarget::Graph("g"), update, &[1]);
    check("", PatchTarget::Default, "", &[]);
}

/// A word is the term that it is in an update, or an error in both.
#[test]
fn words_are_the_terms_of_updates() {
    let objects = "1 -1 +1 .5 -.5 1.5 1e5 1.e5 1.5E-5 -1e+5 .e5 e5 1e 1.5.5 1-2 + true FALSE truth a \
        <a/../b> <http://e/a/./b> <http://e/\\u0061> <http://e/\\n> <http://e/|> <#x> <> <1:2> \
        \"\" \"\\t\\n\\\\\\\"\\u00e9\" \"\\x\" \"\\ud800\" \"x\"@EN-gb \"x\"@en--ltr \"x\"@en--x \"x\"@en--LTR \"x\"@ \"x\"@1 \
        \"1\"^^<http://www.w3.org/2001/XMLSchema#string> \"x\"^^<t> \"x\"^^1 \"x\"^^_:x \"x\"^^a \
        \"x\"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> \
        <<(<a><b>1.5)>> <<(<a>a<<(<b>a\"x\"@en--rtl)>>)>> <<(\"s\"<p><o>)>> <<(<s>\"p\"<o>)>> \
        <<(<s><p>\"1\"^^<t>)>> <<(<s><p>true)>> <<(<s>_:p<o>)>> <<(<s><p>)>> <<(<s><p><o><o>)>>";
    for object in objects.split_ascii_whitespace() {
        let patch = format!("D <s> a {object} .");
        let update = format!("DELETE DATA {{ <s> a {object} }}");
        let read = read(&patch, PatchTarget::Default).map(|read| read.operations);
        let expected = parse_update(&update, &options()).map(|read| read.operations);
        assert_eq!(read.ok(), expected.ok(), "{patch}");
    }
    let words = [
        "<s>", "_:s", "_:s.t", "_:-", "_:é", "_:", "_:a:b", "a", "1", "\"x\"",
    ];
    for (subject, predicate) in words.iter().flat_map(|s| words.map(|p| (s, p))) {
        let patch = format!("A {subject} {predicate} {subject} .");
        let update = format!("INSERT DATA {{ {subject} {predicate} {subject} }}");
        let read = read(&patch, PatchTarget::Default).map(|read| read.operations);
        let expected = parse_update(&update, &options()).map(|read| read.operations);
        if *subject != "_:" {
            assert_eq!(read.ok(), expected.ok(), "{patch}");
        }
    }
}

#[test]
fn names_are_put_together_before_they_are_resolved() {
    let patch = "PA : <c/> .\nPA d <../d#> .\nA : :a+b d:x:y%20.\nPA d <e:> .\nA d:x d:x :x .";
    let update = "INSERT DATA { <c/> <c/a+b> <../d#x:y%20> . <e:x> <e:x> <c/x> }";
    check(patch, PatchTarget::Default, update, &[3]);
}

#[test]
fn what_is_aborted_is_nothing() {
    let patch = "PA a <b> .\nA <s> <p> a:1 .\nTX .\nPA a <c> .\nPA d <e> .\nA <s> <p> a:2 .\nTA .\n\
        A <s> <p> a:3 .\n";
    let update = "INSERT DATA { <s> <p> <b1> } ; INSERT DATA { <s> <p> <b3> }";
    check(patch, PatchTarget::Default, update, &[2, 8]);
    let gone = read(
        "TX .\nPA a <b> .\nTA .\nA a:1 a:2 a:3 .",
        PatchTarget::Store,
    );
    assert!(gone.unwrap_err().message.contains("no prefix `a`"));
    let taken = "PA a <b> .\nA a:1 a:2 3 .\nPD a .\nA a:1 a:2 4 .";
    assert!(read(taken, PatchTarget::Store).is_err());
}

#[test]
fn what_is_no_patch_is_refused_with_its_place() {
    for (patch, line, column, why) in [
        ("A <s> <p> <o>", 1, 14, "does not end"),
        ("\nB <s> <p> <o> .", 2, 1, "no operation"),
        ("A <s> <p> .", 1, 11, "2 terms"),
        ("A <s> <p> <o> <g> <h> .", 1, 23, "5 terms"),
        ("A <s> <p> <o> } ; DROP ALL .", 1, 15, "`}` begins no term"),
        ("A <s> <p> \"\"\"x\"\"\" .", 1, 11, "three quotes"),
        ("A <s> <p> \"x .", 1, 11, "string is not closed"),
        ("A <s> <p> \"x\ry\" .", 1, 11, "string is not closed"),
        ("A <s> <p> <o .", 1, 11, "IRI is not closed"),
        (
            "A <s> <p> <<( <a> <b> 1 .",
            1,
            11,
            "triple term is not closed",
        ),
        ("A <é> <p> <<( <a> <b> x )>> .", 1, 23, "`x` is no term"),
        ("A <é> <p> <<( 1 <b> 2 )>> .", 1, 15, "no subject"),
        ("A <s> <p> <<( <a> <b> 1 2 )>> .", 1, 11, "4 terms in"),
        ("A <s> <p> )>> .", 1, 11, "ends no"),
        ("A <s> <p> e:x .", 1, 11, "no prefix `e`"),
        ("A <s> <p> \"1\"^^e:x .", 1, 16, "no prefix `e`"),
        ("A <s> <p> \"1\"^^\"2\" .", 1, 11, "begins no term"),
        ("A <s> <p> \"1\"@en--x .", 1, 14, "direction"),
        ("A <s> <p> \"\\x\" .", 1, 11, "no escape"),
        ("A 1 <p> 1 .", 1, 3, "`1` is no IRI"),
        ("\nA <s> <p> <http://a\\u0020b> .", 2, 11, "not a valid"),
        ("TX .\nTX .", 2, 1, "within"),
        ("TX .\nA <s> <p> 1 .\n", 2, 1, "no end"),
        ("TC .", 1, 1, "has begun"),
        ("TX now .", 1, 4, "alone"),
        ("PA x y .", 1, 8, "prefix"),
        ("PA \"x: <y> DROP ALL ; PREFIX z\" <y> .", 1, 4, "no name"),
        ("A <s> <p> 1 _:g .", 1, 13, "names no graph"),
        ("D _:x <p> 1 .", 1, 3, "deleted"),
        (
            "A _:x <p> 1 .\nD <s> <p> 1 .\nA <s> <p> _:x .",
            3,
            11,
            "between",
        ),
    ] {
        let error = read(patch, PatchTarget::Store).expect_err(patch);
        assert!(error.message.contains(why), "{patch}: {error}");
        let place = (error.position.line, error.position.column);
        assert_eq!(place, (line, column), "{patch}: {error}");
    }
    let one = read("A <s> <p> 1 <g> .", PatchTarget::Default).unwrap_err();
    assert!(one.message.contains("one graph"), "{one}");
}

#[test]
fn long_chains_take_neither_stack_nor_squares() {
    let chain = format!("A <s> <p> {} .", "\"a\"^^".repeat(1 << 18));
    assert!(read(&chain, PatchTarget::Store).is_err());
    let open = format!("A <s> <p> {} .", "<<( \"a\"^^<b> ".repeat(1 << 18));
    assert!(read(&open, PatchTarget::Store).is_err());
    let nested = |depth| {
        let (begin, end) = ("<<(<a><b>".repeat(depth), ")>>".repeat(depth));
        read(&format!("A <s> <p> {begin}1{end} ."), PatchTarget::Store)
    };
    assert!(nested(256).is_ok());
    assert_eq!(limit(&nested(257).unwrap_err()), Limit::Nesting);
    assert!(nested(1 << 18).is_err());
    let mut prefixes = String::new();
    for number in 0..20_000 {
        let _ = writeln!(prefixes, "PA p{number} <http://e/> .");
    }
    let turns = "A <s> <p> 1 .\nD <s> <p> 1 .\n".repeat(10_000);
    let update = read(&(prefixes + &turns), PatchTarget::Store).unwrap();
    assert_eq!(update.operations.len(), 20_000);
}

fn limit(error: &ParseError) -> Limit {
    match error.kind {
        ParseErrorKind::Limit { limit, .. } => limit,
        other => panic!("{other:?}: {error}"),
    }
}

#[test]
fn what_names_stand_for_is_bounded_and_asked_for() {
    let mut patch = format!("PA e <http://e/{}> .\n", "x".repeat(1 << 12));
    for number in 0..1000 {
        let _ = writeln!(patch, "A e:{number} <p> 1 .");
    }
    let read = |options: &ParseOptions, room: u64| {
        let mut room = |bytes| bytes < room;
        parse_patch(&patch, PatchTarget::Store, options, &mut room)
    };
    assert_eq!(read(&options(), 1 << 20), Ok(None));
    let mut short = options();
    short.limits.expanded_bytes = 1 << 20;
    let error = read(&short, u64::MAX).unwrap_err();
    assert_eq!(limit(&error), Limit::ExpandedBytes);
    short.limits.text_bytes = 1000;
    let error = read(&short, u64::MAX).unwrap_err();
    assert_eq!(limit(&error), Limit::TextBytes);
}

/// Headers may say anything, and however much.
#[test]
fn headers_are_passed_over() {
    let long = "word ".repeat(5_000);
    let patch = format!("H previous {long}.\nH x \"open .\nA <a> <b> 1 .\n");
    check(
        &patch,
        PatchTarget::Default,
        "INSERT DATA { <a> <b> 1 }",
        &[3],
    );
    let error = read("H no end\n", PatchTarget::Default).unwrap_err();
    assert!(error.message.contains("does not end with"), "{error}");
}

/// Jena writes blank nodes in brackets.
#[test]
fn labels_may_stand_in_brackets() {
    let patch = "A <_:x> <p> <_:y> .\nA _:y <p> <<( <_:x> <p> 1 )>> .\n";
    let update = "INSERT DATA { _:x <p> _:y . _:y <p> <<( _:x <p> 1 )>> }";
    check(patch, PatchTarget::Default, update, &[1]);
    for wrong in ["D <_:x> <p> 1 .", "A <a> <_:p> 1 .", "A <a> <p> 1 <_:g> ."] {
        assert!(read(wrong, PatchTarget::Store).is_err(), "{wrong}");
    }
}

/// The room that a patch asked for at most.
fn asked(patch: &str) -> u64 {
    let mut asked = 0;
    let mut room = |bytes| {
        asked = bytes;
        true
    };
    parse_patch(patch, PatchTarget::Default, &options(), &mut room).expect(patch);
    asked
}

#[test]
fn what_is_taken_back_is_not_asked_for_again() {
    let aborted = format!("TX .\nA <a> <b> \"{}\" .\nTA .\n", "x".repeat(1 << 16));
    let (one, many) = (asked(&aborted), asked(&aborted.repeat(50)));
    assert!(one > 1 << 16 && many < one + one / 2, "{one} {many}");
    let literal = format!("\"{}\"", "x".repeat(1 << 16));
    let nested = |depth| {
        let (open, close) = ("<<( <a> <p> ".repeat(depth), " )>>".repeat(depth));
        asked(&format!("A <a> <p> {open}{literal}{close} .\n"))
    };
    assert!(
        nested(50) < nested(1) + (1 << 15),
        "{} {}",
        nested(1),
        nested(50)
    );
    let escaped = format!("A <a> <b> \"\\n{}\" .\n", "x".repeat(1 << 16));
    let plain = format!("A <a> <b> \"n{}\" .\n", "x".repeat(1 << 16));
    assert!(asked(&escaped) >= asked(&plain) + (1 << 16));
}
