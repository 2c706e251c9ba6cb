//! Why another node of a cluster did not do its share of an answer: the error that crosses from node to node.
//!
//! A node that is away, one that has no memory left and one whose files are damaged are different news for whoever asked: ask
//! again, ask for less, call somebody. So the cause is a value that travels, and the text beside it is for people. It stands
//! here because the seam of terms ([`crate::LexiconError`]) and that of the graph, which lies above, both say it.

/// What is the matter at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeCause {
    /// It is not there, or what it sent is none.
    Away,
    /// It has not the memory that its share takes.
    Memory {
        /// The budget, in bytes.
        limit_bytes: u64,
        /// Bytes in use when it was refused.
        used_bytes: u64,
        /// The budget is that of all queries there together.
        of_all: bool,
    },
    /// Its share takes more than any budget allows.
    TooMuch,
    /// Its files are damaged, or contradict each other.
    Damaged,
    /// It does not evaluate what it was asked.
    Unsupported,
    /// Its configuration does not allow what it was asked.
    Policy,
    /// Somebody outside the cluster, whom it had to ask, gave no answer.
    Remote,
    /// Its GPU failed half way; asked again, its processors answer.
    Device,
    /// A bug of ours.
    Fault,
}

/// A node did not do its share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node {node}, which has part {node} of the graph, {}: {what}", verb(*cause))]
pub struct NodeError {
    /// Its number.
    pub node: u16,
    /// What is the matter there.
    pub cause: NodeCause,
    /// The same for people.
    pub what: String,
}

fn verb(cause: NodeCause) -> &'static str {
    match cause {
        NodeCause::Away => "does not answer",
        _ => "cannot do its share",
    }
}

impl NodeError {
    /// A node is not there.
    pub fn away(node: u16, what: impl Into<String>) -> NodeError {
        NodeError {
            node,
            cause: NodeCause::Away,
            what: what.into(),
        }
    }

    /// A node did what it never does.
    pub fn fault(node: u16, what: impl Into<String>) -> NodeError {
        NodeError {
            node,
            cause: NodeCause::Fault,
            what: what.into(),
        }
    }
}
