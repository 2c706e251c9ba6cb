//! Rows that are equal and come as one, with their number, to an aggregation that takes that.

use crate::aggregate::{KEY, RESULT, Table, VALUE, functions, kinds, random_rows};
use crate::support::{PlainTerms, Random, constants};
use explore::{Chunk, Collapse, Environment, Limits, Options, Status, Walk, prepare};
use oxrdf::Term;
use query::expression::Expression;
use query::plan::{Action, Aggregate, AggregateFunction};
use rdf::{Lexicon, TermBuffer, VertexId};
use std::collections::BTreeMap;
use store::testing::snapshot_of;

impl Table {
    /// How equal rows may come to the aggregation of one function by key, and what comes of them then; the last chunks are plain.
    fn of_equal_rows(
        &self,
        function: &AggregateFunction,
        distinct: bool,
        random: &mut Random,
    ) -> Option<(Collapse, BTreeMap<String, Option<Term>>)> {
        let aggregate = Aggregate {
            function: function.clone(),
            argument: Some(Expression::Slot(VALUE)),
            distinct: distinct.then(|| vec![KEY, VALUE]),
        };
        let action = Action::Aggregate {
            keys: vec![KEY],
            aggregates: vec![(aggregate, RESULT)],
        };
        let plan = self.plan(&[KEY, VALUE], action, &[KEY, RESULT]);
        let ids = constants(&plan, &self.lexicon);
        let view = snapshot_of(&self.quads, None);
        let environment = Environment::fixed();
        let limits = Limits::none();
        let prepared = prepare(&plan, &ids, &view, limits, &environment).expect("nothing fails");
        assert_eq!(
            prepared.collapse(1),
            None,
            "an expansion takes rows as they are"
        );
        let collapse = prepared.collapse(3)?;
        let walk = |steps| {
            let options = Options::default();
            Walk::section(&prepared, &view, &self.lexicon, limits, options, steps)
        };
        let (mut before, mut behind) = (walk(0..3), walk(3..4));
        let (mut chunk, mut counts, mut plain) = (Chunk::new(), BTreeMap::new(), Vec::new());
        while before.next(&mut chunk).expect("nothing fails") == Status::Rows {
            let cells = |slot| chunk.column(slot).expect("alive").iter().copied();
            for row in cells(KEY).zip(cells(VALUE)) {
                if random.below(10) == 0 {
                    plain.push((row, 1));
                } else {
                    *counts.entry(row).or_insert(0) += 1;
                }
            }
        }
        let chunk_of = |rows: &[((VertexId, VertexId), u64)]| {
            let column = |which: fn(&(VertexId, VertexId)) -> VertexId| {
                rows.iter().map(|(row, _)| which(row)).collect()
            };
            let columns = [(KEY, column(|row| row.0)), (VALUE, column(|row| row.1))];
            Chunk::from_columns(plan.variables.len(), rows.len() as u64, columns).expect("a table")
        };
        let counts: Vec<_> = counts.into_iter().collect();
        for rows in counts.chunks(4) {
            let mut rows_of = chunk_of(rows);
            if collapse == Collapse::Counted {
                rows_of = rows_of.with_counts(rows.iter().map(|(_, count)| *count).collect());
            }
            behind.push(&mut rows_of).expect("nothing fails");
            assert_eq!(
                behind.next(&mut chunk).expect("nothing fails"),
                Status::Starved
            );
        }
        behind.push(&mut chunk_of(&plain)).expect("nothing fails");
        assert_eq!(
            behind.next(&mut chunk).expect("nothing fails"),
            Status::Starved
        );
        behind.end_input();
        Some((collapse, self.results(&prepared, &mut behind)))
    }

    /// What an aggregation by key gives, when its input has ended.
    fn results(
        &self,
        prepared: &explore::Prepared<'_>,
        walk: &mut Walk<'_, '_, store::Snapshot, PlainTerms>,
    ) -> BTreeMap<String, Option<Term>> {
        let mut chunk = Chunk::new();
        let mut found = BTreeMap::new();
        while walk.next(&mut chunk).expect("nothing fails") == Status::Rows {
            for row in 0..chunk.rows() as usize {
                let term = |slot| {
                    let id = chunk.column(slot)?[row];
                    let local = prepared.locals().term(id);
                    local.or_else(|| {
                        let mut terms = TermBuffer::new();
                        self.lexicon.terms(&[id], &mut terms).expect("a known id");
                        terms.get(0).map(oxrdf::TermRef::into_owned)
                    })
                };
                found.insert(term(KEY).expect("bound").to_string(), term(RESULT));
            }
        }
        found
    }
}

/// Rows that are equal may come as one, with their number: nobody sees a difference.
#[test]
fn equal_rows_may_come_as_one() {
    let mut random = Random::new(29);
    for values in kinds() {
        for function in functions() {
            let rows = random_rows(&mut random, &values, 300);
            let table = Table::new(&rows);
            for distinct in [false, true] {
                let argument = Some(Expression::Slot(VALUE));
                let expected = table.by_key(&function, argument, distinct, 64);
                let found = table.of_equal_rows(&function, distinct, &mut random);
                let is_joined = matches!(function, AggregateFunction::GroupConcat(_));
                if is_joined && !distinct {
                    assert!(found.is_none(), "texts are joined one by one");
                    continue;
                }
                let (collapse, found) = found.expect("it takes them");
                let is_counted = matches!(
                    function,
                    AggregateFunction::Count | AggregateFunction::Sum | AggregateFunction::Avg
                );
                let wants = if is_counted && !distinct {
                    Collapse::Counted
                } else {
                    Collapse::Once
                };
                assert_eq!(collapse, wants, "{function:?}, {distinct}");
                let is_free = is_joined || matches!(function, AggregateFunction::Sample);
                if !is_free {
                    assert_eq!(found, expected, "{function:?}, {distinct}, {values:?}");
                }
                assert_eq!(found.len(), expected.len());
            }
        }
    }
}
