//! A plan: the list of steps that grow a table of bindings from one empty row.
//!
//! A plan is plain data. It knows no store, no thread and no node, so it can be printed, compared,
//! shipped to another node or a device, and forced by hand in an experiment.
//!
//! **Model.** Execution starts with a table of one row and no columns (the unit table). Every
//! [`Step`] takes the table so far and gives the next one; nothing is ever joined at the end,
//! because a row carries what later steps need (full-history pruning, OSDI'16 section 5.2). A
//! column is named by its [`Slot`]; a step lists in `keep` the slots that are still needed after
//! it, so columns die as early as they can. A *seed* is simply an [`Action::Expand`] from a
//! constant or an [`Action::ExpandKeys`] of a predicate that stands first: its one input row has
//! one list, and that list is what workers cut into ranges.
//!
//! **A pattern names where it looks** twice: its [`Scope`] says which graph, its [`Source`] of which view: the
//! store's, or that of a window over a stream. Steps of one plan look at different sources, and a row carries
//! what all of them gave, because a term has one id in all of them.
//!
//! Tables are bags: steps neither promise nor need an order, except between [`Action::Order`] and
//! the end of the plan.
//!
//! **Blocks.** Some steps hold steps of their own: `OPTIONAL`, `UNION`, `EXISTS`, sub-queries. There
//! are two ways to run such a block, and the planner says which:
//!
//! * *walked from the table* ([`Action::Nested`]): the block starts with the rows that arrive, as any
//!   step does. Right where substituting a row's values before evaluating the block gives what
//!   joining afterwards would (SPARQL 1.1 Query section 18.5 is bottom-up; the planner proves it).
//! * *a table of its own* ([`Action::Probe`]): the block starts with the unit table, is evaluated once,
//!   and rows are looked up in it by hash.
//!
//! All blocks of a plan share one numbering of slots. A variable that a block may leave unbound, or
//! that must not be substituted, gets a hidden slot within the block, and [`Action::Unify`] joins the
//! two columns after it.

mod action;
mod well_formed;
pub mod wire;

pub use action::{Action, Mode, Side, Size};
pub use well_formed::{BLOCKS_MAX, DEPTH_MAX, IllFormed, PlanFault, VARIABLES_MAX};

use crate::expression::Expression;
pub use crate::node::{ConstantId, Node, Slot};
use oxrdf::Term;

/// Which graph of its [`Source`] a pattern is matched in. The [`DatasetClause`] is of the store: in any other source the
/// default graph is the merge of all graphs that it holds, and its named graphs are those.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The dataset's default graph: the store's, the merge of the `FROM` graphs, or that of all graphs.
    Default,
    /// One named graph: a constant, or a graph variable that is bound already. Matches nothing
    /// where the graph is not among the dataset's named graphs.
    Named(Node),
    /// Any named graph of the dataset; the edge's graph is bound to this slot (`GRAPH ?g`).
    /// Allowed in [`Action::Expand`], [`Action::ExpandPredicates`] is followed by one.
    Bind(Slot),
}

/// Which view a pattern is matched in: one of several that a walk looks at, each at a fixed moment. They are the
/// store, a window over a stream, a union of windows; who runs the plan has them in this order. All have one
/// dictionary, so what one gives can be looked for in another. Predicates, graphs and statistics are each view's
/// own: what is known of one proves nothing of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(pub u16);

impl Source {
    /// The store: the only source of a text without streams, and the first view of every walk.
    pub const STORE: Source = Source(0);

    /// Whether this is the store.
    pub fn is_store(self) -> bool {
        self == Source::STORE
    }
}

/// A table that is given from outside of the plan, beside the views: who runs the plan has them in this order. Its rows are
/// distinct, and every cell is bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u16);

/// The dataset of a query (SPARQL 1.1 Query section 13.2), as far as it is of the store; other sources have the graphs
/// that they hold. The protocol's `default-graph-uri` and `named-graph-uri` replace it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatasetClause {
    /// `None`: no dataset clause at all, so the store's own default and named graphs.
    /// `Some`: the merge of these graphs is the default graph (none: it is empty), and the second
    /// list are the only named graphs.
    pub graphs: Option<(Vec<ConstantId>, Vec<ConstantId>)>,
    /// Without a clause the default graph is the merge of all the store's graphs. Where there is a
    /// clause, this changes nothing.
    pub union_default: bool,
}

impl Plan {
    /// Whether it can be walked without asking another endpoint.
    pub fn is_local(&self) -> bool {
        fn all(steps: &[Step]) -> bool {
            steps.iter().all(|step| {
                let is_service = matches!(step.action, Action::Service { .. });
                !is_service && step.action.blocks().iter().all(|block| all(block))
            })
        }
        all(&self.steps)
    }

