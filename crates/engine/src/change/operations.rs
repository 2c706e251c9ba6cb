//! From operations to quads (SPARQL 1.1 Update section 4.2).
//!
//! What a pattern finds stays in ids: a row's cells go into the templates without their terms being
//! read. Only what the query itself made (query-local terms) and what the templates name become
//! entries of the dictionary. All rows of an operation are found before the first quad changes,
//! and the quads are charged to the request's memory.
//!
//! Graphs exist where they hold a quad, so this is a store that does not record empty graphs (section 3.1.3).
//! One rule follows: whoever *takes* from a named graph that is not there fails, and with `SILENT` does nothing
//! (`COPY`, `MOVE` and `ADD`; section 3.2.3 leaves it to the store, and what was most likely a typing error must
//! not empty a graph; onto itself there is nothing to be done, as the section says). Whoever empties a graph or puts something into it succeeds, as
//! such a store always does (`CLEAR`, `DROP`, `CREATE`, and the graphs that are copied or loaded into).
//! `CREATE` of a graph that holds something fails unless `SILENT`. The default graph is always there.

use super::charge::take;
use super::draft::{Draft, refused, too_long};
use super::spool::Spool;
use crate::error::{Kind, QueryError};
use crate::moment::scan::{self, QuadSelection};
use crate::output::decode::decode_ids;
use crate::prepared::Query;
use crate::request::context::{Context, Effort};
use crate::request::walking::stop_reason;
use explore::{Chunk, MemoryBudget, Prepared, WalkError};
use oxrdf::{
    BlankNode, BlankNodeRef, NamedNode, NamedOrBlankNode, NamedOrBlankNodeRef, Term, TermRef,
    Triple,
};
use query::plan::{Node, TemplateTerm};
use query::update::{Data, DataTerm, Modify, Operation, QuadTemplate, Target, Transfer};
use rdf::{Lexicon, Tag, TermBuffer, VertexId};
use std::collections::HashMap;
use std::ops::ControlFlow;
use store::delta::{Change, IdQuad};
use store::view::{GraphScope, GraphView};

/// Quads that are deleted together where a whole graph is.
const CLEARED_QUADS: usize = 1 << 20;

/// Carries out one operation. `document`: what its `LOAD` has read.
pub(crate) fn carry_out(
    context: &Context,
    draft: &mut Draft,
    operation: &Operation,
    document: Option<&Spool>,
) -> Result<(), QueryError> {
    match operation {
        Operation::InsertData { data } => {
            let charged = charge_data(context, data)?;
            let inserts = inserted(draft, data)?;
            draft.name(inserts, true)?;
            context.budget.release(charged);
        }
        Operation::DeleteData { data } => {
            let charged = charge_data(context, data)?;
            let deletes = known(draft, data)?;
            draft.name(deletes, false)?;
            context.budget.release(charged);
        }
        Operation::Modify(modify) => modification(context, draft, modify)?,
        Operation::Load { .. } => {
            if let Some(document) = document {
                document.apply(draft)?;
            }
        }
        Operation::Clear { target, .. } | Operation::Drop { target, .. } => {
            let parts = parts_of(draft, target)?;
            clear(context, draft, &parts)?;
        }
        Operation::Create { silent, graph } => {
            if named(draft, graph)?.is_some() && !silent {
                let message = format!("graph <{}> exists already", graph.as_str());
                return Err(QueryError::new(Kind::Conflict, message)
                    .with_hint("CREATE SILENT does not mind"));
            }
        }
        Operation::Transfer {
            kind,
            silent,
            from,
            to,
        } => transfer(context, draft, *kind, *silent, (from.as_ref(), to.as_ref()))?,
    }
    Ok(())
}

/// Quads with the memory that is charged for them.
pub(crate) struct CollectedRows<'c> {
    pub(crate) quads: Vec<IdQuad>,
    reserved: u64,
    context: &'c Context,
}

