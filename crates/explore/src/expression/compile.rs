//! From the plan's expressions to conditions and computations, once per plan.
//!
//! Here is decided which form is cheap: identity of ids where `=` can be nothing else, inline
//! integers by their ids, kinds by their tags, constant patterns compiled. Everything else becomes
//! the general form over values.
//!
//! **When is `=` identity?** An IRI equals only itself, and `=` with one is never an error. A string
//! constant equals itself and a few literals of derived datatypes, whose ids [`super::same_text`] knows,
//! but with an unknown datatype `=` is an error rather than false; where nobody looks at the difference (a filter drops the row for both, `&&` and `||` pass
//! it on, `!` does not) identity serves as well. `lenient` says that nobody looks.

use super::computation::Computation;
use super::condition::{Condition, Kind, Matcher, ResourceComparison};
use super::integers::{IntegerComparison, Integers};
use super::pattern::Pattern;
use super::same_text::SameText;
use oxrdf::{Term, TermRef, vocab::xsd};
use query::expression::{Comparison, Expression, Function};
use query::plan::{ConstantId, Slot};
use query::xpath_pattern::{Refusal, RefusalKind};
use rdf::{Tag, VertexId};
use std::cell::Cell;

/// The constants that expressions name.
#[derive(Clone, Copy)]
pub(crate) struct Constants<'a> {
    /// The term of each.
    pub(crate) terms: &'a [Term],
    /// The id of each.
    pub(crate) ids: &'a [VertexId],
    /// Bytes of the patterns that were compiled so far.
    pub(crate) compiled_bytes: &'a Cell<u64>,
}

/// Bytes of a query's constant patterns after which no more are compiled: a text of a megabyte may
/// have ten thousands.
const COMPILED_BYTES_MAX: u64 = 256 << 20;

impl Constants<'_> {
    /// The id of a constant.
    pub(super) fn id(&self, constant: ConstantId) -> VertexId {
        self.ids[constant.0 as usize]
    }

    fn term(&self, constant: ConstantId) -> TermRef<'_> {
        self.terms[constant.0 as usize].as_ref()
    }

    /// The text of an `xsd:string` constant.
    fn text(&self, expression: &Expression) -> Option<&str> {
        let Expression::Constant(constant) = expression else {
            return None;
        };
        match &self.terms[constant.0 as usize] {
            Term::Literal(literal) if literal.datatype() == xsd::STRING => Some(literal.value()),
            _ => None,
        }
    }

    fn is_string(&self, constant: ConstantId) -> bool {
        let term = self.term(constant);
        matches!(term, TermRef::Literal(literal) if literal.datatype() == xsd::STRING)
    }

    /// Whether `=` with this constant is identity of terms, but for derived strings.
    fn equality_is_identity(&self, constant: ConstantId, lenient: bool) -> bool {
        match self.term(constant) {
            TermRef::NamedNode(_) => true,
            TermRef::Literal(literal) => {
                lenient && (literal.datatype() == xsd::STRING || literal.language().is_some())
            }
            _ => false,
        }
    }
}

/// The conjuncts of a filter, cheapest first: each sees only the rows that the earlier ones kept.
pub(crate) fn filter(expression: &Expression, constants: Constants<'_>) -> Vec<Condition> {
    let mut conjuncts = Vec::new();
    gather_conjuncts(expression, constants, &mut conjuncts);
    let tested = conjuncts.iter().filter_map(column_of_text);
    let tested: Vec<Condition> = tested
        .map(|slot| Condition::Kind(slot, Kind::Literal))
        .collect();
    conjuncts.extend(tested);
    conjuncts.sort_by_key(cost);
    conjuncts
}

/// The column whose text a test of texts is of: of anything but a literal it is an error (section 17.4.3), which
/// the id tells before a text is fetched.
fn column_of_text(condition: &Condition) -> Option<Slot> {
    match condition {
        Condition::Texts(_, Computation::Slot(slot), _)
        | Condition::Matches(Computation::Slot(slot), _) => Some(*slot),
        _ => None,
    }
}

fn gather_conjuncts(expression: &Expression, constants: Constants<'_>, into: &mut Vec<Condition>) {
    match expression {
        Expression::And(operands) => {
            for operand in operands {
                gather_conjuncts(operand, constants, into);
            }
        }
        single => into.push(condition(single, constants, true)),
    }
}

