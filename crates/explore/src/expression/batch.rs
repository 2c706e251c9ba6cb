//! The rows that an expression is evaluated over, and the text of their terms.
//!
//! Evaluation looks at ids and inline values first. The text of a column is fetched from the
//! lexicon when an operator first needs it, once for all rows of the batch, in one call. A run of
//! equal ids is fetched once.
//!
//! ```text
//!  chunk column   C7 C7 C9 I:5 ...      ids
//!  rows           0  1  2  3            the rows of the batch, positions in the chunk
//!  cells          0  0  1  -            where the text is, if it was needed
//! ```
//!
//! Fetched and computed text draws on the memory budget until the batch is dropped. Columns of values
//! are counted as a stack: what an operand needed is free again once its parent is evaluated.

mod arena;

pub(crate) use arena::{Arena, BUFFER_BYTES};

use super::pattern::PatternCache;
use super::value::Value;
use crate::ask;
use crate::chunk::Chunk;
use crate::environment::{Environment, random};
use crate::error::WalkError;
use crate::limits::{Effort, Limits, Reservation};
use crate::local::LocalTerms;
use oxrdf::{Term, TermRef, Triple};
use query::plan::{ConstantId, Slot};
use rdf::{Lexicon, LexiconError, Tag, TermBuffer, VertexId};
use std::cell::{Cell, OnceCell, RefCell};

/// A column of values; `None` is an error (section 17.2), which an unbound cell is too.
pub(crate) type Column<'b> = Vec<Option<Value<'b>>>;

/// What stands beside a table: terms that are not in it.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// The constants of the query.
    pub(crate) constants: &'a [Term],
    /// The id of each constant.
    pub(crate) ids: &'a [VertexId],
    /// The terms of query-local ids.
    pub(crate) locals: &'a LocalTerms<'a>,
    /// The terms of all other ids.
    pub(crate) lexicon: &'a dyn Lexicon,
    /// The time, chance.
    pub(crate) environment: &'a Environment<'a>,
    /// What relative IRIs are resolved against.
    pub(crate) base: Option<&'a str>,
}

/// Memory that evaluations reuse, one for each step of a walk.
///
/// A batch draws what it takes on the budget. What is kept between two batches is drawn too, and is
/// little, because a plan may have thousands of steps.
pub(crate) struct Scratch<'a> {
    texts: Vec<OnceCell<Texts>>,
    spare: RefCell<Vec<Texts>>,
    patterns: RefCell<PatternCache>,
    arena: Arena,
    effort: RefCell<Effort>,
    /// The random numbers of the batch, from the first that is drawn to its end; a batch that has to wait is evaluated
    /// again with the same.
    chance: Cell<Option<u64>>,
    /// Whether a batch has begun and is not over: it had to wait, and what was made for it may be of other rows.
    is_begun: bool,
    kept: Reservation<'a>,
}

/// The text of one column of a batch.
#[derive(Default)]
struct Texts {
    buffer: TermBuffer,
    /// The cell of each row of the batch; [`NO_CELL`] where the id needs none.
    cells: Vec<u32>,
    ids: Vec<VertexId>,
}

const NO_CELL: u32 = u32::MAX;

/// Text that is fetched between two draws on the budget.
const PIECE_BYTES: usize = 1 << 20;

/// Bytes that are kept for the next batch: those of a chunk's names. More is given back, to be
/// allocated again, which is little beside filling it.
const KEPT_BYTES: usize = 256 << 10;
const _: () = assert!(
    KEPT_BYTES <= PIECE_BYTES,
    "what is kept is less than what is fetched"
);

