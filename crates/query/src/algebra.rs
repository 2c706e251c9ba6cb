//! A query as the planner takes it: a pipeline of elements over tables of partial solutions.
//!
//! **Model.** A [`Group`] is a function from tables to tables, written as a list of [`Element`]s. It
//! starts with the unit table (one row, nothing bound) and each element takes the table so far and
//! gives the next one, exactly as the algebra of SPARQL 1.1 Query section 18.5 says; modifiers are
//! elements like any other. So a group has one meaning, which does not depend on how it is planned:
//! the planner may reorder, substitute and nest only where that meaning stays.
//!
//! **Variables are slots.** The translator has resolved names: two places that hold the same slot are
//! the same variable, and a variable that a sub-query does not project has a slot of its own. A group
//! that is joined ([`Element::Join`], the branches of [`Element::Union`], `MINUS`) is evaluated on its
//! own, bottom-up. The rows outside are seen only where the specification says so: in the `condition`
//! of an [`Element::Optional`], and in the groups of [`Element::Exists`], [`Element::Mark`] and
//! [`Element::Lateral`]. There they are seen everywhere, in nested groups and sub-queries too, as if
//! the value of each slot that is bound in the row stood in its place: what a sub-query does not
//! project, and what `EXISTS` and `MINUS` have for themselves, has other slots. (So `LATERAL` of a
//! sub-query that projects `?s` and has a `LIMIT` is limited for each `?s`.)
//!
//! **Graphs.** `GRAPH` has been written into the patterns, and so has the view they are of ([`Source`]). Where a group within `GRAPH ?g` says more
//! than patterns can, there is an [`Element::Graph`] before it, so that `?g` is bound in every row that
//! reaches an expression, an `OPTIONAL`, a `MINUS` or an `EXISTS` within it.
//!
//! **Unbound variables in expressions.** A slot that is unbound in a row is an error there, and
//! `BOUND` of it false. A variable that can never be bound where it stands has been replaced by an
//! error already.

pub mod mentions;

use crate::expression::Expression;
use crate::path::Path;
use crate::plan::{
    Aggregate, ConstantId, DatasetClause, Form, Node, OrderKey, Slot, Source, TableId,
};
use oxrdf::Term;

/// One pattern: an edge to be found in a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The subject.
    pub subject: Node,
    /// The predicate.
    pub predicate: Node,
    /// The object.
    pub object: Node,
    /// `None`: the default graph; else the named graph.
    pub graph: Option<Node>,
    /// Of which view.
    pub source: Source,
}

impl Pattern {
    /// The four places, without an absent graph.
    pub fn nodes(&self) -> impl Iterator<Item = Node> {
        [self.subject, self.predicate, self.object]
            .into_iter()
            .chain(self.graph)
    }

    /// The variables, each once.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        let nodes = [
            Some(self.subject),
            Some(self.predicate),
            Some(self.object),
            self.graph,
        ];
        (0..4).filter_map(move |at| match nodes[at] {
            Some(Node::Slot(slot)) if !nodes[..at].contains(&nodes[at]) => Some(slot),
            _ => None,
        })
    }
}

/// A query, ready to be planned. Made by [`crate::parse`].
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Name of each slot; hidden ones begin with a dot.
    pub(crate) variables: Vec<String>,
    /// Names of the text that no slot shows, ascending: they are seen within groups alone, or in what is sent to an
    /// endpoint. Of an update's operations none.
    pub(crate) within: Vec<String>,
    /// What the groups of `MINUS` bind that remove nothing, as they share no variable with what they are taken from.
    pub(crate) idle: Vec<Slot>,
    /// The constant terms, each once but for a template's that is filled with one that it has.
    pub(crate) constants: Vec<Term>,
    /// Prefixes of the text and the options, for printing.
    pub(crate) prefixes: Vec<(String, String)>,
    pub(crate) dataset: DatasetClause,
    /// What relative IRIs that expressions make are resolved against.
    pub(crate) base: Option<String>,
    /// Pattern, grouping, ordering, projection and slice, in that order.
    pub(crate) body: Group,
    pub(crate) form: Form,
}

impl Query {
    /// The constant terms, each once but in a filled template; a [`ConstantId`] is an index into them.
    pub fn constants(&self) -> &[Term] {
        &self.constants
    }

    /// The names of the variables, by slot, without question mark; hidden ones begin with a dot.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// What is computed.
    pub fn body(&self) -> &Group {
        &self.body
    }

    /// What the query asks for.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// What relative IRIs that expressions make are resolved against.
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// Prefixes with their IRIs, as declared in the text and the options.
    pub fn prefixes(&self) -> &[(String, String)] {
        &self.prefixes
    }

    /// The dataset clause.
    pub fn dataset(&self) -> &DatasetClause {
        &self.dataset
    }

    /// Calls back for the source of each pattern, each path and each `GRAPH` without either, wherever they stand. A text
    /// without streams has [`Source::STORE`] everywhere. What one `GRAPH` holds is of one source, which is to stay so: a
    /// path leaves it to the [`Element::Graph`] beside it to ask whether there is such a graph.
    pub fn for_each_source_mut(&mut self, each: &mut dyn FnMut(&mut Source)) {
        sources_of(&mut self.body.elements, each);
    }

    /// Replaces the dataset clause, as the protocol's `default-graph-uri` and `named-graph-uri` do.
    /// New graphs are added to [`Query::constants`], so call it before these are resolved.
    pub fn set_dataset(&mut self, default: &[Term], named: &[Term]) {
        let default = default.iter().map(|term| self.constant(term)).collect();
        let named = named.iter().map(|term| self.constant(term)).collect();
        self.dataset.graphs = Some((default, named));
    }

