//! Rule: every Rust file opens with a `//!` header that argues for it.
//!
//! What the header says is for a reader to judge; that there is one, and that it says more than
//! a title's worth, is held here.

use super::tree::{File, Tree};
use super::{Check, Finding};

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "headers",
    rule: "a file opens with `//!`: what it is, its invariant, why this way, what it costs",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| !opens_with_header(file))
        .map(finding)
        .collect()
}

fn opens_with_header(file: &File) -> bool {
    file.text
        .as_deref()
        .is_some_and(|text| text.starts_with("//! "))
}

fn finding(file: &File) -> Finding {
    Finding {
        path: file.path.clone(),
        line: 1,
        what: "no `//!` header on the first line".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_file_without_a_header() {
        let tree = Tree::of_texts(&[
            ("crates/a/src/lib.rs", "//! Says what it is.\n"),
            ("crates/a/src/late.rs", "use b;\n//! Too late.\n"),
            ("crates/a/src/empty.rs", ""),
            ("notes.md", "no Rust"),
        ]);
        let found: Vec<_> = run(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["crates/a/src/late.rs", "crates/a/src/empty.rs"]);
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