impl<'c> CollectedRows<'c> {
    fn new(context: &'c Context) -> CollectedRows<'c> {
        CollectedRows {
            quads: Vec::new(),
            reserved: 0,
            context,
        }
    }

    fn push(&mut self, quad: IdQuad) -> Result<(), QueryError> {
        if self.quads.len() == self.quads.capacity() {
            let more = self.quads.len().max(1024);
            // Besides itself a quad is held as an edge, sorted, in both directions, for a while.
            let bytes = (more * size_of::<IdQuad>() * 3) as u64;
            charge(self.context, bytes)?;
            self.reserved += bytes;
            self.quads.reserve_exact(more);
        }
        self.quads.push(quad);
        Ok(())
    }
}

/// Takes memory for a change from its budget.
pub(crate) fn charge(context: &Context, bytes: u64) -> Result<(), QueryError> {
    take(&context.budget, bytes)
}

/// What carrying out quads of data takes for a while: their terms with their keys and ids, and the
/// quads as ids, sorted in both directions.
fn charge_data(context: &Context, data: &Data) -> Result<u64, QueryError> {
    let terms = data.terms();
    let each = size_of::<TermRef<'_>>() + 6 * size_of::<VertexId>();
    let quads = data.len() * size_of::<IdQuad>() * 3;
    let bytes = (terms.text_bytes() + terms.len() * each + quads) as u64;
    charge(context, bytes).map(|()| bytes)
}

impl Drop for CollectedRows<'_> {
    fn drop(&mut self) {
        self.context.budget.release(self.reserved);
    }
}

/// The ids of quads; new terms and blank nodes are added.
fn inserted(draft: &mut Draft, data: &Data) -> Result<Vec<IdQuad>, QueryError> {
    let first = match data.blanks() {
        0 => 0,
        count => draft.fresh_blanks(u64::from(count))?,
    };
    let terms = || data.terms().iter().flatten();
    // Triple terms with blank nodes are rare; they are made anew, and all others go as they stand.
    let renamed: Vec<Term> = terms()
        .filter(|term| has_blank(*term))
        .map(|term| with_fresh_blanks(term, first))
        .collect();
    let mut next = renamed.iter();
    let terms: Vec<TermRef<'_>> = terms()
        .map(|term| {
            if has_blank(term) {
                next.next().expect("one for each").as_ref()
            } else {
                term
            }
        })
        .collect();
    assert!(
        next.next().is_none(),
        "only terms with blank nodes are made anew"
    );
    let mut ids = Vec::with_capacity(terms.len());
    draft.live().intern(&terms, &mut ids).map_err(refused)?;
    assert_eq!(
        ids.len(),
        terms.len(),
        "a dictionary gives an id for each term"
    );
    let id = |term: DataTerm| match term {
        DataTerm::Term(cell) => ids[cell],
        DataTerm::Blank(number) => VertexId::new(Tag::Blank, first + u64::from(number)),
    };
    let quads = data.quads().map(|([subject, predicate, object], graph)| {
        let graph = graph.map_or(GraphScope::DEFAULT_GRAPH, id);
        (id(subject), id(predicate), id(object), graph)
    });
    Ok(quads.collect())
}

/// The ids of those quads whose terms are all known; they are without blank nodes. Before the turn all
/// get ids, because others may bring them meanwhile.
fn known(draft: &Draft, data: &Data) -> Result<Vec<IdQuad>, QueryError> {
    let terms: Vec<TermRef<'_>> = data.terms().iter().flatten().collect();
    let mut ids = Vec::with_capacity(terms.len());
    deleted_ids(draft, &terms, &mut ids)?;
    let id = |term: DataTerm| match term {
        DataTerm::Term(cell) => ids[cell],
        DataTerm::Blank(_) => None,
    };
    let quads = data
        .quads()
        .filter_map(|([subject, predicate, object], graph)| {
            let graph = graph.map_or(Some(GraphScope::DEFAULT_GRAPH), id);
            Some((id(subject)?, id(predicate)?, id(object)?, graph?))
        });
    Ok(quads.collect())
}

