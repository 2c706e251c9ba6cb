//! A pattern as text, for another endpoint.
//!
//! The text parses to the same algebra again: every operator of an expression has its parentheses, a
//! group that ends with a filter is closed before anything follows it, and grouping is a sub-query
//! whose results are filtered and bound outside of it.

use super::having::after_aliases;
use crate::grammar::abstract_query::{
    Aggregate, AggregateName, Constant, Expression, GraphPattern, Name, NamePattern, Operator,
    Path, TermPattern, Terms, TriplePattern,
};
use crate::plan::AggregateFunction;
use oxrdf::Literal;
use std::fmt::Write;

/// Writes patterns.
pub(super) struct Printer<'p, 't> {
    terms: &'p Terms<'t>,
    /// What the names of variables begin with that the text does not have, and those of no variable that it has.
    made_up: String,
}

impl<'p, 't> Printer<'p, 't> {
    pub(super) fn new(terms: &'p Terms<'t>) -> Printer<'p, 't> {
        let alike = terms.texts().iter();
        let alike = alike.filter_map(|name| name.strip_prefix("made"));
        let underscores = alike.map(|rest| rest.len() - rest.trim_start_matches('_').len());
        let more = underscores.max().map_or(0, |longest| longest + 1);
        let made_up = format!("made{}", "_".repeat(more));
        Printer { terms, made_up }
    }

    /// `SELECT` of these variables.
    pub(super) fn select(&self, columns: &[Name], pattern: &GraphPattern) -> String {
        let mut text = "SELECT".to_owned() + &self.listed(columns);
        if columns.is_empty() {
            text.push_str(" *");
        }
        text.push_str(" WHERE { ");
        text.push_str(&self.group(pattern).text);
        text.push('}');
        text
    }

    fn variable(&self, name: Name) -> String {
        match self.terms.text(name) {
            Some(text) => format!("?{text}"),
            None => format!("?{}{}", self.made_up, name.number()),
        }
    }

    fn constant(&self, constant: Constant) -> String {
        self.terms.term(constant).to_string()
    }

    fn name(&self, name: NamePattern) -> String {
        match name {
            NamePattern::Constant(constant) => self.constant(constant),
            NamePattern::Variable(variable) => self.variable(variable),
        }
    }

    fn term(&self, term: &TermPattern) -> String {
        match term {
            TermPattern::Constant(constant) => self.constant(*constant),
            TermPattern::Variable(variable) => self.variable(*variable),
            TermPattern::Blank(blank) => format!("_:b{}", blank.number()),
            TermPattern::Triple(triple) => format!("<<( {} )>>", self.triple(triple)),
        }
    }

    fn triple(&self, triple: &TriplePattern) -> String {
        let TriplePattern {
            subject,
            predicate,
            object,
        } = triple;
        let (subject, object) = (self.term(subject), self.term(object));
        format!("{subject} {} {object}", self.name(*predicate))
    }

    fn path(&self, path: &Path) -> String {
        let pair = |left: &Path, operator: char, right: &Path| {
            format!("({} {operator} {})", self.path(left), self.path(right))
        };
        match path {
            Path::Predicate(predicate) => self.constant(*predicate),
            Path::Inverse(inner) => format!("^({})", self.path(inner)),
            Path::Sequence(left, right) => pair(left, '/', right),
            Path::Alternative(left, right) => pair(left, '|', right),
            Path::ZeroOrMore(inner) => format!("({})*", self.path(inner)),
            Path::OneOrMore(inner) => format!("({})+", self.path(inner)),
            Path::ZeroOrOne(inner) => format!("({})?", self.path(inner)),
            Path::Negated(list) => {
                let list: Vec<String> = list.iter().map(|name| self.constant(*name)).collect();
                format!("!({})", list.join(" | "))
            }
        }
    }

    fn values(&self, variables: &[Name], rows: &[Vec<Option<Constant>>]) -> String {
        let mut text = format!("VALUES ({} ) {{", self.listed(variables));
        for row in rows {
            text.push_str(" (");
            for cell in row {
                match cell {
                    Some(constant) => {
                        let _ = write!(text, " {}", self.terms.term(*constant));
                    }
                    None => text.push_str(" UNDEF"),
                }
            }
            text.push_str(" )");
        }
        text + " }"
    }

    fn group(&self, pattern: &GraphPattern) -> Content {
        let mut content = Content {
            text: String::new(),
            is_filtered: false,
        };
        self.add(pattern, &mut content);
        content
    }

