//! A whole graph as text: every quad, predicate by predicate, in batches.
//!
//! Memory is bounded by a batch, whatever the store's size. Quads come grouped by predicate, then
//! by subject: the order in which they lie, so that reading is sequential. Each quad comes once.

pub(crate) mod error;

pub use error::DumpError;

use crate::moment::Graph;
use crate::moment::scan::{Batch, QuadSelection};
use crate::parts::statements::Statements;
use oxrdf::{GraphNameRef, NamedNodeRef, NamedOrBlankNodeRef, QuadRef, TermRef};
use rdf::{Lexicon, TermBuffer, VertexId};
use std::io;
use store::view::GraphView;

/// Gives every quad of a part to `take`, those of a named graph as quads of the default graph.
pub(crate) fn part(
    graph: &Graph,
    part: QuadSelection,
    take: &mut dyn FnMut(QuadRef<'_>) -> io::Result<()>,
) -> Result<u64, DumpError> {
    let statements = Statements::of(graph);
    let mut total = 0;
    let mut terms = [(); 3].map(|()| TermBuffer::for_output());
    let mut name = (None, TermBuffer::new());
    statements.scan(part, &mut |predicate, batch: &Batch| {
        if name.0 != Some(predicate) {
            name.1.clear();
            let vertex = statements.predicate_vertex(predicate);
            statements.terms(&[vertex], &mut name.1)?;
            name.0 = Some(predicate);
        }
        let Some(TermRef::NamedNode(name)) = name.1.get(0) else {
            return Err(DumpError::NotRdf(predicate));
        };
        let [subjects, objects, graphs] = &mut terms;
        subjects.clear();
        objects.clear();
        graphs.clear();
        statements.terms(&batch.subjects, subjects)?;
        statements.terms(&batch.objects, objects)?;
        match part {
            QuadSelection::EachNamed => statements.terms(&batch.graphs, graphs)?,
            QuadSelection::Default | QuadSelection::Named(_) => {
                (0..batch.subjects.len()).for_each(|_| graphs.push_unbound());
            }
        }
        let rows = subjects.len();
        assert!(
            objects.len() == rows && graphs.len() == rows,
            "a statement has all its terms"
        );
        for row in 0..subjects.len() {
            let quad = quad(subjects.get(row), name, objects.get(row), graphs.get(row));
            take(quad.ok_or(DumpError::NotRdf(predicate))?)?;
            total += 1;
        }
        Ok(())
    })?;
    let of_parts = graph.parts.as_ref().and_then(|parts| parts.damage());
    match graph.damage().or(of_parts) {
        Some(damage) => Err(damage.into()),
        None => Ok(total),
    }
}

/// Gives every quad to `take`.
pub fn all(
    graph: &Graph,
    take: &mut dyn FnMut(QuadRef<'_>) -> io::Result<()>,
) -> Result<u64, DumpError> {
    let mut quads = part(graph, QuadSelection::Default, take)?;
    if !Statements::of(graph).named_graphs()?.is_empty() {
        quads += part(graph, QuadSelection::EachNamed, take)?;
    }
    Ok(quads)
}

/// Gives every triple of one named graph to `take`, as quads of the default graph.
pub fn named(
    graph: &Graph,
    name: &str,
    take: &mut dyn FnMut(QuadRef<'_>) -> io::Result<()>,
) -> Result<u64, DumpError> {
    part(graph, QuadSelection::Named(find(graph, name)?), take)
}

/// The id of a named graph that holds something; [`DumpError::NoSuchGraph`] where there is none.
pub fn find(graph: &Graph, name: &str) -> Result<VertexId, DumpError> {
    find_in(&Statements::of(graph), name)
}

/// [`find`], with other memory or whoever may stop it.
pub(crate) fn find_in(statements: &Statements<'_>, name: &str) -> Result<VertexId, DumpError> {
    let mut ids = Vec::new();
    // A name is looked up as it is: a lenient load may have made a graph of any.
    let term = NamedNodeRef::new_unchecked(name);
    statements.ids(&[term.into()], &mut ids)?;
    let known = statements.named_graphs()?;
    assert_eq!(ids.len(), 1, "a lexicon answers for each term");
    let found = ids[0].filter(|id| known.binary_search(id).is_ok());
    found.ok_or_else(|| DumpError::NoSuchGraph(name.to_owned()))
}

/// The names of the named graphs that are IRIs; `None` where there are more than `max` graphs.
pub fn names(graph: &Graph, max: u64) -> Result<Option<Vec<String>>, DumpError> {
    if graph.parts.is_some() {
        // There may be more.
        return Ok(None);
    }
    let ids = graph.snapshot.named_graphs()?;
    if ids.len() as u64 > max {
        return Ok(None);
    }
    let mut terms = TermBuffer::new();
    graph.dictionary.terms(&ids, &mut terms)?;
    assert_eq!(terms.len(), ids.len(), "a name for each graph");
    let names = (0..ids.len()).filter_map(|row| match terms.get(row) {
        Some(TermRef::NamedNode(name)) => Some(name.as_str().to_owned()),
        _ => None,
    });
    Ok(Some(names.collect()))
}

fn quad<'t>(
    subject: Option<TermRef<'t>>,
    predicate: NamedNodeRef<'t>,
    object: Option<TermRef<'t>>,
    graph: Option<TermRef<'t>>,
) -> Option<QuadRef<'t>> {
    let subject: NamedOrBlankNodeRef<'t> = match subject? {
        TermRef::NamedNode(iri) => iri.into(),
        TermRef::BlankNode(blank) => blank.into(),
        _ => return None,
    };
    let graph = match graph {
        None => GraphNameRef::DefaultGraph,
        Some(TermRef::NamedNode(iri)) => iri.into(),
        Some(TermRef::BlankNode(blank)) => blank.into(),
        Some(_) => return None,
    };
    Some(QuadRef::new(subject, predicate, object?, graph))
}
