//! A dictionary that grows: ids and terms agree with a model, for every reader, whatever was added
//! since, while it is added, and over files that were written in between.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use memory::{CheckedRegion, Region};
use oxrdf::{BlankNode, Literal, NamedNode, NamedOrBlankNode, Term, TermRef, Triple};
use proptest::prelude::*;
use rdf::dictionary::{
    Dictionary, DictionaryBuilder, DictionaryFiles, DictionaryView, GrowError, IndexWriter,
    KEY_BYTES_MAX, KeyBatch, LiveDictionary, TRIPLE_TERM_DEPTH_MAX, TermCounts, TextFiles,
    TripleTermFiles, key_hash,
};
use rdf::{Lexicon, LexiconError, Tag, TermBuffer, VertexId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

const KINDS: [Tag; 3] = [Tag::Iri, Tag::Literal, Tag::TripleTerm];

fn iri(text: &str) -> Term {
    NamedNode::new_unchecked(text).into()
}

fn blank(number: u64) -> Term {
    BlankNode::new_unchecked(format!("b{number}")).into()
}

fn nested(depth: usize) -> Term {
    (0..depth).fold(iri("o"), |object, _| {
        let [s, p] = ["s", "p"].map(NamedNode::new_unchecked);
        Triple::new(s, p, object).into()
    })
}

fn live_of(base: Dictionary) -> Arc<LiveDictionary> {
    Arc::new(LiveDictionary::new(Arc::new(base)))
}

fn empty() -> Arc<LiveDictionary> {
    live_of(Dictionary::empty().unwrap())
}

fn refs(terms: &[Term]) -> Vec<TermRef<'_>> {
    terms.iter().map(Term::as_ref).collect()
}

fn intern(live: &LiveDictionary, terms: &[Term]) -> Vec<VertexId> {
    let mut ids = Vec::new();
    live.intern(&refs(terms), &mut ids).unwrap();
    ids
}

fn encode(lexicon: &impl Lexicon, terms: &[Term]) -> Vec<Option<VertexId>> {
    let mut ids = Vec::new();
    lexicon.ids(&refs(terms), &mut ids).unwrap();
    ids
}

fn decode(lexicon: &impl Lexicon, ids: &[VertexId]) -> Vec<Option<Term>> {
    let mut terms = TermBuffer::new();
    lexicon.terms(ids, &mut terms).unwrap();
    terms
        .iter()
        .map(|term| term.map(TermRef::into_owned))
        .collect()
}

/// Whether an id is one of those that a reader of these counts sees.
fn is_seen(id: VertexId, counts: TermCounts) -> bool {
    id.tag().is_some_and(Tag::is_inline) || id.payload() < counts.of(id.tag().unwrap())
}

/// The files of what a view sees, as a checkpoint makes them.
fn merged(view: &DictionaryView) -> DictionaryFiles {
    let region =
        |bytes: &[u8]| Arc::new(CheckedRegion::unchecked("f", Region::heap(bytes).unwrap()));
    let index = |kind| {
        let mut scan = view.keys(kind, 0);
        let mut pairs = Vec::new();
        while let Some(key) = scan.next_key().unwrap() {
            pairs.push((key_hash(key), pairs.len() as u64));
        }
        pairs.sort_unstable();
        let mut writer = IndexWriter::new(kind, pairs.len() as u64, Vec::new()).unwrap();
        for (hash, ordinal) in pairs {
            writer.push(hash, ordinal).unwrap();
        }
        region(&writer.finish().unwrap().0)
    };
    let base = view.base();
    let text = |kind| {
        let mut writer = base.continue_keys(kind, Vec::new(), Vec::new()).unwrap();
        let mut scan = view.keys(kind, base.counts().of(kind));
        while let Some(key) = scan.next_key().unwrap() {
            writer.push(key).unwrap();
        }
        let (keys, offsets, stats) = writer.finish().unwrap();
        assert_eq!(stats.keys_file_bytes, keys.len() as u64);
        assert_eq!(stats.offsets_file_bytes, offsets.len() as u64);
        TextFiles {
            keys: region(&keys),
            offsets: region(&offsets),
            index: index(kind),
        }
    };
    let mut records = base.continue_records(Vec::new()).unwrap();
    let mut scan = view.keys(Tag::TripleTerm, base.counts().triple_terms);
    while let Some(key) = scan.next_key().unwrap() {
        records.push(rdf::key::decode_triple(key).unwrap()).unwrap();
    }
    DictionaryFiles {
        iris: text(Tag::Iri),
        literals: text(Tag::Literal),
        triple_terms: TripleTermFiles {
            records: region(&records.finish().0),
            index: index(Tag::TripleTerm),
        },
        blank_nodes: view.counts().blank_nodes,
    }
}

