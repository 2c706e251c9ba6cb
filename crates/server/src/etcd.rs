//! A client of etcd: what a node has to ask of it, over its JSON gateway (etcd 3.4 and later, paths under `/v3/`).
//!
//! Keys and values are base64 in that JSON, and 64-bit numbers are texts. Several endpoints are members of one etcd: a request goes to
//! the one that answered last, then to each of the others once. Nothing is waited for longer than [`REQUEST_TIMEOUT`] an endpoint.

use crate::outbound::exchange;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::time::Duration;
use ureq::Agent;
use ureq::http::{StatusCode, Uri};

/// Longest time of a request to one endpoint.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// Largest answer that is read (bytes): that of some hundred nodes takes less.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// What is no address of an etcd.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is no address of an etcd: expected http:// or https:// with a host, as in http://10.0.0.1:2379"
)]
pub struct BadEtcd(String);

/// Why etcd did not do what was asked: what each endpoint said, or the system of it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct EtcdError(String);

/// A lease: what is put under it goes when nobody keeps it alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease(i64);

/// A key with its value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub key: String,
    pub value: Vec<u8>,
    /// The number of the change that made it what it is.
    pub revision: i64,
    /// Under which lease it is.
    pub lease: Lease,
}

/// See the module's documentation.
pub struct Etcd {
    agent: Agent,
    endpoints: Vec<String>,
    /// Which of them is asked first.
    first: usize,
}

impl Etcd {
    /// The etcd with these endpoints; nobody is asked yet.
    ///
    /// # Errors
    /// One is no address of HTTP, or there is none.
    pub fn new(endpoints: &[String]) -> Result<Etcd, BadEtcd> {
        let is_one = |endpoint: &String| {
            let uri = endpoint.parse::<Uri>();
            uri.is_ok_and(|uri| {
                matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()
            })
        };
        if endpoints.is_empty() {
            return Err(BadEtcd(String::new()));
        }
        if let Some(bad) = endpoints.iter().find(|it| !is_one(it)) {
            return Err(BadEtcd(bad.clone()));
        }
        let endpoints = endpoints
            .iter()
            .map(|it| it.trim_end_matches('/').to_owned());
        let config = exchange::config().timeout_global(Some(REQUEST_TIMEOUT));
        Ok(Etcd {
            agent: Agent::new_with_config(config.build()),
            endpoints: endpoints.collect(),
            first: 0,
        })
    }

    /// A lease that ends when it was not kept alive for so long.
    pub(crate) fn grant(&mut self, lasts: Duration) -> Result<Lease, EtcdError> {
        let answer = self.ask(
            "lease/grant",
            &json!({ "TTL": lasts.as_secs().to_string() }),
        )?;
        self.number(&answer, "ID").map(Lease)
    }

    /// Keeps a lease alive; false: it has ended.
    pub(crate) fn keep_alive(&mut self, lease: Lease) -> Result<bool, EtcdError> {
        let answer = self.ask("lease/keepalive", &json!({ "ID": lease.0.to_string() }))?;
        // A lease that has ended has no time to live, and zero is left out.
        Ok(self.number(&answer["result"], "TTL")? > 0)
    }

    /// Ends a lease, with all that is under it.
    pub(crate) fn revoke(&mut self, lease: Lease) -> Result<(), EtcdError> {
        self.ask("lease/revoke", &json!({ "ID": lease.0.to_string() }))
            .map(drop)
    }

    /// All entries whose keys begin so, by key.
    pub(crate) fn under(&mut self, prefix: &str) -> Result<Vec<Entry>, EtcdError> {
        let mut end = prefix.as_bytes().to_vec();
        // The last byte of UTF-8 is below 0xff, so there is a next one.
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        let range = json!({ "key": STANDARD.encode(prefix), "range_end": STANDARD.encode(end) });
        let answer = self.ask("kv/range", &range)?;
        let entries = answer["kvs"].as_array().map_or(&[][..], Vec::as_slice);
        entries.iter().map(|it| self.entry(it)).collect()
    }

    /// Puts a value under a lease if the key is still as of this revision (0: not there); false: it is not.
    pub(crate) fn put_if(
        &mut self,
        key: &str,
        value: &[u8],
        lease: Lease,
        revision: i64,
    ) -> Result<bool, EtcdError> {
        let key = STANDARD.encode(key);
        let compare = json!({
            "key": key, "target": "MOD", "result": "EQUAL", "mod_revision": revision.to_string(),
        });
        let put = json!({
            "request_put": { "key": key, "value": STANDARD.encode(value), "lease": lease.0.to_string() },
        });
        let answer = self.ask("kv/txn", &json!({ "compare": [compare], "success": [put] }))?;
        Ok(answer["succeeded"] == true)
    }

