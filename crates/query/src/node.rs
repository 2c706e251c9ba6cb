//! The names by which algebra, expressions, paths and plans speak of values: slots and constants.
//!
//! A plan has expressions and paths, and all three name slots and constants; so the names stand below them. Each name
//! is an index into a list of its plan, and means nothing without that plan.

/// A variable of the query, or a hidden one the planner made: an index into [`Plan::variables`](crate::plan::Plan::variables).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u16);

/// A constant term of the query: an index into [`Plan::constants`](crate::plan::Plan::constants).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstantId(pub u32);

/// A place in a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// The value of a column. In every step a slot used as a `Node` is bound before it.
    Slot(Slot),
    /// A term of the query text.
    Constant(ConstantId),
}
