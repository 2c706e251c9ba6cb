//! Terms of sealed batches that only windows hold: which are named, and what becomes of those that are stored later.
//!
//! A term that comes into the dictionary has another id from then on. Its batches get the new one in their items, and
//! their slices and panes are made again when a window asks for them. Numbers of transient terms ascend by first
//! appearance, so a batch whose newest term is older than all of them is not looked at: what is stored soon after it
//! was named costs a look at the last batches, however long the windows are.

use super::Retained;
use super::panes::PaneId;
use crate::items;
use rdf::VertexId;
use rdf::transient::Renamed;
use std::collections::BTreeSet;

impl Retained {
    /// Gives each transient id that an item names, at least once.
    pub(crate) fn name_transients(&self, name: &mut dyn FnMut(VertexId)) {
        let mut named: BTreeSet<PaneId> = BTreeSet::new();
        let batches = self.batches.iter();
        for batch in batches.filter(|batch| batch.newest_transient.is_some()) {
            // All batches of a pane that windows may have are there still.
            match batch.pane().filter(|pane| self.panes.is_current(*pane)) {
                Some(pane) if named.insert(pane) => {
                    let quads = self.panes.slice(pane).quads();
                    items::transients_of(&quads).for_each(&mut *name);
                }
                Some(_) => {}
                None => batch.items(&self.panes).transients().for_each(&mut *name),
            }
        }
        self.late.transients().for_each(name);
    }

    /// Puts stored ids in place of transient ones.
    pub(crate) fn rename(&mut self, renamed: &Renamed) {
        self.memo.forget();
        self.late.rename(renamed);
        for batch in &mut self.batches {
            let newest = batch.newest_transient;
            if newest.is_none_or(|newest| newest < renamed.oldest()) {
                continue;
            }
            let mut items = batch.items(&self.panes).into_owned();
            if !items.rename(renamed) {
                continue;
            }
            self.bytes -= batch.bytes();
            batch.drop_parts();
            batch.replace(&mut self.panes, items);
            self.panes.drop_of(batch.number);
            self.bytes += batch.bytes();
        }
    }
}
