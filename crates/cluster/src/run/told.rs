//! What a node tells the one that was asked of its walk, and what that tells the others because of it.
//!
//! What was worked off is said once nothing more of the query is to be done here: rows that went through several sections on
//! one node are one message, and so are all tables of a burst. Nobody needs it sooner, because a section is complete when all
//! is counted.

use super::tally::{Walker, Worked};
use super::{At, Run, lock};
use crate::error::Failure;
use crate::message::{Message, Took};
use crate::terms::PartTerms;
use rdf::NodeError;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use store::view::GraphView;

impl<P, T> Run<P, T> {
    /// A section of it was queued on this node.
    pub(crate) fn is_queued(&self) {
        self.queued.fetch_add(1, Ordering::AcqRel);
    }

    /// A section of it was taken off the queue; who took it calls [`Run::tell_took`] afterwards, or queues it again.
    pub(crate) fn is_taken(&self) {
        self.queued.fetch_sub(1, Ordering::AcqRel);
    }
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Run<P, T> {
    /// Tables of a section were worked off here; told to whoever asked, elsewhere once nothing more is to be done.
    pub(crate) fn took(self: &Arc<Self>, took: Took) {
        if let Some(damage) = self.ground.part().damage() {
            // Before it counts as worked off: what it gave may be of bytes that were not there.
            self.fail(Failure::View(damage));
            return;
        }
        if self.home.is_some() {
            self.count(self.id.home, &[took]);
            return;
        }
        let mut untold = lock(&self.untold);
        let is_same =
            |other: &&mut Took| (other.section, other.in_place) == (took.section, took.in_place);
        match untold.iter_mut().find(is_same) {
            Some(other) => other.add(&took),
            None => untold.push(took),
        }
    }

    /// Says what was worked off, unless somebody will do so who has something to do for it yet: one message for all sections
    /// that rows went through here.
    pub(crate) fn tell_took(&self) {
        if self.queued.load(Ordering::Acquire) > 0 {
            return;
        }
        // Held until all is sent: nobody else's later figures may be overtaken by these.
        let _order = self.saying();
        let untold = std::mem::take(&mut *lock(&self.untold));
        for (place, took) in untold.iter().enumerate() {
            let (section, in_place) = (took.section as usize, took.in_place);
            self.says(At { section, in_place }, u64::from(place == 0));
        }
        if !untold.is_empty() {
            // Where that does not arrive the one that asked is away, and wants to know nothing.
            let _ = self
                .ground
                .send(self.id.home, &Message::Took(self.id, untold));
        }
    }

    /// Counts what a node has worked off. Where that ends the input of a section it is told.
    pub(crate) fn count(self: &Arc<Self>, node: u16, all: &[Took]) {
        let Some(mut home) = self.at_home() else {
            return;
        };
        for took in all {
            let section = took.section as usize;
            let worked = Worked {
                section,
                tables: took.tables,
                made: took.made,
                is_through: took.is_through,
            };
            if home.tally.worked((node, took.in_place), worked).is_err() {
                drop(home);
                let what = format!("it counted rows of section {section} that cannot be");
                self.fail(NodeError::fault(node, what).into());
                return;
            }
        }
        let ended = home.tally.ended();
        drop(home);
        if let Some((section, walkers)) = ended {
            self.tell_ended(section, walkers);
        }
    }

    /// Tells those that walk a section that its input has ended.
    fn tell_ended(self: &Arc<Self>, section: usize, walkers: Vec<Walker>) {
        for (node, in_place) in walkers {
            if node == self.id.home {
                self.input_ended(At { section, in_place });
                continue;
            }
            let ended = Message::Ended {
                query: self.id,
                section: section as u32,
                in_place,
            };
            if let Err(failure) = self.ground.send(node, &ended) {
                self.fail(failure);
            }
        }
    }

    /// Nothing more comes for a section here.
    pub(crate) fn input_ended(self: &Arc<Self>, at: At) {
        if at.section < self.sections.len() && self.gathers(at.section) {
            self.stage(at).end();
            self.schedule(at);
        }
    }
}
