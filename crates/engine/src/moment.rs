//! A graph at one moment: its adjacency and its terms ([`GraphVersion`]), and what the planner knows of it.
//!
//! Queries read one, changes make the next one, checkpoints and backups write one. So it stands below all of them and
//! knows neither who published it nor who reads it. A graph never changes: a new version is a new graph, which shares
//! with the old one whatever is the same. Making one costs some reference counts, but for [`Graph::new`], which reads
//! the statistics of all predicates and characteristic sets.
//!
//! | module | about |
//! |---|---|
//! | `files` | a graph as the files of a generation |
//! | `planner_statistics`, `planning` | what the planner is told, and when it is told anew |
//! | `prefixes` | prefixes that documents declared |
//! | `scan` | every quad of a part of a graph |
//! | `scrub` | every block verified, in the background |
//! | `statistics` | what the planner knows, as a document |
//! | `vector` | how far it holds each stream |

pub mod files;
pub(crate) mod planner_statistics;
pub(crate) mod planning;
mod prefixes;
pub(crate) mod scan;
pub(crate) mod scrub;
pub(crate) mod statistics;
pub(crate) mod vector;

use crate::error::QueryError;
use crate::open_error::OpenError;
use crate::parts::PartNodes;
use planner_statistics::plan_statistics;
use prefixes::Noted;
use query::planner::Planner;
use rdf::dictionary::{Dictionary, DictionaryBuilder};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use store::delta::{GraphVersion, Version};
use store::testing::snapshot_of;
use store::{Prefixes, Snapshot};
use vector::SnapshotVector;

/// A graph at one moment: the version that its records led to, and what the planner knows of it. All that can be asked
/// of the version can be asked of the graph.
pub struct Graph {
    pub(crate) version: GraphVersion,
    /// Statistics, indexed; perhaps those of a version before, which costs time and no answer.
    pub planner: Arc<Planner>,
    /// By which ids were given: graphs of one database in which this is the same name terms by the same ids.
    pub(crate) ids: u64,
    pub(crate) planned: StatisticsVersion,
    /// Bytes of the files under it; 0 in memory.
    pub stored_bytes: u64,
    /// Prefixes of documents that were written to this database.
    pub(crate) noted: Noted,
    /// How far it holds each stream, as far as the streams are read here.
    pub(crate) vector: SnapshotVector,
    /// The nodes that have it, where it is in parts: then the version is empty.
    pub(crate) parts: Option<Arc<PartNodes>>,
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("number", &self.snapshot.number())
            .field("quads", &self.quads)
            .finish_non_exhaustive()
    }
}

impl Deref for Graph {
    type Target = GraphVersion;

    fn deref(&self) -> &GraphVersion {
        &self.version
    }
}

/// Which version the statistics are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatisticsVersion {
    /// The last commit in it.
    pub(crate) number: u64,
    /// Its distinct quads.
    pub(crate) quads: u64,
}

impl StatisticsVersion {
    pub(crate) fn of(graph: &Graph) -> StatisticsVersion {
        StatisticsVersion {
            number: graph.snapshot.number(),
            quads: graph.quads,
        }
    }
}

impl Graph {
    /// A graph as files or memory hold it, at commit `number`.
    pub(crate) fn new(
        snapshot: Snapshot,
        dictionary: Dictionary,
        number: u64,
        stored_bytes: u64,
    ) -> Result<Graph, OpenError> {
        let version = GraphVersion::new(snapshot, dictionary, number)?;
        let statistics = plan_statistics(&version.snapshot)?;
        let quads = version.quads;
        assert_eq!(statistics.quads, quads, "both are sums over the segments");
        Ok(Graph {
            version,
            planner: Arc::new(Planner::new(statistics)),
            ids: 0,
            planned: StatisticsVersion { number, quads },
            stored_bytes,
            noted: Noted::default(),
            vector: SnapshotVector::default(),
            parts: None,
        })
    }

    /// A graph in parts.
    pub(crate) fn in_parts(parts: PartNodes) -> Result<Graph, OpenError> {
        let statistics = parts.statistics()?;
        let dictionary = DictionaryBuilder::new().finish();
        let dictionary = dictionary.map_err(|error| OpenError::Cluster(error.to_string()))?;
        let mut graph = Graph::new(snapshot_of(&[], None), dictionary, 0, 0)?;
        graph.version.quads = statistics.quads;
        graph.planned.quads = statistics.quads;
        graph.planner = Arc::new(Planner::new((*statistics).clone()));
        graph.parts = Some(Arc::new(parts));
        Ok(graph)
    }

    /// An error where files were damaged after their blocks had been verified ([`GraphVersion::damage`]): for whoever has read all that it needs, before it says
    /// that its answer is whole.
    pub fn sound(&self) -> Result<(), QueryError> {
        let of_parts = self.parts.as_ref().and_then(|parts| parts.damage());
        match self.damage().or(of_parts) {
            None => Ok(()),
            Some(damage) => Err(QueryError::from(damage).with_hint(
                "restore the file or a backup and open the store again; `somersault check` names \
                 all that is wrong",
            )),
        }
    }

    /// The same with another version of the graph; statistics are those from before.
    pub(crate) fn with_version(&self, version: GraphVersion) -> Graph {
        Graph {
            version,
            planner: Arc::clone(&self.planner),
            ids: self.ids,
            planned: self.planned,
            stored_bytes: self.stored_bytes,
            noted: self.noted.clone(),
            vector: Arc::clone(&self.vector),
            parts: self.parts.clone(),
        }
    }

    /// The same with another vector.
    pub(crate) fn with_vector(&self, vector: SnapshotVector) -> Graph {
        Graph {
            vector,
            ..self.with_version(self.version.clone())
        }
    }

    /// The same with another view of the edges.
    pub(crate) fn with_snapshot(&self, snapshot: Version) -> Graph {
        self.with_version(GraphVersion {
            snapshot,
            dictionary: self.dictionary.clone(),
            quads: self.quads,
        })
    }

    /// All that are known.
    pub(crate) fn prefixes(&self) -> Prefixes {
        let mut prefixes = self.snapshot.base().prefixes().clone();
        prefixes.fill(&self.noted.lock());
        prefixes
    }

    /// What a prefix stands for, where that is known.
    pub(crate) fn prefix_iri(&self, name: &str) -> Option<String> {
        let kept = self.snapshot.base().prefixes().iri(name);
        let kept = kept.map(str::to_owned);
        kept.or_else(|| self.noted.lock().iri(name).map(str::to_owned))
    }
}
