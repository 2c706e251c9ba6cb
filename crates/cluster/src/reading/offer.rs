//! Where segments lie: asked of their owners, and said of this node's part.
//!
//! An owner offers the memory of a segment's columns and no byte beside it, once all of its blocks were compared with their
//! checksums ([`GraphView::located`]). It stays offered until the part is given up.

use crate::ground::Ground;
use crate::question::{Question, Standing};
use crate::session::{Asked, Want};
use crate::terms::PartTerms;
use fabric::{NodeId, RegionKey};
use std::sync::Arc;
use store::location::{Located, LocatedSegment, Location};
use store::view::{GraphView, SegmentKey};

/// What an owner verifies of its part in one go, in the thread that answers others (bytes): some 4 ms.
const VERIFY_BYTES: u64 = 16 << 20;

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Ground<P, T> {
    /// Takes back the memory that it has let others read, as whoever is about to give the part up does. They ask by message from
    /// then on, and are told where lists lie when they ask for that again.
    pub fn withdraw(&self) {
        self.reader().withdraw();
    }

    /// Asks a node where a segment of its part lies. Nobody waits for that.
    pub(super) fn ask_where(&self, to: u16, segment: SegmentKey) {
        let want = Want::Where(to, segment);
        let asked = Asked::of_no_session(want, to, Question::Where(segment), self.memory());
        let asked = Arc::new(asked);
        let ticket = self.desk().open();
        self.ask(to, ticket, &asked, 0);
        self.desk().done(ticket);
    }

    /// A node has said where a segment of its part lies.
    pub(crate) fn is_located(&self, node: u16, segment: SegmentKey, standing: Standing) {
        let locations = &self.reader().locations;
        let (location, regions, life) = match standing {
            Standing::Nowhere => return locations.is_not_here(node, segment, false),
            Standing::Later => return locations.is_not_here(node, segment, true),
            Standing::Here {
                location,
                regions,
                life,
            } => (location, regions, life),
        };
        let region = |key: Option<u64>| {
            key.map(|key| RegionKey {
                node: NodeId(node),
                key,
                generation: life,
            })
        };
        let regions = regions.map(region);
        match Location::decode(&location) {
            Ok(location) => locations.keep(node, segment, location, regions),
            Err(_) => locations.is_not_here(node, segment, false),
        }
    }

    /// Where a segment of this part lies, for another node: its memory is offered from now on.
    pub(crate) fn standing(&self, segment: SegmentKey) -> Standing {
        let here = match self.part().located(segment, VERIFY_BYTES) {
            Ok(Located::Here(here)) => *here,
            Ok(Located::Later) => return Standing::Later,
            // Whoever asks for its lists is told what is wrong.
            Ok(Located::Nowhere) | Err(_) => return Standing::Nowhere,
        };
        let LocatedSegment { location, columns } = here;
        let mut offered = self.reader().offered();
        let regions = *offered.entry(segment).or_insert_with(|| {
            columns.map(|column| column.map(|region| self.fabric().offer(region)))
        });
        Standing::Here {
            location: location.encode(),
            regions: regions.map(|region| region.map(|region| region.key)),
            life: self.fabric().life(),
        }
    }

    /// Where a segment lies will not be said: it is known by whom that was asked.
    pub(crate) fn is_not_located(&self, asked: &Asked) {
        if let Want::Where(node, segment) = asked.want {
            self.reader().locations.forget(node, segment);
        }
    }
}
