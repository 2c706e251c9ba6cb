//! Content negotiation: which format a client gets (RFC 9110, section 12.5.1).
//!
//! Each format is judged by the most specific range that names it, as the RFC has it; the highest
//! quality wins. Among equals: the one named more specifically, then the one named first by the
//! client, then our own order. A quality of 0 excludes; an empty one says nothing, so it is 1. Ranges that are not well formed are passed
//! over, because a client's slip in one of them says nothing about the others; a header without any
//! range counts as absent.

use crate::request::known::{FORCED_FORMAT, FORMATS};
use crate::request::parameters::{Parameters, quoted};
use crate::request::quality::thousandths;
use crate::response::format::{AnswerFormat, offered};
use crate::response::problem::Problem;
use hyper::HeaderMap;
use hyper::header::ACCEPT;
use somersault::output::ResultFormat;
use somersault::{AnswerKind, GraphFormat};
use std::cmp::Reverse;

/// The formats of a whole store in our own order. The first is written fastest, and any part of it is read
/// without the rest.
const STORE_FORMATS: [GraphFormat; 6] = [
    GraphFormat::NQuads,
    GraphFormat::TriG,
    GraphFormat::JsonLd,
    GraphFormat::Turtle,
    GraphFormat::NTriples,
    GraphFormat::RdfXml,
];

const _: () = assert!(
    STORE_FORMATS.len() == GraphFormat::ALL.len(),
    "all may be asked for"
);

/// One range of an `Accept` header.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    /// In lower case, without parameters.
    kind: String,
    subtype: String,
    /// Quality in thousandths.
    quality: u16,
}

/// How well a range names a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Anything,
    SameKind,
    Exact,
}

/// The formats that a client takes, for whichever form its query turns out to have: only the parser
/// tells, and negotiation comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    rows: Option<ResultFormat>,
    graph: Option<GraphFormat>,
}

impl Accepted {
    /// Reads `Accept`, and the parameters that name a format; a 406 that lists everything where nothing is
    /// taken.
    pub fn read(headers: &HeaderMap, parameters: &Parameters) -> Result<Accepted, Problem> {
        let accepted = Accepted::any(headers, Named::read(headers, parameters)?);
        if accepted.rows.is_none() && accepted.graph.is_none() {
            let mut all = offered(AnswerKind::Solutions);
            all.extend(offered(AnswerKind::Graph));
            return Err(Problem::not_acceptable(all));
        }
        Ok(accepted)
    }

    /// Reads `Accept` of a request whose answer is a graph.
    pub fn read_graph(headers: &HeaderMap, parameters: &Parameters) -> Result<Accepted, Problem> {
        let accepted = Accepted::any(headers, Named::read(headers, parameters)?);
        match accepted.graph {
            Some(_) => Ok(accepted),
            None => Err(Problem::not_acceptable(offered(AnswerKind::Graph))),
        }
    }

    fn any(headers: &HeaderMap, named: Option<Named>) -> Accepted {
        let ranges = ranges(headers);
        if let Some(named) = named
            && (named.is_forced || is_open(&ranges))
        {
            return named.accepted;
        }
        let types = |format: &ResultFormat| format.accepted_types();
        Accepted {
            rows: best(&ResultFormat::ALL, types, &ranges),
            graph: best(&GraphFormat::ALL, |format| format.accepted_types(), &ranges),
        }
    }

    /// Reads `Accept` of a request whose answer is a whole store: formats that name graphs come first.
    pub fn read_store(headers: &HeaderMap, parameters: &Parameters) -> Result<Accepted, Problem> {
        let named = Named::read(headers, parameters)?;
        let accepted = Accepted::any(headers, named);
        let ranges = ranges(headers);
        let types = |format: &GraphFormat| format.accepted_types();
        let graph = match named {
            Some(named) if accepted == named.accepted => accepted.graph,
            _ => best(&STORE_FORMATS, types, &ranges),
        };
        match graph {
            Some(_) => Ok(Accepted { rows: None, graph }),
            None => Err(Problem::not_acceptable(offered(AnswerKind::Graph))),
        }
    }

    /// Whether two names may mean one format: `xml` is rows as well as graphs, a media type one of them.
    fn agrees(self, other: Accepted) -> bool {
        fn agree<T: Copy + PartialEq>(one: Option<T>, other: Option<T>) -> bool {
            one.is_none() || other.is_none() || one == other
        }
        let is_shared = (self.rows.is_some() && other.rows.is_some())
            || (self.graph.is_some() && other.graph.is_some());
        is_shared && agree(self.rows, other.rows) && agree(self.graph, other.graph)
    }

