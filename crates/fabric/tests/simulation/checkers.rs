//! Checkers of one property each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fabric::liveness::{DOWN_WITHIN, TICK};
use fabric::sim::{Fault, Schedule};
use fabric::{Incarnation, NodeId, RegionKey, Token};

use super::program::pairs;

/// A link as its sender names it: sender, its life, receiver, number.
type Sent = (NodeId, u64, NodeId, u64);

/// **At most once, in order, nothing across incarnations, no gap before `Down`.** Within one `Up` of a receiver come the
/// messages of one link of the sender, from the first on, and of that link none comes within another `Up`.
#[derive(Default)]
pub struct Deliveries {
    count: u64,
    /// Which link of the peer comes within the present `Up` of a receiver, and how many of its messages have come.
    current: BTreeMap<(NodeId, NodeId), Option<(Sent, u64)>>,
    /// Links of which messages came within an `Up`.
    begun: BTreeSet<Sent>,
    /// How many messages were accepted.
    accepted: BTreeMap<Sent, u64>,
    arrived: BTreeMap<Sent, u64>,
}

impl Deliveries {
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn up(&mut self, here: NodeId, peer: NodeId, _: Incarnation) {
        self.current.insert((here, peer), None);
    }

    pub fn stopped(&mut self, node: NodeId) {
        self.current.retain(|(here, _), _| *here != node);
    }

    /// A message as [`arrived`](Deliveries::arrived) reads it.
    pub fn compose(
        here: NodeId,
        life: u64,
        link: u64,
        number: u64,
        region: RegionKey,
        length: usize,
    ) -> Vec<u8> {
        let words = [
            u64::from(here.0),
            life,
            link,
            number,
            region.key,
            region.generation,
        ];
        let mut message: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        message.resize(message.len() + length, number as u8);
        message
    }

    pub fn sent(&mut self, here: NodeId, peer: NodeId, life: u64, link: u64) {
        *self.accepted.entry((here, life, peer, link)).or_default() += 1;
    }

    /// A message came; gives the region that it names.
    pub fn arrived(
        &mut self,
        here: NodeId,
        from: NodeId,
        _: u64,
        bytes: &[u8],
    ) -> Option<RegionKey> {
        self.count += 1;
        let word = |at: usize| u64::from_le_bytes(bytes[at * 8..][..8].try_into().unwrap());
        let [sender, life, link, number, key, generation] = [0, 1, 2, 3, 4, 5].map(word);
        assert_eq!(
            sender,
            u64::from(from.0),
            "a message is of whom it is said to be"
        );
        assert!(
            bytes[48..].iter().all(|&byte| byte == number as u8),
            "its bytes are as they were"
        );
        let sent = (from, life, here, link);
        let current = self
            .current
            .get_mut(&(here, from))
            .expect("messages come within an Up");
        let (known, next) = current.get_or_insert_with(|| {
            assert!(
                self.begun.insert(sent),
                "{sent:?} goes on within another Up"
            );
            (sent, 0)
        });
        assert_eq!(*known, sent, "two links within one Up");
        assert_eq!(*next, number, "order of {sent:?} at {here}");
        *next += 1;
        self.arrived.insert(sent, *next);
        assert!(*next <= self.accepted[&sent], "more than was sent");
        let node = from;
        let region = RegionKey {
            node,
            key,
            generation,
        };
        (key != u64::MAX).then_some(region)
    }

    /// What was sent before need not have arrived.
    pub fn forget_unfinished(&mut self) {
        let live: BTreeSet<Sent> = self
            .current
            .values()
            .flatten()
            .map(|(sent, _)| *sent)
            .collect();
        self.accepted.retain(|sent, _| live.contains(sent));
    }

    /// Everything that was sent over links that live has arrived.
    pub fn expect_all(&self) {
        for (sent, count) in &self.accepted {
            assert_eq!(self.arrived.get(sent), Some(count), "delivered of {sent:?}");
        }
    }
}

/// **Up and Down take turns**, links count up, and messages come in between.
pub struct Turns {
    nodes: u16,
    up: BTreeMap<(NodeId, NodeId), Incarnation>,
    last: BTreeMap<(NodeId, NodeId), u64>,
}

impl Turns {
    pub fn new(nodes: u16) -> Turns {
        Turns {
            nodes,
            up: BTreeMap::new(),
            last: BTreeMap::new(),
        }
    }

    pub fn stopped(&mut self, node: NodeId) {
        for peer in (0..self.nodes).map(NodeId) {
            self.up.remove(&(node, peer));
            self.last.remove(&(node, peer));
        }
    }

    pub fn up(&mut self, here: NodeId, peer: NodeId, incarnation: Incarnation) {
        let before = self.up.insert((here, peer), incarnation);
        assert_eq!(before, None, "{here} sees {peer} come up twice");
        let last = self.last.insert((here, peer), incarnation.link);
        assert!(
            last.is_none_or(|last| last < incarnation.link),
            "links count up"
        );
    }

