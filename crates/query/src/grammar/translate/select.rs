//! Query forms; grouping, selection, modifiers (SPARQL 1.1 Query sections 18.2.4 and 18.2.5).
//!
//! ```text
//!  pattern -> keys -> groups -> HAVING -> VALUES -> AS ... AS -> ORDER BY -> projection -> DISTINCT -> slice
//! ```
//!
//! Aggregates stand in what comes after the groups; so it is translated before the groups are made.

use super::Translation;
use super::group::filtered;
use super::scope::in_scope;
use super::triples::joined;
use crate::grammar::abstract_query::{
    Aggregate, Dataset, Expression, Form, GraphPattern, Name, OrderKey, Query,
};
use crate::grammar::lexer::token::TokenKind;
use crate::grammar::parser::tree::{Id, NodeKind, Tree};
use crate::grammar::parser::{GrammarError, Parsed};
use crate::limits::{Exceeded, Limit};
use hashbrown::HashSet;

/// What is selected.
enum Selection {
    /// All that is in scope.
    Star,
    /// Variables, and what others are computed of; with their places.
    Listed(Vec<(Id, Name, Option<Expression>)>),
}

/// What stands after the pattern, translated.
struct Modifiers {
    /// The keys, and what they are computed of; `None` without a `GROUP BY`.
    keys: Option<Vec<(Name, Option<Expression>)>>,
    aggregates: Vec<(Name, Aggregate)>,
    having: Option<Expression>,
    order: Vec<OrderKey>,
    values: Option<GraphPattern>,
}

