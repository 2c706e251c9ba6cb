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

use super::super::guard::{LineColumn, Objection, Refusal, Scan, after_mark};
use super::super::quads::{ReadError, give, turtle_error};
use super::environment::{Declaration, Environment, Environments};
use super::{Sink, TurtleScan};
use crate::nt::count_lines;
use crate::strictness::Strictness;
use oxrdf::{GraphNameRef, QuadRef};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Whole statements of a Turtle document, with the prefixes and base in force before them.
pub struct TurtlePart<'t> {
    bytes: &'t [u8],
    first_line_number: u64,
    strictness: Strictness,
    environment: Environment,
    declarations: Arc<[Declaration]>,
}

impl<'t> TurtlePart<'t> {
    /// The part's text.
    pub fn bytes(&self) -> &'t [u8] {
        self.bytes
    }

    /// The declarations of its document, names without colons with their IRIs.
    pub fn declared(&self) -> impl Iterator<Item = (&str, &str)> {
        let declared = self.declarations.iter();
        declared.map(|declared| (&*declared.prefix, &*declared.iri))
    }

    /// Gives the part's triples to `on_quad` in order, until it breaks. Lines in errors are those
    /// of the whole document.
    pub fn read(
        self,
        on_quad: &mut dyn FnMut(QuadRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        let mut parser = self.environment.parser(&self.declarations)?;
        if self.strictness.is_lenient() {
            parser = parser.lenient();
        }
        for triple in parser.for_slice(self.bytes) {
            let triple = triple
                .map_err(|error| turtle_error(&error, self.first_line_number, self.strictness))?;
            let quad = triple.as_ref().in_graph(GraphNameRef::DefaultGraph);
            if give(quad, self.strictness, on_quad)?.is_break() {
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
    let cut = cut(bytes, base, parts, Strictness::Strict)?;
    Ok(cut.parts)
}

/// As [`split_turtle`], for parts that take these IRIs and language tags. `None`: the document declares a prefix
/// or base that a strict parser refuses, so that no part behind it could be given what is in force. It is
/// to be read as a whole.
pub fn split_turtle_with<'t>(
    strictness: Strictness,
    bytes: &'t [u8],
    base: Option<&str>,
    parts: usize,
) -> Result<Option<Vec<TurtlePart<'t>>>, ReadError> {
    let cut = cut(bytes, base, parts, strictness)?;
    let is_whole = strictness.is_lenient() && cut.has_refused;
    Ok((!is_whole).then_some(cut.parts))
}

/// A document's parts.
struct Cut<'t> {
    parts: Vec<TurtlePart<'t>>,
    /// Whether a directive was not understood, behind which there are no cuts.
    has_refused: bool,
}

fn cut<'t>(
    bytes: &'t [u8],
    base: Option<&str>,
    parts: usize,
    strictness: Strictness,
) -> Result<Cut<'t>, ReadError> {
    let bytes = after_mark(bytes);
    let outline = Outline::new(bytes, base, parts)?;
    let mut scan = TurtleScan::new(outline).with_strictness(strictness);
    if let Err(Objection { offset, message }) = scan.feed(bytes) {
        let start = LineColumn { line: 1, column: 1 };
        let place = super::super::guard::advance(start, &bytes[..offset]);
        return Err(Refusal { place, message }.into());
    }
    let Outline {
        places,
        environments,
        has_refused,
        ..
    } = scan.into_sink();
    let declarations = environments.into_list();
    let ends: Vec<usize> = places[1..].iter().map(|&(start, _)| start).collect();
    let mut line = 1;
    let mut parts = Vec::with_capacity(places.len());
    for ((start, environment), end) in places
        .into_iter()
        .zip(ends.into_iter().chain([bytes.len()]))
    {
        let part = &bytes[start..end];
        parts.push(TurtlePart {
            bytes: part,
            first_line_number: line,
            strictness,
            environment,
            declarations: Arc::clone(&declarations),
        });
        line += count_lines(part);
    }
    assert_eq!(
        parts.iter().map(|part| part.bytes.len()).sum::<usize>(),
        bytes.len(),
        "parts are the whole document"
    );
    Ok(Cut { parts, has_refused })
}

/// Follows directives, and takes the first cut after each multiple of the target size.
struct Outline<'t> {
    bytes: &'t [u8],
    target: usize,
    next: usize,
    /// Whether statement ends or what is in force cannot be told any more.
    is_doubtful: bool,
    /// Whether a directive was malformed.
    has_refused: bool,
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
            has_refused: false,
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
            self.has_refused = true;
        }
    }

    fn doubt(&mut self) {
        self.is_doubtful = true;
    }
}

#[cfg(test)]
mod tests;
