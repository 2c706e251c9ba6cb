//! Nodes without an engine: plain values that apply the same records, one at a time, in batches, over checkpoints and
//! opened again. In the end, and on the way, they hold the same quads with the same ids, the same dictionary and the
//! same counts, and these quads as terms are those of a set that is kept beside.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use crate::common::{Numbers, dump};

use oxrdf::{BlankNode, Literal, NamedNode, Term, TermRef, Triple, vocab};
use rdf::dictionary::Dictionary;
use rdf::placement::Placement;
use rdf::{Direction, Lexicon, PredicateId, TermBuffer, VertexId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use store::cut::Cut;
use store::delta::dictionary::{Spilling, write_dictionary};
use store::delta::{
    Account, ApplyError, GraphVersion, Replay, Replayed, ResolveError, Unlimited, merge, write_base,
};
use store::directory::{begin, open};
use store::disk::{SimDisk, SimFaults};
use store::load::open_parts;
use store::part_of::holder;
use store::parts::MemoryParts;
use store::record::{Blank, ChunkWriter, PlaceQuad, RecordHead};
use store::testing::snapshot_of;
use store::{GraphScope, GraphView, Prefixes, SegmentKey, Snapshot};

const STORE: &str = "/data/store";
/// Quads of which a record is cut into layers.
const LAYER_QUADS: usize = 1 << 18;

/// A quad as terms.
type TermQuad = ([Term; 3], Option<Term>);
/// A quad by the names of its terms: subject, predicate, object, graph; 0 is the default graph.
type NamedQuad = [u32; 4];

fn iri(kind: &str, number: u64) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{kind}{number}"))
}

fn blank(number: u64) -> Term {
    BlankNode::new_unchecked(format!("b{number}")).into()
}

/// Terms, and a number for each: an id that no dictionary gave.
#[derive(Default)]
struct Names {
    /// The terms by their names less one.
    terms: Vec<Term>,
    by_text: HashMap<String, u32>,
}

impl Names {
    fn name(&mut self, term: &Term) -> u32 {
        let next = self.terms.len() as u32 + 1;
        let name = *self.by_text.entry(term.to_string()).or_insert(next);
        if name == next {
            self.terms.push(term.clone());
        }
        name
    }

    fn quad(&mut self, (parts, graph): &TermQuad) -> NamedQuad {
        let [subject, predicate, object] = parts.each_ref().map(|term| self.name(term));
        [
            subject,
            predicate,
            object,
            graph.as_ref().map_or(0, |graph| self.name(graph)),
        ]
    }

    fn terms(&self, quad: &NamedQuad) -> TermQuad {
        let term = |name: u32| self.terms[name as usize - 1].clone();
        let [subject, predicate, object, graph] = *quad;
        let graph = (graph != 0).then(|| term(graph));
        ([subject, predicate, object].map(term), graph)
    }
}

/// Random records, and what they come to.
struct History {
    numbers: Numbers,
    names: Names,
    /// The naive graph.
    quads: BTreeSet<NamedQuad>,
    /// Blank nodes that there are.
    blanks: u64,
    records: Vec<Vec<u8>>,
    /// The naive graph after each record; the empty one first.
    states: Vec<BTreeSet<NamedQuad>>,
}

impl History {
    fn new(seed: u64) -> History {
        History {
            numbers: Numbers::new(seed),
            names: Names::default(),
            quads: BTreeSet::new(),
            blanks: 0,
            records: Vec::new(),
            states: vec![BTreeSet::new()],
        }
    }

    /// A node of the record that is being made, or one that there was.
    fn node(&mut self, blanks: u64) -> Term {
        match self.numbers.below(5) {
            0 if blanks > 0 => blank(self.numbers.below(blanks)),
            // Rather new ones.
            1 if blanks > 0 => blank(blanks - 1),
            _ => iri("n", self.numbers.below(40)).into(),
        }
    }

