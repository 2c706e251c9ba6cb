//! Functions that make terms and take them apart (SPARQL 1.1 Query section 17.4.2 and the triple terms
//! and base directions of SPARQL 1.2).
//!
//! **Blank nodes.** `BNODE(string)` gives one blank node for a string within a solution, and another in
//! every other. A solution is named by what stands in a second argument where there is one: a hidden
//! column that the planner binds to `BNODE()` once, so that all expressions of a `SELECT` agree. Without
//! one it is named by its row in this batch, which holds within one expression. The label is a digest
//! of both, so no table of labels is kept; labels begin with `n`, those of a store with `b`.
//!
//! **Times** of triples in windows are those of a standing query ([`crate::environment::Arrivals`]).
//!
//! **Chance** comes from the query's seed ([`crate::environment`]): `UUID` is version 4 of RFC 9562 from
//! two draws, `RAND` has 53 bits.

use super::batch::Batch;
use super::column::{Made, write_column};
use super::computation::{Computation, Operand};
use super::hash::{digest_of_parts, write_hex};
use super::scalar::Scalar;
use super::value::{Language, Value};
use crate::error::WalkError;
use oxiri::Iri;
use oxrdf::vocab::rdf as rdf_names;
use oxrdf::{Literal, NamedOrBlankNode, Term, Triple};
use query::expression::Function;
use rdf::VertexId;

/// Bytes of a triple term besides itself and its text: blocks, datatypes, its place in the arena.
const TRIPLE_BYTES: u64 = 512;

/// Bytes of a UUID as an IRI; a blank node's label takes fewer.
const UUID_BYTES: usize = 45;

/// Nanoseconds that a triple costs, about.
const TRIPLE_NS: u64 = 200;

/// `RAND`.
#[allow(
    clippy::unnecessary_wraps,
    reason = "the others that make terms may fail"
)]
pub(crate) fn chances<'b>(
    _: &[Operand<'b>],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Vec<Option<Value<'b>>>, WalkError> {
    Ok((0..at.len()).map(|_| Some(random(batch))).collect())
}

/// `UUID`.
pub(crate) fn uuids<'b>(
    _: &[Operand<'b>],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Vec<Option<Value<'b>>>, WalkError> {
    write_column(batch, at.len(), |_, into| {
        let into = into.room(UUID_BYTES)?;
        into.push_str("urn:uuid:");
        write_uuid(batch, into);
        Ok(Some(Made::Iri))
    })
}

/// `STRUUID`.
pub(crate) fn uuid_texts<'b>(
    _: &[Operand<'b>],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Vec<Option<Value<'b>>>, WalkError> {
    write_column(batch, at.len(), |_, into| {
        write_uuid(batch, into.room(UUID_BYTES)?);
        Ok(Some(Made::Text))
    })
}

/// A double from 0 up to 1.
fn random<'b>(batch: &Batch<'b>) -> Value<'b> {
    let bits = batch.random() >> 11;
    Value::computed(Scalar::Double((bits as f64 / (1_u64 << 53) as f64).into()))
}

fn random_bytes(batch: &Batch<'_>) -> [u8; 16] {
    let all = u128::from(batch.random()) << 64 | u128::from(batch.random());
    all.to_be_bytes()
}

fn write_uuid(batch: &Batch<'_>, into: &mut String) {
    let mut bytes = random_bytes(batch);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    for (place, part) in [0..4, 4..6, 6..8, 8..10, 10..16].into_iter().enumerate() {
        if place > 0 {
            into.push('-');
        }
        write_hex(&bytes[part], into);
    }
}

/// `BNODE`.
pub(crate) fn blank_nodes<'b>(
    operands: &[Operand<'b>],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Vec<Option<Value<'b>>>, WalkError> {
    write_column(batch, at.len(), |row, into| {
        let label = match operands {
            [] => random_bytes(batch),
            [name, solution @ ..] => {
                let Some(Value::Text(name)) = name.get(row) else {
                    return Ok(None);
                };
                batch.spend(name.len() as u64 + 200)?;
                if let Some(solution) = solution.first() {
                    let Some(Value::Blank(solution)) = solution.get(row) else {
                        return Ok(None);
                    };
                    digest_of_parts(&[solution.as_bytes(), name.as_bytes()])
                } else {
                    let solution = [batch.nonce(), u64::from(batch.position(at[row]))];
                    let [batch, row] = solution.map(u64::to_le_bytes);
                    digest_of_parts(&[&batch, &row, name.as_bytes()])
                }
            }
        };
        let into = into.room(UUID_BYTES)?;
        into.push('n');
        write_hex(&label, into);
        Ok(Some(Made::Blank))
    })
}

/// `IRI`: a string is resolved against the base, and an error where that gives no IRI.
pub(crate) fn iris<'b>(
    operands: &[Operand<'b>],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Vec<Option<Value<'b>>>, WalkError> {
    let base = batch.terms().base.map(Iri::parse);
    let mut resolved = String::new();
    write_column(batch, at.len(), |row, into| {
        let text = match operands[0].get(row) {
            Some(Value::Iri(iri)) => return Ok(Some(Made::Value(Value::Iri(iri)))),
            Some(Value::Text(text)) => *text,
            _ => return Ok(None),
        };
        let Some(base) = &base else {
            let iri = Iri::parse(text).ok();
            return Ok(iri.map(|_| Made::Value(Value::Iri(text))));
        };
        resolved.clear();
        let found = base.as_ref().ok();
        let is_iri = found.is_some_and(|base| base.resolve_into(text, &mut resolved).is_ok());
        into.push_str(&resolved)?;
        Ok(is_iri.then_some(Made::Iri))
    })
}

/// `STRDT`.
#[allow(
    clippy::unnecessary_wraps,
    reason = "the others that make terms may fail"
)]
pub(crate) fn typed<'b>(
    operands: &[Operand<'b>],
    _: &Batch<'b>,
    at: &[u32],
) -> Result<Vec<Option<Value<'b>>>, WalkError> {
    let rows = (0..at.len()).map(|row| {
        let [lexical, datatype] = [0, 1].map(|place| operands[place].get(row));
        with_datatype(lexical?, datatype?)
    });
    Ok(rows.collect())
}

