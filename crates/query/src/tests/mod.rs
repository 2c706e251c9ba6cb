//! Tests of the whole crate as text in, text out.

mod abuse;
mod algebra_text;
mod backtracking;
mod cases;
mod conformance;
mod guard;
mod invariants;
mod lower;
mod lubm;
mod plans;
mod refusals;
mod sizes;
