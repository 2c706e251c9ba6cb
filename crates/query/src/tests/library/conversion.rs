//! The library's algebra in our types: a name for a name, nothing decided.

use crate::error::{ParseError, ParseErrorKind};
use crate::expression::Function;
use crate::grammar::abstract_query::{
    Aggregate, AggregateName, Blank, Constant, Dataset, Expression, Form, GraphPattern, Name,
    NamePattern, Operator, OrderKey, Path, QuadPattern, Query, TermPattern, Terms, TriplePattern,
};
use crate::grammar::lexer::token::{TokenKind, Tokens};
use crate::grammar::parser::builtin::{self, Meaning};
use crate::grammar::translate::{Translated, cast, usable};
use crate::plan::AggregateFunction;
use crate::position::Position;
use oxrdf::vocab::xsd;
use oxrdf::{BlankNode, Term, Triple, Variable};
use spargebra::algebra as theirs;
use spargebra::term as their;
use std::collections::HashMap;

type Converted<T> = Result<T, ParseError>;

pub(super) struct Conversion<'t> {
    terms: Terms<'t>,
    made_up: HashMap<Variable, Name>,
    blanks: HashMap<BlankNode, Blank>,
    /// Within `SERVICE`.
    is_elsewhere: bool,
}

fn refused(kind: ParseErrorKind, message: String) -> ParseError {
    ParseError {
        kind,
        position: Position::START,
        message,
    }
}

/// Whether all is listed after the first `SELECT` or `DESCRIBE`.
fn is_star(tokens: &Tokens<'_>) -> bool {
    let words = tokens.tokens.iter().map(|token| tokens.slice(*token));
    let is_one = |word: &str, of: &[&str]| of.iter().any(|w| w.eq_ignore_ascii_case(word));
    let mut after = words
        .skip_while(|word| !is_one(word, &["SELECT", "DESCRIBE"]))
        .skip(1);
    after.find(|word| !is_one(word, &["DISTINCT", "REDUCED"])) == Some("*")
}

/// A query.
pub(super) fn query<'t>(
    query: &spargebra::Query,
    tokens: &Tokens<'t>,
) -> Converted<Translated<'t, Query>> {
    let mut conversion = Conversion::new(tokens);
    let star = is_star(tokens);
    let form = match query {
        spargebra::Query::Select { .. } => Form::Select { star },
        spargebra::Query::Ask { .. } => Form::Ask,
        spargebra::Query::Describe { .. } => Form::Describe { star },
        spargebra::Query::Construct { template, .. } => {
            Form::Construct(conversion.triples(template))
        }
    };
    let (spargebra::Query::Select { pattern, .. }
    | spargebra::Query::Construct { pattern, .. }
    | spargebra::Query::Describe { pattern, .. }
    | spargebra::Query::Ask { pattern, .. }) = query;
    let said = Query {
        form,
        dataset: query.dataset().map(|dataset| conversion.dataset(dataset)),
        pattern: conversion.pattern(pattern)?,
        base: query.base_iri().map(ToString::to_string),
    };
    Ok(conversion.finish(said))
}

impl<'t> Conversion<'t> {
    /// Knows the variables of the text.
    pub(super) fn new(tokens: &Tokens<'t>) -> Conversion<'t> {
        let mut terms = Terms::default();
        for token in &tokens.tokens {
            if token.kind == TokenKind::Variable {
                terms.name(&tokens.slice(*token)[1..]);
            }
        }
        Conversion {
            terms,
            made_up: HashMap::new(),
            blanks: HashMap::new(),
            is_elsewhere: false,
        }
    }

    pub(super) fn finish<T>(self, said: T) -> Translated<'t, T> {
        Translated {
            said,
            terms: self.terms,
            prefixes: Vec::new(),
            made: 0,
        }
    }

    pub(super) fn constant(&mut self, term: impl Into<Term>) -> Constant {
        self.terms.constant(term.into())
    }

    fn name(&mut self, variable: &Variable) -> Name {
        if let Some(name) = self.terms.known(variable.as_str()) {
            return name;
        }
        let terms = &mut self.terms;
        let name = self.made_up.entry(variable.clone());
        *name.or_insert_with(|| terms.new_name())
    }

