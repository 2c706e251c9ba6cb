//! The prefixes and base in force at places of a Turtle document.
//!
//! One list of declarations serves all places: a place is a range of it and a base. A declaration
//! that changes nothing is not listed, and where superseded ones outweigh those in force a place
//! first lists the latter anew and begins there. So the list is at most about twice the
//! declarations, and what a place's parser reads is at most about twice what is in force.
//!
//! Why this way: a parser with its own prefixes for each place would cost places times prefixes,
//! all held at once. 9.7 MB with 40,000 prefixes between the statements took 1.75 GB that way, and
//! takes 29 MB with the text this way (2026-11-21).

use super::super::quads::{ReadError, turtle_error};
use crate::strictness::Strictness;
use oxttl::TurtleParser;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Superseded declarations that a place may carry beside as many as are in force.
const SUPERSEDED_FREE: usize = 16;

/// A prefix and the absolute IRI that it stands for.
#[derive(Clone, Debug)]
pub(super) struct Declaration {
    pub(super) prefix: Arc<str>,
    pub(super) iri: Arc<str>,
}

/// What is in force at a place, as part of the list that [`Environments::into_list`] gives.
#[derive(Clone, Debug)]
pub(super) struct Environment {
    base: Option<Arc<str>>,
    declarations: Range<usize>,
}

impl Environment {
    /// A parser with these prefixes and this base. O(prefixes in force).
    pub(super) fn parser(&self, list: &[Declaration]) -> Result<TurtleParser, ReadError> {
        let mut parser = with_base(TurtleParser::new(), self.base.as_deref())?;
        for Declaration { prefix, iri } in &list[self.declarations.clone()] {
            parser = parser
                .with_prefix(&**prefix, &**iri)
                .map_err(|error| ReadError::base(iri, &error))?;
        }
        Ok(parser)
    }

    /// Number of declarations that its parser takes.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.declarations.len()
    }
}

/// Follows a document's directives from its beginning.
pub(super) struct Environments {
    base: Option<Arc<str>>,
    list: Vec<Declaration>,
    /// Where the current places begin in the list.
    first: usize,
    in_force: BTreeMap<Arc<str>, Arc<str>>,
    in_force_bytes: usize,
}

impl Environments {
    /// Nothing is in force but the base, which must be an absolute IRI.
    pub(super) fn new(base: Option<&str>) -> Result<Environments, ReadError> {
        drop(with_base(TurtleParser::new(), base)?);
        Ok(Environments {
            base: base.map(Arc::from),
            list: Vec::new(),
            first: 0,
            in_force: BTreeMap::new(),
            in_force_bytes: 0,
        })
    }

    /// Takes the text of one directive. Nothing changes where it is malformed.
    pub(super) fn read(&mut self, directive: &[u8]) -> Result<(), ReadError> {
        let parser = with_base(TurtleParser::new(), self.base.as_deref())?;
        let mut reading = parser.for_slice(directive);
        for triple in reading.by_ref() {
            triple.map_err(|error| turtle_error(&error, 1, Strictness::Strict))?;
        }
        for (prefix, iri) in reading.prefixes() {
            self.declare(prefix, iri);
        }
        if reading.base_iri() != self.base.as_deref() {
            self.base = reading.base_iri().map(Arc::from);
        }
        Ok(())
    }

    fn declare(&mut self, prefix: &str, iri: &str) {
        let before = self.in_force.get_key_value(prefix);
        if before.is_some_and(|(_, before)| **before == *iri) {
            return;
        }
        let name = before.map_or_else(|| Arc::from(prefix), |(name, _)| Arc::clone(name));
        let declaration = Declaration {
            prefix: name,
            iri: Arc::from(iri),
        };
        self.list.push(declaration.clone());
        self.in_force_bytes += iri.len();
        match self.in_force.insert(declaration.prefix, declaration.iri) {
            Some(superseded) => self.in_force_bytes -= superseded.len(),
            None => self.in_force_bytes += prefix.len(),
        }
    }

    /// Bytes of the prefixes in force and their IRIs.
    pub(super) fn bytes(&self) -> usize {
        self.in_force_bytes
    }

    /// What is in force now. Amortised O(1) a declaration.
    pub(super) fn current(&mut self) -> Environment {
        if self.list.len() - self.first > 2 * self.in_force.len() + SUPERSEDED_FREE {
            self.first = self.list.len();
            let in_force = self.in_force.iter().map(|(prefix, iri)| Declaration {
                prefix: Arc::clone(prefix),
                iri: Arc::clone(iri),
            });
            self.list.extend(in_force);
        }
        Environment {
            base: self.base.clone(),
            declarations: self.first..self.list.len(),
        }
    }

    /// The list that all environments refer to.
    pub(super) fn into_list(self) -> Arc<[Declaration]> {
        self.list.into()
    }
}

fn with_base(parser: TurtleParser, base: Option<&str>) -> Result<TurtleParser, ReadError> {
    match base {
        None => Ok(parser),
        Some(base) => parser
            .with_base_iri(base)
            .map_err(|error| ReadError::base(base, &error)),
    }
}
