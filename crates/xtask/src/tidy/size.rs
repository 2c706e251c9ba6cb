//! Rule: no large file is kept in the repository.
//!
//! Data is generated (`somersault generate`), or lies beside the checkout and is reported as
//! skipped when absent. Two million bytes is far above any text written by hand.

use super::tree::{File, Tree};
use super::{Check, Finding};

const BYTES_MAX: u64 = 2_000_000;

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "size",
    rule: "generate data, or keep it outside the repository",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .iter()
        .filter(|file| file.bytes > BYTES_MAX)
        .map(finding)
        .collect()
}

fn finding(file: &File) -> Finding {
    let what = format!("{} bytes, {BYTES_MAX} are allowed", file.bytes);
    Finding {
        path: file.path.clone(),
        line: 0,
        what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_large_file() {
        let large = "x".repeat(2_000_001);
        let tree = Tree::of_texts(&[("a.nt", &large), ("b.nt", "small")]);
        let found: Vec<_> = run(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["a.nt"]);
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
