//! Random graphs whose segments have every form, and random queries over them.
//!
//! Ids are chosen, not given by a dictionary: close together, here and there in a range, ranges apart, and beyond 32 bits, so
//! that key indexes have all kinds of chunks, and columns one plane, several, or ids of 8 bytes. Lists are short, and some long
//! enough to be kept as an index. An IRI's text is its number, so a query names any vertex.

use gpu::Over;
use oxrdf::{BlankNode, Literal, NamedNode, Term, TermRef};
use query::plan::Plan;
use query::statistics::{PredicateStatistics, Statistics};
use query::{ParseOptions, PlanOptions, Planner};
use rdf::{Direction, Lexicon, LexiconError, Tag, TermBuffer, VertexId, inline};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use store::Snapshot;
use store::delta::layer::KeySet;
use store::delta::{KeyChanges, Layer, Version};
use store::testing::{IdQuad, snapshot_of, version_of};
use store::view::GraphScope;
use testkit::random::Random;

const PREDICATES: usize = 5;

pub fn iri(number: u64) -> VertexId {
    VertexId::new(Tag::Iri, number)
}

/// A graph and some of its vertices.
pub struct World {
    pub snapshot: Arc<Snapshot>,
    /// It without layers, and with more and more of them.
    versions: Vec<Version>,
    /// Which of them is looked at.
    moment: Cell<usize>,
    vertices: Vec<VertexId>,
    /// IRIs with lists that are kept as an index, with their predicates.
    hubs: Vec<(usize, VertexId)>,
    /// Sizes of predicates, without layers.
    sizes: Statistics,
    /// Named graphs that some edges are in.
    named: Vec<VertexId>,
    /// Whether the default graph is the merge of all.
    is_merged: bool,
}

fn predicate(number: usize) -> VertexId {
    iri(1 << 40 | number as u64)
}

fn text_of(id: VertexId) -> String {
    format!("<http://e/{}>", id.payload())
}

fn vertices(random: &mut Random) -> Vec<VertexId> {
    let mut vertices = Vec::new();
    let count = random.between(3, 400);
    for _ in 0..random.between(1, 4) {
        let base = random.bits() >> random.between(24, 63);
        let base = base % (1 << 39);
        let spread = *random.pick(&[1, 3, 40, 5000, 70_000, 1 << 20, 1 << 34]);
        for _ in 0..count {
            let number = base + random.bits() % (spread * count as u64);
            vertices.push(iri(number));
        }
    }
    if random.chance(40) {
        for _ in 0..count {
            let tag = *random.pick(&[Tag::Literal, Tag::Blank, Tag::Integer]);
            vertices.push(VertexId::new(tag, random.bits() % 3000));
        }
    }
    vertices
}

/// Some commits after these quads, each of which takes some away, old ones or young, and adds some, new ones or some that went.
fn layers(
    random: &mut Random,
    quads: Vec<IdQuad>,
    vertices: &[VertexId],
    type_vertex: Option<VertexId>,
) -> Vec<Arc<Layer>> {
    let mut there: BTreeSet<IdQuad> = quads.into_iter().collect();
    let mut gone: Vec<IdQuad> = Vec::new();
    let mut layers = Vec::new();
    let most = *random.pick(&[1, 10, 200]);
    let predicates = random.between(1, PREDICATES);
    for commit in 1..=random.between(1, 4) as u64 {
        let before = there.clone();
        for _ in 0..random.between(1, most) {
            match random.below(5) {
                0 | 1 => {
                    let from = (
                        *random.pick(vertices),
                        predicate(0),
                        VertexId::from_bits(0),
                        VertexId::from_bits(0),
                    );
                    let next = there
                        .range(from..)
                        .find(|quad| quad.1 < predicate(predicates));
                    if let Some(quad) = next.copied() {
                        there.remove(&quad);
                        gone.push(quad);
                    }
                }
                2 if !gone.is_empty() => {
                    there.insert(*random.pick(&gone));
                }
                _ => {
                    let (subject, object) = (*random.pick(vertices), *random.pick(vertices));
                    if !subject.has_tag(Tag::Literal) && !subject.has_tag(Tag::Integer) {
                        let number = random.below(predicates);
                        there.insert((
                            subject,
                            predicate(number),
                            object,
                            GraphScope::DEFAULT_GRAPH,
                        ));
                    }
                }
            }
        }
        let adds: Vec<IdQuad> = there.difference(&before).copied().collect();
        let dels: Vec<IdQuad> = before.difference(&there).copied().collect();
        let keys = gone_keys(&before, &there);
        let layer = Layer::of(&adds, &dels, keys, type_vertex, commit..=commit);
        layers.push(Arc::new(layer));
    }
    layers
}