    fn object(&mut self, blanks: u64) -> Term {
        let number = self.numbers.below(30);
        match self.numbers.below(8) {
            0 => Literal::from(number).into(),
            1 => Literal::new_simple_literal(format!("text {number}")).into(),
            2 => Literal::new_language_tagged_literal_unchecked(format!("{number}"), "en").into(),
            3 => {
                let inner = Triple::new(iri("n", number), iri("p", 1), Literal::from(number % 3));
                Triple::new(iri("n", number % 3), iri("p", 0), Term::from(inner)).into()
            }
            _ => self.node(blanks),
        }
    }

    fn quad(&mut self, blanks: u64) -> TermQuad {
        // `rdf:type` is met after a while only.
        let (predicate, object) = match self.numbers.below(6) {
            0 if self.records.len() > 8 => {
                let class = iri("class", self.numbers.below(3));
                (vocab::rdf::TYPE.into_owned(), class.into())
            }
            number => (iri("p", number), self.object(blanks)),
        };
        let graph = match self.numbers.below(3) {
            0 => None,
            1 => Some(iri("g", self.numbers.below(4)).into()),
            _ => Some(self.node(blanks)),
        };
        ([self.node(blanks), predicate.into(), object], graph)
    }

    /// A chunk of a few quads: new, there already, deleted, in both lists.
    fn chunk(&mut self, blanks: u64) -> [Vec<TermQuad>; 2] {
        let count = [0, 1, 1, 10, 60][self.numbers.below(5) as usize];
        let mut deletes: Vec<TermQuad> = (0..count / 3).map(|_| self.quad(blanks)).collect();
        let mut inserts: Vec<TermQuad> = (0..count).map(|_| self.quad(blanks)).collect();
        let share = [0, 5, 50][self.numbers.below(3) as usize];
        for quad in &self.quads {
            if self.numbers.below(100) < share {
                deletes.push(self.names.terms(quad));
            } else if self.numbers.below(50) == 0 {
                inserts.push(self.names.terms(quad));
            }
        }
        [deletes, inserts]
    }

    /// Makes the next record of some chunks.
    fn small(&mut self) {
        let blanks = self.blanks + [0, 0, 1, 5][self.numbers.below(4) as usize];
        let chunks: Vec<_> = (0..=self.numbers.below(3))
            .map(|_| self.chunk(blanks))
            .collect();
        self.push(blanks, &chunks);
    }

    /// Makes a record that is cut into layers: as many quads as a layer has, then a chunk that deletes some of them.
    fn large(&mut self) {
        let side = LAYER_QUADS.isqrt() as u64;
        assert_eq!(side * side, LAYER_QUADS as u64, "a square of quads");
        let from = self.numbers.below(20);
        let quad = |number: u64| {
            let (subject, object) = (from + number / side, number % side);
            let parts = [
                iri("n", subject).into(),
                iri("p", 7).into(),
                Literal::from(object).into(),
            ];
            (parts, None)
        };
        let inserts: Vec<TermQuad> = (0..LAYER_QUADS as u64).map(quad).collect();
        let deletes = (0..1000)
            .map(|_| quad(self.numbers.below(LAYER_QUADS as u64)))
            .collect();
        let blanks = self.blanks + 1;
        let more = self.chunk(blanks)[1].clone();
        self.push(blanks, &[[vec![], inserts], [deletes, more]]);
    }

    fn push(&mut self, blanks: u64, chunks: &[[Vec<TermQuad>; 2]]) {
        let first = self.blanks;
        let number = self.records.len() as u64 + 1;
        let mut record = head(number, first, blanks - first);
        let mut writer = ChunkWriter::new(1);
        for [deletes, inserts] in chunks {
            for quad in deletes {
                let places = places(&mut writer, quad, first);
                writer.delete(places);
                self.quads.remove(&self.names.quad(quad));
            }
            for quad in inserts {
                let places = places(&mut writer, quad, first);
                writer.insert(places);
                self.quads.insert(self.names.quad(quad));
            }
            record.extend(writer.finish());
        }
        self.blanks = blanks;
        self.records.push(record);
        self.states.push(self.quads.clone());
    }
}

