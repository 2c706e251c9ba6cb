//! Rule: nothing is left for later in place.
//!
//! No marks in comments, no stubs, no tests switched off: what is not done yet is an issue, or a
//! refusal with a clear message, or a skip that names its reason at run time. Looked for in the
//! whole text, since comments are where such marks live; the marks are put together from halves
//! here, so that this file keeps its own rule.

use super::tree::Tree;
use super::{Check, Finding};

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "unfinished",
    rule: "finish it, refuse it clearly, or file it; leave no marks in the code",
    run,
};

fn marks() -> [String; 6] {
    [
        ("TO", "DO"),
        ("FIX", "ME"),
        ("XX", "X"),
        ("todo", "!("),
        ("unimplemented", "!("),
        ("#[", "ignore"),
    ]
    .map(|(first, second)| [first, second].concat())
}

fn run(tree: &Tree) -> Vec<Finding> {
    let marks = marks();
    let mut found = Vec::new();
    for file in tree.rust() {
        let text = file.text.as_deref().unwrap_or_default();
        for (index, line) in text.lines().enumerate() {
            let stands = marks.iter().filter(|mark| has_word(line, mark));
            found.extend(stands.map(|mark| Finding {
                path: file.path.clone(),
                line: index + 1,
                what: format!("`{mark}`"),
            }));
        }
    }
    found
}

/// Whether `line` holds `mark` with no letter or digit before it, nor, for a mark that ends in a
/// letter, after it.
fn has_word(line: &str, mark: &str) -> bool {
    line.match_indices(mark).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + mark.len()..].chars().next();
        let ends_open = !mark.ends_with(|last: char| last.is_alphanumeric());
        !before.is_some_and(char::is_alphanumeric)
            && (ends_open || !after.is_some_and(char::is_alphanumeric))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_mark() {
        for mark in marks() {
            let text = format!("//! A file.\n// {mark} later\n");
            let tree = Tree::of_texts(&[("crates/a/src/lib.rs", &text)]);
            assert_eq!(run(&tree).len(), 1, "{mark}");
            assert_eq!(run(&tree)[0].line, 2);
        }
    }

    #[test]
    fn a_part_of_a_word_is_no_mark() {
        let triple = "X".repeat(3);
        let text = format!("// \\u{triple}X A{triple} {triple}X {triple}9");
        assert!(run(&Tree::of_texts(&[("a.rs", &text)])).is_empty());
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
