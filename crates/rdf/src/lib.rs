//! Terms, triples, text formats, compact ids, and the dictionary between terms and ids.
//!
//! Deliberately does not know: how adjacency is laid out, SPARQL.

pub mod dictionary;
pub mod distinct;
pub mod format;
pub mod id;
pub mod inline;
pub mod key;
pub mod language;
pub mod lexicon;
pub mod name;
pub mod node_error;
pub mod nt;
pub mod placement;
pub mod prefix;
mod progress;
pub mod strictness;
mod sync;
pub mod terms;
pub mod transient;
pub mod varint;

pub use id::{Direction, PredicateId, Tag, VertexId};
pub use lexicon::{Lexicon, LexiconError};
pub use node_error::{NodeCause, NodeError};
pub use placement::{Placement, PlacementError};
pub use progress::{Progress, Ticket};
pub use strictness::{Strictness, is_loadable_iri};
pub use terms::TermBuffer;