fn head(number: u64, first_blank: u64, blanks: u64) -> Vec<u8> {
    let head = RecordHead {
        number,
        first_blank,
        blanks,
        ..RecordHead::default()
    };
    head.encode()
}

/// A quad by the places of its terms; blank nodes from `first` on are the record's own.
fn places(writer: &mut ChunkWriter, (parts, graph): &TermQuad, first: u64) -> PlaceQuad {
    let mut known = |label: &str| {
        let number: u64 = label.strip_prefix('b')?.parse().ok()?;
        Some(match number.checked_sub(first) {
            Some(new) => Blank::New(new),
            None => Blank::Stored(number),
        })
    };
    let mut place = |term: &Term| writer.term(term.as_ref(), &mut known).unwrap();
    let parts = parts.each_ref().map(&mut place);
    (parts, graph.as_ref().map(place))
}

/// A node: its state, and nothing else.
struct Node {
    graph: GraphVersion,
}

impl Node {
    fn empty() -> Node {
        let dictionary = Dictionary::empty().unwrap();
        let graph = GraphVersion::new(snapshot_of(&[], None), dictionary, 0).unwrap();
        Node { graph }
    }

    fn number(&self) -> u64 {
        self.graph.snapshot.number()
    }

    /// Applies the next records of a history, up to this one; gives the names of the graphs that changed.
    fn apply(&mut self, history: &History, last: u64) -> Option<BTreeSet<u32>> {
        let mut replay = Replay::new(self.graph.clone(), Unlimited);
        for number in self.number() + 1..=last {
            replay
                .apply(number, &history.records[number as usize - 1])
                .unwrap();
        }
        let Replayed { graph, changed, .. } = replay.finish().unwrap();
        self.graph = graph;
        let graphs = changed.graphs()?;
        let names = names_of(history, &self.graph, graphs.iter().copied());
        Some(graphs.iter().map(|graph| names[graph]).collect())
    }

    /// What a checkpoint in memory leaves, made of an earlier state.
    fn checkpointed(&mut self, earlier: &GraphVersion) {
        let files = MemoryParts::new();
        write_base(&earlier.snapshot, &Prefixes::default(), &files, &|| false).unwrap();
        let base = Snapshot::open(&files.freeze().unwrap()).unwrap();
        let later = self.graph.snapshot.layers()[earlier.snapshot.layers().len()..].to_vec();
        let live = self.graph.dictionary.live();
        self.graph = self.graph.rebased(Arc::new(base), later, live);
    }

    /// The node after it was written as a generation and opened again.
    fn reopened(&self) -> Node {
        let disk = SimDisk::new(1, Path::new("/data"), SimFaults::default());
        let generation = begin(&disk, Path::new(STORE)).unwrap();
        let no = || false;
        write_base(&self.graph.snapshot, &Prefixes::default(), &generation, &no).unwrap();
        write_dictionary(&self.graph.dictionary, &generation, Spilling::Never, &no).unwrap();
        generation.commit(self.graph.manifest_counts()).unwrap();
        let opened = open(&disk, Path::new(STORE)).unwrap();
        let (snapshot, dictionary) = open_parts(&opened).unwrap();
        let number = opened.manifest().snapshot();
        let graph = GraphVersion::new(snapshot, dictionary, number).unwrap();
        graph.verify().unwrap();
        assert!(graph.damage().is_none() && graph.snapshot.layers().is_empty());
        assert_eq!(graph.manifest_counts(), self.graph.manifest_counts());
        Node { graph }
    }

    /// Its quads as ids; the same in both directions, and as many as it says.
    fn ids(&self) -> BTreeSet<store::testing::IdQuad> {
        let out = dump(&self.graph.snapshot, Direction::Out).unwrap();
        let into = dump(&self.graph.snapshot, Direction::In).unwrap();
        assert!(out == into, "both directions hold the same quads");
        assert_eq!(out.len() as u64, self.graph.quads);
        assert_eq!(self.graph.snapshot.quads().unwrap(), self.graph.quads);
        out
    }

