//! Rule: no test that nobody runs. Where the manifest of a crate lists its test programs (`autotests = false`), a file
//! in `tests` is compiled only if a program names it; one that is forgotten would pass for ever.
//!
//! Held as: in a crate with a `tests/all.rs`, that is a program of the manifest, and each `tests/NAME.rs` is
//! declared there or a program, too; each `tests/NAME/main.rs` is a program.

use super::tree::{File, Tree};
use super::{Check, Finding};

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "named",
    rule: "a file of tests is declared in tests/all.rs, or listed in the manifest",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| is_forgotten(file, tree))
        .map(|file| Finding {
            path: file.path.clone(),
            line: 0,
            what: "no program of tests has it: it is not compiled".into(),
        })
        .collect()
}

fn is_forgotten(file: &File, tree: &Tree) -> bool {
    let Some(below) = file.crate_name().and_then(|name| {
        let folder = format!("crates/{name}/tests/");
        file.path.strip_prefix(&folder)
    }) else {
        return false;
    };
    let stem = below.trim_end_matches(".rs");
    if stem.trim_end_matches("/main").contains('/') {
        return false;
    }
    let folder = file.path.strip_suffix(below).unwrap_or_default();
    let Some(all) = tree.text_of(&format!("{folder}all.rs")) else {
        return false;
    };
    let manifest = folder.replace("tests/", "Cargo.toml");
    let manifest = tree.text_of(&manifest).unwrap_or_default();
    let declared = format!("mod {stem};");
    let listed = format!("path = \"tests/{below}\"");
    !all.lines().any(|line| line == declared) && !manifest.lines().any(|line| line == listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_file_that_no_program_has() {
        let tree = Tree::of_texts(&[
            (
                "crates/one/Cargo.toml",
                "path = \"tests/all.rs\"\npath = \"tests/abuse.rs\"\n# path = \"tests/suite/main.rs\"",
            ),
            ("crates/one/tests/all.rs", "mod named;\nmod support;\n"),
            ("crates/one/tests/named.rs", ""),
            ("crates/one/tests/abuse.rs", ""),
            ("crates/one/tests/support.rs", ""),
            ("crates/one/tests/support/part.rs", ""),
            ("crates/one/tests/forgotten.rs", ""),
            ("crates/one/tests/suite/main.rs", ""),
            ("crates/many/tests/own.rs", ""),
        ]);
        let found: Vec<_> = run(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(
            found,
            [
                "crates/one/tests/forgotten.rs",
                "crates/one/tests/suite/main.rs"
            ]
        );
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
