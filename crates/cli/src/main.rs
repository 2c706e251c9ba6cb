//! The binary: somersault.
fn main() {}
