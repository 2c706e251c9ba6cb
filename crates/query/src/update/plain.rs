//! The quads of plain data, straight from the lexer's tokens.
//!
//! Bulk insertion is `INSERT DATA` whose quads are IRIs, names, labels and literals; the grammar
//! reads it through a tree and patterns, which data do not need. The lexer has cut the text into tokens already, so what is left is a walk:
//!
//! ```text
//! block    := ( triples ('.' triples)* '.'? | GRAPH iri '{' block '}' '.'? )*
//! triples  := subject verb objects ( ';' ( verb objects )? )*
//! ```
//!
//! **Nothing is decided here that the grammar would decide otherwise.** Whatever is not read exactly
//! as the grammar does (brackets, triple terms, reifiers, `\u`, odd names, every error) gives `None`,
//! and the grammar reads the whole piece: so it alone refuses. The tests compare the two on every
//! text of the suites, on hand-written edges and on random mutations.
//!
//! A name that was read lately is found again in a small table by its text, which saves validating and
//! storing most subjects and predicates. The table has one place for each hash, so texts that are
//! made to collide cost what they would cost without it.

use super::data::{Data, TermIndex};
use crate::grammar::lexer::token::{Token, TokenKind, Tokens};
use crate::grammar::translate::{Made, is_relative, number_type};
use oxiri::Iri;
use oxrdf::vocab::{rdf as rdf_vocabulary, xsd};
use oxrdf::{Literal, NamedNodeRef};
use rdf::nt::is_plain_iri;
use std::collections::HashMap;

/// Names in the table of those that were read lately, at most.
const RECENT_MAX: usize = 4096;
const _: () = assert!(RECENT_MAX.is_power_of_two(), "places are bits of a hash");

/// What names mean: the base, and the IRIs of prefixes.
pub(super) struct Names<'n> {
    pub(super) base: Option<Iri<String>>,
    pub(super) prefix: &'n dyn Fn(&str) -> Option<&'n str>,
}

/// The quads of a block of data. `body`: the tokens from behind its `{` to the end of the piece;
/// `has_blanks`: whether labels may stand in it. `None` leaves all to the grammar.
pub(super) fn data<'t>(
    tokens: &'t Tokens<'t>,
    body: &'t [Token],
    names: &'t Names<'t>,
    has_blanks: bool,
    made: &'t mut Made,
) -> Option<Data> {
    let mut walk = Walk {
        tokens,
        body,
        at: 0,
        names,
        has_blanks,
        data: Data::default(),
        labels: HashMap::new(),
        recent: vec![Recent::default(); body.len().next_power_of_two().min(RECENT_MAX)],
        scratch: String::new(),
        made,
    };
    walk.block(TermIndex::NONE)?;
    if walk.is_operator(";") {
        walk.at += 1;
    }
    (walk.at == body.len()).then_some(walk.data)
}

/// A name that was read lately: its text's place, and its term's. No name is empty.
#[derive(Clone, Copy)]
struct Recent {
    start: u32,
    end: u32,
    place: TermIndex,
}

impl Default for Recent {
    fn default() -> Recent {
        Recent {
            start: 0,
            end: 0,
            place: TermIndex::NONE,
        }
    }
}

struct Walk<'t> {
    tokens: &'t Tokens<'t>,
    body: &'t [Token],
    at: usize,
    names: &'t Names<'t>,
    has_blanks: bool,
    data: Data,
    labels: HashMap<&'t str, TermIndex>,
    recent: Vec<Recent>,
    scratch: String,
    made: &'t mut Made,
}

impl<'t> Walk<'t> {
    fn next(&mut self) -> Option<Token> {
        let token = self.body.get(self.at).copied();
        self.at += 1;
        token
    }

    fn is_operator(&self, operator: &str) -> bool {
        self.body.get(self.at).is_some_and(|&token| {
            token.kind == TokenKind::Operator && self.tokens.slice(token) == operator
        })
    }

    fn is_word(&self, token: Token, word: &str) -> bool {
        token.kind == TokenKind::Word && self.tokens.slice(token).eq_ignore_ascii_case(word)
    }

    /// Whether a block of a graph begins here.
    fn is_graph(&self) -> bool {
        let token = self.body.get(self.at);
        token.is_some_and(|&token| self.is_word(token, "GRAPH"))
    }

