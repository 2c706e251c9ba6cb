//! `cargo xtask instructions`: has a light query become slower?
//!
//! Times on a shared machine differ by more than what a careless change costs; the instructions of a
//! query hardly differ at all. Callgrind counts them, on a processor of its own making, so that the
//! figures of one machine hold on another with the same compiler. They are held against those that
//! are kept in [`KEPT`]; one that has grown by more than [`GROWTH_MAX`] fails, and so it is either
//! mended or, with `--record`, agreed to in the commit that causes it.
//!
//! A count says nothing of cache misses, so it stands beside measured times and not for them.

use crate::command::{CommandLine, target_folder, workspace_root};
use crate::error::ChoreError;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Child;

/// What is kept, relative to the workspace.
const KEPT: &str = "docs/benchmarks/instructions.txt";
/// How much a count may grow. Hash seeds and addresses make a hundredth of it.
const GROWTH_MAX: f64 = 1.03;

/// As releases are built.
const BUILD: &str = "cargo build --release -p somersault --example light_instructions";
/// In the folder of what is built.
const PROGRAM: &str = "release/examples/light_instructions";
const COUNTER: &str = "valgrind --tool=callgrind --quiet --collect-atstart=no";
const COUNTED: &str = "light_instructions::measured";
const OUTPUT: &str = "release/callgrind";

/// Instructions of a query, by its name and whether its plan is kept.
type Counts = BTreeMap<String, u64>;

/// Whether the counter is installed.
pub fn is_possible() -> bool {
    CommandLine::new("valgrind --version").succeeds_quietly()
}

/// Begins to build what is counted, beside whatever the caller does.
pub fn start_building() -> Result<Child, ChoreError> {
    build().start_quietly()
}

/// The build that is counted. An incremental one has other units of code, and 5 % more instructions.
fn build() -> CommandLine {
    CommandLine::new(BUILD).without_variable("CARGO_INCREMENTAL")
}

/// Counts, prints, and compares with what is kept, or keeps what was found.
pub fn run(records: bool) -> Result<bool, ChoreError> {
    let found = match count() {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(false),
        // The counter is no part of the tree.
        Err(error) => {
            println!("nothing was counted: {error}");
            return Ok(false);
        }
    };
    let compiler = compiler(&said(&CommandLine::new("rustc -vV"))?);
    let compiler = compiler.as_str();
    let path = &workspace_root().join(KEPT);
    if records {
        let text = written(compiler, &found);
        fs::write(path, text).map_err(|source| read_error(path, source))?;
        println!("{KEPT}: {} counts kept", found.len());
        return Ok(true);
    }
    let text = fs::read_to_string(path).map_err(|source| read_error(path, source))?;
    let (kept_compiler, kept) = parsed(&text);
    let is_comparable = kept_compiler == compiler;
    if !is_comparable {
        println!("{KEPT} is of {kept_compiler}, this is {compiler}: shown, not judged");
    }
    let held = compare(&kept, &found);
    Ok(held || !is_comparable)
}

/// Runs the program under the counter; `None` where that failed.
fn count() -> Result<Option<Counts>, ChoreError> {
    if !build().run()? {
        return Ok(None);
    }
    let target = target_folder("target");
    let output = &target.join(OUTPUT);
    let _ = fs::remove_dir_all(output);
    fs::create_dir_all(output).map_err(|source| read_error(output, source))?;
    let line = CommandLine::new(COUNTER).with_words([
        format!("--toggle-collect={COUNTED}"),
        format!("--dump-after={COUNTED}"),
        format!("--callgrind-out-file={}/out", output.display()),
        target.join(PROGRAM).display().to_string(),
    ]);
    let mut counts = Counts::new();
    let mut number = 0;
    for counted in said(&line)?.lines() {
        let words: Vec<&str> = counted.split_whitespace().collect();
        let [query, kind, times] = words[..] else {
            continue;
        };
        number += 1;
        let path = output.join(format!("out.{number}"));
        let dump = fs::read_to_string(&path).map_err(|source| read_error(&path, source))?;
        let times: u64 = times.parse().unwrap_or(1);
        let count = total(&dump) / times;
        if count == 0 {
            println!("{}: nothing was counted", path.display());
            return Ok(None);
        }
        counts.insert(format!("{query} {kind}"), count);
    }
    Ok(Some(counts).filter(|counts| !counts.is_empty()))
}

