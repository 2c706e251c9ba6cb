//! From ids to terms, a bounded number of bytes at a time.
//!
//! A chunk has up to a thousand rows, and a literal may have megabytes: decoded at once they would
//! take gigabytes that no budget has seen. So a batch of rows ends where the text of one of its
//! columns passes [`BATCH_BYTES`], and what the buffers hold is drawn on the query's budget. A batch
//! holds at least one row, whatever its length.
//!
//! An id that recurs in a batch is decoded once ([`Distinct`]) and spread over its cells: columns of
//! answers are full of repetitions (predicates, the other end of a list of neighbours), and a term
//! costs ten times what finding its repetition does. Ids are not sorted: lists of neighbours come in
//! order of ids, so they lie in order in the dictionary already, and sorting what does not would cost
//! what it saves. The text of a batch is counted with its repetitions, since it is written with them.

use crate::budget::Budget;
use crate::error::QueryError;
use crate::output::Rows;
use explore::{MemoryBudget, Prepared, WalkError};
use rdf::{Lexicon, LexiconError, Tag, TermBuffer, VertexId};

/// Text of one column after which a batch ends.
const BATCH_BYTES: usize = 1 << 20;
/// ... less where there are many columns, so that all have no more than this.
const BATCH_BYTES_ALL: usize = 2 << 20;
/// ... but never less than this.
const BATCH_BYTES_MIN: usize = 16 << 10;
/// Rows after which a batch ends.
pub(crate) const ROWS_MAX: usize = 1024;
const _: () = assert!(
    BATCH_BYTES_MIN <= BATCH_BYTES,
    "the bounds of a column's text are in order"
);

/// Decodes the projected columns of chunks.
pub(crate) struct Decoder<'d> {
    /// The batch decoded last.
    pub(crate) rows: Rows,
    budget: &'d Budget,
    reserved_bytes: u64,
    distinct: Distinct,
}

impl<'d> Decoder<'d> {
    /// For so many columns, within this budget.
    pub(crate) fn new(columns: usize, budget: &'d Budget) -> Decoder<'d> {
        let mut rows = Rows::default();
        rows.columns.resize_with(columns, TermBuffer::for_output);
        Decoder {
            rows,
            budget,
            reserved_bytes: 0,
            distinct: Distinct::default(),
        }
    }

    /// Decodes columns of so many cells or more from their start, `None`: unbound, as many rows as a batch takes; gives
    /// their number, at least one.
    pub(crate) fn decode_columns<'i>(
        &mut self,
        dictionary: &impl Lexicon,
        prepared: &Prepared<'_>,
        len: usize,
        columns: impl Fn(usize) -> Option<&'i [VertexId]>,
    ) -> Result<usize, QueryError> {
        // A chunk without columns may stand for any number of rows.
        let mut len = len.min(ROWS_MAX);
        for column in 0..self.rows.columns.len() {
            self.rows.columns[column].clear();
            match columns(column) {
                Some(ids) => len = self.column(column, dictionary, prepared, &ids[..len])?,
                None => (0..len).for_each(|_| self.rows.columns[column].push_unbound()),
            }
        }
        let have_rows = self.rows.columns.iter().all(|column| column.len() >= len);
        assert!(have_rows, "every column has the batch's rows");
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
        let columns = self.rows.columns.len();
        let bytes_max = (BATCH_BYTES_ALL / columns).clamp(BATCH_BYTES_MIN, BATCH_BYTES);
        let terms = &mut self.rows.columns[column];
        let rows = self.distinct.decode(ids, bytes_max, terms, |ids, terms| {
            decode_within(dictionary, prepared, ids, bytes_max, terms)
        })?;
        self.reserve()?;
        Ok(rows)
    }