    fn constant(&mut self, term: &Term) -> ConstantId {
        let known = self.constants.iter().position(|known| known == term);
        ConstantId(known.unwrap_or_else(|| {
            self.constants.push(term.clone());
            self.constants.len() - 1
        }) as u32)
    }
}

fn sources_of(elements: &mut [Element], each: &mut dyn FnMut(&mut Source)) {
    for element in elements {
        match element {
            Element::Pattern(pattern) => each(&mut pattern.source),
            Element::Path(path) => each(&mut path.source),
            Element::Graph(_, source) => each(source),
            Element::Join(group)
            | Element::Minus(group)
            | Element::Lateral(group)
            | Element::Exists { group, .. }
            | Element::Mark { group, .. } => sources_of(&mut group.elements, each),
            Element::Union(groups) => {
                for group in groups {
                    sources_of(&mut group.elements, each);
                }
            }
            Element::Optional { group, condition } => {
                sources_of(&mut group.elements, each);
                sources_of(condition, each);
            }
            Element::TripleTerm { .. }
            | Element::Values { .. }
            | Element::Given { .. }
            | Element::Service(_)
            | Element::Filter(_)
            | Element::Bind { .. }
            | Element::Aggregate { .. }
            | Element::Order(_)
            | Element::Project(_)
            | Element::Distinct
            | Element::Slice { .. } => {}
        }
    }
}

/// A pipeline; see the module's documentation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// First to last.
    pub elements: Vec<Element>,
}

/// What is done to the table so far.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// Join with the matches of a triple pattern.
    Pattern(Pattern),
    /// Join with the pairs that a path connects.
    Path(PathPattern),
    /// Join with the named graphs of the dataset, or require that a constant is one of them
    /// (`GRAPH ?g {}`). Where no clause names them, they are those of the view.
    Graph(Node, Source),
    /// Join with the triple terms `term` that have these parts: the table whose rows bind `term` and
    /// the variables among the parts. `term` is bound by another pattern of the same group.
    TripleTerm {
        /// The triple term.
        term: Slot,
        /// Its subject.
        subject: Node,
        /// Its predicate.
        predicate: Node,
        /// Its object.
        object: Node,
    },
    /// Join with a table of the text.
    Values {
        /// Its columns.
        columns: Vec<Slot>,
        /// Row after row; `None` is `UNDEF`.
        rows: Vec<Vec<Option<ConstantId>>>,
    },
    /// Join with a table that is given from outside of the query, whose rows are distinct and have no unbound cell.
    Given {
        /// Which table.
        table: TableId,
        /// What its columns are called here, each once.
        columns: Vec<Slot>,
    },
    /// Join with a group that is evaluated on its own: a nested group or a sub-query.
    Join(Group),
    /// Join with the concatenation of these groups, each evaluated on its own.
    Union(Vec<Group>),
    /// Join with what an endpoint answers.
    Service(Service),
    /// Left join. Each pair of compatible rows is a row, if `condition` (filters, and marks that they
    /// use) keeps it.
    Optional {
        /// The right side, evaluated on its own.
        group: Group,
        /// [`Element::Filter`], [`Element::Exists`] and [`Element::Mark`] over the merged row.
        condition: Vec<Element>,
    },
    /// Removes rows that are compatible with a row of the group, evaluated on its own, with which they
    /// share a bound variable.
    Minus(Group),
    /// For each row, the rows of the group, which sees the row's variables.
    Lateral(Group),
    /// Keeps rows for which the group, which sees the row's variables, has a solution (or has none).
    Exists {
        /// The group.
        group: Group,
        /// `NOT EXISTS`.
        negated: bool,
    },
    /// As [`Element::Exists`], as a boolean column instead of a filter.
    Mark {
        /// The group.
        group: Group,
        /// The new column.
        into: Slot,
    },
    /// Keeps rows for which it is true (an error is false).
    Filter(Expression),
    /// Extends rows; unbound where it is an error. A value that a row outside has given the variable
    /// has to be the same.
    Bind {
        /// What is computed.
        expression: Expression,
        /// The new variable.
        into: Slot,
    },
    /// Groups rows: afterwards only keys and aggregates are bound.
    Aggregate {
        /// The grouping variables; expressions have been bound before.
        keys: Vec<Slot>,
        /// What is computed of each group.
        aggregates: Vec<(Aggregate, Slot)>,
    },
    /// Sorts.
    Order(Vec<OrderKey>),
    /// Afterwards only these variables are bound.
    Project(Vec<Slot>),
    /// Keeps one of equal rows, over the variables of the [`Element::Project`] before it.
    Distinct,
    /// Skips rows, then lets at most `limit` pass.
    Slice {
        /// Rows skipped.
        offset: u64,
        /// Rows passed on after that; `None` for all.
        limit: Option<u64>,
    },
}

/// A path pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct PathPattern {
    /// The subject.
    pub subject: Node,
    /// The path: none that is a plain predicate, or a sequence, alternative or inverse at its top.
    pub path: Path,
    /// The object.
    pub object: Node,
    /// `None`: the default graph; else the named graph, in which the whole path lies.
    pub graph: Option<Node>,
    /// Of which view.
    pub source: Source,
}

/// A group that another endpoint evaluates.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// The endpoint.
    pub endpoint: Node,
    /// `SILENT`: a failure is one solution without bindings.
    pub silent: bool,
    /// The query sent: a `SELECT` of the variables below.
    pub text: String,
    /// The variables, without question mark, with their slots.
    pub columns: Vec<(String, Slot)>,
}
