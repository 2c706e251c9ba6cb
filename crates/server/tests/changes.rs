//! Changes over the real engine: what is written is read back, what fails changes nothing, documents
//! of `LOAD` come from where they may, and a store that is opened again has what was acknowledged.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "shared with the unit tests, which use more of it")]
#[path = "../src/tests/client.rs"]
mod client;

use client::{Answer, encoded};
use server::outbound::{AllowList, HttpServices};
use server::{Access, Server, ServerOptions};
use somersault::config::Right;
use somersault::load::{self, Source, Syntax, Unwatched};
use somersault::{Database, Options};
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

const UPDATE: &str = "Content-Type: application/sparql-update";
const TURTLE: &str = "Content-Type: text/turtle";
const NTRIPLES: &str = "Accept: application/n-triples";

struct Served {
    address: SocketAddr,
    database: Database,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

fn options() -> Options {
    Options {
        memory_is_writable: true,
        ..Options::default()
    }
}

fn in_memory(options: &Options) -> Database {
    let data = b"<http://e/s> <http://e/p> <http://e/o> .\n".to_vec();
    let source = Source::chunks("data", Syntax::NQuads, std::iter::once(data));
    let loaded = load::load_in_memory(vec![source], &load::Request::default(), options, &Unwatched);
    loaded.unwrap().0
}

impl Served {
    fn new() -> Served {
        Served::of(in_memory(&options()))
    }

    fn of(database: Database) -> Served {
        let server = Server::bind(ServerOptions {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            access: Access {
                anonymous: Some(Right::Write),
                tokens: Vec::new(),
            },
            api_open: true,
            ..ServerOptions::default()
        });
        let server = server.unwrap();
        let address = server.address();
        let (end, ended) = oneshot::channel::<()>();
        let serving = database.clone();
        let thread = std::thread::spawn(move || {
            server.serve(serving, async { drop(ended.await) }).unwrap();
        });
        Served {
            address,
            database,
            end: Some(end),
            thread: Some(thread),
        }
    }

    fn send(&self, line: &str, fields: &[&str], body: &str) -> Answer {
        client::send(self.address, line, fields, body.as_bytes())
    }

    fn update(&self, text: &str) -> Answer {
        self.send("POST /update", &[UPDATE], text)
    }

    fn ask(&self, pattern: &str) -> bool {
        let query = encoded(&format!("ASK {{ {pattern} }}"));
        let line = format!("GET /sparql?query={query}");
        let answer = self.send(&line, &["Accept: application/sparql-results+json"], "");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["boolean"] == true
    }

