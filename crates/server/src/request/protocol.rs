//! The operations of the SPARQL 1.1 Protocol: from a request to what is asked, or wanted.
//!
//! | sent by | the text is | other parameters are |
//! |---|---|---|
//! | `GET`, `HEAD` | `query=` of the address | in the address |
//! | `POST`, `QUERY` with a form | `query=` of the form | in the form, or in the address |
//! | `POST`, `QUERY` with `application/sparql-query` | the body | in the address |
//! | `POST` with a form | `update=` of the form | in the form, or in the address |
//! | `POST` with `application/sparql-update` | the body | in the address |
//!
//! `/sparql` takes both, `/query` and `/update` what they say. Whether somebody may change anything
//! is known before a body is read, so that nobody else sends a long one.
//!
//! Strict where leniency would answer another question than was asked: two queries, a query and an
//! update, a dataset meant for the other, text that is no UTF-8, parameters that nobody knows
//! ([`super::known`]) are refused. Follows clauses 2.1 and 2.2 of the protocol; `timeout` is ours:
//! seconds, or a number with its unit.

use crate::options::ServerOptions;
use crate::request::access::{Client, Granted, Peer};
use crate::request::condition;
use crate::request::document;
use crate::request::intake::{self, Bound, Intake};
use crate::request::known::{self, Language};
use crate::request::negotiate::foreign_charset;
use crate::request::negotiate::{self, Accepted};
use crate::request::parameters::{Parameters, quoted};
use crate::request::{Change, ChangeRequest, Explain, Given, QueryRequest, Read};
use crate::response::coding::Coding;
use crate::response::problem::Problem;
use crate::run::account::BodyAccount;
use crate::run::fresh;
use axum::body::Body;
use hyper::header::{CONTENT_TYPE, TE};
use hyper::{HeaderMap, Method, Request, Version};
use somersault::config::Right;
use somersault::nodes::Trace;
use somersault::terms::NamedNode;
use somersault::units::parse_duration;
use somersault::{Learnt, Precondition};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// The types of body that a `QUERY` may have.
pub(crate) const BODIES: &str = "application/sparql-query, application/x-www-form-urlencoded";
/// The methods of a query endpoint.
pub(crate) const METHODS: &str = "GET, HEAD, POST, QUERY, OPTIONS";

pub(crate) const FORM: &str = "application/x-www-form-urlencoded";
pub(crate) const QUERY: &str = "application/sparql-query";
pub(crate) const UPDATE: &str = "application/sparql-update";

/// What an address takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Queries and updates.
    Both,
    /// Queries.
    Query,
    /// Updates.
    Update,
}

impl Endpoint {
    /// The methods that are answered there.
    pub fn methods(self) -> &'static str {
        match self {
            Endpoint::Both | Endpoint::Query => METHODS,
            Endpoint::Update => "POST, OPTIONS",
        }
    }

    /// The types of body that are taken there.
    fn bodies(self) -> Vec<&'static str> {
        match self {
            Endpoint::Both => vec![QUERY, UPDATE, FORM],
            Endpoint::Query => vec![QUERY, FORM],
            Endpoint::Update => vec![UPDATE, FORM],
        }
    }
}

/// What a request comes to.
#[derive(Debug)]
pub(crate) enum Operation {
    /// A query.
    Query(QueryRequest),
    /// An update.
    Update(ChangeRequest),
}

/// A text with what it is.
enum Text {
    Query(String),
    Update(String),
}

/// A form's text may be three times as long as what it encodes.
const ENCODING_FACTOR: u64 = 3;
/// Room in a form for everything besides the query.
const OTHER_PARAMETERS_BYTES: u64 = 64 << 10;

/// What the address, the method and the fields say, before the body is read.
pub(crate) struct Envelope {
    pub method: Method,
    pub version: Version,
    pub headers: HeaderMap,
    pub parameters: Parameters,
    pub client: Client,
    pub port: u16,
    /// What the text holds, where it came in a body.
    pub account: Option<Arc<BodyAccount>>,
}

