//! Random N-Quads, and the naive model of what loading them must give, ids included.

#![allow(dead_code, clippy::unwrap_used)]

use crate::common::Numbers;
use oxrdf::{BlankNode, NamedNode, NamedOrBlankNode, Term, TermRef, Triple};
use rdf::dictionary::Dictionary;
use rdf::nt::{Dialect, Parser};
use rdf::{Direction, Lexicon, Tag, TermBuffer, VertexId, inline, key};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;
use store::disk::{Disk, SimDisk, SimFaults};
use store::load::{LoadOptions, LoadReport, LoadWatch, Source, Syntax, Unwatched, load_into};
use store::testing::IdQuad;
use store::{GraphScope, GraphView, Snapshot};

pub const STORE: &str = "/data/store";
pub const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
pub const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

/// Nobody watches, and time stands still.
pub fn unwatched() -> LoadWatch<'static> {
    LoadWatch {
        progress: &Unwatched,
        clock: &|| Duration::ZERO,
    }
}

/// Options with small chunks, so that small inputs have many.
pub fn options(threads: usize) -> LoadOptions {
    let mut options = LoadOptions::new(threads, *b"0123456789abcdef");
    options.chunk_bytes = Some(700);
    options
}

pub fn nquads<'s>(files: &'s [String]) -> Vec<Source<'s>> {
    let source = |text: &'s String| Source::reader("text", text.as_bytes());
    files
        .iter()
        .map(|text| source(text).with_syntax(Syntax::NQuads))
        .collect()
}

/// What random lines hold.
#[derive(Clone, Copy, Debug)]
pub struct Richness {
    /// Whether statements name graphs.
    pub graphs: bool,
    /// Whether inline values lie too far apart for narrow codes.
    pub wide: bool,
    /// Number of predicates.
    pub predicates: u64,
}

/// Some files of random lines.
pub fn random_files(seed: u64, files: u64, lines: u64, richness: Richness) -> Vec<String> {
    let mut numbers = Numbers::new(seed);
    let mut file = |_| {
        let mut text = String::new();
        for _ in 0..lines {
            write_line(&mut numbers, richness, &mut text);
        }
        text
    };
    (0..files).map(&mut file).collect()
}

fn write_line(numbers: &mut Numbers, richness: Richness, text: &mut String) {
    match numbers.below(40) {
        0 => text.push_str("# a comment\n\n"),
        1 => text.push_str("\r\n"),
        _ => {}
    }
    let subject = node(numbers);
    let predicate = match numbers.below(richness.predicates) {
        0 => format!("<{RDF_TYPE}>"),
        number => format!("<http://p.example/p{number}>"),
    };
    let object = object(numbers, richness, 0);
    write!(text, "{subject} {predicate} {object}").unwrap();
    if richness.graphs && numbers.below(2) == 0 {
        let graph = match numbers.below(4) {
            0 => format!("_:g{}", numbers.below(3)),
            number => format!("<http://g.example/{number}>"),
        };
        write!(text, " {graph}").unwrap();
    }
    text.push_str(" .\n");
}

fn node(numbers: &mut Numbers) -> String {
    match numbers.below(4) {
        0 => format!("_:x{}", numbers.below(40)),
        _ => format!("<http://s.example/{}>", numbers.below(300)),
    }
}

fn object(numbers: &mut Numbers, richness: Richness, depth: u64) -> String {
    let n = numbers.below(60);
    match numbers.below(if richness.wide { 14 } else { 11 }) {
        0..=2 => node(numbers),
        3 => format!("\"text {n}\""),
        4 => format!("\"q\\\" \\u0041 \\n {n} \\U0001F600\""),
        5 => format!(
            "\"x{n}\"@{}",
            ["en", "de-AT", "EN", "he--rtl"][numbers.below(4) as usize]
        ),
        6 => format!("\"{n}\"^^<{XSD}integer>"),
        7 => format!("\"0{n}\"^^<{XSD}integer>"),
        8 => format!("\"true\"^^<{XSD}boolean>"),
        9 => format!("\"a{n}\"^^<http://d.example/t>"),
        10 if depth < 3 => {
            let subject = node(numbers);
            let inner = object(numbers, richness, depth + 1);
            format!("<<( {subject} <http://p.example/t> {inner} )>>")
        }
        11 => format!("\"{n}.25\"^^<{XSD}decimal>"),
        12 => format!("\"{n}.5E9\"^^<{XSD}double>"),
        13 => format!("\"2026-11-{:02}T10:00:00Z\"^^<{XSD}dateTime>", 1 + n % 28),
        _ => "\"\"".to_owned(),
    }
}

/// What loading files in order must give.
#[derive(Default)]
pub struct Expected {
    ordinals: HashMap<(Tag, Vec<u8>), u64>,
    counts: BTreeMap<u8, u64>,
    pub quads: BTreeSet<IdQuad>,
    pub terms: BTreeMap<VertexId, Term>,
    pub predicates: Vec<VertexId>,
    pub statements: u64,
    files: u64,
}

impl Expected {
    pub fn of(files: &[String]) -> Expected {
        let mut expected = Expected::default();
        for text in files {
            expected.add(text);
        }
        expected
    }

