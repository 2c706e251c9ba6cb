//! SPARQL: text to algebra to plan. Pure functions over values.
//!
//! ```text
//!  text --lexer--> tokens --parser--> Tree --translate--> abstract_query --lower--> Query --Planner--> Plan
//!                                                                                         |        ^
//!                                                         constants, degree questions (the engine answers)
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `options`, `error` | how a text is read, and why it gave no query |
//! | `node` | slots and constants, by which all below speak of values |
//! | [`grammar`] | text to tokens, tokens to a syntax tree, the tree to the specification's algebra |
//! | [`limits`] | what a text may hold |
//! | [`mod@parse`] | text to [`Query`] |
//! | `lower` | that algebra to [`Query`] |
//! | [`shape`] | texts that differ only in the terms they ask about: one algebra, one plan |
//! | [`standing`] | a query over windows of streams, in the form that all dialects come to |
//! | [`shape::spelling`] | the same by comparing bytes, for texts that come from one template |
//! | [`mod@update`] | text to [`Update`]: operations, whose patterns are queries |
//! | [`algebra`] | the query: a pipeline of elements over tables of partial solutions |
//! | [`mentions`] | what a query names that may be a slip |
//! | [`planner`] | the order of exploration, by cost |
//! | [`plan`], [`expression`], [`statistics`] | the plain data shared with `explore` and `engine` |
//! | [`wire`] | plans and rows as bytes |
//! | [`function`] | the builtin functions, one row each |
//! | [`xpath_pattern`] | regular expressions, from XPath's to those of the `regex` crate |
//! | [`explain`] | a plan as text |
//!
//! Deliberately does not know: data, node ids, threads.

pub mod algebra;
mod error;
pub mod explain;
pub mod expression;
pub mod function;
pub mod grammar;
pub mod limits;
mod lower;

mod node;
mod options;
pub mod parse;
pub mod path;
pub mod plan;
pub mod planner;
pub mod position;
pub mod sampling;
pub mod shape;
mod slots;
pub mod standing;
pub mod statistics;
pub mod update;
pub mod xpath_pattern;

#[cfg(test)]
mod tests;

pub use algebra::{Query, mentions};
pub use error::{ParseError, ParseErrorKind};
pub use grammar::parser::words;
pub use limits::{Limit, Limits, STACK_BYTES_MIN};
pub use options::{Given, ParseOptions};
pub use parse::{Cut, Scanned, parse, scan, term};
pub use plan::wire;
pub use planner::{PlanError, PlanOptions, Planner, plan};
pub use position::Position;
pub use update::{Update, parse_update};
