//! What a question means that one node of many asks.
//!
//! The same step asks for another thing where every node takes its share of it:
//!
//! | [`Share`] | keys, vertices | lists of `(rdf:type, in)` | for |
//! |---|---|---|---|
//! | `Whole` | everybody's | everybody's | steps that nobody shares: blocks, paths, tables, columns that are known |
//! | `Keys` | those owned here | everybody's | a seed of keys that starts on all nodes |
//! | `Members` | those owned here | the members here | a class that starts on all nodes; a check of a member's class |
//!
//! The keys of `(rdf:type, in)` are owned by the classes' owners, though their lists are with the members: so the keys of all
//! nodes are the graph's, each once.

/// What a node's questions mean; see the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Share {
    /// All there is.
    Whole,
    /// Keys that are owned here.
    Keys,
    /// Members that are here, of any class.
    Members,
}

impl Share {
    /// What the questions of a node mean that walks a plan alone over so many nodes.
    pub(crate) fn of_one(nodes: u16) -> Share {
        match nodes {
            // All members are here, and nothing has to be put together.
            1 => Share::Members,
            _ => Share::Whole,
        }
    }
}
