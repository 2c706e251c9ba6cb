//! `query --endpoint`: against our own server, and against a listener that says whatever a test
//! needs: other formats, problems, redirects, bodies that break off.

use crate::common;

use common::{Run, run, run_with_input, somersault, started, text, write};
use somersault::{AnswerFormat, ResultFormat};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const SELECT: &str = "SELECT ?x { ?x ?y ?z }";
const CONSTRUCT: &str = "CONSTRUCT { ?x ?y ?z } WHERE { ?x ?y ?z }";
const JSON: &str = "{\"head\":{\"vars\":[\"x\"]},\"results\":{\"bindings\":[\
                    {\"x\":{\"type\":\"uri\",\"value\":\"http://e/a\"}}]}}";

fn ask(url: &str, query: &str, more: &[&str]) -> Run {
    let mut arguments = vec!["query", "--endpoint", url, "--query", query];
    arguments.extend(more);
    run(arguments)
}

/// Answers one connection after the other with these bytes, and gives what it was sent.
fn listener(answers: Vec<String>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!(
        "http://{}/sparql",
        listener.local_addr().expect("it is bound")
    );
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else {
                return;
            };
            let request = request(&stream);
            let _ = stream.write_all(answer.as_bytes());
            let _ = sender.send(request);
        }
    });
    (url, receiver)
}

fn request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            break;
        }
    }
    let lower = head.to_ascii_lowercase();
    let length = lower
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    let length = length
        .and_then(|length| length.trim().parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    head + &String::from_utf8_lossy(&body)
}

