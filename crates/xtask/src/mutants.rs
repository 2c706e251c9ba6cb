//! `cargo xtask mutants`: errors planted in the kernels one by one, each of which the tests of `somersault-gpu` must notice.
//!
//! The kernels are tested on the host twin alone where there is no card. Whether those tests would see an error there is
//! asked here: a copy of `crates/device/kernels` with one text replaced is compiled (`SOMERSAULT_KERNELS`) and the tests are
//! run against it, first those of each kernel alone, then random queries. A test that fails, a crash, threads that wait for
//! different things, and a run without end all count as noticed.
//!
//! Invariant: a text that is to be replaced stands in its file once; a test of this crate says so, so the list cannot rot. An
//! error that changes nothing that can be seen has no place in it. The kernels as they are must pass first.
//!
//! Cost: some ten seconds an error on one core, for a compilation and a link; so it is part of the long run, not of the check.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::command::{CommandLine, target_folder, workspace_root};
use crate::error::ChoreError;

mod list;

use list::{MUTANTS, Mutant};

/// How long a program of tests may run, which is done within seconds.
const DEADLINE: Duration = Duration::from_secs(40);

/// The seeds of random cases: fewer than a check has, for every error costs a run.
const SEEDS: &str = "0..60";

/// The folder of the kernels, from the workspace's root.
const KERNELS: &str = "crates/device/kernels";

const MISSING: &str =
    "mutants: NOT RUN, because there is no C++ compiler for the host twin (`c++`)";

/// Programs of tests, the quicker one first.
const PROGRAMS: [&str; 2] = ["--lib", "--test all"];

/// Whether every error was noticed.
pub fn run() -> Result<bool, ChoreError> {
    if !CommandLine::new("c++ --version").succeeds_quietly() {
        println!("{MISSING}");
        return Ok(false);
    }
    let folder = target_folder("target").join("mutants");
    let clean = planted(&folder.join("none"), None)?;
    for program in PROGRAMS {
        if !holds(&built(program, &clean)?)? {
            println!("mutants: {program} fails on the kernels as they are");
            return Ok(false);
        }
    }
    let mut noticed = 0;
    for (number, mutant) in MUTANTS.iter().enumerate() {
        let kernels = planted(&folder.join(number.to_string()), Some(mutant))?;
        let by = noticed_by(&kernels)?;
        noticed += usize::from(by.is_some());
        let what = by.map_or("NOT NOTICED".to_owned(), |by| format!("noticed by {by}"));
        println!("{number:>3} {}: {}: {what}", mutant.file, mutant.what);
    }
    println!("mutants: {noticed} of {} noticed", MUTANTS.len());
    Ok(noticed == MUTANTS.len())
}

/// The first program of tests that fails with these kernels.
fn noticed_by(kernels: &Path) -> Result<Option<&'static str>, ChoreError> {
    for program in PROGRAMS {
        if !holds(&built(program, kernels)?)? {
            return Ok(Some(program));
        }
    }
    Ok(None)
}

/// A copy of the kernels with an error in it, or with none.
fn planted(folder: &Path, mutant: Option<&Mutant>) -> Result<PathBuf, ChoreError> {
    let cannot_write = |path: &Path| {
        let path = path.to_path_buf();
        move |source| ChoreError::Write { path, source }
    };
    std::fs::create_dir_all(folder).map_err(cannot_write(folder))?;
    for (name, text) in sources()? {
        let text = match mutant {
            Some(mutant) if mutant.file == name => mutant.planted_in(&text),
            _ => text,
        };
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(cannot_write(&path))?;
    }
    Ok(folder.to_path_buf())
}

/// The kernels' files by name.
fn sources() -> Result<Vec<(String, String)>, ChoreError> {
    let folder = workspace_root().join(KERNELS);
    let cannot_read = |path: &Path| {
        let path = path.to_path_buf();
        move |source| ChoreError::Read { path, source }
    };
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(cannot_read(&folder))? {
        let path = entry.map_err(cannot_read(&folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".ptx") {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(cannot_read(&path))?;
        sources.push((name.into_owned(), text));
    }
    Ok(sources)
}

/// A program of tests with these kernels in it; cargo prints where it is.
fn built(program: &str, kernels: &Path) -> Result<PathBuf, ChoreError> {
    let line = format!("cargo test -p somersault-gpu {program} --no-run --message-format=json");
    let line =
        CommandLine::new(&line).with_variable("SOMERSAULT_KERNELS", &kernels.to_string_lossy());
    let output = line.output()?;
    let output = String::from_utf8_lossy(&output);
    let mut built = None;
    for message in output.lines() {
        let message: serde_json::Value = serde_json::from_str(message)?;
        let path = message["executable"].as_str();
        built = path.map(PathBuf::from).or(built);
    }
    built.ok_or_else(|| ChoreError::Failed {
        command: line.shown(),
        message: "it names no program".into(),
    })
}

/// Whether all tests of a program hold within the time that they may take.
fn holds(program: &Path) -> Result<bool, ChoreError> {
    let cannot_run = |source| ChoreError::Run {
        command: program.display().to_string(),
        source,
    };
    let mut child = Command::new(program)
        .current_dir(workspace_root())
        .env("SOMERSAULT_SEED", SEEDS)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(cannot_run)?;
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(cannot_run)? {
            return Ok(status.success());
        }
        if begun.elapsed() > DEADLINE {
            child.kill().map_err(cannot_run)?;
            child.wait().map_err(cannot_run)?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_that_is_replaced_stands_in_its_file_once() {
        let sources = sources().expect("the kernels are there");
        for Mutant {
            what,
            file,
            text,
            instead,
        } in MUTANTS
        {
            let source = sources.iter().find(|(name, _)| name == file);
            let (_, source) = source.unwrap_or_else(|| panic!("{what}: there is no {file}"));
            assert_eq!(source.matches(text).count(), 1, "{what}: {text}");
            assert_ne!(text, instead, "{what}");
        }
    }
}
