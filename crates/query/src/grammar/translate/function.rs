//! Functions and aggregates.
//!
//! An aggregate becomes a variable that the grouping binds; equal ones share it.
//!
//! Of the functions that are named by an IRI there are the casts, which are named by that of a datatype (SPARQL
//! 1.1 Query section 17.5), and in standing queries `timestamp`, by that of the C-SPARQL engine. Any other is refused: it has no meaning that could be guessed; but for those within
//! `SERVICE`, which the endpoint may know. So are constant patterns of `REGEX` and `REPLACE`, and constant flags,
//! that cannot be used: as an error of each row they would make an empty answer, which looks like one.

use super::Translation;
use crate::error::ParseErrorKind;
use crate::expression::{Cast, Function};
use crate::grammar::abstract_query::{
    Aggregate, AggregateName, Expression, Name, Operator, Timestamps,
};
use crate::grammar::parser::builtin::{self, Meaning};
use crate::grammar::parser::tree::{Id, NodeKind};
use crate::grammar::parser::{GrammarError, Parsed};
use crate::plan::AggregateFunction;
use crate::xpath_pattern::{self, RefusalKind};
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, Term};

/// How texts for C-SPARQL engines write [`Function::TIMESTAMP`]. In a standing query it needs no `PREFIX`.
const TIMESTAMP_NAME: &str = "cs:timestamp";

/// The namespace of the casts.
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

