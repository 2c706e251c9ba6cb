//! Tests of the whole crate as text in, text out.

mod abuse;
mod algebra_text;
mod backtracking;
mod cases;
mod conformance;
mod dotted;
mod given;
mod grammar;
mod interpreter;
mod invariants;
mod lexer;
mod library;
mod lower;
mod lubm;
mod meaning;
mod mentions;
mod plans;
mod recovery;
mod reference;
mod refusals;
mod sampling;
mod shape;
mod sizes;
mod spelling;

/// The variables that solutions of a group may bind.
fn slots_of_group(group: &crate::algebra::Group) -> Vec<crate::plan::Slot> {
    crate::planner::out_of(group)
}
