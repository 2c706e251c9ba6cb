//! What is written is read: the plans of every text that there is, and random rows.

use super::cases::cases;
use super::lubm;
use crate::plan::wire::{decode_plan, decode_rows, encode_plan, encode_rows};
use crate::plan::{Plan, Slot};
use crate::{ParseOptions, PlanOptions, parse};
use oxrdf::{Literal, Term, TermRef};
use proptest::prelude::*;
use rdf::{Tag, VertexId};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query};
use testkit::seeds;

/// Writes a plan and reads it.
pub(super) fn round_trip(plan: &Plan) {
    let ids: Vec<_> = plan.constants.iter().map(lubm::id).collect();
    let mut bytes = Vec::new();
    encode_plan(plan, &ids, &mut bytes).unwrap_or_else(|error| panic!("{error}: {plan:?}"));
    let (found, found_ids) =
        decode_plan(&bytes).unwrap_or_else(|error| panic!("{error}: {plan:?}"));
    assert!(&found == plan && found_ids == ids, "{plan:?}");
}

/// Plans a text, if it is a query, and writes and reads the plan; whether there was one.
fn round_trip_of(text: &str) -> bool {
    let options = ParseOptions {
        base: Some("http://example.org/".to_owned()),
        prefixes: vec![("ub".to_owned(), lubm::UB.to_owned())],
        ..ParseOptions::default()
    };
    let Ok(query) = parse(text, &options) else {
        return false;
    };
    round_trip(&lubm::plan_query(&query, 1));
    true
}

#[test]
fn plans_of_the_texts_here_come_back() {
    let files = [
        include_str!("plans.txt"),
        include_str!("composed.txt"),
        include_str!("lower.txt"),
    ];
    let texts = files.iter().flat_map(|file| cases(file));
    let planned = texts.filter(|(text, _)| round_trip_of(text)).count();
    assert!(planned > 100, "{planned} plans");
    let text = "SELECT * { ?x ub:advisor ?y . ?y ub:teacherOf ?z FILTER EXISTS { ?z ?p ?o } }";
    let forced = PlanOptions {
        keep_order: true,
        ..PlanOptions::DEFAULT
    };
    round_trip(&lubm::plan_of(text, 1, forced));
}

#[test]
fn plans_of_the_suites_come_back() {
    let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/w3c");
    let mut paths = Vec::new();
    queries_below(&suites, &mut paths);
    if paths.is_empty() {
        eprintln!("SKIPPED: no W3C suites in {}", suites.display());
        return;
    }
    paths.sort();
    let texts = paths
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok());
    let planned = texts.filter(|text| round_trip_of(text)).count();
    assert!(planned > 500, "{planned} plans of {} files", paths.len());
}

fn queries_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            queries_below(&path, found);
        } else if path.extension().is_some_and(|end| end == "rq") {
            found.push(path);
        }
    }
}

#[test]
fn plans_of_random_queries_come_back() {
    for seed in seeds::chosen(40, 4000) {
        let mut random = Random::new(seed);
        let dataset = random_dataset(&Shape::small(&mut random), &mut random);
        let vocabulary = Vocabulary::of(&dataset);
        for _ in 0..20 {
            let text = random_query(&vocabulary, &mut random);
            assert!(round_trip_of(&text), "seed {seed}: {text}");
        }
    }
}

