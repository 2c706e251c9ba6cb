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
//! **A pattern names its source** through its [`Scope`]: the default graph, a named graph, or a
//! graph variable; windows over streams will be further scopes.
//!
//! Tables are bags: steps neither promise nor need an order, except between [`Action::Order`] and
//! the end of the plan.

use crate::expression::Expression;
use oxrdf::Term;
use rdf::Direction;

/// A variable of the query, or a hidden one the planner made: an index into [`Plan::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u16);

/// A constant term of the query: an index into [`Plan::constants`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstantId(pub u32);

/// A place in a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// The value of a column. In every step a slot used as a `Node` is bound before it.
    Slot(Slot),
    /// A term of the query text.
    Constant(ConstantId),
}

/// Which graph a pattern is matched in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The dataset's default graph: the store's, or the merge of the `FROM` graphs.
    Default,
    /// One named graph: a constant, or a graph variable that is bound already. Matches nothing
    /// where the graph is not among the dataset's named graphs.
    Named(Node),
    /// Any named graph of the dataset; the edge's graph is bound to this slot (`GRAPH ?g`).
    /// Allowed in [`Action::Expand`], [`Action::ExpandPredicates`] is followed by one.
    Bind(Slot),
}

/// The dataset of a query (SPARQL 1.1 Query section 13.2). The protocol's
/// `default-graph-uri` and `named-graph-uri` replace it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatasetClause {
    /// `None`: no dataset clause at all, so the store's own default and named graphs.
    /// `Some`: the merge of these graphs is the default graph (none: it is empty), and the second
    /// list are the only named graphs.
    pub graphs: Option<(Vec<ConstantId>, Vec<ConstantId>)>,
}

/// What a step does. `from`, `to` and `predicate` are bound when the step begins; `into` slots
/// are not, and become columns.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// One row out for each neighbour: `from` --predicate--> `into` (against the edge for
    /// [`Direction::In`]). A predicate that is a slot has a value per row.
    Expand {
        /// The known end.
        from: Node,
        /// The known predicate.
        predicate: Node,
        /// [`Direction::Out`]: `from` is the subject.
        direction: Direction,
        /// Where the matching graph is.
        scope: Scope,
        /// The new column: the other end.
        into: Slot,
    },
    /// One row out for each vertex that has the predicate in this direction (the papers' predicate
    /// index): subjects for [`Direction::Out`], objects for [`Direction::In`]. Each vertex once,
    /// so an [`Action::Expand`] of the same pattern follows unless only existence matters.
    /// The scope is [`Scope::Default`] or [`Scope::Named`]; under `Bind` this step is asked with
    /// the union of all graphs and binds no graph: the expand or check that follows does, and
    /// drops keys that have no such edge.
    ExpandKeys {
        /// The known predicate.
        predicate: Node,
        /// Which end is listed.
        direction: Direction,
        /// Where the matching graph is.
        scope: Scope,
        /// The new column.
        into: Slot,
    },
    /// One row out for each predicate that `from` has in this direction (by its signature). May
    /// list too much under a scope; the expand or check that follows decides.
    ExpandPredicates {
        /// The known end.
        from: Node,
        /// [`Direction::Out`]: `from` is the subject.
        direction: Direction,
        /// The new column: predicates as vertices.
        into: Slot,
    },
    /// One row out for each predicate of the store: the start of a pattern with nothing known.
    AllPredicates {
        /// The new column: predicates as vertices.
        into: Slot,
    },
    /// One row out for each named graph of the dataset (`GRAPH ?g {}`).
    AllGraphs {
        /// The new column.
        into: Slot,
    },
    /// Keeps rows whose edge exists. Both ends and the predicate are known; the engine may look
    /// from either end, whichever is cheaper.
    Check {
        /// The subject.
        subject: Node,
        /// The predicate.
        predicate: Node,
        /// The object.
        object: Node,
        /// Where the matching graph is; [`Scope::Bind`] gives one row for each graph.
        scope: Scope,
    },
    /// Keeps rows whose two columns hold the same term (a variable repeated in one pattern, with a
    /// hidden slot for the second occurrence).
    Same {
        /// One column.
        left: Slot,
        /// The other.
        right: Slot,
    },
    /// Keeps rows for which the expression's effective boolean value is true (an error is false).
    Filter(Expression),
    /// Keeps one row of each group of equal rows over these columns (ids, unbound equal to unbound).
    Distinct {
        /// The columns compared, all kept ones.
        columns: Vec<Slot>,
    },
    /// Sorts by the keys in turn (SPARQL 1.1 section 15.1). Stable. With `limit`, only that many
    /// first rows are needed (top-k).
    Order {
        /// The sort keys.
        keys: Vec<OrderKey>,
        /// Number of leading rows that later steps can use.
        limit: Option<u64>,
    },
    /// Skips rows, then lets at most `limit` pass; the walk stops when it has.
    Slice {
        /// Rows skipped.
        offset: u64,
        /// Rows passed on after that; `None` for all.
        limit: Option<u64>,
    },
    /// One row out: the number of rows in, as an `xsd:integer` (`COUNT(*)` without grouping). With
    /// `distinct`, of distinct rows over the listed columns.
    Count {
        /// `COUNT(DISTINCT *)`: the columns compared.
        distinct: Option<Vec<Slot>>,
        /// The new, only column.
        into: Slot,
    },
}

