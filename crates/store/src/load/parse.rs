//! From the text of a chunk to its distinct terms and statements in local numbers.
//!
//! Subject before predicate before object before graph decides who appears first; the components
//! of a triple term appear before it. Statements come in groups: the subject of the statement
//! before is remembered, and so are the last predicates, so that in most statements only the object
//! is looked up.
//!
//! Invariant: what is put out depends on the chunk's bytes and its scope alone.
//!
//! Cost: the tokenizer, one hash and probe for each object and each new subject, 12 bytes a
//! statement.

use super::chunk::{Chunk, Keys, LocalTerm, ORDINAL_KINDS, Statement, TermKind, TermTable};
use super::resolve::{HashRecord, Occurrence, hash_record};
use oxrdf::TermRef;
use rdf::dictionary::TRIPLE_TERM_DEPTH_MAX;
use rdf::nt::SyntaxError;
use rdf::{Strictness, inline, key, nt};
use siphasher::sip128::SipHasher13;

/// Remembered predicates; more than a subject usually has.
const MEMO_PLACES: usize = 64;
const _: () = assert!(
    MEMO_PLACES == 1 << (u32::BITS - 26),
    "six bits of a hash choose a place"
);
/// Where no predicate is remembered.
const NO_PREDICATE: u32 = u32::MAX;

/// Which blank labels mean the same node: those of one source. 0 is the existing store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope(pub u32);

/// The keyed hashes by which equal terms of different chunks are found.
#[derive(Clone)]
pub struct TermHasher([SipHasher13; TermKind::ALL.len()]);

impl TermHasher {
    /// Hashes under this key, one family for each kind.
    pub fn new(hash_key: [u8; 16]) -> TermHasher {
        TermHasher(TermKind::ALL.map(|kind| {
            let mut key = hash_key;
            key[0] ^= kind as u8;
            SipHasher13::new_with_key(&key)
        }))
    }

    fn hash(&self, kind: TermKind, bytes: &[u8]) -> (u64, u64) {
        self.0[kind as usize].hash(bytes).as_u64()
    }
}

/// One thread's parser of chunks; keeps its memory from chunk to chunk.
pub struct ChunkParser {
    table: TermTable,
    statements: Vec<Statement>,
    /// One for each statement from the first that has one on; see [`ChunkParser::push_graph`].
    graphs: Vec<LocalTerm>,
    /// The IRI of each predicate of the chunk and how many statements have it.
    predicates: Vec<(LocalTerm, u64)>,
    /// By number of the IRI: its number as a predicate.
    predicate_of_iri: Vec<u32>,
    memo: [u32; MEMO_PLACES],
    subject: LocalTerm,
    key: Vec<u8>,
}

impl ChunkParser {
    /// A parser whose tables depend on this seed.
    pub fn new(seed: u64) -> ChunkParser {
        ChunkParser {
            table: TermTable::new(seed),
            statements: Vec::new(),
            graphs: Vec::new(),
            predicates: Vec::new(),
            predicate_of_iri: Vec::new(),
            memo: [NO_PREDICATE; MEMO_PLACES],
            subject: LocalTerm::NONE,
            key: Vec::new(),
        }
    }

    /// Begins a chunk.
    pub fn begin(&mut self) {
        self.table.clear();
        self.statements.clear();
        self.graphs.clear();
        self.predicates.clear();
        self.predicate_of_iri.clear();
        self.memo = [NO_PREDICATE; MEMO_PLACES];
        self.subject = LocalTerm::NONE;
    }

    /// Takes all statements of `text` and gives its number of lines. `graph` takes the place of
    /// the default graph. `reject` is told of each malformed line and its text, and says whether
    /// to go on.
    pub fn parse<F>(
        &mut self,
        text: &[u8],
        (dialect, strictness): (nt::Dialect, Strictness),
        graph: Option<TermRef<'_>>,
        mut reject: F,
    ) -> u64
    where
        F: FnMut(SyntaxError, &[u8]) -> bool,
    {
        let mut lines = nt::Parser::new(text, dialect, 1).with_strictness(strictness);
        while let Some(next) = lines.next() {
            match next {
                Ok(statement) if is_too_deep(statement.object) => {
                    let line = lines.last_line_number();
                    let message = format!("triple terms nest deeper than {TRIPLE_TERM_DEPTH_MAX}");
                    if !reject(
                        SyntaxError {
                            line,
                            column: 1,
                            message,
                            is_unusual: false,
                        },
                        lines.last_line(),
                    ) {
                        break;
                    }
                }
                Ok(statement) => self.push(&statement, graph),
                Err(error) => {
                    if !reject(error, lines.last_line()) {
                        break;
                    }
                }
            }
        }
        if text.is_empty() {
            0
        } else {
            lines.last_line_number()
        }
    }