fn answer(status: &str, media_type: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

/// An answer that ends where the connection does.
fn unmeasured(media_type: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nConnection: close\r\n\r\n{body}")
}

#[test]
fn xml_that_breaks_off_is_no_answer() {
    const RESULTS: &str = "<sparql xmlns=\"http://www.w3.org/2005/sparql-results#\"><head>\
        <variable name=\"x\"/></head><results><result><binding name=\"x\"><uri>http://e/a</uri>\
        </binding></result></results></sparql>";
    const BOOLEAN: &str = "<sparql xmlns=\"http://www.w3.org/2005/sparql-results#\"><head/>\
        <boolean>true</boolean></sparql>";
    const GRAPH: &str = "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\
        <rdf:Description rdf:about=\"http://e/a\"><p xmlns=\"http://e/\">b</p></rdf:Description>\
        </rdf:RDF>";
    let results = "application/sparql-results+xml";
    let cases = [
        (SELECT, results, RESULTS, "</results></sparql>", "xml"),
        (SELECT, results, RESULTS, "</results></sparql>", "json"),
        (SELECT, results, RESULTS, "</sparql>", "tsv"),
        ("ASK {}", results, BOOLEAN, "</sparql>", "json"),
        ("ASK {}", results, BOOLEAN, "</boolean></sparql>", "csv"),
        (
            CONSTRUCT,
            "application/rdf+xml",
            GRAPH,
            "</rdf:RDF>",
            "rdfxml",
        ),
        (
            CONSTRUCT,
            "application/rdf+xml",
            GRAPH,
            "</rdf:RDF>",
            "ntriples",
        ),
    ];
    for (query, media_type, body, end, format) in cases {
        let broken = body.strip_suffix(end).expect("it ends so");
        let (url, _) = listener(vec![
            unmeasured(media_type, body),
            unmeasured(media_type, broken),
        ]);
        let more = ["--results-format", format];
        let whole = ask(&url, query, &more);
        assert_eq!(whole.code, Some(0), "{format}: {}", whole.errors);
        let run = ask(&url, query, &more);
        assert_eq!(run.code, Some(1), "{format}: {}{}", run.output, run.errors);
        assert!(run.errors.contains("broke off"), "{format}: {}", run.errors);
    }
}

#[test]
fn answers_are_passed_on_or_written_anew() {
    let json = || {
        answer(
            "200 OK",
            "application/sparql-results+json; charset=utf-8",
            JSON,
        )
    };
    for (format, expected) in [
        ("json", format!("{JSON}\n")),
        ("csv", "x\r\nhttp://e/a\r\n".to_owned()),
        (
            "table",
            "x\n------------\n<http://e/a>\n(1 row)\n".to_owned(),
        ),
    ] {
        let (url, requests) = listener(vec![json()]);
        let run = ask(
            &url,
            SELECT,
            &["--results-format", format, "--header", "X-Key: secret"],
        );
        assert_eq!(run.code, Some(0), "{}", run.errors);
        assert_eq!(run.output, expected);
        let request = requests.recv().expect("the listener was asked");
        assert!(
            request.starts_with("POST /sparql HTTP/1.1\r\n"),
            "{request}"
        );
        assert!(request.ends_with(SELECT), "{request}");
        assert!(
            request.to_lowercase().contains("x-key: secret"),
            "{request}"
        );
    }
}

/// An endpoint may be anybody's: a token that is only in the environment stays there.
#[test]
fn a_token_is_sent_where_it_is_asked_for() {
    for (more, in_environment, sent) in [
        (&["--token", "told"][..], "kept", Some("bearer told")),
        (&["--token"], "kept", Some("bearer kept")),
        (&[], "kept", None),
        (&["--token", "--timeout", "9s"], "", None),
    ] {
        let json = answer("200 OK", "application/sparql-results+json", JSON);
        let (url, requests) = listener(vec![json]);
        let mut command = common::somersault();
        command.args(["query", "--endpoint", &url, "--query", SELECT]);
        command.args(more).env("SOMERSAULT_TOKEN", in_environment);
        let status = command.output().expect("the binary starts").status;
        assert_eq!(status.code(), Some(0), "{more:?}");
        let request = requests.recv().expect("the listener was asked");
        let request = request.to_lowercase();
        let found = request
            .lines()
            .find_map(|line| line.strip_prefix("authorization: "));
        assert_eq!(found, sent, "{more:?}");
    }
}

#[test]
fn graphs_are_passed_on_or_written_anew() {
    let turtle = "@prefix e: <http://e/> .\ne:a e:b e:c .\n";
    for (format, expected) in [
        ("turtle", turtle),
        ("ntriples", "<http://e/a> <http://e/b> <http://e/c> .\n"),
    ] {
        let (url, _requests) = listener(vec![answer("200 OK", "text/turtle", turtle)]);
        let query = "CONSTRUCT WHERE { ?x ?y ?z }";
        let run = ask(&url, query, &["--results-format", format]);
        assert_eq!(run.code, Some(0), "{}", run.errors);
        assert_eq!(run.output, expected);
    }
}

#[test]
fn formats_that_cannot_hold_the_answer_are_refused_before_anything_is_sent() {
    let url = "http://127.0.0.1:1/";
    let run = ask(url, SELECT, &["--results-format", "turtle"]);
    assert_eq!(run.code, Some(2), "{}", run.errors);
    let run = ask(url, "DESCRIBE <http://e/>", &["--results-format", "csv"]);
    assert_eq!(run.code, Some(2), "{}", run.errors);
    assert!(run.errors.contains("ntriples"), "{}", run.errors);
}

#[test]
fn problems_become_exit_codes_and_places() {
    let problem = "{\"title\":\"No\",\"detail\":\"it is wrong\",\"position\":{\"line\":1,\
                   \"column\":8},\"further\":[{\"detail\":\"this too\",\"position\":{\"line\":1,\"column\":9}}]}";
    let kind = "application/problem+json";
    for (status, code) in [
        ("400 Bad Request", 6),
        ("401 Unauthorized", 5),
        ("403 Forbidden", 5),
        ("422 Unprocessable Content", 7),
        ("504 Gateway Timeout", 7),
        ("500 Internal Server Error", 1),
    ] {
        let (url, _requests) = listener(vec![answer(status, kind, problem)]);
        let run = ask(&url, SELECT, &[]);
        assert_eq!(run.code, Some(code), "{status}: {}", run.errors);
        assert!(run.errors.contains("it is wrong"), "{}", run.errors);
        let shows_place = run.errors.contains("1 | SELECT ?x") && run.errors.contains("|        ^");
        assert_eq!(shows_place, code == 6, "{}", run.errors);
        let shows_further = run.errors.contains("line 1, column 9: this too");
        assert_eq!(shows_further, code == 6, "{}", run.errors);
    }
    let (url, _requests) = listener(vec![answer("200 OK", "text/html", "<p>hello</p>")]);
    let run = ask(&url, SELECT, &[]);
    assert_eq!(run.code, Some(1), "{}", run.errors);
    assert!(run.errors.contains("text/html"), "{}", run.errors);
}

#[test]
fn nobody_there_is_a_connection_that_failed() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.local_addr().expect("it is bound").port()
    };
    let run = ask(&format!("http://127.0.0.1:{port}/"), SELECT, &[]);
    assert_eq!(run.code, Some(4), "{}", run.errors);
    let run = ask("ftp://e/", SELECT, &[]);
    assert_eq!(run.code, Some(2), "{}", run.errors);
}

