//! What a step of a plan can do: one variant for each action, with what it reads, what it makes and what it is called.
//!
//! Whoever walks plans (`explore`), prints them ([`mod@crate::explain`]) or gives them a meaning (the interpreter of
//! `testkit`) matches on all variants, so a new one is a compile error wherever it has to be thought of.

use super::{Aggregate, OrderKey, Scope, Source, Step, TableId};
use crate::expression::Expression;
use crate::node::{ConstantId, Node, Slot};
use crate::path::Path;
use rdf::Direction;

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
        /// Of which view.
        source: Source,
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
        /// Of which view.
        source: Source,
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
        /// Of which view.
        source: Source,
        /// The new column: predicates as vertices.
        into: Slot,
    },
    /// One row out for each predicate of the source: the start of a pattern with nothing known.
    AllPredicates {
        /// Of which view.
        source: Source,
        /// The new column: predicates as vertices.
        into: Slot,
    },
    /// No row, in this snapshot of the store: statistics prove it. In any other one it lets every row pass.
    Never {
        /// The snapshot's number.
        snapshot: u64,
    },
    /// One row out for each named graph of the source (`GRAPH ?g {}`): those that it holds; of the store those of the
    /// dataset clause, where there is one.
    AllGraphs {
        /// Of which view.
        source: Source,
        /// The new column.
        into: Slot,
    },
    /// One row out for each vertex that is a neighbour on both sides: an [`Action::Expand`] by one side and
    /// an [`Action::Check`] by the other at once, which costs a row no more than the shorter of its two lists
    /// (worst-case optimal on cycles; Ngo, Porat, Re and Rudra, "Worst-case optimal join algorithms", PODS'12).
    Intersect {
        /// The two lists of a row.
        sides: [Side; 2],
        /// The new column: what both have.
        into: Slot,
    },
    /// Keeps rows whose edge exists. Both ends and the predicate are known.
    Check {
        /// The subject.
        subject: Node,
        /// The predicate.
        predicate: Node,
        /// The object.
        object: Node,
        /// The end whose list is searched for the other one, [`Direction::Out`]: the subject's. A constant end's
        /// neighbours may be looked up once instead, as a set.
        from: Direction,
        /// Where the matching graph is; [`Scope::Bind`] gives one row for each graph.
        scope: Scope,
        /// Of which view.
        source: Source,
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
    /// Walks blocks from each row of the table; see the module's documentation. A row that leaves a
    /// branch is the row that entered it, with the columns of `exports` set to what the branch made
    /// (unbound where the branch has no such column).
    Nested {
        /// What becomes of the row.
        mode: Mode,
        /// The blocks; several are the branches of a `UNION`, each of which sees every row.
        branches: Vec<Vec<Step>>,
        /// The columns of the table that branches read, all alive before the step, ascending.
        imports: Vec<Slot>,
        /// A hidden slot, alive throughout the branches: which row it came from.
        row: Slot,
        /// The columns that branches make or change ([`Action::Unify`]), ascending. Empty for
        /// [`Mode::Semi`], [`Mode::Anti`] and [`Mode::Mark`].
        exports: Vec<Slot>,
        /// Each row is walked to the end on its own, because a branch has steps that look at rows
        /// together (`LATERAL` of a sub-query with `LIMIT` or aggregates).
        row_by_row: bool,
    },
    /// Joins with a table that does not depend on the row: `table` is walked once from the unit table
    /// and kept; each row is joined with the table's rows that have the same terms in `keys` (bound on
    /// both sides; the same slots name them there), in no order. Without keys: the product.
    Probe {
        /// The block that makes the table.
        table: Vec<Step>,
        /// Columns compared, ascending.
        keys: Vec<Slot>,
        /// The table's other columns that are added to the row, ascending; unbound where it has none.
        exports: Vec<Slot>,
    },
    /// Keeps rows whose two columns are compatible: equal, or one of them unbound (SPARQL 1.1 Query
    /// section 18.3). `into` then holds the bound one of them. A column that is not alive is unbound
    /// in every row; `into` is alive after the step. `from` may hold a query-local id.
    Unify {
        /// The column that stays.
        into: Slot,
        /// The other.
        from: Slot,
    },
    /// `BIND`: computes a term for each row; unbound where the expression is an error.
    Bind {
        /// What is computed.
        expression: Expression,
        /// The new column.
        into: Slot,
    },
    /// One row out for each row of the table in the text, for each row in (`VALUES`).
    Values {
        /// The new columns, in the order of the cells.
        columns: Vec<Slot>,
        /// Row after row; `None` is `UNDEF`.
        rows: Vec<Vec<Option<ConstantId>>>,
    },
    /// Joins with a table that is given from outside of the plan and outlives its walks: each row is joined with the
    /// table's rows that have the same terms in `keys`, in no order. Without keys: the product.
    Given {
        /// Which table.
        table: TableId,
        /// What each of its columns is called here, each once.
        columns: Vec<Slot>,
        /// Those of the columns that are bound when the step begins, ascending; the others are new.
        keys: Vec<Slot>,
    },
    /// One row out for each group of rows with the same terms in `keys` (unbound equal to unbound),
    /// with the keys and the aggregates as columns. Without keys: exactly one row, also for no rows.
    Aggregate {
        /// The grouping columns.
        keys: Vec<Slot>,
        /// What is computed of each group; unbound where the aggregate is an error.
        aggregates: Vec<(Aggregate, Slot)>,
    },
    /// The seed of a path with no end known: one row out for each vertex that may stand at this end
    /// ([`Direction::Out`]: as the subject), each once. May list vertices from which nothing is
    /// reached; an [`Action::PathExpand`] follows. For a path that may have no length these are exactly
    /// the subjects and objects of the scope's graph.
    PathSeed {
        /// The path.
        path: Path,
        /// Which end is listed.
        direction: Direction,
        /// Where its edges are; never [`Scope::Bind`].
        scope: Scope,
        /// Of which view.
        source: Source,
        /// The new column.
        into: Slot,
    },
    /// One row out for each vertex that the path reaches from `from` (SPARQL 1.1 Query section 18.4).
    PathExpand {
        /// The known end. May be a query-local id.
        from: Node,
        /// The path.
        path: Path,
        /// [`Direction::Out`]: `from` is the subject, the path is followed forward.
        direction: Direction,
        /// Where its edges are; never [`Scope::Bind`].
        scope: Scope,
        /// Of which view.
        source: Source,
        /// The new column.
        into: Slot,
    },
    /// Keeps rows whose ends the path connects, as often as it does.
    PathCheck {
        /// The subject.
        subject: Node,
        /// The path.
        path: Path,
        /// The object.
        object: Node,
        /// Where its edges are; never [`Scope::Bind`].
        scope: Scope,
        /// Of which view.
        source: Source,
    },
    /// Keeps rows where `term` is a triple term, and takes it apart into new columns.
    Unpack {
        /// The triple term.
        term: Slot,
        /// The new column of its subject.
        subject: Slot,
        /// The new column of its predicate.
        predicate: Slot,
        /// The new column of its object.
        object: Slot,
    },
    /// One row out for each solution that an endpoint gives to a query, for each row in. Rows with
    /// the same endpoint ask once.
    Service {
        /// The endpoint's IRI.
        endpoint: Node,
        /// `SILENT`: a failure is one solution without bindings.
        silent: bool,
        /// The query sent: a `SELECT` of the variables below.
        text: String,
        /// The variables of the answer, without question mark, and the new columns.
        columns: Vec<(String, Slot)>,
    },
    /// Adds what is known of all matches of `?s predicate ?o`, both ends unknown, as `xsd:integer`s: their
    /// number, and how many different terms stand where. Most of it stands in the store as it is, so no edge
    /// is looked at.
    Sizes {
        /// The known predicate; `None`: any.
        predicate: Option<Node>,
        /// [`Scope::Default`], or [`Scope::Named`] with a constant.
        scope: Scope,
        /// Of which view.
        source: Source,
        /// The new columns.
        sizes: Vec<(Size, Slot)>,
        /// Whether a row of which there are no matches stays, with zeros.
        keeps_empty: bool,
    },
    /// Adds the number of edges that `from` has, as an `xsd:integer`; drops rows with none.
    Degree {
        /// The known end.
        from: Slot,
        /// The known predicate.
        predicate: ConstantId,
        /// [`Direction::Out`]: `from` is the subject.
        direction: Direction,
        /// [`Scope::Default`], or [`Scope::Named`] with a constant.
        scope: Scope,
        /// Of which view.
        source: Source,
        /// The new columns, all with the same number.
        into: Vec<Slot>,
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

/// One of the lists of [`Action::Intersect`]: the neighbours of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Side {
    /// The known end.
    pub from: Slot,
    /// The known predicate.
    pub predicate: ConstantId,
    /// [`Direction::Out`]: `from` is the subject.
    pub direction: Direction,
    /// [`Scope::Default`], or [`Scope::Named`] with a constant.
    pub scope: Scope,
    /// Of which view; the other side may be of another one.
    pub source: Source,
}

/// What [`Action::Sizes`] counts of the matches of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// All of them.
    Edges,
    /// Distinct subjects.
    Subjects,
    /// Distinct predicates.
    Predicates,
    /// Distinct objects.
    Objects,
}

