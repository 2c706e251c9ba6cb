//! Cutting a Turtle document into parts that threads parse side by side.
//!
//! `oxttl` has a splitter of its own, but it guesses: a period counts as a statement's end if three
//! statements can be parsed after it, which text inside a long string can satisfy, and parts lose
//! the base IRI and later prefixes. Here one scan finds the statement ends and the directives for
//! certain, and each part knows the prefixes and base in force at its place ([`environment`]). Blank
//! node labels are the document's; anonymous ones are unique.
//!
//! Invariant: a part is at least as long as the prefixes before it, the last part excepted. So
//! giving them to parsers again costs less than reading the document, whatever it declares.
//!
//! Cost: the scan goes at 2.0 GB/s on one core where the parser goes at 0.13
//! (`examples/format_speed.rs`, 2026-11-21). A part that is not being read holds no prefixes.
//!
//! [`environment`]: super::environment

use super::super::guard::{Objection, Place, Refusal, Scan, after_mark};
use super::super::read::{ReadError, check_depth, turtle_error};
use super::environment::{Declaration, Environment, Environments};
use super::{Sink, TurtleScan};
use crate::nt::count_lines;
use oxrdf::{GraphNameRef, QuadRef};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Whole statements of a Turtle document, with the prefixes and base in force before them.
pub struct TurtlePart<'t> {
    bytes: &'t [u8],
    first_line_number: u64,
    environment: Environment,
    declarations: Arc<[Declaration]>,
}

impl<'t> TurtlePart<'t> {
    /// The part's text.
    pub fn bytes(&self) -> &'t [u8] {
        self.bytes
    }

    /// Gives the part's triples to `on_quad` in order, until it breaks. Lines in errors are those
    /// of the whole document.
    pub fn read(
        self,
        on_quad: &mut dyn FnMut(QuadRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        let parser = self.environment.parser(&self.declarations)?;
        for triple in parser.for_slice(self.bytes) {
            let triple = triple.map_err(|error| turtle_error(&error, self.first_line_number))?;
            let quad = triple.as_ref().in_graph(GraphNameRef::DefaultGraph);
            check_depth(quad)?;
            if on_quad(quad).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Cuts a Turtle document into at most `parts` parts of about equal size, in order: reading them
/// one after the other is reading the document. `base` resolves relative IRIs. A leading byte order
/// mark is left out. An error is one that makes cutting pointless: triple terms nested too deep, a
/// token beyond the limit of [`read_quads`](super::super::read_quads), or a base that is no
/// absolute IRI. Behind a malformed directive there are no cuts.
pub fn split_turtle<'t>(
    bytes: &'t [u8],
    base: Option<&str>,
    parts: usize,
) -> Result<Vec<TurtlePart<'t>>, ReadError> {
    let bytes = after_mark(bytes);
    let mut scan = TurtleScan::new(Outline::new(bytes, base, parts)?);
    if let Err(Objection { offset, message }) = scan.feed(bytes) {
        let start = Place { line: 1, column: 1 };
        let place = super::super::guard::advance(start, &bytes[..offset]);
        return Err(Refusal { place, message }.into());
    }
    let Outline {
        places,
        environments,
        ..
    } = scan.into_sink();
    let declarations = environments.into_list();
    let ends: Vec<usize> = places[1..].iter().map(|&(start, _)| start).collect();
    let mut line = 1;
    let mut result = Vec::with_capacity(places.len());
    for ((start, environment), end) in places
        .into_iter()
        .zip(ends.into_iter().chain([bytes.len()]))
    {
        let part = &bytes[start..end];
        result.push(TurtlePart {
            bytes: part,
            first_line_number: line,
            environment,
            declarations: Arc::clone(&declarations),
        });
        line += count_lines(part);
    }
    Ok(result)
}

/// Follows directives, and takes the first cut after each multiple of the target size.
struct Outline<'t> {
    bytes: &'t [u8],
    target: usize,
    next: usize,
    /// Whether statement ends or what is in force cannot be told any more.
    is_doubtful: bool,
    environments: Environments,
    /// Where parts begin, the first at 0.
    places: Vec<(usize, Environment)>,
}

impl<'t> Outline<'t> {
    fn new(bytes: &'t [u8], base: Option<&str>, parts: usize) -> Result<Outline<'t>, ReadError> {
        let target = bytes.len().div_ceil(parts.max(1)).max(1);
        let mut environments = Environments::new(base)?;
        let first = environments.current();
        Ok(Outline {
            bytes,
            target,
            next: target,
            is_doubtful: false,
            environments,
            places: vec![(0, first)],
        })
    }
}

impl Sink for Outline<'_> {
    fn cut(&mut self, offset: usize) {
        if !self.is_doubtful && offset >= self.next && offset < self.bytes.len() {
            self.places.push((offset, self.environments.current()));
            self.next = offset + self.target.max(self.environments.bytes());
        }
    }

    fn directive(&mut self, start: usize, end: usize) {
        // The part that holds a malformed directive reports it with its place.
        if !self.is_doubtful && self.environments.read(&self.bytes[start..end]).is_err() {
            self.is_doubtful = true;
        }
    }

    fn doubt(&mut self) {
        self.is_doubtful = true;
    }
}

#[cfg(test)]
mod tests;