/// The keys, and the named graphs, that have lost their last edge.
fn gone_keys(before: &BTreeSet<IdQuad>, after: &BTreeSet<IdQuad>) -> KeyChanges {
    let names = |quads: &BTreeSet<IdQuad>| {
        let mut names: BTreeSet<(KeySet, VertexId)> = BTreeSet::new();
        for &(subject, predicate, object, _) in quads {
            for name in [predicate, VertexId::UNBOUND] {
                names.insert(((name, Direction::Out), subject));
                names.insert(((name, Direction::In), object));
            }
        }
        names
    };
    let mut changes = KeyChanges::default();
    for (set, key) in names(before).difference(&names(after)) {
        changes.gone.entry(*set).or_default().push(*key);
    }
    let graphs = |quads: &BTreeSet<IdQuad>| -> BTreeSet<VertexId> {
        let named = quads.iter().map(|quad| quad.3);
        named
            .filter(|graph| *graph != GraphScope::DEFAULT_GRAPH)
            .collect()
    };
    changes.graphs_gone = graphs(before).difference(&graphs(after)).copied().collect();
    changes
}

/// Puts edges into named graphs, which it gives: all of a predicate into one, each of a predicate into one of several, or some into several.
fn place(random: &mut Random, quads: &mut Vec<IdQuad>) -> Vec<VertexId> {
    let named = [iri(7), iri(1 << 41), iri(8)];
    let ways: Vec<usize> = (0..PREDICATES)
        .map(|_| *random.pick(&[0, 1, 1, 1, 2, 2, 3]))
        .collect();
    let mut again = Vec::new();
    for quad in quads.iter_mut() {
        let place = (quad.0.bits() ^ quad.2.bits()) as usize % (named.len() + 1);
        let by_ends = named.get(place).copied();
        let way = ways[(quad.1.payload() & 0xff) as usize];
        let graph = match way {
            0 => None,
            1 => named.first().copied(),
            _ => by_ends,
        };
        quad.3 = graph.unwrap_or(GraphScope::DEFAULT_GRAPH);
        if way == 3 && random.chance(5) {
            again.push((quad.0, quad.1, quad.2, *random.pick(&named)));
        }
    }
    quads.extend(again);
    named.to_vec()
}

impl World {
    pub fn random(random: &mut Random) -> World {
        let vertices = vertices(random);
        let mut quads: Vec<IdQuad> = Vec::new();
        let mut hubs = Vec::new();
        for number in 0..PREDICATES {
            let is_functional = random.chance(30);
            let subjects = random.between(1, 600);
            for _ in 0..subjects {
                let subject = *random.pick(&vertices);
                if subject.has_tag(Tag::Literal) || subject.has_tag(Tag::Integer) {
                    continue;
                }
                let degree = if is_functional {
                    1
                } else {
                    random.between(1, 4)
                };
                for _ in 0..degree {
                    let object = *random.pick(&vertices);
                    quads.push((
                        subject,
                        predicate(number),
                        object,
                        GraphScope::DEFAULT_GRAPH,
                    ));
                }
            }
            if random.chance(40) {
                let hub = *random.pick(&vertices);
                if hub.has_tag(Tag::Iri) {
                    hubs.push((number, hub));
                }
                for member in 0..random.between(900, 1600) as u64 {
                    let subject = iri(member * random.between(1, 3) as u64);
                    quads.push((subject, predicate(number), hub, GraphScope::DEFAULT_GRAPH));
                }
            }
        }
        let named = if random.chance(8) {
            place(random, &mut quads)
        } else {
            Vec::new()
        };
        let type_vertex = random.chance(50).then(|| predicate(0));
        let snapshot = Arc::new(snapshot_of(&quads, type_vertex));
        let layers = match random.below(2) {
            0 => Vec::new(),
            _ => layers(random, quads, &vertices, type_vertex),
        };
        World {
            versions: (0..=layers.len())
                .map(|count| version_of(&snapshot, &layers[..count], type_vertex))
                .collect(),
            moment: Cell::new(layers.len()),
            sizes: sizes(&snapshot),
            is_merged: !named.is_empty() && random.chance(85),
            named,
            snapshot,
            vertices,
            hubs,
        }
    }

