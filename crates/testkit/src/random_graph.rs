//! Random datasets, rich in what goes wrong: few vertices that meet often, literals of every sort,
//! predicates that are vertices too, self loops, skew, blank nodes, graphs that share triples.
//!
//! Invariants: the same shape and seed give the same dataset; each blank node is the subject of one
//! triple `_:b e:marker "b0"` in the default graph, with an object of its own. By that triple the
//! labels that an engine made up are mapped back onto ours ([`crate::compare::Blanks`]), so bags
//! with blank nodes are compared exactly, without a search for an isomorphism.
//!
//! Values stay where the operators of 64-bit integers and 18-digit decimals are exact, and dates
//! all have a time zone or all have none within a graph: what is left open by the specification
//! would only test which library is linked.

use crate::random::Random;
use crate::{MARKER, NAMESPACE};
use oxrdf::vocab::{rdf, xsd};
use oxrdf::{
    BlankNode, Dataset, GraphName, Literal, NamedNode, NamedOrBlankNode, Quad, Term, Triple,
};

/// What a random dataset looks like. Shares are percentages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of IRIs and blank nodes that subjects and objects are drawn from.
    pub vertices: usize,
    /// Number of predicates, `rdf:type` and the marker aside.
    pub predicates: usize,
    /// Number of triples drawn, before duplicates fall together.
    pub triples: usize,
    /// Number of named graphs.
    pub graphs: usize,
    /// Quads in named graphs.
    pub in_graphs: usize,
    /// Vertices that are blank nodes.
    pub blanks: usize,
    /// Objects that are literals.
    pub literals: usize,
    /// Triples that give a type.
    pub types: usize,
    /// Triples whose object is their subject.
    pub loops: usize,
    /// Ends that are predicates.
    pub predicate_vertices: usize,
    /// Objects that are triple terms (RDF 1.2).
    pub triple_terms: usize,
    /// Whether few vertices have most of the edges.
    pub is_skewed: bool,
}

impl Shape {
    /// A shape of some tens to some hundreds of triples.
    pub fn random(random: &mut Random) -> Shape {
        let vertices = random.between(4, 30);
        let some = |random: &mut Random, percent, most| {
            if random.chance(percent) {
                random.between(1, most)
            } else {
                0
            }
        };
        Shape {
            vertices,
            predicates: random.between(1, 6),
            triples: random.between(vertices, vertices * 6),
            graphs: some(random, 70, 4),
            in_graphs: random.between(10, 70),
            blanks: some(random, 60, 30),
            literals: some(random, 85, 60),
            types: some(random, 70, 25),
            loops: some(random, 40, 10),
            predicate_vertices: some(random, 40, 15),
            triple_terms: some(random, 15, 10),
            is_skewed: random.chance(50),
        }
    }

    /// A shape of ten to forty triples over few vertices: for queries whose evaluation by definition
    /// would take too long on more.
    pub fn small(random: &mut Random) -> Shape {
        let vertices = random.between(3, 9);
        Shape {
            vertices,
            predicates: random.between(1, 3),
            triples: random.between(vertices, vertices * 4),
            literals: random.between(0, 50),
            triple_terms: if random.chance(20) { 10 } else { 0 },
            ..Shape::random(random)
        }
    }
}

/// The IRI of a local name in the namespace of random graphs.
pub fn iri(local: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("{NAMESPACE}{local}"))
}

/// A dataset of this shape.
pub fn random_dataset(shape: &Shape, random: &mut Random) -> Dataset {
    let mut maker = Maker::new(shape, random);
    let mut dataset = Dataset::new();
    for _ in 0..shape.triples {
        let triple = maker.triple();
        let graph = maker.graph();
        dataset.insert(&triple.clone().in_graph(graph));
        if maker.random.chance(8) {
            let graph = maker.graph();
            dataset.insert(&triple.in_graph(graph));
        }
    }
    mark_blanks(&mut dataset);
    dataset
}

