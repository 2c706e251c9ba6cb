//! Pragmas of a standing query: comment lines `#@ key=value ...`, which replace the defaults of its dialect one by one.
//!
//! ```text
//!  #@ bounds=lcro report=close,nonempty t0=epoch
//!  #@ lateness=200ms emit=exactly-once
//! ```
//!
//! | key | values |
//! |---|---|
//! | `bounds` | `lcro`, `lorc` |
//! | `report` | `close`, `change` or `periodic=SPAN`; with `nonempty`, `rows` behind a comma; what is not listed is off |
//! | `nonempty`, `rows` | `yes`, `no`; the key alone is `yes` |
//! | `t0` | `epoch`, `first` (classic C-SPARQL), milliseconds, a span |
//! | `partial_first`, `multiset`, `compat` | `yes`, `no` |
//! | `difference` | `multiset`, `set` |
//! | `r2s` | `rstream`, `istream`, `dstream` |
//! | `emit` | `at-most-once`, `at-least-once`, `exactly-once` |
//! | `freshness` | `aligned`, `latest` |
//! | `late` | `side`, `drop`, `revise` |
//! | `lateness` | a span |
//!
//! Invariants: a key stands once; an unknown key or value is an error at its place, which names the nearest known one.
//! An ordinary query has the same lines as comments, which mean nothing there.
//!
//! Cost: one pass over the pieces of the text.

use super::{
    Bounds, Difference, Emit, Extent, Freshness, Late, Relation, Report, StandingQuery, When,
};
use crate::error::{ParseError, ParseErrorKind};
use crate::grammar::lexer::cover::{PieceKind, pieces};
use crate::grammar::span;
use crate::position::Position;

/// What a comment that is a pragma begins with.
const MARK: &str = "#@";

const KEYS: [&str; 14] = [
    "bounds",
    "report",
    "nonempty",
    "rows",
    "t0",
    "partial_first",
    "multiset",
    "difference",
    "r2s",
    "emit",
    "freshness",
    "late",
    "lateness",
    "compat",
];

const SWITCH: [(&str, bool); 6] = [
    ("yes", true),
    ("no", false),
    ("on", true),
    ("off", false),
    ("true", true),
    ("false", false),
];

/// What pragmas say; `None` where they say nothing.
#[derive(Debug, Default)]
pub(super) struct Pragmas {
    pub(super) bounds: Option<Bounds>,
    pub(super) when: Option<When>,
    pub(super) nonempty: Option<bool>,
    pub(super) rows: Option<bool>,
    pub(super) t0: Option<(Start, Position)>,
    pub(super) partial_first: Option<bool>,
    pub(super) multiset: Option<bool>,
    /// `timestamp()` of a triple that is in no window is false, not an error.
    pub(super) compat: Option<bool>,
    pub(super) difference: Option<Difference>,
    pub(super) relation: Option<Relation>,
    pub(super) emit: Option<Emit>,
    pub(super) freshness: Option<Freshness>,
    pub(super) late: Option<Late>,
    pub(super) lateness_ms: Option<u64>,
    /// Where `report` stands.
    pub(super) report_at: Option<Position>,
}

/// `t0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    First,
    /// Milliseconds since the epoch; 0 for `epoch`.
    At(u64),
}

/// A word of a pragma and its first byte.
#[derive(Clone, Copy)]
struct Word<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Word<'t> {
    /// What is before a character, and what is behind it.
    fn split(self, separator: char) -> Option<(Word<'t>, Word<'t>)> {
        let (before, behind) = self.text.split_once(separator)?;
        let behind = Word {
            text: behind,
            at: self.at + before.len() + 1,
        };
        Some((
            Word {
                text: before,
                ..self
            },
            behind,
        ))
    }
}

impl Pragmas {
    /// Those of a text.
    pub(super) fn of(text: &str) -> Result<Pragmas, ParseError> {
        let mut pragmas = Pragmas::default();
        let mut seen: Vec<&str> = Vec::new();
        for piece in pieces(text).filter(|piece| piece.kind == PieceKind::Comment) {
            let Some(line) = piece.text.strip_prefix(MARK) else {
                continue;
            };
            for word in line.split_ascii_whitespace() {
                let at = word.as_ptr() as usize - text.as_ptr() as usize;
                let word = Word { text: word, at };
                let (key, value) = match word.split('=') {
                    Some((key, value)) => (key, Some(value)),
                    None => (word, None),
                };
                let Some(known) = KEYS.iter().find(|known| **known == key.text) else {
                    return Err(unknown(text, key, "no pragma is called", &KEYS));
                };
                if seen.contains(known) {
                    return Err(wrong(text, key, format!("the pragma {known} stands twice")));
                }
                seen.push(known);
                pragmas.set(text, key, value)?;
            }
        }
        Ok(pragmas)
    }

