//! Speed and size of a dictionary that grows: `live [MILLIONS]`, of new IRIs (2 by default).
//!
//! Prints new terms a second in batches of 10,000, bytes a term beyond its key, and nanoseconds a
//! term for known terms interned again, for looking up grown terms (random order, stored and
//! absent) and for decoding them (in order, random order) in batches of 1024, with nobody else and
//! beside a writer. The last part compares a view that sees only files with the files themselves.
//! Times are those that the thread was on a core, where the system tells (Linux does), so that a
//! busy machine changes them less.

use oxrdf::{NamedNodeRef, TermRef};
use rdf::dictionary::{Dictionary, DictionaryBuilder, LiveDictionary, key_hash};
use rdf::{Lexicon, Tag, TermBuffer, VertexId};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;
const INTERNED: usize = 10_000;
const BATCH: usize = 1024;

/// Seconds that this thread was on a core, or else of the clock.
fn seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let on_core = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = on_core.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(
        || START.get_or_init(Instant::now).elapsed().as_secs_f64(),
        |nanoseconds| nanoseconds / 1e9,
    )
}

fn main() -> Result<(), Failure> {
    let millions: f64 = std::env::args()
        .nth(1)
        .map_or(Ok(2.0), |text| text.parse())?;
    let count = (millions * 1e6) as usize;
    let texts = names(0..count);
    let terms = refs(&texts);
    let live = Arc::new(LiveDictionary::new(Arc::new(Dictionary::empty()?)));
    grow("empty base", &live, &texts, &terms)?;
    look_up("grown", &live, &terms)?;
    beside_a_writer(&live, &terms, count)?;
    over_files(&texts, &terms)
}