    /// One more file.
    pub fn add(&mut self, text: &str) {
        self.files += 1;
        let mut parser = Parser::new(text.as_bytes(), Dialect::NQuads, 1);
        while let Some(statement) = parser.next() {
            let statement = statement.unwrap();
            let subject = self.id(statement.subject);
            let predicate = NamedNode::new_unchecked(statement.predicate);
            let predicate = self.id(predicate.as_ref().into());
            let object = self.id(statement.object);
            let graph = statement
                .graph
                .map_or(GraphScope::DEFAULT_GRAPH, |graph| self.id(graph));
            self.quads.insert((subject, predicate, object, graph));
            if !self.predicates.contains(&predicate) {
                self.predicates.push(predicate);
            }
            self.statements += 1;
        }
    }

    pub fn id(&mut self, term: TermRef<'_>) -> VertexId {
        let (tag, key) = match term {
            TermRef::NamedNode(iri) => (Tag::Iri, iri.as_str().into()),
            TermRef::BlankNode(blank) => (
                Tag::Blank,
                format!("{} {}", self.files, blank.as_str()).into_bytes(),
            ),
            TermRef::Literal(literal) => {
                if let Some(id) = inline::encode(literal) {
                    self.terms.insert(id, literal.into_owned().into());
                    return id;
                }
                let mut key = Vec::new();
                key::encode_literal(literal, &mut key);
                (Tag::Literal, key)
            }
            TermRef::Triple(triple) => {
                let components = [
                    self.id(triple.subject.as_ref().into()),
                    self.id(triple.predicate.as_ref().into()),
                    self.id(triple.object.as_ref()),
                ];
                (Tag::TripleTerm, key::encode_triple(components).to_vec())
            }
        };
        if let Some(&ordinal) = self.ordinals.get(&(tag, key.clone())) {
            return VertexId::new(tag, ordinal);
        }
        let next = self.counts.entry(tag as u8).or_default();
        let id = VertexId::new(tag, *next);
        *next += 1;
        self.ordinals.insert((tag, key), id.payload());
        let term = self.renamed(term);
        self.terms.insert(id, term);
        id
    }

    /// The term with the blank labels that the store gives.
    fn renamed(&mut self, term: TermRef<'_>) -> Term {
        match term {
            TermRef::BlankNode(_) => {
                let id = self.id(term);
                BlankNode::new(format!("b{}", id.payload())).unwrap().into()
            }
            TermRef::Triple(triple) => {
                let subject = match self.renamed(triple.subject.as_ref().into()) {
                    Term::BlankNode(blank) => NamedOrBlankNode::from(blank),
                    Term::NamedNode(iri) => iri.into(),
                    other => panic!("{other} is no subject"),
                };
                let object = self.renamed(triple.object.as_ref());
                Triple::new(subject, triple.predicate.clone(), object).into()
            }
            other => other.into_owned(),
        }
    }

    /// Compares all that a store answers with what is expected.
    pub fn check(&self, snapshot: &Snapshot, dictionary: &Dictionary) {
        for direction in [Direction::Out, Direction::In] {
            let found = crate::common::dump(snapshot, direction).unwrap();
            assert!(
                found == self.quads,
                "{direction:?}: {} of {}",
                found.len(),
                self.quads.len()
            );
        }
        let ids: Vec<VertexId> = self.terms.keys().copied().collect();
        let mut terms = TermBuffer::new();
        dictionary.terms(&ids, &mut terms).unwrap();
        for ((id, expected), found) in self.terms.iter().zip(terms.iter()) {
            // Language tags are in lower case.
            assert_eq!(found.unwrap().to_string(), expected.to_string(), "{id:?}");
        }
        let found: Vec<TermRef<'_>> = terms.iter().map(Option::unwrap).collect();
        let mut back = Vec::new();
        dictionary.ids(&found, &mut back).unwrap();
        assert!(back.into_iter().eq(ids.into_iter().map(Some)));
        self.check_predicates(snapshot);
    }

    fn check_predicates(&self, snapshot: &Snapshot) {
        let mut numbered = self.predicates.clone();
        let is_type = |id: &VertexId| self.terms[id].to_string() == format!("<{RDF_TYPE}>");
        let rdf_type = numbered
            .iter()
            .position(is_type)
            .map(|at| numbered.remove(at));
        for (at, &vertex) in numbered.iter().enumerate() {
            assert_eq!(snapshot.predicate_id(vertex).unwrap().0, 2 + at as u32);
        }
        if let Some(vertex) = rdf_type {
            assert_eq!(snapshot.predicate_id(vertex), Some(rdf::PredicateId::TYPE));
        }
    }
}

pub fn sim_disk() -> SimDisk {
    SimDisk::new(1, Path::new("/data"), SimFaults::default())
}

pub fn load(disk: &dyn Disk, files: &[String], options: &LoadOptions) -> LoadReport {
    load_into(disk, Path::new(STORE), nquads(files), options, unwatched()).unwrap()
}

/// The files of the current generation.
pub fn bytes(disk: &dyn Disk) -> BTreeMap<String, Vec<u8>> {
    let opened = store::directory::open(disk, Path::new(STORE)).unwrap();
    let directory = opened.directory();
    let names = disk
        .list(directory)
        .unwrap()
        .into_iter()
        .filter(|name| name != "MANIFEST");
    names
        .map(|name| {
            let region = disk.map(&directory.join(&name)).unwrap();
            (name, region.bytes().to_vec())
        })
        .collect()
}

pub fn open(disk: &dyn Disk) -> (Snapshot, Dictionary) {
    let opened = store::directory::open(disk, Path::new(STORE)).unwrap();
    store::load::open_parts(&opened).unwrap()
}
