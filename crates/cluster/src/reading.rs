//! Lists that are read out of the memory of the node that owns them: nobody there is asked, and nobody is woken.
//!
//! ```text
//!  question --> location known? --no--> message (and the location is asked for beside it)
//!                 |yes
//!                 v
//!              lookup --> read --> read --> rows: the answer
//!                 |        |
//!                 +--------+-- any error --> the location is forgotten, message
//! ```
//!
//! So what is answered is what the owner would have answered, and a read that fails is no failure of the query: it is asked by
//! message, which names the node where that fails too. What was read is held against the location before it is used, and rows
//! against what an answer has to be ([`Question::fits`]).
//!
//! Where a read is a load ([`fabric::Fabric::load`]) the calling thread has the lists at once. Elsewhere each read is a
//! completion that the node's poll hands on, and the lookup goes on from there.
//!
//! | | in |
//! |---|---|
//! | where segments lie: what is kept of it | `locations` |
//! | the same, said and asked | `offer` |
//! | columns that are copied | `copy` |
//! | ids of keys, of which the same holds where a read is a load | `ids`, `terms` |
//!
//! Memory: what a stage reads, and what it is decoded to, is drawn on the query's budget before it is read.

mod copy;
mod ids;
pub(crate) mod locations;
mod offer;
pub(crate) mod reader;
pub(crate) mod terms;

use crate::error::Failure;
use crate::ground::Ground;
use crate::question::rows::Rows;
use crate::question::{Answer, Question, Spot};
use crate::reading::locations::{KeptLocations, Known, Locations, ReadPolicy, SegmentPlace};
use crate::reading::reader::{CopyReading, Drawn, ListReading, ReadTally, Reading};
use crate::session::Asked;
use crate::terms::PartTerms;
use explore::MemoryBudget;
use fabric::{Buffer, Call, FabricError, MemoryKind, NodeId, Piece, RegionKey, Token};
use rdf::Ticket;
use std::sync::Arc;
use std::time::Duration;
use store::location::{COLUMNS, Lookup, Misplaced, Wanted};
use store::view::GraphView;

/// How long a read may take before its lists are asked for by message. A link that is dead is found so sooner.
const READ_TIME: Duration = Duration::from_secs(5);

/// Bytes of memory for each byte that is read: itself, in the buffer that it came in, and as ids.
const MEMORY_PER_BYTE: u64 = 4;

/// Why lists could not be read.
enum Unread {
    /// The location is right, and another try may succeed.
    Now,
    /// What is known of the segment does not hold.
    Elsewhere,
    /// The query has to end.
    Failed(Failure),
    /// The query has ended.
    Over,
}

impl From<FabricError> for Unread {
    fn from(error: FabricError) -> Unread {
        use FabricError::{Busy, Down, Late, Left, NoMemory};
        match error {
            Busy { .. } | Down { .. } | Late { .. } | Left | NoMemory { .. } => Unread::Now,
            _ => Unread::Elsewhere,
        }
    }
}

