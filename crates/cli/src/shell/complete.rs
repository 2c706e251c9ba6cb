//! What could come next: keywords, prefixes, names from the data, variables of the query, and the
//! commands with their arguments.
//!
//! A pure function of the text before the cursor and of what the session knows, so it can be
//! tested without a terminal.

use super::command::{Argument, COMMANDS, formats, split};
use super::prefixes::Prefixes;
use super::vocabulary::Vocabulary;
use somersault::text::{self, Piece, PieceKind, TokenKind, pieces};

/// Candidates shown at most.
const CANDIDATES_MAX: usize = 200;

/// Where the word begins that is being written, and what it could become. `None` where files are
/// meant, which the editor knows.
pub fn complete(
    before: &str,
    prefixes: &Prefixes,
    vocabulary: &Vocabulary,
) -> Option<(usize, Vec<String>)> {
    if before.trim_start().starts_with('.')
        && let Some(found) = complete_command(before, prefixes, vocabulary)
    {
        return found;
    }
    let (start, mut found) = complete_query(before, prefixes, vocabulary);
    assert!(
        before.is_char_boundary(start),
        "what is completed begins within the text"
    );
    found.truncate(CANDIDATES_MAX);
    Some((start, found))
}

/// Of a command; `None` where it goes on with a query.
#[allow(clippy::option_option)] // no command's business; files; candidates
fn complete_command(
    before: &str,
    prefixes: &Prefixes,
    vocabulary: &Vocabulary,
) -> Option<Option<(usize, Vec<String>)>> {
    let indent = before.len() - before.trim_start().len();
    let (name, _) = split(before);
    let after = indent + name.len();
    if after == before.len() {
        let names = COMMANDS.iter().map(|command| command.name);
        let found = names.filter(|known| known.starts_with(name));
        return Some(Some((indent, found.map(str::to_owned).collect())));
    }
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let word = &before[start..];
    let command = COMMANDS.iter().find(|command| command.name == name);
    let candidates: Vec<String> = match command.map(|command| command.argument) {
        Some(Argument::Statement) => return None,
        Some(Argument::File) => return Some(None),
        Some(Argument::Switch) => vec!["on".to_owned(), "off".to_owned()],
        Some(Argument::Format) => formats().collect(),
        Some(Argument::Prefix) => {
            let names = prefixes.names();
            names.iter().map(|name| format!("{name}:")).collect()
        }
        Some(Argument::Query) => vocabulary.queries(),
        Some(Argument::None) | None => Vec::new(),
    };
    let found = candidates
        .into_iter()
        .filter(|known| known.starts_with(word));
    Some(Some((start, found.collect())))
}

fn complete_query(
    before: &str,
    prefixes: &Prefixes,
    vocabulary: &Vocabulary,
) -> (usize, Vec<String>) {
    // An IRI that has no end yet is no token: it begins at the last `<` that no space follows.
    if let Some((start, iri)) = open_iri(before) {
        let found = vocabulary.starting_with(iri);
        return (
            start,
            found.into_iter().map(|iri| format!("<{iri}>")).collect(),
        );
    }
    let Some(last) = pieces(before).last() else {
        return (before.len(), Vec::new());
    };
    let found = match last.kind {
        PieceKind::Token(TokenKind::Word) => words(last.text, prefixes),
        PieceKind::Token(TokenKind::PrefixedName) => names(last.text, prefixes, vocabulary),
        PieceKind::Token(TokenKind::Variable) => variables(before, last),
        _ => return (before.len(), Vec::new()),
    };
    (last.start, found)
}

fn open_iri(before: &str) -> Option<(usize, &str)> {
    let start = before.rfind('<')?;
    let iri = &before[start + 1..];
    let is_inside = pieces(before).any(|token| {
        let is_hiding = matches!(
            token.kind,
            PieceKind::Token(TokenKind::String | TokenKind::Iri)
                | PieceKind::Comment
                | PieceKind::OpenString { .. }
        );
        is_hiding && token.start <= start && start < token.end()
    });
    let is_iri = iri.len() >= 4 && iri.chars().all(|c| c > ' ' && c != '>' && c != '?');
    (is_iri && !is_inside).then_some((start, iri))
}

