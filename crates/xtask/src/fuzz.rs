//! `cargo xtask fuzz [TARGET...] [--seconds N] [--keep]`: runs the targets of `fuzz/`, each for a while.
//!
//! ```text
//! build with coverage -> for each target: corpus + found -> libFuzzer -> found, or an artifact
//!                                  --keep: corpus + found -> smallest set of the same edges -> corpus
//! ```
//!
//! Invariants: the committed corpus changes only where `--keep` asks for it; a target has failed
//! when its process has, whatever it wrote down; the last line is `N targets, N failed`. A target
//! is a file of `fuzz/fuzz_targets/`, so a new one needs no change here. With `--seconds 0` the
//! corpora are replayed and nothing else.
//!
//! Why not `cargo fuzz`: it wants a nightly compiler by default and has to be installed; all
//! that it does for us is a command line. The layout is its layout, so it works too.
//!
//! Cost: the first build takes five minutes on two cores, as every dependency is built with coverage.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::command::{CommandLine, target_folder, workspace_root};
use crate::error::ChoreError;

/// How long a target runs when nothing is said.
const SECONDS: u64 = 600;
/// What holds for every run: inputs of at most a page, ten seconds and two gigabytes for each.
const LIMITS: &str = "-max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1";
/// What a target's corpus may come to.
const CORPUS_BYTES_MAX: u64 = 200_000;
/// Where the input is kept that is being tried; a stack overflow leaves nothing else.
const LAST: &str = "last";
/// Flags in the environment would take the place of those in `fuzz/coverage.toml`.
const OTHER_FLAGS: [&str; 2] = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"];

/// What is to be run.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    /// By name; none means all.
    targets: Vec<String>,
    seconds: u64,
    keep: bool,
}

impl Wanted {
    /// Reads the words after `fuzz`; `None` where they make no sense.
    pub fn of_words(words: &[&str]) -> Option<Self> {
        let mut wanted = Self {
            targets: Vec::new(),
            seconds: SECONDS,
            keep: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--seconds" => wanted.seconds = words.next()?.parse().ok()?,
                "--keep" => wanted.keep = true,
                flag if flag.starts_with('-') => return None,
                target => wanted.targets.push(target.to_owned()),
            }
        }
        Some(wanted)
    }
}

/// Runs the targets; true when none failed.
pub fn run(wanted: &Wanted) -> Result<bool, ChoreError> {
    let known = targets()?;
    let names = if wanted.targets.is_empty() {
        known.keys()
    } else {
        wanted.targets.clone()
    };
    let unknown: Vec<_> = names.iter().filter(|name| !known.has(name)).collect();
    if !unknown.is_empty() {
        println!("no such target: {unknown:?}; there are {:?}", known.keys());
        return Ok(false);
    }
    let binaries = build(&names)?;
    let mut failed = Vec::new();
    for name in &names {
        let target = Target {
            name,
            binary: binaries.join(name),
            dictionary: known.dictionary(name),
        };
        if !target.run(wanted.seconds)? || (wanted.keep && !target.keep()?) {
            failed.push(name.as_str());
        }
    }
    for name in &failed {
        println!("{name}: FAILED, see fuzz/artifacts/{name}/");
    }
    println!("{} targets, {} failed", names.len(), failed.len());
    Ok(failed.is_empty())
}

/// The targets' names with the texts of their files, ascending.
struct Known(Vec<(String, String)>);

