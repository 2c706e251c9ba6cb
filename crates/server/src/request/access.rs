//! Who may do what: what everybody may, and what bearers of tokens may (RFC 6750).
//!
//! A token is compared with every one there is, each over its whole length, so that the time says
//! nothing of how much of a guess was right. 401 says that a token is missing or unknown, 403 that
//! what is known does not suffice.
//!
//! What everybody may do, a page of a foreign origin may make a browser do: a form can be posted
//! across origins without asking. So a change without a token that carries an `Origin` is refused
//! unless that is this server itself; and where the server listens on this machine only, under a
//! name of this machine, because a foreign name may be made to lead here (DNS rebinding). Tokens
//! are not sent by browsers of their own accord.

use crate::request::host;
use crate::response::problem::Problem;
use axum::http::Extensions;
use hyper::HeaderMap;
use hyper::StatusCode;
use hyper::header::{
    AUTHORIZATION, FORWARDED, HOST, HeaderName, HeaderValue, ORIGIN, WWW_AUTHENTICATE,
};
use somersault::config::{Config, Right, Token};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Rights of a server's clients.
#[derive(Clone, Debug)]
pub struct Access {
    /// What may be done without a token; `None`: nothing.
    pub anonymous: Option<Right>,
    /// Who else may what.
    pub tokens: Vec<Token>,
}

impl Default for Access {
    /// Everybody may read.
    fn default() -> Access {
        Access {
            anonymous: Some(Right::Read),
            tokens: Vec::new(),
        }
    }
}

/// Whose request it is, for whatever clients share fairly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    /// Somebody at an address; of IPv6 the first 64 bits, which are one customer's.
    Address(IpAddr),
    /// A bearer of the token with this place in the configuration.
    Token(usize),
}

/// Whom a request came from, as [`Client::sending`] has told when it came.
pub(crate) fn sender<B>(request: &hyper::Request<B>) -> Client {
    let sender = request.extensions().get::<Client>();
    *sender.expect("every request is told its sender before it is routed")
}

const FORWARDED_FOR: &str = "x-forwarded-for";

impl Client {
    /// Whoever sent a request: the peer, or whom it speaks for, where it is one of our proxies. The last
    /// address that no proxy of ours has written is believed, and nothing before it. `X-Forwarded-For`
    /// counts where it is there, else `Forwarded` (RFC 7239): a proxy writes one of them, and has to take
    /// away the other.
    pub fn sending(peer: Peer, headers: &HeaderMap, proxies: &[IpAddr]) -> Client {
        let mut sender = peer.0.ip().to_canonical();
        if proxies.contains(&sender) {
            let (name, read): (_, fn(&str) -> Option<IpAddr>) =
                if headers.contains_key(FORWARDED_FOR) {
                    (HeaderName::from_static(FORWARDED_FOR), |named| {
                        named.trim().parse().ok()
                    })
                } else {
                    (FORWARDED, forwarded_for)
                };
            let lines = headers.get_all(name).iter().rev();
            let lines = lines.filter_map(|line| line.to_str().ok());
            for named in lines.flat_map(|line| line.rsplit(',')) {
                let Some(address) = read(named).filter(|_| proxies.contains(&sender)) else {
                    break;
                };
                sender = address.to_canonical();
            }
        }
        Client::at(sender)
    }

    /// Whoever has this address.
    pub fn at(address: IpAddr) -> Client {
        Client::Address(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = address.to_bits() & !u128::from(u64::MAX);
                IpAddr::V6(Ipv6Addr::from_bits(network))
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// The address of `for=` in an element of `Forwarded`; `None` for a name that hides it. A comma or a
/// semicolon within quotes cuts the element; what is left is no address then.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let mut pairs = element.split(';').filter_map(|pair| pair.split_once('='));
    let (_, node) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    let node = node.trim().trim_matches('"');
    let address = match node.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => node.split(':').next()?,
    };
    address.parse().ok()
}

/// What the sender of a request may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Granted {
    right: Option<Right>,
    /// The place of its token in the configuration.
    token: Option<usize>,
    /// Tokens would help.
    has_tokens: bool,
    /// A browser sent it for a page of somebody else.
    is_foreign: bool,
}

