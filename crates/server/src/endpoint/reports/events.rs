//! Reports as Server-Sent Events (WHATWG HTML section 9.2).
//!
//! | event | `id` | data |
//! |---|---|---|
//! | (no name) | number | the report's JSON; with a `format` its document, a line of it each |
//! | `removed` | | of a revision and with a `format`, before it: what is taken back |
//! | `failed` | number | with a `format`: why there is no document |
//! | `missed` | | `{"missed": N}`: so many reports before the next were let go |
//! | `gone` | | the query is not there any more |
//!
//! With a `format`, fields `close`, `query`, and `instance`, `revision` and `window_incomplete` where there are some, stand before the
//! data; a client that does not know a field passes it over (section 9.2.6). A line of events ends with LF, whatever
//! its document has: CR LF of CSV is LF for who reads the data.

use super::{Follower, Gone, PIECE_BYTES, follow};
use crate::endpoint::documents::{Documents, Heads};
use crate::run::live::Listening;
use crate::state::EventPlace;
use axum::body::Body;
use hyper::body::{Bytes, Frame};
use serde_json::json;
use somersault::{JournalEntry, QueryError};
use std::convert::Infallible;
use std::fmt::Write;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Reports as events, from now on. `place` is given back when nobody receives them any more.
pub(super) fn events(
    listening: Listening,
    seen: u64,
    documents: Option<Documents>,
    place: EventPlace,
) -> Body {
    let (sender, receiver) = channel(1);
    let mut events = Events {
        sender,
        piece: String::new(),
        documents,
    };
    tokio::spawn(async move {
        // The head of the response is sent with its first bytes.
        let begun = events.beat().await;
        // Whoever receives is gone: nobody is left to be told.
        if begun.is_ok() && events.flush().await.is_ok() {
            let _ = follow(listening, seen, &mut events).await;
        }
        drop(place);
    });
    Body::new(Pieces(receiver))
}

struct Events {
    sender: Sender<String>,
    /// What goes out next.
    piece: String,
    documents: Option<Documents>,
}

impl Events {
    async fn document(&mut self, documents: Documents, entry: &JournalEntry) {
        let number = entry.number;
        let made = match documents.of(entry).await {
            Ok(made) => made,
            Err(problem) => {
                let (id, told) = (format!("id: {number}\n"), problem.to_value());
                let _ = write!(self.piece, "event: failed\n{id}data: {told}\n\n");
                return;
            }
        };
        let report = &made.report;
        let mut fields = String::new();
        for (name, value) in report.heads() {
            let _ = writeln!(fields, "{name}: {}", in_a_line(&value));
        }
        match &report.answer {
            Ok(rows) => {
                if let Some(removed) = &rows.removed {
                    let _ = write!(self.piece, "event: removed\n{fields}");
                    data(&mut self.piece, removed);
                }
                let _ = write!(self.piece, "id: {number}\n{fields}");
                data(&mut self.piece, &rows.told);
            }
            Err(why) => {
                let told = json!({ "detail": why });
                let head = format!("event: failed\nid: {number}\n{fields}");
                let _ = write!(self.piece, "{head}data: {told}\n\n");
            }
        }
    }
}

impl Follower for Events {
    const LOOK: usize = 64;

    async fn left(&mut self) {
        self.sender.closed().await;
    }

    async fn beat(&mut self) -> Result<(), Gone> {
        self.piece.push_str(":\n\n");
        Ok(())
    }

    async fn missed(&mut self, count: u64) -> Result<(), Gone> {
        let told = json!({ "missed": count });
        let _ = write!(self.piece, "event: missed\ndata: {told}\n\n");
        Ok(())
    }

    async fn report(&mut self, entry: &JournalEntry) -> Result<bool, Gone> {
        if let Some(documents) = self.documents.clone() {
            self.document(documents, entry).await;
        } else {
            let (number, line) = (entry.number, &entry.line);
            let _ = write!(self.piece, "id: {number}\ndata: {line}\n\n");
        }
        Ok(self.piece.len() < PIECE_BYTES)
    }

    async fn flush(&mut self) -> Result<(), Gone> {
        let piece = std::mem::take(&mut self.piece);
        self.sender.send(piece).await.map_err(|_| Gone)
    }

    async fn gone(&mut self, error: &QueryError) -> Result<(), Gone> {
        let told = json!({ "detail": error.message });
        let _ = write!(self.piece, "event: gone\ndata: {told}\n\n");
        self.flush().await
    }
}

/// Adds a document as the data of an event, which ends with it.
pub(crate) fn data(text: &mut String, document: &str) {
    // A line that ends is not followed by an empty one: `data` is what stands between them.
    let document = document.strip_suffix('\n').unwrap_or(document);
    let document = document.strip_suffix('\r').unwrap_or(document);
    for line in document.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        for part in line.split('\r') {
            let _ = writeln!(text, "data: {part}");
        }
    }
    text.push('\n');
}

/// A value of a field, which is one line.
fn in_a_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

/// A body of what is received.
pub(crate) struct Pieces(pub(crate) Receiver<String>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.0.poll_recv(context);
        piece.map(|piece| piece.map(|text| Ok(Frame::data(Bytes::from(text)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_document_is_one_of_the_data() {
        for (document, expected) in [
            ("a", "data: a\n\n"),
            ("", "data: \n\n"),
            ("a\r\n1\r\n", "data: a\ndata: 1\n\n"),
            ("a\n\nb\n", "data: a\ndata: \ndata: b\n\n"),
            ("a\r\n\"x\ry\"\r\n", "data: a\ndata: \"x\ndata: y\"\n\n"),
        ] {
            let mut text = String::new();
            data(&mut text, document);
            assert_eq!(text, expected, "{document:?}");
        }
        assert_eq!(in_a_line("a\r\nid: 7"), "a  id: 7");
    }
}