    /// Predicates, keys, vertices and named graphs are those of its quads, though they are found otherwise than lists.
    fn check_names(&self, quads: &BTreeSet<store::testing::IdQuad>) {
        let version = &self.graph.snapshot;
        let graphs: BTreeSet<VertexId> = quads.iter().map(|quad| quad.3).collect();
        let graphs = graphs
            .into_iter()
            .filter(|graph| *graph != GraphScope::DEFAULT_GRAPH);
        assert!(
            version.named_graphs().unwrap().into_iter().eq(graphs),
            "named graphs"
        );
        let predicates: BTreeSet<VertexId> = quads.iter().map(|quad| quad.1).collect();
        let found = version.predicates().into_iter();
        let found = found.map(|number| version.predicate_vertex(number));
        assert!(found.collect::<BTreeSet<_>>() == predicates, "predicates");
        for direction in [Direction::Out, Direction::In] {
            let mut keys: BTreeMap<VertexId, BTreeSet<VertexId>> = BTreeMap::new();
            for quad in quads {
                let key = [quad.0, quad.2][usize::from(direction == Direction::In)];
                keys.entry(quad.1).or_default().insert(key);
                keys.entry(VertexId::UNBOUND).or_default().insert(key);
            }
            for (name, expected) in keys {
                let predicate = match name {
                    VertexId::UNBOUND => PredicateId::SIGNATURE,
                    name => version.predicate_id(name).unwrap(),
                };
                let segment = SegmentKey {
                    predicate,
                    direction,
                };
                let mut found = Vec::new();
                version
                    .keys(segment)
                    .unwrap()
                    .decode(0, u64::MAX, &mut found)
                    .unwrap();
                assert!(found.into_iter().eq(expected), "keys of {segment:?}");
            }
        }
    }

    fn check(&self, history: &History, case: &str) {
        let ids = self.ids();
        self.check_names(&ids);
        let all = ids.iter().flat_map(|quad| [quad.0, quad.1, quad.2, quad.3]);
        let names = names_of(history, &self.graph, all);
        let found: BTreeSet<NamedQuad> = ids
            .iter()
            .map(|quad| [quad.0, quad.1, quad.2, quad.3].map(|id| names[&id]))
            .collect();
        let expected = &history.states[self.number() as usize];
        let missing = expected.difference(&found).next();
        let wrong = found.difference(expected).next();
        assert!(
            missing.is_none() && wrong.is_none() && found.len() == ids.len(),
            "{case}, record {}: {missing:?} is missing, {wrong:?} is there",
            self.number()
        );
    }

    /// The same state as another one, which is of the same record.
    fn check_same(&self, other: &Node, case: &str) {
        assert_eq!(self.number(), other.number(), "{case}");
        let ids = self.ids();
        assert!(ids == other.ids(), "{case}: other quads");
        self.check_names(&ids);
        assert_eq!(
            self.graph.manifest_counts(),
            other.graph.manifest_counts(),
            "{case}"
        );
        assert_eq!(all_terms(&self.graph), all_terms(&other.graph), "{case}");
        assert_eq!(
            self.graph.snapshot.type_vertex(),
            other.graph.snapshot.type_vertex(),
            "{case}"
        );
    }
}

/// The names of the terms of ids.
fn names_of(
    history: &History,
    graph: &GraphVersion,
    ids: impl Iterator<Item = VertexId>,
) -> HashMap<VertexId, u32> {
    let name = |text: String| match text.as_str() {
        "" => 0,
        text => history.names.by_text[text],
    };
    let texts = texts_of(graph, ids).into_iter();
    texts.map(|(id, text)| (id, name(text))).collect()
}