    fn set(
        &mut self,
        text: &str,
        key: Word<'_>,
        value: Option<Word<'_>>,
    ) -> Result<(), ParseError> {
        let Some(value) = value else {
            return self.set_alone(text, key);
        };
        match key.text {
            "bounds" => self.bounds = Some(one(text, value, &BOUNDS)?),
            "report" => self.set_report(text, value)?,
            "nonempty" => self.nonempty = Some(one(text, value, &SWITCH)?),
            "rows" => self.rows = Some(one(text, value, &SWITCH)?),
            "t0" => self.t0 = Some((start(text, value)?, place(text, value))),
            "partial_first" => self.partial_first = Some(one(text, value, &SWITCH)?),
            "multiset" => self.multiset = Some(one(text, value, &SWITCH)?),
            "compat" => self.compat = Some(one(text, value, &SWITCH)?),
            "difference" => self.difference = Some(one(text, value, &DIFFERENCES)?),
            "r2s" => self.relation = Some(one(text, value, &RELATIONS)?),
            "emit" => self.emit = Some(one(text, value, &EMITS)?),
            "freshness" => self.freshness = Some(one(text, value, &FRESHNESS)?),
            "late" => self.late = Some(one(text, value, &LATE)?),
            _ => self.lateness_ms = Some(milliseconds(text, value)?),
        }
        Ok(())
    }

    /// A key without a value.
    fn set_alone(&mut self, text: &str, key: Word<'_>) -> Result<(), ParseError> {
        match key.text {
            "nonempty" => self.nonempty = Some(true),
            "rows" => self.rows = Some(true),
            "partial_first" => self.partial_first = Some(true),
            "multiset" => self.multiset = Some(true),
            "compat" => self.compat = Some(true),
            other => {
                return Err(wrong(
                    text,
                    key,
                    format!("the pragma {other} needs a value: {other}=..."),
                ));
            }
        }
        Ok(())
    }

    /// `report=close,nonempty`: a whole policy, so what is not listed is off.
    fn set_report(&mut self, text: &str, value: Word<'_>) -> Result<(), ParseError> {
        self.report_at = Some(place(text, value));
        let (mut nonempty, mut rows) = (false, false);
        let mut rest = Some(value);
        while let Some(word) = rest {
            let (word, behind) = match word.split(',') {
                Some((word, behind)) => (word, Some(behind)),
                None => (word, None),
            };
            rest = behind;
            let when = match (word.text, word.split('=')) {
                ("nonempty", _) => {
                    nonempty = true;
                    continue;
                }
                ("rows", _) => {
                    rows = true;
                    continue;
                }
                ("close", _) => When::Close,
                ("change", _) => When::Change,
                (_, Some((name, span))) if name.text == "periodic" => When::Periodic {
                    period_ms: above_zero(text, span)?,
                },
                _ => {
                    let known = ["close", "change", "periodic=1s", "nonempty", "rows"];
                    return Err(unknown(text, word, "report has no", &known));
                }
            };
            if self.when.replace(when).is_some() {
                let message = "report waits for one of close, change and periodic";
                return Err(wrong(text, word, message.to_owned()));
            }
        }
        self.nonempty.get_or_insert(nonempty);
        self.rows.get_or_insert(rows);
        Ok(())
    }
}

const BOUNDS: [(&str, Bounds); 2] = [("lcro", Bounds::LeftClosed), ("lorc", Bounds::RightClosed)];

const DIFFERENCES: [(&str, Difference); 2] =
    [("multiset", Difference::Multiset), ("set", Difference::Set)];

const RELATIONS: [(&str, Relation); 3] = [
    ("rstream", Relation::Rows),
    ("istream", Relation::Insertions),
    ("dstream", Relation::Deletions),
];

const EMITS: [(&str, Emit); 3] = [
    ("at-most-once", Emit::AtMostOnce),
    ("at-least-once", Emit::AtLeastOnce),
    ("exactly-once", Emit::ExactlyOnce),
];

const FRESHNESS: [(&str, Freshness); 2] = [
    ("aligned", Freshness::Aligned),
    ("latest", Freshness::Latest),
];

const LATE: [(&str, Late); 3] = [
    ("side", Late::Side),
    ("drop", Late::Drop),
    ("revise", Late::Revise),
];