impl Known {
    fn keys(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    fn dictionary(&self, name: &str) -> Option<String> {
        let (_, text) = self.0.iter().find(|(known, _)| known == name)?;
        dictionary_in(text)
    }
}

/// The dictionary that a target's header names: `dictionaries/NAME.dict`.
fn dictionary_in(text: &str) -> Option<String> {
    let header = text.lines().take_while(|line| line.starts_with("//!"));
    header.into_iter().find_map(|line| {
        let (_, rest) = line.split_once("dictionaries/")?;
        let (name, _) = rest.split_once(".dict")?;
        Some(format!("fuzz/dictionaries/{name}.dict"))
    })
}

fn targets() -> Result<Known, ChoreError> {
    let folder = workspace_root().join("fuzz/fuzz_targets");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(reading(&folder))? {
        let path = entry.map_err(reading(&folder))?.path();
        if path.extension() == Some(OsStr::new("rs"))
            && let Some(name) = path.file_stem().and_then(OsStr::to_str)
        {
            let text = std::fs::read_to_string(&path).map_err(reading(&path))?;
            found.push((name.to_owned(), text));
        }
    }
    found.sort();
    Ok(Known(found))
}

/// Builds the targets with coverage; answers where their binaries lie.
fn build(names: &[String]) -> Result<PathBuf, ChoreError> {
    let host = CommandLine::new("rustc --print host-tuple").output()?;
    let host = String::from_utf8_lossy(&host).trim().to_owned();
    let mut line = CommandLine::new(
        "cargo build --manifest-path fuzz/Cargo.toml --config fuzz/coverage.toml --release",
    )
    .with_words(["--target", &host]);
    for name in names {
        line = line.with_words(["--bin", name]);
    }
    for variable in OTHER_FLAGS {
        line = line.without_variable(variable);
    }
    if !line.run()? {
        return Err(ChoreError::Failed {
            command: line.shown(),
            message: "the targets do not build; they need a C++ compiler besides Rust".to_owned(),
        });
    }
    Ok(target_folder("fuzz/target").join(host).join("release"))
}

/// A target that has been built.
struct Target<'t> {
    name: &'t str,
    binary: PathBuf,
    dictionary: Option<String>,
}

impl Target<'_> {
    /// Lets libFuzzer try inputs; false when one failed.
    fn run(&self, seconds: u64) -> Result<bool, ChoreError> {
        let (corpus, found) = (self.folder("corpus")?, self.folder("found")?);
        let artifacts = self.folder("artifacts")?;
        let last = format!("{artifacts}/{LAST}");
        let mut line = self
            .program()
            .with_words([&found, &corpus])
            .with_words([&format!("-artifact_prefix={artifacts}/")])
            .with_words(LIMITS.split_whitespace())
            .with_words([&duration(seconds)])
            .with_variable("SOMERSAULT_FUZZ_LAST", &last);
        if let Some(dictionary) = &self.dictionary {
            line = line.with_words([&format!("-dict={dictionary}")]);
        }
        let held = line.run()?;
        if held {
            let last = workspace_root().join(&last);
            std::fs::remove_file(&last).map_err(reading(&last))?;
        } else {
            println!("{}: what it tried last is {last}", self.name);
        }
        Ok(held)
    }

    /// Makes the corpus a small set that reaches the edges which it and what was found reach. Counts
    /// of edges would keep ten times as many inputs, for the next run to find again; the largest
    /// inputs are left out where the whole is more than a repository should carry.
    fn keep(&self) -> Result<bool, ChoreError> {
        let (corpus, found) = (self.folder("corpus")?, self.folder("found")?);
        let fresh = self.folder("artifacts")? + "/corpus";
        remake(&workspace_root().join(&fresh))?;
        let merge = self
            .program()
            .with_words([
                "-set_cover_merge=1",
                "-use_counters=0",
                &fresh,
                &corpus,
                &found,
            ])
            .with_words(LIMITS.split_whitespace());
        if !merge.run()? {
            return Ok(false);
        }
        let (fresh, corpus) = (workspace_root().join(fresh), workspace_root().join(corpus));
        leave_out_largest(&fresh, CORPUS_BYTES_MAX)?;
        std::fs::remove_dir_all(&corpus).map_err(reading(&corpus))?;
        std::fs::rename(&fresh, &corpus).map_err(reading(&fresh))?;
        remake(&workspace_root().join(found))?;
        Ok(true)
    }

    fn program(&self) -> CommandLine {
        CommandLine::new("").with_words([&*self.binary.to_string_lossy()])
    }

    /// A folder of this target, relative to the workspace; made where it is missing.
    fn folder(&self, kind: &str) -> Result<String, ChoreError> {
        let folder = format!("fuzz/{kind}/{}", self.name);
        let path = workspace_root().join(&folder);
        std::fs::create_dir_all(&path).map_err(reading(&path))?;
        Ok(folder)
    }
}

