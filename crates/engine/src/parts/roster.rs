//! Which nodes of a graph are there, since when, and why the others are not: what one node has seen.
//!
//! Written by the thread that polls the fabric, event by event; read by whoever asks. Cost: one short lock an event that is no
//! message.
//!
//! A peer that is refused tries again twice a second, and whoever scans ports tries for ever. So a refusal is told once for
//! each somebody and each cause, for as long as it is among the last [`REFUSED_MAX`].

use fabric::{Absence, Event};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Refusals that are remembered (count).
const REFUSED_MAX: usize = 64;

/// Causes of one stranger that are told: whoever sends anything at all sends something else each time.
const CAUSES_MAX: usize = 8;

/// Told what happens to nodes: a line for people.
pub type Teller = Box<dyn Fn(&str) + Send + Sync>;

/// Whether a node is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It is the one that was asked.
    Here,
    /// It can be asked.
    Up,
    /// It cannot, for this reason.
    Down(String),
}

/// A node, as another one sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberState {
    /// Its number, which is that of its part.
    pub number: u16,
    /// Where others reach it: `host:port`; empty where that is not known yet.
    pub address: String,
    /// Whether it is there.
    pub seen: Seen,
    /// Since when.
    pub since: SystemTime,
}

/// Somebody who was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedState {
    /// Who: an address, or a node and its address.
    pub who: String,
    /// Why, and what to do.
    pub reason: String,
    /// When it was refused first.
    pub since: SystemTime,
}

/// See the module's documentation.
pub(super) struct Roster {
    state: Mutex<State>,
    tell: Teller,
}

struct State {
    /// Where each node is reached; empty where that is not known yet.
    addresses: Vec<String>,
    seen: Vec<(Seen, SystemTime)>,
    /// The oldest first.
    refused: VecDeque<RefusedState>,
}

