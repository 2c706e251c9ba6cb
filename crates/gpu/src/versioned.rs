//! Segments as a version has them: an image of the base's, and images of what its layers brought and took away.

use crate::changes::Changes;
use crate::graphs::{Graphs, Share};
use crate::image::Image;
use explore::TagSet;
use rdf::VertexId;
use std::ops::Range;
use std::sync::Arc;
use store::GraphScope;

/// The numbers of what a segment of a version is made of.
#[derive(Clone)]
pub(crate) struct Numbers {
    pub(crate) base: u32,
    /// What layers brought, and took away.
    pub(crate) came: Option<u32>,
    pub(crate) went: Option<u32>,
    /// Both, on the host.
    pub(crate) changes: Option<Arc<Changes>>,
}

impl Numbers {
    /// The images, where this gives that of a number.
    pub(crate) fn images(self, mut image: impl FnMut(u32) -> Arc<Image>) -> Layered {
        Layered {
            base: image(self.base),
            came: self.came.map(&mut image),
            went: self.went.map(&mut image),
            numbers: self,
        }
    }
}

/// A segment as a version has it: an edge is there that the base has and that did not go, or that came.
#[derive(Clone)]
pub(crate) struct Layered {
    pub(crate) base: Arc<Image>,
    /// What layers brought; the base has none of it.
    pub(crate) came: Option<Arc<Image>>,
    /// What they took away; the base has all of it.
    pub(crate) went: Option<Arc<Image>>,
    /// The numbers of all, and what came and went as the host has it.
    pub(crate) numbers: Numbers,
}

impl Layered {
    /// Whether it is as in the base.
    pub(crate) fn is_base_alone(&self) -> bool {
        self.came.is_none() && self.went.is_none()
    }

    /// What came and what went, on the host.
    pub(crate) fn changes(&self) -> Option<&Arc<Changes>> {
        self.numbers.changes.as_ref()
    }

    /// How much of its edges these graphs have. Of what layers have changed nothing is known but that no named graph had a part in it.
    pub(crate) fn share_of(&self, scope: GraphScope<'_>) -> Share {
        let is_plain =
            |changes: &Arc<Changes>| !changes.has_graphs() && self.base.graphs == Graphs::DEFAULT;
        match self.changes() {
            Some(changes) if !is_plain(changes) => Share::Some,
            _ => self.base.graphs.share_of(scope),
        }
    }

    /// What kinds of terms its neighbours may be.
    pub(crate) fn neighbour_tags(&self) -> TagSet {
        self.base.neighbour_tags().with(self.came_tags()[1])
    }

    /// What kinds of terms its keys may be.
    pub(crate) fn key_tags(&self) -> TagSet {
        self.base.key_tags().with(self.came_tags()[0])
    }

    fn came_tags(&self) -> [TagSet; 2] {
        let changes = self.changes();
        changes.map_or([TagSet::NONE; 2], |changes| changes.came_tags())
    }

    /// The rows of a key among what came, with their image; nothing, where there are none.
    pub(crate) fn came_of(&self, key: VertexId) -> Option<(&Arc<Image>, Range<u64>)> {
        rows_in(self.came.as_ref(), self.changes()?.came().rows_of(key))
    }

    /// The same of what went.
    pub(crate) fn went_of(&self, key: VertexId) -> Option<(&Arc<Image>, Range<u64>)> {
        rows_in(self.went.as_ref(), self.changes()?.went().rows_of(key))
    }
}

/// Rows with the image that they are in; nothing, where there are none.
fn rows_in(image: Option<&Arc<Image>>, rows: Range<u64>) -> Option<(&Arc<Image>, Range<u64>)> {
    image
        .filter(|_| !rows.is_empty())
        .map(|image| (image, rows))
}
