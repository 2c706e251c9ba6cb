//! One change as bytes: what a log keeps, and what any node applies with the same result.
//!
//! Terms are text, because ids depend on who gave them out; blank nodes have numbers, because
//! nothing else names them. A record says which numbers its new blank nodes get, so a store that
//! applies the same log from the same beginning holds the same nodes.
//!
//! ```text
//! record = 2: u8, number: varint, epoch: varint, first new blank node: varint, new blank nodes: varint,
//!          messages: length: varint, bytes; chunk*
//!        | 1: u8, first new blank node: varint, new blank nodes: varint, chunk*      (read, no longer written)
//! chunk  = terms: varint, term*, deletes: varint, quad*, inserts: varint, quad*
//! term   = 0, length: varint, IRI
//!        | 1, length: varint, key of a literal (`rdf::key`)
//!        | 2, number: varint                             a blank node of the store
//!        | 3, number: varint                             a new one, counted from the first
//!        | 4, subject, predicate, object: varints        a triple term of earlier terms
//! quad   = subject, predicate, object: varints, graph: varint (0: default, else term + 1)
//! ```
//!
//! Chunks are applied in order, deletes of one before its inserts. A chunk has a table of terms of
//! its own, so memory for reading is that of one chunk, and a document of any length becomes a
//! record while it is parsed: the head, which needs the number of its blank nodes, is made last.
//!
//! **Number and epoch** say which commit a record is and under whose lead it was made, so a log that only orders records
//! may number them otherwise. One machine's log has epoch 0, and the number is the record's place.
//!
//! **Messages** are what others than the graph keep in the log, in order with its changes: streams and standing queries.
//! They mean nothing here. A record may be messages alone; then the commit changes no quad.
//!
//! Reading is total: bytes that are no record give a [`RecordError`], whatever their checksum said.

use crate::delta::IdQuad;
use crate::view::GraphScope;
use hashbrown::HashTable;
use oxrdf::{NamedNode, NamedOrBlankNode, Term, TermRef, Triple};
use rdf::dictionary::TRIPLE_TERM_DEPTH_MAX;
use rdf::{TermBuffer, VertexId, key, varint};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64_with_seed;

const VERSION: u8 = 2;
/// The version without number, epoch and messages.
const VERSION_OF_CHANGES: u8 = 1;
const IRI: u8 = 0;
const LITERAL: u8 = 1;
const BLANK: u8 = 2;
const NEW_BLANK: u8 = 3;
const TRIPLE: u8 = 4;
const _: () = assert!(
    TRIPLE_TERM_DEPTH_MAX < u8::MAX as usize,
    "a depth is a byte"
);

/// Bytes that are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {what}")]
pub struct RecordError {
    /// Where, from the beginning of the record.
    pub offset: u64,
    /// What was expected.
    pub what: &'static str,
}

/// A term of a chunk, by its place in the chunk's table.
pub type TermPlace = u32;

/// Subject, predicate, object, and the graph, `None` for the default one.
pub type PlaceQuad = ([TermPlace; 3], Option<TermPlace>);

/// Why a term cannot stand in a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TermError {
    /// A triple term holds others too deep.
    #[error("a triple term is nested deeper than {TRIPLE_TERM_DEPTH_MAX}")]
    TooDeep,
    /// A blank node of the store has another label than the store gives.
    #[error("_:{0} is no blank node of this store")]
    NotABlankNode(String),
}

/// What stands before the chunks of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordHead<'m> {
    /// The commit that it is.
    pub number: u64,
    /// Under whose lead it was made; 0 where one machine keeps the log.
    pub epoch: u64,
    /// The number of its first new blank node.
    pub first_blank: u64,
    /// How many new blank nodes it has (count). They were reserved (asserted of their numbers).
    pub blanks: u64,
    /// What others than the graph keep in it.
    pub messages: &'m [u8],
}