#[test]
fn a_redirect_takes_the_query_along_and_headers_only_home() {
    let json = answer("200 OK", "application/sparql-results+json", JSON);
    let (there, requests) = listener(vec![json]);
    let moved = format!(
        "HTTP/1.1 301 Moved Permanently\r\nLocation: {there}\r\nContent-Length: 0\r\n\
         Connection: close\r\n\r\n"
    );
    let (url, _first) = listener(vec![moved]);
    let run = ask(&url, SELECT, &["--header", "Authorization: secret"]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    let request = requests.recv().expect("the listener was asked");
    assert!(
        request.starts_with("POST ") && request.ends_with(SELECT),
        "{request}"
    );
    assert!(!request.contains("secret"), "{request}");
}

#[test]
fn an_answer_that_breaks_off_is_an_error() {
    let broken = "HTTP/1.1 200 OK\r\nContent-Type: text/tab-separated-values\r\n\
                  Transfer-Encoding: chunked\r\n\r\n1e\r\n?x\n<http://e/a>\n# error: late\n\r\n";
    for format in ["tsv", "json"] {
        let (url, _requests) = listener(vec![broken.to_owned()]);
        let run = ask(&url, SELECT, &["--results-format", format]);
        assert_eq!(run.code, Some(1), "{}", run.errors);
    }
    let (url, _requests) = listener(vec![broken.to_owned()]);
    let run = ask(&url, SELECT, &["--results-format", "tsv"]);
    assert!(run.errors.contains("late"), "{}", run.errors);
}

#[test]
fn silence_ends_at_the_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    let begun = Instant::now();
    let run = ask(&url, SELECT, &["--timeout", "100ms"]);
    assert_eq!(run.code, Some(7), "{}", run.errors);
    assert!(begun.elapsed() < Duration::from_secs(15));
}

struct Server(Child, String);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(data: &str) -> Server {
    let mut child = started(somersault().args(["serve", "--bind", "127.0.0.1:0", data]));
    let errors = child.stderr.take().expect("a pipe was asked for");
    let mut lines = BufReader::new(errors).lines();
    let url = lines.find_map(|line| {
        let line = line.ok()?;
        let at = line.find("http://")?;
        let rest = &line[at..];
        let end = rest.find(|c: char| c.is_whitespace() || c == '"' || c == ',');
        Some(
            rest[..end.unwrap_or(rest.len())]
                .trim_end_matches('/')
                .to_owned(),
        )
    });
    // Whoever reads no more must not stop it from writing.
    std::thread::spawn(move || lines.for_each(drop));
    Server(child, url.expect("the server says where it is"))
}

#[test]
fn our_own_server_answers_as_the_store_does() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = "<http://e/a> <http://e/b> \"c\"@en .\n";
    let file = write(folder.path(), "data.nt", data);
    let server = serve(text(&file));
    let url = format!("{}/sparql", server.1);
    let begun = Instant::now();
    let query = "SELECT * { ?s ?p ?o }";
    while ask(&url, query, &[]).code != Some(0) && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let formats = ResultFormat::ALL.map(|format| AnswerFormat::Rows(format).name());
    for format in formats.into_iter().chain(["table"]) {
        let more = ["--results-format", format];
        let mut local = vec!["query", "--data", text(&file), "--query", query];
        local.extend(more);
        let (here, there) = (run(local), ask(&url, query, &more));
        assert_eq!(there.code, Some(0), "{}", there.errors);
        assert_eq!(there.output, here.output, "{format}");
    }
    // The address of the server is as good as that of its endpoint.
    for root in [server.1.clone(), format!("{}/", server.1)] {
        let run = ask(&root, query, &["--results-format", "csv"]);
        assert_eq!(run.code, Some(0), "{}", run.errors);
    }
    let open = format!(".open {}\nASK {{}};\n", server.1);
    let run = run_with_input(&["shell", "--data", text(&file)], open.as_bytes());
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert!(
        run.errors.contains("/sparql answers, somersault/"),
        "{}",
        run.errors
    );
    let open = ".open http://127.0.0.1:1\n";
    let run = run_with_input(&["shell", "--data", text(&file)], open.as_bytes());
    assert_eq!(run.code, Some(4), "{}", run.errors);
    let wrong = "SELECT *\n{ ?s oops }";
    let run = ask(&url, wrong, &[]);
    assert_eq!(run.code, Some(6), "{}", run.errors);
    assert!(run.errors.contains("2 | { ?s oops }"), "{}", run.errors);
}

