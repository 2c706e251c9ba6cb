//! Rows on their way out of a section: tables in the making, and those that nobody has room for yet.

use super::table::Table;
use crate::held::{Held, rows_bytes};
use query::wire::Rows;
use std::collections::{BTreeMap, VecDeque};

/// Where a table goes, and whether what it needs is fetched there.
pub(crate) type Target = (u16, bool);

/// See the module's documentation.
#[derive(Default)]
pub(crate) struct Outbox {
    pub(crate) tables: BTreeMap<Target, Table>,
    /// Encoded, but nobody has room.
    pub(crate) stuck: VecDeque<(Target, Parcel)>,
    /// How often the length of a table was doubled that is sent there.
    pub(crate) doublings: BTreeMap<Target, u32>,
    /// What both take.
    pub(crate) held: Option<Held>,
}

impl Outbox {
    /// Bytes of all tables.
    pub(crate) fn bytes(&self) -> u64 {
        let stuck = self.stuck.iter().map(|(_, parcel)| match parcel {
            Parcel::Here(rows) => rows_bytes(rows),
            Parcel::Bytes(_, bytes) => bytes.len() as u64,
        });
        let tables = self.tables.values().map(|table| table.bytes() as u64);
        stuck.chain(tables).sum()
    }
}

/// A table as it travels.
pub(crate) enum Parcel {
    /// To another section of this node.
    Here(Rows),
    /// So many rows for another node.
    Bytes(u64, Vec<u8>),
}
