//! Rows of a binding table, as columns of ids, with the terms of the ids that mean something in one query only.
//!
//! ```text
//!  mark, version    `SQWR`, a number
//!  rows             a number
//!  columns          their number, then the slot of each, ascending
//!  local terms      their number, then each: term 0, term 1, ...
//!  cells            column after column, 8 bytes each, least significant first
//! ```
//!
//! A cell of tag [`Tag::QueryLocal`] has the number of its term in that list as payload: the sender's own number means
//! nothing elsewhere, and a number in a list needs no map. Terms are numbered as they are met, column by column, so
//! each is sent once, and rows have one encoding. Who reads gives each term an id of his own, and
//! [`Rows::replace_locals`] puts these into the cells.
//!
//! Why raw columns: rows are exchanged by the hundred million, and mostly they are looked up next. A column without
//! local ids is copied, looked at for its tags while it is in the cache, and not packed: ids of a column often lie close
//! together, but packing costs more than 5 ns a cell, and a fabric moves 8 bytes in less than one.
//!
//! Cost of a row and column (`examples/wire_speed.rs`, a shared 2-core machine, 2026-11-25): 0.5 ns to write and 0.5 to read in tables
//! of a thousand rows, 1.5 and 1.0 in tables of a million; 3.0 and 2.2 where every sixteenth cell is local.
//!
//! Not looked at: whether an id of the dictionary or an inline value is one of the graph's. That is asked of the graph.

use super::bytes::{Decoder, Encoder};
use super::error::{DecodeError, DecodeFault, EncodeError};
use super::term;
use crate::node::Slot;
use hashbrown::HashMap;
use oxrdf::TermRef;
use rdf::{Tag, TermBuffer, VertexId};

/// The version of [`encode_rows`].
pub const ROWS_VERSION: u64 = 1;

const OF: &str = "rows";
const MARK: &str = "SQWR";

/// The most rows of a table without columns, which is a mere count; it fits an inline integer.
const ROWS_MAX: u64 = 1 << 59;

const CELL_BYTES: usize = size_of::<VertexId>();

/// Cells that are copied and looked at together: 4 KiB, an eighth of the first cache level.
const BLOCK_CELLS: usize = 512;

/// The first bits of an id whose tag no stored term has.
const STORED_END: u64 = (Tag::STORED.len() as u64) << VertexId::PAYLOAD_BITS;

/// The bits of local id 0.
const LOCAL: u64 = VertexId::new(Tag::QueryLocal, 0).bits();

/// Rows that were read.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Number of rows. Without columns they are a mere count.
    pub count: u64,
    /// The columns, ascending by slot, each with one cell a row. A local id has as payload the number of its term.
    pub columns: Vec<(Slot, Vec<VertexId>)>,
    /// The terms of local ids, by number.
    pub locals: TermBuffer,
}

impl Rows {
    /// Puts an id of the reader's in place of each local one: `ids[n]` for term `n`. Asserts that there is one for
    /// each term. A pass over all cells, none where there are no terms.
    pub fn replace_locals(&mut self, ids: &[VertexId]) {
        assert_eq!(ids.len(), self.locals.len(), "a term has its id");
        if ids.is_empty() {
            return;
        }
        for cell in self.columns.iter_mut().flat_map(|(_, cells)| cells) {
            if cell.has_tag(Tag::QueryLocal) {
                *cell = ids[cell.payload() as usize];
            }
        }
    }
}

/// Appends the encoding of `count` rows of these columns, ascending by slot, each with one cell a row. `term_of` gives
/// the term of a local id; it is asked once for each that occurs. Cells may be unbound. On an error `into` is as it was.
pub fn encode_rows<'t>(
    count: u64,
    columns: &[(Slot, &[VertexId])],
    term_of: impl FnMut(VertexId) -> Option<TermRef<'t>>,
    into: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let start = into.len();
    let written = append(count, columns, term_of, into);
    if written.is_err() {
        into.truncate(start);
    }
    written
}

