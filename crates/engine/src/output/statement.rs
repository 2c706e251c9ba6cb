//! Rows as statements: of an answer that is a graph, a row is a triple or a quad.
//!
//! Writers of graph formats and sinks that keep triples read rows in the same way. A row that RDF has no
//! statement for is an error of the answer, and no row is left out.

use super::rows::Rows;
use oxrdf::{GraphNameRef, NamedOrBlankNodeRef, QuadRef, TermRef, Triple};
use std::io;

/// A row of three columns as a triple of the default graph, one of four as a quad of the graph that the
/// last names; `None` where RDF has none such.
pub(crate) fn quad(rows: &Rows, row: usize) -> Option<QuadRef<'_>> {
    let mut cells = rows.row(row);
    let subject: NamedOrBlankNodeRef<'_> = match cells.next()?? {
        TermRef::NamedNode(iri) => iri.into(),
        TermRef::BlankNode(blank) => blank.into(),
        _ => return None,
    };
    let TermRef::NamedNode(predicate) = cells.next()?? else {
        return None;
    };
    let object = cells.next()??;
    let graph = match cells.next() {
        None => GraphNameRef::DefaultGraph,
        Some(name) => match name? {
            TermRef::NamedNode(iri) => iri.into(),
            TermRef::BlankNode(blank) => blank.into(),
            _ => return None,
        },
    };
    Some(QuadRef::new(subject, predicate, object, graph))
}

/// A row of three columns as a triple.
pub(crate) fn triple(rows: &Rows, row: usize) -> Option<Triple> {
    let quad = quad(rows, row)?;
    Some(Triple::new(quad.subject, quad.predicate, quad.object))
}

/// A row of a graph is none of its triples.
pub(crate) fn not_a_triple() -> io::Error {
    io::Error::other("a row is no triple")
}
