//! Writing a column of computed text.
//!
//! A function over strings writes the results of all its rows into one buffer, one after the other,
//! and keeps the buffer in the batch's [arena](super::batch::Arena); the values borrow their parts of it. So a row
//! costs a copy of its text and no allocation.
//!
//! ```text
//!  rows      LCASE
//!  "Course7" ----> "course7course9course9..."   one buffer for about 256 KiB
//!  "Course9"        ^------^------^             values borrow from it
//! ```
//!
//! Memory: functions write through an [`Ink`], which draws on the budget of the [`Batch`] before its
//! buffer grows. While a buffer is copied to a larger one both are drawn.

use super::batch::{BUFFER_BYTES, Batch};
use super::value::{Language, Value};
use crate::error::WalkError;
use crate::limits::STRING_BYTES_MAX;

/// Bytes up to which a buffer doubles when it grows: it holds less than one longest string and what
/// comes before another buffer is begun.
const DOUBLING_BYTES_MAX: usize = STRING_BYTES_MAX + BUFFER_BYTES;

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
    /// An integer or a decimal that no scalar holds, in its canonical form, of this datatype.
    Large(&'static str),
    /// A literal of this datatype, written as one of its forms.
    Typed(&'static str),
}

impl<'b> Made<'b> {
    fn value(self, text: &'b str) -> Value<'b> {
        match self {
            Made::Value(value) => value,
            Made::Same | Made::Text => Value::Text(text),
            Made::Iri => Value::Iri(text),
            Made::Blank => Value::Blank(text),
            Made::Language(language) => Value::Language(text, language),
            Made::Large(datatype) => Value::Large(text, datatype),
            Made::Typed(datatype) => Value::typed(text, datatype),
        }
    }

    /// A string with a language, or without.
    pub(crate) fn string(language: Option<Language<'b>>) -> Made<'b> {
        language.map_or(Made::Text, Made::Language)
    }
}

/// A buffer that draws on the budget before it grows.
pub(crate) struct Ink<'w, 'b> {
    batch: &'w Batch<'b>,
    text: String,
    /// Where the row's text begins.
    start: usize,
}

impl Ink<'_, '_> {
    /// Appends a piece to the row's text, unless that would be too long.
    pub(crate) fn push_str(&mut self, piece: &str) -> Result<(), WalkError> {
        if self.text.len() - self.start + piece.len() > STRING_BYTES_MAX {
            return Err(too_long());
        }
        self.room(piece.len())?.push_str(piece);
        Ok(())
    }

    /// The buffer with room for so many bytes more: to be appended to, and by no more than that.
    #[inline]
    pub(crate) fn room(&mut self, more: usize) -> Result<&mut String, WalkError> {
        if self.text.capacity() - self.text.len() < more {
            self.grow(more)?;
        }
        Ok(&mut self.text)
    }

    #[cold]
    fn grow(&mut self, more: usize) -> Result<(), WalkError> {
        let held = self.text.capacity();
        let doubled = (2 * held).min(DOUBLING_BYTES_MAX);
        let wanted = (self.text.len() + more).max(doubled);
        self.batch.charge(wanted as u64)?;
        self.text.reserve_exact(wanted - self.text.len());
        self.batch.discharge(held as u64);
        Ok(())
    }
}

/// A column that is being written.
struct Writer<'w, 'b> {
    ink: Ink<'w, 'b>,
    /// Rows whose text is in the buffer: row, start, end, shape.
    pending: Vec<(usize, usize, usize, Made<'b>)>,
    results: Vec<Option<Value<'b>>>,
}

/// Calls `write` for each row with a buffer to append the row's text to, and gives the column of what
/// the rows made; `None` is an error value.
pub(crate) fn write_column<'b>(
    batch: &Batch<'b>,
    rows: usize,
    write: impl FnMut(usize, &mut Ink<'_, 'b>) -> Result<Option<Made<'b>>, WalkError>,
) -> Result<Vec<Option<Value<'b>>>, WalkError> {
    write_column_and(batch, rows, write, |_| {})
}

/// As [`write_column`]; `finish` is shown each buffer before values borrow from it, and must not
/// change where its texts begin and end.
pub(crate) fn write_column_and<'b>(
    batch: &Batch<'b>,
    rows: usize,
    mut write: impl FnMut(usize, &mut Ink<'_, 'b>) -> Result<Option<Made<'b>>, WalkError>,
    mut finish: impl FnMut(&mut String),
) -> Result<Vec<Option<Value<'b>>>, WalkError> {
    let text = batch.arena().buffer();
    batch.charge(text.capacity() as u64)?;
    let mut writer = Writer {
        ink: Ink {
            batch,
            text,
            start: 0,
        },
        pending: Vec::new(),
        results: Vec::with_capacity(rows),
    };
    for row in 0..rows {
        writer.ink.start = writer.ink.text.len();
        let made = write(row, &mut writer.ink)?;
        writer.add(row, made)?;
        if writer.ink.text.len() >= BUFFER_BYTES {
            writer.keep(&mut finish)?;
        }
    }
    writer.keep(&mut finish)?;
    let text = writer.ink.text;
    batch.discharge(text.capacity() as u64);
    batch.arena().give_back(text);
    assert_eq!(writer.results.len(), rows, "a row has its result");
    Ok(writer.results)
}

impl<'b> Writer<'_, 'b> {
    fn add(&mut self, row: usize, made: Option<Made<'b>>) -> Result<(), WalkError> {
        let (start, end) = (self.ink.start, self.ink.text.len());
        match made {
            None => {
                self.ink.text.truncate(start);
                self.results.push(None);
            }
            Some(Made::Value(value)) => {
                self.ink.text.truncate(start);
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
                self.ink.batch.spend((end - start) as u64)?;
                self.pending.push((row, start, end, made));
                self.results.push(None);
            }
        }
        Ok(())
    }

    /// Keeps the buffer, makes the values that borrow from it, and begins another one.
    fn keep(&mut self, finish: &mut impl FnMut(&mut String)) -> Result<(), WalkError> {
        if self.pending.is_empty() {
            self.ink.text.clear();
            return Ok(());
        }
        let length = self.ink.text.len();
        finish(&mut self.ink.text);
        assert_eq!(self.ink.text.len(), length, "texts stay where they are");
        let arena = self.ink.batch.arena();
        let kept = arena.keep_text(std::mem::take(&mut self.ink.text));
        for (row, start, end, made) in self.pending.drain(..) {
            self.results[row] = Some(made.value(&kept[start..end]));
        }
        let next = arena.buffer();
        self.ink.batch.charge(next.capacity() as u64)?;
        self.ink.text = next;
        Ok(())
    }
}

/// A computed string exceeds the limit.
pub(crate) fn too_long() -> WalkError {
    WalkError::StringTooLong {
        limit_bytes: STRING_BYTES_MAX as u64,
    }
}