/// A server with this data that answers, and the file.
fn served(folder: &std::path::Path, data: &str) -> (Server, std::path::PathBuf) {
    let file = write(folder, "served.nq", data);
    let server = serve(text(&file));
    let begun = Instant::now();
    while ask(&server.1, "ASK {}", &[]).code != Some(0) && begun.elapsed() < Duration::from_secs(20)
    {
        std::thread::sleep(Duration::from_millis(50));
    }
    (server, file)
}

const NAMES: &str = "<http://e/a> <http://e/name> \"x\" .\n<http://e/b> <http://e/name> \"y\"@en .\n\
                     <http://e/b> <http://e/age> 5 .\n";

fn names() -> String {
    NAMES.replace(" 5 ", " \"5\"^^<http://www.w3.org/2001/XMLSchema#integer> ")
}

/// The query that parameters are given to.
const GIVEN: &str = "SELECT ?s ?o { ?s ?p ?o FILTER(?o != ?none) }";

/// Its answer by the file and by the server.
fn given(file: &std::path::Path, server: &Server, parameters: &[&str]) -> [Run; 2] {
    let csv = ["--results-format", "csv"];
    let mut local = vec!["query", "--data", text(file), "--query", GIVEN];
    local.extend(csv.iter().chain(parameters));
    let there: Vec<&str> = csv.iter().chain(parameters).copied().collect();
    [run(local), ask(&server.1, GIVEN, &there)]
}

#[test]
fn parameters_give_variables_a_value_here_and_there() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (server, file) = served(folder.path(), &names());
    let a = "s,o\r\nhttp://e/a,x\r\n";
    for (parameters, expected) in [
        (["s=<http://e/a>", "none=1"], a),
        (["?o=\"x\"", "$none=1"], a),
        (["o=\"x\"@en", "none=1"], "s,o\r\n"),
        (["o=5", "none='a=b&c'"], "s,o\r\nhttp://e/b,5\r\n"),
    ] {
        let [first, second] = parameters;
        for run in given(&file, &server, &["--param", first, "--param", second]) {
            let outcome = (run.code, &*run.output);
            assert_eq!(
                outcome,
                (Some(0), expected),
                "{parameters:?}: {}",
                run.errors
            );
        }
    }
    let plan = [
        "query",
        "--data",
        text(&file),
        "--query",
        GIVEN,
        "--explain",
    ];
    let plan = run(plan.into_iter().chain(["--param", "s=<http://e/a>"]));
    assert!(
        plan.output.contains("values ?s of 1 rows"),
        "{}",
        plan.output
    );
}

#[test]
fn parameters_that_mean_nothing_are_refused_here_and_there() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (server, file) = served(folder.path(), &names());
    for (parameters, code, said) in [
        (
            &["z=1"][..],
            6,
            "no variable ?z to be bound; it has ?none, ?o, ?p, ?s",
        ),
        (
            &["o=<http://e/a b>"],
            6,
            "line 1, column 1 of the term for ?o",
        ),
        (&["o=x"], 6, "a string in quotation marks"),
        (&["o=_:b"], 6, "term for ?o"),
        (&["o"], 2, "expected NAME=TERM"),
        (&["=1"], 2, "expected NAME=TERM"),
        (&["o="], 2, "expected NAME=TERM"),
        (&["o=1", "?o=2"], 2, "?o has a term already"),
    ] {
        let flags: Vec<&str> = parameters.iter().flat_map(|p| ["--param", p]).collect();
        for run in given(&file, &server, &flags) {
            assert_eq!(run.code, Some(code), "{parameters:?}: {}", run.errors);
            assert!(run.errors.contains(said), "{parameters:?}: {}", run.errors);
        }
    }
}

