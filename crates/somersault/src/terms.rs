//! Terms of RDF and their formats, as far as surfaces name them.

pub use oxrdf::{
    GraphName, GraphNameRef, LiteralRef, NamedNode, NamedNodeRef, NamedOrBlankNode, Quad, QuadRef,
    TermRef, vocab,
};
pub use rdf::{TermBuffer, format, prefix, strictness};
