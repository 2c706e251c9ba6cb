//! What one query has been told on one node, kept until it ends.
//!
//! Whoever had to wait asks from its beginning again, so what came has to stay: lists by key, sets and extents by name, terms
//! by id and ids by term. An item is missing, on its way, or here. On its way it has the ticket of the journey that brings it,
//! so that walks of one query that need the same wait for one journey.
//!
//! What is kept is drawn on the query's memory before it is; where that is refused, or somebody did not answer, the session
//! has failed, and each later question is told so.

use crate::error::Failure;
use crate::held::{Held, Memory};
use crate::question::rows::Rows;
use crate::question::{Answer, Extent, OwnedScope, Question, SetName, Spot, Standing};
use hashbrown::HashMap;
use query::statistics::Statistics;
use rdf::{Direction, PredicateId, Tag, Ticket, VertexId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use store::view::SegmentKey;

/// Something that is here or comes.
#[derive(Clone, Debug)]
pub(crate) enum Slot<T> {
    /// With this journey.
    Coming(Ticket),
    Here(T),
}

/// Keys of a segment that a node has, from a place on.
pub type KeyPage = Arc<Vec<VertexId>>;

/// What is wanted of all nodes together.
#[derive(Clone, Debug)]
pub(crate) enum Want {
    Set(SetName),
    Extent(SegmentKey, OwnedScope),
    /// Lists of keys that are whole on their owners.
    Lists(SegmentKey, OwnedScope, Vec<VertexId>),
    /// Lists of which every node may have a piece.
    Pieces(SegmentKey, OwnedScope, Vec<VertexId>),
    PredicatesOf(Direction, Vec<VertexId>),
    KeysOfIds(Vec<VertexId>),
    IdsOfKeys(Tag, Vec<Vec<u8>>),
    Statistics,
    /// Where something of a node's part lies.
    Where(u16, Spot),
    /// Pages of the keys that nodes have of a segment: each of a node, from a place on; so many keys.
    KeyPages(SegmentKey, Vec<(u16, u64)>, u64),
}

/// Something wanted, on its way: whom what was asked, and what came.
pub(crate) struct Asked {
    /// Gone once its query has ended: an answer that is under way keeps nothing, however long it takes.
    session: Weak<Session>,
    pub(crate) want: Want,
    /// For each node that is asked the question.
    pub(crate) questions: Vec<(u16, Question)>,
    /// Its number in the session, which has the answers that come before the last one.
    number: u64,
    memory: Memory,
}

/// An answer, and its memory.
type Come = (Answer, Held);

impl Fetched {
    /// Adds what another query has fetched.
    pub(crate) fn add(&mut self, other: Fetched) {
        self.questions += other.questions;
        self.lists += other.lists;
        self.prepared += other.prepared;
        self.bytes += other.bytes;
        self.lists_read += other.lists_read;
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
    }
}

impl Asked {
    pub(crate) fn new(
        session: &Arc<Session>,
        want: Want,
        questions: Vec<(u16, Question)>,
    ) -> Asked {
        Asked {
            session: Arc::downgrade(session),
            want,
            number: session.kept().next_asked(),
            questions,
            memory: Arc::clone(&session.shared.memory),
        }
    }

    /// Something that no query wants, asked of one node.
    pub(crate) fn of_no_session(want: Want, to: u16, question: Question, memory: &Memory) -> Asked {
        Asked {
            session: Weak::new(),
            want,
            number: 0,
            questions: vec![(to, question)],
            memory: Arc::clone(memory),
        }
    }

    /// Whose it is, as long as that is not over.
    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        self.session.upgrade()
    }

    /// Who grants memory for the answers.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Whether nobody waits for the answers any more.
    pub(crate) fn is_idle(&self) -> bool {
        self.session.strong_count() == 0 && !matches!(self.want, Want::Where(..))
    }

    /// Takes the answer of one that was asked. When it was the last one, all of them are kept, and what is true of the
    /// graph, whoever asks, is given back.
    pub(crate) fn answered(&self, place: usize, answer: Result<Answer, Failure>) -> Option<Common> {
        if let (Want::Where(node, spot), Ok(Answer::Where(standing))) = (&self.want, &answer) {
            return Some(Common::Where(*node, *spot, standing.clone()));
        }
        let session = self.session.upgrade()?;
        let answer = match answer {
            Ok(answer) => answer,
            Err(failure) => {
                session.fail(failure);
                return None;
            }
        };
        let held = match Held::of(&self.memory, bytes_of(&answer)) {
            Ok(held) => held,
            Err(refused) => {
                session.fail(refused.into());
                return None;
            }
        };
        let mut kept = session.kept();
        let come = kept.come.entry(self.number).or_default();
        come.resize_with(self.questions.len(), || None);
        come[place] = Some((answer, held));
        if come.iter().any(Option::is_none) {
            return None;
        }
        let come = kept.come.remove(&self.number).unwrap_or_default();
        drop(kept);
        session.keep(self, come.into_iter().flatten().unzip())
    }
}

