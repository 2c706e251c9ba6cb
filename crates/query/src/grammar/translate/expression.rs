//! Expressions.

use super::Translation;
use crate::expression::Function;
use crate::grammar::abstract_query::{Expression, Operator};
use crate::grammar::parser::Parsed;
use crate::grammar::parser::tree::{Id, Kind};
use oxrdf::vocab::rdf;

impl Translation<'_> {
    pub(super) fn expression(&mut self, id: Id) -> Parsed<Expression> {
        let kind = self.kind(id);
        Ok(match kind {
            Kind::Variable => Expression::Variable(self.variable(id)),
            Kind::Iri => Expression::Constant(self.name(id)?),
            Kind::String | Kind::Number | Kind::Boolean => Expression::Constant(self.value(id)?),
            Kind::Parenthesised => self.expression(id.only())?,
            Kind::Or => self.fold(id, |_, left, right| Expression::Or(left, right))?,
            Kind::And => self.fold(id, |_, left, right| Expression::And(left, right))?,
            Kind::Sum => self.fold(id, |operator, left, right| match operator {
                "+" => Expression::Binary(Operator::Add, left, right),
                _ => Expression::Binary(Operator::Subtract, left, right),
            })?,
            Kind::Product => self.fold(id, |operator, left, right| match operator {
                "*" => Expression::Binary(Operator::Multiply, left, right),
                _ => Expression::Binary(Operator::Divide, left, right),
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
            Kind::Aggregate => Expression::Variable(self.aggregate(id)?),
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
        let operator = match kind {
            Kind::Equal | Kind::NotEqual => Operator::Equal,
            Kind::Less => Operator::Less,
            Kind::LessOrEqual => Operator::LessOrEqual,
            Kind::Greater => Operator::Greater,
            Kind::GreaterOrEqual => Operator::GreaterOrEqual,
            _ => return self.fault(id, "expected an expression"),
        };
        let compared = Expression::Binary(operator, left, right);
        Ok(match kind {
            Kind::NotEqual => Expression::Not(Box::new(compared)),
            _ => compared,
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
    pub(super) fn list(&mut self, id: Id) -> Parsed<Vec<Expression>> {
        let children = self.tree.children(id);
        children.map(|child| self.expression(child)).collect()
    }

    /// `<<( )>>`: what `TRIPLE` makes.
    fn triple_term(&mut self, id: Id) -> Parsed<Expression> {
        let mut arguments = Vec::with_capacity(3);
        for (at, part) in self.tree.children(id).enumerate() {
            arguments.push(match self.kind(part) {
                Kind::Type => Expression::Constant(self.constant(rdf::TYPE)),
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
        Ok(Expression::Call(Function::Triple, arguments))
    }
}
