//! The solutions of an endpoint on their way into a table: from terms to ids.
//!
//! Solutions come one at a time and cannot be stopped, but ids are looked up many at once: terms are put aside until there
//! are [`CELLS`] of them or their text is long, then looked up together, and what is stored nowhere becomes a term of
//! the query's own. A lexicon that has to be waited for ends that. The solutions that are left cannot wait where they are,
//! so all their terms become the query's own, which keeps an equal one once; [`name_stored`] goes over them when all have
//! come, and goes on where it had to wait. So a lexicon lets wait once for a piece, and a local one not at all.
//!
//! Memory, drawn on the budget before it grows: the terms put aside, and what looking them up takes; some megabyte at most.
//! The table is that of the answer: ids are replaced in place.

use super::super::Context;
use super::Solutions;
use crate::error::WalkError;
use crate::expression::{Terms, look_up};
use crate::limits::{Limits, Reservation};
use crate::local::text_bytes;
use crate::table::Table;
use oxrdf::{BlankNode, NamedOrBlankNode, NamedOrBlankNodeRef, Term, TermRef, Triple};
use rdf::{Lexicon, TermBuffer, VertexId, inline};

/// Triple terms of an endpoint may be nested so deep: what is deeper is a failure of the endpoint.
const TRIPLES_DEPTH_MAX: usize = 64;

/// Cells whose terms are looked up together.
const CELLS: usize = 4096;

/// ... unless their text is longer.
const TEXT_BYTES: usize = 256 << 10;

/// What looking a cell up takes: its term, twice, its place, and ids on their way.
const CELL_BYTES: usize =
    2 * size_of::<TermRef<'_>>() + size_of::<usize>() + 5 * size_of::<VertexId>();

/// See the module's documentation.
pub(super) struct Arriving<'s, 'a> {
    /// The places of the variables that somebody needs.
    wanted: &'s [usize],
    endpoint: &'s str,
    number: usize,
    terms: Terms<'s>,
    limits: Limits<'a>,
    /// Cells of whole solutions that have no id yet.
    aside: TermBuffer,
    /// Their text.
    text_bytes: usize,
    drawn: Reservation<'a>,
    /// Whether a stored id has to be waited for.
    waits: bool,
    solutions: Solutions<'a>,
}

impl<'s, 'a> Arriving<'s, 'a> {
    /// No solution yet of this endpoint, the `number`th of its step.
    pub(super) fn new(
        wanted: &'s [usize],
        endpoint: &'s str,
        number: usize,
        terms: Terms<'s>,
        limits: Limits<'a>,
    ) -> Arriving<'s, 'a> {
        Arriving {
            wanted,
            endpoint,
            number,
            terms,
            limits,
            aside: TermBuffer::new(),
            text_bytes: 0,
            drawn: Reservation::new(limits),
            waits: false,
            solutions: Solutions {
                table: Table::new(wanted.len()),
                reservation: Reservation::new(limits),
                stored: 0,
            },
        }
    }

    /// Adds a solution.
    pub(super) fn push(&mut self, solution: &[Option<Term>]) -> Result<(), WalkError> {
        self.limits.check()?;
        if solution.iter().flatten().any(is_too_deep) {
            return Err(WalkError::ServiceFailed {
                endpoint: self.endpoint.to_owned(),
                reason: format!("a triple term is nested deeper than {TRIPLES_DEPTH_MAX}"),
            });
        }
        let renamed = |at: &usize| match solution.get(*at) {
            Some(Some(term)) => renamed(term, self.number),
            _ => None,
        };
        let renamed: Vec<Option<Term>> = self.wanted.iter().map(renamed).collect();
        let mut row: Vec<Option<TermRef<'_>>> = Vec::with_capacity(renamed.len());
        for (&at, renamed) in self.wanted.iter().zip(&renamed) {
            let given = solution.get(at).and_then(Option::as_ref);
            row.push(renamed.as_ref().or(given).map(Term::as_ref));
        }
        let text: u64 = row.iter().flatten().map(|term| text_bytes(*term)).sum();
        let cells = self.aside.len() + row.len();
        self.text_bytes += text as usize;
        // Both texts and spans may have twice the room that they need.
        let held = 2 * TermBuffer::capacity_bytes(cells, self.text_bytes);
        self.drawn.cover((held + cells * CELL_BYTES) as u64)?;
        for cell in row {
            match cell {
                Some(term) => self.aside.push(term),
                None => self.aside.push_unbound(),
            }
        }
        if self.wanted.is_empty() {
            let solutions = &mut self.solutions;
            return solutions
                .table
                .push(std::iter::empty(), &mut solutions.reservation);
        }
        if cells >= CELLS || self.text_bytes >= TEXT_BYTES {
            self.name()?;
        }
        Ok(())
    }

