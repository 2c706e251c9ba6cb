//! The builtins, constant patterns among their arguments, and the casts: functions that are named by the IRI of a datatype (SPARQL 1.1 Query
//! section 17.5). Any other function named by an IRI is refused: it has no meaning that could be
//! guessed.

use super::Lowering;
use crate::expression::{Cast, Function};
use crate::parse::ParseError;
use crate::xpath_pattern;
use oxrdf::vocab::xsd;
use oxrdf::{NamedNode, NamedNodeRef};
use spargebra::algebra::{Expression, Function as Algebra};

impl Lowering<'_> {
    /// The parser has counted the arguments of builtins.
    pub(super) fn function(
        &self,
        function: &Algebra,
        arguments: usize,
    ) -> Result<Function, ParseError> {
        let Algebra::Custom(name) = function else {
            return Ok(builtin(function));
        };
        match cast(name) {
            Some(cast) if arguments == 1 => Ok(Function::Cast(cast)),
            Some(_) => Err(self.cast_arguments(name, arguments)),
            None => Err(self.unknown_function(name)),
        }
    }

    /// Refuses a constant pattern of `REGEX` or `REPLACE`, or constant flags, that cannot be used: as an
    /// error of each row they would make an empty answer, which looks like one.
    pub(super) fn check_pattern(
        &self,
        function: &Algebra,
        arguments: &[Expression],
    ) -> Result<(), ParseError> {
        let flags = match function {
            Algebra::Regex => arguments.get(2),
            Algebra::Replace => arguments.get(3),
            _ => return Ok(()),
        };
        fn text(argument: &Expression) -> Option<&str> {
            match argument {
                Expression::Literal(literal) if literal.datatype() == xsd::STRING => {
                    Some(literal.value())
                }
                _ => None,
            }
        }
        let pattern = text(&arguments[1]);
        // Constant flags are looked at beside a computed pattern, too.
        let flags = match flags {
            None => Some(""),
            Some(flags) => text(flags),
        };
        let (checked, with) = match (pattern, flags) {
            (Some(pattern), Some(flags)) => (pattern, flags),
            (None, Some(flags)) => ("", flags),
            _ => return Ok(()),
        };
        match xpath_pattern::translate(checked, with) {
            Ok(_) => Ok(()),
            Err(refusal) => Err(self.refused_pattern(function, checked, with, refusal)),
        }
    }
}

fn cast(name: &NamedNode) -> Option<Cast> {
    let name = name.as_ref();
    Some(match () {
        () if name == xsd::BOOLEAN => Cast::Boolean,
        () if name == xsd::INTEGER => Cast::Integer,
        () if name == xsd::DECIMAL => Cast::Decimal,
        () if name == xsd::FLOAT => Cast::Float,
        () if name == xsd::DOUBLE => Cast::Double,
        () if name == xsd::STRING => Cast::String,
        () if name == xsd::DATE_TIME => Cast::DateTime,
        () if name == xsd::DATE => Cast::Date,
        () if name == xsd::TIME => Cast::Time,
        () if name == xsd::DURATION => Cast::Duration,
        () if name == xsd::YEAR_MONTH_DURATION => Cast::YearMonthDuration,
        () if name == xsd::DAY_TIME_DURATION => Cast::DayTimeDuration,
        () if name == xsd::G_YEAR => Cast::GYear,
        () if name == xsd::G_YEAR_MONTH => Cast::GYearMonth,
        () if name == xsd::G_MONTH_DAY => Cast::GMonthDay,
        () if name == xsd::G_MONTH => Cast::GMonth,
        () if name == xsd::G_DAY => Cast::GDay,
        () => {
            let derived = DERIVED.into_iter().find(|derived| *derived == name);
            return derived.map(Cast::Derived);
        }
    })
}

