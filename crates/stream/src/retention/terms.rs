//! Terms of sealed batches that only windows hold: which are named, and what becomes of those that are stored later.
//!
//! A term that comes into the dictionary has another id from then on. Its batches get the new one in their items, and
//! their slices and panes are made again when a window asks for them. Numbers of transient terms ascend by first
//! appearance, so a batch whose newest term is older than all of them is not looked at: what is stored soon after it
//! was named costs a look at the last batches, however long the windows are.

use super::Retained;
use rdf::VertexId;
use rdf::transient::Renamed;
use std::sync::Arc;

impl Retained {
    /// Gives each transient id that an item names, as often as items do.
    pub(crate) fn name_transients(&self, name: &mut dyn FnMut(VertexId)) {
        let batches = self.batches.iter();
        let with = batches.filter(|batch| batch.newest_transient.is_some());
        let sealed = with.flat_map(|batch| batch.items.transients());
        sealed.chain(self.late.transients()).for_each(name);
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
            let before = batch.bytes();
            if !Arc::make_mut(&mut batch.items).rename(renamed) {
                continue;
            }
            batch.drop_slices();
            self.bytes -= before - batch.bytes();
            self.sliced = self.sliced.min(batch.number);
            self.panes.drop_of(batch.number);
        }
    }
}
