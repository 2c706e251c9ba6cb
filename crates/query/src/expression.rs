//! Expressions as plain data: what `FILTER`, `BIND`, `ORDER BY` and aggregates compute over a row.
//!
//! `EXISTS` is not among them: it is a column that [`crate::plan::Mode::Mark`] makes before.
//!
//! `query` resolves names, arities and constants once; `explore` evaluates over columns. An
//! evaluation gives a term or an error (SPARQL 1.1 section 17.2); errors are values here, because
//! `||`, `&&`, `COALESCE` and `IF` look at them.

use crate::node::{ConstantId, Slot};

pub use crate::function::{Cast, Function};

/// An expression over the columns of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// The value of a column; an error where it is unbound.
    Slot(Slot),
    /// A term of the query text.
    Constant(ConstantId),
    /// `BOUND(?x)`.
    Bound(Slot),
    /// `a || b || ...`, at least two.
    Or(Vec<Expression>),
    /// `a && b && ...`, at least two.
    And(Vec<Expression>),
    /// `!a`.
    Not(Box<Expression>),
    /// A comparison of values (section 17.3 operator mapping; `sameTerm` is separate).
    Compare(Comparison, Box<Expression>, Box<Expression>),
    /// `sameTerm(a, b)`.
    SameTerm(Box<Expression>, Box<Expression>),
    /// `a IN (b, ...)`; `NOT IN` is `Not` of it.
    In(Box<Expression>, Vec<Expression>),
    /// Binary arithmetic on numbers, and the date arithmetic that `oxsdatatypes` has.
    Arithmetic(Arithmetic, Box<Expression>, Box<Expression>),
    /// `+a`.
    Plus(Box<Expression>),
    /// `-a`.
    Minus(Box<Expression>),
    /// `IF(condition, then, else)`.
    If(Box<Expression>, Box<Expression>, Box<Expression>),
    /// `COALESCE(a, ...)`: the first that is no error. Of nothing it is an error, which is how the
    /// translator writes a variable that its group does not bind.
    Coalesce(Vec<Expression>),
    /// A builtin function.
    Call(Function, Vec<Expression>),
}

impl Expression {
    /// Whether it may have another value each time that it is evaluated, for equal rows too.
    pub fn gives_new(&self) -> bool {
        if let Expression::Call(function, _) = self
            && function.gives_new()
        {
            return true;
        }
        let mut any = false;
        self.for_each_operand(&mut |operand| any |= operand.gives_new());
        any
    }

    /// Calls back for each column that is read, once for each place.
    pub fn for_each_slot(&self, each: &mut impl FnMut(Slot)) {
        match self {
            Expression::Slot(slot) | Expression::Bound(slot) => each(*slot),
            Expression::Constant(_) => {}
            _ => self.for_each_operand(&mut |operand| operand.for_each_slot(each)),
        }
    }

    /// Calls back for each direct operand, in order.
    pub fn for_each_operand<'e>(&'e self, each: &mut dyn FnMut(&'e Expression)) {
        match self {
            Expression::Slot(_) | Expression::Constant(_) | Expression::Bound(_) => {}
            Expression::Or(list)
            | Expression::And(list)
            | Expression::Coalesce(list)
            | Expression::Call(_, list) => list.iter().for_each(each),
            Expression::Not(a) | Expression::Plus(a) | Expression::Minus(a) => each(a),
            Expression::Compare(_, a, b)
            | Expression::SameTerm(a, b)
            | Expression::Arithmetic(_, a, b) => {
                each(a);
                each(b);
            }
            Expression::In(a, list) => {
                each(a);
                list.iter().for_each(each);
            }
            Expression::If(a, b, c) => {
                each(a);
                each(b);
                each(c);
            }
        }
    }
}

impl Expression {
    /// Calls back for each call of a builtin, inner ones first. A frame of stack per nested operator.
    pub fn for_each_call_mut(&mut self, each: &mut dyn FnMut(Function, &mut Vec<Expression>)) {
        match self {
            Expression::Slot(_) | Expression::Constant(_) | Expression::Bound(_) => {}
            Expression::Or(list) | Expression::And(list) | Expression::Coalesce(list) => {
                for operand in list {
                    operand.for_each_call_mut(each);
                }
            }
            Expression::Not(a) | Expression::Plus(a) | Expression::Minus(a) => {
                a.for_each_call_mut(each);
            }
            Expression::Compare(_, a, b)
            | Expression::SameTerm(a, b)
            | Expression::Arithmetic(_, a, b) => {
                a.for_each_call_mut(each);
                b.for_each_call_mut(each);
            }
            Expression::In(a, list) => {
                a.for_each_call_mut(each);
                for operand in list {
                    operand.for_each_call_mut(each);
                }
            }
            Expression::If(a, b, c) => {
                for operand in [a, b, c] {
                    operand.for_each_call_mut(each);
                }
            }
            Expression::Call(function, arguments) => {
                for operand in arguments.iter_mut() {
                    operand.for_each_call_mut(each);
                }
                each(*function, arguments);
            }
        }
    }
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
}