    /// Whether the format of a graph says of which graph a triple is.
    pub fn takes_graphs(self) -> bool {
        self.graph.is_some_and(GraphFormat::has_graphs)
    }

    /// The formats that an answer may have.
    pub fn formats(self) -> impl Iterator<Item = AnswerFormat> {
        let rows = self.rows.map(AnswerFormat::Rows);
        rows.into_iter().chain(self.graph.map(AnswerFormat::Graph))
    }

    /// The format for an answer of this kind, if there is one.
    pub fn format(self, kind: AnswerKind) -> Option<AnswerFormat> {
        match kind {
            AnswerKind::Solutions | AnswerKind::Boolean => self.rows.map(AnswerFormat::Rows),
            AnswerKind::Graph => self.graph.map(AnswerFormat::Graph),
        }
    }
}

/// A format that parameters name, for either kind of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Named {
    accepted: Accepted,
    /// It counts more than `Accept`.
    is_forced: bool,
}

impl Named {
    /// Reads the parameters of [`FORMATS`], which agree where there are several: SPARQLWrapper sends three.
    fn read(headers: &HeaderMap, parameters: &Parameters) -> Result<Option<Named>, Problem> {
        let mut named: Option<(Named, &str)> = None;
        for name in FORMATS {
            for text in parameters.values(name).filter(|text| !is_left_open(text)) {
                let is_forced = name == FORCED_FORMAT;
                if names_page(text) && !is_forced && !is_open(&ranges(headers)) {
                    continue;
                }
                let accepted = by_names(text).ok_or_else(|| unknown_format(name, text))?;
                match named {
                    Some((known, other)) if !known.accepted.agrees(accepted) && !is_forced => {
                        let why = format!("`{other}` and `{name}` name different formats");
                        return Err(Problem::bad_request(why));
                    }
                    _ => {
                        named = Some((
                            Named {
                                accepted,
                                is_forced,
                            },
                            name,
                        ));
                    }
                }
            }
        }
        Ok(named.map(|(named, _)| named))
    }
}

/// What a client wants where there is JSON of our own besides the formats of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preference {
    /// JSON of our own, or nothing is said.
    Json,
    /// An answer's format.
    Format(AnswerFormat),
}

impl Preference {
    /// For this kind of answers; `None` where nothing is taken of what there is. Among equals what was named first.
    pub fn read(
        headers: &HeaderMap,
        parameters: &Parameters,
        kind: AnswerKind,
    ) -> Result<Option<Preference>, Problem> {
        let ranges = ranges(headers);
        if let Some(named) = Named::read(headers, parameters)?
            && (named.is_forced || is_open(&ranges))
        {
            return Ok(named.accepted.format(kind).map(Preference::Format));
        }
        if is_open(&ranges) {
            return Ok(Some(Preference::Json));
        }
        let key = |(quality, fit, place)| (Reverse(quality), Reverse(fit), place);
        let json = judge(&["application/json"], &ranges);
        let format = Accepted::any(headers, None).format(kind);
        let judged = format.and_then(|format| judge(format.accepted_types(), &ranges));
        Ok(match (json, format.zip(judged)) {
            (None, None) => None,
            (Some(json), Some((format, it))) if key(it) < key(json) => {
                Some(Preference::Format(format))
            }
            (Some(_), _) => Some(Preference::Json),
            (None, Some((format, _))) => Some(Preference::Format(format)),
        })
    }
}

/// Whether the answer to a query is to be shown as a page: parameters say so, and `Accept` nothing else.
pub(crate) fn wants_page(headers: &HeaderMap, parameters: &Parameters) -> bool {
    let names = |name: &str| parameters.values(name).any(names_page);
    names(FORCED_FORMAT) || FORMATS.into_iter().any(names) && is_open(&ranges(headers))
}

/// Whether a parameter's value is that of a page, and of no other format.
fn names_page(text: &str) -> bool {
    let is_page = |name: &str| {
        let essence = name.split(';').next().unwrap_or_default().trim();
        let name = essence.to_ascii_lowercase().replace(' ', "+");
        matches!(
            &*name,
            "html" | "xhtml" | "text/html" | "application/xhtml+xml"
        )
    };
    text.split(',').any(is_page) && by_names(text).is_none()
}

/// Whether a parameter names no format, as Virtuoso's form does with `auto`.
fn is_left_open(text: &str) -> bool {
    text.is_empty() || text.eq_ignore_ascii_case("auto")
}

