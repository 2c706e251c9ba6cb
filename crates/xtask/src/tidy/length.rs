//! Rule: no Rust file is longer than 800 lines.
//!
//! Counted whole: tests that make a file too long belong in a file of their own. Functions are
//! held to 70 lines by clippy (`too-many-lines-threshold` in clippy.toml).

use super::tree::{File, Tree};
use super::{Check, Finding};

const LINES_MAX: usize = 800;

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "length",
    rule: "a file has at most 800 lines; its tests may move to a file of their own",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter_map(finding).collect()
}

fn finding(file: &File) -> Option<Finding> {
    let lines = file.text.as_deref()?.lines().count();
    let what = format!("{lines} lines, {LINES_MAX} are allowed");
    (lines > LINES_MAX).then(|| Finding {
        path: file.path.clone(),
        line: 0,
        what,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_file_that_is_too_long() {
        let fits = "//\n".repeat(LINES_MAX);
        let long = "//\n".repeat(LINES_MAX + 1);
        let tree = Tree::of_texts(&[("a.rs", &fits), ("b.rs", &long), ("c.txt", &long)]);
        let found = run(&tree);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), "b.rs: 801 lines, 800 are allowed");
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