/// Interns everything, first new, then known.
fn grow(
    what: &str,
    live: &LiveDictionary,
    texts: &[String],
    terms: &[TermRef<'_>],
) -> Result<(), Failure> {
    let mut ids = Vec::new();
    for round in ["new", "known"] {
        let (started, mut slowest) = (seconds(), 0.0_f64);
        for batch in terms.chunks(INTERNED) {
            let begun = seconds();
            ids.clear();
            live.intern(batch, &mut ids)?;
            slowest = slowest.max(seconds() - begun);
        }
        let spent = seconds() - started;
        println!(
            "{what}, {round} terms: {:.2} M/s, slowest batch {:.2} ms",
            terms.len() as f64 / spent / 1e6,
            slowest * 1e3
        );
    }
    let key_bytes: usize = texts.iter().map(String::len).sum();
    let beyond = live.bytes() as f64 - key_bytes as f64;
    println!(
        "{what}: keys of {:.1} bytes and {:.2} bytes more a term",
        key_bytes as f64 / texts.len() as f64,
        beyond / texts.len() as f64
    );
    Ok(())
}

fn look_up(what: &str, live: &Arc<LiveDictionary>, terms: &[TermRef<'_>]) -> Result<(), Failure> {
    speeds(what, &live.view(live.counts()), terms)
}

fn speeds(what: &str, lexicon: &impl Lexicon, terms: &[TermRef<'_>]) -> Result<(), Failure> {
    let order = shuffled(terms.len());
    let random: Vec<TermRef<'_>> = order.iter().map(|&at| terms[at]).collect();
    let absent_texts: Vec<String> = order
        .iter()
        .map(|at| format!("http://absent/{at}"))
        .collect();
    let ids: Vec<VertexId> = (0..terms.len() as u64)
        .map(|ordinal| VertexId::new(Tag::Iri, ordinal))
        .collect();
    let random_ids: Vec<VertexId> = order.iter().map(|&at| ids[at]).collect();
    println!(
        "{what}: ids random {:.0} ns, in order {:.0} ns, absent {:.0} ns, one by one {:.0} ns; \
         terms in order {:.0} ns, random {:.0} ns, one by one {:.0} ns",
        encode_ns(lexicon, &random, BATCH)?,
        encode_ns(lexicon, terms, BATCH)?,
        encode_ns(lexicon, &refs(&absent_texts), BATCH)?,
        encode_ns(lexicon, &random, 1)?,
        decode_ns(lexicon, &ids, BATCH)?,
        decode_ns(lexicon, &random_ids, BATCH)?,
        decode_ns(lexicon, &random_ids, 1)?,
    );
    Ok(())
}

/// The same lookups while another thread adds as many terms again.
fn beside_a_writer(
    live: &Arc<LiveDictionary>,
    terms: &[TermRef<'_>],
    count: usize,
) -> Result<(), Failure> {
    let view = live.view(live.counts());
    let random: Vec<TermRef<'_>> = shuffled(count).iter().map(|&at| terms[at]).collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| -> Result<(), Failure> {
        let writer = scope.spawn(|| {
            let (mut next, mut spent) = (count, 0.0);
            while !is_over.load(Ordering::Relaxed) && next < 20 * count {
                let texts = names(next..next + INTERNED);
                let started = seconds();
                live.intern(&refs(&texts), &mut Vec::new())
                    .expect("names can be stored");
                spent += seconds() - started;
                next += INTERNED;
            }
            ((next - count) as f64 / 1e6, spent)
        });
        let mut slowest = 0.0_f64;
        let mut ids = Vec::new();
        let started = seconds();
        for batch in random.chunks(BATCH) {
            let begun = seconds();
            ids.clear();
            view.ids(batch, &mut ids)?;
            slowest = slowest.max(seconds() - begun);
        }
        let ns = (seconds() - started) * 1e9 / random.len() as f64;
        is_over.store(true, Ordering::Relaxed);
        let (added, spent) = writer.join().expect("the writer is whole");
        println!(
            "beside a writer: ids random {ns:.0} ns, slowest batch {:.3} ms; it added {:.2} M/s",
            slowest * 1e3,
            added / spent
        );
        Ok(())
    })
}

/// Half the terms in files, half new.
fn over_files(texts: &[String], terms: &[TermRef<'_>]) -> Result<(), Failure> {
    let mut builder = DictionaryBuilder::new();
    for term in &terms[..terms.len() / 2] {
        builder.id(*term);
    }
    let base = Arc::new(builder.finish()?);
    let (first, second) = terms.split_at(terms.len() / 2);
    speeds("files", &*base, first)?;
    let live = Arc::new(LiveDictionary::new(base));
    look_up("files through a view", &live, first)?;
    grow("half of them stored", &live, &texts[first.len()..], second)?;
    look_up("half files, half grown", &live, terms)?;
    look_up("the files' half of them", &live, first)
}

fn names(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers
        .map(|number| {
            format!(
                "http://www.Department{}.University{}.edu/GraduateStudent{}",
                number / 500 % 20,
                number / 10_000,
                number % 500
            )
        })
        .collect()
}

fn refs(texts: &[String]) -> Vec<TermRef<'_>> {
    texts
        .iter()
        .map(|text| NamedNodeRef::new_unchecked(text).into())
        .collect()
}

fn encode_ns(lexicon: &impl Lexicon, terms: &[TermRef<'_>], batch: usize) -> Result<f64, Failure> {
    let mut ids = Vec::new();
    best_of_3(terms.len(), || {
        for batch in terms.chunks(batch) {
            ids.clear();
            lexicon.ids(batch, &mut ids)?;
        }
        Ok(())
    })
}

fn decode_ns(lexicon: &impl Lexicon, ids: &[VertexId], batch: usize) -> Result<f64, Failure> {
    let mut terms = TermBuffer::new();
    best_of_3(ids.len(), || {
        for batch in ids.chunks(batch) {
            terms.clear();
            lexicon.terms(batch, &mut terms)?;
        }
        Ok(())
    })
}

fn best_of_3(items: usize, mut run: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let started = seconds();
        run()?;
        best = best.min((seconds() - started) * 1e9 / items as f64);
    }
    Ok(best)
}

/// The numbers below `count` in an order that is always the same.
fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by_key(|at| key_hash(&at.to_le_bytes()));
    order
}
