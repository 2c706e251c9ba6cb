//! Regular expressions: `REGEX` and `REPLACE` (SPARQL 1.1 Query sections 17.4.3.14 and 15).
//!
//! A pattern is XPath's, translated by [`query::xpath_pattern`] for the `regex` crate, which runs in
//! linear time, so no pattern can hang a query. The compiled size is limited. The flags are XPath's
//! `s m i x q`; with `q` the pattern is text. A constant pattern is compiled once, when the plan is
//! prepared; others are kept for the next rows in a small cache. A constant pattern that is none, or
//! cannot be evaluated here, is refused, most of them when the text is read; a computed one is an error
//! value, because it may come from the data, which must not end other rows' query.
//!
//! A replacement is XPath's: `$3` is a group, `\$` and `\\` are characters, anything else after
//! these two is an error, as is a pattern that matches the empty string (`fn:replace`). It is read
//! anew for every match: keeping its parts would take more memory than its text. Whoever takes the
//! pieces of a result says when it is too long.

use crate::error::WalkError;
use query::xpath_pattern::{self, Refusal, RefusalKind};
use regex::{Regex, RegexBuilder};
use std::sync::Arc;

/// Bytes that a compiled pattern may take. The library does not say how much one takes, so the least of
/// these limits that it stays below is what is drawn on the budget.
const COMPILED_BYTES: [usize; 3] = [1 << 14, 1 << 17, 1_000_000];

/// Bytes of a pattern: what it is translated to and parsed into takes a few hundred times as many.
const PATTERN_BYTES_MAX: usize = 1 << 16;

/// Patterns kept for later rows.
const CACHE_PATTERNS: usize = 16;

/// About how many nanoseconds the compilation of a pattern takes.
pub(crate) const COMPILE_EFFORT: u64 = 20_000;

/// A compiled pattern and what `REPLACE` has to know of it.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    is_text: bool,
    /// What it takes at most.
    bytes: usize,
}

impl Pattern {
    /// Compiles.
    pub(crate) fn compile(pattern: &str, flags: &str) -> Result<Pattern, Refusal> {
        const TOO_LARGE: Refusal = Refusal {
            kind: RefusalKind::Unsupported,
            reason: "it is too large",
            character: None,
        };
        if pattern.len() > PATTERN_BYTES_MAX {
            return Err(TOO_LARGE);
        }
        let translated = xpath_pattern::translate(pattern, flags)?;
        let is_text = translated.is_text;
        let written = if is_text {
            regex::escape(&translated.pattern)
        } else {
            translated.pattern
        };
        // What was translated is valid: only a limit of the crate can refuse it.
        for bytes in COMPILED_BYTES {
            let built = RegexBuilder::new(&written)
                .size_limit(bytes)
                .multi_line(translated.multi_line)
                .case_insensitive(translated.ignore_case)
                .build();
            match built {
                Ok(regex) => {
                    return Ok(Pattern {
                        regex,
                        is_text,
                        bytes: bytes + pattern.len(),
                    });
                }
                Err(regex::Error::CompiledTooBig(_)) => {}
                Err(_) => break,
            }
        }
        Err(TOO_LARGE)
    }

    /// Bytes that it takes at most.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it matches somewhere.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The replacement as a template; `None` is an error.
    pub(crate) fn template<'t>(&self, replacement: &'t str) -> Option<Template<'t>> {
        if self.regex.is_match("") {
            return None;
        }
        let template = Template {
            replacement,
            is_text: self.is_text,
            groups: self.regex.captures_len(),
        };
        template
            .parts()
            .all(|part| part.is_some())
            .then_some(template)
    }

    /// Appends the text with every match replaced, and says whether there was one; appends nothing
    /// where there was none.
    pub(crate) fn replace<E>(
        &self,
        text: &str,
        template: &Template<'_>,
        mut append: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut copied = 0;
        for captures in self.regex.captures_iter(text) {
            let whole = captures.get_match();
            append(&text[copied..whole.start()])?;
            for part in template.parts().flatten() {
                append(match part {
                    ReplacementPart::Text(text) => text,
                    ReplacementPart::Group(group) => {
                        captures.get(group).map_or("", |found| found.as_str())
                    }
                })?;
            }
            copied = whole.end();
        }
        if copied == 0 {
            return Ok(false);
        }
        append(&text[copied..])?;
        Ok(true)
    }
}

/// A replacement that was found valid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Template<'t> {
    replacement: &'t str,
    is_text: bool,
    /// Groups of the pattern, with the whole match.
    groups: usize,
}

/// A part of a replacement.
#[derive(Clone, Copy, Debug)]
enum ReplacementPart<'t> {
    /// Copied.
    Text(&'t str),
    /// What the group matched, or nothing.
    Group(usize),
}

