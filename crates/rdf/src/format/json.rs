//! Bounds the nesting of JSON-LD: the library recurses once per level and more (a thread with
//! 2 MiB of stack dies between 300 and 500 levels of `@graph`, measured 2026-11-21).
//!
//! Outside strings every bracket of JSON counts, and a backslash in a string hides the next byte:
//! RFC 8259 needs no more.

use super::guard::{Objection, Scan};

/// How deep objects and arrays may nest.
pub(super) const NESTING_MAX: u32 = 200;

/// The scanner's state between two bytes.
#[derive(Default)]
pub(super) struct JsonScan {
    depth: u32,
    state: State,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Structure,
    String,
    Escape,
}

impl Scan for JsonScan {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), Objection> {
        for (offset, &byte) in bytes.iter().enumerate() {
            self.state = match (self.state, byte) {
                (State::Structure, b'"') => State::String,
                (State::Structure, b'{' | b'[') => {
                    self.depth += 1;
                    if self.depth > NESTING_MAX {
                        let message = format!("JSON nests deeper than {NESTING_MAX} levels");
                        return Err(Objection { offset, message });
                    }
                    State::Structure
                }
                (State::Structure, b'}' | b']') => {
                    self.depth = self.depth.saturating_sub(1);
                    State::Structure
                }
                (State::Structure, _) | (State::String, b'"') => State::Structure,
                (State::String, b'\\') => State::Escape,
                (State::String | State::Escape, _) => State::String,
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(text: &str) -> bool {
        JsonScan::default().feed(text.as_bytes()).is_err()
    }

    #[test]
    fn only_structure_nests() {
        let many = NESTING_MAX as usize + 1;
        assert!(is_refused(&"[".repeat(many)));
        assert!(is_refused(&"{\"a\":".repeat(many)));
        assert!(!is_refused(&"[]".repeat(many)));
        assert!(!is_refused(&format!("\"{}\"", "[".repeat(many))));
        assert!(!is_refused(&format!("\"\\\"{}", "[".repeat(many))));
    }
}
