//! Memory that records take while they are applied, asked for before it is used.
//!
//! How much may be held is not known here: a server has one pool for all that its requests and changes hold, a test
//! has none. So whoever applies records brings an account, and what the account refuses is refused in its own words.
//!
//! Invariant: no more is given back than was granted. It is asked once a record and once a layer, never for a quad.

use std::convert::Infallible;

/// Grants memory, or refuses it.
pub trait Account {
    /// Why memory was refused.
    type Refusal;

    /// Grants `bytes` more, or refuses and grants nothing.
    fn grow(&mut self, bytes: u64) -> Result<(), Self::Refusal>;

    /// Takes `bytes` back that were granted.
    fn shrink(&mut self, bytes: u64);
}

/// An account that grants everything: where a store is opened, which takes what it needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

impl Account for Unlimited {
    type Refusal = Infallible;

    fn grow(&mut self, _: u64) -> Result<(), Infallible> {
        Ok(())
    }

    fn shrink(&mut self, _: u64) {}
}