impl<'t> Template<'t> {
    /// The parts in their order; `None` is an error, and the last.
    fn parts(self) -> impl Iterator<Item = Option<ReplacementPart<'t>>> {
        let mut rest = self.replacement;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let part = self.first(rest);
            rest = part.map_or("", |(_, length)| &rest[length..]);
            Some(part.map(|(part, _)| part))
        })
    }

    /// The part that `rest` begins with, and its length; `None` is an error.
    fn first(self, rest: &'t str) -> Option<(ReplacementPart<'t>, usize)> {
        if self.is_text {
            return Some((ReplacementPart::Text(rest), rest.len()));
        }
        match rest.find(['$', '\\']) {
            None => Some((ReplacementPart::Text(rest), rest.len())),
            Some(0) if rest.starts_with('$') => {
                let (group, length) = self.group(&rest[1..])?;
                Some((ReplacementPart::Group(group), 1 + length))
            }
            Some(0) => {
                let after = &rest[1..];
                let escaped = after.starts_with(['$', '\\']).then(|| &after[..1])?;
                Some((ReplacementPart::Text(escaped), 2))
            }
            Some(at) => Some((ReplacementPart::Text(&rest[..at]), at)),
        }
    }

    /// The group that the digits name: the longest number that is one, or the first digit.
    fn group(self, digits: &str) -> Option<(usize, usize)> {
        let first = char::to_digit(digits.chars().next()?, 10)? as usize;
        let (mut group, mut length) = (first, 1);
        for digit in digits[1..].chars().map_while(|digit| digit.to_digit(10)) {
            let longer = group * 10 + digit as usize;
            if longer >= self.groups {
                break;
            }
            (group, length) = (longer, length + 1);
        }
        Some((group, length))
    }
}

/// The end of a query with a constant pattern that is refused.
pub(crate) fn refuse(refusal: Refusal, pattern: &str) -> WalkError {
    /// Characters of the pattern that the message quotes.
    const QUOTED_CHARS: usize = 200;
    WalkError::RefusedPattern {
        pattern: pattern.chars().take(QUOTED_CHARS).collect(),
        refusal,
    }
}

/// Patterns that were compiled for earlier rows, the oldest replaced first.
#[derive(Default)]
pub(crate) struct PatternCache {
    entries: Vec<(String, String, Result<Arc<Pattern>, Refusal>)>,
    oldest: usize,
}

impl PatternCache {
    /// Bytes of the patterns at most.
    pub(crate) fn bytes(&self) -> usize {
        let compiled = self
            .entries
            .iter()
            .filter_map(|(.., compiled)| compiled.as_ref().ok());
        compiled.map(|pattern| pattern.bytes()).sum()
    }