impl<'a> Scratch<'a> {
    /// Nothing is kept yet.
    pub(crate) fn new(limits: Limits<'a>) -> Scratch<'a> {
        Scratch {
            texts: Vec::new(),
            spare: RefCell::default(),
            patterns: RefCell::default(),
            arena: Arena::default(),
            effort: RefCell::default(),
            chance: Cell::new(None),
            is_begun: false,
            kept: Reservation::new(limits),
        }
    }

    /// Begins a batch of `width` slots. Of one that had to wait only its random numbers are left.
    pub(crate) fn reset(&mut self, width: usize) {
        if self.is_begun {
            let chance = self.chance.get();
            self.forget();
            self.chance.set(chance);
        }
        self.is_begun = true;
        self.texts.resize_with(width, OnceCell::new);
    }

    /// Forgets the batch and keeps some memory, drawn on the budget. To be called when a batch is over,
    /// because nobody accounts for what it has computed from then on.
    pub(crate) fn forget(&mut self) {
        self.chance.set(None);
        self.is_begun = false;
        let mut left = KEPT_BYTES;
        let spare = self.spare.get_mut();
        for texts in &mut self.texts {
            if let Some(mut texts) = texts.take() {
                texts.buffer.clear();
                texts.cells.clear();
                texts.ids.clear();
                spare.push(texts);
            }
        }
        let mut fits = |bytes: usize| {
            let fits = bytes <= left;
            left -= if fits { bytes } else { 0 };
            fits
        };
        spare.retain(|texts| fits(texts.bytes()));
        self.arena.clear(&mut fits);
        if !fits(self.patterns.get_mut().bytes()) {
            *self.patterns.get_mut() = PatternCache::default();
        }
        let kept = (KEPT_BYTES - left) as u64;
        if self.kept.cover(kept).is_err() {
            spare.clear();
            self.arena.clear(&mut |_| false);
            *self.patterns.get_mut() = PatternCache::default();
            self.kept.clear();
        }
    }
}

/// Some rows of a chunk, ready to be evaluated over.
pub(crate) struct Batch<'b> {
    chunk: &'b Chunk,
    rows: &'b [u32],
    terms: Terms<'b>,
    scratch: &'b Scratch<'b>,
    limits: Limits<'b>,
    reserved: RefCell<(Reservation<'b>, u64)>,
    /// Bytes of the columns of values that evaluations hold now.
    columns: Cell<u64>,
    /// What makes blank nodes of this batch differ from those of others, drawn at need.
    nonce: OnceCell<u64>,
    /// Random numbers drawn.
    drawn: Cell<u64>,
}

impl<'b> Batch<'b> {
    /// These rows of `chunk`. The scratch has been reset for the chunk's width.
    pub(crate) fn new(
        chunk: &'b Chunk,
        rows: &'b [u32],
        terms: Terms<'b>,
        scratch: &'b Scratch<'b>,
        limits: Limits<'b>,
    ) -> Batch<'b> {
        let reserved = RefCell::new((Reservation::new(limits), 0));
        Batch {
            chunk,
            rows,
            terms,
            scratch,
            limits,
            reserved,
            columns: Cell::new(0),
            nonce: OnceCell::new(),
            drawn: Cell::new(0),
        }
    }

    /// What stands beside the table.
    pub(crate) fn terms(&self) -> &Terms<'b> {
        &self.terms
    }

    /// The id of a slot in the row `at` of the batch.
    pub(crate) fn id(&self, slot: Slot, at: u32) -> VertexId {
        self.chunk.column(slot).map_or(VertexId::UNBOUND, |column| {
            column[self.rows[at as usize] as usize]
        })
    }

    /// The ids of a slot, one for each row of the chunk; `None` where it is unbound in all.
    pub(crate) fn column(&self, slot: Slot) -> Option<&'b [VertexId]> {
        self.chunk.column(slot)
    }

    /// The id of a constant.
    pub(crate) fn constant_id(&self, constant: ConstantId) -> VertexId {
        self.terms.ids[constant.0 as usize]
    }

    /// The value of a constant.
    pub(crate) fn constant(&self, constant: ConstantId) -> Value<'b> {
        let at = constant.0 as usize;
        let inline = Value::of_inline(self.terms.ids[at]);
        inline.unwrap_or_else(|| Value::of_term(self.terms.constants[at].as_ref()))
    }

    /// The term of a query-local id.
    pub(crate) fn local_term(&self, id: VertexId) -> Option<TermRef<'b>> {
        self.terms.locals.get(id)
    }

    /// The values of a slot in these rows of the batch.
    pub(crate) fn values(&self, slot: Slot, at: &[u32]) -> Result<Column<'b>, WalkError> {
        let Some(column) = self.chunk.column(slot) else {
            return Ok(vec![None; at.len()]);
        };
        let mut values = Vec::with_capacity(at.len());
        for &row in at {
            let id = column[self.rows[row as usize] as usize];
            values.push(match id.tag() {
                Some(Tag::Unbound) => None,
                Some(Tag::QueryLocal) => {
                    let term = self.local_term(id).ok_or(LexiconError::UnknownId(id))?;
                    Some(Value::of_term(term))
                }
                Some(tag) if tag.is_inline() => {
                    Some(Value::of_inline(id).ok_or(LexiconError::UnknownId(id))?)
                }
                _ => self.texts(slot, column)?.value(row),
            });
        }
        Ok(values)
    }

    /// The text of a column, fetched at the first call.
    fn texts(&self, slot: Slot, column: &[VertexId]) -> Result<&'b Texts, WalkError> {
        let cell = &self.scratch.texts[usize::from(slot.0)];
        if let Some(texts) = cell.get() {
            return Ok(texts);
        }
        let mut texts = self.scratch.spare.borrow_mut().pop().unwrap_or_default();
        let rows = self.rows.iter().map(|&row| column[row as usize]);
        texts.fetch(rows, self.terms.lexicon, |texts| self.charge(texts as u64))?;
        self.spend(texts.buffer.text_bytes() as u64)?;
        Ok(cell.get_or_init(|| texts))
    }

    /// What was computed for this batch.
    pub(super) fn arena(&self) -> &'b Arena {
        &self.scratch.arena
    }

    /// Keeps a text until the batch is forgotten.
    pub(crate) fn keep_text(&self, text: String) -> Result<&'b str, WalkError> {
        self.charge(text.capacity() as u64)?;
        Ok(self.scratch.arena.keep_text(text))
    }

    /// Keeps a triple term until the batch is forgotten. What it takes was charged.
    pub(crate) fn keep_triple(&self, triple: Triple) -> &'b Triple {
        self.scratch.arena.keep_triple(triple)
    }

    /// The position of a row of the batch in its chunk.
    pub(crate) fn position(&self, at: u32) -> u32 {
        self.rows[at as usize]
    }

    /// A number that no other batch of the query has.
    pub(crate) fn nonce(&self) -> u64 {
        *self.nonce.get_or_init(|| self.random())
    }

    /// Random numbers drawn so far.
    pub(crate) fn drawn(&self) -> u64 {
        self.drawn.get()
    }

    /// Goes on drawing behind so many, as a batch did that had to wait.
    pub(crate) fn draw_from(&self, drawn: u64) {
        self.drawn.set(drawn);
    }

    /// The next random number.
    pub(crate) fn random(&self) -> u64 {
        let begun = self.scratch.chance.get();
        let sequence = begun.unwrap_or_else(|| self.terms.environment.sequence());
        self.scratch.chance.set(Some(sequence));
        let number = self.drawn.get();
        self.drawn.set(number + 1);
        random(sequence, number)
    }

    /// Draws bytes on the budget until the batch is dropped.
    pub(crate) fn charge(&self, bytes: u64) -> Result<(), WalkError> {
        let (reservation, used) = &mut *self.reserved.borrow_mut();
        *used += bytes;
        reservation.cover(*used + self.columns.get())
    }

    /// Says that so many bytes that were charged are held no more. They stay drawn, for what grows next.
    pub(crate) fn discharge(&self, bytes: u64) {
        let used = &mut self.reserved.borrow_mut().1;
        *used = used.saturating_sub(bytes);
    }

    /// Bytes of columns held now, to be given to [`Batch::drop_columns`] once later ones are dropped.
    pub(crate) fn columns(&self) -> u64 {
        self.columns.get()
    }

    /// Says that the columns that were made since `held` are dropped.
    pub(crate) fn drop_columns(&self, held: u64) {
        assert!(
            held <= self.columns.get(),
            "columns are let go of, the last first"
        );
        self.columns.set(held);
    }

    /// Says that a column of so many rows is made.
    pub(crate) fn add_column(&self, rows: usize) -> Result<(), WalkError> {
        let bytes = (rows * size_of::<Option<Value<'_>>>()) as u64;
        self.columns.set(self.columns.get() + bytes);
        let (reservation, used) = &mut *self.reserved.borrow_mut();
        reservation.cover(*used + self.columns.get())?;
        self.spend(rows as u64 * 16)
    }

    /// Says that work of about `units` nanoseconds is done.
    pub(crate) fn spend(&self, units: u64) -> Result<(), WalkError> {
        self.scratch.effort.borrow_mut().spend(units, &self.limits)
    }

    /// Patterns that are not constant.
    pub(crate) fn patterns(&self) -> &RefCell<PatternCache> {
        &self.scratch.patterns
    }
}

