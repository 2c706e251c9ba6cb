//! All keys of one kind in the order of their ordinals: what a merge with new data, a dump and a
//! check read. Each key costs one entry to decode; memory for one key.

use super::Dictionary;
use super::records::RecordCursor;
use super::stream::StreamCursor;
use super::table::{KeyCursor, Keys};
use crate::id::Tag;
use crate::lexicon::LexiconError;

/// Keys one after another; made by [`Dictionary::keys`]. It lends each key, so it is no `Iterator`.
pub struct KeyScan<'a> {
    keys: Source<'a>,
    next: u64,
    count: u64,
}

enum Source<'a> {
    Text(StreamCursor<'a>),
    Records(RecordCursor<'a>),
    None,
}

impl<'a> KeyScan<'a> {
    pub(super) fn new(dictionary: &'a Dictionary, kind: Tag, next: u64) -> KeyScan<'a> {
        let (keys, count) = match kind {
            Tag::Iri => text(&dictionary.iris.keys),
            Tag::Literal => text(&dictionary.literals.keys),
            Tag::TripleTerm => {
                let records = &dictionary.triple_terms.keys;
                (Source::Records(records.cursor()), records.count())
            }
            _ => (Source::None, 0),
        };
        KeyScan { keys, next, count }
    }

    /// The ordinal of the key that [`KeyScan::next_key`] gives next.
    pub fn ordinal(&self) -> u64 {
        self.next
    }

    /// The next key, or `None` after the last one. After an error it goes on behind the key that
    /// could not be read.
    pub fn next_key(&mut self) -> Result<Option<&[u8]>, LexiconError> {
        if self.next >= self.count {
            return Ok(None);
        }
        let ordinal = self.next;
        self.next += 1;
        match &mut self.keys {
            Source::Text(cursor) => cursor.key(ordinal).map(Some),
            Source::Records(cursor) => cursor.key(ordinal).map(Some),
            Source::None => Ok(None),
        }
    }
}

fn text(keys: &super::stream::KeyStream) -> (Source<'_>, u64) {
    (Source::Text(keys.cursor()), keys.count())
}