/// What a query means, as pragmas. `start`: the `t0` of its windows; `compat`: what it says of that.
pub(super) fn words(query: &StandingQuery, start: Start, compat: Option<bool>) -> String {
    let switch = |is_on| if is_on { "on" } else { "off" };
    let mut words: Vec<String> = Vec::new();
    let mut say = |key: &str, value: &str| words.push(format!("{key}={value}"));
    if let Some(window) = query.windows.first() {
        say("bounds", name_of(window.bounds, &BOUNDS));
        let is_yes = if window.partial_first { "yes" } else { "no" };
        say("partial_first", is_yes);
    }
    say("report", &policy(query.report));
    let has_start = |extent| matches!(extent, Extent::Time { .. } | Extent::Past { .. });
    if query.windows.iter().any(|window| has_start(window.extent)) {
        match start {
            Start::First => say("t0", "first"),
            Start::At(0) => say("t0", "epoch"),
            Start::At(milliseconds) => say("t0", &milliseconds.to_string()),
        }
    }
    say("r2s", name_of(query.relation, &RELATIONS));
    say("difference", name_of(query.difference, &DIFFERENCES));
    say("multiset", switch(query.multiset));
    say("late", name_of(query.late, &LATE));
    if let Some(lateness_ms) = query.lateness_ms {
        say("lateness", &format!("{lateness_ms}ms"));
    }
    say("freshness", name_of(query.freshness, &FRESHNESS));
    say("emit", name_of(query.emit, &EMITS));
    if compat == Some(true) {
        say("compat", "on");
    }
    words.join(" ")
}

/// The value of `report`.
fn policy(report: Report) -> String {
    let mut policy = match report.when {
        When::Close => "close".to_owned(),
        When::Change => "change".to_owned(),
        When::Periodic { period_ms } => format!("periodic={period_ms}ms"),
    };
    for (is_on, word) in [(report.nonempty, ",nonempty"), (report.rows, ",rows")] {
        policy.push_str(if is_on { word } else { "" });
    }
    policy
}

fn name_of<T: Copy + PartialEq>(value: T, of: &[(&'static str, T)]) -> &'static str {
    let named = of.iter().find(|(_, it)| *it == value);
    named.map_or("", |(name, _)| *name)
}

/// The value of this name, in whatever case.
fn one<T: Copy>(text: &str, word: Word<'_>, of: &[(&'static str, T)]) -> Result<T, ParseError> {
    let is_it = |(name, _): &&(&str, T)| name.eq_ignore_ascii_case(word.text);
    if let Some((_, value)) = of.iter().find(is_it) {
        return Ok(*value);
    }
    let names: Vec<&str> = of.iter().map(|(name, _)| *name).collect();
    Err(unknown(text, word, "there is no value", &names))
}

fn start(text: &str, word: Word<'_>) -> Result<Start, ParseError> {
    match &*word.text.to_ascii_lowercase() {
        "epoch" => Ok(Start::At(0)),
        "first" => Ok(Start::First),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => match digits.parse() {
            Ok(milliseconds) => Ok(Start::At(milliseconds)),
            Err(_) => Err(unknown(
                text,
                word,
                "t0 cannot be",
                &["epoch", "first", "MILLISECONDS"],
            )),
        },
        other if other.starts_with(|c: char| c.is_ascii_digit()) => {
            milliseconds(text, word).map(Start::At)
        }
        _ => Err(unknown(
            text,
            word,
            "t0 cannot be",
            &["epoch", "first", "MILLISECONDS"],
        )),
    }
}

fn milliseconds(text: &str, word: Word<'_>) -> Result<u64, ParseError> {
    span::milliseconds(word.text).map_err(|message| wrong(text, word, message))
}

fn above_zero(text: &str, word: Word<'_>) -> Result<u64, ParseError> {
    match milliseconds(text, word)? {
        0 => Err(wrong(text, word, "a period has to be above 0".to_owned())),
        period => Ok(period),
    }
}

fn place(text: &str, word: Word<'_>) -> Position {
    Position::of_offset(text, word.at)
}

fn wrong(text: &str, word: Word<'_>, message: String) -> ParseError {
    ParseError {
        kind: ParseErrorKind::Syntax,
        position: place(text, word),
        message,
    }
}

/// That a word is none of these, and which of them it is nearest to.
fn unknown(text: &str, word: Word<'_>, what: &str, known: &[&str]) -> ParseError {
    let nearest = known
        .iter()
        .min_by_key(|name| strsim::osa_distance(name, word.text))
        .unwrap_or(&"");
    let message = format!(
        "{what} `{}`: did you mean {nearest}? (there are {})",
        word.text,
        known.join(", ")
    );
    wrong(text, word, message)
}
