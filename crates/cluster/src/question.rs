//! What one node asks another about its part, and what is answered.
//!
//! Each is a question of [`GraphView`] or of a [lexicon](crate::terms), about a part as a graph of its own: it says nothing of
//! what others have. Putting answers together is the asker's, who knows who owns what.

pub(crate) mod rows;

use crate::bytes::{Malformed, Reader, Writer};
use crate::error::Failure;
use crate::held::Held;
use crate::sizes::{bytes_of_statistics, read_statistics, write_statistics};
use crate::terms::PartTerms;
use explore::MemoryExceeded;
use query::statistics::Statistics;
use rdf::{Direction, LexiconError, PredicateId, Progress, Tag, VertexId};
use rows::Rows;
use store::Lists;
use store::location::COLUMNS;
use store::view::{GraphScope, GraphView, SegmentKey, ViewError};

/// A scope with its graphs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OwnedScope {
    Default,
    Named(VertexId),
    Merge(Vec<VertexId>),
    Union,
    EachNamed,
    EachOf(Vec<VertexId>),
}

impl OwnedScope {
    pub(crate) fn of(scope: GraphScope<'_>) -> OwnedScope {
        match scope {
            GraphScope::Default => OwnedScope::Default,
            GraphScope::Named(graph) => OwnedScope::Named(graph),
            GraphScope::Merge(graphs) => OwnedScope::Merge(graphs.to_vec()),
            GraphScope::Union => OwnedScope::Union,
            GraphScope::EachNamed => OwnedScope::EachNamed,
            GraphScope::EachOf(graphs) => OwnedScope::EachOf(graphs.to_vec()),
        }
    }

    pub(crate) fn as_scope(&self) -> GraphScope<'_> {
        match self {
            OwnedScope::Default => GraphScope::Default,
            OwnedScope::Named(graph) => GraphScope::Named(*graph),
            OwnedScope::Merge(graphs) => GraphScope::Merge(graphs),
            OwnedScope::Union => GraphScope::Union,
            OwnedScope::EachNamed => GraphScope::EachNamed,
            OwnedScope::EachOf(graphs) => GraphScope::EachOf(graphs),
        }
    }

    fn write(&self, out: &mut Writer) {
        match self {
            OwnedScope::Default => out.byte(0),
            OwnedScope::Named(graph) => {
                out.byte(1);
                out.id(*graph);
            }
            OwnedScope::Merge(graphs) => {
                out.byte(2);
                out.ids(graphs);
            }
            OwnedScope::Union => out.byte(3),
            OwnedScope::EachNamed => out.byte(4),
            OwnedScope::EachOf(graphs) => {
                out.byte(5);
                out.ids(graphs);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<OwnedScope, Malformed> {
        Ok(match from.byte()? {
            0 => OwnedScope::Default,
            1 => OwnedScope::Named(from.id()?),
            2 => OwnedScope::Merge(from.ids()?),
            3 => OwnedScope::Union,
            4 => OwnedScope::EachNamed,
            5 => OwnedScope::EachOf(from.ids()?),
            _ => return Err(from.malformed("a scope of no kind")),
        })
    }
}

/// A set of vertices that a part has, by its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SetName {
    /// [`GraphView::keys`].
    Keys(SegmentKey),
    /// [`GraphView::vertices`].
    Vertices(Direction),
    /// [`GraphView::keys_of_graph`].
    KeysOfGraph(SegmentKey, VertexId),
    /// [`GraphView::named_graphs`].
    NamedGraphs,
}

/// What others may read out of a node's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Spot {
    /// The lists of a segment.
    Segment(SegmentKey),
    /// The ids of keys of this kind of term.
    Terms(Tag),
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// A set.
    Set(SetName),
    /// [`Extent`] of a segment within a scope.
    Extent(SegmentKey, OwnedScope),
    /// The lists of these keys.
    Lists(SegmentKey, OwnedScope, Vec<VertexId>),
    /// The predicates of each of these vertices.
    PredicatesOf(Direction, Vec<VertexId>),
    /// The keys of these terms of the dictionary.
    KeysOfIds(Vec<VertexId>),
    /// The ids of terms of one kind with these keys.
    IdsOfKeys(Tag, Vec<Vec<u8>>),
    /// What a planner is told of it.
    Statistics,
    /// Where something lies in memory.
    Where(Spot),
    /// Of the part's keys of a segment in their order: from this place on, so many, at most [`KEY_PAGE_MAX`].
    KeyPage(SegmentKey, u64, u64),
}

