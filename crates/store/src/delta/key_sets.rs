//! Which vertices are keys, over base and layers: sets that are found once and handed on.
//!
//! A set is a *ground*, the index of the base (or of a layer that is far larger than the base), and
//! [patches](crate::vertex_set::patch) over it. Whether a vertex is a key is defined for each
//! vertex alone (see [`layer`](super::layer)), so the set of a version follows from that of an
//! earlier one by asking again about the vertices that the commits between them touched. A layer
//! merged from commits on both sides of the earlier version does not tell: what one took away and
//! the next brought back is not in it. So the layers of the latest commits are kept for a while as
//! they were published.
//!
//! Sets are found when they are asked for. Where they are kept, and which versions share them:
//! [`kept_keys`](super::kept_keys).

use super::kept_keys::{Found, Ground};
use super::layer::{KeySet, Layer};
use super::version::Version;
use crate::segment::index::Index;
use crate::source::Fault;
use crate::vertex_set::VertexSet;
use crate::vertex_set::patch::{self, Patch};
use crate::view::SegmentKey;
use rdf::{PredicateId, VertexId};
use std::sync::Arc;

/// A layer is the ground from this many keys on, if it has more than twice the base's.
const GROUND_KEYS_MIN: u64 = 4096;
impl Layer {
    /// The index of this name's keys among what was added.
    pub(super) fn added_keys(&self, name: KeySet) -> Result<Option<Index<'_>>, Fault> {
        let Some(adds) = self.adds() else {
            return Ok(None);
        };
        let Some(predicate) = adds.number_of(name.0) else {
            return Ok(None);
        };
        let segment = adds.segment(SegmentKey {
            predicate,
            direction: name.1,
        })?;
        segment.map(|segment| segment.index()).transpose()
    }

    /// Appends the vertices of this name whose being a key it may have changed; those that it
    /// added an edge of where `with_added`.
    fn touch(
        &self,
        name: KeySet,
        with_added: bool,
        touched: &mut Vec<VertexId>,
    ) -> Result<(), Fault> {
        if with_added && let Some(index) = self.added_keys(name)? {
            index.decode(0, index.keys(), touched)?;
        }
        touched.extend(self.keys.gone.get(&name).into_iter().flatten());
        Ok(())
    }

    /// Whether this key is gone after the layer and was there before it.
    fn says_gone(&self, name: KeySet, key: VertexId) -> bool {
        let gone = self.keys.gone.get(&name);
        gone.is_some_and(|keys| keys.binary_search(&key).is_ok())
    }
}

impl Version {
    /// The keys over base and layers; `segment` is numbered as this version numbers predicates.
    pub(super) fn set_of_keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, Fault> {
        let Some(vertex) = self.name_of(segment.predicate) else {
            return Ok(VertexSet::empty());
        };
        let name = (vertex, segment.direction);
        let base = self.base_keys(segment)?;
        let mut added = Vec::new();
        let mut has_gone = false;
        for layer in &self.layers {
            has_gone |= layer.keys.gone.contains_key(&name);
            added.extend(layer.added_keys(name)?);
        }
        if !has_gone {
            match (base, &added[..]) {
                (None, []) => return Ok(VertexSet::empty()),
                (Some(index), []) => return Ok(VertexSet::of_index(index)),
                (None, [index]) => return Ok(VertexSet::of_index(*index)),
                _ => {}
            }
        }
        let found = self.found_keys(name, base)?;
        let ground = self.open_ground(name, base, &found.ground)?;
        let ground = ground.expect("the set was found over this ground");
        Ok(ground.patched(found.patches.clone()))
    }

