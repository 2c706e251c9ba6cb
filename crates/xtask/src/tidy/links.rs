//! Rule: a link from one of our pages to another of our files leads somewhere, and so does a page that code names.
//!
//! Looked at are markdown links with a relative target, as in `[why](CONTRIBUTING.md#house-rules)`; the file
//! must exist in the tree, the part after `#` is not looked up. Code fences are left out. In Rust it is words in
//! comments that end with `.md`: from the workspace's folder, or beside the file.

use std::collections::BTreeSet;

use super::tree::{File, Tree, has_extension};
use super::{Check, Finding};

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "links",
    rule: "a relative link names a file or folder that exists",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    let known = places(tree);
    let pages = tree.files().iter().filter(|file| file.is_markdown());
    let links = pages.flat_map(|page| broken_links(page, &known));
    links
        .chain(tree.rust().flat_map(|file| missing_pages(file, &known)))
        .collect()
}

/// The pages that a file's comments name and that are not there.
fn missing_pages(file: &File, known: &BTreeSet<String>) -> Vec<Finding> {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
    let mut found = Vec::new();
    for (index, line) in file.text.as_deref().unwrap_or_default().lines().enumerate() {
        if !line.trim_start().starts_with("//") {
            continue;
        }
        let words = line.split(|c| !is_of_path(c));
        let words = words.map(|word| word.trim_end_matches('.'));
        let pages = words.filter(|word| has_extension(word, "md"));
        let missing = pages
            .filter(|page| !known.contains(*page) && !known.contains(&resolve(&file.path, page)));
        found.extend(missing.map(|page| Finding {
            path: file.path.clone(),
            line: index + 1,
            what: format!("there is no page `{page}`"),
        }));
    }
    found
}

/// Every file and every folder above one.
fn places(tree: &Tree) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for file in tree.files() {
        let mut path = file.path.as_str();
        known.insert(path.to_owned());
        while let Some((folder, _)) = path.rsplit_once('/') {
            known.insert(folder.to_owned());
            path = folder;
        }
    }
    known
}

fn broken_links(page: &File, known: &BTreeSet<String>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for (index, line) in page.text.as_deref().unwrap_or_default().lines().enumerate() {
        in_fence ^= line.trim_start().starts_with("```");
        if in_fence {
            continue;
        }
        let broken = targets(line).filter(|target| !known.contains(&resolve(&page.path, target)));
        found.extend(broken.map(|target| Finding {
            path: page.path.clone(),
            line: index + 1,
            what: format!("the link to `{target}` leads nowhere"),
        }));
    }
    found
}

/// The relative targets of a line's links, without what follows `#`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let after = line.split("](").skip(1);
    let whole = after.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    let ours = whole.filter(|target| !target.contains("://") && !target.starts_with("mailto:"));
    ours.filter_map(|target| target.split('#').next())
        .filter(|target| !target.is_empty())
}

/// Where a relative target leads from a page's folder.
fn resolve(page: &str, target: &str) -> String {
    let mut folders: Vec<&str> = page.split('/').collect();
    folders.pop();
    for step in target.trim_end_matches('/').split('/') {
        match step {
            "." => {}
            ".." => {
                folders.pop();
            }
            name => folders.push(name),
        }
    }
    folders.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_link_that_leads_nowhere() {
        let page = "[a](decisions/one.md#why) [b](../README.md) [c](decisions/)\n\
                    [d](gone.md) [e](https://example.org/x)\n```\n[f](also-gone.md)\n```\n";
        let tree = Tree::of_texts(&[
            ("docs/page.md", page),
            ("docs/decisions/one.md", "[up](../page.md) [self](#part)"),
            ("README.md", ""),
        ]);
        let found: Vec<_> = run(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["docs/page.md:2: the link to `gone.md` leads nowhere"]
        );
    }

    #[test]
    fn finds_a_page_that_only_a_comment_knows() {
        let code = "//! See docs/page.md, [`beside`](beside.md) and gone.md.\nlet name = \"other.md\"; // x\n/// /docs/lost.md\n";
        let tree = Tree::of_texts(&[
            ("crates/a/src/lib.rs", code),
            ("crates/a/src/beside.md", ""),
            ("docs/page.md", ""),
        ]);
        let found: Vec<_> = run(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "crates/a/src/lib.rs:1: there is no page `gone.md`",
                "crates/a/src/lib.rs:3: there is no page `/docs/lost.md`"
            ]
        );
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