/// The most keys of a page.
pub(crate) const KEY_PAGE_MAX: u64 = 1 << 13;

/// How much of a segment a scope takes, in one part or in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// [`GraphView::edges`].
    pub(crate) edges: Option<u64>,
    /// Whether the segment has a key, in whatever scope.
    pub(crate) has_keys: bool,
    /// [`Lists::is_exact`].
    pub(crate) is_exact: bool,
}

impl Extent {
    /// Of all parts. A part without an edge of the segment says nothing; one whose edges are in the scope and one whose
    /// edges are not are a segment of which some are.
    pub(crate) fn of_all(parts: impl Iterator<Item = Extent> + Clone) -> Extent {
        let is_exact = parts.clone().all(|part| part.is_exact);
        let has_keys = parts.clone().any(|part| part.has_keys);
        let mut sum = Some(0u64);
        let mut is_out_somewhere = false;
        for part in parts {
            match part.edges {
                Some(0) => is_out_somewhere |= part.has_keys,
                edges => sum = sum.zip(edges).map(|(sum, edges)| sum.saturating_add(edges)),
            }
        }
        Extent {
            edges: sum.filter(|sum| *sum == 0 || !is_out_somewhere),
            has_keys,
            is_exact,
        }
    }
}

/// An answer, of the kind that its question has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// Ascending.
    Set(Vec<VertexId>),
    /// Of this part.
    Extent(Extent),
    /// A list for each key.
    Lists(Rows),
    /// The predicates of all vertices, and where those of each end.
    PredicatesOf(Vec<PredicateId>, Vec<usize>),
    /// A key for each id; `None`: there is no such term.
    KeysOfIds(Vec<Option<Vec<u8>>>),
    /// An id for each key; `None`: there is no such term.
    IdsOfKeys(Vec<Option<VertexId>>),
    /// Sizes.
    Statistics(Box<Statistics>),
    /// Where something lies.
    Where(Standing),
}

/// Whether something of a part can be read by others, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// They have to be asked for.
    Nowhere,
    /// They can be read once more of them is verified.
    Later,
    /// They can be read.
    Here {
        /// As [`store::location::Location`] writes it, or [`rdf::dictionary::part::HashedPlace`].
        location: Vec<u8>,
        /// The region of each column or file, by the key that its owner's fabric gave it.
        regions: [Option<u64>; COLUMNS],
        /// In which life of its owner.
        life: u64,
    },
}

