//! WebSockets (RFC 6455): one connection, messages both ways.
//!
//! | module | about |
//! |---|---|
//! | `handshake` | from a request to a socket, on the task of its connection |
//! | `metered` | the bytes of a message that arrives, drawn on the account of bodies |
//!
//! What `tungstenite` does: frames, masks, fragments, UTF-8, the closing handshake. What is decided here: a message is text;
//! it has an end of its length and of the time it takes; a far end that is silent is asked whether it is there (ping), and let go where
//! it does not answer; every end has a status code that says why.
//!
//! | code | why |
//! |---|---|
//! | 1000 | it is over: the query was dropped, or the far end closed |
//! | 1001 | the server is about to end |
//! | 1002, 1007 | what came is no WebSocket, or no UTF-8 |
//! | 1003 | a binary message |
//! | 1008 | a message where none is taken, a message that takes too long, a refusal that the message before it explains |
//! | 1009 | a message beyond the limit |
//! | 1011 | a bug of the server |
//! | 1013 | no memory, or no turn: try again later |
//!
//! Whoever sends and whoever hears are one task: while a far end takes nothing, nothing of it is read, and the
//! connection's own patience ([`crate::stall`]) ends that. A long text goes out in frames of [`FRAME_BYTES`], so that a socket holds
//! no more of it than that.

pub(crate) mod handshake;
mod metered;

use crate::options::ServerOptions;
use futures_util::{SinkExt, StreamExt};
use hyper::body::Bytes;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use metered::Metered;
use std::io;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{CapacityError, ProtocolError};
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame, Utf8Bytes};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

/// Bytes that are read at once.
const READ_BYTES: usize = 16 << 10;
/// Bytes of a text that go out in one frame, at most.
const FRAME_BYTES: usize = 64 << 10;
/// How long the far end gets to close its side.
const LINGER: Duration = Duration::from_secs(2);
/// Bytes that are read and thrown away meanwhile.
const LINGER_BYTES: usize = 16 << 20;
/// Bytes of the reason of a close (RFC 6455 section 5.5: a control frame has 125, two of them are the code).
const REASON_BYTES: usize = 123;
/// The longest message where none is taken: it is read to be refused.
const DEAF_BYTES: u64 = 4 << 10;
/// What a control frame of a client has besides what it carries: its head and its mask (bytes).
const CONTROL_BYTES: usize = 6;

/// What is asked of a far end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketLimits {
    /// The longest message (bytes).
    pub message_bytes_max: u64,
    /// The time that a message may take from its first byte to its last.
    pub message_time: Duration,
    /// A far end that is silent for so long is asked whether it is there; after as much silence again it is let go.
    pub beat: Duration,
}

/// A WebSocket.
pub(crate) struct WebSocket {
    stream: WebSocketStream<Metered<TokioIo<Upgraded>>>,
    limits: SocketLimits,
    /// A message was given out whose bytes are on the account still.
    has_given: bool,
    /// The far end was asked whether it is there when it had sent so many bytes.
    asked_at: Option<u64>,
}

/// Why a socket is at its end.
#[derive(Debug)]
pub(crate) enum SocketEnd {
    /// The far end has closed it, or is gone.
    Gone,
    /// It did not answer.
    Silent,
    /// A message took too long.
    Slow,
    /// There is no memory for a message.
    NoMemory,
    /// A message is none of text.
    Binary,
    /// A message is longer than this (bytes).
    TooLong(u64),
    /// A message is no UTF-8.
    NotText,
    /// What came is no WebSocket.
    Protocol(String),
    /// The server is about to end.
    Ending,
    /// Nothing more will be said: why.
    Over(&'static str),
    /// A message came where none is taken.
    Unasked,
    /// A refusal that was told in a message, as this kind of failure.
    Refused(CloseCode),
}

impl SocketEnd {
    fn of(error: Error, limits: &SocketLimits) -> SocketEnd {
        match error {
            Error::Capacity(CapacityError::MessageTooLong { .. }) => {
                SocketEnd::TooLong(limits.message_bytes_max)
            }
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => SocketEnd::Gone,
            Error::Protocol(error) => SocketEnd::Protocol(error.to_string()),
            Error::Utf8(_) => SocketEnd::NotText,
            Error::Io(error) if error.kind() == io::ErrorKind::OutOfMemory => SocketEnd::NoMemory,
            _ => SocketEnd::Gone,
        }
    }

