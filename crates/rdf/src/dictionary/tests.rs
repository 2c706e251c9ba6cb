//! Tests of the whole dictionary: every term comes back both ways, and no bytes make it panic.

use super::*;
use crate::id::VertexId;
use crate::lexicon::Lexicon;
use crate::terms::TermBuffer;
use memory::{BLOCK_BYTES, BlockSums, Region};
use oxrdf::{BlankNode, Literal, NamedNode, NamedOrBlankNode, Term, TermRef, Triple};
use proptest::prelude::*;

fn iri(text: &str) -> Term {
    NamedNode::new_unchecked(text).into()
}

/// A dictionary of these terms, and the ids that the builder gave them.
fn build(terms: &[Term]) -> (DictionaryFiles, Vec<VertexId>) {
    let mut builder = DictionaryBuilder::new();
    let ids = terms.iter().map(|term| builder.id(term.as_ref())).collect();
    (builder.files().unwrap(), ids)
}

fn decode(dictionary: &Dictionary, ids: &[VertexId]) -> Vec<Option<Term>> {
    let mut buffer = TermBuffer::new();
    dictionary.terms(ids, &mut buffer).unwrap();
    buffer
        .iter()
        .map(|term| term.map(TermRef::into_owned))
        .collect()
}

fn encode(dictionary: &Dictionary, terms: &[Term]) -> Vec<Option<VertexId>> {
    let refs: Vec<TermRef<'_>> = terms.iter().map(Term::as_ref).collect();
    let mut ids = Vec::new();
    dictionary.ids(&refs, &mut ids).unwrap();
    ids
}

/// The term with each blank node's label replaced by the one that the dictionary gives it.
fn relabelled(term: &Term, labels: &mut Vec<BlankNode>) -> Term {
    let relabel = |blank: &BlankNode, labels: &mut Vec<BlankNode>| {
        let known = labels.iter().position(|label| label == blank);
        let number = known.unwrap_or_else(|| {
            labels.push(blank.clone());
            labels.len() - 1
        });
        BlankNode::new_unchecked(format!("b{number}"))
    };
    match term {
        Term::BlankNode(blank) => relabel(blank, labels).into(),
        Term::Triple(triple) => {
            let subject = match &triple.subject {
                NamedOrBlankNode::BlankNode(blank) => relabel(blank, labels).into(),
                NamedOrBlankNode::NamedNode(_) => triple.subject.clone(),
            };
            let object = relabelled(&triple.object, labels);
            Triple::new(subject, triple.predicate.clone(), object).into()
        }
        _ => term.clone(),
    }
}

/// Builds a dictionary of the terms and checks that all come back both ways.
fn round_trip(terms: &[Term]) {
    let (files, ids) = build(terms);
    let dictionary = Dictionary::open(files).unwrap();
    let mut labels = Vec::new();
    let expected: Vec<Term> = terms
        .iter()
        .map(|term| relabelled(term, &mut labels))
        .collect();
    let decoded: Vec<Term> = decode(&dictionary, &ids)
        .into_iter()
        .map(Option::unwrap)
        .collect();
    assert_eq!(decoded, expected);
    let found: Vec<VertexId> = encode(&dictionary, &expected)
        .into_iter()
        .map(Option::unwrap)
        .collect();
    assert_eq!(found, ids);
    let mut faults = Vec::new();
    dictionary.check(|fault| faults.push(fault.to_string()));
    assert_eq!(faults, Vec::<String>::new());
}

