//! Where segments and terms lie: asked of their owners, and said of this node's part.
//!
//! An owner offers the memory of a segment's columns and no byte beside it, or the files of a kind's keys by hash, once all of its blocks were compared with their
//! checksums ([`GraphView::located`]). It stays offered until the part is given up.

use crate::ground::Ground;
use crate::question::{Question, Spot, Standing};
use crate::reading::terms::TermsPlace;
use crate::session::{Asked, Want};
use crate::terms::PartTerms;
use fabric::{NodeId, RegionKey};
use rdf::dictionary::part::{HashedPlace, LocatedTerms};
use std::sync::Arc;
use store::location::{Located, LocatedSegment, Location};
use store::view::GraphView;

/// What an owner verifies of its part in one go, in the thread that answers others (bytes): some 4 ms.
const VERIFY_BYTES: u64 = 16 << 20;

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Ground<P, T> {
    /// Takes back the memory that it has let others read, as whoever is about to give the part up does. They ask by message from
    /// then on, and are told where lists lie when they ask for that again.
    pub fn withdraw(&self) {
        self.reader().withdraw();
    }

    /// Asks a node where something of its part lies. Nobody waits for that.
    pub(super) fn ask_where(&self, to: u16, spot: Spot) {
        let want = Want::Where(to, spot);
        let asked = Asked::of_no_session(want, to, Question::Where(spot), self.memory());
        let asked = Arc::new(asked);
        let ticket = self.desk().open();
        self.ask(to, ticket, &asked, 0);
        self.desk().done(ticket);
    }

    /// A node has said where something of its part lies.
    pub(crate) fn is_located(&self, node: u16, spot: Spot, standing: Standing) {
        let (location, regions, life) = match standing {
            Standing::Nowhere => return self.is_not_there(node, spot, false),
            Standing::Later => return self.is_not_there(node, spot, true),
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
        match spot {
            Spot::Segment(segment) => match Location::decode(&location) {
                Ok(location) => {
                    let locations = &self.reader().locations;
                    locations.keep(node, segment, location, regions);
                }
                Err(_) => self.is_not_there(node, spot, false),
            },
            Spot::Terms(kind) => match (HashedPlace::decode(&location), regions) {
                (Ok(place), [Some(index), Some(offsets), Some(keys), Some(ordinals)]) => {
                    let regions = [index, offsets, keys, ordinals];
                    let place = TermsPlace { place, regions };
                    self.reader().terms.keep(node, kind, place);
                }
                _ => self.is_not_there(node, spot, false),
            },
        }
    }

    /// Something cannot be read, now or at all.
    fn is_not_there(&self, node: u16, spot: Spot, is_later: bool) {
        let reader = self.reader();
        match spot {
            Spot::Segment(segment) => reader.locations.is_not_here(node, segment, is_later),
            Spot::Terms(kind) => reader.terms.is_not_here(node, kind, is_later),
        }
    }

    /// Where something of this part lies, for another node: its memory is offered from now on.
    pub(crate) fn standing(&self, spot: Spot) -> Standing {
        let (location, columns) = match spot {
            Spot::Segment(segment) => match self.part().located(segment, VERIFY_BYTES) {
                Ok(Located::Here(here)) => {
                    let LocatedSegment { location, columns } = *here;
                    (location.encode(), columns)
                }
                Ok(Located::Later) => return Standing::Later,
                // Whoever asks for its lists is told what is wrong.
                Ok(Located::Nowhere) | Err(_) => return Standing::Nowhere,
            },
            Spot::Terms(kind) => match self.terms().located(kind, VERIFY_BYTES) {
                Ok(LocatedTerms::Here(place, files)) => (place.encode(), files.map(Some)),
                Ok(LocatedTerms::Later) => return Standing::Later,
                Ok(LocatedTerms::Nowhere) | Err(_) => return Standing::Nowhere,
            },
        };
        let mut offered = self.reader().offered();
        let regions = *offered.entry(spot).or_insert_with(|| {
            columns.map(|column| column.map(|region| self.fabric().offer(region)))
        });
        Standing::Here {
            location,
            regions: regions.map(|region| region.map(|region| region.key)),
            life: self.fabric().life(),
        }
    }

    /// Where something lies will not be said: it is known by whom that was asked.
    pub(crate) fn is_not_located(&self, asked: &Asked) {
        match asked.want {
            Want::Where(node, Spot::Segment(segment)) => {
                self.reader().locations.forget(node, segment);
            }
            Want::Where(node, Spot::Terms(kind)) => self.reader().terms.forget(node, kind),
            _ => {}
        }
    }
}
