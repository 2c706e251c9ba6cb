//! Rule: no ambient authority below the engine.
//!
//! In `memory`, `device`, `fabric`, `rdf`, `store`, `query` and `explore` there is no clock, no randomness, no
//! environment, no printing, no process and no thread that a caller did not ask for: they arrive
//! as arguments. Why: the same inputs then give the same outputs, so any failure is replayed
//! from its seed, and many nodes fit into one test thread under virtual time.
//!
//! What is looked for is the act, not the type: an `Instant` that was handed down is an argument.
//! Files are not on the list: reading and writing them is what `store` is for, behind its `Disk`
//! seam.

use super::tree::{self, File, Tree};
use super::{Check, Finding};

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "authority",
    rule: "clock, seed, environment, output and threads arrive as arguments here",
    run,
};

const BELOW_THE_ENGINE: &[&str] = &[
    "memory", "device", "fabric", "rdf", "store", "query", "explore", "gpu",
];

const PATTERNS: &[&str] = &[
    "Instant::now",
    ".elapsed()",
    "SystemTime",
    "env::",
    "process::",
    "std::net",
    "println!",
    "print!",
    "eprintln!",
    "eprint!",
    "dbg!",
    "stdout(",
    "stderr(",
    "rand::",
    "fastrand",
    "getrandom",
    "RandomState",
    "thread::spawn",
    "thread::scope",
    "thread::sleep",
    "thread::Builder",
    "available_parallelism",
    "rayon",
];

fn run(tree: &Tree) -> Vec<Finding> {
    tree::patterns_in(tree.rust().filter(|file| is_below(file)), PATTERNS)
}

/// A build script talks to Cargo in no other way than these.
fn is_below(file: &File) -> bool {
    let is_script = file.path.ends_with("/build.rs");
    let of_crate = file.crate_name().filter(|_| !is_script);
    of_crate.is_some_and(|name| BELOW_THE_ENGINE.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_clocks_printing_and_threads_below_the_engine() {
        let bad = "fn a() {\n let t = std::time::Instant::now();\n println!();\n \
                   std::thread::scope(|s| ());\n}\n#[cfg(test)] mod tests { fn b() { dbg!(1) } }";
        let tree = Tree::of_texts(&[("crates/store/src/a.rs", bad), ("crates/cli/src/a.rs", bad)]);
        let found: Vec<_> = run(&tree).into_iter().map(|finding| finding.line).collect();
        assert_eq!(found, [2, 3, 4]);
    }

    #[test]
    fn a_word_in_documentation_is_no_finding() {
        let tree = Tree::of_texts(&[(
            "crates/rdf/src/a.rs",
            "//! Never calls println!().\nfn a() {}",
        )]);
        assert_eq!(run(&tree), []);
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
