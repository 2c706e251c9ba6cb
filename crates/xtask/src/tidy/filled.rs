//! Rule: no empty rooms. A crate is created when its first working code lands.
//!
//! Held as: outside tests and comments, each crate's `src` has a function with a body.

use std::collections::BTreeMap;

use super::tree::{File, Tree};
use super::{Check, Finding};

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "filled",
    rule: "a crate comes with its first working code",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    let mut filled: BTreeMap<&str, bool> = BTreeMap::new();
    for file in tree.rust() {
        if let Some(name) = file.crate_name() {
            *filled.entry(name).or_default() |= has_function(file);
        }
    }
    let empty = filled.into_iter().filter(|(_, filled)| !filled);
    empty
        .map(|(name, _)| Finding {
            path: format!("crates/{name}"),
            line: 0,
            what: "no function outside tests: an empty room".into(),
        })
        .collect()
}

/// A function with something in its braces; `fn main() {}` is as empty as none.
fn has_function(file: &File) -> bool {
    let Some(tokens) = file.code() else {
        return false;
    };
    let at = tokens.code.iter().position(|token| token.text == "fn");
    at.is_some_and(|at| {
        tokens.code[at..]
            .windows(2)
            .any(|pair| pair[0].text == "{" && pair[1].text != "}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_crate_without_code() {
        let tree = Tree::of_texts(&[
            ("crates/full/src/lib.rs", "//! Full.\nmod a;"),
            ("crates/full/src/a.rs", "pub fn one() -> u8 { 1 }"),
            (
                "crates/empty/src/lib.rs",
                "//! Later: fn everything() { 1 }",
            ),
            ("crates/empty/tests/a.rs", "fn one() -> u8 { 1 }"),
            ("crates/hollow/src/main.rs", "fn main() {}"),
        ]);
        let found: Vec<_> = run(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["crates/empty", "crates/hollow"]);
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
