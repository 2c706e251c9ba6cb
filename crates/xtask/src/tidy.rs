//! The house rules, as functions from a tree of files to findings.
//!
//! ```text
//! tree (files, tokens) -> check -> findings -> less the exceptions -> what is reported
//! ```
//!
//! Invariants: a check sees nothing but the tree that it is handed, so each one is tested on a
//! bad example; every exception stands in `exceptions`, with its reason, and one that excuses
//! nothing any more is a finding itself. Each rule is a module; CONTRIBUTING.md gives the
//! rules, ARCHITECTURE.md the table of edges.
//!
//! Cost: the whole tree is read and tokenised in well under a second.

mod authority;
mod circles;
mod edges;
mod exceptions;
mod filled;
mod folders;
mod headers;
mod homonyms;
mod howto;
mod length;
mod links;
mod named;
mod places;
mod readme;
mod size;
mod tokens;
pub(crate) mod tree;
mod unfinished;
mod unsafety;
mod unwraps;

use std::fmt;
#[cfg(test)]
use std::sync::LazyLock;

use crate::error::ChoreError;
use tree::Tree;

/// A place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the workspace, with `/` on every platform.
    pub path: String,
    /// The line, from 1; 0 when it is about the whole file.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(out, "{}: {}", self.path, self.what),
            line => write!(out, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// A rule: its name, the sentence that a contributor needs, and the function that applies it.
pub struct Check {
    /// One word, also used by `exceptions`.
    pub name: &'static str,
    /// What to do instead.
    pub rule: &'static str,
    /// Applies the rule to a tree.
    pub run: fn(&Tree) -> Vec<Finding>,
}

const CHECKS: &[&Check] = &[
    &edges::CHECK,
    &circles::CHECK,
    &homonyms::CHECK,
    &filled::CHECK,
    &folders::CHECK,
    &headers::CHECK,
    &length::CHECK,
    &unwraps::CHECK,
    &unfinished::CHECK,
    &unsafety::CHECK,
    &authority::CHECK,
    &places::CHECK,
    &size::CHECK,
    &links::CHECK,
    &howto::CHECK,
    &named::CHECK,
    &readme::CHECK,
];

/// `cargo xtask tidy`: prints every finding; true when there is none.
pub fn run() -> Result<bool, ChoreError> {
    println!("$ cargo xtask tidy");
    let tree = Tree::of_workspace()?;
    let mut findings = 0;
    for check in CHECKS {
        let left = exceptions::apply(check.name, (check.run)(&tree));
        if !left.is_empty() {
            println!("{}: {}", check.name, check.rule);
        }
        for finding in &left {
            println!("  {finding}");
        }
        findings += left.len();
    }
    println!(
        "tidy: {} files, {} rules, {findings} findings",
        tree.files().len(),
        CHECKS.len()
    );
    Ok(findings == 0)
}

/// Applies one check to this very workspace; the body of each check's own test.
#[cfg(test)]
fn assert_kept(check: &Check) {
    // Read once for all checks.
    static WORKSPACE: LazyLock<Tree> = LazyLock::new(|| Tree::of_workspace().unwrap());
    let left = exceptions::apply(check.name, (check.run)(&WORKSPACE));
    let lines: Vec<String> = left.iter().map(ToString::to_string).collect();
    assert!(
        left.is_empty(),
        "{}: {}\n{}",
        check.name,
        check.rule,
        lines.join("\n")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_a_name_of_its_own() {
        let mut names: Vec<_> = CHECKS.iter().map(|check| check.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CHECKS.len());
    }

    #[test]
    fn a_finding_is_printed_as_a_place_that_editors_open() {
        let finding = Finding {
            path: "a/b.rs".into(),
            line: 3,
            what: "odd".into(),
        };
        assert_eq!(finding.to_string(), "a/b.rs:3: odd");
        assert_eq!(Finding { line: 0, ..finding }.to_string(), "a/b.rs: odd");
    }
}