/// A rank for conditions: ids, values, text, patterns.
fn cost(condition: &Condition) -> u8 {
    match condition {
        Condition::Bound(_)
        | Condition::IsId(..)
        | Condition::IsOneOf(..)
        | Condition::IsText(..)
        | Condition::SameIds(..)
        | Condition::Kind(..) => 0,
        Condition::Integer { .. } | Condition::Integers(_) | Condition::Resources(_) => 1,
        Condition::Or(operands) | Condition::And(operands) => {
            operands.iter().map(cost).max().unwrap_or(0)
        }
        Condition::Not(operand) => cost(operand),
        Condition::Matches(..) => 4,
        Condition::Texts(..) => 3,
        _ => 2,
    }
}

/// Compiles an expression whose effective boolean value is wanted. `lenient`: an error may be
/// reported as false.
pub(crate) fn condition(
    expression: &Expression,
    constants: Constants<'_>,
    lenient: bool,
) -> Condition {
    let all = |operands: &[Expression]| -> Vec<Condition> {
        operands
            .iter()
            .map(|operand| condition(operand, constants, lenient))
            .collect()
    };
    match expression {
        Expression::Bound(slot) => Condition::Bound(*slot),
        Expression::Or(operands) => Condition::Or(all(operands)),
        Expression::And(operands) => Condition::And(all(operands)),
        Expression::Not(operand) => Condition::Not(Box::new(condition(operand, constants, false))),
        Expression::Compare(comparison, left, right) => {
            compare(*comparison, left, right, constants, lenient)
        }
        Expression::SameTerm(left, right) => same_term(left, right, constants),
        Expression::In(needle, candidates) => is_in(needle, candidates, constants, lenient),
        Expression::Call(function, arguments) => call(*function, arguments, constants)
            .unwrap_or_else(|| Condition::Truth(computation(expression, constants))),
        value => Condition::Truth(computation(value, constants)),
    }
}

fn compare(
    comparison: Comparison,
    left: &Expression,
    right: &Expression,
    constants: Constants<'_>,
    lenient: bool,
) -> Condition {
    let (slot, constant, comparison) = match (left, right) {
        (Expression::Slot(slot), Expression::Constant(constant)) => (*slot, *constant, comparison),
        (Expression::Constant(constant), Expression::Slot(slot)) => {
            (*slot, *constant, mirrored(comparison))
        }
        (Expression::Slot(left_slot), Expression::Slot(right_slot))
            if matches!(comparison, Comparison::Equal | Comparison::NotEqual) =>
        {
            return Condition::Resources(Box::new(ResourceComparison {
                left: *left_slot,
                right: *right_slot,
                if_same: comparison == Comparison::Equal,
                general: of_integers(comparison, left, right, constants),
            }));
        }
        _ => return of_integers(comparison, left, right, constants),
    };
    // `!=` of a string constant must see errors: its negation would turn false into true.
    let lenient = lenient && comparison == Comparison::Equal;
    match comparison {
        Comparison::Equal if constants.equality_is_identity(constant, lenient) => {
            let id = constants.id(constant);
            if constants.is_string(constant) {
                Condition::IsText(slot, SameText::new(vec![id], vec![constant]))
            } else {
                Condition::IsId(slot, id)
            }
        }
        Comparison::NotEqual if constants.equality_is_identity(constant, lenient) => {
            Condition::Not(Box::new(Condition::IsId(slot, constants.id(constant))))
        }
        _ if constants.id(constant).has_tag(Tag::Integer) => {
            let bound = constants.id(constant);
            Condition::Integer {
                slot,
                comparison,
                bound,
                constant,
            }
        }
        _ => Condition::Compare(
            comparison,
            Computation::Slot(slot),
            Computation::Constant(constant),
        ),
    }
}