/// Version and host of a compiler, from what it says of itself.
fn compiler(said: &str) -> String {
    let version = said.lines().next().unwrap_or_default();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    format!("{version}, {}", host.unwrap_or("unknown host"))
}

/// What a program prints.
fn said(line: &CommandLine) -> Result<String, ChoreError> {
    let output = line.output()?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

/// The sum of a profile: its line `totals: N`, or `summary: N`.
fn total(dump: &str) -> u64 {
    let sums = dump.lines().filter_map(|line| {
        let (name, value) = line.split_once(": ")?;
        matches!(name, "totals" | "summary").then(|| value.trim().parse().ok())?
    });
    sums.max().unwrap_or_default()
}

fn written(compiler: &str, counts: &Counts) -> String {
    let mut text = format!(
        "# Instructions of a light query from text to last row, LUBM-1, by `cargo xtask instructions\n\
         # --record`; \"kept\": its plan is; \"new\": none is.\n{compiler}\n"
    );
    for (name, count) in counts {
        let _ = writeln!(text, "{name} {count}");
    }
    text
}

fn parsed(text: &str) -> (String, Counts) {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let compiler = lines.next().unwrap_or_default().to_owned();
    let count = |line: &str| {
        let (name, count) = line.rsplit_once(' ')?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    (compiler, lines.filter_map(count).collect())
}

/// Prints each count beside the kept one; whether none has grown too much, or is new and not kept.
fn compare(kept: &Counts, found: &Counts) -> bool {
    let mut held = true;
    println!(
        "{:12} {:>10} {:>10} {:>7}",
        "query", "kept", "found", "times"
    );
    for (name, &count) in found {
        let Some(&before) = kept.get(name) else {
            println!("{name:12} {:>10} {count:>10}    not kept yet", "");
            held = false;
            continue;
        };
        let times = count as f64 / before.max(1) as f64;
        let verdict = if times > GROWTH_MAX { "  GROWN" } else { "" };
        println!("{name:12} {before:>10} {count:>10} {times:>7.3}{verdict}");
        held &= times <= GROWTH_MAX;
    }
    for name in kept.keys().filter(|name| !found.contains_key(*name)) {
        println!("{name:12} was not counted");
        held = false;
    }
    if !held {
        println!("a light query has become slower; mend it, or agree to it with");
        println!("  cargo xtask instructions --record");
    }
    held
}

fn read_error(path: &Path, source: std::io::Error) -> ChoreError {
    ChoreError::Read {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(list: &[(&str, u64)]) -> Counts {
        let count = |(name, count): &(&str, u64)| ((*name).to_owned(), *count);
        list.iter().map(count).collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let found = counts(&[("q4 kept", 20_000), ("q4 new", 90_000)]);
        let text = written("rustc 1.2.3 (abc)", &found);
        assert_eq!(parsed(&text), ("rustc 1.2.3 (abc)".to_owned(), found));
    }

    #[test]
    fn compilers_are_told_by_version_and_host() {
        let said = "rustc 1.2.3 (abc)\nbinary: rustc\nhost: a-b-c\nrelease: 1.2.3\n";
        assert_eq!(compiler(said), "rustc 1.2.3 (abc), a-b-c");
    }

    #[test]
    fn the_sum_of_a_profile_is_found() {
        assert_eq!(total("events: Ir\nfn=(1) a\n3 7\n\ntotals: 1234\n"), 1234);
        assert_eq!(total("events: Ir\nsummary: 99\n"), 99);
        assert_eq!(total(""), 0);
    }

    #[test]
    fn growth_and_what_is_not_kept_are_told() {
        let kept = counts(&[("a", 1000)]);
        assert!(compare(&kept, &counts(&[("a", 1020)])));
        assert!(compare(&kept, &counts(&[("a", 10)])));
        assert!(!compare(&kept, &counts(&[("a", 1040)])));
        assert!(!compare(&kept, &counts(&[("a", 1000), ("b", 1)])));
        assert!(!compare(&kept, &counts(&[])));
    }
}
