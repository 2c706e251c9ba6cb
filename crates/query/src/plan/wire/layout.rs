//! The layout of a plan: each type with its fields in the order in which they are written, each form with its number.
//!
//! This is the format. A field or a form that is missing here does not compile, because values are taken apart and put
//! together by these names; one that is added, moved or numbered anew changes the bytes, and the test of the kept
//! bytes fails until [`VERSION`](super::PLAN_VERSION) is another one. A number is never given twice: of a form that is
//! gone the number stays free.
//!
//! ```text
//!  struct   its fields, one after the other
//!  enum     a byte, the number of the form; then its fields
//! ```
//!
//! `at least` gives the fewest bytes of one, where that is more than one and lists are made of it. `nested` stands at the types that hold others of their kind, and names the bound of their depth.

use super::bytes::{Decoder, Encoder, Nesting, Wire};
use super::error::{DecodeError, DecodeFault, beginning};
use crate::expression::{Arithmetic, Cast, Comparison, Expression, Function};
use crate::node::{ConstantId, Node, Slot};
use crate::path::Path;
use crate::plan::{
    Action, Aggregate, AggregateFunction, DatasetClause, Estimate, Form, Mode, OrderKey, Plan,
    Scope, Side, Size, Source, Step, TableId, TemplateTerm, Weight,
};
use oxrdf::NamedNodeRef;
use rdf::Direction;

/// Reads with a count of levels, where a type says so.
macro_rules! counted {
    ($bytes:ident, $read:expr) => {
        $read($bytes)
    };
    ($bytes:ident, $read:expr, $kind:expr) => {
        $bytes.nested($kind, $read)
    };
}

/// Implements [`Wire`] by the layout of each type, and lists the forms.
macro_rules! layout {
    (
        $(struct $struct:ident $(at least $least:literal)? {
            $($field:ident),*
        })*
        $(enum $enum:ident $(at least $fewest:literal)? $(nested $kind:expr,)? {
            $($number:literal $form:ident $(($($place:ident),*))? $({ $($named:ident),* })?;)*
        })*
    ) => {
        $(impl Wire for $struct {
            $(const BYTES_MIN: usize = $least;)?

            fn write(&self, out: &mut Encoder<'_>) {
                let $struct { $($field),* } = self;
                $($field.write(out);)*
            }

            fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                Ok($struct { $($field: Wire::read(bytes)?),* })
            }
        })*

        $(impl Wire for $enum {
            $(const BYTES_MIN: usize = $fewest;)?

            fn write(&self, out: &mut Encoder<'_>) {
                match self {
                    $($enum::$form $(($($place),*))? $({ $($named),* })? => {
                        out.form(stringify!($enum), $number);
                        $($($place.write(out);)*)?
                        $($($named.write(out);)*)?
                    })*
                }
            }

            fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                counted!(bytes, |bytes: &mut Decoder<'_>| {
                    let at = bytes.at();
                    match bytes.byte()? {
                        $($number => {
                            $($(let $place = Wire::read(bytes)?;)*)?
                            $($(let $named = Wire::read(bytes)?;)*)?
                            Ok($enum::$form $(($($place),*))? $({ $($named),* })?)
                        })*
                        number => {
                            let of = stringify!($enum);
                            Err(Decoder::fault_at(at, DecodeFault::Form { of, number }))
                        }
                    }
                } $(, $kind)?)
            }
        })*

        /// Every form that there is, by its type and number.
        #[cfg(test)]
        pub(super) const FORMS: &[(&str, u8, &str)] = &[
            $($((stringify!($enum), $number, stringify!($form)),)*)*
        ];
    };
}