/// A dictionary of such files.
fn checkpoint(view: &DictionaryView) -> Dictionary {
    let dictionary = Dictionary::open(merged(view)).unwrap();
    let mut faults = Vec::new();
    dictionary.check(|fault| faults.push(fault.to_string()));
    assert_eq!(faults, Vec::<String>::new());
    dictionary
}

fn file_bytes(dictionary: &Dictionary) -> Vec<Vec<u8>> {
    let files = dictionary.files().into_iter();
    files.map(|file| file.all().unwrap().to_vec()).collect()
}

/// Terms whose blank nodes are b0 to b5.
fn term() -> impl Strategy<Value = Term> {
    let leaf = prop_oneof![
        "(http://www\\.D[0-9]{1,2}\\.edu/S)?[a-c0-9é]{0,3}".prop_map(|text| iri(&text)),
        (0..6_u64).prop_map(blank),
        "[0-9]{1,4}@[ab]{0,2}|\\PC{0,6}".prop_map(|text| Literal::new_simple_literal(text).into()),
        ("[a-c0-9]{0,2}", "[a-b]{2}").prop_map(|(text, language)| {
            Literal::new_language_tagged_literal_unchecked(text, language).into()
        }),
        ("-?[0-9.]{0,3}", "integer|decimal|int|date").prop_map(|(text, datatype)| {
            let datatype = format!("http://www.w3.org/2001/XMLSchema#{datatype}");
            Literal::new_typed_literal(text, NamedNode::new_unchecked(datatype)).into()
        }),
    ];
    leaf.prop_recursive(3, 8, 1, |object| {
        ("[a-c]{1,2}", any::<bool>(), "[p-q]", object).prop_map(|(name, is_blank, p, object)| {
            let subject = if is_blank {
                NamedOrBlankNode::from(BlankNode::new_unchecked("b3"))
            } else {
                NamedNode::new_unchecked(name).into()
            };
            Triple::new(subject, NamedNode::new_unchecked(p), object).into()
        })
    })
}

/// What is done next.
#[derive(Clone, Debug)]
enum Step {
    Intern(Vec<Term>),
    /// Keep a view of what there is.
    View,
    /// Write the files of a kept view and go on over them.
    Checkpoint(prop::sample::Index),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop::collection::vec(term(), 0..40).prop_map(Step::Intern),
        2 => Just(Step::View),
        1 => any::<prop::sample::Index>().prop_map(Step::Checkpoint),
    ];
    prop::collection::vec(step, 1..12)
}