/// Whether a client leaves the format open: it names none, or it is a browser, whose `Accept` is not its
/// user's word.
fn is_open(ranges: &[Range]) -> bool {
    let is_page = |range: &Range| range.kind == "text" && range.subtype == "html";
    ranges.iter().all(|range| range.subtype == "*") || ranges.iter().any(is_page)
}

/// The formats of a list of short names or media types, as SPARQLWrapper sends for JSON-LD: the first of
/// either kind that is known.
fn by_names(list: &str) -> Option<Accepted> {
    let known = list.split(',').filter_map(by_name);
    known.reduce(|first, next| Accepted {
        rows: first.rows.or(next.rows),
        graph: first.graph.or(next.graph),
    })
}

/// The formats with a short name, or a media type.
fn by_name(text: &str) -> Option<Accepted> {
    // A plus that was not encoded has become a blank.
    let essence = text.split(';').next().unwrap_or_default().trim();
    let name = essence.to_ascii_lowercase().replace(' ', "+");
    let rows = ResultFormat::from_name(&name);
    let graph = match name.as_str() {
        // What Turtle can say, N3 says in the same way.
        "n3" | "text/n3" | "text/rdf+n3" => Some(GraphFormat::Turtle),
        name => GraphFormat::from_name(name),
    };
    (rows.is_some() || graph.is_some()).then_some(Accepted { rows, graph })
}

fn unknown_format(parameter: &str, text: &str) -> Problem {
    let names = AnswerFormat::ALL.map(AnswerFormat::name).join(", ");
    if names_page(text) {
        return Problem::bad_request(format!(
            "`{parameter}` is {}: only the answer to a query that is sent by GET is shown as a page; the other \
             formats are {names}, or their media types",
            quoted(text)
        ));
    }
    Problem::bad_request(format!(
        "`{parameter}` is {}; the formats are {names}, html, or their media types",
        quoted(text)
    ))
}

/// Whether a client names JSON: it gets an account where nothing is said otherwise.
pub(crate) fn names_json(headers: &HeaderMap) -> bool {
    let mut ranges = ranges(headers).into_iter();
    ranges.any(|range| range.kind == "application" && range.subtype == "json" && range.quality > 0)
}

/// The best of these formats, which are in our own order.
fn best<F: Copy>(
    formats: &[F],
    types: impl Fn(&F) -> &'static [&'static str],
    ranges: &[Range],
) -> Option<F> {
    if ranges.is_empty() {
        return formats.first().copied();
    }
    // `min_by_key` gives the first of equals, which keeps our own order among them.
    formats
        .iter()
        .filter_map(|format| Some((*format, judge(types(format), ranges)?)))
        .min_by_key(|(_, (quality, fit, place))| (Reverse(*quality), Reverse(*fit), *place))
        .map(|(format, _)| format)
}

/// Quality, fit and place of the best range for a format; nothing where it is excluded or not
/// named. The canonical type is what will be sent, so wildcards are about it alone, and who
/// excludes it by name excludes the format; the other names count where they are named.
fn judge(types: &[&str], ranges: &[Range]) -> Option<(u16, Fit, usize)> {
    let (canonical, others) = types.split_first()?;
    let canonical = judge_type(canonical, ranges);
    if let Some((0, Fit::Exact, _)) = canonical {
        return None;
    }
    let others = others
        .iter()
        .filter_map(|media_type| judge_type(media_type, ranges));
    canonical
        .into_iter()
        .chain(others.filter(|(_, fit, _)| *fit == Fit::Exact))
        .filter(|(quality, _, _)| *quality > 0)
        .min_by_key(|(quality, fit, place)| (Reverse(*quality), Reverse(*fit), *place))
}

/// The most specific range that names this type; the first of several.
fn judge_type(media_type: &str, ranges: &[Range]) -> Option<(u16, Fit, usize)> {
    ranges
        .iter()
        .enumerate()
        .filter_map(|(place, range)| Some((range.quality, fit(range, media_type)?, place)))
        .min_by_key(|(_, fit, place)| (Reverse(*fit), *place))
}

/// How a range names a type, which is not cut at its slash: each request asks this of each name of each
/// format.
fn fit(range: &Range, media_type: &str) -> Option<Fit> {
    if range.kind == "*" {
        // Its subtype is no other: [`range`] refuses that.
        return Some(Fit::Anything);
    }
    let subtype = media_type.strip_prefix(&*range.kind)?.strip_prefix('/')?;
    match range.subtype.as_str() {
        "*" => Some(Fit::SameKind),
        exact => (exact == subtype).then_some(Fit::Exact),
    }
}

