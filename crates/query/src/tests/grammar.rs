//! Our grammar against another one's: the library's, over texts that people wrote, those of the suites, and
//! random changes of them.
//!
//! Two readings agree if both refuse the text, or both give the same query or operation. Where they do not, one of
//! these is the reason, each of them a fault of the library:
//!
//! | fault | what the library does |
//! |---|---|
//! | a sign belongs to its number (INTEGER_NEGATIVE) | takes `-5` in an expression for the negation of 5, and `- 5` for a number |
//! | `GROUP BY (?s AS ?k)`, `((?s) AS ?k)` | forgets `?k` |
//! | aggregates in `HAVING` and `ORDER BY` of `ASK`, `CONSTRUCT`, `DESCRIBE` | refuses them |
//! | a variable that `SELECT` gives a value, further on in it | refuses it beside groups (it is read with the expression in its place) |
//! | `CONCAT (`, `COALESCE (` | refuses the blank |
//! | keywords run into what follows (`ORDERBY`; not `SELECT*`) | reads them |
//! | `?a<?b&&?c>?d`: the longest token counts | reads no IRI |
//! | `<<( "a" ?p ?o )>>` in an expression | reads a literal or a triple term as subject |
//! | aggregates in aggregates, in `FILTER`, in `GROUP BY` | reads them |
//! | triples of a template without a dot between them | reads them |
//! | the variable of `SERVICE ?e` is in scope | leaves it out of `*` |
//! | a prologue before each operation of an update; `TRUE` | refuses them |
//! | names with several dots | reads them as several names |
//! | a comment between the brackets of `[]` and `()` | refuses it |

use super::library;
use crate::grammar::lexer;
use crate::grammar::lexer::token::{TokenKind, Tokens};
use crate::update::{Operation, parse_update};
use crate::{Limits, ParseErrorKind, ParseOptions, parse};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use testkit::random::Random;

/// A text and where it comes from.
struct Sample {
    origin: String,
    text: String,
    /// Whether another engine (Apache Jena) reads it, where that is known.
    is_read_elsewhere: Option<bool>,
}

fn options() -> ParseOptions {
    ParseOptions {
        base: Some("http://example.org/".to_owned()),
        ..ParseOptions::default()
    }
}

fn shared(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    root.join(path)
}

/// The queries of the suites.
fn of_suites(extension: &str) -> Vec<Sample> {
    let mut texts = Vec::new();
    let mut folders = vec![shared("w3c")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == extension)
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                texts.push(Sample {
                    origin: path.display().to_string(),
                    text,
                    is_read_elsewhere: None,
                });
            }
        }
    }
    texts.sort_by(|one, other| one.origin.cmp(&other.origin));
    texts
}

/// The queries of public projects.
fn of_projects(kind: &str) -> Vec<Sample> {
    let Ok(file) = std::fs::File::open(shared("queries/real.json.gz")) else {
        return Vec::new();
    };
    let mut json = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut json)
        .unwrap();
    let list: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    let text = |value: &serde_json::Value, key: &str| value[key].as_str().unwrap().to_owned();
    let queries = list.iter().filter(|value| value["kind"] == kind);
    let texts = queries.map(|value| Sample {
        origin: text(value, "origin"),
        text: text(value, "text"),
        is_read_elsewhere: Some(value["jena"] == "ok"),
    });
    texts.collect()
}

fn texts() -> Vec<Sample> {
    let mut texts = of_suites("rq");
    texts.append(&mut of_projects("query"));
    for case in include_str!("lower.txt").split("\n\n") {
        texts.push(Sample {
            origin: "lower.txt".to_owned(),
            text: case.split("\n----\n").next().unwrap_or(case).to_owned(),
            is_read_elsewhere: None,
        });
    }
    texts
}

/// Why texts are refused that another engine reads.
const REASONS: [&str; 2] = [
    // `SELECT (... AS ?v) ... GROUP BY ?v`, which SPARQL 1.2 refuses (the suite's `group-by-scope-bad-2`).
    "has a value already: AS needs a new name",
    // The expressions of XPath have none (F&O section 5.6.1), and no automaton does.
    "look-around and named groups are not known to XPath",
];

