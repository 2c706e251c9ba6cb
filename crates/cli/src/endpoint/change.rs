//! Changes of what an endpoint holds: updates, documents for its graphs, compaction.
//!
//! The address may be the server's, or that of its endpoint: `/update` and `/store` are beside
//! `/sparql` with Somersault, and an address that ends otherwise is taken as it is. Queries follow the same
//! rule: they go to `/sparql` where the address is that of a server.

use super::exchange::{self, Message, Response, Sent, Waiting};
use super::{Endpoint, problem};
use crate::exit::Code;
use crate::source::Changed;
use crate::stop::Stop;
use crate::trouble::Trouble;
use somersault::terms::format::Format;
use std::io::Read;
use ureq::http::{Method, Uri, header};
use ureq::{Agent, SendBody};

/// The media type of an update (SPARQL 1.1 Protocol section 2.2.2).
const UPDATE: &str = "application/sparql-update";
/// As much of an account as is read.
const ACCOUNT_BYTES_MAX: u64 = 64 << 10;

/// A document for a graph.
pub struct Document {
    /// Its format.
    pub format: Format,
    /// How it is compressed, by the name that HTTP has for it.
    pub coding: Option<&'static str>,
    /// It.
    pub body: Box<dyn Read + Send>,
}

impl Endpoint {
    /// Carries out an update.
    pub fn update(&self, text: &str, base: Option<&str>, stop: &Stop) -> Result<Changed, Trouble> {
        let (text, added) = match base {
            Some(base) => (format!("BASE <{base}>\n{text}"), 1),
            None => (text.to_owned(), 0),
        };
        let endpoint = self.updating();
        let message = message(UPDATE, Sent::Text(text));
        let changed = endpoint.change(message, stop);
        changed.map_err(|trouble| trouble.without_lines(added))
    }

    /// Adds a document to a named graph; without one, to the default graph, or to the graphs that the
    /// document names.
    pub fn add(
        &self,
        document: Document,
        graph: Option<&str>,
        stop: &Stop,
    ) -> Result<Changed, Trouble> {
        let mut endpoint = match self.last() {
            "" | "sparql" | "query" | "update" => self.beside("store"),
            _ => self.clone(),
        };
        let query = match graph {
            Some(graph) => Some(format!("graph={}", encoded(graph))),
            None if document.format.has_graphs() => None,
            None => Some("default".to_owned()),
        };
        if let Some(query) = query {
            let separator = if endpoint.url.query().is_some() {
                '&'
            } else {
                '?'
            };
            endpoint = endpoint.at(&format!("{}{separator}{query}", endpoint.place()));
        }
        let message = Message {
            coding: document.coding,
            ..message(
                document.format.media_type(),
                Sent::Stream(Some(document.body)),
            )
        };
        endpoint.change(message, stop)
    }

    /// Has the server write its log into its files.
    pub fn compact(&self, stop: &Stop) -> Result<(), Trouble> {
        let endpoint = self.beside("api/v1/compact");
        let message = message("application/json", Sent::Text(String::new()));
        endpoint.exchanged(message, stop).map(|_| ())
    }

    fn change(&self, message: Message, stop: &Stop) -> Result<Changed, Trouble> {
        let mut response = self.exchanged(message, stop)?;
        let snapshot = response.snapshot();
        let mut account = Vec::new();
        // It was changed, whether or not the account can be read.
        let limited = response.body.by_ref().take(ACCOUNT_BYTES_MAX);
        let _ = { limited }.read_to_end(&mut account);
        let account: serde_json::Value = serde_json::from_slice(&account).unwrap_or_default();
        let number = |name: &str| account.get(name).and_then(serde_json::Value::as_u64);
        Ok(Changed {
            snapshot: number("snapshot").or(snapshot),
            inserted: number("inserted"),
            deleted: number("deleted"),
            ..Changed::default()
        })
    }

    pub(super) fn exchanged(&self, message: Message, stop: &Stop) -> Result<Response, Trouble> {
        let response = exchange::send(self, message, stop)?;
        if response.is_success() {
            return Ok(response);
        }
        Err(problem::trouble(&self.url(), response))
    }