    /// The tables that a walk of it is given, with the columns that rows are looked up by, as places in the table: an index
    /// is needed for each that is not empty. Each once, ascending. Whoever has a plan from elsewhere compares this with the
    /// tables that there are; walks assert it.
    pub fn tables(&self) -> Vec<(TableId, Vec<usize>)> {
        fn collect(steps: &[Step], found: &mut Vec<(TableId, Vec<usize>)>) {
            for step in steps {
                if let Action::Given {
                    table,
                    columns,
                    keys,
                } = &step.action
                {
                    let is_key = |at: &usize| keys.contains(&columns[*at]);
                    found.push((*table, (0..columns.len()).filter(is_key).collect()));
                }
                for block in step.action.blocks() {
                    collect(block, found);
                }
            }
        }
        let mut found = Vec::new();
        collect(&self.steps, &mut found);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// How many views a walk of it needs: one for each source up to the last that a step names, and the store's. Whoever
    /// has a plan from elsewhere compares this with the views that there are; walks assert it.
    pub fn views(&self) -> usize {
        fn last(steps: &[Step]) -> Source {
            steps.iter().fold(Source::STORE, |mut found, step| {
                step.action
                    .for_each_source(&mut |source| found = found.max(source));
                let blocks = step.action.blocks().iter();
                blocks.fold(found, |found, block| found.max(last(block)))
            })
        }
        usize::from(last(&self.steps).0) + 1
    }
}

/// An aggregate of the rows of a group (SPARQL 1.1 Query section 18.5.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Which.
    pub function: AggregateFunction,
    /// What is computed of each row; `None` only for [`AggregateFunction::Count`], of rows.
    pub argument: Option<Expression>,
    /// `DISTINCT`. For `COUNT(DISTINCT *)` the columns whose distinct rows are counted.
    pub distinct: Option<Vec<Slot>>,
}

impl Aggregate {
    /// Calls back for each column that is read.
    pub fn for_each_slot(&self, each: &mut impl FnMut(Slot)) {
        self.argument
            .iter()
            .for_each(|argument| argument.for_each_slot(each));
        self.distinct.iter().flatten().copied().for_each(each);
    }
}

/// The aggregates of SPARQL 1.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AggregateFunction {
    /// `COUNT`
    Count,
    /// `SUM`
    Sum,
    /// `AVG`
    Avg,
    /// `MIN`
    Min,
    /// `MAX`
    Max,
    /// `SAMPLE`
    Sample,
    /// `GROUP_CONCAT` with its separator
    GroupConcat(String),
}

/// One sort key.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderKey {
    /// What is compared.
    pub expression: Expression,
    /// `DESC(...)`.
    pub descending: bool,
}

/// What the planner expects of a step, for one run of the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Rows that leave the step.
    pub rows: f64,
    /// Cost of the step itself, in nanoseconds of one thread.
    pub cost_ns: f64,
    /// Whether the rows were found by walking a sample, not worked out from statistics alone.
    pub is_sampled: bool,
}

/// One step of a walk.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it does.
    pub action: Action,
    /// The slots that are alive after it, ascending. Anything else is dropped.
    pub keep: Vec<Slot>,
    /// What the planner expects.
    pub estimate: Estimate,
}

impl Step {
    /// The slot, if somebody needs it after the step.
    pub fn kept(&self, slot: Slot) -> Option<Slot> {
        self.keep.contains(&slot).then_some(slot)
    }
}

/// What the query asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// `SELECT`: these columns, in this order. A slot that no step binds is unbound in every row.
    Select(Vec<Slot>),
    /// `ASK`: whether there is a row.
    Ask,
    /// `CONSTRUCT`: for each row these triples, those left out that have an unbound or an impossible
    /// part; equal triples are one (SPARQL 1.1 Query section 16.2).
    Construct(Vec<[TemplateTerm; 3]>),
    /// `DESCRIBE`: the concise bounded descriptions of the terms in these columns and of these.
    Describe(Vec<Node>),
}

/// A part of a triple that `CONSTRUCT` makes.
#[derive(Clone, Debug, PartialEq)]
pub enum TemplateTerm {
    /// The value of a column.
    Slot(Slot),
    /// A term of the query text.
    Constant(ConstantId),
    /// A blank node that is new for each row; the same number is the same one within a row.
    Blank(u32),
    /// A triple term.
    Triple(Box<[TemplateTerm; 3]>),
}

/// How much work a plan is expected to be, which decides where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Few paths: run to completion by the thread that received it.
    Light,
    /// Many: cut into chunks that all workers share.
    Heavy,
}

/// A plan; see the module's documentation.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Name of each slot, without the question mark; hidden ones begin with a dot.
    pub variables: Vec<String>,
    /// The constants, in order of their [`ConstantId`].
    pub constants: Vec<Term>,
    /// The dataset clause of the text.
    pub dataset: DatasetClause,
    /// What relative IRIs that expressions make are resolved against.
    pub base: Option<String>,
    /// The steps, first to last. No steps: the unit table itself is the result.
    pub steps: Vec<Step>,
    /// What the query asks for.
    pub form: Form,
    /// Light or heavy.
    pub weight: Weight,
}