impl RecordHead<'_> {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        assert!(
            self.first_blank
                .checked_add(self.blanks)
                .is_some_and(|end| end <= VertexId::PAYLOAD_MAX),
            "blank nodes of a record were reserved"
        );
        let mut bytes = vec![VERSION];
        for number in [self.number, self.epoch, self.first_blank, self.blanks] {
            varint::write(&mut bytes, number);
        }
        varint::write(&mut bytes, self.messages.len() as u64);
        bytes.extend_from_slice(self.messages);
        bytes
    }
}

/// Which blank node a term means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blank {
    /// One of the store, by its number.
    Stored(u64),
    /// A new one, counted from the record's first.
    New(u64),
}

/// Collects one chunk. Cost: a hash and a copy per different term, four numbers a quad.
pub struct ChunkWriter {
    /// Encoded terms, one after the other.
    terms: Vec<u8>,
    /// Where each begins.
    starts: Vec<usize>,
    places: HashTable<TermPlace>,
    seed: u64,
    /// A literal on its way to the terms.
    literal: Vec<u8>,
    quads: [(u64, Vec<u8>); 2],
}

impl ChunkWriter {
    /// An empty chunk. `seed`: what whoever wrote the terms cannot know, for the hash table.
    pub fn new(seed: u64) -> ChunkWriter {
        ChunkWriter {
            terms: Vec::new(),
            starts: Vec::new(),
            places: HashTable::new(),
            seed,
            literal: Vec::new(),
            quads: [(0, Vec::new()), (0, Vec::new())],
        }
    }

    /// Makes room for so many more terms, so that none is hashed again while they come.
    pub fn reserve(&mut self, terms: usize) {
        let ChunkWriter {
            terms: bytes,
            starts,
            places,
            seed,
            ..
        } = self;
        starts.reserve(terms);
        let hash = |&place: &TermPlace| {
            let end = starts.get(place as usize + 1).copied();
            let span = starts[place as usize]..end.unwrap_or(bytes.len());
            xxh3_64_with_seed(&bytes[span], *seed)
        };
        places.reserve(terms, hash);
    }

    /// Quads in it.
    pub fn quads(&self) -> u64 {
        self.quads[0].0 + self.quads[1].0
    }

    /// Bytes that it has so far, about.
    pub fn bytes(&self) -> usize {
        self.terms.len() + self.quads[0].1.len() + self.quads[1].1.len()
    }

    /// The place of a term; `blank` says which node a label means.
    pub fn term(
        &mut self,
        term: TermRef<'_>,
        blank: &mut dyn FnMut(&str) -> Option<Blank>,
    ) -> Result<TermPlace, TermError> {
        self.nested(term, blank, 0)
    }

    fn nested(
        &mut self,
        term: TermRef<'_>,
        blank: &mut dyn FnMut(&str) -> Option<Blank>,
        depth: usize,
    ) -> Result<TermPlace, TermError> {
        let at = self.terms.len();
        match term {
            TermRef::NamedNode(iri) => {
                self.terms.push(IRI);
                varint::write(&mut self.terms, iri.as_str().len() as u64);
                self.terms.extend_from_slice(iri.as_str().as_bytes());
            }
            TermRef::Literal(literal) => {
                self.literal.clear();
                key::encode_literal(literal, &mut self.literal);
                self.terms.push(LITERAL);
                varint::write(&mut self.terms, self.literal.len() as u64);
                self.terms.extend_from_slice(&self.literal);
            }
            TermRef::BlankNode(node) => {
                let label = node.as_str();
                let found = blank(label);
                let (kind, number) =
                    match found.ok_or_else(|| TermError::NotABlankNode(label.to_owned()))? {
                        Blank::Stored(number) => (BLANK, number),
                        Blank::New(number) => (NEW_BLANK, number),
                    };
                self.terms.push(kind);
                varint::write(&mut self.terms, number);
            }
            TermRef::Triple(triple) => {
                if depth >= TRIPLE_TERM_DEPTH_MAX {
                    return Err(TermError::TooDeep);
                }
                let parts = [
                    self.nested(triple.subject.as_ref().into(), blank, depth + 1)?,
                    self.nested(triple.predicate.as_ref().into(), blank, depth + 1)?,
                    self.nested(triple.object.as_ref(), blank, depth + 1)?,
                ];
                // The parts stand before the term itself.
                let at = self.terms.len();
                self.terms.push(TRIPLE);
                for part in parts {
                    varint::write(&mut self.terms, u64::from(part));
                }
                return Ok(self.place(at));
            }
        }
        Ok(self.place(at))
    }

