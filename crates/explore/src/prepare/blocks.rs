//! The choice of policies for steps that hold steps or a table, and for what is asked of another endpoint.
//!
//! Blocks are prepared as the plan's own steps are, all at once and on one numbering of slots, so what
//! a block does with constants is decided here too, not per row.

use super::Builder;
use crate::error::WalkError;
use crate::limits::Reservation;
use crate::step::given::GivenPolicy;
use crate::step::join::JoinPolicy;
use crate::step::nested::NestedPolicy;
use crate::step::service::ServicePolicy;
use crate::step::unify::UnifyPolicy;
use crate::step::{PatternOperand, Policy};
use crate::table::Table;
use query::expression::{Expression, Function};
use query::plan::{Action, ConstantId, Mode, Node, Slot, Step, TableId};
use rdf::VertexId;
use store::view::GraphView;

impl<'a, V: GraphView> Builder<'_, 'a, V> {
    /// The policy of a step that begins with these columns and is none of one's own rows.
    pub(super) fn composed(
        &mut self,
        step: &'a Step,
        live: &[Slot],
    ) -> Result<Policy<'a>, WalkError> {
        Ok(match &step.action {
            Action::Nested { .. } => self.nested(step)?,
            Action::Probe {
                table,
                keys,
                exports,
            } => {
                let block = self.block(table, Vec::new(), 0..table.len())?;
                let mut made = exports.clone();
                made.retain(|slot| step.keep.contains(slot));
                let policy = JoinPolicy::with_block(block, keys, made, self.limits);
                Policy::Join(Box::new(policy))
            }
            Action::Values { columns, rows } => self.values(step, columns, rows)?,
            Action::Given {
                table,
                columns,
                keys,
            } => self.given(step, *table, columns, keys),
            Action::Unify { into, from } => self.unify(step, *into, *from, live)?,
            Action::Service {
                endpoint,
                silent,
                text,
                columns,
            } => {
                let endpoint = match endpoint {
                    Node::Slot(slot) => PatternOperand::Slot(*slot),
                    Node::Constant(constant) => {
                        PatternOperand::Constant(self.ids[constant.0 as usize])
                    }
                };
                let (keep, limits) = (&step.keep, self.limits);
                let policy = ServicePolicy::new(endpoint, *silent, text, columns, keep, limits);
                Policy::Service(Box::new(policy))
            }
            _ => self.pattern(step)?,
        })
    }

    fn nested(&mut self, step: &'a Step) -> Result<Policy<'a>, WalkError> {
        let Action::Nested {
            mode,
            branches,
            imports,
            row,
            exports,
            row_by_row,
        } = &step.action
        else {
            unreachable!("the caller looked")
        };
        let by_chance = branches.iter().flatten().any(is_by_chance);
        let mut blocks = Vec::with_capacity(branches.len());
        for branch in branches {
            let mut before = imports.clone();
            before.push(*row);
            blocks.push(self.block(branch, before, 0..branch.len())?);
        }
        let mut made = exports.clone();
        made.retain(|slot| step.keep.contains(slot));
        let mark = match mode {
            Mode::Mark(mark) => step.kept(*mark),
            _ => None,
        };
        Ok(Policy::Nested(Box::new(NestedPolicy {
            mode: *mode,
            branches: blocks,
            imports,
            row: *row,
            made,
            mark,
            row_by_row: *row_by_row,
            by_chance,
        })))
    }

    /// The rows in the text, as a table.
    fn values(
        &mut self,
        step: &Step,
        columns: &[Slot],
        rows: &[Vec<Option<ConstantId>>],
    ) -> Result<Policy<'a>, WalkError> {
        let wanted = |at: &usize| step.keep.contains(&columns[*at]);
        let wanted: Vec<usize> = (0..columns.len()).filter(wanted).collect();
        let mut table = Table::new(wanted.len());
        let mut reservation = Reservation::new(self.limits);
        for row in rows {
            let cell = |&at: &usize| {
                row[at].map_or(VertexId::UNBOUND, |constant| self.ids[constant.0 as usize])
            };
            table.push(wanted.iter().map(cell), &mut reservation)?;
        }
        let made = wanted.iter().map(|&at| columns[at]).collect();
        let policy = JoinPolicy::with_table(table, made, reservation, self.limits);
        Ok(Policy::Join(Box::new(policy)))
    }

    /// A table from outside.
    fn given(&self, step: &Step, table: TableId, columns: &[Slot], keys: &[Slot]) -> Policy<'a> {
        let place = usize::from(table.0);
        let given = *self
            .given
            .get(place)
            .expect("a walk is given the tables that its plan names");
        assert_eq!(
            given.width(),
            columns.len(),
            "a given table has the columns that the plan names"
        );
        let is_key = |at: &usize| keys.contains(&columns[*at]);
        let places: Vec<usize> = (0..columns.len()).filter(is_key).collect();
        let made = (0..columns.len()).filter(|at| !is_key(at));
        let kept = made.filter_map(|at| Some((at, step.kept(columns[at])?)));
        let index = (!places.is_empty()).then(|| {
            let index = given.index_over(&places);
            index.expect("a given table has the indexes that the plan needs")
        });
        Policy::Given(GivenPolicy {
            table: given,
            index,
            made: kept.collect(),
            keys: places.iter().map(|at| columns[*at]).collect(),
        })
    }

    fn unify(
        &mut self,
        step: &Step,
        into: Slot,
        from: Slot,
        live: &[Slot],
    ) -> Result<Policy<'a>, WalkError> {
        let alive = |slot: Slot| live.contains(&slot).then_some(slot);
        let target = step.kept(into);
        Ok(match (alive(into), alive(from), target) {
            (left, Some(right), into) => Policy::Unify(UnifyPolicy { left, right, into }),
            (Some(left), None, Some(into)) => Policy::Unify(UnifyPolicy {
                left: None,
                right: left,
                into: Some(into),
            }),
            (_, None, None) => Policy::Pass,
            (None, None, Some(into)) => {
                let mut table = Table::new(1);
                let mut reservation = Reservation::new(self.limits);
                table.push(std::iter::once(VertexId::UNBOUND), &mut reservation)?;
                let made = vec![into];
                let policy = JoinPolicy::with_table(table, made, reservation, self.limits);
                Policy::Join(Box::new(policy))
            }
        })
    }
}

/// Whether equal rows may leave the step, or a step within it, with different values.
fn is_by_chance(step: &Step) -> bool {
    match &step.action {
        Action::Filter(expression) | Action::Bind { expression, .. } => draws(expression),
        Action::Nested { branches, .. } => branches.iter().flatten().any(is_by_chance),
        _ => false,
    }
}

/// Whether an expression gives another value each time it is evaluated.
fn draws(expression: &Expression) -> bool {
    let mut found = matches!(
        expression,
        Expression::Call(
            Function::Rand | Function::Uuid | Function::StrUuid | Function::BNode,
            _
        )
    );
    expression.for_each_operand(&mut |operand| found = found || draws(operand));
    found
}