impl Access {
    /// As configured.
    pub fn from_config(config: &Config) -> Access {
        Access {
            anonymous: config.anonymous,
            tokens: config.tokens.clone(),
        }
    }

    /// Whether somebody may change the graph.
    pub(crate) fn has_writers(&self) -> bool {
        let rights = self.tokens.iter().map(|token| Some(token.right));
        rights
            .chain([self.anonymous])
            .any(|right| right >= Some(Right::Write))
    }

    /// What a request with these fields may do; 401 where it has a token that nobody knows.
    pub(crate) fn grant(
        &self,
        headers: &HeaderMap,
        address: SocketAddr,
    ) -> Result<Granted, Problem> {
        let granted = Granted {
            right: self.anonymous,
            token: None,
            has_tokens: !self.tokens.is_empty(),
            is_foreign: is_foreign(headers, address),
        };
        let mut named = headers.get_all(AUTHORIZATION).iter();
        let (Some(named), true) = (named.next(), granted.has_tokens) else {
            return Ok(granted);
        };
        let presented = bearer(named.as_bytes());
        let mut found = None;
        for (place, token) in self.tokens.iter().enumerate() {
            let is_it = presented.is_some_and(|given| same(given, token.secret.as_bytes()));
            found = found.max(is_it.then_some((token.right, place)));
        }
        match found {
            Some((right, place)) => Ok(Granted {
                right: Some(right).max(self.anonymous),
                token: Some(place),
                ..granted
            }),
            None => Err(unauthorised(
                "the token is not one that is known here",
                "Bearer realm=\"somersault\", error=\"invalid_token\"",
            )),
        }
    }
}

impl Granted {
    /// Whether this may be done.
    pub fn has(self, right: Right) -> bool {
        self.right >= Some(right)
            && (right == Right::Read || self.token.is_some() || !self.is_foreign)
    }

    /// Whose request it is, sent from the address of `sender`.
    pub fn client(self, sender: Client) -> Client {
        self.token.map_or(sender, Client::Token)
    }

    /// Whether no browser says that it speaks for a page of somebody else.
    pub fn is_from_here(self) -> bool {
        !self.is_foreign
    }

    /// An error where a browser would let a page of somebody else read what no rule of its own keeps from it, and nobody said
    /// that it may (`is_shared`).
    pub fn need_here(self, is_shared: bool) -> Result<(), Problem> {
        if self.is_from_here() || self.token.is_some() || is_shared {
            return Ok(());
        }
        let why = "a WebSocket without a token is not for pages of other origins";
        Err(Problem::forbidden(why))
    }

    /// An error where this may not be done.
    pub fn need(self, right: Right) -> Result<(), Problem> {
        if self.has(right) {
            return Ok(());
        }
        let what = match right {
            Right::Read => "reading",
            Right::Write => "changing the graph",
            Right::Admin => "upkeep",
        };
        if self.token.is_some() {
            let value = "Bearer realm=\"somersault\", error=\"insufficient_scope\"";
            let problem = Problem::forbidden(format!("{what} is beyond the right of this token"));
            return Err(problem.with_header(WWW_AUTHENTICATE, HeaderValue::from_static(value)));
        }
        if self.right >= Some(right) {
            let why = format!("{what} without a token is not for pages of other origins");
            return Err(Problem::forbidden(why));
        }
        if self.has_tokens {
            let detail = format!("{what} needs a token: `Authorization: Bearer ...`");
            return Err(unauthorised(&detail, "Bearer realm=\"somersault\""));
        }
        Err(Problem::forbidden(format!("{what} is not allowed here"))
            .with_hint("a node of a cluster takes no changes yet; any other server is started with --allow-update, or with auth.tokens configured"))
    }
}

