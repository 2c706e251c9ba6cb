//! Models of readers beside one writer, checked by `loom`: every order of steps with few preemptions, and every value
//! that a load may give under its memory order.
//!
//! | model | threads | they do | invariant |
//! |---|---|---|---|
//! | `a_reader_beside_a_writer` | 2 | intern two IRIs over none; count, decode, look up | what was counted is there under its text and its id, and nothing else is |
//! | `a_reader_while_parts_are_replaced` | 2 | the same over one that there was: a part of the table and a chunk of the arena are full | the same |
//! | `a_triple_term_and_what_it_holds` | 2 | intern a triple term; count, decode | what a counted triple term holds is counted |
//! | `two_writers` | 2 | intern the same IRIs, in either order | a term has one id |
//! | `numbers_of_blank_nodes` | 2 | reserve numbers | each is given once |
//!
//! Planted and found: numbers that are stored without publishing what was written before them; a lock for two.
//!
//! The writer is the thread that begins, because `loom` remembers only the last access to a number: a load of a reader,
//! a load of the writer, a store of the writer are one order to it. In the other direction it sees what depends on what.
//!
//! In models a part of the table has room for one slot at first and a chunk of the arena two words ([`sized`]).
//! Run by `cargo xtask model`; `SOMERSAULT_LONG=1` allows one preemption more.
//!
//! [`sized`]: crate::sync::sized

use super::{Dictionary, DictionaryBuilder, DictionaryView, LiveDictionary};
use crate::sync::model::{Fault, with_fault};
use crate::{Lexicon, Tag, TermBuffer, VertexId};
use loom::thread;
use oxrdf::{NamedNode, Term, TermRef, Triple};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often a thread may be interrupted where it could go on (count). Two find all faults that are planted here.
const PREEMPTIONS: usize = 2;
/// Steps of one execution (count): more than any of these takes.
const STEPS_MAX: usize = 5_000;
/// A model whose threads meet has at least so many orders (count).
const ORDERS_MIN: usize = 10;
/// Of such a length that the third one lies across the border of two chunks of an arena.
const KEYS: [&str; 4] = ["k:zero00", "k:one", "k:two0000", "k:three"];

/// Runs a model in every order, and says how many there were.
fn check(name: &str, model: impl Fn(&Arc<Dictionary>) + Send + Sync + 'static) {
    let runs = orders_of(model);
    println!("model {name}: {runs} orders");
    assert!(runs >= ORDERS_MIN, "{name}: {runs} orders are none");
}

/// Runs a model in every order; gives how many there were.
fn orders_of(model: impl Fn(&Arc<Dictionary>) + Send + Sync + 'static) -> usize {
    let base = Arc::new(DictionaryBuilder::new().finish().unwrap());
    let is_long = std::env::var_os("SOMERSAULT_LONG").is_some();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS + usize::from(is_long));
    builder.max_branches = STEPS_MAX;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model(&base);
    });
    runs.load(Ordering::Relaxed)
}

/// A model with a fault planted must fail.
fn finds(fault: Fault, name: &str, model: impl Fn(&Arc<Dictionary>) + Send + Sync + 'static) {
    with_fault(fault, || {
        let checked = catch_unwind(AssertUnwindSafe(|| orders_of(model)));
        assert!(checked.is_err(), "{name} does not find {fault:?}");
    });
    println!("model {name}: found {fault:?}");
}

fn iri(key: &str) -> Term {
    NamedNode::new_unchecked(key).into()
}

fn intern(live: &LiveDictionary, terms: &[Term]) -> Vec<VertexId> {
    let terms: Vec<TermRef<'_>> = terms.iter().map(Term::as_ref).collect();
    let mut ids = Vec::new();
    live.intern(&terms, &mut ids).unwrap();
    ids
}

fn intern_keys(live: &LiveDictionary, keys: &[&str]) -> Vec<VertexId> {
    let terms: Vec<Term> = keys.iter().map(|key| iri(key)).collect();
    intern(live, &terms)
}

fn decoded(view: &DictionaryView, id: VertexId) -> Term {
    let mut terms = TermBuffer::new();
    view.terms(&[id], &mut terms).unwrap();
    terms.get(0).expect("it is counted").into_owned()
}

