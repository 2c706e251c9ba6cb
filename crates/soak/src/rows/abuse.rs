//! Every abuse at once in a memory group, beside innocent clients and one that only sleeps.

use std::io;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use super::start;
use crate::Wanted;
use crate::attack::{ALL, HELD, prepare};
use crate::probe::KINDS;

/// Every abuse at once, then heavy queries and idle sockets besides.
pub fn abuse(wanted: &Wanted) -> io::Result<()> {
    prepare(&wanted.folder)?;
    for (phase, more) in [(1, &[][..]), (2, &HELD[..])] {
        if wanted.phase.is_none_or(|only| only == phase) {
            under_attack(wanted, phase, more)?;
        }
    }
    Ok(())
}

/// [`ALL`] and `more` against a fresh server for the seconds wanted.
fn under_attack(wanted: &Wanted, phase: u32, more: &[(&str, usize)]) -> io::Result<()> {
    let mut server = start(wanted)?;
    println!("phase {phase}: {} MiB at the start", server.anonymous_mib());
    let watch = server.watch();
    let mut attackers = attackers(wanted, server.port, more)?;
    sleep(Duration::from_secs(1));
    for mut probe in probes(wanted, server.port)? {
        probe.wait()?;
    }
    let most = watch.end_mib();
    for attacker in &mut attackers {
        let _gone = attacker.kill();
        attacker.wait()?;
    }
    let lives = server.lives();
    sleep(Duration::from_secs(3));
    println!(
        "phase {phase}: {}, most {most} MiB = {:.1} % of the group, {} MiB 3 s later, {}",
        if lives { "lives" } else { "DIED" },
        most as f64 * 100.0 / wanted.group_mib.max(1) as f64,
        server.anonymous_mib(),
        if server.ready() { "ready" } else { "NOT READY" },
    );
    Ok(())
}

/// Processes a few steps of `nice` behind the server, as other machines would not compete with it.
fn attackers(wanted: &Wanted, port: u16, more: &[(&str, usize)]) -> io::Result<Vec<Child>> {
    let chosen = ALL
        .iter()
        .chain(more)
        .filter(|(kind, _)| wanted.only.is_empty() || wanted.only.iter().any(|only| only == kind));
    chosen
        .map(|(kind, clients)| {
            let mut attacker = Command::new("nice");
            attacker.args(["-n", "5"]).arg(std::env::current_exe()?);
            attacker.args(["attack", kind, &clients.to_string(), &port.to_string()]);
            attacker
                .arg(wanted.seconds.to_string())
                .arg(&wanted.folder)
                .spawn()
        })
        .collect()
}

fn probes(wanted: &Wanted, port: u16) -> io::Result<Vec<Child>> {
    KINDS
        .iter()
        .map(|kind| {
            let mut probe = Command::new(std::env::current_exe()?);
            probe
                .args([
                    "probe",
                    kind,
                    &port.to_string(),
                    &wanted.seconds.to_string(),
                ])
                .spawn()
        })
        .collect()
}