    /// All have come.
    pub(super) fn into_solutions(mut self) -> Result<Solutions<'a>, WalkError> {
        self.name()?;
        if !self.waits {
            self.solutions.stored = self.solutions.table.rows();
        }
        Ok(self.solutions)
    }

    /// Gives ids to the terms that were put aside.
    fn name(&mut self) -> Result<(), WalkError> {
        let mut ids = Vec::with_capacity(self.aside.len());
        if !self.waits {
            match self.stored_ids(&mut ids) {
                Err(WalkError::Pending(_)) => {
                    self.waits = true;
                    self.solutions.stored = self.solutions.table.rows();
                    ids.clear();
                }
                named => named?,
            }
        }
        if self.waits {
            let mut own = Vec::with_capacity(self.aside.len());
            let locals = self.terms.locals;
            locals.ids_of(self.aside.iter().flatten(), &mut own)?;
            let mut own = own.into_iter();
            let id = |cell: Option<TermRef<'_>>| cell.and_then(|_| own.next());
            ids.extend(self.aside.iter().map(id).map(bound));
        }
        assert_eq!(ids.len(), self.aside.len(), "a cell has its id");
        let solutions = &mut self.solutions;
        for row in ids.chunks_exact(self.wanted.len().max(1)) {
            let reservation = &mut solutions.reservation;
            solutions.table.push(row.iter().copied(), reservation)?;
        }
        self.aside.clear();
        self.text_bytes = 0;
        Ok(())
    }

    /// Appends the ids of the terms that were put aside, of the query's own where they are stored nowhere.
    fn stored_ids(&self, ids: &mut Vec<VertexId>) -> Result<(), WalkError> {
        let mut wanted = Vec::with_capacity(self.aside.len());
        let mut blank = Vec::new();
        for cell in self.aside.iter() {
            let id = cell.and_then(inline_id);
            ids.push(bound(id));
            match cell {
                Some(term) if id.is_none() && has_blank(term) => blank.push((ids.len() - 1, term)),
                Some(term) if id.is_none() => wanted.push((ids.len() - 1, term)),
                _ => {}
            }
        }
        put_stored(&wanted, &self.terms, ids)?;
        let mut own = Vec::with_capacity(blank.len());
        let locals = self.terms.locals;
        locals.ids_of(blank.iter().map(|blank| blank.1), &mut own)?;
        for ((at, _), id) in blank.iter().zip(own) {
            ids[*at] = id;
        }
        Ok(())
    }
}

/// Replaces ids of the query's own by those that are stored, where there are such. Goes on where it was.
pub(super) fn name_stored<V, L: Lexicon>(
    context: Context<'_, '_, V, L>,
    solutions: &mut Solutions<'_>,
) -> Result<(), WalkError> {
    let (locals, terms) = (&context.scene.locals, context.scene.terms(context.lexicon));
    let table = &mut solutions.table;
    let width = table.width().max(1);
    let rows = (CELLS / width).max(1) as u64;
    let mut drawn = Reservation::new(context.limits);
    while solutions.stored < table.rows() {
        context.limits.check()?;
        let (from, to) = (solutions.stored, table.rows().min(solutions.stored + rows));
        let cells = (to - from) as usize * width;
        drawn.cover((cells * CELL_BYTES) as u64)?;
        let places = (from..to).flat_map(|row| (0..table.width()).map(move |at| (at, row)));
        let mut ids: Vec<VertexId> = places.map(|(at, row)| table.cell(at, row)).collect();
        let mut wanted = Vec::with_capacity(ids.len());
        for (at, id) in ids.iter_mut().enumerate() {
            let Some(term) = locals.get(*id) else {
                continue;
            };
            match inline_id(term) {
                Some(inline) => *id = inline,
                None if has_blank(term) => {}
                None => wanted.push((at, term)),
            }
        }
        put_stored(&wanted, &terms, &mut ids)?;
        for (row, ids) in (from..to).zip(ids.chunks_exact(width)) {
            for (column, id) in ids.iter().enumerate() {
                table.put(column, row, *id);
            }
        }
        solutions.stored = to;
    }
    Ok(())
}

/// Puts the ids of terms where they belong.
fn put_stored(
    wanted: &[(usize, TermRef<'_>)],
    terms: &Terms<'_>,
    ids: &mut [VertexId],
) -> Result<(), WalkError> {
    let texts: Vec<TermRef<'_>> = wanted.iter().map(|wanted| wanted.1).collect();
    for ((at, _), id) in wanted.iter().zip(look_up(&texts, terms)?) {
        ids[*at] = id;
    }
    Ok(())
}

fn bound(id: Option<VertexId>) -> VertexId {
    id.unwrap_or(VertexId::UNBOUND)
}

/// The id of a term that holds it.
fn inline_id(term: TermRef<'_>) -> Option<VertexId> {
    match term {
        TermRef::Literal(literal) => inline::encode(literal),
        _ => None,
    }
}

/// Whether a term is a blank node, or has one: these are the endpoint's own, and stored nowhere. Not too deep.
fn has_blank(term: TermRef<'_>) -> bool {
    match term {
        TermRef::BlankNode(_) => true,
        TermRef::Triple(triple) => {
            let subject = triple.subject.as_ref();
            matches!(subject, NamedOrBlankNodeRef::BlankNode(_))
                || has_blank(triple.object.as_ref())
        }
        TermRef::NamedNode(_) | TermRef::Literal(_) => false,
    }
}

/// Whether triple terms are nested too deep: their objects are what nests.
fn is_too_deep(term: &Term) -> bool {
    let mut within = term;
    for _ in 0..=TRIPLES_DEPTH_MAX {
        match within {
            Term::Triple(triple) => within = &triple.object,
            _ => return false,
        }
    }
    true
}

/// The term with the blank nodes of an endpoint renamed; `None` where it has none. Not too deep.
fn renamed(term: &Term, number: usize) -> Option<Term> {
    let blank =
        |node: &BlankNode| BlankNode::new_unchecked(format!("service{number}.{}", node.as_str()));
    match term {
        Term::BlankNode(node) => Some(blank(node).into()),
        Term::Triple(triple) => {
            let object = renamed(&triple.object, number);
            let subject = match &triple.subject {
                NamedOrBlankNode::BlankNode(node) => Some(blank(node).into()),
                NamedOrBlankNode::NamedNode(_) => None,
            };
            if object.is_none() && subject.is_none() {
                return None;
            }
            let parts = (
                subject.unwrap_or_else(|| triple.subject.clone()),
                triple.predicate.clone(),
                object.unwrap_or_else(|| triple.object.clone()),
            );
            Some(Triple::new(parts.0, parts.1, parts.2).into())
        }
        _ => None,
    }
}
