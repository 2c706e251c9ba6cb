//! From the regular expressions of XPath (XQuery and XPath Functions and Operators 3.1 section 5.6.1,
//! over XML Schema part 2 appendix G) to those of the `regex` crate, which `explore` runs.
//!
//! Both look alike and differ: `#` and `&&` are characters, `\i` is a class. So a pattern is read by
//! XPath's grammar and written anew. Invariant: what is written means in `regex` what XPath says, or the
//! pattern is refused, with the place in it and the reason. A query whose constant pattern is refused is
//! not evaluated, because a missing answer would go unnoticed.
//!
//! Some of what people know from elsewhere has no meaning in XPath, and is understood as they mean it:
//! flags within the pattern (`(?i)`, `(?i:...)`, `(?-i)` with the letters `i`, `m`, `s`, and `x` at the very
//! beginning), `\b` and `\B`, a backslash before any character that is no ASCII letter or digit, and
//! the classes of POSIX within a class (`[[:alpha:]]`, `[[:^space:]]`), which are Unicode's.
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

/// The classes of POSIX, as the insides of classes.
const POSIX: [(&str, &str); 13] = [
    ("alpha", r"\p{L}\p{M}"),
    ("digit", r"\p{Nd}"),
    ("alnum", r"\p{L}\p{M}\p{Nd}"),
    ("upper", r"\p{Lu}"),
    ("lower", r"\p{Ll}"),
    ("space", r" \t\n\r\x{B}\x{C}\p{Z}"),
    ("blank", r" \t\p{Zs}"),
    ("punct", r"\p{P}\p{S}"),
    ("cntrl", r"\p{Cc}"),
    ("xdigit", "0-9A-Fa-f"),
    ("word", r"\p{L}\p{M}\p{Nd}_"),
    ("graph", r"\p{L}\p{M}\p{N}\p{P}\p{S}"),
    ("print", r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}"),
];

/// Why a pattern, or its flags, cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}{}", place(*.character))]
pub struct Refusal {
    /// What kind of refusal it is.
    pub kind: RefusalKind,
    /// What is wrong, in words.
    pub reason: &'static str,
    /// The number of the character after which that was found, from 1; none where no character is to
    /// blame.
    pub character: Option<usize>,
}

/// Kinds of [`Refusal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// It is no pattern.
    Invalid,
    /// It is one that cannot be evaluated here.
    Unsupported,
}

/// A refusal without its place.
type PatternRefusal = (RefusalKind, &'static str);

const fn invalid(reason: &'static str) -> PatternRefusal {
    (RefusalKind::Invalid, reason)
}

const fn unsupported(reason: &'static str) -> PatternRefusal {
    (RefusalKind::Unsupported, reason)
}

fn place(character: Option<usize>) -> String {
    character.map_or_else(String::new, |at| format!(", at character {at}"))
}

/// A pattern with its flags, translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslatedPattern {
    /// The pattern for `regex`, or the text that is searched for where `is_text`.
    pub pattern: String,
    /// The flag `q`: it is no pattern but text.
    pub is_text: bool,
    /// The flag `m`, for `regex`.
    pub multi_line: bool,
    /// The flag `i`, for `regex`.
    pub ignore_case: bool,
}

/// Translates a pattern with the flags of `REGEX` and `REPLACE`.
pub fn translate(pattern: &str, flags: &str) -> Result<TranslatedPattern, Refusal> {
    let mut known = Flags::default();
    let mut is_text = false;
    for flag in flags.chars() {
        if flag == 'q' {
            is_text = true;
        } else if !known.set(flag, true) {
            return Err(Refusal {
                kind: RefusalKind::Invalid,
                reason: "the flags may be s, m, i, x and q",
                character: None,
            });
        }
    }
    let translated = if is_text {
        pattern.to_owned()
    } else {
        translate_with(pattern, known)?
    };
    Ok(TranslatedPattern {
        pattern: translated,
        is_text,
        multi_line: known.multi_line,
        ignore_case: known.ignore_case,
    })
}