    /// Draws what the buffers hold on the budget, and their text once more: an answer is written a
    /// batch at a time.
    fn reserve(&mut self) -> Result<(), QueryError> {
        let bytes = |terms: &TermBuffer| terms.bytes() + terms.text_bytes();
        let held: usize = self.rows.columns.iter().map(bytes).sum();
        let more = (held as u64).saturating_sub(self.reserved_bytes);
        if more > 0 {
            self.budget.try_reserve(more).map_err(WalkError::from)?;
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

/// The different ones among some ids.
///
/// Found through a table of recent ones that forgets where two fall on the same place: an id may then
/// stand here twice, which costs its decoding and is no error.
#[derive(Default)]
pub(crate) struct Distinct {
    /// In order of appearance.
    ids: Vec<VertexId>,
    /// For each id given its place in `ids`.
    numbers: Vec<u32>,
    /// Places in `ids` by hash, right only where the id of that place says so. Their number is a power
    /// of two, at least that of the ids: a short answer needs a short table.
    recent: Vec<u32>,
}

/// The least length of the table of recent ids.
const RECENT_MIN: usize = 16;
const _: () = assert!(
    RECENT_MIN.is_power_of_two(),
    "places are the upper bits of a hash"
);

impl Distinct {
    /// Decodes a column of cells, whose `terms` are empty, until they have so many bytes of text; gives
    /// how many, at least one where there is one. `decode` does the same for ids of which none recurs.
    pub(crate) fn decode<E>(
        &mut self,
        ids: &[VertexId],
        text_bytes_max: usize,
        terms: &mut TermBuffer,
        decode: impl FnOnce(&[VertexId], &mut TermBuffer) -> Result<usize, E>,
    ) -> Result<usize, E> {
        self.find(ids);
        let decoded = decode(&self.ids, terms)?;
        assert!(
            decoded <= self.ids.len(),
            "no more is decoded than was asked for"
        );
        if self.ids.len() == ids.len() {
            return Ok(decoded);
        }
        let mut bytes = 0;
        let fits = self.numbers.iter().take_while(|number| {
            let number = **number as usize;
            let is_next = bytes <= text_bytes_max && number < decoded;
            if is_next {
                bytes += terms.term_bytes(number);
            }
            is_next
        });
        let cells = fits.count();
        terms.spread(&self.numbers[..cells]);
        Ok(cells)
    }

    fn find(&mut self, ids: &[VertexId]) {
        self.ids.clear();
        self.numbers.clear();
        let len = ids.len().next_power_of_two().max(RECENT_MIN);
        if self.recent.len() < len {
            self.recent.resize(len, 0);
        }
        let shift = self.recent.len().leading_zeros() + 1;
        for &id in ids {
            // Fibonacci hashing: the upper bits of a multiple of 2^64 / golden ratio.
            let hash = id.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift;
            let recent = &mut self.recent[hash as usize];
            if self.ids.get(*recent as usize) != Some(&id) {
                *recent = self.ids.len() as u32;
                self.ids.push(id);
            }
            self.numbers.push(*recent);
        }
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
    decode_within(dictionary, prepared, ids, usize::MAX, terms).map(|_| ())
}

/// The same, until the texts pass so many bytes; gives how many ids were decoded.
fn decode_within(
    dictionary: &impl Lexicon,
    prepared: &Prepared<'_>,
    ids: &[VertexId],
    text_bytes_max: usize,
    terms: &mut TermBuffer,
) -> Result<usize, QueryError> {
    let is_local = |id: &VertexId| id.has_tag(Tag::QueryLocal);
    let mut decoded = 0;
    for run in ids.chunk_by(|left, right| is_local(left) == is_local(right)) {
        let done = if run.first().is_some_and(is_local) {
            local_terms(prepared, run, text_bytes_max, terms)?
        } else {
            dictionary.terms_within(run, text_bytes_max, terms)?
        };
        decoded += done;
        if done < run.len() {
            break;
        }
    }
    Ok(decoded)
}

/// Terms that the query has made.
fn local_terms(
    prepared: &Prepared<'_>,
    ids: &[VertexId],
    text_bytes_max: usize,
    terms: &mut TermBuffer,
) -> Result<usize, QueryError> {
    for (done, id) in ids.iter().enumerate() {
        let term = prepared.locals().get(*id);
        terms.push(term.ok_or(LexiconError::UnknownId(*id))?);
        if terms.text_bytes() > text_bytes_max {
            return Ok(done + 1);
        }
    }
    Ok(ids.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_found() {
        let mut distinct = Distinct::default();
        let id = |number: u64| VertexId::new(Tag::Iri, number);
        for round in 0..3 {
            let ids: Vec<VertexId> = (0..1024).map(|row| id(round * 5 + row % 7)).collect();
            distinct.find(&ids);
            assert!(distinct.ids.len() < 40, "{}", distinct.ids.len());
            let found = distinct
                .numbers
                .iter()
                .map(|number| distinct.ids[*number as usize]);
            assert!(found.eq(ids));
        }
        let ids = [7, 8, 7, 7, 9, 8].map(id);
        for (bytes, expected) in [(0, 1), (2, 3), (3, 4), (5, 6), (100, 6)] {
            let mut terms = TermBuffer::new();
            let cells = distinct.decode(&ids, bytes, &mut terms, |ids, terms| {
                for _ in ids {
                    terms.push_simple("x");
                }
                Ok::<_, ()>(ids.len().min(bytes + 1))
            });
            assert_eq!((cells, terms.len()), (Ok(expected), expected));
        }
        distinct.find(&[]);
        assert!(distinct.ids.is_empty() && distinct.numbers.is_empty());
        let ids: Vec<VertexId> = (0..1024).map(id).collect();
        distinct.find(&ids);
        assert_eq!(distinct.ids, ids);
    }
}