/// Reads a request to an endpoint. `base` is the endpoint's own address, `client` whose request it is, `account` is drawn on for its body.
pub(crate) async fn read(
    request: Request<Body>,
    options: &ServerOptions,
    door: Endpoint,
    granted: Granted,
    (base, client, account): (String, Client, BodyAccount),
) -> Result<Operation, Problem> {
    let (head, body) = request.into_parts();
    let mut parameters = Parameters::default();
    parameters.add(head.uri.query().unwrap_or_default().as_bytes())?;
    let mut envelope = Envelope {
        method: head.method,
        version: head.version,
        headers: head.headers,
        parameters,
        client,
        port: Peer::port(&head.extensions),
        account: None,
    };
    let text = match envelope.method.as_str() {
        "GET" | "HEAD" if door != Endpoint::Update => in_parameters(&envelope, door)?,
        "POST" => in_body(&mut envelope, (body, account), options, door, granted).await?,
        "QUERY" if door != Endpoint::Update => {
            in_body(&mut envelope, (body, account), options, door, granted).await?
        }
        method => {
            intake::drain(body).await;
            return Err(Problem::method_not_allowed(method, door.methods()));
        }
    };
    match text {
        Text::Query(text) => {
            granted.need(Right::Read)?;
            within(&text, options.text_bytes_max)?;
            envelope.asked(text, options, base).map(Operation::Query)
        }
        Text::Update(text) => {
            granted.need(Right::Write)?;
            within(&text, options.update_text_bytes_max)?;
            envelope.wanted(text, options, base).map(Operation::Update)
        }
    }
}

fn within(text: &str, bytes_max: u64) -> Result<(), Problem> {
    if text.len() as u64 > bytes_max {
        return Err(Problem::too_long(bytes_max));
    }
    Ok(())
}

/// What a request is part of, where its sender follows it: W3C Trace Context. A field that is none is as if it were not there.
pub(crate) fn trace(headers: &HeaderMap) -> Option<Trace> {
    let mut fields = headers.get_all("traceparent").iter();
    let (field, other) = (fields.next()?, fields.next());
    let text = field.to_str().ok().filter(|_| other.is_none())?;
    Trace::of_parent(text)
}

impl Envelope {
    fn asked(
        &self,
        text: String,
        options: &ServerOptions,
        base: String,
    ) -> Result<QueryRequest, Problem> {
        self.is_sparql()?;
        Ok(QueryRequest {
            what: Read::Query(text),
            learnt: Learnt::default(),
            base: Some(self.base(base)?),
            default_graphs: self.graphs("default-graph-uri")?,
            named_graphs: self.graphs("named-graph-uri")?,
            given: self.given()?,
            client: self.client,
            port: self.port,
            _held: self.account.clone(),
            timeout: self.timeout(options.timeout)?,
            accepted: Accepted::read(&self.headers, &self.parameters)?,
            head_only: self.method == Method::HEAD,
            trailers: takes_trailers(&self.headers),
            needs_length: self.version < Version::HTTP_11,
            snapshot: fresh::wanted(&self.headers)?,
            number: self.count("snapshot")?,
            pinned: None,
            explain: self.explain()?,
            trace: trace(&self.headers),
        })
    }

    /// Whether a plan is wanted instead of an answer.
    fn explain(&self) -> Result<Option<Explain>, Problem> {
        match self.parameters.single("explain")? {
            None => Ok(None),
            Some("plan") => Ok(Some(Explain::Plan)),
            Some("profile") => Ok(Some(Explain::Profile)),
            Some(other) => Err(Problem::bad_request(format!(
                "`explain` is {}: it is `plan`, or `profile`, which runs the query",
                quoted(other)
            ))),
        }
    }

    fn wanted(
        &self,
        text: String,
        options: &ServerOptions,
        base: String,
    ) -> Result<ChangeRequest, Problem> {
        self.is_sparql()?;
        self.is_unconditional()?;
        if self.explain()?.is_some() {
            let why =
                "`explain` is for queries: an update is not walked without its changes being made";
            return Err(Problem::bad_request(why));
        }
        if self.count("snapshot")?.is_some() {
            let why = "`snapshot` is for queries: an update changes the newest snapshot";
            return Err(Problem::bad_request(why));
        }
        if self.given()? != Given::default() {
            return Err(Problem::bad_request(
                "terms for variables, `limit` and `offset` are for queries; an update says all in its text",
            ));
        }
        let base = self.base(base)?;
        self.wanted_change(
            Change::Update {
                text,
                using: self.graphs("using-graph-uri")?,
                using_named: self.graphs("using-named-graph-uri")?,
            },
            options,
            Some(base),
        )
    }