/// A comparison that is one of integers for rows that hold such.
fn of_integers(
    comparison: Comparison,
    left: &Expression,
    right: &Expression,
    constants: Constants<'_>,
) -> Condition {
    let tree = |side: &Expression| Integers::compile(side, constants);
    match (tree(left), tree(right)) {
        (Some(on_left), Some(on_right)) if on_left.reads_column() || on_right.reads_column() => {
            Condition::Integers(Box::new(IntegerComparison {
                comparison,
                left: on_left,
                right: on_right,
                general: Condition::Compare(
                    comparison,
                    plain(left, constants),
                    plain(right, constants),
                ),
            }))
        }
        _ => general(comparison, left, right, constants),
    }
}

fn general(
    comparison: Comparison,
    left: &Expression,
    right: &Expression,
    constants: Constants<'_>,
) -> Condition {
    Condition::Compare(
        comparison,
        computation(left, constants),
        computation(right, constants),
    )
}

fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Equal => Comparison::Equal,
        Comparison::NotEqual => Comparison::NotEqual,
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
    }
}

fn same_term(left: &Expression, right: &Expression, constants: Constants<'_>) -> Condition {
    match (left, right) {
        (Expression::Slot(left), Expression::Slot(right)) => Condition::SameIds(*left, *right),
        (Expression::Slot(slot), Expression::Constant(constant))
        | (Expression::Constant(constant), Expression::Slot(slot)) => {
            Condition::IsId(*slot, constants.id(*constant))
        }
        _ => Condition::SameTerm(computation(left, constants), computation(right, constants)),
    }
}

fn is_in(
    needle: &Expression,
    candidates: &[Expression],
    constants: Constants<'_>,
    lenient: bool,
) -> Condition {
    if let Expression::Slot(slot) = needle
        && let Some(identities) = identities(candidates, constants, lenient)
    {
        let mut ids: Vec<VertexId> = identities.iter().map(|it| constants.id(*it)).collect();
        ids.sort_unstable();
        ids.dedup();
        let strings = identities.into_iter().filter(|it| constants.is_string(*it));
        let strings: Vec<ConstantId> = strings.collect();
        return if strings.is_empty() {
            Condition::IsOneOf(*slot, ids)
        } else {
            Condition::IsText(*slot, SameText::new(ids, strings))
        };
    }
    let candidates = candidates
        .iter()
        .map(|candidate| computation(candidate, constants))
        .collect();
    Condition::In(computation(needle, constants), candidates)
}

/// The candidates where `=` is identity for all of them.
fn identities(
    candidates: &[Expression],
    constants: Constants<'_>,
    lenient: bool,
) -> Option<Vec<ConstantId>> {
    if candidates.is_empty() {
        return None;
    }
    let constant = |candidate: &Expression| match candidate {
        Expression::Constant(constant) if constants.equality_is_identity(*constant, lenient) => {
            Some(*constant)
        }
        _ => None,
    };
    candidates.iter().map(constant).collect()
}

/// The functions that give a boolean; the others are in [`super::call`], which the compiler holds to be complete.
fn call(
    function: Function,
    arguments: &[Expression],
    constants: Constants<'_>,
) -> Option<Condition> {
    let argument = |at: usize| computation(&arguments[at], constants);
    let kind = |kind: Kind| match &arguments[0] {
        Expression::Slot(slot) => Condition::Kind(*slot, kind),
        _ => Condition::IsKind(kind, argument(0)),
    };
    Some(match function {
        Function::IsIri => kind(Kind::Iri),
        Function::IsBlank => kind(Kind::Blank),
        Function::IsLiteral => kind(Kind::Literal),
        Function::IsTriple => kind(Kind::Triple),
        Function::HasLang => Condition::IsKind(Kind::Tagged, argument(0)),
        Function::HasLangDir => Condition::IsKind(Kind::Directed, argument(0)),
        Function::IsNumeric => Condition::IsNumeric(argument(0)),
        Function::StrStarts | Function::StrEnds | Function::Contains | Function::LangMatches => {
            Condition::Texts(function, argument(0), argument(1))
        }
        Function::Regex => Condition::Matches(
            argument(0),
            matcher(&arguments[1], arguments.get(2), constants),
        ),
        _ => return None,
    })
}

