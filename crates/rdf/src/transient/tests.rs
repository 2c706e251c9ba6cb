//! The table against a plain map, and against a dictionary that grows beside it.

use super::table::ENTRY_BYTES;
use super::*;
use crate::dictionary::{Dictionary, LiveDictionary};
use oxrdf::{BlankNode, Literal, NamedNode, NamedOrBlankNode, Term, Triple};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use testkit::random::Random;
use testkit::seeds;

const HERE: TermHolder = TermHolder(1);
const THERE: TermHolder = TermHolder(2);

fn live() -> Arc<LiveDictionary> {
    Arc::new(LiveDictionary::new(Arc::new(Dictionary::empty().unwrap())))
}

fn iri(number: usize) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{number}"))
}

/// A term of one of the kinds that have a table.
fn term(random: &mut Random, depth: usize) -> Term {
    let number = random.below(40);
    match random.below(if depth == 0 { 7 } else { 5 }) {
        0 | 1 => iri(number).into(),
        2 => Literal::new_simple_literal(format!("text {number}")).into(),
        3 => Literal::new_language_tagged_literal_unchecked(format!("{number}"), "en").into(),
        4 => Literal::new_typed_literal(format!("0{number}"), iri(0)).into(),
        _ => {
            let subject: NamedOrBlankNode = if random.chance(50) {
                iri(number).into()
            } else {
                BlankNode::new_unchecked(format!("b{number}")).into()
            };
            let object = if random.chance(20) {
                Literal::from(number as i64).into()
            } else {
                term(random, depth + 1)
            };
            Triple::new(subject, iri(7), object).into()
        }
    }
}

fn decoded(terms: &TransientTerms, id: VertexId) -> Term {
    let mut buffer = TermBuffer::new();
    terms.append(id, &mut buffer).unwrap();
    buffer.get(0).unwrap().into_owned()
}

fn is_of_its_kind(id: VertexId, term: &Term) -> bool {
    id.has_tag(match term {
        Term::NamedNode(_) => Tag::TransientIri,
        Term::Literal(_) => Tag::TransientLiteral,
        Term::Triple(_) => Tag::TransientTriple,
        Term::BlankNode(_) => return false,
    })
}

#[test]
fn terms_have_one_id_for_as_long_as_they_are_named() {
    let mut dropped_ever = 0;
    for seed in seeds::chosen(60, 4_000) {
        let mut random = Random::new(seed);
        let mut table = TransientTerms::new();
        let mut known: BTreeMap<String, (Term, VertexId)> = BTreeMap::new();
        let mut given: BTreeSet<VertexId> = BTreeSet::new();
        for _ in 0..200 {
            let term = term(&mut random, 0);
            let text = term.to_string();
            assert_eq!(
                table.find(term.as_ref()),
                known.get(&text).map(|known| known.1),
                "seed {seed}: {text}"
            );
            let holder = *random.pick(&[HERE, THERE]);
            let id = table.intern(term.as_ref(), holder).unwrap();
            assert!(is_of_its_kind(id, &term), "seed {seed}: {id:?} {text}");
            match known.get(&text) {
                Some(known) => assert_eq!(id, known.1, "seed {seed}: {text}"),
                None => assert!(given.insert(id), "seed {seed}: an id is given once"),
            }
            known.insert(text, (term, id));
            if random.chance(4) {
                let count = known.len();
                known.retain(|_, _| random.chance(50));
                dropped_ever += count - known.len();
                table.sweep(|name| known.values().for_each(|known| name(known.1)));
            }
            assert_eq!(table.len(), known.len(), "seed {seed}");
        }
        for (term, id) in known.values() {
            assert_eq!(&decoded(&table, *id), term, "seed {seed}");
        }
        for id in given {
            let is_known = known.values().any(|known| known.1 == id);
            let mut buffer = TermBuffer::new();
            assert_eq!(table.append(id, &mut buffer).is_ok(), is_known);
        }
        let held = table.bytes_of(HERE) + table.bytes_of(THERE);
        assert!(held <= table.bytes() + ENTRY_BYTES * known.len() as u64);
    }
    assert!(dropped_ever > 1000, "{dropped_ever} were dropped");
}

