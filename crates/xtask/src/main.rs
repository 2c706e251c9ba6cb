//! Chores: tidy checks, conformance, long runs.
fn main() {}
