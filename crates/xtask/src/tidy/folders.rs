//! Rule: a folder of source has as many files as one takes in at a glance.
//!
//! Counted are the Rust files that lie in a folder itself, tests among them: what has more has groups, and each group is a
//! folder with a name. Where the parts are of one kind, as the operators of a walk, the list is the structure and is an
//! exception.

use std::collections::BTreeMap;

use super::tree::Tree;
use super::{Check, Finding};

const FILES_MAX: usize = 24;

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "folders",
    rule: "files that belong together have a folder of their own",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for file in tree.rust() {
        if let Some((folder, _)) = file.path.rsplit_once('/') {
            *files.entry(folder).or_default() += 1;
        }
    }
    let crowded = files.into_iter().filter(|(_, files)| *files > FILES_MAX);
    crowded
        .map(|(folder, files)| Finding {
            path: folder.to_owned(),
            line: 0,
            what: format!("{files} files, {FILES_MAX} are allowed"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_crowded_folder() {
        let paths = |folder: &str, files: usize| -> Vec<String> {
            (0..files)
                .map(|number| format!("{folder}/part{number}.rs"))
                .collect()
        };
        let paths = [
            paths("crates/a/src", 24),
            paths("crates/a/src/few", 3),
            paths("crates/a/src/many", 25),
        ]
        .concat();
        let texts: Vec<(&str, &str)> = paths.iter().map(|path| (&**path, "")).collect();
        let found: Vec<_> = run(&Tree::of_texts(&texts))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["crates/a/src/many: 25 files, 24 are allowed"]);
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
