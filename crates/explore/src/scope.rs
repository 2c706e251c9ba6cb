//! The graphs a pattern looks at, resolved against the query's dataset once per plan.
//!
//! | pattern | no dataset clause | with one |
//! |---|---|---|
//! | default graph | the store's, or the merge of all graphs where that is wished | the merge of the `FROM` graphs |
//! | `GRAPH <g>` | that graph | that graph if `FROM NAMED` names it, else nothing |
//! | `GRAPH ?g`, bound | the row's graph | likewise, row by row |
//! | `GRAPH ?g` | each named graph | each graph that `FROM NAMED` names |
//!
//! SPARQL 1.1 Query section 13.2. A graph that the store does not hold is empty, so it is left out
//! of the lists; only `GRAPH ?g {}` still sees it.
//!
//! **Other sources.** The clause is of the store alone. A window has no graphs of its own choosing: a stream's items
//! bring theirs. So the default graph of another source is the merge of all its graphs, and its named graphs are those
//! that it holds, as of a store without a clause whose default graph is the merge of all.

use query::plan::{ConstantId, DatasetClause, Node, Scope, Slot, Source};
use rdf::{Tag, VertexId};
use store::view::GraphScope;

/// The datasets of a walk: the query's, which is of the store, and that of every other source.
#[derive(Debug)]
pub(crate) struct Datasets {
    store: Dataset,
}

/// The dataset of every source but the store. It is no query's, so none pays for making it.
static OTHER: Dataset = Dataset {
    clause: None,
    union_default: true,
};

impl Datasets {
    /// Those of a query with this clause, whose constants have these ids.
    pub(crate) fn new(clause: &DatasetClause, ids: &[VertexId]) -> Datasets {
        Datasets {
            store: Dataset::new(clause, ids),
        }
    }

    /// The dataset that patterns of a source are matched in.
    #[inline]
    pub(crate) fn of(&self, source: Source) -> &Dataset {
        if source.is_store() {
            &self.store
        } else {
            &OTHER
        }
    }
}

/// The dataset of one source as ids, ascending.
#[derive(Debug, Default)]
pub(crate) struct Dataset {
    clause: Option<Graphs>,
    union_default: bool,
}

#[derive(Debug)]
struct Graphs {
    merge: Vec<VertexId>,
    named: Vec<VertexId>,
    /// The named graphs, those included that the store does not hold.
    declared: Vec<VertexId>,
}

/// The graphs of one pattern, the same for all rows. [`Dataset::graphs`] says which they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FixedScope {
    Default,
    Named(VertexId),
    Merge,
    Union,
    EachNamed,
    EachOf,
}

/// The graphs of one pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResolvedScope {
    /// None: the pattern matches nothing.
    Nothing,
    /// The same for all rows.
    Fixed(FixedScope),
    /// The graph that the row's column holds.
    PerRow(Slot),
}

impl Dataset {
    /// The dataset of a clause whose constants have these ids.
    pub(crate) fn new(clause: &DatasetClause, ids: &[VertexId]) -> Dataset {
        let resolve = |graphs: &[ConstantId]| {
            let mut ids: Vec<VertexId> = graphs.iter().map(|graph| ids[graph.0 as usize]).collect();
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        let stored = |graphs: &[ConstantId]| {
            let mut ids = resolve(graphs);
            ids.retain(|id| !id.has_tag(Tag::QueryLocal));
            ids
        };
        Dataset {
            clause: clause.graphs.as_ref().map(|(merge, named)| Graphs {
                merge: stored(merge),
                named: stored(named),
                declared: resolve(named),
            }),
            union_default: clause.union_default,
        }
    }

    /// The named graphs of the clause, if there is one.
    pub(crate) fn declared(&self) -> Option<&[VertexId]> {
        self.clause
            .as_ref()
            .map(|graphs| graphs.declared.as_slice())
    }

    /// What a pattern's scope comes to.
    pub(crate) fn resolve(&self, scope: Scope, ids: &[VertexId]) -> ResolvedScope {
        match scope {
            Scope::Default => match self.clause.as_ref().map(|graphs| graphs.merge.as_slice()) {
                None if self.union_default => ResolvedScope::Fixed(FixedScope::Union),
                None => ResolvedScope::Fixed(FixedScope::Default),
                Some([]) => ResolvedScope::Nothing,
                Some([graph]) => ResolvedScope::Fixed(FixedScope::Named(*graph)),
                Some(_) => ResolvedScope::Fixed(FixedScope::Merge),
            },
            Scope::Named(Node::Constant(graph)) => self
                .named(ids[graph.0 as usize])
                .map_or(ResolvedScope::Nothing, ResolvedScope::Fixed),
            Scope::Named(Node::Slot(slot)) => ResolvedScope::PerRow(slot),
            Scope::Bind(_) => match self.clause.as_ref().map(|graphs| graphs.named.as_slice()) {
                None => ResolvedScope::Fixed(FixedScope::EachNamed),
                Some([]) => ResolvedScope::Nothing,
                Some(_) => ResolvedScope::Fixed(FixedScope::EachOf),
            },
        }
    }

    /// The scope of one named graph; `None` where the dataset does not have it.
    pub(crate) fn named(&self, graph: VertexId) -> Option<FixedScope> {
        if graph.is_unbound() || graph.has_tag(Tag::QueryLocal) {
            return None;
        }
        let is_there = self
            .clause
            .as_ref()
            .is_none_or(|graphs| graphs.named.binary_search(&graph).is_ok());
        is_there.then_some(FixedScope::Named(graph))
    }

    /// A scope as the view takes it.
    pub(crate) fn graphs(&self, scope: FixedScope) -> GraphScope<'_> {
        let lists = self
            .clause
            .as_ref()
            .map(|graphs| (&graphs.merge[..], &graphs.named[..]));
        let (merge, named) = lists.unwrap_or_default();
        match scope {
            FixedScope::Default => GraphScope::Default,
            FixedScope::Named(graph) => GraphScope::Named(graph),
            FixedScope::Merge => GraphScope::Merge(merge),
            FixedScope::Union => GraphScope::Union,
            FixedScope::EachNamed => GraphScope::EachNamed,
            FixedScope::EachOf => GraphScope::EachOf(named),
        }
    }
}