    fn lines(&self, graph: &str) -> usize {
        let answer = self.send(&format!("GET /store?{graph}"), &[NTRIPLES], "");
        match answer.status {
            200 => answer.text().lines().count(),
            404 => 0,
            _ => panic!("{answer:?}"),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

#[test]
fn updates_are_seen_at_once() {
    let served = Served::new();
    for number in 1..=20 {
        let answer = served.update(&format!(
            "INSERT DATA {{ <http://e/n> <http://e/is> {number} }}"
        ));
        assert_eq!(answer.status, 204, "{answer:?}");
        assert!(served.ask(&format!("<http://e/n> <http://e/is> {number}")));
        let snapshot = answer.field("somersault-snapshot").parse::<u64>().unwrap();
        assert_eq!(snapshot, served.database.snapshot_number());
    }
    let answer = served.update("DELETE WHERE { <http://e/n> ?p ?o }");
    assert_eq!(answer.status, 204);
    assert!(!served.ask("<http://e/n> ?p ?o"));
}

#[test]
fn what_fails_changes_nothing() {
    let served = Served::new();
    let before = served.database.snapshot_number();
    let answer = served.update("INSERT DATA { <http://e/a> <http://e/b> 1 } ;\nCREATE GRAPH");
    assert_eq!(answer.problem(400)["position"]["line"], 2);
    let twice = "INSERT DATA { GRAPH <http://e/g> { <http://e/a> <http://e/b> 1 } } ; \
                 CREATE GRAPH <http://e/g>";
    served.update(twice).problem(409);
    let line = "POST /update?using-graph-uri=http://e/g";
    let with = "WITH <http://e/g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }";
    served.send(line, &[UPDATE], with).problem(400);
    let broken = "<http://e/a> <http://e/b> 1 .\n<http://e/a> <http://e/b> nonsense .";
    let problem = served
        .send("PUT /store?default", &[TURTLE], broken)
        .problem(400);
    assert_eq!(problem["position"]["line"], 2);
    let foreign = "<http://e/g2> { <http://e/a> <http://e/b> 1 }";
    let trig = ["Content-Type: application/trig"];
    served
        .send("POST /store?graph=http://e/g", &trig, foreign)
        .problem(400);
    served.update("LOAD <http://e/data>").problem(422);
    assert_eq!(served.database.snapshot_number(), before);
    assert_eq!(
        (served.lines("default"), served.lines("graph=http://e/g")),
        (1, 0)
    );
}

#[test]
fn a_patch_is_all_or_nothing() {
    let served = Served::new();
    let patch = |address: &str, text: &str| {
        let fields = [
            "Content-Type: application/rdf-patch",
            "Accept: application/json",
        ];
        served.send(&format!("PATCH {address}"), &fields, text)
    };
    let text = "H id <urn:uuid:1> .\nTX .\nPA e <http://e/> .\nA e:a e:p 1 .\nA e:a e:p \"x\"@en e:g .\n\
                D e:s e:p e:o .\nA _:x e:p _:x .\nTC .\nTX .\nA e:a e:p 2 .\nTA .\n";
    let account = patch("/store", text).json();
    assert_eq!(
        (account["inserted"].as_u64(), account["deleted"].as_u64()),
        (Some(3), Some(1))
    );
    assert!(served.ask("<http://e/a> <http://e/p> 1 . ?x <http://e/p> ?x"));
    assert!(served.ask("GRAPH <http://e/g> { <http://e/a> <http://e/p> \"x\"@en }"));
    assert!(!served.ask("{ <http://e/s> ?p ?o } UNION { ?s ?p 2 }"));
    // Relative to the graph, and in it.
    let account = patch(
        "/store?graph=http://e/h/",
        "A <a> <b> 7 .\nA <a> <b> 8 .\nD <a> <b> 7 .\n",
    );
    // The difference: what comes and goes within one request is not counted.
    assert_eq!(account.json()["inserted"], 1);
    assert!(served.ask("GRAPH <http://e/h/> { <http://e/h/a> <http://e/h/b> 8 }"));
    assert_eq!(served.lines("graph=http://e/h/"), 1);
    // Compressed, and in no other characters, as any other body.
    let address = "PATCH /store?graph=http://e/z";
    let send = |fields: &[&str], body: &[u8]| client::send(served.address, address, fields, body);
    let text = "A <http://e/a> <http://e/b> 9 .\n";
    let kind = "Content-Type: application/rdf-patch; charset=utf-8";
    let packed = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let answer = send(&[kind, "Content-Encoding: zstd"], &packed);
    assert_eq!(answer.status, 204, "{answer:?}");
    assert_eq!(served.lines("graph=http://e/z"), 1);
    let latin = "Content-Type: application/rdf-patch; charset=iso-8859-1";
    send(&[latin], text.as_bytes()).problem(415);
    send(&[kind, "Content-Encoding: lzma"], text.as_bytes()).problem(415);
    send(&[kind, "Content-Encoding: gzip"], text.as_bytes()).problem(400);
    // Whatever is wrong, nothing has happened.
    for (text, line) in [
        (
            "A <http://e/n> <http://e/n> 1 .\nA <http://e/n> <http://e/n> } .\n",
            2,
        ),
        (
            "A <http://e/n> <http://e/n> 1 .\n\nA <http://e/n> e:n 1 .\n",
            3,
        ),
        (
            "A <http://e/n> <http://e/n> 1 .\nD _:x <http://e/n> 1 .\n",
            2,
        ),
    ] {
        let answer = patch("/store?default", text);
        assert_eq!(answer.problem(400)["position"]["line"], line, "{text}");
        assert!(!served.ask("<http://e/n> ?p ?o"));
    }
}

#[test]
fn graphs_are_written_and_read_back() {
    let served = Served::new();
    let graph = "graph=http://e/people/";
    let put = |text: &str| {
        served
            .send(&format!("PUT /store?{graph}"), &[TURTLE], text)
            .status
    };
    assert_eq!(put("<a> <b> <c> , <d> ."), 201);
    assert!(served.ask("GRAPH <http://e/people/> { <http://e/people/a> ?p <http://e/people/d> }"));
    assert_eq!(put("<a> <b> <e> ."), 204);
    assert_eq!(served.lines(graph), 1);
    let form = ["Content-Type: multipart/form-data; boundary=x"];
    let parts = "--x\r\nContent-Type: text/turtle\r\n\r\n_:a <b> <f> .\r\n--x\r\nContent-Type: \
                 application/n-triples\r\n\r\n_:a <http://e/b> <http://e/f> .\n\r\n--x--\r\n";
    assert_eq!(
        served
            .send(&format!("POST /store?{graph}"), &form, parts)
            .status,
        204
    );
    assert_eq!(served.lines(graph), 3);
    // Labels of blank nodes are those of one document.
    assert!(!served.ask("GRAPH ?g { ?s <http://e/people/b> ?o . ?s <http://e/b> ?o2 }"));
    let answer = served.send("POST /store", &[TURTLE], "<http://e/new> <b> <c> .");
    assert_eq!(answer.status, 201);
    let location = answer.field("location").to_owned();
    assert_eq!(served.lines(&format!("graph={location}")), 1);
    let path = location.split_once("localhost").unwrap().1;
    assert_eq!(
        served.send(&format!("GET {path}"), &[NTRIPLES], "").status,
        200
    );
    assert_eq!(served.send(&format!("DELETE {path}"), &[], "").status, 204);
    assert_eq!(served.send(&format!("DELETE {path}"), &[], "").status, 404);
    let quads = ["Content-Type: application/n-quads"];
    let two = "<http://e/a> <http://e/b> 1 <http://e/g1> .\n";
    served.send("POST /store", &quads, two).problem(400);
    let two =
        "<http://e/a> <http://e/b> \"1\" <http://e/g1> .\n<http://e/a> <http://e/b> \"1\" .\n";
    assert!(matches!(
        served.send("POST /store", &quads, two).status,
        201 | 204
    ));
    assert_eq!(
        (served.lines("graph=http://e/g1"), served.lines("default")),
        (1, 2)
    );
    assert_eq!(served.send("DELETE /store?all", &[], "").status, 204);
    assert_eq!((served.lines(graph), served.lines("default")), (0, 0));
    assert_eq!(
        served.database.pool().used_bytes(),
        0,
        "memory was not given back"
    );
}

#[test]
fn graphs_are_at_the_address_of_queries_too() {
    let served = Served::new();
    let graph = "graph=http%3A%2F%2Fe%2Fg";
    let at = |method: &str, parameters: &str| format!("{method} /sparql?{parameters}");
    let made = served.send(&at("PUT", graph), &[TURTLE], "<#a> <http://e/p> 1, 2 .");
    assert_eq!(made.status, 201, "{made:?}");
    assert!(served.ask("GRAPH <http://e/g> { <http://e/g#a> <http://e/p> 2 }"));
    let read = served.send(&at("GET", graph), &[NTRIPLES], "");
    assert_eq!((read.status, read.text().lines().count()), (200, 2));
    let (here, there) = (read.field("etag"), format!("GET /store?{graph}"));
    assert!(!here.is_empty());
    assert_eq!(served.send(&there, &[NTRIPLES], "").field("etag"), here);
    let known = format!("If-None-Match: {here}");
    assert_eq!(
        served
            .send(&at("GET", graph), &[NTRIPLES, &known], "")
            .status,
        304
    );
    let wanted = format!("If-Match: {here}");
    let more = served.send(
        &at("POST", graph),
        &[TURTLE, &wanted],
        "<#b> <http://e/p> 3 .",
    );
    assert_eq!(more.status, 204, "{more:?}");
    let late = served.send(
        &at("POST", graph),
        &[TURTLE, &wanted],
        "<#c> <http://e/p> 4 .",
    );
    assert_eq!(late.status, 412, "{late:?}");
    let patch = ["Content-Type: application/rdf-patch"];
    let patched = served.send(
        &at("PATCH", graph),
        &patch,
        "A <http://e/s> <http://e/p> \"5\" .\n",
    );
    assert_eq!(patched.status, 204, "{patched:?}");
    assert_eq!(served.send(&at("HEAD", graph), &[NTRIPLES], "").status, 200);
    assert_eq!(served.lines(graph), 4);
    assert_eq!(
        served
            .send(&at("GET", "default"), &[NTRIPLES], "")
            .text()
            .lines()
            .count(),
        1
    );
    assert_eq!(served.send(&at("DELETE", graph), &[], "").status, 204);
    assert_eq!(served.send(&at("GET", graph), &[NTRIPLES], "").status, 404);
    assert!(
        served
            .send(&at("OPTIONS", "default"), &[], "")
            .field("allow")
            .contains("PATCH")
    );
}

#[test]
fn a_graph_and_a_query_in_one_request_are_refused() {
    let served = Served::new();
    let query = "Content-Type: application/sparql-query";
    let form = "Content-Type: application/x-www-form-urlencoded";
    let cases: [(&str, &[&str], &str); 5] = [
        ("GET /sparql?graph=http://e/g&query=ASK%7B%7D", &[], ""),
        ("POST /sparql?graph=http://e/g", &[query], "ASK {}"),
        ("POST /sparql?default", &[UPDATE], "CLEAR ALL"),
        ("POST /sparql?default", &[form], "update=CLEAR+ALL"),
        ("QUERY /sparql?default", &[query], "ASK {}"),
    ];
    for (line, fields, body) in cases {
        let problem = served.send(line, fields, body).problem(400);
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains("names a graph of the store"),
            "{line}: {detail}"
        );
    }
    assert!(served.ask("?s ?p ?o"));
    // Without either, the address takes no documents, and /query is for queries only.
    assert_eq!(served.send("PUT /sparql", &[TURTLE], "").status, 405);
    assert_eq!(served.send("PUT /query?default", &[TURTLE], "").status, 405);
    assert_eq!(
        served.send("GET /sparql?graph=relative", &[], "").status,
        400
    );
}

#[test]
fn nothing_is_made_of_nothing() {
    let served = Served::new();
    let graph = "graph=http://e/people/";
    let put = |text: &str| {
        served
            .send(&format!("PUT /store?{graph}"), &[TURTLE], text)
            .status
    };
    assert_eq!(put("<a> <b> <c> ."), 201);
    // A graph that holds nothing is not there: emptied, it goes, and nothing is made of nothing.
    let gone = || served.send(&format!("GET /store?{graph}"), &[], "").status == 404;
    assert_eq!(put(""), 204);
    assert!(gone());
    assert_eq!(put("# nothing"), 204);
    assert!(gone());
    let nothing = served.send("POST /store", &[TURTLE], "");
    assert!(
        nothing.status == 204 && !nothing.has("location"),
        "{nothing:?}"
    );
    assert_eq!(put("<a> <b> <c> ."), 201);
}

#[test]
fn the_whole_store_is_read_and_replaced() {
    let served = Served::new();
    let graph = "graph=http://e/people/";
    let quads = ["Content-Type: application/n-quads"];
    let two =
        "<http://e/a> <http://e/b> \"1\" <http://e/g1> .\n<http://e/a> <http://e/b> \"1\" .\n";
    let put = format!("PUT /store?{graph}");
    assert_eq!(served.send(&put, &[TURTLE], "<a> <b> <c> .").status, 201);
    served.send("PUT /store?default", &[TURTLE], "<a:> <b:> 1 , 2 .");
    // Nobody empties all by leaving something out.
    served.send("DELETE /store", &[], "").problem(400);
    served.send("PUT /store", &quads, two).problem(400);
    served
        .send("PUT /store?all", &[TURTLE], "<a> <b> <c> .")
        .problem(400);
    served
        .send("DELETE /store?all&default", &[], "")
        .problem(400);
    assert_eq!(served.lines("default"), 2);
    assert!(matches!(
        served.send("PUT /store?all", &quads, two).status,
        201 | 204
    ));
    assert_eq!((served.lines(graph), served.lines("default")), (0, 1));
    let all = served.send("GET /store", &[], "");
    assert_eq!(all.field("content-type"), "application/n-quads");
    let mut lines: Vec<&str> = all.text().lines().collect();
    lines.sort_unstable();
    let mut sent: Vec<&str> = two.lines().collect();
    sent.sort_unstable();
    assert_eq!(lines, sent);
    for (accept, part) in [
        ("application/trig", "<http://e/g1>"),
        ("application/ld+json", "http://e/g1"),
    ] {
        let accept = format!("Accept: {accept}");
        let all = served.send("GET /store", &[&accept], "");
        assert!(all.status == 200 && all.text().contains(part), "{all:?}");
    }
    let problem = served
        .send("GET /store", &["Accept: text/turtle"], "")
        .problem(406);
    assert!(
        problem["detail"].as_str().unwrap().contains("named graphs"),
        "{problem}"
    );
    assert_eq!(
        served
            .send("DELETE /store?graph=http://e/g1", &[], "")
            .status,
        204
    );
    assert_eq!(
        served
            .send("GET /store", &["Accept: text/turtle"], "")
            .status,
        200
    );
    assert_eq!(served.send("DELETE /store?all", &[], "").status, 204);
    assert_eq!(served.lines("default"), 0);
}

#[test]
fn of_two_writers_who_read_one_state_one_writes() {
    let served = Served::new();
    let put = |graph: &str, fields: &[&str], text: &str| {
        let fields: Vec<&str> = [TURTLE].iter().chain(fields).copied().collect();
        let line = format!("PUT /store?graph=http://e/{graph}");
        served.send(&line, &fields, text).status
    };
    let tag = |graph: &str| {
        let answer = served.send(&format!("GET /store?graph=http://e/{graph}"), &[], "");
        assert_eq!(answer.status, 200);
        answer.field("etag").to_owned()
    };
    assert_eq!(put("g", &["If-Match: *"], "<a> <b> 1 ."), 412);
    assert_eq!(put("g", &["If-None-Match: *"], "<a> <b> 1 ."), 201);
    assert_eq!(put("g", &["If-None-Match: *"], "<a> <b> 2 ."), 412);
    let first = tag("g");
    assert!(
        first.starts_with('"') && first.ends_with(".turtle\""),
        "{first}"
    );
    // Another graph is another graph.
    assert_eq!(put("h", &[], "<a> <b> 1 ."), 201);
    assert_eq!(tag("g"), first);
    assert_ne!(tag("h"), first);
    let matching = format!("If-Match: {first}");
    let statuses = std::thread::scope(|scope| {
        let writers = ["<a> <b> 3 .", "<a> <b> 4 .", "<a> <b> 5 .", "<a> <b> 6 ."];
        let writers = writers.map(|text| {
            let (put, matching) = (&put, &*matching);
            scope.spawn(move || put("g", &[matching], text))
        });
        writers.map(|writer| writer.join().unwrap())
    });
    assert_eq!(
        statuses.iter().filter(|status| **status == 204).count(),
        1,
        "{statuses:?}"
    );
    assert_eq!(
        statuses.iter().filter(|status| **status == 412).count(),
        3,
        "{statuses:?}"
    );
    assert_ne!(tag("g"), first);
    let weak = format!("If-Match: W/{}", tag("g"));
    assert_eq!(put("g", &[&weak], "<a> <b> 7 ."), 412);
    let delete = |field: &str| {
        served
            .send("DELETE /store?graph=http://e/g", &[field], "")
            .status
    };
    assert_eq!(delete(&matching), 412);
    assert_eq!(delete(&format!("If-Match: {}", tag("g"))), 204);
    assert_eq!(delete("If-Match: *"), 412);
    // Where nobody judges it, it is not passed over.
    let update = ["Content-Type: application/sparql-update", "If-Match: *"];
    served
        .send("POST /update", &update, "CLEAR ALL")
        .problem(400);
}

#[test]
fn of_several_tags_the_one_that_holds_is_named() {
    let served = Served::new();
    let line = "GET /sparql?query=CONSTRUCT+WHERE+{+?s+?p+?o+}";
    let turtle = served.send(line, &[], "").field("etag").to_owned();
    assert!(turtle.contains("turtle"), "{turtle}");
    let known = format!("If-None-Match: \"other\", {turtle}");
    let again = served.send(line, &[&known], "");
    assert_eq!((again.status, again.field("etag")), (304, &*turtle));
    served.update("INSERT DATA { <http://e/n> <http://e/p> 1 }");
    assert_eq!(served.send(line, &[&known], "").status, 200);
}

#[test]
fn a_graph_that_a_client_has_is_not_sent_again() {
    let served = Served::new();
    served.update("INSERT DATA { GRAPH <http://e/g> { <http://e/a> <http://e/b> 1 } }");
    for (address, own) in [
        ("/store?graph=http://e/g", false),
        ("/sparql?query=ASK+{+GRAPH+?g+{+?s+?p+1+}+}", true),
    ] {
        let line = format!("GET {address}");
        let answer = served.send(&line, &[], "");
        let tag = answer.field("etag").to_owned();
        assert_eq!(
            (answer.status, tag.starts_with("W/")),
            (200, own),
            "{answer:?}"
        );
        assert_eq!(answer.field("cache-control"), "no-cache");
        let condition = format!("If-None-Match: \"other\", {tag}");
        for line in [&*line, &line.replace("GET", "HEAD")] {
            let answer = served.send(line, &[&condition], "");
            assert_eq!(
                (answer.status, answer.field("etag")),
                (304, &*tag),
                "{answer:?}"
            );
            assert!(answer.body.is_empty());
            assert!(answer.field("vary").contains("accept"));
        }
        // Another format is another representation.
        let other = [&*condition, "Accept: application/n-triples, text/csv"];
        assert_eq!(served.send(&line, &other, "").status, 200);
        // Other graphs change the answers to queries, as far as anybody knows.
        served.update("INSERT DATA { GRAPH <http://e/h> { <http://e/a> <http://e/b> 1 } }");
        let status = served.send(&line, &[&condition], "").status;
        assert_eq!(status, if own { 200 } else { 304 });
        served.update("INSERT DATA { GRAPH <http://e/g> { <http://e/a> <http://e/b> 2 } }");
        assert_eq!(served.send(&line, &[&condition], "").status, 200);
        served.update("DELETE DATA { GRAPH <http://e/g> { <http://e/a> <http://e/b> 2 } }");
        served.update("DELETE DATA { GRAPH <http://e/h> { <http://e/a> <http://e/b> 1 } }");
    }
    for changing in ["SELECT+(NOW()+AS+?n)+{}", "SELECT+(RAND()+AS+?n)+{}"] {
        let answer = served.send(&format!("GET /sparql?query={changing}"), &[], "");
        assert!(answer.status == 200 && !answer.has("etag"), "{answer:?}");
        assert_eq!(answer.field("cache-control"), "no-store");
    }
    let star = ["If-None-Match: *"];
    let there = served.send("GET /store?graph=http://e/g", &star, "");
    assert_eq!(there.status, 304);
    served
        .send("GET /store?graph=http://e/none", &star, "")
        .problem(404);
    served
        .send("GET /store?graph=http://e/g", &["If-Match: \"x\""], "")
        .problem(412);
}

#[test]
fn no_tag_of_one_run_holds_in_another() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store");
    let open = || Served::of(Database::open_writable(&location, &Options::default()).unwrap());
    let served = open();
    let insert = "INSERT DATA { GRAPH <http://e/g> { <http://e/a> <http://e/b> 1 } }";
    assert_eq!(served.update(insert).status, 204);
    let read =
        |served: &Served, fields: &[&str]| served.send("GET /store?graph=http://e/g", fields, "");
    let tag = read(&served, &[]).field("etag").to_owned();
    // A checkpoint gives ids anew; what has the tag is the same.
    assert_eq!(served.send("POST /api/v1/compact", &[], "").status, 204);
    assert_eq!(
        read(&served, &[&format!("If-None-Match: {tag}")]).status,
        304
    );
    drop(served);
    let served = open();
    let again = read(&served, &[&format!("If-None-Match: {tag}")]);
    assert_eq!(again.status, 200);
    assert_ne!(again.field("etag"), tag);
    let put = ["Content-Type: text/turtle", &*format!("If-Match: {tag}")];
    served
        .send("PUT /store?graph=http://e/g", &put, "<a> <b> 2 .")
        .problem(412);
}

#[test]
fn documents_are_loaded_from_where_they_may_be() {
    let other = Served::new();
    let mut data = String::new();
    for number in 0..1000 {
        writeln!(data, "<a{number}> <b> <c> .").unwrap();
    }
    assert_eq!(
        other.send("PUT /store/data.ttl", &[TURTLE], &data).status,
        201
    );
    let host = format!("http://{}", other.address);
    let allowed = AllowList::new([&*format!("{host}/store/")]).unwrap();
    let database = in_memory(&Options {
        service: Some(Arc::new(HttpServices::new(allowed))),
        ..options()
    });
    let served = Served::of(database);
    // It is a graph by the name that its sender was asked by.
    let name = format!("{host}/store/data.ttl");
    let put = format!("PUT /store?graph={}", encoded(&name));
    assert_eq!(other.send(&put, &[TURTLE], &data).status, 201);
    let answer = served.update(&format!("LOAD <{name}> INTO GRAPH <http://e/loaded>"));
    assert_eq!(answer.status, 204, "{answer:?}");
    assert_eq!(served.lines("graph=http://e/loaded"), 1000);
    let problem = served.update(&format!("LOAD <{host}/sparql>")).problem(422);
    assert!(
        problem["hint"].as_str().unwrap().contains("service.allow"),
        "{problem}"
    );
    let missing = format!("LOAD <{host}/store/none>");
    served.update(&missing).problem(503);
    let silent = missing.replace("LOAD", "LOAD SILENT");
    assert_eq!(served.update(&silent).status, 204);
}

#[test]
fn a_store_keeps_what_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("store");
    let open = || Database::open_writable(&location, &Options::default()).unwrap();
    let served = Served::of(open());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let served = &served;
            scope.spawn(move || {
                for number in 0..10 {
                    let text =
                        format!("INSERT DATA {{ <http://e/{thread}> <http://e/n> {number} }}");
                    assert_eq!(served.update(&text).status, 204);
                }
            });
        }
    });
    let metrics = served.send("GET /metrics", &[], "");
    assert!(metrics.text().contains("somersault_log_records_total 40\n"));
    assert!(metrics.text().contains("somersault_store_quads 40\n"));
    let compacted = served.send("POST /api/v1/compact", &[], "");
    assert_eq!(compacted.status, 204, "{compacted:?}");
    let metrics = served.send("GET /metrics", &[], "");
    assert!(metrics.text().contains("somersault_checkpoints_total 1\n"));
    assert_eq!(
        served.update("DELETE WHERE { <http://e/0> ?p ?o }").status,
        204
    );
    drop(served);
    let served = Served::of(open());
    assert_eq!(served.lines("default"), 30);
    assert_eq!(served.database.snapshot_number(), 41);
}
