//! Answers as they may come: in one piece, byte by byte, broken off, and what is none.

use super::*;

fn response(keep: Option<usize>) -> Response {
    Response {
        keep,
        ..Response::default()
    }
}

/// Fed in pieces of so many bytes: rows, the body, and whether the connection is to be closed.
fn fed(answer: &str, piece: usize) -> Result<(u64, String, bool), HttpError> {
    let mut response = response(Some(1 << 20));
    let mut is_complete = false;
    for bytes in answer.as_bytes().chunks(piece) {
        assert!(!is_complete, "it is complete before its end");
        is_complete = response.feed(bytes)?;
    }
    if !is_complete {
        response.close()?;
    }
    let body = String::from_utf8(response.kept.clone()).unwrap();
    Ok((response.rows(), body, response.closes))
}

const BY_LENGTH: &str = "HTTP/1.1 200 OK\r\nServer: x\r\ncontent-length: 10\r\n\r\n?x\n<a>\n<b>";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
     3\r\n?x\n\r\nA;name=value\r\n<a>\n<bcd>\n\r\n0\r\nTrailer: x\r\n\r\n";
const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\nX: y\r\n\r\n?x\n<a>\n";
const OLD: &str = "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n?x\n";
const CLOSING: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

#[test]
fn answers_are_the_same_in_pieces_of_any_size() {
    let cases = [
        (BY_LENGTH, 2, "?x\n<a>\n<b>", false),
        (CHUNKED, 2, "?x\n<a>\n<bcd>\n", false),
        (UNTIL_CLOSE, 1, "?x\n<a>\n", true),
        (OLD, 0, "?x\n", true),
        (CLOSING, 0, "", true),
    ];
    for (answer, rows, body, closes) in cases {
        for piece in 1..=answer.len() {
            let found = fed(answer, piece).unwrap_or_else(|error| panic!("{answer:?}: {error}"));
            assert_eq!(found, (rows, body.to_owned(), closes), "{answer:?} {piece}");
        }
    }
}

#[test]
fn an_answer_that_breaks_off_is_none() {
    for answer in [BY_LENGTH, CHUNKED] {
        for end in 1..answer.len() {
            let mut response = response(None);
            assert!(!response.feed(&answer.as_bytes()[..end]).unwrap(), "{end}");
            assert!(matches!(response.close(), Err(HttpError::Closed)), "{end}");
        }
    }
}

#[test]
fn another_status_is_an_error_with_what_was_said() {
    let answer = "HTTP/1.1 400 Bad\r\nContent-Length: 7\r\n\r\nno such";
    for piece in 1..=answer.len() {
        let error = fed(answer, piece).unwrap_err();
        assert_eq!(error.to_string(), "the server answered 400: no such");
    }
    let empty = fed("HTTP/1.1 204 None\r\nContent-Length: 0\r\n\r\n", 100);
    assert!(matches!(empty, Err(HttpError::Status { status: 204, .. })));
}

#[test]
fn an_interim_answer_is_passed_over() {
    let answer = format!("HTTP/1.1 100 Continue\r\n\r\n{BY_LENGTH}");
    for piece in 1..=answer.len() {
        assert_eq!(fed(&answer, piece).unwrap().0, 2, "{piece}");
    }
}

#[test]
fn what_is_no_answer_is_refused() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(200_000));
    for answer in [
        "SSH-2.0-x\r\n\r\n",
        "HTTP/1.1 2x0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
        &long,
    ] {
        let mut response = response(None);
        let error = response.feed(answer.as_bytes()).unwrap_err();
        assert!(matches!(error, HttpError::Malformed(_)), "{answer:?}");
    }
}

#[test]
fn a_cleared_response_is_a_new_one() {
    let mut response = response(Some(100));
    assert!(response.feed(CHUNKED.as_bytes()).unwrap());
    response.clear();
    assert!(response.feed(BY_LENGTH.as_bytes()).unwrap());
    assert_eq!((response.rows(), response.kept.len()), (2, 10));
}

#[test]
fn addresses_are_checked() {
    let path = |url| Address::new(url).map(|address| address.path);
    assert_eq!(path("http://127.0.0.1:1").unwrap(), "/sparql");
    assert_eq!(path("http://127.0.0.1/").unwrap(), "/sparql");
    assert_eq!(path("http://127.0.0.1:1/q?a=b#c").unwrap(), "/q?a=b");
    for url in [
        "https://127.0.0.1/",
        "127.0.0.1",
        "http://127.0.0.1/a b",
        "http://u@127.0.0.1/",
        "http://127.0.0.1/\r\nX: y",
    ] {
        assert!(matches!(path(url), Err(HttpError::Address { .. })), "{url}");
    }
}

#[test]
fn a_request_has_its_length() {
    let mut text = "something before".to_owned();
    let address = Address::new("http://127.0.0.1:7/sparql").unwrap();
    address.request("ASK { ?ä ?b ?c }", &mut text);
    assert_eq!(
        text,
        "POST /sparql HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\
         Content-Type: application/sparql-query\r\nAccept: text/tab-separated-values\r\n\
         Content-Length: 17\r\n\r\nASK { ?ä ?b ?c }"
    );
}