fn unauthorised(detail: &str, challenge: &'static str) -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "unauthorised",
        "Who are you?",
        detail.to_owned(),
    )
    .with_header(WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
}

/// The token of an `Authorization` field.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"bearer ";
    let (scheme, rest) = value.split_at_checked(SCHEME.len())?;
    let token = rest.trim_ascii();
    (scheme.eq_ignore_ascii_case(SCHEME) && !token.is_empty()).then_some(token)
}

/// Compares without saying, by the time it takes, where two texts differ.
fn same(given: &[u8], known: &[u8]) -> bool {
    let mut difference = given.len() ^ known.len();
    for (place, byte) in known.iter().enumerate() {
        let other = given.get(place).copied().unwrap_or(0);
        difference |= usize::from(byte ^ other);
    }
    std::hint::black_box(difference) == 0
}

/// Whether a browser says that it sends this for a page of somebody else.
fn is_foreign(headers: &HeaderMap, address: SocketAddr) -> bool {
    let Some(origin) = headers.get(ORIGIN) else {
        return false;
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let (Ok(origin), Some(host)) = (origin.to_str(), host) else {
        return true;
    };
    let is_ours = ["http://", "https://"].iter().any(|scheme| {
        let name = origin.strip_prefix(scheme);
        name.is_some_and(|name| name.eq_ignore_ascii_case(host))
    });
    let is_here = |name| host::is_here(name, address.ip());
    !(is_ours && (!address.ip().is_loopback() || host::name(host).is_some_and(is_here)))
}

/// The address at the other end of a request's connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub SocketAddr);

impl Peer {
    /// The port of a request's connection: 0 where the request came by none.
    pub fn port(of: &Extensions) -> u16 {
        of.get::<Peer>().map_or(0, |peer| peer.0.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READER: &str = "reader-reader-reader";
    const WRITER: &str = "writer-writer-writer";

    fn access(anonymous: Option<Right>) -> Access {
        let token = |right, secret: &str| Token {
            right,
            secret: secret.to_owned(),
        };
        Access {
            anonymous,
            tokens: vec![token(Right::Read, READER), token(Right::Write, WRITER)],
        }
    }

    fn granted(access: &Access, fields: &[(&'static str, &str)]) -> Result<Granted, Problem> {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        access.grant(&headers, "127.0.0.1:7272".parse().unwrap())
    }

    fn status(problem: Problem) -> u16 {
        problem.into_response().status().as_u16()
    }

    #[test]
    fn rights_by_token() {
        let access = access(None);
        let nobody = granted(&access, &[]).unwrap();
        assert_eq!(status(nobody.need(Right::Read).unwrap_err()), 401);
        let reader = format!("bearer  {READER}");
        let reader = granted(&access, &[("authorization", &reader)]).unwrap();
        assert!(reader.need(Right::Read).is_ok());
        assert_eq!(status(reader.need(Right::Write).unwrap_err()), 403);
        let writer = format!("Bearer {WRITER}");
        let foreign = [("authorization", &*writer), ("origin", "http://evil")];
        assert!(granted(&access, &foreign).unwrap().has(Right::Write));
        for wrong in [
            "Bearer reader-reader-reade",
            "Bearer ",
            "Basic eDp5",
            "Bearer x",
        ] {
            let problem = granted(&access, &[("authorization", wrong)]).unwrap_err();
            assert_eq!(status(problem), 401, "{wrong}");
        }
    }

    #[test]
    fn pages_of_others_change_nothing() {
        let open = Access {
            anonymous: Some(Right::Write),
            tokens: Vec::new(),
        };
        let may = |origin: Option<&str>, host: &str| {
            let mut fields = vec![("host", host)];
            fields.extend(origin.map(|origin| ("origin", origin)));
            let granted = granted(&open, &fields).unwrap();
            assert!(granted.has(Right::Read));
            granted.has(Right::Write)
        };
        assert!(may(None, "localhost:7272"));
        assert!(may(None, "whatever.example"));
        assert!(may(Some("http://localhost:7272"), "localhost:7272"));
        assert!(!may(Some("http://evil.example"), "localhost:7272"));
        assert!(!may(Some("null"), "localhost:7272"));
        assert!(!may(Some("http://evil.example:7272"), "evil.example:7272"));
    }

    #[test]
    fn comparison() {
        assert!(same(b"abc", b"abc"));
        for (given, known) in [("ab", "abc"), ("abcd", "abc"), ("abx", "abc"), ("", "abc")] {
            assert!(!same(given.as_bytes(), known.as_bytes()), "{given} {known}");
        }
    }

    #[test]
    fn whoever_speaks_for_others_is_believed_where_it_is_a_proxy_of_ours() {
        let ours: IpAddr = "10.0.0.1".parse().unwrap();
        let sending = |peer: &str, lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(FORWARDED_FOR, HeaderValue::from_static(line));
            }
            Client::sending(Peer(peer.parse().unwrap()), &headers, &[ours])
        };
        let at = |address: &str| Client::at(address.parse().unwrap());
        assert_eq!(sending("10.0.0.1:5", &["192.0.2.1"]), at("192.0.2.1"));
        assert_eq!(
            sending("[::ffff:10.0.0.1]:5", &["192.0.2.1"]),
            at("192.0.2.1")
        );
        // What a client writes in front of itself is nobody's word.
        assert_eq!(
            sending("10.0.0.1:5", &["192.0.2.9, 192.0.2.1"]),
            at("192.0.2.1")
        );
        assert_eq!(
            sending("10.0.0.1:5", &["192.0.2.1", "10.0.0.1"]),
            at("192.0.2.1")
        );
        assert_eq!(sending("10.0.0.2:5", &["192.0.2.1"]), at("10.0.0.2"));
        assert_eq!(sending("10.0.0.1:5", &["unknown"]), at("10.0.0.1"));
        assert_eq!(sending("10.0.0.1:5", &[]), at("10.0.0.1"));
        let forwarded = |peer: &str, lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(FORWARDED, HeaderValue::from_static(line));
            }
            Client::sending(Peer(peer.parse().unwrap()), &headers, &[ours])
        };
        let table: [(&[&'static str], &str); 7] = [
            (&["for=192.0.2.1;proto=http;by=10.0.0.1"], "192.0.2.1"),
            (&["For=\"[2001:db8::7]:4711\""], "2001:db8::7"),
            (&["for=192.0.2.9, for=\"192.0.2.1:80\""], "192.0.2.1"),
            (
                &["for=192.0.2.9", "for=192.0.2.1, for=10.0.0.1"],
                "192.0.2.1",
            ),
            (&["for=_hidden"], "10.0.0.1"),
            (&["for=unknown;by=192.0.2.1"], "10.0.0.1"),
            (&["192.0.2.1"], "10.0.0.1"),
        ];
        for (lines, expected) in table {
            assert_eq!(forwarded("10.0.0.1:5", lines), at(expected), "{lines:?}");
            assert_eq!(forwarded("10.0.0.2:5", lines), at("10.0.0.2"), "{lines:?}");
        }
        let mut both = HeaderMap::new();
        both.insert(FORWARDED_FOR, HeaderValue::from_static("192.0.2.1"));
        both.insert(FORWARDED, HeaderValue::from_static("for=192.0.2.2"));
        let peer = Peer("10.0.0.1:5".parse().unwrap());
        assert_eq!(Client::sending(peer, &both, &[ours]), at("192.0.2.1"));
        assert_eq!(at("2001:db8::1"), at("2001:db8::2:3"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
    }
}
