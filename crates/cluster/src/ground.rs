//! A node: its part, who owns what, and what it and the others ask each other.
//!
//! Whoever polls the fabric gives its events to [`Ground::handle`], on one thread; a question about the part is answered
//! there, at once, so that asking wakes nobody. Everything else is called by whoever walks.
//!
//! A message that a peer has no room for waits here, in order, until the fabric says that there is; what waits is bounded by
//! what queries ask, and that by what their walks hold.

use crate::bytes::{self, Malformed, Writer, read_node_error, write_node_error};
use crate::desk::{Arrived, Desk, Waker};
use crate::error::Failure;
use crate::held::{Held, Memory};
use crate::home::Homes;
use crate::message::{Message, Mode, PIECE_BYTES};
use crate::question::{
    Answer, Extent, OwnedScope, Question, SetName, Standing, Unanswered, answer,
};
use crate::reading::reader::PeerReader;
use crate::session::{Asked, Common, Want, bytes_of};
use crate::terms::PartTerms;
use crate::terms::known::KnownTerms;
use explore::limits::Unlimited;
use fabric::{Fabric, FabricError, NodeId, Presence};
use hashbrown::HashMap;
use query::statistics::Statistics;
use rdf::{Direction, NodeError, Placement, PredicateId, Tag, Ticket, VertexId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use store::view::{GraphView, SegmentKey};

/// Extents and sets that are kept for all queries of a node; beyond, all are forgotten and asked again.
const COMMON_MAX: usize = 4096;

/// The largest set that is kept for all queries: 512 KiB.
const COMMON_SET_MAX: usize = 1 << 16;

/// See the module's documentation.
pub struct Ground<P, T> {
    fabric: Arc<dyn Fabric>,
    here: u16,
    placement: Placement,
    /// `rdf:type`, whose edges lie with the members, if any vertex has one.
    kind: Option<VertexId>,
    /// The segment whose lists are in pieces.
    pieces: Option<SegmentKey>,
    part: P,
    terms: T,
    /// Of the part.
    statistics: Statistics,
    desk: Desk,
    /// By number, whether a predicate has it.
    predicates: Vec<bool>,
    reader: PeerReader,
    /// Whether a read of another node's memory is a load of the thread that reads.
    loads: bool,
    common: RwLock<Commons>,
    known_terms: KnownTerms,
    backlog: Mutex<Backlog>,
    /// For what is of no query here: answers in the making, messages that wait.
    memory: Memory,
}

/// By peer, messages that wait for room, each with its memory.
type Backlog = BTreeMap<u16, VecDeque<(Vec<u8>, Option<Held>)>>;

/// What holds for every query.
#[derive(Default)]
struct Commons {
    extents: HashMap<(SegmentKey, OwnedScope), Extent>,
    sets: HashMap<SetName, Arc<Vec<VertexId>>>,
    statistics: Option<Arc<Statistics>>,
}

impl<P, T> Ground<P, T> {
    /// Forgets who waits for what: the node is over.
    pub(crate) fn forget(&self) {
        self.desk.forget();
    }
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Ground<P, T> {
    /// A node with this part, of which a planner is told this. `kind` is `rdf:type`, if it is stored. Asserts that the fabric has as many nodes as the
    /// placement.
    pub fn new(
        fabric: Arc<dyn Fabric>,
        placement: Placement,
        kind: Option<VertexId>,
        part: P,
        terms: T,
        statistics: Statistics,
    ) -> Ground<P, T> {
        assert_eq!(
            fabric.nodes(),
            placement.nodes(),
            "a placement is of the nodes that there are"
        );
        let mut predicates = Vec::new();
        for PredicateId(number) in part.predicates() {
            let number = number as usize;
            predicates.resize(predicates.len().max(number + 1), false);
            predicates[number] = true;
        }
        let predicate = kind.and_then(|kind| part.predicate_id(kind));
        let pieces = predicate.map(|predicate| SegmentKey {
            predicate,
            direction: Direction::In,
        });
        Ground {
            predicates,
            pieces,
            here: fabric.here().0,
            desk: Desk::new(fabric.life()),
            reader: PeerReader::new(&fabric),
            loads: fabric.load(fabric.here(), &[], &mut []).is_some(),
            fabric,
            placement,
            kind,
            part,
            terms,
            statistics,
            common: RwLock::default(),
            known_terms: KnownTerms::new(&(Arc::new(Unlimited) as Memory)),
            backlog: Mutex::default(),
            memory: Arc::new(Unlimited),
        }
    }

    /// Draws what is of no query here on this memory, from now on.
    pub(crate) fn draw_on(&mut self, memory: Memory) {
        self.known_terms = KnownTerms::new(&memory);
        self.memory = memory;
    }

    /// For what is of no query here.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Its number.
    pub fn here(&self) -> u16 {
        self.here
    }

    /// Who owns what.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Its part.
    pub fn part(&self) -> &P {
        &self.part
    }

    /// Its share of the dictionary.
    pub fn terms(&self) -> &T {
        &self.terms
    }

    /// How it reaches the others.
    pub fn fabric(&self) -> &Arc<dyn Fabric> {
        &self.fabric
    }

    /// `rdf:type`, if it is stored.
    pub fn kind(&self) -> Option<VertexId> {
        self.kind
    }

    /// Terms that others were asked for.
    pub(crate) fn known_terms(&self) -> &KnownTerms {
        &self.known_terms
    }

    pub(crate) fn desk(&self) -> &Desk {
        &self.desk
    }

    pub(crate) fn reader(&self) -> &PeerReader {
        &self.reader
    }

    pub(crate) fn reader_mut(&mut self) -> &mut PeerReader {
        &mut self.reader
    }

    pub(crate) fn owns(&self, vertex: VertexId) -> bool {
        self.placement.is_owned(vertex, self.here)
    }

    /// Whether a node that is asked a plan walks it alone, in the thread that asks: where there is no other node; and a light
    /// plan where what others have is read by a load ([`Homes::is_for_one`]). A mode that is forced says otherwise.
    pub fn walks_alone(&self, mode: Mode, homes: &Homes<'_>) -> bool {
        let is_read = self.reads_by_load() && mode == Mode::Dynamic;
        self.placement.nodes() == 1 || is_read && homes.is_for_one()
    }

    /// Whether the thread that wants lists of other nodes reads them itself, mostly.
    pub(crate) fn reads_by_load(&self) -> bool {
        self.loads && self.reader.is_on
    }

    /// The segment whose lists are in pieces.
    pub(crate) fn pieces(&self) -> Option<SegmentKey> {
        self.pieces
    }

    /// Who knows the id of a term with this key ([`terms::key_of`](crate::terms::key_of)).
    pub fn owner_of_key(&self, key: &[u8]) -> u16 {
        self.placement.owner_of_hash(self.terms.hash(key))
    }

    /// Blocks until a ticket completes, but not much longer than `patience`; whether it has.
    pub fn wait(&self, ticket: Ticket, patience: Duration) -> bool {
        self.desk.wait(ticket, patience)
    }

    /// Calls back when a ticket completes; at once where it has.
    pub fn when_done(&self, ticket: Ticket, wake: Waker) {
        self.desk.when_done(ticket, wake);
    }

    /// What each node is asked for something wanted.
    pub(crate) fn questions(&self, want: &Want) -> Vec<(u16, Question)> {
        let everybody = |question: Question| {
            let nodes = 0..self.placement.nodes();
            nodes.map(|node| (node, question.clone())).collect()
        };
        match want {
            Want::Statistics => everybody(Question::Statistics),
            Want::Set(name) => everybody(Question::Set(name.clone())),
            Want::Extent(segment, scope) => everybody(Question::Extent(*segment, scope.clone())),
            Want::Pieces(segment, scope, keys) => {
                everybody(Question::Lists(*segment, scope.clone(), keys.clone()))
            }
            Want::Lists(segment, scope, keys) => {
                let of = |keys| Question::Lists(*segment, scope.clone(), keys);
                // Keys that layers hold are asked for by themselves: all others can be read.
                let changed = self.reader.changed(*segment, self.placement.nodes());
                let owner = |key: &VertexId| {
                    let owner = self.placement.owner(*key);
                    let location = changed.get(&owner);
                    (
                        owner,
                        location.is_some_and(|location| location.may_be_changed(*key)),
                    )
                };
                let dealt = dealt(keys, owner, of).into_iter();
                dealt
                    .map(|((owner, _), question)| (owner, question))
                    .collect()
            }
            Want::Where(node, spot) => vec![(*node, Question::Where(*spot))],
            Want::PredicatesOf(direction, vertices) => {
                let of = |vertices| Question::PredicatesOf(*direction, vertices);
                dealt(vertices, |vertex| self.placement.owner(*vertex), of)
            }
            Want::KeysOfIds(ids) => dealt(ids, |id| self.placement.owner(*id), Question::KeysOfIds),
            Want::KeyPages(segment, pages, len) => {
                let of =
                    |(node, from): &(u16, u64)| (*node, Question::KeyPage(*segment, *from, *len));
                pages.iter().map(of).collect()
            }
            Want::IdsOfKeys(kind, keys) => {
                let owner = |key: &Vec<u8>| self.placement.owner_of_hash(self.terms.hash(key));
                let kind: Tag = *kind;
                dealt(keys, owner, |keys| Question::IdsOfKeys(kind, keys))
            }
        }
    }

    fn commons(&self) -> std::sync::RwLockReadGuard<'_, Commons> {
        self.common.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn common_set(&self, name: &SetName) -> Option<Arc<Vec<VertexId>>> {
        self.commons().sets.get(name).cloned()
    }

    pub(crate) fn common_extent(&self, name: &(SegmentKey, OwnedScope)) -> Option<Extent> {
        self.commons().extents.get(name).copied()
    }

    /// Keeps what holds for every query.
    pub(crate) fn keep(&self, common: Option<Common>) {
        let Some(common) = common else { return };
        if let Common::Where(node, spot, standing) = common {
            return self.is_located(node, spot, standing);
        }
        let mut commons = self.common.write().unwrap_or_else(PoisonError::into_inner);
        match common {
            Common::Where(..) => {}
            Common::Statistics(statistics) => commons.statistics = Some(Arc::new(statistics)),
            Common::Extent(segment, scope, extent) => {
                if commons.extents.len() >= COMMON_MAX {
                    commons.extents.clear();
                }
                commons.extents.insert((segment, scope), extent);
            }
            Common::Set(name, set) => {
                let is_of_many = match &name {
                    SetName::NamedGraphs => true,
                    SetName::Keys(segment) => self.pieces() == Some(*segment),
                    SetName::Vertices(_) | SetName::KeysOfGraph(..) => false,
                };
                if is_of_many && set.len() <= COMMON_SET_MAX {
                    commons.sets.insert(name, set);
                }
            }
        }
    }

    /// Asks a node one of the questions of something wanted.
    pub(crate) fn ask(&self, to: u16, ticket: Ticket, asked: &Arc<Asked>, place: usize) {
        let request = self.desk.request(to, ticket, asked, place);
        let question = asked.questions[place].1.clone();
        self.ask_under(to, request, question);
    }

    /// Asks a node the question of a request at the desk.
    pub(crate) fn ask_under(&self, to: u16, request: u64, question: Question) {
        let sent = self.send(to, &Message::Ask { request, question });
        if let Err(failure) = sent
            && let Some(lost) = self.desk.withdraw(request)
        {
            self.lost(&lost, failure);
        }
    }

    fn lost(&self, lost: &Arrived, failure: Failure) {
        self.is_not_located(&lost.asked);
        lost.asked.answered(lost.place, Err(failure));
        self.desk.done(lost.ticket);
    }

    /// A node was not sent something: of one that is away, why it is.
    fn unsent(&self, node: u16, error: &FabricError) -> Failure {
        let what = match (error, self.fabric.presence(NodeId(node))) {
            (FabricError::Down { .. }, Presence::Down(cause)) => cause.to_string(),
            _ => error.to_string(),
        };
        NodeError::away(node, what).into()
    }

    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message, now or when the peer has room. An error: it will never arrive.
    pub(crate) fn send(&self, to: u16, message: &Message) -> Result<(), Failure> {
        self.send_bytes(to, message.encode(), None, message.is_counted())
    }

    /// The same of its bytes, for which there may be memory. One that counts what has come, and is answered by nothing, waits
    /// without: it is small, and there are no more of them than tables and questions.
    fn send_bytes(
        &self,
        to: u16,
        bytes: Vec<u8>,
        held: Option<Held>,
        is_counted: bool,
    ) -> Result<(), Failure> {
        let bytes_max = self.fabric.facts().limits.message_bytes_max;
        if bytes.len() > bytes_max {
            // One that waits is not looked at again, so this is said now.
            let too_long = FabricError::TooLong {
                bytes: bytes.len() as u64,
                bytes_max: bytes_max as u64,
            };
            return Err(NodeError::fault(self.here, too_long.to_string()).into());
        }
        let mut backlog = self.backlog();
        let bytes = if backlog.contains_key(&to) {
            bytes
        } else {
            match self.fabric.send(NodeId(to), bytes) {
                Ok(()) => return Ok(()),
                Err(refused) if matches!(refused.cause, FabricError::Busy { .. }) => refused.given,
                Err(refused) => return Err(self.unsent(to, &refused.cause)),
            }
        };
        let held = match held {
            None if is_counted => {
                // That there is none is this node's news, and not its peer's.
                Some(Held::of(&self.memory, bytes.len() as u64)?)
            }
            held => held,
        };
        backlog.entry(to).or_default().push_back((bytes, held));
        Ok(())
    }

    /// A peer takes more again.
    pub(crate) fn has_room(&self, to: u16) {
        let mut backlog = self.backlog();
        let Some(mut waiting) = backlog.remove(&to) else {
            return;
        };
        while let Some((bytes, held)) = waiting.pop_front() {
            match self.fabric.send(NodeId(to), bytes) {
                Ok(()) => {}
                Err(refused) if matches!(refused.cause, FabricError::Busy { .. }) => {
                    waiting.push_front((refused.given, held));
                    backlog.insert(to, waiting);
                    return;
                }
                // It is away: whoever asked it something is told by that.
                Err(_) => return,
            }
        }
    }

    /// A peer is away: what it was asked will not be answered.
    pub(crate) fn is_away(&self, node: u16, what: &str) {
        self.backlog().remove(&node);
        self.reader.is_away(node);
        for lost in self.desk.withdraw_all(node) {
            self.lost(&lost, NodeError::away(node, what).into());
        }
    }

    fn unguarded(&self, question: &Question, held: &mut Held) -> Result<Answer, Unanswered> {
        if let Question::Where(spot) = question {
            let standing = self.standing(*spot);
            if let Standing::Here { location, .. } = &standing {
                held.grow(2 * location.len() as u64)?;
            }
            return Ok(Answer::Where(standing));
        }
        answer(question, &self.part, &self.terms, &self.statistics, held)
    }

    /// The answer of this part, for a query that has this memory.
    pub(crate) fn answered(&self, question: &Question, memory: &Memory) -> Result<Answer, Failure> {
        let mut held = Held::nothing(memory);
        self.unguarded(question, &mut held).map_err(Failure::from)
    }

    /// What a planner is told of all parts, once everybody has said it.
    pub(crate) fn common_statistics(&self) -> Option<Arc<Statistics>> {
        self.commons().statistics.clone()
    }

    /// Whether a number is one that a predicate has, on all nodes alike.
    fn knows(&self, predicate: PredicateId) -> bool {
        let known = self.predicates.get(predicate.0 as usize);
        known.copied().unwrap_or(false)
    }

    /// The answer to a question that came from elsewhere, or why there is none.
    fn answer_to(&self, question: &Question, held: &mut Held) -> Result<Answer, NodeError> {
        let asked = question.segment().map(|segment| segment.predicate);
        if let Some(PredicateId(number)) =
            asked.filter(|asked| *asked != PredicateId::SIGNATURE && !self.knows(*asked))
        {
            let what = format!("there is no predicate of number {number}");
            return Err(NodeError::fault(self.here, what));
        }
        let told = |failure: Failure| failure.told_by(self.here);
        let answer = self.unguarded(question, held);
        let answer = answer.map_err(|error| told(error.into()))?;
        match self.part.damage() {
            // What was read may be of bytes that were not there.
            Some(damage) => Err(told(Failure::View(damage))),
            None => Ok(answer),
        }
    }

    /// Answers a question of another node.
    pub(crate) fn answer(&self, from: u16, request: u64, question: &Question) {
        let mut held = Held::nothing(&self.memory);
        let mut out = Writer::default();
        let answer = self.answer_to(question, &mut held).and_then(|answer| {
            // As bytes it is no longer than it is here.
            let more = held.grow(bytes_of(&answer));
            more.map_err(|refused| Failure::Memory(refused).told_by(self.here))?;
            Ok(answer)
        });
        match answer {
            Ok(answer) => {
                out.byte(0);
                answer.write(&mut out);
            }
            Err(error) => {
                out.byte(1);
                write_node_error(&error, &mut out);
            }
        }
        self.send_answer(from, request, &out.0, held);
    }

    /// Sends an answer in pieces, each with its memory, in case it has to wait.
    fn send_answer(&self, to: u16, request: u64, bytes: &[u8], mut held: Held) {
        let mut pieces = bytes.chunks(PIECE_BYTES).peekable();
        while let Some(piece) = pieces.next() {
            let message = Message::Piece {
                request,
                is_last: pieces.peek().is_none(),
                bytes: piece.to_vec(),
            };
            let held = held.split(piece.len() as u64);
            let sent = self.send_bytes(to, message.encode(), Some(held), false);
            if sent.is_err() {
                // It is away, and waits for nothing any more.
                return;
            }
        }
    }

    /// A piece of an answer has come.
    pub(crate) fn piece(&self, from: u16, request: u64, is_last: bool, bytes: &[u8]) {
        let Some(arrived) = self.desk.piece(from, request, is_last, bytes) else {
            return;
        };
        if let Some(refused) = arrived.refused {
            self.is_not_located(&arrived.asked);
            arrived.asked.answered(arrived.place, Err(refused.into()));
            self.desk.done(arrived.ticket);
            return;
        }
        let question = &arrived.asked.questions[arrived.place].1;
        let answer = read_answer(from, &arrived.bytes, question);
        let answer = answer.and_then(|answer| {
            let mut named = answer.predicates().iter();
            match named.find(|predicate| !self.knows(**predicate)) {
                Some(PredicateId(number)) => {
                    let what = format!(
                        "it answered with a predicate of number {number}, which there is not"
                    );
                    Err(NodeError::fault(from, what))
                }
                None => Ok(answer),
            }
        });
        if let Ok(answer) = &answer {
            self.keep_terms(question, answer);
        }
        let answer = answer.map_err(Failure::from);
        if answer.is_err() {
            self.is_not_located(&arrived.asked);
        }
        self.keep(arrived.asked.answered(arrived.place, answer));
        self.desk.done(arrived.ticket);
    }

    /// Keeps the terms that another node has told.
    fn keep_terms(&self, question: &Question, answer: &Answer) {
        match (question, answer) {
            (Question::IdsOfKeys(kind, keys), Answer::IdsOfKeys(ids)) => {
                let keys = keys.iter().map(|key| &key[..]);
                let told = keys.zip(ids.iter().copied());
                self.known_terms.keep_ids(*kind, told);
            }
            (Question::KeysOfIds(ids), Answer::KeysOfIds(keys)) => {
                let keys = keys.iter().map(Option::as_deref);
                self.known_terms.keep_keys(ids.iter().copied().zip(keys));
            }
            _ => {}
        }
    }
}

/// What a node answered, or why it does not.
fn read_answer(node: u16, bytes: &[u8], question: &Question) -> Result<Answer, NodeError> {
    let mut from = bytes::Reader::new(bytes);
    let read = |from: &mut bytes::Reader<'_>| {
        if from.truth()? {
            // It speaks of itself, whatever it says.
            return read_node_error(from).map(|error| Err(NodeError { node, ..error }));
        }
        Answer::read(from).map(Ok)
    };
    let malformed = |error: Malformed| NodeError::fault(node, error.to_string());
    let answer = read(&mut from).map_err(malformed)??;
    from.end().map_err(malformed)?;
    if !question.fits(&answer) {
        return Err(NodeError::fault(node, "it answered another question"));
    }
    Ok(answer)
}

impl From<Unanswered> for Failure {
    fn from(error: Unanswered) -> Failure {
        match error {
            Unanswered::View(error) => Failure::View(error),
            Unanswered::Lexicon(error) => Failure::Lexicon(error.to_string()),
            Unanswered::Memory(refused) => Failure::Memory(refused),
        }
    }
}

/// Questions about items, each asked of who owns it.
fn dealt<I: Clone, O: Ord>(
    items: &[I],
    owner: impl Fn(&I) -> O,
    question: impl Fn(Vec<I>) -> Question,
) -> Vec<(O, Question)> {
    let mut by_owner: BTreeMap<O, Vec<I>> = BTreeMap::new();
    for item in items {
        by_owner.entry(owner(item)).or_default().push(item.clone());
    }
    let asked = by_owner.into_iter();
    asked.map(|(node, items)| (node, question(items))).collect()
}