    fn names(&mut self, variables: &[Variable]) -> Vec<Name> {
        variables.iter().map(|name| self.name(name)).collect()
    }

    pub(super) fn dataset(&mut self, dataset: &theirs::QueryDataset) -> Dataset {
        let named = dataset.named.iter().flatten();
        Dataset {
            default: dataset
                .default
                .iter()
                .map(|graph| self.constant(graph.clone()))
                .collect(),
            named: named.map(|graph| self.constant(graph.clone())).collect(),
        }
    }

    fn named(&mut self, name: &their::NamedNodePattern) -> NamePattern {
        match name {
            their::NamedNodePattern::NamedNode(node) => {
                NamePattern::Constant(self.constant(node.clone()))
            }
            their::NamedNodePattern::Variable(variable) => {
                NamePattern::Variable(self.name(variable))
            }
        }
    }

    fn term(&mut self, term: &their::TermPattern) -> TermPattern {
        match term {
            their::TermPattern::NamedNode(node) => {
                TermPattern::Constant(self.constant(node.clone()))
            }
            their::TermPattern::Literal(literal) => {
                TermPattern::Constant(self.constant(literal.clone()))
            }
            their::TermPattern::Variable(variable) => TermPattern::Variable(self.name(variable)),
            their::TermPattern::BlankNode(node) => {
                let terms = &mut self.terms;
                let blank = self.blanks.entry(node.clone());
                TermPattern::Blank(*blank.or_insert_with(|| terms.new_blank()))
            }
            their::TermPattern::Triple(triple) => {
                let triple = self.triple(triple);
                match self.ground(&triple) {
                    Some(triple) => TermPattern::Constant(self.constant(triple)),
                    None => TermPattern::Triple(Box::new(triple)),
                }
            }
        }
    }

    fn ground(&self, triple: &TriplePattern) -> Option<Triple> {
        let TermPattern::Constant(subject) = triple.subject else {
            return None;
        };
        let NamePattern::Constant(predicate) = triple.predicate else {
            return None;
        };
        let TermPattern::Constant(object) = triple.object else {
            return None;
        };
        match [subject, predicate, object].map(|part| self.terms.term(part).clone()) {
            [Term::NamedNode(subject), Term::NamedNode(predicate), object] => {
                Some(Triple::new(subject, predicate, object))
            }
            _ => None,
        }
    }

    fn triple(&mut self, triple: &their::TriplePattern) -> TriplePattern {
        TriplePattern {
            subject: self.term(&triple.subject),
            predicate: self.named(&triple.predicate),
            object: self.term(&triple.object),
        }
    }

    fn triples(&mut self, triples: &[their::TriplePattern]) -> Vec<TriplePattern> {
        triples.iter().map(|triple| self.triple(triple)).collect()
    }

    pub(super) fn quad(&mut self, quad: &their::QuadPattern) -> QuadPattern {
        QuadPattern {
            triple: TriplePattern {
                subject: self.term(&quad.subject),
                predicate: self.named(&quad.predicate),
                object: self.term(&quad.object),
            },
            graph: match &quad.graph_name {
                their::GraphNamePattern::DefaultGraph => None,
                their::GraphNamePattern::NamedNode(graph) => {
                    Some(NamePattern::Constant(self.constant(graph.clone())))
                }
                their::GraphNamePattern::Variable(graph) => {
                    Some(NamePattern::Variable(self.name(graph)))
                }
            },
        }
    }

    fn path(&mut self, path: &theirs::PropertyPathExpression) -> Path {
        use theirs::PropertyPathExpression as Theirs;
        match path {
            Theirs::NamedNode(node) => Path::Predicate(self.constant(node.clone())),
            Theirs::Reverse(inner) => Path::Inverse(Box::new(self.path(inner))),
            Theirs::Sequence(left, right) => {
                Path::Sequence(Box::new(self.path(left)), Box::new(self.path(right)))
            }
            Theirs::Alternative(left, right) => {
                Path::Alternative(Box::new(self.path(left)), Box::new(self.path(right)))
            }
            Theirs::ZeroOrMore(inner) => Path::ZeroOrMore(Box::new(self.path(inner))),
            Theirs::OneOrMore(inner) => Path::OneOrMore(Box::new(self.path(inner))),
            Theirs::ZeroOrOne(inner) => Path::ZeroOrOne(Box::new(self.path(inner))),
            Theirs::NegatedPropertySet(list) => {
                let list = list.iter();
                Path::Negated(list.map(|node| self.constant(node.clone())).collect())
            }
        }
    }