#[test]
fn warnings_of_a_server_go_to_standard_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (server, file) = served(folder.path(), &names());
    for (query, formats) in [
        (
            "SELECT ?n { ?s <http://e/nmae> ?n }",
            &["table", "json", "csv", "tsv", "xml"][..],
        ),
        (
            "CONSTRUCT WHERE { ?s <http://e/nmae> ?n }",
            &["ntriples", "turtle"],
        ),
        ("ASK { ?s <http://e/name> ?n }", &["tsv"]),
    ] {
        for format in formats {
            let more = ["--results-format", format];
            let mut local = vec!["query", "--data", text(&file), "--query", query];
            local.extend(more);
            let (here, there) = (run(local), ask(&server.1, query, &more));
            assert_eq!(there.code, Some(0), "{}", there.errors);
            assert_eq!(there.output, here.output, "{format}");
            assert_eq!(there.errors, here.errors, "{format}");
            assert_eq!(
                there.errors.contains("warning: no statement has"),
                query.contains("nmae")
            );
        }
    }
}

/// A plan without the times that it took.
fn timeless(plan: &str) -> String {
    let lines = plan.lines().filter(|line| !line.starts_with("parsed in "));
    let words = |line: &str| {
        let words = line.split_whitespace().filter(|word| {
            !word.starts_with(|c: char| c.is_ascii_digit()) && !matches!(*word, "ns" | "us" | "ms")
        });
        words.collect::<Vec<_>>().join(" ")
    };
    lines.map(words).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_server_says_its_plans_as_a_store_does() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (server, file) = served(folder.path(), &names());
    let query = "PREFIX e: <http://e/> SELECT * { ?s e:name ?n { ?s e:age ?o } UNION { ?s e:name ?o } \
                 OPTIONAL { ?s e:age ?a FILTER(?a > 3) } } ORDER BY ?s";
    let explained = |flag: &str| {
        let local = ["query", "--data", text(&file), "--query", query, flag];
        (run(local), ask(&server.1, query, &[flag]))
    };
    let (here, there) = explained("--explain");
    assert_eq!(there.code, Some(0), "{}", there.errors);
    assert_eq!(there.output, here.output);
    assert!(there.output.contains("UNION"), "{}", there.output);
    let (here, there) = explained("--profile");
    assert_eq!(there.code, Some(0), "{}", there.errors);
    assert_eq!(timeless(&there.output), timeless(&here.output));
    assert!(there.output.contains("parsed in "), "{}", there.output);
    let json = ask(&server.1, query, &["--profile", "--results-format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&json.output).expect("a document");
    assert!(document["steps"][0]["found"]["rows"].is_u64(), "{document}");
    let bound = ask(
        &server.1,
        query,
        &["--explain", "--param", "s=<http://e/b>"],
    );
    assert!(
        bound.output.contains("values ?s of 1 rows"),
        "{}{}",
        bound.output,
        bound.errors
    );
    let wrong = ask(&server.1, "SELECT *\n{ ?s oops }", &["--explain"]);
    assert_eq!(wrong.code, Some(6), "{}", wrong.errors);
    assert!(wrong.errors.contains("2 | { ?s oops }"), "{}", wrong.errors);
    let script = format!(".open {}\n.explain {query};\n", server.1);
    let shell = run_with_input(&["shell", "--data", text(&file)], script.as_bytes());
    assert_eq!(shell.code, Some(0), "{}", shell.errors);
    assert!(shell.output.contains(" plan, about "), "{}", shell.output);
    // Another server answers the query, as if nothing else had been asked.
    let (url, _) = listener(vec![answer(
        "200 OK",
        "application/sparql-results+json",
        JSON,
    )]);
    let foreign = ask(&url, SELECT, &["--explain"]);
    assert_eq!(foreign.code, Some(1), "{}", foreign.errors);
    assert!(
        foreign.errors.contains("no plan came"),
        "{}",
        foreign.errors
    );
}
