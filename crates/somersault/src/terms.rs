//! Terms of RDF and their formats, as far as surfaces name them.

pub use oxrdf::{GraphName, LiteralRef, NamedNode, NamedNodeRef, TermRef, vocab};
pub use rdf::{TermBuffer, format, prefix, strictness};
