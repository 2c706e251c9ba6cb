//! Rows on their way out of a section: tables in the making, and those that nobody has room for yet.

use super::table::Table;
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
}

/// A table as it travels.
pub(crate) enum Parcel {
    /// To another section of this node.
    Here(Rows),
    /// So many rows for another node.
    Bytes(u64, Vec<u8>),
}
