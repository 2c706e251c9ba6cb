//! The lexer: text in, tokens out; what is counted on the way; and that neither ever stands in the way.

use super::sizes;
use crate::grammar::lexer::{scan, token::TokenKind};
use crate::{Limit, Limits, ParseErrorKind, ParseOptions, parse};
use proptest::prelude::*;

/// Checks the tokens of a text: each with the first letter of its kind.
fn check(text: &str, expected: &str) {
    let tokens = scan(text, &Limits::default()).unwrap_or_else(|e| panic!("{text}: {e}"));
    let found: Vec<String> = tokens
        .tokens
        .iter()
        .map(|&token| {
            let kind = match token.kind {
                TokenKind::Word => "w",
                TokenKind::Variable => "v",
                TokenKind::Iri => "i",
                TokenKind::PrefixedName => "p",
                TokenKind::BlankNode => "b",
                TokenKind::String => "s",
                TokenKind::Number => "n",
                TokenKind::Language => "l",
                TokenKind::Operator => "o",
            };
            format!("{kind}:{}", tokens.slice(token))
        })
        .collect();
    assert_eq!(found.join(" "), expected, "{text}");
}

#[test]
fn angles_are_iris_or_comparisons() {
    check("{?s <p> <o>}", "o:{ v:?s i:<p> i:<o> o:}");
    // The longest token, wherever it stands.
    check(
        "{FILTER(?a<?b&&?c>?d)}",
        "o:{ w:FILTER o:( v:?a i:<?b&&?c> v:?d o:) o:}",
    );
    check(
        "{FILTER(?a< ?b&&?c>?d || ?a<= 1)}",
        "o:{ w:FILTER o:( v:?a o:< v:?b o:&& v:?c o:> v:?d o:|| v:?a o:<= n:1 o:) o:}",
    );
    check(
        "{FILTER(?a <= <b> && <c> = 1)}",
        "o:{ w:FILTER o:( v:?a o:<= i:<b> o:&& i:<c> o:= n:1 o:) o:}",
    );
    check(
        "{FILTER(?a IN (<b>, <c>)) <s> ?p (?a <b> 'c')}",
        "o:{ w:FILTER o:( v:?a w:IN o:( i:<b> o:, i:<c> o:) o:) i:<s> v:?p o:( v:?a i:<b> s:'c' o:) o:}",
    );
    check(
        "{FILTER <f>(?x) BIND(<g>(?x) AS ?y) FILTER regex(?x, <h>)}",
        "o:{ w:FILTER i:<f> o:( v:?x o:) w:BIND o:( i:<g> o:( v:?x o:) w:AS v:?y o:) \
         w:FILTER w:regex o:( v:?x o:, i:<h> o:) o:}",
    );
    check(
        "{<<?s ?p ?o>> ?p <<(?s ?p <o>)>>}",
        "o:{ o:<< v:?s v:?p v:?o o:>> v:?p o:<<( v:?s v:?p i:<o> o:)>> o:}",
    );
    check(
        "SELECT (?a < ?b AS ?c) {} ORDER BY (?a > <b>) <f>(?x)",
        "w:SELECT o:( v:?a o:< v:?b w:AS v:?c o:) o:{ o:} w:ORDER w:BY o:( v:?a o:> i:<b> o:) i:<f> o:( v:?x o:)",
    );
    check(
        "{ SELECT ?x {} HAVING (?a < ?b> 1) } VALUES (?x ?y) { (<a> <b>) }",
        "o:{ w:SELECT v:?x o:{ o:} w:HAVING o:( v:?a o:< v:?b o:> n:1 o:) o:} \
         w:VALUES o:( v:?x v:?y o:) o:{ o:( i:<a> i:<b> o:) o:}",
    );
}

