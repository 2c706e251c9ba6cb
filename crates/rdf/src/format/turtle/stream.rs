//! Feeding the library's Turtle and TriG parsers from a reader, in pieces.
//!
//! The library's own readers refuse a token of more than 16 MiB, which its parser for slices takes,
//! so a document would be accepted or not depending on whether it comes from a file or a pipe. Its
//! parsers that are fed have no limit; ours is that of the scan before them
//! ([`TOKEN_BYTES_MAX`](super::TOKEN_BYTES_MAX)), for slices too.
//!
//! Invariant: an unfinished token is looked at again with each piece, so pieces grow while nothing
//! comes out, and a token of *n* bytes costs O(*n*) up to 32 MiB and a pass for each 16 MiB beyond.
//! Memory: a piece, and the line or token that is being read.

use super::super::quads::{OnPrefix, OnQuad, ReadError, give, io_error, turtle_error};
use crate::strictness::Strictness;
use oxrdf::{GraphName, Quad};
use oxttl::trig::LowLevelTriGParser;
use oxttl::turtle::LowLevelTurtleParser;
use oxttl::{TriGParser, TurtleParser, TurtleSyntaxError};
use std::io::Read;

/// Bytes that a parser is fed at once.
const PIECE_BYTES: usize = 64 * 1024;
/// The same while a token of many pieces goes on.
const PIECE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A parser of the library that is fed.
pub(in super::super) struct Fed {
    parser: Low,
    strictness: Strictness,
}

enum Low {
    Turtle(LowLevelTurtleParser),
    TriG(LowLevelTriGParser),
}

impl Fed {
    /// A parser of Turtle documents.
    pub(in super::super) fn turtle(
        base: Option<&str>,
        strictness: Strictness,
    ) -> Result<Fed, ReadError> {
        let mut parser = TurtleParser::new();
        if let Some(base) = base {
            parser = parser
                .with_base_iri(base)
                .map_err(|error| ReadError::base(base, &error))?;
        }
        if strictness.is_lenient() {
            parser = parser.lenient();
        }
        Ok(Fed {
            parser: Low::Turtle(parser.low_level()),
            strictness,
        })
    }

    /// A parser of TriG documents.
    pub(in super::super) fn trig(
        base: Option<&str>,
        strictness: Strictness,
    ) -> Result<Fed, ReadError> {
        let mut parser = TriGParser::new();
        if let Some(base) = base {
            parser = parser
                .with_base_iri(base)
                .map_err(|error| ReadError::base(base, &error))?;
        }
        if strictness.is_lenient() {
            parser = parser.lenient();
        }
        Ok(Fed {
            parser: Low::TriG(parser.low_level()),
            strictness,
        })
    }

    /// Gives the quads of `input` to `on_quad` in order, until it breaks; those before an error
    /// are given.
    pub(in super::super) fn read(
        &mut self,
        mut input: impl Read,
        on_quad: &mut OnQuad<'_>,
    ) -> Result<(), ReadError> {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        let mut target = PIECE_BYTES;
        loop {
            piece.clear();
            let outcome = input.by_ref().take(target as u64).read_to_end(&mut piece);
            let is_end = outcome.is_ok() && piece.is_empty();
            if is_end {
                self.end();
            } else {
                self.extend(&piece);
            }
            let mut is_quiet = true;
            while let Some(quad) = self.next() {
                is_quiet = false;
                let quad = quad.map_err(|error| turtle_error(&error, 1, self.strictness))?;
                if give(quad.as_ref(), self.strictness, on_quad)?.is_break() {
                    return Ok(());
                }
            }
            outcome.map_err(io_error)?;
            if is_end {
                return Ok(());
            }
            target = if is_quiet {
                (2 * target).min(PIECE_BYTES_MAX)
            } else {
                PIECE_BYTES
            };
        }
    }

    /// Tells the prefixes that are declared at the end of what was read.
    pub(in super::super) fn prefixes(&self, on_prefix: &mut OnPrefix<'_>) {
        let mut tell = |(name, iri)| on_prefix(name, iri);
        match &self.parser {
            Low::Turtle(parser) => parser.prefixes().for_each(&mut tell),
            Low::TriG(parser) => parser.prefixes().for_each(&mut tell),
        }
    }

    fn extend(&mut self, piece: &[u8]) {
        match &mut self.parser {
            Low::Turtle(parser) => parser.extend_from_slice(piece),
            Low::TriG(parser) => parser.extend_from_slice(piece),
        }
    }

    fn end(&mut self) {
        match &mut self.parser {
            Low::Turtle(parser) => parser.end(),
            Low::TriG(parser) => parser.end(),
        }
    }

    fn next(&mut self) -> Option<Result<Quad, TurtleSyntaxError>> {
        match &mut self.parser {
            Low::Turtle(parser) => {
                let triple = parser.parse_next()?;
                Some(triple.map(|triple| triple.in_graph(GraphName::DefaultGraph)))
            }
            Low::TriG(parser) => parser.parse_next(),
        }
    }
}
