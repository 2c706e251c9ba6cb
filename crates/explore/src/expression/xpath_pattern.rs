//! From the regular expressions of XPath (XQuery and XPath Functions and Operators 3.1 section 5.6.1,
//! over XML Schema part 2 appendix G) to those of the `regex` crate.
//!
//! Both look alike and differ: `#` and `&&` are characters, `\i` is a class, `\b` and `(?i)` are
//! nothing. So a pattern is read by XPath's grammar and written anew. Invariant: what is written
//! means in `regex` what XPath says, or the pattern is refused: as [`Refusal::Invalid`], which is
//! an error value of the expression, or, where XPath has a meaning that `regex` cannot express, as
//! [`Refusal::Unsupported`], which ends the query, because a missing answer would go unnoticed.
//!
//! Unsupported are back-references, most `\p{Is...}` blocks, the letter cases as a category within
//! a class under the flag `i`, classes nested deeper than [`CLASSES_DEEP_MAX`], and what exceeds the
//! crate's limits. One known difference stays: under the flag `m`, `^` and `$` also match behind a
//! newline that ends the text.
//!
//! One pass, O(length); subtraction of classes recurses, to a bounded depth.

use std::iter::Peekable;
use std::str::Chars;

/// How deep classes may be subtracted from one another.
const CLASSES_DEEP_MAX: usize = 32;

/// The white space of XML, which the flag `x` removes and `\s` matches.
const SPACE: [char; 4] = ['\t', '\n', '\r', ' '];

/// The characters that begin a name (XML 1.0, production 4), as the inside of a class.
const NAME_START: &str = r"\:A-Z_a-z\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{2FF}\x{370}-\x{37D}\x{37F}-\x{1FFF}\x{200C}\x{200D}\x{2070}-\x{218F}\x{2C00}-\x{2FEF}\x{3001}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFFD}\x{10000}-\x{EFFFF}";

/// The characters that go on in a name and do not begin one (production 4a).
const NAME_MORE: &str = r"\-\.0-9\x{B7}\x{300}-\x{36F}\x{203F}\x{2040}";

/// The categories that `\p` knows.
const CATEGORIES: [&str; 36] = [
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc",
    "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Z", "Zs", "Zl", "Zp", "S", "Sm", "Sc", "Sk", "So", "C",
    "Cc", "Cf", "Co", "Cn",
];

/// The blocks that `\p{Is...}` knows, as ranges.
const BLOCKS: [(&str, &str); 16] = [
    ("BasicLatin", r"\x{0}-\x{7F}"),
    ("Latin-1Supplement", r"\x{80}-\x{FF}"),
    ("LatinExtended-A", r"\x{100}-\x{17F}"),
    ("LatinExtended-B", r"\x{180}-\x{24F}"),
    ("IPAExtensions", r"\x{250}-\x{2AF}"),
    ("Greek", r"\x{370}-\x{3FF}"),
    ("GreekandCoptic", r"\x{370}-\x{3FF}"),
    ("Cyrillic", r"\x{400}-\x{4FF}"),
    ("Armenian", r"\x{530}-\x{58F}"),
    ("Hebrew", r"\x{590}-\x{5FF}"),
    ("Arabic", r"\x{600}-\x{6FF}"),
    ("Devanagari", r"\x{900}-\x{97F}"),
    ("Thai", r"\x{E00}-\x{E7F}"),
    ("Hiragana", r"\x{3040}-\x{309F}"),
    ("Katakana", r"\x{30A0}-\x{30FF}"),
    ("CJKUnifiedIdeographs", r"\x{4E00}-\x{9FFF}"),
];

/// Why a pattern has no translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is no pattern of XPath: an error value.
    Invalid,
    /// It is one that cannot be evaluated here.
    Unsupported,
}

/// The flags of XPath, without `q`, under which a pattern is text.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "XPath has four such flags")]
pub(crate) struct Flags {
    /// `s`: `.` matches newlines too.
    pub(crate) dot_all: bool,
    /// `m`: `^` and `$` match at lines.
    pub(crate) multi_line: bool,
    /// `i`: letters match in either case.
    pub(crate) ignore_case: bool,
    /// `x`: white space outside classes is not there.
    pub(crate) free_space: bool,
}

/// The same pattern for `regex`, which has to be given the flags `m` and `i` beside it, and no other.
pub(crate) fn translate(pattern: &str, flags: Flags) -> Result<String, Refusal> {
    let stripped;
    let pattern = if flags.free_space {
        stripped = without_space(pattern);
        &stripped
    } else {
        pattern
    };
    let mut translator = Translator {
        rest: pattern.chars().peekable(),
        into: String::with_capacity(pattern.len() + 16),
        flags,
    };
    translator.branches()?;
    Ok(translator.into)
}