/// What holds for every query at one number.
pub(crate) enum Common {
    Statistics(Statistics),
    Set(SetName, Arc<Vec<VertexId>>),
    Extent(SegmentKey, OwnedScope, Extent),
    Where(u16, Spot, Standing),
}

/// Lists by key, of one segment in one scope.
#[derive(Default)]
pub(crate) struct Shelf {
    pub(crate) places: HashMap<VertexId, Slot<usize>>,
    pub(crate) rows: Rows,
}

/// What has come.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) sets: HashMap<SetName, Slot<Arc<Vec<VertexId>>>>,
    pub(crate) extents: HashMap<(SegmentKey, OwnedScope), Slot<Extent>>,
    pub(crate) shelves: HashMap<(SegmentKey, OwnedScope), Shelf>,
    pub(crate) predicates: HashMap<(Direction, VertexId), Slot<Arc<[PredicateId]>>>,
    pub(crate) keys: HashMap<VertexId, Slot<Option<Arc<[u8]>>>>,
    pub(crate) ids: HashMap<(Tag, Vec<u8>), Slot<Option<VertexId>>>,
    /// By the number of what was asked, answers of some that it was asked of.
    come: HashMap<u64, Vec<Option<Come>>>,
    asked: u64,
    pub(crate) pages: HashMap<(SegmentKey, u16, u64), Slot<KeyPage>>,
    failure: Option<Failure>,
    pub(crate) fetched: Fetched,
    /// Drawn on the budget.
    bytes: u64,
}

/// What a query has asked of other nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Questions sent.
    pub questions: u64,
    /// Keys whose lists a walk asked for.
    pub lists: u64,
    /// Keys whose lists were asked for while a plan was prepared, and for what is no walk.
    pub prepared: u64,
    /// Bytes of all answers, as they are kept.
    pub bytes: u64,
    /// Keys whose lists were read out of the memory of their owners, for which no question was sent.
    pub lists_read: u64,
    /// One-sided reads of them: batches, one after the other for each question.
    pub reads: u64,
    /// Bytes of these.
    pub read_bytes: u64,
}

/// See the module's documentation. Several may share what came, each with figures of its own.
pub(crate) struct Session {
    shared: Arc<Shared>,
    own: Mutex<Fetched>,
}

/// What sessions of one query share on a node.
struct Shared {
    memory: Memory,
    kept: Mutex<Kept>,
}

/// Characteristic sets that a planner is given, a direction: planning must stay in microseconds.
const SETS_MAX: usize = 4096;

/// Bytes of an item besides what it holds: a slot of a hash table at its usual load.
const ITEM_BYTES: u64 = 48;

impl Session {
    pub(crate) fn new(memory: Memory) -> Session {
        let kept = Mutex::default();
        Session {
            shared: Arc::new(Shared { memory, kept }),
            own: Mutex::default(),
        }
    }

