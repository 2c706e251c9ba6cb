//! A template at one close: one walk for all its instances, or a walk for each, and a report of each.
//!
//! What one walk finds is dealt out by the constants beside each row. Differences are taken of rows with their instance's
//! number, so they are those of each instance for itself: a difference of bags keeps apart what differs.

use super::answer::Evaluating;
use super::info::TemplateInfo;
use super::instances::{Instances, ONE_BY_ONE_MAX, REPORTED_MAX};
use super::report::{ReportKind, ReportRow, StandingReport};
use super::setting::{Setting, incomplete_before, seed};
use crate::budget::Budget;
use crate::error::QueryError;
use explore::{Chunk, GivenTable, MemoryBudget, WalkError};
use query::plan::{Form, Slot};
use query::standing::{Sharing, StandingTemplate};
use rdf::VertexId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stream::{Differences, Evaluation};

/// What a registered query has besides, if it is a template.
pub(super) struct Many {
    pub(super) instances: Instances,
    pub(super) sharing: Sharing,
    /// Columns of a report, where it is shared.
    pub(super) shown: usize,
    pub(super) is_ask: bool,
    pub(super) differences: Differences<InstanceRow>,
    /// Whether instances without rows have a report.
    pub(super) reports_all: bool,
}

/// A row of an instance's answer.
pub(super) type InstanceRow = (u64, ReportRow);

impl Many {
    /// None yet, of a template of this name with these parameters; what they hold is drawn on `budget`.
    pub(super) fn new(
        template: &StandingTemplate,
        name: String,
        parameters: Vec<String>,
        budget: Budget,
    ) -> Many {
        let query = &template.query;
        Many {
            instances: Instances::new(name, parameters, budget),
            sharing: template.sharing,
            shown: template.shown,
            is_ask: template.is_ask,
            differences: Differences::new(query.relation, query.difference),
            reports_all: !query.report.rows || template.is_ask,
        }
    }

    /// How many instances it may have, and what to do about more.
    pub(super) fn instances_max(&self) -> Option<(usize, &'static str)> {
        match self.sharing {
            Sharing::OneByOne(_) => Some((
                ONE_BY_ONE_MAX,
                "each instance has a walk of its own, because one would not answer all: see `apart` of the template",
            )),
            Sharing::Whole if self.reports_all => Some((
                REPORTED_MAX,
                "each instance has a report at each close: `#@ report=close,rows` reports those with rows alone",
            )),
            Sharing::Whole => None,
        }
    }

    /// For people.
    pub(super) fn info(&self) -> TemplateInfo {
        TemplateInfo {
            parameters: self.instances.parameters.clone(),
            instances: self.instances.len() as u64,
            bytes: self.instances.bytes(),
            apart: match self.sharing {
                Sharing::Whole => None,
                Sharing::OneByOne(apart) => Some(apart.to_string()),
            },
        }
    }

    /// The table that it is planned for: that of its instances, or one of the first alone, put into `alone`. There is
    /// an instance.
    pub(super) fn table<'t>(&'t mut self, alone: &'t mut Option<GivenTable>) -> &'t mut GivenTable {
        match self.sharing {
            Sharing::Whole => &mut self.instances.table,
            Sharing::OneByOne(_) => {
                let mut one = GivenTable::new(self.instances.table.width());
                one.insert(&self.instances.cells(0));
                alone.insert(one)
            }
        }
    }

    /// The reports of an evaluation, by instance.
    pub(super) fn reports(
        &mut self,
        template: &str,
        setting: &Setting<'_>,
        ready: &Evaluation,
    ) -> Result<Vec<StandingReport>, QueryError> {
        let begun = Instant::now();
        let (rows, variables, decoding) = match self.sharing {
            Sharing::Whole => self.together(template, setting, ready)?,
            Sharing::OneByOne(_) => self.one_by_one(template, setting, ready)?,
        };
        setting.graph.sound()?;
        let kind = self.kind(setting);
        let rows = match kind {
            ReportKind::Boolean => rows,
            ReportKind::Solutions | ReportKind::Graph => self.differences.report(rows),
        };
        let exec = begun.elapsed();
        let mut by_instance: BTreeMap<u64, Vec<ReportRow>> = BTreeMap::new();
        if self.reports_all {
            by_instance.extend(
                self.instances
                    .rows()
                    .map(|(number, _)| (number, Vec::new())),
            );
        }
        for (number, row) in rows {
            by_instance.entry(number).or_default().push(row);
        }
        let report = |(number, rows)| {
            Some(StandingReport {
                query: template.to_owned(),
                // What one that is gone had before is nobody's.
                instance: Some(self.instances.name(number)?),
                close_ms: ready.close.0,
                snapshot: setting.graph.snapshot.number(),
                kind,
                variables: variables.clone(),
                rows,
                removed: Vec::new(),
                revision: 0,
                items: ready.windows.iter().map(|it| it.items).sum(),
                incomplete_before_ms: incomplete_before(ready),
                exec,
                decoding,
                failure: None,
            })
        };
        Ok(by_instance.into_iter().filter_map(report).collect())
    }