    /// The place of the term whose bytes begin at `at` and end the table; it is kept if it is new.
    fn place(&mut self, at: usize) -> TermPlace {
        let ChunkWriter {
            terms,
            starts,
            places,
            seed,
            ..
        } = self;
        let seed = *seed;
        let span = |place: TermPlace, starts: &[usize]| {
            let place = place as usize;
            starts[place]..starts.get(place + 1).copied().unwrap_or(at)
        };
        let bytes = &terms[at..];
        let hash = xxh3_64_with_seed(bytes, seed);
        let found = places.find(hash, |&place| terms[span(place, starts)] == *bytes);
        if let Some(&place) = found {
            terms.truncate(at);
            return place;
        }
        let place = TermPlace::try_from(starts.len()).expect("a chunk has fewer than 2^32 terms");
        starts.push(at);
        let end = terms.len();
        places.insert_unique(hash, place, |&other| {
            let start = starts[other as usize];
            let end = starts.get(other as usize + 1).copied().unwrap_or(end);
            xxh3_64_with_seed(&terms[start..end], seed)
        });
        place
    }

    /// Adds a quad to be deleted.
    pub fn delete(&mut self, quad: PlaceQuad) {
        self.push(0, quad);
    }

    /// Adds a quad to be inserted.
    pub fn insert(&mut self, quad: PlaceQuad) {
        self.push(1, quad);
    }

    fn push(&mut self, which: usize, (parts, graph): PlaceQuad) {
        let (count, bytes) = &mut self.quads[which];
        *count += 1;
        for part in parts {
            varint::write(bytes, u64::from(part));
        }
        varint::write(bytes, graph.map_or(0, |graph| u64::from(graph) + 1));
    }

    /// The chunk; the writer is empty again.
    pub fn finish(&mut self) -> Vec<u8> {
        assert_eq!(self.starts.len(), self.places.len(), "a term has one place");
        let mut bytes = Vec::with_capacity(self.bytes() + 30);
        varint::write(&mut bytes, self.starts.len() as u64);
        bytes.append(&mut self.terms);
        for (count, quads) in &mut self.quads {
            varint::write(&mut bytes, *count);
            bytes.append(quads);
            *count = 0;
        }
        self.starts.clear();
        self.places.clear();
        bytes
    }
}

/// One chunk, read.
#[derive(Debug, Default)]
pub struct RecordChunk {
    /// The table of terms; blank nodes have the store's labels.
    pub terms: TermBuffer,
    /// What is deleted first.
    pub deletes: Vec<PlaceQuad>,
    /// What is inserted then.
    pub inserts: Vec<PlaceQuad>,
}

/// Reads a record, chunk by chunk.
pub struct RecordReader<'r> {
    record: &'r [u8],
    rest: &'r [u8],
    /// `None`: it says none.
    number: Option<u64>,
    messages: &'r [u8],
    first_blank: u64,
    blanks: u64,
}