/// The first of [`KEYS`] are there, both ways, and no others.
fn look(view: &DictionaryView) {
    let count = view.counts().iris as usize;
    let terms = KEYS.map(iri);
    let mut ids = Vec::new();
    let refs: Vec<TermRef<'_>> = terms.iter().map(Term::as_ref).collect();
    view.ids(&refs, &mut ids).unwrap();
    for (ordinal, (term, id)) in terms.iter().zip(ids).enumerate() {
        let expected = (ordinal < count).then_some(VertexId::new(Tag::Iri, ordinal as u64));
        assert_eq!(id, expected, "{term} of {count}");
        if let Some(id) = id {
            assert_eq!(decoded(view, id), *term);
        }
    }
}

/// A reader while [`KEYS`] from `first` up to `end` are added to those before.
fn readers(base: &Arc<Dictionary>, first: usize, end: usize) {
    let live = Arc::new(LiveDictionary::new(Arc::clone(base)));
    intern_keys(&live, &KEYS[..first]);
    let reader = {
        let live = Arc::clone(&live);
        thread::spawn(move || {
            let counts = live.counts();
            assert!(counts.iris as usize >= first);
            look(&live.view(counts));
        })
    };
    intern_keys(&live, &KEYS[first..end]);
    reader.join().unwrap();
    assert_eq!(live.counts().iris as usize, end);
    look(&live.view(live.counts()));
}

fn triple_terms(base: &Arc<Dictionary>) {
    let live = Arc::new(LiveDictionary::new(Arc::clone(base)));
    let [subject, predicate, object] = [0, 1, 1].map(|key| NamedNode::new_unchecked(KEYS[key]));
    let term = Term::from(Triple::new(subject, predicate, object));
    let reader = {
        let (live, term) = (Arc::clone(&live), term.clone());
        thread::spawn(move || {
            let counts = live.counts();
            if counts.triple_terms > 0 {
                assert_eq!(counts.iris, 2, "what it holds was counted before it");
                let id = VertexId::new(Tag::TripleTerm, 0);
                assert_eq!(decoded(&live.view(counts), id), term);
            }
        })
    };
    intern(&live, &[term]);
    reader.join().unwrap();
    assert_eq!(live.counts().triple_terms, 1);
}

fn writers(base: &Arc<Dictionary>) {
    let live = Arc::new(LiveDictionary::new(Arc::clone(base)));
    let other = {
        let live = Arc::clone(&live);
        thread::spawn(move || intern_keys(&live, &[KEYS[1], KEYS[0]]))
    };
    let mut ours = intern_keys(&live, &[KEYS[0], KEYS[1]]);
    let theirs = other.join().unwrap();
    ours.reverse();
    assert_eq!(ours, theirs, "a term has one id");
    assert_ne!(ours[0], ours[1], "an id has one term");
    assert_eq!(live.counts().iris, 2);
}

fn blank_nodes(base: &Arc<Dictionary>) {
    let live = Arc::new(LiveDictionary::new(Arc::clone(base)));
    let other = {
        let live = Arc::clone(&live);
        thread::spawn(move || live.fresh_blank_nodes(2).unwrap())
    };
    let ours = live.fresh_blank_nodes(2).unwrap();
    live.reserve_blank_nodes(3).unwrap();
    let theirs = other.join().unwrap();
    assert!(ours.abs_diff(theirs) >= 2, "{ours} and {theirs}");
    assert!(live.counts().blank_nodes >= 4);
}

#[test]
fn a_reader_beside_a_writer() {
    check("a reader beside a writer", |base| readers(base, 0, 2));
}

#[test]
fn a_reader_while_parts_are_replaced() {
    check("a reader while parts are replaced", |base| {
        readers(base, 1, 3)
    });
}

#[test]
fn a_triple_term_and_what_it_holds() {
    check("a triple term and what it holds", triple_terms);
}

#[test]
fn two_writers() {
    check("two writers", writers);
}

#[test]
fn numbers_of_blank_nodes() {
    check("numbers of blank nodes", blank_nodes);
}

#[test]
fn terms_that_are_not_released_are_found() {
    finds(Fault::NothingReleased, "a reader beside a writer", |base| {
        readers(base, 0, 2);
    });
    finds(Fault::NothingReleased, "a triple term", triple_terms);
}

#[test]
fn a_lock_for_two_is_found() {
    finds(Fault::LockForTwo, "two writers", writers);
}