/// What one bit makes of a plan is an error, or a plan with these bytes.
#[test]
fn damaged_plans_are_errors_or_plans() {
    let mut random = Random::new(7);
    let (mut plans, mut errors) = (0, 0);
    for (text, _) in cases(include_str!("composed.txt")) {
        let plan = lubm::plan_of(text, 1, PlanOptions::DEFAULT);
        let ids = vec![None; plan.constants.len()];
        let mut bytes = Vec::new();
        encode_plan(&plan, &ids, &mut bytes).unwrap();
        for _ in 0..seeds::chosen(100, 10_000).count() {
            let mut damaged = bytes.clone();
            for _ in 0..random.between(1, 3) {
                damaged[random.below(bytes.len())] = random.below(256) as u8;
            }
            match decode_plan(&damaged) {
                Err(error) => {
                    assert!(error.at <= damaged.len() && !error.to_string().is_empty());
                    errors += 1;
                }
                Ok((plan, ids)) => {
                    let mut again = Vec::new();
                    encode_plan(&plan, &ids, &mut again).unwrap();
                    assert!(again == damaged, "one plan has two encodings");
                    assert!(!plan.explain().is_empty());
                    plans += 1;
                }
            }
        }
    }
    assert!(
        plans > 100 && errors > 100,
        "{plans} plans, {errors} errors"
    );
}

/// A cell: mostly of a stored term, often unbound, sometimes local.
fn cell() -> impl Strategy<Value = VertexId> {
    prop_oneof![
        4 => (0_u64..1 << 40).prop_map(|number| VertexId::new(Tag::Iri, number)),
        1 => (0_u64..=VertexId::PAYLOAD_MAX).prop_map(|number| VertexId::new(Tag::DateTime, number)),
        1 => Just(VertexId::UNBOUND),
        1 => (0_u64..9).prop_map(|number| VertexId::new(Tag::QueryLocal, number << 28 | number)),
    ]
}

/// The term of a local id.
fn local_term(id: VertexId) -> Term {
    let text = format!("local {}", id.payload());
    Literal::new_language_tagged_literal_unchecked(text, "en").into()
}

proptest! {
    #[test]
    fn rows_come_back(
        rows in 0_usize..40,
        slots in proptest::collection::btree_set(0_u16..400, 0..6),
        cells in proptest::collection::vec(cell(), 240),
    ) {
        let slots: Vec<Slot> = slots.into_iter().map(Slot).collect();
        let columns: Vec<Vec<VertexId>> = (0..slots.len())
            .map(|at| cells[at * 40..at * 40 + rows].to_vec())
            .collect();
        let given: Vec<(Slot, &[VertexId])> =
            slots.iter().copied().zip(columns.iter().map(Vec::as_slice)).collect();
        let terms: BTreeMap<VertexId, Term> = (0_u64..9)
            .map(|number| VertexId::new(Tag::QueryLocal, number << 28 | number))
            .map(|id| (id, local_term(id)))
            .collect();
        let mut asked = 0;
        let mut bytes = vec![1, 2, 3];
        let term_of = |id| {
            asked += 1;
            terms.get(&id).map(Term::as_ref)
        };
        encode_rows(rows as u64, &given, term_of, &mut bytes).unwrap();
        let mut found = decode_rows(&bytes[3..]).unwrap();
        prop_assert_eq!(found.count, rows as u64);
        prop_assert_eq!(found.locals.len(), asked);
        // The reader's ids of the terms are the sender's here.
        let ids: Vec<VertexId> = found
            .locals
            .iter()
            .map(|term| *terms.iter().find(|(_, known)| Some(known.as_ref()) == term).unwrap().0)
            .collect();
        found.replace_locals(&ids);
        let expected: Vec<_> = slots.into_iter().zip(columns).collect();
        prop_assert_eq!(found.columns, expected);
    }

    #[test]
    fn any_bytes_are_an_error_or_have_one_encoding(
        mark in prop_oneof![Just(&b"SQWR\x01"[..]), Just(&b"SQWP\x01"[..]), Just(&b""[..])],
        rest in proptest::collection::vec(prop_oneof![0_u8..12, any::<u8>()], 0..60),
    ) {
        let bytes = [mark, &rest].concat();
        let mut again = Vec::new();
        if let Ok(rows) = decode_rows(&bytes) {
            let columns: Vec<_> = rows.columns.iter().map(|(slot, it)| (*slot, &it[..])).collect();
            let term_of = |id: VertexId| rows.locals.get(id.payload() as usize);
            encode_rows(rows.count, &columns, term_of, &mut again).unwrap();
            prop_assert_eq!(&again, &bytes);
        } else if let Ok((plan, ids)) = decode_plan(&bytes) {
            encode_plan(&plan, &ids, &mut again).unwrap();
            prop_assert_eq!(&again, &bytes);
        }
    }
}

