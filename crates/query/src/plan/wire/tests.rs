//! The bytes that are kept, and the forms of which they have to be.
//!
//! `testdata/wire` holds encodings as version 1 writes them. `README.md` there says how they are renewed.

mod golden;

use super::bytes::{Decoder, Encoder, Wire};
use super::error::{DecodeError, DecodeFault, EncodeError};
use super::layout::FORMS;
use super::{PLAN_VERSION, decode_plan, decode_rows, encode_plan, encode_rows, term};
use crate::STACK_BYTES_MIN;
use crate::expression::{Cast, Expression, Function};
use crate::node::{ConstantId, Node, Slot};
use crate::plan::{Action, Estimate, Form, PlanFault, Source, Step};
use golden::{golden_plans, golden_rows, id_of, local_terms, small};
use oxrdf::{NamedNode, Term, TermRef, Triple};
use rdf::{Tag, VertexId};
use std::collections::BTreeSet;
use std::path::PathBuf;

fn kept(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/wire");
    PathBuf::from(folder).join(name)
}

fn encodings() -> Vec<(&'static str, Vec<u8>)> {
    let mut all = Vec::new();
    for (name, plan) in golden_plans() {
        let ids: Vec<_> = plan.constants.iter().map(id_of).collect();
        let mut bytes = Vec::new();
        encode_plan(&plan, &ids, &mut bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        all.push((name, bytes));
    }
    let rows = golden_rows();
    let columns: Vec<_> = rows
        .iter()
        .map(|(slot, cells)| (*slot, &cells[..]))
        .collect();
    let (terms, mut bytes) = (local_terms(), Vec::new());
    let term_of = |id: VertexId| terms.get(id.payload() as usize - 5).map(Term::as_ref);
    encode_rows(3, &columns, term_of, &mut bytes).unwrap();
    all.push(("rows.bin", bytes));
    all
}

#[test]
fn bytes_are_what_they_were() {
    let mut differ = Vec::new();
    for (name, bytes) in encodings() {
        if std::fs::read(kept(name)).unwrap_or_default() != bytes {
            std::fs::write(kept(&format!("{name}.new")), bytes).unwrap();
            differ.push(name);
        }
    }
    assert!(
        differ.is_empty(),
        "the encodings of {differ:?} are other ones: take another version, see testdata/wire/README.md"
    );
}

#[test]
fn every_form_is_among_the_kept_bytes() {
    let mut seen = BTreeSet::new();
    let mut bytes = Vec::new();
    for (_, plan) in golden_plans() {
        let mut out = Encoder::new(&mut bytes);
        super::layout::write_plan(&plan, &mut out);
        plan.constants
            .iter()
            .for_each(|constant| term::write(constant.as_ref(), &mut out).unwrap());
        seen.append(&mut out.forms);
    }
    let missing: Vec<_> = FORMS
        .iter()
        .filter(|(of, number, _)| !seen.contains(&(of, *number)))
        .collect();
    assert!(
        missing.is_empty(),
        "add these to the golden plans: {missing:?}"
    );
    assert!(
        (1..=8).all(|form| seen.contains(&("Term", form))),
        "{seen:?}"
    );
    let numbers: BTreeSet<_> = FORMS.iter().map(|(of, number, _)| (of, number)).collect();
    assert_eq!(numbers.len(), FORMS.len(), "a number of two forms");
}

#[test]
fn golden_plans_come_back() {
    for (name, plan) in golden_plans() {
        let ids: Vec<_> = plan.constants.iter().map(id_of).collect();
        let mut bytes = Vec::new();
        encode_plan(&plan, &ids, &mut bytes).unwrap();
        let (found, found_ids) = decode_plan(&bytes).unwrap();
        // Its estimates have a NaN, which equals nothing.
        assert_eq!(format!("{found:?}"), format!("{plan:?}"), "{name}");
        assert_eq!(found_ids, ids);
        let mut again = Vec::new();
        encode_plan(&found, &ids, &mut again).unwrap();
        assert!(bytes == again, "{name}");
    }
}

/// What is left of an encoding is none, and what one bit makes of it is none or a plan of its own.
#[test]
fn cut_and_damaged_bytes_are_errors_or_plans() {
    let (mut plans, mut tries) = (0, 0);
    for (name, bytes) in encodings() {
        for end in 0..bytes.len() {
            assert!(decode_any(&bytes[..end]).is_err(), "{name} cut at {end}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            tries += 1;
            plans += usize::from(decode_any(&damaged).is_ok());
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(matches!(
            decode_any(&longer).unwrap_err().fault,
            DecodeFault::Trailing(1)
        ));
    }
    assert!(plans > 0 && plans < tries, "{plans} of {tries}");
}

/// Decodes, and sees to it that what was read has these bytes.
fn decode_any(bytes: &[u8]) -> Result<(), DecodeError> {
    let mut again = Vec::new();
    if bytes.starts_with(b"SQWR") {
        let rows = decode_rows(bytes)?;
        let columns: Vec<_> = rows
            .columns
            .iter()
            .map(|(slot, cells)| (*slot, &cells[..]))
            .collect();
        let term_of = |id: VertexId| rows.locals.get(id.payload() as usize);
        encode_rows(rows.count, &columns, term_of, &mut again).unwrap();
    } else {
        let (plan, ids) = decode_plan(bytes)?;
        plan.check().unwrap();
        encode_plan(&plan, &ids, &mut again).unwrap();
    }
    assert!(again == bytes, "one value has two encodings");
    Ok(())
}

#[test]
fn another_version_and_another_thing_are_refused_by_name() {
    let (_, mut bytes) = encodings().swap_remove(0);
    bytes[4] = 9;
    let error = decode_plan(&bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "byte 4: a plan of version 9, of which version 1 is read; run the same release at both ends"
    );
    assert_eq!(PLAN_VERSION, 1);
    let error = decode_rows(&bytes).unwrap_err();
    assert!(
        error.to_string().starts_with("byte 0: rows begin with"),
        "{error}"
    );
    assert_eq!(
        decode_plan(b"SQ").unwrap_err().to_string(),
        "byte 0: the bytes end 2 bytes too early; they were cut, send or write them again"
    );
}

#[test]
fn functions_have_their_names() {
    let mut functions = Function::NAMED.to_vec();
    functions.push(Function::Timestamp);
    functions.extend(Cast::PRIMITIVE.map(Function::Cast));
    functions.extend(Cast::DERIVED.map(|to| Function::Cast(Cast::Derived(to))));
    for function in functions {
        let mut bytes = Vec::new();
        function.write(&mut Encoder::new(&mut bytes));
        assert_eq!(Function::read(&mut Decoder::new(&bytes)), Ok(function));
    }
    for name in [
        "URI",
        "str",
        "nothing",
        "http://www.w3.org/2001/XMLSchema#nothing",
    ] {
        let mut bytes = Vec::new();
        Encoder::new(&mut bytes).text(name);
        let error = Function::read(&mut Decoder::new(&bytes)).unwrap_err();
        assert!(matches!(error.fault, DecodeFault::Text { .. }), "{name}");
    }
}

/// Runs on a thread with the stack that the crate asks for.
fn on_small_stack<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES_MIN);
        thread.spawn_scoped(scope, work).unwrap().join().unwrap()
    })
}

