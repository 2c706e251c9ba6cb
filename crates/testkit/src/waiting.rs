//! A view and a lexicon that let every question wait once, and hold the walk to what it asked ahead.
//!
//! Stands before any view and lexicon as a cluster's would: nothing is there until it has been asked for. A question of a
//! method that answers at once panics unless [`GraphView::fetch`] or [`Lexicon::fetch`] told of it. What has come stays, so
//! whoever asks the same again gets further: a plan is prepared from its beginning, and a batch evaluated, until nothing is
//! missing. Or nothing ever comes ([`Waiting::for_ever`]), and whoever waits has to end by its own limits.

use oxrdf::{Term, TermRef};
use rdf::{Direction, Lexicon, LexiconError, PredicateId, Progress, TermBuffer, Ticket, VertexId};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use store::view::{GraphScope, GraphView, Need, SegmentKey, ViewError};
use store::{Lists, VertexSet};

/// A scope with its graphs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OwnedScope {
    Default,
    Named(VertexId),
    Merge(Vec<VertexId>),
    Union,
    EachNamed,
    EachOf(Vec<VertexId>),
}

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Question {
    Keys(SegmentKey),
    Vertices(Direction),
    KeysOfGraph(SegmentKey, VertexId),
    NamedGraphs,
    Edges(SegmentKey, OwnedScope),
    Neighbours(SegmentKey, VertexId, OwnedScope),
    Lists(SegmentKey, Vec<VertexId>, OwnedScope),
    PredicatesOf(Direction, Vec<VertexId>),
    Term(VertexId),
    Id(Term),
}

#[derive(Default)]
struct State {
    /// What is here.
    known: HashSet<Question>,
}

/// See the module's documentation.
pub struct Waiting<'v, V, L> {
    view: &'v V,
    lexicon: &'v L,
    /// Whether what was asked for comes.
    answers: bool,
    /// Tickets given out so far: each completes at once.
    tickets: Arc<AtomicU64>,
    state: Mutex<State>,
}

impl<'v, V, L> Waiting<'v, V, L> {
    /// Before this view and this lexicon.
    pub fn new(view: &'v V, lexicon: &'v L) -> Self {
        Waiting {
            view,
            lexicon,
            answers: true,
            tickets: Arc::default(),
            state: Mutex::default(),
        }
    }

    /// The same, but nothing ever comes.
    pub fn for_ever(view: &'v V, lexicon: &'v L) -> Self {
        Waiting {
            answers: false,
            ..Waiting::new(view, lexicon)
        }
    }

    /// Before each of the views of one walk. Their tickets are numbered together, so each waits for those that another
    /// gave out.
    pub fn before_each(views: &'v [V], lexicon: &'v L) -> Vec<Self> {
        let tickets = Arc::default();
        let before = |view| Waiting {
            tickets: Arc::clone(&tickets),
            ..Waiting::new(view, lexicon)
        };
        views.iter().map(before).collect()
    }

    /// Tickets given out so far, those of the same walk's other views with them: how often somebody was let wait.
    pub fn tickets(&self) -> u64 {
        self.tickets.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while it is held")
    }

    /// Lets wait unless all of these are here.
    fn ask(&self, questions: impl Iterator<Item = Question>) -> Progress {
        let mut state = self.state();
        let before = state.known.len();
        state.known.extend(questions);
        if self.answers && state.known.len() == before {
            return Progress::Ready;
        }
        let before = self.tickets.fetch_add(1, Ordering::Relaxed);
        Progress::Pending(Ticket(before + 1))
    }

    #[track_caller]
    fn assert_known(&self, question: &Question) {
        let is_known = self.state().known.contains(question);
        assert!(is_known, "{question:?} was not asked ahead");
    }
}

pub(crate) fn owned(scope: GraphScope<'_>) -> OwnedScope {
    match scope {
        GraphScope::Default => OwnedScope::Default,
        GraphScope::Named(graph) => OwnedScope::Named(graph),
        GraphScope::Merge(graphs) => OwnedScope::Merge(graphs.to_vec()),
        GraphScope::Union => OwnedScope::Union,
        GraphScope::EachNamed => OwnedScope::EachNamed,
        GraphScope::EachOf(graphs) => OwnedScope::EachOf(graphs.to_vec()),
    }
}

/// Ids whose terms every lexicon knows.
fn is_free(id: VertexId) -> bool {
    id.is_unbound() || id.tag().is_some_and(rdf::Tag::is_inline)
}