    fn kind(&self, setting: &Setting<'_>) -> ReportKind {
        match (&setting.plan.form, self.is_ask) {
            (_, true) | (Form::Ask, _) => ReportKind::Boolean,
            (Form::Select(_), _) => ReportKind::Solutions,
            (Form::Construct(_) | Form::Describe(_), _) => ReportKind::Graph,
        }
    }

    /// One walk over the whole table.
    fn together(
        &self,
        template: &str,
        setting: &Setting<'_>,
        ready: &Evaluation,
    ) -> Result<(Vec<InstanceRow>, Vec<String>, Duration), QueryError> {
        let tables = [&self.instances.table];
        let evaluating = setting.evaluating(ready, seed(template, ready.close), &tables);
        let Form::Select(columns) = &setting.plan.form else {
            unreachable!("a shared template selects")
        };
        let (shown, parameters) = columns.split_at(self.shown);
        let mut rows = Vec::new();
        let mut cells = Vec::with_capacity(parameters.len());
        if shown.is_empty() {
            evaluating.walk(&mut |_, chunk| {
                for row in 0..chunk.rows() as usize {
                    self.deal(
                        &evaluating,
                        (chunk, row),
                        parameters,
                        &mut cells,
                        &mut rows,
                        &|| ReportRow(Vec::new()),
                    )?;
                }
                Ok(())
            })?;
        } else {
            evaluating.decoded(shown, &mut |batch, chunk, first| {
                for row in 0..batch.len {
                    let at = (chunk, first + row);
                    self.deal(&evaluating, at, parameters, &mut cells, &mut rows, &|| {
                        ReportRow::of(batch, row)
                    })?;
                }
                Ok(())
            })?;
        }
        let variables = &setting.plan.variables;
        let name = |slot: &Slot| variables[usize::from(slot.0)].clone();
        let variables = shown.iter().map(name).collect();
        Ok((rows, variables, evaluating.decoding.get()))
    }

    /// Gives a row to the instances whose constants stand beside it.
    fn deal(
        &self,
        evaluating: &Evaluating<'_>,
        (chunk, at): (&Chunk, usize),
        parameters: &[Slot],
        cells: &mut Vec<VertexId>,
        rows: &mut Vec<InstanceRow>,
        row: &dyn Fn() -> ReportRow,
    ) -> Result<(), QueryError> {
        cells.clear();
        let cell = |slot: &Slot| chunk.column(*slot).map_or(VertexId::UNBOUND, |it| it[at]);
        cells.extend(parameters.iter().map(cell));
        for number in self.instances.of_cells(cells) {
            let row = row();
            let bytes = size_of::<InstanceRow>() as u64 + row.bytes();
            let reserved = evaluating.budget.try_reserve(bytes);
            reserved.map_err(WalkError::from)?;
            rows.push((number, row));
        }
        Ok(())
    }

    /// A walk for each instance.
    fn one_by_one(
        &self,
        template: &str,
        setting: &Setting<'_>,
        ready: &Evaluation,
    ) -> Result<(Vec<InstanceRow>, Vec<String>, Duration), QueryError> {
        let mut rows = Vec::new();
        let mut decoding = Duration::ZERO;
        for (number, row) in self.instances.rows() {
            let mut alone = GivenTable::new(self.instances.table.width());
            alone.insert(&self.instances.cells(row));
            for (_, keys) in setting.plan.tables() {
                alone.index(&keys);
            }
            let name = self.instances.name(number);
            let name = name.unwrap_or_else(|| Arc::from(template));
            let tables = [&alone];
            let evaluating = setting.evaluating(ready, seed(&name, ready.close), &tables);
            rows.extend(evaluating.rows()?.into_iter().map(|row| (number, row)));
            decoding += evaluating.decoding.get();
        }
        let evaluating = setting.evaluating(ready, 0, &[]);
        Ok((rows, evaluating.variables(), decoding))
    }
}
