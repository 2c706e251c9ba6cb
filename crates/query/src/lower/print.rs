//! A pattern as text, for another endpoint.
//!
//! The text parses to the same algebra again: every operator of an expression has its parentheses, a
//! group that ends with a filter is closed before anything follows it, and grouping is a sub-query
//! whose results are filtered and bound outside of it.

use super::having::after_aliases;
use crate::plan::Slot;
use spargebra::algebra::{AggregateExpression, Expression, GraphPattern, OrderExpression};
use std::fmt::Write;

/// `SELECT` of these variables.
pub(super) fn select(columns: &[(String, Slot)], pattern: &GraphPattern) -> String {
    let mut text = "SELECT".to_owned();
    for (name, _) in columns {
        text.push_str(" ?");
        text.push_str(name);
    }
    if columns.is_empty() {
        text.push_str(" *");
    }
    text.push_str(" WHERE { ");
    text.push_str(&group(pattern).text);
    text.push('}');
    text
}

/// What stands between the braces of a group.
struct Content {
    text: String,
    /// A filter of the group follows what it stands around, and would stand around what is added.
    is_filtered: bool,
}

impl Content {
    /// Adds to the text, after closing what is filtered.
    fn push(&mut self, part: &str) {
        self.close();
        self.text.push_str(part);
        self.text.push(' ');
    }

    fn close(&mut self) {
        if self.is_filtered {
            self.text = format!("{{ {}}} ", self.text);
            self.is_filtered = false;
        }
    }

    /// As a group of its own.
    fn braced(self) -> String {
        format!("{{ {}}}", self.text)
    }

    /// As a group of its own whose filters are not the business of what stands before it.
    fn apart(mut self) -> String {
        self.close();
        self.braced()
    }
}

fn group(pattern: &GraphPattern) -> Content {
    let mut content = Content {
        text: String::new(),
        is_filtered: false,
    };
    add(pattern, &mut content);
    content
}

/// Adds the elements of a pattern, first to last.
fn add(pattern: &GraphPattern, content: &mut Content) {
    let mut links = Vec::new();
    let mut first = pattern;
    loop {
        let before = match first {
            GraphPattern::Join { left, .. }
            | GraphPattern::LeftJoin { left, .. }
            | GraphPattern::Lateral { left, .. }
            | GraphPattern::Minus { left, .. } => left,
            GraphPattern::Filter { inner, .. } | GraphPattern::Extend { inner, .. } => inner,
            _ => break,
        };
        links.push(first);
        first = before;
    }
    after_aliases(&mut links);
    element(first, content);
    for link in links.into_iter().rev() {
        match link {
            GraphPattern::Join { right, .. } => joined(right, content),
            GraphPattern::LeftJoin {
                right, expression, ..
            } => {
                let mut right = group(right);
                right.close();
                if let Some(condition) = expression {
                    let _ = write!(right.text, "FILTER({}) ", text_of(condition));
                }
                content.push(&format!("OPTIONAL {}", right.braced()));
            }
            GraphPattern::Lateral { right, .. } => {
                content.push(&format!("LATERAL {}", group(right).braced()));
            }
            GraphPattern::Minus { right, .. } => {
                content.push(&format!("MINUS {}", group(right).braced()));
            }
            GraphPattern::Filter { expr, .. } => {
                content.push(&format!("FILTER({})", text_of(expr)));
                content.is_filtered = true;
            }
            GraphPattern::Extend {
                variable,
                expression,
                ..
            } => content.push(&format!("BIND({} AS {variable})", text_of(expression))),
            _ => unreachable!("the loop above takes no other link"),
        }
    }
}

/// The right side of a join: joins are added one by one, so that triples which share a blank node stay
/// in one group.
fn joined(pattern: &GraphPattern, content: &mut Content) {
    let mut pending = vec![pattern];
    while let Some(next) = pending.pop() {
        match next {
            GraphPattern::Join { left, right } => pending.extend([&**right, &**left]),
            GraphPattern::LeftJoin { .. }
            | GraphPattern::Lateral { .. }
            | GraphPattern::Minus { .. }
            | GraphPattern::Filter { .. }
            | GraphPattern::Extend { .. } => content.push(&group(next).braced()),
            _ => element(next, content),
        }
    }
}

