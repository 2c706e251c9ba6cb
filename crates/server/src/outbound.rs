//! Calls to other endpoints for `SERVICE` and for documents of `LOAD`, and the rules that keep them
//! from going anywhere else.
//!
//! A query is text from a stranger, and `SERVICE <http://10.0.0.1/...>` would make this server look
//! into its own network for him. So: nothing is called unless a configured prefix allows it; an
//! address that a name resolves to is refused when it is private, loopback or link-local, unless the
//! prefix names the address itself, or `localhost`; a redirect is followed only to where the list
//! allows it, at most [`REDIRECTS_MAX`] times. Host and port are compared whole, so
//! `https://good.example/a` does not allow `https://good.example.evil/a`; a prefix that is a host and
//! no path allows all of that host's paths.
//!
//! The resolved addresses are checked where the connection is made, so a name that resolves anew to
//! something else gains nothing.

pub mod exchange;

use exchange::{Broken, field};
use somersault::output::ResultFormat;
use somersault::stop::StopToken;
use somersault::terms::format::Format;
use somersault::{Document, ServiceClient, ServiceError};
use std::fmt;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use ureq::config::Config;
use ureq::http::{Response, StatusCode, Uri, header};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    ConnectionDetails, Connector, DefaultConnector, NextTimeout, Transport,
};
use ureq::{Agent, Body};

/// Longest time to look up a name, and to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Redirects that are followed.
pub const REDIRECTS_MAX: usize = 5;

/// What is asked of a document: what says most of itself first.
const ACCEPT_DOCUMENT: &str = "text/turtle, application/n-triples, application/n-quads, \
    application/trig, application/rdf+xml;q=0.9, application/ld+json;q=0.8, */*;q=0.1";
/// Types that servers send when they do not know better.
const VAGUE: [&str; 4] = [
    "",
    "text/plain",
    "application/octet-stream",
    "binary/octet-stream",
];

/// What is asked for: our own preference.
const ACCEPT: &str = "application/sparql-results+json, application/sparql-results+xml;q=0.9, \
    text/tab-separated-values;q=0.8";

/// What may be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList {
    prefixes: Vec<Prefix>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Prefix {
    /// As it is compared: scheme, host and port in normal form, then the path.
    text: String,
    host: String,
}

/// Why a prefix cannot be allowed.
#[derive(Debug, thiserror::Error)]
#[error("`{prefix}` is no prefix of addresses: {reason}")]
pub struct BadPrefix {
    prefix: String,
    reason: &'static str,
}

impl AllowList {
    /// These prefixes, each `http` or `https` with a host; without a path they are all of the host's.
    pub fn new<'p>(prefixes: impl IntoIterator<Item = &'p str>) -> Result<AllowList, BadPrefix> {
        let prefixes = prefixes.into_iter().map(|prefix| {
            let bad = |reason| BadPrefix {
                prefix: prefix.to_owned(),
                reason,
            };
            let address =
                normal(prefix).ok_or_else(|| bad("expected http:// or https:// with a host"))?;
            let path = match &*address.path {
                "" => "/",
                path => path,
            };
            Ok(Prefix {
                text: format!("{}{path}", address.authority),
                host: address.host,
            })
        });
        Ok(AllowList {
            prefixes: prefixes.collect::<Result<_, _>>()?,
        })
    }

    /// Whether nothing is allowed.
    pub fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }

    fn allows(&self, uri: &str) -> bool {
        let Some(address) = normal(uri) else {
            return false;
        };
        // A path that climbs is compared as if it did not, by servers that are not us.
        if address.path.contains("/..") || address.path.contains("/.%2e") {
            return false;
        }
        let path = if address.path.is_empty() {
            "/"
        } else {
            &address.path
        };
        let text = format!("{}{path}", address.authority);
        self.prefixes
            .iter()
            .any(|prefix| text.starts_with(&prefix.text))
    }

    /// Whether a prefix names this host.
    fn names(&self, host: &str) -> bool {
        self.prefixes
            .iter()
            .any(|prefix| prefix.host.eq_ignore_ascii_case(host))
    }
}

struct Address {
    /// Scheme, host in lower case, and port.
    authority: String,
    host: String,
    /// With the query part.
    path: String,
}

