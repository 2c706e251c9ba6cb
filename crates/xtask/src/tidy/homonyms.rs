//! Rule: two types of a crate that other files see have two names.
//!
//! Who reads `Place` in one file and `Place` in the next takes them for the same thing. A name that is private to a
//! file may stand in another one too: there the file's own name says of what. `Error` says it by its path, as it does
//! everywhere in Rust.

use std::collections::BTreeMap;

use super::tokens::Token;
use super::tree::{File, Tree};
use super::{Check, Finding};

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "homonyms",
    rule: "say in the name of each type what tells it from the other",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    let mut seen: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| !file.is_test) {
        let Some(name) = file.crate_name() else {
            continue;
        };
        if !file.path.starts_with(&format!("crates/{name}/src/")) {
            continue;
        }
        for (line, word) in named(file) {
            if let Some(other) = seen.insert((name, word), &file.path) {
                findings.push(Finding {
                    path: file.path.clone(),
                    line,
                    what: format!("`{word}` is a type of {other} and of {}", file.path),
                });
            }
        }
    }
    findings
}

/// The types of a file that others see, with their lines.
fn named(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let code: &[Token] = file.code().map_or(&[], |tokens| &tokens.code);
    let is_seen = |at: usize| {
        let before = at.checked_sub(1).map(|before| &*code[before].text);
        // `pub`, or the end of `pub(crate)`.
        matches!(before, Some("pub" | ")"))
    };
    code.windows(2).enumerate().filter_map(move |(at, pair)| {
        let is_type = matches!(&*pair[0].text, "struct" | "enum" | "trait");
        let word = &*pair[1].text;
        (is_type && is_seen(at) && word != "Error").then_some((pair[1].line, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_second_one_of_the_same_crate_only() {
        let tree = Tree::of_texts(&[
            ("crates/a/src/lib.rs", "pub struct Place; pub enum Error {}"),
            ("crates/a/src/b.rs", "struct Place;\npub enum Error {}"),
            (
                "crates/a/src/c.rs",
                "use x::Place;\npub(crate) enum Place {}",
            ),
            ("crates/b/src/lib.rs", "pub trait Place {}"),
        ]);
        let found = run(&tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((&*found[0].path, found[0].line), ("crates/a/src/c.rs", 2));
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
