//! A client of WebSockets: its handshake is written out, its frames are the library's, or whatever an attack needs.

use super::client::{self, Answer};
use super::served::Served;
use serde_json::Value;
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocket};
use tokio_tungstenite::tungstenite::{Error, Message};

/// The key of RFC 6455 section 1.3, and what it is answered with.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// What a handshake says.
pub const HANDSHAKE: [&str; 4] = [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

pub struct Socket(WebSocket<TcpStream>);

impl Served {
    /// A socket at this address.
    #[track_caller]
    pub fn socket(&self, path: &str, fields: &[&str]) -> Socket {
        let opened = self.handshake(path, fields);
        opened.unwrap_or_else(|answer| panic!("{path}: {answer:?}"))
    }

    /// The same, or the answer that is none.
    pub fn handshake(&self, path: &str, fields: &[&str]) -> Result<Socket, Box<Answer>> {
        assert!(HANDSHAKE[3].ends_with(KEY));
        let mut stream = client::connect(self.address());
        let all = [&HANDSHAKE[..], fields].concat();
        client::request(&mut stream, &format!("GET {path}"), &all, b"");
        let mut stream = BufReader::new(stream);
        let mut head = client::read_head(&mut stream);
        if head.status != 101 {
            let length: u64 = head.field("content-length").parse().unwrap();
            stream.take(length).read_to_end(&mut head.body).unwrap();
            return Err(Box::new(head));
        }
        assert_eq!(head.field("sec-websocket-accept"), ACCEPT);
        assert_eq!(head.field("upgrade"), "websocket");
        let ahead = stream.buffer().to_vec();
        let (stream, role) = (stream.into_inner(), Role::Client);
        Ok(Socket(WebSocket::from_partially_read(
            stream, ahead, role, None,
        )))
    }
}

impl Socket {
    #[track_caller]
    pub fn send(&mut self, message: Message) {
        self.0.send(message).unwrap();
    }

    #[track_caller]
    pub fn say(&mut self, text: &str) {
        self.send(Message::text(text));
    }

    /// The next text.
    #[track_caller]
    pub fn text(&mut self) -> String {
        loop {
            match self.0.read().unwrap() {
                Message::Text(text) => return text.to_string(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    #[track_caller]
    pub fn json(&mut self) -> Value {
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Says something and hears the answer.
    #[track_caller]
    pub fn asked(&mut self, text: &str) -> Value {
        self.say(text);
        self.json()
    }

    /// The status with which it is closed by the server, and the reason.
    #[track_caller]
    pub fn closed(&mut self) -> (u16, String) {
        loop {
            match self.0.read() {
                Ok(Message::Close(Some(frame))) => {
                    return (frame.code.into(), frame.reason.to_string());
                }
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Closes it, as a client does.
    pub fn close(mut self) {
        self.0.close(None).unwrap();
        loop {
            match self.0.read() {
                Ok(_) => {}
                Err(Error::ConnectionClosed) => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The connection below.
    pub fn raw(&mut self) -> &mut TcpStream {
        self.0.get_mut()
    }

    /// Sends a frame of a client's, with a mask of zeros: its first byte, and what it carries.
    pub fn frame(&mut self, first: u8, payload: &[u8]) {
        let mut bytes = vec![first];
        match u16::try_from(payload.len()) {
            Ok(length @ ..126) => bytes.push(0x80 | length as u8),
            Ok(length) => {
                bytes.push(0x80 | 0x7e);
                bytes.extend(length.to_be_bytes());
            }
            Err(_) => {
                bytes.push(0x80 | 127);
                bytes.extend((payload.len() as u64).to_be_bytes());
            }
        }
        bytes.extend([0; 4]);
        bytes.extend(payload);
        // Who is refused meanwhile is told so by what can be read.
        let _ = self.raw().write_all(&bytes);
    }
}
