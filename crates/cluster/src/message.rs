//! What nodes of one graph send each other.
//!
//! ```text
//!  Ask     a question about the receiver's part      Piece   a piece of its answer
//!  Begin   a query: its plan, for all nodes          Rows    a table for one of its sections
//!  Took    how many tables were worked off, and      Room    a table was worked off: another may come
//!          where rows went because of them           End     of a query, and why
//!  Failed  a node cannot go on with a query
//! ```
//!
//! Each is a byte for its kind and its fields, in [`crate::bytes`]. They lie in a fabric's frames, which have length and
//! checksum. Bytes may come from anybody: reading gives an error with its place, never a panic, and allocates no more than
//! four times what has come.

use crate::bytes::{Malformed, Reader, Writer};
use crate::question::Question;

/// Bytes of an answer that go in one message: longer ones go in pieces, so that others' messages pass between them.
pub(crate) const PIECE_BYTES: usize = 1 << 18;

/// A query of the cluster: who was asked, and which of its questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryId {
    /// The node that was asked.
    pub home: u16,
    /// Its number there.
    pub number: u64,
}

/// How the rows of a section come to where its steps are walked; see [`crate::run`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Rows stay, and what they need is fetched.
    InPlace,
    /// Rows go to whoever owns what they need.
    ForkJoin,
    /// Whichever is cheaper, chunk by chunk.
    #[default]
    Dynamic,
}

impl Mode {
    const ALL: [Mode; 3] = [Mode::InPlace, Mode::ForkJoin, Mode::Dynamic];
}

/// A query that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Begin {
    pub(crate) mode: Mode,
    /// Nanoseconds that it may take from now on; the largest number: no deadline.
    pub(crate) time_ns: u64,
    /// Bytes that it may have on each node.
    pub(crate) memory_bytes: u64,
    pub(crate) chunk_rows: u64,
    /// What its random numbers follow from.
    pub(crate) seed: u64,
    /// What `NOW()` gives.
    pub(crate) now: String,
    /// As `query::wire` writes it.
    pub(crate) plan: Vec<u8>,
}

/// Tables that were worked off by a section of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Took {
    pub(crate) section: u32,
    pub(crate) tables: u64,
    /// Tables that the node sent to the next section because of them.
    pub(crate) made: u64,
}

/// A message; see the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Ask {
        request: u64,
        question: Question,
    },
    Piece {
        request: u64,
        is_last: bool,
        bytes: Vec<u8>,
    },
    Begin(QueryId, Begin),
    Rows {
        query: QueryId,
        section: u32,
        /// Whether the receiver fetches what they need.
        in_place: bool,
        /// As `query::wire` writes them.
        rows: Vec<u8>,
    },
    Took(QueryId, Took),
    Room {
        query: QueryId,
        section: u32,
    },
    Failed {
        query: QueryId,
        what: String,
    },
    End(QueryId),
}

impl Message {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Message::Ask { request, question } => {
                out.byte(0);
                out.number(*request);
                question.write(&mut out);
            }
            Message::Piece {
                request,
                is_last,
                bytes,
            } => {
                out.byte(1);
                out.number(*request);
                out.byte(u8::from(*is_last));
                out.0.extend_from_slice(bytes);
            }
            Message::Begin(query, begin) => {
                out.byte(2);
                write_query(*query, &mut out);
                begin.write(&mut out);
            }
            Message::Rows {
                query,
                section,
                in_place,
                rows,
            } => {
                out.byte(3);
                write_query(*query, &mut out);
                out.number((*section).into());
                out.byte(u8::from(*in_place));
                out.0.extend_from_slice(rows);
            }
            Message::Took(query, took) => {
                out.byte(4);
                write_query(*query, &mut out);
                out.number(took.section.into());
                out.number(took.tables);
                out.number(took.made);
            }
            Message::Room { query, section } => {
                out.byte(5);
                write_query(*query, &mut out);
                out.number((*section).into());
            }
            Message::Failed { query, what } => {
                out.byte(6);
                write_query(*query, &mut out);
                out.bytes(what.as_bytes());
            }
            Message::End(query) => {
                out.byte(7);
                write_query(*query, &mut out);
            }
        }
        out.0
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Message, Malformed> {
        let mut from = Reader::new(bytes);
        let message = Message::read(&mut from)?;
        from.end()?;
        Ok(message)
    }

    fn read(from: &mut Reader<'_>) -> Result<Message, Malformed> {
        Ok(match from.byte()? {
            0 => Message::Ask {
                request: from.number()?,
                question: Question::read(from)?,
            },
            1 => Message::Piece {
                request: from.number()?,
                is_last: from.truth()?,
                bytes: from.rest().to_vec(),
            },
            2 => Message::Begin(read_query(from)?, Begin::read(from)?),
            3 => Message::Rows {
                query: read_query(from)?,
                section: from.number32()?,
                in_place: from.truth()?,
                rows: from.rest().to_vec(),
            },
            4 => Message::Took(
                read_query(from)?,
                Took {
                    section: from.number32()?,
                    tables: from.number()?,
                    made: from.number()?,
                },
            ),
            5 => Message::Room {
                query: read_query(from)?,
                section: from.number32()?,
            },
            6 => Message::Failed {
                query: read_query(from)?,
                what: from.text()?.to_owned(),
            },
            7 => Message::End(read_query(from)?),
            _ => return Err(from.malformed("a message of no kind")),
        })
    }
}

impl Begin {
    fn write(&self, out: &mut Writer) {
        let mode = Mode::ALL.iter().position(|mode| *mode == self.mode);
        out.byte(mode.map_or(0, |mode| mode as u8));
        out.number(self.time_ns);
        out.number(self.memory_bytes);
        out.number(self.chunk_rows);
        out.number(self.seed);
        out.bytes(self.now.as_bytes());
        out.0.extend_from_slice(&self.plan);
    }

    fn read(from: &mut Reader<'_>) -> Result<Begin, Malformed> {
        let mode = Mode::ALL.get(usize::from(from.byte()?));
        Ok(Begin {
            mode: *mode.ok_or_else(|| from.malformed("a mode of no kind"))?,
            time_ns: from.number()?,
            memory_bytes: from.number()?,
            chunk_rows: from.number()?,
            seed: from.number()?,
            now: from.text()?.to_owned(),
            plan: from.rest().to_vec(),
        })
    }
}

fn write_query(query: QueryId, out: &mut Writer) {
    out.number(query.home.into());
    out.number(query.number);
}

fn read_query(from: &mut Reader<'_>) -> Result<QueryId, Malformed> {
    Ok(QueryId {
        home: from.number16()?,
        number: from.number()?,
    })
}
