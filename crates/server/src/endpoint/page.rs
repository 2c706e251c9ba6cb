//! The page at `/`, and queries whose answers are to be shown in it.
//!
//! The page is one document: frame, style and scripts lie apart in `page/` and are put together when it is asked for
//! first. So it needs nothing from elsewhere, and no tool of JavaScript's to be built.
//!
//! `GET /sparql?query=...&format=html` is a link for people: it leads to the page with the query in it, which runs it
//! and shows what comes as every other answer. The query stands behind the `#` of the address, so it is sent once,
//! and as a query: no link changes anything.

use crate::request::known::FORMATS;
use crate::request::negotiate;
use crate::request::parameters::{Parameters, quoted};
use crate::response::problem::Problem;
use crate::response::{head, reading, text};
use axum::body::Body;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, LOCATION, VARY};
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use somersault::AnswerFormat;
use std::sync::LazyLock;

/// What the page says and shows.
const FRAME: &str = include_str!("page/page.html");
/// How it looks.
const STYLE: &str = include_str!("page/style.css");
/// What it does: one script, in this order.
const SCRIPTS: [&str; 10] = [
    include_str!("page/common.js"),
    include_str!("page/follow.js"),
    include_str!("page/query.js"),
    include_str!("page/follow_query.js"),
    include_str!("page/examples.js"),
    include_str!("page/live.js"),
    include_str!("page/stream.js"),
    include_str!("page/standing.js"),
    include_str!("page/reports.js"),
    include_str!("page/start.js"),
];

/// The page in one piece, with the formats that it offers.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    let script = put(
        "/* the formats of answers */",
        &SCRIPTS.join("\n"),
        &formats(),
    );
    let page = put("/* the style */\n", FRAME, STYLE);
    put("/* the scripts */\n", &page, &script)
});

/// A text with a piece in its place.
fn put(place: &str, text: &str, piece: &str) -> String {
    let (before, behind) = text
        .split_once(place)
        .expect("the page has a place for each of its pieces");
    [before, piece, behind].concat()
}

/// The formats as rows of an array: kind, label, ending of files, media type.
fn formats() -> String {
    let mut rows = String::new();
    for format in AnswerFormat::ALL {
        let kind = match format {
            AnswerFormat::Rows(_) => "rows",
            AnswerFormat::Graph(_) => "graph",
        };
        let types = format.accepted_types();
        let label = format.about().rsplit(' ').next();
        let row = serde_json::json!([kind, label, format.file_ending(), types.first()]);
        rows.extend(["\n  ", &row.to_string(), ","]);
    }
    rows.push('\n');
    rows
}

/// The page has everything in itself and talks to this server only.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
    script-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";
/// What clients send that changes no answer, or not for a page that can be left.
const PASSED_OVER: [&str; 7] = [
    "timeout",
    "queryLn",
    "infer",
    "includeInferred",
    "sameAs",
    "debug",
    "should-sponge",
];

/// `GET /`.
pub(crate) async fn page(method: Method) -> Response<Body> {
    reading(&method, || {
        let mut response = text("text/html; charset=utf-8", PAGE.as_str());
        let policy = HeaderValue::from_static(POLICY);
        response
            .headers_mut()
            .insert(CONTENT_SECURITY_POLICY, policy);
        response
    })
}

/// Leads whoever asks for the answer to a query as a page to the page; `None` for all others.
pub(crate) fn shown(request: &Request<Body>) -> Option<Result<Response<Body>, Problem>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return None;
    }
    let mut parameters = Parameters::default();
    // What is wrong with them is said by whoever reads them for an answer.
    let address = request.uri().query()?;
    parameters.add(address.as_bytes()).ok()?;
    if !negotiate::wants_page(request.headers(), &parameters) {
        return None;
    }
    let query = parameters.single("query").ok()??;
    Some(leading_there(query, &parameters))
}

fn leading_there(query: &str, parameters: &Parameters) -> Result<Response<Body>, Problem> {
    let is_said = |name: &&str| parameters.values(name).any(|value| !value.is_empty());
    let is_known =
        |name: &str| name == "query" || FORMATS.contains(&name) || PASSED_OVER.contains(&name);
    let mut others = parameters.names().filter(|name| !is_known(name));
    if let Some(other) = others.find(is_said) {
        return Err(Problem::bad_request(format!(
            "a page shows the answer to a query alone, and {} stands beside it; leave that out, or name another \
             format",
            quoted(other)
        )));
    }
    let encoded = utf8_percent_encode(query, NON_ALPHANUMERIC);
    let location = format!("/#run&query={encoded}");
    let mut response = text("text/plain; charset=utf-8", format!("{location}\n"));
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    headers.insert(LOCATION, head::value(&location));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_offers_every_format() {
        for format in AnswerFormat::ALL {
            let asked = format!("\"{}\"]", format.accepted_types()[0]);
            assert_eq!(PAGE.matches(&asked).count(), 1, "{asked}");
        }
    }
}
