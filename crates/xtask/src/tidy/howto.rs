//! Rule: the lists of files in `docs/howto.md` are true. A list that nobody checks sends a newcomer to files that have
//! moved, and leaves out the one that was added.
//!
//! Held as: in that page, a row of a table that begins with a link to a file ends with a word in backticks, the
//! name of the example there, and the file holds this word. No section has a table without such rows.

use super::tree::Tree;
use super::{Check, Finding};

/// See the head of this file.
pub const CHECK: Check = Check {
    name: "howto",
    rule: "each file that docs/howto.md lists is there and has the example that is named beside it",
    run,
};

const PAGE: &str = "docs/howto.md";

fn run(tree: &Tree) -> Vec<Finding> {
    let text = tree.text_of(PAGE).unwrap_or_default();
    let lines = (1..).zip(text.lines());
    let rows = lines.filter(|(_, line)| line.starts_with("| ["));
    let wrong = rows.filter_map(|(line, row)| {
        let what = complaint(row, tree)?;
        Some(finding(line, what))
    });
    wrong.chain(empty_sections(text)).collect()
}

fn finding(line: usize, what: String) -> Finding {
    Finding {
        path: PAGE.to_owned(),
        line,
        what,
    }
}

/// What is wrong with a row: `| [name](../path) | what goes there | `word` |`.
fn complaint(row: &str, tree: &Tree) -> Option<String> {
    let target = row.split_once("](").and_then(|(_, rest)| {
        let (target, _) = rest.split_once(')')?;
        target.strip_prefix("../")
    });
    let last = row.trim_end().trim_end_matches('|').rsplit('|').next();
    let word = last.and_then(|cell| cell.trim().strip_prefix('`')?.strip_suffix('`'));
    let (Some(target), Some(word)) = (target, word) else {
        return Some("the row does not name a file and a word in it".to_owned());
    };
    match tree.text_of(target) {
        None => Some(format!("there is no file `{target}`")),
        Some(text) if !text.contains(word) => Some(format!("`{target}` does not have `{word}`")),
        Some(_) => None,
    }
}

fn empty_sections(text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    for (line, text) in (1..).zip(text.lines()) {
        if let Some(title) = text.strip_prefix("## ") {
            found.extend(open.replace((line, title)));
        } else if text.starts_with("| [") {
            open = None;
        }
    }
    found.extend(open);
    let say = |(line, title): (usize, &str)| finding(line, format!("`{title}` lists no file"));
    found.into_iter().map(say).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_not_so() {
        let page = "## A thing\n\n| [a](../crates/a.rs) | its row | `thing` |\n\
                    | [a](../crates/a.rs) | no such | `other` |\n\
                    | [b](../crates/b.rs) | moved | `thing` |\n\
                    | [a](../crates/a.rs) | no word | |\n\n## Nothing\n\nText.\n";
        let tree = Tree::of_texts(&[(PAGE, page), ("crates/a.rs", "fn thing() {}")]);
        let found: Vec<_> = run(&tree)
            .into_iter()
            .map(|it| (it.line, it.what))
            .collect();
        let expected = [
            (4, "`crates/a.rs` does not have `other`"),
            (5, "there is no file `crates/b.rs`"),
            (6, "the row does not name a file and a word in it"),
            (8, "`Nothing` lists no file"),
        ];
        let expected = expected.map(|(line, what)| (line, what.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn is_kept() {
        crate::tidy::assert_kept(&CHECK);
    }
}