impl Translation<'_> {
    /// The whole text.
    pub(super) fn unit(&mut self) -> Parsed<Query> {
        let mut form = Tree::ROOT;
        for child in self.tree.children(Tree::ROOT) {
            match self.kind(child) {
                NodeKind::Prefix | NodeKind::Base | NodeKind::Version => self.declare(child)?,
                _ => form = child,
            }
        }
        self.query_of(form)
    }

    /// The query of a form, with what was declared before it.
    pub(super) fn query_of(&mut self, form: Id) -> Parsed<Query> {
        let dataset = self.dataset(form)?;
        let star = self.is_star(form);
        let (said, pattern) = match self.kind(form) {
            NodeKind::Select => (Form::Select { star }, self.select(form)?),
            NodeKind::Ask => (Form::Ask, self.pattern_and_modifiers(form)?),
            NodeKind::Construct => self.construct(form)?,
            _ => {
                let pattern = self.where_of(form)?;
                let pattern = self.modified(form, pattern, &mut |this| this.described(form))?;
                (Form::Describe { star }, pattern)
            }
        };
        Ok(Query {
            form: said,
            dataset,
            pattern,
            base: self.base.as_ref().map(ToString::to_string),
        })
    }

    fn construct(&mut self, form: Id) -> Parsed<(Form, GraphPattern)> {
        let template = match self.tree.child(form, NodeKind::Template) {
            Some(template) => self.template(template)?,
            None => Vec::new(),
        };
        let pattern = if self.tree.child(form, NodeKind::Group).is_some() {
            self.labels.here.clear();
            self.pattern_and_modifiers(form)?
        } else {
            let pattern = GraphPattern::Bgp(template.clone());
            self.modified(form, pattern, &mut |_| Ok(Selection::Star))?
        };
        Ok((Form::Construct(template), pattern))
    }

    fn is_star(&self, form: Id) -> bool {
        let items = self.tree.child(form, NodeKind::Items);
        items.is_some_and(|items| self.tree.child(items, NodeKind::Star).is_some())
    }

    /// `FROM` and `FROM NAMED`, or `USING` and `USING NAMED`.
    pub(super) fn dataset(&mut self, form: Id) -> Parsed<Option<Dataset>> {
        let mut dataset = Dataset::default();
        for child in self.tree.children(form) {
            match self.kind(child) {
                NodeKind::From => dataset.default.push(self.graph_of(child.only())?),
                NodeKind::FromNamed => dataset.named.push(self.graph_of(child.only())?),
                _ => {}
            }
        }
        let is_none = dataset.default.is_empty() && dataset.named.is_empty();
        Ok((!is_none).then_some(dataset))
    }

    fn where_of(&mut self, form: Id) -> Parsed<GraphPattern> {
        match self.tree.child(form, NodeKind::Group) {
            Some(group) => self.group(group),
            None => Ok(GraphPattern::default()),
        }
    }

    /// `ASK`, `CONSTRUCT`: all variables.
    fn pattern_and_modifiers(&mut self, form: Id) -> Parsed<GraphPattern> {
        let pattern = self.where_of(form)?;
        self.modified(form, pattern, &mut |_| Ok(Selection::Star))
    }

    /// A `SELECT`, of the text or within a group.
    pub(super) fn select(&mut self, id: Id) -> Parsed<GraphPattern> {
        let pattern = self.where_of(id)?;
        self.modified(id, pattern, &mut |this| this.selection(id))
    }

    /// Meets the variables that a select lists, which is translated after its pattern: a `*` around it has names
    /// in the order in which they were met, and that is to be the order of the text.
    pub(super) fn note_listed(&mut self, id: Id) {
        let Some(items) = self.tree.child(id, NodeKind::Items) else {
            return;
        };
        let tokens = self.tree.tokens;
        for token in &tokens.tokens[self.tree.range(items)] {
            if token.kind == TokenKind::Variable {
                self.terms.name(&tokens.slice(*token)[1..]);
            }
        }
    }

    fn selection(&mut self, id: Id) -> Parsed<Selection> {
        let mut listed = Vec::new();
        let items = self.tree.child(id, NodeKind::Items);
        for item in items
            .into_iter()
            .flat_map(|items| self.tree.children(items))
        {
            match self.kind(item) {
                NodeKind::Star => return Ok(Selection::Star),
                NodeKind::As => {
                    let mut parts = self.tree.children(item);
                    let (Some(value), Some(name)) = (parts.next(), parts.next()) else {
                        return self.fault(item, "expected (... AS ?name)");
                    };
                    let value = self.expression(value)?;
                    listed.push((item, self.variable(name), Some(value)));
                }
                _ => listed.push((item, self.variable(item), None)),
            }
        }
        Ok(Selection::Listed(listed))
    }

    /// What `DESCRIBE` lists; an IRI gets a variable.
    fn described(&mut self, id: Id) -> Parsed<Selection> {
        let mut listed = Vec::new();
        let items = self.tree.child(id, NodeKind::Items);
        for item in items
            .into_iter()
            .flat_map(|items| self.tree.children(items))
        {
            match self.kind(item) {
                NodeKind::Star => return Ok(Selection::Star),
                NodeKind::Variable => listed.push((item, self.variable(item), None)),
                _ => {
                    let iri = Expression::Constant(self.name(item)?);
                    if listed.len() as u64 >= self.listed_max {
                        return self.too_many_listed(item, listed.len() as u64 + 1);
                    }
                    listed.push((item, self.terms.new_name(), Some(iri)));
                }
            }
        }
        Ok(Selection::Listed(listed))
    }

    fn too_many_listed<T>(&self, at: Id, used: u64) -> Parsed<T> {
        let exceeded = Exceeded {
            limit: Limit::ListedNames,
            used,
            max: self.listed_max,
        };
        let at = self.tree.range(at).start;
        Err(GrammarError::of(exceeded.kind(), at, exceeded.to_string()))
    }

    /// A pattern with the modifiers of its form.
    fn modified(
        &mut self,
        form: Id,
        pattern: GraphPattern,
        selection: &mut dyn FnMut(&mut Self) -> Parsed<Selection>,
    ) -> Parsed<GraphPattern> {
        let around = self.aggregates.replace(Vec::new());
        let selection = selection(self)?;
        let modifiers = self.modifiers(form)?;
        self.aggregates = around;
        let is_grouped = modifiers.keys.is_some() || !modifiers.aggregates.is_empty();
        let mut table = pattern;
        if is_grouped {
            let mut variables = Vec::new();
            for (variable, value) in modifiers.keys.into_iter().flatten() {
                if let Some(expression) = value {
                    table = extended(table, variable, expression);
                }
                variables.push(variable);
            }
            table = GraphPattern::Group {
                inner: Box::new(table),
                variables,
                aggregates: modifiers.aggregates,
            };
        }
        table = filtered(table, modifiers.having);
        if let Some(values) = modifiers.values {
            table = joined(table, values);
        }
        let (mut table, variables) = self.selected(form, table, selection, is_grouped)?;
        if !modifiers.order.is_empty() {
            table = GraphPattern::OrderBy {
                inner: Box::new(table),
                keys: modifiers.order,
            };
        }
        table = GraphPattern::Project {
            inner: Box::new(table),
            variables,
        };
        if self.tree.child(form, NodeKind::Distinct).is_some() {
            table = GraphPattern::Distinct {
                inner: Box::new(table),
            };
        } else if self.tree.child(form, NodeKind::Reduced).is_some() {
            table = GraphPattern::Reduced {
                inner: Box::new(table),
            };
        }
        Ok(self.sliced(form, table))
    }

    /// What stands after the pattern. The aggregates are those of the selection, too.
    fn modifiers(&mut self, form: Id) -> Parsed<Modifiers> {
        let mut modifiers = Modifiers {
            keys: None,
            aggregates: Vec::new(),
            having: None,
            order: Vec::new(),
            values: None,
        };
        for child in self.tree.children(form) {
            match self.kind(child) {
                NodeKind::GroupBy => modifiers.keys = Some(self.keys(child)?),
                NodeKind::Having => {
                    for condition in self.tree.children(child) {
                        let condition = self.expression(condition)?;
                        modifiers.having = Some(match modifiers.having {
                            Some(before) => Expression::And(Box::new(before), Box::new(condition)),
                            None => condition,
                        });
                    }
                }
                NodeKind::OrderBy => {
                    for key in self.tree.children(child) {
                        let kind = self.kind(key);
                        let is_named = matches!(kind, NodeKind::Ascending | NodeKind::Descending);
                        modifiers.order.push(OrderKey {
                            expression: self.expression(if is_named { key.only() } else { key })?,
                            descending: kind == NodeKind::Descending,
                        });
                    }
                }
                NodeKind::Values => modifiers.values = Some(self.values(child)?),
                _ => {}
            }
        }
        assert!(
            self.aggregates.is_some(),
            "whoever put the form's aggregates aside has put them back"
        );
        modifiers.aggregates = self.aggregates.take().unwrap_or_default();
        Ok(modifiers)
    }

    /// The keys of `GROUP BY`, which have no aggregates.
    fn keys(&mut self, id: Id) -> Parsed<Vec<(Name, Option<Expression>)>> {
        let aggregates = self.aggregates.take();
        let mut keys = Vec::new();
        for key in self.tree.children(id) {
            keys.push(match self.kind(key) {
                NodeKind::Variable => (self.variable(key), None),
                NodeKind::As => {
                    let mut parts = self.tree.children(key);
                    let (Some(value), Some(name)) = (parts.next(), parts.next()) else {
                        return self.fault(key, "expected (... AS ?name)");
                    };
                    let value = self.expression(value)?;
                    (self.variable(name), Some(value))
                }
                _ => match self.expression(key)? {
                    Expression::Variable(variable) => (variable, None),
                    value => (self.terms.new_name(), Some(value)),
                },
            });
        }
        self.aggregates = aggregates;
        Ok(keys)
    }

    /// The table with what is computed, and the variables that are projected.
    fn selected(
        &mut self,
        form: Id,
        mut table: GraphPattern,
        selection: Selection,
        is_grouped: bool,
    ) -> Parsed<(GraphPattern, Vec<Name>)> {
        let listed = match selection {
            Selection::Star => {
                let is_select = self.kind(form) == NodeKind::Select;
                if is_grouped && is_select {
                    let items = self.tree.child(form, NodeKind::Items).unwrap_or(form);
                    return self.fault(
                        items,
                        "SELECT * cannot stand beside GROUP BY and aggregates: list the variables",
                    );
                }
                let mut variables = in_scope(&table);
                variables.sort_unstable_by_key(|name| (self.terms.text(*name), *name));
                return Ok((table, variables));
            }
            Selection::Listed(listed) => listed,
        };
        // Plain variables are selected whatever is in scope.
        let is_looked_at = is_grouped || listed.iter().any(|(_, _, value)| value.is_some());
        let mut visible: HashSet<Name> = HashSet::new();
        if is_looked_at {
            visible.extend(in_scope(&table));
        }
        let mut variables: Vec<Name> = Vec::with_capacity(listed.len());
        for (at, variable, value) in listed {
            if variables.contains(&variable) {
                let shown = self.terms.shown(variable);
                return self.fault(at, format!("{shown} is selected twice"));
            }
            match value {
                None if is_grouped && !visible.contains(&variable) => {
                    return self.not_grouped(at, variable);
                }
                None => {}
                Some(expression) => {
                    if visible.contains(&variable) {
                        let shown = self.terms.shown(variable);
                        return self.fault(
                            at,
                            format!("{shown} has a value already: AS needs a new name"),
                        );
                    }
                    if is_grouped && let Some(unseen) = not_among(&expression, &visible) {
                        return self.not_grouped(at, unseen);
                    }
                    table = extended(table, variable, expression);
                    visible.insert(variable);
                }
            }
            variables.push(variable);
        }
        Ok((table, variables))
    }

    /// At the variable itself, where it stands in what is selected.
    fn not_grouped<T>(&self, at: Id, variable: Name) -> Parsed<T> {
        let range = self.tree.range(at);
        let tokens = &self.tree.tokens.tokens[range.clone()];
        let is_it = |token: &crate::grammar::lexer::token::Token| {
            let slice = self.tree.tokens.slice(*token);
            let name = slice.strip_prefix(['?', '$']);
            name.is_some() && name == self.terms.text(variable)
        };
        let place = tokens.iter().position(is_it).unwrap_or(0);
        let shown = self.terms.shown(variable);
        Err(GrammarError::at(
            range.start + place,
            format!("{shown} is neither grouped nor aggregated: add GROUP BY {shown}"),
        ))
    }

    fn sliced(&self, form: Id, table: GraphPattern) -> GraphPattern {
        let count = |kind| {
            let id = self.tree.child(form, kind)?;
            let number = self.tree.tokens.tokens[self.tree.range(id).end - 1];
            self.tree.tokens.slice(number).parse().ok()
        };
        let (limit, offset): (Option<u64>, Option<u64>) =
            (count(NodeKind::Limit), count(NodeKind::Offset));
        if limit.is_none() && offset.is_none() {
            return table;
        }
        GraphPattern::Slice {
            inner: Box::new(table),
            start: offset.unwrap_or(0),
            length: limit,
        }
    }
}

fn extended(inner: GraphPattern, variable: Name, expression: Expression) -> GraphPattern {
    GraphPattern::Extend {
        inner: Box::new(inner),
        variable,
        expression,
    }
}

/// The first variable that an expression reads and that is not among these. What may read unbound ones
/// (`BOUND`, `COALESCE`, `EXISTS`) is not looked into.
fn not_among(expression: &Expression, among: &HashSet<Name>) -> Option<Name> {
    let mut pending = vec![expression];
    let mut operands = Vec::new();
    while let Some(next) = pending.pop() {
        match next {
            Expression::Variable(variable) if !among.contains(variable) => return Some(*variable),
            Expression::Coalesce(_) => {}
            next => {
                next.operands(&mut operands);
                pending.extend(operands.drain(..).rev());
            }
        }
    }
    None
}