#[test]
fn brackets_in_strings_and_comments_do_not_count() {
    check(
        r#"{ '(' "[" '''{'"'' ''' """<<"'" """ 'a\'(' # ( [ {
        }"#,
        r#"o:{ s:'(' s:"[" s:'''{'"'' ''' s:"""<<"'" """ s:'a\'(' o:}"#,
    );
    check(
        "{ <a(b> ex:a\\(b _:a.b. }",
        "o:{ i:<a(b> p:ex:a\\(b b:_:a.b o:. o:}",
    );
}

#[test]
fn names_and_numbers() {
    check(
        "a:b :c d: e.f:g.h. a-b true-1 ?x1 $y ?",
        "p:a:b p::c p:d: p:e.f:g.h o:. w:a o:- w:b w:true o:- n:1 v:?x1 v:$y o:?",
    );
    check(
        "1 1.5 .5 1. 1e5 1.e5 1.5E-3 +2 'a'@en-GB--ltr '1'^^x:y é:ü",
        "n:1 n:1.5 n:.5 n:1 o:. n:1e5 n:1.e5 n:1.5E-3 o:+ n:2 s:'a' l:@en-GB--ltr s:'1' o:^^ p:x:y p:é:ü",
    );
}

/// The longest token counts (SPARQL 1.2 section 19.8), as it does in data.
#[test]
fn a_sign_belongs_to_the_number_behind_it() {
    let read = |object: &str| {
        let text = format!("SELECT * {{ ?s <http://e/p> {object} }}");
        parse(&text, &ParseOptions::default()).unwrap()
    };
    let plus = "'+5'^^<http://www.w3.org/2001/XMLSchema#integer>";
    assert_eq!(read("+5"), read(plus));
    assert_eq!(read("-5"), read(&plus.replace('+', "-")));
    assert_ne!(read("+ 5"), read(plus));
    assert_eq!(
        read("+ 5"),
        read("+ '5'^^<http://www.w3.org/2001/XMLSchema#integer>")
    );
    assert_eq!(read("+ +5"), read(&format!("+ {plus}")));
}

/// Triple patterns as they are counted, found by lowering the limit.
fn counted(text: &str) -> u64 {
    let is_within = |max: u64| {
        let limits = Limits {
            triple_patterns: max,
            ..Limits::default()
        };
        let options = ParseOptions {
            base: Some("http://e/".to_owned()),
            limits,
            ..ParseOptions::default()
        };
        let limit = Limit::TriplePatterns;
        match parse(text, &options).map_err(|error| error.kind) {
            Err(ParseErrorKind::Limit { limit: found, .. }) if found == limit => false,
            Ok(_) => true,
            Err(kind) => panic!("{text}: {kind:?}"),
        }
    };
    (0..=Limits::default().triple_patterns)
        .find(|&max| is_within(max))
        .unwrap_or(u64::MAX)
}

#[test]
fn patterns_are_counted() {
    for (text, count) in [
        ("ASK {}", 0),
        ("ASK { ?s ?p ?o }", 1),
        ("ASK { ?s ?p ?o . ?s ?p ?o . }", 2),
        ("ASK { ?s ?p ?o , ?q ; a ?r ; ; . }", 3),
        ("ASK { ?s ?p [ ?q ?r ; ?q 1, -2, +3 ] }", 5),
        ("ASK { ?s ?p (1 2 \"3\"@en \"4\"^^<i>) }", 9),
        ("ASK { ?s (<a:p>|<a:q>) ?o }", 1),
        ("ASK { ?s <a:p>/<a:q>/<a:r> ?o, ?u }", 6),
        ("ASK { GRAPH ?g { ?s ?p ?o } GRAPH <g:g> { ?s ?p ?o } }", 2),
        (
            "ASK { ?s ?p ?o FILTER(?o > 1 && CONCAT(?x, ?y)) ?s ?p ?o }",
            2,
        ),
        (
            "ASK { FILTER <http://www.w3.org/2001/XMLSchema#int>(?x) OPTIONAL { ?s ?p ?o } }",
            1,
        ),
        ("ASK { VALUES (?x ?y) { (1 2) (3 4) } VALUES ?x { 1 } }", 0),
        ("SELECT (1 + 2 AS ?x) ?y { ?s ?p ?o } ORDER BY ?x", 1),
    ] {
        assert_eq!(counted(text), count, "{text}");
    }
}

