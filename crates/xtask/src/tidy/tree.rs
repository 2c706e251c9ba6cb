//! The files that the rules are about: those that git tracks or would track.
//!
//! Invariant: a path is relative to the workspace and written with `/`; a file that is not UTF-8
//! has a size and no text. Without git (an unpacked archive) the folders are walked instead,
//! leaving out `target*` and hidden ones but `.ci` and `.cargo`.
//!
//! A Rust file is *test code* as a whole when it lies in a `tests`, `benches` or `examples`
//! folder, is named `tests.rs` or `*_tests.rs`, or is a module that another file declares under
//! `#[cfg(test)]`.

use std::collections::BTreeSet;
use std::path::Path;

use super::Finding;
use super::tokens::{self, Tokens};
use crate::command::{CommandLine, workspace_root};
use crate::error::ChoreError;

/// One file.
pub struct File {
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// Its length on disk.
    pub bytes: u64,
    /// Its text, where it is UTF-8.
    pub text: Option<String>,
    /// For Rust files: the code that is not test code. `Err` says why it cannot be read as Rust.
    code: Option<Result<Tokens, String>>,
    /// Whether the whole file is test code.
    pub is_test: bool,
}

impl File {
    /// Whether this is Rust source.
    pub fn is_rust(&self) -> bool {
        has_extension(&self.path, "rs")
    }

    /// Whether this is a page for people.
    pub fn is_markdown(&self) -> bool {
        has_extension(&self.path, "md")
    }

    /// The crate's folder name, for files under `crates/`.
    pub fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// The Rust code of this file outside tests, comments and strings; nothing for test files,
    /// other files, and files that cannot be tokenised (which the compiler reports).
    pub fn code(&self) -> Option<&Tokens> {
        if self.is_test {
            None
        } else {
            self.code.as_ref()?.as_ref().ok()
        }
    }

    fn new(path: String, bytes: u64, text: Option<String>) -> Self {
        let is_test = looks_like_test(&path);
        let mut file = Self {
            path,
            bytes,
            text,
            code: None,
            is_test,
        };
        if file.is_rust() {
            file.code = file.text.as_deref().map(tokens::outside_tests);
        }
        file
    }
}

/// All files, in order of their paths.
pub struct Tree {
    files: Vec<File>,
}

impl Tree {
    /// The workspace that this crate lies in.
    pub fn of_workspace() -> Result<Self, ChoreError> {
        let root = workspace_root();
        let mut files = Vec::new();
        for path in paths(&root)? {
            let at = root.join(&path);
            let read = |source| ChoreError::Read {
                path: path.clone().into(),
                source,
            };
            if !at.is_file() {
                continue;
            }
            let bytes = std::fs::metadata(&at).map_err(read)?.len();
            let content = std::fs::read(&at).map_err(read)?;
            files.push(File::new(path, bytes, String::from_utf8(content).ok()));
        }
        Ok(Self::of(files))
    }

    /// A tree of texts, for the tests of the checks.
    #[cfg(test)]
    pub fn of_texts(texts: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| {
            File::new(
                (*path).to_owned(),
                text.len() as u64,
                Some((*text).to_owned()),
            )
        };
        Self::of(texts.iter().map(file).collect())
    }

    fn of(mut files: Vec<File>) -> Self {
        let tests: Vec<String> = files.iter().flat_map(test_modules).collect();
        for file in &mut files {
            let of = |module: &String| {
                let below = file.path.strip_prefix(module.as_str());
                below.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            };
            file.is_test |= tests.iter().any(of);
        }
        Self { files }
    }

    /// Every file.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The Rust files, tests among them.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// The text of one file.
    pub fn text_of(&self, path: &str) -> Option<&str> {
        self.files
            .iter()
            .find(|file| file.path == path)?
            .text
            .as_deref()
    }
}

