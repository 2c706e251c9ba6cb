//! What a planner knows of a graph, as a document: to look at, to keep beside a benchmark, and to plan
//! by elsewhere. A plan that is bad on a graph of billions can so be made, and mended, on a laptop.
//!
//! JSON, in which terms stand once, as in N-Triples, and are named by their places:
//!
//! ```json
//! { "version": 1, "quads": 3, "named_graphs": 0, "terms": ["<http://e/p>", "<http://e/C>"],
//!   "predicates": [[0, 2, 3, 3]], "classes": [[1, 2]],
//!   "out_sets": [{ "predicates": [[0, 3]], "types": [1], "vertices": 2 }], "in_sets": [] }
//! ```
//!
//! A predicate has its distinct subjects, distinct objects and edges; a class its members; a
//! characteristic set its predicates with their edges, its types and its vertices. What a graph does
//! not know of a document's terms is left out. Statistics of elsewhere prove nothing empty.

use super::Graph;
use crate::error::{Kind, QueryError};
use crate::parts::statements::Statements;
use oxrdf::Term;
use query::planner::Planner;
use query::statistics::{CharacteristicSet, PredicateStatistics, Statistics};
use rdf::{TermBuffer, VertexId};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// The layout that is written and read here.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    quads: u64,
    named_graphs: u64,
    terms: Vec<String>,
    predicates: Vec<(usize, u64, u64, u64)>,
    classes: Vec<(usize, u64)>,
    out_sets: Vec<Set>,
    in_sets: Vec<Set>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    predicates: Vec<(usize, u64)>,
    types: Vec<usize>,
    vertices: u64,
}

/// A planner that knows what a document says.
#[derive(Clone)]
pub struct ForeignStatistics {
    planner: Arc<Planner>,
}

impl std::fmt::Debug for ForeignStatistics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let statistics = self.planner.statistics();
        f.debug_struct("ForeignStatistics")
            .field("quads", &statistics.quads)
            .finish_non_exhaustive()
    }
}

impl ForeignStatistics {
    pub(crate) fn planner(&self) -> &Planner {
        &self.planner
    }

    /// Reads a document, of this graph or of another one, to plan queries of this graph by it.
    pub(crate) fn read(text: &str, graph: &Graph) -> Result<ForeignStatistics, QueryError> {
        let read: Document = serde_json::from_str(text).map_err(refused)?;
        if read.version != VERSION {
            let found = read.version;
            return Err(refused(format!(
                "version {found}, and this is for {VERSION}"
            )));
        }
        let statistics = Reader::new(graph, &read.terms)?.statistics(&read)?;
        Ok(ForeignStatistics {
            planner: Arc::new(Planner::new(statistics)),
        })
    }
}

/// What the planner knows of a graph, as a document.
pub(crate) fn document(graph: &Graph) -> Result<String, QueryError> {
    let document = Writer::new(graph).document()?;
    serde_json::to_string(&document).map_err(|error| QueryError::new(Kind::Internal, error))
}

fn refused(why: impl std::fmt::Display) -> QueryError {
    let message = format!("these are no statistics of a planner: {why}");
    QueryError::new(Kind::Syntax, message)
}

/// Numbers terms as they are met.
struct Writer<'g> {
    graph: &'g Graph,
    places: HashMap<VertexId, usize>,
    vertices: Vec<VertexId>,
}

