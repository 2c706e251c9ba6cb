//! SPARQL 1.1 Query sections 17.2 to 17.4 as tables: where `spareval` differs or is not asked.

use crate::support;

use explore::WalkError;
use oxrdf::{BlankNode, Term};
use query::expression::{Arithmetic, Comparison, Expression, Function};
use query::plan::{ConstantId, Slot};
use spargebra::algebra::{Expression as Peer, Function as PeerFunction, GraphPattern};
use support::filters::{kept_rows, literal, text};

/// Evaluates over no columns: the truth of a filter on constants.
fn is_true(expression: &str) -> bool {
    let (filter, constants) = parse(expression);
    let rows = vec![vec![BlankNode::new_unchecked("b0").into()]];
    !kept_rows(filter, constants, &rows, 4)
        .expect("no limit")
        .is_empty()
}

/// Translates a constant expression; `?b` is a blank node.
fn parse(expression: &str) -> (Expression, Vec<Term>) {
    let prefixes = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";
    let query = format!("{prefixes} ASK {{ FILTER({expression}) }}");
    let query = spargebra::SparqlParser::new()
        .parse_query(&query)
        .expect("it parses");
    let spargebra::Query::Ask { pattern, .. } = query else {
        unreachable!("an ASK")
    };
    let GraphPattern::Project { inner, .. } = pattern else {
        unreachable!("a projection")
    };
    let GraphPattern::Filter { expr, .. } = *inner else {
        unreachable!("a filter")
    };
    let mut constants = Vec::new();
    (translate(&expr, &mut constants), constants)
}

fn translate(peer: &Peer, constants: &mut Vec<Term>) -> Expression {
    let mut one = |operand: &Peer| Box::new(translate(operand, constants));
    match peer {
        Peer::Variable(_) => Expression::Slot(Slot(0)),
        Peer::Bound(_) => Expression::Bound(Slot(7)),
        Peer::Not(operand) => match &**operand {
            Peer::Equal(a, b) => Expression::Compare(Comparison::NotEqual, one(a), one(b)),
            operand => Expression::Not(one(operand)),
        },
        Peer::Equal(a, b) => Expression::Compare(Comparison::Equal, one(a), one(b)),
        Peer::Less(a, b) => Expression::Compare(Comparison::Less, one(a), one(b)),
        Peer::LessOrEqual(a, b) => Expression::Compare(Comparison::LessOrEqual, one(a), one(b)),
        Peer::Greater(a, b) => Expression::Compare(Comparison::Greater, one(a), one(b)),
        Peer::SameTerm(a, b) => Expression::SameTerm(one(a), one(b)),
        Peer::Or(a, b) => Expression::Or(vec![*one(a), *one(b)]),
        Peer::And(a, b) => Expression::And(vec![*one(a), *one(b)]),
        Peer::Add(a, b) => Expression::Arithmetic(Arithmetic::Add, one(a), one(b)),
        Peer::Divide(a, b) => Expression::Arithmetic(Arithmetic::Divide, one(a), one(b)),
        Peer::FunctionCall(function, arguments) => {
            let function = match function {
                PeerFunction::Str => Function::Str,
                PeerFunction::Datatype => Function::Datatype,
                PeerFunction::IsNumeric => Function::IsNumeric,
                PeerFunction::IsBlank => Function::IsBlank,
                PeerFunction::Replace => Function::Replace,
                PeerFunction::Regex => Function::Regex,
                PeerFunction::StrLen => Function::StrLen,
                PeerFunction::LangMatches => Function::LangMatches,
                other => panic!("{other} is in no table"),
            };
            Expression::Call(
                function,
                arguments.iter().map(|argument| *one(argument)).collect(),
            )
        }
        term => {
            let id = ConstantId(constants.len() as u32);
            constants.push(match term {
                Peer::NamedNode(iri) => iri.clone().into(),
                Peer::Literal(literal) => literal.clone().into(),
                other => panic!("{other} is in no table"),
            });
            Expression::Constant(id)
        }
    }
}

