//! What nodes of one graph send each other.
//!
//! ```text
//!  Ask     a question about the receiver's part      Piece   a piece of its answer
//!  Begin   a query: its plan, for all nodes          Rows    a table for one of its sections
//!  Took    how many tables were worked off, and      Room    tables were worked off: others may come
//!          where rows went because of them           End     of a query, and why
//!  Failed  a node cannot go on with a query          Unknown a query that rows have come for
//!  Nonsense  what came last was no message
//!  Ended   all rows of a section have come
//!  Did     what a section did, of a profiled query
//! ```
//!
//! Each is a byte for its kind and its fields, in [`crate::bytes`]. They lie in a fabric's frames, which have length and
//! checksum. Bytes may come from anybody: reading gives an error with its place, never a panic, and allocates in
//! proportion to what has come.

use crate::bytes::{Malformed, Reader, Writer, read_node_error, write_node_error};
use crate::question::Question;
use crate::run::figures::Did;
use crate::trace::Trace;
use rdf::NodeError;
use std::fmt;

/// Bytes of an answer that go in one message: longer ones go in pieces, so that others' messages pass between them.
pub(crate) const PIECE_BYTES: usize = 1 << 18;

/// A query of the cluster: who was asked, and which of its questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryId {
    /// The node that was asked.
    pub home: u16,
    /// In which of its lives: another one counts from the beginning, and rows of the one before may be under way.
    pub life: u64,
    /// Its number there.
    pub number: u64,
}

impl QueryId {
    /// Its three numbers.
    pub(crate) fn numbers(self) -> [u64; 3] {
        [self.home.into(), self.life, self.number]
    }
}

impl fmt::Display for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:x}.{}", self.home, self.life, self.number)
    }
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
    /// Whether it wants to be told what each section did.
    pub(crate) is_profiled: bool,
    /// What the receiver's work is part of, where the query is followed.
    pub(crate) trace: Option<Trace>,
    /// How the asker divides the plan: everybody does that for itself, and all alike.
    pub(crate) division: u64,
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
    /// Whether they were walked in place.
    pub(crate) in_place: bool,
    /// Whether a section that gathers has given its last rows.
    pub(crate) is_through: bool,
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
    Took(QueryId, Vec<Took>),
    Room {
        query: QueryId,
        section: u32,
        tables: u32,
    },
    Failed {
        query: QueryId,
        /// Which node is the cause, the sender or one that it needs, and what is the matter there.
        error: NodeError,
    },
    End(QueryId),
    /// Rows have come for a query that the sender does not know: whoever was asked is to tell it.
    Unknown(QueryId),
    /// The receiver sent what is no message: neither can rely on what it waits for.
    Nonsense {
        what: String,
    },
    /// Nothing more comes for a section that gathers.
    Ended {
        query: QueryId,
        section: u32,
        in_place: bool,
    },
    /// What a section of the sender has done so far, before the word about what was worked off.
    Did(QueryId, Did),
}

