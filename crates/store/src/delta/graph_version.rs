//! A version with the terms of its moment: all that one commit left, as a value.
//!
//! Edges are ids, so a [`Version`] alone says nothing outside of the process that gave the ids. With the view of the
//! dictionary at the same commit it is the whole state of a store: what records are applied to
//! ([`apply`](super::apply)), and what a generation is written from.
//!
//! Invariant: every id of the version's edges has its term in the view. Terms are added to the dictionary before
//! the version that uses them is made, and the view is taken in between.
//!
//! Cost: a copy is some reference counts, one for each layer.

use super::layer::Layer;
use super::version::Version;
use crate::directory::SNAPSHOT_COUNT;
use crate::error::ViewError;
use crate::load::BLANK_NODES_COUNT;
use crate::snapshot::Snapshot;
use rdf::dictionary::{Dictionary, DictionaryView, LiveDictionary, TermCounts};
use rdf::{Lexicon, LexiconError, VertexId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A version of the graph, with the dictionary as far as the version sees it.
#[derive(Clone)]
pub struct GraphVersion {
    /// Adjacency.
    pub snapshot: Version,
    /// Terms.
    pub dictionary: DictionaryView,
    /// Distinct quads (count).
    pub quads: u64,
}

impl GraphVersion {
    /// A graph as files or memory hold it, at commit `number`. O(predicates); an error where a segment's head is
    /// damaged.
    pub fn new(
        snapshot: Snapshot,
        dictionary: Dictionary,
        number: u64,
    ) -> Result<GraphVersion, ViewError> {
        let type_vertex = snapshot.type_vertex();
        let snapshot = Version::new(Arc::new(snapshot), number, type_vertex);
        let live = Arc::new(LiveDictionary::new(Arc::new(dictionary)));
        let counts = live.counts();
        Ok(GraphVersion {
            quads: snapshot.quads()?,
            snapshot,
            dictionary: live.view(counts),
        })
    }

    /// The version after commit `number`, or after a part of it: `build` makes its layer of the edges before it, with
    /// the vertex of `rdf:type` where the dictionary has it. The view is of all terms that there are by now.
    pub fn with_layer<E: From<LexiconError>>(
        &self,
        number: u64,
        build: impl FnOnce(&Version, Option<VertexId>) -> Result<Layer, E>,
    ) -> Result<GraphVersion, E> {
        let live = self.dictionary.live();
        let dictionary = live.view(live.counts());
        let rdf_type = type_vertex(&dictionary)?;
        let before = self.snapshot.typed(rdf_type);
        let layer = build(&before, rdf_type)?;
        Ok(GraphVersion {
            quads: (self.quads + layer.added()).saturating_sub(layer.deleted()),
            snapshot: before.with_layer(Arc::new(layer), number),
            dictionary,
        })
    }

    /// The version after commit `number`, which changed no quad. Terms may have come with it.
    #[must_use]
    pub fn at(&self, number: u64) -> GraphVersion {
        let live = self.dictionary.live();
        GraphVersion {
            snapshot: self.snapshot.at(number),
            dictionary: live.view(live.counts()),
            quads: self.quads,
        }
    }

    /// The same content over a new base, into which all layers but `later` went, and the dictionary whose files were
    /// written with it ([`LiveDictionary::rebased`]); the one that it has where there are no files.
    #[must_use]
    pub fn rebased(
        &self,
        base: Arc<Snapshot>,
        later: Vec<Arc<Layer>>,
        live: &Arc<LiveDictionary>,
    ) -> GraphVersion {
        GraphVersion {
            snapshot: self.snapshot.rebased(base, later),
            dictionary: live.view(self.dictionary.counts()),
            quads: self.quads,
        }
    }

    /// What the manifest says of a generation that is written from it: name -> count.
    pub fn manifest_counts(&self) -> BTreeMap<String, u64> {
        let TermCounts {
            iris,
            blank_nodes,
            literals,
            triple_terms,
        } = self.dictionary.counts();
        BTreeMap::from([
            ("quads".to_owned(), self.quads),
            (
                "terms".to_owned(),
                iris + blank_nodes + literals + triple_terms,
            ),
            (BLANK_NODES_COUNT.to_owned(), blank_nodes),
            (SNAPSHOT_COUNT.to_owned(), self.snapshot.number()),
        ])
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

    /// Looks whether a file has become shorter than it was; then [`GraphVersion::damage`] tells. One system call
    /// a file.
    pub fn look(&self) {
        self.snapshot.look();
        for file in self.dictionary.base().files() {
            file.region().is_shortened();
        }
    }

    /// Verifies every block of every file. O(bytes).
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
}

/// `rdf:type`, as soon as a dictionary has it.
fn type_vertex(dictionary: &DictionaryView) -> Result<Option<VertexId>, LexiconError> {
    let mut ids = Vec::new();
    dictionary.ids(&[oxrdf::vocab::rdf::TYPE.into()], &mut ids)?;
    assert_eq!(ids.len(), 1, "a lexicon answers for each term");
    Ok(ids[0])
}