impl Action {
    /// Its name in plans as documents, which readers may rely on: the variant's, in lower case with hyphens.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Expand { .. } => "expand",
            Action::Intersect { .. } => "intersect",
            Action::ExpandKeys { .. } => "expand-keys",
            Action::ExpandPredicates { .. } => "expand-predicates",
            Action::AllPredicates { .. } => "all-predicates",
            Action::Never { .. } => "never",
            Action::AllGraphs { .. } => "all-graphs",
            Action::Check { .. } => "check",
            Action::Same { .. } => "same",
            Action::Filter(_) => "filter",
            Action::Distinct { .. } => "distinct",
            Action::Order { .. } => "order",
            Action::Nested { .. } => "nested",
            Action::Probe { .. } => "probe",
            Action::Unify { .. } => "unify",
            Action::Bind { .. } => "bind",
            Action::Values { .. } => "values",
            Action::Given { .. } => "given",
            Action::Aggregate { .. } => "aggregate",
            Action::PathSeed { .. } => "path-seed",
            Action::PathExpand { .. } => "path-expand",
            Action::PathCheck { .. } => "path-check",
            Action::Unpack { .. } => "unpack",
            Action::Service { .. } => "service",
            Action::Sizes { .. } => "sizes",
            Action::Degree { .. } => "degree",
            Action::Slice { .. } => "slice",
            Action::Count { .. } => "count",
        }
    }

    /// The steps that it holds, branch by branch.
    pub fn blocks(&self) -> &[Vec<Step>] {
        match self {
            Action::Nested { branches, .. } => branches,
            Action::Probe { table, .. } => std::slice::from_ref(table),
            _ => &[],
        }
    }

    /// Calls back for each source that the action itself looks at; what steps within it do, they say themselves.
    pub fn for_each_source(&self, each: &mut impl FnMut(Source)) {
        match self {
            Action::Expand { source, .. }
            | Action::ExpandKeys { source, .. }
            | Action::ExpandPredicates { source, .. }
            | Action::AllPredicates { source, .. }
            | Action::AllGraphs { source, .. }
            | Action::Check { source, .. }
            | Action::PathSeed { source, .. }
            | Action::PathExpand { source, .. }
            | Action::PathCheck { source, .. }
            | Action::Sizes { source, .. }
            | Action::Degree { source, .. } => each(*source),
            Action::Intersect { sides, .. } => sides.iter().for_each(|side| each(side.source)),
            // A proof is of the store, but any view may be there instead.
            Action::Never { .. }
            | Action::Same { .. }
            | Action::Filter(_)
            | Action::Distinct { .. }
            | Action::Order { .. }
            | Action::Nested { .. }
            | Action::Probe { .. }
            | Action::Unify { .. }
            | Action::Bind { .. }
            | Action::Values { .. }
            | Action::Given { .. }
            | Action::Aggregate { .. }
            | Action::Unpack { .. }
            | Action::Service { .. }
            | Action::Slice { .. }
            | Action::Count { .. } => {}
        }
    }

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
            Action::Intersect { sides, .. } => sides.iter().map(|side| side.from).for_each(each),
            Action::ExpandPredicates { from, .. } => node(from),
            Action::AllPredicates { .. } | Action::AllGraphs { .. } | Action::Slice { .. } => {}
            Action::Check {
                subject,
                predicate,
                object,
                scope,
                ..
            } => {
                let nodes = [
                    Some(*subject),
                    Some(*predicate),
                    Some(*object),
                    named(scope),
                ];
                nodes.iter().flatten().for_each(node);
            }
            Action::Order { keys, .. } => {
                for key in keys {
                    key.expression.for_each_slot(each);
                }
            }
            Action::Count { distinct, .. } => distinct.iter().flatten().copied().for_each(each),
            Action::PathExpand { from, scope, .. } => {
                [Some(*from), named(scope)].iter().flatten().for_each(node);
            }
            Action::PathSeed { scope, .. } => named(scope).iter().for_each(node),
            Action::PathCheck {
                subject,
                object,
                scope,
                ..
            } => {
                [Some(*subject), Some(*object), named(scope)]
                    .iter()
                    .flatten()
                    .for_each(node);
            }
            composed => composed.for_each_read_of_rows(each),
        }
    }

    /// [`Action::for_each_read`] of the actions that look at no pattern.
    fn for_each_read_of_rows(&self, each: &mut impl FnMut(Slot)) {
        match self {
            Action::Nested { imports, .. } => imports.iter().copied().for_each(each),
            Action::Probe { keys, .. } | Action::Given { keys, .. } => {
                keys.iter().copied().for_each(each);
            }
            Action::Same { left, right } => [*left, *right].into_iter().for_each(each),
            Action::Unify { into, from } => [*into, *from].into_iter().for_each(each),
            Action::Filter(expression) | Action::Bind { expression, .. } => {
                expression.for_each_slot(each);
            }
            Action::Distinct { columns } => columns.iter().copied().for_each(each),
            Action::Aggregate { keys, aggregates } => {
                keys.iter().copied().for_each(&mut *each);
                for (aggregate, _) in aggregates {
                    aggregate.for_each_slot(each);
                }
            }
            Action::Service {
                endpoint: Node::Slot(slot),
                ..
            }
            | Action::Unpack { term: slot, .. }
            | Action::Degree { from: slot, .. }
            | Action::Sizes {
                predicate: Some(Node::Slot(slot)),
                ..
            } => each(*slot),
            // They read nothing, or the caller has asked them.
            Action::Service { .. }
            | Action::Sizes { .. }
            | Action::Values { .. }
            | Action::Never { .. }
            | Action::Expand { .. }
            | Action::Intersect { .. }
            | Action::ExpandKeys { .. }
            | Action::ExpandPredicates { .. }
            | Action::AllPredicates { .. }
            | Action::AllGraphs { .. }
            | Action::Slice { .. }
            | Action::Check { .. }
            | Action::Order { .. }
            | Action::Count { .. }
            | Action::PathExpand { .. }
            | Action::PathSeed { .. }
            | Action::PathCheck { .. } => {}
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
            | Action::Intersect { into, .. }
            | Action::ExpandPredicates { into, .. }
            | Action::AllPredicates { into, .. }
            | Action::AllGraphs { into, .. }
            | Action::Count { into, .. }
            | Action::Unify { into, .. }
            | Action::Bind { into, .. }
            | Action::PathSeed { into, .. }
            | Action::PathExpand { into, .. } => each(*into),
            Action::Check {
                scope: Scope::Bind(graph),
                ..
            } => each(*graph),
            Action::Nested { mode, exports, .. } => {
                exports.iter().copied().for_each(&mut *each);
                if let Mode::Mark(mark) = mode {
                    each(*mark);
                }
            }
            Action::Probe { exports, .. } => exports.iter().copied().for_each(each),
            Action::Values { columns, .. } => columns.iter().copied().for_each(each),
            Action::Given { columns, keys, .. } => {
                let made = columns.iter().filter(|slot| !keys.contains(slot));
                made.copied().for_each(each);
            }
            Action::Aggregate { aggregates, .. } => {
                for (_, into) in aggregates {
                    each(*into);
                }
            }
            Action::Unpack {
                subject,
                predicate,
                object,
                ..
            } => [*subject, *predicate, *object].into_iter().for_each(each),
            Action::Service { columns, .. } => columns.iter().for_each(|(_, into)| each(*into)),
            Action::Sizes { sizes, .. } => sizes.iter().for_each(|(_, into)| each(*into)),
            Action::Degree { into, .. } => into.iter().copied().for_each(each),
            Action::Never { .. }
            | Action::Check { .. }
            | Action::PathCheck { .. }
            | Action::Same { .. }
            | Action::Filter(_)
            | Action::Distinct { .. }
            | Action::Order { .. }
            | Action::Slice { .. } => {}
        }
    }
}

/// What a block's rows do to the row that it was walked from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One row out for each row that leaves a branch: joins, `UNION`, `LATERAL`.
    Inner,
    /// As `Inner`, and the row itself, exports unbound unless they were bound before, where no branch
    /// gives a row: `OPTIONAL`.
    Left,
    /// The row itself, once, where a branch gives a row: `FILTER EXISTS`.
    Semi,
    /// The row itself where no branch gives a row: `FILTER NOT EXISTS`, `MINUS`.
    Anti,
    /// The row itself always, with whether a branch gives a row as an `xsd:boolean`.
    Mark(Slot),
}
