//! From values to ids: what `BIND`, aggregates and `VALUES` put into columns.
//!
//! A computed term gets an inline id where there is one, else the dictionary's, else one of the
//! query's own ([`crate::local::LocalTerms`]), so that equality of ids stays equality of terms. From
//! cheap to dear: columns and constants pass their ids on, integers and booleans have theirs by
//! arithmetic, other literals with inline ids are written and encoded; only what is left is looked up,
//! all rows of a batch in one call of the lexicon and under one lock of the query's own terms. A run of
//! the same value is looked up once.

use super::batch::{Batch, Terms};
use super::computation::{Computation, Operand};
use super::condition::Condition;
use super::scalar::Scalar;
use super::value::{Form, Value};
use crate::ask;
use crate::error::WalkError;
use crate::local::text_bytes;
use oxrdf::{LiteralRef, NamedNodeRef, TermRef};
use rdf::{VertexId, inline};

/// The id of a value that is its own id.
fn own_id(value: &Value<'_>) -> Option<VertexId> {
    match value {
        Value::Scalar(_, Form::Inline(id)) => Some(*id),
        Value::Scalar(Scalar::Integer(value), Form::Computed) => inline::from_integer(*value),
        Value::Scalar(Scalar::Boolean(value), Form::Computed) => Some(inline::from_boolean(*value)),
        _ => None,
    }
}

/// A term that has to be looked up.
enum TermLookup<'v> {
    /// One whose text is there.
    Term(TermRef<'v>),
    /// A literal that was written at these places, of this datatype.
    Written(usize, usize, &'v str),
}

/// Appends the ids of values; unbound for an error and for what has no lexical form. An error where that has to wait may
/// leave some of `ids` behind.
pub(crate) fn ids_of_values<'v, 'b: 'v>(
    values: impl Iterator<Item = Option<&'v Value<'b>>>,
    terms: &Terms<'_>,
    ids: &mut Vec<VertexId>,
) -> Result<(), WalkError> {
    let mut wanted: Vec<TermLookup<'v>> = Vec::new();
    // Where in `ids` the id of which wanted term belongs.
    let mut places: Vec<(usize, usize)> = Vec::new();
    let mut text = String::new();
    let mut last: Option<&Value<'_>> = None;
    for value in values {
        let place = ids.len();
        ids.push(VertexId::UNBOUND);
        let before = std::mem::replace(&mut last, value);
        let Some(value) = value else { continue };
        if let Some(id) = own_id(value) {
            ids[place] = id;
            continue;
        }
        if before.is_some_and(|before| before.is_identical(value)) {
            // The row before has an id already, or waits for one.
            ids[place] = ids[place - 1];
            if let Some(&(before, index)) = places.last()
                && before + 1 == place
            {
                places.push((place, index));
            }
            continue;
        }
        match want(value, &mut text) {
            None => {}
            Some(Ok(id)) => ids[place] = id,
            Some(Err(term)) => {
                places.push((place, wanted.len()));
                wanted.push(term);
            }
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let wanted: Vec<TermRef<'_>> = wanted
        .iter()
        .map(|wanted| match *wanted {
            TermLookup::Term(term) => term,
            TermLookup::Written(start, end, datatype) => {
                let datatype = NamedNodeRef::new_unchecked(datatype);
                LiteralRef::new_typed_literal(&text[start..end], datatype).into()
            }
        })
        .collect();
    let found = look_up(&wanted, terms)?;
    assert_eq!(found.len(), wanted.len(), "a term has its id");
    for (place, index) in places {
        ids[place] = found[index];
    }
    Ok(())
}

/// The inline id of a literal that is written at need, or the term to be looked up; `None` where it has
/// no lexical form.
fn want<'v>(value: &Value<'v>, text: &mut String) -> Option<Result<VertexId, TermLookup<'v>>> {
    if let Some(term) = value.borrowed_term() {
        let inline = match term {
            TermRef::Literal(literal) => inline::encode(literal),
            _ => None,
        };
        return Some(inline.ok_or(TermLookup::Term(term)));
    }
    let start = text.len();
    let datatype = value.datatype()?;
    value.write_form(text)?;
    let typed = NamedNodeRef::new_unchecked(datatype);
    let literal = LiteralRef::new_typed_literal(&text[start..], typed);
    let end = text.len();
    match inline::encode(literal) {
        Some(id) => {
            text.truncate(start);
            Some(Ok(id))
        }
        None => Some(Err(TermLookup::Written(start, end, datatype))),
    }
}

/// Text of terms that are looked up together: a lexicon makes keys of them, which are copies.
pub(crate) const LOOKED_UP_BYTES: u64 = 1 << 20;

/// Text up to which the keys are too little to be drawn on the budget.
const UNDRAWN_BYTES: u64 = 64 << 10;
const _: () = assert!(
    UNDRAWN_BYTES <= LOOKED_UP_BYTES,
    "what is looked up at once may be drawn"
);