impl Texts {
    /// Fetches the text of these ids, a piece at a time, and says before each and at the end how many
    /// bytes more are held than were said before.
    fn fetch(
        &mut self,
        ids: impl Iterator<Item = VertexId>,
        lexicon: &dyn Lexicon,
        mut charge: impl FnMut(usize) -> Result<(), WalkError>,
    ) -> Result<(), WalkError> {
        let mut last = VertexId::UNBOUND;
        for id in ids {
            if needs_no_text(id) {
                self.cells.push(NO_CELL);
                continue;
            }
            if id != last || self.ids.is_empty() {
                self.ids.push(id);
                last = id;
            }
            self.cells
                .push(u32::try_from(self.ids.len() - 1).expect("a batch is small"));
        }
        ask::ready(lexicon.fetch(&self.ids, &[])?)?;
        let mut charged = 0;
        let mut done = 0;
        while done < self.ids.len() {
            let text_max = self.buffer.text_bytes() + PIECE_BYTES;
            let read = lexicon.terms_within(&self.ids[done..], text_max, &mut self.buffer)?;
            assert!(read > 0, "a lexicon reads one term at least");
            done += read;
            charge(self.bytes() - charged)?;
            charged = self.bytes();
        }
        assert_eq!(self.buffer.len(), self.ids.len(), "an id has its term");
        Ok(())
    }

    /// Bytes held.
    fn bytes(&self) -> usize {
        self.buffer.bytes()
            + self.cells.capacity() * size_of::<u32>()
            + self.ids.capacity() * size_of::<VertexId>()
    }

    fn value(&self, row: u32) -> Option<Value<'_>> {
        let cell = self.cells[row as usize];
        assert!(cell != NO_CELL, "the term of this row was fetched");
        self.buffer.get(cell as usize).map(Value::of_term)
    }
}

/// Ids that are answered without the lexicon.
fn needs_no_text(id: VertexId) -> bool {
    match id.tag() {
        Some(Tag::Unbound | Tag::QueryLocal) => true,
        Some(tag) => tag.is_inline(),
        None => false,
    }
}
