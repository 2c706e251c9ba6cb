//! LUBM through the binary: the twelve queries give the known numbers of rows, by `query` and over
//! HTTP, loaded from N-Triples, Turtle and N-Quads, on a store that was closed and opened again
//! (each `query` is a process of its own).
//!
//! One university in the ordinary run; 1, 5 and 40 with `SOMERSAULT_LONG=1`.

use crate::common;

use common::{run, somersault, started, text};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use workload::queries::QUERIES;

#[test]
fn twelve_queries_from_every_format() {
    let long = std::env::var_os("SOMERSAULT_LONG").is_some();
    let sizes: &[u32] = if long { &[1, 5, 40] } else { &[1] };
    for universities in sizes {
        for format in ["nt", "ttl", "nq"] {
            check(*universities, format);
        }
    }
}

fn check(universities: u32, format: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join(format!("lubm.{format}"));
    let count = universities.to_string();
    let arguments = [
        "generate",
        "lubm",
        "--universities",
        &count,
        "--format",
        format,
        "-o",
    ];
    let generated = run(arguments.into_iter().chain([text(&file)]));
    assert_eq!(generated.code, Some(0), "{}", generated.errors);
    let store = folder.path().join("store");
    common::load(&store, &[&file]);
    for query in &QUERIES {
        let expected = query.rows(universities).expect("these sizes are known");
        let arguments = [
            "query",
            "-l",
            text(&store),
            "--results-format",
            "csv",
            "--query",
            query.text,
        ];
        let answer = run(arguments);
        assert_eq!(answer.code, Some(0), "{}: {}", query.name, answer.errors);
        let rows = answer.output.lines().count() as u64 - 1;
        assert_eq!(
            rows, expected,
            "{} on {universities} universities ({format})",
            query.name
        );
    }
    over_http(&store, universities);
    let check = run(["check", "-l", text(&store)]);
    assert_eq!(check.code, Some(0), "{}{}", check.output, check.errors);
}

fn over_http(store: &Path, universities: u32) {
    let mut server = Server::start(store);
    for query in &QUERIES {
        let expected = query.rows(universities).expect("these sizes are known");
        let body = server.post(query.text);
        assert_eq!(
            body.lines().count() as u64 - 1,
            expected,
            "{} over HTTP",
            query.name
        );
    }
}

/// A serving process, ended when it is dropped.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(store: &Path) -> Server {
        let mut command = somersault();
        command.args(["serve", "-l", text(store), "--bind", "127.0.0.1:0"]);
        let mut child = started(&mut command);
        let errors = BufReader::new(child.stderr.take().expect("captured"));
        let line = errors
            .lines()
            .map_while(Result::ok)
            .find(|line| line.contains("listens on"))
            .expect("the server says where it listens");
        let address = line
            .rsplit("http://")
            .next()
            .expect("an address")
            .trim()
            .to_owned();
        Server { child, address }
    }

    /// One request on a connection of its own; the body, without chunk headers.
    fn post(&mut self, query: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("the server accepts");
        write!(
            stream,
            "POST /sparql HTTP/1.0\r\nHost: {}\r\nContent-Type: application/sparql-query\r\n\
             Accept: text/csv\r\nContent-Length: {}\r\n\r\n{query}",
            self.address,
            query.len()
        )
        .expect("the server reads");
        let mut response = String::new();
        stream
            .read_to_string(&mut response)
            .expect("the server answers");
        let (head, body) = response.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.contains(" 200 "), "{head}\n{body}");
        body.to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Whether it has ended by itself already makes no difference.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
