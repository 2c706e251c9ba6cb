//! The formats that a load reads, and the transcription of those that cannot be cut at lines.
//!
//! Everything becomes lines of N-Quads before it is parsed for the load, so that there is one path
//! through the loader:
//!
//! | source | transcribed |
//! |---|---|
//! | N-Triples, N-Quads | not at all: cut at line ends |
//! | Turtle in a file, not compressed | the file is mapped and cut into parts by one scan; workers transcribe parts side by side |
//! | everything else | by the library's parser on a thread of its own, in blocks, as the others use them up |
//!
//! A mapped file must not be changed while it is loaded: what then is read is undefined, and cutting
//! it short ends the process (never the store, which only a complete load changes).
//!
//! Blank labels survive, so a source is one scope as ever. A malformed document has no next line to
//! go on with: it always ends the load, whatever is to be done about malformed lines.
//!
//! Cost: writing a line and reading it again is about a fifth of what the library's parsers take.

use crate::prefixes::Prefixes;
use oxrdf::{GraphNameRef, LiteralRef, NamedOrBlankNodeRef, QuadRef, TermRef, Triple};
use rdf::Strictness;
use rdf::format::{Format, ReadError, read_quads_noting};
use rdf::nt::Dialect;
use std::cell::Cell;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;

/// Blocks that a transcriber is ahead.
const BLOCKS_AHEAD: usize = 2;

/// What a source holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// N-Triples.
    NTriples,
    /// N-Quads.
    NQuads,
    /// Another format, which is transcribed.
    Other(Format),
}

impl From<Format> for Syntax {
    fn from(format: Format) -> Syntax {
        match format {
            Format::NTriples => Syntax::NTriples,
            Format::NQuads => Syntax::NQuads,
            other => Syntax::Other(other),
        }
    }
}

impl Syntax {
    /// The syntax that a name's extension stands for, without a compression's.
    pub fn of_name(name: &str) -> Option<Syntax> {
        let (_, extension) = name.rsplit_once('.')?;
        Format::from_extension(extension).map(Syntax::from)
    }

    /// The syntax of the format with this name, see [`Format::from_name`].
    pub fn of_format(name: &str) -> Option<Syntax> {
        Format::from_name(name).map(Syntax::from)
    }

    /// The extensions that [`Syntax::of_name`] knows, for messages.
    pub fn known_extensions() -> String {
        let all = Format::ALL.map(|format| format!(".{}", format.extension()));
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

/// A document that a thread transcribes: blocks of whole lines, then perhaps an error.
pub(super) type Blocks = Receiver<Result<Vec<u8>, ReadError>>;

/// What is transcribed.
pub(super) struct Document<'r> {
    pub(super) reader: Box<dyn Read + Send + 'r>,
    /// Resolves relative IRIs.
    pub(super) base: Option<String>,
    /// Where its prefixes are noted.
    pub(super) prefixes: Arc<Mutex<Prefixes>>,
}

/// Transcribes a document on a thread of `scope`, in blocks of about `block_bytes`. The thread ends
/// with the document, or when nobody takes its blocks any more.
pub(super) fn transcribe<'scope>(
    scope: &'scope Scope<'scope, '_>,
    rules: (Format, Strictness),
    document: Document<'scope>,
    block_bytes: usize,
) -> Blocks {
    let (sender, blocks) = sync_channel(BLOCKS_AHEAD);
    scope.spawn(move || send_blocks(rules, document, block_bytes, &sender));
    blocks
}

fn send_blocks(
    (format, strictness): (Format, Strictness),
    document: Document<'_>,
    block_bytes: usize,
    sender: &SyncSender<Result<Vec<u8>, ReadError>>,
) {
    let mut block = Vec::new();
    let line_ends = Cell::new(0);
    let Document {
        reader,
        base,
        prefixes,
    } = document;
    let mut note = |name: &str, iri: &str| {
        let mut prefixes = prefixes.lock().unwrap_or_else(PoisonError::into_inner);
        prefixes.note(name, iri);
    };
    let base = base.as_deref();
    let reader = LineCounter {
        reader,
        line_ends: &line_ends,
    };
    let read = read_quads_noting(strictness, format, reader, base, &mut note, &mut |quad| {
        write_line(quad, &mut block);
        if block.len() < block_bytes {
            return ControlFlow::Continue(());
        }
        match sender.send(Ok(std::mem::take(&mut block))) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    });
    // Nobody takes what is left where the load has ended: then it is not wanted.
    drop(sender.send(Ok(block)));
    if let Err(error) = read {
        drop(sender.send(Err(placed(error, line_ends.get() + 1))));
    }
}

/// The libraries' parsers hold a token as a whole and refuse one of more than 16 MiB as if memory
/// were short; the line is the one that was being read then.
fn placed(error: ReadError, line: u64) -> ReadError {
    match error {
        ReadError::Io(error) if error.kind() == io::ErrorKind::OutOfMemory => ReadError::Syntax {
            line: Some(line),
            column: None,
            message: "a term that ends here or later is longer than 16 MiB".to_owned(),
            is_unusual: false,
        },
        other => other,
    }
}

/// Counts the newlines that pass.
struct LineCounter<'c, R> {
    reader: R,
    line_ends: &'c Cell<u64>,
}

