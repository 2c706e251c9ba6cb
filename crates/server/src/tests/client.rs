//! A client of a few lines that hides nothing: it says whether a body came to its proper end.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A response.
#[derive(Debug, Default)]
pub struct Answer {
    pub status: u16,
    pub fields: HashMap<String, String>,
    pub body: Vec<u8>,
    pub trailers: HashMap<String, String>,
    /// The body came to its end as its head announced it.
    pub whole: bool,
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    pub fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// Checks that this is a problem document of this status, and gives it.
    #[track_caller]
    pub fn problem(&self, status: u16) -> serde_json::Value {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.field("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["status"], status);
        for member in ["type", "title", "detail"] {
            assert!(
                problem[member]
                    .as_str()
                    .is_some_and(|text| !text.is_empty()),
                "{problem}"
            );
        }
        problem
    }
}

pub fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_mins(2)))
        .unwrap();
    stream
}

/// One request on a connection of its own.
pub fn send(address: SocketAddr, line: &str, fields: &[&str], body: &[u8]) -> Answer {
    let mut stream = connect(address);
    request(&mut stream, line, fields, body);
    read(&mut BufReader::new(stream), line.starts_with("HEAD "))
}

/// Writes a request; a body gets its length, unless the fields say how it comes.
pub fn request(stream: &mut TcpStream, line: &str, fields: &[&str], body: &[u8]) {
    let mut head = format!("{line} HTTP/1.1\r\nHost: localhost\r\n");
    for field in fields {
        head.push_str(field);
        head.push_str("\r\n");
    }
    let announced = fields
        .iter()
        .any(|field| field.starts_with("Content-Length"));
    if !body.is_empty() && !announced {
        head.push_str("Content-Length: ");
        head.push_str(&body.len().to_string());
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body);
    stream.write_all(&bytes).unwrap();
}

/// Reads a response.
pub fn read(stream: &mut impl BufRead, head_only: bool) -> Answer {
    let mut answer = read_head(stream);
    if head_only || matches!(answer.status, 204 | 304) {
        answer.whole = true;
    } else if answer.field("transfer-encoding") == "chunked" {
        answer.whole = read_chunks(stream, &mut answer).is_some();
    } else {
        let length: u64 = answer.field("content-length").parse().unwrap();
        stream.take(length).read_to_end(&mut answer.body).unwrap();
        answer.whole = answer.body.len() as u64 == length;
    }
    answer
}

pub fn read_head(stream: &mut impl BufRead) -> Answer {
    let first = line(stream).expect("a status line");
    let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
    let mut answer = Answer {
        status: status.unwrap(),
        ..Answer::default()
    };
    answer.fields = read_fields(stream).expect("a whole head");
    answer
}

/// Nothing when the body breaks off.
fn read_chunks(stream: &mut impl BufRead, answer: &mut Answer) -> Option<()> {
    loop {
        let size = u64::from_str_radix(&line(stream)?, 16).ok()?;
        if size == 0 {
            answer.trailers = read_fields(stream)?;
            return Some(());
        }
        let before = answer.body.len();
        stream.take(size).read_to_end(&mut answer.body).ok()?;
        (answer.body.len() - before == size as usize).then_some(())?;
        line(stream)?;
    }
}

fn read_fields(stream: &mut impl BufRead) -> Option<HashMap<String, String>> {
    let mut fields = HashMap::new();
    loop {
        let line = line(stream)?;
        if line.is_empty() {
            return Some(fields);
        }
        let (name, value) = line.split_once(':')?;
        fields.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
}

fn line(stream: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    line.ends_with("\r\n").then(|| line.trim_end().to_owned())
}
