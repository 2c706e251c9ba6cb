//! Rule: crates depend on one another only along the edges of the table in ARCHITECTURE.md.
//!
//! The table is read from the page that people read, so the two cannot differ. Both directions
//! are held: an edge that is not in the table, a crate without a row, a row without a crate.
//! Normal and build dependencies are held to the row; development dependencies may use
//! `testkit` and `workload` besides, which check and feed the engine without being part of it.
//!
//! Cost: one `cargo metadata --no-deps`, which reads the manifests and resolves nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::tree::Tree;
use super::{Check, Finding};
use crate::command::CommandLine;
use crate::error::ChoreError;

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "edges",
    rule: "the table of allowed edges in ARCHITECTURE.md is the law; a new edge is a decision",
    run,
};

const PAGE: &str = "ARCHITECTURE.md";
const HEAD: &str = "| crate | may depend on |";
/// Packages have it, so that they have names of their own among all packages; crates and folders do without.
const PREFIX: &str = "somersault-";
const FOR_TESTS: &[&str] = &["testkit", "workload"];

/// From each crate to the crates of ours that it may depend on.
type Allowed = BTreeMap<String, BTreeSet<String>>;

/// What `cargo metadata` says of the workspace, as far as edges go.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// Absent for a normal dependency, else `build` or `dev`.
    kind: Option<String>,
}

fn run(tree: &Tree) -> Vec<Finding> {
    let Some(allowed) = tree.text_of(PAGE).and_then(table) else {
        return vec![finding(format!("no table that begins with `{HEAD}`"))];
    };
    match packages() {
        Ok(packages) => compare(&allowed, &packages),
        Err(error) => vec![finding(error.to_string())],
    }
}

fn packages() -> Result<Vec<Package>, ChoreError> {
    let line = CommandLine::new("cargo metadata --no-deps --offline --format-version 1");
    let metadata: Metadata = serde_json::from_slice(&line.output()?)?;
    let mut packages = metadata.packages;
    for package in &mut packages {
        short(&mut package.name);
        for dependency in &mut package.dependencies {
            short(&mut dependency.name);
        }
    }
    Ok(packages)
}

/// The name of a crate of ours, which its folder has too, instead of its package's.
fn short(name: &mut String) {
    if let Some(of_crate) = name.strip_prefix(PREFIX) {
        *name = of_crate.to_owned();
    }
}

/// The rows under the table's head: names in backticks, the first cell's being the crates that
/// the second cell's are allowed to.
fn table(page: &str) -> Option<Allowed> {
    let mut allowed = Allowed::new();
    let below = page.lines().skip_while(|line| line.trim() != HEAD).skip(2);
    for row in below.take_while(|line| line.starts_with('|')) {
        let mut cells = row.trim_matches('|').split('|');
        let (crates, targets) = (cells.next()?, cells.next()?);
        for name in names(crates) {
            allowed.insert(name.to_owned(), names(targets).map(str::to_owned).collect());
        }
    }
    (!allowed.is_empty()).then_some(allowed)
}

/// What stands between backticks.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn compare(allowed: &Allowed, packages: &[Package]) -> Vec<Finding> {
    let ours: BTreeSet<&str> = packages.iter().map(|package| &*package.name).collect();
    let without_crate = allowed.keys().filter(|name| !ours.contains(name.as_str()));
    let mut found: Vec<Finding> = without_crate
        .map(|name| finding(format!("`{name}` has a row in the table but is no crate")))
        .collect();
    for package in packages {
        match allowed.get(&package.name) {
            Some(targets) => found.extend(forbidden_edges(package, targets, &ours)),
            None => found.push(finding(format!(
                "crate `{}` has no row in the table",
                package.name
            ))),
        }
    }
    found
}

fn forbidden_edges(
    package: &Package,
    targets: &BTreeSet<String>,
    ours: &BTreeSet<&str>,
) -> Vec<Finding> {
    let is_forbidden = |dependency: &&Dependency| {
        let name = dependency.name.as_str();
        let for_tests = dependency.kind.as_deref() == Some("dev");
        ours.contains(name)
            && !targets.contains(name)
            && !(for_tests && (FOR_TESTS.contains(&name) || name == package.name))
    };
    let edges = package.dependencies.iter().filter(is_forbidden);
    edges
        .map(|to| Finding {
            path: format!("crates/{}/Cargo.toml", package.name),
            line: 0,
            what: format!(
                "`{}` -> `{}` is not in the table of edges",
                package.name, to.name
            ),
        })
        .collect()
}

fn finding(what: String) -> Finding {
    Finding {
        path: PAGE.to_owned(),
        line: 0,
        what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_TEXT: &str = "# A page\n\n| crate | may depend on |\n|---|---|\n\
        | `low` | nothing of ours |\n| `mid`, `side` | `low` |\n\n| `not`| `this` |\n";

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependency = |(name, kind): &(&str, Option<&str>)| Dependency {
            name: (*name).to_owned(),
            kind: kind.map(str::to_owned),
        };
        let dependencies = dependencies.iter().map(dependency).collect();
        Package {
            name: name.to_owned(),
            dependencies,
        }
    }

    fn compared(packages: &[Package]) -> Vec<String> {
        let found = compare(&table(PAGE_TEXT).unwrap(), packages);
        found.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn reads_the_table_and_only_it() {
        let allowed = table(PAGE_TEXT).unwrap();
        assert_eq!(allowed.keys().collect::<Vec<_>>(), ["low", "mid", "side"]);
        assert!(allowed["low"].is_empty());
        assert!(allowed["side"].contains("low"));
        assert!(table("# Another page").is_none());
    }

    #[test]
    fn lets_allowed_edges_pass() {
        let mid = package(
            "mid",
            &[("low", None), ("serde", None), ("low", Some("build"))],
        );
        let side = package("side", &[("workload", Some("dev"))]);
        assert!(compared(&[package("low", &[]), mid, side]).is_empty());
    }

    #[test]
    fn finds_a_forbidden_edge_of_every_kind() {
        for kind in [None, Some("build"), Some("dev")] {
            let low = package("low", &[("mid", kind)]);
            let found = compared(&[low, package("mid", &[]), package("side", &[])]);
            assert_eq!(found, ["`low` -> `mid` is not in the table of edges"]);
        }
    }

    #[test]
    fn finds_a_crate_without_a_row_and_a_row_without_a_crate() {
        let found = compared(&[
            package("low", &[]),
            package("mid", &[]),
            package("new", &[]),
        ]);
        let row = "`side` has a row in the table but is no crate";
        assert_eq!(found, [row, "crate `new` has no row in the table"]);
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