/// Checks that a view answers what the model says, for all of its terms and for others.
fn check_view(view: &DictionaryView, model: &HashMap<Term, VertexId>, others: &[Term]) {
    let counts = view.counts();
    let (terms, ids): (Vec<Term>, Vec<VertexId>) =
        model.iter().map(|(term, id)| (term.clone(), *id)).unzip();
    for (id, found) in ids.iter().zip(encode(view, &terms)) {
        assert_eq!(found, is_seen(*id, counts).then_some(*id));
    }
    let (seen, unseen): (Vec<VertexId>, Vec<VertexId>) =
        ids.iter().partition(|id| is_seen(**id, counts));
    for (id, decoded) in seen.iter().zip(decode(view, &seen)) {
        assert_eq!(model.get(&decoded.unwrap()), Some(id));
    }
    for id in unseen {
        let error = view.terms(&[id], &mut TermBuffer::new()).unwrap_err();
        assert!(matches!(error, LexiconError::UnknownId(unknown) if unknown == id));
    }
    for (other, found) in others.iter().zip(encode(view, others)) {
        let known = model.get(other).copied();
        assert_eq!(found, known.filter(|&id| is_seen(id, counts)), "{other}");
    }
    for kind in KINDS {
        let (mut scan, mut batch) = (view.keys(kind, 0), KeyBatch::new());
        while let Some(key) = scan.next_key().unwrap() {
            batch.push(key);
        }
        let mut ordinals = Vec::new();
        view.find(kind, &batch, &mut ordinals).unwrap();
        assert_eq!(scan.ordinal(), counts.of(kind));
        assert!(ordinals.into_iter().eq((0..counts.of(kind)).map(Some)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_reader_sees_what_there_was(
        first in prop::collection::vec(term(), 0..60),
        steps in steps(),
    ) {
        // The base knows b0 to b5 because the builder meets them in this order.
        let mut builder = DictionaryBuilder::new();
        let mut model = HashMap::new();
        for term in (0..6).map(blank).chain(first) {
            let id = builder.id(term.as_ref());
            model.insert(term, id);
        }
        let mut live = live_of(builder.finish().unwrap());
        let mut views = vec![live.view(live.counts())];
        let mut all: Vec<Term> = Vec::new();
        for step in steps {
            match step {
                Step::Intern(terms) => {
                    let before = live.counts();
                    let ids = intern(&live, &terms);
                    prop_assert_eq!(&intern(&live, &terms), &ids);
                    for (term, id) in terms.iter().zip(ids) {
                        let known = model.insert(term.clone(), id);
                        // Known terms keep their ids; a component may have been met within another.
                        prop_assert!(known.is_none_or(|known| known == id));
                        prop_assert!(is_seen(id, live.counts()));
                    }
                    check_view(&live.view(before), &model, &terms);
                    all.extend(terms);
                }
                Step::View => views.push(live.view(live.counts())),
                Step::Checkpoint(at) => {
                    let view = at.get(&views);
                    let counts = view.counts();
                    // Files are written of the newest dictionary, at an older moment.
                    let is_covered = live.base().counts();
                    if KINDS.iter().all(|kind| is_covered.of(*kind) <= counts.of(*kind)) {
                        let base = Arc::new(checkpoint(&live.view(counts)));
                        let rebased = Arc::new(live.rebased(base));
                        prop_assert_eq!(rebased.counts(), live.counts());
                        live = rebased;
                    }
                }
            }
        }
        views.push(live.view(live.counts()));
        for view in &views {
            check_view(view, &model, &all);
            // An old moment over new files answers as it did over the old ones.
            check_view(&live.view(view.counts()), &model, &all);
        }
    }

    #[test]
    fn ids_and_files_are_those_of_a_load(
        terms in prop::collection::vec(term(), 0..150),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 3),
    ) {
        let mut builder = DictionaryBuilder::new();
        let terms: Vec<Term> = (0..6).map(blank).chain(terms).collect();
        let expected: Vec<VertexId> =
            terms.iter().map(|term| builder.id(term.as_ref())).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(terms.len() + 1)).collect();
        cuts.extend([0, terms.len()]);
        cuts.sort_unstable();
        let mut live = empty();
        live.reserve_blank_nodes(6).unwrap();
        let mut ids = Vec::new();
        for cut in cuts.windows(2) {
            ids.extend(intern(&live, &terms[cut[0]..cut[1]]));
            let base = checkpoint(&live.view(live.counts()));
            live = Arc::new(live.rebased(Arc::new(base)));
        }
        prop_assert_eq!(ids, expected);
        let loaded = builder.finish().unwrap();
        prop_assert_eq!(file_bytes(live.base()), file_bytes(&loaded));
        prop_assert_eq!(live.bytes(), 0);
    }
}

#[test]
fn blocks_are_copied_whole_and_begun_ones_are_ended() {
    let name = |number: u64| iri(&format!("http://example.org/thing/{number}"));
    for first in [0, 1, 15, 16, 17, 31, 32, 100] {
        for second in [0, 1, 16, 33] {
            let terms: Vec<Term> = (0..first + second).map(name).collect();
            let mut builder = DictionaryBuilder::new();
            for term in &terms[..first as usize] {
                builder.id(term.as_ref());
            }
            let live = live_of(builder.finish().unwrap());
            intern(&live, &terms);
            let mut builder = DictionaryBuilder::new();
            for term in &terms {
                builder.id(term.as_ref());
            }
            let merged = checkpoint(&live.view(live.counts()));
            assert_eq!(file_bytes(&merged), file_bytes(&builder.finish().unwrap()));
        }
    }
}

#[test]
fn long_keys_and_deep_triple_terms() {
    let long = "é".repeat(1 << 19);
    let deepest = nested(TRIPLE_TERM_DEPTH_MAX);
    let terms = [
        iri(&long),
        Literal::new_simple_literal(&long).into(),
        Literal::new_simple_literal(format!("{long}x")).into(),
        iri(""),
        Literal::new_simple_literal("").into(),
        deepest.clone(),
    ];
    let live = empty();
    let ids = intern(&live, &terms);
    let view = live.view(live.counts());
    assert_eq!(decode(&view, &ids), terms.clone().map(Some));
    assert_eq!(
        encode(&view, &terms),
        ids.iter().copied().map(Some).collect::<Vec<_>>()
    );
    assert!(live.bytes() >= 3 * long.len() as u64);
    let merged = checkpoint(&view);
    assert_eq!(decode(&merged, &ids), terms.clone().map(Some));
    // A triple term of the files within new ones.
    let rebased = Arc::new(live.rebased(Arc::new(merged)));
    let around = |term| -> Term {
        let [s, p] = ["s", "p"].map(NamedNode::new_unchecked);
        Triple::new(s, p, term).into()
    };
    let mixed = [
        around(nested(3)),
        around(around(nested(1))),
        around(deepest),
    ];
    let ids = intern(&rebased, &mixed[..2]);
    assert_eq!(
        ids,
        [4, 3].map(|ordinal| VertexId::new(Tag::TripleTerm, ordinal - 1))
    );
    assert!(matches!(
        rebased.intern(&refs(&mixed), &mut Vec::new()),
        Err(GrowError::TooDeep)
    ));
}

#[test]
fn what_cannot_be_stored_changes_nothing() {
    let live = empty();
    assert_eq!(live.fresh_blank_nodes(3).unwrap(), 0);
    live.reserve_blank_nodes(2).unwrap();
    assert_eq!(live.fresh_blank_nodes(1).unwrap(), 3);
    live.reserve_blank_nodes(10).unwrap();
    let before = live.counts();
    assert_eq!(before.blank_nodes, 10);
    for label in ["b10", "b01", "c1", "b", "b99999999999999999999"] {
        let terms = [iri("new"), BlankNode::new_unchecked(label).into()];
        let mut ids = Vec::new();
        let error = live.intern(&refs(&terms), &mut ids).unwrap_err();
        assert!(
            matches!(&error, GrowError::UnknownBlank { label: named, count: 10 } if named == label)
        );
        assert!(error.to_string().contains(label));
        assert!(ids.is_empty());
    }
    let too_deep = [iri("new"), nested(TRIPLE_TERM_DEPTH_MAX + 1)];
    assert!(matches!(
        live.intern(&refs(&too_deep), &mut Vec::new()),
        Err(GrowError::TooDeep)
    ));
    assert_eq!(live.counts(), before);
    assert_eq!(live.bytes(), 0);
    assert!(live.reserve_blank_nodes(u64::MAX).is_err());
    assert!(live.fresh_blank_nodes(u64::MAX).is_err());
    assert!(live.fresh_blank_nodes(1 << 60).is_err());
    assert_eq!(live.counts(), before);
    assert_eq!(intern(&live, &[blank(9)]), [VertexId::new(Tag::Blank, 9)]);
}

/// Takes 2 GiB of memory.
#[test]
fn terms_longer_than_a_dictionary_holds_are_refused() {
    if std::env::var_os("SOMERSAULT_LONG").is_none() {
        return;
    }
    let live = empty();
    let terms = [iri("new"), iri(&"x".repeat(KEY_BYTES_MAX + 1))];
    let error = live.intern(&refs(&terms), &mut Vec::new()).unwrap_err();
    assert!(matches!(error, GrowError::KeyTooLong { .. }));
    assert_eq!(live.counts(), TermCounts::default());
}

/// A term of every kind for each number; a triple term holds the IRI and the literal.
fn family(number: u64) -> [Term; 4] {
    let name = NamedNode::new_unchecked(format!("http://example.org/{number}"));
    let text = Literal::new_simple_literal(format!("text {number}"));
    let triple = Triple::new(name.clone(), NamedNode::new_unchecked("p"), text.clone());
    [
        name.into(),
        text.into(),
        triple.into(),
        Literal::from(number).into(),
    ]
}

#[test]
fn readers_agree_with_a_writer_at_work() {
    const FAMILIES: u64 = 6000;
    let live = empty();
    let published = Mutex::new((live.view(live.counts()), 0_u64));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..2_u64 {
            let (published, is_done) = (&published, &is_done);
            scope.spawn(move || {
                let mut seed = reader;
                let mut held = published.lock().unwrap().clone();
                let mut rounds = 0;
                while rounds < 20 || !is_done.load(Ordering::Acquire) {
                    rounds += 1;
                    if rounds % 3 == 0 {
                        held = published.lock().unwrap().clone();
                    }
                    let (view, count) = &held;
                    let families: Vec<u64> = (0..40)
                        .map(|_| {
                            seed = key_hash(&seed.to_le_bytes());
                            seed % (count + 20)
                        })
                        .collect();
                    let terms: Vec<Term> = families.iter().copied().flat_map(family).collect();
                    let ids = encode(view, &terms);
                    for (at, (term, id)) in terms.iter().zip(&ids).enumerate() {
                        let is_stored = families[at / 4] < *count || at % 4 == 3;
                        assert_eq!(id.is_some(), is_stored, "{term}");
                    }
                    let known: Vec<VertexId> = ids.iter().flatten().copied().collect();
                    let expected = terms.iter().zip(&ids).filter(|(_, id)| id.is_some());
                    let decoded = decode(view, &known);
                    assert!(decoded.iter().flatten().eq(expected.map(|(term, _)| term)));
                }
            });
        }
        let mut count = 0;
        while count < FAMILIES {
            let next = FAMILIES.min(count + 1 + key_hash(&count.to_le_bytes()) % 200);
            let terms: Vec<Term> = (count..next).flat_map(family).collect();
            intern(&live, &terms);
            count = next;
            *published.lock().unwrap() = (live.view(live.counts()), count);
        }
        is_done.store(true, Ordering::Release);
    });
    assert_eq!(live.counts().triple_terms, FAMILIES);
}

#[test]
fn writers_take_turns() {
    let live = empty();
    let ids: Vec<Vec<VertexId>> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let batches = (0..2000_u64).step_by(50);
                    batches
                        .flat_map(|from| {
                            let terms: Vec<Term> = (from..from + 50).flat_map(family).collect();
                            intern(&live, &terms)
                        })
                        .collect()
                })
            })
            .collect();
        writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .collect()
    });
    assert!(ids.iter().all(|others| *others == ids[0]));
    let counts = live.counts();
    assert_eq!(
        (counts.iris, counts.literals, counts.triple_terms),
        (2001, 2000, 2000)
    );
}