fn append<'t>(
    count: u64,
    columns: &[(Slot, &[VertexId])],
    term_of: impl FnMut(VertexId) -> Option<TermRef<'t>>,
    into: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    check_shape(count, columns)?;
    let cells: usize = columns.iter().map(|(_, cells)| cells.len()).sum();
    into.reserve(cells * CELL_BYTES + 64);
    let mut out = Encoder::new(into);
    out.raw(MARK.as_bytes());
    out.number(ROWS_VERSION);
    out.number(count);
    out.number(columns.len() as u64);
    for (slot, _) in columns {
        out.number(u64::from(slot.0));
    }
    let has_locals: Vec<bool> = columns.iter().map(|(_, cells)| has_local(cells)).collect();
    let numbers = write_locals(columns, &has_locals, term_of, &mut out)?;
    for ((_, cells), has_locals) in columns.iter().zip(has_locals) {
        let mut sent = [VertexId::UNBOUND; BLOCK_CELLS];
        for block in cells.chunks(BLOCK_CELLS) {
            if has_locals {
                let sent = &mut sent[..block.len()];
                replace_numbers(block, &numbers, sent);
                write_cells(sent, &mut out)?;
            } else {
                write_cells(block, &mut out)?;
            }
        }
    }
    Ok(())
}

fn check_shape(count: u64, columns: &[(Slot, &[VertexId])]) -> Result<(), EncodeError> {
    if count > ROWS_MAX {
        return Err(EncodeError::Large {
            what: "rows",
            found: count,
            max: ROWS_MAX,
        });
    }
    for (slot, cells) in columns {
        if cells.len() as u64 != count {
            return Err(EncodeError::Cells {
                slot: *slot,
                cells: cells.len(),
                rows: count,
            });
        }
    }
    match columns.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        Some(pair) => Err(EncodeError::Order(pair[1].0)),
        None => Ok(()),
    }
}

/// Whether a cell is local, by a loop without branches.
fn has_local(cells: &[VertexId]) -> bool {
    let has = |block: &[VertexId]| {
        let is_local = |cell: &VertexId| cell.has_tag(Tag::QueryLocal);
        block.iter().fold(false, |any, cell| any | is_local(cell))
    };
    cells.chunks(BLOCK_CELLS).any(has)
}

/// Numbers the local ids and writes their terms; gives the bits that each is sent as.
fn write_locals<'t>(
    columns: &[(Slot, &[VertexId])],
    has_locals: &[bool],
    mut term_of: impl FnMut(VertexId) -> Option<TermRef<'t>>,
    out: &mut Encoder<'_>,
) -> Result<HashMap<u64, u64>, EncodeError> {
    let mut numbers = HashMap::new();
    let mut terms = Vec::new();
    let with = columns.iter().zip(has_locals).filter(|(_, has)| **has);
    for cell in with.flat_map(|((_, cells), _)| cells.iter()) {
        if cell.has_tag(Tag::QueryLocal) && !numbers.contains_key(&cell.bits()) {
            terms.push(term_of(*cell).ok_or(EncodeError::Id(*cell))?);
            numbers.insert(cell.bits(), LOCAL + numbers.len() as u64);
        }
    }
    out.number(terms.len() as u64);
    terms
        .into_iter()
        .try_for_each(|term| term::write(term, out))?;
    Ok(numbers)
}

/// The cells of a block as they are sent.
fn replace_numbers(block: &[VertexId], numbers: &HashMap<u64, u64>, sent: &mut [VertexId]) {
    for (cell, sent) in block.iter().zip(sent) {
        *sent = if cell.has_tag(Tag::QueryLocal) {
            VertexId::from_bits(numbers[&cell.bits()])
        } else {
            *cell
        };
    }
}

/// Appends a block of cells, each of which has to be an id.
fn write_cells(block: &[VertexId], out: &mut Encoder<'_>) -> Result<(), EncodeError> {
    // Any number of local terms: those of the block were numbered above.
    let locals = 1 << VertexId::PAYLOAD_BITS;
    if !are_sent(block, locals) {
        let bad = block.iter().find(|cell| !is_sent(cell.bits(), locals));
        return Err(EncodeError::Id(*bad.expect("one was seen")));
    }
    let mut bytes = [0; BLOCK_CELLS * CELL_BYTES];
    for (cell, bytes) in block.iter().zip(bytes.chunks_exact_mut(CELL_BYTES)) {
        bytes.copy_from_slice(&cell.bits().to_le_bytes());
    }
    out.raw(&bytes[..block.len() * CELL_BYTES]);
    Ok(())
}

