//! Reports as messages of a WebSocket: text, one JSON object each.
//!
//! | message | says |
//! |---|---|
//! | `{"number": 7, "report": {...}}` | a report, as a line of NDJSON has it |
//! | `{"number": 7, "close": MS, "query": "...", "format": "text/csv", "document": "..."}` | the same with a `format`; also `instance`, `revision`, `removed` (a document), `window_incomplete`; `error` in the place of `document` |
//! | `{"missed": 3}` | so many reports before the next were let go |
//! | `{"gone": {"detail": "..."}}` | the query is not there any more; the socket is closed |
//!
//! `after` of the address says where to go on. A client says nothing here: a message of it ends the socket. One that reads nothing holds one
//! report of it.

use super::{Follower, Gone, follow, member};
use crate::endpoint::documents::{Documents, Heads};
use crate::endpoint::socket::{SocketEnd, WebSocket};
use crate::run::live::Listening;
use serde_json::{Value, json};
use somersault::{JournalEntry, QueryError};

/// Sends reports, until the far end, the query or the server is gone.
pub(super) async fn send(
    socket: WebSocket,
    listening: Listening,
    seen: u64,
    documents: Option<Documents>,
) {
    let mut messages = Messages {
        socket,
        documents,
        ended: SocketEnd::Ending,
    };
    // Why it has ended is in `ended`.
    let _ = follow(listening, seen, &mut messages).await;
    messages.socket.close(messages.ended).await;
}

struct Messages {
    socket: WebSocket,
    documents: Option<Documents>,
    ended: SocketEnd,
}

impl Messages {
    async fn say(&mut self, text: String) -> Result<(), Gone> {
        let said = self.socket.say(text).await;
        said.map_err(|ended| {
            self.ended = ended;
            Gone
        })
    }
}

impl Follower for Messages {
    const LOOK: usize = 1;

    async fn left(&mut self) {
        self.ended = match self.socket.hear().await {
            Ok(_) => SocketEnd::Unasked,
            Err(ended) => ended,
        };
    }

    async fn beat(&mut self) -> Result<(), Gone> {
        // Pings are the socket's business.
        Ok(())
    }

    async fn missed(&mut self, count: u64) -> Result<(), Gone> {
        self.say(json!({ "missed": count }).to_string()).await
    }

    async fn report(&mut self, entry: &JournalEntry) -> Result<bool, Gone> {
        let Some(documents) = self.documents.clone() else {
            self.say(member(entry)).await?;
            return Ok(true);
        };
        let mut message = json!({
            "number": entry.number,
            "format": documents.format().accepted_types()[0],
        });
        let made = match documents.of(entry).await {
            Ok(made) => made,
            Err(problem) => {
                message["error"] = problem.to_value();
                self.say(message.to_string()).await?;
                return Ok(true);
            }
        };
        for (name, value) in made.report.heads() {
            // What is a number is one.
            let number = value
                .parse::<u64>()
                .ok()
                .filter(|_| name != "query" && name != "instance");
            message[name] = number.map_or(Value::from(value), Value::from);
        }
        match &made.report.answer {
            Ok(rows) => {
                message["document"] = json!(rows.told);
                if let Some(removed) = &rows.removed {
                    message["removed"] = json!(removed);
                }
            }
            Err(why) => message["error"] = json!({ "detail": why }),
        }
        self.say(message.to_string()).await?;
        Ok(true)
    }

    async fn flush(&mut self) -> Result<(), Gone> {
        Ok(())
    }

    async fn gone(&mut self, error: &QueryError) -> Result<(), Gone> {
        self.ended = SocketEnd::Over("the query is not there any more");
        let told = json!({ "gone": { "detail": error.message } });
        self.say(told.to_string()).await
    }
}
