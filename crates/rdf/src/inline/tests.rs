//! Inline literals against `oxsdatatypes` and against themselves.

use super::*;
use oxrdf::{NamedNode, NamedNodeRef, TermRef};
use proptest::prelude::*;
use std::str::FromStr;

fn id_of(lexical: &str, local: &str) -> Option<VertexId> {
    let datatype = NamedNode::new_unchecked(format!("{XSD}{local}"));
    encode(LiteralRef::new_typed_literal(lexical, datatype.as_ref()))
}

/// Whether the literal is inline; where it is, it must come back.
fn is_inline(lexical: &str, local: &str) -> bool {
    let Some(id) = id_of(lexical, local) else {
        return false;
    };
    let mut terms = TermBuffer::new();
    decode(id, &mut terms).expect("what was encoded decodes");
    let datatype = format!("{XSD}{local}");
    let datatype = NamedNodeRef::new_unchecked(&datatype);
    let expected = TermRef::Literal(LiteralRef::new_typed_literal(lexical, datatype));
    assert_eq!(terms.get(0), Some(expected));
    true
}

fn check(local: &str, inline: &[&str], dictionary: &[&str]) {
    for lexical in inline {
        assert!(is_inline(lexical, local), "{lexical} as {local} is inline");
    }
    for lexical in dictionary {
        assert!(
            !is_inline(lexical, local),
            "{lexical} as {local} goes to the dictionary"
        );
    }
}

#[test]
fn integers() {
    let edges = ["576460752303423487", "-576460752303423488"];
    check(
        "integer",
        &["0", "5", "-5", "1000000"],
        &["", "-", "05", "+5", "-0", "5 ", "x", "00"],
    );
    check(
        "integer",
        &edges,
        &[
            "576460752303423488",
            "-576460752303423489",
            "9999999999999999999",
        ],
    );
    check("int", &[], &["5"]);
    assert!(id_of("-7", "integer") < id_of("3", "integer"));
    assert_eq!(integer(id_of("-7", "integer").unwrap()), Some(-7));
    assert_eq!(from_integer(-7), id_of("-7", "integer"));
    assert_eq!(from_integer(i64::MAX), None);
}

#[test]
fn booleans() {
    check("boolean", &["true", "false"], &["1", "0", "TRUE", ""]);
    assert_eq!(Some(from_boolean(true)), id_of("true", "boolean"));
    assert_eq!(boolean(from_boolean(false)), Some(false));
}

#[test]
fn decimals() {
    check(
        "decimal",
        &[
            "0",
            "0.0",
            "1.50",
            "-1.5",
            "0.000000000000001",
            "12",
            "-0.01",
        ],
        &[],
    );
    check(
        "decimal",
        &[],
        &[
            "", ".", ".5", "5.", "01.5", "+1.5", "-0", "-0.00", "1.5e0", "1..5",
        ],
    );
    check(
        "decimal",
        &["36028797018963967"],
        &["36028797018963968", "0.0000000000000001"],
    );
    assert_ne!(id_of("1.5", "decimal"), id_of("1.50", "decimal"));
}

#[test]
fn doubles() {
    check(
        "double",
        &[
            "1.5", "1.50", "0", "-0", "-0.0", "1.5E0", "1.0E0", "1.5e-7", "0.0E0",
        ],
        &[],
    );
    check(
        "double",
        &[
            "NaN",
            "INF",
            "-INF",
            "1.23456789012345E63",
            "9007199254740991",
        ],
        &[],
    );
    check(
        "double",
        &[],
        &[
            "1e6", "1.50E0", "01.5", "1.5E+0", "1.5E00", "1.5E-0", "+INF", "12.5E0",
        ],
    );
    check(
        "double",
        &[],
        &[
            "0.5E0",
            "0.0E1",
            "1.E0",
            "1.5E64",
            "9007199254740992",
            "",
            "E0",
            "nan",
        ],
    );
}