    fn boxed(&mut self, pattern: &theirs::GraphPattern) -> Converted<Box<GraphPattern>> {
        self.pattern(pattern).map(Box::new)
    }

    pub(super) fn pattern(&mut self, pattern: &theirs::GraphPattern) -> Converted<GraphPattern> {
        use theirs::GraphPattern as Theirs;
        Ok(match pattern {
            Theirs::Bgp { patterns } => GraphPattern::Bgp(self.triples(patterns)),
            Theirs::Path {
                subject,
                path,
                object,
            } => GraphPattern::Path {
                subject: self.term(subject),
                path: self.path(path),
                object: self.term(object),
            },
            Theirs::Join { left, right } => GraphPattern::Join {
                left: self.boxed(left)?,
                right: self.boxed(right)?,
            },
            Theirs::LeftJoin {
                left,
                right,
                expression,
            } => GraphPattern::LeftJoin {
                left: self.boxed(left)?,
                right: self.boxed(right)?,
                condition: match expression {
                    Some(condition) => Some(self.expression(condition)?),
                    None => None,
                },
            },
            Theirs::Lateral { left, right } => GraphPattern::Lateral {
                left: self.boxed(left)?,
                right: self.boxed(right)?,
            },
            Theirs::Filter { expr, inner } => GraphPattern::Filter {
                inner: self.boxed(inner)?,
                condition: self.expression(expr)?,
            },
            Theirs::Union { left, right } => GraphPattern::Union {
                left: self.boxed(left)?,
                right: self.boxed(right)?,
            },
            Theirs::Graph { name, inner } => GraphPattern::Graph {
                name: self.named(name),
                inner: self.boxed(inner)?,
            },
            Theirs::Extend {
                inner,
                variable,
                expression,
            } => GraphPattern::Extend {
                inner: self.boxed(inner)?,
                variable: self.name(variable),
                expression: self.expression(expression)?,
            },
            Theirs::Minus { left, right } => GraphPattern::Minus {
                left: self.boxed(left)?,
                right: self.boxed(right)?,
            },
            other => self.element(other)?,
        })
    }

    /// What is asked elsewhere, tables, modifiers.
    fn element(&mut self, pattern: &theirs::GraphPattern) -> Converted<GraphPattern> {
        use theirs::GraphPattern as Theirs;
        Ok(match pattern {
            Theirs::Service {
                name,
                inner,
                silent,
            } => {
                let around = std::mem::replace(&mut self.is_elsewhere, true);
                let inner = self.boxed(inner);
                self.is_elsewhere = around;
                GraphPattern::Service {
                    name: self.named(name),
                    inner: inner?,
                    silent: *silent,
                }
            }
            Theirs::Values {
                variables,
                bindings,
            } => GraphPattern::Values {
                variables: self.names(variables),
                rows: bindings.iter().map(|row| self.row(row)).collect(),
            },
            modifier => self.modifier(modifier)?,
        })
    }