    fn base_keys(&self, segment: SegmentKey) -> Result<Option<Index<'_>>, Fault> {
        let segment = self.base.segment(segment)?;
        segment.map(|segment| segment.index()).transpose()
    }

    /// `None` where the layer has been merged into another.
    fn open_ground<'v>(
        &'v self,
        name: KeySet,
        base: Option<Index<'v>>,
        ground: &Ground,
    ) -> Result<Option<VertexSet<'v>>, Fault> {
        let index = match ground {
            Ground::Base => base,
            Ground::Layer(weak) => {
                let mut layers = self.layers.iter();
                let Some(layer) = layers.find(|layer| Arc::as_ptr(layer) == weak.as_ptr()) else {
                    return Ok(None);
                };
                layer.added_keys(name)?
            }
        };
        let empty = VertexSet::empty();
        Ok(Some(index.map_or(empty, VertexSet::of_index)))
    }

    /// This version's set: as it was found, or from an earlier one, or from the ground.
    fn found_keys(&self, name: KeySet, base: Option<Index<'_>>) -> Result<Arc<Found>, Fault> {
        if let Some(earlier) = self.keys.newest(name) {
            if earlier.position == self.keys.position
                && self.open_ground(name, base, &earlier.ground)?.is_some()
            {
                return Ok(earlier);
            }
            if let Some(found) = self.later_keys(name, base, &earlier)? {
                self.keys.keep(name, &found);
                return Ok(found);
            }
        }
        let (ground, keys) = self.choose_ground(name, base)?;
        let from = Found {
            number: 0,
            position: 0,
            ground,
            patches: Vec::new(),
        };
        let mut touched = Vec::new();
        if let (Some(index), Ground::Layer(_)) = (base, &from.ground) {
            index.decode(0, index.keys(), &mut touched)?;
        }
        for layer in &self.layers {
            let is_ground = matches!(&from.ground,
                Ground::Layer(weak) if weak.as_ptr() == Arc::as_ptr(layer));
            layer.touch(name, !is_ground, &mut touched)?;
        }
        let found = self.patch_keys(name, base, &from, &keys, touched)?;
        self.keys.keep(name, &found);
        Ok(found)
    }

    /// The vertices of this name that commits after an earlier version touched, perhaps more;
    /// `None` where that is not known.
    fn touched_since(&self, earlier: &Found, name: KeySet) -> Result<Option<Vec<VertexId>>, Fault> {
        let number = earlier.number;
        let mut touched = Vec::new();
        if let Some(layers) = self.keys.since(earlier.position) {
            for layer in &layers {
                layer.touch(name, true, &mut touched)?;
            }
            return Ok(Some(touched));
        }
        for layer in &self.layers {
            if *layer.commits().start() > number {
                layer.touch(name, true, &mut touched)?;
            } else if *layer.commits().end() > number {
                return Ok(None);
            }
        }
        Ok(Some(touched))
    }

    /// The set from an earlier one; `None` where its ground is no more, or is no longer worth it.
    fn later_keys(
        &self,
        name: KeySet,
        base: Option<Index<'_>>,
        earlier: &Found,
    ) -> Result<Option<Arc<Found>>, Fault> {
        let Some(ground) = self.open_ground(name, base, &earlier.ground)? else {
            return Ok(None);
        };
        let changes: usize = earlier.patches.iter().map(|patch| patch.changes()).sum();
        let changes = changes as u64;
        if changes > 2 * GROUND_KEYS_MIN && changes > 2 * ground.len() {
            let (chosen, _) = self.choose_ground(name, base)?;
            if matches!(chosen, Ground::Layer(_)) {
                return Ok(None);
            }
        }
        let Some(touched) = self.touched_since(earlier, name)? else {
            return Ok(None);
        };
        self.patch_keys(name, base, earlier, &ground, touched)
            .map(Some)
    }

    fn choose_ground<'v>(
        &'v self,
        name: KeySet,
        base: Option<Index<'v>>,
    ) -> Result<(Ground, VertexSet<'v>), Fault> {
        let mut chosen = (Ground::Base, base);
        let mut most = base
            .map_or(0, |index| 2 * index.keys())
            .max(GROUND_KEYS_MIN);
        for layer in &self.layers {
            if let Some(index) = layer.added_keys(name)?
                && index.keys() > most
            {
                most = index.keys();
                chosen = (Ground::Layer(Arc::downgrade(layer)), Some(index));
            }
        }
        let empty = VertexSet::empty();
        Ok((chosen.0, chosen.1.map_or(empty, VertexSet::of_index)))
    }

    /// The set that follows from an earlier one by asking about `touched`.
    fn patch_keys(
        &self,
        name: KeySet,
        base: Option<Index<'_>>,
        earlier: &Found,
        ground: &VertexSet<'_>,
        mut touched: Vec<VertexId>,
    ) -> Result<Arc<Found>, Fault> {
        touched.sort_unstable();
        touched.dedup();
        let mut patches = earlier.patches.clone();
        let older = ground.clone().patched(patches.clone());
        let was = marks(touched.len(), |positions| {
            Ok(older.select(&touched, positions)?)
        })?;
        let is = self.are_keys(name, base, &touched)?;
        let (mut adds, mut minus) = (Vec::new(), Vec::new());
        for ((&vertex, was), is) in touched.iter().zip(was).zip(is) {
            match (was, is) {
                (false, true) => adds.push(vertex),
                (true, false) => minus.push(vertex),
                _ => {}
            }
        }
        patch::push(ground, &mut patches, Patch::over(&older, adds, minus)?)?;
        Ok(Arc::new(Found {
            number: self.number(),
            position: self.keys.position,
            ground: earlier.ground.clone(),
            patches,
        }))
    }

    /// Of each of these vertices, whether it is a key: the newest layer that names it decides.
    fn are_keys(
        &self,
        name: KeySet,
        base: Option<Index<'_>>,
        vertices: &[VertexId],
    ) -> Result<Vec<bool>, Fault> {
        let mut are = vec![false; vertices.len()];
        let mut positions = Vec::new();
        if let Some(index) = base {
            index.select(vertices, &mut positions)?;
        }
        for layer in &self.layers {
            if let Some(gone) = layer.keys.gone.get(&name) {
                let is_there = |vertex: &VertexId| gone.binary_search(vertex).is_err();
                positions.retain(|&position| is_there(&vertices[position as usize]));
            }
            if let Some(index) = layer.added_keys(name)? {
                index.select(vertices, &mut positions)?;
            }
        }
        for position in positions {
            are[position as usize] = true;
        }
        Ok(are)
    }

    /// Whether a layer from this place on, oldest first, says that a key went which the base has, or an older layer.
    pub(super) fn is_gone_since(&self, place: usize, name: KeySet, key: VertexId) -> bool {
        let mut layers = self.layers[place..].iter();
        layers.any(|layer| layer.says_gone(name, key))
    }

    /// The vertex that names key sets of this predicate.
    fn name_of(&self, predicate: PredicateId) -> Option<VertexId> {
        match predicate {
            PredicateId::SIGNATURE => Some(VertexId::UNBOUND),
            predicate => self.vertex_of(predicate),
        }
    }
}

/// Of each of `count` positions, whether it was selected.
fn marks(
    count: usize,
    select: impl FnOnce(&mut Vec<u32>) -> Result<(), Fault>,
) -> Result<Vec<bool>, Fault> {
    let mut positions = Vec::new();
    select(&mut positions)?;
    let mut marks = vec![false; count];
    for position in positions {
        marks[position as usize] = true;
    }
    Ok(marks)
}