    /// A change with what the fields say of every one.
    pub fn wanted_change(
        &self,
        change: Change,
        options: &ServerOptions,
        base: Option<String>,
    ) -> Result<ChangeRequest, Problem> {
        Ok(ChangeRequest {
            change,
            base,
            timeout: self.timeout(options.update_timeout)?,
            snapshot: fresh::wanted(&self.headers)?,
            precondition: Precondition::default(),
            wants_account: negotiate::names_json(&self.headers),
            _held: self.account.clone(),
        })
    }

    /// What is said of a query beside its text.
    fn given(&self) -> Result<Given, Problem> {
        let mut given = Given {
            terms: Vec::new(),
            offset: self.count("offset")?.unwrap_or(0),
            limit: self.count("limit")?,
        };
        let mut known = HashSet::new();
        for (name, term) in self.parameters.beginning("$") {
            if !known.insert(name) {
                let why = format!("more than one $ parameter {}", quoted(name));
                return Err(Problem::bad_request(why));
            }
            given.terms.push((name.to_owned(), term.to_owned()));
        }
        Ok(given)
    }

    fn count(&self, name: &str) -> Result<Option<u64>, Problem> {
        let text = self.parameters.single(name)?;
        let number = text.map(|text| {
            let number = text.parse();
            number.map_err(|_| {
                let why = format!("`{name}` is {}, and no number", quoted(text));
                Problem::bad_request(why)
            })
        });
        number.transpose()
    }

    /// What relative IRIs are resolved against: the endpoint's address, unless the client names another.
    fn base(&self, address: String) -> Result<String, Problem> {
        let named = self.graphs("baseURI")?;
        Ok(self
            .parameters
            .single("baseURI")?
            .map_or(address, |_| named.concat()))
    }

    /// Refuses conditions where nobody judges them: a change that is made all the same is worse.
    pub fn is_unconditional(&self) -> Result<(), Problem> {
        if !condition::is_any(&self.headers) {
            return Ok(());
        }
        Err(Problem::bad_request(
            "`If-Match` and `If-None-Match` are for PUT, POST and DELETE of a graph at /store",
        ))
    }

