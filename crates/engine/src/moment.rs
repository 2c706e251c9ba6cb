//! A graph at one moment: its adjacency, its terms, and what the planner knows of it.
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

pub mod files;
pub(crate) mod planner_statistics;
pub(crate) mod planning;
mod prefixes;
pub(crate) mod scan;
pub(crate) mod scrub;
pub(crate) mod statistics;

use crate::error::QueryError;
use crate::open_error::OpenError;
use planner_statistics::plan_statistics;
use prefixes::Noted;
use query::planner::Planner;
use rdf::dictionary::{Dictionary, DictionaryView, LiveDictionary};
use rdf::{Lexicon, LexiconError, VertexId};
use std::sync::Arc;
use store::delta::Version;
use store::directory::Opened;
use store::load::{BLANK_NODES_COUNT, open_dictionary};
use store::view::ViewError;
use store::{Prefixes, Snapshot};

/// A graph at one moment, with its dictionary and what the planner knows of it.
pub struct Graph {
    /// Adjacency.
    pub snapshot: Version,
    /// Terms.
    pub dictionary: DictionaryView,
    /// Statistics, indexed; perhaps those of a version before, which costs time and no answer.
    pub planner: Arc<Planner>,
    /// Distinct quads.
    pub quads: u64,
    /// By which ids were given: graphs of one database in which this is the same name terms by the same ids.
    pub(crate) ids: u64,
    pub(crate) planned: StatisticsVersion,
    /// Bytes of the files under it; 0 in memory.
    pub stored_bytes: u64,
    /// Prefixes of documents that were written to this database.
    pub(crate) noted: Noted,
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
        let type_vertex = snapshot.type_vertex();
        let version = Version::new(Arc::new(snapshot), number, type_vertex);
        let statistics = plan_statistics(&version)?;
        let quads = statistics.quads;
        let live = Arc::new(LiveDictionary::new(Arc::new(dictionary)));
        let counts = live.counts();
        Ok(Graph {
            snapshot: version,
            dictionary: live.view(counts),
            planner: Arc::new(Planner::new(statistics)),
            quads,
            ids: 0,
            planned: StatisticsVersion { number, quads },
            stored_bytes,
            noted: Noted::default(),
        })
    }

    /// Damage of files that came after their blocks had been verified: then what was read of this graph
    /// may have been zeros. One load where no file of this process has been damaged so; otherwise it asks
    /// every file.
    pub fn damage(&self) -> Option<ViewError> {
        if memory::fault_count() == 0 {
            return None;
        }
        let of_dictionary = || {
            let files = self.dictionary.base().files();
            let damage = files.into_iter().find_map(|file| file.damage())?;
            Some(ViewError::Inconsistent {
                file: damage.file.to_string(),
                what: damage.damage.to_string(),
            })
        };
        self.snapshot.damage().or_else(of_dictionary)
    }

    /// An error where there is such damage: for whoever has read all that it needs, before it says
    /// that its answer is whole.
    pub fn sound(&self) -> Result<(), QueryError> {
        match self.damage() {
            None => Ok(()),
            Some(damage) => Err(QueryError::from(damage).with_hint(
                "restore the file or a backup and open the store again; `somersault check` names \
                 all that is wrong",
            )),
        }
    }

    /// Looks whether a file has become shorter than it was; then [`Graph::damage`] tells. One system call
    /// a file. Maintenance does it now and then, and [`Database::health`](crate::Database::health) where there is none.
    pub fn look(&self) {
        self.snapshot.look();
        for file in self.dictionary.base().files() {
            file.region().is_shortened();
        }
    }

    /// Verifies every block of every file.
    pub fn verify(&self) -> Result<(), ViewError> {
        self.snapshot.verify_all()?;
        for file in self.dictionary.base().files() {
            file.verify_all().map_err(|damaged| ViewError::Damaged {
                file: damaged.file.to_string(),
                block: damaged.block,
            })?;
        }
        Ok(())
    }

    /// The same with another view of the graph.
    pub(crate) fn with_snapshot(&self, snapshot: Version) -> Graph {
        Graph {
            snapshot,
            dictionary: self.dictionary.clone(),
            planner: Arc::clone(&self.planner),
            quads: self.quads,
            ids: self.ids,
            planned: self.planned,
            stored_bytes: self.stored_bytes,
            noted: self.noted.clone(),
        }
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

/// The graph and dictionary of an opened directory.
pub(crate) fn open_parts(opened: &Opened) -> Result<(Snapshot, Dictionary), OpenError> {
    let blank_nodes = opened
        .manifest()
        .counts
        .get(BLANK_NODES_COUNT)
        .copied()
        .unwrap_or(0);
    let dictionary = open_dictionary(opened, blank_nodes)?;
    Ok((Snapshot::open(opened)?, dictionary))
}

/// `rdf:type`, as soon as a dictionary has it.
pub(crate) fn type_vertex(dictionary: &DictionaryView) -> Result<Option<VertexId>, LexiconError> {
    let mut ids = Vec::new();
    dictionary.ids(&[oxrdf::vocab::rdf::TYPE.into()], &mut ids)?;
    assert_eq!(ids.len(), 1, "a lexicon answers for each term");
    Ok(ids[0])
}
