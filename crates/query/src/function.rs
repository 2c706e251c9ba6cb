//! The builtin functions: one row each, and all that the engine knows of a function from its row.
//!
//! [`Function`] is made of the rows, so that a function without a row does not exist. The parser takes names
//! and numbers of arguments from here, the planner kinds, completion and hints names; tests see to it that the
//! dictionary for fuzzing and the random queries have all of them. What a function computes stands in
//! `explore::expression::call`, which the compiler holds to be complete.
//!
//! A row's name is a literal in capitals because names are found by a `match` on strings: a text is parsed
//! without a table being searched. The forms that look at errors or at variables (`BOUND`, `COALESCE`, `IF`,
//! `sameTerm`) are no functions of values, so they stand in `parser::builtin`, beside the aggregates.

use oxrdf::NamedNodeRef;
use oxrdf::vocab::xsd;
use std::fmt;

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// From, to.
    Between(usize, usize),
    /// Any number.
    Any,
    /// One, which is a variable.
    Variable,
}

impl Arguments {
    /// Whether a call may have this many.
    pub fn allow(self, given: usize) -> bool {
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

/// What a function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A boolean that says what a term is.
    TermTest,
    /// A boolean that says what a text holds.
    TextTest,
    /// A string, with or without a language.
    Text,
    /// A number.
    Number,
    /// A date, a time or a duration.
    Time,
    /// Any term.
    Term,
}

impl Kind {
    /// Whether it is a boolean; such functions are conditions.
    pub const fn is_boolean(self) -> bool {
        matches!(self, Kind::TermTest | Kind::TextTest)
    }
}

/// A name as people write it.
macro_rules! written {
    ($capitals:literal) => {
        $capitals
    };
    ($capitals:literal $written:literal) => {
        $written
    };
}

/// Whether equal arguments may give another value at each call.
macro_rules! is_new {
    (same) => {
        false
    };
    (new) => {
        true
    };
}

/// Makes [`Function`] of rows: names in capitals, with `as` the way people write them where that is another;
/// the variant; arguments; kind; `new` where each call gives another value, else `same`.
macro_rules! functions {
    ($(
        $capitals:literal $(as $written:literal)? $(| $other:literal $(as $other_written:literal)?)?
            => $function:ident, $arguments:expr, $kind:ident, $repeat:ident;
    )*) => {
        /// The builtins of SPARQL 1.1 Query section 17.4 and those of 1.2 and SEP-0002, and the casts of
        /// section 17.5. An unknown function is refused by the translator with its position.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Function {
            $(
                #[doc = concat!("`", written!($capitals $($written)?), "`")]
                $function,
            )*
            /// A cast by the constructor function of a datatype (17.5), one argument.
            Cast(Cast),
            /// When the triple of three terms came last in the windows of a standing query
            /// ([`Function::TIMESTAMP`]).
            Timestamp,
        }

        impl Function {
            /// The IRI of [`Function::Timestamp`], as the C-SPARQL engine has it.
            pub const TIMESTAMP: &str = "http://larkc.eu/csparql/sparql/jena/ext#timestamp";

            /// All but those that have no names of their own: IRIs name them.
            pub const NAMED: &[Function] = &[$(Function::$function),*];

            /// All names, as people write them.
            pub const NAMES: &[&str] = &[$(
                written!($capitals $($written)?),
                $(written!($other $($other_written)?),)?
            )*];

            /// The function of a name in capitals, and its arguments.
            pub fn of_name(capitals: &str) -> Option<(Function, Arguments)> {
                Some(match capitals {
                    $($capitals $(| $other)? => (Function::$function, $arguments),)*
                    _ => return None,
                })
            }

            /// Its name, as people write it; none where an IRI names it.
            pub const fn name(self) -> Option<&'static str> {
                Some(match self {
                    $(Function::$function => written!($capitals $($written)?),)*
                    Function::Cast(_) | Function::Timestamp => return None,
                })
            }

            /// How many arguments a call of it has in a text.
            pub const fn arguments(self) -> Arguments {
                match self {
                    $(Function::$function => $arguments,)*
                    Function::Cast(_) => ONE,
                    Function::Timestamp => THREE,
                }
            }

            /// What it gives.
            pub const fn kind(self) -> Kind {
                match self {
                    $(Function::$function => Kind::$kind,)*
                    Function::Cast(_) => Kind::Term,
                    Function::Timestamp => Kind::Number,
                }
            }

            /// Whether equal arguments may give another value at each call (sections 17.4.2.9, 17.4.2.12,
            /// 17.4.2.13, 17.4.4.5).
            pub const fn gives_new(self) -> bool {
                match self {
                    $(Function::$function => is_new!($repeat),)*
                    Function::Cast(_) | Function::Timestamp => false,
                }
            }
        }
    };
}