fn ranges(headers: &HeaderMap) -> Vec<Range> {
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(','))
        .filter_map(range)
        .collect()
}

fn range(text: &str) -> Option<Range> {
    let mut parts = text.split(';').map(str::trim);
    // `*` alone is what some old clients send for `*/*`.
    let (kind, subtype) = match parts.next()? {
        "*" => ("*", "*"),
        name => name.split_once('/')?,
    };
    let (kind, subtype) = (kind.trim(), subtype.trim());
    if kind.is_empty() || subtype.is_empty() || (kind == "*" && subtype != "*") {
        return None;
    }
    let mut quality = 1000;
    for part in parts {
        let Some((name, value)) = part.split_once('=') else {
            continue;
        };
        if name.trim().eq_ignore_ascii_case("q") {
            quality = thousandths(value.trim())?;
        }
    }
    Some(Range {
        kind: kind.to_ascii_lowercase(),
        subtype: subtype.to_ascii_lowercase(),
        quality,
    })
}

/// A `charset` parameter that says something else than UTF-8 or its subset ASCII.
pub(crate) fn foreign_charset(parameters: &str) -> Option<&str> {
    parameters
        .split(';')
        .filter_map(|parameter| parameter.split_once('='))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
        .map(|(_, value)| value.trim().trim_matches('"'))
        .find(|value| {
            !["utf-8", "utf8", "us-ascii"]
                .iter()
                .any(|known| value.eq_ignore_ascii_case(known))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn chosen(accept: &[&str]) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        for line in accept {
            headers.append(ACCEPT, HeaderValue::from_str(line).unwrap());
        }
        Accepted::any(&headers, None)
            .rows
            .map(|format| AnswerFormat::Rows(format).name())
    }

    #[test]
    fn json_of_our_own_is_one_of_the_formats() {
        use Preference::{Format, Json};
        let (csv, srj) = (
            AnswerFormat::Rows(ResultFormat::Csv),
            AnswerFormat::Rows(ResultFormat::Json),
        );
        let turtle = AnswerFormat::Graph(GraphFormat::Turtle);
        for (accept, text, rows, graph) in [
            ("", "", Some(Json), Some(Json)),
            ("*/*", "", Some(Json), Some(Json)),
            ("application/json", "", Some(Json), Some(Json)),
            ("text/csv", "", Some(Format(csv)), None),
            ("text/turtle", "", None, Some(Format(turtle))),
            (
                "text/csv, application/json",
                "",
                Some(Format(csv)),
                Some(Json),
            ),
            ("application/json, text/csv", "", Some(Json), Some(Json)),
            (
                "application/json;q=0.5, text/csv",
                "",
                Some(Format(csv)),
                Some(Json),
            ),
            (
                "application/sparql-results+json",
                "",
                Some(Format(srj)),
                None,
            ),
            ("", "format=csv", Some(Format(csv)), None),
            ("", "format=turtle", None, Some(Format(turtle))),
            ("image/png", "", None, None),
        ] {
            let mut headers = HeaderMap::new();
            if !accept.is_empty() {
                headers.insert(ACCEPT, HeaderValue::from_static(accept));
            }
            let mut parameters = Parameters::default();
            parameters.add(text.as_bytes()).unwrap();
            let read = |kind| Preference::read(&headers, &parameters, kind).unwrap();
            let both = (read(AnswerKind::Solutions), read(AnswerKind::Graph));
            assert_eq!(both, (rows, graph), "{accept} {text}");
        }
    }

    #[test]
    fn table_of_negotiation() {
        let table: [(&[&str], Option<&str>); 26] = [
            (&[], Some("json")),
            (&[""], Some("json")),
            (&["*/*"], Some("json")),
            (&["text/csv;q=0.1, * /json, */json"], Some("csv")),
            (&["*"], Some("json")),
            (&["application/*"], Some("json")),
            (&["text/*"], Some("csv")),
            (&["application/json"], Some("json")),
            (&["application/sparql-results+xml"], Some("xml")),
            (&["Text/CSV; charset=utf-8"], Some("csv")),
            (&["text/tab-separated-values"], Some("tsv")),
            (
                &["text/csv;q=0.5, text/tab-separated-values;q=0.8"],
                Some("tsv"),
            ),
            (&["text/csv;q=0.5", "application/xml;q=0.8"], Some("xml")),
            (&["text/csv, */*"], Some("csv")),
            (&["*/*;q=0.1, text/csv;q=0.1"], Some("csv")),
            (&["application/xml, application/json"], Some("xml")),
            (&["application/sparql-results+json;q=0, */*"], Some("xml")),
            (&["text/csv;q=0"], None),
            (&["image/png"], None),
            (&["text/turtle, application/n-triples"], None),
            (&["image/png, text/csv;q=0.001"], Some("csv")),
            (
                &["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"],
                Some("xml"),
            ),
            (&["text/csv;q=2, text/tsv;q=0.1"], Some("tsv")), // no such quality: passed over
            (&["text/csv;q=, application/json;q=0.9"], Some("csv")),
            (&["text/csv;q=0.1234, application/xml;q=.2"], Some("xml")),
            (
                &["text/csv;header=present;q=0.9, application/json;q=0.8"],
                Some("csv"),
            ),
        ];
        for (accept, expected) in table {
            assert_eq!(chosen(accept), expected, "Accept: {accept:?}");
        }
    }

    #[test]
    fn nothing_acceptable_is_a_406() {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("image/png"));
        let response = Accepted::read(&headers, &Parameters::default())
            .unwrap_err()
            .into_response();
        assert_eq!(response.status(), 406);
    }

    #[test]
    fn graphs_have_formats_of_their_own() {
        let table = [
            ("", Some(GraphFormat::Turtle)),
            ("*/*", Some(GraphFormat::Turtle)),
            ("application/rdf+xml", Some(GraphFormat::RdfXml)),
            ("application/json", Some(GraphFormat::JsonLd)),
            ("text/plain, */*;q=0.1", Some(GraphFormat::NTriples)),
            ("text/csv", None),
            (
                "application/n-triples;q=0.5, text/turtle;q=0.4",
                Some(GraphFormat::NTriples),
            ),
        ];
        for (accept, expected) in table {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(
                Accepted::any(&headers, None).graph,
                expected,
                "Accept: {accept}"
            );
        }
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/csv"));
        assert!(Accepted::read(&headers, &Parameters::default()).is_ok());
        assert!(Accepted::read_graph(&headers, &Parameters::default()).is_err());
    }

    #[test]
    fn parameters_name_formats_where_accept_leaves_them_open() {
        const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        use GraphFormat as G;
        use ResultFormat as R;
        let table = [
            ("", "format=csv", Some(R::Csv), None),
            (
                "*/*",
                "format=json&output=json&results=json",
                Some(R::Json),
                Some(G::JsonLd),
            ),
            ("*/*", "output=XML", Some(R::Xml), Some(G::RdfXml)),
            (BROWSER, "format=json", Some(R::Json), Some(G::JsonLd)),
            ("text/csv", "format=json", Some(R::Csv), None),
            (
                "text/csv",
                "force-accept=text/turtle",
                None,
                Some(G::Turtle),
            ),
            (
                "",
                "accept=application/sparql-results%2Bxml",
                Some(R::Xml),
                None,
            ),
            (
                "",
                "out=application/sparql-results+json",
                Some(R::Json),
                None,
            ),
            ("", "format=n3", None, Some(G::Turtle)),
            ("", "format=rdf%2Bxml", None, Some(G::RdfXml)),
            ("", "format=json-ld", None, Some(G::JsonLd)),
            ("", "format=nt", None, Some(G::NTriples)),
            ("", "format=", Some(R::Json), Some(G::Turtle)),
            ("", "format=auto", Some(R::Json), Some(G::Turtle)),
            ("", "output=sparql", Some(R::Xml), None),
            ("", "format=SRX", Some(R::Xml), None),
            ("", "format=ttl", None, Some(G::Turtle)),
            ("", "format=N-Quads", None, Some(G::NQuads)),
            ("", "format=text/html,text/csv", Some(R::Csv), None),
            ("text/csv", "format=text/html", Some(R::Csv), None),
            (
                "",
                "format=application/ld%2Bjson,application/x-json%2Bld",
                None,
                Some(G::JsonLd),
            ),
        ];
        for (accept, text, rows, graph) in table {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            let mut parameters = Parameters::default();
            parameters.add(text.as_bytes()).unwrap();
            let accepted = Accepted::read(&headers, &parameters).unwrap();
            assert_eq!(
                (accepted.rows, accepted.graph),
                (rows, graph),
                "{accept} {text}"
            );
        }
        for bad in [
            "format=jsn",
            "format=json&output=xml",
            "output=image/png",
            "format=html",
        ] {
            let mut parameters = Parameters::default();
            parameters.add(bad.as_bytes()).unwrap();
            assert!(
                Accepted::read(&HeaderMap::new(), &parameters).is_err(),
                "{bad}"
            );
        }
    }
}
