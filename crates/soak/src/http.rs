//! HTTP/1.1 by hand: requests as bytes over a socket of a chosen address, answers read to their end.
//!
//! Nothing of the server's is used, so what it gets wrong is not repeated here.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// Who asks: attackers and probes come from addresses of their own, as clients of two machines would.
#[derive(Clone, Copy)]
pub enum From {
    Attacker,
    Probe,
}

pub struct Connection {
    reader: BufReader<TcpStream>,
}

/// The end of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    pub status: u16,
    /// It was broken off before its end.
    pub cut: bool,
}

impl Connection {
    pub fn open(port: u16, from: From) -> io::Result<Self> {
        Ok(Self {
            reader: BufReader::with_capacity(64 << 10, connect(port, from, None)?),
        })
    }

    pub fn stream(&self) -> &TcpStream {
        self.reader.get_ref()
    }

    pub fn ask(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.reader.get_mut().write_all(request)?;
        self.answer(&mut io::sink())
    }

    pub fn answer(&mut self, body: &mut dyn Write) -> io::Result<Answer> {
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("not an answer"))?;
        let (mut length, mut chunked) = (0, false);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            chunked |= line.starts_with("transfer-encoding:") && line.contains("chunked");
        }
        let cut = if chunked {
            self.chunks(body)
        } else {
            io::copy(&mut self.reader.by_ref().take(length), body)? < length
        };
        Ok(Answer { status, cut })
    }

    /// Copies to the last chunk; whether it was broken off before.
    fn chunks(&mut self, body: &mut dyn Write) -> bool {
        loop {
            let size = self
                .line()
                .ok()
                .and_then(|line| u64::from_str_radix(&line, 16).ok());
            let Some(size) = size else { return true };
            let copied = io::copy(&mut self.reader.by_ref().take(size), body);
            if !copied.is_ok_and(|copied| copied == size) || self.line().is_err() {
                return true;
            }
            if size == 0 {
                return false;
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }
}

/// A socket from `from`'s address; `receive` bounds what the kernel buffers for one that never reads.
pub fn connect(port: u16, from: From, receive: Option<usize>) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    if let Some(bytes) = receive {
        socket.set_recv_buffer_size(bytes)?;
    }
    let address = match from {
        From::Attacker => Ipv4Addr::new(127, 0, 0, 2),
        From::Probe => Ipv4Addr::new(127, 0, 0, 3),
    };
    socket.bind(&SocketAddr::new(IpAddr::V4(address), 0).into())?;
    socket.connect_timeout(
        &SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port).into(),
        Duration::from_secs(10),
    )?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket.into())
}

pub fn query(text: &str, timeout: Option<u32>, accept: &str) -> Vec<u8> {
    let path = timeout.map_or("/sparql".to_owned(), |seconds| {
        format!("/sparql?timeout={seconds}")
    });
    post(&path, "application/sparql-query", accept, text)
}

pub fn update(text: &str, timeout: Option<u32>) -> Vec<u8> {
    let path = timeout.map_or("/update".to_owned(), |seconds| {
        format!("/update?timeout={seconds}")
    });
    post(&path, "application/sparql-update", "*/*", text)
}

pub fn post(path: &str, kind: &str, accept: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nAccept: {accept}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

pub fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n").into_bytes()
}