    #[inline]
    fn push(&mut self, statement: &nt::Statement<'_>, default_graph: Option<TermRef<'_>>) {
        let subject = self.subject(statement.subject);
        let predicate = self.predicate(statement.predicate.as_bytes());
        let object = self.term(statement.object);
        if let Some(graph) = statement.graph.or(default_graph) {
            self.push_graph(graph);
        }
        self.statements.push(Statement {
            subject,
            predicate,
            object,
        });
    }

    /// Notes the graph of the statement that is about to be pushed.
    fn push_graph(&mut self, graph: TermRef<'_>) {
        let graph = self.term(graph);
        self.graphs.resize(self.statements.len(), LocalTerm::NONE);
        self.graphs.push(graph);
    }

    #[inline]
    fn subject(&mut self, subject: TermRef<'_>) -> LocalTerm {
        let (kind, key) = match subject {
            TermRef::NamedNode(iri) => (TermKind::Iri, iri.as_str()),
            TermRef::BlankNode(blank) => (TermKind::Blank, blank.as_str()),
            other => return self.term(other),
        };
        let before = self.subject;
        let is_same = before != LocalTerm::NONE
            && before.kind() == kind
            && self.table.key(before) == key.as_bytes();
        if !is_same {
            self.subject = self.table.enter(kind, key.as_bytes());
        }
        self.subject
    }

    /// The number of a predicate within the chunk.
    #[inline]
    fn predicate(&mut self, iri: &[u8]) -> u32 {
        let place = memo_place(iri);
        let remembered = self.memo[place];
        if remembered != NO_PREDICATE {
            let (term, rows) = &mut self.predicates[remembered as usize];
            if self.table.key(*term) == iri {
                *rows += 1;
                return remembered;
            }
        }
        let number = self.predicate_number(iri);
        self.predicates[number as usize].1 += 1;
        self.memo[place] = number;
        number
    }

    fn predicate_number(&mut self, iri: &[u8]) -> u32 {
        let term = self.table.enter(TermKind::Iri, iri);
        let at = term.number() as usize;
        if self.predicate_of_iri.len() <= at {
            self.predicate_of_iri.resize(at + 1, NO_PREDICATE);
        }
        if self.predicate_of_iri[at] == NO_PREDICATE {
            self.predicate_of_iri[at] = self.predicates.len() as u32;
            self.predicates.push((term, 0));
        }
        self.predicate_of_iri[at]
    }

    /// Enters any term.
    #[inline]
    pub fn term(&mut self, term: TermRef<'_>) -> LocalTerm {
        match term {
            TermRef::NamedNode(iri) => self.table.enter(TermKind::Iri, iri.as_str().as_bytes()),
            TermRef::BlankNode(blank) => {
                self.table.enter(TermKind::Blank, blank.as_str().as_bytes())
            }
            TermRef::Literal(literal) => {
                if let Some(id) = inline::encode(literal) {
                    return self.table.enter(TermKind::Inline, &id.bits().to_le_bytes());
                }
                self.key.clear();
                key::encode_literal(literal, &mut self.key);
                self.table.enter(TermKind::Literal, &self.key)
            }
            TermRef::Triple(triple) => self.triple(triple),
        }
    }

    /// Enters a triple term after its components. The tokenizer bounds how deep they nest.
    fn triple(&mut self, triple: &oxrdf::Triple) -> LocalTerm {
        let components = [
            self.term(triple.subject.as_ref().into()),
            self.term(triple.predicate.as_ref().into()),
            self.term(triple.object.as_ref()),
        ];
        let mut key = [0; 12];
        for (bytes, component) in key.chunks_exact_mut(4).zip(components) {
            bytes.copy_from_slice(&component.bits().to_le_bytes());
        }
        self.table.enter(TermKind::Triple, &key)
    }

    /// The predicates' IRIs in order of first appearance as such, with their number of statements.
    pub fn predicates(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.predicates
            .iter()
            .map(|(term, rows)| (self.table.key(*term), *rows))
    }

    /// Distinct terms by kind.
    pub fn counts(&self) -> [u32; ORDINAL_KINDS] {
        TermKind::ORDINAL.map(|kind| self.table.keys(kind).len() as u32)
    }