/// The kind of [`Message::Nonsense`].
const NONSENSE: u8 = 9;

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
                out.number(took.len() as u64);
                for took in took {
                    took.write(&mut out);
                }
            }
            Message::Room { .. }
            | Message::Failed { .. }
            | Message::End(_)
            | Message::Unknown(_)
            | Message::Nonsense { .. }
            | Message::Ended { .. }
            | Message::Did(..) => self.write_course(&mut out),
        }
        out.0
    }

    /// What concerns the course of a query.
    fn write_course(&self, out: &mut Writer) {
        match self {
            Message::Room {
                query,
                section,
                tables,
            } => {
                out.byte(5);
                write_query(*query, out);
                out.number((*section).into());
                out.number((*tables).into());
            }
            Message::Failed { query, error } => {
                out.byte(6);
                write_query(*query, out);
                write_node_error(error, out);
            }
            Message::End(query) => {
                out.byte(7);
                write_query(*query, out);
            }
            Message::Unknown(query) => {
                out.byte(8);
                write_query(*query, out);
            }
            Message::Nonsense { what } => {
                out.byte(NONSENSE);
                out.bytes(what.as_bytes());
            }
            Message::Ended {
                query,
                section,
                in_place,
            } => {
                out.byte(10);
                write_query(*query, out);
                out.number((*section).into());
                out.byte(u8::from(*in_place));
            }
            Message::Did(query, did) => {
                out.byte(11);
                write_query(*query, out);
                did.write(out);
            }
            _ => unreachable!("the caller looked"),
        }
    }

    /// Whether it is drawn on memory where it waits for room: all that may be long are.
    pub(crate) fn is_counted(&self) -> bool {
        match self {
            Message::Ask { .. }
            | Message::Piece { .. }
            | Message::Begin(..)
            | Message::Rows { .. } => true,
            Message::Took(..)
            | Message::Room { .. }
            | Message::Failed { .. }
            | Message::End(_)
            | Message::Unknown(_)
            | Message::Nonsense { .. }
            | Message::Ended { .. }
            | Message::Did(..) => false,
        }
    }

    /// Whether bytes say of themselves that they are a [`Message::Nonsense`]: where they are none, nobody answers that.
    pub(crate) fn is_nonsense(bytes: &[u8]) -> bool {
        bytes.first() == Some(&NONSENSE)
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
            4 => {
                let query = read_query(from)?;
                let count = from.count(Took::BYTES_MIN)?;
                let took = (0..count).map(|_| Took::read(from));
                Message::Took(query, took.collect::<Result<_, _>>()?)
            }
            5 => Message::Room {
                query: read_query(from)?,
                section: from.number32()?,
                tables: from.number32()?,
            },
            6 => Message::Failed {
                query: read_query(from)?,
                error: read_node_error(from)?,
            },
            7 => Message::End(read_query(from)?),
            8 => Message::Unknown(read_query(from)?),
            NONSENSE => Message::Nonsense {
                what: from.text()?.to_owned(),
            },
            10 => Message::Ended {
                query: read_query(from)?,
                section: from.number32()?,
                in_place: from.truth()?,
            },
            11 => Message::Did(read_query(from)?, Did::read(from)?),
            _ => return Err(from.malformed("a message of no kind")),
        })
    }
}

impl Took {
    /// A byte for each field at least.
    const BYTES_MIN: usize = 5;

    /// Adds what was worked off later.
    pub(crate) fn add(&mut self, later: &Took) {
        self.tables = self.tables.saturating_add(later.tables);
        self.made = self.made.saturating_add(later.made);
        self.is_through |= later.is_through;
    }

    fn write(&self, out: &mut Writer) {
        out.number(self.section.into());
        out.number(self.tables);
        out.number(self.made);
        out.byte(u8::from(self.in_place));
        out.byte(u8::from(self.is_through));
    }

    fn read(from: &mut Reader<'_>) -> Result<Took, Malformed> {
        Ok(Took {
            section: from.number32()?,
            tables: from.number()?,
            made: from.number()?,
            in_place: from.truth()?,
            is_through: from.truth()?,
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
        out.byte(u8::from(self.is_profiled));
        Trace::write(self.trace, out);
        out.number(self.division);
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
            is_profiled: from.truth()?,
            trace: Trace::read(from)?,
            division: from.number()?,
            now: from.text()?.to_owned(),
            plan: from.rest().to_vec(),
        })
    }
}

fn write_query(query: QueryId, out: &mut Writer) {
    out.number(query.home.into());
    out.number(query.life);
    out.number(query.number);
}