/// A literal of a datatype; `None` is an error, also for the datatypes that only tagged strings have.
fn with_datatype<'b>(lexical: &Value<'b>, datatype: &Value<'b>) -> Option<Value<'b>> {
    let (Value::Text(lexical), Value::Iri(datatype)) = (lexical, datatype) else {
        return None;
    };
    let of_tagged = [rdf_names::LANG_STRING, rdf_names::DIR_LANG_STRING];
    let is_of_tagged = of_tagged
        .iter()
        .any(|of_tagged| of_tagged.as_str() == *datatype);
    (!is_of_tagged).then(|| Value::typed(lexical, datatype))
}

/// `STRLANG` and `STRLANGDIR`; an ill-formed tag (BCP 47) is an error.
pub(crate) fn tagged<'b>(
    operands: &[Operand<'b>],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Vec<Option<Value<'b>>>, WalkError> {
    let mut last: Option<(&str, Option<&'b str>)> = None;
    let mut column = Vec::with_capacity(at.len());
    for row in 0..at.len() {
        let rightward = match operands.get(2).map(|direction| direction.get(row)) {
            None => Some(None),
            Some(Some(Value::Text("ltr"))) => Some(Some(false)),
            Some(Some(Value::Text("rtl"))) => Some(Some(true)),
            Some(_) => None,
        };
        let (Some(Value::Text(text)), Some(Value::Text(tag)), Some(rightward)) =
            (operands[0].get(row), operands[1].get(row), rightward)
        else {
            column.push(None);
            continue;
        };
        let known = match last {
            Some((before, known)) if before == *tag => known,
            _ => well_formed(tag, batch)?,
        };
        last = Some((tag, known));
        column.push(known.map(|tag| Value::Language(text, Language { tag, rightward })));
    }
    Ok(column)
}

/// The tag in lower case, as terms have it; `None` where it is none.
fn well_formed<'b>(tag: &'b str, batch: &Batch<'b>) -> Result<Option<&'b str>, WalkError> {
    batch.spend(tag.len() as u64 + 100)?;
    let Ok(literal) = Literal::new_language_tagged_literal("", tag) else {
        return Ok(None);
    };
    if !tag.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Ok(Some(tag));
    }
    let tag = literal.language().unwrap_or_default().to_owned();
    batch.keep_text(tag).map(Some)
}

/// `TRIPLE`.
pub(crate) fn triples<'b>(
    operands: &[Operand<'b>],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Vec<Option<Value<'b>>>, WalkError> {
    let mut column = Vec::with_capacity(at.len());
    for row in 0..at.len() {
        let form = |place: usize| {
            let value = operands[place].get(row);
            value.map_or(0, |value| value.form_bytes() as u64)
        };
        // What the terms of the parts take: drawn before they are made, and kept with the triple.
        let bytes = (0..3).map(form).sum::<u64>() + size_of::<Triple>() as u64 + TRIPLE_BYTES;
        batch.charge(bytes)?;
        let parts = [0, 1, 2].map(|place| operands[place].get(row).and_then(Value::to_term));
        let [
            Some(subject),
            Some(Term::NamedNode(predicate)),
            Some(object),
        ] = parts
        else {
            column.push(None);
            continue;
        };
        let subject = match subject {
            Term::NamedNode(iri) => NamedOrBlankNode::NamedNode(iri),
            Term::BlankNode(blank) => NamedOrBlankNode::BlankNode(blank),
            Term::Literal(_) | Term::Triple(_) => {
                column.push(None);
                continue;
            }
        };
        let triple = Triple::new(subject, predicate, object);
        batch.spend(bytes)?;
        column.push(Some(Value::Triple(batch.keep_triple(triple))));
    }
    Ok(column)
}

/// `SUBJECT`, `PREDICATE`, `OBJECT`; `None` is an error.
pub(crate) fn part<'b>(function: Function, value: &Value<'b>) -> Option<Value<'b>> {
    let Value::Triple(triple) = *value else {
        return None;
    };
    Some(match function {
        Function::Subject => match &triple.subject {
            NamedOrBlankNode::NamedNode(iri) => Value::Iri(iri.as_str()),
            NamedOrBlankNode::BlankNode(blank) => Value::Blank(blank.as_str()),
        },
        Function::Predicate => Value::Iri(triple.predicate.as_str()),
        _ => Value::of_term(triple.object.as_ref()),
    })
}

/// `timestamp`: the times of the triples of these rows (milliseconds). A triple that is in no window is an error, and so is any
/// where nobody knows windows. Whoever knows them is asked once for all rows.
pub(crate) fn times<'b>(
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