/// Appends the ids of terms whose quads are to be deleted. A term that is not stored has none; before
/// the turn it gets one, unless it cannot be stored.
fn deleted_ids(
    draft: &Draft,
    terms: &[TermRef<'_>],
    ids: &mut Vec<Option<VertexId>>,
) -> Result<(), QueryError> {
    let live = draft.live();
    let mut all = Vec::with_capacity(terms.len());
    if draft.is_ahead() && live.intern(terms, &mut all).is_ok() {
        ids.extend(all.into_iter().map(Some));
        return Ok(());
    }
    let found = ids.len();
    live.view(live.counts()).ids(terms, ids)?;
    assert_eq!(
        ids.len(),
        found + terms.len(),
        "a lexicon answers for each term"
    );
    if draft.is_ahead() {
        // Some of them cannot be stored: each goes for itself.
        let unknown = terms.iter().zip(&mut ids[found..]);
        for (term, id) in unknown.filter(|(_, id)| id.is_none()) {
            let mut own = Vec::new();
            *id = live
                .intern(&[*term], &mut own)
                .ok()
                .and_then(|()| own.pop());
        }
    }
    Ok(())
}

fn has_blank(term: TermRef<'_>) -> bool {
    match term {
        TermRef::BlankNode(_) => true,
        TermRef::Triple(triple) => {
            matches!(triple.subject, NamedOrBlankNode::BlankNode(_))
                || has_blank(triple.object.as_ref())
        }
        TermRef::NamedNode(_) | TermRef::Literal(_) => false,
    }
}

/// The term with its blank nodes as the dictionary labels them, that of number 0 as `first`. As deep
/// as triple terms are nested.
fn with_fresh_blanks(term: TermRef<'_>, first: u64) -> Term {
    let labelled = |blank: BlankNodeRef<'_>| {
        let number = blank.as_str().strip_prefix('b').map(str::parse::<u64>);
        let number = number
            .and_then(Result::ok)
            .expect("data label blank nodes by number");
        BlankNode::new_unchecked(format!("b{}", first + number))
    };
    match term {
        TermRef::BlankNode(blank) => labelled(blank).into(),
        TermRef::Triple(triple) => Triple {
            subject: match triple.subject.as_ref() {
                NamedOrBlankNodeRef::BlankNode(blank) => labelled(blank).into(),
                NamedOrBlankNodeRef::NamedNode(iri) => iri.into_owned().into(),
            },
            predicate: triple.predicate.clone(),
            object: with_fresh_blanks(triple.object.as_ref(), first),
        }
        .into(),
        other => other.into_owned(),
    }
}