impl<V: GraphView, L: Lexicon> GraphView for Waiting<'_, V, L> {
    fn asks_others(&self) -> bool {
        true
    }

    fn commit_number(&self) -> Option<u64> {
        self.view.commit_number()
    }

    fn fetch(&self, needs: &[Need<'_>]) -> Result<Progress, ViewError> {
        let question = |need: &Need<'_>| match *need {
            Need::Keys(segment) => Question::Keys(segment),
            Need::Vertices(direction) => Question::Vertices(direction),
            Need::KeysOfGraph(segment, graph) => Question::KeysOfGraph(segment, graph),
            Need::NamedGraphs => Question::NamedGraphs,
            Need::Edges(segment, scope) => Question::Edges(segment, owned(scope)),
            Need::Neighbours(segment, vertex, scope) => {
                Question::Neighbours(segment, vertex, owned(scope))
            }
        };
        Ok(self.ask(needs.iter().map(question)))
    }

    fn wait(&self, ticket: Ticket, patience: Duration) -> bool {
        assert!(
            (1..=self.tickets()).contains(&ticket.0),
            "{ticket:?} was given out by nobody"
        );
        if !self.answers {
            std::thread::sleep(patience);
        }
        self.answers
    }

    fn predicate_id(&self, vertex: VertexId) -> Option<PredicateId> {
        self.view.predicate_id(vertex)
    }

    fn predicate_vertex(&self, predicate: PredicateId) -> VertexId {
        self.view.predicate_vertex(predicate)
    }

    fn predicates(&self) -> Vec<PredicateId> {
        self.view.predicates()
    }

    fn named_graphs(&self) -> Result<Vec<VertexId>, ViewError> {
        self.assert_known(&Question::NamedGraphs);
        self.view.named_graphs()
    }

    fn keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, ViewError> {
        self.assert_known(&Question::Keys(segment));
        self.view.keys(segment)
    }

    fn vertices(&self, direction: Direction) -> Result<VertexSet<'_>, ViewError> {
        self.assert_known(&Question::Vertices(direction));
        self.view.vertices(direction)
    }

    fn keys_of_graph(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), ViewError> {
        self.assert_known(&Question::KeysOfGraph(segment, graph));
        self.view.keys_of_graph(segment, graph, keys)
    }

    fn edges(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Option<u64>, ViewError> {
        self.assert_known(&Question::Edges(segment, owned(scope)));
        self.view.edges(segment, scope)
    }

    fn neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, ViewError> {
        self.assert_known(&Question::Neighbours(segment, vertex, owned(scope)));
        self.view.neighbours(segment, vertex, scope)
    }

    fn lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<Progress, ViewError> {
        let question = Question::Lists(segment, keys.to_vec(), owned(scope));
        match self.ask(std::iter::once(question)) {
            Progress::Ready => self.view.lists(segment, keys, scope, lists),
            pending @ Progress::Pending(_) => {
                // What came for another batch lies where this one will.
                lists.refill_owned(true, |_| {});
                Ok(pending)
            }
        }
    }

    fn predicates_of(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<Progress, ViewError> {
        let question = Question::PredicatesOf(direction, vertices.to_vec());
        match self.ask(std::iter::once(question)) {
            Progress::Ready => self
                .view
                .predicates_of(direction, vertices, predicates, ends),
            pending @ Progress::Pending(_) => Ok(pending),
        }
    }
}

impl<V: Sync, L: Lexicon> Lexicon for Waiting<'_, V, L> {
    fn fetch(&self, ids: &[VertexId], terms: &[TermRef<'_>]) -> Result<Progress, LexiconError> {
        let ids = ids.iter().filter(|id| !is_free(**id));
        let ids = ids.map(|id| Question::Term(*id));
        let terms = terms.iter().map(|term| Question::Id(term.into_owned()));
        Ok(self.ask(ids.chain(terms)))
    }

    fn ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError> {
        for term in terms {
            self.assert_known(&Question::Id(term.into_owned()));
        }
        self.lexicon.ids(terms, ids)
    }

    fn terms(&self, ids: &[VertexId], terms: &mut TermBuffer) -> Result<(), LexiconError> {
        for id in ids.iter().filter(|id| !is_free(**id)) {
            self.assert_known(&Question::Term(*id));
        }
        self.lexicon.terms(ids, terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain_graph::PlainGraph;
    use crate::plain_terms::PlainTerms;

    #[test]
    fn what_was_asked_ahead_is_waited_for_once_and_answered() {
        let graph = PlainGraph::new(&[]);
        let terms = PlainTerms::default();
        let view = Waiting::new(&graph, &terms);
        let need = [Need::Vertices(Direction::Out)];
        let Ok(Progress::Pending(ticket)) = GraphView::fetch(&view, &need) else {
            panic!("nothing is there at first")
        };
        assert!(view.wait(ticket, Duration::ZERO));
        let again = GraphView::fetch(&view, &need);
        assert_eq!(again.expect("nothing fails"), Progress::Ready);
        assert!(view.vertices(Direction::Out).expect("asked").is_empty());
    }

    #[test]
    #[should_panic(expected = "was not asked ahead")]
    fn what_was_not_asked_ahead_is_not_answered() {
        let graph = PlainGraph::new(&[]);
        let _ = Waiting::new(&graph, &PlainTerms::default()).vertices(Direction::In);
    }
}
