//! Tests of the whole crate as text in, text out.

mod abuse;
mod algebra_text;
mod backtracking;
mod cases;
mod conformance;
mod dotted;
mod given;
mod grammar;
mod invariants;
mod lexer;
mod library;
mod lower;
mod lubm;
mod mentions;
mod plans;
mod recovery;
mod refusals;
mod sampling;
mod shape;
mod sizes;
mod sources;
mod spelling;
mod standing;
mod wire;