/// The terms of ids; no text for the default graph.
fn texts_of(
    graph: &GraphVersion,
    ids: impl Iterator<Item = VertexId>,
) -> HashMap<VertexId, String> {
    let ids: BTreeSet<VertexId> = ids.filter(|id| *id != GraphScope::DEFAULT_GRAPH).collect();
    let ids: Vec<VertexId> = ids.into_iter().collect();
    let mut terms = TermBuffer::new();
    graph.dictionary.terms(&ids, &mut terms).unwrap();
    let terms = terms.iter().map(|term| term.unwrap().to_string());
    let mut texts: HashMap<VertexId, String> = ids.iter().copied().zip(terms).collect();
    texts.insert(GraphScope::DEFAULT_GRAPH, String::new());
    texts
}

/// Every term of a dictionary, by its id.
fn all_terms(graph: &GraphVersion) -> BTreeMap<VertexId, String> {
    use rdf::Tag::{Blank, Iri, Literal, TripleTerm};
    let counts = graph.dictionary.counts();
    let kinds = [
        (Iri, counts.iris),
        (Blank, counts.blank_nodes),
        (Literal, counts.literals),
        (TripleTerm, counts.triple_terms),
    ];
    let ids = kinds
        .into_iter()
        .flat_map(|(tag, count)| (0..count).map(move |number| VertexId::new(tag, number)));
    texts_of(graph, ids).into_iter().collect()
}

/// The graphs whose quads differ between two states.
fn graphs_between(history: &History, from: u64, to: u64) -> BTreeSet<u32> {
    let [from, to] = [from, to].map(|number| &history.states[number as usize]);
    let changed = from.symmetric_difference(to);
    changed.map(|quad| quad[3]).collect()
}

#[test]
fn nodes_that_apply_the_same_records_are_the_same() {
    for seed in testkit::seeds::chosen(12, 500) {
        let case = |node: &str| format!("seed {seed}, {node}");
        let mut history = History::new(seed);
        for _ in 0..30 {
            history.small();
        }
        let [mut single, mut batched, mut restarted] =
            [Node::empty(), Node::empty(), Node::empty()];
        let mut earlier = batched.graph.clone();
        let mut numbers = Numbers::new(seed);
        let end = history.records.len() as u64;
        let mut last = 0;
        while last < end {
            let first = last + 1;
            last = end.min(last + 1 + numbers.below(6));
            for number in first..=last {
                let changed = single.apply(&history, number);
                let expected = graphs_between(&history, number - 1, number);
                assert_eq!(changed, Some(expected), "{}, {number}", case("single"));
                // A record that names no quad makes none.
                assert!(single.graph.snapshot.layers().len() as u64 <= number);
                assert_eq!(single.number(), number);
            }
            let changed = batched.apply(&history, last);
            let expected = graphs_between(&history, first - 1, last);
            assert_eq!(changed, Some(expected), "{}, {last}", case("batched"));
            restarted.apply(&history, last);
            if numbers.below(3) == 0 {
                restarted = restarted.reopened();
            }
            if numbers.below(3) == 0 {
                batched.checkpointed(&earlier);
                earlier = batched.graph.clone();
            }
            single.check(&history, &case("single"));
            batched.check_same(&single, &case("batched"));
            restarted.check(&history, &case("restarted"));
            restarted.check_same(&single, &case("restarted"));
        }
    }
}

/// A node of three that holds a part.
struct Part {
    node: Node,
    number: u16,
}

impl Part {
    /// The parts of a graph without a quad.
    fn empty(placement: &Placement) -> Vec<Part> {
        let whole = snapshot_of(&[], None);
        let cut = Cut::new(&whole, placement.clone(), 1).unwrap();
        let part = |(number, part)| {
            let dictionary = Dictionary::empty().unwrap();
            let graph = GraphVersion::new(part, dictionary, 0).unwrap();
            let node = Node { graph };
            Part { node, number }
        };
        (0..).zip(cut.in_memory().unwrap()).map(part).collect()
    }

    /// Sums up some of its layers.
    fn merged(&mut self, numbers: &mut Numbers) {
        let mut layers = self.node.graph.snapshot.layers().to_vec();
        if layers.len() > 1 {
            let from = numbers.below(layers.len() as u64 - 1) as usize;
            let merged = merge(&layers[from..], &|| false).unwrap();
            layers.splice(from.., [Arc::new(merged)]);
            let version = self.node.graph.snapshot.with_layers(layers);
            self.node.graph.snapshot = version;
        }
    }