impl From<Misplaced> for Unread {
    fn from(_: Misplaced) -> Unread {
        Unread::Elsewhere
    }
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Ground<P, T> {
    /// Has lists read out of others' memory by this policy; by [`ReadPolicy::OneSided`] where nothing is said.
    #[must_use]
    pub fn reading(mut self, policy: ReadPolicy) -> Self {
        let is_one_sided = self.fabric().facts().is_one_sided;
        self.reader_mut().is_on = match policy {
            ReadPolicy::Never => false,
            ReadPolicy::OneSided => is_one_sided,
            ReadPolicy::Always => true,
        };
        self
    }

    /// Draws what is kept of where others' lists lie on this account.
    pub(crate) fn with_location_memory(mut self, memory: Arc<dyn MemoryBudget + Send>) -> Self {
        self.reader_mut().locations = Locations::new(memory);
        self
    }

    /// What it knows of where others' lists lie.
    pub(crate) fn locations(&self) -> KeptLocations {
        self.reader().locations.kept()
    }
}

/// How a question for lists goes on.
pub(crate) enum Begun {
    /// It is answered.
    Answered,
    /// Its answer comes.
    UnderWay,
    /// It is to be asked by message.
    Not,
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Ground<P, T> {
    /// Begins to read what a question of something wanted is about, where that can be read.
    pub(crate) fn read(&self, to: u16, ticket: Ticket, asked: &Arc<Asked>, place: usize) -> Begun {
        match asked.questions[place].1 {
            Question::Lists(..) => self.read_lists(to, ticket, asked, place),
            Question::IdsOfKeys(..) => self.read_ids(to, asked, place),
            _ => Begun::Not,
        }
    }

    fn read_lists(&self, to: u16, ticket: Ticket, asked: &Arc<Asked>, place: usize) -> Begun {
        let Question::Lists(segment, scope, keys) = &asked.questions[place].1 else {
            return Begun::Not;
        };
        let session = asked.session().filter(|_| self.reader().is_on);
        let Some(session) = session else {
            return Begun::Not;
        };
        let placed = match self.reader().locations.known(to, *segment) {
            Known::Here(placed) => placed,
            Known::NotHere { is_to_be_asked } => {
                if is_to_be_asked {
                    self.ask_where(to, Spot::Segment(*segment));
                }
                return Begun::Not;
            }
        };
        if keys.iter().any(|key| placed.location.may_be_changed(*key)) {
            return Begun::Not;
        }
        let SegmentPlace {
            location,
            regions,
            copies,
        } = placed;
        let lookup = Lookup::new(location, copies, keys, scope.as_scope());
        let Ok(lookup) = lookup else {
            self.reader().locations.forget(to, *segment);
            return Begun::Not;
        };
        let reading = ListReading {
            to,
            request: 0,
            asked: Arc::clone(asked),
            place,
            segment: *segment,
            regions,
            lookup,
            drawn: Drawn::on(&session),
            tally: ReadTally::default(),
            bytes: 0,
        };
        self.begin(reading, ticket)
    }

    fn begin(&self, mut reading: ListReading, ticket: Ticket) -> Begun {
        let node = NodeId(reading.to);
        if self.fabric().load(node, &[], &mut []).is_none() && !reading.lookup.is_done() {
            let (asked, place) = (Arc::clone(&reading.asked), reading.place);
            reading.request = self.desk().request(reading.to, ticket, &asked, place);
            self.read_on(reading);
            return Begun::UnderWay;
        }
        match self.load_all(&mut reading) {
            Ok(answer) => {
                self.keep(reading.asked.answered(reading.place, Ok(answer)));
                Begun::Answered
            }
            Err(Unread::Failed(failure)) => {
                reading.asked.answered(reading.place, Err(failure));
                Begun::Answered
            }
            Err(Unread::Over) => Begun::Answered,
            Err(unread) => {
                self.is_unread(&reading, &unread);
                Begun::Not
            }
        }
    }

    /// Reads all that a lookup wants, in this thread.
    fn load_all(&self, reading: &mut ListReading) -> Result<Answer, Unread> {
        let mut bytes = Vec::new();
        while !reading.lookup.is_done() {
            let pieces = self.next_pieces(reading)?;
            bytes.clear();
            bytes.resize(reading.bytes, 0);
            let loaded = self.fabric().load(NodeId(reading.to), &pieces, &mut bytes);
            loaded.unwrap_or(Err(FabricError::Left))?;
            reading.lookup.take(&bytes)?;
        }
        answer_of(reading)
    }

    /// What is to be read next of a lookup that is not done; memory for it is drawn.
    fn next_pieces(&self, reading: &mut ListReading) -> Result<Vec<Piece>, Unread> {
        let limits = self.fabric().facts().limits;
        let most = (limits.message_bytes_max / 2).max(1) as u64;
        let wanted = reading.lookup.wanted(most, limits.pieces_max);
        let bytes: u64 = wanted.iter().map(|wanted| wanted.length).sum();
        let drawn = reading.drawn.more(bytes.saturating_mul(MEMORY_PER_BYTE));
        drawn.ok_or(Unread::Over)?.map_err(Unread::Failed)?;
        reading.tally.reads += 1;
        for wanted in &wanted {
            reading.tally.bytes[wanted.column as usize] += wanted.length;
        }
        reading.bytes = bytes as usize;
        pieces_of(&wanted, &reading.regions).ok_or(Unread::Elsewhere)
    }

    /// Reads on where a read is a completion; a lookup that is done is answered.
    fn read_on(&self, mut reading: ListReading) {
        let unread = if reading.lookup.is_done() {
            match answer_of(&reading) {
                Ok(answer) => return self.has_answer(&reading, answer),
                Err(unread) => unread,
            }
        } else {
            match self.next_pieces(&mut reading) {
                Ok(pieces) => {
                    let (to, bytes) = (reading.to, reading.bytes);
                    let lists = Reading::Lists(Box::new(reading));
                    match self.start_read(to, &pieces, bytes, lists) {
                        None => return,
                        Some((Reading::Lists(back), error)) => {
                            reading = *back;
                            Unread::from(error)
                        }
                        Some((Reading::Copy(_), _)) => unreachable!("lists were being read"),
                    }
                }
                Err(unread) => unread,
            }
        };
        self.ask_instead(&reading, unread);
    }

    fn has_answer(&self, reading: &ListReading, answer: Answer) {
        if let Some(arrived) = self.desk().withdraw(reading.request) {
            self.keep(arrived.asked.answered(arrived.place, Ok(answer)));
            self.desk().done(arrived.ticket);
        }
        let read = &reading.tally.bytes;
        let due = self
            .reader()
            .locations
            .has_read(reading.to, reading.segment, read);
        if let Some((column, length)) = due {
            let regions = reading.regions;
            self.copy_on(CopyReading {
                to: reading.to,
                segment: reading.segment,
                regions,
                column,
                length,
                copy: Vec::with_capacity(length as usize),
                bytes: 0,
            });
        }
    }

    fn is_unread(&self, reading: &ListReading, unread: &Unread) {
        if matches!(unread, Unread::Elsewhere) {
            self.reader().locations.forget(reading.to, reading.segment);
        }
    }

    /// Lists could not be read: they are asked for by message, or the query has to end.
    fn ask_instead(&self, reading: &ListReading, unread: Unread) {
        self.is_unread(reading, &unread);
        let session = reading.asked.session();
        let (Some(session), Unread::Now | Unread::Elsewhere) = (session, &unread) else {
            return self.is_over(reading, unread);
        };
        session.count(&mut session.kept(), |fetched| fetched.questions += 1);
        let question = reading.asked.questions[reading.place].1.clone();
        self.ask_under(reading.to, reading.request, question);
    }

    /// Nobody waits for lists any more, or whoever does is told why they do not come.
    fn is_over(&self, reading: &ListReading, unread: Unread) {
        let Some(arrived) = self.desk().withdraw(reading.request) else {
            return;
        };
        if let Unread::Failed(failure) = unread {
            arrived.asked.answered(arrived.place, Err(failure));
        }
        self.desk().done(arrived.ticket);
    }

    /// Starts a read; gives back what it was for, where it was refused.
    fn start_read(
        &self,
        to: u16,
        pieces: &[Piece],
        bytes: usize,
        reading: Reading,
    ) -> Option<(Reading, FabricError)> {
        let fabric = self.fabric();
        let into = match fabric.allocate(bytes, MemoryKind::Host) {
            Ok(into) => into,
            Err(error) => return Some((reading, error)),
        };
        let token = self.reader().begin(reading);
        let call = Call {
            token: Token(token),
            deadline: fabric.now() + READ_TIME,
        };
        let refused = fabric.read(NodeId(to), pieces, into, call).err()?;
        let reading = self.reader().end(token)?;
        Some((reading, refused.cause))
    }

    /// A read has ended.
    pub(crate) fn has_read(&self, token: Token, into: &Buffer, result: Result<(), FabricError>) {
        match self.reader().end(token.0) {
            Some(Reading::Lists(mut reading)) => {
                let taken = result.map_err(Unread::from).and_then(|()| {
                    let bytes = &into.bytes()[..reading.bytes];
                    reading.lookup.take(bytes).map_err(Unread::from)
                });
                match taken {
                    Ok(()) => self.read_on(*reading),
                    Err(unread) => self.ask_instead(&reading, unread),
                }
            }
            Some(Reading::Copy(mut reading)) => match result {
                Ok(()) => {
                    let bytes = &into.bytes()[..reading.bytes];
                    reading.copy.extend_from_slice(bytes);
                    self.copy_on(*reading);
                }
                Err(_) => self.is_copied(&reading, None),
            },
            None => {}
        }
    }
}

/// The answer of a lookup that is done.
fn answer_of(reading: &ListReading) -> Result<Answer, Unread> {
    let found = reading.lookup.found()?;
    let keys = found.ends.len() as u64;
    let answer = Answer::Lists(Rows {
        neighbours: found.neighbours,
        graphs: found.graphs,
        ends: found.ends,
    });
    if !reading.asked.questions[reading.place].1.fits(&answer) {
        return Err(Unread::Elsewhere);
    }
    let tally = &reading.tally;
    let bytes = tally.bytes.iter().sum();
    if let Some(session) = reading.asked.session() {
        session.has_read(keys, tally.reads, bytes);
    }
    Ok(answer)
}

/// Pieces of regions; `None`: a column that there is not.
fn pieces_of(wanted: &[Wanted], regions: &[Option<RegionKey>; COLUMNS]) -> Option<Vec<Piece>> {
    let piece = |wanted: &Wanted| {
        Some(Piece {
            region: regions[wanted.column as usize]?,
            offset: wanted.offset,
            length: wanted.length,
        })
    };
    wanted.iter().map(piece).collect()
}
