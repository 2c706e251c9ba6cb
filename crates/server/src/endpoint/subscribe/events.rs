//! Changes of a live query as Server-Sent Events (WHATWG HTML section 9.2).
//!
//! | event | `id` | data |
//! |---|---|---|
//! | `answer`, `difference` | of what a client has then | the change as JSON |
//! | `answer` | the same | with a `format`: the document of the answer, a line of it each |
//! | `removed`, then `added` | of the second | with a `format`: the documents of a difference |
//! | `difference` | the same | with a `format`, of an `ASK`: the document of the new answer |
//! | `ended` | | why the live query has ended |
//!
//! With a `format`, fields `snapshot`, and `since` or `reset`, stand before the data.

use super::{Follower, Formats, Gone, Rendered, ended, follow, members};
use crate::endpoint::reports::{PIECE_BYTES, Pieces, data};
use crate::run::subscribing::{Consumer, Mark};
use crate::state::EventPlace;
use axum::body::Body;
use somersault::{Kind, LiveChange, QueryError};
use std::fmt::Write;
use tokio::sync::mpsc::{Sender, channel};

/// Changes as events, from now on. `place` is given back when nobody receives them any more.
pub(super) fn events(consumer: Consumer, mark: Mark, formats: Formats, place: EventPlace) -> Body {
    let (sender, receiver) = channel(1);
    let mut events = Events {
        sender,
        mark,
        formats,
    };
    tokio::spawn(async move {
        // The head of the response is sent with its first bytes. Whoever receives is gone: nobody is left to be told.
        if events.beat().await.is_ok() {
            let _ = follow(consumer, &mut events).await;
        }
        drop(place);
    });
    Body::new(Pieces(receiver))
}

struct Events {
    sender: Sender<String>,
    mark: Mark,
    formats: Formats,
}

impl Events {
    async fn send(&mut self, text: String) -> Result<(), Gone> {
        self.sender.send(text).await.map_err(|_| Gone)
    }

    /// A change as it is.
    async fn json(&mut self, change: &LiveChange) -> Result<(), Gone> {
        let kind = kind(change);
        let id = self.mark.id(change.snapshot);
        let mut text = format!("event: {kind}\nid: {id}\ndata: ");
        for piece in change.pieces(&members(change, self.mark)) {
            let Ok(piece) = piece else {
                let error = QueryError::new(Kind::Internal, "an answer could not be written");
                self.send(format!("{text}\n\n")).await?;
                return self.ended(&error).await;
            };
            text.push_str(&piece);
            if text.len() >= PIECE_BYTES {
                self.send(std::mem::take(&mut text)).await?;
            }
        }
        text.push_str("\n\n");
        self.send(text).await
    }
}

/// What a change is.
pub(super) fn kind(change: &LiveChange) -> &'static str {
    if change.since.is_none() {
        "answer"
    } else {
        "difference"
    }
}

impl Follower for Events {
    async fn left(&mut self) {
        self.sender.closed().await;
    }

    async fn beat(&mut self) -> Result<(), Gone> {
        self.send(":\n\n".to_owned()).await
    }

    async fn change(&mut self, change: LiveChange) -> Result<(), Gone> {
        let Some((server, format)) = self.formats.clone() else {
            return self.json(&change).await;
        };
        let id = self.mark.id(change.snapshot);
        let mut fields = format!("snapshot: {}\n", change.snapshot);
        if let Some(since) = change.since {
            let _ = writeln!(fields, "since: {since}");
        }
        if change.is_reset {
            fields.push_str("reset: true\n");
        }
        let kind = kind(&change);
        let made = match Rendered::of(&server, change, format).await {
            Ok(made) => made,
            Err(problem) => {
                let told = problem.to_value();
                self.send(format!("event: ended\ndata: {told}\n\n")).await?;
                return Err(Gone);
            }
        };
        let mut text = String::new();
        let kind = match &made.removed {
            Some(removed) => {
                let _ = write!(text, "event: removed\n{fields}");
                data(&mut text, removed);
                "added"
            }
            None => kind,
        };
        let _ = write!(text, "event: {kind}\nid: {id}\n{fields}");
        data(&mut text, &made.added);
        self.send(text).await
    }

    async fn ended(&mut self, error: &QueryError) -> Result<(), Gone> {
        let told = ended(error);
        self.send(format!("event: ended\ndata: {told}\n\n")).await
    }
}
