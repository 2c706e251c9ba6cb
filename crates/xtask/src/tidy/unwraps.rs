//! Rule: no `unwrap` outside tests.
//!
//! Clippy warns of it too; held here as well so that a plain `cargo test` finds it, and so that
//! an `allow` does not open a back door.

use super::tree::{self, Tree};
use super::{Check, Finding};

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "unwraps",
    rule: "return an error, or use `expect` with the reason why it cannot fail",
    run,
};

const PATTERNS: &[&str] = &[".unwrap()", ".unwrap_err()"];

fn run(tree: &Tree) -> Vec<Finding> {
    tree::patterns_in(tree.rust(), PATTERNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_one_outside_tests_only() {
        let tree = Tree::of_texts(&[
            (
                "crates/a/src/lib.rs",
                "/// a.unwrap()\nfn a() {\n    b().unwrap();\n}\n",
            ),
            (
                "crates/a/src/b.rs",
                "#[cfg(test)] mod tests { fn a() { b().unwrap() } }",
            ),
            ("crates/a/tests/c.rs", "fn a() { b().unwrap() }"),
        ]);
        let found = run(&tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((&*found[0].path, found[0].line), ("crates/a/src/lib.rs", 3));
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
