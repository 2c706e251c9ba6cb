//! Values: the expressions that random texts and plans use, counts of groups, and the pairs that a path
//! connects. The reference of the algebra uses them too: the planner changes none of the three.

use super::{Row, Triple, World};
use query::expression::{Comparison, Expression};
use query::path::Path;
use query::plan::{Aggregate, Slot};
use rdf::{VertexId, inline};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

impl World<'_> {
    /// The value of an expression; `None` is an error.
    ///
    /// # Panics
    ///
    /// If neither the random texts nor the random plans have such an expression.
    pub fn evaluate(&self, expression: &Expression, row: &Row) -> Option<VertexId> {
        let truth = |value: bool| Some(inline::from_boolean(value));
        let of = |e: &Expression| self.evaluate(e, row);
        match expression {
            Expression::Slot(slot) => row.get(slot).copied(),
            Expression::Constant(id) => Some(self.constant(*id)),
            Expression::Bound(slot) => truth(row.contains_key(slot)),
            Expression::Or(parts) => truth(self.any(parts, true, row)?),
            Expression::And(parts) => truth(!self.any(parts, false, row)?),
            Expression::Not(inner) => truth(!self.truth(inner, row)?),
            Expression::SameTerm(a, b) => truth(of(a)? == of(b)?),
            Expression::Compare(comparison, a, b) => {
                let (a, b) = (of(a)?, of(b)?);
                truth(match comparison {
                    Comparison::Equal => a == b,
                    Comparison::NotEqual => a != b,
                    Comparison::Less => self.order(a, b)?.is_lt(),
                    Comparison::LessOrEqual => self.order(a, b)?.is_le(),
                    Comparison::Greater => self.order(a, b)?.is_gt(),
                    Comparison::GreaterOrEqual => self.order(a, b)?.is_ge(),
                })
            }
            Expression::Coalesce(parts) => parts.iter().find_map(of),
            Expression::If(a, b, c) => of(if self.truth(a, row)? { b } else { c }),
            other => panic!("neither texts nor random plans have {other:?}"),
        }
    }

    /// Whether a part has this truth value; `None` where only errors speak against it.
    fn any(&self, parts: &[Expression], wanted: bool, row: &Row) -> Option<bool> {
        let truths: Vec<_> = parts.iter().map(|part| self.truth(part, row)).collect();
        let found = truths.contains(&Some(wanted));
        (found || !truths.contains(&None)).then_some(found)
    }

    /// The effective boolean value, of booleans alone.
    pub fn truth(&self, expression: &Expression, row: &Row) -> Option<bool> {
        inline::boolean(self.evaluate(expression, row)?)
    }

    /// Terms of one kind by their value; other terms have no order, unless they are the same.
    fn order(&self, a: VertexId, b: VertexId) -> Option<Ordering> {
        let integers = inline::integer(a).zip(inline::integer(b));
        let booleans = || inline::boolean(a).zip(inline::boolean(b));
        let strings = || (self.strings)(a).zip((self.strings)(b));
        integers
            .map(|(a, b)| a.cmp(&b))
            .or_else(|| booleans().map(|(a, b)| a.cmp(&b)))
            .or_else(|| strings().map(|(a, b)| a.cmp(&b)))
            .or_else(|| (a == b).then_some(Ordering::Equal))
    }

    /// One row for each group. Of the aggregates counts only.
    pub fn aggregate(
        &self,
        table: &[Row],
        keys: &[Slot],
        aggregates: &[(Aggregate, Slot)],
    ) -> Vec<Row> {
        let mut groups: BTreeMap<Row, Vec<&Row>> = BTreeMap::new();
        if keys.is_empty() {
            groups.insert(Row::new(), Vec::new());
        }
        for row in table {
            let key = row.iter().filter(|(slot, _)| keys.contains(slot));
            let key: Row = key.map(|(slot, value)| (*slot, *value)).collect();
            groups.entry(key).or_default().push(row);
        }
        let mut rows = Vec::new();
        for (mut row, members) in groups {
            for (aggregate, into) in aggregates {
                row.insert(*into, number(self.count(aggregate, &members)));
            }
            rows.push(row);
        }
        rows
    }

    fn count(&self, aggregate: &Aggregate, members: &[&Row]) -> usize {
        match (&aggregate.argument, &aggregate.distinct) {
            (None, None) => members.len(),
            (None, Some(columns)) => {
                let cut = |row: &&Row| -> Vec<Option<VertexId>> {
                    columns.iter().map(|slot| row.get(slot).copied()).collect()
                };
                members.iter().map(cut).collect::<BTreeSet<_>>().len()
            }
            (Some(argument), distinct) => {
                let members = members.iter();
                let values = members.filter_map(|row| self.evaluate(argument, row));
                match distinct {
                    None => values.count(),
                    Some(_) => values.collect::<BTreeSet<_>>().len(),
                }
            }
        }
    }

    /// The pairs that a path connects in a graph, whose vertices are those of its triples and `more`.
    ///
    /// # Panics
    ///
    /// At a negated set: the random texts have none.
    pub fn pairs(
        &self,
        path: &Path,
        triples: &BTreeSet<Triple>,
        more: &[VertexId],
    ) -> Vec<(VertexId, VertexId)> {
        let mut vertices: BTreeSet<VertexId> = triples.iter().flat_map(|t| [t.0, t.2]).collect();
        vertices.extend(more);
        let same = || vertices.iter().map(|v| (*v, *v));
        match path {
            Path::Predicate(id) => {
                let predicate = self.constant(*id);
                let edges = triples.iter().filter(|triple| triple.1 == predicate);
                edges.map(|triple| (triple.0, triple.2)).collect()
            }
            Path::Inverse(inner) => {
                let pairs = self.pairs(inner, triples, more).into_iter();
                pairs.map(|(a, b)| (b, a)).collect()
            }
            Path::ZeroOrMore(inner) => {
                let mut all = closure(self.pairs(inner, triples, more));
                all.extend(same());
                all.into_iter().collect()
            }
            Path::OneOrMore(inner) => {
                let all = closure(self.pairs(inner, triples, more));
                all.into_iter().collect()
            }
            Path::ZeroOrOne(inner) => {
                let mut all: BTreeSet<_> = self.pairs(inner, triples, more).into_iter().collect();
                all.extend(same());
                all.into_iter().collect()
            }
            Path::Alternative(parts) => {
                let parts = parts.iter();
                parts
                    .flat_map(|part| self.pairs(part, triples, more))
                    .collect()
            }
            Path::Sequence(parts) => {
                let mut pairs: Vec<(VertexId, VertexId)> = same().collect();
                for part in parts {
                    pairs = joined(&pairs, &self.pairs(part, triples, more)).collect();
                }
                pairs
            }
            Path::Negated { .. } => panic!("the texts have none"),
        }
    }
}

/// The transitive closure.
fn closure(step: Vec<(VertexId, VertexId)>) -> BTreeSet<(VertexId, VertexId)> {
    let step: BTreeSet<_> = step.into_iter().collect();
    let mut all = step.clone();
    loop {
        let longer: Vec<_> = joined(&all, &step).collect();
        let before = all.len();
        all.extend(longer);
        if all.len() == before {
            return all;
        }
    }
}

/// Pairs after pairs.
fn joined<'a, P>(first: &'a P, then: &'a P) -> impl Iterator<Item = (VertexId, VertexId)> + 'a
where
    &'a P: IntoIterator<Item = &'a (VertexId, VertexId)>,
{
    first.into_iter().flat_map(move |(a, b)| {
        let next = then.into_iter().filter(move |next| next.0 == *b);
        next.map(|next| (*a, next.1))
    })
}

/// A number of rows or edges as a term.
pub(super) fn number(count: usize) -> VertexId {
    let count = i64::try_from(count).expect("tables of tests are small");
    inline::from_integer(count).expect("tables of tests are small")
}
