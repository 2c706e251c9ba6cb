//! What goes wrong in a simulation: faults of one kind, or of all, drawn from a seed; and who is hit by them, when.
//!
//! Whom a schedule hits is read off the schedule itself: a node that is frozen or gone, the two ends of a link that is cut or
//! reset, everybody in bad weather; each until nodes have had [`RESUMED`] to find each other again. A node that has started
//! anew counts as hit for good: it has forgotten what it knew, so its queries need more than they did.

use fabric::NodeId;
use fabric::sim::{Fault, Schedule, Stop, Weather, drawn};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use testkit::random::Random;

/// When faults begin, and when all is well again.
pub const FAULTS: Duration = Duration::from_millis(1500);
pub const HEALED: Duration = Duration::from_millis(7500);
/// How long nodes may take to find each other again.
pub const RESUMED: Duration = Duration::from_secs(3);

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Nothing,
    /// Datagrams are lost.
    Dropped,
    /// Datagrams arrive twice.
    Doubled,
    /// Datagrams take long, and overtake each other.
    Reordered,
    /// Datagrams arrive with another byte in them, so links break.
    Damaged,
    /// Nothing comes through in one direction, or in both.
    Cut,
    /// Links break and come back at once.
    Reset,
    /// Nodes do nothing for a while.
    Frozen,
    /// Processes are killed and start anew.
    Killed,
    /// The same of machines, so that nobody ends their links.
    PowerLost,
    /// All of these.
    Mixed,
}

impl Kind {
    pub const ALL: [Kind; 11] = [
        Kind::Nothing,
        Kind::Dropped,
        Kind::Doubled,
        Kind::Reordered,
        Kind::Damaged,
        Kind::Cut,
        Kind::Reset,
        Kind::Frozen,
        Kind::Killed,
        Kind::PowerLost,
        Kind::Mixed,
    ];

    /// The kind of a seed.
    pub fn of(seed: u64) -> Kind {
        let kinds = Kind::ALL.len() as u64;
        Kind::ALL[(seed % kinds) as usize]
    }

    /// Faults of this kind from [`FAULTS`] to [`HEALED`]. In two of three runs one node or link alone has them.
    pub fn schedule(self, seed: u64, nodes: u16) -> Schedule {
        let random = &mut Random::new(seed ^ 0x00FA_0175);
        if self == Kind::Mixed {
            return drawn(seed, nodes, FAULTS, HEALED);
        }
        let mut schedule = vec![(HEALED, Fault::Heal)];
        if let Some(weather) = self.weather(random) {
            schedule.push((FAULTS, Fault::Weather(weather)));
        }
        let is_one = random.chance(67);
        let mut victim = Victim::drawn(nodes, random);
        let mut at = FAULTS;
        loop {
            at += Duration::from_millis(random.between(50, 1500) as u64);
            if at >= HEALED {
                break;
            }
            if !is_one {
                victim = Victim::drawn(nodes, random);
            }
            let longest = if random.chance(30) { 6000 } else { 900 };
            let end = at + Duration::from_millis(random.between(1, longest) as u64);
            for (fault, remedy) in self.faults(victim) {
                schedule.push((at, fault));
                schedule.extend(remedy.filter(|_| end < HEALED).map(|remedy| (end, remedy)));
            }
        }
        // Stable: what was drawn first of one time happens first.
        schedule.sort_by_key(|&(at, _)| at);
        schedule
    }

    fn weather(self, random: &mut Random) -> Option<Weather> {
        let mut weather = Weather::CALM;
        match self {
            Kind::Dropped => weather.dropped_per_mille = random.between(50, 400) as u16,
            Kind::Doubled => weather.duplicated_per_mille = random.between(100, 500) as u16,
            Kind::Damaged => weather.damaged_per_mille = random.between(1, 10) as u16,
            Kind::Reordered => {
                weather.delay_min = Duration::from_millis(random.below(20) as u64);
                let more = Duration::from_millis(random.between(1, 120) as u64);
                weather.delay_max = weather.delay_min + more;
                weather.ns_per_kib = random.below(20_000) as u64;
            }
            _ => return None,
        }
        Some(weather)
    }

    /// What happens to a victim, and what ends that.
    fn faults(self, victim: Victim) -> Vec<(Fault, Option<Fault>)> {
        let Victim { node, other, both } = victim;
        let cut = |from, to| (Fault::Cut { from, to }, Some(Fault::Mend { from, to }));
        match self {
            Kind::Cut if both => vec![cut(node, other), cut(other, node)],
            Kind::Cut => vec![cut(node, other)],
            Kind::Reset => vec![(Fault::Reset { one: node, other }, None)],
            Kind::Frozen => vec![(Fault::Freeze(node), Some(Fault::Thaw(node)))],
            Kind::Killed => vec![(Fault::Stop(node, Stop::Killed), Some(Fault::Start(node)))],
            Kind::PowerLost => vec![(Fault::Stop(node, Stop::PowerLost), Some(Fault::Start(node)))],
            _ => Vec::new(),
        }
    }
}

