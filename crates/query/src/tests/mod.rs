//! Tests of the whole crate as text in, text out.

mod abuse;
mod lubm;
mod plans;
mod refusals;
mod sizes;