    fn entry(&self, of: &Value) -> Result<Entry, EtcdError> {
        let bytes = |name: &str| {
            let text = of[name].as_str().unwrap_or_default();
            STANDARD
                .decode(text)
                .map_err(|error| self.strange(&error.to_string()))
        };
        let key = String::from_utf8(bytes("key")?);
        Ok(Entry {
            key: key.map_err(|error| self.strange(&error.to_string()))?,
            value: bytes("value")?,
            revision: self.number(of, "mod_revision")?,
            lease: Lease(self.number(of, "lease")?),
        })
    }

    /// A 64-bit number, which is a text; zero is left out.
    fn number(&self, of: &Value, name: &str) -> Result<i64, EtcdError> {
        match &of[name] {
            Value::Null => Ok(0),
            Value::String(text) => text
                .parse()
                .map_err(|_| self.strange(&format!("`{name}` is `{text}`"))),
            other => Err(self.strange(&format!("`{name}` is {other}"))),
        }
    }

    /// What came is no answer of an etcd.
    fn strange(&self, what: &str) -> EtcdError {
        let endpoint = &self.endpoints[self.first];
        EtcdError(format!(
            "{endpoint} does not answer as an etcd does: {what}"
        ))
    }

    /// Asks the endpoints, one after the other, until one does it: one that is cut off from the others refuses.
    fn ask(&mut self, path: &str, body: &Value) -> Result<Value, EtcdError> {
        let body = body.to_string();
        let mut causes = Vec::new();
        for _ in 0..self.endpoints.len() {
            match self.exchange(path, &body) {
                Ok(document) => return Ok(document),
                Err(cause) => causes.push(cause.0),
            }
            self.first = (self.first + 1) % self.endpoints.len();
        }
        Err(EtcdError(causes.join("; ")))
    }

    fn exchange(&self, path: &str, body: &str) -> Result<Value, EtcdError> {
        let endpoint = &self.endpoints[self.first];
        let request = self.agent.post(format!("{endpoint}/v3/{path}"));
        let sent = request.content_type("application/json").send(body);
        let mut response = sent.map_err(|error| EtcdError(format!("{endpoint}: {error}")))?;
        let status = response.status();
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let body = body.read_to_string();
        let body = body.map_err(|error| EtcdError(format!("{endpoint}: {error}")))?;
        let document = serde_json::from_str::<Value>(&body).unwrap_or_default();
        if status == StatusCode::OK && document.is_object() {
            return Ok(document);
        }
        match document["error"].as_str() {
            Some(error) => Err(EtcdError(format!("{endpoint} refuses: {error}"))),
            None => Err(self.strange(&format!("{status}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_of_an_etcd_is_refused() {
        for endpoints in [
            &["10.0.0.1:2379"][..],
            &["http://a:1", "ftp://b:1"],
            &["http://"],
            &[],
        ] {
            let endpoints: Vec<String> = endpoints.iter().map(|it| (*it).to_owned()).collect();
            assert!(Etcd::new(&endpoints).is_err(), "{endpoints:?}");
        }
    }

    #[test]
    fn numbers_are_texts_and_zero_is_left_out() {
        let etcd = Etcd::new(&["http://a:1/".to_owned()]).expect("an address");
        let document = json!({ "ID": "7587862072907233543", "is": 7, "word": "x" });
        let number = |name| etcd.number(&document, name);
        assert_eq!(number("ID").expect("a number"), 7_587_862_072_907_233_543);
        assert_eq!(number("TTL").expect("left out"), 0);
        assert!(number("is").is_err() && number("word").is_err());
        let entry = json!({ "key": "L2Ev", "value": "e30=", "mod_revision": "8", "lease": "9" });
        let entry = etcd.entry(&entry).expect("an entry");
        assert_eq!(
            (entry.key.as_str(), entry.value.as_slice()),
            ("/a/", b"{}".as_slice())
        );
        assert_eq!((entry.revision, entry.lease), (8, Lease(9)));
        assert!(etcd.entry(&json!({ "key": "!" })).is_err());
    }
}
