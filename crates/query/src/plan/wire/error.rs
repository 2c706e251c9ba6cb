//! Why something has no encoding, and why bytes are none.
//!
//! What is decoded comes from a peer or a disk, so each error says at which byte, what stood there and what to do.

use crate::node::Slot;
use crate::plan::IllFormed;
use rdf::VertexId;

/// Bytes that are not the encoding of what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {fault}")]
pub struct DecodeError {
    /// The byte, from 0, where what is wrong begins.
    pub at: usize,
    /// What is wrong.
    pub fault: DecodeFault,
}

/// What is wrong with some bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeFault {
    /// The first four bytes are those of something else.
    #[error("{of} begin with `{mark}`; these bytes are something else")]
    Mark {
        /// What was to be read.
        of: &'static str,
        /// How it begins.
        mark: &'static str,
    },
    /// A version that this program does not read.
    #[error(
        "{of} of version {found}, of which version {known} is read; run the same release at both ends"
    )]
    Version {
        /// What was to be read.
        of: &'static str,
        /// The version found.
        found: u64,
        /// The version that is read.
        known: u64,
    },
    /// The bytes end too early.
    #[error("the bytes end {missing} bytes too early; they were cut, send or write them again")]
    Cut {
        /// Bytes missing of what is read just then.
        missing: u64,
    },
    /// More than the plan can have: the bytes are damaged, or the other side has other limits.
    #[error("{what}: {found}, {max} are allowed")]
    Large {
        /// What there is too much of.
        what: &'static str,
        /// How much was found.
        found: u64,
        /// The most.
        max: u64,
    },
    /// A number that stands for no form of a type.
    #[error("{of} has no form {number}; another release wrote this, or the bytes are damaged")]
    Form {
        /// The type.
        of: &'static str,
        /// The number.
        number: u8,
    },
    /// A number has zeros behind its last digit, or more than 64 bits.
    #[error("a number is not written as short as it can be, or exceeds 64 bits")]
    Number,
    /// A text is not UTF-8.
    #[error("a text is not UTF-8")]
    NotUtf8,
    /// A text that is not what it stands for.
    #[error("{text:?} is no {of}")]
    Text {
        /// What it stands for.
        of: &'static str,
        /// The text, at most a few dozen characters of it.
        text: String,
    },
    /// Something is nested deeper than stacks are made for.
    #[error("{what} nest deeper than {max} levels")]
    Deep {
        /// What.
        what: &'static str,
        /// The most.
        max: usize,
    },
    /// An id that cannot stand where it stands.
    #[error("{0:?} is no id for this place")]
    Id(VertexId),
    /// Columns are not ascending, each once.
    #[error("column {} comes after one that is not before it", .0.0)]
    Order(Slot),
    /// More bytes than the encoding has.
    #[error("{0} bytes follow the end")]
    Trailing(u64),
    /// What the bytes say is no plan.
    #[error("the plan breaks its contract: {0}")]
    IllFormed(IllFormed),
}

/// Why a plan or rows have no encoding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The plan is none; see [`crate::plan::Plan::check`].
    #[error("the plan breaks its contract: {0}")]
    IllFormed(#[from] IllFormed),
    /// There is not one id for each constant.
    #[error("{ids} ids for {constants} constants")]
    Ids {
        /// Ids given.
        ids: usize,
        /// Constants of the plan.
        constants: usize,
    },
    /// An id that means nothing elsewhere: an unknown tag, or in a plan or in rows a local one whose term is not known.
    #[error("{0:?} is no id that can be sent here")]
    Id(VertexId),
    /// A term that could not be read back: an IRI without a scheme, a label or tag that is none.
    #[error("{text:?} is no {of}")]
    Text {
        /// What it stands for.
        of: &'static str,
        /// The text, at most a few dozen characters of it.
        text: String,
    },
    /// More than is read back.
    #[error("{what}: {found}, {max} are allowed")]
    Large {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: u64,
        /// The most.
        max: u64,
    },
    /// A column has more or fewer cells than there are rows.
    #[error("column {} has {cells} cells for {rows} rows", .slot.0)]
    Cells {
        /// The column.
        slot: Slot,
        /// Its cells.
        cells: usize,
        /// The rows.
        rows: u64,
    },
    /// Columns are not ascending, each once.
    #[error("column {} comes after one that is not before it", .0.0)]
    Order(Slot),
}

/// The beginning of a text, for an error.
pub(super) fn beginning(text: &str) -> String {
    text.chars().take(48).collect()
}