    /// Another one that shares what came, with figures of its own.
    pub(crate) fn beside(&self) -> Session {
        Session {
            shared: Arc::clone(&self.shared),
            own: Mutex::default(),
        }
    }

    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.shared.kept()
    }

    /// What was asked through this one alone.
    pub(crate) fn own(&self) -> Fetched {
        *self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what is asked.
    pub(crate) fn count(&self, kept: &mut Kept, count: impl Fn(&mut Fetched)) {
        count(&mut kept.fetched);
        count(&mut self.own.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Draws memory for what is on its way.
    pub(crate) fn draw(&self, bytes: u64) -> Result<(), Failure> {
        self.shared.memory.try_reserve(bytes)?;
        self.kept().bytes += bytes;
        Ok(())
    }

    /// Draws memory for a term that the node knew; `false`: the query has to end.
    pub(crate) fn draw_term(&self, kept: &mut Kept, text_bytes: usize) -> bool {
        let bytes = ITEM_BYTES + text_bytes as u64;
        match self.shared.memory.try_reserve(bytes) {
            Ok(()) => kept.bytes += bytes,
            Err(refused) => {
                kept.failure.get_or_insert(refused.into());
            }
        }
        kept.failure.is_none()
    }

    /// Gives some of it back.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.kept().bytes -= bytes;
        self.shared.memory.release(bytes);
    }

    /// Counts lists that were read, in so many reads of so many bytes.
    pub(crate) fn has_read(&self, lists: u64, reads: u64, bytes: u64) {
        self.count(&mut self.kept(), |fetched| {
            fetched.lists_read += lists;
            fetched.reads += reads;
            fetched.read_bytes += bytes;
        });
    }

    /// Ends it: whoever asks is told why.
    pub(crate) fn fail(&self, failure: Failure) {
        self.kept().failure.get_or_insert(failure);
    }

    /// Keeps what all that were asked have answered.
    fn keep(&self, asked: &Asked, (answers, held): (Vec<Answer>, Vec<Held>)) -> Option<Common> {
        let mut kept = self.kept();
        let asked_bytes = match &asked.want {
            Want::IdsOfKeys(_, keys) => keys.iter().map(Vec::len).sum::<usize>() as u64,
            _ => 0,
        };
        if let Err(refused) = self.shared.memory.try_reserve(asked_bytes) {
            kept.failure.get_or_insert(refused.into());
            return None;
        }
        let bytes = held.into_iter().map(Held::into_bytes).sum::<u64>() + asked_bytes;
        kept.bytes += bytes;
        self.count(&mut kept, |fetched| fetched.bytes += bytes);
        kept.keep(asked, answers)
    }
}

impl Shared {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.memory.release(self.kept().bytes);
    }
}

