//! Who keeps something in the log beside the graph, as checkpoints see it: a generation takes the place of the log before
//! it, so it has to hold that, too.
//!
//! | state | when | a checkpoint |
//! |---|---|---|
//! | `Unread`, no messages | nobody has streams open, and the log says nothing of them | hands on what the last generation keeps |
//! | `Unread`, messages | nobody has streams open, and the log says something of them | is refused: nobody here knows what it means |
//! | `Awaited` | somebody reads them, and will keep them | is refused |
//! | `Alive` | somebody has | holds them still while it chooses its moment, and keeps their image of then |
//!
//! The moment is one for both: between it and the image nothing is said, because whoever says something has to
//! hold still. Order of locks: the keeper's own, then the turn.

use crate::error::{Kind, QueryError};
use crate::sync::{Mutex, MutexGuard};
use rdf::dictionary::DictionaryView;
use std::any::Any;
use std::sync::{Arc, PoisonError, Weak};

/// Keeps something in the log beside the graph.
pub(crate) trait Keeper: Send + Sync {
    /// Says nothing while `freeze` runs, and gives how things stand then. An error where they cannot be kept so: then there
    /// is no checkpoint for now.
    fn hold(&self, freeze: &mut dyn FnMut()) -> Result<Box<dyn Image>, QueryError>;
}

/// How a keeper's things stood at a moment.
pub(crate) trait Image: Send {
    /// Whether there is nothing to be kept.
    fn is_empty(&self) -> bool;

    /// Their bytes in pieces, one behind the other, terms by the dictionary of that moment. An error of whoever takes them
    /// ends it.
    fn encode(
        &self,
        dictionary: &DictionaryView,
        take: &mut TakePiece<'_>,
    ) -> Result<(), QueryError>;
}

/// Takes the next bytes.
pub(crate) type TakePiece<'t> = dyn FnMut(&[u8]) -> Result<(), QueryError> + 't;

enum State {
    Unread {
        /// What the last generation keeps.
        part: Arc<[u8]>,
        /// Whether the log says something that it does not hold.
        has_messages: bool,
    },
    /// What was read, until somebody takes it.
    Awaited(Option<Box<dyn Any + Send>>),
    Alive(Weak<dyn Keeper>),
}

/// See the head of this file.
pub(crate) struct Beside {
    state: Mutex<State>,
}

/// What a generation is to keep.
pub(in crate::change) enum Kept {
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// How things stood.
    Image(Box<dyn Image>),
}

impl Kept {
    /// Whether it is nothing.
    pub(in crate::change) fn is_empty(&self) -> bool {
        match self {
            Kept::Bytes(bytes) => bytes.is_empty(),
            Kept::Image(image) => image.is_empty(),
        }
    }

    /// The bytes in pieces, terms by the dictionary of the generation's moment: all that streams hold is never in one piece.
    pub(in crate::change) fn write(
        &self,
        dictionary: &DictionaryView,
        take: &mut TakePiece<'_>,
    ) -> Result<(), QueryError> {
        match self {
            Kept::Bytes(bytes) => take(bytes),
            Kept::Image(image) => image.encode(dictionary, take),
        }
    }
}

impl Beside {
    /// What was found when the store was opened.
    pub(crate) fn unread(part: Vec<u8>, has_messages: bool) -> Beside {
        let part = part.into();
        Beside {
            state: Mutex::new(State::Unread { part, has_messages }),
        }
    }

    /// Of a store whose log is being read by somebody who will keep what it says.
    pub(crate) fn awaited() -> Beside {
        Beside {
            state: Mutex::new(State::Awaited(None)),
        }
    }

    /// Leaves what was read for whoever will keep it. Where there was nothing, nothing is kept until somebody has something.
    pub(crate) fn leave(&self, read: Option<Box<dyn Any + Send>>) {
        *self.lock() = match read {
            Some(read) => State::Awaited(Some(read)),
            None => State::Unread {
                part: Arc::default(),
                has_messages: false,
            },
        };
    }

    /// Whether something was left, and nobody has taken it.
    pub(crate) fn is_awaited(&self) -> bool {
        matches!(&*self.lock(), State::Awaited(Some(_)))
    }

    /// What was left, once.
    pub(crate) fn take(&self) -> Option<Box<dyn Any + Send>> {
        match &mut *self.lock() {
            State::Awaited(read) => read.take(),
            State::Unread { .. } | State::Alive(_) => None,
        }
    }

    /// From now on it is asked. Who has not read what there is keeps nothing.
    pub(crate) fn keep(&self, keeper: Weak<dyn Keeper>) {
        let mut state = self.lock();
        if let State::Unread { part, has_messages } = &*state
            && (*has_messages || !part.is_empty())
        {
            return;
        }
        *state = State::Alive(keeper);
    }

    /// An error where nobody may say anything, because nobody has read what there is.
    pub(in crate::change) fn may_say(&self) -> Result<(), QueryError> {
        match &*self.lock() {
            State::Unread { .. } | State::Awaited(_) => Err(unread()),
            State::Alive(_) => Ok(()),
        }
    }

    /// Whether there may be no checkpoint, because nobody here knows what the log says.
    pub(in crate::change) fn forbids(&self) -> bool {
        match &*self.lock() {
            State::Unread { has_messages, .. } => *has_messages,
            State::Awaited(_) => true,
            State::Alive(keeper) => keeper.strong_count() == 0,
        }
    }

    /// Whether somebody has something open.
    pub(in crate::change) fn is_alive(&self) -> bool {
        matches!(&*self.lock(), State::Alive(_))
    }

    /// Runs `freeze`, and gives what is to be kept of that moment.
    pub(in crate::change) fn frozen<T>(
        &self,
        freeze: &dyn Fn() -> Result<T, QueryError>,
    ) -> Result<(T, Kept), QueryError> {
        let keeper = match &*self.lock() {
            State::Unread {
                part,
                has_messages: false,
            } => Ok(Arc::clone(part)),
            State::Unread { .. } | State::Awaited(_) => Err(None),
            State::Alive(keeper) => Err(keeper.upgrade()),
        };
        let keeper = match keeper {
            Ok(part) => return Ok((freeze()?, Kept::Bytes(part))),
            Err(Some(keeper)) => keeper,
            Err(None) => return Err(unread()),
        };
        let mut frozen = None;
        let image = keeper.hold(&mut || frozen = Some(freeze()))?;
        let frozen = frozen.unwrap_or_else(|| {
            Err(QueryError::new(
                Kind::Internal,
                "streams were not held still",
            ))
        })?;
        Ok((frozen, Kept::Image(image)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unread() -> QueryError {
    let message = "the store has streams, and they were not opened with it";
    QueryError::new(Kind::Conflict, message)
        .with_hint("`somersault serve` opens them, and makes checkpoints by itself")
}
