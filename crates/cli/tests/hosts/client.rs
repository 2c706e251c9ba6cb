//! Clients that ask one node after the other, each question with a deadline, and note what came.

use super::chance::Random;
use crate::nodes::{Answer, TRIANGLES, UB};
use serde_json::Value;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// For how long beyond its deadline an answer is waited for: whoever takes longer hangs.
const HANGS: Duration = Duration::from_secs(10);

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(1);

/// What a client rests between two questions.
const REST: Duration = Duration::from_millis(15);

/// A question, and the rows of its one right answer; `None`: it cannot be answered within any deadline of these clients.
pub struct Question {
    pub text: String,
    pub rows: Option<Vec<String>>,
}

/// What came.
#[derive(Debug)]
#[allow(dead_code)] // what is printed is not read
pub enum Came {
    /// The whole answer, and it is right.
    Right,
    /// A whole answer that is not.
    Wrong(String),
    /// The word that this node is away, with its part.
    Away(u16),
    /// The word that the node that was asked waits for others.
    Starting,
    /// The word that the deadline has passed.
    TimedOut,
    /// The beginning of an answer, or nothing, without a reason.
    Nothing(String),
    /// What none of these is.
    Strange(String),
}

/// One question and what became of it.
#[derive(Debug)]
pub struct Asked {
    pub node: u16,
    pub question: usize,
    pub deadline: Duration,
    pub sent: Instant,
    pub ended: Instant,
    pub came: Came,
}

/// Asks until it is over. Most questions are the light ones, behind the first `heavy`.
pub fn ask_on(
    seed: u64,
    nodes: &[SocketAddr],
    (questions, heavy): (&[Question], usize),
    is_over: &AtomicBool,
) -> Vec<Asked> {
    let mut random = Random::new(seed);
    let mut asked = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let node = random.below(nodes.len());
        let question = match random.below(100) {
            0..25 => random.below(heavy),
            _ => heavy + random.below(questions.len() - heavy),
        };
        let deadline = match questions[question].rows {
            Some(_) => Duration::from_millis(500 << random.below(4)),
            None => Duration::from_millis(300),
        };
        asked.push(ask(
            node as u16,
            nodes[node],
            question,
            &questions[question],
            deadline,
        ));
        std::thread::sleep(REST);
    }
    asked
}

/// Asks one node one question.
pub fn ask(
    node: u16,
    address: SocketAddr,
    number: usize,
    question: &Question,
    deadline: Duration,
) -> Asked {
    let sent = Instant::now();
    let came = match exchange(address, &question.text, deadline) {
        Ok(bytes) => understood(&Answer::of(&bytes), question),
        Err(error) => Came::Nothing(error.to_string()),
    };
    Asked {
        node,
        question: number,
        deadline,
        sent,
        ended: Instant::now(),
        came,
    }
}

/// Asks for the triangles, which need all nodes, until they come; when that was.
pub fn until_answered(node: u16, address: SocketAddr, questions: &[Question]) -> Instant {
    let number = questions.iter().position(|it| it.text == TRIANGLES);
    let number = number.expect("it is one of them");
    let begun = Instant::now();
    loop {
        let asked = ask(node, address, number, &questions[number], HANGS);
        match asked.came {
            Came::Right => return asked.ended,
            Came::Wrong(rows) => panic!("node {node} answers {rows}"),
            came => assert!(
                begun.elapsed() < crate::nodes::PATIENCE,
                "node {node} is not used again: {came:?}"
            ),
        }
        std::thread::sleep(REST);
    }
}

fn exchange(address: SocketAddr, query: &str, deadline: Duration) -> io::Result<Vec<u8>> {
    let body = format!("{UB} {query}");
    let (length, timeout) = (body.len(), deadline.as_millis());
    let head = format!(
        "POST /sparql?timeout={timeout}ms HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Accept: application/sparql-results+json\r\nContent-Type: application/sparql-query\r\nContent-Length: {length}\r\n\r\n"
    );
    let until = Instant::now() + deadline + HANGS;
    let mut stream = TcpStream::connect_timeout(&address, CONNECT)?;
    stream.write_all((head + &body).as_bytes())?;
    let (mut bytes, mut piece) = (Vec::new(), [0; 1 << 14]);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.read(&mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // What came before may say why.
            Err(_) if !bytes.is_empty() => return Ok(bytes),
            Err(error) => return Err(error),
        }
    }
}

fn understood(answer: &Answer, question: &Question) -> Came {
    let document: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let kind = document["type"].as_str().unwrap_or_default();
    let kind = kind.trim_start_matches("urn:somersault:problem:");
    match (answer.status, kind) {
        (0, _) => Came::Nothing("the connection has ended".to_owned()),
        (200, _) if answer.is_whole => {
            let rows = rows(&document);
            if question.rows == rows {
                Came::Right
            } else {
                Came::Wrong(format!("{} rows", rows.map_or(0, |rows| rows.len())))
            }
        }
        (200, _) => broken_off(&answer.body),
        (503, "away") => match document["node"].as_u64() {
            Some(node) if answer.names(node as u16) => Came::Away(node as u16),
            _ => Came::Strange(answer.body.clone()),
        },
        (503, "starting") => Came::Starting,
        (504, "timeout") => Came::TimedOut,
        _ => Came::Strange(format!("{} {}", answer.status, answer.body)),
    }
}

/// The reason at the end of an answer that had begun.
fn broken_off(body: &str) -> Came {
    let end = &body[body.floor_char_boundary(body.len().saturating_sub(600))..];
    let named = end.split_once("which has part ").and_then(|(_, rest)| {
        let digits = rest.split(|it: char| !it.is_ascii_digit()).next()?;
        digits.parse().ok()
    });
    match named {
        Some(node) => Came::Away(node),
        None if end.contains("out of time") || end.contains("timeout") => Came::TimedOut,
        None => Came::Nothing(end.to_owned()),
    }
}

/// The rows of a document of results, sorted; `None` where it is none.
pub fn rows(document: &Value) -> Option<Vec<String>> {
    let rows = document["results"]["bindings"].as_array()?;
    let mut rows: Vec<String> = rows.iter().map(Value::to_string).collect();
    rows.sort_unstable();
    Some(rows)
}