/// The ids of terms, in order.
pub(crate) fn look_up(
    wanted: &[TermRef<'_>],
    terms: &Terms<'_>,
) -> Result<Vec<VertexId>, WalkError> {
    let mut ids = Vec::with_capacity(wanted.len());
    let mut rest = wanted;
    while let Some(first) = rest.first() {
        let (mut bytes, mut length) = (text_bytes(*first), 1);
        for term in &rest[1..] {
            let longer = bytes + text_bytes(*term);
            if longer > LOOKED_UP_BYTES {
                break;
            }
            (bytes, length) = (longer, length + 1);
        }
        let (piece, after) = rest.split_at(length);
        look_up_piece(piece, bytes, terms, &mut ids)?;
        rest = after;
    }
    Ok(ids)
}

/// The same for a few terms of so much text.
fn look_up_piece(
    wanted: &[TermRef<'_>],
    text_bytes: u64,
    terms: &Terms<'_>,
    ids: &mut Vec<VertexId>,
) -> Result<(), WalkError> {
    let mut known = Vec::with_capacity(wanted.len());
    {
        // The keys, and while they grow the part that is copied.
        let keys_bytes = if text_bytes > UNDRAWN_BYTES {
            2 * text_bytes
        } else {
            0
        };
        let _keys = terms.locals.borrow(keys_bytes)?;
        ask::ready(terms.lexicon.fetch(&[], wanted)?)?;
        terms.lexicon.ids(wanted, &mut known)?;
        assert_eq!(known.len(), wanted.len(), "a lexicon answers for each term");
    }
    let unknown = wanted.iter().zip(&known);
    let unknown = unknown.filter_map(|(term, id)| id.is_none().then_some(*term));
    let mut locals = Vec::new();
    terms.locals.ids_of(unknown, &mut locals)?;
    let mut locals = locals.into_iter();
    ids.extend(
        known
            .into_iter()
            .map(|id| id.or_else(|| locals.next()).unwrap_or(VertexId::UNBOUND)),
    );
    assert!(
        locals.next().is_none(),
        "only what is stored nowhere has an id of the query"
    );
    Ok(())
}

impl Computation {
    /// Appends to `ids` the id of each of these rows of the batch, unbound for an error.
    pub(crate) fn ids(
        &self,
        batch: &Batch<'_>,
        at: &[u32],
        ids: &mut Vec<VertexId>,
    ) -> Result<(), WalkError> {
        let before = ids.len();
        match self {
            Computation::Slot(slot) => ids.extend(at.iter().map(|&row| batch.id(*slot, row))),
            Computation::Constant(constant) => {
                ids.extend(std::iter::repeat_n(batch.constant_id(*constant), at.len()));
            }
            Computation::Condition(condition) => {
                let mut truths = Vec::with_capacity(at.len());
                condition.evaluate(batch, at, &mut truths)?;
                let id = |value: bool| inline::from_boolean(value);
                let known = truths.iter().map(|truth| truth.value());
                ids.extend(known.map(|value| value.map_or(VertexId::UNBOUND, id)));
            }
            Computation::Integers(forms) => forms.0.ids(&forms.1, batch, at, ids)?,
            Computation::If(condition, yes, no) => {
                chosen_ids(condition, [yes, no], batch, at, ids)?;
            }
            Computation::Coalesce(operands) => first_ids(operands, batch, at, ids)?,
            general => {
                let held = batch.columns();
                match general.evaluate(batch, at)? {
                    Operand::One(value) => {
                        let mut one = Vec::with_capacity(1);
                        ids_of_values([value.as_ref()].into_iter(), batch.terms(), &mut one)?;
                        ids.extend(std::iter::repeat_n(one[0], at.len()));
                    }
                    Operand::Many(values) => {
                        let values = values.iter().map(Option::as_ref);
                        ids_of_values(values, batch.terms(), ids)?;
                    }
                }
                batch.drop_columns(held);
            }
        }
        assert_eq!(ids.len() - before, at.len(), "a row has its id");
        Ok(())
    }
}

/// `IF`: each branch only over its rows.
fn chosen_ids(
    condition: &Condition,
    branches: [&Computation; 2],
    batch: &Batch<'_>,
    at: &[u32],
    ids: &mut Vec<VertexId>,
) -> Result<(), WalkError> {
    let mut truths = Vec::with_capacity(at.len());
    condition.evaluate(batch, at, &mut truths)?;
    let start = ids.len();
    ids.resize(start + at.len(), VertexId::UNBOUND);
    for (wanted, branch) in [true, false].into_iter().zip(branches) {
        let places: Vec<usize> = (0..at.len())
            .filter(|&place| truths[place].value() == Some(wanted))
            .collect();
        scatter_ids(branch, batch, at, &places, &mut ids[start..])?;
    }
    Ok(())
}

/// `COALESCE`: each operand only over the rows that the earlier ones left open.
fn first_ids(
    operands: &[Computation],
    batch: &Batch<'_>,
    at: &[u32],
    ids: &mut Vec<VertexId>,
) -> Result<(), WalkError> {
    let start = ids.len();
    ids.resize(start + at.len(), VertexId::UNBOUND);
    let mut open: Vec<usize> = (0..at.len()).collect();
    for operand in operands {
        scatter_ids(operand, batch, at, &open, &mut ids[start..])?;
        open.retain(|&place| ids[start + place].is_unbound());
    }
    Ok(())
}

fn scatter_ids(
    operand: &Computation,
    batch: &Batch<'_>,
    at: &[u32],
    places: &[usize],
    into: &mut [VertexId],
) -> Result<(), WalkError> {
    if places.is_empty() {
        return Ok(());
    }
    let rows: Vec<u32> = places.iter().map(|&place| at[place]).collect();
    let mut ids = Vec::with_capacity(rows.len());
    operand.ids(batch, &rows, &mut ids)?;
    for (&place, id) in places.iter().zip(ids) {
        into[place] = id;
    }
    Ok(())
}