/// `DELETE`, `INSERT`, `WHERE`.
fn modification(context: &Context, draft: &mut Draft, modify: &Modify) -> Result<(), QueryError> {
    let graph = std::sync::Arc::clone(draft.graph()?);
    // Samples take some time themselves, and are worth it for what takes too long for the turn.
    let effort = match draft.until() {
        Some(_) => Effort::Light,
        None => Effort::Any,
    };
    let mut query = Query::plan_with(context, graph, &modify.query, effort)?;
    assert_eq!(
        query.constants.len(),
        modify.query.constants().len(),
        "templates and patterns number the same constants"
    );
    query.slice_end = draft.until();
    let constants = constants(draft, modify, &query.constants)?;
    let mut deletes = CollectedRows::new(context);
    let mut inserts = CollectedRows::new(context);
    query.walk(&mut |prepared, chunk| {
        let mut rows = Rows {
            draft: &mut *draft,
            prepared,
            chunk,
            constants: &constants,
            constant_terms: modify.query.constants(),
            locals: HashMap::new(),
        };
        let len = usize::try_from(chunk.rows()).map_err(|_| WalkError::TooManyRows)?;
        for row in 0..len {
            let mut blanks = HashMap::new();
            for template in &modify.delete {
                if let Some(quad) = rows.quad(template, row, None)? {
                    deletes.push(quad)?;
                }
            }
            for template in &modify.insert {
                if let Some(quad) = rows.quad(template, row, Some(&mut blanks))? {
                    inserts.push(quad)?;
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let change = Change {
        deletes: std::mem::take(&mut deletes.quads),
        inserts: std::mem::take(&mut inserts.quads),
    };
    draft.apply(&change)?;
    Ok(())
}

/// The ids of the constants that templates insert, new ones added; others as they were found. Before the
/// turn those that templates delete get ids, too.
fn constants(
    draft: &Draft,
    modify: &Modify,
    found: &[Option<VertexId>],
) -> Result<Vec<Option<VertexId>>, QueryError> {
    let wanted = |templates: &[QuadTemplate]| {
        let mut wanted = Vec::new();
        for template in templates {
            template
                .triple
                .iter()
                .for_each(|term| collect(term, &mut wanted));
            if let Some(Node::Constant(constant)) = template.graph {
                wanted.push(constant.0 as usize);
            }
        }
        wanted.retain(|&constant| found[constant].is_none());
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    };
    let all = modify.query.constants();
    let mut constants = found.to_vec();
    let inserted = wanted(&modify.insert);
    let terms: Vec<_> = inserted.iter().map(|&at| all[at].as_ref()).collect();
    let mut ids = Vec::new();
    draft.live().intern(&terms, &mut ids).map_err(refused)?;
    assert_eq!(
        ids.len(),
        inserted.len(),
        "a dictionary gives an id for each term"
    );
    for (at, id) in inserted.into_iter().zip(ids) {
        constants[at] = Some(id);
    }
    if draft.is_ahead() {
        let deleted = wanted(&modify.delete);
        let terms: Vec<_> = deleted.iter().map(|&at| all[at].as_ref()).collect();
        let mut ids = Vec::new();
        deleted_ids(draft, &terms, &mut ids)?;
        for (at, id) in deleted.into_iter().zip(ids) {
            constants[at] = id;
        }
    }
    Ok(constants)
}

/// The constants that stand for themselves in a template; those within a triple term are part of
/// its term.
fn collect(term: &TemplateTerm, constants: &mut Vec<usize>) {
    if let TemplateTerm::Constant(constant) = term {
        constants.push(constant.0 as usize);
    }
}

/// Rows of a chunk on their way into templates.
struct Rows<'r> {
    draft: &'r mut Draft,
    prepared: &'r Prepared<'r>,
    chunk: &'r Chunk,
    constants: &'r [Option<VertexId>],
    constant_terms: &'r [Term],
    /// Terms that the query made, in the dictionary.
    locals: HashMap<VertexId, VertexId>,
}

/// Blank nodes of a row, by their number in the templates.
type RowBlanks = HashMap<u32, VertexId>;

impl Rows<'_> {
    /// The quad that a row makes of a template; `None` where RDF does not allow it or a cell is
    /// unbound. Without `blanks` nothing is added to the dictionary.
    fn quad(
        &mut self,
        template: &QuadTemplate,
        row: usize,
        mut blanks: Option<&mut RowBlanks>,
    ) -> Result<Option<IdQuad>, QueryError> {
        let mut parts = [VertexId::UNBOUND; 3];
        for (part, term) in parts.iter_mut().zip(&template.triple) {
            let Some(id) = self.id(term, row, blanks.as_deref_mut())? else {
                return Ok(None);
            };
            *part = id;
        }
        let graph = match template.graph {
            None => GraphScope::DEFAULT_GRAPH,
            Some(node) => {
                let term = match node {
                    Node::Slot(slot) => TemplateTerm::Slot(slot),
                    Node::Constant(constant) => TemplateTerm::Constant(constant),
                };
                match self.id(&term, row, blanks)? {
                    Some(graph) if graph.has_tag(Tag::Iri) || graph.has_tag(Tag::Blank) => graph,
                    _ => return Ok(None),
                }
            }
        };
        let [subject, predicate, object] = parts;
        let is_rdf = (subject.has_tag(Tag::Iri) || subject.has_tag(Tag::Blank))
            && predicate.has_tag(Tag::Iri);
        Ok(is_rdf.then_some((subject, predicate, object, graph)))
    }

    fn id(
        &mut self,
        term: &TemplateTerm,
        row: usize,
        blanks: Option<&mut RowBlanks>,
    ) -> Result<Option<VertexId>, QueryError> {
        match term {
            TemplateTerm::Slot(slot) => {
                let cell = self.chunk.column(*slot).map(|cells| cells[row]);
                let Some(cell) = cell.filter(|cell| !cell.is_unbound()) else {
                    return Ok(None);
                };
                if !cell.has_tag(Tag::QueryLocal) {
                    return Ok(Some(cell));
                }
                self.local(cell, blanks.is_some())
            }
            TemplateTerm::Constant(constant) => Ok(self.constants[constant.0 as usize]),
            TemplateTerm::Blank(number) => {
                let Some(blanks) = blanks else {
                    return Ok(None);
                };
                if let Some(&node) = blanks.get(number) {
                    return Ok(Some(node));
                }
                let node = VertexId::new(Tag::Blank, self.draft.fresh_blanks(1)?);
                blanks.insert(*number, node);
                Ok(Some(node))
            }
            TemplateTerm::Triple(_) => {
                let is_insert = blanks.is_some();
                let Some(term) = self.term(term, row, blanks)? else {
                    return Ok(None);
                };
                self.stored(&term, is_insert)
            }
        }
    }

    /// A term that the query made. It was in no graph when the query began, so nothing is deleted
    /// with it under the turn.
    fn local(&mut self, cell: VertexId, is_insert: bool) -> Result<Option<VertexId>, QueryError> {
        if !is_insert && !self.draft.is_ahead() {
            return Ok(None);
        }
        if let Some(&id) = self.locals.get(&cell) {
            return Ok(Some(id));
        }
        let term = self.prepared.locals().term(cell);
        let term = term.ok_or(rdf::LexiconError::UnknownId(cell))?;
        let id = match term.as_ref() {
            TermRef::BlankNode(_) if !is_insert => return Ok(None),
            TermRef::BlankNode(_) => Some(VertexId::new(Tag::Blank, self.draft.fresh_blanks(1)?)),
            term => self.stored(&term.into_owned(), true)?,
        };
        self.locals.extend(id.map(|id| (cell, id)));
        Ok(id)
    }

    /// The id of a term; a new one only where it is to be inserted.
    fn stored(&mut self, term: &Term, is_insert: bool) -> Result<Option<VertexId>, QueryError> {
        if is_insert {
            let mut ids = Vec::new();
            let live = self.draft.live();
            live.intern(&[term.as_ref()], &mut ids).map_err(refused)?;
            assert_eq!(ids.len(), 1, "a dictionary gives an id for each term");
            return Ok(ids.pop());
        }
        let mut ids = Vec::new();
        deleted_ids(self.draft, &[term.as_ref()], &mut ids)?;
        Ok(ids.pop().flatten())
    }

    /// A part of a triple term, as a term with the dictionary's labels.
    fn term(
        &mut self,
        term: &TemplateTerm,
        row: usize,
        mut blanks: Option<&mut RowBlanks>,
    ) -> Result<Option<Term>, QueryError> {
        if let TemplateTerm::Constant(constant) = term {
            return Ok(Some(self.constant_terms[constant.0 as usize].clone()));
        }
        let TemplateTerm::Triple(parts) = term else {
            let Some(id) = self.id(term, row, blanks)? else {
                return Ok(None);
            };
            let mut terms = TermBuffer::new();
            let view = self.draft.live().view(self.draft.live().counts());
            decode_ids(&view, self.prepared, &[id], &mut terms)?;
            return Ok(terms.get(0).map(TermRef::into_owned));
        };
        let mut made = [None, None, None];
        for (made, part) in made.iter_mut().zip(parts.iter()) {
            *made = self.term(part, row, blanks.as_deref_mut())?;
        }
        let [
            Some(subject),
            Some(Term::NamedNode(predicate)),
            Some(object),
        ] = made
        else {
            return Ok(None);
        };
        let subject: NamedOrBlankNode = match subject {
            Term::NamedNode(iri) => iri.into(),
            Term::BlankNode(blank) => blank.into(),
            _ => return Ok(None),
        };
        Ok(Some(Triple::new(subject, predicate, object).into()))
    }
}

/// The id of a named graph that holds a quad.
pub(crate) fn named(draft: &mut Draft, graph: &NamedNode) -> Result<Option<VertexId>, QueryError> {
    let mut ids = Vec::new();
    let now = draft.graph()?;
    now.dictionary.ids(&[graph.as_ref().into()], &mut ids)?;
    let graphs = now.snapshot.named_graphs()?;
    Ok(ids[0].filter(|id| graphs.binary_search(id).is_ok()))
}

/// Deletes all quads of these parts, so many at a time that memory is bounded.
pub(crate) fn clear(
    context: &Context,
    draft: &mut Draft,
    parts: &[QuadSelection],
) -> Result<(), QueryError> {
    for &part in parts {
        loop {
            let mut found = quads_of(context, draft, part, CLEARED_QUADS)?;
            let is_last = found.quads.len() < CLEARED_QUADS;
            draft.apply(&Change {
                deletes: std::mem::take(&mut found.quads),
                inserts: Vec::new(),
            })?;
            if is_last {
                break;
            }
        }
    }
    Ok(())
}

/// The quads of a part, and at least `enough` of them where there are so many.
fn quads_of<'c>(
    context: &'c Context,
    draft: &mut Draft,
    part: QuadSelection,
    enough: usize,
) -> Result<CollectedRows<'c>, QueryError> {
    let mut found = CollectedRows::new(context);
    let graph = std::sync::Arc::clone(draft.graph()?);
    let graph = &*graph;
    let scanned = scan::scan(graph, part, &mut |predicate, batch| {
        let predicate = graph.snapshot.predicate_vertex(predicate);
        for row in 0..batch.subjects.len() {
            let (subject, object) = (batch.subjects[row], batch.objects[row]);
            found.push((subject, predicate, object, batch.graphs[row]))?;
        }
        if found.quads.len() >= enough {
            return Err(Scanned::Enough);
        }
        if draft.may_go_on(found.quads.len()).is_err() {
            return Err(Scanned::Failed(too_long()));
        }
        match context.token.reason() {
            None => Ok(()),
            Some(reason) => {
                let stopped = WalkError::Stopped(stop_reason(reason));
                Err(Scanned::Failed(stopped.into()))
            }
        }
    });
    match scanned {
        Ok(()) | Err(Scanned::Enough) => Ok(found),
        Err(Scanned::Failed(error)) => Err(error),
    }
}

/// Why a scan ended early.
enum Scanned {
    Enough,
    Failed(QueryError),
}

impl<E: std::convert::Into<QueryError>> From<E> for Scanned {
    fn from(error: E) -> Scanned {
        Scanned::Failed(error.into())
    }
}

fn parts_of(draft: &mut Draft, target: &Target) -> Result<Vec<QuadSelection>, QueryError> {
    Ok(match target {
        Target::Default => vec![QuadSelection::Default],
        Target::Named => vec![QuadSelection::EachNamed],
        Target::All => vec![QuadSelection::Default, QuadSelection::EachNamed],
        Target::Graph(graph) => named(draft, graph)?
            .map(QuadSelection::Named)
            .into_iter()
            .collect(),
    })
}

fn transfer(
    context: &Context,
    draft: &mut Draft,
    kind: Transfer,
    silent: bool,
    (from, to): (Option<&NamedNode>, Option<&NamedNode>),
) -> Result<(), QueryError> {
    if from == to {
        return Ok(());
    }
    let source = match from {
        None => Some(QuadSelection::Default),
        Some(graph) => named(draft, graph)?.map(QuadSelection::Named),
    };
    let Some(source) = source else {
        if silent {
            return Ok(());
        }
        let name = from.map_or("", |graph| graph.as_str());
        let message = format!("there is no graph <{name}> to take triples from");
        return Err(
            QueryError::new(Kind::NotFound, message).with_hint("with SILENT it does nothing")
        );
    };
    let target = match to {
        None => GraphScope::DEFAULT_GRAPH,
        Some(graph) => {
            let mut ids = Vec::new();
            let term = [graph.as_ref().into()];
            draft.live().intern(&term, &mut ids).map_err(refused)?;
            ids[0]
        }
    };
    let found = quads_of(context, draft, source, usize::MAX)?;
    let mut cleared = match (kind, target) {
        (Transfer::Add, _) => CollectedRows::new(context),
        (_, GraphScope::DEFAULT_GRAPH) => {
            quads_of(context, draft, QuadSelection::Default, usize::MAX)?
        }
        (_, graph) => quads_of(context, draft, QuadSelection::Named(graph), usize::MAX)?,
    };
    let mut inserts = CollectedRows::new(context);
    for quad in &found.quads {
        inserts.push((quad.0, quad.1, quad.2, target))?;
        if kind == Transfer::Move {
            cleared.push(*quad)?;
        }
    }
    let change = Change {
        deletes: std::mem::take(&mut cleared.quads),
        inserts: std::mem::take(&mut inserts.quads),
    };
    draft.apply(&change)?;
    Ok(())
}
