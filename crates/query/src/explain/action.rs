//! What each action says of itself in a printed plan.
//!
//! An action that has no arm in [`Printer::action`] says its name and its columns, those that it makes behind `as`:
//! a new one is printed before anybody words it. The functions under it each take the variants of one kind.

use super::Printer;
use crate::plan::{Action, Mode, Node, Side, Size, Slot};
use rdf::Direction;
use std::fmt::Write;

/// Why an arm cannot be reached.
const OTHERS: &str = "`action` has sent the other variants elsewhere";

impl Printer<'_> {
    /// What the action does, as text.
    pub(super) fn action(&self, action: &Action) -> String {
        match action {
            Action::Expand { .. }
            | Action::Intersect { .. }
            | Action::ExpandKeys { .. }
            | Action::Check { .. } => self.pattern(action),
            Action::ExpandPredicates { .. }
            | Action::AllPredicates { .. }
            | Action::AllGraphs { .. }
            | Action::Never { .. } => self.names(action),
            Action::Sizes { .. } | Action::Degree { .. } => self.sizes(action),
            Action::Nested { .. } | Action::Probe { .. } => self.block(action),
            Action::PathSeed { .. } | Action::PathExpand { .. } | Action::PathCheck { .. } => {
                self.path_step(action)
            }
            Action::Filter(_)
            | Action::Order { .. }
            | Action::Slice { .. }
            | Action::Count { .. } => self.modifier(action),
            Action::Unify { .. }
            | Action::Bind { .. }
            | Action::Values { .. }
            | Action::Given { .. }
            | Action::Aggregate { .. }
            | Action::Service { .. } => self.extension(action),
            _ => self.columns(action),
        }
    }

    /// The name, what is read, what is made.
    fn columns(&self, action: &Action) -> String {
        let (mut read, mut made) = (Vec::new(), Vec::new());
        action.for_each_read(&mut |slot| read.push(slot));
        action.for_each_write(&mut |slot| made.push(slot));
        let mut text = action.name().to_owned();
        if !read.is_empty() {
            let _ = write!(text, " {}", self.slots(&read));
        }
        if !made.is_empty() {
            let _ = write!(text, " as {}", self.slots(&made));
        }
        text
    }

    /// Steps about a pattern of the graph.
    fn pattern(&self, action: &Action) -> String {
        match action {
            Action::Expand {
                from,
                predicate,
                direction,
                scope,
                source,
                into,
            } => {
                let arrow = self.arrow(*predicate, *direction);
                let (from, into) = (self.node(*from), self.slot(*into));
                format!("{from} {arrow} {into}{}", self.place(*scope, *source))
            }
            Action::Intersect { sides, into } => {
                let side = |side: &Side| {
                    let arrow = self.arrow(Node::Constant(side.predicate), side.direction);
                    let (from, into) = (self.slot(side.from), self.slot(*into));
                    format!(
                        "{from} {arrow} {into}{}",
                        self.place(side.scope, side.source)
                    )
                };
                let [expanded, checked] = sides.each_ref().map(side);
                format!("intersect {expanded} and {checked}")
            }
            Action::ExpandKeys {
                predicate,
                direction,
                scope,
                source,
                into,
            } => {
                let arrow = self.arrow(*predicate, *direction);
                format!(
                    "keys {} {arrow}{}",
                    self.slot(*into),
                    self.place(*scope, *source)
                )
            }
            Action::Check {
                subject,
                predicate,
                object,
                from,
                scope,
                source,
            } => {
                let arrow = self.arrow(*predicate, *from);
                let (near, far) = match from {
                    Direction::Out => (subject, object),
                    Direction::In => (object, subject),
                };
                let (near, far) = (self.node(*near), self.node(*far));
                format!("check {near} {arrow} {far}{}", self.place(*scope, *source))
            }
            _ => unreachable!("{OTHERS}"),
        }
    }

    /// Steps that list what there is in a graph, and the one that knows that there is nothing.
    fn names(&self, action: &Action) -> String {
        match action {
            Action::ExpandPredicates {
                from,
                direction,
                source,
                into,
            } => {
                let arrow = self.arrow(Node::Slot(*into), *direction);
                let (from, source) = (self.node(*from), self.in_source(*source));
                format!("predicates {from} {arrow}{source}")
            }
            Action::AllPredicates { source, into } => {
                format!(
                    "all predicates {}{}",
                    self.slot(*into),
                    self.in_source(*source)
                )
            }
            Action::Never { .. } => "nothing, by the signatures".to_owned(),
            Action::AllGraphs { source, into } => {
                format!("all graphs {}{}", self.slot(*into), self.in_source(*source))
            }
            _ => unreachable!("{OTHERS}"),
        }
    }

    /// What is known without a walk.
    fn sizes(&self, action: &Action) -> String {
        let mut text = String::new();
        match action {
            Action::Sizes {
                predicate,
                scope,
                source,
                sizes,
                ..
            } => {
                let of = predicate.map_or("any predicate".to_owned(), |it| self.node(it));
                let _ = write!(text, "sizes of {of}");
                for (size, into) in sizes {
                    let name = match size {
                        Size::Edges => "edges",
                        Size::Subjects => "subjects",
                        Size::Predicates => "predicates",
                        Size::Objects => "objects",
                    };
                    let _ = write!(text, " {name} {}", self.slot(*into));
                }
                text.push_str(&self.place(*scope, *source));
            }
            Action::Degree {
                from,
                predicate,
                direction,
                scope,
                source,
                into,
            } => {
                let arrow = self.arrow(Node::Constant(*predicate), *direction);
                let _ = write!(text, "degree {} {arrow}", self.slot(*from));
                for into in into {
                    let _ = write!(text, " {}", self.slot(*into));
                }
                text.push_str(&self.place(*scope, *source));
            }
            _ => unreachable!("{OTHERS}"),
        }
        text
    }

    /// The head of a step that has blocks.
    fn block(&self, action: &Action) -> String {
        match action {
            Action::Nested {
                mode,
                branches,
                imports,
                exports,
                row_by_row,
                ..
            } => {
                let mut text = match mode {
                    Mode::Inner if branches.len() > 1 => "UNION".to_owned(),
                    Mode::Inner if *row_by_row => "LATERAL row by row".to_owned(),
                    Mode::Inner => "LATERAL".to_owned(),
                    Mode::Left => "OPTIONAL".to_owned(),
                    Mode::Semi => "EXISTS".to_owned(),
                    Mode::Anti => "anti".to_owned(),
                    Mode::Mark(mark) => format!("mark {} EXISTS", self.slot(*mark)),
                };
                if !imports.is_empty() {
                    let _ = write!(text, " of {}", self.slots(imports));
                }
                if !exports.is_empty() {
                    let _ = write!(text, " gives {}", self.slots(exports));
                }
                text
            }
            Action::Probe { keys, exports, .. } => {
                let mut text = "table join".to_owned();
                if !keys.is_empty() {
                    let _ = write!(text, " on {}", self.slots(keys));
                }
                if !exports.is_empty() {
                    let _ = write!(text, " gives {}", self.slots(exports));
                }
                text
            }
            _ => unreachable!("{OTHERS}"),
        }
    }

    /// Steps that search paths.
    fn path_step(&self, action: &Action) -> String {
        match action {
            Action::PathSeed {
                path,
                direction,
                scope,
                source,
                into,
            } => {
                let arrow = self.path_arrow(path, *direction);
                format!(
                    "path keys {} {arrow}{}",
                    self.slot(*into),
                    self.place(*scope, *source)
                )
            }
            Action::PathExpand {
                from,
                path,
                direction,
                scope,
                source,
                into,
            } => {
                let arrow = self.path_arrow(path, *direction);
                let (from, into) = (self.node(*from), self.slot(*into));
                format!("path {from} {arrow} {into}{}", self.place(*scope, *source))
            }
            Action::PathCheck {
                subject,
                path,
                object,
                scope,
                source,
            } => {
                let arrow = self.path_arrow(path, Direction::Out);
                let (subject, object) = (self.node(*subject), self.node(*object));
                format!(
                    "path check {subject} {arrow} {object}{}",
                    self.place(*scope, *source)
                )
            }
            _ => unreachable!("{OTHERS}"),
        }
    }

    /// Steps that look at rows alone and add no column but a count.
    fn modifier(&self, action: &Action) -> String {
        match action {
            Action::Filter(expression) => format!("filter {}", self.expression(expression)),
            Action::Order { keys, limit } => {
                let mut text = "order".to_owned();
                for key in keys {
                    let direction = if key.descending { "desc " } else { "" };
                    let _ = write!(text, " {direction}{}", self.expression(&key.expression));
                }
                if let Some(limit) = limit {
                    let _ = write!(text, " first {limit}");
                }
                text
            }
            Action::Slice { offset, limit } => {
                let limit = limit.map_or_else(|| "all".to_owned(), |limit| limit.to_string());
                format!("slice offset {offset} limit {limit}")
            }
            Action::Count { distinct, into } => {
                let counted = distinct.as_ref().map_or_else(
                    || "rows".to_owned(),
                    |columns| format!("distinct {}", self.slots(columns)),
                );
                format!("count {counted} as {}", self.slot(*into))
            }
            _ => unreachable!("{OTHERS}"),
        }
    }

    /// Steps that add columns, or rows to rows.
    fn extension(&self, action: &Action) -> String {
        match action {
            Action::Unify { into, from } => {
                format!("unify {} with {}", self.slot(*into), self.slot(*from))
            }
            Action::Bind { expression, into } => {
                format!(
                    "bind {} as {}",
                    self.expression(expression),
                    self.slot(*into)
                )
            }
            Action::Values { columns, rows } => {
                format!("values {} of {} rows", self.slots(columns), rows.len())
            }
            Action::Given { columns, keys, .. } if keys.is_empty() => {
                format!("given {}", self.slots(columns))
            }
            Action::Given { columns, keys, .. } => {
                let (columns, keys) = (self.slots(columns), self.slots(keys));
                format!("given {columns} by {keys}")
            }
            Action::Aggregate { keys, aggregates } => {
                let mut text = "group".to_owned();
                if !keys.is_empty() {
                    let _ = write!(text, " by {}", self.slots(keys));
                }
                for (aggregate, into) in aggregates {
                    let (aggregate, into) = (self.aggregate(aggregate), self.slot(*into));
                    let _ = write!(text, ", {aggregate} as {into}");
                }
                text
            }
            Action::Service {
                endpoint,
                silent,
                columns,
                ..
            } => {
                let silent = if *silent { "silent " } else { "" };
                let columns: Vec<Slot> = columns.iter().map(|(_, slot)| *slot).collect();
                let endpoint = self.node(*endpoint);
                format!("service {silent}{endpoint} gives {}", self.slots(&columns))
            }
            _ => unreachable!("{OTHERS}"),
        }
    }
}