    /// What is looked at.
    pub fn version(&self) -> &Version {
        &self.versions[self.moment.get()]
    }

    /// Another moment is looked at, mostly the last one.
    pub fn turn(&self, random: &mut Random) {
        let last = self.versions.len() - 1;
        let moment = if random.chance(70) {
            last
        } else {
            random.below(last + 1)
        };
        self.moment.set(moment);
    }

    /// The version, whatever is gained.
    pub fn over(&self) -> Over<'_> {
        Over {
            version: Some(self.version()),
            ..Over::ALL
        }
    }

    /// A query, planned by sizes of predicates, or without.
    pub fn plan(&self, text: &str) -> (Plan, Vec<Option<VertexId>>) {
        let sizes = if text.len().is_multiple_of(2) {
            self.sizes.clone()
        } else {
            Statistics::default()
        };
        planned(text, sizes, self.is_merged)
    }

    /// A dataset clause, now and then, or nothing.
    pub fn dataset(&self, random: &mut Random) -> String {
        if self.named.is_empty() || !random.chance(15) {
            return String::new();
        }
        let graphs = &self.named[..random.between(1, 2)];
        let from = graphs
            .iter()
            .map(|graph| format!("FROM {} ", text_of(*graph)));
        from.collect::<String>() + &format!("FROM NAMED {} ", text_of(self.named[0]))
    }

    /// A pattern, now and then in a named graph.
    fn within(&self, random: &mut Random, pattern: String) -> String {
        if self.named.is_empty() || !random.chance(20) {
            return pattern;
        }
        let graph = match random.below(4) {
            0 => *random.pick(&self.named),
            _ => self.named[0],
        };
        let graph = text_of(graph);
        format!("GRAPH {graph} {{ {pattern}}} ")
    }

    /// A block over so many variables, and some of its own: mostly of one pattern for each branch.
    pub fn block(&self, random: &mut Random, variables: &mut usize) -> String {
        let own = *variables;
        let pattern = |random: &mut Random, own: usize| {
            let known = |random: &mut Random| match random.below(10) {
                0 => text_of(iri(random.pick(&self.vertices).payload())),
                _ => format!("?v{}", random.below(own.max(1))),
            };
            let new = |random: &mut Random| match random.below(10) {
                0..3 => known(random),
                _ => format!("?v{own}"),
            };
            let predicate = text_of(predicate(random.below(PREDICATES)));
            let (one, other) = (known(random), new(random));
            let pattern = match random.below(2) {
                0 => format!("{one} {predicate} {other} . "),
                _ => format!("{other} {predicate} {one} . "),
            };
            self.within(random, pattern)
        };
        let mut text = pattern(random, own);
        if random.chance(15) {
            text += &pattern(random, own);
        }
        let kind = random.below(7);
        if kind < 4 {
            // In the others it is nowhere else.
            *variables += 1;
        }
        match kind {
            0 | 1 => format!("OPTIONAL {{ {text} }} "),
            2 | 3 => format!("{{ {text} }} UNION {{ {} }} ", pattern(random, own)),
            4 => format!("FILTER EXISTS {{ {text} }} "),
            5 => format!("FILTER NOT EXISTS {{ {text} }} "),
            _ => format!("MINUS {{ {text} }} "),
        }
    }

    /// A group of patterns that hang together, as text.
    pub fn patterns(&self, random: &mut Random) -> (String, usize) {
        let mut variables = 0;
        let mut text = String::new();
        if !self.hubs.is_empty() && random.chance(25) {
            variables = 1;
            for _ in 0..random.between(1, 3) {
                let (number, hub) = *random.pick(&self.hubs);
                let _ = write!(
                    text,
                    "?v0 {} {} . ",
                    text_of(predicate(number)),
                    text_of(hub)
                );
            }
        }
        for _ in 0..random.between(1, 5) {
            let mut end = |random: &mut Random, is_subject: bool| -> String {
                if random.chance(20) {
                    let mut id = *random.pick(&self.vertices);
                    while is_subject && !id.has_tag(Tag::Iri) {
                        id = iri(id.payload());
                    }
                    if id.has_tag(Tag::Iri) {
                        return text_of(id);
                    }
                }
                let number = if variables > 0 && random.chance(70) {
                    random.below(variables)
                } else {
                    variables += 1;
                    variables - 1
                };
                format!("?v{number}")
            };
            let (subject, object) = (end(random, true), end(random, false));
            let predicate = match random.below(100) {
                0..8 => format!("?p{}", random.below(2)),
                _ => text_of(predicate(random.below(PREDICATES))),
            };
            let pattern = format!("{subject} {predicate} {object} . ");
            text += &self.within(random, pattern);
        }
        (text, variables)
    }
}

