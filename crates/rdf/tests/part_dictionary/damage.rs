//! Damaged bytes: an error or the right answer, never a panic and never another answer.

use crate::support::{
    FILES, KINDS, believed, cut, faults, files_mut, opened, term, view_of, whole, with_file,
};
use memory::{BLOCK_BYTES, BlockSums, CheckedRegion, Region};
use oxrdf::{NamedNode, Term};
use rdf::dictionary::part::{
    CutError, PartDictionary, PartDictionaryFiles, PartLookupError, cut_in_memory,
};
use rdf::dictionary::{
    Dictionary, DictionaryBuilder, DictionaryFiles, DictionaryView, KeyBatch, MergeError, key_hash,
};
use rdf::{LexiconError, Placement, Tag, TermBuffer, VertexId};
use std::sync::Arc;
use testkit::random::Random;

/// What a part must answer: what it has by id, and what it has by hash.
struct Answers {
    by_id: Vec<(VertexId, Vec<u8>)>,
    by_hash: Vec<(VertexId, Vec<u8>)>,
}

impl Answers {
    fn of(view: &DictionaryView, part: &PartDictionary) -> Answers {
        let (mut by_id, mut by_hash) = (Vec::new(), Vec::new());
        for kind in KINDS {
            let mut scan = view.keys(kind, 0);
            loop {
                let id = VertexId::new(kind, scan.ordinal());
                let Some(key) = scan.next_key().unwrap() else {
                    break;
                };
                if part.owns_id(id) {
                    by_id.push((id, key.to_vec()));
                }
                if part.owns_key(key) {
                    by_hash.push((id, key.to_vec()));
                }
            }
        }
        Answers { by_id, by_hash }
    }

    /// Asks a part for all of it, one after another. What is answered is right. Gives how many errors there were, all of
    /// which name damage.
    fn ask(&self, part: &PartDictionary) -> usize {
        let mut errors = 0;
        for (id, key) in &self.by_id {
            let mut keys = KeyBatch::new();
            match part.keys_of_ids(&[*id], usize::MAX, &mut keys) {
                Ok(_) => assert_eq!(keys.get(0), key),
                Err(error) => errors += damage(&error),
            }
        }
        for (id, key) in &self.by_hash {
            let mut keys = KeyBatch::new();
            keys.push(key);
            let mut ids = Vec::new();
            match part.ids_of_keys(id.tag().unwrap(), &keys, &mut ids) {
                Ok(()) => assert_eq!(ids, [Some(*id)]),
                Err(error) => errors += damage(&error),
            }
        }
        errors
    }
}

fn damage(error: &PartLookupError) -> usize {
    assert!(
        matches!(
            error,
            PartLookupError::Lexicon(LexiconError::Damaged { .. })
        ),
        "{error}"
    );
    1
}

/// The file with one byte changed, under the sums that it had before.
fn damaged(file: &CheckedRegion, at: usize) -> CheckedRegion {
    let mut bytes = file.all().unwrap().to_vec();
    let mut sums = BlockSums::new();
    sums.update(&bytes);
    bytes[at] ^= 0x11;
    CheckedRegion::new("damaged", Region::heap(&bytes).unwrap(), sums.finish()).unwrap()
}

fn small() -> (DictionaryView, Vec<PartDictionaryFiles>) {
    let mut random = Random::new(3);
    let terms: Vec<Term> = (0..260).map(|_| term(&mut random)).collect();
    let view = whole(&terms, 200);
    let placement = Placement::new(3, 2, vec![0, 1, 1, 0, 2]).unwrap();
    let files = cut_in_memory(&view, &placement).unwrap();
    (view, files)
}

#[test]
fn damage_anywhere_in_any_file_is_an_error_or_changes_nothing() {
    let (view, mut files) = small();
    for files in &mut files {
        let answers = Answers::of(&view, &PartDictionary::open(files.clone()).unwrap());
        for number in 0..FILES {
            let file = files_mut(files)[number].clone();
            for at in (0..file.len() as usize).step_by(64) {
                let changed = with_file(files, number, damaged(&file, at));
                // Each file is one block, so what is damaged is noticed when it is opened or asked.
                if let Ok(part) = PartDictionary::open(changed) {
                    assert!(answers.ask(&part) > 0, "file {number}, byte {at}");
                }
            }
        }
    }
}