impl Translation<'_> {
    pub(super) fn call(&mut self, id: Id) -> Parsed<Expression> {
        let name = self.tree.slice(id);
        let Some(builtin) = builtin::builtin(name) else {
            return self.fault(id, format!("no function is called {name}"));
        };
        if matches!(builtin.meaning, Meaning::Bound) {
            return Ok(Expression::Bound(self.variable(id.only())));
        }
        let arguments = self.list(id)?;
        Ok(match builtin.meaning {
            Meaning::Function(function) => {
                self.check_pattern(id, function, &arguments)?;
                Expression::Call(function, arguments)
            }
            Meaning::Coalesce => Expression::Coalesce(arguments),
            Meaning::If => {
                let [condition, then, otherwise] = self.exactly(id, arguments)?;
                Expression::If(condition, then, otherwise)
            }
            Meaning::SameTerm | Meaning::Bound => {
                let [left, right] = self.exactly(id, arguments)?;
                Expression::Binary(Operator::SameTerm, left, right)
            }
        })
    }

    fn exactly<const N: usize>(
        &self,
        id: Id,
        arguments: Vec<Expression>,
    ) -> Parsed<[Box<Expression>; N]> {
        match <[Expression; N]>::try_from(arguments) {
            Ok(arguments) => Ok(arguments.map(Box::new)),
            Err(_) => self.fault(id, format!("expected {N} arguments")),
        }
    }

    /// Refuses what XPath does not have in a pattern or in flags that are constants.
    fn check_pattern(&self, id: Id, function: Function, arguments: &[Expression]) -> Parsed {
        if self.is_elsewhere {
            return Ok(());
        }
        let is_text = |at: usize| arguments.get(at).and_then(|text| self.text(text));
        let (pattern, flags_at) = match function {
            Function::Regex => (is_text(1), 2),
            Function::Replace => (is_text(1), 3),
            _ => return Ok(()),
        };
        // Constant flags are looked at beside a computed pattern, too.
        let flags = match arguments.get(flags_at) {
            None => Some(""),
            Some(_) => is_text(flags_at),
        };
        let (checked, with) = match (pattern, flags) {
            (Some(pattern), Some(flags)) => (pattern, flags),
            (None, Some(flags)) => ("", flags),
            _ => return Ok(()),
        };
        let Err((kind, message)) = usable(function, checked, with) else {
            return Ok(());
        };
        let is_of_flags = xpath_pattern::translate("", with).is_err();
        let about = if is_of_flags { flags_at } else { 1 };
        let about = self.tree.children(id).nth(about).unwrap_or(id);
        Err(GrammarError::of(
            kind,
            self.tree.range(about).start,
            message,
        ))
    }

    /// A constant text without a language.
    fn text(&self, expression: &Expression) -> Option<&str> {
        let Expression::Constant(constant) = expression else {
            return None;
        };
        match self.terms.term(*constant) {
            Term::Literal(literal) if literal.datatype() == xsd::STRING => Some(literal.value()),
            _ => None,
        }
    }

    pub(super) fn function_call(&mut self, id: Id) -> Parsed<Expression> {
        if self.tree.child(id, NodeKind::Distinct).is_some() {
            // With DISTINCT it is an aggregate.
            let aggregate = self.aggregated(id, |this| this.other_aggregate(id))?;
            return Ok(Expression::Variable(aggregate));
        }
        let mut children = self.tree.children(id);
        let Some(name) = children.next() else {
            return self.fault(id, "expected the IRI of a function");
        };
        let at = self.tree.range(name).start;
        let iri = self.function_name(name)?;
        let mut arguments = Vec::new();
        for child in children {
            arguments.push(self.expression(child)?);
        }
        if self.is_elsewhere {
            return Ok(Expression::CallOther(self.constant(iri), arguments));
        }
        if iri.as_str() == Function::TIMESTAMP {
            return self.timestamp(at, arguments);
        }
        match cast(&iri) {
            Some(cast) if arguments.len() == 1 => {
                Ok(Expression::Call(Function::Cast(cast), arguments))
            }
            Some(_) => {
                let given = arguments.len();
                let message = format!("the cast {iri} takes one argument, not {given}");
                Err(GrammarError::at(at, message))
            }
            None => Err(GrammarError::of(
                ParseErrorKind::Unsupported,
                at,
                unknown_function(&iri),
            )),
        }
    }

    fn function_name(&mut self, name: Id) -> Parsed<NamedNode> {
        let is_usual = self.tree.slice(name) == TIMESTAMP_NAME && self.prefixes.get("cs").is_none();
        if is_usual && self.streams.timestamps != Timestamps::Refused {
            return Ok(NamedNode::new_unchecked(Function::TIMESTAMP));
        }
        self.iri(name)
    }

    /// The time of a triple, in a query that has windows.
    fn timestamp(&mut self, at: usize, arguments: Vec<Expression>) -> Parsed<Expression> {
        if arguments.len() != 3 {
            let given = arguments.len();
            let message = format!(
                "timestamp takes the three terms of a triple, timestamp(?s, ?p, ?o), not {given}: a variable alone has \
                 no time of arrival"
            );
            return Err(GrammarError::at(at, message));
        }
        let call = Expression::Call(Function::Timestamp, arguments);
        match self.streams.timestamps {
            Timestamps::Refused => {
                let message = "timestamp(?s, ?p, ?o) is the time at which a triple came in a window, and this query has \
                               none: register it over a stream";
                return Err(GrammarError::of(
                    ParseErrorKind::Unsupported,
                    at,
                    message.to_owned(),
                ));
            }
            Timestamps::Error | Timestamps::False => self.streams.asks_times = true,
        }
        if self.streams.timestamps == Timestamps::Error {
            return Ok(call);
        }
        let no = self.constant(Literal::from(false));
        Ok(Expression::Coalesce(vec![call, Expression::Constant(no)]))
    }

    /// An aggregate named by an IRI.
    fn other_aggregate(&mut self, id: Id) -> Parsed<Aggregate> {
        let mut children = self.tree.children(id);
        let (Some(name), Some(_), Some(argument), None) = (
            children.next(),
            children.next(),
            children.next(),
            children.next(),
        ) else {
            return self.fault(id, "an aggregate takes one argument");
        };
        let iri = self.iri(name)?;
        let argument = self.expression(argument)?;
        if !self.is_elsewhere {
            let at = self.tree.range(name).start;
            let message = format!(
                "the aggregate {iri} is not supported: none is named by an IRI, and no other function takes \
                 DISTINCT"
            );
            return Err(GrammarError::of(ParseErrorKind::Unsupported, at, message));
        }
        Ok(Aggregate::Call {
            function: AggregateName::Other(self.constant(iri)),
            argument,
            distinct: true,
        })
    }

    /// The variable that stands for an aggregate.
    pub(super) fn aggregate(&mut self, id: Id) -> Parsed<Name> {
        self.aggregated(id, |this| this.aggregate_itself(id))
    }

    /// The same of one that is translated so.
    fn aggregated(
        &mut self,
        id: Id,
        translate: impl FnOnce(&mut Self) -> Parsed<Aggregate>,
    ) -> Parsed<Name> {
        // Within its brackets there is no other.
        let Some(mut aggregates) = self.aggregates.take() else {
            let name = self.tree.slice(id).to_ascii_uppercase();
            return self.fault(
                id,
                format!(
                    "{name} cannot stand here: aggregates belong into SELECT, HAVING and ORDER BY, and not \
                     into one another"
                ),
            );
        };
        let aggregate = translate(self)?;
        let known = aggregates.iter().find(|(_, known)| *known == aggregate);
        let variable = if let Some((variable, _)) = known {
            *variable
        } else {
            let variable = self.terms.new_name();
            aggregates.push((variable, aggregate));
            variable
        };
        self.aggregates = Some(aggregates);
        Ok(variable)
    }

    fn aggregate_itself(&mut self, id: Id) -> Parsed<Aggregate> {
        let distinct = self.tree.child(id, NodeKind::Distinct).is_some();
        let argument = self.tree.children(id).nth(usize::from(distinct));
        let (Some(argument), Some(aggregate)) = (argument, builtin::aggregate(self.tree.slice(id)))
        else {
            return self.fault(id, "expected an aggregate");
        };
        if self.kind(argument) == NodeKind::Star {
            return Ok(Aggregate::CountSolutions { distinct });
        }
        let argument = self.expression(argument)?;
        let function = match aggregate {
            builtin::AggregateName::Count => AggregateFunction::Count,
            builtin::AggregateName::Sum => AggregateFunction::Sum,
            builtin::AggregateName::Min => AggregateFunction::Min,
            builtin::AggregateName::Max => AggregateFunction::Max,
            builtin::AggregateName::Avg => AggregateFunction::Avg,
            builtin::AggregateName::Sample => AggregateFunction::Sample,
            builtin::AggregateName::GroupConcat => {
                let separator = match self.tree.child(id, NodeKind::Separator) {
                    Some(separator) => self.quoted(self.tree.range(separator).start)?,
                    None => " ".to_owned(),
                };
                AggregateFunction::GroupConcat(separator)
            }
        };
        Ok(Aggregate::Call {
            function: AggregateName::Known(function),
            argument,
            distinct,
        })
    }
}

