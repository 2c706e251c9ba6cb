//! A standing query with its plan: made once, walked thousands of times.
//!
//! Constants are looked up before each evaluation, until they are stored: what is stored nowhere today may arrive in a
//! stream tomorrow, and be stored the day after. A stored id never changes. The plan is made by what the windows hold when the query
//! first runs, and again when a source has become [`DRIFT`] times as large or as small as it was then.

use super::windows::Slices;
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::request::degrees::degrees;
use explore::{Arrivals, GivenTable, Limits};
use oxrdf::TermRef;
use query::PlanOptions;
use query::explain::PlanNames;
use query::plan::{Form, Plan, Source};
use query::standing::{SourceContent, StandingQuery, Stored};
use query::statistics::{PredicateStatistics, SourceStatistics};
use rdf::{Lexicon, Tag, VertexId};
use smallvec::SmallVec;
use std::sync::Arc;
use store::Window;
use store::delta::Version;
use store::view::GraphScope;
use store::window::{StreamView, WindowAndStored};

/// A source has drifted from its plan when its edges are more than so many times those of then, or fewer by so much.
const DRIFT: u64 = 8;

/// See the head of this file.
pub(super) struct Planned {
    pub(super) query: Arc<StandingQuery>,
    /// The ids of the constants that are stored.
    constants: Vec<Option<VertexId>>,
    plan: Option<Fitted>,
}

/// A window for each source of a query but the store.
pub(super) type SourceWindows = SmallVec<[Window; 4]>;

/// Tells when triples came in the windows of a query, all of them together.
pub(super) struct WindowTimes(Window);

impl Arrivals for WindowTimes {
    fn latest(&self, triples: &[[VertexId; 3]], times: &mut Vec<Option<u64>>) {
        let latest = |[subject, predicate, object]: &[VertexId; 3]| {
            self.0.latest_ms(*subject, *predicate, *object)
        };
        times.extend(triples.iter().map(latest));
    }
}

/// A plan, and what it was made for.
struct Fitted {
    plan: Arc<Plan>,
    /// Edges of each source but the store, and rows of the given table.
    sizes: Vec<u64>,
}

impl Planned {
    /// Looks nothing up yet. Errors: a form that cannot be registered.
    pub(super) fn new(query: Arc<StandingQuery>) -> Result<Planned, QueryError> {
        if matches!(query.query.form(), Form::Describe(_)) {
            let message = "DESCRIBE cannot be registered: what describes a term has no window";
            return Err(QueryError::new(Kind::Unsupported, message)
                .with_hint("ask for the triples with CONSTRUCT"));
        }
        Ok(Planned {
            constants: vec![None; query.query.constants().len()],
            query,
            plan: None,
        })
    }

    /// The ids of the constants now. Those that are stored are looked up once.
    pub(super) fn resolved(
        &mut self,
        terms: &impl Lexicon,
    ) -> Result<Vec<Option<VertexId>>, QueryError> {
        let mut ids = self.constants.clone();
        let is_missing = |place: &usize| ids[*place].is_none();
        let places: Vec<usize> = (0..ids.len()).filter(is_missing).collect();
        if places.is_empty() {
            return Ok(ids);
        }
        let constants = self.query.query.constants();
        let wanted: Vec<TermRef<'_>> = places.iter().map(|at| constants[*at].as_ref()).collect();
        let mut found = Vec::with_capacity(wanted.len());
        terms.ids(&wanted, &mut found)?;
        for (place, id) in places.into_iter().zip(found) {
            ids[place] = id;
            self.constants[place] = id.filter(|id| id.is_stored());
        }
        Ok(ids)
    }

    /// The plan as it was made last, for people.
    pub(super) fn explain(&self) -> Option<String> {
        let fitted = self.plan.as_ref()?;
        let names = PlanNames {
            prefixes: self.query.query.prefixes(),
            sources: &self.query.source_names(),
        };
        Some(fitted.plan.explain_named(names, None))
    }

    /// The window of each source. `slices`: those of each window of the query; `made` makes a window of slices, or finds it.
    pub(super) fn windows(
        &self,
        slices: &[&Slices],
        made: &mut dyn FnMut(&[&Slices], bool) -> Window,
    ) -> SourceWindows {
        let of = |content: &SourceContent| {
            let slices = content.windows.iter().map(|window| slices[*window]);
            let slices: SmallVec<[&Slices; 4]> = slices.collect();
            made(&slices, self.query.multiset)
        };
        self.query.sources.iter().map(of).collect()
    }