/// Texts made of the pieces of SPARQL, right or wrong.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "(", ")", "{", "}", "[", "]", "<<", ">>", "<<(", ")>>", "{|", "|}", "<", ">", "<a:b>",
        "?x", "ex:a", "_:b", "\"s\"", "'t'", "'''u'''", "1", "1.5", "a", "true", "@en", "^^", "^",
        "/", "|", "||", "&&", "!", "!=", "=", "<=", "+", "-", "*", "?", ",", ";", ".", "~", "#",
        "\n", "\\", "SELECT", "ASK", "WHERE", "FILTER", "BIND", "AS", "VALUES", "GRAPH",
        "OPTIONAL", "UNION", "EXISTS", "NOT", "IN", "REGEX", "COUNT", "DISTINCT", "ORDER BY",
        "GROUP BY", "HAVING", "LIMIT", "é", "\"", "'", "SERVICE", "MINUS", "PREFIX", "STR", "IF",
    ]);
    let space = prop::sample::select(vec!["", " "]);
    prop::collection::vec((piece, space), 0..60)
        .prop_map(|list| list.into_iter().flat_map(|(a, b)| [a, b]).collect())
}

/// Valid expressions.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "?x", "1", "-2.5", "\"a(\"", "<i:i>", "ex:y", "true", "'''}'''", "<i:(>", "<i:'>", "<i:#>",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 32, 3, |inner| {
        let operator = prop::sample::select(vec![
            "<", ">", "<=", ">=", "=", "!=", "+", "-", "*", "/", "&&", "||",
        ]);
        prop_oneof![
            (inner.clone(), operator, inner.clone())
                .prop_map(|(a, operator, b)| format!("({a}){operator}({b})")),
            inner.clone().prop_map(|a| format!("!({a})")),
            inner.clone().prop_map(|a| format!("STR({a})")),
            inner.clone().prop_map(|a| format!("<f:f>({a}, 1)")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(({a}) IN ({b},<c:c>))")),
            inner
                .clone()
                .prop_map(|a| format!("EXISTS {{ ?s <p:p> (<o:o> <q:q>) FILTER({a}) }}")),
            inner.prop_map(|a| format!("EXISTS {{ SELECT ({a} AS ?y) {{}} ORDER BY ({a}) }}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn any_text_is_scanned(text in "\\PC*") {
        let _ = scan(&text, &Limits::default());
        let _ = parse(&text, &ParseOptions::default());
    }

    #[test]
    fn pieces_are_scanned_and_parsed(text in pieces()) {
        let _ = parse(&text, &ParseOptions::default());
    }

    /// In what the library accepts no bracket or string is taken for an open one.
    #[test]
    fn what_is_sparql_is_closed(text in prop_oneof![
        pieces(),
        sizes::text(),
        expression().prop_map(|e| format!("PREFIX ex: <e:> ASK {{ ?s ?p <o:o> FILTER({e}) <s:s> ?p ?o }}")),
    ]) {
        let text = format!("PREFIX ub: <u:> {text}");
        if spargebra::SparqlParser::new().parse_query(&text).is_ok()
            && let Err(error) = parse(&text, &ParseOptions::default())
        {
            prop_assert!(!error.message.ends_with("is not closed"), "{text}: {error}");
        }
    }

    /// The count of patterns is an upper bound of what is planned.
    #[test]
    fn no_pattern_is_missed(text in sizes::text()) {
        let text = format!("PREFIX ub: <u:> {text}");
        if let Ok(query) = parse(&text, &ParseOptions::default()) {
            prop_assert!(query.patterns().len() as u64 <= counted(&text), "{text}");
        }
    }
}
