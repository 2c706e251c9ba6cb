//! Everything around the queries.

use super::Served;
use super::client::{self, encoded};
use crate::response::format::offered;
use crate::{Server, ServerOptions};
use somersault::AnswerKind;
use std::collections::HashSet;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

#[test]
fn a_port_in_use_is_said_at_once() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let bind = taken.local_addr().unwrap();
    let error = Server::bind(ServerOptions {
        bind,
        ..ServerOptions::default()
    })
    .unwrap_err();
    assert!(error.is_address_in_use());
    assert!(
        error
            .to_string()
            .starts_with(&format!("cannot listen on {bind}: the port is in use"))
    );
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let served = Served::new();
    let answer = served.get("/");
    assert_eq!(
        (answer.status, answer.field("content-type")),
        (200, "text/html; charset=utf-8")
    );
    let policy = answer.field("content-security-policy");
    for directive in [
        "default-src 'none'",
        "connect-src 'self'",
        "form-action 'none'",
    ] {
        assert!(policy.contains(directive), "{policy}");
    }
    assert!(answer.field("server").starts_with("somersault/"));
    assert_eq!(answer.field("x-content-type-options"), "nosniff");
    let page = answer.text();
    assert!(page.contains("<textarea") && page.contains("<label"));
    for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
    // A token goes with what the page asks, so it asks nobody but this server.
    let asked: Vec<&str> = page.split("fetch(").skip(1).collect();
    // What has its address from elsewhere in the page is held by the policy.
    let is_here = |address: &&str| {
        let is_path = address.starts_with("\"/") && !address.starts_with("\"//");
        is_path || address.starts_with("address, ")
    };
    assert!(!asked.is_empty() && asked.iter().all(is_here));
    assert_eq!(served.send("HEAD /", &[], b"").status, 200);
    served.send("POST /", &[], b"").problem(405);
}

#[test]
fn the_page_offers_the_formats_that_there_are() {
    let served = Served::new();
    let page = served.get("/");
    let named: HashSet<&str> = page
        .text()
        .split('"')
        .filter(|text| text.starts_with("application/") || text.starts_with("text/"))
        // What it sends, and what it asks of streams.
        .filter(|text| {
            let others = [
                "application/sparql-query",
                "application/json",
                "text/event-stream",
            ];
            !others.contains(text)
        })
        .collect();
    let rows = offered(AnswerKind::Solutions);
    let graphs = offered(AnswerKind::Graph);
    let there: HashSet<&str> = rows.iter().chain(&graphs).copied().collect();
    assert_eq!(named, there);
    // The address that the page has the browser save, with what a browser accepts.
    for media_type in rows {
        let address = format!("GET /sparql?query=rows+1&format={}", encoded(media_type));
        let answer = served.send(&address, &["Accept: text/html,*/*;q=0.8"], b"");
        let sent = answer.field("content-type");
        assert_eq!(sent.split(';').next(), Some(media_type), "{address}");
    }
    // What it asks where the chosen format is one of graphs and the answer has rows.
    for media_type in graphs {
        let accept = format!(
            "Accept: {media_type}, application/sparql-results+json;q=0.5, text/turtle;q=0.5"
        );
        let answer = served.send("GET /sparql?query=rows+1", &[accept.as_str()], b"");
        assert_eq!(
            answer.field("content-type"),
            "application/sparql-results+json"
        );
    }
}

#[test]
fn nowhere_is_a_404() {
    let served = Served::new();
    for path in ["/nowhere", "/api/v2", "/sparql/deeper"] {
        let answer = served.get(path);
        answer.problem(404);
        assert!(!answer.has("connection"));
    }
}

#[test]
fn who_sent_a_body_that_is_not_read_is_told_that_the_connection_ends() {
    let served = Served::new();
    let body = vec![b' '; 100 << 10];
    for (line, status) in [("POST /nowhere", 404), ("POST /metrics", 405)] {
        for body in [&b"ASK {}"[..], &body] {
            let answer = client::send(served.address, line, &[], body);
            answer.problem(status);
            assert_eq!(answer.field("connection"), "close", "{line}");
        }
    }
    let answer = client::send(
        served.address,
        "POST /sparql",
        &["Content-Type: application/sparql-query"],
        b"ask",
    );
    assert_eq!((answer.status, answer.has("connection")), (200, false));
}

