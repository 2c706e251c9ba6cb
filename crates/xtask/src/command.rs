//! Runs other programs from the root of the workspace, in the open.
//!
//! Invariant: the line printed before a program runs is the line a person can type to get the
//! same. A program whose lines are counted is still shown while it runs, line by line.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::error::ChoreError;

/// The variable that tests of random cases and models look at; its value is `1`.
pub const LONG_VARIABLE: &str = "SOMERSAULT_LONG";

/// A command line, with the environment variables it is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    words: Vec<String>,
    variables: Vec<(String, String)>,
    removed: Vec<String>,
}

impl CommandLine {
    /// A command from its words, separated by blanks (none of ours contains one).
    pub fn new(line: &str) -> Self {
        Self {
            words: line.split_whitespace().map(str::to_owned).collect(),
            variables: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// The same command with more words, blanks in them or not.
    pub fn with_words<W: AsRef<str>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        let words = words.into_iter().map(|word| word.as_ref().to_owned());
        self.words.extend(words);
        self
    }

    /// The same command with one environment variable more.
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same command without an environment variable that this process may have.
    pub fn without_variable(mut self, name: &str) -> Self {
        if std::env::var_os(name).is_some() {
            self.removed.push(name.to_owned());
        }
        self
    }

    /// As a person would type it in the workspace's root.
    pub fn shown(&self) -> String {
        let removed = self.removed.iter().map(|name| format!("env -u {name}"));
        let variables = self
            .variables
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        removed
            .chain(variables)
            .chain(self.words.iter().cloned())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Whether the program starts and succeeds; prints nothing.
    pub fn succeeds_quietly(&self) -> bool {
        let run = self
            .prepared()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        run.is_ok_and(|status| status.success())
    }

    /// Starts the program and goes on beside it, which prints nothing.
    pub fn start_quietly(&self) -> Result<Child, ChoreError> {
        println!("$ {} &", self.shown());
        self.prepared()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| self.cannot_run(source))
    }

    /// Runs with inherited output and says whether it succeeded.
    pub fn run(&self) -> Result<bool, ChoreError> {
        println!("$ {}", self.shown());
        let status = self
            .prepared()
            .status()
            .map_err(|source| self.cannot_run(source))?;
        Ok(status.success())
    }

    /// Runs and hands each line of standard output to `look` after printing it. Bytes that are
    /// not UTF-8 are replaced, so that no test can end a chore by what it prints.
    pub fn run_watched(&self, mut look: impl FnMut(&str)) -> Result<bool, ChoreError> {
        println!("$ {}", self.shown());
        let mut child = self
            .prepared()
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| self.cannot_run(source))?;
        let output = child
            .stdout
            .take()
            .expect("standard output was asked to be piped");
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(|source| self.cannot_run(source))?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            look(&line);
        }
        let status = child.wait().map_err(|source| self.cannot_run(source))?;
        Ok(status.success())
    }

    /// Runs and gives its standard output; a failure carries its standard error.
    pub fn output(&self) -> Result<Vec<u8>, ChoreError> {
        let output = self
            .prepared()
            .output()
            .map_err(|source| self.cannot_run(source))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(ChoreError::Failed {
            command: self.shown(),
            message,
        })
    }

    fn prepared(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(workspace_root());
        // `cargo xtask` is told which package it runs for; a build script that watches that
        // variable would be run anew by every build started from here.
        command.env_remove("CARGO_MANIFEST_DIR");
        for name in &self.removed {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn cannot_run(&self, source: std::io::Error) -> ChoreError {
        ChoreError::Run {
            command: self.shown(),
            source,
        }
    }
}

/// The folder that holds the workspace's `Cargo.toml`: two above this crate.
pub fn workspace_root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("this crate lies in crates/xtask")
        .to_path_buf()
}

/// Where cargo puts what it builds, where the workspace's own folder would be `standard`.
pub fn target_folder(standard: &str) -> PathBuf {
    let told = std::env::var_os("CARGO_TARGET_DIR");
    workspace_root().join(told.unwrap_or_else(|| standard.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_shown_as_it_would_be_typed() {
        let line = CommandLine::new("cargo test  --workspace").with_variable("SEED", "7");
        assert_eq!(line.shown(), "SEED=7 cargo test --workspace");
    }

    #[test]
    fn tells_success_from_failure() {
        assert!(CommandLine::new("true").run().unwrap());
        assert!(!CommandLine::new("false").run().unwrap());
        assert!(!CommandLine::new("no-such-program-anywhere").succeeds_quietly());
        assert!(matches!(
            CommandLine::new("no-such-program-anywhere").run(),
            Err(ChoreError::Run { .. })
        ));
    }

    #[test]
    fn shows_every_line_to_the_watcher() {
        let mut lines = Vec::new();
        let line = CommandLine::new("printf a\\nb\\n");
        assert!(
            line.run_watched(|line| lines.push(line.to_owned()))
                .unwrap()
        );
        assert_eq!(lines, ["a", "b"]);
    }

    #[test]
    fn the_root_is_the_workspace() {
        assert!(workspace_root().join("Cargo.lock").is_file());
    }
}
