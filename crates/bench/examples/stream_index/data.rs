//! LSBench's stored data and streams as ids, numbered by first appearance as a dictionary does.

use rdf::{Tag, VertexId};
use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use workload::lsbench::{LineForm, Lsbench, Rate, SLICE_MS, Span, Stream};

/// Of all streams (milliseconds).
pub const BATCH_MS: u32 = SLICE_MS as u32;
/// The streams' numbers in stamps.
pub const POSTS: u8 = 1;
pub const POST_LIKES: u8 = 2;
pub const PHOTOS: u8 = 3;
pub const PHOTO_LIKES: u8 = 4;
pub const POSITIONS: u8 = 5;

/// Subject, predicate, object.
pub type Triple = [u64; 3];

/// A triple with its time and stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    pub time_ms: u32,
    pub stream: u8,
    pub triple: Triple,
}

/// See the head of this file.
pub struct Data {
    pub lsbench: Lsbench,
    pub stored: Vec<Triple>,
    /// Distinct, by time.
    pub items: Vec<Item>,
    /// Of stored data and streams, ascending.
    pub predicates: Vec<u64>,
    terms: Terms,
    seconds: u32,
}

impl Data {
    pub fn generated(users: u32, seconds: u32) -> Data {
        let lsbench = Lsbench::new(users, 1).expect("33 users at least");
        let mut reader = Reader::default();
        let written = lsbench.write_stored(&mut reader, 1, &mut |_| {});
        written.expect("a reader of lines takes all of them");
        let Reader { mut terms, triples } = reader;
        let mut items = Vec::new();
        let span = Span::seconds(seconds, Rate::PUBLISHED);
        for (number, stream) in (1..).zip(Stream::ALL) {
            for slice in lsbench.slices(stream, span, LineForm::Triples) {
                for line in lines(&slice.bytes) {
                    let tab = line.iter().position(|byte| *byte == b'\t').expect("a time");
                    let time = std::str::from_utf8(&line[..tab]).expect("digits");
                    items.push(Item {
                        time_ms: time.parse().expect("digits"),
                        stream: number,
                        triple: terms.triple(&line[tab + 1..]),
                    });
                }
            }
        }
        items.sort_unstable();
        items.dedup();
        let streamed = items.iter().map(|item| item.triple[1]);
        let predicates: BTreeSet<u64> = triples.iter().map(|it| it[1]).chain(streamed).collect();
        Data {
            lsbench,
            stored: triples,
            items,
            predicates: predicates.into_iter().collect(),
            terms,
            seconds,
        }
    }

    /// The end of the streams.
    pub fn end_ms(&self) -> u32 {
        self.seconds * 1000
    }

    /// The items of a stream in `[from, until)`.
    pub fn between(&self, stream: u8, from_ms: u32, until_ms: u32) -> impl Iterator<Item = &Item> {
        let place = |time| self.items.partition_point(|item| item.time_ms < time);
        let items = self.items[place(from_ms)..place(until_ms)].iter();
        items.filter(move |item| item.stream == stream)
    }

    /// The predicate whose IRI ends so, behind `#` or `/`.
    pub fn predicate(&self, name: &str) -> u64 {
        let mut terms = self.terms.numbers.iter().filter(|(text, id)| {
            let local = text
                .strip_suffix(b">")
                .and_then(|text| text.strip_suffix(name.as_bytes()));
            local.is_some_and(|rest| rest.ends_with(b"#") || rest.ends_with(b"/"))
                && self.predicates.binary_search(id).is_ok()
        });
        *terms.next().expect("the benchmark has this predicate").1
    }

    /// The id of an IRI, if there is one.
    pub fn iri(&self, iri: &str) -> Option<u64> {
        self.terms
            .numbers
            .get(format!("<{iri}>").as_bytes())
            .copied()
    }

    /// An IRI that no triple has.
    pub fn unused(&self, number: u64) -> u64 {
        VertexId::new(Tag::Iri, self.terms.counts[0] + number).bits()
    }
}

/// Ids by text.
#[derive(Default)]
struct Terms {
    numbers: HashMap<Box<[u8]>, u64>,
    /// IRIs, literals.
    counts: [u64; 2],
}

impl Terms {
    fn triple(&mut self, line: &[u8]) -> Triple {
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        std::array::from_fn(|_| {
            let part = parts.next().expect("a line has three terms");
            self.id(part.strip_suffix(b" .").unwrap_or(part))
        })
    }

    fn id(&mut self, text: &[u8]) -> u64 {
        if let Some(known) = self.numbers.get(text) {
            return *known;
        }
        let (kind, tag) = match text.first() {
            Some(b'<') => (0, Tag::Iri),
            _ => (1, Tag::Literal),
        };
        let id = VertexId::new(tag, self.counts[kind]).bits();
        self.counts[kind] += 1;
        self.numbers.insert(text.into(), id);
        id
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
}

/// Takes N-Triples in pieces that end with lines.
#[derive(Default)]
struct Reader {
    terms: Terms,
    triples: Vec<Triple>,
}

impl Write for Reader {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        assert!(
            bytes.is_empty() || bytes.ends_with(b"\n"),
            "pieces are whole lines"
        );
        for line in lines(bytes) {
            let triple = self.terms.triple(line);
            self.triples.push(triple);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
