//! One line of N-Triples or N-Quads: text in, a statement in spans out.
//!
//! Spans rather than references, so that the parser can own the scratch that decoded escapes go to.
//! White space may stand between any two tokens and is required between none (RDF 1.2 N-Triples,
//! section 3 and the grammar); a token is never cut by it.

use super::{Dialect, Statement, iri};
use crate::name;
use crate::strictness::{Strictness, is_loadable_iri, is_loadable_tag};
use memchr::memchr2;
use oxrdf::vocab::{rdf, xsd};
use oxrdf::{
    BaseDirection, BlankNodeRef, Literal, LiteralRef, NamedNodeRef, NamedOrBlankNode, TermRef,
    Triple,
};
use std::borrow::Cow;

/// How deep triple terms may nest.
pub const NESTING_MAX: usize = 64;

/// What is wrong with a line, and at which byte.
pub(super) struct LineError {
    pub(super) at: usize,
    pub(super) message: Cow<'static, str>,
    /// Whether a lenient parser takes the line, as far as this place.
    pub(super) is_unusual: bool,
}

impl LineError {
    pub(super) fn new(at: usize, message: impl Into<Cow<'static, str>>) -> LineError {
        LineError {
            at,
            message: message.into(),
            is_unusual: false,
        }
    }

    /// The same of something that a lenient parser takes, or does not.
    fn unusual(self, is_unusual: bool) -> LineError {
        LineError { is_unusual, ..self }
    }
}

/// What a well-formed line holds.
pub(super) struct Content {
    pub(super) raw: Option<Raw>,
    pub(super) has_comment: bool,
}

impl Content {
    pub(super) fn statement(self) -> Option<Raw> {
        self.raw
    }
}

/// A piece of the line or of the scratch.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    is_scratch: bool,
}

impl Span {
    #[inline]
    fn of<'a>(self, text: &'a str, scratch: &'a str) -> &'a str {
        let source = if self.is_scratch { scratch } else { text };
        &source[self.start..self.end]
    }
}

/// A term in spans.
enum RawTerm {
    Iri(Span),
    Blank(Span),
    Simple(Span),
    Typed(Span, Span),
    Language(Span, Span, Option<BaseDirection>),
    Triple(Box<Triple>),
}

impl RawTerm {
    fn resolve<'a>(&'a self, text: &'a str, scratch: &'a str) -> TermRef<'a> {
        match self {
            RawTerm::Iri(iri) => NamedNodeRef::new_unchecked(iri.of(text, scratch)).into(),
            RawTerm::Blank(label) => BlankNodeRef::new_unchecked(label.of(text, scratch)).into(),
            RawTerm::Simple(lexical) => {
                LiteralRef::new_simple_literal(lexical.of(text, scratch)).into()
            }
            RawTerm::Typed(lexical, datatype) => LiteralRef::new_typed_literal(
                lexical.of(text, scratch),
                NamedNodeRef::new_unchecked(datatype.of(text, scratch)),
            )
            .into(),
            RawTerm::Language(lexical, language, direction) => {
                let (lexical, language) = (lexical.of(text, scratch), language.of(text, scratch));
                match direction {
                    None => LiteralRef::new_language_tagged_literal_unchecked(lexical, language),
                    Some(direction) => {
                        LiteralRef::new_directional_language_tagged_literal_unchecked(
                            lexical, language, *direction,
                        )
                    }
                }
                .into()
            }
            RawTerm::Triple(triple) => TermRef::Triple(triple),
        }
    }
}

/// A statement in spans.
pub(super) struct Raw {
    subject: RawTerm,
    predicate: Span,
    object: RawTerm,
    graph: Option<RawTerm>,
}

impl Raw {
    pub(super) fn resolve<'a>(&'a self, text: &'a str, scratch: &'a str) -> Statement<'a> {
        Statement {
            subject: self.subject.resolve(text, scratch),
            predicate: self.predicate.of(text, scratch),
            object: self.object.resolve(text, scratch),
            graph: self
                .graph
                .as_ref()
                .map(|graph| graph.resolve(text, scratch)),
        }
    }
}

/// Parses one line, which holds no line end. Decoded escapes are appended to `scratch`.
pub(super) fn parse(
    text: &str,
    dialect: Dialect,
    strictness: Strictness,
    scratch: &mut String,
) -> Result<Content, LineError> {
    let mut line = Line {
        text,
        bytes: text.as_bytes(),
        at: 0,
        strictness,
        scratch,
    };
    line.skip_space();
    let raw = match line.peek() {
        None | Some(b'#') => None,
        Some(b'V') => {
            line.version()?;
            None
        }
        Some(_) => Some(line.statement(dialect)?),
    };
    line.skip_space();
    match line.peek() {
        None => Ok(Content {
            raw,
            has_comment: false,
        }),
        Some(b'#') => Ok(Content {
            raw,
            has_comment: true,
        }),
        Some(_) => Err(line.fault("expected the end of the line after the statement")),
    }
}

