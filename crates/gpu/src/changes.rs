//! What layers have made of a segment, on the host: what a program is compiled from, and what is copied to the device.

use crate::account::Drawn;
use explore::TagSet;
use rdf::VertexId;
use std::sync::Arc;
use store::delta::{Overlay, OverlayEdges, OverlayKeys};

/// Changes of a segment, whose bytes are drawn on an account as long as they are held.
pub(crate) struct Changes {
    edges: Arc<Overlay>,
    keys: Option<OverlayKeys>,
    came_tags: [TagSet; 2],
    _drawn: Drawn,
}

impl Changes {
    /// Those of edges, or of keys where these are given, for which this is drawn.
    pub(crate) fn new(edges: Arc<Overlay>, keys: Option<OverlayKeys>, mut drawn: Drawn) -> Changes {
        drawn.shrink(edges.bytes() + keys.as_ref().map_or(0, OverlayKeys::bytes));
        let came = edges.came();
        Changes {
            came_tags: [tags_of(came.keys()), tags_of(came.neighbours())],
            edges,
            keys,
            _drawn: drawn,
        }
    }

    /// The edges, whatever these are changes of.
    pub(crate) fn edges(&self) -> &Arc<Overlay> {
        &self.edges
    }

    /// What came: edges, or keys.
    pub(crate) fn came(&self) -> &OverlayEdges {
        self.keys
            .as_ref()
            .map_or(self.edges.came(), |keys| &keys.came)
    }

    /// What went.
    pub(crate) fn went(&self) -> &OverlayEdges {
        let keys = self.keys.as_ref();
        keys.map_or(self.edges.went(), |keys| &keys.went)
    }

    /// Whether layers have changed edges of named graphs.
    pub(crate) fn has_graphs(&self) -> bool {
        self.edges.has_graphs()
    }

    /// What kinds of terms the keys and the neighbours of the edges are that came.
    pub(crate) fn came_tags(&self) -> [TagSet; 2] {
        self.came_tags
    }
}

fn tags_of(ids: impl Iterator<Item = VertexId>) -> TagSet {
    ids.fold(TagSet::NONE, |tags, id| tags.with(TagSet::between(id, id)))
}