fn read_query(from: &mut Reader<'_>) -> Result<QueryId, Malformed> {
    Ok(QueryId {
        home: from.number16()?,
        life: from.number()?,
        number: from.number()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::rows::Rows;
    use crate::question::{Answer, Extent, OwnedScope, SetName, Spot, Standing};
    use crate::run::figures::SectionFigures;
    use crate::run::{At, Shipped};
    use crate::session::Fetched;
    use explore::StepProfile;
    use query::statistics::{CharacteristicSet, PredicateStatistics, Statistics};
    use rdf::{Direction, NodeCause, PredicateId, Tag, VertexId};
    use store::view::SegmentKey;
    use testkit::random::Random;

    fn id(number: u64) -> VertexId {
        VertexId::new(Tag::Iri, number)
    }

    fn segment() -> SegmentKey {
        SegmentKey {
            predicate: PredicateId(7),
            direction: Direction::In,
        }
    }

    fn questions() -> Vec<Question> {
        let scopes = [
            OwnedScope::Default,
            OwnedScope::Named(id(1)),
            OwnedScope::Merge(vec![id(1), id(2)]),
            OwnedScope::Union,
            OwnedScope::EachNamed,
            OwnedScope::EachOf(vec![id(9)]),
        ];
        let sets = [
            SetName::Keys(segment()),
            SetName::Vertices(Direction::Out),
            SetName::KeysOfGraph(segment(), id(3)),
            SetName::NamedGraphs,
        ];
        let mut questions: Vec<Question> = sets.map(Question::Set).to_vec();
        for scope in scopes {
            questions.push(Question::Extent(segment(), scope.clone()));
            questions.push(Question::Lists(segment(), scope, vec![id(4), id(5)]));
        }
        questions.extend([
            Question::PredicatesOf(Direction::In, vec![id(1)]),
            Question::KeysOfIds(vec![id(1), VertexId::UNBOUND]),
            Question::IdsOfKeys(Tag::Literal, vec![b"a".to_vec(), Vec::new()]),
            Question::Statistics,
            Question::Where(Spot::Segment(segment())),
            Question::Where(Spot::Terms(Tag::Literal)),
            Question::KeyPage(segment(), 1 << 40, 9),
        ]);
        questions
    }

    fn messages() -> Vec<Message> {
        let query = QueryId {
            home: 3,
            life: 1 << 60,
            number: 400,
        };
        let asks = questions().into_iter().zip(1..);
        let mut messages: Vec<Message> = asks
            .map(|(question, request)| Message::Ask { request, question })
            .collect();
        let begin = |mode| Begin {
            mode,
            time_ns: u64::MAX,
            memory_bytes: 1 << 30,
            chunk_rows: 1024,
            seed: 9,
            is_profiled: mode == Mode::InPlace,
            trace: (mode == Mode::ForkJoin).then_some(Trace {
                trace: u128::MAX - 4,
                parent: 3,
            }),
            division: 1 << 60,
            now: "2020-01-01T00:00:00Z".to_owned(),
            plan: vec![1, 2, 3],
        };
        messages.extend(Mode::ALL.map(|mode| Message::Begin(query, begin(mode))));
        let took = Took {
            section: 1,
            tables: 2,
            made: 3,
            in_place: true,
            is_through: false,
        };
        messages.extend([
            Message::Piece {
                request: 5,
                is_last: true,
                bytes: vec![0, 9],
            },
            Message::Rows {
                query,
                section: 2,
                in_place: true,
                rows: vec![4, 5],
            },
            Message::Took(query, vec![took.clone(), Took { section: 4, ..took }]),
            Message::Room {
                query,
                section: 1,
                tables: 4,
            },
            Message::End(query),
            Message::Unknown(query),
            Message::Nonsense {
                what: "neither".to_owned(),
            },
            Message::Ended {
                query,
                section: 1,
                in_place: false,
            },
            Message::Did(query, did()),
        ]);
        let failed = |error| Message::Failed { query, error };
        messages.extend(failures().map(failed));
        messages
    }

    fn failures() -> impl Iterator<Item = NodeError> {
        let memory = NodeCause::Memory {
            limit_bytes: 1 << 40,
            used_bytes: 3,
            of_all: true,
        };
        use NodeCause::{Away, Damaged, Fault, Policy, Remote, TooMuch, Unsupported};
        let causes = [
            Away,
            memory,
            TooMuch,
            Damaged,
            Unsupported,
            Policy,
            Remote,
            Fault,
        ];
        (0..).zip(causes).map(|(node, cause)| NodeError {
            node,
            cause,
            what: "é".to_owned(),
        })
    }

    fn did() -> Did {
        let mut numbers = 1..;
        let mut next = || numbers.next().unwrap_or(0);
        let at = At {
            section: 2,
            in_place: true,
        };
        let shipped = Shipped {
            tables: next(),
            rows: next(),
            answer: next(),
            bytes: 1 << 40,
            kept: next(),
        };
        let fetched = Fetched {
            questions: next(),
            lists: next(),
            prepared: next(),
            bytes: next(),
            lists_read: next(),
            reads: next(),
            read_bytes: next(),
        };
        let step = StepProfile {
            runs: next(),
            rows: next(),
            nanoseconds: next(),
        };
        let figures = SectionFigures {
            rows_in: next(),
            rows_out: next(),
            shipped,
            fetched,
            words: next(),
            nanoseconds: next(),
            strips: next(),
            steps: vec![step, StepProfile::default()],
        };
        Did { at, figures }
    }

    fn answers() -> Vec<Answer> {
        let set = CharacteristicSet {
            predicates: vec![(id(1), 2)],
            types: vec![id(8)],
            vertices: 2,
        };
        let statistics = Statistics {
            quads: 12,
            predicates: vec![PredicateStatistics {
                vertex: id(1),
                subjects: 2,
                objects: 3,
                edges: 4,
            }],
            classes: vec![(id(8), 5)],
            out_sets: vec![set.clone()],
            in_sets: vec![set],
            named_graphs: 1,
            type_vertex: Some(id(6)),
            complete_at: None,
        };
        vec![
            Answer::Set(vec![id(1), id(1 << 40)]),
            Answer::Extent(Extent {
                edges: Some(0),
                has_keys: true,
                is_exact: false,
            }),
            Answer::Lists(Rows {
                neighbours: vec![id(1), id(2), id(3)],
                graphs: vec![id(7), id(7), id(8)],
                ends: vec![1, 1, 3],
            }),
            Answer::PredicatesOf(vec![PredicateId(2), PredicateId(3)], vec![0, 2]),
            Answer::KeysOfIds(vec![None, Some(b"k".to_vec())]),
            Answer::IdsOfKeys(vec![Some(id(1)), None]),
            Answer::Statistics(Box::new(statistics)),
            Answer::Where(Standing::Nowhere),
            Answer::Where(Standing::Later),
            Answer::Where(Standing::Here {
                location: vec![4, 5],
                regions: [Some(0), None, Some(1 << 40), None],
                life: u64::MAX,
            }),
        ]
    }

    fn encoded(answer: &Answer) -> Vec<u8> {
        let mut out = Writer::default();
        answer.write(&mut out);
        out.0
    }

    #[test]
    fn messages_and_answers_come_back() {
        for message in messages() {
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
        for answer in answers() {
            let bytes = encoded(&answer);
            assert_eq!(Answer::read(&mut Reader::new(&bytes)), Ok(answer));
        }
    }

    /// Whatever is flipped, cut or added: an error or another message, which an asker looks at before it is believed.
    #[test]
    fn no_bytes_are_believed() {
        let mut random = Random::new(1);
        let questions = questions();
        for _ in 0..200 {
            for message in messages() {
                let bytes = damaged(message.encode(), &mut random);
                let _ = Message::decode(&bytes);
            }
            for answer in answers() {
                let bytes = damaged(encoded(&answer), &mut random);
                if let Ok(answer) = Answer::read(&mut Reader::new(&bytes)) {
                    let fitting = questions.iter().filter(|question| question.fits(&answer));
                    assert!(fitting.count() <= questions.len());
                }
            }
        }
    }

    fn damaged(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
        for _ in 0..random.between(1, 3) {
            match random.below(4) {
                0 if !bytes.is_empty() => {
                    let at = random.below(bytes.len());
                    bytes[at] ^= 1 << random.below(8);
                }
                1 => bytes.truncate(random.below(bytes.len() + 1)),
                2 if !bytes.is_empty() => {
                    let at = random.below(bytes.len());
                    bytes[at] = 0xff;
                }
                _ => bytes.push(random.bits() as u8),
            }
        }
        bytes
    }
}
