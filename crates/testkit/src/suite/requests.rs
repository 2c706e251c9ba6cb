//! Requests and responses in manifests of the protocols: the W3C's `ht:` and `cnt:` vocabularies.
//!
//! A test is a list of requests that are sent one after the other; each names the statuses that
//! are allowed, and may name what the body is to be.

use super::{MANIFEST, items, node, object, objects, text};
use oxrdf::{Graph, NamedOrBlankNodeRef, TermRef};

const HTTP: &str = "http://www.w3.org/2011/http#";
const CONTENT: &str = "http://www.w3.org/2011/content#";
const STATUS: &str = "http://www.w3.org/2011/http-statusCodes#";

/// One request with the response that is expected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// Path and query string.
    pub path: String,
    /// The request's header fields, names in lower case.
    pub fields: Vec<(String, String)>,
    /// The request's body as it goes over the wire.
    pub body: Option<Vec<u8>>,
    /// The response.
    pub expected: Reply,
}

/// What is expected of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Names of statuses, any of which will do: `OK`, `StatusCode4xx`.
    pub statuses: Vec<String>,
    /// The answer of an `ASK`.
    pub boolean: Option<bool>,
    /// `boolean`, `tabular` or `RDF`.
    pub format: Option<String>,
    /// The name under which later requests use the `Location` field.
    pub location: Option<String>,
    /// Header fields, names in lower case.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
}

impl Reply {
    /// Whether a status is one of those that are allowed.
    pub fn allows(&self, status: u16) -> bool {
        self.statuses.iter().any(|name| match name.as_str() {
            "OK" => status == 200,
            "Created" => status == 201,
            "NoContent" => status == 204,
            "NotFound" => status == 404,
            "StatusCode2xx" => (200..300).contains(&status),
            "StatusCode3xx" => (300..400).contains(&status),
            "StatusCode4xx" => (400..500).contains(&status),
            _ => false,
        })
    }
}

/// The requests of an action, in order; none if it is not about requests.
pub(super) fn read(
    graph: &Graph,
    action: NamedOrBlankNodeRef<'_>,
) -> Result<Vec<Exchange>, String> {
    let Some(list) = object(graph, action, &format!("{HTTP}requests")) else {
        return Ok(Vec::new());
    };
    let requests = items(graph, list).into_iter();
    requests.map(|request| exchange(graph, request)).collect()
}

fn exchange(graph: &Graph, request: TermRef<'_>) -> Result<Exchange, String> {
    let request = node(request).ok_or("a request without properties")?;
    let value = |name: &str| object(graph, request, &format!("{HTTP}{name}")).and_then(text);
    let response = object(graph, request, &format!("{HTTP}resp")).and_then(node);
    Ok(Exchange {
        method: value("methodName").ok_or("a request without a method")?,
        path: value("absolutePath").ok_or("a request without a path")?,
        fields: fields(graph, request)?,
        body: body(graph, request)?,
        expected: reply(graph, response.ok_or("a request without a response")?)?,
    })
}

fn reply(graph: &Graph, response: NamedOrBlankNodeRef<'_>) -> Result<Reply, String> {
    let value = |name: &str| object(graph, response, &format!("{MANIFEST}{name}")).and_then(text);
    let statuses = objects(graph, response, &format!("{MANIFEST}expectedStatus"));
    let statuses = statuses.into_iter().filter_map(text);
    Ok(Reply {
        statuses: statuses
            .map(|status| status.trim_start_matches(STATUS).to_owned())
            .collect(),
        boolean: value("expectedBoolean").map(|value| value == "true"),
        format: value("expectedFormat"),
        location: value("expectedLocation"),
        fields: fields(graph, response)?,
        body: body(graph, response)?,
    })
}

fn fields(
    graph: &Graph,
    message: NamedOrBlankNodeRef<'_>,
) -> Result<Vec<(String, String)>, String> {
    let Some(list) = object(graph, message, &format!("{HTTP}headers")) else {
        return Ok(Vec::new());
    };
    let field = |field: TermRef<'_>| {
        let field = node(field)?;
        let value = |name: &str| object(graph, field, &format!("{HTTP}{name}")).and_then(text);
        Some((value("fieldName")?.to_lowercase(), value("fieldValue")?))
    };
    let fields: Option<Vec<_>> = items(graph, list).into_iter().map(field).collect();
    fields.ok_or_else(|| "a header field without name or value".to_owned())
}

fn body(graph: &Graph, message: NamedOrBlankNodeRef<'_>) -> Result<Option<Vec<u8>>, String> {
    let Some(body) = object(graph, message, &format!("{HTTP}body")).and_then(node) else {
        return Ok(None);
    };
    let value = |name: &str| object(graph, body, &format!("{CONTENT}{name}")).and_then(text);
    let chars = value("chars").ok_or("a body without characters")?;
    match value("characterEncoding").as_deref() {
        None | Some("UTF-8") => Ok(Some(chars.into_bytes())),
        Some("UTF-16") => {
            let units = std::iter::once(0xFEFF).chain(chars.encode_utf16());
            Ok(Some(units.flat_map(u16::to_be_bytes).collect()))
        }
        Some(other) => Err(format!("characters in {other}")),
    }
}
