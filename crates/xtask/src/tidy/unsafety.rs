//! Rule: `unsafe` is written in crates `memory` and `device` only.
//!
//! So whoever wants to know whether this product can read what it must not has two small crates
//! to read. The lint `unsafe_code` is denied for the workspace, tests included; this rule finds
//! the `allow` that would lift it.

use super::tree::{self, File, Tree};
use super::{Check, Finding};

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "unsafety",
    rule: "unsafe code lives in crates `memory` and `device`, behind safe functions",
    run,
};

const HOMES: &[&str] = &["memory", "device"];
const PATTERNS: &[&str] = &["unsafe", "allow(unsafe_code", "expect(unsafe_code"];

fn run(tree: &Tree) -> Vec<Finding> {
    tree::patterns_in(tree.rust().filter(|file| !is_home(file)), PATTERNS)
}

fn is_home(file: &File) -> bool {
    file.crate_name().is_some_and(|name| HOMES.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_it_outside_its_home() {
        let tree = Tree::of_texts(&[
            ("crates/memory/src/lib.rs", "fn a() { unsafe { b() } }"),
            ("crates/device/src/lib.rs", "fn a() { unsafe { b() } }"),
            (
                "crates/store/src/lib.rs",
                "// unsafe\nfn a() { unsafe { b() } }",
            ),
            ("crates/store/src/c.rs", "#![allow(unsafe_code)]"),
            ("crates/query/src/lib.rs", "#![deny(unsafe_code)]"),
        ]);
        let found: Vec<_> = run(&tree).into_iter().map(|f| (f.path, f.line)).collect();
        let store = |file: &str| format!("crates/store/src/{file}.rs");
        assert_eq!(found, [(store("lib"), 2), (store("c"), 1)]);
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
