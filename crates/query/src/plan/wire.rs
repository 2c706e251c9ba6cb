//! Plans and rows as bytes: what a cluster's nodes send each other, and what a registered query is kept as.
//!
//! ```text
//!  plan                                              rows
//!  `SQWP`, version                                   `SQWR`, version
//!  constants, as terms (`term`)                      count, slots
//!  ids of the constants, 8 bytes each                local terms
//!  variables, dataset, base, steps, form, weight     columns, 8 bytes a cell (`rows`)
//! ```
//!
//! Numbers are LEB128 ([`rdf::varint`]) in their shortest form; ids and estimates have 8 bytes, least significant
//! first; a text has its length in front. [`layout`] lists every type. An encoding has no checksum and no length of
//! its own: the log, file or message that it lies in has both.
//!
//! **What decoding promises.** Bytes may come from anybody. The answer is an error with its place, or a plan that
//! [keeps its contract](Plan::check), so that walking it meets no assertion where there are [as many
//! views](Plan::views) as it needs; bytes that are read encode to the same bytes
//! again. Recursion is bounded before it is entered, memory by 40 times the bytes. Bytes behind the end are an error.
//!
//! **Versions.** One version is read: nodes of a cluster run one release, and of a query that survives a restart the text
//! is kept beside the plan, to be planned again. A change of layout needs another version; the bytes that are kept in
//! `testdata/wire` fail a test until it has one.
//!
//! **Why by hand.** A format of `serde` would be the usual choice. `ciborium` bounds its recursion, but
//! its errors of types need not have a place, it reads many spellings of one value, and field names are most of its bytes; `postcard`
//! recurs without bound. Neither asks for a new field by name: with `serde` it silently becomes a part of the
//! format. Here it does not compile until the layout has it, for some 400 lines that know no type.
//!
//! Cost: a plan of a text takes some microseconds in either direction, most of them for its terms; rows are copied.

mod bytes;
mod error;
mod layout;
mod rows;
mod term;

pub use error::{DecodeError, DecodeFault, EncodeError};
pub use rows::{ROWS_VERSION, Rows, decode_rows, encode_rows};
pub use term::TRIPLES_MAX;

use super::Plan;
use bytes::{Decoder, Encoder};
use oxrdf::Term;
use rdf::VertexId;

/// The version of [`encode_plan`]. Another one with every change of [`layout`] or of terms.
pub const PLAN_VERSION: u64 = 1;

/// The most bytes of a plan: what a text may be written out to (`Limits::expanded_bytes`).
pub const PLAN_BYTES_MAX: usize = 1 << 28;

const OF: &str = "a plan";
const MARK: &str = "SQWP";

/// Appends the encoding of a plan and of the ids of its constants: one for each, `None` where the graph has no such
/// term. Ids are those of stored terms. On an error `into` is as it was.
pub fn encode_plan(
    plan: &Plan,
    ids: &[Option<VertexId>],
    into: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let start = into.len();
    let written = append(plan, ids, &mut Encoder::new(into));
    let found = into.len() - start;
    let written = written.and(if found > PLAN_BYTES_MAX {
        Err(EncodeError::Large {
            what: "bytes of a plan",
            found: found as u64,
            max: PLAN_BYTES_MAX as u64,
        })
    } else {
        Ok(())
    });
    if written.is_err() {
        into.truncate(start);
    }
    written
}

fn append(plan: &Plan, ids: &[Option<VertexId>], out: &mut Encoder<'_>) -> Result<(), EncodeError> {
    plan.check()?;
    if plan.constants.len() != ids.len() {
        return Err(EncodeError::Ids {
            ids: ids.len(),
            constants: plan.constants.len(),
        });
    }
    if let Some(id) = ids.iter().flatten().find(|id| !is_stored(**id)) {
        return Err(EncodeError::Id(*id));
    }
    out.raw(MARK.as_bytes());
    out.number(PLAN_VERSION);
    out.number(plan.constants.len() as u64);
    let mut terms = plan.constants.iter().map(Term::as_ref);
    terms.try_for_each(|constant| term::write(constant, out))?;
    for id in ids {
        let id = id.unwrap_or(VertexId::UNBOUND);
        out.raw(&id.bits().to_le_bytes());
    }
    layout::write_plan(plan, out);
    Ok(())
}

/// Reads a plan and the ids of its constants. `bytes` are those of one call of [`encode_plan`], all of them.
pub fn decode_plan(bytes: &[u8]) -> Result<(Plan, Vec<Option<VertexId>>), DecodeError> {
    let length = bytes.len();
    let mut bytes = Decoder::new(bytes);
    if length > PLAN_BYTES_MAX {
        return Err(bytes.fault(DecodeFault::Large {
            what: "bytes of a plan",
            found: length as u64,
            max: PLAN_BYTES_MAX as u64,
        }));
    }
    bytes.begin(OF, MARK, PLAN_VERSION)?;
    let count = bytes.count(term::TERM_BYTES_MIN + size_of::<VertexId>())?;
    let mut constants = Vec::with_capacity(count);
    for _ in 0..count {
        constants.push(term::read(&mut bytes)?);
    }
    let mut ids = Vec::with_capacity(count);
    for _ in 0..count {
        ids.push(read_id(&mut bytes)?);
    }
    let start = bytes.at();
    let plan = layout::read_plan(constants, &mut bytes)?;
    bytes.end()?;
    plan.check()
        .map_err(|fault| Decoder::fault_at(start, DecodeFault::IllFormed(fault)))?;
    Ok((plan, ids))
}

fn read_id(bytes: &mut Decoder<'_>) -> Result<Option<VertexId>, DecodeError> {
    let at = bytes.at();
    let id = VertexId::from_bits(u64::from_le_bytes(bytes.array()?));
    if id.is_unbound() {
        return Ok(None);
    }
    if !is_stored(id) {
        return Err(Decoder::fault_at(at, DecodeFault::Id(id)));
    }
    Ok(Some(id))
}

/// Whether an id may be that of a term which a graph has.
fn is_stored(id: VertexId) -> bool {
    id.is_stored()
}

#[cfg(test)]
mod tests;
