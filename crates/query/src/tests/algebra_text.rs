//! An algebra as text, for tests: one line, elements separated by semicolons.

use crate::algebra::{Element, Group, Query};
use crate::expression::Expression;
use crate::path::Path;
use crate::plan::{Aggregate, ConstantId, Form, Node, Slot, Source, TemplateTerm};

/// The body, an arrow, the form.
pub(super) fn text_of(query: &Query) -> String {
    let shown = Shown(query);
    format!("{} -> {}", shown.group(query.body()), shown.form())
}

struct Shown<'q>(&'q Query);

impl Shown<'_> {
    fn group(&self, group: &Group) -> String {
        let elements = group.elements.iter().map(|element| self.element(element));
        elements.collect::<Vec<_>>().join("; ")
    }

    fn groups(&self, groups: &[Group]) -> String {
        let groups = groups
            .iter()
            .map(|group| format!("{{{}}}", self.group(group)));
        groups.collect::<Vec<_>>().join(" ")
    }

    fn slot(&self, slot: Slot) -> String {
        let name = &self.0.variables()[usize::from(slot.0)];
        let mark = if name.starts_with('.') { "" } else { "?" };
        format!("{mark}{name}")
    }

    fn slots(&self, slots: &[Slot]) -> String {
        let slots = slots.iter().map(|slot| self.slot(*slot));
        slots.collect::<Vec<_>>().join(" ")
    }

    fn constant(&self, id: ConstantId) -> String {
        let term = self.0.constants()[id.0 as usize].to_string();
        let iri = term
            .strip_prefix('<')
            .and_then(|term| term.strip_suffix('>'));
        match (iri, term.split_once("^^")) {
            (Some(iri), _) if !iri.contains('<') => iri.to_owned(),
            (_, Some((value, _))) if term.starts_with('"') => value.trim_matches('"').to_owned(),
            _ => term,
        }
    }

    fn node(&self, node: Node) -> String {
        match node {
            Node::Slot(slot) => self.slot(slot),
            Node::Constant(id) => self.constant(id),
        }
    }

    /// The graph, and the source where it is not the store.
    fn within(&self, graph: Option<Node>, source: Source) -> String {
        let graph = graph.map_or(String::new(), |graph| format!(" @{}", self.node(graph)));
        match source {
            Source::STORE => graph,
            Source(number) => format!("{graph} in {number}"),
        }
    }

    fn element(&self, element: &Element) -> String {
        match element {
            Element::Pattern(p) => {
                let nodes = [p.subject, p.predicate, p.object].map(|node| self.node(node));
                format!("{}{}", nodes.join(" "), self.within(p.graph, p.source))
            }
            Element::Path(p) => format!(
                "{} {} {}{}",
                self.node(p.subject),
                self.path(&p.path),
                self.node(p.object),
                self.within(p.graph, p.source)
            ),
            Element::Graph(graph, source) => {
                format!("graph {}{}", self.node(*graph), self.within(None, *source))
            }
            Element::TripleTerm {
                term,
                subject,
                predicate,
                object,
            } => {
                let nodes = [*subject, *predicate, *object].map(|node| self.node(node));
                format!("{} = <<{}>>", self.slot(*term), nodes.join(" "))
            }
            Element::Values { columns, rows } => {
                let rows = rows.iter().map(|row| {
                    let cells = row
                        .iter()
                        .map(|cell| cell.map_or("UNDEF".to_owned(), |id| self.constant(id)));
                    cells.collect::<Vec<_>>().join(" ")
                });
                let rows = rows.collect::<Vec<_>>().join(" | ");
                format!("values ({}) ({rows})", self.slots(columns))
            }
            Element::Given { columns, .. } => format!("given ({})", self.slots(columns)),
            Element::Service(service) => format!(
                "service{} {} [{}] {}",
                if service.silent { " silent" } else { "" },
                self.node(service.endpoint),
                service.text,
                self.slots(&service.columns.iter().map(|c| c.1).collect::<Vec<_>>()),
            ),
            other => self.nested(other),
        }
    }

    fn nested(&self, element: &Element) -> String {
        match element {
            Element::Join(group) => format!("join {{{}}}", self.group(group)),
            Element::Union(groups) => format!("union {}", self.groups(groups)),
            Element::Optional { group, condition } => {
                let condition = self.group(&Group {
                    elements: condition.clone(),
                });
                let condition = match &condition[..] {
                    "" => String::new(),
                    condition => format!(" if [{condition}]"),
                };
                format!("optional {{{}}}{condition}", self.group(group))
            }
            Element::Minus(group) => format!("minus {{{}}}", self.group(group)),
            Element::Lateral(group) => format!("lateral {{{}}}", self.group(group)),
            Element::Exists { group, negated } => {
                let not = if *negated { "not " } else { "" };
                format!("{not}exists {{{}}}", self.group(group))
            }
            Element::Mark { group, into } => {
                format!("mark {} {{{}}}", self.slot(*into), self.group(group))
            }
            other => self.computed(other),
        }
    }

    fn computed(&self, element: &Element) -> String {
        match element {
            Element::Filter(condition) => format!("filter {}", self.expression(condition)),
            Element::Bind { expression, into } => {
                format!("{} := {}", self.slot(*into), self.expression(expression))
            }
            Element::Aggregate { keys, aggregates } => {
                let aggregates = aggregates.iter().map(|(aggregate, into)| {
                    format!("{} := {}", self.slot(*into), self.aggregate(aggregate))
                });
                let aggregates = aggregates.collect::<Vec<_>>().join(", ");
                format!("group ({}) [{aggregates}]", self.slots(keys))
            }
            Element::Order(keys) => {
                let keys = keys.iter().map(|key| {
                    let way = if key.descending { "desc " } else { "" };
                    format!("{way}{}", self.expression(&key.expression))
                });
                format!("order {}", keys.collect::<Vec<_>>().join(", "))
            }
            Element::Project(columns) => format!("project {}", self.slots(columns)),
            Element::Distinct => "distinct".to_owned(),
            Element::Slice { offset, limit } => format!("slice {offset} {limit:?}"),
            other => format!("{other:?}"),
        }
    }

    fn path(&self, path: &Path) -> String {
        let list = |paths: &[Path], between: &str| {
            let paths = paths.iter().map(|path| self.path(path));
            format!("({})", paths.collect::<Vec<_>>().join(between))
        };
        let names = |ids: &Option<Vec<ConstantId>>| match ids {
            None => "none".to_owned(),
            Some(ids) => {
                let ids = ids.iter().map(|id| self.constant(*id));
                ids.collect::<Vec<_>>().join("|")
            }
        };
        match path {
            Path::Predicate(id) => self.constant(*id),
            Path::Inverse(inner) => format!("^{}", self.path(inner)),
            Path::Sequence(steps) => list(steps, "/"),
            Path::Alternative(paths) => list(paths, "|"),
            Path::ZeroOrMore(inner) => format!("{}*", self.path(inner)),
            Path::OneOrMore(inner) => format!("{}+", self.path(inner)),
            Path::ZeroOrOne(inner) => format!("{}?", self.path(inner)),
            Path::Negated { forward, backward } => {
                format!("!({}, ^{})", names(forward), names(backward))
            }
        }
    }

    fn aggregate(&self, aggregate: &Aggregate) -> String {
        let argument = aggregate.argument.as_ref();
        let argument = argument.map_or("*".to_owned(), |argument| self.expression(argument));
        let distinct = match aggregate.distinct.as_deref() {
            None => String::new(),
            Some([]) => "distinct ".to_owned(),
            Some(columns) => format!("distinct {} of ", self.slots(columns)),
        };
        format!("{:?}({distinct}{argument})", aggregate.function)
    }

    fn expression(&self, expression: &Expression) -> String {
        let name = match expression {
            Expression::Slot(slot) => return self.slot(*slot),
            Expression::Constant(id) => return self.constant(*id),
            Expression::Bound(slot) => return format!("bound({})", self.slot(*slot)),
            Expression::Or(_) => "or".to_owned(),
            Expression::And(_) => "and".to_owned(),
            Expression::Not(_) => "not".to_owned(),
            Expression::Compare(comparison, ..) => format!("{comparison:?}"),
            Expression::SameTerm(..) => "same".to_owned(),
            Expression::In(..) => "in".to_owned(),
            Expression::Arithmetic(arithmetic, ..) => format!("{arithmetic:?}"),
            Expression::Plus(_) => "plus".to_owned(),
            Expression::Minus(_) => "minus".to_owned(),
            Expression::If(..) => "if".to_owned(),
            Expression::Coalesce(list) if list.is_empty() => return "error".to_owned(),
            Expression::Coalesce(_) => "coalesce".to_owned(),
            Expression::Call(function, _) => format!("{function:?}"),
        };
        let mut operands = Vec::new();
        expression.for_each_operand(&mut |operand| operands.push(self.expression(operand)));
        format!("{name}({})", operands.join(", "))
    }

    fn form(&self) -> String {
        match self.0.form() {
            Form::Select(columns) => format!("select {}", self.slots(columns)),
            Form::Ask => "ask".to_owned(),
            Form::Construct(triples) => {
                let triples = triples.iter().map(|triple| self.template(triple));
                format!("construct {}", triples.collect::<Vec<_>>().join(" . "))
            }
            Form::Describe(nodes) => {
                let nodes = nodes.iter().map(|node| self.node(*node));
                format!("describe {}", nodes.collect::<Vec<_>>().join(" "))
            }
        }
    }

    fn template(&self, triple: &[TemplateTerm; 3]) -> String {
        let terms = triple.iter().map(|term| match term {
            TemplateTerm::Slot(slot) => self.slot(*slot),
            TemplateTerm::Constant(id) => self.constant(*id),
            TemplateTerm::Blank(number) => format!("_:{number}"),
            TemplateTerm::Triple(inner) => format!("<<{}>>", self.template(inner)),
        });
        terms.collect::<Vec<_>>().join(" ")
    }
}