/// The bytes of a plan without constants before its steps.
fn before_steps() -> Vec<u8> {
    let mut bytes = b"SQWP".to_vec();
    // Version, no constants, one variable `x`, no dataset clause, no base.
    bytes.extend([1, 0, 1, 1, b'x', 0, 0, 0]);
    bytes
}

#[test]
fn depth_bombs_are_refused_on_a_small_stack() {
    let bomb = |open: &[u8], times: usize| {
        let mut bytes = before_steps();
        // One step, a filter.
        bytes.extend([1, 9]);
        bytes.extend(open.repeat(times));
        bytes
    };
    let if_ = [13u8];
    let bombs: Vec<(&str, Vec<u8>)> = vec![
        ("expressions", bomb(&[6], 1_000_000)),
        ("expressions", bomb(&[4, 1], 1_000_000)),
        ("expressions", bomb(&if_, 1_000_000)),
        ("expressions", bomb(&[10, 1], 1_000_000)),
        ("expressions", bomb(&[15, 3, b'S', b'T', b'R', 1], 500_000)),
        (
            "paths",
            [before_steps(), vec![1, 18], [2].repeat(1_000_000)].concat(),
        ),
        // Probes within probes: a table of one step, which is a probe.
        ("blocks", [before_steps(), [1, 13].repeat(500_000)].concat()),
        // Branches of one step each: inner, one branch.
        (
            "blocks",
            [before_steps(), vec![1], [12, 1, 1, 1].repeat(500_000)].concat(),
        ),
    ];
    for (what, bytes) in bombs {
        let error = on_small_stack(|| decode_plan(&bytes)).unwrap_err();
        let is_deep = matches!(error.fault, DecodeFault::Deep { what: found, .. } if found == what);
        // A count of things that must follow is refused before they are read.
        assert!(is_deep, "{what}: {error}");
    }
    let mut bytes = b"SQWP".to_vec();
    bytes.extend([1, 1]);
    bytes.extend([8, 1, 3, b'a', b':', b'b', 3, b'a', b':', b'b'].repeat(100_000));
    let error = on_small_stack(|| decode_plan(&bytes)).unwrap_err();
    assert!(matches!(
        error.fault,
        DecodeFault::Deep {
            what: "triple terms",
            ..
        }
    ));
}

/// The deepest that is allowed, of each kind, is written, read, compared and dropped on a small stack.
#[test]
fn the_deepest_that_is_allowed_fits_a_small_stack() {
    for expression in golden::deepest_expressions() {
        round_trip_on_small_stack(vec![golden::step(Action::Filter(expression), &[])]);
    }
    for path in golden::deepest_paths() {
        let action = Action::PathCheck {
            subject: Node::Constant(ConstantId(0)),
            path,
            object: Node::Constant(ConstantId(0)),
            scope: crate::plan::Scope::Default,
            source: Source::STORE,
        };
        round_trip_on_small_stack(vec![golden::step(action, &[])]);
    }
    round_trip_on_small_stack(golden::deepest_blocks());
}

