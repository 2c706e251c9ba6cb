//! The functions that have names of their own (SPARQL 1.2 section 19.8, rules BuiltInCall and Aggregate;
//! SEP-0002 for `ADJUST`), and how many arguments they take.

use crate::expression::Function;
use std::fmt;

/// A function and its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Builtin {
    pub(crate) meaning: Meaning,
    pub(super) arguments: Arguments,
}

/// What a call becomes.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    Function(Function),
    Bound,
    Coalesce,
    If,
    SameTerm,
}

/// The aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregate {
    Count,
    Sum,
    Min,
    Max,
    Avg,
    Sample,
    GroupConcat,
}

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arguments {
    /// From, to.
    Between(usize, usize),
    /// Any number.
    Any,
    /// One, which is a variable.
    Variable,
}

impl Arguments {
    pub(super) fn allow(self, given: usize) -> bool {
        match self {
            Arguments::Between(least, most) => (least..=most).contains(&given),
            Arguments::Any => true,
            Arguments::Variable => given == 1,
        }
    }
}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arguments::Between(0, 0) => f.write_str("no argument"),
            Arguments::Between(1, 1) => f.write_str("one argument"),
            Arguments::Between(0, 1) => f.write_str("no argument or one"),
            Arguments::Between(least, most) if least == most => write!(f, "{least} arguments"),
            Arguments::Between(least, most) => write!(f, "{least} or {most} arguments"),
            Arguments::Any => f.write_str("any number of arguments"),
            Arguments::Variable => f.write_str("a variable"),
        }
    }
}

/// Letters of the longest name.
const NAME_MAX: usize = 14;

/// A name in capitals, on the stack.
fn capitals<'b>(word: &str, buffer: &'b mut [u8; NAME_MAX]) -> Option<&'b str> {
    let into = buffer.get_mut(..word.len())?;
    into.copy_from_slice(word.as_bytes());
    into.make_ascii_uppercase();
    std::str::from_utf8(into).ok()
}

/// Whether a word is the name of a function, or begins `NOT EXISTS`.
pub(super) fn is_function(word: &str) -> bool {
    let is_pattern = ["EXISTS", "NOT"]
        .iter()
        .any(|name| name.eq_ignore_ascii_case(word));
    is_pattern || aggregate(word).is_some() || builtin(word).is_some()
}

/// The aggregate of this name.
pub(crate) fn aggregate(word: &str) -> Option<Aggregate> {
    Some(match capitals(word, &mut [0; NAME_MAX])? {
        "COUNT" => Aggregate::Count,
        "SUM" => Aggregate::Sum,
        "MIN" => Aggregate::Min,
        "MAX" => Aggregate::Max,
        "AVG" => Aggregate::Avg,
        "SAMPLE" => Aggregate::Sample,
        "GROUP_CONCAT" => Aggregate::GroupConcat,
        _ => return None,
    })
}

/// The function of this name.
pub(crate) fn builtin(word: &str) -> Option<Builtin> {
    let mut buffer = [0; NAME_MAX];
    let name = capitals(word, &mut buffer)?;
    let special = |meaning, arguments| Some(Builtin { meaning, arguments });
    match name {
        "BOUND" => return special(Meaning::Bound, Arguments::Variable),
        "COALESCE" => return special(Meaning::Coalesce, Arguments::Any),
        "IF" => return special(Meaning::If, Arguments::Between(3, 3)),
        "SAMETERM" => return special(Meaning::SameTerm, Arguments::Between(2, 2)),
        _ => {}
    }
    let (function, arguments) = of_one(name)
        .map(|function| (function, Arguments::Between(1, 1)))
        .or_else(|| of_other_numbers(name))?;
    let meaning = Meaning::Function(function);
    Some(Builtin { meaning, arguments })
}

/// Those of one argument.
fn of_one(name: &str) -> Option<Function> {
    Some(match name {
        "STR" => Function::Str,
        "LANG" => Function::Lang,
        "LANGDIR" => Function::LangDir,
        "DATATYPE" => Function::Datatype,
        "IRI" | "URI" => Function::Iri,
        "ABS" => Function::Abs,
        "CEIL" => Function::Ceil,
        "FLOOR" => Function::Floor,
        "ROUND" => Function::Round,
        "STRLEN" => Function::StrLen,
        "UCASE" => Function::UCase,
        "LCASE" => Function::LCase,
        "ENCODE_FOR_URI" => Function::EncodeForUri,
        "YEAR" => Function::Year,
        "MONTH" => Function::Month,
        "DAY" => Function::Day,
        "HOURS" => Function::Hours,
        "MINUTES" => Function::Minutes,
        "SECONDS" => Function::Seconds,
        "TIMEZONE" => Function::Timezone,
        "TZ" => Function::Tz,
        "MD5" => Function::Md5,
        "SHA1" => Function::Sha1,
        "SHA256" => Function::Sha256,
        "SHA384" => Function::Sha384,
        "SHA512" => Function::Sha512,
        "ISIRI" | "ISURI" => Function::IsIri,
        "ISBLANK" => Function::IsBlank,
        "ISLITERAL" => Function::IsLiteral,
        "ISNUMERIC" => Function::IsNumeric,
        "HASLANG" => Function::HasLang,
        "HASLANGDIR" => Function::HasLangDir,
        "ISTRIPLE" => Function::IsTriple,
        "SUBJECT" => Function::Subject,
        "PREDICATE" => Function::Predicate,
        "OBJECT" => Function::Object,
        _ => return None,
    })
}