const NO_TERM: fn(VertexId) -> Option<TermRef<'static>> = |_| None;

#[test]
fn rows_without_columns_are_a_count() {
    let mut bytes = Vec::new();
    encode_rows(1 << 59, &[], NO_TERM, &mut bytes).unwrap();
    assert!(bytes.len() < 20);
    let rows = decode_rows(&bytes).unwrap();
    assert_eq!((rows.count, rows.columns.len()), (1 << 59, 0));
    assert!(encode_rows(1 << 60, &[], NO_TERM, &mut bytes).is_err());
}

/// Rows, columns, what is said of them.
type Refused<'r> = (u64, &'r [(Slot, &'r [VertexId])], &'r str);

#[test]
fn rows_that_are_none_are_not_written() {
    let iri = [VertexId::new(Tag::Iri, 1)];
    let local = [VertexId::new(Tag::QueryLocal, 1)];
    let unknown = [VertexId::from_bits(13 << 60)];
    let half_unbound = [VertexId::from_bits(15 << 60)];
    let (a, b) = (Slot(0), Slot(1));
    let refused: [Refused<'_>; 6] = [
        (2, &[(a, &iri)], "column 0 has 1 cells for 2 rows"),
        (
            1,
            &[(b, &iri), (a, &iri)],
            "column 0 comes after one that is not before it",
        ),
        (
            1,
            &[(a, &iri), (a, &iri)],
            "column 0 comes after one that is not before it",
        ),
        (
            1,
            &[(a, &iri), (b, &local)],
            "QueryLocal:1 is no id that can be sent here",
        ),
        (
            1,
            &[(a, &unknown)],
            "tag13:0 is no id that can be sent here",
        ),
        (
            1,
            &[(a, &half_unbound)],
            "unbound is no id that can be sent here",
        ),
    ];
    for (count, columns, message) in refused {
        let mut bytes = vec![9];
        let error = encode_rows(count, columns, NO_TERM, &mut bytes).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(bytes, [9]);
    }
}

#[test]
fn bytes_that_are_no_rows_are_refused() {
    // Version, rows, columns, slots, local terms.
    let head = |rest: &[u8]| [b"SQWR\x01", rest].concat();
    let cells = |bits: u64| bits.to_le_bytes().to_vec();
    let refused: [(Vec<u8>, &str); 8] = [
        (
            head(&[1, 1, 0, 0]),
            "byte 9: the bytes end 8 bytes too early",
        ),
        (
            head(&[0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0, 0]),
            "bytes too early",
        ),
        (head(&[1, 2, 1, 1, 0]), "byte 8: column 1 comes after"),
        (
            [head(&[1, 1, 0, 0]), cells(13 << 60)].concat(),
            "byte 9: tag13:0 is no id",
        ),
        (
            [head(&[1, 1, 0, 0]), cells(14 << 60)].concat(),
            "byte 9: QueryLocal:0 is no id",
        ),
        (
            [head(&[1, 1, 0, 1, 3, 0]), cells(0)].concat(),
            "byte 11: local terms: 1, 0 are allowed",
        ),
        (
            [head(&[1, 1, 0, 2, 3, 0, 3, 0]), cells((14 << 60) + 1)].concat(),
            "byte 13: QueryLocal:1",
        ),
        (
            [head(&[1, 1, 0, 0]), cells(0), vec![0]].concat(),
            "byte 17: 1 bytes follow the end",
        ),
    ];
    for (bytes, message) in refused {
        let error = decode_rows(&bytes).unwrap_err().to_string();
        assert!(error.contains(message), "{error}: not {message}");
    }
}