impl Action {
    /// Calls back for each column that the action reads.
    pub fn for_each_read(&self, each: &mut impl FnMut(Slot)) {
        let mut node = |node: &Node| {
            if let Node::Slot(slot) = node {
                each(*slot);
            }
        };
        let named = |scope: &Scope| match scope {
            Scope::Named(node) => Some(*node),
            Scope::Default | Scope::Bind(_) => None,
        };
        match self {
            Action::Expand {
                from,
                predicate,
                scope,
                ..
            } => {
                [Some(*from), Some(*predicate), named(scope)]
                    .iter()
                    .flatten()
                    .for_each(node);
            }
            Action::ExpandKeys {
                predicate, scope, ..
            } => {
                [Some(*predicate), named(scope)]
                    .iter()
                    .flatten()
                    .for_each(node);
            }
            Action::ExpandPredicates { from, .. } => node(from),
            Action::AllPredicates { .. } | Action::AllGraphs { .. } | Action::Slice { .. } => {}
            Action::Check {
                subject,
                predicate,
                object,
                scope,
            } => {
                let nodes = [
                    Some(*subject),
                    Some(*predicate),
                    Some(*object),
                    named(scope),
                ];
                nodes.iter().flatten().for_each(node);
            }
            Action::Same { left, right } => [*left, *right].into_iter().for_each(each),
            Action::Filter(expression) => expression.for_each_slot(each),
            Action::Distinct { columns } => columns.iter().copied().for_each(each),
            Action::Order { keys, .. } => {
                for key in keys {
                    key.expression.for_each_slot(each);
                }
            }
            Action::Count { distinct, .. } => distinct.iter().flatten().copied().for_each(each),
        }
    }

    /// Calls back for each column that the action makes.
    pub fn for_each_write(&self, each: &mut impl FnMut(Slot)) {
        match self {
            Action::Expand { scope, into, .. } => {
                each(*into);
                if let Scope::Bind(graph) = scope {
                    each(*graph);
                }
            }
            Action::ExpandKeys { into, .. }
            | Action::ExpandPredicates { into, .. }
            | Action::AllPredicates { into }
            | Action::AllGraphs { into }
            | Action::Count { into, .. } => each(*into),
            Action::Check {
                scope: Scope::Bind(graph),
                ..
            } => each(*graph),
            Action::Check { .. }
            | Action::Same { .. }
            | Action::Filter(_)
            | Action::Distinct { .. }
            | Action::Order { .. }
            | Action::Slice { .. } => {}
        }
    }
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

/// What the query asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// `SELECT`: these columns, in this order. A slot that no step binds is unbound in every row.
    Select(Vec<Slot>),
    /// `ASK`: whether there is a row.
    Ask,
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
    /// The steps, first to last. No steps: the unit table itself is the result.
    pub steps: Vec<Step>,
    /// What the query asks for.
    pub form: Form,
    /// Light or heavy.
    pub weight: Weight,
}
