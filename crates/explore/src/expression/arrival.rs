//! `timestamp(s, p, o)`: when a triple came last in the windows of a standing query.
//!
//! The arguments are terms, so they become ids as what `BIND` computes does, and whoever knows the windows is asked once
//! for all rows ([`Arrivals`](crate::environment::Arrivals)). A triple that is in no window is an error, and so is any
//! triple where nobody knows windows. Nothing of this is on the way of a query that does not ask.
//!
//! Cost: three ids a row, and for each a search in every slice of the windows.

use super::batch::Batch;
use super::computation::{Computation, Operand};
use super::scalar::Scalar;
use super::value::Value;
use crate::error::WalkError;
use rdf::VertexId;

/// Nanoseconds that a triple costs, about.
const TRIPLE_NS: u64 = 200;

/// The times of the triples of these rows (milliseconds).
pub(super) fn times<'b>(
    arguments: &[Computation],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    let [subject, predicate, object] = arguments else {
        unreachable!("a plan is checked for the numbers of arguments");
    };
    let Some(arrivals) = batch.terms().environment.arrivals else {
        return Ok(Operand::One(None));
    };
    let bytes = (at.len() * (6 * size_of::<VertexId>() + size_of::<Option<u64>>())) as u64;
    batch.charge(bytes)?;
    batch.spend(TRIPLE_NS * at.len() as u64)?;
    let mut parts = [Vec::new(), Vec::new(), Vec::new()];
    for (part, ids) in [subject, predicate, object].into_iter().zip(&mut parts) {
        part.ids(batch, at, ids)?;
    }
    let [subjects, predicates, objects] = &parts;
    let triple = |row: usize| [subjects[row], predicates[row], objects[row]];
    let triples: Vec<[VertexId; 3]> = (0..at.len()).map(triple).collect();
    let mut times = Vec::with_capacity(at.len());
    arrivals.latest(&triples, &mut times);
    assert_eq!(times.len(), at.len(), "a triple has its time");
    let value = |time_ms: u64| {
        let time_ms = i64::try_from(time_ms).ok()?;
        Some(Value::computed(Scalar::Integer(time_ms)))
    };
    let column = times.into_iter().map(|time_ms| time_ms.and_then(value));
    let column = column.collect();
    batch.discharge(bytes);
    Ok(Operand::Many(column))
}
