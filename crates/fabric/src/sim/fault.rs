//! What goes wrong in a simulation: given by a test, or drawn from a seed.

use std::time::Duration;

use super::random::Random;
use crate::node::NodeId;

/// How datagrams fare. They overtake one another where delays vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weather {
    /// The shortest time on the way.
    pub delay_min: Duration,
    /// The longest.
    pub delay_max: Duration,
    /// What each KiB takes more (ns).
    pub ns_per_kib: u64,
    /// How many of a thousand are lost.
    pub dropped_per_mille: u16,
    /// How many of a thousand arrive twice.
    pub duplicated_per_mille: u16,
    /// How many of a thousand arrive with another byte in them. Links break by that: the checksums of datagrams are not
    /// simulated, those of frames are.
    pub damaged_per_mille: u16,
}

impl Weather {
    /// A good network: 20 to 60 us, 10 Gbit/s, nothing is lost.
    pub const CALM: Weather = Weather {
        delay_min: Duration::from_micros(20),
        delay_max: Duration::from_micros(60),
        ns_per_kib: 800,
        dropped_per_mille: 0,
        duplicated_per_mille: 0,
        damaged_per_mille: 0,
    };
}

/// How a node stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Its process is killed: the system ends its connections.
    Killed,
    /// Its machine has no power: nobody ends anything.
    PowerLost,
}

/// Something that goes wrong, or right again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// From now on datagrams fare so.
    Weather(Weather),
    /// Nothing comes through in this direction.
    Cut {
        /// From.
        from: NodeId,
        /// To.
        to: NodeId,
    },
    /// Datagrams come through again.
    Mend {
        /// From.
        from: NodeId,
        /// To.
        to: NodeId,
    },
    /// Whatever connects the two is reset, as by a relay between them.
    Reset {
        /// One.
        one: NodeId,
        /// The other.
        other: NodeId,
    },
    /// The node does nothing; what comes waits.
    Freeze(NodeId),
    /// It goes on.
    Thaw(NodeId),
    /// The node is gone with all that it knew.
    Stop(NodeId, Stop),
    /// It is there again, in a new life.
    Start(NodeId),
    /// All cuts are mended, the weather is calm, all nodes run.
    Heal,
}

/// Faults, each with its time.
pub type Schedule = Vec<(Duration, Fault)>;

/// Faults drawn from a seed: some each second from `from` to `until`, most of them over by then, and [`Fault::Heal`] at `until`.
pub fn drawn(seed: u64, nodes: u16, from: Duration, until: Duration) -> Schedule {
    let mut random = Random::new(seed ^ 0x5EED_FA17);
    let mut schedule = Schedule::new();
    let mut at = from;
    loop {
        at += random.time(Duration::from_millis(50), Duration::from_millis(1500));
        if at >= until {
            break;
        }
        let long = random.chance(300);
        let longest = Duration::from_millis(if long { 6000 } else { 900 });
        let end = at + random.time(Duration::from_millis(1), longest);
        let (fault, remedy) = draw(&mut random, nodes);
        schedule.push((at, fault));
        schedule.extend(remedy.filter(|_| end < until).map(|remedy| (end, remedy)));
    }
    schedule.push((until, Fault::Heal));
    // Stable: what was drawn first of one time happens first.
    schedule.sort_by_key(|&(at, _)| at);
    schedule
}

/// A fault, and what ends it.
fn draw(random: &mut Random, nodes: u16) -> (Fault, Option<Fault>) {
    let node = NodeId(random.below(u64::from(nodes)) as u16);
    let other = NodeId((node.0 + 1 + random.below(u64::from(nodes - 1).max(1)) as u16) % nodes);
    let (from, to) = (node, other);
    match random.below(8) {
        0 | 1 => (Fault::Cut { from, to }, Some(Fault::Mend { from, to })),
        2 => (Fault::Reset { one: node, other }, None),
        3 | 4 => (Fault::Freeze(node), Some(Fault::Thaw(node))),
        5 => (Fault::Stop(node, Stop::Killed), Some(Fault::Start(node))),
        6 => (Fault::Stop(node, Stop::PowerLost), Some(Fault::Start(node))),
        _ => (
            Fault::Weather(draw_weather(random)),
            Some(Fault::Weather(Weather::CALM)),
        ),
    }
}

fn draw_weather(random: &mut Random) -> Weather {
    let delay_min = random.time(Duration::ZERO, Duration::from_millis(20));
    Weather {
        delay_min,
        delay_max: delay_min + random.time(Duration::ZERO, Duration::from_millis(120)),
        ns_per_kib: random.below(20_000),
        dropped_per_mille: random.below(400) as u16,
        duplicated_per_mille: random.below(300) as u16,
        damaged_per_mille: if random.chance(250) { 5 } else { 0 },
    }
}