    /// All up to the `}` that ends the block, and it. Not deeper than one block in another.
    fn block(&mut self, graph: TermIndex) -> Option<()> {
        let may_nest = graph == TermIndex::NONE;
        loop {
            if self.is_operator("}") {
                self.at += 1;
                return Some(());
            }
            let token = self.next()?;
            if may_nest && self.is_word(token, "GRAPH") {
                let name = self.next()?;
                let name = self.name(name)?;
                if !self.is_operator("{") {
                    return None;
                }
                self.at += 1;
                self.block(name)?;
                self.at += usize::from(self.is_operator("."));
                continue;
            }
            let subject = self.node(token)?;
            self.properties(subject, graph)?;
            if self.is_operator(".") {
                self.at += 1;
            } else if !(self.is_operator("}") || may_nest && self.is_graph()) {
                return None;
            }
        }
    }

    /// Verbs with their objects, up to what ends the triples of a subject.
    fn properties(&mut self, subject: TermIndex, graph: TermIndex) -> Option<()> {
        loop {
            let token = self.next()?;
            let verb = if token.kind == TokenKind::Word && self.tokens.slice(token) == "a" {
                self.recent(token, |walk, _| {
                    Some(walk.push_iri(rdf_vocabulary::TYPE.as_str()))
                })?
            } else {
                self.name(token)?
            };
            loop {
                let token = self.next()?;
                let object = self.object(token)?;
                self.data.push([subject, verb, object, graph]);
                if !self.is_operator(",") {
                    break;
                }
                self.at += 1;
            }
            if !self.is_operator(";") {
                return Some(());
            }
            while self.is_operator(";") {
                self.at += 1;
            }
            if self.is_operator(".") || self.is_operator("}") || self.is_graph() {
                return Some(());
            }
        }
    }

    fn node(&mut self, token: Token) -> Option<TermIndex> {
        if token.kind == TokenKind::BlankNode {
            self.blank(token)
        } else {
            self.name(token)
        }
    }

    fn object(&mut self, token: Token) -> Option<TermIndex> {
        let slice = self.tokens.slice(token);
        match token.kind {
            TokenKind::Iri | TokenKind::PrefixedName => self.name(token),
            TokenKind::BlankNode => self.blank(token),
            TokenKind::String => self.literal(slice),
            TokenKind::Number => Some(self.number(slice)),
            // The sign of a number stands right before it.
            TokenKind::Operator if matches!(slice, "+" | "-") => {
                let number = self.next()?;
                if number.kind != TokenKind::Number || number.start != token.end {
                    return None;
                }
                let signed = &self.tokens.text[token.start as usize..number.end as usize];
                Some(self.number(signed))
            }
            TokenKind::Word => {
                let mut values = ["true", "false"].into_iter();
                let value = values.find(|value| value.eq_ignore_ascii_case(slice))?;
                Some(self.typed(value, xsd::BOOLEAN))
            }
            _ => None,
        }
    }

    /// A blank node; its label within ASCII.
    fn blank(&mut self, token: Token) -> Option<TermIndex> {
        let label = &self.tokens.slice(token)[2..];
        let first = *label.as_bytes().first()?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let is_label = (first.is_ascii_alphanumeric() || first == b'_')
            && label.bytes().all(is_plain)
            && self.has_blanks;
        if !is_label {
            return None;
        }
        let data = &mut self.data;
        let node = self.labels.entry(label);
        Some(*node.or_insert_with(|| data.push_blank()))
    }

    /// An IRI, in angle brackets or as a prefixed name.
    fn name(&mut self, token: Token) -> Option<TermIndex> {
        match token.kind {
            TokenKind::Iri => self.recent(token, |walk, slice| {
                walk.bracketed(&slice[1..slice.len() - 1])
            }),
            TokenKind::PrefixedName => self.recent(token, Walk::prefixed),
            _ => None,
        }
    }

    /// The term of a name: that of the same text lately, or the one that `read` makes.
    #[inline]
    fn recent(
        &mut self,
        token: Token,
        read: impl FnOnce(&mut Walk<'t>, &'t str) -> Option<TermIndex>,
    ) -> Option<TermIndex> {
        let slice = self.tokens.slice(token);
        let slot = hash(slice.as_bytes()) as usize & (self.recent.len() - 1);
        let known = self.recent[slot];
        if &self.tokens.text[known.start as usize..known.end as usize] == slice {
            return Some(known.place);
        }
        let place = read(self, slice)?;
        self.recent[slot] = Recent {
            start: token.start,
            end: token.end,
            place,
        };
        Some(place)
    }

    fn push_iri(&mut self, iri: &str) -> TermIndex {
        self.data.push_term(|terms| terms.push_iri(iri))
    }

