//! From a batch of terms to ids, making ids where there are none.
//!
//! Terms are first laid flat: the keys of all IRIs, those of all literals, and the triple terms,
//! each after the ones that it holds, with references to all of them. So a kind is looked up in one
//! batch, and new ordinals come by first appearance, components of a triple term before the term:
//! the order of a load and of the [`DictionaryBuilder`](super::DictionaryBuilder).
//!
//! All that is wrong with the terms themselves is found while they are laid flat, before the first
//! one is added, and outside of any lock; so is what the files answer.

use super::error::GrowError;
use super::live::LiveDictionary;
use super::lookup::blank_number;
use super::table::KeyBatch;
use super::{KEY_BYTES_MAX, TRIPLE_TERM_DEPTH_MAX};
use crate::id::{Tag, VertexId};
use crate::{inline, key};
use oxrdf::{TermRef, Triple};
use std::sync::atomic::Ordering;

impl LiveDictionary {
    /// Appends to `ids` the id of each term, in order; a term that has none gets the next one of its
    /// kind, components of a triple term before the term. Blank nodes go by the labels that a
    /// [`Lexicon`](crate::Lexicon) gives them, and must have been reserved. On an error nothing is
    /// appended; a term that cannot be stored is found before the first new one is.
    ///
    /// Memory besides that of new terms: the keys of the batch and some 40 bytes a term.
    pub fn intern(&self, terms: &[TermRef<'_>], ids: &mut Vec<VertexId>) -> Result<(), GrowError> {
        let blank_nodes = self.blank_nodes.load(Ordering::Acquire);
        Batch::new(terms, blank_nodes)?.ids(self, ids)
    }
}

/// A term of the batch: its id, or where its key stands.
#[derive(Clone, Copy)]
enum Flat {
    Id(VertexId),
    Iri(usize),
    Literal(usize),
    Triple(usize),
}

/// The terms of a batch laid flat; see the module's documentation.
struct Batch {
    blank_nodes: u64,
    iris: KeyBatch,
    literals: KeyBatch,
    triples: Vec<[Flat; 3]>,
    terms: Vec<Flat>,
}

/// What the files know of the keys of one kind.
struct FoundKeys {
    ordinals: Vec<u64>,
    missing: Vec<usize>,
}

impl Batch {
    /// Lays terms flat. Blank nodes must have numbers below `blank_nodes`.
    fn new(terms: &[TermRef<'_>], blank_nodes: u64) -> Result<Batch, GrowError> {
        let mut batch = Batch {
            blank_nodes,
            iris: KeyBatch::new(),
            literals: KeyBatch::new(),
            triples: Vec::new(),
            terms: Vec::with_capacity(terms.len()),
        };
        for &term in terms {
            let flat = batch.lay(term, 0)?;
            batch.terms.push(flat);
        }
        Ok(batch)
    }

    fn lay(&mut self, term: TermRef<'_>, depth: usize) -> Result<Flat, GrowError> {
        Ok(match term {
            TermRef::NamedNode(iri) => Flat::Iri(push(&mut self.iris, |key| {
                key.extend_from_slice(iri.as_str().as_bytes());
            })?),
            TermRef::BlankNode(blank) => {
                let number = blank_number(blank.as_str());
                match number.filter(|&number| number < self.blank_nodes) {
                    Some(number) => Flat::Id(VertexId::new(Tag::Blank, number)),
                    None => {
                        return Err(GrowError::UnknownBlank {
                            label: blank.as_str().to_owned(),
                            count: self.blank_nodes,
                        });
                    }
                }
            }
            TermRef::Literal(literal) => match inline::encode(literal) {
                Some(id) => Flat::Id(id),
                None => Flat::Literal(push(&mut self.literals, |key| {
                    key::encode_literal(literal, key);
                })?),
            },
            TermRef::Triple(triple) => self.lay_triple(triple, depth)?,
        })
    }

    fn lay_triple(&mut self, triple: &Triple, depth: usize) -> Result<Flat, GrowError> {
        if depth == TRIPLE_TERM_DEPTH_MAX {
            return Err(GrowError::TooDeep);
        }
        let components = [
            self.lay(triple.subject.as_ref().into(), depth + 1)?,
            self.lay(triple.predicate.as_ref().into(), depth + 1)?,
            self.lay(triple.object.as_ref(), depth + 1)?,
        ];
        self.triples.push(components);
        Ok(Flat::Triple(self.triples.len() - 1))
    }

    /// Gives each term its id, in order; new ones where there is none.
    fn ids(self, live: &LiveDictionary, ids: &mut Vec<VertexId>) -> Result<(), GrowError> {
        let iris = FoundKeys::of(live, Tag::Iri, &self.iris)?;
        let literals = FoundKeys::of(live, Tag::Literal, &self.literals)?;
        let writer = live.lock_writer();
        let iris = iris.or_add(live, Tag::Iri, &self.iris)?;
        let literals = literals.or_add(live, Tag::Literal, &self.literals)?;
        let mut resolved = Resolved {
            iris,
            literals,
            triples: Vec::with_capacity(self.triples.len()),
        };
        resolved.resolve_triples(live, &self.triples)?;
        assert_eq!(
            [
                resolved.iris.len(),
                resolved.literals.len(),
                resolved.triples.len()
            ],
            [self.iris.len(), self.literals.len(), self.triples.len()],
            "each term that was laid flat got an ordinal"
        );
        drop(writer);
        ids.extend(self.terms.into_iter().map(|flat| resolved.id(flat)));
        Ok(())
    }
}

fn push(keys: &mut KeyBatch, append: impl FnOnce(&mut Vec<u8>)) -> Result<usize, GrowError> {
    let index = keys.len();
    keys.push_with(append);
    let bytes = keys.get(index).len();
    if bytes > KEY_BYTES_MAX {
        return Err(GrowError::KeyTooLong { bytes });
    }
    Ok(index)
}

impl FoundKeys {
    /// Looks keys up in the files.
    fn of(live: &LiveDictionary, kind: Tag, keys: &KeyBatch) -> Result<FoundKeys, GrowError> {
        let mut known = FoundKeys {
            ordinals: vec![0; keys.len()],
            missing: Vec::new(),
        };
        let mut next = 0;
        live.base().find_each(kind, keys, |position, ordinal| {
            known.missing.extend(next..position);
            known.ordinals[position] = ordinal;
            next = position + 1;
        })?;
        known.missing.extend(next..keys.len());
        Ok(known)
    }