/// IRIs that share nothing, so that files have several blocks of a checksum.
fn scattered() -> DictionaryView {
    let mut random = Random::new(8);
    let terms = (0..20_000).map(|_| format!("{:016x}", random.bits()));
    let terms: Vec<Term> = terms
        .map(|text| NamedNode::new_unchecked(text).into())
        .collect();
    whole(&terms, terms.len())
}

#[test]
fn other_blocks_of_a_damaged_file_are_served() {
    // Keys that share nothing, so that files have several blocks of a checksum.
    let mut random = Random::new(8);
    let terms = (0..20_000).map(|_| format!("{:016x}", random.bits()));
    let terms: Vec<Term> = terms
        .map(|text| NamedNode::new_unchecked(text).into())
        .collect();
    let view = whole(&terms, terms.len());
    let placement = Placement::in_turn(2, 5, 4).unwrap();
    let mut files = cut_in_memory(&view, &placement).unwrap().remove(0);
    let answers = Answers::of(&view, &PartDictionary::open(files.clone()).unwrap());
    let all = answers.by_id.len() + answers.by_hash.len();
    for number in 1..7 {
        let file = files_mut(&mut files)[number].clone();
        let mut served = 0;
        for at in (64..file.len() as usize).step_by(40_000) {
            let changed = with_file(&files, number, damaged(&file, at));
            let Ok(part) = PartDictionary::open(changed) else {
                continue;
            };
            let errors = answers.ask(&part);
            assert!(errors > 0, "file {number}, byte {at}");
            served = served.max(all - errors);
        }
        assert!(served > 0 || file.len() < 1 << 17, "file {number}");
    }
}

#[test]
fn bytes_that_are_believed_never_panic() {
    let (view, mut files) = small();
    let answers: Vec<Answers> = files
        .iter()
        .map(|files| Answers::of(&view, &PartDictionary::open(files.clone()).unwrap()))
        .collect();
    let mut random = Random::new(1);
    let mut opened = 0;
    for node in 0..files.len() {
        for number in 0..FILES {
            let file = files_mut(&mut files[node])[number].clone();
            for at in (0..file.len() as usize).step_by(8) {
                let mut bytes = file.all().unwrap().to_vec();
                for _ in 0..random.between(1, 3) {
                    let at = (at + random.below(8)).min(bytes.len() - 1);
                    bytes[at] = random.bits() as u8;
                }
                let changed = with_file(&files[node], number, believed(&bytes));
                if let Ok(part) = PartDictionary::open(changed) {
                    opened += 1;
                    use_all(&part, &answers[node]);
                }
            }
            for length in [
                0,
                1,
                63,
                64,
                file.len() as usize - 1,
                file.len() as usize + 8,
            ] {
                let mut bytes = file.all().unwrap().to_vec();
                bytes.resize(length, 0);
                if let Ok(part) =
                    PartDictionary::open(with_file(&files[node], number, believed(&bytes)))
                {
                    use_all(&part, &answers[node]);
                }
            }
        }
    }
    assert!(
        opened > 1000,
        "most bytes are not looked at when a part is opened: {opened}"
    );
}

/// Asks a part for everything; only panics matter.
fn use_all(part: &PartDictionary, answers: &Answers) {
    let ids: Vec<VertexId> = answers.by_id.iter().map(|(id, _)| *id).collect();
    for id in &ids {
        let _ = part.keys_of_ids(&[*id], usize::MAX, &mut KeyBatch::new());
        let _ = part.terms(&[*id], usize::MAX, &mut TermBuffer::new());
        let _ = part.components(&[*id], &mut Vec::new());
    }
    let _ = part.keys_of_ids(&ids, usize::MAX, &mut KeyBatch::new());
    for kind in KINDS {
        let mut keys = KeyBatch::new();
        let of_kind = answers.by_hash.iter().filter(|(id, _)| id.has_tag(kind));
        of_kind.for_each(|(_, key)| keys.push(key));
        let _ = part.ids_of_keys(kind, &keys, &mut Vec::new());
    }
    part.check(|_| {});
}