    /// What stands in angle brackets, resolved where there is a base.
    fn bracketed(&mut self, text: &str) -> Option<TermIndex> {
        if text.contains('\\') {
            return None;
        }
        match &self.names.base {
            // Resolving takes segments of dots away, of absolute IRIs too (RFC 3986 section 5.2.2).
            Some(base) if !is_plain_iri(text) || text.contains("/.") || text.contains(":.") => {
                let taken = if is_relative(text) { base.len() } else { 0 };
                self.made.count(text.len() + taken).ok()?;
                let iri = base.resolve(text).ok()?;
                Some(self.push_iri(iri.as_str()))
            }
            None if !is_plain_iri(text) => {
                Iri::parse(text).ok()?;
                Some(self.push_iri(text))
            }
            _ => Some(self.push_iri(text)),
        }
    }

    fn prefixed(&mut self, slice: &str) -> Option<TermIndex> {
        let (prefix, local) = slice.split_once(':')?;
        if local.contains(['%', '\\']) {
            return None;
        }
        let start = (self.names.prefix)(prefix)?;
        self.made.count(start.len() + local.len()).ok()?;
        let mut iri = std::mem::take(&mut self.scratch);
        iri.clear();
        iri.push_str(start);
        iri.push_str(local);
        let place =
            (is_plain_iri(&iri) || Iri::parse(iri.as_str()).is_ok()).then(|| self.push_iri(&iri));
        self.scratch = iri;
        place
    }

    /// A string, with the datatype or the language that follows it.
    fn literal(&mut self, quoted: &'t str) -> Option<TermIndex> {
        let is_long = quoted.starts_with("\"\"\"") || quoted.starts_with("'''");
        let quotes = if is_long { 3 } else { 1 };
        let inner = &quoted[quotes..quoted.len() - quotes];
        let mut decoded = String::new();
        let lexical = if inner.contains('\\') {
            unescape(inner, &mut decoded)?;
            decoded.as_str()
        } else {
            inner
        };
        if self.is_operator("^^") {
            self.at += 1;
            let datatype = self.next()?;
            let datatype = self.name(datatype)?;
            return self.data.push_typed(lexical, datatype);
        }
        let next = self.body.get(self.at).copied();
        if let Some(tag) = next.filter(|next| next.kind == TokenKind::Language) {
            self.at += 1;
            let tag = &self.tokens.slice(tag)[1..];
            let is_plain =
                (2..=8).contains(&tag.len()) && tag.bytes().all(|b| b.is_ascii_alphabetic());
            // Of the others RDF's check decides, but for directions.
            let is_other = || {
                tag.starts_with(|first: char| first.is_ascii_alphabetic())
                    && !tag.contains("--")
                    && !tag.ends_with('-')
                    && Literal::new_language_tagged_literal("", tag).is_ok()
            };
            if !is_plain && !is_other() {
                return None;
            }
            let tag = tag.to_ascii_lowercase();
            return Some(
                self.data
                    .push_term(|terms| terms.push_language(lexical, &tag, None)),
            );
        }
        Some(self.data.push_term(|terms| terms.push_simple(lexical)))
    }

    /// A number in digits, with or without a sign.
    fn number(&mut self, slice: &str) -> TermIndex {
        self.typed(slice, number_type(slice))
    }

    fn typed(&mut self, lexical: &str, datatype: NamedNodeRef<'_>) -> TermIndex {
        self.data
            .push_term(|terms| terms.push_typed(lexical, datatype.as_str()))
    }
}

/// Takes escapes of one character back; `None` where there are others.
fn unescape(mut text: &str, decoded: &mut String) -> Option<()> {
    decoded.reserve(text.len());
    while let Some((before, after)) = text.split_once('\\') {
        decoded.push_str(before);
        decoded.push(match after.as_bytes().first()? {
            b't' => '\t',
            b'b' => '\u{8}',
            b'n' => '\n',
            b'r' => '\r',
            b'f' => '\u{c}',
            b'"' => '"',
            b'\'' => '\'',
            b'\\' => '\\',
            _ => return None,
        });
        text = &after[1..];
    }
    decoded.push_str(text);
    Some(())
}

/// A hash of a name for a table that a collision costs nothing: of its length, its last 16 bytes, and
/// eight in its middle, as names of one text begin alike.
#[inline]
pub(super) fn hash(name: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let word = |end: usize| {
        let mut bytes = [0; 8];
        let from = end.saturating_sub(8);
        bytes[..end - from].copy_from_slice(&name[from..end]);
        u64::from_le_bytes(bytes)
    };
    let length = name.len();
    let mut hash = (length as u64).wrapping_mul(ODD);
    for end in [length, length.saturating_sub(8), length / 2 + length / 8] {
        hash = (hash ^ word(end)).wrapping_mul(ODD);
        hash ^= hash >> 29;
    }
    hash >> 8
}