    /// The chunk, in vectors of exact size. `entries` are the predicates' entries in the load's
    /// table, in order.
    pub fn chunk(&mut self, entries: &[u32]) -> Chunk {
        assert_eq!(
            entries.len(),
            self.predicates.len(),
            "each predicate was entered"
        );
        let rows: u64 = self.predicates.iter().map(|(_, rows)| rows).sum();
        assert_eq!(
            rows,
            self.statements.len() as u64,
            "each statement is counted with its predicate"
        );
        assert!(
            self.graphs.len() <= self.statements.len(),
            "a graph is a statement's"
        );
        if !self.graphs.is_empty() {
            self.graphs.resize(self.statements.len(), LocalTerm::NONE);
        }
        let table = &self.table;
        let exact = |keys: &Keys| keys.clone();
        Chunk {
            counts: self.counts(),
            iris: exact(table.keys(TermKind::Iri)),
            literals: exact(table.keys(TermKind::Literal)),
            triples: table
                .keys(TermKind::Triple)
                .iter()
                .map(components)
                .collect(),
            inline: table
                .keys(TermKind::Inline)
                .iter()
                .map(inline_bits)
                .collect(),
            predicates: self
                .predicates
                .iter()
                .zip(entries)
                .map(|((term, _), entry)| (*term, *entry))
                .collect(),
            statements: self.statements.clone(),
            graphs: self.graphs.clone(),
        }
    }

    /// Calls `give` with the hash and place of each distinct term of the chunk.
    pub fn hashes<E, F>(
        &self,
        hasher: &TermHasher,
        chunk: u32,
        scope: Scope,
        mut give: F,
    ) -> Result<(), E>
    where
        F: FnMut(HashRecord) -> Result<(), E>,
    {
        let mut labelled = Vec::new();
        let mut triples: Vec<(u64, u64)> = Vec::new();
        for kind in TermKind::ORDINAL {
            for (number, key) in self.table.keys(kind).iter().enumerate() {
                let hash = match kind {
                    TermKind::Blank => {
                        labelled.clear();
                        labelled.extend_from_slice(key);
                        labelled.extend_from_slice(&scope.0.to_le_bytes());
                        hasher.hash(kind, &labelled)
                    }
                    TermKind::Triple => {
                        let hash = self.triple_hash(hasher, scope, key, &triples);
                        triples.push(hash);
                        hash
                    }
                    _ => hasher.hash(kind, key),
                };
                give(hash_record(
                    hash,
                    Occurrence::new(kind, chunk, number as u32),
                ))?;
            }
        }
        Ok(())
    }

    /// The hash of a triple term: that of its components' kinds and hashes.
    fn triple_hash(
        &self,
        hasher: &TermHasher,
        scope: Scope,
        key: &[u8],
        inner: &[(u64, u64)],
    ) -> (u64, u64) {
        let mut bytes = Vec::with_capacity(3 * 17);
        for term in components(key) {
            let kind = term.kind();
            let (first, second) = match kind {
                TermKind::Triple => inner[term.number() as usize],
                TermKind::Blank => {
                    let labelled = [self.table.key(term), &scope.0.to_le_bytes()].concat();
                    hasher.hash(kind, &labelled)
                }
                _ => hasher.hash(kind, self.table.key(term)),
            };
            bytes.push(kind as u8);
            bytes.extend_from_slice(&first.to_le_bytes());
            bytes.extend_from_slice(&second.to_le_bytes());
        }
        hasher.hash(TermKind::Triple, &bytes)
    }
}

/// Whether a triple term holds others deeper than the dictionary takes.
fn is_too_deep(mut term: TermRef<'_>) -> bool {
    for _ in 0..=TRIPLE_TERM_DEPTH_MAX {
        let TermRef::Triple(triple) = term else {
            return false;
        };
        term = triple.object.as_ref();
    }
    true
}

/// A place for a predicate by its length and last bytes, in which the predicates of one
/// vocabulary differ.
#[inline]
fn memo_place(iri: &[u8]) -> usize {
    let tail = iri
        .last_chunk::<4>()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let mixed = (tail ^ (iri.len() as u32) << 8).wrapping_mul(0x9E37_79B1);
    (mixed >> 26) as usize & (MEMO_PLACES - 1)
}

fn components(key: &[u8]) -> [LocalTerm; 3] {
    let (words, _) = key.as_chunks::<4>();
    std::array::from_fn(|at| LocalTerm::from_bits(u32::from_le_bytes(words[at])))
}

fn inline_bits(key: &[u8]) -> u64 {
    let (words, _) = key.as_chunks::<8>();
    u64::from_le_bytes(words[0])
}
