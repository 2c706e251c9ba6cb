//! A SPARQL endpoint somewhere: the query or the change goes there by POST, the answer comes as it arises; and the streams
//! and registered queries of a Somersault server.
//!
//! ```text
//! exchange: a thread that speaks HTTP (the server's) -- bounded channel --> Body (looks at the stop flag)
//! deliver:  the type that came is the one asked for: bytes as they are
//!           another one: parsed and written anew, in batches, through the same sinks as ours
//! change:   updates, documents for graphs, compaction: what was changed comes back
//! live:     streams, registered queries, and their reports as they come
//! problem:  anything but 2xx: what the body says about it, and the exit code
//! ```
//!
//! Memory does not grow with the answer, and whoever stops reading drops the connection, by which
//! a server knows that nobody waits any more. Nothing here runs unless an endpoint was named.

mod change;
mod deliver;
mod exchange;
mod live;
mod problem;

pub use change::{Connection, Document};
pub use live::{Delivery, Refusal, ReportBytes, Taken};

use crate::exit::{Code, Failure};
use crate::format::AnswerFormat;
use crate::printer::Printer;
use crate::say::say;
use crate::stop::Stop;
use crate::text::{Form, form};
use crate::trouble::Trouble;
use exchange::{Message, Sent, Waiting};
use somersault::GraphFormat;
use somersault::PlanDocument;
use std::io::Read;
use std::time::Duration;
use ureq::http::{HeaderName, HeaderValue, Method, Uri};

/// Bytes of a plan's document at most.
const PLAN_BYTES_MAX: u64 = 64 << 20;

/// How much longer than the query itself the exchange may take.
const GRACE: Duration = Duration::from_secs(5);

/// An endpoint and how it is spoken to.
#[derive(Clone, Debug)]
pub struct Endpoint {
    url: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Time for a query or a change, connecting included; `None`: as long as it takes.
    timeout: Option<Duration>,
    /// Whether the endpoint is told of `timeout`. Not unless it was asked for: the parameter is no
    /// part of the protocol, and some servers read it as milliseconds and answer with a part.
    is_timeout_sent: bool,
    /// What else stands in the address, beside what the URL has itself (name, value).
    parameters: Vec<(String, String)>,
    /// What messages call it; `None`: by its address.
    called: Option<String>,
}

/// Where the time of an answer went, as far as the endpoint says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// From text to algebra.
    pub parse: Option<Duration>,
    /// From algebra to plan.
    pub plan: Option<Duration>,
    /// Running.
    pub exec: Option<Duration>,
}

impl Endpoint {
    /// Scheme, host and port: whom its headers are for.
    pub fn origin(&self) -> String {
        let authority = self
            .url
            .authority()
            .map_or("", |authority| authority.as_str());
        format!(
            "{}://{authority}",
            self.url.scheme_str().unwrap_or_default()
        )
    }

    /// An endpoint at this URL, with more headers (`Name: value`).
    pub fn new(url: &str, headers: &[String], timeout: Duration) -> Result<Endpoint, Failure> {
        let usage = |message: String| Failure::new(Code::Usage, message);
        let parsed: Uri = url
            .parse()
            .map_err(|error| usage(format!("--endpoint {url}: {error}")))?;
        if !matches!(parsed.scheme_str(), Some("http" | "https")) || parsed.host().is_none() {
            let message = format!("--endpoint {url}: an endpoint begins with http:// or https://");
            return Err(usage(message));
        }
        let headers = headers.iter().map(|header| {
            let (name, value) = header.split_once(':')?;
            let name = HeaderName::try_from(name.trim()).ok()?;
            Some((name, HeaderValue::try_from(value.trim()).ok()?))
        });
        let headers: Option<Vec<_>> = headers.collect();
        Ok(Endpoint {
            url: parsed,
            headers: headers
                .ok_or_else(|| usage("--header takes 'Name: value', in ASCII".to_owned()))?,
            timeout: Some(timeout),
            is_timeout_sent: false,
            parameters: Vec::new(),
            called: None,
        })
    }