const NONE: Arguments = Arguments::Between(0, 0);
const ONE: Arguments = Arguments::Between(1, 1);
const TWO: Arguments = Arguments::Between(2, 2);
const THREE: Arguments = Arguments::Between(3, 3);

functions! {
    "STR" => Str, ONE, Text, same;
    "LANG" => Lang, ONE, Text, same;
    "LANGDIR" => LangDir, ONE, Text, same;
    "DATATYPE" => Datatype, ONE, Term, same;
    // Relative ones are resolved against the plan's base.
    "IRI" | "URI" => Iri, ONE, Term, same;
    "ABS" => Abs, ONE, Number, same;
    "CEIL" => Ceil, ONE, Number, same;
    "FLOOR" => Floor, ONE, Number, same;
    "ROUND" => Round, ONE, Number, same;
    "STRLEN" => StrLen, ONE, Number, same;
    "UCASE" => UCase, ONE, Text, same;
    "LCASE" => LCase, ONE, Text, same;
    "ENCODE_FOR_URI" => EncodeForUri, ONE, Text, same;
    "YEAR" => Year, ONE, Number, same;
    "MONTH" => Month, ONE, Number, same;
    "DAY" => Day, ONE, Number, same;
    "HOURS" => Hours, ONE, Number, same;
    "MINUTES" => Minutes, ONE, Number, same;
    "SECONDS" => Seconds, ONE, Number, same;
    "TIMEZONE" => Timezone, ONE, Time, same;
    "TZ" => Tz, ONE, Text, same;
    "MD5" => Md5, ONE, Text, same;
    "SHA1" => Sha1, ONE, Text, same;
    "SHA256" => Sha256, ONE, Text, same;
    "SHA384" => Sha384, ONE, Text, same;
    "SHA512" => Sha512, ONE, Text, same;
    "ISIRI" as "isIRI" | "ISURI" as "isURI" => IsIri, ONE, TermTest, same;
    "ISBLANK" as "isBLANK" => IsBlank, ONE, TermTest, same;
    "ISLITERAL" as "isLITERAL" => IsLiteral, ONE, TermTest, same;
    "ISNUMERIC" as "isNUMERIC" => IsNumeric, ONE, TermTest, same;
    "HASLANG" as "hasLANG" => HasLang, ONE, TermTest, same;
    "HASLANGDIR" as "hasLANGDIR" => HasLangDir, ONE, TermTest, same;
    "ISTRIPLE" as "isTRIPLE" => IsTriple, ONE, TermTest, same;
    "SUBJECT" => Subject, ONE, Term, same;
    "PREDICATE" => Predicate, ONE, Term, same;
    "OBJECT" => Object, ONE, Term, same;
    "RAND" => Rand, NONE, Number, new;
    "NOW" => Now, NONE, Time, same;
    "UUID" => Uuid, NONE, Term, new;
    "STRUUID" => StrUuid, NONE, Text, new;
    // Equal strings give equal blank nodes within a row. The planner adds a second argument, a blank node that
    // names the row: equal ones in all its expressions.
    "BNODE" => BNode, Arguments::Between(0, 1), Term, new;
    "LANGMATCHES" => LangMatches, TWO, TextTest, same;
    "CONTAINS" => Contains, TWO, TextTest, same;
    "STRSTARTS" => StrStarts, TWO, TextTest, same;
    "STRENDS" => StrEnds, TWO, TextTest, same;
    "STRBEFORE" => StrBefore, TWO, Text, same;
    "STRAFTER" => StrAfter, TWO, Text, same;
    "STRLANG" => StrLang, TWO, Term, same;
    "STRDT" => StrDt, TWO, Term, same;
    // Of SEP-0002. Compiled plans may have one argument: the timezone is then the implicit one.
    "ADJUST" => Adjust, TWO, Time, same;
    "STRLANGDIR" => StrLangDir, THREE, Term, same;
    "TRIPLE" => Triple, THREE, Term, same;
    "SUBSTR" => SubStr, Arguments::Between(2, 3), Text, same;
    "REGEX" => Regex, Arguments::Between(2, 3), TextTest, same;
    "REPLACE" => Replace, Arguments::Between(3, 4), Text, same;
    "CONCAT" => Concat, Arguments::Any, Text, same;
}

