//! A load that is killed leaves the store as it was: `kill -9` at random moments of a load into a
//! store that holds something already. A kill keeps the page cache, so this shows that the order
//! of renames is right; that syncs are where they must be is shown on the simulated disk in
//! `store`.

mod streams;
mod writers;

use crate::common;

use common::{count, load, lubm, run, started, text};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::path::Path;
use std::time::{Duration, Instant};

/// A moment of a load, as a share of the time that a whole one takes.
struct Moments(SplitMix64);

impl Moments {
    fn next_share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[test]
fn a_killed_load_leaves_the_store_as_it_was() {
    let kills = if std::env::var_os("SOMERSAULT_LONG").is_some() {
        200
    } else {
        20
    };
    let seed = std::env::var("SOMERSAULT_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or(20_261_121);
    println!("seed {seed}, {kills} kills");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    load(&store, &[&lubm(folder.path(), 0, 1)]);
    let before = count(&store);
    let more = lubm(folder.path(), 1, 1);

    let whole = time_of_a_whole_load(folder.path(), &more);
    let mut moments = Moments(SplitMix64::seed_from_u64(seed));
    let mut interrupted = 0;
    for kill in 0..kills {
        let mut command = common::somersault();
        command.args(["load", "-l", text(&store), text(&more)]);
        let mut child = started(&mut command);
        std::thread::sleep(whole.mul_f64(moments.next_share() * 1.1));
        child.kill().expect("a child can be killed");
        let finished = child.wait().expect("the child is ours").success();
        interrupted += u32::from(!finished);
        let now = count(&store);
        if finished || now != before {
            assert!(now > before, "kill {kill}: a load is whole or not at all");
            assert_check(&store);
            std::fs::remove_dir_all(&store).expect("the store is ours");
            load(&store, &[&lubm(folder.path(), 0, 1)]);
            continue;
        }
        assert_check(&store);
    }
    assert!(
        interrupted >= kills / 4,
        "only {interrupted} of {kills} kills met a load"
    );
    load(&store, &[&more]);
    assert!(count(&store) > before, "after all kills a load succeeds");
    assert_check(&store);
}

fn assert_check(store: &Path) {
    let check = run(["check", "-l", text(store)]);
    assert_eq!(
        check.code,
        Some(0),
        "check: {}{}",
        check.output,
        check.errors
    );
}

fn time_of_a_whole_load(folder: &Path, more: &Path) -> Duration {
    let store = folder.join("timed");
    load(&store, &[&lubm(folder, 0, 1)]);
    let started = Instant::now();
    load(&store, &[more]);
    started.elapsed()
}

/// A backup that is killed leaves a directory that says so, which nobody opens and the same command writes
/// anew; one that was finished is never written over.
#[test]
fn a_killed_backup_is_made_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = |name: &str| folder.path().join(name);
    let (store, whole) = (place("store"), place("whole"));
    load(&store, &[&lubm(folder.path(), 0, 1)]);
    let triples = count(&store);
    let begun = Instant::now();
    let done = run(["backup", "-l", text(&store), text(&whole)]);
    assert_eq!(done.code, Some(0), "{}", done.errors);
    let whole = begun.elapsed();
    let mut moments = Moments(SplitMix64::seed_from_u64(7));
    let (mut cut_off, copy) = (0, place("copy"));
    for kill in 0..12 {
        let mut child =
            started(common::somersault().args(["backup", "-l", text(&store), text(&copy)]));
        std::thread::sleep(whole.mul_f64(moments.next_share()));
        child.kill().expect("a child can be killed");
        child.wait().expect("the child is ours");
        if copy.join("UNFINISHED").exists() {
            cut_off += 1;
            for verb in ["check", "stats", "compact"] {
                let refused = run([verb, "-l", text(&copy)]);
                assert_ne!(refused.code, Some(0), "kill {kill}: {verb}");
                assert!(
                    refused.errors.contains("not finished"),
                    "{}",
                    refused.errors
                );
            }
            // Every other time the next kill meets what this one has left.
            if kill % 2 == 0 {
                continue;
            }
        }
        let again = run(["backup", "-l", text(&store), text(&copy)]);
        if again.code == Some(2) {
            assert!(again.errors.contains("store already"), "{}", again.errors);
        } else {
            assert_eq!(again.code, Some(0), "kill {kill}: {}", again.errors);
        }
        assert_eq!(count(&copy), triples);
        assert_check(&copy);
        std::fs::remove_dir_all(&copy).expect("it is ours");
    }
    assert!(cut_off >= 3, "only {cut_off} kills met a backup");
}

#[test]
fn an_interrupted_load_tidies_up() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    load(&store, &[&lubm(folder.path(), 0, 1)]);
    let before = count(&store);
    let files = || std::fs::read_dir(&store).expect("readable").count();
    let files_before = files();
    // A pipe that stays open: the load waits for more when the signal comes.
    let mut command = common::somersault();
    command.args(["load", "-l", text(&store), "--format", "nt", "-"]);
    let mut child = started(command.stdin(std::process::Stdio::piped()));
    let mut input = child.stdin.take().expect("a pipe was asked for");
    let line = b"<http://e/s> <http://e/p> <http://e/o> .\n";
    std::io::Write::write_all(&mut input, line).expect("the load reads");
    std::thread::sleep(Duration::from_millis(500));
    let signal = ["-s", "TERM", &child.id().to_string()].map(str::to_owned);
    let sent = std::process::Command::new("kill").args(signal).status();
    assert!(sent.expect("there is a kill").success());
    drop(input);
    let ended = child.wait().expect("the child is ours");
    assert_eq!(ended.code(), Some(143));
    assert_eq!(count(&store), before);
    assert_eq!(
        files(),
        files_before,
        "the generation that was begun is gone"
    );
}
