//! What a fabric promises, held over thousands of simulated runs with faults, by checkers of one property each.
//!
//! Every node runs the same small program: it sends numbered messages to whom it sees, and reads from whom it sees. A run has
//! faults of its seed for ten seconds of virtual time and ends with some seconds in which all is well.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

mod checkers;
mod program;

use std::time::Duration;

use fabric::sim::{Fault, Sim, Step, Stop, Weather, drawn};
use fabric::{Absence, Event, Limits, NodeId};
use program::Run;

use crate::chance;

const SECOND: Duration = Duration::from_secs(1);

/// Limits that the program reaches.
const TIGHT: Limits = Limits {
    message_bytes_max: 64 << 10,
    queue_bytes_max: 128 << 10,
    pieces_max: 16,
    accesses_max: 8,
};

/// Runs a seed whole.
fn run(seed: u64) -> Run {
    let nodes = 2 + (seed % 4) as u16;
    let mut run = Run::new(nodes, seed, TIGHT, Weather::CALM);
    let (from, until) = (SECOND / 2, SECOND * 10);
    run.faults(&drawn(seed, nodes, from, until));
    run.go(until);
    run.heal();
    run.go(until + SECOND * 3);
    run.expect_all_up();
    run.go(until + SECOND * 6);
    run.expect_all_delivered();
    run
}

#[test]
fn every_run_with_faults_keeps_the_promises() {
    for seed in chance::seeds(100, 20_000) {
        let outcome = std::panic::catch_unwind(|| run(seed));
        let Ok(run) = outcome else {
            panic!("SOMERSAULT_SEED={seed} fails");
        };
        // A run in which nothing happens proves nothing.
        assert!(
            run.messages() > 100,
            "seed {seed}: {} messages",
            run.messages()
        );
        assert!(run.reads() > 50, "seed {seed}: {} reads", run.reads());
    }
}

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in chance::seeds(5, 500) {
        let (one, other) = (run(seed).digest(), run(seed).digest());
        assert_eq!(one, other, "seed {seed}");
    }
    assert_ne!(run(1).digest(), run(5).digest());
}

/// The first event of a kind that a node polls before a time, and when.
fn wait(
    sim: &Sim,
    at: NodeId,
    until: Duration,
    is_it: impl Fn(&Event) -> bool,
) -> Option<(Duration, Event)> {
    while let Some(step) = sim.step(until) {
        if let Step::Events(node, events) = step
            && let Some(event) = events.into_iter().find(|event| node == at && is_it(event))
        {
            return Some((sim.now(), event));
        }
    }
    None
}

fn is_up(event: &Event) -> bool {
    matches!(event, Event::Up { .. })
}

fn is_down(event: &Event) -> bool {
    matches!(event, Event::Down { .. })
}

const ZERO: NodeId = NodeId(0);
const ONE: NodeId = NodeId(1);

#[test]
fn each_kind_of_absence_is_noticed_in_time_and_has_its_cause() {
    let cut = |from, to| Fault::Cut { from, to };
    let silent = |cause: &Absence| matches!(cause, Absence::Silent { .. });
    let broken = |cause: &Absence| matches!(cause, Absence::Broken { .. });
    let either = |_: &Absence| true;
    type IsCause = fn(&Absence) -> bool;
    let cases: [(Fault, Duration, IsCause); 5] = [
        (Fault::Stop(ONE, Stop::Killed), SECOND / 100, broken),
        (Fault::Stop(ONE, Stop::PowerLost), SECOND * 2, silent),
        (Fault::Freeze(ONE), SECOND * 2, silent),
        (cut(ONE, ZERO), SECOND * 2, silent),
        // The other one hears nothing, ends the link, and that is heard.
        (cut(ZERO, ONE), SECOND * 2, either),
    ];
    for (fault, within, is_cause) in cases {
        let sim = Sim::new(2, 3);
        wait(&sim, ZERO, SECOND, is_up).unwrap();
        while sim.step(SECOND).is_some() {}
        sim.fault(SECOND, fault);
        let down = wait(&sim, ZERO, SECOND * 9, is_down);
        let Some((at, Event::Down { cause, .. })) = down else {
            panic!("{fault:?} is not noticed");
        };
        assert!(at <= SECOND + within, "{fault:?} is noticed at {at:?}");
        assert!(is_cause(&cause), "{fault:?}: {cause}");
        sim.fault(SECOND * 10, Fault::Heal);
        while sim.step(SECOND * 10).is_some() {}
        let (at, _) = wait(&sim, ZERO, SECOND * 20, is_up).unwrap();
        assert!(at <= SECOND * 11, "{fault:?} is healed at {at:?}");
    }
}

#[test]
fn who_was_frozen_itself_blames_nobody() {
    let sim = Sim::new(2, 3);
    wait(&sim, ZERO, SECOND, is_up).unwrap();
    for node in [ZERO, ONE] {
        sim.fault(SECOND, Fault::Freeze(node));
        sim.fault(SECOND * 31, Fault::Thaw(node));
    }
    assert!(wait(&sim, ZERO, SECOND * 40, is_down).is_none());
}

#[test]
fn a_restart_is_another_life_and_a_cut_is_not() {
    let sim = Sim::new(2, 3);
    let incarnation = |event: Option<(Duration, Event)>| match event {
        Some((_, Event::Up { incarnation, .. })) => incarnation,
        other => panic!("{other:?}"),
    };
    let first = incarnation(wait(&sim, ZERO, SECOND, is_up));
    sim.fault(
        SECOND,
        Fault::Reset {
            one: ZERO,
            other: ONE,
        },
    );
    let second = incarnation(wait(&sim, ZERO, SECOND * 3, is_up));
    assert_eq!(first.life, second.life);
    assert!(second.link > first.link);
    sim.fault(SECOND * 3, Fault::Stop(ONE, Stop::Killed));
    sim.fault(SECOND * 4, Fault::Start(ONE));
    let third = incarnation(wait(&sim, ZERO, SECOND * 6, is_up));
    assert_ne!(second.life, third.life);
    assert!(third.link > second.link);
}

#[test]
fn patience_and_wakes_are_steps_without_events() {
    use fabric::Fabric;
    let sim = Sim::new(2, 3);
    while sim.step(SECOND).is_some() {}
    let node = sim.node(ZERO).unwrap();
    assert_eq!(node.poll(&mut Vec::new(), SECOND / 4), 0);
    let step = sim.step(SECOND * 2);
    assert!(matches!(step, Some(Step::Events(ZERO, events)) if events.is_empty()));
    assert_eq!(sim.now(), SECOND + SECOND / 4);
    node.wake();
    let step = sim.step(SECOND * 2);
    assert!(matches!(step, Some(Step::Events(ZERO, events)) if events.is_empty()));
    assert_eq!(sim.now(), SECOND + SECOND / 4);
}
