//! Expressions.

use super::Translation;
use crate::expression::Function;
use crate::grammar::abstract_query::{Expression, Operator};
use crate::grammar::parser::Parsed;
use crate::grammar::parser::tree::{Id, NodeKind};
use oxrdf::vocab::rdf;

impl Translation<'_> {
    pub(super) fn expression(&mut self, id: Id) -> Parsed<Expression> {
        let kind = self.kind(id);
        Ok(match kind {
            NodeKind::Variable => Expression::Variable(self.variable(id)),
            NodeKind::Iri => Expression::Constant(self.name(id)?),
            NodeKind::String | NodeKind::Number | NodeKind::Boolean => {
                Expression::Constant(self.value(id)?)
            }
            NodeKind::Parenthesised => self.expression(id.only())?,
            NodeKind::Or => self.fold(id, |_, left, right| Expression::Or(left, right))?,
            NodeKind::And => self.fold(id, |_, left, right| Expression::And(left, right))?,
            NodeKind::Sum => self.fold(id, |operator, left, right| match operator {
                "+" => Expression::Binary(Operator::Add, left, right),
                _ => Expression::Binary(Operator::Subtract, left, right),
            })?,
            NodeKind::Product => self.fold(id, |operator, left, right| match operator {
                "*" => Expression::Binary(Operator::Multiply, left, right),
                _ => Expression::Binary(Operator::Divide, left, right),
            })?,
            NodeKind::Not => Expression::Not(self.inner(id)?),
            NodeKind::Negative => Expression::UnaryMinus(self.inner(id)?),
            NodeKind::Positive => Expression::UnaryPlus(self.inner(id)?),
            NodeKind::In => self.in_list(id)?,
            NodeKind::NotIn => Expression::Not(Box::new(self.in_list(id)?)),
            NodeKind::Exists => Expression::Exists(Box::new(self.group(id.only())?)),
            NodeKind::NotExists => {
                let pattern = self.group(id.only())?;
                Expression::Not(Box::new(Expression::Exists(Box::new(pattern))))
            }
            NodeKind::TripleTerm => self.triple_term(id)?,
            NodeKind::Call => self.call(id)?,
            NodeKind::FunctionCall => self.function_call(id)?,
            NodeKind::Aggregate => Expression::Variable(self.aggregate(id)?),
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

    fn comparison(&mut self, id: Id, kind: NodeKind) -> Parsed<Expression> {
        let mut sides = self.tree.children(id);
        let (Some(left), Some(right)) = (sides.next(), sides.next()) else {
            return self.fault(id, "expected an expression");
        };
        let left = Box::new(self.expression(left)?);
        let right = Box::new(self.expression(right)?);
        let operator = match kind {
            NodeKind::Equal | NodeKind::NotEqual => Operator::Equal,
            NodeKind::Less => Operator::Less,
            NodeKind::LessOrEqual => Operator::LessOrEqual,
            NodeKind::Greater => Operator::Greater,
            NodeKind::GreaterOrEqual => Operator::GreaterOrEqual,
            _ => return self.fault(id, "expected an expression"),
        };
        let compared = Expression::Binary(operator, left, right);
        Ok(match kind {
            NodeKind::NotEqual => Expression::Not(Box::new(compared)),
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
                NodeKind::Type => Expression::Constant(self.constant(rdf::TYPE)),
                NodeKind::Label | NodeKind::Anonymous => {
                    return self.fault(part, "a blank node is no part of an expression");
                }
                NodeKind::Variable | NodeKind::Iri => self.expression(part)?,
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
