//! Entity tags, and requests that depend on them (RFC 9110 sections 8.8.3 and 13.1).
//!
//! A tag is `RUN.SNAPSHOT.FORMAT` and, where the answer is compressed, its coding behind another dot. The
//! snapshot is one in which the graph held what the answer says: that of the commit that changed the graph
//! last, where it is known, so that a tag stays while other graphs change. The run is a number that each
//! start of a server draws by chance. Two runs may give one number to two commits (a backup was put
//! in place of a store), so tags of another run never match.
//!
//! Of a graph tags are strong, although its blank nodes may have other labels after a checkpoint: they are
//! there to be sent back in `If-Match`, which takes no weak ones, and what a label is says nothing about
//! the graph. Of a query they are weak: rows without `ORDER BY` come in any order. A query whose answer
//! depends on more than the graph has none ([`is_repeatable`]).
//!
//! A list of tags is judged by snapshots: an older tag still holds where the graph was not changed since.

use crate::response::format::AnswerFormat;
use hyper::HeaderMap;
use hyper::header::{
    CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH,
};
use somersault::{GraphState, Precondition};
use std::hash::{BuildHasher, RandomState};

/// One start of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerStart(u64);

impl ServerStart {
    /// One that no other start has had, but for chance.
    pub fn begin() -> ServerStart {
        ServerStart(RandomState::new().hash_one("run"))
    }
}

/// What `If-Match` and `If-None-Match` ask of a change.
pub(crate) fn of_change(headers: &HeaderMap, run: ServerStart) -> Precondition {
    Precondition {
        is: state(headers, &IF_MATCH, |tag| {
            tag.snapshot(run, Strength::Strong)
        }),
        is_not: state(headers, &IF_NONE_MATCH, |tag| {
            tag.snapshot(run, Strength::Any)
        }),
    }
}

/// What they ask of an answer that would be in one of these formats.
pub(crate) fn of_answer(
    headers: &HeaderMap,
    run: ServerStart,
    formats: &[AnswerFormat],
) -> Precondition {
    let is_offered = |tag: &Tag<'_>| {
        formats
            .iter()
            .any(|format| tag.format == token(format.media_type()))
    };
    let snapshot =
        |tag: &Tag<'_>, strength| tag.snapshot(run, strength).filter(|_| is_offered(tag));
    Precondition {
        is: state(headers, &IF_MATCH, |tag| snapshot(tag, Strength::Strong)),
        is_not: state(headers, &IF_NONE_MATCH, |tag| snapshot(tag, Strength::Any)),
    }
}

/// The tag of `If-None-Match` by which the client has an answer in one of these formats that has been the same
/// since the snapshot `last`, as it was sent.
pub(crate) fn matching<'h>(
    headers: &'h HeaderMap,
    run: ServerStart,
    formats: &[AnswerFormat],
    last: u64,
) -> Option<&'h str> {
    let values = headers.get_all(IF_NONE_MATCH).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let mut tags = texts.flat_map(|line| line.split(',')).map(str::trim);
    tags.find(|text| {
        Tag::read(text).is_some_and(|tag| {
            let is_offered = |format: &AnswerFormat| tag.format == token(format.media_type());
            let snapshot = tag.snapshot(run, Strength::Any);
            snapshot.is_some_and(|it| it >= last) && formats.iter().any(is_offered)
        })
    })
}

/// Whether a request depends on something.
pub(crate) fn is_any(headers: &HeaderMap) -> bool {
    headers.contains_key(IF_MATCH) || headers.contains_key(IF_NONE_MATCH)
}

/// Gives an answer the tag of a snapshot.
pub(crate) fn tag(headers: &mut HeaderMap, run: ServerStart, snapshot: u64, strength: Strength) {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(media_type) = text(CONTENT_TYPE) else {
        return;
    };
    let weak = match strength {
        Strength::Strong => "",
        Strength::Any => "W/",
    };
    let format = token(media_type);
    let tag = match text(CONTENT_ENCODING) {
        None => format!("{weak}\"{:016x}.{snapshot}.{format}\"", run.0),
        Some(coding) => format!("{weak}\"{:016x}.{snapshot}.{format}.{coding}\"", run.0),
    };
    headers.insert(ETAG, crate::response::head::value(&tag));
}

/// How tags are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strength {
    /// Strong ones only.
    Strong,
    /// Weak ones, too.
    Any,
}

/// A tag of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tag<'t> {
    is_weak: bool,
    run: u64,
    snapshot: u64,
    format: &'t str,
}

