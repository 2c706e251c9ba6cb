//! What a hub stands on: a database that is open, or a log that is being replayed.

use super::Hub;
use crate::change::{reach, with_dictionary};
use crate::database::Database;
use crate::error::{Kind, QueryError};
use crate::moment::vector::{SnapshotVector, StreamPoint};
use rdf::dictionary::{LiveDictionary, TermCounts};
use std::sync::Arc;
use stream::{Seal, SealPoint, StreamId};

/// See the head of this file.
pub(super) enum Base {
    /// Terms get ids under the writer's turn, and messages go to its log.
    Open(Database),
    /// Nobody else gives ids, and nothing is said.
    Replaying(Arc<LiveDictionary>),
}

impl Base {
    /// Lets `work` give terms ids. `given` is what there is afterwards.
    pub(super) fn with_dictionary<T>(
        &self,
        given: &mut TermCounts,
        work: impl FnOnce(&Arc<LiveDictionary>) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        match self {
            Base::Open(database) => with_dictionary(database, given, work),
            Base::Replaying(live) => {
                let done = work(live);
                *given = given.or_more(live.counts());
                done
            }
        }
    }

    /// Whether somebody keeps what is said.
    pub(super) fn keeps_log(&self) -> bool {
        match self {
            Base::Open(database) => database.keeps_log(),
            Base::Replaying(_) => false,
        }
    }

    /// The database; an error while a log is replayed.
    pub(super) fn database(&self) -> Result<&Database, QueryError> {
        match self {
            Base::Open(database) => Ok(database),
            Base::Replaying(_) => Err(QueryError::new(
                Kind::Internal,
                "a replay asked for its database",
            )),
        }
    }
}

impl Hub {
    /// How far a version holds each stream, with these seals that are being committed.
    pub(super) fn reached(&self, committed: &[Seal]) -> SnapshotVector {
        let point = |(id, seen): (StreamId, SealPoint)| {
            let name = &self.settings.get(&id)?.name;
            let taken = committed.iter().filter(|seal| seal.stream == id);
            let until = taken.map(|seal| seal.until).fold(seen, SealPoint::max);
            let grain_ms = self.streams.definition(id).ok()?.grain_ms;
            Some(StreamPoint {
                stream: name.as_str().into(),
                batches: until.batches,
                covered_ms: until.covered(grain_ms).0,
            })
        };
        let points = self.streams.vector().into_iter().filter_map(point);
        let mut points: Vec<StreamPoint> = points.collect();
        points.sort_unstable_by(|one, other| one.stream.cmp(&other.stream));
        points.into()
    }

    /// The newest version holds the streams as far as they are seen, and these seals.
    pub(super) fn reach(&self, committed: &[Seal]) {
        if let Base::Open(database) = &self.base {
            reach(database, &self.reached(committed));
        }
    }
}