impl<'g> Writer<'g> {
    fn new(graph: &'g Graph) -> Writer<'g> {
        Writer {
            graph,
            places: HashMap::new(),
            vertices: Vec::new(),
        }
    }

    fn place(&mut self, vertex: VertexId) -> usize {
        let vertices = &mut self.vertices;
        *self.places.entry(vertex).or_insert_with(|| {
            vertices.push(vertex);
            vertices.len() - 1
        })
    }

    fn sets(&mut self, sets: &[CharacteristicSet]) -> Vec<Set> {
        let set = |set: &CharacteristicSet| Set {
            predicates: set
                .predicates
                .iter()
                .map(|&(predicate, edges)| (self.place(predicate), edges))
                .collect(),
            types: set.types.iter().map(|&class| self.place(class)).collect(),
            vertices: set.vertices,
        };
        sets.iter().map(set).collect()
    }

    fn document(mut self) -> Result<Document, QueryError> {
        let graph = self.graph;
        let known = graph.planner.statistics();
        let predicates = known.predicates.iter();
        let predicates = predicates
            .map(|one| (self.place(one.vertex), one.subjects, one.objects, one.edges))
            .collect();
        let classes = known.classes.iter();
        let classes = classes
            .map(|&(class, members)| (self.place(class), members))
            .collect();
        let out_sets = self.sets(&known.out_sets);
        let in_sets = self.sets(&known.in_sets);
        let mut terms = TermBuffer::new();
        let statements = Statements::of(graph);
        let told = statements.terms(&self.vertices, &mut terms);
        told.map_err(QueryError::from)?;
        assert_eq!(
            terms.len(),
            self.places.len(),
            "a term for each vertex that has a place"
        );
        let texts = terms
            .iter()
            .map(|term| term.map(|term| term.to_string()).unwrap_or_default());
        Ok(Document {
            version: VERSION,
            quads: known.quads,
            named_graphs: known.named_graphs,
            terms: texts.collect(),
            predicates,
            classes,
            out_sets,
            in_sets,
        })
    }
}

/// The vertices of a document's terms, where the graph knows them.
struct Reader {
    vertices: Vec<Option<VertexId>>,
    type_vertex: Option<VertexId>,
}

impl Reader {
    fn new(graph: &Graph, texts: &[String]) -> Result<Reader, QueryError> {
        let terms: Result<Vec<Term>, QueryError> = texts
            .iter()
            .map(|text| {
                text.parse()
                    .map_err(|why| refused(format!("`{text}`: {why}")))
            })
            .collect();
        let terms = terms?;
        let terms: Vec<_> = terms.iter().map(Term::as_ref).collect();
        let mut vertices = Vec::with_capacity(terms.len());
        let found = Statements::of(graph).ids(&terms, &mut vertices);
        found.map_err(QueryError::from)?;
        assert_eq!(
            vertices.len(),
            texts.len(),
            "a lexicon answers for each term"
        );
        Ok(Reader {
            vertices,
            type_vertex: match graph.parts {
                None => graph.snapshot.type_vertex(),
                Some(_) => graph.planner.statistics().type_vertex,
            },
        })
    }

    fn vertex(&self, place: usize) -> Result<Option<VertexId>, QueryError> {
        let vertex = self.vertices.get(place).copied();
        vertex.ok_or_else(|| refused(format!("there is no term {place}")))
    }

    /// What is known of those of these terms that the graph has, ascending by vertex.
    fn known<I, O>(
        &self,
        listed: &[I],
        place: impl Fn(&I) -> usize,
        value: impl Fn(VertexId, &I) -> O,
        key: impl Fn(&O) -> VertexId,
    ) -> Result<Vec<O>, QueryError> {
        let mut known = Vec::with_capacity(listed.len());
        for one in listed {
            let vertex = self.vertex(place(one))?;
            known.extend(vertex.map(|vertex| value(vertex, one)));
        }
        known.sort_unstable_by_key(|one| key(one));
        Ok(known)
    }

    fn sets(&self, sets: &[Set]) -> Result<Vec<CharacteristicSet>, QueryError> {
        let set = |set: &Set| -> Result<CharacteristicSet, QueryError> {
            let predicate = |vertex, &(_, edges): &(usize, u64)| (vertex, edges);
            Ok(CharacteristicSet {
                predicates: self.known(&set.predicates, |one| one.0, predicate, |one| one.0)?,
                types: self.known(&set.types, |one| *one, |vertex, _| vertex, |one| *one)?,
                vertices: set.vertices,
            })
        };
        sets.iter().map(set).collect()
    }

    fn statistics(&self, read: &Document) -> Result<Statistics, QueryError> {
        let predicate =
            |vertex, &(_, subjects, objects, edges): &(usize, u64, u64, u64)| PredicateStatistics {
                vertex,
                subjects,
                objects,
                edges,
            };
        let class = |vertex, &(_, members): &(usize, u64)| (vertex, members);
        Ok(Statistics {
            quads: read.quads,
            predicates: self.known(&read.predicates, |one| one.0, predicate, |one| one.vertex)?,
            classes: self.known(&read.classes, |one| one.0, class, |one| one.0)?,
            out_sets: self.sets(&read.out_sets)?,
            in_sets: self.sets(&read.in_sets)?,
            named_graphs: read.named_graphs,
            type_vertex: self.type_vertex,
            complete_at: None,
        })
    }
}
