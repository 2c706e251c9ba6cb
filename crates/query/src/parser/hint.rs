//! The name that was perhaps meant.

/// Keywords that people misspell.
const KEYWORDS: [&str; 46] = [
    "ADD",
    "ASC",
    "ASK",
    "BASE",
    "BIND",
    "CLEAR",
    "CONSTRUCT",
    "COPY",
    "CREATE",
    "DATA",
    "DEFAULT",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DROP",
    "EXISTS",
    "FILTER",
    "FROM",
    "GRAPH",
    "GROUP",
    "HAVING",
    "INSERT",
    "INTO",
    "LATERAL",
    "LIMIT",
    "LOAD",
    "MINUS",
    "MOVE",
    "NAMED",
    "OFFSET",
    "OPTIONAL",
    "ORDER",
    "PREFIX",
    "REDUCED",
    "SELECT",
    "SEPARATOR",
    "SERVICE",
    "SILENT",
    "UNDEF",
    "UNION",
    "USING",
    "VALUES",
    "VERSION",
    "WHERE",
    "WITH",
];

/// The keyword that is nearest to a word, if one is near and the word is none.
pub(super) fn keyword(word: &str) -> Option<&'static str> {
    nearest(word, &KEYWORDS).filter(|keyword| !keyword.eq_ignore_ascii_case(word))
}

/// The name that is nearest to a word, if one is near: a third of its letters differ at most.
pub(super) fn nearest(word: &str, names: &[&'static str]) -> Option<&'static str> {
    /// No name is longer; a word that is costs nothing.
    const LETTERS_MAX: usize = 20;
    if word.len() > LETTERS_MAX {
        return None;
    }
    let word = word.to_ascii_uppercase();
    let distances = names.iter().map(|name| {
        let distance = strsim::osa_distance(&word, &name.to_ascii_uppercase());
        (distance, *name)
    });
    let (distance, name) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= (name.len() / 3).max(1)).then_some(name)
}