impl<'t> Tag<'t> {
    fn read(text: &'t str) -> Option<Tag<'t>> {
        let (is_weak, quoted) = match text.strip_prefix("W/") {
            Some(quoted) => (true, quoted),
            None => (false, text),
        };
        let opaque = quoted.strip_prefix('"')?.strip_suffix('"')?;
        let mut parts = opaque.split('.');
        Some(Tag {
            is_weak,
            run: u64::from_str_radix(parts.next()?, 16).ok()?,
            snapshot: parts.next()?.parse().ok()?,
            format: parts.next()?,
        })
    }

    fn snapshot(&self, run: ServerStart, strength: Strength) -> Option<u64> {
        let is_ours = self.run == run.0 && (strength == Strength::Any || !self.is_weak);
        is_ours.then_some(self.snapshot)
    }
}

/// What a field asks for; tags that are not ours match nothing.
fn state(
    headers: &HeaderMap,
    name: &HeaderName,
    snapshot: impl Fn(&Tag<'_>) -> Option<u64>,
) -> Option<GraphState> {
    let values = || headers.get_all(name).iter();
    values().next()?;
    let texts = values().filter_map(|value| value.to_str().ok());
    let tags: Vec<&str> = texts
        .flat_map(|line| line.split(','))
        .map(str::trim)
        .collect();
    if tags == ["*"] {
        return Some(GraphState::There);
    }
    let tags = tags.into_iter().filter_map(Tag::read);
    Some(GraphState::AsIn(
        tags.filter_map(|tag| snapshot(&tag)).collect(),
    ))
}

/// The name of a format in a tag: its subtype.
fn token(media_type: &str) -> &str {
    let essence = media_type.split(';').next().unwrap_or_default();
    essence
        .split_once('/')
        .map_or(essence, |(_, subtype)| subtype)
}

/// What no answer depends on that has a tag: the time, chance, other endpoints.
const CHANGING: [&[u8]; 6] = [b"NOW", b"RAND", b"UUID", b"STRUUID", b"BNODE", b"SERVICE"];

/// Whether the answer to a query depends on the graph alone. Told from its words, wherever they stand, so
/// some queries are said to depend on more that do not. An escape may spell any word. O(bytes).
pub(crate) fn is_repeatable(query: &str) -> bool {
    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut rest = query.as_bytes();
    while let Some(start) = rest
        .iter()
        .position(|&byte| is_of_word(byte) || byte == b'\\')
    {
        if rest[start] == b'\\' && matches!(rest.get(start + 1), Some(b'u' | b'U')) {
            return false;
        }
        let word = &rest[start..];
        let len = word
            .iter()
            .position(|&byte| !is_of_word(byte))
            .unwrap_or(word.len());
        let (word, after) = word.split_at(len.max(1));
        if (3..=7).contains(&len) && CHANGING.iter().any(|name| word.eq_ignore_ascii_case(name)) {
            return false;
        }
        rest = after;
    }
    true
}

/// A response without content: the client has it.
pub(crate) fn not_modified(headers: &mut HeaderMap) {
    headers.insert(
        hyper::header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache"),
    );
    headers.insert(
        hyper::header::VARY,
        HeaderValue::from_static("accept, accept-encoding"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use somersault::GraphFormat;

    const OURS: ServerStart = ServerStart(0xABC);
    const TURTLE: AnswerFormat = AnswerFormat::Graph(GraphFormat::Turtle);

    fn headers(name: &HeaderName, lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name.clone(), HeaderValue::from_str(line).unwrap());
        }
        headers
    }

    fn given(coding: Option<&'static str>, strength: Strength) -> String {
        let mut headers = headers(&CONTENT_TYPE, &["text/turtle; charset=utf-8"]);
        headers.extend(coding.map(|coding| (CONTENT_ENCODING, HeaderValue::from_static(coding))));
        tag(&mut headers, OURS, 7, strength);
        headers[ETAG].to_str().unwrap().to_owned()
    }

    #[test]
    fn tags_are_read_as_they_are_given() {
        assert_eq!(
            given(None, Strength::Strong),
            "\"0000000000000abc.7.turtle\""
        );
        assert_eq!(
            given(Some("gzip"), Strength::Any),
            "W/\"0000000000000abc.7.turtle.gzip\""
        );
        for (coding, strength) in [(None, Strength::Strong), (Some("br"), Strength::Any)] {
            let given = given(coding, strength);
            let sent = headers(&IF_NONE_MATCH, &[&given]);
            let expected = Some(GraphState::AsIn(vec![7]));
            assert_eq!(of_answer(&sent, OURS, &[TURTLE]).is_not, expected);
            assert_eq!(of_change(&sent, OURS).is_not, expected);
            let sent = headers(&IF_MATCH, &[&given]);
            let strong = if strength == Strength::Strong {
                vec![7]
            } else {
                Vec::new()
            };
            assert_eq!(of_change(&sent, OURS).is, Some(GraphState::AsIn(strong)));
        }
    }

    #[test]
    fn tags_of_others_match_nothing() {
        let none = Some(GraphState::AsIn(Vec::new()));
        for foreign in [
            "\"0000000000000abd.7.turtle\"",
            "\"abc\"",
            "7",
            "",
            "\"\"",
            "W/",
            "\"0000000000000abc.x.turtle\"",
        ] {
            let sent = headers(&IF_NONE_MATCH, &[foreign]);
            assert_eq!(of_change(&sent, OURS).is_not, none, "{foreign}");
        }
        let other = headers(&IF_NONE_MATCH, &["\"0000000000000abc.7.n-triples\""]);
        assert_eq!(of_answer(&other, OURS, &[TURTLE]).is_not, none);
        let lines = [
            "\"x\", \"0000000000000abc.7.turtle\"",
            "\"0000000000000abc.9.turtle\"",
        ];
        let several = headers(&IF_MATCH, &lines);
        assert_eq!(
            of_change(&several, OURS).is,
            Some(GraphState::AsIn(vec![7, 9]))
        );
        let any = headers(&IF_MATCH, &["*"]);
        assert_eq!(of_change(&any, OURS).is, Some(GraphState::There));
        assert!(of_change(&HeaderMap::new(), OURS).is_empty());
    }

    #[test]
    fn queries_that_depend_on_more_than_the_graph() {
        for repeatable in [
            "SELECT * { ?s <http://e/knows> ?o }",
            "SELECT * { ?s <http://e/unknown> ?randy }",
            "",
        ] {
            assert!(is_repeatable(repeatable), "{repeatable}");
        }
        for changing in [
            "SELECT (now() AS ?n) {}",
            "SELECT (NOW#\n() AS ?n) {}",
            "SELECT * { BIND(struuid ( ) AS ?x) }",
            "SELECT * {SERVICE<http://e/>{}}",
            "SELECT (N\\u004FW() AS ?n) {}",
            "SELECT (RAND() AS ?n) {}",
        ] {
            assert!(!is_repeatable(changing), "{changing}");
        }
    }
}
