//! Binds one expression over a table of given terms and gives the terms.

use super::{PlainTerms, constants};
use explore::{Chunk, Environment, Limits, Options, Status, Walk, WalkError, prepare};
use oxrdf::{Term, TermRef};
use query::expression::Expression;
use query::plan::{Action, ConstantId, DatasetClause, Estimate, Form, Plan, Slot, Step, Weight};
use rdf::{Lexicon, Tag, TermBuffer};
use store::testing::snapshot_of;

/// A table to evaluate over. Every other term is in the dictionary, the others are the query's own.
pub struct Table<'t> {
    /// Row after row; `None` is unbound.
    pub rows: &'t [Vec<Option<Term>>],
    /// Terms that expressions name.
    pub constants: &'t [Term],
    /// What relative IRIs are resolved against.
    pub base: Option<&'t str>,
    /// Rows of a chunk.
    pub chunk_rows: usize,
}

impl Table<'_> {
    /// The terms that the expressions give in each row, one column for each; `None` is an error.
    pub fn values(&self, expressions: &[Expression]) -> Vec<Vec<Option<Term>>> {
        self.values_within(expressions, Limits::none())
            .expect("no limit")
    }

    /// The same within limits.
    pub fn values_within(
        &self,
        expressions: &[Expression],
        limits: Limits<'_>,
    ) -> Result<Vec<Vec<Option<Term>>>, WalkError> {
        let mut lexicon = PlainTerms::default();
        let plan = self.plan(expressions);
        for term in plan.constants.iter().step_by(2) {
            lexicon.id(term);
        }
        let ids = constants(&plan, &lexicon);
        let view = snapshot_of(&[], None);
        let environment = Environment::fixed();
        let prepared = prepare(&plan, &ids, &view, limits, &environment)?;
        let options = Options {
            chunk_rows: self.chunk_rows,
            ..Options::default()
        };
        let mut walk = Walk::new(&prepared, &view, &lexicon, limits, options);
        let (mut chunk, mut found) = (Chunk::new(), vec![Vec::new(); expressions.len()]);
        let Form::Select(results) = &plan.form else {
            unreachable!("a SELECT")
        };
        while walk.next(&mut chunk)? == Status::Rows {
            for (slot, found) in results.iter().zip(&mut found) {
                for &id in chunk.column(*slot).expect("projected") {
                    let mut terms = TermBuffer::new();
                    found.push(if id.has_tag(Tag::QueryLocal) {
                        prepared.locals().term(id)
                    } else {
                        lexicon.terms(&[id], &mut terms)?;
                        terms.get(0).map(TermRef::into_owned)
                    });
                }
            }
        }
        Ok(found)
    }

    fn plan(&self, expressions: &[Expression]) -> Plan {
        let width = self.rows.first().map_or(0, Vec::len);
        let slot = |at: usize| Slot(at as u16);
        let columns: Vec<Slot> = (0..width).map(slot).collect();
        let mut all = self.constants.to_vec();
        let mut cell = |term: &Option<Term>| {
            let term = term.as_ref()?;
            let at = all.iter().position(|known| known == term);
            let at = at.unwrap_or_else(|| {
                all.push(term.clone());
                all.len() - 1
            });
            Some(ConstantId(at as u32))
        };
        let rows = self
            .rows
            .iter()
            .map(|row| row.iter().map(&mut cell).collect());
        let rows: Vec<Vec<Option<ConstantId>>> = rows.collect();
        let mut keep = columns.clone();
        let mut steps = vec![Step {
            action: Action::Values { columns, rows },
            keep: keep.clone(),
            estimate: Estimate::default(),
        }];
        for (at, expression) in expressions.iter().enumerate() {
            let into = slot(width + at);
            keep.push(into);
            steps.push(Step {
                action: Action::Bind {
                    expression: expression.clone(),
                    into,
                },
                keep: keep.clone(),
                estimate: Estimate::default(),
            });
        }
        let results = keep.split_off(width);
        Plan {
            variables: (0..width + results.len())
                .map(|at| format!("v{at}"))
                .collect(),
            constants: all,
            dataset: DatasetClause::default(),
            base: self.base.map(str::to_owned),
            steps,
            form: Form::Select(results),
            weight: Weight::Light,
        }
    }
}