#[test]
fn a_check_of_parts_survives_bytes_that_are_believed() {
    let (_, mut files) = small();
    let whole: Vec<PartDictionary> = files
        .iter()
        .map(|files| PartDictionary::open(files.clone()).unwrap())
        .collect();
    assert_eq!(faults(&whole), Vec::<String>::new());
    let mut random = Random::new(9);
    let mut found = 0;
    for _ in 0..300 {
        let mut parts = Vec::new();
        for part in &mut files {
            let number = random.below(FILES);
            let mut bytes = files_mut(part)[number].all().unwrap().to_vec();
            let at = random.below(bytes.len());
            bytes[at] = bytes[at].wrapping_add(1);
            parts.extend(PartDictionary::open(with_file(
                part,
                number,
                believed(&bytes),
            )));
        }
        found += usize::from(!faults(&parts).is_empty());
    }
    assert!(found > 250, "{found}");
}

/// The files of a whole dictionary of these terms.
fn files_of(terms: &[Term]) -> DictionaryFiles {
    let mut builder = DictionaryBuilder::new();
    for term in terms {
        builder.id(term.as_ref());
    }
    builder.files().unwrap()
}

#[test]
fn a_damaged_whole_is_not_cut() {
    let terms = (0..9000_u64).map(|number| format!("{:016x}", key_hash(&number.to_le_bytes())));
    let terms: Vec<Term> = terms
        .map(|text| NamedNode::new_unchecked(text).into())
        .collect();
    let mut files = files_of(&terms);
    files.iris.keys = Arc::new(damaged(&files.iris.keys, BLOCK_BYTES + 7));
    let view = view_of(Dictionary::open(files).unwrap());
    let error = cut_in_memory(&view, &Placement::in_turn(2, 4, 2).unwrap()).unwrap_err();
    assert!(
        matches!(
            error,
            CutError::Merge(MergeError::Lexicon(LexiconError::Damaged { block: 1, .. }))
        ),
        "{error}"
    );
}

/// A triple term whose subject is no term at all is cut as it stands, refused by its owner and reported by a check.
#[test]
fn records_that_are_nonsense_are_cut_as_they_stand() {
    let mut random = Random::new(4);
    let terms: Vec<Term> = (0..300).map(|_| term(&mut random)).collect();
    let mut files = files_of(&terms);
    let mut bytes = files.triple_terms.records.all().unwrap().to_vec();
    bytes[64..72].fill(0xff);
    files.triple_terms.records = Arc::new(believed(&bytes));
    let view = view_of(Dictionary::open(files).unwrap());
    let parts = cut(&view, &Placement::in_turn(2, 0, 2).unwrap());
    let faults = faults(&parts);
    assert!(
        faults
            .iter()
            .any(|fault| fault.contains("term TripleTerm:0 has a key that is not canonical")),
        "{faults:?}"
    );
    let id = VertexId::new(Tag::TripleTerm, 0);
    let owner = parts.iter().find(|part| part.owns_id(id)).unwrap();
    damage(&owner.components(&[id], &mut Vec::new()).unwrap_err());
    damage(
        &owner
            .keys_of_ids(&[id], usize::MAX, &mut KeyBatch::new())
            .unwrap_err(),
    );
}

#[test]
fn a_check_names_damaged_blocks() {
    let view = scattered();
    let mut files = cut_in_memory(&view, &Placement::in_turn(2, 5, 4).unwrap()).unwrap();
    let file = files_mut(&mut files[1])[3].clone();
    files[1] = with_file(&files[1], 3, damaged(&file, BLOCK_BYTES + 1));
    let found = faults(&opened(&files));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("node 1: dictionary file damaged: block 1 "),
        "{found:?}"
    );
}