fn element(pattern: &GraphPattern, content: &mut Content) {
    match pattern {
        GraphPattern::Bgp { patterns } => {
            for triple in patterns {
                content.push(&format!("{triple} ."));
            }
        }
        GraphPattern::Path {
            subject,
            path,
            object,
        } => content.push(&format!("{subject} {path} {object} .")),
        GraphPattern::Union { .. } => {
            let mut branches = Vec::new();
            let mut first = pattern;
            while let GraphPattern::Union { left, right } = first {
                branches.push(group(right).braced());
                first = left;
            }
            branches.push(group(first).braced());
            branches.reverse();
            content.push(&branches.join(" UNION "));
        }
        GraphPattern::Graph { name, inner } => {
            content.push(&format!("GRAPH {name} {}", group(inner).braced()));
        }
        GraphPattern::Service {
            name,
            inner,
            silent,
        } => {
            let silent = if *silent { "SILENT " } else { "" };
            content.push(&format!("SERVICE {silent}{name} {}", group(inner).braced()));
        }
        GraphPattern::Group {
            inner,
            variables,
            aggregates,
        } => content.push(&grouped(inner, variables, aggregates)),
        GraphPattern::Values { .. } => content.push(&pattern.to_string()),
        _ => content.push(&sub_select(pattern)),
    }
}

fn grouped(
    inner: &GraphPattern,
    keys: &[oxrdf::Variable],
    aggregates: &[(oxrdf::Variable, AggregateExpression)],
) -> String {
    let mut text = "{ SELECT".to_owned();
    for key in keys {
        let _ = write!(text, " {key}");
    }
    for (variable, aggregate) in aggregates {
        let _ = write!(text, " ({} AS {variable})", aggregate_text(aggregate));
    }
    let _ = write!(text, " WHERE {}", group(inner).braced());
    if !keys.is_empty() {
        text.push_str(" GROUP BY");
        for key in keys {
            let _ = write!(text, " {key}");
        }
    }
    text + " }"
}

fn aggregate_text(aggregate: &AggregateExpression) -> String {
    use spargebra::algebra::AggregateFunction::GroupConcat;
    let AggregateExpression::FunctionCall {
        name,
        expr,
        distinct,
    } = aggregate
    else {
        return aggregate.to_string();
    };
    let distinct = if *distinct { "DISTINCT " } else { "" };
    match name {
        GroupConcat {
            separator: Some(separator),
        } => {
            let separator = oxrdf::Literal::new_simple_literal(separator);
            let argument = text_of(expr);
            format!("GROUP_CONCAT({distinct}{argument}; SEPARATOR = {separator})")
        }
        name => format!("{name}({distinct}{})", text_of(expr)),
    }
}

/// A sub-query: the parser's order of modifiers, outermost first.
fn sub_select(pattern: &GraphPattern) -> String {
    let mut option = "";
    let mut names = String::new();
    let (mut order, mut slice) = (String::new(), String::new());
    let mut next = pattern;
    loop {
        next = match next {
            GraphPattern::Slice {
                inner,
                start,
                length,
            } => {
                slice = format!(" OFFSET {start}");
                if let Some(length) = length {
                    let _ = write!(slice, " LIMIT {length}");
                }
                inner
            }
            GraphPattern::Distinct { inner } => {
                option = " DISTINCT";
                inner
            }
            GraphPattern::Reduced { inner } => {
                option = " REDUCED";
                inner
            }
            GraphPattern::Project { inner, variables } => {
                for variable in variables {
                    let _ = write!(names, " {variable}");
                }
                inner
            }
            GraphPattern::OrderBy { inner, expression } => {
                order.push_str(" ORDER BY");
                for key in expression {
                    let _ = match key {
                        OrderExpression::Asc(key) => write!(order, " ASC({})", text_of(key)),
                        OrderExpression::Desc(key) => write!(order, " DESC({})", text_of(key)),
                    };
                }
                inner
            }
            _ => break,
        };
    }
    if names.is_empty() {
        names.push_str(" *");
    }
    let content = group(next).apart();
    format!("{{ SELECT{option}{names} WHERE {content}{order}{slice} }}")
}