    fn modifier(&mut self, pattern: &theirs::GraphPattern) -> Converted<GraphPattern> {
        use theirs::GraphPattern as Theirs;
        Ok(match pattern {
            Theirs::OrderBy { inner, expression } => {
                let mut keys = Vec::new();
                for key in expression {
                    let (expression, descending) = match key {
                        theirs::OrderExpression::Asc(key) => (key, false),
                        theirs::OrderExpression::Desc(key) => (key, true),
                    };
                    keys.push(OrderKey {
                        expression: self.expression(expression)?,
                        descending,
                    });
                }
                GraphPattern::OrderBy {
                    inner: self.boxed(inner)?,
                    keys,
                }
            }
            Theirs::Project { inner, variables } => GraphPattern::Project {
                inner: self.boxed(inner)?,
                variables: self.names(variables),
            },
            Theirs::Distinct { inner } => GraphPattern::Distinct {
                inner: self.boxed(inner)?,
            },
            Theirs::Reduced { inner } => GraphPattern::Reduced {
                inner: self.boxed(inner)?,
            },
            Theirs::Slice {
                inner,
                start,
                length,
            } => GraphPattern::Slice {
                inner: self.boxed(inner)?,
                start: *start as u64,
                length: length.map(|length| length as u64),
            },
            Theirs::Group {
                inner,
                variables,
                aggregates,
            } => {
                let inner = self.boxed(inner)?;
                let variables = self.names(variables);
                let mut converted = Vec::new();
                for (variable, aggregate) in aggregates {
                    converted.push((self.name(variable), self.aggregate(aggregate)?));
                }
                GraphPattern::Group {
                    inner,
                    variables,
                    aggregates: converted,
                }
            }
            other => unreachable!("no modifier: {other}"),
        })
    }

    fn row(&mut self, row: &[Option<their::GroundTerm>]) -> Vec<Option<Constant>> {
        fn ground(term: &their::GroundTerm) -> Term {
            match term {
                their::GroundTerm::NamedNode(node) => node.clone().into(),
                their::GroundTerm::Literal(literal) => literal.clone().into(),
                their::GroundTerm::Triple(triple) => Triple::new(
                    triple.subject.clone(),
                    triple.predicate.clone(),
                    ground(&triple.object),
                )
                .into(),
            }
        }
        let cell = |cell: &Option<their::GroundTerm>| cell.as_ref().map(ground);
        let cells = row.iter().map(cell);
        cells
            .map(|cell| cell.map(|term| self.constant(term)))
            .collect()
    }

    fn aggregate(&mut self, aggregate: &theirs::AggregateExpression) -> Converted<Aggregate> {
        use theirs::AggregateFunction as Theirs;
        let (name, argument, distinct) = match aggregate {
            theirs::AggregateExpression::CountSolutions { distinct } => {
                return Ok(Aggregate::CountSolutions {
                    distinct: *distinct,
                });
            }
            theirs::AggregateExpression::FunctionCall {
                name,
                expr,
                distinct,
            } => (name, self.expression(expr)?, *distinct),
        };
        let function = AggregateName::Known(match name {
            Theirs::Count => AggregateFunction::Count,
            Theirs::Sum => AggregateFunction::Sum,
            Theirs::Avg => AggregateFunction::Avg,
            Theirs::Min => AggregateFunction::Min,
            Theirs::Max => AggregateFunction::Max,
            Theirs::Sample => AggregateFunction::Sample,
            Theirs::GroupConcat { separator } => {
                AggregateFunction::GroupConcat(separator.as_deref().unwrap_or(" ").to_owned())
            }
            Theirs::Custom(name) if self.is_elsewhere => {
                return Ok(Aggregate::Call {
                    function: AggregateName::Other(self.constant(name.clone())),
                    argument,
                    distinct,
                });
            }
            Theirs::Custom(name) => {
                let message = format!("the aggregate {name} is not supported");
                return Err(refused(ParseErrorKind::Unsupported, message));
            }
        });
        Ok(Aggregate::Call {
            function,
            argument,
            distinct,
        })
    }

    fn list(&mut self, list: &[theirs::Expression]) -> Converted<Vec<Expression>> {
        let list = list.iter();
        list.map(|expression| self.expression(expression)).collect()
    }

    fn operand(&mut self, expression: &theirs::Expression) -> Converted<Box<Expression>> {
        self.expression(expression).map(Box::new)
    }

