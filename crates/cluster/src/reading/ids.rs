//! Ids of keys that are looked up in the memory of the node that owns the keys' hashes: a light query that names what other nodes
//! have wakes nobody there.
//!
//! A lookup is four reads in a row ([`HashedPlace::find`](rdf::dictionary::part::HashedPlace::find)), so it is made where a read is a
//! load and nowhere else: where each is a journey, the one message takes less.
//!
//! What a part says of the dictionary does not change within its life, so "there is no such term" is believed as it is when its owner
//! says it.

use super::terms::TermsPlace;
use super::{Begun, Unread};
use crate::ground::Ground;
use crate::question::{Answer, Question, Spot};
use crate::session::Asked;
use crate::terms::PartTerms;
use fabric::{FabricError, NodeId, Piece};
use rdf::dictionary::part::{HashedFile, Misplaced};
use rdf::{Tag, VertexId};
use std::ops::Range;
use std::sync::Arc;
use store::view::GraphView;

impl From<Misplaced> for Unread {
    fn from(_: Misplaced) -> Unread {
        Unread::Elsewhere
    }
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Ground<P, T> {
    /// Answers a question for ids of keys by reading, where it can.
    pub(super) fn read_ids(&self, to: u16, asked: &Arc<Asked>, place: usize) -> Begun {
        let Question::IdsOfKeys(kind, keys) = &asked.questions[place].1 else {
            return Begun::Not;
        };
        let loads = || self.fabric().load(NodeId(to), &[], &mut []).is_some();
        let session = asked.session().filter(|_| self.reader().is_on && loads());
        let Some(session) = session else {
            return Begun::Not;
        };
        let placed = match self.reader().terms.known(to, *kind) {
            Ok(placed) => placed,
            Err(is_to_be_asked) => {
                if is_to_be_asked {
                    self.ask_where(to, Spot::Terms(*kind));
                }
                return Begun::Not;
            }
        };
        let mut tally = (0, 0);
        match self.loaded_ids(to, (*kind, keys), &placed, &mut tally) {
            Ok(ids) => {
                session.has_read(0, tally.0, tally.1);
                let answer = Answer::IdsOfKeys(ids);
                self.keep(asked.answered(place, Ok(answer)));
                Begun::Answered
            }
            Err(unread) => {
                if matches!(unread, Unread::Elsewhere) {
                    self.reader().terms.forget(to, *kind);
                }
                Begun::Not
            }
        }
    }

    /// The ids of keys, read in this thread; reads and bytes are counted.
    fn loaded_ids(
        &self,
        to: u16,
        (kind, keys): (Tag, &[Vec<u8>]),
        placed: &TermsPlace,
        tally: &mut (u64, u64),
    ) -> Result<Vec<Option<VertexId>>, Unread> {
        let mut read = |file: HashedFile, range: Range<u64>, into: &mut Vec<u8>| {
            let piece = Piece {
                region: placed.regions[file as usize],
                offset: range.start,
                length: range.end - range.start,
            };
            tally.0 += 1;
            tally.1 += piece.length;
            into.clear();
            into.resize(piece.length as usize, 0);
            let loaded = self.fabric().load(NodeId(to), &[piece], into);
            loaded
                .unwrap_or(Err(FabricError::Left))
                .map_err(Unread::from)
        };
        let find = |key: &Vec<u8>| {
            let ordinal = placed.place.find(key, &mut read)?;
            Ok(ordinal.map(|ordinal| VertexId::new(kind, ordinal)))
        };
        keys.iter().map(find).collect()
    }
}