/// Whether a text shows one of the library's faults.
fn shows_fault(text: &str) -> bool {
    let Ok(tokens) = lexer::scan(text, &Limits::default()) else {
        return false;
    };
    let list = &tokens.tokens;
    let slice = |at: usize| list.get(at).map_or("", |token| tokens.slice(*token));
    let is_word = |at: usize, word: &str| slice(at).eq_ignore_ascii_case(word);
    let first = crate::parse::first_keyword(&tokens).map(|token| tokens.slice(token));
    let is_select = first.is_some_and(|word| word.eq_ignore_ascii_case("SELECT"));
    (0..list.len()).any(|at| {
        let is_sign = matches!(slice(at), "+" | "-")
            && list
                .get(at + 1)
                .is_some_and(|next| next.kind == TokenKind::Number);
        let is_blank = (is_word(at, "CONCAT") || is_word(at, "COALESCE")) && {
            let next = list.get(at + 1);
            next.is_some_and(|next| next.start != list[at].end)
        };
        let is_key = is_word(at, "AS") && is_group_key(&tokens, at);
        let is_grouped = !is_select && (is_word(at, "GROUP") || is_word(at, "HAVING"));
        let is_dotted =
            list[at].kind == TokenKind::PrefixedName && slice(at).matches('.').count() > 1;
        let is_endpoint = is_word(at, "SERVICE")
            && (slice(at + 1).starts_with(['?', '$']) || is_word(at + 1, "SILENT"))
            && text.contains('*');
        let is_empty = matches!((slice(at), slice(at + 1)), ("[", "]") | ("(", ")"))
            && list[at + 1].start != list[at].end;
        is_endpoint || is_empty || is_sign || is_blank || is_key || is_grouped || is_dotted
    })
}

/// Whether this `AS` stands after `GROUP BY`, behind a variable in brackets.
fn is_group_key(tokens: &Tokens<'_>, at: usize) -> bool {
    let word = |at: usize| tokens.slice(tokens.tokens[at]);
    let before = (0..at).rev().map(word);
    at >= 2
        && word(at - 1).starts_with(['?', '$', ')'])
        && before
            .take_while(|word| !word.starts_with(['{', '}']))
            .any(|word| word.eq_ignore_ascii_case("GROUP"))
}

enum Verdict {
    Same,
    Excused,
    Differ(String),
}

fn compare(text: &str) -> Verdict {
    let mut ours = parse(text, &options());
    // The library does not tell them.
    if let Ok(query) = &mut ours {
        query.prefixes.clear();
    }
    let theirs = library::query(text, &options());
    judged(text, &ours, &theirs, |query| format!("{:?}", query.body()))
}

/// As [`compare`], for an update; `None` where the library has another operation for it.
fn compare_update(text: &str) -> Option<Verdict> {
    let ours = parse_update(text, &options());
    let theirs = library::operation(text, &options())?;
    let ours = ours.map(|mut update| match update.operations.len() {
        1 => update.operations.pop(),
        _ => None,
    });
    let ours = match ours {
        Ok(Some(mut operation)) => {
            if let Operation::Modify(modify) = &mut operation {
                modify.query.prefixes.clear();
            }
            Ok(operation)
        }
        Ok(None) => return None,
        Err(error) => Err(error),
    };
    Some(judged(text, &ours, &theirs, |operation: &Operation| {
        format!("{operation:?}")
    }))
}

fn judged<T: PartialEq>(
    text: &str,
    ours: &Result<T, crate::ParseError>,
    theirs: &Result<T, crate::ParseError>,
    show: impl Fn(&T) -> String,
) -> Verdict {
    let is_same = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => ours == theirs,
        // Whatever is refused is refused for a reason, in words and with a place.
        (Err(ours), Err(_)) => !ours.message.is_empty(),
        // What was refused because the library took too long over it is no difference.
        (Ok(_), Err(error)) => {
            matches!(error.kind, ParseErrorKind::Limit { .. })
                || LIBRARY_REFUSES
                    .iter()
                    .any(|fault| error.message.contains(fault))
        }
        (Err(ours), Ok(_)) => LIBRARY_READS
            .iter()
            .any(|fault| ours.message.contains(fault)),
    };
    if is_same {
        return Verdict::Same;
    }
    if shows_fault(text) {
        return Verdict::Excused;
    }
    let told = |one: &Result<T, crate::ParseError>| match one {
        Ok(read) => show(read),
        Err(error) => error.to_string(),
    };
    Verdict::Differ(format!("ours: {}\n-- theirs: {}", told(ours), told(theirs)))
}

/// What the library says of texts that it refuses by one of its faults.
const LIBRARY_REFUSES: [&str; 1] =
    ["The SELECT contains an expression with a variable that is unbound"];

/// What we say of texts that the library reads by one of its faults.
const LIBRARY_READS: [&str; 4] = [
    "aggregates belong into SELECT, HAVING and ORDER BY, and not into one another",
    "expected `.`, `;`, `,`, GRAPH or `}`",
    "is read as an IRI: put a blank after `<`",
    "a literal or a triple term is no subject of a triple term",
];

