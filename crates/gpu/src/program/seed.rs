//! What a program begins with: elements that it finds itself, and what they are met with.

use super::{Arranged, Compiler, Program, ProgramSeed, ProgramStep, Stop, Whose, layered};
use crate::cache::What;
use crate::condition::{Operand, ProgramCheck};
use crate::error::{GpuError, NotCovered};
use crate::layout;
use crate::meet::Met;
use explore::TagSet;
use query::plan::{Action, Mode, Node, Scope, Slot, Source, Step};
use std::sync::Arc;
use store::{GraphScope, SegmentKey};

/// What a plan begins with.
pub(super) struct PlanSeed {
    pub(super) made_of: ProgramSeed,
    /// Its column, where it is kept.
    pub(super) slot: Option<Slot>,
    /// What it can be met by, where its elements are kept as an index: with its column.
    pub(super) met: Option<(Met, Slot)>,
    /// What takes away what layers took away.
    pub(super) went: Option<ProgramStep>,
    pub(super) arranged: Option<Arranged>,
}

impl Compiler<'_, '_, '_> {
    /// What the program begins with at its first step of these, and the step behind that.
    pub(super) fn begin(
        &mut self,
        start: usize,
        steps: &[Step],
    ) -> Result<(usize, PlanSeed), GpuError> {
        let (at, seed) = match start {
            0 => {
                let at = self.decided(steps)?;
                let seed = steps.get(at).map(|step| {
                    self.comes_to(at, steps);
                    self.seed(at, step)
                });
                (at, seed.unwrap_or(Err(NotCovered::End.into())))
            }
            start => (start, self.loaded(start)),
        };
        match seed {
            // Rows that are loaded are no step's.
            Ok(seed) => Ok((at + usize::from(start == 0), seed)),
            Err(Stop::Why(why)) => Err(GpuError::Nothing { step: at, why }),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// How many checks of two constants the plan begins with, all of which hold: it is their number that comes before the
    /// seed. One that does not hold is no beginning for a device.
    pub(super) fn decided(&mut self, steps: &[Step]) -> Result<usize, GpuError> {
        for (at, step) in steps.iter().enumerate().take(self.prepared.cut()) {
            match self.constants(step) {
                Ok(Some(true)) => {}
                Ok(_) | Err(Stop::Why(_)) => return Ok(at),
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
        Ok(steps.len())
    }

    /// What the plan begins with at this step.
    pub(super) fn seed(&mut self, at: usize, step: &Step) -> Result<PlanSeed, Stop> {
        if self.prepared.cut() <= at {
            return Err(NotCovered::Cut.into());
        }
        match step.action {
            Action::Expand {
                from: Node::Constant(from),
                predicate,
                direction,
                scope,
                source,
                into,
            } => {
                let (key, images) =
                    self.segment((predicate, What::Edges), direction, scope, source)?;
                let found = self.rows_of(key, from)?;
                self.tags.push((into, images.neighbour_tags()));
                let id = self.id(from);
                self.has_list(key, Operand::Constant(id))?;
                if self.is_in_pieces(key) {
                    self.owned(into);
                }
                self.looks_at_changes(&images, Some(id));
                let image = Arc::clone(&images.base);
                let (dense, rows) = found.map_or((None, 0..0), |(ordinal, rows)| {
                    (image.dense(ordinal).copied(), rows)
                });
                self.begins_with(&images, Some(rows.clone()));
                let of = (key, Some((id, &rows)));
                if let Some(seed) = layered::seed(&images, of, (step, into)) {
                    return Ok(seed);
                }
                Ok(PlanSeed {
                    met: dense.map(|index| (Met::new(&image, index), into)),
                    made_of: ProgramSeed::Rows(image, rows),
                    slot: step.kept(into),
                    went: None,
                    arranged: None,
                })
            }
            Action::ExpandKeys {
                predicate,
                direction,
                scope,
                source,
                into,
            } => {
                let (key, images) =
                    self.segment((predicate, What::Keys), direction, scope, source)?;
                self.has_keys(key, (scope, source))?;
                self.owned(into);
                self.looks_at_changes(&images, None);
                self.tags.push((into, images.key_tags()));
                self.begins_with(&images, None);
                if let Some(seed) = layered::seed(&images, (key, None), (step, into)) {
                    return Ok(seed);
                }
                let image = images.base;
                Ok(PlanSeed {
                    met: Some((Met::new(&image, image.segment.index), into)),
                    made_of: ProgramSeed::Keys(image),
                    slot: step.kept(into),
                    went: None,
                    arranged: None,
                })
            }
            Action::Expand { .. } => Err(NotCovered::Shape.into()),
            ref other => Err(NotCovered::Step(other.name()).into()),
        }
    }

    /// An error where not all keys of a segment are here, or where the processors do not number them as they lie: those of the merge of some graphs.
    fn has_keys(
        &self,
        key: SegmentKey,
        (scope, source): (Scope, Source),
    ) -> Result<(), NotCovered> {
        if self.is_in_pieces(key) {
            return Err(NotCovered::Part);
        }
        match self.graphs(source, scope)? {
            GraphScope::Merge(_) => Err(NotCovered::Graphs),
            _ => Ok(()),
        }
    }

    /// Rows that are loaded, as they come to this step.
    pub(super) fn loaded(&mut self, step: usize) -> Result<PlanSeed, Stop> {
        let columns = self.prepared.columns_before(step).to_vec();
        if columns.is_empty() {
            return Err(NotCovered::Shape.into());
        }
        if columns.len() > layout::COLUMNS {
            return Err(NotCovered::Columns.into());
        }
        // Whoever loads them may have terms that no store has.
        let tags = columns.iter().map(|slot| (*slot, TagSet::ALL));
        self.tags.extend(tags);
        Ok(PlanSeed {
            made_of: ProgramSeed::Loaded(columns),
            slot: None,
            met: None,
            went: None,
            arranged: None,
        })
    }

    /// The one check that a step is, if it is a check of what is known by one.
    fn only_check(&mut self, step: &Step) -> Result<Option<ProgramCheck>, Stop> {
        let checks = match step.action {
            Action::Check {
                predicate: Node::Constant(_),
                ..
            } if self.constants(step)?.is_none() => self.check(step)?,
            Action::Nested {
                mode: Mode::Semi, ..
            } => self.exists(step, true)?.pop().unwrap_or_default(),
            _ => return Ok(None),
        };
        Ok(<[ProgramCheck; 1]>::try_from(checks)
            .ok()
            .map(|[check]| check))
    }

    /// Adds a step of the plan, to the seed while there is nothing behind it, or leaves the program as it is.
    pub(super) fn seed_or_step(
        &mut self,
        (at, step): (usize, &Step),
        program: &mut Program,
        met: &mut Option<(Met, Slot)>,
    ) -> Result<(), Stop> {
        let is_first = program.steps.is_empty();
        let known = self.accesses.len();
        if let (true, Some((met, column))) = (is_first, &mut *met)
            && let Some(check) = self.only_check(step)?
            && met.take(*column, &check)
        {
            program.slot = step.kept(*column);
            return Ok(());
        }
        self.accesses.truncate(known);
        self.step((at, step), &mut program.steps)?;
        if let (true, Some((met, column)), [first]) = (is_first, met, &program.steps[..])
            && let Some(expansion) = first.expansion.as_ref().filter(|it| !it.keeps)
            && let [branch] = &expansion.branches[..]
            && branch.whose == Whose::Column(*column)
        {
            met.expect(&branch.image, step.estimate.rows);
        }
        Ok(())
    }
}
