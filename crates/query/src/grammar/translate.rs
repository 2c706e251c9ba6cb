//! The syntax tree to [`abstract_query`](crate::grammar::abstract_query) (SPARQL 1.1 Query section 18.2, SPARQL 1.2 where
//! it says more).
//!
//! What the grammar does not say is decided here: what prefixes and relative IRIs stand for, which names may
//! stand where, what a group is joined of, what is grouped. Each error has the token that it is about.
//!
//! | module | holds |
//! |---|---|
//! | `term` | IRIs, literals, labels |
//! | `prefixes` | what prefixes stand for |
//! | `hole` | terms for which placeholders are put |
//! | `function` | functions and aggregates, those that are named by an IRI too; constant patterns |
//! | `triples` | triples, triple terms, reifiers, paths |
//! | `group` | groups and what stands in them, inline data |
//! | `scope` | which variables a pattern binds |
//! | `expression` | expressions |
//! | `select` | forms, grouping, selection, modifiers |
//! | `standing` | what standing queries say of streams |
//! | `update` | operations of an update |
//! | `data` | the quads of `INSERT DATA` and `DELETE DATA` |
//!
//! Recurs as deep as brackets are nested, which the parser has counted; chains (`UNION`, `&&`, the elements of
//! a group) are nodes of many children, and walked without recursion.

mod data;
mod expression;
mod function;
mod group;
mod hole;
mod prefixes;
mod scope;
mod select;
mod standing;
mod term;
mod triples;
mod update;

#[cfg(test)]
pub(crate) use function::{cast, usable};
pub(crate) use hole::{Holes, Parameter};
pub(crate) use scope::in_scope;
pub(crate) use term::{is_relative, language, number_type, unescape};
pub(crate) use update::{Declared, Modification, Parts, update};

use crate::error::ParseError;
use crate::grammar::abstract_query::{Aggregate, Constant, Name, Query, Streams, Terms};
use crate::grammar::parser::tree::{Id, NodeKind, Tree};
use crate::grammar::parser::{GrammarError, Parsed};
use crate::limits::{Exceeded, Limit, Limits};
use crate::options::ParseOptions;
use hashbrown::HashSet;
use oxiri::Iri;
use oxrdf::Term;
use prefixes::Prefixes;
use triples::Property;

/// What a text says, and what its numbers stand for.
#[derive(Debug)]
pub(crate) struct Translated<'t, T> {
    pub(crate) said: T,
    pub(crate) terms: Terms<'t>,
    /// Prefixes of the options and of the text, without colons.
    pub(crate) prefixes: Vec<(String, String)>,
    /// As [`Made::bytes`].
    pub(crate) made: u64,
}

/// The query of a tree.
pub(crate) fn query<'t>(
    tree: &'t Tree<'t>,
    options: &'t ParseOptions,
) -> Result<Translated<'t, Query>, ParseError> {
    translated(tree, options, 0, Translation::unit)
}

/// The standing query of a tree: what is asked, and what it says of streams. `read`: what its pragmas say of them.
pub(crate) fn standing<'t>(
    tree: &'t Tree<'t>,
    options: &'t ParseOptions,
    read: Streams,
) -> Result<(Translated<'t, Query>, Streams), ParseError> {
    let mut streams = Streams::default();
    let parsed = translated(tree, options, 0, |this| {
        this.streams = read;
        let query = this.standing_unit();
        streams = std::mem::take(&mut this.streams);
        query
    })?;
    Ok((parsed, streams))
}

/// The query of a tree with placeholders in holes.
pub(crate) fn query_with_holes<'t>(
    tree: &'t Tree<'t>,
    options: &'t ParseOptions,
    holes: Holes,
) -> Result<(Translated<'t, Query>, Holes), ParseError> {
    let mut met = Holes::default();
    let parsed = translated(tree, options, 0, |this| {
        this.holes = holes;
        let query = this.unit();
        met = std::mem::take(&mut this.holes);
        query
    })?;
    Ok((parsed, met))
}