#[test]
fn what_comes_into_the_dictionary_is_found_there() {
    let mut renamed_ever = 0;
    for seed in seeds::chosen(60, 4_000) {
        let mut random = Random::new(seed);
        let (live, mut table) = (live(), TransientTerms::new());
        live.reserve_blank_nodes(40).unwrap();
        let mut seen = live.counts();
        for _ in 0..30 {
            // Sometimes far more terms come at once than are here.
            for _ in 0..*random.pick(&[0, 1, 1, 30]) {
                let stored = term(&mut random, 0);
                live.intern(&[stored.as_ref()], &mut Vec::new()).unwrap();
            }
            let view = live.view(live.counts());
            let renamed = table.stored_since(&view, seen).unwrap();
            seen = view.counts();
            for (from, to) in &renamed.ids {
                renamed_ever += 1;
                let mut buffer = TermBuffer::new();
                view.terms(&[*to], &mut buffer).unwrap();
                assert_eq!(
                    buffer.get(0),
                    Some(decoded(&table, *from).as_ref()),
                    "seed {seed}"
                );
                assert!(renamed.oldest() <= from.payload());
                assert_eq!((renamed.of(*from), renamed.of(*to)), (*to, *to));
            }
            table.forget(&renamed);
            for _ in 0..random.below(6) {
                let term = term(&mut random, 0);
                let terms = [term.as_ref()];
                let mut ids = Vec::new();
                TransientView::new(&view, &table)
                    .ids(&terms, &mut ids)
                    .unwrap();
                let mut stored = Vec::new();
                view.ids(&terms, &mut stored).unwrap();
                if let [Some(id)] = stored[..] {
                    assert_eq!(table.find(term.as_ref()), None, "seed {seed}: {term}");
                    assert_eq!(ids, [Some(id)], "seed {seed}: {term}");
                } else {
                    let id = table.intern(term.as_ref(), HERE).unwrap();
                    assert!(ids[0].is_none_or(|known| known == id), "seed {seed}");
                }
            }
        }
    }
    assert!(renamed_ever > 100, "{renamed_ever} were renamed");
}

#[test]
fn a_view_reads_stored_and_transient_terms_in_their_order() {
    let live = live();
    let mut ids = Vec::new();
    let stored: Vec<Term> = (0..3).map(|number| iri(number).into()).collect();
    let terms: Vec<TermRef<'_>> = stored.iter().map(Term::as_ref).collect();
    live.intern(&terms, &mut ids).unwrap();
    let mut table = TransientTerms::new();
    let long = Term::from(Literal::new_simple_literal("x".repeat(100)));
    ids.insert(1, table.intern(long.as_ref(), HERE).unwrap());
    ids.push(table.intern(iri(9).as_ref().into(), HERE).unwrap());
    let stored_view = live.view(live.counts());
    let view = TransientView::new(&stored_view, &table);
    let mut read = TermBuffer::new();
    view.terms(&ids, &mut read).unwrap();
    let read: Vec<Term> = read.iter().flatten().map(TermRef::into_owned).collect();
    let expected = [
        iri(0).into(),
        long,
        iri(1).into(),
        iri(2).into(),
        iri(9).into(),
    ];
    assert_eq!(read, expected);
    // A run that is cut by its bytes, within and at the end.
    for (bytes, count) in [(0, 1), (30, 2), (130, 3), (1000, 5)] {
        let mut read = TermBuffer::new();
        let done = view.terms_within(&ids, bytes, &mut read).unwrap();
        assert_eq!((done, read.len()), (count, count), "{bytes} bytes");
    }
}

#[test]
fn memory_is_given_back() {
    let mut table = TransientTerms::new();
    let mut most = 0;
    let kept = table.intern(iri(0).as_ref().into(), HERE).unwrap();
    let mut recent = Vec::new();
    for number in 1..200_000 {
        let id = table.intern(iri(number).as_ref().into(), THERE).unwrap();
        recent.push(id);
        if recent.len() > 1_000 {
            recent.remove(0);
        }
        if number % 100 == 0 && table.is_due(1_000) {
            table.sweep(|name| recent.iter().chain([&kept]).for_each(|id| name(*id)));
        }
        most = most.max(table.bytes());
    }
    assert!(most < 2 << 20, "{most} bytes for a thousand terms");
    assert_eq!(decoded(&table, kept), Term::from(iri(0)));
    table.sweep(|_| {});
    assert!(
        table.is_empty() && table.bytes() < 1024,
        "{}",
        table.bytes()
    );
    assert_eq!(table.bytes_of(THERE), 0);
}

#[test]
fn terms_that_cannot_be_stored_have_no_id() {
    let mut table = TransientTerms::new();
    let mut deep = Term::from(iri(1));
    for _ in 0..=crate::dictionary::TRIPLE_TERM_DEPTH_MAX {
        deep = Triple::new(iri(1), iri(2), deep).into();
    }
    let refused = table.intern(deep.as_ref(), HERE);
    assert!(matches!(refused, Err(GrowError::TooDeep)));
    assert_eq!(table.find(deep.as_ref()), None);
    let blank = BlankNode::new_unchecked("b0");
    assert!(table.intern(blank.as_ref().into(), HERE).is_err());
    assert!(table.is_empty());
}