    /// Adds the elements of a pattern, first to last.
    fn add(&self, pattern: &GraphPattern, content: &mut Content) {
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
        self.element(first, content);
        for link in links.into_iter().rev() {
            match link {
                GraphPattern::Join { right, .. } => self.joined(right, content),
                GraphPattern::LeftJoin {
                    right, condition, ..
                } => {
                    let mut right = self.group(right);
                    right.close();
                    if let Some(condition) = condition {
                        let _ = write!(right.text, "FILTER({}) ", self.text_of(condition));
                    }
                    content.push(&format!("OPTIONAL {}", right.braced()));
                }
                GraphPattern::Lateral { right, .. } => {
                    content.push(&format!("LATERAL {}", self.group(right).braced()));
                }
                GraphPattern::Minus { right, .. } => {
                    content.push(&format!("MINUS {}", self.group(right).braced()));
                }
                GraphPattern::Filter { condition, .. } => {
                    content.push(&format!("FILTER({})", self.text_of(condition)));
                    content.is_filtered = true;
                }
                GraphPattern::Extend {
                    variable,
                    expression,
                    ..
                } => {
                    let (value, name) = (self.text_of(expression), self.variable(*variable));
                    content.push(&format!("BIND({value} AS {name})"));
                }
                _ => unreachable!("the loop above takes no other link"),
            }
        }
    }

    /// The right side of a join: joins are added one by one, so that triples which share a blank node stay
    /// in one group.
    fn joined(&self, pattern: &GraphPattern, content: &mut Content) {
        let mut pending = vec![pattern];
        while let Some(next) = pending.pop() {
            match next {
                GraphPattern::Join { left, right } => pending.extend([&**right, &**left]),
                GraphPattern::LeftJoin { .. }
                | GraphPattern::Lateral { .. }
                | GraphPattern::Minus { .. }
                | GraphPattern::Filter { .. }
                | GraphPattern::Extend { .. } => content.push(&self.group(next).braced()),
                _ => self.element(next, content),
            }
        }
    }

    fn element(&self, pattern: &GraphPattern, content: &mut Content) {
        match pattern {
            GraphPattern::Bgp(triples) => {
                for triple in triples {
                    content.push(&format!("{} .", self.triple(triple)));
                }
            }
            GraphPattern::Path {
                subject,
                path,
                object,
            } => {
                let (subject, object) = (self.term(subject), self.term(object));
                content.push(&format!("{subject} {} {object} .", self.path(path)));
            }
            GraphPattern::Union { .. } => {
                let mut branches = Vec::new();
                let mut first = pattern;
                while let GraphPattern::Union { left, right } = first {
                    branches.push(self.group(right).braced());
                    first = left;
                }
                branches.push(self.group(first).braced());
                branches.reverse();
                content.push(&branches.join(" UNION "));
            }
            GraphPattern::Graph { name, inner } => {
                let name = self.name(*name);
                content.push(&format!("GRAPH {name} {}", self.group(inner).braced()));
            }
            GraphPattern::Window { .. } => {
                unreachable!("a window within SERVICE is refused where it is translated")
            }
            GraphPattern::Service {
                name,
                inner,
                silent,
            } => {
                let silent = if *silent { "SILENT " } else { "" };
                let name = self.name(*name);
                let inner = self.group(inner).braced();
                content.push(&format!("SERVICE {silent}{name} {inner}"));
            }
            GraphPattern::Group {
                inner,
                variables,
                aggregates,
            } => content.push(&self.grouped(inner, variables, aggregates)),
            GraphPattern::Values { variables, rows } => {
                content.push(&self.values(variables, rows));
            }
            _ => content.push(&self.sub_select(pattern)),
        }
    }

    /// Variables, with a blank before each.
    fn listed(&self, names: &[Name]) -> String {
        let mut text = String::new();
        for name in names {
            text.push(' ');
            text.push_str(&self.variable(*name));
        }
        text
    }

    fn grouped(
        &self,
        inner: &GraphPattern,
        keys: &[Name],
        aggregates: &[(Name, Aggregate)],
    ) -> String {
        let mut once = Vec::with_capacity(keys.len());
        for key in keys {
            if !once.contains(key) {
                once.push(*key);
            }
        }
        let keys = self.listed(&once);
        let mut text = format!("{{ SELECT{keys}");
        for (name, aggregate) in aggregates {
            let name = self.variable(*name);
            let _ = write!(text, " ({} AS {name})", self.aggregate(aggregate));
        }
        let _ = write!(text, " WHERE {}", self.group(inner).braced());
        if !keys.is_empty() {
            let _ = write!(text, " GROUP BY{keys}");
        }
        text + " }"
    }

    fn aggregate(&self, aggregate: &Aggregate) -> String {
        let option = |distinct: &bool| if *distinct { "DISTINCT " } else { "" };
        let (function, argument, distinct) = match aggregate {
            Aggregate::CountSolutions { distinct } => {
                return format!("COUNT({}*)", option(distinct));
            }
            Aggregate::Call {
                function,
                argument,
                distinct,
            } => (function, self.text_of(argument), option(distinct)),
        };
        let name = match function {
            AggregateName::Other(name) => &self.constant(*name),
            AggregateName::Known(AggregateFunction::GroupConcat(separator)) if separator != " " => {
                let separator = Literal::new_simple_literal(separator);
                return format!("GROUP_CONCAT({distinct}{argument}; SEPARATOR = {separator})");
            }
            AggregateName::Known(function) => match function {
                AggregateFunction::Count => "COUNT",
                AggregateFunction::Sum => "SUM",
                AggregateFunction::Avg => "AVG",
                AggregateFunction::Min => "MIN",
                AggregateFunction::Max => "MAX",
                AggregateFunction::Sample => "SAMPLE",
                AggregateFunction::GroupConcat(_) => "GROUP_CONCAT",
            },
        };
        format!("{name}({distinct}{argument})")
    }

