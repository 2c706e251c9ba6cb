//! Parts against the whole: random terms, placements and shifts.

use crate::support::{Asking, FILES, KINDS, cut, faults, placement, term, whole};
use oxrdf::{Term, TermRef};
use rdf::dictionary::part::{
    HashedPlace, Misplaced, PartDictionary, PartLookupError, cut_in_memory,
};
use rdf::dictionary::{DictionaryView, KeyBatch, key_hash};
use rdf::{Lexicon, LexiconError, Placement, Tag, TermBuffer, VertexId};
use testkit::random::Random;
use testkit::seeds;

const NODES: [u16; 4] = [1, 2, 3, 8];
const SHIFTS: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 14];

/// Those of IRIs and literals.
const TEXT_FILES: std::ops::Range<usize> = 1..13;

/// Cases of one seed: a dictionary, cut for each number of nodes at each shift.
#[test]
fn parts_answer_together_what_the_whole_does() {
    for seed in seeds::chosen(6, 300) {
        let mut random = Random::new(seed);
        let count = *random.pick(&[0, 1, 20, 300, 1500]);
        let terms: Vec<Term> = (0..count).map(|_| term(&mut random)).collect();
        let in_files = random.between(0, terms.len());
        let view = whole(&terms, in_files);
        for nodes in NODES {
            for shift in SHIFTS {
                let placement = placement(&mut random, nodes, shift);
                let what = format!("SOMERSAULT_SEED={seed}: {nodes} nodes, shift {shift}");
                let parts = cut(&view, &placement);
                assert_eq!(faults(&parts), Vec::<String>::new(), "{what}");
                compare(&view, &parts, &mut random, &what);
            }
        }
    }
}

/// Whoever reads another's files is told nothing about them that has to be true.
#[test]
fn files_that_are_not_as_they_were_said_to_be_are_noticed_or_answer_something() {
    let (mut answered, mut noticed) = (0, 0);
    for seed in seeds::chosen(40, 4000) {
        let mut random = Random::new(seed);
        let terms: Vec<Term> = (0..300).map(|_| term(&mut random)).collect();
        let view = whole(&terms, 300);
        let placement = placement(&mut random, 2, 3);
        let parts = cut(&view, &placement);
        let kind = *random.pick(&[Tag::Iri, Tag::Literal]);
        let (place, files) = parts[0].hashed(kind).unwrap();
        let mut said = place.encode();
        let number = random.below(6);
        if random.chance(50) {
            let at = 8 * number + random.below(3);
            said[at] = random.bits() as u8;
        }
        let Ok(place) = HashedPlace::decode(&said) else {
            noticed += 1;
            continue;
        };
        for _ in 0..50 {
            let key = term(&mut random).to_string();
            let key = key.trim_matches(['<', '>', '"']);
            let is_damaged = random.chance(60);
            let found = place.find(key.as_bytes(), &mut |file, range, into| {
                let file = files[file as usize]
                    .bytes(0..files[file as usize].len())
                    .unwrap();
                let bytes = file.get(range.start as usize..range.end as usize);
                into.clear();
                into.extend_from_slice(bytes.ok_or(Misplaced)?);
                if is_damaged && !into.is_empty() {
                    let at = random.below(into.len());
                    into[at] = random.bits() as u8;
                }
                Ok(())
            });
            match found {
                Ok(_) => answered += 1,
                Err(Misplaced) => noticed += 1,
            }
        }
    }
    assert!(answered > 0 && noticed > 0, "{answered}, {noticed}");
}

fn compare(view: &DictionaryView, parts: &[PartDictionary], random: &mut Random, what: &str) {
    let counts = view.counts();
    assert!(parts.iter().all(|part| part.counts() == counts), "{what}");
    let mut ids = Vec::new();
    for kind in KINDS {
        let mut scan = view.keys(kind, 0);
        loop {
            let id = VertexId::new(kind, scan.ordinal());
            let Some(key) = scan.next_key().unwrap() else {
                break;
            };
            compare_id(parts, id, key, what);
            compare_key(parts, kind, key, Some(id), what);
            ids.push(id);
        }
        unknown(parts, VertexId::new(kind, counts.of(kind)), what);
        unknown(parts, VertexId::new(kind, VertexId::PAYLOAD_MAX), what);
        absent(view, parts, kind, random, what);
    }
    ids.extend((0..counts.blank_nodes).map(|number| VertexId::new(Tag::Blank, number)));
    compare_terms(view, parts, &ids, what);
    random.shuffle(&mut ids);
    compare_batches(parts, &ids, random, what);
}

