//! Expressions: compiled once, evaluated over columns.
//!
//! `query` hands over plain data with names and arities resolved; here it becomes a tree of
//! [`condition`]s (asked for truth) and [`computation`]s (asked for values) whose nodes each work on
//! a whole batch of rows. SPARQL 1.1 and 1.2 Query sections 17.2 to 17.5, SEP-0002.
//!
//! | file | what |
//! |---|---|
//! | `compile`, `refusal` | the choice of the cheap forms; constant patterns that are refused |
//! | `batch`, `arena` | rows, the text of their terms fetched at need, and what is computed |
//! | `condition`, `computation`, `call`, `ids` | evaluation to truths, values and ids |
//! | `integers` | arithmetic on columns of inline integers |
//! | `value`, `scalar`, `compare`, `arithmetic`, `cast` | one row's work on values |
//! | `text`, `pattern`, `xpath_pattern`, `hash` | on strings |
//! | `dates`, `make` | on dates and times; terms made and taken apart |
//! | `sort_key` | `ORDER BY` |
//!
//! Measured on LUBM-160's 173,040 course names, one thread of a 2-core EPYC VM, 2026-11-21, per row:
//! `?y = "Course10"` and `isLITERAL` 2 ns, `STRSTARTS` 40 ns, `STRLEN(?y) > 8` 45 ns, `REGEX` 50 to
//! 70 ns, most of it the fetch of the text. The floor of a filter over ids is the pass over its
//! column (8 bytes a row); of one over text, the dictionary's decoding.

mod arena;
mod arithmetic;
mod batch;
mod call;
mod cast;
mod compare;
mod compile;
mod computation;
mod condition;
mod dates;
mod hash;
mod ids;
mod integers;
mod make;
mod pattern;
mod refusal;
mod scalar;
mod sort_key;
mod text;
mod value;
mod xpath_pattern;

pub(crate) use arithmetic::combine;
pub(crate) use batch::{Batch, Scratch, Terms};
pub(crate) use compile::{Constants, computation, filter};
pub(crate) use computation::{Computation, Operand};
pub(crate) use condition::{Condition, Truth};
pub(crate) use ids::{id_of, id_of_value};
pub(crate) use scalar::Scalar;
pub(crate) use sort_key::SortKey;
pub(crate) use value::Value;
