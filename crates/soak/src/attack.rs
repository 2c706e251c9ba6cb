//! One kind of abuse, in a process of its own, five steps of `nice` back: its texts are made
//! beforehand where they are long, and answers are read to their end unless not reading is the abuse.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use crate::http::{Connection, From, connect, query};
use crate::texts;

/// Kinds with their clients: all at once, and what is added to heavy counting.
pub const ALL: [(&str, usize); 10] = [
    ("concat", 8),
    ("wide", 10),
    ("chain", 12),
    ("samples", 8),
    ("intersect", 10),
    ("product", 13),
    ("unread", 300),
    ("bodies", 45),
    ("put", 1),
    ("gzip", 2),
];
pub const HELD: [(&str, usize); 2] = [("heavy", 8), ("idle", 1100)];

const MADE_BEFORE: usize = 200;

pub fn run(kind: &str, clients: usize, port: u16, lasts: Duration, folder: &Path) {
    let until = Instant::now() + lasts;
    match kind {
        "unread" => unread(clients, port, until),
        "idle" => idle(clients, port, until),
        "bodies" => together(clients, until, |_| unfinished(port)),
        "put" => together(clients, until, |at| put(port, at, 10_000_000)),
        "gzip" => together(clients, until, |_| gzip(port, folder)),
        kind => {
            let salt = std::process::id() as usize * 1_000_003;
            let made: Vec<Vec<u8>> = (0..MADE_BEFORE)
                .map(|at| request(kind, salt + at))
                .collect();
            together(clients, until, |at| {
                let asked = Connection::open(port, From::Attacker)
                    .and_then(|mut open| open.ask(&made[at % MADE_BEFORE]));
                asked.map(drop)
            });
        }
    }
}

fn request(kind: &str, fresh: usize) -> Vec<u8> {
    let accept = match fresh % 3 {
        0 => "application/sparql-results+json",
        1 => "application/sparql-results+xml",
        _ => "text/tab-separated-values",
    };
    let text = match kind {
        "concat" => texts::concat(fresh),
        "wide" => texts::wide(fresh),
        "chain" => texts::chain(fresh),
        "samples" => texts::samples(fresh),
        "intersect" => texts::intersect(fresh),
        "product" => texts::product(fresh),
        "heavy" => texts::heavy(fresh),
        kind => panic!("no abuse is called {kind}"),
    };
    query(&text, None, accept)
}

/// Each client does its part again and again; one that was refused waits a moment, as attackers need not.
fn together(clients: usize, until: Instant, part: impl Fn(usize) -> io::Result<()> + Sync) {
    scope(|scope| {
        for client in 0..clients {
            let part = &part;
            scope.spawn(move || {
                let mut round = 0;
                while Instant::now() < until {
                    let begin = Instant::now();
                    let _ended_somehow = part(client + round * clients);
                    round += 1;
                    sleep(Duration::from_millis(50).saturating_sub(begin.elapsed()));
                }
            });
        }
    });
}

/// Everything is asked for and nothing read; the oldest of them goes and comes again.
fn unread(clients: usize, port: u16, until: Instant) {
    let ask = || -> io::Result<TcpStream> {
        let mut socket = connect(port, From::Attacker, Some(4096))?;
        socket.write_all(&query(
            "SELECT * { ?s ?p ?o }",
            None,
            "application/sparql-results+json",
        ))?;
        Ok(socket)
    };
    let mut held = VecDeque::new();
    while Instant::now() < until {
        held.extend(ask());
        if held.len() > clients {
            held.pop_front();
        }
        sleep(Duration::from_millis(if held.len() < clients {
            3
        } else {
            100
        }));
    }
}

/// Sockets that say nothing; those that were closed are opened again.
fn idle(clients: usize, port: u16, until: Instant) {
    let mut held: Vec<TcpStream> = Vec::new();
    while Instant::now() < until {
        held.retain(|socket| {
            let open = socket.peek(&mut [0]);
            open.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        });
        while held.len() < clients && Instant::now() < until {
            let Ok(socket) = connect(port, From::Attacker, None) else {
                break;
            };
            if socket.set_nonblocking(true).is_ok() {
                held.push(socket);
            }
        }
        sleep(Duration::from_secs(1));
    }
}

/// 59 of 60 MB of an update, and then nothing.
fn unfinished(port: u16) -> io::Result<()> {
    let mut socket = connect(port, From::Attacker, None)?;
    socket.set_write_timeout(Some(Duration::from_secs(5)))?;
    socket.write_all(
        b"POST /update HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sparql-update\r\nContent-Length: 60000000\r\n\r\n",
    )?;
    let part = vec![b' '; 1_000_000];
    for _ in 0..59 {
        socket.write_all(&part)?;
    }
    sleep(Duration::from_secs(5));
    Ok(())
}

/// `count` statements into a graph of their own.
pub fn put(port: u16, at: usize, count: usize) -> io::Result<()> {
    let mut open = Connection::open(port, From::Attacker)?;
    let mut socket = open.stream().try_clone()?;
    socket.write_all(
        format!("PUT /store?graph=http://e/big{at} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/n-triples\r\nTransfer-Encoding: chunked\r\n\r\n").as_bytes(),
    )?;
    let mut part = Vec::with_capacity(80_000);
    for each in 0..count {
        writeln!(
            part,
            "<http://e/s{}> <http://e/p{}> <http://e/o{each}> .",
            each / 4,
            each % 4
        )?;
        if part.len() > 64_000 || each + 1 == count {
            write!(socket, "{:x}\r\n", part.len())?;
            part.extend_from_slice(b"\r\n");
            socket.write_all(&part)?;
            part.clear();
        }
    }
    socket.write_all(b"0\r\n\r\n")?;
    let answer = open.answer(&mut io::sink())?;
    if answer.status >= 300 {
        return Err(io::Error::other(format!("PUT: {answer:?}")));
    }
    Ok(())
}

/// A literal of 2 GB in a few MB of gzip.
fn gzip(port: u16, folder: &Path) -> io::Result<()> {
    let body = fs::read(folder.join("literal.gz"))?;
    let mut open = Connection::open(port, From::Attacker)?;
    let mut socket = open.stream().try_clone()?;
    socket.write_all(
        format!("PUT /store?graph=http://e/literal HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/n-triples\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(),
    )?;
    socket.write_all(&body)?;
    open.answer(&mut io::sink()).map(drop)
}

/// Makes what [`run`] reads from its folder.
pub fn prepare(folder: &Path) -> io::Result<()> {
    if folder.join("literal.gz").exists() {
        return Ok(());
    }
    let made = std::process::Command::new("sh")
        .arg("-c")
        .arg("(printf '<http://e/s> <http://e/p> \"'; head -c 2000000000 /dev/zero | tr '\\0' a; printf '\" .\\n') | gzip -1 > literal.gz.new && mv literal.gz.new literal.gz")
        .current_dir(folder)
        .status()?;
    made.success()
        .then_some(())
        .ok_or_else(|| io::Error::other("gzip failed"))
}