/// The text of an id is at its owner, and there only.
fn compare_id(parts: &[PartDictionary], id: VertexId, key: &[u8], what: &str) {
    for part in parts {
        let mut keys = KeyBatch::new();
        let given = part.keys_of_ids(&[id], usize::MAX, &mut keys);
        let owner = part.placement().owner(id);
        assert_eq!(part.owns_id(id), owner == part.node());
        if part.owns_id(id) {
            assert_eq!(given.unwrap(), 1, "{what}: {id:?}");
            assert_eq!(keys.get(0), key, "{what}: {id:?}");
        } else {
            let error = given.unwrap_err();
            assert!(
                matches!(error, PartLookupError::IdElsewhere { id: said, owner: at, node }
                    if said == id && at == owner && node == part.node()),
                "{what}: {error}"
            );
        }
    }
}

/// The id of a key is known by the owner of its hash, and by no other.
fn compare_key(parts: &[PartDictionary], kind: Tag, key: &[u8], id: Option<VertexId>, what: &str) {
    let mut keys = KeyBatch::new();
    keys.push(key);
    for part in parts {
        let mut ids = Vec::new();
        let given = part.ids_of_keys(kind, &keys, &mut ids);
        let hash = key_hash(key);
        let owner = part.placement().owner_of_hash(hash);
        assert_eq!(part.owns_key(key), owner == part.node());
        if part.owns_key(key) {
            given.unwrap();
            assert_eq!(ids, [id], "{what}: {key:?}");
            if let Some((place, files)) = part.hashed(kind) {
                let place = HashedPlace::decode(&place.encode()).unwrap();
                let found = place.find(key, &mut |file, range, into| {
                    into.clear();
                    into.extend_from_slice(files[file as usize].bytes(range).unwrap());
                    Ok::<(), Misplaced>(())
                });
                let found = found.unwrap().map(|ordinal| VertexId::new(kind, ordinal));
                assert_eq!(found, id, "{what}: {key:?}, read by somebody else");
            }
        } else {
            let error = given.unwrap_err();
            assert!(ids.is_empty(), "{what}");
            assert!(
                matches!(error, PartLookupError::KeyElsewhere { position: 0, hash: said, owner: at, node }
                    if said == hash && at == owner && node == part.node()),
                "{what}: {error}"
            );
        }
    }
}

/// An id beyond the last one is unknown to its owner.
fn unknown(parts: &[PartDictionary], id: VertexId, what: &str) {
    for part in parts {
        let error = part
            .keys_of_ids(&[id], usize::MAX, &mut KeyBatch::new())
            .unwrap_err();
        let fits = match error {
            PartLookupError::Lexicon(LexiconError::UnknownId(said)) => {
                said == id && part.owns_id(id)
            }
            PartLookupError::IdElsewhere { .. } => !part.owns_id(id),
            _ => false,
        };
        assert!(fits, "{what}: {id:?}");
    }
}

/// Keys that the whole does not have are in no part, and keys of other kinds neither.
fn absent(
    view: &DictionaryView,
    parts: &[PartDictionary],
    kind: Tag,
    random: &mut Random,
    what: &str,
) {
    for _ in 0..20 {
        let key = random.bits().to_le_bytes().repeat(3);
        compare_key(parts, kind, &key, None, what);
    }
    for other in KINDS {
        let mut scan = view.keys(other, 0);
        let mut left = 30;
        while let Some(key) = scan.next_key().unwrap().filter(|_| left > 0) {
            left -= 1;
            let mut keys = KeyBatch::new();
            keys.push(key);
            let mut ordinals = Vec::new();
            view.find(kind, &keys, &mut ordinals).unwrap();
            let id = ordinals[0].map(|ordinal| VertexId::new(kind, ordinal));
            compare_key(parts, kind, key, id, what);
        }
    }
}

/// Terms and ids as a cluster asks for them.
fn compare_terms(view: &DictionaryView, parts: &[PartDictionary], ids: &[VertexId], what: &str) {
    let mut terms = TermBuffer::new();
    view.terms(ids, &mut terms).unwrap();
    let asking = Asking { parts };
    for (id, term) in ids.iter().zip(terms.iter()) {
        let term = term.unwrap();
        assert_eq!(asking.term(*id).as_ref(), term, "{what}");
        assert_eq!(asking.id(term), Some(*id), "{what}: {term}");
    }
}

