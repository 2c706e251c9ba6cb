//! Take triple terms apart (RDF 1.2): their subjects, predicates and objects become columns.
//!
//! The one step that reads text to find an answer: the parts of a triple term are in the dictionary's
//! text, not in its id. Per chunk one call for the text and one for the ids; a run of equal triple
//! terms is taken apart once.

use super::{Context, Flow, StepOutcome};
use crate::ask;
use crate::error::WalkError;
use crate::expression::look_up;
use oxrdf::{TermRef, Triple};
use query::plan::Slot;
use rdf::{Lexicon, Tag, TermBuffer, VertexId};

/// The column of triple terms, and those of their parts (`None`: nobody needs it).
pub(crate) struct UnpackPolicy {
    pub(crate) term: Slot,
    pub(crate) parts: [Option<Slot>; 3],
}

/// The state of one walk.
pub(crate) struct Unpacking<'p> {
    policy: &'p UnpackPolicy,
    stored: Vec<VertexId>,
    buffer: TermBuffer,
    /// Rows with a triple term, and for each its triple.
    positions: Vec<u32>,
    triples: Vec<u32>,
    /// The parts of each triple.
    ids: Vec<[VertexId; 3]>,
}

impl<'p> Unpacking<'p> {
    pub(crate) fn new(policy: &'p UnpackPolicy) -> Self {
        Unpacking {
            policy,
            stored: Vec::new(),
            buffer: TermBuffer::new(),
            positions: Vec::new(),
            triples: Vec::new(),
            ids: Vec::new(),
        }
    }

    pub(crate) fn run<V, L: Lexicon>(
        &mut self,
        context: Context<'_, '_, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        self.read(context, flow.input.live(self.policy.term))?;
        for (part, slot) in self.policy.parts.iter().enumerate() {
            if let Some(slot) = slot {
                let cells = self.triples.iter().map(|&at| self.ids[at as usize][part]);
                flow.output.cells_mut(*slot).extend(cells);
            }
        }
        flow.keep(&self.positions)?;
        Ok(StepOutcome::Drained)
    }

    /// Finds the rows that hold triple terms, and the parts of these.
    fn read<V, L: Lexicon>(
        &mut self,
        context: Context<'_, '_, V, L>,
        column: &[VertexId],
    ) -> Result<(), WalkError> {
        let locals = &context.scene.locals;
        self.stored.clear();
        self.buffer.clear();
        self.positions.clear();
        self.triples.clear();
        self.ids.clear();
        let local_triple = |id: VertexId| match locals.get(id) {
            Some(TermRef::Triple(triple)) => Some(triple),
            _ => None,
        };
        let is_known =
            |id: VertexId| id.has_tag(Tag::TripleTerm) || id.has_tag(Tag::TransientTriple);
        let is_triple = |id: VertexId| is_known(id) || local_triple(id).is_some();
        let mut distinct = Vec::new();
        for (row, &id) in (0_u32..).zip(column) {
            if !is_triple(id) {
                continue;
            }
            if distinct.last() != Some(&id) {
                distinct.push(id);
            }
            self.positions.push(row);
            self.triples.push(distinct.len() as u32 - 1);
        }
        let stored = |id: &&VertexId| is_known(**id);
        self.stored.extend(distinct.iter().filter(stored));
        ask::ready(context.lexicon.fetch(&self.stored, &[])?)?;
        context.lexicon.terms(&self.stored, &mut self.buffer)?;
        assert_eq!(
            self.buffer.len(),
            self.stored.len(),
            "a stored term is read once"
        );
        let mut stored = self.buffer.iter();
        let mut triples: Vec<&Triple> = Vec::with_capacity(distinct.len());
        for &id in &distinct {
            let triple = match local_triple(id) {
                Some(triple) => Some(triple),
                None => match stored.next().flatten() {
                    Some(TermRef::Triple(triple)) => Some(triple),
                    _ => None,
                },
            };
            triples.push(triple.ok_or(rdf::LexiconError::UnknownId(id))?);
        }
        let parts: Vec<TermRef<'_>> = triples.iter().copied().flat_map(parts).collect();
        let found = look_up(&parts, &context.scene.terms(context.lexicon))?;
        let (of_triples, rest) = found.as_chunks::<3>();
        assert!(rest.is_empty(), "a triple term has three parts");
        self.ids.extend_from_slice(of_triples);
        assert_eq!(
            self.ids.len(),
            distinct.len(),
            "a triple term has its parts"
        );
        Ok(())
    }
}

fn parts(triple: &Triple) -> [TermRef<'_>; 3] {
    [
        triple.subject.as_ref().into(),
        triple.predicate.as_ref().into(),
        triple.object.as_ref(),
    ]
}
