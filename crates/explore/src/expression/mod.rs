//! Expressions: compiled once, evaluated over columns.
//!
//! `query` hands over plain data with names and arities resolved; here it becomes a tree of
//! [`condition`]s (asked for truth) and [`computation`]s (asked for values) whose nodes each work on
//! a whole batch of rows. SPARQL 1.1 Query sections 17.2 to 17.4.
//!
//! | file | what |
//! |---|---|
//! | `compile` | the choice of the cheap forms |
//! | `batch` | rows, and the text of their terms fetched at need |
//! | `condition`, `computation` | evaluation |
//! | `value`, `compare`, `arithmetic`, `text`, `pattern`, `xpath_pattern` | one row's work |
//! | `sort_key` | `ORDER BY` |
//!
//! Measured on LUBM-160's 173,040 course names, one thread of a 2-core EPYC VM, 2026-11-21, per row:
//! `?y = "Course10"` and `isLITERAL` 2 ns, `STRSTARTS` 40 ns, `STRLEN(?y) > 8` 45 ns, `REGEX` 50 to
//! 70 ns, most of it the fetch of the text. The floor of a filter over ids is the pass over its
//! column (8 bytes a row); of one over text, the dictionary's decoding.

mod arithmetic;
mod batch;
mod compare;
mod compile;
mod computation;
mod condition;
mod ids;
mod pattern;
mod sort_key;
mod text;
mod value;
mod xpath_pattern;

pub(crate) use batch::{Batch, Scratch, Terms};
pub(crate) use compile::{Constants, computation, filter};
pub(crate) use computation::Computation;
pub(crate) use condition::{Condition, Truth};
pub(crate) use ids::id_of;
pub(crate) use sort_key::SortKey;