fn matcher(pattern: &Expression, flags: Option<&Expression>, constants: Constants<'_>) -> Matcher {
    let constant_flags = match flags {
        None => Some(""),
        Some(flags) => constants.text(flags),
    };
    match (constants.text(pattern), constant_flags) {
        (Some(pattern), Some(flags)) => {
            let before = constants.compiled_bytes.get();
            let compiled = if before < COMPILED_BYTES_MAX {
                Pattern::compile(pattern, flags)
            } else {
                Err(Refusal {
                    kind: RefusalKind::Unsupported,
                    reason: "the patterns of the query are too large together",
                    character: None,
                })
            };
            let bytes = compiled.as_ref().map_or(0, Pattern::bytes) as u64;
            constants.compiled_bytes.set(before + bytes);
            Matcher::Constant(compiled.map_err(|refusal| (refusal, pattern.to_owned())))
        }
        _ => Matcher::Computed(
            computation(pattern, constants),
            flags.map(|flags| computation(flags, constants)),
        ),
    }
}

/// Compiles an expression whose value is wanted.
pub(crate) fn computation(expression: &Expression, constants: Constants<'_>) -> Computation {
    match Integers::compile(expression, constants) {
        Some(integers) if integers.is_worthwhile() => {
            Computation::Integers(Box::new((integers, plain(expression, constants))))
        }
        _ => any(expression, constants, computation),
    }
}

/// As [`computation`], without the form for inline integers: what it leaves open.
fn plain(expression: &Expression, constants: Constants<'_>) -> Computation {
    any(expression, constants, plain)
}

/// Compiles an expression, the operands of arithmetic by `operand`.
fn any(
    expression: &Expression,
    constants: Constants<'_>,
    operand: fn(&Expression, Constants<'_>) -> Computation,
) -> Computation {
    let one = |side: &Expression| Box::new(operand(side, constants));
    let single = |operand: &Expression| Box::new(computation(operand, constants));
    let all = |operands: &[Expression]| -> Vec<Computation> {
        operands
            .iter()
            .map(|operand| computation(operand, constants))
            .collect()
    };
    match expression {
        Expression::Slot(slot) => Computation::Slot(*slot),
        Expression::Constant(constant) => Computation::Constant(*constant),
        Expression::Arithmetic(operator, left, right) => {
            Computation::Arithmetic(*operator, one(left), one(right))
        }
        Expression::Plus(operand) => Computation::Plus(one(operand)),
        Expression::Minus(operand) => Computation::Minus(one(operand)),
        Expression::If(test, yes, no) => Computation::If(
            Box::new(condition(test, constants, false)),
            single(yes),
            single(no),
        ),
        Expression::Coalesce(operands) => Computation::Coalesce(all(operands)),
        Expression::Call(Function::Abs, arguments) => {
            Computation::Call(Function::Abs, vec![operand(&arguments[0], constants)])
        }
        Expression::Call(Function::Replace, arguments) => Computation::Replace(
            single(&arguments[0]),
            Box::new(matcher(&arguments[1], arguments.get(3), constants)),
            single(&arguments[2]),
        ),
        Expression::Call(function, arguments) => match call(*function, arguments, constants) {
            Some(condition) => Computation::Condition(Box::new(condition)),
            None => Computation::Call(*function, all(arguments)),
        },
        Expression::Bound(_)
        | Expression::Or(_)
        | Expression::And(_)
        | Expression::Not(_)
        | Expression::Compare(..)
        | Expression::SameTerm(..)
        | Expression::In(..) => {
            Computation::Condition(Box::new(condition(expression, constants, false)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use query::function::Arguments;
    use query::plan::Slot;

    /// A call of the function with the fewest arguments that it takes.
    fn shortest(function: Function) -> Expression {
        let given = match function.arguments() {
            Arguments::Between(least, _) => least,
            Arguments::Any => 0,
            Arguments::Variable => 1,
        };
        let arguments = (0..given).map(|at| Expression::Slot(Slot(at as u16)));
        Expression::Call(function, arguments.collect())
    }

    #[test]
    fn what_gives_a_boolean_is_a_condition_and_nothing_else_is() {
        let compiled_bytes = Cell::new(0);
        let constants = Constants {
            terms: &[],
            ids: &[],
            compiled_bytes: &compiled_bytes,
        };
        for function in Function::NAMED {
            let compiled = computation(&shortest(*function), constants);
            let is_condition = matches!(compiled, Computation::Condition(_));
            assert_eq!(is_condition, function.kind().is_boolean(), "{function:?}");
        }
    }
}
