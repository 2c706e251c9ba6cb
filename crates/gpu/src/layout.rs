//! What kernels are told: the structs of `crates/device/kernels/layout.h`, word for word.
//!
//! A test compares the sizes of the two; the order of fields is read side by side.

use bytemuck::{Pod, Zeroable};

/// Columns of a table.
pub(crate) const COLUMNS: usize = 12;

/// Checks of a step.
pub(crate) const CHECKS: usize = 4;

/// In place of a column's number: what the step makes.
pub(crate) const MADE: u32 = COLUMNS as u32;

/// In place of a column's number: a constant.
pub(crate) const CONSTANT: u32 = COLUMNS as u32 + 1;

/// Threads of a block.
pub(crate) const BLOCK: u32 = 256;

/// Cells and how they become ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Column {
    /// Address of the cells.
    pub cells: u64,
    /// Address of the planes' bases, where there are several.
    pub bases: u64,
    /// The base, where there is one.
    pub base: u64,
    /// 1: cells of 8 bytes, ids; 0: of 4 bytes.
    pub wide: u32,
    /// Bits of a cell that choose its plane.
    pub plane_bits: u32,
}

impl Column {
    /// Bytes of a cell.
    pub(crate) fn cell_bytes(&self) -> u64 {
        if self.wide == 0 { 4 } else { 8 }
    }
}

/// A part of a key index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Chunk {
    pub first: u64,
    pub last: u64,
    /// Where its data begin within the index's, plus its kind.
    pub at: u64,
    pub ordinal: u64,
}

/// A key index.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Index {
    pub data: u64,
    pub chunks: u64,
    pub jump: u64,
    pub keys: u64,
    pub count: u32,
    pub jumps: u32,
    pub first: Chunk,
}

/// A predicate in a direction.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Segment {
    pub index: Index,
    pub neighbours: Column,
    pub offsets: u64,
    pub rows: u64,
    /// An offset has 2^width bytes.
    pub width: u32,
    pub functional: u32,
}

/// What [`Check::kind`] can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum CheckKind {
    Same,
    Key,
    Rows,
    Edge,
    Within,
    Outside,
    Different,
}

/// What [`Check::joins`] can be: how it is put together with those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Joins {
    And,
    Unless,
    Or,
}

/// A condition on a row.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Check {
    pub segment: Segment,
    pub constant: u64,
    pub from: u64,
    pub to: u64,
    pub kind: u32,
    pub left: u32,
    pub right: u32,
    /// As of [`Joins`].
    pub joins: u32,
}

/// What is counted of a level.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Level {
    pub rows: u64,
    pub tiles: u64,
}

/// What becomes of a walk while it goes on: the device's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Outcome {
    pub overflow: u64,
    pub checksum: u64,
    pub arrived: u64,
    pub unused: u64,
}

/// What has become of a walk, in the host's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Posted {
    /// 1 + the step whose rows had no room, or 0.
    pub overflow: u64,
    pub rows: u64,
    pub checksum: u64,
    /// Written last.
    pub sequence: u64,
    /// Rows of the last step, before equal ones became one.
    pub walked: u64,
}

/// Keys of an index become a column.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Seed {
    pub index: Index,
    pub begin: u64,
    pub end: u64,
    pub level: u64,
    pub out: u64,
    pub base: u64,
    pub wide: u32,
    /// Of the kernels that read segments by pages: the table of pages, each of 2^`page_bits` bytes.
    pub page_bits: u32,
    pub pages: u64,
}

/// Two runs of rows become a column of 8-byte ids: the elements `begin..end` of both, one behind the other.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Joined {
    pub begin: u64,
    pub end: u64,
    pub level: u64,
    pub out: u64,
    /// Without cells: those elements are made elsewhere.
    pub first: Column,
    pub second: Column,
    pub first_row: u64,
    pub second_row: u64,
    /// Rows of the first run.
    pub first_rows: u64,
    pub pages: u64,
    pub page_bits: u32,
    pub unused: u32,
}