const _: () = {
    let mut at = 0;
    while at < Function::NAMED.len() {
        if let Arguments::Between(least, most) = Function::NAMED[at].arguments() {
            assert!(
                least <= most,
                "a call has arguments that its function allows"
            );
        }
        at += 1;
    }
};

/// The datatypes that a term can be cast to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cast {
    /// `xsd:boolean`
    Boolean,
    /// `xsd:integer`
    Integer,
    /// `xsd:decimal`
    Decimal,
    /// `xsd:float`
    Float,
    /// `xsd:double`
    Double,
    /// `xsd:string`
    String,
    /// `xsd:dateTime`
    DateTime,
    /// `xsd:date`
    Date,
    /// `xsd:time`
    Time,
    /// `xsd:duration`
    Duration,
    /// `xsd:yearMonthDuration`
    YearMonthDuration,
    /// `xsd:dayTimeDuration`
    DayTimeDuration,
    /// `xsd:gYear`
    GYear,
    /// `xsd:gYearMonth`
    GYearMonth,
    /// `xsd:gMonthDay`
    GMonthDay,
    /// `xsd:gMonth`
    GMonth,
    /// `xsd:gDay`
    GDay,
    /// A datatype that is derived from `xsd:integer`, `xsd:string` or `xsd:dateTime`, or `xsd:anyURI`.
    Derived(NamedNodeRef<'static>),
}

impl Cast {
    /// The casts to datatypes that are derived from no other.
    pub const PRIMITIVE: [Cast; 17] = [
        Cast::Boolean,
        Cast::Integer,
        Cast::Decimal,
        Cast::Float,
        Cast::Double,
        Cast::String,
        Cast::DateTime,
        Cast::Date,
        Cast::Time,
        Cast::Duration,
        Cast::YearMonthDuration,
        Cast::DayTimeDuration,
        Cast::GYear,
        Cast::GYearMonth,
        Cast::GMonthDay,
        Cast::GMonth,
        Cast::GDay,
    ];

    /// The other datatypes that can be cast to (XPath and XQuery Functions and Operators 3.1 section 19.3).
    pub const DERIVED: [NamedNodeRef<'static>; 20] = [
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

    /// The cast to a datatype, if there is one.
    pub fn of_datatype(datatype: NamedNodeRef<'_>) -> Option<Cast> {
        let derived = Cast::DERIVED.into_iter().map(Cast::Derived);
        let mut all = Cast::PRIMITIVE.into_iter().chain(derived);
        all.find(|cast| cast.datatype() == datatype)
    }

    /// The datatype that it casts to.
    pub const fn datatype(self) -> NamedNodeRef<'static> {
        match self {
            Cast::Boolean => xsd::BOOLEAN,
            Cast::Integer => xsd::INTEGER,
            Cast::Decimal => xsd::DECIMAL,
            Cast::Float => xsd::FLOAT,
            Cast::Double => xsd::DOUBLE,
            Cast::String => xsd::STRING,
            Cast::DateTime => xsd::DATE_TIME,
            Cast::Date => xsd::DATE,
            Cast::Time => xsd::TIME,
            Cast::Duration => xsd::DURATION,
            Cast::YearMonthDuration => xsd::YEAR_MONTH_DURATION,
            Cast::DayTimeDuration => xsd::DAY_TIME_DURATION,
            Cast::GYear => xsd::G_YEAR,
            Cast::GYearMonth => xsd::G_YEAR_MONTH,
            Cast::GMonthDay => xsd::G_MONTH_DAY,
            Cast::GMonth => xsd::G_MONTH,
            Cast::GDay => xsd::G_DAY,
            Cast::Derived(datatype) => datatype,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_its_function_and_back() {
        for name in Function::NAMES {
            let (function, arguments) = Function::of_name(&name.to_ascii_uppercase())
                .unwrap_or_else(|| panic!("{name} is not found"));
            assert_eq!(function.arguments(), arguments, "{name}");
        }
        for function in Function::NAMED {
            let name = function.name().expect("a builtin");
            let found = Function::of_name(&name.to_ascii_uppercase()).expect("a builtin");
            assert_eq!(found.0, *function);
        }
    }

    #[test]
    fn the_dictionary_for_fuzzing_has_every_name() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fuzz/dictionaries/sparql.dict"
        );
        let dictionary = std::fs::read_to_string(path).expect("the dictionary is there");
        let words: Vec<String> = dictionary.lines().map(str::to_ascii_uppercase).collect();
        for name in Function::NAMES {
            let word = format!("\"{}\"", name.to_ascii_uppercase());
            assert!(words.contains(&word), "{name} is not in the dictionary");
        }
    }
}