fn term() -> impl Strategy<Value = Term> {
    let leaf = prop_oneof![
        "(http://www\\.D[0-9]{1,2}\\.edu/S)?[a-c0-9é]{0,5}".prop_map(|text| iri(&text)),
        "[a-c][0-9]?".prop_map(|label| BlankNode::new_unchecked(label).into()),
        "[0-9]{1,4}@[ab]{0,2}|\\PC{0,6}".prop_map(|text| Literal::new_simple_literal(text).into()),
        ("[a-c0-9]{0,3}", "[a-b]{2}").prop_map(|(text, language)| {
            Literal::new_language_tagged_literal_unchecked(text, language).into()
        }),
        ("-?[0-9.]{0,3}", "integer|decimal|int|date").prop_map(|(text, datatype)| {
            let datatype = format!("http://www.w3.org/2001/XMLSchema#{datatype}");
            Literal::new_typed_literal(text, NamedNode::new_unchecked(datatype)).into()
        }),
    ];
    leaf.prop_recursive(3, 8, 1, |object| {
        ("[a-c]{1,2}", any::<bool>(), "[p-q]", object).prop_map(|(name, blank, p, object)| {
            let subject = if blank {
                NamedOrBlankNode::from(BlankNode::new_unchecked(name))
            } else {
                NamedNode::new_unchecked(name).into()
            };
            Triple::new(subject, NamedNode::new_unchecked(p), object).into()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_terms_come_back(terms in prop::collection::vec(term(), 0..120)) {
        round_trip(&terms);
    }

    #[test]
    fn absent_terms_are_not_found(
        terms in prop::collection::vec(term(), 0..40),
        others in prop::collection::vec(term(), 1..40),
    ) {
        let (files, _) = build(&terms);
        let dictionary = Dictionary::open(files).unwrap();
        for (other, id) in others.iter().zip(encode(&dictionary, &others)) {
            if let Some(id) = id {
                let decoded = decode(&dictionary, &[id]);
                prop_assert_eq!(decoded[0].as_ref(), Some(other));
            } else {
                let mut ids = DictionaryBuilder::new();
                let inline = ids.id(other.as_ref()).tag().is_some_and(crate::Tag::is_inline);
                prop_assert!(!inline);
            }
        }
    }

    #[test]
    fn changed_bytes_never_panic(
        terms in prop::collection::vec(term(), 1..60),
        changes in prop::collection::vec((0..8_usize, any::<prop::sample::Index>(), any::<u8>()), 1..12),
        header in any::<bool>(),
    ) {
        let (files, ids) = build(&terms);
        let damaged = with_changes(files, &changes, header);
        let Ok(dictionary) = Dictionary::open(damaged) else { return Ok(()) };
        use_all(&dictionary, &terms, &ids);
    }
}

/// Asks a dictionary for everything; only panics matter.
fn use_all(dictionary: &Dictionary, terms: &[Term], ids: &[VertexId]) {
    let mut buffer = TermBuffer::new();
    for id in ids {
        let _ = dictionary.terms(&[*id], &mut buffer);
    }
    let _ = dictionary.terms(ids, &mut buffer);
    let refs: Vec<TermRef<'_>> = terms.iter().map(Term::as_ref).collect();
    let _ = dictionary.ids(&refs, &mut Vec::new());
    dictionary.check(|_| {});
}

/// The files with some bytes replaced, those of the headers too if asked for, and still trusted.
fn with_changes(
    files: DictionaryFiles,
    changes: &[(usize, prop::sample::Index, u8)],
    header: bool,
) -> DictionaryFiles {
    let mut number = 0;
    map_files(files, |file| {
        let mut bytes = file.all().unwrap().to_vec();
        let kept = if header { 0 } else { format::HEADER_BYTES };
        for (_, at, byte) in changes.iter().filter(|(target, ..)| *target == number) {
            if bytes.len() > kept {
                let at = kept + at.index(bytes.len() - kept);
                bytes[at] = *byte;
            }
        }
        number += 1;
        CheckedRegion::unchecked("changed", Region::heap(&bytes).unwrap())
    })
}

fn map_files(
    files: DictionaryFiles,
    mut change: impl FnMut(&CheckedRegion) -> CheckedRegion,
) -> DictionaryFiles {
    let mut change = |file: Arc<CheckedRegion>| Arc::new(change(&file));
    let mut text = |files: TextFiles| TextFiles {
        keys: change(files.keys),
        offsets: change(files.offsets),
        index: change(files.index),
    };
    let (iris, literals) = (text(files.iris), text(files.literals));
    let triple_terms = TripleTermFiles {
        records: change(files.triple_terms.records),
        index: change(files.triple_terms.index),
    };
    DictionaryFiles {
        iris,
        literals,
        triple_terms,
        blank_nodes: files.blank_nodes,
    }
}

#[test]
fn long_and_empty_and_repeated() {
    let long = "é".repeat(1 << 19);
    let mut terms = vec![iri(""), iri(&long), Literal::new_simple_literal("").into()];
    terms.push(Literal::new_simple_literal(&long).into());
    terms.push(Literal::new_simple_literal(format!("{long}x")).into());
    terms.extend((0..40).map(|i| iri(&format!("{}{i}", "http://same.prefix/".repeat(i % 5)))));
    terms.extend(terms.clone());
    round_trip(&terms);
}

#[test]
fn many_terms_in_batches() {
    let count = 5000;
    let mut terms: Vec<Term> = (0..count)
        .map(|i| iri(&format!("http://x/{}", i * 7)))
        .collect();
    terms.extend((0..count).map(|i| Literal::new_simple_literal(format!("{i}@mail")).into()));
    round_trip(&terms);
    terms.reverse();
    round_trip(&terms);
}

#[test]
fn unbound_and_unknown_ids() {
    let (files, _) = build(&[iri("a"), BlankNode::new_unchecked("x").into()]);
    let dictionary = Dictionary::open(files).unwrap();
    assert_eq!(decode(&dictionary, &[VertexId::UNBOUND]), [None]);
    for (tag, ordinal) in [
        (Tag::Iri, 1),
        (Tag::Iri, VertexId::PAYLOAD_MAX),
        (Tag::Literal, 0),
        (Tag::TripleTerm, 0),
        (Tag::TripleTerm, VertexId::PAYLOAD_MAX),
        (Tag::Blank, 1),
        (Tag::Boolean, 7),
        (Tag::QueryLocal, 0),
    ] {
        let id = VertexId::new(tag, ordinal);
        let error = dictionary
            .terms(&[id, id], &mut TermBuffer::new())
            .unwrap_err();
        assert!(
            matches!(error, LexiconError::UnknownId(unknown) if unknown == id),
            "{id:?}"
        );
    }
    let blank = |label: &str| BlankNode::new_unchecked(label).into();
    let asked = ["b0", "b1", "b", "b00", "b+0", "c0", "0"].map(blank);
    let found = encode(&dictionary, &asked);
    assert_eq!(found[0], Some(VertexId::new(Tag::Blank, 0)));
    assert!(found[1..].iter().all(Option::is_none));
}

#[test]
fn triple_terms_are_followed_to_a_bounded_depth() {
    let nested = |depth: usize| {
        (0..depth).fold(iri("o"), |object, _| {
            Triple::new(
                NamedNode::new_unchecked("s"),
                NamedNode::new_unchecked("p"),
                object,
            )
            .into()
        })
    };
    round_trip(&[nested(TRIPLE_TERM_DEPTH_MAX)]);
    let (files, ids) = build(&[nested(TRIPLE_TERM_DEPTH_MAX + 1)]);
    let dictionary = Dictionary::open(files).unwrap();
    assert!(dictionary.terms(&ids, &mut TermBuffer::new()).is_err());
    assert_eq!(
        encode(&dictionary, &[nested(TRIPLE_TERM_DEPTH_MAX + 1)]),
        [None]
    );
}

#[test]
fn records_that_hold_themselves_are_refused() {
    let nested = |object| {
        Triple::new(
            NamedNode::new_unchecked("s"),
            NamedNode::new_unchecked("p"),
            object,
        )
        .into()
    };
    let (files, ids) = build(&[nested(iri("o")), nested(nested(iri("o")))]);
    let (own, earlier) = (
        VertexId::new(Tag::TripleTerm, 1),
        VertexId::new(Tag::TripleTerm, 0),
    );
    for (component, id) in [(0, earlier), (1, earlier), (2, own), (2, VertexId::UNBOUND)] {
        let mut bytes = files.triple_terms.records.all().unwrap().to_vec();
        let at = format::HEADER_BYTES + 24 + 8 * component;
        bytes[at..at + 8].copy_from_slice(&id.bits().to_le_bytes());
        let mut changed = files.clone();
        changed.triple_terms.records =
            Arc::new(CheckedRegion::unchecked("f", Region::heap(&bytes).unwrap()));
        let dictionary = Dictionary::open(changed).unwrap();
        assert!(dictionary.terms(&ids[..1], &mut TermBuffer::new()).is_ok());
        let error = dictionary
            .terms(&ids[1..], &mut TermBuffer::new())
            .unwrap_err();
        assert!(
            matches!(error, LexiconError::Damaged { .. }),
            "{component}: {error}"
        );
    }
}

#[test]
fn a_damaged_block_is_named_and_others_are_served() {
    // Keys that share nothing, so that the file of keys has several blocks of a checksum.
    let terms: Vec<Term> = (0..9000_u64)
        .map(|i| iri(&format!("{:016x}", key_hash(&i.to_le_bytes()))))
        .collect();
    let (files, ids) = build(&terms);
    let mut number = 0;
    let files = map_files(files, |file| {
        let mut bytes = file.all().unwrap().to_vec();
        let mut sums = BlockSums::new();
        sums.update(&bytes);
        if number == 0 {
            bytes[BLOCK_BYTES + 7] ^= 1;
        }
        number += 1;
        let region = Region::heap(&bytes).unwrap();
        CheckedRegion::new(format!("file{number}"), region, sums.finish()).unwrap()
    });
    let dictionary = Dictionary::open(files).unwrap();
    assert_eq!(decode(&dictionary, &ids[..100]).len(), 100);
    assert_eq!(decode(&dictionary, &ids[8900..]).len(), 100);
    let error = dictionary.terms(&ids, &mut TermBuffer::new()).unwrap_err();
    let LexiconError::Damaged { file, block } = error else {
        panic!("{error}")
    };
    assert_eq!((&*file, block), ("file1", 1));
    let mut faults = Vec::new();
    dictionary.check(|fault| faults.push(fault));
    assert!(matches!(&faults[..], [DictionaryFault::Damaged(block)] if block.block == 1));
}

#[test]
fn check_finds_what_breaks_the_invariants() {
    let kinds = |keys: &[&[u8]], kind: Tag| {
        let mut writer = StreamWriter::new(kind, Vec::new(), Vec::new()).unwrap();
        for key in keys {
            writer.push(key).unwrap();
        }
        let (key_bytes, offset_bytes, _) = writer.finish().unwrap();
        let mut pairs: Vec<(u64, u64)> = keys.iter().map(|key| key_hash(key)).zip(0..).collect();
        pairs.sort_unstable();
        let mut index = IndexWriter::new(kind, pairs.len() as u64, Vec::new()).unwrap();
        for (hash, ordinal) in pairs {
            index.push(hash, ordinal).unwrap();
        }
        let region =
            |bytes: &[u8]| Arc::new(CheckedRegion::unchecked("f", Region::heap(bytes).unwrap()));
        TextFiles {
            keys: region(&key_bytes),
            offsets: region(&offset_bytes),
            index: region(&index.finish().unwrap().0),
        }
    };
    let (mut files, _) = build(&[]);
    files.iris = kinds(&[b"a", b"b", b"a", b"\xff"], Tag::Iri);
    files.literals = kinds(&[b"\x00ok", b"\x04integer\x0012", b"\x09"], Tag::Literal);
    let dictionary = Dictionary::open(files).unwrap();
    let mut faults = Vec::new();
    dictionary.check(|fault| match fault {
        DictionaryFault::Term { id, kind } => faults.push((id, kind)),
        other => panic!("{other}"),
    });
    let (iri, literal) = (
        |i| VertexId::new(Tag::Iri, i),
        |i| VertexId::new(Tag::Literal, i),
    );
    let expected = [
        (iri(3), FaultKind::NotCanonical),
        (iri(2), FaultKind::FoundAs(iri(0))),
        (literal(1), FaultKind::NotCanonical),
        (literal(2), FaultKind::NotCanonical),
    ];
    assert_eq!(faults, expected);
}

#[test]
fn parts_of_different_dictionaries_are_refused() {
    let (one, _) = build(&[iri("a")]);
    let (two, _) = build(&[iri("a"), iri("b")]);
    let mixed = DictionaryFiles {
        iris: TextFiles {
            index: two.iris.index.clone(),
            ..one.iris.clone()
        },
        ..one.clone()
    };
    assert!(matches!(
        Dictionary::open(mixed),
        Err(OpenError::Format { .. })
    ));
    let mixed = DictionaryFiles {
        iris: TextFiles {
            offsets: two.iris.offsets.clone(),
            ..one.iris.clone()
        },
        ..one.clone()
    };
    assert!(Dictionary::open(mixed).is_err());
    let swapped = DictionaryFiles {
        literals: two.iris,
        ..one
    };
    assert!(Dictionary::open(swapped).is_err());
}

#[test]
fn scans_begin_anywhere_and_batches_find_keys() {
    let terms: Vec<Term> = (0..100).map(|i| iri(&format!("n{i}"))).collect();
    let (files, _) = build(&terms);
    let dictionary = Dictionary::open(files).unwrap();
    let mut scan = dictionary.keys(Tag::Iri, 37);
    let mut batch = KeyBatch::new();
    batch.push(b"absent");
    while let Some(key) = scan.next_key().unwrap() {
        batch.push(key);
    }
    let mut ordinals = Vec::new();
    dictionary.find(Tag::Iri, &batch, &mut ordinals).unwrap();
    let expected: Vec<Option<u64>> = std::iter::once(None).chain((37..100).map(Some)).collect();
    assert_eq!(ordinals, expected);
    assert!(dictionary.keys(Tag::Blank, 0).next_key().unwrap().is_none());
    assert_eq!(dictionary.counts().iris, 100);
}

#[test]
fn every_block_size_reads_back() {
    let keys: Vec<String> = (0..1000)
        .map(|i| format!("http://x/{}/{}", i % 13, i / 3))
        .collect();
    for block_log2 in 0..=6 {
        let mut writer =
            StreamWriter::with_block_log2(Tag::Iri, Vec::new(), Vec::new(), block_log2).unwrap();
        for key in &keys {
            writer.push(key.as_bytes()).unwrap();
        }
        let (key_bytes, offset_bytes, stats) = writer.finish().unwrap();
        assert_eq!(stats.keys_file_bytes, key_bytes.len() as u64);
        assert_eq!(stats.offsets_file_bytes, offset_bytes.len() as u64);
        let region =
            |bytes: &[u8]| Arc::new(CheckedRegion::unchecked("f", Region::heap(bytes).unwrap()));
        let stream = stream::KeyStream::open(
            Tag::Iri,
            format::FileScope::Whole,
            region(&key_bytes),
            region(&offset_bytes),
        )
        .unwrap();
        use table::{KeyCursor, Keys};
        let mut cursor = stream.cursor();
        for at in (0..1000).chain([999, 3, 500, 499, 501, 501]) {
            assert_eq!(cursor.key(at).unwrap(), keys[at as usize].as_bytes());
        }
    }
}

/// The example of `docs/formats/dictionary-layout.md`.
#[test]
fn the_bytes_are_those_that_the_documents_draw() {
    let [p9, p10, qu] =
        ["http://e/p9", "http://e/p10", "http://e/qu"].map(|text| NamedNode::new(text).unwrap());
    let blank = BlankNode::new("b").unwrap();
    let terms = [
        p9.clone().into(),
        p10.into(),
        Literal::new_simple_literal("ann@e.org").into(),
        qu.clone().into(),
        Literal::new_simple_literal("bob@e.org").into(),
        blank.clone().into(),
        Triple::new(p9, qu, blank).into(),
    ];
    let (files, _) = build(&terms);
    let header = |part, kind, parameter, count| {
        let mut bytes = b"somsdict\x01\0".to_vec();
        bytes.extend([part, kind, 8, parameter]);
        bytes.resize(24, 0);
        bytes.push(count);
        bytes.resize(64, 0);
        bytes
    };
    let expect = |file: &CheckedRegion, header: Vec<u8>, content: &[u8]| {
        assert_eq!(
            file.bytes(0..file.len()).unwrap(),
            [&header, content].concat()
        );
    };
    let (iris, literals) = (&files.iris, &files.literals);
    expect(
        &iris.keys,
        header(1, 0, 4, 0),
        b"\x0bhttp://e/p9\0\x0a\x09qu\0\0\0\0\0\0\0",
    );
    let offsets = b"\x40\0\0\0\0\x51\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0";
    expect(&iris.offsets, header(2, 0, 4, 0), offsets);
    expect(
        &literals.keys,
        header(1, 2, 4, 0),
        b"\x0a\0ann@e.org\xc5\x01bob",
    );
    let offsets = b"\x40\0\0\0\0\x50\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0";
    expect(&literals.offsets, header(2, 2, 4, 0), offsets);
    let mut lines = [0; 128];
    (lines[0], lines[64], lines[96]) = (0x8f, 0x78, 1);
    expect(&literals.index, header(3, 2, 1, 2), &lines);
    let mut record = [0; 24];
    (record[8], record[23]) = (2, 0x10);
    expect(&files.triple_terms.records, header(4, 3, 0, 0), &record);
    assert_eq!(files.triple_terms.index.len(), 64 + 128);
    assert_eq!(build(&[]).0.iris.offsets.len(), 72);
    assert_eq!(build(&[]).0.iris.index.len(), 64);
}

#[test]
fn decoding_ends_where_the_text_is_enough() {
    let mut terms: Vec<Term> = (0..100)
        .map(|number| iri(&format!("e:{number:02}")))
        .collect();
    terms.insert(40, Literal::new_simple_literal("x".repeat(1000)).into());
    let (files, ids) = build(&terms);
    let dictionary = Dictionary::open(files).unwrap();
    let within = |bytes, ids: &[VertexId]| {
        let mut buffer = TermBuffer::new();
        let count = dictionary.terms_within(ids, bytes, &mut buffer).unwrap();
        assert_eq!(count, buffer.len());
        let expected = terms[..count].iter().map(|term| Some(term.as_ref()));
        assert!(buffer.iter().eq(expected));
        count
    };
    assert_eq!(within(0, &ids), 1);
    assert_eq!(within(8, &ids), 3);
    assert_eq!(within(40 * 4, &ids), 41);
    assert_eq!(within(usize::MAX, &ids), 101);
    assert_eq!(within(0, &[]), 0);
}
