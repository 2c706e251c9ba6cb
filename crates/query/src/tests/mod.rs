//! Tests of the whole crate as text in, text out.

mod abuse;
mod backtracking;
mod cases;
mod guard;
mod lubm;
mod plans;
mod refusals;
mod sizes;