    /// Where queries go.
    pub(super) fn asking(&self) -> Endpoint {
        match self.last() {
            "" => self.beside("sparql"),
            _ => self.clone(),
        }
    }

    /// Where updates go.
    fn updating(&self) -> Endpoint {
        match self.last() {
            "" => self.beside("update"),
            _ => self.clone(),
        }
    }

    /// The last part of the path.
    fn last(&self) -> &str {
        let path = self.url.path().trim_end_matches('/');
        path.rsplit_once('/').map_or("", |(_, last)| last)
    }

    /// Another service of the same server.
    pub(super) fn beside(&self, name: &str) -> Endpoint {
        let path = self.url.path().trim_end_matches('/');
        let folder = match path.rsplit_once('/') {
            Some((folder, "sparql" | "query" | "update" | "store" | "data")) => folder,
            _ => path,
        };
        self.at(&format!("{folder}/{name}"))
    }

    fn place(&self) -> String {
        let place = self.url.path_and_query();
        place.map_or("/", |place| place.as_str()).to_owned()
    }

    fn at(&self, place: &str) -> Endpoint {
        let mut parts = self.url.clone().into_parts();
        parts.path_and_query = place.parse().ok();
        let url = Uri::from_parts(parts).unwrap_or_else(|_| self.url.clone());
        Endpoint {
            url,
            ..self.clone()
        }
    }
}

/// A request that changes something, of which an account comes back.
pub(super) fn message(content_type: &'static str, body: Sent) -> Message {
    Message {
        method: Method::POST,
        content_type,
        coding: None,
        accept: "application/json, */*;q=0.1".to_owned(),
        body,
        waiting: Waiting::Open,
    }
}

/// A text as a part of an address.
pub(super) fn encoded(text: &str) -> String {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// A connection that is kept, for one update after the other, on the thread of whoever measures them: a thread for each
/// exchange would be measured too.
pub struct Connection {
    endpoint: Box<Endpoint>,
    agent: Agent,
}

impl Connection {
    /// A connection, made at the first update.
    pub fn new(endpoint: &Endpoint) -> Connection {
        let endpoint = Box::new(endpoint.updating());
        let agent = exchange::agent(endpoint.timeout);
        Connection { endpoint, agent }
    }

    /// Carries out an update.
    pub fn update(&self, text: &str) -> Result<(), Trouble> {
        let mut request = self.agent.post(&self.endpoint.url);
        request = request.header(header::CONTENT_TYPE, UPDATE);
        for (name, value) in &self.endpoint.headers {
            request = request.header(name, value);
        }
        let url = self.endpoint.url();
        let mut body = text.as_bytes();
        let answered = request.send(SendBody::from_reader(&mut body));
        let mut response = answered.map_err(|error| {
            Trouble::new(Code::Connection, format!("{url}: cannot connect: {error}"))
        })?;
        let said = response.body_mut().read_to_string().unwrap_or_default();
        if response.status().is_success() {
            return Ok(());
        }
        let message = format!("{url}: {}: {said}", response.status());
        Err(Trouble::new(Code::Failed, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn services_are_beside_each_other() {
        let endpoint = |url: &str| Endpoint::new(url, &[], Duration::from_secs(1)).expect("a URL");
        let beside = |url: &str, name: &str| endpoint(url).beside(name).url();
        assert_eq!(beside("http://e:1", "store"), "http://e:1/store");
        assert_eq!(beside("http://e:1/sparql", "store"), "http://e:1/store");
        assert_eq!(
            beside("http://e/a/query", "api/v1/compact"),
            "http://e/a/api/v1/compact"
        );
        let updating = |url: &str| endpoint(url).updating().url();
        let asking = |url: &str| endpoint(url).asking().url();
        assert_eq!(asking("http://e:1"), "http://e:1/sparql");
        assert_eq!(asking("http://e/"), "http://e/sparql");
        assert_eq!(asking("http://e/ds/query"), "http://e/ds/query");
        assert_eq!(updating("http://e/"), "http://e/update");
        assert_eq!(updating("http://e/sparql"), "http://e/sparql");
        assert_eq!(updating("http://e/ds/changes"), "http://e/ds/changes");
        assert_eq!(encoded("http://e/ä?"), "http%3A%2F%2Fe%2F%C3%A4%3F");
    }
}
