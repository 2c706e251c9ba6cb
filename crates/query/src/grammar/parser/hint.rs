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

/// Those that hardly anybody does, or that nearly everything is near to.
const SHORT: [&str; 9] = ["ALL", "AS", "BY", "IN", "NOT", "TO", "a", "true", "false"];

/// What standing queries have besides.
const STANDING: [&str; 18] = [
    "COMPUTED", "DSTREAM", "ELEMENTS", "EVERY", "ISTREAM", "NOW", "ON", "QUERY", "RANGE",
    "REGISTER", "RSTREAM", "SLIDE", "STEP", "STREAM", "TRIPLES", "TUMBLING", "WINDOW", "ALL",
];

/// All keywords, as people write them; `NOW` is a function, too, and `ALL` is among the short ones.
pub(super) fn keywords() -> impl Iterator<Item = &'static str> {
    let standing = STANDING.into_iter();
    let standing = standing.filter(|word| !matches!(*word, "NOW" | "ALL"));
    KEYWORDS.into_iter().chain(SHORT).chain(standing)
}

/// The keyword that a word was perhaps meant for, one of standing queries in such a text alone; none for a keyword.
pub(super) fn keyword(word: &str, is_standing: bool) -> Option<&'static str> {
    let is = |name: &str| name.eq_ignore_ascii_case(word);
    match () {
        () if is("ORDERBY") => Some("ORDER BY"),
        () if is("GROUPBY") => Some("GROUP BY"),
        () if is_keyword(word) => None,
        () if is_standing && is_of_standing(word) => None,
        () if is_standing => nearest(word, KEYWORDS.into_iter().chain(STANDING)),
        () => nearest(word, KEYWORDS.into_iter()),
    }
}

/// Whether a word is a keyword.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS
        .iter()
        .any(|keyword| keyword.eq_ignore_ascii_case(word))
}

/// Whether a word is one that standing queries have besides.
pub(super) fn is_of_standing(word: &str) -> bool {
    STANDING
        .iter()
        .any(|keyword| keyword.eq_ignore_ascii_case(word))
}

/// What SPARQL has for an operator of other languages. `before`: the token that it stands at, which is `=` in `=>`.
pub(super) fn operator(before: &str, word: &str) -> Option<&'static str> {
    let is = |name: &str| name.eq_ignore_ascii_case(word);
    match () {
        () if is("AND") => Some("SPARQL writes `&&` for AND"),
        () if is("OR") => Some("SPARQL writes `||` for OR"),
        () if is("LIKE") => Some("SPARQL has CONTAINS, STRSTARTS and REGEX for LIKE"),
        () if is("IS") => Some("SPARQL has `=` and BOUND for IS"),
        () if before == "=" && word == ">" => Some("SPARQL writes `>=` for `=>`"),
        () if before == "=" && word == "<" => Some("SPARQL writes `<=` for `=<`"),
        () if word == "=" => Some("SPARQL writes one `=` for equality"),
        () => None,
    }
}

/// The name that is nearest to a word, if one is near: one letter is wrong, missing, too many or in another
/// place; two of a long name; or what one of them has more stands at its end.
pub(super) fn nearest(
    word: &str,
    names: impl Iterator<Item = &'static str> + Clone,
) -> Option<&'static str> {
    /// No name is longer; a word that is costs nothing.
    const LETTERS_MAX: usize = 20;
    /// Names of which two letters may differ.
    const LONG: usize = 7;
    const _: () = {
        let mut at = 0;
        while at < KEYWORDS.len() {
            assert!(KEYWORDS[at].len() <= LETTERS_MAX, "no name is longer");
            at += 1;
        }
    };

    if word.len() > LETTERS_MAX {
        return None;
    }
    let word = word.to_ascii_uppercase();
    let distances = names.clone().map(|name| {
        let distance = strsim::osa_distance(&word, &name.to_ascii_uppercase());
        (distance, name)
    });
    let (distance, name) = distances.min_by_key(|(distance, _)| *distance)?;
    let begins_alike = word.as_bytes().first() == name.to_ascii_uppercase().as_bytes().first();
    if distance <= 1 || (distance == 2 && begins_alike && name.len() >= LONG) {
        return Some(name);
    }
    // The longest name that the word begins with.
    let begins = names.filter(|name| name.len() > 4);
    let begins = begins.filter(|name| word.starts_with(&name.to_ascii_uppercase()));
    begins.max_by_key(|name| name.len())
}
