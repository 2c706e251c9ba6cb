//! A layer that was built for one version, put over a later one.
//!
//! A writer may build a large layer while other commits go on. Its edges are right over the later
//! version as long as none of those commits changed a quad that the layer changes, too. What depends
//! on the version besides is which keys go ([`KeyChanges`]). That is found again for the
//! keys of the quads that changed in between, and for no others: whether another key goes
//! depends on rows that are the same in both versions.
//!
//! Cost: a few lookups for each quad that changed in between and each predicate of the layer. It does
//! not grow with the layer's quads.

use super::build::{Changes, sum_by_key};
use super::change::changes_any;
use super::error::DeltaError;
use super::layer::{KeyChanges, KeySet, Layer, LayerGraph};
use super::rows::IdQuad;
use super::sources::{own_sources, row_counts, sources};
use super::version::Version;
use crate::error::ViewError;
use crate::view::{GraphScope, GraphView};
use rdf::{Direction, VertexId};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

impl Layer {
    /// Whether it adds or deletes one of these quads.
    pub fn changes_any(&self, quads: &[IdQuad]) -> Result<bool, ViewError> {
        changes_any(self, quads)
    }

    /// The same changes over `version`, as `commits`. `between`: all quads that some
    /// commit changed between the version that the layer was built for and `version`, those that came
    /// and went again included; the layer changes none of them ([`Layer::changes_any`]). The commits come
    /// after those of `version` (asserted).
    pub fn adopted(
        mut self,
        version: &Version,
        between: &[IdQuad],
        commits: RangeInclusive<u64>,
    ) -> Result<Layer, DeltaError> {
        assert!(
            version.number() < *commits.start(),
            "a layer goes over earlier commits"
        );
        if !between.is_empty() {
            assert!(
                self.bytes >= self.keys.bytes(),
                "the bytes of the key changes are counted"
            );
            self.bytes -= self.keys.bytes();
            self.keys = self.keys_over(version, between)?;
            self.bytes += self.keys.bytes();
        }
        self.commits = commits;
        Ok(self)
    }

    fn keys_over(&self, version: &Version, between: &[IdQuad]) -> Result<KeyChanges, DeltaError> {
        let mut changes = Changes {
            version,
            sources: sources(Some(version.base()), version.layers()),
            found: self.keys.clone(),
        };
        for direction in [Direction::Out, Direction::In] {
            let end = |quad: &IdQuad| match direction {
                Direction::Out => quad.0,
                Direction::In => quad.2,
            };
            let keys = distinct(between.iter().map(end));
            self.keys_again(&mut changes, direction, &keys)?;
        }
        let graphs = distinct(between.iter().map(|quad| quad.3));
        remove(&mut changes.found.graphs_gone, &graphs);
        for graph in graphs {
            let place = self.graph_sizes.binary_search_by_key(&graph, |size| size.0);
            let grown = place.map_or(0, |place| self.graph_sizes[place].1);
            let is_named = graph != GraphScope::DEFAULT_GRAPH;
            if is_named && grown < 0 && changes.is_emptied(graph, grown)? {
                add(&mut changes.found.graphs_gone, &[graph]);
            }
        }
        Ok(changes.found)
    }

    /// Finds again which of these keys, ascending, go in a direction.
    fn keys_again(
        &self,
        changes: &mut Changes<'_>,
        direction: Direction,
        keys: &[VertexId],
    ) -> Result<(), DeltaError> {
        let of_direction = |set: &KeySet| set.1 == direction;
        let lists = &mut changes.found.gone;
        for (_, list) in lists.iter_mut().filter(|(set, _)| of_direction(set)) {
            remove(list, keys);
        }
        lists.retain(|_, list| !list.is_empty());
        let (mut more, mut less, mut before) = (Vec::new(), Vec::new(), Vec::new());
        // Keys that the layer has an edge of at all, and those that lost a predicate's last one.
        let (mut added, mut lost) = (Vec::new(), Vec::new());
        for predicate in self.predicate_vertices() {
            let [adds, dels] = own_sources(self);
            row_counts(&adds, predicate, direction, keys, &mut more).map_err(|fault| *fault)?;
            row_counts(&dels, predicate, direction, keys, &mut less).map_err(|fault| *fault)?;
            row_counts(&changes.sources, predicate, direction, keys, &mut before)
                .map_err(|fault| *fault)?;
            let mut gone = Vec::new();
            for (place, &key) in keys.iter().enumerate() {
                // Deleted edges count -1 in `less`.
                let grown = more[place] + less[place];
                if grown < 0 && before[place] + grown == 0 {
                    gone.push(key);
                }
                if more[place] > 0 {
                    added.push(key);
                }
            }
            lost.extend_from_slice(&gone);
            insert_all(&mut changes.found.gone, (predicate, direction), &gone);
        }
        let added = distinct(added.into_iter());
        let mut lost = distinct(lost.into_iter());
        remove(&mut lost, &added);
        changes.retain_lost(direction, &mut lost)?;
        let all = (VertexId::UNBOUND, direction);
        insert_all(&mut changes.found.gone, all, &lost);
        Ok(())
    }

    /// The predicates of its edges, ascending.
    pub fn predicate_vertices(&self) -> Vec<VertexId> {
        let mut found: Vec<(VertexId, i64)> = Vec::new();
        for (LayerGraph { graph, .. }, _) in self.graphs() {
            let numbers = graph.predicates().into_iter();
            found.extend(numbers.map(|number| (graph.predicate_vertex(number), 1)));
        }
        sum_by_key(&mut found);
        found.into_iter().map(|(vertex, _)| vertex).collect()
    }
}

fn distinct(keys: impl Iterator<Item = VertexId>) -> Vec<VertexId> {
    let mut keys: Vec<VertexId> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Takes keys out of a list; both ascend.
fn remove(list: &mut Vec<VertexId>, keys: &[VertexId]) {
    list.retain(|key| keys.binary_search(key).is_err());
}

/// Puts keys that it has not into a list, which ascends again.
fn add(list: &mut Vec<VertexId>, keys: &[VertexId]) {
    list.extend_from_slice(keys);
    list.sort_unstable();
    assert!(list.is_sorted_by(|one, next| one < next), "a key goes once");
}

fn insert_all(lists: &mut BTreeMap<KeySet, Vec<VertexId>>, set: KeySet, keys: &[VertexId]) {
    if !keys.is_empty() {
        add(lists.entry(set).or_default(), keys);
    }
}
