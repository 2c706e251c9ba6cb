//! Rows between two sections: columns of ids, with the terms of those that exist in the query only.
//!
//! An id of a computed term means something in one prepared plan, on one node. So rows leave a section with those terms'
//! texts, and come into the next one with the ids that it has for them; equality holds within each.

use crate::error::Failure;
use explore::local::LocalTerms;
use explore::{Chunk, WalkError};
use hashbrown::HashMap;
use oxrdf::Term;
use query::plan::Slot;
use query::wire::{EncodeError, Rows, decode_rows, encode_rows};
use rdf::{NodeError, Tag, VertexId};
use store::view::ViewError;

/// Rows of one section, in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) rows: u64,
    pub(crate) columns: Vec<(Slot, Vec<VertexId>)>,
}

impl Table {
    /// A table for rows like those of a chunk.
    fn shape(&mut self, chunk: &Chunk) {
        if self.columns.is_empty() {
            self.columns = chunk.slots().map(|slot| (slot, Vec::new())).collect();
        }
    }

    /// Appends all rows of a chunk.
    pub(crate) fn append(&mut self, chunk: &Chunk) {
        self.shape(chunk);
        for (slot, cells) in &mut self.columns {
            cells.extend_from_slice(chunk.column(*slot).expect("chunks of a walk are alike"));
        }
        self.rows += chunk.rows();
    }

    /// Appends the rows at these places.
    pub(crate) fn gather(&mut self, chunk: &Chunk, places: &[u32]) {
        self.shape(chunk);
        for (slot, cells) in &mut self.columns {
            let from = chunk.column(*slot).expect("chunks of a walk are alike");
            cells.extend(places.iter().map(|place| from[*place as usize]));
        }
        self.rows += places.len() as u64;
    }

    /// Its rows as two tables.
    pub(crate) fn halves(self) -> [Table; 2] {
        let middle = (self.rows / 2) as usize;
        let mut first = Table {
            rows: middle as u64,
            columns: Vec::with_capacity(self.columns.len()),
        };
        let mut second = Table {
            rows: self.rows - middle as u64,
            columns: Vec::with_capacity(self.columns.len()),
        };
        for (slot, mut cells) in self.columns {
            second.columns.push((slot, cells.split_off(middle)));
            first.columns.push((slot, cells));
        }
        [first, second]
    }

    /// Bytes of its cells.
    pub(crate) fn bytes(&self) -> usize {
        let cells: usize = self.columns.iter().map(|(_, cells)| cells.len()).sum();
        cells * size_of::<VertexId>()
    }

    /// Appends its encoding.
    pub(crate) fn encode(
        &self,
        locals: &LocalTerms<'_>,
        into: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let mut texts: HashMap<VertexId, Term> = HashMap::new();
        let cells = self.columns.iter().flat_map(|(_, cells)| cells);
        for id in cells.filter(|cell| cell.has_tag(Tag::QueryLocal)) {
            if !texts.contains_key(id) {
                texts.insert(*id, locals.term(*id).expect("a term of the query"));
            }
        }
        let columns: Vec<(Slot, &[VertexId])> = self
            .columns
            .iter()
            .map(|(slot, cells)| (*slot, &cells[..]))
            .collect();
        encode_rows(
            self.rows,
            &columns,
            |id| texts.get(&id).map(Term::as_ref),
            into,
        )
    }

    /// The same without bytes, for a section of this node.
    pub(crate) fn pass(self, locals: &LocalTerms<'_>) -> Result<Rows, String> {
        let is_local = |cell: &VertexId| cell.has_tag(Tag::QueryLocal);
        if self
            .columns
            .iter()
            .any(|(_, cells)| cells.iter().any(is_local))
        {
            let mut bytes = Vec::new();
            let encoded = self.encode(locals, &mut bytes);
            encoded.map_err(|error| error.to_string())?;
            return decode_rows(&bytes).map_err(|error| error.to_string());
        }
        Ok(Rows {
            count: self.rows,
            columns: self.columns,
            ..Rows::default()
        })
    }
}

/// Rows that have come, given out piece by piece.
pub(crate) struct Arriving {
    rows: Rows,
    given: u64,
}

impl Arriving {
    /// Rows for a section whose input has these columns, and these ids for terms that exist in the query only. An error:
    /// the node that sent them sent others.
    pub(crate) fn new(
        from: u16,
        mut rows: Rows,
        columns: &[Slot],
        locals: &LocalTerms<'_>,
    ) -> Result<Arriving, WalkError> {
        let found = rows.columns.iter().map(|(slot, _)| *slot);
        if !found.eq(columns.iter().copied()) {
            let what = "it sent rows that have other columns than their section".to_owned();
            return Err(ViewError::from(Failure::from(NodeError::fault(from, what))).into());
        }
        if !rows.locals.is_empty() {
            let texts = &rows.locals;
            let terms = (0..texts.len()).filter_map(|number| texts.get(number));
            let mut ids = Vec::with_capacity(texts.len());
            locals.ids_of(terms, &mut ids)?;
            rows.replace_locals(&ids);
            rows.locals.clear();
        }
        Ok(Arriving { rows, given: 0 })
    }

    /// The next rows, at most so many where they have columns; `None`: all were given.
    pub(crate) fn next(&mut self, rows_max: u64, width: usize) -> Option<Chunk> {
        let left = self.rows.count - self.given;
        if left == 0 {
            return None;
        }
        let rows = if self.rows.columns.is_empty() {
            left
        } else {
            left.min(rows_max.max(1))
        };
        let range = self.given as usize..(self.given + rows) as usize;
        self.given += rows;
        let columns = self.rows.columns.iter();
        let columns = columns.map(|(slot, cells)| (*slot, cells[range.clone()].to_vec()));
        Some(Chunk::from_columns(width, rows, columns).expect("their columns were looked at"))
    }
}