/// The other datatypes that can be cast to (XPath and XQuery Functions and Operators 3.1 section 19.3).
const DERIVED: [NamedNodeRef<'static>; 20] = [
    xsd::BYTE,
    xsd::SHORT,
    xsd::INT,
    xsd::LONG,
    xsd::UNSIGNED_BYTE,
    xsd::UNSIGNED_SHORT,
    xsd::UNSIGNED_INT,
    xsd::UNSIGNED_LONG,
    xsd::POSITIVE_INTEGER,
    xsd::NEGATIVE_INTEGER,
    xsd::NON_POSITIVE_INTEGER,
    xsd::NON_NEGATIVE_INTEGER,
    xsd::NORMALIZED_STRING,
    xsd::TOKEN,
    xsd::LANGUAGE,
    xsd::NMTOKEN,
    xsd::NAME,
    xsd::NC_NAME,
    xsd::ANY_URI,
    xsd::DATE_TIME_STAMP,
];

fn builtin(function: &Algebra) -> Function {
    match function {
        Algebra::Str => Function::Str,
        Algebra::Lang => Function::Lang,
        Algebra::LangMatches => Function::LangMatches,
        Algebra::Datatype => Function::Datatype,
        Algebra::Iri => Function::Iri,
        Algebra::BNode => Function::BNode,
        Algebra::Rand => Function::Rand,
        Algebra::Abs => Function::Abs,
        Algebra::Ceil => Function::Ceil,
        Algebra::Floor => Function::Floor,
        Algebra::Round => Function::Round,
        Algebra::Concat => Function::Concat,
        Algebra::SubStr => Function::SubStr,
        Algebra::StrLen => Function::StrLen,
        Algebra::Replace => Function::Replace,
        Algebra::UCase => Function::UCase,
        Algebra::LCase => Function::LCase,
        Algebra::EncodeForUri => Function::EncodeForUri,
        Algebra::Contains => Function::Contains,
        Algebra::StrStarts => Function::StrStarts,
        Algebra::StrEnds => Function::StrEnds,
        Algebra::StrBefore => Function::StrBefore,
        Algebra::StrAfter => Function::StrAfter,
        Algebra::Year => Function::Year,
        Algebra::Month => Function::Month,
        Algebra::Day => Function::Day,
        Algebra::Hours => Function::Hours,
        Algebra::Minutes => Function::Minutes,
        Algebra::Seconds => Function::Seconds,
        Algebra::Timezone => Function::Timezone,
        Algebra::Tz => Function::Tz,
        Algebra::Now => Function::Now,
        Algebra::Uuid => Function::Uuid,
        Algebra::StrUuid => Function::StrUuid,
        Algebra::Md5 => Function::Md5,
        Algebra::Sha1 => Function::Sha1,
        Algebra::Sha256 => Function::Sha256,
        Algebra::Sha384 => Function::Sha384,
        Algebra::Sha512 => Function::Sha512,
        Algebra::StrLang => Function::StrLang,
        Algebra::StrDt => Function::StrDt,
        Algebra::IsIri => Function::IsIri,
        Algebra::IsBlank => Function::IsBlank,
        Algebra::IsLiteral => Function::IsLiteral,
        Algebra::IsNumeric => Function::IsNumeric,
        Algebra::Regex => Function::Regex,
        of_1_2 => builtin_of_1_2(of_1_2),
    }
}

/// What SPARQL 1.2 and SEP-0002 add.
fn builtin_of_1_2(function: &Algebra) -> Function {
    match function {
        Algebra::Triple => Function::Triple,
        Algebra::Subject => Function::Subject,
        Algebra::Predicate => Function::Predicate,
        Algebra::Object => Function::Object,
        Algebra::IsTriple => Function::IsTriple,
        Algebra::LangDir => Function::LangDir,
        Algebra::HasLang => Function::HasLang,
        Algebra::HasLangDir => Function::HasLangDir,
        Algebra::StrLangDir => Function::StrLangDir,
        Algebra::Adjust => Function::Adjust,
        _ => unreachable!("all other functions have been looked at"),
    }
}
