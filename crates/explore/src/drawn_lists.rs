//! The lists of a batch, drawn on the budget where they own their rows.
//!
//! A store's lists point into its columns and take nothing. What came from elsewhere lies in columns that the lists keep from
//! batch to batch ([`Lists::owned_bytes`]), as long as the longest batch: it is drawn as soon as it is there, before anybody
//! reads it, and given back with the lists. Whoever keeps lists keeps them in one of these.
//!
//! Costs a look at a pointer for each batch; the reservation is made by the first owned one, so that a step of a store's
//! walk is hardly larger for it.

use crate::error::WalkError;
use crate::limits::{Limits, Reservation};
use rdf::VertexId;
use std::ops::{Deref, DerefMut};
use store::Lists;
use store::view::{GraphScope, GraphView, Progress, SegmentKey};

/// See the head of this file.
#[derive(Default)]
pub(crate) struct DrawnLists<'a> {
    lists: Lists<'a>,
    drawn: Option<Box<Reservation<'a>>>,
}

impl<'a> DrawnLists<'a> {
    /// [`GraphView::lists`] into these.
    #[inline]
    pub(crate) fn ask<V: GraphView>(
        &mut self,
        view: &'a V,
        limits: Limits<'a>,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
    ) -> Result<Progress, WalkError> {
        let progress = view.lists(segment, keys, scope, &mut self.lists)?;
        match self.lists.owned_bytes() {
            0 => {}
            bytes => self.draw(limits, bytes)?,
        }
        Ok(progress)
    }

    #[cold]
    fn draw(&mut self, limits: Limits<'a>, bytes: usize) -> Result<(), WalkError> {
        let make = || Box::new(Reservation::new(limits));
        self.drawn.get_or_insert_with(make).cover(bytes as u64)
    }
}

impl<'a> Deref for DrawnLists<'a> {
    type Target = Lists<'a>;

    fn deref(&self) -> &Lists<'a> {
        &self.lists
    }
}

impl<'a> DerefMut for DrawnLists<'a> {
    fn deref_mut(&mut self) -> &mut Lists<'a> {
        &mut self.lists
    }
}
