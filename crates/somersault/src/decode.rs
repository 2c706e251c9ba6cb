//! From ids to terms, a bounded number of bytes at a time.
//!
//! A chunk has up to a thousand rows, and a literal may have megabytes: decoded at once they would
//! take gigabytes that no budget has seen. So a batch of rows ends where its text passes
//! [`BATCH_BYTES`], ids are decoded a few at a time, and what the buffers hold is drawn on the
//! query's budget. A batch holds at least [`IDS`] rows' worth of one column at worst, whatever their
//! length.

use crate::budget::Budget;
use crate::error::QueryError;
use crate::results::Rows;
use explore::{Chunk, MemoryBudget, Prepared, WalkError};
use query::plan::Slot;
use rdf::{Lexicon, LexiconError, Tag, TermBuffer, VertexId};
use std::ops::Range;

/// Text of one column after which a batch ends.
const BATCH_BYTES: usize = 1 << 20;
/// Rows after which a batch ends.
const ROWS_MAX: usize = 1024;
/// Ids decoded together: as many as a block of the dictionary has.
const IDS: usize = 16;

/// Decodes the projected columns of chunks.
pub(crate) struct Decoder<'d> {
    /// The batch decoded last.
    pub(crate) rows: Rows,
    slots: &'d [Slot],
    budget: &'d Budget,
    reserved_bytes: u64,
}

impl<'d> Decoder<'d> {
    /// For these columns, within this budget.
    pub(crate) fn new(slots: &'d [Slot], budget: &'d Budget) -> Decoder<'d> {
        let mut rows = Rows::default();
        rows.columns.resize_with(slots.len(), TermBuffer::new);
        Decoder {
            rows,
            slots,
            budget,
            reserved_bytes: 0,
        }
    }

    /// Decodes rows from the start of the range, as many as a batch takes; gives their number, at
    /// least one.
    pub(crate) fn decode(
        &mut self,
        dictionary: &impl Lexicon,
        prepared: &Prepared<'_>,
        chunk: &Chunk,
        range: Range<usize>,
    ) -> Result<usize, QueryError> {
        // A chunk without columns may stand for any number of rows.
        let mut len = range.len().min(ROWS_MAX);
        for (column, slot) in self.slots.iter().enumerate() {
            self.rows.columns[column].clear();
            match chunk.column(*slot) {
                Some(ids) => {
                    let ids = &ids[range.start..range.start + len];
                    len = self.column(column, dictionary, prepared, ids)?;
                }
                None => (0..len).for_each(|_| self.rows.columns[column].push_unbound()),
            }
        }
        self.rows.len = len;
        Ok(len)
    }

    /// Decodes ids of a column until they are too much text; gives how many.
    fn column(
        &mut self,
        column: usize,
        dictionary: &impl Lexicon,
        prepared: &Prepared<'_>,
        ids: &[VertexId],
    ) -> Result<usize, QueryError> {
        let mut done = 0;
        let mut step = IDS;
        while done < ids.len() {
            let next = (done + step).min(ids.len());
            let terms = &mut self.rows.columns[column];
            let before = terms.bytes();
            decode_ids(dictionary, prepared, &ids[done..next], terms)?;
            done = next;
            let grown = terms.bytes() - before;
            // After one long text the next may be as long.
            step = if grown > BATCH_BYTES / 4 { 1 } else { IDS };
            self.reserve()?;
            if self.rows.columns[column].text_bytes() > BATCH_BYTES {
                break;
            }
        }
        Ok(done)
    }

    /// Draws what the buffers hold on the budget.
    fn reserve(&mut self) -> Result<(), QueryError> {
        let held: usize = self.rows.columns.iter().map(TermBuffer::bytes).sum();
        let more = (held as u64).saturating_sub(self.reserved_bytes);
        if more > 0 {
            self.budget.try_reserve(more).map_err(|refused| {
                QueryError::from(WalkError::OutOfMemory {
                    limit_bytes: refused.limit_bytes,
                    used_bytes: refused.used_bytes,
                })
            })?;
            self.reserved_bytes += more;
        }
        Ok(())
    }
}

impl Drop for Decoder<'_> {
    fn drop(&mut self) {
        self.budget.release(self.reserved_bytes);
    }
}

/// Decodes ids. Query-local ones come from the query itself, all others from the dictionary, a run
/// at a time.
pub(crate) fn decode_ids(
    dictionary: &impl Lexicon,
    prepared: &Prepared<'_>,
    ids: &[VertexId],
    terms: &mut TermBuffer,
) -> Result<(), QueryError> {
    let is_local = |id: &VertexId| id.has_tag(Tag::QueryLocal);
    for run in ids.chunk_by(|left, right| is_local(left) == is_local(right)) {
        if !run.first().is_some_and(is_local) {
            dictionary.terms(run, terms)?;
            continue;
        }
        for id in run {
            let term = prepared.locals().term(*id);
            terms.push(term.ok_or(LexiconError::UnknownId(*id))?.as_ref());
        }
    }
    Ok(())
}