/// An address with its defaults filled in; `None` where it is none of HTTP, or has a user in it.
fn normal(text: &str) -> Option<Address> {
    let uri: Uri = text.parse().ok()?;
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    let port = match scheme.as_str() {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let authority = uri.authority()?;
    if authority.as_str().contains('@') {
        return None;
    }
    let host = authority.host().to_ascii_lowercase();
    if host.is_empty() {
        return None;
    }
    let port = authority.port_u16().unwrap_or(port);
    let after = text.split_once("://")?.1;
    let path = after.find('/').map_or("", |at| &after[at..]);
    Some(Address {
        authority: format!("{scheme}://{host}:{port}"),
        host: host.trim_matches(['[', ']']).to_owned(),
        path: path.split('#').next().unwrap_or_default().to_owned(),
    })
}

/// Calls endpoints over HTTP.
pub struct HttpServices {
    allowed: Arc<AllowList>,
    config: Config,
    connector: Shared,
}

impl fmt::Debug for HttpServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServices")
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

impl HttpServices {
    /// Calls what the list allows.
    pub fn new(allowed: AllowList) -> HttpServices {
        let config = exchange::config()
            .proxy(None)
            .timeout_resolve(Some(CONNECT_TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .build();
        HttpServices {
            allowed: Arc::new(allowed),
            config,
            connector: Shared(Arc::default()),
        }
    }

    /// An agent for one call, which can be shut down without ending others.
    fn agent(&self) -> Agent {
        let resolver = Guarded {
            allowed: Arc::clone(&self.allowed),
            inner: DefaultResolver::default(),
        };
        Agent::with_parts(self.config.clone(), self.connector.clone(), resolver)
    }
}

/// A connector that agents share, with what it knows of TLS.
#[derive(Clone, Debug)]
struct Shared(Arc<DefaultConnector>);

impl Connector<()> for Shared {
    type Out = Box<dyn Transport>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<()>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        self.0.connect(details, chained)
    }
}

/// The address that answered, after redirects; among the extensions of a response.
#[derive(Clone)]
struct Answered(String);

/// Sends a query to an endpoint or, without one, asks for a document; follows redirects.
fn ask(
    agent: &Agent,
    allowed: &AllowList,
    endpoint: String,
    query: Option<&str>,
    timeout: Duration,
) -> Result<Response<Body>, ServiceError> {
    let mut address = endpoint;
    for _ in 0..=REDIRECTS_MAX {
        if !allowed.allows(&address) {
            return Err(refused(format!(
                "<{address}> is not in the list of allowed prefixes"
            )));
        }
        let response = send(agent, &address, query, timeout);
        let mut response = response.map_err(|error| match error {
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                refused(error.to_string())
            }
            error => failed(error.to_string()),
        })?;
        let status = response.status();
        if !status.is_redirection() {
            response.extensions_mut().insert(Answered(address));
            return Ok(response);
        }
        let location = response.headers().get(header::LOCATION);
        let location = location.and_then(|location| location.to_str().ok());
        // A relative one stays with the host that sent it.
        address = match location {
            Some(location) if location.starts_with('/') && !location.starts_with("//") => {
                let host = normal(&address).map(|address| address.authority);
                format!("{}{location}", host.unwrap_or_default())
            }
            Some(location) => location.to_owned(),
            None => return Err(failed(format!("it answered {status} without a Location"))),
        };
    }
    Err(failed(format!("more than {REDIRECTS_MAX} redirects")))
}

fn send(
    agent: &Agent,
    address: &str,
    query: Option<&str>,
    timeout: Duration,
) -> Result<Response<Body>, ureq::Error> {
    match query {
        Some(query) => agent
            .post(address)
            .config()
            .timeout_global(Some(timeout))
            .build()
            .header(header::ACCEPT, ACCEPT)
            .header(header::CONTENT_TYPE, "application/sparql-query")
            .send(query),
        None => agent
            .get(address)
            .config()
            .timeout_global(Some(timeout))
            .build()
            .header(header::ACCEPT, ACCEPT_DOCUMENT)
            .call(),
    }
}

/// The format of a document: what its sender says, or, where that is vague, what its name ends with.
fn document_format(media_type: &str, address: &str) -> Option<Format> {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let is_vague = VAGUE
        .iter()
        .any(|vague| vague.eq_ignore_ascii_case(essence));
    if !is_vague {
        return Format::from_media_type(essence);
    }
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    Format::from_file_name(name).or_else(|| Format::from_media_type(essence))
}

impl ServiceClient for HttpServices {
    fn select(
        &self,
        endpoint: &str,
        query: &str,
        timeout: Duration,
        stopped: StopToken,
    ) -> Result<(ResultFormat, Box<dyn Read + Send>), ServiceError> {
        let allowed = Arc::clone(&self.allowed);
        let (endpoint, query) = (endpoint.to_owned(), query.to_owned());
        let call = move |agent: &Agent| ask(agent, &allowed, endpoint, Some(&query), timeout);
        let (head, body) = exchange::begin(self.agent(), watching(stopped), call)?;
        if head.status != StatusCode::OK {
            return Err(failed(format!("it answered {}", head.status)));
        }
        let media_type = field(&head.headers, header::CONTENT_TYPE);
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        match ResultFormat::from_media_type(essence) {
            Some(ResultFormat::Csv) | None => Err(failed(format!(
                "its answer is `{media_type}`, not SPARQL results"
            ))),
            Some(format) => Ok((format, Box::new(body))),
        }
    }

    fn document(
        &self,
        source: &str,
        timeout: Duration,
        stopped: StopToken,
    ) -> Result<Document, ServiceError> {
        let allowed = Arc::clone(&self.allowed);
        // What follows a `#` is not sent.
        let address = source.split('#').next().unwrap_or_default().to_owned();
        let call = move |agent: &Agent| ask(agent, &allowed, address, None, timeout);
        let (head, body) = exchange::begin(self.agent(), watching(stopped), call)?;
        if head.status != StatusCode::OK {
            return Err(failed(format!("<{source}> answered {}", head.status)));
        }
        let coding = field(&head.headers, header::CONTENT_ENCODING);
        if !(coding.is_empty() || coding == "identity") {
            return Err(failed(format!("<{source}> came as `{coding}`, unasked")));
        }
        let answered = head.extensions.get::<Answered>();
        let base = answered.map_or_else(|| source.to_owned(), |answered| answered.0.clone());
        let media_type = field(&head.headers, header::CONTENT_TYPE);
        let format = document_format(media_type, &base).ok_or_else(|| {
            failed(format!(
                "<{source}> is `{media_type}`, no format of RDF that is known"
            ))
        })?;
        Ok(Document {
            format,
            base,
            body: Box::new(body),
        })
    }
}

/// Whether a query has ended, for a call that it waits for.
fn watching(stopped: StopToken) -> exchange::IsStopped {
    Box::new(move || stopped.reason().is_some())
}

impl From<Broken> for ServiceError {
    fn from(broken: Broken) -> ServiceError {
        failed(broken.to_string())
    }
}

fn refused(message: String) -> ServiceError {
    ServiceError {
        message,
        refused: true,
    }
}

fn failed(message: String) -> ServiceError {
    ServiceError {
        message,
        refused: false,
    }
}

/// Resolves names, and leaves out the addresses that must not be called.
#[derive(Debug)]
struct Guarded {
    allowed: Arc<AllowList>,
    inner: DefaultResolver,
}

impl Resolver for Guarded {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let resolved = self.inner.resolve(uri, config, timeout)?;
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let is_explicit = host.parse::<IpAddr>().is_ok() || host.eq_ignore_ascii_case("localhost");
        if is_explicit && self.allowed.names(host) {
            // The list names the address itself.
            return Ok(resolved);
        }
        if let Some(private) = resolved.iter().find(|address| is_private(address)) {
            let why = format!("`{host}` is at the private address {}", private.ip());
            let error = io::Error::new(io::ErrorKind::PermissionDenied, why);
            return Err(ureq::Error::Io(error));
        }
        Ok(resolved)
    }
}

