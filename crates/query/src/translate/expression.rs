//! Expressions.
//!
//! An aggregate becomes a variable that the grouping binds; equal ones share it.

use super::Translation;
use crate::parser::Parsed;
use crate::parser::builtin::{self, Aggregate, Meaning};
use crate::parser::tree::{Id, Kind};
use oxrdf::Variable;
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, Function};

impl Translation<'_> {
    pub(super) fn expression(&mut self, id: Id) -> Parsed<Expression> {
        let kind = self.kind(id);
        Ok(match kind {
            Kind::Variable => self.variable(id).into(),
            Kind::Iri => self.iri(id)?.into(),
            Kind::String | Kind::Number | Kind::Boolean => self.literal(id)?.into(),
            Kind::Parenthesised => self.expression(id.only())?,
            Kind::Or => self.fold(id, |_, left, right| Expression::Or(left, right))?,
            Kind::And => self.fold(id, |_, left, right| Expression::And(left, right))?,
            Kind::Sum => self.fold(id, |operator, left, right| match operator {
                "+" => Expression::Add(left, right),
                _ => Expression::Subtract(left, right),
            })?,
            Kind::Product => self.fold(id, |operator, left, right| match operator {
                "*" => Expression::Multiply(left, right),
                _ => Expression::Divide(left, right),
            })?,
            Kind::Not => Expression::Not(self.inner(id)?),
            Kind::Negative => Expression::UnaryMinus(self.inner(id)?),
            Kind::Positive => Expression::UnaryPlus(self.inner(id)?),
            Kind::In => self.in_list(id)?,
            Kind::NotIn => Expression::Not(Box::new(self.in_list(id)?)),
            Kind::Exists => Expression::Exists(Box::new(self.group(id.only())?)),
            Kind::NotExists => {
                let pattern = self.group(id.only())?;
                Expression::Not(Box::new(Expression::Exists(Box::new(pattern))))
            }
            Kind::TripleTerm => self.triple_term(id)?,
            Kind::Call => self.call(id)?,
            Kind::FunctionCall => self.function_call(id)?,
            Kind::Aggregate => self.aggregate(id)?.into(),
            _ => self.comparison(id, kind)?,
        })
    }

    fn inner(&mut self, id: Id) -> Parsed<Box<Expression>> {
        self.expression(id.only()).map(Box::new)
    }

    /// A chain of operators, to the left.
    fn fold(
        &mut self,
        id: Id,
        join: impl Fn(&str, Box<Expression>, Box<Expression>) -> Expression,
    ) -> Parsed<Expression> {
        let mut operands = self.tree.children(id);
        let Some(first) = operands.next() else {
            return self.fault(id, "expected an expression");
        };
        let mut chain = self.expression(first)?;
        for operand in operands {
            let right = self.expression(operand)?;
            let operator = self.tree.slice_before(operand);
            chain = join(operator, Box::new(chain), Box::new(right));
        }
        Ok(chain)
    }

    fn comparison(&mut self, id: Id, kind: Kind) -> Parsed<Expression> {
        let mut sides = self.tree.children(id);
        let (Some(left), Some(right)) = (sides.next(), sides.next()) else {
            return self.fault(id, "expected an expression");
        };
        let left = Box::new(self.expression(left)?);
        let right = Box::new(self.expression(right)?);
        Ok(match kind {
            Kind::Equal => Expression::Equal(left, right),
            Kind::NotEqual => Expression::Not(Box::new(Expression::Equal(left, right))),
            Kind::Less => Expression::Less(left, right),
            Kind::LessOrEqual => Expression::LessOrEqual(left, right),
            Kind::Greater => Expression::Greater(left, right),
            Kind::GreaterOrEqual => Expression::GreaterOrEqual(left, right),
            _ => return self.fault(id, "expected an expression"),
        })
    }

    fn in_list(&mut self, id: Id) -> Parsed<Expression> {
        let mut list = self.list(id)?.into_iter();
        match list.next() {
            Some(value) => Ok(Expression::In(Box::new(value), list.collect())),
            None => self.fault(id, "expected an expression"),
        }
    }

    /// The children, as expressions.
    fn list(&mut self, id: Id) -> Parsed<Vec<Expression>> {
        let children = self.tree.children(id);
        children.map(|child| self.expression(child)).collect()
    }

    /// `<<( )>>`: what `TRIPLE` makes.
    fn triple_term(&mut self, id: Id) -> Parsed<Expression> {
        let mut arguments = Vec::with_capacity(3);
        for (at, part) in self.tree.children(id).enumerate() {
            arguments.push(match self.kind(part) {
                Kind::Type => Expression::NamedNode(oxrdf::vocab::rdf::TYPE.into_owned()),
                Kind::Label | Kind::Anonymous => {
                    return self.fault(part, "a blank node is no part of an expression");
                }
                Kind::Variable | Kind::Iri => self.expression(part)?,
                _ if at == 0 => {
                    return self.fault(
                        part,
                        "a literal or a triple term is no subject of a triple term",
                    );
                }
                _ => self.expression(part)?,
            });
        }
        Ok(Expression::FunctionCall(Function::Triple, arguments))
    }

    fn call(&mut self, id: Id) -> Parsed<Expression> {
        let name = self.tree.slice(id);
        let Some(builtin) = builtin::builtin(name) else {
            return self.fault(id, format!("no function is called {name}"));
        };
        if matches!(builtin.meaning, Meaning::Bound) {
            return Ok(Expression::Bound(self.variable(id.only())));
        }
        let arguments = self.list(id)?;
        Ok(match builtin.meaning {
            Meaning::Function(function) => Expression::FunctionCall(function, arguments),
            Meaning::Coalesce => Expression::Coalesce(arguments),
            Meaning::If => {
                let [condition, then, otherwise] = self.exactly(id, arguments)?;
                Expression::If(condition, then, otherwise)
            }
            Meaning::SameTerm | Meaning::Bound => {
                let [left, right] = self.exactly(id, arguments)?;
                Expression::SameTerm(left, right)
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

    fn function_call(&mut self, id: Id) -> Parsed<Expression> {
        let mut children = self.tree.children(id);
        let Some(name) = children.next() else {
            return self.fault(id, "expected the IRI of a function");
        };
        let name = self.iri(name)?;
        let arguments = |this: &mut Self, children: &mut dyn Iterator<Item = Id>| {
            let arguments: Parsed<Vec<Expression>> =
                children.map(|child| this.expression(child)).collect();
            arguments
        };
        if self.tree.child(id, Kind::Distinct).is_none() {
            let arguments = arguments(self, &mut children)?;
            return Ok(Expression::FunctionCall(Function::Custom(name), arguments));
        }
        // With DISTINCT it is an aggregate.
        self.aggregated(id, |this| {
            let [expr] = <[Expression; 1]>::try_from(arguments(this, &mut children.skip(1))?)
                .or_else(|_| this.fault(id, "an aggregate takes one argument"))?;
            Ok(AggregateExpression::FunctionCall {
                name: AggregateFunction::Custom(name),
                expr,
                distinct: true,
            })
        })
        .map(Expression::from)
    }

    /// The variable that stands for an aggregate.
    fn aggregate(&mut self, id: Id) -> Parsed<Variable> {
        self.aggregated(id, |this| this.aggregate_itself(id))
    }

    /// The same of one that is translated so.
    fn aggregated(
        &mut self,
        id: Id,
        translate: impl FnOnce(&mut Self) -> Parsed<AggregateExpression>,
    ) -> Parsed<Variable> {
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
            variable.clone()
        } else {
            let variable = self.new_variable();
            aggregates.push((variable.clone(), aggregate));
            variable
        };
        self.aggregates = Some(aggregates);
        Ok(variable)
    }

    fn aggregate_itself(&mut self, id: Id) -> Parsed<AggregateExpression> {
        let distinct = self.tree.child(id, Kind::Distinct).is_some();
        let argument = self.tree.children(id).nth(usize::from(distinct));
        let (Some(argument), Some(aggregate)) = (argument, builtin::aggregate(self.tree.slice(id)))
        else {
            return self.fault(id, "expected an aggregate");
        };
        if self.kind(argument) == Kind::Star {
            return Ok(AggregateExpression::CountSolutions { distinct });
        }
        let expr = self.expression(argument)?;
        let separator = match self.tree.child(id, Kind::Separator) {
            Some(separator) => Some(self.quoted(self.tree.range(separator).start)?),
            None => None,
        };
        let name = match aggregate {
            Aggregate::Count => AggregateFunction::Count,
            Aggregate::Sum => AggregateFunction::Sum,
            Aggregate::Min => AggregateFunction::Min,
            Aggregate::Max => AggregateFunction::Max,
            Aggregate::Avg => AggregateFunction::Avg,
            Aggregate::Sample => AggregateFunction::Sample,
            Aggregate::GroupConcat => AggregateFunction::GroupConcat { separator },
        };
        Ok(AggregateExpression::FunctionCall {
            name,
            expr,
            distinct,
        })
    }
}