/// The flags of XPath, without `q`, under which a pattern is text.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "XPath has four such flags")]
struct Flags {
    /// `s`: `.` matches newlines too.
    dot_all: bool,
    /// `m`: `^` and `$` match at lines.
    multi_line: bool,
    /// `i`: letters match in either case.
    ignore_case: bool,
    /// `x`: white space outside classes is not there.
    free_space: bool,
}

impl Flags {
    /// Sets the flag of a letter; false where there is none.
    fn set(&mut self, letter: char, is_on: bool) -> bool {
        match letter {
            's' => self.dot_all = is_on,
            'm' => self.multi_line = is_on,
            'i' => self.ignore_case = is_on,
            'x' => self.free_space = is_on,
            _ => return false,
        }
        true
    }
}

/// The same pattern for `regex`, which has to be given the flags `m` and `i` beside it, and no other.
fn translate_with(pattern: &str, flags: Flags) -> Result<String, Refusal> {
    let leading = pattern
        .strip_prefix("(?")
        .and_then(|rest| rest.split_once(')'));
    let has_space_flag = leading.is_some_and(|(letters, _)| {
        letters.contains('x') && letters.chars().all(|letter| "imsx".contains(letter))
    });
    let is_stripped = flags.free_space || has_space_flag;
    let stripped;
    let pattern = if is_stripped {
        stripped = without_space(pattern);
        &stripped
    } else {
        pattern
    };
    let mut translator = Translator {
        rest: pattern.chars().peekable(),
        into: String::with_capacity(pattern.len() + 16),
        flags,
        outer: Vec::new(),
        is_free_space: is_stripped,
    };
    translator.branches().map_err(|(kind, reason)| {
        let left = translator.rest.clone().count();
        Refusal {
            kind,
            reason,
            // White space is gone, so places would be others.
            character: (!is_stripped).then(|| pattern.chars().count() - left),
        }
    })?;
    Ok(translator.into)
}

/// Removes white space outside classes: behind a backslash, too, which then escapes what comes next
/// (section 5.6.1.1: `hello\ sworld` matches `hello world`).
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
    /// The flags around each open group.
    outer: Vec<Flags>,
    /// White space was removed.
    is_free_space: bool,
}

/// What an escape stands for.
enum Escape {
    /// A character.
    Single(char),
    /// Any character of a class, which was written.
    Class,
    /// A place between characters, which was written.
    Place,
}