fn round_trip_on_small_stack(steps: Vec<Step>) {
    on_small_stack(|| {
        let plan = small(steps, Form::Ask);
        let ids = vec![None; plan.constants.len()];
        let mut bytes = Vec::new();
        encode_plan(&plan, &ids, &mut bytes).unwrap();
        let found = decode_plan(&bytes).unwrap();
        assert!(found == (plan, ids));
    });
}

#[test]
fn one_level_deeper_is_not_written() {
    let deeper = golden::deepest_expressions().swap_remove(0);
    let deeper = Expression::Not(Box::new(deeper));
    let plan = small(vec![golden::step(Action::Filter(deeper), &[])], Form::Ask);
    let mut bytes = vec![7];
    let error = encode_plan(&plan, &[None], &mut bytes).unwrap_err();
    let EncodeError::IllFormed(fault) = error else {
        panic!("{error}");
    };
    assert!(matches!(
        fault.fault,
        PlanFault::Deep {
            what: "expressions",
            ..
        }
    ));
    assert_eq!(fault.place, [0]);
    assert_eq!(bytes, [7], "an error leaves what was there");
}

/// A list that says it is long takes memory only as far as there are bytes for it.
#[test]
fn counts_are_cut_against_the_bytes_that_are_left() {
    for count in [1_u64 << 20, 1 << 40, u64::MAX] {
        let mut bytes = b"SQWP".to_vec();
        bytes.push(1);
        let mut out = Encoder::new(&mut bytes);
        out.number(count);
        let error = decode_plan(&bytes).unwrap_err();
        assert!(matches!(error.fault, DecodeFault::Cut { .. }), "{error}");
        let mut bytes = before_steps();
        Encoder::new(&mut bytes).number(count);
        assert!(matches!(
            decode_plan(&bytes).unwrap_err().fault,
            DecodeFault::Cut { .. }
        ));
    }
}

#[test]
fn ids_are_those_of_stored_terms() {
    let plan = small(vec![], Form::Ask);
    for id in [
        VertexId::new(Tag::QueryLocal, 3),
        VertexId::UNBOUND,
        VertexId::from_bits(11 << VertexId::PAYLOAD_BITS),
    ] {
        let error = encode_plan(&plan, &[Some(id)], &mut Vec::new()).unwrap_err();
        assert_eq!(error, EncodeError::Id(id));
    }
    let error = encode_plan(&plan, &[], &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "0 ids for 1 constants");
}

#[test]
fn estimates_are_exact() {
    let nan = f64::from_bits(0x7ff4_0000_dead_beef);
    for rows in [
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        f64::MIN_POSITIVE / 3.0,
        nan,
    ] {
        let mut step = golden::step(
            Action::AllGraphs {
                into: Slot(0),
                source: Source::STORE,
            },
            &[0],
        );
        step.estimate = Estimate {
            rows,
            cost_ns: rows,
            is_sampled: true,
        };
        let mut bytes = Vec::new();
        encode_plan(&small(vec![step], Form::Ask), &[None], &mut bytes).unwrap();
        let (found, _) = decode_plan(&bytes).unwrap();
        assert_eq!(found.steps[0].estimate.rows.to_bits(), rows.to_bits());
    }
}

#[test]
fn terms_are_exact_or_refused() {
    for constant in golden::terms() {
        let mut bytes = Vec::new();
        term::write(constant.as_ref(), &mut Encoder::new(&mut bytes)).unwrap();
        assert_eq!(term::read(&mut Decoder::new(&bytes)), Ok(constant));
    }
    let iri = NamedNode::new_unchecked;
    let mut deep: Term = iri("a:b").into();
    for _ in 0..=term::TRIPLES_MAX {
        deep = Triple::new(iri("a:b"), iri("a:b"), deep).into();
    }
    let refused: [TermRef<'_>; 5] = [
        deep.as_ref(),
        oxrdf::NamedNodeRef::new_unchecked("no scheme").into(),
        oxrdf::NamedNodeRef::new_unchecked("a:b\nc").into(),
        oxrdf::BlankNodeRef::new_unchecked("").into(),
        oxrdf::LiteralRef::new_language_tagged_literal_unchecked("a", "e n").into(),
    ];
    for one in refused {
        assert!(term::write(one, &mut Encoder::new(&mut Vec::new())).is_err());
    }
    // A string says no datatype, and UTF-8 ends with its characters.
    let text = b"\x28http://www.w3.org/2001/XMLSchema#string\x01a";
    let string = [&[4], &text[..]].concat();
    for bytes in [
        &string[..],
        &[3, 1, 0xff],
        &[3, 2, 0xc3, b'a'],
        &[9],
        &[8, 3],
    ] {
        assert!(term::read(&mut Decoder::new(bytes)).is_err(), "{bytes:?}");
    }
}
