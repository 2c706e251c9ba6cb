//! `?x = "text"`, and `?x IN ("a", "b")`: by ids, also where the column holds `"text"^^xsd:token`.
//!
//! A literal of a datatype derived from `xsd:string` equals the `xsd:string` of its text, and is another
//! term with another id. There are few such datatypes, so the ids of all terms that equal the constants are
//! looked up once a query, when the first rows come: some 100 ns each. From then on a row costs a
//! comparison of ids, as if there were strings alone. A term that the query itself has computed is in no
//! dictionary and is looked at.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `equal` | the first worker with rows, once | workers |

use super::batch::Batch;
use super::condition::Truth;
use super::derived;
use super::scalar::XSD;
use super::value::Value;
use crate::ask;
use crate::error::WalkError;
use oxrdf::{LiteralRef, TermRef};
use query::plan::{ConstantId, Slot};
use rdf::{Tag, VertexId};
use std::sync::OnceLock;

/// Nanoseconds that the look-up of a constant's terms takes, about.
const LOOK_UP_NS: u64 = 1000;

/// Constants that a column is compared with.
#[derive(Clone, Debug)]
pub(crate) struct SameText {
    /// The strings among them.
    strings: Vec<ConstantId>,
    /// The ids of all constants.
    ids: Vec<VertexId>,
    /// These and the ids of the literals that equal a string, ascending.
    equal: OnceLock<Vec<VertexId>>,
}

impl SameText {
    /// Compares with constants of which these ids are those of all, and these are strings.
    pub(crate) fn new(ids: Vec<VertexId>, strings: Vec<ConstantId>) -> SameText {
        SameText {
            strings,
            ids,
            equal: OnceLock::new(),
        }
    }

    /// Appends whether these rows of a column equal one of the constants; unbound is an error.
    pub(crate) fn evaluate(
        &self,
        slot: Slot,
        batch: &Batch<'_>,
        at: &[u32],
        truths: &mut Vec<Truth>,
    ) -> Result<(), WalkError> {
        let equal = self.equal(batch)?;
        let is_stored = |id: VertexId| match equal {
            [only] => id == *only,
            several => several.binary_search(&id).is_ok(),
        };
        truths.extend(at.iter().map(|&row| {
            let id = batch.id(slot, row);
            let is_one = || {
                is_stored(id) || (id.has_tag(Tag::QueryLocal) && self.is_computed_one(id, batch))
            };
            Truth::from((!id.is_unbound()).then(is_one))
        }));
        Ok(())
    }

    fn equal(&self, batch: &Batch<'_>) -> Result<&[VertexId], WalkError> {
        if let Some(equal) = self.equal.get() {
            return Ok(equal);
        }
        let mut equal = self.ids.clone();
        let mut found = Vec::new();
        for text in self.texts(batch) {
            let terms: Vec<TermRef<'_>> = derived::DERIVED
                .into_iter()
                .filter(|datatype| {
                    let local_name = datatype.as_str().strip_prefix(XSD);
                    local_name.is_some_and(|local_name| derived::has(local_name, text))
                })
                .map(|datatype| LiteralRef::new_typed_literal(text, datatype).into())
                .collect();
            found.clear();
            ask::ready(batch.terms().lexicon.fetch(&[], &terms)?)?;
            batch.terms().lexicon.ids(&terms, &mut found)?;
            equal.extend(found.iter().flatten());
            batch.spend(LOOK_UP_NS)?;
        }
        equal.sort_unstable();
        equal.dedup();
        Ok(self.equal.get_or_init(|| equal))
    }

    fn texts<'s, 'b>(&'s self, batch: &'s Batch<'b>) -> impl Iterator<Item = &'b str> + 's {
        let constants = self.strings.iter();
        constants.filter_map(|constant| batch.constant(*constant).plain_text())
    }

    /// Whether a term of the query's own is a derived string with the text of a constant.
    fn is_computed_one(&self, id: VertexId, batch: &Batch<'_>) -> bool {
        let term = batch.local_term(id);
        match term.map(Value::of_term) {
            Some(Value::Derived(text, _)) => self.texts(batch).any(|constant| constant == text),
            _ => false,
        }
    }
}
