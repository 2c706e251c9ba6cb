//! Memory that something of a query, or of a node, takes: asked for before it grows, given back when it is dropped.

use explore::{MemoryBudget, MemoryExceeded};
use query::wire::Rows;
use rdf::VertexId;
use std::sync::Arc;

/// Who grants memory.
pub(crate) type Memory = Arc<dyn MemoryBudget + Send>;

/// Bytes that a budget has granted.
pub(crate) struct Held {
    memory: Memory,
    bytes: u64,
}

impl Held {
    /// Nothing yet.
    pub(crate) fn nothing(memory: &Memory) -> Held {
        Held {
            memory: Arc::clone(memory),
            bytes: 0,
        }
    }

    /// So many bytes.
    pub(crate) fn of(memory: &Memory, bytes: u64) -> Result<Held, MemoryExceeded> {
        let mut held = Held::nothing(memory);
        held.grow(bytes)?;
        Ok(held)
    }

    /// So many bytes more.
    pub(crate) fn grow(&mut self, bytes: u64) -> Result<(), MemoryExceeded> {
        if bytes > 0 {
            self.memory.try_reserve(bytes)?;
            self.bytes += bytes;
        }
        Ok(())
    }

    /// Holds this, whether that is more than before or less.
    pub(crate) fn settle(&mut self, bytes: u64) -> Result<(), MemoryExceeded> {
        if bytes >= self.bytes {
            return self.grow(bytes - self.bytes);
        }
        drop(self.split(self.bytes - bytes));
        Ok(())
    }

    /// So many of its bytes, or all, for something that is given back by itself.
    pub(crate) fn split(&mut self, bytes: u64) -> Held {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Held {
            memory: Arc::clone(&self.memory),
            bytes,
        }
    }

    /// Leaves what was granted to somebody who gives it back.
    pub(crate) fn into_bytes(mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.memory.release(self.bytes);
        }
    }
}

/// Bytes of a table as it lies here: its cells, and some for each term that exists in the query only.
pub(crate) fn rows_bytes(rows: &Rows) -> u64 {
    let cells: usize = rows.columns.iter().map(|(_, cells)| cells.len()).sum();
    (cells * size_of::<VertexId>() + rows.locals.len() * TERM_BYTES) as u64
}

/// What a term takes beside its text, which has come with its message and is charged there.
const TERM_BYTES: usize = 64;
