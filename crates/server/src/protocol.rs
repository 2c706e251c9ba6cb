//! The query operation of the SPARQL 1.1 Protocol: from a request to what is asked.
//!
//! | sent by | the query is | other parameters are |
//! |---|---|---|
//! | `GET`, `HEAD` | `query=` of the address | in the address |
//! | `POST`, `QUERY` with a form | `query=` of the form | in the form, or in the address |
//! | `POST`, `QUERY` with `application/sparql-query` | the body | in the address |
//!
//! Strict where leniency would answer another question than was asked: two queries, a query and an
//! update, a dataset meant for updates, text that is no UTF-8 are refused. Parameters nobody knows
//! are passed over, as everywhere on the web. Follows clauses 2.1 and 2.1.4 of the protocol;
//! `timeout` is ours: seconds, or a number with its unit.

use crate::intake::{self, Bound};
use crate::negotiate::Accepted;
use crate::options::ServerOptions;
use crate::parameters::Parameters;
use crate::problem::Problem;
use axum::body::Body;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, TE};
use hyper::{HeaderMap, Method, Request};
use somersault::oxrdf::NamedNode;
use somersault::units::parse_duration;
use std::time::Duration;

/// The types of body that a query may come in.
pub(crate) const BODIES: &str = "application/sparql-query, application/x-www-form-urlencoded";
/// The methods of a query endpoint.
pub(crate) const METHODS: &str = "GET, HEAD, POST, QUERY, OPTIONS";

const FORM: &str = "application/x-www-form-urlencoded";
const QUERY: &str = "application/sparql-query";
const UPDATE: &str = "application/sparql-update";
const NO_UPDATES: &str = "updates are not available in this release";

/// A form's text may be three times as long as what it encodes.
const ENCODING_FACTOR: u64 = 3;
/// Room in a form for everything besides the query.
const OTHER_PARAMETERS_BYTES: u64 = 64 << 10;

/// What a request asks for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// What is read.
    pub what: What,
    /// What relative IRIs of a query are resolved against: the endpoint's own address.
    pub base: Option<String>,
    /// IRIs that make up the default graph.
    pub default_graphs: Vec<String>,
    /// IRIs of the named graphs.
    pub named_graphs: Vec<String>,
    /// The time it may take.
    pub timeout: Duration,
    /// How the answer may be written.
    pub accepted: Accepted,
    /// Only the head of the response is wanted.
    pub head_only: bool,
    /// The client takes trailers.
    pub trailers: bool,
}

/// What is read.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// What a query finds, by its text.
    Query(String),
    /// A graph as it is: the default one, or a named one.
    Graph(Option<String>),
}

/// What the address, the method and the fields say, before the body is read.
pub(crate) struct Envelope {
    pub method: Method,
    pub headers: HeaderMap,
    pub parameters: Parameters,
}

/// Reads a request to a query endpoint.
pub(crate) async fn read(
    request: Request<Body>,
    options: &ServerOptions,
) -> Result<Asked, Problem> {
    let (head, body) = request.into_parts();
    let mut parameters = Parameters::default();
    parameters.add(head.uri.query().unwrap_or_default().as_bytes())?;
    let mut envelope = Envelope {
        method: head.method,
        headers: head.headers,
        parameters,
    };
    let text = match envelope.method.as_str() {
        "GET" | "HEAD" => in_parameters(&envelope)?,
        "POST" | "QUERY" => in_body(&mut envelope, body, options).await?,
        method => {
            intake::drain(body).await;
            return Err(Problem::method_not_allowed(method, METHODS));
        }
    };
    if text.len() as u64 > options.text_bytes_max {
        return Err(Problem::too_long(options.text_bytes_max));
    }
    envelope.asked(text, options)
}

impl Envelope {
    fn asked(&self, text: String, options: &ServerOptions) -> Result<Asked, Problem> {
        Ok(Asked {
            what: What::Query(text),
            base: None,
            default_graphs: self.graphs("default-graph-uri")?,
            named_graphs: self.graphs("named-graph-uri")?,
            timeout: self.timeout(options.timeout)?,
            accepted: Accepted::read(&self.headers)?,
            head_only: self.method == Method::HEAD,
            trailers: takes_trailers(&self.headers),
        })
    }

    fn graphs(&self, name: &str) -> Result<Vec<String>, Problem> {
        let checked = |iri: &str| match NamedNode::new(iri) {
            Ok(node) => Ok(node.into_string()),
            Err(error) => Err(Problem::bad_request(format!(
                "`{name}` is `{iri}`: {error}"
            ))),
        };
        self.parameters.values(name).map(checked).collect()
    }

    /// What the client asks for, but no more than there is.
    pub fn timeout(&self, most: Duration) -> Result<Duration, Problem> {
        match self.parameters.single("timeout")? {
            None => Ok(most),
            Some(text) => Ok(timeout(text)?.min(most)),
        }
    }
}