#[test]
fn dates_and_times() {
    let fits = [
        "2024-02-29",
        "0001-01-01Z",
        "9999-12-31+14:00",
        "2000-02-29-14:00",
        "2011-01-01+00:00",
    ];
    check(
        "date",
        &fits,
        &[
            "2023-02-29",
            "0000-01-01",
            "-0001-01-01",
            "12024-01-01",
            "2024-1-1",
        ],
    );
    check(
        "date",
        &[],
        &[
            "2024-01-01-00:00",
            "2024-01-01-00:01",
            "2024-01-01+14:01",
            "2024-01-01z",
        ],
    );
    let fits = [
        "2024-02-29T23:59:59.999-13:59",
        "2024-01-01T00:00:00",
        "2024-01-01T00:00:00.0Z",
    ];
    check(
        "dateTime",
        &fits,
        &[
            "2024-01-01T24:00:00",
            "2024-01-01T00:00:60",
            "2024-01-01 00:00:00",
        ],
    );
    check(
        "dateTime",
        &[],
        &[
            "2024-01-01T00:00:00.",
            "2024-01-01T00:00:00.0000",
            "2024-01-01",
        ],
    );
}

#[test]
fn foreign_ids_are_refused() {
    let refused = [
        VertexId::UNBOUND,
        VertexId::new(Tag::Iri, 0),
        VertexId::new(Tag::Boolean, 2),
        VertexId::new(Tag::Double, 3 << 58 | 3),
        VertexId::new(Tag::Date, 0),
        VertexId::new(Tag::DateTime, VertexId::PAYLOAD_MAX),
    ];
    for id in refused {
        assert_eq!(decode(id, &mut TermBuffer::new()), Err(NotInline(id)));
    }
}

/// Text near the borders of what is inline.
fn lexicals() -> impl Strategy<Value = String> {
    prop_oneof![
        "[+-]?[0-9]{0,19}",
        "[+-]?[0-9]{0,9}[.]?[0-9]{0,17}",
        "-?[0-9][.][0-9]{1,15}[eE]-?[0-9]{1,3}",
        "(20|0|99)[0-9]{2}-[01][0-9]-[0-3][0-9]([Zz]|[+-](0[0-9]|1[0-4]):[0-5][0-9])?",
        "2[0-9]{3}-0[1-9]-[0-2][1-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]([.][0-9]{0,4})?(Z|[+-]0[0-9]:[0-5][0-9])?",
        "true|false|INF|-INF|NaN",
    ]
}

const LOCALS: [&str; 6] = [
    "integer", "boolean", "decimal", "double", "date", "dateTime",
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
    #![proptest_config(at_least(2000))]

    #[test]
    fn inline_literals_come_back(lexical in lexicals(), local in prop::sample::select(&LOCALS)) {
        is_inline(&lexical, local);
    }

    #[test]
    fn any_bits_decode_to_what_encodes_to_them(tag in 4_u64..10, payload in any::<u64>(), shift in 0..60) {
        let id = VertexId::from_bits(tag << 60 | (payload >> 4 >> shift));
        let mut terms = TermBuffer::new();
        if decode(id, &mut terms).is_ok() {
            let Some(TermRef::Literal(literal)) = terms.get(0) else { panic!("no literal") };
            prop_assert_eq!(encode(literal), Some(id));
        }
    }

    #[test]
    fn values_are_those_of_the_text(lexical in lexicals()) {
        if let Some(id) = id_of(&lexical, "integer") {
            prop_assert_eq!(integer(id), lexical.parse().ok());
        }
        if let Some(id) = id_of(&lexical, "decimal") {
            prop_assert_eq!(decimal(id), Decimal::from_str(&lexical).ok());
        }
        if let Some(id) = id_of(&lexical, "double") {
            let expected = lexical.parse::<f64>().unwrap();
            prop_assert_eq!(double(id).unwrap().to_bits(), expected.to_bits());
        }
        if let Some(id) = id_of(&lexical, "date") {
            let expected = Date::from_str(&lexical).unwrap();
            prop_assert!(date(id).unwrap().is_identical_with(expected));
        }
        if let Some(id) = id_of(&lexical, "dateTime") {
            let expected = DateTime::from_str(&lexical).unwrap();
            prop_assert!(date_time(id).unwrap().is_identical_with(expected));
        }
    }
}
