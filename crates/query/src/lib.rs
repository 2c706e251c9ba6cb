//! SPARQL: text to algebra to plan. Pure functions over values.
//!
//! ```text
//!  text --lexer--> tokens --parser--> Tree --translate--> abstract_query --lower--> Query --Planner--> Plan
//!                                                                                         |        ^
//!                                                         constants, degree questions (the facade answers)
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `options`, `error` | how a text is read, and why it gave no query |
//! | `node` | slots and constants, by which all below speak of values |
//! | [`lexer`] | text to tokens; and text as pieces, for tools |
//! | [`limits`] | what a text may hold |
//! | [`mod@parse`] | text to [`Query`] |
//! | `parser` | the grammar: tokens to a syntax tree |
//! | `abstract_query` | what a text says: the algebra of the specification |
//! | `translate` | the tree to that algebra |
//! | `lower` | that algebra to [`Query`] |
//! | [`shape`] | texts that differ only in the terms they ask about: one algebra, one plan |
//! | [`spelling`] | the same by comparing bytes, for texts that come from one template |
//! | [`mod@update`] | text to [`Update`]: operations, whose patterns are queries |
//! | [`algebra`] | the query: a pipeline of elements over tables of partial solutions |
//! | [`mentions`] | what a query names that may be a slip |
//! | [`planner`] | the order of exploration, by cost |
//! | [`plan`], [`expression`], [`statistics`] | the plain data shared with `explore` and `somersault` |
//! | [`function`] | the builtin functions, one row each |
//! | [`xpath_pattern`] | regular expressions, from XPath's to those of the `regex` crate |
//! | [`explain`] | a plan as text |
//!
//! Deliberately does not know: data, node ids, threads.

mod abstract_query;
pub mod algebra;
mod error;
pub mod explain;
pub mod expression;
pub mod function;
pub mod lexer;
pub mod limits;
mod lower;
pub mod mentions;
mod node;
mod options;
pub mod parse;
mod parser;
pub mod path;
pub mod plan;
pub mod planner;
pub mod position;
pub mod sampling;
pub mod shape;
mod slots;
pub mod spelling;
pub mod statistics;
mod translate;
pub mod update;
pub mod xpath_pattern;

#[cfg(test)]
mod tests;

pub use algebra::Query;
pub use error::{ParseError, ParseErrorKind};
pub use limits::{Limit, Limits, STACK_BYTES_MIN};
pub use options::{Given, ParseOptions};
pub use parse::{Cut, Scanned, parse, scan, term};
pub use parser::words;
pub use planner::{PlanError, PlanOptions, Planner, plan};
pub use position::Position;
pub use update::{Update, parse_update};