impl<R: Read> Read for LineCounter<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(into)?;
        let line_ends = memchr::memchr_iter(b'\n', &into[..read]).count();
        self.line_ends.set(self.line_ends.get() + line_ends as u64);
        Ok(read)
    }
}

/// Appends a quad as a line of N-Quads.
pub(super) fn write_line(quad: QuadRef<'_>, line: &mut Vec<u8>) {
    write_node(quad.subject, line);
    line.push(b' ');
    write_iri(quad.predicate.as_str(), line);
    line.push(b' ');
    write_term(quad.object, line);
    match quad.graph_name {
        GraphNameRef::DefaultGraph => {}
        GraphNameRef::NamedNode(iri) => {
            line.push(b' ');
            write_iri(iri.as_str(), line);
        }
        GraphNameRef::BlankNode(blank) => {
            line.push(b' ');
            write_node(blank.into(), line);
        }
    }
    line.extend_from_slice(b" .\n");
}

fn write_node(node: NamedOrBlankNodeRef<'_>, line: &mut Vec<u8>) {
    match node {
        NamedOrBlankNodeRef::NamedNode(iri) => write_iri(iri.as_str(), line),
        NamedOrBlankNodeRef::BlankNode(blank) => {
            line.extend_from_slice(b"_:");
            line.extend_from_slice(blank.as_str().as_bytes());
        }
    }
}

/// The parsers have checked the IRI: it holds nothing that had to be escaped.
fn write_iri(iri: &str, line: &mut Vec<u8>) {
    line.push(b'<');
    line.extend_from_slice(iri.as_bytes());
    line.push(b'>');
}

fn write_term(term: TermRef<'_>, line: &mut Vec<u8>) {
    match term {
        TermRef::NamedNode(iri) => write_iri(iri.as_str(), line),
        TermRef::BlankNode(blank) => write_node(blank.into(), line),
        TermRef::Literal(literal) => write_literal(literal, line),
        TermRef::Triple(triple) => write_triple(triple, line),
    }
}

/// The parsers have checked how deep triple terms nest.
fn write_triple(triple: &Triple, line: &mut Vec<u8>) {
    line.extend_from_slice(b"<<( ");
    write_node(triple.subject.as_ref(), line);
    line.push(b' ');
    write_iri(triple.predicate.as_str(), line);
    line.push(b' ');
    write_term(triple.object.as_ref(), line);
    line.extend_from_slice(b" )>>");
}

fn write_literal(literal: LiteralRef<'_>, line: &mut Vec<u8>) {
    line.push(b'"');
    for &byte in literal.value().as_bytes() {
        match byte {
            b'"' | b'\\' => line.extend_from_slice(&[b'\\', byte]),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            _ => line.push(byte),
        }
    }
    line.push(b'"');
    if let Some(language) = literal.language() {
        line.push(b'@');
        line.extend_from_slice(language.as_bytes());
        if let Some(direction) = literal.direction() {
            line.extend_from_slice(b"--");
            line.extend_from_slice(direction.to_string().as_bytes());
        }
    } else if literal.datatype() != oxrdf::vocab::xsd::STRING {
        line.extend_from_slice(b"^^");
        write_iri(literal.datatype().as_str(), line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::{BaseDirection, Literal, NamedNode, Quad, Term};
    use rdf::nt::Parser;

    #[test]
    fn lines_come_back_as_the_quads_they_were() {
        let iri = NamedNode::new("http://e.example/é").unwrap();
        let nested = Triple::new(
            iri.clone(),
            iri.clone(),
            Literal::new_simple_literal("a\t\u{0}"),
        );
        let nested = Triple::new(iri.clone(), iri.clone(), nested);
        let objects: Vec<Term> = vec![
            Literal::new_simple_literal("\"\\\n\r'").into(),
            Literal::new_typed_literal("05", oxrdf::vocab::xsd::INTEGER).into(),
            Literal::new_language_tagged_literal("x", "de-at")
                .unwrap()
                .into(),
            Literal::new_directional_language_tagged_literal("x", "he", BaseDirection::Rtl)
                .unwrap()
                .into(),
            oxrdf::BlankNode::new("a.b-c").unwrap().into(),
            nested.into(),
        ];
        for object in objects {
            let quad = Quad::new(iri.clone(), iri.clone(), object, iri.clone());
            let mut line = Vec::new();
            write_line(quad.as_ref(), &mut line);
            let mut parser = Parser::new(&line, Dialect::NQuads, 1);
            let statement = parser.next().unwrap().unwrap();
            assert_eq!(statement.object, quad.object.as_ref());
            assert_eq!(statement.graph, Some(iri.as_ref().into()));
            assert!(parser.next().is_none());
        }
    }

    #[test]
    fn extensions_are_known_with_their_other_names() {
        assert_eq!(
            Syntax::of_name("x.turtle"),
            Some(Syntax::Other(Format::Turtle))
        );
        assert_eq!(Syntax::of_name("x.NT"), Some(Syntax::NTriples));
        assert_eq!(Syntax::of_name("nt"), None);
        assert!(Syntax::known_extensions().starts_with(".nt, .nq, .ttl"));
    }
}