impl Kept {
    /// Why nothing more is answered, if so.
    pub(crate) fn failure(&self) -> Result<(), Failure> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    fn next_asked(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    fn keep(&mut self, asked: &Asked, answers: Vec<Answer>) -> Option<Common> {
        match &asked.want {
            Want::Set(name) => {
                let set = Arc::new(union(answers));
                self.sets.insert(name.clone(), Slot::Here(Arc::clone(&set)));
                return Some(Common::Set(name.clone(), set));
            }
            Want::Statistics => {
                let of = |answer| match answer {
                    Answer::Statistics(statistics) => Some(*statistics),
                    _ => None,
                };
                let parts: Vec<Statistics> = answers.into_iter().filter_map(of).collect();
                return Some(Common::Statistics(Statistics::of_parts(&parts, SETS_MAX)));
            }
            Want::Extent(segment, scope) => {
                let extents = answers.into_iter().filter_map(|answer| match answer {
                    Answer::Extent(extent) => Some(extent),
                    _ => None,
                });
                let extents: Vec<Extent> = extents.collect();
                let extent = Extent::of_all(extents.iter().copied());
                let name = (*segment, scope.clone());
                self.extents.insert(name, Slot::Here(extent));
                return Some(Common::Extent(*segment, scope.clone(), extent));
            }
            // That is no session's.
            Want::Where(..) => {}
            Want::Lists(segment, scope, _) => self.keep_lists(*segment, scope, asked, answers),
            Want::Pieces(segment, scope, keys) => {
                let pieces: Vec<Rows> = answers.into_iter().filter_map(rows_of).collect();
                let shelf = self.shelves.entry((*segment, scope.clone())).or_default();
                for (list, key) in keys.iter().enumerate() {
                    let at = shelf.rows.len();
                    shelf.rows.push_merged(list, pieces.iter());
                    shelf.places.insert(*key, Slot::Here(at));
                }
            }
            Want::PredicatesOf(direction, _) => self.keep_predicates(*direction, asked, answers),
            Want::KeysOfIds(_) => {
                for ((_, question), answer) in asked.questions.iter().zip(answers) {
                    if let (Question::KeysOfIds(ids), Answer::KeysOfIds(keys)) = (question, answer)
                    {
                        let keys = keys.into_iter().map(|key| Slot::Here(key.map(Arc::from)));
                        self.keys.extend(ids.iter().copied().zip(keys));
                    }
                }
            }
            Want::KeyPages(segment, pages, _) => {
                for ((node, from), answer) in pages.iter().zip(answers) {
                    if let Answer::Set(page) = answer {
                        let name = (*segment, *node, *from);
                        self.pages.insert(name, Slot::Here(Arc::new(page)));
                    }
                }
            }
            Want::IdsOfKeys(..) => {
                for ((_, question), answer) in asked.questions.iter().zip(answers) {
                    if let (Question::IdsOfKeys(kind, keys), Answer::IdsOfKeys(ids)) =
                        (question, answer)
                    {
                        let names = keys.iter().map(|key| (*kind, key.clone()));
                        self.ids.extend(names.zip(ids.into_iter().map(Slot::Here)));
                    }
                }
            }
        }
        None
    }

    fn keep_lists(
        &mut self,
        segment: SegmentKey,
        scope: &OwnedScope,
        asked: &Asked,
        answers: Vec<Answer>,
    ) {
        let shelf = self.shelves.entry((segment, scope.clone())).or_default();
        for ((_, question), answer) in asked.questions.iter().zip(answers) {
            let (Question::Lists(.., keys), Some(rows)) = (question, rows_of(answer)) else {
                continue;
            };
            for (list, key) in keys.iter().enumerate() {
                let at = shelf.rows.len();
                shelf.rows.push(&rows, list);
                shelf.places.insert(*key, Slot::Here(at));
            }
        }
    }

    fn keep_predicates(&mut self, direction: Direction, asked: &Asked, answers: Vec<Answer>) {
        for ((_, question), answer) in asked.questions.iter().zip(answers) {
            if let (Question::PredicatesOf(_, vertices), Answer::PredicatesOf(predicates, ends)) =
                (question, answer)
            {
                let mut start = 0;
                for (vertex, end) in vertices.iter().zip(ends) {
                    let run: Arc<[PredicateId]> = predicates[start..end].into();
                    self.predicates
                        .insert((direction, *vertex), Slot::Here(run));
                    start = end;
                }
            }
        }
    }
}

fn rows_of(answer: Answer) -> Option<Rows> {
    match answer {
        Answer::Lists(rows) => Some(rows),
        _ => None,
    }
}

/// What is in any of these sets, ascending.
fn union(answers: Vec<Answer>) -> Vec<VertexId> {
    let mut all: Vec<VertexId> = Vec::new();
    for answer in answers {
        if let Answer::Set(set) = answer {
            all.extend(set);
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Bytes that an answer takes when it is kept.
pub(crate) fn bytes_of(answer: &Answer) -> u64 {
    let (items, bytes) = match answer {
        Answer::Set(set) => (1, size_of_val(&set[..])),
        Answer::Extent(_) => (1, 0),
        Answer::Lists(rows) => (
            rows.len(),
            size_of_val(&rows.neighbours[..]) + size_of_val(&rows.graphs[..]),
        ),
        Answer::PredicatesOf(predicates, ends) => (ends.len(), size_of_val(&predicates[..])),
        Answer::KeysOfIds(keys) => (keys.len(), keys.iter().flatten().map(Vec::len).sum()),
        Answer::IdsOfKeys(ids) => (ids.len(), 32 * ids.len()),
        // They are not the query's.
        Answer::Statistics(_) | Answer::Where(_) => (0, 0),
    };
    items as u64 * ITEM_BYTES + bytes as u64
}