#[test]
fn every_response_carries_our_fields() {
    let served = Served::with(|options| options.api_open = true);
    let table = [
        ("GET /sparql?query=ask", 200),
        ("HEAD /sparql?query=ask", 200),
        ("GET /sparql?query=!syntax", 400),
        ("GET /sparql", 200),
        ("GET /store?all&default", 400),
        ("OPTIONS /store", 204),
        ("PUT /store?default", 403),
        ("DELETE /data?graph=http://e/g", 403),
        ("TRACE /store", 405),
        ("PUT /sparql", 405),
        ("OPTIONS /sparql", 204),
        ("GET /nowhere", 404),
        ("POST /update", 403),
        ("GET /update", 405),
        ("GET /", 200),
        ("POST /", 405),
        ("GET /metrics", 200),
        ("GET /health/live", 200),
        ("GET /health/ready", 200),
        ("DELETE /health/live", 405),
        ("GET /api/v1/queries", 200),
        ("DELETE /api/v1/queries/nonsense", 400),
        ("DELETE /api/v1/queries/%FF", 400),
        ("GET /api/v1/statistics", 200),
    ];
    let mut names = HashSet::new();
    for (line, status) in table {
        let answer = served.send(line, &[], b"");
        assert_eq!(answer.status, status, "{line}");
        let id = answer.field("query-id").to_owned();
        assert!(id.starts_with(['q', 'r']) && id.len() == 9, "{line}: {id}");
        assert!(names.insert(id), "{line}: a name twice");
        assert!(answer.field("server-timing").contains(";dur="), "{line}");
        assert_eq!(answer.field("somersault-snapshot"), "7", "{line}");
        assert!(answer.field("server").starts_with("somersault/"), "{line}");
    }
}

#[test]
fn every_address_says_what_may_be_done_there() {
    let served = Served::new();
    let table = [
        ("*", "GET, HEAD, POST, PUT, PATCH, DELETE, QUERY, OPTIONS"),
        ("/", "GET, HEAD, OPTIONS"),
        ("/metrics", "GET, HEAD, OPTIONS"),
        ("/health/ready", "GET, HEAD, OPTIONS"),
        ("/sparql", "GET, HEAD, POST, QUERY, OPTIONS"),
        ("/update", "POST, OPTIONS"),
        ("/store", "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS"),
        ("/api/v1/queries", "GET, HEAD, OPTIONS"),
        ("/api/v1/queries/q00000001", "DELETE, OPTIONS"),
        ("/api/v1/compact", "POST, OPTIONS"),
        ("/api/v1/statistics", "GET, HEAD, OPTIONS"),
        ("/api/v1/snapshots", "GET, HEAD, OPTIONS"),
        ("/api/v1/snapshots/7", "GET, HEAD, OPTIONS"),
    ];
    for (path, methods) in table {
        let answer = served.send(&format!("OPTIONS {path}"), &[], b"");
        assert_eq!(
            (answer.status, answer.field("allow")),
            (204, methods),
            "{path}"
        );
    }
    served.send("OPTIONS /nowhere", &[], b"").problem(404);
}

#[test]
fn nobody_sees_what_others_ask_without_a_token_unless_all_may() {
    let requests = [
        "GET /api/v1/queries",
        "DELETE /api/v1/queries/q00000001",
        "POST /api/v1/compact",
    ];
    let closed = Served::new();
    for line in requests {
        let problem = closed.send(line, &[], b"").problem(403);
        assert!(
            problem["hint"].as_str().unwrap().contains("api.open"),
            "{problem}"
        );
    }
    assert_eq!(closed.get("/api/v1/statistics").status, 200);
    let open = Served::with(|options| options.api_open = true);
    for (line, status) in requests.iter().zip([200, 404, 204]) {
        let through_proxy = ["X-Forwarded-For: 192.0.2.1", "Via: 1.1 proxy"];
        assert_eq!(
            open.send(line, &through_proxy, b"").status,
            status,
            "{line}"
        );
        let foreign = ["Origin: http://evil.example"];
        assert_eq!(open.send(line, &foreign, b"").status, 403, "{line}");
    }
}

