//! [`abstract_query`](crate::grammar::abstract_query) to [`algebra::Query`](crate::algebra::Query): names to slots, trees to
//! pipelines, `GRAPH` into patterns, paths to patterns, unions and closures.
//!
//! | module | holds |
//! |---|---|
//! | `names` | scopes: which places are the same variable |
//! | `group` | the spine of a group, from its first element outwards, as a pipeline |
//! | `nested` | groups within groups: `OPTIONAL`, `UNION`, `LATERAL`, `GRAPH` |
//! | `minus` | `MINUS` |
//! | `select` | sub-queries, grouping, modifiers |
//! | `having` | `HAVING` that names what `SELECT` computes |
//! | `row_order` | the order of rows for aggregates that look at it |
//! | `pattern` | triple patterns, triple terms, `VALUES` |
//! | `path` | paths |
//! | `expression` | expressions, and `EXISTS` in them |
//! | `service`, `print` | `SERVICE`: the query that is sent |
//! | `form` | `SELECT`, `CONSTRUCT`, `DESCRIBE`, `ASK`, the dataset |
//! | `given` | what is said of a query beside its text |
//! | `update` | `DELETE`, `INSERT`, `WHERE`: a query and templates |
//!
//! Costs time linear in the algebra times its depth of nested scopes, and stack for each bracket of
//! the text, which the limits bound; chains (`UNION`, `&&`, `/`, the elements of a group), which
//! the parser makes left-deep trees, are walked without recursion. Arithmetic alone keeps its tree.

mod expression;
mod form;
mod given;
mod group;
mod having;
mod minus;
mod names;
mod nested;
mod path;
mod pattern;
mod print;
mod row_order;
mod select;
mod service;
mod update;

pub(crate) use update::lower_modification;

use crate::algebra::{Group, Query};
use crate::error::ParseError;
use crate::grammar::abstract_query::{self, Constant, Terms};
use crate::grammar::translate::Translated;
use crate::options::{Given, ParseOptions};
use crate::plan::{ConstantId, Node, Slot, Source};
use crate::slots::Slots;
use names::NameScope;
use std::rc::Rc;

/// What is built while walking the algebra.
struct Lowering<'t> {
    terms: Terms<'t>,
    scopes: Vec<NameScope>,
    /// For each group around that sees a row: the slots of the row of which it keeps a copy, and the
    /// copies (`MINUS`).
    kept: Vec<Vec<(Slot, Slot)>>,
    variables: Vec<String>,
    is_written: Vec<bool>,
    /// Those that are in use, in the order of their first use: by [`ConstantId`].
    constants: Vec<Constant>,
    /// The other way round.
    constant_ids: Vec<Option<ConstantId>>,
    /// See [`ParseOptions::union_default_graph`].
    union_default: bool,
    /// See [`Query::idle`].
    idle: Slots,
    /// What patterns are of that stand in no window.
    outside: Source,
}

/// Where a group stands.
#[derive(Clone)]
struct Context {
    /// The graph around it.
    graph: Option<Node>,
    /// Whether a graph variable is bound in the rows outside that the group sees.
    graph_is_given: bool,
    /// What its patterns are of.
    source: Source,
    /// The rows outside that the group sees.
    outer: Rc<Outer>,
}

/// What rows bind.
#[derive(Clone, Default)]
struct Outer {
    /// What they can bind.
    maybe: Slots,
    /// What they bind for sure.
    sure: Slots,
}

/// Translates a query.
pub(crate) fn lower(
    mut read: Translated<'_, abstract_query::Query>,
    options: &ParseOptions,
    given: &Given,
) -> Result<Query, ParseError> {
    give(&mut read, given)?;
    lower_of(read, options, Source::STORE)
}

/// Gives a query that was read a table of these variables. Whether it stands anywhere where some of them do not.
pub(crate) fn give_table(
    read: &mut Translated<'_, abstract_query::Query>,
    names: &[String],
) -> Result<bool, ParseError> {
    given::give_table(&mut read.said, names, &read.terms)
}

/// Gives a query that was read these terms.
pub(crate) fn give(
    read: &mut Translated<'_, abstract_query::Query>,
    given: &Given,
) -> Result<(), ParseError> {
    if given.is_nothing() {
        return Ok(());
    }
    given::give(&mut read.said, given, &mut read.terms)
}

/// Translates a query whose patterns outside of windows are of this source.
pub(crate) fn lower_of(
    read: Translated<'_, abstract_query::Query>,
    options: &ParseOptions,
    outside: Source,
) -> Result<Query, ParseError> {
    let query = read.said;
    let mut lowering = Lowering::new(read.terms, options);
    lowering.outside = outside;
    let dataset = lowering.dataset(query.dataset.as_ref());
    let mut body = Group::default();
    let form = lowering.form(&query, &mut body)?;
    lowering.check();
    Ok(Query {
        within: lowering.names_within(),
        idle: lowering.idle.to_vec(),
        variables: lowering.variables,
        constants: lowering.terms.into_terms(&lowering.constants),
        prefixes: read.prefixes,
        dataset,
        base: query.base,
        body,
        form,
    })
}

impl Context {
    /// Outside of all groups.
    fn top(source: Source) -> Context {
        Context {
            graph: None,
            graph_is_given: false,
            source,
            outer: Rc::default(),
        }
    }

    /// Within `EXISTS` or `LATERAL`, which see rows that can bind `row` as well, and `sure` do.
    fn within(&self, row: &Slots, sure: &Slots) -> Context {
        let mut outer = Outer::clone(&self.outer);
        outer.maybe.add(row);
        outer.sure.add(sure);
        Context {
            graph: self.graph,
            graph_is_given: true,
            source: self.source,
            outer: Rc::new(outer),
        }
    }
}

impl<'t> Lowering<'t> {
    fn new(terms: Terms<'t>, options: &ParseOptions) -> Lowering<'t> {
        let constants = terms.constants();
        Lowering {
            scopes: vec![NameScope::outermost(terms.texts().len())],
            kept: Vec::new(),
            variables: Vec::new(),
            is_written: Vec::new(),
            constants: Vec::with_capacity(constants),
            constant_ids: vec![None; constants],
            terms,
            union_default: options.union_default_graph,
            idle: Slots::default(),
            outside: Source::STORE,
        }
    }

    /// Nothing is left open at the end.
    fn check(&self) {
        assert_eq!(self.scopes.len(), 1, "a scope that was entered was left");
        assert!(
            self.kept.is_empty(),
            "what was kept for a scope was given up with it"
        );
        assert_eq!(
            self.variables.len(),
            self.is_written.len(),
            "a variable was written or made up"
        );
    }

    fn constant(&mut self, constant: Constant) -> ConstantId {
        let at = constant.index();
        if self.constant_ids.len() <= at {
            self.constant_ids.resize(at + 1, None);
        }
        let next = ConstantId(self.constants.len() as u32);
        let id = *self.constant_ids[at].get_or_insert(next);
        if id == next {
            self.constants.push(constant);
        }
        id
    }
}
