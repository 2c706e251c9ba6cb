//! Whether what was asked in a batch is there, or has to be waited for.
//!
//! Both seams under the walk answer so, between vertices and edges (`store::view`) and between terms and ids
//! ([`crate::Lexicon`]): a walk that has to wait is left, and gone on with when its ticket completes.

/// Whether a batched lookup has been answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Progress {
    /// The output is filled.
    Ready,
    /// Ask again with the same arguments when this ticket completes.
    Pending(Ticket),
}

/// Names a suspended lookup to whoever completes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);
