//! Groups and what stands in them (SPARQL 1.1 Query section 18.2.2); inline data.

use super::Translation;
use super::scope::{assigned, in_scope, is_in_scope};
use super::triples::{TripleOrPath, joined, pattern};
use crate::grammar::abstract_query::{Constant, Expression, GraphPattern, NamePattern};
use crate::grammar::parser::Parsed;
use crate::grammar::parser::tree::{Id, NodeKind};

impl Translation<'_> {
    /// A group. Aggregates cannot stand in one.
    pub(super) fn group(&mut self, id: Id) -> Parsed<GraphPattern> {
        let (inner, condition) = self.group_and_filters(id)?;
        Ok(filtered(inner, condition))
    }

    /// The same, with its own filters apart: those of an `OPTIONAL` are its condition.
    fn group_and_filters(&mut self, id: Id) -> Parsed<(GraphPattern, Option<Expression>)> {
        let aggregates = self.aggregates.take();
        self.labels.end();
        let group = match self.tree.children(id).next() {
            Some(select) if self.kind(select) == NodeKind::Select => {
                self.note_listed(select);
                self.select(select).map(|select| (select, None))
            }
            _ => self.elements(id),
        };
        self.labels.end();
        self.aggregates = aggregates;
        group
    }

    fn elements(&mut self, id: Id) -> Parsed<(GraphPattern, Option<Expression>)> {
        let mut table = GraphPattern::default();
        let mut filters: Option<Expression> = None;
        let mut pieces: Vec<TripleOrPath> = Vec::new();
        for element in self.tree.children(id) {
            let kind = self.kind(element);
            if kind == NodeKind::Triples {
                self.triples(element, &mut pieces)?;
                continue;
            }
            if kind == NodeKind::Filter {
                let condition = self.expression(element.only())?;
                filters = Some(match filters {
                    Some(before) => Expression::And(Box::new(before), Box::new(condition)),
                    None => condition,
                });
                continue;
            }
            table = joined(table, pattern(std::mem::take(&mut pieces)));
            table = self.element(element, kind, table)?;
        }
        Ok((joined(table, pattern(pieces)), filters))
    }

    /// What an element makes of the table so far.
    fn element(&mut self, id: Id, kind: NodeKind, table: GraphPattern) -> Parsed<GraphPattern> {
        let left = |table| Box::new(table);
        Ok(match kind {
            NodeKind::Optional => {
                let (right, condition) = self.group_and_filters(id.only())?;
                GraphPattern::LeftJoin {
                    left: left(table),
                    right: Box::new(right),
                    condition,
                }
            }
            NodeKind::Minus => GraphPattern::Minus {
                left: left(table),
                right: Box::new(self.group(id.only())?),
            },
            NodeKind::Lateral => self.lateral(id, table)?,
            NodeKind::Bind => self.bind(id, table)?,
            NodeKind::Graph => joined(table, self.graph(id)?),
            NodeKind::Window | NodeKind::StreamWindow => joined(table, self.window(id, kind)?),
            NodeKind::Service => joined(table, self.service(id)?),
            NodeKind::Union => joined(table, self.union(id)?),
            NodeKind::Values => joined(table, self.values(id)?),
            _ => joined(table, self.group(id)?),
        })
    }

    /// `GRAPH`: in a named graph, or in the windows of the stream that a standing query names so.
    fn graph(&mut self, id: Id) -> Parsed<GraphPattern> {
        let mut parts = self.tree.children(id);
        let (Some(name), Some(group)) = (parts.next(), parts.next()) else {
            return self.fault(id, "expected GRAPH name { ... }");
        };
        let name = match self.kind(name) {
            NodeKind::BareName => NamePattern::Constant(self.graph_of(name)?),
            _ => self.verb(name)?,
        };
        let source = self.source_of_graph(name);
        if let Some(source) = source {
            return self.in_window(source, group);
        }
        self.check_graph(id)?;
        let inner = Box::new(self.group(group)?);
        Ok(GraphPattern::Graph { name, inner })
    }

    fn lateral(&mut self, id: Id, table: GraphPattern) -> Parsed<GraphPattern> {
        let right = self.group(id.only())?;
        let given = assigned(&right);
        let seen = in_scope(&table);
        if let Some(twice) = seen.into_iter().find(|name| given.contains(name)) {
            let name = self.terms.shown(twice);
            return self.fault(
                id,
                format!("LATERAL gives {name} a value, which it has outside already"),
            );
        }
        Ok(GraphPattern::Lateral {
            left: Box::new(table),
            right: Box::new(right),
        })
    }

    fn bind(&mut self, id: Id, table: GraphPattern) -> Parsed<GraphPattern> {
        let mut parts = self.tree.children(id);
        let (Some(value), Some(name)) = (parts.next(), parts.next()) else {
            return self.fault(id, "expected BIND(... AS ?name)");
        };
        let expression = self.expression(value)?;
        let variable = self.variable(name);
        if is_in_scope(&table, variable) {
            let shown = self.terms.shown(variable);
            return self.fault(
                name,
                format!("{shown} has a value here already: BIND needs a new name"),
            );
        }
        Ok(GraphPattern::Extend {
            inner: Box::new(table),
            variable,
            expression,
        })
    }

    fn service(&mut self, id: Id) -> Parsed<GraphPattern> {
        let silent = self.tree.child(id, NodeKind::Silent).is_some();
        let mut parts = self.tree.children(id).skip(usize::from(silent));
        let (Some(name), Some(group)) = (parts.next(), parts.next()) else {
            return self.fault(id, "expected SERVICE name { ... }");
        };
        let name = self.verb(name)?;
        let around = std::mem::replace(&mut self.is_elsewhere, true);
        let inner = self.group(group);
        self.is_elsewhere = around;
        Ok(GraphPattern::Service {
            name,
            inner: Box::new(inner?),
            silent,
        })
    }

    fn union(&mut self, id: Id) -> Parsed<GraphPattern> {
        let mut branches = self.tree.children(id);
        let Some(first) = branches.next() else {
            return self.fault(id, "expected a group");
        };
        let mut union = self.group(first)?;
        for branch in branches {
            union = GraphPattern::Union {
                left: Box::new(union),
                right: Box::new(self.group(branch)?),
            };
        }
        Ok(union)
    }

    /// `VALUES`.
    pub(super) fn values(&mut self, id: Id) -> Parsed<GraphPattern> {
        let mut variables = Vec::new();
        let mut rows = Vec::new();
        for part in self.tree.children(id) {
            if self.kind(part) == NodeKind::Variable {
                let variable = self.variable(part);
                if variables.contains(&variable) {
                    let shown = self.terms.shown(variable);
                    return self.fault(part, format!("{shown} stands twice in VALUES"));
                }
                variables.push(variable);
                continue;
            }
            let mut row = Vec::with_capacity(variables.len());
            for cell in self.tree.children(part) {
                row.push(self.cell(cell)?);
            }
            if row.len() != variables.len() {
                let (has, wants) = (row.len(), variables.len());
                return self.fault(
                    part,
                    format!(
                        "this row has {has} values, and VALUES {wants} variables: write UNDEF for \
                         what is to stay unbound"
                    ),
                );
            }
            rows.push(row);
        }
        Ok(GraphPattern::Values { variables, rows })
    }

    fn cell(&mut self, id: Id) -> Parsed<Option<Constant>> {
        match self.kind(id) {
            NodeKind::Undef => Ok(None),
            _ => self.ground(id).map(Some),
        }
    }
}

/// A pattern under its filters.
pub(super) fn filtered(inner: GraphPattern, condition: Option<Expression>) -> GraphPattern {
    match condition {
        Some(condition) => GraphPattern::Filter {
            condition,
            inner: Box::new(inner),
        },
        None => inner,
    }
}
