//! The graphs of a query's dataset (SPARQL 1.1 Query section 13).
//!
//! The dataset is cut into its graphs first, as the dataset clause says: the default graph is the
//! merge of the `FROM` graphs, so a triple that two of them share is one triple.

use oxrdf::{Dataset, GraphName, GraphNameRef, NamedNode, Term};
use spargebra::algebra::QueryDataset;
use std::rc::Rc;

/// A triple of the data.
pub(super) type Triple = [Rc<Term>; 3];

/// The triples of a graph.
pub(super) type Graph = Rc<Vec<Triple>>;

/// The named graphs with their names.
pub(super) type Named = Vec<(Rc<Term>, Graph)>;

/// The default graph and the named graphs of a query (section 13.2).
pub(super) fn graphs(dataset: &Dataset, clause: Option<&QueryDataset>) -> (Graph, Named) {
    let Some(clause) = clause else {
        let default = triples(dataset, &[GraphName::DefaultGraph]);
        return (default, all_named(dataset));
    };
    let of = |iri: &NamedNode| GraphName::from(iri.clone());
    let default: Vec<GraphName> = clause.default.iter().map(of).collect();
    let default = triples(dataset, &default);
    // The graph of an update's WITH, which says nothing of the named graphs.
    let Some(names) = &clause.named else {
        return (default, all_named(dataset));
    };
    let mut names: Vec<&NamedNode> = names.iter().collect();
    names.sort();
    names.dedup();
    let named = names.into_iter().filter_map(|iri| named(dataset, of(iri)));
    (default, named.collect())
}

/// All named graphs that hold something.
fn all_named(dataset: &Dataset) -> Named {
    let mut names: Vec<GraphName> = dataset
        .iter()
        .map(|quad| quad.graph_name.into_owned())
        .collect();
    names.sort_by_key(ToString::to_string);
    names.dedup();
    let named = names.into_iter().filter_map(|name| named(dataset, name));
    named.collect()
}

fn named(dataset: &Dataset, name: GraphName) -> Option<(Rc<Term>, Graph)> {
    let term = match &name {
        GraphName::NamedNode(iri) => Term::from(iri.clone()),
        GraphName::BlankNode(blank) => blank.clone().into(),
        GraphName::DefaultGraph => return None,
    };
    Some((Rc::new(term), triples(dataset, &[name])))
}

/// Graphs that are not of the dataset, each with its name; a triple is there as often as it is listed.
pub(super) fn beside(graphs: &[(NamedNode, Vec<oxrdf::Triple>)]) -> Named {
    let named = |(name, triples): &(NamedNode, Vec<oxrdf::Triple>)| {
        (Rc::new(Term::from(name.clone())), bag(triples.clone()))
    };
    graphs.iter().map(named).collect()
}

/// The merge of graphs: each triple once.
fn triples(dataset: &Dataset, names: &[GraphName]) -> Graph {
    let quads = names
        .iter()
        .flat_map(|name| dataset.quads_for_graph_name(GraphNameRef::from(name)));
    set(quads.map(|quad| quad.into_owned().into()).collect())
}

/// Each triple once.
fn set(mut triples: Vec<oxrdf::Triple>) -> Graph {
    triples.sort_by_cached_key(ToString::to_string);
    triples.dedup();
    bag(triples)
}

/// Each triple as often as it is listed.
pub(super) fn bag(triples: Vec<oxrdf::Triple>) -> Graph {
    let shared = |triple: oxrdf::Triple| {
        [
            triple.subject.into(),
            triple.predicate.into(),
            triple.object,
        ]
        .map(Rc::<Term>::new)
    };
    Rc::new(triples.into_iter().map(shared).collect())
}
