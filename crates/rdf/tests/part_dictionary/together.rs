//! Parts that do not belong together are refused or reported, and what a part does not have it says.

use crate::support::{
    FILES, believed, cut, faults, files_mut, opened, term, view_of, whole, with_file,
};
use oxrdf::{BlankNode, Literal, NamedNode, Term, Triple};
use rdf::dictionary::part::{
    PartDictionary, PartDictionaryFiles, PartFault, PartLookupError, check_parts, cut_in_memory,
};
use rdf::dictionary::{
    Dictionary, DictionaryBuilder, DictionaryView, FormatProblem, KeyBatch, OpenError,
    TRIPLE_TERM_DEPTH_MAX,
};
use rdf::{LexiconError, Placement, Tag, TermBuffer, VertexId, inline};
use testkit::random::Random;

fn iri(text: &str) -> Term {
    NamedNode::new_unchecked(text).into()
}

fn numbered(prefix: &str, count: usize) -> DictionaryView {
    let terms: Vec<Term> = (0..count)
        .map(|number| iri(&format!("{prefix}{number}")))
        .collect();
    whole(&terms, count)
}

fn two_nodes() -> Placement {
    Placement::in_turn(2, 1, 4).unwrap()
}

#[test]
fn no_file_stands_for_another_one() {
    let mut random = Random::new(2);
    let terms: Vec<Term> = (0..200).map(|_| term(&mut random)).collect();
    let mut parts = cut_in_memory(&whole(&terms, 200), &two_nodes()).unwrap();
    let other = files_mut(&mut parts[1]).map(|file| file.clone());
    let own = files_mut(&mut parts[0]).map(|file| file.clone());
    for at in 0..FILES {
        for from in 0..FILES {
            for (files, is_own) in [(&own, true), (&other, false)] {
                // Heads say themselves whose they are; that of another node makes all other files foreign.
                if is_own && at == from {
                    continue;
                }
                let file = believed(files[from].all().unwrap());
                let mixed = with_file(&parts[0], at, file);
                let error = PartDictionary::open(mixed).unwrap_err();
                assert!(
                    matches!(error, OpenError::Format { .. }),
                    "{at}, {from}: {error}"
                );
            }
        }
    }
}

#[test]
fn files_of_a_part_are_no_dictionary_and_the_other_way_round() {
    let mut builder = DictionaryBuilder::new();
    builder.id(iri("a").as_ref());
    let files = builder.files().unwrap();
    let view = view_of(Dictionary::open(files.clone()).unwrap());
    let part = cut_in_memory(&view, &Placement::whole()).unwrap().remove(0);
    let mut mixed = files.clone();
    mixed.iris.keys = part.iris.keys.clone();
    assert!(matches!(
        Dictionary::open(mixed),
        Err(OpenError::Format { .. })
    ));
    let mixed = PartDictionaryFiles {
        iri_index: files.iris.index,
        ..part
    };
    assert!(matches!(
        PartDictionary::open(mixed),
        Err(OpenError::Format { .. })
    ));
}

#[test]
fn parts_that_are_missing_doubled_or_foreign_are_named() {
    let view = numbered("http://e/", 90);
    let parts = cut(&view, &two_nodes());
    let [one, two] = &parts[..] else { panic!() };
    let named = |parts: &[&PartDictionary]| {
        let mut faults = Vec::new();
        check_parts(parts, |fault| faults.push(fault));
        faults
    };
    assert!(named(&[one, two]).is_empty() && named(&[two, one]).is_empty());
    assert!(matches!(
        named(&[one])[..],
        [PartFault::Parts { node: 1, parts: 0 }]
    ));
    assert!(matches!(
        named(&[one, two, two])[..],
        [PartFault::Parts { node: 1, parts: 2 }]
    ));
    let elsewhere = cut(&view, &Placement::in_turn(2, 2, 4).unwrap());
    assert!(matches!(
        named(&[one, &elsewhere[1]])[..],
        [PartFault::Foreign { node: 1, other: 0 }]
    ));
    let larger = cut(&numbered("http://e/", 91), &two_nodes());
    assert!(matches!(
        named(&[one, &larger[1]])[..],
        [PartFault::Foreign { node: 1, other: 0 }]
    ));
    // As many terms by the same placement, but others: only the keys tell.
    let others = cut(&numbered("http://f/", 90), &two_nodes());
    let found = named(&[one, &others[1]]);
    assert!(
        found
            .iter()
            .any(|fault| matches!(fault, PartFault::Term { node: 0, .. }))
    );
    assert!(
        found
            .iter()
            .any(|fault| matches!(fault, PartFault::Term { node: 1, .. }))
    );
    let [kept, changed] = [one, &others[1]].map(|part| part.counts_by_hash().iris);
    assert!(found.iter().any(|fault| matches!(
        fault,
        PartFault::Count { kind: Tag::Iri, wanted: 90, found } if *found == kept + changed
    )));
}

