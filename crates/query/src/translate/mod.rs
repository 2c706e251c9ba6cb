//! The syntax tree to the algebra (SPARQL 1.1 Query section 18.2, SPARQL 1.2 where it says more).
//!
//! What the grammar does not say is decided here: what prefixes and relative IRIs stand for, which names may
//! stand where, what a group is joined of, what is grouped. Each error has the token that it is about.
//!
//! | module | holds |
//! |---|---|
//! | `term` | IRIs, literals, labels |
//! | `triples` | triples, triple terms, reifiers, paths |
//! | `group` | groups and what stands in them, inline data |
//! | `scope` | which variables a pattern binds |
//! | `expression` | expressions |
//! | `select` | forms, grouping, selection, modifiers |
//! | `update` | operations of an update |
//!
//! Recurs as deep as brackets are nested, which the parser has counted; chains (`UNION`, `&&`, the elements of
//! a group) are nodes of many children, and walked without recursion.

mod expression;
mod group;
mod scope;
mod select;
mod term;
mod triples;
mod update;

pub(crate) use scope::in_scope;
pub(crate) use update::{Declared, Modification, Parts, update};

use crate::parse::{ParseError, ParseOptions};
use crate::parser::tree::{Id, Kind, Tree};
use crate::parser::{Fault, Parsed};
use hashbrown::{HashMap, HashSet};
use oxiri::Iri;
use oxrdf::{BlankNode, Term, Variable};
use spargebra::Query;
use spargebra::algebra::AggregateExpression;

/// The query of a tree.
pub(crate) fn query(tree: &Tree<'_>, options: &ParseOptions) -> Result<Query, ParseError> {
    let mut translation = Translation::new(tree, options)?;
    translation
        .unit()
        .map_err(|fault| fault.placed(tree.tokens))
}

/// The term of a tree of one.
pub(crate) fn term(tree: &Tree<'_>, options: &ParseOptions) -> Result<Term, ParseError> {
    let mut translation = Translation::new(tree, options)?;
    let term = translation.ground(Tree::ROOT.only());
    term.map(Term::from)
        .map_err(|fault| fault.placed(tree.tokens))
}

struct Translation<'t> {
    tree: &'t Tree<'t>,
    base: Option<Iri<String>>,
    prefixes: HashMap<&'t str, String>,
    /// The aggregates of the select around, each with the variable that stands for it; `None` where none may
    /// stand.
    aggregates: Option<Vec<(Variable, AggregateExpression)>>,
    labels: Labels<'t>,
    /// What names begin with that are made up, and no name of the text: for variables, and for labels.
    made_up: [Option<String>; 2],
    /// How many have been made up.
    count: usize,
}

/// The labels of blank nodes: one must not stand in two basic graph patterns (SPARQL 1.1 Query section 5.1.1).
#[derive(Default)]
struct Labels<'t> {
    here: HashSet<&'t str>,
    elsewhere: HashSet<&'t str>,
}

impl Labels<'_> {
    /// A basic graph pattern ends.
    fn end(&mut self) {
        self.elsewhere.extend(self.here.drain());
    }
}

impl<'t> Translation<'t> {
    fn new(tree: &'t Tree<'t>, options: &'t ParseOptions) -> Result<Translation<'t>, ParseError> {
        crate::parse::check_options(options)?;
        let base = options.base.clone().map(Iri::parse_unchecked);
        let prefixes = options.prefixes.iter();
        let prefixes = prefixes
            .map(|(prefix, iri)| (prefix.as_str(), iri.clone()))
            .collect();
        Ok(Translation {
            tree,
            base,
            prefixes,
            aggregates: None,
            labels: Labels::default(),
            made_up: [None, None],
            count: 0,
        })
    }

    fn kind(&self, id: Id) -> Kind {
        self.tree.kind(id)
    }

    fn fault<T>(&self, id: Id, message: impl Into<String>) -> Parsed<T> {
        Err(Fault::at(self.tree.range(id).start, message.into()))
    }

    /// A variable that the text does not have.
    fn new_variable(&mut self) -> Variable {
        Variable::new_unchecked(self.new_name(0, &["?", "$"]))
    }

    /// A blank node that the text does not have.
    fn new_blank(&mut self) -> BlankNode {
        BlankNode::new_unchecked(self.new_name(1, &["_:"]))
    }

    fn new_name(&mut self, which: usize, sigils: &[&str]) -> String {
        let text = self.tree.tokens.text;
        let start = self.made_up[which].get_or_insert_with(|| {
            let mut start = "made".to_owned();
            while sigils
                .iter()
                .any(|sigil| text.contains(&format!("{sigil}{start}")))
            {
                start.push('_');
            }
            start
        });
        self.count += 1;
        format!("{start}{}", self.count)
    }
}