    /// What each source looks at, the store first.
    pub(super) fn views<'g>(
        &self,
        constants: &[Option<VertexId>],
        stored: &'g Version,
        windows: SourceWindows,
    ) -> Vec<StreamView<'g, Version>> {
        let mut views = vec![StreamView::Stored(stored)];
        let sources = self.query.sources.iter().zip(windows);
        views.extend(
            sources.map(|(content, window)| match share(content, constants) {
                None => StreamView::Window(window),
                Some(graphs) => StreamView::Union(WindowAndStored {
                    window,
                    stored,
                    graphs,
                }),
            }),
        );
        views
    }

    /// When triples came in the windows, where the query asks that.
    pub(super) fn times(&self, windows: &[&Slices]) -> Option<WindowTimes> {
        let slices = || windows.iter().flat_map(|window| window.iter());
        let asks = self.query.asks_times;
        asks.then(|| WindowTimes(Window::new(slices().cloned().collect())))
    }

    /// The plan for what the sources and the table of its instances hold now, where its constants have these ids. A new plan
    /// finds the indexes in the table that it needs.
    pub(super) fn plan(
        &mut self,
        graph: &Graph,
        constants: &[Option<VertexId>],
        views: &[StreamView<'_, Version>],
        limits: &Limits<'_>,
        mut table: Option<&mut GivenTable>,
    ) -> Result<Arc<Plan>, QueryError> {
        let mut held: Vec<u64> = views.iter().skip(1).map(edges_of).collect();
        held.extend(table.as_ref().map(|table| table.rows() as u64));
        if let Some(fitted) = &self.plan
            && fitted.fits(&held)
        {
            return Ok(Arc::clone(&fitted.plan));
        }
        let constants = planned_ids(constants);
        let algebra = &self.query.query;
        let known = degrees(
            &graph.snapshot,
            limits,
            algebra.degree_questions(&constants),
        )?;
        let options = PlanOptions::DEFAULT;
        let stored = &graph.planner.statistics().predicates;
        let sources: Vec<_> = views
            .iter()
            .skip(1)
            .map(|view| sizes_of(view, stored))
            .collect();
        let planner = &graph.planner;
        let given = table.as_ref().map(|table| table.statistics());
        let given = given.as_slice();
        let plan = planner.plan_given(algebra, &constants, &known, &sources, given, options);
        let plan = plan.map_err(|error| QueryError::new(Kind::Shape, error))?;
        assert!(
            plan.views() <= views.len(),
            "a source of the plan is one of the query, {:?}",
            Source(views.len() as u16)
        );
        if let Some(table) = &mut table {
            for (_, keys) in plan.tables() {
                table.index(&keys);
            }
        }
        let plan = Arc::new(plan);
        self.plan = Some(Fitted {
            plan: Arc::clone(&plan),
            sizes: held,
        });
        Ok(plan)
    }
}

/// The stored graphs of a source, ascending; `None`: nothing of the store is in it.
fn share(content: &SourceContent, constants: &[Option<VertexId>]) -> Option<Vec<VertexId>> {
    match &content.stored {
        Stored::Nothing => None,
        Stored::DefaultGraph => Some(vec![GraphScope::DEFAULT_GRAPH]),
        Stored::Graphs(graphs) => {
            let ids = graphs.iter().map(|graph| constants[graph.0 as usize]);
            let mut ids: Vec<VertexId> = ids.flatten().filter(|id| id.is_stored()).collect();
            ids.sort_unstable();
            ids.dedup();
            Some(ids)
        }
    }
}

/// An id for each constant, to be planned with. A plan outlives what windows hold, so it may not rest on a term's being
/// nowhere: one that is nowhere now is taken for a term that nothing names.
fn planned_ids(constants: &[Option<VertexId>]) -> Vec<Option<VertexId>> {
    let nobody = |place: u64| VertexId::new(Tag::TransientIri, VertexId::PAYLOAD_MAX - place);
    let ids = (0..).zip(constants);
    ids.map(|(place, id)| Some(id.unwrap_or_else(|| nobody(place))))
        .collect()
}

impl Fitted {
    fn fits(&self, sizes: &[u64]) -> bool {
        // A source that was nearly empty says little of what it will be.
        let bounds = |count: u64| (count.max(16) / DRIFT, count.max(16).saturating_mul(DRIFT));
        self.sizes.iter().zip(sizes).all(|(then, now)| {
            let (least, most) = bounds(*then);
            (least..=most).contains(&(*now).max(16))
        })
    }
}

/// The window of a source, if it has one.
fn window_of<'w>(view: &'w StreamView<'_, Version>) -> Option<&'w Window> {
    match view {
        StreamView::Stored(_) => None,
        StreamView::Window(window) => Some(window),
        StreamView::Union(union) => Some(&union.window),
    }
}

fn edges_of(view: &StreamView<'_, Version>) -> u64 {
    window_of(view).map_or(0, Window::edges_of_slices)
}

/// What the planner is told of a source: the sums over its slices, and those of the store where that is in it.
fn sizes_of(
    view: &StreamView<'_, Version>,
    stored: &[PredicateStatistics],
) -> Option<Arc<SourceStatistics>> {
    let sizes = window_of(view)?.sizes().into_iter();
    let mut predicates: Vec<PredicateStatistics> = sizes
        .map(|(vertex, sizes)| PredicateStatistics {
            vertex,
            subjects: sizes.subjects,
            objects: sizes.objects,
            edges: sizes.edges,
        })
        .collect();
    if let StreamView::Union(_) = view {
        predicates.extend_from_slice(stored);
        predicates.sort_by_key(|sizes| sizes.vertex);
        predicates.dedup_by(|next, kept| {
            let is_same = next.vertex == kept.vertex;
            if is_same {
                kept.subjects += next.subjects;
                kept.objects += next.objects;
                kept.edges += next.edges;
            }
            is_same
        });
    }
    Some(Arc::new(SourceStatistics {
        quads: predicates.iter().map(|sizes| sizes.edges).sum(),
        predicates,
    }))
}