/// Whether a constant pattern with these flags can be used; else why not.
pub(crate) fn usable(
    function: Function,
    pattern: &str,
    flags: &str,
) -> Result<(), (ParseErrorKind, String)> {
    /// Characters of the pattern that the message quotes.
    const QUOTED_CHARS: usize = 200;
    let Err(refusal) = xpath_pattern::translate(pattern, flags) else {
        return Ok(());
    };
    let name = match function {
        Function::Replace => "REPLACE",
        _ => "REGEX",
    };
    let kind = match refusal.kind {
        RefusalKind::Invalid => ParseErrorKind::Syntax,
        RefusalKind::Unsupported => ParseErrorKind::Unsupported,
    };
    let message = if xpath_pattern::translate("", flags).is_err() {
        format!("the flags {flags:?} of {name} cannot be used: {refusal}")
    } else {
        let quoted: String = pattern.chars().take(QUOTED_CHARS).collect();
        format!("the regular expression {quoted:?} of {name} cannot be used: {refusal}")
    };
    Err((kind, message))
}

fn unknown_function(name: &NamedNode) -> String {
    match name.as_str().strip_prefix(XSD) {
        Some(_) => format!(
            "the cast {name} is not supported: there are casts to boolean, string, numbers, dates, \
             times, durations, parts of dates (such as gYear), and to what is derived from integer \
             and string (such as int and token); mind upper and lower case"
        ),
        None => format!(
            "the function {name} is not supported: of functions named by an IRI there are the \
             casts of XML Schema, such as xsd:integer; use a builtin, or leave the call out"
        ),
    }
}

/// The cast that an IRI stands for.
pub(crate) fn cast(name: &NamedNode) -> Option<Cast> {
    Cast::of_datatype(name.as_ref())
}
