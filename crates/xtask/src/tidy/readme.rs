//! Rule: the commands that README.md gives are the ones that are run here.
//!
//! `cargo xtask check`, and through it `.ci/run`, runs the test command; a reader must find that
//! very line in README.md, alone on its line in a code block, so that it can be copied.

use super::tree::Tree;
use super::{Check, Finding};
use crate::check::TEST_COMMAND;

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "readme",
    rule: "README.md shows the commands that .ci/run relies on",
    run,
};

const PAGE: &str = "README.md";
const RUNNER: &str = ".ci/run";
const RUN_COMMAND: &str = "cargo run --release -- demo";
const CHECK_COMMAND: &str = "cargo xtask check";

fn run(tree: &Tree) -> Vec<Finding> {
    let wanted = [
        (PAGE, TEST_COMMAND),
        (PAGE, RUN_COMMAND),
        (RUNNER, CHECK_COMMAND),
    ];
    let missing = wanted
        .into_iter()
        .filter(|(path, command)| !has_line(tree, path, command));
    missing
        .map(|(path, command)| Finding {
            path: path.to_owned(),
            line: 0,
            what: format!("no line `{command}`"),
        })
        .collect()
}

fn has_line(tree: &Tree, path: &str, command: &str) -> bool {
    let text = tree.text_of(path).unwrap_or_default();
    text.lines().any(|line| line.trim() == command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_command_that_is_not_shown() {
        let page = format!("```sh\n{TEST_COMMAND} --release\n{RUN_COMMAND}\n```\n");
        let tree = Tree::of_texts(&[(PAGE, &page), (RUNNER, CHECK_COMMAND)]);
        let found: Vec<_> = run(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(found, [format!("{PAGE}: no line `{TEST_COMMAND}`")]);
        assert_eq!(run(&Tree::of_texts(&[])).len(), 3);
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
