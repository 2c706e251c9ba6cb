//! The names that may be called (SPARQL 1.2 section 19.8, rules BuiltInCall and Aggregate; SEP-0002 for
//! `ADJUST`), and how many arguments they take: the functions of [`crate::function`], the forms that look at
//! errors or variables, the aggregates.

pub(super) use crate::function::Arguments;
use crate::function::Function;

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
pub(crate) enum AggregateName {
    Count,
    Sum,
    Min,
    Max,
    Avg,
    Sample,
    GroupConcat,
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
pub(crate) fn aggregate(word: &str) -> Option<AggregateName> {
    Some(match capitals(word, &mut [0; NAME_MAX])? {
        "COUNT" => AggregateName::Count,
        "SUM" => AggregateName::Sum,
        "MIN" => AggregateName::Min,
        "MAX" => AggregateName::Max,
        "AVG" => AggregateName::Avg,
        "SAMPLE" => AggregateName::Sample,
        "GROUP_CONCAT" => AggregateName::GroupConcat,
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
    let (function, arguments) = Function::of_name(name)?;
    let meaning = Meaning::Function(function);
    Some(Builtin { meaning, arguments })
}

/// The forms and aggregates that are hints, as people write them.
const OTHERS: [&str; 9] = [
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
const _: () = {
    let mut at = 0;
    while at < Function::NAMES.len() {
        assert!(
            Function::NAMES[at].len() <= NAME_MAX,
            "a longer name is never found"
        );
        at += 1;
    }
    let mut at = 0;
    while at < OTHERS.len() {
        assert!(OTHERS[at].len() <= NAME_MAX, "a longer name is never found");
        at += 1;
    }
};

/// The names that are hints, as people write them.
fn hints() -> impl Iterator<Item = &'static str> + Clone {
    Function::NAMES.iter().copied().chain(OTHERS)
}

/// All names, as people write them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    hints().chain(SHORT)
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
    super::hint::nearest(word, hints())
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
