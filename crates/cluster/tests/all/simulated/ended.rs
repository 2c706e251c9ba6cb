//! A query that ends early is freed everywhere within 100 ms, whoever ends it: the asker by a cancel or because it goes away,
//! the deadline, or a LIMIT that has been reached. Rows and answers that are under way then find nobody.
//!
//! The network is slow, so that there is time to end a query between its first message and its last.

use super::{Kind, LATE, Planned, READY, Simulation, matter};
use cluster::Mode;
use fabric::NodeId;
use fabric::sim::{Fault, Weather};
use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use testkit::random::Random;
use testkit::seeds;
use testkit::suite::hold::on_a_thread;

/// Within which a query that has ended is freed.
const FREED: Duration = Duration::from_millis(100);

/// A message takes so long: a query takes some tens of milliseconds.
const SLOW: Weather = Weather {
    delay_min: Duration::from_millis(4),
    delay_max: Duration::from_millis(8),
    ..Weather::CALM
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Cancel,
    Drop,
    Deadline,
    /// One of the nodes that work for it freezes, and then its asker goes away.
    Freeze,
}

const ENDS: [End; 4] = [End::Cancel, End::Drop, End::Deadline, End::Freeze];

/// Nodes beside the asker that have a query or would ask other endpoints for one, and bytes that are held.
fn busy(simulation: &Simulation<'_>, home: u16, frozen: Option<u16>) -> (usize, u64) {
    let (mut queries, mut bytes) = (0, 0);
    for (number, node) in (0..).zip(&simulation.nodes) {
        if Some(number) == frozen {
            continue;
        }
        let node = node.as_ref().expect("nobody stops");
        queries += usize::from(node.queries() > 0 && (number != home || frozen.is_some()));
        queries += simulation.matter.calling(number) * usize::from(number != home);
        // Where others' lists lie is kept for the next query, and so are terms.
        let figures = node.figures();
        let kept = figures.locations.bytes + figures.term_bytes;
        bytes += simulation.matter.held_bytes(number) - kept;
    }
    (queries, bytes)
}

/// Asks a query and ends it, after a while; whether others were at it.
fn end<'p>(
    simulation: &mut Simulation<'p>,
    planned: &'p Planned<'p>,
    end: End,
    after: Duration,
) -> bool {
    let time = match end {
        End::Deadline => after,
        _ => Duration::from_secs(5),
    };
    let begun = simulation.sim.now();
    simulation.stop = Arc::default();
    simulation.ask(planned, time);
    while simulation.step(begun + after) {}
    let was_busy = busy(simulation, planned.home, None).0 > 0 && !simulation.under_way.is_empty();
    let mut frozen = None;
    match end {
        End::Cancel => simulation.stop.0.store(true, Ordering::Relaxed),
        End::Drop => simulation.under_way.clear(),
        End::Deadline => {}
        End::Freeze => {
            let node = (planned.home + 1) % simulation.nodes.len() as u16;
            frozen = Some(node);
            let now = simulation.sim.now();
            simulation.sim.fault(now, Fault::Freeze(NodeId(node)));
            // The others do what they can without it.
            while simulation.step(now + FREED) {}
            simulation.under_way.clear();
        }
    }
    let now = simulation.sim.now();
    while simulation.step(now + FREED) {}
    assert!(simulation.under_way.is_empty(), "{end:?}: it goes on");
    let left = busy(simulation, planned.home, frozen);
    assert_eq!(
        left,
        (0, 0),
        "{end:?} after {after:?}: nodes, bytes\n{}",
        planned.known.text
    );
    if let Some(node) = frozen {
        let now = simulation.sim.now();
        simulation.sim.fault(now, Fault::Thaw(NodeId(node)));
        while simulation.step(now + LATE) {}
        assert_eq!(
            busy(simulation, planned.home, None).1,
            0,
            "thawed, it holds memory"
        );
    }
    was_busy
}

#[test]
fn a_query_that_ends_is_freed_everywhere() {
    on_a_thread(|| {
        let mut were_busy = [0; ENDS.len()];
        for seed in seeds::chosen(40, 2_000) {
            // Of which nothing fails by itself.
            let seed = seed * Kind::ALL.len() as u64;
            let mut random = Random::new(seed);
            let nodes = [3, 4, 2][random.below(3)];
            let (matter, known) = matter(seed, &mut random, nodes);
            if known.is_empty() {
                continue;
            }
            let modes = [Mode::ForkJoin, Mode::InPlace, Mode::Dynamic];
            let asked = (0..12).map(|number| Planned {
                known: random.pick(&known),
                home: random.below(nodes.into()) as u16,
                mode: modes[number % 3],
                needs: OnceCell::new(),
            });
            let asked: Vec<Planned<'_>> = asked.collect();
            let mut simulation = Simulation::new(seed, nodes, &matter, false);
            simulation.stops = true;
            while simulation.step(READY) {}
            simulation.sim.fault(READY, Fault::Weather(SLOW));
            for planned in &asked {
                let which = random.below(ENDS.len());
                let after = Duration::from_micros(random.between(500, 60_000) as u64);
                let was_busy = end(&mut simulation, planned, ENDS[which], after);
                were_busy[which] += u32::from(was_busy);
            }
        }
        println!("{ENDS:?}: {were_busy:?}");
        assert!(were_busy.iter().all(|count| *count > 5), "{were_busy:?}");
    });
}
