//! WebSockets of strangers: what is no WebSocket, too long, too slow, silent, or of a page of somebody else.

use super::client::{self, encoded};
use super::served::*;
use super::socket::HANDSHAKE;
use serde_json::json;
use server::{Access, ServerOptions};
use somersault::config::{Right, Token};
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::Message;

const REPORTS: &str = "/api/v1/continuous/q/reports";
const LINE: &str = "5\t<http://e/a> <http://e/likes> <http://e/x> .";

#[test]
fn a_handshake_that_is_none_is_refused() {
    let served = Served::asked();
    let without = |left_out: usize, instead: &[&'static str]| {
        let mut fields = HANDSHAKE.to_vec();
        fields.remove(left_out);
        fields.extend(instead);
        served.send(&format!("GET {REPORTS}"), &fields, "")
    };
    without(0, &[]).problem(400);
    without(3, &[]).problem(400);
    without(3, &["Sec-WebSocket-Key: short"]).problem(400);
    let other = without(2, &["Sec-WebSocket-Version: 8"]);
    other.problem(426);
    assert_eq!(other.field("sec-websocket-version"), "13");
    // Without the wish to switch it is a request as any other.
    assert_eq!(without(1, &[]).status, 200);
    let body = served.send(&format!("GET {REPORTS}"), &HANDSHAKE, "a body");
    body.problem(400);
    // Where nothing is switched to, the wish is passed over.
    assert_eq!(
        served.send("GET /api/v1/streams", &HANDSHAKE, "").status,
        200
    );
    let post = served.send(&format!("POST {}", items(LIKES)), &[TS, HANDSHAKE[1]], LINE);
    assert_eq!(post.status, 200);
    served.until_metric("web_sockets", 0);
}

#[test]
fn a_handshake_that_is_half_open_ends_in_time() {
    let served = Served::asked_with(ServerOptions {
        head_timeout: Duration::from_millis(300),
        ..ServerOptions::default()
    });
    let mut half = client::connect(served.address());
    let head = format!("GET {REPORTS} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n");
    half.write_all(head.as_bytes()).unwrap();
    let begun = Instant::now();
    let mut rest = Vec::new();
    let _ = half.read_to_end(&mut rest);
    assert!(begun.elapsed() < Duration::from_secs(10));
    // One that is whole is not ended by the time of a head.
    let mut whole = served.socket(REPORTS, &[]);
    std::thread::sleep(Duration::from_millis(600));
    served.like_in(0..1);
    assert_eq!(whole.json()["number"], 1);
}

#[test]
fn a_message_beyond_the_limit_ends_its_socket_alone() {
    let served = Served::asked_with(ServerOptions {
        update_text_bytes_max: 64 << 10,
        ..ServerOptions::default()
    });
    let path = items(LIKES);
    let mut other = served.socket(&path, &[]);
    // In one frame, of which only the head has to come.
    let mut socket = served.socket(&path, &[]);
    socket
        .raw()
        .write_all(&[0x81, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        .unwrap();
    assert_eq!(socket.closed().0, 1009);
    let mut socket = served.socket(&path, &[]);
    socket.frame(0x81, &vec![b' '; 1 << 20]);
    assert_eq!(socket.closed().0, 1009);
    // In fragments, none of which is too long.
    let mut socket = served.socket(&path, &[]);
    socket.frame(0x01, &vec![b' '; 40 << 10]);
    socket.frame(0x00, &vec![b' '; 40 << 10]);
    let (code, reason) = socket.closed();
    assert_eq!(code, 1009);
    assert!(reason.contains("65536"), "{reason}");
    // Where no message is taken.
    let mut socket = served.socket(REPORTS, &[]);
    socket.frame(0x81, &vec![b' '; 8 << 10]);
    assert_eq!(socket.closed().0, 1009);
    let mut socket = served.socket(REPORTS, &[]);
    socket.say("hello");
    assert_eq!(socket.closed().0, 1008);
    assert_eq!(other.asked(LINE)["taken"], 1);
    drop(other);
    served.until_metric("web_sockets", 0);
}

#[test]
fn fragments_and_control_frames_are_what_they_are() {
    let served = Served::asked();
    let path = items(LIKES);
    let mut socket = served.socket(&path, &[]);
    let (one, other) = LINE.as_bytes().split_at(20);
    socket.frame(0x01, one);
    socket.frame(0x89, b"are you there");
    socket.frame(0x00, &[]);
    socket.frame(0x80, other);
    assert_eq!(socket.json()["taken"], 1);
    for (first, payload, code) in [
        // Binary, whole and in fragments.
        (0x82, LINE.as_bytes(), 1003),
        // No UTF-8.
        (0x81, &b"5\t\xff\xfe"[..], 1007),
        // The middle of a message that has not begun, an opcode that is none, reserved bits.
        (0x80, &b"x"[..], 1002),
        (0x83, &b"x"[..], 1002),
        (0xf1, &b"x"[..], 1002),
        // A control frame in fragments.
        (0x09, &b"x"[..], 1002),
    ] {
        let mut socket = served.socket(&path, &[]);
        socket.frame(first, payload);
        assert_eq!(socket.closed().0, code, "{first:x}");
    }
    let mut socket = served.socket(&path, &[]);
    socket.send(Message::binary(LINE.as_bytes().to_vec()));
    assert_eq!(socket.closed().0, 1003);
    // A frame without a mask.
    let mut socket = served.socket(&path, &[]);
    socket.raw().write_all(&[0x81, 1, b'x']).unwrap();
    assert_eq!(socket.closed().0, 1002);
    // A client that goes in the middle of a message.
    let mut socket = served.socket(&path, &[]);
    socket.frame(0x01, one);
    drop(socket);
    served.until_metric("web_sockets", 1);
}

#[test]
fn who_does_not_answer_or_takes_too_long_is_let_go() {
    let beat = Duration::from_millis(200);
    let served = Served::asked_with(ServerOptions {
        web_socket_beat: beat,
        body_timeout: Duration::from_millis(500),
        ..ServerOptions::default()
    });
    // One that answers stays.
    let mut there = served.socket(REPORTS, &[]);
    // One that never reads, so it answers nothing.
    let mut silent = served.socket(REPORTS, &[]);
    // One that sends a byte at a time.
    let mut slow = served.socket(&items(LIKES), &[]);
    let thread = std::thread::spawn(move || {
        slow.frame(0x01, b"5");
        for _ in 0..15 {
            slow.frame(0x00, b"5");
            std::thread::sleep(beat / 2);
        }
        slow.closed()
    });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            served.until_metric("web_sockets", 1);
            served.like_in(0..1);
        });
        // Reading is answering.
        assert_eq!(there.json()["number"], 1);
    });
    assert_eq!(silent.closed().0, 1008);
    let (code, reason) = thread.join().unwrap();
    assert_eq!((code, &*reason), (1008, "a message took too long"));
    there.close();
    served.until_metric("web_sockets", 0);
}