/// The term of a tree of one.
pub(crate) fn term(tree: &Tree<'_>, options: &ParseOptions) -> Result<Term, ParseError> {
    let ground = |this: &mut Translation<'_>| this.ground(Tree::ROOT.only());
    let translated = translated(tree, options, 0, ground)?;
    Ok(translated.terms.term(translated.said).clone())
}

fn translated<'t, T>(
    tree: &'t Tree<'t>,
    options: &'t ParseOptions,
    made: u64,
    rule: impl FnOnce(&mut Translation<'t>) -> Parsed<T>,
) -> Result<Translated<'t, T>, ParseError> {
    let mut translation = Translation::new(tree, options)?;
    translation.made.bytes = made;
    match rule(&mut translation) {
        Ok(said) => Ok(Translated {
            said,
            terms: translation.terms,
            prefixes: translation.prefixes.into_pairs(),
            made: translation.made.bytes,
        }),
        Err(fault) => Err(fault.placed(tree.tokens)),
    }
}

struct Translation<'t> {
    tree: &'t Tree<'t>,
    base: Option<Iri<String>>,
    prefixes: Prefixes<'t>,
    terms: Terms<'t>,
    /// The aggregates of the select around, each with the variable that stands for it; `None` where none may
    /// stand.
    aggregates: Option<Vec<(Name, Aggregate)>>,
    labels: Labels<'t>,
    /// Room for those of a subject, empty between two subjects.
    properties: Vec<Property>,
    /// Within `SERVICE`, whose functions are another's.
    is_elsewhere: bool,
    holes: Holes,
    /// Of a standing query; else empty.
    streams: Streams,
    made: Made,
    /// See [`Limits::listed_names`].
    listed_max: u64,
}

/// What a text abbreviates, written out: a prefixed name takes the IRI of its prefix along, a relative IRI its base,
/// a triple term its parts, what repeats a triple term a copy of it, and what is sent to another endpoint everything. So a
/// megabyte of text can mean gigabytes, one IRI of 500 kB and 100,000 short names; each is counted before it is
/// made. Upper bounds: nested triple terms count their parts at each level.
pub(crate) struct Made {
    /// So far.
    pub(crate) bytes: u64,
    max: u64,
}

impl Made {
    pub(crate) fn new(limits: &Limits) -> Made {
        Made {
            bytes: 0,
            max: limits.expanded_bytes,
        }
    }

    /// Counts what is about to be made.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), Exceeded> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes <= self.max {
            return Ok(());
        }
        Err(Exceeded {
            limit: Limit::ExpandedBytes,
            used: self.bytes,
            max: self.max,
        })
    }

    /// The same of a token's term.
    fn count_at(&mut self, token: usize, bytes: usize) -> Parsed {
        self.count(bytes)
            .map_err(|exceeded| GrammarError::of(exceeded.kind(), token, exceeded.to_string()))
    }
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
        crate::options::check_options(options)?;
        Ok(Translation {
            tree,
            base: options.base.clone().map(Iri::parse_unchecked),
            prefixes: Prefixes::of(options),
            terms: Terms::default(),
            aggregates: None,
            labels: Labels::default(),
            properties: Vec::new(),
            is_elsewhere: false,
            holes: Holes::default(),
            streams: Streams::default(),
            made: Made::new(&options.limits),
            listed_max: options.limits.listed_names,
        })
    }

    fn kind(&self, id: Id) -> NodeKind {
        self.tree.kind(id)
    }

    fn fault<T>(&self, id: Id, message: impl Into<String>) -> Parsed<T> {
        Err(GrammarError::at(self.tree.range(id).start, message.into()))
    }

    fn constant(&mut self, term: impl Into<Term>) -> Constant {
        self.terms.constant(term.into())
    }
}