#[test]
fn texts_of_suites_and_people() {
    let texts = texts();
    let (mut same, mut excused, mut differ) = (0, 0, String::new());
    for text in &texts {
        match compare(&text.text) {
            Verdict::Same => same += 1,
            Verdict::Excused => excused += 1,
            Verdict::Differ(how) => {
                let _ = writeln!(differ, "== {}\n{}\n-- {how}", text.origin, text.text);
            }
        }
        if text.is_read_elsewhere == Some(true)
            && let Err(error) = parse(&text.text, &options())
            && error.kind != ParseErrorKind::Unsupported
            && !REASONS.iter().any(|reason| error.message.contains(reason))
        {
            let _ = writeln!(differ, "== {}\n{}\n-- {error}", text.origin, text.text);
        }
    }
    eprintln!(
        "grammar: {} texts, {same} the same, {excused} by faults of the library",
        texts.len()
    );
    assert!(differ.is_empty(), "{differ}");
    assert!(same > 20);
}

/// What is put into texts besides their own tokens.
const POOL: [&str; 60] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ".",
    ";",
    ",",
    "*",
    "+",
    "-",
    "/",
    "|",
    "^",
    "!",
    "=",
    "!=",
    "<",
    ">",
    "<=",
    "&&",
    "||",
    "?x",
    "$y",
    "?z",
    "a",
    "<http://e/p>",
    "_:b",
    "1",
    "2.5",
    "1e3",
    "-7",
    "\"s\"",
    "'t'@en",
    "true",
    "SELECT",
    "WHERE",
    "FILTER",
    "OPTIONAL",
    "UNION",
    "MINUS",
    "GRAPH",
    "BIND",
    "AS",
    "VALUES",
    "UNDEF",
    "EXISTS",
    "NOT",
    "IN",
    "COUNT",
    "DISTINCT",
    "GROUP BY",
    "HAVING",
    "ORDER BY",
    "LIMIT 3",
    "STR",
    "<<(",
    ")>>",
    "{|",
];

/// A text with some of its tokens dropped, doubled, exchanged, or replaced.
fn changed(text: &str, random: &mut Random) -> String {
    let Ok(tokens) = lexer::scan(text, &Limits::default()) else {
        return text.to_owned();
    };
    let mut words: Vec<String> = tokens
        .tokens
        .iter()
        .map(|token| tokens.slice(*token).to_owned())
        .collect();
    for _ in 0..=random.below(3) {
        if words.is_empty() {
            break;
        }
        let at = random.below(words.len());
        let other = random.below(words.len());
        match random.below(6) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[at].clone()),
            2 => words.swap(at, other),
            3 => words[at] = words[other].clone(),
            4 => words[at] = POOL[random.below(POOL.len())].to_owned(),
            _ => words.insert(at, POOL[random.below(POOL.len())].to_owned()),
        }
    }
    respelled(&words, random)
}

/// The words with blanks, comments and another case, which change nothing.
fn respelled(words: &[String], random: &mut Random) -> String {
    let mut text = String::new();
    for word in words {
        let is_keyword = word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        match random.below(8) {
            0 if is_keyword => text.push_str(&word.to_ascii_lowercase()),
            1 if is_keyword => text.push_str(&word.to_ascii_uppercase()),
            _ => text.push_str(word),
        }
        text.push_str(match random.below(12) {
            0 => "\n",
            1 => " # no }\n",
            2 => "\t ",
            _ => " ",
        });
    }
    text
}

#[test]
fn random_changes_of_texts() {
    let mut texts = texts();
    let queries = texts.len();
    texts.append(&mut of_suites("ru"));
    let is_update = |at: usize| at >= queries;
    let texts: Vec<(bool, Sample)> = texts
        .into_iter()
        .enumerate()
        .map(|(at, text)| (is_update(at), text))
        .filter(|(_, text)| text.text.len() < 4_000)
        .collect();
    let is_long = std::env::var_os("SOMERSAULT_LONG").is_some();
    let seed = std::env::var("SOMERSAULT_SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut random = Random::new(seed);
    let rounds = if is_long { 1_000_000 } else { 20_000 };
    let (mut same, mut excused, mut read, mut differ) = (0_u64, 0_u64, 0_u64, Vec::new());
    for _ in 0..rounds {
        let (is_update, text) = &texts[random.below(texts.len())];
        let text = changed(&text.text, &mut random);
        let verdict = if *is_update {
            read += u64::from(parse_update(&text, &options()).is_ok());
            compare_update(&text)
        } else {
            read += u64::from(parse(&text, &options()).is_ok());
            Some(compare(&text))
        };
        match verdict {
            Some(Verdict::Same) => same += 1,
            Some(Verdict::Excused) | None => excused += 1,
            Some(Verdict::Differ(how)) => differ.push(format!("== {text}\n-- {how}\n")),
        }
        if differ.len() >= 40 {
            break;
        }
    }
    eprintln!("grammar: {same} the same ({read} read), {excused} by faults of the library");
    assert!(differ.is_empty(), "{}", differ.concat());
}