#[test]
fn rights_are_those_of_the_same_requests_without_a_socket() {
    let token = |right, secret: &str| Token {
        right,
        secret: secret.to_owned(),
    };
    let tokens = vec![
        token(Right::Read, "reader-reader-reader"),
        token(Right::Write, "writer-writer-writer"),
    ];
    let access = Access {
        anonymous: None,
        tokens,
    };
    let served = Served::of(in_memory(true), access);
    let make = json!({ "name": LIKES, "begin": 0 }).to_string();
    let made = served.send("POST /api/v1/streams", &[JSON, WRITER], &make);
    assert_eq!(made.status, 201);
    let made = served.send("POST /api/v1/continuous?name=q", &[TEXT, WRITER], QUESTION);
    assert_eq!(made.status, 201);
    let live = format!("/api/v1/subscribe?query={}", encoded("ASK {}"));
    for path in [items(LIKES), REPORTS.to_owned(), live.clone()] {
        let refused = served.handshake(&path, &[]).err().unwrap();
        refused.problem(401);
        let wrong = ["Authorization: Bearer nobody-nobody-nobody"];
        served.handshake(&path, &wrong).err().unwrap().problem(401);
        assert!(served.handshake(&path, &[WRITER]).is_ok());
    }
    let refused = served.handshake(&items(LIKES), &[READER]).err().unwrap();
    refused.problem(403);
    assert!(served.handshake(REPORTS, &[READER]).is_ok());
    assert!(served.handshake(&live, &[READER]).is_ok());
    // A token is none of a browser's own accord.
    let foreign = ["Origin: http://evil.example", WRITER];
    assert!(served.handshake(&items(LIKES), &foreign).is_ok());
    // A database that is only read.
    let served = Served::of(
        in_memory(false),
        Access {
            anonymous: Some(Right::Write),
            tokens: Vec::new(),
        },
    );
    served
        .handshake(&items(LIKES), &[])
        .err()
        .unwrap()
        .problem(403);
    served.handshake(REPORTS, &[]).err().unwrap().problem(404);
    assert!(served.handshake(&live, &[]).is_ok());
}

#[test]
fn pages_of_other_origins_open_no_socket() {
    let served = Served::asked();
    let live = format!("/api/v1/subscribe?query={}", encoded("ASK {}"));
    let paths = [items(LIKES), REPORTS.to_owned(), live];
    for path in &paths {
        for origin in [
            "Origin: http://evil.example",
            "Origin: null",
            "Origin: http://localhost:81",
            "Origin: http://localhost.evil.example",
        ] {
            let refused = served.handshake(path, &[origin]).err();
            refused.unwrap().problem(403);
        }
        assert!(
            served
                .handshake(path, &["Origin: http://localhost"])
                .is_ok()
        );
    }
    // A name that was made to lead here (DNS rebinding).
    let mut stream = client::connect(served.address());
    let fields = HANDSHAKE.join("\r\n");
    let head = format!(
        "GET {REPORTS} HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n{fields}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let answer = client::read_head(&mut std::io::BufReader::new(stream));
    assert_eq!(answer.status, 421);
    // Where pages of others may read, they may; they change nothing all the same.
    let served = Served::asked_with(ServerOptions {
        cross_origin: true,
        ..ServerOptions::default()
    });
    let foreign = ["Origin: http://other.example"];
    assert!(served.handshake(&paths[1], &foreign).is_ok());
    assert!(served.handshake(&paths[2], &foreign).is_ok());
    served
        .handshake(&paths[0], &foreign)
        .err()
        .unwrap()
        .problem(403);
}