layout! {
    struct DatasetClause { graphs, union_default }
    struct Estimate at least 17 { rows, cost_ns, is_sampled }
    struct Aggregate at least 3 { function, argument, distinct }
    struct OrderKey at least 3 { expression, descending }
    struct Side at least 5 { from, predicate, direction, scope, source }

    enum Node {
        1 Slot(slot);
        2 Constant(constant);
    }
    enum Direction {
        1 Out;
        2 In;
    }
    enum Scope {
        1 Default;
        2 Named(graph);
        3 Bind(graph);
    }
    enum Size {
        1 Edges;
        2 Subjects;
        3 Predicates;
        4 Objects;
    }
    enum Mode {
        1 Inner;
        2 Left;
        3 Semi;
        4 Anti;
        5 Mark(into);
    }
    enum Weight {
        1 Light;
        2 Heavy;
    }
    enum AggregateFunction {
        1 Count;
        2 Sum;
        3 Avg;
        4 Min;
        5 Max;
        6 Sample;
        7 GroupConcat(separator);
    }
    enum Comparison {
        1 Equal;
        2 NotEqual;
        3 Less;
        4 LessOrEqual;
        5 Greater;
        6 GreaterOrEqual;
    }
    enum Arithmetic {
        1 Add;
        2 Subtract;
        3 Multiply;
        4 Divide;
    }
    enum Form {
        1 Select(columns);
        2 Ask;
        3 Construct(triples);
        4 Describe(terms);
    }
    enum TemplateTerm at least 2 nested Nesting::TEMPLATES, {
        1 Slot(slot);
        2 Constant(constant);
        3 Blank(number);
        4 Triple(parts);
    }
    enum Path at least 2 nested Nesting::PATHS, {
        1 Predicate(predicate);
        2 Inverse(path);
        3 Sequence(parts);
        4 Alternative(parts);
        5 ZeroOrMore(path);
        6 OneOrMore(path);
        7 ZeroOrOne(path);
        8 Negated { forward, backward };
    }
    enum Expression at least 2 nested Nesting::EXPRESSIONS, {
        1 Slot(slot);
        2 Constant(constant);
        3 Bound(slot);
        4 Or(operands);
        5 And(operands);
        6 Not(operand);
        7 Compare(comparison, left, right);
        8 SameTerm(left, right);
        9 In(needle, candidates);
        10 Arithmetic(operator, left, right);
        11 Plus(operand);
        12 Minus(operand);
        13 If(condition, yes, no);
        14 Coalesce(operands);
        15 Call(function, arguments);
    }
    enum Action {
        1 Expand { from, predicate, direction, scope, source, into };
        2 ExpandKeys { predicate, direction, scope, source, into };
        3 ExpandPredicates { from, direction, source, into };
        4 AllPredicates { source, into };
        5 Never { snapshot };
        6 AllGraphs { source, into };
        7 Check { subject, predicate, object, from, scope, source };
        8 Same { left, right };
        9 Filter(expression);
        10 Distinct { columns };
        11 Order { keys, limit };
        12 Nested { mode, branches, imports, row, exports, row_by_row };
        13 Probe { table, keys, exports };
        14 Unify { into, from };
        15 Bind { expression, into };
        16 Values { columns, rows };
        17 Aggregate { keys, aggregates };
        18 PathSeed { path, direction, scope, source, into };
        19 PathExpand { from, path, direction, scope, source, into };
        20 PathCheck { subject, path, object, scope, source };
        21 Unpack { term, subject, predicate, object };
        22 Service { endpoint, silent, text, columns };
        23 Sizes { predicate, scope, source, sizes, keeps_empty };
        24 Degree { from, predicate, direction, scope, source, into };
        25 Slice { offset, limit };
        26 Count { distinct, into };
        27 Intersect { sides, into };
        28 Given { table, columns, keys };
    }
}

/// Implements [`Wire`] of an index, as its number.
macro_rules! indexes {
    ($($type:ident)*) => {$(
        impl Wire for $type {
            fn write(&self, out: &mut Encoder<'_>) {
                self.0.write(out);
            }

            fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                Wire::read(bytes).map($type)
            }
        }
    )*};
}

indexes! { Slot ConstantId Source TableId }

/// Steps hold steps, so they are counted.
impl Wire for Step {
    const BYTES_MIN: usize = 19;

    fn write(&self, out: &mut Encoder<'_>) {
        let Step {
            action,
            keep,
            estimate,
        } = self;
        action.write(out);
        keep.write(out);
        estimate.write(out);
    }

    fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        bytes.nested(Nesting::BLOCKS, |bytes| {
            Ok(Step {
                action: Wire::read(bytes)?,
                keep: Wire::read(bytes)?,
                estimate: Wire::read(bytes)?,
            })
        })
    }
}

/// By name, so that the order of the functions' rows is no part of the format: that of a builtin in capitals, the IRI
/// of a cast's datatype, the IRI of another function.
impl Wire for Function {
    fn write(&self, out: &mut Encoder<'_>) {
        match self {
            Function::Cast(cast) => out.text(cast.datatype().as_str()),
            Function::Timestamp => out.text(Function::TIMESTAMP),
            builtin => {
                let name = builtin.name().expect("all others have names");
                out.text(&name.to_ascii_uppercase());
            }
        }
    }

    fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let at = bytes.at();
        let text = bytes.text()?;
        let cast = || Cast::of_datatype(NamedNodeRef::new_unchecked(text)).map(Function::Cast);
        let builtin = Function::of_name(text).map(|(function, _)| function);
        // A second name of a function is none here.
        let builtin = builtin.filter(|function| {
            let name = function.name();
            name.is_some_and(|name| name.eq_ignore_ascii_case(text))
        });
        let other = || (text == Function::TIMESTAMP).then_some(Function::Timestamp);
        builtin.or_else(cast).or_else(other).ok_or_else(|| {
            let (of, text) = ("function", beginning(text));
            Decoder::fault_at(at, DecodeFault::Text { of, text })
        })
    }
}

/// A plan but for its constants, which [`super::term`] writes.
pub(super) fn write_plan(plan: &Plan, out: &mut Encoder<'_>) {
    let Plan {
        variables,
        constants: _,
        dataset,
        base,
        steps,
        form,
        weight,
    } = plan;
    variables.write(out);
    dataset.write(out);
    base.write(out);
    steps.write(out);
    form.write(out);
    weight.write(out);
}

/// The plan of these constants.
pub(super) fn read_plan(
    constants: Vec<oxrdf::Term>,
    bytes: &mut Decoder<'_>,
) -> Result<Plan, DecodeError> {
    Ok(Plan {
        constants,
        variables: Wire::read(bytes)?,
        dataset: Wire::read(bytes)?,
        base: Wire::read(bytes)?,
        steps: Wire::read(bytes)?,
        form: Wire::read(bytes)?,
        weight: Wire::read(bytes)?,
    })
}
