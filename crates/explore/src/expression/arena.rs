//! Text and triple terms that a batch computes, kept until the batch is forgotten.
//!
//! A function over strings writes the results of all its rows into one buffer, one after the other,
//! and keeps the buffer here; the values borrow their parts of it. So a row costs a copy of its text
//! and no allocation. Buffers are used again for the next batch.
//!
//! ```text
//!  rows      LCASE
//!  "Course7" ----> "course7course9course9..."   one buffer for about 256 KiB
//!  "Course9"        ^------^------^             values borrow from it
//! ```
//!
//! What is kept stays where it is while others are added ([`boxcar::Vec`]), which is what lets values
//! borrow from a shared arena. Memory is drawn on the budget by [`Batch`] as buffers grow.

use super::batch::Batch;
use super::value::{Language, Value};
use crate::error::WalkError;
use crate::limits::STRING_BYTES_MAX;
use oxrdf::Triple;
use std::cell::RefCell;

/// Bytes after which a buffer is kept and another one begun, so that growing one never takes much
/// more than was drawn on the budget.
const BUFFER_BYTES: usize = 256 << 10;

/// What a batch computed.
#[derive(Default)]
pub(crate) struct Arena {
    texts: boxcar::Vec<String>,
    triples: boxcar::Vec<Triple>,
    spare: RefCell<Vec<String>>,
}

impl Arena {
    /// Forgets everything, keeps some memory.
    pub(crate) fn clear(&mut self) {
        let texts = std::mem::take(&mut self.texts);
        for mut text in texts {
            if text.capacity() > 0 && text.capacity() <= 2 * BUFFER_BYTES {
                text.clear();
                self.spare.get_mut().push(text);
            }
        }
        self.spare.get_mut().truncate(4);
        if self.triples.count() > 0 {
            self.triples = boxcar::Vec::new();
        }
    }

    /// Keeps a text.
    pub(crate) fn keep_text(&self, text: String) -> &str {
        let at = self.texts.push(text);
        self.texts.get(at).expect("it was pushed")
    }

    /// Keeps a triple term.
    pub(crate) fn keep_triple(&self, triple: Triple) -> &Triple {
        let at = self.triples.push(triple);
        self.triples.get(at).expect("it was pushed")
    }

    /// An empty buffer.
    fn buffer(&self) -> String {
        self.spare.borrow_mut().pop().unwrap_or_default()
    }

    fn give_back(&self, buffer: String) {
        if buffer.capacity() > 0 {
            self.spare.borrow_mut().push(buffer);
        }
    }
}

