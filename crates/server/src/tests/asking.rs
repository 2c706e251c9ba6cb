//! The ways to ask: SPARQL 1.1 Protocol, clause 2.1, and what its test suite holds bad.

use super::Served;
use super::client::encoded;
use std::fmt::Write;

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";
const QUERY: &str = "Content-Type: application/sparql-query";

/// The one cell of an `echo`: graphs and timeout as they reached the engine.
fn echoed(answer: &super::Answer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    let json = answer.json();
    json["results"]["bindings"][0]["a"]["value"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn every_way_to_send_a_query_gets_the_same_answer() {
    let served = Served::new();
    let form = format!("query={}", encoded("rows 2"));
    let ways: [(&str, &[&str], &str); 10] = [
        ("GET /sparql?query=rows+2", &[], ""),
        ("GET /query?query=rows%202", &[], ""),
        ("GET /sparql/?query=rows%202&infer=true", &[], ""),
        ("GET /query/?query=rows%202", &[], ""),
        ("POST /sparql", &[FORM], &form),
        (
            "POST /query",
            &["content-type: Application/X-WWW-Form-Urlencoded; charset=UTF-8"],
            &form,
        ),
        ("POST /sparql", &[QUERY], "rows 2"),
        (
            "POST /sparql",
            &["Content-Type: application/sparql-query;charset=utf-8"],
            "rows 2",
        ),
        ("QUERY /sparql", &[QUERY], "rows 2"),
        ("QUERY /sparql", &[FORM], &form),
    ];
    for (line, fields, body) in ways {
        let answer = served.send(line, fields, body.as_bytes());
        assert_eq!(answer.status, 200, "{line} {fields:?}: {}", answer.text());
        assert_eq!(
            answer.json()["results"]["bindings"]
                .as_array()
                .unwrap()
                .len(),
            2
        );
        assert_eq!(
            answer.field("content-type"),
            "application/sparql-results+json"
        );
        assert!(answer.field("query-id").starts_with('q'), "{answer:?}");
        assert_eq!(answer.field("somersault-snapshot"), "7");
        assert_eq!(answer.field("vary"), "accept, accept-encoding");
        let timing = answer.field("server-timing");
        assert!(
            timing.starts_with("parse;dur=0.005, plan;dur=0.007, exec;dur="),
            "{timing}"
        );
        assert!(
            answer.has("content-length"),
            "short answers come with their length"
        );
        assert!(!answer.has("access-control-allow-origin"));
    }
}

#[test]
fn a_body_in_chunks() {
    let served = Served::new();
    let fields = [
        QUERY,
        "Transfer-Encoding: chunked",
        "Content-Length-Is: unknown",
    ];
    let mut stream = super::client::connect(served.address);
    super::client::request(&mut stream, "POST /sparql", &fields, b"");
    std::io::Write::write_all(&mut stream, b"3\r\nrow\r\n3\r\ns 4\r\n0\r\n\r\n").unwrap();
    let answer = super::client::read(&mut std::io::BufReader::new(stream), false);
    assert_eq!(
        answer.json()["results"]["bindings"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
}

#[test]
fn every_format_of_rows_and_of_booleans() {
    let served = Served::new();
    let table = [
        (
            "application/sparql-results+json",
            "application/sparql-results+json",
            "\"bindings\"",
        ),
        (
            "application/sparql-results+xml",
            "application/sparql-results+xml",
            "</sparql>",
        ),
        ("text/csv", "text/csv; charset=utf-8", "a\r\nx\r\n"),
        (
            "text/tab-separated-values",
            "text/tab-separated-values; charset=utf-8",
            "?a\n\"x\"\n",
        ),
    ];
    for (accept, media_type, part) in table {
        let answer = served.query_as(accept, "rows 1");
        assert_eq!(
            (answer.status, answer.field("content-type")),
            (200, media_type)
        );
        assert!(answer.text().contains(part), "{}", answer.text());
        let answer = served.query_as(accept, "ask");
        assert_eq!(
            (answer.status, answer.field("content-type")),
            (200, media_type)
        );
        assert!(answer.text().contains("true"), "{}", answer.text());
    }
    let fields = [
        "Accept: text/csv;q=0.3",
        "Accept: application/xml;q=0.4, image/png",
    ];
    let answer = served.send("GET /sparql?query=ask", &fields, b"");
    assert_eq!(
        answer.field("content-type"),
        "application/sparql-results+xml"
    );
    let answer = served.send("GET /sparql?query=ask", &[], b"");
    assert_eq!(
        answer.field("content-type"),
        "application/sparql-results+json"
    );
}

#[test]
fn datasets_and_timeouts_reach_the_engine() {
    let served = Served::new();
    let graphs = "default-graph-uri=http://e/1&default-graph-uri=http%3A%2F%2Fe%2F2\
                  &named-graph-uri=http://e/3";
    let expected = r#"["http://e/1", "http://e/2"] ["http://e/3"] 5s"#;
    let answer = served.get(&format!("/sparql?query=echo&timeout=5&{graphs}"));
    assert_eq!(echoed(&answer), expected);
    let form = format!("query=echo&timeout=5s&{graphs}");
    assert_eq!(
        echoed(&served.send("POST /sparql", &[FORM], form.as_bytes())),
        expected
    );
    let line = format!("POST /sparql?timeout=5000ms&{graphs}");
    assert_eq!(echoed(&served.send(&line, &[QUERY], b"echo")), expected);
    // The dataset in the address, the query in a form: the protocol's own tests do that.
    let line = format!("POST /sparql?{graphs}");
    let answer = served.send(&line, &[FORM], b"query=echo&timeout=5");
    assert_eq!(echoed(&answer), expected);
    // No more time than there is.
    assert_eq!(
        echoed(&served.get("/sparql?query=echo&timeout=10h")),
        "[] [] 30s"
    );
}

#[test]
fn requests_that_are_no_question() {
    let served = Served::new();
    let bad: [(&str, &[&str], &[u8]); 18] = [
        ("GET /sparql?update=x", &[], b""),
        ("GET /sparql?query=ask&query=ask", &[], b""),
        ("GET /sparql?query=ask&update=x", &[], b""),
        ("GET /sparql?query=ask&using-graph-uri=http://e/", &[], b""),
        ("GET /sparql?query=ask&timeout=soon", &[], b""),
        ("GET /sparql?query=ask&timeout=-1", &[], b""),
        ("GET /sparql?query=ask&timeout=1&timeout=2", &[], b""),
        ("GET /sparql?query=ask&default-graph-uri=relative", &[], b""),
        ("GET /sparql?query=ask&named-graph-uri=", &[], b""),
        ("GET /sparql?query=%FF%FE", &[], b""),
        ("POST /sparql", &[FORM], b"query=ask&query=ask"),
        ("POST /sparql", &[FORM], b"quarry=ask"),
        ("POST /sparql", &[FORM], b"query=%C3%28"),
        ("POST /sparql", &[FORM], b"query=ask&update=x"),
        ("POST /sparql?query=ask", &[FORM], b"query=ask"),
        ("POST /sparql?query=ask", &[QUERY], b"ask"),
        ("POST /sparql", &[QUERY], b"ask \xFF"),
        ("QUERY /sparql", &[FORM], b"update=x"),
    ];
    for (line, fields, body) in bad {
        let answer = served.send(line, fields, body);
        assert_eq!(answer.status, 400, "{line}: {}", answer.text());
        let problem = answer.problem(400);
        assert!(
            problem["query_id"].as_str().unwrap().starts_with('r'),
            "{problem}"
        );
        assert_eq!(problem["query_id"], answer.field("query-id"));
        assert!(answer.has("server-timing") && answer.has("somersault-snapshot"));
    }
}

#[test]
fn parameters_that_nobody_knows_are_refused_with_the_nearest() {
    let served = Served::with(|options| {
        options.access.anonymous = Some(somersault::config::Right::Write);
    });
    let update = ["Content-Type: application/sparql-update"];
    let bad: [(&str, &[&str], &[u8], &str); 12] = [
        (
            "GET /sparql?query=ask&timout=1",
            &[],
            b"",
            "is `timeout` meant",
        ),
        ("GET /sparql?quey=ask", &[], b"", "is `query` meant"),
        (
            "POST /sparql",
            &[FORM],
            b"query=ask&default-graph=x",
            "is `default-graph-uri` meant",
        ),
        (
            "POST /sparql?timout=1",
            &[QUERY],
            b"ask",
            "is `timeout` meant",
        ),
        (
            "QUERY /query?timout=1",
            &[QUERY],
            b"ask",
            "is `timeout` meant",
        ),
        (
            "POST /update",
            &[FORM],
            b"update=insert&using-graph=x",
            "is `using-graph-uri` meant",
        ),
        (
            "POST /update?timout=1",
            &update,
            b"insert",
            "is `timeout` meant",
        ),
        ("GET /store?grap=http://e/", &[], b"", "is `graph` meant"),
        ("DELETE /store?grap=http://e/", &[], b"", "is `graph` meant"),
        ("GET /sparql?query=ask&callback=f", &[], b"", "JSONP"),
        ("GET /sparql?query=ask&explain=tree", &[], b"", "`profile`"),
        (
            "GET /sparql?query=ask&queryLn=SeRQL",
            &[],
            b"",
            "SPARQL is spoken",
        ),
    ];
    for (line, fields, body, said) in bad {
        let problem = served.send(line, fields, body).problem(400);
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said), "{line}: {detail}");
    }
}

#[test]
fn what_clients_add_of_their_own_accord_is_known() {
    let served = Served::new();
    for parameters in [
        "format=json&output=json&results=json",
        "queryLn=SPARQL&infer=true",
        "includeInferred=false&sameAs=true",
        "debug=on&should-sponge=&format=application%2Fsparql-results%2Bjson",
    ] {
        let answer = served.get(&format!("/sparql?query=rows+1&{parameters}"));
        assert_eq!(answer.status, 200, "{parameters}: {}", answer.text());
    }
    let answer = served.get("/sparql?query=rows+1&format=csv");
    assert_eq!(answer.field("content-type"), "text/csv; charset=utf-8");
    let answer = served.send(
        "GET /sparql?query=rows+1&format=csv",
        &["Accept: application/json"],
        b"",
    );
    assert_eq!(
        answer.field("content-type"),
        "application/sparql-results+json"
    );
    let answer = served.get("/sparql?query=rows+1&format=turtle");
    assert_eq!(answer.status, 406, "rows are no Turtle");
    let answer = served.get("/store?default&format=csv");
    assert_eq!(answer.status, 406, "a graph is no CSV");
}

#[test]
fn a_query_that_is_to_be_shown_leads_to_the_page() {
    const BROWSER: &str = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let served = Served::new();
    let query = "query=SELECT+%3Fa%0A%7B%7D";
    let there = format!("/#run&query={}", encoded("SELECT ?a\n{}"));
    for line in [
        format!("GET /sparql?{query}&format=text/html"),
        format!("GET /query?format=html&{query}&timeout=3000&debug=on&default-graph-uri="),
        format!("HEAD /sparql?{query}&output=text%2Fhtml"),
        format!("GET /sparql?{query}&results=application/xhtml%2Bxml"),
    ] {
        for accept in ["Accept: */*", BROWSER] {
            let answer = served.send(&line, &[accept], b"");
            assert_eq!(answer.status, 303, "{line}: {answer:?}");
            assert_eq!(answer.field("location"), there, "{line}");
        }
    }
    // Nothing was run for it.
    assert!(
        served
            .get("/metrics")
            .text()
            .contains("outcome=\"answered\"} 0")
    );
    let line = format!("GET /sparql?{query}&format=html");
    let line = line.replace("SELECT+%3Fa%0A%7B%7D", "rows+1");
    // Who names a format gets that.
    let answer = served.send(&line, &["Accept: text/csv"], b"");
    assert_eq!(
        (answer.status, answer.field("content-type")),
        (200, "text/csv; charset=utf-8")
    );
    let line = line.replace("format=html", "force-accept=html");
    assert_eq!(served.send(&line, &["Accept: text/csv"], b"").status, 303);
    // What the page could not ask for is not left out without a word.
    let line = format!("GET /sparql?{query}&format=html&default-graph-uri=http://e/g");
    let problem = served.send(&line, &[], b"").problem(400);
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("default-graph-uri"),
        "{problem}"
    );
    for line in ["GET /store?default&format=html", "POST /sparql?format=html"] {
        let answer = served.send(line, &["Content-Type: application/sparql-query"], b"rows 1");
        let problem = answer.problem(400);
        assert!(
            problem["detail"].as_str().unwrap().contains("page"),
            "{line}: {problem}"
        );
    }
}

#[test]
fn what_is_said_beside_the_text_reaches_the_engine() {
    let served = Served::new();
    let address =
        "/sparql?query=given&$x=5&%24y=%3Chttp://e/%3E&limit=3&offset=2&baseURI=http://e/b/";
    let expected = r#"[("x", "5"), ("y", "<http://e/>")] 2 Some(3) Some("http://e/b/")"#;
    assert_eq!(echoed(&served.get(address)), expected);
    let form = b"query=given&$x=5";
    let answer = echoed(&served.send("POST /sparql", &[FORM], form));
    assert!(
        answer.starts_with(r#"[("x", "5")] 0 None Some("http://localhost"#),
        "{answer}"
    );
    for bad in [
        "$x=1&$x=2",
        "limit=some",
        "offset=-1",
        "baseURI=relative",
        "limit=1&limit=2",
    ] {
        served
            .get(&format!("/sparql?query=given&{bad}"))
            .problem(400);
    }
}

#[test]
fn bodies_of_other_types() {
    let served = Served::new();
    let other: [&[&str]; 4] = [
        &[],
        &["Content-Type: text/plain"],
        &["Content-Type: application/sparql-query; charset=UTF-16"],
        &["Content-Type: multipart/form-data; boundary=x"],
    ];
    for fields in other {
        let answer = served.send("POST /sparql", fields, b"ask");
        let problem = answer.problem(415);
        assert_eq!(
            problem["offered"][0], "application/sparql-query",
            "{fields:?}"
        );
        assert!(
            answer
                .field("accept")
                .contains("application/x-www-form-urlencoded")
        );
    }
}

#[test]
fn methods_of_no_use_here() {
    let served = Served::new();
    for method in ["PUT", "DELETE", "PATCH", "BREW"] {
        let answer = served.send(&format!("{method} /sparql?query=ask"), &[], b"");
        answer.problem(405);
        assert_eq!(answer.field("allow"), "GET, HEAD, POST, QUERY, OPTIONS");
    }
    let answer = served.send("HEAD /sparql?query=rows+3", &["Accept: text/csv"], b"");
    assert_eq!(
        (answer.status, answer.field("content-type")),
        (200, "text/csv; charset=utf-8")
    );
    assert!(
        !answer.has("content-length"),
        "the length of a `GET` is not known"
    );
    assert_eq!(
        served.send("HEAD /sparql?query=!syntax", &[], b"").status,
        400
    );
    let answer = served.send("OPTIONS /sparql", &[], b"");
    assert_eq!(
        (answer.status, answer.field("allow")),
        (204, "GET, HEAD, POST, QUERY, OPTIONS")
    );
    assert!(
        answer
            .field("accept-query")
            .contains("application/sparql-query")
    );
}

#[test]
fn other_origins_only_when_allowed() {
    let origin = ["Origin: http://elsewhere.example"];
    let served = Served::new();
    let answer = served.send("OPTIONS /sparql", &origin, b"");
    assert!(!answer.has("access-control-allow-origin"));
    let served = Served::with(|options| options.cross_origin = true);
    for path in ["/sparql?query=ask", "/sparql?query=!syntax"] {
        let answer = served.send(&format!("GET {path}"), &origin, b"");
        assert_eq!(answer.field("access-control-allow-origin"), "*");
        assert!(
            answer
                .field("access-control-expose-headers")
                .contains("query-id")
        );
    }
    let answer = served.send("OPTIONS /sparql", &origin, b"");
    assert!(
        answer
            .field("access-control-allow-methods")
            .contains("QUERY")
    );
    assert!(
        answer
            .field("access-control-allow-headers")
            .contains("content-type")
    );
}

#[test]
fn updates_are_refused() {
    let served = Served::new();
    let update = ["Content-Type: application/sparql-update"];
    served
        .send("POST /sparql", &[FORM], b"update=CLEAR+ALL")
        .problem(403);
    served
        .send("POST /sparql", &update, b"CLEAR ALL")
        .problem(403);
    served
        .send("POST /update", &update, b"CLEAR ALL")
        .problem(403);
    served.get("/update").problem(405);
}

#[test]
fn a_long_query_within_the_limit_by_post() {
    let served = Served::new();
    let mut text = "rows 1;".to_owned();
    while text.len() < (1 << 20) - 32 {
        write!(text, "{:>31};", "nothing").unwrap();
    }
    assert_eq!(
        served
            .send("POST /sparql", &[QUERY], text.as_bytes())
            .status,
        200
    );
    let form = format!("query={}", encoded(&text));
    assert_eq!(
        served.send("POST /sparql", &[FORM], form.as_bytes()).status,
        200
    );
}
