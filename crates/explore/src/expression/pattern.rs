//! Regular expressions: `REGEX` and `REPLACE` (SPARQL 1.1 Query sections 17.4.3.14 and 15).
//!
//! The language is that of the `regex` crate, which runs in linear time, so no pattern can hang a
//! query; it lacks back-references and differs from XPath in small things (`\i`, `\c`, character
//! class subtraction). The compiled size is limited. The flags are XPath's `s m i x q`; with `q`
//! the pattern is text. A constant pattern is compiled once, when the plan is prepared; others are
//! kept for the next rows in a small cache.
//!
//! A replacement is XPath's: `$3` is a group, `\$` and `\\` are characters, anything else after
//! these two is an error, as is a pattern that matches the empty string (`fn:replace`).

use regex::{Captures, Regex, RegexBuilder};
use std::borrow::Cow;
use std::sync::Arc;

/// Bytes that a compiled pattern may take.
const COMPILED_BYTES_MAX: usize = 1_000_000;

/// Patterns kept for later rows.
const CACHE_PATTERNS: usize = 16;

/// About how many nanoseconds the compilation of a pattern takes.
pub(crate) const COMPILE_EFFORT: u64 = 20_000;

/// A compiled pattern and what `REPLACE` has to know of it.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    is_text: bool,
}

impl Pattern {
    /// Compiles; `None` is an error.
    pub(crate) fn compile(pattern: &str, flags: &str) -> Option<Pattern> {
        let is_text = flags.contains('q');
        let pattern = if is_text {
            Cow::Owned(regex::escape(pattern))
        } else {
            Cow::Borrowed(pattern)
        };
        let mut builder = RegexBuilder::new(&pattern);
        builder.size_limit(COMPILED_BYTES_MAX);
        for flag in flags.chars() {
            match flag {
                's' => builder.dot_matches_new_line(true),
                'm' => builder.multi_line(true),
                'i' => builder.case_insensitive(true),
                'x' => builder.ignore_whitespace(!is_text),
                'q' => &mut builder,
                _ => return None,
            };
        }
        Some(Pattern {
            regex: builder.build().ok()?,
            is_text,
        })
    }

    /// Whether it matches somewhere.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The replacement as a template; `None` is an error.
    pub(crate) fn template<'t>(&self, replacement: &'t str) -> Option<Vec<Part<'t>>> {
        if self.regex.is_match("") {
            return None;
        }
        if self.is_text {
            return Some(vec![Part::Text(replacement)]);
        }
        let mut parts = Vec::new();
        let mut rest = replacement;
        while let Some(at) = rest.find(['$', '\\']) {
            parts.push(Part::Text(&rest[..at]));
            let after = &rest[at + 1..];
            if rest.as_bytes()[at] == b'$' {
                let (group, length) = self.group(after)?;
                parts.push(Part::Group(group));
                rest = &after[length..];
            } else {
                let escaped = after.starts_with(['$', '\\']).then(|| &after[..1])?;
                parts.push(Part::Text(escaped));
                rest = &after[1..];
            }
        }
        parts.push(Part::Text(rest));
        Some(parts)
    }

    /// The group that the digits name: the longest number that is one, or the first digit.
    fn group(&self, digits: &str) -> Option<(usize, usize)> {
        let groups = self.regex.captures_len();
        let first = char::to_digit(digits.chars().next()?, 10)? as usize;
        let (mut group, mut length) = (first, 1);
        for digit in digits[1..].chars().map_while(|digit| digit.to_digit(10)) {
            let longer = group * 10 + digit as usize;
            if longer >= groups {
                break;
            }
            (group, length) = (longer, length + 1);
        }
        Some((group, length))
    }

    /// Replaces every match; `None` once the result exceeds `bytes_max`.
    pub(crate) fn replace<'t>(
        &self,
        text: &Cow<'t, str>,
        template: &[Part<'_>],
        bytes_max: usize,
    ) -> Option<Cow<'t, str>> {
        let mut replaced = String::new();
        let mut copied = 0;
        for captures in self.regex.captures_iter(text) {
            let whole = captures.get_match();
            replaced.push_str(&text[copied..whole.start()]);
            expand(template, &captures, &mut replaced);
            copied = whole.end();
            if replaced.len() > bytes_max {
                return None;
            }
        }
        if copied == 0 {
            return Some(text.clone());
        }
        replaced.push_str(&text[copied..]);
        (replaced.len() <= bytes_max).then_some(Cow::Owned(replaced))
    }
}

/// A part of a replacement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'t> {
    /// Copied.
    Text(&'t str),
    /// What the group matched, or nothing.
    Group(usize),
}

fn expand(template: &[Part<'_>], captures: &Captures<'_>, into: &mut String) {
    for part in template {
        match part {
            Part::Text(text) => into.push_str(text),
            Part::Group(group) => {
                into.push_str(captures.get(*group).map_or("", |found| found.as_str()));
            }
        }
    }
}

/// Patterns that were compiled for earlier rows, the oldest replaced first.
#[derive(Default)]
pub(crate) struct PatternCache {
    entries: Vec<(String, String, Option<Arc<Pattern>>)>,
    oldest: usize,
}

impl PatternCache {
    /// The compiled pattern, and whether it had to be compiled.
    pub(crate) fn get(&mut self, pattern: &str, flags: &str) -> (Option<Arc<Pattern>>, bool) {
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
