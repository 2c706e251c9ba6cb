//! The parser's algebra to [`algebra::Query`](crate::algebra::Query): names to slots, trees to
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
//! | `function` | the builtins and casts |
//! | `service`, `print` | `SERVICE`: the query that is sent |
//! | `form` | `SELECT`, `CONSTRUCT`, `DESCRIBE`, `ASK`, the dataset |
//! | `given` | what is said of a query beside its text |
//! | `update` | `DELETE`, `INSERT`, `WHERE`: a query and templates |
//! | `refusal` | what is refused although the parser takes it |
//!
//! Costs time linear in the algebra times its depth of nested scopes, and stack for each bracket of
//! the text, which the guard has bounded; chains (`UNION`, `&&`, `/`, the elements of a group), which
//! the parser makes left-deep trees, are walked without recursion. Arithmetic alone keeps its tree.

mod expression;
mod form;
mod function;
mod given;
mod group;
mod having;
mod minus;
mod names;
mod nested;
mod path;
mod pattern;
mod print;
mod refusal;
mod row_order;
mod select;
mod service;
mod update;

pub(crate) use refusal::prefixes;
pub(crate) use update::lower_modification;

use crate::algebra::{Group, Query};
use crate::guard::token::{TokenKind, Tokens};
use crate::parse::{Given, ParseError, ParseOptions};
use crate::plan::{ConstantId, Node, Slot};
use hashbrown::{DefaultHashBuilder, HashSet, HashTable};
use names::{Scope, Slots};
use oxrdf::Term;
use std::hash::BuildHasher;
use std::rc::Rc;

/// What is built while walking the algebra.
struct Lowering<'t> {
    tokens: &'t Tokens<'t>,
    /// The variables of the text; others the parser made up.
    written: HashSet<&'t str>,
    scopes: Vec<Scope>,
    /// For each group around that sees a row: the slots of the row of which it keeps a copy, and the
    /// copies (`MINUS`).
    kept: Vec<Vec<(Slot, Slot)>>,
    variables: Vec<String>,
    is_written: Vec<bool>,
    prefixes: Vec<(String, String)>,
    constants: Vec<Term>,
    /// By the hash of their terms.
    constant_ids: HashTable<ConstantId>,
    hashes: DefaultHashBuilder,
    /// See [`ParseOptions::union_default_graph`].
    union_default: bool,
}

/// Where a group stands.
#[derive(Clone)]
struct Context {
    /// The graph around it.
    graph: Option<Node>,
    /// Whether a graph variable is bound in the rows outside that the group sees.
    graph_is_given: bool,
    /// What the rows outside that the group sees can bind.
    outer: Rc<Slots>,
    /// What they bind for sure.
    outer_sure: Rc<Slots>,
}

/// Translates a parsed query. `tokens` are those of the same text.
pub(crate) fn lower(
    mut algebra: spargebra::Query,
    tokens: &Tokens<'_>,
    options: &ParseOptions,
    given: &Given,
) -> Result<Query, ParseError> {
    if !given.is_nothing() {
        given::give(&mut algebra, given, &written(tokens))?;
    }
    let mut lowering = Lowering::new(tokens, options);
    let dataset = lowering.dataset(algebra.dataset());
    let mut body = Group::default();
    let form = lowering.form(&algebra, &mut body)?;
    let mut written: Vec<String> = lowering
        .written
        .iter()
        .map(|&name| name.to_owned())
        .collect();
    written.sort_unstable();
    Ok(Query {
        written,
        variables: lowering.variables,
        constants: lowering.constants,
        prefixes: lowering.prefixes,
        dataset,
        base: algebra.base_iri().map(ToString::to_string),
        body,
        form,
    })
}

/// The names of the variables in the text.
fn written<'t>(tokens: &Tokens<'t>) -> HashSet<&'t str> {
    let variables = tokens
        .tokens
        .iter()
        .filter(|token| token.kind == TokenKind::Variable);
    variables.map(|&token| &tokens.slice(token)[1..]).collect()
}

impl Context {
    /// Outside of all groups.
    fn top() -> Context {
        Context {
            graph: None,
            graph_is_given: false,
            outer: Rc::default(),
            outer_sure: Rc::default(),
        }
    }

    /// Within `EXISTS` or `LATERAL`, which see rows that can bind `row` as well, and `sure` do.
    fn within(&self, row: &Slots, sure: &Slots) -> Context {
        let mut outer = Slots::clone(&self.outer);
        outer.extend(row);
        let mut outer_sure = Slots::clone(&self.outer_sure);
        outer_sure.extend(sure);
        Context {
            graph: self.graph,
            graph_is_given: true,
            outer: Rc::new(outer),
            outer_sure: Rc::new(outer_sure),
        }
    }
}

impl<'t> Lowering<'t> {
    fn new(tokens: &'t Tokens<'t>, options: &ParseOptions) -> Lowering<'t> {
        Lowering {
            tokens,
            written: written(tokens),
            scopes: vec![Scope::outermost()],
            kept: Vec::new(),
            variables: Vec::new(),
            is_written: Vec::new(),
            prefixes: refusal::prefixes(tokens, options),
            constants: Vec::new(),
            constant_ids: HashTable::new(),
            hashes: DefaultHashBuilder::default(),
            union_default: options.union_default_graph,
        }
    }

    fn constant(&mut self, term: Term) -> ConstantId {
        let hash = self.hashes.hash_one(&term);
        let constants = &self.constants;
        let is_it = |id: &ConstantId| constants[id.0 as usize] == term;
        if let Some(id) = self.constant_ids.find(hash, is_it) {
            return *id;
        }
        let id = ConstantId(self.constants.len() as u32);
        let hash_of = |id: &ConstantId| self.hashes.hash_one(&self.constants[id.0 as usize]);
        self.constant_ids.insert_unique(hash, id, hash_of);
        self.constants.push(term);
        id
    }
}