/// Keywords in the case in which they are begun, and prefixes.
fn words(word: &str, prefixes: &Prefixes) -> Vec<String> {
    let names = prefixes
        .names()
        .into_iter()
        .filter(|name| name.starts_with(word));
    let mut found: Vec<String> = names.map(|name| format!("{name}:")).collect();
    let is_lower = word.chars().all(char::is_lowercase);
    let begins = |keyword: &&str| {
        let beginning = keyword.get(..word.len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(word))
    };
    let mut keywords: Vec<&str> = text::words().filter(begins).collect();
    keywords.sort_by_key(|keyword| keyword.to_ascii_uppercase());
    for keyword in keywords.into_iter().filter(|keyword| keyword.len() > 1) {
        found.push(if is_lower {
            keyword.to_lowercase()
        } else {
            keyword.to_owned()
        });
    }
    found
}

/// Names from the data that a prefix shortens.
fn names(name: &str, prefixes: &Prefixes, vocabulary: &Vocabulary) -> Vec<String> {
    let Some((prefix, local)) = name.split_once(':') else {
        return Vec::new();
    };
    let Some(namespace) = prefixes.iri(prefix) else {
        return Vec::new();
    };
    let is_plain = |local: &&str| {
        local
            .chars()
            .all(|c| c.is_alphanumeric() || "_-".contains(c))
    };
    let iris = vocabulary.starting_with(&format!("{namespace}{local}"));
    let locals = iris.iter().filter_map(|iri| iri.strip_prefix(namespace));
    locals
        .filter(is_plain)
        .map(|local| format!("{prefix}:{local}"))
        .collect()
}

fn variables(before: &str, last: Piece<'_>) -> Vec<String> {
    let others = pieces(before).filter(|token| {
        token.is(TokenKind::Variable) && token.start != last.start && token.text != last.text
    });
    let mut found: Vec<String> = others
        .filter(|token| token.text.starts_with(last.text))
        .map(|token| token.text.to_owned())
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(before: &str) -> Vec<String> {
        let mut prefixes = Prefixes::default();
        prefixes.declare("ex", "http://e/");
        let vocabulary = Vocabulary::with(&[
            "http://e/knows",
            "http://e/known",
            "http://e/a/b",
            "http://xmlns.com/foaf/0.1/name",
        ]);
        vocabulary.set_queries(["likes", "likes-too", "trends"].map(str::to_owned).into());
        let (start, found) = complete(before, &prefixes, &vocabulary).expect("no files here");
        assert!(start <= before.len());
        found
    }

    #[test]
    fn keywords_keep_their_case() {
        assert_eq!(found("SELECT * { } ORD"), ["ORDER"]);
        assert_eq!(found("select * { } ord"), ["order"]);
        assert_eq!(found("# ORD"), [""; 0]);
        assert_eq!(found("SELECT * { ?x ?y 'ORD"), [""; 0]);
    }

    #[test]
    fn prefixes_and_names() {
        assert_eq!(found("SELECT * { ?x ex"), ["ex:", "exists"]);
        assert_eq!(found("SELECT * { ?x ex:kno"), ["ex:known", "ex:knows"]);
        assert_eq!(found("SELECT * { ?x foaf:"), ["foaf:name"]);
        assert_eq!(
            found("SELECT * { ?x <http://e/k"),
            ["<http://e/known>", "<http://e/knows>"]
        );
        assert_eq!(found("SELECT * { ?x nobody:"), [""; 0]);
        assert_eq!(found("ASK { FILTER(?a<?b"), [""; 0]);
    }

    #[test]
    fn variables_of_the_query() {
        assert_eq!(found("SELECT ?name ?nick { ?n"), ["?name", "?nick"]);
    }

    #[test]
    fn commands_and_arguments() {
        assert_eq!(found(".pre"), [".prefixes", ".prefix"]);
        assert_eq!(found(".s"), [".stats", ".streams", ".subscribe"]);
        assert_eq!(found(".q"), [".quit", ".queries"]);
        assert_eq!(found(".subscribe li"), ["likes", "likes-too"]);
        assert_eq!(found(".timer o"), ["on", "off"]);
        assert_eq!(found(".mode j"), ["json", "jsonld"]);
        assert_eq!(found(".explain SEL"), ["SELECT"]);
        assert_eq!(found(".prefix sko"), ["skos:", "skosxl:"]);
        let files = complete(".read a", &Prefixes::default(), &Vocabulary::default());
        assert_eq!(files, None);
    }
}