/// Batches of what a part owns, in any order, within bounds of bytes.
fn compare_batches(parts: &[PartDictionary], ids: &[VertexId], random: &mut Random, what: &str) {
    for part in parts {
        let owned: Vec<VertexId> = ids.iter().copied().filter(|id| part.owns_id(*id)).collect();
        let kinds = |kinds: &[Tag]| -> Vec<VertexId> {
            let is_one = |id: &&VertexId| id.tag().is_some_and(|tag| kinds.contains(&tag));
            owned.iter().filter(is_one).copied().collect()
        };
        let with_keys = kinds(&KINDS);
        let mut keys = KeyBatch::new();
        let given = part.keys_of_ids(&with_keys, usize::MAX, &mut keys).unwrap();
        assert_eq!([given, keys.len()], [with_keys.len(); 2], "{what}");
        bounded_keys(part, &with_keys, &keys, random.below(3000), what);
        by_hash(parts, &with_keys, &keys, what);
        let simple = kinds(&[Tag::Iri, Tag::Literal, Tag::Blank]);
        let mut terms = TermBuffer::new();
        part.terms(&simple, usize::MAX, &mut terms).unwrap();
        bounded_terms(part, &simple, &terms, random.below(3000), what);
        let compound = kinds(&[Tag::TripleTerm]);
        let mut components = Vec::new();
        part.components(&compound, &mut components).unwrap();
        let records = (0..keys.len()).filter(|at| with_keys[*at].has_tag(Tag::TripleTerm));
        let records = records.map(|at| rdf::key::decode_triple(keys.get(at)).unwrap());
        assert!(components.into_iter().eq(records), "{what}");
    }
}

/// The first keys of a batch, as many as it takes to pass a number of bytes.
fn bounded_keys(part: &PartDictionary, ids: &[VertexId], all: &KeyBatch, bytes: usize, what: &str) {
    let mut keys = KeyBatch::new();
    let given = part.keys_of_ids(ids, bytes, &mut keys).unwrap();
    assert_eq!(given, keys.len(), "{what}");
    assert!((0..given).all(|at| keys.get(at) == all.get(at)), "{what}");
    let before = keys.key_bytes() - given.checked_sub(1).map_or(0, |last| keys.get(last).len());
    assert!(before <= bytes, "{what}");
    assert!(given == ids.len() || keys.key_bytes() > bytes, "{what}");
}

fn bounded_terms(
    part: &PartDictionary,
    ids: &[VertexId],
    all: &TermBuffer,
    bytes: usize,
    what: &str,
) {
    let mut terms = TermBuffer::new();
    let given = part.terms(ids, bytes, &mut terms).unwrap();
    assert_eq!(given, terms.len(), "{what}");
    let first: Vec<Option<TermRef<'_>>> = all.iter().take(given).collect();
    assert!(terms.iter().eq(first), "{what}");
    assert!(given == ids.len() || terms.text_bytes() > bytes, "{what}");
}

/// Keys that one node has by their ids are found at the nodes that own their hashes, in one batch a node.
fn by_hash(parts: &[PartDictionary], ids: &[VertexId], keys: &KeyBatch, what: &str) {
    for owner in parts {
        for kind in KINDS {
            let mut asked = KeyBatch::new();
            let mut expected = Vec::new();
            for (at, id) in ids.iter().enumerate() {
                if id.has_tag(kind) && owner.owns_key(keys.get(at)) {
                    asked.push(keys.get(at));
                    expected.push(Some(*id));
                }
            }
            let mut found = Vec::new();
            owner.ids_of_keys(kind, &asked, &mut found).unwrap();
            assert_eq!(found, expected, "{what}");
        }
    }
}

#[test]
fn cutting_twice_gives_the_same_bytes() {
    let mut random = Random::new(17);
    let terms: Vec<Term> = (0..800).map(|_| term(&mut random)).collect();
    let placement = Placement::in_turn(3, 4, 7).unwrap();
    let bytes = |view: &DictionaryView| -> Vec<Vec<Vec<u8>>> {
        let parts = cut(view, &placement);
        let of_part = |part: &PartDictionary| -> Vec<Vec<u8>> {
            let files = part.files();
            files
                .iter()
                .map(|file| file.all().unwrap().to_vec())
                .collect()
        };
        parts.iter().map(of_part).collect()
    };
    let view = whole(&terms, 500);
    let first = bytes(&view);
    assert_eq!(first, bytes(&view));
    // IRIs and literals have the same ordinals wherever they are kept: what is in memory is cut as what is in files.
    let from_files = bytes(&whole(&terms, 800));
    for (one, other) in first.iter().zip(&from_files) {
        assert_eq!([one.len(), other.len()], [FILES; 2]);
        assert_eq!(one[TEXT_FILES], other[TEXT_FILES]);
    }
}

#[test]
fn a_view_of_an_earlier_moment_is_cut_with_all_terms_of_the_files() {
    let mut random = Random::new(5);
    let terms: Vec<Term> = (0..60).map(|_| term(&mut random)).collect();
    let view = whole(&terms, 60);
    let none = view.live().view(rdf::dictionary::TermCounts::default());
    let placement = Placement::in_turn(2, 1, 2).unwrap();
    let bytes = |view: &DictionaryView| -> Vec<Vec<u8>> {
        let files = cut_in_memory(view, &placement).unwrap();
        let files = files.iter().map(|files| files.iris.hashed_keys.all());
        files.map(|bytes| bytes.unwrap().to_vec()).collect()
    };
    assert_eq!(bytes(&view), bytes(&none));
}