    /// A sub-query: the parser's order of modifiers, outermost first.
    fn sub_select(&self, pattern: &GraphPattern) -> String {
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
                    names.push_str(&self.listed(variables));
                    inner
                }
                GraphPattern::OrderBy { inner, keys } => {
                    order.push_str(" ORDER BY");
                    for key in keys {
                        let direction = if key.descending { "DESC" } else { "ASC" };
                        let _ = write!(order, " {direction}({})", self.text_of(&key.expression));
                    }
                    inner
                }
                _ => break,
            };
        }
        if names.is_empty() {
            names.push_str(" *");
        }
        let content = self.group(next).apart();
        format!("{{ SELECT{option}{names} WHERE {content}{order}{slice} }}")
    }

    fn text_of(&self, expression: &Expression) -> String {
        let mut text = String::new();
        self.write_expression(expression, &mut text);
        text
    }

    fn write_expression(&self, expression: &Expression, text: &mut String) {
        use Expression as E;
        let (operator, operands): (&str, &[&Expression]) = match expression {
            E::And(..) | E::Or(..) => return self.write_chain(expression, text),
            E::Binary(Operator::SameTerm, a, b) => {
                text.push_str("sameTerm");
                return self.write_list([&**a, &**b].into_iter(), text);
            }
            E::Binary(operator, a, b) => (infix(*operator), &[a, b]),
            E::UnaryPlus(a) => ("+ ", &[a]),
            E::UnaryMinus(a) => ("- ", &[a]),
            E::Not(a) => ("! ", &[a]),
            other => return self.write_operand(other, text),
        };
        text.push('(');
        if let [left, right] = operands {
            self.write_expression(left, text);
            text.push_str(operator);
            self.write_expression(right, text);
        } else if let [operand] = operands {
            text.push_str(operator);
            text.push('(');
            self.write_expression(operand, text);
            text.push(')');
        }
        text.push(')');
    }

    /// `a && b && ...` and `a || b || ...`, which the parser nests to the left.
    fn write_chain(&self, expression: &Expression, text: &mut String) {
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
                    self.write_expression(link, text);
                }
            }
        }
        text.push(')');
    }

    /// What needs no parentheses.
    fn write_operand(&self, expression: &Expression, text: &mut String) {
        match expression {
            Expression::In(value, list) => {
                text.push('(');
                self.write_expression(value, text);
                text.push_str(" IN ");
                self.write_list(list.iter(), text);
                text.push(')');
            }
            Expression::If(a, b, c) => {
                text.push_str("IF");
                self.write_list([&**a, &**b, &**c].into_iter(), text);
            }
            Expression::Coalesce(list) => {
                text.push_str("COALESCE");
                self.write_list(list.iter(), text);
            }
            Expression::Call(function, list) => {
                // Casts stand for themselves within SERVICE.
                text.push_str(function.name().unwrap_or_default());
                self.write_list(list.iter(), text);
            }
            Expression::CallOther(name, list) => {
                text.push_str(&self.constant(*name));
                self.write_list(list.iter(), text);
            }
            Expression::Exists(pattern) => {
                text.push_str("EXISTS ");
                text.push_str(&self.group(pattern).braced());
            }
            Expression::Constant(constant) => text.push_str(&self.constant(*constant)),
            Expression::Variable(name) => text.push_str(&self.variable(*name)),
            Expression::Bound(name) => {
                let _ = write!(text, "BOUND({})", self.variable(*name));
            }
            operator => self.write_expression(operator, text),
        }
    }

    fn write_list<'e>(&self, list: impl Iterator<Item = &'e Expression>, text: &mut String) {
        text.push('(');
        for (at, item) in list.enumerate() {
            if at > 0 {
                text.push_str(", ");
            }
            self.write_expression(item, text);
        }
        text.push(')');
    }
}

/// The operator between its operands.
fn infix(operator: Operator) -> &'static str {
    match operator {
        // Written as a call.
        Operator::SameTerm => ", ",
        Operator::Equal => " = ",
        Operator::Less => " < ",
        Operator::LessOrEqual => " <= ",
        Operator::Greater => " > ",
        Operator::GreaterOrEqual => " >= ",
        Operator::Add => " + ",
        Operator::Subtract => " - ",
        Operator::Multiply => " * ",
        Operator::Divide => " / ",
    }
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
