//! What a draft notes while its request is evaluated before its turn.
//!
//! A request decides nothing but which quads are to be deleted and inserted in the end. So that is noted, while it
//! is little; how it is put over another version is said in [`prepared`](super::prepared).
//!
//! Invariant: `idle` and the draft's layer together name every quad that the request names. A quad that
//! the request first changes and then changes back is in no layer in the end; it is noted when it is
//! changed back ([`Effect::changed_in`]).

use super::charge::Charge;
use crate::error::QueryError;
use std::sync::Arc;
use store::delta::{Change, Effect, IdQuad, Layer, Version};

/// Notes of a draft that is made before the turn.
pub(crate) struct Ahead {
    /// Quads that may be left to the turn.
    turn_quads: usize,
    /// All quads that were named, in order, and whether each is inserted; while they are few.
    pub(super) named: Vec<(IdQuad, bool)>,
    pub(super) is_large: bool,
    /// Quads that were named and that no layer changes.
    pub(super) idle: Vec<IdQuad>,
}

impl Ahead {
    pub(super) fn new(turn_quads: usize) -> Ahead {
        Ahead {
            turn_quads,
            named: Vec::new(),
            is_large: false,
            idle: Vec::new(),
        }
    }

    /// The effect of a change on a draft's version, whose own layers are `own`.
    pub(super) fn effect(
        &mut self,
        change: &Change,
        version: &Version,
        own: &[Arc<Layer>],
        held: &mut Charge,
    ) -> Result<Effect, QueryError> {
        let quads = change.deletes.len() + change.inserts.len();
        self.is_large |= self.named.len() + quads > self.turn_quads;
        if self.is_large {
            self.named = Vec::new();
        } else {
            held.grow((quads * size_of::<(IdQuad, bool)>()) as u64)?;
            let deletes = change.deletes.iter().map(|&quad| (quad, false));
            let inserts = change.inserts.iter().map(|&quad| (quad, true));
            self.named.extend(deletes.chain(inserts));
        }
        assert!(
            self.named.len() <= self.turn_quads,
            "what is left to the turn is no more than it may carry out"
        );
        let before = self.idle.len();
        let effect = change.effect_and_idle(version, &mut self.idle)?;
        self.idle.extend(effect.changed_in(own)?);
        held.grow(((self.idle.len() - before) * size_of::<IdQuad>()) as u64)?;
        Ok(effect)
    }
}