/// A finding for each place in the code of `files` where one of the patterns stands.
pub fn patterns_in<'a>(files: impl Iterator<Item = &'a File>, patterns: &[&str]) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in files {
        let Some(code) = file.code() else { continue };
        for pattern in patterns {
            found.extend(code.lines_with(pattern).into_iter().map(|line| Finding {
                path: file.path.clone(),
                line,
                what: format!("`{pattern}`"),
            }));
        }
    }
    found
}

/// The modules that a file declares under `#[cfg(test)]`, as paths without `.rs`.
fn test_modules(file: &File) -> Vec<String> {
    let Some(Ok(code)) = &file.code else {
        return Vec::new();
    };
    let stem = file.path.trim_end_matches(".rs");
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let inside = if matches!(name, "lib" | "main" | "mod") {
        folder
    } else {
        stem
    };
    code.test_modules
        .iter()
        .map(|module| format!("{inside}/{module}"))
        .collect()
}

fn looks_like_test(path: &str) -> bool {
    let mut folders: Vec<&str> = path.split('/').collect();
    let name = folders.pop().unwrap_or_default();
    name == "tests.rs"
        || name.ends_with("_tests.rs")
        || folders
            .iter()
            .any(|folder| matches!(*folder, "tests" | "benches" | "examples"))
}

/// Whether a path ends with this extension.
pub fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|found| found == extension)
}

fn paths(root: &Path) -> Result<BTreeSet<String>, ChoreError> {
    let git = CommandLine::new("git ls-files -z --cached --others --exclude-standard");
    if let Ok(listed) = git.output() {
        let listed = String::from_utf8_lossy(&listed);
        return Ok(listed
            .split('\0')
            .filter(|path| !path.is_empty())
            .map(str::to_owned)
            .collect());
    }
    let mut found = BTreeSet::new();
    walk(root, "", &mut found)?;
    Ok(found)
}

fn walk(root: &Path, below: &str, found: &mut BTreeSet<String>) -> Result<(), ChoreError> {
    let read = |source| ChoreError::Read {
        path: below.into(),
        source,
    };
    for entry in std::fs::read_dir(root.join(below)).map_err(read)? {
        let entry = entry.map_err(read)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() {
            name.clone()
        } else {
            format!("{below}/{name}")
        };
        if !entry.file_type().map_err(read)?.is_dir() {
            found.insert(path);
        } else if is_walked(&name) {
            walk(root, &path, found)?;
        }
    }
    Ok(())
}

fn is_walked(folder: &str) -> bool {
    let hidden = folder.starts_with('.') && !matches!(folder, ".ci" | ".cargo");
    !hidden && folder != "target" && !folder.starts_with("target-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_test_files_by_place_name_and_declaration() {
        let tree = Tree::of_texts(&[
            (
                "crates/a/src/lib.rs",
                "#[cfg(test)]\nmod probes;\nmod real;",
            ),
            ("crates/a/src/probes.rs", ""),
            ("crates/a/src/probes/deep.rs", ""),
            ("crates/a/src/real.rs", "#[cfg(test)] mod inner;"),
            ("crates/a/src/real/inner.rs", ""),
            ("crates/a/src/real/tests.rs", ""),
            ("crates/a/tests/whole.rs", ""),
            ("crates/a/src/probes_more.rs", ""),
        ]);
        let tests: Vec<_> = tree
            .files()
            .iter()
            .filter(|file| !file.is_test)
            .map(|file| &*file.path)
            .collect();
        let real = [
            "crates/a/src/lib.rs",
            "crates/a/src/real.rs",
            "crates/a/src/probes_more.rs",
        ];
        assert_eq!(tests, real);
    }

    #[test]
    fn finds_this_file_with_git_and_without() {
        let root = workspace_root();
        let this = "crates/xtask/src/tidy/tree.rs".to_owned();
        assert!(paths(&root).unwrap().contains(&this));
        let mut walked = BTreeSet::new();
        walk(&root, "", &mut walked).unwrap();
        assert!(walked.contains(&this));
        assert!(!walked.iter().any(|path| path.starts_with("target/")));
    }
}
