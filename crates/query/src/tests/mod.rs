//! Tests of the whole crate as text in, text out.

mod abuse;
mod guard;
mod lubm;
mod plans;
mod refusals;
mod sizes;
