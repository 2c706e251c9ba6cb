//! Under which name a server is asked: RFC 9112 section 3.2, and what a browser is made to do.

use super::Served;
use super::client::{self, Answer};
use std::io::{BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};

/// Sends a head as it is, and then a body.
fn raw(served: &Served, head: &str, body: &[u8]) -> Answer {
    let port = served.address.port();
    let mut stream = client::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    client::read(&mut BufReader::new(stream), head.starts_with("HEAD "))
}

fn asked_as(served: &Served, host: &str) -> Answer {
    let head = format!("GET /sparql?query=ask HTTP/1.1\r\nHost: {host}\r\n\r\n");
    raw(served, &head, b"")
}

#[test]
fn a_request_has_one_host_that_is_one() {
    let served = Served::new();
    let bad = [
        "",
        "Host:\r\n",
        "Host: localhost\r\nHost: localhost\r\n",
        "Host: localhost\r\nHost: evil.example\r\n",
        "Host: localhost, evil.example\r\n",
        "Host: localhost:port\r\n",
        "Host: user@localhost\r\n",
        "Host: http://localhost\r\n",
        "Host: loc\u{e4}lhost\r\n",
    ];
    for fields in bad {
        for line in [
            "GET /sparql?query=ask",
            "GET /health/live",
            "PUT /store?default",
        ] {
            let answer = raw(&served, &format!("{line} HTTP/1.1\r\n{fields}\r\n"), b"");
            let problem = answer.problem(400);
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("Host"), "{fields:?}: {detail}");
            assert_eq!(answer.field("connection"), "close");
            assert!(answer.has("query-id") && answer.has("server"));
        }
    }
    // HTTP/1.0 knows no `Host`; where there is one, it counts.
    let old = raw(&served, "GET /sparql?query=ask HTTP/1.0\r\n\r\n", b"");
    assert_eq!(old.status, 200, "{old:?}");
    let old = "GET /sparql?query=ask HTTP/1.0\r\nHost: evil.example\r\n\r\n";
    raw(&served, old, b"").problem(421);
    let old = "GET /sparql?query=ask HTTP/1.0\r\nHost: localhost\r\nHost: localhost\r\n\r\n";
    raw(&served, old, b"").problem(400);
}

#[test]
fn a_server_of_this_machine_is_not_asked_under_the_name_of_another() {
    let served = Served::new();
    for ours in [
        "localhost",
        "LOCALHOST:1",
        "127.0.0.1:7272",
        "127.0.0.2",
        "[::1]:7272",
    ] {
        assert_eq!(asked_as(&served, ours).status, 200, "{ours}");
    }
    for foreign in [
        "evil.example",
        "evil.example:7272",
        "192.0.2.1",
        "localhost.evil.example",
    ] {
        let problem = asked_as(&served, foreign).problem(421);
        assert!(
            problem["detail"]
                .as_str()
                .unwrap()
                .contains(foreign.split(':').next().unwrap())
        );
        assert!(problem["hint"].as_str().unwrap().contains("server.hosts"));
    }
    // The target itself counts before the field, and every address is guarded.
    let absolute = "GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    raw(&served, absolute, b"").problem(421);
    let absolute = "GET http://localhost/metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    assert_eq!(raw(&served, absolute, b"").status, 200);
    // What was sent with it is taken, so that the client reads why.
    let upload = "POST /sparql HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 200000\r\n\r\n";
    raw(&served, upload, &vec![b'x'; 200_000]).problem(421);
}

#[test]
fn further_names_are_configured() {
    let served = Served::with(|options| options.hosts = vec!["kg.example".to_owned()]);
    for ours in ["kg.example", "KG.Example:443", "localhost"] {
        assert_eq!(asked_as(&served, ours).status, 200, "{ours}");
    }
    asked_as(&served, "sub.kg.example").problem(421);
}

#[test]
fn a_server_of_a_network_is_asked_under_any_name() {
    let anywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let served = Served::with(|options| options.bind = anywhere);
    assert_eq!(asked_as(&served, "whatever.example").status, 200);
    raw(&served, "GET / HTTP/1.1\r\n\r\n", b"").problem(400);
    let served = Served::with(|options| {
        options.bind = anywhere;
        options.hosts = vec!["kg.example".to_owned()];
    });
    assert_eq!(asked_as(&served, "kg.example").status, 200);
    assert_eq!(asked_as(&served, "192.0.2.1:7272").status, 200);
    asked_as(&served, "whatever.example").problem(421);
}
