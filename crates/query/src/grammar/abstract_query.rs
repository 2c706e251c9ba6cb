//! What a text says, in the words of the specification: query forms, graph patterns, expressions (SPARQL 1.1
//! Query section 18.2; paths section 18.2.2; what SPARQL 1.2 and `LATERAL` add).
//!
//! ```text
//!  text --> tokens --> Tree --> abstract_query --> algebra::Query
//!             lexer    parser   translate          lower
//! ```
//!
//! Chains (joins, `UNION`, `&&`, `||`) are nested to the left, so whoever walks one goes down its left side in
//! a loop. Variables, blank nodes and constants are numbers, and [`Terms`] has what they stand for: a term that
//! a text repeats is made once, and comparing, copying and noting names costs nothing.

mod once;
mod streams;
mod terms;

pub(crate) use once::Once;
pub(crate) use streams::{Registered, Streams, Timestamps, Window, WrittenExtent};
pub(crate) use terms::{Blank, Constant, Name, Terms};

use crate::expression::Function;
use crate::plan::{AggregateFunction, Source};

/// A query. Its modifiers are the outermost links of its pattern.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) form: Form,
    pub(crate) dataset: Option<Dataset>,
    pub(crate) pattern: GraphPattern,
    /// What relative IRIs that expressions make are resolved against.
    pub(crate) base: Option<String>,
}

/// What a query asks for.
#[derive(Debug)]
pub(crate) enum Form {
    /// Whether it is `SELECT *`.
    Select {
        star: bool,
    },
    /// With the template.
    Construct(Vec<TriplePattern>),
    /// Whether it is `DESCRIBE *`.
    Describe {
        star: bool,
    },
    Ask,
}

/// `FROM` and `FROM NAMED`, or `USING` and `USING NAMED`.
#[derive(Debug, Default)]
pub(crate) struct Dataset {
    pub(crate) default: Vec<Constant>,
    pub(crate) named: Vec<Constant>,
}

/// A subject or an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TermPattern {
    Constant(Constant),
    Variable(Name),
    Blank(Blank),
    Triple(Box<TriplePattern>),
}

/// A predicate, a graph or an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamePattern {
    Constant(Constant),
    Variable(Name),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TriplePattern {
    pub(crate) subject: TermPattern,
    pub(crate) predicate: NamePattern,
    pub(crate) object: TermPattern,
}

/// A quad of a template.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QuadPattern {
    pub(crate) triple: TriplePattern,
    /// `None`: the default graph.
    pub(crate) graph: Option<NamePattern>,
}

/// A property path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Path {
    Predicate(Constant),
    Inverse(Box<Path>),
    Sequence(Box<Path>, Box<Path>),
    Alternative(Box<Path>, Box<Path>),
    ZeroOrMore(Box<Path>),
    OneOrMore(Box<Path>),
    ZeroOrOne(Box<Path>),
    /// `!(p|^q)` is `!(p) | ^!(q)`.
    Negated(Vec<Constant>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GraphPattern {
    Bgp(Vec<TriplePattern>),
    Path {
        subject: TermPattern,
        path: Path,
        object: TermPattern,
    },
    Join {
        left: Box<GraphPattern>,
        right: Box<GraphPattern>,
    },
    LeftJoin {
        left: Box<GraphPattern>,
        right: Box<GraphPattern>,
        condition: Option<Expression>,
    },
    Lateral {
        left: Box<GraphPattern>,
        right: Box<GraphPattern>,
    },
    Filter {
        condition: Expression,
        inner: Box<GraphPattern>,
    },
    Union {
        left: Box<GraphPattern>,
        right: Box<GraphPattern>,
    },
    Graph {
        name: NamePattern,
        inner: Box<GraphPattern>,
    },
    /// In the default graph of a union of windows.
    Window {
        source: Source,
        inner: Box<GraphPattern>,
    },
    Extend {
        inner: Box<GraphPattern>,
        variable: Name,
        expression: Expression,
    },
    Minus {
        left: Box<GraphPattern>,
        right: Box<GraphPattern>,
    },
    Values {
        variables: Vec<Name>,
        /// `None` is `UNDEF`.
        rows: Vec<Vec<Option<Constant>>>,
    },
    /// The rows of a table that is given beside the text.
    Given {
        variables: Vec<Name>,
    },
    OrderBy {
        inner: Box<GraphPattern>,
        keys: Vec<OrderKey>,
    },
    Project {
        inner: Box<GraphPattern>,
        variables: Vec<Name>,
    },
    Distinct {
        inner: Box<GraphPattern>,
    },
    Reduced {
        inner: Box<GraphPattern>,
    },
    Slice {
        inner: Box<GraphPattern>,
        start: u64,
        length: Option<u64>,
    },
    Group {
        inner: Box<GraphPattern>,
        variables: Vec<Name>,
        aggregates: Vec<(Name, Aggregate)>,
    },
    Service {
        name: NamePattern,
        inner: Box<GraphPattern>,
        silent: bool,
    },
}

impl Default for GraphPattern {
    /// The empty group.
    fn default() -> GraphPattern {
        GraphPattern::Bgp(Vec::new())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OrderKey {
    pub(crate) expression: Expression,
    pub(crate) descending: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Aggregate {
    /// `COUNT(*)`.
    CountSolutions { distinct: bool },
    Call {
        function: AggregateName,
        argument: Expression,
        distinct: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AggregateName {
    Known(AggregateFunction),
    /// Named by an IRI: within `SERVICE`, where the endpoint may know it.
    Other(Constant),
}

/// `a != b` is `!(a = b)`, `a NOT IN ...` is `!(a IN ...)`, `NOT EXISTS` is `!EXISTS`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Constant(Constant),
    Variable(Name),
    Bound(Name),
    Or(Box<Expression>, Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    UnaryPlus(Box<Expression>),
    UnaryMinus(Box<Expression>),
    In(Box<Expression>, Vec<Expression>),
    If(Box<Expression>, Box<Expression>, Box<Expression>),
    Coalesce(Vec<Expression>),
    Exists(Box<GraphPattern>),
    Call(Function, Vec<Expression>),
    /// Named by an IRI that stands for nothing here: within `SERVICE`, where the endpoint may know it.
    CallOther(Constant, Vec<Expression>),
}

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    SameTerm,
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Expression {
    /// Adds the expressions that it is made of, in the order of the text; a pattern in it is none.
    pub(crate) fn operands<'e>(&'e self, into: &mut Vec<&'e Expression>) {
        match self {
            Expression::Constant(_)
            | Expression::Variable(_)
            | Expression::Bound(_)
            | Expression::Exists(_) => {}
            Expression::Or(a, b) | Expression::And(a, b) | Expression::Binary(_, a, b) => {
                into.extend([&**a, &**b]);
            }
            Expression::Not(a) | Expression::UnaryPlus(a) | Expression::UnaryMinus(a) => {
                into.push(a);
            }
            Expression::If(a, b, c) => into.extend([&**a, &**b, &**c]),
            Expression::In(value, list) => {
                into.push(value);
                into.extend(list);
            }
            Expression::Coalesce(list)
            | Expression::Call(_, list)
            | Expression::CallOther(_, list) => into.extend(list),
        }
    }
}