/// A filter of one of so many variables, or two: most of which ids decide, for some columns.
pub fn filter(random: &mut Random, variables: usize) -> String {
    let one = |random: &mut Random| random.below(variables.max(1));
    let (left, right) = (one(random), one(random));
    let comparison = *random.pick(&["=", "!=", "<", "<=", ">", ">="]);
    // Inline integers of `vertices`, some of them beyond its ends.
    let integer = random.below(3200) as i64 - 100 - (1 << 59);
    let resource = text_of(iri(random.bits() % 3000));
    match random.below(12) {
        0 => format!("FILTER(?v{left} = ?v{right})"),
        1 => format!("FILTER(?v{left} != ?v{right})"),
        2 => format!("FILTER(sameTerm(?v{left}, ?v{right}))"),
        3 => format!("FILTER(!sameTerm(?v{left}, ?v{right}))"),
        4 => format!("FILTER(isIRI(?v{left}))"),
        5 => format!("FILTER(!isBLANK(?v{left}) && bound(?v{right}))"),
        6 => format!("FILTER(isLITERAL(?v{left}))"),
        7 => format!("FILTER(?v{left} != {resource})"),
        8 => format!("FILTER(?v{left} NOT IN ({resource}, <http://e/1>, <http://e/2>))"),
        9 => format!("FILTER(!(?v{left} {comparison} {integer} || ?v{left} = ?v{right}))"),
        _ => format!("FILTER({integer} {comparison} ?v{left})"),
    }
}

/// Terms by their ids: an IRI's text is its number, and so is a literal's.
pub struct Texts;

impl Lexicon for Texts {
    fn ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError> {
        ids.extend(terms.iter().map(|term| id_of(&term.into_owned())));
        Ok(())
    }

    fn terms(&self, ids: &[VertexId], terms: &mut TermBuffer) -> Result<(), LexiconError> {
        for &id in ids {
            let number = id.payload();
            let term: Term = match id.tag() {
                Some(Tag::Iri) => NamedNode::new_unchecked(format!("http://e/{number}")).into(),
                Some(Tag::Blank) => BlankNode::new_unchecked(format!("b{number}")).into(),
                Some(Tag::Literal) => Literal::new_simple_literal(number.to_string()).into(),
                _ => {
                    inline::decode(id, terms).map_err(|_| LexiconError::UnknownId(id))?;
                    continue;
                }
            };
            terms.push(term.as_ref());
        }
        Ok(())
    }
}

fn id_of(term: &Term) -> Option<VertexId> {
    match term {
        Term::NamedNode(node) => {
            let number = node.as_str().strip_prefix("http://e/");
            number.map(|number| iri(number.parse().expect("a number")))
        }
        Term::Literal(literal) => inline::encode(literal.as_ref()),
        _ => None,
    }
}

/// What is known of a graph's predicates.
fn sizes(snapshot: &Snapshot) -> Statistics {
    let found = snapshot.statistics(0).expect("nothing fails");
    let predicates = found.predicates.iter().map(|sizes| PredicateStatistics {
        vertex: sizes.vertex,
        subjects: sizes.subjects,
        objects: sizes.objects,
        edges: sizes.edges,
    });
    Statistics {
        quads: found.quads,
        predicates: predicates.collect(),
        ..Statistics::default()
    }
}

/// A query, planned without statistics.
pub fn plan(text: &str) -> (Plan, Vec<Option<VertexId>>) {
    planned(text, Statistics::default(), false)
}

fn planned(
    text: &str,
    statistics: Statistics,
    union_default_graph: bool,
) -> (Plan, Vec<Option<VertexId>>) {
    let options = ParseOptions {
        union_default_graph,
        ..ParseOptions::default()
    };
    let query = query::parse(text, &options).expect("a query");
    let ids: Vec<Option<VertexId>> = query.constants().iter().map(id_of).collect();
    let planner = Planner::new(statistics);
    let plan = planner.plan(&query, &ids, &[], PlanOptions::DEFAULT);
    (plan.expect("a plan"), ids)
}