    /// It has those halves of the whole's quads that it owns, and no others.
    fn check(&self, whole: &GraphVersion, graph: &GraphVersion, placement: &Placement, case: &str) {
        let kind = whole.snapshot.type_vertex();
        assert_eq!(graph.snapshot.type_vertex(), kind, "{case}");
        let quads = dump(&whole.snapshot, Direction::Out).unwrap();
        for direction in [Direction::Out, Direction::In] {
            let is_mine = |quad: &&store::testing::IdQuad| {
                let (key, neighbour) = match direction {
                    Direction::Out => (quad.0, quad.2),
                    Direction::In => (quad.2, quad.0),
                };
                let is_type = Some(quad.1) == kind;
                holder(placement, direction, is_type, key, neighbour) == self.number
            };
            let expected: BTreeSet<_> = quads.iter().filter(is_mine).copied().collect();
            let found = dump(&graph.snapshot, direction).unwrap();
            assert!(found == expected, "{case}: {direction:?}");
            if direction == Direction::Out {
                assert_eq!(graph.quads, expected.len() as u64, "{case}");
                assert_eq!(graph.snapshot.quads().unwrap(), graph.quads, "{case}");
            }
        }
    }
}

/// Three nodes apply the same records, each what it owns of them, over layers, merges, checkpoints and restarts of its own;
/// a number that was read before is read beside the later ones.
#[test]
fn parts_apply_what_they_own_of_the_same_records() {
    for seed in testkit::seeds::chosen(8, 300) {
        let mut numbers = Numbers::new(seed);
        let placement = Placement::in_turn(3, numbers.below(3) as u8, 32).unwrap();
        let mut history = History::new(seed);
        (0..30).for_each(|_| history.small());
        let (mut whole, mut parts) = (Node::empty(), Part::empty(&placement));
        let end = history.records.len() as u64;
        let mut last = 0;
        while last < end {
            last = end.min(last + 1 + numbers.below(6));
            let before = whole.graph.clone();
            let earlier = parts.iter().map(|part| part.node.graph.clone());
            let earlier: Vec<GraphVersion> = earlier.collect();
            whole.apply(&history, last);
            for (part, earlier) in parts.iter_mut().zip(&earlier) {
                part.node.apply(&history, last);
                match numbers.below(5) {
                    0 => part.merged(&mut numbers),
                    1 => part.node.checkpointed(earlier),
                    2 => part.node = part.node.reopened(),
                    _ => {}
                }
            }
            for (part, earlier) in parts.iter().zip(&earlier) {
                let case = format!("seed {seed}, node {}, record {last}", part.number);
                let graph = &part.node.graph;
                part.check(&whole.graph, graph, &placement, &case);
                part.check(&before, earlier, &placement, &format!("{case}, before"));
                assert_eq!(all_terms(graph), all_terms(&whole.graph), "{case}");
            }
        }
    }
}

#[test]
fn large_records_become_several_layers_and_lead_to_the_same() {
    let mut history = History::new(1);
    (0..10).for_each(|_| history.small());
    history.large();
    history.small();
    history.large();
    history.small();
    let end = history.records.len() as u64;
    let [mut single, mut batched, mut restarted] = [Node::empty(), Node::empty(), Node::empty()];
    (1..=end).for_each(|number| drop(single.apply(&history, number)));
    batched.apply(&history, end);
    restarted.apply(&history, 11);
    restarted = restarted.reopened();
    restarted.apply(&history, end);
    for large in [11, 13] {
        for node in [&single, &batched] {
            let layers = node.graph.snapshot.layers().iter();
            let of_it = layers.filter(|layer| layer.commits() == (large..=large));
            assert!(of_it.count() >= 2, "record {large} is cut");
        }
    }
    single.check(&history, "single");
    batched.check_same(&single, "batched");
    restarted.check_same(&single, "restarted");
}

