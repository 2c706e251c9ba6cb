//! The functions that make terms or take them apart (SPARQL 1.1 Query section 17.4.2, SPARQL 1.2
//! section 17.4.6), and those about time zones.
//!
//! Functions that give something else at each call (`BNODE`, `UUID`, `STRUUID`, `RAND`, `NOW`) have no
//! expected value; they are not evaluated.

use super::basic::triple_term;
use super::duration::Duration;
use super::evaluator::Evaluator;
use super::expression::boolean;
use super::value::Value;
use num_rational::BigRational;
use oxrdf::{BaseDirection, Literal, NamedNode, Term};
use spargebra::algebra::Function;

/// The value of a call; the outer `None` says that the function is not one of these.
#[expect(
    clippy::option_option,
    reason = "no such function differs from an error"
)]
pub(super) fn call(
    function: &Function,
    arguments: &[Term],
    evaluator: &Evaluator<'_>,
) -> Option<Option<Term>> {
    use Function as F;
    Some(match function {
        F::Iri => resolved(&arguments[0], evaluator),
        F::StrDt => typed(&arguments[0], &arguments[1]),
        F::StrLang => tagged(arguments),
        F::StrLangDir => directed(arguments),
        F::LangDir => direction(&arguments[0]),
        F::HasLang => Some(boolean(language(&arguments[0]).is_some())),
        F::HasLangDir => Some(boolean(
            language(&arguments[0]).is_some_and(|(_, it)| it.is_some()),
        )),
        F::Triple => triple_term(&arguments[0], &arguments[1], &arguments[2]),
        F::Subject | F::Predicate | F::Object => part(function, &arguments[0]),
        F::IsTriple => Some(boolean(arguments[0].is_triple())),
        F::Tz | F::Timezone => zone(function, &arguments[0]),
        F::Adjust => adjusted(&arguments[0], &arguments[1]),
        _ => return None,
    })
}

fn simple(term: &Term) -> Option<&str> {
    match Value::of(term) {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn resolved(term: &Term, evaluator: &Evaluator<'_>) -> Option<Term> {
    if term.is_named_node() {
        return Some(term.clone());
    }
    let text = simple(term)?;
    match evaluator.base {
        Some(resolve) => resolve(text),
        None => NamedNode::new(text).ok().map(Term::from),
    }
}

fn typed(text: &Term, datatype: &Term) -> Option<Term> {
    let Term::NamedNode(datatype) = datatype else {
        return None;
    };
    Some(Literal::new_typed_literal(simple(text)?, datatype.clone()).into())
}

fn tagged(arguments: &[Term]) -> Option<Term> {
    let (text, tag) = (simple(&arguments[0])?, simple(&arguments[1])?);
    Some(Literal::new_language_tagged_literal(text, tag).ok()?.into())
}

fn directed(arguments: &[Term]) -> Option<Term> {
    let (text, tag) = (simple(&arguments[0])?, simple(&arguments[1])?);
    let direction = match simple(&arguments[2])? {
        "ltr" => BaseDirection::Ltr,
        "rtl" => BaseDirection::Rtl,
        _ => return None,
    };
    let literal = Literal::new_directional_language_tagged_literal(text, tag, direction);
    Some(literal.ok()?.into())
}

fn language(term: &Term) -> Option<(&str, Option<BaseDirection>)> {
    match Value::of(term) {
        Value::Language(_, tag) => Some(tag),
        _ => None,
    }
}

fn direction(term: &Term) -> Option<Term> {
    if !term.is_literal() {
        return None;
    }
    let direction = language(term).and_then(|(_, direction)| direction);
    let name = match direction {
        Some(BaseDirection::Ltr) => "ltr",
        Some(BaseDirection::Rtl) => "rtl",
        None => "",
    };
    Some(Literal::from(name).into())
}

fn part(function: &Function, term: &Term) -> Option<Term> {
    let Term::Triple(triple) = term else {
        return None;
    };
    Some(match function {
        Function::Subject => triple.subject.clone().into(),
        Function::Predicate => triple.predicate.clone().into(),
        _ => triple.object.clone(),
    })
}

fn zone(function: &Function, term: &Term) -> Option<Term> {
    let Value::Moment(moment) = Value::of(term) else {
        return None;
    };
    if *function == Function::Tz {
        return Some(Literal::from(moment.zone_form()).into());
    }
    let seconds = BigRational::from_integer((moment.zone? * 60).into());
    Some(Duration::of_seconds(seconds)?.literal().into())
}

fn adjusted(time: &Term, zone: &Term) -> Option<Term> {
    match (Value::of(time), Value::of(zone)) {
        (Value::Moment(moment), Value::Duration(zone)) => {
            Some(moment.adjusted(zone.zone()?)?.literal().into())
        }
        _ => None,
    }
}
