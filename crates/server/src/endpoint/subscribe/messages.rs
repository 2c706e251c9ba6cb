//! Changes of a live query as messages of a WebSocket: text, one JSON object each.
//!
//! | `type` | members |
//! |---|---|
//! | `answer`, `difference` | those of the change as JSON |
//! | the same, with a `format` | `id`, `snapshot`, `since` or `reset`, `format`; `document`, the answer or that of an `ASK` now, or `removed` and `added`, a document each |
//! | `ended` | why the live query has ended; the socket is closed |
//!
//! A long change goes out in frames as it is made. `after` of the address says where to go on. A client says nothing here: a
//! message of it ends the socket.

use super::events::kind;
use super::{Follower, Formats, Gone, Rendered, ended, follow, members};
use crate::endpoint::socket::{SocketEnd, WebSocket};
use crate::run::subscribing::{Consumer, Mark};
use serde_json::json;
use somersault::{LiveChange, QueryError};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

/// Sends changes, until the far end, the query or the server is gone.
pub(super) async fn send(socket: WebSocket, consumer: Consumer, mark: Mark, formats: Formats) {
    let mut messages = Messages {
        socket,
        mark,
        formats,
        ended: SocketEnd::Ending,
    };
    // Why it has ended is in `ended`.
    let _ = follow(consumer, &mut messages).await;
    messages.socket.close(messages.ended).await;
}

struct Messages {
    socket: WebSocket,
    mark: Mark,
    formats: Formats,
    ended: SocketEnd,
}

impl Messages {
    async fn say(&mut self, text: String) -> Result<(), Gone> {
        let said = self.socket.say(text).await;
        said.map_err(|ended| self.over(ended))
    }

    fn over(&mut self, ended: SocketEnd) -> Gone {
        self.ended = ended;
        Gone
    }

    /// A change as it is.
    async fn json(&mut self, change: &LiveChange) -> Result<(), Gone> {
        let members = members(change, self.mark);
        let mut saying = self.socket.begin();
        for piece in change.pieces(&members) {
            let said = match piece {
                Ok(piece) => saying.add(&piece).await,
                // Half of a message is on its way: it is never ended.
                Err(_) => Err(SocketEnd::Refused(CloseCode::Error)),
            };
            if let Err(ended) = said {
                return Err(self.over(ended));
            }
        }
        let said = saying.finish().await;
        said.map_err(|ended| self.over(ended))
    }
}

impl Follower for Messages {
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

    async fn change(&mut self, change: LiveChange) -> Result<(), Gone> {
        let Some((server, format)) = self.formats.clone() else {
            return self.json(&change).await;
        };
        let mut message = json!({
            "id": self.mark.id(change.snapshot),
            "type": kind(&change),
            "snapshot": change.snapshot,
            "format": format.accepted_types()[0],
        });
        if let Some(since) = change.since {
            message["since"] = json!(since);
        }
        if change.is_reset {
            message["reset"] = json!(true);
        }
        match Rendered::of(&server, change, format).await {
            Ok(made) => {
                let added = match made.removed {
                    Some(removed) => {
                        message["removed"] = json!(removed);
                        "added"
                    }
                    None => "document",
                };
                message[added] = json!(made.added);
                self.say(message.to_string()).await
            }
            Err(problem) => {
                let told = json!({ "type": "ended", "problem": problem.to_value() });
                self.say(told.to_string()).await?;
                Err(self.over(SocketEnd::Refused(CloseCode::Error)))
            }
        }
    }

    async fn ended(&mut self, error: &QueryError) -> Result<(), Gone> {
        self.ended = SocketEnd::Over("the live query has ended");
        let mut told = ended(error);
        told["type"] = json!("ended");
        self.say(told.to_string()).await
    }
}