/// A table becomes the next.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Step {
    pub input: u64,
    pub output: u64,
    pub outcome: u64,
    pub capacity: u64,
    pub segment: Segment,
    /// The column that is looked up, or [`CONSTANT`]: the rows `first..last` are those of every row.
    pub from: u32,
    pub columns: u32,
    pub checks: u32,
    pub number: u32,
    pub columns_in: [Column; COLUMNS],
    pub columns_out: [u64; COLUMNS],
    pub made: u64,
    pub first: u64,
    pub last: u64,
    /// 1 + the check whose list is looked up once a row, or 0.
    pub partner: u32,
    /// As in [`Seed`].
    pub page_bits: u32,
    /// 1: the new column has ids of 8 bytes, whatever the segment has.
    pub widens: u32,
    pub unused: u32,
    /// The level whose tiles are counted.
    pub tickets: u64,
    /// Where lists longer than `long_list` are counted and put down, or 0.
    pub hub_level: u64,
    pub hubs: u64,
    pub long_list: u64,
    pub pages: u64,
    pub check: [Check; CHECKS],
}

/// A list that is too long for one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Hub {
    pub row: u64,
    pub from: u64,
    pub to: u64,
}

/// Of a step, at most.
pub(crate) const HUBS: usize = 64;

/// The last table is summed up.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Finish {
    pub input: u64,
    pub outcome: u64,
    pub posted: u64,
    pub sequence: u64,
    /// The level of the last step.
    pub walked: u64,
    pub columns: u32,
    pub sums: u32,
    pub columns_in: [Column; COLUMNS],
}

/// One of the segments that a step may ask whose predicate is not known.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Part {
    pub predicate: u64,
    pub segment: Segment,
}

/// Rows become those of a vertex's predicates, or of its neighbours by the row's predicate.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct SpreadStep {
    pub input: u64,
    pub output: u64,
    pub outcome: u64,
    pub capacity: u64,
    /// Address of the parts, ascending by predicates.
    pub parts: u64,
    pub count: u32,
    pub number: u32,
    pub columns: u32,
    /// The column of the vertex, or [`CONSTANT`].
    pub from: u32,
    /// The column of the predicate.
    pub by: u32,
    /// What is looked for among the neighbours, as `from` is.
    pub right: u32,
    pub constant: u64,
    pub sought: u64,
    pub made: u64,
    pub columns_in: [Column; COLUMNS],
    pub columns_out: [u64; COLUMNS],
}

/// A spread stands where a step would.
const _: () = assert!(size_of::<SpreadStep>() <= size_of::<Step>());

/// Sets that a seed is met with, at most.
pub(crate) const SETS: usize = 4;

/// What several sets of ids have becomes a column.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Meet {
    pub index: Index,
    pub begin: u64,
    pub end: u64,
    pub level: u64,
    /// 0: ids are only counted.
    pub out: u64,
    pub base: u64,
    pub wide: u32,
    pub sets: u32,
    pub set: [Index; SETS],
}

/// Equal rows of a table become one.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Collapse {
    pub input: u64,
    pub output: u64,
    pub outcome: u64,
    pub slots: u64,
    /// Slots less one; they are a power of two.
    pub mask: u64,
    /// Rows that may come out.
    pub capacity: u64,
    /// Where their numbers go, or 0.
    pub counts: u64,
    pub columns: u32,
    pub number: u32,
    pub columns_in: [Column; COLUMNS],
    pub columns_out: [u64; COLUMNS],
}

/// It stands where a step would.
const _: () = assert!(size_of::<Collapse>() <= size_of::<Step>());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_are_as_long_as_the_kernels_say() {
        let ours = [
            size_of::<Seed>(),
            size_of::<Step>(),
            size_of::<Finish>(),
            size_of::<Meet>(),
            size_of::<Part>(),
            size_of::<SpreadStep>(),
            size_of::<Collapse>(),
            size_of::<Joined>(),
        ];
        let theirs = device::twin::argument_bytes();
        if theirs == [0; 8] {
            eprintln!("SKIPPED: there is no host twin without a C++ compiler");
            return;
        }
        assert_eq!(ours.map(|bytes| bytes as u64), theirs);
    }
}