/// Those of none, of several, or of more than one number.
fn of_other_numbers(name: &str) -> Option<(Function, Arguments)> {
    use Arguments::{Any, Between};
    Some(match name {
        "RAND" => (Function::Rand, Between(0, 0)),
        "NOW" => (Function::Now, Between(0, 0)),
        "UUID" => (Function::Uuid, Between(0, 0)),
        "STRUUID" => (Function::StrUuid, Between(0, 0)),
        "BNODE" => (Function::BNode, Between(0, 1)),
        "LANGMATCHES" => (Function::LangMatches, Between(2, 2)),
        "CONTAINS" => (Function::Contains, Between(2, 2)),
        "STRSTARTS" => (Function::StrStarts, Between(2, 2)),
        "STRENDS" => (Function::StrEnds, Between(2, 2)),
        "STRBEFORE" => (Function::StrBefore, Between(2, 2)),
        "STRAFTER" => (Function::StrAfter, Between(2, 2)),
        "STRLANG" => (Function::StrLang, Between(2, 2)),
        "STRDT" => (Function::StrDt, Between(2, 2)),
        "ADJUST" => (Function::Adjust, Between(2, 2)),
        "STRLANGDIR" => (Function::StrLangDir, Between(3, 3)),
        "TRIPLE" => (Function::Triple, Between(3, 3)),
        "SUBSTR" => (Function::SubStr, Between(2, 3)),
        "REGEX" => (Function::Regex, Between(2, 3)),
        "REPLACE" => (Function::Replace, Between(3, 4)),
        "CONCAT" => (Function::Concat, Any),
        _ => return None,
    })
}

/// The names that are hints, as people write them.
const NAMES: [&str; 67] = [
    "STR",
    "LANG",
    "LANGDIR",
    "DATATYPE",
    "IRI",
    "URI",
    "ABS",
    "CEIL",
    "FLOOR",
    "ROUND",
    "STRLEN",
    "UCASE",
    "LCASE",
    "ENCODE_FOR_URI",
    "YEAR",
    "MONTH",
    "DAY",
    "HOURS",
    "MINUTES",
    "SECONDS",
    "TIMEZONE",
    "TZ",
    "MD5",
    "SHA1",
    "SHA256",
    "SHA384",
    "SHA512",
    "isIRI",
    "isURI",
    "isBLANK",
    "isLITERAL",
    "isNUMERIC",
    "hasLANG",
    "hasLANGDIR",
    "isTRIPLE",
    "SUBJECT",
    "PREDICATE",
    "OBJECT",
    "RAND",
    "NOW",
    "UUID",
    "STRUUID",
    "BNODE",
    "LANGMATCHES",
    "CONTAINS",
    "STRSTARTS",
    "STRENDS",
    "STRBEFORE",
    "STRAFTER",
    "STRLANG",
    "STRDT",
    "ADJUST",
    "STRLANGDIR",
    "TRIPLE",
    "SUBSTR",
    "REGEX",
    "REPLACE",
    "CONCAT",
    "BOUND",
    "COALESCE",
    "IF",
    "sameTerm",
    "COUNT",
    "SUM",
    "AVG",
    "SAMPLE",
    "GROUP_CONCAT",
];

/// The others, which are near to too much.
const SHORT: [&str; 2] = ["MAX", "MIN"];

/// All names, as people write them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(SHORT)
}

/// What a builtin is called.
pub(crate) fn name(function: Function) -> Option<&'static str> {
    let is_it = |name: &&&str| {
        let builtin = builtin(name).map(|builtin| builtin.meaning);
        matches!(builtin, Some(Meaning::Function(named)) if named == function)
    };
    NAMES.iter().find(is_it).copied()
}

/// What functions are called in other languages.
const OTHER_NAMES: [(&str, &str); 19] = [
    ("AVERAGE", "AVG"),
    ("CEILING", "CEIL"),
    ("ENDSWITH", "STRENDS"),
    ("IFNULL", "COALESCE"),
    ("INCLUDES", "CONTAINS"),
    ("INSTR", "CONTAINS"),
    ("ISNULL", "BOUND"),
    ("LEN", "STRLEN"),
    ("LENGTH", "STRLEN"),
    ("LOWER", "LCASE"),
    ("LOWERCASE", "LCASE"),
    ("MATCHES", "REGEX"),
    ("MEAN", "AVG"),
    ("NVL", "COALESCE"),
    ("STARTSWITH", "STRSTARTS"),
    ("STRING", "STR"),
    ("TOSTRING", "STR"),
    ("UPPER", "UCASE"),
    ("UPPERCASE", "UCASE"),
];

/// The function that another name stands for, or whose name is nearest to it, if one is near.
pub(super) fn nearest(word: &str) -> Option<&'static str> {
    let mut others = OTHER_NAMES.iter();
    if let Some((_, name)) = others.find(|(other, _)| other.eq_ignore_ascii_case(word)) {
        return Some(name);
    }
    super::hint::nearest(word, &NAMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_a_function() {
        for name in names() {
            assert!(is_function(name), "{name}");
        }
    }
}