#[test]
fn files_of_other_counts_are_refused() {
    let placement = two_nodes();
    let files = cut_in_memory(&numbered("http://e/", 90), &placement)
        .unwrap()
        .remove(0);
    let mut larger = cut_in_memory(&numbered("http://e/", 97), &placement)
        .unwrap()
        .remove(0);
    let larger = files_mut(&mut larger).map(|file| file.clone());
    // Keys by id with their offsets, keys by hash with theirs, ordinals, index.
    for numbers in [&[1, 2][..], &[3, 4], &[5], &[6], &[3, 4, 5]] {
        let mut mixed = files.clone();
        for &number in numbers {
            *files_mut(&mut mixed)[number] = larger[number].clone();
        }
        let error = PartDictionary::open(mixed).unwrap_err();
        let fits = matches!(
            error,
            OpenError::Format {
                problem: FormatProblem::Mismatch,
                ..
            }
        );
        assert!(fits, "{numbers:?}: {error}");
    }
}

/// Faults of the two parts of some IRIs after a change of one file of the first one.
fn after(number: usize, change: impl FnOnce(&mut [u8])) -> Vec<String> {
    let mut files = cut_in_memory(&numbered("http://e/", 90), &two_nodes()).unwrap();
    let mut bytes = files_mut(&mut files[0])[number].all().unwrap().to_vec();
    change(&mut bytes);
    files[0] = with_file(&files[0], number, believed(&bytes));
    faults(&opened(&files))
}

#[test]
fn a_check_finds_what_breaks_the_invariants() {
    let has = |faults: &[String], what: &str| {
        assert!(
            faults.iter().any(|fault| fault.contains(what)),
            "{what}: {faults:?}"
        );
    };
    // The first key by id, "http://e/0": other keys of its block change with it.
    has(
        &after(1, |bytes| bytes[65] = b'X'),
        "is not found by the index",
    );
    has(
        &after(1, |bytes| bytes[65] = 0xff),
        "has a key that is not canonical",
    );
    // Keys by hash.
    has(
        &after(3, |bytes| bytes[65] = b'X'),
        "key 0 by hash of the kind Iri is not found by the index",
    );
    has(
        &after(3, |bytes| (65..70).for_each(|at| bytes[at] = b'X')),
        "belongs to node 1",
    );
    // Ordinals of one byte: the second one before the first one, then one that is missing.
    let swapped = after(5, |bytes| bytes.swap(64, 65));
    has(
        &swapped,
        "has an ordinal that does not follow the one before",
    );
    has(&swapped, "is found under Iri:");
    // An entry of the index that is gone: the line of its home is searched for it.
    let gone = after(6, |bytes| bytes[64] ^= 0x80);
    has(&gone, "is not found by the index where it stands");
}

#[test]
fn what_is_nested_too_deep_is_reported() {
    let nested = |depth: usize| {
        (0..depth).fold(iri("o"), |object, _| {
            let [s, p] = ["s", "p"].map(NamedNode::new_unchecked);
            Triple::new(s, p, object).into()
        })
    };
    for (depth, count) in [(TRIPLE_TERM_DEPTH_MAX, 0), (TRIPLE_TERM_DEPTH_MAX + 2, 2)] {
        let mut builder = DictionaryBuilder::new();
        builder.id(nested(depth).as_ref());
        let parts = cut(&view_of(builder.finish().unwrap()), &two_nodes());
        assert_eq!(faults(&parts).len(), count, "{depth}");
    }
}

#[test]
fn what_has_no_text_is_answered_by_everybody_or_refused() {
    let terms = [iri("a"), BlankNode::new_unchecked("x0").into(), iri("b")];
    let view = whole(&terms, 3);
    let parts = cut(&view, &Placement::in_turn(2, 0, 2).unwrap());
    let number = inline::encode(Literal::from(7).as_ref()).unwrap();
    let blank = VertexId::new(Tag::Blank, 0);
    for part in &parts {
        let mut buffer = TermBuffer::new();
        let asked = [number, blank, VertexId::UNBOUND];
        assert_eq!(part.terms(&asked, usize::MAX, &mut buffer).unwrap(), 3);
        let answers: Vec<Option<Term>> = buffer
            .iter()
            .map(|term| term.map(oxrdf::TermRef::into_owned))
            .collect();
        let expected = [
            Some(Literal::from(7).into()),
            Some(BlankNode::new_unchecked("b0").into()),
            None,
        ];
        assert_eq!(answers, expected);
        for id in [
            number,
            blank,
            VertexId::UNBOUND,
            VertexId::new(Tag::QueryLocal, 0),
        ] {
            let error = part
                .keys_of_ids(&[id], usize::MAX, &mut KeyBatch::new())
                .unwrap_err();
            assert!(
                matches!(error, PartLookupError::NoText(said) if said == id),
                "{error}"
            );
            let error = part.components(&[id], &mut Vec::new()).unwrap_err();
            assert!(
                matches!(error, PartLookupError::NoText(said) if said == id),
                "{error}"
            );
        }
        for id in [
            VertexId::new(Tag::Blank, part.counts().blank_nodes),
            VertexId::new(Tag::QueryLocal, 0),
            VertexId::new(Tag::Boolean, 7),
        ] {
            let error = part
                .terms(&[id], usize::MAX, &mut TermBuffer::new())
                .unwrap_err();
            assert!(
                matches!(error, PartLookupError::Lexicon(LexiconError::UnknownId(said)) if said == id),
                "{error}"
            );
        }
        for kind in [Tag::Blank, Tag::Integer, Tag::QueryLocal] {
            let error = part
                .ids_of_keys(kind, &KeyBatch::new(), &mut Vec::new())
                .unwrap_err();
            assert!(
                matches!(error, PartLookupError::NoKeys(said) if said == kind),
                "{error}"
            );
        }
    }
    let own = VertexId::new(Tag::Iri, 0);
    let error = parts[0].components(&[own], &mut Vec::new()).unwrap_err();
    assert!(
        matches!(error, PartLookupError::Simple(said) if said == own),
        "{error}"
    );
}