impl<'r> RecordReader<'r> {
    /// Reads the head.
    pub fn new(record: &'r [u8]) -> Result<RecordReader<'r>, RecordError> {
        let mut reader = RecordReader {
            record,
            rest: record,
            number: None,
            messages: &[],
            first_blank: 0,
            blanks: 0,
        };
        let version = reader.byte("a version")?;
        match version {
            VERSION => {
                reader.number = Some(reader.number("its number")?);
                reader.number("its epoch")?;
            }
            VERSION_OF_CHANGES => {}
            _ => return Err(reader.error("a version that this program does not know")),
        }
        reader.first_blank = reader.number("the first blank node")?;
        reader.blanks = reader.number("the number of blank nodes")?;
        if version == VERSION {
            reader.messages = reader.bytes("messages")?;
        }
        match reader.first_blank.checked_add(reader.blanks) {
            Some(end) if end <= VertexId::PAYLOAD_MAX => Ok(reader),
            _ => Err(reader.error("more blank nodes than there can be")),
        }
    }

    /// Reads chunks whose head is not made yet: their new blank nodes will have these numbers.
    pub fn of_chunks(new_blanks: Range<u64>, chunks: &'r [u8]) -> RecordReader<'r> {
        assert!(
            new_blanks.start <= new_blanks.end,
            "blank nodes of a record were reserved"
        );
        RecordReader {
            record: chunks,
            rest: chunks,
            number: None,
            messages: &[],
            first_blank: new_blanks.start,
            blanks: new_blanks.end - new_blanks.start,
        }
    }

    /// Which commit it says that it is; `None` in a record of the first version, which does not say it.
    pub fn commit(&self) -> Option<u64> {
        self.number
    }

    /// What others than the graph keep in it; empty where nobody does.
    pub fn messages(&self) -> &'r [u8] {
        self.messages
    }

    /// The numbers of its new blank nodes.
    pub fn new_blanks(&self) -> Range<u64> {
        self.first_blank..self.first_blank + self.blanks
    }

    /// Reads the next chunk into `chunk`; false at the end.
    pub fn next(&mut self, chunk: &mut RecordChunk) -> Result<bool, RecordError> {
        chunk.terms.clear();
        chunk.deletes.clear();
        chunk.inserts.clear();
        if self.rest.is_empty() {
            return Ok(false);
        }
        let terms = self.number("the number of terms")?;
        let terms = TermPlace::try_from(terms).map_err(|_| self.error("too many terms"))?;
        let mut depths = Vec::new();
        for _ in 0..terms {
            let depth = self.term(&mut chunk.terms, &depths)?;
            depths.push(depth);
        }
        self.read_quads(terms, &mut chunk.deletes)?;
        self.read_quads(terms, &mut chunk.inserts)?;
        Ok(true)
    }

    /// Appends one term; gives how deep it is nested.
    fn term(&mut self, terms: &mut TermBuffer, depths: &[u8]) -> Result<u8, RecordError> {
        match self.byte("a kind of term")? {
            IRI => {
                let bytes = self.bytes("an IRI")?;
                let iri = str::from_utf8(bytes).map_err(|_| self.error("an IRI in UTF-8"))?;
                terms.push_iri(iri);
            }
            LITERAL => {
                let bytes = self.bytes("a literal")?;
                key::decode_literal(bytes, terms).map_err(|_| self.error("a literal"))?;
            }
            BLANK => {
                let number = self.number("a blank node")?;
                if number >= self.first_blank {
                    return Err(self.error("a blank node of before"));
                }
                terms.push_blank(&format!("b{number}"));
            }
            NEW_BLANK => {
                let number = self.number("a blank node")?;
                if number >= self.blanks {
                    return Err(self.error("one of its new blank nodes"));
                }
                terms.push_blank(&format!("b{}", self.first_blank + number));
            }
            TRIPLE => return self.triple(terms, depths),
            _ => return Err(self.error("a kind of term that there is")),
        }
        Ok(0)
    }

    fn triple(&mut self, terms: &mut TermBuffer, depths: &[u8]) -> Result<u8, RecordError> {
        let mut parts = [0; 3];
        for part in &mut parts {
            *part = self.place(depths.len() as u64, "a term before")? as usize;
        }
        let depth = parts.iter().map(|&part| depths[part]).max().unwrap_or(0) + 1;
        if usize::from(depth) > TRIPLE_TERM_DEPTH_MAX {
            return Err(self.error("a triple term that is not nested as deep"));
        }
        let [subject, predicate, object] = parts.map(|part| terms.get(part).map(Term::from));
        let triple = match (subject, predicate, object) {
            (Some(subject), Some(Term::NamedNode(predicate)), Some(object)) => {
                subject_of(subject).map(|subject| triple_of(subject, predicate, object))
            }
            _ => None,
        };
        terms.push_triple(triple.ok_or_else(|| self.error("a triple term that is RDF"))?);
        Ok(depth)
    }

    fn read_quads(
        &mut self,
        terms: TermPlace,
        quads: &mut Vec<PlaceQuad>,
    ) -> Result<(), RecordError> {
        let count = self.number("a number of quads")?;
        // Each quad takes four bytes at least, so a wrong count takes no memory.
        quads.reserve(count.min(self.rest.len() as u64 / 4) as usize);
        for _ in 0..count {
            let mut parts = [0; 3];
            for part in &mut parts {
                *part = self.place(u64::from(terms), "a term of the chunk")?;
            }
            let graph = self.number("a graph")?;
            if graph > u64::from(terms) {
                return Err(self.error("a graph of the chunk"));
            }
            quads.push((parts, graph.checked_sub(1).map(|place| place as TermPlace)));
        }
        Ok(())
    }

    fn place(&mut self, below: u64, what: &'static str) -> Result<TermPlace, RecordError> {
        let place = self.number(what)?;
        if place < below {
            Ok(place as TermPlace)
        } else {
            Err(self.error(what))
        }
    }

    fn byte(&mut self, what: &'static str) -> Result<u8, RecordError> {
        let (&byte, rest) = self.rest.split_first().ok_or_else(|| self.error(what))?;
        self.rest = rest;
        Ok(byte)
    }

    fn number(&mut self, what: &'static str) -> Result<u64, RecordError> {
        let mut rest = self.rest;
        let number = varint::read(&mut rest).ok_or_else(|| self.error(what))?;
        self.rest = rest;
        Ok(number)
    }

    fn bytes(&mut self, what: &'static str) -> Result<&'r [u8], RecordError> {
        let length = self.number(what)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > self.rest.len() {
            return Err(self.error(what));
        }
        let (bytes, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(bytes)
    }

    fn error(&self, what: &'static str) -> RecordError {
        RecordError {
            offset: (self.record.len() - self.rest.len()) as u64,
            what,
        }
    }
}

fn subject_of(term: Term) -> Option<NamedOrBlankNode> {
    match term {
        Term::NamedNode(iri) => Some(iri.into()),
        Term::BlankNode(blank) => Some(blank.into()),
        _ => None,
    }
}

fn triple_of(subject: NamedOrBlankNode, predicate: NamedNode, object: Term) -> Triple {
    Triple::new(subject, predicate, object)
}

/// The quad of these ids.
pub fn id_quad((parts, graph): PlaceQuad, ids: &[VertexId]) -> IdQuad {
    let id = |place: TermPlace| ids[place as usize];
    let graph = graph.map_or(GraphScope::DEFAULT_GRAPH, id);
    (id(parts[0]), id(parts[1]), id(parts[2]), graph)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::{BlankNode, Literal};

    fn iri(text: &str) -> Term {
        NamedNode::new_unchecked(text).into()
    }

    fn terms() -> Vec<Term> {
        let nested = Triple::new(
            NamedNode::new_unchecked("http://e/s"),
            NamedNode::new_unchecked("http://e/p"),
            Literal::from(7),
        );
        let outer = Triple::new(
            BlankNode::new_unchecked("b3"),
            NamedNode::new_unchecked("http://e/p"),
            Term::from(nested.clone()),
        );
        vec![
            iri("http://e/s"),
            iri("http://e/p"),
            Literal::new_simple_literal("x").into(),
            Literal::new_language_tagged_literal_unchecked("x", "en").into(),
            Literal::from(42).into(),
            BlankNode::new_unchecked("b3").into(),
            BlankNode::new_unchecked("new").into(),
            nested.into(),
            outer.into(),
        ]
    }

    fn blank(label: &str) -> Option<Blank> {
        match label {
            "b3" => Some(Blank::Stored(3)),
            "new" => Some(Blank::New(1)),
            _ => None,
        }
    }

    fn record() -> Vec<u8> {
        let mut writer = ChunkWriter::new(1);
        let head = RecordHead {
            number: 7,
            first_blank: 10,
            blanks: 2,
            messages: b"said",
            ..RecordHead::default()
        };
        let mut bytes = head.encode();
        for round in 0..2 {
            let places: Vec<_> = terms()
                .iter()
                .map(|term| writer.term(term.as_ref(), &mut blank).unwrap())
                .collect();
            for (at, &object) in places.iter().enumerate() {
                let graph = (at % 2 == round).then_some(places[0]);
                writer.insert(([places[0], places[1], object], graph));
            }
            writer.delete(([places[5], places[1], places[8]], None));
            assert_eq!(writer.quads(), 10);
            bytes.extend(writer.finish());
        }
        bytes
    }

    #[test]
    fn a_record_comes_back() {
        let bytes = record();
        let mut reader = RecordReader::new(&bytes).unwrap();
        assert_eq!(reader.new_blanks(), 10..12);
        assert_eq!(
            (reader.commit(), reader.messages()),
            (Some(7), &b"said"[..])
        );
        let mut chunk = RecordChunk::default();
        let mut chunks = 0;
        while reader.next(&mut chunk).unwrap() {
            chunks += 1;
            assert_eq!((chunk.deletes.len(), chunk.inserts.len()), (1, 9));
            let mut expected = terms();
            expected[6] = BlankNode::new_unchecked("b11").into();
            for (term, (parts, _)) in expected.iter().zip(&chunk.inserts) {
                assert_eq!(chunk.terms.get(parts[2] as usize), Some(term.as_ref()));
            }
            let ([subject, _, object], graph) = chunk.deletes[0];
            assert_eq!(graph, None);
            assert_eq!(
                chunk.terms.get(subject as usize),
                Some(expected[5].as_ref())
            );
            assert_eq!(chunk.terms.get(object as usize), Some(expected[8].as_ref()));
        }
        assert_eq!(chunks, 2);
    }

    /// What was written before records had numbers is read.
    #[test]
    fn a_record_of_the_first_version_comes_back() {
        let mut bytes = vec![VERSION_OF_CHANGES, 10, 2];
        let whole = record();
        let head = whole.windows(4).position(|bytes| bytes == b"said").unwrap() + 4;
        bytes.extend_from_slice(&whole[head..]);
        let mut reader = RecordReader::new(&bytes).unwrap();
        assert_eq!(reader.new_blanks(), 10..12);
        assert_eq!((reader.commit(), reader.messages()), (None, &[][..]));
        let mut chunk = RecordChunk::default();
        while reader.next(&mut chunk).unwrap() {
            assert_eq!((chunk.deletes.len(), chunk.inserts.len()), (1, 9));
        }
    }

    #[test]
    fn cut_and_changed_records_are_refused_or_read() {
        let bytes = record();
        let read = |bytes: &[u8]| -> Result<(), RecordError> {
            let mut reader = RecordReader::new(bytes)?;
            let mut chunk = RecordChunk::default();
            while reader.next(&mut chunk)? {}
            Ok(())
        };
        let whole: Vec<usize> = (0..bytes.len())
            .filter(|&length| read(&bytes[..length]).is_ok())
            .collect();
        assert_eq!(whole.len(), 2, "only between chunks: {whole:?}");
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                let _ = read(&changed);
            }
        }
    }

    #[test]
    fn foreign_blank_nodes_are_refused() {
        let mut writer = ChunkWriter::new(1);
        let foreign = BlankNode::new_unchecked("other");
        let refused = writer.term(foreign.as_ref().into(), &mut blank);
        assert_eq!(refused, Err(TermError::NotABlankNode("other".to_owned())));
    }
}