    pub fn down(&mut self, here: NodeId, peer: NodeId, incarnation: Incarnation) {
        let before = self.up.remove(&(here, peer));
        assert_eq!(
            before,
            Some(incarnation),
            "{here} sees {peer} go that was not there"
        );
    }

    pub fn message(&self, here: NodeId, from: NodeId) {
        assert!(
            self.up.contains_key(&(here, from)),
            "{here} hears {from} that is down"
        );
    }
}

/// **Each read completes once**, and by its deadline.
#[derive(Default)]
pub struct Reads {
    under_way: BTreeMap<(NodeId, Token), Duration>,
    succeeded: u64,
}

impl Reads {
    pub fn started(&mut self, here: NodeId, token: Token, deadline: Duration) {
        assert_eq!(self.under_way.insert((here, token), deadline), None);
    }

    pub fn completed(&mut self, here: NodeId, token: Token, now: Duration) {
        let deadline = self.under_way.remove(&(here, token));
        let deadline = deadline.expect("a read that is under way completes, once");
        self.succeeded += u64::from(now <= deadline + TICK);
    }

    pub fn stopped(&mut self, node: NodeId) {
        self.under_way.retain(|(here, _), _| *here != node);
    }

    pub fn succeeded(&self) -> u64 {
        self.succeeded
    }

    pub fn expect_all(&self) {
        assert!(
            self.under_way.is_empty(),
            "reads never completed: {:?}",
            self.under_way
        );
    }
}

/// **Whoever is cut off, frozen or gone is down within 3 s** for all that run.
pub struct Absences {
    nodes: u16,
    expected: Schedule,
    cut: BTreeSet<(NodeId, NodeId)>,
    frozen: BTreeSet<NodeId>,
    stopped: BTreeSet<NodeId>,
    /// Since when nothing can come from one to the other and back, and why: cut there, cut back, away.
    severed: BTreeMap<(NodeId, NodeId), (Duration, [bool; 3])>,
    /// Who takes whom for present, since when.
    up: BTreeMap<(NodeId, NodeId), Duration>,
}

impl Absences {
    pub fn new(nodes: u16) -> Absences {
        Absences {
            nodes,
            expected: Schedule::new(),
            cut: BTreeSet::new(),
            frozen: BTreeSet::new(),
            stopped: BTreeSet::new(),
            severed: BTreeMap::new(),
            up: BTreeMap::new(),
        }
    }

    pub fn expect(&mut self, schedule: &Schedule) {
        self.expected.clone_from(schedule);
        self.expected.reverse();
    }

    pub fn up(&mut self, here: NodeId, peer: NodeId, now: Duration) {
        self.up.insert((here, peer), now);
    }

    pub fn down(&mut self, here: NodeId, peer: NodeId) {
        self.up.remove(&(here, peer));
    }

    /// A node has lost what it knew.
    pub fn restarted(&mut self, node: NodeId) {
        self.up.retain(|(here, _), _| *here != node);
    }

    pub fn check(&mut self, now: Duration) {
        while let Some(&(at, fault)) = self.expected.last()
            && at <= now
        {
            self.expected.pop();
            self.apply(at, fault);
        }
        for (&(here, peer), &(severed, _)) in &self.severed {
            // An answer that was on its way may have made a link since.
            if let Some(&up) = self.up.get(&(here, peer)) {
                let since = severed.max(up);
                let is_late = now > since + DOWN_WITHIN;
                assert!(
                    !is_late,
                    "{here} takes {peer} for present at {now:?}, gone since {since:?}"
                );
            }
        }
    }

    fn apply(&mut self, at: Duration, fault: Fault) {
        match fault {
            Fault::Weather(_) | Fault::Reset { .. } => {}
            Fault::Cut { from, to } => drop(self.cut.insert((from, to))),
            Fault::Mend { from, to } => drop(self.cut.remove(&(from, to))),
            Fault::Freeze(node) => {
                if !self.stopped.contains(&node) {
                    self.frozen.insert(node);
                }
            }
            Fault::Thaw(node) => drop(self.frozen.remove(&node)),
            Fault::Stop(node, _) => {
                self.stopped.insert(node);
                self.frozen.remove(&node);
            }
            Fault::Start(node) => drop(self.stopped.remove(&node)),
            Fault::Heal => {
                self.cut.clear();
                self.frozen.clear();
                self.stopped.clear();
            }
        }
        for (here, peer) in pairs(usize::from(self.nodes)) {
            let is_away = |node| self.frozen.contains(&node) || self.stopped.contains(&node);
            let is_cut = |from, to| self.cut.contains(&(from, to));
            let causes = [is_cut(here, peer), is_cut(peer, here), is_away(peer)];
            let before = self.severed.remove(&(here, peer));
            if is_away(here) || causes == [false; 3] {
                continue;
            }
            // With one cause over and another there, the time begins anew: what is heard has changed.
            let holds = |had: &[bool; 3]| (0..3).all(|cause| causes[cause] || !had[cause]);
            let since = before
                .filter(|(_, had)| holds(had))
                .map_or(at, |(since, _)| since);
            self.severed.insert((here, peer), (since, causes));
        }
    }
}
