//! Cutting a Turtle document into parts that threads parse side by side.
//!
//! `oxttl` has a splitter of its own, but it guesses: a period counts as a statement's end if three
//! statements can be parsed after it, which text inside a long string can satisfy, and parts lose
//! the base IRI and later prefixes. Here one scan finds the statement ends and the directives for
//! certain, and each part begins with the prefixes and base in force at its place. Blank node
//! labels are the document's; anonymous ones are unique.
//!
//! Cost: the scan goes at 2.0 GB/s on one core where the parser goes at 0.13
//! (`examples/format_speed.rs`, 2026-11-21).

use super::super::guard::{Objection, Place, Refusal, Scan};
use super::super::read::{ReadError, check_depth, turtle_error};
use super::{Sink, TurtleScan};
use crate::nt::count_lines;
use oxrdf::{GraphNameRef, QuadRef};
use oxttl::TurtleParser;
use std::ops::{ControlFlow, Range};

/// Whole statements of a Turtle document, with the prefixes and base in force before them.
pub struct TurtlePart<'t> {
    bytes: &'t [u8],
    first_line_number: u64,
    parser: TurtleParser,
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
        for triple in self.parser.for_slice(self.bytes) {
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
/// one after the other is reading the document. `base` resolves relative IRIs. An error is one that
/// makes cutting pointless: a malformed directive, or triple terms nested too deep.
pub fn split_turtle<'t>(
    bytes: &'t [u8],
    base: Option<&str>,
    parts: usize,
) -> Result<Vec<TurtlePart<'t>>, ReadError> {
    let mut scan = TurtleScan::new(Outline::new(bytes.len(), parts));
    if let Err(Objection { offset, message }) = scan.feed(bytes) {
        let start = Place { line: 1, column: 1 };
        let place = super::super::guard::advance(start, &bytes[..offset]);
        return Err(Refusal { place, message }.into());
    }
    let outline = scan.into_sink();
    let mut starts = outline.cuts;
    starts.insert(0, 0);
    let ends = starts[1..].iter().copied().chain([bytes.len()]);
    let ranges: Vec<Range<usize>> = starts
        .iter()
        .copied()
        .zip(ends)
        .map(|(a, b)| a..b)
        .collect();
    let mut directives = outline.directives.iter().peekable();
    let mut environment = with_base(TurtleParser::new(), base)?;
    let mut line = 1;
    let mut result = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut text = Vec::new();
        while let Some(directive) = directives.next_if(|directive| directive.start < range.start) {
            text.extend_from_slice(&bytes[directive.clone()]);
            text.push(b'\n');
        }
        environment = after(environment, &text, line)?;
        let part = &bytes[range];
        result.push(TurtlePart {
            bytes: part,
            first_line_number: line,
            parser: environment.clone(),
        });
        line += count_lines(part);
    }
    Ok(result)
}

fn with_base(parser: TurtleParser, base: Option<&str>) -> Result<TurtleParser, ReadError> {
    match base {
        None => Ok(parser),
        Some(base) => parser
            .with_base_iri(base)
            .map_err(|error| ReadError::base(base, &error)),
    }
}

/// The parser as it is after reading these directives; `line` is where the next part begins.
fn after(parser: TurtleParser, directives: &[u8], line: u64) -> Result<TurtleParser, ReadError> {
    if directives.is_empty() {
        return Ok(parser);
    }
    let mut reading = parser.clone().for_slice(directives);
    for triple in reading.by_ref() {
        triple.map_err(|error| ReadError::Syntax {
            line: Some(line),
            column: None,
            message: format!("in a directive before this line: {}", error.message()),
        })?;
    }
    let mut next = with_base(parser, reading.base_iri())?;
    for (prefix, iri) in reading.prefixes() {
        next = next
            .with_prefix(prefix, iri)
            .map_err(|error| ReadError::base(iri, &error))?;
    }
    Ok(next)
}

/// Collects directives, and the first cut after each multiple of the target size.
struct Outline {
    target: usize,
    next: usize,
    length: usize,
    is_doubtful: bool,
    cuts: Vec<usize>,
    directives: Vec<Range<usize>>,
}

impl Outline {
    fn new(length: usize, parts: usize) -> Outline {
        let target = length.div_ceil(parts.max(1)).max(1);
        let (cuts, directives) = (Vec::new(), Vec::new());
        Outline {
            target,
            next: target,
            length,
            is_doubtful: false,
            cuts,
            directives,
        }
    }
}

impl Sink for Outline {
    fn cut(&mut self, offset: usize) {
        if !self.is_doubtful && offset >= self.next && offset < self.length {
            self.cuts.push(offset);
            self.next = offset + self.target;
        }
    }

    fn directive(&mut self, start: usize, end: usize) {
        self.directives.push(start..end);
    }

    fn doubt(&mut self) {
        self.is_doubtful = true;
    }
}

#[cfg(test)]
mod tests;