/// Gives each blank node the triple that identifies it.
fn mark_blanks(dataset: &mut Dataset) {
    let mut blanks: Vec<BlankNode> = Vec::new();
    for quad in &*dataset {
        note_blanks(&quad.subject.into_owned().into(), &mut blanks);
        note_blanks(&quad.object.into_owned(), &mut blanks);
        if let GraphName::BlankNode(blank) = quad.graph_name.into_owned() {
            blanks.push(blank);
        }
    }
    for blank in blanks {
        let name = Literal::new_simple_literal(blank.as_str());
        let marker = NamedNode::new_unchecked(MARKER);
        dataset.insert(&Quad::new(blank, marker, name, GraphName::DefaultGraph));
    }
}

fn note_blanks(term: &Term, into: &mut Vec<BlankNode>) {
    match term {
        Term::BlankNode(blank) => into.push(blank.clone()),
        Term::Triple(triple) => {
            note_blanks(&triple.subject.clone().into(), into);
            note_blanks(&triple.object, into);
        }
        Term::NamedNode(_) | Term::Literal(_) => {}
    }
}

struct Maker<'a> {
    shape: &'a Shape,
    random: &'a mut Random,
    vertices: Vec<NamedOrBlankNode>,
    predicates: Vec<NamedNode>,
    literals: Vec<Literal>,
    graphs: Vec<GraphName>,
}

impl<'a> Maker<'a> {
    fn new(shape: &'a Shape, random: &'a mut Random) -> Maker<'a> {
        let vertex = |index: usize| -> NamedOrBlankNode {
            if index * 100 < shape.blanks * shape.vertices {
                BlankNode::new_unchecked(format!("b{index}")).into()
            } else {
                iri(&format!("v{index}")).into()
            }
        };
        let vertices: Vec<_> = (0..shape.vertices).map(vertex).collect();
        let predicates = (0..shape.predicates)
            .map(|index| iri(&format!("p{index}")))
            .collect();
        let has_zone = random.chance(50);
        let count = shape.vertices.max(4);
        let literals = (0..count).map(|_| literal(random, has_zone)).collect();
        let graphs = (0..shape.graphs)
            .map(|index| graph_name(index, &vertices, random))
            .collect();
        Maker {
            shape,
            random,
            vertices,
            predicates,
            literals,
            graphs,
        }
    }

    fn triple(&mut self) -> Triple {
        let subject = self.vertex();
        if self.random.chance(self.shape.types) {
            let class = iri(&format!("T{}", self.random.below(4)));
            return Triple::new(subject, rdf::TYPE, class);
        }
        let predicate = self.random.pick(&self.predicates).clone();
        let object = if self.random.chance(self.shape.loops) {
            subject.clone().into()
        } else {
            self.object()
        };
        Triple::new(subject, predicate, object)
    }

    fn vertex(&mut self) -> NamedOrBlankNode {
        if self.random.chance(self.shape.predicate_vertices) {
            return self.random.pick(&self.predicates).clone().into();
        }
        let mut index = self.random.below(self.vertices.len());
        if self.shape.is_skewed {
            index = self.random.below(index + 1);
            index = self.random.below(index + 1);
        }
        self.vertices[index].clone()
    }

    fn object(&mut self) -> Term {
        if self.random.chance(self.shape.literals) {
            return self.random.pick(&self.literals).clone().into();
        }
        if self.random.chance(self.shape.triple_terms) {
            let predicate = self.random.pick(&self.predicates).clone();
            return Triple::new(self.vertex(), predicate, self.vertex()).into();
        }
        self.vertex().into()
    }

    fn graph(&mut self) -> GraphName {
        if self.graphs.is_empty() || !self.random.chance(self.shape.in_graphs) {
            return GraphName::DefaultGraph;
        }
        self.random.pick(&self.graphs).clone()
    }
}