fn text_of(expression: &Expression) -> String {
    let mut text = String::new();
    write_expression(expression, &mut text);
    text
}

fn write_expression(expression: &Expression, text: &mut String) {
    use Expression as E;
    let (operator, operands): (&str, &[&Expression]) = match expression {
        E::And(..) | E::Or(..) => return write_chain(expression, text),
        E::Equal(a, b) => (" = ", &[a, b]),
        E::Greater(a, b) => (" > ", &[a, b]),
        E::GreaterOrEqual(a, b) => (" >= ", &[a, b]),
        E::Less(a, b) => (" < ", &[a, b]),
        E::LessOrEqual(a, b) => (" <= ", &[a, b]),
        E::Add(a, b) => (" + ", &[a, b]),
        E::Subtract(a, b) => (" - ", &[a, b]),
        E::Multiply(a, b) => (" * ", &[a, b]),
        E::Divide(a, b) => (" / ", &[a, b]),
        E::UnaryPlus(a) => ("+ ", &[a]),
        E::UnaryMinus(a) => ("- ", &[a]),
        E::Not(a) => ("! ", &[a]),
        other => return write_operand(other, text),
    };
    text.push('(');
    if let [left, right] = operands {
        write_expression(left, text);
        text.push_str(operator);
        write_expression(right, text);
    } else if let [operand] = operands {
        text.push_str(operator);
        text.push('(');
        write_expression(operand, text);
        text.push(')');
    }
    text.push(')');
}

/// `a && b && ...` and `a || b || ...`, which the parser nests to the left.
fn write_chain(expression: &Expression, text: &mut String) {
    let is_and = matches!(expression, Expression::And(..));
    let mut pending = vec![expression];
    let mut is_first = true;
    text.push('(');
    while let Some(next) = pending.pop() {
        match next {
            Expression::And(left, right) if is_and => pending.extend([&**right, &**left]),
            Expression::Or(left, right) if !is_and => pending.extend([&**right, &**left]),
            link => {
                if !std::mem::take(&mut is_first) {
                    text.push_str(if is_and { " && " } else { " || " });
                }
                write_expression(link, text);
            }
        }
    }
    text.push(')');
}

/// What needs no parentheses.
fn write_operand(expression: &Expression, text: &mut String) {
    match expression {
        Expression::In(value, list) => {
            text.push('(');
            write_expression(value, text);
            text.push_str(" IN ");
            write_list(list.iter(), text);
            text.push(')');
        }
        Expression::SameTerm(a, b) => {
            text.push_str("sameTerm");
            write_list([&**a, &**b].into_iter(), text);
        }
        Expression::If(a, b, c) => {
            text.push_str("IF");
            write_list([&**a, &**b, &**c].into_iter(), text);
        }
        Expression::Coalesce(list) => {
            text.push_str("COALESCE");
            write_list(list.iter(), text);
        }
        Expression::FunctionCall(function, list) => {
            let _ = write!(text, "{function}");
            write_list(list.iter(), text);
        }
        Expression::Exists(pattern) => {
            text.push_str("EXISTS ");
            text.push_str(&group(pattern).braced());
        }
        // Names, literals, variables, BOUND.
        plain => {
            let _ = write!(text, "{plain}");
        }
    }
}

fn write_list<'e>(list: impl Iterator<Item = &'e Expression>, text: &mut String) {
    text.push('(');
    for (at, item) in list.enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        write_expression(item, text);
    }
    text.push(')');
}