    /// The same endpoint, called so in messages.
    #[must_use]
    pub fn called(mut self, name: String) -> Endpoint {
        self.called = Some(name);
        self
    }

    /// Tells the endpoint too how long a query may take.
    #[must_use]
    pub fn with_timeout_sent(mut self, is_sent: bool) -> Endpoint {
        self.is_timeout_sent = is_sent;
        self
    }

    /// The same endpoint, asked with these terms for variables (name, term), as RDF4J has them: `$name=TERM`.
    #[must_use]
    pub fn with_terms(mut self, terms: &[(String, String)]) -> Endpoint {
        let named = |(name, term): &(String, String)| (format!("${name}"), term.clone());
        self.parameters.extend(terms.iter().map(named));
        self
    }

    /// The same endpoint, with this time for a query.
    #[must_use]
    pub fn within(mut self, timeout: Duration) -> Endpoint {
        self.timeout = Some(timeout);
        self
    }

    /// The same endpoint, with as much time as it takes.
    #[must_use]
    pub fn without_limit(mut self) -> Endpoint {
        self.timeout = None;
        self
    }

    /// The URL, or what it is called.
    pub fn url(&self) -> String {
        let called = self.called.clone();
        called.unwrap_or_else(|| self.url.to_string())
    }

    /// Asks, and prints the answer as it comes.
    pub fn ask(
        &self,
        text: &str,
        printer: &mut Printer<'_>,
        stop: &Stop,
    ) -> Result<Spent, Trouble> {
        let asked = form(text);
        let accept = accept(printer.format(), asked);
        let message = Message {
            method: Method::POST,
            content_type: "application/sparql-query",
            coding: None,
            accept,
            body: Sent::Text(text.to_owned()),
            waiting: Waiting::Open,
        };
        let endpoint = self.asking();
        let response = exchange::send(&endpoint, message, stop)?;
        if !response.is_success() {
            return Err(problem::trouble(&endpoint.url(), response));
        }
        let spent = response.spent();
        let warnings = response.warnings();
        deliver::deliver(response, asked, printer)?;
        if warnings > 0 {
            self.warn(text, warnings, stop);
        }
        Ok(spent)
    }

    /// Prints what a query probably did not mean. Most formats have their number only; the plan has their words.
    fn warn(&self, text: &str, count: u64, stop: &Stop) {
        match self.plan(text, false, stop) {
            Ok(Planned { warnings, .. }) if !warnings.is_empty() => {
                for warning in warnings {
                    say!("warning: {warning}");
                }
            }
            _ => {
                say!(
                    "warning: the endpoint has {count} warnings; --results-format json shows them"
                );
            }
        }
    }

    /// Asks for the plan of a query, after a run of it where `is_profile`.
    pub fn plan(&self, text: &str, is_profile: bool, stop: &Stop) -> Result<Planned, Trouble> {
        let mut endpoint = self.asking();
        let value = if is_profile { "profile" } else { "plan" };
        let parameter = ("explain".to_owned(), value.to_owned());
        endpoint.parameters.push(parameter);
        let message = Message {
            method: Method::POST,
            content_type: "application/sparql-query",
            coding: None,
            accept: "application/json".to_owned(),
            body: Sent::Text(text.to_owned()),
            waiting: Waiting::Open,
        };
        let mut response = exchange::send(&endpoint, message, stop)?;
        if !response.is_success() {
            return Err(problem::trouble(&endpoint.url(), response));
        }
        let mut document = String::new();
        let mut body = response.body.by_ref().take(PLAN_BYTES_MAX);
        let read = body.read_to_string(&mut document);
        if let Some(trouble) = response.body.take_trouble() {
            return Err(trouble);
        }
        let plan = read.ok().and_then(|_| PlanDocument::read(&document));
        let Some(plan) = plan else {
            let message = format!(
                "{}: no plan came; is it a Somersault server?",
                endpoint.url()
            );
            return Err(Trouble::new(Code::Failed, message));
        };
        Ok(Planned {
            text: if is_profile {
                plan.explain_profile()
            } else {
                plan.explain()
            },
            document,
            warnings: plan.warnings,
        })
    }
}

