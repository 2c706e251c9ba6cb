//! The words of a line of an RDF Patch.
//!
//! A word is an operation, a term, a bracket of a triple term, or the `.` at the end. Nothing that could end a
//! statement is part of one but within `<>` and quotes. One pass over the line, without recursion.

use smallvec::SmallVec;

/// Words of a line at most: the deepest triple term that is read has no more.
const WORDS_MAX: usize = 2048;

/// A piece of a line and its first byte in the text.
pub(super) type Word<'t> = (usize, &'t str);

/// The words of a line, or why it has none, and where.
pub(super) fn words(line: Word<'_>) -> Result<SmallVec<[Word<'_>; 8]>, (usize, String)> {
    let mut words = SmallVec::new();
    let (mut at, mut rest) = line;
    loop {
        let spaces = rest.len() - rest.trim_start().len();
        (at, rest) = (at + spaces, &rest[spaces..]);
        if rest.is_empty() || rest.starts_with('#') {
            return Ok(words);
        }
        if words.len() == WORDS_MAX {
            return Err((at, format!("more than {WORDS_MAX} words on a line")));
        }
        let length = word_length(rest).map_err(|why| (at, why))?;
        words.push((at, &rest[..length]));
        (at, rest) = (at + length, &rest[length..]);
    }
}

/// Whether a name may have this character.
pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || !c.is_ascii() || "_:.-+%".contains(c)
}

/// The length of the word that a text begins with.
fn word_length(text: &str) -> Result<usize, String> {
    if text.starts_with("<<(") || text.starts_with(")>>") {
        return Ok(3);
    }
    if text.starts_with('"') {
        return literal_length(text);
    }
    if text == "." || text.starts_with(". ") || text.starts_with(".\t") || text.starts_with(".#") {
        return Ok(1);
    }
    name_length(text)
}

/// An IRI in `<>`, a name with a prefix, a label, a number.
fn name_length(text: &str) -> Result<usize, String> {
    if text.starts_with('<') {
        return iri_length(text);
    }
    let length = text.find(|c| !is_name(c)).unwrap_or(text.len());
    // A dot at the end of a name ends the statement.
    let name = text[..length].trim_end_matches('.');
    if name.is_empty() {
        let found = text.chars().next().unwrap_or_default();
        return Err(format!("`{found}` begins no term"));
    }
    Ok(name.len())
}

fn iri_length(text: &str) -> Result<usize, String> {
    let end = text.find(|c: char| c == '>' || c.is_whitespace() || "{}\"".contains(c));
    match end {
        Some(end) if text[end..].starts_with('>') => Ok(end + 1),
        _ => Err("an IRI is not closed".to_owned()),
    }
}

/// A string in double quotes.
pub(super) fn quoted_length(text: &str) -> Result<usize, String> {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !is_escaped && text[at + 1..].starts_with('"') => {
                return Err("strings in three quotes are none of a patch's".to_owned());
            }
            b'"' if !is_escaped => return Ok(at + 1),
            b'\r' => break,
            _ => is_escaped = byte == b'\\' && !is_escaped,
        }
    }
    Err("a string is not closed".to_owned())
}

/// A string with its language or type.
fn literal_length(text: &str) -> Result<usize, String> {
    let end = quoted_length(text)?;
    let rest = &text[end..];
    if let Some(tag) = rest.strip_prefix('@') {
        let is_tag = |c: char| c.is_ascii_alphanumeric() || c == '-';
        return Ok(end + 1 + tag.find(|c| !is_tag(c)).unwrap_or(tag.len()));
    }
    match rest.strip_prefix("^^") {
        Some(datatype) => Ok(end + 2 + name_length(datatype)?),
        None => Ok(end),
    }
}