/// What a row's function made.
#[derive(Clone, Copy)]
pub(crate) enum Made<'b> {
    /// A value that needed no writing.
    Value(Value<'b>),
    /// What the row before made.
    Same,
    /// An `xsd:string` of what was written.
    Text,
    /// An IRI of what was written.
    Iri,
    /// A blank node with the label that was written.
    Blank,
    /// A tagged string of what was written.
    Language(Language<'b>),
}

impl<'b> Made<'b> {
    fn value(self, text: &'b str) -> Value<'b> {
        match self {
            Made::Value(value) => value,
            Made::Same | Made::Text => Value::Text(text),
            Made::Iri => Value::Iri(text),
            Made::Blank => Value::Blank(text),
            Made::Language(language) => Value::Language(text, language),
        }
    }

    /// A string with a language, or without.
    pub(crate) fn string(language: Option<Language<'b>>) -> Made<'b> {
        language.map_or(Made::Text, Made::Language)
    }
}

/// A column that is being written.
struct Writer<'w, 'b> {
    batch: &'w Batch<'b>,
    buffer: String,
    /// Bytes of the buffer that were drawn on the budget.
    drawn: usize,
    /// Rows whose text is in the buffer: row, start, end, shape.
    pending: Vec<(usize, usize, usize, Made<'b>)>,
    results: Vec<Option<Value<'b>>>,
}

/// Calls `write` for each row with a buffer to append the row's text to, and gives the column of what
/// the rows made; `None` is an error value.
pub(crate) fn write_column<'b>(
    batch: &Batch<'b>,
    rows: usize,
    write: impl FnMut(usize, &mut String) -> Result<Option<Made<'b>>, WalkError>,
) -> Result<Vec<Option<Value<'b>>>, WalkError> {
    write_column_and(batch, rows, write, |_| {})
}

/// As [`write_column`]; `finish` is shown each buffer before values borrow from it, and must not
/// change where its texts begin and end.
pub(crate) fn write_column_and<'b>(
    batch: &Batch<'b>,
    rows: usize,
    mut write: impl FnMut(usize, &mut String) -> Result<Option<Made<'b>>, WalkError>,
    mut finish: impl FnMut(&mut String),
) -> Result<Vec<Option<Value<'b>>>, WalkError> {
    let mut writer = Writer {
        batch,
        buffer: batch.arena().buffer(),
        drawn: 0,
        pending: Vec::new(),
        results: Vec::with_capacity(rows),
    };
    for row in 0..rows {
        let start = writer.buffer.len();
        let made = write(row, &mut writer.buffer)?;
        writer.add(row, start, made)?;
        if writer.buffer.len() >= BUFFER_BYTES {
            writer.keep(&mut finish);
        }
    }
    writer.keep(&mut finish);
    batch.arena().give_back(writer.buffer);
    Ok(writer.results)
}

impl<'b> Writer<'_, 'b> {
    fn add(&mut self, row: usize, start: usize, made: Option<Made<'b>>) -> Result<(), WalkError> {
        let end = self.buffer.len();
        match made {
            None => {
                self.buffer.truncate(start);
                self.results.push(None);
            }
            Some(Made::Value(value)) => {
                self.buffer.truncate(start);
                self.results.push(Some(value));
            }
            Some(Made::Same) => match self.pending.last() {
                Some(&(before, start, end, made)) if before + 1 == row => {
                    self.pending.push((row, start, end, made));
                    self.results.push(None);
                }
                _ => self.results.push(self.results.last().copied().flatten()),
            },
            Some(made) => {
                if end - start > STRING_BYTES_MAX {
                    return Err(too_long());
                }
                self.batch.spend((end - start) as u64)?;
                self.pending.push((row, start, end, made));
                self.results.push(None);
            }
        }
        let capacity = self.buffer.capacity();
        if capacity > self.drawn {
            self.batch.charge((capacity - self.drawn) as u64)?;
            self.drawn = capacity;
        }
        Ok(())
    }

    /// Keeps the buffer, makes the values that borrow from it, and begins another one.
    fn keep(&mut self, finish: &mut impl FnMut(&mut String)) {
        if self.pending.is_empty() {
            self.buffer.clear();
            return;
        }
        let length = self.buffer.len();
        finish(&mut self.buffer);
        assert_eq!(self.buffer.len(), length, "texts stay where they are");
        let arena = self.batch.arena();
        let buffer = std::mem::take(&mut self.buffer);
        let kept = arena.keep_text(buffer);
        for (row, start, end, made) in self.pending.drain(..) {
            self.results[row] = Some(made.value(&kept[start..end]));
        }
        self.buffer = arena.buffer();
        self.drawn = 0;
    }
}

/// A computed string exceeds the limit.
pub(crate) fn too_long() -> WalkError {
    WalkError::StringTooLong {
        limit_bytes: STRING_BYTES_MAX as u64,
    }
}

/// Appends a piece to the text of a row that began at `start`, unless it would be too long.
pub(crate) fn append(into: &mut String, start: usize, piece: &str) -> Result<(), WalkError> {
    if into.len() - start + piece.len() > STRING_BYTES_MAX {
        return Err(too_long());
    }
    into.push_str(piece);
    Ok(())
}