/// A plan that an endpoint has made.
pub struct Planned {
    /// For people, as one of this process.
    pub text: String,
    /// As it came.
    pub document: String,
    /// What its query probably did not mean.
    warnings: Vec<String>,
}

impl Endpoint {
    /// Asks nothing of an endpoint, to see whether it is one; says where it is and what it calls itself.
    pub fn probe(&self, stop: &Stop) -> Result<String, Trouble> {
        let endpoint = self.asking();
        let message = Message {
            method: Method::POST,
            content_type: "application/sparql-query",
            coding: None,
            accept: accept(AnswerFormat::JSON, Some(Form::Ask)),
            body: Sent::Text("ASK {}".to_owned()),
            waiting: Waiting::Open,
        };
        let response = exchange::send(&endpoint, message, stop)?;
        if !response.is_success() {
            return Err(problem::trouble(&endpoint.url(), response));
        }
        let found = response.server();
        deliver::expect_results(&response)?;
        let name = found.map_or_else(String::new, |name| format!(", {name}"));
        Ok(format!("{} answers{name}", endpoint.url()))
    }
}

/// What is asked for: the format itself, and after it those that it can be made of. Not CSV, in
/// which a term has lost its kind, unless it is CSV that is wanted.
fn accept(format: AnswerFormat, form: Option<Form>) -> String {
    use GraphFormat::{JsonLd, NTriples, RdfXml, Turtle};
    let others: &[AnswerFormat] = if form.is_some_and(Form::is_graph) {
        &[NTriples, Turtle, RdfXml, JsonLd].map(AnswerFormat::of_graphs)
    } else {
        &[AnswerFormat::JSON, AnswerFormat::XML, AnswerFormat::TSV]
    };
    let wanted = std::iter::once(format).chain(others.iter().copied().filter(|f| *f != format));
    let types = wanted
        .filter_map(|format| format.media_types().first())
        .enumerate();
    let weighted = types.map(|(rank, media_type)| match rank {
        0 => (*media_type).to_owned(),
        _ => format!("{media_type};q=0.{}", 9 - rank.min(8)),
    });
    weighted.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_accepted() {
        assert_eq!(
            accept(
                AnswerFormat::of_rows(somersault::ResultFormat::Csv),
                Some(Form::Select)
            ),
            "text/csv, application/sparql-results+json;q=0.8, \
             application/sparql-results+xml;q=0.7, text/tab-separated-values;q=0.6"
        );
        assert_eq!(
            accept(AnswerFormat::Table, Some(Form::Construct)),
            "application/n-triples, text/turtle;q=0.8, application/rdf+xml;q=0.7, \
             application/ld+json;q=0.6"
        );
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let origin =
            |url: &str| Endpoint::new(url, &[], Duration::from_secs(1)).map(|e| e.origin());
        let first = origin("https://a.example:8443/sparql").expect("a URL");
        assert_eq!(first, "https://a.example:8443");
        for other in [
            "http://a.example:8443/",
            "https://a.example/",
            "https://b.example:8443/",
        ] {
            assert_ne!(origin(other).expect("a URL"), first);
        }
    }

    #[test]
    fn urls_and_headers_are_checked() {
        let new = |url: &str, header: &str| {
            Endpoint::new(url, &[header.to_owned()], Duration::from_secs(1))
        };
        assert!(new("http://e/sparql", "A: b").is_ok());
        for (url, header) in [
            ("ftp://e/", "A: b"),
            ("e/sparql", "A: b"),
            ("http://e/", "no colon"),
            ("http://e/", "A B: c"),
            ("http://e/", "A: b\nC: d"),
        ] {
            let failure = new(url, header).expect_err(url);
            assert_eq!(failure.code, Code::Usage);
        }
    }
}