impl Translator<'_> {
    /// The whole pattern: atoms with quantifiers, in groups and alternatives.
    fn branches(&mut self) -> Result<(), PatternRefusal> {
        while let Some(character) = self.rest.next() {
            match character {
                '|' => {
                    self.into.push('|');
                    continue;
                }
                '(' => {
                    self.group()?;
                    continue;
                }
                ')' => {
                    let outer = self.outer.pop();
                    self.flags =
                        outer.ok_or(invalid("a closing parenthesis without its opening one"))?;
                    self.into.push(')');
                }
                '[' => self.class(0)?,
                '.' if self.flags.dot_all => self.into.push_str("(?s:.)"),
                '.' => self.into.push_str(r"[^\n\r]"),
                '^' | '$' => self.into.push(character),
                '\\' => match self.escape(false)? {
                    Escape::Single(character) => self.literal(character),
                    Escape::Class | Escape::Place => {}
                },
                '?' | '*' | '+' | '{' => {
                    return Err(invalid("a quantifier with nothing before it"));
                }
                '}' | ']' => return Err(invalid("a closing bracket without its opening one")),
                literal => self.literal(literal),
            }
            self.quantifier()?;
        }
        if self.outer.is_empty() {
            Ok(())
        } else {
            Err(invalid("a parenthesis is not closed"))
        }
    }

    /// What follows `(`: a group, or flags for the rest of the group around.
    fn group(&mut self) -> Result<(), PatternRefusal> {
        if self.rest.next_if_eq(&'?').is_none() {
            self.outer.push(self.flags);
            self.into.push('(');
            return Ok(());
        }
        let around = self.flags;
        let (mut is_on, mut has_flags) = (true, false);
        // Those that `regex` is told of: `on` and `off`.
        let mut letters = [String::new(), String::new()];
        let end = loop {
            match self.rest.next() {
                Some(end @ (':' | ')')) => break end,
                Some('-') if is_on => is_on = false,
                Some('x') if is_on && self.is_free_space => has_flags = true,
                Some('x') => {
                    return Err(unsupported(
                        "the flag x has to stand at the beginning, or among the flags of the function",
                    ));
                }
                Some(letter @ ('i' | 'm' | 's')) => {
                    has_flags = true;
                    self.flags.set(letter, is_on);
                    if letter != 's' {
                        letters[usize::from(!is_on)].push(letter);
                    }
                }
                Some('=' | '!' | '<' | 'P') => {
                    return Err(invalid(
                        "look-around and named groups are not known to XPath",
                    ));
                }
                _ => return Err(invalid("an unknown kind of group")),
            }
        };
        let [on, off] = letters;
        let sign = if off.is_empty() { "" } else { "-" };
        if end == ':' {
            self.outer.push(around);
        } else if !has_flags {
            return Err(invalid("flags without a letter"));
        }
        // `s` and `x` are done here: there may be nothing to tell.
        if end == ':' || !(on.is_empty() && off.is_empty()) {
            for part in ["(?", &on, sign, &off] {
                self.into.push_str(part);
            }
            self.into.push(end);
        }
        Ok(())
    }

    fn expect(&mut self, expected: char, reason: &'static str) -> Result<(), PatternRefusal> {
        let found = self.rest.next_if_eq(&expected);
        found.map(|_| ()).ok_or(invalid(reason))
    }

    /// A quantifier, if there is one, and whether it is reluctant.
    fn quantifier(&mut self) -> Result<(), PatternRefusal> {
        let Some(sign) = self.rest.next_if(|next| "?*+{".contains(*next)) else {
            return Ok(());
        };
        self.into.push(sign);
        if sign == '{' {
            let least = self.count()?;
            let least = least.ok_or(invalid("a quantifier in braces begins with a number"))?;
            if self.rest.next_if_eq(&',').is_some() {
                self.into.push(',');
                if self.count()?.is_some_and(|most| most < least) {
                    return Err(invalid("a quantifier with more at least than at most"));
                }
            }
            self.expect('}', "the braces of a quantifier are not closed")?;
            self.into.push('}');
        }
        if self.rest.next_if_eq(&'?').is_some() {
            self.into.push('?');
        }
        Ok(())
    }

    /// The digits of a quantifier.
    fn count(&mut self) -> Result<Option<u32>, PatternRefusal> {
        let mut count = None;
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
            let units = digit.to_digit(10).unwrap_or(0);
            let tens = count.unwrap_or(0_u32).checked_mul(10);
            let next = tens.and_then(|tens| tens.checked_add(units));
            count = Some(next.ok_or(unsupported("the quantifier is too large"))?);
            self.into.push(digit);
        }
        Ok(count)
    }

    /// What follows `\u`: the four digits of a code point. XPath has no such escape; texts that were written
    /// for other engines have.
    fn code_point(&mut self) -> Result<char, PatternRefusal> {
        const MESSAGE: &str = "four hexadecimal digits of a character have to follow \\u";
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.rest.next().and_then(|digit| digit.to_digit(16));
            code = 16 * code + digit.ok_or(invalid(MESSAGE))?;
        }
        char::from_u32(code).ok_or(invalid(MESSAGE))
    }

    /// What follows `\`. A class is written, as one that may stand within another.
    fn escape(&mut self, in_class: bool) -> Result<Escape, PatternRefusal> {
        let character = self.rest.next();
        let character = character.ok_or(invalid("a backslash with nothing after it"))?;
        match character {
            'n' => return Ok(Escape::Single('\n')),
            'r' => return Ok(Escape::Single('\r')),
            't' => return Ok(Escape::Single('\t')),
            'u' => return self.code_point().map(Escape::Single),
            'b' | 'B' if !in_class => {
                self.into.push('\\');
                self.into.push(character);
                return Ok(Escape::Place);
            }
            harmless if !harmless.is_ascii_alphanumeric() => return Ok(Escape::Single(harmless)),
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
            '1'..='9' if !in_class => return Err(unsupported("a back-reference is not supported")),
            _ => return Err(invalid("an unknown escape")),
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
    fn property(&mut self, is_negated: bool, in_class: bool) -> Result<(), PatternRefusal> {
        self.expect('{', "a category is written as \\p{Lu}")?;
        let mut name = String::new();
        loop {
            match self
                .rest
                .next()
                .ok_or(invalid("the name of a category is not closed"))?
            {
                '}' => break,
                character => name.push(character),
            }
        }
        let has_case = if let Some(block) = name.strip_prefix("Is") {
            let known = BLOCKS.iter().find(|(known, _)| *known == block);
            let (_, ranges) =
                known.ok_or(unsupported("this block of characters is not supported"))?;
            name.clear();
            name.push_str(if is_negated { "[^" } else { "[" });
            name.push_str(ranges);
            name.push(']');
            true
        } else {
            if !CATEGORIES.contains(&name.as_str()) {
                return Err(invalid("an unknown category of characters"));
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
            (true, true) if has_case => {
                return Err(unsupported(
                    "a category with letter case within a class, under the flag i, is not supported",
                ));
            }
            (false, _) | (true, true) => self.into.push_str(&name),
        }
        Ok(())
    }

    /// What follows `[`, as `[members]`, or `[[members]--[subtracted]]`: negation binds the members
    /// alone.
    fn class(&mut self, depth: usize) -> Result<(), PatternRefusal> {
        if depth == CLASSES_DEEP_MAX {
            return Err(unsupported("classes are nested too deep"));
        }
        let start = self.into.len();
        self.into.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.into.push('^');
        }
        let mut is_empty = true;
        loop {
            let character = self.rest.next().ok_or(invalid("a class is not closed"))?;
            match character {
                ']' if is_empty => return Err(invalid("a class of no characters")),
                ']' => break,
                '[' if self.rest.next_if_eq(&':').is_some() => self.posix()?,
                '[' => return Err(invalid("a bracket within a class is written \\[")),
                '-' if self.rest.next_if_eq(&'[').is_some() => {
                    if is_empty {
                        return Err(invalid("a class of no characters"));
                    }
                    self.into.insert(start, '[');
                    self.into.push_str("]--");
                    self.class(depth + 1)?;
                    self.expect(']', "nothing may follow the class that is subtracted")?;
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

    /// What follows `[:` in a class.
    fn posix(&mut self) -> Result<(), PatternRefusal> {
        let is_negated = self.rest.next_if_eq(&'^').is_some();
        let mut name = String::new();
        while let Some(letter) = self.rest.next_if(char::is_ascii_lowercase) {
            name.push(letter);
        }
        let known = POSIX.iter().find(|(known, _)| *known == name);
        let (_, members) = known.ok_or(invalid("an unknown class of POSIX"))?;
        for closing in [':', ']'] {
            self.expect(closing, "a class of POSIX is written [:alpha:]")?;
        }
        self.bracketed(if is_negated { "[^" } else { "[" }, &[members]);
        Ok(())
    }

    /// A character of a class, or the range that it begins.
    fn range(&mut self, first: char) -> Result<(), PatternRefusal> {
        self.literal(first);
        let mut ahead = self.rest.clone();
        if ahead.next() != Some('-') {
            return Ok(());
        }
        match ahead.next() {
            // The hyphen stands before the end, or a subtraction.
            Some(']' | '[') => return Ok(()),
            Some('-') if ahead.next() == Some('[') => return Ok(()),
            None => return Err(invalid("a class is not closed")),
            Some('-') => return Err(invalid("a range that ends with a hyphen is written \\-")),
            Some(_) => {}
        }
        self.rest.next();
        let last = match self.rest.next() {
            Some('\\') => match self.escape(true)? {
                Escape::Single(last) => last,
                Escape::Class | Escape::Place => {
                    return Err(invalid("a range ends with a character, not with a class"));
                }
            },
            Some(last) => last,
            None => return Err(invalid("a class is not closed")),
        };
        if last < first {
            return Err(invalid("a range whose end comes before its beginning"));
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