    /// The compiled pattern, and whether it had to be compiled.
    pub(crate) fn get(
        &mut self,
        pattern: &str,
        flags: &str,
    ) -> (Result<Arc<Pattern>, Refusal>, bool) {
        let known = self
            .entries
            .iter()
            .find(|(p, f, _)| p == pattern && f == flags);
        if let Some((_, _, compiled)) = known {
            return (compiled.clone(), false);
        }
        let compiled = Pattern::compile(pattern, flags).map(Arc::new);
        let entry = (pattern.to_owned(), flags.to_owned(), compiled.clone());
        if self.entries.len() < CACHE_PATTERNS {
            self.entries.push(entry);
        } else {
            self.entries[self.oldest] = entry;
            self.oldest = (self.oldest + 1) % CACHE_PATTERNS;
        }
        (compiled, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(text: &str, pattern: &str, flags: &str) -> Result<bool, Refusal> {
        Pattern::compile(pattern, flags).map(|pattern| pattern.is_match(text))
    }

    #[test]
    fn patterns_mean_what_xpath_says() {
        for (text, pattern, flags, expected) in [
            ("a", "^a#b$", "x", false),
            ("a#b", "^a#b$", "x", true),
            ("ab", " ^ a\tb | a b $ ", "x", true),
            ("a b", "^a[ ]b$", "x", true),
            ("e", "^[a-z-[aeiou]]$", "", false),
            ("f", "^[a-z-[aeiou]]$", "", true),
            ("5", "^[^a-z-[5]]$", "", false),
            ("6", "^[^a-z-[5]]$", "", true),
            ("a", "[a&&b]", "", true),
            ("a~", "^[a~~b]+$", "", true),
            ("-", "^[a-]$", "", true),
            ("-", "^[-a]$", "", true),
            ("-", "^[\\w-.]$", "", true),
            ("[", "^[\\[]$", "", true),
            ("a", "\\i", "", true),
            ("1", "\\i", "", false),
            ("1-", "^\\c+$", "", true),
            (" ", "^[\\C]$", "", true),
            ("\u{a0}", "\\s", "", false),
            ("\r", ".", "", false),
            ("\n", ".", "s", true),
            ("a\n", "a$", "", false),
            ("a\nb", "^b$", "m", true),
            ("A", "\\p{Ll}", "i", false),
            ("A", "[a-c]", "i", true),
            ("é", "^\\p{IsLatin-1Supplement}$", "", true),
            ("ab", "^(?:ab){1,2}?$", "", true),
            ("<>", "^<>$", "", true),
            ("(?i)", "(?i)", "q", true),
            ("xB", "(?i)b$", "", true),
            ("AB", "a(?i)b", "", false),
            ("aB", "a(?i)b", "", true),
            ("aBC", "a(?i:b)c", "", false),
            ("aBc", "a(?i:b)c", "", true),
            ("AbC", "^((?-i)b|a)", "i", false),
            ("a\nb", "(?s)a.b", "", true),
            ("a\nb", "(?s-i:a.)b.?", "", true),
            ("a\nbc\n", "(?s:a.)b.c?.$", "", false),
            ("a\nb", "(?m)^b", "", true),
            ("ab", "(?ix) A b ", "", true),
            ("an apple", "\\bapple\\b", "", true),
            ("pineapple", "\\bapple", "", false),
            ("pineapple", "\\Bapple", "", true),
            ("a/b_c", "^a\\/b\\_c$", "", true),
            ("a b", "^a\\ sb$", "x", true),
            ("é\"'<>", "^\\é\\\"\\'\\<\\>$", "", true),
            ("a/", "^a[\\/]$", "", true),
            ("äb1", "^[[:alpha:]]+[[:digit:]]$", "", true),
            ("a1", "^[^[:alpha:]]", "", false),
            ("-_", "^[[:punct:]]+$", "", true),
            ("a b", "^[[:alnum:]_[:space:]]+$", "", true),
            ("ab", "[[:^alpha:]]", "", false),
            ("A", "[[:lower:]]", "i", true),
            ("0fF", "^[[:xdigit:]]{3}$", "", true),
        ] {
            assert_eq!(
                matches(text, pattern, flags),
                Ok(expected),
                "{pattern} {flags}"
            );
        }
    }

    #[test]
    fn other_dialects_are_invalid() {
        for pattern in [
            "(?P<a>b)",
            "(?)",
            "(?-)a",
            "(?u)a",
            "[\\b]",
            "\\y",
            "[[:letter:]]",
            "[[:alpha:",
            "[[:alpha]]",
            "(?<a>b)",
            "(?=a)",
            "\\A",
            "\\z",
            "\\Qa",
            "\\x61",
            "\\u006",
            "\\uD800",
            "\\pL",
            "\\p{Greek}",
            "\\0",
            "a**",
            "a{,3}",
            "a{3,2}",
            "*a",
            "a)",
            "(a",
            "]",
            "}",
            "{",
            "[",
            "[]",
            "[^]",
            "[a",
            "[z-a]",
            "[a-\\d]",
            "[a--b]",
            "\\",
            "[a-z-[b]c]",
        ] {
            let refusal = matches("", pattern, "").map_err(|refusal| refusal.kind);
            assert_eq!(refusal, Err(RefusalKind::Invalid), "{pattern}");
        }
    }

    #[test]
    fn what_cannot_be_evaluated_is_no_error_value() {
        let deep = "[a-".repeat(40) + "[b]" + &"]".repeat(40);
        for pattern in [
            "^(a)\\1$",
            "\\p{IsLinearBSyllabary}",
            "a(?x)b",
            "(((a{1000}){1000}){1000})",
            &deep,
        ] {
            let refusal = matches("", pattern, "").map_err(|refusal| refusal.kind);
            assert_eq!(refusal, Err(RefusalKind::Unsupported), "{pattern}");
        }
    }

    fn replace(text: &str, pattern: &str, replacement: &str, bytes_max: usize) -> Option<String> {
        let pattern = Pattern::compile(pattern, "").expect("a pattern");
        let template = pattern.template(replacement).expect("a replacement");
        let mut replaced = String::new();
        let append = |piece: &str| {
            let fits = replaced.len() + piece.len() <= bytes_max;
            fits.then(|| replaced.push_str(piece)).ok_or(())
        };
        let found = pattern.replace(text, &template, append).ok()?;
        Some(if found {
            replaced
        } else {
            assert_eq!(replaced, "");
            text.to_owned()
        })
    }

    #[test]
    fn replacements() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(replace("abc", "[a-c-[b]]", "*", 9), some("*b*"));
        assert_eq!(replace("abcd", "(a)(b)", "$2$1\\$", 9), some("ba$cd"));
        assert_eq!(replace("abcd", "x", "y", 9), some("abcd"));
        assert_eq!(replace("aa", "a", "$0$0$0", 6), some("aaaaaa"));
        let pattern = Pattern::compile("a", "").expect("a pattern");
        assert!(
            ["$", "x$y", "\\n"]
                .iter()
                .all(|text| pattern.template(text).is_none())
        );
    }

    #[test]
    fn one_match_is_not_expanded_beyond_the_limit() {
        // Expanded whole, it would take 2^43 bytes.
        let text = "a".repeat(1 << 23);
        let replacement = "$0".repeat(1 << 20);
        assert_eq!(replace(&text, "^.+$", &replacement, 1 << 24), None);
    }
}