/// An account that grants so much.
#[derive(Debug, Default)]
struct Purse {
    granted: u64,
    peak: u64,
    limit: u64,
}

impl Account for Purse {
    type Refusal = String;

    fn grow(&mut self, bytes: u64) -> Result<(), String> {
        if self.granted + bytes > self.limit {
            return Err(format!("{bytes} bytes are too many"));
        }
        self.granted += bytes;
        self.peak = self.peak.max(self.granted);
        Ok(())
    }

    fn shrink(&mut self, bytes: u64) {
        self.granted = self.granted.checked_sub(bytes).unwrap();
    }
}

fn applied(
    node: &Node,
    history: &History,
    limit: u64,
) -> Result<Replayed<Purse>, ApplyError<String>> {
    let purse = Purse {
        limit,
        ..Purse::default()
    };
    let mut replay = Replay::new(node.graph.clone(), purse);
    for (record, number) in history.records.iter().zip(1..).skip(node.number() as usize) {
        replay.apply(number, record)?;
    }
    replay.finish()
}

#[test]
fn memory_is_asked_for_first_and_what_stays_is_what_layers_and_terms_hold() {
    let mut history = History::new(3);
    (0..20).for_each(|_| history.small());
    let mut node = Node::empty();
    node.apply(&history, 10);
    let (layers, terms) = held(&node.graph);
    let replayed = applied(&node, &history, u64::MAX).unwrap();
    let (more_layers, more_terms) = held(&replayed.graph);
    let Purse { granted, peak, .. } = replayed.account;
    assert_eq!(granted, more_layers - layers + more_terms - terms);
    let reading: usize = history.records[10..].iter().map(Vec::len).sum();
    assert!(peak > granted && peak > reading as u64 * 32, "{peak}");

    // Whatever is refused, the node is as it was and goes on.
    let before = node.ids();
    for limit in (0..peak).step_by(1 + peak as usize / 50).chain([peak - 1]) {
        let refused = applied(&node, &history, limit).map(|replayed| replayed.account);
        let error = refused.unwrap_err();
        assert!(
            matches!(&error, ApplyError::Refused(why) if why.ends_with("are too many")),
            "{limit}: {error}"
        );
    }
    assert!(node.ids() == before && node.number() == 10);
    node.graph = applied(&node, &history, u64::MAX).unwrap().graph;
    node.check(&history, "after refusals");
}

/// Bytes of layers, and of terms in memory.
fn held(graph: &GraphVersion) -> (u64, u64) {
    let layers = graph.snapshot.layers().iter().map(|layer| layer.bytes());
    (layers.sum(), graph.dictionary.live().bytes())
}

#[test]
fn what_is_no_record_is_an_error_with_its_number_and_place() {
    let mut history = History::new(5);
    (0..3).for_each(|_| history.small());
    let mut node = Node::empty();
    node.apply(&history, 2);
    let applied = |record: &[u8]| {
        let mut replay = Replay::new(node.graph.clone(), Unlimited);
        replay.apply(3, record).unwrap_err()
    };
    assert_eq!(
        applied(&[9]).to_string(),
        "record 3 of the log: a record of changes: byte 1: a version that this program does not know"
    );
    let elsewhere = applied(&head(4, 0, 0)).to_string();
    assert!(
        elsewhere.ends_with("byte 1: the number of its place in the log"),
        "{elsewhere}"
    );
    // Of an IRI and a literal.
    let chunk = |parts| {
        let mut writer = ChunkWriter::new(1);
        let mut place = |term: TermRef<'_>| writer.term(term, &mut |_| None).unwrap();
        place(iri("n", 1).as_ref().into());
        place(Literal::from("text").as_ref().into());
        writer.insert((parts, None));
        writer.finish()
    };
    for parts in [[1, 0, 0], [0, 1, 0]] {
        let error = applied(&[head(3, 0, 0), chunk(parts)].concat());
        assert!(
            matches!(error, ApplyError::Quads(ResolveError::NotRdf)),
            "{error}"
        );
    }
}