#[test]
fn probes() {
    let served = Served::new();
    assert_eq!(served.get("/health/live").text(), "alive\n");
    assert_eq!(served.get("/health/ready").text(), "ready\n");
}

#[test]
fn metrics_are_well_formed_and_count() {
    let served = Served::new();
    served.query("rows 1");
    served.query("rows 1");
    served.query("fail memory");
    served.get("/nowhere");
    let answer = served.get("/metrics");
    assert_eq!(
        answer.field("content-type"),
        "text/plain; version=0.0.4; charset=utf-8"
    );
    let text = answer.text();
    for line in [
        "somersault_queries_total{outcome=\"answered\"} 2",
        "somersault_queries_total{outcome=\"memory\"} 1",
        "somersault_query_duration_seconds_bucket{le=\"+Inf\"} 3",
        "somersault_query_duration_seconds_bucket{le=\"0.00025\"}",
        "somersault_query_duration_seconds_count 3",
        "somersault_queries_running 0",
        "somersault_memory_pool_used_bytes 0",
        "somersault_memory_pool_limit_bytes 268435456",
        "somersault_store_quads 42",
        "somersault_store_terms 23",
        "somersault_http_requests_total{class=\"4xx\"} 1",
        "somersault_build_info{version=",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let mut typed = std::collections::HashSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let name = rest.split(' ').next().unwrap();
            assert!(typed.insert(name.to_owned()), "{name} twice");
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| {
                name.strip_suffix(end)
                    .filter(|family| typed.contains(*family))
            });
            assert!(typed.contains(family.unwrap_or(name)), "{line} has no type");
            assert!(
                line.rsplit(' ').next().unwrap().parse::<f64>().is_ok(),
                "{line}"
            );
        }
    }
}

#[test]
fn running_queries_are_listed_and_cancelled() {
    let served = Served::with(|options| options.api_open = true);
    std::thread::scope(|scope| {
        let query = scope.spawn(|| served.query("spin"));
        served.until_running(1, Duration::from_secs(5));
        let list = served.get("/api/v1/queries").json();
        let entry = &list["queries"][0];
        assert_eq!(entry["text"], "spin");
        assert!(entry["elapsed_seconds"].as_f64().unwrap() < 5.0);
        let id = entry["id"].as_str().unwrap();
        let begun = Instant::now();
        let cancelled = served.send(&format!("DELETE /api/v1/queries/{id}"), &[], b"");
        assert_eq!(cancelled.status, 204);
        let answer = query.join().unwrap();
        answer.problem(503);
        assert_eq!(answer.field("query-id"), id);
        assert!(begun.elapsed() < Duration::from_secs(5));
    });
    served
        .send("DELETE /api/v1/queries/%FF", &[], b"")
        .problem(400);
    served
        .send("DELETE /api/v1/queries/q00000099", &[], b"")
        .problem(404);
    served
        .send("DELETE /api/v1/queries/nonsense", &[], b"")
        .problem(400);
    served.get("/api/v1/queries/q00000099").problem(405);
    assert_eq!(served.get("/api/v1/statistics").json()["quads"], 42);
}