    fn expression(&mut self, expression: &theirs::Expression) -> Converted<Expression> {
        use theirs::Expression as Theirs;
        let (operator, left, right) = match expression {
            Theirs::Equal(left, right) => (Operator::Equal, left, right),
            Theirs::SameTerm(left, right) => (Operator::SameTerm, left, right),
            Theirs::Greater(left, right) => (Operator::Greater, left, right),
            Theirs::GreaterOrEqual(left, right) => (Operator::GreaterOrEqual, left, right),
            Theirs::Less(left, right) => (Operator::Less, left, right),
            Theirs::LessOrEqual(left, right) => (Operator::LessOrEqual, left, right),
            Theirs::Add(left, right) => (Operator::Add, left, right),
            Theirs::Subtract(left, right) => (Operator::Subtract, left, right),
            Theirs::Multiply(left, right) => (Operator::Multiply, left, right),
            Theirs::Divide(left, right) => (Operator::Divide, left, right),
            Theirs::NamedNode(node) => {
                return Ok(Expression::Constant(self.constant(node.clone())));
            }
            Theirs::Literal(literal) => {
                return Ok(Expression::Constant(self.constant(literal.clone())));
            }
            Theirs::Variable(variable) => return Ok(Expression::Variable(self.name(variable))),
            Theirs::Bound(variable) => return Ok(Expression::Bound(self.name(variable))),
            Theirs::Or(left, right) => {
                return Ok(Expression::Or(self.operand(left)?, self.operand(right)?));
            }
            Theirs::And(left, right) => {
                return Ok(Expression::And(self.operand(left)?, self.operand(right)?));
            }
            Theirs::In(value, list) => {
                return Ok(Expression::In(self.operand(value)?, self.list(list)?));
            }
            Theirs::UnaryPlus(inner) => return Ok(Expression::UnaryPlus(self.operand(inner)?)),
            Theirs::UnaryMinus(inner) => return Ok(Expression::UnaryMinus(self.operand(inner)?)),
            Theirs::Not(inner) => return Ok(Expression::Not(self.operand(inner)?)),
            Theirs::Exists(pattern) => return Ok(Expression::Exists(self.boxed(pattern)?)),
            Theirs::If(condition, then, otherwise) => {
                return Ok(Expression::If(
                    self.operand(condition)?,
                    self.operand(then)?,
                    self.operand(otherwise)?,
                ));
            }
            Theirs::Coalesce(list) => return Ok(Expression::Coalesce(self.list(list)?)),
            Theirs::FunctionCall(function, arguments) => return self.call(function, arguments),
        };
        let (left, right) = (self.operand(left)?, self.operand(right)?);
        Ok(Expression::Binary(operator, left, right))
    }

    fn call(
        &mut self,
        function: &theirs::Function,
        arguments: &[theirs::Expression],
    ) -> Converted<Expression> {
        let converted = self.list(arguments)?;
        if let theirs::Function::Custom(name) = function {
            if self.is_elsewhere {
                return Ok(Expression::CallOther(
                    self.constant(name.clone()),
                    converted,
                ));
            }
            return match cast(name) {
                Some(cast) if converted.len() == 1 => {
                    Ok(Expression::Call(Function::Cast(cast), converted))
                }
                _ => Err(refused(
                    ParseErrorKind::Unsupported,
                    format!("the function {name} is not supported"),
                )),
            };
        }
        let named = builtin::builtin(&function.to_string()).map(|builtin| builtin.meaning);
        let Some(Meaning::Function(function)) = named else {
            unreachable!("{function} is called otherwise here");
        };
        self.check(function, arguments)?;
        Ok(Expression::Call(function, converted))
    }

    /// As for our own text.
    fn check(&self, function: Function, arguments: &[theirs::Expression]) -> Converted<()> {
        let flags = match function {
            Function::Regex => 2,
            Function::Replace => 3,
            _ => return Ok(()),
        };
        let text = |at: usize| match arguments.get(at) {
            Some(theirs::Expression::Literal(literal)) if literal.datatype() == xsd::STRING => {
                Some(literal.value())
            }
            _ => None,
        };
        let flags = match arguments.get(flags) {
            None => Some(""),
            Some(_) => text(flags),
        };
        match flags.filter(|_| !self.is_elsewhere) {
            Some(flags) => usable(function, text(1).unwrap_or_default(), flags)
                .map_err(|(kind, message)| refused(kind, message)),
            None => Ok(()),
        }
    }
}
