//! Expressions: compiled once, evaluated over columns.
//!
//! `query` hands over plain data with names and arities resolved; here it becomes a tree of
//! [`condition`]s (asked for truth) and [`computation`]s (asked for values) whose nodes each work on
//! a whole batch of rows. SPARQL 1.1 and 1.2 Query sections 17.2 to 17.5, SEP-0002.
//!
//! | file | what |
//! |---|---|
//! | `compile`, `refusal` | the choice of the cheap forms; constant patterns that are refused |
//! | `batch`, `column` | rows, the text of their terms fetched at need, and what is computed |
//! | `condition`, `computation`, `call`, `ids` | evaluation to truths, values and ids |
//! | `integers` | arithmetic on columns of inline integers |
//! | `value`, `scalar`, `compare`, `arithmetic`, `cast` | one row's work on values |
//! | `fixed`, `large` | decimals of 18 digits; integers and decimals of any length |
//! | `text`, `pattern`, `xpath_pattern`, `hash` | on strings |
//! | `dates`, `make` | on dates and times; terms made and taken apart, times of triples |
//! | `sort_key` | `ORDER BY` |
//!
//! Measured by `examples/expressions.rs`, one thread of a 2-core EPYC VM that was busy with other work,
//! 2026-11-21, nanoseconds a row for the step alone:
//!
//! | over 400,000 names | ns | over 1,000,000 integers | ns |
//! |---|---|---|---|
//! | `REGEX(?n, "7$")`, with flag `i` | 70, 71 | `BIND(?x * 2 + 1 AS ?y)` | 5.1 |
//! | `CONTAINS(LCASE(?n), "x")` | 100 | `FILTER(?x * 2 + 1 > 5)` | 5.0 |
//! | `CONTAINS`, `STRSTARTS` | 73, 68 | `FILTER(?x > 5)` | 3.7 |
//! | `BIND(STRLEN(?n) AS ?y)` | 70 | `FILTER(?x / 2 > 5)` | 230 |
//! | `BIND` of `UCASE`, `CONCAT`, `SUBSTR`, `REPLACE` | 284, 305, 225, 324 | `BIND(?x / 2 AS ?y)` | 401 |
//! | `BIND` of `MD5`, `SHA256` | 441, 438 | `BIND(STR(?x) AS ?y)` | 351 |
//! | `BIND` of `STRUUID`, `RAND` | 945, 1075 | | |
//!
//! The floor of a filter over ids is the pass over its column (8 bytes a row); of one over text, the
//! dictionary's decoding, 60 ns here. A computed string costs its lookup in the dictionary besides,
//! and where it is new, its place among the query's own terms.

mod arithmetic;
mod batch;
mod call;
mod cast;
mod column;
mod compare;
mod compile;
mod computation;
mod condition;
mod dates;
mod derived;
mod fixed;
mod hash;
mod ids;
mod integers;
mod large;
mod make;
mod pattern;
mod refusal;
mod same_text;
mod scalar;
mod sort_key;
mod text;
mod value;

pub(crate) use arithmetic::combine;
pub(crate) use batch::{Batch, Scratch, Terms};
pub(crate) use call::{effort_of, spend_on};
pub(crate) use column::Made;
pub(crate) use compile::{Constants, computation, filter};
pub(crate) use computation::{Computation, Operand};
pub(crate) use condition::{Condition, Kind, Truth};
pub(crate) use ids::{LOOKED_UP_BYTES, ids_of_values, look_up};
pub(crate) use large::Computed;
pub(crate) use scalar::Scalar;
pub(crate) use sort_key::SortKey;
pub(crate) use text::text_of;
pub(crate) use value::Value;
