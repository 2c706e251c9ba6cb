//! Whether a session goes on after a statement.
//!
//! A session says so and a script heeds it, so it stands below both.

/// Whether a session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    Continue,
    /// It was asked to end.
    Quit,
}