impl Roster {
    /// What the node of this number has seen before it began: itself. `members`: where each is reached.
    pub(super) fn new(here: u16, members: Vec<String>, tell: Teller) -> Roster {
        let now = SystemTime::now();
        let first = |number| {
            if number == usize::from(here) {
                Seen::Here
            } else {
                Seen::Down(Absence::NotYet.to_string())
            }
        };
        let seen = (0..members.len()).map(|number| (first(number), now));
        let state = State {
            seen: seen.collect(),
            addresses: members,
            refused: VecDeque::new(),
        };
        Roster {
            state: Mutex::new(state),
            tell,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what the fabric says.
    pub(super) fn saw(&self, event: &Event) {
        match event {
            Event::Up { node, .. } => self.change(node.0, Seen::Up),
            Event::Down { node, cause, .. } => self.change(node.0, Seen::Down(cause.to_string())),
            Event::Refused { who, reason } => self.refused(who, reason),
            Event::Message { .. }
            | Event::Read { .. }
            | Event::Written { .. }
            | Event::Room { .. } => {}
        }
    }

    fn change(&self, node: u16, seen: Seen) {
        let mut state = self.state();
        let Some(address) = state.addresses.get(usize::from(node)) else {
            return;
        };
        let whose = node_at(node, address);
        let words = match &seen {
            Seen::Down(cause) => format!("{whose} is away: {cause}"),
            Seen::Here | Seen::Up => format!("{whose} is there"),
        };
        state.seen[usize::from(node)] = (seen, SystemTime::now());
        drop(state);
        (self.tell)(&words);
    }

    /// Where a node is reached from now on; whether that is news. Another place than before is told.
    pub(super) fn reached_at(&self, node: u16, address: &str) -> bool {
        let mut state = self.state();
        let Some(known) = state.addresses.get_mut(usize::from(node)) else {
            return false;
        };
        if known == address {
            return false;
        }
        let before = std::mem::replace(known, address.to_owned());
        drop(state);
        if !before.is_empty() {
            (self.tell)(&format!(
                "{} is at {address} from now on",
                node_at(node, &before)
            ));
        }
        true
    }

    /// Where each node is reached; empty where that is not known yet.
    pub(super) fn addresses(&self) -> Vec<String> {
        self.state().addresses.clone()
    }

    /// Tells people.
    pub(super) fn tell(&self, line: &str) {
        (self.tell)(line);
    }

    pub(super) fn refused(&self, who: &str, reason: &str) {
        let mut state = self.state();
        let mut known = state.refused.iter();
        if known.any(|known| known.who == who && known.reason == reason) {
            return;
        }
        let causes = state.refused.iter().filter(|known| known.who == who);
        if causes.count() >= CAUSES_MAX {
            return;
        }
        if state.refused.len() >= REFUSED_MAX {
            state.refused.pop_front();
        }
        state.refused.push_back(RefusedState {
            who: who.to_owned(),
            reason: reason.to_owned(),
            since: SystemTime::now(),
        });
        drop(state);
        (self.tell)(&format!("{who} was refused: {reason}"));
    }

    /// All nodes, in order. `latest`: why a node that was never there is not, as the fabric knows it by now.
    pub(super) fn members(&self, latest: impl Fn(u16) -> Option<String>) -> Vec<MemberState> {
        let state = self.state();
        let (addresses, seen) = (state.addresses.clone(), state.seen.clone());
        drop(state);
        let members = (0u16..).zip(addresses).zip(seen);
        let member = |((number, address), (seen, since))| MemberState {
            number,
            address,
            seen: match seen {
                Seen::Down(cause) => Seen::Down(latest(number).unwrap_or(cause)),
                seen => seen,
            },
            since,
        };
        members.map(member).collect()
    }

    /// Those who were refused last, the oldest first.
    pub(super) fn last_refused(&self) -> Vec<RefusedState> {
        self.state().refused.iter().cloned().collect()
    }

    /// Whether all nodes are there.
    pub(super) fn are_all_there(&self) -> bool {
        let state = self.state();
        let mut seen = state.seen.iter();
        seen.all(|(seen, _)| matches!(seen, Seen::Here | Seen::Up))
    }
}

/// A node as people know it.
pub fn node_at(node: u16, address: &str) -> String {
    match address {
        "" => format!("node {node}"),
        address => format!("node {node} at {address}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::{Incarnation, NodeId};
    use std::sync::Arc;

    fn roster() -> (Roster, Arc<Mutex<Vec<String>>>) {
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let lines = Arc::clone(&told);
        let tell = Box::new(move |line: &str| lines.lock().unwrap().push(line.to_owned()));
        let members = ["a:1", "b:2", "c:3"].map(str::to_owned).to_vec();
        (Roster::new(1, members, tell), told)
    }

    fn up(node: u16) -> Event {
        Event::Up {
            node: NodeId(node),
            incarnation: Incarnation { life: 1, link: 1 },
        }
    }

    #[test]
    fn nodes_come_and_go() {
        let (roster, told) = roster();
        assert!(!roster.are_all_there());
        roster.saw(&up(0));
        roster.saw(&up(2));
        assert!(roster.are_all_there());
        roster.saw(&Event::Down {
            node: NodeId(2),
            incarnation: Incarnation { life: 1, link: 1 },
            cause: Absence::Left,
        });
        let seen: Vec<Seen> = roster
            .members(|_| None)
            .into_iter()
            .map(|it| it.seen)
            .collect();
        let left = Seen::Down("it has left".to_owned());
        assert_eq!(seen, [Seen::Up, Seen::Here, left]);
        let told = told.lock().unwrap();
        assert_eq!(
            *told,
            [
                "node 0 at a:1 is there",
                "node 2 at c:3 is there",
                "node 2 at c:3 is away: it has left"
            ]
        );
    }

    #[test]
    fn a_node_that_is_elsewhere_is_told_once() {
        let (roster, told) = roster();
        assert!(roster.reached_at(2, "d:4"));
        assert!(!roster.reached_at(2, "d:4"));
        assert!(!roster.reached_at(3, "d:4"), "there is no such node");
        roster.saw(&up(2));
        assert_eq!(roster.addresses(), ["a:1", "b:2", "d:4"]);
        let told = told.lock().unwrap();
        assert_eq!(
            *told,
            [
                "node 2 at c:3 is at d:4 from now on",
                "node 2 at d:4 is there"
            ]
        );
    }

    #[test]
    fn a_refusal_is_told_once_for_each_cause() {
        let (roster, told) = roster();
        let refused = |reason: &str| Event::Refused {
            who: "10.0.0.9".to_owned(),
            reason: reason.to_owned(),
        };
        for _ in 0..3 {
            roster.saw(&refused("another key"));
            roster.saw(&refused("another graph"));
        }
        assert_eq!(told.lock().unwrap().len(), 2);
        for number in 0..2 * REFUSED_MAX {
            roster.saw(&refused(&number.to_string()));
        }
        assert_eq!(roster.last_refused().len(), CAUSES_MAX);
        assert_eq!(told.lock().unwrap().len(), CAUSES_MAX);
        for number in 0..2 * REFUSED_MAX {
            roster.refused(&format!("10.0.1.{number}"), "another key");
        }
        assert_eq!(roster.last_refused().len(), REFUSED_MAX);
    }
}
