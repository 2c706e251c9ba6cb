//! Bytes that say they are a plan or rows, as a peer or a disk gives them.
//!
//! What is read has these bytes and no others, a plan keeps its contract and can be printed, and an error has its place
//! within the bytes.

use query::plan::Plan;
use query::wire::{DecodeError, decode_plan, decode_rows, encode_plan, encode_rows};
use rdf::{Tag, VertexId};

/// A plan and rows, each of which begins with its mark.
pub fn wire(data: &[u8]) {
    match decode_plan(data) {
        Ok((plan, ids)) => check_plan(&plan, &ids, data),
        Err(error) => check(&error, data),
    }
    match decode_rows(data) {
        Ok(mut rows) => {
            let columns: Vec<_> = rows
                .columns
                .iter()
                .map(|(slot, cells)| (*slot, &cells[..]))
                .collect();
            let mut bytes = Vec::new();
            let term_of = |id: VertexId| rows.locals.get(id.payload() as usize);
            let written = encode_rows(rows.count, &columns, term_of, &mut bytes);
            written.expect("what was read can be written");
            assert_eq!(bytes, data, "rows have two encodings");
            let ids: Vec<_> = (0..rows.locals.len() as u64)
                .map(|number| VertexId::new(Tag::Blank, number))
                .collect();
            rows.replace_locals(&ids);
            let mut cells = rows.columns.iter().flat_map(|(_, cells)| cells);
            assert!(cells.all(|cell| !cell.has_tag(Tag::QueryLocal)));
        }
        Err(error) => check(&error, data),
    }
}

fn check_plan(plan: &Plan, ids: &[Option<VertexId>], data: &[u8]) {
    plan.check().expect("a plan that was read is well formed");
    assert_eq!(plan.constants.len(), ids.len());
    let mut bytes = Vec::new();
    encode_plan(plan, ids, &mut bytes).expect("what was read can be written");
    assert_eq!(bytes, data, "a plan has two encodings");
    assert!(!plan.explain().is_empty());
}

fn check(error: &DecodeError, data: &[u8]) {
    assert!(error.at <= data.len(), "{error}: {} bytes", data.len());
    assert!(!error.to_string().is_empty());
}
