//! The scene of a query: what all its steps work in, whatever each of them does.
//!
//! [Preparing](mod@crate::prepare) a plan gives this and blocks of [steps](crate::step). A step needs the scene and not the
//! blocks, some of which hold steps of their own; so the scene stands below both.
//!
//! Invariant: nothing here changes while the query is walked, except that terms are added to its locals.

use crate::environment::Environment;
use crate::expression::Terms;
use crate::local::LocalTerms;
use crate::scope::{Dataset, Datasets};
use query::plan::{Form, Plan, Source};
use rdf::{Lexicon, VertexId};

/// See the head of this file.
pub(crate) struct Scene<'a> {
    /// The plan.
    pub(crate) plan: &'a Plan,
    /// The id of each constant of the plan.
    pub(crate) ids: Vec<VertexId>,
    /// The terms of query-local ids.
    pub(crate) locals: LocalTerms<'a>,
    /// What the query may know besides its graph.
    pub(crate) environment: &'a Environment<'a>,
    /// The graphs that patterns are matched in.
    pub(crate) datasets: Datasets,
    /// Columns of all chunks that a walk of the plan may hold at once.
    pub(crate) cells: usize,
}

impl Scene<'_> {
    /// Number of slots.
    pub(crate) fn width(&self) -> usize {
        self.plan.variables.len()
    }

    /// The graphs that patterns of a source are matched in.
    #[inline]
    pub(crate) fn dataset(&self, source: Source) -> &Dataset {
        self.datasets.of(source)
    }

    /// Whether one row answers the query.
    pub(crate) fn is_ask(&self) -> bool {
        self.plan.form == Form::Ask
    }

    /// What expressions look terms up in.
    pub(crate) fn terms<'b, L: Lexicon>(&'b self, lexicon: &'b L) -> Terms<'b> {
        Terms {
            constants: &self.plan.constants,
            ids: &self.ids,
            locals: &self.locals,
            lexicon,
            environment: self.environment,
            base: self.plan.base.as_deref(),
        }
    }
}