/// Why a part could not answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error(transparent)]
    View(#[from] ViewError),
    #[error(transparent)]
    Lexicon(#[from] LexiconError),
    #[error("{}", ViewError::from(Failure::Memory(*.0)))]
    Memory(MemoryExceeded),
}

impl From<MemoryExceeded> for Unanswered {
    fn from(refused: MemoryExceeded) -> Unanswered {
        Unanswered::Memory(refused)
    }
}

/// Keys that are read until memory is asked for them: their lengths are not known before.
const KEYS_AT_ONCE: usize = 1024;

/// Answers a question by what is here, with memory for it.
pub(crate) fn answer<P: GraphView, T: PartTerms>(
    question: &Question,
    part: &P,
    terms: &T,
    statistics: &Statistics,
    held: &mut Held,
) -> Result<Answer, Unanswered> {
    Ok(match question {
        Question::Set(name) => Answer::Set(set(name, part, held)?),
        Question::Extent(segment, scope) => {
            let scope = scope.as_scope();
            let mut lists = Lists::new();
            at_once(part.lists(*segment, &[], scope, &mut lists)?);
            Answer::Extent(Extent {
                edges: part.edges(*segment, scope)?,
                has_keys: !part.keys(*segment)?.is_empty(),
                is_exact: lists.is_exact(),
            })
        }
        Question::Lists(segment, scope, keys) => {
            let mut lists = Lists::new();
            at_once(part.lists(*segment, keys, scope.as_scope(), &mut lists)?);
            let columns = 1 + u64::from(scope.as_scope().binds_graph());
            held.grow(lists.total_edges() * columns * ID_BYTES + keys.len() as u64 * ID_BYTES)?;
            Answer::Lists(Rows::of(&lists, scope.as_scope())?)
        }
        Question::PredicatesOf(direction, vertices) => {
            let (mut predicates, mut ends) = (Vec::new(), Vec::new());
            at_once(part.predicates_of(*direction, vertices, &mut predicates, &mut ends)?);
            held.grow(ends.len() as u64 * ID_BYTES + size_of_val(&predicates[..]) as u64)?;
            Answer::PredicatesOf(predicates, ends.iter().map(|end| *end as usize).collect())
        }
        Question::KeysOfIds(ids) => {
            held.grow(size_of::<Option<Vec<u8>>>() as u64 * ids.len() as u64)?;
            let mut keys: Vec<Option<Vec<u8>>> = Vec::with_capacity(ids.len());
            for ids in ids.chunks(KEYS_AT_ONCE) {
                let before = keys.len();
                terms.keys_of(ids, &mut |key| keys.push(key.map(<[u8]>::to_vec)))?;
                let read = keys[before..].iter().flatten().map(Vec::len);
                held.grow(read.sum::<usize>() as u64)?;
            }
            Answer::KeysOfIds(keys)
        }
        Question::IdsOfKeys(kind, keys) => {
            held.grow(2 * ID_BYTES * keys.len() as u64)?;
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let mut ids = Vec::with_capacity(keys.len());
            terms.ids_of(*kind, &keys, &mut ids)?;
            Answer::IdsOfKeys(ids)
        }
        Question::Statistics => {
            // Twice: it is to be written, too.
            held.grow(2 * bytes_of_statistics(statistics))?;
            Answer::Statistics(Box::new(statistics.clone()))
        }
        // A ground answers that, which has a fabric to offer memory by.
        Question::Where(_) => Answer::Where(Standing::Nowhere),
        Question::KeyPage(segment, from, len) => {
            let keys = part.keys(*segment)?;
            let from = keys.len().min(*from);
            let to = keys
                .len()
                .min(from.saturating_add((*len).min(KEY_PAGE_MAX)));
            let mut page = Vec::new();
            keys.decode(from, to, &mut page)?;
            Answer::Set(page)
        }
    })
}

/// Bytes of an id.
const ID_BYTES: u64 = size_of::<VertexId>() as u64;

fn set<P: GraphView>(
    name: &SetName,
    part: &P,
    held: &mut Held,
) -> Result<Vec<VertexId>, Unanswered> {
    let mut into = Vec::new();
    let set = match name {
        SetName::Keys(segment) => part.keys(*segment)?,
        SetName::Vertices(direction) => part.vertices(*direction)?,
        SetName::KeysOfGraph(segment, graph) => {
            // Of one graph: at most all keys.
            held.grow(part.keys(*segment)?.len() * ID_BYTES)?;
            part.keys_of_graph(*segment, *graph, &mut into)?;
            return Ok(into);
        }
        SetName::NamedGraphs => {
            let graphs = part.named_graphs()?;
            held.grow(size_of_val(&graphs[..]) as u64)?;
            return Ok(graphs);
        }
    };
    held.grow(set.len() * ID_BYTES)?;
    set.decode(0, set.len(), &mut into)?;
    Ok(into)
}

fn at_once(progress: Progress) {
    assert_eq!(progress, Progress::Ready, "a part lets nobody wait");
}

impl Question {
    pub(crate) fn write(&self, out: &mut Writer) {
        match self {
            Question::Set(name) => {
                out.byte(0);
                name.write(out);
            }
            Question::Extent(segment, scope) => {
                out.byte(1);
                write_segment(*segment, out);
                scope.write(out);
            }
            Question::Lists(segment, scope, keys) => {
                out.byte(2);
                write_segment(*segment, out);
                scope.write(out);
                out.ids(keys);
            }
            Question::PredicatesOf(direction, vertices) => {
                out.byte(3);
                out.byte(*direction as u8);
                out.ids(vertices);
            }
            Question::KeysOfIds(ids) => {
                out.byte(4);
                out.ids(ids);
            }
            Question::IdsOfKeys(kind, keys) => {
                out.byte(5);
                out.byte(*kind as u8);
                out.number(keys.len() as u64);
                for key in keys {
                    out.bytes(key);
                }
            }
            Question::Statistics => out.byte(6),
            Question::Where(Spot::Segment(segment)) => {
                out.byte(7);
                write_segment(*segment, out);
            }
            Question::Where(Spot::Terms(kind)) => {
                out.byte(9);
                out.byte(*kind as u8);
            }
            Question::KeyPage(segment, from, len) => {
                out.byte(8);
                write_segment(*segment, out);
                out.number(*from);
                out.number(*len);
            }
        }
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Question, Malformed> {
        Ok(match from.byte()? {
            0 => Question::Set(SetName::read(from)?),
            1 => Question::Extent(read_segment(from)?, OwnedScope::read(from)?),
            2 => Question::Lists(read_segment(from)?, OwnedScope::read(from)?, from.ids()?),
            3 => Question::PredicatesOf(read_direction(from)?, from.ids()?),
            4 => Question::KeysOfIds(from.ids()?),
            5 => {
                let kind = read_kind(from)?;
                let count = from.count(1)?;
                let keys = (0..count).map(|_| from.bytes().map(<[u8]>::to_vec));
                Question::IdsOfKeys(kind, keys.collect::<Result<_, _>>()?)
            }
            6 => Question::Statistics,
            7 => Question::Where(Spot::Segment(read_segment(from)?)),
            8 => Question::KeyPage(read_segment(from)?, from.number()?, from.number()?),
            9 => Question::Where(Spot::Terms(read_kind(from)?)),
            _ => return Err(from.malformed("a question of no kind")),
        })
    }

    /// The segment that it is about.
    pub(crate) fn segment(&self) -> Option<SegmentKey> {
        match self {
            Question::Set(SetName::Keys(segment) | SetName::KeysOfGraph(segment, _))
            | Question::Extent(segment, _)
            | Question::Lists(segment, ..)
            | Question::Where(Spot::Segment(segment))
            | Question::KeyPage(segment, ..) => Some(*segment),
            Question::Set(SetName::Vertices(_) | SetName::NamedGraphs)
            | Question::PredicatesOf(..)
            | Question::KeysOfIds(_)
            | Question::IdsOfKeys(..)
            | Question::Where(Spot::Terms(_))
            | Question::Statistics => None,
        }
    }

    /// Whether an answer is one to this question, as far as that can be told: for one that came from elsewhere.
    pub(crate) fn fits(&self, answer: &Answer) -> bool {
        match (self, answer) {
            (Question::Set(_), Answer::Set(set)) => set.is_sorted_by(|one, next| one < next),
            (Question::KeyPage(_, _, len), Answer::Set(page)) => {
                page.len() as u64 <= *len && page.is_sorted_by(|one, next| one < next)
            }
            (Question::Extent(..), Answer::Extent(_))
            | (Question::Statistics, Answer::Statistics(_))
            | (Question::Where(_), Answer::Where(_)) => true,
            (Question::Lists(_, scope, keys), Answer::Lists(rows)) => {
                rows.is_sound(keys.len(), scope.as_scope().binds_graph())
            }
            (Question::PredicatesOf(_, vertices), Answer::PredicatesOf(predicates, ends)) => {
                ends.len() == vertices.len()
                    && ends.is_sorted()
                    && ends.last().copied().unwrap_or(0) == predicates.len()
            }
            (Question::KeysOfIds(ids), Answer::KeysOfIds(keys)) => keys.len() == ids.len(),
            (Question::IdsOfKeys(_, keys), Answer::IdsOfKeys(ids)) => ids.len() == keys.len(),
            _ => false,
        }
    }
}

impl SetName {
    fn write(&self, out: &mut Writer) {
        match self {
            SetName::Keys(segment) => {
                out.byte(0);
                write_segment(*segment, out);
            }
            SetName::Vertices(direction) => {
                out.byte(1);
                out.byte(*direction as u8);
            }
            SetName::KeysOfGraph(segment, graph) => {
                out.byte(2);
                write_segment(*segment, out);
                out.id(*graph);
            }
            SetName::NamedGraphs => out.byte(3),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<SetName, Malformed> {
        Ok(match from.byte()? {
            0 => SetName::Keys(read_segment(from)?),
            1 => SetName::Vertices(read_direction(from)?),
            2 => SetName::KeysOfGraph(read_segment(from)?, from.id()?),
            3 => SetName::NamedGraphs,
            _ => return Err(from.malformed("a set of no kind")),
        })
    }
}

fn write_segment(segment: SegmentKey, out: &mut Writer) {
    out.number(segment.predicate.0.into());
    out.byte(segment.direction as u8);
}

fn read_kind(from: &mut Reader<'_>) -> Result<Tag, Malformed> {
    let kind = Tag::from_number(from.byte()?).filter(|tag| tag.is_dictionary());
    kind.ok_or_else(|| from.malformed("terms of a kind without keys"))
}

fn read_segment(from: &mut Reader<'_>) -> Result<SegmentKey, Malformed> {
    Ok(SegmentKey {
        predicate: PredicateId(from.number32()?),
        direction: read_direction(from)?,
    })
}

fn read_direction(from: &mut Reader<'_>) -> Result<Direction, Malformed> {
    Ok(if from.truth()? {
        Direction::In
    } else {
        Direction::Out
    })
}

impl Answer {
    /// The numbers of predicates in it.
    pub(crate) fn predicates(&self) -> &[PredicateId] {
        match self {
            Answer::PredicatesOf(predicates, _) => predicates,
            _ => &[],
        }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        match self {
            Answer::Set(set) => {
                out.byte(0);
                out.ids(set);
            }
            Answer::Extent(extent) => {
                out.byte(1);
                out.number(extent.edges.map_or(0, |edges| edges + 1));
                out.byte(u8::from(extent.has_keys));
                out.byte(u8::from(extent.is_exact));
            }
            Answer::Lists(rows) => {
                out.byte(2);
                let degrees = (0..rows.len()).map(|list| rows.range(list).len() as u64);
                out.numbers(degrees);
                out.ids(&rows.neighbours);
                out.ids(&rows.graphs);
            }
            Answer::PredicatesOf(predicates, ends) => {
                out.byte(3);
                out.numbers(predicates.iter().map(|predicate| predicate.0.into()));
                out.numbers(ends.iter().map(|end| *end as u64));
            }
            Answer::KeysOfIds(keys) => {
                out.byte(4);
                out.number(keys.len() as u64);
                for key in keys {
                    out.byte(u8::from(key.is_some()));
                    if let Some(key) = key {
                        out.bytes(key);
                    }
                }
            }
            Answer::IdsOfKeys(ids) => {
                out.byte(5);
                let ids = ids.iter().map(|id| id.unwrap_or(VertexId::UNBOUND));
                out.ids(&ids.collect::<Vec<_>>());
            }
            Answer::Statistics(statistics) => {
                out.byte(6);
                write_statistics(statistics, out);
            }
            Answer::Where(standing) => {
                out.byte(7);
                standing.write(out);
            }
        }
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Answer, Malformed> {
        Ok(match from.byte()? {
            0 => Answer::Set(from.ids()?),
            1 => Answer::Extent(Extent {
                edges: from.number()?.checked_sub(1),
                has_keys: from.truth()?,
                is_exact: from.truth()?,
            }),
            2 => {
                let count = from.count(1)?;
                let (mut end, mut ends) = (0u64, Vec::with_capacity(count));
                for _ in 0..count {
                    end = end.saturating_add(from.number()?);
                    ends.push(usize::try_from(end).unwrap_or(usize::MAX));
                }
                Answer::Lists(Rows {
                    ends,
                    neighbours: from.ids()?,
                    graphs: from.ids()?,
                })
            }
            3 => {
                let predicates = from.count(1)?;
                let predicates = (0..predicates).map(|_| from.number32().map(PredicateId));
                let predicates = predicates.collect::<Result<_, _>>()?;
                let ends = from.numbers()?.into_iter().map(|end| end as usize);
                Answer::PredicatesOf(predicates, ends.collect())
            }
            4 => {
                let count = from.count(1)?;
                let mut key = || {
                    let is_there = from.truth()?;
                    is_there
                        .then(|| from.bytes().map(<[u8]>::to_vec))
                        .transpose()
                };
                Answer::KeysOfIds((0..count).map(|_| key()).collect::<Result<_, _>>()?)
            }
            5 => {
                let ids = from.ids()?.into_iter();
                Answer::IdsOfKeys(
                    ids.map(|id| Some(id).filter(|id| !id.is_unbound()))
                        .collect(),
                )
            }
            6 => Answer::Statistics(Box::new(read_statistics(from)?)),
            7 => Answer::Where(Standing::read(from)?),
            _ => return Err(from.malformed("an answer of no kind")),
        })
    }
}

impl Standing {
    fn write(&self, out: &mut Writer) {
        match self {
            Standing::Nowhere => out.byte(0),
            Standing::Later => out.byte(1),
            Standing::Here {
                location,
                regions,
                life,
            } => {
                out.byte(2);
                out.number(*life);
                for region in regions {
                    out.byte(u8::from(region.is_some()));
                    out.number(region.unwrap_or(0));
                }
                out.bytes(location);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Standing, Malformed> {
        Ok(match from.byte()? {
            0 => Standing::Nowhere,
            1 => Standing::Later,
            2 => {
                let life = from.number()?;
                let mut regions = [None; COLUMNS];
                for region in &mut regions {
                    let is_there = from.truth()?;
                    *region = Some(from.number()?).filter(|_| is_there);
                }
                Standing::Here {
                    location: from.bytes()?.to_vec(),
                    regions,
                    life,
                }
            }
            _ => return Err(from.malformed("a place of no kind")),
        })
    }
}