#[test]
fn a_triple_term_is_not_decoded_by_a_part() {
    let [s, p] = ["s", "p"].map(NamedNode::new_unchecked);
    let parts = cut(
        &whole(&[Triple::new(s, p, iri("o")).into()], 1),
        &Placement::whole(),
    );
    let id = VertexId::new(Tag::TripleTerm, 0);
    let error = parts[0]
        .terms(&[id], usize::MAX, &mut TermBuffer::new())
        .unwrap_err();
    assert!(
        matches!(error, PartLookupError::Compound(said) if said == id),
        "{error}"
    );
    let mut components = Vec::new();
    parts[0].components(&[id], &mut components).unwrap();
    let iri = |ordinal| VertexId::new(Tag::Iri, ordinal);
    assert_eq!(components, [[iri(0), iri(1), iri(2)]]);
}

#[test]
fn a_node_that_owns_nothing_has_a_part_that_says_so() {
    let view = numbered("http://e/", 40);
    let placement = Placement::new(3, 14, vec![1]).unwrap();
    let parts = cut(&view, &placement);
    assert_eq!(faults(&parts), Vec::<String>::new());
    let counted = |part: &PartDictionary| [part.counts_by_id().iris, part.counts_by_hash().iris];
    let counts: Vec<[u64; 2]> = parts.iter().map(counted).collect();
    assert_eq!(counts, [[0, 0], [40, 40], [0, 0]]);
    let id = VertexId::new(Tag::Iri, 3);
    let error = parts[2]
        .terms(&[id], usize::MAX, &mut TermBuffer::new())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the text of Iri:3 is at node 1, not at node 2"
    );
}

/// What `docs/formats/dictionary-layout.md` says of a part.
#[test]
fn the_bytes_are_those_that_the_documents_draw() {
    let view = whole(
        &[
            iri("a"),
            iri("b"),
            BlankNode::new_unchecked("x0").into(),
            iri("c"),
        ],
        4,
    );
    let placement = Placement::new(2, 1, vec![1, 0, 1]).unwrap();
    let mut parts = cut_in_memory(&view, &placement).unwrap();
    let header = |part, kind, parameter, scope: u8, count| {
        let mut bytes = b"somsdict\x01\0".to_vec();
        bytes.extend([part, kind, 8, parameter, scope, 0]);
        bytes.resize(24, 0);
        bytes.push(count);
        bytes.resize(64, 0);
        bytes
    };
    let number = |number: u64| number.to_le_bytes();
    let head = [
        &header(5, 0, 0, 0, 0)[..],
        &[1, 3, 41, 0, 0, 13].map(number).concat(),
        &[1, 2, 0, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0],
    ];
    assert_eq!(parts[1].head.all().unwrap(), head.concat());
    // Ordinals 0 and 1 are of slot 0, so of node 1, and 2 of slot 1.
    let keys = |text: &[u8]| [&header(1, 0, 4, 3, 0)[..], text].concat();
    assert_eq!(
        parts[1].iris.keys.all().unwrap(),
        keys(b"\x01a\x09\0b\0\0\0")
    );
    let opened = opened(&parts);
    let by_hash: Vec<u8> = (0..3)
        .zip([b"a", b"b", b"c"])
        .filter_map(|(ordinal, key)| opened[1].owns_key(key).then_some(ordinal))
        .collect();
    let count = by_hash.len();
    let mut ordinals = header(6, 0, 1, 4, 0);
    ordinals.extend(by_hash);
    ordinals.resize(72.min(64 + 8 * count), 0);
    ordinals.extend(number(count as u64));
    assert_eq!(parts[1].iris.ordinals.all().unwrap(), ordinals);
    let index = files_mut(&mut parts[1])[6].all().unwrap()[..64].to_vec();
    assert_eq!(index, header(3, 0, 1, 4, count as u8));
}