    /// Looks up what is missing among the new terms and adds what is missing there. Whoever calls
    /// is the writer.
    fn or_add(
        mut self,
        live: &LiveDictionary,
        kind: Tag,
        keys: &KeyBatch,
    ) -> Result<Vec<u64>, GrowError> {
        let terms = live.grown();
        let (start, grown) = (terms.start.of(kind), terms.of(kind));
        let grown = grown.expect("only kinds with keys are interned");
        grown.find_or_add(keys, &self.missing, |position, ordinal| {
            self.ordinals[position] = start + ordinal;
        })?;
        Ok(self.ordinals)
    }
}

/// Ordinals by index in the batch.
struct Resolved {
    iris: Vec<u64>,
    literals: Vec<u64>,
    triples: Vec<u64>,
}

impl Resolved {
    fn id(&self, flat: Flat) -> VertexId {
        match flat {
            Flat::Id(id) => id,
            Flat::Iri(index) => VertexId::new(Tag::Iri, self.iris[index]),
            Flat::Literal(index) => VertexId::new(Tag::Literal, self.literals[index]),
            Flat::Triple(index) => VertexId::new(Tag::TripleTerm, self.triples[index]),
        }
    }

    /// Resolves triple terms in order, in runs none of whose members holds another one.
    fn resolve_triples(
        &mut self,
        live: &LiveDictionary,
        triples: &[[Flat; 3]],
    ) -> Result<(), GrowError> {
        let mut run = KeyBatch::new();
        for components in triples {
            let begun = self.triples.len();
            let waits = |flat: &Flat| matches!(flat, Flat::Triple(index) if *index >= begun);
            if components.iter().any(waits) {
                self.end_run(live, &mut run)?;
            }
            run.push(&key::encode_triple(components.map(|flat| self.id(flat))));
        }
        self.end_run(live, &mut run)
    }

    fn end_run(&mut self, live: &LiveDictionary, run: &mut KeyBatch) -> Result<(), GrowError> {
        let known = FoundKeys::of(live, Tag::TripleTerm, run)?;
        let ordinals = known.or_add(live, Tag::TripleTerm, run)?;
        self.triples.extend(ordinals);
        run.clear();
        Ok(())
    }
}