/// Mostly an IRI of its own, at times a vertex, blank ones included.
fn graph_name(index: usize, vertices: &[NamedOrBlankNode], random: &mut Random) -> GraphName {
    if random.chance(15) {
        return random.pick(vertices).clone().into();
    }
    iri(&format!("g{index}")).into()
}

fn literal(random: &mut Random, has_zone: bool) -> Literal {
    let small = random.below(12);
    let typed = |lexical: String, datatype| Literal::new_typed_literal(lexical, datatype);
    let zone = if has_zone {
        *random.pick(&["Z", "+02:00"])
    } else {
        ""
    };
    match random.below(20) {
        0 => Literal::new_simple_literal(""),
        1..=3 => Literal::new_simple_literal(*random.pick(WORDS)),
        4 | 5 => {
            let tag = *random.pick(&["en", "en-gb", "fr"]);
            Literal::new_language_tagged_literal_unchecked(*random.pick(WORDS), tag)
        }
        6..=8 => typed(small.to_string(), xsd::INTEGER),
        9 => typed(format!("-{small}"), xsd::INTEGER),
        10 => typed(format!("0{small}"), xsd::INTEGER),
        11 => typed(
            small.to_string(),
            *random.pick(&[xsd::INT, xsd::UNSIGNED_BYTE, xsd::LONG]),
        ),
        12 => typed(format!("{small}.5"), xsd::DECIMAL),
        13 => typed(format!("{small}.50"), xsd::DECIMAL),
        14 => typed(
            format!("{small}.5E0"),
            *random.pick(&[xsd::DOUBLE, xsd::FLOAT]),
        ),
        15 => typed(
            (*random.pick(&["INF", "NaN", "-0", "1e3"])).to_owned(),
            xsd::DOUBLE,
        ),
        16 => typed(
            (*random.pick(&["true", "false", "1", "0"])).to_owned(),
            xsd::BOOLEAN,
        ),
        17 => typed(format!("2026-11-{:02}{zone}", small + 10), xsd::DATE),
        18 => typed(
            format!("2026-11-21T{:02}:30:00{zone}", small + 1),
            xsd::DATE_TIME,
        ),
        _ => odd_literal(random),
    }
}

const WORDS: &[&str] = &[
    "a", "b", "abc", "bcd", "ABC", "wukong", "5", "true", "naïve", "a b", "\"q\"\n",
];

/// Unknown datatypes and ill-typed literals.
fn odd_literal(random: &mut Random) -> Literal {
    match random.below(3) {
        0 => Literal::new_typed_literal("x", xsd::INTEGER),
        1 => Literal::new_typed_literal("maybe", xsd::BOOLEAN),
        _ => Literal::new_typed_literal(*random.pick(WORDS), iri("datatype")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{self, Format};

    #[test]
    fn a_seed_gives_one_dataset() {
        let make = |seed| {
            let mut random = Random::new(seed);
            let shape = Shape::random(&mut random);
            random_dataset(&shape, &mut random)
        };
        for seed in 0..50 {
            let dataset = make(seed);
            assert_eq!(dataset, make(seed));
            for format in [Format::NQuads, Format::TriG] {
                let text = graph::write(&dataset, format);
                assert_eq!(graph::read(&text, format).unwrap(), dataset, "{text}");
            }
        }
    }

    #[test]
    fn every_blank_node_is_marked_once() {
        let mut random = Random::new(5);
        let shape = Shape {
            blanks: 50,
            triple_terms: 20,
            ..Shape::random(&mut random)
        };
        let dataset = random_dataset(&shape, &mut random);
        let marker = NamedNode::new_unchecked(MARKER);
        let marks: Vec<_> = dataset.quads_for_predicate(&marker).collect();
        assert!(!marks.is_empty());
        for mark in marks {
            assert!(mark.subject.is_blank_node() && mark.graph_name.is_default_graph());
        }
    }
}