/// Whether all cells may be sent. Without branches, so that several are looked at at once.
fn are_sent(block: &[VertexId], locals: u64) -> bool {
    let bad = |cell: &VertexId| u64::from(!is_sent(cell.bits(), locals));
    block.iter().fold(0, |any, cell| any | bad(cell)) == 0
}

/// Whether bits are those of a stored term, of none, or of one of the first local terms.
#[inline]
fn is_sent(bits: u64, locals: u64) -> bool {
    (bits < STORED_END) | (bits == VertexId::UNBOUND.bits()) | (bits.wrapping_sub(LOCAL) < locals)
}

/// Reads rows. `bytes` are those of one call of [`encode_rows`], all of them. Memory: 8 bytes a cell, and the texts.
pub fn decode_rows(bytes: &[u8]) -> Result<Rows, DecodeError> {
    let mut bytes = Decoder::new(bytes);
    bytes.begin(OF, MARK, ROWS_VERSION)?;
    let count = bytes.number_within("rows", ROWS_MAX)?;
    let mut rows = Rows {
        count,
        ..Rows::default()
    };
    let columns = bytes.count(1)?;
    let mut slots: Vec<Slot> = Vec::with_capacity(columns.min(1 << 16));
    for _ in 0..columns {
        let at = bytes.at();
        let slot = Slot(bytes.number_within("a slot", u64::from(u16::MAX))? as u16);
        if slots.last().is_some_and(|last| *last >= slot) {
            return Err(Decoder::fault_at(at, DecodeFault::Order(slot)));
        }
        slots.push(slot);
    }
    let locals = bytes.count(term::TERM_BYTES_MIN)?;
    for _ in 0..locals {
        term::read_into(&mut rows.locals, &mut bytes)?;
    }
    let column_bytes = count.saturating_mul(CELL_BYTES as u64);
    let cell_bytes = column_bytes.saturating_mul(columns as u64);
    if let Some(missing) = cell_bytes
        .checked_sub(bytes.left() as u64)
        .filter(|it| *it > 0)
    {
        return Err(bytes.fault(DecodeFault::Cut { missing }));
    }
    let start = bytes.at();
    for slot in slots {
        let at = bytes.at();
        let raw = bytes.take(column_bytes)?;
        rows.columns
            .push((slot, read_cells(raw, locals as u64, at)?));
    }
    check_numbering(&rows, locals as u64, start)?;
    bytes.end()?;
    Ok(rows)
}

/// The cells of a column, whose bytes begin at `at`. Each block is copied, and looked at while it is in the cache.
fn read_cells(raw: &[u8], locals: u64, at: usize) -> Result<Vec<VertexId>, DecodeError> {
    let cell = |bytes: &[u8]| {
        let bytes = bytes.try_into().expect("a cell has eight bytes");
        VertexId::from_bits(u64::from_le_bytes(bytes))
    };
    let mut cells = Vec::with_capacity(raw.len() / CELL_BYTES);
    for block in raw.chunks(BLOCK_CELLS * CELL_BYTES) {
        let start = cells.len();
        cells.extend(block.chunks_exact(CELL_BYTES).map(cell));
        let block: &[VertexId] = &cells[start..];
        if are_sent(block, locals) {
            continue;
        }
        let is_bad = |cell: &VertexId| !is_sent(cell.bits(), locals);
        let place = start + block.iter().position(is_bad).expect("one was seen");
        let fault = DecodeFault::Id(cells[place]);
        return Err(Decoder::fault_at(at + place * CELL_BYTES, fault));
    }
    Ok(cells)
}

/// Whether local terms are numbered as they are met, and all of them are. The first column begins at `start`.
fn check_numbering(rows: &Rows, locals: u64, start: usize) -> Result<(), DecodeError> {
    if locals == 0 {
        return Ok(());
    }
    let mut met = 0;
    let cells = rows.columns.iter().flat_map(|(_, cells)| cells);
    for (place, cell) in cells.enumerate() {
        if cell.has_tag(Tag::QueryLocal) && cell.payload() >= met {
            if cell.payload() > met {
                let at = start + place * CELL_BYTES;
                return Err(Decoder::fault_at(at, DecodeFault::Id(*cell)));
            }
            met += 1;
        }
    }
    if met < locals {
        return Err(Decoder::fault_at(
            start,
            DecodeFault::Large {
                what: "local terms",
                found: locals,
                max: met,
            },
        ));
    }
    Ok(())
}
