//! The name under which a server is asked: `Host`, or the authority of an absolute target (RFC 9112
//! section 3.2).
//!
//! A request of HTTP/1.1 has one `Host`, well formed, or it is a 400: two servers in a row that choose
//! differently among two names are how requests are smuggled.
//!
//! A server that listens on a loopback address serves this machine, and a browser on this machine runs
//! pages of strangers. Such a page reaches the server under its own origin once its name resolves to
//! 127.0.0.1 (DNS rebinding), and may then read every answer. The name gives it away: only `localhost`,
//! loopback addresses, the address bound and the names of `server.hosts` are answered there; others get 421
//! (RFC 9110 sections 7.4 and 15.5.20). A server that listens elsewhere is asked by names that it cannot
//! know, so there `server.hosts` is checked only where it names any. An address as the `Host` is then
//! answered all the same: no name was resolved, so none was rebound.
//!
//! Cost: one look-up of a field and a comparison of some ten bytes a request; an address is parsed only
//! where the name is not `localhost`.

use crate::response::problem::Problem;
use hyper::header::HOST;
use hyper::{HeaderMap, Request, Version};
use std::net::{IpAddr, Ipv6Addr};

/// Refuses a request whose `Host` is missing, doubled, malformed or a stranger's.
pub(crate) fn check<B>(
    request: &Request<B>,
    bound: IpAddr,
    hosts: &[String],
) -> Result<(), Problem> {
    let named = sole(request.headers())?;
    if named.is_none() && request.version() >= Version::HTTP_11 {
        let why = "a request of HTTP/1.1 names the server in a `Host` field";
        return Err(Problem::bad_request(why).closing());
    }
    // An absolute target names the server itself, and then the field does not count.
    let named = match request.uri().host() {
        Some(host) => Some(host),
        None => named,
    };
    match named {
        Some(name) if !is_known(name, bound, hosts) => Err(Problem::misdirected(name)),
        _ => Ok(()),
    }
}

/// The name of the only `Host` there is, without its port.
fn sole(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut fields = headers.get_all(HOST).iter();
    let Some(field) = fields.next() else {
        return Ok(None);
    };
    if fields.next().is_some() {
        let why = "a request has one `Host` field, not several";
        return Err(Problem::bad_request(why).closing());
    }
    let name = field.to_str().ok().and_then(name);
    let malformed =
        || Problem::bad_request("`Host` is not of the form NAME or NAME:PORT").closing();
    name.map(Some).ok_or_else(malformed)
}

/// The name within `NAME[:PORT]` (RFC 3986 section 3.2, without user information); `None` where it is
/// malformed, or empty, which an `http` address may not be (RFC 9110 section 4.2.1).
pub(crate) fn name(host: &str) -> Option<&str> {
    let (name, port) = if let Some(rest) = host.strip_prefix('[') {
        let (address, after) = rest.split_once(']')?;
        address.parse::<Ipv6Addr>().ok()?;
        (&host[..address.len() + 2], after)
    } else {
        let end = host.find(':').unwrap_or(host.len());
        let (name, after) = host.split_at(end);
        (!name.is_empty() && name.bytes().all(is_of_a_name)).then_some(())?;
        (name, after)
    };
    match port.strip_prefix(':') {
        None if port.is_empty() => Some(name),
        Some("") => Some(name),
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            port.parse::<u16>().is_ok().then_some(name)
        }
        _ => None,
    }
}

/// Unreserved characters, sub-delimiters and `%`.
fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%".contains(&byte)
}

/// Whether a server with this address is asked under this name.
fn is_known(name: &str, bound: IpAddr, hosts: &[String]) -> bool {
    if !bound.to_canonical().is_loopback() && hosts.is_empty() {
        return true;
    }
    if is_here(name, bound) {
        return true;
    }
    // `example.` is `example`, said in full.
    let plain = name.strip_suffix('.').unwrap_or(name);
    hosts.iter().any(|host| host.eq_ignore_ascii_case(plain))
        || (!bound.to_canonical().is_loopback() && address(name).is_some())
}

/// Whether a name is this machine's: `localhost`, a loopback address, or the one bound.
pub(crate) fn is_here(name: &str, bound: IpAddr) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || address(name)
            .is_some_and(|address| address.is_loopback() || address == bound.to_canonical())
}

fn address(name: &str) -> Option<IpAddr> {
    let bare = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address: IpAddr = bare.unwrap_or(name).parse().ok()?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: &str = "127.0.0.1";

    fn is_known(host: &str, bound: &str, hosts: &[&str]) -> bool {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        super::is_known(name(host).unwrap(), bound.parse().unwrap(), &hosts)
    }

    #[test]
    fn names_and_ports() {
        let table = [
            ("localhost", Some("localhost")),
            ("localhost:7272", Some("localhost")),
            ("kg.example:", Some("kg.example")),
            ("127.0.0.1:80", Some("127.0.0.1")),
            ("[::1]:80", Some("[::1]")),
            ("[::1]", Some("[::1]")),
            ("a%20b", Some("a%20b")),
            ("", None),
            (":80", None),
            ("localhost:port", None),
            ("localhost:65536", None),
            ("localhost:1:2", None),
            ("::1", None),
            ("[::1", None),
            ("[::1]80", None),
            ("[localhost]", None),
            ("user@localhost", None),
            ("localhost/sparql", None),
            ("local host", None),
            ("localhost, localhost", None),
        ];
        for (host, expected) in table {
            assert_eq!(name(host), expected, "{host}");
        }
    }

    #[test]
    fn a_server_of_this_machine_is_asked_by_names_of_this_machine() {
        for ours in [
            "localhost",
            "LocalHost:7272",
            "127.0.0.1:1",
            "127.8.8.8",
            "[::1]:7272",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_known(ours, LOOPBACK, &[]), "{ours}");
        }
        for foreign in [
            "evil.example",
            "localhost.evil.example:7272",
            "192.0.2.8",
            "[::2]:1",
            "127.0.0.1.evil.example",
        ] {
            assert!(!is_known(foreign, LOOPBACK, &[]), "{foreign}");
            assert!(!is_known(foreign, "::1", &["kg.example"]), "{foreign}");
        }
        assert!(is_known("KG.example:443", LOOPBACK, &["kg.example"]));
        assert!(is_known("kg.example.", LOOPBACK, &["kg.example"]));
        assert!(!is_known("a.kg.example", LOOPBACK, &["kg.example"]));
    }

    #[test]
    fn a_server_of_others_is_asked_by_any_name_unless_it_is_told_its_own() {
        for bound in ["0.0.0.0", "::", "192.0.2.7"] {
            assert!(is_known("whatever.example", bound, &[]));
            assert!(!is_known("whatever.example", bound, &["kg.example"]));
            for ours in ["kg.example", "192.0.2.9:80", "[2001:db8::1]", "localhost"] {
                assert!(is_known(ours, bound, &["kg.example"]), "{ours}");
            }
        }
    }
}