    /// What the far end is told, where it can be told anything.
    fn words(self) -> Option<(CloseCode, String)> {
        let (code, reason) = match self {
            SocketEnd::Gone => return None,
            SocketEnd::Silent => (CloseCode::Policy, "no answer to a ping".to_owned()),
            SocketEnd::Slow => (CloseCode::Policy, "a message took too long".to_owned()),
            SocketEnd::NoMemory => (
                CloseCode::Again,
                "the memory for messages is in use".to_owned(),
            ),
            SocketEnd::Binary => (CloseCode::Unsupported, "messages are text here".to_owned()),
            SocketEnd::TooLong(bytes) => (
                CloseCode::Size,
                format!("a message has at most {bytes} bytes"),
            ),
            SocketEnd::NotText => (CloseCode::Invalid, "a message is not UTF-8".to_owned()),
            SocketEnd::Protocol(what) => (CloseCode::Protocol, what),
            SocketEnd::Ending => (CloseCode::Away, "the server is about to end".to_owned()),
            SocketEnd::Over(why) => (CloseCode::Normal, why.to_owned()),
            SocketEnd::Unasked => (CloseCode::Policy, "no message is taken here".to_owned()),
            SocketEnd::Refused(code) => (code, "see the message before this".to_owned()),
        };
        Some((code, reason))
    }
}

impl SocketLimits {
    /// As the options have it, for messages of at most so many bytes.
    pub fn of(options: &ServerOptions, message_bytes_max: u64) -> SocketLimits {
        SocketLimits {
            message_bytes_max,
            message_time: options.body_timeout,
            beat: options.web_socket_beat,
        }
    }

    /// Of a socket that takes no messages.
    pub fn deaf(options: &ServerOptions) -> SocketLimits {
        SocketLimits::of(options, DEAF_BYTES)
    }
}

/// Ends when the server is about to end.
pub(crate) async fn over(ending: &mut watch::Receiver<bool>) {
    // So it is where nobody is left to say it.
    let _ = ending.wait_for(|is_ending| *is_ending).await;
}

impl WebSocket {
    /// How long the far end is left in silence.
    pub fn beat(&self) -> Duration {
        self.limits.beat
    }

    async fn over(stream: Metered<TokioIo<Upgraded>>, limits: SocketLimits) -> WebSocket {
        let bytes_max = usize::try_from(limits.message_bytes_max).unwrap_or(usize::MAX);
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            // A frame goes out when it is written.
            .write_buffer_size(0)
            .max_message_size(Some(bytes_max))
            .max_frame_size(Some(bytes_max));
        WebSocket {
            stream: WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await,
            limits,
            has_given: false,
            asked_at: None,
        }
    }

    /// The next text. A caller that gives up waiting misses nothing. The text before it is done with.
    pub async fn hear(&mut self) -> Result<Utf8Bytes, SocketEnd> {
        if std::mem::take(&mut self.has_given) {
            self.meter().settle();
        }
        loop {
            let due = Instant::now() + self.limits.beat;
            match timeout_at(due, self.stream.next()).await {
                Err(_) => self.look_after_silence().await?,
                Ok(None) => return Err(SocketEnd::Gone),
                Ok(Some(Err(error))) => return Err(SocketEnd::of(error, &self.limits)),
                Ok(Some(Ok(message))) => {
                    self.asked_at = None;
                    match message {
                        Message::Text(text) => {
                            self.has_given = true;
                            return Ok(text);
                        }
                        Message::Binary(_) => return Err(SocketEnd::Binary),
                        Message::Ping(bytes) | Message::Pong(bytes) => {
                            self.meter().forgive(CONTROL_BYTES + bytes.len());
                        }
                        // The next look finds the end. Frames are not given out.
                        Message::Close(_) | Message::Frame(_) => {}
                    }
                }
            }
        }
    }