/// Whether an address is one of a private network, of this machine, or of none.
fn is_private(address: &SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => is_private_v4(ip),
        IpAddr::V6(ip) => is_private_v6(ip),
    }
}

fn is_private_v4(ip: Ipv4Addr) -> bool {
    let [a, b, ..] = ip.octets();
    ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_unspecified()
        || ip.is_broadcast()
        || ip.is_multicast()
        || ip.is_documentation()
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0)
        || (a == 198 && (b == 18 || b == 19))
        || a >= 240
}

fn is_private_v6(ip: Ipv6Addr) -> bool {
    // What embeds an IPv4 address is judged by that (RFC 4291, 6052, 3056).
    if let Some(embedded) = ip.to_ipv4_mapped() {
        return is_private_v4(embedded);
    }
    let segments = ip.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_private_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
        [0, 0, 0, 0, 0, 0, ..] => true,
        _ => {
            ip.is_loopback()
                || ip.is_unspecified()
                || ip.is_multicast()
                || ip.is_unique_local()
                || ip.is_unicast_link_local()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Instant;

    #[test]
    fn prefixes_allow_what_begins_with_them() {
        let list = AllowList::new(["https://Good.example/sparql", "http://db.example:8080/"]);
        let list = list.unwrap();
        for allowed in [
            "https://good.example/sparql",
            "https://good.example:443/sparql?x=1",
            "http://db.example:8080/a/b",
            "http://db.example:8080",
        ] {
            assert!(list.allows(allowed), "{allowed}");
        }
        for refused in [
            "http://good.example/sparql",
            "https://good.example.evil/sparql",
            "https://good.example@evil/sparql",
            "https://good.example/",
            "http://db.example/",
            "http://db.example:8080/a/../b",
            "ftp://db.example:8080/",
            "file:///etc/passwd",
            "",
        ] {
            assert!(!list.allows(refused), "{refused}");
        }
        for bad in ["good.example", "https://", "ftp://x/"] {
            assert!(AllowList::new([bad]).is_err(), "{bad}");
        }
        let origin = AllowList::new(["http://db.example:8080"]).unwrap();
        assert!(
            origin.allows("http://db.example:8080/a") && origin.allows("http://db.example:8080")
        );
        assert!(!origin.allows("http://db.example:80801/") && !origin.allows("http://db.example/"));
    }

    /// Answers every connection with these bytes, and keeps it open.
    fn listener(bytes: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.write_all(bytes).unwrap();
                open.push(stream);
            }
        });
        address
    }

    fn asked(address: &str, timeout: Duration, stopped: StopToken) -> Result<String, String> {
        let services = HttpServices::new(AllowList::new([address]).unwrap());
        let (_, mut body) = services
            .select(address, "SELECT * {}", timeout, stopped)
            .map_err(|error| error.to_string())?;
        let mut text = String::new();
        body.read_to_string(&mut text)
            .map_err(|error| error.to_string())?;
        Ok(text)
    }

    #[test]
    fn a_call_ends_with_its_query_wherever_it_hangs() {
        let silent = listener(b"");
        let headless = listener(b"HTTP/1.1 200 OK\r\nContent-Type: ");
        let broken = listener(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/sparql-results+json\r\n\
              Content-Length: 1000\r\n\r\n{\"head\":",
        );
        for address in [silent, headless, broken] {
            let token = StopToken::starting_now(None);
            let stopped = token.clone();
            let call = std::thread::spawn(move || {
                asked(&address, Duration::from_mins(1), stopped).unwrap_err()
            });
            std::thread::sleep(Duration::from_millis(200));
            assert!(!call.is_finished(), "it waits");
            token.cancel();
            let cancelled = Instant::now();
            assert_eq!(call.join().unwrap(), "the query has ended");
            assert!(cancelled.elapsed() < Duration::from_secs(20));
        }
    }

    #[test]
    fn a_call_keeps_to_its_time_and_gives_what_it_was_given() {
        let silent = listener(b"");
        let token = StopToken::starting_now(None);
        let error = asked(&silent, Duration::from_millis(200), token.clone()).unwrap_err();
        assert!(error.contains("timeout"), "{error}");
        let whole = listener(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/sparql-results+json\r\n\
              Content-Length: 2\r\n\r\n{}",
        );
        assert_eq!(asked(&whole, Duration::from_mins(1), token).unwrap(), "{}");
    }

    /// Nothing speaks TLS there: that this is what it fails with shows that somebody tried to.
    #[test]
    fn there_is_a_provider_of_tls() {
        let address = listener(b"no TLS at all").replace("http:", "https:");
        let token = StopToken::starting_now(None);
        let error = asked(&address, Duration::from_secs(10), token).unwrap_err();
        assert!(!error.contains("without an answer"), "{error}");
    }

    #[test]
    fn formats_of_documents() {
        let address = "https://e/data/x.ttl?y=.nt#z.rdf";
        let table = [
            ("application/rdf+xml; charset=utf-8", Some(Format::RdfXml)),
            ("text/turtle", Some(Format::Turtle)),
            ("text/plain; charset=utf-8", Some(Format::Turtle)),
            ("", Some(Format::Turtle)),
            ("application/octet-stream", Some(Format::Turtle)),
            ("text/html", None),
        ];
        for (media_type, expected) in table {
            assert_eq!(
                document_format(media_type, address),
                expected,
                "{media_type}"
            );
        }
        assert_eq!(
            document_format("text/plain", "https://e/x"),
            Some(Format::NTriples)
        );
        assert_eq!(document_format("", "https://e/x"), None);
    }

    #[test]
    fn private_addresses() {
        for ip in [
            "10.0.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "192.168.1.1",
            "172.16.0.1",
            "0.0.0.0",
            "100.64.0.1",
            "::1",
            "fc00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
        ] {
            assert!(
                is_private(&SocketAddr::new(ip.parse().unwrap(), 80)),
                "{ip}"
            );
        }
        for ip in ["1.1.1.1", "93.184.216.34", "2606:4700::1111"] {
            assert!(
                !is_private(&SocketAddr::new(ip.parse().unwrap(), 80)),
                "{ip}"
            );
        }
    }
}