/// The query of a `GET` or of a form.
fn in_parameters(envelope: &Envelope) -> Result<String, Problem> {
    let parameters = &envelope.parameters;
    let updating = parameters.has("update");
    let sent_by_form = envelope.method == Method::POST;
    match parameters.single("query")? {
        Some(_) if updating => Err(Problem::bad_request(
            "either a `query` or an `update`, not both",
        )),
        Some(text) => {
            if parameters.has("using-graph-uri") || parameters.has("using-named-graph-uri") {
                return Err(Problem::bad_request(
                    "`using-graph-uri` is for updates; a query has `default-graph-uri`",
                ));
            }
            Ok(text.to_owned())
        }
        None if updating && sent_by_form => Err(Problem::forbidden(NO_UPDATES)),
        None if updating => Err(Problem::bad_request("an `update` is sent by POST")),
        None => Err(Problem::bad_request("the parameter `query` is missing")),
    }
}

/// The query of a `POST` or a `QUERY`.
async fn in_body(
    envelope: &mut Envelope,
    body: Body,
    options: &ServerOptions,
) -> Result<String, Problem> {
    let media_type = match body_type(&envelope.headers) {
        Ok(media_type) => media_type,
        Err(problem) => {
            intake::drain(body).await;
            return Err(problem);
        }
    };
    let text_bytes = options.text_bytes_max;
    let time = options.body_timeout;
    if media_type == FORM {
        let body_bytes = ENCODING_FACTOR * text_bytes + OTHER_PARAMETERS_BYTES;
        let bound = Bound {
            body_bytes,
            text_bytes,
            time,
        };
        let form = intake::read(&envelope.headers, body, bound).await?;
        envelope.parameters.add(&form)?;
        return in_parameters(envelope);
    }
    let bound = Bound {
        body_bytes: text_bytes,
        text_bytes,
        time,
    };
    let text = intake::read(&envelope.headers, body, bound).await?;
    if envelope.parameters.has("query") || envelope.parameters.has("update") {
        return Err(Problem::bad_request(
            "the query is in the body, and another in the address",
        ));
    }
    String::from_utf8(text).map_err(|_| Problem::bad_request("the query is not UTF-8"))
}

/// The type of a body that is taken here; 415 or 403 for others.
fn body_type(headers: &HeaderMap) -> Result<&'static str, Problem> {
    let refuse = |why: String| Err(Problem::unsupported_media_type(why, vec![QUERY, FORM]));
    if let Some(coding) = headers.get(CONTENT_ENCODING)
        && coding != "identity"
    {
        return refuse("a body is taken as it is, without `Content-Encoding`".to_owned());
    }
    let Some(named) = headers.get(CONTENT_TYPE) else {
        return refuse(format!(
            "the body needs a `Content-Type`: {QUERY} or {FORM}"
        ));
    };
    let named = named.to_str().unwrap_or_default();
    let (essence, rest) = named.split_once(';').unwrap_or((named, ""));
    if let Some(charset) = foreign_charset(rest) {
        return refuse(format!("a query is UTF-8, not `{charset}`"));
    }
    match essence.trim().to_ascii_lowercase().as_str() {
        FORM => Ok(FORM),
        QUERY => Ok(QUERY),
        UPDATE => Err(Problem::forbidden(NO_UPDATES)),
        _ => refuse(format!("`{named}` is neither {QUERY} nor {FORM}")),
    }
}

/// A `charset` parameter that says something else than UTF-8 or its subset ASCII.
fn foreign_charset(parameters: &str) -> Option<&str> {
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

pub(crate) fn takes_trailers(headers: &HeaderMap) -> bool {
    let values = headers
        .get_all(TE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    values
        .flat_map(|line| line.split(','))
        .any(|part| part.trim() == "trailers")
}

/// Seconds, or a number with its unit.
fn timeout(text: &str) -> Result<Duration, Problem> {
    let seconds = text.parse::<f64>().ok().map(Duration::try_from_secs_f64);
    match seconds {
        Some(Ok(duration)) => Ok(duration),
        Some(Err(_)) => Err(Problem::bad_request(format!(
            "`timeout` is `{text}`: out of range"
        ))),
        None => parse_duration(text)
            .map_err(|error| Problem::bad_request(format!("`timeout`: {error}, or seconds"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_seconds_or_have_a_unit() {
        assert_eq!(timeout("30").unwrap(), Duration::from_secs(30));
        assert_eq!(timeout("0.25").unwrap(), Duration::from_millis(250));
        assert_eq!(timeout("250ms").unwrap(), Duration::from_millis(250));
        assert_eq!(timeout("2m").unwrap(), Duration::from_mins(2));
        for bad in ["", "-1", "soon", "1e300", "nan", "3 years"] {
            assert!(timeout(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn charsets() {
        assert_eq!(foreign_charset(""), None);
        assert_eq!(foreign_charset(" charset=UTF-8"), None);
        assert_eq!(foreign_charset(" boundary=x; charset=\"utf-8\""), None);
        assert_eq!(foreign_charset("charset=UTF-16"), Some("UTF-16"));
    }
}
