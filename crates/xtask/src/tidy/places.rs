//! Rule: no file names a place that exists only where it was written.
//!
//! That is: absolute paths of somebody's machine, and hosts of package registries (sources are
//! named by package; `Cargo.lock` alone records where they came from). What is looked for is put
//! together from halves here, so that this file keeps its own rule.

use super::tree::{File, Tree};
use super::{Check, Finding};

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "places",
    rule: "use paths relative to the workspace, temporary folders, and package names",
    run,
};

/// Folders at the root of a file system that differ from machine to machine.
const FOLDERS: &[&str] = &["home", "root", "work", "farm", "Users"];

/// Hosts of registries, cut in two.
const HOSTS: &[(&str, &str)] = &[
    ("crates.io", "-index"),
    ("index.", "crates.io"),
    ("static.", "crates.io"),
    ("py", "pi.org"),
    ("files.", "pythonhosted.org"),
    ("registry.", "npmjs.org"),
    ("proxy.", "golang.org"),
    ("deb.", "debian.org"),
];

fn run(tree: &Tree) -> Vec<Finding> {
    let hosts: Vec<String> = HOSTS
        .iter()
        .map(|(first, second)| [*first, *second].concat())
        .collect();
    let files = tree.files().iter();
    let files = files.filter(|file| file.path.rsplit('/').next() != Some("Cargo.lock"));
    files.flat_map(|file| findings(file, &hosts)).collect()
}

fn findings(file: &File, hosts: &[String]) -> Vec<Finding> {
    let text = file.text.as_deref().unwrap_or_default();
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let folders = FOLDERS.iter().filter(|folder| names_folder(line, folder));
        let folders = folders.map(|folder| format!("a path below /{folder}"));
        let hosts = hosts.iter().filter(|host| line.contains(host.as_str()));
        let whats = folders.chain(hosts.map(|host| format!("the registry host {host}")));
        let path = &file.path;
        found.extend(whats.map(|what| Finding {
            path: path.clone(),
            line: index + 1,
            what,
        }));
    }
    found
}

/// Whether `/folder/` stands in the line as the beginning of a path: `a/folder/b` is relative,
/// and `example.org/folder/` is an address.
fn names_folder(line: &str, folder: &str) -> bool {
    let wanted = ["/", folder, "/"].concat();
    line.match_indices(&wanted).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(path: &str, text: &str) -> usize {
        run(&Tree::of_texts(&[(path, text)])).len()
    }

    #[test]
    fn finds_paths_of_a_machine() {
        for folder in FOLDERS {
            let text = format!("see \"/{folder}/somebody/data\"");
            assert_eq!(found_in("notes.md", &text), 1, "{folder}");
            assert_eq!(
                found_in("notes.md", &format!("http://example.org/{folder}/x")),
                0
            );
            assert_eq!(found_in("notes.md", &format!("crates/{folder}/x")), 0);
        }
    }

    #[test]
    fn finds_registries_except_in_the_lock_file() {
        for (first, second) in HOSTS {
            let text = format!("registry = \"https://{first}{second}/\"");
            assert!(found_in("deny.toml", &text) > 0, "{first}{second}");
            assert_eq!(found_in("Cargo.lock", &text), 0);
            assert_eq!(found_in("fuzz/Cargo.lock", &text), 0);
            assert_eq!(found_in("fuzz/NotCargo.lock", &text), 1);
        }
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