/// No seconds are a replay; libFuzzer itself would take them for no limit.
fn duration(seconds: u64) -> String {
    match seconds {
        0 => "-runs=0".to_owned(),
        seconds => format!("-max_total_time={seconds}"),
    }
}

/// Removes the largest files of a folder until it holds no more than so many bytes.
fn leave_out_largest(folder: &Path, bytes_max: u64) -> Result<(), ChoreError> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(reading(folder))? {
        let path = entry.map_err(reading(folder))?.path();
        let bytes = std::fs::metadata(&path).map_err(reading(&path))?.len();
        files.push((bytes, path));
    }
    files.sort();
    let mut sum = 0;
    for (bytes, path) in files {
        sum += bytes;
        if sum > bytes_max {
            std::fs::remove_file(&path).map_err(reading(&path))?;
        }
    }
    Ok(())
}

fn remake(folder: &Path) -> Result<(), ChoreError> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(reading(folder))?;
    }
    std::fs::create_dir_all(folder).map_err(reading(folder))
}

fn reading(path: &Path) -> impl Fn(std::io::Error) -> ChoreError {
    move |source| ChoreError::Read {
        path: path.to_path_buf(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_wanted() {
        let wanted = |targets: &[&str], seconds, keep| Wanted {
            targets: targets.iter().map(|&name| name.to_owned()).collect(),
            seconds,
            keep,
        };
        let of = Wanted::of_words;
        assert_eq!(of(&[]), Some(wanted(&[], 600, false)));
        let words = ["turtle", "--seconds", "5", "trig", "--keep"];
        assert_eq!(of(&words), Some(wanted(&["turtle", "trig"], 5, true)));
        for bad in [&["--seconds"][..], &["--seconds", "x"], &["--second", "5"]] {
            assert_eq!(of(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn no_seconds_are_a_replay() {
        assert_eq!(duration(0), "-runs=0");
        assert_eq!(duration(9), "-max_total_time=9");
    }

    #[test]
    fn what_is_largest_is_left_out_first() {
        let folder = std::env::temp_dir().join(format!("xtask-fuzz-{}", std::process::id()));
        remake(&folder).unwrap();
        for (name, bytes) in [("a", 30), ("b", 5), ("c", 10), ("d", 1)] {
            std::fs::write(folder.join(name), vec![0; bytes]).unwrap();
        }
        leave_out_largest(&folder, 16).unwrap();
        let mut left: Vec<_> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(left, ["b", "c", "d"]);
    }

    #[test]
    fn a_dictionary_is_named_in_the_header() {
        let text = "//! Turtle, with `dictionaries/turtle.dict`.\n\n#![no_main]\n";
        let named = dictionary_in(text);
        assert_eq!(named.as_deref(), Some("fuzz/dictionaries/turtle.dict"));
        assert_eq!(dictionary_in("//! X.\n// dictionaries/x.dict\n"), None);
    }

    #[test]
    fn every_target_has_its_corpus_its_binary_and_its_dictionary() {
        let root = workspace_root();
        let manifest = std::fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
        let known = targets().unwrap();
        assert!(!known.0.is_empty());
        for name in known.keys() {
            let path = format!("path = \"fuzz_targets/{name}.rs\"");
            assert!(manifest.contains(&path), "{name} is no [[bin]]");
            let corpus = root.join("fuzz/corpus").join(&name);
            let is_kept = corpus
                .read_dir()
                .is_ok_and(|mut files| files.next().is_some());
            assert!(is_kept, "{} is empty", corpus.display());
            if let Some(dictionary) = known.dictionary(&name) {
                assert!(root.join(&dictionary).is_file(), "{dictionary}");
            }
        }
    }
}