/// Removes white space outside classes.
fn without_space(pattern: &str) -> String {
    let (mut depth, mut is_escaped) = (0_usize, false);
    let mut kept = String::with_capacity(pattern.len());
    for character in pattern.chars() {
        if depth == 0 && SPACE.contains(&character) {
            continue;
        }
        kept.push(character);
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    kept
}

struct Translator<'p> {
    rest: Peekable<Chars<'p>>,
    into: String,
    flags: Flags,
}

/// What an escape stands for.
enum Escape {
    /// A character.
    Single(char),
    /// Any character of a class, which was written.
    Class,
}

impl Translator<'_> {
    /// The whole pattern: atoms with quantifiers, in groups and alternatives.
    fn branches(&mut self) -> Result<(), Refusal> {
        let mut open = 0_usize;
        while let Some(character) = self.rest.next() {
            match character {
                '|' => {
                    self.into.push('|');
                    continue;
                }
                '(' => {
                    self.group()?;
                    open += 1;
                    continue;
                }
                ')' => {
                    open = open.checked_sub(1).ok_or(Refusal::Invalid)?;
                    self.into.push(')');
                }
                '[' => self.class(0)?,
                '.' if self.flags.dot_all => self.into.push_str("(?s:.)"),
                '.' => self.into.push_str(r"[^\n\r]"),
                '^' | '$' => self.into.push(character),
                '\\' => {
                    if let Escape::Single(character) = self.escape(false)? {
                        self.literal(character);
                    }
                }
                '?' | '*' | '+' | '{' | '}' | ']' => return Err(Refusal::Invalid),
                literal => self.literal(literal),
            }
            self.quantifier()?;
        }
        if open == 0 {
            Ok(())
        } else {
            Err(Refusal::Invalid)
        }
    }

    /// What follows `(`.
    fn group(&mut self) -> Result<(), Refusal> {
        self.into.push('(');
        if self.rest.next_if_eq(&'?').is_some() {
            self.expect(':')?;
            self.into.push_str("?:");
        }
        Ok(())
    }

    fn expect(&mut self, expected: char) -> Result<(), Refusal> {
        let found = self.rest.next_if_eq(&expected);
        found.map(|_| ()).ok_or(Refusal::Invalid)
    }

    /// A quantifier, if there is one, and whether it is reluctant.
    fn quantifier(&mut self) -> Result<(), Refusal> {
        let Some(sign) = self.rest.next_if(|next| "?*+{".contains(*next)) else {
            return Ok(());
        };
        self.into.push(sign);
        if sign == '{' {
            let least = self.count()?.ok_or(Refusal::Invalid)?;
            if self.rest.next_if_eq(&',').is_some() {
                self.into.push(',');
                if self.count()?.is_some_and(|most| most < least) {
                    return Err(Refusal::Invalid);
                }
            }
            self.expect('}')?;
            self.into.push('}');
        }
        if self.rest.next_if_eq(&'?').is_some() {
            self.into.push('?');
        }
        Ok(())
    }

    /// The digits of a quantifier.
    fn count(&mut self) -> Result<Option<u32>, Refusal> {
        let mut count = None;
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
            let units = digit.to_digit(10).unwrap_or(0);
            let tens = count.unwrap_or(0_u32).checked_mul(10);
            let next = tens.and_then(|tens| tens.checked_add(units));
            count = Some(next.ok_or(Refusal::Unsupported)?);
            self.into.push(digit);
        }
        Ok(count)
    }

    /// What follows `\`. A class is written, as one that may stand within another.
    fn escape(&mut self, in_class: bool) -> Result<Escape, Refusal> {
        let character = self.rest.next().ok_or(Refusal::Invalid)?;
        match character {
            'n' => return Ok(Escape::Single('\n')),
            'r' => return Ok(Escape::Single('\r')),
            't' => return Ok(Escape::Single('\t')),
            '\\' | '|' | '.' | '?' | '*' | '+' | '(' | ')' | '{' | '}' | '$' | '-' | '[' | ']'
            | '^' => return Ok(Escape::Single(character)),
            's' => self.into.push_str(r"[ \t\n\r]"),
            'S' => self.into.push_str(r"[^ \t\n\r]"),
            'd' => self.into.push_str(r"\p{Nd}"),
            'D' => self.into.push_str(r"\P{Nd}"),
            'w' => self.into.push_str(r"[^\p{P}\p{Z}\p{C}]"),
            'W' => self.into.push_str(r"[\p{P}\p{Z}\p{C}]"),
            'i' => self.bracketed("[", &[NAME_START]),
            'I' => self.bracketed("[^", &[NAME_START]),
            'c' => self.bracketed("[", &[NAME_START, NAME_MORE]),
            'C' => self.bracketed("[^", &[NAME_START, NAME_MORE]),
            'p' => self.property(false, in_class)?,
            'P' => self.property(true, in_class)?,
            '1'..='9' if !in_class => return Err(Refusal::Unsupported),
            _ => return Err(Refusal::Invalid),
        }
        Ok(Escape::Class)
    }

    fn bracketed(&mut self, open: &str, inside: &[&str]) {
        self.into.push_str(open);
        for part in inside {
            self.into.push_str(part);
        }
        self.into.push(']');
    }

    /// What follows `\p` or `\P`. The flag `i` does not touch it.
    fn property(&mut self, is_negated: bool, in_class: bool) -> Result<(), Refusal> {
        self.expect('{')?;
        let mut name = String::new();
        loop {
            match self.rest.next().ok_or(Refusal::Invalid)? {
                '}' => break,
                character => name.push(character),
            }
        }
        let has_case = if let Some(block) = name.strip_prefix("Is") {
            let known = BLOCKS.iter().find(|(known, _)| *known == block);
            let (_, ranges) = known.ok_or(Refusal::Unsupported)?;
            name.clear();
            name.push_str(if is_negated { "[^" } else { "[" });
            name.push_str(ranges);
            name.push(']');
            true
        } else {
            if !CATEGORIES.contains(&name.as_str()) {
                return Err(Refusal::Invalid);
            }
            let has_case = matches!(name.as_str(), "Lu" | "Ll" | "Lt" | "Nl" | "So" | "Lo");
            let sign = if is_negated { 'P' } else { 'p' };
            name = format!("\\{sign}{{{name}}}");
            has_case
        };
        match (self.flags.ignore_case, in_class) {
            (true, false) => {
                self.into.push_str("(?-i:");
                self.into.push_str(&name);
                self.into.push(')');
            }
            (true, true) if has_case => return Err(Refusal::Unsupported),
            (false, _) | (true, true) => self.into.push_str(&name),
        }
        Ok(())
    }

    /// What follows `[`, as `[members]`, or `[[members]--[subtracted]]`: negation binds the members
    /// alone.
    fn class(&mut self, depth: usize) -> Result<(), Refusal> {
        if depth == CLASSES_DEEP_MAX {
            return Err(Refusal::Unsupported);
        }
        let start = self.into.len();
        self.into.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.into.push('^');
        }
        let mut is_empty = true;
        loop {
            let character = self.rest.next().ok_or(Refusal::Invalid)?;
            match character {
                ']' if is_empty => return Err(Refusal::Invalid),
                ']' => break,
                '[' => return Err(Refusal::Invalid),
                '-' if self.rest.next_if_eq(&'[').is_some() => {
                    if is_empty {
                        return Err(Refusal::Invalid);
                    }
                    self.into.insert(start, '[');
                    self.into.push_str("]--");
                    self.class(depth + 1)?;
                    self.expect(']')?;
                    break;
                }
                '\\' => {
                    if let Escape::Single(character) = self.escape(true)? {
                        self.range(character)?;
                    }
                }
                single => self.range(single)?,
            }
            is_empty = false;
        }
        self.into.push(']');
        Ok(())
    }

    /// A character of a class, or the range that it begins.
    fn range(&mut self, first: char) -> Result<(), Refusal> {
        self.literal(first);
        let mut ahead = self.rest.clone();
        if ahead.next() != Some('-') {
            return Ok(());
        }
        match ahead.next() {
            // The hyphen stands before the end, or a subtraction.
            Some(']' | '[') => return Ok(()),
            Some('-') if ahead.next() == Some('[') => return Ok(()),
            None | Some('-') => return Err(Refusal::Invalid),
            Some(_) => {}
        }
        self.rest.next();
        let last = match self.rest.next() {
            Some('\\') => match self.escape(true)? {
                Escape::Single(last) => last,
                Escape::Class => return Err(Refusal::Invalid),
            },
            Some(last) => last,
            None => return Err(Refusal::Invalid),
        };
        if last < first {
            return Err(Refusal::Invalid);
        }
        self.into.push('-');
        self.literal(last);
        Ok(())
    }

    /// A character that means itself, within classes and without.
    fn literal(&mut self, character: char) {
        if character.is_ascii_punctuation() && !"<>".contains(character) {
            self.into.push('\\');
        }
        self.into.push(character);
    }
}