/// SPARQL 1.1 Query sections 17.2 to 17.4, where `spareval` differs or is not asked above.
#[test]
fn the_specification_is_followed() {
    let true_ones = [
        // 17.2.2: strings by their length, numbers by being zero or NaN.
        r#""a""#,
        r#"!"""#,
        r#"!"NaN"^^xsd:double"#,
        "!false || !0 || !0.0",
        // 17.3: xsd:boolean is ordered, NaN is not, and comparing it is no error.
        "false < true",
        r#"!("NaN"^^xsd:double < 1)"#,
        r#"!("NaN"^^xsd:double <= "NaN"^^xsd:double)"#,
        r#""NaN"^^xsd:double != "NaN"^^xsd:double"#,
        "1 / 2 = 0.5",
        "datatype(1 / 2) = xsd:decimal",
        r#"1.0e0 / 0 = "INF"^^xsd:double"#,
        // 17.4.1.7: unknown datatypes compare equal only to themselves.
        r#""a"^^<http://e/t> = "a"^^<http://e/t>"#,
        r#"("a"^^<http://e/t> = "b"^^<http://e/t>) || true"#,
        r#""1"^^xsd:integer = "01"^^xsd:integer"#,
        r#"!sameTerm("1"^^xsd:integer, "01"^^xsd:integer)"#,
        "<http://e/a> != 1",
        "<http://e/a> != ?b",
        // 17.4.2: terms keep their form and type.
        r#"str("01"^^xsd:integer) = "01""#,
        r#"datatype("1"^^xsd:int) = xsd:int"#,
        r#"isNumeric("12"^^xsd:nonNegativeInteger)"#,
        r#"!isNumeric("1200"^^xsd:byte)"#,
        r#"!isNumeric("12")"#,
        "isBlank(?b)",
        "?b = ?b",
        "?b <= ?b",
        // 17.4.3: code points, language ranges, replacements of XPath.
        r#"strlen("\U0001F955é") = 2"#,
        r#"langMatches("en-GB", "EN")"#,
        r#"!langMatches("en", "en-GB")"#,
        r#"replace("abracadabra", "bra", "*") = "a*cada*""#,
        r#"replace("abracadabra", "a.*?a", "*") = "*c*bra""#,
        r#"replace("AAAA", "A+?", "b") = "bbbb""#,
        r#"replace("darted", "^(.*?)d(.*)$", "$1c$2") = "carted""#,
        r#"replace("a", "(a)", "$1b$19") = "aba9""#,
        r#"replace("a$b", "$", "\\$\\\\", "q") = "a\\$\\\\b""#,
        r#"replace("a", "a", "\\$\\\\") = "$\\""#,
        r#"regex("a b", "a b", "qx")"#,
        r#"regex("a.b", "A.B", "qi")"#,
    ];
    for expression in true_ones {
        assert!(is_true(expression), "{expression}");
    }
    let errors = [
        // 17.2.2 of SPARQL 1.2: ill-formed literals and tagged strings have no truth value.
        r#""abc"^^xsd:integer"#,
        r#""abc"^^xsd:boolean"#,
        r#""a"@en"#,
        r#"""@en"#,
        r#""a"^^<http://e/t> = "b"^^<http://e/t>"#,
        r#""a"^^<http://e/t> != "b"^^<http://e/t>"#,
        r#""a"^^<http://e/t> < "b"^^<http://e/t>"#,
        r#""x" < 1"#,
        r#""x"@en < "x"@fr"#,
        "<http://e/a> < <http://e/b>",
        "1 / 0 = 1",
        r#"replace("abc", "x*", "-") = "abc""#,
        r#"replace("abc", "b", "$") = "a$c""#,
        r#"replace("abc", "b", "\\n") = "anc""#,
        "strlen(1) = 1",
        "str(?b) = \"b0\"",
        "<http://e/a>",
        r#""2020-01-01T00:00:00"^^xsd:dateTime < "2020-01-01T01:00:00Z"^^xsd:dateTime"#,
    ];
    for expression in errors {
        assert!(!is_true(expression), "{expression}");
        assert!(!is_true(&format!("!({expression})")), "!({expression})");
    }
    assert!(is_true("!bound(?z)"));
}

#[test]
fn a_string_that_is_too_long_ends_the_query() {
    let long = "x".repeat(9 << 20);
    let concat = Expression::Call(
        Function::Concat,
        vec![Expression::Slot(Slot(0)), Expression::Slot(Slot(0))],
    );
    let length = Expression::Call(Function::StrLen, vec![concat]);
    let zero = Expression::Constant(ConstantId(0));
    let filter = Expression::Compare(Comparison::Greater, Box::new(length), Box::new(zero));
    let rows = vec![vec![text(&long)]];
    let result = kept_rows(filter, vec![literal("0", "integer")], &rows, 4);
    assert!(
        matches!(result, Err(WalkError::StringTooLong { .. })),
        "{result:?}"
    );
}

#[test]
fn an_operand_that_is_not_needed_ends_nothing() {
    let long = "x".repeat(9 << 20);
    let slot = || Expression::Slot(Slot(0));
    let too_long = Expression::Call(Function::Concat, vec![slot(), slot()]);
    let zero = Expression::Constant(ConstantId(0));
    let is_text = Expression::Compare(Comparison::Equal, Box::new(too_long), Box::new(zero));
    let filter = Expression::Or(vec![Expression::Bound(Slot(0)), is_text]);
    let rows = vec![vec![text(&long)]];
    assert_eq!(
        kept_rows(filter, vec![literal("0", "integer")], &rows, 4).unwrap(),
        [0]
    );
}