    /// Nothing whole has come for a beat.
    async fn look_after_silence(&mut self) -> Result<(), SocketEnd> {
        let meter = self.meter();
        let heard = meter.heard_bytes();
        if meter
            .began()
            .is_some_and(|began| began.elapsed() > self.limits.message_time)
        {
            return Err(SocketEnd::Slow);
        }
        match self.asked_at {
            Some(at) if at == heard => Err(SocketEnd::Silent),
            _ => {
                self.asked_at = Some(heard);
                self.send(Message::Ping(Bytes::new())).await
            }
        }
    }

    /// Says a text, and waits until the connection has taken it.
    pub async fn say(&mut self, text: String) -> Result<(), SocketEnd> {
        if text.len() <= FRAME_BYTES {
            return self.send(Message::text(text)).await;
        }
        let mut saying = self.begin();
        saying.add(&text).await?;
        saying.finish().await
    }

    /// Begins a text that comes in pieces.
    pub fn begin(&mut self) -> Saying<'_> {
        Saying {
            socket: self,
            text: String::new(),
            has_begun: false,
        }
    }

    /// Closes it, and waits a moment for the far end to do so: what it has sent meanwhile is thrown away, because a
    /// connection that is closed with bytes that nobody read takes with it what was said last.
    pub async fn close(mut self, ended: SocketEnd) {
        let Some((code, mut reason)) = ended.words() else {
            return;
        };
        let mut end = reason.len().min(REASON_BYTES);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        reason.truncate(end);
        let frame = CloseFrame {
            code,
            reason: reason.into(),
        };
        let closing = async {
            if self.send(Message::Close(Some(frame))).await.is_err() {
                return;
            }
            while let Some(Ok(_)) = self.stream.next().await {
                self.meter().settle();
            }
            // After an error the library reads no more.
            let stream = self.stream.get_mut().stream_mut();
            let mut piece = vec![0; READ_BYTES];
            let mut bytes = 0;
            while bytes < LINGER_BYTES {
                match stream.read(&mut piece).await {
                    Ok(read @ 1..) => bytes += read,
                    _ => return,
                }
            }
        };
        // Whether it did or not, it has been told.
        let _ = timeout(LINGER, closing).await;
    }

    async fn send(&mut self, message: Message) -> Result<(), SocketEnd> {
        let sent = self.stream.send(message).await;
        sent.map_err(|error| SocketEnd::of(error, &self.limits))
    }

    fn meter(&mut self) -> &mut Metered<TokioIo<Upgraded>> {
        self.stream.get_mut()
    }
}

/// A text that goes out as it is made, in frames of [`FRAME_BYTES`].
pub(crate) struct Saying<'s> {
    socket: &'s mut WebSocket,
    text: String,
    has_begun: bool,
}

impl Saying<'_> {
    /// Says more of it.
    pub async fn add(&mut self, piece: &str) -> Result<(), SocketEnd> {
        let mut rest = piece;
        while self.text.len() + rest.len() > FRAME_BYTES {
            let mut end = FRAME_BYTES.saturating_sub(self.text.len()).min(rest.len());
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            self.text.push_str(&rest[..end]);
            rest = &rest[end..];
            self.frame(false).await?;
        }
        self.text.push_str(rest);
        Ok(())
    }

    /// The text is over.
    pub async fn finish(mut self) -> Result<(), SocketEnd> {
        self.frame(true).await
    }

    async fn frame(&mut self, is_last: bool) -> Result<(), SocketEnd> {
        let kind = if self.has_begun {
            Data::Continue
        } else {
            Data::Text
        };
        self.has_begun = true;
        let text = Bytes::from(std::mem::take(&mut self.text));
        let frame = Frame::message(text, OpCode::Data(kind), is_last);
        self.socket.send(Message::Frame(frame)).await
    }
}