    /// Whether the text is in the language that there is.
    fn is_sparql(&self) -> Result<(), Problem> {
        match self.parameters.single("queryLn")? {
            Some(language) if !language.eq_ignore_ascii_case("sparql") => {
                Err(Problem::bad_request(format!(
                    "`queryLn` is `{language}`, and SPARQL is spoken here"
                )))
            }
            _ => Ok(()),
        }
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

/// The text of a `GET` or of a form.
fn in_parameters(envelope: &Envelope, door: Endpoint) -> Result<Text, Problem> {
    let parameters = &envelope.parameters;
    known::check(parameters, Language::Protocol)?;
    let refuse = |why: &str| Err(Problem::bad_request(why));
    let has = |names: [&str; 2]| names.iter().any(|name| parameters.has(name));
    match (parameters.single("query")?, parameters.single("update")?) {
        (Some(_), Some(_)) => refuse("either a `query` or an `update`, not both"),
        (Some(_), None) if door == Endpoint::Update => {
            refuse("this address takes updates; queries go to /sparql")
        }
        (Some(_), None) if has(["using-graph-uri", "using-named-graph-uri"]) => {
            refuse("`using-graph-uri` is for updates; a query has `default-graph-uri`")
        }
        (Some(text), None) => Ok(Text::Query(text.to_owned())),
        (None, Some(_)) if envelope.method != Method::POST => refuse("an `update` is sent by POST"),
        (None, Some(_)) if door == Endpoint::Query => {
            refuse("this address takes queries; updates go to /sparql or /update")
        }
        (None, Some(_)) if has(["default-graph-uri", "named-graph-uri"]) => {
            refuse("`default-graph-uri` is for queries; an update has `using-graph-uri`")
        }
        (None, Some(text)) => Ok(Text::Update(text.to_owned())),
        (None, None) if door == Endpoint::Update => refuse("the parameter `update` is missing"),
        (None, None) => refuse("the parameter `query` is missing"),
    }
}

/// The text of a `POST` or a `QUERY`.
async fn in_body(
    envelope: &mut Envelope,
    (body, account): (Body, BodyAccount),
    options: &ServerOptions,
    door: Endpoint,
    granted: Granted,
) -> Result<Text, Problem> {
    let first = match door {
        Endpoint::Update => granted.need(Right::Write),
        Endpoint::Both | Endpoint::Query => Ok(()),
    };
    let media_type = first.and_then(|()| body_type(envelope, door));
    let media_type = media_type.and_then(|media_type| {
        let right = if media_type == UPDATE {
            Right::Write
        } else {
            Right::Read
        };
        granted.need(right)?;
        Ok((media_type, document::coding(&envelope.headers)?))
    });
    let (media_type, coding) = match media_type {
        Ok(found) => found,
        Err(problem) => {
            intake::refuse(&envelope.headers, body).await;
            return Err(problem.closing());
        }
    };
    let may_update = door != Endpoint::Query
        && envelope.method == Method::POST
        && granted.has(Right::Write)
        && media_type != QUERY;
    let text_bytes = if may_update {
        options.update_text_bytes_max.max(options.text_bytes_max)
    } else {
        options.text_bytes_max
    };
    let time = options.body_timeout;
    if media_type == FORM {
        let bound = Bound {
            body_bytes: ENCODING_FACTOR * text_bytes + OTHER_PARAMETERS_BYTES,
            text_bytes,
            time,
        };
        let form = taken(&envelope.headers, body, (bound, coding), account).await?;
        envelope.parameters.add(&form.bytes)?;
        envelope.account = Some(Arc::new(form.account));
        return in_parameters(envelope, door);
    }
    let bound = Bound {
        body_bytes: text_bytes,
        text_bytes,
        time,
    };
    let text = taken(&envelope.headers, body, (bound, coding), account).await?;
    envelope.account = Some(Arc::new(text.account));
    alone(&envelope.parameters, media_type, text.bytes)
}

/// A body as it was before it was compressed.
pub(crate) async fn taken(
    headers: &HeaderMap,
    body: Body,
    (bound, coding): (Bound, Option<Coding>),
    account: BodyAccount,
) -> Result<Intake, Problem> {
    let intake = intake::read(headers, body, bound, account).await?;
    let Some(coding) = coding else {
        return Ok(intake);
    };
    // Megabytes: other connections of this thread would wait.
    let decoded = tokio::task::spawn_blocking(move || intake.decoded(coding, bound));
    decoded.await.unwrap_or_else(|panic| {
        tracing::error!(%panic, "a body could not be decompressed");
        Err(Problem::bad_request("the body could not be decompressed"))
    })
}

/// A text that was a whole body, where the parameters of the address are for what it is.
fn alone(parameters: &Parameters, media_type: &str, text: Vec<u8>) -> Result<Text, Problem> {
    known::check(parameters, Language::Protocol)?;
    if parameters.has("query") || parameters.has("update") {
        return Err(Problem::bad_request(
            "the text is in the body, and another in the address",
        ));
    }
    let foreign = match media_type {
        UPDATE => ["default-graph-uri", "named-graph-uri"],
        _ => ["using-graph-uri", "using-named-graph-uri"],
    };
    if let Some(name) = foreign.iter().find(|name| parameters.has(name)) {
        return Err(Problem::bad_request(format!(
            "`{name}` is not for what is in the body"
        )));
    }
    let text = String::from_utf8(text);
    let text = text.map_err(|_| Problem::bad_request("the text is not UTF-8"))?;
    Ok(match media_type {
        UPDATE => Text::Update(text),
        _ => Text::Query(text),
    })
}

/// Whether a body is a query, an update or a form, by its type.
pub(crate) fn is_text(headers: &HeaderMap) -> bool {
    let named = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = named
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    let is_same = |known: &&str| known.eq_ignore_ascii_case(essence.trim());
    [QUERY, UPDATE, FORM].iter().any(is_same)
}

/// The type of a body that is taken here; 415 for others.
fn body_type(envelope: &Envelope, door: Endpoint) -> Result<&'static str, Problem> {
    let headers = &envelope.headers;
    let refuse = |why: String| Err(Problem::unsupported_media_type(why, door.bodies()));
    let list = || door.bodies().join(" or ");
    let Some(named) = headers.get(CONTENT_TYPE) else {
        return refuse(format!("the body needs a `Content-Type`: {}", list()));
    };
    let named = named.to_str().unwrap_or_default();
    let (essence, rest) = named.split_once(';').unwrap_or((named, ""));
    if let Some(charset) = foreign_charset(rest) {
        return refuse(format!("a text is UTF-8, not `{charset}`"));
    }
    let essence = essence.trim().to_ascii_lowercase();
    let found = door.bodies().into_iter().find(|known| *known == essence);
    match found {
        Some(UPDATE) if envelope.method != Method::POST => {
            Err(Problem::bad_request("an update is sent by POST"))
        }
        Some(found) => Ok(found),
        None => refuse(format!("`{named}` is not {}", list())),
    }
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