#[test]
fn a_connection_serves_many_requests_and_idles_for_a_bounded_time() {
    let served = Served::with(|options| options.head_timeout = Duration::from_millis(200));
    let mut writing = client::connect(served.address);
    let mut reading = BufReader::new(writing.try_clone().unwrap());
    for _ in 0..3 {
        client::request(&mut writing, "GET /sparql?query=kilobytes+100", &[], b"");
        assert!(client::read(&mut reading, false).whole);
        client::request(&mut writing, "GET /sparql?query=!syntax", &[], b"");
        client::read(&mut reading, false).problem(400);
    }
    let begun = Instant::now();
    // Ends, or is reset: either way it is over.
    let _ = reading.read_to_end(&mut Vec::new());
    let taken = begun.elapsed();
    assert!(
        taken >= Duration::from_millis(150) && taken < Duration::from_secs(10),
        "{taken:?}"
    );

    let mut silent = client::connect(served.address);
    let begun = Instant::now();
    let _ = silent.read_to_end(&mut Vec::new());
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn who_asks_again_at_once_is_answered_and_let_go() {
    let served = Served::with(|options| options.head_timeout = Duration::from_millis(200));
    let mut writing = client::connect(served.address);
    let mut reading = BufReader::new(writing.try_clone().unwrap());
    for _ in 0..1000 {
        client::request(&mut writing, "GET /sparql?query=light+ask", &[], b"");
        assert_eq!(
            client::read(&mut reading, false).text(),
            "{\"head\":{},\"boolean\":true}"
        );
    }
    // Others are seen meanwhile, and a descriptor that is kept for looking does not keep the connection open.
    assert_eq!(served.query("light ask").status, 200);
    // Ends, or is reset; what is neither is an error of time.
    let ended = reading.read_to_end(&mut Vec::new());
    assert!(
        !ended.is_err_and(|error| error.kind() == ErrorKind::WouldBlock),
        "kept open"
    );
}

#[test]
fn idle_connections_make_room_for_others() {
    let served = Served::with(|options| options.connections_max = 20);
    // More than there may be, of one peer, and none of them asks for anything.
    let idle: Vec<_> = (0..50).map(|_| client::connect(served.address)).collect();
    for _ in 0..30 {
        assert_eq!(served.get("/health/live").status, 200);
        assert_eq!(served.query("ask").status, 200);
    }
    // Slow heads are idle, too.
    let mut slow: Vec<_> = (0..50).map(|_| client::connect(served.address)).collect();
    for stream in &mut slow {
        // Some have been closed already.
        let _ = stream.write_all(b"GET /sparql?query=ask HTTP/1.1\r\nX: ");
    }
    assert_eq!(served.query("ask").status, 200);
    drop((idle, slow));
}

#[test]
fn a_server_full_of_requests_still_says_how_it_is() {
    let served = Served::with(|options| {
        options.connections_max = 8;
        options.reserve = 2;
    });
    let mut busy = Vec::new();
    for running in 1..=8 {
        let mut stream = client::connect(served.address);
        client::request(&mut stream, "GET /sparql?query=spin", &[], b"");
        // Six of one peer, and the reserve does not answer queries.
        if running <= 6 {
            served.until_running(running, Duration::from_secs(5));
        }
        busy.push(stream);
    }
    for _ in 0..10 {
        assert_eq!(served.get("/health/live").status, 200);
        assert_eq!(served.get("/health/ready").status, 200);
        assert!(
            served
                .get("/metrics")
                .text()
                .contains("somersault_queries_started 6")
        );
        let refused = served.query("ask");
        refused.problem(503);
        assert_eq!(refused.field("connection"), "close");
    }
    drop(busy);
    served.until_running(0, Duration::from_secs(5));
    assert_eq!(served.query("ask").status, 200);
}

#[test]
fn readiness_falls_before_the_port_closes() {
    let served = Served::with(|options| options.shutdown_delay = Duration::from_secs(3));
    assert_eq!(served.get("/health/ready").status, 200);
    let address = served.address;
    let ending = std::thread::spawn(move || drop(served));
    let ready = || client::send(address, "GET /health/ready", &[], b"").status;
    let begun = Instant::now();
    while ready() == 200 {
        assert!(
            begun.elapsed() < Duration::from_millis(2900),
            "it stays ready"
        );
    }
    // It still answers whoever comes.
    assert_eq!(
        client::send(address, "GET /health/live", &[], b"").status,
        200
    );
    ending.join().unwrap();
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn the_end_lets_queries_finish_and_cancels_those_that_do_not() {
    for (script, status) in [("sleep 150", 200), ("spin", 503)] {
        let served = Served::new();
        let address = served.address;
        let query = std::thread::spawn(move || {
            let line = format!("GET /sparql?query={}", client::encoded(script));
            client::send(address, &line, &[], b"")
        });
        served.until_running(1, Duration::from_secs(5));
        let begun = Instant::now();
        drop(served);
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{script}: {:?}",
            begun.elapsed()
        );
        assert_eq!(query.join().unwrap().status, status, "{script}");
        assert!(std::net::TcpStream::connect(address).is_err());
    }
}