struct Line<'l> {
    text: &'l str,
    bytes: &'l [u8],
    at: usize,
    strictness: Strictness,
    scratch: &'l mut String,
}

impl Line<'_> {
    fn statement(&mut self, dialect: Dialect) -> Result<Raw, LineError> {
        let subject = self.subject()?;
        self.skip_space();
        let predicate = self.predicate()?;
        self.skip_space();
        let object = self.object(0)?;
        self.skip_space();
        let graph = match (dialect, self.peek()) {
            (Dialect::NQuads, Some(b'<')) => Some(RawTerm::Iri(self.iri()?)),
            (Dialect::NQuads, Some(b'_')) => Some(RawTerm::Blank(self.blank()?)),
            _ => None,
        };
        self.skip_space();
        if self.peek() != Some(b'.') {
            return Err(self.fault(match dialect {
                Dialect::NQuads if graph.is_none() => "expected a graph or '.' after the object",
                _ => "expected '.' at the end of the statement",
            }));
        }
        self.at += 1;
        Ok(Raw {
            subject,
            predicate,
            object,
            graph,
        })
    }

    /// `VERSION "1.2"`, RDF 1.2 N-Triples section 2.7; the version is not looked at.
    fn version(&mut self) -> Result<(), LineError> {
        if !self.text[self.at..].starts_with("VERSION") {
            return Err(self.fault("expected an IRI or a blank node as subject"));
        }
        self.at += "VERSION".len();
        self.skip_space();
        if self.peek() != Some(b'"') {
            return Err(self.fault("expected a quoted version"));
        }
        self.string().map(|_| ())
    }

    fn subject(&mut self) -> Result<RawTerm, LineError> {
        match self.peek() {
            Some(b'<') => self.iri().map(RawTerm::Iri),
            Some(b'_') => self.blank().map(RawTerm::Blank),
            _ => Err(self.fault("expected an IRI or a blank node as subject")),
        }
    }

    fn predicate(&mut self) -> Result<Span, LineError> {
        match self.peek() {
            Some(b'<') => self.iri(),
            _ => Err(self.fault("expected an IRI as predicate")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<RawTerm, LineError> {
        match self.peek() {
            Some(b'<') if self.bytes[self.at..].starts_with(b"<<(") => self
                .triple_term(depth)
                .map(|triple| RawTerm::Triple(Box::new(triple))),
            Some(b'<') => self.iri().map(RawTerm::Iri),
            Some(b'"') => self.literal(),
            Some(b'_') => self.blank().map(RawTerm::Blank),
            _ => Err(self.fault("expected an IRI, a blank node, a literal or a triple term")),
        }
    }

    /// `<<( subject predicate object )>>`, copied out: rare, and nested.
    fn triple_term(&mut self, depth: usize) -> Result<Triple, LineError> {
        if depth == NESTING_MAX {
            return Err(self.fault(format!("triple terms nest deeper than {NESTING_MAX}")));
        }
        self.at += "<<(".len();
        self.skip_space();
        let subject = self.subject()?;
        self.skip_space();
        let predicate = self.predicate()?;
        self.skip_space();
        let object = self.object(depth + 1)?;
        self.skip_space();
        if !self.bytes[self.at..].starts_with(b")>>") {
            return Err(self.fault("expected ')>>' at the end of the triple term"));
        }
        self.at += ")>>".len();
        let subject = match subject.resolve(self.text, self.scratch) {
            TermRef::BlankNode(blank) => NamedOrBlankNode::from(blank.into_owned()),
            TermRef::NamedNode(iri) => NamedOrBlankNode::from(iri.into_owned()),
            _ => unreachable!("a subject is an IRI or a blank node"),
        };
        let predicate = NamedNodeRef::new_unchecked(predicate.of(self.text, self.scratch));
        let object = match object {
            RawTerm::Triple(triple) => oxrdf::Term::Triple(triple),
            object => object.resolve(self.text, self.scratch).into_owned(),
        };
        Ok(Triple {
            subject,
            predicate: predicate.into_owned(),
            object,
        })
    }

    #[inline]
    fn iri(&mut self) -> Result<Span, LineError> {
        let start = self.at + 1;
        if let Some(end) = iri::end_of_plain(self.bytes, start) {
            self.at = end + 1;
            return Ok(Span {
                start,
                end,
                is_scratch: false,
            });
        }
        self.unusual_iri()
    }

    #[cold]
    fn unusual_iri(&mut self) -> Result<Span, LineError> {
        let open = self.at;
        let span = self.quoted(b'>', Escapes::Codes, "unterminated IRI")?;
        let iri = span.of(self.text, self.scratch);
        match NamedNodeRef::new(iri) {
            Ok(_) => Ok(span),
            Err(_) if self.strictness.is_lenient() && is_loadable_iri(iri) => Ok(span),
            Err(error) => {
                let fault = LineError::new(open, format!("invalid IRI: {error}"));
                Err(fault.unusual(is_loadable_iri(iri)))
            }
        }
    }

    fn blank(&mut self) -> Result<Span, LineError> {
        let open = self.at;
        let start = open + 2;
        if self.bytes.get(open + 1) != Some(&b':') {
            return Err(self.fault("expected ':' after '_'"));
        }
        let mut end = start;
        while let Some(&byte) = self.bytes.get(end) {
            if byte.is_ascii_alphanumeric() || byte == b'_' {
                end += 1;
            } else if byte < 0x80 {
                if end == start || !matches!(byte, b'-' | b'.') {
                    break;
                }
                end += 1;
            } else {
                let character = self.text[end..].chars().next().expect("not at the end");
                if !(name::is_base(character) || end > start && name::is_tail(character)) {
                    break;
                }
                end += character.len_utf8();
            }
        }
        while end > start && self.bytes[end - 1] == b'.' {
            end -= 1;
        }
        if end == start {
            return Err(LineError::new(open, "a blank node needs a label"));
        }
        self.at = end;
        Ok(Span {
            start,
            end,
            is_scratch: false,
        })
    }

    fn literal(&mut self) -> Result<RawTerm, LineError> {
        let lexical = self.string()?;
        self.skip_space();
        match self.peek() {
            Some(b'@') => self.language(lexical),
            Some(b'^') => self.datatype(lexical),
            _ => Ok(RawTerm::Simple(lexical)),
        }
    }

    fn datatype(&mut self, lexical: Span) -> Result<RawTerm, LineError> {
        if !self.bytes[self.at..].starts_with(b"^^") {
            return Err(self.fault("expected '^^' before a datatype"));
        }
        self.at += "^^".len();
        self.skip_space();
        if self.peek() != Some(b'<') {
            return Err(self.fault("expected an IRI as datatype"));
        }
        let open = self.at;
        let datatype = self.iri()?;
        let iri = datatype.of(self.text, self.scratch);
        if iri == rdf::LANG_STRING.as_str() {
            return Err(LineError::new(
                open,
                "a literal of type rdf:langString needs a language tag",
            ));
        }
        if iri == rdf::DIR_LANG_STRING.as_str() {
            return Err(LineError::new(
                open,
                "a literal of type rdf:dirLangString needs a direction",
            ));
        }
        if iri == xsd::STRING.as_str() {
            return Ok(RawTerm::Simple(lexical));
        }
        Ok(RawTerm::Typed(lexical, datatype))
    }

    /// `@tag` or `@tag--ltr`, the tag well-formed by BCP 47 and given in lower case.
    fn language(&mut self, lexical: Span) -> Result<RawTerm, LineError> {
        let open = self.at;
        let start = open + 1;
        let mut end = self.skip_while(start, u8::is_ascii_alphabetic);
        while self.bytes.get(end) == Some(&b'-') {
            let part_end = self.skip_while(end + 1, u8::is_ascii_alphanumeric);
            if part_end == end + 1 {
                break;
            }
            end = part_end;
        }
        let direction = self.direction(end)?;
        let tag = &self.text[start..end];
        let is_common = matches!(tag.len(), 2 | 3) && tag.bytes().all(|b| b.is_ascii_lowercase());
        let is_taken = |tag| {
            Literal::new_language_tagged_literal("", tag).is_ok()
                || self.strictness.is_lenient() && is_loadable_tag(tag)
        };
        if !is_common && !is_taken(tag) {
            let fault = LineError::new(open, format!("invalid language tag '{tag}'"));
            return Err(fault.unusual(is_loadable_tag(tag)));
        }
        self.at = if direction.is_some() {
            end + "--ltr".len()
        } else {
            end
        };
        let is_lower = !tag.bytes().any(|byte| byte.is_ascii_uppercase());
        let language = if is_lower {
            Span {
                start,
                end,
                is_scratch: false,
            }
        } else {
            let start = self.scratch.len();
            self.scratch.push_str(tag);
            self.scratch[start..].make_ascii_lowercase();
            Span {
                start,
                end: self.scratch.len(),
                is_scratch: true,
            }
        };
        Ok(RawTerm::Language(lexical, language, direction))
    }

    fn direction(&self, at: usize) -> Result<Option<BaseDirection>, LineError> {
        if !self.bytes[at..].starts_with(b"--") {
            return Ok(None);
        }
        let end = self.skip_while(at + 2, u8::is_ascii_alphabetic);
        match &self.text[at + 2..end] {
            "ltr" => Ok(Some(BaseDirection::Ltr)),
            "rtl" => Ok(Some(BaseDirection::Rtl)),
            _ => Err(LineError::new(at, "a base direction is --ltr or --rtl")),
        }
    }

    fn string(&mut self) -> Result<Span, LineError> {
        self.quoted(b'"', Escapes::All, "unterminated string")
    }

    /// What stands between the opening character at the cursor and `close`.
    #[inline]
    fn quoted(
        &mut self,
        close: u8,
        escapes: Escapes,
        unterminated: &'static str,
    ) -> Result<Span, LineError> {
        let open = self.at;
        let start = open + 1;
        match memchr2(close, b'\\', &self.bytes[start..]) {
            None => Err(LineError::new(open, unterminated)),
            Some(length) if self.bytes[start + length] == close => {
                self.at = start + length + 1;
                Ok(Span {
                    start,
                    end: start + length,
                    is_scratch: false,
                })
            }
            Some(_) => self.escaped(close, escapes, unterminated),
        }
    }

    #[cold]
    fn escaped(
        &mut self,
        close: u8,
        escapes: Escapes,
        unterminated: &'static str,
    ) -> Result<Span, LineError> {
        let open = self.at;
        let start = self.scratch.len();
        self.at += 1;
        loop {
            let length = memchr2(close, b'\\', &self.bytes[self.at..])
                .ok_or_else(|| LineError::new(open, unterminated))?;
            self.scratch.push_str(&self.text[self.at..self.at + length]);
            self.at += length;
            if self.bytes[self.at] == close {
                self.at += 1;
                return Ok(Span {
                    start,
                    end: self.scratch.len(),
                    is_scratch: true,
                });
            }
            let character = self.escape(escapes)?;
            self.scratch.push(character);
        }
    }

    /// The character of the escape at the cursor, which moves past it.
    fn escape(&mut self, escapes: Escapes) -> Result<char, LineError> {
        let character = match (self.bytes.get(self.at + 1), escapes) {
            (Some(b'u'), _) => return self.code_point(4),
            (Some(b'U'), _) => return self.code_point(8),
            (Some(b't'), Escapes::All) => '\t',
            (Some(b'b'), Escapes::All) => '\x08',
            (Some(b'n'), Escapes::All) => '\n',
            (Some(b'r'), Escapes::All) => '\r',
            (Some(b'f'), Escapes::All) => '\x0C',
            (Some(b'"'), Escapes::All) => '"',
            (Some(b'\''), Escapes::All) => '\'',
            (Some(b'\\'), Escapes::All) => '\\',
            _ => return Err(self.fault("unknown escape")),
        };
        self.at += 2;
        Ok(character)
    }

    fn code_point(&mut self, digits: usize) -> Result<char, LineError> {
        let start = self.at + 2;
        let hex = self.bytes.get(start..start + digits).unwrap_or_default();
        let code = hex.iter().try_fold(0_u32, |code, &digit| {
            Some(code << 4 | char::from(digit).to_digit(16)?)
        });
        let Some(code) = code.filter(|_| hex.len() == digits) else {
            return Err(self.fault(format!("expected {digits} hexadecimal digits in an escape")));
        };
        let Some(character) = char::from_u32(code) else {
            return Err(self.fault(format!("U+{code:04X} is not a Unicode character")));
        };
        self.at = start + digits;
        Ok(character)
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    fn skip_while(&self, start: usize, is_in: fn(&u8) -> bool) -> usize {
        start
            + self.bytes[start..]
                .iter()
                .take_while(|&byte| is_in(byte))
                .count()
    }

    #[cold]
    fn fault(&self, message: impl Into<Cow<'static, str>>) -> LineError {
        LineError::new(self.at, message)
    }
}

/// Which escapes a quoted token may hold.
#[derive(Clone, Copy)]
enum Escapes {
    /// `\u` and `\U` only, as in IRIs.
    Codes,
    /// Also `\t`, `\n`, `\"` and their like.
    All,
}