/// A node, and another one to which it has a link.
#[derive(Clone, Copy)]
struct Victim {
    node: NodeId,
    other: NodeId,
    both: bool,
}

impl Victim {
    fn drawn(nodes: u16, random: &mut Random) -> Victim {
        let node = random.below(nodes.into()) as u16;
        let further = random.below(usize::from(nodes - 1).max(1)) as u16;
        Victim {
            node: NodeId(node),
            other: NodeId((node + 1 + further) % nodes),
            both: random.chance(50),
        }
    }
}

/// Whom a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    All,
    Node(u16),
    Link(u16, u16),
}

/// A place that is hit, from and until.
#[derive(Clone, Copy, Debug)]
struct Hit {
    place: Place,
    is_freeze: bool,
    from: Duration,
    until: Duration,
}

/// Everything that a schedule hits.
pub struct Hits(Vec<Hit>);

impl Hits {
    /// Those of a schedule, which is sorted by time.
    pub fn of(schedule: &[(Duration, Fault)]) -> Hits {
        let mut hits = Vec::new();
        let mut open: BTreeMap<(Place, bool), Duration> = BTreeMap::new();
        let mut close = |open: &mut BTreeMap<(Place, bool), Duration>, name, at: Duration| {
            let (place, is_freeze) = name;
            if let Some(from) = open.remove(&name) {
                hits.push(Hit {
                    place,
                    is_freeze,
                    from,
                    until: at + RESUMED,
                });
            }
        };
        for &(at, fault) in schedule {
            match fault {
                Fault::Weather(weather) if weather == Weather::CALM => {
                    close(&mut open, (Place::All, false), at);
                }
                Fault::Weather(_) => {
                    open.entry((Place::All, false)).or_insert(at);
                }
                Fault::Cut { from, to } => {
                    let name = (Place::Link(from.0, to.0), false);
                    open.entry(name).or_insert(at);
                }
                Fault::Mend { from, to } => {
                    close(&mut open, (Place::Link(from.0, to.0), false), at);
                }
                Fault::Reset { one, other } => {
                    let name = (Place::Link(one.0, other.0), false);
                    let is_cut = open.contains_key(&name);
                    open.entry(name).or_insert(at);
                    if !is_cut {
                        close(&mut open, name, at);
                    }
                }
                Fault::Freeze(node) => {
                    open.entry((Place::Node(node.0), true)).or_insert(at);
                }
                Fault::Thaw(node) => close(&mut open, (Place::Node(node.0), true), at),
                Fault::Stop(node, _) => {
                    open.entry((Place::Node(node.0), false)).or_insert(at);
                }
                Fault::Start(_) => {}
                Fault::Heal => {
                    for name in open.keys().copied().collect::<Vec<_>>() {
                        close(&mut open, name, at);
                    }
                }
            }
        }
        Hits(hits)
    }

    fn during(&self, from: Duration, until: Duration) -> impl Iterator<Item = &Hit> {
        let is_then = move |hit: &&Hit| hit.from <= until && from <= hit.until;
        self.0.iter().filter(is_then)
    }

    /// Whether anybody of these nodes, or a link between two of them, was hit meanwhile; `None`: all nodes.
    pub fn touch(&self, nodes: Option<&BTreeSet<u16>>, from: Duration, until: Duration) -> bool {
        let is_in = |node: u16| nodes.is_none_or(|nodes| nodes.contains(&node));
        self.during(from, until).any(|hit| match hit.place {
            Place::All => true,
            Place::Node(node) => is_in(node),
            Place::Link(one, other) => is_in(one) && is_in(other),
        })
    }

    /// Whether one of these nodes was hit meanwhile, or is an end of a link that was.
    pub fn concern(&self, nodes: &[u16], from: Duration, until: Duration) -> bool {
        self.during(from, until).any(|hit| match hit.place {
            Place::All => true,
            Place::Node(node) => nodes.contains(&node),
            Place::Link(one, other) => nodes.contains(&one) || nodes.contains(&other),
        })
    }

    /// Whether a node did nothing for a while between.
    pub fn freeze(&self, node: u16, from: Duration, until: Duration) -> bool {
        let mut hits = self.during(from, until);
        hits.any(|hit| hit.is_freeze && hit.place == Place::Node(node))
    }
}
